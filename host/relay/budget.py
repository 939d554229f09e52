"""Counts what a bot uses of its language models in a fixture, and decides whether it may ask again. Pure."""

import msgspec

from host.base.counts import MAX_COUNT, Count
from host.sandbox.limits import ModelAccess, ModelUse

MAX_UNANSWERED = 3  # requests in a fixture: while a model does not answer, the bot's clock stands still


class ModelBudget(msgspec.Struct):
    """A bot's usage of its models in a fixture. Later tables may use what earlier tables left over.

    It does no I/O. It is stored with each answer (storing_seat.py), so all its data is in its fields.
    """

    tables: Count = 1  # started so far
    refusals: Count = 0
    unanswered: Count = 0
    """The number of requests without an answer whose model could be reached, or whose bot did not wait to find out."""
    question: tuple[Count, Count] = (0, 0)  # the open question: table and number
    is_overspent: bool = False  # whether the last request came after a question at which a request was refused
    refused_at: dict[str, tuple[Count, Count]] = {}  # the first question with a refused request, by the model's name
    uses: dict[str, ModelUse] = {}  # by the name of the model

    def __post_init__(self) -> None:
        """Raise ValueError for counts that no bot can reach, because a stored budget may come from a stranger."""
        if not all(0 <= count <= MAX_COUNT for use in self.uses.values() for count in use):
            raise ValueError("no bot uses so much of a model")

    def begin(self, model: ModelAccess) -> str:
        """Count a request if the budget of `model` grants it, and return "". Otherwise return the reason.

        Also set `is_overspent`.
        """
        self.is_overspent = False
        if self.unanswered >= MAX_UNANSWERED:
            return f"{self.unanswered} requests of this fixture had no answer that croupier could pass on"
        spent = [f"{name} = {getattr(model, name)}" for name, left in self.left(model).items() if left <= 0]
        if spent:
            self.is_overspent = self.refused_at.setdefault(model.name, self.question) != self.question
            used_up = f"the budget of {model.name} is used up: {' and '.join(spent)} per table, table {self.tables}"
            return f"{used_up}; a request at a later question of this table is a fault"
        self.refused_at.pop(model.name, None)
        self.count(model, ModelUse(requests=1))
        return ""

    def count(self, model: ModelAccess, use: ModelUse) -> None:
        """Add a usage of a model to the usage so far."""
        self.uses[model.name] = self.uses.get(model.name, ModelUse()).plus(use)

    def give_back(self, model: ModelAccess) -> None:
        """Take back a request that had no answer: the model could not be reached, and the question is asked again."""
        self.count(model, ModelUse(requests=-1))
        self.unanswered -= 1

    def left(self, model: ModelAccess) -> dict[str, int | float]:
        """Return the requests and, if they are limited, the tokens and the money that are left, by name."""
        use = self.uses.get(model.name, ModelUse())
        left: dict[str, int | float] = {"requests": model.requests * self.tables - use.requests}
        if model.tokens:
            left["tokens"] = max(model.tokens * self.tables - use.tokens, 0)
        if model.money:
            left["money"] = max(round(model.money * self.tables - model.cost(use), 9), 0.0)  # 0.3 - 3 * 0.1 is not 0
        return left
