"""`croupier.env`: a game as an environment of PettingZoo or Gymnasium for learners, against bots in their sandboxes."""

import contextlib
import secrets
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import trio
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from pettingzoo import AECEnv

from croupier.functions import Player, answer_all, function_bots
from croupier.playing import Bot
from croupier.session import Bar, Error, errors, session
from croupier.table_copy import TableCopy
from host.base.errors import Problem, UserError
from host.bots.bot_spec import BuiltBot
from host.bots.host_failures import HostFailures
from host.bots.monitor import Monitor
from host.bots.seat import Seat
from host.games.engine import Game
from host.journal.tournament_dir import read_seed
from host.ops.adhoc import Conditions, adhoc_settings
from host.ops.bots import find_bots
from host.play.bot_pool import BotPool
from host.play.jobs import WorkerSetup
from host.play.match import OwnRules, OwnTable, max_open_tables
from host.play.stepping import NAME, PLAYER, SteppedTable, SteppedTables, endless_setups
from host.play.table_plans import bot_of, player_name, process_number
from host.rules.catalogue import CustomName, ref_of
from host.stages.adhoc import Adhoc
from host.submissions.examine import prepare_bots
from host.tournament.adhoc import AdhocSettings
from protocols.wire import MAX_LINE_BYTES, Answer, View, encode_views, read_text

AGENT = "player"
"""The name of the only agent of the PettingZoo environment."""

MAX_QUESTION = 1 << 20  # characters of a question
PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
"""The characters of a question, and of an answer as text."""


Features = Callable[[Any], Sequence[float]]
"""Returns numbers for a view, the same number of them for every view."""

Functions = Sequence[tuple[BuiltBot, Player]]
"""The opponents that are functions of this process."""


class _Bots:
    """The processes of the opponents until the next seed or the end, with their names and faults."""

    def __init__(self, pool: BotPool, bots: Sequence[BuiltBot], stack: contextlib.AsyncExitStack) -> None:
        self._pool, self._stack = pool, stack
        self._bots = {bot.name: bot for bot in bots}
        self.seats: dict[str, Seat] = {}
        self._failures = HostFailures()

    def players(self, bots: Sequence[str], index: int) -> tuple[str, ...]:
        """Return the names of the processes that play a table at this index, by seat; PLAYER for the agent.

        One process of a bot plays as many tables at the same time as the bot can. A bot that has several seats at a
        table has one process for each of them.
        """
        found, copies = [*bots], len(bots) - 1
        for place, bot in enumerate(bots):
            if bot != PLAYER:
                group = index // max_open_tables(self._bots[bot])
                found[place] = player_name(bot, group * copies + bots[:place].count(bot))
        return tuple(found)

    async def seat(self, players: Iterable[str]) -> None:
        """Start the processes in `players` that have not been started yet."""
        for player in players:
            if player != PLAYER and player not in self.seats:
                block = self._pool.seat(bot_of(player), process_number(player), NAME, self._failures)
                self.seats[player] = await self._stack.enter_async_context(block)

    def faults(self) -> dict[str, dict[str, int]]:
        """Return the number of faults so far, by bot, then by kind. Bots without faults are left out."""
        found: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for player, seat in self.seats.items():
            bot = bot_of(player)
            for kind, number in seat.faults.items():
                found[bot][str(kind)] = found[bot].get(str(kind), 0) + number
        return dict(found)


class _Tables:
    """The tables of an environment. croupier plays them in its own thread. The first reset begins them.

    Its methods raise the exceptions of `Session.run`.
    """

    def __init__(self, settings: AdhocSettings, functions: Functions, count: int) -> None:
        if (known := ref_of(settings.game)).has_referee:
            why = "cannot be stepped: its rules are in a program of their own"
            hint = "play and compare work; for a learner, a game in Python"
            raise Error(CustomName("game", known.said).refused(why, hint))
        self.settings, self.count, self._session = settings, count, session()
        self._functions = functions
        self._root = b""
        self._stepped: SteppedTables | None = None
        self._bots: _Bots | None = None
        self._end, self._ended = trio.Event(), trio.Event()
        self._built: Sequence[BuiltBot] = ()

    @property
    def tables(self) -> Sequence[SteppedTable]:
        """Return the present tables, by index. Raise RuntimeError as `_open`."""
        return self._open[0].tables

    @property
    def _open(self) -> tuple[SteppedTables, _Bots]:
        """Return the tables and the bots. Raise RuntimeError before the first reset, and after `close`."""
        if self._stepped is None or self._bots is None:
            raise RuntimeError("the environment has no tables: call reset() first, also after close()")
        return self._stepped, self._bots

    @property
    def begun(self) -> bool:
        """Whether a reset has begun the tables."""
        return self._stepped is not None

    def begin(self, seed: int | str | None) -> None:
        """Begin again at the first table of a seed (None: a random seed), with new processes of the bots."""
        self._root = secrets.token_bytes(16) if seed is None else read_seed(str(seed))
        if self._session is not (now := session()):  # croupier.close() has ended the bots
            self._session, self._bots = now, None
        self._session.run(self._begin)

    async def _begin(self) -> None:
        await self._stop()
        settings = self.settings
        if not self._built:
            with Bar(shown=False) as bar:
                _, built = await prepare_bots(
                    settings.submissions, settings.game, settings.limits, settings.level, warn=bar.say
                )
                self._built = [*built, *(bot for bot, _ in self._functions)]
        self._end, self._ended = trio.Event(), trio.Event()
        self._bots = await self._session.start(self._hold, self._end)
        setups = enumerate(endless_setups(settings.rules, [bot.name for bot in self._built], self._root), 1)
        rules, bots = OwnRules(settings.game, self._root), self._bots

        def new_table(index: int) -> OwnTable:
            number, setup = next(setups)
            return rules.begin(index, number, setup._replace(bots=bots.players(setup.bots, index)))

        self._stepped = SteppedTables(self.count, new_table, rules, bots.seats)
        await self._advance({})

    async def _hold(self, task_status: trio.TaskStatus[_Bots]) -> None:
        """Keep the sandboxes of the bots until the environment is closed or gets another seed."""
        settings, end, ended = self.settings, self._end, self._ended
        setup = WorkerSetup(settings.game, settings.rules, tuple(self._built), self._root, settings.level)
        async with trio.open_nursery() as nursery, contextlib.AsyncExitStack() as sandboxes:
            monitor = Monitor()
            nursery.start_soon(monitor.run)
            async with contextlib.AsyncExitStack() as seats:
                answers = {bot.name: answer_all(bot.name, player, settings.game) for bot, player in self._functions}
                pool = BotPool(setup, sandboxes, monitor, functions=answers)
                task_status.started(_Bots(pool, self._built, seats))
                await end.wait()
            await sandboxes.aclose()
            nursery.cancel_scope.cancel()
        ended.set()

    def copy(self, index: int, interface: "_Interface") -> TableCopy:
        """Return a copy of the table at this index."""
        with errors():
            return TableCopy(self.tables[index].played, self._root, interface.answer, interface.meanings)

    def advance(self, moves: Mapping[int, Answer]) -> None:
        """Play the agent's moves, by index of the table, until every table asks the agent or is over."""
        self._session.run(partial(self._advance, moves))

    def renew(self, indices: Iterable[int]) -> None:
        """Begin new tables at these indices, and play them until they ask the agent or are over."""
        self._session.run(partial(self._renew, indices))

    def play_on(self, moves: Mapping[int, Answer]) -> dict[int, SteppedTable]:
        """Play the agent's moves, by index of the table. Return the tables that are over then, by index.

        Begin a new table at each of these indices.
        """
        over: dict[int, SteppedTable] = {}

        async def work() -> None:
            await self._advance(moves)
            over.update({index: table for index, table in enumerate(self.tables) if table.scores is not None})
            # A new table may end without a question to the agent.
            while ended := [index for index, table in enumerate(self.tables) if table.scores is not None]:
                await self._renew(ended)

        self._session.run(work)
        return over

    async def _renew(self, indices: Iterable[int]) -> None:
        for index in indices:
            self._open[0].renew(index)
        await self._advance({})

    async def _advance(self, moves: Mapping[int, Answer]) -> None:
        stepped, bots = self._open
        for table in stepped.new:
            await bots.seat(table.open.bots)
        await stepped.advance(moves)

    def faults(self) -> dict[str, dict[str, int]]:
        """Return the number of faults so far, by bot, then by kind. Bots without faults are left out."""
        return self._bots.faults() if self._bots is not None else {}

    async def _stop(self) -> None:
        if self._bots is not None:
            self._bots = None
            self._end.set()
            await self._ended.wait()

    def close(self) -> None:
        """End all bots."""
        if self._bots is not None:
            self._session.run(self._stop)
        self._stepped = None

    def release(self) -> None:
        """Make the bots end, but do not wait for their end. Python calls this when the environment no longer exists."""
        self._session.soon(self._end.set)


class _Interface:
    """Observations and actions of a game: their spaces, and the conversion of views and moves.

    `__init__` raises UserError (exit code 2) if `obs` is an unknown word, or if it is "array" and views cannot be arrays.
    """

    def __init__(self, game: Game, rules: Any, obs: str | Features) -> None:
        self._game, self._rules = game, rules
        if obs == "array":
            obs = _numbers_of(game)
        elif isinstance(obs, str) and obs != "dict":
            raise _refused(f"there are no observations {obs!r}", '"dict", "array" or a function', "obs")
        self._features = None if isinstance(obs, str) else obs
        self._moves = tuple(game.moves(rules)) if game.moves else ()
        self._fields: tuple[str, ...] = game.view._fields
        example = game.examples[0]
        numbers = [name for name, value in zip(self._fields, example, strict=True) if isinstance(value, int)]
        text = spaces.Text(MAX_QUESTION, min_length=0, charset=PRINTABLE)
        self._numbers = frozenset(numbers)
        limits = np.iinfo(np.int64)
        fields: dict[str, spaces.Space[Any]] = {
            name: spaces.Box(limits.min, limits.max, (1,), np.int64) if name in numbers else text
            for name in self._fields
        }
        more: dict[str, spaces.Space[Any]] = {"text": text}
        self.actions: spaces.Space[Any] = spaces.Text(MAX_LINE_BYTES, min_length=0, charset=PRINTABLE)
        if self._moves:
            more["action_mask"] = spaces.Box(0, 1, (len(self._moves),), np.int8)
            self.actions = spaces.Discrete(len(self._moves))
        self.observations: spaces.Space[Any] = spaces.Dict({**fields, **more})
        if self._features:
            self._size = len(self._features(example))
            self.observations = spaces.Box(-np.inf, np.inf, (self._size,), np.float32)

    @property
    def meanings(self) -> list[str]:
        """Return the moves as text, by number; an empty list if the game does not list its moves."""
        return [self._game.grammar.spell(move) for move in self._moves]

    def answer(self, action: Any) -> Answer:
        """Return the answer that an action means. Raise UserError (exit code 2) if no move has this number.

        If the game does not list its moves, the action is a text. A text that the game does not know is a fault.
        """
        if self._moves:
            if not 0 <= int(action) < len(self._moves):
                raise _refused(f"{action} is not the number of a move", f"0 to {len(self._moves) - 1}")
            return self._moves[int(action)]
        return read_text(self._game.grammar, str(action))

    def observation(self, view: View) -> Any:
        """Return the observation of a view: an array, or a dictionary with fields, text and the mask of legal moves."""
        found = self.observations_of([view])
        return found[0] if self._features else {name: column[0] for name, column in found.items()}

    def mask(self, views: Sequence[View]) -> dict[str, Any]:
        """Return {"action_mask": masks by view} if observations are arrays and the game lists its moves; otherwise {}."""
        return {"action_mask": self._mask(views)} if self._features and self._moves else {}

    def _mask(self, views: Sequence[View]) -> NDArray[Any]:
        allows, rules, moves = self._game.allows, self._rules, self._moves
        return np.array([[allows(rules, view, move) for move in moves] for view in views], np.int8)

    def observations_of(self, views: Sequence[View]) -> Any:
        """Return the observations of views: one float32 array of shape (views, n), or a dictionary of columns.

        A column of numbers is an int64 array of shape (views, 1), a column of texts is a tuple, and "action_mask" is an
        int8 array of shape (views, moves). Raise ValueError if a function returns a different number of numbers for a view.
        """
        if self._features:
            rows = [self._features(view) for view in views]
            if wrong := [row for row in rows if len(row) != self._size]:
                raise ValueError(f"obs: {self._size} numbers for the first view, {len(wrong[0])} for another")
            return np.array(rows, np.float32)
        lines = encode_views(views).decode().splitlines()
        spelled = zip(*[line.split(" ") for line in lines], strict=True)
        found: dict[str, Any] = {
            name: np.array([values], np.int64).T if name in self._numbers else texts
            for name, values, texts in zip(self._fields, zip(*views, strict=True), spelled, strict=True)
        }
        found["text"] = tuple(lines)
        return found | ({"action_mask": self._mask(views)} if self._moves else {})


def _flat(field: Any) -> list[Any]:
    return [number for each in field for number in _flat(each)] if isinstance(field, tuple) else [field]


def _numbers_of(game: Game) -> Features:
    """Return the function that returns all numbers of a view.

    Raise UserError (exit code 2) if a field does not consist of the same number of numbers in all examples of the game.
    """
    columns = {name: list(map(_flat, values)) for name, *values in zip(game.view._fields, *game.examples, strict=True)}
    unfit = [
        name
        for name, values in columns.items()
        if len({*map(len, values)}) > 1 or not all(isinstance(each, int | float) for value in values for each in value)
    ]
    if unfit:
        message = f"the view of {game.name} is not an array: {', '.join(unfit)} are not always as many numbers"
        raise _refused(message, "a function that returns numbers for a view", "obs")
    return _flat


def _refused(message: str, hint: str, where: str = "action") -> UserError:
    return UserError([Problem("U001", where, message, hint=hint)], 2)


class _Closing:
    """Makes an environment a context manager: the end of a `with` block closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()  # type: ignore[attr-defined]  # each environment has it


def _ignore(options: object) -> None:
    if options:
        warnings.warn(f"reset: croupier has no options, so {options!r} has no effect", stacklevel=3)


def _info(table: SteppedTable) -> dict[str, Any]:
    """Return the entry of a table in `infos`: `table`, `seat`, `illegal` and `view`, or at its end `bots` and `scores`."""
    info: dict[str, Any] = {"table": table.number, "seat": table.seat, "illegal": table.was_illegal}
    if table.scores is None:
        return info | {"view": table.view}
    return info | {"bots": tuple(AGENT if bot == PLAYER else bot for bot in table.bots), "scores": table.scores}


class TableEnv(_Closing, AECEnv):  # type: ignore[misc]  # it has no stubs
    """A table at which the only agent, `player`, plays against bots, as a PettingZoo environment (AEC).

    `reset()` begins the next table; `reset(seed=…)` begins again at the first one. The reward is the agent's score at
    the end of the table, and 0 before.

    An observation is a dictionary, or a float32 array of shape (n,) (see `obs` of `croupier.env`). The dictionary has
    the fields of the view, numbers as int64 arrays of shape (1,) and all others as text; the whole question as `text`;
    and, if the game lists its moves, `action_mask`, an int8 array with 1 for each legal move.

    `infos["player"]` has `table` (its number, from 1), `seat` (from 0), `illegal` (whether the last move was illegal or
    unreadable), `faults` (numbers by bot, then by kind), and `view`; at the end of the table `bots` (names by seat) and
    `scores` (by seat) instead of `view`. With arrays it also has `action_mask`.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "croupier", "render_modes": [], "is_parallelizable": False}

    def __init__(self, settings: AdhocSettings, functions: Functions, count: int, interface: _Interface) -> None:
        self._settings, self._functions, self._count = settings, functions, count
        self._tables = _Tables(settings, functions, 1)
        weakref.finalize(self, self._tables.release)
        self._interface = interface
        self.possible_agents: list[str] = [AGENT]
        self.agents: list[str] = []
        self.action_meanings: list[str] = self._interface.meanings
        """The moves as text, by number; empty if an action is the text of an answer."""
        self.render_mode = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of observations; it is the same for every agent."""
        return self._interface.observations

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of actions: numbers of moves, or texts if the game does not list its moves."""
        return self._interface.actions

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin the next table; with a seed, the first one, with new processes of the bots. `options` have no effect.

        Play until the agent is asked. Raise croupier.Error if a bot cannot be built, and RuntimeError if a function at
        a table calls this.
        """
        _ignore(options)
        with errors():
            if seed is not None or not self._tables.begun:
                self._tables.begin(seed)
            else:
                self._tables.renew([0])
            while self._tables.tables[0].scores is not None:  # it has ended without a question to the agent
                self._tables.renew([0])
        self.agents, self.agent_selection = [AGENT], AGENT
        self.rewards, self._cumulative_rewards = {AGENT: 0.0}, {AGENT: 0.0}
        self.terminations, self.truncations = {AGENT: False}, {AGENT: False}
        self._seen()

    def _seen(self) -> None:
        """Store the observation of the agent's present view, if it has one, and `infos`."""
        table = self._tables.tables[0]
        if table.view is not None:
            self._observation = self._interface.observation(table.view)
            self._mask = {name: column[0] for name, column in self._interface.mask([table.view]).items()}
        self.infos = {AGENT: _info(table) | self._mask | {"faults": self._tables.faults()}}

    def observe(self, agent: str) -> Any:
        """Return the last observation of the agent. At the end of a table it is the one before the last move."""
        return self._observation

    def clone(self) -> TableCopy:
        """Return a copy of the table as it is now. The caller plays every seat of the copy.

        Raise RuntimeError before the first `reset`, and after `close`.
        """
        return self._tables.copy(0, self._interface)

    def step(self, action: Any) -> None:
        """Play a move: its number in `action_meanings`, or the text of an answer if the game does not list its moves.

        The bots answer until the agent is asked again, or the table is over. Once it is over, the only valid action is
        None. Call `reset` first. Raise croupier.Error if no move has this number, and RuntimeError after `close`.
        """
        if self.terminations[AGENT]:
            self._was_dead_step(action)
            return
        with errors():
            self._tables.advance({0: self._interface.answer(action)})
        table = self._tables.tables[0]
        self._cumulative_rewards = {AGENT: 0.0}
        self.rewards = {AGENT: 0.0 if table.scores is None else float(table.scores[table.seat])}
        self.terminations = {AGENT: table.scores is not None}
        self._seen()
        self._accumulate_rewards()

    def render(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """End the bots. `reset` starts them again."""
        self._tables.close()

    def vector(self) -> "TablesEnv":
        """Return a vector environment of Gymnasium that plays `tables` tables (see `croupier.env`) at the same time.

        It is independent of this environment. Close each of them.
        """
        return TablesEnv(self._settings, self._functions, self._count, self._interface)


class TablesEnv(_Closing, VectorEnv[Any, Any, NDArray[Any]]):
    """Tables that are played at the same time, as a vector environment of Gymnasium.

    Observations are those of `TableEnv` in batches: a float32 array of shape (tables, n); or a dictionary, in which
    numbers are int64 arrays of shape (tables, 1), texts are tuples, and `action_mask` is an int8 array of shape
    (tables, moves). `infos` has `illegal`, a bool array, and `faults`, numbers by bot, then by kind; with arrays it
    also has `action_mask`.

    When a table is over, the same step begins the next one (`AutoresetMode.SAME_STEP`). Then `infos["final_info"]`, a
    dictionary of arrays by table, has the `scores` and `bots` by seat, and `infos["final_obs"]` the last observation.
    """

    def __init__(self, settings: AdhocSettings, functions: Functions, count: int, interface: _Interface) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.num_envs = count
        self._tables = _Tables(settings, functions, count)
        weakref.finalize(self, self._tables.release)
        self._interface = interface
        self.single_observation_space = self._interface.observations
        self.single_action_space = self._interface.actions
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self.action_meanings: list[str] = self._interface.meanings

    @property
    def views(self) -> list[Any]:
        """Return the view of the agent at each table, a NamedTuple of the game. Raise RuntimeError before `reset`."""
        return [table.view for table in self._tables.tables]

    def clone(self, index: int) -> TableCopy:
        """Return a copy of the table at an index (from 0) as it is now. The caller plays every seat of the copy.

        Raise RuntimeError before the first `reset` and after `close`, and IndexError if there is no such table.
        """
        return self._tables.copy(index, self._interface)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new tables; with a seed, begin again at its first table, with new processes of the bots.

        Return the observations and `infos`. All tables have one seed: of several seeds the first counts. `options` have
        no effect. Raise croupier.Error if a bot cannot be built, and RuntimeError if a function at a table calls this.
        """
        _ignore(options)
        one = seed if isinstance(seed, int) or seed is None else next(iter(seed), None)
        with errors():
            if one is not None or not self._tables.begun:
                self._tables.begin(one)
            else:
                self._tables.renew(range(self.num_envs))
            self._tables.play_on({})
        observed = self._observed()
        return observed, {"faults": self._tables.faults()} | self._interface.mask(self._seen)

    def step(self, actions: Any) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play a move at every table, in the order of the tables, until the agent is asked again at all of them.

        Return the observations; the rewards, a float64 array with the agent's score at each table that is over, and 0
        at the others; whether each table is over, a bool array; an array of False, because no table is cut off; and
        `infos`.

        Raise ValueError unless there is one action for each table, croupier.Error if an action is not the number of a
        move, and RuntimeError after `close`. Call `reset` first.
        """
        if isinstance(actions, str) or len(actions) != self.num_envs:
            raise ValueError(f"actions: one for each of {self.num_envs} tables, not {actions!r}")
        with errors():
            seen = self._seen
            over = self._tables.play_on({index: self._interface.answer(action) for index, action in enumerate(actions)})
        rewards, ended = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        infos: dict[str, Any] = {"illegal": np.zeros(self.num_envs, bool), "faults": self._tables.faults()}
        for index, table in enumerate(self._tables.tables):
            infos["illegal"][index] = over.get(index, table).was_illegal
        if over:
            final, last = dict[str, Any](), np.full(self.num_envs, None, object)
            for index, table in over.items():
                rewards[index], ended[index] = (table.scores or ())[table.seat], True
                final = self._add_info(final, _info(table), index)
                last[index] = self._interface.observation(seen[index])
            infos |= {"final_info": final, "_final_info": ended, "final_obs": last, "_final_obs": ended}
        observed = self._observed()
        return observed, rewards, ended, np.zeros(self.num_envs, bool), infos | self._interface.mask(self._seen)

    def _observed(self) -> Any:
        self._seen = [table.view for table in self._tables.tables if table.view is not None]
        return self._interface.observations_of(self._seen)

    def close_extras(self, **_: Any) -> None:
        """End the bots. `close()` calls this; `reset` starts them again."""
        self._tables.close()


def make(
    folder: Path,
    opponents: Sequence[Bot],
    chosen: Conditions,
    tables: int,
    seats: int | None,
    obs: str | Features,
) -> TableEnv:
    """Return an environment in which an agent plays a game against bots. See `croupier.env`, also for its exceptions."""
    with errors():
        found = find_bots(folder, [str(bot) for bot in opponents if not callable(bot)], chosen.game)
        functions = function_bots([bot for bot in opponents if callable(bot)], {bot.name for bot in found.submissions})
        if not opponents:
            raise ValueError("opponents: at least one")
        if found.game.sides is not None:
            raise _refused(f"{found.game.name} has partners: an agent would need several seats", "another game")
        settings = adhoc_settings(folder, found, Adhoc(), chosen)
    low, high = found.game.seats
    if not low <= (seats := seats or low) <= high:
        raise ValueError(f"seats: a table of {found.game.name} has {low} to {high}")
    settings = settings._replace(rules=settings.rules._replace(seats=seats))
    with errors():
        interface = _Interface(settings.game, settings.rules, obs)
    return TableEnv(settings, functions, tables, interface)
