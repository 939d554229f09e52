"""The project is linted, typed and formatted, its codes are explained, and it works when it is installed."""

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import environment, machine
from helpers import CACHE

from host.base.errors import explanations
from host.sandbox import keeper_build
from host.sandbox.detect import detect
from host.submissions.languages import LANGUAGES, PYTHON

ROOT = Path(__file__).parents[2]
SHIPPED_KEEPER = f"host/sandbox/built/{keeper_build.file_name()}"
TEXTS = (".py", ".c", ".cpp", ".java", ".lisp", ".md", ".toml", ".sh", ".js", ".css", ".html", ".yaml", ".yml", "")


def tool(*words: str) -> None:
    """Run a tool on the project; fail with its output."""
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


LINTERS = ("ruff check .", "ruff format --check .", "mypy")


@pytest.mark.parametrize("linter", LINTERS)
def test_the_linters_have_nothing_to_say(linter: str) -> None:
    tool(*linter.split())


def test_a_commit_runs_the_same_linters() -> None:
    (own,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for hook in own["hooks"]] == [f".venv/bin/python -m {linter}" for linter in LINTERS]


def tracked() -> list[Path]:
    """Return every file of the project that is in git or would be added to it."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("NO GIT: nobody says which files belong to the project")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_this_machine() -> None:
    own = [f"{ROOT}/", "/opt/pypi", "/opt/wheels"]
    own += [f"{sys.prefix}/"] if sys.prefix != sys.base_prefix else []
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in tracked()
        if path.suffix in TEXTS and path != Path(__file__)
        for word in own
        if word in path.read_text(errors="replace")
    ]
    assert not found


def test_every_code_is_said_somewhere() -> None:
    sources = [path for path in (ROOT / "host").rglob("*") if path.suffix in (".py", ".toml")]
    said = {code for path in sources for code in re.findall(r'"([BCEGHRSUW]\d{3})"', path.read_text())}
    assert said == set(explanations())


OTHER_MEANINGS = {
    (PYTHON.name, "build.py"),
    (PYTHON.name, "version.py"),
    (PYTHON.name, "dask_client.py"),
    ("bash", "completion.py"),
}
"""Modules in which "python" is a key of bot.toml, or the Python that runs croupier, and "bash" the shell of the user."""


def test_no_language_is_named_outside_its_table() -> None:
    quoted = re.compile(rf"""["']({"|".join(LANGUAGES)})["']""")
    named = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in (ROOT / "host").rglob("*.py")
        if path.name != "languages.py"
        for match in quoted.finditer(path.read_text())
        if (match[1], path.name) not in OTHER_MEANINGS
    ]
    assert not named


def test_every_script_may_be_executed() -> None:
    for path in tracked():
        if path.suffix in ("", ".sh", ".py") and "sample_bots" not in path.parts:
            with path.open("rb") as file:
                if file.read(3) == b"#!/":
                    assert os.access(path, os.X_OK), path


# Size.

MAX_CODE_LINES = 47_753
"""Code lines in croupier, host and protocols; the aim is 39 500. Raise it only by what a new capability needs, and say so in
the commit."""

MAX_FUNCTION_LINES, MAX_ATTRIBUTES = 60, 20
LARGER_CLASSES = {"Game": 22, "GameFile": 31, "Kind": 21, "Record": 24, "SiteDocument": 21}
"""The classes above the limit, with what they may have. Game and Kind have one for each thing that a game or a kind of
stage defines, Record one for each thing that a fixture has produced, SiteDocument one for each fact of a season.
BotSpec has as many attributes as bot.toml has keys, GameFile as many as game.toml."""


def code_lines(tree: ast.Module, text: str) -> set[int]:
    """Return the numbers of the lines of a module, without blank lines, comments and docstrings."""
    documented = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = enumerate(text.splitlines(), 1)
    return {number for number, line in lines if line.strip() and not line.strip().startswith("#")} - documented


@cache
def modules() -> list[tuple[Path, ast.Module, set[int]]]:
    """Return each module of croupier, host and protocols with its tree and the numbers of its code lines."""
    paths = sorted([*ROOT.glob("croupier/**/*.py"), *ROOT.glob("host/**/*.py"), *ROOT.glob("protocols/**/*.py")])
    read = [(path.relative_to(ROOT), path.read_text()) for path in paths]
    return [(path, tree := ast.parse(text), code_lines(tree, text)) for path, text in read]


@cache
def trees_of_tests() -> dict[str, ast.Module]:
    """Return the tree of each module of the tests."""
    tests = ROOT / "tests"
    return {path.relative_to(tests).as_posix(): ast.parse(path.read_text()) for path in sorted(tests.rglob("*.py"))}


def attributes_of(node: ast.ClassDef) -> set[str]:
    """Return what `__init__` assigns to `self`, and the fields of the class."""
    fields = {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    assigned = {
        each.attr
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        for each in ast.walk(method)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        if isinstance(each.value, ast.Name) and each.value.id == "self"
    }
    return fields | assigned


def test_the_code_is_no_longer_than_agreed() -> None:
    assert sum(len(code) for _, _, code in modules()) <= MAX_CODE_LINES


def test_no_function_is_long() -> None:
    lengths = [
        (f"{path}: {node.name}", len(code.intersection(range(node.lineno, (node.end_lineno or 0) + 1))))
        for path, tree, code in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not [each for each in lengths if each[1] > MAX_FUNCTION_LINES]


def test_no_class_has_many_attributes() -> None:
    counts = [
        (f"{path}: {node.name}", len(attributes_of(node)), LARGER_CLASSES.get(node.name, MAX_ATTRIBUTES))
        for path, tree, _ in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name != "BotSpec"
    ]
    assert not [each for each in counts if each[1] > each[2]]


# Chance in tests.

SLEEPERS = (
    "browser/pictures.py",
    "bots/test_banks.py",
    "season/test_season_long.py",
    "season_harms.py",
    "tournament/test_estimate.py",
)
"""Tests in which a pause is the subject, or that take pictures."""
WALL_CLOCKS = ("time.monotonic", "time.perf_counter")


def dotted(node: ast.expr) -> str:
    """Return a name or an attribute of a name; .attribute for one of anything else, and "" for other expressions."""
    if isinstance(node, ast.Attribute):
        return f"{node.value.id if isinstance(node.value, ast.Name) else ''}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def chances(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the places of a test file whose outcome may differ from run to run."""
    around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    whole = any(isinstance(each, ast.Assign) and "mark.timing" in ast.unparse(each.value) for each in tree.body)
    numbers = any(isinstance(each, ast.Import) and each.names[0].name == "random" for each in tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "host.play.worker":
            yield node.lineno, "a look at command lines; use workers_of"
        if not isinstance(node, ast.Call) or not (called := dotted(node.func)):
            continue
        above = [node]
        if called in ("time.sleep", "trio.sleep", *WALL_CLOCKS):
            while above[-1] in around:
                above.append(around[above[-1]])
            timing = whole or any("mark.timing" in ast.unparse(each) for up in above for each in decorators(up))
            kinds = {type(up) for up in above}
            if "sleep" in called and not timing and not kinds & {ast.While, ast.For, ast.AsyncFor}:
                yield node.lineno, "a pause outside of a loop; wait for a condition"
            most = [
                up.comparators[-1] for up in above if isinstance(up, ast.Compare) and isinstance(up.ops[-1], ast.Lt)
            ]
            bounded = any(isinstance(each, ast.Constant) for each in most) and {ast.Assert, ast.BinOp} <= kinds
            if called in WALL_CLOCKS and bounded and not timing:
                yield node.lineno, "a limit of time; mark the test timing"
        elif numbers and re.fullmatch(r"random\.[a-z]+", called):
            yield node.lineno, "numbers that differ from run to run; use random.Random with a seed"
        elif called in ("random.Random", "Random") and not node.args:
            yield node.lineno, "a generator without a seed"
        elif called.endswith(".bind") and ast.unparse(node.args[0]).endswith(", 0)"):
            yield node.lineno, "a port that somebody else may take; use own_port"


def decorators(node: ast.AST) -> list[ast.expr]:
    """Return the decorators of a function."""
    return node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []


def test_no_test_depends_on_chance() -> None:
    found = [
        f"tests/{path}:{line}: {why}"
        for path, tree in trees_of_tests().items()
        if path not in ("project/test_project.py", "helpers.py")
        for line, why in chances(tree)
        if not ("pause" in why and path in SLEEPERS)
    ]
    assert not found


def test_what_tests_take_from_their_helpers_exists() -> None:
    trees = {Path(path).stem: tree for path, tree in trees_of_tests().items()}
    given = {
        name: {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        | {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
        | {alias.name for each in tree.body if isinstance(each, ast.ImportFrom) for alias in each.names}
        for name, tree in trees.items()
    }
    missing = [
        f"tests/{name}.py: {node.module} has no {alias.name}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in given
        for alias in node.names
        if alias.name not in given[node.module]
    ]
    assert not missing


CHANCY = """
import random, socket, time
def test_a_thing():
    time.sleep(1)
    began = time.monotonic()
    assert time.monotonic() - began < 5
    assert random.random() < random.Random().random()
    socket.socket().bind(("127.0.0.1", 0))
    assert "host.play.worker" in open("/proc/1/cmdline").read()
@pytest.mark.timing
def test_another():
    time.sleep(1)
    assert time.monotonic() - began < 5
def test_what_waits():
    while not ready():
        time.sleep(1)
        assert time.monotonic() < began
    assert time.monotonic() - began > 5
"""


def test_every_kind_of_chance_is_found_and_nothing_else() -> None:
    assert sorted(line for line, _ in chances(ast.parse(CHANCY))) == [4, 6, 7, 7, 8, 9]


# The wheel.


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that is built from this clone."""
    return wheel_built_in(tmp_path_factory.mktemp("wheel"), os.environ["PATH"])


def wheel_built_in(folder: Path, path: str) -> Path:
    """Build a wheel from this clone with the given PATH; return it."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(ROOT)]
    env = os.environ | {"PATH": path}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip(f"NO WHEEL: what builds it cannot be had here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("croupier-*.whl")
    return built


def files_of(wheel: Path) -> dict[str, int]:
    """Return the files of a wheel and their modes."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}


@pytest.mark.long
def test_the_wheel_has_everything_and_nothing_else(wheel: Path) -> None:
    files = files_of(wheel)
    assert {"host/sandbox/keeper.c", "protocols/README.md"} <= files.keys()
    known = {str(path.relative_to(ROOT)) for path in tracked()}
    wanted = {f"host/data/{name}" for name in known if name.startswith("sample_bots/")}
    wanted |= {f"host/data/{name}" for name in known if name.startswith("docs/") and name.endswith(".md")}
    wanted |= {name for name in known if name.startswith(("croupier/", "host/", "protocols/"))}
    inside = {name for name in files if not name.startswith("croupier-")}
    assert inside == wanted | {SHIPPED_KEEPER}


@pytest.mark.long
def test_the_wheel_is_for_one_platform_because_it_contains_the_compiled_keeper(wheel: Path) -> None:
    assert wheel.name.endswith(f"-py3-none-{sysconfig.get_platform().replace('-', '_')}.whl")
    assert files_of(wheel)[SHIPPED_KEEPER] & 0o111 == 0o111


@pytest.mark.long
def test_without_a_c_compiler_the_wheel_is_built_without_the_keeper(tmp_path: Path) -> None:
    plain = wheel_built_in(tmp_path, str(tmp_path))

    assert plain.name.endswith("-py3-none-any.whl")
    assert SHIPPED_KEEPER not in files_of(plain)


@pytest.mark.long
def test_the_wheel_keeps_what_may_be_executed(wheel: Path) -> None:
    files = files_of(wheel)
    for path in (ROOT / "sample_bots").rglob("*"):
        name = f"host/data/{path.relative_to(ROOT)}"
        if name in files:
            assert bool(files[name] & 0o100) == bool(path.stat().st_mode & 0o100), name


def installed(wheel: Path, tmp_path: Path) -> Path:
    """Return a new virtual environment with a wheel and its requirements, linked from the tests' own environment."""
    own = tmp_path / "venv"
    venv.create(own, with_pip=False, symlinks=True)
    python = own / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    (packages,) = own.glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "others.pth").write_text("\n".join(others) + "\n")
    return own


@pytest.mark.long
@pytest.mark.skipif(not detect().level.traits.isolates, reason="NO SANDBOX HERE")
def test_an_installed_wheel_makes_sandboxes_without_a_c_compiler(wheel: Path, tmp_path: Path) -> None:
    own = installed(wheel, tmp_path)
    env = machine("installed")  # no C compiler in PATH, and an empty cache
    del env["PYTHONPATH"]

    def croupier(*words: str) -> Any:
        command = [own / "bin" / "croupier", "--json", *words]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    assert croupier("doctor")["sandbox"] == detect().level
    croupier("new", "cup", "--game", "cardshark")
    assert croupier("play", "sample:lim17", "sample:lim17", "-n", "2", "-C", "cup")["rows"]


@pytest.mark.long
def test_croupier_works_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    own = installed(wheel, tmp_path)
    (packages,) = own.glob("lib/python*/site-packages")
    env = environment(CROUPIER_CACHE=str(CACHE))
    del env["PYTHONPATH"]

    def croupier(*words: str) -> Any:
        done = subprocess.run(
            [own / "bin" / "croupier", "--json", *words], cwd=tmp_path, env=env, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    assert len(croupier("new", "cup", "--game", "cardshark", "--with-samples")["samples"]) >= 8
    for row in croupier("ls", "-C", "cup")["rows"]:
        assert Path(row["path"]).is_relative_to(packages / "host" / "data" / "sample_bots")
    for path in (packages / "host" / "data" / "sample_bots").rglob("*"):
        if path.suffix == ".sh":
            clone = ROOT / "sample_bots" / path.relative_to(packages / "host" / "data" / "sample_bots")
            assert os.access(path, os.X_OK) == os.access(clone, os.X_OK), path
    assert croupier("explain", "B020")["title"] == "Output is not flushed"
    assert croupier("play", "sample:davey", "sample:lim17", "-n", "1", "-C", "cup")["rows"]


# The first commands on a new machine.


LOCKED_APT_GET = """\
#!/bin/sh
echo "$*" >> {folder}/asked
[ -e {folder}/tried ] && exit 0
touch {folder}/tried
echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)" >&2
exit 100
"""

UBUNTU_APT_GET = """\
#!/bin/sh
case "$*" in *chromium*) echo "E: Package 'chromium' has no installation candidate" >&2; exit 100 ;; esac
echo "$*" >> {folder}/asked
"""


def installation(tmp_path: Path, apt_get: str, wanted: str) -> tuple[str, list[str]]:
    """Run the setup where some packages are missing. Return what it prints, and for what it asks apt-get."""
    script = (ROOT / "tools" / "setup.sh").read_text().replace('wanted="bwrap:', f'wanted="{wanted} bwrap:')
    programs = {
        "tools/setup.sh": script,
        "apt-get": apt_get.format(folder=tmp_path),
        "sudo": '#!/bin/sh\nexec "$@"\n',
        ".venv/bin/python": "#!/bin/sh\n",
    }
    for name, text in programs.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "pyproject.toml").touch()
    env = environment(PATH=f"{tmp_path}:{os.environ['PATH']}")
    command = [tmp_path / "tools" / "setup.sh", "."]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, (tmp_path / "asked").read_text().splitlines()


@pytest.mark.long
def test_an_installation_waits_until_the_lock_of_apt_is_free(tmp_path: Path) -> None:
    printed, asked = installation(tmp_path, LOCKED_APT_GET, "no-such:no-package")
    assert "waiting: another program is installing packages, and holds the lock of apt" in printed
    assert asked[:2] == ["update", "update"] and asked[2].startswith("install ") and len(asked) == 3


@pytest.mark.long
def test_an_installation_goes_on_without_a_browser_where_apt_has_none(tmp_path: Path) -> None:
    wanted = "no-such:chromium no-such:chromium-driver no-such:no-package"
    printed, asked = installation(tmp_path, UBUNTU_APT_GET, wanted)
    assert "the tests in a browser are skipped" in printed
    assert asked[0] == "update" and "no-package" in asked[1]


@pytest.mark.parametrize("target", ["demo", "setup"])
def test_the_first_command_ends_with_the_line_that_makes_croupier_a_command(target: str) -> None:
    planned = subprocess.run(
        ["make", "--no-print-directory", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert planned.stdout.splitlines()[-1].endswith(
        'to use the command croupier in this terminal:  . .venv/bin/activate"'
    )
    assert (ROOT / "README.md").read_text().count(". .venv/bin/activate") == 1


def test_one_extra_has_everything_that_a_message_asks_to_install() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {
        name
        for path in (ROOT / "host").rglob("*.py")
        for name in re.findall(r"pip install '\.\[(\w+)\]'", path.read_text())
    }
    (everything,) = extras["all"]
    assert (
        named
        and everything == "croupier[cluster,web,openspiel,textarena,env,models]"
        and named <= set(re.findall(r"\w+", everything))
    )
