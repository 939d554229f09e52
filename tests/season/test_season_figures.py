"""Every figure that the site of a season shows is computed again from the records of its rounds, in a second way.

The second way knows the fixtures of each round (its published records) and what the chain lists; counts are plain sums, and
ratings are those of docs/checking.md, computed by a small program of this file. Rows of JSON are compared with all their
keys, so a new key fails until it is counted here or stands in UNCOUNTED. Figures of pages are those of the JSON, spelled
again. What a verdict says is tested with the intake, and what the organiser alone sees is no figure of the journals.
"""

import html
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("hypercorn")
pytest.importorskip("multipart")

from season_client import Browser, Site, serving_season
from season_process import TestSeason, plain_bot

from host.submissions.conformance import CHECK_SEED_OF_BOTS

SOMETIMES_WRONG = f"""\
import os, random
seed = os.environ['CROUPIER_SEED']
luck = random.Random(seed)
while input():
    wrong = seed != '{CHECK_SEED_OF_BOTS}' and luck.random() < 0.03
    print('what' if wrong else luck.choice(['END', 'STAND']), flush=True)
"""
"""A bot that passes its check, and makes faults in rounds."""

AUTHORS = {"plain": "ada", "stands": "grace", "wild": "kim"}
UNCOUNTED = {
    "language": "follows from the name of the file",
    "note": "says why a version is not ranked; compared in words where it follows from the ranks",
    "moved": "a sentence; its figures are counted by test_each_figure_of_a_sentence_about_a_move",
    "ranks": "drawn at random; compared with other draws by test_likely_ranks",
}
"""Keys of a row of the ladder that no row of the second way has, and why."""

ELO, NORMAL = 400 / math.log(10), NormalDist()
Pair = tuple[str, str]


class Played(NamedTuple):
    """What the records of some rounds say: tables, wins and faults of versions; a draw is half a win in `share` alone."""

    tables: Counter[str]
    faults: Counter[str]
    met: Counter[Pair]
    won: Counter[Pair]
    share: Mapping[Pair, float]

    @classmethod
    def of(cls, fixtures: Sequence[Any]) -> "Played":
        tables, faults, met, won = Counter[str](), Counter[str](), Counter[Pair](), Counter[Pair]()
        for each in fixtures:
            faults.update({bot: sum(kinds.values()) for bot, kinds in each["faults"].items()})
            for seats, scores in zip(each["seats"], each["scores"], strict=True):
                (first, one), (second, other) = (
                    (each["bots"][seat], points) for seat, points in zip(seats, scores, strict=True)
                )
                for bot, against, ahead in ((first, second, one > other), (second, first, other > one)):
                    tables[bot] += 1
                    met[bot, against] += 1
                    won[bot, against] += ahead
        share = {
            (one, other): won[one, other] + (n - won[one, other] - won[other, one]) / 2
            for (one, other), n in met.items()
        }
        return cls(tables, faults, met, won, share)


class Model:
    """The ratings that follow from tables of two (docs/checking.md, steps 1 to 6)."""

    def __init__(self, played: Played) -> None:
        self.names = sorted(played.tables)
        size = len(self.names)
        self._n, self._won = np.zeros((size, size)), np.zeros((size, size))
        for (one, other), n in played.met.items():
            at = self.names.index(one), self.names.index(other)
            self._n[at], self._won[at] = n, played.share[one, other]
        logs, covariance, drawn = self._fit(np.ones((size, size)), 1.0)
        self.chi2 = self.expected = variance = scale = 0.0
        weight = np.ones((size, size))
        due, even = self._chance(logs), self._chance(logs) * self._chance(logs).T
        met = [(a, b) for a in range(size) for b in range(a) if self._n[a, b]]
        for a, b in met:
            n, e = self._n[a, b], even[a, b]
            free = min(max(1 - n * e * (covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]), 0.0), 1.0)
            self.chi2 += (self._won[a, b] - n * due[a, b]) ** 2 / (n * e)
            self.expected += free
            variance += free**2 * max(2 + (1 - 6 * e) / (n * e), 0.1)
            scale += free**2 * (n - 1) * e
        self.deviation, self.spread = math.sqrt(variance), 0.0
        if self.chi2 - self.expected > 2 * self.deviation and scale > 0:
            own = (self.chi2 - self.expected - self.deviation) / scale
            weight = 1 / (1 + np.maximum(self._n - 1, 0) * even * own)
            self.spread = ELO * math.sqrt(own)
            logs, covariance, _ = self._fit(weight, drawn)
        centre = np.eye(size) - 1 / size
        self.elo, self.covariance = ELO * centre @ logs, ELO**2 * centre @ covariance @ centre

    @staticmethod
    def _chance(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 / (1 + np.exp(logs[None, :] - logs[:, None]))

    def _fit(self, weight: NDArray[np.float64], drawn: float) -> tuple[Any, Any, float]:
        n, won = self._n * weight, self._won * weight
        for _ in range(6):
            logs = np.zeros(len(self.names))
            for _ in range(200):
                chance, alone = self._chance(logs), 1 / (1 + np.exp(-logs))
                known = -n * chance * chance.T
                known += np.diag(drawn * alone * (1 - alone) - known.sum(axis=1))
                step = np.linalg.solve(known, (won - n * chance).sum(axis=1) + drawn * (0.5 - alone))
                logs = logs + step / max(1.0, np.abs(step).max())
            covariance, before = np.linalg.inv(known), drawn
            drawn = min(max(1.0, round(4 / float((logs**2 + covariance.diagonal()).mean()), 3)), 100.0)
            if abs(drawn - before) <= 0.05 * before:
                break
        return logs, covariance, drawn

    def rating(self, label: str) -> float:
        return round(1500 + float(self.elo[self.names.index(label)]), 1)

    def interval(self, label: str) -> float:
        at = self.names.index(label)
        return NORMAL.inv_cdf(0.975) * math.sqrt(self.covariance[at, at])

    def ahead(self, one: str, other: str) -> float:
        a, b = self.names.index(one), self.names.index(other)
        variance = self.covariance[a, a] + self.covariance[b, b] - 2 * self.covariance[a, b]
        return NORMAL.cdf((self.elo[a] - self.elo[b]) / math.sqrt(variance))


class Shown(NamedTuple):
    """A season whose process has ended: its site, each ladder that it has published, and its chain and records."""

    season: TestSeason
    site: Site
    ladders: Mapping[int, Any]  # by round
    chain: Sequence[Any]
    fixtures: Mapping[int, Sequence[Any]]  # by round

    def of(self, kind: str) -> list[Any]:
        return [line[kind] for line in self.chain if kind in line]

    def until(self, number: int) -> Played:
        """Return what all rounds up to one have brought."""
        return Played.of([each for nth, some in self.fixtures.items() if nth <= number for each in some])

    def json(self, path: str, author: str = "") -> Any:
        """Return what an address of the API says, without its schema."""
        headers = {"authorization": f"Bearer {author}"} if author else {}
        found = self.site.get(path, **headers).json
        assert found.pop("schema").startswith("croupier/")
        return found

    @property
    def last(self) -> int:
        return max(self.fixtures)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A season of four versions, of which two are of one author, and a few rounds; one makes faults."""
    place = tmp_path_factory.mktemp("figures")
    season = TestSeason(place / "cup", terms="active = 2")
    season.invite(*AUTHORS.values())
    ladders = dict[int, Any]()

    def rounds() -> int:
        """Return the number of the last ladder, and keep it."""
        if found := season.document("ladder"):
            ladders[found["round"]] = found
        return max(ladders, default=0)

    with season.opened():
        season.submit("grace", "stands", plain_bot("STAND"))
        season.submit("kim", "wild", SOMETIMES_WRONG.encode())
        season.accepted("stands-1", "wild-1")
        season.until(rounds, "a ladder")
        season.submit("ada", "plain", plain_bot("END", "one"))
        season.submit("ada", "plain", plain_bot("END", "another"))
        season.until(lambda: rounds() and season.events("accepted", "ada/plain-2 "), "the verdict")
        until = rounds() + 3
        season.until(lambda: rounds() >= until, "more rounds")
        season.until(lambda: season.document("mine/kim")["faults"], "faults with evidence")
        rounds()
    rounds()
    assert season.croupier("season", "export", place / "public").code == 0
    records = {int(path.stem): lines(path) for path in sorted((place / "public/rounds").iterdir())}
    fixtures = {number: [line["fixture"] for line in found if "fixture" in line] for number, found in records.items()}
    with serving_season(season.folder) as site:
        rows = site.get("/api/rounds").json["rows"]  # the export may have what has happened after the last publication
        listed, over = rows[0]["number"], max(row["number"] for row in rows if row["state"] == "finished")
        chain = [
            line
            for line in lines(place / "public/chain.ndjson")
            if line.get("list", line).get("number", 0) <= listed and line.get("round", line).get("number", 0) <= over
        ]
        kept = {number: some for number, some in fixtures.items() if number <= over}
        yield Shown(season, site, ladders, chain, kept)


# The ladder.


def rows_of(shown: Shown, number: int) -> list[dict[str, Any]]:
    """Return the rows of the ladder after a round, without the keys of UNCOUNTED."""
    played = shown.until(number)
    models = {nth: Model(shown.until(nth)) for nth in shown.fixtures if nth <= number}
    model, best = models[number], dict[str, str]()
    labels = sorted(played.tables, key=lambda label: (-model.rating(label), label))
    for label in labels:
        best.setdefault(AUTHORS[label[:-2]], label)
    ranked = [label for label in labels if label in best.values()]
    ranks = {label: rank for rank, label in enumerate(ranked, 1)}
    after = dict(pairwise(ranked))
    rows = list[dict[str, Any]]()
    for label in labels:
        bot, _, version = label.rpartition("-")
        near = sum(n for (one, other), n in played.met.items() if one == label and {one, other} <= {*ranked})
        rows.append(
            {"rank": ranks.get(label, 0), "label": label, "bot": bot, "number": int(version), "author": AUTHORS[bot]}
            | {"rating": pytest.approx(model.rating(label), abs=0.11), "tables": played.tables[label]}
            | {"interval": pytest.approx(model.interval(label), abs=0.11), "faults": played.faults[label]}
            | {"tried": sum(each["label"].startswith(f"{bot}-") for each in shown.of("version"))}
            | {
                "history": [
                    pytest.approx(each.rating(label), abs=0.11) for each in models.values() if label in each.names
                ]
            }
            | {"ahead": pytest.approx(model.ahead(label, after[label]), abs=1e-3) if label in after else None}
            | {"neighbours": round(near / played.tables[label], 3)}
        )
    return rows


@pytest.mark.long
def test_each_key_of_a_row_of_the_ladder_is_counted(shown: Shown) -> None:
    ladder = shown.json("/api/ladder")
    assert ladder["round"] == shown.last and {*ladder} == {"round", "at", "rows", "fit", "outside"}
    assert [{key: value for key, value in row.items() if key not in UNCOUNTED} for row in ladder["rows"]] == rows_of(
        shown, shown.last
    )
    assert all(row.keys() >= UNCOUNTED.keys() for row in ladder["rows"])
    assert ladder["at"] == next(each["ended"] for each in shown.of("round") if each["number"] == shown.last)
    assert len(ladder["rows"]) == 4 and any(row["faults"] for row in ladder["rows"])
    (below,) = (row for row in ladder["rows"] if not row["rank"])
    ahead = next(row["label"] for row in ladder["rows"] if row["author"] == "ada" and row["rank"])
    assert below["note"] == f"not ranked: {ahead} of the same author is ahead"


@pytest.mark.long
def test_each_ladder_follows_from_the_rounds_before_it(shown: Shown) -> None:
    assert len(shown.ladders) >= 3
    for number, ladder in shown.ladders.items():
        found = [{key: value for key, value in row.items() if key not in UNCOUNTED} for row in ladder["rows"]]
        for row, true in zip(found, rows_of(shown, number), strict=True):
            assert {**row, "tried": 0, "history": [*row["history"]]} == {**true, "tried": 0}, number


@pytest.mark.long
def test_likely_ranks_and_the_sentences_of_a_ladder_follow_from_its_ratings(shown: Shown) -> None:
    ladder, model = shown.json("/api/ladder"), Model(shown.until(shown.last))
    ranked = [row for row in ladder["rows"] if row["rank"]]
    at = [model.names.index(row["label"]) for row in ranked]
    draws = np.random.default_rng(7).multivariate_normal(model.elo[at], model.covariance[np.ix_(at, at)], 20_000)
    ranks = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
    for nth, row in enumerate(ranked):
        best, worst = row["ranks"]
        assert best <= row["rank"] <= worst
        assert (ranks[:, nth] < best).mean() < 0.045 and (ranks[:, nth] > worst).mean() < 0.045
        assert (ranks[:, nth] <= best).mean() > 0.005 and (ranks[:, nth] >= worst).mean() > 0.005
    assert all(row["ranks"] == [0, 0] for row in ladder["rows"] if not row["rank"])
    assert ladder["outside"] == ""  # fewer are ranked than there are first places
    found = re.search(r"\(chi² (\d+), (\d+) ± (\d+) expected\)", ladder["fit"])
    assert bool(found) == (model.expected >= 1)
    if found:
        true = (model.chi2, model.expected, model.deviation)
        assert [*map(float, found.groups())] == pytest.approx(true, abs=0.51)
        sure = NORMAL.cdf((model.chi2 - model.expected) / model.deviation)
        assert ("does not describe" in ladder["fit"]) == (sure >= 0.99)
    if spread := re.search(r"by about (\d+) Elo", ladder["fit"]):
        assert float(spread[1]) == pytest.approx(model.spread, abs=0.51)


def spelled(number: float, decimals: int = 0) -> str:
    """Return a number as pages spell it, with thin spaces between thousands."""
    return f"{number:,.{decimals}f}".replace(",", "\u202f")


RESULT = re.compile(
    r"(\S+) (won|lost) ([\d.\u202f]+) of ([\d\u202f]+) tables? against (\S+|new versions) \(([\d.\u202f]+) expected\)"
)


@pytest.mark.long
def test_each_figure_of_a_sentence_about_a_move(shown: Shown) -> None:
    seen = Counter[str]()
    for number, ladder in shown.ladders.items():
        before = shown.ladders.get(number - 1)
        old = {row["label"]: row for row in before["rows"]} if before else {}
        now = {row["label"]: row for row in ladder["rows"]}
        if before is None and number > 1:
            continue  # this test has not seen the ladder before it
        last = Played.of(shown.fixtures[number])
        for label, row in now.items():
            sentence = row["moved"]
            if label not in old:
                assert sentence == f"new: its first {spelled(last.tables[label])} tables"
                seen["new"] += 1
                continue
            if found := re.match(r"moved from (\d)(st|nd|rd|th) because ", sentence):
                assert int(found[1]) == old[label]["rank"] != row["rank"]
            elif found := re.match(r"([+-]\d+) Elo because ", sentence):
                assert int(found[1]) == round(row["rating"] - old[label]["rating"])
            else:
                assert sentence == "" and abs(row["rating"] - old[label]["rating"]) < 0.5, sentence
            seen["moved"] += bool(sentence)
            if result := RESULT.search(sentence):
                who = label if result[1] == "it" else result[1]
                new = result[5] == "new versions"
                against = [b for a, b in last.met if a == who and (b not in old if new else b == result[5])]
                n = sum(last.met[who, other] for other in against)
                won, due = 0.0, 0.0
                for other in against:
                    known = old if {who, other} <= old.keys() else now
                    lead = known[who]["rating"] - known[other]["rating"]
                    won += last.share[who, other]
                    due += last.met[who, other] / (1 + math.exp(-lead / ELO))
                if result[2] == "lost":
                    won, due = n - won, n - due
                told = [float(result[nth].replace("\u202f", "")) for nth in (3, 4, 6)]
                assert told == [won, n, pytest.approx(due, abs=0.051)], sentence
                seen["result"] += 1
            rest = re.sub(r"\b(plain|stands|wild)-\d", "", RESULT.sub("", sentence)[len(found[0]) if found else 0 :])
            assert not re.search(r"\d", rest), sentence
    assert seen["new"] >= 2 and seen["moved"], seen


# Rounds, bots and authors.


@pytest.mark.long
def test_each_figure_of_a_round(shown: Shown) -> None:
    listed = {each["number"]: each for each in shown.of("list")}
    over = {each["number"]: each for each in shown.of("round")}
    rows = shown.json("/api/rounds")["rows"]
    assert [row["number"] for row in rows] == sorted(listed, reverse=True)
    for row in rows:
        number = row["number"]
        document, played = shown.json(f"/api/rounds/{number}"), Played.of(shown.fixtures.get(number, []))
        assert document["row"] == row and {*document} == {"row", "meetings", "report"}
        if number not in over:
            assert (row["state"] in ("waiting", "running"), row["seal"], row["seed"], row["faults"]) == (
                True,
                "",
                "",
                0,
            )
            assert row["tables"] == sum(tables for _, tables in listed[number]["meetings"])
            continue
        known = {key: over[number][key] for key in ("began", "ended", "seal", "seed")}
        assert row == known | {
            "number": number,
            "state": "finished",
            "versions": len(listed[number]["players"]),
            "tables": played.tables.total() // 2,
            "faults": played.faults.total(),
            "uniform": number % 5 == 0,
            "note": "",
        }
        met = [pair for pair in sorted(played.met) if pair[0] < pair[1]]
        faults = Counter[tuple[Pair, str]]()
        for each in shown.fixtures[number]:
            one, other = sorted(each["bots"])
            faults.update({((one, other), bot): sum(kinds.values()) for bot, kinds in each["faults"].items()})
        assert document["meetings"] == [
            {"labels": [one, other], "tables": played.met[one, other]}
            | {"won": [played.won[one, other], played.won[other, one]]}
            | {"faults": [faults[(one, other), one], faults[(one, other), other]]}
            for one, other in met
        ]


def versions_of(shown: Shown, bot: str) -> list[dict[str, Any]]:
    """Return the rows of the versions of a bot, newest first."""
    played, model = shown.until(shown.last), Model(shown.until(shown.last))
    costs = {player["label"]: player["cost"] for player in shown.of("list")[-1]["players"]}
    slow = {
        label: f"plays fewer tables, because one takes {cost:.0f} times as long as usual"
        for label, cost in costs.items()
        if cost >= 4
    }
    return [
        {"label": each["label"], "number": int(each["label"].rpartition("-")[2]), "sha256": each["sha256"]}
        | {
            "language": "python",
            "entered": each["entered"],
            "active": True,
            "note": "",
            "slow": slow.get(each["label"], ""),
        }
        | {"rating": pytest.approx(model.rating(each["label"]), abs=0.11)}
        | {"interval": pytest.approx(model.interval(each["label"]), abs=0.11)}
        | {"tables": played.tables[each["label"]], "faults": played.faults[each["label"]]}
        for each in reversed(shown.of("version"))
        if each["label"].startswith(f"{bot}-")
    ]


@pytest.mark.long
@pytest.mark.parametrize("bot", AUTHORS)
def test_each_figure_of_a_bot(shown: Shown, bot: str) -> None:
    found, played = shown.json(f"/api/bots/{bot}"), shown.until(shown.last)
    replays, playing = found.pop("replays"), found["versions"][0]["label"]
    met = sorted((-n, other) for (one, other), n in played.met.items() if one == playing)
    assert found == {"bot": bot, "author": AUTHORS[bot], "versions": versions_of(shown, bot)} | {
        "opponents": [{"label": other, "tables": -n, "won": played.won[playing, other]} for n, other in met]
    }
    rounds = [number for number, some in shown.fixtures.items() if any(playing in each["bots"] for each in some)]
    assert [*replays] == [number for number in sorted(rounds, reverse=True) if number in replays]
    assert {shown.site.get(f"/rounds/{number}/report").status for number in replays} <= {200}


@pytest.mark.long
@pytest.mark.parametrize(("bot", "author"), AUTHORS.items())
def test_each_figure_of_an_authors_own_page(shown: Shown, bot: str, author: str) -> None:
    mine, played = shown.json("/api/mine", author), shown.until(shown.last)
    assert {*mine} == {"author", "submissions", "versions", "faults", "tables", "quota", "messages", "answers"}
    assert sorted(mine["versions"], key=lambda each: -each["number"]) == versions_of(shown, bot)
    handed_in = [each for each in shown.of("version") if each["label"].startswith(f"{bot}-")]
    assert [row["size"] for row in mine["submissions"]] == [
        (shown.season.folder / "uploads" / each["file"]).stat().st_size for each in reversed(handed_in)
    ]
    assert [(row["at"], row["place"]) for row in mine["submissions"]] == [
        (each["handed_in"], 0) for each in reversed(handed_in)
    ]
    assert bool(mine["faults"]) == bool(sum(played.faults[each["label"]] for each in handed_in))
    shared = Counter[tuple[int, str, str, str]]()
    for fault in mine["faults"]:
        found = re.fullmatch(r"round (\d+), (\S+), table (\d+)", fault["where"])
        assert found, fault["where"]
        (each,) = (each for each in shown.fixtures[int(found[1])] if each["path"] == found[2])
        assert 0 < int(found[3]) <= each["tables"]
        shared[int(found[1]), found[2], fault["label"], fault["kind"]] += 1
        assert (
            shared[int(found[1]), found[2], fault["label"], fault["kind"]]
            <= each["faults"][fault["label"]][fault["kind"]]
        )
    with_processor_time = "processor time in the last hour"  # measured; it is no figure of the journals
    assert mine["quota"] == {
        "submissions without a verdict": "0 of 5",
        "submissions in the last hour": f"{len(handed_in)} of 20",
        "versions": f"{len(handed_in)} of 1000",
        with_processor_time: mine["quota"][with_processor_time],
    }


@pytest.mark.long
@pytest.mark.parametrize(("bot", "author"), AUTHORS.items())
def test_the_own_tables_of_an_author_have_the_scores_of_the_records(shown: Shown, bot: str, author: str) -> None:
    numbers = shown.season.document(f"mine/{author}")["tables"]
    assert [*numbers] == sorted(numbers, reverse=True) and numbers
    for nth, number in enumerate(numbers, 1):
        reply = shown.site.get(f"/api/mine/tables/{nth}", authorization=f"Bearer {author}")
        scores = [event["scores"] for line in reply.text.splitlines() if "scores" in (event := json.loads(line))]
        own = [
            each["scores"]
            for each in shown.fixtures[number]
            if any(label.startswith(f"{bot}-") for label in each["bots"])
        ]
        true = [score for some in own for score in some]
        assert scores and Counter(map(tuple, scores)) <= Counter(map(tuple, true)), number


@pytest.mark.long
def test_the_status_of_a_season_counts_what_the_chain_has(shown: Shown) -> None:
    status = shown.season.croupier("season", "status", "--json").json
    (terms, *_), over, began = (
        shown.of("terms"),
        shown.of("round"),
        [row for row in shown.json("/api/rounds")["rows"] if row["began"]],
    )
    counted = {
        "round": began[0]["number"],
        "bots": len({each["label"].rpartition("-")[0] for each in shown.of("version")}),
        "versions": len(shown.of("version")),
        "waiting": 0,
    }
    site = shown.json("/api/season")
    assert {key: site[key] for key in counted} == counted and site["active"] == 2
    next_round, now = status.pop("next_round"), status.pop("now")
    assert next_round == site["next_round"] and now == site["now"]
    del status["schema"]
    assert status == counted | {
        "season": "Cup of tests",
        "state": "open",
        "running": None,
        "freeze": None,
        "last_finished": over[-1]["number"],
        "seal": over[-1]["seal"],
        "damaged": [],
        "seed_sha256": terms["seed_sha256"],
    }


# Pages.


def cells(page: str, region: str) -> list[list[str]]:
    """Return the cells of a table as text: of each row below its head."""
    table = page.partition(f'aria-label="{region}"')[2].partition("</table>")[0].partition("<tbody>")[2]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in table.split("</tr>")]
    return [[text(cell) for cell in row] for row in rows if row]


def text(page: str) -> str:
    return re.sub("[ \n]+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page))).strip()  # thin spaces stay


def sure(probability: float | None) -> str:
    if probability is None:
        return "–"
    return ">99 %" if probability > 0.995 else f"{100 * probability:.0f} %"


@pytest.mark.long
def test_the_page_of_the_ladder_spells_its_figures(shown: Shown) -> None:
    page, ladder = shown.site.get("/").text, shown.json("/api/ladder")
    rows = ladder["rows"]
    for row, found in zip(rows, cells(page, "Ladder"), strict=True):
        best, worst = row["ranks"]
        ranks = str(best) if best == worst else f"{best}–{worst}"
        rank, label, rating, _, interval, likely, ahead, _, tables, faults, tried, language = found
        assert (rank, likely) == ((str(row["rank"]), ranks) if row["rank"] else ("–", "–"))
        assert label.startswith(row["label"]) and row["moved"] in label
        assert (rating, interval) == (spelled(round(row["rating"])), spelled(round(row["interval"])))
        assert (ahead, tables, faults) == (sure(row["ahead"]), spelled(row["tables"]), spelled(row["faults"]))
        assert (tried, language) == (str(row["tried"]), "python")
        first, last = (spelled(round(row["history"][nth])) for nth in (0, -1))
        if len(row["history"]) > 1:
            assert f"rating from {first} to {last} in {len(row['history'])} rounds" in page
    words, first = text(page), rows[0]
    assert f"{first['label']} by {first['author']} leads after round {shown.last}" in words
    shown_pairs = re.findall(r"(\S+) ahead of (\S+): (>?\d+ %) sure", words)
    ranked = [row for row in rows if row["rank"]]
    assert shown_pairs == [(one["label"], other["label"], sure(one["ahead"])) for one, other in pairwise(ranked)]
    assert 0 < [row["rank"] for row in rows].index(0) < len(rows) - 1  # a version without a rank stands between others
    site = shown.json("/api/season")
    assert f"Bots {site['bots']} {site['versions']} versions" in words and "Waiting 0 submissions" in words


@pytest.mark.long
def test_the_pages_of_rounds_and_bots_spell_their_figures(shown: Shown) -> None:
    for row in shown.json("/api/rounds")["rows"]:
        page = shown.site.get(f"/rounds/{row['number']}").text
        words = text(page)
        assert f"Versions {row['versions']} Tables {spelled(row['tables'])} " in words
        assert f"Faults {spelled(row['faults'])} " in words
        assert cells(page, "Meetings") == [
            [
                " · ".join(each["labels"]),
                spelled(each["tables"]),
                *(" : ".join(map(spelled, each[key])) for key in ("won", "faults")),
            ]
            for each in shown.json(f"/api/rounds/{row['number']}")["meetings"]
        ]
    ladder = {row["label"]: row for row in shown.json("/api/ladder")["rows"]}
    for bot in AUTHORS:
        page, found = shown.site.get(f"/bots/{bot}").text, shown.json(f"/api/bots/{bot}")
        assert cells(page, "Opponents") == [
            [
                each["label"],
                spelled(each["tables"]),
                spelled(each["won"]),
                f"{100 * each['won'] / each['tables']:.1f} %",
            ]
            for each in found["opponents"]
        ]
        assert [[row[0], *row[2:6]] for row in cells(page, "Versions")] == [
            version_cells(each) for each in found["versions"]
        ]
        row = next(row for row in ladder.values() if row["bot"] == bot)
        ranks = "rank {}" if row["ranks"][0] == row["ranks"][1] else "rank {} to {}"
        near = f"{100 * row['neighbours']:.0f} % of its {spelled(row['tables'])} tables were against neighbours."
        figures = f"{spelled(round(row['rating']))} ± {spelled(round(row['interval']))}"
        assert (
            f"{row['label']} has rank {row['rank']} with {figures} ({ranks.format(*row['ranks'])} is likely); {near}"
            in text(page)
        )


def version_cells(row: Any) -> list[str]:
    """Return label, rating, interval, tables and faults of a version as pages spell them."""
    rated = [spelled(round(row[key])) for key in ("rating", "interval")]
    return [row["label"], *rated, spelled(row["tables"]), spelled(row["faults"])]


@pytest.mark.long
def test_the_page_of_an_author_spells_its_figures(shown: Shown) -> None:
    for author in AUTHORS.values():
        browser, mine = Browser(shown.site), shown.json("/api/mine", author)
        assert browser.get(f"/a/{author}").status == 303
        page = browser.get("/mine?all=1").text
        for row, found in zip(mine["versions"], cells(page, "Versions"), strict=True):
            label, rating, interval, tables, faults = version_cells(row)
            assert (found[0], found[2:5]) == (label, [f"{rating} ± {interval}", tables, faults])
        assert page.count('<details class="faults">') == len(mine["faults"])
        assert [row[4] for row in cells(page, "Submissions")] == [f"{row['size']} B" for row in mine["submissions"]]
