"""Check the blackjack recordings: replay them at a Table with the recorded cards."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from host.games import cardshark2011
from host.games.cardshark import DECK, GAME, GOAL, Rules, score
from host.games.engine import Table
from host.games.luck import Stacked
from host.play.table_plans import form_table, solvent
from protocols.argv import PROTOCOL
from protocols.wire import Answer, Fault
from recordings import Check, Line, by_fields, fault, same, words

THREAD, ENGINE = GAME.presets["thread"], GAME.presets["engine2011"]
ACELESS_SHOE = 60  # cards in the first shoe of recorded tables with the note "no aces in the first shoe"


class Watched:
    """A table whose events about hands are recorded; `told` has their data by event."""

    def __init__(self, rules: Rules, decks: list[str]) -> None:
        self.told: dict[str, list[dict[str, Any]]] = {"hand.start": [], "hand.end": [], "dealer.plays": []}
        self.decks = [iter(deck) for deck in decks]
        self.opened = 0
        self.table = Table(GAME, rules, Stacked(self.counted()), tell=self.tell)

    def counted(self) -> Iterator[Iterator[str]]:
        """Yield the decks one after another, and count those that were opened."""
        for deck in self.decks:
            self.opened += 1
            yield deck

    def tell(self, event: str, **facts: Any) -> None:
        """Store an event about a hand."""
        if event in self.told:
            self.told[event].append(facts)

    def left(self) -> str:
        """Return the cards that were not drawn."""
        return "".join("".join(deck) for deck in self.decks)


def thread_answer(step: Line) -> Answer:
    """Return the answer of a recorded step, parsed by our host."""
    if "fault" in step:
        return fault(step["fault"])
    return PROTOCOL.receive(GAME.grammar, step["out"].encode())


def engine_answer(step: Line) -> Answer:
    """Return the answer of a recorded step, parsed like the engine of 2011."""
    return cardshark2011.read(step["out"])


def play(watched: Watched, bots: list[str], steps: list[Line], read: Any) -> None:
    """Give the recorded answers, and check that each question is the recorded one."""
    for number, step in enumerate(steps, 1):
        asked = words(watched.table.request)
        same(f"step {number}, who is asked", bots[watched.table.request.seat], step["bot"])
        same(f"step {number}, argv", asked, step["argv"])
        watched.table.answer(read(step))
        effect = step.get("effect") or step.get("do")
        if effect:
            same(f"step {number}, forced stand", forced(watched.table), effect.startswith("forced stand"))


def forced(table: Table) -> bool:
    """Return whether the last answer was a fault or an illegal move."""
    last = len(table.answers) - 1
    return isinstance(table.answers[last], Fault) or last in table.illegal


def results(start: Line, end: Line) -> list[list[Any]]:
    """Return the hand, score (0 = bust or not playing), stake and outcome of each seat after a hand."""
    return [
        [hand, score(hand) if score(hand) <= GOAL else 0, stake, outcome(stake, after - before)]
        for hand, stake, before, after in zip(end["hands"], end["stakes"], start["chips"], end["chips"], strict=True)
    ]


def outcome(stake: int, gained: int) -> str:
    """Return the outcome of a hand for a bot that gained this many chips."""
    return {(False, 0): "-", (True, stake): "win", (True, -stake): "lose"}.get((stake > 0, gained), f"{gained:+}")


def settled(watched: Watched, number: int, bots: list[str], hand: Line) -> None:
    """Assert that a hand by the thread's rules ended as recorded."""
    start, end = watched.told["hand.start"][number], watched.told["hand.end"][number]
    dealer = watched.told["dealer.plays"][number]
    here = f"hand {number + 1}, "
    recorded = [
        [r["bot"], r["hand"], r["score"], r["stake"], r["outcome"]] if isinstance(r, dict) else r
        for r in hand["results"]
    ]
    same(here + "chips before", start["chips"], hand["chips_before"])
    same(here + "dealer's cards", dealer["hand"], hand["dealer"])
    same(here + "dealer's score", dealer["score"], hand["dealer_score"])
    same(here + "results", [[bot, *r] for bot, r in zip(bots, results(start, end), strict=True)], recorded)
    same(here + "chips after", end["chips"], hand["chips_after"])
    if "out" in hand:
        same(here + "out", [bot for bot, stake in zip(bots, end["stakes"], strict=True) if not stake], hand["out"])


def scenario(line: Line) -> None:
    """Check one handmade table."""
    bots, hands, shoe = line["bots"], line["hands"], line["shoe"]
    new_deck = line.get("new_deck_after_cards", len(shoe))
    nobody_can_pay = not any(chips >= THREAD.buy_in for chips in hands[-1]["chips_after"])
    rules = THREAD._replace(
        seats=len(bots), stacks=tuple(line["chips"]), hands=THREAD.hands if nobody_can_pay else len(hands)
    )
    watched = Watched(rules, [shoe[:new_deck], shoe[new_deck:]])
    play(watched, bots, [step for hand in hands for step in hand["steps"]], thread_answer)
    same("the question after the last", watched.table.request, None)
    same("hands played", len(watched.told["hand.end"]), len(hands))
    for number, hand in enumerate(hands):
        settled(watched, number, bots, hand)
    same("decks opened", watched.opened, 2 if "new_deck_after_cards" in line else 1)
    same("scores", list(watched.table.scores), hands[-1]["chips_after"])


def engine_hand(line: Line) -> None:
    """Check one hand of the real engine in which it followed the thread's rules."""
    bots = line["bots"]
    rules = THREAD._replace(seats=len(bots), stacks=tuple(line["chips_before"]), hands=1)
    watched = Watched(rules, [line["shoe"]])
    play(watched, bots, line["steps"], thread_answer)
    same("the question after the last", watched.table.request, None)
    settled(watched, 0, bots, line)
    if line["id"].endswith(".h1"):  # later hands show the engine's uncleared list
        same(
            "what the engine passed",
            [[word.lower() for word in step["argv"]] for step in line["steps"]],
            line["engine_argv_raw"],
        )


def engine_table(line: Line) -> None:
    """Check one table of the real engine, including its bugs."""
    bots, hands, drawn = line["bots"], line["hands"], line["shoe_drawn"].lower()
    first = ACELESS_SHOE if line["note"].startswith("no aces") else len(DECK)
    rules = ENGINE._replace(seats=len(bots), stacks=tuple(line["chips_start"]), hands=len(hands))
    watched = Watched(
        rules, [drawn[:first], *(drawn[at : at + len(DECK)] for at in range(first, len(drawn), len(DECK)))]
    )
    play(watched, bots, [step for hand in hands for step in hand["steps"]], engine_answer)
    same("the question after the last", watched.table.request, None)
    same("hands played", len(watched.told["hand.end"]), len(hands))
    for number, hand in enumerate(hands):
        engine_settled(watched, number, bots, hand)
    same("cards in the order dealt", line["shoe_drawn"], "".join(card for hand in hands for _, card in hand["dealt"]))
    same("cards nobody drew", watched.left(), "")
    same("decks used", watched.opened, line["decks_used"])
    same("scores", list(watched.table.scores), line["chips_end"])


def engine_settled(watched: Watched, number: int, bots: list[str], hand: Line) -> None:
    """Assert that a hand of the engine ended as recorded."""
    start, end = watched.told["hand.start"][number], watched.told["hand.end"][number]
    dealer = watched.told["dealer.plays"][number]["hand"]
    here = f"hand {number + 1}, "
    dealt = dict.fromkeys([*bots, "D"], "")
    for receiver, card in hand["dealt"]:
        dealt[receiver] += card.lower()
    same(here + "chips before", start["chips"], hand["chips_before"])
    same(here + "chips after", end["chips"], hand["chips_after"])
    same(here + "who could pay", [stake > 0 for stake in end["stakes"]], hand["hasDough_before"])
    same(here + "who got which cards", dict(zip([*bots, "D"], [*end["hands"], dealer], strict=True)), dealt)
    same(here + "dealer's moves", dealer_moves(dealer), hand["dealer_moves"])


def dealer_moves(hand: str) -> list[list[str]]:
    """Return the scores that the engine's dealer saw, and its answers, until it had these cards; above 21 it is not asked."""
    seen = [(cardshark2011.score(hand[:cards]), cards < len(hand)) for cards in range(2, len(hand) + 1)]
    return [[str(points), "h" if drew else "s"] for points, drew in seen if points <= GOAL]


def engine_tourney(line: Line) -> None:
    """Check the tables that the real engine formed in one tourney."""
    rounds: Counter[str] = Counter(dict.fromkeys(line["bots"], 0))
    chips = dict.fromkeys(line["bots"], THREAD.chips)
    for number, entry in enumerate(line["tables"], 1):
        here, candidates = f"table {number}, ", entry["candidates_in_shuffled_order"]
        table = form_table(candidates, rounds, THREAD.seats)
        same(here + "who sits there", table, entry.get("table") or [])
        if not table:
            continue
        same(here + "rounds before", [rounds[bot] for bot in table], entry["rounds_before"])
        # Between 10 and 20 chips the engine decides by its own solvency flag, which we do not reproduce.
        assert {bot for bot in chips if chips[bot] > 20} <= set(candidates) <= set(solvent(chips, THREAD.buy_in)), here
        rounds.update(table)
        chips.update(zip(table, entry["chips_after"], strict=True))
    if line["crash"]:
        return
    assert all(rounds[bot] == line["rounds_wanted"] for bot in solvent(chips, 21)), f"rounds played: {rounds}"
    # A broke bot has another result, 0, for each time the engine skipped it: ours is its last result (BJ-HISTORY).
    same("results", chips, {bot: told[-1] for bot, told in line["history"]})


def tables_formed(line: Line) -> None:
    """Check the handmade tables of a tourney."""
    rounds = Counter(dict.fromkeys(line["candidates_in_shuffled_order"][0], 0))
    formed = []
    for candidates in line["candidates_in_shuffled_order"]:
        formed.append(form_table(candidates, rounds, THREAD.seats))
        rounds.update(formed[-1])
    same("tables", formed, line["tables"])


def table_sizes(line: Line) -> None:
    """Check how many bots sit at each table if no bot goes broke."""
    bots = [f"b{number}" for number in range(line["bots"])]
    rounds, formed = Counter(dict.fromkeys(bots, 0)), []
    for _ in line["tables"]:
        formed.append(form_table(bots, rounds, THREAD.seats))
        rounds.update(formed[-1])
    same("sizes of the tables", [len(table) for table in formed], line["tables"])


def who_can_pay(line: Line) -> None:
    """Check which bots are dropped before tables are formed, and the result of a dropped bot."""
    chips = line["candidates"]
    same("solvent", solvent(chips, THREAD.buy_in), line["solvent"])
    same("result of B", chips["B"], line["result_of_B"])


CHECKS: dict[str, Check] = {
    "blackjack_scenarios": scenario,
    "blackjack_engine_hands": engine_hand,
    "blackjack_engine_tables": engine_table,
    "blackjack_engine_tourney": engine_tourney,
}
COMPETITION: Check = by_fields(
    {
        frozenset({"candidates_in_shuffled_order", "tables"}): tables_formed,
        frozenset({"candidates", "solvent", "result_of_B"}): who_can_pay,
        frozenset({"bots", "tables"}): table_sizes,
    }
)
