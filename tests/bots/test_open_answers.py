"""A fixture whose bots ask models goes on at the open question after its run was killed: nobody pays twice."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from command import CROUPIER, croupier, environment, with_one_worker
from helpers import built, fixture_of, level, opened, run, written
from model_server import ModelServer, serving
from test_models import PROBER, access, caller

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.play.jobs import Job
from host.play.open_answers import open_file
from host.play.records import Record, unpack
from host.sandbox.limits import KIB, Bank
from protocols.wire import Fault, FaultKind

pytestmark = pytest.mark.skipif(not level().traits.own_namespaces, reason="models need a sandbox with namespaces")

ASKS = (
    PROBER.partition("said = []")[0]
    + r"""
import zlib
for question in sys.stdin:
    reply = ask(post(GOOD))
    left = reply.partition(b"Requests-Left: ")[2].partition(b"\r")[0]
    print("left", left.decode(), file=sys.stderr, flush=True)
    chance = zlib.crc32(question.encode()) % 6
    if chance == 0:
        sys.exit(3)
    print("nonsense" if chance == 1 else "STAND" if chance == 2 or b"429" in reply[:20] else "END", flush=True)
"""
)
"""A bot that asks a model once for each question. Its answers and faults follow from the question and from its budget."""

COUNTS = """#!/bin/sh
read count < count
count=$((count + 1))
echo $count > count
[ $((count % 3)) = 0 ] && echo STAND || echo END
"""
"""A bot that counts its questions in a state file, and answers by that."""

CONFIG = """
game = "pazaak"
seed = "a seed of 2026"
bots = ["bots/*"]
[limits]
move = "30 s"
[[stage]]
kind = "round-robin"
tables_per_pair = 8
[models.small]
address = "{address}"
requests = 3
"""


def bots_in(folder: Path) -> tuple[Path, Path]:
    """Write the two bots."""
    asks, counts = folder / "asks", folder / "counts"
    for bot, text, suffix, keys in (
        (asks, ASKS, ".py", 'entry = "bot.py"\nprotocol = "lines"\nmodels = ["small"]'),
        (counts, COUNTS, "", 'run = ["./bot"]\nprotocol = "argv"\nstate = "count"'),
    ):
        bot.mkdir(parents=True)
        written(text, suffix, bot)
        (bot / "bot.toml").write_text(f'game = "pazaak"\n{keys}\n')
    return asks, counts


def tournament(folder: Path, address: str) -> Path:
    """Write a tournament of the two bots."""
    bots_in(folder / "bots")
    (folder / "croupier.toml").write_text(CONFIG.format(address=address))
    return folder


def kill_when(place: Path, is_due: Callable[[], bool]) -> None:
    """Begin a run, and kill all of its process group at a moment."""
    words = [*CROUPIER, *with_one_worker(["-C", str(place), "run"])]
    with subprocess.Popen(words, env=environment(), start_new_session=True, stderr=subprocess.DEVNULL) as run:
        while not is_due():
            assert run.poll() is None
            time.sleep(0.01)
        workers = psutil.Process(run.pid).children(recursive=True)  # each ends when it notices that the run has ended
        os.killpg(run.pid, signal.SIGKILL)
    assert not psutil.wait_procs(workers, timeout=60)[1]


def has_heard(server: ModelServer, count: int) -> bool:
    """Return whether a server has heard so many requests."""
    return len(server.heard) == count


def fixture_in(place: Path) -> Record:
    """Return the record of the only fixture of a run."""
    with reading(Folder(place).journal) as journal:
        ((_, record),) = journal.records()
        return journal.full_record(record.path)


def facts_of(record: Record) -> dict[str, Any]:
    """Return what does not depend on how fast a machine is. What a bot can write until it is killed for its budget does."""
    return {
        "results": record.results,
        "scores": record.scores,
        "answers": unpack(record.answers),
        "faults": record.faults,
        "benched": record.benched,
        "questions": {bot: used.questions for bot, used in record.usage.items()},
        "starts": record.usage["counts"].starts,
        "evidence": sorted(
            (
                piece.bot,
                piece.table,
                piece.number,
                piece.kind,
                piece.question,
                piece.raw * (piece.kind != "budget"),
                piece.ended * (piece.kind != "budget"),
            )
            for piece in record.evidence
            if piece.kind != "slowest"
        ),
        "timed": [timing[:2] for timing in record.times],
    }


def played(bots: Sequence[BuiltBot], folder: Path, tables: int = 6) -> Record:
    """Play a fixture whose answers are stored in a folder. Nobody removes them."""

    async def work() -> Record:
        async with opened("pazaak", bots) as pool:
            pool.setup = pool.setup._replace(open_folder=str(folder))
            return await pool.play(Job(fixture_of("pazaak", bots, tables)))

    return run(work)


def two(folder: Path, server: ModelServer, **limits: Any) -> list[BuiltBot]:
    """Build the two bots."""
    asks, counts = bots_in(folder)
    return [caller(access(server, requests=3), asks, **limits), built(counts, "pazaak")]


def calls_of(lines: Sequence[bytes]) -> int:
    """Return the calls that are in stored answers."""
    budgets = [line["budget"] for line in map(msgspec.json.decode, lines) if line["budget"]]
    return budgets[-1]["uses"].get("small", [0])[0] if budgets else 0


@pytest.mark.long
def test_a_run_that_was_killed_goes_on_at_the_open_question(tmp_path: Path) -> None:
    with serving() as server:
        whole = tournament(tmp_path / "whole", server.address)
        done = croupier("-C", whole, "run")
        assert done.code == 0, done.err
        expected, calls = fixture_in(whole), len(server.heard)
    assert expected.faults["asks"].keys() >= {"crash", "unreadable"} and calls < expected.usage["asks"].questions
    with serving(*["200"] * 8, "hold", *["200"] * 8, "hold") as server:
        place = tournament(tmp_path / "killed", server.address)
        for heard in (9, 18):
            kill_when(place, partial(has_heard, server, heard))
            assert croupier("-C", place, "status").code == 0
            assert croupier("-C", place, "report").code == 0
        server.released.set()
        (stored,) = (place / "run" / "open").iterdir()
        assert stored.stat().st_mode & 0o777 == 0o600
        done = croupier("-C", place, "run")
        assert done.code == 0, done.err
        # Two calls were under way. Besides, each run asks each bot one question before the first table.
        assert len(server.heard) == calls + 2 + 2
    record = fixture_in(place)
    assert facts_of(record) == facts_of(expected)
    assert record.replayed == 1
    assert "it went on after" in record.failures[0]
    verified = croupier("-C", place, "verify")
    assert verified.code == 0, verified.out
    assert [*(place / "run" / "open").iterdir()] == []


@pytest.mark.long
def test_a_fixture_that_is_played_again_after_redo_begins_without_the_answers_of_before(tmp_path: Path) -> None:
    with serving(*["200"] * 8, "hold") as server:
        place = tournament(tmp_path, server.address)
        kill_when(place, partial(has_heard, server, 9))
        server.released.set()
        (file,) = (place / "run" / "open").iterdir()
        stored = file.read_bytes()
        assert croupier("-C", place, "run").code == 0
        before = fixture_in(place)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(stored)  # as if the run had been killed before it removed them
        redone = croupier("-C", place, "redo", before.path, "--reason", "a power cut")
        assert redone.code == 0, redone.err
        assert not file.exists()
        server.heard.clear()
        assert croupier("-C", place, "run").code == 0
        record = fixture_in(place)
        assert record.failures == ()
        assert len(server.heard) == 1 + record.models["asks"]["small"].calls  # and one before the first table


@pytest.mark.long
def test_a_fixture_that_is_undecided_because_of_a_model_goes_on_too(tmp_path: Path) -> None:
    with serving(*["200"] * 8, *["503"] * 1000) as server:
        place = tournament(tmp_path, server.address)
        config = place / "croupier.toml"
        config.write_text(config.read_text() + 'patience = "2 s"\n')
        done = croupier("-C", place, "run")
        assert done.code == 7, done.err
        (file,) = (place / "run" / "open").iterdir()
        stored = calls_of(file.read_bytes().splitlines()[1:])
        assert stored == 7  # and one before the first table
        server.steps.clear()
        server.heard.clear()
        done = croupier("-C", place, "run")
        assert done.code == 0, done.err
        record = fixture_in(place)
        granted = 3 * len(record.scores)
        assert len(server.heard) == 1 + granted - stored
    assert croupier("-C", place, "verify").code == 0
    assert not file.exists()


@pytest.mark.long
def test_a_fixture_goes_on_from_each_of_its_answers(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = two(tmp_path, server), tmp_path / "open"
        expected, calls = played(bots, folder), len(server.heard)
        file = open_file(folder, "test/1")
        head, *lines = file.read_bytes().splitlines()
        assert calls_of(lines) == calls
        for kept in (0, 1, len(lines) // 2, len(lines)):
            torn = b"".join(lines[kept : kept + 1])[:-9]
            file.write_bytes(b"\n".join([head, *lines[:kept], torn]))
            server.heard.clear()
            assert facts_of(played(bots, folder)) == facts_of(expected)
            assert len(server.heard) == calls - calls_of(lines[:kept])
            assert len(file.read_bytes().splitlines()) == 1 + len(lines)


@pytest.mark.long
def test_a_time_bank_goes_on_with_what_was_left(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = two(tmp_path, server, bank=Bank(60.0, "fixture"), floor=0.001), tmp_path / "open"
        expected = played(bots, folder, 2)
        file = open_file(folder, "test/1")
        head, *lines = file.read_bytes().splitlines()
        file.write_bytes(b"\n".join([head, *lines[:8], b""]))
        record = played(bots, folder, 2)
    first = sum(msgspec.json.decode(line)["player"] == "asks" for line in lines[:8])
    assert record.banks[: first + 1] == expected.banks[: first + 1]
    assert [time[:2] for time in record.banks] == [time[:2] for time in expected.banks]


AT_ONCE = (
    ASKS.partition("for question")[0]
    + """
for question in sys.stdin:
    if question.startswith("over"):
        continue
    ask(post(GOOD))
    print(question.split()[0], "STAND" if zlib.crc32(question.split(" ", 1)[1].encode()) % 3 else "END", flush=True)
"""
)
"""A bot that plays several tables at once, in one process."""


@pytest.mark.long
def test_tables_that_are_played_at_once_go_on(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = [], tmp_path / "open"
        for name in ("one", "other"):
            bot = tmp_path / name
            bot.mkdir()
            written(AT_ONCE, ".py", bot)
            keys = 'protocol = "lines"\nmodels = ["small"]\nparallel_tables = 4\ntable_ids = true'
            (bot / "bot.toml").write_text(f'game = "pazaak"\nentry = "bot.py"\n{keys}\n')
            bots.append(caller(access(server), bot))
        expected, calls = played(bots, folder, 4), len(server.heard)
        file = open_file(folder, "test/1")
        head, *lines = file.read_bytes().splitlines()
        assert len(lines) == calls and not expected.faults
        for kept in (6, 7, 9):
            file.write_bytes(b"\n".join([head, *lines[:kept], b""]))
            server.heard.clear()
            record = played(bots, folder, 4)
            assert (record.results, record.answers) == (expected.results, expected.answers)
            assert len(server.heard) == calls - kept


HARM: Sequence[Callable[[dict[str, Any]], Any]] = [
    lambda line: line | {"question": line["question"] ^ 1},
    lambda line: line | {"table": 2**60},
    lambda line: line | {"fault": ["no such kind", ""]},
    lambda line: line | {"totals": [0, 2**64, 0, 0, 0, 0]},
    lambda line: line | {"bank": -1e300},
    lambda line: line | {"more": 1},
    lambda line: line | {"budget": {"uses": {"small": [-5, 0, 0]}}},
    lambda _line: [],
]


@pytest.mark.long
def test_stored_answers_that_do_not_fit_are_not_used(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = two(tmp_path, server), tmp_path / "open"
        expected, calls = played(bots, folder, 1), len(server.heard)
        file = open_file(folder, "test/1")
        head, *lines = file.read_bytes().splitlines()
        for nth, harm in enumerate(HARM):
            changed = msgspec.json.encode(harm(msgspec.json.decode(lines[1])))
            file.write_bytes(b"\n".join([head, lines[0], changed, *lines[2:], b""]))
            server.heard.clear()
            assert facts_of(played(bots, folder, 1)) == facts_of(expected), nth
            assert len(server.heard) >= calls - calls_of(lines[:1]), nth


def test_an_answer_is_what_the_stored_bytes_say(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = two(tmp_path, server), tmp_path / "open"
        played(bots, folder, 1)
        file = open_file(folder, "test/1")
        head, *lines = file.read_bytes().splitlines()
        line = msgspec.json.decode(lines[0])
        line["outcome"][0] = "/////w=="  # no bot says this
        file.write_bytes(b"\n".join([head, msgspec.json.encode(line | {"fault": None}), b""]))
        record = played(bots, folder, 1)
        assert record.faults[line["player"]]["unreadable"] > 0
        assert unpack(record.answers)[0][0] == Fault(FaultKind.UNREADABLE)


@pytest.mark.long
def test_answers_of_another_bot_or_with_other_limits_are_not_used(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = two(tmp_path, server), tmp_path / "open"
        played(bots, folder, 1)
        calls = len(server.heard)
        for other in (
            [bots[0]._replace(limits=bots[0].limits._replace(output=3 * KIB)), bots[1]],
            [bots[0], bots[1]._replace(sha256="0" * 64)],
        ):
            server.heard.clear()
            played(other, folder, 1)
            assert len(server.heard) == calls


@pytest.mark.long
def test_answers_are_used_when_only_the_place_or_the_price_of_the_model_is_another(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = two(tmp_path, server), tmp_path / "open"
        played(bots, folder, 1)
        for changed, is_the_same in (
            ({"requests_in_all": 10_000, "tokens_in_all": 10_000, "money_in_all": 9.0}, True),
            ({"address": "http://127.0.0.1:1", "key_env": "HOME", "key_file": "key", "patience": 5.0}, True),
            ({"prompt_price": 1.0, "completion_price": 1.0}, True),
            ({"prompt_price": 1.0, "completion_price": 1.0, "money": 9.0}, False),
            ({"requests": 4}, False),
            ({"model": "another"}, False),
        ):
            server.heard.clear()
            other = bots[0].limits._replace(models=(access(server, requests=3)._replace(**changed),))
            played([bots[0]._replace(limits=other), bots[1]], folder, 1)
            assert (server.heard == []) is is_the_same, changed


@pytest.mark.long
def test_no_file_that_was_there_before_is_written(tmp_path: Path) -> None:
    with serving() as server:
        bots, folder = two(tmp_path, server), tmp_path / "open"
        folder.mkdir()
        file, precious = open_file(folder, "test/1"), tmp_path / "precious"
        precious.write_text("precious")
        for link in (file.symlink_to, file.hardlink_to, file.with_suffix(".making").symlink_to):
            file.unlink(missing_ok=True)
            link(precious)
            played(bots, folder, 1)
            assert precious.read_text() == "precious"
            assert not file.is_symlink() and file.stat().st_nlink == 1
        file.unlink()
        os.mkfifo(file)
        with pytest.raises(UserError, match="not a regular file"):
            played(bots, folder, 1)
