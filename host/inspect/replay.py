"""Replay a table from its seed and answers: what was dealt, asked and answered, as events or as text."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from host.base.errors import UserError
from host.base.format import milliseconds
from host.base.safe_text import escape_control_chars, one_line
from host.bots.values import Evidence
from host.games.engine import Game, Scores
from host.inspect import event_validation
from host.inspect.evidence import by_question, time_breakdown
from host.inspect.recorded import AnswersDoNotFit, RecordedTable, TableReplay
from host.rules.catalogue import ref_of
from host.submissions.headline import Output
from protocols.wire import Answer, Fault, Move, encode_view

SENTENCES = {
    "deal": "{seat} gets {cards}",
    "pass": "{seat} passes {cards} to {to}",
    "play": "{seat} plays {cards}",
    "board": "on the table: {cards}",
    "take": "{seat} takes {cards}",
    "score": "{seat} has {points} points",
    "chips": "{seat} has {chips} chips",
    "bet": "{seat} has bet {chips}",
    "say": "{seat}: “{text}”",
    "turn": "it is the turn of {seat}",
}
"""Sentences for events that the general table of a page draws. They are used for events with exactly these facts."""
PUBLIC_EVENTS = frozenset(SENTENCES) - {"deal", "pass"}
"""The events of the general table that every seat sees."""
HIDDEN = "(hidden)"
MAX_REPLAY_STDERR_LINES = 5


class Event(NamedTuple):
    """One event at a table: its name `ev`, and its values `facts` by name."""

    ev: str
    facts: dict[str, Any]

    @property
    def twice(self) -> bool:
        """Whether the game itself has reported this event under a name that croupier also uses (`ask`, `table.end`)."""
        return (self.ev == "ask" and "q" not in self.facts) or (self.ev == "table.end" and "scores" not in self.facts)


def spelled(answer: Answer, game: Game) -> str:
    """Return an answer as readable text: a move as the bots of this game write it."""
    if isinstance(answer, Fault):
        return f"({answer.kind}{': ' + escape_control_chars(answer.detail) if answer.detail else ''})"
    return one_line(game.grammar.spell(answer))


def events(recorded: RecordedTable) -> Iterator[Event]:
    """Yield the events of a table in order: the game's own, and `table.start`, `ask`, `answer` and `table.end`.

    Raise AnswersDoNotFit if the journal and the rules disagree. Raise UserError (exit code 3) if an organiser's own game
    raises an exception, or has events that cannot be displayed.
    """
    told: list[Event] = []
    game, path, bots = recorded.game, recorded.sitting.path, recorded.seated
    strange, seats = bool(ref_of(game).said), len(bots)

    def tell(ev: str, /, **facts: Any) -> None:
        try:
            known = event_validation.told(game, path, ev, facts, seats) if strange else facts
        except UserError:
            if recorded.steps is not None:  # a program of a stranger may say anything: what cannot be shown is left out
                return
            raise
        told.append(Event(ev, {key: _spelled_inside(fact, game) for key, fact in known.items()}))

    if strange:
        event_validation.checked_value(game, f"the rules of {path}", recorded.sitting.rules._asdict())
    with event_validation.blaming_game(game, path):
        replay = TableReplay(recorded, tell)
    yield Event("table.start", {"table": path, "bots": list(bots)})
    asked = 0  # questions
    for decision in event_validation.guarded(game, path, iter(replay)):
        yield from told
        told.clear()
        if strange:
            event_validation.asked(game, path, decision.seat, seats)
        for number, request in enumerate(replay.game.open if asked < decision.number else (), decision.number):
            question = encode_view(request.view)[:-1].decode()
            yield Event("ask", {"n": number, "seat": request.seat, "q": question})
            asked = number
        answered = {"n": decision.number, "seat": decision.seat, "a": spelled(decision.answer, game)}
        if decision.number in recorded.notes:
            answered["note"] = escape_control_chars(recorded.notes[decision.number])
        yield Event("answer", answered if decision.allowed else answered | {"illegal": True})
    yield from told
    table = replay.game
    if strange and table.request is None:
        event_validation.scored(game, path, table.scores, len(recorded.sitting.bots))
    if table.scores is None:
        raise AnswersDoNotFit(f"{path}: the answers end before the game does")
    yield Event("table.end", {"scores": by_seat(recorded, table.scores)})


def by_seat(recorded: RecordedTable, scores: Scores) -> list[int]:
    """Return the score of the bot at each seat. Partners have the same score."""
    if recorded.game.sides is None:
        return list(scores)
    return [scores[place.bot] for place in recorded.game.places(recorded.sitting.rules)]


def seen_by(happened: Iterable[Event], seat: int, secret_answers: bool = False) -> Iterator[Event]:
    """Yield the events that one seat could observe: its own questions, the answers, and the public events of the table.

    The questions of a seat contain everything that it may see. The answers of other seats are hidden if several
    questions were asked at the same time, or if the game has `secret_answers`. The notes of other seats are always
    hidden.
    """
    open_questions, together = 0, False
    for event in happened:
        ev, facts = event
        if ev == "ask" and "q" in facts:
            open_questions += 1
            together = together or open_questions > 1
            if facts["seat"] == seat:
                yield event
        elif ev == "answer":
            if facts["seat"] == seat:
                yield event
            elif together or secret_answers:
                yield Event(ev, {"n": facts["n"], "seat": facts["seat"], "a": HIDDEN})
            else:
                yield Event(ev, {key: fact for key, fact in facts.items() if key != "note"})
            open_questions -= 1
            together = together and open_questions > 0
        elif (ev in ("table.start", "table.end") and not event.twice) or (ev in PUBLIC_EVENTS and _has_sentence(event)):
            yield event


def as_text(
    happened: Iterable[Event], bots: tuple[str, ...], evidence: list[Evidence], stderr: Mapping[int, str] | None = None
) -> Iterator[str]:
    """Yield a table as lines of text. The output of the bot follows each fault.

    `stderr` is the text that the bots wrote to standard error, by number of the question, if it has been stored.
    """
    names = [escape_control_chars(bot) for bot in bots]
    width = max(map(len, names))
    pieces = by_question(evidence)
    questions: dict[int, str] = {}  # by number
    for event in happened:
        ev, facts = event
        if event.twice:
            continue
        if ev == "table.start":
            yield f"{escape_control_chars(facts['table'])}   {' · '.join(f'seat {n} {name}' for n, name in enumerate(names, 1))}"
        elif ev == "ask":
            questions[facts["n"]] = facts["q"]
        elif ev == "answer":
            mark = "  ✗ not allowed here" if facts.get("illegal") else ""
            piece = pieces.get(facts["n"])
            answer = _written(piece) if piece is not None and facts.get("illegal") else facts["a"]
            question = questions.pop(facts["n"], "")
            yield f"{facts['n']:>4}  {names[facts['seat']]:<{width}}  {question}  →  {answer}{mark}"
            if piece is not None and piece.kind != "slowest":
                yield from _shown(piece)
            for line in facts.get("note", "").splitlines():
                yield f"        note: {line}"
            for line in (stderr or {}).get(facts["n"], "").splitlines():
                yield f"        stderr: {escape_control_chars(line)}"
        elif ev == "table.end":
            yield "   ".join(f"{name} {score}" for name, score in zip(names, facts["scores"], strict=True))
        elif ev == "state" and event_validation.is_drawn(ev, facts):
            yield from ("      " + line for line in str(facts["text"]).rstrip("\n").split("\n"))
        elif _has_sentence(event) or ev == "discard":
            yield "      " + _sentence(ev, facts, names)
        else:
            yield "      " + _plain(ev, facts, names)


def _spelled_inside(fact: Any, game: Game) -> Any:
    """Return a fact with its moves and faults as text."""
    if type(fact) in (int, str):  # most are
        return fact
    if isinstance(fact, Move | Fault):
        return spelled(fact, game)
    return tuple(_spelled_inside(each, game) for each in fact) if type(fact) in (list, tuple) else fact


def _written(piece: Evidence) -> str:
    """Return the recorded output of a bot on one line, cut to 200 characters."""
    return one_line(piece.raw.decode(errors="replace").strip())[:200]


def _shown(piece: Evidence) -> Iterator[str]:
    after = f" after {milliseconds(piece.wall)}" if piece.wall else ""
    yield f"        {piece.kind}{after}; {one_line(piece.ended) or 'the process kept running'}"
    if times := time_breakdown(piece):
        yield f"        time: {times}"
    if piece.raw:
        yield f"        it wrote: {escape_control_chars(piece.raw.decode(errors='replace'))[:200]!r}"
    for line in Output(piece.stderr).lines(MAX_REPLAY_STDERR_LINES):
        yield f"        stderr: {line}"


def _has_sentence(event: Event) -> bool:
    needed = event_validation.PICTURE_FIELDS.get(event.ev, ())
    return event.ev in SENTENCES and event.facts.keys() == set(needed)


def _sentence(ev: str, facts: dict[str, Any], names: list[str]) -> str:
    """Return an event of the general table as text."""
    cards = facts.get("cards", ())
    words = facts | {name: names[facts[name]] for name in ("seat", "to") if name in facts}
    words["cards"] = " ".join(map(_spelled, cards if isinstance(cards, list | tuple) else [cards])) or "nothing"
    if ev == "discard":
        what = words["cards"] if "cards" in facts else "everything"
        if "seat" in facts:
            return f"{words['seat']} discards {what}"
        return f"discarded: {what}" if "cards" in facts else "the table is cleared"
    return SENTENCES[ev].format(**words)


def _plain(ev: str, facts: dict[str, Any], names: list[str]) -> str:
    """Return one of a game's own events as text: its name, and its facts by name. A seat appears as its bot's name."""
    told = []
    for name, fact in facts.items():
        each = fact if isinstance(fact, list | tuple) else [fact]
        if name == "worth":  # of each hand that was shown: its seat, category and rank
            words = [f"{names[seat]} {category}:{rank}" for seat, category, rank in each]
        else:
            words = [
                names[one] if name in event_validation.SEATS and one is not None else _spelled(one) for one in each
            ]
        nothing = "nobody" if name in event_validation.SEATS else "-"
        told.append(("" if name == "seat" else name + " ") + (" ".join(words) or nothing))
    return f"{ev}: {', '.join(told)}"


def _spelled(fact: Any) -> str:
    if fact is None:
        return "nobody"
    return ",".join(map(str, fact)) if isinstance(fact, list | tuple) else str(fact) or "-"
