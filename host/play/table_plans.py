"""Plans the tables of a fixture: pure generators that yield tables and receive their scores."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from host.games.engine import Game, Scores
from host.games.luck import Deal, Luck, Shuffler
from host.play.fixture_id import FixtureId, contestants, group_of
from host.play.records import Fixture


def player_name(bot: str, process: int) -> str:
    """Return the name of one of a bot's processes, numbered from 0.

    Process 0 has the name of the bot. Process 1 of `ada` is `ada/2`; no bot can have such a name.
    """
    return f"{bot}/{process + 1}" if process else bot


def bot_of(player: str) -> str:
    """Return the name of a process's bot, given the name of the process (see `player_name`)."""
    return player.partition("/")[0]


def process_number(player: str) -> int:
    """Return the number of a bot's process, from 0, given the name of the process (see `player_name`)."""
    return int(player.partition("/")[2] or 1) - 1


class TableSetup(NamedTuple):
    """One table of a fixture before it is played: the bots, the rules and the luck.

    `bots` has one bot for each seat. In a game for partners it has one bot for each side (see `seated`).
    """

    bots: tuple[str, ...]
    rules: Any
    path: str  # its name, and the path of its luck unless it shares luck
    luck: str = ""  # the path of luck that it shares with other tables; "" if it shares none
    alone: bool = False  # whether no other table of its fixture shares its luck

    def seated(self, game: Game) -> tuple[str, ...]:
        """Return the bot at each seat. In a game for partners a bot has several seats."""
        return self.bots if game.sides is None else tuple(self.bots[place.bot] for place in game.places(self.rules))

    def players(self, game: Game) -> tuple[str, ...]:
        """Return the name of the process at each seat (see `player_name`)."""
        if game.sides is None:
            return self.bots
        return tuple(player_name(self.bots[place.bot], place.process) for place in game.places(self.rules))

    def shuffler(self, root: bytes) -> Shuffler:
        """Return the source of randomness of this table: its own luck, or the luck shared with other tables."""
        return Deal(root, self.luck) if self.luck else Luck(root, self.path)


TablePlan = Generator[Sequence[TableSetup], Sequence[Scores], None]
"""The plan of a fixture: a generator that yields the tables that can be played now, and is sent their scores. It ends
when all tables have been played."""


def independent(fixture: Fixture, _seed: bytes) -> TablePlan:
    """Yield all tables together.

    Seats rotate from table to table; the first bot of the list has the first seat at table 1.
    """
    bots, first = fixture.bots, fixture.first
    rules = fixture.rules._replace(seats=len(bots))
    turns = [bots[turn:] + bots[:turn] for turn in range(len(bots))]
    group = group_of(fixture.path)
    numbers = range(first, first + fixture.tables)
    yield [TableSetup(turns[(number - 1) % len(bots)], rules, f"{group}/{number}") for number in numbers]


def mirrored(fixture: Fixture, seed: bytes) -> TablePlan:
    """Yield the tables of `independent`, but in groups that share one deal. A group has one table for each seat.

    A deal has the name of the first table of its group. Every bot plays the same deal from every seat, which reduces
    the influence of luck.
    """
    (tables,) = independent(fixture, seed)
    group, seats = group_of(fixture.path), len(fixture.bots)
    numbers = range(fixture.first, fixture.first + fixture.tables)
    firsts = [(number - 1) // seats * seats + 1 for number in numbers]
    yield [table._replace(luck=f"{group}/{first}") for table, first in zip(tables, firsts, strict=True)]


def same_cards(fixture: Fixture, seed: bytes) -> TablePlan:
    """Yield the tables of `independent`. The deal of a table depends on its number and on all bots except the first.

    So all first bots that play the same opponents get the same deals, in the same seats.
    """
    (tables,) = independent(fixture, seed)
    yield [table._replace(luck=_shared_deal(fixture, table.path), alone=True) for table in tables]


def mirrored_same_cards(fixture: Fixture, seed: bytes) -> TablePlan:
    """Yield the tables of `mirrored`, with the deals of `same_cards`."""
    (tables,) = mirrored(fixture, seed)
    yield [table._replace(luck=_shared_deal(fixture, table.luck)) for table in tables]


def _shared_deal(fixture: Fixture, path: str) -> str:
    """Return `path` without the first bot, so that all first bots that play the same opponents get the same deals."""
    return str(FixtureId.parse(path)._replace(meeting=contestants(fixture.bots[1:])))


def tourney(fixture: Fixture, seed: bytes) -> TablePlan:
    """Yield the tables of a tourney one by one, until every solvent bot has played `fixture.tables` rounds.

    Source: the 2011 engine (rules sheet, section 6). Before each table the bots that cannot pay the buy-in are left
    out, and the other bots are shuffled. Of the bots with the fewest rounds, the first in the shuffled order sit down.
    A bot carries its chips from table to table. A bot that is left out keeps its chips.
    """
    return sequential_tables(fixture, sorted(fixture.bots), Luck(seed, f"{fixture.path}/draw"), "")


def mirrored_tourney(fixture: Fixture, seed: bytes) -> TablePlan:
    """Yield the tables of `tourney`, but in groups of tourneys that share their draws and their shoes.

    A group has one tourney for each bot. From one tourney to the next every bot moves up one place in the draw: it gets
    the draw that another bot had in the tourney before. In the whole group each bot has every place once.
    `fixture.first` is the number of the tourney, from 1.
    """
    stage, bots = group_of(fixture.path), sorted(fixture.bots)
    turn = (fixture.first - 1) % len(bots)
    deal = f"{stage}/{fixture.first - turn}"
    return sequential_tables(fixture, bots[turn:] + bots[:turn], Deal(seed, f"{deal}/draw"), deal)


def sequential_tables(fixture: Fixture, bots: Sequence[str], draw: Shuffler, deal: str) -> TablePlan:
    """Yield the tables of a tourney one by one. `bots` is the order before shuffling.

    `draw` shuffles the bots before each table. `deal` is the path of shared luck; "" if each table has its own luck.
    """
    rules = fixture.rules
    chips = dict.fromkeys(fixture.bots, rules.chips)
    rounds = dict.fromkeys(fixture.bots, 0)
    number = 0
    while True:
        candidates = solvent(chips, rules.buy_in)
        if all(rounds[bot] >= fixture.tables for bot in candidates):
            return
        table = form_table(list(draw.shuffled([bot for bot in bots if bot in candidates])), rounds, rules.seats)
        number += 1
        seated = rules._replace(seats=len(table), stacks=tuple(chips[bot] for bot in table))
        (scores,) = yield [TableSetup(tuple(table), seated, f"{fixture.path}/{number}", deal and f"{deal}/{number}")]
        for bot, left in zip(table, scores, strict=True):
            chips[bot] = left
            rounds[bot] += 1


PLANS: Mapping[str, Callable[[Fixture, bytes], TablePlan]] = {
    "independent": independent,
    "mirrored": mirrored,
    "same cards": same_cards,
    "mirrored same cards": mirrored_same_cards,
    "tourney": tourney,
    "mirrored tourney": mirrored_tourney,
}

TOURNEYS = frozenset({"tourney", "mirrored tourney"})
"""The plans whose number of tables depends on their results."""

SAME_CARDS: Mapping[str, str] = {"independent": "same cards", "mirrored": "mirrored same cards"}
"""The plans in which all first bots get the same deals, by the name of the plan that is otherwise equal."""


def table_setups(fixture: Fixture, seed: bytes, scores: Sequence[Scores]) -> list[TableSetup]:
    """Return the tables of a fixture that has been played, in order. `scores` are its recorded scores, table by table."""
    plan, seen = PLANS[fixture.plan](fixture, seed), list[TableSetup]()
    now = next(plan, None)
    while now is not None:
        at = len(seen)
        seen += now
        try:
            now = plan.send(list(scores[at : at + len(now)]))
        except StopIteration:
            now = None
    return seen


def solvent(chips: Mapping[str, int], buy_in: int) -> list[str]:
    """Return the bots that can pay the next buy-in. The others keep their chips as their result (BJ-BROKE)."""
    return [bot for bot, stack in chips.items() if stack >= buy_in]


def form_table(candidates: Sequence[str], rounds: Mapping[str, int], seats: int) -> list[str]:
    """Return the candidates with the fewest rounds, in the given shuffled order, but at most `seats` (BJ-SHORT)."""
    fewest = min((rounds[bot] for bot in candidates), default=0)
    return [bot for bot in candidates if rounds[bot] == fewest][:seats]
