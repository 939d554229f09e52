"""Makes the games of TextArena playable: `game = "textarena:SimpleNegotiation-v0"` in croupier.toml.

A question is the text that TextArena shows a seat. An answer is a line of text; TextArena decides whether it is legal.

The environments of TextArena draw from the global generators of Python and numpy. So each table has its own states of
these generators: they are set before TextArena runs for the table, and saved after it.
"""

import contextlib
import io
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from host.base.errors import closest_match
from host.games.engine import Display, Ended, Game, Opening, Play, Request, Scores, Tell, best_unless_equal
from host.games.luck import Luck, Shuffler
from host.rules.libraries import NotPlayable, Playable, check_version, installed_version
from protocols.wire import MAX_TEXT, Answer, Grammar, Lines, Move
from protocols.wire import View as AnyView

GAME_PREFIX, PACKAGE = "textarena", "textarena"
MAX_SEATS = 15  # no game of TextArena has more
MAX_ANSWERS = 1000  # of a table; most games of TextArena have fewer turns
MAX_IN_A_ROW = 100  # answers of one seat: some games go on asking a seat that they have eliminated
MAX_QUESTION = 1 << 18  # characters of a question; the middle of a longer one is left out
MAX_BEGINNING = 1 << 14  # characters before the part that is left out: they contain the rules
SAMPLE_QUESTIONS = 8  # questions of one table: `check` asks them
POINTS_PER_REWARD = 100
BLANKS = re.compile(r"\s+")
"""Blanks in a row in an answer. TextArena gets one space: some of its patterns take hours for thousands of blanks."""

EXAMPLE = re.compile(r"\[(?!GAME\]|Player )[A-Za-z0-9][A-Za-z0-9 ]{0,20}\]")
"""A move that a question names. TextArena encloses moves in square brackets, and also the names of speakers."""
OF_UNORDERED_WORDS = frozenset({"SpellingBee", "WordChains"})
"""Games that draw from a set of words, whose order differs between processes: a seed does not repeat their tables."""
GRAMMAR = Grammar(re.compile(r"(?P<text>.*)"), "a line of text", verb="SAY", utf8=True)
CARD = """\
TextArena's {game}. A question has the seat of the bot, from 0, and a text: all that TextArena has told this seat, the rules \
first. Answer with one line of text, as the rules say; most of them want a move in square brackets, for example {example}. \
Other text is part of the answer: some games show it to the others. An answer that the game does not accept is asked once \
more, with the reason; a second one costs what the game says. A fault is an empty answer."""


class Rules(NamedTuple):
    """The rules of a table. `game` and `version` cannot be changed: a journal shows by them what was played."""

    seats: int
    """The bots at a table."""
    game: str
    """The name of the game in TextArena."""
    version: str
    """The version of TextArena that knows the rules."""
    points: int = POINTS_PER_REWARD
    """The points for a reward of 1. Scores are whole numbers."""


class View(NamedTuple):
    """The question to a bot."""

    seat: int
    text: Lines


@cache
def library() -> Any:
    """Return TextArena's registry of games. Disable its downloads and its use of language models over the network.

    Raise NotPlayable if TextArena is not installed.
    """
    try:
        import nltk
        import textarena
        from textarena.envs import registration
    except ImportError as failed:
        hint = "pip install '.[textarena]'   in a clone of croupier"
        raise NotPlayable(f"needs TextArena, which cannot be imported: {failed}", hint) from failed

    def refused(*_: object, **__: object) -> None:
        raise NotPlayable("asks a language model over the network to judge or to play")

    nltk.download = lambda *_, **__: False  # many environments call it when they are imported
    textarena.agents.OpenRouterAgent = refused
    return registration


class _Chance:
    """Randomness of one table: its states of the global generators of Python and numpy."""

    def __init__(self, seed: int) -> None:
        self._own = _states(random.Random(seed), np.random.RandomState(seed))
        self._began = self._own

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """In the block, let the global generators draw from this randomness. Drop the output that the block prints."""
        others = _states(random, np.random)
        _set_states(self._own)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
        finally:
            self._own = _states(random, np.random)
            _set_states(others)

    @property
    def drawn(self) -> bool:
        """Whether anything has been drawn."""
        return self._own != self._began


def _states(python: Any, numpy: Any) -> tuple[Any, Any]:
    """Return the states of a generator of Python and of a generator of numpy, as values that can be compared."""
    kind, words, *rest = numpy.get_state()
    return python.getstate(), (kind, tuple(words.tolist()), *rest)


def _set_states(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])


def _begun(name: str, seats: int, seed: int) -> Any:
    """Return a TextArena environment at the beginning of a table. Raise any exception that TextArena raises."""
    env = library().make(name)
    env.reset(num_players=seats, seed=seed)
    return env


def _seats_of(name: str) -> tuple[int, int]:
    """Return the fewest and the most bots at a table. Raise NotPlayable if the game cannot be played."""
    if "-raw" in name:
        raise NotPlayable("has questions that are not text", f"leave out -raw: {name.replace('-raw', '')}")
    if name.partition("-")[0] in OF_UNORDERED_WORDS:
        raise NotPlayable("draws from a set of words, so a seed does not repeat it")
    taken, reason = [], ""
    for seats in range(1, MAX_SEATS + 1):
        try:
            with _Chance(0).here():
                if _begun(name, seats, 0).state.num_players == seats:
                    taken.append(seats)
        except LookupError as failed:
            if "nltk" in str(failed):
                hint = "python -m nltk.downloader words averaged_perceptron_tagger_eng"
                raise NotPlayable("needs lists of words that are not on this machine", hint) from failed
            reason = reason or _words(failed)
        except NotPlayable:
            raise
        except Exception as failed:  # TextArena raises anything for a number of players that a game does not have
            reason = reason or _words(failed)
    if taken == [1]:
        raise NotPlayable("is a game for one player")
    several = [seats for seats in taken if seats > 1]
    if not several:
        raise NotPlayable(f"is refused by TextArena: {reason}")
    most = next(seats for seats in several if seats + 1 not in several)
    return several[0], most


def _words(failed: BaseException) -> str:
    return f"{type(failed).__name__}: {' '.join(str(failed).split())}"[:200]


def playable_games() -> list[Playable]:
    """Return all games of TextArena, sorted by name. A game that croupier cannot play has the reason in `obstacle`."""
    names = sorted(name for name in library().ENV_REGISTRY if "-raw" not in name and "-train" not in name)
    return [_playable(name) for name in names]


def _playable(name: str) -> Playable:
    title = name.partition("-v")[0]
    try:
        return Playable(name, title, game_named(name).seats, "")
    except NotPlayable as failed:
        return Playable(name, title, (0, 0), f"it {failed}")


def allows(_rules: Rules, _view: AnyView, _move: Move) -> bool:
    """Return True: TextArena itself checks an answer when it is played, and asks the seat again if it is not legal."""
    return True


def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
    """Play one game. The scores are TextArena's rewards times `rules.points`, rounded.

    A seat forfeits the table if TextArena raises an exception for its answer, or if TextArena asks the seat more than
    MAX_IN_A_ROW times without asking another one. After MAX_ANSWERS answers the table is a draw.

    Raise UserError (exit code 3) if another version of TextArena is installed than the rules name.
    """
    check_version("TextArena", PACKAGE, rules.game, rules.version)
    seed, answers, over = luck.below(1 << 31), list[str](), False
    last, in_a_row = -1, 0
    chance = _Chance(seed)
    with chance.here():
        env = _begun(rules.game, rules.seats, seed)
    logged = len(env.state.logs)  # the rules, which the questions repeat
    while not over:
        if len(answers) == MAX_ANSWERS:
            return tuple([0] * rules.seats)
        with chance.here():
            seat, text = env.get_observation()
        last, in_a_row = seat, in_a_row + 1 if seat == last else 1
        if in_a_row > MAX_IN_A_ROW:
            return _forfeited(rules, seat)
        answer = yield Request(seat, View(seat, _shortened(text)))
        answers.append(BLANKS.sub(" ", _text_of(answer)))
        if tell:
            tell("say", seat=seat, text=answers[-1][:MAX_TEXT])
        try:
            with chance.here():
                over, _ = env.step(answers[-1])
        except Exception as failed:  # a game raises anything for an unexpected answer: the seat forfeits the table
            if tell:
                tell("raised", seat=seat, text=_words(failed))
            return _forfeited(rules, seat)
        if tell:
            for message in [message for sender, message in env.state.logs[logged:] if sender < 0]:
                tell("game", text=message[:MAX_TEXT])
            logged = len(env.state.logs)
    rewards = env.close()[0] or {}
    scores = tuple([round(rewards.get(each, 0) * rules.points) for each in range(rules.seats)])
    return scores if chance.drawn else Ended(scores, "\n".join(answers))


def _text_of(answer: Answer) -> str:
    return answer.text if isinstance(answer, Move) else ""


def _shortened(text: str) -> str:
    if len(text) <= MAX_QUESTION:
        return text
    return f"{text[:MAX_BEGINNING]}\n…\n{text[MAX_BEGINNING - MAX_QUESTION :]}"


def _forfeited(rules: Rules, seat: int) -> Scores:
    """Return the scores of a table that one seat forfeits: this seat loses a reward of 1, which the others share."""
    return tuple(
        [-rules.points if each == seat else round(rules.points / (rules.seats - 1)) for each in range(rules.seats)]
    )


def example_moves(text: str) -> list[str]:
    """Return the moves that the text of a question names, in square brackets: `["[0]", "[1]"]`."""
    return EXAMPLE.findall(text)


def _questions(rules: Rules) -> list[View]:
    """Return the first questions of a table, up to SAMPLE_QUESTIONS. Each answer is a move that its question names.

    Raise NotPlayable if TextArena raises an exception for such an answer.
    """
    luck, found = Luck(b"croupier", f"{GAME_PREFIX}/{rules.game}"), list[View]()

    def tell(event: str, **facts: Any) -> None:
        if event == "raised":
            raise NotPlayable(f"raised an exception in a test with moves that it names: {facts['text']}")

    table = play(rules, luck, tell)
    with contextlib.suppress(StopIteration):
        request = next(table)
        while isinstance(request, Request) and len(found) < SAMPLE_QUESTIONS:
            found.append(request.view)  # type: ignore[arg-type]
            moves = example_moves(found[-1].text)
            request = table.send(Move(GRAMMAR.verb, text=moves[luck.below(len(moves))] if moves else ""))
    return found


@cache
def game_named(name: str) -> Game:
    """Return a game of TextArena by its name. Raise NotPlayable if it cannot be played."""
    known = library().ENV_REGISTRY
    if name not in known:
        near = closest_match(name, known)
        raise NotPlayable("is not a game of TextArena", f"did you mean {GAME_PREFIX}:{near}?" if near else "")
    low, high = _seats_of(name)
    rules = Rules(low, name, installed_version(PACKAGE))
    questions = _questions(rules)
    example = next(iter(example_moves(questions[0].text)), "[0]")
    title = name.partition("-v")[0]
    return Game(
        name=f"{GAME_PREFIX}:{name}",
        title=f"{title} (TextArena)",
        seats=(low, high),
        protocol="lines",
        presets={GAME_PREFIX: rules},
        grammar=GRAMMAR,
        play=play,
        allows=allows,
        winners=best_unless_equal,
        view=View,
        edges={f"question {nth} of a table": view for nth, view in enumerate(questions, 1)},
        opening=Opening("seat", 1, below=example, otherwise=example),
        card=CARD.format(game=title, example=f"`{example}`"),
        display=Display(unit="points", secret_answers=True),
    )
