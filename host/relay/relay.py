"""Reads the requests of a bot from a Unix socket and a port in its sandbox, and passes them on to the bot's models.

How it works. A connection has one request, and the relay answers one connection after the other. `GET /v1/models` lists
the models of the bot, and `POST /v1/chat/completions` asks one of them. Of such a request the relay uses only the body.
It decodes the body once, with no other keys than those of ChatCompletion. Then it replaces `model` by the name that the
address uses, and encodes the body again. No header, path or other key of a bot reaches an address. So a bot can smuggle
nothing, and cannot ask for another model, a tool or a file of the address.

    what happens                                    who pays
    the model answers                               the bot: its time goes on, unless `count_model_time` is false
    429, 5xx, a broken connection                   nobody: the clock stands still from the beginning of the attempt
    the same for longer than `patience`             nobody: the match asks the question again; in the end the fixture
                                                    is undecided
    the same, but the model answers a request       the bot gets 502, and its time goes on: its request was the cause
    of croupier
    a request that is wrong, or beyond the budget   the bot gets a status from 400 to 499, and its time goes on
    a request beyond the budget at a later          the bot: the question is a fault of the kind `budget`
    question
    an answer that is too long                      the bot gets 502, and its time goes on

A call of a model ends with the question of the bot: a bot cannot let a model think while another bot is asked.
"""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Protocol

import h11
import msgspec
import trio
from msgspec import UNSET, UnsetType

from host.base import paths
from host.relay import listen_inside
from host.relay.budget import ModelBudget
from host.relay.upstream import CHUNK_BYTES, MAX_HEAD_BYTES, Repeatable, Reply, TooLong, Unusable, ask
from host.sandbox.bubblewrap import MODELS
from host.sandbox.limits import ModelAccess, ModelUse

TARGET, LIST = b"/v1/chat/completions", b"/v1/models"
PORT = 8080  # of 127.0.0.1 in the sandbox
MAX_REQUEST_BYTES = 1 << 20
READ_TIMEOUT_S = 10  # within which a bot must have sent its request
BACKLOG = 8  # connections that wait; they take memory of the kernel
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0  # between two attempts
MAX_TOKENS = 1_000_000_000  # of an answer
MAX_REASON = 200  # characters of what is wrong with a body
MAX_REFUSALS = 1000  # in a fixture: to read a request costs the host time

PROBE = [{"role": "user", "content": "Answer with one word."}]
"""The messages of a small request: it shows whether a model that has not answered a bot can be reached at all."""


class Refused(Exception):
    """Raised for a request that the relay answers itself, with the status of this answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Caller(Protocol):
    """The part of a bot at play that the relay uses: its clock and its budget."""

    model_budget: ModelBudget
    exchanges: "Exchanges | None"
    """The object that records the exchanges, or answers with recorded ones; None: neither."""

    def calling(self) -> contextlib.AbstractContextManager[bool]:
        """Return a context manager that cancels its block when the bot has no open question any more.

        The value of the context manager is whether the bot has an open question at the beginning of the block.
        """
        ...

    def request(self, model: ModelAccess) -> str:
        """Count a request. Return why it is refused; "" if it is granted."""
        ...

    def stand_still(self, since: float) -> None:
        """Stop the clock of the bot at the moment `since`, until `go_on` is called.

        Moments are those of `perf_counter`.
        """
        ...

    def go_on(self, now: float) -> None:
        """Let the clock of the bot go on from the moment `now`, if it stands still."""
        ...

    def give_up(self, reason: str) -> None:
        """Record that a model cannot be reached, and why."""
        ...

    def fail(self, error: Exception) -> None:
        """Record that the relay has failed."""
        ...


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


class _Message(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Text]
    name: str | UnsetType = UNSET


class _Format(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text", "json_object"]


class ChatCompletion(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The keys that a bot's request may have.

    The relay refuses every other key: it could name models, tools or hosts.
    """

    model: str = ""
    messages: list[_Message] | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    top_p: float | UnsetType = UNSET
    presence_penalty: float | UnsetType = UNSET
    frequency_penalty: float | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    max_completion_tokens: int | UnsetType = UNSET
    stop: str | list[str] | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    n: Literal[1] | UnsetType = UNSET
    reasoning_effort: str | UnsetType = UNSET
    response_format: _Format | UnsetType = UNSET
    stream: bool = False


_Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]


class _Usage(msgspec.Struct):
    """The token counts in an answer.

    At some addresses the total is more than the sum of both parts, or the only count.
    """

    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None
    total_tokens: _Tokens | None = None


class _Answer(msgspec.Struct):
    """The part of an answer that croupier reads. The bot gets the whole answer."""

    usage: msgspec.Raw = msgspec.Raw()


class Request(NamedTuple):
    """A request of a bot: the model, the body for the address of the model, and the body that the bot sent, decoded."""

    model: ModelAccess
    body: bytes
    said: ChatCompletion


class Answered(NamedTuple):
    """The result of a request: the answer for the bot, what is left of its budgets by name, and the tokens."""

    reply: Reply
    left: dict[str, int | float]
    use: ModelUse = ModelUse()


Live = Callable[[], Awaitable[Answered]]
"""A function that asks the model of a request, and returns the result."""


class Exchanges(Protocol):
    """Records the exchanges of a bot with its models, or answers it with recorded ones (recording.py)."""

    def begin(self, table: int, question: int) -> None:
        """Treat the next requests as those of this question at this table."""
        ...

    async def exchange(self, request: ChatCompletion, live: Live) -> Answered:
        """Return the result of a request. It is the result of `live`, which asks the model, or a recorded one.

        Raise Refused if the result must be a recorded one, and there is none.
        """
        ...


class Relay:
    """The relay of one sandbox. It answers no request while no bot plays in the sandbox."""

    def __init__(self, models: Sequence[ModelAccess], path: Path) -> None:
        self.path = path
        self._models = {model.name: model for model in models}
        self._caller: Caller | None = None
        self._turn, self._scopes = trio.Lock(), list[trio.CancelScope]()

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables with the addresses of the relay in the sandbox, by name."""
        port = {"OPENAI_BASE_URL": f"http://127.0.0.1:{PORT}/v1", "OPENAI_API_KEY": "none"}
        return {"CROUPIER_MODEL_URL": f"unix:{MODELS}"} | (port if len(self._scopes) > 1 else {})

    async def open_port(self, keeper: int) -> None:
        """Also listen at a port in the sandbox of a keeper, given by its process id.

        Do nothing on a machine where no process may limit the buffers of the port.
        """
        ours, theirs = socket.socketpair()
        with ours, theirs:
            owner, inherited = self.path.stat(), theirs.fileno()
            numbers = map(str, (keeper, PORT, owner.st_uid, owner.st_gid, inherited))
            command = [sys.executable, "-I", "-S", listen_inside.__file__, *numbers]
            done = await trio.run_process(command, pass_fds=[inherited], check=False, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                descriptor = socket.recv_fds(ours, 1, 1)[1][0]
                self.start(socket.socket(fileno=descriptor))

    def hide(self) -> None:
        """Remove the folder with the socket: the sandbox has mounted the socket, and no other process needs it."""
        shutil.rmtree(self.path.parent, ignore_errors=True)

    @contextlib.contextmanager
    def serve(self, caller: Caller) -> Iterator[None]:
        """Pass on the requests of the bot `caller` during the block."""
        self._caller = caller
        try:
            yield
        finally:
            self._caller = None

    def start(self, listener: socket.socket) -> None:
        """Begin to answer the requests that arrive at a listening socket, until `end` is called."""
        self._scopes.append(scope := trio.CancelScope())
        trio.lowlevel.spawn_system_task(self._run, listener, scope)

    def end(self) -> None:
        """Stop answering requests, and close the sockets."""
        for scope in self._scopes:
            scope.cancel()

    async def _run(self, opened: socket.socket, scope: trio.CancelScope) -> None:
        """Answer the requests at one socket until `scope` is cancelled.

        No two requests are answered at the same time.
        """
        with scope, trio.socket.from_stdlib_socket(opened) as listener:
            while True:
                with contextlib.suppress(OSError, trio.BrokenResourceError, h11.LocalProtocolError):
                    connection, _ = await listener.accept()
                    async with trio.SocketStream(connection) as stream, self._turn:
                        await self._answer(stream)

    async def _answer(self, stream: trio.abc.Stream) -> None:
        """Read the one request of a connection, and answer it.

        Return without an answer if no bot plays, if too many requests of the bot were refused, or if its question is
        over.
        """
        caller = self._caller
        if caller is None or caller.model_budget.refusals > MAX_REFUSALS:
            return
        with caller.calling() as is_asked:
            http = h11.Connection(h11.SERVER, MAX_HEAD_BYTES)
            left: dict[str, int | float] = {}
            try:
                if not is_asked:
                    raise Refused(409, "the bot has no question")
                if (sent := await _body(http, stream)) is None:
                    caller.model_budget.refusals += 1  # a list costs the host as much time as a refusal
                    reply = self._list()
                else:
                    request = self._read(sent)
                    live, exchanges = partial(_answered, request, caller), caller.exchanges
                    reply, left, _ = await (exchanges.exchange(request.said, live) if exchanges else live())
            except Refused as refused:
                reply = _refusal(refused, caller)
            except (OSError, trio.BrokenResourceError):  # the bot has closed its connection
                raise
            except Exception as unforeseen:  # an error of the relay ends this call, not the worker
                caller.fail(unforeseen)
                await trio.sleep_forever()  # the clock ends the question, and this call with it
            caller.go_on(time.perf_counter())  # otherwise a bot could stop its clock by not reading its answer
            await _send(http, stream, reply, left)

    def _list(self) -> Reply:
        """Return the list of the models that the bot may ask."""
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "organiser"} for name in self._models]
        return Reply(200, msgspec.json.encode({"object": "list", "data": models}))

    def _read(self, body: bytes) -> Request:
        """Return the request that a body contains. Raise Refused if the relay cannot pass it on."""
        try:
            said = msgspec.json.decode(body, type=ChatCompletion)
            if said.model not in self._models:
                raise Refused(404, f"`model` must be one of: {', '.join(self._models)}")
            if said.stream:
                raise Refused(400, "croupier does not pass on streams: leave out `stream`")
            model = self._models[said.model]
            return Request(model, msgspec.json.encode(msgspec.structs.replace(said, model=model.model)), said)
        except msgspec.ValidationError as wrong:
            raise Refused(400, f"croupier does not pass on this body: {str(wrong)[:MAX_REASON]}") from None
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
            raise Refused(400, "the body is not a JSON object that croupier reads") from None


async def _body(http: h11.Connection, stream: trio.abc.Stream) -> bytes | None:
    """Read a request. Return its body, or None if it is a GET of the list of models.

    Raise Refused for any other request that is not a POST of chat completions, and for a request that is too slow, too
    long or not HTTP.
    """
    parts, size, lists = list[bytes](), 0, False
    with trio.move_on_after(READ_TIMEOUT_S):
        while True:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as wrong:
                raise Refused(400, f"this is not HTTP: {wrong}") from None
            if event is h11.NEED_DATA:
                http.receive_data(bytes(await stream.receive_some(CHUNK_BYTES)))
            elif isinstance(event, h11.Request):
                lists = (event.method, event.target) == (b"GET", LIST)
                if event.method != b"POST" and not lists:
                    raise Refused(405, "croupier passes on POST only")
                if event.target != TARGET and not lists:
                    raise Refused(404, f"croupier passes on {TARGET.decode()} only")
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
                size += len(event.data)
                if size > MAX_REQUEST_BYTES:
                    raise Refused(413, f"a request has at most {MAX_REQUEST_BYTES} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return None if lists else b"".join(parts)
            else:
                raise Refused(400, "the connection was closed before the request")
    raise Refused(408, f"the request took more than {READ_TIMEOUT_S} s")


def _refusal(refused: Refused, caller: Caller) -> Reply:
    """Count a refusal, and return the answer that the bot gets for it."""
    caller.model_budget.refusals += 1
    body = {"error": {"message": str(refused), "type": "croupier", "code": refused.status}}
    return Reply(refused.status, msgspec.json.encode(body))


async def _answered(request: Request, caller: Caller) -> Answered:
    """Count a bot's request and ask its model. Return the result: the answer of the model, or a refusal."""
    try:
        if refusal := caller.request(request.model):
            raise Refused(429, refusal)
        reply, use = await _asked(request, caller)
    except Refused as refused:
        return Answered(_refusal(refused, caller), {})
    return Answered(reply, caller.model_budget.left(request.model), use)


async def _asked(request: Request, caller: Caller) -> tuple[Reply, ModelUse]:
    """Ask the model until it answers. Count the tokens, and return the answer and the tokens.

    If the model cannot be reached, record this for the bot (`Caller.give_up`), and wait until the question is over,
    which cancels this call. Raise Refused if the answer is too long, or if the model answers a request of croupier but
    not the bot's.
    """
    model, budget = request.model, caller.model_budget
    until, pause, has_failed = time.perf_counter() + model.patience, FIRST_PAUSE_S, False
    while True:
        began = time.perf_counter()
        if model.counts_time:
            caller.go_on(began)
        else:
            caller.stand_still(began)
        try:
            with trio.move_on_after(model.patience):
                reply = await ask(model, request.body)
                use = _use(model, reply)
                budget.count(model, use)
                budget.unanswered -= has_failed
                return reply, use
            reason, wait = f"no answer within {model.patience:g} s", 0.0
        except TooLong as answer:
            budget.unanswered -= has_failed
            raise Refused(502, str(answer)) from None
        except Repeatable as failure:
            reason, wait = str(failure), failure.after or pause
        except Unusable as failure:
            reason, wait, until = str(failure), 0.0, began
        caller.stand_still(began)
        budget.unanswered += not has_failed
        has_failed, left = True, until - time.perf_counter()
        if left <= 0:
            break
        await trio.sleep(min(wait, left))
        pause = min(2 * pause, LONGEST_PAUSE_S)
    if await _is_reachable(model):
        raise Refused(502, f"the model {model.name} answers croupier, but not this request: {reason}")
    budget.give_back(model)
    caller.give_up(f"the model {model.name} does not answer: {reason}")
    await trio.sleep_forever()  # the clock ends the question, and this call with it


async def _is_reachable(model: ModelAccess) -> bool:
    """Return whether a model answers croupier's small request (PROBE). An answer that is too long counts as well."""
    with trio.move_on_after(model.patience), contextlib.suppress(Repeatable, Unusable):
        with contextlib.suppress(TooLong):
            await probe(model)
        return True
    return False


async def probe(model: ModelAccess) -> ModelUse:
    """Send croupier's small request (PROBE) to a model, once. Return the tokens that it has used.

    Raise Repeatable, Unusable or TooLong if the model does not answer the request.
    """
    reply = await ask(model, msgspec.json.encode({"model": model.model, "messages": PROBE}))
    if reply.status != 200:
        raise Unusable(f"status {reply.status}", reply.status)
    return _use(model, reply)


def _use(model: ModelAccess, reply: Reply) -> ModelUse:
    """Return the tokens that an answer has used; 0 if its status is not 200.

    Raise Repeatable if it is not the answer to a chat completion. Raise Unusable if it does not report tokens, although
    the tokens or the money of the model are limited.
    """
    if reply.status != 200:
        return ModelUse()
    try:
        answer = msgspec.json.decode(reply.body, type=_Answer)
    except (msgspec.MsgspecError, RecursionError) as wrong:
        raise Repeatable("the answer is not that of a chat completion") from wrong
    try:
        usage = msgspec.json.decode(answer.usage, type=_Usage)
    except (msgspec.MsgspecError, RecursionError):  # a wrong `usage` counts as no `usage`
        usage = _Usage()
    if usage == _Usage() and (model.tokens or model.money):
        raise Unusable("the answer does not say how many tokens it has cost")
    prompt = usage.prompt_tokens or 0
    return ModelUse(0, prompt, max(usage.completion_tokens or 0, (usage.total_tokens or 0) - prompt))


async def _send(http: h11.Connection, stream: trio.abc.Stream, reply: Reply, left: dict[str, int | float]) -> None:
    """Send an answer to the bot, with headers that contain what is left of each budget."""
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(reply.body))),
        ("Connection", "close"),
        *(
            (f"Croupier-{name.title()}-Left", f"{much:.6f}" if name == "money" else str(much))
            for name, much in left.items()
        ),
    ]
    head = http.send(h11.Response(status_code=reply.status, headers=headers))
    await stream.send_all((head or b"") + reply.body)


@contextlib.contextmanager
def open_relay(models: Sequence[ModelAccess]) -> Iterator[Relay]:
    """Open the relay of a sandbox, with its Unix socket. The relay ends with the block."""
    store = paths.cache_dir() / "relays"
    store.mkdir(exist_ok=True)
    _remove_stale(store)
    folder = Path(tempfile.mkdtemp(dir=store))
    folder.chmod(0o711)  # the user of the sandbox mounts the socket
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(place, fcntl.LOCK_EX)
    listener = socket.socket(socket.AF_UNIX)
    relay = Relay(models, folder / "model")
    try:
        listener.bind(f"/proc/self/fd/{place}/model")  # the name of a socket has at most 107 bytes
        listener.listen(BACKLOG)
        relay.start(listener)
        yield relay
    finally:
        relay.hide()
        os.close(place)
        relay.end()


def _remove_stale(store: Path) -> None:
    """Remove the sockets that killed processes have left behind.

    A running process holds a lock of the folder of its socket. It takes the lock before it creates the socket.
    """
    for left in store.glob("*/model"):
        with contextlib.suppress(OSError):  # another process uses it, or has just removed it
            place = os.open(left.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left.parent)
            finally:
                os.close(place)
