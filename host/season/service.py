"""The season process: answers requests, examines submissions, plays rounds, and publishes documents for the site.

It is the only writer of the store. After any end, also a crash, the same command goes on: a round continues from its
journal, an interrupted examination is repeated, and a request stays in the inbox until it has its answer.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import trio

from host.backends.backend import require_local
from host.base.errors import Problem, UserError
from host.base.format import counted
from host.base.toml_file import read
from host.config.resolver import CONFIG
from host.config.tournament_config import Tournament, load
from host.season.entries.inbox import Activate, Invite, Join, Manage, Request, read_requests
from host.season.entries.store import Store
from host.season.entries.values import Answer, Practice, Submission, hash_of, new_secret
from host.season.folder import SeasonFolder
from host.season.intake.intake import SeasonIntake
from host.season.intake.practice import IntakeTerms
from host.season.intake.pruning import prune_old_builds, prune_uploads
from host.season.intake.requests import ENTRIES, EntryTerms
from host.season.publishing import Publishing
from host.season.rounds.machines import Backends, opened_backends
from host.season.rounds.round_loop import TRY_AGAIN_S, RoundPlayer
from host.season.rounds.season import ORGANISER, Log, Season
from host.season.season_config import late_freeze, terms_of
from host.season.site_database import published
from host.season.site_process import run_site, wait_for_address
from host.submissions.discovery import load_submissions
from host.tournament.signals import interruptible
from host.web.address import url_of

INBOX_INTERVAL_S, CONFIG_INTERVAL_S, CLOSING_INTERVAL_S, PRUNE_INTERVAL_S = 0.05, 2.0, 1.0, 3600.0
EXAMINERS = 6
"""Authors whose submissions are examined at the same time. Fewer are built at the same time (BUILDERS)."""

Signature = tuple[int, int, int]
"""Identifies the content of a file: inode, time of change in nanoseconds, and size in bytes."""


class ServiceTerms(NamedTuple):
    """Options with which a season is opened: the address of its site, and the machines that play."""

    bind: str  # empty: the site runs elsewhere
    cluster: str = ""
    workers: int = 0
    new_link: bool = False  # whether the organiser gets another link


def loaded_season(place: Path) -> Tournament:
    """Return the config of a season folder. Raise UserError if its croupier.toml is wrong, or has no [season]."""
    tournament = load(place)
    if tournament.season is None:
        hint = "croupier new DIR -g GAME --season  makes a season; croupier run  plays a tournament"
        raise UserError([Problem("E102", str(tournament.path), "has no [season]: it is a tournament", hint=hint)], 3)
    return tournament


def require_season(place: Path) -> None:
    """Raise UserError if a folder is not the folder of a season.

    A season that has been opened is accepted even if its croupier.toml is wrong, so that its organiser can pause it.
    """
    if not SeasonFolder(place).store.exists():
        loaded_season(place)


def played_season(place: Path) -> Tournament:
    """Return the config of a season folder. If its croupier.toml is wrong, return the config of the last round.

    All rounds have the game of the season. Raise UserError if croupier.toml is wrong and the season has no round yet.
    """
    try:
        return loaded_season(place)
    except UserError:
        rounds = [each for each in SeasonFolder(place).rounds.glob(f"*/{CONFIG}") if each.parent.name.isdecimal()]
        if not rounds:
            raise
        return load(max(rounds, key=lambda each: int(each.parent.name)))


def site_address(place: Path, bind: str) -> str:
    """Return the address of the site for links, without a slash at its end.

    It is `address` in [season]; if that is empty, the URL of a site that listens at `bind`. Raise UserError if
    croupier.toml is wrong.
    """
    season = terms_of(loaded_season(place))
    host, _, port = bind.rpartition(":")
    return season.address or url_of(host.strip("[]"), port)


async def run_season(place: Path, terms: ServiceTerms, log: Log, link: Callable[[str], None]) -> str:
    """Run a season until ^C, SIGTERM or an error; return the reason of the stop.

    `link` gets the secret of the organiser's link, if it is new. Raise UserError if the season cannot be opened or
    cannot go on.
    """
    folder = SeasonFolder(place)
    signature = signature_of(folder.config)  # before it is read: a later change is seen
    tournament = loaded_season(place)
    if problems := late_freeze(read(tournament.path), terms_of(tournament), time.time(), folder.store.exists()):
        raise UserError(problems, 3)
    folder.create()
    with Store.open(folder.path) as store:
        promised = folder.draw_seed()
        season = Season(folder, tournament, store, log)
        season.take_terms(tournament)
        if terms.bind:
            await wait_for_address(terms.bind)
            season.site_is_at(site_address(place, terms.bind))
        if secret := organiser_secret(store, terms.new_link):
            link(secret)
        log("open", tournament.name, f"seed sha256 {promised.sha256}")
        async with (
            interruptible(lambda _text: None) as stop,
            opened_backends(terms.cluster or tournament.run.cluster) as backends,
        ):
            await Service(season, terms, backends, signature).run()
        log("stopped", tournament.name, f"{stop.reason}; the same command goes on")
        return stop.reason


def organiser_secret(store: Store, again: bool) -> str:
    """Draw the secret of the organiser's link, store its hash, and return it.

    If there is a link already, return an empty text, unless `again` asks for another link.
    """
    if store.setting(ORGANISER) and not again:
        return ""
    secret = new_secret()
    store.set_setting(ORGANISER, hash_of(secret))
    return secret


class Service:
    """The tasks of a season process."""

    def __init__(self, season: Season, terms: ServiceTerms, backends: Backends, signature: Signature | None) -> None:
        self._season, self._terms, self._backends, self._signature = season, terms, backends, signature

    async def run(self) -> None:
        """Run all tasks until they are cancelled. Raise UserError if the machine cannot play at all."""
        season, terms = self._season, self._terms
        with published(season.folder) as site:
            async with trio.open_nursery() as nursery:
                if terms.bind:  # it takes a moment to start, and shows the documents of before
                    tell = partial(season.event, "site", "process")
                    nursery.start_soon(run_site, season.folder.path, terms.bind, tell, season.listens)
                intake = SeasonIntake(season.store, season.folder, await self._intake_terms(season.tournament))
                await intake.prepare_references()
                player = RoundPlayer(season, self._backends.rounds, terms.workers)
                publishing = Publishing(season, player, intake, site)
                await self._publish_first(publishing)
                nursery.start_soon(self._answer_inbox, intake, publishing)
                for _ in range(EXAMINERS):
                    nursery.start_soon(self._examine, intake)
                nursery.start_soon(self._close_entry)
                nursery.start_soon(self._prune, player)
                nursery.start_soon(self._follow_config, intake)
                nursery.start_soon(publishing.run)
                nursery.start_soon(player.run, publishing.round_over)

    async def _intake_terms(self, tournament: Tournament) -> IntakeTerms:
        season, terms = self._season, terms_of(tournament)
        level = await require_local(tournament.level)
        references = load_submissions(terms.references, season.folder.path, tournament.game, tournament.limits)
        return IntakeTerms(
            entry=EntryTerms(
                limits=terms.author_limits,
                anybody=terms.submissions == "anybody",
                closes=terms.closes,
                references=tuple(each.name for each in references),
            ),
            game=tournament.game,
            rules=tournament.rules,
            limits=tournament.limits,
            level=level,
            references=tuple(tournament.as_played(each) for each in references),
            practice_tables=terms.practice,
            executor=self._backends.practice,
            workers=self._terms.workers,
        )

    async def _publish_first(self, publishing: Publishing) -> None:
        """Publish all documents before the first request is answered. Try until the machine can write them."""
        while True:
            try:
                return publishing.publish()
            except (UserError, OSError) as failed:
                await self._wait_for_machine("published", failed)

    # Tasks.

    async def _answer_inbox(self, intake: SeasonIntake, publishing: Publishing) -> None:
        """Answer the requests in the inbox. Remove each request after its answer has been published."""
        season = self._season
        while True:
            try:
                found = read_requests(season.folder.inbox)
                for problem in found.refused:
                    season.event("refused", "inbox", f"{problem.where} {problem.message}")
                if found.requests:
                    for stored in found.requests:
                        answer = intake.handle(stored, time.time())
                        if about := what_is_logged(stored.request, answer):
                            season.logged(*about, answer.text)
                    publishing.publish()
                    for stored in found.requests:
                        stored.remove()
                    season.bell.ring()
                season.goes_on("inbox")
                await trio.sleep(INBOX_INTERVAL_S)
            except (UserError, OSError) as failed:
                await self._wait_for_machine("inbox", failed)

    async def _examine(self, intake: SeasonIntake) -> None:
        """Examine the waiting submissions and practice, one after another."""
        season = self._season
        while True:
            try:
                done = await intake.examine_next()
            except (UserError, OSError) as failed:
                await self._wait_for_machine("examination", failed)
                continue
            if done is None:
                await season.bell.wait(1.0)
                continue
            season.goes_on("examination")
            if isinstance(done, Submission):
                season.logged(str(done.state), f"{done.author}/{done.label or done.bot}", done.reason)
            elif isinstance(done, Practice):
                season.logged("practice", f"{done.author}/{done.bot}-{done.number}", str(done.state))

    async def _wait_for_machine(self, what: str, failed: UserError | OSError) -> None:
        """Log what the machine lacks, and wait TRY_AGAIN_S, after which the caller tries again.

        Raise `failed` if it is a UserError of another cause: one without the exit code 6.
        """
        if isinstance(failed, UserError) and failed.exit_code != 6:
            raise failed
        self._season.waits(what, failed)
        await trio.sleep(TRY_AGAIN_S)

    async def _prune(self, player: RoundPlayer) -> None:
        """Remove the uploads and builds that are not needed any more, when the season opens and once an hour."""
        season = self._season
        while True:
            try:
                if removed := prune_uploads(season.store, season.folder.uploads, time.time()):
                    season.logged("kept", "uploads", f"{counted(removed, 'file')} that no version needs removed")
                busy_since = player.current.began if player.current else None
                if removed := await trio.to_thread.run_sync(prune_old_builds, busy_since):
                    season.logged("kept", "builds", f"{counted(removed, 'build')} that nobody has used removed")
                season.goes_on("uploads")
                await trio.sleep(PRUNE_INTERVAL_S)
            except (UserError, OSError) as failed:
                await self._wait_for_machine("uploads", failed)

    async def _close_entry(self) -> None:
        """Fix the entries of the final when entry is settled.

        If the organiser opens entry again, the entries are fixed again later.
        """
        season = self._season
        while True:
            try:
                if not season.store.setting(ENTRIES) and season.entry_is_settled():
                    season.fix_entries()
                    season.goes_on("entries")
            except (UserError, OSError) as failed:
                await self._wait_for_machine("entries", failed)
            await season.bell.wait(CLOSING_INTERVAL_S)

    async def _follow_config(self, intake: SeasonIntake) -> None:
        """Use the new terms when croupier.toml is edited while the season is open. A wrong file changes nothing."""
        season, tried = self._season, self._signature
        while True:
            await trio.sleep(CONFIG_INTERVAL_S)
            signature = signature_of(season.tournament.path)
            if signature in (self._signature, None):
                continue
            if signature != tried:  # it has been edited since it failed
                season.goes_on("croupier.toml")
                tried = signature
            before, self._signature = self._signature, signature
            try:
                changed = loaded_season(season.folder.path)
                if changed.game.name != season.tournament.game.name:
                    message = f"game = {changed.game.name}: a season has one game, {season.tournament.game.name}"
                    raise UserError([Problem("C013", str(changed.path), message)], 3)
                terms = await self._intake_terms(changed)
                ready = await intake.ready_for(terms)
                season.take_terms(changed)
                intake.take_terms(terms, ready)
            except (UserError, OSError) as wrong:
                if isinstance(wrong, OSError) or wrong.exit_code == 6:
                    self._signature = before
                    await self._wait_for_machine("croupier.toml", wrong)
                    continue
                season.event(
                    "warning", "croupier.toml", f"cannot be used, the old terms stay: {wrong}".replace("\n", " ")
                )


def what_is_logged(request: Request, answer: Answer) -> tuple[str, str] | None:
    """Return the kind and the subject of the log line about an answered request; None if it is not logged.

    A refused request of an author is not logged. An examination is logged when it is over.
    """
    match request:
        case Manage():
            return "refused" if answer.code else request.action, request.subject
        case Invite():
            return "refused" if answer.code else "author", request.name
        case Join() if not answer.code:
            return "author", request.name
        case Activate() if not answer.code:
            return "active" if request.active else "inactive", f"{request.bot}-{request.number}"
    return None


def signature_of(path: Path) -> Signature | None:
    """Return the values that identify the content of a file; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
