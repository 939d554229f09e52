"""Prints the stages and meetings that a run will play, and the estimated time."""

from collections.abc import Iterator
from math import ceil

from host.base.format import counted, plural, rough_duration, thousands
from host.base.safe_text import escape_control_chars, one_line
from host.cli import CliContext, Facts, in_folder, print_result
from host.results.disqualification import rule
from host.tournament.estimate import Forecast, StageEstimate

MAX_MEETINGS = 8  # lines of a stage; -v prints all


def print_estimate(context: CliContext, forecast: Forecast) -> None:
    """Print which bots meet, the number of tables, and the estimated time."""
    facts = {
        "run": forecast.name,
        "game": forecast.game,
        "sandbox": forecast.level,
        "workers": forecast.workers,
        "seconds": forecast.seconds,
        "at_least": is_lower_bound(forecast),
        "max_faults": forecast.max_faults or None,
        "trial": {"tables": forecast.cost.tables, "seconds": forecast.cost.seconds} if forecast.cost else None,
        "rows": [stage_json(stage) for stage in forecast.stages],
    }
    print_result(context, "dry-run", Facts(facts, _lines(forecast, str(context.folder), verbose=context.verbose)))


def _lines(forecast: Forecast, folder: str, *, verbose: bool) -> Iterator[str]:
    """Yield lines about the tables that will be played, and about the estimated time."""
    yield f"{one_line(forecast.name)} · {forecast.game} · level {forecast.level.label}"
    for stage in forecast.stages:
        yield f"  {stage.stage:<14} {stage.kind:<12} {amount_text(stage)}"
        if stage.about:
            yield f"    {stage.about}"
        for line in meeting_lines(stage, len(stage.meetings) if verbose else MAX_MEETINGS):
            yield f"    {line}"
    if forecast.max_faults:
        yield rule(forecast.max_faults)
    yield time_text(forecast, folder)


def is_lower_bound(forecast: Forecast) -> bool:
    """Return whether the run may take longer than the estimate."""
    return any(stage.bounds == "at least" for stage in forecast.stages)


def stage_json(stage: StageEstimate) -> dict[str, object]:
    """Return the JSON keys of a stage. `tables` is null if the fixtures of the stage are whole tourneys."""
    row = stage._asdict() | {"meetings": [meeting._asdict() for meeting in stage.meetings]}
    if row.pop("tourneys"):
        row["tables"] = None
    return row


def amount_text(stage: StageEstimate) -> str:
    """Return the number of tables and fixtures of a stage that have not been played yet, in words."""
    if stage.bounds == "skipped":
        return f"skipped: only {stage.bots} {plural(stage.bots, 'bot')} reach{'es' * (stage.bots == 1)} it"
    if not stage.fixtures:
        return "nothing left to play"
    bounds = "" if stage.bounds == "exactly" else f"{stage.bounds} "
    if stage.tourneys:
        rounds = stage.tables // stage.fixtures
        return f"{bounds}{thousands(stage.fixtures)} tourneys of {rounds} rounds, {stage.bots} bots at changing tables"
    return f"{bounds}{counted(stage.tables, 'table')} in {counted(stage.fixtures, 'fixture')}, {stage.bots} bots"


def meeting_lines(stage: StageEstimate, most: int) -> Iterator[str]:
    """Yield up to `most` of the meetings that are already known, one per line, and a line about the others."""
    if stage.tourneys or not stage.fixtures:
        return
    for meeting in stage.meetings[:most]:
        bots = " – ".join(escape_control_chars(bot) for bot in meeting.bots)
        yield f"{bots}   {counted(meeting.tables, 'table')}"
    if len(stage.meetings) > most:
        yield f"… and {len(stage.meetings) - most} more meetings: -v prints them"
    if not stage.meetings:
        yield "the seed or an earlier stage decides who plays whom"
    elif sum(meeting.fixtures for meeting in stage.meetings) < stage.fixtures and stage.bounds != "at most":
        yield "… their results decide the next meetings"


def time_text(forecast: Forecast, folder: str) -> str:
    """Return the estimated time of the run, and how it was measured."""
    cost = forecast.cost
    if cost is None:
        return in_folder("everything has been played: croupier standings", folder)
    workers = f"{counted(forecast.workers, 'worker')}"
    tried = f"on trial, {cost.tables} tables took {cost.seconds:.1f} s with {workers}"
    if forecast.seconds is None:
        return f"cannot tell yet how long it will take; {tried}"
    about = "at least" if is_lower_bound(forecast) else "about"
    return f"it will take {about} {rough_duration(ceil(forecast.seconds))}; {tried}"
