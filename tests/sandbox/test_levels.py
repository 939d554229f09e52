"""Levels of isolation are ordered by strength, and each has its traits and its launcher."""

from itertools import pairwise

import pytest

from host.sandbox.launch import LAUNCHERS
from host.sandbox.levels import DEFAULT_LEVEL, TRAITS, UNPROTECTED, Level


def test_levels_are_ordered_by_strength_and_not_by_the_alphabet() -> None:
    assert sorted(["L4", "none", "L3", "L2"], key=Level) == ["none", "L2", "L3", "L4"]
    assert Level("none") < Level("L2") <= Level("L2") < Level("L4")
    assert Level("L4") > Level("none") and Level("L2") >= Level("none")
    assert max(Level) == "L4" and min(Level) == "none"


def test_a_level_is_written_as_its_word() -> None:
    assert [f"{level}" for level in Level] == ["none", "L2", "L3", "L4"]
    with pytest.raises(ValueError, match="L5"):
        Level("L5")


def test_every_level_has_traits_and_a_launcher() -> None:
    assert set(TRAITS) == set(LAUNCHERS) == set(Level)


def test_a_stronger_level_provides_everything_that_a_weaker_one_does() -> None:
    provided = [
        (traits.isolates, traits.own_namespaces, traits.can_warm, traits.exact_cpu)
        for traits in (level.traits for level in Level)
    ]

    assert all(w <= s for weak, strong in pairwise(provided) for w, s in zip(weak, strong, strict=True))
    assert UNPROTECTED < DEFAULT_LEVEL < Level.L4
    assert not UNPROTECTED.traits.isolates and Level.L4.traits.exact_cpu


def test_the_label_of_a_level_says_what_it_is() -> None:
    assert [level.label for level in Level] == ["none", "L2, Landlock", "L3, namespaces", "L4, control groups"]
