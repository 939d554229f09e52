"""A bot that is not built yet: what is known of it before anything of it runs."""

from pathlib import Path
from typing import NamedTuple

from host.sandbox.limits import Limits

MANIFEST = "bot.toml"


class Spec(NamedTuple):
    """A bot that is not built yet. Empty means "not said": the language's, the game's or croupier's own default."""

    name: str
    folder: Path  # where its files lie
    files: tuple[str, ...]  # what belongs to it, relative to the folder, sorted; regular files only
    language: str  # a row of LANGUAGES
    author: str = ""
    game: str = ""
    protocol: str = ""
    sources: tuple[str, ...] = ()  # what is compiled
    entry: str = ""  # the script or class file that is run
    main: str = ""  # Java's main class
    run: tuple[str, ...] = ()
    build: tuple[str, ...] = ()  # commands, one string each, run by sh
    compiler: str = ""
    adapter: str = ""
    heap: int = 0  # bytes
    python: str = ""
    requires: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    needs: tuple[str, ...] = ()
    parallel_tables: int = 1
    table_ids: bool = False
    lifetime: str = "fixture"
    warm: bool = False
    state: str = ""
    state_lifetime: str = "fixture"
    limits: Limits = Limits()  # what it asks for
    manifest: str = ""  # the path of its bot.toml, for messages; empty for a lone file
    wheels: Path | None = None  # what it requires, where that has been downloaded elsewhere and brought here


class Bot(NamedTuple):
    """A bot that can be asked: plain values, the same on every machine that has the folder."""

    name: str
    language: str
    protocol: str
    argv: tuple[str, ...]
    folder: str  # on the host, read-only for the bot
    sha256: str  # of everything it is made from
    env: tuple[tuple[str, str], ...] = ()
    limits: Limits = Limits()
    parallel_tables: int = 1
    table_ids: bool = False
    lifetime: str = "fixture"
    state: str = ""
    state_lifetime: str = "fixture"
    author: str = ""
    warm: tuple[str, ...] = ()  # the command of the interpreter that forks it for every start; empty = each is cold

    @property
    def kept(self) -> int:
        """How many words of its command are those of the interpreter that is kept and forks it; 0 = each start is cold."""
        return len(self.warm)

    def command(self, kept: int) -> list[bytes]:
        """Return its command; the first `kept` words are those of the interpreter that is kept."""
        return [word.encode() for word in (*self.warm[:kept], *self.argv[kept:])]
