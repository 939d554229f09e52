"""What plays the final of a season: what was handed in last before entry was closed, whatever happens to clock and process."""

import contextlib
import hashlib
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from command import croupier
from hypothesis import given, settings
from hypothesis import strategies as st
from season_fixtures import STANDS, Season, leave, season, terms_of
from season_process import CONFIG

from host.config.tournament_config import load
from host.season.entries.inbox import Cancel, Manage, Request, Submit, read_requests
from host.season.entries.store import Store
from host.season.entries.values import Submission, Verdict, Version, submission_id
from host.season.folder import SeasonFolder
from host.season.rounds.season import Season as SeasonProcess
from host.season.rounds.season import entries_in
from host.season.season_config import AuthorLimits

FILES = {name: f"{STANDS}# {name}".encode() for name in "abc"}
START = 1_800_000_000.0  # seconds since 1970


class Clock:
    """A season process and its inbox, with a clock that a test sets."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, START

    def leave(self, request: Request, upload: bytes | None = None) -> None:
        """Leave a request in the inbox now."""
        written = self.folder / "inbox" / leave(self.folder, request, upload)
        written.rename(written.with_name(f"{int(self.now * 1e9):019d}-{written.name.partition('-')[2]}"))
        self.now += 1

    def hand_in(self, name: str) -> None:
        """Hand in a file."""
        self.leave(Submit("ada", "mine.py", "web", "mine"), FILES[name])

    def cancel(self, name: str) -> None:
        """Cancel a file that was handed in."""
        self.leave(Cancel("ada", identity(name)))

    @contextlib.contextmanager
    def opened(self) -> Iterator[Season]:
        """Start the season process, which answers what lies in the inbox."""
        with season(self.folder) as here:
            for stored in read_requests(self.folder / "inbox").requests:
                here.intake.handle(stored, self.now)
                stored.remove()
            yield here


def identity(name: str) -> str:
    """Return the id of a file that ada hands in for her bot."""
    return submission_id("ada", "mine", hashlib.sha256(FILES[name]).hexdigest())


def accept(here: Season, known: Submission) -> None:
    """Accept a submission, as its examination does when it has found nothing wrong."""
    number = here.store.versions.next_number(known.bot)
    version = Version(
        *(known.bot, number, known.author, known.sha256, known.id, START),
        active=False,
        content=known.sha256,
        language="python",
    )
    folder = here.folder / "work" / known.id
    folder.mkdir()
    here.intake.accept(known, version, Verdict(accepted=True), folder)


def close_entry(folder: Path, at: float, more: str = "") -> None:
    """Write the croupier.toml of a season whose terms close entry at a whole second."""
    terms = f'freeze = {datetime.fromtimestamp(at - 1, UTC).isoformat()}\ngrace = "1 s"\n{more}'
    (folder / "croupier.toml").write_text(CONFIG.format(game="pazaak", terms=terms))
    SeasonFolder(folder).draw_seed()


def process_of(folder: Path, store: Store) -> SeasonProcess:
    """Return the state of the season process, with the terms that its folder has now."""
    return SeasonProcess(SeasonFolder(folder), load(folder), store)


def playing(here: Season) -> list[str]:
    """Return the files that play."""
    names = {hashlib.sha256(content).hexdigest(): name for name, content in FILES.items()}
    return [names[version.sha256] for version in here.store.versions.playing()]


def model(steps: list[str]) -> list[str]:
    """Return the files that must play after these steps, in the order in which the season reads them."""
    waiting, known, plays, late, frozen = dict[str, bool](), set[str](), list[str](), list[str](), False
    for step, _, name in (each.partition(" ") for each in steps):
        if step == "in" and name not in {*waiting, *known}:
            waiting[name] = not frozen
        elif step == "in" and name in known and not frozen:
            plays = [name]
        elif step == "cancel":
            waiting.pop(name, None)
        elif step == "examine":
            known |= {*waiting}
            plays = [name for name, early in waiting.items() if early][-1:] or plays
            late += [name for name, early in waiting.items() if not early]
            waiting = {}
        elif step == "unfreeze" and frozen:
            plays, late, waiting, frozen = late[-1:] or plays, [], dict.fromkeys(waiting, True), False
        frozen |= step == "freeze"
    return plays


NAMED = st.tuples(st.sampled_from(["in", "in", "cancel"]), st.sampled_from([*FILES])).map(" ".join)
STEPS = st.lists(
    NAMED | st.sampled_from(["examine", "restart", "freeze", "unfreeze", "clock -3600", "clock 86400"]), max_size=14
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_the_final_is_played_by_what_was_handed_in_last_before_the_freeze(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock, done = Clock(Path(folder)), list[str]()
        left = list[tuple[float, str]]()  # requests that the season has not read, with the times of their ids
        for step, _, name in (each.partition(" ") for each in [*steps, "examine"]):
            match step:
                case "in":
                    left.append((clock.now, f"in {name}"))
                    clock.hand_in(name)
                case "cancel":
                    left.append((clock.now, f"cancel {name}"))
                    clock.cancel(name)
                case "freeze" | "unfreeze":
                    left.append((clock.now, step))
                    clock.leave(Manage(step))
                case "clock":
                    clock.now += float(name)
                case _:
                    done += [what for _, what in sorted(left)]
                    left = []
                    with clock.opened() as here:
                        if step == "examine":
                            done.append("examine")
                            for each in here.store.submissions.open():
                                accept(here, each)
        with clock.opened() as here:
            assert playing(here) == model(done), done


def test_a_file_that_was_cancelled_and_handed_in_again_after_the_freeze_is_late(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    clock.hand_in("a")
    clock.cancel("a")
    clock.leave(Manage("freeze"))
    clock.hand_in("a")
    with clock.opened() as here:
        (known,) = here.store.submissions.open()
        assert known.at == pytest.approx(START + 3)
        accept(here, known)
        assert not playing(here)


def test_a_file_that_arrived_before_the_freeze_is_in_time_whenever_it_is_read(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    clock.hand_in("a")
    clock.leave(Manage("freeze"))
    clock.now += 3600
    with clock.opened() as here:
        (known,) = here.store.submissions.open()
        assert known.at == pytest.approx(START)
        accept(here, known)
        assert playing(here) == ["a"]


def test_entries_are_fixed_after_all_that_arrived_in_time_has_been_read_and_examined(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    clock.now = time.time() // 1 - 100
    close_entry(tmp_path, clock.now)

    def settled() -> bool:
        with Store.open(tmp_path) as store:
            process = process_of(tmp_path, store)
            assert process.frozen()
            return process.entry_is_settled()

    with clock.opened():
        pass
    assert settled()
    clock.now -= 1
    clock.hand_in("a")
    assert not settled()
    refused = croupier("-C", tmp_path, "season", "final", tmp_path / "final")
    assert refused.code == 5 and "E104" in refused.err and "1 request in its inbox" in refused.err
    with clock.opened():
        pass
    assert not settled()
    with clock.opened() as here:
        accept(here, *here.store.submissions.open())
    assert settled()
    clock.hand_in("b")
    assert settled()
    with clock.opened():
        pass
    alone = croupier("-C", tmp_path, "season", "final", tmp_path / "final")
    assert alone.code == 3 and "C004" in alone.err and "needs 2 bots, 1 is ready" in alone.err
    assert not (tmp_path / "final").exists()


def test_entry_is_open_again_if_the_terms_close_it_later(tmp_path: Path) -> None:
    now = time.time() // 1
    close_entry(tmp_path, now - 100)
    with season(tmp_path, terms_of(closes=now - 100)) as here:
        here.submit("ada", "mine.py", FILES["a"], "mine")
        accept(here, *here.store.submissions.open())
        process = process_of(tmp_path, here.store)
        process.take_terms(load(tmp_path))
        assert not playing(here) and process.fix_entries().entries == ()
        for closes in (now - 200, now - 50, now + 1000):
            close_entry(tmp_path, closes)
            process.take_terms(load(tmp_path))
            assert playing(here) == (["a"] if closes > now else [])
        assert entries_in(here.store) is None
        assert len(here.store.events.of("unfreeze")) == 2
        assert f" → {datetime.fromtimestamp(now + 999, UTC)}" in here.store.events.of("terms")[-1].text


def test_fewer_versions_of_an_author_play_if_the_terms_allow_fewer_and_entry_is_open(tmp_path: Path) -> None:
    now = time.time() // 1
    with season(tmp_path, terms_of(limits=AuthorLimits(active=2))) as here:
        for name in "ab":
            here.submit("ada", "mine.py", FILES[name], "mine")
            accept(here, *here.store.submissions.open())
        for active, closes, plays in (
            (2, now + 1000, "ab"),
            (1, now - 1, "ab"),
            (2, now + 1000, "ab"),
            (1, now + 1001, "b"),
        ):
            close_entry(tmp_path, closes, f"active = {active}")
            process_of(tmp_path, here.store).take_terms(load(tmp_path))
            assert playing(here) == [*plays]
        (stopped,) = here.store.events.of("inactive")
        assert stopped.subject == "mine-1"


def test_a_freeze_can_be_undone_until_the_final_exists(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    clock.leave(Manage("freeze"))
    clock.hand_in("a")
    with clock.opened() as here:
        (known,) = here.store.submissions.open()
        accept(here, known)
        assert not playing(here)
        assert here.ask(Manage("unfreeze")).text == "entry is open again"
        assert playing(here) == ["a"]
        assert here.ask(Manage("unfreeze")).code == "E011"
        here.ask(Manage("freeze"))
        (tmp_path / "final.json").write_text("{}")
        assert here.ask(Manage("unfreeze")).code == "E011"


def test_an_author_is_renamed_with_all_that_is_his_and_removed_if_there_is_nothing(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.submit("ada", "mine.py", STANDS)
        here.store.submissions.take_name("mine", "ada")
        token = here.store.authors.get("ada").token_sha256
        assert here.ask(Manage("rename", "ada", name="lovelace")).text == "ada is now called lovelace"
        assert here.store.authors.get("lovelace").token_sha256 == token
        assert [each.author for each in here.store.submissions.open()] == ["lovelace"]
        assert here.store.submissions.owner("mine") == "lovelace"
        assert here.ask(Manage("rename", "lovelace", name="grace")).code == "E008"
        assert here.ask(Manage("remove", "lovelace")).code == "E008"
        assert not here.ask(Manage("remove", "grace")).code
        assert [each.name for each in here.store.authors.all()] == ["lovelace"]
