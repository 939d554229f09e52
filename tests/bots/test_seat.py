"""A bot during a fixture: start-up, faults, benching, state, seed, batches, and failures of the host."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import psutil
import pytest
import trio
from helpers import (
    AMPLE,
    CACHE,
    ROGUES,
    SEED,
    answers_of,
    breadth,
    built,
    faults_of,
    fixture_of,
    level,
    nothing_left_behind,
    opened,
    played,
    seat_of,
    seated_in,
    spec_of,
    written,
)

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot
from host.bots.clock import Clock, HostStall
from host.bots.host_failures import MAX_HOST_FAILURES
from host.bots.values import Batch, Question
from host.games import GAMES
from host.play.bot_pool import MAX_WAITING_BYTES, bot_seed
from host.play.jobs import Job
from host.play.records import BOTS_AT_ONCE, Record
from host.sandbox import bubblewrap
from host.sandbox.process_tree import descendants
from host.submissions.discovery import load_submission
from host.submissions.empty_start import empty_start
from host.submissions.examine import prepare_bots
from protocols.wire import Answer, Fault, FaultKind, Move

STAND = Move("S")
TABLES = 25  # enough for a bot that fails every time to be benched

Make = Callable[..., BuiltBot]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that builds a bot from its source text."""

    def make(text: str, suffix: str = ".py", name: str = "bot", **changes: Any) -> BuiltBot:
        table_ids, parallel_tables = changes.pop("table_ids", False), changes.pop("parallel_tables", 1)
        limits, game = changes.pop("limits", AMPLE), changes.pop("game", "cardshark")
        bot = built(written(text, suffix, tmp_path, name), game, limits, **changes)
        return bot.with_keys(table_ids=table_ids, parallel_tables=parallel_tables)

    return make


def alone(bot: BuiltBot, tables: int, path: str = "test/1") -> Record:
    """Play tables of one hand with one bot; a bot that stands is asked once per table."""
    return played("cardshark", [bot], tables, path=path, hands=1)


def kinds_of(record: Record) -> list[str]:
    """Return the fault or "move" of every answer of the only bot, in order."""
    told = [answer for table in answers_of(record) for answer in table]
    return [answer.kind if isinstance(answer, Fault) else "move" for answer in told]


# Faults and benching.


@pytest.mark.parametrize("parallel_tables", breadth([4, 1, 0], 3))
def test_a_hopeless_bot_is_benched_after_twenty_faults_however_many_tables_are_open(
    parallel_tables: int, make: Make
) -> None:
    bot = make("raise SystemExit(1)\n")

    record = played("cardshark", [bot], TABLES, parallel_tables, hands=1)

    assert kinds_of(record) == ["crash"] * 20 + ["benched"] * 5
    assert record.benched == ("bot",)
    assert record.usage["bot"].questions == 20


def test_a_hopeless_bot_over_lines_is_benched_after_twenty_faults(make: Make) -> None:
    bot = make("raise SystemExit(1)\n", protocol="lines", parallel_tables=8)

    assert kinds_of(alone(bot, TABLES)) == ["crash"] * 20 + ["benched"] * 5


@pytest.mark.long
@pytest.mark.parametrize(
    ("said", "kind"),
    breadth([("HIT!", "unreadable"), ("S\\nS", "extra"), ("B 999", "illegal"), ("! ValueError", "exception")], 2),
)
def test_who_answers_wrongly_is_never_benched(said: str, kind: str, make: Make) -> None:
    bot = make(f"import sys\nfor question in sys.stdin:\n    print('{said}')\n", protocol="lines")

    record = alone(bot, TABLES)

    assert faults_of(record, "bot") == {kind: TABLES}
    assert not record.benched


@pytest.mark.parametrize(("said", "starts"), [("HIT!", 5), ("B 999", 1), ("! ValueError", 1), ("! TimeoutError", 1)])
def test_only_an_illegal_move_and_an_adapters_report_leave_the_process_alive(
    said: str, starts: int, make: Make
) -> None:
    bot = make(f"import sys\nfor question in sys.stdin:\n    print('{said}')\n", protocol="lines")

    assert alone(bot, 5).usage["bot"].starts == starts


@pytest.mark.parametrize("said", breadth(["! ValueError", "B 999", "S"], 3))
@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_what_a_living_bot_says_on_standard_error_is_kept(said: str, protocol: str, make: Make) -> None:
    one = f"print('Traceback: here', file=sys.stderr, flush=True); print('{said}')"
    text = f"import sys\n{one}\n" if protocol == "argv" else f"import sys\nfor question in sys.stdin:\n    {one}\n"

    for piece in alone(make(text, protocol=protocol), 5).evidence:
        assert piece.stderr.endswith(b"Traceback: here\n"), piece


def test_an_adapters_timeouts_lead_to_the_bench(make: Make) -> None:
    bot = make("import sys\nfor question in sys.stdin:\n    print('! TimeoutError')\n", protocol="lines")

    assert kinds_of(alone(bot, TABLES)) == ["timeout"] * 20 + ["benched"] * 5


@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_a_crash_keeps_its_question_and_its_last_words(protocol: str, make: Make) -> None:
    bot = make("import sys\nprint('X' * 10_000, file=sys.stderr)\n1 / 0\n", protocol=protocol)

    (piece, _slowest) = alone(bot, 1).evidence

    assert (piece.kind, piece.table, piece.number, piece.ended) == ("crash", 1, 1, "exited with 1")
    assert piece.question.count(b" ") == 4
    assert piece.stderr.endswith(b"ZeroDivisionError: division by zero\n")
    assert piece.stderr.startswith(b"X" * 2048 + "\n… ".encode())
    assert " bytes left out …\n" in piece.stderr.decode()


def test_of_every_kind_of_fault_only_the_first_few_are_kept(make: Make) -> None:
    record = alone(make("print('HIT!')\n"), TABLES)

    assert [piece.kind for piece in record.evidence] == ["unreadable"] * 5 + ["slowest"]


@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_the_times_of_every_decision_at_the_first_tables_are_kept(protocol: str, make: Make) -> None:
    bot = make(
        "import sys\nfor _ in sys.stdin: print('S', flush=True)" if protocol == "lines" else "print('S')",
        protocol=protocol,
    )

    record = alone(bot, 10)

    decisions = [(table, n) for table, said in enumerate(answers_of(record)[:8], 1) for n in range(1, len(said) + 1)]
    assert [(time.table, time.number) for time in record.times] == decisions
    assert all(time.wall for time in record.times)


COUNTED = pytest.mark.skipif(
    not level().traits.exact_cpu, reason="NO CONTROL GROUPS HERE: nobody counts single answers"
)
BUSY_AT = """
    import sys, time

    for asked, line in enumerate(sys.stdin):
        until = time.process_time() + (0.03 if asked % {every} == 0 else 0)
        while time.process_time() < until:
            pass
        print("S", flush=True)
"""


@COUNTED
def test_what_each_answer_of_a_bot_that_lives_on_has_cost_is_its_own(make: Make) -> None:
    record = alone(make(BUSY_AT.format(every=2), protocol="lines"), 6)

    costly = [time.cpu > 20_000 for time in record.times]
    assert costly == [True, False] * 3


@COUNTED
def test_answers_that_were_asked_for_together_share_what_they_have_cost(make: Make) -> None:
    bot = make(BUSY_AT.format(every=4), protocol="lines", parallel_tables=4)

    record = played("cardshark", [bot], 4, 4, hands=1)

    (cpu,) = {time.cpu for time in record.times}
    assert len(record.times) == 4 and 7_000 < cpu < 4 * 7_000


@pytest.mark.long
def test_a_late_answer_has_cost_nothing_of_what_the_process_computed_before(make: Make) -> None:
    text = """
        import sys, time

        for asked, line in enumerate(sys.stdin):
            if asked:
                time.sleep(3600)
            while time.process_time() < 1.2:
                pass
            print("S", flush=True)
    """
    (late,) = [
        piece
        for piece in alone(make(text, protocol="lines", limits=AMPLE._replace(move=0.8)), 2).evidence
        if piece.kind == "timeout"
    ]

    assert late.cpu < late.wall / 2


# Start.

WAITS = """
    import os, sys, time
    from pathlib import Path

    times = Path("memory").read_text()
    Path("memory").write_text(times + "x")
    time.sleep({first} if not times else {later})
    for question in sys.stdin:
        print("S", flush=True)
        sys.exit(1) if {dies} else None
"""


@pytest.mark.timing
def test_the_first_start_has_its_grace(make: Make) -> None:
    limits = AMPLE._replace(move=1.0)
    bot = make(WAITS.format(first=1.5, later=0, dies=False), protocol="lines", state="memory", limits=limits)

    assert kinds_of(alone(bot, 3)) == ["move"] * 3


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize(("later", "kind"), [(0.5, "move"), (1.4, "timeout")])
def test_a_restart_may_take_a_quarter_of_a_second_longer_than_a_move_not_as_long_as_the_first_start_did(
    later: float, kind: str, make: Make
) -> None:
    limits = AMPLE._replace(move=0.6)
    bot = make(WAITS.format(first=2.0, later=later, dies=True), protocol="lines", state="memory", limits=limits)

    assert kinds_of(alone(bot, 3)) == ["move", "crash", kind]


@pytest.mark.long
@pytest.mark.timing
def test_a_bot_that_lives_for_one_table_has_the_time_of_an_empty_start_at_later_tables() -> None:
    rogue = load_submission(ROGUES / "computes_in_its_start").with_keys(game="cardshark")
    limits = AMPLE._replace(move=0.2)
    (bot,) = trio.run(prepare_bots, [rogue], GAMES["cardshark"], limits, level()).bots
    assert 0.002 < bot.empty_start < 1.0  # a Python that starts and prints

    record = alone(bot, 4)

    assert kinds_of(record) == ["move", "timeout", "timeout", "timeout"]
    walls = [piece.wall for piece in record.evidence if piece.kind == "timeout"]
    assert max(walls) < 0.2 + 0.25 + bot.empty_start + 0.3  # not the 1.5 s of its first start


def test_a_program_without_a_runtime_has_an_empty_start_of_nothing(make: Make) -> None:
    bot = built(ROGUES / "crashes.c", protocol="lines")

    assert trio.run(empty_start, bot, level()) == 0.0


def test_a_restart_has_no_grace_beyond_that(make: Make) -> None:
    limits = AMPLE._replace(move=0.2)
    bot = make(WAITS.format(first=0, later=3600, dies=True), protocol="lines", state="memory", limits=limits)

    assert kinds_of(alone(bot, 3)) == ["move", "crash", "timeout"]


@pytest.mark.long
@pytest.mark.timing
def test_who_has_had_the_grace_in_vain_does_not_get_it_again(make: Make) -> None:
    bot = make("import time\ntime.sleep(3600)\n", protocol="lines", limits=AMPLE._replace(move=0.1, startup=2.0))

    walls = [piece.wall for piece in alone(bot, 4).evidence if piece.kind == "timeout"]

    assert walls[0] > 2.0
    assert max(walls[1:]) < 2.0


@pytest.mark.timing
@pytest.mark.long
def test_a_process_that_the_machine_stalled_at_its_start_is_started_again_with_what_was_left(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, look, grants, stalled = Clock.begin, Clock.seconds_to_look, list[float](), list[bool]()

    def counting(clock: Clock, *questions: Any) -> None:
        grants.append(clock.allowance.seconds())
        begin(clock, *questions)

    def stalling(clock: Clock) -> float:
        if stalled:
            return look(clock)
        stalled.append(True)
        clock.allowance.stalled(clock.allowance.seconds() - 5 + AMPLE.move)
        raise HostStall("it is only said")

    monkeypatch.setattr(Clock, "begin", counting)
    monkeypatch.setattr(Clock, "seconds_to_look", stalling)
    source = (
        "import sys, time\ntime.sleep(0.3)\nfor line in sys.stdin:\n    time.sleep(0.3)\n    print('S', flush=True)\n"
    )
    record = alone(make(source, protocol="lines", limits=AMPLE._replace(startup=8.0)), 1)

    assert not record.evidence or record.evidence[0].kind == "slowest"
    assert grants[:2] == [8.0, 5.0] and len(record.stalls) == 1


@pytest.mark.long
@pytest.mark.parametrize("answered", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.one_in(2)
def test_who_takes_long_to_start_after_every_fault_is_benched_in_the_end(answered: int, make: Make) -> None:
    source = f"""
        import sys, time

        time.sleep(0.1)
        for number, question in enumerate(sys.stdin):
            print("S" if number < {answered} else "HIT!", flush=True)
    """
    limits = AMPLE._replace(move=0.03, startup=0.12)

    answers = kinds_of(alone(make(source, protocol="lines", limits=limits), 150))

    assert answers[-1] == "benched"


def test_a_bot_that_cannot_be_started_is_no_exception(make: Make) -> None:
    bot = built(ROGUES / "half_a_program", protocol="lines")

    record = alone(bot, 2)

    assert kinds_of(record) == ["start"] * 2
    assert record.evidence[0].detail == "Exec format error"


# Batches.

PAZAAK = """
    import sys

    misdeed, numbered, remembers = sys.argv[1], sys.argv[2] == "1", sys.argv[3] == "1"
    seen = {}
    for line in sys.stdin:
        if line.startswith("over"):
            del seen[line.split()[1]]
            continue
        number, question = line.split(" ", 1) if numbered else ("", line)
        seen[number] = seen.get(number, 0) + 1
        draw = sum(question.encode())
        answer = "STAND" if draw % 3 == 0 or remembers and seen[number] % 3 == 0 else "END"
        head = number + " " if numbered else ""
        if draw % 11 == 0:
            match misdeed:
                case "mumble": answer = "HIT!"
                case "die": sys.exit(1)
                case "leave": sys.exit(0)
                case "twice": answer += "\\n" + head + "END"
                case "cheat": answer = "PLAY 9"
                case "report": answer = "! ValueError"
                case "flood": answer = "X" * 5000
                case "stray": head = "99999 "
        if misdeed == "always_twice":
            answer += "\\n" + head + "END"
        print(head + answer, flush=True)
"""
MISDEEDS = ("none", "mumble", "die", "leave", "cheat", "report", "flood")
WAVES = [(misdeed, False) for misdeed in MISDEEDS] + [(misdeed, True) for misdeed in (*MISDEEDS, "stray")]


def beside_other(misdeed: str, numbered: bool, make: Make) -> list[Record]:
    """Return the records of 12 tables with a rogue and another bot, one table at a time and 16 at once."""
    remembers = numbered and misdeed in ("none", "cheat", "report")  # the memory of a table is lost with its process
    rogue = make(PAZAAK, name="rogue", game="pazaak", table_ids=numbered, parallel_tables=16)
    rogue = rogue._replace(argv=(*rogue.argv, misdeed, str(int(numbered)), str(int(remembers))))
    other = make(PAZAAK, name="other", game="pazaak", table_ids=True, parallel_tables=16)
    other = other._replace(argv=(*other.argv, "none", "1", "1"))
    with nothing_left_behind():
        return [played("pazaak", [rogue, other], 12, parallel_tables, hands_to_win=1) for parallel_tables in (1, 16)]


@pytest.mark.parametrize(("misdeed", "numbered"), breadth(WAVES, 4))
def test_what_comes_of_a_fixture_does_not_depend_on_how_many_tables_are_abreast(
    misdeed: str, numbered: bool, make: Make
) -> None:
    one, many = beside_other(misdeed, numbered, make)

    assert answers_of(many) == answers_of(one)
    assert many.faults == one.faults
    assert faults_of(many, "other") == {}
    assert faults_of(one, "rogue") or misdeed == "none"
    assert many.replayed == 0


@pytest.mark.parametrize(
    ("misdeed", "numbered"),
    breadth([("twice", False), ("twice", True), ("always_twice", False), ("always_twice", True)], 3),
)
def test_a_line_too_many_is_a_fault_and_nothing_is_played_again(misdeed: str, numbered: bool, make: Make) -> None:
    one, many = beside_other(misdeed, numbered, make)

    for record in (one, many):
        counted = Counter(answer.kind for table in answers_of(record) for answer in table if isinstance(answer, Fault))
        assert record.replayed == 0 and record.failures == ()
        assert counted == faults_of(record, "rogue")
        assert set(counted) <= {"extra", "early", "unreadable"}
        assert faults_of(record, "other") == {}
    assert faults_of(one, "rogue")
    # Without numbers, a line too many in the middle of a wave moves the answers after it. The host sees it when the wave has
    # a line left at its end, and that may come after the last wave of the fixture.
    assert faults_of(many, "rogue") or (misdeed, numbered) == ("twice", False)


@pytest.mark.timing
def test_a_slow_answer_in_a_wave_has_its_own_deadline(make: Make) -> None:
    source = """
        import sys, time

        for question in sys.stdin:
            time.sleep(0.1)
            print("S", flush=True)
    """
    bot = make(source, protocol="lines", parallel_tables=16, limits=AMPLE._replace(move=1.3))

    assert kinds_of(alone(bot, 16)) == ["move"] * 16


@pytest.mark.long
@pytest.mark.timing
def test_who_drips_is_late_in_a_wave_too_and_the_rest_is_asked_again(make: Make) -> None:
    source = """
        import sys, time

        for number, question in enumerate(sys.stdin):
            if question.startswith("1"):
                print("S", end="", flush=True)
                while True:
                    time.sleep(0.05)
                    print(" ", end="", flush=True)
            print("S", flush=True)
    """
    bot = make(source, protocol="lines", parallel_tables=16, limits=AMPLE._replace(move=0.8, startup=1.0))

    record = alone(bot, 5)

    late = sum(question.startswith(b"1") for question in questions_of(record, 5))
    assert kinds_of(record).count("timeout") == late > 0
    assert kinds_of(record).count("move") == 5 - late


def questions_of(record: Record, tables: int) -> list[bytes]:
    """Return the questions of tables with one question each, as an honest bot receives them."""
    from host.games.engine import Table
    from host.games.luck import Luck

    game = GAMES["cardshark"]
    rules = game.presets["thread"]._replace(seats=1, hands=1)
    asked = [Table(game, rules, Luck(SEED, f"test/{number}")).request for number in range(1, tables + 1)]
    return [b" ".join(str(field).encode() for field in request.view) for request in asked if request]


COUNTS = """
    import sys

    asked = overs = 0
    for line in sys.stdin:
        if line.startswith("over"):
            overs += 1
            continue
        asked += 1
        number, question = line.split(" ", 1) if {numbered} else ("", line)
        first = question.split(" ")[3] == "10"
        print(number, f"B {{{counted}}}" if first else "S", flush=True)
"""


def bets_of(record: Record) -> list[int]:
    """Return the first bet at each table."""
    return [table[0].n for table in answers_of(record) if isinstance(table[0], Move)]


def test_a_bot_that_numbers_its_tables_hears_when_each_is_over(make: Make) -> None:
    bot = make(COUNTS.format(numbered=True, counted="overs + 1"), protocol="lines", table_ids=True)

    assert bets_of(alone(bot, 5)) == [1, 2, 3, 4, 5]


def test_a_bot_without_table_numbers_hears_nothing_but_questions(make: Make) -> None:
    bot = make(COUNTS.format(numbered=False, counted="asked"), protocol="lines")

    assert bets_of(alone(bot, 4)) == [1, 3, 5, 7]


def test_table_numbers_count_from_one_in_every_process(make: Make) -> None:
    source = """
        import sys

        for line in sys.stdin:
            if not line.startswith("over"):
                number, question = line.split(" ", 1)
                print(number, f"B {number}" if question.split(" ")[3] == "10" else sys.exit(1), flush=True)
    """
    bot = make(source, protocol="lines", table_ids=True)

    assert bets_of(alone(bot, 4)) == [1, 1, 1, 1]


def test_a_life_may_last_for_one_table(make: Make) -> None:
    bot = make(COUNTS.format(numbered=False, counted="asked"), protocol="lines", parallel_tables=16, lifetime="table")

    record = alone(bot, 4)

    assert bets_of(record) == [1, 1, 1, 1]
    assert record.usage["bot"].starts == 4


# State, seed and environment.


def test_a_state_file_is_kept_within_a_fixture_and_empty_in_the_next(make: Make) -> None:
    source = """
        import sys
        from pathlib import Path

        memory = Path("memory")
        if sys.argv[4] == "10":
            memory.write_text(memory.read_text() + "x")
        print("B", len(memory.read_text())) if sys.argv[4] == "10" else print("S")
    """

    assert fixtures(make(source, state="memory"), 2, 3) == [[1, 2, 3], [1, 2, 3]]


def test_a_state_files_mode_tells_the_next_fixture_nothing(make: Make) -> None:
    source = """
        import sys
        from pathlib import Path

        memory = Path("memory")
        print("S" if sys.argv[4] != "10" else "B 2" if memory.stat().st_mode & 0o100 else "B 1")
        memory.chmod(0o700)
    """

    assert fixtures(make(source, state="memory"), 2, 2) == [[1, 2], [1, 2]]


def test_two_state_files_are_two(make: Make) -> None:
    source = """
        import sys
        from pathlib import Path

        memory = Path("memory")
        memory.write_text(memory.read_text() + "x")
        print("B", len(memory.read_text())) if sys.argv[4] == "10" else print("S")
    """
    bots = [make(source, state="memory", name=name) for name in ("one", "two")]

    record = played("cardshark", bots, 1, hands=1)

    assert [answer for answer in answers_of(record)[0] if answer == Move("B", 1)] == [Move("B", 1)] * 2


def test_a_state_file_may_be_absent_at_first(make: Make) -> None:
    source = """
        import os, sys

        last = 0
        if os.path.exists("price.txt"):
            last = int(open("price.txt").read())
        if sys.argv[4] == "10":
            open("price.txt", "w").write(str(last + 1))
        print(f"B {last + 1}" if sys.argv[4] == "10" else "S")
    """

    assert fixtures(make(source, state="price.txt", state_absent=True), 2, 3) == [[1, 2, 3], [1, 2, 3]]


FILES_IN_A_FOLDER = """
    import os, sys
    from pathlib import Path

    if sys.argv[4] != "10":
        print("S")
        sys.exit()
    memory, seen = Path("memory"), 0
    clean = memory.stat().st_mode & 0o777 == 0o700 and not any(memory.iterdir())
    if (memory / "a/b/c").is_dir():
        seen = int((memory / "a/b/c/seen").read_text())
    elif not clean:
        seen = 10
    (memory / "a/b/c").mkdir(parents=True, exist_ok=True)
    (memory / "a/b/c/seen").write_text(str(seen + 1))
    (memory / "moved-0").write_text("x")
    try:
        (memory / "large").write_bytes(bytes(60_000))
        (memory / "second").write_bytes(bytes(60_000))
        seen = 20
    except OSError:
        (memory / "second").unlink(missing_ok=True)
    memory.chmod(0o777)
    print("B", seen + 1)
"""


@pytest.mark.long
def test_a_state_folder_has_a_size_and_is_empty_in_the_next_fixture(make: Make) -> None:
    bot = make(FILES_IN_A_FOLDER, state="memory/", limits=AMPLE._replace(state=100_000))

    assert fixtures(bot, 3, 3) == [[1, 2, 3]] * 3


def fixtures(bot: BuiltBot, count: int, tables: int) -> list[list[int]]:
    """Play fixtures with the same pool of bots; return the bets in each."""

    async def work() -> list[list[int]]:
        async with opened("cardshark", [bot]) as pool:
            jobs = [Job(fixture_of("cardshark", [bot], tables, f"test/{number}", hands=1)) for number in range(count)]
            return [bets_of(await pool.play(job)) for job in jobs]

    return trio.run(work)


def test_a_state_file_is_gone_with_its_house(make: Make) -> None:
    bot = make("print('S')\n", state="memory")

    with nothing_left_behind():
        alone(bot, 1)

    assert not list((CACHE / "states").iterdir())


TELLS = """
    #include <stdio.h>

    int main(int count, char **words, char **environment)
    {
        for (; *environment; environment++) fprintf(stderr, "%s\\n", *environment);
        return 1;
    }
"""


def environment_of(bot: BuiltBot, path: str = "test/1") -> dict[str, str]:
    """Return a bot's environment, which it prints to its standard error."""
    (piece, _slowest) = alone(bot, 1, path).evidence
    return dict(line.split("=", 1) for line in piece.stderr.decode().splitlines())


@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_a_bots_environment_is_small_and_fixed(protocol: str, make: Make) -> None:
    os.environ["CROUPIER_TEST_SECRET"] = "not for bots"
    bot = make(TELLS, ".c", protocol=protocol)

    assert environment_of(bot) == {
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "CROUPIER_SEED": str(bot_seed(SEED, "bot", "test/1")),
    }


def test_a_manifests_own_variables_are_added(make: Make) -> None:
    bot = make(TELLS, ".c", env={"STYLE": "bold", "LANG": "C"})

    assert environment_of(bot) | {"CROUPIER_SEED": ""} == {
        "LANG": "C", "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "CROUPIER_SEED": "", "STYLE": "bold",
    }  # fmt: skip


def test_the_seed_is_the_same_for_the_same_path_and_bot_and_no_other(make: Make) -> None:
    one, two = make(TELLS, ".c", "one"), make(TELLS, ".c", "two")

    seeds = [environment_of(bot, path)["CROUPIER_SEED"] for bot in (one, two) for path in ("a/1", "a/1", "a/2")]

    assert seeds[0] == seeds[1] and seeds[3] == seeds[4]
    assert len({seeds[0], seeds[2], seeds[3], seeds[5]}) == 4
    assert all(0 <= int(seed) < 2**63 for seed in seeds)


# End.

AT_ONCE = 5.0  # seconds: much more than a loaded machine needs, much less than these bots would live


@pytest.mark.timing
def test_an_orderly_end_gives_fifty_milliseconds_to_say_goodbye(make: Make) -> None:
    source = """
        import sys, time
        from pathlib import Path

        for question in sys.stdin:
            print("S", flush=True)
        time.sleep(0.015)
        Path("memory").write_text("goodbye")
    """
    bot = make(source, protocol="lines", state="memory")

    async def said() -> bool:
        async with opened("cardshark", [bot]) as pool:
            await pool.play(Job(fixture_of("cardshark", [bot], 2, hands=1)))
            return [state.read_text() for state in (CACHE / "states").iterdir()] == ["goodbye"]

    # If other programs use the processor for 35 of these 50 ms, the bot writes nothing; ten times in a row is unlikely.
    assert any(trio.run(said) for _ in range(10))


def test_an_end_takes_no_longer_than_that(make: Make) -> None:
    source = "import sys, time\nfor question in sys.stdin:\n    print('S', flush=True)\ntime.sleep(3600)\n"
    bot = make(source, protocol="lines")

    async def work() -> float:
        async with seat_of(bot) as seat:
            await seat.ask(Batch([Question(1, 1, GAMES["cardshark"].examples[0])]))
            asked = trio.current_time()
        return trio.current_time() - asked

    assert 0.05 <= trio.run(work) < AT_ONCE


def test_after_a_fault_nobody_waits(make: Make) -> None:
    source = """
        import atexit, signal, sys, time

        atexit.register(time.sleep, 3600)
        signal.signal(signal.SIGTERM, lambda *_: None)
        for question in sys.stdin:
            print("HIT!", flush=True)
    """
    bot = make(source, protocol="lines")

    async def work() -> float:
        async with seat_of(bot) as seat:
            await seat.ask(Batch([Question(1, 1, GAMES["cardshark"].examples[0])]))
            asked = trio.current_time()
            await seat.ask(Batch([Question(1, 2, GAMES["cardshark"].examples[1])]))
        return trio.current_time() - asked

    assert trio.run(work) < AT_ONCE


def test_a_bot_that_closed_its_output_but_lives_on_has_left(make: Make) -> None:
    bot = built(ROGUES / "turns_away.c", protocol="lines")

    piece = alone(bot, 1).evidence[0]

    assert (piece.kind, piece.ended) == ("exit", "was stopped")


def test_cancelling_a_fixture_leaves_nothing(make: Make) -> None:
    bot = make("import sys\nfor question in sys.stdin:\n    import time; time.sleep(3600)\n", protocol="lines")

    async def work() -> None:
        async with opened("cardshark", [bot]) as pool:
            with trio.move_on_after(0.3):
                await pool.play(Job(fixture_of("cardshark", [bot], 2, hands=1)))

    with nothing_left_behind():
        trio.run(work)


# Failures of the host.

KILLED_AT = 20  # tables: they take much longer than it takes to notice that they have begun

LIVELY = """
    import sys, time

    for question in sys.stdin:
        time.sleep(0.01)
        print("S" if int(question.split()[0]) > 15 else "H", flush=True)
"""


async def kill_keepers_of(program: str, times: int, delay: float = 0.05) -> None:
    """Kill the keeper of a program some seconds after the program started; repeat with its next keepers."""
    dead: set[int] = set()
    while len(dead) < times:
        await trio.sleep(0.02)
        for process in descendants(os.getpid()):
            with suppress(psutil.Error):
                if not any(program in word for word in process.cmdline()) or process.ppid() in dead:
                    continue
                keeper = process.ppid()
                await trio.sleep(delay)
                os.kill(keeper, signal.SIGKILL)
                dead.add(keeper)  # its bot dies with it, so psutil may find neither of them now


def played_with_dying_keepers(bots: list[BuiltBot], times: int, delay: float = 0.05) -> Record:
    """Play while the first bot's keeper is killed a number of times."""

    async def work() -> Record:
        async with opened("cardshark", bots) as pool, trio.open_nursery() as nursery:
            nursery.start_soon(kill_keepers_of, f"{bots[0].name}.py", times, delay)
            record = await pool.play(Job(fixture_of("cardshark", bots, KILLED_AT, hands=1)))
            nursery.cancel_scope.cancel()
        return record

    return trio.run(work)


@pytest.mark.timing
@pytest.mark.parametrize("times", [1, MAX_HOST_FAILURES - 1])
def test_a_bot_whose_keeper_dies_is_asked_again_and_nobody_is_blamed(times: int, make: Make) -> None:
    bots = [make(LIVELY, name=name, protocol="lines") for name in ("lively", "quiet")]
    undisturbed = played("cardshark", bots, KILLED_AT, hands=1)

    with nothing_left_behind():
        record = played_with_dying_keepers(bots, times)

    assert record.replayed == len(record.failures) == times
    assert all(re.match(r"lively at table \d+: .*; the sandbox (was killed|exited)", said) for said in record.failures)
    assert answers_of(record) == answers_of(undisturbed)
    assert record.faults == {}


TIRES = """
    import sys, time

    for number, question in enumerate(sys.stdin):
        if number == 8:
            time.sleep(3600)
        print("S", flush=True)
"""


@pytest.mark.timing
@pytest.mark.parametrize("parallel_tables", [1, KILLED_AT])
def test_no_answer_is_asked_for_again_when_a_keeper_dies(parallel_tables: int, make: Make) -> None:
    # Each process gives eight answers at most, so three are enough for 20 tables if no answer is lost.
    bots = [make(TIRES, name="lively", protocol="lines", parallel_tables=parallel_tables)]

    with nothing_left_behind():
        record = played_with_dying_keepers(bots, MAX_HOST_FAILURES - 1, delay=1.0)

    assert record.faults == {}
    assert answers_of(record) == [[STAND]] * KILLED_AT
    assert record.replayed == len(record.failures) == MAX_HOST_FAILURES - 1
    assert record.usage["lively"].questions == KILLED_AT
    assert record.usage["lively"].starts == MAX_HOST_FAILURES


@pytest.mark.timing
def test_no_argv_answer_is_asked_for_again_when_a_keeper_dies(make: Make) -> None:
    bot = make("import time\ntime.sleep(0.05)\nprint('S')\n", name="lively", parallel_tables=KILLED_AT)

    async def work() -> Record:
        async with opened("cardshark", [bot]) as pool, trio.open_nursery() as nursery:
            nursery.start_soon(kill_every_keeper, 2, 0.5)
            return await pool.play(Job(fixture_of("cardshark", [bot], KILLED_AT, hands=1)))

    record = trio.run(work)

    assert record.faults == {} and record.replayed == 2
    assert record.usage["lively"].starts == KILLED_AT  # the two that a keeper took with it are not counted


@pytest.mark.timing
def test_the_death_of_its_keeper_does_not_excuse_what_a_bot_has_written(make: Make) -> None:
    source = """
        import sys, time

        sys.stdin.readline()
        time.sleep(0.4)
        print("HIT!", flush=True)
        time.sleep(60)
    """
    bot = make(source, protocol="lines")

    async def work() -> list[Answer]:
        async with seated_in(bot) as (seat, sandbox), trio.open_nursery() as nursery:

            async def stall_and_kill() -> None:
                while not any(descendants(sandbox.pid)):
                    await trio.sleep(0.001)
                await trio.sleep(0.1)  # until the question is written
                time.sleep(1.0)  # noqa: ASYNC251 - this process reads nothing until the keeper is dead
                os.kill(sandbox.pid, signal.SIGKILL)

            nursery.start_soon(stall_and_kill)
            return await seat.ask(Batch([Question(1, 1, GAMES["cardshark"].examples[0])]))

    assert trio.run(work) == [Fault(FaultKind.UNREADABLE)]


@pytest.mark.timing
def test_the_third_time_it_is_the_bots_own_crash_and_the_fixture_goes_on_without_it(make: Make) -> None:
    bots = [make(LIVELY, name=name, protocol="lines") for name in ("lively", "quiet")]

    with nothing_left_behind():
        record = played_with_dying_keepers(bots, MAX_HOST_FAILURES)

    assert record.replayed == MAX_HOST_FAILURES - 1
    assert faults_of(record, "lively")["crash"] == 1
    (crash,) = [piece.ended for piece in record.evidence if piece.kind == "crash"]
    assert "the keeper has exited" in crash or "lost the connection to the keeper" in crash
    assert set(faults_of(record, "lively")) <= {"crash", "benched"}
    assert faults_of(record, "quiet") == {}
    assert record.results["quiet"].tables == KILLED_AT


def test_the_next_fixture_gets_a_new_sandbox(make: Make) -> None:
    bot = make(LIVELY, name="lively", protocol="lines")

    async def work() -> list[Record]:
        async with opened("cardshark", [bot]) as pool:
            first = await pool.play(Job(fixture_of("cardshark", [bot], 2, hands=1)))
            os.kill((await pool.sandbox(bot)).pid, signal.SIGKILL)
            return [first, await pool.play(Job(fixture_of("cardshark", [bot], 2, hands=1)))]

    first, second = trio.run(work)

    assert answers_of(second) == answers_of(first)
    assert second.replayed == 1


@pytest.mark.long
@pytest.mark.parametrize("warm", [False, pytest.param(True, marks=pytest.mark.long)], ids=["cold", "warm"])
@pytest.mark.one_in(2)
def test_a_worker_removes_the_sandboxes_that_were_used_least_recently(make: Make, warm: bool) -> None:
    text = f"held = '{'x' * (12 << 20)}'\n" if warm else ""  # 12 MiB in an interpreter, and in the fork made ahead
    bots = [make(f"{text}print('S')\n", name=f"bot{number}", warm=warm) for number in range(BOTS_AT_ONCE + 4)]

    async def work() -> list[tuple[int, int]]:
        counts = []
        async with opened("cardshark", bots) as pool:
            before = {each.pid for each in descendants(os.getpid())}
            first = await pool.sandbox(bots[0])
            for bot in bots:
                await pool.play(Job(fixture_of("cardshark", [bots[0], bot][: 1 + (bot is not bots[0])], 1, hands=1)))
                mine = [each for each in descendants(os.getpid()) if each.pid not in before]
                counts.append((len(mine), sum(each.memory_full_info().pss for each in mine)))
            assert await pool.sandbox(bots[0]) is first
        assert {each.pid for each in descendants(os.getpid())} <= before
        return counts

    counts, memory = zip(*trio.run(work), strict=True)

    most = counts[0] * BOTS_AT_ONCE
    if warm:
        assert MAX_WAITING_BYTES / 2 < max(memory) < MAX_WAITING_BYTES * 1.5
        assert max(counts) < most
    else:
        assert counts[BOTS_AT_ONCE - 1] == most == max(counts) == counts[-1]


def test_a_bot_whose_sandbox_cannot_be_made_has_crashed_and_the_others_play(make: Make) -> None:
    bots = [make(LIVELY, name=name, protocol="lines") for name in ("lively", "quiet")]
    bots[0] = bots[0]._replace(folder="/nonexistent")

    with nothing_left_behind():
        record = played("cardshark", bots, 4, hands=1)

    assert faults_of(record, "lively") == {"crash": 1, "benched": 3}
    assert len(record.failures) == record.replayed == MAX_HOST_FAILURES - 1
    assert "/nonexistent" in record.failures[0]
    assert faults_of(record, "quiet") == {}


@pytest.mark.skipif(not level().traits.own_namespaces, reason="NO NAMESPACES: bubblewrap is not used")
def test_a_machine_that_can_make_no_sandbox_is_refused_and_no_bot_is_charged(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = make(LIVELY, name="lively", protocol="lines")
    broken = CACHE / "broken" / "bwrap"
    broken.parent.mkdir(exist_ok=True)
    broken.write_text("#!/bin/sh\necho no room for a sandbox >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent))
    bubblewrap.program.cache_clear()
    try:
        with pytest.raises(UserError) as refused:
            played("cardshark", [bot], 2, hands=1)
    finally:
        monkeypatch.undo()
        bubblewrap.program.cache_clear()

    (problem,) = refused.value.problems
    assert problem.code == "S018"
    assert "no room for a sandbox; the sandbox exited with 1" in problem.evidence
    assert refused.value.exit_code == 6


SLOW_START = "import time\ntime.sleep(0.3)\n" + dedent(LIVELY)


async def kill_every_keeper(times: int, pause: float = 0.1) -> None:
    """Kill the keepers of this process, `times` in all, after pauses of some seconds."""
    while times:
        await trio.sleep(pause)
        for process in descendants(os.getpid()):
            with suppress(psutil.Error):
                if process.name() == "keeper" and process.status() != psutil.STATUS_ZOMBIE and times:
                    process.kill()
                    times -= 1


@pytest.mark.timing
@pytest.mark.parametrize("times", [1, 2])
def test_a_bot_is_prepared_again_if_its_keeper_dies(times: int, tmp_path: Path) -> None:
    source = f"# {tmp_path}\n{SLOW_START}"  # another bot each time: one that has started before would not be started
    submission = spec_of(written(source, ".py", tmp_path, "slow"), protocol="lines")

    async def work() -> Sequence[BuiltBot]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_every_keeper, times)
            return (await prepare_bots([submission], GAMES["cardshark"], AMPLE, level())).bots

    assert [bot.name for bot in trio.run(work)] == ["slow"]


def test_a_usage_counts_what_it_says() -> None:
    record = alone(built(ROGUES / "closes_output.c"), 3)

    usage = record.usage["closes_output"]
    assert (usage.questions, usage.starts, sum(usage.walls)) == (3, 3, 3)
    assert usage.slowest <= usage.wall
    assert answers_of(record) == [[STAND]] * 3


def in_order(answers: list[list[Answer]]) -> list[str]:
    """Return fault kinds and verbs in the order of tables and answers."""
    return [answer.kind if isinstance(answer, Fault) else answer.verb for table in answers for answer in table]


def test_a_fault_is_nobody_elses(make: Make) -> None:
    rogue, honest = built(ROGUES / "crashes.c"), make("print('S')\n")

    record = played("cardshark", [rogue, honest], 4, hands=1)

    assert sorted(in_order(answers_of(record))) == ["S"] * 4 + [FaultKind.CRASH] * 4
