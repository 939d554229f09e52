"""Commands of whoever watches: report, serve, export, import."""

import webbrowser
from pathlib import Path

import click

from host.cli import Office, print_json
from host.problems import Problem, Refused

JOURNAL = click.option(
    "--journal", metavar="FILE", type=click.Path(path_type=Path), help="default: the tournament's, else the last game's"
)


def the_journal(office: Office, chosen: Path | None) -> Path:
    """Return the journal that is meant: the tournament's, else the last friendly game's. Raise Refused without one."""
    if chosen is not None:
        return office.folder / chosen
    tournament = office.folder / "run" / "run.sqlite"
    friendly = [office.folder / "run" / "play.sqlite", *(office.folder / ".croupier").glob("play-*.sqlite")]
    latest = sorted((path for path in friendly if path.exists()), key=lambda path: path.stat().st_mtime)
    if tournament.exists() or not latest:
        if not tournament.exists() and not (office.folder / "croupier.toml").exists():
            hint = "croupier run, or croupier play BOT BOT"
            raise Refused([Problem("R006", str(office.folder), "nothing has been played here yet", hint=hint)], 3)
        return tournament
    return latest[-1]


def where_to(office: Office, chosen: Path | None, usual: str) -> Path:
    """Return where a file goes: as said, from where we are, or under its usual name in the folder."""
    if chosen is not None:
        return chosen
    if (office.folder / "croupier.toml").exists():
        from host.tournament.cup import load

        try:
            usual = load(office.folder).html or usual
        except Refused:
            pass  # a report can be made of what has been played whatever the config has become
    return office.folder / usual


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all; raise Refused where that cannot be done."""
    making = path.with_name(f".{path.name}.making")
    try:
        making.write_text(text)
        making.replace(path)
    except OSError as failed:
        hint = "-o FILE names another place"
        raise Refused([Problem("U002", str(path), f"cannot be written: {failed.strerror}", hint=hint)], 2) from failed


@click.command()
@JOURNAL
@click.option("-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="default: as the config says")
@click.option("--replays", type=click.IntRange(0, 200), default=20, show_default=True, help="tables to keep, at most")
@click.option("--open", "show", is_flag=True, help="show it in the browser")
@click.pass_obj
def report(office: Office, journal: Path | None, output: Path | None, replays: int, show: bool) -> None:
    """Write the whole run as one HTML file: result, standings, pairs, bots, faults, replays. It needs no network."""
    from host.journal import reading
    from host.report.files import report_of

    with reading(the_journal(office, journal)) as book:
        text, kept = report_of(book, replays)
    path = where_to(office, output, "report.html")
    write(path, text)
    size = len(text.encode())
    if office.json:
        print_json("report", path=str(path), bytes=size, replays=kept)
    else:
        click.echo(f"{path}: {size / 1000:,.0f} kB, {kept} replays".replace(",", "\u202f"))
    if show:
        webbrowser.open(path.resolve().as_uri())
