"""The command `ls`: lists the bots of a tournament."""

import click

from host.base.safe_text import escape_control_chars
from host.cli import CliContext, completers, in_folder, print_json
from host.ops.bots import find_entries


@click.command()
@click.argument("names", shell_complete=completers.bots, nargs=-1)
@click.option("--hashes", is_flag=True, help="print the sha256 of each bot's program instead")
@click.pass_obj
def ls(context: CliContext, names: tuple[str, ...], hashes: bool) -> None:
    """List the bots of the tournament: language, protocol, missing programs, problems.

    With --hashes, each line is the sha256 by which a tournament identifies the program, and the name of the bot. If a bot
    requires packages, the sha256 covers them, too, and is known only after the build: the line has - instead. The records
    of `croupier export public` have it in the line of the bot's version.
    """
    from host.config.tournament_config import load
    from host.submissions.build import program_hash, protocol_of
    from host.submissions.discovery import refuse_broken
    from host.submissions.languages import missing

    tournament = load(context.folder)
    entered = find_entries(tournament, context.folder, names)
    rows = [
        {
            "bot": entry.name,
            "language": submission.spec.language if submission else "",
            "protocol": protocol_of(submission.for_game(tournament.game)) if submission else "",
            "path": str(entry.path),
            "author": submission.spec.author if submission else "",
            "sha256": program_hash(tournament.identified(submission))
            if hashes and submission and not entry.problems and not submission.spec.requires
            else None,
            "missing": missing(submission) if submission else [],
            "problems": [problem.code for problem in entry.problems],
        }
        for entry in entered
        for submission in [entry.submission]
    ]
    if context.json:
        print_json("ls", rows=rows)
        raise click.exceptions.Exit(3 if any(row["problems"] for row in rows) else 0)
    if not rows:
        click.echo(in_folder("no bots yet: croupier add FILE", str(context.folder)))
    for row in rows if hashes else ():
        click.echo(f"{row['sha256'] or '-':<64}  {escape_control_chars(str(row['bot']))}")
    for row in () if hashes else rows:
        lack = f"   ✗ missing {', '.join(row['missing'])}" if row["missing"] else ""
        lack += f"   ✗ {', '.join(row['problems'])}" if row["problems"] else ""
        path = f"   {escape_control_chars(str(row['path']))}" if context.verbose else ""
        about = f"{escape_control_chars(str(row['bot'])):<24} {row['language']:<8} {row['protocol']:<6}"
        click.echo(f"{about}{path}{lack}".rstrip())
    refuse_broken(entered)
