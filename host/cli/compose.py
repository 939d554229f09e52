"""The command `compose`: writes a compose file that plays a tournament in containers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.base.format import counted
from host.base.system_errors import file_problem
from host.cli import CliContext, print_json
from host.sandbox.levels import CONTAINER_LEVEL

IMAGE = "croupier:all"
RUN = ("run", "--rm", "--use-aliases")
"""The command of compose that plays. Unlike `up --exit-code-from`, it goes on if a worker is killed."""

BUILD_IMAGE = f"docker build -f docker/Dockerfile --target all -t {IMAGE} ."
"""The command that builds the image, in a clone of croupier."""

COMPOSE_FILES = ("compose.yaml", "seccomp.json")
BUILD = re.compile(r"^  build:\n(    .*\n)+", re.MULTILINE)


def shipped() -> Path:
    """Return the folder of the container files: in the installed package, or in the clone."""
    package = Path(__file__).parents[1]
    installed = package / "data" / "docker"
    return installed if installed.is_dir() else package.parent / "docker"


@click.command()
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=2,
    show_default=True,
    help="number of containers that play, one fixture at a time each",
)
@click.option("--force", is_flag=True, help="overwrite existing files")
@click.option("--up", is_flag=True, help="start the containers; the exit code is the tournament's")
@click.pass_obj
def compose(context: CliContext, workers: int, force: bool, up: bool) -> None:
    """Write a compose file for a tournament: isolated containers for the scheduler, the workers and the tournament."""
    from host.config.tournament_config import load

    load(context.folder)
    paths = [context.folder / name for name in COMPOSE_FILES]
    existing = [path for path in paths if path.exists()]
    if existing and not force and not up:
        raise UserError([Problem("C016", str(path), "already exists", hint="--force") for path in existing], 2)
    if force or not existing:
        try:
            paths[0].write_text(file_for(context.folder, workers))
            shutil.copyfile(shipped() / COMPOSE_FILES[1], paths[1])
        except OSError as error:
            raise UserError([file_problem("written", paths[0], error)], 3) from error
    if up:
        require_docker()
        os.chdir(context.folder)  # version 1 of compose looks for the profile in the current folder
        no_terminal = [] if sys.stdin.isatty() and sys.stdout.isatty() else ["-T"]
        command = [*program(), *RUN, *no_terminal, "tournament"]
        os.execvp(command[0], command)
    if context.json:
        print_json("compose", files=[str(path) for path in paths], workers=workers)
        return
    click.echo(f"{paths[0]}: {counted(workers, 'worker')}, level {CONTAINER_LEVEL.label} by {paths[1].name}")
    click.echo(f"  once, in a clone of croupier: {BUILD_IMAGE}")
    click.echo(f"  cd {context.folder.resolve()} && {' '.join(['docker', 'compose', *RUN, 'tournament'])}")


def file_for(folder: Path, workers: int) -> str:
    """Return a compose file for the folder that contains it. Its containers run as the owner of the folder, unless root."""
    text = BUILD.sub("", (shipped() / COMPOSE_FILES[0]).read_text())
    owner = folder.stat()
    values = {"CROUPIER_TOURNAMENT": ".", "CROUPIER_WORKERS": str(workers)}
    if owner.st_uid:
        values["CROUPIER_USER"] = f"{owner.st_uid}:{owner.st_gid}"
    for name, value in values.items():
        text = re.sub(rf"\$\{{{name}:-[^}}]*\}}", value, text)
    _, rest = text.split("x-common:", 1)
    head = (
        f"# Written by croupier compose. Build the image once, in a clone of croupier:  {BUILD_IMAGE}\n"
        f"# Then, from this folder:  docker compose {' '.join(RUN)} tournament\n"
    )
    return f"{head}x-common:{rest}"


def program() -> list[str]:
    """Return the command of compose: that of version 2, otherwise version 1."""
    second = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ["docker", "compose"] if second.returncode == 0 else ["docker-compose"]


def require_docker() -> None:
    """Raise UserError (exit code 6) if Docker, compose or the image is missing."""
    cure = "apt install docker.io docker-compose, and join the group docker"
    if shutil.which("docker") is None:
        raise UserError([Problem("S014", "", "docker is not installed", hint=cure)], 6)
    answer = subprocess.run(["docker", "version"], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise UserError([Problem("S014", "", "no Docker engine answers", answer.stderr.strip()[-500:], cure)], 6)
    if program() == ["docker-compose"] and shutil.which("docker-compose") is None:
        raise UserError([Problem("S014", "", "compose is not installed", hint=cure)], 6)
    if subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode:
        hint = f"in a clone of croupier: {BUILD_IMAGE}"
        raise UserError([Problem("S015", "", f"there is no image {IMAGE} here", hint=hint)], 6)
