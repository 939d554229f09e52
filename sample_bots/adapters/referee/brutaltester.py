"""Speaks to a referee of cg-brutaltester in its old mode: the host starts the players.

The referee writes `###Input`, `###Output`, `###Error` and `###End`; all other lines are for the player that `###Input` names.
"""

from steps import Answer, Ask, Begin, Failed, Options, Play, Question, Read, Send, Show, Table, Tell, number_of, seat_of

MAX_SEATS = 9  # a player is one digit in ###End
MAX_LINES = 1000


def play(table: Table, options: Options) -> Play:
    """Play one game. The score of a player is the number of players that it finished before."""
    if table.seats > MAX_SEATS:
        raise Failed(f"has {table.seats} players, and a referee of brutaltester has at most {MAX_SEATS}")
    head = [f"###Seed {table.seed}"] if options.seed else []
    head += [f"###Param {name}={value}" for name, value in table.rules.items()]
    yield Begin()
    yield Send("\n".join([*head, f"###Start {table.seats}", ""]))
    texts: list[list[str]] = [[] for _ in range(table.seats)]
    reader: int | None = None  # the player to whom lines go
    while True:
        line = (yield Read())[0]
        if not line.startswith("###"):
            if reader is not None:
                texts[reader].append(line + "\n")
            elif line.strip():
                raise Failed(f"wrote {line[:100]!r} where ###Input, ###Output or ###End is expected")
            continue
        command, _, rest = line.rstrip().partition(" ")
        reader = None
        if command == "###Input":
            reader = seat_of(rest, table)
        elif command == "###Output":
            word, _, lines = rest.partition(" ")
            seat, count = seat_of(word, table), number_of(lines, "the lines of ###Output", MAX_LINES)
            if count:
                answers = yield Ask((Question(seat, {"text": "".join(texts[seat])}, count),))
                texts[seat].clear()
                yield Send("".join(f"{each}\n" for each in answer_lines(answers[seat], count, options.fault)))
        elif command == "###Error":
            word, _, text = rest.partition(" ")
            yield Tell({"event": "say", "seat": seat_of(word, table), "text": text[:1000]})
        elif command == "###End":
            yield Show({seat: "".join(text) for seat, text in enumerate(texts) if text})
            return scores_of(rest, table)
        else:
            raise Failed(f"wrote {line[:100]!r}, which is not a command of brutaltester")


def answer_lines(answer: Answer, count: int, fault: str) -> list[str]:
    """Return exactly so many lines for the referee. Those that a bot has not written are the text for a fault."""
    lines = [] if answer.fault else answer.text.split("\n")[:count]
    return lines + [fault] * (count - len(lines))


def scores_of(end: str, table: Table) -> list[float]:
    """Return the scores by the order of finish: best first, the digits of a group tie."""
    groups = [[seat_of(digit, table) for digit in group] for group in end.split()]
    named = [seat for group in groups for seat in group]
    if sorted(named) != [*range(table.seats)]:
        raise Failed(f"wrote '###End {end[:100]}', which does not name each of {table.seats} players once")
    scores, behind = [0.0] * table.seats, table.seats
    for group in groups:
        behind -= len(group)
        for seat in group:
            scores[seat] = behind
    return scores
