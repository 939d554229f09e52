"""Checks a referee: plays random tables in several processes, compares every byte, and reports what is wrong."""

import gzip
import re
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio

from host.base.errors import Problem, UserError
from host.base.format import counted, thousands
from host.base.safe_text import escape_control_chars, one_line
from host.bots.bot_spec import BuiltBot
from host.bots.monitor import Monitor, running_monitor
from host.games.engine import Game
from host.games.luck import Luck
from host.play.records import read_answer
from host.play.sources.referee import RefereeProgram, RefereeSource, referee_source
from host.play.sources.source import NewTable, SourceFailed, SourcePlace, Step
from host.play.table_plans import TableSetup
from host.rules.answer_forms import Form, random_answer
from host.rules.foreign import is_foreign
from host.rules.game_toml import RefereeGame
from host.sandbox.levels import Level
from host.submissions.referees import build_referee, load_referee
from protocols.wire import MAX_LINE_BYTES, Answer, Fault, FaultKind, Move, read_text

MAX_TABLES = 100
PARALLEL = 8
SECOND_APART_S = 1.1  # seconds between the starts of two processes, so that a clock in whole seconds makes a difference
FIRST_RUN_S = 3.0  # seconds after which the first run opens no more tables; the others play the same tables
RUN_TIMEOUT_S = 60.0
FAULTS = (FaultKind.TIMEOUT, FaultKind.CRASH, FaultKind.UNREADABLE, FaultKind.FLOOD, FaultKind.BENCHED)
ROOT = b"croupier check"  # of all luck of the tables of a check; known to everybody
FAILED_SCHEMA, MAX_BUNDLE_BYTES = "croupier/undecided/1", 64 << 20
OTHER_NUMBERS = 1000  # added to the numbers of the tables in one of the runs
MAX_SHOWN_LINE = 4000  # bytes of a line of a bundle
SHOWN_BYTES = 60  # on each side of the first difference
TABLE_NUMBER = re.compile(rb'"table"\s*:\s*[0-9]+')
STARTS, FAILS, CHANCE, TABLES, SURVIVES = "G001", "G002", "G003", "G004", "G005"
"""The codes of errors: a referee does not start, breaks the protocol or ends, is not deterministic, lets tables depend on
each other, and does not survive faults."""


class RefereeFinding(NamedTuple):
    """One line of a report: passed (✓), a note (!), failed (✗) or not checked (·). `cure` is the suggested fix."""

    mark: str
    words: str
    cure: str = ""

    def __str__(self) -> str:
        return f"  {self.mark} {self.words}" + (f"\n      {self.cure}" if self.cure else "")


class RefereeReport(NamedTuple):
    """Report of `check` about a referee."""

    game: str
    language: str
    place: str
    findings: tuple[RefereeFinding, ...]
    problems: tuple[Problem, ...]
    seconds: float

    @property
    def accepted(self) -> bool:
        """Whether the game can be played."""
        return not self.problems

    def json(self) -> dict[str, Any]:
        """Return the report as JSON values, by key."""
        return {
            "game": self.game,
            "language": self.language,
            "place": self.place,
            "accepted": self.accepted,
            "findings": [finding._asdict() for finding in self.findings],
            "problems": [problem._asdict() for problem in self.problems],
            "seconds": round(self.seconds, 3),
        }

    def text(self) -> Iterator[str]:
        """Yield the report as lines."""
        yield f"{f'{self.game} · {self.language} · referee':<70} {escape_control_chars(self.place)}".rstrip()
        yield from map(str, self.findings)
        yield from map(str, self.problems)
        notes = sum(finding.mark == "!" for finding in self.findings)
        noted = f" · {counted(notes, 'note')}" if notes else ""
        yield f"{'ready to play' if self.accepted else 'not accepted'}{noted} · {self.seconds:.1f} s"


class Run(NamedTuple):
    """Plan for one process that plays the tables of a check."""

    tables: Sequence[int]  # in the order in which they are opened, from 1
    parallel: int = 1
    offset: int = 0  # added to the numbers of the tables
    faults: bool = False  # whether a third of the answers are faults, and a quarter of the tables are dropped


@dataclass
class Played:
    """The output of a referee in one process, the answers that it received, and counts of both."""

    said: defaultdict[int, bytes] = field(default_factory=lambda: defaultdict(bytes))
    """The lines that the referee wrote, by table of the check. In them, 0 replaces the number of the table."""
    answers: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The answers that the referee received, as text, by table of the check."""
    decisions: int = 0
    illegal: Counter[str] = field(default_factory=Counter)  # illegal moves by verb
    moves: Counter[str] = field(default_factory=Counter)  # all moves by verb
    longest: int = 0  # bytes of the longest line
    seconds: float = 0.0
    dropped: int = 0
    faults: int = 0


class Bench:
    """Plays tables of a referee with random answers."""

    def __init__(self, known: RefereeGame, built: BuiltBot, level: Level, monitor: Monitor) -> None:
        self.game: Game = known.game
        self.forms: Sequence[Form] = known.forms
        self.is_foreign = known.file.adapter is not None
        self.protocol_hint = FOREIGN_HINTS[FAILS] if self.is_foreign else PROTOCOL_HINT
        self._program = RefereeProgram(built, known.game, known.file.words)
        self._place = SourcePlace(level, (), monitor)
        self.has_started = False  # whether a process has answered the first line
        low, high = known.game.seats
        self._rules = [
            rules._replace(seats=seats) for seats in range(low, high + 1) for rules in known.game.presets.values()
        ]

    async def play(self, run: Run, until: float = float("inf")) -> Played:
        """Play tables in a fresh process. Return the output of the referee.

        Open no table after `until`, a time of `time.monotonic`. Raise SourceFailed if the referee fails, or if the run
        takes longer than RUN_TIMEOUT_S.
        """
        with trio.move_on_after(RUN_TIMEOUT_S):
            async with referee_source(self._program, self._place) as source:
                self.has_started = True
                return await _Tables(self, source, run).play(until)
        raise SourceFailed(f"did not end its tables within {RUN_TIMEOUT_S:g} s")

    def opened(self, table: int, number: int) -> NewTable:
        """Return a table of the check, to be opened as `number`. Its rules and its luck depend on `table` only."""
        rules = self._rules[(table - 1) % len(self._rules)]
        bots = tuple(f"bot {seat}" for seat in range(rules.seats))
        return NewTable(number, TableSetup(bots, rules, f"check/{table}"), ROOT)


class _Tables:
    """The tables of one run."""

    def __init__(self, bench: Bench, source: RefereeSource, run: Run) -> None:
        self._bench, self._source, self._run = bench, source, run
        self._waiting = [*reversed(run.tables)]
        self._chance: dict[int, Luck] = {}  # of the answers at each open table, by its number
        self._played = Played()

    async def play(self, until: float) -> Played:
        """Play the tables of the run, but open none after the time `until`. Return the output of the referee."""
        self._source.watched, messages = True, self._source.heard
        began = time.monotonic()
        open_tables: dict[int, Step] = {}
        while True:
            opened, answers, dropped = [], dict[int, list[Answer]](), list[int]()
            for number, progress in open_tables.items():
                if self._drops(number):
                    dropped.append(number)
                else:
                    answers[number] = [self._answer(number, request.view) for request in progress.requests]
            room = self._run.parallel - len(answers)
            while self._waiting and room > 0 and time.monotonic() < until:
                table, room = self._waiting.pop(), room - 1
                number = table + self._run.offset
                self._chance[number] = Luck(ROOT, f"answers/{table}")
                opened.append(self._bench.opened(table, number))
            if not opened and not answers:
                break
            progress_of = await self._source.advance(opened, answers, dropped)
            for number, progress in progress_of.items():
                for index in progress.illegal:
                    move = answers[number][index]
                    self._played.illegal[move.verb if isinstance(move, Move) else ""] += 1
            open_tables = {number: progress for number, progress in progress_of.items() if progress.requests}
        played = self._played
        played.seconds = time.monotonic() - began
        for message in messages:
            line = TABLE_NUMBER.sub(b'"table":0', message.raw, count=1)
            played.said[message.table - self._run.offset] += line + b"\n"
            played.longest = max(played.longest, len(message.raw))
        return played

    def _drops(self, number: int) -> bool:
        """Return whether to drop a table now. If so, count it.

        A run with faults drops each fourth table. The number of the table decides after how many answers, 0 to 4.
        """
        if not self._run.faults or number % 4 or len(self._given(number)) < number // 4 % 5:
            return False
        self._played.dropped += 1
        return True

    def _given(self, number: int) -> list[str]:
        """Return the list of the answers given at an open table so far."""
        return self._played.answers[number - self._run.offset]

    def _answer(self, number: int, view: Any) -> Answer:
        bench, luck = self._bench, self._chance[number]
        self._played.decisions += 1
        if self._run.faults and not luck.below(3):
            fault = Fault(FAULTS[luck.below(len(FAULTS))])
            self._played.faults += 1
            self._given(number).append(f"!{fault.kind}")
            return fault
        text = random_answer(bench.forms, luck, view, bench.game.grammar.until)
        answer = read_text(bench.game.grammar, text)
        self._given(number).append(text)
        if isinstance(answer, Move):
            self._played.moves[answer.verb] += 1
        return answer


async def check_referee(folder: Path, level: Level, place: str, took: Callable[[], float]) -> RefereeReport:
    """Check the referee in a folder. `took` returns the seconds of the check so far.

    Raise UserError if its game.toml is wrong, or if the referee does not build.
    """
    known, submission = load_referee(folder)
    built = await build_referee(folder, level)
    findings, problems = list[RefereeFinding](), list[Problem]()
    async with running_monitor() as monitor:
        where = place if is_foreign(place) else known.toml.name
        await _examine(Bench(known, built, level, monitor), findings, problems, where)
    return RefereeReport(known.game.name, submission.spec.language, place, tuple(findings), tuple(problems), took())


async def _examine(bench: Bench, findings: list[RefereeFinding], problems: list[Problem], where: str) -> None:
    """Play the runs of a check. Append the results to `findings` and `problems`."""

    def failed(words: str, code: str, message: str, evidence: str, hint: str) -> None:
        findings.append(RefereeFinding("✗", words))
        problems.append(Problem(code, where, message, evidence, hint))

    began = time.monotonic()
    try:
        first = await bench.play(Run(range(1, MAX_TABLES + 1)), time.monotonic() + FIRST_RUN_S)
    except SourceFailed as failure:
        if bench.has_started:
            findings.append(RefereeFinding("✓", "builds and starts"))
        words = "tables of random answers" if bench.has_started else "builds, and does not start"
        failed(words, FAILS if bench.has_started else STARTS, failure.reason, _shown(failure.said), bench.protocol_hint)
        return
    findings.append(RefereeFinding("✓", "builds and starts"))
    tables = sorted(first.said)
    await trio.sleep(max(0.0, began + SECOND_APART_S - time.monotonic()))
    runs = (
        (
            Run(tables),
            f"{counted(len(tables), 'table')} of random answers, twice, in two processes: the same bytes",
            CHANCE,
        ),
        (
            Run(tables[::-1], PARALLEL, OTHER_NUMBERS),
            "the same with eight tables in parallel, in another order and with other numbers",
            TABLES,
        ),
    )
    for run, words, code in runs:
        try:
            again = await bench.play(run)
        except SourceFailed as failure:
            failed(words, FAILS, failure.reason, _shown(failure.said), bench.protocol_hint)
            return
        if difference := first_difference(first, again):
            message, hint = DIFFERENCES[code]
            failed(words, code, message, difference, FOREIGN_HINTS[code] if bench.is_foreign else hint)
            return
        findings.append(RefereeFinding("✓", words))
    try:
        hard = await bench.play(Run(tables, PARALLEL, faults=True))
    except SourceFailed as failure:
        failed("faults and dropped tables", SURVIVES, failure.reason, _shown(failure.said), SURVIVES_HINT)
        return
    illegal = first.illegal.total()
    survived = f"{counted(hard.faults, 'fault')}, {counted(hard.dropped, 'dropped table')}"
    findings.append(
        RefereeFinding("✓", f"faults and illegal moves are survived ({survived}, {counted(illegal, 'illegal move')})")
    )
    findings += _notes(bench, first, again)


PROTOCOL_HINT = "protocols/referee.md says what a referee may write"
SURVIVES_HINT = (
    "every seat may answer with a fault at any time: the rules say what it costs; a dropped table gets no reply"
)
DIFFERENCES = {
    CHANCE: (
        "is not deterministic: two processes that read the same said different things",
        "take all randomness from `luck` or `words`, none from the clock, from addresses, or from the order of a hash table",
    ),
    TABLES: (
        "lets tables depend on each other: what it says at a table depends on other tables, their order or their numbers",
        "keep everything that changes in a value of its own for each table",
    ),
}
FOREIGN_HINTS = {
    FAILS: "docs/foreign-bots.md says what is different here",
    CHANCE: "take all randomness from the seed, none from the clock, from addresses, or from the order of a hash table",
    TABLES: "keep nothing outside the process of a table, or leave out `reuse`",
}


def first_difference(first: Played, again: Played) -> str:
    """Return the first difference between the outputs of two runs, as text with both sides; "" if they are equal."""
    for table in sorted({*first.said, *again.said}):
        one, other = first.said.get(table, b""), again.said.get(table, b"")
        if one == other:
            continue
        at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        line = one[:at].count(b"\n") + 1
        start = max(one.rfind(b"\n", 0, at) + 1, at - SHOWN_BYTES)
        sides = [_shown(side[start : at + SHOWN_BYTES].split(b"\n")[0]) for side in (one, other)]
        given = ", ".join(first.answers.get(table, ()))
        byte = at - one.rfind(b"\n", 0, at)
        return "\n".join(
            [
                f"table {table}, its line {line} differs from byte {byte} on; its answers: {given[:200] or 'none'}",
                f"first   …{sides[0]}",
                f"second  …{sides[1]}",
            ]
        )
    return ""


def _shown(output: bytes) -> str:
    """Return the last 1000 bytes of a process's output, on one line, for people."""
    return one_line(output[-1000:].decode(errors="replace"))


def _notes(bench: Bench, first: Played, parallel: Played) -> Iterator[RefereeFinding]:
    """Yield further findings about a referee without problems: its longest line, its speed, and what is not checked."""
    if first.longest <= MAX_LINE_BYTES:
        yield RefereeFinding("✓", f"lines stay below 4 KiB (longest {first.longest} bytes)")
    else:
        cure = "many bots read a question into 4096 bytes: shorten the fields of view"
        yield RefereeFinding("!", f"the longest line has {first.longest} bytes", cure)
    if not first.decisions:
        cure = "bots are never asked: `ask` of protocols/referee.md, before `over`"
        yield RefereeFinding("!", "asks no question at any table", cure)
        return
    alone, many = [thousands(round(run.decisions / max(run.seconds, 1e-6))) for run in (first, parallel)]
    yield RefereeFinding("✓", f"{alone} decisions a second, {many} with eight tables in parallel")
    never = [verb for verb, count in first.moves.items() if first.illegal[verb] == count]
    if never:
        cure = "`<card from hand>` in `answer` names a field of view that lists good values"
        yield RefereeFinding("!", f"every random {' and '.join(sorted(never))} was illegal", cure)
    yield RefereeFinding("·", "not checked: that the rules are right, and what no random answer has reached")
    if any(form.is_free for form in bench.forms):
        cure = '`answer` in game.toml says what good ones look like, for example answer = "<number: 1..5>"'
        yield RefereeFinding("·", "not checked: good answers, because random text is mostly wrong", cure)
    if bench.is_foreign:
        yield RefereeFinding(
            "·", "not checked: which moves are illegal, because a referee for another runner does not tell"
        )


class FailedTable(msgspec.Struct):
    """The fields of an undecided fixture's bundle (docs/export.md) that are needed to play its table again."""

    schema: str
    rules: dict[str, Any]
    table: str
    bots: list[str]
    luck: str
    answers: list[str]
    reason: str = ""


class ReplayReport(NamedTuple):
    """Report of a table of a bundle that was played again: the lines between host and referee, and the problems."""

    game: str
    table: str
    lines: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def accepted(self) -> bool:
        """Whether the referee did not fail again."""
        return not self.problems

    def json(self) -> dict[str, Any]:
        """Return the report as JSON values, by key."""
        problems = [problem._asdict() for problem in self.problems]
        return {
            "game": self.game,
            "table": self.table,
            "accepted": self.accepted,
            "lines": self.lines,
            "problems": problems,
        }

    def text(self) -> Iterator[str]:
        """Yield the report as lines."""
        yield f"{self.game} · table {escape_control_chars(self.table)}"
        yield from self.lines
        yield from map(str, self.problems)
        yield "it fails again" if self.problems else "it does not fail with these answers any more"


def read_failed_table(path: Path) -> FailedTable:
    """Return the table of a bundle. Raise UserError (exit code 3) if the file is not one."""
    try:
        with gzip.open(path) as file:
            content = file.read(MAX_BUNDLE_BYTES)
        table = msgspec.json.decode(content, type=FailedTable)
        if table.schema != FAILED_SCHEMA or not re.fullmatch("[0-9a-f]{64}", table.luck):
            raise ValueError(f"schema {one_line(table.schema)[:40]}")
    except (OSError, EOFError, zlib.error, ValueError) as wrong:
        message = f"is not the bundle of an undecided fixture: {one_line(str(wrong))[:200]}"
        raise UserError([Problem("R014", str(path), message, hint="run/undecided/FIXTURE.json.gz")], 3) from None
    return table


async def replay_bundle(folder: Path, level: Level, failed: FailedTable) -> ReplayReport:
    """Give a referee the answers of a table at which it has failed. Return a report of what both sides wrote.

    Raise UserError if the referee does not load or build, or if the bundle is of another game.
    """
    known, _ = load_referee(folder)
    built = await build_referee(folder, level)
    try:
        kind = type(known.game.default_rules)
        rules = msgspec.convert([failed.rules[name] for name in kind._fields], kind)
        answers = [read_answer(each) for each in failed.answers]
    except (ValueError, KeyError) as wrong:
        message = f"has the rules or answers of another game than {known.game.name}: {one_line(str(wrong))[:200]}"
        raise UserError([Problem("R014", failed.table, message)], 3) from None
    lines, problems = list[str](), list[Problem]()
    program = RefereeProgram(built, known.game, known.file.words)
    async with running_monitor() as monitor:
        source: RefereeSource | None = None
        try:
            async with referee_source(program, SourcePlace(level, (), monitor)) as source:
                source.watched, source.key = True, bytes.fromhex(failed.luck)
                await _replay(
                    source, NewTable(1, TableSetup(tuple(failed.bots), rules, failed.table), ROOT), answers, lines
                )
        except SourceFailed as failure:
            if source is not None:
                _add_lines(source, lines)
            problems.append(Problem(FAILS, known.toml.name, failure.reason, _shown(failure.said), PROTOCOL_HINT))
    return ReplayReport(known.game.name, failed.table, tuple(lines), tuple(problems))


async def _replay(source: RefereeSource, opened: NewTable, answers: Sequence[Answer], lines: list[str]) -> None:
    """Open a table, and give `answers` to its requests in order, until the table ends or no answers are left.

    Append all lines that host and referee exchange to `lines`.
    """
    step, given = (await source.advance([opened], {}, ()))[opened.number], 0
    _add_lines(source, lines)
    while step.requests and given + len(step.requests) <= len(answers):
        some = answers[given : given + len(step.requests)]
        given += len(some)
        step = (await source.advance([], {opened.number: some}, ()))[opened.number]
        _add_lines(source, lines)


def _add_lines(source: RefereeSource, lines: list[str]) -> None:
    """Append to `lines` what the host wrote (`> `) and the referee wrote (`< `) since the last call."""
    lines += [f"> {_first(line)}" for data in source.written for line in data.splitlines()]
    lines += [f"< {_first(message.raw)}" for message in source.heard]
    source.written.clear()
    source.heard.clear()


def _first(line: bytes) -> str:
    """Return the beginning of a line, for people."""
    return one_line(line[:MAX_SHOWN_LINE].decode(errors="replace"))


def refused(error: UserError, place: str, seconds: float) -> RefereeReport:
    """Return the report about the folder of a referee that does not load or build."""
    findings = (RefereeFinding("✗", "builds and starts"),)
    return RefereeReport(Path(place).name or place, "?", place, findings, tuple(error.problems), seconds)
