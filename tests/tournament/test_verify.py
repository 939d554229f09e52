"""`croupier verify` finds every change in a journal, and names the first place."""

import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import croupier, cup_in
from helpers import ROGUES, breadth

from host.base.errors import UserError
from host.bots.values import WALLS, Usage
from host.inspect.verify import CHANGED_LATER, Audit, verify
from host.journal.chain import canonical
from host.journal.reader import Journal, reading
from host.journal.seals import Seals
from host.play.lines import pack_lines
from host.play.records import Record, Result, read_summary

COLUMNS = [
    *[("fixture", column) for column in ("path", "stage", "about", "at")],
    *[("record", column) for column in ("summary", "seats", "scores", "answers", "times")],
    *[("fault", column) for column in ("bot", "kind", "evidence")],
    *[("version", column) for column in ("name", "sha256", "language", "about", "entered", "entered_by")],
    *[("chain", column) for column in ("kind", "seal")],
    ("run", "value"),
]
PAIR = """\
game = "pazaak"
bots = ["sample:neptr", "sample:nestor"]
stage = [{ kind = "league", tables = 4, practice = true }]
"""
FACTS = "('game', 'level', 'seed', 'seed_sha256')"
"""Values of a run on which results depend. Others, such as its progress, change during the run."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a journal with moves, crashes and illegal moves in it."""
    folder = tmp_path_factory.mktemp("audit")
    rogues = (ROGUES / "crashes.c", ROGUES / "overbets.c")
    words = ("-g", "cardshark", "-n", 20, "--seed", "x", "--workers", 1)
    done = croupier("play", "sample:davey", *rogues, *words, "-C", folder)
    assert done.code == 0
    (journal,) = (folder / ".croupier").glob("*.sqlite")
    with closing(sqlite3.connect(journal)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return journal


@contextmanager
def changing(journal: Path, folder: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Change a copy of a journal."""
    copied = folder / "copy.sqlite"
    shutil.copy(journal, copied)
    with closing(sqlite3.connect(copied)) as database:
        database.execute("PRAGMA synchronous = OFF")  # the copy need not survive a power cut
        yield copied, database
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def audit_of(journal: Path, share: float = 1.0, published: str = "") -> Audit:
    """Audit a journal; count an unreadable journal as one difference."""
    try:
        with reading(journal) as book:
            return verify(book, share, published)
    except UserError as refused:
        return Audit(0, [str(problem) for problem in refused.problems])


def flipped(value: Any, draw: random.Random) -> Any:
    """Return a value with one byte, character or digit changed."""
    if isinstance(value, float):
        return value + draw.choice((-1, 1)) * draw.random()
    at = draw.randrange(len(value))
    if isinstance(value, bytes):
        return value[:at] + bytes([value[at] ^ 1 << draw.randrange(8)]) + value[at + 1 :]
    other = draw.choice([c for c in 'abcdefABCDEF0123456789 {}[]":,+/.' if c != value[at]])
    return value[:at] + other + value[at + 1 :]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("hands", 10**12, f"its rule hands = {10**12} is out of range"),
        ("chips", -1, "its rule chips = -1 is out of range"),
        ("tables", 2_000_000_000, "has 2000000000 tables, and the scores of "),
        ("bots", (), "0 bots, where cardshark has 1 to "),
        ("bots", ("crashes",) * 5, "5 bots, where cardshark has 1 to 4 seats"),
    ],
)
def test_a_journal_with_values_that_croupier_toml_cannot_have_does_not_fit(
    key: str, value: Any, told: str, played: Path, tmp_path: Path
) -> None:
    with changing(played, tmp_path) as (journal, database):
        for number, about in database.execute("SELECT id, about FROM fixture").fetchall():
            described = json.loads(about)
            (described["rules"] if key in described["rules"] else described)[key] = value
            database.execute("UPDATE fixture SET about = ? WHERE id = ?", (json.dumps(described), number))

    assert all(told in found for found in audit_of(journal).differences if CHANGED_LATER not in found)
    done = croupier("replay", "last", "--journal", journal)
    assert done.code == 1 and told in done.err


@pytest.mark.long
@pytest.mark.parametrize("tables", [None, 0])
def test_records_without_results_or_tables_end_no_command(tables: int | None, tmp_path: Path) -> None:
    (cup := tmp_path / "cup").mkdir()
    (cup / "croupier.toml").write_text(PAIR)
    assert croupier("-C", cup, "run", "--progress", "none").code == 0
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database, database:
        for number, summary in database.execute("SELECT fixture, summary FROM record").fetchall():
            record = msgspec.msgpack.decode(summary, type=Record)
            empty = {
                bot: each._replace(tables=0, wins=0, units=0, wins_with=(), scores_with=())
                for bot, each in record.results.items()
            }
            changed = record._replace(results={} if tables is None else empty).stored_summary()
            database.execute(
                "UPDATE record SET summary = ? WHERE fixture = ?", (msgspec.msgpack.encode(changed), number)
            )
        database.execute("DELETE FROM summed")
    for command in ("status", "standings", "report", "verify"):
        assert croupier("-C", cup, command).code == (1 if command == "verify" else 3 if tables is None else 0), command


Scores = list[list[int]]
WRONG_SCORES: dict[str, Callable[[Scores], Scores]] = {
    "of no table": lambda _tables: [],
    "of nobody": lambda tables: [[] for _ in tables],
    "of one bot": lambda tables: [scores[:1] for scores in tables],
    "of too many bots": lambda tables: [scores * 2 for scores in tables],
}
TRIO = """\
game = "cardshark"
bots = ["sample:davey", "sample:cautious", "sample:basic"]
rules = { seats = 3 }
stage = [{ kind = "league", tables = 2, practice = true, rank_by = ["runoff"] }]
"""


@pytest.mark.parametrize("wrong", breadth(WRONG_SCORES, 2))
def test_a_journal_with_scores_of_other_bots_is_damaged(wrong: str, tmp_path: Path) -> None:
    change = WRONG_SCORES[wrong]
    pair, trio = tmp_path / "pair", tmp_path / "trio"
    for cup, config in ((pair, PAIR), (trio, TRIO)):
        cup.mkdir()
        (cup / "croupier.toml").write_text(config)
        assert croupier("-C", cup, "run", "--progress", "none").code == 0
    with closing(sqlite3.connect(pair / "run" / "run.sqlite")) as database, database:
        for number, packed in database.execute("SELECT fixture, scores FROM record").fetchall():
            changed = msgspec.msgpack.encode(change(msgspec.msgpack.decode(zlib.decompress(packed))))
            database.execute("UPDATE record SET scores = ? WHERE fixture = ?", (zlib.compress(changed), number))
    for command, code, said in (("report", (1, 3), "error[R00"), ("verify", (1,), " differences in 0 tables of ")):
        done = croupier("-C", pair, command)
        assert done.code in code and said in done.out + done.err, done
    with closing(sqlite3.connect(trio / "run" / "run.sqlite")) as database, database:  # a summary has the scores, too
        for number, stored in database.execute("SELECT fixture, summary FROM record").fetchall():
            told = msgspec.msgpack.decode(stored)
            place = Record._fields.index("scores")
            told[place] = change(told[place]) or [[]]  # without scores there are only the sums
            database.execute("UPDATE record SET summary = ? WHERE fixture = ?", (msgspec.msgpack.encode(told), number))
        database.execute("DELETE FROM summed")
    for command in ("standings", "report"):
        done = croupier("-C", trio, command)
        assert done.code == 3 and "error[R005]" in done.err and "are not those of its bots" in done.err, done


RESULT = Result(
    tables=4, wins=2, score=2, low=0, high=1, final=1, units=2, wins_with=(2.0, 2.0), scores_with=(2.0, 2.0)
)
PLAYED = Record("league/a+b/1", {"a": RESULT, "b": RESULT}, {}, {}, (), (), b"")


@pytest.mark.parametrize(
    "changed",
    [
        PLAYED._replace(results={"a": RESULT, "b": RESULT._replace(wins=5)}),
        PLAYED._replace(results={"a": RESULT, "b": RESULT._replace(wins_with=(1e300, 2.0))}),
        PLAYED._replace(results={"a": RESULT, "b": RESULT._replace(wins_with=(-1.0, 2.0))}),
        PLAYED._replace(results={"a": RESULT, "b": RESULT._replace(scores_with=(2.0,))}),
        PLAYED._replace(faults={"zed": {"crash": 1}}),
        PLAYED._replace(usage={"a": Usage(2, 0.1, 0.1, 0.1, 0, 1, (1, *[0] * (WALLS - 1)))}),
    ],
)
def test_a_summary_whose_numbers_do_not_fit_each_other_is_damaged(changed: Record) -> None:
    assert read_summary(msgspec.msgpack.encode(PLAYED)) == PLAYED
    with pytest.raises(ValueError, match=r"league/a\+b/1"):
        read_summary(msgspec.msgpack.encode(changed))


@pytest.mark.parametrize("column", ["field", "places"])
def test_a_stage_with_a_bot_that_was_not_entered_is_damaged(column: str, played: Path, tmp_path: Path) -> None:
    with changing(played, tmp_path) as (journal, database):
        database.execute(f"UPDATE stage SET {column} = ?", ('["zed"]',))
    with pytest.raises(UserError, match=r"'zed', a bot of .*, is not in the list of bots"), reading(journal):
        pass


def test_what_was_played_is_found_whole(played: Path) -> None:
    assert audit_of(played)[:2] == (20, [])
    with reading(played) as book:
        record = book.full_record(book.paths()[0])
    assert record.faults.keys() == {"crashes", "overbets"}


@pytest.mark.parametrize(("table", "column"), breadth(COLUMNS, 24))
def test_any_changed_byte_is_found(table: str, column: str, played: Path, tmp_path: Path) -> None:
    draw = random.Random(f"{table} {column}")
    for _ in range(12):
        with changing(played, tmp_path) as (copied, database):
            key = "key" if table == "run" else "rowid"
            only = f"WHERE key IN {FACTS}" if table == "run" else ""
            rows = database.execute(f"SELECT {key}, {column} FROM {table} {only} ORDER BY 1").fetchall()
            row, value = draw.choice(rows)
            changed = flipped(value, draw)
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (changed, row))
        assert audit_of(copied).differences, (row, value, changed)


def test_a_table_whose_answers_do_not_fit_is_not_counted(played: Path, tmp_path: Path) -> None:
    with changing(played, tmp_path) as (copied, database):
        ((packed,),) = database.execute("SELECT answers FROM record WHERE fixture = 1").fetchall()
        first, end, others = zlib.decompress(packed).partition(b"\n")
        more = zlib.compress(first + b",S" + end + others)  # an answer after the end of the first table
        database.execute("UPDATE record SET answers = ? WHERE fixture = 1", (more,))
        resealed(database, copied)
    audit = audit_of(copied)
    assert (audit.tables, len(audit.differences)) == (19, 1)


def test_a_fixture_that_was_taken_out_or_moved_is_missed(played: Path, tmp_path: Path) -> None:
    with changing(played, tmp_path) as (copied, database):
        for table, column in (("fault", "fixture"), ("record", "fixture"), ("fixture", "id")):
            database.execute(f"DELETE FROM {table} WHERE {column} = 2")
        database.commit()
        assert "fixture 2: it was changed after it was sealed" in audit_of(copied).differences
        database.execute("DELETE FROM chain WHERE kind = 'fixture' AND ref = 2")
        database.commit()
    with reading(played) as book:
        assert f"{book.paths()[2]}: it was changed after it was sealed" in audit_of(copied).differences


# The schedule of a finished stage says which fixtures it has. Of a stage that goes on, only a published seal proves that the
# journal was longer.


def without_the_last(database: sqlite3.Connection) -> None:
    """Delete the last fixture from a journal."""
    (last,) = database.execute("SELECT max(id) FROM fixture").fetchone()
    for table, column in (("fault", "fixture"), ("record", "fixture"), ("fixture", "id")):
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", (last,))
    database.execute("DELETE FROM chain WHERE kind = 'fixture' AND ref = ?", (last,))


def test_what_was_cut_off_at_the_end_is_missed_by_the_seal_that_was_published(played: Path, tmp_path: Path) -> None:
    with reading(played) as book:
        fixtures, entries, published = len(book.paths()), len([*book.entries()]), book.seal()
    assert audit_of(played, published=published) == Audit(20, [], fixtures, 0)
    with changing(played, tmp_path) as (copied, database):
        without_the_last(database)
    assert not audit_of(copied).differences
    (difference,) = audit_of(copied, published=published).differences
    assert difference.startswith(f"none of the {entries - 1} entries has the seal {published}: ")


def test_what_was_changed_and_sealed_anew_is_missed_by_the_seal_that_was_published(
    played: Path, tmp_path: Path
) -> None:
    with reading(played) as book:
        published = book.seal()
    with changing(played, tmp_path) as (copied, database):
        database.execute("UPDATE fixture SET at = at + 1 WHERE id = 1")
        resealed(database, copied)
    assert not audit_of(copied).differences
    assert len(audit_of(copied, published=published).differences) == 1


def test_a_seal_stands_for_what_was_played_before_it_only(played: Path) -> None:
    with reading(played) as book:
        seals = [entry.seal for entry in book.entries() if entry.kind == "fixture"]
    assert audit_of(played, published=seals[0]) == Audit(20, [], 1, len(seals) - 1)


@pytest.mark.long
def test_a_stage_that_is_over_says_its_seal_wherever_it_is_shown(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=1, rounds=1)
    told = croupier("run", "-C", cup, "--progress", "plain")
    assert told.code == 0, told.err
    (line,) = [line for line in told.out.splitlines() if line.startswith("tables is over; publish its seal: ")]
    seal = line.rpartition(" ")[2]
    assert f"to publish: seal {seal}" in croupier("status", "-C", cup).out
    assert croupier("status", "-C", cup, "--json").json["rows"][0]["seal"] == seal
    assert croupier("standings", "-C", cup, "--json").json["seal"] == seal
    assert croupier("report", "-C", cup).code == 0
    assert seal in (cup / "report.html").read_text()
    assert "publish its seal" not in croupier("run", "-C", cup, "--progress", "plain").out
    verified = croupier("verify", "-C", cup, "--seal", seal.upper())
    assert (verified.code, f"seal {seal} covers" in verified.out) == (0, True)
    assert croupier("verify", "-C", cup, "--seal", "0" * 64).code == 1
    assert croupier("verify", "-C", cup, "--seal", "5be1").code == 2


@pytest.mark.long
def test_every_command_reads_the_tournament_after_a_game_outside_it(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=1, rounds=1)
    assert croupier("run", "-C", cup).code == 0
    seal = croupier("standings", "-C", cup, "--json").json["seal"]
    folder = tmp_path / os.fsdecode(b"100 %25 \xff")  # a journal stores the folder of a bot, which can have any name
    folder.mkdir()
    rogue = shutil.copy(ROGUES / "crashes.c", folder)
    done = croupier("play", "sample:davey", rogue, "-n", 2, "--seed", "x", "-C", cup)
    friendly = cup / "run" / "play.sqlite"
    assert f"→ croupier faults crashes --journal {friendly}" in done.out
    assert croupier("verify", "-C", cup, "--json").json["journal"] == str(cup / "run" / "run.sqlite")
    assert croupier("verify", "-C", cup, "--seal", seal).code == 0
    assert croupier("faults", "-C", cup).out == "no faults\n"
    assert croupier("replay", "-C", cup, "--json").json["table"].startswith("tables/")
    assert croupier("verify", "-C", cup, "--seal", seal, "--journal", friendly).code == 1
    told = croupier("faults", "-C", cup, "--journal", friendly).out
    (again,) = [line for line in told.splitlines() if line.startswith("  again")]
    assert again.endswith(f" --journal {friendly}   croupier replay play/crashes+davey/1 --journal {friendly}")
    fault = again.split()[3]
    assert croupier("replay", "last", "--journal", friendly, "--json").json["table"].startswith("play/")
    assert croupier("replay", "play/crashes+davey/1", "-C", cup).code == 0
    assert croupier("ask", fault, "--journal", friendly, "-C", cup).code == 0
    assert croupier("standings", "--journal", friendly, "--json").json["run"] == "friendly"


@pytest.mark.long
def test_places_that_were_written_down_are_those_of_the_records(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=1, rounds=1)
    assert croupier("run", "-C", cup).code == 0
    assert croupier("verify", "-C", cup).code == 0
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database, database:
        ((places,),) = database.execute("SELECT places FROM stage").fetchall()
        database.execute("UPDATE stage SET places = ?", (json.dumps(json.loads(places)[::-1]),))
        database.commit()
        verified = croupier("verify", "-C", cup)
        assert (verified.code, "stage tables: places.1 is " in verified.out) == (1, True)
        resealed(database, cup / "run" / "run.sqlite")
    verified = croupier("verify", "-C", cup)
    assert (verified.code, "tables: its recorded places are" in verified.out) == (1, True)


def test_a_finished_stage_whose_last_fixture_was_cut_off_is_not_complete(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=2, rounds=1)
    assert croupier("run", "-C", cup).code == 0
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database, database:
        without_the_last(database)
        resealed(database, cup / "run" / "run.sqlite")
    verified = croupier("verify", "-C", cup)
    assert verified.code == 1
    assert re.search(r"tables: is recorded as finished, but tables/[12] has not been played", verified.out)


# If a changed record is sealed again, the rules find the change.


def resealed(database: sqlite3.Connection, path: Path) -> None:
    """Seal a journal as croupier does."""
    database.commit()
    seals, played = Seals(database), database.execute("SELECT id FROM fixture ORDER BY id").fetchall()
    database.execute("DELETE FROM chain")
    seals.update(Journal(database, path).state())
    for (fixture,) in played:
        seals.add("fixture", fixture)


def summary(change: Callable[[list[Any]], object]) -> Callable[[sqlite3.Connection], object]:
    """Return a function that changes the first fixture's summary: path, results, faults, usage …"""

    def work(database: sqlite3.Connection) -> None:
        told = msgspec.msgpack.decode(database.execute("SELECT summary FROM record WHERE fixture = 1").fetchone()[0])
        change(told)
        database.execute("UPDATE record SET summary = ? WHERE fixture = 1", (msgspec.msgpack.encode(told),))

    return work


def answers(database: sqlite3.Connection) -> None:
    """Replace a recorded crash by a stand."""
    text = zlib.decompress(database.execute("SELECT answers FROM record WHERE fixture = 1").fetchone()[0]).decode()
    packed = zlib.compress(text.replace("!crash", "S", 1).encode())
    database.execute("UPDATE record SET answers = ? WHERE fixture = 1", (packed,))


def scores(database: sqlite3.Connection) -> None:
    """Add ten chips to a score."""
    packed = database.execute("SELECT scores FROM record WHERE fixture = 1").fetchone()[0]
    told = msgspec.msgpack.decode(zlib.decompress(packed))
    told[1][0] += 10
    database.execute("UPDATE record SET scores = ? WHERE fixture = 1", (zlib.compress(msgspec.msgpack.encode(told)),))


def evidence(place: int, value: Any) -> Callable[[sqlite3.Connection], object]:
    """Return a function that changes a piece of evidence: bot, table, number, kind, detail, question …"""

    def work(database: sqlite3.Connection) -> None:
        found = "SELECT id, evidence FROM fault WHERE fixture = 1 AND kind = 'crash' ORDER BY id"
        row, piece = database.execute(found).fetchone()
        told = msgspec.msgpack.decode(piece)
        told[place] = value
        database.execute("UPDATE fault SET evidence = ? WHERE id = ?", (msgspec.msgpack.encode(told), row))

    return work


def seats(database: sqlite3.Connection) -> None:
    """Reverse the order of the seats."""
    told = json.loads(database.execute("SELECT about FROM fixture WHERE id = 1").fetchone()[0])
    told["bots"].reverse()
    database.execute("UPDATE fixture SET about = ? WHERE id = 1", (canonical(told),))


CHANGES: dict[str, tuple[Callable[[sqlite3.Connection], object], str]] = {
    "an answer": (answers, "/1"),
    "a score": (scores, "/2: "),
    "a result": (
        summary(lambda told: told[1]["davey"].__setitem__(2, 9999)),
        "/1: the results of davey are not those ",
    ),
    "a fault": (
        summary(lambda told: told[2]["crashes"].__setitem__("crash", 1)),
        "/1: crash of crashes was recorded 1 times",
    ),
    "no fault": (summary(lambda told: told[2].pop("overbets")), "/1: illegal of overbets was recorded 0 times"),
    "questions": (summary(lambda told: told[3].__setitem__("davey", [1, 0, 0, 0, 0, 1, [1, *[0] * 25]])), "/1: "),
    "its path": (summary(lambda told: told.__setitem__(0, "play/other/1")), "/1: the record is that of play/other/1"),
    "evidence of another": (evidence(0, "davey"), ": its evidence is of davey, but crashes was asked"),
    "evidence of a move": (evidence(3, "timeout"), ": its evidence is of the kind timeout, but the answer is crash"),
    "another question": (evidence(5, b"21 A K 10 200"), ": its evidence is of another question"),
    "a question too far": (evidence(2, 999), ": its evidence is of a question that was not asked"),
    "a table too far": (evidence(1, 999), "/1: evidence of a table 999"),
    "the seats": (seats, "/1"),
    "tables that repeat others": (
        summary(lambda told: told.__setitem__(-1, pack_lines([b"an equal table twice"] * 2))),
        "/1: what the journal compares with other tables is not what was played",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_and_sealed_anew_is_found_by_the_rules(what: str, played: Path, tmp_path: Path) -> None:
    change, said = CHANGES[what]
    with changing(played, tmp_path) as (copied, database):
        change(database)
        resealed(database, copied)
    found = audit_of(copied).differences
    assert found
    assert found[0].startswith("play/crashes+davey+overbets/")
    assert said in found[0]


# The command.


def test_verify_says_the_first_difference_and_ends_with_1(played: Path, tmp_path: Path) -> None:
    (tmp_path / ".croupier").mkdir()
    with changing(played, tmp_path) as (copied, database):
        scores(database)
    copied.rename(tmp_path / ".croupier" / "play-1.sqlite")
    done = croupier("verify", "-C", tmp_path)
    assert done.code == 1
    assert ": the recorded scores are (" in done.out.split("; the first: ")[1]
    told = croupier("verify", "-C", tmp_path, "--json").json
    assert len(told["differences"]) == 2  # one by the rules, one by the seal


def test_verify_draws_tables_by_lot(played: Path) -> None:
    folder = played.parents[1]
    done = croupier("verify", "--sample", "40%", "-C", folder, "--json")
    assert done.code == 0
    assert 0 <= done.json["tables"] < 20
    for wrong in ("0%", "101%", "some"):
        refused = croupier("verify", "--sample", wrong, "-C", folder)
        assert (refused.code, refused.first) == (
            2,
            f"error[U001] Invalid value for '--sample': '{wrong}' is not a percentage of the tables, for example 1%",
        )


# An outsider has a copy of the folder and the published seed, but not run/seed.


def test_an_outsider_verifies_with_the_seed_that_was_published(tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    cup_in(cup, tourneys=2, rounds=1)
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace('"a seed for tests"', '"random"'))
    assert croupier("seed", "commit", "-C", cup).code == 0
    assert croupier("run", "-C", cup).code == 0
    seed = croupier("seed", "reveal", "-C", cup, "--json").json["seed"]
    seal = croupier("standings", "-C", cup, "--json").json["seal"]
    own = croupier("verify", "-C", cup, "--seal", seal)

    copied = tmp_path / "copy"
    shutil.copytree(cup, copied, ignore=shutil.ignore_patterns("bots", "seed"))
    missing = croupier("verify", "-C", copied)
    assert missing.code == 3 and "verify --seed SEED" in missing.err
    for text in (seed, seed.upper()):
        verified = croupier("verify", "-C", copied, "--seed", text, "--seal", seal)
        assert (verified.code, verified.out) == (0, own.out.replace(str(cup), str(copied)))
    other = f"{int(seed, 16) ^ 1:032x}"
    for folder in (copied, cup):  # run/seed does not take the place of a seed that is given
        refused = croupier("verify", "-C", folder, "--seed", other)
        assert (refused.code, refused.out) == (3, "")
        assert refused.first.startswith(f"error[R010] {other}: the run has another seed: ")
        assert own.out.split("sha256 of the seed: ")[1][:64] in refused.first


def test_deals_and_places_are_those_of_the_seed_that_was_published(played: Path, tmp_path: Path) -> None:
    """A journal that promises another seed than that of its cards is found out, though it is sealed again."""
    claimed = b"another seed"
    with changing(played, tmp_path) as (copied, database):
        told = (hashlib.sha256(claimed).hexdigest(),)
        database.execute("UPDATE run SET value = ? WHERE key = 'seed_sha256'", told)
        database.execute("DELETE FROM run WHERE key = 'seed'")
        resealed(database, copied)
    with reading(copied) as book:
        differences = verify(book, seed=claimed).differences
    assert len(differences) >= 20  # every table has other cards
    assert any(": the recorded scores are (" in difference for difference in differences)
