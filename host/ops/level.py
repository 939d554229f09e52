"""Choose the level of isolation in force."""

import sys

from host.sandbox.levels import UNPROTECTED, Level


def level_in_force(demanded: Level, unsafe: bool) -> Level:
    """Return the level to play at. Raise UserError (exit code 6) if the machine cannot provide the demanded level."""
    from host.sandbox.detect import require_level

    if unsafe or not demanded.traits.isolates:
        print("WARNING  no sandbox: every bot can read, change and send everything that you can", file=sys.stderr)
        return UNPROTECTED
    return require_level(demanded)
