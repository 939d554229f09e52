"""The door of a season, as authors use it: links, `croupier submit`, and a git hook that calls it."""

import contextlib
import hashlib
import http.server
import json
import os
import re
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from command import CROUPIER, Done, croupier, croupier_process, environment
from helpers import own_port
from season_fixtures import STANDS

from host.season.commands.invite import names_in
from host.season.entries.inbox import Invite, read_requests
from host.season.entries.store import Store
from host.season.entries.values import Submission
from host.season.site.errors import Refusal
from host.season.site.published import Published

CONFIG = """
game = "pazaak"
[season]
references = ["sample:nestor"]
practice = 2
round_every = "1 h"
address = "http://cup.example"
[limits]
move = "2 s"
"""
PATIENCE_S = 120.0
DOCS = Path(__file__).parents[2] / "docs"


def until(ready: Callable[[], Any]) -> Any:
    """Return what becomes true within PATIENCE_S seconds."""
    end = time.monotonic() + PATIENCE_S
    while not (found := ready()):
        assert time.monotonic() < end, "nothing has happened"
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def opened(folder: Path, *options: str, config: str = CONFIG) -> Iterator[Path]:
    """Run a season process for the length of the block; without a site, unless the options say where it listens."""
    folder.mkdir(exist_ok=True)
    (folder / "croupier.toml").write_text(config)
    log = folder.with_name("season.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*CROUPIER, "-C", folder, "season", "open", *(options or ["--no-site"])],
            env=environment(),
            stdout=output,
            stderr=output,
        )
        try:
            until(lambda: process.poll() is not None or (folder / "published/site.sqlite").exists())
            assert process.poll() is None, log.read_text()
            yield folder
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of a season that is open, with the authors ada and grace."""
    folder = tmp_path_factory.mktemp("doors") / "cup"
    with opened(folder):
        assert croupier("-C", folder, "season", "invite", "ada", "grace").code == 0
        until(lambda: {"ada", "grace"} <= {*tokens(folder)})
        yield folder


def tokens(folder: Path) -> Mapping[str, str]:
    """Return the hashes of the links that a season has published."""
    try:
        return Published(folder / "published").tokens()
    except Refusal:
        return {}


def submissions(folder: Path, author: str) -> list[Submission]:
    """Return the submissions of an author, the oldest first."""
    with Store.reading(folder) as store:
        return store.submissions.of_author(author)[::-1]


# Links.


def test_a_link_is_printed_once_and_stored_as_a_hash(cup: Path) -> None:
    done = croupier("-C", cup, "season", "invite", "zed", "--json")
    (row,) = done.json["rows"]
    secret = row["link"].removeprefix("http://cup.example/a/")
    assert len(secret) >= 43
    until(lambda: tokens(cup).get("zed") == hashlib.sha256(secret.encode()).hexdigest())
    assert not any(secret.encode() in path.read_bytes() for path in cup.rglob("*") if path.is_file())
    assert croupier("-C", cup, "season", "invite", "Zed").err.startswith("error[E008]")
    again = croupier("-C", cup, "season", "invite", "--again", "zed")
    other = again.out.split()[1].rpartition("/")[2]
    until(lambda: tokens(cup).get("zed") == hashlib.sha256(other.encode()).hexdigest())
    assert other != secret


def test_a_class_is_invited_from_a_sheet(cup: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "authors.csv"
    sheet.write_text("id,author\n1,bertha\n2,carl\n")
    done = croupier("-C", cup, "season", "invite", "--roster", sheet)
    assert [line.split()[0] for line in done.out.splitlines()] == ["bertha", "carl"] and not done.err
    sheet.write_text("author\ndora\n")
    old = croupier("-C", cup, "season", "invite", "--csv", sheet)
    assert old.out.startswith("dora ") and old.err == "WARNING  --csv FILE is called --roster FILE now\n"
    assert "--csv" not in croupier("season", "invite", "--help").out
    refused = croupier("-C", cup, "season", "invite", "Bad Name")
    assert refused.code == 3
    assert "Bad-Name" in refused.err
    assert croupier("-C", cup, "season", "invite").code == 2
    assert croupier("-C", cup, "season", "invite", "--again", "nobody-here").err.startswith("error[E001]")


# croupier submit.


@pytest.mark.long
def test_submit_reaches_a_real_season_and_shows_its_verdict(tmp_path: Path, mine: Path) -> None:
    folder, port = tmp_path / "cup", own_port()
    address = f"http://127.0.0.1:{port}"
    with opened(folder, "--bind", f"127.0.0.1:{port}", config=CONFIG.replace("http://cup.example", address)):
        link = croupier("-C", folder, "season", "invite", "ada").out.split()[1]
        until(lambda: "ada" in tokens(folder))
        done = until_answered("submit", mine, "--to", link)
        assert done.code == 0, done.err
        assert "✓ practice        against nestor" in done.out
        assert "accepted: mine-1 plays from the next round on" in done.out
        again = croupier("submit", mine, "--to", link, "--json")
        assert (again.code, again.json["label"]) == (0, "mine-1")
        mine.write_text("import sys\nfor line in sys.stdin:\n    print('banana', flush=True)\n")
        refused = croupier("submit", mine, "--to", link)
        assert refused.code == 1
        assert "banana" in refused.out
        pushes(tmp_path, link)
        croupier("-C", folder, "season", "invite", "--again", "ada")
        until(lambda: croupier("submit", mine, "--to", link).err.startswith("error[W002]"))


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git as an author does."""
    own = ["-c", "user.name=ada", "-c", "user.email=ada@cup.example", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *own, *words], cwd=folder, text=True, capture_output=True, timeout=PATIENCE_S)


def pushes(folder: Path, link: str) -> None:
    """Push to a repository with the hook of docs/submit-a-bot.md, which hands in what is pushed by standard input."""
    (hook,) = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", (DOCS / "submit-a-bot.md").read_text(), re.DOTALL)
    bare, clone = folder / "seventeen.git", folder / "clone"
    assert git(folder, "init", "--bare", str(bare)).returncode == 0
    path = f"PYTHONPATH={shlex.quote(environment()['PYTHONPATH'])} {shlex.join(map(str, CROUPIER))}"
    script = hook.replace("https://cup.example/a/6tq…", link).replace("croupier", path)
    (bare / "hooks/pre-receive").write_text(script)
    (bare / "hooks/pre-receive").chmod(0o700)
    assert git(folder, "clone", str(bare), str(clone)).returncode == 0

    def pushed(answer: str, branch: str) -> subprocess.CompletedProcess[str]:
        (clone / "main.py").write_text(f"import sys\nfor line in sys.stdin:\n    print('{answer}', flush=True)\n")
        git(clone, "add", "-A")
        assert git(clone, "commit", "-m", answer).returncode == 0
        return git(clone, "push", "origin", f"HEAD:{branch}")

    done = pushed("END", "main")
    assert done.returncode == 0, done.stderr
    assert "seventeen-1 plays from the next round on" in done.stderr
    other = pushed("banana", "refs/heads/try")
    assert other.returncode == 0 and "waiting" not in other.stderr
    refused = git(clone, "push", "origin", "HEAD:main")
    assert refused.returncode != 0
    assert "banana" in refused.stderr and "pre-receive hook declined" in refused.stderr
    assert git(clone, "push", "origin", ":refs/heads/try").returncode == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_sheet_of_a_spreadsheet_gives_names_that_authors_can_have(tmp_path: Path, encoding: str) -> None:
    sheet = tmp_path / "class.csv"
    sheet.write_text("Nr;Vorname;Nachname\r\n1;Jörg;Müller\r\n2;Ada Mae;O'Neill\r\n3;Zoë;Weiß\r\n", encoding)
    assert names_in(sheet) == ["Joerg-Mueller", "Ada-Mae-ONeill", "Zoe-Weiss"]
    sheet.write_text("Name\nMüller\n\n", encoding)
    assert names_in(sheet) == ["Mueller"]
    sheet.write_text("ada\ngrace\n", encoding)
    assert names_in(sheet) == ["ada", "grace"]


def until_answered(*words: object) -> Done:
    """Run a command as soon as the site answers."""
    return until(lambda: None if (done := croupier(*words)).err.startswith("error[E013]") else done)  # type: ignore[no-any-return]


class Site(http.server.BaseHTTPRequestHandler):
    """A small site that answers each request with the next of its answers."""

    answers: list[tuple[int, bytes, dict[str, str]]]
    seen: list[tuple[str, str, str, bytes]]

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.append((self.command, self.path, self.headers.get("Authorization", ""), body))
        status, content, headers = self.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = _answer

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


SECRET = "s" * 43


def submitted(
    answers: list[tuple[int, Any]], file: Path, *options: str, headers: Mapping[str, str] = {}
) -> tuple[Done, list[tuple[str, str, str, bytes]]]:
    """Run `croupier submit` against a site with these answers; return the result and the requests."""
    encoded = [
        (status, said if isinstance(said, bytes) else json.dumps(said).encode(), dict(headers))
        for status, said in answers
    ]
    handler = type("Here", (Site,), {"answers": encoded, "seen": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = croupier("submit", file, "--to", f"http://127.0.0.1:{server.server_port}/a/{SECRET}", *options)
        server.shutdown()
    return done, handler.seen  # type: ignore[attr-defined]


def described(state: str, **more: Any) -> dict[str, Any]:
    """Return a submission as the site describes it."""
    usual = {"schema": "croupier/submission/1", "id": "5f0c", "bot": "mine", "sha256": "8f1c" * 16, "url": "/x"}
    return {**usual, "state": state, "why": "", "label": "", "checks": [], "problems": [], **more}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a bot."""
    file = tmp_path / "mine.py"
    file.write_text(STANDS)
    return file


def test_submit_shows_the_queue_and_the_verdict(mine: Path) -> None:
    accepted = described(
        "accepted",
        label="mine-4",
        why="mine-4 plays from the next round on",
        checks=[{"mark": "✓", "what": "builds", "text": "nothing to build", "cure": ""}],
    )
    done, seen = submitted([(202, described("waiting", why="1 before it (now: building x)")), (200, accepted)], mine)
    assert done.code == 0
    assert "waiting: 1 before it (now: building x)" in done.out
    assert "  ✓ builds          nothing to build" in done.out
    assert "accepted: mine-4 plays from the next round on" in done.out
    assert seen[0] == ("PUT", "/api/bots/mine?file=mine.py&door=submit", f"Bearer {SECRET}", STANDS.encode())
    assert seen[1][1].startswith("/api/submissions/5f0c?wait=")
    assert SECRET not in done.out + done.err


def test_submit_ends_with_1_if_the_bot_is_refused_and_escapes_what_it_printed(mine: Path) -> None:
    refused = described("refused", why="x", problems=["error[B034] \x1b[2Jcrashed"], stderr="\x1b]0;title\x07")
    done, _ = submitted([(200, refused)], mine)
    assert done.code == 1
    assert "\x1b" not in done.out and "\\x1b[2Jcrashed" in done.out
    done, _ = submitted([(200, refused)], mine, "--json")
    assert (done.code, done.json["state"]) == (1, "refused")


def test_submit_packs_a_folder_to_the_same_bytes_each_time(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "bot.toml").write_text('name = "Seventeen"\n')
    (folder / "b.py").write_text(STANDS)
    bodies = []
    for _ in range(2):
        _, seen = submitted([(200, described("accepted"))], folder)
        assert seen[0][1] == "/api/bots/Seventeen?file=mine.tar.gz&door=submit"
        bodies.append(seen[0][3])
        os.utime(folder / "b.py", (1, 1))
    assert bodies[0] == bodies[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("status", "said", "code", "shown"),
    [
        (429, {"code": "E004", "message": "5 submissions wait", "hint": "wait", "exit": 5}, 5, "error[E004]"),
        (401, {"code": "W002", "message": "not a link", "hint": "ask", "exit": 2}, 2, "error[W002]"),
        (200, b"<html>", 5, "error[E013]"),
        (500, b"oops", 5, "error[E013]"),
        (200, b"[" * 100_000, 5, "error[E013]"),
        (200, b"{}", 5, "error[E013]"),
    ],
)
def test_submit_repeats_what_the_site_refuses(mine: Path, status: int, said: Any, code: int, shown: str) -> None:
    done, _ = submitted([(status, said)], mine)
    assert done.code == code
    assert done.err.startswith(shown)


def test_submit_sends_its_secret_nowhere_else(mine: Path) -> None:
    done, seen = submitted([(302, b""), (200, described("accepted"))], mine, headers={"Location": "/elsewhere"})
    assert done.code == 5
    assert len(seen) == 1


def test_submit_needs_a_link_and_a_site_that_answers(mine: Path, tmp_path: Path) -> None:
    for link in ("http://cup.example/", "ftp://cup.example/a/" + SECRET, "x", f"http://u@cup.example/a/{SECRET}"):
        refused = croupier("submit", mine, "--to", link)
        assert (refused.code, refused.err[:12]) == (2, "error[E001] ")
        assert SECRET not in refused.err
    gone = croupier("submit", mine, "--to", f"http://127.0.0.1:9/a/{SECRET}")
    assert (gone.code, gone.err[:12]) == (5, "error[E013] ")
    missing = croupier("submit", tmp_path / "none.py", "--to", f"http://127.0.0.1:9/a/{SECRET}")
    assert (missing.code, missing.err[:12]) == (2, "error[R013] ")
    assert croupier_process("submit", mine).code == 2


def test_without_a_season_process_a_request_waits_in_the_inbox(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text(CONFIG)
    assert croupier("-C", tmp_path, "season", "invite", "ada").code == 0
    (stored,) = read_requests(tmp_path / "inbox").requests
    assert isinstance(stored.request, Invite)
