"""Nim for two to nine players, as a referee of cg-brutaltester. Whoever takes the last object wins.

A player reads the number of heaps once, then the heaps on a line, and answers with two lines: a heap, and how many it takes.
A player that makes a wrong move is out. It plays one game after another, until its input ends.
"""

import sys


def draws(seed: int):
    """Yield random numbers below 2^15, which referee.java draws too."""
    state = seed
    while True:
        state = (state * 1103515245 + 12345) % (1 << 31)
        yield state >> 16


def say(line: str) -> None:
    print(line, flush=True)


def play(players: int, seed: int) -> str:
    """Play one game; return the order of finish."""
    chance = draws(seed)
    heaps = [1 + next(chance) % 7 for _ in range(3 + next(chance) % 3)]
    out: list[int] = []
    asked: set[int] = set()
    player = 0
    while sum(heaps):
        if player not in out:
            say(f"###Input {player}")
            if player not in asked:
                say(str(len(heaps)))
                asked.add(player)
            say(" ".join(map(str, heaps)))
            say(f"###Output {player} 2")
            heap, count = input(), input()
            if heap.isdecimal() and count.isdecimal() and int(heap) < len(heaps) and 0 < int(count) <= heaps[int(heap)]:
                heaps[int(heap)] -= int(count)
                if not sum(heaps):
                    break
            else:
                say(f"###Error {player} cannot take {count} of heap {heap}")
                out.append(player)
                if len(out) == players - 1:
                    player = next(each for each in range(players) if each not in out)
                    break
        player = (player + 1) % players
    others = "".join(str(each) for each in range(players) if each not in out and each != player)
    return " ".join(filter(None, [str(player), others, *map(str, reversed(out))]))


seed = 1
for line in sys.stdin:
    command, _, word = line.strip().partition(" ")
    if command == "###Seed":
        seed = int(word)
    elif command == "###Start":
        say(f"###End {play(int(word), seed)}")
