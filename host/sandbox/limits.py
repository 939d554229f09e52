"""Defines the limits of a bot: time in seconds, sizes in bytes."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
BYTES = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
A_DAY = 86400.0
BANK_SCOPES = ("table", "fixture")
"""The scopes of a time bank: the bank is full again at the start of each table, or of each fixture."""

MAX_RETRIES = 5  # of one question
MAX_WALL_FACTOR = 4  # the wall clock time of an answer is at most this many times its limit


class Bank(NamedTuple):
    """A time bank: the seconds that all answers of a table or of a fixture together may take beyond `Limits.floor`."""

    seconds: float = 0.0  # 0: no bank
    scope: str = ""  # one of BANK_SCOPES


NO_BANK = Bank()


class ModelUse(NamedTuple):
    """A bot's usage of a language model: the number of requests, and the numbers of tokens that the answers state."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Return the number of tokens of both kinds together."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, more: "ModelUse") -> "ModelUse":
        """Return the sum of this usage and `more`."""
        return ModelUse(*(mine + theirs for mine, theirs in zip(self, more, strict=True)))


class ModelAccess(NamedTuple):
    """A language model that a bot may ask: its address, the place of its key, and the limits of a bot's usage."""

    name: str  # in croupier.toml and for bots
    address: str  # http://…, https://… or unix:/…
    model: str  # the name of the model at that address
    key_env: str  # the variable with the key; "" if the key is in a file, or there is none
    key_file: str
    requests: int  # per table; later tables of a fixture may use what is left over
    tokens: int  # likewise; 0: any number
    answer: int  # bytes of one answer
    patience: float  # seconds for which croupier repeats a request that the address cannot answer now
    counts_time: bool  # whether the time of an answer counts as the bot's time
    money: float = 0.0  # per table, as `requests`; 0: any amount
    prompt_price: float = 0.0  # of a million tokens, in the organiser's currency
    completion_price: float = 0.0
    requests_in_all: int = 0  # of all bots in all fixtures of a run; 0: any number
    tokens_in_all: int = 0
    money_in_all: float = 0.0

    @property
    def is_limited_in_all(self) -> bool:
        """Return whether a budget limits the usage of all bots in all fixtures of a run together."""
        return bool(self.requests_in_all or self.tokens_in_all or self.money_in_all)

    @property
    def for_answers(self) -> "ModelAccess":
        """Return a copy with only the values on which answers of bots can depend.

        The others are reset: address, key, patience and the budgets of a run, and the prices if no money limits a bot.
        """
        access = self._replace(
            address="", key_env="", key_file="", patience=0.0, requests_in_all=0, tokens_in_all=0, money_in_all=0.0
        )
        return access if self.money else access._replace(prompt_price=0.0, completion_price=0.0)

    def cost(self, use: ModelUse) -> float:
        """Return the cost of a usage, in the currency of the prices."""
        return (use.prompt_tokens * self.prompt_price + use.completion_tokens * self.completion_price) / 1_000_000


class Limits(NamedTuple):
    """The limits of one bot. A bot.toml may ask for less than the tournament grants, but not for more."""

    move: float = 1.0  # seconds for one answer, without waits for a processor where the kernel counts them
    startup: float = 10.0  # additional seconds for the first answer of the first process of a fixture
    cpu: float = 1.0  # seconds of processor time of the whole process tree for one answer
    cpu_table: float = A_DAY  # seconds of processor time per table; later tables may use what is left over
    memory: int = 512 * MIB
    tasks: int = 64  # processes and threads
    output: int = 4 * KIB  # bytes of one answer on standard output
    state: int = MIB  # bytes of the bot's state file; 0 = none
    files: int = 16 * MIB  # bytes of one file
    open_files: int = 64
    cores: int = 1  # the most processor cores that a bot may ask for
    bank: Bank = NO_BANK
    increment: float = 0.0  # seconds that each answer adds to the bank
    floor: float = 0.0  # seconds of an answer that cost nothing from the bank; 0 = `move`
    submission: int = 16 * MIB  # bytes of one file of a submission; its files together may have four times as much
    models: tuple[ModelAccess, ...] = ()
    retries: int = 0  # times that a question is asked again after a refused answer

    def at_most(self, other: "Limits") -> "Limits":
        """Return the smaller value of each limit, and the models that both allow.

        The bank keeps its scope. If this object or `other` sets `floor`, the result's `floor` is the smaller `per_move`.
        """
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return Limits(*(min(mine, theirs) for mine, theirs in pairs))._replace(
            bank=self.bank._replace(seconds=min(self.bank.seconds, other.bank.seconds)),
            floor=min(self.per_move, other.per_move) if self.floor or other.floor else 0.0,
            models=tuple(model for model in self.models if model in other.models),
        )

    def by_name(self) -> dict[str, Any]:
        """Return the limits by name, as journals store them.

        `submission` and `models` are left out, `retries` if it is 0, and BANK_KEYS if there is no time bank.
        """
        left_out = ("submission", "models") if self.retries else ("submission", "models", "retries")
        found = {key: value for key, value in self._asdict().items() if key not in left_out}
        return found if self.bank.seconds else {key: value for key, value in found.items() if key not in BANK_KEYS}

    @property
    def per_move(self) -> float:
        """Return the seconds of an answer that cost nothing from the bank: `move`, or `floor` if it is set and less."""
        return min(self.floor, self.move) if self.floor else self.move


BANK_KEYS = ("bank", "increment", "floor")
"""The fields of Limits that define a time bank."""


def amount(text: str, units: dict[str, float] | dict[str, int]) -> float:
    """Return an amount such as "1.5 s" or "512 MiB" in the base unit: the unit with the factor 1 in `units`.

    Raise ValueError, with the list of units, if the text is not a number with one of them.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2] not in units:
        raise ValueError(f'"{text}" needs a number and a unit ({", ".join(units)})')
    return float(match[1]) * units[match[2]]


def seconds(text: str) -> float:
    """Return a duration in seconds. Raise ValueError if the text has no unit."""
    return amount(text, SECONDS)


def size(text: str) -> int:
    """Return a size in bytes. Raise ValueError if the text has no unit."""
    return int(amount(text, BYTES))
