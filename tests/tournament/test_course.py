"""Where a tournament stands: run, dry run, verify, corrections, standings and pages agree about it, whatever is played.

Fixtures get results by chance, without any bot. Organisers interrupt the run, play fixtures again, withdraw bots, take
that back, enter bots late, and ask for more tables.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from host.base.errors import UserError
from host.bots.bot_spec import BotSpec, BuiltBot
from host.bots.values import Usage
from host.config.tournament_config import Tournament, load
from host.games import GAMES
from host.inspect.verify import incomplete_stages, wrong_places
from host.inspect.visibility import shown_status
from host.journal.reader import Journal, reading
from host.journal.state import RunStatus, StageStatus
from host.journal.tournament_dir import Folder
from host.journal.writer import writing
from host.play.jobs import Job
from host.play.match import PlayedTable
from host.play.records import Record, pack
from host.play.results import results_of
from host.play.table_plans import table_setups
from host.report.summary import summarize
from host.results.course import Played, Position, course, positions_of
from host.sandbox.levels import UNPROTECTED
from host.tournament.corrections import last_begun, make, plan_readmit, plan_redo, plan_withdraw
from host.tournament.estimate import remaining
from host.tournament.opening import open_run
from host.tournament.running import play_stages
from host.tournament.stage_runner import Run

SEED = b"a seed"
GAME = GAMES["pazaak"]
SCORES = ((3, 0), (3, 1), (3, 2), (2, 3), (1, 3), (0, 3))
STAGES = {
    "league": 'kind = "round-robin"\ntables_per_pair = {tables}',
    "games": 'kind = "league"\ntables = 2',
    "swiss": 'kind = "swiss"\nrounds = 2\ntables_per_pairing = 2',
    "cup": 'kind = "knockout"\nset = 2\nfirst_to = 1\nmin_bots = 3',
}


class InterruptedError(Exception):
    """Raised by a pool whose fixtures are used up."""


class ChancePool:
    """Plays fixtures by chance. `first` has the fixtures that were due when the first one was played."""

    words, count, has_result = "by chance", 1, False

    def __init__(self, chance: Random, fixtures: int | None) -> None:
        self._chance, self._left = chance, fixtures
        self._waiting, self._played = list[Job](), False
        self.first = list[str]()

    async def submit(self, job: Job) -> None:
        """Queue a fixture."""
        await trio.lowlevel.checkpoint()
        self._waiting.append(job)
        if not self._played:
            self.first.append(job.fixture.path)

    async def next_result(self) -> Record:
        """Return the record of one of the queued fixtures."""
        await trio.lowlevel.checkpoint()
        self._played = True
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise InterruptedError
        fixture = self._waiting.pop(self._chance.randrange(len(self._waiting))).fixture
        tables = [
            PlayedTable(setup, self._chance.choice(SCORES), ())
            for setup in table_setups(fixture, SEED, [(0, 0)] * fixture.tables)
        ]
        faulty = self._chance.choice([*fixture.bots, ""])
        return Record(
            path=fixture.path,
            results=results_of(GAME, tables),
            faults={faulty: {"timeout": self._chance.randrange(1, 3)}} if faulty else {},
            usage=dict.fromkeys(fixture.bots, Usage(1, 0.1, 0.1, 0.1, 0, 1, (1, *[0] * 25))),
            evidence=(),
            scores=tuple(table.scores for table in tables),
            answers=pack([[]] * len(tables)),
        )


class Organiser:
    """A tournament in a folder, and all that its organiser can do to it."""

    def __init__(self, folder: Path, stages: Sequence[str], max_faults: int, chance: Random) -> None:
        self._cup, self._stages, self._max_faults, self._chance = folder, stages, max_faults, chance
        self.path = folder / "run" / "run.sqlite"
        self.names, self.tables = [*"abcde"], 2

    @property
    def tournament(self) -> Tournament:
        """The tournament as configured now."""
        limits = f"[limits]\nmax_faults = {self._max_faults}\n" if self._max_faults else ""
        parts = [f'[[stage]]\nname = "{name}"\n{STAGES[name].format(tables=self.tables)}\n' for name in self._stages]
        text = f'name = "cup"\ngame = "pazaak"\nbots = ["bots/*"]\nseed = "{SEED.decode()}"\n{limits}{"".join(parts)}'
        (self._cup / "croupier.toml").write_text(text)
        return load(self._cup)

    def due(self) -> list[str]:
        """Return what the dry run says that may be played now."""
        return [fixture.path for fixture in remaining(self.tournament, self.names, SEED, self.path)[1]]

    def run(self, fixtures: int | None = None) -> list[str]:
        """Play the tournament, or some fixtures of it; return those that were due at the beginning."""
        tournament = self.tournament
        bots = [BuiltBot(BotSpec(name=name, protocol="lines"), (), "", f"sha of {name}") for name in self.names]
        pool, setup = ChancePool(self._chance, fixtures), tournament.setup(bots, SEED, UNPROTECTED)
        with writing(self.path) as journal:
            open_run(journal, Folder(self._cup), tournament, bots, UNPROTECTED, "it came late")
            with suppress(InterruptedError):
                under_way = Run(tournament.blank, journal, pool, lambda _progress: None)
                trio.run(play_stages, tournament, None, setup, under_way, lambda _line: None)
                journal.set_status(RunStatus.FINISHED)
        return pool.first

    def redo(self) -> None:
        """Play a fixture again, or all of a pair."""
        with self._correcting() as journal:
            path = self._chance.choice(journal.paths() or [""])
            name = self._chance.choice([path, path.rpartition("/")[0]])
            make(journal, SEED, plan_redo(journal, SEED, name, "power cut"))

    def withdraw(self) -> None:
        """Withdraw a bot."""
        with self._correcting() as journal:
            make(journal, SEED, plan_withdraw(journal, SEED, self._chance.choice(self.names), "wish"))

    def readmit(self) -> None:
        """Take a withdrawal back."""
        with self._correcting() as journal:
            make(journal, SEED, plan_readmit(journal, SEED, self._chance.choice(self.names), "wish"))

    def enter(self) -> None:
        """Enter a bot late."""
        self.names.append(f"late{len(self.names)}")
        try:
            self.run(0)
        except UserError:  # too late
            self.names.pop()

    def add_tables(self) -> None:
        """Ask for more tables."""
        self.tables += 2
        try:
            self.run(0)
        except UserError:  # a later stage has begun
            self.tables -= 2

    @contextmanager
    def _correcting(self) -> Iterator[Journal]:
        with suppress(UserError), writing(self.path) as journal:  # some corrections come too late
            yield journal


def positions(journal: Journal) -> list[Position]:
    """Return where a tournament stands."""
    played = Played(journal.stage_records, journal.sizes)
    return course(journal.state(), journal.bots(), SEED, played)


def agree(journal: Journal) -> None:
    """Check that all who know where a tournament stands say the same."""
    run, now, pages = journal.state(), positions(journal), positions_of(journal)
    assert [*wrong_places(journal, SEED)] == [*incomplete_stages(journal, SEED)] == []
    summary = summarize(journal, SEED)
    for position, page, stage in zip(now, pages, summary.stages, strict=True):
        state = position.state
        assert (stage.name, stage.state) == (state.name, shown_status(run, state))
        assert [row.bot for row in stage.rows] == [row.bot for row in page.standings.rows]
        assert page.shown_bots == [*state.field] or not state.field
        if state.status is StageStatus.SKIPPED and position.decided:
            assert position.skipped
        if state.over:
            assert [*state.field] == position.bots
            assert page.bots == position.bots
            assert [*state.places] == position.outcome.places
            if run.withdrawn == {*state.withdrawn.during} and not page.disqualified:
                inside = [row.bot for row in page.standings.rows if row.bot in state.field]
                assert inside == [*state.places]
    if journal.begun:  # corrections take the bots as recorded if a stage before was opened again
        begun = last_begun(journal, SEED)
        assert [*begun.position.bots] == now[begun.number].bots
        assert begun.position.field == now[begun.number].field


@pytest.mark.long
@settings(
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_run_dry_run_verify_corrections_standings_and_pages_agree(data: Any) -> None:
    stages = data.draw(st.permutations(sorted(STAGES)).map(lambda names: names[:3]))
    max_faults, salt = data.draw(st.sampled_from([0, 0, 4])), data.draw(st.integers(0, 2**32))
    with tempfile.TemporaryDirectory() as folder:
        organiser = Organiser(Path(folder), stages, max_faults, Random(salt))
        doings = {
            "run": organiser.run,
            "some": lambda: organiser.run(organiser.tables + 3),
            "redo": organiser.redo,
            "withdraw": organiser.withdraw,
            "readmit": organiser.readmit,
            "enter": organiser.enter,
            "more": organiser.add_tables,
        }
        assert organiser.due() == organiser.run(data.draw(st.integers(0, 12)))
        for word in data.draw(st.lists(st.sampled_from(sorted(doings)), max_size=8)):
            doings[word]()
            with reading(organiser.path) as journal:
                agree(journal)
            assert organiser.due() == organiser.run(data.draw(st.integers(0, 4)))
        organiser.run()
        assert organiser.due() == []
        with reading(organiser.path) as journal:
            agree(journal)
            assert journal.state().finished


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("removed", [1, 2, 3])
def test_a_finished_stage_without_its_last_fixtures_is_not_complete(stage: str, removed: int, tmp_path: Path) -> None:
    organiser = Organiser(tmp_path, [stage], 0, Random(1))
    organiser.run()
    with writing(organiser.path) as journal:
        assert [*incomplete_stages(journal, SEED)] == []
        paths = journal.paths()
    with closing(sqlite3.connect(organiser.path)) as database, database:
        for path in paths[-removed:]:
            database.execute("DELETE FROM record WHERE fixture IN (SELECT id FROM fixture WHERE path = ?)", (path,))
            database.execute("DELETE FROM fixture WHERE path = ?", (path,))
    with reading(organiser.path) as journal:
        (difference,) = incomplete_stages(journal, SEED)
        assert difference.startswith(f"{stage}: is recorded as finished, but {stage}/")


def test_a_bot_of_the_first_stage_is_entered_in_the_order_that_is_recorded(tmp_path: Path) -> None:
    organiser = Organiser(tmp_path, ["cup", "league"], 0, Random(1))
    organiser.names.reverse()
    organiser.run()
    with reading(organiser.path) as journal:
        first, _ = positions(journal)
        assert first.bots == [*journal.state().stages[0].field]
