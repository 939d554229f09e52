"""The site of a season behind the reverse proxies of docs/season-site.md: TLS, cookies, uploads and streams of events."""

import getpass
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("hypercorn")
pytest.importorskip("multipart")

from command import ROOT
from helpers import own_port
from season_client import Site, serving_season
from season_published import SECRETS, plain, publish, season_in, site

pytestmark = [pytest.mark.long, pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")]

PAGE = (ROOT / "docs" / "season-site.md").read_text()
NGINX = """\
user {user}; daemon off; pid {place}/nginx.pid; error_log stderr warn; worker_processes 1;
events {{ worker_connections 200; }}
http {{
access_log {place}/access.log;
client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
{server}
}}
"""
CADDY = (
    "{{\nadmin off\nskip_install_trust\nauto_https disable_redirects\nstorage file_system {place}/caddy\n}}\n{site}\n"
)


def block(language: str) -> str:
    """Return the configuration for a proxy as the page has it."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def nginx_command(place: Path, port: int, behind: int) -> list[str]:
    """Write the configuration of nginx with a certificate of its own; return the command."""
    certificate, key = place / "cert.pem", place / "key.pem"
    subject = ["-subj", "/CN=cup.example", "-days", "2", "-nodes", "-newkey", "rsa:2048"]
    made = ["openssl", "req", "-x509", *subject, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    server = (
        block("nginx")
        .replace("listen 443", f"listen 127.0.0.1:{port}")
        .replace("127.0.0.1:8080", f"127.0.0.1:{behind}")
    )
    server = re.sub(r"ssl_certificate  .*;", f"ssl_certificate {certificate};", server)
    server = re.sub(r"ssl_certificate_key .*;", f"ssl_certificate_key {key};", server)
    (place / "nginx.conf").write_text(NGINX.format(place=place, server=server, user=getpass.getuser()))
    return ["nginx", "-c", str(place / "nginx.conf"), "-p", str(place)]


def caddy_command(place: Path, port: int, behind: int) -> list[str]:
    """Write the configuration of Caddy, which makes a certificate of its own; return the command."""
    text = block("caddy").replace(
        "cup.example {", f"https://cup.example:{port} {{\n    bind 127.0.0.1\n    tls internal", 1
    )
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{behind}")
    (place / "Caddyfile").write_text(CADDY.format(place=place, site=text))
    return ["caddy", "run", "--config", str(place / "Caddyfile"), "--adapter", "caddyfile"]


PROXIES = {"nginx": nginx_command, "caddy": caddy_command}


class Behind:
    """A site behind a proxy, as curl sees it."""

    def __init__(self, running: Site, port: int) -> None:
        self.site, self._port = running, port

    def command(self, path: str, *options: str) -> list[str]:
        """Return the command of curl for an address."""
        resolve = f"cup.example:{self._port}:127.0.0.1"
        url = f"https://cup.example:{self._port}{path}"
        return ["curl", "-sSk", "--max-time", "60", "--resolve", resolve, *options, url]

    def curl(self, path: str, *options: str) -> str:
        """Return what curl prints."""
        return subprocess.run(self.command(path, *options), capture_output=True, check=True, text=True).stdout


@contextmanager
def proxied(name: str, place: Path) -> Iterator[Behind]:
    """Start a site and a proxy in front of it."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    with serving_season(season_in(place / "season"), "--url", "https://cup.example", "--proxy", "127.0.0.1") as running:
        port = own_port()
        command = PROXIES[name](place, port, running.port)
        with (place / "proxy.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                until = time.monotonic() + 60
                behind = Behind(running, port)
                while subprocess.run(behind.command("/"), capture_output=True, check=False).returncode:
                    assert time.monotonic() < until and process.poll() is None, (place / "proxy.log").read_text()
                    time.sleep(0.2)
                yield behind
            finally:
                process.terminate()
                process.wait(30)


@pytest.fixture(params=PROXIES)
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Behind]:
    """Serve a season behind each proxy of the page."""
    with proxied(request.param, tmp_path) as made:
        yield made


def test_a_link_a_form_and_a_stream_go_through(behind: Behind, tmp_path: Path) -> None:
    head = behind.curl(f"/a/{SECRETS['ada']}", "-i")
    assert "secure" in head.lower() and re.search(r"location: /mine", head, re.IGNORECASE)
    assert "https://cup.example/a/SECRET" in behind.curl("/rules")
    file = tmp_path / "mine.tar.gz"
    file.write_bytes(bytes(3 << 20))
    told = json.loads(behind.curl(f"/a/{SECRETS['ada']}", "-F", f"file=@{file}"))
    assert told["state"] == "received" and told["size"] == 3 << 20
    with subprocess.Popen(behind.command("/events", "-N"), stdout=subprocess.PIPE, text=True) as stream:
        assert stream.stdout
        assert stream.stdout.readline().startswith("retry")
        publish(behind.site.folder, site(plain, 8, waiting=9))
        assert any('"site"' in line for line in stream.stdout)
        stream.terminate()


def test_a_file_above_the_limit_is_refused_and_leaves_nothing(behind: Behind, tmp_path: Path) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(18 << 20))
    told = subprocess.run(
        behind.command(f"/a/{SECRETS['ada']}", "-F", f"file=@{file}", "-w", "%{http_code}"),
        capture_output=True,
        check=False,
    )
    assert told.stdout.endswith((b"413", b"400", b"502", b"000"))
    assert behind.site.inbox() == [] and behind.site.left_behind() == []


def test_the_log_of_nginx_has_no_secret(tmp_path: Path) -> None:
    with proxied("nginx", tmp_path) as behind:
        behind.curl(f"/a/{SECRETS['ada']}")
        behind.curl("/rules")
        until = time.monotonic() + 20
        while "/rules" not in (log := (tmp_path / "access.log").read_text()) and time.monotonic() < until:
            time.sleep(0.1)
    assert "/rules" in log and SECRETS["ada"] not in log
