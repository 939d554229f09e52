"""A season as its organiser sees it: the process and its commands, restarts, the freeze, the final, verify and backup."""

import hashlib
import itertools
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import yaml
from command import ROOT, croupier, croupier_process
from season_process import CRASHES_IN_ROUNDS, TestSeason, plain_bot

from host.base.errors import UserError
from host.base.toml_file import read, read_text
from host.cli import CliContext
from host.config.tournament_config import load
from host.games.luck import derive
from host.season.backup import back_up
from host.season.commands.open import log_to_terminal
from host.season.entries.database import locked
from host.season.entries.inbox import Activate
from host.season.entries.store import Store
from host.season.entries.values import Version
from host.season.folder import SeasonFolder, final_seed, round_root
from host.season.rounds.book import Book
from host.season.rounds.play import MEETINGS, write_round
from host.season.rounds.scheduler import Meeting, RoundTerms
from host.season.rounds.season import Season
from host.season.season_config import Keep
from host.season.site.errors import Refusal
from host.season.site.published import Published
from host.stages.kind import MAX_LIST_BYTES
from host.web.address import url_of

AUTHORS = ("ada", "grace", "kim")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestSeason]:
    """A season of three authors in which two rounds of three versions are over, and each has played; its process has ended."""
    season = TestSeason(tmp_path_factory.mktemp("season") / "cup")
    season.invite(*AUTHORS)
    with season.opened():
        for author, answer in zip(AUTHORS, ("END", "STAND", "END"), strict=True):
            season.submit(author, f"{author}s", plain_bot(answer, author))
        season.submit("kim", "broken", b"def f(:\n")
        season.accepted("adas-1", "graces-1", "kims-1")
        season.until(lambda: season.events("refused", "kim/broken"), "the refusal")
        season.until(
            lambda: sum(each["versions"] == 3 for each in finished(season)) >= 2, "two rounds of three versions"
        )
        season.until(
            lambda: sum(each["tables"] >= 10 for each in season.document("ladder")["rows"]) == 3,
            "tables of each version",
        )
        season.until(lambda: season.document("mine/ada")["tables"], "the tables of an author")
    yield season


def finished(season: TestSeason) -> list[dict[str, Any]]:
    """Return the rounds that are over, newest first."""
    return [row for row in season.document("rounds")["rows"] if row["state"] == "finished"]


# The config.

WRONG = [
    ("freeze = 2020-01-01T00:00:00+00:00", "C009", ":4: freeze = 2020-01-01T00:00:00+00:00 is in the past"),
    ("freeze = 2030-01-01T00:00:00", "C002", ":4: freeze = 2030-01-01 00:00:00 has no offset from UTC"),
    ('freeze = "tomorrow"', "C006", ':4: freeze = "tomorrow" is not a date with a time'),
    ('references = ["sample:nobody"]', "C012", ":4: "),
    ('references = ["none/*"]', "C012", ':4: "none/*" matches no bot'),
    ('address = "https://cup.example"', "C013", ":4: address = "),
    ('login_header = "X-User"', "C013", ":4: login_header = "),
    ('keep = "many"', "C002", ':4: keep = "many" is neither a size nor a number of rounds'),
    ('keep = "0 rounds"', "C009", ":4: "),
    ('proxy = ["cup.example"]', "C009", ":4: "),
    ("[season.per_author]\nqueues = 3", "C001", ':5: unknown key "queues" in [season.per_author]'),
]


@pytest.mark.parametrize(("line", "code", "told"), WRONG)
def test_a_wrong_season_is_refused_with_its_line_and_a_cure(tmp_path: Path, line: str, code: str, told: str) -> None:
    (tmp_path / "croupier.toml").write_text(f'game = "pazaak"\n# a season\n[season]\n{line}\n')
    done = croupier("-C", tmp_path, "season", "open")
    assert done.code == 3 and done.first.startswith(f"error[{code}] {tmp_path}/croupier.toml{told}"), done.err
    assert "hint: " in done.err
    assert not (tmp_path / "season.sqlite").exists() and not (tmp_path / "seed").exists()


def test_a_season_draws_its_own_seed_and_people_hand_in_the_bots(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text('game = "pazaak"\nseed = "mine"\nbots = ["bots/*"]\n[season]\n')
    with pytest.raises(UserError) as refused:
        load(tmp_path)
    assert [problem.where.rpartition(":")[2] for problem in refused.value.problems] == ["2", "3"]


@pytest.mark.parametrize("game", ["pazaak", "cardshark", "holdem", "hearts", "briscola"])
def test_a_new_season_is_valid_in_every_game(tmp_path: Path, game: str) -> None:
    assert croupier("new", tmp_path / "cup", "-g", game, "--season").code == 0
    season = load(tmp_path / "cup").season
    assert season and season.author_limits.active == 1 and season.keep == Keep(size=5 << 30) and season.freeze == 0


@pytest.mark.long
def test_a_season_whose_port_is_in_use_does_not_open(tmp_path: Path) -> None:
    croupier("new", tmp_path / "cup", "-g", "pazaak", "--season")
    with socket.create_server(("127.0.0.1", 0)) as other:
        bind = f"127.0.0.1:{other.getsockname()[1]}"
        done = croupier_process("-C", tmp_path / "cup", "season", "open", "--bind", bind)
    assert (done.code, done.out) == (2, "")
    assert done.first == f"error[U001] --bind {bind}: cannot listen there: Address already in use"


def test_links_to_a_site_that_has_never_listened_say_so(tmp_path: Path) -> None:
    croupier("new", tmp_path / "cup", "-g", "pazaak", "--season")
    config, warning = tmp_path / "cup" / "croupier.toml", "no site of this season has listened yet"
    assert warning in croupier("-C", tmp_path / "cup", "season", "invite", "ada").out
    config.write_text(config.read_text().replace("[season]", '[season]\naddress = "http://cup.example"', 1))
    invited = croupier("-C", tmp_path / "cup", "season", "invite", "grace").out
    assert warning not in invited and "http://cup.example/a/" in invited


def test_links_have_the_address_of_the_terms_while_croupier_toml_is_wrong(tmp_path: Path) -> None:
    folder = SeasonFolder(TestSeason(tmp_path / "cup", 'address = "http://cup.example"').folder)
    folder.draw_seed()
    with Store.open(folder.path) as store:
        Season(folder, load(folder.path), store).take_terms(load(folder.path))
    folder.config.write_text("[season\n")
    assert "http://cup.example/a/" in croupier("-C", folder.path, "season", "invite", "ada").out


def test_commands_for_tournaments_name_the_command_for_seasons(tmp_path: Path) -> None:
    croupier("new", tmp_path / "season", "-g", "pazaak", "--season")
    croupier("new", tmp_path / "cup", "-g", "pazaak")
    done = croupier("-C", tmp_path / "season", "run")
    assert (done.code, "E101" in done.first, "croupier" in done.err and "season open" in done.err) == (3, True, True)
    assert croupier("-C", tmp_path / "season", "run", "--help").code == 0
    done = croupier("-C", tmp_path / "cup", "season", "open")
    assert done.code == 3 and "E102" in done.first
    done = croupier("-C", tmp_path / "season", "season", "status")
    assert done.code == 3 and "has not been opened yet" in done.first
    with locked(tmp_path / "season" / "season.sqlite"):
        done = croupier("-C", tmp_path / "season", "season", "status")
        assert done.code == 3 and "is just being opened" in done.first


# Rounds.


def test_each_round_is_a_tournament_that_other_commands_read(played: TestSeason) -> None:
    number = next(row["number"] for row in finished(played) if row["versions"] == 3)
    place = played.folder / "rounds" / f"{number:04d}"
    standings = croupier("-C", place, "standings", "--json").json
    met = {label for meeting in played.document(f"rounds/{number}")["meetings"] for label in meeting["labels"]}
    assert {row["bot"] for row in standings["rows"]} == met and len(met) >= 2
    assert croupier("-C", place, "verify").code == 0
    assert croupier("-C", place, "replay", "last").code == 0
    assert not [*place.rglob("*.py")]


def test_a_round_deals_from_the_seed_that_follows_from_that_of_the_season(played: TestSeason) -> None:
    seed = bytes.fromhex((played.folder / "seed").read_text())
    assert (played.folder / "seed").stat().st_mode & 0o777 == 0o600
    promised = json.loads((played.folder / "commitment.json").read_text())["sha256"]
    assert promised == hashlib.sha256(seed).hexdigest() == played.document("site")["seed_sha256"]
    for row in played.document("rounds")["rows"]:
        if row["state"] == "finished":
            assert (
                row["seed"]
                == round_root(seed, row["number"]).hex()
                == derive(seed, f"round/{row['number']}")[:16].hex()
            )


def test_a_round_names_two_thousand_versions(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text('game = "pazaak"\n[season]\n')
    content = "ab" * 32
    versions = [
        Version(f"b{'x' * 24}{number}", 1, "ada", content, "", 0.0, active=True, content=content)
        for number in range(2000)
    ]
    meetings = [Meeting((one.label, two.label), 10) for one, two in itertools.product(versions[:5], versions[5:])]
    write_round(tmp_path / "0001", 1, bytes(16), load(tmp_path), [f"../../{each.place}" for each in versions], meetings)
    assert len(read(tmp_path / "0001" / "croupier.toml").data["bots"]) == 2000
    assert len(read_text(tmp_path / "0001" / MEETINGS, MAX_LIST_BYTES).splitlines()) == 9975


@pytest.mark.long
def test_a_round_has_the_package_of_its_game(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "__init__.py").write_text("")
    (tmp_path / "rules" / "name.py").write_text("NAME = 'evening'\n")
    game = "from host.games.pazaak import GAME\nfrom rules.name import NAME\nGAME = GAME._replace(name=NAME)\n"
    (tmp_path / "rules" / "evening.py").write_text(game)
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "croupier.toml").write_text('game = "rules.evening:GAME"\n[season]\n')
    for bot, answer in (("ends", "END"), ("stands", "STAND")):
        (tmp_path / f"{bot}.py").write_bytes(plain_bot(answer))
    bots = ["../ends.py", "../stands.py"]
    write_round(tmp_path / "0001", 1, bytes(16), load(tmp_path), bots, [Meeting(("ends", "stands"), 2)])
    files = {str(path.relative_to(tmp_path / "0001")) for path in (tmp_path / "0001").rglob("*.py")}
    assert files == {"helper.py", "ends.py", "stands.py", "rules/__init__.py", "rules/name.py", "rules/evening.py"}
    played = croupier_process("-C", tmp_path / "0001", "run")
    assert played.code == 0, played.err
    (tmp_path / "rules" / "evening.py").rename(tmp_path / "rules" / "night.py")
    (tmp_path / "croupier.toml").write_text('game = "rules.night:GAME"\n[season]\n')
    write_round(tmp_path / "0002", 2, bytes(16), load(tmp_path), bots, [Meeting(("ends", "stands"), 2)])
    assert (tmp_path / "0002/rules/night.py").exists() and not (tmp_path / "0002/rules/evening.py").exists()


def test_the_root_of_round_41_is_that_of_the_specification() -> None:
    root = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
    assert round_root(root, 41).hex() == "a9f246d60869f44d865106792f244b18"
    assert final_seed(root) != round_root(root, 1) and len(final_seed(root)) == 16


def test_the_ladder_ranks_who_wins_and_says_why(played: TestSeason) -> None:
    ladder = played.document("ladder")
    assert {row["label"] for row in ladder["rows"]} == {"adas-1", "graces-1", "kims-1"}
    assert [row["rank"] for row in ladder["rows"]] == [1, 2, 3]
    assert all(len(row["history"]) >= 1 and row["tables"] >= 10 for row in ladder["rows"])


def test_the_published_files_of_everybody_have_nothing_private(played: TestSeason) -> None:
    published = played.folder / "published"
    seed = (played.folder / "seed").read_text().strip()
    for path in published.rglob("*"):
        if path.is_file():
            assert seed not in path.read_text(errors="replace"), path
    public = ("site", "ladder", "rounds", "bots/adas", "bots/graces", "bots/kims")
    assert all(played.document(name) and "SyntaxError" not in json.dumps(played.document(name)) for name in public)
    assert "SyntaxError" in json.dumps(played.document("mine/kim"))
    assert "SyntaxError" not in json.dumps(played.document("mine/ada"))


def test_an_author_gets_his_own_tables_as_seen_from_his_seat(played: TestSeason) -> None:
    site, numbers = Published(played.folder / "published"), played.document("mine/ada")["tables"]
    rows = [json.loads(line) for number in numbers for line in site.own_tables("ada", number).splitlines()]
    starts = [row for row in rows if row["ev"] == "table.start"]
    assert starts and all("adas-1" in row["bots"] for row in starts)
    seat = -1
    for row in rows:
        seat = row["bots"].index("adas-1") if row["ev"] == "table.start" else seat
        if row["ev"] == "ask":
            assert row["seat"] == seat


@pytest.mark.long
def test_a_renamed_author_keeps_his_own_tables(played: TestSeason, tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "copy")
    subprocess.run(["cp", "-rT", played.folder, season.folder], check=True)
    before, site = played.document("mine/ada")["tables"], Published(season.folder / "published")
    season.croupier("season", "pause")  # no later round has his tables under the new name
    with season.opened():
        assert season.croupier("season", "rename", "ada", "lovelace").code == 0
        season.until(lambda: site.author("lovelace").value.tables, "the tables of lovelace")
        assert {*before} <= {*site.author("lovelace").value.tables}
        assert before and all(b"adas-1" in site.own_tables("lovelace", number) for number in before)
        assert not site.author("ada").value.tables
        with pytest.raises(Refusal):
            site.own_tables("ada", before[0])
        season.until(lambda: "lovelace" in {row["author"] for row in season.document("ladder")["rows"]}, "the ladder")
        assert "ada" not in {row["author"] for row in season.document("ladder")["rows"]}


def test_verify_computes_every_list_and_every_score_again(played: TestSeason) -> None:
    done = played.croupier("season", "verify")
    assert done.code == 0, done.out + done.err
    assert "every list follows from the rounds before it" in done.out and "committed to" in done.out


def test_verify_finds_a_list_that_was_changed(played: TestSeason, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    meetings = copied / "rounds/0002/meetings.txt"
    number, _, names = meetings.read_text().splitlines()[0].partition(" ")
    meetings.write_text(meetings.read_text().replace(f"{number} {names}", f"{int(number) + 2} {names}", 1))
    done = croupier("-C", copied, "season", "verify")
    assert done.code == 1 and "round 2: the list in its folder is not the one of the scheduler" in done.out


def test_a_season_is_verified_copied_and_exported_while_its_croupier_toml_is_wrong(
    played: TestSeason, tmp_path: Path
) -> None:
    copied, backup = tmp_path / "copy", tmp_path / "cup.tgz"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    (copied / "croupier.toml").write_text("[season\n")
    aside = copied / "rounds" / "0001.1795935000000000000"  # as after a backup was unpacked over the season
    (aside / "run").mkdir(parents=True)
    (aside / "croupier.toml").write_text('game = "pazaak"\nbots = ["../../bots/gone/adas-1"]\n')
    (aside / "run" / "run.sqlite").write_bytes(b"damaged")
    for words in (["verify"], ["export", tmp_path / "public"], ["backup", backup], ["invite", "lovelace"]):
        done = croupier("-C", copied, "season", *words)
        assert done.code == 0, done.err
    assert "croupier.toml" in subprocess.run(["tar", "tzf", backup], check=True, capture_output=True, text=True).stdout
    checked = subprocess.run([sys.executable, tmp_path / "public" / "check.py"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert croupier("-C", copied, "season", "final", tmp_path / "final").code == 3


def test_the_status_says_how_the_season_stands(played: TestSeason) -> None:
    status = played.croupier("season", "status", "--json").json
    assert (status["bots"], status["versions"], status["waiting"], status["running"]) == (3, 3, 0, None)
    assert status["round"] >= 2 and len(status["seal"]) == 64
    text = played.croupier("season", "status").out
    assert "3 bots, 3 versions · 0 submissions waiting" in text and "croupier season open  goes on" in text


# The process.


@pytest.mark.long
def test_a_season_goes_on_after_it_was_stopped_or_killed(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        season.accepted("mine-1", "other-1")
        season.until(lambda: season.events("round", "begins"), "the first round")
        assert season.process is not None
        season.process.kill()
        season.process.wait()
        season.process = None
    season.submit("ada", "mine", plain_bot("STAND", "second"))  # while nothing runs
    with season.opened():
        season.until_round(1)
        season.accepted("mine-2")
        season.until(lambda: season.croupier("season", "status", "--json").json["running"], "the status")
        assert season.end(signal.SIGINT) == 0
    with season.store() as store:
        assert sorted(version.label for version in store.versions.all()) == ["mine-1", "mine-2", "other-1"]
        assert sorted(version.label for version in store.versions.playing()) == ["mine-2", "other-1"]
    assert season.croupier("season", "verify").code == 0


def test_two_processes_cannot_run_one_season(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    with season.opened():
        done = season.croupier("season", "open", "--no-site")
        assert done.code == 5 and "error[R003]" in done.err


@pytest.mark.long
def test_a_pause_stops_a_round_and_a_resume_continues_it(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        assert "paused" in season.croupier("season", "pause", "--reason", "power cut").out
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        season.until(lambda: len(season.document("admin")["queue"]) == 2, "both in the queue")
        reasons = {row["reason"] for row in season.document("admin")["queue"]}
        assert reasons == {"power cut"} and season.document("site")["state"] == "paused"
        assert "goes on" in season.croupier("season", "resume").out
        season.until_round(1)


@pytest.mark.long
def test_the_final_waits_for_a_paused_season_and_says_so(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        season.croupier("season", "pause", "--reason", "power cut")
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        command = [*season.program, "-C", season.folder, "season", "final", tmp_path / "final"]
        with subprocess.Popen(command, env=season.env, stderr=subprocess.PIPE, text=True) as making:
            assert making.stderr is not None
            said = making.stderr.readline()
            season.croupier("season", "resume")
            making.stderr.read()
        assert making.returncode == 0
        assert "waiting for the verdict on 2 submissions, but the season is paused (power cut)" in said
        assert {path.name for path in (tmp_path / "final/bots").iterdir()} == {"mine-1", "other-1"}


@pytest.mark.long
def test_a_change_of_the_terms_is_recorded_shown_and_used_by_the_next_round(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    with season.opened():
        config = season.folder / "croupier.toml"
        config.write_text(config.read_text().replace('budget = "1 s"', 'budget = "2 s"'))
        season.until(lambda: season.events("terms"), "the change")
        season.until(lambda: season.document("site")["notices"], "the notice")
        assert "budget: 1 s → 2 s" in season.document("site")["notices"][0]
        good = config.read_text()
        config.write_text(good.replace("budget", "bugdet"))
        season.until(lambda: season.events("warning", "the old terms stay"), "the refusal of a wrong file")
        for command, answer in (("status", "round"), ("pause", "is paused"), ("resume", "goes on")):
            done = season.croupier("season", command)
            assert done.code == 0 and answer in done.out, done
        season.until(lambda: season.events("pause") and season.events("resume", "goes on"), "both in the log")
        changes = len(season.events("terms"))
        (season.folder / "broken.py").write_text("this is not Python")
        broken = good.replace("[season]\n", '[season]\nreferences = ["broken.py"]\n').replace('"2 s"', '"9 s"')
        config.write_text(broken)
        season.until(
            lambda: season.events("warning", "a reference cannot play"), "the refusal of terms that cannot be used"
        )
        assert len(season.events("terms")) == changes


@pytest.mark.long
def test_the_log_has_the_invitations_and_the_versions_that_authors_choose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada")
    with season.opened():
        season.submit("ada", "mine", plain_bot())
        season.accepted("mine-1")
        season.ask(Activate("ada", "mine", 2, True))  # there is no such version
        season.ask(Activate("ada", "mine", 1, False))
        season.until(lambda: season.events("inactive", "mine-1 no longer plays"), "the end of the version")
        season.ask(Activate("ada", "mine", 1, True))
        season.until(lambda: season.events("active", "mine-1 plays from the next round on"), "its return")
        season.invite("\x1b[2J")
        season.until(lambda: season.events("refused", "has a character that it cannot have"), "the refusal")
    assert [each["subject"] for each in season.events("author", "is invited")] == ["ada"]
    assert not season.events("active", "mine-2") and len(season.events("refused")) == 1
    log_to_terminal(CliContext(tmp_path, json=False, quiet=False, verbose=False))("refused", "\x1b[2J", "no\nname")
    assert capsys.readouterr().out.endswith(r"\x1b[2J  no\nname" + "\n")


@pytest.mark.long
def test_a_series_of_crashes_takes_a_version_off_the_ladder_until_its_author_acts(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "late", CRASHES_IN_ROUNDS)
        season.accepted("mine-1", "late-1")
        season.until(lambda: season.events("off ladder", "late-1"), "the rest")
        season.until(lambda: "off the ladder" in json.dumps(season.document("bots/late")), "the public note")
        season.until(lambda: "secret words" in json.dumps(season.document("mine/grace")), "the faults")
        assert "secret words" not in json.dumps(season.document("mine/ada"))
        for path in (season.folder / "published").rglob("*.html"):
            assert "secret words" not in path.read_text(errors="replace"), path
        season.ask(Activate("grace", "late", 1, True))
        season.until(lambda: len(season.events("off ladder", "late-1")) == 2, "its return, and its next end")
        season.submit("grace", "late", plain_bot("STAND", "b"))
        season.accepted("late-2")
        over = len(season.events("round", "is over"))
        season.until(lambda: len(season.events("round", "is over")) > over + 2, "rounds without it")
        assert not season.events("paused")


NEEDS_OPEN_FILES = b"""\
import resource, sys
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 64:
    sys.exit('the secret words of its author')
for line in sys.stdin:
    print('END', flush=True)
"""


@pytest.mark.long
def test_only_its_author_reads_what_a_bot_wrote_that_no_longer_starts(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "late", NEEDS_OPEN_FILES)
        season.accepted("mine-1", "late-1")
        config = season.folder / "croupier.toml"
        config.write_text(config.read_text().replace("[limits]\n", "[limits]\nopen_files = 32\n"))
        season.until(lambda: season.events("off ladder", "late-1 no longer starts (B"), "the end of the bot")
        season.until(lambda: "no longer starts (B" in json.dumps(season.document("bots/late")), "the public note")
        season.until(
            lambda: "before a round" in json.dumps(season.document("mine/grace")["faults"]), "why, for its author"
        )
        season.until(
            lambda: "no longer starts (B" in (season.folder / "published/chain.ndjson").read_text(), "the chain"
        )
        public = [
            season.document("bots/late"),
            season.document("rounds"),
            season.document("ladder"),
            season.document("site"),
        ]
        assert "secret words" not in json.dumps(
            [*public, season.document("mine/ada"), season.document("mine/grace")["versions"]]
        )
        assert "secret words" not in (season.folder / "published/chain.ndjson").read_text()


@pytest.mark.long
def test_people_submit_over_the_site_and_a_killed_site_is_started_again(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    with season.opened(site=True):
        season.until(lambda: season.events("open", "seed sha256"), "the season, which knows where its site will listen")
        rows = season.croupier("season", "invite", "ada", "--json").json["rows"]
        assert rows[0]["link"].startswith(f"{season.url}/a/")
        season.until(lambda: season.page("/api/season") is not None, "the site")
        (tmp_path / "mine.py").write_bytes(plain_bot("END", "by HTTP"))
        done = season.croupier("submit", tmp_path / "mine.py", "--to", rows[0]["link"])
        assert done.code == 0 and "accepted: mine-1 plays from the next round on" in done.out, done.out + done.err
        (site,) = [each for each in psutil.Process(season.pid).children() if "site" in each.cmdline()]
        site.kill()
        season.until(lambda: season.events("site", "is started again"), "the words")
        season.until(lambda: season.page("/api/bots/mine") is not None, "the next site")
        assert json.loads(season.page("/api/bots/mine") or b"")["author"] == "ada"
    assert not psutil.pid_exists(site.pid) or psutil.Process(site.pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "::"])
def test_a_link_has_an_address_that_others_can_open(host: str) -> None:
    found = urlsplit(url_of(host, 8462))
    assert found.port == 8462 and found.hostname not in (None, "0.0.0.0", "::")
    assert found.hostname == host or host in ("0.0.0.0", "::")


# The end.


@pytest.mark.long
def test_the_freeze_closes_entry_and_nothing_else(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        season.accepted("mine-1", "other-1")
        season.croupier("season", "freeze", "--yes")
        season.until(lambda: season.document("entries"), "the entries")
        assert "open again" in season.croupier("season", "freeze", "--undo").out
        season.until(lambda: not season.document("entries"), "no entries")
        assert season.croupier("season", "freeze").code != 0  # nobody has written the word
        season.croupier("season", "freeze", "--yes")
        season.until(lambda: season.document("entries"), "the entries")
        entries = season.document("entries")
        hashes = sorted(bytes.fromhex(entry["sha256"]) for entry in entries["entries"])
        assert {entry["label"] for entry in entries["entries"]} == {"mine-1", "other-1"}
        assert entries["digest"] == hashlib.sha256(b"".join(hashes)).hexdigest()
        season.submit("ada", "mine", plain_bot("STAND", "too late"))
        season.accepted("mine-2")
        season.until(lambda: any("off the ladder" in json.dumps(row) or "after entry" in json.dumps(row)
                     for row in season.document("mine/ada")["versions"]), "the words on the page")  # fmt: skip
        last = season.document("rounds")["rows"][0]["number"]
        season.until_round(last + 1)
        assert season.document("site")["state"] == "frozen"
    with season.store() as store:
        assert {version.label for version in store.versions.playing()} == {"mine-1", "other-1"}


def test_the_final_is_a_tournament_bound_to_the_entries(played: TestSeason, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", played.folder, copied], check=True)
    final = tmp_path / "final"
    made = croupier("-C", copied, "season", "final", final, "--json")
    assert made.code == 0, made.err
    assert {entry["label"] for entry in made.json["entries"]} == {"adas-1", "graces-1", "kims-1"}
    assert croupier("-C", final, "run", "--progress", "none").code == 0
    verified = croupier("-C", final, "verify", "--json").json
    assert verified["differences"] == [] and verified["bound"] == made.json["digest"]
    assert verified["seed_sha256"] == made.json["seed_sha256"]
    seed = bytes.fromhex((copied / "seed").read_text())
    assert hashlib.sha256(final_seed(seed)).hexdigest() == made.json["seed_sha256"]
    assert croupier("-C", copied, "season", "final", final).code == 2


def test_a_backup_that_fails_leaves_no_file_with_the_seed(tmp_path: Path) -> None:
    folder = SeasonFolder(tmp_path / "cup")
    folder.create()
    folder.draw_seed()
    with Store.open(folder.path) as store:
        Book(store).plan(RoundTerms(1, 2, 10), [], [])
    journal = folder.round(1) / "run/run.sqlite"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"no journal")
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError):
        back_up(folder.path, tmp_path / "out" / "backup.tgz")
    assert [*(tmp_path / "out").iterdir()] == []


@pytest.mark.long
def test_a_backup_of_a_running_season_can_be_restored(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup")
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        season.until_round(1)
        done = season.croupier("season", "backup", tmp_path / "backup.tgz", "--json")
        assert done.code == 0, done.err
    assert (tmp_path / "backup.tgz").stat().st_mode & 0o777 == 0o600
    again = TestSeason(tmp_path / "restored")
    subprocess.run(["tar", "xzf", tmp_path / "backup.tgz", "-C", again.folder], check=True)
    again.log.unlink(missing_ok=True)
    assert croupier("-C", again.folder, "season", "verify").code == 0
    with again.opened():
        again.until(lambda: again.events("round", "is over"), "the next round")


@pytest.mark.long
def test_old_rounds_lose_their_answers_and_nothing_else(tmp_path: Path) -> None:
    season = TestSeason(tmp_path / "cup", 'keep = "1 round"')
    season.invite("ada", "grace")
    with season.opened():
        season.submit("ada", "mine", plain_bot("END", "a"))
        season.submit("grace", "other", plain_bot("STAND", "g"))
        season.until(lambda: season.events("kept", "round 1"), "the removal")
    place = season.folder / "rounds/0001"
    verified = croupier("-C", place, "verify", "--json")
    assert verified.code == 0 and verified.json["reduced"] >= 1 and verified.json["tables"] == 0
    assert croupier("-C", place, "standings").code == 0 and croupier("-C", place, "faults").code == 0
    replayed = croupier("-C", place, "replay", "last")
    assert replayed.code == 3 and "error[E105]" in replayed.err
    done = season.croupier("season", "verify", "--json")
    assert done.code == 0 and 1 in done.json["reduced"], done.out
    assert "answers removed" in season.document("rounds/1")["row"]["note"]


def test_in_containers_the_site_sees_neither_seed_nor_journal_nor_store() -> None:
    services = yaml.safe_load((ROOT / "docker" / "season.yaml").read_text())["services"]
    mounts = {volume.split(":/season/")[1] for volume in services["web"]["volumes"]}
    assert mounts == {"published:ro", "uploads:ro", "inbox"}
    assert services["web"]["networks"] == ["front"] and "ports" not in services["season"]
    outside = [name for name, each in services.items() if "front" in each["networks"]]
    assert outside == ["web"]
    assert all(each["read_only"] and each["cap_drop"] == ["ALL"] for each in services.values())
