"""A bot's sandbox with all that its manifest grants it: its folder, and the one state file that it may keep."""

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from host.base import paths
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level
from host.submissions.bot_spec import BuiltBot


class BotSandbox(NamedTuple):
    """A sandbox, and the host's own descriptor of the state file in it; -1 where the bot keeps none."""

    sandbox: Sandbox
    state: int

    def write_state(self, content: bytes = b"") -> None:
        """Have the state file hold this and no more; its mode and times are not to tell what its content may not."""
        if self.state >= 0:
            os.ftruncate(self.state, 0)
            os.pwrite(self.state, content, 0)
            os.fchmod(self.state, 0o600)
            os.utime(self.state, (0, 0))

    def read_state(self, most: int) -> bytes:
        """Return what the state file holds, at most so many bytes."""
        return os.pread(self.state, most, 0) if self.state >= 0 else b""


@contextlib.asynccontextmanager
async def bot_sandbox(bot: BuiltBot, level: Level) -> AsyncIterator[BotSandbox]:
    """Make a bot's sandbox, its state file empty; both are gone when the block is left. Raise as `sandboxed` does."""
    with contextlib.ExitStack() as files:
        place, descriptor, limits = None, -1, bot.limits
        if bot.spec.state and limits.state:
            limits = limits._replace(files=min(limits.files, limits.state))  # the kernel has one for every file
            descriptor, name = tempfile.mkstemp(dir=_states())
            files.callback(os.unlink, name)
            files.callback(os.close, descriptor)
            place = Path(name)
        async with sandboxed(level, Home(Path(bot.folder), state=place, state_name=bot.spec.state), limits) as sandbox:
            made = BotSandbox(sandbox, descriptor)
            made.write_state()
            yield made


def _states() -> Path:
    folder = paths.cache_dir() / "states"
    folder.mkdir(exist_ok=True)
    return folder
