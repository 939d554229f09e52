"""The results of `croupier ask`: the replies of one bot, or the differences between two."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from host.base.format import counted, milliseconds, plural
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import BuiltBot, format_limit
from host.bots.values import granted
from host.games.engine import Game
from host.inspect.reask import Reply, differences
from host.inspect.replay import spelled
from host.inspect.repro import Repro
from host.sandbox.levels import Level
from host.submissions.diagnosis import cause_of_time_out
from host.submissions.headline import Output
from protocols import PROTOCOLS
from protocols.wire import Fault, FaultKind

MAX_DIFFERENCES = 20  # lines; --json lists all
MAX_ASK_STDERR_LINES = 5


class AskReport(NamedTuple):
    """The replies of a bot to recorded questions.

    `earlier` is True if --same would ask other questions first. `models` are notes about each request of the bot to a
    model that is not the recorded one.
    """

    repro: Repro
    bot: BuiltBot
    level: Level
    replies: Sequence[Reply]
    earlier: bool
    models: Sequence[str] = ()

    def json(self) -> dict[str, Any]:
        """Return the replies as JSON has them."""
        rows = [_row(reply, self.bot, self.repro.game) for reply in self.replies]
        return {
            "table": self.repro.table,
            "bot": self.bot.name,
            "place": self.repro.bot.name,
            "sha256": self.bot.sha256,
            "same_program": self.bot.sha256 == self.repro.bot.sha256,
            "sandbox": self.level,
            "history": self.repro.history,
            "asked_before": len(self.repro.before),
            "models": [escape_control_chars(note) for note in self.models],
            "reproduced": all(row["same"] for row in rows),
            "rows": rows,
        }

    def text(self) -> Iterator[str]:
        """Yield the replies as lines for people."""
        yield self._title()
        for note in self._notes():
            yield f"  note     {note}"
        if len(self.repro.asked) == 1:
            yield from self._decision(self.replies[0])
        else:
            yield from _table(self.replies, self.repro.game)
        for note in self.models[:MAX_DIFFERENCES]:
            yield f"  models   {escape_control_chars(note)}"
        if len(self.models) > MAX_DIFFERENCES:
            yield f"  … and {len(self.models) - MAX_DIFFERENCES} more: --json lists all"

    def _title(self) -> str:
        asked, before = self.repro.asked, len(self.repro.before)
        what = f"question {asked[0].number}" if len(asked) == 1 else f"{len(asked)} questions"
        how = f"after {before} other {plural(before, 'question')}" if before else "in a fresh process"
        limit = f"limit {_ms(granted(asked[0], self.bot.limits.per_move))}"
        if asked[0].bank is not None:
            limit += f" and its bank, {format_limit(self.bot.limits.bank)}"
        table, bot = escape_control_chars(self.repro.table), escape_control_chars(self.bot.name)
        return f"{table}   {what}   {bot}, {how} · level {self.level.label} · {limit}"

    def _notes(self) -> Iterator[str]:
        repro, then = self.repro, self.repro.bot
        if self.bot.name != then.name:
            yield f"{then.name} was asked this question, not {self.bot.name}"
        elif self.bot.sha256 != then.sha256:
            hashes = f"sha256 {then.sha256[:8]}… then, {self.bot.sha256[:8]}… now"
            yield f"not the program that played, or built differently: {hashes}"
        if repro.history == "table" and not then.one_at_a_time:
            yield (
                f"it takes up to {then.parallel_tables} tables at a time, and their order is not recorded: "
                "only the earlier questions of this table come first"
            )
        if then.state and then.state_lifetime == "stage":
            if repro.state is None:
                yield f"{then.state} starts empty: what earlier fixtures left in it is not recorded"
            elif repro.state:
                size = len(repro.state)
                yield f"{then.state} starts with the {size} {plural(size, 'byte')} that earlier fixtures left in it"
            else:
                yield f"{then.state} starts empty, as it did then"
        if self.level != repro.level:
            yield f"level {repro.level.label} then, {self.level.label} now"

    def _decision(self, reply: Reply) -> Iterator[str]:
        yield f"  asked    {_question(reply, self.bot)}"
        for moment in reply.profile.moments:
            yield f"  {moment.at * 1000:8.1f} ms  {escape_control_chars(moment.words)}"
        yield f"  {reply.profile.elapsed * 1000:8.1f} ms  {escape_control_chars(reply.now.ended or 'answered')}"
        if reply.then.bank is not None:
            yield f"  bank     {reply.then.bank / 1000:.3f} s left, as then"
        went = reply.time_breakdown
        parts = [f"{_ms(went.computing)} CPU", f"{_ms(went.queued)} waiting for a core", f"{_ms(went.asleep)} sleeping"]
        parts += [f"{_ms(went.unseen)} not seen"] if went.unseen > 0.0005 else []
        verdict = f" ← {went.verdict}" if went.verdict else ""
        yield f"  time     {_ms(reply.now.wall)} = {' + '.join(parts)}{verdict}"
        if cause := _cause(reply):
            yield f"  cause    {cause}"
        yield f"  now      {spelled(reply.now.answer, self.repro.game)}{_wrote(reply.now.raw)}"
        then, piece = spelled(reply.then.answer, self.repro.game), self.repro.evidence
        if piece is not None:
            after = f" after {_ms(piece.wall)}" if piece.wall else ""
            then += f"{_wrote(piece.raw)}{after}; {piece.ended or 'the process kept running'}"
        yield f"  then     {then}{'' if reply.same else '   ≠'}"
        if not reply.same and self.earlier and self.bot.sha256 == self.repro.bot.sha256:
            yield "  try      --same: its process had been asked other questions before, and they come first with --same"
        said = Output(reply.now.stderr)
        if said.headline:
            yield f"  error    {said.headline}"
        for line in said.lines(MAX_ASK_STDERR_LINES):
            yield f"  stderr   {line}"


class Difference(NamedTuple):
    """The differences between the answers of two bots to the same recorded questions."""

    place: str  # the bot that was asked then
    game: Game
    bots: Sequence[BuiltBot]
    mine: Sequence[Reply]
    theirs: Sequence[Reply]

    @property
    def questions(self) -> int:
        """Return the number of questions that both bots were asked."""
        return min(len(self.mine), len(self.theirs))

    def json(self) -> dict[str, Any]:
        """Return the differences as JSON has them."""
        one, other = self._names()
        rows = [
            {
                "table": mine.then.table,
                "number": mine.then.number,
                "question": _question(mine, self.bots[0]),
                one: spelled(mine.now.answer, self.game),
                other: spelled(theirs.now.answer, self.game),
                "then": spelled(mine.then.answer, self.game),
            }
            for mine, theirs in differences(self.mine, self.theirs)
        ]
        return {"bots": [one, other], "questions": self.questions, "different": len(rows), "rows": rows}

    def text(self) -> Iterator[str]:
        """Yield the differences as lines for people."""
        one, other = self._names()
        differ = differences(self.mine, self.theirs)
        many = counted(self.questions, "question")
        yield f"{len(differ)} of {many} to {escape_control_chars(self.place)}: {one} and {other} differ"
        for mine, theirs in differ[:MAX_DIFFERENCES]:
            mine_said, theirs_said = (spelled(each.now.answer, self.game) for each in (mine, theirs))
            answers = f"{one} {mine_said} · {other} {theirs_said}"
            yield f"  {_question(mine, self.bots[0])}  →  {answers}"
        if len(differ) > MAX_DIFFERENCES:
            yield f"  … and {len(differ) - MAX_DIFFERENCES} more: --json lists all"

    def _names(self) -> tuple[str, str]:
        one, other = (escape_control_chars(bot.name) for bot in self.bots)
        return one, f"{other}#2" if other == one else other


def _row(reply: Reply, bot: BuiltBot, game: Game) -> dict[str, Any]:
    went = reply.time_breakdown
    return {
        "number": reply.then.number,
        "question": _question(reply, bot),
        "then": spelled(reply.then.answer, game),
        "now": spelled(reply.now.answer, game),
        "same": reply.same,
        "bank_ms": reply.then.bank,
        "wall_ms": round(reply.now.wall * 1000, 3),
        **{f"{part}_ms": round(seconds * 1000, 3) for part, seconds in went._asdict().items()},
        "verdict": went.verdict,
        "cause": _cause(reply),
        "raw": _text(reply.now.raw),
        "stderr": _text(reply.now.stderr),
        "headline": Output(reply.now.stderr).headline,
        "ended": reply.now.ended,
        "moments": [
            {"ms": round(at * 1000, 3), "what": escape_control_chars(words)} for at, words in reply.profile.moments
        ],
    }


def _cause(reply: Reply) -> str:
    """Return why the answer was late this time; "" if it was not late."""
    answer = reply.now.answer
    is_late = isinstance(answer, Fault) and answer.kind is FaultKind.TIMEOUT
    return cause_of_time_out(reply.now) if is_late else ""


def _table(replies: Sequence[Reply], game: Game) -> Iterator[str]:
    for reply in replies:
        question = PROTOCOLS["argv"].encode(reply.then.view).decode().rstrip("\n")
        differs = "" if reply.same else f"   ≠ then {spelled(reply.then.answer, game)}"
        yield f"{reply.then.number:>5}  {escape_control_chars(question)}  →  {spelled(reply.now.answer, game)}{differs}"
    same = sum(reply.same for reply in replies)
    slowest = max(replies, key=lambda reply: reply.now.wall)
    yield f"{same} of {len(replies)} as then · slowest {_ms(slowest.now.wall)} at question {slowest.then.number}"


def _question(reply: Reply, bot: BuiltBot) -> str:
    return escape_control_chars(PROTOCOLS[bot.spec.protocol].encode(reply.then.view).decode().rstrip("\n"))


def _wrote(raw: bytes) -> str:
    return f", wrote {_text(raw)[:100]!r}" if raw else ""


def _text(raw: bytes) -> str:
    return escape_control_chars(raw.decode(errors="replace"))


def _ms(seconds: float) -> str:
    return milliseconds(seconds) if seconds < 10 else f"{seconds:.0f} s"
