"""What a bot did that was late, is said by its name: it waits for more input, is still starting, or computes without end."""

from pathlib import Path

import pytest
import trio
from command import croupier
from helpers import built, levels, played, spec_of, strongest
from test_bot_spec import lay

from host.base.errors import HostFailure, UserError
from host.bots.clock import HostStall
from host.bots.values import Batch, Evidence, InputState, Outcome, Question
from host.games import GAMES
from host.sandbox.keeper import KeeperDied
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.build import build
from host.submissions.conformance import open_bench
from host.submissions.diagnosis import cause_of_time_out
from host.submissions.examine import repeated
from protocols.wire import Fault, FaultKind

BRIEF = Limits(move=0.3, startup=0.7, cpu=10)
LINES = 'protocol = "lines"\ngame = "cardshark"\n'

READS_TWO = "import sys\nwhile sys.stdin.readline() and sys.stdin.readline():\n    print('S')\n"
NEVER_READS = "import time\ntime.sleep(60)\n"
LOOPS = "import sys\nfor line in sys.stdin:\n    while True:\n        pass\n"
SLEEPS = "import sys, time\nfor line in sys.stdin:\n    time.sleep(60)\n"
STATES = {
    READS_TWO: InputState.WAITING,
    NEVER_READS: InputState.UNREAD,
    LOOPS: InputState.UNKNOWN,
    SLEEPS: InputState.UNKNOWN,
}


def first_fault(text: str, folder: Path, level: Level | None = None) -> Evidence:
    """Return the evidence of the first fault of a bot that is asked one question, again if the machine stalls."""
    folder.chmod(0o755)
    (folder / "mine.py").write_text(text)
    submission = spec_of(folder / "mine.py", protocol="lines")
    game, at = GAMES["cardshark"], level or levels()[-1]

    async def work() -> Evidence:
        bot = (await build(submission, at))._replace(limits=BRIEF)
        async with open_bench(bot, game, at) as bench, bench.seated() as exam:
            await exam.seat.ask(Batch([Question(1, 1, game.examples[0])]))
            return exam.seat.evidence[0]

    return trio.run(repeated, submission, at, work)


@pytest.mark.long
@pytest.mark.parametrize("level", strongest(levels()))
@pytest.mark.parametrize("text", STATES)
@pytest.mark.one_in(4)
def test_the_kernel_shows_whether_a_late_bot_waits_for_input(level: Level, text: str, tmp_path: Path) -> None:
    piece = first_fault(text, tmp_path, level)

    assert (piece.kind, piece.input) == ("timeout", STATES[text])


def test_a_state_of_the_input_that_the_kernel_hides_is_unknown(tmp_path: Path) -> None:
    """A bot that waits in poll(2) may wait for other things as well."""
    text = "import select, sys\nsys.stdin.readline()\nselect.select([sys.stdin], [], [])\n"

    assert first_fault(text, tmp_path).input == InputState.UNKNOWN


@pytest.mark.long
@pytest.mark.timing
def test_an_endless_loop_is_called_one(tmp_path: Path) -> None:
    assert cause_of_time_out(first_fault(LOOPS, tmp_path)) == "it computed all the time it could get"


@pytest.mark.parametrize(
    ("cpu", "waited", "cause"),
    [
        (0.3, 0.65, "it computed all the time it could get"),
        (0.3, 0.55, "it waited for a processor for 550 ms: the machine was busy"),
        (0.6, 0.1, "it was computing, not waiting"),
        (0.0, 0.95, "it waited for a processor for 950 ms: the machine was busy"),
        (0.1, 0.1, "it was waiting, not computing"),
    ],
)
def test_an_endless_loop_is_called_one_on_a_busy_machine(cpu: float, waited: float, cause: str) -> None:
    late = Outcome(Fault(FaultKind.TIMEOUT), wall=1.0, cpu=cpu, waited=waited)

    assert cause_of_time_out(late) == cause


@pytest.mark.long
def test_faults_and_ask_say_what_a_late_bot_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    limits = '[limits]\nmove = "300 ms"\nstartup = "700 ms"\n'
    lay({"mine/bot.toml": LINES + limits, "mine/mine.py": READS_TWO})
    croupier("play", "mine", "sample:davey", "-g", "cardshark", "-n", "1", "-q")
    said = "it has read its question and waits for more input"

    faults, group = croupier("faults", "mine"), croupier("--json", "faults", "mine").json["rows"][0]
    fault = f"fault:{group['fault']}"
    asked, row = croupier("ask", fault), croupier("--json", "ask", fault).json["rows"][0]

    assert group["cause"] == row["cause"] == said
    assert f"  cause    {said}\n" in faults.out and f"  cause    {said}\n" in asked.out


def test_the_evidence_of_other_faults_names_no_cause(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\nsys.exit(3)\n")
    tmp_path.chmod(0o755)

    for piece in played("cardshark", [built(tmp_path / "mine.py", protocol="lines")], 1).evidence:
        assert piece.input == InputState.UNKNOWN


@pytest.mark.parametrize(("failure", "exit_code"), [(HostStall, 6), (KeeperDied, 4)])
def test_a_bot_that_the_machine_kept_from_running_is_not_refused(
    failure: type[HostFailure], exit_code: int, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(LOOPS)

    async def work() -> None:
        raise failure("no answer after 4.005 s: computed 0.693 s, waited 3.279 s")

    with pytest.raises(UserError) as failed:
        trio.run(repeated, spec_of(tmp_path / "mine.py", protocol="lines"), levels()[-1], work)

    assert (failed.value.exit_code, failed.value.problems[0].code) == (exit_code, "B017")
