"""The command `check`: checks that bots build, start and answer correctly."""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from host.base.config_file import display_path
from host.base.errors import Problem, UserError
from host.cli import STARTED, CliContext, completers, options, print_result
from host.cli.common import find_game, level_in_force
from host.cli.output import write
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.sandbox.limits import Limits

if TYPE_CHECKING:  # imported when the command runs
    from host.bots.bot_spec import BuiltBot, Submission
    from host.config.tournament_config import Tournament
    from host.games.engine import Game
    from host.results.bot_logs import TableLogs
    from host.submissions.check import Line, Report
    from host.submissions.discovery import Entry
    from host.submissions.examine import Findings
    from host.submissions.referee_check import RefereeReport


@click.command()
@click.argument("names", shell_complete=completers.bots, nargs=-1, metavar="BOT...")
@options.GAME_OPTION
@click.option("--all", "check_all", is_flag=True, help="check all bots of the tournament, then again under load")
@options.LIMITS
@options.LOGS
@options.UNSAFE
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="give a referee the answers at which it failed: a file of run/undecided",
)
@click.pass_obj
def check(
    context: CliContext,
    /,
    names: tuple[str, ...],
    game: str | None,
    check_all: bool,
    bundle: Path | None,
    **values: Any,
) -> None:
    """Check that each bot builds, starts, and answers forty questions in time, readably and the same way twice.

    Illegal moves are reported as notes, not as errors: the rules define their penalty. A bot fails the check if it does
    not build or start, or if an answer is late, unreadable or missing.

    The folder of a game with game.toml is a referee: it must say the same in every process, for every order of tables.
    So is a referee for another runner, by its name in croupier.toml: botzone:judge/
    """
    import trio

    from host.cli.bot_arguments import tournament_here
    from host.rules.foreign import is_foreign

    if referees := [name for name in names if is_foreign(name) or (Path(name) / "game.toml").is_file()]:
        if len(referees) < len(names) or check_all:
            raise click.UsageError("check the folder of a game alone, and its bots with -g FOLDER")
        level = level_in_force(DEFAULT_LEVEL, bool(values["unsafe"]))
        if bundle is not None:
            replay_failed(context, referees, bundle, level)
        result_of_games = check_referees(referees, level, trio.run)
        print_result(context, "check", result_of_games)
        raise click.exceptions.Exit(0 if result_of_games.accepted else 1)
    if bundle is not None:
        raise click.UsageError("--bundle is for the folder of a game with a game.toml")
    if bool(names) == check_all:
        raise click.UsageError("--all checks all bots: do not name any" if names else "name a bot, or use --all")
    tournament = _required_tournament(context) if check_all else tournament_here(context)
    candidates = _all_candidates(context, tournament) if check_all else candidates_of(context, names, game)
    result = check_bots(context, candidates, tournament, CheckOptions(loaded=check_all, **values), trio.run)
    print_result(context, "check", result)
    raise click.exceptions.Exit(0 if result.accepted else 1)


def replay_failed(context: CliContext, referees: Sequence[str], bundle: Path, level: Level) -> NoReturn:
    """Play the table of a bundle again, print what was said, and exit: with 1 if the referee fails again."""
    import trio

    from host.submissions.referee_check import read_failed_table, replay_bundle

    if len(referees) > 1:
        raise click.UsageError("--bundle is for one folder")
    report = trio.run(replay_bundle, folder_of_referee(referees[0]), level, read_failed_table(bundle))
    print_result(context, "check", report)
    raise click.exceptions.Exit(0 if report.accepted else 1)


class RefereeCheckResult(NamedTuple):
    """The reports about some referees."""

    level: Level
    reports: Sequence["RefereeReport"]

    @property
    def accepted(self) -> bool:
        """Whether all games can be played."""
        return all(report.accepted for report in self.reports)

    def json(self) -> dict[str, Any]:
        """Return the reports as JSON keys."""
        return {"sandbox": self.level, "referees": [report.json() for report in self.reports]}

    def text(self) -> Iterator[str]:
        """Yield the reports as lines."""
        for report in self.reports:
            yield from report.text()


def folder_of_referee(place: str) -> Path:
    """Return the folder of a referee that a path or a name in croupier.toml names. Raise UserError if there is none."""
    from host.rules.foreign import game_folder, is_foreign

    return game_folder(place, Path.cwd(), place) if is_foreign(place) else Path(place)


def check_referees(places: Sequence[str], level: Level, run: Callable[..., Any]) -> RefereeCheckResult:
    """Check some referees, one after the other."""
    from host.submissions.referee_check import check_referee, refused

    reports, began = list["RefereeReport"](), STARTED

    def took() -> float:
        return time.monotonic() - began

    for place in places:
        try:
            reports.append(run(check_referee, folder_of_referee(place), level, place, took))
        except UserError as error:
            if error.exit_code == 6:
                raise
            reports.append(refused(error, place, took()))
        began = time.monotonic()
    return RefereeCheckResult(level, reports)


def _required_tournament(context: CliContext) -> "Tournament":
    from host.config.tournament_config import load

    return load(context.folder)


class CheckOptions(NamedTuple):
    """The options of `check`; `loaded`: check the bots again under load."""

    loaded: bool
    limits: str | None
    logs: Path | None
    unsafe: bool


class Candidate(NamedTuple):
    """A bot to check, and its game; an entry with problems may have no game.

    `place` is its path for people. `original` changes a problem so that it names the submission instead of its copy.
    """

    name: str
    entry: "Entry"
    game: "Game | None"
    place: str = ""
    original: "Callable[[Problem], Problem]" = lambda problem: problem


class CheckResult(NamedTuple):
    """The reports about some bots; `under_load` has a line for each accepted bot if they were checked under load."""

    level: Level
    reports: Sequence["Report"]
    under_load: Sequence["Line"]

    @property
    def accepted(self) -> bool:
        """Whether all bots are accepted."""
        return all(report.accepted for report in self.reports)

    def json(self) -> dict[str, Any]:
        """Return the reports as JSON keys."""
        rows = [report.to_json() for report in self.reports]
        return {"sandbox": self.level, "rows": rows, "under_load": [line._asdict() for line in self.under_load]}

    def text(self) -> Iterator[str]:
        """Yield the reports as lines."""
        yield from (report.text() for report in self.reports)
        if self.under_load:
            yield "all bots at the same time, on a busy machine"
            yield from map(str, self.under_load)
        if len(self.reports) > 1:
            failed = [report.bot for report in self.reports if not report.accepted]
            names = f": {', '.join(failed)}" if failed else ""
            yield f"{len(self.reports) - len(failed)} of {len(self.reports)} bots pass the check, {len(failed)} fail{names}"


def check_bots(
    context: CliContext,
    candidates: Iterator[Candidate],
    tournament: "Tournament | None",
    chosen: CheckOptions,
    run: Callable[..., Any],
    began: float = STARTED,
) -> CheckResult:
    """Check bots one after the other, with the limits and rules of the tournament; then all under load if `loaded`.

    The seconds of a report are those since the report before; of the first, those since `began`. `run` is `trio.run`, or
    another function that runs an async function with arguments.
    """
    from host.submissions.check import Report, check_bot
    from host.submissions.check import load_line as line_under_load
    from host.submissions.conformance import under_load

    level = level_in_force(tournament.level if tournament else DEFAULT_LEVEL, chosen.unsafe)
    usual = tournament.limits if tournament else Limits()
    logs = _logs_in(chosen.logs) if chosen.logs else None
    reports: list[Report] = []
    accepted: list[tuple[BuiltBot, Game]] = []

    def waited() -> float:
        return time.monotonic() - began - sum(report.seconds for report in reports)

    for candidate in candidates:
        name, entry, game = candidate.name, candidate.entry, candidate.game
        if entry.problems or entry.submission is None or game is None:
            reports.append(Report(name, "cannot play", "", False, waited(), (), entry.problems))
            continue
        rules = tournament.rules if tournament and tournament.game == game.name else None
        limits = _chosen_limits(chosen.limits, usual, game) if chosen.limits else usual
        report, found = run(check_bot, entry.submission.within(limits), game, level, limits, rules, candidate.place)
        if logs and found.answers is not None:
            logs.heard(report.bot, ((f"check/{at.table}:{at.number}", said) for at, said in found.answers.logs))
        problems = map(candidate.original, _with_bundles(context, report.problems, found, game, level, candidate))
        reports.append(report._replace(problems=tuple(problems), seconds=waited()))
        bot = found.bot
        accepted += [(bot, game)] if bot is not None and report.accepted else []
    slowest = run(under_load, accepted, level) if chosen.loaded else []
    lines = [line_under_load(bot, sample) for (bot, _), sample in zip(accepted, slowest, strict=False)]
    return CheckResult(level, reports, lines)


def _logs_in(folder: Path) -> "TableLogs":
    from host.results.bot_logs import TableLogs

    return TableLogs(folder, partial(click.echo, err=True))


def _chosen_limits(text: str, usual: Limits, game: "Game") -> Limits:
    from host.config.limits_option import read_limits

    return read_limits(text, usual, game)


def _with_bundles(
    context: CliContext,
    problems: Sequence[Problem],
    found: "Findings",
    game: "Game",
    level: "Level",
    candidate: Candidate,
) -> Iterator[Problem]:
    """Write the question of each fault to a bundle; yield the problems, with the command that asks the question again."""
    answers, bot = found.answers, found.bot
    if bot is None or answers is None or problems != answers.problems or not answers.faults:
        yield from problems
        return
    from host.inspect.bundle import packed
    from host.inspect.checked import repro_of_check
    from host.results.bot_logs import file_name

    folder = context.folder / ("run" if (context.folder / "croupier.toml").exists() else ".croupier")
    for problem, piece in zip(problems, answers.faults, strict=True):
        bundle = folder / "check" / f"{file_name(bot.name)}-{piece.kind}.bundle"
        try:
            bundle.parent.mkdir(parents=True, exist_ok=True)
            write(bundle, packed(repro_of_check(bot, game, answers, piece, level)))
        except (OSError, UserError):  # a folder of somebody else: the check itself needs no file
            yield problem
            continue
        command = f"croupier ask {shlex.quote(candidate.name)} {shlex.quote(display_path(bundle))}"
        yield problem._replace(evidence=f"{problem.evidence}\nagain: {command}")


def _all_candidates(context: CliContext, tournament: "Tournament | None") -> Iterator[Candidate]:
    from host.config.tournament_config import no_bots

    assert tournament is not None
    if not (entries := tournament.entries(context.folder)):
        raise UserError([no_bots(tournament)], 3)
    for entry in entries:
        yield Candidate(entry.name, entry, find_game(tournament.game), display_path(entry.path))


def candidates_of(context: CliContext, names: Sequence[str], game: str | None) -> Iterator[Candidate]:
    """Yield the bots of these names, also broken ones. Raise UserError for a bot that does not exist.

    Bots that are named by a path are taken in as `add` does it.
    """
    from host.cli.bot_arguments import find_bots, tournament_here
    from host.submissions.discovery import Entry
    from host.submissions.intake import Intake

    tournament = tournament_here(context)
    wanted = game or (tournament.game if tournament else "")
    for name in names:
        with Intake() as intake:
            try:
                found = find_bots(context, (name,), game, lambda path, limits, _: intake.load(path, limits, wanted))
            except UserError as error:
                if error.exit_code == 2:
                    raise
                yield Candidate(name, Entry(Path(name), None, tuple(error.problems)), None)
                continue
            (submission,) = found.submissions
            place = name if intake.loaded else path_of(submission)
            yield Candidate(name, Entry(submission.folder, submission), found.game, place, intake.original)


def path_of(submission: "Submission") -> str:
    """Return the path of a bot for people: its folder, or its only file."""
    is_folder = submission.manifest or len(submission.files) > 1
    return display_path(submission.folder if is_folder else submission.folder / submission.files[0])
