"""The command `season invite`: draws links for authors."""

import csv
import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.base.system_errors import file_problem
from host.cli import CliContext, options, print_result

SECRET_BYTES = 32
MAX_ROWS = 10_000


class Invited(NamedTuple):
    """The links that have been drawn. They are printed once: the season stores the hashes of their secrets."""

    links: dict[str, str]

    def json(self) -> dict[str, Any]:
        """Return the links as JSON keys."""
        return {"rows": [{"author": name, "link": link} for name, link in self.links.items()]}

    def text(self) -> Iterator[str]:
        """Yield a line for each author."""
        width = max(map(len, self.links), default=0)
        yield from (f"{escape_control_chars(name):<{width}}  {link}" for name, link in self.links.items())


@click.command("invite")
@click.argument("names", nargs=-1)
@click.option(
    *("--csv", "sheet"),
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="invite everybody in a CSV file: the column `author` or `name`, or the first one",
)
@click.option("--again", metavar="NAME", multiple=True, help="draw another link for NAME; the old one no longer works")
@click.pass_obj
def command(context: CliContext, names: tuple[str, ...], sheet: Path | None, again: tuple[str, ...]) -> None:
    """Draw a secret link for each author, and print it. Send each author his own.

    The season takes them in within a second; if it is not open, when it is opened. Without `address` in [season], the links
    have the address at which its site listens, or has listened last.
    """
    print_result(context, "season-invite", invite(context.folder, [*names, *names_in(sheet)], again))


def invite(place: Path, names: list[str], again: tuple[str, ...]) -> Invited:
    """Draw the links, and leave them in the inbox of a season. Raise UserError for a name that cannot be used."""
    from host.season.entries.inbox import Invite, write_request
    from host.season.entries.names import author_name
    from host.season.entries.store import Store
    from host.season.folder import SeasonFolder
    from host.season.rounds.season import SITE
    from host.season.service import loaded_season

    tournament = loaded_season(place)
    assert tournament.season is not None  # `loaded_season` has checked it
    if not names and not again:
        raise click.UsageError("name an author, or use --csv FILE or --again NAME")
    folder = SeasonFolder(place)
    known, site = set[str](), ""
    if folder.store.exists():
        with Store.reading(place) as store:
            known = {author.name.lower() for author in store.authors.all()}
            site = store.setting(SITE)
    problems = [problem for name in names for problem in _problems(name, known, names)]
    for name in again:
        if name.lower() not in known:
            problems.append(
                Problem("E001", name, "is not an author of this season", hint="croupier season invite NAME")
            )
    if problems:
        raise UserError(problems, 3)
    site = tournament.season.address or site or f"http://{options.DEFAULT_BIND}"  # the season was never opened
    links = {}
    for name in [*names, *again]:
        secret = secrets.token_urlsafe(SECRET_BYTES)
        request = Invite(author_name(name), hashlib.sha256(secret.encode()).hexdigest(), again=name in again)
        try:
            write_request(folder.inbox, request)
        except OSError as error:
            raise UserError([file_problem("written", folder.inbox, error)], 6) from error
        links[name] = f"{site}/a/{secret}"
    return Invited(links)


def _problems(name: str, known: set[str], names: list[str]) -> Iterator[Problem]:
    """Yield the problems of the name of a new author."""
    from host.season.entries.names import author_name

    try:
        author_name(name)
    except UserError as refused:
        yield from refused.problems
    if name.lower() in known:
        yield Problem("E008", name, "is an author already", hint=f"croupier season invite --again {name}")
    if sum(each.lower() == name.lower() for each in names) > 1:
        yield Problem("E008", name, "is named twice", hint="name each author once")


def names_in(sheet: Path | None) -> list[str]:
    """Return the authors of a CSV file. Raise UserError if it cannot be read."""
    if sheet is None:
        return []
    try:
        rows = [
            row for row, _ in zip(csv.reader(sheet.read_text("utf-8-sig").splitlines()), range(MAX_ROWS), strict=False)
        ]
    except (OSError, UnicodeDecodeError, csv.Error) as failed:
        error = failed if isinstance(failed, OSError) else OSError(0, "it is not a CSV file in UTF-8")
        raise UserError([file_problem("read", sheet, error)], 2) from failed
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    column = next((head.index(title) for title in ("author", "name") if title in head), None)
    cells = [row[column or 0].strip() for row in rows[column is not None :] if len(row) > (column or 0)]
    return [cell for cell in cells if cell]
