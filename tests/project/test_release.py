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
from command import ROOT, machine
from helpers import own_port
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


def outside(tmp_path: Path, env: dict[str, str]) -> Callable[..., str]:
    """Return a function that runs croupier as it is installed, outside the clone."""
    (tmp_path / "home").mkdir()
    return lambda *words: run("croupier", *words, cwd=tmp_path, env=env)


@pytest.mark.skipif(not detect().level.traits.isolates, reason="NO SANDBOX HERE")
def test_a_release_is_installed_without_an_index_and_works(dist: Path, tmp_path: Path) -> None:
    wheel = wheel_for(dist, os.uname().machine)
    run(
        sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "-d", tmp_path / "wheels", f"{wheel}[web]"
    )
    venv.create(tmp_path / "venv", with_pip=True)
    kept = {name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}
    env = kept | {"PATH": f"{tmp_path / 'venv' / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    run("pip", "install", "-q", "--no-index", "--find-links", tmp_path / "wheels", "croupier[web]", env=env)
    croupier = outside(tmp_path, env)

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
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL) as process:
        try:
            while not (page := page_of(f"http://127.0.0.1:{port}/")):
                assert process.poll() is None
                time.sleep(0.1)
            assert b"<title>" in page
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


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
