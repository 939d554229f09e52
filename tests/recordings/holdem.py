"""Check the hold'em recordings: replay them at a Table with the recorded seats and decks."""

import gzip
import hashlib
import importlib.util
from itertools import permutations
from pathlib import Path
from typing import Any

from host.games import hands
from host.games.engine import Table
from host.games.holdem import GAME, Other, Player, View, chips, scores
from host.games.luck import Stacked
from host.report.playlog import Watcher, death, to_text
from host.stages.groups import ADVANCE, going_on, groups_of, placing
from protocols.lines import PROTOCOL
from protocols.wire import Answer, Fault, FaultKind, Move
from recordings import Check, Line, keys, lines, same

ADAPTER = Path(__file__).parents[2] / "sample_bots" / "adapters" / "banksalad" / "convert.py"
convert = importlib.util.module_from_spec(importlib.util.spec_from_file_location("convert", ADAPTER))
convert.__loader__.exec_module(convert)
FINALISTS = 5


def split(cards: str) -> list[str]:
    """Split a string of cards, such as "AhKd", into single cards."""
    return [cards[at : at + 2] for at in range(0, len(cards), 2)]


def worth(cards: str) -> list[int]:
    """Return the category and rank of a string of cards."""
    return list(hands.banksalad([hands.CARDS[card] for card in split(cards)]))


def check_eval(line: Line) -> None:
    """Check one evaluation of a hand."""
    cards = line["hand"] + line["board"]
    same(f"the worth of {cards}", worth(cards), [line["category"], line["rank"]])
    book = hands.by_the_book([hands.CARDS[card] for card in split(cards)])
    same(f"the worth of {cards} by the book", list(book), [line["category"], line["rank"]])


def check_showdown(line: Line) -> None:
    """Check one showdown: the value of every hand, the places and the money."""
    worths = [worth(hand + line["board"]) for hand in line["hands"]]
    same("scores", worths, line["scores"])
    same("places", [1 + len({str(other) for other in worths if other > mine}) for mine in worths], line["places"])
    won = [seat for seat, mine in enumerate(worths) if mine == max(worths)]
    same("winners", won, line["winners"])
    same("share and rest", divmod(line["pot"], len(won)), (line["share"], line["burned"]))


def answered(given: Line) -> Answer:
    """Convert a recorded answer for our table: the adapter converts it to a line, and the protocol parses the line."""
    if "exc" in given:
        return Fault(FaultKind.EXCEPTION, given["exc"])
    if "timeout" in given:
        return Fault(FaultKind.TIMEOUT)
    spoken = convert.line(given["v"])
    answer = PROTOCOL.receive(GAME.grammar, spoken.encode())
    if isinstance(answer, Move) and abs(answer.n) == convert.LONGEST:
        return Move("BET", int(given["v"]))  # play.log prints all digits; our line has at most twelve
    return answer


def recorded_view(view: list[Any]) -> View:
    """Return the view of a recorded question."""
    mine, cards, bet, betting, *rest = view
    return View(
        mine, cards, *(tuple(Other(c, b, bool(died)) for c, b, died in group) for group in (bet, betting)), *rest
    )


class Watched:
    """A table with the seats, decks and answers of a recorded game. Its events go to a play.log and into a list."""

    def __init__(self, game: Line) -> None:
        self.names, self.seat = game["players"], {name: seat for seat, name in enumerate(game["players"])}
        decks: list[list[Any]] = []
        for round_ in game["rounds"]:
            decks += [[self.seat[name] for name in round_["seats"]], split(round_["deck"])]
        decks.append([self.seat[name] for name in game["final_seats"]])
        self.log = Watcher(self.names)
        self.events: list[tuple[str, dict[str, Any]]] = []
        rules = GAME.presets["banksalad"]._replace(seats=len(self.names), chips=game["start_chips"])
        self.table = Table(GAME, rules, Stacked(decks), tell=self.tell)

    def tell(self, event: str, **facts: Any) -> None:
        """Store an event."""
        self.log.tell(event, **facts)
        self.events.append((event, facts))

    def last(self, *names: str) -> tuple[str, dict[str, Any]]:
        """Return the latest event with one of these names."""
        return next((name, facts) for name, facts in reversed(self.events) if name in names)

    def named(self, seats: list[int]) -> list[str]:
        """Return the names of the players in these seats."""
        return [self.names[seat] for seat in seats]


def check_game(game: Line) -> None:
    """Check one game: all questions, all chips, and its play.log."""
    watched = Watched(game)
    for round_ in game["rounds"]:
        check_round(watched, round_)
    assert watched.table.request is None, f"the recorded game is over, ours asks {watched.table.request}"
    end = watched.last("table.end")[1]
    same("rounds_played", end["round"] - 1, game["rounds_played"])
    same("final_seats", watched.named(end["seats"]), game["final_seats"])
    final = dict(zip(watched.named(end["seats"]), end["chips"], strict=True))
    same("final", sorted(map(list, final.items()), key=lambda bot: -bot[1]), game["final"])
    ended = [final.get(name, 0) for name in watched.names]
    same("chips by the scores", list(chips(watched.table.scores or ())), ended)
    same("play_log_raw_lines", len(watched.log.lines), game["play_log_raw_lines"])
    log = to_text(watched.log.lines)
    same("play_log_lines", log.count("\n"), game["play_log_lines"])
    same("play_log_sha256", hashlib.sha256(log.encode()).hexdigest(), game["play_log_sha256"])


def check_round(watched: Watched, round_: Line) -> None:
    """Check one round: its start, its steps, its end."""
    where = f"round {round_['round']}"
    start = watched.last("round.start")[1]
    same(f"{where}: number", start["round"], round_["round"])
    same(f"{where}: seats", watched.named(start["seats"]), round_["seats"])
    same(f"{where}: chips_before_ante", start["chips"], round_["chips_before_ante"])
    asked = len(watched.events)
    for number, step in enumerate(round_["steps"], 1):
        check_step(watched, step, f"{where}, step {number}")
    ended = [facts for event, facts in watched.events[asked:] if event == "round.end"]
    assert len(ended) == 1, f"{where}: the recorded round is over, ours is not"
    end = ended[0]
    same(f"{where}: community", end["board"], round_["community"])
    for fact in ("pot", "end", "share", "all_in"):
        same(f"{where}: {fact}", end[fact], round_[fact])
    showed = [[watched.names[seat], category, rank] for seat, category, rank in end["worth"]]
    same(f"{where}: hands", showed, round_.get("hands", []))
    same(f"{where}: winners", watched.named(end["winners"]), round_["winners"])
    same(f"{where}: burned", end["pot"] - end["share"] * len(end["winners"]), round_["burned"])
    same(f"{where}: chips_after", end["chips"], round_["chips_after"])
    same(f"{where}: out", watched.named(end["out"]), round_["out"])


def check_step(watched: Watched, step: Line, where: str) -> None:
    """Check one question, the result of its answer, and the message if a player dies."""
    request = watched.table.request
    assert request is not None, f"{where}: our game is over"
    same(f"{where}: who is asked", watched.names[request.seat], step["p"])
    same(f"{where}: view", request.view, recorded_view(step["view"]))
    same(f"{where}: street", {0: 0, 3: 1, 4: 2, 5: 3}[len(request.view[4]) // 2], step["st"])
    answer = answered(step["ans"])
    dies = step["res"] == "die"
    if isinstance(answer, Move):
        same(f"{where}: allowed", GAME.allows(watched.table.rules, request.view, answer), not dies or answer.n == 0)
    watched.table.answer(answer)
    event, facts = watched.last("bet", "die")
    same(f"{where}: seat that acted", facts["seat"], request.seat)
    same(f"{where}: result", "die" if event == "die" else "raise" if facts["raises"] else "call", step["res"])
    if dies:
        same(f"{where}: words", death(step["p"], facts["answer"], facts["min"], facts["max"]), step["err"])


CHECKS: dict[str, Check] = {
    "holdem_evals": check_eval,
    "holdem_showdowns": check_showdown,
    "holdem_games": check_game,
}


def PLAYLOGS(folder: Path) -> int:
    """Check every holdem_playlogs/ID.play.log in a folder against the game with that id; return the number of files."""
    games = {game["id"]: game for path in sorted(folder.glob("holdem_games.jsonl*")) for game in lines(path)}
    logs = sorted((folder / "holdem_playlogs").glob("*.play.log*"))
    for path in logs:
        name = path.name.partition(".")[0]
        assert name in games, f"{path}: holdem_games has no game {name}"
        recorded = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        watched = Watched(games[name])
        for round_ in games[name]["rounds"]:
            for step in round_["steps"]:
                watched.table.answer(answered(step["ans"]))
        ours = to_text(watched.log.lines).encode()
        for number, (mine, its) in enumerate(zip(ours.split(b"\n"), recorded.split(b"\n"), strict=False), 1):
            same(f"{path}: line {number}", mine, its)
        same(f"{path}: bytes", len(ours), len(recorded))
    return len(logs)


# --- competitions: a line has only the fields of its subject, so each field has its own check ------------------------


def survivors(line: Line) -> None:
    """Check which players of a game advance, and between which players a lot decides."""
    ended = {name: _facts(facts) for name, facts in _named(line["survivors"])}
    ended |= {name: _facts(facts) for name, facts in _named(line.get("eliminated", {}))}
    names, players = list(ended), [Player(seat, facts["chips"]) for seat, facts in enumerate(ended.values())]
    for player, facts in zip(players, ended.values(), strict=True):
        player.last = facts["round"]
    lots = permutations(range(len(names)))
    outcomes = {tuple(names[seat] for seat in placing(scores(players), lot)[:ADVANCE]) for lot in lots}
    sure = set(names).intersection(*outcomes)
    by_lot = set(names).intersection(*[set().union(*outcomes)]) - sure
    advance = tuple(line["advance"])
    known = advance in outcomes or (by_lot and set(advance) == sure)
    assert known, f"advance: recorded is {advance}, ours may be {' or '.join(map(str, sorted(outcomes)))}"
    for fact in keys(line) - {"survivors", "eliminated", "advance", "ended_after_round"}:
        assert isinstance(line[fact], list), f"nothing here checks {fact!r} of a line about survivors"
        same(fact, sorted(by_lot), sorted(line[fact]))


def _named(bots: Any) -> list[tuple[str, Any]]:
    return list(bots.items()) if isinstance(bots, dict) else [(name, facts) for name, *facts in bots]


def _facts(facts: Any) -> dict[str, int]:
    """Return the chips of a bot and, if it was eliminated, the round."""
    if isinstance(facts, int):
        return {"chips": facts, "round": 0}
    if isinstance(facts, dict):
        return {word: facts[key] for word in ("round", "chips") for key in facts if word in key}
    return dict(zip(("round", "chips"), facts, strict=True)) if len(facts) > 1 else _facts(*facts)


def money(line: Line) -> None:
    """Play the recorded rounds, and check the totals of chips. All players fold, except those that have to leave.

    If players have to leave, seat 0 raises to all but one chip of the poorest, and later bets that chip too. A leaving
    player calls, and then folds with a single chip left.
    """
    seated = line["players_in_rounds_1_to_3"]
    leavers = [range(after, before) for before, after in zip(seated, [*seated[1:], seated[-1]], strict=True)]
    ends: list[dict[str, Any]] = []

    def tell(event: str, **facts: Any) -> None:
        if event == "round.end":
            ends.append(facts)

    chips = line["start_total"] // seated[0]
    rules = GAME.presets["banksalad"]._replace(seats=seated[0], chips=chips, rounds=len(seated))
    decks = [deck for left in [*seated, seated[-1]] for deck in (range(left), hands.CARDS)]
    table = Table(GAME, rules, Stacked(decks), tell=tell)
    while (request := table.request) is not None:
        view, leave = request.view, leavers[len(ends)]
        bet = 0
        if leave and request.seat == 0:
            bet = view.min_bet_amt if view.community_cards else view.max_bet_amt - 1
        elif request.seat in leave and not view.community_cards:
            bet = view.min_bet_amt
        table.answer(Move("BET", bet))
    same("players", [len(end["chips"]) for end in ends], seated)
    assert line["pots_fully_awarded"], "here all pots are won"
    same("pots not won", sum(end["pot"] - end["share"] * len(end["winners"]) for end in ends), 0)
    lost = sum(had for end in ends for had in end["chips"] if had <= rules.ante)
    same("elimination_lost_chips", lost, line["elimination_lost_chips"])
    same("total", sum(had for had in ends[-1]["chips"] if had > rules.ante), line["total_after_round_3"])


def stages(entrants: int) -> list[tuple[int, ...]]:
    """Return the group sizes of every stage; the last one is the final, a single group."""
    sizes = groups_of(entrants)
    if len(sizes) == 1:
        return [sizes]
    return [sizes, *stages(going_on(len(sizes), entrants, ADVANCE, FINALISTS))]


def grouping(line: Line) -> None:
    """Check the groups for a number of entrants, and how many of them advance."""
    entrants = line["entrants"] if isinstance(line["entrants"], int) else len(line["entrants"])
    first, *later = ours = stages(entrants)
    for fact in keys(line) - {"entrants"}:
        match fact, line[fact]:
            case (("groups" | "group_sizes" | "sizes"), list() as sizes):
                same(fact, sorted(first), sorted(size if isinstance(size, int) else len(size) for size in sizes))
            case "groups", int(number):
                same(fact, len(first), number)
            case "stages", list() as sizes:
                same(fact, [sorted(stage) for stage in ours[: len(sizes)]], [sorted(stage) for stage in sizes])
            case (("advance" | "advancing"), int(number)):
                same(fact, sum(later[0]) if later else min(entrants, ADVANCE), number)
            case "third_places", int(number):
                same(fact, max(0, sum(later[0]) - ADVANCE * len(first)), number)
            case "finalists", int(number):
                same(fact, sum(ours[-1]), number)
            case _:
                raise AssertionError(f"nothing here checks {fact!r} of a line about groups")


def COMPETITION(line: Line) -> None:
    """Check one line of competition_scenarios with the check for its subject."""
    for fact, check in {"survivors": survivors, "players_in_rounds_1_to_3": money, "entrants": grouping}.items():
        if fact in line:
            return check(line)
    raise AssertionError(f"nothing here checks a line with the fields {', '.join(sorted(keys(line)))}")
