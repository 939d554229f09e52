"""`import croupier`: the commands as functions, in a plain process, in one with an event loop, and after interruptions."""

import asyncio
import gc
import json
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import croupier as command
from command import environment
from helpers import SAMPLES, breadth
from model_server import serving

import croupier

PAIR = ("sample:dumb_bold", "sample:dumb_cautious")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    croupier.close()


def test_play_returns_what_the_command_prints(tmp_path: Path) -> None:
    result = croupier.play("pazaak", PAIR, tables=60, seed=7, mirror=True, folder=tmp_path)
    printed = command("play", *PAIR, "-g", "pazaak", "-n", 60, "--seed", 7, "--mirror", "--json", cwd=tmp_path).json
    assert [(row["bot"], row["rate"], row["points"]) for row in result.to_dicts()] == [
        (row["bot"], row["rate"], row["points"]) for row in printed["rows"]
    ]
    assert result.sure and result.ranked_by == "win_rate" and result.faults == {} and result.tables == 60
    best = result.rows[0]
    low, high = result.interval(best.bot) or (1, 0)
    assert low < result.values[best.bot] < high and (best.low, best.high) == (low, high)
    assert result.scores[best.bot] == next(row["points"] for row in printed["rows"] if row["rank"] == 1)
    page = result._repr_html_()
    assert "<table>" in page and all(bot in page for bot in result.bots)


def test_a_table_of_a_result_is_what_replay_prints(tmp_path: Path) -> None:
    result = croupier.play("pazaak", PAIR, tables=20, seed=7, folder=tmp_path)
    command("play", *PAIR, "-g", "pazaak", "-n", 20, "--seed", 7, cwd=tmp_path)
    table = result.table(17)
    replayed = command("replay", f"{table.name}", "--json", cwd=tmp_path).json
    assert json.loads(json.dumps(table.events)) == replayed["events"]
    assert str(table).strip() == command("replay", table.name, cwd=tmp_path).out.strip()
    assert table.scores == tuple(replayed["events"][-1]["scores"])
    with pytest.raises(KeyError):
        result.table(21)


def test_more_bots_play_a_round_robin() -> None:
    result = croupier.play("pazaak", [*PAIR, "sample:glaucus"], tables=10, seed=1)
    assert result.tables == 30 and {row.tables for row in result.rows} == {20}
    with pytest.raises(KeyError, match="name the pair"):
        result.table(1)
    assert result.table("dumb_bold+dumb_cautious/3").bots


@pytest.mark.long
def test_the_second_call_uses_the_same_sandboxes() -> None:
    croupier.play("pazaak", PAIR, tables=4, seed=1, workers=1)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    again = croupier.play("pazaak", PAIR, tables=4, seed=1, workers=1)
    other = croupier.play("pazaak", PAIR, tables=4, seed=2, workers=1)
    keepers = {child.pid for child in psutil.Process().children(recursive=True)}
    assert before & keepers and len(keepers - before) <= 2, "only the bots' processes are new"
    assert again.values == croupier.play("pazaak", PAIR, tables=4, seed=1, workers=1).values
    assert other.seed == "2"
    croupier.close()
    assert psutil.Process().children(recursive=True) == []


def test_a_changed_bot_is_built_and_started_again(tmp_path: Path) -> None:
    bot = tmp_path / "mine.py"
    texts = ["STAND", "END"]
    seen = []
    for text in texts:
        bot.write_text(f"import sys\nfor line in sys.stdin:\n    print('{text}', flush=True)\n")
        result = croupier.play("pazaak", [bot, "sample:dumb_bold"], tables=1, seed=3)
        events = result.table(1).events
        seen.append({event["a"] for event in events if event["ev"] == "answer" and event["seat"] == 0})
    assert seen == [{"STAND"}, {"END"}]


def test_a_function_plays_as_a_bot_does(tmp_path: Path) -> None:
    source = "import sys\nfor line in sys.stdin:\n    print('STAND', flush=True)\n"
    (tmp_path / "stands.py").write_text(source)

    def stands(_view: object) -> str:
        return "STAND"

    as_bot = croupier.play("pazaak", [tmp_path / "stands.py", PAIR[0]], tables=40, seed=5)
    as_function = croupier.play("pazaak", [stands, PAIR[0]], tables=40, seed=5)
    assert as_bot.values == as_function.values and as_function.bots == ("stands", "dumb_bold")
    assert {row.bot: row.language for row in as_function.rows}["stands"] == "function"
    assert as_bot.table(3).scores == as_function.table(3).scores


def test_two_functions_play_without_any_sandbox() -> None:
    result = croupier.play("pazaak", [lambda _view: "STAND", lambda _view: "END"], tables=10, seed=5)
    assert [row.bot for row in result.rows] and set(result.bots) == {"function", "function#2"}


def unsteady(view: Any) -> str:
    """Answer as a client of a model does: sometimes with an error, sometimes with prose."""
    total = sum(view.your_hand)
    if total == 7:
        raise RuntimeError("429 too many requests")
    return "I think I will STAND." if total > 17 else "END"


async def unsteady_async(view: Any) -> str:
    return unsteady(view)


@pytest.mark.long
@pytest.mark.parametrize("player", breadth([unsteady_async, unsteady], 2))
def test_what_a_function_raises_and_what_no_game_knows_are_faults(
    player: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    result = croupier.play("pazaak", [player, PAIR[0]], tables=40, seed=7)
    assert result.tables == 40
    assert set(result.faults) == {player.__name__} and set(result.faults[player.__name__]) == {
        "exception",
        "unreadable",
    }
    printed = capsys.readouterr().err
    assert printed.startswith(f"{player.__name__}, question ") and printed.count("croupier prints no other fault") == 1
    texts = [str(result.table(number)) for number in range(1, 41)]
    first = next(text for text in texts if "! RuntimeError" in text)
    assert 'raise RuntimeError("429 too many requests")' in first
    first = next(text for text in texts if "I think I will STAND." in text)
    assert "is not an answer of pazaak: return END, STAND or PLAY <card> as a text" in first


def test_a_value_that_cannot_show_itself_is_unreadable() -> None:
    class Secret:
        def __repr__(self) -> str:
            raise ValueError("nobody may see this")

    def secret(_view: object) -> Any:
        return Secret()

    async def later(_view: object) -> Any:
        return Secret()

    for player in (secret, later):
        result = croupier.play("pazaak", [player, PAIR[0]], tables=1, seed=7)
        assert set(result.faults[player.__name__]) == {"unreadable"}
        assert "Secret instance at" in str(result.table(1))


@pytest.mark.long
def test_tasks_that_an_async_function_leaves_open_are_cancelled_at_the_end() -> None:
    program = """
import asyncio
import croupier

tasks = []

async def waits():
    try:
        await asyncio.Event().wait()
    finally:
        print("cancelled", flush=True)

async def player(_view):
    if not tasks:
        tasks.append(asyncio.create_task(waits()))
        await asyncio.sleep(0)
    return "STAND"

print(croupier.play("pazaak", [player, player], tables=1).tables)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\ncancelled\n", "")


def test_a_function_that_asks_croupier_itself_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    async def nested(_view: object) -> str:
        return str(croupier.play("pazaak", PAIR))

    for player in (nested, lambda _view: str(croupier.play("pazaak", PAIR))):
        croupier.play("pazaak", [player, PAIR[0]], tables=1)
        assert "a function at a table cannot call croupier itself" in capsys.readouterr().err


def test_what_ends_a_process_ends_the_call() -> None:
    async def leaves(_view: object) -> str:
        sys.exit(3)

    for player in (leaves, lambda _view: sys.exit(3)):
        with pytest.raises(SystemExit, match="3"):
            croupier.play("pazaak", [player, PAIR[0]], tables=2)


# An async function.


async def stands_async(_view: object) -> str:
    return "STAND"


@pytest.mark.long
def test_an_async_function_plays_as_a_bot_does(tmp_path: Path) -> None:
    (tmp_path / "stands_async.py").write_text("import sys\nfor line in sys.stdin:\n    print('STAND', flush=True)\n")
    as_bot = croupier.play("pazaak", [tmp_path / "stands_async.py", PAIR[0]], tables=40, seed=5, mirror=True)
    as_function = croupier.play("pazaak", [stands_async, PAIR[0]], tables=40, seed=5, mirror=True)
    assert as_bot.values == as_function.values
    assert as_bot.table(3).scores == as_function.table(3).scores
    result = croupier.play("pazaak", [stands_async, *PAIR], tables=3, seed=5)
    assert {row.bot: row.tables for row in result.rows}["stands_async"] == 6
    assert croupier.check(stands_async, game="pazaak").accepted
    croupier.compare(stands_async, PAIR[0], game="pazaak", tables=10)


@pytest.mark.long
def test_an_async_client_asks_for_several_tables_at_once() -> None:
    httpx = pytest.importorskip("httpx")
    with serving(*["meet"] * 4) as server:  # no request is answered before four are there
        client, running, most = httpx.AsyncClient(timeout=600), 0, 0

        async def model(view: Any) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            said = {"model": "tiny", "messages": [{"role": "user", "content": f"{view}"}]}
            reply = await client.post(f"{server.address}/chat/completions", json=said)
            running -= 1
            return str(reply.json()["choices"][0]["message"]["content"])

        for _ in range(2):  # the second call goes on with the client, and its open connections
            result = croupier.play("pazaak", [model, PAIR[0]], tables=8, seed=7, workers=4)
            assert result.faults == {} and result.tables == 8
    assert most == 4


INTERRUPTED = """
import asyncio, os, signal
import croupier

asked = 0

async def model(view):
    global asked
    asked += 1
    if asked == 200:
        os.kill(os.getpid(), signal.SIGINT)
    if asked >= 200:
        await asyncio.Event().wait()
    return "STAND"

try:
    croupier.play("pazaak", [model, "sample:dumb_bold"], tables=500, seed=7)
except KeyboardInterrupt as interrupt:
    result = interrupt.result
    print(0 < result.tables < 200, result.rows[0].tables == result.tables, len(result.table_rows()) == 2 * result.tables)
    print(interrupt)
print(croupier.play("pazaak", [lambda view: "STAND", "sample:dumb_bold"], tables=4).tables)
"""


@pytest.mark.long
def test_an_interrupted_call_keeps_the_tables_that_have_been_played() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True True True\n")
    assert done.stdout.endswith(" of 500 tables have been played: `result` of this exception has them\n4\n")


def test_errors_carry_the_code_the_place_and_the_cure(tmp_path: Path) -> None:
    with pytest.raises(croupier.Error) as unknown:
        croupier.play("pazak", PAIR)
    assert (unknown.value.code, unknown.value.exit_code) == ("U001", 2) and "did you mean pazaak" in str(unknown.value)
    (tmp_path / "broken.c").write_text("int main(void) { return x; }\n")
    with pytest.raises(croupier.Error) as broken:
        croupier.play("pazaak", [tmp_path / "broken.c", PAIR[0]], tables=2)
    assert broken.value.code.startswith("B") and broken.value.exit_code == 4
    with pytest.raises(croupier.Error, match="no such folder"):
        croupier.tournament(tmp_path / "nothing")
    with pytest.raises(croupier.Error, match="C001"):
        croupier.play("pazaak", PAIR, limits={"mov": "1s"})


def test_check_returns_the_words_of_the_command(tmp_path: Path) -> None:
    good = croupier.check("sample:nestor", folder=tmp_path)
    printed = command("check", "sample:nestor", "--json", cwd=tmp_path).json
    assert good and good.accepted and good.plays and good.problems == []
    assert [line["what"] for line in good.findings] == [line["what"] for line in printed["rows"][0]["lines"]]
    assert "ready to play" in str(good)
    bad = tmp_path / "silent.py"
    bad.write_text("import sys\nfor line in sys.stdin:\n    print('HELLO', flush=True)\n")
    verdict = croupier.check(bad, game="pazaak", folder=tmp_path)
    assert not verdict and verdict.problems[0]["code"].startswith("B") and "not accepted" in repr(verdict)


@pytest.mark.long
def test_compare_decides_as_the_command_does(tmp_path: Path) -> None:
    found = croupier.compare("sample:nestor", PAIR[0], seed=1, folder=tmp_path)
    assert found and found.stronger and found.certainty > 0.99 and "stronger than dumb_bold after" in str(found)
    printed = command("compare", "sample:nestor", PAIR[0], "--seed", 1, "--json", cwd=tmp_path).json
    assert printed["tables"] == found.tables
    assert printed["elo"] == {"points": round(found.lead, 2), "low": round(found.low, 2), "high": round(found.high, 2)}
    stricter = croupier.compare("sample:nestor", PAIR[0], seed=1, sure=0.999, folder=tmp_path)
    assert stricter.tables > found.tables
    weaker = croupier.compare(PAIR[0], "sample:nestor", against=["sample:glaucus", "sample:optimum"], tables=60, seed=1)
    assert weaker.low < weaker.lead < weaker.high < 0
    assert weaker.stronger is False and weaker.certainty < 0.05 and len(weaker.results) == 4 and weaker.tables == 240
    with pytest.raises(ValueError, match="certainty between"):
        croupier.compare(*PAIR, sure=95)


@pytest.mark.long
@pytest.mark.parametrize("against", breadth([["sample:dumb_cautious"], []], 2), ids=["opponents", "each other"])
def test_functions_are_compared(against: list[str]) -> None:
    def seventeen(view: Any) -> str:
        return "STAND" if sum(view.your_hand) >= 17 else "END"

    def reckless(_view: object) -> str:
        return "END"

    found = croupier.compare(
        seventeen, reckless, game="pazaak", against=against, tables=400, seed=1, limits={"move": "1s"}
    )
    assert found.stronger and found.lead > 0 and "seventeen" in str(found)
    weaker = croupier.compare(reckless, "sample:dumb_bold", elo=(-20, 0), tables=400, seed=1)
    assert weaker.stronger is False and str(weaker).startswith("weaker than dumb_bold after ")
    with pytest.raises(croupier.Error, match="which game"):
        croupier.compare(seventeen, reckless)


def test_a_function_is_checked() -> None:
    assert croupier.check(lambda _view: "END", game="pazaak").accepted
    verdict = croupier.check(lambda _view: "JUMP", game="pazaak")
    assert not verdict and "'JUMP' is not an answer of pazaak" in str(verdict)


def test_the_rows_of_all_tables_are_read_at_once() -> None:
    result = croupier.play("pazaak", PAIR, tables=300, seed=7)
    rows = result.table_rows()
    assert len(rows) == 600 and {row["bot"] for row in rows} == set(result.bots)
    for bot, mean in result.scores.items():
        scores = [row["score"] for row in rows if row["bot"] == bot]
        assert sum(scores) / len(scores) == mean
    assert [row["score"] for row in rows if row["table"].endswith("/17")] == list(result.table(17).scores)


@pytest.mark.long
def test_a_result_is_pickled_and_outlives_the_session() -> None:
    result = croupier.play("pazaak", PAIR, tables=20, seed=7)
    text, rows, html = str(result), result.table_rows(), result.table(3)._repr_html_()
    copy = pickle.loads(pickle.dumps(result))
    assert "\x1b" not in text and html.startswith('<iframe sandbox="allow-scripts" ')
    for kept in (copy, result):
        croupier.close()
        assert (str(kept), kept.table_rows(), kept.values, kept.game) == (text, rows, result.values, "pazaak")
        with pytest.raises(croupier.Error, match="the tables of this result are gone"):
            kept.table(3)
    assert pickle.loads(pickle.dumps(result)).rows == result.rows


def test_the_journal_of_a_dropped_result_is_removed() -> None:
    result = croupier.play("pazaak", PAIR, tables=2, seed=7)
    journal = result._journal()
    assert journal.exists()
    del result
    gc.collect()
    assert not list(journal.parent.glob(f"{journal.name}*"))


@pytest.mark.long
def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    program = f"import croupier, os; croupier.play('pazaak', {PAIR!r}, tables=2); {{end}}"
    env = environment(TMPDIR=str(tmp_path))
    killed = program.format(end="os.kill(os.getpid(), 9)")
    assert subprocess.run([sys.executable, "-c", killed], env=env, check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.glob("croupier-*")
    look = program.format(end="print(*os.listdir(os.environ['TMPDIR']))")
    shown = subprocess.run([sys.executable, "-c", look], env=env, capture_output=True, text=True, check=True).stdout
    assert left.name not in shown and "croupier-" in shown and not list(tmp_path.glob("croupier-*"))


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"tables": 2.5}, TypeError, "tables: a whole number, not 2.5"),
        ({"tables": "many"}, TypeError, "tables: a whole number, not 'many'"),
        ({"tables": True}, TypeError, "tables: a whole number, not True"),
        ({"tables": 0}, ValueError, "tables: at least 1"),
        ({"seed": 3.7}, TypeError, "seed: a whole number, not 3.7"),
        ({"bots": "sample:nestor"}, TypeError, "bots: a list of bots"),
    ],
    ids=str,
)
def test_wrong_values_are_refused_before_anything_is_played(
    wrong: dict[str, Any], error: type[Exception], words: str
) -> None:
    values: dict[str, Any] = {"bots": PAIR, "tables": 2} | wrong
    with pytest.raises(error, match=words):
        croupier.play("pazaak", **values)


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    result = croupier.play("pazaak", PAIR, tables=numpy.int64(3), seed=numpy.int64(7))
    assert result.tables == 3 and result.seed == "7" and result.table(numpy.int64(2)).name.endswith("/2")


def test_errors_have_no_group_in_their_context() -> None:
    def breaks(_view: object) -> str:
        try:
            raise KeyError("first")
        except KeyError:
            raise SystemExit("then")  # noqa: B904 - its context must stay

    with pytest.raises(SystemExit) as failed:
        croupier.play("pazaak", [breaks, PAIR[0]], tables=2)
    assert isinstance(failed.value.__context__, KeyError)


CUP = """\
game = "pazaak"
bots = ["sample:dumb_bold", "sample:dumb_cautious", "sample:glaucus"]
seed = "7"
[[stage]]
kind = "round-robin"
name = "league"
tables_per_pair = 400
fixture_tables = 100
"""


@pytest.mark.long
def test_a_tournament_is_continued_by_the_command_and_by_python(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "croupier.toml").write_text(CUP)
    cup = croupier.tournament(tmp_path / "one")
    with pytest.raises(croupier.Error, match="R006"):
        cup.standings()
    with pytest.warns(UserWarning, match="anybody can compute the deals"):
        cup.run(stop_after=0.001)
    assert command("run", cwd=tmp_path / "one").code == 0
    assert command("run", "--stop-after", "1 ms", cwd=tmp_path / "two").code in (0, 5)
    with pytest.warns(UserWarning):
        other = croupier.tournament(tmp_path / "two").run()
    values = [(row.bot, row.value) for row in cup.standings().rows]
    assert values == [(row.bot, row.value) for row in other.rows] and len(values) == 3
    assert str(other) in command("standings", cwd=tmp_path / "two").out and "<table>" in other._repr_html_()
    assert command("status", "--json", cwd=tmp_path / "two").json["state"] == "finished"


def test_a_running_event_loop_is_left_alone() -> None:
    async def cell() -> float:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.001)
                beats += 1

        heart = asyncio.create_task(beat())
        direct = croupier.play("pazaak", PAIR, tables=4, seed=1)  # as a cell of a notebook calls it
        beside = await asyncio.to_thread(croupier.play, "pazaak", PAIR, tables=200, seed=1)
        heart.cancel()
        assert direct.tables == 4 and beside.tables == 200
        return beats

    assert asyncio.run(cell()) > 0


def test_calls_from_several_threads_wait_for_each_other() -> None:
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(croupier.play("pazaak", PAIR, tables=10, seed=1).values))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3 and results[0] == results[1] == results[2]


ENDLESS = """
import croupier
print("begun", flush=True)
croupier.play("pazaak", ["sample:dumb_bold", "sample:nestor"], tables=10_000_000, workers=1)
"""


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM], ids=["^C", "kill", "term"])
def test_an_interrupted_program_leaves_no_bot_behind(how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None and program.stdout.readline() == b"begun\n"
        process, seen = psutil.Process(program.pid), dict[int, psutil.Process]()
        until = time.monotonic() + 120
        while len(seen) < 4 and time.monotonic() < until:
            seen |= {child.pid: child for child in process.children(recursive=True)}
            time.sleep(0.02)
        assert len(seen) >= 4
        program.send_signal(how)
        _, errors = program.communicate(timeout=120)
    assert program.returncode != 0 and (how is not signal.SIGINT or b"KeyboardInterrupt" in errors)
    _, alive = psutil.wait_procs([*seen.values()], timeout=120)
    assert alive == []


@pytest.mark.long
def test_after_an_interruption_the_next_call_plays() -> None:
    program = """
    import os, signal, threading, time
    import croupier
    def interrupt():
        time.sleep(1.5)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        croupier.play("pazaak", ["sample:dumb_bold", "sample:nestor"], tables=10_000_000)
    except KeyboardInterrupt:
        print("interrupted")
    print(croupier.play("pazaak", ["sample:dumb_bold", "sample:nestor"], tables=4).tables)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout == "interrupted\n4\n"


@pytest.mark.long
def test_the_example_is_completely_typed(tmp_path: Path) -> None:
    example = tmp_path / "example.py"
    example.write_text(
        textwrap.dedent("""
        import croupier

        def mine(view: object) -> str:
            return "STAND"

        result = croupier.play("pazaak", [mine, "sample:nestor"], tables=10, seed=1)
        rows: list[dict[str, object]] = result.to_dicts()
        bounds: tuple[float, float] | None = result.interval("nestor")
        table: croupier.PlayedTable = result.table(1)
        verdict: croupier.CheckedBot = croupier.check("sample:nestor")
        better: bool | None = croupier.compare("sample:nestor", "sample:optimum", tables=100).stronger
        cup: croupier.Tournament = croupier.tournament(".")
        """)
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", example],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_samples_are_found_without_a_folder() -> None:
    assert croupier.play(None, [SAMPLES / "pazaak" / "dumb_bold", PAIR[1]], tables=2).game == "pazaak"
