"""Measure the stage kinds league and swiss on simulated results: false differences, intervals, ranks, and pairing time.

    python benchmarks/formats.py [aa] [cover] [tau] [dutch] [time] [--tournaments 1000] [--fields 50]

The bots have known strengths. At a table each bot scores its strength plus noise from Gumbel's distribution, so the orders
follow the model of Plackett and Luce exactly. Plans, records, standings and statistics are croupier's own.

    aa      how often two equal bots are called different: at most 5 % of the tournaments
    cover   how often the 95 % intervals contain the true values: 93 to 97 %
    tau     Kendall's tau with the true order, and the tables played: swiss against a full round robin
    dutch   the same fields paired by py4swiss (FIDE's Dutch system; pip install py4swiss), and tau between the ranks
    time    processor time to pair one round, and to design one league, for 500 bots
"""

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

from host.games import GAMES
from host.games.engine import Scores
from host.journal.state import RecordedBot, RunState, StageState
from host.play.records import Fixture, Record, Result
from host.rating.statistics import ELO, wilson
from host.results.standings import stage_standings, standings
from host.stages import CROUPIERS
from host.stages.kind import Field, StageConfig
from host.stages.swiss_pairing import SwissState, automatic_rounds, pair_round
from host.stages.table_design import base_blocks, design

Strengths = Mapping[str, float]
"""The logarithm of each bot's strength; 1 / ELO is one point of Elo."""

HOLDEM = GAMES["holdem"].default_rules
POINTS = 100  # of one unit of strength


def simulated(fixture: Fixture, strengths: Strengths, luck: Random) -> Record:
    """Return the record of a fixture: of two bots from the number of wins, of more from the scores of each table."""
    if len(fixture.bots) == 2:
        return _of_two(fixture, strengths, luck)
    bots, tables = fixture.bots, list[Scores]()
    points, wins = Counter[str](), Counter[str]()
    for number in range(fixture.first - 1, fixture.first - 1 + fixture.tables):
        turn = number % len(bots)
        sitting = bots[turn:] + bots[:turn]
        scores = tuple(round(POINTS * (strengths[bot] - math.log(-math.log(luck.random())))) for bot in sitting)
        tables.append(scores)
        for bot, score in zip(sitting, scores, strict=True):
            points[bot] += score
            wins[bot] += score == max(scores)
    results = {bot: Result(fixture.tables, wins[bot], points[bot], 0, 0, 0) for bot in bots}
    return Record(fixture.path, results, {}, {}, (), tuple(tables), b"")


def _of_two(fixture: Fixture, strengths: Strengths, luck: Random) -> Record:
    one, other = fixture.bots
    chance, tables = 1 / (1 + math.exp(strengths[other] - strengths[one])), fixture.tables
    if tables < 200:
        won = sum(luck.random() < chance for _ in range(tables))
    else:
        won = min(tables, max(0, round(luck.gauss(tables * chance, math.sqrt(tables * chance * (1 - chance))))))
    results = {bot: Result(tables, wins, 3 * wins, 0, 3, 3) for bot, wins in ((one, won), (other, tables - won))}
    return Record(fixture.path, results, {}, {}, (), (), b"")


def played(stage: StageConfig, strengths: Strengths, luck: Random, seats: int = 2) -> list[Record]:
    """Play a whole stage."""
    kind, records = CROUPIERS.kind(stage.kind), dict[str, Record]()
    blank = Fixture("holdem", HOLDEM._replace(seats=seats), "", "", (), 0)
    seed = luck.randbytes(16)
    names = list(strengths)
    luck.shuffle(names)
    while due := kind.due(stage, blank, Field(names, seed), records):
        records |= {fixture.path: simulated(fixture, strengths, luck) for fixture in due}
    return list(records.values())


def stage_of(kind: str, **keys: Any) -> StageConfig:
    """Return a stage with some keys."""
    stage: StageConfig = CROUPIERS.kind(kind).config(name="s", **keys)
    return stage


CASES: dict[str, tuple[StageConfig, int, int]] = {
    "a league of four, tables for four": (stage_of("league", tables=80, rank_by=("score",)), 4, 4),
    "a league of eight, tables for four": (stage_of("league", tables=84, rank_by=("score",)), 8, 4),
    "the same, ranked by elo": (stage_of("league", tables=84, rank_by=("elo",)), 8, 4),
    "the same, ranked by wins": (stage_of("league", tables=84, rank_by=("wins",)), 8, 4),
    "swiss, eight bots": (stage_of("swiss", tables_per_pairing=50, rank_by=("sets", "buchholz")), 8, 2),
    "swiss, nine bots, ranked by elo": (stage_of("swiss", tables_per_pairing=50, rank_by=("elo",)), 9, 2),
}
"""Small tournaments: the stage, the bots, and the seats of a table."""


def called_different(case: str, number: int) -> bool:
    """Play one small tournament with two equal bots; return whether its standings call their order certain."""
    stage, bots, seats = CASES[case]
    luck = Random(f"{case} {number}")
    strengths = {f"b{nth}": luck.gauss(0, 0.5) for nth in range(bots)}
    strengths["b1"] = strengths["b0"]
    records = played(stage, strengths, luck, seats)
    return not stage_standings(
        RunState(), StageState(stage), records, {bot: RecordedBot(bot) for bot in ("b0", "b1")}
    ).advice


def covered(case: str, number: int) -> dict[str, list[bool]]:
    """Play one small tournament; return for each ranking whether the interval of each bot contains the true value."""
    stage, bots, seats = CASES[case]
    luck = Random(f"{case} {number}")
    strengths = {f"b{nth}": luck.gauss(0, 0.5) for nth in range(bots)}
    records = played(stage, strengths, luck, seats)
    mean, found = sum(strengths.values()) / bots, dict[str, list[bool]]()
    words = ("score", "win_rate", "elo") if seats > 2 else ("win_rate", "elo")
    for row in standings(stage, records, {bot: RecordedBot(bot) for bot in strengths}, words):
        true = {
            "score": POINTS * (strengths[row.bot] + 0.5772156649),
            "win_rate": _true_rate(row.bot, records, strengths),
            "elo": ELO * (strengths[row.bot] - mean),
        }
        for word, estimate in row.estimates.items():
            if word in true and estimate.low is not None and estimate.high is not None:
                found.setdefault(word, []).append(estimate.low <= true[word] <= estimate.high)
    return found


def _true_rate(bot: str, records: Sequence[Record], strengths: Strengths) -> float:
    mine = [record for record in records if bot in record.results]
    tables = sum(record.results[bot].tables for record in mine)
    won = sum(
        record.results[bot].tables
        * math.exp(strengths[bot])
        / sum(math.exp(strengths[other]) for other in record.results)
        for record in mine
    )
    return won / tables


def tau(one: Sequence[str], other: Sequence[str]) -> float:
    """Return Kendall's tau of two orders of the same bots."""
    place = {bot: nth for nth, bot in enumerate(other)}
    pairs = [place[ahead] < place[behind] for ahead, behind in combinations(one, 2)]
    return 2 * sum(pairs) / len(pairs) - 1


def field_of(bots: int, number: int) -> Strengths:
    """Return a random field; the standard deviation of its strengths is 100 Elo."""
    luck = Random(f"field {bots} {number}")
    return {f"b{nth:03}": luck.gauss(0, 100 / ELO) for nth in range(bots)}


def order_by(stage: StageConfig, records: Sequence[Record], strengths: Strengths, *words: str) -> list[str]:
    """Return the bots in the order of some rankings; equal bots in an order that has nothing to do with strength."""
    return [row.bot for row in standings(stage, records, {bot: RecordedBot(bot) for bot in strengths}, words)]


def dutch(strengths: Strengths, rounds: int, outcome: Callable[[str, str], int]) -> list[str]:
    """Return the ranks, by points and Buchholz, if py4swiss pairs; `outcome` returns twice the points of the first bot."""
    from py4swiss.engines import DutchEngine
    from py4swiss.trf import ParsedTrf
    from py4swiss.trf.codes import PlayerCode
    from py4swiss.trf.results import ColorToken, ResultToken, RoundResult
    from py4swiss.trf.sections import PlayerSection, XSection

    bots = sorted(strengths)
    tokens = {0: ResultToken.LOSS, 1: ResultToken.DRAW, 2: ResultToken.WIN}
    points, met = Counter[int](), {nth: list[int]() for nth in range(1, len(bots) + 1)}
    results: dict[int, list[Any]] = {nth: [] for nth in met}
    for _ in range(rounds):
        sections = [
            PlayerSection(
                code=PlayerCode.PLAYER,
                starting_number=nth,
                points_times_ten=5 * points[nth],
                rank=nth,
                results=results[nth],
            )
            for nth in met
        ]
        trf = ParsedTrf(player_sections=sections, x_section=XSection(number_of_rounds=rounds))
        for pairing in DutchEngine.generate_pairings(trf):
            one, other = pairing.white, pairing.black
            if not other:
                points[one] += 2
                results[one].append(
                    RoundResult(id=0, color=ColorToken.BYE_OR_NOT_PAIRED, result=ResultToken.PAIRING_ALLOCATED_BYE)
                )
                continue
            won = outcome(bots[one - 1], bots[other - 1])
            points[one] += won
            points[other] += 2 - won
            met[one].append(other)
            met[other].append(one)
            results[one].append(RoundResult(id=other, color=ColorToken.WHITE, result=tokens[won]))
            results[other].append(RoundResult(id=one, color=ColorToken.BLACK, result=tokens[2 - won]))
    order = sorted(met, key=lambda nth: (-points[nth], -sum(points[other] for other in met[nth]), nth))
    return [bots[nth - 1] for nth in order]


def ours(strengths: Strengths, rounds: int, outcome: Callable[[str, str], int]) -> list[str]:
    """Return the ranks, by points and Buchholz, if croupier pairs; the bots have the same seeds."""
    bots = sorted(strengths)
    points, byes = dict.fromkeys(bots, 0), Counter[str]()
    met: dict[str, Counter[str]] = {bot: Counter() for bot in bots}
    for _ in range(rounds):
        now = pair_round(SwissState(points, met, byes))
        for one, other in now.pairs:
            won = outcome(one, other)
            points[one] += won
            points[other] += 2 - won
            met[one][other] += 1
            met[other][one] += 1
        if now.bye is not None:
            points[now.bye] += 2
            byes[now.bye] += 1
    return sorted(bots, key=lambda bot: (-points[bot], -sum(points[other] for other in met[bot]), bot))


def print_aa(tournaments: int) -> None:
    """Print how often equal bots are called different."""
    for case in CASES:
        times = sum(called_different(case, number) for number in range(tournaments))
        low, high = (100 * bound for bound in wilson(times, tournaments))
        print(f"{case:<40}{100 * times / tournaments:6.2f} %   ({low:.1f} … {high:.1f} %)", flush=True)


def print_cover(tournaments: int) -> None:
    """Print how often intervals contain the true values."""
    for case in ("a league of eight, tables for four", "swiss, eight bots"):
        found: dict[str, list[bool]] = {}
        for number in range(tournaments):
            for word, hits in covered(case, number).items():
                found.setdefault(word, []).extend(hits)
        for word, hits in found.items():
            print(f"{case:<40}{word:<10}{100 * sum(hits) / len(hits):6.2f} % of {len(hits)} intervals", flush=True)


def print_tau(fields: int) -> None:
    """Print the agreement of Swiss systems and full round robins with the true order."""
    for bots in (32, 128):
        sums, tables = Counter[str](), Counter[str]()
        for number in range(fields):
            strengths, luck = field_of(bots, number), Random(number)
            true = sorted(strengths, key=strengths.__getitem__, reverse=True)
            swiss, whole = stage_of("swiss", tables_per_pairing=1_000), stage_of("round-robin", tables_per_pair=1_000)
            records = played(swiss, strengths, luck)
            for words in (("sets", "buchholz", "win_rate"), ("elo",)):
                sums[f"swiss by {words[0]}"] += tau(order_by(swiss, records, strengths, *words), true)
                tables[f"swiss by {words[0]}"] += sum(next(iter(each.results.values())).tables for each in records)
            records = played(whole, strengths, luck)
            sums["round-robin by win_rate"] += tau(order_by(whole, records, strengths, "win_rate"), true)
            tables["round-robin by games"] += sum(next(iter(each.results.values())).tables for each in records)
        for what, total in sums.items():
            print(
                f"{bots:>4} bots  {what:<24}tau {total / fields:.3f}   {tables[what] // fields:>10,} tables", flush=True
            )


def print_dutch(fields: int) -> None:
    """Print the agreement of croupier's ranks with those of py4swiss, and of both with the true order."""
    for bots in (9, 32, 65):
        sums, rounds = Counter[str](), automatic_rounds(bots)
        for number in range(fields):
            strengths = field_of(bots, number)

            def outcome(one: str, other: str, strengths: Strengths = strengths, number: int = number) -> int:
                """Return the same result for the same two bots in every pairing."""
                first, second = sorted((one, other))
                fixture = Fixture("", None, "", "1", (first, second), 1_000)
                wins = simulated(fixture, strengths, Random(f"{number} {first} {second}")).results
                by = wins[one].wins - wins[other].wins
                return 1 + (by > 0) - (by < 0)

            true = sorted(strengths, key=strengths.__getitem__, reverse=True)
            theirs, mine = dutch(strengths, rounds, outcome), ours(strengths, rounds, outcome)
            sums["theirs"] += tau(theirs, true)
            sums["ours"] += tau(mine, true)
            sums["both"] += tau(mine, theirs)
        means = {what: total / fields for what, total in sums.items()}
        print(
            f"{bots:>4} bots, {rounds} rounds: tau with the true order: py4swiss {means['theirs']:.3f}, croupier "
            f"{means['ours']:.3f}; between the two {means['both']:.3f}",
            flush=True,
        )


def print_time() -> None:
    """Print how long pairing takes for 500 bots."""
    bots, luck = [f"b{nth:03}" for nth in range(500)], Random(1)
    for field in (bots, bots[1:]):
        points, byes, slowest = dict.fromkeys(field, 0), Counter[str](), 0.0
        met: dict[str, Counter[str]] = {bot: Counter() for bot in field}
        for _ in range(automatic_rounds(len(field))):
            began = time.process_time()
            now = pair_round(SwissState(points, met, byes))
            slowest = max(slowest, time.process_time() - began)
            for one, other in now.pairs:
                points[one if luck.random() < 0.5 else other] += 2
                met[one][other] += 1
                met[other][one] += 1
            if now.bye is not None:
                points[now.bye] += 2
                byes[now.bye] += 1
        print(f"swiss of {len(field)} bots: {1000 * slowest:.0f} ms for the slowest round")
    for seats in (2, 4, 10):
        design.cache_clear()
        base_blocks.cache_clear()
        began = time.process_time()
        plan = design(500, seats, 400)
        took = time.process_time() - began
        print(
            f"league of 500 bots, {seats} seats: {1000 * took:.0f} ms; every two share {plan.shared} tables", flush=True
        )


def main() -> None:
    """Run the parts and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["aa", "cover", "tau", "dutch", "time"])
    parser.add_argument("--tournaments", type=int, default=1000)
    parser.add_argument("--fields", type=int, default=50)
    asked = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "aa": lambda: print_aa(asked.tournaments),
        "cover": lambda: print_cover(asked.tournaments),
        "tau": lambda: print_tau(asked.fields),
        "dutch": lambda: print_dutch(asked.fields),
        "time": print_time,
    }
    for part in asked.parts:
        parts[part]()


if __name__ == "__main__":
    main()
