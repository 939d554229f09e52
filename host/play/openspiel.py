"""Makes the games of OpenSpiel playable: `game = "openspiel:leduc_poker(players=3)"` in croupier.toml.

OpenSpiel knows the rules of a game, and draws nothing itself: each of its chance nodes takes one number of `luck.pick`.
Bots move one after the other. Where a game has simultaneous moves, OpenSpiel hides the moves of those asked before.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from host.base.errors import Problem, UserError
from host.games.engine import Display, Game, Opening, Play, Request, Scores, Tell
from host.games.luck import Luck, Shuffler
from host.play.openspiel_views import READABLE, Readable, Step, Told, Values, events_of
from protocols.wire import MAX_TEXT, Answer, Grammar, Move, Range, encode_view, in_ranges, ranges
from protocols.wire import View as AnyView

if TYPE_CHECKING:
    import pyspiel

PREFIX = "openspiel"
MAX_LINE = 8000  # bytes of a question with its names; a longer one is asked without them
MAX_STATE = 2000  # characters of the state
SAMPLES = 8  # questions of one random table: `check` asks them
MAX_TRIED = 400  # questions of one random table, to see whether the texts of a game can be read
POINTS = 100  # for a result of 1; some games have results like 0.25
UNSAFE_IN_NAMES = re.compile(r"[^!-+\--~]")  # also the comma, which separates names
ONE_WORD = str.maketrans("\n \t", "|__")
GRAMMAR = Grammar(
    pattern=re.compile(r"(?P<verb>LOWEST|HIGHEST)|(?P<n>[0-9]{1,9})|(?P<text>[!-~]{1,200})", re.IGNORECASE),
    expected="the number or the name of a legal move, LOWEST or HIGHEST",
    verb="PLAY",
)
CARD = """\
OpenSpiel's {game}. One line asks: {fields}, for example `{example}`. \
`legal` has the numbers of the legal moves as ranges, `names` their names in the same order, joined by commas (`-` where \
they would be too long). The state is what OpenSpiel tells this seat, with `|` for the end of a line and `_` for a space. \
Answer with the number or the name of a legal move; LOWEST and HIGHEST are always legal."""


class Rules(NamedTuple):
    """The rules of a table. `game` and `version` cannot be changed: a journal shows by them what was played."""

    seats: int
    """The bots at a table."""
    game: str
    """The game with all its parameters, as OpenSpiel writes it."""
    version: str
    """The version of OpenSpiel that knows the rules."""
    fault: Literal["lowest", "forfeit"] = "lowest"
    """What a fault costs: the legal move with the lowest number is played, or the seat loses as much as it can."""
    points: int = POINTS
    """The points for a result of 1: a game that is won in chess has 100 by default."""


class View(NamedTuple):
    """The question to a bot: `0 0:2 Fold,Call,Raise [Observer:_0][Private:_3]…`."""

    seat: int
    legal: tuple[Range, ...]
    names: tuple[str, ...]
    state: str


class NotPlayable(Exception):
    """Raised for a game that OpenSpiel does not have, or that croupier cannot play. `hint` names the cure."""

    def __init__(self, why: str, hint: str = "croupier games --openspiel lists the games that can be played") -> None:
        super().__init__(why)
        self.hint = hint


class Playable(NamedTuple):
    """A game of OpenSpiel; `obstacle` says why croupier cannot play it, or is empty."""

    name: str
    title: str
    seats: tuple[int, int]
    obstacle: str


def library() -> "pyspiel":
    """Return OpenSpiel. Raise NotPlayable if it is not installed."""
    try:
        import pyspiel
    except ImportError as failed:
        hint = "pip install '.[openspiel]'   in a clone of croupier"
        raise NotPlayable(f"needs OpenSpiel, which cannot be imported: {failed}", hint) from failed
    return pyspiel


@cache
def installed_version() -> str:
    """Return the version of OpenSpiel."""
    from importlib.metadata import version

    return version("open_spiel")


def playable_games() -> list[Playable]:
    """Return all games of OpenSpiel by name, with what prevents croupier from playing them."""
    return [
        Playable(
            kind.short_name,
            kind.long_name,
            (kind.min_num_players, kind.max_num_players),
            _obstacle(kind) or _missing_parameters(kind),
        )
        for kind in sorted(library().registered_games(), key=lambda kind: str(kind.short_name))
    ]


def _missing_parameters(kind: "pyspiel.GameType") -> str:
    """Return why a type of game cannot be played without parameters, or an empty string."""
    example = f"as in openspiel:{kind.short_name}(key=value)"
    if not kind.default_loadable:
        return f"it needs parameters, {example}"
    if kind.min_num_players < 2 and library().load_game(kind.short_name).num_players() < 2:
        return f"it has one seat unless its parameters say otherwise, {example}"
    return ""


def _obstacle(kind: "pyspiel.GameType") -> str:
    """Return why a type of game cannot be played, or an empty string."""
    types = library().GameType
    if kind.max_num_players < 2:
        return "it is a game for one player"
    if kind.dynamics == types.Dynamics.MEAN_FIELD:
        return "its players are a crowd without seats"
    if kind.chance_mode == types.ChanceMode.SAMPLED_STOCHASTIC:
        return "it draws its own chance (or wraps a game that may), so a seed does not repeat it"
    if not (kind.provides_information_state_string or kind.provides_observation_string):
        return "it has no text for a seat"
    return ""


@cache
def _loaded(game: str) -> "pyspiel.Game":
    """Return a game of OpenSpiel whose seats move one after the other. Raise NotPlayable if there is none."""
    spiel = library()
    name, known = game.partition("(")[0], spiel.registered_names()
    if name not in known:  # OpenSpiel itself would print all names
        from host.base.config_file import closest_match

        near = closest_match(name, known)
        hint = f"did you mean openspiel:{near}?" if near else "croupier games --openspiel lists the games"
        raise NotPlayable("is not a game of OpenSpiel", hint)
    try:
        loaded = spiel.load_game(game)
    except (spiel.SpielError, RuntimeError, ValueError) as failed:
        lines = str(failed).strip().splitlines() or ["it gives no reason"]
        raise NotPlayable(f"is refused by OpenSpiel: {lines[-1][:200]}") from failed
    if obstacle := _obstacle(loaded.get_type()):
        raise NotPlayable(f"cannot be played: {obstacle}")
    if loaded.num_players() < 2:
        raise NotPlayable("has one seat", "name parameters that give it more seats")
    if loaded.get_type().dynamics == spiel.GameType.Dynamics.SIMULTANEOUS:
        loaded = spiel.convert_to_turn_based(loaded)
    return loaded


def _texts(game: "pyspiel.Game", state: "pyspiel.State", seat: int) -> tuple[str, str]:
    """Return what a seat may know: as it is, and on one line. Where it remembers all its past, the line may lack its end."""
    kind = game.get_type()
    hidden = kind.information != library().GameType.Information.PERFECT_INFORMATION
    shown = ""
    if kind.provides_information_state_string and (hidden or not kind.provides_observation_string):
        shown = state.information_state_string(seat)
    if kind.provides_observation_string and not 0 < len(shown) <= MAX_STATE:
        shown = state.observation_string(seat)
    return shown, shown[:MAX_STATE].rstrip("\n").translate(ONE_WORD).encode("ascii", "replace").decode()


class Reading(NamedTuple):
    """A game of OpenSpiel, and how its texts are read; None if its questions have the text alone."""

    game: "pyspiel.Game"
    options: Mapping[str, Any]
    readable: Readable | None = None
    view: type[Any] = View

    def values(self, text: str, seat: int) -> Values:
        """Return the named fields of what a seat may know; none if the text cannot be read."""
        return self.readable.values(Told(text, seat, self.options)) if self.readable else {}

    def view_of(self, state: "pyspiel.State") -> Any:
        """Return the question to the seat that moves next."""
        seat, legal = state.current_player(), state.legal_actions()
        names = tuple([UNSAFE_IN_NAMES.sub("_", state.action_to_string(seat, each)) or "_" for each in legal])
        text, line = _texts(self.game, state, seat)
        values = (self.values(text, seat) or self.readable.empty).values() if self.readable else ()
        view = self.view(seat, ranges(legal), names, *values, line)
        return view if len(encode_view(view)) <= MAX_LINE else view._replace(names=())


@cache
def _reading(game: str) -> Reading:
    """Return how a game is read: in named fields, if it has them and every text of some random tables can be read."""
    loaded = _loaded(game)
    name, options = str(loaded.get_type().short_name), loaded.get_parameters()
    if name in READABLE:
        reading = Reading(loaded, options, READABLE[name], READABLE[name].view(name))
        if _can_be_read(reading):
            return reading
    return Reading(loaded, options)


def _can_be_read(reading: Reading) -> bool:
    """Return whether every text of a table of random moves can be read; at most MAX_TRIED of them are tried."""
    luck, state = Luck(b"croupier", f"openspiel/read/{reading.game}"), reading.game.new_initial_state()
    for _ in range(MAX_TRIED):
        while state.is_chance_node():
            outcomes = state.chance_outcomes()
            state.apply_action(outcomes[luck.pick([likely for _, likely in outcomes])][0])
        if state.is_terminal():
            break
        seat = state.current_player()
        if not reading.values(_texts(reading.game, state, seat)[0], seat):
            return False
        legal = state.legal_actions()
        state.apply_action(legal[luck.below(len(legal))])
    return True


def numbers(view: AnyView) -> list[int]:
    """Return the numbers of the legal moves, in ascending order."""
    return [number for first, last in view[1] for number in range(first, last + 1)]


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a move is legal."""
    if move.verb != GRAMMAR.verb:
        return True
    return move.text in view[2] if move.text else in_ranges(move.n, view[1])


def _chosen(rules: Rules, view: Any, answer: Answer) -> int | None:
    """Return the number of the move that an answer plays; None if it forfeits the table."""
    if isinstance(answer, Move) and allows(rules, view, answer):
        if answer.verb == "HIGHEST":
            return int(view.legal[-1].last)
        if answer.text:
            at: int = view.names.index(answer.text)
            return numbers(view)[at]
        return answer.n if answer.verb == GRAMMAR.verb else int(view.legal[0].first)
    return None if rules.fault == "forfeit" else int(view.legal[0].first)


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play one game. The scores are OpenSpiel's results times `rules.points`, rounded.

    Raise UserError (exit code 3) if another version of OpenSpiel is installed than the rules name.
    """
    if rules.version != (here := installed_version()):
        message = f"{rules.game} was played with OpenSpiel {rules.version}, and {here} is installed"
        hint = f"pip install 'open_spiel=={rules.version}'"
        raise UserError([Problem("C018", "", message, hint=hint)], 3)
    reading = _reading(rules.game)
    state = reading.game.new_initial_state()
    watcher = _Watcher(reading, tell) if tell else None
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes = state.chance_outcomes()
            move, _ = outcomes[luck.pick([likely for _, likely in outcomes])]
            if watcher:
                watcher.chance(state.action_to_string(state.current_player(), move))
            state.apply_action(move)
            continue
        view = reading.view_of(state)
        if watcher:
            watcher.begin(state)
        answer = yield Request(view.seat, view)
        chosen = _chosen(rules, view, answer)
        if chosen is None:
            return _forfeited(rules, reading.game, view.seat)
        name = state.action_to_string(view.seat, chosen)
        state.apply_action(chosen)
        if watcher:
            watcher.moved(state, view.seat, name)
    if watcher:
        watcher.begin(state)
    return tuple([round(result * rules.points) for result in state.returns()])


class _Watcher:
    """Reports the events of a table: for games that can be read the cards, points and words, for all others the moves."""

    def __init__(self, reading: Reading, tell: Callable[..., None]) -> None:
        self._reading, self._tell = reading, tell
        self._seats = reading.game.num_players()
        self._known: list[Values] = [{}] * self._seats
        self._moved: tuple[int, str] | None = None  # the seat and the name of a move whose events are not reported yet

    def chance(self, move: str) -> None:
        """Report an outcome of chance, unless the hands and the table show it."""
        if self._reading.readable is None:
            self._tell("chance", move=move)

    def moved(self, state: "pyspiel.State", seat: int, move: str) -> None:
        """Report a move, and the whole table after it, where that is not read."""
        readable = self._reading.readable
        if readable is None:
            self._tell("move", seat=seat, move=move)
        if readable is None or readable.state:
            self._tell("state", text=str(state)[:MAX_TEXT])
        self._moved = seat, move

    def begin(self, state: "pyspiel.State") -> None:
        """Report what the last move, and chance after it, have changed for the seats."""
        readable, after = self._reading.readable, list(self._known)
        if readable is None:
            return
        for seat in range(self._seats):
            with suppress(library().SpielError):  # some games have no text for a seat that does not move
                after[seat] = self._reading.values(_texts(self._reading.game, state, seat)[0], seat) or after[seat]
        mover, move = self._moved or (None, "")
        for event, facts in events_of(readable, Step(self._known, after, mover, move, state.current_player())):
            self._tell(event, **facts)
        self._known, self._moved = after, None


def _forfeited(rules: Rules, game: "pyspiel.Game", seat: int) -> Scores:
    """Return the scores of a table that one seat forfeits: it loses as much as it can, and the others share that."""
    lost, others = game.min_utility() * rules.points, rules.seats - 1
    return tuple([round(lost) if each == seat else max(0, round(-lost / others)) for each in range(rules.seats)])


def winners(scores: Scores) -> tuple[int, ...]:
    """Return the seats with the best score, or none if all scores are equal."""
    best = max(scores)
    return () if min(scores) == best else tuple([seat for seat, score in enumerate(scores) if score == best])


def _questions(rules: Rules) -> dict[str, AnyView]:
    """Return the first questions of a random table, by name."""
    found: dict[str, AnyView] = {}
    luck = Luck(b"croupier", f"openspiel/{rules.game}")
    table = play(rules, luck)
    request = next(table)
    while isinstance(request, Request):
        view = request.view
        found[f"question {len(found) + 1} of a table"] = view
        if len(found) == SAMPLES:
            break
        legal = numbers(view)
        try:
            request = table.send(Move("PLAY", legal[luck.below(len(legal))]))
        except StopIteration:
            break
    return found


@cache
def game_named(said: str) -> Game:
    """Return a game of OpenSpiel by its name and parameters. Raise NotPlayable if it cannot be played."""
    seats, original = _loaded(said).num_players(), library().load_game(said)
    kind = original.get_type()
    rules = Rules(seats, str(original), installed_version())
    try:
        questions = _questions(rules)
    except Exception as failed:  # a game can also be written in Python, and raise anything
        raise NotPlayable(
            f"raised an exception in a test with random moves: {type(failed).__name__}: {failed}"[:300]
        ) from failed
    return Game(
        name=f"{PREFIX}_{kind.short_name}",
        title=f"{kind.long_name} (OpenSpiel)",
        seats=(seats, seats),
        protocol="lines",
        presets={PREFIX: rules},
        grammar=GRAMMAR,
        play=play,
        allows=allows,
        winners=winners,
        view=_reading(said).view,
        edges=questions,
        opening=Opening("seat", 1, below="LOWEST", otherwise="HIGHEST"),
        card=_card(str(kind.long_name), next(iter(questions.values()))),
        display=Display(secret_answers=kind.information != library().GameType.Information.PERFECT_INFORMATION),
    )


def _card(title: str, example: AnyView) -> str:
    """Return the paragraph about a game for participants."""
    fields = " ".join(f"<{name}>" for name in example._fields)  # type: ignore[attr-defined]
    return CARD.format(game=title, fields=fields, example=_shortened(example))


def _shortened(view: AnyView) -> str:
    """Return a question as a line, at most 300 characters of it."""
    line = encode_view(view).decode().rstrip("\n")
    return line if len(line) <= 300 else f"{line[:300]}…"
