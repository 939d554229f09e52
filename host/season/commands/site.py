"""The command `season site`: serves the site of a season. `season open` starts it; in containers it runs by itself."""

import contextlib
import os
from importlib.util import find_spec
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, options, print_json_line

WEB_PACKAGES = ("hypercorn", "multipart", "sse_starlette", "starlette")
"""The packages of the extra `web`."""
NICENESS = 5  # bots have deadlines; people can wait a little longer for a page


@click.command("site")
@click.option(
    "--bind", default=options.DEFAULT_BIND, show_default=True, metavar="HOST:PORT", help="port 0: a free port"
)
@click.option("--url", default="", metavar="URL", help="the site's address in browsers, if a proxy passes requests on")
@click.option("--proxy", "proxies", multiple=True, metavar="IP", help="the address of a proxy, which is believed")
@click.option("--proxy-header", default="", metavar="NAME", help="a header in which the proxy names the author: X-User")
@click.pass_obj
def command(context: CliContext, bind: str, url: str, proxies: tuple[str, ...], proxy_header: str) -> None:
    """Serve the pages and the HTTP API of a season.

    It reads published/ and uploads/, and writes requests into inbox/. It needs no other files of the season.
    """
    import trio

    require_web("season site")
    from host.season.site.identity import SiteOptions
    from host.season.site.site import serve_season
    from host.web.address import url_of
    from host.web.server import open_listener

    if (Path(context.folder) / "croupier.toml").exists():  # a container of the site alone has none
        from host.config.tournament_config import load
        from host.season.season_config import terms_of

        tournament = load(Path(context.folder))
        if tournament.season:
            known = terms_of(tournament)
            url, proxies = url or known.address, proxies or known.proxy
            proxy_header = proxy_header or known.login_header
    listener = open_listener(bind)
    host, port = listener.getsockname()[:2]
    here = url or url_of(host, port)
    if context.json:
        print_json_line("season-site", url=here, bind=f"{host}:{port}")
    else:
        click.echo(f"the season in {context.folder} at {here}/")
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    trio.run(serve_season, Path(context.folder), listener, SiteOptions(url, proxy_header, proxies))


def require_web(command: str) -> None:
    """Raise UserError (exit code 6) if a package of the extra `web` is missing. Nothing is imported."""
    if lacking := [package for package in WEB_PACKAGES if find_spec(package) is None]:
        message = f"{command} needs the extra web: {', '.join(lacking)} cannot be imported"
        raise UserError([Problem("S008", "", message, hint="pip install '.[web]'   in a clone of croupier")], 6)
