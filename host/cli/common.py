"""What several commands need: the game, the level, the bots that are meant, standings on the screen."""

import json
from pathlib import Path
from typing import Any

import click

from host.bots.spec import Spec
from host.cli import Office, print_json
from host.games import GAMES
from host.games.engine import Game


def the_game(name: str) -> Game:
    """Return a game by name; a wrong one brings the nearest."""
    import difflib

    if name not in GAMES:
        near = difflib.get_close_matches(name, GAMES, 1)
        hint = f"; did you mean {near[0]} ?" if near else ""
        raise click.UsageError(f"there is no game {name!r}{hint}  (games: {', '.join(GAMES)})")
    return GAMES[name]


def level_of(demanded: str, unsafe: bool) -> str:
    """Return the level in force. Raise Refused (exit code 6) when the machine has less than demanded."""
    from host.bots.sandboxes import demand

    if unsafe or demanded == "none":
        click.echo("WARNING  no sandbox: every bot may read, change and send whatever you may", err=True)
        return "none"
    return demand(demanded)


def entrants(cup: Any, folder: Path, names: tuple[str, ...]) -> list[Spec]:
    """Return the cup's bots, or those that are named."""
    import difflib

    specs: list[Spec] = cup.specs(folder)
    if not names:
        return specs
    known = {spec.name: spec for spec in specs} | {spec.folder.name: spec for spec in specs if spec.manifest}
    chosen = []
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise click.UsageError(f"there is no bot {name!r} here" + (f"; did you mean {near[0]} ?" if near else ""))
        chosen.append(known[name])
    return chosen


def told_standings(office: Office, folder: Path, outcome: Any) -> None:
    """Print the standings of the last stage that has any; as JSON with how the run ended."""
    print_standings(office, folder if folder.is_dir() else folder.parent, None, interrupted=outcome.interrupted)


def print_standings(
    office: Office,
    place: Path,
    stage_name: str | None,
    *,
    by: str = "bot",
    as_csv: bool = False,
    interrupted: bool = False,
) -> None:
    """Print a stage's standings; by default those of the last stage in which anything has been played."""
    import difflib

    from host.journal import reading
    from host.report import text
    from host.tournament.folder import Folder
    from host.tournament.stages import STAGES
    from host.tournament.standings import by_pair, placed, standings, sureness

    with reading(Folder(place).journal) as journal:
        facts, bots = journal.facts(), journal.bots()
        stages = json.loads(facts["stages"])
        if stage_name is not None and stage_name not in [stage["name"] for stage in stages]:
            near = difflib.get_close_matches(stage_name, [stage["name"] for stage in stages], 1)
            raise click.UsageError(
                f"there is no stage {stage_name!r}" + (f"; did you mean {near[0]} ?" if near else "")
            )
        wanted = [stage for stage in stages if stage_name in (None, stage["name"])]
        stage = next((stage for stage in reversed(wanted) if journal.paths(stage["name"])), wanted[0])
        records = [record for _, record in journal.records(stage["name"])]
    rows = standings(stage["kind"], stage["rank_by"], records, bots)
    if (order := facts.get(f"order {stage['name']}")) and STAGES[stage["kind"]].places:
        rows = placed(rows, json.loads(order))
    sure = sureness(rows, records)
    if as_csv:
        text.write_csv(rows)
    elif office.json:
        print_json(
            "standings",
            run=facts["name"],
            game=facts["game"],
            sandbox=facts["level"],
            seed_sha256=facts["seed_sha256"],
            state=facts["state"],
            interrupted=interrupted,
            stage=stage["name"],
            fixtures=len(records),
            rows=text.json_rows(rows),
            sure=sure,
        )
    elif by == "pair":
        text.print_pairs([row.bot for row in rows], by_pair(records))
    else:
        head = (
            f"{facts['name']} · {stage['name']} · {len(records)} fixtures · level {facts['level']} · "
            f"seed sha256 {facts['seed_sha256'][:8]}… · {facts['state']}"
        )
        text.print_standings(head, rows, sure, kind=stage["kind"])
