"""Publishes the programs that have played, and the files with which `croupier run` plays a tournament again.

docs/checking.md describes these files.
"""

import glob
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.output import write
from host.base.toml_file import read, toml_lines
from host.bots.bot_spec import Submission
from host.config.resolver import CONFIG
from host.config.tournament_config import Tournament
from host.journal.state import RecordedBot
from host.journal.tournament_dir import seed_text
from host.rules.catalogue import ref_of
from host.rules.own_code import files_of
from host.stages import references_of
from host.stages.gauntlet import Gauntlet, Grade
from host.stages.pairs import Pairs
from host.submissions.build import program_hash, program_parts
from host.submissions.discovery import load_submission
from host.submissions.file_tree import BUILDING, IGNORED_NAMES, walk

SPECS = "bots.json"
PLAYED_KEYS = ("stop_early", "parallel_tables")
"""The keys of [run] that are published. The other keys depend on the machine of the organiser."""

PRIVATE_MODEL_KEYS = ("address", "key_env", "key_file")
"""The keys of [models.NAME] that are not published: they say how the organiser reaches a model."""


class Sources(NamedTuple):
    """Published programs."""

    places: Mapping[str, str]  # by bot: the path of its program in the published folder, as a pattern for `bots`
    with_packages: tuple[str, ...]  # bots whose hash also covers packages


def played_bots(tournament: Tournament, versions: Mapping[str, RecordedBot], folder: Path) -> Mapping[str, Submission]:
    """Return the bots that have played, by name. `versions` are their recorded versions. Write nothing.

    Raise UserError (exit code 5) if the files of a bot are missing or are not those that have played, or if `folder`
    already has other files for this bot. Bots that require packages are not compared with their recorded version.
    """
    bots = {bot.name: tournament.identified(bot) for bot in tournament.submissions(tournament.path.parent)}
    missing = [
        Problem("R002", name, "has played, and its files are not here", hint=f"restore them: sha256 {version.sha256}")
        for name, version in versions.items()
        if name not in bots
    ]
    bots = {name: bots[name] for name in versions if name in bots}
    others = [
        Problem("R002", bot.manifest, f"is not the program of {name} that has played: {here[:16]}…", hint=hint)
        for name, bot in bots.items()
        if not bot.spec.requires
        for here, hint in [(program_hash(bot), f"restore its files as they were: sha256 {versions[name].sha256}")]
        if here != versions[name].sha256
    ]
    if missing or others:
        raise UserError([*missing, *others], 5)
    for name, bot in bots.items():
        if not _files_in(folder / "bots" / name) <= {*bot.files}:
            raise _earlier_export(name, folder)
    return bots


def write_sources(
    tournament: Tournament, bots: Mapping[str, Submission], versions: Mapping[str, RecordedBot], folder: Path
) -> Sources:
    """Copy the files of bots to bots/NAME in a folder, and write the data that their hashes cover to bots.json.

    `bots` are those that `played_bots` returned. Raise UserError (exit code 5) if the folder has files of an earlier
    export.
    """
    for name, bot in bots.items():
        for file in bot.files:
            (folder / "bots" / name / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(bot.folder / file, folder / "bots" / name / file)
    write(folder / SPECS, json.dumps({name: _hashed(bot) for name, bot in bots.items()}, indent=1) + "\n")
    places = {name: _place(tournament, folder, bot, versions[name].sha256) for name, bot in bots.items()}
    return Sources(places, tuple(name for name, bot in bots.items() if bot.spec.requires))


def _hashed(bot: Submission) -> dict[str, Any]:
    """Return the data that the hash of a bot covers besides its files: a text about the bot, and the mode of each file.

    The files of an adapter are included with their content (`kit`).
    """
    text, files = program_parts(bot)
    kit = {file.name: file.content.decode() for file in files if file.name not in bot.files}
    modes = {file.name: 0o111 if file.executable else 0 for file in files}
    return {"spec": text, "files": modes, "kit": kit, "packages": bool(bot.spec.requires)}


def _place(tournament: Tournament, folder: Path, bot: Submission, sha256: str) -> str:
    """Return the pattern for a published bot in the key `bots` of croupier.toml: its folder, or its only file.

    Raise UserError (exit code 5) if croupier would find another program at either path.
    """
    home = f"bots/{bot.name}"
    for place in (home, *(f"{home}/{name}" for name in bot.files if len(bot.files) == 1)):
        found = load_submission(folder / place, tournament.limits, tournament.game)
        if bot.spec.requires or program_hash(tournament.identified(found)) == sha256:
            return glob.escape(place)
    raise _earlier_export(bot.name, folder)


def _files_in(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def _earlier_export(bot: str, folder: Path) -> UserError:
    message = f"is not the program of {bot} that has played: there are files of an earlier export"
    return UserError([Problem("R002", str(folder / "bots" / bot), message, hint="export into a new folder")], 5)


def write_again(tournament: Tournament, sources: Sources, seed: bytes, folder: Path) -> None:
    """Write a croupier.toml with the revealed seed and the published bots, and the files of the organiser's own code.

    The croupier.toml does not contain the addresses of the models that bots ask. `croupier run` refuses it until each
    model has an address.

    Raise UserError if a file of the organiser's code has the name of another file in the folder, or is a link to a file
    outside the tournament's folder.
    """
    data = read(tournament.path).data
    for key in ("season", "report"):  # of the organiser's machine and site
        data.pop(key, None)
    if run := {key: value for key, value in data.pop("run", {}).items() if key in PLAYED_KEYS}:
        data["run"] = run
    data.get("models", {}).pop("record", None)
    for model in data.get("models", {}).values():
        for key in PRIVATE_MODEL_KEYS:
            model.pop(key, None)
    data["bots"] = [place for name, place in sources.places.items() if name not in tournament.guests]
    data["seed"] = seed_text(seed)
    for toml, stage in zip(data.get("stage", ()), tournament.stages, strict=False):
        if isinstance(stage, Pairs) and toml.pop("list", ""):
            toml["meetings"] = stage.meetings
        if names := references_of(stage):
            toml["references"] = [sources.places[name] if name in tournament.guests else name for name in names]
        if isinstance(stage, Gauntlet) and stage.grades:  # a key of the file may be a pattern for several references
            toml["grades"] = {name: _set_keys(grade) for name, grade in stage.grades.items()}
    own = ref_of(tournament.game)
    if own.has_referee:
        data["game"] = f"rules/{Path(own.folder).name}/"
        for entry in walk(Path(own.folder), BUILDING, IGNORED_NAMES):
            if entry.is_file:
                _copy(Path(own.folder) / entry.path, folder / data["game"] / entry.path)
    code = tournament.path.parent.absolute()
    for file in files_of(str(code)):
        if not file.resolve().is_relative_to(code.resolve()):
            message = "is a link to a file outside the tournament's folder, which nobody else has"
            raise UserError([Problem("R013", str(file), message, hint="put the file itself there")], 2)
        _copy(file, folder / file.relative_to(code))
    write(folder / CONFIG, "".join(f"{line}\n" for line in toml_lines(data)))


def _set_keys(grade: Grade) -> dict[str, Any]:
    return {key: value for key, value in asdict(grade).items() if value is not None}


def _copy(source: Path, target: Path) -> None:
    """Copy a file of the organiser's own code. Raise UserError if the target exists with another content."""
    if target.exists() and target.read_bytes() != source.read_bytes():
        message = "is another file in the folder to publish"
        raise UserError([Problem("R013", str(source), message, hint="rename it, or export into a new folder")], 2)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
