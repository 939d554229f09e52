"""Reads the option `--limits bank=60s/table,move=200ms`: the keys of [limits] in croupier.toml that concern bots at play."""

from dataclasses import dataclass, field

from host.base.config_file import load_model
from host.base.errors import Problem, UserError
from host.base.toml_file import Toml
from host.config.tournament_config import GrantedLimits, bank_problems
from host.games.engine import Game
from host.sandbox.limits import Limits

OPTION = "--limits"


@dataclass(frozen=True)
class _Option:
    """The option as a table of a TOML file, so that its keys have the types and the messages of croupier.toml."""

    limits: GrantedLimits = field(default_factory=GrantedLimits)


def read_limits(text: str, usual: Limits, game: Game) -> Limits:
    """Return the limits `usual`, changed by `text`, the value of the option.

    Raise UserError (exit code 2) that names the wrong key and the cure.
    """
    pairs = [pair.partition("=") for pair in text.split(",")]
    if wrong := next((pair for pair in pairs if not pair[0].strip() or not pair[2].strip()), None):
        message = f"{''.join(wrong)!r} is not a key and a value"
        raise UserError([Problem("U001", OPTION, message, hint=f"{OPTION} bank=60s/table,move=200ms")], 2)
    values = {key.strip(): value.strip() for key, _, value in pairs}
    data = {key: int(value) if value.isdecimal() else value for key, value in values.items()}
    toml = Toml(OPTION, {"limits": data}, {})
    try:
        limits = load_model(toml, _Option).limits.with_defaults(usual)
    except UserError as refused:
        raise UserError(refused.problems, 2) from None
    if problems := bank_problems(game, limits, toml):
        raise UserError(problems, 2)
    return limits
