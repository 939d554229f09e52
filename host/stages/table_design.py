"""Designs the tables of a league: which bots share a table, so that all pairs meet equally often.

The bots have places in a circle. A base block is a set of places that share a table. Turned by one place after another,
until it has gone round the circle, it seats every bot once in each of its seats. Therefore every bot plays equally
often, and equally often in every seat. How often two bots meet depends only on how often the distance between their
places occurs in the base blocks (a cyclic difference family: Bose, "On the construction of balanced incomplete block
designs", 1939). A search balances these distances. It has a fixed seed, so equal arguments give the same tables on
every machine.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from random import Random
from typing import NamedTuple

DESIGN_SEED = 1939
FEW_TABLES = 10  # fewest tables that the same bots play in a row, if there are enough: each set starts its bots again
MEETINGS = 2  # fewest meetings of two bots on average, if there are enough tables
FEW_MEETINGS = 64  # up to this many sets of bots may play fewer tables in a row, if otherwise some pairs would not meet
BLOCKS_AT_ONCE = 16  # sets of bots that can play at the same time, if there are enough tables
STEPS = 2_500  # most steps of the search
BASE_BLOCK_COUNTS = 6  # numbers of base blocks that `design` tries, at most

Block = tuple[int, ...]


class Design(NamedTuple):
    """The tables of a league. Each set of bots plays `length` tables in a row; two bots share `fewest` to `most` sets."""

    bots: int
    seats: int
    length: int
    blocks: tuple[Block, ...]
    fewest: int
    most: int
    half: bool = False  # whether the last block, of two opposite places, moves through half of the circle only

    @property
    def tables(self) -> int:
        """Return the number of tables of each bot."""
        return self.length * (self.seats * len(self.blocks) - self.half)

    @property
    def shared(self) -> tuple[int, int]:
        """Return the fewest and the most tables that two bots share."""
        return self.fewest * self.length, self.most * self.length

    def places(self, number: int) -> list[int]:
        """Return the places in the circle of a set of bots, by seat. `number` is the set's, from 0 to `meetings` - 1."""
        block, turn = divmod(number, self.bots)
        return [(place + turn) % self.bots for place in self.blocks[block]]

    @property
    def meetings(self) -> int:
        """Return the number of sets of bots that play.

        Each base block makes `bots` successive sets, in which all bots play equally often. With `half`, the last base
        block makes only half of this number.
        """
        return self.bots * len(self.blocks) - (self.bots // 2 if self.half else 0)


@lru_cache(maxsize=16)
def design(bots: int, seats: int, tables: int, multiple: int = 1) -> Design:
    """Return a design in which each of at least two bots plays `tables` tables of `seats` seats, or a few more.

    The same bots play a multiple of `multiple` tables in a row, for example of the number of tables that share a deal.
    Among several numbers of base blocks, `design` chooses the one with the best balance and the fewest additional
    tables.
    """
    found = []
    for count in _counts(bots, seats, tables, multiple):
        length = -(-tables // (seats * count))
        length += -length % multiple
        blocks = base_blocks(bots, seats, count)
        met = distances(bots, blocks)
        found.append(Design(bots, seats, length, blocks, min(met), max(met)))
    best = min(found, key=lambda each: (_unevenness(each) + each.tables / tables, len(each.blocks)))
    return best if best.fewest else _each_pair_once(bots, seats, tables, multiple) or best


def _each_pair_once(bots: int, seats: int, tables: int, multiple: int) -> Design | None:
    """Return the design in which every two bots meet once; None if there are too few tables, or more than two seats.

    In a circle of an even number of places, each place has one opposite place: half a turn makes all these pairs meet.
    """
    length = -(-tables // (bots - 1))  # 12 bots with 100 tables play 110: ten a pair
    if seats != 2 or length < min(FEW_TABLES, tables):
        return None
    blocks = tuple((0, distance) for distance in range(1, bots // 2 + 1))
    return Design(bots, seats, length + -length % multiple, blocks, 1, 1, half=bots % 2 == 0)


def _unevenness(of: Design) -> float:
    return (of.most - of.fewest) * (of.bots - 1) / (len(of.blocks) * of.seats * (of.seats - 1))


def _counts(bots: int, seats: int, tables: int, multiple: int) -> list[int]:
    """Return the numbers of base blocks to try: enough that pairs meet, but few, so that sets play many tables in a row."""
    pairs = seats * (seats - 1)
    few = min(-(-(bots - 1) // pairs), FEW_MEETINGS // bots, tables // seats)  # each pair once, in a small field
    most = max(1, few, tables // (seats * max(FEW_TABLES, multiple)))
    enough = max(-(-MEETINGS * (bots - 1) // pairs), -(-BLOCKS_AT_ONCE // bots))
    least = min(enough, most)
    even = (bots - 1) // gcd(bots - 1, pairs)  # this many base blocks, or a multiple, can be exact
    counts = [count for count in range(even, most + 1, even) if count >= least][:2]
    counts += range(least, min(most, 2 * least) + 1)
    return sorted({*counts[: BASE_BLOCK_COUNTS if bots <= 100 else 2]})


def distances(bots: int, blocks: Sequence[Block]) -> list[int]:
    """Return how often each distance, from 1 to `bots` - 1 in this order, occurs in the base blocks.

    This is how often two bots meet whose places have this distance in the circle.
    """
    counts = [0] * bots
    for block in blocks:
        for one in block:
            for other in block:
                counts[one - other] += 1  # a negative index counts from the end: modulo the number of bots
    return counts[1:]


@lru_cache(maxsize=64)
def base_blocks(bots: int, seats: int, count: int) -> tuple[Block, ...]:
    """Search for `count` base blocks in which all distances occur about equally often.

    Return the best ones found in at most STEPS steps.
    """
    search = _Search(bots, seats)
    for _ in range(count):
        search.add_block()
    search.improve()
    return tuple(map(tuple, search.best))


class _Search:
    """Min-conflicts search. It replaces a place of a block by the place whose distances occur least often.

    A random number chooses among equally good places.
    """

    def __init__(self, bots: int, seats: int) -> None:
        self.bots, self.seats = bots, seats
        self.blocks = list[list[int]]()
        self.best = list[list[int]]()
        self._draw = Random(DESIGN_SEED).random  # the only stream that Python guarantees not to change
        self._counts = [1 << 40] + [0] * (bots - 1)  # no place twice in a block

    def add_block(self) -> None:
        """Add a block, place by place."""
        block = [0]
        while len(block) < self.seats:
            self._put(block, self._rarest(block))
        self.blocks.append(block)

    def improve(self) -> None:
        """Replace places until all distances are balanced, or STEPS steps are done. `best` has the result."""
        pairs = len(self.blocks) * self.seats * (self.seats - 1)
        ideal = 0 if pairs % (self.bots - 1) == 0 else 1
        least = self._spread()
        self.best = [block[:] for block in self.blocks]
        for _ in range(STEPS if self.seats < self.bots else 0):
            if least <= ideal:
                break
            block = self.blocks[self._below(len(self.blocks))]
            gone = block.pop(self._below(self.seats))
            self._count(block, gone, -1)
            self._put(block, self._rarest(block))
            if (spread := self._spread()) < least:
                least, self.best = spread, [block[:] for block in self.blocks]

    def _rarest(self, block: Sequence[int]) -> int:
        """Return a place that is not in a block. Its distances to the places of the block have occurred least often so far."""
        counts = self._counts
        worth = list(map(sum, zip(*(counts[-place:] + counts[:-place] for place in block), strict=True)))
        least = min(worth)
        places = [place for place, sum_of in enumerate(worth) if sum_of == least]
        return places[self._below(len(places))]

    def _put(self, block: list[int], place: int) -> None:
        self._count(block, place, 1)
        block.append(place)

    def _count(self, block: Sequence[int], place: int, by: int) -> None:
        for other in block:
            self._counts[place - other] += by
            self._counts[other - place] += by

    def _spread(self) -> int:
        counts = self._counts[1:]
        return max(counts) - min(counts)

    def _below(self, number: int) -> int:
        return int(self._draw() * number)
