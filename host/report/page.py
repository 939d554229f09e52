"""Renders the pages for spectators, which a file contains or a server sends."""

import base64
import hashlib
import shlex
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.runtime import Macro
from markupsafe import Markup

from host import __version__
from host.base.format import clock, day, plural, thousands
from host.base.safe_text import one_line
from host.inspect.table_replays import TableRef, gzip_base64
from host.journal.tournament_dir import hash_command
from host.play.fixture_id import group_of
from host.play.records import after_faults
from host.rating.statistics import is_certain
from host.report.charts import CHART_FILTERS
from host.report.public import PUBLIC_NAMES
from host.report.sections import SECTIONS
from host.report.stage_results import Stage
from host.report.summary import BotSummary, RunSummary
from host.report.terminal import advised, known_duration
from host.report.timelines import Chips
from host.rules.catalogue import display_of

PAGES = Path(__file__).parent / "pages"
CROSSED = 60  # most bots in the cross table of pairs
MAX_FAULTS_TOGETHER = 40
"""Most faults of which the page of all faults shows the evidence. If there are more, only the bots' pages show it."""
LIVE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of a served page. Scripts inside the page itself never run."""

FAULT_MEANINGS: Mapping[str, str] = {
    "timeout": "no complete answer within the time limit",
    "cpu": "more CPU time than the limit for one move",
    "memory": "more memory than its limit",
    "flood": "more output than the limit for one move",
    "budget": "asked a model whose budget was used up",
    "crash": "ended with an error instead of an answer",
    "exit": "exited normally without an answer",
    "start": "could not be started",
    "unreadable": "an answer that is not a move of the game",
    "extra": "more than one line for one question",
    "early": "wrote before it was asked",
    "exception": "raised an exception that its adapter reported",
    "illegal": "a well-formed move that the rules do not allow there",
    "benched": "no longer asked after too many faults",
}


# Filters that format values in the templates.


def setting_text(thing: Any) -> str:
    """Return the value of a setting as text: "yes", "a, b", "none"."""
    if isinstance(thing, bool):
        return "yes" if thing else "no"
    if isinstance(thing, (list, tuple)):
        return ", ".join(map(setting_text, thing)) or "none"
    return one_line(str(thing))


# Pages.

FILTERS = {
    each.__name__: each
    for each in (after_faults, clock, day, plural, setting_text, advised, is_certain, *CHART_FILTERS)
} | {
    "name": one_line,
    "num": thousands,
    "dur": known_duration,
}


@cache
def environment() -> Environment:
    """Return the Jinja environment of the templates. It escapes every value in HTML."""
    made = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= FILTERS
    made.globals |= {
        "style": Markup(asset("style.css")),
        "pages": Markup(asset("pages.js")),
        "casino": Markup(asset("casino.js")),
        "crossed": CROSSED,
        "together": MAX_FAULTS_TOGETHER,
        "kinds": FAULT_MEANINGS,
        "version": __version__,
    }
    return made


@cache
def asset(file: str) -> str:
    """Return the content of a file for pages: style.css, pages.js, or casino.js with the scripts of all games."""
    before = [PAGES / "shared.js"] if file == "pages.js" else []
    files = [*before, PAGES / file, *(sorted((PAGES / "casino").glob("*.js")) if file == "casino.js" else [])]
    return "".join(path.read_text() for path in files)


ASSETS: Mapping[str, str] = {
    "style.css": "text/css; charset=utf-8",
    "pages.js": "text/javascript; charset=utf-8",
    "casino.js": "text/javascript; charset=utf-8",
}


def file_policy() -> str:
    """Return the content security policy of a page in a file.

    It lets only our two scripts run, identified by hashes.
    """

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = " ".join(hashed(asset(file)) for file in ("pages.js", "casino.js"))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {hashed(asset('style.css'))}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


class Detail(Enum):
    """Ways to reduce the size of a page in a file, if it has very many bots."""

    NONE = 0  # not reduced
    PACKED = 1  # most parts are compressed
    CUT = 2  # most parts are compressed, and evidence is left out


class Page:
    """Page of a run, served live or in a file. A file contains its tables, compressed; a served page fetches them.

    A file may be rendered several times until it is small enough. So the object stores the pages of bots and pairs, and
    the parts of these pages that show neither evidence nor replays, because rendering them takes most of the time.
    """

    def __init__(
        self, summary: RunSummary, *, live: bool = False, stacks: Sequence[Chips] = (), missing_tables: str = ""
    ) -> None:
        self._whole = summary
        self._parts = dict[Hashable, str]()
        self._details = dict[Hashable, str]()
        self._about: Mapping[str, Any] = {
            "live": live,
            "policy": "" if live else file_policy(),
            "stacks": {group_of(each.table): each for each in reversed(stacks)},
            "number": summary.number,
            "stage_of": {stage.name: stage for stage in summary.stages},
            "score_word": display_of(summary.game).score,
            "places": {stage.name: {row.bot: nth for nth, row in enumerate(stage.rows)} for stage in summary.stages},
            "head_to_head_ids": {stage.name: head_to_head_ids(summary, stage) for stage in summary.stages},
            "commands": _commands(summary),
            "seed_check": hash_command(summary.seed),
            "public_names": PUBLIC_NAMES,
            "withheld": _withheld(summary),
            "missing_tables": missing_tables,
            "once": self._once,
        }

    def html(
        self, replays: Sequence[TableRef], data: Mapping[str, str] = MappingProxyType({}), detail: Detail = Detail.NONE
    ) -> str:
        """Return the page as HTML, with replays of some tables. `data` are the compressed tables of a file, by name."""
        cut = detail is Detail.CUT
        summary = without_evidence(self._whole) if cut else self._whole
        sections = [(section, shown) for section in SECTIONS if (shown := section.content(summary))]
        values = {
            **self._about,
            "summary": summary,
            "sections": sections,
            "packed": [each for each in sections if each[0].packed],
            "ranked": by_rank(summary),
            "replays": replays,
            "highlights": [*replays[:1], *sorted(replays[1:], key=lambda place: not place.special)][:6],
            "data": data,
            "cut": cut,
            "leaves": "",
            "details": "",
        }
        key = cut, tuple(place.name for place in replays), frozenset(data)
        if key not in self._details:
            self._details[key] = environment().get_template("details.html").render(values) if summary.stages else ""
        if detail is Detail.NONE:
            values["details"] = Markup(self._details[key])
        else:
            values["leaves"] = gzip_base64(self._details[key])
        return environment().get_template("page.html").render(values)

    def _once(self, key: Hashable, macro: Macro, *given: object) -> str:
        """Return the text that a macro of a template renders. Call the macro once for each key, and store the text."""
        if key not in self._parts:
            self._parts[key] = macro(*given)
        return self._parts[key]


def by_rank(summary: RunSummary) -> list[BotSummary]:
    """Return the bots in the order in which the last played stage ranks them."""
    rank = {row.bot: row.rank for row in summary.stage.rows} if summary.stage else {}
    return sorted(summary.bots, key=lambda bot: rank.get(bot.name, len(rank) + 1))


def without_evidence(summary: RunSummary) -> RunSummary:
    """Return a summary without questions, answers and standard error of bots. The counts of faults stay."""
    return summary._replace(
        bots=tuple(
            bot._replace(slowest=(), faults=tuple(group._replace(samples=()) for group in bot.faults))
            for bot in summary.bots
        )
    )


def head_to_head_ids(summary: RunSummary, stage: Stage) -> dict[tuple[str, str], str]:
    """Return the HTML ids of the pages about pairs in a stage, by (bot, other bot), in both orders."""
    ids, number = {}, summary.number
    for head_to_head in stage.head_to_heads:
        one, two = head_to_head.bots
        numbers = sorted((number[one], number[two]))
        ids[one, two] = ids[two, one] = f"pair-{summary.stages.index(stage)}-{numbers[0]}-{numbers[1]}"
    return ids


def _commands(summary: RunSummary) -> str:
    """Return the shell commands that play a run again (in a copy of its folder without results) and verify it."""
    if not summary.settings:
        game, seed = shlex.quote(summary.run.game), shlex.quote(summary.seed or "SEED")
        return f"croupier play BOT BOT … -g {game} --seed {seed}\ncroupier replay last"
    drawn = summary.settings.get("seed", "random") == "random"
    again = (
        [*([f"mkdir run && echo {summary.seed} > run/seed"] if drawn else []), "croupier run"] if summary.seed else []
    )
    return "\n".join([*again, "croupier standings", "croupier verify", "croupier replay last"])


def _withheld(summary: RunSummary) -> str:
    if not any(stage.fixtures for stage in summary.stages):
        return "Nothing has been played yet."
    if any(stage.state == "running" for stage in summary.stages):
        return "Replays are withheld until this stage is over: its tables share deals, so they would show future cards."
    return "No replays: the seed of this run cannot be read, and the cards cannot be dealt again without it."
