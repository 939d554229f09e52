"""The git door of a season: a pre-receive hook that hands in what is pushed. It runs no program of the push."""

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.season.entries.inbox import Submit
from host.season.entries.names import MAX_BOT_CHARS, author_name, season_bot_name, usable_name
from host.season.folder import SeasonFolder
from host.season.intake.doors import Outcome, followed, leave

WAIT_S = 60.0  # then the push is accepted without a verdict
ARCHIVE_TIMEOUT_S = 60.0
NO_COMMIT = re.compile("0+")
OBJECT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
PUSHER_VARIABLES = ("REMOTE_USER", "GL_USER", "GITEA_PUSHER_NAME")
"""The variables in which servers of git tell a hook who pushes."""


class Push(NamedTuple):
    """A pushed branch: its former and its new commit, and its name."""

    old: str
    new: str
    ref: str


class Repository(NamedTuple):
    """Whose bot a repository is: the author's and the bot's name."""

    author: str
    bot: str

    @classmethod
    def of(cls, author: str | None, bot: str | None, variables: Mapping[str, str]) -> "Repository":
        """Return the author and the bot: those given, else the one who pushes and the name of the repository."""
        pusher = next((variables[name] for name in PUSHER_VARIABLES if variables.get(name)), "")
        if not (author or pusher):
            hint = f"croupier season hook --author NAME; or a server of git that sets {', '.join(PUSHER_VARIABLES)}"
            raise UserError([Problem("E001", "", "the hook does not know who pushes", hint=hint)], 2)
        folder = Path(variables.get("GIT_DIR", ".")).resolve()
        named = folder.parent.name if folder.name == ".git" else folder.name.removesuffix(".git")
        return cls(author_name(author or pusher), season_bot_name(bot or usable_name(named, MAX_BOT_CHARS)))


def pushes(lines: Iterable[str]) -> list[Push]:
    """Return the branches that are pushed, from the standard input of a pre-receive hook."""
    found = []
    for line in lines:
        old, _, rest = line.strip().partition(" ")
        new, _, ref = rest.partition(" ")
        if not (OBJECT.fullmatch(old) and OBJECT.fullmatch(new) and ref):
            raise UserError([Problem("E010", "", "this is not the input of a pre-receive hook", hint=HOOK_HINT)], 2)
        found.append(Push(old, new, ref))
    return found


HOOK_HINT = "hooks/pre-receive of the repository:  exec croupier -C SEASON season hook --author NAME"


def hand_in(
    folder: SeasonFolder, repository: Repository, pushed: Iterable[Push], most: int, told: Callable[[str], None]
) -> Outcome | None:
    """Hand in the commit that is pushed to the main branch, and follow its examination for WAIT_S seconds.

    Return None if nothing is pushed there: other branches are the author's own affair. Raise UserError if the files cannot
    be packed.
    """
    main = _git("symbolic-ref", "HEAD").decode().strip()
    found = next((each for each in pushed if each.ref == main and not NO_COMMIT.fullmatch(each.new)), None)
    if found is None:
        told(f"nothing is pushed to {one_line(main)}, so nothing is handed in")
        return None
    content = archived(found.new, most)
    request = Submit(repository.author, f"{repository.bot}.tar", "git", repository.bot)
    told(f"{repository.author}/{repository.bot} at {found.new[:12]}: {len(content)} bytes")
    identity = leave(folder, request, content)
    return followed(folder, repository.author, identity, WAIT_S, told)


def archived(commit: str, most: int) -> bytes:
    """Return the files of a commit as a tar of at most `most` bytes. The objects of a push are in quarantine, where git looks."""
    command = ["git", "archive", "--format=tar", commit]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()) as git:
        assert git.stdout is not None and git.stderr is not None
        content = git.stdout.read(most + 1)
        if len(content) > most:
            git.kill()
            hint = "remove what the bot does not need: build products, data"
            raise UserError([Problem("E006", "", f"the pushed files have more than {most} bytes", hint=hint)], 2)
        said = git.stderr.read(2000).decode(errors="replace")
        if git.wait(ARCHIVE_TIMEOUT_S):
            raise UserError([Problem("E010", "", f"git archive has failed: {one_line(said)[:300]}", hint=HOOK_HINT)], 2)
    return content


def _git(*words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], capture_output=True, env=_environment(), timeout=ARCHIVE_TIMEOUT_S)
    except OSError as missing:
        raise UserError([Problem("S005", "git", "is not installed", hint="apt install git")], 6) from missing
    if done.returncode:
        said = one_line(done.stderr.decode(errors="replace"))[:300]
        raise UserError([Problem("E010", "", f"git {words[0]} has failed: {said}", hint=HOOK_HINT)], 2)
    return done.stdout


def _environment() -> dict[str, str]:
    """Return the environment for git: without settings outside the repository, whose filters could run a program."""
    return os.environ | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1"}
