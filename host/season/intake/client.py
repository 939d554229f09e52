"""Sends requests to the site of a season with an author's link: submits a file and follows its examination.

docs/season-api.md describes the requests.
"""

import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from host import __version__
from host.base.errors import Problem, UserError
from host.base.safe_text import one_line

TIMEOUT_S = 30.0  # without a byte from the site
WAIT_S = 20  # after which the site answers even if nothing has changed
MAX_ANSWER_BYTES = 16 << 20
LINK = re.compile(r"(https?://[^/\s?#@]+)/a/([A-Za-z0-9_-]{20,200})/?")
NO_SITE = "does not answer as the site of a season"
LINK_HINT = "the link of an author, for example  https://cup.example/a/6tq…"


class Link(NamedTuple):
    """The link of an author: the address of a site, and a secret, which is sent only in a header."""

    site: str
    secret: str

    @classmethod
    def parse(cls, text: str) -> "Link":
        """Return the link that a text contains. Raise UserError if it is not a link; the message does not repeat it."""
        if found := LINK.fullmatch(text.strip()):
            return cls(found[1], found[2])
        raise UserError([Problem("E001", "", "this is not the link of an author", hint=LINK_HINT)], 2)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Handler that follows no redirect, because the secret would be sent to another address."""

    def redirect_request(self, *_: Any) -> None:
        """Return None: no request follows a redirect."""


class SeasonClient:
    """Requests of an author to a site. Each request may be sent again without harm."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._opener = urllib.request.build_opener(_NoRedirect)

    def submit(self, bot: str, file_name: str, content: bytes) -> dict[str, Any]:
        """Submit a file, and return the submission as the site describes it. Raise UserError if the site refuses it."""
        query = urllib.parse.urlencode({"file": file_name, "door": "submit"})
        return self._ask("PUT", f"/api/bots/{urllib.parse.quote(bot, safe='')}?{query}", content)

    def follow(self, submission: Mapping[str, Any]) -> dict[str, Any]:
        """Wait until the state of a submission changes, but at most WAIT_S seconds. Return the new submission.

        Raise UserError if the site does not answer.
        """
        query = urllib.parse.urlencode({"wait": WAIT_S, "since": submission.get("state", "")})
        return self._ask("GET", f"/api/submissions/{urllib.parse.quote(str(submission['id']), safe='')}?{query}")

    def page(self, submission: Mapping[str, Any]) -> str:
        """Return the address of an author's page about a submission."""
        return f"{self._link.site}/mine/submissions/{urllib.parse.quote(str(submission.get('id', '')), safe='')}"

    def _ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        """Send a request about a submission, and return the submission."""
        headers = {"Authorization": f"Bearer {self._link.secret}", "User-Agent": f"croupier/{__version__}"}
        if body is not None:
            headers["Content-Type"] = "application/octet-stream"
        request = urllib.request.Request(self._link.site + path, data=body, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                submission = self._decoded(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                raise self._refusal(refused) from None
        except (OSError, http.client.HTTPException) as failed:
            reason = getattr(failed, "reason", None) or failed
            hint = "check the address; the same command may be given again"
            raise self._failed(f"does not answer: {one_line(str(reason))[:200]}", hint) from failed
        if not {"id", "state"} <= submission.keys():
            raise self._failed(NO_SITE, LINK_HINT)
        return submission

    def _decoded(self, answer: IO[bytes]) -> dict[str, Any]:
        content = answer.read(MAX_ANSWER_BYTES + 1)
        try:
            found = json.loads(content) if len(content) <= MAX_ANSWER_BYTES else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._failed(NO_SITE, LINK_HINT)
        return found

    def _refusal(self, refused: urllib.error.HTTPError) -> UserError:
        """Return the error that the site has sent as its answer, with its code and hint."""
        try:
            said = self._decoded(refused.fp)
            code, message = str(said["code"]), str(said["message"])
        except (UserError, KeyError):
            return self._failed(f"answers with the status {refused.code}", LINK_HINT)
        exit_code = 5 if said.get("exit") == 5 else 2
        hint = one_line(str(said.get("hint", "")))[:500]
        known = code if re.fullmatch(r"[A-Z][0-9]{3}", code) else "E013"
        return UserError([Problem(known, self._link.site, one_line(message)[:500], hint=hint)], exit_code)

    def _failed(self, message: str, hint: str) -> UserError:
        return UserError([Problem("E013", self._link.site, message, hint=hint)], 5)
