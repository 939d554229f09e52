"""Answers the requests of a season's inbox. A request that comes a second time changes nothing."""

import hashlib
import math
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.format import counted, day
from host.base.safe_text import one_line
from host.season.entries.inbox import (
    MAX_PRACTICE_TABLES,
    Activate,
    Cancel,
    Invite,
    Join,
    Manage,
    Practise,
    StoredRequest,
    Submit,
)
from host.season.entries.names import submitted_file_name
from host.season.entries.queue import Quota, why_refused
from host.season.entries.store import Store
from host.season.entries.values import Answer, Practice, Submission, SubmissionState, Version, submission_id
from host.season.folder import SeasonFolder
from host.season.season_config import AuthorLimits
from host.submissions.file_tree import FILE_FLAGS
from host.submissions.intake_log import file_stem

DOORS = ("web", "api", "submit")
PAUSED, FROZEN = "paused", "frozen"  # settings: why the season is paused; when the organiser has frozen it
ENTRIES = "entries"  # setting: the entries of the final, as JSON
ARRIVED = "arrived"  # setting: when the last request that has an answer arrived
MAX_TEXT_CHARS = 300  # of a licence or a reason
CHUNK_BYTES = 1 << 20
TAKEN_UP = "the same files as {label}: that version plays, with its record"


class EntryTerms(NamedTuple):
    """The terms of a season for its authors: limits, entry and references."""

    limits: AuthorLimits = AuthorLimits()
    anybody: bool = False  # whether anybody may take a name
    closes: float | None = None  # when entry closes, in seconds since 1970; None: the organiser decides
    references: tuple[str, ...] = ()  # the names of the bots that everybody practises against


class Desk(NamedTuple):
    """The means to answer requests: the store, the season's folder, its terms, and a function that cancels."""

    store: Store
    folder: SeasonFolder
    terms: EntryTerms
    cancel: Callable[[str], None]  # cancels the running examination or practice with an id

    def closed(self, at: float) -> bool:
        """Return whether entry is closed for a request that arrives at this time, in seconds since 1970."""
        return is_closed(closing_time(self.store, self.terms.closes), at)


def is_closed(closes: float | None, at: float) -> bool:
    """Return whether entry, which closes at `closes`, is closed at a time. At the moment `closes` it is closed."""
    return closes is not None and at >= closes


def closing_time(store: Store, closes: float | None) -> float | None:
    """Return when entry closes, in seconds since 1970; None if no time is set.

    `closes` is the time that the terms set. Entry closes earlier if the organiser has closed it.
    """
    return min((each for each in (closes, store.time(FROZEN)) if each is not None), default=None)


class Granted(NamedTuple):
    """The result of a granted request: a sentence, and the id of the submission that it is about; empty for none."""

    text: str
    submission: str = ""


def handle(desk: Desk, stored: StoredRequest, now: float) -> Answer:
    """Answer a request, and store and return the answer. A request that has been answered before gets the same answer.

    The time of a request is when it arrived, not when it is read, because entry may have been closed meanwhile. A
    request that is read after another one always has a later time, even if the clock has been set back.
    """
    store = desk.store
    if known := store.events.answered(stored.id):
        return known
    author = getattr(stored.request, "author", "") or getattr(stored.request, "name", "")
    at = max(min(stored.at, now), math.nextafter(store.time(ARRIVED) or 0.0, math.inf))
    with store.transaction():
        store.set_setting(ARRIVED, repr(at))
        try:
            with store.transaction():  # nothing of a refused request remains
                granted = _granted(desk, stored, at)
            answer = Answer(stored.id, author, at, granted.text, granted.submission)
        except UserError as refused:
            problem = refused.problems[0]
            text = f"{problem.where}: {problem.message}" if problem.where else problem.message
            answer = Answer(stored.id, author, at, text, code=problem.code, cure=problem.hint)
        store.events.answer(answer)
    return answer


def _granted(desk: Desk, stored: StoredRequest, now: float) -> Granted:
    """Carry out a request. Raise UserError if it is refused."""
    match stored.request:
        case Submit() as request:
            return _submit(desk, request, stored.upload, now)
        case Activate() as request:
            return _activate(desk, request, now)
        case Practise() as request:
            return _practise(desk, request, stored.id, now)
        case Cancel() as request:
            return _cancel(desk, request)
        case Join() as request:
            return _join(desk, request, now)
        case Invite() as request:
            return _invite(desk, request, now)
        case Manage() as request:
            return _manage(desk, request, now)


def refused(code: str, where: str, message: str, hint: str) -> UserError:
    """Return the error with which a request is refused."""
    return UserError([Problem(code, where, message, hint=hint)], 3)


# Submissions.


def _submit(desk: Desk, request: Submit, file: Path, now: float) -> Granted:
    store = desk.store
    store.authors.get(request.author)
    if request.door not in DOORS:
        raise refused("E010", one_line(request.door)[:40], "is not a door of the season", f"one of {', '.join(DOORS)}")
    file_name = submitted_file_name(request.file_name)
    bot = request.bot or file_stem(file_name)
    used = store.used(request.author, now)
    uploads = desk.folder.uploads
    with _copied(file, uploads, desk.terms.limits.size) as upload:
        store.submissions.check_name(bot, request.author)
        identity = submission_id(request.author, bot, upload.sha256)
        known = store.submissions.get(identity)
        if known is not None and known.state is not SubmissionState.CANCELLED:
            return _again(desk, known, now)
        if problem := why_refused(Quota(desk.terms.limits, used), upload.size, now):
            raise UserError([problem], 3)
        upload.path.replace(uploads / upload.sha256)
    if known is not None:
        store.submissions.wait_again(identity, "", at=now, door=request.door)
    else:
        store.submissions.add(
            Submission(
                identity,
                request.author,
                bot,
                file_name,
                upload.sha256,
                upload.size,
                now,
                request.door,
                SubmissionState.WAITING,
                licence=one_line(request.licence)[:MAX_TEXT_CHARS],
            )
        )
    store.events.add(now, "submitted", f"{request.author}/{bot}", f"{counted(upload.size, 'byte')}, {upload.sha256}")
    return Granted(f"{bot} is received", identity)


def _again(desk: Desk, known: Submission, now: float) -> Granted:
    """Answer the submission of a file that was submitted before.

    If it became a version that does not play, and entry is open, let the version play.
    """
    if known.state is not SubmissionState.ACCEPTED or not known.number:
        return Granted(f"the same file as before: {known.bot} is {known.state}", known.id)
    version = desk.store.versions.get(known.bot, known.number)
    if version.active and not version.off_ladder:
        return Granted(f"the same file as before: it is {version.label}, which plays", known.id)
    if desk.closed(now):
        return Granted(
            f"the same file as before: it is {version.label}; entry is closed, so it does not play", known.id
        )
    desk.store.versions.activate(version, desk.terms.limits.active)
    return Granted(TAKEN_UP.format(label=version.label), known.id)


class _Copy(NamedTuple):
    """A copy of the file of a request."""

    path: Path
    size: int
    sha256: str


@contextmanager
def _copied(source: Path, uploads: Path, most: int) -> Iterator[_Copy]:
    """Copy the file of a request, of at most `most` bytes. Remove the copy after the block, unless the block moves it.

    Raise UserError if there is no such file, or if it is empty or too large.
    """
    uploads.mkdir(exist_ok=True)
    path = uploads / f".{secrets.token_hex(8)}"
    try:
        yield _copy(source, path, most)
    finally:
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path, most: int) -> _Copy:
    """Copy a file, and hash the copied bytes: the writer of the file may still change it."""
    what, size = hashlib.sha256(), 0
    try:
        descriptor = os.open(source, FILE_FLAGS)
    except OSError as missing:
        raise refused("E010", "", "the request has no file", "hand in the file again") from missing
    with os.fdopen(descriptor, "rb") as file, target.open("xb") as copy:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise refused("E010", "", "the request has no file", "hand in the file again")
        while size <= most and (chunk := file.read(CHUNK_BYTES)):
            size += len(chunk)
            what.update(chunk)
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    if problem := why_refused(Quota(AuthorLimits(size=most)), size, 0.0):
        raise UserError([problem], 3)
    if not size:
        raise refused("E010", "", "the file is empty", "hand in a source file, or a .zip or .tar of the bot's folder")
    return _Copy(target, size, what.hexdigest())


def _cancel(desk: Desk, request: Cancel) -> Granted:
    known = desk.store.submissions.get(request.submission)
    if known is None or known.author != request.author:
        raise refused("E009", "", "there is no such submission of yours", "see your page for the ids")
    return _cancelled(desk, known, "cancelled by its author")


def _cancelled(desk: Desk, known: Submission, reason: str) -> Granted:
    if known.state.final:
        return Granted(f"{known.bot} is {known.state} and cannot be cancelled", known.id)
    ran = known.state is not SubmissionState.WAITING
    desk.store.submissions.set_state(known.id, SubmissionState.CANCELLED, reason)
    desk.cancel(known.id)
    cost = "it costs the processor time that it has used" if ran else "it has not run and costs nothing"
    return Granted(f"{known.bot} is cancelled; {cost}", known.id)


# Versions.


def _own_version(desk: Desk, author: str, bot: str, number: int) -> Version:
    """Return a version of an author. Raise UserError if it does not exist, or belongs to another author."""
    version = desk.store.versions.get(bot, number)
    if version.author != author:
        raise refused("E003", version.label, "this bot belongs to another author", "choose one of your own versions")
    return version


def _activate(desk: Desk, request: Activate, now: float) -> Granted:
    version = _own_version(desk, request.author, request.bot, request.number)
    if desk.closed(now):
        hint = "practice goes on; the versions that played at the freeze play the final"
        raise refused("E011", version.label, "entry is closed: the choice of versions stands", hint)
    if not request.active:
        desk.store.versions.deactivate(version)
        desk.store.events.add(now, "inactive", version.label, "its author has stopped it")
        return Granted(f"{version.label} no longer plays")
    stopped = desk.store.versions.activate(version, desk.terms.limits.active)
    desk.store.events.add(now, "active", version.label, "chosen by its author")
    others = f"; {', '.join(each.label for each in stopped)} no longer plays" if stopped else ""
    return Granted(f"{version.label} plays from the next round on{others}")


def _practise(desk: Desk, request: Practise, identity: str, now: float) -> Granted:
    version = _own_version(desk, request.author, request.bot, request.number)
    opponents = request.opponents or desk.terms.references
    if not opponents:
        raise refused("E009", "", "the season has no references to practise against", "name the label of a version")
    for name in opponents:
        if name not in desk.terms.references:
            desk.store.versions.labelled(name)
    if not 1 <= request.tables <= MAX_PRACTICE_TABLES:
        message = f"{request.tables} tables of practice are not possible"
        raise refused("E009", "", message, f"1 to {MAX_PRACTICE_TABLES} tables")
    waiting = sum(each.author == request.author for each in desk.store.practices.open())
    if waiting >= desk.terms.limits.queue:
        message = f"{counted(waiting, 'request')} of yours for practice wait, and {desk.terms.limits.queue} may"
        raise refused("E004", "", message, "wait for one of them")
    desk.store.practices.add(
        Practice(
            identity,
            request.author,
            request.bot,
            request.number,
            opponents,
            request.tables,
            now,
            SubmissionState.WAITING,
        )
    )
    return Granted(f"{version.label} waits for practice against {', '.join(opponents)}")


# Authors and organisers.


def _join(desk: Desk, request: Join, now: float) -> Granted:
    if not desk.terms.anybody:
        raise refused("E001", "", "this season is for invited authors", "ask the organiser for a link")
    desk.store.authors.add(request.name, request.token_sha256, now)
    desk.store.events.add(now, "author", request.name, "has taken this name")
    return Granted(f"{request.name} may submit bots")


def _invite(desk: Desk, request: Invite, now: float) -> Granted:
    if request.again:
        desk.store.authors.replace_token(request.name, request.token_sha256)
        desk.store.events.add(now, "author", request.name, "has a new link; the old one no longer works")
        return Granted(f"{request.name} has a new link")
    desk.store.authors.add(request.name, request.token_sha256, now)
    desk.store.events.add(now, "author", request.name, "is invited")
    return Granted(f"{request.name} is invited")


def _manage(desk: Desk, request: Manage, now: float) -> Granted:
    store = desk.store
    reason, subject = one_line(request.reason)[:MAX_TEXT_CHARS], request.subject
    match request.action:
        case "pause":
            store.set_setting(PAUSED, reason or "the organiser has paused the season")
            text = "the season is paused: nothing new begins"
        case "resume":
            store.set_setting(PAUSED, "")
            text = "the season goes on"
        case "freeze":
            frozen = store.time(FROZEN) or now
            store.set_setting(FROZEN, repr(frozen))
            text = f"entry is closed since {day(frozen)}"
        case "unfreeze":
            text = _unfreeze(desk)
        case "rename":
            store.authors.rename(subject, request.name, now)
            text = f"{subject} is now called {request.name}"
        case "remove":
            store.authors.remove(subject)
            text = f"{subject} is removed"
        case "withdraw":
            subject = store.submissions.set_withdrawn(subject, reason or "withdrawn by the organiser")
            text = f"{subject} is withdrawn"
        case "readmit":
            subject, text = _readmit(desk, subject)
        case "cancel":
            if (known := store.submissions.get(subject)) is None:
                raise refused("E009", "", "there is no such submission", "see the organiser's page for the ids")
            text = _cancelled(desk, known, reason or "cancelled by the organiser").text
    store.events.add(now, request.action, subject, f"{text}{': ' + reason if reason else ''}")
    return Granted(text)


def _unfreeze(desk: Desk) -> str:
    """Open entry again after the organiser has closed it, and return a sentence for the event.

    Let the versions play that were submitted meanwhile, except those submitted when the terms had closed entry. Raise
    UserError if the organiser has not closed entry, or if the final has been made.
    """
    store, frozen = desk.store, desk.store.time(FROZEN)
    if frozen is None:
        raise refused(
            "E011", "", "the organiser has not closed entry", "the terms close it: edit freeze in croupier.toml"
        )
    if desk.folder.final_file.exists():
        raise refused("E011", "", "the final has been made: entry stays closed", "make another season")
    store.set_setting(FROZEN, "")
    reopen(store, frozen, desk.terms)
    return "entry is open again"


def reopen(store: Store, since: float, terms: EntryTerms) -> None:
    """Let the versions play that were submitted after entry had closed at `since`, and before it closes by `terms` now.

    The entries of the final are fixed again when entry closes.
    """
    store.set_setting(ENTRIES, "")
    closes = closing_time(store, terms.closes)
    for at, version in store.versions.late(since):
        if not is_closed(closes, at):
            store.versions.activate(version, terms.limits.active)


def _readmit(desk: Desk, subject: str) -> tuple[str, str]:
    """Let a withdrawn bot play again, or a submission be examined again. Return the subject and the text of the event.

    `subject` is the name of a bot, or the id of a refused or cancelled submission. Raise UserError if it is neither. If
    the file of a submission has been removed (pruning.py), its author may hand it in again.
    """
    known = desk.store.submissions.get(subject)
    if known is None:
        bot = desk.store.submissions.set_withdrawn(subject, "")
        return bot, f"{bot} is taken back"
    if known.state not in (SubmissionState.REFUSED, SubmissionState.CANCELLED):
        raise refused("E009", subject, f"this submission is {known.state}", "refused ones can be examined again")
    if not (desk.folder.uploads / known.sha256).exists():
        text = f"the file of {known.bot} is not kept any more: {known.author} may hand it in again"
        desk.store.submissions.set_state(known.id, SubmissionState.CANCELLED, text)
        return subject, text
    desk.store.submissions.wait_again(known.id, "")
    return subject, f"{known.bot} of {known.author} is examined again"
