"""The results of a stage, as its rankings read them."""

from typing import Literal, NamedTuple


class Sampling(NamedTuple):
    """How the results of a stage count in statistics."""

    unit: Literal["table", "fixture", "tourney"] = "table"
    """The statistically independent unit. A tourney is a fixture in which each table depends on the previous ones."""
    key: str = "tables"
    """The key of croupier.toml that decides how many units are played."""
    per_bot: bool = False
    """Whether `key` counts the units of each bot; otherwise those of each pair."""
    compare: Literal["all", "shared", "none"] = "all"
    """The results that compare two bots: all; only those of units that both played; or none, if places rank the bots."""

    @property
    def by_fixture(self) -> bool:
        """Whether the unit is a whole fixture."""
        return self.unit != "table"
