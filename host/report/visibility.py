"""What of a journal may be shown, and to whom: nothing of a stage under way that a bot or its author could use."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from host.tournament.journal import Journal
from host.tournament.tournament_dir import Folder


def stages_of(facts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return name, kind and rank_by of each stage; a friendly game is one stage that nobody has configured."""
    said: list[dict[str, Any]] = json.loads(facts.get("stages", "[]"))
    mirror = json.loads(facts.get("mirror", "false"))
    return said or [{"name": "play", "kind": "independent", "rank_by": [], "mirror": mirror}]


def state_of(stage: str, facts: Mapping[str, str]) -> str:
    """Return how far a stage is: waiting, running (or interrupted, to be resumed) or finished."""
    if facts.get("state") == "finished":
        return "finished"
    return facts.get(f"stage {stage}", "waiting")


def table_of(kind: str, path: str, number: int) -> str:
    """Return the name of a fixture's nth table, from 1: those of a tourney lie below it, others stand beside it."""
    if kind == "tables":
        return f"{path}/{number}"
    group, _, first = path.rpartition("/")
    return f"{group}/{int(first) + number - 1}" if first.isdecimal() else path


def known_seed(journal: Journal) -> bytes | None:
    """Return a run's seed as far as we may read it; None where we may not. Nothing is ever written."""
    facts = journal.metadata()
    if "seed" in facts:
        return bytes.fromhex(facts["seed"])
    chosen = json.loads(facts.get("config", "{}")).get("seed", "random")
    try:
        seed = (
            chosen.encode()
            if chosen != "random"
            else bytes.fromhex(Folder(journal.path.parent.parent).seed_file.read_text())
        )
    except (OSError, ValueError):
        return None
    return seed if hashlib.sha256(seed).hexdigest() == facts.get("seed_sha256") else None


def public_stages(journal: Journal) -> set[str]:
    """Return the stages whose tables may be shown to everybody: those that are finished."""
    facts = journal.metadata()
    return {stage["name"] for stage in stages_of(facts) if state_of(stage["name"], facts) == "finished"}


def all_stages(journal: Journal) -> set[str]:
    """Return all stages, for who asks for spoilers: what stands in a running one is the organiser's alone."""
    return {stage["name"] for stage in stages_of(journal.metadata())}
