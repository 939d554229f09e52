"""Checks this folder: `python3 check.py [SEAL ...]` with published seals. `check.py deal TABLE` also prints its shuffles."""

import collections, csv, hashlib, hmac, json, pathlib, sys, typing


def check_chain(published: list[str]) -> list[typing.Any]:
    """Step 1: each line holds the seal of the line before it, its SHA-256. The last seal is that of rules.json."""
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


def check_stage(stage: typing.Any) -> None:
    """Step 3: the tables, wins and scores of standings.csv follow from the fixtures that count."""
    changes = [record["change"] for record in RECORDS if "change" in record]
    left = {bot for bot, kind in {change["what"]: change["kind"] for change in changes}.items() if kind == "withdraw"}
    aside = {number for change in changes for number in change["set_aside"]}
    tables, won, score = (collections.Counter[str]() for _ in "123")
    counted = [each for each in FIXTURES if each["stage"] == stage["name"] and each["number"] not in aside]
    for fixture in [each for each in counted if not (stage["without_withdrawn"] and left & {*each["bots"]})]:
        for seats, scores in zip(fixture["seats"], fixture["scores"]):
            for bot, points in zip([fixture["bots"][seat] for seat in seats], scores):
                tables[bot], score[bot] = tables[bot] + 1, score[bot] + points
                won[bot] += points == max(scores) and (stage["all_equal_win"] or points > min(scores))
    for row in [row for row in csv.DictReader((FOLDER / "standings.csv").open()) if row["stage"] == stage["name"]]:
        bot, played = row["bot"], tables[row["bot"]] or 1
        found = [tables[bot], won[bot], won[bot] / played, score[bot], score[bot] / played]
        for key, value in zip(("tables", "won", "rate", "total", "mean"), found):
            if row[key] and abs(float(row[key]) - value) > 1e-9 * abs(value):
                sys.exit(f"✗ stage {stage['name']}: {key} of {bot} is {row[key]}, but the records have {value}")
    print(f"✓ stage {stage['name']}: tables, wins and scores of {len(tables)} bots")


def print_deal(seed: bytes, group: str, nth: int) -> None:
    """Shuffle the decks of rules.json by the key of a table, or by the one that it shares with other tables."""
    plan, bots = next(((f["plan"], f["bots"]) for f in FIXTURES if f"{f['path']}/".startswith(f"{group}/")), ("", []))
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
    RULES = json.loads((FOLDER / "rules.json").read_text())
    RECORDS = check_chain([] if "deal" in sys.argv else sys.argv[1:])
    FIXTURES = [record["fixture"] for record in RECORDS if "fixture" in record]
    # Step 2: the seed has the hash that was sealed before the first table. It may be bound to the bots that were entered then.
    TERMS = [record["terms"] for record in RECORDS if "terms" in record][-1]
    BOTS = {bot["name"]: bot["sha256"] for each in RECORDS if (bot := each.get("version")) and bot["after"] == 0}
    DIGEST = hashlib.sha256(b"".join(sorted({bytes.fromhex(BOTS[name]) for name in BOTS.keys() - TERMS["guests"]})))
    STATED = dict(line.split() for line in (FOLDER / "seed.txt").read_text().splitlines())
    SEED = bytes.fromhex(STATED.get("seed", ""))
    if {STATED["sha256"], hashlib.sha256(SEED).hexdigest() if SEED else STATED["sha256"]} != {TERMS["seed_sha256"]}:
        sys.exit("✗ seed.txt does not have the hash that was sealed")
    if TERMS.get("bound", DIGEST.hexdigest()) != DIGEST.hexdigest():
        sys.exit("✗ the seed is not bound to the bots that were entered before the first table")
    print("✓ the seed has the sealed hash" if SEED else "- the seed is not revealed yet; its hash is sealed")
    [*map(check_stage, RULES["stages"])]
    if "deal" in sys.argv and SEED:
        SEED = hmac.digest(SEED, DIGEST.digest(), "sha256")[:16] if "bound" in TERMS else SEED
        print_deal(SEED, sys.argv[-1].rpartition("/")[0], int(sys.argv[-1].rpartition("/")[2]))
    print("not checked:", *RULES["not_checked"], sep="\n  ")
