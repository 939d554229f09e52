"""The chain of a journal: what a line says, what it hides, and that every alteration of a journal is found."""

import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import croupier
from helpers import breadth
from test_lasting_state import COUNTS, MANIFEST

from host.base.errors import UserError
from host.inspect.verify import verify
from host.journal import chain
from host.journal.reader import reading
from host.journal.state import RunStatus, StageStatus
from host.journal.writer import writing
from host.play.records import Record, Result, Undecided
from host.stages.round_robin import RoundRobin
from host.tournament.additions import Additions, Raised, record_additions

pack = msgspec.msgpack.encode
SALT = bytes(range(chain.SALT_BYTES))
NOT_SEALED = {
    "run.status",  # whether a run is finished: it follows from its stages
    "stage.known",  # the number of fixtures that are known so far
    "summed",  # sums over the records, which `verify` computes again
    "undecided.open",  # whether a fixture without a result is tried again: then it is played, or undecided once more
}
RECORD = Record("s/a+b/1", {"a": Result(1, 1, 3, 3, 3, 3)}, {"b": {"crash": 1}}, {}, (), (), b"", benched=("b",))
STORED = chain.StoredFixture(
    number=7,
    path="s/a+b/1",
    stage="s",
    at=1700000000.25,
    about={"game": "pazaak", "rules": {"hands": 3}, "plan": "independent", "path": "s/a+b/1", "bots": ["a", "b"]},
    versions=[1, 3],
    summary=pack(RECORD.stored_summary()),
    seats=zlib.compress(pack([[0, 1], [1, 0]])),
    scores=zlib.compress(pack([[3, 0], [1, 3]])),
    answers=zlib.compress(b"DRAW,STAND\nSTAND"),
    times=b"",
    banks=b"",
    transcript=b"",
    faults=[(9, "b", "crash", pack(["b", 1, 2, "crash", "", b"5 K", b"\xff", b"a secret on stderr"]))],
    states=[("a", zlib.compress(b"what a keeps"))],
)


def test_canonical_json_is_one_line_of_ascii_with_sorted_keys() -> None:
    value = {"z": [1, 0.1, 1e-7, True, None], "a": {"é\n": "\udcff\u2028"}}
    text = chain.canonical(value)
    assert text == '{"a":{"\\u00e9\\n":"\\udcff\\u2028"},"z":[1,0.1,1e-07,true,null]}'
    assert text.isascii() and text.isprintable()
    assert chain.canonical(chain.parsed(text)) == text
    with pytest.raises(ValueError, match="not JSON compliant"):
        chain.canonical(float("nan"))


@pytest.mark.parametrize("text", ['{"a": 1}', '{"b":1,"a":2}', '{"a":1,"a":1}', "1.50", '"é"', "01", "", "[1]\n"])
def test_a_text_that_is_spelled_otherwise_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        chain.parsed(text)


def test_the_seal_is_the_hash_of_a_line_that_holds_the_seal_before() -> None:
    first = chain.line_after("", "terms", {"game": "pazaak"})
    second = chain.line_after(chain.seal_of(first), "stage", {"name": "s", "status": "running"})
    assert first == '{"before":"","terms":{"game":"pazaak"}}'
    assert chain.seal_of(first) == hashlib.sha256((first + "\n").encode()).hexdigest()
    assert json.loads(second)["before"] == chain.seal_of(first)
    assert chain.content_of(second, "stage", chain.seal_of(first)) == {"name": "s", "status": "running"}


@pytest.mark.parametrize(
    "line", ['{"before":"","terms":1}', '{"before":"x","stage":1}', '{"before":"","more":1,"stage":1}', "[]", "{}", "x"]
)
def test_a_line_of_another_kind_or_place_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        chain.content_of(line, "stage", "")


def test_a_fixture_shows_its_results_and_hides_answers_evidence_and_states() -> None:
    content = chain.fixture_content(STORED, SALT)
    shown = {key: content[key] for key in content.keys() - {"answers", "private", "rules"}}
    assert shown == {
        "number": 7,
        "path": "s/a+b/1",
        "stage": "s",
        "at": 1700000000.25,
        "game": "pazaak",
        "plan": "independent",
        "bots": ["a", "b"],
        "versions": [1, 3],
        "seats": [[0, 1], [1, 0]],
        "scores": [[3, 0], [1, 3]],
        "faults": {"b": {"crash": 1}},
        "benched": ["b"],
        "replayed": 0,
    }
    line = chain.line_after("", "fixture", content)
    assert not [hidden for hidden in ("DRAW", "secret", "keeps", b"secret".hex()) if hidden in line]
    assert content["answers"] == hashlib.sha256(SALT[:16] + b"DRAW,STAND\nSTAND").hexdigest()
    other = chain.fixture_content(STORED, bytes(chain.SALT_BYTES))
    assert {key for key in content if content[key] != other[key]} == {"answers", "private"}


def test_the_line_of_a_fixture_without_a_transcript_is_as_ever() -> None:
    line = chain.line_after("", "fixture", chain.fixture_content(STORED, SALT))
    assert chain.seal_of(line) == "3cbe51c83fbfa20b84e5cb0cd3c391def5306bcd00af58dc499cbf824ffd7cd7"


def test_a_fixture_without_a_result_shows_why_and_hides_the_rest() -> None:
    why = Undecided("it died", table="s/a+b/3", answers="DRAW,STAND", given_by=("b",), said=b"a secret")
    about = {**STORED.about, "tables": 9}
    stored = chain.StoredUndecided(2, "s/a+b/1", "s", 1700000000.25, about, pack(why))
    content = chain.undecided_content(stored)
    assert {key: content[key] for key in ("table", "answer", "given_by", "reason")} == {
        "table": "s/a+b/3",
        "answer": 2,
        "given_by": ["b"],
        "reason": "it died",
    }
    line = chain.canonical(content)
    assert "DRAW" not in line and "secret" not in line
    for change in ({"number": 3}, {"stage": "t"}, {"at": 1.5}, {"why": pack(why._replace(said=b"else"))}):
        assert chain.canonical(chain.undecided_content(stored._replace(**change))) != line
    with pytest.raises(ValueError, match="another fixture"):
        chain.undecided_content(stored._replace(path="s/a+c/1"))


def test_every_part_of_a_fixture_changes_its_line() -> None:
    line = chain.canonical(chain.fixture_content(STORED, SALT))
    others = {
        "number": 8,
        "stage": "t",
        "at": 1700000000.5,
        "about": {**STORED.about, "plan": "mirrored"},
        "versions": [2, 3],
        "summary": pack(RECORD._replace(seconds=1.0).stored_summary()),
        "seats": zlib.compress(pack([[1, 0], [1, 0]])),
        "scores": zlib.compress(pack([[3, 0], [1, 2]])),
        "answers": zlib.compress(b"DRAW,STAND\nDRAW"),
        "times": zlib.compress(pack([[1, 1, 20, 3]])),
        "banks": zlib.compress(pack([[1, 1, 900]])),
        "transcript": zlib.compress(b"what a referee said"),
        "faults": [(9, "b", "crash", pack(["b", 1, 2, "crash", "", b"5 K", b"\xff", b"another"]))],
        "states": [("a", zlib.compress(b"another"))],
    }
    assert others.keys() | {"path"} == {*STORED._fields}
    for key, value in others.items():
        assert chain.canonical(chain.fixture_content(STORED._replace(**{key: value}), SALT)) != line, key
    with pytest.raises(ValueError, match="another fixture"):
        chain.fixture_content(STORED._replace(path="s/a+c/1"), SALT)


def test_the_keys_that_differ_are_named() -> None:
    old = {"config": {"limits": {"max_faults": 3}, "stages": [{"name": "a"}, {"name": "b"}]}, "began": None}
    new = {"config": {"limits": {}, "stages": [{"name": "a"}, {"name": "c"}]}, "began": 1.5}
    assert list(chain.differing(old, new)) == [
        ("began", None, 1.5),
        ("config.limits.max_faults", 3, "absent"),
        ("config.stages.2.name", "b", "c"),
    ]
    assert not list(chain.differing(old, old))


# Alterations of two finished tournaments: one with state files, time banks and two stages, one with corrections.

ROOT = Path(__file__).parents[2]
HEAD = """
name = "Sealed"
game = "pazaak"
bots = ["bots/*", "sample:neptr"]
[limits]
move = "10 s"
cpu = "10 s"
startup = "20 s"
max_faults = 1000
"""
LEAGUE = """
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 2
practice = true
"""
FINAL = """
[[stage]]
name = "final"
kind = "knockout"
min_bots = 2
set = 2
first_to = 1
practice = true
"""
BREAKS = """\
import sys
sys.stderr.write("a word on stderr")
print("nonsense")
"""


def cup_in(place: Path, config: str) -> Path:
    """Make a tournament with a bot that says nothing sensible, and commit to its seed; return its folder."""
    (place / "bots").mkdir(parents=True)
    (place / "bots" / "breaks.py").write_text(BREAKS)
    (place / "croupier.toml").write_text(config)
    return place


def command(cup: Path, *words: object) -> None:
    """Run a command that succeeds."""
    done = croupier("-C", cup, *words)
    assert done.code == 0, done.err


@pytest.fixture(scope="module")
def with_states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the journal of a tournament of two stages with lasting state files and time banks."""
    cup = cup_in(tmp_path_factory.mktemp("states") / "cup", f'{HEAD}bank = "20 s / table"\n{LEAGUE}{FINAL}')
    (cup / "bots" / "one").mkdir()
    (cup / "bots" / "one" / "counts.py").write_text(COUNTS)
    (cup / "bots" / "one" / "bot.toml").write_text(MANIFEST.format(name="one", lifetime="stage"))
    command(cup, "seed", "commit")
    command(cup, "run")
    return cup / "run" / "run.sqlite"


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the journal of a tournament with every kind of correction, and with stored sums."""
    folder = tmp_path_factory.mktemp("corrected")
    cup = cup_in(folder / "cup", HEAD + LEAGUE)
    shutil.copy(cup / "bots" / "breaks.py", cup / "bots" / "other.py")
    command(cup, "seed", "commit")
    command(cup, "run")
    command(cup, "redo", "league/neptr+other", "--reason", "power cut")
    (folder / "new.py").write_text(BREAKS + "# better\n")
    command(cup, "add", folder / "new.py", "--replace", "breaks", "--reason", "a mistake")
    shutil.copy(cup / "bots" / "other.py", cup / "bots" / "late.py")
    text = (cup / "croupier.toml").read_text()
    (cup / "croupier.toml").write_text(text.replace("tables_per_pair = 2", "tables_per_pair = 4"))
    command(cup, "run", "--reason", "the mail was late")
    command(cup, "withdraw", "other", "--reason", "author's wish")
    command(cup, "run")
    journal = cup / "run" / "run.sqlite"
    with reading(journal) as book:
        row = ("league", max(number for number, _ in book.records()), len(book.changes()), pack(book.sums("league")))
    with closing(sqlite3.connect(journal)) as database, database:
        database.execute("INSERT INTO summed VALUES (?, ?, ?, ?)", row)
    return journal


JOURNALS = ("with_states", "corrected")


def journal_of(name: str, request: pytest.FixtureRequest) -> Path:
    """Return one of the two journals."""
    found: Path = request.getfixturevalue(name)
    return found


def differences(journal: Path, published: str) -> list[str]:
    """Return what `verify --seal` finds without playing a table again."""
    try:
        with reading(journal) as book:
            return verify(book, 1e-9, published).differences
    except UserError as refused:
        return [str(problem) for problem in refused.problems]


@pytest.mark.long
@pytest.mark.parametrize("name", breadth(JOURNALS, len(JOURNALS)))
def test_a_journal_that_nobody_altered_has_no_difference(name: str, request: pytest.FixtureRequest) -> None:
    journal = journal_of(name, request)
    with reading(journal) as book:
        assert (verify(book, published=book.seal()).differences, len(book.seal())) == ([], 64)
        counts = {kind: sum(entry.kind == kind for entry in book.entries()) for kind in ("change", "version", "stage")}
    assert counts["change"] == (5 if name == "corrected" else 0)
    assert counts["version"] == (5 if name == "corrected" else 3)


def leaves(value: Any) -> Iterator[Callable[[Any], Any]]:
    """Yield functions that alter one leaf of a copy of a value, or take out one key; of a list, the first and the last."""

    def take_out(inner: Any, key: Any) -> None:
        del inner[key]

    def alter(inner: Any, key: Any) -> None:
        inner[key] = altered(inner[key])

    def reach(whole: Any, way: tuple[Any, ...], work: Callable[[Any, Any], None]) -> Any:
        inner = whole = deepcopy(whole)
        for key in way[:-1]:
            inner = inner[key]
        work(inner, way[-1])
        return whole

    def walk(inner: Any, way: tuple[Any, ...]) -> Iterator[Callable[[Any], Any]]:
        keys = list(inner) if isinstance(inner, dict) else sorted({*range(len(inner))[:1], *range(len(inner))[-1:]})
        for key in keys:
            each, own = inner[key], (*way, key)
            yield partial(reach, way=own, work=take_out)
            if isinstance(each, dict | list):
                yield from walk(each, own)
            else:
                yield partial(reach, way=own, work=alter)

    yield from walk(value, ())


def altered(value: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value + 2**-20
        case bytes():
            return value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"
        case str():
            return "skipped" if value == "finished" else f"{value}x"
    return 1


FORMS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (chain.parsed, chain.canonical),
    (json.loads, json.dumps),
    (lambda blob: msgspec.msgpack.decode(zlib.decompress(blob)), lambda value: zlib.compress(pack(value))),
    (msgspec.msgpack.decode, pack),
]


def others(value: Any, deep: bool) -> Iterator[Any]:
    """Yield other values of a column; if `deep`, with every key of its content altered or taken out."""
    yield altered(value)
    for read, write in FORMS if deep and isinstance(value, str | bytes) else ():
        try:
            content = read(value)
        except (ValueError, TypeError, zlib.error):
            continue
        if isinstance(content, dict | list):
            yield from (write(alter(content)) for alter in leaves(content))
        return


def alterations(journal: Path) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yield every alteration of a journal: what it alters, and the statement with its values."""
    with closing(sqlite3.connect(journal)) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
            rows = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            few = rows if table in ("run", "stage") else [*rows[:1], *rows[-1:]]
            this = " AND ".join(f"{column} IS ?" for column in columns)
            for row in few:
                yield f"{table}.{row[0]}" if table == "run" else table, f"DELETE FROM {table} WHERE {this}", row
                for column, value in zip(columns, row, strict=True):
                    what = f"run.{row[0]}" if table == "run" else f"{table}.{column}"
                    for other in others(
                        value, table in ("run", "stage") or (row is few[0] and table not in NOT_SEALED)
                    ):
                        yield what, f"UPDATE {table} SET {column} = ? WHERE {this}", (other, *row)


@pytest.mark.long
@pytest.mark.parametrize(("name", "every"), [("corrected", 4), ("corrected", 1), ("with_states", 1)])
@pytest.mark.one_in(3)
def test_every_alteration_of_a_journal_is_found_or_named(
    name: str, every: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    journal = journal_of(name, request)
    with reading(journal) as book:
        published = book.seal()
    folder = shutil.copytree(journal.parents[1], tmp_path / "cup") / "run"
    assert not differences(folder / "run.sqlite", published)
    missed, tried = [], set()
    for number, (what, statement, values) in enumerate(alterations(journal)):
        if number % every and what in tried:
            continue
        copied = shutil.copy(
            journal, folder / f"{number}.sqlite"
        )  # a damaged one may stay open until its cursors are gone
        tried.add(what)
        try:
            with closing(sqlite3.connect(copied)) as database:
                database.execute("PRAGMA synchronous = OFF")
                assert database.execute(statement, values).rowcount == 1
                database.commit()
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.IntegrityError:  # no journal can be altered so
            continue
        if not differences(copied, published) and not {what, what.partition(".")[0]} & NOT_SEALED:
            missed.append((what, values))
    assert not missed
    assert {"run.terms", "stage.places", "version.entered_by", "record.times", "fault.evidence", "chain.line"} <= tried


LATER_STAGE = """UPDATE stage SET config = json_set(config, '$.set', 3) WHERE name = 'final'"""
ORDER = """UPDATE stage SET places = '["breaks", "neptr", "one"]' WHERE name = 'league'"""
TERMS = {
    "max_faults with the order that follows": (
        "UPDATE run SET value = json_set(value, '$.max_faults', 0) WHERE key = 'terms'; " + ORDER,
        'config.limits.max_faults is "absent", but it was sealed as 1000',
    ),
    "rank_by": (
        "UPDATE stage SET config = json_set(config, '$.rank_by[0]', 'elo') WHERE name = 'league'",
        "stages.1.rank_by is",
    ),
    "practice": ("UPDATE stage SET config = json_set(config, '$.practice', json('false'))", "practice is false"),
    "tables_per_pair": (
        "UPDATE stage SET config = json_set(config, '$.tables_per_pair', 4) WHERE name = 'league'",
        "terms: stages.1.tables_per_pair is 4, but it was sealed as 2",
    ),
    "a later stage": (LATER_STAGE, "terms: stages.2.set is 3, but it was sealed as 2"),
    "a stage's status": (
        "UPDATE stage SET status = 'running' WHERE name = 'final'",
        'stage final: status is "running", but it was sealed as "finished"',
    ),
    "a stage's bots": ("UPDATE stage SET field = '[]' WHERE name = 'final'", "stage final: field is []"),
    "a stage's places": (ORDER, "stage league: places.1 is"),
    "the name": (
        "UPDATE run SET value = 'Other' WHERE key = 'name'",
        'terms: name is "Other", but it was sealed as "Sealed"',
    ),
    "when it began": ("UPDATE run SET value = '1700000000.0' WHERE key = 'began'", "terms: began is 1700000000.0"),
    "when the seed was fixed": ("UPDATE run SET value = '1700000000.0' WHERE key = 'committed'", "terms: committed is"),
    "that the seed was fixed": ("DELETE FROM run WHERE key = 'committed'", "terms: committed is null"),
    "a guest": ("""UPDATE run SET value = '["neptr"]' WHERE key = 'guests'""", "terms: guests is"),
    "the machine": ("UPDATE run SET value = 'a fast one' WHERE key = 'machine'", 'terms: machine is "a fast one"'),
    "the version of croupier": ("UPDATE run SET value = '9' WHERE key = 'version'", 'terms: version is "9"'),
}


def test_other_terms_are_found_and_named(with_states: Path, tmp_path: Path) -> None:
    with reading(with_states) as book:
        published = book.seal("league")
    copied = shutil.copytree(with_states.parents[1], tmp_path / "cup") / "run" / "run.sqlite"
    for what, (statements, said) in TERMS.items():
        shutil.copy(with_states, copied)
        with closing(sqlite3.connect(copied)) as database:
            database.executescript(statements)
        found = differences(copied, published)
        assert [each for each in found if said in each], (what, found)


def test_terms_that_change_during_a_run_need_a_change_that_says_so(with_states: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(with_states.parents[1], tmp_path / "cup") / "run" / "run.sqlite"
    with reading(copied) as book:
        published = book.seal()
    with writing(copied) as book:
        state = book.state()
        book.set_state(replace(state, workers="4 workers"))
        assert not verify(book, published=published).differences
        assert state.terms is not None
        book.set_state(replace(state, terms=msgspec.structs.replace(state.terms, max_faults=1)))
        said = "terms: config.limits.max_faults was changed from 1000 to 1 during the run"
        assert said in verify(book, published=published).differences
        rules = {**state.terms.rules, "version": "as we like"}
        book.set_state(replace(state, terms=msgspec.structs.replace(state.terms, rules=rules)))
        said = 'terms: config.rules.version was changed from "absent" to "as we like" during the run'
        assert said in verify(book, published=published).differences


def test_more_tables_of_a_stage_explain_no_other_change_of_tables(with_states: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(with_states.parents[1], tmp_path / "cup") / "run" / "run.sqlite"
    with writing(copied) as book:
        state = book.state()
        stage, *others = state.configs
        assert isinstance(stage, RoundRobin)
        before = stage.tables_per_pair
        record_additions(book, Additions(raised=[Raised("league", "tables_per_pair", before, 90)]), "", revealed=False)
        assert not [each for each in verify(book).differences if "tables_per_pair" in each]
        book.set_state(state.with_stages(replace(stage, tables_per_pair=80), *others))
        for key in ("config.stage.1.tables_per_pair", "stages.1.tables_per_pair"):
            assert f"terms: {key} was changed from 90 to 80 during the run" in verify(book).differences


def test_the_page_on_security_names_what_a_seal_does_not_cover() -> None:
    section = (
        (ROOT / "docs" / "security.md").read_text().partition("## What a seal does not cover")[2].partition("\n## ")[0]
    )
    assert {*re.findall(r"^\| `(.*?)` ", section, re.MULTILINE)} == NOT_SEALED


# The lines of a chain, outside croupier.


def test_the_program_on_the_page_computes_the_seal(corrected: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "checking.md").read_text()
    (tmp_path / "seal.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    lines = tmp_path / "records.ndjson"
    command(corrected.parents[1], "export", "public", tmp_path)
    with reading(corrected) as book:
        seal, count = book.seal(), len([*book.entries()])

    def said(*seals: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, tmp_path / "seal.py", lines, *seals], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    assert said(seal) == (0, f"{count} lines, seal {seal}\n")
    assert said("0" * 64) == (1, f"no line has the seal {'0' * 64}\n")
    text = lines.read_text().splitlines(keepends=True)
    kinds = [next(key for key in json.loads(line) if key != "before") for line in text]
    assert (kinds[0], {*kinds[1:4]}) == ("terms", {"version"})
    lines.write_text("".join([*text[:5], *text[6:]]))
    assert said()[1] == "line 6 does not follow the line before it\n"


def test_the_chain_of_a_running_stage_may_be_shown_if_its_tables_share_no_deals(
    with_states: Path, tmp_path: Path
) -> None:
    cup = Path(shutil.copytree(with_states.parents[1], tmp_path / "cup"))
    with writing(cup / "run" / "run.sqlite") as book:
        book.set_stage("final", StageStatus.RUNNING)
        book.set_status(RunStatus.INTERRUPTED)
    done = croupier("-C", cup, "export", "public", tmp_path / "public")
    lines = (tmp_path / "public" / "records.ndjson").read_text()
    assert done.code == 0 and '"stage":"final"' in lines and lines.splitlines()[-1].endswith('"status":"running"}}')
