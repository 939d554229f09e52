"""Follows the bots of a tournament from stage to stage: which of them begin a stage, and in which order."""

from collections.abc import Sequence

from host.stages import kind_of, references_of
from host.stages.kind import Entrants, StageConfig


class Lineup:
    """The bots that are still in the tournament, best first if a stage has ranked them."""

    def __init__(self, bots: Sequence[str], seed: bytes | None) -> None:
        self.bots = list(bots)
        self._seed = seed
        self._places: dict[str, Sequence[str]] = {}  # of each finished stage

    def entrants(self, stage: StageConfig) -> list[str]:
        """Return the bots that play a stage; its references are not among them."""
        references = references_of(stage)
        return [bot for bot in self.bots if bot not in references]

    def seeded(self, stage: StageConfig) -> list[str] | None:
        """Return the bots in the order in which a stage begins; None if it is drawn from a seed that is unknown."""
        bots, seeded = self.entrants(stage), kind_of(stage).seeded
        return seeded(stage, Entrants(bots, self._places, self._seed)) if seeded else bots

    def finish(self, stage: StageConfig, places: Sequence[str], left: Sequence[str]) -> None:
        """Continue after a stage: the bots that are left play the next one, and so do entered bots that were references."""
        self._places[stage.name] = places
        self.bots = [*left, *sorted({*self.bots} & {*references_of(stage)})]
