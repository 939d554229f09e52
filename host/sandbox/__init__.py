"""Where a process runs: a sandbox is made once, with a keeper as its first process. Knows nothing of bots.

levels says what there is, detect what this machine can give, launch makes a sandbox, keeper talks to its first process.
"""

from host.sandbox.bubblewrap import Home
from host.sandbox.keeper import Ended, Keeper, KeeperDied, KeeperOutOfMemory
from host.sandbox.launch import Sandbox, sandboxed

__all__ = ["Ended", "Home", "Keeper", "KeeperDied", "KeeperOutOfMemory", "Sandbox", "sandboxed"]
