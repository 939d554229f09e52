"""The command that puts a tournament into containers: compose."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, print_json

IMAGE = "croupier:all"
FILES = ("compose.yaml", "seccomp.json")
BUILD = re.compile(r"^  build:\n(    .*\n)+", re.MULTILINE)


def shipped() -> Path:
    """Return where the container files lie: in the installed package, or in the clone beside it."""
    package = Path(__file__).parents[1]
    installed = package / "data" / "docker"
    return installed if installed.is_dir() else package.parent / "docker"


@click.command()
@click.option(
    "--workers", type=click.IntRange(1, 1024), default=1, help="containers that play, a fixture at a time each"
)
@click.option("--force", is_flag=True, help="write over the files of an earlier time")
@click.option("--up", is_flag=True, help="play it at once; ends with the tournament's exit code")
@click.pass_obj
def compose(context: CliContext, workers: int, force: bool, up: bool) -> None:
    """Write a compose file for a tournament's folder: scheduler, workers and tournament, each shut in."""
    from host.sandbox.levels import CONTAINER_LEVEL
    from host.tournament.config import load

    load(context.folder)
    places = [context.folder / name for name in FILES]
    there = [place for place in places if place.exists()]
    if there and not force and not up:
        raise UserError([Problem("C016", str(place), "is there already", hint="--force") for place in there], 2)
    if force or not there:
        try:
            places[0].write_text(file_for(context.folder, workers))
            shutil.copyfile(shipped() / FILES[1], places[1])
        except OSError as failed:
            raise UserError([Problem("R013", str(places[0]), f"cannot be written: {failed.strerror}")], 3) from failed
    if up:
        refuse_what_docker_lacks()
        os.chdir(context.folder)  # version 1 looks for the profile where it is started
        command = [*program(), "up", "--exit-code-from", "tournament"]
        os.execvp(command[0], command)
    if context.json:
        print_json("compose", files=[str(place) for place in places], workers=workers)
        return
    click.echo(
        f"{places[0]}: {workers} worker{'' if workers == 1 else 's'}, level {CONTAINER_LEVEL} by {places[1].name}"
    )
    click.echo(f"  cd {context.folder.resolve()} && docker compose up --exit-code-from tournament")


def file_for(folder: Path, workers: int) -> str:
    """Return the compose file for a folder that it lies in itself, run as its owner where that is not root."""
    text = BUILD.sub("", (shipped() / FILES[0]).read_text())
    owner = folder.stat()
    said = {"CROUPIER_TOURNAMENT": ".", "CROUPIER_WORKERS": str(workers)}
    if owner.st_uid:
        said["CROUPIER_USER"] = f"{owner.st_uid}:{owner.st_gid}"
    for name, value in said.items():
        text = re.sub(rf"\$\{{{name}:-[^}}]*\}}", value, text)
    _, rest = text.split("x-common:", 1)
    head = "# Written by croupier compose. From this folder:  docker compose up --exit-code-from tournament\n"
    return f"{head}x-common:{rest}"


def program() -> list[str]:
    """Return the command of compose: version 2, else version 1."""
    second = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ["docker", "compose"] if second.returncode == 0 else ["docker-compose"]


def refuse_what_docker_lacks() -> None:
    """Raise Refused (exit code 6) when no engine answers, there is no compose, or nobody has built the image."""
    cure = "apt install docker.io docker-compose, and be in the group docker"
    if shutil.which("docker") is None:
        raise UserError([Problem("S014", "", "docker is not installed", hint=cure)], 6)
    answer = subprocess.run(["docker", "version"], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise UserError([Problem("S014", "", "no Docker engine answers", answer.stderr.strip()[-500:], cure)], 6)
    if program() == ["docker-compose"] and shutil.which("docker-compose") is None:
        raise UserError([Problem("S014", "", "docker is here, but compose is not", hint=cure)], 6)
    if subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode:
        build = f"in a clone of croupier: docker build -f docker/Dockerfile --target all -t {IMAGE} ."
        raise UserError([Problem("S015", "", f"there is no image {IMAGE} here", hint=build)], 6)
