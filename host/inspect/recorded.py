"""Play recorded tables again: the seed deals the cards, and everything else follows from the recorded answers."""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.bots.notes import NotesByTable
from host.bots.values import Evidence
from host.games.engine import Game, GameFailed, Scores, Table, Tell
from host.inspect.rules_place import begin_table
from host.inspect.told_table import ToldTable
from host.journal.check import does_not_fit
from host.journal.reader import Journal
from host.journal.tournament_dir import Folder, commitment, read_seed, seed_text
from host.play.lines import line_of, line_of_moves
from host.play.records import Fixture, Record, UnpackedLimits, unpack_noted
from host.play.sources.source import Step
from host.play.table_plans import TOURNEYS, TableSetup, table_setups
from host.play.transcript import decode_steps, unpack_transcript
from host.rules.catalogue import blame_game, ref_of
from protocols.wire import Answer, View


def known_seed(journal: Journal) -> bytes | None:
    """Return a run's seed; None if this user cannot read it, or if the seed file belongs to another run."""
    state = journal.state()
    if state.seed is not None:
        return state.seed
    chosen = state.chosen_seed
    try:
        drawn = Folder(journal.path.parent.parent).seed_file
        seed = read_seed(chosen) if chosen != "random" else bytes.fromhex(drawn.read_text())
    except (OSError, ValueError):
        return None
    return seed if commitment(seed) == state.seed_sha256 else None


def root_from(journal: Journal, published: bytes) -> bytes:
    """Return the root of a run's luck, given its published seed.

    Raise UserError (exit code 3) if the run has another seed.
    """
    hash_, sealed = commitment(published), journal.state().seed_sha256
    if hash_ != sealed:
        what = f"the run has another seed: the sha256 of this one is {hash_}, that of the run's seed is {sealed}"
        hint = "the seed as `croupier seed reveal` prints it, of this tournament and this run"
        raise UserError([Problem("R010", seed_text(published), what, hint=hint)], 3)
    return journal.state().root(published)


def known_root(journal: Journal) -> bytes | None:
    """Return the root of a run's luck: its seed, combined with the entered bots if `bind_seed` is set; None if it is unknown."""
    seed = known_seed(journal)
    return None if seed is None else journal.state().root(seed)


def root_of(journal: Journal) -> bytes:
    """Return the root of a run's luck. Raise UserError (exit code 3) if the seed of the run cannot be read."""
    seed = known_root(journal)
    if seed is None:
        what = "its seed cannot be read: run/seed is missing, belongs to another run, or is not readable by this user"
        hint = "without the seed no cards can be dealt again; once it is published:  croupier verify --seed SEED"
        raise UserError([Problem("R010", str(journal.path), what, hint=hint)], 3)
    return seed


class Decision(NamedTuple):
    """A recorded decision: the seat, its question and its answer."""

    table: int  # its number in the fixture, from 1
    number: int  # of the question at its table, from 1
    seat: int
    view: View
    answer: Answer
    allowed: bool = True  # False for a well-formed move that the rules do not allow
    bank: int | None = None  # milliseconds left in the bot's time bank when it was asked; None: it has none
    limit: float | None = None  # seconds for its answer, if its game has set a limit


class RecordedTable(NamedTuple):
    """One table of a recorded fixture."""

    game: Game
    number: int  # in its fixture, from 1
    sitting: TableSetup
    answers: tuple[Answer, ...]
    scores: Scores
    seed: bytes
    banks: Mapping[int, int] = MappingProxyType({})  # milliseconds left in a time bank, by number of the question
    notes: Mapping[int, str] = MappingProxyType({})  # of its bots, by number of the question
    steps: tuple[Step, ...] | None = None  # its transcript, if its rules ran in another process

    def play(self, tell: Tell = None) -> "Table | ToldTable":
        """Play the table again, to its end.

        Raise ValueError if there are more answers than questions. Raise UserError (exit code 3) if an organiser's own game
        fails, GameFailed if a game of croupier fails.
        """
        try:
            return self.begun(self.answers, tell)
        except GameFailed as failed:
            blame_game(self.game, failed)

    def begun(self, answers: Iterable[Answer] = (), tell: Tell = None) -> "Table | ToldTable":
        """Return the table after `answers`, its first answers. Play it from its transcript, or by the rules if it has none.

        Raise GameFailed if the game fails, AnswersDoNotFit if the transcript is damaged.
        """
        sitting = self.sitting
        if self.steps is not None:
            try:
                return ToldTable(self.steps, answers, tell)
            except ValueError as damaged:
                raise AnswersDoNotFit(f"{sitting.path}: {damaged}") from damaged
        return begin_table(self.game, sitting.rules, sitting.shuffler(self.seed), answers, tell, sitting.path)

    def line(self, played: "Table | ToldTable") -> bytes:
        """Return the line of the table, after it was played again (host/play/lines.py)."""
        if isinstance(played, Table):
            return line_of(self.sitting, played)
        return line_of_moves(self.sitting, played.moves)

    @property
    def seated(self) -> tuple[str, ...]:
        """Return the bot at each seat. In a game for partners a bot has several seats."""
        return self.sitting.seated(self.game)

    def decisions(self) -> Iterator[Decision]:
        """Play the table again and yield its decisions in order. Raise AnswersDoNotFit if there are too many answers."""
        yield from TableReplay(self)


class AnswersDoNotFit(ValueError):
    """Raised when the recorded answers do not fit this game with this seed."""


class TableReplay:
    """A replay of a recorded table: iterate over it to get the decisions. `game` is the game so far.

    Requesting the next decision passes the answer of the last one to the game.
    """

    def __init__(self, recorded: RecordedTable, tell: Tell = None) -> None:
        self.recorded = recorded
        self.game = recorded.begun(tell=tell)

    def __iter__(self) -> Iterator[Decision]:
        game, recorded = self.game, self.recorded
        for number, answer in enumerate(recorded.answers, 1):
            request = game.request
            if request is None:
                raise AnswersDoNotFit(f"{recorded.sitting.path}: answer {number} comes after the end of the game")
            yield Decision(
                table=recorded.number,
                number=number,
                seat=request.seat,
                view=request.view,
                answer=answer,
                allowed=game.allows(answer),
                bank=recorded.banks.get(number),
                limit=game.limit if isinstance(game, ToldTable) else None,
            )
            game.answer(answer)


@dataclass(frozen=True)
class RecordedFixture:
    """A fixture as its journal stores it."""

    journal: Path
    game: Game
    fixture: Fixture
    record: Record
    sittings: tuple[TableSetup, ...]
    seed: bytes

    @property
    def answers(self) -> tuple[tuple[Answer, ...], ...]:
        """Return the answers of all tables. Raise UserError (exit code 1) if they are damaged."""
        return self._noted[0]

    @cached_property
    def _noted(self) -> tuple[tuple[tuple[Answer, ...], ...], NotesByTable]:
        """Return the answers of all tables, and the notes by table number, then question number, both from 1."""
        try:
            answers, notes = unpack_noted(self.record.answers, UnpackedLimits.of(self.record).answers)
            return tuple(map(tuple, answers)), notes
        except ValueError as damaged:
            raise does_not_fit(self.journal, damaged) from damaged

    @cached_property
    def transcripts(self) -> tuple[bytes, ...] | None:
        """Return the transcript of each table; None if the record has none. Raise UserError (exit code 1) if damaged."""
        if not self.record.transcript:
            return None
        try:
            return tuple(unpack_transcript(self.record.transcript))
        except ValueError as damaged:
            raise does_not_fit(self.journal, damaged) from damaged

    @cached_property
    def _banks(self) -> Mapping[int, Mapping[int, int]]:
        """Return the milliseconds left in time banks, by number of the table, then of the question."""
        banks: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for table, number, left in self.record.banks:
            banks[table][number] = left
        return banks

    def table(self, nth: int) -> RecordedTable:
        """Return the nth table, from 0; -1 is the last. Raise UserError (exit code 1) if it is missing or damaged."""
        at, game = nth % len(self.sittings), self.game
        try:
            answers, scores = self.answers[at], self.record.scores[at]
            steps = None if self.transcripts is None else decode_steps(self.transcripts[at], game.view)
        except (IndexError, ValueError, RecursionError) as damaged:
            raise does_not_fit(self.journal, damaged) from damaged
        return RecordedTable(
            game=game,
            number=at + 1,
            sitting=self.sittings[at],
            answers=answers,
            scores=scores,
            seed=self.seed,
            banks=self._banks.get(at + 1, {}),
            notes=self._noted[1].get(at + 1, {}),
            steps=steps,
        )

    def players(self, nth: int) -> tuple[str, ...]:
        """Return the name of the process at each seat of the nth table, from 0."""
        return self.sittings[nth].players(self.game)

    @contextlib.contextmanager
    def refusing_misfits(self) -> Iterator[None]:
        """Raise UserError instead of AnswersDoNotFit or GameFailed in the block."""
        try:
            yield
        except AnswersDoNotFit as differs:
            raise does_not_fit(self.journal, differs) from differs
        except GameFailed as failed:
            if ref_of(self.game).said:
                blame_game(self.game, failed)
            raise does_not_fit(self.journal, failed) from failed

    def evidence_of(self, decision: Decision) -> Evidence | None:
        """Return the evidence of a decision, preferably that of a fault; None if none was recorded."""
        bot = self.sittings[decision.table - 1].seated(self.game)[decision.seat]
        wanted = (bot, decision.table, decision.number)
        pieces = [piece for piece in self.record.evidence if (piece.bot, piece.table, piece.number) == wanted]
        return min(pieces, key=lambda piece: piece.kind == "slowest", default=None)


def load_fixture(journal: Journal, seed: bytes, path: str, number: int | None = None) -> RecordedFixture:
    """Return a recorded fixture. Raise UserError if it has not been played, or if the journal does not fit the rules.

    With `number`, its number in the journal, find it even if it no longer counts.
    """
    try:
        fixture, record = journal.fixture(path, number), journal.full_record(path, number)
        if not record.answers and journal.reduced:
            message = "its answers have been removed to save space; results, faults and seals are still here"
            raise UserError([Problem("E105", path, message, hint="keep in [season] says how much is kept")], 3)
        if fixture.plan not in TOURNEYS and fixture.tables != len(record.scores):
            raise ValueError(f"{path} has {fixture.tables} tables, and the scores of {len(record.scores)}")
        tables = tuple(table_setups(fixture, seed, record.scores))
        for setup, scores in zip(tables, record.scores, strict=False):  # a tourney may end before its scores do
            if len(setup.bots) != len(scores):
                raise ValueError(f"{setup.path} has {len(setup.bots)} bots, and the scores of {len(scores)}")
    except (LookupError, ValueError, TypeError, AttributeError, msgspec.MsgspecError) as differs:
        raise does_not_fit(journal.path, differs) from differs
    game = journal.registry.game(fixture.game)
    return RecordedFixture(journal=journal.path, game=game, fixture=fixture, record=record, sittings=tables, seed=seed)
