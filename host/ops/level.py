"""Choose the level of isolation at which bots play."""

import sys

from host.sandbox.levels import NO_SANDBOX, UNPROTECTED, Level


def level_in_force(demanded: Level, unsafe: bool) -> Level:
    """Return the level at which bots play. Print a warning if it has no sandbox.

    Raise UserError (exit code 6) if the machine cannot provide the demanded level.
    """
    from host.sandbox.detect import require_level

    if unsafe or not demanded.traits.isolates:
        print(NO_SANDBOX, file=sys.stderr)
        return UNPROTECTED
    return require_level(demanded)
