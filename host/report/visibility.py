"""Decide what of a journal may be shown: of a running stage, nothing that a bot or its author could use."""

from collections.abc import Mapping

from host.tournament.journal import Journal
from host.tournament.stages import kind_of, stages_of
from host.tournament.stages.kind import StageConfig


def state_of(stage: str, facts: Mapping[str, str]) -> str:
    """Return the state of a stage: waiting, running (also while the run is interrupted) or finished."""
    if facts.get("state") == "finished":
        return "finished"
    return facts.get(f"stage {stage}", "waiting")


def table_of(stage: StageConfig | None, path: str, number: int) -> str:
    """Return the name of a fixture's nth table, from 1: FIXTURE/n in a tourney, otherwise a number in its group."""
    if stage is not None and kind_of(stage).tourneys:
        return f"{path}/{number}"
    group, _, first = path.rpartition("/")
    return f"{group}/{int(first) + number - 1}" if first.isdecimal() else path


def public_stages(journal: Journal) -> set[str]:
    """Return the stages whose tables everybody may see: the finished ones."""
    facts = journal.metadata()
    return {stage.name for stage in stages_of(facts) if state_of(stage.name, facts) == "finished"}


def all_stages(journal: Journal) -> set[str]:
    """Return all stages, for `--spoilers`. Only the organiser may see the cards of a running stage."""
    return {stage.name for stage in stages_of(journal.metadata())}
