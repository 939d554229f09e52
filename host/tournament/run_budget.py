"""Decides whether a run may start another fixture, by what its fixtures have used of the language models together.

Workers play fixtures at the same time, so what the open ones use is not known: each counts with the most that its bots may
use. Therefore one run exceeds a budget by no more than one fixture uses, and in tokens and money by one answer of each bot of
each open fixture: an answer that exceeds the bot's own budget counts too. A later run does not know what undecided fixtures used.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from host.bots.values import ModelCost
from host.play.jobs import WorkerSetup
from host.play.records import Fixture, Record
from host.sandbox.limits import ModelAccess


class _Amount(NamedTuple):
    """A budget in all fixtures, by its key; what the fixtures have used of it, and a bot may use at a table."""

    key: str
    granted: float
    used: float
    at_table: float


class RunBudget:
    """What the fixtures of a run may use of the models together."""

    def __init__(self, setup: WorkerSetup, models: Sequence[ModelAccess], stop: Callable[[str], None]) -> None:
        """`models` are those with such a budget. `stop` is called with the reason if one is used up: it cancels the run."""
        self._models, self._game, self.stop = models, setup.game, stop
        self._asks = {bot.name: {model.name for model in bot.limits.models} for bot in setup.bots}
        self._costs = defaultdict[str, ModelCost](ModelCost)  # of all fixtures, by the name of the model

    def count(self, record: Record) -> None:
        """Count what the bots have used in a fixture that has ended."""
        for costs in record.models.values():
            for name, cost in costs.items():
                self._costs[name] = self._costs[name].plus(cost)

    def used_up(self, playing: Iterable[Fixture]) -> str:
        """Return in words which budget is used up, if these fixtures use all that they may; "" if none is."""
        fixtures = list(playing)
        for model in self._models:
            tables = sum(fixture.tables * self._callers(fixture, model.name) for fixture in fixtures)
            for key, granted, used, at_table in self._amounts(model):
                if granted and used + at_table * tables >= granted:
                    return f"the budget of {model.name} is used up, {key} = {granted} in croupier.toml: {round(used, 6)} used"
        return ""

    def _callers(self, fixture: Fixture, model: str) -> int:
        """Return how many processes of a fixture may ask a model: each has its own budget."""
        asking = sum(model in self._asks.get(bot, ()) for bot in fixture.bots)
        return asking * self._game.processes(fixture.rules)

    def _amounts(self, model: ModelAccess) -> Iterator[_Amount]:
        cost = self._costs[model.name]
        tokens = cost.prompt_tokens + cost.completion_tokens
        yield _Amount("requests_in_all", model.requests_in_all, cost.calls, model.requests)
        yield _Amount("tokens_in_all", model.tokens_in_all, tokens, model.tokens)
        yield _Amount("money_in_all", model.money_in_all, cost.money, model.money)
