"""Reads croupier.toml: the game, the bots, the stages and the limits of each bot."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from host.base.config_file import load_model, sorted_by_line, unknown_key
from host.base.errors import Problem, UserError, closest_match
from host.base.paths import absolute
from host.base.system_errors import cure
from host.base.toml_file import Toml, read, to_toml
from host.base.value_types import (
    DefinedIn,
    Flag,
    InvalidValue,
    OtherKeys,
    OwnCode,
    TaggedBy,
    Text,
    ValueType,
    integer,
    integer_or_auto,
    matches,
    one_of,
    plain_string,
)
from host.bots.bot_spec import (
    A_SIZE,
    MODEL_NAME,
    BuiltBot,
    GameName,
    RequestedLimits,
    Seconds,
    Submission,
    SubmissionSize,
    amount_of,
    floor_problems,
)
from host.config.resolver import CONFIG, resolve
from host.games import GAMES
from host.games.engine import Game
from host.journal.tournament_dir import RECORDINGS
from host.play.jobs import PLACEMENTS, WorkerSetup
from host.play.records import Fixture
from host.rating.rankings import RANKINGS, ranking_of
from host.rules.catalogue import rule_type
from host.sandbox.levels import DEFAULT_LEVEL, STRONGEST_FIRST, Level
from host.sandbox.limits import BANK_SCOPES, BYTES, MAX_RETRIES, Limits, ModelAccess, size
from host.stages import KINDS, Registry, config_of, kind_of, references_of
from host.stages.kind import BLANK, ImpossibleStageError, SkippedStage, StageConfig, Surroundings
from host.submissions.discovery import Entry, discover, expand_patterns, load_submissions
from host.submissions.languages import languages_with

ADDRESS = r"(tcp|tls)://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}"
MODEL_ADDRESS = (
    r"https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?|unix:/[A-Za-z0-9._/-]+"
)
MAX_SOCKET_PATH_BYTES = 107
_address_form = matches(MODEL_ADDRESS, "address of a model", '"https://host/v1", or "unix:/run/model.sock"')


def _model_address(value: Any) -> str:
    """Return the address of a model. Raise InvalidValue if no connection to it can exist."""
    address = str(_address_form.check(value))
    try:
        where = urlsplit(address)
        host, port = where.hostname or "", where.port
        host.encode("idna")  # refuses empty and long parts of a name, as a connection does
        if ":" in host:
            IPv6Address(host)
    except ValueError:
        raise InvalidValue("C009", "has a host or a port that cannot exist", '"https://host:443/v1"') from None
    if port == 0:
        raise InvalidValue("C009", "has the port 0", "1 to 65535")
    if where.scheme == "unix" and len(where.path) > MAX_SOCKET_PATH_BYTES:
        raise InvalidValue(
            "C009", f"is a path of more than {MAX_SOCKET_PATH_BYTES} bytes", "a link to it with a shorter path"
        )
    return address


_answer_size = amount_of(size, BYTES, ("MiB", "KiB"), 1024, 4 << 20)

MAX_MONEY = 1_000_000_000


def _money(value: Any) -> float:
    if type(value) not in (int, float):
        raise InvalidValue("C006", "is not a number", "0.5")
    if not 0 <= value <= MAX_MONEY:
        raise InvalidValue("C009", "is out of range", f"0 to {MAX_MONEY}")
    return float(value)


Money = Annotated[float, ValueType(_money, {"type": "number", "title": f"number, 0 to {MAX_MONEY}"})]

# The file.


def _seed(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue("C006", "is not a string", f'"random", or "{to_toml(value)}" for practice')
    return plain_string(value)


def _title(value: Any) -> str:
    text = plain_string(value)
    if len(text) > 100:
        raise InvalidValue("C009", "is longer than 100 characters")
    return text


@dataclass(frozen=True)
class GrantedLimits(RequestedLimits):
    """The limits of every bot at play. A bot.toml may request lower limits, but not higher ones."""

    cores: Annotated[int, integer(1, 1024)] = 1
    """The most processor cores that a bot may ask for (the key `cores` of bot.toml). Example: `cores = 2`"""
    retries: Annotated[int, integer(0, MAX_RETRIES)] = -1
    """How often croupier asks a bot over `json` the same question again, with the reason, after an answer that cannot be read or
    a move that the rules do not allow. Such a bot plays one table at a time. Example: `retries = 2`"""


@dataclass(frozen=True)
class AllowedLimits(GrantedLimits):
    """The limits of every bot. A bot.toml may request lower limits, but not higher ones."""

    submission: SubmissionSize = -1
    """Size of each file of a submission, at most 256 MiB; all its files together may have four times as much.
    Example: `submission = "64 MiB"`"""
    max_faults: Annotated[int, integer(0, 1_000_000_000)] = 0
    """The most faults of a bot in a stage. A bot with more is disqualified when the stage is over: it is ranked last there,
    and does not play the next stage. 0: no bot is. Example: `max_faults = 100`"""


@dataclass(frozen=True)
class SandboxTable:
    """The sandbox of the bots."""

    level: Annotated[str, one_of(lambda: STRONGEST_FIRST, "level of isolation")] = DEFAULT_LEVEL
    """The minimum level of isolation. croupier uses the strongest level of the machine, and refuses to play below this
    one."""
    pondering: Flag = False
    """`true`: bots may compute while they have no question. Otherwise croupier freezes them."""
    warm: Flag = False
    """`true`: every bot asked by argv starts from a ready interpreter, if its language supports that."""


@dataclass(frozen=True)
class ModelTable:
    """A language model that bots may ask, under a name of its own: `[models.small]`."""

    address: Annotated[str, ValueType(_model_address, _address_form.schema)]
    """Where its chat completions are: http, https, or the path of a Unix socket. `/chat/completions` is added, and `/v1` before
    it if the address has no path.
    Example: `address = "https://api.example.com/v1"`"""
    model: Text = ""
    """The name of the model at this address. Default: its name here. Example: `model = "qwen3-8b"`"""
    key_env: Annotated[str, matches(r"[A-Za-z_][A-Za-z0-9_]*", "name of a variable")] = ""
    """The environment variable with the key. Default: no key. Example: `key_env = "MODEL_KEY"`"""
    key_file: Text = ""
    """The file with the key, relative to croupier.toml. Default: no key. Example: `key_file = "/run/secrets/model"`"""
    requests: Annotated[int, integer(1, 1_000_000)] = 100
    """The most requests of a bot at a table. Later tables of the fixture may use what is left over."""
    tokens: Annotated[int, integer(0, 1_000_000_000)] = 0
    """The most tokens of a bot at a table, as the answers count them. Later tables of the fixture may use what is left over.
    0: any number. Example: `tokens = 20000`"""
    money: Money = 0
    """The most money of a bot at a table, by the two prices. Later tables of the fixture may use what is left over.
    0: any amount. Example: `money = 0.25`"""
    prompt_price: Money = 0
    """The price of a million tokens of the requests (`prompt_tokens`), in a currency of your choice.
    Example: `prompt_price = 0.15`"""
    completion_price: Money = 0
    """The price of a million tokens of the answers (`completion_tokens`), in the same currency.
    Example: `completion_price = 0.6`"""
    requests_in_all: Annotated[int, integer(0, 1_000_000_000)] = 0
    """`croupier run` starts no other fixture when all bots together have sent this many requests. 0: any number.
    Example: `requests_in_all = 50000`"""
    tokens_in_all: Annotated[int, integer(0, 1_000_000_000_000)] = 0
    """`croupier run` starts no other fixture when all bots together have used this many tokens. 0: any number. It needs the key
    `tokens`. Example: `tokens_in_all = 10_000_000`"""
    money_in_all: Money = 0
    """`croupier run` starts no other fixture when all bots together have used this much money. 0: any amount. It needs the key
    `money`. Example: `money_in_all = 20`"""
    answer: Annotated[int, ValueType(lambda value: int(_answer_size(value)), {"type": "string", "title": A_SIZE})] = (
        1 << 18
    )
    """Size of one answer, at most 4 MiB. Example: `answer = "64 KiB"`"""
    patience: Seconds = 60.0
    """How long croupier repeats a request that the address cannot answer now. Example: `patience = "5 min"`"""
    count_model_time: Flag = True
    """`false`: the clock of a bot stands still until the model has answered."""


@dataclass(frozen=True)
class ModelsTable:
    """The settings for all language models. Each model also has its own table, `[models.NAME]`."""

    named: Annotated[dict[str, ModelTable], OtherKeys] = field(default_factory=dict)
    record: Annotated[str, one_of(lambda: (RECORDINGS,), "folder for recordings")] = ""
    """The folder in which `croupier run` [records](models.md#recordings) what bots and models say to each other. Default: it
    records nothing."""


@dataclass(frozen=True)
class RunTable:
    """The machine that plays the tournament, and the number of tables that it plays at the same time."""

    workers: Annotated[int, integer_or_auto(1024, "workers", 4, auto=0)] = 0
    """The number of worker processes on this machine. `"auto"`: one for each core."""
    stop_early: Flag = False
    """`true`: a pair of bots ends as soon as the order of the two is certain."""
    parallel_tables: Annotated[int, integer(1, 1024)] = 0
    """The most tables that a worker plays at the same time. Default: as many as the bots declare, up to 128.
    Example: `parallel_tables = 16`"""
    placement: Annotated[str, one_of(lambda: PLACEMENTS, "placement")] = "auto"
    """Which processor cores a worker and its bots use. `"core"`: they share one core, or as many as one of the bots asks
    for, and no other worker uses it; there are never more workers than cores. `"free"`: every core. `"auto"`: as `"core"`,
    but as `"free"` if bots may ponder, if a bot asks a language model, if a quota allows fewer cores than there are, or if
    other programs load the machine."""
    cluster: Annotated[str, matches(ADDRESS, "address of a scheduler", '"tcp://host:8786"')] = ""
    """The address of a Dask scheduler, whose workers play instead of this machine's. Example: `cluster = "tcp://host:8786"`"""


@dataclass(frozen=True)
class ReportTable:
    """The report of the tournament."""

    html: Text = "report.html"
    """The file that `croupier report` writes. Example: `html = "public/index.html"`"""


class WingTable(Protocol):
    """A table of croupier.toml that a package above this one defines. Nothing in this package knows its keys."""

    def problems(self, toml: Toml, folder: Path, game: Game) -> list[Problem]:
        """Return the problems of keys that contradict each other, with their lines."""

    def settings(self) -> dict[str, Any]:
        """Return the values of the table, by key, as in croupier.toml."""


@dataclass(frozen=True)
class ConfigFile:
    """The content of a croupier.toml."""

    game: GameName
    """The game: one that croupier knows; `package.module:GAME` or a folder with a game.toml for one of your own; or
    `openspiel:`, `textarena:`, `brutaltester:`, `codingame:` or `botzone:` and a name for one of others. Every file needs
    this key."""
    name: Annotated[str, ValueType(_title, {"type": "string", "maxLength": 100})] = ""
    """The title of the tournament. Default: the title of the game. Example: `name = "Spring Cup"`"""
    seed: Annotated[str, ValueType(_seed, {"type": "string"})] = "random"
    """Where all cards come from. `"random"`: 128 secret bits, drawn by the first run. Any other text is for practice, because
    everyone can compute the cards. Example: `seed = "practice 1"`"""
    bind_seed: Flag = False
    """`true`: the cards follow from the seed and from the programs of all bots that are entered when the first table is
    played, so that nobody can choose one of them to suit the other."""
    bots: tuple[Text, ...] = ("bots/*",)
    """The bots: patterns of files and folders, relative to this file, and `sample:NAME`.
    Example: `bots = ["bots/*", "sample:davey"]`"""
    rules: dict[str, Any] = field(default_factory=dict)
    stage: tuple[Annotated[StageConfig, TaggedBy("kind", config_of, lambda: KINDS)], ...] = ()
    limits: AllowedLimits = field(default_factory=AllowedLimits)
    models: ModelsTable = ModelsTable()
    sandbox: SandboxTable = SandboxTable()
    run: RunTable = RunTable()
    report: ReportTable = ReportTable()
    season: Annotated[WingTable | None, DefinedIn("host.season.season_config", "SeasonTable")] = None


class Tournament(NamedTuple):
    """The checked configuration of a tournament. A number is 0 if the file says "auto"."""

    game: Game
    name: str
    seed: str  # "random", or a text from which anybody can compute it
    bind_seed: bool  # to the entered bots
    bots: tuple[str, ...]  # patterns: globs from the tournament's folder, and sample:NAME
    preset: str
    rules: Any  # a value of the game's Rules
    stages: tuple[StageConfig, ...]
    limits: Limits
    records_models: bool  # whether a run records the messages between bots and models
    max_faults: int  # of a bot in a stage; a bot with more is disqualified; 0: none is
    sandbox: SandboxTable
    run: RunTable
    html: str
    path: Path  # of croupier.toml
    invited: Mapping[str, tuple[str, ...]]  # the patterns of references that are not entered bots, by stage name
    guests: frozenset[str]  # the names of bots that play only as references
    warnings: tuple[Problem, ...]
    registry: Registry  # the games, kinds of stage and rankings that its journal can name
    season: WingTable | None = None  # None: an ordinary tournament

    @property
    def blank(self) -> Fixture:
        """Return a fixture without bots and tables, with the game and the rules of the tournament."""
        return BLANK._replace(game=self.game.name, rules=self.rules)

    @property
    def level(self) -> Level:
        """Return the minimum level of the sandbox."""
        return Level(self.sandbox.level)

    def setup(self, bots: Sequence[BuiltBot], seed: bytes, level: Level) -> WorkerSetup:
        """Return the settings with which a worker plays the tournament."""
        return WorkerSetup(
            game=self.game,
            rules=self.rules,
            bots=tuple(bots),
            seed=seed,
            level=level,
            parallel_tables=self.run.parallel_tables,
            pondering=self.sandbox.pondering,
            placement=self.run.placement,
        )

    def entries(self, folder: Path) -> list[Entry]:
        """Return the entered bots, each with its problems."""
        return discover(self._patterns(), folder, self.game, self.limits)

    def _patterns(self) -> list[str]:
        """Return the patterns of all bots: those of the key `bots`, then those of references."""
        return [*self.bots, *(pattern for patterns in self.invited.values() for pattern in patterns)]

    def submissions(self, folder: Path) -> list[Submission]:
        """Return the submissions of the bots that take part, not built yet. Raise UserError with all their problems."""
        submissions = load_submissions(self._patterns(), folder, self.game, self.limits)
        return [self.as_played(submission) for submission in submissions]

    def as_played(self, submission: Submission) -> Submission:
        """Return a submission with the key that the tournament can add: `warm`."""
        warm = submission.spec.warm or (self.sandbox.warm and submission.spec.language in languages_with("warm"))
        return submission.with_keys(warm=warm)

    def identified(self, submission: Submission) -> Submission:
        """Return a submission with everything that its hash in the journal covers."""
        return self.as_played(submission).for_game(self.game)


def load(place: Path) -> Tournament:
    """Return the tournament of a folder or of a file. Raise UserError (exit code 3) with all problems in it."""
    path = place / CONFIG if place.is_dir() else place
    if not path.exists():
        near = (
            closest_match(path.name, (each.name for each in path.parent.glob("*.toml"))) if path.parent.is_dir() else ""
        )
        hint = near or "croupier new DIR --game GAME makes a tournament, -C DIR names one"
        raise UserError([Problem("C011", str(path), "no such file: there is no tournament here", hint=hint)], 3)
    toml = read(path)
    registry, unusable = resolve(toml, path.parent)
    if unusable:
        raise UserError(sorted_by_line(unusable), 3)
    try:
        config = load_model(toml, ConfigFile)
    except UserError as refused:
        raise UserError(sorted_by_line([*refused.problems, *_rules_alone(toml)]), 3) from None
    game = registry.game(config.game)
    problems: list[Problem] = []
    preset, rules = _rules(game, toml, config.rules, problems)
    stages = _stages(game, rules, toml, config.stage, problems)
    invited = {stage.name: references_of(stage) for stage in stages}
    entered = _Entered(config.bots, path.parent, game)
    stages = _settled(stages, game, rules.seats, toml, entered, problems)
    problems += _bots(toml, config, path.parent, game)
    limits = config.limits.with_defaults(Limits())._replace(models=_models(toml, config, path.parent, problems))
    problems += bank_problems(game, limits, toml)
    if config.run.cluster and config.run.workers:
        message = f"workers = {config.run.workers} sets the workers of this machine, and a cluster has its own"
        problems.append(Problem("C013", toml.where("run", "workers"), message, hint="leave out one of the two"))
    problems += config.season.problems(toml, path.parent, game) if config.season else []
    if problems:
        raise UserError(sorted_by_line(problems), 3)
    named = {name for stage in stages for name in references_of(stage)}
    own = set(entered.names()) if named else set()
    return Tournament(
        game=game,
        name=config.name or game.title,
        seed=config.seed,
        bind_seed=config.bind_seed,
        bots=config.bots,
        preset=preset,
        rules=rules,
        stages=stages,
        limits=limits,
        records_models=bool(config.models.record),
        max_faults=config.limits.max_faults,
        sandbox=config.sandbox,
        run=config.run,
        html=config.report.html,
        path=path,
        invited={
            name: tuple(pattern for pattern in patterns if pattern not in own) for name, patterns in invited.items()
        },
        guests=frozenset(named - own),
        warnings=tuple(_warnings(toml, config, stages)),
        registry=registry,
        season=config.season,
    )


def _models(toml: Toml, config: ConfigFile, folder: Path, problems: list[Problem]) -> tuple[ModelAccess, ...]:
    """Return the models that bots may ask. Append each problem of their tables to `problems`."""
    found = []
    for name, table in config.models.named.items():
        if not re.fullmatch(MODEL_NAME, name):
            message = f"{to_toml(name)} is not a name of a model"
            problems.append(Problem("C009", toml.where("models", name), message, hint="letters, digits and . _ -"))
        if table.key_env and table.key_file:
            message = f"models.{name} has key_env and key_file"
            problems.append(
                Problem("C013", toml.where("models", name, "key_file"), message, hint="leave out one of the two")
            )
        if table.money and not (table.prompt_price or table.completion_price):
            message, hint = f"models.{name} has money, and no price", "prompt_price = 0.15, completion_price = 0.6"
            problems.append(Problem("C013", toml.where("models", name, "money"), message, hint=hint))
        for key, needed in (("tokens_in_all", table.tokens), ("money_in_all", table.money)):
            if getattr(table, key) and not needed:
                limit = key.removesuffix("_in_all")
                message = f"models.{name} has {key}, and no {limit}: a fixture could use any amount"
                hint = f"{limit} = what a bot may use at a table"
                problems.append(Problem("C013", toml.where("models", name, key), message, hint=hint))
        same = {key: value for key, value in vars(table).items() if key in ModelAccess._fields}
        own = {"name": name, "model": table.model or name, "counts_time": table.count_model_time}
        own["key_file"] = str(absolute(folder / table.key_file)) if table.key_file else ""
        found.append(ModelAccess(**same | own))
    if found and config.season:
        hint = "leave out [models]: the bots of a season cannot ask a model yet"
        problems.append(Problem("C013", toml.where("models"), "[models] has no effect in a season", hint=hint))
    return tuple(found)


def bank_problems(game: Game, limits: Limits, toml: Toml) -> list[Problem]:
    """Return the problems of the keys for a time bank and for retries."""
    problems = []
    for key in ("increment", "floor"):
        if getattr(limits, key) and not limits.bank.seconds:
            message = f"{key} = {to_toml(toml.data['limits'][key])} is a part of a time bank, and there is none"
            hint = f'bank = "60 s / {BANK_SCOPES[0]}", or leave out {key}'
            problems.append(Problem("C013", toml.where("limits", key), message, hint=hint))
    if limits.bank.seconds:
        problems += floor_problems(limits, toml)
        if "bank" in game.view._fields:
            message = f"the questions of {game.name} have a field called bank, as the time left in a time bank would be"
            hint = "rename the field, or leave out bank"
            problems.append(Problem("C013", toml.where("limits", "bank"), message, hint=hint))
    if limits.retries and "refused" in game.view._fields:
        message = f"the questions of {game.name} have a field called refused, as the reason of a retry would be"
        hint = "rename the field, or leave out retries"
        problems.append(Problem("C013", toml.where("limits", "retries"), message, hint=hint))
    return problems


def _warnings(toml: Toml, config: ConfigFile, stages: Sequence[StageConfig]) -> list[Problem]:
    warnings = []
    if config.seed != "random" and not all(stage.practice for stage in stages):
        message = f"seed = {to_toml(config.seed)}: anybody can compute the deals"
        hint = 'seed = "random", or practice = true in every stage'
        warnings.append(Problem("C010", toml.where("seed"), message, hint=hint))
    if config.run.parallel_tables > 1 and config.limits.bank.seconds:
        message = f"parallel_tables = {config.run.parallel_tables} has no effect: bots with a time bank play one table at a time"
        hint = "leave it out, or leave out bank in [limits]"
        warnings.append(Problem("C013", toml.where("run", "parallel_tables"), message, hint=hint))
    return warnings


def _bots(toml: Toml, config: ConfigFile, folder: Path, game: Game) -> list[Problem]:
    """Return a problem, with its line, for each invalid entry of `bots`."""
    problems = []
    for number, pattern in enumerate(config.bots):
        try:
            expand_patterns([pattern], folder, game)
        except UserError as refused:
            problems += [problem._replace(where=toml.where("bots", number)) for problem in refused.problems]
    return problems


# Rules: a preset, and the changes of the organiser.


def _rules(game: Game, toml: Toml, given: Mapping[str, Any], problems: list[Problem]) -> tuple[str, Any]:
    """Return the name of the preset, and the rules. Append each problem of [rules] to `problems`."""
    preset = given.get("preset", next(iter(game.presets)))
    if not isinstance(preset, str) or preset not in game.presets:
        hint = closest_match(str(preset), game.presets) or f"one of {', '.join(game.presets)}"
        message = f"preset = {to_toml(preset)} is not a preset of {game.name}"
        problems.append(Problem("C008", toml.where("rules", "preset"), message, hint=hint))
        preset = next(iter(game.presets))
    rules = game.presets[preset]
    known = rules_of(rules)
    homes = {"bots": "at the top of the file, above the first [table]"}
    homes |= dict.fromkeys(("bind_seed", "seed", "name", "game"), homes["bots"])
    for key, value in given.items():
        if key == "preset":
            continue
        where = toml.where("rules", key)
        if key not in known:
            problems.append(unknown_key(where, ("rules", key), [*known, "preset"], homes))
            continue
        try:
            rules = rules._replace(**{key: rule_type(game, rules, key).check(value)})
        except InvalidValue as wrong:
            problems.append(Problem(wrong.code, where, f"{key} = {to_toml(value)} {wrong.message}", hint=wrong.hint))
    return preset, rules


def _rules_alone(toml: Toml) -> list[Problem]:
    """Return the problems in the rules of a file that also has other problems."""
    game, given, problems = toml.data.get("game"), toml.data.get("rules"), list[Problem]()
    known = game.value if isinstance(game, OwnCode) else GAMES.get(game) if isinstance(game, str) else None
    if known and isinstance(given, dict):
        _rules(known, toml, given, problems)
    return problems


def rules_of(rules: Any) -> list[str]:
    """Return the names of the rules that croupier.toml can set.

    Rules whose value is a tuple are left out, because only stages set them.
    """
    return [name for name in rules._fields if not isinstance(getattr(rules, name), tuple)]


# Stages.


def _stages(
    game: Game, rules: Any, toml: Toml, given: Sequence[StageConfig], problems: list[Problem]
) -> tuple[StageConfig, ...]:
    """Return the stages with their names, or the default stages. Append each problem of the stages to `problems`."""

    def suiting() -> list[str]:
        return [kind for kind, row in KINDS.items() if row.plays.is_met(game, rules)]

    if not given:
        default = next((KINDS[kind].usual for kind in suiting() if KINDS[kind].usual), ())
        if not default:
            hint = (
                f"[[stage]] with one of: {', '.join(suiting())}"
                if suiting()
                else "rules with seats for two bots or more"
            )
            problems.append(Problem("C013", toml.where("game"), f"no usual stage can play {game.name}", hint=hint))
        return tuple(_seated(stage, game, rules) for stage in default)
    stages: list[StageConfig] = []
    for number, stage in enumerate(given):
        where = toml.where("stage", number, "kind")
        if not kind_of(stage).plays.is_met(game, rules):
            message = f'kind = "{stage.kind}" needs {kind_of(stage).plays.words}, and {game.name} is not one'
            problems.append(Problem("C013", where, message, hint=f"for {game.name}: {', '.join(suiting())}"))
        else:
            problems += _unsuitable_rankings(game, toml, number, stage)
        name = stage.name or stage.kind
        if name in [other.name for other in stages]:
            message = f'two stages are called "{name}"'
            hint = f'name = "{name}-{number + 1}"'
            problems.append(Problem("C009", toml.where("stage", number, "name"), message, hint=hint))
        if not stage.rank_by and kind_of(stage).config().rank_by:
            where = toml.where("stage", number, "rank_by")
            problems.append(Problem("C009", where, "rank_by = [] names no ranking", hint="leave it out"))
        try:
            stage = stage.completed()
        except ImpossibleStageError as wrong:
            problems.append(_impossible(toml, number, wrong))
        stages.append(_seated(replace(stage, name=name), game, rules))
    return tuple(stages)


def _seated(stage: StageConfig, game: Game, rules: Any) -> StageConfig:
    """Return a stage with the values from its game: `mirror`, and `min_bots` if its kind takes any number of seats."""
    stage = replace(stage, mirror=stage.mirror or game.chance.shared(rules))
    return replace(stage, min_bots=max(stage.min_bots, game.seats[0])) if kind_of(stage).plays.is_general else stage


def _unsuitable_rankings(game: Game, toml: Toml, number: int, stage: StageConfig) -> list[Problem]:
    """Return a problem for each ranking that needs facts that the results of the stage do not have."""
    kind, found = kind_of(stage), list[Problem]()
    suitable = [word for word, ranking in RANKINGS.items() if not kind.lacks(ranking, game)]
    for word in stage.rank_by:
        if fact := kind.lacks(ranking_of(word), game):
            who = game.name if fact in kind.provides else f'kind = "{stage.kind}"'
            message = f'rank_by = "{word}" needs {fact.value}, and {who} has none'
            hint = f"one of {', '.join(suitable)}"
            found.append(Problem("C013", toml.where("stage", number, "rank_by"), message, hint=hint))
    return found


def _impossible(toml: Toml, number: int, wrong: ImpossibleStageError) -> Problem:
    return Problem(wrong.code, toml.where("stage", number, *wrong.key), wrong.message, hint=wrong.hint)


class _Entered:
    """The bots that a stage can name."""

    def __init__(self, patterns: Sequence[str], folder: Path, game: Game) -> None:
        self._patterns, self.folder, self._game = patterns, folder, game
        self._names: list[str] | None = None

    def names(self) -> Sequence[str]:
        """Return the names of the bots that `bots` enters; none if one of its patterns is wrong."""
        if self._names is None:
            try:
                self._names = [entry.name for entry in discover(self._patterns, self.folder, self._game)]
            except UserError:  # `_bots` reports it
                self._names = []
        return self._names

    def matching(self, pattern: str) -> list[str]:
        """Return the names of the bots that match a pattern. Raise UserError if it names a bot that does not exist."""
        return [entry.name for entry in discover([pattern], self.folder, self._game)]


def _settled(
    stages: Sequence[StageConfig], game: Game, seats: int, toml: Toml, entered: _Entered, problems: list[Problem]
) -> tuple[StageConfig, ...]:
    """Return the stages after `StageConfig.settled`, which resolves the names in them. Append each problem to `problems`."""
    found = list(stages)
    for number, stage in enumerate(stages):
        around = Surroundings(
            folder=entered.folder,
            game=game,
            seats=seats,
            earlier=[other.name for other in stages[:number]],
            bots=entered.names,
            matching=entered.matching,
        )
        try:
            found[number] = stage.settled(around)
        except ImpossibleStageError as wrong:
            problems.append(_impossible(toml, number, wrong))
        except UserError as refused:
            problems += refused.problems
        except OSError as error:  # for example a name of a file that is longer than the system allows
            message = f"names a file that cannot be read: {error.strerror}"
            problems.append(Problem("C011", toml.where("stage", number), message, hint=cure(error, "")))
    return tuple(found)


def skipped_stages(tournament: Tournament, bots: int) -> list[SkippedStage]:
    """Return the stages that a run with this many bots will skip. The first stage is never skipped."""
    blank, skipped = tournament.blank, list[SkippedStage]()
    for number, stage in enumerate(tournament.stages):
        entered = len(set(references_of(stage)) - tournament.guests)
        if number and bots - entered < stage.min_bots:
            skipped.append(SkippedStage(stage, bots - entered))
        elif size := kind_of(stage).size:
            bots = size(stage, blank, bots).left
    return skipped


def no_bots(tournament: Tournament) -> Problem:
    """Return the problem of a tournament without bots."""
    message = f"has no bots: {', '.join(tournament.bots)} matches no bot"
    return Problem("C004", str(tournament.path), message, hint="croupier add FILE, or the name of a sample bot")


def not_enough_bots(stage: StageConfig, ready: Sequence[str], fewest: int) -> Problem | None:
    """Return the problem of a stage with fewer ready bots than `min_bots`; None if there are enough.

    `fewest` is the number of bots that the game needs at a table.
    """
    ready = [bot for bot in ready if bot not in references_of(stage)]
    if len(ready) >= stage.min_bots:
        return None
    message = (
        f'stage "{stage.name}" needs {stage.min_bots} bots, {len(ready)} {"is" if len(ready) == 1 else "are"} ready'
    )
    hint = "croupier ls lists the bots that play"
    enough = len(ready) >= max(2, fewest)
    return Problem("C004", "", message, hint=f"{hint}; min_bots = {len(ready)}" if enough else hint)
