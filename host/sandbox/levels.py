"""Defines the levels of isolation, weakest first, and their properties."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Traits(NamedTuple):
    """Properties of a level of isolation."""

    made_of: str
    """The mechanisms that separate bots from the machine, for the report."""

    name: str = ""
    """The mechanism that the next weaker level does not have, as text for people."""

    isolates: bool = True
    """Whether the level may run bots of strangers."""

    own_namespaces: bool = False
    """Whether a sandbox has its own process numbers, network and /tmp."""

    can_warm: bool = False
    """Whether a bot can be forked from an interpreter that stays in its sandbox, if the kernel has Landlock."""

    exact_cpu: bool = False
    """Whether a control group counts processor time and memory exactly. Otherwise they are measured every 20 ms."""

    lacks: tuple[str, ...] = ()
    """The weaknesses of the level, as `croupier doctor` prints them."""


NO_SANDBOX = "WARNING  no sandbox: every bot can read, change and send everything that you can"
"""The warning before bots play at a level that does not isolate them."""

MEASURED = "memory and processor time are measured every 20 ms: processes with a shorter life are not counted"


class Level(StrEnum):
    """A level of isolation. A later member is stronger: `Level.L2 < Level.L3`.

    Its value is the word in croupier.toml, in journals and in JSON.
    """

    NONE = "none"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"

    @property
    def traits(self) -> Traits:
        """Return the properties of the level."""
        return TRAITS[self]

    @property
    def label(self) -> str:
        """Return the level as text for people: "L4, control groups"."""
        return f"{self}, {self.traits.name}" if self.traits.name else str(self)

    @property
    def _rank(self) -> int:
        return list(Level).index(self)

    # Compare by strength, not alphabetically as strings are.
    def __lt__(self, other: str) -> bool:
        return self._rank < Level(other)._rank

    def __le__(self, other: str) -> bool:
        return self._rank <= Level(other)._rank

    def __gt__(self, other: str) -> bool:
        return self._rank > Level(other)._rank

    def __ge__(self, other: str) -> bool:
        return self._rank >= Level(other)._rank


TRAITS: Mapping[Level, Traits] = {
    Level.NONE: Traits(
        made_of="no sandbox: a bot can do everything that its host can",
        isolates=False,
    ),
    Level.L2: Traits(
        made_of="Landlock, system call filter, limits",
        name="Landlock",
        lacks=(
            MEASURED,
            f'weaker than the default: used only with level = "{Level.L2}" under [sandbox] in croupier.toml',
        ),
    ),
    Level.L3: Traits(
        made_of="namespaces, system call filter, limits watched",
        name="namespaces",
        own_namespaces=True,
        can_warm=True,
        lacks=(MEASURED,),
    ),
    Level.L4: Traits(
        made_of="namespaces, system call filter, cgroups",
        name="control groups",
        own_namespaces=True,
        can_warm=True,
        exact_cpu=True,
    ),
}
"""One row for each level. launch.LAUNCHERS defines how each is launched."""

UNPROTECTED = Level.NONE
DEFAULT_LEVEL = Level.L3
STRONGEST_FIRST = tuple(reversed(Level))
