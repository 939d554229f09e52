"""The log of answers that outlives a worker: what is written to it is read again, whatever the answers are."""

import os
import random
import signal

from host.backends.worker_process import new_log
from host.play.answer_log import FIRST_BYTES, LAST_ANSWER, AnswerLog, Interrupted, decode_stop, read_stop
from host.play.records import spelled_answer
from protocols.wire import Answer, Fault, FaultKind, Move


def stopped(log: AnswerLog, descriptor: int, table: int, answer: int) -> Interrupted:
    """Return what the parent of a worker reads that ends while the rules of a table compute."""
    log.place[1], log.place[0] = answer, table
    found = decode_stop(read_stop(descriptor, -signal.SIGSEGV))
    log.place[0] = 0
    assert read_stop(descriptor, -signal.SIGSEGV) == b""
    return found


def test_answers_of_batches_are_read_by_table_and_in_their_order() -> None:
    log = AnswerLog(descriptor := new_log())
    log.begin_fixture(Interrupted({"t1": (("H", None),)}))
    log.add_tables(1, ["t1", "t2"])
    log.add_tables(3, ["t3"])
    high, low, late = Move("HIGH"), Move("PLAY", 10**30, "a\nb\u00e9"), Fault(FaultKind.TIMEOUT, "1 2")
    log.add([([1, 3], [high, low], 0.25, [7]), ([2, 3], [late, high], None, [6])])
    found = stopped(log, descriptor, 3, LAST_ANSWER)
    assert found.stops[0][:2] == ("t3", 2)
    assert [each.answer for each in found.given("t3")] == [high, low]
    assert found.given("t1") == [(Move("H"), None), (high, 0.25)] and found.given("t2") == [(late, None)]
    os.close(descriptor)


def test_answers_of_tables_that_are_played_alone_are_read_again_however_many_there_are() -> None:
    log, chance = AnswerLog(descriptor := new_log()), random.Random(7)
    texts = [Move("SAY", number, "\u20ac" * number) for number in range(200)]
    for _ in range(2):  # of the fixture before, nothing is left
        log.begin_fixture(Interrupted())
        log.add_tables(1, ["one", "two"])
        given: dict[str, list[tuple[Answer, float | None]]] = {"one": [], "two": []}
        for table, name in enumerate(given, 1):
            log.begin_alone(table)
            for _ in range(3000):
                answer, bank = chance.choice(texts), chance.choice([None, None, None, 2.5, 3.0])
                log.add_one(answer, bank)
                given[name].append((answer, bank))
    assert os.fstat(descriptor).st_size > FIRST_BYTES
    found = stopped(log, descriptor, 2, 17)
    assert found.stops[0].answer == 17
    assert found.answers == {
        name: tuple((spelled_answer(answer), bank) for answer, bank in some) for name, some in given.items()
    }
    os.close(descriptor)
