"""What a season publishes survives what ends or hinders its process."""

import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing
from command import croupier
from season_fixtures import STANDS, season
from season_process import TestSeason, plain_bot
from season_published import plain, publish, read, season_in, site

from host.base.errors import Problem, UserError
from host.config.tournament_config import load
from host.journal.reader import reading
from host.season.entries.inbox import Activate
from host.season.folder import SeasonFolder, records_of
from host.season.publish import own_faults
from host.season.publishing import Publishing
from host.season.rounds.chain import links_of
from host.season.rounds.round_files import has_records
from host.season.rounds.round_loop import RoundPlayer
from host.season.rounds.season import Season, ladder_in
from host.season.site_database import published
from host.tournament.stage_runner import Backend

pytestmark = pytest.mark.long


def test_a_report_that_was_not_written_before_a_restart_is_written_after_it(tmp_path: Path) -> None:
    here = TestSeason(tmp_path / "cup")
    with here.opened():
        here.invite("ada", "grace")
        here.submit("ada", "adas", plain_bot("END", "a"))
        here.submit("grace", "graces", plain_bot("STAND", "b"))
        here.until_round(1)
        here.croupier("season", "pause")
    report = here.folder / "published/rounds/1.html"
    report.unlink(missing_ok=True)
    (here.folder / "published/site.sqlite").unlink()
    with here.opened():
        here.until(report.exists, "the report of round 1")
        here.until(lambda: here.document("mine/ada")["tables"], "the tables of ada")


def test_the_chain_has_the_round_of_the_ladder_at_every_moment(tmp_path: Path) -> None:
    here, seen = TestSeason(tmp_path / "cup"), set[int]()
    with here.opened():
        here.invite("ada", "grace")
        here.submit("ada", "adas", plain_bot("END", "a"))
        here.submit("grace", "graces", plain_bot("STAND", "b"))
        here.until_round(1)
        while len(seen) < 4:
            with here.store() as store, store.snapshot():
                ladder, lines = ladder_in(store), {link.about for link in links_of(store)}
            if ladder is not None:
                seen.add(ladder.round)
                assert f"round {ladder.round}" in lines


@pytest.mark.parametrize("other", [None, "", "of a season that this store is a backup of"])
def test_a_round_without_its_records_gets_them(tmp_path: Path, other: str | None) -> None:
    here = TestSeason(tmp_path / "cup")
    records = here.folder / "published/rounds/0001.ndjson"
    with here.opened():
        here.invite("ada", "grace")
        here.submit("ada", "adas", plain_bot("END", "a"))
        here.submit("grace", "graces", plain_bot("STAND", "b"))
        here.until_round(1)
        here.croupier("season", "pause")
        here.until((here.folder / "published/rounds/1.html").exists, "the report of round 1")
        written = records.read_bytes()
    records.unlink()
    if other is not None:
        records.write_text(other)
    with here.store() as store:
        (last,) = store.database.rows("SELECT max(number) FROM round")[0]
    following = records.with_name(f"{last + 1:04d}.ndjson")
    following.write_text("of a season that this store is a backup of")
    (records.parent / "0001 copy.ndjson").touch()
    with here.opened():
        here.until(lambda: records.exists() and records.read_bytes() == written, "the records of round 1")
        here.croupier("season", "resume")
        here.until(lambda: following.read_text().startswith("{"), "the records of the following round")
        assert here.document("rounds/1")["report"] == "rounds/1.html"


def test_what_is_no_file_of_records_has_the_records_of_no_round(tmp_path: Path) -> None:
    folder = SeasonFolder(tmp_path)
    folder.create()
    (folder.published / records_of(1)).mkdir(parents=True)
    over: Any = SimpleNamespace(number=1, seal="0" * 64)
    assert not has_records(folder, over)


def test_a_round_that_waits_for_the_machine_says_so_once(tmp_path: Path) -> None:
    cup = TestSeason(tmp_path / "cup").folder
    folder = SeasonFolder(cup)
    folder.create()
    folder.draw_seed()
    tries = list[str]()
    missing = Problem("S005", "nestor", "its compiler is not installed")

    @contextlib.asynccontextmanager
    async def backend(_log: Callable[[str], None]) -> AsyncIterator[Backend]:
        tries.append("S005" if len(tries) < 2 else "S001")
        if len(tries) == 4:
            scope.cancel()
        raise UserError([missing._replace(code=tries[-1])], 6)
        yield

    scope = trio.CancelScope()
    with season(cup) as here:
        here.accepted("ada", "adas.py", STANDS)
        here.accepted("grace", "graces.py", STANDS.replace("END", "STAND"))
        opened = Season(folder, load(cup), here.store, lambda *_: None)

        async def play() -> None:
            with scope:
                await RoundPlayer(opened, backend, 1).run(lambda: None)

        trio.run(play, clock=trio.testing.MockClock(autojump_threshold=0.1))  # no time passes between two tries
        said = [(each.kind, each.text) for each in here.store.events.last(99, "waits", "round")]
    assert tries == ["S005", "S005", "S001", "S001"]
    assert [kind for kind, _ in said] == ["round", "waits", "waits"]
    assert "its compiler is not installed" in said[1][1] and "S005" in said[1][1] and "S001" in said[2][1]


def test_a_version_that_its_author_chooses_again_has_no_old_fault(tmp_path: Path) -> None:
    cup = TestSeason(tmp_path / "cup").folder
    SeasonFolder(cup).create()
    SeasonFolder(cup).draw_seed()
    with season(cup) as here, published(SeasonFolder(cup)) as site:
        here.accepted("ada", "mine.py", STANDS)
        opened = Season(SeasonFolder(cup), load(cup), here.store, lambda *_: None)
        player = RoundPlayer(opened, lambda _: contextlib.nullcontext(), 1)  # type: ignore[arg-type]  # plays nothing
        publishing = Publishing(opened, player, here.intake, site)

        def faults() -> str:
            publishing.publish()
            return str(read(cup).author("ada").value.faults)

        assert "memory" not in faults()
        here.store.versions.take_off("mine-1", "it no longer starts (B012): out of memory")
        assert "out of memory" in faults()
        here.ask(Activate("ada", "mine", 1, True))
        assert "memory" not in faults()


def test_no_version_hides_the_faults_of_another_and_the_last_ones_are_shown(tmp_path: Path) -> None:
    folder = SeasonFolder(tmp_path)
    place, labels = folder.round(1), ("mine-1", "mine-2", "other-1")
    for label in labels:
        (place / label).mkdir(parents=True)
        (place / label / "bot.py").write_bytes(plain_bot("END" if label == "other-1" else "WHAT"))
    (place / "croupier.toml").write_text(
        f"""game = "pazaak"\nbots = {json.dumps(labels)}\n[limits]\nmove = "10 s"\ncpu = "10 s"\n[[stage]]\nname = "round"
        kind = "pairs"\nlist = "meetings.txt"\nfixture_tables = 5\n"""
    )
    (place / "meetings.txt").write_text("60 mine-1 / other-1\n5 mine-2 / other-1\n")
    assert croupier("run", "-C", place).code == 0
    cup: Any = SimpleNamespace(folder=folder, tournament=load(place))
    played: Any = SimpleNamespace(number=1, counted=SimpleNamespace(faults={"mine-1": 60, "mine-2": 5}))
    versions: list[Any] = [SimpleNamespace(label=label) for label in labels]
    with reading(place / "run/run.sqlite") as journal:
        last = [
            [*journal.evidence("WHERE bot = ? AND kind != 'slowest'", (label,))][-1] for label in ("mine-1", "mine-2")
        ]
    found = own_faults(cup, versions, [played])
    assert [fault.label for fault in found] == ["mine-1", "mine-2"] * 5 + ["mine-1"] * 5
    assert [fault.where for fault in found[:2]] == [f"round 1, {path}, table {piece.table}" for _, path, piece in last]


def test_what_could_not_be_published_is_published_later(tmp_path: Path) -> None:
    here = TestSeason(tmp_path / "cup")
    with here.opened():
        here.invite("ada", "grace")
        here.until(lambda: (found := here.document("admin")) and "ada" in found["authors"], "the authors")
        with contextlib.closing(sqlite3.connect(here.folder / "published/site.sqlite")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM author").fetchall()  # nothing can be published until this reader has ended
            here.submit("ada", "adas", plain_bot("END", "a"))
            here.accepted("adas-1")
            here.until(lambda: here.events("waits"), "a failure")
            assert not here.document("mine/ada")["versions"]
        here.until(lambda: here.document("mine/ada")["versions"], "the version")
        (row,) = here.document("mine/ada")["submissions"]
        assert (row["state"], row["label"]) == ("accepted", "adas-1")


def test_the_store_knows_what_has_not_been_published(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.store.forget(here.store.touched())
        answer = here.submit("ada", "mine.py", STANDS)
        touched = here.store.touched()
        assert touched == ({"ada"}, {answer.submission})
        with pytest.raises(ZeroDivisionError), here.store.transaction():
            here.author("kim")
            raise ZeroDivisionError
        assert here.store.touched() == touched
        here.store.forget(touched)
        assert here.store.touched() == (set(), set())
    with season(tmp_path) as here:  # whatever was published, all is looked at again
        assert here.store.touched() == ({"ada", "grace"}, {answer.submission})


def test_a_revision_changes_with_what_is_published_and_only_then(tmp_path: Path) -> None:
    folder = season_in(tmp_path)
    published = read(folder)
    before, ladder = published.site(), published.ladder()
    publish(folder, site(plain, 8))
    assert published.site() == before
    publish(folder, site(plain, 8, waiting=9))
    assert published.site().value.waiting == 9 and published.site().revision > before.revision
    assert published.ladder() is ladder or published.ladder() == ladder


def test_one_author_plays_against_the_references_from_the_first_minute(tmp_path: Path) -> None:
    here = TestSeason(tmp_path / "cup", 'references = ["sample:nestor", "sample:dumb_bold"]')
    with here.opened():
        here.invite("ada", "grace")
        here.submit("ada", "adas", plain_bot("END", "a"))
        here.until_round(2)
        here.until(lambda: here.document("ladder"), "the ladder")
        (row,) = here.document("ladder")["rows"]
        assert (row["label"], row["rank"]) == ("adas-1", 1) and row["tables"] > 0
        met = {label for meeting in here.document("rounds/1")["meetings"] for label in meeting["labels"]}
        assert "adas-1" in met and met - {"adas-1"} <= {"nestor", "dumb_bold"} and len(met) > 1
        here.submit("grace", "graces", plain_bot("STAND", "b"))
        here.accepted("graces-1")
        last = here.document("site")["round"]
        here.until_round(last + 2)
        here.until(lambda: here.document(f"rounds/{last + 2}"), "the round")
        met = {label for meeting in here.document(f"rounds/{last + 2}")["meetings"] for label in meeting["labels"]}
        assert met == {"adas-1", "graces-1"}
    verified = here.croupier("season", "verify", "--json")
    assert verified.code == 0, verified.out
