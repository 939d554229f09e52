"""The command `season verify`: computes every round's list and every score again."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.format import counted, plural, thousands
from host.cli import CliContext, print_result
from host.cli.verify import only_told_text, parse_percent, parse_seal

if TYPE_CHECKING:
    from host.season.verify import SeasonAudit


@click.command("verify")
@click.option(
    *("--sample", "share"),
    default="100%",
    callback=parse_percent,
    metavar="PERCENT",
    help="play only this share of the tables again, drawn at random",
)
@click.option(
    *("--seal", "seal"),
    default="",
    callback=parse_seal,
    metavar="HASH",
    help="a seal of the chain that was published: check that nothing before it was removed or changed",
)
@click.pass_obj
def command(context: CliContext, share: float, seal: str) -> None:
    """Compute the list of every round again, and every score from the recorded answers; exit code 1 if anything differs.

    It also checks the chain and the seals, that every round was dealt from the season's seed, what the season counts of
    each round, and the ladder.
    """
    from host.season.service import played_season
    from host.season.verify import verify_season

    result = VerifiedSeason(verify_season(context.folder, played_season(context.folder), share, seal), share)
    print_result(context, "season-verify", result)
    raise click.exceptions.Exit(1 if result.audit.differences else 0)


class VerifiedSeason(NamedTuple):
    """What verifying a season has found."""

    audit: "SeasonAudit"
    share: float

    def json(self) -> dict[str, Any]:
        """Return the result as JSON keys."""
        found = self.audit
        return {
            "rounds": found.rounds,
            "tables": found.tables,
            "only_transcripts": found.only_told,
            "reduced": [*found.reduced],
            "damaged": [*found.damaged],
            "lines": found.lines,
            "ladder": found.ladder or None,
            "seeds": found.seeds,
            "differences": [*found.differences],
        }

    def text(self) -> Iterator[str]:
        """Yield the result as lines."""
        found = self.audit
        sample = f", drawn at random ({self.share:.3%} of all)" if self.share < 1 else ""
        if found.differences:
            number = f"{len(found.differences)} {plural(len(found.differences), 'difference')}"
            yield f"{number} in {counted(found.rounds, 'round')}; the first: {found.differences[0]}"
            yield from (f"  {difference}" for difference in found.differences[1:20])
            return
        yield f"{counted(found.rounds, 'round')}: every list follows from the rounds before it"
        yield f"{thousands(found.tables)} tables{sample}: every recorded answer gives the recorded score"
        if found.only_told:
            yield only_told_text(found.only_told, found.why_told)
        if found.ladder:
            yield f"the ladder after round {found.ladder} follows from the journals"
        if found.seeds and found.lines:
            yield f"{counted(found.lines, 'line')} of the chain: the season is what it has sealed"
        if found.seeds:
            yield "every round was dealt from the seed that the season has committed to"
        if found.reduced:
            yield f"{counted(len(found.reduced), 'round')} without answers, which were removed: seals and results agree"
        if found.damaged:
            yield f"not counted, because damaged: {', '.join(map(str, found.damaged))}"
