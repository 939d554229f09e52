"""Rankings: a strength in Elo, named in `rank_by`, appears in every output with its interval or its bound."""

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from command import croupier
from stage_configs import recorded, stage_of, standings_of

from host.play.records import Record, Result
from host.rating.rankings import RANKINGS, Estimate
from host.rating.statistics import ELO
from host.report.charts import figure, ranked, value, whisker
from host.report.charts import scale as axis_of
from host.report.listings import Listing, cells_of
from host.report.stage_results import Stage
from host.report.terminal import standings_text, text_of
from host.results.standings import Row

LEAGUE = """\
game = "pazaak"
seed = "a seed for tests"
bots = ["sample:dumb_bold", "sample:dumb_cautious", "sample:neptr"]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 40
rank_by = ["elo"]
practice = true
[limits]
move = "10 s"
cpu = "10 s"
"""


def met(one: str, other: str, won: int, lost: int, drawn: int = 0) -> Record:
    """Return the record of tables of two bots."""
    tables = won + lost + drawn
    results = {bot: Result(tables, wins, 3 * wins, 0, 3, 0) for bot, wins in ((one, won), (other, lost))}
    return Record(f"s/{one}+{other}/1", results, {}, {}, (), (), b"")


def rows_of(*records: Record, rank_by: tuple[str, ...] = ("elo",), mirror: bool = False) -> list[Row]:
    bots = sorted({bot for record in records for bot in record.results})
    stage = stage_of("round-robin", rank_by=rank_by, mirror=mirror)
    return standings_of(stage, records, recorded(bots)).rows


def test_elo_is_the_log_of_the_odds() -> None:
    better, worse = rows_of(met("A", "B", 75, 25))
    assert better.first.value is not None and worse.first.value is not None
    assert better.first.value == pytest.approx(-worse.first.value)
    assert 10 ** ((better.first.value - worse.first.value) / 400) == pytest.approx(3)
    assert (
        better.first.low is not None
        and better.first.high is not None
        and better.first.low < better.first.value < better.first.high
    )
    assert pytest.approx(173.7178, abs=1e-3) == ELO


def test_a_draw_is_half_a_win_for_both() -> None:
    assert [
        row.first.value for row in rows_of(met("A", "B", 0, 0, drawn=9), met("A", "C", 2, 2), met("B", "C", 2, 2))
    ] == [pytest.approx(0, abs=1e-6)] * 3


def test_a_bot_is_rated_by_whom_it_has_met() -> None:
    rows = rows_of(met("A", "B", 60, 40), met("B", "C", 60, 40), met("C", "D", 60, 40))
    assert [row.bot for row in rows] == ["A", "B", "C", "D"]
    rates = {row.bot: row.rate for row in rows}
    assert rates == {"A": 0.6, "B": 0.5, "C": 0.5, "D": 0.4}


def test_a_bot_without_a_loss_or_without_a_win_has_a_bound_and_no_number() -> None:
    best, *others, worst = rows_of(
        met("A", "B", 9, 0), met("A", "C", 9, 0), met("B", "C", 5, 4), met("B", "D", 9, 0), met("C", "D", 9, 0)
    )
    assert (best.bot, best.first.value, best.first.bound, best.first.high) == ("A", None, "≥", None)
    assert (worst.bot, worst.first.value, worst.first.bound, worst.first.low) == ("D", None, "≤", None)
    assert best.first.low is not None and worst.first.high is not None and worst.first.high < best.first.low
    assert all(row.first.value is not None for row in others)
    league = cast(Stage, SimpleNamespace(ties_of=lambda _bot: []))
    assert value(best).startswith("≥ ") and figure(worst, league).endswith(" Elo") and "≤ " in figure(worst, league)
    assert whisker(best, axis_of([best, *others, worst])).at is not None


def test_tables_that_share_deals_make_elo_surer() -> None:
    def width(mirror: bool, squares: int) -> float:
        record = met("A", "B", 520, 480)
        shared = {"A": (squares, 1000 - squares + 40), "B": (1000 - squares + 40, squares - 80)} if squares else {}
        results = {
            bot: result._replace(units=500 if squares else 0, wins_with=shared.get(bot, ()))
            for bot, result in record.results.items()
        }
        (row, _) = rows_of(record._replace(results=results), mirror=mirror)
        assert row.first.low is not None and row.first.high is not None
        return row.first.high - row.first.low

    assert width(True, 20 * 4 + 480) < 0.6 * width(False, 0)


def test_how_sure_the_order_is_follows_from_both_strengths() -> None:
    stage = stage_of("round-robin", rank_by=["elo"])
    records = [met("A", "B", 600, 400), met("A", "C", 610, 390), met("B", "C", 505, 495)]
    _, sure, advice, *_ = standings_of(stage, records, recorded("ABC"))
    assert sure[0] == "A ahead of B: >99.9 % sure" and sure[1].endswith(" needed")
    assert [each.bots for each in advice] == [("B", "C")]


def test_text_csv_and_json_have_a_ranking_wherever_it_stands_in_rank_by() -> None:
    for rank_by in (("elo",), ("win_rate", "elo")):
        rows = rows_of(met("A", "B", 75, 25), met("A", "C", 10, 0), met("B", "C", 10, 0), rank_by=rank_by)
        text = text_of(standings_text("head", rows, []))
        assert "Elo" in text and "games won" in text and "≤" in text
        told = json.loads(json.dumps([row.flat() for row in rows]))
        assert told[0]["elo"] is not None and told[0]["elo_low"] < told[0]["elo"] < told[0]["elo_high"]
        assert (told[2]["elo"], told[2]["elo_low"]) == (None, None) and told[2]["elo_high"] is not None
        cells = [cells_of(row) for row in rows]
        sheet = Listing("", {}, [*cells[0]], cells, list).csv()
        (*_, last) = csv.DictReader(io.StringIO(sheet))
        assert (last["elo"], last["elo_high"]) == ("", str(told[2]["elo_high"]))
        assert "±" in ranked(rows[0], "elo")


def test_what_ranks_is_the_score_of_a_row() -> None:
    row = rows_of(met("A", "B", 75, 25))[0].flat()
    assert (row["score"], row["points"]) == (row["elo"], 225 / 100)


def test_every_ranking_says_what_a_sentence_needs() -> None:
    for ranking in RANKINGS.values():
        words = ranking.phrase_of(Estimate(0.5, 0.4, 0.6), 10)
        assert "{" not in words and "0" in words


def test_a_tournament_is_ranked_by_elo_and_its_report_shows_it(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text(LEAGUE)
    done = croupier("run", "-C", tmp_path, "--progress", "none")
    assert done.code == 0, done.err
    rows = croupier("standings", "--json", "-C", tmp_path).json["rows"]
    assert [row["bot"] for row in rows] == sorted((row["bot"] for row in rows), key=lambda bot: -by(rows)[bot])
    assert "Elo" in croupier("standings", "-C", tmp_path).out
    assert croupier("report", "-C", tmp_path).code == 0
    page = (tmp_path / "report.html").read_text()
    assert '<th scope="col" class="r">Elo</th>' in page and "Elo above the mean of the field" in page
    assert croupier("verify", "-C", tmp_path).code == 0


def by(rows: list[dict[str, float | None]]) -> dict[object, float]:
    """Return the value by which each bot is ordered: its strength or a bound."""
    bounds = {None: 0.0}
    return {row["bot"]: row["elo"] or row["elo_low"] or row["elo_high"] or bounds[None] for row in rows}


def test_elo_of_a_table_for_more_counts_the_order_of_all_bots() -> None:
    games = [
        Record(
            f"groups/1/A+B+C/{nth}",
            {bot: Result(1, 0, end, end, end, end) for bot, end in zip("ABC", ends, strict=True)},
            {},
            {},
            (),
            (),
            b"",
        )
        for nth, ends in enumerate([(300, 200, 0), (200, 300, 0), (300, 100, 100), (0, 100, 200), (300, 200, 100)], 1)
    ]
    stage = stage_of("groups", rank_by=["elo", "score"], repeat=5, until=1, advance=1)
    found = standings_of(stage, games, recorded("ABC"))
    assert [row.bot for row in found.rows] == ["A", "B", "C"]
    assert all(row.first.low is not None and row.first.high is not None for row in found.rows)


def test_wins_and_points_are_rankings_with_intervals() -> None:
    best, worst = rows_of(met("A", "B", 75, 25), rank_by=("wins", "score"))
    assert (best.first.value, worst.first.value) == (75, 25)
    assert best.first.low is not None and best.first.high is not None
    assert best.first.low == pytest.approx(65.7, abs=0.1) and best.first.high == pytest.approx(82.5, abs=0.1)
    assert best.estimates["score"].value == pytest.approx(2.25)
