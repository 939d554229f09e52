"""The grade list of a stage: a row for each bot and each refused submission, and why a bot has lost points."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.format import counted, day, thousands
from host.base.safe_text import one_line
from host.bots.bot_spec import BotSpec, BuiltBot
from host.bots.values import Evidence
from host.games.engine import Game
from host.inspect.roster import Entrant, Roster, match, roster_name
from host.inspect.visibility import visible
from host.journal.reader import Journal
from host.journal.state import RecordedBot
from host.play.fixture_id import FixtureId
from host.play.records import Record, count_faults
from host.results.course import Position, positions_of
from host.results.grades import Graded, Mark, grades_of
from host.results.standings import Row
from host.stages import gives_grades, kind_of
from host.submissions.diagnosis import diagnose
from host.submissions.intake_log import REFUSED, IntakeRow, last_added, open_refusals, read
from protocols.wire import FaultKind

NO_SUBMISSION, SEVERAL = "no submission", "several submissions"
"""The status of a student without a bot, and of a student to whom several bots may belong."""


class GradeRow(NamedTuple):
    """The grade of a bot, or a submission that was refused.

    `code`, `why` and `cure` describe its problem: the problem that the intake found, otherwise its first fault.
    """

    bot: str
    author: str
    status: str
    points: int
    most: int
    faults: int = 0
    benched: int = 0  # fixtures in which it was benched
    code: str = ""
    why: str = ""
    cure: str = ""
    file: str = ""  # the file that was handed in
    first_fault: int | None = None  # the number of its first recorded fault
    refused_at: float | None = None  # in seconds since 1970
    marks: tuple[Mark, ...] = ()

    @property
    def entrant(self) -> Entrant:
        """Return the bot, or the refused submission, with the texts by which a roster can name it."""
        return Entrant(self.bot, self.author, self.file, self.refused_at)

    @property
    def status_and_code(self) -> str:
        """Return the status, followed by the code if the submission was refused."""
        return f"{self.status} {self.code}" if self.status == REFUSED else self.status

    def cells(self) -> dict[str, str | int]:
        """Return the cells of the row in a spreadsheet, by the titles of its columns. Shares are in per cent.

        A certainty is never rounded up.
        """
        own = {key: getattr(self, key) for key in ("bot", "author", "status")}
        rest = {key: getattr(self, key) for key in ("faults", "benched", "code", "why")}
        cells = {**own, "points": f"{self.points:.2f}", "most": f"{self.most:.2f}", **rest}
        for mark in self.marks:
            cells |= {
                f"{mark.reference} points": f"{mark.points:.2f}",
                f"{mark.reference} percent": "" if mark.share is None else f"{100 * mark.share:.2f}",
                f"{mark.reference} score": "" if mark.scores is None else f"{mark.scores[0]:.2f}",
                f"{mark.reference} sure": "" if mark.sure is None else f"{math.floor(10_000 * mark.sure) / 100:.2f}",
                f"{mark.reference} tables": mark.tables,
            }
        return cells

    def json(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return self._asdict() | {"marks": [mark._asdict() for mark in self.marks]}


class ClassList(NamedTuple):
    """The grades of a stage as a page shows them. With a roster, each row has the name of its student."""

    rows: Sequence[GradeRow]
    students: Sequence[str] = ()
    unmatched: Sequence[str] = ()  # warnings

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of rows by status, the most frequent status first."""
        return dict(Counter(row.status for row in self.rows).most_common())


class Gradebook(NamedTuple):
    """The grades of a stage, sorted by the names of the bots, and the log of the intake."""

    rows: Sequence[GradeRow]
    intake: Sequence[IntakeRow]


def with_grades(positions: Sequence[Position], name: str | None) -> Position | None:
    """Return the position of the stage with this name, or of the last stage that gives grades if `name` is None.

    Return None if no such stage gives grades.
    """
    graded = [each for each in positions if name in (None, each.state.name) and gives_grades(each.config)]
    return graded[-1] if graded else None


class FirstFault(NamedTuple):
    """The first recorded fault of a bot in a stage: its number and its explanation."""

    id: int
    explanation: Problem


def gradebook(journal: Journal, position: Position, intake: Sequence[IntakeRow]) -> Gradebook:
    """Return the grades of a stage.

    `intake` is the log of the intake. It adds submissions that were refused, and bots that were added too late to play.
    """
    added, first = last_added(intake), first_faults(journal, position)
    rows = [_explained(row, added.get(row.bot), first.get(row.bot)) for row in grade_rows(position)]
    most = sum(mark.points for mark in kind_of(position.config).grades(position.config).values())  # type: ignore[misc]
    played = {*position.tournament.bots}
    for bot, logged in added.items():
        if bot not in played:
            rows.append(GradeRow(bot, logged.author, "not played", 0, most, file=logged.submission))
    for logged in open_refusals(intake):
        row = GradeRow(logged.bot, logged.author, REFUSED, 0, most, file=logged.submission)
        rows.append(row._replace(code=logged.code, why=logged.why, cure=logged.cure, refused_at=logged.at))
    return Gradebook(sorted(rows, key=lambda row: (row.bot, row.file)), intake)


def class_lists(journal: Journal, bots: Path, roster: Roster | None = None) -> dict[str, ClassList]:
    """Return the class list of each stage that gives grades, by name of the stage.

    While a stage runs, the causes of faults are left out. `bots` is the folder with the log of the intake.
    """
    found, shown = dict[str, ClassList](), visible(journal).stages
    positions = [each for each in positions_of(journal) if gives_grades(each.config)]
    intake = read(bots) if positions else []
    for position in positions:
        name = position.state.name
        rows = [
            row if name in shown or row.status == REFUSED else row._replace(code="", why="", cure="")
            for row in gradebook(journal, position, intake).rows
        ]
        if roster is None:
            found[name] = ClassList(rows)
        else:
            names = [roster_name(row) for row in roster.rows]
            found[name] = ClassList(rows_of_students(rows, roster), names, unmatched(rows, roster))
    return found


def grade_rows(position: Position) -> list[GradeRow]:
    """Return the grades of a stage, sorted by bot, without the causes of faults; [] if the stage gives no grades."""
    grades = grades_of(position.config, position.tournament.bots, position.shown_bots, position.counted)
    standings = {row.bot: row for row in position.standings.rows} if grades else {}
    return [_row(position, each, standings.get(each.bot)) for each in grades]


def rows_of_students(rows: Sequence[GradeRow], roster: Roster) -> list[GradeRow]:
    """Return a row for each student, in the order of the roster. If a student has no bot, the row has the reason."""
    by_entrant = {row.entrant: row for row in rows}
    none = GradeRow("", "", NO_SUBMISSION, 0, max((row.most for row in rows), default=0))
    found = list[GradeRow]()
    for student in match(roster, list(by_entrant)).students:
        row = none if student.entrant is None else by_entrant[student.entrant]
        if student.candidates:
            row = none._replace(status=SEVERAL, why=", ".join(each.bot for each in student.candidates))
        found.append(row)
    return found


def unmatched(rows: Sequence[GradeRow], roster: Roster) -> list[str]:
    """Return a warning for each student to whom several bots may belong, and one that names the bots of no student."""
    found = match(roster, [row.entrant for row in rows])
    lines = [
        f"{one_line(roster_name(student.row))} may be {' or '.join(one_line(each.bot) for each in student.candidates)}: "
        "a column `bot` in the roster decides"
        for student in found.students
        if student.candidates
    ]
    if found.others:
        several = ", ".join(one_line(f"{each.bot} ({each.file})" if each.file else each.bot) for each in found.others)
        lines.append(f"no student of the roster has handed in {several}: a column `bot` in the roster decides")
    return lines


def _row(position: Position, grade: Graded, standing: Row | None) -> GradeRow:
    row = GradeRow(grade.bot, grade.author, "", grade.grade, grade.most, marks=grade.marks)
    if standing is not None:
        row = row._replace(faults=standing.costs.faults, benched=standing.costs.benched)
    return row._replace(status=_status(position, row, standing))


def _explained(row: GradeRow, logged: IntakeRow | None, fault: FirstFault | None) -> GradeRow:
    """Return a row with the file that was handed in, and with the problem of the bot.

    The problem is the one that the intake has found, or else the first fault.
    """
    if logged is not None:
        row = row._replace(file=logged.submission)
    if fault is not None:
        row = row._replace(first_fault=fault.id)
    if logged and logged.code:
        return row._replace(code=logged.code, why=logged.why, cure=logged.cure)
    if fault is None:
        return row
    found = fault.explanation
    return row._replace(code=found.code, why=found.message, cure=found.hint)


def _status(position: Position, row: GradeRow, standing: Row | None) -> str:
    """Return the status of a bot in words, such as "graded" or "withdrawn"."""
    if row.bot in position.tournament.run.withdrawn:
        return "withdrawn"
    if standing is not None and standing.disqualified:
        return "disqualified"
    if not any(mark.tables for mark in row.marks):
        return "not played"
    if row.faults and row.faults >= questions(row.bot, position.counted):
        return "never answered"
    return "graded" if all(mark.tables >= mark.planned for mark in row.marks) else "incomplete"


def questions(bot: str, records: Sequence[Record]) -> int:
    """Return the number of questions that a bot had to answer.

    Questions that it was not asked because it was benched are included.
    """
    asked = sum(record.usage[bot].questions for record in records if bot in record.usage)
    return asked + count_faults(records)[bot, FaultKind.BENCHED]


def first_faults(journal: Journal, position: Position) -> dict[str, FirstFault]:
    """Return the first recorded fault of each bot in a stage, by name of the bot."""
    found, bots = dict[str, FirstFault](), position.tournament.bots
    for number, path, piece in journal.evidence("WHERE fault.kind != 'slowest'"):
        if piece.bot not in found and FixtureId.parse(path).stage == position.state.name:
            found[piece.bot] = FirstFault(number, explained(journal.game, bots[piece.bot], piece))
    return found


def explained(game: Game, bot: RecordedBot, piece: Evidence) -> Problem:
    """Return the explanation of a recorded fault."""
    spec = BotSpec(name=bot.name, language=bot.language, protocol=bot.protocol, state=bot.state)
    built = BuiltBot(spec, (), "", bot.sha256, limits=bot.limits)
    return diagnose(built, game, piece)


def no_grades(path: str, stage: str | None) -> UserError:
    """Return the error for a stage that gives no grades. If `stage` is None, no stage of the run gives grades."""
    what = "no stage of this run gives grades" if stage is None else f'stage "{stage}" gives no grades'
    return UserError([Problem("C017", path, what, hint="a gauntlet with [stage.grades] does: docs/grading.md")], 2)


class Reason(NamedTuple):
    """The explanation of a bot's points: its row, its faults, and its row in the log of the intake."""

    row: GradeRow
    faults: Mapping[str, Mapping[str, int]]  # by reference bot, then kind
    asked: Mapping[str, int]  # number of questions by reference bot
    intake: IntakeRow | None

    def json(self) -> dict[str, Any]:
        """Return the reason as JSON values, by key."""
        intake = None if self.intake is None else self.intake._asdict()
        return self.row.json() | {"faults_by_reference": self.faults, "questions": self.asked, "intake": intake}

    def text(self) -> Iterator[str]:
        """Yield the reason as lines."""
        row = self.row
        yield f"{one_line(row.bot)} · {row.points} of {row.most} points · {row.status}"
        for mark in row.marks:
            yield _line(mark.reference, f"{mark.points} of {mark.most} points: {mark.words}; {mark.result}")
            if faults := self.faults.get(mark.reference):
                kinds = ", ".join(f"{thousands(count)} {kind}" for kind, count in faults.items())
                asked = counted(self.asked[mark.reference], "question")
                yield _line("", f"{counted(sum(faults.values()), 'fault')} in {asked}: {kinds}")
        if row.code:
            yield _line("cause", f"{row.code} {row.why}")
            yield _line("remedy", row.cure or f"croupier explain {row.code}")
        if row.first_fault is not None:
            yield _line("first fault", f"croupier ask fault:{row.first_fault}")
        if self.intake:
            yield _line("intake", f"{self.intake.result} from {self.intake.submission}, {day(self.intake.at)}")
            yield from (_line("", remark) for remark in self.intake.remarks)


def _line(title: str, text: str) -> str:
    return f"  {one_line(title):<14} {one_line(text)}"


def reason(position: Position, row: GradeRow, intake: Sequence[IntakeRow]) -> Reason:
    """Return the explanation of a bot's points in a stage."""
    faults: dict[str, dict[str, int]] = {}
    asked = dict[str, int]()
    for mark in row.marks:
        met = [record for record in position.counted if {row.bot, mark.reference} <= record.results.keys()]
        asked[mark.reference] = questions(row.bot, met)
        if counts := {kind: count for (bot, kind), count in count_faults(met).items() if bot == row.bot}:
            faults[mark.reference] = counts
    logged = [each for each in intake if each.bot == row.bot and row.file in ("", each.submission)]
    return Reason(row, faults, asked, logged[-1] if logged else None)
