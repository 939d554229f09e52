"""Reads the texts of some games of OpenSpiel into named fields: hand, trick, points, dice and others.

A text is what OpenSpiel tells one seat, so its fields have nothing that the seat may not know. Every function goes
through a text of bounded length once. Where a text is not as expected, as in another version of OpenSpiel, the fields
are empty, and the seat still has the text.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_origin

from protocols.wire import Range

MAX_READ = 20_000
"""Characters of the longest text that is read."""

SUITS = "SHDC"
RANKS = "23456789TJQKA"
Values = Mapping[str, Any]
CARDS = tuple[str, ...]
NUMBERS = tuple[int, ...]
NUMBER = int | None


class Told(NamedTuple):
    """What OpenSpiel tells a seat; `options` are the parameters of the game."""

    text: str
    seat: int
    options: Mapping[str, Any]


class Ask(NamedTuple):
    """One seat has asked another for cards of a rank, and got some; `other` is None where it drew a card."""

    seat: int
    other: int | None
    rank: str
    got: int


class Readable(NamedTuple):
    """A game whose texts can be read. `read` returns the values of `fields` by name, or raises ValueError or LookupError."""

    fields: Mapping[str, Any]  # with their types
    read: Callable[[Told], Values]
    events: Mapping[str, str] = {}  # `board`, `score` or `chips` by the field that it shows
    discards: Callable[[Values], bool] = lambda _: False  # whether a card that a seat gives away now is not played
    state: bool = False  # whether the text of the whole table is an event too

    @property
    def empty(self) -> dict[str, Any]:
        """The values of a text that cannot be read."""
        return {
            name: () if get_origin(kind) is tuple else "" if kind is str else None for name, kind in self.fields.items()
        }

    def values(self, told: Told) -> Values:
        """Return the values that a text has; none at all if it cannot be read."""
        if len(told.text) > MAX_READ:
            return {}
        try:
            return self.empty | dict(self.read(told))
        except (ValueError, LookupError):
            return {}

    def view(self, name: str) -> type[Any]:
        """Return the type of the questions of a game: the fields of every game, with these before the text."""
        make: Any = NamedTuple
        fields = {"seat": int, "legal": tuple[Range, ...], "names": CARDS} | dict(self.fields) | {"state": str}
        kind: type[Any] = make(f"View_{name}", [*fields.items()])
        return kind


# What several games share.


def labels(text: str) -> dict[str, str]:
    """Return the rest of each line by what is before its colon."""
    parts = (line.partition(":") for line in text.splitlines())
    return {label.strip(): rest.strip() for label, colon, rest in parts if colon}


def ints(text: str) -> tuple[int, ...]:
    """Return the numbers of a text that has nothing else."""
    return tuple(map(int, text.split()))


def one_word(text: str) -> str:
    """Return a text as one word of a question."""
    return text.strip().replace(" ", "_")


def hand_of(text: str, spell: Callable[[str, str], str]) -> tuple[str, ...]:
    """Return the cards of a hand that has one line for each suit, such as `S KQ7`, or `S none`."""
    lines = [line for line in text.splitlines() if line[:1] in SUITS and line[1:2] == " "][:4]
    ranks = ["" if line[2:].strip() == "none" else line[2:].strip() for line in lines]
    if [line[0] for line in lines] != [*SUITS] or not {*"".join(ranks)} <= {*RANKS}:
        raise ValueError("a hand has a line for each suit")
    return tuple([spell(suit, rank) for suit, some in zip(SUITS, ranks, strict=True) for rank in some])


def tricks_of(text: str, header: str, seats: int, cards: int) -> dict[str, Any]:
    """Return the trick on the table, who has led it, and all earlier cards. A line indented by 3 n begins with seat n."""
    _, found, rest = text.partition(header)
    leader, trick, played = None, list[str](), list[str]()
    for line in rest.split("\n") if found else ():
        if not line.strip():
            break
        played += trick
        leader, trick = (len(line) - len(line.lstrip())) // 3 % seats, line.split()
    if len(trick) == cards:
        leader, trick, played = None, [], played + trick
    return {"leader": leader, "trick": tuple(trick), "played": tuple(played)}


COMPASS = "N  E  S  W  N  E  S\n"
TRICKS = {"leader": NUMBER, "trick": CARDS, "played": CARDS}


def points_of(said: Mapping[str, str]) -> tuple[int, ...]:
    """Return the points of the four seats, or none if the cards are not played yet."""
    return tuple([int(said[seat]) for seat in "NESW"]) if "Points" in said else ()


# The games.


def leduc_poker(told: Told) -> Values:
    """Read `[Observer: 0][Private: 1][Round 1][Player: 0][Pot: 2][Money: 99 99][Round1: 2][Round2: ]`."""
    said = dict(part.partition(":")[::2] for part in told.text.strip("[]\n").split("]["))
    rounds = [[("fold", "call", "raise")[bet] for bet in ints(said[name])] for name in ("Round1", "Round2")]
    return {
        "hand": ints(said["Private"]),
        "board": ints(said.get("Public", "")),
        "pot": int(said["Pot"]),
        "money": ints(said["Money"]),
        "first": tuple(rounds[0]),
        "second": tuple(rounds[1]),
    }


def hearts(told: Told) -> Values:
    """Read the hand, the passed cards, the tricks and the points of hearts."""
    said = labels(told.text)
    return tricks_of(told.text, COMPASS, 4, 4) | {
        "hand": hand_of(told.text, lambda suit, rank: rank + suit),
        "direction": one_word(said["Pass Direction"]),
        "passed": tuple(said.get("Passed Cards", "").split()),
        "received": tuple(said.get("Received Cards", "").split()),
        "points": points_of(said),
    }


def gin_rummy(told: Told) -> Values:
    """Read the hand of gin rummy: each card has two characters in the four lines of a box."""
    said = labels(told.text)
    stock, _, upcard = said["Stock size"].partition("Upcard:")
    _, found, box = told.text.partition(f"Player{told.seat}: Deadwood=")
    rows = [line[1:-1] for line in box.split("\n")[:9] if line.startswith("|")][:4]
    if not found or len(rows) != 4:
        raise ValueError("the hand has four lines")
    cells = [row[at : at + 2] for row in rows for at in range(0, len(row), 2)]
    pile = said["Discard pile"]
    return {
        "hand": tuple([card for card in cells if card.strip()]),
        "deadwood": int(box.partition("\n")[0]),
        "phase": said["Phase"],
        "upcard": tuple([card for card in [upcard.strip()] if card != "XX"]),
        "discards": tuple([pile[at : at + 2] for at in range(0, len(pile), 2)]),
        "stock": int(stock),
        "knock": int(said["Knock card"]),
    }


def _below(text: str, header: str) -> list[str]:
    """Return the words of the line after the first one that begins with this header; none if there is no such line."""
    _, found, rest = f"\n{text}".partition(f"\n{header}")
    return rest.split("\n")[1].split() if found else []


def spades(told: Told) -> Values:
    """Read the hand, the bids and the tricks of spades."""
    taken = told.text.partition("Tricks taken:\n")[2]
    return tricks_of(told.text, COMPASS, 4, 4) | {
        "hand": hand_of(told.text, str.__add__),
        "bids": tuple([bid for bid in _below(told.text, "North East") if bid != "?"]),
        "won": tuple(map(int, _below(taken, "North East"))),
    }


def oh_hell(told: Told) -> Values:
    """Read the hand, the bids and the tricks of oh hell."""
    said, seats = labels(told.text), int(told.options["players"])
    rows = told.text.partition("Tricks:\n")[2]
    if told.text.count("Player:") != 1:
        raise ValueError("at the end of a table the text has all hands")
    return tricks_of(rows, "\n", seats, seats) | {
        "hand": tuple([suit + rank for suit in "CDSH" for rank in said[suit]]),
        "trump": (said["Trump"],),
        "dealer": int(said["Dealer"]),
        "tricks": int(said["Num Total Tricks"]),
        "bids": ints(said["Bids"]),
        "won": ints(said["Tricks Won"]),
    }


def _ranks(text: str) -> tuple[str, ...]:
    """Return the cards of `33T(BWJ)(CJ)`: one character each, or a word in brackets."""
    words = text.replace("(", " (").replace(")", ") ").split()
    return tuple([card for word in words for card in ([word] if word[0] == "(" else word)])


def dou_dizhu(told: Told) -> Values:
    """Read the hand and the played cards of dou dizhu."""
    hand, played, more = told.text.split("\n")[:3]
    start, _, position = more.partition("start player:")[2].partition("My position from Dizhu:")
    if not (hand.startswith("My hand") and played.startswith("Played cards")):
        raise ValueError("the first line has the hand, the second one the played cards")
    return {
        "hand": _ranks(hand.removeprefix("My hand")),
        "played": _ranks(played.removeprefix("Played cards")),
        "start": int(start),
        "position": int(position),
    }


def go_fish(told: Told) -> Values:
    """Read the hand, the numbers of cards and books, and the questions of go fish."""
    lines = told.text.splitlines()
    players = [line.split() for line in lines if line.startswith("player ")]
    (hand,) = [line for line in lines if line.startswith("Your cards:")]
    if not players or any(line[2::2] != ["cards", "books"] for line in players):
        raise ValueError("each player has cards and books")
    asked = [line.split() for line in lines if " asked " in line]
    return {
        "hand": tuple([card[0] for card in hand.partition(":")[2].split() for _ in range(int(card[1:]))]),
        "phase": lines[0].removeprefix("Phase "),
        "cards": tuple([int(line[3]) for line in players]),
        "books": tuple([int(line[5]) for line in players]),
        "asked": tuple(
            [
                Ask(
                    int(words[0]),
                    int(words[2]) if int(words[2]) >= 0 else None,
                    chr(ord("a") + int(words[4])),
                    int(words[6]) if "recieved" in words[:6] else 0,
                )
                for words in asked
            ]
        ),
    }


def cribbage(told: Told) -> Values:
    """Read the hand, the starter, the cards on the table and the scores of cribbage."""
    said = labels(told.text)
    return {
        "hand": tuple(said["Hand"].split()),
        "starter": tuple(said.get("Starter", "").split()),
        "played": tuple(said["Played cards"].split()),
        "total": int(said["Running total"]),
        "phase": said["Phase"],
        "dealer": int(said["Dealer"]),
        "round": int(said["Round"]),
        "scores": ints(said["Scores"]),
    }


def backgammon(told: Told) -> Values:
    """Read the board of backgammon as the seat sees it: its own checkers count, the others count below zero."""
    said, lines = labels(told.text), told.text.split("\n")
    own, other = "xo" if told.seat == 0 else "ox"
    top, bottom = ([line[1:7] + line[8:14] for line in lines[begin : begin + 5]] for begin in (1, 7))
    if {len(line) for line in top + bottom} != {12} or lines[0] != "+------|------+":
        raise ValueError("the board has two halves of five lines")
    columns = [[line[at] for line in top] for at in reversed(range(12))]
    columns += [[line[at] for line in bottom] for at in range(12)]
    points = [_checkers(column, own) - _checkers(column, other) for column in columns]
    if told.seat:
        points.reverse()
    bar = [said["Bar"].count(side) for side in (own, other)]
    words = told.text.partition("\nScores, ")[2].replace(",", " ").split()
    scores = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    off = [scores[f"{side.upper()}:"] for side in (own, other)]
    mine, theirs = (sum(max(sign * point, 0) for point in points) for sign in (1, -1))
    if mine + bar[0] + off[0] != theirs + bar[1] + off[1]:
        raise ValueError("both have the same number of checkers")
    return {
        "dice": tuple(map(int, said["Dice"])),
        "points": tuple(points),
        "bar": tuple(bar),
        "off": tuple(off),
    }


def _checkers(column: Sequence[str], side: str) -> int:
    """Return the checkers of a side on a point. More than five are a number, whose digits are below each other."""
    if side not in column:
        return 0
    digits = "".join(each for each in column if each.isdigit())
    return int(digits) if digits else column.count(side)


def liars_dice(told: Told) -> Values:
    """Read the own dice and all bids of liar's dice."""
    dice, *bids = told.text.split()
    if len(dice) != int(told.options["numdice"]) and int(told.options["numdice"]) > 1:
        raise ValueError("dice of two digits have no separator")
    return {
        "hand": tuple(map(int, dice)) if int(told.options["numdice"]) > 1 else (int(dice),),
        "bids": tuple(bids),
    }


def euchre(told: Told) -> Values:
    """Read the hand, the bidding, the tricks and the points of euchre."""
    said = labels(told.text)
    alone = said.get("Declarer go alone") == "true"
    bidding = told.text.partition("\nBidding:\n")[2].split("\n")[1:]
    end = next((at for at, line in enumerate(bidding) if not line.strip() or ":" in line), len(bidding))
    bids = [one_word(line[at : at + 9]) for line in bidding[:end] for at in range(0, len(line), 9)]
    return tricks_of(told.text, COMPASS, 4, 3 if alone else 4) | {
        "hand": hand_of(told.text, str.__add__),
        "upcard": (said["Upcard"],),
        "dealer": "NESW".index(said["Dealer"]),
        "bids": tuple([bid for bid in bids if bid]),
        "alone": int(alone),
        "points": points_of(said),
    }


READABLE: Mapping[str, Readable] = {
    "backgammon": Readable(
        {"dice": NUMBERS, "points": NUMBERS, "bar": NUMBERS, "off": NUMBERS}, backgammon, {"dice": "board"}, state=True
    ),
    "cribbage": Readable(
        {"hand": CARDS, "starter": CARDS, "played": CARDS, "total": NUMBER}
        | {"phase": str, "dealer": NUMBER, "round": NUMBER, "scores": NUMBERS},
        cribbage,
        {"starter": "board", "scores": "score"},
        lambda said: said["phase"] == "Card",
    ),
    "dou_dizhu": Readable({"hand": CARDS, "played": CARDS, "start": NUMBER, "position": NUMBER}, dou_dizhu),
    "euchre": Readable(
        {"hand": CARDS}
        | TRICKS
        | {"upcard": CARDS, "dealer": NUMBER, "bids": CARDS, "alone": NUMBER, "points": NUMBERS},
        euchre,
        {"upcard": "board", "points": "score"},
        lambda said: len(said["hand"]) == 6,
    ),
    "gin_rummy": Readable(
        {"hand": CARDS, "deadwood": NUMBER, "phase": str, "upcard": CARDS}
        | {"discards": CARDS, "stock": NUMBER, "knock": NUMBER},
        gin_rummy,
        {"upcard": "board"},
        lambda _: True,
    ),
    "go_fish": Readable(
        {"hand": CARDS, "phase": str, "cards": NUMBERS, "books": NUMBERS, "asked": tuple[Ask, ...]},
        go_fish,
        {"books": "score"},
        lambda _: True,
    ),
    "hearts": Readable(
        {"hand": CARDS} | TRICKS | {"points": NUMBERS, "direction": str, "passed": CARDS, "received": CARDS},
        hearts,
        {"points": "score"},
        lambda said: said["direction"] != "No_Pass" and len(said["passed"]) < 3,
    ),
    "leduc_poker": Readable(
        {"hand": NUMBERS, "board": NUMBERS, "pot": NUMBER, "money": NUMBERS, "first": CARDS, "second": CARDS},
        leduc_poker,
        {"board": "board", "money": "chips"},
    ),
    "liars_dice": Readable({"hand": NUMBERS, "bids": CARDS}, liars_dice),
    "oh_hell": Readable(
        {"hand": CARDS}
        | TRICKS
        | {"trump": CARDS, "dealer": NUMBER, "tricks": NUMBER, "bids": NUMBERS, "won": NUMBERS},
        oh_hell,
        {"trump": "board", "won": "score"},
    ),
    "spades": Readable({"hand": CARDS} | TRICKS | {"bids": CARDS, "won": NUMBERS}, spades, {"won": "score"}),
}
"""The games with named fields, by OpenSpiel's names."""


# Events for spectators.


def card(said: str | int) -> str | int:
    """Return a card as pictures draw it: `CT` and `TC` are `Tc`."""
    if isinstance(said, str) and len(said) == 2:
        for suit, rank in (tuple(said), tuple(said[::-1])):
            if suit in SUITS and rank in RANKS:
                return rank + suit.lower()
    return said


def cards(some: Iterable[str | int]) -> list[str | int]:
    """Return cards as pictures draw them."""
    return [card(each) for each in some]


class Step(NamedTuple):
    """What all seats may know before and after a move, who has moved, and who moves next (below zero: nobody)."""

    before: Sequence[Values]
    after: Sequence[Values]
    mover: int | None = None
    move: str = ""
    following: int = -1


def events_of(readable: Readable, step: Step) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of one move: the cards that seats get and give away, and what has changed on the table."""
    found: list[tuple[str, dict[str, Any]]] = []
    held: list[Counter[Any]] = [Counter(said.get("hand", ())) for said in step.before]
    now: list[Counter[Any]] = [Counter(said.get("hand", ())) for said in step.after]
    shown, shows = step.before[0], step.after[0]
    for seat, (had, has) in enumerate(zip(held, now, strict=True)):
        gone = cards((had - has).elements())
        if not gone and seat == step.mover and step.move in had:  # the last card: the text of the end is another one
            gone = cards([step.move])
        if gone:
            play = seat == step.mover and not readable.discards(step.before[seat])
            found.append(("play" if play else "discard", {"seat": seat, "cards": gone}))
        elif seat == step.mover:
            found.append(("say", {"seat": seat, "text": step.move.rpartition("Action: ")[2]}))
    if len(shows.get("played", ())) < len(shown.get("played", ())):
        found.append(("discard", {}))
        held = [Counter() for _ in held]
    elif shown.get("trick") and not shows["trick"] and step.following >= 0:
        taken = shows["played"][len(shown["played"]) :]
        found.append(("take", {"seat": step.following, "cards": cards(taken)}))
    for seat, (had, has) in enumerate(zip(held, now, strict=True)):
        if got := cards((has - had).elements()):
            found.append(("deal", {"seat": seat, "cards": got}))
    for field, event in readable.events.items():
        was, value = shown.get(field, ()), shows.get(field, ())
        if event == "board" and value != was:
            found.append((event, {"cards": cards(value)}))
        elif event != "board":
            changed = [seat for seat, each in enumerate(value) if was[seat : seat + 1] != (each,)]
            fact = "points" if event == "score" else "chips"
            found += [(event, {"seat": seat, fact: value[seat]}) for seat in changed]
    return found
