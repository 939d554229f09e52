"""Determines the sender of a request, from the secret of a link in a cookie or a header, or from a proxy's header."""

import hashlib
import hmac
from collections.abc import Mapping
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from host.season.entries.values import hash_of
from host.season.site.errors import foreign_form, not_allowed, unknown_link

AUTHOR_COOKIE, ORGANISER_COOKIE, FORM_COOKIE = "season_author", "season_organiser", "season_form"
ORGANISER = ""  # the name under which the hash of the organiser's secret is published
MAX_SECRET_CHARS = 200
COOKIE_MAX_AGE_S = 200 * 86400  # browsers shorten what is longer than 400 days
LOOPBACK = ("127.0.0.0/8", "::1")
IPV6_NETWORK_BITS = 64  # the part of an address that a provider gives to one customer


class SiteOptions(NamedTuple):
    """Options of a site: its URL, and the reverse proxies in front of it."""

    url: str = ""  # as browsers see it: https://cup.example; needed behind a proxy
    proxy_header: str = ""  # a header in which a reverse proxy names the author that it has logged in
    proxies: tuple[str, ...] = ()  # addresses or networks of the trusted proxies


class Client(NamedTuple):
    """The client that has sent a request."""

    address: str  # key for limits; for IPv6 the network of the customer
    secure: bool  # whether the browser speaks TLS
    base: str  # the address of the site as the browser sees it, without a slash at its end
    local: bool  # whether it is on this machine, perhaps a proxy that is not named
    trusted: bool  # whether a trusted proxy has passed the request on


class Viewer(NamedTuple):
    """The person who looks at a page or sends a form."""

    author: str = ""  # empty: nobody whom the season knows
    organiser: bool = False
    key: str = ""  # all cookies of this site, which only the browser has

    @property
    def token(self) -> str:
        """Return the token that a form of this viewer must contain; empty if the viewer has no cookies.

        The token is computed from the cookies, so a page of another site cannot know it.
        """
        return hmac.new(self.key.encode(), b"croupier season form", hashlib.sha256).hexdigest() if self.key else ""


def name_of(tokens: Mapping[str, str], secret: str) -> str | None:
    """Return the author whose link has a secret; ORGANISER if it is the organiser's link, None if no link has it.

    `tokens` has the SHA-256 of each secret by author. The secret is compared with all of them, each time in constant
    time, so that the duration reveals nothing.
    """
    if not secret or len(secret) > MAX_SECRET_CHARS:
        return None
    wanted, found = hash_of(secret).encode(), None
    for name, known in tokens.items():
        if hmac.compare_digest(wanted, known.encode()):
            found = name
    return found


def client_of(request: Request, options: SiteOptions) -> Client:
    """Return the client that has sent a request.

    The headers X-Forwarded-For and X-Forwarded-Proto count only if a trusted proxy has sent the request.
    """
    peer = request.client.host if request.client else ""
    address, secure, trusted = peer, request.url.scheme == "https", _within(peer, options.proxies)
    passed_on = [each.strip() for each in request.headers.get("x-forwarded-for", "").split(",") if each.strip()]
    if trusted:
        address = next((each for each in reversed(passed_on) if not _within(each, options.proxies)), peer)
        secure = secure or request.headers.get("x-forwarded-proto", "") == "https"
    base = options.url.rstrip("/") or f"{'https' if secure else 'http'}://{request.headers.get('host', 'localhost')}"
    return Client(
        _customer(address),
        secure or base.startswith("https:"),
        base,
        _within(address, LOOPBACK),
        trusted,
    )


def _customer(address: str) -> str:
    """Return the key under which limits count the requests of an address.

    It is an IPv4 address itself, and the network of an IPv6 address (IPV6_NETWORK_BITS).
    """
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if known.version == 4:
        return address
    return str(known.ipv4_mapped or ip_network((known, IPV6_NETWORK_BITS), strict=False))


@cache
def _networks(proxies: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(each, strict=False) for each in proxies)


def _within(address: str, proxies: tuple[str, ...]) -> bool:
    """Return whether an address is one of `proxies` or in a network of them; False if the text is not an address."""
    try:
        known = ip_address(address)
    except ValueError:
        return False
    return any(known in network for network in _networks(proxies))


def viewer_of(request: Request, tokens: Mapping[str, str], options: SiteOptions) -> Viewer:
    """Return the viewer of a page, from the cookies, or from the header of a trusted proxy.

    Raise Refusal (403) if the proxy names an author whom the season does not know.
    """
    cookies = [
        request.cookies.get(name, "")[:MAX_SECRET_CHARS] for name in (AUTHOR_COOKIE, ORGANISER_COOKIE, FORM_COOKIE)
    ]
    author = name_of(tokens, cookies[0]) or ""
    organiser = name_of(tokens, cookies[1]) == ORGANISER
    named = request.headers.get(options.proxy_header, "") if options.proxy_header else ""
    if named and client_of(request, options).trusted:
        if not tokens.get(named):
            raise not_allowed(f"this season has no author {named[:MAX_SECRET_CHARS]!r}", "croupier season invite NAME")
        author = named
    return Viewer(author, organiser, "\n".join(cookies) if any(cookies) else "")


def bearer_of(request: Request, tokens: Mapping[str, str]) -> str:
    """Return the author whose secret a program sends; ORGANISER for the organiser. Raise Refusal (401) if it is not valid."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    name = name_of(tokens, secret.strip()) if kind.lower() == "bearer" else None
    if name is None:
        raise unknown_link()
    return name


def check_form(request: Request, viewer: Viewer, token: str) -> None:
    """Raise Refusal (403) if a page of another site has sent a form, or if `token` is not the token of the viewer."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise foreign_form("the browser says that another site has sent it")
    if not viewer.token or not hmac.compare_digest(viewer.token.encode(), token.encode(errors="replace")):
        raise foreign_form("its token does not belong to this browser's cookies")


def set_cookie(response: Response, name: str, secret: str, client: Client) -> None:
    """Set a cookie that no script can read and that other sites cannot send with a form."""
    response.set_cookie(
        name, secret, max_age=COOKIE_MAX_AGE_S, path="/", secure=client.secure, httponly=True, samesite="lax"
    )
