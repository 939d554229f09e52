"""The kind `swiss`: its rules hold for any field and any results, and it can be stopped and continued at any moment."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from command import croupier, cup_in
from stage_configs import recorded, stage_of

from host.games import GAMES
from host.journal.reader import reading
from host.play.fixture_id import contestants, group_of
from host.play.records import Fixture, Record, Result
from host.results.standings import standings
from host.stages.kind import Entrants, Field
from host.stages.swiss import SWISS, seeded
from host.stages.swiss_pairing import SwissRound, SwissState, automatic_rounds, pair_round

TWO_STAGES = """\
game = "pazaak"
seed = "a seed for tests"
bots = ["bots/*"]
[[stage]]
kind = "round-robin"
tables_per_pair = 100
practice = true
[[stage]]
kind = "swiss"
rounds = 1
tables_per_pairing = 10
practice = true
[limits]
move = "10 s"
cpu = "10 s"
"""
STANDS = """\
import sys

for line in sys.stdin:
    print("STAND" if sum(map(int, line.split()[3].split(","))) >= LEAST else "END", flush=True)
"""
BLANK = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "", "", (), 0)
SEED = b"a seed for tests"


class Played:
    """A Swiss system that is played with random results, and that tests the rules in every round."""

    def __init__(self, bots: int, luck: random.Random) -> None:
        names = [f"b{number:03}" for number in range(bots)]
        self.luck, self.rematches = luck, 0
        self.scores, self.byes = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        self.met: dict[str, Counter[str]] = {name: Counter() for name in names}

    def round(self) -> SwissRound:
        now = pair_round(SwissState(self.scores, self.met, self.byes))
        self.everybody_plays_once(now)
        self.byes_go_around(now)
        self.scores_are_close(now)
        self.rematches += sum(other in self.met[one] for one, other in now.pairs)
        return now

    def everybody_plays_once(self, now: SwissRound) -> None:
        """SW-ONCE."""
        playing = [bot for pair in now.pairs for bot in pair] + [now.bye] * (now.bye is not None)
        assert sorted(playing) == sorted(self.scores)  # type: ignore[type-var]

    def byes_go_around(self, now: SwissRound) -> None:
        """SW-BYE."""
        assert (now.bye is None) == (len(self.scores) % 2 == 0)
        assert now.bye is None or self.byes[now.bye] == min(self.byes.values())

    def scores_are_close(self, now: SwissRound) -> None:
        """SW-SCORES."""
        for (a, b), (c, d) in combinations(now.pairs, 2):
            for (one, two), (three, four) in (((a, c), (b, d)), ((a, d), (b, c))):
                if two not in self.met[one] and four not in self.met[three]:
                    assert self.gap(a, b) + self.gap(c, d) <= self.gap(one, two) + self.gap(three, four)

    def gap(self, one: str, other: str) -> int:
        return (self.scores[one] - self.scores[other]) ** 2

    def fewest_rematches(self, bots: list[str]) -> int:
        """Return the fewest rematches in a round of these bots, by trying all rounds."""
        if not bots:
            return 0
        one, *others = bots
        return min(
            (other in self.met[one]) + self.fewest_rematches([each for each in others if each != other])
            for other in others
        )

    def end(self, now: SwissRound) -> None:
        if now.bye is not None:
            self.byes[now.bye] += 1
            self.scores[now.bye] += 2
        for one, other in now.pairs:
            self.met[one][other] += 1
            self.met[other][one] += 1
            points = self.luck.choices((0, 1, 2), (4, 1, 5))[0]
            self.scores[one] += points
            self.scores[other] += 2 - points


def random_fields(number: int) -> None:
    """Play this many random fields for the automatic number of rounds: they need no rematch at all."""
    luck = random.Random(3)
    for _ in range(number):
        bots = luck.randint(2, 70)
        played = Played(bots, luck)
        rounds = automatic_rounds(bots)
        assert rounds >= 1 and 2 ** (rounds - 2) <= bots
        for _ in range(rounds):
            played.end(played.round())
        assert not played.rematches
        assert max(played.byes.values()) <= 1


def test_the_rules_of_a_swiss_system_hold_for_any_field() -> None:
    random_fields(40)


@pytest.mark.proof
def test_the_rules_of_a_swiss_system_hold_for_a_thousand_fields() -> None:
    random_fields(1_000)


def test_a_round_has_a_rematch_only_if_every_round_would_have_one() -> None:
    luck = random.Random(5)
    for _ in range(60):
        bots = luck.randint(2, 8)
        played = Played(bots, luck)
        for _ in range(luck.randint(1, bots + 2)):
            now, before = played.round(), played.rematches
            here = sum(other in played.met[one] for one, other in now.pairs)
            assert here == played.fewest_rematches([bot for bot in played.scores if bot != now.bye]), before
            played.end(now)


def test_equal_bots_are_paired_first_half_against_second_half() -> None:
    bots = [f"b{number}" for number in range(6)]
    now = pair_round(SwissState(dict.fromkeys(bots, 0), {}, {}))
    assert now.pairs == [("b0", "b3"), ("b1", "b4"), ("b2", "b5")]


def test_the_last_bot_has_the_bye() -> None:
    now = pair_round(SwissState({"a": 2, "b": 0, "c": 0}, {}, {"c": 1}))
    assert now == SwissRound([("a", "c")], "b")


def by_strength(fixture: Fixture) -> Record:
    """Return a record in which the bot with the smaller name wins two tables of three, and a draw at seven of ten."""
    better, worse = sorted(fixture.bots)
    wins = {better: 2 * fixture.tables // 3, worse: fixture.tables // 3}
    results = {bot: Result(fixture.tables, wins[bot], 3 * wins[bot], 0, 3, 3) for bot in fixture.bots}
    return Record(fixture.path, results, {}, {}, (), (), b"")


def played_out(bots: int, make: Callable[[Fixture], Record] = by_strength, **keys: object) -> dict[str, Record]:
    stage, records = stage_of("swiss", **keys), dict[str, Record]()
    field = Field([f"b{number:03}" for number in range(bots)], SEED)
    while due := SWISS.due(stage, BLANK, field, records):
        assert due == SWISS.due(stage, BLANK, field, records)
        records |= {fixture.path: make(fixture) for fixture in due}
    return records


@pytest.mark.parametrize("bots", [2, 3, 6, 8, 13, 32])
def test_everybody_is_ranked_and_the_best_is_first(bots: int) -> None:
    records = played_out(bots, tables_per_pairing=30)
    rows = standings(stage_of("swiss"), list(records.values()), recorded(f"b{number:03}" for number in range(bots)))
    assert len(rows) == bots and rows[0].bot == "b000" and all(row.tables for row in rows)
    sets = [row.estimates["sets"].value or 0 for row in rows]
    assert sum(sets) == automatic_rounds(bots) * -(-bots // 2)  # a bye is a point
    assert SWISS.size is not None
    size = SWISS.size(stage_of("swiss", tables_per_pairing=30), BLANK, bots)
    assert (size.fixtures, size.bounds) == (len(records), "exactly")


def test_seats_alternate_in_a_set_and_who_begins_alternates_from_set_to_set() -> None:
    records = played_out(16, tables_per_pairing=1, rounds=6)
    began = Counter(next(iter(record.results)) for record in records.values())
    assert max(began.values()) - min(began[f"b{number:03}"] for number in range(16)) <= 3


def test_buchholz_is_the_sum_of_the_sets_of_the_opponents() -> None:
    records = list(played_out(4, tables_per_pairing=30, rounds=3).values())
    rows = {
        row.bot: row.estimates for row in standings(stage_of("swiss"), records, recorded(f"b00{n}" for n in range(4)))
    }
    assert {bot: value["sets"].value for bot, value in rows.items()} == {"b000": 3, "b001": 2, "b002": 1, "b003": 0}
    assert {bot: value["buchholz"].value for bot, value in rows.items()} == {"b000": 3, "b001": 4, "b002": 5, "b003": 6}


@pytest.mark.parametrize("names", [[f"b{number}" for number in range(8)], [f"b{7 - number}" for number in range(8)]])
def test_the_order_of_a_stage_is_kept_whatever_the_bots_are_called(names: list[str]) -> None:
    stage = stage_of("swiss")
    ranked = seeded(stage, Entrants(names, {"league": names}, SEED))
    assert ranked == names
    firsts = [set(fixture.bots) for fixture in SWISS.due(stage, BLANK, Field(ranked, SEED), {}) if fixture.first == 1]
    assert firsts == [{names[place], names[place + 4]} for place in range(4)]


def test_bots_that_no_stage_has_ranked_are_drawn_in_whatever_order_they_were_entered() -> None:
    stage, bots = stage_of("swiss"), [f"b{number}" for number in range(8)]
    assert len({tuple(seeded(stage, Entrants(bots, {}, bytes([seed]))) or ()) for seed in range(20)}) == 20
    assert seeded(stage, Entrants(bots, {}, SEED)) == seeded(stage, Entrants(bots[::-1], {}, SEED)) != bots
    assert seeded(stage, Entrants(bots, {}, None)) is None


@pytest.mark.long
def test_a_swiss_stage_after_another_one_begins_in_its_order(tmp_path: Path) -> None:
    """The names of the bots are their order in the first stage, too."""
    cup = tmp_path / "cup"
    cup.mkdir()
    (cup / "croupier.toml").write_text(TWO_STAGES)
    (cup / "bots").mkdir()
    for name, least in {"a": 17, "b": 13, "c": 9, "d": 5}.items():
        (cup / "bots" / f"{name}.py").write_text(STANDS.replace("LEAST", str(least)))
    assert croupier("-C", cup, "run", "--progress", "none").code == 0
    with reading(cup / "run" / "run.sqlite") as journal:
        first, second = journal.state().stages
        pairs = [path for path in journal.paths(second.name) if path.startswith("swiss/1/")]
    assert list(second.field) == list(first.places) == ["a", "b", "c", "d"]
    assert {group_of(path) for path in pairs} == {f"swiss/1/{contestants(pair)}" for pair in ("ac", "bd")}
    assert croupier("-C", cup, "verify").code == 0


def test_the_rounds_of_500_bots_are_few() -> None:
    assert (automatic_rounds(2), automatic_rounds(32), automatic_rounds(128), automatic_rounds(500)) == (1, 7, 9, 10)


STAGE = '[[stage]]\nkind = "swiss"\nrounds = {}\ntables_per_pairing = {}\npractice = true\n'


def swiss_in(folder: Path, rounds: str, tables: int) -> Path:
    folder.mkdir()
    bots = [f"sample:{name}" for name in ("neptr", "cincinnati_kid", "dumb_bold", "dumb_cautious", "optimum")]
    head = f'game = "pazaak"\nseed = "a public seed"\nbots = {bots}\n'.replace("'", '"')
    (folder / "croupier.toml").write_text(head + STAGE.format(rounds, tables))
    return folder


@pytest.mark.long
def test_a_swiss_system_is_shown_everywhere(tmp_path: Path) -> None:
    folder = swiss_in(tmp_path / "t", '"auto"', 40)
    dry = croupier("-C", folder, "run", "--dry-run").out
    assert "3 rounds of 2 pairings and a bye, 40 tables each" in dry and "240 tables" in dry
    assert croupier("-C", folder, "run", "--progress", "none").code == 0
    done = croupier("-C", folder, "standings", "--json").json
    assert [len(each["sets"]) for each in done["rounds"]] == [2, 2, 2] and all(each["bye"] for each in done["rounds"])
    assert {"sets", "buchholz"} <= done["rows"][0].keys() and sum(row["sets"] for row in done["rows"]) == 9
    text = croupier("-C", folder, "standings", "-v").out
    assert "round 3; points and games won:" in text and "bye" in text and "Buchholz" in text
    assert croupier("-C", folder, "verify").code == 0 and croupier("-C", folder, "report").code == 0
    page = (folder / "report.html").read_text()
    assert 'id="rounds"' in page and "<h3>Round 3</h3>" in page


@pytest.mark.parametrize(("rounds", "rule"), [('"many"', "is not a number of rounds"), ("0", "1 to 1000")])
def test_a_number_of_rounds_that_is_none_is_refused(rounds: str, rule: str, tmp_path: Path) -> None:
    done = croupier("-C", swiss_in(tmp_path / "t", rounds, 10), "run")
    assert done.code == 3 and "croupier.toml:6: " in done.err and rule in done.err


def test_a_game_for_four_has_no_swiss_system(tmp_path: Path) -> None:
    folder = cup_in(tmp_path / "t")
    config = folder / "croupier.toml"
    config.write_text('game = "cardshark"\nseed = "public"\nbots = ["bots/*"]\n[[stage]]\nkind = "swiss"\n')
    done = croupier("-C", folder, "run")
    assert "croupier.toml:5: " in done.err and "needs a game for two bots with one winner" in done.err
