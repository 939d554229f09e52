"""`croupier init`: a starter bot in every language, game and protocol builds, is accepted and plays legally."""

import runpy
from itertools import cycle, product
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from command import croupier
from helpers import built, long, offenders, run, seat_of
from test_every_language import marks, needs

from host.bots.values import Batch, Question
from host.games import GAMES
from host.submissions.languages import LANGUAGES, language_of
from host.submissions.scaffold import STARTER_PROTOCOLS, starter_files
from protocols import argv
from protocols.wire import Answer, read_move, spell

GAME_BY_TURNS = dict(zip(LANGUAGES, cycle(product(GAMES, reversed(STARTER_PROTOCOLS))), strict=False))
"""Game and protocol for each language in the short tests, which together cover all games and protocols."""

SLOW = ("cpp", "java", "javascript")
"""Languages whose programs are built or start slowly: their tests are all long."""

EVERY = [
    pytest.param(
        *each,
        id="-".join(each),
        marks=marks(each[0])
        or ([] if GAME_BY_TURNS[each[0]] == each[1:] and each[0] not in SLOW else [pytest.mark.long]),
    )
    for each in product(LANGUAGES, GAMES, STARTER_PROTOCOLS)
]


@pytest.mark.parametrize(("language", "game", "protocol"), EVERY)
@pytest.mark.one_in(3)
def test_a_first_bot_is_accepted_and_plays_its_opening(language: str, game: str, protocol: str, tmp_path: Path) -> None:
    needs(*LANGUAGES[language].programs)
    place = tmp_path / "mine"

    init = croupier("init", place, "-g", game, "--lang", language, "--protocol", protocol)
    check = croupier("check", place)

    assert (init.code, init.err) == (0, "")
    assert (check.code, check.err) == (0, "")
    notes = [line for line in check.out.splitlines() if line.startswith("  !")]
    assert "ready to play · " in check.out, check.out
    assert all(note.startswith("  ! limits ") and "slowest" in note for note in notes), check.out  # a busy machine
    bot, views = built(place, game), GAMES[game].examples

    async def answers() -> list[Answer]:
        async with seat_of(bot, game) as seat:
            return [(await seat.ask(Batch([Question(n, 1, view)])))[0] for n, view in enumerate(views, 1)]

    opening = [read_move(GAMES[game].grammar, GAMES[game].opening.answer_to(view).encode()) for view in views]
    assert run(answers) == opening


@pytest.mark.parametrize("game", GAMES)
def test_a_first_bot_reads_every_field(game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot.py").write_text(starter_files("mine", GAMES[game], "python", "argv")["bot.py"])
    for view in GAMES[game].examples:
        words = [word.decode() for word in argv.ask(view)]
        monkeypatch.setattr("sys.argv", ["bot.py", *words])
        read: dict[str, Any] = vars(runpy.run_path(str(tmp_path / "bot.py"))["Question"](words))
        assert tuple(read) == view._fields  # type: ignore[attr-defined]
        hints = get_type_hints(type(view))
        for name, ours, theirs in zip(view._fields, read.values(), view, strict=True):  # type: ignore[attr-defined]
            match hints[name]:
                case kind if kind in (int, bool):
                    assert ours == theirs
                case kind if kind in (tuple[int, ...], tuple[str, ...]):
                    assert ours == list(theirs)
                case _:
                    assert ours == spell(theirs)


def test_a_first_python_bot_by_argv_imports_no_more_than_python_itself() -> None:
    source = starter_files("mine", GAMES["cardshark"], "python", "argv")["bot.py"]
    assert [line.split()[:2] for line in source.splitlines() if "import " in line] == [["import", "sys"]]


def test_there_is_one_place_to_edit() -> None:
    assert not offenders(check_starter, product(LANGUAGES, GAMES))


def check_starter(language: str, game: str) -> None:
    """Check the files of a starter bot."""
    files = starter_files("mine", GAMES[game], language, "lines")
    source = files.pop(LANGUAGES[language].starter.file)
    assert list(files) == ["bot.toml"]
    assert "`decide` is the place to edit" in source or "{@code decide} is the place to edit" in source
    assert max(map(len, source.splitlines())) <= 130
    assert source == source.rstrip() + "\n" and "\n\n\n\n" not in source


WRONG = [
    ("init mine --lang c", "which game? Name it with -g GAME"),
    ("init mine -g chess --lang c", "there is no game 'chess'  (games: cardshark, pazaak, holdem, hearts, briscola)"),
    ("init mine -g pazaak", "which language? Name it with -l LANGUAGE, or name a file such as mine.py"),
    ("init mine.py -g pazaak -l c", "mine.py would be a file in python, not in c"),
    ("init mine.py -g pazaak --protocol argv", "a single file speaks lines in pazaak; a folder can choose a protocol"),
    ("init mine -g pazaak --lang jav", "there is no language 'jav'; did you mean java ?  (languages: "),
    ("init mine -g pazaak --lang c --protocol json", "a starter bot speaks argv or lines; protocols/README.md shows"),
    ("init #1 -g pazaak --lang c", 'a bot cannot be called \'#1\': the name contains "/" or "#"'),
    (
        "init it's -g pazaak --lang c",
        'a bot cannot be called "it\'s": the name is not allowed for a folder with sources',
    ),
]


@pytest.mark.parametrize(("words", "told"), WRONG)
def test_init_says_what_is_wrong(words: str, told: str, tmp_path: Path) -> None:
    done = croupier(*words.split(), "-C", tmp_path)
    assert (done.code, done.first[: len(told) + 12]) == (2, f"error[U001] {told}")
    assert not list(tmp_path.iterdir())


def test_init_writes_over_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bot.c").write_text("mine\n")
    done = croupier("init", tmp_path / "mine", "-g", "pazaak", "--lang", "c")
    assert (done.code, done.first) == (2, f"error[C016] {tmp_path}/mine: already exists, and is not empty")
    assert [path.read_text() for path in (tmp_path / "mine").iterdir()] == ["mine\n"]


@pytest.mark.parametrize(
    ("language", "game", "names"),
    [
        ("js", "poker", "plays holdem in javascript"),
        ("c++", "Blackjack", "plays cardshark in cpp"),
        ("sbcl", "hearts", "lisp"),
    ],
)
def test_common_names_of_languages_and_games_are_understood(
    language: str, game: str, names: str, tmp_path: Path
) -> None:
    done = croupier("init", tmp_path / "mine", "-l", language, "-g", game)
    assert done.code == 0 and names in done.out.splitlines()[0]


@pytest.mark.parametrize(
    ("suffix", "game"), [(".py", "hearts"), (".c", "briscola"), long((".java", "pazaak")), (".bash", "cardshark")]
)
def test_a_name_with_the_suffix_of_a_language_is_a_single_file(suffix: str, game: str, tmp_path: Path) -> None:
    needs(*language_of(suffix).programs)
    mine = tmp_path / "bots" / f"mine{suffix}"
    done = croupier("init", mine, "-g", game)
    assert done.out.splitlines()[:2] == [
        f"{mine}: plays {game} in {language_of(suffix).name}. Edit `decide` in {mine}, then:",
        f"  croupier check {mine} -g {game}",
    ]
    assert [path.name for path in (tmp_path / "bots").iterdir()] == [mine.name]
    assert croupier("check", mine, "-g", game).code == 0
    again = croupier("init", mine, "-g", game)
    assert (again.code, again.first) == (2, f"error[C016] {mine}: already exists")


def test_init_in_a_tournament_knows_the_game(tmp_path: Path) -> None:
    croupier("new", tmp_path / "cup", "-g", "holdem")
    done = croupier("init", tmp_path / "cup" / "bots" / "mine", "--lang", "python", "-C", tmp_path / "cup", "--json")
    assert (done.json["game"], done.json["edit"]) == ("holdem", f"{tmp_path}/cup/bots/mine/bot.py")
    assert croupier("ls", "-C", tmp_path / "cup").out.split()[:3] == ["mine", "python", "lines"]
