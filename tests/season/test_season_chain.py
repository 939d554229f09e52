"""The chain of a season: it grows with what happens, everybody may read it, and all that is published follows from it."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import NormalDist
from types import CodeType
from typing import Any

import pytest
import trio
from command import ROOT, croupier
from helpers import breadth
from season_fixtures import tar
from season_process import TestSeason, plain_bot

from host.base.errors import UserError
from host.config.tournament_config import load
from host.games.luck import derive
from host.journal.chain import canonical, seal_of
from host.journal.lock import locked
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.season.entries.database import Database
from host.season.entries.store import Store
from host.season.folder import SeasonFolder, final_seed
from host.season.intake.requests import ENTRIES
from host.season.rounds import chain
from host.season.rounds.chain import TERMS
from host.season.rounds.fit import fitted
from host.season.rounds.season import Season
from host.season.season_check import ratings
from host.season.service import ServiceTerms, loaded_season, run_season
from host.season.verify import RoundCheck, verify_season
from host.stages import Registry

CHECK = ROOT / "host/season/season_check.py"
AUTHORS = ("ada", "grace", "kim")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestSeason]:
    """A season of three authors and a few rounds, frozen, with its final played; its process has ended."""
    season = TestSeason(tmp_path_factory.mktemp("chain") / "cup")
    season.invite(*AUTHORS)
    with season.opened(site=True):
        for author, answer in zip(AUTHORS, ("END", "STAND", "END"), strict=True):
            season.submit(author, f"{author}s", plain_bot(answer, author))
        season.accepted("adas-1", "graces-1", "kims-1")
        season.until(lambda: sum(len(each["players"]) == 3 for each in of(season, "list")) >= 3, "three lists")
        season.until(lambda: (found := season.page("/chain.ndjson")) and b'"round"' in found, "the chain on the site")
        season.until(lambda: season.page("/rounds/0001.ndjson") is not None, "the records on the site")
        assert (
            b'"fixture"' in (season.page("/rounds/0001.ndjson") or b"")
            and season.page("/check.py") == CHECK.read_bytes()
        )
        assert season.page(f"/rounds/{'9' * 400}.ndjson") is None and season.page("/rounds/9999.ndjson") is None
        early = (season.folder / "published/chain.ndjson").read_bytes()
        season.croupier("season", "freeze", "--yes")
        season.until(lambda: season.document("entries"), "the entries")
    assert season.croupier("season", "final", season.folder.parent / "final").code == 0
    assert season.croupier("season", "export", season.folder.parent / "early").code == 0
    assert croupier("-C", season.folder.parent / "final", "run", "--progress", "none").code == 0
    assert season.croupier("season", "export", season.folder.parent / "public").code == 0
    assert (season.folder.parent / "public/chain.ndjson").read_bytes().startswith(early)
    yield season


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a chain."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def of(season: TestSeason, kind: str) -> list[Any]:
    """Return what the published lines of a kind say."""
    return [line[kind] for line in lines(season.folder / "published/chain.ndjson") if kind in line]


def test_every_line_holds_the_seal_of_the_one_before_it(played: TestSeason) -> None:
    seal = ""
    for line in (played.folder / "published/chain.ndjson").read_text().splitlines():
        assert json.loads(line)["before"] == seal
        seal = seal_of(line)


def test_the_chain_has_what_happened_in_its_order(played: TestSeason) -> None:
    kinds = [next(key for key in line if key != "before") for line in lines(played.folder / "published/chain.ndjson")]
    assert kinds[0] == "terms" and {"version", "list", "round", "change", "entries", "final", "seed"} <= {*kinds}
    assert kinds.index("list") < kinds.index("round") < kinds.index("entries") < kinds.index("final") < len(kinds) - 1
    assert kinds[-1] == "seed" and kinds.count("version") == 3
    with played.store() as store:
        for version in of(played, "version"):
            known = store.versions.labelled(version["label"])
            assert (version["sha256"], version["entered"]) == (known.sha256, known.entered)
            file = (played.folder / "uploads" / version["file"]).read_bytes()
            assert hashlib.sha256(file).hexdigest() == version["file"]


def test_seeds_are_promised_before_they_deal_and_revealed_after(played: TestSeason) -> None:
    (opening, *_), rounds = of(played, "terms"), {each["number"]: each for each in of(played, "round")}
    seed = bytes.fromhex(of(played, "seed")[0]["seed"])
    assert opening["seed_sha256"] == hashlib.sha256(seed).hexdigest()
    assert opening["final_sha256"] == of(played, "final")[0]["seed_sha256"]
    assert opening["final_sha256"] == hashlib.sha256(final_seed(seed)).hexdigest()
    for listed in of(played, "list"):
        own = derive(seed, f"round/{listed['number']}")[:16]
        assert listed["seed_sha256"] == hashlib.sha256(own).hexdigest()
        if found := rounds.get(listed["number"]):
            assert found["seed"] == own.hex()
    early = (played.folder.parent / "early/chain.ndjson").read_text()
    assert seed.hex() not in early and '"final"' in early and final_seed(seed).hex() not in early
    assert played.document("site")["seed_sha256"] == opening["seed_sha256"]


def test_the_records_of_each_round_end_with_its_seal(played: TestSeason) -> None:
    for each in of(played, "round"):
        records = f"rounds/{each['number']:04d}.ndjson"
        text = (played.folder.parent / "public" / records).read_text()
        assert seal_of(text.splitlines()[-1]) == each["seal"]
        on_site = played.folder / "published" / records
        assert not on_site.exists() or on_site.read_text() == text


def test_a_season_without_a_chain_gets_one(played: TestSeason, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    with contextlib.closing(sqlite3.connect(copied / "season.sqlite")) as store:
        store.execute("DROP TABLE chain")
    (copied / "published/chain.ndjson").unlink()
    assert croupier("-C", copied, "season", "export", tmp_path / "public").code == 0
    old, new = ({json.dumps({**line, "before": ""}) for line in lines(folder / "published/chain.ndjson")}
                for folder in (played.folder, copied))  # fmt: skip
    assert old == new


@contextlib.contextmanager
def here(place: Path) -> Iterator[Season]:
    """Open a season in this process."""
    with Store.open(place) as store:
        yield Season(SeasonFolder(place), load(place), store)


def test_terms_and_entries_change_with_their_events_or_not_at_all_on_a_full_disk(tmp_path: Path) -> None:
    place = TestSeason(tmp_path / "cup").folder
    SeasonFolder(place).draw_seed()
    with here(place) as season:
        store, old = season.store, load(place)
        season.take_terms(old)
        config = place / "croupier.toml"
        config.write_text(config.read_text().replace("[season]\n", "[season]\nplaces = 7\n"))
        before, database = store.setting(TERMS), store.database
        (pages,) = database.rows("PRAGMA page_count")[0]
        database.rows(f"PRAGMA max_page_count = {pages}")
        size = 1 << 12
        while size:  # fill all pages; the setting still fits, its event does not
            try:
                store.events.add(0.0, "fill", "", "x" * size)
            except UserError:
                size //= 2
        with pytest.raises(UserError):
            season.take_terms(load(place))
        assert season.tournament is old and store.setting(TERMS) == before
        for kind in ("terms", "entries"):
            assert not store.events.of(kind)
        with pytest.raises(UserError):
            season.fix_entries()
        assert not store.setting(ENTRIES)
        database.rows("PRAGMA max_page_count = 100000")
        season.take_terms(load(place))
        season.fix_entries()
        assert [len(store.events.of(kind)) for kind in ("terms", "entries")] == [1, 1]
        assert season.terms.places == 7 and store.setting(ENTRIES)


def test_what_has_not_changed_is_not_read_again(
    played: TestSeason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = Path(shutil.copytree(played.folder, tmp_path / "copy", symlinks=True))
    looked = list[str]()

    def rows(self: Database, query: str, *values: Any) -> list[tuple[Any, ...]]:
        found = real(self, query, *values)
        looked.extend(query.split(" FROM ")[1].split()[0] for _ in found)
        return found

    with here(copied) as season:
        rounds, real = season.book.rounds(), Database.rows
        season.chain.update(season, rounds)
        season.store.forget(season.store.touched())
        monkeypatch.setattr(Database, "rows", rows)
        season.chain.update(season, rounds)
        assert {*looked} <= {"setting", "event", "sqlite_master"} and looked.count("event") == 1, looked
        before = len(chain.links_of(season.store))
        season.event("readmit", "adas", "it may play again")
        season.store.authors.rename("ada", "lovelace", 0.0)
        season.chain.update(season, rounds)
        assert [link.about for link in chain.links_of(season.store)[before:]] == [
            "version adas-1",
            f"change {number(season)}",
        ]


def number(season: Season) -> int:
    """Return the number of the last event."""
    return season.store.events.last(1)[0].number


def test_a_published_chain_that_is_lost_is_written_again(
    played: TestSeason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = Path(shutil.copytree(played.folder, tmp_path / "copy", symlinks=True))
    monkeypatch.setattr(chain, "READ_LINES", 2)
    text = (copied / "published/chain.ndjson").read_text()
    with here(copied) as season:
        for _ in "at opening", "later":
            (copied / "published/chain.ndjson").unlink()
            season.chain.update(season, season.book.rounds())
            assert (copied / "published/chain.ndjson").read_text() == text
        season.event("readmit", "adas", "it may play again")
        season.chain.update(season, season.book.rounds())
        assert (copied / "published/chain.ndjson").read_text().startswith(text)
        assert json.loads((copied / "published/chain.ndjson").read_text()[len(text) :])["before"] == seal_of(
            text.splitlines()[-1]
        )


def test_the_journal_of_the_final_is_opened_once_when_it_has_ended(
    played: TestSeason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = Path(shutil.copytree(played.folder, tmp_path / "copy", symlinks=True))
    with contextlib.closing(sqlite3.connect(copied / "season.sqlite")) as store:
        store.execute("DROP TABLE chain")
    opened = list[Path]()

    def counted(journal: Path, registry: Registry) -> Any:
        opened.append(journal)
        return reading(journal, registry)

    monkeypatch.setattr(chain, "reading", counted)
    with here(copied) as season:
        journal = Folder(played.folder.parent / "final").journal
        with locked(journal.with_suffix(".lock")):
            assert not chain.is_final_over(season) and not opened
        os.utime(journal)
        for _ in range(3):
            assert chain.is_final_over(season)
        assert opened == [journal]


@pytest.mark.long
def test_an_open_season_publishes_its_seed_and_reads_the_journal_of_the_final_in_a_thread(
    played: TestSeason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = Path(shutil.copytree(played.folder, tmp_path / "copy", symlinks=True))
    with contextlib.closing(sqlite3.connect(copied / "season.sqlite")) as store:
        store.execute("DROP TABLE chain")
    (copied / "published/chain.ndjson").write_bytes(b"")
    os.utime(Folder(played.folder.parent / "final").journal)
    threads = list[int]()

    def noted(journal: Path, registry: Registry) -> Any:
        threads.append(threading.get_ident())
        return reading(journal, registry)

    async def open_until_the_seed_is_published() -> None:
        with trio.fail_after(300):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run_season, copied, ServiceTerms(""), lambda *_: None, lambda _: None)
                while b'"seed":{' not in (copied / "published/chain.ndjson").read_bytes():
                    await trio.sleep(0.1)
                nursery.cancel_scope.cancel()

    monkeypatch.setattr(chain, "reading", noted)
    trio.run(open_until_the_seed_is_published)
    assert threads and threading.get_ident() not in threads


def test_the_addresses_of_the_site_are_not_in_the_chain(played: TestSeason, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(played.folder, tmp_path / "copy", symlinks=True))
    config = copied / "croupier.toml"
    with here(copied) as season:
        for more in ('address = "http://secret.example"', 'address = "http://secret.example"\nactive = 2'):
            config.write_text((played.folder / "croupier.toml").read_text().replace("[season]", f"[season]\n{more}"))
            season.take_terms(load(copied))
        season.chain.update(season, season.book.rounds())
    text = (copied / "published/chain.ndjson").read_text()
    assert "secret.example" not in text and r"[season] active: 1 \u2192 2" in text


# By its organiser.


def test_verify_compares_the_season_with_its_chain_and_its_ladder(played: TestSeason) -> None:
    seals = [seal_of(line) for line in (played.folder / "published/chain.ndjson").read_text().splitlines()]
    done = played.croupier("season", "verify", "--seal", seals[3])
    assert done.code == 0, done.out + done.err
    assert f"{len(seals)} lines of the chain: the season is what it has sealed" in done.out
    assert "the ladder after round " in done.out and "follows from the journals" in done.out
    done = played.croupier("season", "verify", "--seal", "0" * 64, "--json")
    assert done.code == 1 and done.json["differences"] == [f"the chain: no line has the seal {'0' * 64}"]


WRONG = {
    "UPDATE submission SET at = at - 60 WHERE id = (SELECT submission FROM version LIMIT 1)": "handed_in is",
    "UPDATE version SET entered = entered - 60": "entered is",
    "UPDATE version SET author = 'eve' WHERE bot = 'adas'": "version adas-1: it was sealed, and is not",
    "UPDATE setting SET value = replace(value, '\"active\": 1', '\"active\": 2') WHERE name = 'terms'": "terms.season.active is",
    f"UPDATE version SET sha256 = '{'0' * 64}' WHERE bot = 'adas'": "version adas-1: sha256 is",
    "DELETE FROM event WHERE kind = 'freeze'": "it was sealed, and is not in the store",
    "DELETE FROM round WHERE number = (SELECT max(number) FROM round)": "it was sealed, and is not in the store",
    "UPDATE round SET ended = ended + 1 WHERE number = 1": "round 1: ended is",
    "UPDATE setting SET value = replace(value, '\"rank\":1', '\"rank\":2') WHERE name = 'ladder'": "the ladder: rank of",
    "UPDATE setting SET value = json_set(value, '$.rows[0].rating', 1999.0) WHERE name = 'ladder'": "the ladder: rating of",
    "UPDATE setting SET value = json_set(value, '$.rows[0].ahead', 0.99999) WHERE name = 'ladder'": "the ladder: ahead of",
    "UPDATE setting SET value = json_remove(value, '$.rows[0]') WHERE name = 'ladder'": "the ladder: its versions",
    "UPDATE chain SET line = replace(line, 'Cup', 'Cap') WHERE number = 1": "line 2 does not follow",
    "DELETE FROM chain WHERE number = 2": "line 2 does not follow",
    """UPDATE chain SET line = replace(line, '"seed":"', '"seed":"0') WHERE about = 'seed'""": "seed: seed is",
}


@pytest.mark.parametrize("change", breadth(WRONG, 3))
def test_verify_finds_what_was_changed_in_the_store(played: TestSeason, tmp_path: Path, change: str) -> None:
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    with contextlib.closing(sqlite3.connect(copied / "season.sqlite")) as store, store:
        assert store.execute(change).rowcount
    done = croupier("-C", copied, "season", "verify", "--json")
    assert done.code == 1 and WRONG[change] in " ".join(done.json["differences"]), done.out + done.err


def test_verify_accuses_nobody_of_a_change_that_the_chain_gets_later(played: TestSeason, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(played.folder, tmp_path / "copy", symlinks=True))
    with here(copied) as season:
        season.store.authors.rename("ada", "lovelace", 0.0)
        season.event("rename", "ada", "ada is now called lovelace")
        config = (copied / "croupier.toml").read_text().replace("[season]", "[season]\nactive = 2")
        (copied / "croupier.toml").write_text(config)
        season.take_terms(load(copied))
        season.fix_entries()
        assert verify_season(copied, season.tournament, 0.01).differences == ()
        season.chain.update(season, season.book.rounds())
        season.store.authors.rename("lovelace", "eve", 0.0)  # without an event, as nobody can who only uses croupier
        (found,) = verify_season(copied, season.tournament, 0.01).differences
        assert found.startswith("version adas-1: author is")


def test_verify_reads_a_season_that_goes_on_at_one_moment(
    played: TestSeason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    tournament, differences = loaded_season(copied), RoundCheck.differences

    def meanwhile(check: RoundCheck, share: float) -> Iterator[str]:
        """Add another round to the season and its chain while the first one is verified."""
        with Store.open(copied) as store:
            season = Season(SeasonFolder(copied), tournament, store, lambda *_: None)
            if len(known := season.book.rounds()) == len(of(played, "list")):
                season.book.plan(known[-1].terms._replace(number=len(known) + 1), known[-1].players, [])
                season.chain.update(season, season.book.rounds())
        return differences(check, share)

    monkeypatch.setattr(RoundCheck, "differences", meanwhile)
    found = verify_season(copied, tournament, 0.01)
    assert found.rounds == len(of(played, "list")) and found.differences == ()


def test_the_export_has_the_name_that_an_author_has_now(played: TestSeason, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    with Store.open(copied) as store:
        store.authors.rename("ada", "lovelace", 0.0)
    assert croupier("-C", copied, "season", "export", tmp_path / "public").code == 0
    done = check(tmp_path / "public")
    assert done.returncode == 0 and "✓ the ladder after round" in done.stdout, done.stderr


# The check.


def check(place: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run check.py as an outsider does: with Python alone, without croupier on its path."""
    command = [sys.executable, "-I", "-S", place / "check.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@cache
def compiled(source: str) -> CodeType:
    return compile(source, "check.py", "exec")


def refusal(place: Path, *words: str) -> str:
    """Run check.py in this process; return why it refuses the folder, or "" if it does not."""
    file = place / "check.py"
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setattr(sys, "argv", [str(file), *words])
        try:
            exec(compiled(file.read_text()), {"__name__": "__main__", "__file__": str(file)})
        except SystemExit as refused:
            return str(refused.code)
        except Exception as failed:  # it ends with a traceback and exit code 1
            return repr(failed)
    return ""


def test_an_outsider_confirms_a_season(played: TestSeason, tmp_path: Path) -> None:
    place = played.folder.parent
    seals = [seal_of(line) for line in (place / "public/chain.ndjson").read_text().splitlines()]
    done = check(place / "public", seals[2], seals[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"✓ {len(seals)} lines, seal {seals[-1]}" in done.stdout and "which follow from the season's" in done.stdout
    assert f"{len(of(played, 'round'))} of them follow from their records" in done.stdout
    assert "✓ the ladder after round" in done.stdout and "✓ the final has all entries" in done.stdout
    done = check(place / "public", place / "early")
    assert done.returncode == 0 and "secret until the final is over" in done.stdout, done.stderr
    done = check(place / "public", Path(shutil.copy(played.folder / "published/chain.ndjson", tmp_path)))
    assert (
        done.returncode == 0 and "which are not here" in done.stdout and "the ladder, which is not here" in done.stdout
    )


Lines = list[dict[str, Any]]


def sealed_again(entries: Lines) -> str:
    """Return the chain of an organiser who seals again what he has changed."""
    text, seal = "", ""
    for line in entries:
        text += f"{canonical({**line, 'before': seal})}\n"
        seal = seal_of(text.splitlines()[-1])
    return text


@pytest.fixture
def public(played: TestSeason, tmp_path: Path) -> Path:
    """A copy of the published folder."""
    return Path(shutil.copytree(played.folder.parent / "public", tmp_path / "public"))


def test_whatever_is_changed_after_a_seal_was_published_is_found(public: Path) -> None:
    file = public / "chain.ndjson"
    entries, last = lines(file), seal_of(file.read_text().splitlines()[-1])
    for number, (_, kind) in enumerate(map(sorted, entries)):
        for key, value in entries[number][kind].items():
            other = {**entries[number][kind], key: [value]}
            file.write_text(sealed_again([*entries[:number], {"before": "", kind: other}, *entries[number + 1 :]]))
            assert f"no line has the seal {last}" in refusal(public, last), (number, key)
    for number in range(len(entries)):
        file.write_text(sealed_again([*entries[:number], *entries[number + 1 :]]))
        assert refusal(public, last)
    file.write_text(sealed_again(entries).replace('"tables":', '"tables" :', 1))
    assert "line" in refusal(public)


FOUND = {  # keys of each kind of line; check.py finds a change of them without a seal that was seen before
    "terms": ("seed_sha256", "final_sha256"),
    "version": ("sha256", "handed_in", "label"),
    "list": ("number", "seed_sha256", "players", "meetings", "terms"),
    "round": ("number", "seal", "seed"),
    "entries": ("digest", "entries"),
    "final": ("digest", "entries", "seed_sha256"),
    "seed": ("seed",),
}
SUMS = ("meetings", "orders", "tables", "faults")


def changed(value: Any) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1e9
        case str():
            return value[:-1] + ("0" if value[-1:] != "0" else "1")
        case list():
            return value[1:] if len(value) > 1 else [*value, *value] or ["0"]
        case dict():
            return {**value, **({key: changed(each) for key, each in [*value.items()][:1]} or {"adas-1": 1})}
    return 0


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind, keys in FOUND.items() for key in keys])
def test_what_contradicts_itself_is_found_without_a_seal(public: Path, kind: str, key: str) -> None:
    file = public / "chain.ndjson"
    entries = lines(file)
    over = {line["round"]["number"] for line in entries if "round" in line}
    for number, line in enumerate(entries):
        if kind in line and (kind != "list" or line["list"]["number"] in over):
            other_value = {"players": [], "terms": {"number": 99}}.get(key, changed(line[kind][key]))
            other = {**line, kind: {**line[kind], key: other_value}}
            file.write_text(sealed_again([*entries[:number], other, *entries[number + 1 :]]))
            assert refusal(public), (number, key)


@pytest.mark.parametrize("key", SUMS)
def test_sums_that_do_not_follow_from_the_records_are_found(public: Path, key: str) -> None:
    file = public / "chain.ndjson"
    entries = lines(file)
    for number, line in enumerate(entries):
        if "round" in line:
            sums = line["round"]["sums"]
            other = {"before": "", "round": {**line["round"], "sums": {**sums, key: changed(sums[key])}}}
            file.write_text(sealed_again([*entries[:number], other, *entries[number + 1 :]]))
            assert refusal(public), (number, key)


def test_records_that_are_changed_are_found_even_if_their_seal_is(public: Path) -> None:
    file = public / "chain.ndjson"
    entries = lines(file)
    at = next(number for number, line in enumerate(entries) if "round" in line)
    records = public / "rounds" / f"{entries[at]['round']['number']:04d}.ndjson"
    true = lines(records)
    for kind, key in (("fixture", "scores"), ("fixture", "bots"), ("terms", "seed_sha256"), ("version", "sha256")):
        other = [*true]
        nth = next(number for number, line in enumerate(true) if kind in line)
        other[nth] = {**true[nth], kind: {**true[nth][kind], key: changed(true[nth][kind][key])}}
        text = sealed_again(other)
        records.write_text(text)
        assert "the seal of its records" in refusal(public)
        round_ = {"before": "", "round": {**entries[at]["round"], "seal": seal_of(text.splitlines()[-1])}}
        file.write_text(sealed_again([*entries[:at], round_, *entries[at + 1 :]]))
        assert refusal(public), key
        file.write_text(sealed_again(entries))


def test_a_round_that_is_left_out_is_found(public: Path) -> None:
    entries = lines(public / "chain.ndjson")
    number = next(line["round"]["number"] for line in entries if "round" in line)
    kept = [line for line in entries if all(line.get(kind, {}).get("number") != number for kind in ("list", "round"))]
    (public / "chain.ndjson").write_text(sealed_again(kept))
    assert refusal(public)


def test_entries_that_were_opened_again_are_void_until_they_are_fixed_again(public: Path) -> None:
    known = lines(public / "chain.ndjson")
    number = next(number for number, line in enumerate(known) if "entries" in line)
    undone = {"before": "", "change": {"number": 1000, "at": 0.0, "kind": "unfreeze", "subject": "", "text": ""}}
    for more, shown in ([], True), ([undone], False), ([undone, known[number]], True):
        rounds = [line for line in known[number + 1 :] if "list" in line or "round" in line]
        (public / "chain.ndjson").write_text(sealed_again([*known[: number + 1], *rounds, *more]))
        done = check(public)
        assert done.returncode == 0 and ("entries, digest" in done.stdout) is shown, done.stdout + done.stderr


SHOWN = ("rank", "label", "author", "rating", "interval", "tables", "faults", "ahead", "history", "note")


@pytest.mark.parametrize("key", SHOWN)
def test_each_figure_of_the_ladder_is_computed_again(public: Path, key: str) -> None:
    file = public / "ladder.json"
    ladder = json.loads(file.read_text())
    for row in range(len(ladder["rows"])):
        rows = [dict(each) for each in ladder["rows"]]
        true = rows[row][key]
        rows[row][key] = {"note": "not ranked: graces-1 of the same author is ahead", "ahead": 0.123}.get(
            key, changed(true)
        )
        if key == "history":
            rows[row][key] = [*true[:-1], true[-1] + 1]
        file.write_text(json.dumps({**ladder, "rows": rows}))
        assert refusal(public), row
    rows = ladder["rows"]
    for other in (rows[1:], [rows[1], rows[0], *rows[2:]]):
        file.write_text(json.dumps({**ladder, "rows": other}))
        assert refusal(public)


# The ladder, a second and a third time.

Orders = dict[tuple[tuple[str, ...], ...], float]


def of_two(*results: tuple[str, str, int, int, int]) -> Orders:
    """Return the orders of tables of two: how many the first one won, the second one won, and were drawn."""
    found: Orders = {}
    for one, other, won, lost, drawn in results:
        found |= {((one,), (other,)): won, ((other,), (one,)): lost, ((one, other),): drawn}
    return {order: times for order, times in found.items() if times}


FIELDS: dict[str, Orders] = {
    "the example of docs/checking.md": of_two(
        ("ada-1", "bob-1", 7, 3, 0), ("ada-1", "cyd-1", 4, 4, 2), ("bob-1", "cyd-1", 2, 8, 0)
    ),
    "a version that has won all": of_two(("a-1", "b-1", 10, 0, 0), ("b-1", "c-1", 12, 3, 5)),
    "a circle": of_two(
        ("a-1", "b-1", 900, 100, 0), ("b-1", "c-1", 850, 150, 0), ("c-1", "a-1", 700, 300, 0), ("c-1", "d-1", 30, 30, 9)
    ),
    "tables of four with equals": {
        (("a-1",), ("b-1", "c-1"), ("d-1",)): 20, (("b-1",), ("a-1",), ("e-1",), ("c-1",)): 11,
        (("d-1", "e-1"), ("a-1", "b-1")): 7, (("c-1", "d-1", "e-1"), ("b-1",)): 5, (("a-1",), ("d-1",)): 3,
    },
}  # fmt: skip


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node")
@pytest.mark.parametrize("name", FIELDS)
def test_two_other_programs_compute_the_same_ladder(name: str, tmp_path: Path) -> None:
    sums = {"orders": [*FIELDS[name].items()], "meetings": [], "tables": {}, "faults": {}}
    line = {"before": "", "round": {"number": 1, "state": "finished", "sums": sums}}
    (tmp_path / "chain.ndjson").write_text(f"{json.dumps(line)}\n")
    fit, (elo, covariance) = fitted(FIELDS[name]), ratings(FIELDS[name])
    assert (fit.residuals.spread > 0) is (name in ("a circle", "tables of four with equals"))
    rows = second_program(tmp_path / "chain.ndjson", 1)
    assert {row[0] for row in rows} == {*fit.number}
    names = [row[0] for row in rows]
    for place, (label, rating, half, *ahead) in enumerate(rows):
        true = float(fit.elo[fit.number[label]])
        assert float(rating) - 1500 == pytest.approx(true, abs=2e-4) and elo[label] == pytest.approx(true, abs=2e-4)
        assert float(half) == pytest.approx(fit.interval(label), rel=1e-4)
        assert covariance(label, label) == pytest.approx(float(fit.errors[fit.number[label]]) ** 2, rel=1e-4)
        for other, distance in zip(names[place + 1 :], ahead, strict=True):
            assert NormalDist().cdf(float(distance)) == pytest.approx(fit.sure_ahead(label, other), abs=1e-4)


@pytest.mark.long
@pytest.mark.timing
def test_the_ladder_of_hundreds_of_versions_is_checked_in_seconds() -> None:
    beat = [((nth, nth + by), 6 + nth % 4) for nth in range(300) for by in (1, 2, 7) if nth + by < 300]
    orders = of_two(*((f"v{one:03d}", f"v{other:03d}", won, 12 - won, 2) for (one, other), won in beat))
    fit, began = fitted(orders), time.process_time()
    elo, covariance = ratings(orders)
    assert time.process_time() - began < 20  # with an inverse at each step of Newton's method, more than a minute
    assert elo["v100"] == pytest.approx(float(fit.elo[100]), abs=2e-4)
    assert covariance("v100", "v101") == pytest.approx(float(fit.covariance[100, 101]), rel=1e-4)


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node")
def test_a_second_program_computes_the_published_ladder(played: TestSeason) -> None:
    place = played.folder.parent / "public"
    ladder = json.loads((place / "ladder.json").read_text())
    rows = {label: more for label, *more in second_program(place / "chain.ndjson", ladder["round"])}
    assert {*rows} == {row["label"] for row in ladder["rows"]}
    for row in ladder["rows"]:
        rating, half, *ahead = map(float, rows[row["label"]])
        assert (round(rating, 1), round(half, 1)) == pytest.approx((row["rating"], row["interval"]), abs=0.11)
        if ahead:
            assert NormalDist().cdf(ahead[0]) == pytest.approx(row["ahead"], abs=1e-4)


def second_program(chain: Path, number: int) -> list[list[str]]:
    """Return what ladder.js computes: label, rating, half an interval, and by how many errors it is ahead of each after it."""
    command: list[str | Path] = ["node", Path(__file__).with_name("ladder.js"), chain, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.proof
@pytest.mark.parametrize("game", ["holdem", "hearts", "cardshark"])
def test_a_season_of_each_game_can_be_checked(game: str, tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup", game=game)
    config = season.folder / "croupier.toml"
    config.write_text(config.read_text().replace('kind = "round-robin"\ntables_per_pair = 20', 'kind = "league"'))
    season.invite(*"abcd")
    bot = ROOT / "sample_bots" / game / {"holdem": "tight", "hearts": "duck", "cardshark": "counter"}[game]
    files = {path.name: path.read_text() for path in bot.iterdir() if path.is_file()}
    with season.opened():
        for author in "abcd":
            season.submit(author, f"{author}s", tar({**files, "author.txt": author}), "bot.tar.gz")
        season.accepted(*(f"{author}s-1" for author in "abcd"))
        season.until(lambda: any(len(each["sums"]["tables"]) >= 2 for each in of(season, "round")[1:]), "two rounds")
    assert season.croupier("season", "export", tmp_path / "public").code == 0
    done = check(tmp_path / "public")
    assert done.returncode == 0 and "✓ the ladder" in done.stdout, done.stdout + done.stderr
    assert season.croupier("season", "verify").code == 0
