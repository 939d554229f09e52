"""Plays the tables of a game whose rules are in Python: `python -m host.referees.python_rules GAME FOLDER HERE`.

The game is in an organiser's code in FOLDER, or in OpenSpiel or TextArena. The working directory of the process is
HERE. The process reads and writes the messages of host/play/sources/rules_messages.py. It reports no events: a replay
plays the recorded answers again. If the rules fail, the process writes the reason as the last line of standard error,
and ends.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from host.base.errors import UserError
from host.base.python_module import reduce_gc
from host.games.engine import Game, GameFailed, Table
from host.games.luck import Deal, Luck
from host.play.lines import moves_of
from host.play.records import read_answer
from host.play.sources.rules_messages import HEAD, READY, Failure, Opening, Reply, RoundInput, Said, ViewType, framed
from host.rules.catalogue import GameRef, game_failure, reload_game
from protocols.wire import MAX_CACHED_CHARS, Answer

MAX_REMEMBERED_ANSWERS = 1000


class _Failed(Exception):
    """Raised when the rules fail at a table. Its `__cause__` is the exception of the rules."""

    def __init__(self, table: int) -> None:
        super().__init__(table)
        self.table = table


class _Answers(dict[str, Answer]):
    """Cache of parsed answers, by the text of an answer in the journal. Most games have few different answers."""

    def __missing__(self, spelled: str) -> Answer:
        answer = read_answer(spelled)
        if len(self) < MAX_REMEMBERED_ANSWERS and len(spelled) <= MAX_CACHED_CHARS:
            self[spelled] = answer
        return answer


class _ViewTypes(dict[type[Any], int]):
    """Numbers of the types of views, from 0. `new` lists the types that got their number in the current reply."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[ViewType] = []

    def __missing__(self, kind: type[Any]) -> int:
        self.new.append(ViewType(kind.__module__, kind.__qualname__, getattr(kind, "_fields", ())))
        number = self[kind] = len(self)
        return number


class Tables:
    """The open tables of a game, by number."""

    def __init__(self, game: Game) -> None:
        self._game, self._tables, self._answers, self._view_types = game, dict[int, Table](), _Answers(), _ViewTypes()
        self._type = type(game.default_rules)
        self._rules: tuple[bytes, Any] = b"", None  # rules of the last opened table: their bytes and their value

    def reply(self, given: RoundInput) -> Reply:
        """Return the reply to an input: the next step of each table in it. Raise _Failed if the rules fail."""
        self._view_types.new = []
        steps = [*self._steps(given)]
        return Reply(self._view_types.new, steps)

    def _steps(self, given: RoundInput) -> Iterator[Said]:
        for number in given.dropped:
            del self._tables[number]
        for number, spelled in given.answers:
            table = self._tables[number]
            try:
                fair = [table.answer(self._answers[each]) for each in spelled]
            except GameFailed as failed:
                raise _Failed(number) from failed
            yield self._step(number, table, () if all(fair) else tuple([at for at, ok in enumerate(fair) if not ok]))
        for opening in given.opened:
            yield self._step(opening.number, self._open(opening), ())

    def _open(self, opening: Opening) -> Table:
        written = bytes(opening.rules)
        if written != self._rules[0]:  # most tables have the rules of the table before
            self._rules = written, msgspec.msgpack.decode(written, type=self._type)
        luck = (Deal if opening.shares_luck else Luck).of_key(opening.luck)
        try:
            table = self._tables[opening.number] = Table(self._game, self._rules[1], luck)
        except GameFailed as failed:
            raise _Failed(opening.number) from failed
        return table

    def _step(self, number: int, table: Table, illegal: tuple[int, ...]) -> Said:
        request = table.request
        if request is not None:
            types, asked = self._view_types, table.together or (request,)
            return tuple([(seat, types[type(view)], view) for seat, view in asked]), None, illegal, None
        del self._tables[number]
        return (), table.scores, illegal, moves_of(table)


def serve(game: Game, reads: int, writes: int) -> None:
    """Reply to the messages of the worker until they end. Raise _Failed if the rules fail.

    `reads` and `writes` are file descriptors.
    """
    tables, decode = Tables(game), msgspec.msgpack.Decoder(RoundInput).decode
    _write(writes, READY)
    with open(reads, "rb") as messages:
        while head := messages.read(HEAD.size):
            given = decode(messages.read(*HEAD.unpack(head)))
            _write(writes, framed(tables.reply(given)))


def _write(writes: int, data: bytes) -> None:
    while data:
        data = data[os.write(writes, data) :]


def end(failure: Failure) -> NoReturn:
    """Write the failure to standard error and end this process, with all threads that the rules have started."""
    sys.stdout.flush()
    sys.stderr.flush()
    _write(2, b"\n" + msgspec.json.encode(failure) + b"\n")
    os._exit(1)


def main() -> None:
    """Play the tables of the game that the command line names, until the worker closes the pipe."""
    said, folder, here = sys.argv[1:]
    reads, writes = os.dup(0), os.dup(1)  # so that text that the rules print is not read as a message
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.chdir(here)
    try:
        try:
            game = reload_game(GameRef(said, folder))
            reduce_gc()
            serve(game, reads, writes)
        except _Failed as failed:
            assert failed.__cause__ is not None
            reason, where = game_failure(failed.__cause__)
            end(Failure(reason, where, failed.table))
    except UserError as refused:
        end(Failure(refused=tuple(map(tuple, refused.problems)), exit_code=refused.exit_code))


if __name__ == "__main__":
    main()
