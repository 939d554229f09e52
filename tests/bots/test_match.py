"""Tables and seats: what is played does not depend on how many tables are asked at once."""

from pathlib import Path

import pytest
from helpers import AMPLE, breadth, built, played, written

from host.games import GAMES
from host.play.records import Record

BOT = """
    import sys

    for asked, line in enumerate(sys.stdin):
        words = line.replace(",", " ").replace(":", " ").split()
        print({moves}[sum(map(len, words)) % {count}], flush=True)
"""
MOVES = {
    "cardshark": ["S", "H", "B 5", "D"],
    "pazaak": ["END", "STAND", "PLAY 1"],
    "holdem": ["CALL", "FOLD", "BET 20", "CHECK"],
}


def what_was_played(record: Record) -> tuple[object, ...]:
    """Return the parts of a record that follow from the answers."""
    return record.answers, record.results, record.faults


@pytest.mark.parametrize("game", breadth(MOVES, 3))
def test_a_table_played_alone_is_played_as_among_others(game: str, tmp_path: Path) -> None:
    assert game in GAMES
    source = BOT.format(moves=MOVES[game], count=len(MOVES[game]))
    bots = [
        built(written(source, ".py", tmp_path, name), game, AMPLE, protocol="lines", parallel_tables=64)
        for name in ("one", "two")
    ]

    alone, among_others = (what_was_played(played(game, bots, 6, parallel)) for parallel in (1, 4))

    assert alone == among_others
