"""The command `verify`: recomputes everything from the recorded answers, and compares it with the journal."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.format import counted, day, thousands
from host.base.safe_text import one_line
from host.cli import CliContext, options, print_result
from host.ops.journals import journal_of

if TYPE_CHECKING:
    from host.inspect.verify import Audit
    from host.journal.state import RunState
    from host.stages import Registry


def parse_percent(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """Return `--sample 1%` as a share of 1."""
    number = text.strip().removesuffix("%")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", number) or not 0 < float(number) <= 100:
        raise click.BadParameter(f"{text!r} is not a percentage of the tables, for example 1%")
    return float(number) / 100


def parse_seal(_context: click.Context, _option: click.Parameter, text: str) -> str:
    """Return the hash of `--seal` in lower case."""
    if text and not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise click.BadParameter(f"{text!r} is not a seal, which has 64 hexadecimal digits")
    return text.lower()


@click.command()
@click.option(
    *("--sample", "share"),
    default="100%",
    callback=parse_percent,
    metavar="PERCENT",
    help="verify only this share of the tables, drawn at random",
)
@click.option(
    *("--seal", "seal"),
    default="",
    callback=parse_seal,
    metavar="HASH",
    help="a seal published at the end of a stage: check that nothing before it was removed or changed",
)
@click.option(
    "--seed",
    metavar="SEED",
    help="the seed as the organiser has published it, for a copy of the folder without run/seed",
)
@options.JOURNAL
@click.pass_obj
def verify(context: CliContext, share: float, seal: str, seed: str | None, journal: Path | None) -> None:
    """Apply the rules to every recorded answer again, and compare all results; exit code 1 if anything differs.

    Each fixture is sealed with a hash that covers the previous seal. Therefore a published seal covers everything that
    was played before it.
    """
    from host.journal.tournament_dir import read_seed

    given = None if seed is None else read_seed(seed)
    result = verify_journal(journal_of(context.folder, journal), context.registry, share, seal, given)
    print_result(context, "verify", result)
    raise click.exceptions.Exit(1 if result.audit.differences else 0)


class VerifyResult(NamedTuple):
    """The result of verifying a journal: the recorded results that differ from those of the replayed answers."""

    journal: Path
    run: "RunState"
    audit: "Audit"
    promised: str | None  # sha256 of the committed seed of the tournament; None if there is none
    share: float  # of the tables that were verified, 0 to 1
    published_seal: str  # empty if none is given
    last_seal: str

    def json(self) -> dict[str, Any]:
        """Return the differences as JSON keys."""
        seals: dict[str, Any] = {"seal": self.last_seal or None}
        if self.published_seal:
            seals |= {"sealed": self.audit.sealed, "since": self.audit.since}
        return {
            "journal": str(self.journal),
            "tables": self.audit.tables,
            "differences": self.audit.differences,
            "reduced": self.audit.reduced,
            "seed_sha256": self.run.seed_sha256,
            "committed": self.run.committed,
            "bound": self.run.bound or None,
            "only_transcripts": self.audit.only_told,
            "undecided": self.audit.undecided,
            "used_committed_seed": None if self.promised is None else self.promised == self.run.seed_sha256,
            **seals,
            "changes": [change.json() for change in self.audit.changes],
        }

    def text(self) -> Iterator[str]:
        """Yield the differences as lines."""
        from host.cli.seed import committed_text
        from host.inspect.verify import only_told_text

        tables, differences, sealed, since, changes, only_told, why_told, undecided, reduced, cause = self.audit
        if differences:
            number = counted(len(differences), "difference")
            yield f"{number} in {thousands(tables)} tables of {self.journal}; the first: {differences[0]}"
            return
        sample = f", drawn at random ({self.share:.3%} of all)" if self.share < 1 else ""
        if reduced:
            what = f"the answers of {counted(reduced, 'fixture')} have been removed to save space"
            yield f"{self.journal}: {what}; seals and results are those that were sealed"
        else:
            yield f"{thousands(tables)} tables of {self.journal}{sample}: every recorded answer gives the recorded score"
        if only_told:
            yield only_told_text(only_told, why_told)
        if undecided:
            yield f"{counted(undecided, 'fixture')} undecided: {cause}, so there is nothing to check"
        yield f"sha256 of the seed: {self.run.seed_sha256}, {committed_text(self.run)}"
        if self.published_seal:
            later = f"; {thousands(since)} were played later" if since else "; none was played later"
            yield f"seal {self.published_seal} covers {thousands(sealed)} fixtures{later}"
        if changes:
            number = counted(len(changes), "change")
            sealed_until = f"as sealed until {day(changes[0].at)}, then changed:"
            yield sealed_until if self.published_seal else f"{number} of the run, all sealed:"
            for change in changes:
                yield f"  {one_line(change.text())}"


def promised_seed(path: Path) -> str | None:
    """Return the sha256 of the seed that a tournament has committed to.

    Return None if there is no commitment, or if `path` is not the journal of a tournament's folder.
    """
    from host.journal.tournament_dir import Folder

    folder = Folder(path.absolute().parent.parent)
    promised = folder.committed() if path.absolute() == folder.journal else None
    return promised.sha256 if promised else None


def verify_journal(path: Path, registry: "Registry", share: float, seal: str, seed: bytes | None) -> VerifyResult:
    """Verify a journal: a `share` of its tables (0 to 1) and all its seals.

    `seal` is a published seal; empty: none is given. `seed` is the published seed; None: use the seed in the folder.
    """
    from host.inspect.source_replay import prepared_game
    from host.inspect.verify import verify
    from host.journal.reader import reading

    with reading(path, registry) as journal:
        run, audit = journal.state(), verify(journal, share, seal, seed, prepared_game(journal))
        promised = promised_seed(path)
        if promised and promised != run.seed_sha256:
            other = f"the run did not use the committed seed, whose sha256 is {promised}"
            audit = audit._replace(differences=[*audit.differences, other])
        return VerifyResult(
            journal=path,
            run=run,
            audit=audit,
            promised=promised,
            share=share,
            published_seal=seal,
            last_seal=journal.seal(),
        )
