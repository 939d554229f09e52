"""Decides whether a run may start another fixture, from the usage of language models in all its fixtures.

Workers play fixtures at the same time, so the usage of the open fixtures is not known. Each of them is counted with the
maximum that its bots may use. Therefore one run exceeds a budget by at most the usage of one fixture. Tokens and money
can also exceed it by one answer of each bot in each open fixture, because an answer that exceeds the bot's own budget
counts too. A later run does not know the usage of undecided fixtures.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from host.bots.values import ModelCost
from host.play.jobs import WorkerSetup
from host.play.records import Fixture, Record
from host.sandbox.limits import ModelAccess


class _Amount(NamedTuple):
    """A budget for all fixtures together: its key, its amount, the used amount, and a bot's maximum at a table."""

    key: str
    granted: float
    used: float
    at_table: float


class RunBudget:
    """Budgets of the language models for all fixtures of a run together, and their usage so far."""

    def __init__(self, setup: WorkerSetup, models: Sequence[ModelAccess], stop: Callable[[str], None]) -> None:
        """`models` are the models with such a budget. `stop` cancels the run; its argument is the reason."""
        self._models, self._game, self.stop = models, setup.game, stop
        self._asks = {bot.name: {model.name for model in bot.limits.models} for bot in setup.bots}
        self._costs = defaultdict[str, ModelCost](ModelCost)  # of all fixtures, by the name of the model

    def count(self, record: Record) -> None:
        """Add the bots' usage of models in a finished fixture."""
        for costs in record.models.values():
            for name, cost in costs.items():
                self._costs[name] = self._costs[name].plus(cost)

    def used_up(self, playing: Iterable[Fixture]) -> str:
        """Return a text about the first budget that is used up if all fixtures in `playing` use their maximum; "" if none is."""
        fixtures = list(playing)
        for model in self._models:
            tables = sum(fixture.tables * self._callers(fixture, model.name) for fixture in fixtures)
            for key, granted, used, at_table in self._amounts(model):
                if granted and used + at_table * tables >= granted:
                    return f"the budget of {model.name} is used up, {key} = {granted} in croupier.toml: {round(used, 6)} used"
        return ""

    def _callers(self, fixture: Fixture, model: str) -> int:
        """Return the number of processes in a fixture that may ask a model. Each process has its own budget."""
        asking = sum(model in self._asks.get(bot, ()) for bot in fixture.bots)
        return asking * self._game.processes(fixture.rules)

    def _amounts(self, model: ModelAccess) -> Iterator[_Amount]:
        cost = self._costs[model.name]
        tokens = cost.prompt_tokens + cost.completion_tokens
        yield _Amount("requests_in_all", model.requests_in_all, cost.calls, model.requests)
        yield _Amount("tokens_in_all", model.tokens_in_all, tokens, model.tokens)
        yield _Amount("money_in_all", model.money_in_all, cost.money, model.money)
