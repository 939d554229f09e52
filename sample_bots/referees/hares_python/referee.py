"""Hares for two to eight players, as a referee for CodinGame's engine: whoever has run furthest has won.

In each turn, each player names the length of its jump, 1 to 5. Players with the same length bump into each other and stay.
A player reads the number of players, its own number and the turns once, then all positions, one a line.
"""

import sys


def say(name: str, *lines: object) -> None:
    print(f"[[{name}] {len(lines)}]", *lines, sep="\n", flush=True)


def hear() -> tuple[str, list[str]]:
    name, _, count = input().removeprefix("[[").removesuffix("]").partition("] ")
    return name, [input() for _ in range(int(count))]


_, (players, *properties) = hear()
count = int(players)
given = dict(line.split("=", 1) for line in properties)
seed = int(given.get("seed", 1))
turns = int(given.get("turns", 5 + seed % 3))
positions = [(seed >> 3 * player) % 4 for player in range(count)]
alive = [True] * count
frame, summary = 0, ""


def execute(player: int, lines: int, text: list[str]) -> list[str] | None:
    """Ask a player; return its lines, or None after its time is over."""
    global frame, summary
    assert hear()[0] == "GET_GAME_INFO"
    print("debug " * 200, file=sys.stderr, flush=True)  # CodinGame's engine logs at length
    say("VIEW", f"KEY_FRAME {frame}", '{"positions":' + str(positions) + "}")
    if frame == 0:
        say("MONITORING")
    say("INFOS")
    say("SUMMARY", *filter(None, [summary]))
    summary = ""
    say("NEXT_PLAYER_INPUT", *text)
    say("NEXT_PLAYER_INFO", player, lines, 1000 if frame <= count else 50)
    frame += 1
    name, answer = hear()
    return answer[1:] if name == "SET_PLAYER_OUTPUT" else None  # the first line is the time


execute(0, 0, [])  # a frame in which nobody answers
for turn in range(turns):
    jumps: dict[int, int] = {}
    for player in range(count):
        if alive[player]:
            begin = [f"{count} {player} {turns}"] if turn == 0 else []
            answer = execute(player, 1, [*begin, *map(str, positions)])
            if answer and answer[0] in ("1", "2", "3", "4", "5"):
                jumps[player] = int(answer[0])
            else:
                alive[player] = False
                positions[player] = -1
    for player, jump in jumps.items():
        if [*jumps.values()].count(jump) == 1:
            positions[player] += jump
    summary = f"turn {turn}: " + " ".join(map(str, positions))

say("VIEW", f"KEY_FRAME {frame}", "{}")
say("INFOS")
say("UINPUT", *(f"{name}={value}" for name, value in given.items()))
say("METADATA", "{}")
say("SCORES", *(f"{player} {position}" for player, position in enumerate(positions)))
