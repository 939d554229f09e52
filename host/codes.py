"""Every error code, with what it means, the rule behind it and the cure: the text of `croupier explain CODE`."""

from collections.abc import Mapping
from typing import NamedTuple


class Code(NamedTuple):
    """A row of the table: one line, and a few sentences."""

    title: str
    text: str


CODES: Mapping[str, Code] = {
    # B: a bot's folder and program
    "B001": Code(
        "the program of `run` does not exist",
        "The first word of `run` in bot.toml is a path, and no such file is in the bot's folder. A path is relative to "
        "the folder of bot.toml; a bare word is looked for among the system's programs. If the program must be made "
        "first, say how with `build`, or name the `language` and leave `run` out.",
    ),
    "B002": Code(
        "the program is not executable",
        "The file has a '#!' line or is a binary, but its mode does not let anybody execute it, which is what happens "
        "to files that came through mail, zip or a web page. Set the bit with chmod +x. "
        "Source files of a known language need no such bit: croupier starts their interpreter itself.",
    ),
    "B003": Code(
        "the kernel cannot run this file",
        "A program is a binary, or a text whose first line is '#!' and an interpreter; this file is neither, and the "
        "system would say 'Exec format error'. Put the interpreter into line 1. If it is source code, give the file "
        "its usual suffix (.py, .c, .java, .lisp …), or write a bot.toml that names the language.",
    ),
    "B004": Code(
        "the interpreter of the '#!' line does not exist",
        "Line 1 names a program that is not there; the system then says 'No such file' of the script, which misleads. "
        "Only programs below /usr, /bin, /sbin and /lib exist inside a sandbox, so an interpreter in somebody's home "
        "folder is not there either. '#!/usr/bin/env python3' finds Python on most systems.",
    ),
    "B005": Code(
        "the '#!' line ends with CR LF",
        "The file has the line ends of Windows, and the system takes the CR for a part of the interpreter's name: it "
        'looks for "python3\\r". Turn the line ends into LF with sed or dos2unix.',
    ),
    "B006": Code(
        "a Python 2 program",
        "The file compiles under Python 2 only: print without parentheses, `except X, e`, <>, backquotes or numbers "
        "such as 0777. croupier runs bots with Python 3. Add the parentheses, or "
        'set python = "2.7" in bot.toml if that is installed here.',
    ),
    "B007": Code(
        "env does not find the interpreter",
        "Line 1 asks /usr/bin/env for a program that is not on the path of a sandbox, /usr/local/bin:/usr/bin:/bin. "
        "The usual case is 'python' on a system that only has python3. Change line 1, or set language in bot.toml and "
        "let croupier start the interpreter.",
    ),
    "B008": Code(
        "a file that bot.toml names is not there",
        "`entry` and `sources` name files in the folder of bot.toml, by paths relative to it. This one is not among "
        "them. Mend the name, or hand the file in as well; without `sources` every source file of the language counts.",
    ),
    "B009": Code(
        "what the bot requires cannot be had",
        "`requires` names packages of the Python Package Index. croupier downloads them as wheels, for the Python that "
        "the bot runs on, and unpacks them inside the build's sandbox; nothing is compiled, and no code of a package runs "
        "outside. The package, or this version of it, has no such wheel, or the index cannot be reached.",
    ),
    "B010": Code(
        "the bot does not build",
        "Its compiler, or a command of its `build`, ended with an error; the compiler's own first words are shown. "
        "Builds run in the sandbox: without network, with limits of their own, and with the bot's own files only. Mend "
        "it, then try again with `croupier build NAME`, or `croupier check BOT`. All that the compiler has said is in the "
        "log that is named; `croupier run` keeps it in run/build/BOT/build.log.",
    ),
    "B011": Code(
        "Java does not find the main class",
        "The JVM was told to start a class that the sources do not have. Its name includes the package, as in "
        'main = "Players.Mine". Without `main`, croupier takes the class with a static main method.',
    ),
    "B012": Code(
        "the JVM cannot reserve its heap",
        "By default a JVM reserves address space by the size of the machine, more than the memory limit lets it use. "
        'Set heap = "64 MiB" in bot.toml: croupier passes it as -Xmx and limits the memory that is really used.',
    ),
    "B013": Code(
        "SBCL cannot reserve its dynamic space",
        "SBCL reserves its whole heap when it starts, 1 GiB or more by default, and the limit is lower. Set "
        'heap = "128 MiB" in bot.toml; croupier passes it as --dynamic-space-size.',
    ),
    "B014": Code(
        "it cannot be told how this bot is run",
        "A folder without bot.toml is a bot when it holds the sources of one language, or one program. This one has "
        "none, or several to choose from. Write a bot.toml beside them: `language` and `entry`, or `run`.",
    ),
    "B015": Code(
        "a Python program with a syntax error",
        "Python cannot compile the file, so it would fail at its first question. The line and Python's own words are "
        "shown. `python3 -m py_compile FILE` says the same on your machine; mind that it may have another version.",
    ),
    "B016": Code(
        "the submission has something that is not taken in",
        "A bot is made of regular files: links, devices, FIFOs and sockets are refused by name, since croupier never "
        "follows or opens what a guest could point at the host. So are names with control characters, quotes or a "
        "leading dash, more than 1000 files, files above 16 MiB and folders above 64 MiB. Take it out, or copy the "
        "file that a link points to.",
    ),
    "B017": Code(
        "no sandbox can be made for this bot",
        "The machine can make sandboxes, but this one did not stand: its memory limit may be too low for anything to "
        "run in, or the disk may be full. The sandbox's own words are shown. `croupier doctor` checks the machine.",
    ),
    "B018": Code(
        "the bot cannot be started",
        "The program was built, and the system refused to start it inside the sandbox. The command and the system's "
        "words are shown. Look whether it needs a file or a library that is not in its folder or below /usr.",
    ),
    "B019": Code(
        "the bot brings files that its adapter supplies",
        "An adapter lays its own files beside the bot's, and this bot has files of the same names. Hand in the bot "
        "alone, as it was handed in to the original competition.",
    ),
    "B020": Code(
        "the bot does not flush its output",
        "The answer came only after its input had been closed: it had been waiting in a buffer, because standard "
        "output is a pipe and not a terminal. Flush after every answer. C: fflush(stdout) or "
        "setvbuf(stdout, 0, _IOLBF, 0); Java: System.out.flush(); Python: print(…, flush=True); Lisp: (finish-output).",
    ),
    "B021": Code(
        "the bot waits for input that does not come",
        "By the protocol argv a question is given as arguments, one process for each, and standard input is empty. "
        'This bot reads its input instead. Read the arguments, or set protocol = "lines" in bot.toml.',
    ),
    "B022": Code(
        "the bot wrote more than its answer",
        "An answer is one line on standard output; a second line, or text before it, cannot be told from a move and "
        "counts as a fault. Write remarks to standard error: that is kept and shown beside the replay.",
    ),
    "B023": Code(
        "the answer is no move of this game",
        "The line does not match the grammar of the game's moves. What is expected is shown; letters count in either "
        "case where the game says so. `croupier games GAME` prints the card with every move.",
    ),
    "B024": Code(
        "the bot spoke before it was asked",
        "There was output before the first question, or between an answer and the next question. It cannot belong to a "
        "move, and counts as a fault. Greetings and thoughts go to standard error.",
    ),
    "B025": Code(
        "the answer ends without a newline",
        "The output ended after the answer without a line end. With the protocol argv that is accepted, since the end "
        "of the output ends the answer; lines and json need the newline, or the host waits for the rest.",
    ),
    "B026": Code(
        "the move is not allowed here",
        "The answer is a move of this game, but the rules do not allow it at this point. The rules also say what that "
        "costs, and nothing else does. `croupier games GAME` tells when each is.",
    ),
    "B028": Code(
        "the card is not in the side deck",
        "PLAY names a card that the bot does not hold: the cards it has left are the sixth field of the question, and "
        "each can be played once. The rules make such an answer a STAND, and count it as a fault.",
    ),
    "B030": Code(
        "no answer that can be used",
        "The bot failed a question in a way that has no code of its own; the kind of fault, the question and what the "
        "bot wrote are shown. The manual, protocols/README.md, says what an answer looks like.",
    ),
    "B031": Code(
        "time-out",
        "No whole answer came within `move`, the wall clock of one answer. The CPU time beside it tells whether the "
        "bot was computing or waiting (for a lock, for sleep, for input that does not come). `croupier ask` puts the "
        "same question to it again and shows where the time went.",
    ),
    "B032": Code(
        "too much processor time",
        "The bot and all its processes used more CPU for one answer than `cpu` allows: it is too slow, not stuck. "
        "Threads add up. Do less per move, or ask the organiser about [limits] cpu.",
    ),
    "B033": Code(
        "too much memory",
        "The bot's processes together held more memory than `memory` allows and were killed; it did not crash by "
        "itself. In Java and SBCL `heap` keeps the garbage collector from growing up to the limit.",
    ),
    "B034": Code(
        "the bot crashed",
        "A signal ended the process before it had answered: 11 is a bad memory access, 6 an abort, 8 a division by "
        "zero. The question is shown; `croupier ask BOT fault:ID` asks it again, and -g and a debugger do the rest.",
    ),
    "B035": Code(
        "the bot exited",
        "The process ended without an answer, with the status and the last words of standard error that are shown. A "
        "long-lived bot must read questions until its input ends; an argv bot must print a move before it exits.",
    ),
    "B036": Code(
        "the bot fell into the Lisp debugger",
        "An error was not handled, and Lisp waits for somebody to type. Start SBCL with --script or "
        "--disable-debugger (croupier's own preset does), and handle the error that is shown.",
    ),
    "B037": Code(
        "the sandbox refused something",
        "The bot tried what no bot may do: the network, files outside its folder, other processes. It was refused, and "
        "that alone costs nothing, but a bot that depends on it will not play well. Everything it needs must be in its "
        "folder, which it can only read; the one file that it may write and keep is its `state` file.",
    ),
    "B038": Code(
        "too much output",
        "More than `output` bytes came for one question. The output was cut and the process killed. An answer is one "
        "short line; remarks belong to standard error.",
    ),
    "B039": Code(
        "warm and cold starts differ",
        "With `warm = true` a Python bot is forked from an interpreter that has its modules imported already, and one for "
        "SBCL starts from a core that holds the definitions it begins with. Its answers to the edges of the rules were not "
        "the same as after an ordinary start, though those were the same twice, so the warm one means something else to "
        "it: perhaps it looks at how it was started.",
    ),
    # C: croupier.toml and bot.toml
    "C001": Code(
        "an unknown key",
        "Nobody reads this key, so what it says would silently not happen. Mostly it is a slip of the pen, or the key "
        "stands below the header of another table: keys belong to the last [table] above them. The hint names what "
        "comes close.",
    ),
    "C002": Code(
        "a value without its unit",
        'Durations and sizes are texts with a unit, so that 1 cannot mean seconds here and minutes there: "1 s", '
        '"250 ms", "10 min"; "4 KiB", "512 MiB". The units are ms, s, min, h and B, KiB, MiB, GiB.',
    ),
    "C003": Code(
        "two bots have one name",
        "Standings, logs and seeds know bots by name, so a name may occur only once in a tournament. A lone file is "
        "named by its stem, a folder by its own name, and `name` in bot.toml overrules both.",
    ),
    "C004": Code(
        "too few bots for a stage",
        "The stage's min_bots are not there, or not ready: bots that do not build or start do not play. Mend them, add "
        "others, or lower min_bots. `croupier ls` shows who plays.",
    ),
    "C005": Code(
        "not a TOML file",
        "The file cannot be read as TOML, and nothing in it counts. The line is shown where the reading stopped; the "
        "slip may be a line earlier, where a quote or bracket was left open. Texts stand in quotes, and a key may "
        "occur only once in a table.",
    ),
    "C006": Code(
        "a value of the wrong kind",
        "The key wants another kind of value: a number where there is a text, a list where there is a single word, a "
        "table where there is a value. The hint shows how to write it.",
    ),
    "C007": Code(
        "a key is missing",
        "This key has no default: croupier will not guess which game is meant. Add it; the manual of the files shows "
        "every key in an example.",
    ),
    "C008": Code(
        "not one of the words that are known here",
        "The value must be one of a fixed set of words, and this is none of them. The hint names the closest one, or "
        "all of them.",
    ),
    "C009": Code(
        "a value that is not allowed",
        "The kind of value is right, but it is out of range, or has a form that would do harm: a path out of the bot's "
        "folder, a name that cannot be printed, a variable that croupier sets itself. The hint says what is allowed.",
    ),
    "C010": Code(
        "a seed that everybody can read",
        "With a text as the seed anybody can compute every deal, hidden cards too, before the first table. That is "
        'fine for practice; then say practice = true in every stage. For a contest use seed = "random": 128 bits that '
        "stay secret until the end, with their SHA-256 shown from the start.",
    ),
    "C011": Code(
        "a file cannot be read",
        "The file or folder is not there, may not be read, or is no regular file. A tournament is a folder with "
        "croupier.toml in it; a bot is a file, or a folder.",
    ),
    "C012": Code(
        "no such bot",
        "The name or path means no bot. A bot is named by a path relative to the tournament's folder, by a pattern "
        'such as "bots/*", or as "sample:NAME" if it ships with croupier; `croupier games GAME` lists those.',
    ),
    "C013": Code(
        "two settings that contradict each other",
        "Each value is right by itself, but together they mean nothing: a key of another language, many tables at once "
        "for a protocol that starts a process per question, a stage whose kind does not suit the game. The hint says "
        "which to change.",
    ),
    "C014": Code(
        "the bot asks for more than it is granted",
        "[limits] in bot.toml may lower the tournament's limits, never raise them: all bots play under the same. Lower "
        "the value, or have the organiser raise it for everybody in croupier.toml.",
    ),
    "C015": Code(
        "a bot for another game",
        "Its bot.toml says which game it plays, and this tournament plays another. Take it out of `bots`, or mend "
        "`game` in its bot.toml.",
    ),
    "C016": Code(
        "it is there already",
        "croupier does not write over a file or folder that it would have to make. Choose another name, or move the "
        "old one away.",
    ),
    "C017": Code(
        "no such stage",
        "The tournament has no stage of this name. Stages are named by `name` in their [[stage]] table; without one, "
        "by their kind.",
    ),
    "C018": Code(
        "a game that cannot be brought",
        "croupier.toml names a game of your own as package.module:GAME. The module is looked for where Python looks, "
        "then beside croupier.toml; it must define a value of host.games.engine.Game under that name, and the game must "
        "have a name that no other has. docs/adding-a-game.md builds one step by step.",
    ),
    "C019": Code(
        "a game that cannot be shown",
        "A game of your own was played, and what its code tells of a table cannot be shown: it raised an exception when the "
        "table was played again, named an event or a seat that there is none of, or told something that is no plain value "
        "(texts up to 1000 characters, finite numbers up to 2**53, lists of them). The table is left out; the results stand. "
        "The message names the event and the fact. docs/adding-a-game.md says what `tell` may tell.",
    ),
    # H: the host itself
    "H001": Code(
        "croupier itself has failed",
        "This is no fault of yours or of a bot: croupier has met something it does not expect. The report that is named "
        "says where; please hand it in. What had been played is in the journal, and the same command goes on from there.",
    ),
    # R: runs
    "R001": Code(
        "croupier.toml changed since the run began",
        "What has been played was played by other rules, limits or stages, and the results would mix two tournaments. "
        "Put the key that is named back to go on, or start anew with --fresh, which throws away what has been played.",
    ),
    "R002": Code(
        "a bot changed since the run began",
        "Its files have another hash than when its first results were recorded: they would mix two bots under one "
        "name. Put the old files back, add the new version under a new name, or start anew with --fresh.",
    ),
    "R003": Code(
        "the run is in use",
        "Another croupier is playing this tournament, and only one may write its journal. Watch it with "
        "`croupier watch`, or stop it first. The lock goes with its process: nothing needs to be deleted.",
    ),
    "R004": Code(
        "the field of bots changed since the run began",
        "Bots cannot join or leave a stage in which everybody has played the same number of tables, or a cup that is "
        "drawn. Put the field back as it was, or start anew with --fresh.",
    ),
    "R005": Code(
        "the journal cannot be used",
        "The file is damaged, was written by another version, or is no journal of croupier at all. It was left "
        "untouched. Move it away, or restore it from a copy.",
    ),
    "R006": Code(
        "nothing has been played here",
        "The folder has no journal yet, so there is nothing to show. `croupier run` begins; -C names another folder.",
    ),
    "R007": Code(
        "the sandbox has another strength than when the run began",
        "Results are recorded with the level that protected them, and one run does not mix two. Go on where the first "
        "level is in force, or start anew with --fresh.",
    ),
    "R008": Code(
        "the journal does not fit the rules",
        "Played again from its seed, a recorded table asks other questions than were answered. Either the record was "
        "changed, or this croupier knows other rules than the one that played it. `croupier version` names yours.",
    ),
    "R009": Code(
        "the journal cannot be written",
        "The folder or its disk does not let croupier write: it is read-only, full, or belongs to somebody else. The "
        "system's own words are shown. Nothing that had been played is lost; once it is mended, the same command goes on.",
    ),
    "R010": Code(
        "the seed of the run cannot be used",
        "A run draws all its luck from run/seed. The file is not there, cannot be read, is no seed, or is not the one "
        "that the run began with: its hash in the journal tells. With another seed two tournaments would be mixed. Put "
        "the file back, or start anew with --fresh.",
    ),
    # S: the machine and its sandbox
    "R011": Code(
        "the cards of a running stage are withheld",
        "A replay or an exported table shows every card, and whoever sees them while the stage is being played could use "
        "them. They are given out when the stage is over.",
    ),
    "R012": Code(
        "this is no play.log",
        "The file does not read as a play.log of the 2018 engine: lines of `INFO:root:` and a JSON object, or `ERROR:root:` "
        "and words. The line that does not fit is named; a file that was cut off ends in half a line.",
    ),
    "R013": Code(
        "a file cannot be read or written",
        "The system does not let croupier read this file, or write there. The words are the system's own; -o writes "
        "elsewhere.",
    ),
    "R014": Code(
        "this is no bundle",
        "The file does not read as a bundle: gzipped JSON of one faulty decision, as `croupier export bundle` writes it. It "
        "was cut off, changed on its way, or comes from a newer croupier; have it made and sent again.",
    ),
    "S001": Code(
        "the machine cannot give the level that is demanded",
        "[sandbox] level is a minimum, and croupier refuses rather than weakens it. What is missing, and the command "
        "that cures it, is shown; `croupier doctor` shows the rest. A lower level is the organiser's own decision: "
        "set it, or use --unsafe for bots that you wrote yourself.",
    ),
    "S002": Code(
        "the keeper cannot be made",
        "The keeper is the small C program inside each sandbox; it is compiled once, by this machine's compiler. There "
        "is no compiler, or it failed with the words that are shown. On Debian: apt install gcc libc6-dev. Where "
        "bubblewrap works, croupier goes on without: each process gets a sandbox of its own, the level is said to be "
        "without keeper, and argv bots take milliseconds more a question. Level L2 and --unsafe need the keeper.",
    ),
    "S003": Code(
        "bubblewrap is not installed",
        "Sandboxes are made by bubblewrap, an ordinary package. On Debian and Ubuntu: apt install bubblewrap. It "
        "needs no setuid bit where user namespaces are allowed.",
    ),
    "S004": Code(
        "libseccomp does not load",
        "The sandbox's filter of system calls is exported by libseccomp. On Debian and Ubuntu: apt install "
        "libseccomp2. If it is installed, the words that are shown say what stands in its way.",
    ),
    "S005": Code(
        "a program that the bot needs is not installed",
        "The bot's language, or `needs` in its bot.toml, wants a program that is not on the path of a sandbox, "
        "/usr/local/bin:/usr/bin:/bin. Install it for the whole system: what lies in a home folder does not exist "
        "inside a sandbox.",
    ),
    "S006": Code(
        "Landlock cannot fence a program in",
        "Level L2, for containers that give no namespaces, rests on Landlock: version 6 of its interface, Linux 6.12, is "
        "the first that keeps a bot's signals to itself. The kernel is older, or has Landlock turned off (lsm= on its "
        "command line). Where user namespaces can be had, L3 needs no Landlock.",
    ),
    "S007": Code(
        "no control group can be made",
        "Level L4 counts and bounds a bot's whole memory and computing in a control group of the kernel. croupier makes "
        "groups below its own, and may not do so here. systemd leaves a group to whoever asks for one: `systemd-run "
        "--user --scope -p Delegate=yes croupier run`. Without it the level is L3: memory and computing are watched every "
        "20 ms, and a short life in between may go unseen.",
    ),
    "S008": Code(
        "an extra of croupier is not installed",
        "The web pages of `croupier serve` and the executor of `croupier run --cluster` need packages that playing here "
        "does not: install croupier with its extra, pip install 'croupier[web]' or 'croupier[cluster]'.",
    ),
    "S009": Code(
        "the machine cannot run the clock that is demanded",
        'Under [limits], clock = "fair" and clock = "cpu" count what a bot computes with all its processes, to the last '
        "child that nobody has waited for. Only a control group can tell (level L4); without one a bot could hide its "
        'computing, and croupier does not pretend. `croupier doctor` shows what would raise the level; clock = "wall" '
        "works everywhere.",
    ),
    "S010": Code(
        "no scheduler answers",
        "A cluster is known by the address of its Dask scheduler, and nothing that speaks Dask answers there: it is not "
        "running, the port is another, or a firewall stands in between. Start it with `dask scheduler`. A run waits two "
        "minutes for one that has gone; what is finished is saved, and the same command goes on.",
    ),
    "S011": Code(
        "the scheduler has no worker",
        "The scheduler answers, but nobody plays for it. Start a worker on each machine, with the same croupier[cluster] "
        "installed: dask worker tcp://host:8786. Workers may come and go at any time; a run waits two minutes for one.",
    ),
    "S012": Code(
        "the machines of the cluster have different versions",
        "The promise that the same seed gives the same results holds for one croupier, and Dask too speaks safely only "
        "with itself. Here, on the scheduler and on every worker, Python, Dask and croupier must be the same, croupier to "
        "the last line of its source. The easiest way is one container image for all.",
    ),
    "S013": Code(
        "a machine of the cluster cannot take part",
        "The machine has answered, but its system refuses what playing needs: its cache folder cannot be written, its "
        "disk is full. The system's own words are shown. CROUPIER_CACHE names another cache folder.",
    ),
    "S014": Code(
        "no Docker engine answers",
        "Playing in containers needs a Docker engine and compose, version 1.29 or 2. It is not installed, not running, or "
        "does not let this user in: its own words are shown. On Debian: apt install docker.io docker-compose.",
    ),
    "S015": Code(
        "the image has not been built",
        "Containers are made from the image croupier:all, which is built from a clone of croupier and comes from no "
        "registry. Build it once on each machine that plays; the hint has the command.",
    ),
    "S016": Code(
        "TLS without a certificate, or no TLS where it is demanded",
        "A scheduler at tls:// talks only to those who show a certificate of its authority, and to nobody in the clear. "
        "This run has none, its files cannot be read, or it was told tcp://. Dask's own configuration names them: "
        "distributed.comm.tls.ca-file, and cert and key under distributed.comm.tls.client. docs/running.md makes some.",
    ),
    "S017": Code(
        "a certificate of the cluster is not trusted",
        "The scheduler's certificate, or this run's, was not signed by the authority that the other side knows, or has "
        "expired. Scheduler, workers and run must name the same ca-file and certificates made with it: docs/running.md. "
        "croupier does not talk to a scheduler that it cannot recognise.",
    ),
    # U: the command line
    "U001": Code(
        "wrong use of the command",
        "The command line cannot be understood: an unknown command, option or name, or a word that is missing. Nothing "
        "has been done. The nearest that exists is named where something comes close; --help after a command lists its "
        "options.",
    ),
}
