"""The command that asks again: what a bot was asked then, now, to it alone."""

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.cli import CliContext, print_json, unknown_name
from host.cli.report import JOURNAL

if TYPE_CHECKING:
    from host.inspect.reask import Reply
    from host.inspect.recorded import Repro
    from host.submissions.bot_spec import Bot, Spec

LAST = 1000  # questions that two bots are compared over
MOST_SHOWN = 20
BUNDLE = ".bundle"
FAULT = re.compile(r"fault:([0-9]{1,18})")


@click.command()
@click.argument("words", nargs=-1, metavar="[BOT] [TABLE[:N]|fault:ID|FILE]")
@click.option("--worst", is_flag=True, help="the bot's slowest decision")
@click.option("--same", is_flag=True, help="after everything that the same process had been asked before")
@click.option("--repeat", type=click.IntRange(1, 10_000), default=1, metavar="N", help="so many times, each afresh")
@click.option("--diff", "other", metavar="OTHER", help="ask this bot too; without a table: the last 1 000 questions")
@click.option("--as", "place", metavar="NAME", help="in whose place; default: the bot's own")
@click.option("--no-limits", is_flag=True, help="with a minute for an answer, and 8 GiB")
@click.option("--unsafe", is_flag=True, help="no sandbox at all: only for bots you wrote yourself")
@JOURNAL
@click.pass_obj
def ask(
    office: CliContext,
    words: tuple[str, ...],
    worst: bool,
    same: bool,
    repeat: int,
    other: str | None,
    place: str | None,
    no_limits: bool,
    unsafe: bool,
    journal: Path | None,
) -> None:
    """Ask a bot again what it was asked then: one question, a whole table, a fault, or a bundle.

    It is asked alone, and its time told: computing, waiting for a core, or asleep.
    """
    import trio

    from host.cli.common import level_of
    from host.inspect.bundle import unpacked
    from host.inspect.reask import asked_by_both, reask

    bot, where = _parted(office, words, asks=worst or other is not None)
    if worst and where is not None:
        raise click.UsageError(f"either --worst or {where}")
    entered: Mapping[str, Mapping[str, Any]] = {}
    if where is not None and _is_file(office, where):
        cases = [unpacked(office.folder / where)]
    else:
        entered, cases = _out_of_a_journal(office, journal, where, bot, place, worst=worst, same=same)
    meant = cases[0]
    level = level_of("L3", unsafe)
    mine = _built(_spec(office, bot or meant.player.name, meant.game, entered), meant, level, no_limits)
    if other is not None:
        theirs = _built(_spec(office, other, meant.game, entered), meant, level, no_limits)
        _tell_differences(office, meant.player.name, [mine, theirs], *asked_by_both([mine, theirs], cases, level))
        return
    rounds = trio.run(reask, mine, meant, level, repeat)
    if office.json:
        _print_as_json(meant, mine, level, rounds)
        return
    for line in _told(meant, mine, level, rounds, unlimited=no_limits):
        click.echo(line)


def _parted(office: CliContext, words: tuple[str, ...], *, asks: bool) -> tuple[str | None, str | None]:
    """Return which bot, and what is meant, of the words that were said."""
    if len(words) == 2:
        return words[0], words[1]
    if len(words) == 1 and (FAULT.fullmatch(words[0]) or _is_file(office, words[0])):
        return None, words[0]
    if len(words) == 1 and asks:
        return words[0], None
    raise click.UsageError("which bot, and which question? BOT TABLE:N, fault:ID, BOT --worst, or a bundle's FILE")


def _is_file(office: CliContext, where: str) -> bool:
    return where.endswith(BUNDLE) or (office.folder / where).is_file()


class Target(NamedTuple):
    """Where a decision lies: its journal, fixture, table from 0 and question, 0 for all; and whose it was, if known."""

    journal: Path
    fixture: str
    nth: int
    number: int
    bot: str = ""


def parse_target(office: CliContext, journal: Path | None, where: str) -> Target:
    """Return the decision that is meant by `fault:ID` or TABLE[:N]. Raise UsageError or Refused when there is none."""
    from host.cli.author import journals_of
    from host.cli.replay_lookup import place_of, split
    from host.tournament.journal import reading

    journals = [office.folder / journal] if journal else journals_of(office)
    match = FAULT.fullmatch(where)
    if match is None:
        table, number = split(where)
        return Target(*place_of(journals, office.folder, table), number)
    with reading(journals[0]) as book:
        for _, path, piece in book.evidence("WHERE fault.id = ?", (int(match[1]),)):
            return Target(journals[0], path, piece.table - 1, piece.number, piece.bot)
    raise click.UsageError(f"there is no {where}; `croupier errors` names them")


def _out_of_a_journal(
    office: CliContext,
    chosen: Path | None,
    where: str | None,
    bot: str | None,
    place: str | None,
    *,
    worst: bool,
    same: bool,
) -> tuple[Mapping[str, Mapping[str, Any]], list["Repro"]]:
    """Return who was entered, and what is meant; without `where` the bot's slowest decision, or all its last ones."""
    from host.cli.author import journals_of
    from host.inspect.recorded import case, latest
    from host.tournament.journal import reading

    what = parse_target(office, chosen, where) if where else None
    path = what.journal if what else (office.folder / chosen) if chosen else journals_of(office)[0]
    with reading(path) as book:
        entered = book.bots()
        if place is not None and place not in entered:
            raise click.UsageError(unknown_name("bot", place, entered))
        own = bot if bot is None or bot in entered else _spec(office, bot, book.metadata()["game"], entered).name
        name = place or (own if own in entered else None) or ""
        if what is not None:
            whose = place or what.bot or ("" if what.number else name)
            if not (whose or what.number):
                told = f"{own} did not play: --as NAME says in whose place it is asked ({', '.join(entered)})"
                raise click.UsageError(told)
            return entered, [case(book, what.fixture, what.nth, what.number, whose, same=same)]
        if worst:
            found = list(book.evidence("WHERE fault.kind = 'slowest' AND bot = ?", (name,)))
            if found:
                _, fixture, piece = max(found, key=lambda each: each[2].wall)
                return entered, [case(book, fixture, piece.table - 1, piece.number, name, same=same)]
        elif found_all := latest(book, name, LAST):
            return entered, found_all
    raise click.UsageError(f"{place or own} was asked nothing in {path}")


def _spec(office: CliContext, word: str, game: str, entered: Mapping[str, Mapping[str, Any]]) -> "Spec":
    """Return the program that a word means; of a friendly game the journal knows where its bots lay."""
    from host.cli.author import named

    source = entered.get(word, {}).get("source", "")
    if source and Path(source).exists() and not (office.folder / word).exists():
        word = source
    _game, (spec,) = named(office, (word,), game)
    chosen: Spec = spec
    return chosen


def bundled(
    office: CliContext, journal: Path | None, where: str | None, output: Path | None, *, spoilers: bool
) -> tuple[Path, int]:
    """Write a faulty decision as a bundle: a fault by its number, a table's first, or the last; return where, and its size.

    The size is in questions. Raise UsageError when nothing went wrong there.
    """
    from host.cli.author import journals_of
    from host.cli.report import write
    from host.inspect.bundle import packed
    from host.inspect.recorded import case
    from host.report.export import refuse_secrets
    from host.tournament.journal import reading

    faulty = "WHERE fault.kind != 'slowest'"
    if where in (None, "last"):
        path = office.folder / journal if journal else journals_of(office)[0]
        with reading(path) as book:
            where = next((f"fault:{number}" for number, _, _ in reversed([*book.evidence(faulty)])), None)
        if where is None:
            raise click.UsageError(f"nothing went wrong in {path}; TABLE:N names any question")
    what = parse_target(office, journal, where)
    with reading(what.journal) as book:
        if not spoilers:
            refuse_secrets(book, what.fixture)
        if not what.number:
            pieces = (piece for _, path, piece in book.evidence(faulty) if path == what.fixture)
            piece = next((piece for piece in pieces if piece.table == what.nth + 1), None)
            if piece is None:
                raise click.UsageError(f"nothing went wrong at {where}; {where}:N names any question of it")
            what = what._replace(number=piece.number, bot=piece.bot)
        found = case(book, what.fixture, what.nth, what.number, what.bot, same=True)
    name = f"{found.table.replace('/', '-')}-{what.number}{BUNDLE}"
    target = output or office.folder / name
    write(target, packed(found))
    return target, sum(len(exchange.questions) for exchange in (*found.before, *found.asked))


def _built(spec: "Spec", meant: "Repro", level: str, unlimited: bool) -> "Bot":
    import trio

    from host.inspect.reask import NO_LIMITS
    from host.submissions.build import build

    bot = trio.run(build, spec._replace(game=meant.game), level)
    limits = NO_LIMITS if unlimited else meant.player.limits
    return bot._replace(limits=limits if level == "L4" else limits._replace(clock="wall"))


# What is said of it.


def _told(
    meant: "Repro", bot: "Bot", level: str, rounds: Sequence[Sequence["Reply"]], *, unlimited: bool
) -> Iterator[str]:
    """Yield what came of it, for people."""
    from host.base.safe_text import escape_control_chars

    first = rounds[0]
    before = _asked_before(meant)
    how = f"after {before} other question{'s' * (before > 1)}" if before else "in a fresh process"
    limits = "no limits" if unlimited else f"limit {_ms(bot.limits.move)}"
    what = f"question {first[0].then.number}" if meant.wanted[1] else f"{len(first)} questions"
    yield f"{escape_control_chars(meant.table)}   {what}   {escape_control_chars(bot.name)}, {how} · level {level} · {limits}"
    if bot.sha256 != meant.player.sha256:
        then, now = meant.player.sha256[:8], bot.sha256[:8]
        yield f"  note     not the program that played, or built otherwise: sha256 {then}… then, {now}… now"
    if meant.player.state and meant.player.state_lifetime == "stage":
        if meant.state is None:
            yield f"  note     {meant.player.state} begins empty: what earlier fixtures had left in it is not kept"
        else:
            size = len(meant.state)
            held = (
                f"the {size} byte{'s' * (size > 1)} that earlier fixtures had left in it"
                if size
                else "nothing, as then"
            )
            yield f"  note     {meant.player.state} begins with {held}"
    if level != meant.level:
        yield f"  note     level {meant.level} then, {level} now"
    if meant.wanted[1]:
        yield from _told_decision(meant, first[-1], bot)
    else:
        yield from _told_table(first)
    if len(rounds) > 1:
        yield from _told_repetition(rounds)


def _told_decision(meant: "Repro", reply: "Reply", bot: "Bot") -> Iterator[str]:
    from host.base.safe_text import escape_control_chars
    from host.report.replay import spelled

    yield f"  asked    {_question(reply, bot)}"
    for moment in reply.seen.moments:
        yield f"  {moment.at * 1000:8.1f} ms  {escape_control_chars(moment.words)}"
    ended = reply.told.ended or "answered"
    yield f"  {reply.seen.elapsed * 1000:8.1f} ms  {escape_control_chars(ended)}"
    went = reply.shares
    parts = [f"{_ms(went.computing)} computing", f"{_ms(went.queued)} without a core", f"{_ms(went.asleep)} asleep"]
    parts += [f"{_ms(went.unseen)} between two looks"] if went.unseen > 0.0005 else []
    words = f" ← {went.verdict}" if went.verdict else ""
    yield f"  time     {_ms(reply.told.wall)} = {' + '.join(parts)}{words}"
    yield f"  now      {spelled(reply.told.answer)}{_wrote(reply.told.raw)}"
    piece = meant.evidence
    then = spelled(reply.then.answer)
    if piece is not None:
        then += f"{_wrote(piece.raw)} after {_ms(piece.wall)}; {piece.ended or 'the process lived'}"
    yield f"  then     {then}{'' if reply.same else '   ≠'}"
    for line in escape_control_chars(reply.told.stderr.decode(errors="replace")).splitlines()[-5:]:
        yield f"  stderr   {line[:200]}"


def _told_table(replies: Sequence["Reply"]) -> Iterator[str]:
    from host.base.safe_text import escape_control_chars
    from host.report.replay import spelled
    from protocols import PROTOCOLS

    for reply in replies:
        question = PROTOCOLS["argv"].lines((reply.then.view,)).decode().rstrip("\n")
        differs = "" if reply.same else f"   ≠ then {spelled(reply.then.answer)}"
        yield f"{reply.then.number:>5}  {escape_control_chars(question)}  →  {spelled(reply.told.answer)}{differs}"
    same = sum(reply.same for reply in replies)
    slowest = max(replies, key=lambda reply: reply.told.wall)
    yield f"{same} of {len(replies)} as then · slowest {_ms(slowest.told.wall)} at question {slowest.then.number}"


def _told_repetition(rounds: Sequence[Sequence["Reply"]]) -> Iterator[str]:
    from host.report.replay import spelled

    answers = Counter(" ".join(spelled(reply.told.answer) for reply in replies)[:60] for replies in rounds)
    walls = sorted(max(reply.told.wall for reply in replies) for replies in rounds)
    always = "always the same" if len(answers) == 1 else f"{len(answers)} different"
    yield f"  {len(rounds)} times: {always}; " + " · ".join(f"{said} ×{n}" for said, n in answers.most_common(5))
    middle, late = statistics.median(walls), walls[int(0.95 * (len(walls) - 1))]
    yield f"  time     median {_ms(middle)}, {_ms(walls[0])} to {_ms(walls[-1])}; one in twenty above {_ms(late)}"


def _tell_differences(
    office: CliContext, place: str, bots: Sequence["Bot"], mine: list["Reply"], theirs: list["Reply"]
) -> None:
    from host.base.safe_text import escape_control_chars
    from host.inspect.reask import differences
    from host.report.replay import spelled

    differ = differences(mine, theirs)
    one, other = (escape_control_chars(bot.name) for bot in bots)
    other += "#2" if other == one else ""
    if office.json:
        rows = [
            {"table": a.then.table, "number": a.then.number, "question": _question(a, bots[0])}
            | {one: spelled(a.told.answer), other: spelled(b.told.answer), "then": spelled(a.then.answer)}
            for a, b in differ
        ]
        print_json("ask", bots=[one, other], questions=len(mine), different=len(differ), rows=rows)
        return
    many = "question" if len(mine) == 1 else "questions"
    click.echo(
        f"{len(differ)} of {len(mine)} {many} in the place of {escape_control_chars(place)}: {one} and {other} differ"
    )
    for a, b in differ[:MOST_SHOWN]:
        click.echo(f"  {_question(a, bots[0])}  →  {one} {spelled(a.told.answer)} · {other} {spelled(b.told.answer)}")
    if len(differ) > MOST_SHOWN:
        click.echo(f"  … and {len(differ) - MOST_SHOWN} more: --json lists them all")


def _print_as_json(meant: "Repro", bot: "Bot", level: str, rounds: Sequence[Sequence["Reply"]]) -> None:
    from host.base.safe_text import escape_control_chars
    from host.report.replay import spelled

    def text(said: bytes) -> str:
        return escape_control_chars(said.decode(errors="replace"))

    rows = [
        {
            "round": nth,
            "number": reply.then.number,
            "question": _question(reply, bot),
            "then": spelled(reply.then.answer),
            "now": spelled(reply.told.answer),
            "same": reply.same,
            "wall_ms": round(reply.told.wall * 1000, 3),
            **{f"{part}_ms": round(took * 1000, 3) for part, took in reply.shares._asdict().items()},
            "verdict": reply.shares.verdict,
            "raw": text(reply.told.raw),
            "stderr": text(reply.told.stderr),
            "ended": reply.told.ended,
            "moments": [
                {"ms": round(at * 1000, 3), "what": escape_control_chars(words)} for at, words in reply.seen.moments
            ],
        }
        for nth, replies in enumerate(rounds, 1)
        for reply in replies
    ]
    print_json(
        "ask",
        table=meant.table,
        bot=bot.name,
        place=meant.player.name,
        sha256=bot.sha256,
        same_program=bot.sha256 == meant.player.sha256,
        sandbox=level,
        asked_before=_asked_before(meant),
        reproduced=all(row["same"] for row in rows),
        rows=rows,
    )


def _question(reply: "Reply", bot: "Bot") -> str:
    from host.base.safe_text import escape_control_chars
    from protocols import PROTOCOLS

    return escape_control_chars(PROTOCOLS[bot.protocol].lines((reply.then.view,)).decode().rstrip("\n"))


def _asked_before(meant: "Repro") -> int:
    return sum(len(exchange.questions) for exchange in meant.before)


def _wrote(raw: bytes) -> str:
    from host.base.safe_text import escape_control_chars

    return f", wrote {escape_control_chars(raw.decode(errors='replace'))[:100]!r}" if raw else ""


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 10 else f"{seconds:.0f} s"
