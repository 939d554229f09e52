"""The store and the queue of a season: names, limits, fairness, and what is stored durably."""

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from season_fixtures import HASH, NONSENSE, STANDS, Season, leave, season, terms_of

from host.base.errors import UserError
from host.season.entries.inbox import (
    REQUEST_FILE,
    UPLOAD_FILE,
    Activate,
    Cancel,
    Invite,
    Join,
    Manage,
    Practise,
    Submit,
    read_requests,
)
from host.season.entries.names import author_name, name_beside, season_bot_name, usable_name
from host.season.entries.queue import HOUR_S, Quota, Used, Waiting, fair_order, places, why_held, why_refused
from host.season.entries.store import Store
from host.season.entries.values import Submission, SubmissionState, Version
from host.season.intake.requests import closing_time
from host.season.rounds.book import Book, RoundSums
from host.season.rounds.scheduler import Meeting, Player, RoundTerms
from host.season.rounds.season import ladder_in
from host.season.season_config import AuthorLimits

AUTHORS = st.sampled_from("abcde")
SUBMISSIONS = st.lists(st.tuples(AUTHORS, st.integers(0, 50)), max_size=30)


def queue_of(submissions: list[tuple[str, int]]) -> list[Waiting]:
    """Return a queue from authors and times."""
    return [Waiting(f"{number}", author, float(at)) for number, (author, at) in enumerate(submissions)]


# The queue.


@given(SUBMISSIONS)
def test_nobody_is_examined_twice_before_everybody_else_was_once(submissions: list[tuple[str, int]]) -> None:
    waiting, served, clock = queue_of(submissions), dict[str, float](), 100.0
    order = list[str]()
    while waiting:
        first = fair_order(waiting, served)[0]
        waiting.remove(first)
        order.append(first.author)
        served[first.author] = clock
        clock += 1
        between = order[:-1][::-1]
        since = between[: between.index(first.author)] if first.author in between else None
        if since is not None:
            assert {each.author for each in waiting} <= {*since, first.author}


@given(SUBMISSIONS, AUTHORS)
def test_the_submissions_of_one_author_keep_their_order(submissions: list[tuple[str, int]], author: str) -> None:
    own = [each for each in fair_order(queue_of(submissions), {}) if each.author == author]
    assert own == sorted(own, key=lambda each: (each.at, each.id))


@given(SUBMISSIONS, AUTHORS)
def test_what_one_author_hands_in_delays_no_other_by_more_than_one(
    submissions: list[tuple[str, int]], flooding: str
) -> None:
    others = [each for each in submissions if each[0] != flooding]
    flood = [(flooding, 0)] * 20
    alone = fair_order(queue_of(others), {})
    mixed = fair_order(queue_of(others + flood), {})
    firsts = {each.author: each for each in reversed(alone)}
    for first in firsts.values():
        assert mixed.index(first) <= alone.index(first) + 1


@given(SUBMISSIONS, st.sets(AUTHORS))
def test_held_authors_wait_behind_all_others(submissions: list[tuple[str, int]], held: set[str]) -> None:
    order = [each.author in held for each in fair_order(queue_of(submissions), {}, held)]
    assert order == sorted(order)


def test_a_submission_that_ended_the_process_often_waits_behind_all_others() -> None:
    poison, later = Waiting("a", "ada", 1.0, attempts=3), Waiting("b", "ada", 2.0)
    assert fair_order([poison, later, Waiting("c", "grace", 3.0)], {})[-1] == poison


@given(st.lists(st.floats(0, 2 * HOUR_S), max_size=40), st.integers(1, 30))
def test_the_hourly_limit_counts_the_last_hour_only(began: list[float], most: int) -> None:
    now = 2 * HOUR_S
    refused = why_refused(Quota(AuthorLimits(per_hour=most), Used(began=tuple(began))), 1, now)
    assert (refused is not None) == (sum(each > now - HOUR_S for each in began) >= most)
    assert refused is None or refused.code == "E005"
    held = why_held(Quota(AuthorLimits(per_hour=most), Used(began=tuple(began))), now)
    assert bool(held) == (refused is not None)


@given(st.lists(st.tuples(st.floats(0, 2 * HOUR_S), st.floats(0, 600)), max_size=20))
def test_processor_time_of_the_last_hour_holds_an_author_until_enough_of_it_is_past(
    cpu: list[tuple[float, float]],
) -> None:
    limits, now = AuthorLimits(cpu_minutes=10), 2 * HOUR_S
    spent = sum(seconds for at, seconds in cpu if at > now - HOUR_S)
    held = why_held(Quota(limits, Used(cpu=tuple(cpu))), now)
    assert bool(held) == (spent >= 600)
    if held:
        assert not why_held(Quota(limits, Used(cpu=tuple(cpu))), now + HOUR_S)


@pytest.mark.parametrize(
    ("used", "size", "code"),
    [
        (Used(), 101, "E006"),
        (Used(waiting=2), 1, "E004"),
        (Used(versions=3), 1, "E007"),
        (Used(began=(99.0, 98.0)), 1, "E005"),
    ],
)
def test_each_limit_has_its_code_and_its_cure(used: Used, size: int, code: str) -> None:
    refused = why_refused(Quota(AuthorLimits(queue=2, per_hour=2, size=100, versions=3), used), size, 100.0)
    assert refused is not None
    assert refused.code == code
    assert refused.hint


def test_everything_that_waits_has_a_place_and_a_reason() -> None:
    order = [Waiting("1", "ada", 1.0), Waiting("2", "grace", 2.0), Waiting("3", "zed", 3.0, attempts=1)]
    found = places(order, {"grace": "your limit is used up"}, running="building mine, 4 s")
    assert [found[each].place for each in "123"] == [1, 2, 3]
    assert found["1"].reason == "the next one (now: building mine, 4 s)"
    assert found["2"].reason == "your limit is used up"
    assert found["3"].reason.startswith("2 before it (now: building mine, 4 s); examination 2")
    assert places(order, {}, paused="a power cut")["1"].reason == "a power cut"


# Names.


@pytest.mark.parametrize(
    "name", ["", "a b", "../x", "-x", ".x", "x/y", "x\n", "Zoë", "<b>", "=1+1", "a" * 50, "sample:x"]
)
def test_a_name_that_could_be_taken_for_something_else_is_refused(name: str) -> None:
    for check in (author_name, season_bot_name):
        with pytest.raises(UserError) as refused:
            check(name)
        assert refused.value.problems[0].code == "E002"
        assert refused.value.problems[0].hint
    with pytest.raises(UserError):
        author_name("Admin")


@given(st.text())
def test_the_usable_part_of_a_name_is_a_name(text: str) -> None:
    found = usable_name(text, 30)
    assert not found or season_bot_name(found) == found


# The store.


def test_a_name_belongs_to_the_author_whose_version_was_accepted_first_whatever_its_case(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        first = here.submit("ada", "mine.py", STANDS)
        assert not here.submit("grace", "Mine.py", STANDS).code  # nothing is accepted yet
        version(here, 1, "# 1")
        answer = here.submit("grace", "Mine.py", STANDS + "#")
        assert (answer.code, answer.submission) == ("E003", "")
        assert here.submit("ada", "MINE.py", STANDS + "#").code == "E003"
        assert len(here.store.submissions.open()) == 3
        assert first.submission


@pytest.mark.long
def test_a_refused_submission_takes_no_name(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.submit("ada", "bot.py", NONSENSE)
        assert here.examined().state == "refused"
        assert here.accepted("grace", "bot.py", STANDS).label == "bot-1"
        here.submit("ada", "bot.py", STANDS)
        assert here.store.submissions.owner("bot") == "grace"


@pytest.mark.long
def test_of_authors_who_hand_in_a_name_the_first_accepted_has_it_and_the_others_have_one_beside_it(
    tmp_path: Path,
) -> None:
    with season(tmp_path) as here:
        here.author("a" * 38)
        for author in ("ada", "grace", "a" * 38):
            assert not here.submit(author, "Bot.py", STANDS).code
        found = [here.examined() for _ in range(3)]
        assert [(each.label, each.state) for each in found] == [
            ("Bot-1", "accepted"), ("grace.Bot-1", "accepted"), (f"{'a' * 26}.Bot-1", "accepted")
        ]  # fmt: skip
        assert [here.store.submissions.owner(name) for name in ("Bot", "grace.bot")] == ["ada", "grace"]


def test_the_same_bytes_get_the_same_answer_and_no_second_place(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        first, again = here.submit("ada", "mine.py", STANDS), here.submit("ada", "mine.py", STANDS)
        assert first.submission == again.submission
        assert not again.code
        assert len(here.store.submissions.waiting()) == 1
        other = here.submit("grace", "hers.py", STANDS)
        assert other.submission != first.submission


def test_a_request_that_is_repeated_gets_the_answer_that_it_has(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        leave(tmp_path, Join("zed", HASH))
        (stored,) = read_requests(tmp_path / "inbox").requests
        first = here.intake.handle(stored, 1.0)
        assert here.intake.handle(stored, 2.0) == first


def test_nothing_of_a_refused_request_remains(tmp_path: Path) -> None:
    with season(tmp_path, terms_of(limits=AuthorLimits(queue=1))) as here:
        here.submit("ada", "one.py", STANDS)
        assert here.submit("ada", "two.py", STANDS + "# two").code == "E004"
        assert not here.store.submissions.owner("two")
        assert len([*(tmp_path / "uploads").iterdir()]) == 1


def test_a_cancelled_submission_that_never_ran_costs_nothing_and_may_come_again(tmp_path: Path) -> None:
    with season(tmp_path, terms_of(limits=AuthorLimits(queue=1, per_hour=1))) as here:
        for _ in range(5):
            answer = here.submit("ada", "mine.py", STANDS)
            assert not answer.code
            assert not here.ask(Cancel("ada", answer.submission)).code
        used = here.store.used("ada", time.time())
        assert (used.waiting, used.began, used.cpu) == (0, (), ())


def test_only_its_author_cancels_a_submission(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        answer = here.submit("ada", "mine.py", STANDS)
        assert here.ask(Cancel("grace", answer.submission)).code == "E009"
        assert len(here.store.submissions.waiting()) == 1


def test_an_author_is_invited_joins_and_gets_another_link(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        assert here.ask(Join("zed", HASH)).code == "E001"
        assert not here.ask(Invite("zed", HASH)).code
        assert here.ask(Invite("ZED", HASH[::-1])).code == "E008"
        assert not here.ask(Invite("zed", HASH[::-1], again=True)).code
        assert here.store.authors.get("zed").token_sha256 == HASH[::-1]
        assert here.ask(Invite("nobody-here", HASH, again=True)).code == "E001"
    with season(tmp_path / "open", terms_of(anybody=True)) as here:
        assert not here.ask(Join("zed", HASH)).code


def version(here: Season, number: int, content: str) -> Version:
    """Add a version of a bot of ada."""
    answer = here.submit("ada", "mine.py", content)
    added = Version("mine", number, "ada", HASH, answer.submission, float(number), active=False, content=content)
    here.store.submissions.take_name("mine", "ada")
    here.store.versions.add(added)
    return added


def test_one_version_of_an_author_plays_unless_the_season_allows_more(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        some = [version(here, number, f"# {number}") for number in (1, 2, 3)]
        for each in some:
            here.store.versions.activate(each, 1)
        assert [each.label for each in here.store.versions.playing()] == ["mine-3"]
        here.store.versions.activate(some[0], 2)
        assert [each.label for each in here.store.versions.playing()] == ["mine-1", "mine-3"]
        here.store.versions.take_off("mine-3", "20 crashes in a row")
        assert [each.label for each in here.store.versions.playing()] == ["mine-1"]
        assert not here.ask(Activate("ada", "mine", 3, True)).code
        assert [each.label for each in here.store.versions.playing()] == ["mine-3"]
        assert here.ask(Activate("grace", "mine", 3, False)).code == "E003"
        assert here.ask(Activate("ada", "mine", 9, True)).code == "E009"
        assert not here.ask(Activate("ada", "mine", 3, False)).code
        assert here.store.versions.playing() == []


def test_a_freeze_closes_the_choice_of_versions_and_not_practice(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        version(here, 1, "# 1")
        assert not here.ask(Manage("freeze")).code
        assert here.ask(Activate("ada", "mine", 1, True)).code == "E011"
        assert not here.ask(Practise("ada", "mine", 1, ("mine-1",), 8)).code
        assert here.ask(Practise("ada", "mine", 1, ("other-1",), 8)).code == "E009"
        assert here.ask(Practise("ada", "mine", 1, (), 8)).code == "E009"
        assert here.ask(Practise("ada", "mine", 1, ("mine-1",), 10**6)).code == "E009"


def test_the_organiser_pauses_withdraws_and_takes_back(tmp_path: Path) -> None:
    with season(tmp_path) as here:
        here.store.versions.activate(version(here, 1, "# 1"), 1)
        here.ask(Manage("pause", reason="a power cut"))
        assert here.intake.places(time.time()).popitem()[1].reason == "a power cut"
        here.ask(Manage("resume"))
        assert here.ask(Manage("withdraw", "MINE", "copied")).text == "mine is withdrawn"
        assert here.store.versions.playing() == []
        assert here.ask(Manage("readmit", "Mine")).text == "mine is taken back"
        assert [each.subject for each in here.store.events.of("withdraw", "readmit")] == ["mine", "mine"]
        assert [each.label for each in here.store.versions.playing()] == ["mine-1"]
        assert here.ask(Manage("withdraw", "nothing")).code == "E009"


def test_a_round_is_stored_with_its_players_and_meetings(tmp_path: Path) -> None:
    players, meetings = (Player("a-1", "ada", 1), Player("b-2", "bob", 1)), (Meeting(("a-1", "b-2"), 20),)
    sums = RoundSums((((("a-1",), ("b-2",)), 20.0),), {"a-1": 20}, {}, {"a-1": (False, True)}, (), 2.5)
    with Store.open(tmp_path) as store:
        book = Book(store)
        assert book.rounds() == []
        planned = book.plan(RoundTerms(1, 2, 20), players, meetings)
        assert book.rounds() == [planned]
        over = book.finish(book.begin(planned), sums, "abc", "def")
        assert book.rounds() == [over]
        assert (over.labels, over.counted) == (("a-1", "b-2"), sums)
        assert book.damage(over, "why").counted is None


def test_a_store_has_one_writer_and_any_number_of_readers(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.authors.add("ada", HASH, 1.0)
        with pytest.raises(UserError) as refused, Store.open(tmp_path):
            pass
        assert (refused.value.problems[0].code, refused.value.exit_code) == ("R003", 5)
        with Store.reading(tmp_path) as reader:
            assert [author.name for author in reader.authors.all()] == ["ada"]


def test_a_store_that_is_missing_damaged_or_of_another_schema_is_named(tmp_path: Path) -> None:
    path = tmp_path / "season.sqlite"
    for damage in (None, b"not a database, but long enough to be one" * 100, 9, 0):
        if isinstance(damage, bytes):
            path.write_bytes(damage)
        elif damage is not None:
            path.unlink()
            with Store.open(tmp_path):
                pass
            with sqlite3.connect(path) as other:
                other.execute(f"PRAGMA user_version = {damage}" if damage else "PRAGMA application_id = 1")
            other.close()
        with pytest.raises(UserError) as refused, Store.reading(tmp_path):
            pass
        assert refused.value.problems[0].code == "E012"
        assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE author SET joined = 9e999",
        "UPDATE author SET name = x'61'",
        "INSERT INTO bot VALUES ('mine', 'nobody', '')",
        "INSERT INTO setting VALUES ('ladder', '{\"round\":')",
        "INSERT INTO setting VALUES ('frozen', '1e300')",
        "UPDATE submission SET sha256 = '../../seed'",
    ],
)
def test_a_value_of_a_store_that_cannot_be_its_own_is_named(change: str, tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.authors.add("ada", HASH, 1.0)
        store.submissions.add(Submission("1", "ada", "mine", "mine.py", HASH, 1, 1.0, "api", SubmissionState.WAITING))
    with contextlib.closing(sqlite3.connect(tmp_path / "season.sqlite")) as other, other:
        other.execute(change)
    with pytest.raises(UserError) as refused, Store.reading(tmp_path) as reader:
        reader.authors.all(), reader.submissions.open(), ladder_in(reader), closing_time(reader, None)
    assert refused.value.problems[0].code == "E012", refused.value


def test_a_copy_of_an_open_store_is_whole(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    with Store.open(tmp_path) as store:
        store.authors.add("ada", HASH, 1.0)
        store.copy_to(tmp_path / "copy" / "season.sqlite")
    with Store.open(tmp_path / "copy") as copy:
        assert [author.name for author in copy.authors.all()] == ["ada"]


# Hostile requests.


def test_damaged_requests_are_refused_by_name_and_set_aside(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    names = [leave(tmp_path, Submit("ada", "mine.py", "api"), b"x") for _ in range(10)]
    secret = tmp_path / "seed"
    secret.write_text("secret")
    (inbox / names[0] / REQUEST_FILE).write_bytes(b"\xff" * 100)
    (inbox / names[1] / REQUEST_FILE).write_bytes(b" " * (1 << 20))
    (inbox / names[2] / REQUEST_FILE).unlink()
    (inbox / names[2] / REQUEST_FILE).symlink_to(secret)
    (inbox / names[3] / UPLOAD_FILE).unlink()
    (inbox / names[3] / UPLOAD_FILE).symlink_to(secret)
    (inbox / names[4] / UPLOAD_FILE).unlink()
    (inbox / names[5] / "more").write_text("x")
    (inbox / names[6]).rename(inbox / "not a request\x1b[31m")
    (inbox / "9999999999999999999-000000000000").symlink_to(tmp_path)
    (inbox / names[8] / REQUEST_FILE).write_bytes(b'{"type": "join", "x": ' + b"[" * 60_000)
    (inbox / names[9] / REQUEST_FILE).write_bytes(b'{"type": "cancel", "author": "\xff", "submission": "x"}')
    found = read_requests(inbox)
    assert [each.id for each in found.requests] == [names[7]]
    assert len(found.refused) == 10
    assert {problem.code for problem in found.refused} == {"E010"}
    assert not any("\x1b" in str(problem) or "secret" in str(problem) for problem in found.refused)
    assert [*read_requests(inbox).refused] == []
    assert secret.read_text() == "secret"


def test_half_a_request_is_not_read(tmp_path: Path) -> None:
    name = leave(tmp_path, Join("zed", HASH))
    (tmp_path / "inbox" / name).rename(tmp_path / "inbox" / f".{name}")
    assert read_requests(tmp_path / "inbox") == ((), ())


@pytest.mark.parametrize("file_name", ["../x.py", "/etc/passwd", ".bashrc", "a\nb.py", "", "-rf.py", "x" * 300])
def test_a_file_name_that_leads_elsewhere_is_refused(tmp_path: Path, file_name: str) -> None:
    with season(tmp_path) as here:
        answer = here.submit("ada", file_name, STANDS, "mine")
        assert answer.code == "E002"
        assert [*(tmp_path / "uploads").iterdir()] == []


def test_an_upload_is_bounded_and_never_empty(tmp_path: Path) -> None:
    with season(tmp_path, terms_of(limits=AuthorLimits(size=10))) as here:
        assert here.submit("ada", "mine.py", "x" * 11).code == "E006"
        assert here.submit("ada", "mine.py", "").code == "E010"
        assert here.submit("stranger", "mine.py", "x").code == "E001"
        assert here.ask(Submit("ada", "mine.py", "window"), b"x").code == "E010"
        assert [*(tmp_path / "uploads").iterdir()] == []


@pytest.mark.parametrize("bot", ["B" * 30, "B" * 29, "B" * 12, "Bot"])
@pytest.mark.parametrize("author", ["ada", "a" * 40, "grace-h.opper-the-first"])
def test_the_name_beside_another_bot_is_a_name_that_a_bot_can_have(bot: str, author: str) -> None:
    name = name_beside(bot, author)
    assert season_bot_name(name) == name and name.startswith(author[:3]) and name != bot
