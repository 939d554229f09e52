"""The levels of isolation, weakest first, and what each provides."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Traits(NamedTuple):
    """What a level provides."""

    made_of: str
    """What separates its bots from the machine, for the report."""

    isolates: bool = True
    """Bots of strangers may run."""

    own_namespaces: bool = False
    """A sandbox has its own process numbers, network and /tmp."""

    can_warm: bool = False
    """A bot may be forked from an interpreter that stays in its sandbox, if the kernel has Landlock."""

    exact_cpu: bool = False
    """A control group counts processor time and memory exactly. Else they are measured every 20 ms."""

    lacks: tuple[str, ...] = ()
    """What doctor prints of it."""


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
        """What the level provides."""
        return TRAITS[self]

    @property
    def _rank(self) -> int:
        return list(Level).index(self)

    # By strength: strings would be compared by the alphabet.
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
        made_of="no sandbox: every bot could do what its host could",
        isolates=False,
    ),
    Level.L2: Traits(
        made_of="Landlock, system call filter, limits",
        lacks=(
            MEASURED,
            f'weaker than the default: used only with level = "{Level.L2}" under [sandbox] in croupier.toml',
        ),
    ),
    Level.L3: Traits(
        made_of="namespaces, system call filter, limits watched",
        own_namespaces=True,
        can_warm=True,
        lacks=(MEASURED,),
    ),
    Level.L4: Traits(
        made_of="namespaces, system call filter, cgroups",
        own_namespaces=True,
        can_warm=True,
        exact_cpu=True,
    ),
}
"""One row a level. How each is launched: launch.LAUNCHERS."""

UNPROTECTED = Level.NONE
DEFAULT_LEVEL = Level.L3
EXACT_LEVEL = min(level for level in Level if level.traits.exact_cpu)
"""The weakest level at which processor time and memory are counted exactly."""

CONTAINER_LEVEL = Level.L3
"""What a container gives with docker/seccomp.json: namespaces, but no control group."""

STRONGEST_FIRST = tuple(reversed(Level))


def made_of(word: str) -> str:
    """Return what a level consists of; a word that is not a level is returned unchanged."""
    return Level(word).traits.made_of if word in TRAITS else word
