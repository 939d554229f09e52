"""Checks this folder: `python3 check.py [SEAL ...]` with published seals. `check.py deal TABLE` also prints its shuffles.

`check.py same FOLDER` also compares it with the public folder of the same tournament, played again.
"""

import csv, hashlib, hmac, json, math, pathlib, re, sys, time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Any

LEAVABLE = {"round-robin", "league", "gauntlet", "pairs"}  # kinds in which tables of withdrawn bots do not count
BY_PLACE = {"knockout", "groups"}  # kinds that do not rank bots by values
BY_END = {"groups", "mixed-tables", "mixed_tables"}  # kinds whose scores are those at the end of a game
NOT_CHECKED = [
    "whether the scores follow from the answers: `croupier verify`, or a program with the rules, as docs/checking.md says",
    "draws, seats and pairings, and the figures of certainty.json: docs/checking.md says how they follow",
    "whether this program, records.schema.json, and the decks and winners in rules.json are those of croupier and its game",
]


def expect(found: Any, value: Any, what: str) -> None:
    """End the program if `found` is not `value`, which follows from the records. Numbers must agree to nine digits."""
    close = isinstance(value, float) and found and abs(float(found) - value) <= 1e-9 * abs(value)
    if str(found) != str(value) and not close:
        sys.exit(f"✗ {what} is {found or 'missing'}, but the records have {value}")


def check_chain(published: list[str]) -> list[Any]:
    """Step 1: each line contains the seal (SHA-256) of the line before it. rules.json has the seal of the last line."""
    lines, seals = (FOLDER / "records.ndjson").read_bytes().splitlines(True), [""]
    for number, line in enumerate(lines, 1):
        if not line.startswith(b'{"before":"%s",' % seals[-1].encode()):
            sys.exit(f"✗ line {number} does not follow line {number - 1}: one is changed, or lines between are missing")
        seals.append(hashlib.sha256(line).hexdigest())
    if seals[-1] != RULES["seal"]:
        sys.exit(f"✗ line {len(lines)} is changed, or is not the last one: its seal is not that of rules.json")
    for seal in {*published} - {*seals}:
        sys.exit(f"✗ no line has the seal {seal}")
    print(f"✓ {len(lines)} lines, seal {seals[-1]}")
    return [json.loads(line) for line in lines]


def answers_in(folder: pathlib.Path) -> Iterator[Any]:
    """Yield fixture number, JSON value and answers of each line of answers.ndjson, which may be missing, or very large."""
    file = folder / "answers.ndjson"
    for each in map(json.loads, file.open() if file.exists() else ()):
        yield each["number"], each, "\n".join(each["answers"]).encode()


def check_answers() -> None:
    """Step 5: the answers of the fixtures of finished stages have the sealed hashes."""
    found, over = set(), [name for name in LINES if LINES[name]["status"] == "finished"]
    for number, each, text in answers_in(FOLDER):
        if number in found or number not in NUMBERED:
            sys.exit(f"✗ answers.ndjson: fixture {number} is there twice, or not in the records")
        line, whole = NUMBERED[number], hashlib.sha256(bytes.fromhex(each["salt"]) + text)
        expect(whole.hexdigest(), line["answers"], f"the hash of the answers of {line['path']}")
        expect(len(each["answers"]), len(line["scores"]), f"the number of tables with answers of {line['path']}")
        found.add(number)
    missing = sum(each["stage"] in over and number not in found for number, each in NUMBERED.items())
    some = f"✓ the answers of {len(found)} fixtures have the sealed hashes"
    print(some if found else "- the answers are not published")
    NOT_CHECKED.extend([f"the answers of {missing} fixtures, which are not published"] if missing else [])


def check_bots() -> None:
    """Step 6: the published programs are those that have played, because they have the sealed hashes."""
    bots, right = json.loads((FOLDER / "bots.json").read_text()) if (FOLDER / "bots.json").exists() else {}, 0
    for name, bot in bots.items():
        if name not in BOTS:
            sys.exit(f"✗ bots.json: {name} has not played")
        if bot["packages"]:
            continue
        home = FOLDER / "bots" / name
        own = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
        expect(own, sorted(bot["files"].keys() - bot["kit"].keys()), f"the list of files of {name}")
        expect("\0" in bot["spec"], False, f"bots.json: whether a byte is 0 in spec of {name}")
        whole = hashlib.sha256(bot["spec"].encode())
        for path in sorted(
            bot["files"], key=lambda path: [(True, each) for each in path.split("/")[:-1]] + [(False, path)]
        ):
            kit = bot["kit"].get(path)
            content = (home / path).read_bytes() if kit is None else kit.encode()
            whole.update(f"{path}\0{bot['files'][path]}\0{len(content)}\0".encode() + content)
        expect(whole.hexdigest(), BOTS[name], f"the hash of the files of {name}")
        right += 1
    some = f"✓ the files of {right} bots have the sealed hashes"
    print(some if right else "- the programs of the bots are not published")
    if rest := [name for name in BOTS if name not in bots or bots[name]["packages"]]:
        NOT_CHECKED.append(f"the programs of {', '.join(rest)}")


def compare(other: pathlib.Path) -> None:
    """Compare each fixture that counts with the fixture in another folder: seats, scores and, if both have them, moves."""
    folders, nothing = [], (None, None)
    for folder in (FOLDER, other):
        lines, parts = (folder / "records.ndjson").open(), ("bots", "seats", "scores", "faults", "benched")
        without_notes = ((number, re.sub(rb"\t[^,\n]*", b"", text)) for number, _, text in answers_in(folder))
        digests = {number: hashlib.sha256(text).digest() for number, text in without_notes}
        fixtures = [each for line in lines if (each := json.loads(line).get("fixture"))]
        folders.append({one["path"]: ([one[key] for key in parts], digests.get(one["number"])) for one in fixtures})
    here, there, compared = *folders, 0
    for path in FIXTURES.keys() | there.keys():
        (one, answers), (its, others) = here.get(path, nothing), there.get(path, nothing)
        if one != its or (answers != others and answers and others):
            sys.exit(f"✗ {path} is another fixture in {other}")
        compared += bool(answers and others)
    print(f"✓ {len(there)} fixtures have the same seats and scores in {other}, and {compared} of them the same answers")


def sums_of(stage: Any, fixtures: list[Any]) -> Any:
    """Return sums over fixtures, by bot: tables, wins, scores, last scores, games in which the bot advanced, faults."""
    advance, sums = stage.get("advance", 1), defaultdict[str, Any](Counter)
    for each in [each for each in fixtures if "scores" in each]:
        ends: dict[str, int] = {}
        for seats, scores in zip(each["seats"], each["scores"]):
            for bot, points in zip([each["bots"][seat] for seat in seats], scores):
                ends[bot], win = points, points == max(scores) and (RULES["winners"] == "best" or points > min(scores))
                sums[bot].update(tables=1, total=points, won=int(win))
        edge = sorted(ends.values())[-advance]
        for bot, points in ends.items():
            ahead, level = (sum(test(end, edge) for end in ends.values()) for test in (int.__gt__, int.__eq__))
            share = (points > edge) or (points == edge) * (advance - ahead) / level
            sums[bot].update(fixtures=1, end=max(points, 0) if stage["kind"] == "groups" else points, advanced=share)
            sums[bot].update(faults=sum(each["faults"].get(bot, {}).values()), benched=bot in each["benched"])
    return sums


def set_winner(stage: Any, fixtures: list[Any]) -> Any:
    """Return the winner of a set: the bot with more games won, or more points if these are equal. None if nobody won it."""
    sums = {bot: (row["won"], row["total"]) for bot, row in sums_of(stage, fixtures).items()}
    decided = len({*sums.values()}) == 2 and all("scores" in each for each in fixtures)
    return max(sums, key=sums.__getitem__) if decided else None


def check_stage(stage: Any, earlier: dict[str, Any]) -> dict[str, Any]:
    """Step 3: the cells of standings.csv follow from the fixtures that count; no bot and no fixture is missing.

    Return (rank, whether disqualified) by bot. Return `earlier`, the same of the stage before, if there are no rows.
    """
    name, kind, line = stage["name"], stage["kind"], LINES.get(stage["name"], {"status": "waiting"})
    rows, leavable = [row for row in ROWS if row["stage"] == name], name in RULES["without_withdrawn"]
    gone = GONE if leavable else set()
    everything = [each for each in FIXTURES.values() if each["stage"] == name]
    fixtures = [each for each in everything if not gone & {*each["bots"]}]
    if line["status"] in ("waiting", "skipped") or not everything or name in RULES["hidden"]:
        expect(len(rows), 0, f"stage {name}: the number of rows")
        hidden = ", and not all of its tables are shown yet" * (name in RULES["hidden"])
        print(f"- stage {name}: {line['status']}{hidden}")
        return earlier
    if kind in MISSING:
        expect(leavable, kind in LEAVABLE, f"rules.json: without_withdrawn of {name}")
    bots = {*BOTS} - {*TERMS["guests"]} - {*stage.get("references", ())}
    expect(sorted(row["bot"] for row in rows), sorted(bots), f"stage {name}: the list of bots")
    keys = check_rows(stage, rows, fixtures, earlier)
    expect(keys, sorted(keys), f"stage {name}: the order")
    if line["status"] == "finished":
        order = [row["bot"] for row in rows]
        places = sorted(line["places"], key=lambda bot: keys[order.index(bot)][0] if bot in order else 9)
        at = max(number for number, each in enumerate(RECORDS) if each.get("stage", {}).get("name") == name)
        later = [each["name"] for each in TERMS["stages"][TERMS["stages"].index(stage) + 1 :]]
        played = [(each.get("fixture") or each.get("undecided") or {}).get("stage") in later for each in RECORDS]
        at = min(at, played.index(True) if any(played) else at)  # later withdrawals no longer change the places
        left = LEFT.keys() & {each["change"]["what"] for each in RECORDS[at:] if "change" in each} & {*line["field"]}
        if places and not left:
            expect([bot for bot in order if bot in line["field"]], places, f"stage {name}: the places")
        else:
            NOT_CHECKED.append(f"stage {name}: the places, which were not sealed, or fixed before a bot was withdrawn")
        for gap in MISSING.get(kind, unknown)(stage, [bot for bot in line["field"] if bot not in gone], fixtures):
            sys.exit(f"✗ stage {name} is finished, but its schedule has more: {gap}")
    print(f"✓ stage {name}: {len(rows)} rows" + (f", {len(fixtures)} fixtures: {line['status']}"))
    return {row["bot"]: (int(row["rank"]), "disqualified: " in row["note"]) for row in rows}


def check_rows(stage: Any, rows: list[Any], fixtures: list[Any], earlier: dict[str, Any]) -> list[Any]:
    """Check the cells and the ranks of a stage. Return the sort key of each row, in order; equal keys share a rank."""
    name, kind, sums, keys = stage["name"], stage["kind"], sums_of(stage, fixtures), []
    words, field = words_of(stage, sums, rows), LINES[stage["name"]]["field"]
    sets = swiss_points(stage, fixtures, field) if kind == "swiss" else {}
    for place, row in enumerate(rows):
        bot, each = row["bot"], sums[row["bot"]]
        tables, games = each["tables"], max(each["fixtures"], 1)
        values = {"win_rate": each["won"] / max(tables, 1), "wins": each["won"], "total_score": each["total"]}
        values["score"] = each["end"] / games if kind in BY_END else each["total"] / max(tables, 1)
        values.update(sets.get(bot, {}), advances=each["advanced"] / games)
        cells = {"tables": tables, "total": each["total"], "mean": each["total"] / tables if tables else ""}
        cells.update(won=each["won"], rate=values["win_rate"] if tables else "")
        cells.update({"won": "", "rate": ""} if RULES["winners"] == "none" else {})
        cells.update(ranked_by=words[0], note=note_of(stage, bot, each, earlier))
        if words[0] in values or not tables:
            cells["value"] = values.get(words[0], "") if tables or bot in sets else ""
        for key, value in cells.items():
            expect(row[key], value, f"stage {name}: {key} of {bot}")
        exact = {*words} <= {*values} and kind in MISSING.keys() - BY_PLACE
        part = 2 * (bot in GONE) + ("disqualified: " in row["note"])
        keys.append((part, [not tables] + [-values[word] for word in words] if exact else place))
        if bot not in field:
            keys[-1] = (4, earlier.get(bot, (len(rows) + 1,))[0])
        over = LINES[name]["status"] == "finished"
        sole = exact or bot not in field or (kind == "knockout" and stage["places"] == "all" and over)
        if sole or not place or row["rank"] != rows[place - 1]["rank"]:  # otherwise bots may share a rank
            expect(row["rank"], keys.index(keys[-1]) + 1, f"stage {name}: rank of {bot}")
    NOT_CHECKED.extend([f"stage {name}: the values of {words[0]}"] if words[0] not in values else [])
    NOT_CHECKED.extend([] if sole else [f"stage {name}: whether bots next to each other share a rank"])
    return keys


def words_of(stage: Any, sums: Any, rows: list[Any]) -> list[str]:
    """Return the rankings of a stage, then those that break ties. Until all pairs have met, Elo is the first one."""
    words = stage["rank_by"] or ["win_rate" if any(each["won"] for each in sums.values()) else "score"]
    more = {"elo": ["win_rate"], "runoff": ["score"], "advances": ["score"]}.get(words[0], [])
    words = words + more * (len(words) == 1)
    words = words + ["score"] * (not {"score", "total_score"} & {*words})
    by_elo = LINES[stage["name"]]["status"] == "running" and rows[0]["ranked_by"] == "elo"
    return ["elo"] + [word for word in words if word != "elo"] if by_elo else words


def note_of(stage: Any, bot: str, each: Any, earlier: dict[str, Any]) -> str:
    """Return the note that the row of a bot must have."""
    line, most = LINES[stage["name"]], TERMS["config"]["limits"].get("max_faults", 0)
    if bot in GONE or bot not in line["field"]:
        return "withdrawn" if bot in GONE else "is out" + ", disqualified" * earlier.get(bot, (0, False))[1]
    notes = [f"benched in {each['benched']} of {each['fixtures']} fixtures"] if each["benched"] else []
    notes += [] if each["tables"] else ["has not played yet"]
    if 0 < most < each["faults"]:
        why = f"{each['faults']:,}".replace(",", "\u202f") + f" faults, more than max_faults = {most}"
        over = line["status"] == "finished"
        notes.insert(0, f"disqualified: {why}" if over else f"{why}: it will be disqualified when the stage is over")
    return "; ".join(notes)


def sets_of(fixtures: list[Any]) -> dict[Any, list[Any]]:
    """Return the fixtures of each set or group, by the number of the round or set in their paths and by their bots."""
    sets = defaultdict(list)
    for each in fixtures:
        words = [part.rpartition(" ")[2] for part in each["path"].split("/")[1:-1]]
        sets[next((int(word) for word in words if word.isdigit()), 0), tuple(sorted(each["bots"]))].append(each)
    return sets


def swiss_points(stage: Any, fixtures: list[Any], field: list[str]) -> dict[str, dict[str, float]]:
    """Return each bot's points in a Swiss stage, and the sum of its opponents' points. With a bye, a bot beats itself."""
    met, points = defaultdict[str, Any](list), defaultdict[str, float](float)
    for (_, pair), some in sets_of(fixtures).items():
        winner = set_winner(stage, some)
        if not all("scores" in each for each in some):
            winner = min(pair, key=field.index)
        for bot, other in (pair, pair[::-1]):
            met[bot].append(other)
            points[bot] += 1.0 if bot == winner else 0.5 if winner is None else 0.0
    rounds = max(map(len, met.values()))
    for bot in field:
        byes = rounds - len(met[bot])
        met[bot] += [bot] * byes
        points[bot] += byes
    return {bot: {"sets": float(points[bot]), "buchholz": float(sum(points[one] for one in met[bot]))} for bot in met}


# Step 4: functions, one for each kind of stage, that yield what the records of a finished stage lack of its schedule.


def met_in(fixtures: list[Any]) -> Any:
    """Return the number of tables that every two bots have played, by pair."""
    met = Counter[Any]()
    for each in fixtures:
        met.update(dict.fromkeys(permutations(each["bots"], 2), each["tables"]))
    return met


def of_round_robin(stage: Any, field: list[str], fixtures: list[Any]) -> Iterator[Any]:
    """Yield pairs without all their tables; if pairs may end early (stop_early), only pairs that have not met."""
    met, early = met_in(fixtures), TERMS["config"]["run"]["stop_early"]
    yield from (
        pair for pair in combinations(field, 2) if not (met[pair] if early else met[pair] == stage["tables_per_pair"])
    )


def of_league(stage: Any, field: list[str], fixtures: list[Any]) -> Iterator[Any]:
    """Yield bots with fewer tables than others, or than the stage demands; none if a bot was withdrawn."""
    tables = Counter(bot for each in fixtures for bot in each["bots"] for _ in range(each["tables"]))
    yield from (bot for bot in field if not GONE and tables[bot] < max(stage["tables"], *tables.values()))


def of_gauntlet(stage: Any, field: list[str], fixtures: list[Any]) -> Iterator[Any]:
    """Yield pairs of a bot and a reference that have not met at the right number of tables."""
    met, others, references = met_in(fixtures), (stage["seats"] or 2) - 1, stage["references"]
    due = stage["tables"] * (others if others < len(references) else 1)
    yield from (pair for pair in product({*field} - {*references}, references) if met[pair] != due)


def of_mixed_tables(stage: Any, field: list[str], fixtures: list[Any]) -> Iterator[Any]:
    """Yield tourneys that not all bots have played."""
    whole = {each["path"] for each in fixtures if {*each["bots"]} == {*field}}
    yield from {f"{stage['name']}/{number}" for number in range(1, stage["tourneys"] + 1)} - whole


def of_swiss(stage: Any, field: list[str], fixtures: list[Any]) -> Iterator[Any]:
    """Yield rounds in which more than one bot has not played a whole set."""
    even, rounds = len(field) + len(field) % 2, stage["rounds"]
    if rounds == "auto":
        rounds = min(int(math.log2(len(field))) + 2, even - 1 if even <= 4 else even // 2)
    sets = [(number, sum(each["tables"] for each in some)) for (number, _), some in sets_of(fixtures).items()]
    for number in range(1, rounds + 1):
        if sets.count((number, stage["tables_per_pairing"])) != len(field) // 2:
            yield f"round {number}"


def of_groups(stage: Any, field: list[str], fixtures: list[Any]) -> Iterator[Any]:
    """Yield rounds in which the groups lack some of the remaining bots, or have not played all their games."""
    left, number, sets = len(field), 0, sets_of(fixtures)
    while left > stage["until"]:
        number, count = number + 1, -(-left // 5)
        sizes = [len(bots) for (of, bots), games in sets.items() if of == number and len(games) == stage["repeat"]]
        if (len(sizes), sum(sizes)) != (count, left):
            yield f"round {number}"
        left = (
            stage["until"] if count == 1 else max(count * min(stage["advance"], left // count - 1), stage["until"], 3)
        )


def of_knockout(stage: Any, field: list[str], fixtures: list[Any]) -> Iterator[Any]:
    """Yield sets that are not whole, ties that are not decided, and places that do not follow from the ties."""
    sets, lost, last = sets_of(fixtures), Counter[str](), dict[Any, str]()
    places = [bot for bot in LINES[stage["name"]]["places"] if bot not in GONE]
    for pair in {pair for _, pair in sets}:
        won = []
        for number in sorted(number for number, bots in sets if bots == pair):
            some = sets[number, pair]
            if sum(each["tables"] for each in some) != stage["set"]:
                yield f"set {number} of {' and '.join(pair)}"
            won.append(set_winner(stage, some) if all("scores" in each for each in some) else "")
            by_seed = min(pair, key=field.index) if won.count(None) >= 20 or won.count("") >= 3 else ""
            last[pair] = next((bot for bot in pair if won.count(bot) == stage["first_to"]), by_seed)
            if last[pair]:
                lost.update(bot for bot in pair if bot != last[pair])
                won = []
        if won:
            yield f"a set of {' and '.join(pair)}, whose tie is open"
    double = stage["elimination"] == "double"
    yield from (f"a tie of {bot}" for bot in places[1:] if lost[bot] < 1 + double)
    step = 2 if stage["places"] == "all" and not double else len(places) or 1  # every two places are played out
    if {"disq", "with"} & {row["note"][:4] for row in ROWS}:
        NOT_CHECKED.append(f"stage {stage['name']}: who won the ties for places: a bot was withdrawn or disqualified")
        return
    for one, other in zip(places[::step], places[1::step]):
        if last.get(tuple(sorted((one, other)))) != one:
            yield f"the tie that puts {one} ahead of {other}"


def unknown(stage: Any, _field: list[str], _fixtures: list[Any]) -> Iterator[Any]:
    """Yield nothing, because the schedule of an organiser's own kind of stage is not known. Note this in NOT_CHECKED."""
    NOT_CHECKED.append(f"stage {stage['name']}: whether fixtures are missing")
    yield from ()


MISSING = {
    "round-robin": of_round_robin,
    "league": of_league,
    "gauntlet": of_gauntlet,
    "mixed-tables": of_mixed_tables,
    "mixed_tables": of_mixed_tables,  # the name in earlier versions
    "swiss": of_swiss,
    "groups": of_groups,
    "knockout": of_knockout,
}


def print_deal(seed: bytes, group: str, nth: int) -> None:
    """Print the decks of rules.json, shuffled for table `nth` of `group`. Tables that share a deal have the same key."""
    plan, bots = next(
        ((f["plan"], f["bots"]) for f in FIXTURES.values() if f"{f['path']}/".startswith(f"{group}/")), ("", [])
    )
    (stage, _, number), turn = group.rpartition("/"), len(bots) if plan.startswith("mirrored") else 1
    if plan.endswith("tourney"):  # as many mirrored tourneys as bots share their deals, or as many tables
        group = f"{stage}/{int(number) - (int(number) - 1) % turn}"
    nth -= 0 if plan.endswith("tourney") else (nth - 1) % turn
    if plan.endswith("same cards"):  # the deal is named after all bots but the first: every first bot meets it
        group = f"{stage}/" + "+".join(sorted(bot.replace("%", "%25").replace("+", "%2B") for bot in bots[1:]))
    for nr, (name, deck) in enumerate(RULES["shuffles"]["first"] + 8 * RULES["shuffles"]["each"], 1):
        cards, label = [*(deck or "")], f"shuffle {nr}" if nr > 1 else "shuffle"
        key = hmac.digest(seed, f"{group}/{nth}".encode(), "sha256") + label.encode()
        for k, n in enumerate(range(len(cards), 0, -1)):
            at = int.from_bytes(hashlib.sha256(key + (k // 4).to_bytes(4, "big")).digest()[k % 4 * 8 :][:8], "big") % n
            cards[at], cards[n - 1] = cards[n - 1], cards[at]
        print(f"{label}, {name}:", *(cards[::-1] or ["depends on the game so far"]))


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv[0]).parent
    RULES = {"hidden": [], **json.loads((FOLDER / "rules.json").read_text())}
    RECORDS = check_chain([] if {"deal", "same"} & {*sys.argv} else sys.argv[1:])
    CHANGES = [record["change"] for record in RECORDS if "change" in record]
    LEFT = {each["what"]: each["kind"] for each in CHANGES if each["kind"] in ("withdraw", "readmit")}
    GONE = {bot for bot in LEFT if LEFT[bot] == "withdraw"}
    ASIDE = {number for each in CHANGES for number in each["set_aside"]}
    FIXTURES = {each["path"]: each for record in RECORDS if (each := record.get("undecided"))}
    FIXTURES.update(
        {each["path"]: each for record in RECORDS if (each := record.get("fixture")) and each["number"] not in ASIDE}
    )
    # Step 2: the seed has the hash that was sealed before the first table. It may be bound to the bots that were entered then.
    NUMBERED = {each["number"]: each for record in RECORDS if (each := record.get("fixture"))}
    TERMS = [record["terms"] for record in RECORDS if "terms" in record][-1]
    BOTS = {bot["name"]: bot["sha256"] for each in RECORDS if (bot := each.get("version"))}
    FIRST = {bot["name"]: bot["sha256"] for each in RECORDS if (bot := each.get("version")) and bot["after"] == 0}
    DIGEST = hashlib.sha256(b"".join(sorted({bytes.fromhex(FIRST[name]) for name in FIRST.keys() - TERMS["guests"]})))
    STATED = dict(line.split() for line in (FOLDER / "seed.txt").read_text().splitlines())
    SEED = bytes.fromhex(STATED.get("seed", ""))
    if {STATED["sha256"], hashlib.sha256(SEED).hexdigest() if SEED else STATED["sha256"]} != {TERMS["seed_sha256"]}:
        sys.exit("✗ seed.txt does not have the hash that was sealed")
    if TERMS.get("bound", DIGEST.hexdigest()) != DIGEST.hexdigest():
        sys.exit("✗ the seed is not bound to the bots that were entered before the first table")
    print("✓ the seed has the sealed hash" if SEED else "- the seed is not revealed yet; its hash is sealed")
    LINES = {each["name"]: each for record in RECORDS if (each := record.get("stage"))}
    LINES = {name: {**each, "field": each["field"] or [*BOTS]} for name, each in LINES.items()}
    ROWS = list(csv.DictReader((FOLDER / "standings.csv").open()))
    TOLD = {"schema": "croupier/public/1", "name": TERMS["name"], "game": TERMS["game"], "lines": len(RECORDS)}
    TOLD |= {"hidden": []} if SEED else {}  # the seed is revealed when everything may be seen
    for key, value in TOLD.items():
        expect(RULES[key], value, f"rules.json: {key}")
    PLAYED = {key: value for key, value in TERMS["config"]["rules"].items() if key != "preset"}
    expect(sorted(RULES["rules"].items()), sorted(PLAYED.items()), "rules.json: rules")
    KNOWN = {stage["name"] for stage in TERMS["stages"]}
    expect({row["stage"] for row in ROWS} - KNOWN, set(), "standings.csv: another stage")
    EARLIER: dict[str, Any] = {}
    for STAGE in TERMS["stages"]:
        EARLIER = check_stage(STAGE, EARLIER)
    check_answers()
    check_bots()
    for CHANGE in CHANGES:
        what = (
            f"{CHANGE['kind']} {CHANGE['what']}, {len(CHANGE['set_aside'])} fixtures count no more: {CHANGE['reason']}"
        )
        print(f"! changed on {time.strftime('%Y-%m-%d %H:%M', time.gmtime(CHANGE['at']))} UTC: {what}")
    if "same" in sys.argv:
        compare(pathlib.Path(sys.argv[-1]))
    if "deal" in sys.argv and SEED:
        SEED = hmac.digest(SEED, DIGEST.digest(), "sha256")[:16] if "bound" in TERMS else SEED
        print_deal(SEED, sys.argv[-1].rpartition("/")[0], int(sys.argv[-1].rpartition("/")[2]))
    print("not checked:", *NOT_CHECKED, sep="\n  ")
