"""Every figure that a command, a file or a page shows is computed again from the records of the tables, in a second way.

A new figure is a row of FIGURES. Rows of JSON and CSV are compared with all their keys, so a new key fails until it is
counted here. The second way knows the seats, scores and faults of each fixture (records.ndjson), the answers
(answers.ndjson) and the use of time that the journal stores; its formulas are those of docs/rankings.md. The certainties of
a whole stage are computed a second way in test_public_certainty.py, and the ladder's sentences in test_season_ladder.py.
"""

import csv
import html
import io
import json
import math
import re
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import combinations, permutations
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import msgspec
import pytest
from command import croupier
from helpers import SAMPLES, level, long
from model_server import serving as model_serving
from test_public import published
from test_web import serving

from protocols.wire import FaultKind

BOTS = {
    "stands": "while input():\n    print('STAND', flush=True)\n",
    "ends": "while input():\n    print('END', flush=True)\n",
    "draws": "import os, random\nluck = random.Random(os.environ['CROUPIER_SEED'])\nwhile input():\n"
    "    print(luck.choice(['END', 'STAND', 'PLAY 6', 'what']), flush=True)\n",
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


MODEL = """
[models.small]
address = "{address}"
model = "tiny"
prompt_price = 2.0
completion_price = 4.0
"""
GRADED = """
game = "pazaak"
seed = "grades"
[[stage]]
kind = "gauntlet"
references = ["stands"]
tables = 40
practice = true
[stage.grades]
stands = { points = 40, sure = "95 %", at_least = "50 %" }
"""
EVIDENCE = {"code", "why", "cure", "file", "first_fault", "refused_at"}
"""Keys of a grade that quote one fault of a bot; they are no figures."""

Z = NormalDist().inv_cdf(0.975)


class Usage(NamedTuple):
    """What a record says of the time of a bot, field by field as the journal stores it."""

    questions: int
    wall: float
    slowest: float
    cpu: float
    memory: int
    starts: int
    walls: list[int]
    waited: float
    pauses: int
    pondered: float


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
    scored: Counter[tuple[str, str]]
    by_seat: dict[tuple[str, str], list[list[int]]]
    seats: list[dict[str, str]]
    answers: dict[str, list[str]]
    usage: dict[str, list[Usage]]

    def best_first(self) -> list[str]:
        return sorted(BOTS, key=lambda bot: (self.won[bot] / self.tables[bot], self.score[bot]), reverse=True)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the standings. All keys are here: a new one fails until it is counted a second way."""
        rows = list[dict[str, Any]]()
        for rank, bot in enumerate(self.best_first(), 1):
            used, n, rate = self.usage[bot], self.tables[bot], self.won[bot] / self.tables[bot]
            low, high = self.interval(bot, [other for other in BOTS if other != bot])
            rows.append(
                {"rank": rank, "bot": bot, "language": "python", "author": "", "tables": n, "wins": self.won[bot]}
                | {"rate": rate, "score": rate, "low": low, "high": high, "score_low": None, "score_high": None}
                | {
                    "faults": self.faults[bot].total(),
                    "faults_by_kind": dict(self.faults[bot]),
                    "p99": within(used, 0.99),
                }
                | {"cpu_per_decision": sum(each.cpu for each in used) / sum(each.questions for each in used)}
                | {"benched": 0, "note": "", "pauses": sum(each.pauses for each in used)}
                | {"pondered": sum(each.pondered for each in used), "points": self.score[bot], "disqualified": False}
                | {"withdrawn": False, "different": n}
            )
        return rows

    def pairs(self) -> list[dict[str, Any]]:
        """Return the rows of the pairs, by name; all keys are here."""
        rows = list[dict[str, Any]]()
        for bot, other in sorted(self.met):
            n, won, lost = self.met[bot, other], self.against[bot, other], self.against[other, bot]
            low, high = self.interval(bot, [other])
            rows.append(
                {"bot": bot, "against": other, "tables": n, "won": won, "drawn": n - won - lost, "lost": lost}
                | {"rate": won / n, "low": low, "high": high, "sure": self.sure(bot, other), "different": n}
            )
        return rows

    def unit(self) -> tuple[float, float]:
        """Return the variance of a win at a table, S of docs/checking.md, and the covariance of the wins of two bots, T."""
        played = self.tables.total() / 2
        mean, ends = self.won.total() / self.tables.total(), Counter[tuple[int, int]]()
        for (bot, other), n in self.met.items():
            won, lost = self.against[bot, other], self.against[other, bot]
            ends.update({(1, 0): won, (0, 1): lost, (0, 0): n - won - lost})
        own = sum(times * (one - mean) ** 2 for (one, _), times in ends.items()) / ends.total()
        both = sum(times * (one - mean) * (other - mean) for (one, other), times in ends.items()) / ends.total()
        return own * played / (played - 1), both * played / (played - 1)

    def interval(self, bot: str, others: list[str]) -> list[float]:
        """Return Wilson's interval of the tables that a bot has won against some others, as docs/rankings.md says."""
        n, won = (sum(count[bot, other] for other in others) for count in (self.met, self.against))
        variance = sum(
            self.against[bot, other] - self.against[bot, other] ** 2 / self.met[bot, other] + self.unit()[0]
            for other in others
        )
        rate, tables = won / n, won / n * (1 - won / n) * n**2 / variance if 0 < won < n else n
        root = math.sqrt(rate * (1 - rate) / tables + (Z / 2 / tables) ** 2)
        return [(rate + Z**2 / 2 / tables + sign * Z * root) / (1 + Z**2 / tables) for sign in (-1, 1)]

    def sure(self, bot: str, other: str) -> float:
        """Return how sure it is that a bot is better than another, from their tables, as docs/checking.md says."""
        n, won, lost = self.met[bot, other], self.against[bot, other], self.against[other, bot]
        own, both = self.unit()
        common, part = 2 * own - 2 * both, n / (n + 4)
        variance = won + lost - (won - lost) ** 2 / n + common
        error = math.sqrt(variance * part**2 / n**2 + 4 * common / (n + 4) ** 2)
        return student((won - lost) / n * part / error, n - 1)


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
    tables, won, score, against, met, scored = (Counter[Any]() for _ in range(6))
    faults: dict[str, Counter[str]] = {bot: Counter() for bot in BOTS}
    by_seat, rows = dict[tuple[str, str], list[list[int]]](), list[dict[str, str]]()
    for fixture in fixtures:
        for nth, (seats, scores) in enumerate(zip(fixture["seats"], fixture["scores"], strict=True), 1):
            ended = {fixture["bots"][seat]: points for seat, points in zip(seats, scores, strict=True)}
            table = f"{fixture['path'].rpartition('/')[0]}/{nth}"
            for place, (bot, other) in enumerate(permutations(ended)):
                tables[bot] += 1
                score[bot] += ended[bot]
                won[bot] += ended[bot] > ended[other]
                met[bot, other] += 1
                against[bot, other] += ended[bot] > ended[other]
                scored[bot, other] += ended[bot]
                sat = by_seat.setdefault((bot, other), [[0, 0], [0, 0]])[place]
                sat[:] = sat[0] + 1, sat[1] + (ended[bot] > ended[other])
                row = {"stage": "all", "fixture": fixture["path"], "table": table, "seat": place, "bot": bot}
                ends = {"won": int(ended[bot] > ended[other]), "drawn": int(ended[bot] == ended[other])}
                rows.append({key: str(value) for key, value in {**row, "score": ended[bot], **ends}.items()})
        for bot, kinds in fixture["faults"].items():
            faults[bot].update(kinds)
    answers = {
        f"{fixture['path'].rpartition('/')[0]}/{nth}": text.split(",")
        for fixture in fixtures
        for nth, text in enumerate(said[fixture["number"]], 1)
    }
    usage = dict[str, list[Usage]]()
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as journal:
        for number, summary in journal.execute("SELECT fixture, summary FROM record"):
            if number not in aside:
                for bot, used in msgspec.msgpack.decode(summary)[3].items():
                    usage.setdefault(bot, []).append(Usage(*used))
    return Played(cup, len(fixtures), tables, won, score, faults, against, met, scored, by_seat, rows, answers, usage)


def within(used: list[Usage], share: float) -> float:
    """Return the time within which this share of answers came: the upper edge of a bucket, or the slowest if it is less."""
    buckets = [sum(each.walls[nth] for each in used) for nth in range(20)]
    edge = next(nth for nth in range(20) if sum(buckets[: nth + 1]) >= share * sum(buckets))
    return float(min(2**edge / 1e6, max(each.slowest for each in used)))


def student(ratio: float, freedom: int) -> float:
    """Return P(t <= ratio) of Student's t, by Simpson's rule."""
    steps = 2000
    of = [(1 + (ratio * step / steps) ** 2 / freedom) ** (-(freedom + 1) / 2) for step in range(steps + 1)]
    area = ratio / steps / 3 * (of[0] + of[-1] + 4 * sum(of[1:-1:2]) + 2 * sum(of[2:-1:2]))
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    return 0.5 + float(area * math.exp(scale) / math.sqrt(freedom * math.pi))


def as_json(played: Played, *words: str) -> Any:
    done = croupier("-C", played.folder, *words, "--json")
    assert done.code == 0, done.err
    return done.json


def as_rows(played: Played, *words: str) -> list[dict[str, str]]:
    done = croupier("-C", played.folder, *words)
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out)))


def page(played: Played, section: str, until: str) -> str:
    """Return the words of a part of the report."""
    file = played.folder / "figures.html"
    if not file.exists():
        assert croupier("-C", played.folder, "report", "-o", file).code == 0
    text = file.read_text()
    part = text[text.index(f'id="{section}"') : text.index(f'id="{until}"')]
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", part)).replace("\u202f", "")


def typed(rows: list[dict[str, str]], like: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a CSV file with the types of other rows: an empty cell is None where these have no text."""
    return [
        {key: text if isinstance(of.get(key), str) else float(text) if text else None for key, text in row.items()}
        for row, of in zip(rows, like, strict=True)
    ]


def with_kinds(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as CSV has it: with a column for each kind of fault."""
    kinds = row.pop("faults_by_kind")
    return row | {f"faults_{kind}": kinds.get(kind, 0) for kind in FaultKind}


def matrix(played: Played, cell: Callable[[dict[str, Any]], str]) -> list[list[str]]:
    """Return the words of a matrix of the pairs, with these words in each cell."""
    cells, order = {(row["bot"], row["against"]): cell(row) for row in played.pairs()}, played.best_first()
    lines = [" ".join([bot, *(cells.get((bot, other), "·") for other in order)]) for bot in order]
    return [order, *(line.split() for line in lines)]


def share(row: dict[str, Any]) -> str:
    return f"{100 * row['rate']:.1f} ±{50 * (row['high'] - row['low']):.1f}"


def certain(row: dict[str, Any]) -> bool:
    return not 0.015 < row["sure"] < 0.985


def of_pairs(played: Played) -> list[Any]:
    """Return what the page says of each pair, in the order of the standings."""
    order = {bot: place for place, bot in enumerate(sorted(BOTS))}
    found = list[Any]()
    for row in played.pairs():
        if order[row["bot"]] < order[row["against"]]:
            pair = row["bot"], row["against"]
            hands = played.scored[pair], played.scored[pair[::-1]]
            sat = [(*seat, f"{100 * seat[1] / seat[0]:.1f}") for seat in played.by_seat[pair]]
            band = [f"{100 * row[key]:.1f}" for key in ("rate", "low", "high")]
            shown = (*pair, row["won"], row["drawn"], row["lost"], row["tables"], *hands, row["tables"], *band)
            found.append(tuple(map(str, [*shown, *sat[0], *sat[1]])))
    return found


def pairs_page(played: Played) -> list[Any]:
    return re.findall(
        r"Pairs · all (\w+) against (\w+) .*?won, drawn, lost (\d+) · (\d+) · (\d+) of (\d+) games hands won (\d+) : (\d+) "
        r".*?after (\d+) games ([\d.]+) %, true value between ([\d.]+) and ([\d.]+) %\. "
        r"By seat \w+ sat tables won rate first (\d+) (\d+) ([\d.]+) % second (\d+) (\d+) ([\d.]+) %",
        page(played, "pair-0-1-2", "bot-1"),
    )


def standings_text(played: Played) -> Any:
    lines = [line.split() for line in croupier("-C", played.folder, "standings").out.splitlines()]
    return [(*words[:2], words[3], words[4], *words[6:9]) for words in lines if words[1:2] and words[1] in BOTS]


def standings_page(played: Played) -> Any:
    words = page(played, "standings", "bots")
    return re.findall(r" (\d) (\w+) ([\d.]+) % ([\d.]+) (\d+) (\d+) (\d+) python (\d+) ", words)


def shares(played: Played, *keys: str) -> list[tuple[str, ...]]:
    """Return the named parts of each row of the standings as people read them."""
    of = {
        "rate": lambda row: f"{100 * row['rate']:.2f}",
        "margin": lambda row: f"{50 * (row['high'] - row['low']):.2f}",
    }
    return [tuple(of[key](row) if key in of else str(row[key]) for key in keys) for row in played.rows()]


def in_words(sure: float) -> str:
    shown = f"{math.floor(1000 * sure) / 10:.1f}" if sure >= 0.95 else str(math.floor(100 * sure))
    return ">99.9" if sure > 0.999 else shown


def neighbours(played: Played) -> list[tuple[list[str], float]]:
    """Return how sure the order of neighbours is, as certainty.json says; test_public_certainty.py computes it."""
    file = played.folder / "public" / "certainty.json"
    return [(each["bots"], each["sure"]) for each in json.loads(file.read_text())["all"]["sure"]]


def sentences(played: Played) -> list[str]:
    return [
        f"{bots[0]} ahead of {bots[-1]}: {in_words(sure)} % sure" + ", 98.5 % needed" * (sure < 0.985)
        for bots, sure in neighbours(played)
    ]


def unplayed(played: Played) -> Path:
    """Return a copy of the tournament in which nothing has been played."""
    folder = played.folder / "unplayed"
    if not folder.exists():
        shutil.copytree(played.folder / "bots", folder / "bots")
        shutil.copy(played.folder / "croupier.toml", folder)
    return folder


def dry_run(played: Played) -> Any:
    rows = as_json(played._replace(folder=unplayed(played)), "run", "--dry-run")["rows"]
    for row in rows:
        row["meetings"] = sorted((each | {"bots": tuple(sorted(each["bots"]))} for each in row["meetings"]), key=str)
    return rows


def advice(played: Played) -> list[dict[str, Any]]:
    """Return the tables after which each order is certain: the z-score grows with their root; two digits, rounded up."""
    found = []
    for bots, sure in neighbours(played):
        if sure < 0.985:
            due = math.ceil(8 * (NormalDist().inv_cdf(0.985) / NormalDist().inv_cdf(sure)) ** 2)
            step = 10 ** max(0, len(str(due)) - 2)
            due = -(-due // step) * step
            found.append({"bots": bots, "sure": sure, "needed": due, "played": 8, "unit": "tables_per_pair"})
    return found


def in_order(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(rows, key=lambda row: (row["table"], row["seat"]))


class Rounded(float):
    """A number with two or three digits, as people read it."""


TIME = "[\\d.]+ (?:µs|ms|s)"


def as_number(text: str) -> float:
    amount, _, unit = (text or "0").partition(" ")
    return Rounded(float(amount) * {"µs": 1e-6, "ms": 1e-3}.get(unit, 1))


def events(played: Played) -> Any:
    lines = [json.loads(line) for line in croupier("-C", played.folder, "export", "jsonl").out.splitlines()]
    return sum(each["ev"] == "table.start" for each in lines)


def served(played: Played) -> Any:
    """Return the standings and the pairs that the live page serves, and the standings of each bot."""
    with serving(played.folder / "run" / "run.sqlite") as server:
        found: list[Any] = [server.json(f"/api/{name}.json") for name in ("standings", "pairs", "bots", "run")]
    standings, pairs, bots, run = found
    rows = sorted((row[1] for bot in bots["rows"] for row in bot["rows"]), key=lambda row: row["rank"])
    return [standings["stages"][0]["rows"], pairs["stages"][0]["rows"], rows, run["fixtures"]]


def bot_pages(played: Played) -> list[Any]:
    """Return the figures on the page of each bot: its use of time and memory, and how long its answers took."""
    found = []
    for number, bot in enumerate(sorted(BOTS), 1):
        words = page(played, f"bot-{number}", f"bot-{number + 1}" if number < len(BOTS) else "faults")
        use = re.findall(
            rf"lines {bot} all #(\d) .* Decisions (\d+) CPU a decision ({TIME}) Slowest ({TIME}) Memory ([\d.]+) MiB "
            rf"Processes (\d+) (?:Waited for a processor ({TIME}) )?"
            rf"(?:Stopped off turn (\d+) times(?:, ({TIME}) computed each time)? )?.*"
            rf"now (\d) of .*50 of 100 answers took less than ({TIME}); 99 of 100 answers took less than ({TIME}); "
            rf"the slowest ({TIME}),",
            words,
        )
        bars = [int(count) for count in re.findall(r" (\d+) answers from ", words)]
        found.append([bot, *map(as_number, use[0]), bars])
    return found


def bots_counted(played: Played) -> list[Any]:
    found = []
    for bot in sorted(BOTS):
        used, rank = played.usage[bot], 1 + played.best_first().index(bot)
        (questions, cpu, waited, pauses, pondered), starts = (
            (sum(getattr(each, key) for each in used) for key in ("questions", "cpu", "waited", "pauses", "pondered")),
            sum(each.starts for each in used),
        )
        slowest, memory = max(each.slowest for each in used), max(each.memory for each in used) / 2**20
        bars = [count for nth in range(20) if (count := sum(each.walls[nth] for each in used))]
        line = [
            rank,
            questions,
            cpu / questions,
            slowest,
            memory,
            starts,
            waited,
            pauses,
            pondered / max(1, pauses),
            rank,
        ]
        found.append([bot, *line, within(used, 0.5), within(used, 0.99), slowest, bars])
    return found


def opponents(played: Played) -> list[Any]:
    """Return the rows about opponents on the pages of bots: tables won, drawn and lost, and which bot is better."""
    found = []
    for number, bot in enumerate(sorted(BOTS), 1):
        words = page(played, f"bot-{number}", f"bot-{number + 1}" if number < len(BOTS) else "faults")
        rows = re.findall(
            r"(\w+) (?:[\d.]+ % [\d.]+|not known yet –) (\d+) (\d+) (\d+) ([\w ]+): ([\d.]+) % sure", words
        )
        for other, won, drawn, lost, better, _ in rows:
            found.append((bot, other, won, drawn, lost, bot if better == "this bot" else better))
    return found


def results(journal: Path) -> dict[str, list[int]]:
    """Return for each bot the sums of its tables, wins and scores in a journal."""
    found = dict[str, list[int]]()
    with closing(sqlite3.connect(journal)) as database:
        for (summary,) in database.execute("SELECT summary FROM record"):
            for bot, (tables, wins, score, *_) in msgspec.msgpack.decode(summary)[1].items():
                found[bot] = [
                    had + more for had, more in zip(found.get(bot, [0, 0, 0]), (tables, wins, score), strict=True)
                ]
    return found


def compared(played: Played) -> Any:
    done = croupier("-C", unplayed(played), "compare", "draws", "stands", "--games", "20", "--json").json
    keys = ("tables", "deals", "won", "drawn", "lost")
    return [*(done[key] for key in keys), Rounded(done["lead"]["mean"]), Rounded(done["elo"]["points"])]


def compared_again(played: Played) -> list[Any]:
    (tables, won, score), (_, lost, theirs) = map(
        results(unplayed(played) / "run" / "play.sqlite").__getitem__, ("draws", "stands")
    )
    drawn = tables - won - lost
    elo = 400 * math.log10((won + drawn / 2) / (lost + drawn / 2))
    return [tables, tables // 2, won, drawn, lost, (score - theirs) / tables, elo]


def adhoc(played: Played) -> Any:
    done = croupier("-C", unplayed(played), "play", "draws", "ends", "stands", "-n", "4", "--json").json
    keys = ("tables", "wins", "rate", "points")
    return [done["tables"], sorted([row["bot"], *(row[key] for key in keys)] for row in done["rows"])]


def adhoc_again(played: Played) -> list[Any]:
    found = results(unplayed(played) / "run" / "play.sqlite")
    rows = [[bot, tables, wins, wins / tables, score] for bot, (tables, wins, score) in found.items()]
    return [sum(tables for tables, _, _ in found.values()) // 2, sorted(rows)]


def graded(played: Played) -> Path:
    """Return the folder of a gauntlet with grades."""
    folder = played.folder / "graded"
    if not folder.exists():
        shutil.copytree(played.folder / "bots", folder / "bots")
        (folder / "croupier.toml").write_text(GRADED)
        assert croupier("-C", folder, "run").code == 0
    return folder


def grades(played: Played) -> Any:
    rows = as_json(played._replace(folder=graded(played)), "grades")["rows"]
    return [{key: value for key, value in row.items() if key not in EVIDENCE} for row in rows]


def grades_again(played: Played) -> list[dict[str, Any]]:
    """Return the grades as docs/grading.md says: one minus the probability that a bot as good wins as many tables."""
    with closing(sqlite3.connect(graded(played) / "run" / "run.sqlite")) as journal:
        records = [msgspec.msgpack.decode(summary) for (summary,) in journal.execute("SELECT summary FROM record")]
    rows = list[dict[str, Any]]()
    for _, found, faults, *_ in sorted(records, key=lambda record: str(record[0])):
        (bot,) = found.keys() - {"stands"}
        tables, won, lost = found[bot][0], found[bot][1], found["stands"][1]
        sure = 1 - at_least(won, won + lost)
        least = next(wins for wins in range(tables) if 1 - at_least(wins, tables) >= 0.95)
        mark = {"reference": "stands", "tables": tables, "share": won / (won + lost), "sure": sure}
        mark |= {"beaten": sure >= 0.95, "points": 40 * (sure >= 0.95), "most": 40, "needed": least / tables}
        mark |= {"planned": tables, "different": tables, "scores": None, "goal": None}
        row = {"bot": bot, "author": "", "status": "graded", "points": mark["points"], "most": 40}
        rows.append(row | {"faults": sum(faults.get(bot, {}).values()), "benched": 0, "marks": [mark]})
    return rows


def rounded_down(sure: float) -> str:
    return f"{math.floor(10_000 * sure) / 100:.2f}"


def at_least(wins: int, tables: int) -> float:
    """Return the probability of at least this many wins if each table is won with a probability of one half."""
    return sum(math.comb(tables, each) for each in range(wins, tables + 1)) / 2**tables


def with_models(played: Played) -> Path:
    """Return the folder of a tournament in which two bots ask a model."""
    folder = played.folder / "models"
    if not level().traits.own_namespaces:
        pytest.skip("models need a sandbox with namespaces")
    if not folder.exists():
        asker = SAMPLES / "models" / "asker"
        with model_serving() as server:
            for name in ("asker", "other"):
                spec = shutil.copytree(asker, folder / "bots" / name) / "bot.toml"
                spec.write_text(spec.read_text().replace('"asker"', f'"{name}"'))
            (folder / "bots" / "ends.py").write_text(BOTS["ends"])
            (folder / "croupier.toml").write_text(CONFIG + MODEL.format(address=server.address))
            assert croupier("-C", folder, "run").code == 0
    return folder


def model_costs(played: Played) -> Any:
    rows = as_json(played._replace(folder=with_models(played)), "standings")["rows"]
    return {row["bot"]: {key: value for key, value in row.items() if "per_table" in key} for row in rows}


def model_costs_again(played: Played) -> Any:
    """Return the costs at a table: each bot has two fixtures of eight tables, so Student's t has one degree of freedom."""
    journal, totals = with_models(played) / "run" / "run.sqlite", dict[str, dict[str, list[float]]]()
    with closing(sqlite3.connect(journal)) as database:
        records = [msgspec.msgpack.decode(summary) for (summary,) in database.execute("SELECT summary FROM record")]
    for record in records:
        for bot in record[1]:
            for calls, prompt, completion, money in [*record[-1].get(bot, {}).values()] or [(0, 0, 0, 0.0)]:
                assert money == pytest.approx((2 * prompt + 4 * completion) / 1e6)
                for key, total in {"calls": calls, "tokens": prompt + completion, "money": money}.items():
                    totals.setdefault(bot, {}).setdefault(f"{key}_per_table", []).append(total / 8)
    found = dict[str, dict[str, float | None]]()
    for bot, figures in totals.items():
        for key, (one, other) in figures.items():
            mean, half = (one + other) / 2, math.tan(0.475 * math.pi) * abs(one - other) / 2
            ends = (max(0.0, mean - half), mean + half) if half else (None, None)
            found.setdefault(bot, {}).update({key: mean, f"{key}_low": ends[0], f"{key}_high": ends[1]})
    return found


FIGURES: dict[str, tuple[Callable[[Played], Any], Callable[[Played], Any]]] = {
    "standings --json": (lambda played: as_json(played, "standings")["rows"], Played.rows),
    "standings --csv": (
        lambda played: typed(as_rows(played, "standings", "--csv"), Played.rows(played)),
        lambda played: [*map(with_kinds, played.rows())],
    ),
    "standings": (
        standings_text,
        lambda played: shares(played, "rank", "bot", "wins", "rate", "margin", "points", "faults"),
    ),
    "standings --by pair --json": (lambda played: as_json(played, "standings", "--by", "pair")["rows"], Played.pairs),
    "standings --by pair --csv": (
        lambda played: typed(as_rows(played, "standings", "--by", "pair", "--csv"), played.pairs()),
        Played.pairs,
    ),
    "standings --by pair": (
        lambda played: [
            line.split() for line in croupier("-C", played.folder, "standings", "--by", "pair").out.splitlines()[:4]
        ],
        lambda played: matrix(played, lambda row: share(row) + " *" * (not certain(row))),
    ),
    "standings --overall --json": (
        lambda played: as_json(played, "standings", "--overall")["rows"],
        lambda played: [
            {key: row[key] for key in ("rank", "bot", "language", "author", "tables", "faults")}
            | {"stage": "all", "place": row["rank"]}
            for row in played.rows()
        ],
    ),
    "fixtures of standings --json": (
        lambda played: as_json(played, "standings")["fixtures"],
        lambda played: played.fixtures,
    ),
    "sentences of standings --json": (lambda played: as_json(played, "standings")["sure"], sentences),
    "models of standings --json": (model_costs, model_costs_again),
    "advice of standings --json": (lambda played: as_json(played, "standings")["advice"], advice),
    "status": (
        lambda played: re.findall(r"(\d) +(\w+) +([\d.]+) % ", croupier("-C", played.folder, "status").out),
        lambda played: shares(played, "rank", "bot", "rate"),
    ),
    "status --json": (
        lambda played: [[row["fixtures"], row["known"]] for row in as_json(played, "status")["rows"]],
        lambda played: [[played.fixtures, played.fixtures]],
    ),
    "faults --json": (
        lambda played: {(row["bot"], row["kind"]): row["count"] for row in as_json(played, "faults")["rows"]},
        lambda played: {(bot, kind): n for bot, kinds in played.faults.items() for kind, n in kinds.items()},
    ),
    "export csv": (lambda played: in_order(as_rows(played, "export", "csv")), lambda played: in_order(played.seats)),
    "export decisions": (
        lambda played: Counter(
            (row["table"], row["number"], re.sub(r"\((.*)\)", r"!\1", row["answer"]))
            for row in as_rows(played, "export", "decisions")
        ),
        lambda played: Counter(
            (table, str(number), answer)
            for table, answers in played.answers.items()
            for number, answer in enumerate(answers, 1)
        ),
    ),
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
        lambda played: [(row["bot"], f"{100 * row['rate']:.1f}") for row in played.rows()[:1]],
    ),
    "page: standings": (
        standings_page,
        lambda played: shares(played, "rank", "bot", "rate", "margin", "wins", "tables", "points", "faults"),
    ),
    "page: bots": (
        lambda played: re.findall(r" (\d+) faults ", page(played, "bots", "pairs")),
        lambda played: [str(kinds.total()) for kinds in played.faults.values() if kinds],
    ),
    "page: pairs": (pairs_page, of_pairs),
    "page: matrix": (
        lambda played: re.findall(r" on the left (.*?) Each figure", page(played, "pairs", "pair-0-1-2"))[0].split(),
        lambda played: [
            word
            for line in matrix(
                played,
                lambda row: (
                    share(row)
                    if certain(row) or row["high"] - row["low"] <= 0.4
                    else f"{row['won']} : {row['lost']} not known yet"
                ),
            )
            for word in line
        ],
    ),
    "page: each bot": (bot_pages, bots_counted),
    "page: opponents": (
        lambda played: sorted(opponents(played)),
        lambda played: sorted(
            (row["bot"], row["against"], *(str(row[key]) for key in ("won", "drawn", "lost")), better)
            for row in played.pairs()
            for better in [row["bot"] if row["sure"] >= 0.5 else row["against"]]
        ),
    ),
    "live page": (
        served,
        lambda played: [
            played.rows(),
            played.pairs(),
            [row | {"kind": "round-robin", "mirror": False, "score": row["points"]} for row in played.rows()],
            played.fixtures,
        ],
    ),
    "compare --json": (compared, compared_again),
    "play --json": (adhoc, adhoc_again),
    "grades --json": (grades, grades_again),
    "grades --csv": (
        lambda played: [
            [row[key] for key in ("bot", "points", "stands percent", "stands sure", "stands tables")]
            for row in as_rows(played._replace(folder=graded(played)), "grades", "--csv")
        ],
        lambda played: [
            [row["bot"], f"{row['points']:.2f}", f"{100 * mark['share']:.2f}", rounded_down(mark["sure"]), "40"]
            for row in grades_again(played)
            for mark in row["marks"]
        ],
    ),
    "run --dry-run --json": (
        dry_run,
        lambda played: [
            {"stage": "all", "kind": "round-robin", "bots": len(BOTS), "bounds": "exactly", "about": ""}
            | {"fixtures": played.fixtures, "tables": played.tables.total() // 2}
            | {"meetings": [{"bots": bots, "fixtures": 1, "tables": 8} for bots in combinations(sorted(BOTS), 2)]}
        ],
    ),
}


LONG = ("models of standings --json", "compare --json", "run --dry-run --json")
"""Figures for which a tournament or a comparison of its own is played."""


@pytest.mark.long
@pytest.mark.parametrize("what", [long(what) if what in LONG else what for what in FIGURES])
def test_a_figure_is_what_the_records_say(what: str, played: Played) -> None:
    shown, counted = FIGURES[what]
    assert_close(shown(played), counted(played), what)


def assert_close(shown: Any, counted: Any, what: str) -> None:
    """Check that two values are equal, and that each has what the other has. Numbers may differ as far as they are rounded."""
    if isinstance(counted, dict):
        assert shown.keys() == counted.keys(), f"{what}: no second way, or not shown"
        for key, value in counted.items():
            assert_close(shown[key], value, f"{what}, {key}")
    elif isinstance(counted, list):
        assert len(shown) == len(counted), what
        for one, other in zip(shown, counted, strict=True):
            assert_close(one, other, what)
    else:
        rounded = 0.06 if isinstance(shown, Rounded) else 1e-9
        assert shown == (pytest.approx(counted, rel=rounded) if isinstance(counted, float) else counted), what


@pytest.mark.long
def test_the_command_on_the_page_prints_the_hash_of_the_seed(played: Played) -> None:
    page(played, "result", "standings")
    (command,) = re.findall(r"see for yourself:</p><pre[^>]*>(.*?)</pre>", (played.folder / "figures.html").read_text())
    done = subprocess.run(["/bin/sh", "-c", html.unescape(command)], capture_output=True, text=True, check=True)
    sealed = (played.folder / "public" / "seed.txt").read_text().split()[1]
    assert done.stdout.split()[0] == sealed
