"""Computes the mean usage of language models and the mean number of retries of each bot at a table, with intervals."""

import math
from collections.abc import Callable, Mapping, Sequence

from host.base.grouping import grouped
from host.bots.values import ModelCost
from host.play.records import Record
from host.rating.evidence import Evidence, Meeting
from host.rating.rankings import Estimate
from host.rating.statistics import ratio_units

RETRIES = "retries_per_table"


def _of_all_models(figure: Callable[[ModelCost], float]) -> Callable[[Record, str], float]:
    return lambda record, bot: math.fsum(map(figure, record.models.get(bot, {}).values()))


MODEL_FIGURES: Mapping[str, Callable[[Record, str], float]] = {
    RETRIES: lambda record, bot: record.retries.get(bot, 0),
    "calls_per_table": _of_all_models(lambda cost: cost.calls),
    "tokens_per_table": _of_all_models(lambda cost: cost.prompt_tokens + cost.completion_tokens),
    "money_per_table": _of_all_models(lambda cost: cost.money),
}
"""Functions that return a figure of a bot in a record, by the key of the figure in JSON and CSV."""


def per_table(records: Sequence[Record]) -> dict[str, dict[str, Estimate]]:
    """Return the estimates of the figures: by key of MODEL_FIGURES, then by bot.

    Leave out a figure that is 0 for all bots.
    """
    played = [record for record in records if record.results]
    found = dict[str, dict[str, Estimate]]()
    for key, figure in MODEL_FIGURES.items():
        used = grouped(
            (bot, (figure(record, bot), result.tables))
            for record in played
            for bot, result in record.results.items()
            if result.tables
        )
        if any(total for fixtures in used.values() for total, _ in fixtures):
            found[key] = {bot: _mean(fixtures) for bot, fixtures in used.items()}
    return found


def _mean(fixtures: Sequence[tuple[float, int]]) -> Estimate:
    """Return the mean of a figure at a table. The statistical units are the fixtures.

    `fixtures` has (total of the figure, number of tables) for each fixture.
    """
    totals, tables = zip(*fixtures, strict=True)
    values = tuple(ratio_units(totals, tables))
    alone = Meeting(("",), len(values), len(values), (math.fsum(values),), values=(values,))
    mean, interval = math.fsum(totals) / sum(tables), Evidence([alone]).interval("")
    return Estimate(mean, max(0.0, interval.low), interval.high) if interval else Estimate(mean)
