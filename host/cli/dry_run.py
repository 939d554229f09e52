"""What a run will do, for people and for programs."""

from collections.abc import Iterator

import click

from host.base.safe_text import escape_control_chars
from host.cli import CliContext, print_json
from host.cli.progress import duration
from host.report.terminal import one_line, thousands
from host.tournament.estimate import Forecast, StageEstimate

SHOWN = 8  # meetings of a stage; -v shows all


def print_estimate(office: CliContext, forecast: Forecast) -> None:
    """Print who plays whom, how many tables, and how long it will take."""
    if office.json:
        print_json(
            "dry-run",
            run=forecast.name,
            game=forecast.game,
            sandbox=forecast.level,
            workers=forecast.workers,
            seconds=round(forecast.seconds, 3),
            at_least=least(forecast),
            trial=forecast.cost._asdict() if forecast.cost else None,
            rows=[facts(stage) for stage in forecast.stages],
        )
        return
    click.echo(f"{one_line(forecast.name)} · {forecast.game} · level {forecast.level}")
    for stage in forecast.stages:
        for line in lines(stage, len(stage.meetings) if office.verbose else SHOWN):
            click.echo(line)
    click.echo(how_long(forecast))


def least(forecast: Forecast) -> bool:
    """Return whether it may take longer than is told."""
    enough = forecast.cost is None or forecast.cost.enough
    return not enough or any(stage.bounds == "at least" for stage in forecast.stages)


def facts(stage: StageEstimate) -> dict[str, object]:
    """Return a stage as JSON has it."""
    return {
        "stage": stage.stage,
        "kind": stage.kind,
        "bots": stage.bots,
        "bounds": stage.bounds,
        "fixtures": len(stage.fixtures),
        "tables": tables(stage),
        "meetings": [meeting._asdict() for meeting in stage.meetings],
    }


def tables(stage: StageEstimate) -> int | None:
    """Return how many tables are left to play; None where a fixture is a whole tourney."""
    return None if stage.kind == "tables" else sum(fixture.tables for fixture in stage.fixtures)


def lines(stage: StageEstimate, most: int) -> Iterator[str]:
    """Yield a stage: how much of it is left, and who meets whom."""
    fixtures = stage.fixtures
    if not fixtures:
        yield f"  {stage.stage:<14} {stage.kind:<12} nothing is left to play"
        return
    bounds = "" if stage.bounds == "exactly" else f"{stage.bounds} "
    if stage.kind == "tables":
        rounds = fixtures[0].tables
        what = f"{bounds}{thousands(len(fixtures))} tourneys of {rounds} rounds, {stage.bots} bots at changing tables"
        yield f"  {stage.stage:<14} {stage.kind:<12} {what}"
        return
    count = tables(stage) or 0
    many = f"{thousands(len(fixtures))} fixture{'s' if len(fixtures) > 1 else ''}"
    some = f"{thousands(count)} table{'s' if count > 1 else ''} in {many}"
    yield f"  {stage.stage:<14} {stage.kind:<12} {bounds}{some}, {stage.bots} bots"
    if stage.open:
        groups = dict.fromkeys(fixture.bots for fixture in stage.waves[0])
        sizes = ", ".join(str(len(bots)) for bots in groups)
        yield f"    {'groups' if len(groups) > 1 else 'one group'} of {sizes}, drawn from the seed when the stage begins"
        return
    meetings = stage.meetings
    for meeting in meetings[:most]:
        who = " – ".join(escape_control_chars(bot) for bot in meeting.bots)
        yield f"    {who}   {thousands(meeting.tables)} table{'s' if meeting.tables > 1 else ''}"
    if len(meetings) > most:
        yield f"    … and {len(meetings) - most} more meetings: -v shows them"
    if len(stage.waves) > 1:
        yield "    … and who meets then is decided by what came of these"


def how_long(forecast: Forecast) -> str:
    """Return how long it will take, and from what that is known."""
    cost = forecast.cost
    if cost is None:
        return "everything has been played: croupier standings"
    about = "at least" if least(forecast) else "about"
    workers = f"{forecast.workers} worker{'s' if forecast.workers > 1 else ''}"
    tried = f"on trial, {cost.tables} tables took {cost.seconds:.1f} s with {workers}"
    return f"it will take {about} {duration(forecast.seconds)}; {tried}"
