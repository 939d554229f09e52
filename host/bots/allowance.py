"""Tracks how long a process may take to start, and how much processor time and bank it has left. Pure: no clock."""

from collections.abc import Mapping
from math import inf

from host.bots.values import BankTime
from host.sandbox.limits import A_DAY, Limits

RESTART_S = 0.25  # seconds that a later start may take longer than the start of an empty bot of its language
RESTART_BUDGET = 20  # restarts after faults may take this many startup limits in total; then they get nothing


class StartupAllowance:
    """Seconds beyond the limit of a move that the first answer of a process may take.

    The first process of a fixture has the whole startup limit. A later process has the time that an empty bot of its language
    takes to start, and RESTART_S seconds more, but not more than the startup limit. It has no more than this even if its own
    start takes longer, because a bot could compute during its start. All restarts after faults also share a budget, so that a
    bot cannot gain time by being restarted. After a failure of the host, `begin_again` sets the seconds of the new process.
    """

    def __init__(self, startup: float, move: float, empty_start: float = 0.0) -> None:
        """All times are in seconds. `startup` and `move` are limits of the bot.

        `empty_start` is the time that an empty bot of the language takes to start.
        """
        self._startup, self._move = startup, move
        self._allowed = startup
        self._later = min(startup, empty_start + RESTART_S)
        self._used = 0.0  # by the current process
        self._budget = RESTART_BUDGET * startup  # for all restarts after faults
        self._charged = 0.0  # seconds of the open question when the machine stalled
        self.is_open = False  # whether the process has not answered yet

    def start(self) -> None:
        """Record that a process starts."""
        self.is_open = True

    def seconds(self) -> float:
        """Return the seconds that the first answer may take beyond the limit of a move; 0 if the process has answered."""
        return min(self._allowed, max(self._budget, 0.0)) if self.is_open else 0.0

    def answered(self, wall: float) -> None:
        """Record the first answer of a process, `wall` seconds after the question."""
        self.is_open = False
        self._used = max(wall - self._move, 0.0)
        self._allowed = self._later

    def failed(self, wall: float) -> None:
        """Record a fault that ends the process, `wall` seconds after the question.

        Subtract the seconds of the process's start from the budget of restarts. If the process has not answered yet, its
        start lasted until the fault.
        """
        if self.is_open:
            self._used = max(wall - self._move, 0.0)
            self._allowed = self._later
        self._budget -= self._used

    def stalled(self, charged: float) -> None:
        """Record that the machine has stalled during a question. The bot is charged for `charged` seconds of this question."""
        self._charged = charged

    def begin_again(self) -> None:
        """Record that a new process replaces this one after a failure of the host, and is asked the same question.

        If this process has not answered yet, the new one has the seconds that this one had left, but at least the seconds of
        a later process. Otherwise it has the seconds that this process's start took and those of a later process, but not more
        than the startup limit.
        """
        if self.is_open:
            self._allowed = max(self._allowed - max(self._charged - self._move, 0.0), self._later)
        else:
            self._allowed = min(self._startup, self._used + self._later)
        self._charged = 0.0


class TableBudget:
    """Seconds of processor time for the tables of a fixture. Later tables may use what earlier tables left over."""

    def __init__(self, cpu_table: float) -> None:
        self._cpu_table = cpu_table
        self._tables = 1  # started so far
        self.is_limited = cpu_table < A_DAY
        self.left = cpu_table if self.is_limited else inf

    def begin(self, table: int, spent: float) -> float:
        """Start the table with number `table`. Return the seconds that are left; infinity if there is no limit.

        `spent` is the processor time used in the fixture so far, in seconds.
        """
        self._tables = max(self._tables, table)
        if self.is_limited:
            self.left = self._cpu_table * self._tables - spent
        return self.left


class TimeBank:
    """The seconds that a bot may still take for its answers beyond `floor`, the time that every answer has.

    It works like a chess clock with a delay and an increment. The time of an answer beyond `floor` is taken from the bank.
    After that, a move adds the increment; a fault adds nothing.
    """

    def __init__(self, limits: Limits, recorded: Mapping[tuple[int, int], int] | None = None) -> None:
        """`recorded` has the milliseconds that were left in an earlier run, by table and number of a question.

        At such a question, `begin` sets the bank to these milliseconds.
        """
        self._bank, self._increment, self._recorded = limits.bank, limits.increment, recorded or {}
        self._table = 0
        self.left = limits.bank.seconds
        self._free_blocked = limits.bank.seconds  # in the whole fixture: a bot can be blocked on purpose
        self.times: list[BankTime] = []  # what was left when each question was asked

    @property
    def milliseconds(self) -> int:
        """Return the time left in whole milliseconds. This value is sent to the bot and recorded."""
        return int(self.left * 1000 + 1e-6)

    def begin(self, table: int, number: int) -> None:
        """Record the time left when a question is asked, for the first time or again after a failure of the host.

        If the bank is for each table, first fill it at the first question of a table.
        """
        if table != self._table and self._bank.scope == "table":
            self.left = self._bank.seconds
        self._table = table
        recorded = self._recorded.get((table, number))
        if recorded is not None:
            self.left = recorded / 1000
        if self.times and self.times[-1][:2] == (table, number):
            self.times.pop()
        self.times.append(BankTime(table, number, self.milliseconds))

    def at(self, table: int, number: int) -> int | None:
        """Return the milliseconds that were left when a question was asked; None if it was not asked."""
        for time in reversed(self.times):
            if (time.table, time.number) == (table, number):
                return time.left
        return None

    def forgive(self, blocked: float) -> float:
        """Return how many of the `blocked` seconds of an answer are not taken from the bank.

        All answers of a fixture together get at most the seconds of a full bank in this way.
        """
        free = min(blocked, self._free_blocked)
        self._free_blocked -= free
        return free

    def spend(self, beyond: float) -> float:
        """Take `beyond` seconds from the bank, but not more than it has. Return the seconds taken; 0 if `beyond` is negative.

        `beyond` is the time of an answer minus the time that costs nothing.
        """
        spent = min(max(beyond, 0.0), self.left)
        self.left -= spent
        return spent

    def add(self) -> None:
        """Add the increment after a move."""
        self.left += self._increment


def time_bank(limits: Limits, recorded: Mapping[tuple[int, int], int] | None = None) -> TimeBank | None:
    """Return the bank of a bot at the start of a fixture; None if the limits give the bot no bank."""
    return TimeBank(limits, recorded) if limits.bank.seconds else None
