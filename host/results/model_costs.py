"""Computes what bots use of language models at a table, and how often they are asked again, each with its interval."""

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
"""The figures, by their keys in JSON and CSV."""


def per_table(records: Sequence[Record]) -> dict[str, dict[str, Estimate]]:
    """Return each figure of each bot in some records.

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
    """Return the mean of a bot at a table, from its total and its tables in each fixture. The fixtures are the units."""
    totals, tables = zip(*fixtures, strict=True)
    values = tuple(ratio_units(totals, tables))
    alone = Meeting(("",), len(values), len(values), (math.fsum(values),), values=(values,))
    mean, interval = math.fsum(totals) / sum(tables), Evidence([alone]).interval("")
    return Estimate(mean, max(0.0, interval.low), interval.high) if interval else Estimate(mean)
