"""Submissions: good ones are copied; bad ones are refused by name, and leave nothing behind."""

import csv
import io
import os
import shutil
import socket
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from command import ROOT, Done, croupier, cup_in
from helpers import SAMPLES, breadth, level

from host.base.errors import UserError
from host.sandbox.limits import MIB
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.file_tree import SUBMITTED
from host.submissions.intake_log import INTAKE_LOG, IntakeRow, open_refusals, read

DAVEY = (SAMPLES / "cardshark" / "davey.c").read_bytes()
SCRIPT = b"#!/bin/sh\necho S\n"


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    """Return a tournament's folder with a bot."""
    return cup_in(tmp_path / "cup", ["cautious.c"])


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Return a folder for submissions."""
    (tmp_path / "desk").mkdir()
    return tmp_path / "desk"


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files in a folder, with modes and contents; not the log of the intake, which grows with each refusal."""
    found = {}
    for path in folder.rglob("*"):
        if path.name == INTAKE_LOG:
            continue
        status = path.lstat()
        found[str(path)] = (status.st_mode, path.read_bytes() if stat.S_ISREG(status.st_mode) else b"")
    return found


@contextmanager
def untouched(*folders: Path) -> Iterator[None]:
    """Fail if the block changes anything in these folders."""
    before = [everything(folder) for folder in folders]
    yield
    assert [everything(folder) for folder in folders] == before


def zipped(path: Path, files: dict[str, bytes], mode: int = 0o644) -> Path:
    """Create a zip; all files have this mode."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return path


def tarred(path: Path, files: dict[str, bytes], mode: int = 0o644, **changes: object) -> Path:
    """Create a tar; apply `changes` to every entry."""
    how = {".gz": "w:gz", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz"}.get(path.suffix, "w")
    with tarfile.open(path, how) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            for key, value in changes.items():
                setattr(entry, key, value)
            archive.addfile(entry, io.BytesIO(content))
    return path


# Submissions that are added.


def a_file(desk: Path) -> Path:
    """Return a single source file."""
    (desk / "mine.c").write_bytes(DAVEY)
    return desk / "mine.c"


def a_program(desk: Path) -> Path:
    """Return a single program."""
    (desk / "mine").write_bytes(SCRIPT)
    (desk / "mine").chmod(0o755)
    return desk / "mine"


def a_folder(desk: Path) -> Path:
    """Return a folder that also contains files left by tools."""
    (desk / "mine" / ".git").mkdir(parents=True)
    (desk / "mine" / "inner").mkdir()
    (desk / "mine" / "davey.c").write_bytes(DAVEY)
    (desk / "mine" / "bot.toml").write_text('language = "c"\n')
    (desk / "mine" / "inner" / "notes.txt").write_text("nothing\n")
    (desk / "mine" / ".git" / "HEAD").symlink_to("/etc/passwd")
    return desk / "mine"


def a_zip(desk: Path) -> Path:
    """Return a zip as macOS creates it: all files in a folder, with a second folder next to it."""
    return zipped(desk / "mine.zip", {"mine-1.0/davey.c": DAVEY, "__MACOSX/mine-1.0/._davey.c": b"\0"})


def a_tar(desk: Path) -> Path:
    """Return a tar whose files are not in a folder."""
    return tarred(desk / "mine.tar", {"davey.c": DAVEY, "notes.txt": b"nothing"})


def a_packed_tar(desk: Path) -> Path:
    """Return a tar.gz of a program."""
    return tarred(desk / "mine.tar.gz", {"mine/mine": SCRIPT}, mode=0o755)


GOOD = [a_file, a_program, a_folder, a_zip, a_tar, a_packed_tar]


@pytest.mark.parametrize("submission", breadth(GOOD, 3))
def test_a_good_submission_is_taken_in_and_plays(submission: Callable[[Path], Path], cup: Path, desk: Path) -> None:
    handed_in = submission(desk)
    with untouched(desk):
        assert croupier("check", handed_in, "-C", cup).code == 0
        done = croupier("add", handed_in, "-C", cup)
    assert done.code == 0, done.err
    assert done.out.startswith(f"added mine as {cup}/bots/mine")
    assert sorted(path.name for path in (cup / "bots").glob("[!.]*")) in (
        ["cautious.c", "mine"],
        ["cautious.c", "mine.c"],
    )
    assert croupier("play", "mine", "cautious", "-n", 1, "-C", cup).code == 0


def test_a_path_starts_where_the_user_stands_whatever_the_folder(cup: Path, desk: Path) -> None:
    a_file(desk)
    assert croupier("check", "mine.c", "-C", cup, cwd=desk).code == 0
    assert croupier("add", "mine.c", "-C", cup, cwd=desk).code == 0
    assert croupier("add", "bots/mine.c", "--as", "other", "-C", cup, cwd=desk).code == 4
    assert croupier("init", "new", "--lang", "python", "-C", cup, cwd=desk).code == 0
    assert (desk / "new" / "bot.py").exists()


def test_what_may_be_executed_still_may(cup: Path, desk: Path) -> None:
    assert croupier("add", a_packed_tar(desk), "-C", cup).code == 0
    assert (cup / "bots" / "mine" / "mine").stat().st_mode & 0o777 == 0o755


def test_nothing_but_the_bot_is_taken_in(cup: Path, desk: Path) -> None:
    assert croupier("add", a_folder(desk), "-C", cup).code == 0
    assert sorted(str(path.relative_to(cup / "bots" / "mine")) for path in (cup / "bots" / "mine").rglob("*")) == [
        *("bot.toml", "davey.c", "inner", "inner/notes.txt"),
    ]


def test_a_bot_can_be_called_otherwise(cup: Path, desk: Path) -> None:
    assert croupier("add", a_file(desk), "--as", "other", "-C", cup).code == 0
    assert (cup / "bots" / "other.c").read_bytes() == DAVEY


def test_the_first_of_two_stays_when_the_second_is_refused(cup: Path, desk: Path) -> None:
    (desk / "link.c").symlink_to("/etc/passwd")
    assert croupier("add", a_file(desk), desk / "link.c", "-C", cup).code == 4
    assert (cup / "bots" / "mine.c").exists()


def test_a_bot_that_nobody_will_call_is_said_so(cup: Path, desk: Path) -> None:
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace('"bots/*"', '"bots/cautious.c"'))
    done = croupier("add", a_file(desk), "-C", cup)
    assert done.code == 0
    assert done.err == f"WARNING  {cup}/bots/mine.c does not play: `bots` in {config} does not include it\n"


# Submissions that are refused.


def inside(desk: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder with a bot and one other file."""
    (desk / "mine").mkdir()
    (desk / "mine" / "davey.c").write_bytes(DAVEY)
    make(desk / "mine")
    return desk / "mine"


def listening(folder: Path) -> None:
    """Create a socket in a folder."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))


def large(path: Path, size: int) -> Path:
    """Create a sparse file of this size."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def lying_zip(path: Path) -> Path:
    """Create a zip whose only file is much larger than declared."""
    zipped(path, {"davey.c": bytes(40 * MIB)})
    content = bytearray(path.read_bytes())
    small = (1000).to_bytes(4, "little")
    content[22:26] = small
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = small
    path.write_bytes(content)
    return path


def device_zip(path: Path) -> Path:
    """Create a zip with a symbolic link."""
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo("passwd")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return path


def locked_zip(path: Path) -> Path:
    """Create a zip that is marked as encrypted."""
    content = bytearray(zipped(path, {"davey.c": DAVEY}).read_bytes())
    content[6] |= 1
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    return path


def broken(path: Path) -> Path:
    """Damage the middle of a file."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20] = bytes(255 - byte for byte in content[middle : middle + 20])
    path.write_bytes(content)
    return path


def written(path: Path, content: bytes) -> Path:
    """Write a file."""
    path.write_bytes(content)
    return path


def linked(path: Path, target: object) -> Path:
    """Create a symbolic link."""
    path.symlink_to(str(target))
    return path


def fifo(path: Path) -> Path:
    """Create a FIFO."""
    os.mkfifo(path)
    return path


def nested(folder: Path, depth: int) -> Path:
    """Create folders inside each other."""
    folder.mkdir()
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("x", dir_fd=at)
        inner = os.open("x", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    return folder


def manifested(desk: Path, manifest: str) -> Path:
    """Return a folder with a bot and this bot.toml."""
    return inside(desk, lambda folder: (folder / "bot.toml").write_text(manifest))


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "nothing": (lambda desk: desk / "none", "B016] {desk}/none: no such file"),
    "a link": (lambda desk: linked(desk / "mine.c", "/etc/passwd"), "B016] {desk}/mine.c: is a link;"),
    "a link to a folder": (lambda desk: linked(desk / "mine", "/etc"), "B016] {desk}/mine: is a link;"),
    "a FIFO": (lambda desk: fifo(desk / "mine"), "B016] {desk}/mine: is a FIFO;"),
    "a device": (lambda _desk: Path("/dev/null"), "B016] /dev/null: is a device;"),
    "a file too large": (
        lambda desk: large(desk / "mine.c", SUBMITTED.file_bytes + 1),
        f"B016] {{desk}}/mine.c: is larger than {SUBMITTED.file_bytes // MIB} MiB",
    ),
    "a name with a line end": (lambda desk: written(desk / "mi\nne.c", DAVEY), "B016] {desk}/mi\\n"),
    "a name with a slash": (lambda desk: written(desk / "mi#ne.c", DAVEY), "B016] {desk}/mi#ne.c: its name contains "),
    "a hidden name": (lambda desk: written(desk / ".mine.c", DAVEY), "B016] {desk}/.mine.c: its name begins with "),
    "an option": (lambda desk: written(desk / "-mine.c", DAVEY), "B016] {desk}/-mine.c: its name begins with "),
    "a name of no letters": (
        lambda desk: zipped(desk / ".zip", {"x.c": DAVEY}),
        "B016] {desk}/.zip: its name is empty",
    ),
    # too deep
    "a zip of 1800 folders": (
        lambda desk: zipped(desk / "deep.zip", {"x/" * 1800 + "x.c": DAVEY}),
        "B016] {desk}/deep.zip: x/x/",
    ),
    "a name of megabytes in a tar": (
        lambda desk: tarred(desk / "long.tar", {"/" + "a" * 5_000_000: DAVEY}),
        f"B016] {{desk}}/long.tar: /{'a' * 299}: points outside its folder",
    ),
    "a folder of 100 folders": (lambda desk: nested(desk / "deep", 100), "B016] {desk}/deep/x/x/"),
    # in a folder
    "a link in a folder": (
        lambda desk: inside(desk, lambda folder: linked(folder / "data", "/etc/passwd")),
        "B016] {desk}/mine/data: is a link",
    ),
    "a linked folder in a folder": (
        lambda desk: inside(desk, lambda folder: linked(folder / "data", "/etc")),
        "B016] {desk}/mine/data: is a link",
    ),
    "a FIFO in a folder": (
        lambda desk: inside(desk, lambda folder: fifo(folder / "data")),
        "B016] {desk}/mine/data: is a FIFO",
    ),
    "a socket in a folder": (lambda desk: inside(desk, listening), "B016] {desk}/mine/socket: is a socket"),
    "a large file in a folder": (
        lambda desk: inside(desk, lambda folder: large(folder / "data", SUBMITTED.file_bytes + 1)),
        f"B016] {{desk}}/mine/data: is larger than {SUBMITTED.file_bytes // MIB} MiB",
    ),
    "large files in a folder": (
        lambda desk: inside(desk, lambda folder: [large(folder / str(n), SUBMITTED.file_bytes) for n in range(5)]),
        f"B016] {{desk}}/mine/4: makes the folder larger than {SUBMITTED.total_bytes // MIB} MiB",
    ),
    "many files in a folder": (
        lambda desk: inside(desk, lambda folder: [large(folder / f"{n:04}", 0) for n in range(SUBMITTED.entries)]),
        f"B016] {{desk}}/mine: has more than {SUBMITTED.entries} files",
    ),
    "an odd name in a folder": (
        lambda desk: inside(desk, lambda folder: written(folder / "da\nta", b"")),
        "B016] {desk}/mine/da\\nta: ",
    ),
    # in an archive
    "an absolute path in a zip": (
        lambda desk: zipped(desk / "mine.zip", {"/etc/cron.d/x": b""}),
        "B016] {desk}/mine.zip: /etc/cron.d/x: points outside its folder",
    ),
    "a way out of a zip": (
        lambda desk: zipped(desk / "mine.zip", {"a/../../x.c": b""}),
        "B016] {desk}/mine.zip: a/../../x.c: points outside its folder",
    ),
    "a Windows way out of a zip": (
        lambda desk: zipped(desk / "mine.zip", {"..\\..\\x.c": b""}),
        "B016] {desk}/mine.zip: ..\\..\\x.c: points outside its folder",
    ),
    "a link in a zip": (lambda desk: device_zip(desk / "mine.zip"), "B016] {desk}/mine.zip: passwd: is a link"),
    "a bomb in a zip": (
        lambda desk: zipped(desk / "mine.zip", {"davey.c": bytes(SUBMITTED.file_bytes + 1)}),
        f"B016] {{desk}}/mine.zip: davey.c: is larger than {SUBMITTED.file_bytes // MIB} MiB",
    ),
    "many bombs in a zip": (
        lambda desk: zipped(desk / "mine.zip", {f"{n}.c": bytes(SUBMITTED.file_bytes) for n in range(5)}),
        f"B016] {{desk}}/mine.zip: 4.c: makes the folder larger than {SUBMITTED.total_bytes // MIB} MiB",
    ),
    "a zip that lies": (lambda desk: lying_zip(desk / "mine.zip"), "B016] {desk}/mine.zip: cannot be unpacked: "),
    "an encrypted zip": (lambda desk: locked_zip(desk / "mine.zip"), "B016] {desk}/mine.zip: cannot be unpacked: "),
    "a damaged zip": (
        lambda desk: broken(zipped(desk / "mine.zip", {"davey.c": DAVEY})),
        "B016] {desk}/mine.zip: cannot be unpacked: ",
    ),
    "no zip": (lambda desk: written(desk / "mine.zip", b"PK"), "B016] {desk}/mine.zip: cannot be unpacked: "),
    "many files in a zip": (
        lambda desk: zipped(desk / "mine.zip", {f"{n}.txt": b"" for n in range(SUBMITTED.entries + 1)}),
        f"B016] {{desk}}/mine.zip: has more than {SUBMITTED.entries} files",
    ),
    "a file and a folder in a zip": (
        lambda desk: zipped(desk / "mine.zip", {"x": b"", "x/y": b""}),
        "B016] {desk}/mine.zip: x/y: is in it twice, or is a file and a folder at once",
    ),
    "a deep path in a zip": (
        lambda desk: zipped(desk / "mine.zip", {"d/" * 3000 + "x.c": b""}),
        "B016] {desk}/mine.zip: d/d/",
    ),
    "a name with a line end in a zip": (
        lambda desk: zipped(desk / "mine.zip", {"x\ny.c": b""}),
        "B016] {desk}/mine.zip: x\\ny.c: ",
    ),
    "a link in a tar": (
        lambda desk: tarred(desk / "mine.tar", {"x": b""}, type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        "B016] {desk}/mine.tar: x: is a link or a device",
    ),
    "a hard link in a tar": (
        lambda desk: tarred(desk / "mine.tar", {"x": b""}, type=tarfile.LNKTYPE, linkname="/etc/passwd"),
        "B016] {desk}/mine.tar: x: is a link or a device",
    ),
    "a device in a tar": (
        lambda desk: tarred(desk / "mine.tgz", {"x": b""}, type=tarfile.BLKTYPE, devmajor=8),
        "B016] {desk}/mine.tgz: x: is a link or a device",
    ),
    "a FIFO in a tar": (
        lambda desk: tarred(desk / "mine.tgz", {"x": b""}, type=tarfile.FIFOTYPE),
        "B016] {desk}/mine.tgz: x: is a link or a device",
    ),
    "an absolute path in a tar": (
        lambda desk: tarred(desk / "mine.tar.xz", {"/etc/cron.d/x": b""}),
        "B016] {desk}/mine.tar.xz: /etc/cron.d/x: points outside its folder",
    ),
    "a way out of a tar": (
        lambda desk: tarred(desk / "mine.tar.bz2", {"../x": b""}),
        "B016] {desk}/mine.tar.bz2: ../x: points outside its folder",
    ),
    "a bomb in a tar": (
        lambda desk: tarred(desk / "mine.tar.gz", {f"{n}.c": bytes(SUBMITTED.file_bytes) for n in range(5)}),
        f"B016] {{desk}}/mine.tar.gz: unpacks to more than {SUBMITTED.total_bytes // MIB} MiB",
    ),
    "a twin in a tar": (
        lambda desk: joined(desk / "mine.tar"),
        "B016] {desk}/mine.tar: x: is in it twice, or is a file and a folder at once",
    ),
    "a damaged tar": (
        lambda desk: broken(tarred(desk / "mine.tar.gz", {"davey.c": DAVEY})),
        "B016] {desk}/mine.tar.gz: cannot be unpacked: ",
    ),
    "no tar": (lambda desk: written(desk / "mine.tar", DAVEY), "B016] {desk}/mine.tar: cannot be unpacked: "),
    # submissions that are not bots
    "an empty zip": (lambda desk: zipped(desk / "mine.zip", {}), "B014] "),
    "what does not build": (lambda desk: written(desk / "mine.c", b"int main("), "B010] mine: does not build"),
    "what does not start": (
        lambda desk: manifested(desk, 'language = "any"\nrun = ["./none"]\nbuild = ["true"]\n'),
        "B018] mine: cannot be started: ",
    ),
    "what only crashes": (
        lambda desk: written(desk / "mine.c", b"int main(void) { return *(volatile int *)0; }\n"),
        "B035] mine: killed by signal 11 without an answer to any question",
    ),
    "a bot for another game": (lambda desk: manifested(desk, 'game = "pazaak"\n'), "C015] "),
    "what asks for more": (lambda desk: manifested(desk, '[limits]\nmove = "1 min"\n'), "C014] "),
    "a folder in the place of a manifest": (
        lambda desk: inside(desk, lambda folder: (folder / "bot.toml").mkdir()),
        "C011] {desk}/mine/bot.toml: cannot be read: it is a folder",
    ),
    "a wrong manifest": (lambda desk: manifested(desk, "nmae = 1\n"), "C001] "),
    "a name that is taken": (
        lambda desk: written(desk / "cautious.c", DAVEY),
        "C016] {cup}/bots/cautious.c: already exists",
    ),
    "a bot's name that is taken": (
        lambda desk: manifested(desk, 'name = "cautious"\n'),
        'C003] {desk}/mine: a bot called "cautious" already exists: {cup}/bots/cautious.c',
    ),
}


def joined(path: Path) -> Path:
    """Create a tar that contains one file twice."""
    with tarfile.open(path, "w") as archive:
        for content in (b"one", b"two"):
            entry = tarfile.TarInfo("x")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize("what", breadth(REFUSED, 4))
def test_what_is_refused_is_named_and_leaves_nothing_behind(what: str, cup: Path, desk: Path) -> None:
    submission, told = REFUSED[what]
    handed_in = submission(desk)
    with untouched(cup, desk):
        done = croupier("add", handed_in, "-C", cup)
    told = "error[" + told.format(desk=desk, cup=cup)
    assert (done.out, done.err[: len(told)]) == ("", told)
    assert done.code == (3 if told.startswith("error[C") else 4)
    assert ".taking-" not in done.err


LOOSER = ("nothing", "what only crashes")
"""Submissions for which `check` has another code: a path that does not exist is wrong usage, and a crash is diagnosed."""


@pytest.mark.parametrize("what", breadth([what for what in REFUSED if "taken" not in what and what not in LOOSER], 4))
def test_check_refuses_what_add_refuses_for_the_same_reason(what: str, cup: Path, desk: Path) -> None:
    submission, told = REFUSED[what]
    handed_in = submission(desk)
    with untouched(cup, desk):
        done = croupier("check", handed_in, "-C", cup)
        shutil.rmtree(cup / "run", ignore_errors=True)  # the faults that it leaves for `ask`
    assert done.code == 1
    assert f"error[{told.format(desk=desk, cup=cup)}" in done.out
    assert ".taking-" not in done.out


def test_a_problem_names_the_submission_when_the_tournament_is_beside_this_folder(cup: Path, desk: Path) -> None:
    (desk / "mine.py").write_text("x(\n")
    done = croupier("add", "mine.py", "-C", "../cup", cwd=desk)
    assert done.first == "error[B015] mine.py:1: SyntaxError: '(' was never closed"
    assert done.err.endswith("\n  hint: python3 -m py_compile mine.py\n")


@pytest.mark.long
@pytest.mark.parametrize("does", ["echo nonsense", "exit 0", "echo S"])
def test_check_says_whether_add_would_add_a_bot_that_fails_it(does: str, cup: Path, desk: Path) -> None:
    (desk / "mine").write_text(f"#!/bin/sh\n{does}\n")
    (desk / "mine").chmod(0o755)
    checked, added = croupier("check", desk / "mine", "-C", cup), croupier("add", desk / "mine", "-C", cup)
    assert checked.out.splitlines()[-1].startswith("not accepted") == (added.code != 0)
    assert "\n  hint: " in added.err or added.code == 0


def endless(path: Path) -> Path:
    """Create a tar whose header takes Python hours: from each digit, it searches for the end of the number."""
    digits = b"1" * 300_000
    head = tarfile.TarInfo("head")
    head.type, head.size = tarfile.XHDTYPE, len(digits)
    path.write_bytes(head.tobuf() + digits + bytes(-len(digits) % 512) + tarfile.TarInfo("x").tobuf() + bytes(1024))
    return path


@pytest.mark.long
def test_an_archive_that_takes_too_long_is_refused(cup: Path, desk: Path) -> None:
    done = croupier("add", endless(desk / "mine.tar"), "-C", cup)
    assert done.code == 4 and "mine.tar: cannot be unpacked" in done.err, done


@pytest.mark.parametrize("name", ["../mine", "/tmp/mine", "a/b", ".mine", "-mine", "", "x" * 41, "a\nb"])
def test_a_submission_is_not_called_what_no_bot_may_be(name: str, cup: Path, desk: Path) -> None:
    handed_in = a_file(desk)
    with untouched(cup, desk):
        done = croupier("add", handed_in, f"--as={name}", "-C", cup)
    assert (done.code, done.first.startswith(f"error[B016] {handed_in}: its name ")) == (4, True)


def test_a_folder_of_bots_that_was_not_there_is_not_there_afterwards(cup: Path, desk: Path) -> None:
    (cup / "bots" / "cautious.c").unlink()
    (cup / "bots").rmdir()
    done: Done = croupier("add", desk / "none", "-C", cup)
    assert done.code == 4
    assert not (cup / "bots").exists()


# What `add` says of each bot.


def test_add_goes_on_after_a_broken_submission_and_ends_with_a_summary(desk: Path, cup: Path) -> None:
    says = '#include <stdio.h>\nint main(void) {{ fputs("{}", stderr); puts("{}"); }}\n'
    (desk / "loud.c").write_text(says.format("thinking", "S"))
    (desk / "broken.py").write_text("x(\n")
    (desk / "wrong.c").write_text(says.format("", "nonsense"))

    done = croupier("add", desk / "broken.py", desk / "loud.c", desk / "wrong.c", "-C", cup)

    assert (done.code, done.first.partition(": ")[0]) == (4, f"error[B015] {desk}/broken.py:1")
    assert "  ! standard error: thinking" in done.out
    assert "  ✗ B023: 'nonsense' is not a move; " in done.out
    assert done.out.splitlines()[-1] == ("2 of 3 submissions added, 1 of them would fail `croupier check`, 1 refused")
    assert sorted(path.name for path in (cup / "bots").glob("[lw]*.c")) == ["loud.c", "wrong.c"]


# Submissions as a learning platform exports them.


CLEO = b"""\
package players; // public class Comment {

class Helper { public record Pair(int one, int two) {} }

/* public class Other */
public final class Cleo {
    public static void main(String[] arguments) { System.out.println(new Helper.Pair(1, 2).one() > 0 ? "S" : "{"); }
}
"""


@pytest.mark.long
def test_a_java_file_is_compiled_under_the_name_of_its_public_class(cup: Path, desk: Path) -> None:
    added = croupier("add", written(desk / "s1234567.java", CLEO), "-C", cup)
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith(f"added s1234567 as {cup}/bots/s1234567.java")
    played = croupier("play", "s1234567", "cautious", "-n", 1, "-C", cup, "--json")
    assert (played.code, played.json["rows"][0]["faults"]) == (0, 0)


@pytest.mark.long
def test_a_class_of_2015_is_compiled_under_its_name_too(tmp_path: Path, desk: Path) -> None:
    tin = (
        b"import Mechanics.*;\nimport java.util.Collection;\npublic class Tin extends Player {\n"
        b"public void getResponse(int[] wins, boolean one, Collection<Card> own, Collection<Card> theirs,\n"
        b"Collection<Card> side, int left, Action opponent, boolean played) { action = Action.STAND; } }\n"
    )
    assert croupier("check", written(desk / "s1234567.java", tin), "-g", "pazaak", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    "files",
    [{"a/b/notes.txt": b"", "a/b/solution.c": DAVEY}, {"README.md": b"", "src/bot/bot.c": DAVEY}],
    ids=["two folders", "a folder beside a text"],
)
def test_the_only_source_of_a_zip_may_lie_in_a_folder(files: dict[str, bytes], cup: Path, desk: Path) -> None:
    added = croupier("add", zipped(desk / "zoe.zip", files), "-C", cup)
    assert (added.code, added.err) == (0, "")


def test_two_submissions_of_one_name_are_both_named(cup: Path, desk: Path) -> None:
    for group in ("a", "b"):
        (desk / group).mkdir()
        written(desk / group / "bot.c", DAVEY)
    done = croupier("add", "a/bot.c", "b/bot.c", "-C", cup, cwd=desk)
    assert (done.code, done.err.count("error[")) == (3, 1)
    assert done.err.startswith(
        "error[C003] b/bot.c: two submissions are called bot: a/bot.c, which is added, and b/bot.c, which is not"
    )
    assert "croupier add b/bot.c --as NAME" in done.err.replace(f" -C {cup}", "")


@pytest.mark.long
def test_submissions_with_the_same_files_are_pointed_out(cup: Path, desk: Path) -> None:
    one = zipped(desk / "ada.zip", {"ada/bot.c": DAVEY, "bot.toml": b'author = "Ada"\n'})
    other, third = written(desk / "bob.c", DAVEY), written(desk / "eve.c", DAVEY + b"\n")
    done = croupier("add", one, other, third, "-C", cup)
    assert done.code == 0
    assert [line for line in done.out.splitlines() if "identical" in line] == [
        f"  ! identical: the same files as {cup}/bots/ada"
    ]


# Bots that come and go.


def test_a_folder_named_from_another_one_is_the_same_folder(cup: Path, desk: Path) -> None:
    added = croupier("-C", "../cup", "add", a_file(desk).name, cwd=desk)
    assert (added.code, added.err) == (0, "")
    (desk / "mine.c").write_bytes(DAVEY + b"\n")
    replaced = croupier("-C", "../cup", "add", "mine.c", "--replace", "mine", "--reason", "new", cwd=desk)
    assert (replaced.code, replaced.err) == (0, "")


def test_a_name_that_is_taken_can_be_another_one_or_a_new_version(cup: Path, desk: Path) -> None:
    assert croupier("add", a_file(desk), "-C", cup).code == 0
    again = croupier("add", a_file(desk), "-C", cup)
    assert "C016" in again.err and "--as NAME" in again.err and "--replace BOT --reason TEXT" in again.err


def test_a_bot_that_has_not_played_is_removed_and_its_files_are_kept(cup: Path, desk: Path) -> None:
    assert croupier("add", a_zip(desk), "-C", cup).code == 0
    removed = croupier("-C", "../cup", "remove", "mine", cwd=desk)
    assert removed.code == 0 and removed.out.startswith("removed mine; its files are kept as ")
    assert [path.name for path in (cup / "bots").glob("[!.]*")] == ["cautious.c"]
    assert [path.read_bytes() for path in (cup / "bots" / ".replaced").glob("*/mine/davey.c")] == [DAVEY]
    assert croupier("add", desk / "mine.zip", "-C", cup).code == 0  # the name is free


def test_a_bot_that_has_played_is_not_removed_but_withdrawn(cup: Path, desk: Path) -> None:
    assert croupier("add", a_file(desk), "-C", cup).code == 0
    assert croupier("run", "-C", cup).code == 0
    done = croupier("remove", "mine", "-C", cup)
    assert (done.code, done.first) == (3, "error[R015] mine: is part of a run that has begun")
    assert "withdraw mine --reason" in done.err
    sample = croupier("remove", "sample:davey", "-C", cup)
    assert (sample.code, "removes only what is in bots/" in sample.err) == (3, True)


def test_a_file_that_is_removed_while_its_bot_is_read_is_an_error_of_the_user(desk: Path) -> None:
    (desk / "mine").mkdir()
    written(desk / "mine" / "Mine.java", CLEO)
    submission = load_submission(desk / "mine")
    (desk / "mine" / "Mine.java").unlink()
    with pytest.raises(UserError) as gone:
        trio.run(build, submission, level())
    (problem,) = gone.value.problems
    assert (problem.code, problem.message, gone.value.exit_code) == (
        "C012",
        "was removed while croupier read the bot",
        3,
    )
    submission = load_submission(a_file(desk))
    (desk / "mine.c").unlink()
    with pytest.raises(UserError, match="was removed while croupier read the bot"):
        trio.run(build, submission, level())


# The log of an intake.


def test_the_log_of_an_intake_has_a_row_for_each_submission(cup: Path, desk: Path) -> None:
    good, loud = a_file(desk), written(desk / "loud.py", b"print('hello')\nprint('S')\n")
    broken = written(desk / "=cmd().c", b"int main(void) { return }")
    first = croupier("add", good, broken, "-C", cup, "--csv", desk / "intake.csv")
    assert first.code == 4
    assert croupier("add", loud, desk / "none.py", "-C", cup, "--csv", desk / "intake.csv").code == 4
    rows = list(csv.DictReader((desk / "intake.csv").read_text().splitlines()))
    assert [(Path(row["submission"]).name, row["result"], row["bot"], row["code"]) for row in rows] == [
        ("mine.c", "added", "mine", ""),
        ("=cmd().c", "refused", "'=cmd()", "B010"),
        ("loud.py", "added", "loud", "B022"),
    ]
    assert len(rows[0]["sha256"]) == 64 and not rows[1]["sha256"]
    assert rows[2]["why"].startswith("wrote more than its answer") and "stderr" in rows[2]["cure"]


def test_a_file_name_that_is_not_utf_8_is_refused_and_logged_like_any_other(cup: Path, desk: Path) -> None:
    folder = desk / os.fsdecode(b"\xfc")
    folder.mkdir()
    handed_in = [written(folder / os.fsdecode(name), DAVEY) for name in (b"a.c", b"m\xfc.c", b"z.c")]
    done = croupier("add", *handed_in, "-C", cup)
    assert (done.code, done.first.partition("]")[0]) == (4, "error[B016"), done.err
    rows = read(cup / "bots")
    assert [(row.bot, row.result) for row in rows] == [("a", "added"), (r"m\udcfc", "refused"), ("z", "added")]
    assert croupier("remove", handed_in[1], "-C", cup).code == 0
    assert open_refusals(read(cup / "bots")) == []


@pytest.mark.parametrize(
    "row",
    [
        b"x{",
        b'{"submission":"\xfc","result":"added","bot":"a","remarks":[]}',
        b'{"submission":"a","result":"added","bot":7,"remarks":[]}',
        b'{"submission":"a","result":"added","bot":"a","remarks":[],"at":1e300}',
        b'{"submission":"a","remarks":[]}',
    ],
)
def test_a_damaged_log_is_named(row: bytes, tmp_path: Path) -> None:
    written(tmp_path / INTAKE_LOG, row + b"\n")
    with pytest.raises(UserError, match=f"{INTAKE_LOG}: cannot be read"):
        read(tmp_path)


@pytest.mark.long
def test_what_learning_platforms_hand_in_is_taken_under_a_name_that_a_bot_can_have(cup: Path, desk: Path) -> None:
    long = "Wilhelmina Konstantinopolsky_1234567_assignsubmission_file_"
    (desk / long).mkdir()
    packed = {"Ada_Lovelace_1/bot.c": DAVEY}
    handed_in = [
        zipped(desk / "twice.zip", {"inner.zip": zipped(desk / "inner.zip", packed).read_bytes()}),
        zipped(desk / long / "hand-in.zip", packed).parent,
        written(desk / "Ada_O'Neill_1026.c", DAVEY),
        written(desk / f"{'x' * 60}_777.c", DAVEY),
    ]
    added = croupier("add", *handed_in, "-C", cup)
    assert (added.code, added.err) == (0, "")
    names = ["twice", "Wilhelmina Konstantinopolsky_1234567", "Ada_ONeill_1026", f"{'x' * 25}_{'x' * 10}_777"]
    assert [row.split(" as ")[0] for row in added.out.splitlines() if row.startswith("added")] == [
        f"added {name}" for name in names
    ]
    several = zipped(desk / "all.zip", {"a.zip": b"PK", "b/c.tar.gz": b"x"})
    refused = croupier("add", several, "-C", cup)
    assert refused.code == 4 and "all.zip: has 2 archives and nothing else" in refused.err
    broken = zipped(desk / "broken.zip", {"a.zip": b"PK"})
    assert f"error[B016] {broken}: cannot be unpacked" in croupier("add", broken, "-C", cup).err
    assert not list((cup / "bots").glob(".taking-*"))


@pytest.mark.long
def test_what_moodle_adds_to_a_short_name_is_left_out_and_settles_what_was_refused(cup: Path, desk: Path) -> None:
    names = ["Ada_1_assignsubmission_file_bot.c", "Bob_2_assignsubmission_file_", "Eve_3_assignsubmission_file_x.zip"]
    for day, content in (("first", b"int main(void) { return }"), ("second", DAVEY)):
        (desk / day / names[1]).mkdir(parents=True)
        written(desk / day / names[0], content)
        written(desk / day / names[1] / "bot.c", content)
        zipped(desk / day / names[2], {"bot.c": content})
    refused = croupier("add", *(desk / "first").iterdir(), "-C", cup)
    assert refused.code == 4
    assert sorted(row.bot for row in open_refusals(read(cup / "bots"))) == ["Ada_1", "Bob_2", "Eve_3"]
    again = croupier("add", *(desk / "second").iterdir(), "-C", cup)
    assert (again.code, again.err) == (0, "")
    assert sorted(path.name for path in (cup / "bots").glob("*_[123]*")) == ["Ada_1.c", "Bob_2", "Eve_3"]
    assert open_refusals(read(cup / "bots")) == []
    two = [written(desk / f"Zoe_4_assignsubmission_file_{name}.c", DAVEY) for name in "ab"]
    both = croupier("add", *two, "-C", cup)
    assert (both.code, "two submissions are called Zoe_4: " in both.err) == (3, True)


def test_a_refused_submission_can_be_removed_from_the_log(cup: Path, desk: Path) -> None:
    broken = written(desk / "broken.c", b"int main(void) { return }")
    assert croupier("add", broken, "-C", cup).code == 4
    removed = croupier("remove", "broken", "-C", cup)
    assert (removed.code, removed.out) == (0, f"removed the refused submission {broken}\n")
    assert open_refusals(read(cup / "bots")) == []
    assert croupier("remove", "broken", "-C", cup).code != 0
    assert croupier("add", broken, "-C", cup).code == 4
    assert [row.bot for row in open_refusals(read(cup / "bots"))] == ["broken"]


def test_a_refused_path_that_was_added_earlier_is_open_unless_its_bot_exists_already() -> None:
    def row(result: str, file: str, code: str = "", bot: str = "ada") -> IntakeRow:
        return IntakeRow(file, result, bot, code=code)

    added, twice, broken = row("added", "ada.c"), row("refused", "ada.c", "C016"), row("refused", "ada.c", "B010")
    assert open_refusals([added, twice]) == []
    assert open_refusals([added, broken]) == open_refusals([added, twice, broken]) == [broken]
    assert open_refusals([added, broken, added]) == open_refusals([broken, row("added", "ada.c", bot="other")]) == []
    assert open_refusals([added, broken, row("removed", "ada.c")]) == []


def test_a_name_that_an_accepted_bot_and_a_refused_submission_share_removes_neither(cup: Path, desk: Path) -> None:
    for group in ("a", "b"):
        (desk / group).mkdir()
        written(desk / group / "ada.c", DAVEY)
    assert croupier("add", "a/ada.c", "b/ada.c", "-C", cup, cwd=desk).code == 3
    copy = cup / "bots" / "ada.c"
    both = croupier("remove", "ada", "-C", cup, cwd=desk)
    assert (both.code, copy.exists(), len(open_refusals(read(cup / "bots")))) == (2, True, 1)
    said = f"error[U001] ada is a bot, {copy}, and a refused submission, b/ada.c: name the path of one"
    assert both.first == said
    assert croupier("remove", copy, "-C", cup, cwd=desk).out.startswith("removed ada; its files are kept as ")
    assert [row.submission for row in open_refusals(read(cup / "bots"))] == ["b/ada.c"]
    assert croupier("add", "a/ada.c", "-C", cup, cwd=desk).code == 0
    assert not open_refusals(read(cup / "bots"))  # the name is free, and so it counts as handed in again
    assert croupier("add", "b/ada.c", "-C", cup, cwd=desk).code == 3
    assert croupier("remove", "b/ada.c", "-C", cup, cwd=desk).out == "removed the refused submission b/ada.c\n"
    assert copy.exists()
    assert croupier("remove", "ada", "-C", cup).code == 0


def test_a_refused_submission_of_the_name_of_a_bot_is_named_by_a_path_in_the_same_folder(cup: Path, desk: Path) -> None:
    assert croupier("add", written(desk / "ada.c", DAVEY), "-C", cup).code == 0
    (desk / "ada").mkdir()
    written(desk / "ada" / "other.c", DAVEY)
    assert croupier("add", "ada", "-C", cup, cwd=desk).code == 3
    assert "a refused submission, ./ada: name" in croupier("remove", "ada", "-C", cup, cwd=desk).err
    assert croupier("remove", "./ada", "-C", cup, cwd=desk).out == "removed the refused submission ada\n"
    assert (cup / "bots" / "ada.c").exists()


def test_the_name_of_a_removed_submission_cannot_clear_the_screen(cup: Path, desk: Path) -> None:
    broken = written(desk / "x\x1b[2J\n.c", b"int main(void) { return }")
    assert croupier("add", broken, "-C", cup).code == 4
    removed = croupier("remove", broken, "-C", cup)
    assert removed.code == 0 and removed.out.removesuffix("\n").isprintable()


def test_typescript_is_told_what_to_hand_in(desk: Path) -> None:
    told = croupier("check", written(desk / "mine.TS", b"console.log('S')\n"), "-g", "cardshark")
    assert told.code == 1 and "compile TypeScript yourself, and hand in the JavaScript" in told.out


def test_c_sharp_is_refused_with_its_page(desk: Path) -> None:
    told = croupier("check", written(desk / "mine.cs", b"class Mine { static void Main() { } }\n"), "-g", "cardshark")
    assert told.code == 1 and "C# is not possible" in told.out
    assert "docs/languages.md#rust-go-haskell" in told.out
    page = (ROOT / "docs" / "languages.md").read_text().partition("\n## Rust, Go, Haskell\n")[2]
    assert "| C# (not possible) |" in page.partition("\n## ")[0]
