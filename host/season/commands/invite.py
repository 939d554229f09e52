"""The command `season invite`: draws links for authors."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.base.sheet import read_sheet
from host.base.system_errors import file_problem
from host.cli import CliContext, options, print_result

USUAL_SITE = f"http://{options.DEFAULT_BIND}"
MAX_ROWS = 10_000


class Invited(NamedTuple):
    """The new links, by author. They are printed only now: the season stores only the hashes of their secrets."""

    links: dict[str, str]
    site_is_known: bool  # whether a site of the season has listened, or croupier.toml has its address

    def json(self) -> dict[str, Any]:
        """Return the result as a JSON object: `rows` with the name and the link of each author."""
        return {"rows": [{"author": name, "link": link} for name, link in self.links.items()]}

    def text(self) -> Iterator[str]:
        """Yield a line for each author."""
        width = max(map(len, self.links), default=0)
        yield from (f"{escape_control_chars(name):<{width}}  {link}" for name, link in self.links.items())
        if not self.site_is_known:
            yield "no site of this season has listened yet: the links work if it does so at this address (address in [season])"


@click.command("invite")
@click.argument("names", nargs=-1)
@click.option(
    *("--roster", "sheet"),
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="invite everybody in a CSV file: the column `author`, `name`, or those of first and last name; else the first one",
)
@click.option(*("--csv", "old_sheet"), type=click.Path(path_type=Path, dir_okay=False), hidden=True)
@click.option("--again", metavar="NAME", multiple=True, help="draw another link for NAME; the old one no longer works")
@click.pass_obj
def command(
    context: CliContext, names: tuple[str, ...], sheet: Path | None, old_sheet: Path | None, again: tuple[str, ...]
) -> None:
    """Draw a secret link for each author, and print it. Send each author his own.

    The links are valid within a second if the season is open, and otherwise when it is opened. Without `address` in
    [season], the links have the address at which the site of the season listens, or listened last.
    """
    if old_sheet:
        click.echo("WARNING  --csv FILE is called --roster FILE now", err=True)
    found = [*names_in(sheet), *names_in(old_sheet)]
    print_result(context, "season-invite", invite(context.folder, [*names, *found], again))


def invite(place: Path, names: list[str], again: tuple[str, ...]) -> Invited:
    """Draw a link for each of `names` and `again`, leave the requests in the inbox of a season, and return the links.

    `again` are the authors whose link is replaced. Raise UserError if a name cannot be used.
    """
    from host.season.entries.inbox import Invite, write_request
    from host.season.entries.names import author_name
    from host.season.entries.store import Store
    from host.season.entries.values import hash_of, new_secret
    from host.season.folder import SeasonFolder
    from host.season.rounds.chain import TERMS
    from host.season.rounds.season import SITE
    from host.season.season_config import terms_of
    from host.season.service import loaded_season, require_season

    require_season(place)
    if not names and not again:
        raise click.UsageError("name an author, or use --roster FILE or --again NAME")
    folder = SeasonFolder(place)
    known, site, address = set[str](), "", ""
    if folder.store.exists():
        with Store.reading(place) as store:
            known = {author.name.lower() for author in store.authors.all()}
            site = store.setting(SITE)
            address = (store.value(TERMS, dict) or {}).get("season", {}).get("address", "")
    problems = [problem for name in names for problem in _problems(name, known, names)]
    for name in again:
        if name.lower() not in known:
            problems.append(
                Problem("E001", name, "is not an author of this season", hint="croupier season invite NAME")
            )
    if problems:
        raise UserError(problems, 3)
    with suppress(UserError):  # while croupier.toml is wrong, the season keeps its terms
        address = terms_of(loaded_season(place)).address
    site = address or site
    links = {}
    for name in [*names, *again]:
        secret = new_secret()
        request = Invite(author_name(name), hash_of(secret), again=name in again)
        try:
            write_request(folder.inbox, request)
        except OSError as error:
            raise UserError([file_problem("written", folder.inbox, error)], 6) from error
        links[name] = f"{site or USUAL_SITE}/a/{secret}"
    return Invited(links, bool(site))


def _problems(name: str, known: set[str], names: list[str]) -> Iterator[Problem]:
    """Yield a problem if the name of a new author is not valid, is `known` already, or is in `names` twice."""
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
    """Return the names of the authors in a CSV file, spelled as a season allows; none for None.

    The column titles say where the names are. Without such titles, they are in the first column. Raise UserError if
    the file cannot be read.
    """
    from host.inspect.roster import names_students, read_roster, roster_name
    from host.season.entries.names import MAX_AUTHOR_CHARS, usable_name

    if sheet is None:
        return []
    content = read_sheet(sheet)
    found = (
        map(roster_name, read_roster(sheet).rows) if names_students(content) else (line[0] for line in content.lines)
    )
    names = [*filter(None, map(str.strip, found))][:MAX_ROWS]
    return [usable_name(name, MAX_AUTHOR_CHARS) or name for name in names]
