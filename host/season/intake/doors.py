"""Hands in files on the machine of a season: what the git hook, the watched folder and the import have in common.

A door writes into the inbox and reads what the season process publishes. It needs no access to the store or the seed.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars, one_line
from host.base.system_errors import file_problem
from host.season.documents import AuthorDocument, SubmissionRow, TokensDocument
from host.season.entries.inbox import Request, write_request
from host.season.entries.values import Answer, Verdict
from host.season.folder import SeasonFolder

POLL_S = 0.2
FINAL_STATES = ("accepted", "refused", "cancelled")
MAX_TEXT_LINES = 30


class Outcome(NamedTuple):
    """What a door knows of what it has handed in: the answer and the submission, as far as there are any."""

    answer: Answer | None = None
    row: SubmissionRow | None = None

    @property
    def refused(self) -> bool:
        """Whether the request or the bot is refused."""
        return bool(self.answer and self.answer.code) or bool(self.row and self.row.state == "refused")

    @property
    def final(self) -> bool:
        """Whether nothing more will come."""
        return self.refused or bool(self.row and self.row.state in FINAL_STATES)

    @property
    def state(self) -> str:
        """How far it is, in one line."""
        if self.answer and self.answer.code:
            return f"refused: {self.answer.text} ({self.answer.code}); {self.answer.cure}"
        if self.row is None:
            return "received; the season process has not read it yet"
        return f"{self.row.state}: {self.row.reason}" if self.row.reason else self.row.state

    def lines(self) -> Iterator[str]:
        """Yield what is known, for people. All texts of strangers are escaped."""
        if self.row and self.row.verdict:
            yield from verdict_lines(self.row.verdict)
        yield one_line(self.state)[:500]


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the lines of a verdict for people."""
    for finding in verdict.findings:
        yield f"  {finding.mark} {one_line(finding.what):<15} {one_line(finding.words)}"
        if finding.cure:
            yield f"{'':20}{one_line(finding.cure)}"
    for problem in verdict.problems:
        yield from _shown(problem)
    for text, title in ((verdict.first_wrong, "first wrong answer"), (verdict.stderr, "standard error")):
        if text:
            yield f"  {title}:"
            yield from (f"    {line}" for line in _shown(text))


def _shown(text: str) -> list[str]:
    return escape_control_chars(text).splitlines()[:MAX_TEXT_LINES]


def leave(folder: SeasonFolder, request: Request, content: bytes | None = None) -> str:
    """Leave a request in the inbox, with a file if there is one, and return its id. Raise UserError if it cannot be written."""
    try:
        folder.inbox.mkdir(parents=True, exist_ok=True)
        if content is None:
            return write_request(folder.inbox, request)
        upload = folder.inbox / f".upload-{time.time_ns()}"
        with upload.open("xb") as file:
            file.write(content)
        try:
            return write_request(folder.inbox, request, upload)
        finally:
            upload.unlink(missing_ok=True)
    except OSError as error:
        raise UserError([file_problem("written", folder.inbox, error)], 6) from error


def outcome(folder: SeasonFolder, author: str, request: str) -> Outcome:
    """Return what the season has published about a request."""
    document = _document(folder, author)
    answer = document.answers.get(request) if document else None
    if document is None or answer is None:
        return Outcome()
    return Outcome(answer, next((row for row in document.submissions if row.id == answer.submission), None))


def followed(folder: SeasonFolder, author: str, request: str, seconds: float, told: Callable[[str], None]) -> Outcome:
    """Return what has become of a request when it is final, or after some seconds. Call `told` with each new state."""
    until, last = time.monotonic() + seconds, ""
    while True:
        found = outcome(folder, author, request)
        if found.final or time.monotonic() >= until:
            return found
        if found.state != last:
            last = found.state
            told(one_line(last)[:500])
        time.sleep(POLL_S)


def authors_of(folder: SeasonFolder) -> set[str]:
    """Return the names of all authors, as the season process has published them. Raise UserError if it has not yet."""
    path = folder.published / "private" / "tokens.json"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=TokensDocument)
    except (OSError, msgspec.MsgspecError) as missing:
        hint = "croupier season open  begins the season"
        raise UserError([Problem("E015", str(path), "the season has not been opened", hint=hint)], 5) from missing
    return {*found.authors} - {""}


def _document(folder: SeasonFolder, author: str) -> AuthorDocument | None:
    path: Path = folder.published / "private" / "authors" / f"{author}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=AuthorDocument)
    except (OSError, msgspec.MsgspecError):
        return None
