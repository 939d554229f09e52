"""Seasons of many rounds: killed at random moments, and with authors whose scripts submit, improve, break and resubmit."""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command import ROOT, croupier_process
from season_process import TestSeason, later_crash, plain_bot

KILLS = 12
ROUNDS = 40
C_BOT = r"""
#include <stdio.h>
int main(void) {{ char line[4096]; while (fgets(line, sizeof line, stdin)) {{ puts("{answer}"); fflush(stdout); }} return 0; }} /* {note} */
"""  # noqa: E501
CPP_BOT = r"""
#include <iostream>
#include <string>
int main() {{ std::string line; while (std::getline(std::cin, line)) std::cout << "{answer}" << std::endl; }} // {note}
"""
JS_BOT = r"""
// {note}
require("readline").createInterface({{ input: process.stdin }}).on("line", () => console.log("{answer}"));
"""
SH_BOT = "#!/bin/sh\n# {note}\nwhile read -r line; do echo {answer}; done\n"
PY_BOT = "import sys\nfor line in sys.stdin:\n    print('{answer}', flush=True)  # {note}\n"
LANGUAGES = {"bot.c": C_BOT, "bot.cpp": CPP_BOT, "bot.js": JS_BOT, "bot": SH_BOT, "bot.py": PY_BOT}

RUNNER = """\
players, mine, turns = map(int, input().split())
while True:
    positions = [int(input()) for _ in range(players)]
    print(5 - mine, flush=True)
"""
TAKER = """\
heaps = int(input())
while True:
    heaps = [int(heap) for heap in input().split()]
    print(next(number for number, heap in enumerate(heaps) if heap), 1, sep="\\n", flush=True)
"""
NAMER = """\
import json
request = json.loads(input())["requests"][-1]
print(json.dumps({"response": max(1, request["last"] - 1)}))
"""
FOREIGN = {
    "botzone": ("botzone:undercut_python/", "undercut_python", NAMER),
    "brutaltester": ("brutaltester:judge.py", "nim_python", TAKER),
    "codingame": ("codingame:python3 judge.py", "hares_python", RUNNER),
}
"""A name of a game for croupier.toml, its folder in the samples, and a bot, by the runner that it was written for."""


def source(file: str, answer: str, note: str) -> bytes:
    """Return a bot of pazaak that always gives the same answer."""
    return LANGUAGES[file].format(answer=answer, note=note).encode()


@pytest.mark.proof
def test_nothing_is_lost_or_entered_twice_whenever_the_process_is_killed(tmp_path: Path) -> None:
    season, chance = TestSeason(tmp_path / "cup"), random.Random(41)
    names = ("ada", "grace", "kim")
    season.invite(*names)
    handed = dict[str, bytes]()
    for number in range(KILLS):
        season.open()
        author = names[number % 3]
        content = plain_bot(chance.choice(["END", "STAND"]), f"{author} {number}")
        handed[hashlib.sha256(content).hexdigest()] = content
        season.submit(author, f"{author}s", content)
        if number % 4 == 3:  # the same bytes again: the same submission
            season.submit(author, f"{author}s", content)
        time.sleep(chance.uniform(0, 6))  # a random moment is what is tested
        assert season.process is not None
        season.process.kill()
        season.process.wait()
        season.process = None
    with season.opened():
        season.until(lambda: not season.document("private/admin.json")["queue"] and not [*season.folder.glob("inbox/[0-9]*")], "the queue")  # fmt: skip  # noqa: E501
        last = season.document("site.json")["round"]
        season.until_round(max(last, 1) + 1)
        ladder = season.document("ladder.json")
    with season.store() as store:
        versions = store.versions.all()
        submissions = [each for name in names for each in store.submissions.of_author(name)]
    assert {each.sha256 for each in submissions} == handed.keys() and len(submissions) == len(handed)
    assert sorted(version.submission for version in versions) == sorted(each.id for each in submissions)
    numbers = sorted((version.bot, version.number) for version in versions)
    assert numbers == [(f"{name}s", nth) for name in names for nth in range(1, KILLS // 3 + 1)]
    verified = season.croupier("season", "verify", "--json")
    assert verified.code == 0 and verified.json["differences"] == [], verified.out
    with season.opened():  # the ladder is computed again from nothing, and is the same
        (season.folder / "published" / "ladder.json").unlink()
    with season.opened():
        season.until(lambda: (season.folder / "published/ladder.json").exists(), "the ladder")
        again = season.document("ladder.json")
    if again["round"] == ladder["round"]:
        assert [(row["label"], row["rating"]) for row in again["rows"]] == [
            (row["label"], row["rating"]) for row in ladder["rows"]
        ]


@pytest.mark.long
def test_a_full_disk_stops_nothing_for_good(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "croupier-test", disk], check=True)
    try:
        season = TestSeason(disk / "cup")
        season.log = tmp_path / "log.ndjson"
        season.invite("ada", "grace")
        with season.opened():
            season.submit("ada", "mine", plain_bot("END", "a"))
            season.submit("grace", "other", plain_bot("STAND", "g"))
            season.until_round(1)
            with contextlib.suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            season.until(lambda: season.events("waits"), "the words about the disk")
            (disk / "fill").unlink()
            done = len(season.events("round", "is over"))
            season.until(lambda: len(season.events("round", "is over")) > done + 1, "the next rounds")
        said = " ".join(event["text"] for event in season.events("waits"))
        assert "No space left on device" in said or "disk is full" in said or "full" in said, said
        verified = season.croupier("season", "verify", "--json")
        assert verified.code == 0, verified.out
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.long
def test_a_season_plays_a_game_with_a_referee(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup", game="prizes/")
    shutil.copytree(ROOT / "sample_bots" / "referees" / "goofspiel_c", season.folder / "prizes")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "high", plain_bot("HIGH", "a"))
        season.submit("grace", "low", plain_bot("LOW", "g"))
        season.until(lambda: (season.folder / "published" / "ladder.json").exists(), "the ladder")
        rows = season.document("ladder.json")["rows"]
    assert sorted(row["label"] for row in rows) == ["high-1", "low-1"]
    verified = season.croupier("season", "verify", "--json")
    assert verified.code == 0 and verified.json["differences"] == [], verified.out
    final = tmp_path / "final"
    assert season.croupier("season", "final", final).code == 0
    assert croupier_process("-C", final, "run").code == 0
    for folder in (season.folder / "rounds" / "0001", final):
        done = croupier_process("-C", folder, "verify")
        assert done.code == 0 and "every recorded answer gives the recorded score" in done.out, done.out + done.err
        assert "transcript and sums checked only" not in done.out


@pytest.mark.long
@pytest.mark.parametrize("host", sorted(FOREIGN))
def test_a_season_plays_a_referee_that_was_written_for_another_runner(host: str, tmp_path: Path) -> None:
    said, sample, bot = FOREIGN[host]
    season = TestSeason(tmp_path / "cup", 'references = ["house.py"]\n', game=said)
    (season.folder / "house.py").write_text(bot)
    shutil.copytree(ROOT / "sample_bots" / "referees" / sample, season.folder / sample)
    (program,) = (season.folder / sample).glob("*.py")
    shutil.copy(program, season.folder / "judge.py")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", bot.encode())
        season.submit("grace", "other", f"{bot}# another\n".encode())
        season.submit("grace", "mute", b"input()\n")
        season.accepted("mine-1", "other-1")
        season.until(lambda: season.events("refused", "mute: exited with 0 without an answer"), "a bot to be refused")
        season.until(lambda: (season.folder / "published" / "ladder.json").exists(), "the ladder")
        rows = season.document("ladder.json")["rows"]
    assert {"mine-1", "other-1"} <= {row["label"] for row in rows} and not any(row["faults"] for row in rows)
    with season.store() as store:
        (mine,) = store.submissions.of_author("ada")
    assert mine.verdict and mine.verdict.accepted and mine.verdict.practice and not mine.verdict.practice[0].faults
    verified = season.croupier("season", "verify", "--json")
    assert verified.code == 0 and verified.json["differences"] == [] and verified.json["tables"], verified.out
    assert verified.json["only_transcripts"] == 0
    final = tmp_path / "final"
    assert season.croupier("season", "final", final).code == 0
    assert croupier_process("-C", final, "run").code == 0
    for folder in (season.folder / "rounds" / "0001", final):
        done = croupier_process("-C", folder, "verify")
        assert done.code == 0 and "every recorded answer gives the recorded score" in done.out, done.out + done.err
        assert "transcript and sums checked only" not in done.out


@pytest.mark.long
def test_a_stopped_process_goes_on_where_it_was(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        season.until_round(1)
        assert season.process is not None
        season.process.send_signal(signal.SIGSTOP)
        done = len(season.events("round", "is over"))
        season.submit("ada", "mine", plain_bot("STAND", "while it was stopped"))
        time.sleep(5)
        assert len(season.events("round", "is over")) == done
        season.process.send_signal(signal.SIGCONT)
        season.accepted("mine-2")
        season.until_round(done + 2)
        assert sum(row["faults"] for row in season.document("rounds.json")["rows"]) == 0
    assert season.croupier("season", "verify").code == 0


@pytest.mark.proof
def test_a_season_of_forty_rounds_with_authors_who_improve_break_and_resubmit(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup", 'keep = "10 rounds"\n')
    files, chance = list(LANGUAGES), random.Random(7)
    authors = [f"author{number}" for number in range(10)]
    season.invite(*authors)
    with season.opened():
        for number, author in enumerate(authors):
            season.submit(author, f"bot{number}", source(files[number % 5], "END", author), files[number % 5])
        season.submit("author0", "crashes", later_crash(40))
        for step in range(ROUNDS // 4):
            season.until_round(4 * (step + 1))
            number = chance.randrange(len(authors))
            author, file = authors[number], files[number % 5]
            season.submit(author, f"bot{number}", source(file, chance.choice(["END", "STAND"]), f"step {step}"), file)
            if step % 3 == 0:
                season.submit(author, "broken", b"def f(:\n")
                season.submit(author, f"bot{number}", source(file, "END", author), file)  # the first one again
        season.until_round(ROUNDS)
    final = tmp_path / "final"
    with season.opened():
        made = season.croupier("season", "final", final, "--json")
        assert made.code == 0, made.err
    assert croupier_process("-C", final, "run", "--progress", "none").code == 0
    assert croupier_process("-C", final, "verify").code == 0
    verified = season.croupier("season", "verify", "--json")
    assert verified.code == 0 and verified.json["rounds"] >= ROUNDS and verified.json["reduced"], verified.out
