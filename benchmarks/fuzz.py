"""Fuzz what strangers write: answers of bots over every protocol, and the files that commands read.

    python benchmarks/fuzz.py [--answers 200000] [--files 50000] [--seed 1] [NAME …]

The seed corpus is the answers and the files of the sample bots, and the nasty pieces below. An answer must become a move or
a fault, which can be written and read again; a file must be read, or refused with exit code 3. Anything else is printed, with
the seed that repeats it, and the exit code is 1.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from host.base.errors import UserError
from host.config.tournament_config import load
from host.games import GAMES
from host.inspect.bundle import unpacked
from host.inspect.roster import read_roster
from host.play.records import read_answer, spelled_answer
from host.rules.answer_forms import grammar_of, read_form
from host.rules.game_toml import load_referee_game
from host.sandbox.limits import Limits
from host.submissions.discovery import load_entry
from protocols import PROTOCOLS
from protocols.wire import Grammar, Move

ROOT = Path(__file__).parents[1]
SLOW_S = 10.0  # processor time of one reading
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
    """Read a bundle."""
    unpacked(folder / "one.bundle")


def read_students(folder: Path) -> None:
    """Read a roster."""
    read_roster(folder / "students.csv")


FILES: dict[str, Callable[[Path], Any]] = {
    "bot.toml": read_entry,
    "game.toml": load_referee_game,
    "croupier.toml": load,
    "students.csv": read_students,
    "one.bundle": read_bundle,
}
CUP = b'game = "pazaak"\nbots = ["sample:neptr"]\nseed = "a"\n[[stage]]\nkind = "league"\ntables = 4\n[limits]\nmove = "1 s"\n'
ROSTER = b"Name;ID;E-mail\nAda Lovelace;7;ada@example.org\n"


def corpus(name: str) -> list[bytes]:
    """Return the files from which random ones are made."""
    found = [path.read_bytes() for path in sorted((ROOT / "sample_bots").rglob(name))]
    return found or {"croupier.toml": [CUP], "students.csv": [ROSTER], "one.bundle": [b"\x1f\x8b\x08\0"]}[name]


def cases(name: str, count: int, seed: int) -> Iterator[tuple[int, Callable[[], None]]]:
    """Yield numbered checks of a protocol or of a file."""
    texts = answers() if name in PROTOCOLS else corpus(name)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "bot.py").write_text("print('END')\n")
        for number in range(count):
            luck = random.Random(f"{seed}/{name}/{number}")
            text = changed(luck.choice(texts), luck)
            if name in PROTOCOLS:
                grammar = luck.choice(GRAMMARS)
                yield number, partial(check_answer, name, grammar, text)
            else:
                (folder / name).write_bytes(text)
                yield number, partial(FILES[name], folder)


def failures(name: str, count: int, seed: int) -> int:
    """Run the checks of a protocol or of a file; print and count what goes wrong."""
    wrong, began = 0, time.monotonic()
    for number, check in cases(name, count, seed):
        computed = time.process_time()
        why = ""
        try:
            check()
        except UserError as refused:
            why = "" if refused.exit_code in (2, 3, 4) else f"exit code {refused.exit_code}: {refused}"
        except Exception as failed:  # any other exception is what is looked for
            why = f"{type(failed).__name__}: {failed}"
        if time.process_time() - computed > SLOW_S:
            why += " slow"
        if why:
            wrong += 1
            print(f"{name}: --seed {seed}, number {number}: {why[:300]}")
    print(f"{name}: {count} in {time.monotonic() - began:.0f} s, {wrong} wrong", flush=True)
    return wrong


def main() -> None:
    """Fuzz the protocols and the files that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *PROTOCOLS, *FILES])
    parser.add_argument("--answers", type=int, default=200_000, help="answers a protocol")
    parser.add_argument("--files", type=int, default=50_000, help="files of each name")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    names = wanted.names or [*PROTOCOLS, *FILES]
    wrong = sum(failures(name, wanted.answers if name in PROTOCOLS else wanted.files, wanted.seed) for name in names)
    sys.exit(min(wrong, 1))


if __name__ == "__main__":
    main()
