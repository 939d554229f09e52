"""Helpers for tests of a whole season: a folder, its process, and authors who hand in bots."""

import contextlib
import hashlib
import http.client
import json
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from command import CROUPIER, Done, croupier, environment
from helpers import own_port

from host.season.entries.inbox import Invite, Request, Submit, write_request
from host.season.entries.store import Store
from host.season.site.errors import Refusal
from host.season.site.published import Published
from host.submissions.conformance import CHECK_SEED_OF_BOTS

CONFIG = """\
game = "{game}"
name = "Cup of tests"
[season]
round_every = "1 s"
budget = "1 s"
practice = 4
{terms}
[[stage]]
kind = "round-robin"
tables_per_pair = 20
[limits]
move = "10 s"
cpu = "10 s"
"""
PATIENCE_S = 120.0

ENDS = "import sys\nfor line in sys.stdin:\n    print('{answer}', flush=True)  # {note}\n"
CRASHES_IN_ROUNDS = f"""\
import os, sys
for number, line in enumerate(sys.stdin):
    if number and os.environ['CROUPIER_SEED'] != '{CHECK_SEED_OF_BOTS}':
        sys.stderr.write('the secret words of its author')
        sys.stderr.flush()
        os.abort()
    print('END', flush=True)
""".encode()
"""A bot that passes its check and starts in rounds, where each of its processes crashes at the second question."""


def plain_bot(answer: str = "END", note: str = "") -> bytes:
    """Return a bot of pazaak that always gives the same answer; the note makes its files differ from others."""
    return ENDS.format(answer=answer, note=note).encode()


class TestSeason:
    """A season folder, new or one that there is, and its process while it runs."""

    __test__ = False

    def __init__(self, folder: Path, terms: str = "", game: str = "pazaak") -> None:
        self.folder, self.process = folder, None
        if not folder.exists():
            folder.mkdir()
            (folder / "croupier.toml").write_text(CONFIG.format(game=game, terms=terms))
        self.log = folder / "log.ndjson"
        self.port = own_port()
        self.program, self.env = CROUPIER, environment()
        self.process: subprocess.Popen[bytes] | None = None

    def open(self, *words: str, site: bool = False) -> None:
        """Start the season process, and wait until it is open."""
        where = ("--bind", f"127.0.0.1:{self.port}") if site else ("--no-site",)
        before = len(self.events("open"))
        with self.log.open("ab") as log:
            workers = () if "--cluster" in words else ("--workers", "1")
            command = [*self.program, "-C", str(self.folder), "--json", "season", "open", *where, *workers, *words]
            self.process = subprocess.Popen(
                command, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.until(lambda: len(self.events("open")) > before, "the season to open")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the process a signal, and wait for its end. Return its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.process = None
        return code

    @contextlib.contextmanager
    def opened(self, *words: str, site: bool = False) -> Iterator["TestSeason"]:
        """Run the season process in a block."""
        self.open(*words, site=site)
        try:
            yield self
        finally:
            if self.process is not None:
                self.end()

    def lines(self) -> list[dict[str, Any]]:
        """Return all lines of the log that are objects."""
        text = self.log.read_text() if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]

    def events(self, kind: str, text: str = "") -> list[dict[str, Any]]:
        """Return the events of a kind whose subject or text has some words."""
        return [
            line
            for line in self.lines()
            if line.get("kind") == kind and text in f"{line.get('subject')} {line.get('text')}"
        ]

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something holds. Fail if it does not, or if the process has ended."""
        end = time.monotonic() + PATIENCE_S
        while not holds():
            ended = self.process is not None and self.process.poll() is not None
            assert not ended and time.monotonic() < end, f"waiting for {what}: {self.log.read_text()[-3000:]}"
            time.sleep(0.05)

    def until_round(self, number: int) -> None:
        """Wait until a round is over."""
        self.until(
            lambda: any(each["subject"] == str(number) for each in self.events("round", "is over")), f"round {number}"
        )

    @property
    def url(self) -> str:
        """The address of its site."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self.process is not None
        return self.process.pid

    def page(self, path: str) -> bytes | None:
        """Return a page of its site; None if the site does not answer, or refuses."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.url + path, timeout=10) as answer:
                return bytes(answer.read())
        except (OSError, http.client.HTTPException):  # it may be killed in the middle of an answer
            return None

    # What people do.

    def ask(self, request: Request, upload: bytes | None = None) -> str:
        """Leave a request in the inbox; return its id."""
        (self.folder / "inbox").mkdir(exist_ok=True)
        waiting = self.folder / "inbox" / f".upload-{time.monotonic_ns()}"
        if upload is not None:
            waiting.write_bytes(upload)
        return write_request(self.folder / "inbox", request, waiting if upload is not None else None)

    def invite(self, *names: str) -> None:
        """Invite authors. The secret of a link is the name, for tests."""
        for name in names:
            self.ask(Invite(name, hashlib.sha256(name.encode()).hexdigest()))

    def submit(self, author: str, bot: str, content: bytes, file: str = "bot.py") -> str:
        """Hand in a file; return the id of the request."""
        return self.ask(Submit(author, file, "api", bot), content)

    def put(self, author: str, bot: str, content: bytes, file: str) -> str:
        """Hand in a file by HTTP, again until the site acknowledges it. Return the id of the submission."""
        url = f"{self.url}/api/bots/{bot}?file={file}"
        request = urllib.request.Request(url, content, {"Authorization": f"Bearer {author}"}, method="PUT")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                with opener.open(request, timeout=10) as answer:
                    return str(json.loads(answer.read())["id"])
            except urllib.error.HTTPError as refused:
                if refused.code != 429:  # too many of the author wait, on a slow machine
                    raise AssertionError(refused.read().decode()) from refused
                time.sleep(1.0)
            except (OSError, http.client.HTTPException):  # it may be killed in the middle of an answer
                time.sleep(0.1)
        raise AssertionError("the site does not answer")

    def accepted(self, *labels: str) -> None:
        """Wait until versions have been accepted."""
        for label in labels:
            self.until(lambda label=label: self.events("accepted", f"/{label} "), f"the verdict on {label}")  # type: ignore[misc]

    # What is known.

    def document(self, name: str) -> Any:
        """Return what is published, for example "site", "rounds/1", "bots/mine" or "mine/ada"; None if it is not."""
        published, (kind, _, which) = Published(self.folder / "published"), name.partition("/")
        try:
            if kind == "rounds" and which:
                found = published.round(int(which))
            elif read := {"bots": published.bot, "mine": published.author}.get(kind):
                found = read(which)
            else:
                found = getattr(published, kind)()
        except Refusal:
            return None
        return found and msgspec.to_builtins(found.value)

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        """Open the store for reading."""
        with Store.reading(self.folder) as store:
            yield store

    def croupier(self, *words: object) -> Done:
        """Run a command in the folder."""
        return croupier("-C", self.folder, *words)
