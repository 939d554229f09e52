"""The command line: the output and exit code of every command, for people and for programs."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from command import CROUPIER, ROOT, Done, croupier, croupier_process, cup_in, environment
from helpers import ROGUES, SAMPLES, level, long

from host.cli import COMMAND_GROUPS, COMMANDS, SCHEMA_NUMBERS, global_options_first
from host.games import GAMES
from host.inspect import attack
from host.inspect.attack import attacked, gallery
from host.play.records import Record
from host.sandbox.levels import UNPROTECTED
from host.stages import KINDS
from host.submissions.sample_bots import samples

DAVEY, BASIC = "sample:davey", "sample:cautious"


NOISY = r"""#!/bin/sh
[ "$1" = 19 ] && echo S && exit
printf '\033[2J\033]0;title\007 <b>bold</b>' >&2
kill -SEGV $$
"""
"""Answers once, so that it may play; then prints escape codes and crashes."""


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished small tournament, which tests must not change; one bot crashes, one writes escape codes."""
    cup = cup_in(tmp_path_factory.mktemp("cup") / "cup", ["davey.c", "cautious.c"], tourneys=2, rounds=1)
    shutil.copy(ROGUES / "escapes.py", cup / "bots" / "escapes.py")
    shutil.copy(ROGUES / "markup.py", cup / "bots" / "<script>.py")
    (cup / "bots" / "noisy").write_text(NOISY)
    (cup / "bots" / "noisy").chmod(0o755)
    done = croupier("run", "-C", cup)
    assert done.code == 0, done.err
    return cup


@pytest.fixture(scope="module")
def friends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a friendly game between two bots, one of which crashed."""
    folder = tmp_path_factory.mktemp("friends")
    assert croupier("play", DAVEY, ROGUES / "crashes.c", "-g", "cardshark", "-n", 4, "-C", folder).code == 0
    return folder


def test_everything_that_is_wrong_with_a_config_is_one_object(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text('game = "chess"\n[limits]\nmemroy = 1\n')
    done = croupier("run", "-C", tmp_path, "--json")
    assert done.code == 3
    assert [(problem["code"], problem["line"]) for problem in done.json["problems"]] == [("C008", 1), ("C001", 3)]
    assert (done.json["file"], done.json["line"]) == (str(tmp_path / "croupier.toml"), 1)


def test_a_bot_that_does_not_build_ends_with_4_and_the_compilers_words(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"])
    (cup / "bots" / "broken.c").write_text("int main(void) { return nothing; }\n")
    done = croupier("run", "-C", cup)
    assert done.code == 4
    assert done.first.startswith("error[B010] broken: does not build  (cc -O2 ")
    assert "broken.c:1:25: error: 'nothing' undeclared" in done.err.replace("\u2018", "'").replace("\u2019", "'")
    done = croupier("check", cup / "bots" / "broken.c", "-C", cup)
    assert done.code == 1
    assert "error[B010] broken: does not build" in done.out


def test_a_manifest_that_is_wrong_ends_with_3_naming_file_and_line(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"])
    (cup / "bots" / "mine").mkdir()
    (cup / "bots" / "mine" / "bot.toml").write_text('name = "mine"\nlangauge = "c"\n')
    done = croupier("ls", "-C", cup)
    assert (done.code, done.first) == (
        3,
        f'error[C001] {cup}/bots/mine/bot.toml:2: unknown key "langauge"',
    )
    assert "hint: language" in done.err


def test_a_tournament_without_bots_says_how_to_get_some(tmp_path: Path) -> None:
    new = croupier("new", tmp_path / "cup", "-g", "cardshark")
    assert new.out.splitlines()[1] == f"  croupier -C {tmp_path}/cup add FILE…"
    assert croupier("ls", "-C", tmp_path / "cup").out == f"no bots yet: croupier -C {tmp_path}/cup add FILE\n"
    done = croupier("run", "-C", tmp_path / "cup")
    told = f"error[C004] {tmp_path}/cup/croupier.toml: has no bots: bots/* matches no bot"
    assert (done.code, done.first) == (3, told)


# Output for programs.


def test_every_command_exists() -> None:
    for command in COMMANDS:
        done = croupier(command, "--help")
        assert done.code == 0
        assert done.out.startswith(f"Usage: croupier {command} ")


def test_help_lists_every_command_in_its_group_on_one_line() -> None:
    lines = croupier("--help").out.splitlines()
    for title, commands in COMMAND_GROUPS.items():
        first = lines.index(f"{title}:") + 1
        assert [line.split()[0] for line in lines[first : first + len(commands)]] == list(commands)
    assert list(COMMAND_GROUPS) == ["Play", "Bots", "Results", "More"]


JSON = {
    "doctor": "doctor",
    "games": "games cardshark",
    "explain": "explain B010",
    "init": "init {tmp} -g cardshark --lang c",
    "new": "new {tmp} -g cardshark --with-samples",
    "add": "add {davey} --as other -C {fresh}",
    "remove": "remove davey -C {fresh}",
    "ls": "ls -C {cup}",
    "check": "check davey -C {cup}",
    "play": "play davey cautious -n 2 -C {cup2}",
    "compare": "compare sample:neptr sample:dumb_bold -g pazaak --seed 1 -C {cup2}",
    "run": "run -C {cup}",
    "status": "status -C {cup}",
    "standings": "standings -C {cup}",
    "rating": "rating {cup}",
    "faults": "faults -C {cup}",
    "ask": "ask davey --worst -C {cup}",
    "replay": "replay last -C {cup}",
    "report": "report -C {cup2}",
    "export": "export csv -C {cup} -o {tmp}",
    "seed": "seed reveal -C {cup}",
    "config": "config -C {cup}",
    "verify": "verify -C {cup}",
    "redo": "redo tables/1 --reason stalled -C {cup2}",
    "withdraw": "withdraw davey --reason stalled --dry-run -C {cup2}",
}
"""A command line for every command that ends and needs only a tournament."""


def test_every_command_is_tried() -> None:
    # tests/formats/test_gauntlet.py tries grades, test_doors.py submit, and test_season.py season.
    elsewhere = {"serve", "grades", "submit", "season"}
    assert set(JSON) | elsewhere == set(COMMANDS)


@pytest.mark.parametrize("command", JSON)
def test_every_command_speaks_json(command: str, cup: Path, tmp_path: Path) -> None:
    named = {"cup": str(cup), "cup2": str(tmp_path / "cup2"), "tmp": str(tmp_path / "new")}
    named["davey"] = str(SAMPLES / "cardshark" / "davey.c")
    named["fresh"] = str(tmp_path / "fresh")
    if "{fresh}" in JSON[command]:
        cup_in(tmp_path / "fresh", ["davey.c"])
    if "{cup2}" in JSON[command]:
        shutil.copytree(cup, tmp_path / "cup2")
    done = croupier(*(word.format_map(named) for word in JSON[command].split()), "--json")
    assert (done.code, done.err) == (0, "")
    schema = "standings" if command == "run" else command
    assert done.json["schema"] == f"croupier/{schema}/{SCHEMA_NUMBERS.get(schema, 1)}"


@pytest.mark.parametrize("words", ["withdraw sample:davey --reason stalled --dry-run", "faults sample:davey"])
def test_a_recorded_sample_bot_has_the_name_by_which_it_was_entered(words: str, cup: Path) -> None:
    assert croupier(*words.split(), "-C", cup).code == 0


def test_bare_croupier_tells_what_is_here(tmp_path: Path) -> None:
    assert "this folder contains neither a tournament nor a bot" in croupier("-C", tmp_path).out
    (tmp_path / "bot.toml").touch()
    assert f"croupier check {tmp_path}" in croupier("-C", tmp_path).out
    assert "croupier check ." in croupier(cwd=tmp_path).out
    assert croupier("-C", tmp_path, "--json").json["schema"] == "croupier/here/1"


def rows_are_whole(told: dict[str, Any], bots: list[str]) -> None:
    """Check that the rows of standings have what programs rely on."""
    assert told["sandbox"] == level()
    assert sorted(row["bot"] for row in told["rows"]) == sorted(bots)
    assert [row["rank"] for row in told["rows"]] == sorted(row["rank"] for row in told["rows"])
    for row in told["rows"]:
        assert {"rank", "bot", "language", "tables", "wins", "score", "low", "high", "faults"} <= row.keys()
        assert row["low"] <= row["score"] <= row["high"]
        assert row["faults"] == sum(row["faults_by_kind"].values())


def test_play_counts_everything(friends: Path) -> None:
    done = croupier("play", DAVEY, BASIC, "-n", 6, "-g", "cardshark", "--json", "-C", friends)
    rows_are_whole(done.json, ["davey", "cautious"])
    assert [row["tables"] for row in done.json["rows"]] == [6, 6]
    assert [row["wins"] for row in done.json["rows"]] == [None, None]


def test_play_counts_wins_where_a_game_has_winners(tmp_path: Path) -> None:
    done = croupier("play", "sample:dumb_bold", "sample:glaucus", "-n", 200, "--json", "-C", tmp_path)
    assert done.json["game"] == "pazaak"
    rows_are_whole(done.json, ["dumb_bold", "glaucus"])
    assert sum(row["wins"] for row in done.json["rows"]) == 200


def test_standings_count_everything(cup: Path) -> None:
    told = croupier("standings", "-C", cup, "--json").json
    rows_are_whole(told, ["davey", "cautious", "escapes", "<script>", "noisy"])
    assert (told["state"], told["interrupted"], told["fixtures"], told["stage"]) == ("finished", False, 2, "tables")


def test_a_bot_may_play_itself(friends: Path) -> None:
    done = croupier("play", DAVEY, DAVEY, "-n", 2, "--json", "-C", friends)
    assert {row["bot"] for row in done.json["rows"]} == {"davey", "davey#2"}


@pytest.mark.long
def test_the_same_seed_gives_the_same_play_with_any_number_of_workers(tmp_path: Path) -> None:
    def play(*words: object) -> Any:
        done = croupier("play", DAVEY, BASIC, "-n", 4, "--json", "-C", tmp_path, *words)
        return [(row["bot"], row["score"], row["low"], row["high"]) for row in done.json["rows"]], done.json["seed"]

    one, seed = play("--workers", 1, "--seed", "abc")
    assert play("--workers", 2, "--seed", "abc") == (one, seed)
    assert play("--seed", seed) == (one, seed)
    assert seed == "abc"
    assert play()[1] != seed


def test_the_last_twenty_friendly_games_are_kept(tmp_path: Path) -> None:
    for number in range(25):
        place = tmp_path / ".croupier" / f"play-{number:03}.sqlite"
        place.parent.mkdir(exist_ok=True)
        place.touch()
        place.with_suffix(".lock").touch()
    assert croupier("play", DAVEY, "-n", 1, "-C", tmp_path).code == 0
    kept = sorted((tmp_path / ".croupier").glob("*.sqlite"))
    assert (len(kept), kept[0].name) == (20, "play-006.sqlite")
    assert len(list((tmp_path / ".croupier").glob("*.lock"))) == 20


def test_play_ends_with_0_whatever_the_bots_do(friends: Path) -> None:
    done = croupier("play", DAVEY, ROGUES / "crashes.c", "-g", "cardshark", "-n", 2, "-C", friends)
    assert done.code == 0
    assert "WARNING  crashes: killed by signal 11 without an answer to any question" in done.err
    assert "crashes: 10 crash → croupier faults crashes" in done.out


def test_errors_count_and_show(friends: Path) -> None:
    folder = friends / "own"
    folder.mkdir()
    croupier("play", DAVEY, ROGUES / "crashes.c", "-g", "cardshark", "-n", 4, "-C", folder)
    (group,) = croupier("faults", "-C", folder, "--json").json["rows"]
    assert (group["bot"], group["kind"], group["count"], group["ended"]) == (
        *("crashes", "crash", 20, "killed by signal 11"),
    )
    shown = croupier("replay", group["first"], "-C", folder)
    assert shown.code == 0
    assert "(crash)" in shown.out
    assert "killed by signal 11" in shown.out
    assert croupier("faults", "davey", "-C", folder).out == "no faults\n"
    assert croupier("faults", "--kind", "timeout", "-C", folder).out == "no faults\n"


def test_a_table_is_named_by_its_bots_in_any_order(friends: Path) -> None:
    folder = friends / "order"
    folder.mkdir()
    croupier("play", DAVEY, BASIC, "-n", 3, "-C", folder)
    one, other = (
        croupier("replay", "davey+cautious/3", "-C", folder),
        croupier("replay", "cautious+davey/3", "-C", folder),
    )
    assert one.out.startswith("play/cautious+davey/3 ")
    assert one == other


def test_show_shows_the_first_table(tmp_path: Path) -> None:
    done = croupier("play", DAVEY, BASIC, "-n", 5, "--show", "-q", "-C", tmp_path)
    assert done.out.startswith("play/cautious+davey/1 ")


@pytest.mark.long
def test_progress_as_json_is_one_object_a_line(cup: Path, tmp_path: Path) -> None:
    shutil.copytree(cup, tmp_path / "cup")
    done = croupier("run", "-C", tmp_path / "cup", "--fresh", "--progress", "json")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert {event["fixture"] for event in events if "fixture" in event} == {"tables/1", "tables/2"}
    assert events[-1]["schema"] == "croupier/standings/1"


# Output of bots.


@pytest.mark.parametrize("words", ["standings", "faults", "replay tables/1/1", "replay last", "ls", "status"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_guests_write_reaches_no_terminal(words: str, form: list[str], cup: Path) -> None:
    done = croupier(*words.split(), *form, "-C", cup)
    assert done.code == 0
    assert not {c for c in done.out + done.err if not c.isprintable()} - {"\n"}


def test_what_guests_write_is_shown_escaped(cup: Path) -> None:
    shown = croupier("faults", "-C", cup).out
    assert r"\x1b[2J\x1b]0;title\x07 <b>bold</b>" in shown
    assert "<script>" in shown


# The sandbox.


@pytest.mark.long
def test_doctor_attacks_this_machine_and_says_what_became_of_each_rogue() -> None:
    done = croupier("doctor", "--attack", "escapes", "includes_shadow", "reads_the_host", "--json")
    assert (done.code, done.json["held"]) == (0, True)
    got = {row["rogue"]: (row["mark"], row["got"]) for row in done.json["rows"]}
    assert got == {
        "escapes": ("✓", "unreadable"),
        "includes_shadow": ("✓", "refused"),
        "reads_the_host": ("✓", "harmless"),
    }
    assert croupier("doctor", "--attack", "daemon").out.endswith("\n1 of 1 got the expected verdict\n")
    assert (
        croupier("doctor", "--attack", "demon").first == "error[U001] there is no rogue 'demon'; did you mean daemon ?"
    )
    assert croupier("doctor", "daemon").code == 2


@pytest.mark.proof
def test_this_machine_withstands_the_short_form_of_the_gallery() -> None:
    done = croupier("doctor", "--attack")
    assert done.code == 0, done.out
    assert len(done.out.splitlines()) > 25


def test_an_attack_that_succeeds_is_told() -> None:
    (verdict,) = trio.run(attacked, UNPROTECTED, [gallery(UNPROTECTED)["counts_the_others"]])
    assert (verdict.mark, verdict.got) == ("✗", "broke out")


@pytest.mark.parametrize(
    ("name", "bots", "faults"),
    [
        ("wrong_table", 2, {"unreadable"}),
        long(("whispers", 3, set())),
        long(("minus_five", 3, {"illegal"})),
        long(("runs_while_adapted", 3, set())),
    ],
)
def test_an_attack_plays_a_rogue_in_its_game_and_with_its_settings(
    name: str, bots: int, faults: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play, records = attack._played, list[Record]()

    async def played(*what: Any) -> Record:
        records.append(await play(*what))
        return records[-1]

    monkeypatch.setattr(attack, "_played", played)
    (verdict,) = trio.run(attacked, level(), [gallery(level())[name]])
    (record,) = records
    assert verdict.mark == "✓", verdict
    assert len(record.results) == bots and record.faults.get(name, {}).keys() == faults
    if name == "wrong_table":  # only an answer with the number of a table has this detail
        assert {piece.detail for piece in record.evidence if piece.kind == "unreadable"} == {"table"}


@pytest.mark.parametrize(
    ("seen", "mark"),
    [
        ({"replayed": 1, "stalls": ("escapes at table 1: no answer after 0.4 s",)}, "✓"),
        ({"replayed": 1, "failures": ("its keeper died",)}, "✗"),
        ({"faults": {"honest1": {"timeout": 1}}}, "✗"),
    ],
)
def test_an_attack_disturbs_if_the_honest_bot_pays_or_a_sandbox_dies(
    seen: dict[str, Any], mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = attack._played

    async def played(*what: Any) -> Record:
        record = await play(*what)
        return record._replace(**seen | {"faults": record.faults | seen.get("faults", {})})

    monkeypatch.setattr(attack, "_played", played)
    (verdict,) = trio.run(attacked, level(), [gallery(level())["escapes"]])
    assert verdict.mark == mark


def test_unsafe_is_loud_and_recorded(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1, rounds=1)
    done = croupier("run", "-C", cup, "--unsafe", "--json")
    assert (done.code, done.json["sandbox"]) == (0, "none")
    assert done.err.startswith("WARNING  no sandbox")
    assert croupier("standings", "-C", cup, "--json").json["sandbox"] == "none"
    assert "level none" in croupier("standings", "-C", cup).out
    assert croupier("status", "-C", cup, "--json").json["sandbox"] == "none"
    done = croupier("play", DAVEY, "-n", 1, "--unsafe", "--json", "-C", cup)
    assert (done.json["sandbox"], done.err.startswith("WARNING  no sandbox")) == ("none", True)


def without(program: str, folder: Path) -> dict[str, str]:
    """Return an environment without a certain program in PATH."""
    folder.mkdir()
    for place in ("/usr/local/bin", "/usr/bin", "/bin"):
        for path in Path(place).glob("*"):
            if path.name != program and not os.path.lexists(folder / path.name):  # some links lead nowhere
                (folder / path.name).symlink_to(path)
    return environment(PATH=str(folder))


@pytest.mark.long
def test_without_bubblewrap_it_refuses_and_names_the_package(cup: Path, tmp_path: Path) -> None:
    bare = without("bwrap", tmp_path / "bin")
    for words in (["run", "-C", cup], ["play", DAVEY, BASIC, "-C", cup], ["check", DAVEY, "-C", cup]):
        done = croupier_process(*words, env=bare)
        assert done.code == 6
        assert done.first.startswith('error[S001] [sandbox] level = "L3" is required, and this machine provides ')
        assert "apt install bubblewrap" in done.err
    told = croupier_process("doctor", "--json", env=bare).json
    assert "apt install bubblewrap" in [problem["hint"] for problem in told["problems"]]


@pytest.mark.skipif(not level().traits.isolates, reason="NO SANDBOX HERE")
def test_doctor_shows_whether_waits_are_counted_and_the_error_of_its_clock() -> None:
    clocks = croupier("doctor", "--json").json["clocks"]

    assert clocks["counts_waits"] is (int(Path("/proc/self/schedstat").read_text().split()[2]) > 0)
    assert 0 < clocks["error"] <= clocks["error_p99"]
    assert clocks["error"] < clocks["pipe"]


# The process.


def test_the_command_line_knows_nothing_heavy() -> None:
    heavy = ["numpy", "trio", "rich", "msgspec", "sqlite3", "psutil", "asyncio", "re2"]
    told = f"import sys, host.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.long
@pytest.mark.parametrize("module", ["host.config.reference", "host.referees.python_rules"])
def test_neither_the_reference_of_keys_nor_a_process_of_rules_imports_what_plays(module: str) -> None:
    told = f"import sys, {module}; print([name for name in ('trio', 'psutil', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.long
def test_what_only_reads_results_imports_nothing_that_plays(cup: Path) -> None:
    for words in ["status", "standings", "faults", "replay last", "games", "explain R013"]:
        command = [sys.executable, "-X", "importtime", "-m", "host", *words.split()]
        done = subprocess.run(command, cwd=cup, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), words
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert not imported & {"trio", "psutil"}, words


@pytest.mark.long
def test_a_command_imports_only_the_kinds_and_games_that_it_needs(cup: Path) -> None:
    told = "import sys, host.cli\ntry: host.cli.main(['status'])\nfinally: print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=cup, env=environment(), capture_output=True, text=True, check=True
    )
    own = {"host.rules.openspiel", "host.rules.textarena", *(f"host.games.{game}" for game in GAMES)}
    own |= {kind.config.__module__ for kind in KINDS.values()}
    assert own & set(done.stdout.splitlines()) == {"host.stages.mixed_tables"}


def test_help_imports_nothing_heavy() -> None:
    told = "import sys, host.cli\ntry: host.cli.main(['--help'])\nfinally: print('trio' in sys.modules, 'rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], env=environment(), capture_output=True, text=True, check=False)
    assert done.stdout.endswith("False False\n")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["run", "-C", "x", "--json"], ["-C", "x", "--json", "run"]),
        (["play", "a", "-q", "b", "--color", "never"], ["-q", "--color", "never", "play", "a", "b"]),
        (["play", "--color=never", "--", "-C", "--json"], ["--color=never", "play", "--", "-C", "--json"]),
        (["run", "-C"], ["-C", "run"]),
    ],
)
def test_global_options_are_welcome_behind_the_command(words: list[str], first: list[str]) -> None:
    assert global_options_first(words) == first


@pytest.mark.long
@pytest.mark.parametrize("env", [{"NO_COLOR": "1", "FORCE_COLOR": ""}, {}])
def test_a_pipe_gets_no_colours(env: dict[str, str], cup: Path) -> None:
    assert "\x1b" not in croupier_process("standings", "-C", cup, env=environment(**env)).out


def on_a_terminal(words: list[str], env: dict[str, str]) -> str:
    """Return what a command writes to a terminal."""
    main, terminal = os.openpty()
    process = subprocess.Popen([*CROUPIER, *words], stdin=terminal, stdout=terminal, stderr=terminal, env=env)
    os.close(terminal)
    said = b""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:  # all processes have closed it
            break
        if not chunk:
            break
        said += chunk
    os.close(main)
    assert process.wait() == 0
    return said.decode()


@pytest.mark.long
def test_a_terminal_gets_colours_unless_somebody_minds(cup: Path) -> None:
    words = ["standings", "-C", str(cup)]
    colourful = environment(TERM="xterm-256color")
    colourful.pop("NO_COLOR", None)
    assert "\x1b[" in on_a_terminal(words, colourful)
    assert "\x1b[3" not in on_a_terminal(words, colourful | {"NO_COLOR": "1"})
    assert "\x1b[3" not in on_a_terminal([*words, "--color", "never"], colourful)


@pytest.mark.long
def test_a_live_view_ends_with_the_standings(cup: Path, tmp_path: Path) -> None:
    shutil.copytree(cup, tmp_path / "cup")
    shown = on_a_terminal(["run", "--fresh", "-C", str(tmp_path / "cup")], environment(TERM="xterm-256color"))
    assert "[^C] stop and save" in shown
    assert "finished" in shown


@pytest.mark.long
def test_a_run_whose_output_nobody_reads_any_more_is_interrupted(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=40)
    command = [*CROUPIER, "run", "--progress", "json", "-C", str(cup)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None and run.stderr is not None
        run.stdout.readline()
        run.stdout.close()
        assert (run.stderr.read(), run.wait()) == (b"", 5)
    assert croupier("status", "-C", cup, "--json").json["state"] == "interrupted"


def test_a_command_of_a_group_is_named_with_its_group() -> None:
    assert (
        croupier("-C", "season", "open").first
        == "error[U001] there is no command 'open'; did you mean `croupier -C season season open`?"
    )
    assert croupier("commit").first == "error[U001] there is no command 'commit'; did you mean `croupier seed commit`?"


def test_a_pipe_that_closes_is_no_failure() -> None:
    with subprocess.Popen([*CROUPIER, "games", "holdem"], env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 0


def interrupted(words: list[str], begun: Callable[[subprocess.Popen[bytes]], bool]) -> Done:
    """Interrupt a command after it has started."""
    process = subprocess.Popen(
        [*CROUPIER, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    while not begun(process):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    return Done(process.returncode, out.decode(), err.decode())


def test_a_friendly_game_that_is_interrupted_ends_with_130(tmp_path: Path) -> None:
    def begun(_process: subprocess.Popen[bytes]) -> bool:
        return any((tmp_path / ".croupier").glob("play-*.sqlite"))

    done = interrupted(["play", DAVEY, BASIC, "-n", "100000", "-C", str(tmp_path)], begun)
    assert (done.code, "Traceback" in done.err, "failed" in done.err) == (130, False, False)


def test_a_fault_of_croupier_itself_is_no_bots(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["davey.c"], tourneys=1)
    broken = environment(CROUPIER_CACHE="/proc/none")
    done = croupier_process("run", "-C", cup, env=broken)
    assert done.code == 70
    assert done.first.startswith("error[H001] internal error of croupier: ")
    report = Path(done.err.splitlines()[-1].rpartition(" ")[2])
    assert "Traceback" in report.read_text()
    report.unlink()


# Examples that users follow.


@pytest.mark.parametrize("game", GAMES)
def test_a_new_tournament_is_ready_to_run(game: str, tmp_path: Path) -> None:
    assert croupier("new", tmp_path / "cup", "-g", game, "--with-samples").code == 0
    rows = croupier("ls", "-C", tmp_path / "cup", "--json").json["rows"]
    assert sorted(Path(row["path"]).stem for row in rows) == sorted(samples(game))
    assert "bots/*" in (tmp_path / "cup" / "croupier.toml").read_text()


@pytest.mark.parametrize("game", GAMES)
def test_a_games_card_fits_the_screen(game: str) -> None:
    shown = croupier("games", game).out
    prose, _, examples = shown.partition("fields ")
    assert max(map(len, prose.splitlines())) <= 100
    assert len(examples.splitlines()) > 5


def test_an_explanation_fits_the_screen() -> None:
    assert max(map(len, croupier("explain", "b010").out.splitlines())) <= 100


def test_docs_names_the_places_that_treat_a_word_and_explains_codes() -> None:
    pages = croupier("docs", cwd=ROOT).out
    assert {f"docs/{path.relative_to(ROOT / 'docs')}:1" for path in (ROOT / "docs").rglob("*.md")} < {*pages.split()}
    place, _, heading = croupier("docs", "Swiss", cwd=ROOT).out.splitlines()[0].partition("  ")
    path, _, line = place.rpartition(":")
    assert path == "docs/formats.md" and heading == "Swiss"
    assert (ROOT / path).read_text().splitlines()[int(line) - 1] == f"## {heading}"
    assert croupier("docs", "b010").out == croupier("explain", "B010").out
    assert croupier("docs", "swiss", "--json").json["rows"][0]["page"] == str(ROOT / path)
    for word, heading in {"/proc": "Why there is no /proc", "[models.": "`[models.NAME]`"}.items():
        assert croupier("docs", word).out.splitlines()[0].endswith(f"  {heading}")
    refused = croupier("docs", "zyzzyva")
    assert refused.code == 2 and "the documentation does not have the word 'zyzzyva'" in refused.first


@pytest.mark.parametrize(
    ("old", "new"), [("build", "check BOT"), ("version", "--version"), ("watch", "status --follow")]
)
def test_a_command_that_is_gone_names_what_does_the_same(old: str, new: str) -> None:
    refused = croupier(old)
    assert (refused.code, refused.first) == (2, f"error[U001] there is no command '{old}' any more: croupier {new}")


def test_new_says_which_kinds_of_stage_it_writes(tmp_path: Path) -> None:
    refused = croupier("new", tmp_path / "cup", "-g", "pazaak", "--kind", "swiss")
    assert (refused.code, (tmp_path / "cup").exists()) == (2, False)
    assert refused.first == "error[U001] --kind swiss: there is no example of it for pazaak"
    assert "takes every kind; `croupier new` writes, for pazaak: round-robin, knockout" in refused.err


@pytest.mark.long
def test_the_page_about_json_names_every_key_of_play_compare_and_check(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text()
    asked = ("--json", "-g", "pazaak")
    for name, words in {
        "play": ("sample:nestor", "sample:neptr", "-n", "4"),
        "compare": ("sample:nestor", "sample:neptr", "-n", "4"),
        "check": ("sample:nestor",),
    }.items():
        section = page.partition(f"## `{name} --json`")[2].partition("\n## ")[0]
        known = {
            key for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)
        }
        printed = croupier(name, *words, *asked, cwd=tmp_path).json
        keys = {*printed, *(printed["rows"][0] if "rows" in printed else ())} - {"schema"}
        if name == "play":
            known -= {
                "calls_per_table",
                "tokens_per_table",
                "money_per_table",
                "retries_per_table",
            }  # no bot has any here
        assert keys == known, name


@pytest.mark.long
def test_play_of_more_bots_than_seats_is_a_round_robin(tmp_path: Path) -> None:
    bots = ("sample:nestor", "sample:neptr", "sample:dumb_bold")
    done = croupier("play", *bots, "-n", 40, "--seed", "x", "--mirror", "--json", cwd=tmp_path).json
    assert done["tables"] == 120 and [row["tables"] for row in done["rows"]] == [80, 80, 80]
    assert [row["bot"] for row in done["rows"]][-1] == "dumb_bold" and "ahead of dumb_bold: >99.9 % sure" in done[
        "sure"
    ][-1]
    alone = croupier("play", *bots[:2], "-n", 40, "--seed", "x", "--mirror", "--json", cwd=tmp_path).json
    assert alone["tables"] == 40
    told = croupier("play", *["sample:cowardly"] * 5, cwd=tmp_path)
    assert told.code == 2 and "seats 4 bots; 5 are named" in told.err


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("mvoe=200ms", 'unknown key "mvoe" in [limits]'),
        ("move=20", "move = 20 has no unit"),
        ("floor=10ms", 'floor = "10ms" is a part of a time bank, and there is none'),
        ("move", "'move' is not a key and a value"),
        ("max_faults=3", 'unknown key "max_faults"'),
    ],
)
def test_a_wrong_limit_of_an_option_is_named_with_its_cure(tmp_path: Path, limits: str, said: str) -> None:
    for command in (("play", "sample:nestor", "sample:neptr"), ("check", "sample:nestor")):
        done = croupier(*command, "--limits", limits, "-g", "pazaak", cwd=tmp_path)
        assert done.code == 2 and f"--limits: {said}" in done.err and "hint: " in done.err


@pytest.mark.timing  # neptr has 50 ms for a move
def test_the_limits_of_an_option_hold(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\nwhile input():\n    time.sleep(0.1)\n    print('STAND', flush=True)\n"
    )
    command = ("slow.py", "sample:neptr", "-n", 4, "-g", "pazaak", "--json")
    late = croupier("play", *command, "--limits", "move=50ms", cwd=tmp_path).json
    assert {row["bot"]: row["faults"] > 0 for row in late["rows"]} == {"slow": True, "neptr": False}
    banked = croupier("play", *command, "--limits", "move=50ms,bank=60s/table,floor=10ms", cwd=tmp_path).json
    assert not any(row["faults"] for row in banked["rows"])
    assert (
        "timeout"
        in croupier("check", "slow.py", "-g", "pazaak", "--limits", "move=50ms,startup=50ms", cwd=tmp_path).out
    )
