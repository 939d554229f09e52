"""The port of 127.0.0.1 in the sandbox of a bot that asks models: ordinary clients use it, and it leads nowhere else."""

import textwrap
from pathlib import Path

import pytest
from helpers import built, level, written
from model_server import serving
from test_models import access, against_nestor, caller, prober, words_of

pytestmark = pytest.mark.skipif(not level().traits.own_namespaces, reason="models need a sandbox with namespaces")

ORDINARY = r"""
from urllib.request import Request, urlopen

def asked(path, value=None):
    body = None if value is None else json.dumps(value).encode()
    head = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    return json.load(urlopen(Request(os.environ["OPENAI_BASE_URL"] + path, body, head)))

said += [model["id"] for model in asked("/models")["data"]]
said += [asked("/chat/completions", GOOD)["choices"][0]["message"]["content"]]
said += [status(post(GOOD)), *[status(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path) for path in (b"/v1/models", b"/v1/model")]]
"""


def test_an_ordinary_client_asks_a_model_over_a_port_of_the_sandbox(tmp_path: Path) -> None:
    with serving() as server:
        record = against_nestor(caller(access(server), prober(tmp_path, ORDINARY)))
    assert words_of(record) == ["small", "END", "200", "200", "405"]
    assert {path for path, _, _ in server.heard} == {"/v1/chat/completions"}  # croupier answers the others
    assert not any("authorization" in headers for _, headers, _ in server.heard)


REACHES = r"""
def tried(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def to(*where):
    with socket.socket() as stream:
        stream.connect(where)

def option(*what):
    with socket.socket() as stream:
        stream.setsockopt(*what)

said.append(tried(lambda: option(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)))
said += [tried(lambda: to("127.0.0.1", port)) for port in (HOST_PORT, 22, 53, 80, 443)]
said += [tried(lambda: to(host, 80)) for host in ("10.0.0.1", "169.254.169.254", "192.168.0.1", "8.8.8.8", "224.0.0.1")]
kinds = [(socket.SOCK_DGRAM, 0), (socket.SOCK_RAW, 1), (socket.SOCK_RAW, 6), (socket.SOCK_STREAM, 132), (socket.SOCK_STREAM, 262)]
said += [tried(lambda: socket.socket(socket.AF_INET, *kind)) for kind in kinds]
said += [tried(lambda: socket.socket(family, socket.SOCK_STREAM)) for family in (0, 10, 16, 17, 40)]
stream = socket.socket()
said += [tried(lambda: stream.bind(("127.0.0.1", 0))), tried(lambda: stream.listen(1))]
said += [tried(lambda: option(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)), tried(lambda: option(0, 1, 1))]
said += [tried(lambda: option(socket.IPPROTO_TCP, 13, b"bbr")), tried(lambda: socket.if_nameindex())]

def held(stream):
    stream.setblocking(False)
    sent = 0
    try:
        while True:
            sent += stream.send(b"x" * 65536)
    except OSError:
        return sent

busy = [socket.create_connection(("127.0.0.1", 8080)) for _ in range(2)]
said.append(all(held(stream) < 1 << 19 for stream in busy))
"""


def test_a_port_of_the_sandbox_leads_to_the_relay_and_nowhere_else(tmp_path: Path) -> None:
    with serving() as server:  # a service on the loopback interface of the host
        body = REACHES.replace("HOST_PORT", server.address.split(":")[2].removesuffix("/v1"))
        words = words_of(against_nestor(caller(access(server), prober(tmp_path, body))))
        assert server.heard == []
    assert words[0] == "done"
    assert words[1:6] == ["ECONNREFUSED"] * 5
    assert words[6:11] == ["ENETUNREACH"] * 5
    assert words[11:26] == ["EPERM"] * 15
    assert words[26] in ("EPERM", "ENOTTY", "EINVAL")
    assert words[27:] == ["True"]


def test_a_bot_without_models_has_no_port(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('game = "pazaak"\nprotocol = "lines"\nentry = "bot.py"\n')
    source = """
    import os, socket, sys
    for _ in sys.stdin:
        try:
            socket.socket()
        except OSError as error:
            print(error.errno, *[name for name in os.environ if "OPENAI" in name or "MODEL" in name], flush=True)
    """
    written(textwrap.dedent(source), ".py", tmp_path)
    words = against_nestor(built(tmp_path, "pazaak")).evidence
    assert {piece.raw for piece in words if piece.kind == "unreadable"} == {b"1"}
