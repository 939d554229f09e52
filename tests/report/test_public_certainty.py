"""Certainties follow from the public folder: its sums are those of its records, and a program in another language agrees."""

import json
import random
import shutil
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from command import croupier
from test_certainty import ALWAYS, DRAWN, WITHOUT_CHANCE, tournament
from test_public import published

from host.rating.evidence import Evidence, Meeting

NODE = shutil.which("node")
BOTS = {
    "pazaak": "import os, random\nluck = random.Random(os.environ['CROUPIER_SEED'])\nwhile input():\n"
    "    print('STAND' if luck.random() < {share} else 'END', flush=True)\n",
    "cardshark": "import os, random, sys\nluck = random.Random(os.environ['CROUPIER_SEED'])\nfor line in sys.stdin:\n"
    "    print('H' if luck.random() < {share} else 'S', flush=True)\n",
}
STAGES = {
    "win_rate": ("pazaak", 'kind = "round-robin"\ntables_per_pair = 20'),
    "elo": ("pazaak", 'kind = "round-robin"\ntables_per_pair = 20\nmirror = true\nrank_by = ["elo"]'),
    "score": ("cardshark", 'kind = "league"\ntables = 15\nrank_by = ["score"]'),
    "mirror": ("pazaak", 'kind = "round-robin"\ntables_per_pair = 20\nmirror = true\nrank_by = ["total_score"]'),
    "tourneys": ("cardshark", 'kind = "mixed-tables"\ntourneys = 12\nrounds = 4\nrank_by = ["score"]'),
}
IN_DEFAULT = ("win_rate",)


@pytest.fixture(
    scope="module",
    params=[each if each in IN_DEFAULT else pytest.param(each, marks=pytest.mark.long) for each in STAGES],
)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the public folder of a tournament whose only stage is called "all"."""
    cup, (game, keys) = tmp_path_factory.mktemp(request.param), STAGES[request.param]
    for number in range(4):
        bot = cup / "bots" / f"b{number}"
        bot.mkdir(parents=True)
        (bot / "bot.py").write_text(BOTS[game].format(share=0.3 + 0.05 * number))
        (bot / "bot.toml").write_text('protocol = "lines"\n')  # one process for all questions
    rules = '[rules]\npreset = "thread"\nseats = 3\n' if game == "cardshark" else ""
    stage = f'[[stage]]\nname = "all"\npractice = true\n{keys}\n'
    (cup / "croupier.toml").write_text(f'game = "{game}"\nseed = "certain"\n{rules}{stage}')
    assert croupier("-C", cup, "run").code == 0
    return published(cup / "run" / "run.sqlite", cup / "public")


def certainty(folder: Path) -> Any:
    return json.loads((folder / "certainty.json").read_text())["all"]


needs_node = pytest.mark.skipif(not NODE, reason="node is not installed: no other language computes the certainties")


def by_node(file: Path) -> list[float]:
    """Return the certainties of the stage "all" that the program in JavaScript computes."""
    command = [NODE or "", str(Path(__file__).with_name("certainty.js")), str(file), "all"]
    return [*map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())]


@pytest.mark.long
@needs_node
def test_another_language_gets_every_certainty_to_four_digits(folder: Path) -> None:
    printed = [each["sure"] for each in certainty(folder)["sure"]]
    assert printed and by_node(folder / "certainty.json") == pytest.approx(printed, abs=5e-5)


@needs_node
def test_it_does_so_where_tables_repeat_others_and_fixtures_differ(tmp_path: Path) -> None:
    draw = random.Random(1)
    meetings, bots = list[Meeting](), "abc"
    for pair in ("ab", "ac", "bc"):
        fixtures = [[draw.gauss(shift, 1) for _ in range(20)] for shift in (draw.gauss(0.3, 1) for _ in range(5))]
        scores = [score for fixture in fixtures for score in fixture]
        square, between = sum(score**2 for score in scores), sum(2 * sum(fixture) ** 2 / 20 for fixture in fixtures)
        products, totals = ((square, -square), (-square, square)), (sum(scores), -sum(scores))
        meetings.append(Meeting(tuple(pair), 100, 100, totals, products, fixtures=5, between=between, repeats=1.6))
    evidence = Evidence(meetings)
    assert evidence.effect.factor > 3
    sure = [{"bots": [one, other], "sure": evidence.sure_ahead(one, other)} for one, other in combinations(bots, 2)]
    stage = {"ranked_by": "score", "shared": False, "meetings": [each._asdict() for each in meetings], "sure": sure}
    (tmp_path / "certainty.json").write_text(json.dumps({"all": stage}))
    assert by_node(tmp_path / "certainty.json") == pytest.approx([each["sure"] for each in sure], abs=5e-5)


@pytest.mark.long
@needs_node
def test_repeats_follow_from_the_answers_of_a_game_without_chance(tmp_path: Path) -> None:
    bots = {"paper": ALWAYS.format(answer=1), "rock": ALWAYS.format(answer=0), "draws": DRAWN.format(numbers=[0, 1, 2])}
    tournament(tmp_path, WITHOUT_CHANCE, bots, 'name = "all"\ntables_per_pair = 40')
    folder = published(tmp_path / "run" / "run.sqlite", tmp_path / "public")
    lines = [json.loads(line) for line in (folder / "answers.ndjson").read_text().splitlines()]
    answers = {line["number"]: line["answers"] for line in lines}
    played = dict[tuple[str, ...], dict[tuple[str, ...], list[str]]]()
    for line in map(json.loads, (folder / "records.ndjson").read_text().splitlines()):
        if fixture := line.get("fixture"):
            orders = played.setdefault(tuple(sorted(fixture["bots"])), {})
            for seats, text in zip(fixture["seats"], answers[fixture["number"]], strict=True):
                orders.setdefault(tuple(fixture["bots"][seat] for seat in seats), []).append(text)
    found = {
        bots: sum(len(texts) ** 2 if len({*texts}) == 1 else len(texts) for texts in orders.values()) / 40
        for bots, orders in played.items()
    }
    assert {tuple(each["bots"]): each["repeats"] for each in certainty(folder)["meetings"]} == found
    assert found == {("draws", "paper"): 1, ("draws", "rock"): 1, ("paper", "rock"): 20}
    printed = [each["sure"] for each in certainty(folder)["sure"]]
    assert printed and by_node(folder / "certainty.json") == pytest.approx(printed, abs=5e-5)


def test_the_sums_are_those_of_the_records(folder: Path) -> None:
    found, stage = dict[tuple[str, ...], list[tuple[int, list[dict[str, float]]]]](), certainty(folder)
    lines = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    for fixture in [line["fixture"] for line in lines if "fixture" in line]:
        bots = fixture["bots"]
        tables = [
            {bots[seat]: score for seat, score in zip(*table, strict=True)}
            for table in zip(fixture["seats"], fixture["scores"], strict=True)
        ]
        if stage["ranked_by"] in ("win_rate", "elo"):  # a win is the best score of its table
            tables = [
                {bot: float(table[bot] == max(table.values()) > min(table.values())) for bot in table}
                for table in tables
            ]
        if fixture["plan"].endswith("tourney"):
            units = [{bot: [table[bot] for table in tables if bot in table][-1] for bot in bots}]
        else:
            deal = len(bots) if fixture["plan"].startswith("mirrored") else 1
            deals = [tables[at : at + deal] for at in range(0, len(tables), deal)]
            units = [{bot: sum(table[bot] for table in some) for bot in bots} for some in deals]
        found.setdefault(tuple(sorted(bots)), []).append((len(tables), units))
    assert stage["shared"] is (lines[0]["terms"]["stages"][0]["kind"] == "groups")
    assert {tuple(each["bots"]) for each in stage["meetings"]} == found.keys()
    for each in stage["meetings"]:
        fixtures = found[tuple(each["bots"])]
        units = [unit for _, some in fixtures for unit in some]
        assert each["units"] == len(units)
        if each["values"]:
            assert (each["size"], each["fixtures"], each["between"]) == (len(units), 1, 0)
            assert sorted(zip(*each["values"], strict=True)) == sorted(
                tuple(unit[bot] for bot in each["bots"]) for unit in units
            )
        else:
            assert (each["size"], each["fixtures"]) == (sum(tables for tables, _ in fixtures), len(fixtures))
            squares = [sum(unit[bot] for unit in some) ** 2 / len(some) for _, some in fixtures for bot in each["bots"]]
            assert each["between"] == pytest.approx(sum(squares))
        for nth, bot in enumerate(each["bots"]):
            assert each["totals"][nth] == pytest.approx(sum(unit[bot] for unit in units))
            for row, other in enumerate(each["bots"]):
                product = sum(unit[bot] * unit[other] for unit in units)
                if each["products"]:
                    assert each["products"][nth][row] == pytest.approx(product)
