"""Commands of a bot's author: games, play, errors, replay, verify."""

import re
import shlex
import time
import webbrowser
from pathlib import Path
from typing import Any

import click

from host.cli import CliContext, completion, print_json, unknown_name
from host.cli.journals import journals_of


@click.command()
@click.argument("name", shell_complete=completion.games, metavar="[GAME]", required=False)
@click.option("--protocol", "card", flag_value="protocol", help="the manual as far as it concerns a game, to hand out")
@click.option("--rules", "card", flag_value="rules", help="its rules")
@click.option("--example", "card", flag_value="example", help="a whole bot in Python")
@click.pass_obj
def games(context: CliContext, name: str | None, card: str | None) -> None:
    """List the games; with a name, what its bots are asked and may answer, with examples."""
    if card and not name:
        raise click.UsageError(f"--{card} of which game? croupier games GAME --{card}")
    from host.cli.common import filled, the_game
    from host.games import GAMES
    from protocols import PROTOCOLS

    chosen = [the_game(name)] if name else list(GAMES.values())
    rows: list[dict[str, Any]] = [
        {
            "game": game.name,
            "title": game.title,
            "seats": list(game.seats),
            "protocol": game.protocol,
            "presets": list(game.presets),
            "fields": list(game.view._fields),
            "answers": game.grammar.expected,
            "examples": [PROTOCOLS["lines"].ask(view)[0].decode().rstrip() for view in game.examples],
            "json_example": PROTOCOLS["json"].ask(game.examples[0])[0].decode().rstrip(),
        }
        for game in chosen
    ]
    if card:
        from host.cli.handouts import CARDS

        text = CARDS[card](chosen[0])
        if context.json:
            print_json("games", rows=[rows[0] | {card: text}])
        else:
            click.echo(text)
        return
    if context.json:
        print_json("games", rows=rows)
        return
    for row, game in zip(rows, chosen, strict=True):
        low, high = game.seats
        seats = f"{low}-{high} bots" if low != high else f"{low} bots"
        click.echo(f"{game.name:<10} {game.title}   {seats} · {game.protocol} · presets {', '.join(game.presets)}")
        if name:
            click.echo(
                f"\n{filled(game.card)}\n\nfields   {' '.join(row['fields'])}\nanswers  {row['answers']}\nexamples"
            )
            for example in row["examples"]:
                click.echo(f"  {example}")
            click.echo(f"json     {row['json_example']}")


def named(context: CliContext, names: tuple[str, ...], game: str | None) -> tuple[Any, list[Any]]:
    """Return the game and the specs that are meant by folders, files, names and sample:NAME."""
    from host.cli.common import the_game
    from host.sandbox.limits import Limits
    from host.submissions.discovery import disambiguate, load_submission, refuse_broken
    from host.submissions.sample_bots import sample
    from host.tournament.config import load

    if game:
        the_game(game)
    here = load(context.folder) if (context.folder / "croupier.toml").exists() else None
    entered: dict[str, Any] = {}  # the tournament's own; whatever is wrong with them matters only where they are meant
    granted = here.limits if here else Limits()
    submissions = []
    for name in names:
        if name.startswith("sample:"):
            place = sample(name, game or (here.game if here else None))
            submissions.append(load_submission(place, granted).with_keys(game=place.parent.name))
            continue
        if (context.folder / name).exists():
            submissions.append(load_submission(context.folder / name, granted))
            continue
        entered = entered or {entry.name: entry for entry in (here.entries(context.folder) if here else [])}
        if name in entered:
            refuse_broken([entered[name]])
            submissions.append(entered[name].submission)
        else:
            told = unknown_name("bot", name, entered)
            other = "" if "did you mean" in told else "; a bot is a file, a folder, a name here, or sample:NAME"
            raise click.UsageError(told + other)
    said = {submission.spec.game for submission in submissions if submission.spec.game}
    chosen = game or (next(iter(said)) if len(said) == 1 else None) or (here.game if here else None)
    if chosen is None:
        raise click.UsageError("which game? The bots do not say it: name it with -g GAME")
    if others := [
        f"{submission.name} plays {submission.spec.game}"
        for submission in submissions
        if submission.spec.game not in ("", chosen)
    ]:
        raise click.UsageError(f"{', '.join(others)}, and this is {chosen}")
    return the_game(chosen), disambiguate(submissions)


@click.command()
@click.argument("names", shell_complete=completion.bots, nargs=-1, required=True, metavar="BOT...")
@click.option("-n", "tables", type=click.IntRange(1, 10_000_000), default=100, show_default=True, help="tables to play")
@click.option(
    "-g",
    "--game",
    shell_complete=completion.games,
    metavar="GAME",
    help="default: what the bots' manifests or the tournament say",
)
@click.option("--seed", help="32 hexadecimal digits, or any text; default: random")
@click.option(
    "--preset", metavar="NAME", help="the game's rules; default: the tournament's, or the game's first preset"
)
@click.option("--mirror", is_flag=True, help="play every deal from every seat, so that luck weighs less")
@click.option("--workers", type=click.IntRange(1, 1024), help="worker processes; default: one a core")
@click.option("--show", is_flag=True, help="show the first table")
@click.option("--unsafe", is_flag=True, help="no sandbox at all: only for bots you wrote yourself")
@click.pass_obj
def play(
    context: CliContext,
    names: tuple[str, ...],
    tables: int,
    game: str | None,
    seed: str | None,
    preset: str | None,
    mirror: bool,
    workers: int | None,
    show: bool,
    unsafe: bool,
) -> None:
    """Let bots play each other, with error bars. It exits with 0 whatever the bots do."""
    import trio

    from host.backends.local import processes, usable_cores
    from host.base.safe_text import escape_control_chars
    from host.cli.progress import progress_view
    from host.report import terminal
    from host.tournament.adhoc import played
    from host.tournament.stages.adhoc import Adhoc
    from host.tournament.standings import stage_standings

    chosen, submissions = named(context, names, game)
    low, high = chosen.seats
    if not low <= len(submissions) <= high:
        seats = f"{low} to {high}" if low != high else str(low)
        many = f"{len(submissions)} {'is' if len(submissions) == 1 else 'are'} named"
        raise click.UsageError(f"a table of {chosen.name} seats {seats} bots; {many}")
    terms, journal = terms_of(context, chosen, submissions, preset, seed, unsafe=unsafe)
    hands = min(workers or usable_cores(), tables)
    stage = Adhoc(tables=tables, mirror=mirror)
    started = time.monotonic()
    with progress_view("none" if context.json or tables <= 2 else "auto", quiet=context.quiet) as watch:
        friendly = trio.run(played, terms, stage, journal, processes, hands, watch)
    seconds = time.monotonic() - started
    rows, sure, advice = stage_standings(stage, {}, friendly.records, friendly.bots)
    if context.json:
        print_json(
            "play",
            game=chosen.name,
            sandbox=terms.level,
            seed=friendly.seed.hex(),
            tables=tables,
            seconds=round(seconds, 3),
            journal=str(journal),
            rows=terminal.json_rows(rows),
            sure=sure,
            advice=[each._asdict() for each in advice],
        )
        return
    if show:
        first = min(friendly.records, key=lambda record: int(record.path.rpartition("/")[2]))
        _show(journal, first.path, 0)
    count = f"{tables:,}".replace(",", "\u202f")
    some = f"{count} table{'s' if tables > 1 else ''} in {seconds:.1f} s"
    words = f"{some} · level {terms.level} · the same again: --seed {friendly.seed.hex()}"
    terminal.print_standings(words, rows, sure, advice=advice)
    for row in rows:
        if row.faults:
            kinds = ", ".join(f"{times} {kind}" for kind, times in sorted(row.faults_by_kind.items()))
            click.echo(f"{escape_control_chars(row.bot)}: {kinds} → croupier errors {shlex.quote(row.bot)}")


def terms_of(
    context: CliContext, game: Any, submissions: list[Any], preset: str | None, seed: str | None, *, unsafe: bool
) -> tuple[Any, Path]:
    """Return what a friendly game is played under, as the tournament here has it, and where it is journalled."""
    from host.cli.common import level_of
    from host.sandbox.levels import DEFAULT_LEVEL
    from host.sandbox.limits import Limits
    from host.tournament.adhoc import AdhocRules
    from host.tournament.config import load

    tournament = load(context.folder) if (context.folder / "croupier.toml").exists() else None
    if preset and preset not in game.presets:
        told = unknown_name(f"preset of {game.name}", preset, game.presets)
        raise click.UsageError(f"{told}  (presets: {', '.join(game.presets)})")
    usual = tournament.rules if tournament and tournament.game == game.name else next(iter(game.presets.values()))
    rules = game.presets[preset] if preset else usual
    level = level_of(tournament.level if tournament else DEFAULT_LEVEL, unsafe)
    terms = AdhocRules(game, rules, submissions, seed, level, tournament.limits if tournament else Limits())
    return terms, _place_of_play(context, tournament is not None)


def _place_of_play(context: CliContext, tournament: bool) -> Path:
    """Return where a friendly game is journalled; of those outside a tournament the last 20 are kept."""
    if tournament:
        return context.folder / "run" / "play.sqlite"
    folder = context.folder / ".croupier"
    folder.mkdir(exist_ok=True)
    for old in sorted(folder.glob("play-*.sqlite"))[:-19]:
        for path in folder.glob(old.stem + "*"):
            path.unlink(missing_ok=True)
    return folder / f"play-{time.time_ns()}.sqlite"


@click.command()
@click.argument("bot", shell_complete=completion.bots, required=False)
@click.option(
    "--kind", shell_complete=completion.kinds, metavar="KIND", help="one kind of fault only: timeout, illegal …"
)
@click.pass_obj
def errors(context: CliContext, bot: str | None, kind: str | None) -> None:
    """Show what went wrong: faults by bot and kind, counted, each with a piece of evidence."""
    from host.base.safe_text import escape_control_chars
    from host.report.terminal import time_breakdown
    from host.report.visibility import table_of
    from host.submissions.bot_spec import SAMPLE_PREFIX
    from host.tournament.journal import reading
    from host.tournament.stages import stages_of
    from protocols.wire import FaultKind

    kinds_known = [str(each) for each in FaultKind]
    if kind is not None and kind not in kinds_known:
        told = unknown_name("kind of fault", kind, kinds_known)
        raise click.UsageError(told if "did you mean" in told else f"{told}; there are {', '.join(kinds_known)}")
    journals = journals_of(context)
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    with reading(journals[0]) as journal:
        bots = journal.bots()
        stages = {stage.name: stage for stage in stages_of(journal.metadata())}
        for _, record in journal.records():
            for name, kinds in record.faults.items():
                for what, count in kinds.items():
                    group = groups.setdefault((name, what), {"bot": name, "kind": what, "count": 0})
                    group["count"] += count
        for number, path, piece in sorted(journal.evidence("WHERE fault.kind != 'slowest'"), key=_in_order_of_play):
            group = groups.setdefault((piece.bot, piece.kind), {"bot": piece.bot, "kind": piece.kind, "count": 1})
            where = f"{table_of(stages.get(path.split('/')[0]), path, piece.table)}:{piece.number}"
            if "first" not in group:
                group |= {
                    "first": where,
                    "fault": number,
                    "question": escape_control_chars(piece.question.decode(errors="replace")),
                    "answer": escape_control_chars(piece.raw.decode(errors="replace"))[:200],
                    "stderr": escape_control_chars(piece.stderr.decode(errors="replace"))[-500:],
                    "milliseconds": round(piece.wall * 1000, 3),
                    "computed_ms": round(piece.cpu * 1000, 3),
                    "waited_ms": round(piece.waited * 1000, 3),
                    "overhead_ms": round(piece.overhead * 1000, 3),
                    "went": time_breakdown(piece),
                    "ended": escape_control_chars(piece.ended),
                    "details": [],
                }
            group["last"] = where
            if piece.detail not in ("", *group["details"]):
                group["details"].append(escape_control_chars(piece.detail))
    bot = bot and bot.removeprefix(SAMPLE_PREFIX)
    if bot is not None and bot not in bots:
        raise click.UsageError(unknown_name("bot", bot, bots))
    rows = [
        group
        for (name, what), group in sorted(groups.items(), key=lambda item: -item[1]["count"])
        if bot in (None, name) and kind in (None, what)
    ]
    if context.json:
        print_json("errors", journal=str(journals[0]), rows=rows)
        return
    if not rows:
        click.echo("no faults")
    for group in rows:
        details = f"  ({', '.join(group['details'])})" if group.get("details") else ""
        click.echo(
            f"{escape_control_chars(group['bot'])}  {escape_control_chars(group['kind'])}  ×{group['count']}{details}"
        )
        if "first" in group:
            click.echo(
                f"  first at {escape_control_chars(group['first'])}, last kept at {escape_control_chars(group['last'])}"
            )
            table = shlex.quote(group["first"].rpartition(":")[0])
            click.echo(
                f"  again    croupier ask fault:{group['fault']}   croupier replay {escape_control_chars(table)}"
            )
            click.echo(f"  asked    {group['question']}")
            click.echo(
                f"  wrote    {group['answer']!r}   after {group['milliseconds']} ms; {group['ended'] or 'the process lives'}"
            )
            if group["went"]:
                click.echo(f"  time     {group['went']}")
            for line in group["stderr"].splitlines()[0 if context.verbose else -3 :]:
                click.echo(f"  stderr   {line}")


def _in_order_of_play(kept: tuple[int, str, Any]) -> tuple[list[tuple[bool, int, str]], int, int]:
    """Return what sorts evidence by fixture, table and question; numbers in a fixture's path count as such."""
    _, path, piece = kept
    parts = [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in path.split("/")]
    return parts, piece.table, piece.number


@click.command()
@click.argument("table", default="last")
@click.option(
    "--as",
    "bot",
    shell_complete=completion.bots,
    metavar="BOT",
    help="as this bot has seen it: its questions, and everybody's moves",
)
@click.option("-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="a page that plays it")
@click.option("--open", "show", is_flag=True, help="show it in the browser")
@click.pass_obj
def replay(context: CliContext, table: str, bot: str | None, output: Path | None, show: bool) -> None:
    """Show a table again: CONTESTANTS/NUMBER as standings and errors name it, or `last`."""
    from host.cli.replay_lookup import as_seen_by, load_table, page_of, place_of, split
    from host.report.replay import as_text
    from host.submissions.bot_spec import SAMPLE_PREFIX

    place = place_of(journals_of(context), context.folder, split(table)[0])
    found = load_table(place)
    seat = None
    if bot is not None:
        bot = bot.removeprefix(SAMPLE_PREFIX)
        if bot not in found.sitting.bots:
            raise click.UsageError(unknown_name(f"bot at {found.sitting.path}", bot, found.sitting.bots))
        seat = found.sitting.bots.index(bot)
        found = as_seen_by(found, seat)
    if output is not None or show:
        from host.cli.output import write

        path = output or context.folder / "replay.html"
        text, where = page_of(place, seat)
        write(path, text)
        url = f"{path.resolve().as_uri()}#{where}"
        if context.json:
            print_json("replay", table=found.sitting.path, path=str(path), url=url)
        else:
            click.echo(url)
        if show:
            webbrowser.open(url)
        return
    if context.json:
        print_json("replay", table=found.sitting.path, events=[{"ev": ev, **facts} for ev, facts in found.events])
        return
    for line in as_text(found.events, found.sitting.bots, found.evidence):
        click.echo(line)


def _show(journal: Path, fixture: str, nth: int) -> None:
    from host.cli.replay_lookup import Place, load_table
    from host.report.replay import as_text

    table = load_table(Place(journal, fixture, nth))
    for line in as_text(table.events, table.sitting.bots, table.evidence):
        click.echo(line)


def percent(_context: click.Context, _option: click.Parameter, said: str) -> float:
    """Return the share that `--sample 1%` means."""
    number = said.strip().removesuffix("%")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", number) or not 0 < float(number) <= 100:
        raise click.BadParameter(f"{said!r} is no share of the tables; 1% say")
    return float(number) / 100


def seal(_context: click.Context, _option: click.Parameter, said: str) -> str:
    """Return the hash that `--seal` names."""
    if said and not re.fullmatch("[0-9a-fA-F]{64}", said):
        raise click.BadParameter(f"{said!r} is no seal, which has 64 hexadecimal digits")
    return said.lower()


@click.command()
@click.option(
    "--sample", "share", default="100%", callback=percent, metavar="PERCENT", help="only so many tables, by lot"
)
@click.option(
    "--seal", default="", callback=seal, metavar="HASH", help="published at a stage's end: was anything cut off since?"
)
@click.pass_obj
def verify(context: CliContext, share: float, seal: str) -> None:
    """Play every recorded answer through the rules again, and compare all that is kept; exit code 1 when it differs.

    Everything kept is sealed by hashes that follow from each other. A seal published at a stage's end binds all before it.
    """
    from host.base.format import thousands
    from host.cli.seed import when
    from host.inspect.verify import verify
    from host.tournament.journal import reading
    from host.tournament.tournament_dir import committed_at

    journals = journals_of(context)
    with reading(journals[0]) as journal:
        facts = journal.metadata()
        tables, differs, sealed, since = verify(journal, share, seal)
        head = journal.seal()
    if context.json:
        seed = {"seed_sha256": facts["seed_sha256"], "committed": committed_at(facts)}
        sealing = {"seal": head or None, "sealed": sealed, "since": since} if seal else {"seal": head or None}
        print_json("verify", journal=str(journals[0]), tables=tables, differences=differs, **seed, **sealing)
    elif differs:
        many = "difference" if len(differs) == 1 else "differences"
        click.echo(f"{len(differs)} {many} in {thousands(tables)} tables of {journals[0]}; the first: {differs[0]}")
    else:
        drawn = f", drawn by lot ({share:.3%} of all)" if share < 1 else ""
        click.echo(
            f"{thousands(tables)} tables of {journals[0]}{drawn}: every recorded answer gives the recorded score"
        )
        click.echo(f"their seed has sha256 {facts['seed_sha256']}, {when(facts)}")
        if seal:
            later = f", and {thousands(since)} played since" if since else ", and nothing since"
            click.echo(f"they are what was sealed by {seal}: {thousands(sealed)} fixtures{later}")
    raise click.exceptions.Exit(1 if differs else 0)
