"""Every game works with every protocol: questions match the grammar, and all answers are parsed by it."""

import json
import re
from itertools import pairwise
from random import Random
from typing import NamedTuple
from urllib.parse import unquote

import pytest
import trio
from helpers import CACHE, built, offenders, seat_of, some_of_all, written
from hypothesis import example, given, settings
from hypothesis import strategies as st

from host.bots.bot_spec import BuiltBot
from host.bots.values import Batch, Question
from host.games import GAMES
from host.games.engine import Game
from host.games.holdem import Other
from host.games.holdem import View as HoldemView
from host.play.records import pack, unpack
from protocols import PROTOCOLS, argv
from protocols.jsonlines import to_json_value
from protocols.wire import (
    MAX_CACHED_SPELLINGS,
    MAX_TEXT,
    Answer,
    Fault,
    FaultKind,
    Grammar,
    Move,
    Protocol,
    Range,
    View,
    Word,
    encode_views,
    in_ranges,
    ranges,
    spell,
)

LONGEST = 4096

# The manual's grammar of answers, written a second time and independently of the code.
SPOKEN = {
    "cardshark": re.compile(rb" *([HSDhsd]|[Bb] +[+-]?[0-9]{1,12}(\.[0-9]*)?)( [\x20-\x7e]*)?"),
    "pazaak": re.compile(rb" *([Ee][Nn][Dd]|[Ss][Tt][Aa][Nn][Dd]|[Pp][Ll][Aa][Yy] [0-9]{1,2}) *"),
    "holdem": re.compile(rb" *-?[0-9]{1,12} *"),
    "hearts": re.compile(rb" *(LOW|HIGH|(PASS|PLAY)( [2-9TJQKA][cdsh]){1,3}) *"),
    "briscola": re.compile(rb" *(LOW|HIGH|PLAY [2-7JQKA][cdsh]) *"),
}
GOOD = {
    "cardshark": {b"H": Move("H"), b"s": Move("S"), b"B 15": Move("B", 15), b"B -15.7 and more": Move("B", -15)},
    "pazaak": {b"END": Move("END"), b"stand": Move("STAND"), b"PLAY 3": Move("PLAY", 3), b" Play 03 ": Move("PLAY", 3)},
    "hearts": {
        b"LOW": Move("LOW"),
        b"HIGH ": Move("HIGH"),
        b" PLAY Qs ": Move("PLAY", 0, "Qs"),
        b"PASS Qs Th 2c": Move("PASS", 0, "Qs Th 2c"),
    },
    "briscola": {
        b"LOW": Move("LOW"),
        b"HIGH ": Move("HIGH"),
        b" PLAY 3c ": Move("PLAY", 0, "3c"),
        b"PLAY Ah": Move("PLAY", 0, "Ah"),
    },
    "holdem": {b"0": Move("BET", 0), b"17": Move("BET", 17), b"-5": Move("BET", -5), b" 007": Move("BET", 7)},
}
REPORT = re.compile(rb" *! ?[A-Za-z_][A-Za-z0-9_.]{0,99} *")

PAIRS = [(game, protocol) for game in GAMES.values() for protocol in PROTOCOLS.values()]
LIVING = some_of_all(GAMES.values(), [protocol for protocol in PROTOCOLS.values() if protocol.persistent])
SPEAKING = pytest.mark.parametrize(("game", "protocol"), some_of_all(GAMES.values(), PROTOCOLS.values()))


def first_question(protocol: Protocol, view: View) -> bytes:
    """Return what a new process of a persistent bot is sent for its first question."""
    return protocol.framing().encode([Question(1, 1, view)])


def fields_of(protocol: Protocol, view: View) -> list[bytes]:
    """Return the fields of a question."""
    if not protocol.persistent:
        return argv.ask(view)
    text = first_question(protocol, view)
    assert text.endswith(b"\n")
    if protocol.name == "block":
        return text[:-1].split(b"\n")
    if protocol.name == "botzone-simple":
        text = text.removeprefix(b"1\n")  # one request
    assert text.count(b"\n") == 1
    return text[:-1].split(b" ")


MEMBER = {"json": "move", "botzone": "response"}
"""The member of an answer that is the move, in the protocols whose answers are JSON objects."""


def answer_line(protocol: Protocol, said: bytes) -> bytes:
    """Return an answer in the form of a protocol, without its line end."""
    member = MEMBER.get(protocol.name)
    return json.dumps({member: said.decode("latin-1")}).encode() if member else said


# Questions.


def test_a_question_is_one_line_of_at_most_4096_bytes_without_an_empty_field() -> None:
    assert not offenders(check_question, PAIRS)


def check_question(game: Game, protocol: Protocol) -> None:
    """Check the questions of a game in the form of a protocol."""
    for view in game.examples:
        fields = fields_of(protocol, view)
        assert all(fields)
        assert len(b" ".join(fields)) <= LONGEST
        assert re.fullmatch(rb"[\x20-\x7e]+", b" ".join(fields))


@pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))
def test_argv_and_lines_say_the_same_fields_in_the_views_order(game: Game) -> None:
    for view in game.examples:
        by_argv = fields_of(PROTOCOLS["argv"], view)
        assert by_argv == fields_of(PROTOCOLS["lines"], view)
        assert len(by_argv) == len(view)


def test_lists_of_players_are_said_alike_by_argv_and_lines_whether_they_were_said_before_or_not() -> None:
    random = Random("players")

    def others() -> tuple[Other, ...]:
        return tuple(Other(*random.choices(range(3), k=2), random.random() < 0.5) for _ in range(random.randrange(5)))

    def listed(others: tuple[Other, ...]) -> str:
        return ",".join(f"{chips}:{bet_amt}:{died:d}" for chips, bet_amt, died in others) or "-"

    views = [HoldemView(1, "AhKd", others(), others(), random.choice(["", "2c7hTh"]), 0, 2, 3) for _ in range(200)]
    said = [
        f"1 AhKd {listed(view.bet_players)} {listed(view.betting_players)} {view.community_cards or '-'} 0 2 3"
        for view in views
    ]
    assert [b" ".join(argv.ask(view)).decode() for view in views] == said
    assert encode_views(views).decode().splitlines() == said


def test_a_hand_is_said_alike_however_many_others_were_said_before() -> None:
    hands = [(number, number % 7, 3) for number in range(MAX_CACHED_SPELLINGS + 10)]
    said = [f"{first},{second},3" for first, second, _ in hands]
    assert [spell(hand) for hand in hands] == said
    assert [spell(hand) for hand in hands[:10]] == said[:10]


@pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))
def test_json_says_every_field_by_its_name(game: Game) -> None:
    for view in game.examples:
        said = json.loads(PROTOCOLS["json"].encode(view))
        assert tuple(said) == game.view._fields
        assert len(said) == len(view)


def test_a_numbered_question_says_its_table_first_and_an_answer_repeats_it() -> None:
    assert not offenders(check_number, [pair for pair in PAIRS if pair[1].persistent and not pair[1].repeats])


def check_number(game: Game, protocol: Protocol) -> None:
    """Check numbered questions and answers."""
    for view in game.examples:
        line = first_question(protocol, view)
        numbered = protocol.number(17, line)
        said = next(iter(GOOD[game.name]))
        if protocol.name == "json":
            assert json.loads(numbered) == {"table": 17} | json.loads(line)
            answer = b'{"table":17,"move":"%b"}' % said
            assert json.loads(protocol.over(17)) == {"over": 17}
        else:
            assert numbered == (b"17 " if protocol.one_line else b"17\n") + line
            answer = b"17 " + said
            assert protocol.over(17) == b"over 17\n"
        table, rest = protocol.split_table_number(answer)
        assert table == 17
        assert protocol.receive(game.grammar, rest) == GOOD[game.name][said]


@pytest.mark.parametrize(
    "answer", [b"", b" 1 S", b"01 S", b"0 S", b"-1 S", b"1", b"1_0 S", b"S", b"1\tS", "١ S".encode(), b"9" * 13 + b" S"]
)
def test_an_answer_without_a_plain_number_names_no_table(answer: bytes) -> None:
    assert PROTOCOLS["lines"].split_table_number(answer)[0] == 0


@pytest.mark.parametrize(
    "answer",
    [b"", b"{}", b'{"table":true}', b'{"table":"1"}', b'{"table":1.0}', b"[1]", b"1", b"[" * 4000, b'{"table":null}'],
)
def test_an_object_without_a_whole_number_names_no_table(answer: bytes) -> None:
    assert PROTOCOLS["json"].split_table_number(answer)[0] == 0


# Answers.


def test_an_answer_is_read_with_any_line_end() -> None:
    assert not offenders(check_line_ends, PAIRS)


def check_line_ends(game: Game, protocol: Protocol) -> None:
    """Check an answer with each line end."""
    for said, move in GOOD[game.name].items():
        line = answer_line(protocol, said)
        for line_end in (b"", b"\r") if protocol.name == "block" else (b"", b"\n", b"\r\n"):
            assert protocol.receive(game.grammar, line + line_end) == move


def test_a_second_line_is_no_part_of_an_answer() -> None:
    assert not offenders(check_second_line, [pair for pair in PAIRS if not pair[1].repeats])


def check_second_line(game: Game, protocol: Protocol) -> None:
    """Check an answer with a second line."""
    line = answer_line(protocol, next(iter(GOOD[game.name])))
    for trailing in (b"\n\n", b"\n" + line, b"\r\n\r\n", b"\n\0", b"\n "):
        answer = protocol.receive(game.grammar, line + trailing)
        assert isinstance(answer, Fault)
        assert answer.kind in ({FaultKind.EXTRA} if not protocol.persistent else {FaultKind.UNREADABLE})


UNREADABLE = [
    *(b"", b"\n", b"\0", b"S\0", b"\xef\xbb\xbfS", b"S\x1b[0m", b"S\tH", b"S\x0b", b"S\x7f", b"\r", b"S\rH"),
    *(b"1_0", b"B 1_0", b"0x10", b"nan", b"inf", b"1e3", b"--1", "B １".encode(), "١".encode(), "PLAY ³".encode()),
    *(b"PLAY 3.0", b"PLAY 100", b"PLAY -1", b"!", b"! ", b"! 1x", b"B", b"B ", b"B x", b"B 1234567890123", b"HS"),
    *(b"HIT", b"S!", b"ENDS", b"STANDING", b"S\x85H", "S\u2028H".encode()),
]


def test_what_the_grammar_does_not_know_is_unreadable() -> None:
    readable = [
        (game.name, protocol.name, said)
        for game, protocol in PAIRS
        for said in UNREADABLE
        if not SPOKEN[game.name].fullmatch(said)
        if protocol.receive(game.grammar, answer_line(protocol, said)) != Fault(FaultKind.UNREADABLE)
    ]
    assert not readable


def test_the_longest_line_is_4096_bytes() -> None:
    assert not offenders(check_longest_line, [pair for pair in PAIRS if pair[1].name != "botzone"])


def check_longest_line(game: Game, protocol: Protocol) -> None:
    """Check an answer of 4096 bytes and one of 4097."""
    line = answer_line(protocol, next(iter(GOOD[game.name])))
    longest = line + b" " * (LONGEST - len(line))

    assert isinstance(protocol.receive(game.grammar, longest), Move)
    assert isinstance(protocol.receive(game.grammar, longest + (b"\r" if protocol.name == "block" else b"\r\n")), Move)
    assert protocol.receive(game.grammar, longest + b" ") == Fault(FaultKind.FLOOD)


def test_an_adapter_reports_an_exception_by_its_class() -> None:
    assert not offenders(check_exception, PAIRS)


def check_exception(game: Game, protocol: Protocol) -> None:
    """Check the report of an exception."""

    def read(said: bytes) -> Answer:
        return protocol.receive(game.grammar, answer_line(protocol, said))

    assert read(b"! ZeroDivisionError") == Fault(FaultKind.EXCEPTION, "ZeroDivisionError")
    assert read(b"!java.lang.Error") == Fault(FaultKind.EXCEPTION, "java.lang.Error")
    assert read(b"! TimeoutError") == Fault(FaultKind.TIMEOUT, "TimeoutError")


NEARLY = st.sampled_from(
    [
        *(b"H", b"S", b"D", b"B", b"B 1", b"END", b"STAND", b"PLAY ", b"PLAY 3", b"-", b"+", b".", b"5", b"12", b" "),
        *(b"!", b"! E", b"\0", b"\r", b"\n", b"\x85", b"\xe2\x80\xa8", b"_", "٣".encode(), "ſ".encode(), b"\t"),
        *(b"{", b"}", b'"move":', b'"', b"\\u0053"),
    ]
)
NOISE = st.one_of(
    st.binary(max_size=40), st.lists(NEARLY, max_size=8).map(b"".join), st.binary(min_size=4090, max_size=4200)
)


@SPEAKING
@given(data=NOISE)
@example(data=b'{"move":"S"}')
@example(data=b'{"move":"S","move":"H"}')
@example(data=b'\t{"move":"S"}')
@example(data=b'{"move":5}')
@example(data=b'{"move":true}')
@example(data=b'{"move":NaN}')
@example(data=b'{"move":' + b"9" * 4000 + b"}")
@example(data=b"[" * 4000)
@example(data=b'{"move":"\\ud800"}')
@example(data=b'{"move":"S\\n"}')
@example(data=b'{"response":"S","debug":"\xc3\xa9"}')
@example(data=b'{"response":NaN}')
@example(data=b'"S"')
@example(data=b"S\n\ndata\nglobal")
@settings(max_examples=80, deadline=None)
def test_whatever_comes_is_read_as_a_fault_or_as_the_move_it_spells(
    game: Game, protocol: Protocol, data: bytes
) -> None:
    answer = protocol.receive(game.grammar, data)

    assert isinstance(answer, Move | Fault)
    if isinstance(answer, Fault) and answer.kind in (FaultKind.EXTRA, FaultKind.FLOOD, FaultKind.UNREADABLE):
        return
    line = data.removesuffix(b"\n").removesuffix(b"\r")
    if protocol.name == "botzone":
        value = json.loads(data)
        line = str(value["response"] if isinstance(value, dict) and "response" in value else value).encode()
    elif protocol.name == "botzone-simple":
        line = data.split(b"\n")[0].removesuffix(b"\r")
    assert len(line) <= LONGEST
    assert re.fullmatch(rb"[\x20-\x7e]*", line)
    if protocol.name == "json":
        said = json.loads(line)["move"]
        line = str(said).encode()
    if isinstance(answer, Fault):
        assert REPORT.fullmatch(line)
    else:
        assert SPOKEN[game.name].fullmatch(line)


@pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))
@given(data=NOISE)
@example(data=b"0\r")
@settings(max_examples=80, deadline=None)
def test_every_line_that_the_grammar_knows_is_a_move(game: Game, data: bytes) -> None:
    line = data.removesuffix(b"\n").removesuffix(b"\r")
    known = len(line) <= LONGEST and SPOKEN[game.name].fullmatch(line)

    answer = PROTOCOLS["lines"].receive(game.grammar, data)

    assert isinstance(answer, Move) == bool(known)


# The same questions through real pipes to real bots.

DRIPS = """
import json, sys, time
protocol, fields, answers = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
members = {"json": "move", "botzone": "response"}
def numbers():
    first = sys.stdin.readline()
    if protocol.startswith("botzone"):
        yield len(json.loads(first)["requests"]) - 1 if protocol == "botzone" else int(first) - 1
        return
    number = 0
    while first and (protocol != "block" or all(sys.stdin.readline() for _ in range(fields - 1))):
        yield number
        number, first = number + 1, sys.stdin.readline()
for number in numbers():
    said = answers[number % len(answers)]
    line = json.dumps({members[protocol]: said}) if protocol in members else said
    line += "\\r\\n" * (number % 2) + "\\n" * (1 - number % 2)
    for byte in line:
        sys.stdout.buffer.raw.write(byte.encode())
        time.sleep(0.001)
"""


@pytest.mark.parametrize(("game", "protocol"), LIVING)
def test_answers_that_drip_byte_by_byte_are_read_as_whole_ones(game: Game, protocol: Protocol) -> None:
    folder = CACHE / "drips"
    folder.mkdir(exist_ok=True)
    bot = built(written(DRIPS, ".py", folder, "drips"), game.name, protocol=protocol.name)
    said = [said.decode() for said in GOOD[game.name]]
    bot = bot._replace(argv=(*bot.argv, protocol.name, str(len(game.view._fields)), *said))

    answers = asked(game, bot, list(game.examples[:8]))

    assert answers == (list(GOOD[game.name].values()) * 2)[:8]


ECHOES = """
import os, sys
os.write(2, os.read(0, 1 << 16) if len(sys.argv) < 3 else "\\n".join([*sys.argv[1:], ""]).encode())
print("?")
"""


@SPEAKING
def test_a_real_bot_is_asked_in_the_bytes_that_the_protocol_spells(game: Game, protocol: Protocol) -> None:
    folder = CACHE / "echoes"
    folder.mkdir(exist_ok=True)
    bot = built(written(ECHOES, ".py", folder, "echoes"), game.name, protocol=protocol.name)

    for view in game.examples[:3]:
        ((heard, _),) = heard_by(game, bot, [view])
        assert heard == (first_question(protocol, view) if protocol.persistent else b"\n".join(argv.ask(view)) + b"\n")


def asked(game: Game, bot: BuiltBot, views: list[View]) -> list[Answer]:
    """Ask a real bot in its sandbox a number of questions, one by one; return its answers."""
    return [answer for _, answer in heard_by(game, bot, views)]


def heard_by(game: Game, bot: BuiltBot, views: list[View]) -> list[tuple[bytes, Answer]]:
    """Return each answer of a bot with its standard error up to then."""

    async def work() -> list[tuple[bytes, Answer]]:
        told = []
        async with seat_of(bot, game.name) as seat:
            for number, view in enumerate(views, 1):
                (answer,) = await seat.ask(Batch([Question(1, number, view)]))
                told.append((seat.evidence[-1].stderr if seat.evidence else b"", answer))
        return told

    return trio.run(work)


# Moves with a text.

SAYING = Grammar(re.compile(r"(?P<verb>PASS (?P<text>.*)|BID (?P<n>[0-9]{1,2}))"), "PASS <text>")
ONLY_TEXT = Grammar(re.compile(r"(?P<text>[^0-9].*)|(?P<n>[0-9]+)"), "a text or a number", verb="SAY")
PRINTABLE_TEXT = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=MAX_TEXT)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
@pytest.mark.parametrize(
    "text", ["QS 2H, AC", "a <b>x</b> %2C,%,!", "x" * MAX_TEXT], ids=["cards", "markup", "a thousand"]
)
def test_a_move_has_a_text_of_printable_characters(protocol: Protocol, text: str) -> None:
    said = answer_line(protocol, f"PASS {text}".encode())
    assert protocol.receive(SAYING, said) == Move("PASS", text=text)
    assert SAYING.spell(Move("PASS", text=text)) == f"PASS {text}"
    assert protocol.receive(SAYING, answer_line(protocol, b"PASS \x1b[31m")) == Fault(FaultKind.UNREADABLE)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda protocol: protocol.name)
@pytest.mark.parametrize(
    ("game", "said"), [("cardshark", "B 0"), ("pazaak", "PLAY 0"), ("holdem", "0"), ("hearts", "LOW")]
)
def test_a_move_that_was_read_is_written_with_its_number_even_if_that_is_0(
    game: str, said: str, protocol: Protocol
) -> None:
    grammar = GAMES[game].grammar
    move = protocol.receive(grammar, answer_line(protocol, said.encode()))

    assert isinstance(move, Move) and grammar.spell(move) == said
    assert protocol.receive(grammar, protocol.write(grammar, move).removesuffix(b"\n")) == move


@pytest.mark.parametrize("number", [b"x", b"1.5", b"--1"])
def test_a_number_that_is_none_is_unreadable_even_if_the_pattern_of_a_game_lets_it_pass(number: bytes) -> None:
    careless = Grammar(re.compile(r"(?P<verb>BID) (?P<n>.*)"), "BID <n>")
    assert PROTOCOLS["lines"].receive(careless, b"BID " + number) == Fault(FaultKind.UNREADABLE)


@pytest.mark.parametrize(
    ("said", "move"),
    [(b"e4", Move("SAY", text="e4")), (b"17", Move("SAY", 17)), (b"0", Move("SAY"))],
)
def test_a_game_may_have_moves_that_are_only_texts(said: bytes, move: Move) -> None:
    assert PROTOCOLS["lines"].receive(ONLY_TEXT, said) == move and ONLY_TEXT.spell(move) == said.decode()


TEXTS = st.builds(
    Move,
    st.sampled_from(["PASS", "B", "!EXIT", "A,B%2C", "%21"]),
    st.integers(-5, 99),
    PRINTABLE_TEXT | st.text("%,\n2C!05A "),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(TEXTS | st.sampled_from([Move("H"), Fault(FaultKind.EXCEPTION, "KeyError")]), max_size=4)))
def test_journals_store_every_text_of_a_move(tables: list[list[Answer]]) -> None:
    assert unpack(pack(tables or [[]])) == (tables or [[]])


class Passed(NamedTuple):
    """A text of a player."""

    text: str
    points: int


class Passing(NamedTuple):
    """A view with what another bot has written: alone, in a list, and in a list of structures."""

    turn: int
    last: str
    all: tuple[str, ...]
    players: tuple[Passed, ...]


@pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))
def test_no_game_of_croupier_spends_time_on_examining_its_own_words(game: Game) -> None:
    kinds = game.view.__annotations__
    assert str not in kinds.values()
    words = [getattr(view, name) for view in game.examples for name, kind in kinds.items() if kind is Word]
    assert all(re.fullmatch("[!-$&-~]*", word) for word in words)


def decoded(field: str) -> str:
    """Return a text of a question, as the manual says."""
    return "" if field == "-" else unquote(field)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
@given(texts=st.lists(PRINTABLE_TEXT.filter(lambda text: text != "-") | st.text(max_size=20), min_size=1, max_size=3))
@example(texts=["S 99 AAA a,b:c %2C - {} <b>"])
@example(texts=["\n", "\x00\r\t", "é\u2028", "\ud800"])
def test_a_text_of_another_bot_stays_one_field_however_it_is_asked(protocol: Protocol, texts: list[str]) -> None:
    view = Passing(7, texts[0], tuple(texts), tuple(Passed(text, 3) for text in texts))
    before = Passing(1, "QS", (), ())
    if protocol.one_line:
        several = [Question(1, number, each) for number, each in enumerate((before, view, before))]
        said = protocol.encode(before) + protocol.encode(view) + protocol.encode(before)
        assert protocol.framing().encode(several) == said
    if protocol.name in MEMBER:
        assert json.loads(protocol.encode(view)) == json.loads(json.dumps(to_json_value(view)))
        return
    fields = [field.decode() for field in fields_of(protocol, view)]
    assert len(fields) == 4 and all(re.fullmatch("[!-~]+", field) for field in fields)
    if "\ud800" not in "".join(texts) and "-" not in texts:
        turn, last, listed, players = fields
        assert (turn, decoded(last)) == ("7", texts[0])
        assert list(map(decoded, listed.split(","))) == texts
        assert [(decoded(player.split(":")[0]), player.split(":")[1:]) for player in players.split(",")] == [
            (text, ["3"]) for text in texts
        ]


# Long lists of legal moves.


class Listing(NamedTuple):
    """A view with many legal moves."""

    seat: int
    legal: tuple[Range, ...]


@given(st.lists(st.integers(-50, 50)))
def test_ranges_hold_exactly_their_numbers(numbers: list[int]) -> None:
    some = ranges(numbers)
    assert [number for number in range(-60, 60) if in_ranges(number, some)] == sorted(set(numbers))
    assert all(one.last + 1 < other.first for one, other in pairwise(some))


def test_ten_thousand_legal_moves_are_one_short_field() -> None:
    view = Listing(1, ranges([*range(10_000), 10_002]))
    assert PROTOCOLS["lines"].encode(view) == b"1 0:9999,10002:10002\n"
    assert argv.ask(view) == [b"1", b"0:9999,10002:10002"]
    legal = b'[{"first":0,"last":9999},{"first":10002,"last":10002}]'
    assert PROTOCOLS["json"].encode(view) == b'{"seat":1,"legal":' + legal + b"}\n"
    assert PROTOCOLS["lines"].encode(Listing(0, ())) == b"0 -\n"
