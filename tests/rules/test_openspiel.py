"""Games of OpenSpiel: tables follow from the seed, views show what a seat may know, and what cannot be played is named."""

import gzip
import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import croupier
from helpers import long

from host.base.errors import UserError
from host.games.engine import Game, GameFailed, Table
from host.games.luck import Deal, Luck, Shuffler
from host.play.lines import NO_LINE, line_of
from host.play.table_plans import TableSetup
from host.rules import openspiel
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, Move, read_move

LEDUC = "openspiel:leduc_poker(players=3)"
SOME = ["tic_tac_toe", "leduc_poker(players=3)", "goofspiel", "backgammon", "hearts", "skat", "oh_hell(players=4)"]
BOT = """\
import sys

for line in sys.stdin:
    seat, legal, names, *more = line.split()
    print(CHOICE, flush=True)
"""


def rules_of(game: Game) -> Any:
    """Return the rules of a game."""
    return game.presets["openspiel"]


def played(game: Game, nth: int, choose: Callable[[Any, random.Random], Answer], rules: Any = None) -> Table:
    """Return a table whose questions are answered by a function."""
    table, chance = Table(game, rules or rules_of(game), Luck(b"seed", f"test/{nth}")), random.Random(nth)
    while table.request is not None:
        assert len(PROTOCOLS["lines"].encode(table.request.view)) < 8192
        table.answer(choose(table.request.view, chance))
    return table


def any_move(view: Any, chance: random.Random) -> Answer:
    """Return a legal move, by its number or by its name."""
    legal = openspiel.numbers(view)
    at = chance.randrange(len(legal))
    name = view.names[at] if view.names else ""
    by_name = chance.random() < 0.5 and view.names.count(name) == 1 and not name.isdigit()
    return read_move(openspiel.GRAMMAR, name.encode()) if by_name else Move("PLAY", legal[at])


def is_repeated(name: str, tables: int) -> bool:
    """Play random tables twice, and again from their answers. Return whether scores and answers are the same."""
    game = openspiel.game_named(name)
    for nth in range(tables):
        one, other = played(game, nth, any_move), played(game, nth, any_move)
        again = Table(game, rules_of(game), Luck(b"seed", f"test/{nth}"), one.answers)
        if not one.scores == other.scores == again.scores or one.illegal or one.answers != other.answers:
            return False
    return True


@pytest.mark.parametrize("name", SOME)
def test_a_table_follows_from_its_seed_and_its_answers(name: str) -> None:
    assert is_repeated(name, 3)


@pytest.mark.proof
def test_at_least_ninety_games_can_be_played() -> None:
    quick = [each.name for each in openspiel.playable_games() if not each.obstacle and each.name != "bridge"]
    passed = [name for name in quick if is_repeated(name, 2)]
    assert passed == quick
    assert len(quick) >= 90


def test_different_seeds_deal_different_cards() -> None:
    game = openspiel.game_named("hearts")
    views = [Table(game, rules_of(game), Luck(b"seed", str(nth))).request for nth in range(2)]
    assert views[0] != views[1]


@pytest.mark.parametrize("name", ["liars_dice", "leduc_poker"])
def test_a_question_shows_the_own_cards_only(name: str) -> None:
    game = openspiel.game_named(name)
    tables = [Table(game, rules_of(game), Luck(b"seed", str(nth))) for nth in range(100)]
    assert len({table.request.view for table in tables if table.request}) <= 6


def test_a_structured_observation_is_json_without_the_cards_of_others() -> None:
    game = openspiel.game_named("hearts")
    table = Table(game, rules_of(game), Luck(b"seed", "test"))
    for _ in range(40):
        assert table.request is not None
        known = json.loads(table.request.view.state)
        hidden = [{*hand} <= {"XX"} for hand in known["hands"]]
        assert hidden == [seat != table.request.seat for seat in range(4)] and " " not in table.request.view.state
        table.answer(Move("LOWEST"))


def test_a_seat_does_not_see_a_simultaneous_move() -> None:
    game, seen = openspiel.game_named("goofspiel"), set()
    for answer in (Move("LOWEST"), Move("HIGHEST")):
        table = Table(game, rules_of(game), Luck(b"seed", "test"))
        assert table.answer(answer)
        assert table.request is not None and table.request.seat == 1
        seen.add(table.request.view)
    assert len(seen) == 1


def test_a_fault_plays_the_lowest_move() -> None:
    game = openspiel.game_named("connect_four")
    by_fault = played(game, 1, lambda view, _: Fault(FaultKind.TIMEOUT) if view.seat else Move("HIGHEST"))
    by_choice = played(game, 1, lambda view, _: Move("LOWEST" if view.seat else "HIGHEST"))
    assert by_fault.scores == by_choice.scores


@pytest.mark.parametrize(
    ("name", "scores"), [("tic_tac_toe", (-100, 100)), ("leduc_poker(players=3)", (-1300, 650, 650))]
)
def test_a_fault_may_forfeit_the_table(name: str, scores: tuple[int, ...]) -> None:
    game = openspiel.game_named(name)
    rules = rules_of(game)._replace(fault="forfeit")
    assert played(game, 1, lambda view, _: Fault(FaultKind.CRASH), rules).scores == scores


@pytest.mark.parametrize("wrong", [Move("PLAY", 9), Move("PLAY", text="nonsense")])
def test_an_illegal_move_is_a_fault(wrong: Move) -> None:
    game = openspiel.game_named("tic_tac_toe")
    table = Table(game, rules_of(game), Luck(b"seed", "test"))
    assert not table.answer(wrong)


def test_a_journal_of_another_version_is_refused() -> None:
    game = openspiel.game_named("tic_tac_toe")
    with pytest.raises(GameFailed) as failed:
        Table(game, rules_of(game)._replace(version="1.0"), Luck(b"seed", "test"))
    assert isinstance(failed.value.__cause__, UserError)
    assert re.search(r"was played with OpenSpiel 1\.0, and [0-9.]+ is installed", str(failed.value.__cause__))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openspiel:leduc_pokr", "did you mean openspiel:leduc_poker?"),
        ("openspiel:blackjack", "it is a game for one player"),
        ("openspiel:tarok", "it draws its own chance"),
        ("openspiel:pathfinding", "name parameters that give it more seats"),
        ("openspiel:leduc_poker(players=99)", "is refused by OpenSpiel"),
        ("openspiel:leduc_poker(hands=2)", "is refused by OpenSpiel"),
    ],
)
def test_a_game_that_cannot_be_played_says_why(name: str, said: str, tmp_path: Path) -> None:
    told = croupier("-C", tmp_path, "new", "cup", "--game", name)
    assert told.code == 3 and "error[C018]" in told.err and said in told.err


def test_the_games_are_listed() -> None:
    rows = croupier("games", "--openspiel", "--json").json["rows"]
    playable = {row["name"] for row in rows if not row["obstacle"]}
    assert len(playable) >= 90 and "chess" in playable
    text = croupier("games", "--openspiel").out
    assert "openspiel:leduc_poker" in text and "it is a game for one player" in text


@pytest.mark.long
def test_a_tournament_of_three_seats_is_played_and_verified(tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    assert croupier("new", cup, "--game", "openspiel:leduc_poker(players=3)").code == 0
    choices = {"low": "'LOWEST'", "high": "'HIGHEST'", "named": "names.split(',')[0]", "two": "'2'"}
    for name, choice in choices.items():
        (cup / "bots" / f"{name}.py").write_text(BOT.replace("CHOICE", choice))
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace("100_000", "12"))
    assert croupier("-C", cup, "run", "--progress", "none").code == 0
    rows = croupier("-C", cup, "standings", "--json").json["rows"]
    assert {row["bot"]: row["faults"] > 0 for row in rows} == {"low": False, "high": False, "named": False, "two": True}
    assert croupier("-C", cup, "verify").code == 0
    assert croupier("-C", cup, "report").code == 0
    shown = croupier("-C", cup, "replay", "last").out
    assert "Round 1 sequence: " in shown


# Openings, and tables that repeat others.


def opening_of(game: Game, luck: Shuffler, **rules: Any) -> list[str]:
    """Return the random moves at the start of a table."""
    found = []

    def tell(event: str, **facts: Any) -> None:
        if event == "opening":
            found.append(facts["move"])

    Table(game, rules_of(game)._replace(**rules), luck, tell=tell)
    return found


def test_a_game_without_chance_begins_with_random_moves_that_all_seats_of_a_deal_share() -> None:
    game = openspiel.game_named("connect_four")
    one, other = (opening_of(game, Deal(b"seed", "league/a+b/1")) for _ in range(2))
    assert one == other and len(one) == 4
    assert len({tuple(opening_of(game, Deal(b"seed", f"league/a+b/{nth}"))) for nth in range(50)}) > 40
    assert opening_of(game, Luck(b"seed", "1"), opening=0) == []
    assert game.chance.shared(rules_of(game)) and not game.chance.shared(rules_of(game)._replace(opening=0))


def test_an_opening_never_ends_a_game() -> None:
    game = openspiel.game_named("tic_tac_toe")
    for nth in range(100):
        table = Table(game, rules_of(game)._replace(opening=9), Luck(b"seed", str(nth)))
        assert table.request is not None


@pytest.mark.parametrize(
    ("name", "opening"),
    [("chess", 4), ("tic_tac_toe", 4), ("leduc_poker", 0), ("backgammon", 0), ("matrix_rps", 0), ("nim", 4)],
)
def test_the_default_opening_leaves_a_game_to_play(name: str, opening: int) -> None:
    assert rules_of(openspiel.game_named(name)).opening == opening


def line(game: Game, choose: Callable[[Any, random.Random], Answer], nth: int = 1, **rules: Any) -> bytes:
    """Return the line of a table."""
    changed = rules_of(game)._replace(**rules)
    return line_of(TableSetup(("a", "b"), changed, "1"), played(game, nth, choose, changed))


def test_the_same_moves_are_the_same_line_however_bots_spell_them() -> None:
    game = openspiel.game_named("connect_four")
    spelled = [
        lambda view, _: Move("LOWEST"),
        lambda view, _: Move("PLAY", view.legal[0].first),
        lambda view, _: Fault(FaultKind.EXCEPTION, "a new text each time"),
        lambda view, _: Move("PLAY", 9999),
    ]
    assert len({line(game, choose) for choose in spelled}) == 1
    assert line(game, spelled[0]) != line(game, lambda view, _: Move("HIGHEST"))


def test_another_opening_is_another_line_and_an_equal_one_is_not() -> None:
    game = openspiel.game_named("connect_four")
    lines = [line(game, lambda view, _: Move("LOWEST"), nth, opening=1) for nth in range(100)]
    assert len({*lines}) == 7
    assert len({line(game, lambda view, _: Move("LOWEST"), nth, opening=0) for nth in range(3)}) == 1


def test_a_game_with_chance_repeats_no_table() -> None:
    game = openspiel.game_named("kuhn_poker")
    assert {line(game, lambda view, _: Move("LOWEST"), nth) for nth in range(20)} == {NO_LINE}


def duel_in(folder: Path, opening: int) -> Path:
    """Return a tournament of two bots without chance."""
    cup = folder / "cup"
    assert croupier("new", cup, "--game", "openspiel:connect_four").code == 0
    for name, choice in {"low": "'LOWEST'", "high": "'HIGHEST'"}.items():
        (cup / "bots" / f"{name}.py").write_text(BOT.replace("CHOICE", choice))
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace("100_000", "200").replace("# opening = 4", f"opening = {opening}"))
    return cup


@pytest.mark.long
def test_a_table_that_repeats_another_is_not_evidence(tmp_path: Path) -> None:
    cup = duel_in(tmp_path, 0)
    assert croupier("-C", cup, "run", "--progress", "none").code == 0
    found = croupier("-C", cup, "standings", "--json").json
    assert found["repeated"] == "2 different tables in 200: a table that repeats another is not evidence"
    assert {(row["tables"], row["different"], row["wins"]) for row in found["rows"]} == {(200, 2, 100)}
    assert all(row["high"] - row["low"] > 0.8 for row in found["rows"]) and found["advice"] == []
    (pair, _) = croupier("-C", cup, "standings", "--by", "pair", "--json").json["rows"]
    assert (pair["tables"], pair["different"]) == (200, 2) and pair["high"] - pair["low"] > 0.8
    for way in ("bot", "pair"):
        assert found["repeated"] in croupier("-C", cup, "standings", "--by", way).out
    assert croupier("-C", cup, "verify").code == 0
    duel = croupier("-C", cup, "compare", "low", "high", "--json").json
    assert (duel["accepted"], duel["tables"], duel["different"], duel["tables_left"]) == (None, 160, 2, None)


@pytest.mark.long
def test_a_grade_list_by_roster_says_that_tables_repeat_others(tmp_path: Path) -> None:
    for folder, choice in {"bots": "'LOWEST'", "staff": "'HIGHEST'"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"of_{folder}.py").write_text(BOT.replace("CHOICE", choice))
    (tmp_path / "croupier.toml").write_text(
        'game = "openspiel:connect_four"\nrules.opening = 0\n[[stage]]\nkind = "gauntlet"\nreferences = ["staff/*"]\n'
        'tables = 20\n[stage.grades]\n"staff/*" = { points = 10, sure = "60 %" }\n'
    )
    (tmp_path / "students.csv").write_text("Name\nof_bots\n")
    assert croupier("-C", tmp_path, "run", "--progress", "none").code == 0
    for way in ([], ["--roster", tmp_path / "students.csv"]):
        assert "2 different tables in 20" in croupier("-C", tmp_path, "grades", *way).out


@pytest.mark.proof
def test_a_new_course_of_a_game_without_sample_bots_names_bots_of_the_organiser(tmp_path: Path) -> None:
    place = tmp_path / "course"
    assert croupier("new", place, "-g", "openspiel:connect_four", "--kind", "gauntlet").code == 0
    assert "error[C012] " in croupier("-C", place, "run", "--dry-run").first
    (place / "staff").mkdir()
    for bot in ("bots/ada", "staff/tutor"):
        (place / f"{bot}.py").write_text(BOT.replace("CHOICE", "'LOWEST'"))
    done = croupier("-C", place, "run", "--dry-run", "--json")
    assert done.code == 0 and [row["bots"] for row in done.json["rows"]] == [1]


@pytest.mark.long
def test_random_openings_make_tables_different(tmp_path: Path) -> None:
    cup = duel_in(tmp_path, 4)
    assert croupier("-C", cup, "run", "--progress", "none").code == 0
    (row, _) = croupier("-C", cup, "standings", "--json").json["rows"]
    assert row["different"] > 180
    assert croupier("-C", cup, "verify").code == 0
    openings = []
    for table in ("high+low/1", "high+low/2", "high+low/3"):
        events = croupier("-C", cup, "replay", f"league/{table}", "--json").json["events"]
        openings.append([event["move"] for event in events if event["ev"] == "opening"])
    assert openings[0] == openings[1] != openings[2] and len(openings[0]) == 4
    again = croupier("-C", cup, "ask", "low", "league/high+low/1", "--json")
    assert again.code == 0 and again.json["reproduced"]


@pytest.fixture(scope="module")
def friendly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder outside a tournament with a starter bot, and a journal of its games."""
    folder = tmp_path_factory.mktemp("friendly")
    began = croupier("init", "mine", "-g", LEDUC, "-l", "python", cwd=folder)
    assert began.code == 0 and "croupier play mine mine mine" in began.out
    assert f'game     = "{LEDUC}"' in (folder / "mine" / "bot.toml").read_text()
    played = croupier("play", "mine", "mine", "mine", "-n", "6", "--json", cwd=folder)
    assert (played.code, played.json["game"]) == (0, LEDUC)
    return folder


@pytest.mark.long
def test_a_starter_bot_passes_its_check(friendly: Path) -> None:
    told = croupier("check", "mine", cwd=friendly)
    assert told.code == 0 and f"lines · {LEDUC}" in told.out


@pytest.mark.long
def test_one_spelling_names_a_game_and_others_are_read(friendly: Path) -> None:
    again = croupier("play", *["mine"] * 3, "-n", "1", "--json", "-g", "openspiel:leduc_poker(players=3)", cwd=friendly)
    assert again.json["game"] == LEDUC
    assert croupier("games", "openspiel:chess()", "--json").json["rows"][0]["game"] == "openspiel:chess"
    other = croupier("play", *["mine"] * 2, "-g", "openspiel:leduc_poker", cwd=friendly)
    assert other.code == 2 and f"mine plays {LEDUC}, mine plays {LEDUC}, and this is openspiel:leduc_poker" in other.err


def test_the_journal_of_games_outside_a_tournament_is_read(friendly: Path) -> None:
    replayed = croupier("replay", "last", cwd=friendly)
    assert replayed.code == 0 and "[Round_1]" in replayed.out
    rows = croupier("export", "csv", cwd=friendly).out.splitlines()
    assert len(rows) >= 1 + 3
    (first, *_) = croupier("export", "jsonl", "last", cwd=friendly).out.splitlines()
    assert json.loads(first)["game"] == LEDUC
    asked = croupier("ask", "mine", "last:1", cwd=friendly)
    assert asked.code == 0 and re.search(r"now +(\w+), wrote.*\n +then +\1\b", asked.out)


def test_a_bundle_is_asked_in_a_folder_without_a_tournament(friendly: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "one.bundle"
    assert croupier("export", "bundle", "last:1", "-o", bundle, cwd=friendly).code == 0
    asked = croupier("ask", friendly / "mine", bundle, cwd=tmp_path)
    assert asked.code == 0 and re.search(r"now +(\w+), wrote.*\n +then +\1\b", asked.out)


def test_a_bot_cannot_name_a_file_as_the_parameter_of_its_game(tmp_path: Path) -> None:
    assert croupier("init", "mine", "-g", LEDUC, "-l", "python", cwd=tmp_path).code == 0
    manifest = tmp_path / "mine" / "bot.toml"
    manifest.write_text(manifest.read_text().replace(LEDUC, "openspiel:efg_game(filename=/etc/passwd)"))
    told = croupier("check", "mine", cwd=tmp_path)
    assert told.code != 0 and "is not the name of a game of OpenSpiel" in told.out + told.err


DEADLY = "universal_poker(numPlayers=100000)"
"""OpenSpiel ends its process when it loads this game."""


@pytest.mark.parametrize(
    "name", [DEADLY, *map(long, ["hex(board_size=100000)", "oware(num_houses_per_player=100000000)"])]
)
def test_a_bot_whose_game_ends_the_process_or_needs_the_whole_machine_is_refused(name: str, friendly: Path) -> None:
    mine = shutil.copytree(friendly / "mine", friendly / f"deadly {name}"[:12], dirs_exist_ok=True)
    manifest = mine / "bot.toml"
    manifest.write_text(re.sub("game .*", f'game = "openspiel:{name}"', manifest.read_text()))
    for words in (["check", mine], ["play", mine, mine], ["compare", mine, mine]):
        told = croupier(*words, cwd=friendly)
        assert "cannot be loaded in 5 s and 1 GiB" in told.out + told.err
        assert told.code == (1 if words[0] == "check" else 3)


def test_the_game_of_a_bot_is_compared_as_a_text_with_that_of_the_tournament(friendly: Path) -> None:
    cup, mine = friendly / "cup", shutil.copytree(friendly / "mine", friendly / "other")
    cup.mkdir()
    (cup / "croupier.toml").write_text('game = "pazaak"\nbots = ["sample:neptr"]\n')
    manifest = mine / "bot.toml"
    manifest.write_text(re.sub("game .*", f'game = "openspiel:{DEADLY}"', manifest.read_text()))
    for place, words in ((cup, ()), (friendly, ("-g", "pazaak")), (friendly, ("-g", LEDUC))):
        for command in ("check", "play", "compare"):
            told = croupier("-C", place, command, mine, *([mine] if command != "check" else []), *words)
            said = told.out + told.err
            assert told.code in (1, 2) and f"plays openspiel:{DEADLY}, " in said and "cannot be loaded" not in said


@pytest.mark.parametrize("where", ["its game", long("its rules")])
def test_a_bundle_or_a_journal_whose_game_ends_the_process_is_refused(
    where: str, friendly: Path, tmp_path: Path
) -> None:
    shutil.copytree(friendly / ".croupier", tmp_path / ".croupier")
    shutil.copytree(friendly / "mine", tmp_path / "mine")
    bundle = tmp_path / "one.bundle"
    assert croupier("export", "bundle", "last:1", "-o", bundle, cwd=tmp_path).code == 0
    plain = LEDUC.removeprefix("openspiel:")
    old, new = (LEDUC, f"openspiel:{DEADLY}") if where == "its game" else (f'"{plain}"', f'"{DEADLY}"')
    bundle.write_bytes(gzip.compress(gzip.decompress(bundle.read_bytes()).replace(old.encode(), new.encode())))
    for journal in (tmp_path / ".croupier").glob("*.sqlite"):
        with closing(sqlite3.connect(journal)) as stored, stored:
            stored.execute("UPDATE fixture SET about = replace(about, ?, ?)", (old, new))
            stored.execute("UPDATE chain SET line = replace(line, ?, ?)", (old, new))
    for words in ("replay last", "export jsonl", "verify", "report", "ask mine last:1"):
        told = croupier(*words.split(), cwd=tmp_path)
        assert told.code in (1, 3) or (words, where) == ("report", "its rules"), told.out + told.err
        assert told.code < 70
    told = croupier("ask", "mine", bundle, cwd=tmp_path)
    assert told.code == (3 if where == "its game" else 0), told.err  # rules are not needed to ask the bot again


@pytest.mark.parametrize("name", ["openspiel:chess", "openspiel:gin_rummy", LEDUC])
def test_the_examples_of_a_game_have_fewer_than_ten_lines(name: str) -> None:
    shown = croupier("games", name).out
    examples = shown.partition("\nexamples\n")[2].partition("\njson ")[0].splitlines()
    assert examples and sum(-(-len(line) // 100) for line in examples) < 10


@pytest.mark.long
def test_the_column_of_scores_names_their_unit(tmp_path: Path) -> None:
    (tmp_path / "low.py").write_text("while input():\n    print('LOWEST', flush=True)\n")
    config = 'game = "openspiel:leduc_poker"\nbots = ["low.py", "sample.py"]\n'
    (tmp_path / "sample.py").write_text("while input():\n    print('HIGHEST', flush=True)\n")
    stage = '[[stage]]\nkind = "round-robin"\ntables_per_pair = 20\nrank_by = ["score"]\npractice = true\n'
    (tmp_path / "croupier.toml").write_text(config + stage)
    done = croupier("run", "-C", tmp_path)
    assert done.code == 0 and "score (points)" in done.out, done.err
    assert croupier("report", "-C", tmp_path).code == 0
    assert ">score (points)</th>" in (tmp_path / "report.html").read_text()
