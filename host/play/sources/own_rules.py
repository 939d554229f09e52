"""Opens the rules of a game that is not croupier's own: a referee, an organiser's Python code, or a game of a library.

Python rules run in a process of their own (host/referees/python_rules.py). They are as trusted as croupier: the process
has the same user and the same access to files. But if the process ends, the worker does not end, and no worker waits
for the process longer than MAX_RULES_S.
"""

import contextlib
import os
import signal
import sys
from collections import namedtuple
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from host.base.errors import Problem, UserError
from host.base.python_module import module_command, module_environment
from host.bots.bot_spec import BotSpec, BuiltBot
from host.games.engine import Game, Moves, Request, new_tuple
from host.games.luck import derive
from host.play.records import spelled_answer
from host.play.sources.referee import (
    BROKEN,
    Phrases,
    ProcessEnded,
    RefereeProgram,
    RulesProcess,
    referee_source,
    running,
)
from host.play.sources.rules_messages import HEAD, Failure, Opening, RoundInput, ViewType, framed
from host.play.sources.source import NewTable, OpenSource, SourceFailed, SourcePlace, Step
from host.play.sources.steady import MAX_ROOM
from host.rules.catalogue import MAX_RULES_S, GameRef, ref_of
from host.rules.game_toml import load_referee_game
from host.sandbox.bubblewrap import Home
from host.sandbox.keeper import EXITED, Ended
from host.sandbox.levels import UNPROTECTED
from host.sandbox.limits import GIB, MIB, Limits
from protocols.wire import Answer

PROGRAM = "host.referees.python_rules"
LIMITS = Limits(move=MAX_RULES_S, startup=60.0, memory=8 * GIB, tasks=4096, files=64 * GIB, open_files=4096)


def source_of(game: Game) -> OpenSource | None:
    """Return the function that opens a source with the rules of a game.

    Return None for one of croupier's own games, and for a referee that has not been built on this machine.
    """
    known = ref_of(game)
    if known.referee is not None:
        words = load_referee_game(Path(known.referee.folder)).file.words
        return partial(referee_source, RefereeProgram(known.referee, game, words))
    return partial(python_source, game, known) if known.said and not known.has_referee else None


TASKS_PER_TABLE = 64
BYTES_PER_TABLE = 128 * MIB
"""Tasks and memory that a table may need if its referee was written for another host.

Then an adapter starts a process for each table, for example a Java virtual machine.
"""


def room_of(game: Game) -> int:
    """Return how many tables the process of a game's rules may hold at the same time within its sandbox's limits."""
    known = ref_of(game)
    if known.referee is None or load_referee_game(Path(known.referee.folder)).file.adapter is None:
        return MAX_ROOM
    limits = known.referee.limits
    return max(1, min(limits.tasks // TASKS_PER_TABLE, limits.memory // BYTES_PER_TABLE))


def _how_it_ended(how: Ended) -> str:
    if not how.flags & EXITED or os.WIFSIGNALED(how.status):
        number = os.WTERMSIG(how.status)
        return f"ended its process ({signal.strsignal(number) or f'signal {number}'})"
    return f"ended its process (exit code {os.WEXITSTATUS(how.status)})"


OF_RULES = Phrases("it", "computed for {:g} s and did not return".format, _how_it_ended)


@contextlib.asynccontextmanager
async def python_source(game: Game, known: GameRef, place: SourcePlace) -> AsyncIterator["PythonSource"]:
    """Start a process with rules in Python for the length of the block. Raise SourceFailed if it does not start.

    Raise UserError (exit code 3) if the rules cannot be imported.
    """
    argv = tuple(module_command(PROGRAM, known.said, known.folder, str(Path.cwd())))
    env = tuple(module_environment().items())
    built = BuiltBot(BotSpec(name=game.name), argv, known.folder or "/", "", env, LIMITS)
    home = Home(Path(built.folder), trusted=True)
    async with running(built, place._replace(level=UNPROTECTED), home, OF_RULES) as process:
        source = PythonSource(process)
        await source.greet()
        yield source


class _Reply(msgspec.Struct, array_like=True, gc=False):
    """A `Reply` whose views have not been decoded."""

    view_types: list[ViewType]
    steps: list[tuple[tuple[tuple[int, int, msgspec.Raw], ...], tuple[int, ...] | None, tuple[int, ...], Moves | None]]


_read_reply = msgspec.msgpack.Decoder(_Reply).decode
_Scalar = int | str | bool | None
_Item = int | str | bool | tuple[_Scalar, ...] | None
_Value = int | str | bool | tuple[_Item, ...] | None
"""Type for a value of a view whose declared type contains no NamedTuple. It replaces the declared type."""


def _holds_named_tuples(hint: Any) -> bool:
    return hasattr(hint, "_fields") or any(map(_holds_named_tuples, get_args(hint)))


class _ViewType(NamedTuple):
    """A type of views, and the decoder for the values of such a view."""

    view: type[Any]
    read: Callable[[msgspec.Raw], tuple[Any, ...]]

    @classmethod
    def of(cls, said: ViewType) -> "_ViewType":
        """Return the type of views that the process has named, and its decoder.

        If this process has not imported the type, create a NamedTuple with the same fields, without nested types.
        """
        view: Any = sys.modules.get(said.module)
        for name in said.name.split("."):
            view = getattr(view, name, None)
        view = view or namedtuple(said.name.rpartition(".")[2], said.fields)
        hints = get_type_hints(view)
        types = tuple([hint if _holds_named_tuples(hint) else _Value for hint in map(hints.get, said.fields)])
        return cls(view, msgspec.msgpack.Decoder(tuple[types]).decode)  # type: ignore[valid-type]


class PythonSource:
    """A source of questions: a process with rules in Python."""

    def __init__(self, process: RulesProcess) -> None:
        self._process, self._view_types = process, list[_ViewType]()
        self._rules: tuple[Any, bytes] = None, b""  # the rules of the last table, and their encoded form

    async def greet(self) -> None:
        """Wait until the process is ready. Raise SourceFailed if it fails."""
        process = self._process
        process.patience += LIMITS.startup
        await self._exchange(b"")
        process.patience = LIMITS.move

    async def advance(
        self, opened: Sequence[NewTable], answers: Mapping[int, Sequence[Answer]], dropped: Collection[int]
    ) -> Mapping[int, Step]:
        """Return the progress of the tables that are opened or answered (see `Source`)."""
        given = tuple([(number, tuple(map(spelled_answer, some))) for number, some in answers.items()])
        message = framed(RoundInput(tuple(dropped), given, tuple(map(self._opening, opened))))
        reply = _read_reply(await self._exchange(message))
        types = self._view_types
        types += map(_ViewType.of, reply.view_types)
        found = dict[int, Step]()
        try:
            for number, said in zip([*answers, *[table.number for table in opened]], reply.steps, strict=True):
                asked, scores, illegal, moves = said
                requests = tuple(
                    [
                        new_tuple(Request, (seat, new_tuple(types[nth].view, types[nth].read(values))))
                        for seat, nth, values in asked
                    ]
                )
                found[number] = new_tuple(Step, (requests, scores, illegal, (), (), moves))
        except msgspec.ValidationError as wrong:
            raise SourceFailed(f"{OF_RULES.name} {BROKEN}: a view is not what its type says: {wrong}") from wrong
        return found

    def _opening(self, table: NewTable) -> Opening:
        rules = table.setup.rules
        if rules is not self._rules[0]:
            self._rules = rules, msgspec.msgpack.encode(rules)
        luck = derive(table.root, table.luck_path)
        return Opening(table.number, msgspec.Raw(self._rules[1]), luck, bool(table.setup.luck))

    async def _exchange(self, message: bytes) -> bytes:
        """Write a message, and return the reply.

        If there is no reply, raise SourceFailed, or the UserError that the process has reported.
        """
        process, reply = self._process, bytearray()
        try:
            await process.ask(message, partial(self._read_reply, reply))
        except ProcessEnded as ended:
            raise self._failed(await process.verdict(ended)) from None
        return bytes(reply[HEAD.size :])

    async def _read_reply(self, reply: bytearray) -> None:
        size = HEAD.size
        while len(reply) < size:
            reply += await self._process.read()
            if size == HEAD.size <= len(reply):
                size += HEAD.unpack_from(reply)[0]

    def _failed(self, reason: str) -> SourceFailed:
        """Return the failure that the process has reported; if it has reported none, one with `reason`.

        Raise UserError if the process has reported a UserError.
        """
        said = self._process.stderr.tail()
        try:
            failure = msgspec.json.decode(said.rstrip(b"\n").rpartition(b"\n")[2], type=Failure)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return SourceFailed(f"{OF_RULES.name} {reason}", said=said)
        if failure.refused:
            raise UserError([Problem(*each) for each in failure.refused], failure.exit_code)
        return SourceFailed(failure.reason, failure.table, where=failure.where)
