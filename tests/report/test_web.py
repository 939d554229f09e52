"""The server only reads, hides what is secret, and refuses requests for foreign host names."""

import contextlib
import gzip
import html
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest
from command import CROUPIER, ROOT, croupier, environment
from helpers import breadth, own_port

from host.journal.check import wal_files
from host.journal.reader import reading
from host.journal.writer import writing
from host.report.export import write_events
from tests.browser import games
from tests.browser.games import SEED

pytest.importorskip("hypercorn")
pytest.importorskip("starlette")

SERVE = "import sys, trio; from pathlib import Path; from host.web.server import open_listener, serve_journal; "
SERVE += "s = open_listener('127.0.0.1:0'); print(s.getsockname()[1], flush=True); "
SERVE += "trio.run(serve_journal, Path(sys.argv[1]), s, 'spoilers' in sys.argv)"


class Server:
    """A server in a separate process."""

    def __init__(self, port: int, process: "subprocess.Popen[str]") -> None:
        self.port, self.process = port, process
        self.url = f"http://127.0.0.1:{port}/"

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Request a path exactly as given."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(line):
            line.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
            for key, value in ({"host": f"127.0.0.1:{self.port}"} | headers).items():
                line.putheader(key.replace("_", "-"), value)
            line.endheaders()
            answer = line.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()

    def json(self, path: str) -> dict[str, object]:
        """Return the JSON at a path of the API."""
        told: dict[str, object] = json.loads(self.get(path)[2])
        return told

    @contextlib.contextmanager
    def news(self) -> Iterator[Iterator[dict[str, object]]]:
        """Receive the events of the server."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(line):
            line.request("GET", "/api/events")
            answer = line.getresponse()
            yield (json.loads(each[6:]) for each in iter(answer.readline, b"") if each.startswith(b"data: "))


@contextlib.contextmanager
def serving(journal: Path, *how: str) -> Iterator[Server]:
    """Start a server; stop it in good order and check its exit code 0."""
    command = [sys.executable, "-c", SERVE, str(journal), *how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        server = Server(int(process.stdout.readline()), process)
        try:
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0


@pytest.mark.long
def test_the_address_for_other_machines_is_printed_once(tmp_path: Path) -> None:
    def first_words(*words: str) -> str:
        command = [*CROUPIER, "-C", str(tmp_path), *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout
            said = process.stdout.readline().decode()
            process.terminate()
            return said + process.stdout.read().decode()

    others = json.loads(first_words("--json", "serve", "--bind", "0.0.0.0:0"))["url_for_others"]
    if not others:
        pytest.skip("this machine has no address for others")
    own = urlsplit(others).hostname
    assert own != "0.0.0.0" and first_words("serve", "--bind", f"{own}:0").count(f"http://{own}:") == 1


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a finished run."""
    with serving(games.played(tmp_path_factory.mktemp("finished"), "pazaak")) as server:
        yield server


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a run that is still being played."""
    with serving(games.played(tmp_path_factory.mktemp("running"), "pazaak", state="running")) as server:
        yield server


API = ("run.json", "standings.json", "pairs.json", "bots.json", "faults.json", "replays.json")


@pytest.mark.long
@pytest.mark.parametrize("name", API)
def test_every_address_of_the_api_names_its_schema(finished: Server, name: str) -> None:
    assert finished.json(f"/api/{name}")["schema"] == f"croupier/live-{name.removesuffix('.json')}/1"


def test_the_page_is_the_reports(finished: Server) -> None:
    status, headers, page = finished.get("/")
    assert status == 200 and b"A pazaak cup" in page and headers["content-type"].startswith("text/html")


SHOWN = ("/", "/assets/style.css", "/api/run.json", "/api/standings.json")


@pytest.mark.parametrize("path", SHOWN)
def test_what_has_not_changed_is_not_sent_again(finished: Server, path: str) -> None:
    status, headers, _ = finished.get(path)
    again, _, body = finished.get(path, if_none_match=f'"another", {headers["etag"]}')
    assert (status, again, body) == (200, 304, b"")


@pytest.mark.long
def test_a_tag_outlives_its_server_and_changes_with_what_is_shown(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", state="running")
    tags = []
    for _ in range(2):
        with serving(path) as server:
            tags.append(server.get("/api/run.json")[1]["etag"])
    games.finish(path)
    with serving(path) as server:
        tags.append(server.get("/api/run.json")[1]["etag"])
    assert tags[0] == tags[1] != tags[2]


@pytest.mark.parametrize("path", SHOWN)
def test_everything_comes_gzipped_to_who_can_read_that(finished: Server, path: str) -> None:
    _, headers, packed = finished.get(path, accept_encoding="gzip, br")
    assert headers["content-encoding"] == "gzip" and gzip.decompress(packed) == finished.get(path)[2]


@pytest.mark.parametrize("path", ["/", "/assets/style.css", "/api/run.json", "/nothing", "/api/nothing"])
def test_every_answer_forbids_scripts_that_are_not_ours(finished: Server, path: str) -> None:
    policy = finished.get(path)[1]["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy and "default-src 'none'" in policy


def test_a_served_page_has_no_script_within(finished: Server) -> None:
    scripts = re.findall(rb"<script[^>]*>", finished.get("/")[2])
    assert scripts == [b'<script src="/assets/pages.js">', b'<script src="/assets/casino.js" defer>']


PATHS = [
    "/../../../etc/passwd",
    "/assets/../server.py",
    "/assets/..%2f..%2f..%2fpyproject.toml",
    "/assets/%2e%2e/%2e%2e/journal.py",
    "/assets//etc/passwd",
    "/assets/page.html",
    "/run/seed",
    "/api/..%2frun%2fseed",
    "/assets/\x2e\x2e\x5cpage.html",
    "/%00",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_server(finished: Server, path: str) -> None:
    assert finished.get(path)[0] in (400, 404)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_local_server_turns_strangers_names_away(finished: Server, host: str) -> None:
    assert finished.get("/api/run.json", host=host)[0] in (400, 421)


@pytest.mark.parametrize("host", ["localhost:80", "127.0.0.1", "[::1]:8080", "LOCALHOST"])
def test_a_local_server_answers_to_its_own_names(finished: Server, host: str) -> None:
    assert finished.get("/api/run.json", host=host)[0] == 200


def test_a_finished_table_is_shown(finished: Server) -> None:
    rows = finished.json("/api/replays.json")["rows"]
    assert isinstance(rows, list)
    assert finished.json(f"/api/replay?table={quote(rows[0]['table'])}")["v"] == 1
    assert set(rows[0]) == {"table", "title", "result", "why"} and re.search(r" – .* \d : \d$", rows[0]["result"])


@pytest.mark.parametrize("name", ["", "..%2F..%2Fetc%2Fpasswd", "league%2F1", "%00"])
def test_a_table_that_does_not_exist_is_said_to_be_missing(finished: Server, name: str) -> None:
    status, _, body = finished.get(f"/api/replay?table={name}")
    assert status == 404 and "no such table" in json.loads(body)["message"]


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a running stage whose tables share deals."""
    with serving(games.mirrored(tmp_path_factory.mktemp("sharing"))) as server:
        yield server


NAMES = ("league/glaucus+nestor/1", "league/glaucus+nestor/fixture 5/1")


@pytest.mark.parametrize("name", NAMES)
def test_tables_that_share_deals_are_secret_while_their_stage_runs(sharing: Server, name: str) -> None:
    status, _, body = sharing.get(f"/api/replay?table={quote(name)}")
    assert status == 403 and "secret" in json.loads(body)["message"]
    assert ndjson(sharing, name)[0] == 403 and ndjson(sharing, "last")[0] == 403


@pytest.mark.parametrize("path", ["/", *(f"/api/{name}" for name in API)])
def test_no_seed_card_or_table_of_such_a_stage_is_told(sharing: Server, path: str) -> None:
    body = sharing.get(path)[2].decode()
    assert SEED.hex() not in body and "question 3 of" not in body and "#r=" not in body and "league/" not in body


@pytest.mark.long
def test_a_running_table_is_shown_by_its_players_and_its_number_in_its_fixture(running: Server) -> None:
    rows = running.json("/api/replays.json")["rows"]
    assert isinstance(rows, list) and NAMES[1] in [row["table"] for row in rows]
    table = running.json(f"/api/replay?table={quote(NAMES[1])}")
    assert table["table"] == NAMES[1] and not table["kept"] and not table["took"]
    assert running.get(f"/api/replay?table={quote(NAMES[0])}")[0] == 403


@pytest.mark.parametrize("path", ["/", *(f"/api/{name}" for name in API), "/api/events.ndjson"])
def test_no_seed_evidence_or_own_number_of_a_running_table_is_told(running: Server, path: str) -> None:
    body = running.get(path)[2].decode()
    assert SEED.hex() not in body and "question 3 of" not in body and "signal 11" not in body
    assert not re.search(r"league/[^/\"<]+/[0-9]", body)


def test_only_reading_is_allowed(finished: Server) -> None:
    line = http.client.HTTPConnection("127.0.0.1", finished.port, timeout=120)
    with contextlib.closing(line):
        line.request("POST", "/", body="x")
        assert line.getresponse().status == 405


@pytest.mark.long
def test_what_is_new_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "pazaak", games.BOTS["pazaak"], "running")
    some = games.fixtures("pazaak", "league", games.BOTS["pazaak"], 2)
    with serving(path) as server, server.news() as news:
        first = next(news)
        games.add(path, some[:1])
        assert first["newest"] == 0 and any(each["newest"] == 1 for each in news)


@pytest.mark.long
def test_what_is_new_is_told_while_somebody_is_at_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "pazaak", games.BOTS["pazaak"], "running")
    (fixture, *_) = games.fixtures("pazaak", "league", games.BOTS["pazaak"], 2)
    with writing(path) as journal, serving(path) as server, server.news() as news:
        assert next(news)["state"] == "running"
        journal.add("league", games.recorded(fixture), fixture)
        assert any(each["newest"] == 1 for each in news)


@pytest.mark.long
def test_a_server_may_start_before_the_tournament(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    with serving(path) as server, server.news() as news:
        next(news)
        early = server.get("/")[2]
        games.played(tmp_path, "pazaak", state="running")
        told = next(each for each in news if each["newest"])
        assert b"nothing has been played" in early and told["state"] != "finished"


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "words"),
    breadth({"newer": b"newer croupier", "torn": b"is", "foreign": b"not a journal of croupier"}.items(), 3),
)
def test_a_journal_that_cannot_be_read_is_a_message_on_the_page(how: str, words: bytes, tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    games.spoilt(path, how)
    with serving(path) as server:
        status, _, page = server.get("/")
        (said,) = re.findall(rb'role="alert">([^<]+)<', page)
        assert status == 200 and said.startswith(b"run.sqlite ") and words in said and b"Traceback" not in page


WRONG = {
    "newer": b"newer croupier",
    "torn": b"run.sqlite",
    "foreign": b"not a journal of croupier",
    "garbage": b"is not a journal",
    "deleted": b"nothing has been played here yet",
    "crafted": b"is damaged: its run's stages",
}


@pytest.mark.long
@pytest.mark.parametrize(
    "how",
    [pytest.param(how, marks=[pytest.mark.long] if how in ("torn", "foreign", "garbage") else []) for how in WRONG],
)
def test_what_becomes_of_a_journal_that_is_served_is_said_on_the_page(how: str, tmp_path: Path) -> None:
    path = games.played(tmp_path / "one", "pazaak")
    other = games.played(tmp_path / "other", "pazaak")
    games.spoilt(other, how)
    with serving(path) as server, server.news() as news:
        name = server.json("/api/replays.json")["rows"][0]["table"]  # type: ignore[index]
        assert server.get(f"/api/replay?table={quote(name)}")[0] == 200
        for log in wal_files(path):
            log.unlink(missing_ok=True)
        path.unlink()
        if other.exists():
            other.rename(path)
        said = (re.findall(rb'role="alert">([^<]+)<', server.get("/")[2]) for _ in news)
        (alert,) = next(each for each in said if each and WRONG[how] in html.unescape(each[0].decode()).encode())
        status, _, body = server.get(f"/api/replay?table={quote(name)}")
        assert status == 404 and json.loads(body)["message"] and b"Traceback" not in alert


@pytest.mark.long
def test_another_journal_in_its_place_is_shown_and_none_of_the_first(tmp_path: Path) -> None:
    path, other = games.played(tmp_path / "one", "pazaak"), games.played(tmp_path / "other", "cardshark")
    with serving(path) as server, server.news() as news:
        name = server.json("/api/replays.json")["rows"][0]["table"]  # type: ignore[index]
        assert server.get(f"/api/replay?table={quote(name)}")[0] == 200
        for log in wal_files(path):
            log.unlink(missing_ok=True)
        other.rename(path)
        next(news for _ in news if b"A cardshark cup" in server.get("/")[2])
        assert server.get(f"/api/replay?table={quote(name)}")[0] == 404


# Starting and stopping the command.


@contextlib.contextmanager
def commanded(folder: Path) -> Iterator[Server]:
    """Start `croupier serve` in a folder; the test that uses it stops it."""
    command = [*CROUPIER, "-C", str(folder), "--json", "serve", "--bind", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout
        try:
            yield Server(urlsplit(json.loads(process.stdout.readline())["url"]).port or 0, process)
        finally:
            process.kill()


def test_a_server_of_ipv6_alone_has_no_address_of_ipv4() -> None:
    from host.web.server import address_for_others

    with socket.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listener.bind(("::", own_port()))
        except OSError:
            pytest.skip("this machine has no IPv6")
        others = urlsplit(address_for_others(listener)).hostname
        assert others is None or ":" in others


@pytest.mark.long
def test_serve_prints_the_address_for_phones_if_other_machines_reach_it(tmp_path: Path) -> None:
    games.played(tmp_path, "pazaak")
    for bind in ("0.0.0.0:0", "127.0.0.1:0"):
        command = [*CROUPIER, "-C", str(tmp_path), "serve", "--bind", bind]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
            assert process.stdout
            try:
                first = process.stdout.readline()
                if bind.startswith("127"):
                    continue
                others = process.stdout.readline().split(": ", 1)[1].strip()
                port = urlsplit(first.split()[2]).port
                assert urlsplit(others).port == port and urlsplit(others).hostname not in ("0.0.0.0", "127.0.0.1")
                with urlopen(others, timeout=60) as answer:
                    assert b"#podium" in answer.read()
            finally:
                process.kill()
                rest = process.stdout.read()
        assert "phones" not in rest


@pytest.mark.long
@pytest.mark.parametrize("how", breadth([signal.SIGTERM, signal.SIGINT], 2))
def test_serve_ends_in_good_order_whoever_listens(how: signal.Signals, tmp_path: Path) -> None:
    games.played(tmp_path, "pazaak", state="running")
    with commanded(tmp_path) as server, contextlib.ExitStack() as listeners:
        for _ in range(50):
            next(listeners.enter_context(server.news()))
        server.process.send_signal(how)
        assert server.process.wait(120) == 0


@pytest.mark.long
def test_a_client_that_asks_for_much_and_reads_nothing_keeps_nobody(tmp_path: Path) -> None:
    games.played(tmp_path, "pazaak")
    with commanded(tmp_path) as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        ask = f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        client.sendall(100 * ask)
        assert client.recv(8) == b"HTTP/1.1" and server.get("/api/run.json")[0] == 200
        server.process.terminate()
        assert server.process.wait(120) == 0


@pytest.mark.long
def test_serve_stands_back_for_whoever_plays(tmp_path: Path) -> None:
    with commanded(tmp_path) as server:
        assert server.get("/")[0] == 200
        assert os.getpriority(os.PRIO_PROCESS, server.process.pid) == 19


def test_the_benchmark_says_which_load_tools_are_missing() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "serve.py")]
    told = subprocess.run(command, env=environment(PATH=""), capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 1 and "apt install wrk apache2-utils" in told.stderr


# Output for other programs, and for the organiser only.


def ndjson(server: Server, of: str = "") -> tuple[int, bytes]:
    """Return the events at `/api/events.ndjson`."""
    status, _, body = server.get(f"/api/events.ndjson{f'?of={quote(of)}' if of else ''}")
    return status, body


def exported(path: Path, selection: str | None = None, spoilers: bool = False) -> bytes:
    """Return the output of `export jsonl`."""
    file = io.StringIO()
    with reading(path) as book:
        write_events(book, selection, spoilers, file)
    return file.getvalue().encode()


@pytest.mark.long
def test_events_are_those_of_the_export(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "pazaak", games.BOTS["pazaak"])
    games.add(path, games.fixtures("pazaak", "league", games.BOTS["pazaak"], 130))  # more than are created in one step
    with serving(path) as server:
        assert ndjson(server) == (200, exported(path)) == ndjson(server, "league")
        assert ndjson(server, "last") == (200, exported(path, "last"))


def test_events_of_a_running_stage_are_withheld_if_its_tables_share_deals(sharing: Server) -> None:
    status, body = ndjson(sharing, "league")
    assert (status, ndjson(sharing)) == (403, (200, b"")) and b"still secret" in body


def test_events_of_what_does_not_exist_are_missing(finished: Server) -> None:
    assert ndjson(finished, "nothing/7")[0] == 404


@pytest.fixture(scope="module")
def spoiling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a running tournament to its organiser, including secret cards."""
    path = games.played(tmp_path_factory.mktemp("spoiling"), "pazaak", state="running")
    with serving(path, "spoilers") as server:
        yield server


def test_who_serves_with_spoilers_sees_tables_and_evidence(spoiling: Server) -> None:
    page = spoiling.get("/")[2].decode()
    assert "question 3 of" in page and "#r=league" in page and ndjson(spoiling, "league")[1].count(b"table.start")
    assert spoiling.get("/api/replay?table=league%2Fglaucus%2Bnestor%2F1")[0] == 200


@pytest.mark.parametrize("path", ["/", "/api/events.ndjson", *(f"/api/{name}" for name in API)])
def test_not_even_spoilers_tell_the_seed(spoiling: Server, path: str) -> None:
    assert SEED.hex() not in spoiling.get(path)[2].decode()


@pytest.mark.long
def test_a_stage_is_shown_as_soon_as_it_is_over_and_the_next_is_not(tmp_path: Path) -> None:
    cup = games.Cup(tmp_path, rounds=6)
    cup.play("groups")
    with serving(cup.path) as server:
        rows = server.json("/api/replays.json")["rows"]
        assert isinstance(rows, list) and {row["table"].split("/")[0] for row in rows} == {"groups"}
        assert server.get("/")[2].count(b"Chips over rounds") == 2 and SEED.hex().encode() not in server.get("/")[2]


@pytest.mark.long
def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    before = path.read_bytes()
    with serving(path) as server:
        server.get("/")
        server.get("/api/replay?table=league%2Fglaucus%2Bnestor%2F1")
    assert path.read_bytes() == before and time.time() > path.stat().st_mtime


@pytest.mark.long
def test_thirty_readers_of_all_events_do_not_delay_the_table_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "cup"
    folder.mkdir()
    (folder / "croupier.toml").write_text(
        'game = "pazaak"\nseed = "x"\nbots = ["sample:dumb_bold", "sample:neptr"]\n'
        '[[stage]]\nname = "league"\nkind = "round-robin"\ntables_per_pair = 4000\n'
    )
    assert croupier("run", "-C", folder).code == 0
    with commanded(folder) as server, contextlib.ExitStack() as readers:

        def seconds(nth: int) -> float:
            began = time.monotonic()
            assert server.get(f"/api/replay?table=league%2Fdumb_bold%2Bneptr%2F{nth}")[0] == 200
            return time.monotonic() - began

        seconds(1)  # the first one opens the journal
        alone = max(seconds(nth) for nth in range(2, 6))
        clients = [readers.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(30)]
        for client in clients:
            client.sendall(f"GET /api/events.ndjson HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert clients[0].recv(1)
        crowded = median(seconds(nth) for nth in range(6, 13))
        assert crowded < 8 * alone + 0.1  # behind one chunk of one export, not behind thirty


PUBLIC = (
    "records.ndjson",
    "certainty.json",
    "records.schema.json",
    "standings.csv",
    "seed.txt",
    "rules.json",
    "check.py",
)


def test_the_public_folder_is_served_and_confirmed_by_its_own_program(finished: Server, tmp_path: Path) -> None:
    for name in PUBLIC:
        (tmp_path / name).write_bytes(finished.get(f"/public/{name}")[2])
        assert f'href="public/{name}"' in finished.get("/")[2].decode()
    done = subprocess.run([sys.executable, tmp_path / "check.py"], capture_output=True, text=True, check=False)
    assert "✓ the seed has the sealed hash" in done.stdout, done.stdout
    assert (
        "stage league is finished, but its schedule has more" in done.stderr
    )  # this run was written by hand, not played
    lines = (tmp_path / "records.ndjson").read_bytes().splitlines(keepends=True)
    seal = json.loads(lines[3])["before"]
    assert finished.get(f"/public/records.ndjson?since={seal}")[2] == b"".join(lines[3:])
    last = json.loads((tmp_path / "rules.json").read_text())["seal"]
    assert finished.get(f"/public/records.ndjson?since={last}")[2] == b""
    for wrong in ("/public/run.sqlite", "/public/..%2Frun", f"/public/records.ndjson?since={'0' * 64}"):
        assert finished.get(wrong)[0] == 404


def test_the_public_folder_of_a_running_stage_keeps_what_is_secret(running: Server, sharing: Server) -> None:
    assert "seed " not in running.get("/public/seed.txt")[2].decode().replace("sha256", "")
    assert b'"fixture":{' in running.get("/public/records.ndjson")[2]
    assert b'"fixture":{' not in sharing.get("/public/records.ndjson")[2]
