"""Time banks: what an answer takes from them, who is told, what is recorded, and what is refused."""

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import trio
from command import croupier, cup_in
from helpers import AMPLE, CACHE, answers_of, built, played, seated_in, written
from test_clock import only_in_groups
from test_stalls import children, large_file, on_slow_disk, stopped

from host.base.errors import UserError
from host.bots.allowance import TimeBank, time_bank
from host.bots.bot_spec import BuiltBot
from host.bots.seat import Seat
from host.bots.values import Batch, Question
from host.config.tournament_config import load
from host.games import GAMES
from host.inspect.bundle import unpacked
from host.inspect.recorded import load_fixture, root_of
from host.inspect.verify import replay
from host.journal.reader import reading
from host.play.match import max_open_tables
from host.play.records import Record
from host.sandbox.limits import Bank, Limits
from host.sandbox.process_tree import descendants
from host.submissions.diagnosis import diagnose
from protocols.wire import Fault, Move

STAND = Move("S")
FLOOR, BANK = 0.01, 0.2
LIMITS = AMPLE._replace(move=FLOOR, bank=Bank(BANK, "table"), startup=5)
THINKS = """
    import sys, time

    for line in sys.stdin:
        time.sleep({seconds})
        print("S", flush=True)
"""
TOLD = """
    import json, os, sys

    for line in sys.stdin:
        print(os.environ["CROUPIER_BANK"], json.loads(line)["bank"], file=sys.stderr, flush=True)
        print(json.dumps({"move": "S"}), flush=True)
"""
ARGV = """
    import os, sys, time

    time.sleep(0.05)
    print(os.environ["CROUPIER_BANK"], file=sys.stderr)
    print("S")
"""


def bot_of(
    source: str, name: str, limits: Limits = LIMITS, protocol: str = "lines", suffix: str = ".py", *, warm: bool = False
) -> BuiltBot:
    """Build a bot with a time bank."""
    folder = CACHE / "banks"
    folder.mkdir(exist_ok=True)
    return built(written(source, suffix, folder, name), limits=limits, protocol=protocol, warm=warm)


def left_at(record: Record, table: int) -> list[int]:
    """Return the milliseconds that were left at each question of a table."""
    return [each.left for each in record.banks if each.table == table]


def first_timeout(answers: Sequence[object]) -> int:
    """Return the number of the first question that was not answered in time."""
    return [isinstance(answer, Fault) for answer in answers].index(True) + 1


# What an answer takes. Pure.


def test_an_answer_takes_what_is_beyond_its_floor_and_then_adds_the_increment() -> None:
    bank = TimeBank(Limits(bank=Bank(2.0, "table"), increment=0.5))
    bank.begin(1, 1)
    assert bank.spend(-0.4) == 0 and bank.left == 2
    bank.add()
    bank.begin(1, 2)
    assert bank.spend(1.25) == 1.25 and bank.left == 1.25
    bank.begin(1, 3)
    assert bank.spend(5) == 1.25 and bank.left == 0
    bank.begin(2, 1)
    assert bank.times == [(1, 1, 2000), (1, 2, 2500), (1, 3, 1250), (2, 1, 2000)]


def test_a_bank_for_a_fixture_is_not_filled_by_a_new_table() -> None:
    bank = TimeBank(Limits(bank=Bank(2.0, "fixture")))
    bank.begin(1, 1)
    bank.spend(0.5)
    bank.begin(2, 1)
    assert bank.left == 1.5
    assert time_bank(Limits()) is None


def test_a_bot_gets_the_smaller_of_two_banks() -> None:
    granted = Limits(bank=Bank(60.0, "table"), floor=0.1, increment=1.0)
    asked = granted._replace(bank=Bank(10.0, "table"), floor=0.0, move=0.05, increment=0.5)
    both = granted.at_most(asked)
    assert (both.bank, both.increment, both.per_move) == (Bank(10.0, "table"), 0.5, 0.05)
    assert Limits(move=2.0).per_move == 2.0 and Limits(move=2.0).at_most(Limits()) == Limits()


# At play.


@pytest.mark.timing
def test_a_bot_that_thinks_too_long_runs_out_of_its_bank_and_has_a_full_one_at_the_next_table() -> None:
    bot = bot_of(THINKS.format(seconds=0.15), "thinker", LIMITS._replace(bank=Bank(0.6, "table")))
    record = played("cardshark", [bot], 2, hands=8)
    for table, answers in enumerate(answers_of(record), 1):
        left, late = left_at(record, table), first_timeout(answers)
        assert late >= 4, "after the start, four answers of 150 ms take 560 ms and a little more"
        assert left[:2] == [600, 600], "the first answer of a process has its startup time"
        assert answers[: late - 1] == [STAND] * (late - 1)
        assert all(each >= 140 for each in left[: late - 1]), "it had what an answer needs, beyond its floor"
        assert left[late - 1] < 240 and left[late] == 0, "it had less than the answer needed, and then nothing"
    first, late = record.evidence[0], first_timeout(answers_of(record)[0])
    assert (first.kind, first.number, first.bank) == ("timeout", late, left_at(record, 1)[late - 1])
    assert first.wall >= FLOOR + first.bank / 1000
    assert f"it had {first.bank / 1000:.3f} s in its time bank" in diagnose(bot, GAMES["cardshark"], first).message


@pytest.mark.timing
def test_a_bank_for_a_fixture_lasts_for_all_its_tables() -> None:
    limits = LIMITS._replace(bank=Bank(BANK, "fixture"))
    record = played("cardshark", [bot_of(THINKS.format(seconds=0.05), "thinker", limits)], 4, hands=2)
    left = [each.left for each in record.banks]
    assert left[:2] == [200, 200] and left[2] < 165 and left == sorted(left, reverse=True)
    answers = [answer for table in answers_of(record) for answer in table]
    assert first_timeout(answers) >= 4


@pytest.mark.timing
def test_an_increment_keeps_a_bot_at_play() -> None:
    limits = LIMITS._replace(increment=0.5)
    record = played("cardshark", [bot_of(THINKS.format(seconds=0.05), "thinker", limits)], 1, hands=8)
    assert answers_of(record) == [[STAND] * 8]
    assert left_at(record, 1) == sorted(left_at(record, 1)), "it gains more than it spends"


def test_a_bot_with_a_bank_plays_one_table_at_a_time_and_is_told_what_it_has() -> None:
    limits = LIMITS._replace(move=5, increment=0.25)
    bot = bot_of(TOLD, "told", limits, "json").with_keys(parallel_tables=16)
    assert max_open_tables(bot) == 1
    record = played("cardshark", [bot], 2, hands=2)
    ((_, tails),) = record.said
    told = [line.split() for _, said in tails for line in said.decode().splitlines()]
    assert told == [["0.200", "0.2"], ["0.200", "0.45"], ["0.200", "0.2"], ["0.200", "0.45"]]
    assert [each.left for each in record.banks] == [200, 450, 200, 450]


@pytest.mark.parametrize("warm", [False, True])
def test_a_bot_asked_by_argv_is_told_what_is_left_at_each_question(*, warm: bool) -> None:
    limits = LIMITS._replace(move=2.0, floor=0.02, bank=Bank(3.0, "table"), startup=0.1)
    record = played("cardshark", [bot_of(ARGV, "argv", limits, "argv", warm=warm)], 1, hands=3)
    assert answers_of(record) == [[STAND] * 3]
    left = left_at(record, 1)
    least = 9 if warm else 29  # a busy host may see a warm bot 20 ms late, which costs the bot nothing
    assert left[0] == 3000 and all(before - after >= least for before, after in pairwise(left))
    ((_, tails),) = record.said
    assert [round(float(line) * 1000) for _, said in tails for line in said.decode().split("\n") if line] == left


# A stalled machine costs no bank.


async def ask(seat: Seat, number: int) -> object:
    """Ask a question at the first table; return the answer."""
    view = GAMES["cardshark"].examples[0]
    return (await seat.ask(Batch((Question(1, number, view),))))[0]


def ask_stopped(bot: BuiltBot, seconds: float) -> tuple[list[object], list[int]]:
    """Ask a bot three questions. Stop its sandbox from outside for some seconds during the second one."""

    async def work() -> tuple[list[object], list[int]]:
        async with seated_in(bot) as (seat, sandbox):
            answers = [await ask(seat, 1)]

            async def stall() -> None:
                await trio.sleep(0.1)
                pids = [sandbox.pid, *(process.pid for process in descendants(sandbox.pid))]
                with stopped(pids):
                    await trio.sleep(seconds)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(stall)
                answers.append(await ask(seat, 2))
            answers.append(await ask(seat, 3))
            return answers, [each.left for each in seat.bank_times]

    return trio.run(work)


@pytest.mark.timing
def test_a_machine_that_stops_a_bot_costs_it_no_bank() -> None:
    limits = LIMITS._replace(move=0.2, bank=Bank(2.0, "table"))
    answers, left = ask_stopped(bot_of(THINKS.format(seconds=0.3), "stalled", limits), 0.7)
    assert answers == [STAND] * 3
    assert left[0] == 2000
    cost = left[1] - left[2]
    assert cost < 500, "an answer of 300 ms takes 100 ms; the stall of 700 ms is not counted, but for a sample or two"


BLOCKED = """
    import mmap, sys

    at = 0
    for asked, line in enumerate(sys.stdin):
        if asked == 1:
            file = open("large", "rb", 0)
            pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            pages.madvise(mmap.MADV_RANDOM)
        for _ in range(5 if 0 < asked < 5 else 0):
            pages[at]
            at += 4096
        print("S", flush=True)
"""


@pytest.mark.timing
def test_a_bot_that_waits_for_a_disk_on_purpose_gains_its_bank_once_at_most() -> None:
    bot = bot_of(BLOCKED, "blocked", LIMITS._replace(bank=Bank(1.0, "fixture")))

    async def work() -> list[int]:
        with large_file(Path(bot.folder)) as file:
            async with seated_in(bot) as (seat, sandbox):
                assert await ask(seat, 1) == STAND
                with on_slow_disk(file, [sandbox.pid, *children(sandbox.pid)]):
                    assert [await ask(seat, number) for number in range(2, 7)] == [STAND] * 5
                return [each.left for each in seat.bank_times]

    left = trio.run(work)
    assert left[2] > 800, "five pages take 0.4 s, which the machine owes it"
    assert left[5] < 600, "twenty pages take 1.6 s, 1 s of which the machine may owe it"


SPINS = """
    #include <stdio.h>
    #include <time.h>

    int main(void)
    {
        char line[8192];
        while (fgets(line, sizeof line, stdin)) {
            clock_t from = clock();
            while (clock() - from < CLOCKS_PER_SEC / 10) {}
            puts("S"), fflush(stdout);
        }
        return 0;
    }
"""


@pytest.mark.timing
@only_in_groups
def test_what_a_bot_waits_for_a_processor_is_not_taken_from_its_bank() -> None:
    """Three of these bots share the machine's cores, so that each waits for a processor."""
    limits = LIMITS._replace(bank=Bank(1.0, "table"))
    bots = [bot_of(SPINS, f"spins{nth}", limits, suffix=".c") for nth in range(3)]

    async def work() -> list[tuple[list[int], float]]:
        measured = list[tuple[list[int], float]]()

        async def one(bot: BuiltBot) -> None:
            async with seated_in(bot) as (seat, sandbox):
                os.sched_setaffinity(sandbox.pid, {min(os.sched_getaffinity(0))})
                await ask(seat, 1)
                before = seat.usage().wall
                for number in (2, 3, 4):
                    await ask(seat, number)
                measured.append(([each.left for each in seat.bank_times], seat.usage().wall - before))

        async with trio.open_nursery() as nursery:
            for bot in bots:
                nursery.start_soon(one, bot)
        return measured

    for left, wall in trio.run(work):
        spent = [before - after for before, after in pairwise(left[1:])]
        assert all(each >= 50 for each in spent), f"{spent}: 100 ms of computing each, less 10 ms"
        assert sum(spent) < 0.7 * 1000 * wall * 2 / 3, f"{spent} of {wall:.3f} s for three answers"


# In a tournament.


def tournament(folder: Path, limits: str, run: str = "") -> Path:
    """Write a tournament of two bots that think for 20 ms, with two fixtures. `limits` has the lines of a time bank."""
    cup = cup_in(folder, ("davey.c",), tourneys=2, rounds=2)
    (cup / "bots" / "davey.c").unlink()
    for name in ("one", "two"):
        (cup / "bots" / name).mkdir()
        written(THINKS.format(seconds=0.02), ".py", cup / "bots" / name)
        (cup / "bots" / name / "bot.toml").write_text('protocol = "lines"\n')
    text = (cup / "croupier.toml").read_text().replace("[limits]", f"{run}[limits]\n{limits}")
    (cup / "croupier.toml").write_text(text)
    return cup


def records_of(cup: Path) -> list[Record]:
    """Return the records of a tournament."""
    with reading(cup / "run" / "run.sqlite") as journal:
        return [journal.full_record(path) for path in journal.paths()]


@pytest.mark.long
def test_what_was_in_the_bank_is_recorded_verified_and_asked_with_again(tmp_path: Path) -> None:
    cup = tournament(tmp_path, 'bank = "5 s / table"\nfloor = "10 ms"\nincrement = "1 ms"\n')
    assert croupier("run", "-C", cup).code == 0
    record = records_of(cup)[0]
    answered = [answer for table in answers_of(record) for answer in table]
    assert len(record.banks) == len(answered) > 4
    assert all(3000 < each.left <= 5000 + len(answered) for each in record.banks)
    assert croupier("verify", "-C", cup).code == 0

    with reading(cup / "run" / "run.sqlite") as journal:
        recorded = load_fixture(journal, root_of(journal), record.path)
        bots = journal.bots()
    table, last = recorded.table(-1), record.banks[-1]
    (decision,) = [each for each in table.decisions() if each.number == last.number]
    bot = table.seated[decision.seat]
    where = (bot, f"{table.sitting.path}:{last.number}", "-C", cup)
    asked = croupier("ask", *where, "--json").json
    assert asked["rows"][0]["bank_ms"] == last.left and asked["reproduced"]
    assert f"{last.left / 1000:.3f} s left, as then" in croupier("ask", *where).out

    bundle = tmp_path / "one.bundle"
    assert croupier("export", "bundle", where[1], "-o", bundle, "--spoilers", "-C", cup).code == 0
    content = json.loads(gzip.decompress(bundle.read_bytes()))
    assert [each["bank"] for each in content["asked"]] == [last.left]
    content["asked"][0]["bank"] = 3_600_001
    bundle.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(UserError, match="has a time bank of 3600001 ms"):
        unpacked(bundle)

    every = range(len(recorded.sittings))
    more = (*record.banks[:-1], last._replace(left=last.left + 2000))
    found = replay(replace(recorded, record=record._replace(banks=more)), bots, every)[1]
    assert f"is recorded with {last.left + 2000} ms, but it had at most" in found[0]
    found = replay(replace(recorded, record=record._replace(banks=record.banks[:-1])), bots, every)[1]
    assert found[0].endswith("is not recorded")


@pytest.mark.long
def test_a_stage_with_a_bank_goes_on_after_a_stop(tmp_path: Path) -> None:
    cup = tournament(tmp_path, 'bank = "5 s / fixture"\nfloor = "10 ms"\n')
    assert croupier("run", "-C", cup, "--stop-after", "1 ms", "--workers", 1).code == 5
    played_before = len(records_of(cup))
    assert croupier("run", "-C", cup).code == 0
    records = records_of(cup)
    assert played_before < len(records) == 2 and all(record.banks[0].left == 5000 for record in records)
    assert croupier("verify", "-C", cup).code == 0


@pytest.mark.long
def test_a_changed_bank_is_another_tournament(tmp_path: Path) -> None:
    cup = tournament(tmp_path, 'bank = "5 s / table"\n')
    assert croupier("run", "-C", cup).code == 0
    text = (cup / "croupier.toml").read_text().replace("5 s / table", "6 s / table")
    (cup / "croupier.toml").write_text(text)
    refused = croupier("run", "-C", cup)
    assert refused.code != 0 and "[limits] bank: 5 s / table → 6 s / table" in refused.err


# Bad input.


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('bank = "60"\n', 'C002] {file}:14: bank = "60" does not say what the bank lasts for'),
        ('bank = "60 s"\n', 'hint: "60 s / table" or "60 s / fixture"'),
        ('bank = "60 / table"\n', 'bank = "60 / table" has no unit\n  hint: "60 s / table"'),
        ('bank = "60 s / tabel"\n', 'is not a bank for each table or each fixture\n  hint: "60 s / table"'),
        ('bank = "0 s / table"\n', 'bank = "0 s / table" is out of range'),
        ("bank = 60\n", 'C006] {file}:14: bank = 60 should look like "60 s / table" or "5 min / fixture"'),
        ('increment = "1 s"\n', 'C013] {file}:14: increment = "1 s" is a part of a time bank, and there is none'),
        ('floor = "1 s"\n', 'hint: bank = "60 s / table", or leave out floor'),
        ('bank = "1 s / table"\nfloor = "20 s"\n', 'C013] {file}:15: floor = "20 s" is more than move = "10 s"'),
    ],
)
def test_wrong_keys_of_a_bank_are_refused_with_line_and_cure(lines: str, words: str, tmp_path: Path) -> None:
    cup = tournament(tmp_path, lines)
    refused = croupier("run", "-C", cup)
    assert refused.code == 3
    line = 1 + (cup / "croupier.toml").read_text()[: (cup / "croupier.toml").read_text().index("[limits]")].count("\n")
    text = words.replace("{file}:14", f"{cup / 'croupier.toml'}:{line + 1}").replace(
        "{file}:15", f"{cup / 'croupier.toml'}:{line + 2}"
    )
    assert text in refused.err
    assert not (cup / "run" / "run.sqlite").exists()


@pytest.mark.parametrize(
    ("granted", "asked", "words"),
    [
        ("", 'bank = "1 s / table"', "needs a time bank, and the tournament grants none"),
        ("", 'increment = "1 s"', "needs a time bank, and the tournament grants none"),
        ('bank = "1 s / table"\n', 'bank = "2 s / table"', 'bank = "2 s / table" is more than the 1 s / table granted'),
        (
            'bank = "1 s / table"\n',
            'bank = "1 s / fixture"',
            "is a bank for each fixture, and the tournament grants one",
        ),
        ('bank = "1 s / table"\n', 'increment = "1 s"', 'increment = "1 s": none is granted'),
        ('bank = "1 s / table"\nfloor = "1 s"\n', 'floor = "2 s"', 'floor = "2 s" is more than the 1 s granted'),
        ('bank = "1 s / table"\n', 'floor = "2 s"\nmove = "1 s"', 'floor = "2 s" is more than move = "1 s"'),
    ],
)
def test_a_bot_cannot_ask_for_more_bank_than_it_is_granted(
    granted: str, asked: str, words: str, tmp_path: Path
) -> None:
    cup = tournament(tmp_path, granted)
    (cup / "bots" / "greedy").mkdir()
    written(THINKS, ".py", cup / "bots" / "greedy")
    (cup / "bots" / "greedy" / "bot.toml").write_text(f"[limits]\n{asked}\n")
    refused = croupier("run", "-C", cup)
    assert words in refused.err and "bots/greedy/bot.toml:2" in refused.err


def test_parallel_tables_have_no_effect_with_a_bank_and_croupier_says_so(tmp_path: Path) -> None:
    cup = tournament(tmp_path, 'bank = "1 s / table"\n', "[run]\nparallel_tables = 8\n")
    (warning,) = [each for each in load(cup).warnings if each.code == "C013"]
    assert warning.message == "parallel_tables = 8 has no effect: bots with a time bank play one table at a time"
    (cup / "bots" / "many").mkdir()
    written(THINKS.format(seconds=0), ".py", cup / "bots" / "many")
    (cup / "bots" / "many" / "bot.toml").write_text('protocol = "lines"\nparallel_tables = 16\n')
    report = croupier("check", "bots/many", "-C", cup, cwd=cup).out
    assert "so parallel_tables = 16 has no effect" in report and "and its bank, 1 s / table" in report
