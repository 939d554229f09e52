"""Defines [season] of a croupier.toml: how people submit bots, how a ladder of rounds is played, and when it ends."""

import ipaddress
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.toml_file import Toml
from host.base.value_types import InvalidValue, Text, ValueType, integer, matches, one_of
from host.bots.bot_spec import Seconds, SubmissionSize, format_limit
from host.config.tournament_config import Tournament
from host.games.engine import Game
from host.sandbox.limits import BYTES, GIB, size
from host.submissions.discovery import expand_patterns

SUBMISSIONS = ("invited", "anybody")
ORIGIN = r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?"
HEADER = r"[A-Za-z][A-Za-z0-9-]{0,60}"
LEAST_ROUND_S = 1.0


class Keep(NamedTuple):
    """Limit of the finished rounds that keep their answers: bytes, or a number of rounds. The other field is 0."""

    size: int = 0
    rounds: int = 0


DEFAULT_KEEP = Keep(size=5 * GIB)


def _freeze(value: Any) -> float:
    """Return a TOML date with time and UTC offset as seconds since 1970. Raise InvalidValue for any other value."""
    if not isinstance(value, datetime):
        raise InvalidValue("C006", "is not a date with a time", "2026-12-20T18:00:00+01:00, without quotes")
    if value.tzinfo is None:
        raise InvalidValue("C002", "has no offset from UTC", f"{value.isoformat()}Z, or +01:00 in place of Z")
    return value.timestamp()


def _keep(value: Any) -> Keep:
    """Return the limit in a text such as "5 GiB" or "200 rounds". Raise InvalidValue for any other value."""
    hint = '"5 GiB" or "200 rounds"'
    if not isinstance(value, str):
        raise InvalidValue("C006", "is neither a size nor a number of rounds", hint)
    if found := re.fullmatch(r"\s*([0-9]{1,9})\s+rounds?\s*", value):
        if not int(found[1]):
            raise InvalidValue("C009", "is out of range", '"1 round" or more')
        return Keep(rounds=int(found[1]))
    try:
        return Keep(size=max(size(value), 1))
    except ValueError:
        raise InvalidValue("C002", "is neither a size nor a number of rounds", hint) from None


def _proxy(value: Any) -> str:
    """Return a proxy's address or network, such as "172.16.0.0/12". Raise InvalidValue for any other value."""
    with suppress(ValueError):
        if isinstance(value, str):
            return str(ipaddress.ip_network(value, strict=False))
    raise InvalidValue("C009", "is not an IP address or a network", '"127.0.0.1" or "172.16.0.0/12"')


FREEZE = ValueType(
    _freeze, {"title": "date and time with an offset, without quotes", "examples": ["2026-12-20T18:00:00+01:00"]}
)
KEEP = ValueType(
    _keep,
    {
        "type": "string",
        "title": f"size with a unit: {', '.join(BYTES)}; or a number of rounds",
        "default": "5 GiB",
        "examples": ["200 rounds"],
    },
)
Freeze = Annotated[float, FREEZE]
Tables = Annotated[int, integer(2, 100_000)]
Several = Annotated[int, integer(1, 1000)]
Many = Annotated[int, integer(1, 1_000_000)]


@dataclass(frozen=True)
class PerAuthorTable:
    """What one author may use in a season."""

    queue: Several = 5
    """Submissions that have no verdict yet. Example: `queue = 2`"""
    per_hour: Many = 20
    """Submissions in an hour. One that never ran does not count. Example: `per_hour = 60`"""
    size: SubmissionSize = 16 << 20
    """Size of the file that is handed in. Example: `size = "4 MiB"`"""
    versions: Many = 1000
    """Versions of all bots of the author. Example: `versions = 100`"""
    cpu_minutes: Many = 30
    """Minutes of processor time in an hour for builds, checks and practice, which also counts while a bot waits.
    Example: `cpu_minutes = 60`"""


@dataclass(frozen=True)
class AuthorLimits(PerAuthorTable):
    """Limits of one author: `[season.per_author]`, and how many of his versions play at the same time."""

    active: int = 1


@dataclass(frozen=True)
class SeasonTable:
    """A season: people hand in bots, and a ladder of rounds runs until the freeze (docs/season.md)."""

    submissions: Annotated[str, one_of(lambda: SUBMISSIONS, "way to submit")] = "invited"
    """Who may submit: people who have a link of `croupier season invite`, or anybody who takes a name on the site."""
    freeze: Freeze = 0.0
    """When entry closes. Later submissions are examined and kept, and do not play. Default: `croupier season final` closes it.
    Example: `freeze = 2026-12-20T18:00:00+01:00`"""
    final: Freeze = 0.0
    """When the final is played. The site announces it, and a change of it. Example: `final = 2026-12-21T18:00:00+01:00`"""
    grace: Seconds = 300.0
    """How long after `freeze` a submission is still entered. Pages do not announce it. Example: `grace = "10 min"`"""
    round_every: Seconds = 600.0
    """The shortest time from the beginning of one round to that of the next. Example: `round_every = "30 min"`"""
    budget: Seconds = 300.0
    """The time that the tables of a round may take, by the speed of the rounds before. Example: `budget = "20 min"`"""
    active: Annotated[int, integer(1, 100)] = 1
    """Versions of one author that play at the same time. They are never paired with each other, and the best one is ranked.
    Example: `active = 3`"""
    places: Annotated[int, integer(1, 1000)] = 8
    """The first places that the season has to find: rounds play most tables for them. Example: `places = 3`"""
    references: tuple[Text, ...] = ()
    """Bots that everybody practises against: patterns of files and folders, and `sample:NAME`. They are not on the ladder.
    Example: `references = ["sample:nestor"]`"""
    practice: Tables = 200
    """Practice tables of each submission against each reference. They do not count. Example: `practice = 1000`"""
    keep: Annotated[Keep, KEEP] = DEFAULT_KEEP
    """How much of finished rounds is kept. Of older ones, the answers of all tables are removed; results, faults and seals
    stay."""
    address: Annotated[str, matches(ORIGIN, "address of a site", '"https://cup.example"')] = ""
    """The address of the site in links. Default: where the site listens. Example: `address = "https://cup.example"`"""
    proxy: tuple[Annotated[str, ValueType(_proxy, {"type": "string", "examples": ["127.0.0.1"]})], ...] = ()
    """The addresses from which a reverse proxy speaks for readers: it adds TLS, and tells their addresses."""
    login_header: Annotated[str, matches(HEADER, "name of a header", '"X-Remote-User"')] = ""
    """The header in which the proxy sends the name of a reader who has logged in. Default: links are the only way in.
    Example: `login_header = "X-Remote-User"`"""
    per_author: PerAuthorTable = PerAuthorTable()

    @property
    def author_limits(self) -> AuthorLimits:
        """Return the limits of one author."""
        return AuthorLimits(**vars(self.per_author), active=self.active)

    @property
    def closes(self) -> float | None:
        """Return when entry really closes, after `grace`, in seconds since 1970; None without a freeze."""
        return self.freeze + self.grace if self.freeze else None

    def settings(self) -> dict[str, Any]:
        """Return [season] as croupier.toml spells it, by key. Dates and texts that are not set are left out."""
        known = vars(self)
        unset = {key for key in ("freeze", "final", "address", "login_header") if not known[key]}
        spelled = known | {key: format_limit(known[key]) for key in ("grace", "round_every", "budget")}
        spelled |= {key: datetime.fromtimestamp(known[key], UTC) for key in ("freeze", "final")}
        spelled |= {key: list(known[key]) for key in ("references", "proxy")}
        spelled["keep"] = f"{self.keep.rounds} rounds" if self.keep.rounds else format_limit(self.keep.size)
        spelled["per_author"] = vars(self.per_author) | {"size": format_limit(self.per_author.size)}
        return {key: value for key, value in spelled.items() if key not in unset}

    def problems(self, toml: Toml, folder: Path, game: Game) -> list[Problem]:
        """Return a problem, with its line, for each missing reference and for each contradiction between keys."""
        problems = [*_references(toml, self, folder, game)]
        if self.address.startswith("https:") and not self.proxy:
            message = f'address = "{self.address}" needs a reverse proxy: croupier itself speaks no TLS'
            problems.append(_contradiction(toml, "address", message, 'proxy = ["127.0.0.1"], or address = "http://…"'))
        if self.login_header and not self.proxy:
            message = f'login_header = "{self.login_header}" needs a reverse proxy: otherwise anybody could send it'
            problems.append(_contradiction(toml, "login_header", message, 'proxy = ["127.0.0.1"]'))
        if self.final and self.final < (self.closes or 0.0):
            message = "final is before entry has closed: freeze and its grace"
            problems.append(_contradiction(toml, "final", message, "choose a later time"))
        if self.round_every < LEAST_ROUND_S:
            problems.append(_contradiction(toml, "round_every", "round_every is less than a second", '"10 s"'))
        if toml.data.get("seed", "random") != "random":
            message = "a season draws its own seed and commits to it"
            problems.append(Problem("C013", toml.where("seed"), message, hint="leave out seed"))
        if "bots" in toml.data:
            hint = 'leave out bots; bots of the organiser are references = ["…"]'
            problems.append(Problem("C013", toml.where("bots"), "in a season, people hand in the bots", hint=hint))
        return problems


def terms_of(tournament: Tournament) -> SeasonTable:
    """Return the [season] of a tournament that has one. `loaded_season` has checked that it has."""
    assert isinstance(tournament.season, SeasonTable)
    return tournament.season


def _references(toml: Toml, season: SeasonTable, folder: Path, game: Game) -> list[Problem]:
    """Return a problem for each reference that does not exist."""
    problems = []
    for number, pattern in enumerate(season.references):
        try:
            if not expand_patterns([pattern], folder, game):
                hint = "a folder, a file, or sample:NAME"
                raise UserError([Problem("C012", "", f'"{pattern}" matches no bot', hint=hint)], 3)
        except UserError as refused:
            where = toml.where("season", "references", number)
            problems += [problem._replace(where=where) for problem in refused.problems]
    return problems


def _contradiction(toml: Toml, key: str, message: str, hint: str) -> Problem:
    return Problem("C013", toml.where("season", key), message, hint=hint)


def late_freeze(toml: Toml, season: SeasonTable, now: float, again: bool) -> list[Problem]:
    """Return a problem if `freeze` is in the past when the season is opened for the first time; otherwise nothing.

    `again` says that the season was opened before: then its freeze may be over.
    """
    if not season.freeze or season.freeze > now or again:
        return []
    said = toml.data["season"]["freeze"]
    message = f"freeze = {said.isoformat()} is in the past"
    return [Problem("C009", toml.where("season", "freeze"), message, hint="choose a later time, or leave it out")]
