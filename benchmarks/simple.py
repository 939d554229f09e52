"""Simple players for benchmarks: functions in this process that play with the real plans, rules and records."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from host.games import GAMES
from host.games.engine import Table
from host.play.match import PlayedTable
from host.play.records import Fixture, Record
from host.play.results import recorded
from host.play.table_plans import PLANS
from protocols.wire import Answer, Move

Player = Callable[[Any], Answer]

END, STAND, HIT = Move("END"), Move("STAND"), Move("H")


def pazaak(stands_at: int) -> Player:
    """Return a player that stands from a total on, and plays a side card that makes twenty."""

    def player(view: Any) -> Answer:
        total = sum(view.your_hand)
        if 20 - total in view.your_side_deck:
            return Move("PLAY", 20 - total)
        return STAND if total >= stands_at else END

    return player


def cardshark(stands_at: int, bets: int = 0) -> Player:
    """Return a player that hits below a score, and bets a fixed amount on a good first hand."""

    def player(view: Any) -> Answer:
        if bets and view.stake == 10 and view.score in (10, 11, 20, 21) and view.chips >= bets:
            return Move("B", bets)
        return HIT if view.score < stands_at else Move("S")

    return player


def holdem(daring: float) -> Player:
    """Return a player that calls up to the value of its two cards, and raises a little with a pair."""

    def player(view: Any) -> Answer:
        ranks = sorted("23456789TJQKA".index(view.my_cards[at]) for at in (0, 2))
        worth = (ranks[1] + ranks[0] / 2 + 10 * (ranks[0] == ranks[1])) / 28
        if view.min_bet_amt > max(2.0, daring * worth * view.my_chips):
            return Move("BET", 0)
        raised = view.min_bet_amt + 4 if ranks[0] == ranks[1] else view.min_bet_amt
        return Move("BET", min(raised, view.max_bet_amt))

    return player


def record(fixture: Fixture, players: Mapping[str, Player], seed: bytes) -> Record:
    """Play a fixture; return its record."""
    game, plan = GAMES[fixture.game], PLANS[fixture.plan](fixture, seed)
    played: list[PlayedTable] = []
    now = next(plan, None)
    while now is not None:
        these = []
        for sitting in now:
            table = Table(game, sitting.rules, sitting.shuffler(seed))
            seated = [players[bot] for bot in sitting.bots]
            while (request := table.request) is not None:
                table.answer(seated[request.seat](request.view))
            assert table.scores is not None
            these.append(PlayedTable(sitting, table.scores, ()))
        played += these
        now = send(plan, [table.scores for table in these])
    return recorded(game, fixture, played, {})


def send(plan: Any, scores: Sequence[tuple[int, ...]]) -> Any:
    """Send scores to a plan; return the tables that may be played now, or None if there are none."""
    try:
        return plan.send(scores)
    except StopIteration:
        return None


FIELDS: Mapping[str, Mapping[str, Player]] = {
    "cardshark": {
        **{f"stands at {score}": cardshark(score) for score in (12, 14, 15, 16, 17, 18)},
        "bets 20": cardshark(16, 20),
        "bets 40": cardshark(17, 40),
    },
    "pazaak": {f"stands at {total}": pazaak(total) for total in (14, 16, 17, 18)},
    "holdem": {f"dares {daring}": holdem(daring) for daring in (0.1, 0.2, 0.3, 0.5, 0.8)},
}
"""Players of different strength for each game."""
