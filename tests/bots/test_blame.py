"""Which fault a missing answer is, how long a start may take, and how much CPU time is left."""

from math import inf

import pytest

from host.bots.allowance import StartupAllowance, TableBudget
from host.bots.blame import Ending, fault_of
from host.sandbox.limits import Limits
from protocols.wire import ADAPTER_TIMEOUT, Fault, FaultKind

UNREADABLE = Fault(FaultKind.UNREADABLE)
ALL = Ending(UNREADABLE, FaultKind.CPU, "Exec format error", 1, True, True, True, True, True)
GRAVEST_FIRST = [
    ({}, Fault(FaultKind.START, "Exec format error")),
    ({"start_error": ""}, Fault(FaultKind.CPU)),
    ({"limit": None}, Fault(FaultKind.MEMORY)),
    ({"oom_kills": 0}, Fault(FaultKind.FLOOD)),
    ({"flooded": False}, Fault(FaultKind.TIMEOUT)),
    ({"late": False}, Fault(FaultKind.CPU)),
    ({"over_cpu": False}, Fault(FaultKind.MEMORY)),
    ({"over_memory": False}, UNREADABLE),
    ({"found": None}, Fault(FaultKind.CRASH)),
    ({"crashed": False}, Fault(FaultKind.EXIT)),
]


def test_of_all_causes_the_gravest_names_the_fault() -> None:
    ending = ALL
    for change, fault in GRAVEST_FIRST:
        ending = ending._replace(**change)
        assert fault_of(ending) == fault
    assert ending == Ending()


def test_output_that_ended_is_a_crash_if_the_process_has_crashed() -> None:
    assert fault_of(Ending(Fault(FaultKind.EXIT), crashed=True)) == Fault(FaultKind.CRASH)
    assert fault_of(Ending(UNREADABLE, crashed=True)) == UNREADABLE


@pytest.mark.parametrize("limit", [FaultKind.CPU, FaultKind.MEMORY])
def test_a_process_killed_for_a_limit_has_the_fault_of_that_limit(limit: FaultKind) -> None:
    assert fault_of(Ending(limit=limit, crashed=True)) == Fault(limit)


def test_output_counts_whatever_the_exit_status_but_not_beyond_a_limit() -> None:
    assert Ending().passed_no_limit
    assert Ending(crashed=True).passed_no_limit
    assert not Ending(late=True).passed_no_limit
    assert not Ending(limit=FaultKind.MEMORY).passed_no_limit


def test_what_an_adapter_reports_an_illegal_move_and_an_unasked_question_leave_the_process_alive() -> None:
    alive = [kind for kind in FaultKind if not Fault(kind, "ValueError").ends_process]

    assert alive == [FaultKind.EXCEPTION, FaultKind.ILLEGAL, FaultKind.BENCHED]
    assert not ADAPTER_TIMEOUT.ends_process
    assert Fault(FaultKind.TIMEOUT).ends_process


def started(allowance: StartupAllowance) -> float:
    """Start a process; return the seconds it is allowed beyond the move limit."""
    allowance.start()
    return allowance.seconds()


@pytest.mark.parametrize("wall", [0.01, 3, 8])
@pytest.mark.parametrize("empty", [0.0, 0.3])
def test_a_later_start_has_a_quarter_of_a_second_more_than_an_empty_bot_however_long_the_first_took(
    wall: float, empty: float
) -> None:
    allowance = StartupAllowance(startup=10, move=1, empty_start=empty)

    assert started(allowance) == 10
    allowance.answered(wall)
    assert allowance.seconds() == 0
    assert started(allowance) == 0.25 + empty


def test_a_later_start_has_no_more_than_the_first() -> None:
    allowance = StartupAllowance(startup=0.1, move=1, empty_start=0.3)
    started(allowance)
    allowance.answered(1)

    assert started(allowance) == 0.1


def test_a_start_that_failed_has_used_its_allowance() -> None:
    allowance = StartupAllowance(startup=10, move=1)
    started(allowance)
    allowance.failed(2)

    assert started(allowance) == 0.25


@pytest.mark.parametrize(("charged", "left"), [(0.5, 10), (1, 10), (7, 4), (60, 0.25)])
def test_a_start_that_the_machine_stalled_goes_on_with_what_was_left(charged: float, left: float) -> None:
    allowance = StartupAllowance(startup=10, move=1)
    started(allowance)
    allowance.stalled(charged)
    allowance.begin_again()

    assert started(allowance) == left


@pytest.mark.parametrize(("first", "allowed"), [(1, 0.25), (4, 3.25), (60, 10)])
def test_a_process_that_had_answered_before_a_stall_starts_again_in_as_long_as_before(
    first: float, allowed: float
) -> None:
    allowance = StartupAllowance(startup=10, move=1)
    started(allowance)
    allowance.answered(first)
    allowance.stalled(60)
    allowance.begin_again()

    assert started(allowance) == allowed


@pytest.mark.parametrize("answers_first", [False, True])
def test_restarts_after_faults_have_twenty_starts_together(answers_first: bool) -> None:
    allowance = StartupAllowance(startup=1, move=1)
    for _ in range(20):
        assert started(allowance) > 0
        if answers_first:
            allowance.answered(2)
        allowance.failed(2)

    assert started(allowance) == 0


def test_what_a_table_leaves_over_the_next_may_use() -> None:
    budget = TableBudget(2.0)

    assert budget.begin(1, 0.5) == 1.5
    assert budget.begin(3, 0.5) == 5.5
    assert budget.begin(2, 7.0) == budget.left == -1.0


def test_without_a_limit_a_table_has_all_the_time_there_is() -> None:
    budget = TableBudget(Limits().cpu_table)

    assert budget.begin(9, 1e9) == budget.left == inf
