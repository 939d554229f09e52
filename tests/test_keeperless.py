"""A machine without a compiler plays all the same, each process in a sandbox of its own, and says so everywhere."""

import re
from pathlib import Path

import pytest
from command import CUP, Done, croupier_process, environment, result_of
from house import CACHE, SAMPLES, levels
from machines import until

from host.sandbox import NO_KEEPER, bubblewrap

pytestmark = pytest.mark.skipif(not any(NO_KEEPER in level for level in levels()), reason="NO NAMESPACES HERE")

SAYS = "no keeper: a sandbox for each process"
MUTE = "#!/bin/sh\necho 'stdlib.h: No such file or directory' >&2\nexit 1\n"
SHELL = '#!/bin/sh\n[ "$2" = - ] || [ ${#2} -lt 3 ] && echo H || echo S\n'


def machine(name: str, compiler: str = "") -> dict[str, str]:
    """Return the environment of a machine that has bubblewrap, a compiler of these words or none, and nothing built yet."""
    place = CACHE / f"machine-{name}"
    for folder in (place / "bin", place / "cache"):
        folder.mkdir(parents=True)
    (place / "bin" / "bwrap").symlink_to(bubblewrap.program() or "")
    if compiler:
        (place / "bin" / "cc").write_text(compiler)
        (place / "bin" / "cc").chmod(0o755)
    return environment(PATH=str(place / "bin"), CROUPIER_CACHE=str(place / "cache"))


def cup_of_scripts(place: Path) -> Path:
    """Make a cup of bots that need no compiler, over argv and over lines."""
    bots = place / "bots"
    bots.mkdir(parents=True)
    for name in ("lim17.py",):
        (bots / name).write_bytes((SAMPLES / "cardshark" / name).read_bytes())
    (bots / "shell").mkdir()
    (bots / "shell" / "bot.sh").write_text(SHELL)
    (bots / "shell" / "bot.sh").chmod(0o755)
    (bots / "shell" / "bot.toml").write_text(
        'name = "shell"\ngame = "cardshark"\nlanguage = "any"\nrun = ["./bot.sh"]\n'
    )
    (bots / "lives").mkdir()
    (bots / "lives" / "bot.py").write_text("import sys\nfor question in sys.stdin:\n    print('S', flush=True)\n")
    (bots / "lives" / "bot.toml").write_text(
        'name = "lives"\ngame = "cardshark"\nlanguage = "python"\nprotocol = "lines"\nentry = "bot.py"\n'
    )
    (place / "croupier.toml").write_text(CUP.format(bots='"bots/*"', tourneys=1, rounds=1))
    return place


def in_words(done: Done) -> str:
    """Return all that a command has said, on one line."""
    return re.sub(r"\s+", " ", done.out + done.err)


def test_doctor_says_that_there_is_no_keeper_why_and_what_gives_one() -> None:
    env = machine("doctor")
    told = croupier_process("doctor", env=env)

    assert told.code == 0
    assert NO_KEEPER in told.out and "! keeper" in told.out and SAYS in told.out
    assert "no C compiler" in told.out and "a keeper by: apt install gcc libc6-dev" in told.out
    as_json = croupier_process("doctor", "--json", env=env).json
    assert as_json["sandbox"].endswith(NO_KEEPER)
    assert [problem["code"] for problem in as_json["problems"] if "keeper" in problem["message"]] == ["S002"]


def test_a_compiler_that_fails_is_as_good_as_none_and_its_words_are_told() -> None:
    told = croupier_process("doctor", env=machine("mute", MUTE))

    assert told.code == 0
    assert SAYS in told.out and "the keeper does not compile" in told.out
    assert "stdlib.h: No such file or directory" in told.out


@pytest.mark.long
def test_a_bubblewrap_that_never_ends_is_not_waited_for() -> None:
    env = machine("stuck")
    stuck, sleeper = Path(env["PATH"], "bwrap"), CACHE / "sleeper"
    stuck.unlink()
    stuck.write_text(f"#!/bin/sh\n/bin/sleep 1000 & echo $! >{sleeper}\nwait\n")
    stuck.chmod(0o755)
    sleeper.touch()
    sleeper.chmod(0o666)

    told = croupier_process("doctor", "--json", env=env).json

    assert told["sandbox"] == "none"
    assert "bubblewrap takes longer than 20 s" in str(told["problems"])
    slept = Path(f"/proc/{sleeper.read_text().strip()}/cmdline")
    until(lambda: not slept.exists() or not slept.read_bytes())  # dead, whether it is buried yet or not


def test_without_namespaces_too_it_is_refused_for_the_keeper_is_what_puts_landlock_on_a_bot(tmp_path: Path) -> None:
    env = machine("bare")
    Path(env["PATH"], "bwrap").unlink()
    cup = cup_of_scripts(tmp_path / "cup")
    (cup / "croupier.toml").write_text((cup / "croupier.toml").read_text() + '[sandbox]\nlevel = "L2"\n')

    done = croupier_process("run", "-C", cup, env=env)

    assert done.code == 6
    assert 'gives "none"' in done.err and "error[S002]" in done.err and "error[S003]" in done.err


def test_not_even_an_unprotected_bot_runs_without_a_keeper(tmp_path: Path) -> None:
    done = croupier_process("run", "-C", cup_of_scripts(tmp_path / "cup"), "--unsafe", env=machine("unsafe"))

    assert done.code == 6 and "error[S002]" in done.err


@pytest.mark.long
def test_a_cup_has_the_same_results_without_a_keeper_as_with_one_and_says_everywhere_how_it_was_played(
    tmp_path: Path,
) -> None:
    env = machine("cup")
    kept, alone = cup_of_scripts(tmp_path / "kept"), cup_of_scripts(tmp_path / "alone")

    assert croupier_process("run", "-C", kept).code == 0
    done = croupier_process("run", "-C", alone, env=env)
    assert done.code == 0, done.err
    assert SAYS in in_words(done) and re.search(rf"· level L\d{NO_KEEPER} ·", in_words(done))
    with_keeper, without = result_of(kept), result_of(alone)
    assert without.standings.pop("sandbox") == with_keeper.standings.pop("sandbox") + NO_KEEPER
    assert without == with_keeper
    assert f"{NO_KEEPER} · finished" in croupier_process("status", "-C", alone, env=env).out
    page = tmp_path / "report.html"
    assert croupier_process("report", "-C", alone, "-o", page, env=env).code == 0
    assert SAYS in page.read_text()

    # A run that has begun with a keeper is not gone on with where there is none; begun without, it goes on so.
    for cup, code in ((kept, 3), (alone, 0)):
        again = croupier_process("run", "-C", cup, env=env if cup is kept else environment())
        assert again.code == code, again.err
        assert ("error[R007]" in again.err and NO_KEEPER in again.err) == (cup is kept)
