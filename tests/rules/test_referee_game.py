"""game.toml: what a game is made of, and an error with its line and its cure for everything that is wrong."""

import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from command import ROOT

from host.base.errors import UserError
from host.games.engine import Opening, Place
from host.ops.bots import find_game
from host.rules.catalogue import load_game, ref_of, rule_type
from host.rules.game_toml import PROGRAM_KEYS, GameFile, load_referee_game
from host.submissions.referees import load_referee, referee_hash
from protocols import PROTOCOLS
from protocols.wire import Move, read_move

SAMPLE = ROOT / "sample_bots" / "referees" / "goofspiel_c"
PAGE = (ROOT / "docs" / "bring-your-own-referee.md").read_text()
GAME = """\
name   = "scopa"
seats  = [2, 4]
sides  = [[0, 2], [1, 3]]
view   = ["hand", "points"]
answer = ["PASS", "PLAY <card from hand>"]
run    = ["./referee"]
words  = { shuffle = 40, "shuffle 2" = 40, below = 3 }

[rules]
target = { type = "integer", default = 100, from = 10, to = 1000 }
open   = { type = "boolean", default = false }
deck   = { type = "word", default = "italian", one_of = ["italian", "french"] }

[presets.usual]

[presets.short]
target = 50
deck   = "french"

[edges."the first question"]
hand   = ["Td", "4c"]
points = 0

[edges."no card"]
hand   = []
points = 12
"""


def written(place: Path, *changes: tuple[str, str]) -> Path:
    text = GAME
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    place.mkdir(exist_ok=True)
    (place / "game.toml").write_text(text)
    return place


def test_a_game_has_what_its_file_says(tmp_path: Path) -> None:
    game, file, _, _ = load_referee_game(written(tmp_path))
    assert (game.name, game.title, game.seats, game.protocol) == ("scopa", "scopa", (2, 4), "lines")
    assert {name: tuple(rules) for name, rules in game.presets.items()} == {
        "usual": (2, 100, False, "italian"),
        "short": (2, 50, False, "french"),
    }
    assert file.words == {"shuffle": 40, "shuffle 2": 40, "below": 3}
    assert game.opening == Opening("points", 0, "PASS", "PASS")
    view = game.edges["the first question"]
    assert PROTOCOLS["lines"].encode(view) == b"Td,4c 0\n"
    assert PROTOCOLS["json"].encode(view) == b'{"hand":["Td","4c"],"points":0}\n'
    assert read_move(game.grammar, b"play 4c") == Move("PLAY", text="4c")


@pytest.mark.parametrize(
    ("answer", "first"), [("<metres: 1..5>", "1"), ("JUMP <x: -2..2> <how>", "JUMP -2 a"), ("<text: lines>", "WAIT")]
)
def test_the_simplest_bot_of_a_foreign_referee_has_an_answer_that_its_game_allows(
    answer: str, first: str, tmp_path: Path
) -> None:
    text = f'name = "race"\nseats = [2, 9]\nadapter = "brutaltester"\nanswer = "{answer}"\nlanguage = "python"\n'
    (tmp_path / "game.toml").write_text(text)
    game = load_referee_game(tmp_path).game
    assert {game.opening.answer_to(edge) for edge in game.edges.values()} == {first}


def test_partners_share_a_bot_where_there_are_as_many_bots_as_sides(tmp_path: Path) -> None:
    game = load_referee_game(written(tmp_path)).game
    rules = game.presets["usual"]
    assert game.places(rules) == (Place(0), Place(1), Place(0, 1), Place(1, 1))
    assert game.places(rules._replace(seats=3)) == (Place(0), Place(1), Place(2))


def test_a_tournament_may_set_a_rule_within_its_bounds(tmp_path: Path) -> None:
    game = load_referee_game(written(tmp_path)).game
    rules = game.presets["usual"]
    assert rule_type(game, rules, "target").check(10) == 10
    for key, value in (("target", 9), ("target", 1001), ("open", 1), ("deck", "spanish")):
        with pytest.raises(ValueError, match=r"is |neither"):
            rule_type(game, rules, key).check(value)


def test_fields_can_be_texts_for_block(tmp_path: Path) -> None:
    view = ('["hand", "points"]', '["hand: once", "points: lines", "rows: answer lines"]')
    edges = (
        ('hand   = ["Td", "4c"]\npoints = 0', 'hand = "map"\npoints = "a\\nb"\nrows = 2'),
        ("hand   = []\npoints = 12", 'hand = "map"\npoints = "c"\nrows = 1'),
    )
    opening = (
        "[presets.usual]",
        '[opening]\nfield = "rows"\nlimit = 2\nbelow = "PASS"\notherwise = "PASS"\n\n[presets.usual]',
    )
    answer = ('"PLAY <card from hand>"', '"PLAY <card>"')
    game = load_referee_game(
        written(tmp_path, ("view   = " + view[0], "view   = " + view[1]), *edges, opening, answer)
    ).game
    framing = PROTOCOLS["block"].framing()
    view_of = game.edges["the first question"]

    class Asked:
        table, number, view = 1, 1, view_of

    assert framing.encode([Asked()]) == b"map\na\nb\n"


PATTERN = '{ pattern = "(", expected = "x", examples = ["x"] }'
OPENING = '[opening]\nfield = "FIELD"\nlimit = 1\nbelow = "BELOW"\notherwise = "PASS"\n[rules]'
BY_HAND = OPENING.replace("FIELD", "hand").replace("BELOW", "PASS")
FOLDING = OPENING.replace("FIELD", "points").replace("BELOW", "FOLD")

WRONG = [
    (('name   = "scopa"', ""), "C007", "game.toml", "the file has no name"),
    (('"scopa"', '"pazaak"'), "C018", ":1", "is the name of another game"),
    (('"scopa"', '"Scopa!"'), "C009", ":1", "is not a name of a game"),
    (("[2, 4]", "0"), "C009", ":2", "is out of range"),
    (("[2, 4]", '"two"'), "C006", ":2", "is not a number of seats"),
    (("[[0, 2], [1, 3]]", "[[0, 2], [1, 1]]"), "C009", ":3", "does not have each seat from 0 on once"),
    (('["hand", "points"]', '["hand", "hand"]'), "C009", ":4", "has a field hand, which is taken"),
    (('["hand", "points"]', '["with", "points"]'), "C009", ":4", 'names a field "with"'),
    (('["hand", "points"]', '["table", "points"]'), "C009", ":4", "has a field table, which is taken"),
    (('["hand", "points"]', '["hand: text", "points"]'), "C008", ":4", "has an unknown type"),
    (('["hand", "points"]', "[]"), "C006", ":4", "is not a list of 1 to 64 names"),
    (('"PLAY <card from hand>"', '"PLAY <card from hands>"'), "C008", ":5", "takes its values from hands"),
    (('"PLAY <card from hand>"', '"PLAY <card"'), "C009", ":5", "neither a word nor a placeholder"),
    (('["PASS", "PLAY <card from hand>"]', PATTERN), "C009", ":5", "not a regular expression"),
    (('["PASS", "PLAY <card from hand>"]', PATTERN.replace("(", "(?P<verb>x)(?=y)")), "C009", ":5", "of RE2: invalid perl"),
    (('["PASS", "PLAY <card from hand>"]', PATTERN.replace("(", "(?P<card>x)")), "C009", ":5", "not called verb, n or text"),
    (('["PASS", "PLAY <card from hand>"]', PATTERN.replace('"("', "5")), "C006", ":5", "a pattern that is not a string"),
    (("shuffle = 40,", "shufle = 40,"), "C008", ":7", 'names a stream "shufle"'),
    (("shuffle = 40,", "shuffle = 0,"), "C009", ":7", "is out of range"),
    (("from = 10", "from = 200"), "C009", ":10", "is out of range"),
    (('type = "integer"', 'type = "number"'), "C007", ":10", "has no type that croupier knows"),
    (('one_of = ["italian", "french"]', "to = 3"), "C007", ":12", "has no list of words in one_of"),
    (("target = 50", "target = 5"), "C009", ":17", "is out of range"),
    (("target = 50", "targets = 5"), "C001", ":17", 'unknown rule "targets"'),
    (("points = 12", "point = 12"), "C001", ":24", 'unknown field "point"'),
    (("points = 12", ""), "C007", ":24", "has no points"),
    (("points = 12", "points = 1.5"), "C006", ":24", "is not a text, a whole number"),
    (('run    = ["./referee"]', "runs = 3"), "C001", ":6", 'unknown key "runs"'),
    (('["PASS", "PLAY <card from hand>"]', '["PLAY <card>"]'), "C007", "game.toml", "has no [opening]"),
    (('run    = ["./referee"]', 'patience = "5"'), "C002", ":6", "has no unit"),
    (("[rules]", OPENING.replace("limit = 1\n", "")), "C007", ":9", "[opening] has no limit"),
    (("[rules]", OPENING.replace("limit", "limits")), "C001", ":11", 'unknown key "limits" in [opening]'),
    (("[rules]", BY_HAND), "C009", ":10", "hand is not a field whose values are numbers"),
    (("[rules]", FOLDING), "C009", ":9", "which `answer` does not allow"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "where", "message"), WRONG)
def test_a_wrong_key_is_refused_with_its_line(
    change: tuple[str, str], code: str, where: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        load_referee_game(written(tmp_path, change))
    assert refused.value.exit_code == 3
    found = [problem for problem in refused.value.problems if problem.code == code]
    assert found, refused.value.problems
    assert any(problem.where.endswith(where) and message in problem.message for problem in found), found


def test_a_folder_with_a_tournament_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "croupier.toml").write_text("")
    with pytest.raises(UserError, match=r"has a croupier\.toml"):
        load_referee(folder)


def test_a_program_that_is_missing_is_refused_with_the_key_of_game_toml(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run = .*: no such file") as refused:
        load_referee(written(tmp_path))
    assert "bot.toml" not in str(refused.value)
    assert ":6" in refused.value.problems[0].where


def test_the_hash_of_a_referee_covers_its_files_and_its_keys(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    shutil.copytree(SAMPLE, folder)

    def sha256() -> str:
        return referee_hash(load_game(f"{folder}/", tmp_path))

    first = sha256()
    assert len(first) == 64
    assert sha256() == first
    (folder / "game.toml").write_text((folder / "game.toml").read_text().replace("decisions = 14", "decisions = 15"))
    second = sha256()
    (folder / "referee.c").write_text((folder / "referee.c").read_text() + "\n")
    assert len({first, second, sha256()}) == 3


def test_a_game_is_named_by_its_folder_with_or_without_the_slash(tmp_path: Path) -> None:
    for said in (f"{SAMPLE}/", str(SAMPLE)):
        game = find_game(said)
        assert ref_of(game).has_referee
        assert game.name == "goofspiel_c"


def test_the_page_names_every_key_of_game_toml() -> None:
    table = PAGE.split("## The keys of game.toml")[1]
    keys = [each.name for each in fields(GameFile)]
    assert [key for key in keys if f"`{key}`" not in table] == []
    assert set(PROGRAM_KEYS) <= set(keys)
