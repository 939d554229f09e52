"""`croupier ask` and bundles: the same bytes to the same program in the same state, with the time it takes."""

import base64
import gzip
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from command import croupier
from helpers import ROGUES, SAMPLES, level, long, spec_of, written
from test_every_fault import PLAYERS, Rogue

from host.backends.local import local_workers
from host.base.errors import UserError
from host.bots.bot_spec import Submission
from host.bots.values import Outcome
from host.cli.ask_report import AskReport, Difference
from host.cli.plain_view import Quiet
from host.games import GAMES
from host.inspect.bundle import packed, unpacked
from host.inspect.profiler import Profile
from host.inspect.reask import Reply, reask
from host.inspect.recorded import Decision
from host.inspect.repro import Repro, Target, repro_of, with_history
from host.inspect.verify import verify
from host.journal.reader import reading
from host.sandbox.limits import Limits
from host.stages.adhoc import Adhoc
from host.submissions.build import build
from host.tournament.adhoc import AdhocSettings, played
from protocols.wire import Answer, Fault, FaultKind, Move

AMPLE = Limits(move=10, startup=10, cpu=10)


def journal_of(submissions: list[Submission], tables: int, folder: Path, limits: Limits = AMPLE, **rules: Any) -> Path:
    """Play a friendly game; return its journal."""
    game = GAMES[submissions[0].spec.game]
    chosen = game.default_rules._replace(**rules)
    place = folder / "play.sqlite"
    terms = AdhocSettings(game, chosen, Adhoc(tables=tables), submissions, "again", level(), limits)
    trio.run(played, terms, place, local_workers, 1, Quiet())
    return place


def first_fault(journal: Path, bot: str) -> Repro:
    """Return a bot's first fault with the questions that its process answered before."""
    with reading(journal) as book:
        _, path, piece = next(book.evidence("WHERE fault.kind != 'slowest' AND bot = ?", (bot,)))
        return with_history(book, repro_of(book, Target(path, piece.table - 1, piece.number)))


# The same bytes.

LISTENS = """
import hashlib, os, sys
heard = hashlib.sha256()
asked = 0
try:
    old = open("memory").read()
except OSError:
    old = ""
for line in sys.stdin:
    heard.update(line.encode())
    asked += not line.startswith("over")
    if line.startswith("over"):
        continue
    if asked >= 9 or len(old) >= 40:
        print(asked, old[:40], heard.hexdigest(), os.environ["CROUPIER_SEED"], file=sys.stderr)
        sys.exit(3)
    if {state} and os.access("memory", os.W_OK):
        open("memory", "a").write("%d " % asked)
    number = line.split()[0] + " " if {numbers} else ""
    print(number + "S", flush=True)
"""
"""Crashes at its ninth question, or when its file is full; prints the hash of all bytes received so far."""


@pytest.mark.long
@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param("parallel_tables = 1", marks=pytest.mark.long),
        pytest.param("table_ids = true", marks=pytest.mark.long),
        'lifetime = "table"',
        pytest.param('state = "memory"', marks=pytest.mark.long),
    ],
)
def test_a_process_is_told_every_byte_again(manifest: str, tmp_path: Path) -> None:
    folder = tmp_path / "listens"
    folder.mkdir(mode=0o755)
    text = LISTENS.format(state="state" in manifest, numbers="table_ids = true" in manifest)
    written(text, ".py", folder, "listens")
    head = 'name = "listens"\ngame = "cardshark"\nlanguage = "python"\nentry = "listens.py"\nprotocol = "lines"\n'
    (folder / "bot.toml").write_text(head + manifest + "\n")
    submission = spec_of(folder)
    journal = (
        journal_of([submission], 16, tmp_path, hands=12)
        if "lifetime" in manifest
        else journal_of([submission], 96, tmp_path, hands=3)
    )

    found = first_fault(journal, "listens")
    bot = trio.run(build, submission, level())._replace(limits=AMPLE)
    (reply,) = trio.run(reask, bot, found, level())

    assert found.history == ("table" if "lifetime" in manifest else "fixture")
    assert "only the earlier questions" not in " ".join(AskReport(found, bot, level(), [reply], earlier=False).text())
    assert found.evidence is not None and found.evidence.stderr
    assert reply.now.stderr == found.evidence.stderr
    assert reply.now.ended == found.evidence.ended == "exited with 3"


@pytest.mark.long
def test_same_does_not_guess_the_order_of_tables_that_were_played_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "listens"
    folder.mkdir(mode=0o755)
    written(LISTENS.format(state=False, numbers=False), ".py", folder, "listens")
    (folder / "bot.toml").write_text(MANIFEST.format(name="listens") + "parallel_tables = 4\n")
    journal_of([spec_of(folder)], 16, tmp_path, hands=3)
    where = ("ask", folder, "play/listens/2:2", "--journal", tmp_path / "play.sqlite")

    told = croupier(*where, "--same", "--json").json
    text = croupier(*where, "--same").out

    assert (told["history"], told["asked_before"]) == ("table", 1)
    assert "  note     it takes up to 4 tables at a time, and their order is not recorded: " in text
    assert "note     it takes" not in croupier(*where).out


# A bundle reproduces a fault.


def test_a_bundle_is_the_repro_it_was_made_of(friends: Path, tmp_path: Path) -> None:
    (journal,) = (friends / ".croupier").glob("*.sqlite")
    found = first_fault(journal, "crashes")
    (tmp_path / "x.bundle").write_bytes(packed(found))

    again = unpacked(tmp_path / "x.bundle")

    assert again == found._replace(bot=found.bot._replace(source="", language="", author=""))
    assert str(ROGUES) not in gzip.decompress(packed(found)).decode()


def test_a_bundle_that_is_nested_deep_or_has_a_key_twice_is_none(tmp_path: Path) -> None:
    for text in (f'{{"rules": {{"b": {"[" * 9000}{"]" * 9000}}}}}', '{"schema": "a", "schema": "b"}'):
        (tmp_path / "x.bundle").write_bytes(gzip.compress(text.encode()))
        with pytest.raises(UserError, match="is not a bundle: "):
            unpacked(tmp_path / "x.bundle")


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Return a function that changes the content of a bundle."""

    def work(bundle: bytes) -> bytes:
        told = json.loads(gzip.decompress(bundle))
        change(told)
        return gzip.compress(json.dumps(told).encode())

    return work


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda bundle: bundle[:100], "is not a bundle: Compressed file ended before"),
        (lambda _: b"PK", "is not a bundle: Not a gzipped file (b'PK')"),
        (changed(lambda told: told.update(game="chess")), "is not a bundle: its game is 'chess', not one of "),
        (changed(lambda told: told.update(schema="croupier/bundle/9")), "is not a bundle: its schema is "),
        (
            changed(lambda told: told["bot"].update(protocol="telepathy")),
            "is not a bundle: its protocol is 'telepathy'",
        ),
        (changed(lambda told: told["bot"]["limits"].update(move="1")), "is not a bundle: Expected `float`, got `str`"),
        (changed(lambda told: told["bot"]["limits"].update(output=-(2**63))), "is not a bundle: Expected `int` >= 0"),
        (changed(lambda told: told["bot"].update(limits=1)), "is not a bundle: Expected `object`, got `int`"),
        (changed(lambda told: told["evidence"].pop("raw")), "is not a bundle: 'raw'"),
        (changed(lambda told: told.update(asked=[])), "is not a bundle: it asks nothing"),
        (changed(lambda told: told["asked"][0].update(sent="21 A")), "is not a bundle: question "),
        (changed(lambda told: told["asked"][0].update(answer="!nap")), "is not a bundle: 'nap' is not a "),
        (changed(lambda told: told["asked"][0].update(view=[])), "is not a bundle: "),
    ],
)
def test_a_damaged_bundle_is_refused(damage: Callable[[bytes], bytes], why: str, friends: Path, tmp_path: Path) -> None:
    (journal,) = (friends / ".croupier").glob("*.sqlite")
    path = tmp_path / "x.bundle"
    path.write_bytes(damage(packed(first_fault(journal, "crashes"))))

    with pytest.raises(UserError) as refused:
        unpacked(path)

    (problem,) = refused.value.problems
    assert (problem.code, problem.message[: len(why)]) == ("R014", why)


def test_no_bundle_grants_itself_a_year(friends: Path, tmp_path: Path) -> None:
    (journal,) = (friends / ".croupier").glob("*.sqlite")
    found = first_fault(journal, "crashes")
    endless = found._replace(bot=found.bot._replace(limits=Limits(move=1e9, memory=1 << 50)))
    (tmp_path / "x.bundle").write_bytes(packed(endless))

    limits = unpacked(tmp_path / "x.bundle").bot.limits

    assert limits.move == 3600
    assert limits.memory < 1 << 40


# Crashes occur again.

CRASHES = [rogue for rogue in PLAYERS if rogue.verdict in (("crash",), ("exit",), ("benched",))]
UNMEASURED = "computes_in_its_start"  # it fails where `check` and `run` have measured how long an empty bot starts
CERTAIN = [
    rogue
    for rogue in PLAYERS
    if len(rogue.verdict) == 1 and rogue.verdict[0] not in ("harmless", "start") and rogue.name != UNMEASURED
]


def come_again(rogues: list[Rogue], folder: Path) -> dict[str, tuple[str, str]]:
    """Play rogues, bundle the first fault of each and ask again; return how each ended both times."""
    told = {}
    for rogue in rogues:
        place = folder / rogue.name
        place.mkdir()
        submission = spec_of(rogue.file, rogue.game, **rogue.spec_changes())._replace(limits=rogue.limits)
        company = spec_of(written("import sys\nfor q in sys.stdin: print(0, flush=True)\n", ".py", place, "folds"))
        others = [company.with_keys(name=name, protocol="lines") for name in ("folds", "also")]
        others = [other.with_keys(game=rogue.game) for other in others] if rogue.game == "holdem" else []
        rules = {"hands": 1} if rogue.game == "cardshark" else {"rounds": 2}
        tables = max(rogue.tables, 4)
        journal = journal_of([submission, *others], tables, place, rogue.limits, **rules)
        with reading(journal) as book:
            assert verify(book).differences == []
        (place / "x.bundle").write_bytes(packed(first_fault(journal, rogue.name)))

        found = unpacked(place / "x.bundle")
        bot = trio.run(build, submission, level())._replace(limits=found.bot.limits)
        (reply,) = trio.run(reask, bot, found, level())

        piece = found.evidence
        assert piece is not None
        now = reply.now
        illegal = piece.kind == FaultKind.ILLEGAL and now.answer == reply.then.answer
        kind = piece.kind if illegal else str(getattr(now.answer, "kind", "a move"))
        told[rogue.name] = (f"{piece.kind}, {end(piece.ended)}", f"{kind}, {end(now.ended)}")
    return told


def end(told: str) -> str:
    """Return how a bot ended, without the number of processes killed for memory, which the kernel chooses."""
    return told.partition(": the kernel has killed")[0]


def share(told: dict[str, tuple[str, str]]) -> float:
    """Return the share of bots that ended the same way both times."""
    return sum(then == now for then, now in told.values()) / len(told)


@pytest.mark.long
def test_the_rogues_that_crash_crash_again_out_of_their_bundles(tmp_path: Path) -> None:
    quick = [rogue for rogue in CRASHES if rogue.name != "heap_eater"]

    told = come_again(quick, tmp_path)

    assert {rogue.name for rogue in quick} >= {"crashes", "raises", "recurses", "sparse", "leaves", "turns_away"}
    assert share(told) >= 0.95, told


@pytest.mark.proof
def test_what_rogues_do_for_certain_they_do_again_out_of_their_bundles(tmp_path: Path) -> None:
    told = come_again([rogue for rogue in CERTAIN if not (rogue.numbers or rogue.limits.models)], tmp_path)

    assert len(told) > 40
    assert share(told) >= 0.95, {name: both for name, both in told.items() if both[0] != both[1]}


# The command.

SLEEPS = 'import sys, time\nfor q in sys.stdin:\n    time.sleep(0.2)\n    print("S", flush=True)\n'
COMPUTES = (
    'import sys, time\nfor q in sys.stdin:\n    while time.process_time() < 0.2: pass\n    print("S", flush=True)\n'
)
WAVERS = 'import os, sys\nfor q in sys.stdin:\n    print("HS"[os.urandom(1)[0] % 2], flush=True)\n'
MANIFEST = 'name = "{name}"\ngame = "cardshark"\nlanguage = "python"\nentry = "{name}.py"\nprotocol = "lines"\n'


def bot_in(folder: Path, name: str, text: str) -> Path:
    """Create a bot's folder."""
    place = folder / name
    place.mkdir(mode=0o755)
    written(text, ".py", place, name)
    (place / "bot.toml").write_text(MANIFEST.format(name=name))
    return place


@pytest.fixture(scope="module")
def friends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a friendly game between davey and a bot that crashes."""
    folder = tmp_path_factory.mktemp("friends")
    done = croupier("play", "sample:davey", ROGUES / "crashes.c", "-g", "cardshark", "-n", 4, "-C", folder)
    assert done.code == 0
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("sleeps", SLEEPS, "waiting, not computing"), long(("computes", COMPUTES, "computing"))],
)
def test_a_time_line_tells_waiting_from_computing(name: str, text: str, said: str, tmp_path: Path) -> None:
    bot = bot_in(tmp_path, name, text)
    assert croupier("play", bot, "-n", 1, "-C", tmp_path).code == 0

    (row,) = croupier("ask", bot, "--worst", "--json", "-C", tmp_path).json["rows"]

    parts = [row[f"{part}_ms"] for part in ("computing", "queued", "asleep", "unseen")]
    assert abs(sum(parts) - row["wall_ms"]) < 0.1
    assert row["wall_ms"] >= 150
    assert (row["asleep_ms"] > 150) == (name == "sleeps")
    assert (row["computing_ms"] > 120) == (name == "computes")
    assert row["verdict"] in (said, "the machine was busy")


def test_ask_by_fault_by_table_and_for_the_worst(friends: Path) -> None:
    (group,) = croupier("faults", "-C", friends, "--json").json["rows"]
    fault = croupier("ask", f"fault:{group['fault']}", "-C", friends, "--json").json
    question = croupier("ask", ROGUES / "crashes.c", group["first"], "-C", friends, "--json").json
    worst = croupier("ask", "crashes", "--worst", "-C", friends, "--json").json
    table = croupier("ask", "davey", group["first"].partition(":")[0], "-C", friends, "--json").json

    assert fault["rows"][0]["question"] == question["rows"][0]["question"] == group["question"]
    assert [told["rows"][0]["ended"] for told in (fault, question, worst)] == ["killed by signal 11"] * 3
    assert (fault["place"], fault["same_program"], fault["reproduced"]) == ("crashes", True, True)
    assert table["reproduced"]
    assert len(table["rows"]) > 1


def test_the_slowest_answer_is_no_fault(friends: Path) -> None:
    with reading(next(friends.rglob("*.sqlite"))) as book:
        slowest, _, _ = next(book.evidence("WHERE fault.kind = 'slowest'"))
    asked = croupier("ask", f"fault:{slowest}", "-C", friends)
    assert asked.code == 2 and f"there is no fault:{slowest};" in asked.err


@pytest.mark.long
def test_a_late_fault_that_does_not_happen_again_names_same(tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    body = "    if number == 9:\n        sys.exit(3)\n    print('STAND', flush=True)\n"
    late.write_text("import sys\nfor number, line in enumerate(sys.stdin):\n" + body)
    played = croupier("play", "-g", "pazaak", late, "sample:neptr", "-n", 20, cwd=tmp_path)
    assert played.code == 0, played.err
    (group, *_) = croupier("faults", "late", "--json", cwd=tmp_path).json["rows"]
    alone = croupier("ask", f"fault:{group['fault']}", cwd=tmp_path).out
    assert "try      --same" in alone and "  ≠" in alone
    after = croupier("ask", f"fault:{group['fault']}", "--same", cwd=tmp_path).out
    assert "try " not in after and "  ≠" not in after
    other = croupier("ask", "sample:neptr", f"fault:{group['fault']}", cwd=tmp_path).out
    assert "try " not in other and "  ≠" in other


@pytest.mark.parametrize(("lifetime", "hinted"), [long(("table", False)), ("fixture", True)])
def test_no_question_comes_before_the_first_one_of_a_process(lifetime: str, hinted: bool, tmp_path: Path) -> None:
    late = tmp_path / "late"
    late.mkdir()
    (late / "bot.toml").write_text(f'language = "python"\nprotocol = "lines"\nlifetime = "{lifetime}"\n')
    with socket.create_server(("127.0.0.1", 0)) as open_port:  # without it, the bot answers otherwise
        answer = f"'STAND' if socket.socket().connect_ex({open_port.getsockname()}) else 'END'"
        (late / "late.py").write_text(f"import socket, sys\nfor line in sys.stdin:\n    print({answer}, flush=True)\n")
        played = croupier("play", "-g", "pazaak", late, "sample:neptr", "-n", 8, "--unsafe", cwd=tmp_path)
    assert played.code == 0, played.err
    first = croupier("ask", late, "play/late+neptr/2", "--unsafe", "--json", cwd=tmp_path).json["rows"][0]
    again = croupier("ask", late, f"play/late+neptr/2:{first['number']}", "--unsafe", cwd=tmp_path)
    assert "  ≠" in again.out and ("try " in again.out) == hinted, again.out + again.err


def test_what_ask_says_to_people(friends: Path) -> None:
    done = croupier("ask", "crashes", "--worst", "-C", friends)
    lines = [line.split()[0] for line in done.out.splitlines()[1:]]
    assert [word for word in lines if word.isalpha()] == ["asked", "time", "now", "then"]
    assert "killed by signal 11" in done.out
    assert max(map(len, done.out.splitlines())) <= 130

    shown = croupier("ask", "sample:kelly", "last", "--as", "davey", "-C", friends).out.splitlines()
    assert shown[1] == "  note     davey was asked this question, not kelly"
    assert shown[-1].split(" · ")[0].endswith(" as then")


def test_diff_tells_which_questions_two_bots_answer_differently(friends: Path) -> None:
    same = croupier("ask", "davey", "last", "--diff", "sample:davey", "-C", friends, "--json").json
    other = croupier("ask", "davey", "last", "--diff", "sample:kelly", "-C", friends, "--json").json

    assert (same["different"], same["rows"]) == (0, [])
    assert other["bots"] == ["davey", "kelly"]
    assert 0 < other["different"] == len(other["rows"]) <= other["questions"]
    assert all(row["davey"] != row["kelly"] for row in other["rows"])
    assert all(row["davey"] == row["then"] for row in other["rows"])


def test_bots_are_compared_by_the_questions_that_both_were_asked() -> None:
    def reply(number: int, answer: Answer) -> Reply:
        then = Decision(table=1, number=number, seat=0, view=GAMES["cardshark"].examples[0], answer=Move("S"))
        return Reply(then, Outcome(answer), Profile())

    bots = [trio.run(build, spec_of(SAMPLES / "cardshark" / "lim17.py"), level())] * 2
    mine, theirs = [reply(1, Move("S")), reply(2, Move("S"))], [reply(1, Fault(FaultKind.MEMORY))]

    told = Difference("lim17", GAMES["cardshark"], bots, mine, theirs)

    assert (told.json()["questions"], told.json()["different"]) == (1, 1)
    assert next(told.text()) == "1 of 1 question to lim17: lim17 and lim17#2 differ"


def test_a_bundle_travels(friends: Path, tmp_path: Path) -> None:
    done = croupier("export", "bundle", "-C", friends, "-o", tmp_path / "x.bundle")
    assert done.out == f"{tmp_path}/x.bundle: 1 question → croupier ask {tmp_path}/x.bundle\n"

    told = croupier("ask", ROGUES / "crashes.c", tmp_path / "x.bundle", "-C", tmp_path, "--json").json

    assert (told["reproduced"], told["same_program"]) == (True, True)
    assert told["rows"][0]["ended"] == "killed by signal 11"
    alone = croupier("ask", tmp_path / "x.bundle", "-C", tmp_path)
    assert (alone.code, alone.first) == (
        2,
        "error[U001] there is no bot 'crashes'; a bot is a file, a folder, a name here, or sample:NAME",
    )


def test_a_bundle_holds_what_the_bot_was_sent_and_what_became_of_it(friends: Path, tmp_path: Path) -> None:
    croupier("export", "bundle", "-C", friends, "-o", tmp_path / "x.bundle")
    told = json.loads(gzip.decompress((tmp_path / "x.bundle").read_bytes()))

    assert told["schema"] == "croupier/bundle/2"
    (asked,) = told["asked"]
    assert base64.b64decode(told["evidence"]["question"]) + b"\n" == asked["sent"].encode()
    assert told["evidence"]["ended"] == "killed by signal 11"
    assert len(told["bot"]["sha256"]) == 64


ALWAYS = "#!/bin/sh\nwhile read -r question; do echo '{}'; done\n"


@pytest.mark.parametrize(
    ("game", "other", "wrote", "parallel"),
    [
        ("pazaak", "sample:dumb_bold", "PLAY 0", 1),
        ("pazaak", "sample:dumb_bold", "play 0", 8),
        pytest.param("holdem", "sample:odds sample:tight", "0987654", 1, marks=pytest.mark.long),
    ],
)
def test_the_evidence_of_an_illegal_move_is_what_the_bot_wrote(
    game: str, other: str, wrote: str, parallel: int, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    written(ALWAYS.format(wrote), "", folder, "mine").chmod(0o755)
    (folder / "bot.toml").write_text(f'protocol = "lines"\nrun = ["./mine"]\nparallel_tables = {parallel}\n')
    assert croupier("play", folder, *other.split(), "-g", game, "-n", 16, "-C", tmp_path).code == 0
    (group,) = croupier("faults", "mine", "-C", tmp_path, "--json").json["rows"]
    assert (group["kind"], group["answer"]) == ("illegal", wrote)
    assert group["milliseconds"] is None or group["milliseconds"] > 0
    assert ("after" in croupier("faults", "mine", "-C", tmp_path).out) == (group["milliseconds"] is not None)
    table, _, number = group["first"].rpartition(":")
    told = croupier("replay", table, "-C", tmp_path).out
    assert f"  →  {wrote}  ✗ not allowed here" in told and f"it wrote: {wrote!r}" in told
    exported = croupier("export", "jsonl", table, "-C", tmp_path).out
    rows = [json.loads(line) for line in exported.splitlines()]
    (answer,) = [row for row in rows if row["ev"] == "answer" and row["n"] == int(number)]
    assert (answer["raw"], answer["illegal"]) == (wrote, True)
    assert all(answer[key] is None or answer[key] > 0 for key in ("us", "cpu_us"))


@pytest.mark.long
@pytest.mark.parametrize("parallel", [1, 8])
def test_each_illegal_move_has_its_own_bytes_as_evidence(parallel: int, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    counts = "#!/bin/sh\nn=0\nwhile read -r question; do n=$((n % 9 + 1)); echo PLAY $n; done\n"
    written(counts, "", folder, "mine").chmod(0o755)
    (folder / "bot.toml").write_text(f'protocol = "lines"\nrun = ["./mine"]\nparallel_tables = {parallel}\n')
    assert (
        croupier("play", folder, "sample:dumb_bold", "-g", "pazaak", "-n", 16, "--seed", "e1", "-C", tmp_path).code == 0
    )
    (group,) = croupier("faults", "mine", "-C", tmp_path, "--json").json["rows"]
    told = croupier("replay", group["first"].rpartition(":")[0], "-C", tmp_path).out
    pairs = re.findall(
        r"  →  (PLAY \d)  ✗ not allowed here\n(?:        (?!it wrote).*\n)*        it wrote: '(.*)'", told
    )
    assert pairs, told
    assert all(move == wrote for move, wrote in pairs)


@pytest.mark.long
def test_a_fold_is_written_as_the_bots_write_it(tmp_path: Path) -> None:
    assert (
        croupier(
            "play", "sample:odds", "sample:careful", "sample:ehs_cpp", "-n", 1, "--seed", "h2", "-C", tmp_path
        ).code
        == 0
    )
    replayed = croupier("replay", "last", "-C", tmp_path).out
    assert "  →  0\n" in replayed and "answer 0, min" in replayed and "BET" not in replayed
    exported = croupier("export", "jsonl", "last", "-C", tmp_path).out
    assert '"a":"0"' in exported and "BET" not in exported


# By hand.


def test_an_unknown_name_lists_what_exists(tmp_path: Path) -> None:
    croupier("play", "sample:davey", "sample:lim17", "-g", "cardshark", "-n", "1", "-q", cwd=tmp_path)

    assert "(bots here: davey, lim17)" in croupier("faults", "nobody", cwd=tmp_path).first
    table = croupier("replay", "nothing/of/1", cwd=tmp_path).first
    assert "tables here are called, for example, play/davey+lim17/1, or last" in table
