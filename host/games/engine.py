"""Defines the type of a game, and plays one table of it: requests, answers and final scores."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from host.games.luck import Shuffler
from protocols.wire import Answer, Grammar, Move, View

Scores = tuple[int, ...]
Tell = Callable[..., None] | None
"""Receives the events of a table: `tell("deal", seat=0, card="K")`. None if no code needs the events."""


new_tuple = tuple.__new__
"""Creates a NamedTuple from all its fields in order. It takes half the time of the NamedTuple's own constructor."""


class Request(NamedTuple):
    """The question that a table waits for: a seat and its view."""

    seat: int
    view: View


Play = Generator[Request | Sequence[Request], Any, "Scores | Ended"]
"""A game being played. It yields a Request and is sent its Answer. Or it yields several requests, to different seats, and
is sent a tuple of their answers in the same order: no seat learns anything before all have answered."""


class Ended(NamedTuple):
    """Scores and moves. `play` may return them instead of the scores if the table had no chance after its opening.

    Two tables of the same bots in the same seats with an equal opening and equal moves are the same game, played again,
    so they count as evidence only once. If `play` returns only scores, the answers are compared instead of the moves.
    Therefore no move may have two names.
    """

    scores: Scores
    moves: str  # all moves as the rules played them
    opening: str = ""  # what chance gave before the first question


Moves = tuple[str, str]
"""The opening and the moves of a table without chance: they determine the whole table."""


class Place(NamedTuple):
    """The holder of a seat: the index of the bot at the table, and the index of the bot's process, both from 0."""

    bot: int
    process: int = 0


class Opening(NamedTuple):
    """The simplest bot of a game: one move below a limit, another at or above it. Both are always legal.

    The starter bots play it, and `check` seats it next to a bot. The bot compares a field of the view with
    the limit. If the field is a list, it compares the sum of the list.
    """

    field: str
    limit: int
    below: str  # a move as bots write it, or the field whose number is the move
    otherwise: str  # a move, or a field with a list of cards: the move plays the first card, for example PLAY 2c

    def answer_to(self, view: View) -> str:
        """Return the answer to a question, as a bot writes it."""
        said = self.otherwise
        if self.below != said:
            value = getattr(view, self.field)
            said = self.below if (sum(value) if isinstance(value, tuple) else value) < self.limit else said
        if said not in view._fields:  # type: ignore[attr-defined]
            return said
        named = getattr(view, said)
        return f"PLAY {named[0]}" if isinstance(named, tuple) else str(named)


class Display(NamedTuple):
    """Settings for pages that display a game's tables, in addition to the picture in report/pages/casino/NAME.js."""

    score: str = "points"  # what the scores of a table count
    unit: str = ""  # of the scores, in the titles of their columns; empty if "score" says enough
    chips_by_round: bool = (
        False  # whether `round.start` and `table.end` have the facts `round`, `seats` and `chips`, for the chart
    )
    standing: tuple[str, str] | None = None
    """The event and its fact with the holdings of each seat, for example hands won; by its fact `seats` if it has one."""
    all_in: tuple[str, str] | None = None  # the event, and its fact, that is 0 when a seat has bet all its chips
    omitted_events: frozenset[str] = frozenset()  # events that the picture derives from answers
    omitted_facts: Mapping[str, tuple[str, ...]] = {}  # facts that the picture derives, by event
    secret_answers: bool = False
    """Whether an answer can be a secret of its seat. Answers to questions that are asked at the same time always are."""


class Shuffles(NamedTuple):
    """The decks that a game shuffles, in their order: those of `first` once, then those of `each` again and again.

    A deck is its name and its cards, in the order in which the game hands them to `Shuffler.shuffled`. Cards are None if
    they depend on the game so far.
    """

    each: tuple[tuple[str, Sequence[Any] | None], ...]
    first: tuple[tuple[str, Sequence[Any] | None], ...] = ()


def never(_rules: Any) -> bool:
    """Return False, because only `mirror` lets tables share their deals."""
    return False


class Chance(NamedTuple):
    """The properties of the randomness of a game. Each function takes the rules of the game."""

    shuffles: Callable[[Any], Shuffles] | None = None
    """Return the decks that the game shuffles, so that anyone can compute its deals (docs/checking.md)."""
    shared: Callable[[Any], bool] = never
    """Return whether tables share their deals even in a stage without `mirror`."""


def best(scores: Scores) -> tuple[int, ...]:
    """Return the seats with the highest score."""
    highest = max(scores)
    return tuple([seat for seat, score in enumerate(scores) if score == highest])


def best_unless_equal(scores: Scores) -> tuple[int, ...]:
    """Return the seats with the highest score; () if all scores are equal."""
    return () if min(scores) == max(scores) else best(scores)


class Game(NamedTuple):
    """A game: everything that the rest of croupier knows about it.

    `presets` maps names to values of the game's Rules, a NamedTuple with at least `seats`, the bots at one table.
    """

    name: str
    title: str
    seats: tuple[int, int]  # fewest and most bots at a table
    protocol: str  # of bots that do not set a protocol
    presets: Mapping[str, Any]  # the first is the default
    grammar: Grammar
    play: Callable[[Any, Shuffler, Tell], Play]  # (rules, luck, tell)
    allows: Callable[[Any, View, Move], bool]  # (rules, view, move)
    winners: Callable[[Scores], tuple[int, ...]] | None  # the seats that won; None where a game has no winners
    view: type[Any]  # the NamedTuple that a seat receives as its question
    edges: Mapping[str, View]  # edge cases of the rules: a question by a name that describes it
    opening: Opening
    card: str  # one paragraph for participants: the questions and the possible answers
    chips: Literal["none", "table", "tourney"] = "none"
    """Whether the scores are chips. `table`: the rules have `chips`, the number at the start of each table. `tourney`:
    the rules also have `buy_in` and `stacks`, so that bots can carry chips from table to table."""
    decisions: int = 32
    """Decisions of all bots at a usual table. Fixtures get enough tables that starting the bots is a small part of them."""
    display: Display = Display()
    illegal_codes: Mapping[str, str] = {}  # error codes for illegal moves, by verb, more specific than "illegal"
    sides: Callable[[Any], Sequence[Sequence[int]]] | None = None
    """Returns the seats of each bot under these rules: ((0, 2), (1, 3)) for partners at a table of four. Then `seats`,
    the scores and the winners count bots, and requests name seats. Each seat of a bot has a separate process in a
    separate sandbox. None: each bot has one seat."""
    chance: Chance = Chance()
    moves: Callable[[Any], Sequence[Move]] | None = None
    """Returns all moves under these rules, legal or not, for learners that choose among a fixed number of moves."""
    ref: object = None
    """The place of its code, if it is not croupier's own. `ref_of` in host/rules/catalogue.py sets and reads it."""

    @property
    def default_rules(self) -> Any:
        """Return the rules of the first preset."""
        return next(iter(self.presets.values()))

    @property
    def examples(self) -> tuple[View, ...]:
        """Return the questions of the edge cases."""
        return tuple(self.edges.values())

    def places(self, rules: Any) -> tuple[Place, ...]:
        """Return the holder of each seat, by seat. Raise ValueError unless `sides` has each seat, numbered from 0, once."""
        if self.sides is None:
            return tuple(map(Place, range(rules.seats)))
        sides = self.sides(rules)
        places = {seat: Place(bot, nth) for bot, seats in enumerate(sides) for nth, seat in enumerate(seats)}
        if sorted(places) != [*range(sum(map(len, sides)))]:
            raise ValueError(f"the sides of {self.name} are {sides}: they must have each seat from 0 on once")
        return tuple(places[seat] for seat in range(len(places)))

    def processes(self, rules: Any) -> int:
        """Return the largest number of processes of a bot at a table: a bot has one for each of its seats."""
        return 1 if self.sides is None else max(map(len, self.sides(rules)))


class GameFailed(Exception):
    """Raised if the rules of a game raise an exception, which is its `__cause__`. `table` is the name of the table."""

    def __init__(self, table: str) -> None:
        super().__init__(f"the rules failed at table {table}")
        self.table = table


class Table:
    """One game from the deal to the scores. Its seed and its answers are its whole state.

    `request` is the next question to answer, or None when the game is over. Then `scores` has one number for each bot.
    If the game asks several seats at the same time, `together` has all these questions. The caller answers them one
    after the other, in this order, and the game continues after the last answer. If the rules raise an exception, the
    table raises GameFailed with its `name`.
    """

    __slots__ = (
        "_allows",
        "_given",
        "_resume",
        "_send",
        "answers",
        "game",
        "illegal",
        "luck",
        "moves",
        "name",
        "request",
        "rules",
        "scores",
        "together",
    )

    def __init__(
        self,
        game: Game,
        rules: Any,
        luck: Shuffler,
        answers: Iterable[Answer] = (),
        tell: Tell = None,
        name: str = "",
    ) -> None:
        self.game, self.rules, self.luck, self.name = game, rules, luck, name
        self.answers: list[Answer] = []
        self.illegal: list[int] = []  # the indices of answers that were well-formed but illegal moves
        self.request: Request | None = None
        self.together: tuple[Request, ...] = ()
        self.scores: Scores | None = None
        self.moves: Moves | None = None  # if `play` returns them
        self._given: list[Answer] = []  # to the questions of `together`
        play = game.play(rules, luck, tell)
        self._allows = game.allows
        self._resume: Callable[[Any], Request | Sequence[Request]] = play.send
        self._send = self._resume  # what takes the next answer
        try:
            asked = next(play)
            self.request = asked if type(asked) is Request else self._opened(asked)
        except StopIteration as over:
            self._end(over.value)
        except (Exception, SystemExit) as failed:  # an organiser's own rules may raise anything
            raise GameFailed(name) from failed
        for answer in answers:
            self.answer(answer)

    @property
    def open(self) -> tuple[Request, ...]:
        """Return the questions without an answer, in the order in which they are to be answered."""
        if self.together:
            return self.together[len(self._given) :]
        return (self.request,) if self.request is not None else ()

    def allows(self, answer: Answer) -> bool:
        """Return whether an answer to the next question would be legal. A fault is always legal.

        Raise GameFailed if the rules raise an exception.
        """
        try:
            return type(answer) is not Move or (
                self.request is not None and self._allows(self.rules, self.request.view, answer)
            )
        except (Exception, SystemExit) as failed:  # an organiser's own rules may raise anything
            raise GameFailed(self.name) from failed

    def answer(self, answer: Answer) -> bool:
        """Answer the next question. Return False if the answer is an illegal move.

        Raise ValueError if no question is open. Raise GameFailed if the rules raise an exception. In this case, too,
        the answer has been added to `answers`.
        """
        request = self.request
        if request is None:
            raise ValueError("the game is over: no question is open")
        self.answers.append(answer)
        try:
            fair = type(answer) is not Move or self._allows(self.rules, request.view, answer)
            if not fair:
                self.illegal.append(len(self.answers) - 1)
            asked = self._send(answer)
            self.request = asked if type(asked) is Request else self._opened(asked)
        except StopIteration as over:
            self.request = None
            self._end(over.value)
        except (Exception, SystemExit) as failed:  # an organiser's own rules may raise anything
            raise GameFailed(self.name) from failed
        return fair

    def _end(self, ended: Scores | Ended) -> None:
        if isinstance(ended, Ended):
            self.scores, self.moves = ended.scores, (ended.opening, ended.moves)
        else:
            self.scores = ended

    def _opened(self, asked: Request | Sequence[Request]) -> Request:
        """Return the first of several questions that the game has yielded, and store all of them in `together`.

        Raise StopIteration if the game has yielded none and ends.
        """
        while not isinstance(asked, Request):
            self.together, self._given = tuple(asked), []
            if len({seat for seat, _ in self.together}) < len(self.together):
                raise ValueError(f"{self.game.name} asks one seat several questions at once")
            if self.together:
                self._send = self._collect
                return self.together[0]
            asked = self._resume(())
        return asked

    def _collect(self, answer: Answer) -> Request | Sequence[Request]:
        """Store the answer to one of several open questions. Return the next one; after the last, resume the game."""
        self._given.append(answer)
        if len(self._given) < len(self.together):
            return self.together[len(self._given)]
        self.together, self._send = (), self._resume
        return self._resume(tuple(self._given))
