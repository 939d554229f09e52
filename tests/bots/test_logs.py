"""The output of bots and compilers is stored: bounded, by table, and only in the run's folder."""

from pathlib import Path

import pytest
from command import croupier, cup_in

from host.base.errors import Problem, UserError
from host.base.paths import MAX_FILE_NAME_CHARS, file_name
from host.base.safe_text import escape_control_chars
from host.bots.stderr_log import MAX_STDERR_BYTES as OF_A_FIXTURE
from host.bots.stderr_log import QuestionPlace, StderrLog
from host.play.records import Record
from host.results.bot_logs import MAX_LOG_BYTES, Logs, TableLogs

TALKS = """\
#!/bin/sh
printf 'I have %s\\033[2J\\n' "$5" >&2
echo S
"""


def said(bot: str, *pieces: tuple[str, bytes]) -> Record:
    return Record("league/A+B/1", {}, {}, {}, (), (), b"", said=((bot, pieces),))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "cup" / "run"


@pytest.fixture
def warned() -> list[str]:
    return []


def test_the_end_of_what_a_bot_says_is_kept_with_its_tables() -> None:
    log = StderrLog()
    for table in (1, 1, 2):
        log.question = QuestionPlace(table, 1)
        log.append(b"%d " % table)
    log.append(b"")
    assert log.tails == [(QuestionPlace(1, 0), b"1 1 "), (QuestionPlace(2, 0), b"2 ")]
    log.question = QuestionPlace(4, 1)
    log.append(b"x" * OF_A_FIXTURE)
    assert log.tails == [(QuestionPlace(4, 0), b"x" * OF_A_FIXTURE)]
    for table in range(5, 105):
        log.question = QuestionPlace(table, 1)
        log.append(b"y" * 10_000)
    assert sum(len(piece) for _, piece in log.tails) <= OF_A_FIXTURE


def test_a_log_grows_by_fixture_and_keeps_its_end(run: Path, warned: list[str]) -> None:
    logs = Logs(run, warned.append)
    logs.heard(said("a", ("league/A+B/1", b"one\n"), ("league/A+B/2", b"two\n")))
    log = run / "stderr" / "a.log"
    assert log.read_text() == "── league/A+B/1\none\n── league/A+B/2\ntwo\n"
    for table in range(3, 60):
        logs.heard(said("a", (f"league/A+B/{table}", b"line\n" * 1000)))
    assert len(log.read_bytes()) <= MAX_LOG_BYTES
    assert log.read_text().startswith("line\n") and log.read_text().count("── league/A+B/59\n") == 1
    assert warned == []


@pytest.mark.parametrize("bot", ["..", ".", "../../victim", "a/b", ".hidden", "x" * 5000, "é" * 200, "a\nb", "%2E"])
def test_no_name_leads_out_of_the_folder(bot: str, run: Path, warned: list[str]) -> None:
    logs = Logs(run, warned.append)
    logs.heard(said(bot, ("t", b"here")))
    logs.refused(UserError([Problem("B010", bot, "does not build", log="here")], 4))
    (log,) = (run / "stderr").iterdir()
    (folder,) = (run / "build").iterdir()
    assert (log.name, folder.name) == (f"{file_name(bot)}.log", file_name(bot))
    assert (folder / "build.log").read_text() == "here"
    assert [path.name for path in run.parent.iterdir()] == ["run"]
    assert len(log.name) <= MAX_FILE_NAME_CHARS + 4 and not log.name.startswith(".")


def test_different_bots_have_different_logs() -> None:
    names = ["a", "A", "a/b", "a%2Fb", ".a", "%2Ea", "x" * 500, "x" * 501]
    assert len({file_name(name) for name in names}) == len(names)


def test_no_link_is_followed(run: Path, tmp_path: Path, warned: list[str]) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    (run / "stderr").mkdir(parents=True)
    (run / "stderr" / "a.log").symlink_to(victim / "file")
    (run / "build").symlink_to(victim)
    logs = Logs(run, warned.append)
    logs.heard(said("a", ("t", b"theirs")))
    refused = logs.refused(
        UserError([Problem("B010", "a", "does not build", "x\nthe whole log: old", log="theirs")], 4)
    )
    assert (victim / "file").read_text() == "mine" and [path.name for path in victim.iterdir()] == ["file"]
    assert (run / "stderr" / "a.log").read_text() == "── t\ntheirs\n"
    assert len(warned) == 1 and warned[0].startswith(f"WARNING  {run / 'build' / 'a' / 'build.log'} cannot be written")
    assert refused.problems[0].evidence.endswith("the whole log: old")


def test_a_run_keeps_what_its_bots_say_and_how_they_were_built(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1, rounds=2)
    (cup / "bots" / "talks").write_text(TALKS)
    (cup / "bots" / "talks").chmod(0o755)
    done = croupier("run", "-C", cup, "--progress", "none")
    assert done.code == 0, done.err
    log = (cup / "run" / "stderr" / "talks.log").read_text()
    assert log.startswith("── tables/1/1\nI have ") and escape_control_chars("\033[2J") in log
    assert "\n── tables/1/2\n" in log and log == escape_control_chars(log)
    assert not (cup / "run" / "stderr" / "davey.log").exists()
    assert (cup / "run" / "build" / "davey" / "build.log").read_text().startswith("$ cc -O2 ")
    (cup / "bots" / "talks").unlink()
    assert croupier("run", "-C", cup, "--fresh", "--progress", "none").code == 0
    assert not (cup / "run" / "stderr").exists()


def test_a_bot_that_does_not_build_names_the_log_that_stays(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"])
    (cup / "bots" / "broken.c").write_text("int main(void) { return nothing; }\n" + "int x = what;\n" * 40)
    done = croupier("run", "-C", cup, "--progress", "none")
    assert done.first.startswith("error[B010] broken: does not build")
    log = cup / "run" / "build" / "broken" / "build.log"
    assert f"the whole log: {log}\n" in done.err
    assert log.read_text().count("error:") >= 35 > done.err.count("error:")


LOUD = """\
import sys
for line in sys.stdin:
    print("asked", line.split()[0], file=sys.stderr)
    print("question 7", file=sys.stderr, flush=True)
    print("STAND", flush=True)
"""


def test_logs_have_all_that_a_healthy_bot_writes_by_table_and_question(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    command = ("loud.py", "sample:neptr", "-n", 12, "-g", "pazaak", "--logs", "logs")
    assert croupier("play", *command, cwd=tmp_path).code == 0
    table = croupier("replay", "loud+neptr/3", "--logs", "logs", "--json", cwd=tmp_path).json
    asked = [event for event in table["events"] if event["ev"] == "ask" and event["seat"] == 0]
    assert table["stderr"] == {str(event["n"]): f"asked {event['q'][0]}\nquestion 7\n" for event in asked}
    shown = croupier("replay", "loud+neptr/3", "--logs", "logs", cwd=tmp_path).out
    assert shown.count("stderr: question 7") == len(asked)
    assert "stderr" not in croupier("replay", "loud+neptr/3", "--logs", "logs", "--as", "neptr", cwd=tmp_path).out
    assert croupier("check", "loud.py", "-g", "pazaak", "--logs", "checked", cwd=tmp_path).code == 0
    checked = "".join(path.read_text() for path in (tmp_path / "checked").rglob("*.log"))
    assert checked.count("  asked ") == 40


@pytest.mark.long
def test_logs_end_at_their_limit_with_a_warning(tmp_path: Path, warned: list[str]) -> None:
    logs = TableLogs(tmp_path / "logs", warned.append)
    for table in range(20):
        logs.heard("../a", [(f"play/../{table}:1", b"x" * (16 << 20))])
    assert [path.name for path in tmp_path.iterdir()] == ["logs"] and len(warned) == 1
    assert "has 256 MiB of logs" in warned[0] and len(list((tmp_path / "logs").rglob("*.log"))) == 15
