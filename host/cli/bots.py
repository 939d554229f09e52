"""Commands about one bot's files: init, check."""

import shlex
from pathlib import Path

import click
import trio

from host.cli import Office, nothing_called, print_json
from host.problems import Problem, Refused


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("-g", "--game", metavar="GAME", help="default: the tournament's; see  croupier games")
@click.option("-l", "--lang", required=True, metavar="LANGUAGE", help="c, cpp, java, python, lisp, or any")
@click.option("--protocol", metavar="PROTOCOL", help="argv or lines; default: what the game's bots usually speak")
@click.pass_obj
def init(office: Office, folder: Path, game: str | None, lang: str, protocol: str | None) -> None:
    """Make a bot to begin with: it builds, plays legally, and has one place to edit."""
    from host.bots.begin import SPOKEN, begun, main_file
    from host.bots.languages import LANGUAGES, missing
    from host.bots.spec import find
    from host.cli.common import the_game
    from host.tomlfile import Wrong
    from host.tournament.cup import load

    if game is None and (office.folder / "croupier.toml").exists():
        game = load(office.folder).game
    if game is None:
        raise click.UsageError("which game? Name it with -g GAME")
    chosen = the_game(game)
    if lang not in LANGUAGES:
        raise click.UsageError(f"{nothing_called('language', lang, LANGUAGES)}  (languages: {', '.join(LANGUAGES)})")
    if protocol not in (None, *SPOKEN):
        raise click.UsageError(f"a first bot speaks {' or '.join(SPOKEN)}; protocols/README.md shows the others")
    place = office.folder / folder
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        hint = "choose another folder, or an empty one"
        raise Refused([Problem("C016", str(place), "is there already, and not empty", hint=hint)], 2)
    try:
        files = begun(place.resolve().name, chosen, lang, protocol or chosen.protocol)
    except Wrong as wrong:
        raise click.UsageError(f"a bot cannot be called {place.resolve().name!r}: the name {wrong.message}") from wrong
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (place / name).write_text(text)
            (place / name).chmod(0o755 if text.startswith("#!") else 0o644)
    except OSError as failed:
        raise click.UsageError(f"{place} cannot be made: {failed.strerror}") from failed
    lacks = missing(find(place))
    main = place / main_file(LANGUAGES[lang])
    if office.json:
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


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="BOT...")
@click.option("-g", "--game", metavar="GAME", help="default: what the bot's manifest or the tournament says")
@click.option("--unsafe", is_flag=True, help="without a sandbox")
@click.pass_obj
def check(office: Office, names: tuple[str, ...], game: str | None, unsafe: bool) -> None:
    """Check bots: does each build, start, and answer forty questions in time, legibly and the same way twice?"""
    from host.bots.check import checked
    from host.cli.author import named
    from host.cli.common import level_of

    chosen, specs = named(office, names, game)
    level = level_of("L3", unsafe)
    reports = [trio.run(checked, spec, chosen, level) for spec in specs]
    if office.json:
        print_json("check", sandbox=level, rows=[report._asdict() for report in reports])
    else:
        for report in reports:
            click.echo(report.text())
    raise click.exceptions.Exit(0 if all(report.accepted for report in reports) else 1)
