"""Partners, limits of a question, shown texts and answers of several lines: a referee uses all of them with real bots."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import croupier

pytestmark = pytest.mark.long

GAME = """\
name     = "whispers"
seats    = 2
sides    = [[0, 2], [1, 3]]
view     = ["place: once", "text: lines", "rows: answer lines"]
answer   = ["SKIP", "<words: lines>"]
protocol = "block"
run      = ["python3", "referee.py"]

[edges."two lines"]
place = "seat 0\\n"
text  = "told apple\\nask 2\\n"
rows  = 2
"""

REFEREE = '''\
"""One seat of each side is shown two words and repeats them; its partner is shown that, and repeats it. Then a hurry."""
import json
import sys


def ask(seats, word, rows, **more):
    views = {seat: {"place": f"seat {seat}\\n", "text": f"{word} {rows}\\n"} for seat in seats}
    return [{"seat": seat, "view": view, "lines": rows, **more} for seat, view in views.items()]


def show(seat, words):
    return {"seat": seat, "text": "".join(f"told {word}\\n" for word in words)}


class Table:
    def __init__(self, seed):
        self.words, self.scores, self.step = [[f"w{seed % 97}-{side}", "end"] for side in (0, 1)], [0, 0], 0

    def begin(self):
        return {"show": [show(side, self.words[side]) for side in (0, 1)], "ask": ask((0, 1), "ask", 2)}

    def answer(self, answers):
        self.step += 1
        moves = {each["seat"]: each.get("move", "").split("\\n") for each in answers}
        if self.step == 1:
            return {"show": [show(seat + 2, moves[seat]) for seat in (0, 1)], "ask": ask((2, 3), "ask", 2)}
        if self.step == 2:
            self.scores = [10 * (moves[side + 2] == self.words[side]) for side in (0, 1)]
            told = {"event": "say", "seat": 2, "text": moves[2][0]}
            return {"tell": told, "ask": ask((0, 1), "hurry", 1, limit_ms=600)}
        for side, answer in enumerate(answers):
            self.scores[side] -= 5 * ("fault" in answer)
        return {"over": {"scores": self.scores}}


tables = {}
for line in sys.stdin:
    said = json.loads(line)
    if "open" in said:
        number = said["open"]
        tables[number] = Table(said["seed"])
        assert said["seats"] == 4
        reply = {"table": number, **tables[number].begin()}
    elif "answers" in said:
        reply = {"table": said["table"], **tables[said["table"]].answer(said["answers"])}
    elif "drop" in said:
        continue
    else:
        reply = said
    print(json.dumps(reply), flush=True)
'''

BOT = """\
import sys
import time

assert input().startswith("seat ")
heard = []
for line in sys.stdin:
    word, rest = line.split()
    if word == "told":
        heard.append(rest)
        continue
    if word == "hurry":
        time.sleep({sleep})
    print(*(["nothing"] + heard)[-int(rest):], sep="\\n", flush=True)
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament of two bots after it was played: one of them never hurries."""
    folder = tmp_path_factory.mktemp("whispers")
    (folder / "whispers").mkdir()
    (folder / "whispers" / "game.toml").write_text(GAME)
    (folder / "whispers" / "referee.py").write_text(REFEREE)
    (folder / "bots").mkdir()
    for name, sleep in (("prompt", 0), ("tardy", 5)):
        (folder / "bots" / f"{name}.py").write_text(BOT.format(sleep=sleep))
    (folder / "croupier.toml").write_text(
        'game = "whispers/"\nbots = ["bots/*"]\n\n[limits]\nmove = "10 s"\ncpu = "10 s"\n\n'
        '[[stage]]\nkind = "league"\ntables = 2\n'
    )
    done = croupier("-C", folder, "run")
    assert done.code == 0, done.err
    return folder


def test_partners_hear_what_they_are_shown_and_a_question_has_its_own_limit(played: Path) -> None:
    rows: dict[str, Any] = {row["bot"]: row for row in croupier("-C", played, "standings", "--json").json["rows"]}
    assert {bot: (row["score"], row["faults_by_kind"]) for bot, row in rows.items()} == {
        "prompt": (10, {}),
        "tardy": (5, {"timeout": 2}),  # of 10 s it may take 0.6 s
    }
    verified = croupier("-C", played, "verify")
    assert verified.code == 0 and "every recorded answer gives the recorded score" in verified.out, verified.out


def test_the_questions_of_such_a_table_are_replayed_exported_and_asked_again(played: Path) -> None:
    replay = croupier("-C", played, "replay", "last").out
    assert re.search(r"seat 1 (\w+) · seat 2 (\w+) · seat 3 \1 · seat 4 \2", replay.splitlines()[0])
    events = [json.loads(line) for line in croupier("-C", played, "export", "jsonl", "last").out.splitlines()]
    questions = {(event["n"], event["seat"]): event for event in events if event["ev"] == "ask"}
    answers = {event["n"]: event for event in events if event["ev"] == "answer"}
    words = answers[1]["a"]
    assert [seat for _, seat in questions] == [0, 1, 2, 3, 0, 1]
    assert re.fullmatch(r"w\d+-0\\nend", words) and answers[3]["a"] == words
    assert any("told%20end" in event["q"] for (_, seat), event in questions.items() if seat == 2)
    table = events[0]["table"]
    asked = croupier("-C", played, "ask", events[0]["bots"][2], f"{table}:3", "--same", "--json")
    assert asked.code == 0, asked.err + asked.out
    hurried = next(number for (number, seat) in questions if number > 4 and events[0]["bots"][seat] == "prompt")
    assert "· limit 600" in croupier("-C", played, "ask", "prompt", f"{table}:{hurried}").out
