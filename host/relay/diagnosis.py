"""Sends each model one short question for the organiser, and reports what to correct if a model does not answer."""

import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import h11
import trio

from host.base.errors import Problem
from host.base.format import counted, duration
from host.relay.relay import probe
from host.relay.upstream import Repeatable, TooLong, Unusable, key_of
from host.sandbox.limits import ModelAccess

AGAIN = "the address cannot answer now: try again later"
STATUSES = {
    401: "the address refuses the key: correct it, where key_env or key_file says",
    402: "the account of the key has no money left",
    403: "the key is not allowed to use this model: correct the key or `model`",
    404: "correct the path of `address`, or `model`",
    407: "a proxy refuses the request: choose an `address` that needs none",
    408: AGAIN,
    425: AGAIN,
    429: "the account has reached a limit: wait, or raise that limit",
    3: "croupier follows no redirect: correct `address`",
    4: "the address refuses the request: correct `model`, or the path of `address`",
    5: AGAIN,
}
"""What the organiser can do about an answer: by its status, or by the first digit of its status."""

CAUSES: Sequence[tuple[type[BaseException], str]] = (
    (socket.gaierror, "no host has this name: correct `address`, or how this machine resolves names"),
    (
        ssl.SSLCertVerificationError,
        "this machine does not trust the certificate: correct `address`, or add its authority",
    ),
    (ssl.SSLError, "the address does not speak TLS: correct `address`, perhaps to http://"),
    (h11.RemoteProtocolError, "the address does not speak HTTP: correct `address`, perhaps to https://"),
    (OSError, "start the server, or correct the host, the port or the path in `address`"),
)
"""What the organiser can do about a broken connection, by the type of its cause. The first type that fits counts."""


class ModelReport(NamedTuple):
    """The result of one request to a model."""

    model: ModelAccess
    seconds: float
    status: int  # of the answer; 0: there is no answer
    tokens: int  # that the answer reports; 0: it reports none
    problem: Problem | None = None


class ModelReports(NamedTuple):
    """The reports of all models of a tournament. They do not contain the keys."""

    reports: Sequence[ModelReport]

    @property
    def all_answer(self) -> bool:
        """Return whether every model answers."""
        return not any(report.problem for report in self.reports)

    def json(self) -> dict[str, Any]:
        """Return the reports as a JSON object with a row for each model."""
        rows = [
            {"name": model.name, "address": model.address, "seconds": seconds, "status": status, "tokens": tokens}
            | {"problem": problem and problem.json()}
            for model, seconds, status, tokens, problem in self.reports
        ]
        return {"rows": rows}

    def text(self) -> Iterator[str]:
        """Yield a text for each model: the time and costs of its answer, or its problem."""
        for model, seconds, status, tokens, problem in self.reports:
            cost = counted(tokens, "token") if tokens else "the answer counts no tokens"
            answer = f"{model.name}  {model.address} answers after {duration(seconds)}: status {status}, {cost}"
            yield str(problem) if problem else answer


async def diagnose(models: Sequence[ModelAccess]) -> ModelReports:
    """Ask each model once, one after the other, and return their reports in the same order."""
    return ModelReports([await _diagnose(model) for model in models])


async def _diagnose(model: ModelAccess) -> ModelReport:
    began = time.perf_counter()
    try:
        key_of(model)
    except Unusable as wrong:
        hint = f"set it before croupier starts, or correct [models.{model.name}] in croupier.toml"
        return ModelReport(model, 0.0, 0, 0, Problem("S019", model.name, str(wrong), hint=hint))
    failure: Repeatable | Unusable | TooLong
    try:
        with trio.fail_after(model.patience):
            use = await probe(model)
        return ModelReport(model, time.perf_counter() - began, 200, use.tokens)
    except trio.TooSlowError:
        failure = Repeatable(f"no answer within {model.patience:g} s")
    except (Repeatable, Unusable, TooLong) as wrong:
        failure = wrong
    seconds, status = time.perf_counter() - began, 0 if isinstance(failure, TooLong) else failure.status
    message = f"{model.address}: {failure}, after {duration(seconds)}"
    hint = _cure(status, failure) or f"correct [models.{model.name}] in croupier.toml"
    return ModelReport(model, seconds, status, 0, Problem("S020", model.name, message, hint=hint))


def _cure(status: int, failure: BaseException) -> str:
    """Return what the organiser can do about a failure; "" if the text of the failure says it already.

    `status` is that of the model's answer; 0 if there is none.
    """
    if status:
        return STATUSES.get(status) or STATUSES.get(status // 100, "")
    causes, cause = [], failure.__cause__
    while cause:
        causes.append(cause)
        cause = cause.__cause__
    return next((cure for kind, cure in CAUSES if any(isinstance(each, kind) for each in causes)), "")
