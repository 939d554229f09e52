"""Commands about one bot's files: init, check."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, completion, print_json, unknown_name

if TYPE_CHECKING:  # pydantic takes longer to import than most commands take
    from host.submissions.bot_spec import Submission


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "-g",
    "--game",
    shell_complete=completion.games,
    metavar="GAME",
    help="default: the tournament's; see  croupier games",
)
@click.option(
    "-l",
    "--lang",
    required=True,
    shell_complete=completion.languages,
    metavar="LANGUAGE",
    help="for example c or python; an unknown one lists all",
)
@click.option("--protocol", metavar="PROTOCOL", help="argv or lines; default: what the game's bots usually speak")
@click.pass_obj
def init(context: CliContext, folder: Path, game: str | None, lang: str, protocol: str | None) -> None:
    """Make a bot to begin with: it builds, plays legally, and has one place to edit."""
    from host.base.config_file import InvalidValue
    from host.cli.common import the_game
    from host.submissions.discovery import load_submission
    from host.submissions.languages import LANGUAGES, missing
    from host.submissions.scaffold import SPOKEN, starter_files
    from host.tournament.config import load

    if game is None and (context.folder / "croupier.toml").exists():
        game = load(context.folder).game
    if game is None:
        raise click.UsageError("which game? Name it with -g GAME")
    chosen = the_game(game)
    if lang not in LANGUAGES:
        raise click.UsageError(f"{unknown_name('language', lang, LANGUAGES)}  (languages: {', '.join(LANGUAGES)})")
    if protocol not in (None, *SPOKEN):
        raise click.UsageError(f"a first bot speaks {' or '.join(SPOKEN)}; protocols/README.md shows the others")
    place = context.folder / folder
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        hint = "choose another folder, or an empty one"
        raise UserError([Problem("C016", str(place), "is there already, and not empty", hint=hint)], 2)
    try:
        files = starter_files(place.resolve().name, chosen, lang, protocol or chosen.protocol)
    except InvalidValue as wrong:
        raise click.UsageError(f"a bot cannot be called {place.resolve().name!r}: the name {wrong.message}") from wrong
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (place / name).write_text(text)
            (place / name).chmod(0o755 if text.startswith("#!") else 0o644)
    except OSError as failed:
        raise click.UsageError(f"{place} cannot be made: {failed.strerror}") from failed
    lacks = missing(load_submission(place))
    main = place / LANGUAGES[lang].starter.file
    if context.json:
        print_json("init", folder=str(place), game=chosen.name, language=lang, edit=str(main), missing=lacks)
        return
    click.echo(f"{place}: plays {chosen.name} in {lang}. Edit `decide` in {main}, then:")
    click.echo(f"  croupier check {shlex.quote(str(place))}")
    opponents = " ".join(["sample:NAME"] * (chosen.seats[0] - 1) or ["sample:NAME"])
    click.echo(f"  croupier play {shlex.quote(str(place))} {opponents} -n 1000")
    if lacks:
        click.echo(
            f"WARNING  not installed here: {', '.join(lacks)}  (apt install {LANGUAGES[lang].package})", err=True
        )


def place_of(submission: "Submission") -> str:
    """Return where a bot lies, for people."""
    from host.base.config_file import display_path

    return display_path(
        submission.folder
        if submission.manifest or len(submission.files) > 1
        else submission.folder / submission.files[0]
    )


@click.command()
@click.argument("names", shell_complete=completion.bots, nargs=-1, metavar="BOT...")
@click.option(
    "-g",
    "--game",
    shell_complete=completion.games,
    metavar="GAME",
    help="default: what the bot's manifest or the tournament says",
)
@click.option("--all", "everybody", is_flag=True, help="all bots of the tournament, and once more under load")
@click.option("--unsafe", is_flag=True, help="without a sandbox")
@click.pass_obj
def check(context: CliContext, names: tuple[str, ...], game: str | None, everybody: bool, unsafe: bool) -> None:
    """Check bots: does each build, start, and answer forty questions in time, legibly and the same way twice?

    A move that is not allowed is a note, for the rules say what it costs. What fails is a bot that does not build or
    start, and an answer that is late, unreadable or missing.
    """
    import trio

    from host.cli.author import named
    from host.cli.common import level_of, the_game
    from host.games.engine import Game
    from host.sandbox.levels import DEFAULT_LEVEL
    from host.sandbox.limits import Limits
    from host.submissions.check import Report, checked, loaded
    from host.submissions.conformance import under_load
    from host.submissions.discovery import Entry
    from host.tournament.config import load

    if bool(names) == everybody:
        raise click.UsageError("name a bot, or say --all" if not names else "--all is all of them: name none")
    tournament = load(context.folder) if everybody or (context.folder / "croupier.toml").exists() else None
    level = level_of(tournament.level if tournament else DEFAULT_LEVEL, unsafe)
    limits = tournament.limits if tournament else Limits()
    reports, exams = [], []

    def entered() -> Iterator[tuple[str, Entry, Game | None]]:
        """Yield the bots that are meant, with what is wrong with them."""
        if everybody and tournament:
            yield from ((entry.name, entry, the_game(tournament.game)) for entry in tournament.entries(context.folder))
        for name in names:
            try:
                chosen, (submission,) = named(context, (name,), game)
                yield name, Entry(submission.folder, submission), chosen
            except UserError as refused:
                if refused.exit_code == 2:  # there is no such bot
                    raise
                yield name, Entry(context.folder / name, None, tuple(refused.problems)), None

    for name, entry, chosen in entered():
        if entry.problems or entry.submission is None or chosen is None:
            reports.append(Report(name, "cannot play as it is", "", False, 0.0, (), entry.problems))
            continue
        rules = tournament.rules if tournament and tournament.game == chosen.name else None
        report, bot = trio.run(checked, entry.submission, chosen, level, limits, rules, place_of(entry.submission))
        reports.append(report)
        exams += [(bot, chosen)] if bot is not None and report.accepted else []
    slowest = trio.run(under_load, exams, level) if everybody else []
    busy = [loaded(bot, asked) for (bot, _), asked in zip(exams, slowest, strict=False)]
    if context.json:
        rows = [report.facts() for report in reports]
        print_json("check", sandbox=level, rows=rows, under_load=[line._asdict() for line in busy])
    else:
        for report in reports:
            click.echo(report.text())
        if busy:
            click.echo("\n".join(["all at once, on a busy machine", *map(str, busy)]))
    raise click.exceptions.Exit(0 if all(report.accepted for report in reports) else 1)
