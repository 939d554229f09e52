"""The doors of a season, as authors use them: git push, a watched folder, an import, links and `croupier submit`."""

import contextlib
import hashlib
import http.server
import json
import os
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from command import CROUPIER, Done, croupier, croupier_process, environment
from season_fixtures import BROKEN_C, C_BOT, STANDS

from host.base.errors import UserError
from host.config.season_config import AuthorLimits
from host.season.documents import TokensDocument
from host.season.entries.inbox import Invite, read_requests
from host.season.entries.store import Store
from host.season.entries.values import Submission
from host.season.folder import SeasonFolder
from host.season.intake.git_hook import Repository, pushes
from host.season.intake.imports import ImportedBot, Skipped, StackAnswer, answers_in, bot_in
from host.season.intake.watched_folder import STABLE_S, WatchedFolder

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
            until(lambda: process.poll() is not None or (folder / "published/private/tokens.json").exists())
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
    return msgspec.json.decode((folder / "published/private/tokens.json").read_bytes(), type=TokensDocument).authors


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
    done = croupier("-C", cup, "season", "invite", "--csv", sheet)
    assert [line.split()[0] for line in done.out.splitlines()] == ["bertha", "carl"]
    sheet.write_text("id,author\n1,Bad Name\n2,dora\n")
    refused = croupier("-C", cup, "season", "invite", "--csv", sheet)
    assert refused.code == 3
    assert "Bad-Name" in refused.err
    assert croupier("-C", cup, "season", "invite").code == 2
    assert croupier("-C", cup, "season", "invite", "--again", "nobody-here").err.startswith("error[E001]")


# git push.


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git as an author does."""
    own = ["-c", "user.name=ada", "-c", "user.email=ada@cup.example", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *own, *words], cwd=folder, text=True, capture_output=True, timeout=PATIENCE_S)


@pytest.fixture
def clone(cup: Path, tmp_path: Path) -> Path:
    """Return a clone of a bare repository whose pre-receive hook hands in what is pushed."""
    bare, clone = tmp_path / "seventeen.git", tmp_path / "clone"
    assert git(tmp_path, "init", "--bare", str(bare)).returncode == 0
    hook = bare / "hooks/pre-receive"
    command = shlex.join([*map(str, CROUPIER), "-C", str(cup), "season", "hook", "--author", "ada"])
    hook.write_text(f"#!/bin/sh\nPYTHONPATH={shlex.quote(environment()['PYTHONPATH'])} exec {command}\n")
    hook.chmod(0o755)
    assert git(tmp_path, "clone", str(bare), str(clone)).returncode == 0
    return clone


def commit(clone: Path, files: Mapping[str, str]) -> None:
    """Commit some files."""
    for name, text in files.items():
        (clone / name).write_text(text)
    git(clone, "add", "-A")
    assert git(clone, "commit", "-m", "Better").returncode == 0


def test_a_push_hands_in_and_the_pusher_sees_the_verdict(clone: Path, cup: Path) -> None:
    commit(clone, {"main.py": STANDS})
    done = git(clone, "push", "origin", "HEAD:main")
    assert done.returncode == 0, done.stderr
    assert "remote:   ✓ builds" in done.stderr
    assert "seventeen-1 plays from the next round on" in done.stderr
    commit(clone, {"main.py": "import sys\nfor line in sys.stdin:\n    print('banana', flush=True)\n"})
    refused = git(clone, "push", "origin", "HEAD:main")
    assert refused.returncode != 0
    assert "banana" in refused.stderr
    assert "pre-receive hook declined" in refused.stderr
    assert git(clone, "ls-remote", "origin").stdout.split()[0] == git(clone, "rev-parse", "HEAD~1").stdout.strip()
    before = len(submissions(cup, "ada"))
    other = git(clone, "push", "origin", "HEAD:refs/heads/try")
    assert other.returncode == 0, other.stderr
    assert "nothing is pushed to refs/heads/main" in other.stderr
    assert len(submissions(cup, "ada")) == before


@pytest.mark.long
def test_a_push_whose_verdict_is_late_is_accepted_with_a_link_to_it(clone: Path, cup: Path) -> None:
    (season,) = [each for each in psutil.Process().children() if str(cup) in each.cmdline()]
    commit(clone, {"main.py": STANDS + "# late"})
    before = len(submissions(cup, "ada"))
    season.suspend()
    try:
        done = git(clone, "push", "origin", "HEAD:main")  # the hook waits for 60 s
    finally:
        season.resume()
    assert done.returncode == 0, done.stderr
    assert "remote: the push is accepted; the verdict will be on http://cup.example/mine" in done.stderr
    until(lambda: [each for each in submissions(cup, "ada")[before:] if each.door == "git" and each.verdict])


def test_a_push_runs_no_program_and_follows_no_link(clone: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (clone / "secret.py").symlink_to("/etc/passwd")
    commit(clone, {"main.py": STANDS + "# two", ".gitattributes": "* filter=evil export-subst\n", ".gitmodules": "x"})
    git(clone, "config", "filter.evil.smudge", f"touch {ran}")
    done = git(clone, "push", "origin", "HEAD:main")
    assert done.returncode != 0
    assert "secret.py" in done.stderr and "link" in done.stderr
    assert not ran.exists()


def test_a_hook_knows_its_author_and_its_input() -> None:
    found = Repository.of(None, None, {"REMOTE_USER": "ada", "GIT_DIR": "/srv/git/My Bot.git"})
    assert found == ("ada", "My-Bot")
    for author, variables in ((None, {}), ("../x", {})):
        with pytest.raises(UserError):
            Repository.of(author, "mine", variables)
    with pytest.raises(UserError) as refused:
        pushes(["nonsense"])
    assert refused.value.problems[0].code == "E010"


# The watched folder.


def test_a_file_in_a_watched_folder_is_handed_in_and_its_verdict_lies_beside_it(cup: Path, tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    (drop / "grace").mkdir(parents=True)
    watcher = subprocess.Popen(
        [*CROUPIER, "-C", cup, "season", "folder", drop], env=environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        (drop / "grace/hers.c").write_text(C_BOT)
        (drop / "grace/broken.c").write_text(BROKEN_C)
        verdict = until(lambda: [*(drop / "grace").glob("hers.c.verdict.txt")])[0].read_text()
        assert "hers-1 plays from the next round on" in verdict
        assert "undeclared" in until(lambda: [*(drop / "grace").glob("broken.c.verdict.txt")])[0].read_text()
    finally:
        watcher.terminate()
        watcher.communicate()


def test_a_file_that_still_grows_is_not_handed_in(cup: Path, tmp_path: Path) -> None:
    said = list[str]()
    watched = WatchedFolder(SeasonFolder(cup), tmp_path, AuthorLimits(), said.append)
    (tmp_path / "grace").mkdir()
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger/mine.py").write_text(STANDS)
    (tmp_path / "grace/.part").write_text(STANDS)
    (tmp_path / "grace/link.py").symlink_to(tmp_path / "stranger/mine.py")
    file = tmp_path / "grace/late.py"
    file.write_text("import")
    for now in (0.0, STABLE_S - 0.1):
        watched.look(now)
    file.write_text(STANDS + "# late")
    for now in (STABLE_S, 2 * STABLE_S - 0.1):
        watched.look(now)
        assert not any("late.py" in line for line in said)
    watched.look(2 * STABLE_S)
    assert f"grace/late.py: handed in, {len(STANDS + '# late')} bytes" in said
    assert [line for line in said if "link.py: not handed in" in line]
    assert not any("stranger" in line or ".part" in line for line in said)


# Stack Exchange.


def answer(number: int, body: str, owner: str = "Peter Taylor", edited: int = 0) -> dict[str, Any]:
    """Return an answer as the API returns it."""
    return {
        "answer_id": number,
        "body": body,
        "owner": {"display_name": owner, "user_id": 194, "reputation": 1},
        "content_license": "CC BY-SA 4.0",
        "link": f"https://codegolf.stackexchange.com/a/{number}",
        "last_edit_date": edited,
        "score": 7,
    }


PYTHON_ANSWER = (
    "<h1>Ends its turn, Python 3</h1>\n<p>Simple.</p>\n<pre><code>import sys\nfor line in sys.stdin:\n"
    "    print('END', flush=True)\n</code></pre>\n<p>Usage:</p>\n<pre><code>python3 x.py\n</code></pre>"
)
C_ANSWER = (
    "<h2>Careful, C</h2><p><code>careful.c</code>:</p><pre><code>// careful.c\n#include &lt;stdio.h&gt;\n"
    'int main(void) { char line[4096]; while (fgets(line, 4096, stdin)) { puts("END"); fflush(stdout); } return 0; }\n'
    '</code></pre><pre><code>bot.toml\nprotocol = "lines"\n</code></pre>'
)


def read(body: str) -> ImportedBot | Skipped:
    """Return the bot in an answer."""
    return bot_in(msgspec.convert(answer(1, body), StackAnswer))


def test_answers_of_stack_exchange_are_handed_in_and_an_edited_one_is_a_new_version(cup: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    chat = answer(3, "<p>Is this still open?</p>")
    file.write_text(json.dumps({"items": [answer(1, PYTHON_ANSWER), answer(2, C_ANSWER, "Ángel <b>"), chat]}))
    done = croupier("-C", cup, "season", "import", file)
    assert done.out.splitlines()[-1] == "2 bots handed in, 1 of the answers left out"
    assert "answer 3 of Peter-Taylor-194 is left out: it has no heading" in done.out
    until(lambda: [each.state for each in submissions(cup, "Peter-Taylor-194")] == ["accepted"])
    until(lambda: [each.state for each in submissions(cup, "ngel-b-194")] == ["accepted"])
    edited = PYTHON_ANSWER.replace("import sys", "import sys  # better")
    file.write_text(json.dumps({"items": [answer(1, edited, edited=5), answer(1, PYTHON_ANSWER)]}))
    assert croupier("-C", cup, "season", "import", file).code == 0
    found = until(lambda: [each for each in submissions(cup, "Peter-Taylor-194") if each.state == "accepted"][1:])
    assert found[0].label == "Ends-its-turn-2"
    assert found[0].licence == "CC BY-SA 4.0, Peter Taylor, https://codegolf.stackexchange.com/a/1"


def test_an_answer_is_a_heading_and_code_blocks() -> None:
    found = read(PYTHON_ANSWER)
    assert isinstance(found, ImportedBot)
    assert (found.bot, found.file_name) == ("Ends-its-turn", "Ends-its-turn.py")
    assert b"print('END'" in found.content
    several = read(C_ANSWER)
    assert isinstance(several, ImportedBot)
    assert several.file_name == "Careful.tar"
    java = read("<h1>Mine - Java (8)</h1><pre><code>public class Other { }\n</code></pre>")
    assert isinstance(java, ImportedBot) and java.file_name == "Other.java"
    cpp = read("<h1>Fast, C++</h1><pre><code>int main() {}\n</code></pre>")
    assert isinstance(cpp, ImportedBot) and cpp.file_name == "Fast.cpp"
    for body, why in (
        ("<h1>Lost, Befunge</h1><pre>x</pre>", "does not know the language"),
        ("<h1>Empty, C</h1><p>soon</p>", "has no code block"),
        ("<pre>int main;</pre>", "has no heading"),
    ):
        left_out = read(body)
        assert isinstance(left_out, Skipped) and why in left_out.why


def test_markdown_of_the_api_is_read_as_well() -> None:
    text = "# Mine, Python\n\nWords\n\n    import sys\n\n    print(&quot;END&quot;)\n\n```\nshort\n```\n"
    found = bot_in(StackAnswer(1, body_markdown=text))
    assert isinstance(found, ImportedBot)
    assert found.content == b'import sys\n\nprint("END")\n'


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b'{"items": [{"answer_id": 1, "x": ' + b"[" * 100_000, b"\xff", b'{"items": 3}', b"<html>"],
)
def test_a_file_without_answers_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "answers.json"
    file.write_bytes(content)
    with pytest.raises(UserError) as refused:
        answers_in(file)
    assert refused.value.problems[0].code == "E016"


def test_an_answer_cannot_name_a_file_elsewhere() -> None:
    body = "<h1>Mine, C</h1><pre>../../x.c\nint a;\n</pre><pre>/etc/x.c\nint b;\n</pre><pre>mine.c\nint c;\n</pre>"
    found = read(body)
    assert isinstance(found, ImportedBot)
    assert (found.file_name, found.content) == ("mine.c", b"int c;\n")


# croupier submit.


def test_submit_reaches_a_real_season_and_shows_its_verdict(tmp_path: Path, mine: Path) -> None:
    folder, port = tmp_path / "cup", free_port()
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
        croupier("-C", folder, "season", "invite", "--again", "ada")
        until(lambda: croupier("submit", mine, "--to", link).err.startswith("error[W002]"))


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


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


@pytest.mark.parametrize(
    ("status", "said", "code", "shown"),
    [
        (429, {"code": "E004", "message": "5 submissions wait", "hint": "wait", "exit": 5}, 5, "error[E004]"),
        (401, {"code": "W002", "message": "not a link", "hint": "ask", "exit": 2}, 2, "error[W002]"),
        (200, b"<html>", 5, "error[E013]"),
        (500, b"oops", 5, "error[E013]"),
        (200, b"[" * 100_000, 5, "error[E013]"),
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


def test_a_watched_folder_needs_a_season_that_has_been_opened(tmp_path: Path) -> None:
    watched = WatchedFolder(SeasonFolder(tmp_path), tmp_path, AuthorLimits(), print)
    with pytest.raises(UserError) as refused:
        watched.look(0.0)
    assert (refused.value.problems[0].code, refused.value.exit_code) == ("E015", 5)
