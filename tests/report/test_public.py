"""The folder of `export public`: check.py confirms it without croupier, finds every alteration, and computes the deals."""

import csv
import json
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import pytest
from command import croupier
from failing_games import LEAGUE, ORDINARY, tournament
from failing_games import bot as write_bot
from helpers import breadth
from jsonschema import Draft202012Validator
from test_chain import corrected, with_states  # noqa: F401  # fixtures

from host.base.errors import UserError
from host.games import GAMES
from host.games.engine import Table
from host.games.luck import Luck, T
from host.journal.reader import reading
from host.report.public import after, public_lines
from host.stages.table_design import design
from protocols.wire import Fault, FaultKind
from tests.browser import games


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run check.py as an outsider does: with Python alone, without croupier on its path."""
    command = [sys.executable, "-I", "-S", folder / "check.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def published(journal: Path, folder: Path, *words: str) -> Path:
    """Export the folder."""
    done = croupier("-C", journal.parent.parent, "export", "public", folder, *words)
    assert done.code == 0, done.err
    return folder


def test_check_py_is_short_enough_to_be_read() -> None:
    source = Path(__file__).parents[2] / "host" / "report" / "public_check.py"
    assert len(source.read_text().splitlines()) <= 440


@pytest.mark.parametrize("name", breadth(["with_states", "corrected"], 2))
def test_an_outsider_confirms_a_result(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    journal: Path = request.getfixturevalue(name)
    folder = published(journal, tmp_path / "public", "--bots")
    with reading(journal) as book:
        seals = [entry.seal for entry in book.entries()]
    schema = Draft202012Validator(json.loads((folder / "records.schema.json").read_text()))
    schema.check_schema(schema.schema)
    lines = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    assert {kind for line in lines for kind in line} >= {"terms", "version", "stage", "fixture"}
    assert [[*schema.iter_errors(line)] for line in lines] == [[]] * len(lines)
    assert not schema.is_valid(lines[0] | {"more": 1}) and not schema.is_valid({"before": ""})
    done = check(folder, seals[3], seals[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"✓ {len(seals)} lines, seal {seals[-1]}" in done.stdout and "✓ the seed has the sealed hash" in done.stdout
    assert "✓ stage league: " in done.stdout and "fixtures: " in done.stdout
    assert ("! changed on 20" in done.stdout) is (name == "corrected")
    assert check(folder, "0" * 64).returncode == 1
    assert {path.name for path in (folder / "bots").iterdir()} >= {"neptr", "other" if name == "corrected" else "one"}


@pytest.mark.long
def test_an_outsider_confirms_a_swiss_stage_with_undecided_sets(tmp_path: Path) -> None:
    stage = '[[stage]]\nkind = "swiss"\nrounds = 2\ntables_per_pairing = 2\npractice = true\n'
    folder = tournament(tmp_path / "cup", "GAME", stage, mode="always", often=1)
    assert croupier("-C", folder, "run").code == 7
    done = check(published(folder / "run" / "run.sqlite", tmp_path / "public"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_an_outsider_confirms_a_stage_although_a_bot_was_withdrawn_in_the_next_one(tmp_path: Path) -> None:
    final = '[[stage]]\nname = "final"\nkind = "gauntlet"\nreferences = ["ada"]\ntables = 2\npractice = true\n'
    folder = tournament(tmp_path / "cup", "GAME", LEAGUE + final)
    assert croupier("-C", folder, "run", "--stage", "league").code == 0
    public = published(folder / "run" / "run.sqlite", tmp_path / "league")
    assert check(public).returncode == 0, check(public).stderr
    changes = [("withdraw", "dan"), ("redo", "final/ada+bob/1")]
    for words in (("run",), *((*change, "--reason", "because") for change in changes)):
        assert croupier("-C", folder, *words).code == 0
    public = published(folder / "run" / "run.sqlite", tmp_path / "public")
    assert check(public).returncode == 0, check(public).stderr
    assert "withdrawn" not in (public / "standings.csv").read_text()  # the line that says so comes after hidden ones
    assert croupier("-C", folder, "run").code == 0
    public = published(folder / "run" / "run.sqlite", tmp_path / "whole")
    assert check(public).returncode == 0, check(public).stderr
    assert (public / "standings.csv").read_text().count("withdrawn") == 2
    write_bot(tmp_path / "new", "bob", f"1 + {ORDINARY}")
    new = tmp_path / "new" / "bots" / "bob"
    assert croupier("-C", folder, "add", new, "--replace", "bob", "--reason", "because").code == 0
    public = published(folder / "run" / "run.sqlite", tmp_path / "reopened")
    done = check(public)
    assert done.returncode == 0 and "- stage league: finished, and not all of its tables are shown yet" in done.stdout
    rules = json.loads((public / "rules.json").read_text())
    assert rules["hidden"] == ["final", "league"]


@pytest.mark.long
def test_sources_that_have_not_played_are_not_published(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    for bot in "ab":
        (tmp_path / "bots" / f"{bot}.py").write_text("while input():\n    print('END', flush=True)\n")
    stage = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 2\npractice = true\n'
    (tmp_path / "croupier.toml").write_text(f'game = "pazaak"\nbots = ["bots/*"]\n{stage}')
    assert croupier("-C", tmp_path, "run").code == 0
    folder = published(tmp_path / "run" / "run.sqlite", tmp_path / "public", "--bots")
    source = (tmp_path / "bots" / "a.py").read_bytes()
    assert [path.read_bytes() for path in (folder / "bots" / "a").iterdir()] == [source]
    (tmp_path / "bots" / "a.py").write_bytes(source + b"# better\n")
    done = croupier("-C", tmp_path, "export", "public", tmp_path / "other", "--bots")
    assert done.code == 5 and "R002" in done.err and "is not the program of a that has played" in done.err
    assert not (tmp_path / "other" / "bots").exists()


def altered(lines: list[bytes], draw: random.Random) -> tuple[list[bytes], int]:
    """Alter, drop, repeat, swap or move lines at random. Return them and the number of the first line that is not right."""
    new, at = list(lines), draw.randrange(len(lines))
    match draw.choice(["digit", "drop", "twice", "swap", "cut", "foreign"]):
        case "digit":
            places = [place for place, byte in enumerate(new[at]) if chr(byte).isdigit()]
            place = draw.choice(places)
            new[at] = new[at][:place] + b"%d" % ((new[at][place] - 47) % 10) + new[at][place + 1 :]
        case "drop":
            del new[at]
        case "twice":
            new.insert(at, new[at])
            at += 1
        case "swap":
            other = draw.choice([each for each in range(len(new)) if each != at])
            new[at], new[other] = new[other], new[at]
            at = min(at, other)
        case "cut":
            del new[at:]
        case "foreign":
            new[at] = new[at].replace(b'"before":"', b'"before":"0', 1)
    return new, at + 1


@pytest.mark.proof
def test_200_random_alterations_of_the_records_are_found(
    corrected: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder, draw = published(corrected, tmp_path / "public"), random.Random(7)
    lines = (folder / "records.ndjson").read_bytes().splitlines(keepends=True)
    for number in range(200):
        new, first = altered(lines, draw)
        (folder / "records.ndjson").write_bytes(b"".join(new))
        done = check(folder)
        assert done.returncode == 1, number
        named = [int(word.rstrip(":,")) for word in done.stderr.split() if word.rstrip(":,").isdigit()]
        assert done.stderr.startswith("✗ line ") and {first - 1, first, first + 1} & {*named}, (
            number,
            first,
            done.stderr,
        )


@pytest.mark.long
def test_an_altered_standing_or_seed_is_found(
    corrected: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = published(corrected, tmp_path / "public")
    with (folder / "standings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = (folder / "standings.csv").read_text()
    for row in rows:
        for key in ("tables", "won", "total", "rate", "mean"):
            if row[key]:
                other = [dict(each, **{key: float(each[key]) + 1}) if each is row else each for each in rows]
                with (folder / "standings.csv").open("w", newline="") as file:
                    writer = csv.DictWriter(file, list(row))
                    writer.writeheader()
                    writer.writerows(other)
                done = check(folder)
                assert done.returncode == 1 and f"{key} of {row['bot']}" in done.stderr
    (folder / "standings.csv").write_text(text)
    assert check(folder).returncode == 0
    seed = (folder / "seed.txt").read_text()
    (folder / "seed.txt").write_text(seed[:-3] + ("0" if seed[-3] != "0" else "1") + seed[-2:])
    assert "does not have the hash" in check(folder).stderr


# While a stage runs.


@pytest.mark.parametrize("mirror", [False, True])
def test_tables_that_share_deals_wait_for_the_end_of_their_stage(tmp_path: Path, mirror: bool) -> None:
    path = games.mirrored(tmp_path) if mirror else games.played(tmp_path, "pazaak", state="running")
    with reading(path) as book:
        public, everything = public_lines(book), [entry.line for entry in book.entries()]
    assert any('"fixture":{' in line for line in everything)
    assert any('"fixture":{' in line for line in public.lines) is not mirror
    assert public.hidden == ({"league"} if mirror else set())
    folder = published(path, tmp_path / "public")
    rules = json.loads((folder / "rules.json").read_text())
    assert rules["without_withdrawn"] == ([] if mirror else ["league"])
    assert "seed " not in (folder / "seed.txt").read_text()
    done = check(folder)
    assert done.returncode == 0 and "the seed is not revealed yet" in done.stdout, done.stderr
    assert ("- stage league: running, and not all of its tables are shown yet" in done.stdout) is mirror


@pytest.mark.parametrize(
    "words",
    ["public -o folder", "public --spoilers", "csv --bots", "jsonl --bots"],
)
def test_an_option_that_does_not_apply_to_a_form_is_refused(words: str, tmp_path: Path) -> None:
    refused = croupier("-C", tmp_path, "export", *words.split())
    assert (refused.code, "does not apply to export" in refused.first) == (2, True), refused.err


@pytest.mark.long
def test_a_program_that_follows_gets_every_line_once(
    corrected: Path,  # noqa: F811
) -> None:
    with reading(corrected) as book:
        public = public_lines(book)
        for entry in list(book.entries())[::4]:
            rest = after(public, entry.seal)
            assert public.lines[: len(public.lines) - len(rest)][-1] == f"{entry.line}\n"
        assert after(public, public.seal) == [] and after(public, "") == public.lines
        with pytest.raises(UserError, match="no line has the seal"):
            after(public, "0" * 64)


@pytest.mark.parametrize("form", ["chain", "changes"])
def test_a_form_that_is_gone_names_what_has_the_same(form: str, corrected: Path) -> None:  # noqa: F811
    refused = croupier("-C", corrected.parent.parent, "export", form)
    assert (refused.code, f"export {form} is gone: croupier " in refused.first) == (2, True), refused.err


# Deals.


class Spied(Luck):
    """Luck that keeps which decks were shuffled."""

    def __init__(self, root: bytes, path: str) -> None:
        super().__init__(root, path)
        self.decks = list[list[Any]]()

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        deck = list(cards)
        self.decks.append(deck)
        return super().shuffled(deck)


@pytest.mark.parametrize(
    ("name", "preset"), [(name, preset) for name, game in GAMES.items() for preset in game.presets]
)
def test_a_game_shuffles_the_decks_that_it_lists(name: str, preset: str) -> None:
    game = GAMES[name]
    rules = game.presets[preset]
    assert game.chance.shuffles is not None
    listed = game.chance.shuffles(rules)
    luck = Spied(b"root", "s/1")
    table = Table(game, rules, luck)
    while table.request is not None:
        table.answer(Fault(FaultKind.EXIT))
    assert luck.decks
    expected = islice(chain(listed.first, cycle(listed.each)), len(luck.decks))
    for (what, deck), shuffled in zip(expected, luck.decks, strict=True):
        assert deck is None or [*deck] == shuffled, what


PAIRS = ("first/a+b/3", "first/a+b/4")


@pytest.mark.long
@pytest.mark.parametrize("mirror", [False, True])
def test_an_outsider_computes_the_cards_of_a_table(tmp_path: Path, mirror: bool) -> None:
    (tmp_path / "bots").mkdir()
    for bot in "ab":
        (tmp_path / "bots" / f"{bot}.py").write_text("while input():\n    print('END', flush=True)\n")
    config = 'game = "pazaak"\n[[stage]]\nname = "first"\nkind = "round-robin"\ntables_per_pair = 4\n'
    (tmp_path / "croupier.toml").write_text(config + f"mirror = {str(mirror).lower()}\npractice = true\n")
    assert croupier("-C", tmp_path, "run").code == 0
    folder = published(tmp_path / "run" / "run.sqlite", tmp_path / "public")
    one, other = (decks_of(folder, tmp_path, path) for path in PAIRS)
    assert (one == other) is mirror


@pytest.mark.long
@pytest.mark.parametrize("mirror", [False, True])
def test_an_outsider_computes_the_cards_that_all_bots_meet(tmp_path: Path, mirror: bool) -> None:
    for bot in ("bots/a", "bots/z", "staff/m"):
        (tmp_path / bot).parent.mkdir(exist_ok=True)
        (tmp_path / f"{bot}.py").write_text("while input():\n    print('END', flush=True)\n")
    config = 'game = "pazaak"\n[[stage]]\nkind = "gauntlet"\nreferences = ["staff/*"]\ntables = 4\nsame_cards = true\n'
    (tmp_path / "croupier.toml").write_text(config + f"mirror = {str(mirror).lower()}\npractice = true\n")
    assert croupier("-C", tmp_path, "run").code == 0
    folder = published(tmp_path / "run" / "run.sqlite", tmp_path / "public")
    decks = {path: decks_of(folder, tmp_path, f"gauntlet/{path}") for path in ("a+m/3", "m+z/3", "a+m/4", "m+z/4")}
    assert decks["a+m/3"] == decks["m+z/3"] and decks["a+m/4"] == decks["m+z/4"]
    assert (decks["a+m/3"] == decks["a+m/4"]) is mirror


BOUND = """\
game = "pazaak"
bots = ["bots/*"]
bind_seed = true
[[stage]]
kind = "round-robin"
name = "first"
tables_per_pair = 4
"""


@pytest.mark.long
def test_a_bound_seed_follows_the_bots_that_were_entered_at_the_first_table(tmp_path: Path) -> None:
    """The cards depend on the programs. A late bot changes nothing; another program at the beginning changes everything."""
    decks, roots = [], []
    for number, answers in enumerate(["END STAND", "STAND END"]):
        cup = tmp_path / str(number)
        (cup / "bots").mkdir(parents=True)
        for bot, answer in zip("ab", answers.split(), strict=True):
            (cup / "bots" / f"{bot}.py").write_text(f"while input():\n    print('{answer}', flush=True)\n")
        (cup / "croupier.toml").write_text(BOUND)
        (cup / "run").mkdir()
        (cup / "run" / "seed").write_text("00" * 15 + "01\n")
        (cup / "run" / "seed").chmod(0o600)
        assert croupier("-C", cup, "run").code == 0
        if number:  # a late bot
            (cup / "bots" / "c.py").write_text("while input():\n    print('PLAY 3', flush=True)\n")
            assert croupier("-C", cup, "run", "--reason", "was ill").code == 0
        folder = published(cup / "run" / "run.sqlite", cup / "public")
        decks.append(decks_of(folder, cup, "first/a+b/3"))
        terms = json.loads((folder / "records.ndjson").read_text().partition("\n")[0])["terms"]
        roots.append(terms["bound"])
        done = check(folder)
        assert done.returncode == 0 and "✓ the seed has the sealed hash" in done.stdout, done.stdout
        assert croupier("-C", cup, "verify").code == croupier("-C", cup, "verify", "--seed", "00" * 15 + "01").code == 0
        assert f"bound to the bots entered then: {roots[-1]}" in croupier("-C", cup, "verify").out
        assert croupier("-C", cup, "status", "--json").json["bound"] == roots[-1]
    assert decks[0] != decks[1] and roots[0] != roots[1]
    records = (folder / "records.ndjson").read_text().splitlines()
    assert sum('"version":{' in line for line in records) == 3


@pytest.mark.parametrize("number", breadth([1, 2, 3], 3))
def test_an_outsider_computes_the_cards_of_mirrored_tourneys(number: int, tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    for bot in "abc":
        (tmp_path / "bots" / f"{bot}.py").write_text("import sys\nprint('S')\n")
    rules = '[rules]\npreset = "thread"\nseats = 3\n'
    stage = '[[stage]]\nkind = "mixed-tables"\ntourneys = 3\nrounds = 1\nmirror = true\npractice = true\n'
    (tmp_path / "croupier.toml").write_text(f'game = "cardshark"\n{rules}{stage}')
    assert croupier("-C", tmp_path, "run").code == 0
    folder = published(tmp_path / "run" / "run.sqlite", tmp_path / "public")
    printed = [check(folder, "deal", f"tables/{nth}/1").stdout for nth in (number, number % 3 + 1)]
    assert printed[0] == printed[1] and "shuffle, " in printed[0]
    shoe = next(line.partition(": ")[2].split() for line in printed[0].splitlines() if line.startswith("shuffle,"))
    events = [
        json.loads(line) for line in croupier("-C", tmp_path, "export", "jsonl", f"tables/{number}/1").out.splitlines()
    ]
    dealt = [card for event in events if event["ev"] == "deal" for card in event.get("cards", event.get("card", ""))]
    assert shoe[:2] == [*"".join(dealt)][:2]


def decks_of(folder: Path, tournament: Path, path: str) -> dict[str, list[str]]:
    """Return the decks of a table of Pazaak as check.py prints them; assert that the table was played with them."""
    printed = check(folder, "deal", path).stdout.splitlines()
    decks = {line.partition(":")[0]: line.partition(": ")[2].split() for line in printed if "shuffle" in line}
    events = [json.loads(line) for line in croupier("-C", tournament, "export", "jsonl", path).out.splitlines()]
    sides = next(event["side_decks"] for event in events if event["ev"] == "game.start")
    assert [decks["shuffle, side deck of seat 0"][:4], decks["shuffle 2, side deck of seat 1"][:4]] == [
        [str(card) for card in side] for side in sides
    ]
    hand = 2
    for event in events:
        if event["ev"] == "hand.start":
            hand += 1
            if hand > 10:  # check.py prints eight house decks
                break
            cards = iter(decks[f"shuffle {hand}, house deck"])
        elif event["ev"] == "deal":
            assert next(cards) == str(event["card"])
    return decks


def test_the_draws_that_the_page_shows_are_those_of_this_seed() -> None:
    page, seed = (Path(__file__).parents[2] / "docs" / "checking.md").read_text(), bytes(range(16))
    groups = " ".join(Luck(seed, "groups/1/draw").shuffled(["ada", "bob", "cyd", "dan", "eve", "fay", "gus"]))
    assert groups == "eve dan cyd fay ada bob gus" and "eve dan cyd fay, then ada bob gus" in page
    order = [*Luck(seed, "league/draw").shuffled(["ada", "bob", "cyd", "dan"])]
    assert f"`league/draw` of ada, bob, cyd, dan: {' '.join(order)}" in page
    lot = " ".join(map(str, Luck(seed, "groups/1/ada+bob+cyd+dan/1/lot").shuffled(range(4))))
    assert f"`groups/1/ada+bob+cyd+dan/1/lot`: seats {lot}" in page
    plan = design(4, 3, 6)
    shown = [" ".join(map(str, plan.places(number))) for number in range(4)]
    assert (
        "meeting 1 has the places {}, meeting 2 has {}, meeting 3 has {} and meeting 4 has\n{};".format(*shown) in page
    )
    assert f"meeting 2 is {', '.join(order[place] for place in plan.places(1))}." in page
