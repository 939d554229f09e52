"""Games of TextArena: tables follow from their seed and answers, also beside others, and what cannot be played says why."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random, getstate
from typing import Any

import pytest
from command import croupier
from helpers import breadth

from host.base.errors import UserError
from host.games.engine import Game, GameFailed, Table
from host.games.luck import Luck
from host.play.lines import NO_LINE, line_of
from host.play.table_plans import TableSetup
from host.rules import textarena
from host.rules.catalogue import load_game
from host.rules.libraries import NotPlayable
from protocols.wire import Answer, Fault, FaultKind, Move, read_move

pytestmark = pytest.mark.skipif(
    find_spec("textarena") is None, reason="TextArena is not installed: no game of it is tested here"
)  # it is imported by the first table: importing it takes long

NEGOTIATION = "SimpleNegotiation-v0"
SOME = [NEGOTIATION, "ConnectFour-v0", "ThreePlayerIPD-v0"]


def rules_of(game: Game) -> Any:
    """Return the rules of a game."""
    return game.presets["textarena"]


def begun(name: str, nth: int = 1, answers: list[Answer] | None = None) -> Table:
    """Return a table, after some answers."""
    game = textarena.game_named(name)
    return Table(game, rules_of(game), Luck(b"seed", str(nth)), answers or [])


def answered(table: Table, chance: Random) -> None:
    """Answer a question with one of the moves that it names, with other text, or with a fault."""
    assert table.request is not None
    moves = textarena.example_moves(table.request.view[1])
    said: list[Answer] = [Move("SAY", text=chance.choice(moves) if moves else "hello")] * 8
    table.answer(
        chance.choice([*said, Move("SAY", text="gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n"), Fault(FaultKind.CRASH)])
    )


def played(table: Table, nth: int) -> Table:
    """Return a table that has been played to its end."""
    chance = Random(nth)
    while table.request is not None:
        answered(table, chance)
    return table


@pytest.mark.parametrize("name", breadth(SOME, 3))
def test_a_table_follows_from_its_seed_and_its_answers(name: str) -> None:
    for nth in range(3):
        one, other = played(begun(name, nth), nth), played(begun(name, nth), nth)
        assert one.answers == other.answers and one.scores == other.scores
        assert begun(name, nth, one.answers).scores == one.scores and not one.illegal


@pytest.mark.parametrize("name", ["PigDice-v0-50", NEGOTIATION])
def test_tables_in_one_process_do_not_draw_from_the_same_chance(name: str) -> None:
    alone = [played(begun(name, nth), nth) for nth in range(2)]
    beside, chances = [begun(name, nth) for nth in range(2)], [Random(nth) for nth in range(2)]
    before = getstate()
    while any(table.request for table in beside):
        for table, chance in zip(beside, chances, strict=True):
            if table.request is not None:
                answered(table, chance)
    assert [(table.answers, table.scores) for table in beside] == [(table.answers, table.scores) for table in alone]
    assert getstate() == before


def test_different_seeds_deal_differently_and_a_seat_sees_its_own_card_only() -> None:
    views = {begun("KuhnPoker-v0", nth).request for nth in range(60)}
    assert len(views) == 3  # the jack, the queen or the king of the first seat


def test_only_tables_with_chance_are_evidence_again_and_again() -> None:
    lines = []
    for name in ("ConnectFour-v0", NEGOTIATION):
        for nth in range(2):
            table = begun(name, nth)
            while table.request is not None:
                table.answer(Move("SAY", text="[col 4]"))
            lines.append(line_of(TableSetup(("a", "b"), table.rules, "1"), table))
    assert lines[0] == lines[1] != NO_LINE and lines[2:] == [NO_LINE, NO_LINE]


def test_a_move_that_the_game_does_not_accept_is_asked_once_more_and_a_second_one_loses() -> None:
    table = begun("ConnectFour-v0")
    assert table.request is not None and table.request.seat == 0
    assert table.answer(Move("SAY", text="[col 99]"))
    assert table.request.seat == 0 and "Column 99 is out of bounds" in table.request.view[1]
    assert table.answer(Fault(FaultKind.TIMEOUT))
    assert table.scores == (-100, 100)


def test_an_answer_is_a_line_of_text_in_any_language() -> None:
    said = "Ich gebe dir f\N{LATIN SMALL LETTER U WITH DIAERESIS}nf Schafe \N{SHEEP}"
    assert read_move(textarena.GRAMMAR, said.encode()) == Move("SAY", text=said)
    table = begun("TruthAndDeception-v0")
    table.answer(Move("SAY", text=said))
    assert table.request is not None and table.request.seat == 1 and said in table.request.view[1]


class Odd:
    """An environment with the interface of TextArena's that raises an exception, or never ends."""

    class state:
        logs: tuple[Any, ...] = ()
        num_players = 3

    def reset(self, num_players: int, seed: int) -> None:
        Odd.state.num_players = num_players
        assert num_players == 3

    def get_observation(self) -> tuple[int, str]:
        self.asked = getattr(self, "asked", 0) + 1
        return self.asked % 2, "say [on], or boom; " + "x" * (2 * textarena.MAX_QUESTION)

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        if "boom" in action:
            raise KeyError(action)
        return False, {}


@pytest.fixture
def odd() -> Iterator[str]:
    registry = textarena.library()
    registry.register("Odd-v0", Odd)
    textarena.game_named.cache_clear()
    yield "Odd-v0"
    del registry.ENV_REGISTRY["Odd-v0"]


def test_an_answer_at_which_textarena_raises_forfeits_the_table(odd: str) -> None:
    game = textarena.game_named(odd)
    table = Table(game, rules_of(game), Luck(b"seed", "1"))
    table.answer(Move("SAY", text="boom"))
    assert table.scores == (50, -100, 50)


def test_blanks_in_an_answer_are_one_blank_so_that_no_pattern_of_textarena_takes_hours() -> None:
    table = begun(NEGOTIATION)
    table.answer(Move("SAY", text="[Offer: " + "\t " * 100_000))
    assert table.request is not None and "[Offer:" in table.request.view[1]


def test_a_seat_that_textarena_asks_again_and_again_forfeits_the_table() -> None:
    table = begun("Poker-v0")  # goes on asking a seat that it has eliminated
    while table.request is not None:
        table.answer(Fault(FaultKind.CRASH))
    assert table.scores == (-100, 100) and len(table.answers) < textarena.MAX_ANSWERS


def test_a_game_that_does_not_end_is_a_draw_and_a_long_question_keeps_its_beginning_and_its_end(odd: str) -> None:
    game = textarena.game_named(odd)
    table, asked = Table(game, rules_of(game), Luck(b"seed", "1")), 0
    while table.request is not None:
        text, asked = table.request.view[1], asked + 1
        assert text.startswith("say [on]") and "\n…\n" in text and len(text) <= textarena.MAX_QUESTION + 3
        table.answer(Move("SAY", text="on"))
    assert table.scores == (0, 0, 0) and asked == textarena.MAX_ANSWERS


def test_a_journal_of_another_version_is_refused() -> None:
    game = textarena.game_named("TicTacToe-v0")
    with pytest.raises(GameFailed) as failed:
        Table(game, rules_of(game)._replace(version="0.1"), Luck(b"seed", "test"))
    assert isinstance(failed.value.__cause__, UserError)
    assert "TicTacToe-v0 was played with TextArena 0.1, and " in str(failed.value.__cause__)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ConectFour-v0", "did you mean textarena:ConnectFour-v0?"),
        ("2048-v0", "is a game for one player"),
        ("ConnectFour-v0-raw", "has questions that are not text"),
        ("Debate-v0", "asks a language model over the network"),
        ("SpellingBee-v0", "draws from a set of words"),
        ("CharacterConclave-v0", "raised an exception in a test with moves that it names: TypeError"),
        ("BabyAiText-v0", "is refused by TextArena: "),
    ],
)
def test_a_game_that_cannot_be_played_says_why(name: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        load_game(f"textarena:{name}", Path())
    (problem,) = refused.value.problems
    assert problem.code == "C018" and said in f"{problem.message} {problem.hint}"


def test_a_game_whose_words_are_not_on_this_machine_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    textarena.library()
    monkeypatch.setattr("nltk.data.path", [])
    with pytest.raises(NotPlayable, match="needs lists of words that are not on this machine") as refused:
        textarena.game_named("LetterAuction-v0")
    assert refused.value.hint == "python -m nltk.downloader words averaged_perceptron_tagger_eng"


@pytest.mark.proof
def test_at_least_twenty_games_are_listed_as_playable() -> None:
    rows = croupier("games", "--textarena", "--json").json["rows"]
    titles = {row["title"] for row in rows if not row["obstacle"]}
    assert len(titles) >= 20 and "ConnectFour" in titles
    assert {"Wordle-v0", "Debate-v0", "2048-v0"} <= {row["name"] for row in rows if row["obstacle"]}


@pytest.mark.long
def test_a_tournament_is_played_shown_and_verified(tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    assert croupier("new", cup, "--game", f"textarena:{NEGOTIATION}").code == 0
    assert croupier("init", "-C", cup, "-l", "python", cup / "bots" / "starter").code == 0
    for name, says in {
        "talks": "print('hello [Accept]', flush=True)",
        "ends": "print('hi', flush=True); break",
    }.items():
        (cup / "bots" / f"{name}.py").write_text(f"import sys\nfor line in sys.stdin:\n    {says}\n")
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace("100_000", "4"))
    done = croupier("-C", cup, "run", "--progress", "none")
    assert done.code == 0, done.err
    rows = croupier("-C", cup, "standings", "--json").json["rows"]
    assert {row["bot"]: row["faults"] > 0 for row in rows} == {"starter": False, "talks": False, "ends": True}
    verified = croupier("-C", cup, "verify")
    assert verified.code == 0 and "12 tables" in verified.out
    assert croupier("-C", cup, "report").code == 0
    assert "made no new trade offer" in croupier("-C", cup, "replay", "last").out
