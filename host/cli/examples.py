"""Examples of each command: the last lines of its `--help`."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "new": (
        "new spring --game pazaak",
        "new try --game cardshark --with-samples",
        "new course -g pazaak --kind gauntlet",
    ),
    "run": ("run --dry-run", "run", "run --stage final"),
    "play": ("play bots/mine sample:davey -g cardshark -n 1000", "play mine other third -n 100 -g holdem"),
    "compare": ("compare bots/new bots/old -g pazaak", "compare mine sample:nestor"),
    "season": ("season open", "season status", "season final final2026"),
    "init": (
        "init bots/mine -g pazaak --lang python",
        "init mine -g cardshark --lang c --protocol lines",
        "init mine.js -g blackjack",
    ),
    "add": (
        "add bot.py --as Seventeen",
        "add inbox/* --csv intake.csv",
        'add new.py --replace ada --reason "fixed a crash"',
    ),
    "remove": ("remove grace", "remove grace -C spring"),
    "check": ("check bots/mine", "check bots/mine.py -g cardshark", "check --all"),
    "submit": ("submit mine.tar.gz --to LINK", "submit bots/mine --to LINK --json"),
    "standings": ("standings", "standings league --by pair", "standings --csv"),
    "rating": ("rating spring autumn", "rating words/* --csv"),
    "grades": ("grades", "grades --roster students.csv --csv", "grades ada"),
    "faults": ("faults", "faults mine", "faults mine --kind timeout"),
    "replay": ("replay last", "replay league/ada+grace/17", "replay last --as ada -o table.html"),
    "report": ("report --open", "report --for mine"),
    "serve": ("serve", "serve --bind 0.0.0.0:8080"),
    "doctor": ("doctor", "doctor --json", "doctor --models -C arena"),
    "games": ("games", "games pazaak", "games pazaak --rules"),
    "status": ("status", "status --follow"),
    "verify": ("verify", "verify --sample 10"),
    "redo": (
        'redo league/ada+grace --reason "power cut in the machine room"',
        'redo league/ada+grace/3 --dry-run --reason "power cut"',
    ),
    "withdraw": (
        'withdraw ada --reason "author\'s wish"',
        'withdraw ada --undo --reason "it was a mistake"',
        'withdraw ada --dry-run --reason "author\'s wish"',
    ),
    "seed": ("seed commit", "seed reveal"),
    "export": ("export csv", "export jsonl -o tables.jsonl"),
    "config": ("config check", "config schema bot.toml", "config reference"),
    "ask": ("ask fault:3", "ask mine league/ada+mine/17:4 --same", "ask mine last --diff sample:neptr"),
    "ls": ("ls", "ls mine -v", "ls --hashes"),
    "explain": ("explain B020", "explain freeze", "explain"),
}
