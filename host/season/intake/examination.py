"""Examines a submission, from its unpacked folder to the verdict: builds and checks it, and lets it practise."""

import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from host.base import paths
from host.base.errors import LOG_PREFIX, Problem, UserError
from host.base.format import counted, duration
from host.base.toml_file import read_untrusted, whole_toml
from host.bots.bot_spec import MANIFEST, BuiltBot, Submission
from host.bots.values import Evidence
from host.games.engine import Game
from host.season.entries.values import SlowAnswer, SubmissionState, Verdict
from host.season.intake.practice import IntakeTerms, Practised
from host.season.intake.pruning import require_room
from host.season.intake.unpack import Unpacked, UnpackRequest
from host.submissions.build import build_log
from host.submissions.check import check_bot
from host.submissions.conformance import AnswerSample
from host.submissions.diagnosis import diagnose
from host.submissions.discovery import load_entry
from host.submissions.examine import Findings
from host.submissions.finding import Finding
from host.submissions.languages import LANGUAGES
from protocols import PROTOCOLS
from protocols.wire import Fault

MAX_SHOWN_CHARS = 4096  # of each text of a verdict
MAX_LOG_CHARS = 16 << 10  # of what the compiler has printed
MAX_PROBLEMS, MAX_SLOWEST = 20, 5
UNPACK_TIMEOUT_S = 60.0
KILLERS = (signal.SIGXCPU, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)
"""The signals by which an archive can end the process that unpacks it. Other signals come from outside."""

MISSING_PROGRAM = "S005"
"""The code of the problem that the language of a bot is not installed. The bot is refused for it.

All other problems of the machine are not the fault of the bot."""


class Costs:
    """The processor time of an examination in seconds.

    A build counts by its elapsed time, because it runs on one core.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.seconds = 0.0
        self.pace = 0.0  # the bot's share of the worker time of a table, measured against itself; 0: not measured

    @property
    def elapsed(self) -> float:
        """Return the seconds since the examination began."""
        return time.monotonic() - self.began


class Examination:
    """One examination of a submission, from the unpacked folder to the verdict.

    `work` is the folder of the examination. `reached` is called with each new state of the submission.
    """

    def __init__(
        self, terms: IntakeTerms, work: Path, costs: Costs, reached: Callable[[SubmissionState], None]
    ) -> None:
        self._terms, self._work, self._costs, self._reached = terms, work, costs, reached
        self._names = ("", "")  # the label under which the bot is built, and the bot's own name, which messages contain

    async def run(
        self, folder: Path, label: str, against_references: Callable[[BuiltBot], Awaitable[list[Practised]]]
    ) -> tuple[Verdict, BuiltBot | None]:
        """Build the bot in a folder, check it, and let it practise. Return the verdict and the built bot.

        The bot is None if it has not passed the check. `against_references` plays the practice. Raise UserError if the
        machine fails.
        """
        terms = self._terms
        self._names = (label, folder.name)
        try:
            handed, note = await self._loaded(folder, label)
        except UserError as refused:
            return self._refused(refused), None
        finally:
            self._costs.seconds = self._costs.elapsed
        report, found = await check_bot(handed, terms.game, terms.level, terms.limits, terms.rules, built=self._built)
        if found.bot is None:
            self._costs.seconds = self._costs.elapsed
        if found.bot is None or (found.exit_code == 6 and found.refusals):
            return self._refused(UserError([*found.refusals], found.exit_code)), None
        if found.answers and found.answers.usage:
            self._costs.seconds += found.answers.usage.cpu
        findings = [*(_build_time(each, found.build_seconds) for each in report.lines), *note]
        verdict = self._checked(found, findings, tuple(map(self._own, report.problems)), found.bot)
        if not report.accepted or not report.playable:
            return msgspec.structs.replace(verdict, accepted=False), None
        self._reached(SubmissionState.PRACTISING)
        bot = found.playable()
        played = await against_references(bot)
        return self._practised(verdict, bot, played), bot

    def _built(self) -> None:
        """Count the time of the build, and report that the bot is being checked now."""
        self._costs.seconds = self._costs.elapsed
        self._reached(SubmissionState.CHECKING)

    async def _loaded(self, folder: Path, label: str) -> tuple[Submission, list[Finding]]:
        """Rename the folder of a bot to its label. Return the bot from it, and a note if its bot.toml has another name.

        Raise UserError if the bot is refused.
        """
        first = await trio.to_thread.run_sync(self._load, folder, abandon_on_cancel=True)
        target = folder.with_name(label)
        folder.rename(target)
        _rename_bot(target, first, label, folder.name)
        handed = await trio.to_thread.run_sync(self._load, target, abandon_on_cancel=True)
        name, note = first.name, list[Finding]()
        if first.manifest and name not in (folder.name, label):
            note = [Finding("!", "name", f"its bot.toml calls it {name}; in this season it is {folder.name}")]
        return handed, note

    def _load(self, folder: Path) -> Submission:
        terms = self._terms
        return load_entry(folder, terms.game, terms.limits).playable.for_game(terms.game)

    def _own(self, problem: Problem) -> str:
        label, name = self._names
        return problem_text(problem._replace(where=problem.where.replace(label, name)), self._work)

    def _refused(self, refused: UserError) -> Verdict:
        """Return the verdict on a bot that does not build. Raise the error if the machine is the cause of it."""
        if refused.exit_code == 6 and any(problem.code != MISSING_PROGRAM for problem in refused.problems):
            raise refused
        log = next((problem.log for problem in refused.problems if problem.log), "")
        finding = Finding("✗", "builds", "no")
        return Verdict(
            accepted=False,
            findings=(finding,),
            problems=tuple(map(self._own, refused.problems[:MAX_PROBLEMS])),
            build_log=log[:MAX_LOG_CHARS],
            compute_seconds=self._costs.seconds,
        )

    def _checked(
        self, found: Findings, findings: Sequence[Finding], problems: Sequence[str], built: BuiltBot
    ) -> Verdict:
        answers = found.answers
        piece = next(iter(answers.faults), None) if answers else None
        wrong = _first_wrong(built, self._terms.game, piece) if piece else ""
        samples = sorted(answers.samples, key=lambda each: -each.wall)[:MAX_SLOWEST] if answers else []
        return Verdict(
            accepted=True,
            findings=tuple(findings),
            problems=tuple(problems)[:MAX_PROBLEMS],
            build_log=_printed_by_build(built),
            stderr=_decoded(answers.stderr) if answers else "",
            first_wrong=wrong,
            cpu_limit_seconds=built.limits.cpu,
            cpu_seconds=piece.cpu if piece else 0.0,
            slowest=tuple(_slow_sample(built, self._terms.game, each) for each in samples),
            compute_seconds=self._costs.seconds,
        )

    def _practised(self, verdict: Verdict, bot: BuiltBot, played: Sequence[Practised]) -> Verdict:
        """Return `verdict` with the results of practice added. It refuses a bot that was benched in practice."""
        pieces = [piece for each in played for piece in each.evidence]
        faults = [piece for piece in pieces if piece.kind != "slowest"]
        slow = sorted((piece for piece in pieces if piece.kind == "slowest"), key=lambda piece: -piece.wall)
        benched = any(each.benched for each in played)
        findings = [*verdict.findings, *(practice_finding(each) for each in played)]
        problems, wrong = list(verdict.problems), verdict.first_wrong
        if faults and (not wrong or benched):
            wrong = _first_wrong(bot, self._terms.game, faults[0])
        if benched:
            problems.append(self._own(diagnose(bot, self._terms.game, faults[0])))
        return msgspec.structs.replace(
            verdict,
            accepted=not benched,
            findings=tuple(findings),
            problems=tuple(problems),
            first_wrong=wrong,
            cpu_seconds=max([verdict.cpu_seconds, *(piece.cpu for piece in pieces)]),
            slowest=tuple(_slow(piece) for piece in slow[:MAX_SLOWEST]) or verdict.slowest,
            practice=tuple(each.result for each in played),
            pace=pace_of(played),
            compute_seconds=self._costs.seconds,
        )


def pace_of(played: Sequence[Practised]) -> float:
    """Return a bot's share of the worker time of a practice table, in seconds; 0 without practice.

    It is the least share against any opponent.
    """
    return min((each.pace for each in played), default=0.0)


def practice_finding(played: Practised) -> Finding:
    """Return the finding about practice against one opponent, as a line of the verdict."""
    result, what = played.result, "practice"
    if not result.tables:
        return Finding("!", what, f"against {result.opponent}: no table was finished in time")
    share, half = 100 * result.won / result.tables, 50 * (result.high - result.low)
    words = (
        f"against {result.opponent}: {result.won:g} of {counted(result.tables, 'table')} ({share:.1f} % ± {half:.1f})"
    )
    if played.ended:
        words += "; ended, because the bot takes long"
    if played.opponent_faults:
        words += f"; {result.opponent} had {counted(played.opponent_faults, 'fault')}, none of them yours"
    if played.benched:
        return Finding("✗", what, f"{words}; not asked any more after {counted(result.faults, 'fault')}")
    if result.faults:
        return Finding("!", what, f"{words}; {counted(result.faults, 'fault')}", "the rules define the penalty")
    return Finding("✓", what, words)


async def unpacked_upload(request: UnpackRequest) -> Unpacked:
    """Unpack an upload into an empty folder, in a separate process. Cancelling ends the process.

    The result has a problem if the archive cannot be unpacked, or not within UNPACK_TIMEOUT_S. Raise UserError (exit
    code 6) if the disk is full, if the process fails in an unforeseen way, or if it was killed by SIGKILL: an archive
    cannot cause this signal, but a machine that is short of memory does.
    """
    command, target = [sys.executable, "-P", "-m", "host.season.intake.unpack"], Path(request.target)
    refused = Problem("B016", request.file_name, "cannot be unpacked", hint="pack it again, or hand in fewer files")
    with trio.move_on_after(UNPACK_TIMEOUT_S):
        paths.remove_tree(target)
        target.mkdir()
        done = await trio.run_process(
            command, stdin=msgspec.json.encode(request), capture_stdout=True, capture_stderr=True, check=False
        )
        if done.returncode == 0:
            return msgspec.json.decode(done.stdout, type=Unpacked)
        by = -done.returncode
        if by not in (signal.SIGKILL, *KILLERS):
            require_room(target)
            last = _decoded(done.stderr).strip().rpartition("\n")[2]
            said = last or f"it ended with {done.returncode} and said nothing"
            raise UserError([Problem("H001", "host.season.intake.unpack", f"has failed: {said}")], 6)
        why = f"cannot be unpacked: the process that did it was killed ({signal.Signals(by).name})"
        refused = refused._replace(message=why)
        if by == signal.SIGKILL:
            raise UserError([refused], 6)
    return Unpacked(problems=(refused,))


def _rename_bot(folder: Path, handed: Submission, label: str, former: str) -> None:
    """Write `label` as the name of a bot into the bot.toml in its folder, if bot.toml has a name.

    If the script to run was found by the bot's former name, name it in bot.toml, so that the same script runs.
    """
    path, row = folder / MANIFEST, LANGUAGES[handed.spec.language]
    data = read_untrusted(path).data if handed.manifest else {}
    keys: dict[str, Any] = {"name": label} if data.get("name") else {}
    spec = handed.spec
    if row.has_entry and spec.entry and not (spec.run or spec.adapter or data.get("entry")):
        keys |= {"entry": spec.entry} if Path(spec.entry).stem == former else {}
    if keys:
        lines = (f"{key} = {whole_toml(value)}\n" for key, value in (data | keys).items())
        path.write_text("".join(lines))


def _build_time(finding: Finding, seconds: float) -> Finding:
    """Return the finding about a successful build with its time in place of its last two words.

    Return any other finding unchanged. `seconds` is the time of the build.
    """
    if finding.what != "builds" or finding.mark != "✓":
        return finding
    return Finding("✓", "builds", f"{finding.words.rsplit(maxsplit=2)[0].rstrip()}  {duration(seconds)}")


def _slow_sample(bot: BuiltBot, game: Game, sample: AnswerSample) -> SlowAnswer:
    """Return a slow answer of the check: the question in the bot's protocol, and the bot's answer."""
    question, answer = PROTOCOLS[bot.spec.protocol].encode(sample.question.view), sample.answer
    wrote = f"({answer.kind})" if isinstance(answer, Fault) else game.grammar.spell(answer)
    return SlowAnswer(sample.wall, _decoded(question.rstrip()), wrote[:MAX_SHOWN_CHARS])


def _slow(piece: Evidence) -> SlowAnswer:
    return SlowAnswer(piece.wall, _decoded(piece.question), _decoded(piece.raw))


def _first_wrong(bot: BuiltBot, game: Game, piece: Evidence) -> str:
    """Return the first wrong answer of a bot with its question, and how its process ended."""
    problem = diagnose(bot, game, piece)
    ended = f"\n{piece.ended}" if piece.ended else ""
    return f"{problem.message}\n{problem.evidence}{ended}"[:MAX_SHOWN_CHARS]


def _printed_by_build(bot: BuiltBot) -> str:
    try:
        with build_log(bot.sha256).open("rb") as log:
            return _decoded(log.read(MAX_LOG_CHARS))
    except OSError:
        return ""


def _decoded(printed: bytes) -> str:
    return printed.decode(errors="replace")[:MAX_LOG_CHARS]


def problem_texts(problems: Sequence[Problem], work: Path) -> tuple[str, ...]:
    """Return the texts of problems for an author, without paths of the server."""
    return tuple(problem_text(problem, work) for problem in problems[:MAX_PROBLEMS])


def problem_text(problem: Problem, work: Path) -> str:
    """Return the text of a problem for an author, without paths of the server."""
    bare = problem._replace(evidence=problem.evidence.partition(LOG_PREFIX)[0], log="")
    text = str(bare)
    for path in (str(work), str(paths.cache_dir())):
        text = text.replace(f"{path}/", "").replace(path, "")
    return text[:MAX_SHOWN_CHARS]
