"""Check that bots build, start and answer correctly."""

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.base.output import write
from host.base.paths import display_path, file_name
from host.bots.bot_spec import BuiltBot
from host.config.limits_option import read_limits
from host.games.engine import Game
from host.inspect.bundle import packed
from host.inspect.checked import repro_of_check
from host.ops.bots import find_bots, tournament_here
from host.ops.level import level_in_force
from host.results.bot_logs import TableLogs
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.sandbox.limits import Limits
from host.submissions.check import Report, check_bot, load_line
from host.submissions.conformance import under_load
from host.submissions.discovery import Entry, location
from host.submissions.examine import Findings
from host.submissions.finding import Finding
from host.submissions.intake import Intake


class CheckOptions(NamedTuple):
    """The options of `check`. `loaded` says whether all accepted bots are also checked at the same time, under load."""

    loaded: bool = False
    limits: str | None = None
    logs: Path | None = None
    unsafe: bool = False


class Candidate(NamedTuple):
    """A bot to check, and its game; an entry with problems may have no game.

    `place` is its path for people. `original` changes a problem so that it names the submission instead of its copy.
    """

    name: str
    entry: Entry
    game: Game | None
    place: str = ""
    original: Callable[[Problem], Problem] = lambda problem: problem


class CheckResult(NamedTuple):
    """The reports about some bots. `under_load` has a line for each accepted bot, if they were checked under load."""

    level: Level
    reports: Sequence[Report]
    under_load: Sequence[Finding]

    @property
    def accepted(self) -> bool:
        """Whether all bots are accepted."""
        return all(report.accepted for report in self.reports)

    def json(self) -> dict[str, Any]:
        """Return the reports for JSON output, by key."""
        return {
            "sandbox": self.level,
            "rows": [report.json() for report in self.reports],
            "under_load": [msgspec.structs.asdict(line) for line in self.under_load],
        }

    def text(self) -> Iterator[str]:
        """Yield the reports as lines."""
        for report in self.reports:
            yield from report.text()
        if self.under_load:
            yield "all bots at the same time, on a busy machine"
            yield from map(str, self.under_load)
        if len(self.reports) > 1:
            failed = [report.bot for report in self.reports if not report.accepted]
            names = f": {', '.join(failed)}" if failed else ""
            yield f"{len(self.reports) - len(failed)} of {len(self.reports)} bots pass the check, {len(failed)} fail{names}"


async def check_bots(folder: Path, candidates: Iterator[Candidate], chosen: CheckOptions, began: float) -> CheckResult:
    """Check bots one after the other, with the limits and rules of the folder's tournament, if there is one.

    Then, with the option `loaded`, check all accepted bots under load. The seconds of a report count from the end
    of the previous report; the seconds of the first report count from `began`.
    """
    tournament = tournament_here(folder)
    level = level_in_force(tournament.level if tournament else DEFAULT_LEVEL, chosen.unsafe)
    usual = tournament.limits if tournament else Limits()
    logs = TableLogs(chosen.logs, partial(print, file=sys.stderr)) if chosen.logs else None
    reports: list[Report] = []
    accepted: list[tuple[BuiltBot, Game]] = []

    def waited() -> float:
        return time.monotonic() - began - sum(report.seconds for report in reports)

    for candidate in candidates:
        name, entry, game = candidate.name, candidate.entry, candidate.game
        if entry.problems or entry.submission is None or game is None:
            reports.append(Report(name, "cannot play", "", waited(), (), entry.problems))
            continue
        rules = tournament.rules if tournament and tournament.game.name == game.name else None
        limits = read_limits(chosen.limits, usual, game) if chosen.limits else usual
        report, found = await check_bot(entry.submission.within(limits), game, level, limits, rules, candidate.place)
        if logs and found.answers is not None:
            logs.heard(report.bot, ((f"check/{at.table}:{at.number}", said) for at, said in found.answers.logs))
        problems = map(candidate.original, _with_bundles(folder, report.problems, found, level, candidate))
        reports.append(report._replace(problems=tuple(problems), seconds=waited()))
        bot = found.bot
        accepted += [(bot, game)] if bot is not None and report.accepted else []
    slowest = await under_load(accepted, level) if chosen.loaded else []
    lines = [load_line(bot, sample) for (bot, _), sample in zip(accepted, slowest, strict=False)]
    return CheckResult(level, reports, lines)


def _with_bundles(
    folder: Path, problems: Sequence[Problem], found: Findings, level: Level, candidate: Candidate
) -> Iterator[Problem]:
    """Write the question of each fault to a bundle. Yield the problems, with the command that repeats the question."""
    answers, bot, game = found.answers, found.bot, candidate.game
    if game is None or bot is None or answers is None or problems != answers.problems or not answers.faults:
        yield from problems
        return
    bundles = folder / ("run" if (folder / "croupier.toml").exists() else ".croupier") / "check"
    for problem, piece in zip(problems, answers.faults, strict=True):
        bundle = bundles / f"{file_name(bot.name)}-{piece.kind}.bundle"
        try:
            bundles.mkdir(parents=True, exist_ok=True)
            write(bundle, packed(repro_of_check(bot, game, answers, piece, level)))
        except (OSError, UserError):  # a folder of somebody else: the check itself needs no file
            yield problem
            continue
        command = f"croupier ask {shlex.quote(candidate.name)} {shlex.quote(display_path(bundle))}"
        yield problem._replace(evidence=f"{problem.evidence}\nagain: {command}")


def find_entrants(folder: Path) -> Iterator[Candidate]:
    """Yield all bots of a tournament. Raise UserError if it has none."""
    from host.config.tournament_config import load, no_bots

    tournament = load(folder)
    if not (entries := tournament.entries(folder)):
        raise UserError([no_bots(tournament)], 3)
    for entry in entries:
        yield Candidate(entry.name, entry, tournament.game, display_path(entry.path))


def find_candidates(folder: Path, names: Sequence[str], game: str | None) -> Iterator[Candidate]:
    """Yield the bots with these names, including broken bots. Raise UserError for a bot that does not exist.

    A bot that is named by a path is first copied, as `add` copies it.
    """
    for name in names:
        with Intake() as intake:
            try:
                found = find_bots(folder, (name,), game, intake.load)
            except UserError as error:
                if error.exit_code == 2:
                    raise
                yield Candidate(name, Entry(Path(name), None, tuple(error.problems)), None)
                continue
            (submission,) = found.submissions
            place = name if intake.loaded else location(submission)
            yield Candidate(name, Entry(submission.folder, submission), found.game, place, intake.original)
