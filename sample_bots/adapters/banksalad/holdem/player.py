"""Opponents as a bot sees them."""

from dataclasses import dataclass


@dataclass
class Other:
    """An opponent: chips left, chips put in on this street, and whether it is out of the round."""

    chips: int
    bet_amt: int
    died: bool
