"""Makes the games of OpenSpiel playable: `game = "openspiel:leduc_poker(players=3)"` in croupier.toml.

OpenSpiel knows the rules of a game and draws nothing itself: at each chance node, `luck.pick` chooses the outcome. Bots
move one after the other. In a game with simultaneous moves, OpenSpiel hides the moves of the bots that were asked
earlier.
"""

import os
import re
import resource
import signal
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from host.games.engine import Chance, Display, Ended, Game, Opening, Play, Request, Scores, Tell, best_unless_equal
from host.games.luck import Luck, Shuffler
from host.rules.libraries import NotPlayable, Playable, check_version, installed_version
from protocols.wire import MAX_TEXT, Answer, Grammar, Move, Range, encode_view, in_ranges, ranges
from protocols.wire import View as AnyView

if TYPE_CHECKING:
    import pyspiel

GAME_PREFIX, PACKAGE = "openspiel", "open_spiel"
MAX_LINE = 8000  # bytes of a question with the names of moves; a longer one is asked without the names
MAX_STATE = 2000  # characters of the state
MAX_SPELLED = 3  # bytes of a character on a line: `%25`
MAX_LEGAL = 25  # most bytes of a legal move besides its name (a range, two commas), and of the rest of the line
SAMPLE_QUESTIONS = 8  # questions of one random table: `check` asks them
OPENING = 4  # random moves at the start of a game without chance, if the game is long enough
POINTS_PER_UNIT = 100  # for a result of 1; some games have results like 0.25
MAX_TRY_CPU_S = 5
MAX_TRY_BYTES = 1 << 30
NAME = r"[a-z0-9_]{1,60}(\([\w=.,+()-]{0,200}\))?"  # of a game with its parameters; without the path of a file
UNSAFE_IN_NAMES = re.compile(r"[^!-+\--~]")  # also the comma, which separates names
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
    points: int = POINTS_PER_UNIT
    """The points for a result of 1. By default a won game of chess has 100 points."""
    opening: int = 0
    """The number of random moves before the bots are asked. In a game without chance the default is 4, or half the
    length of the longest possible game if that is less; in other games it is 0."""


class View(NamedTuple):
    """The question to a bot: `0 0:2 Fold,Call,Raise [Observer:_0][Private:_3]…`."""

    seat: int
    legal: tuple[Range, ...]
    names: tuple[str, ...]
    state: str


_trying = False
"""Whether this process is a child of `_try`."""


def library() -> "pyspiel":
    """Return the module of OpenSpiel. Raise NotPlayable if it is not installed."""
    try:
        import pyspiel
    except ImportError as failed:
        hint = "pip install '.[openspiel]'   in a clone of croupier"
        raise NotPlayable(f"needs OpenSpiel, which cannot be imported: {failed}", hint) from failed
    return pyspiel


def playable_games() -> list[Playable]:
    """Return all games of OpenSpiel, sorted by name. A game that croupier cannot play has the reason in `obstacle`."""
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
    """Return why a type of game cannot be played without parameters; "" if it can."""
    example = f"as in openspiel:{kind.short_name}(key=value)"
    if not kind.default_loadable:
        return f"it needs parameters, {example}"
    if kind.min_num_players < 2 and library().load_game(kind.short_name).num_players() < 2:
        return f"it has one seat unless its parameters say otherwise, {example}"
    return ""


def _obstacle(kind: "pyspiel.GameType") -> str:
    """Return why croupier cannot play a type of game; "" if it can."""
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
    """Return a game of OpenSpiel by its name and parameters. Its seats always move one after the other.

    Raise NotPlayable if OpenSpiel does not have the game, or if it cannot be played.
    """
    if not re.fullmatch(NAME, game):
        raise NotPlayable("is not the name of a game of OpenSpiel, as in openspiel:leduc_poker(players=3)")
    spiel = library()
    name, known = game.partition("(")[0], spiel.registered_names()
    if name not in known:  # OpenSpiel itself would print all names
        from host.base.errors import closest_match

        near = closest_match(name, known)
        hint = f"did you mean openspiel:{near}?" if near else ""
        raise NotPlayable("is not a game of OpenSpiel", hint)
    if not _trying:
        _try(game)
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


def _try(game: str) -> None:
    """Load a game and play its first moves in a child process with limits.

    Raise NotPlayable if OpenSpiel ends the child process, or if the child exceeds a limit. `_loaded` reports all other
    problems of the game.

    The reason: strangers can name a game in a bot.toml, a bundle or a journal, and with some parameters OpenSpiel ends
    its process, or computes for minutes.
    """
    if child := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            how = "it needs too much memory" if status > 0 else signal.strsignal(-status) or f"signal {-status}"
            raise NotPlayable(f"cannot be loaded in {MAX_TRY_CPU_S} s and {MAX_TRY_BYTES >> 30} GiB: {how}")
        return
    global _trying
    _trying, status = True, 0
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_TRY_CPU_S, MAX_TRY_CPU_S + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_TRY_BYTES, MAX_TRY_BYTES))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)  # OpenSpiel prints a message before it ends the process
        os.dup2(nowhere, 2)
        _questions(_rules(game))
    except MemoryError:
        status = 1
    finally:
        os._exit(status)


class Texts(NamedTuple):
    """Kinds of OpenSpiel's texts that the seats of a game may see.

    A question has the first text that is short enough.
    """

    as_json: bool
    information: bool
    observation: bool


@cache
def _texts_of(game: str) -> Texts:
    loaded = _loaded(game)
    kind = loaded.get_type()
    hidden = kind.information != library().GameType.Information.PERFECT_INFORMATION
    observation = kind.provides_observation_string
    information = kind.provides_information_state_string and (hidden or not observation)
    return Texts(hasattr(loaded, "ObservationStruct"), information, observation)


def _text(texts: Texts, state: "pyspiel.State", seat: int) -> str:
    """Return the information of a seat on one line: a structured observation as JSON if the game has one, or a text.

    At most MAX_STATE characters are returned: the end of a longer text is cut off.
    """
    if texts.as_json:
        shown = str(state.to_observation_struct(seat).to_json())
        if len(shown) <= MAX_STATE:
            return _on_one_line(shown)
    shown = ""
    if texts.information:
        shown = state.information_state_string(seat)
    if texts.observation and not 0 < len(shown) <= MAX_STATE:
        shown = state.observation_string(seat)
    return _on_one_line(shown[:MAX_STATE])


def _on_one_line(text: str) -> str:
    line = text.rstrip("\n").replace("\n", "|").replace(" ", "_").replace("\t", "_")
    return line if line.isascii() else line.encode("ascii", "replace").decode()


def _view_of(texts: Texts, state: "pyspiel.State") -> View:
    """Return the question to the seat that moves next, without the names of moves if it would exceed MAX_LINE bytes."""
    seat, legal = state.current_player(), state.legal_actions()
    names = tuple([_safe_name(state.action_to_string(seat, each)) for each in legal])
    view = View(seat, ranges(legal), names, _text(texts, state, seat))
    if (len(view.state) + sum(map(len, names))) * MAX_SPELLED + (len(legal) + 1) * MAX_LEGAL <= MAX_LINE:
        return view  # short enough in any case: encoding it to measure it would take as long as OpenSpiel's moves
    return view if len(encode_view(view)) <= MAX_LINE else view._replace(names=())


@lru_cache(maxsize=8192)
def _safe_name(name: str) -> str:
    """Return the name of a move as one word without a comma. Cached: a game has few names and repeats them."""
    return UNSAFE_IN_NAMES.sub("_", name) or "_"


def numbers(view: AnyView) -> list[int]:
    """Return the numbers of the legal moves in a question, in ascending order."""
    return [number for first, last in view[1] for number in range(first, last + 1)]


def allows(rules: Rules, view: AnyView, move: Move) -> bool:
    """Return whether a move is legal. LOWEST and HIGHEST always are."""
    if move.verb != GRAMMAR.verb:
        return True
    return move.text in view[2] if move.text else in_ranges(move.n, view[1])


def _chosen(rules: Rules, view: View, answer: Answer) -> int | None:
    """Return the number of the move that an answer plays; None if it forfeits the table."""
    if isinstance(answer, Move) and allows(rules, view, answer):
        if answer.verb == "HIGHEST":
            return int(view.legal[-1].last)
        if answer.text:
            return numbers(view)[view.names.index(answer.text)]
        return answer.n if answer.verb == GRAMMAR.verb else int(view.legal[0].first)
    return None if rules.fault == "forfeit" else int(view.legal[0].first)


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play one game. The scores are OpenSpiel's results times `rules.points`, rounded.

    The first `rules.opening` moves are random moves that do not end the game. The opening is shorter if every move
    would end the game. Raise UserError (exit code 3) if another version of OpenSpiel is installed than the rules name.
    """
    check_version("OpenSpiel", PACKAGE, rules.game, rules.version)
    game, texts = _loaded(rules.game), _texts_of(rules.game)
    state, moves, opening, chance = game.new_initial_state(), list[int](), rules.opening, False
    first = list[int]()  # the moves of the opening
    while not state.is_terminal():
        if state.is_chance_node():
            chance, outcomes = True, state.chance_outcomes()
            move, _ = outcomes[luck.pick([likely for _, likely in outcomes])]
            if tell:
                tell("chance", move=state.action_to_string(state.current_player(), move), action=move)
            state.apply_action(move)
            continue
        drawn = _opening_move(state, luck) if opening else None
        opening = opening - 1 if drawn is not None else 0
        if drawn is None:
            view = _view_of(texts, state)
            answer = yield Request(view.seat, view)
            chosen = _chosen(rules, view, answer)
            if chosen is None:
                return _ended(_forfeited(rules, game, view.seat), (first, moves), chance)
        else:
            chosen = drawn
        seat = state.current_player()
        if tell:
            event = "move" if drawn is None else "opening"
            tell(event, seat=seat, move=state.action_to_string(seat, chosen), action=chosen)
        state.apply_action(chosen)
        (moves if drawn is None else first).append(chosen)
        if tell:
            tell("state", text=str(state)[:MAX_TEXT])
    return _ended(tuple([round(result * rules.points) for result in state.returns()]), (first, moves), chance)


def _opening_move(state: "pyspiel.State", luck: Shuffler) -> int | None:
    """Return a random move that does not end the game; None if every move ends it.

    If the drawn move ends the game, draw again among the others. To test all moves first would take 0.2 s per table in
    some games.
    """
    moves = state.legal_actions()
    while moves:
        move = int(moves.pop(luck.below(len(moves))))
        if not state.child(move).is_terminal():
            return move
    return None


def _ended(scores: Scores, moves: tuple[Sequence[int], Sequence[int]], chance: bool) -> Scores | Ended:
    """Return the scores. Without a chance node, return them in an `Ended`, with the opening and the moves of the bots.

    `moves` are the moves of the opening and the moves of the bots, by number. `chance` says whether the game had a
    chance node.
    """
    opening, own = (" ".join(map(str, some)) for some in moves)
    return scores if chance else Ended(scores, own, opening)


def _forfeited(rules: Rules, game: "pyspiel.Game", seat: int) -> Scores:
    """Return the scores of a table that a seat forfeits: it gets the lowest result, and the others share its loss."""
    lost, others = game.min_utility() * rules.points, rules.seats - 1
    return tuple([round(lost) if each == seat else max(0, round(-lost / others)) for each in range(rules.seats)])


def _questions(rules: Rules) -> dict[str, AnyView]:
    """Return the first questions of a table with random moves, up to SAMPLE_QUESTIONS, by name."""
    found: dict[str, AnyView] = {}
    luck = Luck(b"croupier", f"openspiel/{rules.game}")
    table = play(rules, luck)
    request = next(table)
    while isinstance(request, Request):
        view = request.view
        found[f"question {len(found) + 1} of a table"] = view
        if len(found) == SAMPLE_QUESTIONS:
            break
        legal = numbers(view)
        try:
            request = table.send(Move("PLAY", legal[luck.below(len(legal))]))
        except StopIteration:
            break
    return found


def _rules(said: str) -> Rules:
    """Return the rules of a game by its name and parameters. Raise NotPlayable if it cannot be played."""
    seats, original = _loaded(said).num_players(), str(library().load_game(said))
    return Rules(seats, original, installed_version(PACKAGE), opening=_opening_of(said))


@cache
def game_named(said: str) -> Game:
    """Return a game of OpenSpiel by its name and parameters. Raise NotPlayable if it cannot be played."""
    rules = _rules(said)
    kind = library().load_game(said).get_type()
    try:
        questions = _questions(rules)
    except Exception as failed:  # a game in Python can raise anything; all other games can still be played
        raise NotPlayable(
            f"raised an exception in a test with random moves: {type(failed).__name__}: {failed}"[:300]
        ) from failed
    return Game(
        name=f"{GAME_PREFIX}:{rules.game}".removesuffix("()"),
        title=f"{kind.long_name} (OpenSpiel)",
        seats=(rules.seats, rules.seats),
        protocol="lines",
        presets={GAME_PREFIX: rules},
        grammar=GRAMMAR,
        play=play,
        allows=allows,
        winners=best_unless_equal,
        view=View,
        edges=questions,
        opening=Opening("seat", 1, below="LOWEST", otherwise="HIGHEST"),
        card=_card(str(kind.long_name), next(iter(questions.values()))),
        chance=Chance(shared=_has_opening),
        moves=_moves,
        display=Display(
            unit="points", secret_answers=kind.information != library().GameType.Information.PERFECT_INFORMATION
        ),
    )


def _moves(rules: Rules) -> list[Move]:
    """Return all moves of a game, in the order of their numbers."""
    return [Move(GRAMMAR.verb, number) for number in range(_loaded(rules.game).num_distinct_actions())]


def _has_opening(rules: Rules) -> bool:
    return rules.opening > 0


def _opening_of(said: str) -> int:
    """Return the default number of random moves before the bots are asked.

    If the seats move at the same time, it is a multiple of the number of seats: each seat makes equally many of these
    moves.
    """
    spiel, kind = library(), library().load_game(said).get_type()
    if kind.chance_mode != spiel.GameType.ChanceMode.DETERMINISTIC:
        return 0
    game = _loaded(said)
    opening = min(OPENING, game.max_game_length() // 2)
    together = kind.dynamics == spiel.GameType.Dynamics.SIMULTANEOUS
    return int(opening - opening % game.num_players()) if together else int(opening)


def _card(title: str, example: AnyView) -> str:
    """Return the paragraph about a game for participants. `example` is a question of the game."""
    fields = " ".join(f"<{name}>" for name in example._fields)  # type: ignore[attr-defined]
    return CARD.format(game=title, fields=fields, example=_shortened(example))


def _shortened(view: AnyView) -> str:
    """Return a question as a line; after 300 characters, "…" replaces the rest."""
    line = encode_view(view).decode().rstrip("\n")
    return line if len(line) <= 300 else f"{line[:300]}…"
