"""Checks a season: `python3 check.py [FOLDER or chain.ndjson] [SEAL ...]`. The seals were published while it ran."""

import hashlib, hmac, json, math, pathlib, statistics, sys, time
from collections import Counter, defaultdict
from functools import cached_property
from itertools import combinations, groupby
from operator import mul
from typing import Any

NOT_CHECKED = [
    "whether the scores follow from the answers, and each list from what the scheduler was given: `croupier season verify` does",
    "likely ranks, the chance of the first places and the sentences of the ladder, which are drawn or told from the same figures",
    "whether a submission was refused, or a bot withdrawn or taken off the ladder, for the reason given",
]
ELO = 400 / math.log(10)
PRIOR_STEPS, PRIOR_PART, FEWEST_DRAWN, MOST_DRAWN = 6, 0.05, 1.0, 100.0


def expect(found: Any, value: Any, what: str, near: float = 0.0) -> None:
    """End the program with a message about `what` if `found` differs from `value` by more than `near`."""
    if found != value and not (near and None not in (found, value) and abs(found - value) <= near):
        sys.exit(f"✗ {what} is {found}, but {value} follows from the chain")


def sha256(data: bytes) -> str:
    """Return a SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def chain_of(path: pathlib.Path, published: list[str]) -> tuple[list[Any], str]:
    """Return the lines of a chain as pairs of kind and content, and the last seal.

    The seal of a line is its SHA-256. Each line holds the seal of the line before it. End the program if a line does
    not, or if a `published` seal belongs to no line.
    """
    lines, seals = path.read_bytes().splitlines(True), [""]
    for number, line in enumerate(lines, 1):
        if not line.startswith(b'{"before":"%s",' % seals[-1].encode()):
            sys.exit(
                f"✗ {path.name}: line {number} does not follow line {number - 1}: one is changed, or some are missing"
            )
        seals.append(sha256(line))
    for seal in {*published} - {*seals}:
        sys.exit(f"✗ {path.name}: no line has the seal {seal}")
    return [next((key, value) for key, value in json.loads(line).items() if key != "before") for line in lines], seals[
        -1
    ]


# The chain.


def check_order(lines: list[Any]) -> None:
    """Check that a round's list comes before its result, that rounds are in order, and that a label has one program."""
    due, listed, labels = 1, set[int](), dict[str, str]()
    for kind, each in lines:
        if kind == "list":
            expect(each["number"], len(listed) + 1, "the number of a list")
            expect(each["terms"]["number"], each["number"], f"round {each['number']}: the number in its terms")
            listed.add(each["number"])
        elif kind == "round":
            expect(each["number"], due, "the number of a round")
            expect(due in listed, True, f"whether round {due} was listed before it was played,")
            due += 1
        elif kind == "version":
            expect(each["sha256"], labels.setdefault(each["label"], each["sha256"]), f"the program of {each['label']}")
            expect(
                each["entered"] >= each["handed_in"],
                True,
                f"whether {each['label']} was handed in before it was entered,",
            )


def check_seeds(season: str, opening: Any, lists: dict[int, Any], rounds: list[Any], final: Any) -> None:
    """Check that each seed has the published hash and, if the season's seed is known, that all seeds follow from it."""
    for each in rounds:
        if each["seed"]:
            hash_ = sha256(bytes.fromhex(each["seed"]))
            expect(hash_, lists[each["number"]]["seed_sha256"], f"round {each['number']}: the hash of its seed")
    if final:
        expect(final["seed_sha256"], opening["final_sha256"], "the hash of the final's seed")
    if not season:
        NOT_CHECKED.append("whether the seeds follow from that of the season, which is secret until the final is over")
        return
    expect(sha256(bytes.fromhex(season)), opening["seed_sha256"], "the hash of the season's seed")
    expect(sha256(derived(season, "final")), opening["final_sha256"], "the hash of the final's seed")
    for number, each in lists.items():
        expect(sha256(derived(season, f"round/{number}")), each["seed_sha256"], f"round {number}: the hash of its seed")


def derived(seed: str, path: str) -> bytes:
    """Return the seed that follows from the season's seed (hexadecimal) and a path such as "round/12"."""
    return hmac.new(bytes.fromhex(seed), path.encode(), "sha256").digest()[:16]


def check_sums(number: int, sums: Any, listed: Any) -> None:
    """Check that the sums of a round agree with each other and with its list of meetings."""
    players = {player["label"] for player in listed["players"]}
    tables, faults, weights = Counter[str](), Counter[str](), Counter[tuple[str, ...]]()
    planned = Counter[tuple[str, ...]]()
    for labels, number_of_tables in listed["meetings"]:
        planned[tuple(sorted(labels))] += number_of_tables
    for each in sums["meetings"]:
        who = tuple(each["labels"])
        expect({*who} <= players, True, f"round {number}: whether {' and '.join(who)} were listed,")
        expect(each["tables"], planned.pop(who, None), f"round {number}: the tables of {' and '.join(who)}")
        tables.update(dict.fromkeys(who, each["tables"]))
        faults.update({label: count for label, count in zip(who, each["faults"]) if count})
    for who in planned:
        NOT_CHECKED.append(f"why {' and '.join(who)} have not met in round {number}, as they were listed to")
    expect(sums["tables"], dict(sorted(tables.items())), f"round {number}: the tables")
    expect(
        {label: count for label, count in sums["faults"].items() if count}, dict(faults), f"round {number}: the faults"
    )
    for order, times in sums["orders"]:
        weights[tuple(sorted(label for equal in order for label in equal))] += times
    expect(
        weights.keys() <= {tuple(each["labels"]) for each in sums["meetings"]},
        True,
        f"round {number}: the orders' labels",
    )


def check_records(path: pathlib.Path, each: Any, listed: Any, hashes: dict[str, str], winners: str) -> None:
    """Check the seal, the seed's hash and the programs in a round's records, and that its sums follow from them."""
    number, (lines, seal) = each["number"], chain_of(path, [])
    expect(seal, each["seal"], f"round {number}: the seal of its records")
    terms = [line for kind, line in lines if kind == "terms"]
    for line in terms:
        expect(line["seed_sha256"], listed["seed_sha256"], f"round {number}: the hash of the seed in its records")
    met, orders, whole = dict[tuple[str, ...], Any](), Counter[str](), True
    for line in [line for kind, line in lines if kind == "version" and line["name"] in hashes]:
        expect(line["sha256"], hashes[line["name"]], f"round {number}: the program of {line['name']}")
    for line in [line for kind, line in lines if kind == "fixture"]:
        who = tuple(sorted(line["bots"]))
        found = met.setdefault(who, {"tables": 0, "won": Counter(), "faults": Counter()})
        found["faults"].update({bot: sum(kinds.values()) for bot, kinds in line["faults"].items()})
        whole = whole and (len(who) == 2 or line["plan"] in ("mirrored", "independent"))
        for seats, scores in zip(line["seats"], line["scores"]):
            ends = {line["bots"][seat]: points for seat, points in zip(seats, scores)}
            best = winners == "best" or max(ends.values()) > min(ends.values())
            won = [bot for bot in who if winners != "none" and best and ends[bot] == max(ends.values())]
            found["won"].update(won)
            found["tables"] += 1
            if len(who) == 2:  # if both have won, the table is counted in each order, and once less as equal
                orders.update(json.dumps([[bot], [other]]) for bot in won for other in who if other != bot)
                orders[json.dumps([[*who]])] += 1 - len(won)
                continue
            ranked = sorted(ends, key=lambda bot: (-ends[bot], bot))
            orders[json.dumps([[*equal] for _, equal in groupby(ranked, key=ends.__getitem__)])] += 1
    counted = [
        {"labels": [*who], "tables": found["tables"], "won": [found["won"][bot] for bot in who],
         "faults": [found["faults"][bot] for bot in who]}
        for who, found in sorted(met.items())
    ]  # fmt: skip
    expect(each["sums"]["meetings"], counted, f"round {number}: the list of meetings")
    if whole:
        said = sorted([json.dumps(order), times] for order, times in each["sums"]["orders"])
        expect(said, sorted([order, times] for order, times in orders.items() if times), f"round {number}: the orders")
    else:
        NOT_CHECKED.append(f"round {number}: the orders, because its tables are tourneys of several")


def check_entries(entries: Any, final: Any, hashes: dict[str, str], lines: list[Any]) -> None:
    """Check that the entries are versions of the chain, and that the digest that binds the final follows from them."""
    for each in entries["entries"]:
        expect(each["sha256"], hashes.get(each["label"]), f"the program of the entry {each['label']}")
    expect(digest([each["sha256"] for each in entries["entries"]]), entries["digest"], "the digest of the entries")
    labels = [each["label"] for each in entries["entries"]]
    print(f"✓ {len(labels)} entries, digest {entries['digest']}")
    if not final:
        return
    gone = [label for label in labels if label not in final["entries"]]
    withdrawn = {each["subject"] for kind, each in lines if kind == "change" and each["kind"] == "withdraw"}
    for label in gone:
        expect(
            label.rpartition("-")[0] in withdrawn, True, f"whether {label}, which is not in the final, was withdrawn,"
        )
    expect(final["entries"], [label for label in labels if label not in gone], "the list of the final")
    expect(digest([hashes[label] for label in final["entries"]]), final["digest"], "the digest of the final")
    print(f"✓ the final has all entries{' but ' + ', '.join(gone) if gone else ''}: digest {final['digest']}")


def digest(hashes: list[str]) -> str:
    """Return the SHA-256 over hexadecimal hashes in ascending order, without duplicates."""
    return sha256(b"".join(sorted({bytes.fromhex(each) for each in hashes})))


# The ladder (docs/checking.md).


class Covariance:
    """The inverse of a symmetric, positive definite matrix K, by Cholesky: K = L·Lᵀ.

    Elements are computed only when they are needed.
    """

    def __init__(self, matrix: list[list[float]]) -> None:
        self._rows = rows = list[list[float]]()  # of L
        for row in matrix:
            own = list[float]()
            for value, other in zip(row, rows):
                own.append((value - sum(map(mul, own, other))) / other[len(own)])
            own.append(math.sqrt(row[len(own)] - sum(map(mul, own, own))))
            rows.append(own)

    def times(self, values: list[float]) -> list[float]:
        """Return the product of the inverse with a vector: the solution x of K·x = values."""
        found = self._forward(values, 0)
        for nth in reversed(range(len(found))):
            found[nth] = value = found[nth] / self._rows[nth][nth]
            for at, other in enumerate(self._rows[nth][:nth]):
                found[at] -= other * value
        return found

    def _forward(self, values: list[float], start: int) -> list[float]:
        """Return the solution y of L·y = values, from index `start` on. Before `start`, `values` and y are 0."""
        found = list[float]()
        for value, row in zip(values[start:], self._rows[start:]):
            found.append((value - sum(map(mul, row[start:], found))) / row[-1])
        return found

    @cached_property
    def _columns(self) -> list[list[float]]:
        """Return the columns of the inverse of L, each without the zeros above the diagonal."""
        size = len(self._rows)
        return [self._forward([float(nth == at) for at in range(size)], nth) for nth in range(size)]

    def __call__(self, one: int, other: int) -> float:
        """Return the element of the inverse in row `one` and column `other`."""
        first, second = sorted((one, other))
        return float(sum(map(mul, self._columns[first][second - first :], self._columns[second])))


def strengths(sets: Any, chosen: list[float], drawn: float, logs: list[float]) -> tuple[list[float], Covariance]:
    """Return the most likely log strengths and their covariance, by Newton's method, which begins at `logs`.

    `sets` has the number of choices from each set of versions, and `chosen` how often each version was chosen. As a
    prior, each version has `drawn` drawn tables against an opponent of strength 1.
    """
    size, step = len(chosen), 1.0
    while True:
        slope = [count + drawn * (0.5 - 1 / (1 + math.exp(-log))) for count, log in zip(chosen, logs)]
        known = [[0.0] * size for _ in logs]
        for nth, log in enumerate(logs):
            known[nth][nth] = drawn / (2 + math.exp(log) + math.exp(-log))
        for these, times in sets.items():
            whole = sum(math.exp(logs[nth]) for nth in these)
            share = {nth: math.exp(logs[nth]) / whole for nth in these}
            for nth in these:
                slope[nth] -= times * share[nth]
                for other in these:
                    known[nth][other] += times * share[nth] * ((nth == other) - share[other])
        covariance = Covariance(known)
        if step <= 1e-9:
            return logs, covariance
        steps = covariance.times(slope)
        step = max(map(abs, steps))
        logs = [log + each / max(1.0, step) for log, each in zip(logs, steps)]


def fitted(orders: dict[Any, float], names: list[str], drawn: float) -> tuple[list[float], Covariance, float]:
    """Return the log strengths in the order of `names`, their covariance, and the number of drawn tables of the prior.

    `orders` has the number of times that each order of versions occurred. `drawn` is the first value for the prior.
    """
    number, sets = {name: nth for nth, name in enumerate(names)}, defaultdict[Any, float](float)
    chosen = [0.0] * len(names)
    for order, times in orders.items():
        left = [number[name] for equal in order for name in equal]
        for equal in order:
            tied, left = left[: len(equal)], left[len(equal) :]
            for count in range(1, len(tied) + 1):
                for some in combinations(tied, count) if count + len(left) > 1 else ():
                    part = times / math.comb(len(tied), count)
                    sets[tuple(sorted((*some, *left)))] += part
                    for nth in some:
                        chosen[nth] += part / count
    logs = [0.0] * len(names)
    for _ in range(PRIOR_STEPS):
        logs, covariance = strengths(sets, chosen, drawn, logs)
        before, variance = drawn, sum(log * log + covariance(nth, nth) for nth, log in enumerate(logs)) / len(logs)
        drawn = min(max(FEWEST_DRAWN, round(4 / variance, 3)), MOST_DRAWN)
        if abs(drawn - before) <= PRIOR_PART * before:
            break
    return logs, covariance, drawn


def ratings(orders: dict[Any, float]) -> tuple[dict[str, float], Any]:
    """Return the ratings in Elo by label (mean 0), and a function for the covariance of two labels' ratings in Elo².

    `orders` has the number of times that each order of versions occurred in all rounds.
    """
    names = sorted({name for order in orders for equal in order for name in equal})
    number, pairs = {name: nth for nth, name in enumerate(names)}, defaultdict[Any, list[float]](lambda: [0.0, 0.0])
    for order, times in orders.items():
        placed = sorted((number[name], place) for place, equal in enumerate(order) for name in equal)
        for (one, first), (other, second) in combinations(placed, 2):
            pairs[one, other][0] += times
            pairs[one, other][1] += times * (0.5 if first == second else first < second)
    logs, covariance, drawn = fitted(orders, names, FEWEST_DRAWN)
    chi2 = expected = variance = scale = 0.0
    for (one, other), (tables, won) in pairs.items():
        chance = 1 / (1 + math.exp(logs[other] - logs[one]))
        even = chance * (1 - chance)
        between = covariance(one, one) + covariance(other, other) - 2 * covariance(one, other)
        free = min(max(1 - tables * even * between, 0.0), 1.0)
        chi2, expected = chi2 + (won - tables * chance) ** 2 / (tables * even), expected + free
        variance += free**2 * max(2 + (1 - 6 * even) / (tables * even), 0.1)
        scale += free**2 * (tables - 1) * even
    surplus, deviation = chi2 - expected, math.sqrt(variance)
    if surplus > 2 * deviation and scale > 0:
        spread, weight = (surplus - deviation) / scale, {}
        for (one, other), (tables, _) in pairs.items():
            chance = 1 / (1 + math.exp(logs[other] - logs[one]))
            weight[one, other] = 1 / (1 + max(tables - 1, 0) * chance * (1 - chance) * spread)
        lighter = {}
        for order, times in orders.items():
            both = [*combinations(sorted(number[name] for equal in order for name in equal), 2)]
            lighter[order] = times * sum(weight[each] for each in both) / len(both)
        logs, covariance, _ = fitted(lighter, names, drawn)
    size, mean = len(names), sum(logs) / len(names)
    rows = covariance.times([1 / size] * size)

    def between_of(one: str, other: str) -> float:
        first, second = number[one], number[other]
        return ELO**2 * (covariance(first, second) - rows[first] - rows[second] + sum(rows) / size)

    return {name: ELO * (log - mean) for name, log in zip(names, logs)}, between_of


def check_ladder(ladder: Any, rounds: list[Any], authors: dict[str, str]) -> None:
    """Check that the rows of the ladder follow from the sums of all rounds up to the round of the ladder."""
    orders, tables, faults, number = Counter[Any](), Counter[str](), Counter[str](), ladder["round"]
    for each in rounds:
        if each["number"] <= number and each["state"] == "finished":
            orders.update({tuple(map(tuple, order)): times for order, times in each["sums"]["orders"]})
            tables.update(each["sums"]["tables"])
            faults.update(each["sums"]["faults"])
    over = [each["number"] for each in rounds if each["state"] == "finished"]
    expect(number in over, True, "whether the ladder is that after a round,")
    if number != over[-1]:
        print(f"! the ladder is that after round {number}, and round {over[-1]} is over")
    elo, covariance = ratings({order: times for order, times in orders.items() if times})
    rows, best, ranked = ladder["rows"], dict[str, str](), list[Any]()
    expect(
        sorted(row["label"] for row in rows), sorted(elo.keys() & authors.keys()), "the list of versions of the ladder"
    )
    for row in rows:
        label, author = row["label"], row["author"]
        expect(author, authors[label], f"the author of {label}")
        ahead = f"not ranked: {best.get(author)} of the same author is ahead"
        if row["note"] in ("", ahead):
            expect(row["note"], ahead if author in best else "", f"the note of {label}")
        if not row["note"]:
            best[author] = label
            ranked.append(row)
        expect(row["rank"], len(ranked) * (not row["note"]), f"the rank of {label}")
        expect(row["rating"], round(1500 + elo[label], 1), f"the rating of {label}", 0.11)
        half = statistics.NormalDist().inv_cdf(0.975) * math.sqrt(max(covariance(label, label), 0.0))
        expect(row["interval"], round(half, 1), f"the interval of {label}", 0.11)
        expect(
            (row["tables"], row["history"][-1]), (tables[label], row["rating"]), f"tables and last rating of {label}"
        )
        expect(row["faults"], faults[label], f"the faults of {label}")
    for one, other in zip(rows, rows[1:]):
        keys = [(bool(row["note"]) and "not ranked: " not in row["note"], -elo[row["label"]]) for row in (one, other)]
        right = keys[0] < keys[1] or (keys[0][0] == keys[1][0] and abs(keys[0][1] - keys[1][1]) < 1e-3)
        expect(right, True, f"whether {one['label']} is ahead of {other['label']},")
    for one, other in zip(ranked, [*ranked[1:], None]):
        sure = None
        if other:
            pair = one["label"], other["label"]
            variance = covariance(pair[0], pair[0]) + covariance(pair[1], pair[1]) - 2 * covariance(*pair)
            sure = (
                statistics.NormalDist().cdf((elo[pair[0]] - elo[pair[1]]) / math.sqrt(variance))
                if variance > 0
                else 0.5
            )
        expect(one["ahead"], sure, f"how sure it is that {one['label']} is stronger than the next one", 1e-3)
    print(f"✓ the ladder after round {number}: {len(rows)} versions, {len(ranked)} ranked")


def main(words: list[str]) -> None:
    """Check a folder, or a chain alone. `words` are the arguments of the program."""
    seals = [word for word in words if len(word) == 64 and not pathlib.Path(word).exists()]
    place = next((pathlib.Path(word) for word in words if word not in seals), pathlib.Path(__file__).parent)
    chain, folder = (place, place.parent) if place.is_file() else (place / "chain.ndjson", place)
    lines, seal = chain_of(chain, seals)
    print(f"✓ {len(lines)} lines, seal {seal}")
    check_order(lines)
    last = {kind: each for kind, each in lines if kind in ("terms", "final", "seed")}
    opening = next(each for kind, each in lines if kind == "terms")
    for kind, each in lines:
        if kind == "terms":
            for key in ("seed_sha256", "final_sha256", "committed"):
                expect(each[key], opening[key], f"{key} of the terms")
        elif kind == "entries":
            last[kind] = each
        elif kind == "change":
            if each["kind"] == "unfreeze":  # entry is open again
                last.pop("entries", None)
            at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(each["at"]))
            print(f"! changed on {at}: {each['kind']} {each['subject']} {each['text']}")
    lists = {each["number"]: each for kind, each in lines if kind == "list"}
    rounds = [each for kind, each in lines if kind == "round"]
    versions = {each["label"]: each for kind, each in lines if kind == "version"}
    hashes = {label: each["sha256"] for label, each in versions.items()}
    season = last.get("seed", {}).get("seed", "")
    check_seeds(season, opening, lists, rounds, last.get("final"))
    print(f"✓ seeds of {len(rounds)} rounds" + ", which follow from the season's" * bool(season))
    finished, missing = [each for each in rounds if each["state"] == "finished"], 0
    for each in finished:
        check_sums(each["number"], each["sums"], lists[each["number"]])
        records = folder / "rounds" / f"{each['number']:04d}.ndjson"
        if records.exists():
            check_records(records, each, lists[each["number"]], hashes, opening["winners"])
        missing += not records.exists()
    print(f"✓ sums of {len(finished)} rounds; {len(finished) - missing} of them follow from their records")
    if missing:
        NOT_CHECKED.append(f"the sums of {missing} rounds against their records, which are not here")
    for each in rounds:
        if each["state"] == "damaged":
            print(f"! round {each['number']} is damaged and does not count")
    if "entries" in last:
        check_entries(last["entries"], last.get("final"), hashes, lines)
    if finished and (folder / "ladder.json").exists():
        authors = {label: each["author"] for label, each in versions.items()}
        check_ladder(json.loads((folder / "ladder.json").read_text()), rounds, authors)
    else:
        NOT_CHECKED.append("the ladder, which is not here: save /api/ladder as ladder.json")
    print("not checked:", *NOT_CHECKED, sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
