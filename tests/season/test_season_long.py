"""Seasons of many rounds: killed at random moments, and with authors whose scripts submit, improve, break and resubmit."""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from command import ROOT, croupier_process
from machines import machines
from season_harms import LANGUAGES, harm, source
from season_process import CRASHES_IN_ROUNDS, TestSeason, plain_bot

from host.season.entries.store import Store
from host.season.entries.values import Submission

HARMS, MOST = 100, 60  # processes killed or stopped, submissions
ROUNDS = 40
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


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_entered_twice_whatever_is_killed_or_stopped_whenever(tmp_path: Path) -> None:
    season, chance = TestSeason(tmp_path / "cup"), random.Random(41)
    names, files = [f"author{number}" for number in range(6)], list(LANGUAGES)
    season.invite(*names)
    acknowledged, done = dict[str, tuple[str, str]](), Counter[str]()  # by submission, its author and hash
    season.open(site=True)
    while done.total() < HARMS:
        number = chance.randrange(len(names))
        author, file = names[number], files[number % 5]
        content = source(file, chance.choice(["END", "STAND"]), f"{author} {done.total()}")
        for _ in range(chance.choice([1, 1, 2])):  # twice: the same bytes are the same submission
            if len(acknowledged) < MOST:
                handed = season.put(author, f"{author}s", content, file)
                acknowledged[handed] = (author, hashlib.sha256(content).hexdigest())
        time.sleep(chance.uniform(0, 3))  # a random moment is what is tested
        if what := harm(season, chance):
            done[what] += 1
        assert season.process is not None
        if what == "season killed":
            season.process.wait()
            season.open(site=True)
        assert season.process.poll() is None, season.log.read_text()[-3000:]

    def submissions() -> dict[str, Submission]:
        with season.store() as store:
            return {each.id: each for name in names for each in store.submissions.of_author(name)}

    season.until(lambda: all((one := submissions().get(each)) and one.verdict for each in acknowledged), "the verdicts")
    season.until_round(season.document("site")["round"] + 1)
    season.end()
    print(f"{dict(done)}, {len(acknowledged)} submissions")
    with season.store() as store:
        entered = sorted(version.submission for version in store.versions.all())
    kept = submissions()
    assert {each: (kept[each].author, kept[each].sha256) for each in acknowledged} == acknowledged
    assert entered == sorted(kept) == sorted(acknowledged)  # each accepted, and entered once
    verified = season.croupier("season", "verify", "--json")
    assert verified.code == 0 and verified.json["differences"] == [], verified.out
    ladder = season.document("ladder")
    (season.folder / "published" / "site.sqlite").unlink()
    with Store.open(season.folder) as store:
        store.set_setting("ladder", "")
    with season.opened():  # the ladder is computed again from nothing, and is the same
        season.until(lambda: season.document("ladder"), "the ladder")
        again = season.document("ladder")
    if again["round"] == ladder["round"]:
        assert [(row["label"], row["rating"]) for row in again["rows"]] == [
            (row["label"], row["rating"]) for row in ladder["rows"]
        ]
    assert not any(row["faults"] for row in ladder["rows"])


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
            assert season.process is not None
            season.process.kill()
            season.process.wait()
            before = len(season.events("waits"))
            season.open()
            season.until(lambda: len(season.events("waits")) > before, "the same words after a restart")
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
        season.until(lambda: season.document("ladder"), "the ladder")
        rows = season.document("ladder")["rows"]
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
@pytest.mark.parametrize("host", sorted(FOREIGN, reverse=True))
@pytest.mark.one_in(3)
def test_a_season_plays_a_referee_that_was_written_for_another_runner(host: str, tmp_path: Path) -> None:
    said, sample, bot = FOREIGN[host]
    season = TestSeason(tmp_path / "cup", 'references = ["house.py"]\n', game=said)
    (season.folder / "house.py").write_text(bot)
    shutil.copytree(ROOT / "sample_bots" / "referees" / sample, season.folder / sample)
    (program,) = (season.folder / sample).glob("*.py")
    patient = program.read_text().replace("1000 if frame <= count else 50", "9000")  # ms, on a busy machine
    assert host != "codingame" or "9000" in patient
    (season.folder / "judge.py").write_text(patient)
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", bot.encode())
        season.submit("grace", "other", f"{bot}# another\n".encode())
        season.submit("grace", "mute", b"input()\n")
        season.accepted("mine-1", "other-1")
        season.until(lambda: season.events("refused", "mute: exited with 0 without an answer"), "a bot to be refused")
        both = {"mine-1", "other-1"}  # with the first of them alone, the references play rounds, too
        season.until(
            lambda: both <= {row["label"] for row in (season.document("ladder") or {"rows": []})["rows"]}, "the ladder"
        )
        rows = season.document("ladder")["rows"]
    assert not any(row["faults"] for row in rows), rows
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
def test_a_season_plays_on_the_machines_of_a_cluster_and_goes_on_when_one_dies(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with machines("alice", "bob") as two, season.opened("--cluster", two.address):
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        season.until_round(1)
        season.until(lambda: two.players("bob"), "bob's machine to play")
        two.kill("bob")
        done = len(season.events("round", "is over"))
        season.until(lambda: len(season.events("round", "is over")) > done + 1, "the next rounds")
        assert sum(row["faults"] for row in season.document("rounds")["rows"]) == 0
    verified = season.croupier("season", "verify", "--json")
    assert verified.code == 0 and verified.json["differences"] == [], verified.out


@pytest.mark.proof
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
        assert sum(row["faults"] for row in season.document("rounds")["rows"]) == 0
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
        season.submit("author0", "crashes", CRASHES_IN_ROUNDS)
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
