"""Check the Pazaak recordings: replay them at a Table with the recorded decks."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import comb
from typing import Any

from host.bots.values import Usage
from host.games.engine import Table
from host.games.luck import Stacked
from host.games.pazaak import GAME, GOAL, HOUSE, Rules, View
from host.journal.state import RecordedBot
from host.play.records import Fixture, Record, Result
from host.play.table_plans import independent
from host.results.standings import standings
from host.stages.pairing import match_winner, padded, round_robin, set_winner, ties
from host.stages.round_robin import RoundRobin
from protocols import argv
from protocols.wire import Answer, Move
from recordings import Check, Line, by_fields, fault, same, words

THREAD, CONTROLLER = GAME.presets["thread"], GAME.presets["controller2015"]
FIRST_TO = 4
IDLE = Usage(0, 0.0, 0.0, 0.0, 0, 0, (0,) * 26)
STAND = Move("STAND")


def view(call: Line) -> View:
    """Return the view of a recorded call."""
    return View(
        *call["wins"],
        call["isPlayerOne"],
        tuple(call["yourHand"]),
        tuple(call["opponentHand"]),
        tuple(call["yourSideDeck"]),
        call["opponentSideDeckCount"],
        call["opponentAction"],
        call["opponentDidPlay"],
    )


def thread_answer(call: Line) -> Answer:
    """Return the answer of a recorded call, parsed by our host."""
    if "fault" in call:
        return fault(call["fault"])
    return argv.receive(GAME.grammar, call["answer"].encode())


def controller_answer(call: Line) -> Answer:
    """Return the answer of a recorded call; the controller's PLAY without a card becomes `PLAY 0`."""
    return thread_answer(call | {"answer": "PLAY 0"} if call.get("answer") == "PLAY" else call)


class Watched:
    """A table with the decks of a recording; it stores the results of its hands."""

    def __init__(self, rules: Rules, line: Line) -> None:
        self.ended: list[dict[str, Any]] = []
        after_the_recording = HOUSE * THREAD.house_copies
        decks = [*line["side_decks"], *(hand["deck"] for hand in line["hands"]), after_the_recording]
        self.table = Table(GAME, rules, Stacked(decks), tell=self.tell)

    def tell(self, event: str, **facts: Any) -> None:
        """Store the result of a hand."""
        if event == "hand.end":
            self.ended.append(facts)


def calls(line: Line) -> Iterator[tuple[str, Line]]:
    """Yield every recorded call with its position."""
    for hand_number, hand in enumerate(line["hands"], 1):
        for number, call in enumerate(hand["calls"], 1):
            yield f"hand {hand_number}, call {number}, ", call


def asked_as_recorded(table: Table, here: str, call: Line, shown: slice) -> None:
    """Assert that the open question is the recorded call, in the fields that `shown` selects."""
    asked = words(table.request)
    same(here + "who is asked", table.request.seat + 1, call["player"])
    same(here + "what it is shown", table.request.view[shown], tuple(view(call))[shown])
    same(here + "argv", asked[shown], [word.decode() for word in argv.ask(view(call))][shown])


def ended_as_recorded(watched: Watched, line: Line) -> None:
    """Assert that every hand, and the game if it is complete, ended as recorded."""
    hands, table = line["hands"], watched.table
    same("hands played", len(watched.ended), len(hands))
    for number, (ours, hand) in enumerate(zip(watched.ended, hands, strict=True), 1):
        here = f"hand {number}, "
        same(here + "final hands", [list(cards) for cards in ours["hands"]], hand["final_hands"])
        same(here + "winner", 0 if ours["winner"] is None else ours["winner"] + 1, hand["winner"])
        same(here + "why", ours["why"], hand["why"])
        same(here + "wins after", ours["wins"], hand["wins_after"])
    same("wins", watched.ended[-1]["wins"], line["wins"])
    if line.get("complete_game", True):
        same("the question after the last", table.request, None)
        same("scores", list(table.scores), line["wins"])
        same("winner of the game", [seat + 1 for seat in GAME.winners(table.scores)], [line["game_winner"]])
    else:
        same("scores of a game that goes on", table.scores, None)


def replay_by_thread(line: Line, shown: slice = slice(None)) -> Watched:
    """Give the recorded answers under the published rules; answer STAND to questions on 20 that were not recorded."""
    watched = Watched(THREAD, line)
    table = watched.table
    for here, call in calls(line):
        while stands_unasked(table, call):
            table.answer(STAND)
        asked_as_recorded(table, here, call, shown)
        table.answer(thread_answer(call))
    while table.request and len(watched.ended) < len(line["hands"]) and sum(table.request.view.your_hand) == GOAL:
        table.answer(STAND)
    return watched


def stands_unasked(table: Table, call: Line) -> bool:
    """Return whether the open question is to a bot on exactly 20, which the controller does not ask."""
    return (
        table.request is not None
        and sum(table.request.view.your_hand) == GOAL
        and table.request.view.your_hand != tuple(call["yourHand"])
    )


def replay_by_controller(line: Line) -> Watched:
    """Give the recorded answers under the controller's rules, which do not ask a bot on exactly 20."""
    watched = Watched(CONTROLLER, line)
    for here, call in calls(line):
        if sum(call["yourHand"]) == GOAL:
            same(here + "answer on 20", call["answer"], "STAND")
            continue
        asked_as_recorded(watched.table, here, call, slice(None))
        watched.table.answer(controller_answer(call))
    return watched


def impossible_plays(line: Line) -> list[str]:
    """Return the recorded PLAY answers without a card, or with a card that is not in the side deck."""
    cards = [
        (call["answer"].partition(" ")[2], call) for _, call in calls(line) if "PLAY" in (call.get("answer") or "")
    ]
    return [call["answer"] for card, call in cards if not card or int(card) not in call["yourSideDeck"]]


def agreement(replay: Callable[[Line], Watched], line: Line, recorded: bool) -> None:
    """Assert that a replay reproduces a line if, and only if, `recorded` is true."""
    try:
        ended_as_recorded(replay(line), line)
    except AssertionError as error:
        same(f"{replay.__name__} ({error})", False, recorded)
    else:
        same(replay.__name__, True, recorded)


def scenario(line: Line) -> None:
    """Check one handmade scenario under the thread's rules, and whether the controller's rules agree as recorded."""
    ended_as_recorded(replay_by_thread(line), line)
    if "real_controller_agrees" in line:
        agreement(replay_by_controller, line, line["real_controller_agrees"])


def engine_game(line: Line) -> None:
    """Check one game of the real controller under its own rules, and under the thread's rules where they agree."""
    ended_as_recorded(replay_by_controller(line), line)
    agreement(replay_by_thread, line, line["agrees_with_thread_preset"])
    if not line["agrees_with_thread_preset"]:
        assert impossible_plays(line), "there is no impossible PLAY to disagree about"
        all_but_did_play = slice(0, -1)
        ended_as_recorded(replay_by_thread(line, all_but_did_play), line)


def seats(line: Line) -> None:
    """Check which bot is player one in each game."""
    pair, games = tuple(line["pair"]), line["games"]
    fixture = Fixture("pazaak", THREAD, "independent", "league/pair/1", pair, games)
    (setups,) = independent(fixture, b"")
    ours = [setup.bots for setup in setups]
    same("player one", [one for one, _ in ours], line["player_one"])
    assert all(earlier == later[::-1] for earlier, later in pairwise(ours)), ours


def size(line: Line) -> None:
    """Check the number of pairings and games in a round robin."""
    pairs = list(round_robin([f"bot{number}" for number in range(line["bots"])]))
    same("pairings", len(pairs), line["pairings"])
    same("pairings", len(pairs), comb(line["bots"], 2))
    of_one = sum("bot0" in pair for pair in pairs)
    same("games of a bot", of_one * line["games_per_pairing"], line["games_per_bot"])
    same("games", len(pairs) * line["games_per_pairing"], line["games_total"])


def ranking(line: Line) -> None:
    """Check the order of the bots in the ranking."""
    same("columns", line["table_columns"], ["bot", "games won", "hands won"])
    tables = max(games for _, games, _ in line["table"])
    results = {bot: Result(tables, games, hands, 0, 1, 0) for bot, games, hands in line["table"]}
    record = Record("league/1", results, {}, dict.fromkeys(results, IDLE), (), (), b"")
    rows = standings(RoundRobin(name="league"), [record], {bot: RecordedBot(bot) for bot in results})
    same("ranking", [row.bot for row in rows], line["ranking"])


def totals(line: Line) -> None:
    """Check the totals of some games."""
    ours: dict[str, dict[str, int]] = {}
    for game in line["games"]:
        pair = (game["player_one"], game["player_two"])
        for bot in pair:
            ours.setdefault(bot, {"games": 0, "hands": 0})
        for seat in GAME.winners(tuple(game["hand_wins"])):
            ours[pair[seat]]["games"] += 1
        for bot, hands in zip(pair, game["hand_wins"], strict=True):
            ours[bot]["hands"] += hands
    same("totals", ours, line["totals"])


def cup_match(line: Line) -> None:
    """Check when a match of a knockout is over, and which bot won it."""
    won = line["set_winners"]
    decided = [sets for sets in range(1, len(won) + 1) if match_winner(won[:sets], FIRST_TO)]
    same("winner", match_winner(won, FIRST_TO), line["match_winner"])
    same("sets played", decided[0] if decided else None, line["sets_played"])


def cup_set(line: Line) -> None:
    """Check which bot wins one set of a knockout."""
    one, two = line["games"]
    winner = set_winner((line["games"][one], line["games"][two]), (line["hands"][one], line["hands"][two]))
    same("winner", None if winner is None else (one, two)[winner], line["set_winner"])


def first_round(line: Line) -> None:
    """Check the ties in the first round of a knockout; None is a bye."""
    same("first round", [list(tie) for tie in ties(padded(line["ranking"]))], line["first_round"])


CHECKS: dict[str, Check] = {"pazaak_scenarios": scenario, "pazaak_engine_games": engine_game}
COMPETITION: Check = by_fields(
    {
        frozenset({"pair", "games", "player_one"}): seats,
        frozenset({"bots", "pairings", "games_per_pairing", "games_per_bot", "games_total"}): size,
        frozenset({"table", "table_columns", "ranking"}): ranking,
        frozenset({"games", "totals"}): totals,
        frozenset({"set_winners", "match_winner", "sets_played"}): cup_match,
        frozenset({"games", "hands", "set_winner"}): cup_set,
        frozenset({"ranking", "first_round"}): first_round,
    }
)
