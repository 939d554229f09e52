"""`croupier.tournament`: the folder of a tournament, as the commands use it."""

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from croupier.playing import Standing, to_html
from croupier.session import Bar, errors, folder_of, session
from host.backends.backend import open_backend
from host.ops.journals import find_stage, open_journal
from host.report.listings import by_bot, results_of
from host.results.standings import StageStandings
from host.tournament.running import RunOptions, run_tournament


class Standings:
    """The standings of one stage. `str()` returns the text that `croupier standings` prints.

    `stage` is the name of the stage. `rows` has a Standing for each bot, best rank first.
    """

    def __init__(self, stage: str, standings: StageStandings, text: str) -> None:
        self._standings, self._text = standings, text
        self.stage: str = stage
        self.rows: tuple[Standing, ...] = tuple(map(Standing.of, standings.rows))

    @property
    def sure(self) -> list[str]:
        """Return sentences about the certainty of the order.

        There is one for each two neighbours; sentences about missing, few or repeated results may come before them.
        """
        return list(self._standings.sentences)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each bot, best rank first, with the keys of a row of `croupier standings --json`."""
        return [row.flat() for row in self._standings.rows]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<standings of {self.stage}: {', '.join(row.bot for row in self.rows)}>"

    def _repr_html_(self) -> str:
        value = self._standings.rows[0].ranking.name if self._standings.rows else "value"
        return to_html(self.rows, value, self.sure)


class Tournament:
    """A tournament in its folder, whose path is `folder`. Create it with `croupier.tournament`.

    It can continue a run that the command `croupier run` began, and vice versa.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder: Path = folder_of(folder)

    def run(
        self,
        *,
        workers: int | None = None,
        stop_after: float | None = None,
        stage: str | None = None,
        unsafe: bool = False,
        progress: bool = True,
    ) -> Standings:
        """Play the rest of the tournament, and return the standings of the last stage with results.

        `stage` is the name of the last stage to play. `stop_after` is the time after which the run stops, in seconds.
        `workers` is the number of worker processes, by default the one in croupier.toml. `unsafe` plays without a sandbox.
        `progress` prints the progress to standard error.

        Raise Error where `croupier run` prints an error. Raise KeyboardInterrupt at ^C. Then, and if the process ends,
        no finished fixture is lost: the next run continues. Raise RuntimeError if a function at a table calls it.
        """
        options = RunOptions(last=stage, workers=workers, until=stop_after, unsafe=unsafe)
        with Bar(shown=progress) as bar:
            session().run(partial(run_tournament, self.folder, bar, open_backend, options))
        return self.standings()

    def standings(self, stage: str | None = None) -> Standings:
        """Return the standings of a stage, by default of the last stage with results.

        Raise Error if no stage has this name, or if nothing has been played in this folder.
        """
        with errors(), open_journal(self.folder) as journal:
            position = find_stage(journal, stage)
            text = "\n".join(by_bot(results_of(journal, position)).text())
            return Standings(position.state.name, position.standings, text)

    def __repr__(self) -> str:
        return f"<tournament in {self.folder}>"


def tournament(folder: str | PathLike[str]) -> Tournament:
    """Return the tournament of a folder with a croupier.toml, for example one that `croupier new` has created.

    Raise Error if there is no such folder. croupier.toml is read by `run`, which raises Error if it is missing or
    wrong.
    """
    return Tournament(folder)
