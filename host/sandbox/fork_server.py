"""Runs inside a sandbox: a Python that imports and compiles what its bot needs, and forks at every start.

It runs no line of the bot. It forks ahead of each question, while no process of a bot is alive. The fork becomes the
bot when the question comes: a child of the keeper, in a process group that it cannot leave, with new globals, its own
arguments, environment and descriptors. Landlock lets it send no signal to the interpreter.

Of the bot's folder the interpreter reads one file, which it compiles. It works in an empty folder, and the bot's folder
is in no path: the bot may have written to it during its build. It imports only modules of the list `INERT`; the fork
imports all others. The host passes the modules of an adapter (its kit) as text. This file uses the standard library
only, because languages.py passes it to `python3 -c`. It imports little: each fork copies and frees the memory.
"""

import _signal  # type: ignore[import-not-found]  # it has no stubs; importing `signal` costs every fork more
import _socket
import atexit
import ctypes
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import CodeType
    from typing import NoReturn

KEEPER = 3  # descriptor of its socket
WHOLE = 1 << 16  # maximum bytes of a question
ROOM = 256  # bytes to receive a descriptor: memory of a size that nothing else in the loop allocates
SCOPED = (0, 0, 2)  # Landlock's ruleset: only signals are confined
CREATE_RULESET, RESTRICT_SELF, CLOSE_RANGE = 444, 446, 436  # 445 adds a rule
CLONE, PRCTL, SETPGID, SETSID, SIGPROCMASK = (
    (220, 167, 154, 157, 135) if os.uname().machine == "aarch64" else (56, 157, 109, 112, 14)
)
AS_A_SIBLING = 0x8000 | 0x200000 | 0x1000000 | 17  # CLONE_PARENT, CLEARTID, SETTID, SIGCHLD
SET_SECCOMP, FILTER, GET_TID_ADDRESS = 22, 2, 40
ONLY_AST = 0x400
EMPTY = "/run/empty"
"""The folder in which the interpreter works; bubblewrap.py creates it."""

INERT_NAMES = """
    __future__ _collections_abc _operator _random _thread _weakrefset abc argparse array ast atexit base64 binascii
    bisect builtins calendar cmath codecs collections collections.abc colorsys concurrent concurrent.futures
    concurrent.futures.process concurrent.futures.thread configparser contextlib contextvars copy copyreg csv ctypes
    dataclasses datetime decimal difflib dis enum errno fcntl fnmatch fractions functools gc getopt glob graphlib gzip
    hashlib heapq hmac html importlib inspect io itertools json json.decoder json.encoder keyword linecache locale
    logging marshal math mmap multiprocessing numbers opcode operator os os.path pathlib pickle platform posixpath pprint
    pwd queue random re reprlib resource secrets select selectors shlex shutil signal socket stat statistics string
    struct subprocess sys tempfile textwrap threading time timeit token tokenize traceback types typing
    unicodedata urllib urllib.parse uuid warnings weakref xml xml.etree xml.etree.ElementTree zlib
"""
INERT = frozenset(INERT_NAMES.split())
"""Modules whose import only defines things: it starts nothing, writes nothing, reads only files of the library, and
depends on no argument, no file of the current folder and no variable of the environment, except that `subprocess` of Python
3.13 reads one that is Python's own. A test observes each of them.
"""

NO_SIGNALS = ctypes.c_uint64(0)

known: set[str] = set()  # modules imported before the bot
call = ctypes.PyDLL(None).syscall
call.restype = ctypes.c_long


class Instruction(ctypes.Structure):
    """A BPF instruction."""

    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("value", ctypes.c_uint))


class Filter(ctypes.Structure):
    """A system call filter."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(Instruction)))


def fork_filter() -> Filter:
    """Return a filter that denies the system calls of Landlock, and those with which a process leaves its group.

    No memory limit counts Landlock's rules. When a fork loads the filter, the kernel runs it once for every number of a
    system call, so most numbers take few instructions.
    """
    program = (
        (0x20, 0, 0, 0),  # load the call's number
        (0x35, 0, 1, CREATE_RULESET),  # go on with the next instruction if it is at least that of Landlock's first call
        (0x25, 3, 4, RESTRICT_SELF),  # allow it if it is greater than that of Landlock's last call, else deny it
        (0x25, 2, 0, max(SETSID, SETPGID)),  # allow what is greater
        (0x15, 2, 0, SETSID),  # deny these two
        (0x15, 1, 0, SETPGID),
        (0x06, 0, 0, 0x7FFF0000),
        (0x06, 0, 0, 0x00050001),  # EPERM
    )
    return Filter(len(program), (Instruction * len(program))(*(Instruction(*row) for row in program)))


def signal_scope() -> int:
    """Return the descriptor of a Landlock ruleset that confines signals. Raise OSError if the kernel cannot do that."""
    attributes = (ctypes.c_uint64 * 3)(*SCOPED)
    ruleset = call(ctypes.c_long(CREATE_RULESET), attributes, ctypes.c_size_t(24), ctypes.c_uint(0))
    if ruleset < 0:
        raise OSError("Landlock does not restrict signals here")
    return int(ruleset)


def compiled(path: str) -> "CodeType":
    """Return the code of a bot's file, compiled as in a cold start."""
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec")


def load_kit(kit: "dict[str, tuple[str, str]]", home: str) -> "CodeType":
    """Import the modules of a kit. Return the code of its program, the module `__main__`.

    `kit` has the file name and the text of each module, by its name. The modules get paths below `home`, the bot's
    folder, but nothing is read from there.
    """
    from importlib.machinery import SourceFileLoader  # slow to import, rarely needed
    from importlib.util import spec_from_file_location

    class Kit(SourceFileLoader):
        """Loads an adapter's modules from their text."""

        @classmethod
        def find_spec(cls, name: str, *_: object) -> "ModuleSpec | None":
            """Return the spec of a module of the kit, as if its file existed; None for all other modules."""
            if name not in kit:
                if name.partition(".")[0] in kit:  # else the library would search the bot's folder
                    raise ModuleNotFoundError(name, name=name)
                return None
            path = f"{home}/{kit[name][0]}"
            return spec_from_file_location(name, path, loader=cls(name, path))

        def get_code(self, name: str) -> "CodeType":
            """Return a module's code."""
            return compile(kit[name][1], self.path, "exec", dont_inherit=True)

    file, text = kit.pop("__main__")
    sys.meta_path.insert(0, Kit)
    for name in kit:
        __import__(name)
    sys.meta_path.remove(Kit)
    return compile(text, file, "exec", dont_inherit=True)


def prepared(path: str) -> "CodeType | None":
    """Return a bot's code, or None if it does not compile. Import the modules of INERT that the bot imports.

    Enter the folder EMPTY before the imports. Raise ImportError if a file of the bot hides a standard module.
    """
    if any(name.partition(".")[0] in sys.stdlib_module_names for name in os.listdir()):
        raise ImportError("it has a file that hides a module of the standard library")
    try:
        code = compiled(path)
        with open(path, "rb") as file:
            body = compile(file.read(), path, "exec", ONLY_AST).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # its process will report it
        code, body = None, []
    os.chdir(EMPTY)
    for statement in body:
        names = []
        match type(statement).__name__:
            case "Import":
                names = [name.name for name in statement.names]
            case "ImportFrom" if not statement.level:
                names = [statement.module]
        for name in names:
            if name in INERT:
                try:
                    __import__(name)
                except ImportError:  # this version of Python does not have it
                    continue
    return code


def forking() -> "Callable[[], int]":
    """Return a function that forks a child of the keeper, and prepares it as Python does.

    The function returns 0 in the child, and the number of the child in the parent.

    Python's steps before a fork are done here, once. Its steps in the parent after a fork are left out: the parent only
    forks and needs no locks, and each page that it writes must be copied.
    """
    address = ctypes.c_void_p()
    reading = (*map(ctypes.c_long, (PRCTL, GET_TID_ADDRESS, ctypes.addressof(address), 0, 0, 0)),)
    call(*reading)
    where = [0, 0, address.value or 0, 0]
    if CLONE != 56:
        where[2:] = where[:1:-1]
    words = (*map(ctypes.c_long, (CLONE, AS_A_SIBLING if address.value else 0x8000 | 17, *where)),)
    before, begin = ctypes.pythonapi.PyOS_BeforeFork, ctypes.pythonapi.PyOS_AfterFork_Child
    before()
    begin()  # once, to link all that it calls
    before()

    def fork() -> int:
        pid = call(*words)
        if pid:
            call(*reading)  # a call reverses the order of free memory: two restore it, so no fork is odd or even
        else:
            begin()
        return int(pid)

    return fork


def finish(namespace: dict[str, object], status: int) -> "NoReturn":
    """End the bot's process as Python would: join threads, call exit functions, destroy objects, flush streams.

    `namespace` has the bot's global variables. Objects that are older than the bot are not destroyed: that would cost
    more than all other steps.
    """
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()  # no public name
    atexit._run_exitfuncs()
    own = set(sys.modules) - known if len(sys.modules) > len(known) else ()  # reading copies pages
    for home in (namespace, *(vars(sys.modules[name]) for name in own)):
        for name in reversed(list(home)):  # later objects use earlier ones
            if name != "__builtins__":
                home[name] = None
    gc.collect(2 if gc.get_count()[2] else 1)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            status = status or 120
    os._exit(status & 0xFF)


def steps(ruleset: int, rules: Filter) -> "tuple[tuple[ctypes.c_long, ...], ...]":
    """Return the system calls that separate a fork from the interpreter, each as its number and arguments.

    One C function makes all of them, so few pages of memory are touched.
    """
    numbers = (
        (SETSID,),
        (RESTRICT_SELF, ruleset, 0),
        (PRCTL, SET_SECCOMP, FILTER, ctypes.addressof(rules), 0, 0),
        (CLOSE_RANGE, KEEPER + 1, 0xFFFFFFFF, 0),
        (SIGPROCMASK, _signal.SIG_SETMASK, ctypes.addressof(NO_SIGNALS), 0, ctypes.sizeof(NO_SIGNALS)),
    )
    return tuple(tuple(map(ctypes.c_long, words)) for words in numbers)


def apply_request(question: bytes, started: "frozenset[bytes]") -> None:
    """Set the arguments and the environment from a question: the number of arguments, the arguments, the variables.

    The variables in `started` are set already.
    """
    count = int.from_bytes(question[:4], sys.byteorder)
    for at, word in enumerate(question[4:-1].split(b"\0")):
        if at < count:
            sys.argv.append(str(word, "utf-8", "surrogateescape"))
        elif word not in started:
            name, _, value = word.partition(b"=")
            os.environb[name] = value


def warm_up(code: "CodeType") -> None:
    """Do what every bot does, without a question or output: so the fork copies the pages before its question comes."""
    apply_request((1).to_bytes(4, sys.byteorder) + b"1\0REHEARSED=\0", frozenset())
    exec(code, {})
    gc.collect(0)
    del sys.argv[-1], os.environb[b"REHEARSED"]


def forget_age() -> None:
    """Replace times and keys that imported modules stored when the interpreter started, as if the process were new."""
    if logging := sys.modules.get("logging"):
        import time  # logging has imported it

        logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()  # type: ignore[attr-defined]
    if process := sys.modules.get("multiprocessing.process"):
        process.current_process().authkey = os.urandom(32)


def serve(path: str, guest: str, kit: "dict[str, tuple[str, str]]", namespace: dict[str, object]) -> "NoReturn":
    """Fork a bot for every start, until the keeper closes its socket. In the fork, run `path` as `__main__`.

    `namespace` is for its global variables. With a kit, run the kit's program, which loads the bot from the file
    `guest`. Only the fork reads its question: the next fork could find it in the interpreter's memory. This function
    never returns, because freeing the memory costs a fork more than keeping it.
    """
    line, home = _socket.socket(fileno=KEEPER), os.getcwd()
    code, rules = prepared(guest), fork_filter()
    code = load_kit(kit, home) if kit else code
    parting = steps(signal_scope(), rules)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    _signal.pthread_sigmask(_signal.SIG_BLOCK, range(1, 65))
    started = frozenset(name + b"=" + value for name, value in os.environb.items())
    rehearsal = compile("import sys\ndef it(n): return n\nprint(it(int(sys.argv[-1])))", "", "exec")
    path_of_the_bot = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(":")), *sys.path]
    fork = forking()
    buffer = bytearray(WHOLE)  # a fork that allocated one would ask the kernel for memory, and return it
    known.update(sys.modules)
    gc.collect()
    ctypes.PyDLL(None).malloc_trim(0)  # each fork would copy and free memory left from compiling
    gc.freeze()
    line.send(bytes(4))
    while True:
        waking, ancillary, _, _ = line.recvmsg(1, ROOM)
        if not waking:
            os._exit(0)
        own = int.from_bytes(ancillary[0][2], sys.byteorder)
        if not fork():
            break
        os.close(own)
        del ancillary, waking  # in this order, and before the next ones are made: each fork finds the same memory free
    os.dup2(own, KEEPER)
    for step in parting:
        if call(*step) < 0:
            os._exit(127)
    os.chdir(home)
    sys.path[:] = path_of_the_bot
    warm_up(rehearsal)
    line.send(os.getpid().to_bytes(4, sys.byteorder))
    size, ancillary, _, _ = line.recvmsg_into([buffer], _socket.CMSG_SPACE(12))
    if not size:
        os._exit(0)
    apply_request(bytes(buffer[:size]), started)
    forget_age()
    for at, descriptor in enumerate(memoryview(ancillary[0][2]).cast("i")):
        os.dup2(descriptor, at)
    os.closerange(KEEPER, KEEPER + 4)
    line.detach()
    status = 0
    try:
        exec(code or compiled(path), namespace)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if ended.code is not None and not isinstance(ended.code, int):
            print(ended.code, file=sys.stderr)
    finish(namespace, status)
