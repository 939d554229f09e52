"""Fuzz what strangers write: answers of bots over every protocol, and the files that commands read.

The files are configuration, archives of submissions, bundles, and journals that are verified and replayed.

    python benchmarks/fuzz.py [--answers 200000] [--files 50000] [--seed 1] [NAME …]

The seed corpus is the answers and the files of the sample bots, a journal of theirs, and the nasty pieces below. An answer must
become a move or a fault, which can be written and read again; a file must be read, or refused with an exit code of a user's
mistake. Anything else is printed, with the seed that repeats it, and the exit code is 1. A check that computes too long is
interrupted, and printed too.
"""

import argparse
import contextlib
import gzip
import io
import json
import lzma
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from host.base.errors import UserError
from host.cli.verify import verify_journal
from host.config.tournament_config import load
from host.games import GAMES
from host.inspect.bundle import packed, unpacked
from host.inspect.replay import as_text
from host.inspect.repro import Target, repro_of, with_history
from host.inspect.roster import read_roster
from host.inspect.table_lookup import find_table
from host.inspect.table_replays import load_table
from host.journal.reader import reading
from host.play.records import read_answer, spelled_answer
from host.report.public import PublicLines, answer_lines, public_lines
from host.rules.answer_forms import grammar_of, read_form
from host.rules.game_toml import load_referee_game
from host.sandbox.limits import Limits
from host.stages import CROUPIERS
from host.submissions.archive import import_submission
from host.submissions.discovery import load_entry
from protocols import PROTOCOLS
from protocols.wire import Grammar, Move

ROOT = Path(__file__).parents[1]
SLOW_S = 10.0  # processor time of one check
USERS_MISTAKES = (1, 2, 3, 4, 5)  # exit codes; 1 and 5: a journal that does not fit the rules, or is secret
PIECES = [
    *(
        b"\0",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"\n",
        b"\r",
        b" " * 300,
        b"9" * 400,
        b"-",
        b"1e999",
        b"NaN",
        b"0",
        b'"',
        b"'",
    ),
    *(
        b"[" * 80,
        b"{" * 80,
        b'{"a":' * 70,
        b"a." * 60,
        b"!",
        b"! X",
        b"%",
        b"%00",
        b",",
        b":",
        b"\xe2\x80\xae",
        b"\x1b[2J",
    ),
    *(
        b"openspiel:chess",
        b"a:b",
        b"../",
        b"/",
        b"=",
        b"# ",
        b"true",
        b"x" * 5000,
        b"move",
        b"response",
        b'"""',
        b"{0}",
    ),
]
FORMS = (
    ["PASS", "BID <n: 1..50>"],
    ["<n: -5..5>"],
    ["<text: lines>"],
    ["<value: json>"],
    ["SAY <words: text>", "<card>"],
)
GRAMMARS: list[Grammar] = [
    *(game.grammar for game in GAMES.values()),
    *(grammar_of([read_form(form) for form in forms]) for forms in FORMS),
]


def changed(text: bytes, luck: random.Random) -> bytes:
    """Return a text with one to four random changes."""
    for _ in range(luck.randint(1, 4)):
        at, end = sorted((luck.randint(0, len(text)), luck.randint(0, len(text))))
        end = min(end, at + luck.choice((1, 1, 3, 40)))
        piece = luck.choice(
            (b"", luck.choice(PIECES), luck.randbytes(luck.randint(1, 4)), text[at:end] * luck.randint(2, 9))
        )
        text = text[:at] + piece + text[end:]
    return text[:200_000]


def answers() -> list[bytes]:
    """Return the answers from which random ones are made."""
    found = [
        b"",
        b"PASS",
        b"BID 7",
        b"3",
        b"S",
        b"D",
        b"F",
        b"SAY a b",
        b"4 B 15",
        b"! ValueError",
        b"a\nb",
        b"B 0",
        b"PLAY 0",
    ]
    moves = [
        *found,
        b'{"move":"B 15"}',
        b'{"move":3,"table":2}',
        b'{"response":{"a":[1,2.5]},"data":"x","globaldata":[1]}',
    ]
    return [*moves, *(move + b"\n" for move in moves)]


def check_answer(protocol: str, grammar: Grammar, text: bytes) -> None:
    """Read an answer as the host does, and pass it on as a record, a protocol and a referee would."""
    spoken = PROTOCOLS[protocol]
    number, rest = spoken.split_table_number(text)
    assert type(number) is int
    for answer in (spoken.receive(grammar, text), spoken.receive(grammar, rest)):
        assert read_answer(spelled_answer(answer)) == answer
        if isinstance(answer, Move):
            again = spoken.receive(grammar, spoken.write(grammar, answer).removesuffix(b"\n"))
            assert again == answer, (answer, again)


def read_entry(folder: Path) -> None:
    """Read the bot of a folder."""
    if problems := load_entry(folder, GAMES["pazaak"], Limits()).problems:
        raise UserError([*problems], 3)


def read_bundle(folder: Path) -> None:
    """Read a bundle, and write what `ask` shows of it."""
    repro = unpacked(folder / "one.bundle")
    protocol, grammar = PROTOCOLS[repro.bot.protocol], repro.game.grammar
    for decision in (*repro.before, *repro.asked):
        protocol.encode(decision.view)
        assert not isinstance(decision.answer, Move) or grammar.spell(decision.answer) is not None


def read_students(folder: Path) -> None:
    """Read a roster."""
    read_roster(folder / "students.csv")


def read_archive(folder: Path, name: str) -> None:
    """Import an archive as a submission, and read the bot inside."""
    target = folder / "imported"
    target.mkdir()
    try:
        load_entry(import_submission(folder / name, target, "mine"), GAMES["pazaak"], Limits())
    finally:
        shutil.rmtree(target)


def read_journal(folder: Path) -> None:
    """Verify a journal, publish it, and replay its last table."""
    for read in (verified, published_lines, published_answers, replayed):
        try:
            read(folder / JOURNAL)
        except UserError as refused:
            if refused.exit_code not in USERS_MISTAKES:
                raise


def verified(path: Path) -> None:
    """Verify a journal."""
    verify_journal(path, CROUPIERS, 1.0, "", None)


def published_lines(path: Path) -> None:
    """Read the lines of a journal that are published."""
    with reading(path) as journal:
        assert all(json.loads(line)["before"] is not None for line in public_lines(journal).lines)


def published_answers(path: Path) -> None:
    """Read the answers of a journal that are published, also if its lines are damaged."""
    with reading(path) as journal:
        assert all(json.loads(line)["number"] for line in answer_lines(journal, PublicLines([], "", frozenset())))


def replayed(path: Path) -> None:
    """Replay the last table of a journal."""
    location = find_table([path], CROUPIERS, "last")
    if location is not None:
        found = load_table(location)
        assert "".join(as_text(found.events, found.sitting.bots, found.evidence, {})) is not None


JOURNAL = "run/run.sqlite"
LZMA = (lzma.decompress, partial(lzma.compress, preset=0))
ARCHIVES = ("bot.zip", "bot.tar", "bot.tar.gz", "bot.tar.xz")
FILES: dict[str, Callable[[Path], Any]] = {
    "bot.toml": read_entry,
    "game.toml": load_referee_game,
    "croupier.toml": load,
    "students.csv": read_students,
    "one.bundle": read_bundle,
    **{name: partial(read_archive, name=name) for name in ARCHIVES},
    JOURNAL: read_journal,
}
CUP = b'game = "pazaak"\nbots = ["sample:neptr"]\nseed = "a"\n[[stage]]\nkind = "league"\ntables = 4\n[limits]\nmove = "1 s"\n'
PLAYED = (
    CUP.replace(b"[", b'["sample:nestor", "faulty.py", ', 1)
    + b'[[stage]]\nname = "last"\nkind = "league"\ntables = 2\n'
)
ROSTER = b"Name;ID;E-mail\nAda Lovelace;7;ada@example.org\n"
NASTY_VALUES = (
    None,
    True,
    -1,
    0,
    2**62,
    2**63,
    10**30,
    1e308,
    0.5,
    "",
    "x" * 5000,
    [],
    {},
    [[]],
    "a\x1b[2J\n",
    "\ud800",
    "é" * 300,
)


@cache
def played() -> Path:
    """Play a small tournament in which a bot fails; return its folder, which the process removes at its end."""
    folder = Path(made_here.enter_context(tempfile.TemporaryDirectory()))
    (folder / "croupier.toml").write_bytes(PLAYED)
    (folder / "faulty.py").write_text(
        "import sys\nfor n, line in enumerate(sys.stdin):\n    print('STAND' if n % 3 else 'HIT!', flush=True)\n"
    )
    command = [sys.executable, "-m", "host", "-C", str(folder), "run"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with contextlib.closing(sqlite3.connect(folder / JOURNAL)) as database:
        database.execute("PRAGMA journal_mode = DELETE")  # so that the file is all of it
    return folder


made_here = contextlib.ExitStack()


def bundle() -> bytes:
    """Return a bundle of a fault."""
    with reading(played() / JOURNAL) as journal:
        _, path, piece = next(iter(journal.evidence("WHERE fault.kind != 'slowest'", ())))
        return packed(with_history(journal, repro_of(journal, Target(path, piece.table - 1, piece.number))))


def archive(name: str, member: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return an archive of a bot, of this kind, with a further member."""
    made, texts = io.BytesIO(), {"mine/bot.py": b"print('END')\n", "mine/bot.toml": b'game = "pazaak"\n'}
    if name.endswith(".zip"):
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zipped:
            for path, text in texts.items():
                zipped.writestr(path, text)
            further = zipfile.ZipInfo(member)
            further.external_attr = (0o120777 if kind == tarfile.SYMTYPE else 0o100644) << 16
            zipped.writestr(further, b"more")
    else:
        with tarfile.open(fileobj=made, mode=f"w:{name.partition('tar')[2][1:]}", format=tarfile.GNU_FORMAT) as tarred:  # type: ignore[call-overload]
            for path, text in texts.items():
                info = tarfile.TarInfo(path)
                info.size = len(text)
                tarred.addfile(info, io.BytesIO(text))
            further_file = tarfile.TarInfo(member)
            further_file.type, further_file.linkname = kind, "/etc/passwd"
            tarred.addfile(further_file)
    return made.getvalue()


MEMBERS = (
    "mine/more.txt",
    "../more",
    "/more",
    "mine/" * 40 + "x",
    "mine/bot.py",
    "mine",
    "x" * 300,
    "mine/\u202e\x1b",
    "a\\b",
    "",
)
KINDS = (
    tarfile.REGTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
    tarfile.DIRTYPE,
    tarfile.CONTTYPE,
)


def corpus(name: str) -> list[bytes]:
    """Return the files from which random ones are made."""
    if name in ARCHIVES:
        return [archive(name, member, kind) for member in MEMBERS for kind in KINDS]
    if name == JOURNAL:
        return [(played() / JOURNAL).read_bytes()]
    if name == "one.bundle":
        return [bundle()]
    found = [path.read_bytes() for path in sorted((ROOT / "sample_bots").rglob(name))]
    return found or {"croupier.toml": [CUP], "students.csv": [ROSTER]}[name]


def overwritten(text: bytes, luck: random.Random) -> bytes:
    """Return a text of the same length with one to eight other bytes: whatever it says about places still holds."""
    other = bytearray(text)
    for _ in range(luck.randint(1, 8)):
        other[luck.randrange(len(text))] = luck.choice((0, 1, 0x2F, 0x7F, 0x80, 0xFF, luck.randrange(256)))
    return bytes(other)


def changed_json(text: bytes, luck: random.Random) -> bytes:
    """Return JSON with one of its values changed or removed."""
    value = json.loads(text)
    at, way = value, luck.randint(1, 8)
    while isinstance(at, dict | list) and at:
        key = luck.choice(list(at) if isinstance(at, dict) else range(len(at)))
        if (way := way - 1) and isinstance(at[key], dict | list) and at[key]:
            at = at[key]
            continue
        if luck.random() < 0.1:
            del at[key]
        else:
            old = at[key]
            at[key] = (
                old + luck.choice((-1, 1)) if type(old) is int and luck.random() < 0.3 else luck.choice(NASTY_VALUES)
            )
        break
    return json.dumps(value).encode()


def changed_text(text: bytes, luck: random.Random) -> bytes:
    """Return a text with random changes; JSON often stays JSON."""
    if text[:1] in (b"{", b"[") and luck.random() < 0.7:
        with contextlib.suppress(ValueError):  # an earlier change of the text
            return changed_json(text, luck)
    return changed(text, luck)


def changed_value(value: Any, luck: random.Random) -> Any:
    """Return another value of a column: of any type, or of its own. What is compressed is changed inside."""
    if luck.random() < 0.2:
        return luck.choice((None, -1, 0, 2**62, 0.5, "", b"", "x" * 5000, b"\xff" * 9))
    if isinstance(value, bytes):
        with contextlib.suppress(zlib.error):
            return zlib.compress(changed_text(zlib.decompress(value), luck), 1)
        return changed_text(value, luck)
    if isinstance(value, str):
        return changed_text(value.encode(), luck).decode(errors="replace")
    return value + luck.choice((-1, 1, 2**40)) if value is not None else 1


def write_journal(path: Path, text: bytes, luck: random.Random) -> None:
    """Write a journal with changed bytes, or with changed values in one to three of its columns."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(changed(text, luck) if luck.random() < 0.1 else text)
    if path.stat().st_size != len(text):
        return
    with contextlib.closing(sqlite3.connect(path)) as database, contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(luck.randint(1, 3)):
            table = luck.choice(tables)
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            rows = database.execute(f"SELECT * FROM {table}").fetchall()
            if rows:
                row, at = luck.choice(rows), luck.randrange(len(columns))
                same = " AND ".join(f"{column} IS ?" for column in columns)
                with contextlib.suppress(sqlite3.IntegrityError, OverflowError):
                    database.execute(
                        f"UPDATE {table} SET {columns[at]} = ? WHERE {same}", (changed_value(row[at], luck), *row)
                    )
        database.commit()


def write_file(folder: Path, name: str, text: bytes, luck: random.Random) -> None:
    """Write a file that is like `text`."""
    path = folder / name
    if name == JOURNAL:
        write_journal(path, text, luck)
    elif name == "one.bundle" and luck.random() < 0.9:
        path.write_bytes(gzip.compress(changed_text(gzip.decompress(text), luck), 1))
    elif name.endswith("z") and luck.random() < 0.7:  # a compressed tar: its checksum would refuse nearly all changes
        unpack, pack = (gzip.decompress, partial(gzip.compress, compresslevel=1)) if name.endswith("gz") else LZMA
        path.write_bytes(pack(changed(unpack(text), luck)))
    elif name in ARCHIVES and luck.random() < 0.7:
        path.write_bytes(overwritten(text, luck))
    else:
        path.write_bytes(changed(text, luck))


def cases(name: str, count: int, seed: int) -> Iterator[tuple[int, Callable[[], None]]]:
    """Yield numbered checks of a protocol or of a file."""
    texts = answers() if name in PROTOCOLS else corpus(name)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "bot.py").write_text("print('END')\n")
        for number in range(count):
            luck = random.Random(f"{seed}/{name}/{number}")
            text = luck.choice(texts)
            if name in PROTOCOLS:
                text = changed(text, luck)
                grammar = luck.choice(GRAMMARS)
                yield number, partial(check_answer, name, grammar, text)
            else:
                write_file(folder, name, text, luck)
                yield number, partial(FILES[name], folder)


class TooSlow(BaseException):
    """Raised in a check that computes too long. No code that is checked may catch it."""


def failures(name: str, count: int, seed: int) -> int:
    """Run the checks of a protocol or of a file; print and count what goes wrong."""
    wrong, began = 0, time.monotonic()
    for number, check in cases(name, count, seed):
        why = ""
        signal.setitimer(signal.ITIMER_PROF, SLOW_S)
        try:
            check()
        except UserError as refused:
            why = "" if refused.exit_code in USERS_MISTAKES else f"exit code {refused.exit_code}: {refused}"
        except (Exception, TooSlow) as failed:  # any other exception is what is looked for
            places = [f"{Path(at.filename).name}:{at.lineno}" for at in traceback.extract_tb(failed.__traceback__)[-3:]]
            why = f"{type(failed).__name__}: {failed} ({' '.join(places)})"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if why:
            wrong += 1
            print(f"{name}: --seed {seed}, number {number}: {why[:300]}")
    print(f"{name}: {count} in {time.monotonic() - began:.0f} s, {wrong} wrong", flush=True)
    return wrong


def too_slow(_number: int, _frame: object) -> None:
    """Interrupt a check."""
    raise TooSlow(f"it computes for more than {SLOW_S:g} s")


def main() -> None:
    """Fuzz the protocols and the files that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *PROTOCOLS, *FILES])
    parser.add_argument("--answers", type=int, default=200_000, help="answers a protocol")
    parser.add_argument("--files", type=int, default=50_000, help="files of each name")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    names = wanted.names or [*PROTOCOLS, *FILES]
    signal.signal(signal.SIGPROF, too_slow)
    with made_here:
        wrong = sum(
            failures(name, wanted.answers if name in PROTOCOLS else wanted.files, wanted.seed) for name in names
        )
    sys.exit(min(wrong, 1))


if __name__ == "__main__":
    main()
