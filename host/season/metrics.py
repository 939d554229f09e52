"""Writes the figures of a season process in the form that Prometheus reads. The site serves them on the loopback address."""

import time
from collections import Counter
from collections.abc import Sequence

from host.season.documents import METRICS_FILE
from host.season.folder import replace_content
from host.season.rounds.book import Round
from host.season.rounds.season import Season


def write_metrics(season: Season, rounds: Sequence[Round], disk_bytes: int) -> None:
    """Write the figures of this moment. Without the package prometheus-client, write nothing."""
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    except ModuleNotFoundError:
        return
    registry = CollectorRegistry()

    def gauge(name: str, text: str, value: float) -> None:
        Gauge(f"croupier_season_{name}", text, registry=registry).set(value)

    waiting = season.store.submissions.open()
    last = next((each.entry for each in reversed(rounds) if each.entry.ended and each.entry.began), None)
    gauge("round", "Number of the last round that has begun", rounds[-1].number if rounds else 0)
    gauge("tables", "Tables of all rounds that count", sum(each.counted.all_tables for each in rounds if each.counted))
    gauge("tables_per_second", "Speed of the last round, as measured", season.totals.speed)
    gauge("round_seconds", "Duration of the last round", (last.ended or 0) - (last.began or 0) if last else 0)
    gauge("versions", "Versions", len(season.store.versions.all()))
    gauge("versions_playing", "Versions that play", len(season.entered()))
    gauge("submissions_waiting", "Submissions without a verdict", len(waiting))
    oldest = min((each.at for each in waiting), default=time.time())
    gauge("oldest_waiting_seconds", "Age of the oldest submission without a verdict", time.time() - oldest)
    gauge("paused", "1 if the season is paused", bool(season.paused))
    gauge("disk_bytes", "Bytes of the folder of the season", disk_bytes)
    states = Gauge("croupier_season_rounds", "Rounds by state", ["state"], registry=registry)
    for state, number in Counter(each.entry.state for each in rounds).items():
        states.labels(state).set(number)
    replace_content(season.folder.published / METRICS_FILE, generate_latest(registry), 0o640)
