"""Imports a submission for `add` and `check`: copies it as it would play, loads the copy, names the original in errors.

Both commands import submissions in this way only. So they accept the same files, folders and archives.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.paths import display_path
from host.base.safe_text import one_line
from host.bots.bot_spec import Submission
from host.games.engine import Game
from host.sandbox.limits import Limits
from host.submissions.archive import import_submission
from host.submissions.discovery import load_entry
from host.submissions.file_tree import submitted


class Intake:
    """A submission and its copy in a temporary folder, which is removed at the end of the block."""

    def __init__(self, parent: Path | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=parent, prefix=".taking-"))
        self._handed_in: Path | None = None
        self.copy = self._folder

    @property
    def loaded(self) -> bool:
        """Whether `load` has copied a submission."""
        return self._handed_in is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        paths.remove_tree(self._folder)

    def load(self, handed_in: Path, granted: Limits, game: Game | None = None, name: str | None = None) -> Submission:
        """Copy a submission, and load and return the copy. Raise UserError if croupier does not accept it.

        `name` replaces the name of the file or folder.
        """
        self.copy = import_submission(handed_in, self._folder, name, submitted(granted.submission))
        self._handed_in = handed_in
        with self.naming_the_original():
            return load_entry(self.copy, game, granted).playable

    @contextmanager
    def naming_the_original(self) -> Iterator[None]:
        """Change a UserError of the block: its problems then name the submission instead of its copy."""
        try:
            yield
        except UserError as refused:
            raise UserError([self.original(problem) for problem in refused.problems], refused.exit_code) from refused

    def original(self, problem: Problem) -> Problem:
        """Return a problem with the path of the submission in the place of the path of its copy."""
        if self._handed_in is None:
            return problem
        shown = one_line(str(self._handed_in))
        for copy in (os.path.abspath(self.copy), str(self.copy), display_path(self.copy)):  # noqa: PTH100 - no links
            problem = Problem(*(part.replace(copy, shown) for part in problem))
        return problem
