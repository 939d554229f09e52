"""What bots use of models is stored with each fixture, and shown beside the score."""

import math
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import croupier
from helpers import level
from model_server import COMPLETION_TOKENS, PROMPT_TOKENS, serving
from test_chain import RECORD
from test_models import ASKER, PRICES, access, against_nestor, caller

from croupier import tournament
from host.bots.values import ModelCost
from host.play.records import STORED_FIELDS, Record
from host.rating.rankings import Estimate
from host.relay import relay
from host.relay.upstream import Reply
from host.results.model_costs import per_table
from host.sandbox.limits import ModelAccess, ModelUse

pytestmark = pytest.mark.skipif(not level().traits.own_namespaces, reason="models need a sandbox with namespaces")

CONFIG = """
game = "pazaak"
bots = ["bots/*", "sample:nestor"]
seed = "costs"

[[stage]]
kind = "round-robin"
tables_per_pair = 4
practice = true

[models.small]
address = "{address}"
model = "tiny"
"""
PRICE_LINES = "\n".join(f"{key} = {price}" for key, price in PRICES.items())


def cost_of(calls: int) -> ModelCost:
    """Return the cost of some answers of the server, counted by hand."""
    prompt, completion = calls * PROMPT_TOKENS, calls * COMPLETION_TOKENS
    money = (prompt * PRICES["prompt_price"] + completion * PRICES["completion_price"]) / 1_000_000
    return ModelCost(calls, prompt, completion, money)


def summaries(journal: Path) -> dict[str, list[Any]]:
    """Return what a journal stores of each fixture, by path."""
    with closing(sqlite3.connect(journal)) as database:
        rows = database.execute(
            "SELECT path, summary FROM fixture JOIN record ON fixture.id = record.fixture"
        ).fetchall()
    return {path: msgspec.msgpack.decode(summary) for path, summary in rows}


def play_cup(folder: Path, *names: str) -> Path:
    """Play a tournament of bots that ask a model once for each question, and one that asks none."""
    with serving() as server:
        (folder / "croupier.toml").write_text(CONFIG.format(address=server.address) + PRICE_LINES)
        for name in names:
            place = shutil.copytree(ASKER, folder / "bots" / name) / "bot.toml"
            place.write_text(place.read_text().replace('"asker"', f'"{name}"'))
        done = croupier("-C", folder, "run")
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play a tournament of two bots that ask a model, and one that asks none."""
    return play_cup(tmp_path_factory.mktemp("costs"), "asker", "other")


@pytest.mark.long
def test_a_record_has_what_its_bots_have_used_of_each_model() -> None:
    with serving("429", "200", "cut") as server:
        model = access(server, **PRICES)
        record = against_nestor(caller(model), tables=2)
    assert record.faults == {}
    calls = record.usage["asker"].questions  # a repetition by croupier is not a call of the bot
    assert len(server.heard) == calls + 2
    assert record.models == {"asker": {"small": cost_of(calls)}}


@pytest.mark.long
def test_what_was_sent_before_a_sandbox_was_replaced_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    real, broken = relay._use, iter([False, True])

    def breaks_once(model: ModelAccess, reply: Reply) -> ModelUse:
        if next(broken, False):
            raise TypeError("an error of the relay")
        return real(model, reply)

    monkeypatch.setattr(relay, "_use", breaks_once)
    with serving() as server:
        record = against_nestor(caller(access(server)))
    assert record.replayed == 1 and record.undecided is None
    (cost,) = record.models["asker"].values()
    assert cost.calls == len(server.heard) == record.usage["asker"].questions + 1
    assert cost.prompt_tokens == PROMPT_TOKENS * (cost.calls - 1)  # the relay has not read that answer


def test_the_journal_has_the_costs_of_bots_that_used_models_and_of_no_others(cup: Path) -> None:
    found = summaries(cup / "run" / "run.sqlite")
    assert len(found) == 3
    for path, (_, results, _, usage, *more) in found.items():
        costs = more[STORED_FIELDS - 4]
        assert costs == {bot: {"small": list(cost_of(usage[bot][0]))} for bot in results.keys() - {"nestor"}}, path
    assert croupier("-C", cup, "verify").code == 0


@pytest.mark.parametrize(
    "costs",
    [
        {"stranger": {"small": [1, 2, 3, 0.5]}},
        {"asker": {"small": [-1, 2, 3, 0.5]}},
        {"asker": {"small": [1, 2, 3, float("nan")]}},
        {"asker": {"small": [1, 2, 3, 0.5, 6]}},
        {"asker": "many"},
        "many",
    ],
)
def test_a_journal_with_other_costs_is_refused(costs: Any, cup: Path, tmp_path: Path) -> None:
    place = tmp_path / "copied"
    shutil.copytree(cup, place)
    with closing(sqlite3.connect(place / "run" / "run.sqlite")) as database, database:
        number, summary = database.execute("SELECT fixture, summary FROM record LIMIT 1").fetchone()
        values = [*msgspec.msgpack.decode(summary)[:STORED_FIELDS], costs]
        database.execute("UPDATE record SET summary = ? WHERE fixture = ?", (msgspec.msgpack.encode(values), number))
    for command, code in (("standings", 3), ("verify", 1), ("report", 3)):
        done = croupier("-C", place, command)
        assert done.code in (code, 3) and "H001" not in done.err, (command, done.err)


def test_a_record_without_models_has_the_bytes_that_it_had() -> None:
    assert len(RECORD.stored_summary()) == STORED_FIELDS == Record._fields.index("models")
    assert len(RECORD._replace(models={"a": {"small": ModelCost(1)}}).stored_summary()) == STORED_FIELDS + 1


def test_standings_show_what_bots_used_at_a_table(cup: Path) -> None:
    done = croupier("-C", cup, "standings", "--json")
    rows = {row["bot"]: row for row in done.json["rows"]}
    for key in ("calls", "tokens", "money"):
        assert rows["nestor"][f"{key}_per_table"] == 0 and rows["nestor"][f"{key}_per_table_low"] is None
        low, mean, high = (rows["asker"][f"{key}_per_table{end}"] for end in ("_low", "", "_high"))
        assert 0 <= low < mean < high
    text = croupier("-C", cup, "standings").out
    assert "money/table" in text
    money = [(row["money_per_table"], row["money_per_table_high"]) for row in rows.values()]
    decimals = max(0, 2 - math.floor(math.log10(max(mean for mean, _ in money))))  # the largest has three digits
    for mean, high in money:
        assert high is None or f"{mean:.{decimals}f} ±{high - mean:.{decimals}f}" in text
    assert tournament(cup).standings().to_dicts() == done.json["rows"]  # from Python


def test_the_page_shows_the_score_against_the_money(cup: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert croupier("-C", cup, "report", "-o", page).code == 0
    text = page.read_text()
    for title in ("calls/table", "tokens/table", "money/table"):
        assert f">{title}</th>" in text
    (label,) = re.findall(r'aria-label="money/table: ([^"]*)"', text)
    assert all(bot in label for bot in ("asker", "other", "nestor 0, "))


@pytest.mark.long
def test_the_picture_has_no_bar_for_the_money_of_a_bot_with_one_fixture(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert croupier("-C", play_cup(tmp_path, "asker"), "report", "-o", page).code == 0
    picture = page.read_text().partition('aria-label="money/table: ')[2].partition("</svg>")[0]
    bars = re.findall(r"M([\d.]+) [\d.]+H([\d.]+)V?", picture)
    assert [one for one, other in bars if one != other] == [] and len(bars) >= 2, bars


def test_a_tournament_without_models_has_no_such_columns(tmp_path: Path) -> None:
    done = croupier("-C", tmp_path, "play", "sample:nestor", "sample:neptr", "-n", "2", "--json")
    assert done.code == 0 and not [key for key in done.json["rows"][0] if "per_table" in key]


def test_without_prices_there_is_no_money(tmp_path: Path) -> None:
    with serving() as server:
        record = against_nestor(caller(access(server)))
    found = per_table([record])
    assert found.keys() == {"calls_per_table", "tokens_per_table"}
    calls = record.usage["asker"].questions
    assert found["calls_per_table"] == {"asker": Estimate(calls), "nestor": Estimate(0)}  # one fixture: no interval
