"""Creates a bot's sandbox with what its bot.toml requests: its folder, and a state file or a state folder."""

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from host.base import paths
from host.bots.bot_spec import BuiltBot
from host.sandbox.bubblewrap import BOT, Home
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level

ABSENT_AT_FIRST = "/run/state"
"""The folder in a sandbox for a state file that does not exist at first. The bot's folder has a link to the file."""


class BotSandbox(NamedTuple):
    """The sandbox of a bot. `state` is the host's descriptor of the bot's state file; -1 if there is none.

    `keeps_folder` is whether the sandbox keeps a folder for the state instead.
    """

    sandbox: Sandbox
    state: int
    keeps_folder: bool = False

    def write_state(self, content: bytes = b"") -> None:
        """Replace the content of the state file. Reset its mode and times, which could carry data from the bot as well.

        If the sandbox keeps a folder, for a state folder or for a state file that does not exist at first, empty the folder.
        """
        if self.keeps_folder:
            self.sandbox.keeper.forget()
        if self.state >= 0:
            os.ftruncate(self.state, 0)
            os.pwrite(self.state, content, 0)
            os.fchmod(self.state, 0o600)
            os.utime(self.state, (0, 0))

    def read_state(self, most: int) -> bytes:
        """Return the content of the state file, at most `most` bytes; b"" if the bot has none."""
        return os.pread(self.state, most, 0) if self.state >= 0 else b""


@contextlib.asynccontextmanager
async def bot_sandbox(bot: BuiltBot, level: Level) -> AsyncIterator[BotSandbox]:
    """Create a bot's sandbox with an empty state; leaving the block removes both. Raise what `sandboxed` raises."""
    with contextlib.ExitStack() as files:
        place, descriptor, limits, kept = None, -1, bot.limits, ""
        if limits.state and bot.spec.keeps_folder:
            kept = f"{BOT}/{bot.spec.state}" if bot.spec.state_is_folder else ABSENT_AT_FIRST
        elif bot.spec.state and limits.state:
            limits = limits._replace(files=min(limits.files, limits.state))  # the kernel has one limit for all files
            descriptor, name = tempfile.mkstemp(dir=_states())
            files.callback(os.unlink, name)
            files.callback(os.close, descriptor)
            place = Path(name)
        home = Home(Path(bot.folder), state=place, state_name=bot.spec.state, warm=bool(bot.warm))
        home = home._replace(kept=kept, kept_size=limits.state)
        relay = None
        if limits.models:
            from host.relay.relay import open_relay  # only these bots need it

            relay = files.enter_context(open_relay(limits.models))
            home = home._replace(relay=relay.path)
        async with sandboxed(level, home, limits) as sandbox:
            if relay is not None:
                await relay.open_port(sandbox.pid)
                relay.hide()
                sandbox = sandbox._replace(serve=relay.serve, variables=relay.variables)
            made = BotSandbox(sandbox, descriptor, bool(kept))
            made.write_state()
            yield made


def _states() -> Path:
    folder = paths.cache_dir() / "states"
    folder.mkdir(exist_ok=True)
    return folder
