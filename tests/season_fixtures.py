"""Helpers for tests of a season's intake: a folder with an intake, requests, and bots in several languages."""

import contextlib
import gzip
import io
import itertools
import tarfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import helpers
import trio

from host.backends.kept import KeptWorkers
from host.backends.local import local_workers
from host.sandbox.limits import Limits
from host.season.entries.inbox import Request, StoredRequest, Submit, read_requests, write_request
from host.season.entries.store import Store
from host.season.entries.values import Answer, Submission
from host.season.folder import SeasonFolder
from host.season.intake.intake import SeasonIntake
from host.season.intake.practice import IntakeTerms
from host.season.intake.requests import EntryTerms
from host.season.season_config import AuthorLimits
from host.stages import CROUPIERS
from host.submissions.discovery import load_submission

STANDS = "import sys\nfor line in sys.stdin:\n    print('END', flush=True)\n"
"""A bot of pazaak that always ends its turn."""

C_BOT = r"""
#include <stdio.h>
int main(void) { char line[4096]; while (fgets(line, sizeof line, stdin)) { puts("END"); fflush(stdout); } return 0; }
"""
JAVA_BOT = """
import java.util.Scanner;
public class Mine {
    public static void main(String[] words) {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) { in.nextLine(); System.out.println("END"); }
    }
}
"""
BROKEN_C = "int main(void) { return undeclared; }\n"
NONSENSE = "import sys\nfor line in sys.stdin:\n    print('banana', flush=True)\n"
CRASHES = (
    "import os, sys\nfor line in sys.stdin:\n    print('out of cards', file=sys.stderr, flush=True)\n    os.abort()\n"
)
NEVER_ANSWERS = "import time\ntime.sleep(1000)\n"
HASH = "0123456789abcdef" * 4
_numbers = itertools.count()


class Season(NamedTuple):
    """An open season of a test."""

    folder: Path
    store: Store
    intake: SeasonIntake

    def ask(self, request: Request, upload: bytes | None = None) -> Answer:
        """Leave a request in the inbox, let it be answered, and return the answer."""
        identity = leave(self.folder, request, upload)
        (stored,) = [each for each in read_requests(self.folder / "inbox").requests if each.id == identity]
        answer = self.intake.handle(stored, time.time())
        stored.remove()
        return answer

    def author(self, name: str) -> None:
        """Add an author."""
        self.store.authors.add(name, f"{next(_numbers):064x}", time.time())

    def submit(self, author: str, file_name: str, content: str | bytes, bot: str = "") -> Answer:
        """Hand in a file."""
        upload = content.encode() if isinstance(content, str) else content
        return self.ask(Submit(author, file_name, "api", bot), upload)

    def examined(self) -> Submission:
        """Examine what waits first, and return the submission with its verdict."""

        async def one() -> Submission:
            found = await self.intake.examine_next()
            assert isinstance(found, Submission)
            return found

        return self.run(one)

    def run(self, work: Callable[[], Awaitable[helpers.T]]) -> helpers.T:
        """Run asynchronous work with the workers of the intake; they end after it."""
        workers = KeptWorkers()
        self.intake.terms = self.intake.terms._replace(executor=workers.executor)

        async def whole() -> helpers.T:
            try:
                return await work()
            finally:
                with trio.CancelScope(shield=True):
                    await workers.close()

        return trio.run(whole)

    def accepted(self, author: str, file_name: str, content: str | bytes, bot: str = "") -> Submission:
        """Hand in a file that is accepted; return its submission."""
        self.submit(author, file_name, content, bot)
        found = self.examined()
        assert found.state == "accepted", found.verdict
        return found


def leave(folder: Path, request: Request, upload: bytes | None = None) -> str:
    """Leave a request in the inbox of a season folder, and return its id."""
    if upload is None:
        return write_request(folder / "inbox", request)
    waiting = folder / f"upload-{next(_numbers)}"
    waiting.write_bytes(upload)
    return write_request(folder / "inbox", request, waiting)


def terms_of(game: str = "pazaak", references: tuple[Path, ...] = (), tables: int = 8, **entry: object) -> IntakeTerms:
    """Return the terms of an intake of a game."""
    found = CROUPIERS.game(game)
    handed = tuple(load_submission(path, helpers.AMPLE, found).for_game(found) for path in references)
    limits: AuthorLimits = entry.pop("limits", AuthorLimits())  # type: ignore[assignment]
    return IntakeTerms(
        entry=EntryTerms(limits=limits, references=tuple(each.name for each in handed), **entry),  # type: ignore[arg-type]
        game=found,
        rules=found.default_rules,
        limits=Limits(move=1, startup=4, cpu=1),
        level=helpers.level(),
        references=handed,
        practice_tables=tables,
        executor=local_workers,
        workers=1,
    )


@contextlib.contextmanager
def season(folder: Path, terms: IntakeTerms | None = None) -> Iterator[Season]:
    """Open a season in a folder, with the authors ada and grace."""
    with Store.open(folder) as store:
        opened = Season(folder, store, SeasonIntake(store, SeasonFolder(folder), terms or terms_of()))
        if not store.authors.all():
            for name in ("ada", "grace"):
                opened.author(name)
        yield opened


def tar(files: Mapping[str, str]) -> bytes:
    """Return a .tar.gz with these files, the same bytes each time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)


def stored(folder: Path) -> StoredRequest:
    """Return the only request in the inbox of a season folder."""
    (only,) = read_requests(folder / "inbox").requests
    return only
