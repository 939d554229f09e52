"""Undercut for two players, as a judge of Botzone. Both name a number from 1 to 5 at the same time, and get it as points.

But a number that is one below the other's wins both. A wrong answer loses the game. The seed says how many turns there are.
"""

import json

given = json.loads(input())
log = given["log"]
initdata = given["initdata"] or {}
turns = initdata.get("turns") or 3 + initdata.get("seed", 0) % 3
points = [0, 0]
last = [0, 0]
wrong = []
for answers in log[1::2]:
    assert all(answers[player]["verdict"] for player in ("0", "1"))
    said = [answers[player].get("response") for player in ("0", "1")]
    wrong = [player for player in (0, 1) if said[player] not in (1, 2, 3, 4, 5)]
    if wrong:
        break
    last = said
    if abs(said[0] - said[1]) == 1:
        points[said.index(min(said))] += sum(said)
    else:
        points = [points[0] + said[0], points[1] + said[1]]
display = {"turn": len(log) // 2, "last": last, "points": points}
if wrong:
    score = {str(player): 0 if player in wrong else 2 for player in (0, 1)}
    print(json.dumps({"command": "finish", "content": score, "display": display | {"wrong": wrong}}))
elif len(log) // 2 == turns:
    score = {
        str(player): 1 + (points[player] > points[1 - player]) - (points[player] < points[1 - player])
        for player in (0, 1)
    }
    print(json.dumps({"command": "finish", "content": score, "display": display}))
else:
    request = {str(player): {"turn": len(log) // 2, "turns": turns, "last": last[1 - player]} for player in (0, 1)}
    print(json.dumps({"command": "request", "content": request, "display": display, "initdata": {"turns": turns}}))
