"""The adapter `banksalad` loads unchanged turn.py files of 2018 and asks them."""

import gzip
import json
import subprocess
import textwrap
from collections.abc import Sequence
from pathlib import Path

import helpers
import pytest
import trio
from command import croupier
from conftest import OUR_VECTORS

from host.base.errors import UserError
from host.bots.bot_spec import BotSpec, BuiltBot, Submission
from host.bots.values import Batch, Question, Usage
from host.games.holdem import GAME, View
from host.sandbox import landlock
from host.sandbox.limits import Limits
from host.sandbox.process_tree import descendants
from host.submissions.adapters import adapted, add_kit
from host.submissions.build import build
from host.submissions.check import check_bot
from host.submissions.discovery import load_submission
from host.submissions.examine import prepare_bots
from host.submissions.languages import need
from protocols.wire import Answer, Fault, FaultKind, Move

EXAMPLES = [View(*view) for view in GAME.examples]
FLOP = next(view for view in EXAMPLES if len(view.community_cards) == 6)
SOON = '[limits]\nmove = "300 ms"\n'  # the adapter's limit; the host of these tests waits longer
WARM = helpers.level().traits.can_warm and landlock.version() >= landlock.WANTED
COLD = "NO NAMESPACES OR NO LANDLOCK HERE: every start is cold"
HEAD = """\
from typing import List
from .player import Other
from .core.cards import Card, Rank, Suit
from .core.madehands import evaluate
"""
BET = "def bet(my_chips, my_cards, bet_players, betting_players, community_cards, min_bet_amt, max_bet_amt, total_bet_amt):"


def handed_in(folder: Path, body: str, top: str = "", manifest: str = "") -> Path:
    """Write a submission: the body of `bet`, the code before it, and a minimal bot.toml."""
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    (folder / "turn.py").write_text(f"{HEAD}\n{textwrap.dedent(top)}\n{BET}\n{body}\n")
    (folder / "bot.toml").write_text(f'name = "Turn"\nadapter = "banksalad"\n{manifest}')
    return folder


def built(folder: Path, limits: Limits = helpers.AMPLE) -> BuiltBot:
    """Build a submission, loaded like any bot."""
    return trio.run(build, load_submission(folder), helpers.level())._replace(limits=limits)


def asked(bot: BuiltBot, views: Sequence[View], tables: Sequence[int] = ()) -> tuple[list[Answer], Usage]:
    """Ask questions one by one, by default at table 1; return the answers and the usage."""

    async def work() -> tuple[list[Answer], Usage]:
        async with helpers.seat_of(bot, "holdem") as seat:
            answers: list[Answer] = []
            for number, (view, table) in enumerate(zip(views, tables or [1] * len(views), strict=True), 1):
                answers += await seat.ask(Batch([Question(table, number, view)]))
            return answers, seat.usage()

    return trio.run(work)


def answers(folder: Path, body: str, views: Sequence[View] = (FLOP, FLOP), top: str = "") -> list[Answer]:
    """Return the answers of a bot with this body; check that it was started only once."""
    told, usage = asked(built(handed_in(folder, body, top)), views)
    assert usage.starts == 1
    return told


def in_the_kit(folder: Path, code: str, given: str = "") -> str:
    """Run a program in the kit's folder with the Python of such bots; return its output."""
    add_kit(adapted(Submission(BotSpec(name="kit", language="python", adapter="banksalad"), folder, ())), folder)
    command = [need("python3"), "-B", "-c", textwrap.dedent(code)]
    return subprocess.run(command, cwd=folder, input=given, check=True, capture_output=True, text=True).stdout


# Imports of a bot.


CLAIMS = [
    "Card(Rank.ace, Suit.spade) == Card(rank=Rank.ace, suit=Suit.spade) == Card(14, 4)",
    "len({Card(rank, suit) for rank in Rank for suit in Suit} | {Card(Rank.two, Suit.club)}) == 52",
    "Card(Rank.two, Suit.club) != Card(Rank.two, Suit.heart)",
    "[*Suit] == [1, 2, 3, 4] and Suit.club < Suit.heart < Suit.diamond < Suit.spade",
    "[*Rank] == [*range(2, 15)] and Rank.ace - Rank.two == 12 and 100 * Rank.ten + 1 == 1001",
    "[rank for rank in Rank if rank != Rank.one_ace] == [*Rank]",
    "not isinstance(Card(Rank.two, Suit.club), tuple) and 'two' in repr(Card(Rank.two, Suit.club))",
    "Other(199, 1, False) == Other(chips=199, bet_amt=1, died=False)",
    "evaluate([Card(Rank.ace, Suit.club), Card(Rank.ace, Suit.heart)], []) == (2, 14)",
    "evaluate(player_cards=[], community_cards=[Card(Rank.two, Suit.club)] * 3) == (4, 2)",
    "evaluate(community_cards=[], player_cards=[Card(Rank.two, Suit.club)]) == (1, Rank.two)",
    "evaluate([], [Card(rank, Suit.club) for rank in range(2, 7)]) == (MadeHands.straight_flush, Rank.six)",
    "evaluate([], [Card(rank, Suit.club) for rank in Rank] * 4)[0] == MadeHands.four_of_a_kind",
    "evaluate([Twin(14, 1), Twin(14, 2)], [Card(Rank.two, Suit.club)]) == (MadeHands.pair, 14)",
    "100 * evaluate([Card(9, 1)], [])[0] + evaluate([Card(9, 1)], [])[1] == 109",
    "holdem.core.cards.Card is Card and deck.init().cards[0] == Card(Rank.two, Suit.club)",
    "deck.draw(deck.flop(deck.shuffle(deck.init())))[1].community_cards[0] in deck.init().cards",
    "raised(lambda: setattr(Card(Rank.two, Suit.club), 'rank', Rank.ace), AttributeError)",
    "raised(lambda: evaluate([], []), IndexError)",
]


def test_the_package_is_what_bots_of_2018_know(tmp_path: Path) -> None:
    code = f"""
        from collections import namedtuple
        import holdem.core.cards
        from holdem.core import deck
        from holdem.core.cards import Card, Rank, Suit
        from holdem.core.madehands import MadeHands, evaluate
        from holdem.player import Other
        from holdem.timeout import Timeout
        Twin = namedtuple("Twin", "rank suit")
        def raised(work, error):
            try:
                work()
            except error:
                return True
        print([claim for claim in {CLAIMS} if eval(claim) is not True])
    """
    assert in_the_kit(tmp_path, code) == "[]\n"


def test_every_recorded_evaluation_is_reproduced_by_the_module_that_bots_import(tmp_path: Path) -> None:
    with gzip.open(OUR_VECTORS / "holdem_evals.jsonl.gz", "rt") as recorded:
        told = in_the_kit(tmp_path, RECORDED, recorded.read())
    checked, wrong = json.loads(told)
    assert (checked > 1000, wrong) == (True, [])


RECORDED = """
    import json, sys
    from holdem.core.cards import Card, Rank, Suit
    from holdem.core.madehands import MadeHands, evaluate
    def cards(names):
        at = range(0, len(names), 2)
        return [Card(Rank("23456789TJQKA".index(names[n]) + 2), Suit("chds".index(names[n + 1]) + 1)) for n in at]
    wrong, lines = [], [json.loads(line) for line in sys.stdin]
    for line in lines:
        worth = evaluate(cards(line["hand"]), cards(line["board"]))
        if worth != (line["category"], line["rank"]) or [*map(type, worth)] != [MadeHands, Rank]:
            wrong.append(line["id"])
    print(json.dumps([len(lines), wrong]))
"""


def test_a_bot_may_have_modules_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "tables.py").write_text("from .core.cards import Rank\nBEST = Rank.ace\n")
    top = "from .tables import BEST\nfrom holdem.core.cards import Card as Same\nassert Same is Card"
    assert answers(tmp_path, "return BEST - 13", top=top) == [Move("BET", 1)] * 2


# Questions to a bot.


def test_bet_gets_the_eight_things_that_the_engine_gave_it(tmp_path: Path) -> None:
    view = next(view for view in EXAMPLES if view.bet_players and view.betting_players and view.community_cards)
    body = """
        def named(cards):
            return "".join("23456789TJQKA"[card.rank - 2] + "chds"[card.suit - 1] for card in cards)
        def told(others):
            return [(other.chips, other.bet_amt, other.died) for other in others]
        mine = (my_chips, named(my_cards), told(bet_players), told(betting_players), named(community_cards))
        types = {type(other.died) for other in bet_players} | {type(my_cards), type(my_cards[0].rank)}
        assert types == {bool, list, Rank}, types
        return hash(repr((*mine, min_bet_amt, max_bet_amt, total_bet_amt))) == hash(WANTED)
    """
    wanted = tuple([tuple(other) for other in field] if type(field) is tuple else field for field in view)
    assert answers(tmp_path, body, [view], f"WANTED = {wanted!r}\nWANTED = repr(WANTED)") == [Move("BET", 1)]


def test_the_cards_of_every_question_can_be_evaluated(tmp_path: Path) -> None:
    told = answers(tmp_path, "return evaluate(my_cards, community_cards)[0]", EXAMPLES)
    assert all(isinstance(answer, Move) and 1 <= answer.n <= 10 for answer in told)


def test_lists_that_a_bot_takes_apart_are_whole_again_in_the_next_question(tmp_path: Path) -> None:
    body = """
        seen = len(my_cards) + len(community_cards) + len(bet_players + betting_players)
        for other in bet_players + betting_players:
            seen += 10 * other.died
            other.chips, other.died = 0, True
        my_cards[:] = [Card(Rank.ace, Suit.spade)] * 2
        community_cards.clear()
        bet_players.append(betting_players)
        object.__setattr__(my_cards[0], "rank", Rank.two)
        return seen
    """
    others = FLOP.bet_players + FLOP.betting_players
    seen = 2 + 3 + len(others) + 10 * sum(other.died for other in others)
    assert answers(tmp_path, body, [FLOP] * 3) == [Move("BET", seen)] * 3


@pytest.mark.parametrize(
    "cheat",
    [
        "frame, found = sys._getframe(), []\nwhile frame:\n    found += [*frame.f_locals.values()]\n    frame = frame.f_back",
        "found = gc.get_objects()",
        "found = [each for module in sys.modules.values() for each in vars(module).values()]",
    ],
    ids=["frames", "objects", "modules"],
)
def test_a_look_around_finds_no_cards_but_its_own(cheat: str, tmp_path: Path) -> None:
    body = f"""
        known = my_cards + community_cards
        {textwrap.indent(cheat, " " * 8).strip()}
        for _ in range(3):
            found += [part for each in found if type(each) in (list, tuple, dict) for part in each]
        cards = {{card for card in found if type(card) is Card}}
        return 1 + len(cards - {{*known}})
    """
    assert answers(tmp_path, body, [*EXAMPLES[:3], FLOP], "import gc, sys") == [Move("BET", 1)] * 4


# Answers of a bot.


RETURNED: dict[str, Answer] = {
    "7": Move("BET", 7),
    "7.9": Move("BET", 7),
    "True": Move("BET", 1),
    "' 7 '": Move("BET", 7),
    "0": Move("BET", 0),
    "-3": Move("BET", -3),
    "10 ** 40": Move("BET", 10**12 - 1),
    "Rank.ten": Move("BET", 10),
    "'7.0'": Fault(FaultKind.EXCEPTION, "ValueError"),
    "None": Fault(FaultKind.EXCEPTION, "TypeError"),
    "[7]": Fault(FaultKind.EXCEPTION, "TypeError"),
    "float('nan')": Fault(FaultKind.EXCEPTION, "ValueError"),
    "float('inf')": Fault(FaultKind.EXCEPTION, "OverflowError"),
    "sys.exit(3)": Fault(FaultKind.EXCEPTION, "SystemExit"),
    "exit()": Fault(FaultKind.EXCEPTION, "SystemExit"),
    "1 / 0": Fault(FaultKind.EXCEPTION, "ZeroDivisionError"),
    "min([other.bet_amt for other in bet_players])": Fault(FaultKind.EXCEPTION, "ValueError"),
    "input()": Fault(FaultKind.EXCEPTION, "EOFError"),
}
"""What a bot returns, and the answer that this is."""


def test_what_bet_returns_is_a_number_as_in_2018(tmp_path: Path) -> None:
    first = next(view for view in EXAMPLES if not view.bet_players)
    choices = "".join(f"lambda: {returned}, " for returned in RETURNED)
    views = [first._replace(my_chips=number) for number in range(len(RETURNED)) for _ in "12"]
    told = answers(tmp_path, f"return [{choices}][my_chips]()", views, "import sys")
    assert told == [answer for answer in RETURNED.values() for _ in "12"]


def test_a_bet_that_calls_itself_without_end_is_an_exception(tmp_path: Path) -> None:
    told = answers(tmp_path, "return bet(*[1] * 8)")
    assert told == [Fault(FaultKind.EXCEPTION, "RecursionError")] * 2


@pytest.mark.parametrize(
    "error",
    helpers.breadth(
        ["AssertionError", "KeyboardInterrupt", "GeneratorExit", "SystemExit", "MemoryError", "StopIteration", "Odd"], 3
    ),
)
def test_an_exception_costs_this_answer_and_nothing_else(error: str, tmp_path: Path) -> None:
    body = "N.append(1)\nif len(N) == 2: raise " + error + "\nreturn len(N)"
    told = answers(tmp_path, body, [FLOP] * 3, "N = []\nclass Odd(BaseException): pass")
    assert told == [Move("BET", 1), Fault(FaultKind.EXCEPTION, error), Move("BET", 3)]


def test_a_bot_that_ends_its_process_is_started_again(tmp_path: Path) -> None:
    body = "N.append(1)\nif len(N) == 2: os._exit(0)\nreturn len(N)"
    told, usage = asked(built(handed_in(tmp_path, body, "import os\nN = []")), [FLOP] * 3)
    assert (told, usage.starts) == ([Move("BET", 1), Fault(FaultKind.EXIT), Move("BET", 1)], 2)


NOISE = """
    print("3")
    print("3", file=sys.__stdout__, flush=True)
    os.write(1, b"3\\n")
    os.system("echo 3")
    subprocess.run([sys.executable, "-c", "print(3)"])
    libc = ctypes.CDLL(None)
    libc.puts(b"3")
    libc.fflush(None)
    return 7
"""


def test_whatever_it_prints_by_whatever_way_is_no_answer(tmp_path: Path) -> None:
    assert answers(tmp_path, NOISE, top="import ctypes, os, subprocess, sys\nprint('3')") == [Move("BET", 7)] * 2


def test_what_it_prints_is_evidence(tmp_path: Path) -> None:
    bot = built(handed_in(tmp_path, "print('thinking', my_chips)\nos._exit(1)", "import os"))

    async def work() -> bytes:
        async with helpers.seat_of(bot, "holdem") as seat:
            await seat.ask(Batch([Question(1, 1, FLOP)]))
            return seat.all_evidence()[0].stderr

    assert f"thinking {FLOP.my_chips}\n".encode() in trio.run(work)


def test_what_a_module_remembers_lives_for_one_game(tmp_path: Path) -> None:
    bot = built(handed_in(tmp_path, "N.append(1)\nreturn len(N)", "N = []"))
    told, usage = asked(bot, [FLOP] * 7, [1, 1, 1, 2, 2, 1, 1])
    assert ([answer.n for answer in told], usage.starts) == ([1, 2, 3, 1, 2, 1, 2], 3)


def test_it_is_at_one_table_at_a_time_whatever_its_manifest_says(tmp_path: Path) -> None:
    bot = built(handed_in(tmp_path, "return 1"))
    assert (bot.spec.lifetime, bot.spec.parallel_tables, bot.spec.protocol) == ("table", 1, "lines")


# Start: each game is forked from an interpreter that has loaded the kit, but nothing of the bot.


def test_every_game_is_a_fork_of_one_interpreter_that_knows_nothing_of_the_bot(tmp_path: Path) -> None:
    if not WARM:
        pytest.skip(COLD)
    top = """
        import builtins, os, random, sys
        from . import player
        things = builtins, os, random, player, Card, sys.modules["convert"], sys.modules["__main__"]
        seen = [thing for thing in things if hasattr(thing, "mark")] + [name for name in sys.modules if name == "marked"]
        for thing in things:
            thing.mark = 1
        sys.modules["marked"] = os
        os.environ["HOME"] = "/tmp"
        print("written", file=open("/tmp/mark", "x"))
    """
    bot = built(handed_in(tmp_path, "return 666 if seen else 1", top))

    async def work() -> tuple[list[Answer], list[list[int]]]:
        told: list[Answer] = []
        processes = []
        async with helpers.seated_in(bot, "holdem") as (seat, sandbox):
            for number in range(1, 4):
                told += await seat.ask(Batch([Question(number, number, FLOP)]))
                processes.append([process.pid for process in descendants(sandbox.pid)])
        return told, processes

    with helpers.nothing_left_behind():
        told, processes = trio.run(work)
    interpreters, players = zip(*processes, strict=True)
    assert (told, len(set(interpreters)), len(set(players))) == ([Move("BET", 1)] * 3, 1, 3)


def test_who_is_killed_while_it_is_stopped_leaves_an_interpreter_that_forks(tmp_path: Path) -> None:
    bot = built(handed_in(tmp_path, "return 1"))

    async def work() -> list[Answer]:
        async with helpers.seated_in(bot, "holdem") as (seat, sandbox):
            told = await seat.ask(Batch([Question(1, 1, FLOP)]))
            sandbox.keeper.pause()
            return told + await seat.ask(Batch([Question(2, 2, FLOP)]))

    assert trio.run(work) == [Move("BET", 1)] * 2


def test_chance_is_a_games_own(tmp_path: Path) -> None:
    bot = built(handed_in(tmp_path, "return LOT", "import random\nLOT = random.randrange(10**9)"))
    told, _ = asked(bot, [FLOP] * 4, [1, 2, 3, 4])
    assert len(set(told)) == 4


def test_threads_made_while_it_is_loaded_live(tmp_path: Path) -> None:
    top = """
        import queue, threading
        asked, told = queue.Queue(), queue.Queue()
        def think():
            while True:
                told.put(asked.get() + 1)
        threading.Thread(target=think, daemon=True).start()
    """
    told, usage = asked(built(handed_in(tmp_path, "asked.put(4)\nreturn told.get()", top)), [FLOP] * 4, [1, 1, 2, 2])
    assert (told, usage.starts) == ([Move("BET", 5)] * 4, 2)


def test_no_kit_that_a_bot_has_written_runs_in_the_interpreter(tmp_path: Path) -> None:
    if not WARM:
        pytest.skip(COLD)
    top = """
        try:
            open("convert.py", "w").write("line = lambda returned: '666'")
        except OSError:
            pass
    """
    bot = built(handed_in(tmp_path, "return 1", top))
    assert asked(bot, [FLOP])[0] == [Move("BET", 1)]
    assert asked(bot._replace(warm=()), [FLOP])[0] == [Move("BET", 666)]


def made_ready(folder: Path) -> BuiltBot:
    """Prepare a submission for play, as before a tournament."""
    return trio.run(prepare_bots, [load_submission(folder)], GAME, helpers.AMPLE, helpers.level()).bots[0]


@pytest.mark.long
def test_who_answers_otherwise_warm_starts_cold_and_check_says_so(tmp_path: Path) -> None:
    if not WARM:
        pytest.skip(COLD)
    folder = handed_in(tmp_path, "return 1 + ('ctypes' in sys.modules)", "import sys")
    report, found = trio.run(check_bot, load_submission(folder), GAME, helpers.level(), helpers.AMPLE)
    assert made_ready(folder).warm == ()
    assert report.accepted and found.bot and found.bot.warm == ()
    assert "answers differ from a cold start, so it starts cold" in "\n".join(report.text())


@pytest.mark.long
def test_who_plays_by_chance_is_no_other_warm(tmp_path: Path) -> None:
    assert made_ready(handed_in(tmp_path, "return random.randrange(10**9)", "import random")).warm


# Time limits.


def test_who_takes_too_long_gets_the_exception_of_2018_and_lives_on(tmp_path: Path) -> None:
    body = """
        N.append(1)
        if len(N) == 2:
            try:
                while True:
                    pass
            finally:
                N.append(1)
        return len(N)
    """
    told, usage = asked(built(handed_in(tmp_path, body, "N = []", SOON)), [FLOP] * 3)
    assert told == [Move("BET", 1), Fault(FaultKind.TIMEOUT, "TimeoutError"), Move("BET", 4)]
    assert usage.starts == 1


@pytest.mark.parametrize(
    ("body", "answer"),
    helpers.breadth(
        [
            ("time.sleep(60)", Fault(FaultKind.TIMEOUT, "TimeoutError")),
            ("return Slow()", Fault(FaultKind.TIMEOUT, "TimeoutError")),
            ("raise TimeoutError('my own')", Fault(FaultKind.TIMEOUT, "TimeoutError")),
            ("raise Late('a kind of it')", Fault(FaultKind.TIMEOUT, "TimeoutError")),
            ("try:\n    time.sleep(60)\nexcept TimeoutError:\n    return 5", Move("BET", 5)),
            (
                "try:\n    time.sleep(60)\nexcept TimeoutError:\n    raise KeyError",
                Fault(FaultKind.EXCEPTION, "KeyError"),
            ),
            ("signal.signal(signal.SIGALRM, signal.SIG_IGN)\nreturn 5", Move("BET", 5)),
            ("with Timeout(0.01):\n    time.sleep(60)", Fault(FaultKind.TIMEOUT, "TimeoutError")),
        ],
        2,
    ),
)
def test_the_alarm_of_2018_can_be_felt_and_caught(body: str, answer: Answer, tmp_path: Path) -> None:
    top = """
        import signal, time
        from .timeout import Timeout
        class Slow:
            def __int__(self):
                time.sleep(60)
        class Late(TimeoutError):
            pass
    """
    told, usage = asked(built(handed_in(tmp_path, body, top, SOON)), [FLOP] * 2)
    assert (told, usage.starts) == ([answer] * 2, 1)


@pytest.mark.timing
def test_who_swallows_the_exception_is_killed_by_the_host(tmp_path: Path) -> None:
    body = """
        N.append(1)
        while len(N) == 2:
            try:
                time.sleep(60)
            except BaseException:
                pass
        return len(N)
    """
    limits = helpers.AMPLE._replace(move=1.0)
    told, usage = asked(built(handed_in(tmp_path, body, "import time\nN = []", SOON), limits), [FLOP] * 3)
    assert (told, usage.starts) == ([Move("BET", 1), Fault(FaultKind.TIMEOUT), Move("BET", 1)], 2)


def test_twenty_time_outs_bench_it_and_twenty_exceptions_do_not(tmp_path: Path) -> None:
    bot = built(handed_in(tmp_path, "raise (TimeoutError, KeyError)[my_chips % 2]"))
    even, odd = (next(view for view in EXAMPLES if view.my_chips % 2 == rest) for rest in (0, 1))
    told, _ = asked(bot, [odd] * 21 + [even] * 21)
    faults = [answer.kind for answer in told if isinstance(answer, Fault)]
    assert faults == [FaultKind.EXCEPTION] * 21 + [FaultKind.TIMEOUT] * 20 + [FaultKind.BENCHED]


# Bots that are refused.


@pytest.mark.parametrize(
    ("source", "where"),
    helpers.breadth(
        [
            ("x = 1\ndef always_bet(chips):\n    return 1\n", "turn.py:2: error: there is no function named bet"),
            ("bet = 7\n", "turn.py:1: error: there is no function named bet"),
            ("import os\ndef bet(:\n    return 1\n", "turn.py:2"),
            ("def bet(*_): return 1\n\nfrom .core.cards import Joker\n", "turn.py:3: error: ImportError"),
            ("def f():\n    raise KeyError('x')\nf()\ndef bet(*_): return 1\n", "turn.py:2: error: KeyError"),
            ("import sys\nsys.exit(0)\n", "turn.py:2: error: SystemExit"),
        ],
        2,
    ),
)
def test_a_file_without_a_bet_is_refused_with_its_line(source: str, where: str, tmp_path: Path) -> None:
    folder = handed_in(tmp_path, "return 1")
    (folder / "turn.py").write_text(source)
    with pytest.raises(UserError) as refused:
        built(folder)
    assert where in str(refused.value)


def test_a_bet_may_come_from_another_module(tmp_path: Path) -> None:
    folder = handed_in(tmp_path, "return 1")
    (folder / "strategy.py").write_text((folder / "turn.py").read_text())
    (folder / "turn.py").write_text("from .strategy import bet\n")
    (folder / "bot.toml").write_text('name = "Turn"\nadapter = "banksalad"\nentry = "turn.py"\n')
    assert asked(built(folder), [FLOP])[0] == [Move("BET", 1)]


def test_whoever_hands_the_package_in_too_is_told_to_leave_it_out(tmp_path: Path) -> None:
    folder = handed_in(tmp_path, "return 1")
    (folder / "holdem").mkdir()
    (folder / "holdem" / "player.py").write_text("class Other: pass\n")
    (folder / "bot.toml").write_text('name = "Turn"\nadapter = "banksalad"\nentry = "turn.py"\n')
    with pytest.raises(UserError, match=r"holdem/player\.py"):
        built(folder)


@pytest.mark.parametrize(
    "first", helpers.breadth(["", "from .core import cards", "from . import player", "import random"], 3)
)
def test_an_original_file_alone_is_recognized(first: str, tmp_path: Path) -> None:
    (handed_in(tmp_path, "return min_bet_amt") / "bot.toml").unlink()
    whole = (tmp_path / "turn.py").read_text()
    (tmp_path / "turn.py").write_text(f"{first}\n{whole[whole.index('def bet') :] if first else whole}")
    done = croupier("check", tmp_path / "turn.py")
    assert done.code == 0, done.out
    assert done.out.startswith("turn · python · lines · holdem · adapter banksalad")
    assert load_submission(tmp_path).spec.adapter == "banksalad"
