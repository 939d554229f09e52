"""Writes a bundle of each table at which a game failed: a file for the authors of the game (docs/export.md)."""

import gzip
from pathlib import Path
from typing import Any

import msgspec

from host import __version__
from host.base.output import write_atomically
from host.base.paths import file_name
from host.games.engine import Game
from host.games.luck import derive
from host.journal.reader import UndecidedFixture
from host.play.transcript import plain_steps
from host.rules.catalogue import ref_of

BUNDLE_SCHEMA = "croupier/undecided/1"


def bundle_of(undecided: UndecidedFixture, game: Game, root: bytes) -> dict[str, Any]:
    """Return the bundle of a table at which a game failed, as JSON values. It contains the luck of this table only.

    `root` is the seed of the tournament.
    """
    why = undecided.why
    return {
        "schema": BUNDLE_SCHEMA,
        "croupier": __version__,
        "game": ref_of(game).said or game.name,
        "rules": why.rules,
        "fixture": undecided.path,
        "table": why.table,
        "bots": list(why.bots),
        "luck": derive(root, why.luck).hex() if why.luck else "",
        "shared_luck": why.luck != why.table,
        "answers": why.answers.split(",") if why.answers else [],
        "given_by": list(why.given_by),
        "steps": plain_steps(why.transcript) if why.transcript else [],
        "reason": why.reason,
        "where": why.where,
        "said": why.said.decode(errors="replace"),
    }


def write_bundle(folder: Path, undecided: UndecidedFixture, game: Game, root: bytes) -> Path:
    """Write the bundle of an undecided fixture into a folder, and return the path. Replace an earlier bundle."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{file_name(undecided.path)}.json.gz"
    content = gzip.compress(msgspec.json.encode(bundle_of(undecided, game, root)), 6, mtime=0)
    write_atomically(path, content, 0o600)  # the file contains hidden cards
    return path
