"""The command `season import`: hands in the answers of a question on Stack Exchange."""

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.format import counted
from host.base.safe_text import one_line
from host.cli import CliContext, print_result

if TYPE_CHECKING:
    from host.season.intake.imports import ImportedBot, Skipped


class Imported(NamedTuple):
    """What was handed in of a file of answers, and what was not."""

    bots: "list[ImportedBot]"
    skipped: "list[Skipped]"

    def json(self) -> dict[str, Any]:
        """Return them as JSON keys."""
        rows = [
            {key: getattr(each, key) for key in ("answer", "author", "bot", "file_name", "licence")}
            for each in self.bots
        ]
        return {"rows": rows, "skipped": [each._asdict() for each in self.skipped]}

    def text(self) -> Iterator[str]:
        """Yield a line for each answer."""
        for bot in self.bots:
            yield f"{bot.author}/{bot.bot}  {one_line(bot.file_name)}, {counted(len(bot.content), 'byte')}; {bot.licence}"
        for each in self.skipped:
            yield f"answer {each.answer} of {each.author} is left out: it {one_line(each.why)}"
        yield f"{counted(len(self.bots), 'bot')} handed in, {len(self.skipped)} of the answers left out"


@click.command("import")
@click.argument("answers", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--dry-run", is_flag=True, help="print what would be handed in")
@click.pass_obj
def command(context: CliContext, answers: Path, dry_run: bool) -> None:
    """Hand in the bots in ANSWERS, a file of the Stack Exchange API: a heading `Name, Language` and code blocks.

    Each author of an answer becomes an author of the season. An edited answer is a new version of its bot. Author, address
    and licence of the answer stay with the submission.
    """
    print_result(context, "season-import", import_answers(context.folder, answers, dry_run=dry_run))


def import_answers(place: Path, answers: Path, *, dry_run: bool) -> Imported:
    """Leave the bots of a file of answers in the inbox of a season. Raise UserError if the file cannot be read."""
    from host.season.entries.inbox import Invite, Submit
    from host.season.entries.store import Store
    from host.season.folder import SeasonFolder
    from host.season.intake.doors import leave
    from host.season.intake.imports import Skipped, answers_in, bot_in
    from host.season.service import loaded_season

    loaded_season(place)
    found = [bot_in(each) for each in answers_in(answers)]
    bots = [each for each in found if not isinstance(each, Skipped)]
    result = Imported(bots, [each for each in found if isinstance(each, Skipped)])
    if dry_run:
        return result
    folder, known = SeasonFolder(place), set[str]()
    if folder.store.exists():
        with Store.reading(place) as store:
            known = {author.name for author in store.authors.all()}
    for bot in bots:
        if bot.author not in known:
            known.add(bot.author)
            # Nobody has the link: `season invite --again` draws one for an author who wants it.
            leave(folder, Invite(bot.author, hashlib.sha256(secrets.token_bytes(32)).hexdigest()))
        leave(folder, Submit(bot.author, bot.file_name, "import", bot.bot, bot.licence), bot.content)
    return result
