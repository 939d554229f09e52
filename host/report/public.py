"""Makes the files of a public folder, with which anyone can check a result without croupier (docs/checking.md)."""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.sheet import as_csv
from host.games.engine import Game, best, best_unless_equal
from host.inspect.recorded import known_seed
from host.inspect.visibility import visible
from host.journal.chain import canonical
from host.journal.reader import Journal
from host.journal.state import RunState
from host.play.fixture_id import FixtureId
from host.results.course import Position, positions_of
from host.results.standings import certainties

SCHEMA = "croupier/public/1"
RECORDS, ANSWERS = "records.ndjson", "answers.ndjson"
PUBLIC_NAMES = (
    RECORDS,
    "standings.csv",
    "certainty.json",
    "seed.txt",
    "rules.json",
    "records.schema.json",
    "check.py",
)
"""The files of the folder that a live page also offers. The answers can have gigabytes, so only the folder has them."""
COLUMNS = ("stage", "rank", "bot", "tables", "won", "rate", "total", "mean", "ranked_by", "value", "note")


WINNERS: Mapping[Any, str] = {best: "best", best_unless_equal: "best unless equal"}


class PublicLines(NamedTuple):
    """Lines of the chain that may be published, and the stages of which lines are left out."""

    lines: list[str]  # each with its line end
    seal: str  # after the last line
    hidden: frozenset[str]  # stages with fixtures that are left out, or that have been opened again since
    changes: int = 0  # the number of changes of the run in the lines


def public_lines(journal: Journal) -> PublicLines:
    """Return the lines of the chain up to the first fixture whose tables spectators may not see yet.

    Raise UserError (exit code 3) if a line was changed after it was sealed.
    """
    shown, lines, seal, hidden, changes = visible(journal), list[str](), "", set[str](), 0
    for entry in journal.entries():
        if not entry.sound:
            message = f"is damaged: {entry.name} was changed after it was sealed"
            raise UserError([Problem("R005", str(journal.path), message, hint="croupier verify")], 3)
        stage = FixtureId.parse(entry.name).stage if entry.kind in ("fixture", "undecided") else ""
        if stage and stage not in shown:
            hidden.add(stage)
        if not hidden:
            lines.append(f"{entry.line}\n")
            seal = entry.seal
            changes += entry.kind == "change"
        elif stage or entry.kind == "stage":
            hidden.add(stage or json.loads(entry.line)["stage"]["name"])
    return PublicLines(lines, seal, frozenset(hidden), changes)


def after(public: PublicLines, seal: str) -> list[str]:
    """Return the lines after the line with this seal; all lines if the seal is "".

    Raise UserError (exit code 2) if no line has the seal.
    """
    if not seal:
        return public.lines
    start = next((number for number, line in enumerate(public.lines) if line.startswith(f'{{"before":"{seal}",')), None)
    if start is None and seal != public.seal:
        hint = "a seal that `run` or an export has printed, for example the last `seal` of rules.json"
        raise UserError([Problem("U001", "since", f"no line has the seal {seal}", hint=hint)], 2)
    return [] if start is None else public.lines[start:]


def public_files(journal: Journal, public: PublicLines | None = None) -> Mapping[str, str]:
    """Return the content of the files in PUBLIC_NAMES, by name. All come from one snapshot of the journal.

    `public` are the public lines of the same snapshot; None: read them.
    """
    with journal.snapshot():
        public, run = public or public_lines(journal), journal.state()
        course = positions_of(journal, public.changes)
        shown = [each for each in course if each.state.name not in public.hidden and not each.skipped and each.records]
        game = journal.game
        seed = known_seed(journal) if run.finished else None
        return {
            RECORDS: "".join(public.lines),
            "standings.csv": _standings(shown, game),
            "certainty.json": json.dumps(
                {each.state.name: _certainty(each) for each in shown if each.counted}, indent=1
            )
            + "\n",
            "seed.txt": f"sha256 {run.seed_sha256}\n" + (f"seed {seed.hex()}\n" if seed is not None else ""),
            "rules.json": json.dumps(_rules(run, game, shown, public), indent=2) + "\n",
            "records.schema.json": files("host.report").joinpath("records.schema.json").read_text(),
            "check.py": files("host.report").joinpath("public_check.py").read_text(),
        }


def answer_lines(journal: Journal, public: PublicLines) -> Iterator[str]:
    """Yield a line of JSON for each fixture of a finished stage: number, salt of the answers, and answers by table."""
    shown = visible(journal).stages - public.hidden
    for number, stage, salt, text in journal.salted_answers():
        if stage in shown:
            yield canonical({"number": number, "salt": salt.hex(), "answers": text.split("\n")}) + "\n"


def _certainty(position: Position) -> dict[str, Any]:
    """Return the entry of a stage in certainty.json: sums over units, intervals by bot, certainty of the order."""
    tournament, standings = position.tournament, position.standings
    rows = standings.rows
    found = certainties(tournament.run, position.state, position.recorded, tournament.bots, standings)
    return {
        "ranked_by": rows[0].ranking.name,
        "shared": found.shared,
        "meetings": [meeting._asdict() for meeting in found.evidence.meetings],
        "intervals": {row.bot: [row.first.low, row.first.high] for row in rows},
        "sure": [{"bots": names, "sure": sure} for names, sure in found.sure],
    }


def _rules(run: RunState, game: Game, shown: list[Position], public: PublicLines) -> dict[str, Any]:
    """Return the content of rules.json: the facts about the game and the stages that check.py needs."""
    played = run.terms.rules if run.terms else {}
    shuffles = game.chance.shuffles(game.default_rules._replace(**played)) if game.chance.shuffles else None
    return {
        "schema": SCHEMA,
        "name": run.name,
        "game": run.game,
        "rules": played,
        "seal": public.seal,
        "lines": len(public.lines),
        "winners": WINNERS.get(game.winners, "none"),
        "shuffles": {key: getattr(shuffles, key) if shuffles else [] for key in ("first", "each")},
        "hidden": sorted(public.hidden),
        "without_withdrawn": [each.state.name for each in shown if each.kind.changes.leavable],
    }


def _standings(shown: list[Position], game: Game) -> str:
    """Return the content of standings.csv: for each stage and bot, the sums over the tables that count, and the value
    in the first ranking."""
    rows = list[dict[str, Any]]()
    for position in shown:
        for row in position.standings.rows:
            results = [record.results[row.bot] for record in position.counted if row.bot in record.results]
            tables, total = sum(each.tables for each in results), sum(each.score for each in results)
            cells: dict[str, Any] = {"tables": tables, "total": total, "mean": total / tables if tables else ""}
            if game.winners in (best, best_unless_equal):
                won = sum(each.wins for each in results)
                cells |= {"won": won, "rate": won / tables if tables else ""}
            about = {"stage": position.state.name, "rank": row.rank, "bot": row.bot, "note": row.note}
            rows.append(about | cells | {"ranked_by": row.ranking.name, "value": row.first.value})
    return as_csv(COLUMNS, rows)
