"""Requirements of a Python bot: wheels from an index, unpacked in the sandbox, visible only to this bot."""

import contextlib
import http.server
import subprocess
import sys
import threading
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import helpers
import pytest
import trio
from command import croupier

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot
from host.sandbox.limits import Limits
from host.submissions import requirements
from host.submissions.build import build, build_log
from host.submissions.discovery import load_submission
from host.submissions.file_tree import TreeLimits

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
    """Put a wheel into an index; part of it is in a folder that only an installer uses."""
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
    """Create an index. All tests share a cache, so the names of its packages are unique."""
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
    """Write a bot with requirements; return its folder."""
    folder = place / "guest"
    folder.mkdir()
    (folder / "guest.py").write_text(BOT.format(package=package))
    (folder / "bot.toml").write_text(MANIFEST.format(requires=requires))
    for name, text in more.items():
        (folder / name).mkdir()
        (folder / name / "mine.py").write_text(text)
    return folder


def built(folder: Path) -> BuiltBot:
    """Build a bot and return it."""
    return trio.run(build, load_submission(folder), helpers.level())


@pytest.mark.long
def test_a_bot_finds_what_it_requires_and_what_that_requires(tmp_path: Path) -> None:
    folder = guest(tmp_path, f'["{LIMITS}<18"]')
    done = croupier("check", folder)
    assert done.code == 0 and "STAND 40" in done.out, done.out


@pytest.mark.long
def test_what_was_downloaded_once_needs_no_index(tmp_path: Path, index: Path) -> None:
    folder = guest(tmp_path, f'["{LIMITS}<18"]')
    first = built(folder)
    for path in index.iterdir():
        path.unlink()  # cached packages are not requested again
    (folder / "guest.py").write_text(BOT.format(package=LIMITS) + "# changed\n")
    again = built(folder)
    assert again.sha256 != first.sha256
    assert ["pip install" in build_log(bot.sha256).read_text() for bot in (first, again)] == [True, False]
    assert (Path(again.folder) / "packages" / f"{LIMITS}.py").exists()
    assert not (Path(again.folder) / "wheels").exists()


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.parametrize("case", helpers.breadth(NOT_TO_BE_HAD, 4))
def test_what_cannot_be_had_as_a_wheel_is_refused_with_pips_words(case: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        built(guest(tmp_path, NOT_TO_BE_HAD[case]))
    (problem,) = refused.value.problems
    assert problem.code == "B009" and refused.value.exit_code == 4
    assert "No matching distribution found" in problem.message


@contextlib.contextmanager
def a_server(asked: list[str]) -> Iterator[int]:
    """Start a server on this machine that records its requests; yield its port."""

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@pytest.mark.long
@pytest.mark.parametrize("name", ["source-1.0.tar.gz", "secret-1.0-py3-none-any.whl"])
def test_what_a_wheel_names_by_its_address_is_not_fetched(name: str, tmp_path: Path, index: Path) -> None:
    asked: list[str] = []
    with a_server(asked) as port, pytest.raises(UserError) as refused:
        wheel(index, "carrier", "1.0", needs=f"{name.partition('-')[0]} @ http://127.0.0.1:{port}/{name}")
        built(guest(tmp_path, '["carrier"]', package="carrier"))
    (problem,) = refused.value.problems
    assert asked == []
    assert problem.code == "B009" and "only package names are accepted, no addresses" in problem.message


def test_a_pip_that_downloads_starts_no_program() -> None:
    hooked = "import sys; sys.argv = ['']; import pip_alone; sys.addaudithook(pip_alone.refuse); "
    done = subprocess.run(
        [sys.executable, "-c", f"{hooked} import subprocess; subprocess.run(['/bin/true'])"],
        env={"PYTHONPATH": str(requirements.PIP_ALONE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "packages are not built" in done.stderr


@pytest.mark.long
def test_wheels_that_are_too_large_are_refused_while_they_come(tmp_path: Path, index: Path) -> None:
    for name in ("vast", "vaster"):
        wheel(index, name, "1.0", needs="vaster" if name == "vast" else "")
        with zipfile.ZipFile(index / f"{name}-1.0-py3-none-any.whl", "a") as archive:
            archive.writestr("filler", bytes(70 << 20))
    with pytest.raises(UserError) as refused:
        built(guest(tmp_path, '["vast"]', package="vast"))
    assert "at most 128 MiB" in refused.value.problems[0].hint


@pytest.mark.long
@pytest.mark.parametrize("name", ["packages", helpers.long("wheels")])
def test_a_bots_own_folder_is_not_mixed_with_what_it_requires(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
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


@pytest.mark.long
def test_a_download_that_is_too_large_names_the_machines_packages_and_the_key(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = guest(tmp_path, f'["{LIMITS}>=18"]')
    monkeypatch.setattr(requirements, "WHEEL_LIMITS", TreeLimits(1000, 128 << 20, 1, 40))
    with pytest.raises(UserError) as refused:
        trio.run(requirements.download, load_submission(folder), requirements.WheelTarget("3.11", "large"))
    (problem,) = refused.value.problems
    assert problem.code == "B009" and "apt install python3-NAME" in problem.hint
    assert "[limits] submission" in problem.hint
    double = load_submission(folder, Limits(submission=32 << 20))
    size = (index / f"{LIMITS}-18.0-py3-none-any.whl").stat().st_size
    monkeypatch.setattr(requirements, "WHEEL_LIMITS", TreeLimits(1000, 128 << 20, size - 1, 40))
    with pytest.raises(UserError) as refused:  # pip itself fails, at one wheel
        trio.run(requirements.download, load_submission(folder), requirements.WheelTarget("3.11", "larger"))
    (problem,) = refused.value.problems
    assert problem.message.endswith("downloads too much") and "[limits] submission" in problem.hint
    assert trio.run(requirements.download, double, requirements.WheelTarget("3.11", "larger")).is_dir()


REFEREE = """\
import json, sys
import {package}
for line in sys.stdin:
    m = json.loads(line)
    if "protocol" in m: out = {{"protocol": "referee/1"}}
    elif "open" in m: out = {{"table": m["open"], "ask": [{{"seat": 0, "view": {{"n": {package}.LIMIT}}}}]}}
    elif "answers" in m: out = {{"table": m["table"], "over": {{"scores": [1, 0]}}}}
    else: continue
    print(json.dumps(out), flush=True)
"""


@pytest.mark.long
def test_a_referee_finds_what_it_requires(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    folder.mkdir()
    (folder / "referee.py").write_text(REFEREE.format(package=LIMITS))
    (folder / "game.toml").write_text(
        'name = "limits"\nseats = 2\nview = ["n"]\nanswer = ["PASS"]\nlanguage = "python"\nentry = "referee.py"\n'
        f'requires = ["{LIMITS}<18"]\n[edges."first"]\nn = 1\n'
    )
    (tmp_path / "bot.py").write_text("while input() == '17': print('PASS', flush=True)\n")
    done = croupier("play", "bot.py", "bot.py", "-g", "game/", "-n", 2, cwd=tmp_path)
    assert done.code == 0 and "bot: " not in done.out, done
