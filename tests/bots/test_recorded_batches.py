"""Replay the output of real bots, piece by piece, and compare the events, faults and answers with the recorded ones.

The recordings were made at commit 8e30df4, where one class did the work that batch_state.py, allowance.py and blame.py do
now: every rogue and the bots of test_seat.py, asked one question at a time and several at once. A recording contains
the events of one bot in one fixture:

    start                                      a process was started
    start_error ERRNO                          a process could not be started
    ask TABLES SECONDS                         questions, with the numbers of their tables, and the seconds for the start
    read OUTPUT SECONDS                        a piece of output, and the seconds since the question or the previous answer
    fault FOUND RAW SECONDS LIMIT END FAULT    the fault in the output and its evidence, the limit that was exceeded, how the
                                               process ended (status, stopped, killed for memory), the fault of the question
    answers ANSWERS                            the answers of the batch, up to a fault
    muddled                                    the version of that commit played the fixture again, one table at a time
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from helpers import offenders

from host.bots.allowance import StartupAllowance
from host.bots.batch_state import IDLE, WAITING, AnswerReader, BatchState, OutputFault
from host.bots.blame import Ending, fault_of
from host.games import GAMES
from host.play.records import read_answer
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind

FILE = Path(__file__).parents[1] / "recordings" / "batches.json.gz"
RECORDINGS: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))


class Replay:
    """One bot in one fixture, played through the pure parts. Each method takes an event of the recording."""

    def __init__(self, recording: dict[str, Any]) -> None:
        grammar, table_ids = GAMES[recording["game"]].grammar, recording["table_ids"]
        self.reader = AnswerReader(PROTOCOLS["lines"], grammar, recording["output"], table_ids=table_ids)
        self.state = BatchState(self.reader)
        self.allowance = StartupAllowance(recording["startup"], recording["move"])
        self.starts = 0
        self.answers: list[Answer] = []
        self.violation: OutputFault | None = None

    def start(self) -> None:
        self.state, self.violation = BatchState(self.reader), None
        self.allowance.start()
        self.starts += 1

    def start_error(self, _errno: int) -> None:
        assert self.state.state is IDLE

    def ask(self, tables: int | list[int], seconds: float) -> None:
        # The recordings grant a later start twice the time of the last one, and at least 250 ms unless its budget is used up.
        assert self.allowance.seconds() == pytest.approx(min(seconds, 0.25) if self.starts > 1 else seconds, abs=1e-4)
        self.state.expect(range(tables) if isinstance(tables, int) else tables)
        self.answers = []

    def read(self, output: str, seconds: float) -> None:
        answers, _, self.violation = self.state.receive(output.encode("latin-1"))
        if answers and self.allowance.is_open:
            self.allowance.answered(seconds)
        self.answers += answers

    def fault(
        self, found: str, raw: str, seconds: float, limit: str | None, end: tuple[int, bool, int], fault: str
    ) -> None:
        status, stopped, killed = end
        was = read_answer(found)
        assert isinstance(was, Fault)
        if self.violation is not None:
            assert self.violation.fault == was
            # The recordings contain only the end of the output after an extra line.
            assert self.violation.raw[:2048] == raw.encode("latin-1") or was.kind is FaultKind.EXTRA
        elif self.state.state is WAITING:
            assert was == Fault(FaultKind.TIMEOUT)
        else:
            assert was.kind == limit
            self.answers.pop()  # the last one exceeded it
        exceeded = FaultKind(limit) if limit else None
        crashed = status != 0 and not stopped
        judged = fault_of(Ending(was, exceeded, oom_kills=killed, crashed=crashed))
        assert judged == read_answer(fault)
        self.allowance.failed(seconds)

    def end(self, answers: list[str]) -> None:
        if self.state.state is not WAITING or answers:
            assert self.answers == [read_answer(answer) for answer in answers]
        self.answers = []


def test_recorded_output_gives_the_recorded_faults_and_answers() -> None:
    assert not offenders(check_recording, [(name,) for name in RECORDINGS])


def check_recording(name: str) -> None:
    """Replay a recording."""
    replay, events = Replay(RECORDINGS[name]), RECORDINGS[name]["events"]
    for index, (kind, *values) in enumerate(events):
        getattr(replay, {"answers": "end"}.get(kind, kind))(*values)
        following = [following for following, *_ in events[index + 1 : index + 3]]
        if replay.violation is not None and (following[:1] == ["start"] or following == ["fault", "muddled"]):
            return  # the recorded version charged no fault: an answer too many was a reason to play again


def test_the_recordings_hold_most_faults() -> None:
    faults = {event[6].split()[0] for each in RECORDINGS.values() for event in each["events"] if event[0] == "fault"}
    # test_batch_state.py tests `early`; the other five have no output.
    unrecorded = {"!early", "!start", "!illegal", "!benched", "!exception", "!budget"}
    assert {f"!{kind}" for kind in FaultKind} - faults <= unrecorded
