"""Counts the requests of a season's site in the form that Prometheus reads."""

from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from host.season.documents import METRICS_FILE

BUCKETS_S = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0)


class SiteMetrics:
    """The counters of one site."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("handler", "method", "status")
        self._requests = Counter("croupier_site_requests", "Requests by handler", labels, registry=self.registry)
        self._seconds = Histogram(
            "croupier_site_seconds", "Time to the first byte", ["handler"], buckets=BUCKETS_S, registry=self.registry
        )
        self._refusals = Counter("croupier_site_refusals", "Refused requests by code", ["code"], registry=self.registry)
        self._listeners = Gauge("croupier_site_listeners", "Open streams of events", registry=self.registry)

    def answered(self, handler: str, method: str, status: int, seconds: float) -> None:
        """Count an answer. Times of streams and of long waits are those of their first byte."""
        self._requests.labels(handler, method if method in METHODS else "other", str(status)).inc()
        self._seconds.labels(handler).observe(seconds)

    def refused(self, code: str) -> None:
        """Count a refusal by the code of its problem."""
        self._refusals.labels(code).inc()

    def text(self, listeners: int) -> bytes:
        """Return all counters, with the number of listeners of this moment."""
        self._listeners.set(listeners)
        return generate_latest(self.registry)


def figures_of_season(published: Path) -> bytes:
    """Return the figures that the season process has written last, from the folder of documents; b"" if there are none."""
    try:
        return (published / METRICS_FILE).read_bytes()
    except OSError:
        return b""


METHODS = frozenset({"GET", "HEAD", "POST", "PUT"})
