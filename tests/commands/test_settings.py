"""Shell completion, the meaning of croupier.toml, and messages that fit the screen."""

import contextlib
import csv
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command import CROUPIER, croupier, croupier_process, cup_in, environment
from helpers import ROGUES, breadth, offenders

from host.base.errors import Problem, explanations
from host.cli import COMMANDS, MAX_COLUMNS, fit_width, global_options_first, group, schema_of
from host.cli.examples import EXAMPLES
from host.config.tournament_config import load
from host.submissions.languages import LANGUAGES

ROOT = Path(__file__).parents[2]

# Completion.


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament that is not played."""
    return cup_in(tmp_path_factory.mktemp("cup") / "cup", ["davey.c", "cautious.c"])


@pytest.fixture(scope="module")
def named(cup: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament with bots that have other names than their folders."""
    copy = shutil.copytree(cup, tmp_path_factory.mktemp("named") / "cup")
    for folder, name in (("one", "Nestor"), ("mine", "My Bot")):
        (copy / "bots" / folder).mkdir()
        (copy / "bots" / folder / "bot.toml").write_text(f'name = "{name}"\n')
    return copy


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_understands_its_completion(shell: str) -> None:
    script = croupier_process(env=environment(_CROUPIER_COMPLETE=f"{shell}_source")).out
    assert "_CROUPIER_COMPLETE" in script and f"{shell}_complete" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


COMPLETED = [
    ("sta", ["standings", "status"]),
    ("explain S00", [code for code in explanations() if code.startswith("S00")]),
    ("check -g pa", ["pazaak"]),
    ("games ho", ["holdem"]),
    ("init mine --lang ", sorted(LANGUAGES)),
    ("faults --kind ti", ["timeout"]),
    ("-C {cup} standings ", ["tables"]),
    ("-C {cup} run --stage t", ["tables"]),
    ("-C {cup} check d", ["davey"]),
    ("-C {named} faults N", ["Nestor"]),
    ("-C {named} faults m", ["mine"]),
    ("-C {cup} play cautious sample:l", ["sample:lim17", "sample:linear_bet", "sample:lisper"]),
    ("run --dr", ["--dry-run"]),
]


def completion(words: str) -> tuple[list[str], bool]:
    """Return the completions of a command line, and whether trio was imported."""
    told = "import sys, host.cli\ntry: host.cli.main([])\nfinally: print('trio' in sys.modules, file=sys.stderr)"
    line = f"croupier {words}"
    asked = {"_CROUPIER_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", told], env=environment(**asked), capture_output=True, text=True, check=False
    )
    return [each.partition(",")[2] for each in done.stdout.splitlines()], "True" in done.stderr


@pytest.mark.parametrize(("words", "offered"), breadth(COMPLETED, 3))
def test_what_is_known_is_offered_and_trio_stays_away(words: str, offered: list[str], cup: Path, named: Path) -> None:
    assert completion(words.format(cup=cup, named=named)) == (offered, False)


# croupier config.


def test_what_config_shows_is_a_config_that_means_the_same(cup: Path, tmp_path: Path) -> None:
    name, bots = 90 * "é", [f"sample:{name}*" for name in ("bas", "cau", "counter", "dav", "kel", "lim", "linear")]
    config = (cup / "croupier.toml").read_text()
    more = '\n[run]\nparallel_tables = 3\nstop_early = true\nplacement = "core"\n[sandbox]\nwarm = true\n'
    more += '[report]\nhtml = "a.html"\n'
    folder = tmp_path / "cup"
    folder.mkdir()
    (folder / "croupier.toml").write_text(
        config.replace("Cup of tests", name).replace('bots = ["bots/*"]', f"bots = {json.dumps(bots)}") + more
    )
    before = load(folder)
    assert (before.name, list(before.bots)) == (name, bots)
    (folder / "croupier.toml").write_text(croupier("config", "show", "-C", folder).out)
    assert load(folder) == before


def test_config_check_says_what_is_wrong_or_that_nothing_is(cup: Path, tmp_path: Path) -> None:
    done = croupier("config", "check", "-C", cup)
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            f"{cup}/croupier.toml is valid: Cup of tests, cardshark, 2 bots, 1 stage",
            f"the bots were not built: croupier -C {cup} check --all builds them",
        ],
    )
    (tmp_path / "croupier.toml").write_text('game = "cardshark"\n[limits]\nmemroy = 1\n')
    done = croupier("config", "check", "-C", tmp_path)
    assert (done.code, done.first[:12]) == (3, "error[C001] ")


def test_config_check_refuses_what_a_run_would_refuse(cup: Path, tmp_path: Path) -> None:
    config = (cup / "croupier.toml").read_text()
    eleven = '[[stage]]\nname = "two"\nkind = "mixed-tables"\nmin_bots = 11\npractice = true\n[limits]'
    refused = {
        "C004] ": config.replace('kind = "mixed-tables"', 'kind = "mixed-tables"\nmin_bots = 3'),
        "C001] ": config + 'clock = "fair"\n',
        "C012] ": config.replace('"bots/*"', '"bots/none"'),
    }
    for code, text in refused.items():
        folder = tmp_path / code[:4]
        shutil.copytree(cup, folder)
        (folder / "croupier.toml").write_text(text)
        checked, ran = (croupier(*words, "-C", folder) for words in (["config", "check"], ["run"]))
        assert checked.first.startswith("error[") and code in checked.first, checked
        assert (checked.code, checked.first in ran.err.splitlines()) == (ran.code, True), code
    shutil.copytree(cup, tmp_path / "later")
    (tmp_path / "later" / "croupier.toml").write_text(config.replace("[limits]", eleven))
    done = croupier("config", "check", "-C", tmp_path / "later")
    assert (done.code, done.first) == (0, 'WARNING  stage "two" is skipped: it needs 11 bots, and 2 reach it')


def test_the_schema_knows_every_table() -> None:
    shape = croupier("config", "schema", "--json").json["shape"]
    assert {"game", "seed", "stage", "limits", "sandbox", "run", "report"} <= shape["properties"].keys()


# JSON.


def test_the_number_of_a_schema_is_said_in_one_place() -> None:
    sources = list((Path(__file__).parents[2] / "host" / "cli").glob("*.py"))
    assert sources and not [path.name for path in sources if 'croupier/error/1"' in path.read_text()]
    assert croupier("explain", "B010", "--json").json["schema"] == schema_of("explain")["schema"]
    assert schema_of("check") == {"schema": "croupier/check/2"}


# Text that fits the screen.


def pages() -> list[list[str]]:
    """Return all commands that have a --help page."""
    context = click.Context(group)
    found = [[]]
    for name in COMMANDS:
        command = group.get_command(context, name)
        found.append([name])
        found += [[name, inner] for inner in command.commands] if isinstance(command, click.Group) else []
    return found


def test_every_page_of_help_fits_the_screen() -> None:
    assert not offenders(check_width, pages())


def check_width(*words: str) -> None:
    """Check that the help of a command fits the screen."""
    done = croupier(*words, "--help")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= MAX_COLUMNS


def test_help_ends_with_examples_whose_options_exist() -> None:
    assert not offenders(check_examples, [(name,) for name in COMMANDS])


def check_examples(name: str) -> None:
    """Check the examples of a command."""
    context = click.Context(group)
    command = group.get_command(context, name)
    assert command is not None
    assert 2 <= len(EXAMPLES[name]) <= 3
    lines = croupier(name, "--help").out.splitlines()
    assert lines[-len(EXAMPLES[name]) :] == [f"    croupier {words}" for words in EXAMPLES[name]]
    for words in EXAMPLES[name]:
        said = [word for word in global_options_first(words.split()) if word not in ("--json", "-v", "-q")]
        said = said[2:] if said[0] == "-C" else said
        assert said[0] == name
        command.make_parser(click.Context(command)).parse_args(said[1:])


def test_every_explanation_fits_the_screen() -> None:
    assert not [
        code for code in explanations() if max(map(len, croupier("explain", code).out.splitlines())) > MAX_COLUMNS
    ]


def test_a_long_message_is_folded_and_loses_no_word() -> None:
    where = "a tournament/" * 9 + "croupier.toml:14"
    problem = Problem("C001", where, "unknown key " * 20, "a.c:1: error: " + "x" * 140, "one of " + "these, " * 30)
    text = str(problem)
    folded = fit_width(text)
    assert max(map(len, folded.splitlines())) <= MAX_COLUMNS
    assert "".join(folded.split()) == "".join(text.split())
    assert fit_width("error[U001] short\n  hint: this") == "error[U001] short\n  hint: this"


@pytest.mark.long
def test_a_terminal_gets_folded_messages_and_a_pipe_whole_ones(tmp_path: Path) -> None:
    place = tmp_path / ("long" * 20)
    place.mkdir()
    words = [sys.executable, "-P", "-m", "host", "run", "-C", str(place)]
    main, terminal = os.openpty()
    subprocess.run(words, stderr=terminal, stdout=subprocess.DEVNULL, env=environment(), check=False)
    os.close(terminal)
    shown = os.read(main, 65536).decode()
    os.close(main)
    piped = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False).stderr
    assert max(map(len, shown.splitlines())) <= MAX_COLUMNS < max(map(len, piped.splitlines()))
    assert "".join(shown.split()) == "".join(piped.split())


# Output without escape codes.


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tournament that has been played."""
    folder = cup_in(tmp_path_factory.mktemp("finished") / "cup", ["davey.c"], tourneys=1, rounds=1)
    assert croupier("run", "-C", folder).code == 0
    return folder


@pytest.mark.long
@pytest.mark.parametrize("how", ["--color never", "NO_COLOR"])
@pytest.mark.parametrize("words", ["standings", "status", "run --fresh"])
def test_without_colours_a_terminal_gets_no_escape_codes(words: str, how: str, finished: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*CROUPIER, "-C", str(finished), *(how.split() if how[0] == "-" else ()), *words.split()]
    env = environment(**({"NO_COLOR": "1"} if how == "NO_COLOR" else {}), TERM="xterm-256color")
    with subprocess.Popen(command, env=env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the end of a terminal's output
            while more := os.read(ours, 4096):
                said += more
    os.close(ours)
    assert (process.returncode == 0 and b"davey" in said) or words == "status"
    assert b"\x1b" not in said, said


def test_a_column_of_csv_has_one_kind_of_value(tmp_path: Path) -> None:
    crashes = ROGUES / "crashes.c"
    assert croupier("play", "sample:davey", crashes, "-n", 2, "-C", tmp_path).code == 0
    header, *lines = csv.reader(croupier("standings", "--csv", "-C", tmp_path).out.splitlines())
    rows = {line[1]: dict(zip(header, line, strict=True)) for line in lines}
    assert int(rows["crashes"]["faults_crash"]) > 0 and rows["davey"]["faults_crash"] == "0"
    texts = ("bot", "language", "author", "note")
    for row in rows.values():
        assert all(not value or isinstance(float(value), float) for key, value in row.items() if key not in texts)
