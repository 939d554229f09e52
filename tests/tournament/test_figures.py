"""Every count that a command, a file or a page shows is recounted from the sealed records of the tables, row by row.

The second way knows the seats, scores and faults of each fixture (records.ndjson) and the number of answers (answers.ndjson).
Certainties are computed a second way in test_public_certainty.py, and the ladder's sentences in test_season_ladder.py.
"""

import csv
import html
import io
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command import croupier
from test_public import published

BOTS = {
    "stands": "while input():\n    print('STAND', flush=True)\n",
    "ends": "while input():\n    print('END', flush=True)\n",
    "draws": "import os, random\nluck = random.Random(os.environ['CROUPIER_SEED'])\nwhile input():\n"
    "    print(luck.choice(['END', 'STAND', 'PLAY 9', 'what']), flush=True)\n",
}
CONFIG = """
game = "pazaak"
seed = "figures"
[[stage]]
name = "all"
kind = "round-robin"
tables_per_pair = 8
practice = true
"""


class Played(NamedTuple):
    """What the records say: by bot the tables, wins, scores and faults; of each two bots the tables that the first has won."""

    folder: Path
    fixtures: int
    tables: Counter[str]
    won: Counter[str]
    score: Counter[str]
    faults: dict[str, Counter[str]]
    against: Counter[tuple[str, str]]
    met: Counter[tuple[str, str]]
    answers: int

    def standings(self) -> dict[str, list[Any]]:
        return {
            bot: [
                n,
                self.won[bot],
                self.won[bot] / n,
                self.score[bot],
                self.faults[bot].total(),
                dict(self.faults[bot]),
            ]
            for bot, n in self.tables.items()
        }


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play a tournament with faults and a fixture that is played again, and count what its records say."""
    cup = tmp_path_factory.mktemp("figures")
    for name, text in {"croupier.toml": CONFIG, **{f"bots/{bot}.py": text for bot, text in BOTS.items()}}.items():
        (cup / name).parent.mkdir(exist_ok=True)
        (cup / name).write_text(text)
    assert croupier("-C", cup, "run").code == 0
    assert croupier("-C", cup, "redo", "all/draws+stands/1", "--reason", "a test").code == 0
    assert croupier("-C", cup, "run").code == 0
    folder = published(cup / "run" / "run.sqlite", cup / "public")
    lines = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    aside = {number for line in lines for number in line.get("change", {}).get("set_aside", ())}
    said = {
        one["number"]: one["answers"] for one in map(json.loads, (folder / "answers.ndjson").read_text().splitlines())
    }
    fixtures = [line["fixture"] for line in lines if line.get("fixture", {}).get("number", 0) not in {0, *aside}]
    assert len(aside) == 1 and len(fixtures) == 3
    tables, won, score, against, met = (Counter[Any]() for _ in range(5))
    faults: dict[str, Counter[str]] = {bot: Counter() for bot in BOTS}
    for fixture in fixtures:
        for seats, scores in zip(fixture["seats"], fixture["scores"], strict=True):
            ended = {fixture["bots"][seat]: points for seat, points in zip(seats, scores, strict=True)}
            for bot, other in permutations(ended):
                tables[bot] += 1
                score[bot] += ended[bot]
                won[bot] += ended[bot] > ended[other]
                met[bot, other] += 1
                against[bot, other] += ended[bot] > ended[other]
        for bot, kinds in fixture["faults"].items():
            faults[bot].update(kinds)
    answers = sum(text.count(",") + 1 for fixture in fixtures for text in said[fixture["number"]])
    return Played(cup, len(fixtures), tables, won, score, faults, against, met, answers)


def as_json(played: Played, *words: str) -> Any:
    done = croupier("-C", played.folder, *words, "--json")
    assert done.code == 0, done.err
    return done.json


def as_rows(played: Played, *words: str) -> list[dict[str, str]]:
    done = croupier("-C", played.folder, *words)
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out)))


def number(text: str) -> float:
    return float(text or 0)


def page(played: Played, section: str, until: str) -> str:
    """Return the words of a part of the report."""
    file = played.folder / "figures.html"
    if not file.exists():
        assert croupier("-C", played.folder, "report", "-o", file).code == 0
    text = file.read_text()
    part = text[text.index(f'id="{section}"') : text.index(f'id="{until}"')]
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", part)).replace("\u202f", "")


def standings_json(played: Played) -> Any:
    keys = ("tables", "wins", "rate", "points", "faults", "faults_by_kind")
    return {row["bot"]: [row[key] for key in keys] for row in as_json(played, "standings")["rows"]}


def standings_csv(played: Played) -> Any:
    kinds = [f"faults_{kind}" for kind in ("unreadable", "illegal")]
    return {
        row["bot"]: [
            *(number(row[key]) for key in ("tables", "wins", "rate", "points", "faults")),
            {kind.partition("_")[2]: int(row[kind]) for kind in kinds if row[kind] != "0"},
        ]
        for row in as_rows(played, "standings", "--csv")
    }


def standings_text(played: Played) -> Any:
    lines = [line.split() for line in croupier("-C", played.folder, "standings").out.splitlines()]
    return {words[1]: [words[3], words[4], words[7], words[8]] for words in lines if words[1:2] and words[1] in BOTS}


def standings_page(played: Played) -> Any:
    words = page(played, "standings", "bots")
    found = {bot: re.search(rf" \d {bot} ([\d.]+) % [\d.]+ (\d+) (\d+) (\d+) python (\d+)", words) for bot in BOTS}
    return {bot: list(match.groups()) if match else None for bot, match in found.items()}


def pairs_json(played: Played) -> Any:
    rows = as_json(played, "standings", "--by", "pair")["rows"]
    keys = ("tables", "won", "drawn", "lost", "rate")
    return {(row["bot"], row["against"]): [row[key] for key in keys] for row in rows}


def pairs(played: Played) -> Any:
    def result(bot: str, other: str) -> list[float]:
        n, won, lost = played.met[bot, other], played.against[bot, other], played.against[other, bot]
        return [n, won, n - won - lost, lost, won / n]

    shown = as_json(played, "standings", "--by", "pair")["rows"]
    assert {frozenset((row["bot"], row["against"])) for row in shown} == {frozenset(pair) for pair in played.met}
    return {(row["bot"], row["against"]): result(row["bot"], row["against"]) for row in shown}


def seats_csv(played: Played) -> Any:
    rows = as_rows(played, "export", "csv")
    sums: dict[str, list[float]] = {bot: [0, 0, 0] for bot in BOTS}
    for row in rows:
        sums[row["bot"]] = [
            had + number(row[key]) for had, key in zip(sums[row["bot"]], ("score", "won", "drawn"), strict=True)
        ]
    return sums, Counter(row["bot"] for row in rows)


def drawn(played: Played, bot: str) -> int:
    return sum(
        n - played.against[one, two] - played.against[two, one] for (one, two), n in played.met.items() if one == bot
    )


def events(played: Played) -> Any:
    lines = [json.loads(line) for line in croupier("-C", played.folder, "export", "jsonl").out.splitlines()]
    return sum(each["ev"] == "table.start" for each in lines)


FIGURES: dict[str, tuple[Callable[[Played], Any], Callable[[Played], Any]]] = {
    "standings --json": (standings_json, Played.standings),
    "standings --csv": (standings_csv, Played.standings),
    "standings": (
        standings_text,
        lambda played: {
            bot: [str(won), f"{100 * rate:.2f}", str(score), str(faults)]
            for bot, (_, won, rate, score, faults, _) in played.standings().items()
        },
    ),
    "standings --by pair --json": (pairs_json, pairs),
    "standings --overall --json": (
        lambda played: {
            row["bot"]: [row["tables"], row["faults"]] for row in as_json(played, "standings", "--overall")["rows"]
        },
        lambda played: {bot: [n, played.faults[bot].total()] for bot, n in played.tables.items()},
    ),
    "fixtures of standings --json": (
        lambda played: as_json(played, "standings")["fixtures"],
        lambda played: played.fixtures,
    ),
    "status --json": (
        lambda played: [[row["fixtures"], row["known"]] for row in as_json(played, "status")["rows"]],
        lambda played: [[played.fixtures, played.fixtures]],
    ),
    "faults --json": (
        lambda played: {(row["bot"], row["kind"]): row["count"] for row in as_json(played, "faults")["rows"]},
        lambda played: {(bot, kind): n for bot, kinds in played.faults.items() for kind, n in kinds.items()},
    ),
    "export csv": (
        seats_csv,
        lambda played: ({bot: [played.score[bot], played.won[bot], drawn(played, bot)] for bot in BOTS}, played.tables),
    ),
    "export decisions": (lambda played: len(as_rows(played, "export", "decisions")), lambda played: played.answers),
    "illegal of export decisions": (
        lambda played: Counter(row["bot"] for row in as_rows(played, "export", "decisions") if row["illegal"] == "1"),
        lambda played: Counter({bot: kinds["illegal"] for bot, kinds in played.faults.items() if kinds["illegal"]}),
    ),
    "export jsonl": (events, lambda played: played.tables.total() // 2),
    "page: facts": (
        lambda played: re.findall(r" Bots (\d+) all (\d+) tables Faults (\d+) ", page(played, "result", "standings")),
        lambda played: [
            (str(len(BOTS)), str(played.tables.total() // 2), str(sum(map(Counter.total, played.faults.values()))))
        ],
    ),
    "page: sentence": (
        lambda played: re.findall(r"(\w+) wins Simple Pazaak with ([\d.]+) %", page(played, "result", "standings")),
        lambda played: [
            (bot, f"{100 * rate:.1f}") for rate, bot in [max((r[2], bot) for bot, r in played.standings().items())]
        ],
    ),
    "page: standings": (
        standings_page,
        lambda played: {
            bot: [f"{100 * rate:.2f}", str(won), str(n), str(score), str(faults)]
            for bot, (n, won, rate, score, faults, _) in played.standings().items()
        },
    ),
    "page: bots": (
        lambda played: re.findall(r" (\d+) faults ", page(played, "bots", "about")),
        lambda played: [str(kinds.total()) for kinds in played.faults.values() if kinds],
    ),
}


@pytest.mark.parametrize("what", FIGURES)
def test_a_figure_is_what_the_records_say(what: str, played: Played) -> None:
    shown, counted = FIGURES[what]
    assert shown(played) == counted(played)


def test_the_command_on_the_page_prints_the_hash_of_the_seed(played: Played) -> None:
    page(played, "result", "standings")
    (command,) = re.findall(r"see for yourself:</p><pre[^>]*>(.*?)</pre>", (played.folder / "figures.html").read_text())
    done = subprocess.run(["/bin/sh", "-c", html.unescape(command)], capture_output=True, text=True, check=True)
    sealed = (played.folder / "public" / "seed.txt").read_text().split()[1]
    assert done.stdout.split()[0] == sealed
