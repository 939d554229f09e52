"""Notes beside moves: what is stored of them, who sees them, and that no bot does."""

import json
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from command import croupier
from helpers import CACHE, answers_of, built, played, written

from host.base.bounded_zlib import MAX_UNPACKED_BYTES
from host.bots.bot_spec import BuiltBot
from host.bots.notes import CUT, MAX_NOTE_BYTES, MAX_TABLE_NOTE_BYTES, NOTED_TABLES, shortened
from host.games import GAMES
from host.inspect.recorded import root_of
from host.inspect.table_replays import load, shown_fixture
from host.journal.reader import reading
from host.journal.writer import writing
from host.play import records
from host.play.records import Record, pack, unpack, unpack_noted
from host.report.anonymize import numbered, renamed
from host.report.html_file import page_of
from protocols import PROTOCOLS, jsonlines
from protocols.wire import Fault, FaultKind, Move

GRAMMAR, RECEIVE = GAMES["pazaak"].grammar, PROTOCOLS["json"].receive
TROUBLE = 'a,b\t<script>evil=1</script>\n\x1b[31mred\u202e\u00a0"é😀" %2C%09 and the opponent Quiet'
NOTES = """
    import json, sys

    for line in sys.stdin:
        print(json.dumps({{"move": "STAND", "note": {note}}}, ensure_ascii=False), flush=True)
"""
QUIET = """
    import json, sys

    for line in sys.stdin:
        print(json.dumps({"move": "STAND"}), flush=True)
"""
READS = """
    import json, sys

    for line in sys.stdin:
        print(line, file=sys.stderr, flush=True)
        print("no move" if "note" in line or "evil" in line else json.dumps({"move": "STAND"}), flush=True)
"""


def bot_of(source: str, name: str) -> BuiltBot:
    """Build a bot over json that may answer with 64 KiB."""
    folder = CACHE / "notes"
    folder.mkdir(exist_ok=True)
    bot = built(written(source, ".py", folder, name), "pazaak", protocol="json")
    return bot._replace(limits=bot.limits._replace(output=1 << 16))


def noting(note: str, name: str = "notes") -> BuiltBot:
    """Build a bot that writes the value of a Python expression as its note."""
    return bot_of(NOTES.format(note=note), name)


def notes_of(record: Record) -> dict[int, list[str]]:
    """Return the notes of each table of a record."""
    return {table: list(notes.values()) for table, notes in unpack_noted(record.answers)[1].items()}


def test_a_note_may_have_an_escaped_name() -> None:
    line = rb'{"move":"STAND","n\u006fte":"close enough"}'
    assert RECEIVE(GRAMMAR, line) == Move("STAND") and jsonlines.note(line) == "close enough"


def test_a_note_never_changes_the_move() -> None:
    for note in (TROUBLE, "", "x" * 5000, 7, None, ["STAND"], {"move": "PLAY 1"}):
        line = json.dumps({"move": "PLAY 3", "note": note}, ensure_ascii=False).encode()
        longer = GRAMMAR._replace(longest=1 << 16)
        assert RECEIVE(longer, line) == Move("PLAY", 3), note
    assert RECEIVE(GRAMMAR, json.dumps({"move": "PLAY \u202e3", "note": "x"}).encode()) == Fault(FaultKind.UNREADABLE)
    assert RECEIVE(GRAMMAR, '{"move":"STAND","debug":"é"}'.encode()) == Fault(FaultKind.UNREADABLE)
    assert RECEIVE(GRAMMAR, b'{"move":"STAND","note":"\xff"}') == Fault(FaultKind.UNREADABLE)
    assert RECEIVE(GRAMMAR, b'{"move":"STAND","note":"a","note":"b"}') == Fault(FaultKind.UNREADABLE)


@pytest.mark.parametrize("parallel_tables", [1, 4])
def test_a_note_is_stored_with_its_move_and_moves_stay_as_they_are(parallel_tables: int) -> None:
    keys = {"parallel_tables": parallel_tables}
    quiet, silent = (bot_of(QUIET, name).with_keys(**keys) for name in ("quiet", "notes"))
    without = played("pazaak", [silent, quiet], 6)

    record = played("pazaak", [noting(repr(TROUBLE)).with_keys(**keys), quiet], 6)

    assert answers_of(record) == answers_of(without) and record.faults == {}
    assert without.answers == pack(answers_of(without)) != record.answers
    stored = [note for notes in notes_of(record).values() for note in notes]
    assert {*stored} == {TROUBLE} and len(stored) < sum(map(len, answers_of(record)))  # only its own answers have one


def test_the_same_notes_are_stored_however_many_tables_are_open() -> None:
    opponent = bot_of(QUIET, "quiet").with_keys(parallel_tables=8)
    alone, together = (
        played("pazaak", [noting("'x' * 3000").with_keys(parallel_tables=count), opponent], 10, hands_to_win=10)
        for count in (1, 8)
    )

    assert alone.answers == together.answers and max(map(len, notes_of(alone).values())) == 6


def test_no_question_of_an_opponent_has_a_note() -> None:
    record = played("pazaak", [noting(repr(TROUBLE)), bot_of(READS, "reads")], 5)

    assert notes_of(record) and record.faults == {}  # it answers a question with a note with nonsense
    said = b"".join(tail for _, tails in record.said for _, tail in tails)
    assert b"your_hand" in said and b"note" not in said


def test_a_long_note_is_cut_and_says_so() -> None:
    record = played("pazaak", [noting("'é' * 3000"), bot_of(QUIET, "quiet")], 1)

    first, *_ = notes_of(record)[1]
    assert first == "é" * ((MAX_NOTE_BYTES - len(CUT.encode())) // 2) + CUT
    assert [shortened("éé", most) for most in (4, 3, 2, 0)] == ["éé", CUT, "", ""]


@pytest.mark.long
def test_notes_are_bounded_by_table_and_by_fixture() -> None:
    bots = [noting("'x' * 4096"), bot_of(QUIET, "quiet")]

    record = played("pazaak", bots, NOTED_TABLES + 3, hands_to_win=20)

    assert [*notes_of(record)] == [*range(1, NOTED_TABLES + 1)]
    sizes = [sum(map(len, notes)) for notes in notes_of(record).values()]
    assert max(sizes) <= MAX_TABLE_NOTE_BYTES and record.faults == {}
    most = 2 * NOTED_TABLES * 3 * MAX_TABLE_NOTE_BYTES  # escaped, of two bots
    assert most < MAX_UNPACKED_BYTES / 20


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament of a bot with notes, which names its opponent, and a bot without."""
    place = tmp_path_factory.mktemp("cup")
    for name, source in (("Noter", NOTES.format(note=repr(TROUBLE))), ("Quiet", QUIET)):
        (place / "bots" / name).mkdir(parents=True)
        written(source, ".py", place / "bots" / name)
        (place / "bots" / name / "bot.toml").write_text('protocol = "json"\nlanguage = "python"\n')
    (place / "croupier.toml").write_text(
        'game = "pazaak"\nbots = ["bots/*"]\n[[stage]]\nname = "s"\nkind = "round-robin"\ntables_per_pair = 4\n'
    )
    assert croupier("-C", place, "run").code == 0
    return place


SHOWN = TROUBLE.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e").replace("\u00a0", r"\xa0").replace("\t", r"\t")
"""The note as it is shown: nothing in it controls a terminal or a page."""


def test_replay_and_events_show_a_note_as_harmless_text(cup: Path) -> None:
    text = croupier("-C", cup, "replay", "last").out
    events = croupier("-C", cup, "replay", "last", "--json").json["events"]
    exported = croupier("-C", cup, "export", "jsonl").out.splitlines()

    for line in SHOWN.split("\n"):
        assert f"        note: {line}\n" in text
    noted = {event["seat"] for event in events if "note" in event}
    assert len(noted) == 1 and {event["note"] for event in events if "note" in event} == {SHOWN}
    assert {json.loads(line).get("note") for line in exported} == {None, SHOWN}
    for form in ("csv", "decisions"):
        assert "script" not in croupier("-C", cup, "export", form).out


def test_the_opponent_and_its_author_do_not_see_a_note(cup: Path) -> None:
    own = croupier("-C", cup, "replay", "last", "--as", "Noter")
    other = croupier("-C", cup, "replay", "last", "--as", "Quiet")

    assert own.out.count("script") and "script" not in other.out
    assert other.out.count("→  STAND") == own.out.count("→  STAND") > 0


def test_verify_holds_with_notes_and_finds_one_that_was_changed(cup: Path, tmp_path: Path) -> None:
    assert croupier("-C", cup, "verify").code == 0
    croupier("-C", cup, "export", "public", tmp_path / "public")
    lines = (tmp_path / "public" / "answers.ndjson").read_text().splitlines()
    assert any("\t" in table for line in lines for table in json.loads(line)["answers"])

    shutil.copytree(cup, other := tmp_path / "other")
    with writing(other / "run" / "run.sqlite") as journal:
        answers = zlib.decompress(journal.full_record(journal.paths()[0]).answers)
        changed = zlib.compress(answers.replace(b"opponent", b"Opponent"))
        journal._database.execute("UPDATE record SET answers = ?", (changed,))
        journal._database.commit()
    assert "changed after it was sealed" in croupier("-C", other, "verify").out


def test_a_tournament_played_again_may_have_other_notes_but_no_other_moves(cup: Path, tmp_path: Path) -> None:
    croupier("-C", cup, "export", "public", tmp_path / "public")
    shutil.copytree(tmp_path / "public", again := tmp_path / "again")
    command = [sys.executable, tmp_path / "public" / "check.py", "same", again]
    answers = (again / "answers.ndjson").read_text()

    (again / "answers.ndjson").write_text(answers.replace("opponent", "other bot"))
    assert "1 of them the same answers" in subprocess.run(command, capture_output=True, check=True, text=True).stdout
    (again / "answers.ndjson").write_text(answers.replace("STAND", "END"))
    assert "is another fixture" in subprocess.run(command, capture_output=True, check=False, text=True).stderr


def test_while_a_stage_runs_spectators_see_no_notes(cup: Path) -> None:
    with reading(cup / "run" / "run.sqlite") as journal:
        (path,) = journal.paths()
        shown = shown_fixture(journal, root_of(journal), path)

    assert shown.table(0).notes and not shown._replace(limited=True).table(0).notes


def test_pages_have_a_note_as_text_and_without_names_for_judges(cup: Path) -> None:
    with reading(cup / "run" / "run.sqlite") as journal:
        (path,) = journal.paths()
        (table,) = load(journal, root_of(journal), path, [0])
        masked = renamed(table, numbered(journal))

    assert "evil" not in re.sub(r"<script[^>]*>.*?</script>", "", page_of(table), flags=re.DOTALL)
    noted = [event.facts["note"] for event in masked.events if "note" in event.facts]
    assert noted and all("opponent …" in note and "Quiet" not in note for note in noted)


def test_a_journal_of_a_stranger_cannot_have_a_longer_note_than_a_bot() -> None:
    for most in (MAX_NOTE_BYTES, MAX_NOTE_BYTES + 1):
        packed = pack([[Move("END")]], {1: {1: "x" * most}})
        if most == MAX_NOTE_BYTES:
            assert unpack_noted(packed) == ([[Move("END")]], {1: {1: "x" * most}})
        else:
            with pytest.raises(ValueError, match="table 1 has a note of more than 4096 bytes"):
                unpack(packed)


def test_notes_that_nobody_could_read_are_left_out_and_answers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_UNPACKED_BYTES", 10)

    assert unpack_noted(pack([[Move("END")]], {1: {1: "too long for that"}})) == ([[Move("END")]], {})


def test_a_season_that_removes_answers_removes_notes(cup: Path, tmp_path: Path) -> None:
    with reading(cup / "run" / "run.sqlite") as journal:
        journal.copy_to(tmp_path / "run.sqlite")
    with writing(tmp_path / "run.sqlite") as journal:
        journal.remove_answers()

    with reading(tmp_path / "run.sqlite") as journal:
        assert journal.full_record(journal.paths()[0]).answers == b""
