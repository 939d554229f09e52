"""A referee that misbehaves gets its verdict from `check` and in a run; no bot is charged, and nothing of it is left."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
from command import ROOT, croupier
from helpers import Traces, built, level, played, written

from host.bots.bot_spec import BuiltBot
from host.games.engine import Game
from host.play.records import Record
from host.rules.catalogue import load_game
from host.submissions.referees import prepare_referee

SAMPLE = ROOT / "sample_bots" / "referees" / "rogue"
PLAYS = ""
"""The code of a referee that is accepted: what it does hurts nobody."""


class Verdict(NamedTuple):
    """What `check` says of a referee, and whether a fixture that it plays is undecided."""

    code: str
    reason: str
    undecided: bool


def fails(reason: str, code: str = "G002") -> Verdict:
    return Verdict(code, reason, undecided=True)


def differs(code: str) -> Verdict:
    return Verdict(code, "", undecided=False)


HARMLESS = Verdict(PLAYS, "", undecided=False)

VERDICTS = {
    "honest": HARMLESS,
    # At the start.
    "ends_at_once": fails("has ended: exited with 0", "G001"),
    "crashes_at_start": fails("has ended: killed by signal 11", "G001"),
    "wrong_protocol": fails('line 1 is not {"protocol":"referee/1"}', "G001"),
    "memory": fails("used more memory than its limit", "G001"),
    "greets_twice": fails("line 2 has an unknown member 'protocol'"),
    # Silent, dead, slow.
    "silent": fails("was silent for 3 s"),
    "slow": fails("was silent for 3 s"),
    "sleeps_at_answers": fails("was silent for 3 s"),
    "stops_itself": fails("was silent for 3 s"),
    "closes_input": fails("was silent for 3 s"),
    "drips": fails("was silent for 3 s"),
    "closes_output": fails("has closed its output"),
    "crashes_at_open": fails("has ended: exited with 1"),
    "crashes_at_over": fails("has ended: exited with 3"),
    "takes_its_time": HARMLESS,
    # Lying about seats, tables and scores.
    "absent_seat": fails("names seat 7 of table 1, which has the seats 0 to 1"),
    "asks_twice": fails("asks seat 0 of table 1 twice at once"),
    "asks_nobody": fails("has 'ask' that is not a list of questions"),
    "unknown_table": fails("is about table 999999, which is not open"),
    "accuses": fails("calls seat 1 of table 1 illegal, which has not just moved"),
    "too_many_scores": fails("has 3 scores, and table 1 has 2 bots"),
    "too_few_scores": fails("has 1 scores, and table 1 has 2 bots"),
    "wrong_scores": fails("has 'over' without scores, a list of whole numbers"),
    "endless_score": fails("has a whole number of more than 64 bits"),
    "answers_before_asked": fails("which waits for answers"),
    "ends_and_asks": fails("asks and ends the table at once"),
    "shows_in_vain": fails("no field of game.toml has the type `lines`"),
    "wants_lines": fails("no field of game.toml has the type `answer lines`"),
    "tells_nonsense": fails("has 'tell' that is not an object with a text 'event'"),
    # Not the protocol.
    "wrong_utf8": fails("is not UTF-8: byte 0xff"),
    "not_json": fails("is not JSON"),
    "deep": fails("is nested too deeply"),
    "half_a_pair": fails("contains half of a surrogate pair"),
    "missing_field": fails("has a view without 'number'"),
    "extra_field": fails("has a view with 'secret'"),
    "fraction": fails("has a view whose 'number' is not a text, a whole number"),
    "object_in_view": fails("has a view whose 'number' is not a text, a whole number"),
    "huge_number": fails("has a whole number of more than 64 bits"),
    "megabyte_view": fails("is longer than 65536 bytes"),
    "floods": fails("more than 262144 bytes about table 1 without a question"),
    "looks_like_protocol": HARMLESS,
    # Not a function of what it reads.
    "clock": differs("G003"),
    "seconds": differs("G003"),
    "address": differs("G003"),
    "hash_order": differs("G003"),
    "own_random": differs("G003"),
    "process_number": differs("G003"),
    "state_across_tables": differs("G004"),
    "table_number": differs("G004"),
    "open_tables": differs("G004"),
    # Faults and drops.
    "crashes_at_a_fault": Verdict("G005", "has ended: exited with 1", undecided=False),
    "crashes_at_a_move": Verdict("G002", "has ended: exited with 1", undecided=False),
    "ignores_drops": Verdict("G005", "which is not open", undecided=False),
    "ends_dropped_tables": Verdict("G005", "which is not open", undecided=False),
    # Attacks.
    "forks": HARMLESS,
    "fork_bomb": HARMLESS,
    "kills_everybody": HARMLESS,
    "reads_files": HARMLESS,
    "writes_files": HARMLESS,
    "connects": HARMLESS,
    "stderr": HARMLESS,
}

QUICK = ("crashes_at_over", "wrong_utf8", "clock")
"""The rogues that every run of the tests examines; the others are marked `long`."""

PROGRAM = """
#include <stdio.h>
int main(void)
{
    char line[9999];
    while (fgets(line, 9999, stdin)) {
        puts("MOVE");
        fflush(stdout);
    }
}
"""

MODES = [pytest.param(mode, marks=[] if mode in QUICK else [pytest.mark.long]) for mode in VERDICTS]


def rogue(mode: str, place: Path, **changes: str) -> Path:
    """Write the folder of a rogue; `changes` replaces words of its game.toml."""
    folder = place / "rogue"
    shutil.copytree(SAMPLE, folder)
    toml = (folder / "game.toml").read_text().replace('"honest"', f'"{mode}"')
    for old, new in changes.items():
        toml = toml.replace(old, new)
    (folder / "game.toml").write_text(toml)
    return folder


def bots(game: Game, place: Path, *moves: str) -> list[BuiltBot]:
    """Build a bot for each move, which always makes it."""
    made = []
    for number, move in enumerate(moves):
        text = PROGRAM.replace("MOVE", move)
        source = written(text, ".c", place, f"bot{number}")
        made.append(built(source, game, protocol="lines", parallel_tables=8))
    return made


def record_of(folder: Path, place: Path, *moves: str, tables: int = 4) -> Record:
    """Play a fixture of the bots that always make these moves."""
    game = trio.run(prepare_referee, load_game(f"{folder}/", Path("/")), level())
    return played(game, bots(game, place, *moves), tables)


def checked(folder: Path) -> dict[str, object]:
    """Return what `check` says of a folder, as JSON."""
    done = croupier("check", folder, "--json")
    report: dict[str, object] = done.json["referees"][0]
    assert done.code == (0 if report["accepted"] else 1)
    return report


def test_the_program_has_every_rogue_of_the_table() -> None:
    program = (SAMPLE / "referee.py").read_text()
    assert [mode for mode in VERDICTS if f'"{mode}"' not in program and mode != "honest"] == []
    assert len(VERDICTS) > 50


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.one_in(2)
def test_check_says_what_is_wrong(mode: str, tmp_path: Path) -> None:
    before, verdict = Traces.now(), VERDICTS[mode]
    report = checked(rogue(mode, tmp_path))
    problems = json.loads(json.dumps(report["problems"]))
    # It depends on the moment whether a second greeting is found before the first table or at it.
    codes = {"G001", "G002"} if mode == "greets_twice" else {verdict.code} if verdict.code else set()
    assert len(problems) == bool(codes) and {problem["code"] for problem in problems} <= codes, problems
    assert verdict.reason in (problems[0]["message"] if problems else "")
    assert Traces.now().processes == before.processes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.one_in(3)
def test_no_bot_is_charged_for_a_referee(mode: str, tmp_path: Path) -> None:
    before, verdict = Traces.now(), VERDICTS[mode]
    record = record_of(rogue(mode, tmp_path), tmp_path, "LOW", "SAY 5")
    after = Traces.now()
    assert record.faults == {}
    assert (record.undecided is not None) == verdict.undecided
    if record.undecided is not None:
        assert verdict.reason.partition(" of table 1")[0].partition("table 1")[0] in record.undecided.reason
        assert record.scores == ()
    else:
        assert len(record.scores) == 4
    assert after.processes == before.processes
    assert after.groups == before.groups
    assert after.shared_memory == before.shared_memory


def test_the_bot_whose_move_crashes_the_referee_is_named_and_not_charged(tmp_path: Path) -> None:
    record = record_of(rogue("crashes_at_a_move", tmp_path), tmp_path, "LOW", "SAY 9", tables=1)
    assert record.faults == {}
    assert record.undecided is not None
    assert record.undecided.reason == "the referee has ended: exited with 1"
    assert b"SAY 9" in record.undecided.said
    assert "bot1" in record.undecided.given_by


@pytest.mark.long
def test_a_table_without_an_end_does_not_hold_the_check_up(tmp_path: Path) -> None:
    report = checked(rogue("never_ends", tmp_path))
    assert "G002" in json.dumps(report["problems"])


@pytest.mark.long
def test_a_referee_that_never_answers_the_first_line_does_not_start(tmp_path: Path) -> None:
    folder = rogue("mute", tmp_path, **{"[limits]": '[limits]\nstartup = "1 s"', '"3 s"': '"1 s"'})
    report = checked(folder)
    assert "G001" in json.dumps(report["problems"])
    assert "was silent for 2 s" in json.dumps(report["problems"])
