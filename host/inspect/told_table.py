"""Plays a recorded table again from its transcript. It runs no rules: the transcript has all questions and events."""

from collections.abc import Iterable, Sequence

from host.games.engine import Moves, Request, Scores, Tell
from host.play.sources.source import Step
from protocols.wire import Answer, Move


class ToldTable:
    """A table whose rules ran in another process, played from its transcript.

    It is used as a `Table` (host/games/engine.py).
    """

    def __init__(self, steps: Sequence[Step], answers: Iterable[Answer] = (), tell: Tell = None) -> None:
        """Raise ValueError if the transcript is not that of a whole table."""
        if not steps or any(not step.requests for step in steps[:-1]) or steps[-1].requests or steps[-1].scores is None:
            raise ValueError("its transcript is not that of a whole table")
        self._steps, self._tell = steps, tell
        self._step = -1
        self._given = 0  # answers to the open questions
        self.answers: list[Answer] = []
        self.illegal: list[int] = []
        self.scores: Scores | None = None
        self.moves: Moves | None = None
        self._go_on()
        for answer in answers:
            self.answer(answer)

    @property
    def open(self) -> tuple[Request, ...]:
        """Return the questions without an answer, in the order in which they are answered."""
        return self._steps[self._step].requests[self._given :]

    @property
    def request(self) -> Request | None:
        """Return the next question; None if the table is over."""
        return next(iter(self.open), None)

    @property
    def limit(self) -> float | None:
        """Return the seconds for the answer to the next question; None if the game has not set a limit."""
        limits = self._steps[self._step].limits
        return limits[self._given] if self._given < len(limits) else None

    def allows(self, answer: Answer) -> bool:
        """Return whether `answer`, the recorded answer to the next question, was allowed; True for a fault."""
        return not isinstance(answer, Move) or self._given not in self._steps[self._step + 1].illegal

    def answer(self, answer: Answer) -> bool:
        """Answer the next question. Return False if the answer was an illegal move. Raise ValueError if none is open."""
        if self.request is None:
            raise ValueError("the game is over: no question is open")
        fair = self.allows(answer)
        if not fair:
            self.illegal.append(len(self.answers))
        self.answers.append(answer)
        self._given += 1
        if not self.open:
            self._go_on()
        return fair

    def _go_on(self) -> None:
        """Go to the next step, and report its events."""
        self._step, self._given = self._step + 1, 0
        step = self._steps[self._step]
        if self._tell is not None:
            for event, facts in step.told:
                self._tell(event, **facts)
        self.scores, self.moves = step.scores, step.moves
