"""The adapter `simplepazaak` compiles unchanged classes for the controller of 2015 and asks them."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import helpers
import pytest
import trio
from command import croupier

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot
from host.bots.monitor import running_monitor
from host.bots.seat import open_seat
from host.bots.values import Batch, Question
from host.games.pazaak import GAME, View
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import sandboxed
from host.sandbox.limits import Limits
from host.submissions.build import build
from host.submissions.discovery import load_submission
from protocols.wire import Answer, Fault, FaultKind, Move

EXAMPLES = [View(*view) for view in GAME.examples]
STAND = Move("STAND")
DECIDES = """
    public void getResponse(int wins[], boolean isPlayerOne, Collection<Card> yourHand, Collection<Card> opponentHand,
            Collection<Card> yourSideDeck, int opponentSideDeckCount, Action opponentAction, boolean opponentDidPlay)"""


async def asked(bot: BuiltBot, views: Sequence[View], at_once: int = 128, seed: int = 1) -> list[Answer]:
    """Ask one process in batches; return its answers."""
    questions = [Question(1, number, view) for number, view in enumerate(views, 1)]
    answers: list[Answer] = []
    async with (
        running_monitor() as watcher,
        sandboxed(helpers.level(), Home(Path(bot.folder)), bot.limits) as sandbox,
        open_seat(bot, GAME, sandbox, seed, watcher) as seat,
    ):
        for start in range(0, len(questions), at_once):
            answers += await seat.ask(Batch(questions[start : start + at_once]))
    return answers


def handed_in(folder: Path, java: str, manifest: str = "", name: str = "Bot") -> Path:
    """Write a submission: a Java class as in 2015, and a minimal bot.toml."""
    head = "package Players;\nimport java.util.*;\nimport Mechanics.*;\n"
    (folder / f"{name}.java").write_text(head + textwrap.dedent(java))
    (folder / "bot.toml").write_text(f'name = "{name}"\nadapter = "simplepazaak"\n{manifest}')
    return folder


def built(folder: Path, limits: Limits = helpers.AMPLE) -> BuiltBot:
    """Build a submission, loaded like any bot."""
    return trio.run(build, load_submission(folder), helpers.level())._replace(limits=limits)


def answers(bot: BuiltBot, views: Sequence[View] = EXAMPLES, at_once: int = 128) -> list[Answer]:
    """Return a bot's answers."""
    return trio.run(asked, bot, views, at_once)


SITUATIONS = {
    "no action, or a play without a card": "if (yourHand.size() == 1) action = Action.PLAY;",
    "an action at the first chance only": "if (yourHand.size() == 2) action = Action.END;",
    "lists taken apart": """
        Set<Card> side = new HashSet<>(yourSideDeck);
        yourHand.clear();
        yourSideDeck.removeAll(side);
        action = side.contains(new Card(5)) && yourSideDeck.isEmpty() ? Action.PLAY : Action.END;
        cardToPlay = new Card(Integer.parseInt(new Card(5).toString()));""",
    "reads": "try { action = System.in.read() < 0 ? Action.END : null; } catch (java.io.IOException e) { }",
    "prints": """
        KEPT.println("PLAY 5");
        System.out.print("deciding...");
        System.out.flush();""",
    "throws": """
        action = Action.PLAY;
        cardToPlay = new Card(++asked);
        if (asked == 2) cardToPlay = new Card(1 / (asked - 2));""",
    "hangs or exits": """
        if (yourHand.contains(new Card(6)) && yourHand.size() == 1) while (true);
        if (yourSideDeck.isEmpty()) System.exit(3);""",
}


@pytest.fixture(scope="module")
def moody(tmp_path_factory: pytest.TempPathFactory) -> BuiltBot:
    """Build a class that reads the number of a situation from the hands won by player one."""
    cases = "\n".join(f"case {number}: {body} break;" for number, body in enumerate(SITUATIONS.values()))
    java = f"""
        public class Bot extends Player {{
            static final java.io.PrintStream KEPT = System.out;
            static {{ System.out.println("END"); }}
            int asked;
            public Bot() {{ System.out.print("PLAY 3"); }}
            {DECIDES} {{ switch (wins[0]) {{ {cases} }} }}
        }}"""
    return built(handed_in(tmp_path_factory.mktemp("moody"), java))


def in_situation(name: str, views: Sequence[View]) -> list[View]:
    """Return questions that select a situation of the moody class."""
    return [view._replace(wins_one=list(SITUATIONS).index(name)) for view in views]


def refusal(folder: Path) -> str:
    """Return the message about a submission that is refused."""
    with pytest.raises(UserError) as refused:
        built(folder)
    return str(refused.value)


@pytest.mark.long
def test_a_class_of_2015_needs_nothing_but_the_adapters_name(tmp_path: Path) -> None:
    java = f"""
        public class Bot extends Player {{
            private Card[] hand;
            public Bot() {{ super(); this.name = "Bot"; }}
            @Override {DECIDES} {{
                hand = yourHand.toArray(new Card[yourHand.size()]);
                int mine = 0;
                for (int i = 0; i < hand.length; i++) mine += hand[i].getValue();
                int lost = isPlayerOne ? wins[1] : wins[0];
                this.action = mine < PazaakGameMain.HAND_GOAL - 5 + lost ? Action.END : Player.Action.STAND;
                if (opponentAction == Action.STAND && !opponentDidPlay && yourSideDeck.contains(new Card(1))) {{
                    cardToPlay = new Card(1);
                    action = Action.PLAY;
                }}
            }}
        }}"""
    told = [move.verb[0] + str(move.n) for move in answers(built(handed_in(tmp_path, java))) if isinstance(move, Move)]
    assert " ".join(told) == "E0 E0 P1 E0 E0 P1 S0 S0 S0 E0 S0 S0 S0 P1 S0 E0"


THREE = f"""
    class Sums {{
        static int of(Collection<Card> cards) {{ int sum = 0; for (Card c : cards) sum += c.getValue(); return sum; }}
    }}
    abstract class Careful extends Player {{
        abstract int limit();
        {DECIDES} {{ action = Sums.of(yourHand) < limit() ? Action.END : Action.STAND; }}
    }}
    class Low extends Careful {{ int limit() {{ return 1; }} }}
    class High extends Careful {{ int limit() {{ return 100; }} }}
"""


@pytest.mark.long
@pytest.mark.parametrize(("main", "verb"), [("Players.Low", "STAND"), ("High", "END")])
def test_of_several_classes_in_one_file_the_manifest_names_the_bot(tmp_path: Path, main: str, verb: str) -> None:
    assert set(answers(built(handed_in(tmp_path, THREE, f'main = "{main}"')))) == {Move(verb)}


@pytest.mark.long
def test_several_bots_in_one_file_want_a_name(tmp_path: Path) -> None:
    assert "several classes extend Player (Players.High, Players.Low): name the bot in bot.toml" in refusal(
        handed_in(tmp_path, THREE)
    )


@pytest.mark.long
def test_the_only_class_that_extends_player_needs_no_name(tmp_path: Path) -> None:
    java = THREE.replace("class High extends Careful { int limit() { return 100; } }", "")
    assert set(answers(built(handed_in(tmp_path, java)))) == {STAND}


@pytest.mark.long
def test_a_class_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    message = 'main = "Players.NEPTR" is none of the classes here that extend Player: Players.High, Players.Low'
    assert message in refusal(handed_in(tmp_path, THREE, 'main = "Players.NEPTR"'))


@pytest.mark.long
def test_a_get_response_may_return_its_move(tmp_path: Path) -> None:
    decided = DECIDES.replace("void", "Action")
    java = f"""public class Bot extends Player {{ {decided} {{
        cardToPlay = new Card(2);
        return yourHand.size() == 1 ? Action.PLAY : yourHand.size() == 2 ? null : Action.END; }} }}"""
    assert answers(built(handed_in(tmp_path, java)), EXAMPLES[2:5]) == [Move("PLAY", 2), STAND, STAND]


def test_no_action_is_stand_and_a_play_without_a_card_is_a_play_of_none(moody: BuiltBot) -> None:
    views = in_situation("no action, or a play without a card", [EXAMPLES[3], EXAMPLES[2]])
    assert answers(moody, views) == [STAND, Move("PLAY", 0)]


def test_an_action_outlasts_the_turn_but_not_the_hand(moody: BuiltBot) -> None:
    hands = [(8, 7), (8, 7, 1), (9,)]
    views = [EXAMPLES[1]._replace(your_hand=hand) for hand in hands]
    assert answers(moody, in_situation("an action at the first chance only", views)) == [
        Move("END"),
        Move("END"),
        STAND,
    ]


def test_cards_are_equal_by_value_and_lists_are_the_bots_own(moody: BuiltBot) -> None:
    assert answers(moody, in_situation("lists taken apart", EXAMPLES[:1] * 2)) == [Move("PLAY", 5)] * 2


@pytest.mark.long
def test_a_written_goal_does_not_compile_and_we_say_why(tmp_path: Path) -> None:
    java = f"public class Bot extends Player {{ {DECIDES} {{ PazaakGameMain.HAND_GOAL = 12; }} }}"
    said = refusal(handed_in(tmp_path, java))
    assert (
        "cannot assign a value to final variable HAND_GOAL" in said and "hint: the goal is final here: in 2015" in said
    )


@pytest.mark.long
def test_the_goal_that_neptr_overwrote_in_2015_changes_in_its_own_process_only(tmp_path: Path) -> None:
    look = """
        static java.lang.reflect.Field goal() throws Exception {
            return Class.forName("Mechanics.PazaakGameMain").getField("HAND_GOAL");
        }"""
    tells = f"""{DECIDES} {{
        action = Action.PLAY;
        try {{ cardToPlay = new Card(goal().getInt(null)); }} catch (Exception e) {{ throw new IllegalStateException(e); }}
    }}"""
    neptr = f"""
        public class NEPTR extends Player {{
            {look}
            public NEPTR() throws Exception {{
                java.lang.reflect.Field key = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
                key.setAccessible(true);
                sun.misc.Unsafe unsafe = (sun.misc.Unsafe) key.get(null);
                unsafe.putInt(unsafe.staticFieldBase(goal()), unsafe.staticFieldOffset(goal()), 12);
            }}
            {tells}
        }}"""
    honest = f"public class Honest extends Player {{ {look} {tells} }}"
    folders = [tmp_path / name for name in ("NEPTR", "Honest")]
    for folder, java in zip(folders, (neptr, honest), strict=True):
        folder.mkdir()
        handed_in(folder, java, name=folder.name)
    both = helpers.built_all([load_submission(folder) for folder in folders])
    bots = [both[folder.name]._replace(limits=helpers.AMPLE) for folder in folders]
    first, second = helpers.answers_of(helpers.played("pazaak", bots, 2))  # the first to move alternates between tables
    told, true = Move("PLAY", 12), Move("PLAY", 20)
    assert (first[:2], second[:2]) == ([told, true], [true, told])


@pytest.mark.long
def test_a_class_without_get_response_gets_the_compilers_words_and_ours(tmp_path: Path) -> None:
    said = refusal(handed_in(tmp_path, 'public class Bot extends Player { public Bot() { name = "Bot"; } }'))
    assert "Bot is not abstract and does not override abstract method getResponse" in said and (
        "hint: a class that extends Player leaves its move in the fields `action` and `cardToPlay`" in said
    )


def test_what_is_printed_is_no_answer_and_no_fault(moody: BuiltBot) -> None:
    assert answers(moody, in_situation("prints", EXAMPLES)) == [STAND] * len(EXAMPLES)


def test_a_bot_cannot_read_the_next_question(moody: BuiltBot) -> None:
    assert answers(moody, in_situation("reads", EXAMPLES)) == [Move("END")] * len(EXAMPLES)


def test_an_exception_is_a_fault_and_its_object_lives_on(moody: BuiltBot) -> None:
    thrown = Fault(FaultKind.EXCEPTION, "ArithmeticException")
    assert answers(moody, in_situation("throws", EXAMPLES[:3])) == [Move("PLAY", 1), thrown, Move("PLAY", 3)]


@pytest.mark.timing
def test_a_bot_that_hangs_or_exits_does_so_at_that_question_however_many_are_asked_at_once(moody: BuiltBot) -> None:
    bot = moody._replace(limits=helpers.AMPLE._replace(move=1.5))
    told = answers(bot, in_situation("hangs or exits", EXAMPLES))
    at = [EXAMPLES[number].your_hand for number, answer in enumerate(told) if answer != STAND]
    assert at == [(6,), (10, 7)]


@pytest.mark.long
def test_one_object_serves_all_games_of_a_fixture(tmp_path: Path) -> None:
    count = "action = Action.PLAY; cardToPlay = new Card(++asked);"
    counts = built(handed_in(tmp_path, f"public class Bot extends Player {{ int asked; {DECIDES} {{ {count} }} }}"))
    stand = "import sys\nfor question in sys.stdin:\n    print('STAND', flush=True)\n"
    stands = helpers.built(helpers.written(stand, ".py", tmp_path, "stands"), "pazaak", protocol="lines")
    record = helpers.played("pazaak", [counts, stands], 5)
    moves = [move for table in helpers.answers_of(record) for move in table if isinstance(move, Move)]
    counted = [move.n for move in moves if move.verb == "PLAY"]
    assert counted == list(range(1, len(counted) + 1)) and len(counted) >= 15


def test_files_of_the_kit_are_not_for_bots_to_bring(tmp_path: Path) -> None:
    (tmp_path / "Mechanics").mkdir()
    (tmp_path / "Mechanics" / "Card.java").write_text("package Mechanics; public class Card {}")
    handed_in(tmp_path, THREE)
    assert 'error[B019] Bot: has files that adapter = "simplepazaak" supplies: Mechanics/Card.java' in refusal(tmp_path)


def test_an_unknown_adapter_is_said_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('adapter = "simplepazak"\n')
    assert 'adapter = "simplepazak" is not an adapter\n  hint: simplepazaak' in refusal(tmp_path)


def test_a_class_of_2015_plays_no_other_game(tmp_path: Path) -> None:
    submission = load_submission(handed_in(tmp_path, THREE))
    with pytest.raises(UserError, match=r"C013.* is for pazaak, not for holdem"):
        trio.run(build, submission.with_keys(game="holdem"), helpers.level())


@pytest.mark.long
def test_an_original_file_alone_is_recognized_and_says_what_it_calls_itself(tmp_path: Path) -> None:
    java = f"""
        public class Bot extends Player {{
            public Bot() {{ this.name = "N.E.P.T.R."; }}
            {DECIDES} {{ action = Action.STAND; }}
        }}"""
    handed_in(tmp_path, java)
    (tmp_path / "bot.toml").unlink()
    done = croupier("check", tmp_path / "Bot.java")
    assert done.code == 0, done.out
    assert done.out.startswith("Bot · java · lines · pazaak · adapter simplepazaak")
    assert "it calls itself N.E.P.T.R." in done.out and 'name = "N.E.P.T.R." in bot.toml' in done.out
    assert load_submission(tmp_path).spec.adapter == "simplepazaak"


def test_a_bot_that_brings_its_own_package_is_not_taken_for_an_original(tmp_path: Path) -> None:
    handed_in(tmp_path, "public class Bot { public static void main(String[] words) {} }")
    (tmp_path / "bot.toml").unlink()
    (tmp_path / "Mechanics").mkdir()
    (tmp_path / "Mechanics" / "Card.java").write_text("package Mechanics; public class Card {}")
    assert load_submission(tmp_path).spec.adapter == ""


def test_a_manifest_that_says_something_else_counts_more_than_an_import(tmp_path: Path) -> None:
    handed_in(tmp_path, "public class Bot {}")
    (tmp_path / "bot.toml").write_text('protocol = "lines"\n')
    assert load_submission(tmp_path).spec.adapter == ""
