"""Examines the submissions of a season: unpacks, builds and checks each one in a sandbox, and lets it practise.

The season process may end at any moment during an examination. The next season process removes the files that the
examination has written outside the store, and examines the submission again.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import trio

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.format import counted
from host.bots.bot_spec import BuiltBot
from host.bots.bot_spec import Submission as Handed
from host.season.entries.inbox import StoredRequest
from host.season.entries.names import name_beside
from host.season.entries.queue import MAX_ATTEMPTS, Place, Quota, Waiting, fair_order, places, why_held
from host.season.entries.store import Store
from host.season.entries.values import Answer, Practice, Submission, SubmissionState, Verdict, Version
from host.season.folder import SeasonFolder
from host.season.intake.examination import (
    Costs,
    Examination,
    pace_of,
    practice_finding,
    problem_texts,
    unpacked_upload,
)
from host.season.intake.practice import MAX_SECONDS, IntakeTerms, Practised, practise
from host.season.intake.pruning import prune_store, require_room
from host.season.intake.requests import PAUSED, Desk, handle
from host.season.intake.unpack import UnpackRequest
from host.submissions.discovery import load_entry
from host.submissions.examine import Ready, prepare_bots
from host.submissions.finding import Finding

BUILDERS = 2
"""The number of submissions that are built at the same time. Other submissions are checked, or practise, meanwhile."""

PACE_TABLES = 20  # against itself, which show how long a table takes if there are no references
LATE = "handed in after entry was closed: it is kept, and does not play"


class Running(NamedTuple):
    """A running examination or practice, with its costs and the scope that cancels it."""

    bot: str
    again: bool  # whether it has been begun before, and has failed or was interrupted
    scope: trio.CancelScope
    costs: Costs


class SeasonIntake:
    """The intake of a season: answers requests, and examines waiting submissions.

    It runs in the main thread of trio.
    """

    def __init__(self, store: Store, folder: SeasonFolder, terms: IntakeTerms) -> None:
        self.store, self.folder, self.terms = store, folder, terms
        self._running: dict[str, Running] = {}
        self._failed = False
        """Whether an examination has failed since interrupted examinations were last made to wait again."""
        self._references: dict[str, BuiltBot] = {}
        self._building = trio.CapacityLimiter(BUILDERS)
        for leftover in (folder.work, *folder.uploads.glob(".*")):
            paths.remove_tree(leftover)
        for place in (folder.uploads, folder.work, folder.versions):
            place.mkdir(parents=True, exist_ok=True)
        prune_store(store, folder)

    async def prepare_references(self) -> None:
        """Build and start the references of the present terms, and use them from now on.

        Raise UserError with the problems of all references that cannot play.
        """
        self.take_terms(self.terms, await self.ready_for(self.terms))

    async def ready_for(self, terms: IntakeTerms) -> Ready:
        """Build and start the references of `terms`, and return them. Raise UserError if one of them cannot play."""
        try:
            return await prepare_bots(terms.references, terms.game, terms.limits, terms.level)
        except UserError as refused:
            first = Problem(
                "E014", "references", "a reference cannot play", hint="correct it, or take it out of [season]"
            )
            raise UserError([first, *refused.problems], refused.exit_code) from refused

    def take_terms(self, terms: IntakeTerms, ready: Ready) -> None:
        """Use `terms` from now on. `ready` are their references, which have been built."""
        self.terms, self._references = terms._replace(game=ready.game), {bot.name: bot for bot in ready.bots}

    # Requests.

    def handle(self, stored: StoredRequest, now: float) -> Answer:
        """Answer a request of the inbox. The caller publishes the answer, then removes the request."""
        return handle(self.desk, stored, now)

    @property
    def desk(self) -> Desk:
        """Return the values with which requests are answered: the store, the terms and others."""
        return Desk(self.store, self.folder, self.terms.entry, self._cancel)

    def _cancel(self, identity: str) -> None:
        if running := self._running.get(identity):
            running.scope.cancel()

    # The queue.

    def waiting(self, now: float) -> list[Waiting]:
        """Return all waiting submissions and requests for practice, in the order in which they are examined."""
        some = [*self.store.submissions.waiting(), *self.store.practices.waiting()]
        return fair_order(some, self.store.submissions.served(), self.held(some, now))

    def held(self, waiting: Sequence[Waiting], now: float) -> dict[str, str]:
        """Return the reason why an author's submissions are not examined now, by author.

        Only the authors of `waiting` whose limits are used up have a reason.
        """
        limits = self.terms.entry.limits
        authors = {each.author for each in waiting}
        found = {author: why_held(Quota(limits, self.store.used(author, now)), now) for author in sorted(authors)}
        return {author: reason for author, reason in found.items() if reason}

    def places(self, now: float) -> dict[str, Place]:
        """Return the place in the queue of each waiting submission or request, and the reason why it waits, by id."""
        order = self.waiting(now)
        return places(order, self.held(order, now), self.doing, self.store.setting(PAUSED))

    @property
    def doing(self) -> str:
        """Return the running examinations in a few words; empty if there are none."""
        words = []
        for identity, running in self._running.items():
            known = self.store.submissions.get(identity)
            state = known.state if known else SubmissionState.PRACTISING
            words.append(f"{state} {running.bot}, {running.costs.elapsed:.0f} s")
        return "; ".join(words)

    async def examine_next(self) -> Submission | Practice | None:
        """Examine the first submission, or play the first practice, that may begin now. Return it with its result.

        Return None if none may begin now. Raise UserError if the machine fails: then the submission waits again.
        """
        now = time.time()
        if self.store.setting(PAUSED):
            return None
        if self._failed:  # perhaps by a full disk, so that the new state could not be stored
            self.store.submissions.recover(self._running)
            self.store.practices.recover(self._running)
            self._failed = False
        order = self.waiting(now)
        begun = [self.store.submissions.get(each) or self.store.practices.get(each) for each in self._running]
        held, busy = self.held(order, now), {each.author for each in begun if each}  # an author may have a new name
        bots = {each.bot.lower() for each in begun if each}
        again = any(running.again for running in self._running.values())
        for each in order:
            if each.author in held or each.author in busy:
                continue
            if each.attempts and again:  # several at the same time may have made each other fail
                continue
            if (known := self.store.submissions.get(each.id)) is not None:
                known = self._beside_others(known)
                if known.bot.lower() not in bots:
                    await self._run(known, partial(self._examine, known))
                    return self.store.submissions.get(known.id)
            elif practice := self.store.practices.get(each.id):
                await self._run(practice, partial(self._practise, practice))
                return self.store.practices.get(practice.id)
        return None

    async def _run(self, which: Submission | Practice, work: Callable[[Costs], Awaitable[None]]) -> None:
        """Run `work`, an examination or a practice that can be cancelled, and store its costs.

        Remove its work folder at the end. If `work` raises, let the submission wait again, and raise the same
        exception. A practice waits again before the next examination begins.
        """
        running = Running(which.bot, which.attempts > 0, trio.CancelScope(), Costs())
        store, identity = self.store, which.id
        self._running[identity] = running
        try:
            with running.scope:
                await work(running.costs)
        except BaseException as failed:
            self._failed = True
            if known := store.submissions.get(identity):
                reason = _machine_failed(failed)
                store.submissions.wait_again(identity, reason, attempts=known.attempts)
            raise
        finally:
            del self._running[identity]
            paths.remove_tree(self.folder.work / identity)
        cost = running.costs.elapsed if running.scope.cancelled_caught else running.costs.seconds
        (store.submissions if store.submissions.get(identity) else store.practices).spent(identity, cost)

    # Submissions.

    def _beside_others(self, submission: Submission) -> Submission:
        """Return a submission, with a new name of its bot if another author has taken the old one meanwhile."""
        if self.store.submissions.owner(submission.bot) in ("", submission.author):
            return submission
        name = name_beside(submission.bot, submission.author)
        self.store.submissions.rename(submission.id, name)
        return submission._replace(bot=name)

    async def _examine(self, submission: Submission, costs: Costs) -> None:
        """Examine a submission and store its verdict. Raise UserError if the machine fails.

        Refuse a submission whose bot could not be unpacked or measured in MAX_ATTEMPTS examinations.
        """
        work = self.folder.work / submission.id
        try:
            await self._decide(submission, work, costs)
        except UserError as failed:
            of_bot = failed.exit_code == 6 and all(problem.code[0] in "BH" for problem in failed.problems)
            if not of_bot or submission.attempts + 1 < MAX_ATTEMPTS:
                raise
            problems = problem_texts(failed.problems, work)
            self._refuse(self._stored(submission), Verdict(accepted=False, problems=problems))

    async def _decide(self, submission: Submission, work: Path, costs: Costs) -> None:
        """Store the verdict on a submission, and its version if it is accepted."""
        store = self.store
        require_room(self.folder.path)
        store.submissions.begin(submission, time.time())
        unpacked = await unpacked_upload(self._unpack_request(submission, work))
        costs.seconds = costs.elapsed
        submission = self._stored(submission)
        if unpacked.problems:
            self._refuse(submission, Verdict(accepted=False, problems=problem_texts(unpacked.problems, work)))
            return
        if self._is_taken(submission, work):
            return
        known = store.versions.with_content(submission.bot, unpacked.content)
        if known is not None:
            self._take_up(submission, known)
            return
        number = store.versions.next_number(submission.bot)
        label = f"{submission.bot}-{number}"
        with ExitStack() as building:
            await self._building.acquire_on_behalf_of(submission.id)
            building.callback(self._building.release_on_behalf_of, submission.id)
            examination = Examination(self.terms, work, costs, partial(self._built, submission.id, building))
            practise_with = partial(self._against_references, costs)
            verdict, bot = await examination.run(work / submission.bot, label, practise_with)
        await trio.lowlevel.checkpoint()  # a submission that was cancelled meanwhile gets no verdict
        submission = self._stored(submission)
        if not verdict.accepted or bot is None:
            require_room(self.folder.path)
            self._refuse(submission, verdict)
            return
        if self._is_taken(submission, work):
            return
        version = Version(
            bot=submission.bot,
            number=number,
            author=submission.author,
            sha256=bot.sha256,
            submission=submission.id,
            entered=max(time.time(), submission.at),  # the clock may have been set back meanwhile
            active=False,
            content=unpacked.content,
            language=bot.spec.language,
            pace=verdict.pace or costs.pace,
        )
        self.accept(submission, version, verdict, work / label)

    def _stored(self, submission: Submission) -> Submission:
        """Return a submission as it is stored now. Its author may have been renamed while it was examined."""
        return self.store.submissions.get(submission.id) or submission

    def _built(self, identity: str, building: ExitStack, state: SubmissionState) -> None:
        """Store the state that a submission has reached after its build, and let another submission be built."""
        building.close()
        self.store.submissions.set_state(identity, state)

    def _unpack_request(self, submission: Submission, work: Path) -> UnpackRequest:
        upload = self.folder.uploads / submission.sha256
        most = self.terms.limits.submission
        return UnpackRequest(str(upload), submission.file_name, str(work), submission.bot, most)

    def _is_taken(self, submission: Submission, work: Path) -> bool:
        """Return whether another author has meanwhile taken the name of the bot. If so, refuse the submission."""
        try:
            self.store.submissions.check_name(submission.bot, submission.author)
        except UserError as taken:
            self._refuse(submission, Verdict(accepted=False, problems=problem_texts(taken.problems, work)))
            return True
        return False

    def _refuse(self, submission: Submission, verdict: Verdict) -> None:
        first = next((each.partition("\n")[0] for each in verdict.problems), "it fails the check")
        with self.store.transaction():
            self.store.submissions.set_verdict(submission.id, verdict, first)
            self._log("refused", submission, first)

    def _take_up(self, submission: Submission, version: Version) -> None:
        """Accept a submission with the same files as a version of the bot. Let that version play if entry is open."""
        text = f"the same files as {version.label}: it plays on with its record"
        verdict = Verdict(accepted=True, findings=(Finding("✓", "version", text),))
        with self.store.transaction():
            entry = self._enter(submission, version)
            self.store.submissions.set_verdict(submission.id, verdict, f"{text}; {entry}", version.number)
            self._log("accepted", submission, text)

    def accept(self, submission: Submission, version: Version, verdict: Verdict, folder: Path) -> None:
        """Accept a submission: move the folder of its bot into the store of versions, and store the new version.

        The folder is moved first: if the process ends then, the next examination replaces the folder.
        """
        target = self.folder.path / version.place
        target.parent.mkdir(exist_ok=True)
        paths.remove_tree(target)
        folder.rename(target)
        with self.store.transaction():
            self.store.submissions.take_name(version.bot, version.author)
            self.store.versions.add(version)
            entry = self._enter(submission, version)
            self.store.submissions.set_verdict(submission.id, verdict, entry, version.number)
            self._log("accepted", submission, f"{version.label}, {version.sha256}")

    def _enter(self, submission: Submission, version: Version) -> str:
        """Let a version play, unless entry was closed when it was submitted, or later ones of its author play.

        A machine that fails may change the order of examinations, but not which versions play. Return a sentence that
        says whether the version plays, and which versions no longer play.
        """
        if self.desk.closed(submission.at):
            return f"{version.label} was {LATE}"
        files = self.store.submissions.files([version.author])
        own = [each for each in self.store.versions.playing() if each.author == version.author]
        later = [each.label for each in own if files[each.submission][1] > submission.at]
        if len(later) >= self.terms.entry.limits.active:
            return f"{version.label} is kept; what was handed in later plays on: {', '.join(later)}"
        stopped = self.store.versions.activate(version, self.terms.entry.limits.active)
        if reason := self.store.submissions.withdrawn(version.bot):
            return f"{version.bot} is withdrawn: {reason}"
        others = f"; {', '.join(each.label for each in stopped)} no longer plays" if stopped else ""
        return f"{version.label} plays from the next round on{others}"

    def _log(self, kind: str, submission: Submission, text: str) -> None:
        self.store.events.add(time.time(), kind, f"{submission.author}/{submission.bot}", text)

    # Practice.

    async def _against_references(self, costs: Costs, bot: BuiltBot) -> list[Practised]:
        if not self._references and self.terms.references:
            await self.prepare_references()
        if not self._references:  # tables against itself show how long a table takes
            itself = bot.with_keys(name=f"{bot.name}#2")
            costs.pace = pace_of(await self._against([itself], bot, PACE_TABLES, costs))
            return []
        played = await self._against([*self._references.values()], bot, self.terms.practice_tables, costs)
        for each in played:
            if each.opponent_faults:
                text = f"had {counted(each.opponent_faults, 'fault')} in practice against {bot.name}"
                self.store.events.add(time.time(), "reference", each.result.opponent, text)
        return played

    async def _against(
        self, opponents: Sequence[BuiltBot], bot: BuiltBot, tables: int, costs: Costs
    ) -> list[Practised]:
        """Play practice against each opponent, and return the results in the order of the opponents.

        The opponents share MAX_SECONDS. The time counts for the author, even if the bot only sleeps.
        """
        found, end = list[Practised](), time.monotonic() + MAX_SECONDS
        for nth, opponent in enumerate(opponents):
            began = time.monotonic()
            share = max(end - began, 0.0) / (len(opponents) - nth)
            found.append(await practise(self.terms, bot, opponent, tables, share))
            costs.seconds += max(found[-1].cpu_seconds, time.monotonic() - began)
        return found

    async def _practise(self, practice: Practice, costs: Costs) -> None:
        """Play the practice that an author has requested. Replace the answer to the request by the result."""
        store, state, code = self.store, SubmissionState.ACCEPTED, ""
        store.practices.begin(practice, time.time())
        names = [store.versions.get(practice.bot, practice.number).label, *practice.opponents]
        try:
            bot, *others = await self._prepared(names)
            played = await self._against(others, bot, practice.tables, costs)
            text = f"practice of {names[0]} {'; '.join(practice_finding(each).words for each in played)}"
        except UserError as refused:
            if refused.exit_code == 6:
                raise
            (problem, *_), played = refused.problems, []
            failed = next((name for name in names if name in problem.where.split("/")), "a bot")
            # The message of the problem may have the words of another author's bot.
            state, code, text = (
                SubmissionState.REFUSED,
                problem.code,
                f"no practice of {names[0]}: {failed} does not start",
            )
        with store.transaction():
            store.practices.finish(practice.id, state, tuple(each.result for each in played))
            known = store.practices.get(practice.id) or practice  # its author may have another name now
            store.events.answer(Answer(practice.id, known.author, time.time(), text, code=code))

    async def _prepared(self, names: Sequence[str]) -> list[BuiltBot]:
        """Build the versions and references with these labels and names, and return them in the same order.

        The first name is that of the bot that practises. If it is among the opponents too, that opponent is the same
        bot with another name. Raise UserError if a version does not exist.
        """
        terms, handed = self.terms, list[Handed]()
        own = {each.name: each for each in terms.references}
        for name in names:
            if name in own:
                handed.append(own[name])
                continue
            place = self.folder.path / self.store.versions.labelled(name).place
            handed.append(load_entry(place, terms.game, terms.limits).playable)
        bot, *others = (await prepare_bots(handed, terms.game, terms.limits, terms.level)).bots
        itself = bot.with_keys(name=f"{bot.name}#2")
        return [bot, *(itself if each.name == bot.name else each for each in others)]


def _machine_failed(failed: BaseException) -> str:
    """Return the reason, as a sentence, why a submission waits again after a failure."""
    if isinstance(failed, UserError):
        return f"the machine failed: {failed.problems[0].message}; it is examined again"
    return "the examination was interrupted; it is examined again"
