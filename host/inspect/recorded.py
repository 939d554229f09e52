"""What a bot was asked then, told from the journal: the seed deals again, the recorded answers lead there."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import trio

from host.base.errors import Problem, UserError
from host.bots.monitor import unwrap_exception_group
from host.bots.one_shot import ProcessTotals
from host.bots.persistent import LIVES_ON
from host.bots.seat import Seat
from host.bots.stderr_log import StderrLog
from host.bots.values import Batch, Evidence, HasQuestion, Outcome, Usage
from host.games import GAMES
from host.games.engine import Table
from host.play.match import MAX_PARALLEL_TABLES, TableSetup, play
from host.play.records import Fixture, Record, unpack
from host.play.table_plans import PLANS, table_setups
from host.play.worker import bot_seed
from host.report.visibility import known_seed
from host.sandbox.limits import Limits
from host.submissions.bot_spec import Bot
from host.submissions.discovery import DEFAULT_LIMITS
from host.tournament.journal import Journal
from host.tournament.stage_runner import fixture_of
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, View


class RecordedDecision(NamedTuple):
    """A question as it was asked then, and what was answered."""

    table: int
    number: int
    view: View
    answer: Answer


class Exchange(NamedTuple):
    """What a process was told at once: the tables that were over, then the questions."""

    over: tuple[int, ...]
    questions: tuple[RecordedDecision, ...]


class Player(NamedTuple):
    """A bot as it was then: what asking it again depends on."""

    name: str
    sha256: str
    protocol: str
    limits: Limits
    parallel_tables: int = 1
    table_ids: bool = False
    lifetime: str = "fixture"
    state: str = ""
    state_lifetime: str = "fixture"
    source: str = ""  # where it lay, as far as that is known

    @property
    def remembers(self) -> bool:
        """Whether an earlier question can matter to it at all."""
        return PROTOCOLS[self.protocol].lives or bool(self.state)


class Repro(NamedTuple):
    """All that asking again needs: `before` is to be gone through first, `asked` holds what is meant."""

    game: str
    rules: Any
    fixture: str
    table: str  # its name, its part of the seed
    wanted: tuple[int, int]  # the table's number in its fixture, and the question; 0 means all of them
    player: Player
    seed: int  # its CROUPIER_SEED
    level: str
    before: tuple[Exchange, ...]
    asked: tuple[Exchange, ...]
    evidence: Evidence | None = None
    usage: Usage | None = None
    state: bytes | None = None  # what its lasting file held as the fixture began; None where that is not known


class RecordedFixture(NamedTuple):
    """A fixture taken out of a journal, unpacked."""

    fixture: Fixture
    record: Record
    seats: list[TableSetup]
    answers: list[list[Answer]]
    seed: bytes

    def asked(self, nth: int) -> Iterator[tuple[str, RecordedDecision]]:
        """Yield who was asked what at a table, in order. Raise ValueError when its answers do not fit the seed."""
        sitting = self.seats[nth]
        table = Table(GAMES[self.fixture.game], sitting.rules, sitting.shuffler(self.seed))
        for number, answer in enumerate(self.answers[nth], 1):
            if table.request is None:
                raise ValueError(f"{sitting.path}: answer {number} comes after the end of the game")
            yield sitting.bots[table.request.seat], RecordedDecision(nth + 1, number, table.request.view, answer)
            table.answer(answer)

    def piece(self, bot: str, nth: int, number: int) -> Evidence | None:
        """Return the evidence of a decision, a fault's before the slowest's; None when none was kept."""
        pieces = [
            piece for piece in self.record.evidence if (piece.bot, piece.table, piece.number) == (bot, nth + 1, number)
        ]
        return min(pieces, key=lambda piece: piece.kind == "slowest", default=None)


def played(journal: Journal, fixture: str) -> RecordedFixture:
    """Return a fixture of a journal. Raise Refused when it, or its seed, cannot be read."""
    try:
        whole, seed = journal.full_record(fixture), known_seed(journal)
    except ValueError as differs:
        raise not_reproducible(journal, differs) from differs
    if whole is None:
        raise UserError([Problem("R006", fixture, "has not been played", hint="croupier status")], 3)
    if seed is None:
        told = "its seed cannot be read: run/seed is missing, another's or not ours"
        raise UserError([Problem("R010", str(journal.path), told)], 3)
    record, about = whole
    try:
        what = fixture_of(about)
        return RecordedFixture(what, record, table_setups(what, seed, record.scores), unpack(record.answers), seed)
    except (LookupError, ValueError, TypeError, AttributeError, msgspec.MsgspecError) as differs:
        raise not_reproducible(journal, differs) from differs


def not_reproducible(journal: Journal, why: Exception) -> UserError:
    """Return the refusal of a journal whose answers are not those of its games."""
    return UserError([Problem("R008", str(journal.path), f"the journal does not fit the rules: {why}")], 1)


def player(journal: Journal, name: str) -> Player:
    """Return a bot as the journal knows it."""
    about = journal.bots()[name]
    limits = Limits(**about["limits"]) if "limits" in about else DEFAULT_LIMITS
    known = {
        key: about[key]
        for key in ("parallel_tables", "table_ids", "lifetime", "state", "state_lifetime", "source")
        if key in about
    }
    return Player(name, about["sha256"], about["protocol"], limits, **known)


def case(journal: Journal, fixture: str, nth: int, number: int, bot: str = "", *, same: bool = False) -> Repro:
    """Return what was asked at a fixture's nth table: one question, or with 0 all that `bot` was asked there.

    With `same` it comes after everything that the same process had been asked before. Raise Refused when there is no
    such question, or the journal cannot be read.
    """
    what = played(journal, fixture)
    nth %= len(what.seats)
    name = what.seats[nth].path
    try:
        asked = [(who, then) for who, then in what.asked(nth) if number in (0, then.number) and bot in ("", who)]
    except ValueError as differs:
        raise not_reproducible(journal, differs) from differs
    if not asked:
        raise UserError([_not_asked(what, nth, number, bot)], 2)
    bot, last = asked[-1]
    who = player(journal, bot)
    wanted = [then for _, then in asked]
    life: Sequence[Exchange] = [Exchange((), (then,)) for then in wanted]
    begins = 0
    if same and who.remembers:
        try:
            life = process_history(journal, what, who, (wanted[0], last))
        except (ValueError, IndexError, StopIteration) as differs:
            raise not_reproducible(journal, differs) from differs
        begins = next(at for at, exchange in enumerate(life) if _holds(exchange, wanted[0]))
    return Repro(
        *(what.fixture.game, what.seats[nth].rules, fixture, name, (nth + 1, number), who),
        *(bot_seed(what.seed, bot, fixture), journal.metadata()["level"]),
        *(tuple(life[:begins]), tuple(life[begins:])),
        what.piece(bot, nth, number),
        what.record.usage.get(bot),
        journal.initial_states(fixture).get(bot),
    )


def _not_asked(what: RecordedFixture, nth: int, number: int, bot: str) -> Problem:
    told = [who for who, _ in what.asked(nth)]
    name = what.seats[nth].path
    if number > len(told):
        message = f"table {name} has {len(told)} questions, and no {number}"
    elif number and bot:
        message = f"question {number} of {name} was asked of {told[number - 1]}, not of {bot}"
    else:
        message = f"{bot} was asked nothing at {name}"
    return Problem("U001", "", message, hint=f"croupier replay '{name}' shows them all")


def latest(journal: Journal, bot: str, most: int) -> list[Repro]:
    """Return the last questions that a bot was asked, the last fixture's first, each fixture's as one case."""
    cases: list[Repro] = []
    left = most
    for path in reversed(journal.paths()):
        what = played(journal, path)
        if bot not in what.fixture.bots or left <= 0:
            continue
        found: list[RecordedDecision] = []
        for nth in range(len(what.seats) - 1, -1, -1):
            if len(found) >= left:
                break
            found = [then for who, then in what.asked(nth) if who == bot] + found
        if found := found[-left:]:
            left -= len(found)
            asked = tuple(Exchange((), (then,)) for then in found)
            who, seed = player(journal, bot), bot_seed(what.seed, bot, path)
            whole = (what.fixture.game, what.fixture.rules, path, path, (0, 0), who, seed, journal.metadata()["level"])
            cases.append(Repro(*whole, (), asked, state=journal.initial_states(path).get(bot)))
    return cases


# One process's life: the match is played again by bots that only repeat what they have said.


class _StopReplay(Exception):
    """Raised when the last question that matters has been asked."""


def process_history(
    journal: Journal, what: RecordedFixture, who: Player, span: tuple[RecordedDecision, RecordedDecision]
) -> list[Exchange]:
    """Return everything that a process was told from its start, up to the second of two questions."""
    seats = {}
    for name in what.fixture.bots:
        one = player(journal, name)
        first = next((answer for nth in range(len(what.seats)) for answer in _own(what, nth, name)), None)
        bot = Bot(name, "", one.protocol, (), "", one.sha256)._replace(
            parallel_tables=one.parallel_tables, table_ids=one.table_ids, lifetime=one.lifetime, state=one.state
        )
        memory = ReplayProcess(bot, what.answers, span if name == who.name else None)
        seats[name] = memory, Seat(bot, memory, benched=first == Fault(FaultKind.BENCHED))
    plan = PLANS[what.fixture.plan](what.fixture, what.seed)
    most = int(journal.metadata().get("parallel_tables", "0")) or MAX_PARALLEL_TABLES

    async def again() -> None:
        with unwrap_exception_group():
            await play(
                GAMES[what.fixture.game], plan, {name: seat for name, (_, seat) in seats.items()}, what.seed, most
            )

    try:
        trio.run(again)
    except _StopReplay:
        return seats[who.name][0].exchanges
    raise ValueError("the question does not come up again")


def _own(what: RecordedFixture, nth: int, bot: str) -> Iterator[Answer]:
    """Yield a bot's answers at a table."""
    if bot in what.seats[nth].bots:
        yield from (then.answer for who, then in what.asked(nth) if who == bot)


def _holds(exchange: Exchange, then: RecordedDecision) -> bool:
    return any((one.table, one.number) == (then.table, then.number) for one in exchange.questions)


class ReplayProcess:
    """Says again what was said; it notes what the one process was told in whose life two given questions lie."""

    def __init__(
        self, bot: Bot, answers: Sequence[Sequence[Answer]], span: tuple[RecordedDecision, RecordedDecision] | None
    ) -> None:
        self.env: dict[str, str] = {}
        self.spent, self.heard = ProcessTotals(), StderrLog()
        self.muddled = False
        self.exchanges: list[Exchange] = []
        self._bot, self._answers, self._span = bot, answers, span
        self._over: list[int] = []
        self._table = 0
        self._begun = False  # whether the first of the two has been asked: from then on nothing is forgotten

    def show(self, _questions: Sequence[HasQuestion]) -> bool:
        """Wait for `exchange`."""
        return False

    async def exchange(self, questions: Sequence[HasQuestion]) -> Batch:
        """Return the recorded answers, up to the first that ended the process."""
        if self._bot.lifetime == "table" and questions[0].table != self._table:
            self._end()
        self._table = questions[0].table
        then = tuple(
            RecordedDecision(q.table, q.number, q.view, self._answers[q.table - 1][q.number - 1]) for q in questions
        )
        if self._span is not None:
            self.exchanges.append(Exchange(tuple(self._over), then))
            self._over.clear()
        wave = Batch([], [], [], [])
        for one in then:
            if self._span is not None:
                first, last = ((end.table, end.number) for end in self._span)
                self._begun |= (one.table, one.number) == first
                if (one.table, one.number) == last:
                    raise _StopReplay
            answer = one.answer
            if isinstance(answer, Fault) and answer.kind not in LIVES_ON and answer.detail != "TimeoutError":
                self._end()
                return wave._replace(failed=Outcome(answer))
            wave.answers.append(answer)
            wave.raws.append(b"")
            wave.walls.append(0.0)
        return wave

    def _end(self) -> None:
        """Note that the process has ended: what it was told matters no more, unless it has left a file behind."""
        if not self._begun and not self._bot.state:
            self.exchanges.clear()
            self._over.clear()

    def overheard(self, _table: int) -> bytes:
        """Return nothing: nobody speaks."""
        return b""

    async def over(self, table: int) -> None:
        """Note that a table is over."""
        self._over.append(table)

    async def rest(self, _patience: float = 0.0) -> None:
        """Rest."""
