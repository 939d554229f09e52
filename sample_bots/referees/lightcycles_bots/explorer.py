"""Drives to where the most places can be reached."""

import sys

STEPS = {"UP": (0, -1), "DOWN": (0, 1), "LEFT": (-1, 0), "RIGHT": (1, 0)}


def reachable(rows, start):
    """Return how many free places can be reached from a place, itself included."""
    seen, open_places = {start}, [start]
    for x, y in open_places:
        for dx, dy in STEPS.values():
            place = x + dx, y + dy
            inside = 0 <= place[1] < len(rows) and 0 <= place[0] < len(rows[0])
            if inside and place not in seen and rows[place[1]][place[0]] == ".":
                seen.add(place)
                open_places.append(place)
    return len(seen)


for line in sys.stdin:
    you, _turn, _width, _height, heads, grid, free = line.split()
    x, y = map(int, heads.split(",")[int(you)].split(":"))
    rows, ways = grid.split("/"), [] if free == "-" else free.split(",")
    ways.sort(key=lambda way: -reachable(rows, (x + STEPS[way][0], y + STEPS[way][1])))
    print(ways[0] if ways else "UP", flush=True)
