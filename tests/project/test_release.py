"""What a release consists of: it is installed from a folder of wheels, without an index and outside the clone, and works."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ROOT, answers_in, cup_in, machine, result_of
from helpers import own_port
from season_process import TestSeason, plain_bot
from test_project import SHIPPED_KEEPER, tracked

from host import __version__
from host.sandbox.detect import detect

pytestmark = pytest.mark.long
MACHINES = [each for each in ("x86_64", "aarch64") if shutil.which(f"{each}-linux-gnu-gcc")]


def run(*words: object, **more: Any) -> str:
    """Run a program, which must succeed; return its standard output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that tools/release.sh builds."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    env = os.environ | {"PYTHON": sys.executable, "MACHINES": " ".join(MACHINES)}
    run(ROOT / "tools" / "release.sh", folder, env=env)
    return folder


def wheel_for(dist: Path, machine: str) -> Path:
    """Return the wheel for a machine."""
    return dist / f"croupier-{__version__}-py3-none-manylinux_2_17_{machine}.whl"


def test_a_release_is_an_sdist_and_a_wheel_for_each_machine_with_their_hashes(dist: Path) -> None:
    files = {f"croupier-{__version__}.tar.gz", *(wheel_for(dist, each).name for each in MACHINES)}
    assert {path.name for path in dist.iterdir()} == files | {"SHA256SUMS"}
    hashes = dict(line.split()[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert hashes == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in files}


def test_the_sdist_has_all_files_of_the_project(dist: Path) -> None:
    with tarfile.open(dist / f"croupier-{__version__}.tar.gz") as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside - {"PKG-INFO"} == {str(path.relative_to(ROOT)) for path in tracked()}


@pytest.fixture
def installed(dist: Path, tmp_path: Path) -> dict[str, str]:
    """Install the wheel in a virtual environment, without an index. Return the variables with which its programs run."""
    wheel = wheel_for(dist, os.uname().machine)
    run(
        sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "-d", tmp_path / "wheels", f"{wheel}[web]"
    )
    venv.create(tmp_path / "venv", with_pip=True)
    (tmp_path / "home").mkdir()
    kept = {name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}
    env = kept | {"PATH": f"{tmp_path / 'venv' / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    run("pip", "install", "-q", "--no-index", "--find-links", tmp_path / "wheels", "croupier[web]", env=env)
    return env


@pytest.fixture
def croupier(installed: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs croupier as it is installed, outside the clone."""
    return lambda *words: run("croupier", *words, cwd=tmp_path, env=installed)


@pytest.mark.skipif(not detect().level.traits.isolates, reason="NO SANDBOX HERE")
def test_a_release_is_installed_without_an_index_and_works(
    croupier: Callable[..., str], installed: dict[str, str], tmp_path: Path
) -> None:
    assert croupier("--version").startswith(f"croupier {__version__} ")
    croupier("new", "cup", "--game", "pazaak", "--with-samples")
    config = tmp_path / "cup" / "croupier.toml"
    config.write_text(config.read_text().replace("2_000", "20"))
    croupier("-C", "cup", "run", "--progress", "none")
    assert json.loads(croupier("-C", "cup", "standings", "--json"))["state"] == "finished"
    croupier("init", "mine", "-g", "pazaak", "--lang", "python")
    assert "ready to play" in croupier("check", "mine")

    croupier("new", "season", "--game", "pazaak", "--season")
    port = own_port()
    command = ["croupier", "-C", "season", "--json", "season", "open", "--bind", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, cwd=tmp_path, env=installed, stdout=subprocess.DEVNULL) as process:
        try:
            while not (page := page_of(f"http://127.0.0.1:{port}/")):
                assert process.poll() is None
                time.sleep(0.1)
            assert b"<title>" in page
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


@pytest.mark.skipif(not detect().level.traits.isolates, reason="NO SANDBOX HERE")
def test_a_season_and_a_run_go_on_after_an_upgrade(
    croupier: Callable[..., str], installed: dict[str, str], dist: Path, tmp_path: Path
) -> None:
    whole, cut = (cup_in(tmp_path / name, tourneys=20) for name in ("whole", "cut"))
    croupier("-C", whole, "run", "--progress", "none")
    command = ["croupier", "-C", str(cut), "run", "--progress", "json", "--workers", "1"]
    with subprocess.Popen(command, env=installed, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if b'"fixture"' in line)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 5 and answers_in(cut / "run" / "run.sqlite")

    season = TestSeason(tmp_path / "season")
    season.program, season.env = ["croupier"], installed
    with season.opened(site=True):
        season.invite("ada", "grace", "alan")
        season.submit("ada", "stands", plain_bot("STAND"))
        season.submit("grace", "ends", plain_bot("END"))
        season.accepted("stands-1", "ends-1")
        season.until_round(2)
    before, chain = history(season), (season.folder / "published" / "chain.ndjson").read_bytes()

    upgrade(dist, installed, tmp_path)
    assert croupier("--version").startswith(f"croupier {LATER} ")
    croupier("-C", season.folder, "season", "verify")
    with season.opened(site=True):
        season.put("alan", "returns", plain_bot("END", "after the upgrade"), "bot.py")
        season.accepted("returns-1")
        done = len(season.events("round", "is over"))
        season.until(lambda: len(season.events("round", "is over")) > done + 1, "the next rounds")
        bots = {"stands", "ends", "returns"}
        season.until(lambda: {row["bot"] for row in season.document("ladder")["rows"]} == bots, "a ladder of all bots")
    assert before.items() <= history(season).items()
    assert (season.folder / "published" / "chain.ndjson").read_bytes().startswith(chain)
    croupier("-C", season.folder, "season", "verify")
    croupier("-C", season.folder, "season", "export", tmp_path / "export")
    run(sys.executable, "-I", "-S", tmp_path / "export" / "check.py")

    croupier("-C", cut, "run", "--progress", "none")
    assert result_of(cut) == result_of(whole)


LATER = "99.0.0"


def upgrade(dist: Path, env: dict[str, str], tmp_path: Path) -> None:
    """Build a release of the same files that has a later version, and install it."""
    subprocess.run(["tar", "xzf", dist / f"croupier-{__version__}.tar.gz", "-C", tmp_path], check=True)
    later = tmp_path / f"croupier-{__version__}"
    (later / "PKG-INFO").unlink()  # a build would take the version from it
    version = later / "host" / "__init__.py"
    version.write_text(version.read_text().replace(__version__, LATER))
    building = os.environ | {"PYTHON": sys.executable, "MACHINES": os.uname().machine}
    run(later / "tools" / "release.sh", later / "dist", env=building)
    wheels = ("--find-links", tmp_path / "wheels", "--find-links", later / "dist")
    run("pip", "install", "-q", "--no-index", *wheels, "--upgrade", "croupier[web]", env=env)


def history(season: TestSeason) -> dict[Any, Any]:
    """Return what a season must never lose: its authors, their versions, and all recorded answers."""
    with season.store() as store:
        authors = {author.name: author for author in store.authors.all()}
        versions = {version.label: version for version in store.versions.of_authors(authors)}
    journals = {path: answers_in(path) for path in season.folder.glob("rounds/*/run/run.sqlite")}
    return authors | versions | {(path, each): journals[path][each] for path in journals for each in journals[path]}


def page_of(url: str) -> bytes:
    """Return a page; nothing if no server answers yet."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=10) as page:
            return bytes(page.read())
    except OSError:
        return b""


@pytest.mark.skipif(
    "aarch64" not in MACHINES or not shutil.which("qemu-aarch64"), reason="NO CROSS COMPILER OR NO QEMU"
)
def test_the_keeper_for_another_machine_keeps_bots(dist: Path, tmp_path: Path) -> None:
    env = machine("emulated") | {"PATH": os.environ["PATH"]}
    cached = Path(env["CROUPIER_CACHE"]) / "keeper" / Path(SHIPPED_KEEPER).name  # a folder that the user of a bot reads
    cached.parent.mkdir()
    with zipfile.ZipFile(wheel_for(dist, "aarch64")) as archive:
        keeper = cached.with_suffix(".aarch64")
        keeper.write_bytes(archive.read(SHIPPED_KEEPER))
    cached.write_text(f'#!/bin/sh\nexec qemu-aarch64 {keeper} "$@"\n')
    for path in (keeper, cached):
        path.chmod(0o755)
    words = ["play", "--json", "--unsafe", "sample:davey", "sample:lim17", "-g", "cardshark", "-n", "4"]
    rows = json.loads(run(sys.executable, "-P", "-m", "host", *words, cwd=tmp_path, env=env))["rows"]
    assert [row["faults"] for row in rows] == [0, 0]
