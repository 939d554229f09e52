"""The intake of a season examines real bots: it builds, checks and practises, and loses nothing."""

import contextlib
import io
import itertools
import lzma
import os
import random
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import helpers
import psutil
import pytest
import trio
import trio.testing
from command import environment
from season_fixtures import (
    BROKEN_C,
    C_BOT,
    CRASHES,
    HASH,
    JAVA_BOT,
    NEVER_ANSWERS,
    NONSENSE,
    STANDS,
    season,
    tar,
    terms_of,
)

from host.base.errors import UserError
from host.base.paths import size_of
from host.sandbox import landlock
from host.sandbox.limits import Limits
from host.season.entries.database import Database
from host.season.entries.inbox import Cancel, Manage, Practise
from host.season.entries.names import submitted_file_name
from host.season.entries.queue import MAX_ATTEMPTS
from host.season.entries.store import Store
from host.season.entries.table import Table, V
from host.season.entries.values import Practice, Verdict, Version
from host.season.intake.examination import unpacked_upload
from host.season.intake.pruning import prune_old_builds, prune_uploads
from host.season.intake.unpack import Unpacked, UnpackRequest
from host.season.season_config import AuthorLimits
from host.submissions.build import prune_builds
from host.submissions.discovery import load_submission

REFERENCE = Path(__file__).parents[2] / "sample_bots/pazaak/nestor"


GIVES_UP = """\
import sys
for number, line in enumerate(sys.stdin):
    if number > 60:
        sys.exit("tired")
    print("END", flush=True)
"""
"""It answers the questions of the check, which are fewer, and then no more."""

SCRIPT = "#!/bin/sh\nwhile read -r line; do echo STAND; done\n"


@pytest.mark.parametrize(
    ("file_name", "content"),
    [
        ("mine.py", STANDS),
        pytest.param("Mine.java", JAVA_BOT, marks=pytest.mark.long),
        pytest.param("mine.c", C_BOT, marks=pytest.mark.long),
        pytest.param("mine", SCRIPT, marks=pytest.mark.long),
    ],
)
def test_a_bot_is_built_checked_and_practises_in_every_seat(tmp_path: Path, file_name: str, content: str) -> None:
    with season(tmp_path, terms_of(references=(REFERENCE,))) as here:
        found = here.accepted("ada", file_name, content, "mine")
        verdict = found.verdict
        assert verdict is not None
        (practice,) = verdict.practice
        assert (practice.opponent, practice.tables, practice.faults) == ("nestor", 8, 0)
        assert {each.what for each in verdict.findings} >= {"builds", "starts", "limits", "practice"}
        assert found.label == "mine-1"
        assert [each.label for each in here.store.versions.playing()] == ["mine-1"]
        place = here.folder / here.store.versions.get("mine", 1).place
        assert load_submission(place).name == "mine-1"


@pytest.mark.parametrize(
    ("file_name", "content", "said"),
    [
        ("mine.c", BROKEN_C, "undeclared"),
        helpers.long(("mine.py", "def f(:\n", "B015")),
        helpers.long(("mine.py", NONSENSE, "banana")),
        ("mine.py", CRASHES, "out of cards"),
        helpers.long(("mine.py", NEVER_ANSWERS, "B031")),
        helpers.long(("mine.rar", "Rar!", "B016")),
        helpers.long(("mine.zip", "not a zip", "B016")),
        helpers.long(("mine.tar.gz", tar({"README": "no bot"}), "B003")),
        ("mine.tar.gz", tar({"bot.toml": "name = 3", "bot.py": STANDS}), "bot.toml:1"),
        helpers.long(
            ("mine.tar.gz", tar({"bot.toml/x": "", "mine.py": STANDS}), "bot.toml: cannot be read: it is a folder")
        ),
        ("mine.tar.gz", tar({"../../escape.py": STANDS}), "B016"),
    ],
)
def test_a_refusal_says_what_the_compiler_or_the_bot_said(
    tmp_path: Path, file_name: str, content: str | bytes, said: str
) -> None:
    with season(tmp_path) as here:
        here.submit("ada", file_name, content, "mine")
        found = here.examined()
        assert found.state == "refused"
        assert found.verdict is not None
        verdict = found.verdict
        shown = "\n".join([*verdict.problems, verdict.build_log, verdict.stderr, verdict.first_wrong])
        assert said in shown
        assert found.reason
        assert str(tmp_path) not in shown
        assert here.store.versions.all() == []
        assert [*(tmp_path / "work").iterdir()] == []
        assert not (tmp_path / "escape.py").exists()


@pytest.mark.long
def test_the_slowest_answers_are_shown_as_the_bot_read_and_wrote_them(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        for content, answers in ((STANDS, {"END"}), (STANDS.replace("'END'", "line[:1]"), {"(unreadable)"})):
            here.submit("ada", "mine.py", content, "mine")
            verdict = here.examined().verdict
            assert verdict is not None and {each.answer for each in verdict.slowest} == answers
            for each in verdict.slowest:
                assert re.fullmatch(r"\d \d [01] \S+ \S+ \S+ \d (END|STAND|PLAY|-) [01]", each.question), each.question


@pytest.mark.long
def test_the_same_files_are_the_same_version_however_they_are_packed(tmp_path: Path) -> None:
    files = {"bot.toml": 'name = "Seventeen"\nentry = "b.py"\n', "b.py": STANDS, "c.py": "# help"}
    with season(tmp_path) as here:
        first = here.accepted("ada", "mine.tar.gz", tar(files), "mine")
        assert first.verdict is not None
        assert [each for each in first.verdict.findings if each.what == "name"]
        second = here.accepted("ada", "mine.tar.gz", tar(files | {"c.py": "# other"}), "mine")
        assert (first.label, second.label) == ("mine-1", "mine-2")
        wrapped = {f"folder/{name}": text for name, text in files.items()}
        third = here.accepted("ada", "wrapped.tar.gz", tar(wrapped), "mine")
        assert third.label == "mine-1"
        assert [each.label for each in here.store.versions.playing()] == ["mine-1"]
        assert here.submit("ada", "mine.tar.gz", tar(files | {"c.py": "# other"}), "mine").submission == second.id
        assert [each.label for each in here.store.versions.playing()] == ["mine-2"]
        for label in ("mine-1", "mine-2"):
            place = here.folder / here.store.versions.labelled(label).place
            assert load_submission(place).name == label


@pytest.mark.long
def test_the_script_that_the_name_of_a_bot_has_chosen_stays_the_same(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        found = here.accepted("ada", "mine.tar.gz", tar({"mine.py": STANDS, "cards.py": "raise SystemExit"}), "mine")
        place = here.folder / here.store.versions.labelled(found.label).place
        assert load_submission(place).spec.entry == "mine.py"


@pytest.mark.long
def test_a_version_is_never_entered_before_it_was_handed_in(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.submit("ada", "mine.py", STANDS)
        here.store.database.change("UPDATE submission SET at = at + 3600")  # the clock is set back
        assert here.store.versions.get("mine", here.examined().number).entered > time.time() + 3000


@pytest.mark.long
def test_what_is_handed_in_after_the_freeze_is_kept_and_does_not_play(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.accepted("ada", "mine.py", STANDS)
        here.ask(Manage("freeze"))
        late = here.accepted("ada", "mine.py", STANDS + "# better")
        assert "kept, and does not play" in late.reason
        assert [each.label for each in here.store.versions.playing()] == ["mine-1"]
        assert not here.store.versions.labelled("mine-2").active
        assert "entry is closed" in here.submit("ada", "mine.py", STANDS + "# better").text
        assert "mine-1, which plays" in here.submit("ada", "mine.py", STANDS).text


@pytest.mark.long
def test_a_bot_that_fails_in_practice_is_refused_with_its_first_fault(tmp_path: Path) -> None:
    with season(tmp_path, terms_of(references=(REFERENCE,), tables=400)) as here:
        here.submit("ada", "mine.py", GIVES_UP)
        found = here.examined()
        assert found.verdict is not None
        assert found.verdict.practice[0].faults > 0
        assert "tired" in found.verdict.first_wrong


@pytest.mark.long
def test_faults_of_a_reference_are_not_the_authors_and_the_organiser_learns_of_them(tmp_path: Path) -> None:
    house = tmp_path / "house.py"
    house.write_text(GIVES_UP)
    with season(tmp_path / "cup", terms_of(references=(house,), tables=400)) as here:
        verdict = here.accepted("ada", "mine.py", STANDS).verdict
        assert verdict is not None and verdict.practice[0].faults == 0
        (practice,) = [each for each in verdict.findings if each.what == "practice"]
        assert practice.mark == "✓"
        assert re.search(r"; house had [0-9]+ faults, none of them yours$", practice.words), practice.words
        (event,) = [each for each in here.store.events.last(100) if each.kind == "reference"]
        assert event.subject == "house" and re.fullmatch(r"had [0-9]+ faults in practice against mine-1", event.text)


@pytest.mark.long
def test_practice_by_request_plays_versions_and_does_not_count(tmp_path: Path) -> None:
    with season(tmp_path, terms_of(references=(REFERENCE,), tables=2)) as here:
        here.accepted("ada", "mine.py", STANDS)
        answer = here.ask(Practise("ada", "mine", 1, ("mine-1", "nestor"), 4))
        assert not answer.code
        found = here.run(here.intake.examine_next)
        assert isinstance(found, Practice)
        assert (found.state, found.reason) == ("accepted", "")
        assert [each.tables for each in found.results] == [4, 4]
        (told,) = [each.text for each in here.store.events.answers("ada") if each.request == answer.request]
        result = r"against {}: [0-9.]+ of 4 tables \([0-9.]+ % ± [0-9.]+\)"
        assert re.fullmatch(f"practice of mine-1 {result}; {result}".format("mine-1#2", "nestor"), told), told
        assert here.store.used("ada", time.time()).cpu_seconds(time.time()) > 0


def test_a_reference_that_does_not_build_is_found_when_the_season_opens(tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text(BROKEN_C)
    with season(tmp_path / "season", terms_of(references=(broken,))) as here:
        with pytest.raises(UserError) as refused:
            here.run(here.intake.prepare_references)
        assert [problem.code for problem in refused.value.problems] == ["E014", "B010"]


# Cancelling, and ends of the process.


def test_an_author_who_is_renamed_during_an_examination_keeps_its_version(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.submit("ada", "mine.py", STANDS)

        async def renamed() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(here.intake.examine_next)
                while "checking" not in here.intake.doing:
                    await trio.sleep(0.01)
                here.store.authors.rename("ada", "eva", time.time())
                here.submit("eva", "other.py", STANDS)
                assert await here.intake.examine_next() is None  # one of an author at a time

        here.run(renamed)
        (version,) = here.store.versions.all()
        assert (version.label, version.author, here.store.submissions.owner("mine")) == ("mine-1", "eva", "eva")
        assert here.store.events.last(1, "accepted")[0].subject == "eva/mine"


def test_cancelling_ends_what_runs_and_costs_its_time(tmp_path: Path) -> None:
    with season(tmp_path, terms_of(limits=AuthorLimits())) as here:
        here.submit(
            "ada", "mine.tar.gz", tar({"bot.toml": 'build = ["sleep 60"]\nrun = ["./x"]\n', "x.sh": ""}), "mine"
        )
        identity = here.store.submissions.open()[0].id

        async def cancelled() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(here.intake.examine_next)
                while "sleep" not in commands():
                    await trio.sleep(0.05)
                assert here.intake.doing.startswith("building mine")
                assert "has used" in here.ask(Cancel("ada", identity)).text

        with helpers.nothing_left_behind():
            here.run(cancelled)
        found = here.store.submissions.get(identity)
        assert found is not None
        assert (found.state, found.reason) == ("cancelled", "cancelled by its author")
        assert here.store.used("ada", time.time()).cpu_seconds(time.time()) > 0


def commands() -> set[str]:
    """Return the names of the programs that descend from this process."""
    found = psutil.Process().children(recursive=True)
    names = set()
    for each in found:
        with contextlib.suppress(psutil.Error):
            names.add(each.name())
    return names


EXAMINER = """
import sys
import trio
from pathlib import Path
sys.path.insert(0, {tests!r})
from season_fixtures import season, terms_of
with season(Path(sys.argv[1]), terms_of(references=(Path({reference!r}),), tables=20)) as here:
    while here.store.submissions.waiting():
        here.run(here.intake.examine_next)
"""


@pytest.mark.long
def test_an_examination_that_is_killed_at_any_moment_is_repeated_and_nothing_is_lost(tmp_path: Path) -> None:
    script = tmp_path / "examine.py"
    script.write_text(EXAMINER.format(tests=str(Path(__file__).parents[1]), reference=str(REFERENCE)))
    place, chance = tmp_path / "season", random.Random("kill the intake")
    with season(place) as here:
        ids = [here.submit("ada", "mine.py", STANDS + f"# {number}").submission for number in range(3)]
        ids += [here.submit("grace", "hers.c", C_BOT).submission]
    for attempt in itertools.count():
        process = subprocess.Popen([sys.executable, script, place], env=environment(), start_new_session=True)
        try:
            assert process.wait(None if attempt >= 4 else chance.uniform(1, 6)) == 0
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            with Store.reading(place) as store:
                assert len([store.submissions.get(each) for each in ids]) == 4
    with season(place, terms_of(references=(REFERENCE,))) as here:
        found = [here.store.submissions.get(each) for each in ids]
        assert [each.state for each in found if each] == ["accepted"] * 4
        labels = sorted(each.label for each in found if each)
        assert labels == ["hers-1", "mine-1", "mine-2", "mine-3"]
        assert sorted(each.label for each in here.store.versions.all()) == labels
        for label in labels:
            assert load_submission(place / here.store.versions.labelled(label).place).name == label
        assert len(here.store.used("ada", time.time()).began) == 3


@pytest.mark.long
def test_an_interrupted_examination_waits_again_in_its_place(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.submit("ada", "mine.py", STANDS)
        (waiting,) = here.store.submissions.waiting()
        (known,) = here.store.submissions.open()
        here.store.submissions.begin(known, time.time())
        (tmp_path / "work" / waiting.id).mkdir()
    with season(tmp_path) as here:
        assert [*(tmp_path / "work").iterdir()] == []
        (again,) = here.store.submissions.waiting()
        assert again.attempts == 1
        assert "examination 2" in here.intake.places(time.time())[again.id].reason
        assert len(here.store.used("ada", time.time()).began) == 1
        assert here.examined().state == "accepted"
        assert len(here.store.used("ada", time.time()).began) == 1


def test_a_machine_that_fails_does_not_change_which_version_plays(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        for author in ("grace", "ada"):
            interrupted = here.submit(author, f"{author}s.py", STANDS + f"# {author}")
            here.store.submissions.wait_again(interrupted.submission, "", attempts=1)
        newer = here.submit("ada", "adas.py", STANDS + "# newer").submission

        async def examined() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(here.intake.examine_next)  # of grace's
                nursery.start_soon(
                    here.intake.examine_next
                )  # of ada's newer one: of those interrupted one runs at a time
            await here.intake.examine_next()

        here.run(examined)
        playing = {each.author: each for each in here.store.versions.playing()}
        assert playing["ada"].submission == newer
        older = here.store.submissions.get(interrupted.submission)
        assert older and older.reason == "adas-2 is kept; what was handed in later plays on: adas-1"


# What is kept.


def test_a_refused_bot_is_examined_again_or_handed_in_again_if_its_file_is_gone(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.submit("ada", "mine.py", NONSENSE)
        known = here.examined().id
        assert here.ask(Manage("readmit", known)).text == "mine of ada is examined again"
        assert here.examined().state == "refused"
        assert here.submit("ada", "mine.py", NONSENSE).text == "the same file as before: mine is refused"
        (here.folder / "uploads" / here.store.submissions.uploads()[0].sha256).unlink()
        answer = here.ask(Manage("readmit", known))
        assert answer.text == "the file of mine is not kept any more: ada may hand it in again"
        assert not here.store.submissions.open()
        assert here.submit("ada", "mine.py", NONSENSE).text == "mine is received"
        assert here.examined().state == "refused"


def test_only_what_a_version_was_made_of_or_somebody_waits_for_is_kept(tmp_path: Path) -> None:
    day = 86400.0
    with season(tmp_path) as here:
        names = ("played", "waiting", "refused", "cancelled")
        ids = {name: here.submit("ada", f"{name}.py", f"{STANDS}# {name}\n").submission for name in names}
        found = {name: here.store.submissions.get(identity) for name, identity in ids.items()}
        hashes = {name: each.sha256 for name, each in found.items() if each}
        here.store.submissions.set_verdict(ids["refused"], Verdict(accepted=False), "no")
        here.store.submissions.set_verdict(ids["played"], Verdict(accepted=True), "", 1)
        here.ask(Cancel("ada", ids["cancelled"]))
        version = Version("played", 1, "ada", HASH, ids["played"], time.time(), active=True, content=HASH)
        here.store.submissions.take_name(version.bot, version.author)
        here.store.versions.add(version)
        (tmp_path / version.place).mkdir(parents=True)
        (tmp_path / "store" / HASH[:32] / "played-2").mkdir()
        (tmp_path / "store" / "unknown" / "other-1").mkdir(parents=True)
        uploads = tmp_path / "uploads"
        assert prune_uploads(here.store, uploads, time.time()) == 0
        assert prune_uploads(here.store, uploads, time.time() + 2 * day) == 2
        assert {path.name for path in uploads.iterdir()} == {hashes["played"], hashes["waiting"]}
        again = here.submit("ada", "refused.py", f"{STANDS}# refused\n")
        assert (again.submission, again.code) == (ids["refused"], "")
    with season(tmp_path):
        assert [str(path.relative_to(tmp_path)) for path in (tmp_path / "store").glob("*/*")] == [version.place]


# Hostile archives.


def tar_of(*entries: tarfile.TarInfo, content: bytes = b"") -> bytes:
    """Return a tar with these entries, each with the same content."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for entry in entries:
            entry.size = len(content) if entry.isreg() else 0
            archive.addfile(entry, io.BytesIO(content) if entry.isreg() else None)
    return packed.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    """Return an entry of a tar."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def zip_bomb() -> bytes:
    """Return a zip of a hundred kilobytes that has 100 MiB."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bot.py", b"\0" * (100 << 20))
    return packed.getvalue()


def large_dictionary() -> bytes:
    """Return a tar.xz whose header says that unpacking needs 4 GiB of memory."""
    packed = bytearray(lzma.compress(tar({"bot.py": STANDS})))
    header = packed[12 : 12 + (packed[12] + 1) * 4]
    header[header.index(b"\x21\x01") + 2] = 40  # LZMA2 has one byte of properties: the size of the dictionary
    header[-4:] = zlib.crc32(header[:-4]).to_bytes(4, "little")
    packed[12 : 12 + len(header)] = header
    return bytes(packed)


HOSTILE = {
    "a link": ("mine.tar", lambda: tar_of(entry("bot.py", tarfile.SYMTYPE, "/etc/passwd")), "link"),
    "a hard link": ("mine.tar", lambda: tar_of(entry("bot.py", tarfile.LNKTYPE, "/etc/passwd")), "link"),
    "a device": ("mine.tar", lambda: tar_of(entry("bot.py", tarfile.CHRTYPE)), "device"),
    "a FIFO": ("mine.tar", lambda: tar_of(entry("bot.py", tarfile.FIFOTYPE)), "device"),
    "a path upwards": ("mine.tar", lambda: tar_of(entry("../../../tmp/evil.py")), "outside"),
    "an absolute path": ("mine.tar", lambda: tar_of(entry("/tmp/evil.py")), "outside"),
    "20 000 files": ("mine.tar", lambda: tar_of(*(entry(f"{number}.py") for number in range(20_000))), "1000 files"),
    "deep folders": ("mine.tar", lambda: tar_of(entry("a/" * 100 + "bot.py")), "deep"),
    "a name that clears the screen": ("mine.tar", lambda: tar_of(entry("\x1b[2J.py")), "printed"),
    "a file twice": ("mine.tar", lambda: tar_of(entry("bot.py"), entry("bot.py")), "twice"),
    "a zip bomb": ("mine.zip", zip_bomb, "larger"),
    "half a zip": ("mine.zip", lambda: zip_bomb()[:5000], "unpacked"),
    "half a tar.gz": ("mine.tar.gz", lambda: tar({"bot.py": STANDS})[:40], "unpacked"),
    "a dictionary of 4 GiB": ("mine.tar.xz", large_dictionary, "2 GiB of memory"),
    "no gzip": ("mine.tgz", lambda: b"\x1f\x8b" + b"\xff" * 100, "unpacked"),
}


STEALS = """\
import glob, os, sys
PLACES = {places!r}
def steal():
    found = []
    roots = ["", *glob.glob("/proc/[0-9]*/root"), *glob.glob("/proc/[0-9]*/cwd/..")]
    for place in [*PLACES, *(root + place for root in roots for place in PLACES), *glob.glob("/proc/[0-9]*/environ")]:
        try:
            with open(place, "rb") as file:
                found.append(file.read(100_000).decode(errors="replace"))
        except OSError:
            pass
    return "\\n".join(found)
if sys.argv[1:] == ["build"]:
    open("loot.txt", "w").write(steal())
    for number, place in enumerate(PLACES if {links} else ()):
        os.symlink(place, f"link-{{number}}")
    print("tried while it was built", open("loot.txt").read())
else:
    print("tried at play", open("loot.txt").read(), steal(), file=sys.stderr, flush=True)
    for number in range(len(PLACES) if {links} else 0):
        try:
            print(open(f"link-{{number}}").read(), file=sys.stderr, flush=True)
        except OSError:
            pass
    for line in sys.stdin:
        print("END", flush=True)
"""
"""A bot that looks for the files of others while it is built, and when it plays. It prints what it has found."""


@pytest.mark.parametrize("links", [False, helpers.long(True)])
def test_an_examination_cannot_read_what_a_season_has_of_others(tmp_path: Path, links: bool) -> None:
    secrets = {
        "seed": "the-seed-of-the-season",
        "rounds/0001/run.sqlite": "a-journal",
        "published/site.sqlite": "what-the-site-knows",
        "inbox/.upload-1": "not-received-yet",
        "cache/bots/0/bot.py": "built-of-another",
    }
    for name, content in secrets.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    with season(tmp_path) as here:
        others = here.accepted("grace", "hers.py", STANDS + "# the-program-of-grace")
        version = here.store.versions.get("hers", 1)
        names = [*secrets, "season.sqlite", f"uploads/{others.sha256}", f"{version.place}/hers.py"]
        places = [os.path.normpath(tmp_path / name) for name in names]
        script = STEALS.format(places=["bot.toml", *places], links=links)
        (tmp_path / "free").mkdir()
        (tmp_path / "free" / "bot.py").write_text(script)
        subprocess.run(
            [sys.executable, "bot.py", "build"], cwd=tmp_path / "free", check=True, stdout=subprocess.DEVNULL
        )
        loot = (tmp_path / "free" / "loot.txt").read_text()
        config = 'run = ["python3", "bot.py"]\nbuild = ["python3 bot.py build"]\nprotocol = "lines"  # its-own-file\n'
        here.submit("ada", "mine.tar.gz", tar({"bot.toml": config, "bot.py": script}), "mine")
        found = here.examined()
    assert found.verdict is not None
    told = "\n".join([*found.verdict.problems, found.verdict.build_log, found.verdict.stderr])
    assert "tried while it was built" in told and "its-own-file" in told, told
    assert links or "tried at play" in told
    wanted = (*secrets.values(), "the-program-of-grace", "SQLite format 3", "PYTEST")
    assert all(each in loot for each in wanted)  # what it finds outside a sandbox
    assert not [each for each in wanted if each in told]


def test_the_process_that_unpacks_an_upload_can_open_nothing_else_of_the_season(tmp_path: Path) -> None:
    if landlock.version() < landlock.WANTED:
        pytest.skip("this kernel has no Landlock")
    for name in ("seed", "season.sqlite", "uploads/one", "uploads/two", "work/ada/mine", "work/grace/hers"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    program = """
import sys
from pathlib import Path
from host.sandbox.landlock import confine
place = Path(sys.argv[1])
confine(place / "work/ada")
for name in ("work/ada/mine", "seed", "season.sqlite", "uploads/one", "work/grace/hers"):
    try:
        (place / name).read_text()
        print(name)
    except PermissionError:
        pass
try:
    (place / "written").write_text("")
    print("written")
except PermissionError:
    pass
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "work/ada/mine\n"


@pytest.mark.parametrize("attack", helpers.breadth(HOSTILE, 8))
def test_a_hostile_archive_is_refused_by_name_and_leaves_nothing_behind(tmp_path: Path, attack: str) -> None:
    file_name, made, said = HOSTILE[attack]
    upload, target = tmp_path / "upload", tmp_path / "target"
    upload.write_bytes(made())
    target.mkdir()
    request = UnpackRequest(str(upload), file_name, str(target), "mine", 16 << 20)
    with helpers.nothing_left_behind():
        found = trio.run(unpacked_upload, request)
    assert not found.content
    assert {problem.code for problem in found.problems} == {"B016"}
    assert said in str(found.problems[0])
    assert "\x1b" not in str(found.problems[0])
    assert file_name in found.problems[0].where
    assert str(tmp_path) not in str(found.problems[0])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["target", "upload"]


async def while_unpacking_is_killed(work: Callable[[], Awaitable[object]], by: signal.Signals) -> object:
    """Return the result of work, or the UserError that it raised. Every process that unpacks an upload meanwhile is killed."""

    async def kill() -> None:
        while True:
            for child in psutil.Process().children():
                with contextlib.suppress(psutil.Error):
                    if "host.season.intake.unpack" in child.cmdline():
                        child.send_signal(by)
            await trio.sleep(0.001)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(kill)
        try:
            return await work()
        except UserError as failed:
            return failed
        finally:
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_an_upload_is_refused_if_it_ends_its_unpacking_and_waits_if_the_machine_does(
    tmp_path: Path, by: signal.Signals
) -> None:
    (tmp_path / "upload").write_bytes(tar({"bot.py": STANDS}))
    request = UnpackRequest(str(tmp_path / "upload"), "mine.tar.gz", str(tmp_path / "target"), "mine", 16 << 20)
    found = trio.run(while_unpacking_is_killed, partial(unpacked_upload, request), by)
    said = f"error[B016] mine.tar.gz: cannot be unpacked: the process that did it was killed ({by.name})"
    if by == signal.SIGSEGV:
        assert isinstance(found, Unpacked) and not found.content
        assert str(found.problems[0]).startswith(said)
    else:
        assert isinstance(found, UserError) and found.exit_code == 6
        assert str(found.problems[0]).startswith(said) or by == signal.SIGTERM


def test_an_upload_that_never_gets_unpacked_is_refused_at_its_last_examination(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        mine = here.submit("ada", "mine.tar.gz", tar({"bot.py": STANDS})).submission
        for attempts in range(MAX_ATTEMPTS):
            (known,) = here.store.submissions.open()
            assert (known.state, known.attempts) == ("waiting", attempts)
            here.run(partial(while_unpacking_is_killed, here.intake.examine_next, signal.SIGKILL))
        last = here.store.submissions.get(mine)
        assert last and last.state == "refused" and "was killed (SIGKILL)" in last.reason


def test_an_upload_that_has_vanished_does_not_wait_for_ever(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.submit("ada", "mine.py", STANDS)
        (here.folder / "uploads" / here.store.submissions.uploads()[0].sha256).unlink()
        for _ in range(MAX_ATTEMPTS - 1):
            with pytest.raises(UserError, match="No such file"):
                here.examined()
        assert here.examined().state == "refused"


def test_a_file_whose_name_no_file_system_takes_is_refused_when_it_is_handed_in(tmp_path: Path) -> None:
    longest = "中" * 79 + ".py"
    assert submitted_file_name(longest) == longest
    for name in ("中" * 80 + ".py", "a" * 121):
        with pytest.raises(UserError, match="too long"):
            submitted_file_name(name)
    (tmp_path / "upload").write_text(STANDS)
    target = str(tmp_path / "target")
    found = trio.run(unpacked_upload, UnpackRequest(str(tmp_path / "upload"), longest, target, "mine", 16 << 20))
    assert not found.problems


# Slow bots.

SLEEPS = "import sys, time\nfor line in sys.stdin:\n    time.sleep(0.3)\n    print('END', flush=True)\n"


@pytest.mark.proof
def test_a_slow_bot_delays_nobody_and_pays_for_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("host.season.intake.intake.MAX_SECONDS", 15.0)
    with season(tmp_path, terms_of(references=(REFERENCE,), tables=400)) as here:
        slow = here.submit("ada", "slow.py", SLEEPS).submission
        quick = here.submit("grace", "quick.py", STANDS).submission

        async def both() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(here.intake.examine_next)
                with trio.fail_after(300):
                    while (known := here.store.submissions.get(slow)) and known.state != "practising":
                        await trio.sleep(0.05)
                await here.intake.examine_next()
                known, other = here.store.submissions.get(slow), here.store.submissions.get(quick)
                assert known and other and (known.state, other.state) == ("practising", "accepted")
                assert other.verdict and other.verdict.pace < 0.1
                here.submit("ada", "more.py", STANDS)
                assert await here.intake.examine_next() is None  # one of each author at a time

        began = time.monotonic()
        here.run(both)
        known, used = here.store.submissions.get(slow), here.store.used("ada", time.time())
        assert known and known.verdict and known.state == "accepted"
        assert "ended, because the bot takes long" in str(known.verdict.findings)
        assert 15 < used.cpu_seconds(time.time()) < time.monotonic() - began + 1
        assert known.verdict.pace > 0.5


@pytest.mark.long
def test_slow_bots_that_are_checked_do_not_keep_others_from_being_built(tmp_path: Path) -> None:
    slow = SLEEPS.replace("0.3", "5")  # to be checked for longer than it takes to examine the other, on any machine
    with season(tmp_path, terms_of()._replace(limits=Limits(move=60, startup=60, cpu=10))) as here:
        here.author("alan")
        both = [here.submit(author, f"{author}s.py", f"{slow}# {author}").submission for author in ("ada", "grace")]
        quick = here.submit("alan", "quick.py", STANDS).submission

        def states(*submissions: str) -> list[str]:
            return [known.state for each in submissions if (known := here.store.submissions.get(each))]

        async def three() -> list[str]:
            async with trio.open_nursery() as nursery:
                for _ in both:
                    nursery.start_soon(here.intake.examine_next)
                with trio.fail_after(300):
                    while states(*both) != ["checking", "checking"]:
                        await trio.sleep(0.05)
                await here.intake.examine_next()
                found = states(quick, *both)
                nursery.cancel_scope.cancel()
            return found

        assert here.run(three) == ["accepted", "checking", "checking"]


def test_the_queue_is_read_once_to_find_what_is_examined_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with season(tmp_path) as here:
        looked, real = list[str](), Database.select

        def select(self: Database, table: Table[V], condition: str = "", *values: object) -> list[V]:
            looked.append(table.name)
            return real(self, table, condition, *values)

        monkeypatch.setattr(Database, "select", select)
        assert here.run(here.intake.examine_next) is None
        assert sorted(looked) == ["practice", "submission"]


def test_of_submissions_that_are_examined_again_one_runs_at_a_time(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.author("alan")
        again = [here.submit(author, f"{author}s.py", STANDS + f"# {author}").submission for author in ("ada", "grace")]
        for each in again:
            here.store.submissions.wait_again(each, "", attempts=1)
        new = here.submit("alan", "alans.py", STANDS).submission

        async def begun() -> set[str]:
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(here.intake.examine_next)
                await trio.testing.wait_all_tasks_blocked()
                found = {each.id for each in here.store.submissions.open() if each.state != "waiting"}
                nursery.cancel_scope.cancel()
            return found

        assert here.run(begun) == {again[0], new}


# The disk of the builds.


@contextlib.contextmanager
def small_cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let builds lie on a disk of 64 MiB, which bots can reach."""
    with season(place) as before:  # the keeper of sandboxes stays where it is
        before.accepted("ada", "mine.py", STANDS)
    with small_disk() as folder:
        monkeypatch.setenv("CROUPIER_CACHE", str(folder))
        yield folder


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """Mount a disk of 64 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    folder = Path(tempfile.mkdtemp())
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "croupier-test", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


@pytest.mark.long
def test_a_disk_that_is_almost_full_is_no_bots_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_cache(tmp_path / "before", monkeypatch) as cache, season(tmp_path / "cup") as here:
        here.submit("ada", "mine.c", C_BOT)
        with (cache / "fill").open("wb") as file:
            file.write(bytes(63 << 20))
        with pytest.raises(UserError) as full:
            here.examined()
        assert full.value.exit_code == 6
        assert full.value.problems[0].code == "E015" and "CROUPIER_CACHE" in full.value.problems[0].hint
        (waiting,) = here.store.submissions.open()
        assert waiting.state == "waiting" and "almost full" in waiting.reason
        (cache / "fill").unlink()
        found = here.examined()
        assert found.state == "accepted", found.verdict and found.verdict.problems


@pytest.mark.long
def test_an_examination_that_a_full_disk_ends_is_done_again_when_there_is_room(tmp_path: Path) -> None:
    with small_disk() as disk, season(disk / "cup") as here:
        mine = here.submit("ada", "mine.py", STANDS).submission

        async def fill() -> None:
            while (known := here.store.submissions.get(mine)) and known.state == "waiting":
                await trio.sleep(0.001)
            with contextlib.suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))

        async def examine() -> UserError:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fill)
                with pytest.raises(UserError) as full:
                    await here.intake.examine_next()
            return full.value

        assert here.run(examine).problems[0].code == "E012"  # it could not even write that the submission waits
        known = here.store.submissions.get(mine)
        assert known and known.state == "building"
        (disk / "fill").unlink()
        assert here.examined().state == "accepted"


@pytest.mark.long
def test_an_upload_that_a_full_disk_keeps_from_being_unpacked_is_no_failure_of_croupier() -> None:
    with small_disk() as disk:
        (disk / "upload").write_bytes(b"print()\n" * 8192)
        with contextlib.suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        request = UnpackRequest(str(disk / "upload"), "mine.py", str(disk / "work"), "mine", 1 << 20)
        with pytest.raises(UserError) as full:
            trio.run(unpacked_upload, request)
        assert (full.value.problems[0].code, full.value.exit_code) == ("E015", 6)


@pytest.mark.long
def test_old_builds_make_room_and_those_in_use_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_cache(tmp_path / "before", monkeypatch) as cache, season(tmp_path / "cup") as here:
        for age, name in ((7200, "old"), (0, "new")):  # large programs that an author has had built
            (cache / "bots" / name).mkdir(parents=True)
            (cache / "bots" / name / "program").write_bytes(bytes(26 << 20))
            os.utime(cache / "bots" / name, (time.time() - age,) * 2)
        here.submit("ada", "mine.c", C_BOT)
        found = here.examined()
        assert found.state == "accepted", found.verdict and found.verdict.problems
        assert not (cache / "bots" / "old").exists() and (cache / "bots" / "new").exists()
        assert prune_old_builds(None) == 0
        os.utime(cache / "bots" / "new", (time.time() - 7200,) * 2)
        assert prune_builds(20 << 20, time.time() - 8000) == 0
        assert prune_builds(20 << 20, time.time() - 60) == 1
        assert size_of(cache / "bots") < 20 << 20
