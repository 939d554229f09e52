"""What a bot of 2018 returned, as a line of hold'em: the integer that Python's own `int()` makes of it.

7.9 is 7, True is 1, " 7 " is 7; "7.0" is `! ValueError` and a list `! TypeError`, as in the engine, where both cost the
round. Standard library only: it runs in the bot's process.
"""

LONGEST = 10**12 - 1  # twelve digits are a line's; no table has that many chips, so a number beyond is as wrong as this


def line(returned: object) -> str:
    """Return the answer line for what `bet` returned: a number, or `! ClassName` where it is none.

    Call it while the bot's alarm is armed: a value's `__int__` is the bot's code too.
    """
    try:
        number = int(returned)  # type: ignore[call-overload]  # whether it can is the question
    except Exception as error:  # whatever a guest's __int__ raises is its answer
        return report(error)
    return str(max(-LONGEST, min(number, LONGEST)))


def report(error: BaseException) -> str:
    """Return the answer line for an exception; `! Exception` if its class has a name that no line can carry.

    The engine of 2018 caught every kind of TimeoutError as one.
    """
    name = "TimeoutError" if isinstance(error, TimeoutError) else type(error).__name__
    return f"! {name}" if name.isascii() and name.isidentifier() and len(name) <= 100 else "! Exception"
