"""What a Python bot requires: wheels from an index, unpacked in the sandbox, found by the bot and by nobody else."""

import io
import tarfile
import uuid
import zipfile
from pathlib import Path

import house
import pytest
import trio
from command import croupier

from host.bots.build import Bot, build
from host.bots.finding import find
from host.problems import Refused

LIMITS = f"limits_{uuid.uuid4().hex[:12]}"
BOT = """\
import sys
import {package}
for line in sys.stdin:
    print("STAND" if {package}.LIMIT == 17 else "END")
"""
MANIFEST = """\
name = "guest"
game = "pazaak"
language = "python"
entry = "guest.py"
requires = {requires}
"""


def wheel(index: Path, name: str, version: str, needs: str = "", tag: str = "py3-none-any") -> None:
    """Put a wheel into an index; part of it lies where only an installer finds it."""
    about, inside = f"{name}-{version}.dist-info", f"{name}-{version}.data/purelib/{name}.py"
    lines = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        *([f"Requires-Dist: {needs}\n"] if needs else []),
    ]
    with zipfile.ZipFile(index / f"{name}-{version}-{tag}.whl", "w") as archive:
        archive.writestr(inside, f"{f'import {needs}' if needs else ''}\nLIMIT = {version.partition('.')[0]}\n")
        archive.writestr(f"{about}/METADATA", "".join(lines))
        archive.writestr(f"{about}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{about}/RECORD", "".join(f"{each},,\n" for each in archive.namelist()))


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have an index of our own. The cache is that of all tests, so its packages have names of their own each time."""
    place = tmp_path / "index"
    place.mkdir()
    wheel(place, LIMITS, "17.1", needs="deeper")
    wheel(place, LIMITS, "18.0")
    wheel(place, "deeper", "1.0")
    wheel(place, "foreign", "1.0", tag="cp311-cp311-win_amd64")
    (place / "source-1.0.tar.gz").write_bytes(b"never unpacked")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    return place


def guest(place: Path, requires: str, package: str = LIMITS, **more: str) -> Path:
    """Write a bot that requires something; return its folder."""
    folder = place / "guest"
    folder.mkdir()
    (folder / "guest.py").write_text(BOT.format(package=package))
    (folder / "bot.toml").write_text(MANIFEST.format(requires=requires))
    for name, text in more.items():
        (folder / name).mkdir()
        (folder / name / "mine.py").write_text(text)
    return folder


def built(folder: Path) -> Bot:
    """Return a bot, built."""
    return trio.run(build, find(folder), house.level())


def test_a_bot_finds_what_it_requires_and_what_that_requires(tmp_path: Path) -> None:
    folder = guest(tmp_path, f'["{LIMITS}<18"]')
    done = croupier("check", folder)
    assert done.code == 0 and "STAND 40" in done.out, done.out


def test_what_was_downloaded_once_needs_no_index(tmp_path: Path, index: Path) -> None:
    folder = guest(tmp_path, f'["{LIMITS}<18"]')
    first = built(folder)
    for path in index.iterdir():
        path.unlink()  # what is cached is asked of nobody
    (folder / "guest.py").write_text(BOT.format(package=LIMITS) + "# changed\n")
    again = built(folder)
    assert again.sha256 != first.sha256
    assert not (Path(again.folder) / "wheels").exists()


def test_another_version_is_another_bot(tmp_path: Path) -> None:
    folder = guest(tmp_path, f'["{LIMITS}<18"]')
    first = built(folder)
    (folder / "bot.toml").write_text(MANIFEST.format(requires=f'["{LIMITS}>=18"]'))
    assert built(folder).sha256 != first.sha256


NOT_TO_BE_HAD = {
    "a name that nobody has": '["nobody-has-this"]',
    "a version that nobody has": f'["{LIMITS}>99"]',
    "a source, which would have to be built": '["source"]',
    "a wheel for another machine": '["foreign"]',
}


@pytest.mark.parametrize("case", NOT_TO_BE_HAD)
def test_what_cannot_be_had_as_a_wheel_is_refused_with_pips_words(case: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        built(guest(tmp_path, NOT_TO_BE_HAD[case]))
    (problem,) = refused.value.problems
    assert problem.code == "B009" and refused.value.exit_code == 4
    assert "No matching distribution found" in problem.message


def source(place: Path, mark: Path) -> Path:
    """Write a source whose build leaves a mark; return it."""
    leaves = f"open({str(mark)!r}, 'w').close()\n"
    told = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    path = place / "builder-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {"setup.py": leaves, "backend.py": leaves, "pyproject.toml": told}.items():
            entry = tarfile.TarInfo(f"builder-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_a_wheel_that_depends_on_a_source_by_its_address_has_nothing_built_here(tmp_path: Path, index: Path) -> None:
    mark = tmp_path / "built"
    wheel(index, "carrier", "1.0", needs=f"builder @ file://{source(tmp_path, mark)}")
    with pytest.raises(Refused) as refused:
        built(guest(tmp_path, '["carrier"]', package="carrier"))
    assert not mark.exists()
    assert "nothing is built here" in refused.value.problems[0].message


def test_wheels_that_are_too_large_are_refused_while_they_come(tmp_path: Path, index: Path) -> None:
    for name in ("vast", "vaster"):
        wheel(index, name, "1.0", needs="vaster" if name == "vast" else "")
        with zipfile.ZipFile(index / f"{name}-1.0-py3-none-any.whl", "a") as archive:
            archive.writestr("filler", bytes(70 << 20))
    with pytest.raises(Refused) as refused:
        built(guest(tmp_path, '["vast"]', package="vast"))
    assert "at most 128 MiB" in refused.value.problems[0].hint


@pytest.mark.parametrize("name", ["packages", "wheels"])
def test_a_bots_own_folder_is_not_mixed_with_what_it_requires(name: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        built(guest(tmp_path, f'["{LIMITS}"]', **{name: "x = 1\n"}))
    assert [problem.code for problem in refused.value.problems] == ["B019"]


@pytest.mark.long
def test_numpy_from_the_real_index_works_in_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    folder = guest(tmp_path, '["numpy"]')
    (folder / "guest.py").write_text(
        "import sys\nimport numpy\nfor line in sys.stdin:\n"
        "    print('STAND' if numpy.linalg.inv(numpy.eye(3) / 2).sum() == 6 else 'END')\n"
    )
    done = croupier("check", folder)
    assert done.code == 0 and "STAND 40" in done.out, done.out
