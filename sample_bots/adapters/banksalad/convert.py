"""Convert the return value of a bot of 2018 to an answer line of hold'em, with Python's own `int()`.

7.9 becomes 7, True becomes 1, " 7 " becomes 7. "7.0" gives `! ValueError` and a list `! TypeError`; in the engine of 2018
both cost the round. Uses only the standard library, because it runs in the bot's process.
"""

LONGEST = 10**12 - 1  # a line allows twelve digits; no table has that many chips, so larger numbers are equally wrong


def line(returned: object) -> str:
    """Return the answer line for the value that `bet` returned: a number, or `! ClassName` if it is not one.

    Call it while the bot's alarm is armed: a value's `__int__` is the bot's code too.
    """
    try:
        number = int(returned)  # type: ignore[call-overload]  # raises TypeError or ValueError for some values
    except Exception as error:  # the bot's own __int__ may raise anything
        return report(error)
    return str(max(-LONGEST, min(number, LONGEST)))


def report(error: BaseException) -> str:
    """Return the answer line for an exception; `! Exception` if the name of its class does not fit the grammar.

    The engine of 2018 caught every kind of TimeoutError as one.
    """
    name = "TimeoutError" if isinstance(error, TimeoutError) else type(error).__name__
    return f"! {name}" if name.isascii() and name.isidentifier() and len(name) <= 100 else "! Exception"
