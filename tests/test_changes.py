"""Changes of a run are appended, sealed and shown; nothing that was recorded is deleted."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command import answers_in, croupier, cup_in

from host.base.errors import UserError
from host.inspect.verify import verify
from host.tournament.changes import Draft
from host.tournament.journal import UNCHANGED, VERSION, reading, writing


def version_of(journal: Path) -> int:
    """Return the format of a journal."""
    with closing(sqlite3.connect(journal)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        return int(version)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return the journal of a finished tournament."""
    cup = cup_in(tmp_path / "cup", tourneys=3)
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    return cup / "run" / "run.sqlite"


def test_a_fixture_that_is_set_aside_does_not_count_and_is_played_again(journal: Path) -> None:
    before, cup = answers_in(journal), journal.parents[1]
    with reading(journal) as book:
        published = book.seal()
    assert version_of(journal) == UNCHANGED
    with writing(journal) as book:
        change = book.change(Draft("redo", "tables/2", "power cut", "tables", set_aside=["tables/2"]))
        assert (change.number, change.after, book.seal()) == (1, 3, change.seal)
        assert book.paths() == ["tables/1", "tables/3"]
        book.set_metadata({"stage tables": "running", "state": "interrupted"})
    assert version_of(journal) == VERSION
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    assert answers_in(journal) == before
    with reading(journal) as book:
        assert [seal.path for seal in book.seals()] == ["tables/1", "tables/2", "tables/3", "", "tables/2"]
        assert all(seal.sound for seal in book.seals())
        audit = verify(book, published=published)
        assert (audit.tables, audit.differences, audit.sealed, audit.since) == (20, [], 3, 1)
        assert list(audit.changes) == book.changes() == [change]
    told = croupier("verify", "-C", cup, "--seal", published)
    assert told.code == 0
    assert "then changed:" in told.out
    assert "tables/2 no longer counts and is played again with the same cards; reason: power cut" in told.out


def test_a_change_is_written_completely_or_not_at_all(journal: Path) -> None:
    with writing(journal) as book:
        with pytest.raises(UserError, match="tables/9: has not been played"):
            book.change(Draft("redo", "tables/9", "no reason", set_aside=["tables/1", "tables/9"]))
        assert (book.paths(), book.changes()) == (["tables/1", "tables/2", "tables/3"], [])
    assert version_of(journal) == UNCHANGED


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE change SET reason = 'another'",
        "UPDATE change SET at = at + 1",
        "UPDATE change SET after = 2",
        "UPDATE set_aside SET fixture = 1",
        "DELETE FROM set_aside",
        "DELETE FROM change",
        "UPDATE former_bot SET sha256 = 'another'",
        "DELETE FROM former_bot",
    ],
)
def test_a_change_that_was_changed_is_found(damage: str, journal: Path) -> None:
    with writing(journal) as book:
        former = book.bots()["davey"]
        draft = Draft("redo", "tables/3", "power cut", set_aside=["tables/3"], former_bots=["davey"])
        book.set_metadata({"stage tables": "running", "state": "interrupted"})
        book.change(draft, lambda: book.add_bot("davey", "f00d", former["language"], {"protocol": former["protocol"]}))
        assert book.bots()["davey"]["sha256"] == "f00d"
        assert book.bots(3)["davey"] == former
        assert verify(book).differences == []
    with closing(sqlite3.connect(journal)) as database:
        database.execute(damage)
        database.commit()
    try:
        with reading(journal) as book:
            assert verify(book).differences
    except UserError as refused:
        assert "damaged" in str(refused)
