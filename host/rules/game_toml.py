"""Makes a game from a game.toml. Its rules are in a program beside that file: a referee (protocols/referee.md)."""

import re
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

from host.base.config_file import load_model, sorted_by_line
from host.base.errors import Problem, UserError, closest_match
from host.base.toml_file import Toml, read_untrusted, to_toml
from host.base.value_types import FLAG, InvalidValue, Text, ValueType, integer, matches, one_of, plain_string
from host.bots.bot_spec import ByteCount, Count, FileName, Requirement, Seconds, environment
from host.games import GAMES
from host.games.engine import Chance, Display, Game, Opening, Play, best_unless_equal
from host.games.luck import Shuffler
from host.rules.answer_forms import MAX_FORMS, Form, grammar_of, read_form
from host.rules.foreign import completed, read_adapter
from host.sandbox.limits import GIB, MIB
from protocols import PROTOCOLS
from protocols.wire import AnswerLines, Json, Lines, Move, Once, View, read_text

GAME_FILE = "game.toml"
MAX_SEATS = 64
MAX_FIELDS = 64
MAX_WORDS = 4096  # most random words of one stream that a referee may ask for
MAX_EDGES = 100
MAX_PATTERN_BYTES = 1 << 20  # of a compiled pattern, with its memory while it runs; a usual one has 2 KiB
RESERVED_FIELDS = frozenset({"table", "bank"})
"""Names that no field of a question can have: the protocol `json` uses them."""

FIELD_TYPES: Mapping[str, Any] = {
    "": Any,
    "lines": Lines,
    "once": Once,
    "answer lines": AnswerLines,
    "json": Json,
}
"""The types of the fields of a question, as game.toml names them after a colon."""

RULE_TYPES = ("integer", "boolean", "word")
STREAM = re.compile(r"below|pick|shuffle( ([2-9]|[1-9][0-9]{1,2}))?")


def _seats(value: Any) -> tuple[int, int]:
    pair = value if isinstance(value, list) else [value, value]
    if len(pair) != 2 or not all(type(each) is int for each in pair):
        raise InvalidValue("C006", "is not a number of seats", "seats = 2, or the fewest and the most: seats = [2, 4]")
    low, high = pair
    if not 1 <= low <= high <= MAX_SEATS:
        raise InvalidValue("C009", "is out of range", f"1 to {MAX_SEATS}, the smaller number first: seats = [2, 4]")
    return low, high


def _sides(value: Any) -> tuple[tuple[int, ...], ...]:
    ok = isinstance(value, list) and all(isinstance(each, list) and each for each in value)
    seats = [seat for each in value for seat in each] if ok else []
    if len(seats) < 2 or not all(type(seat) is int for seat in seats):
        raise InvalidValue("C006", "is not a list of lists of seats", "sides = [[0, 2], [1, 3]]")
    if sorted(seats) != [*range(len(seats))] or len(seats) > MAX_SEATS or len(value) < 2:
        raise InvalidValue("C009", "does not have each seat from 0 on once", "sides = [[0, 2], [1, 3]]")
    return tuple(map(tuple, value))


def _answers(value: Any) -> Any:
    """Return the forms of an answer as a tuple, or a Pattern. Raise InvalidValue if the value describes neither."""
    if isinstance(value, dict):
        return _pattern(value)
    forms = value if isinstance(value, list) else [value]
    if not 1 <= len(forms) <= MAX_FORMS:
        raise InvalidValue("C009", f"has no form, or more than {MAX_FORMS}", 'answer = ["LOW", "PLAY <card>"]')
    return tuple(map(read_form, forms))


class Pattern(NamedTuple):
    """Answers that a regular expression describes, with examples. `croupier check` draws random answers from these."""

    pattern: Any  # of the engine RE2; it has the methods of `re.Pattern` that a grammar uses
    expected: str
    examples: tuple[Form, ...]


def _pattern(value: Mapping[str, Any]) -> Pattern:
    example = 'answer = { pattern = "(?P<verb>PLAY) (?P<text>[a-d][1-4])", expected = "PLAY <field>", examples = ["PLAY a4"] }'
    if value.keys() != {"pattern", "expected", "examples"} or not isinstance(value["examples"], list):
        raise InvalidValue("C009", "is a table, and not one with pattern, expected and examples", example)
    pattern = _compiled(value["pattern"])
    if not pattern.groupindex.keys() <= {"verb", "n", "text"} or not pattern.groupindex:
        raise InvalidValue("C009", "has a pattern whose groups are not called verb, n or text", example)
    examples = [plain_string(each) for each in value["examples"]]
    if not examples or not all(pattern.fullmatch(each) for each in examples):
        raise InvalidValue("C009", "has no examples, or one that does not match its pattern", example)
    return Pattern(
        pattern, plain_string(value["expected"])[:200], tuple(Form(each, tuple(each.split(" "))) for each in examples)
    )


def _compiled(pattern: Any) -> Any:
    """Compile a pattern of a stranger with RE2. It matches in linear time, whatever the pattern and the text are.

    Raise InvalidValue if the pattern is not a string, or not a regular expression of RE2.
    """
    import re2  # most games need no pattern

    if not isinstance(pattern, str):
        raise InvalidValue("C006", "has a pattern that is not a string")
    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, MAX_PATTERN_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as wrong:
        message = f"has a pattern that is not a regular expression of RE2: {wrong.args[0].decode(errors='replace')}"
        raise InvalidValue("C009", message, "RE2 has no lookahead and no back-references") from None


def _fields(value: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a view, each with its type, in the order of game.toml. Raise InvalidValue if one is wrong."""
    example = 'view = ["hand", "trick", "points"]'
    if (
        not isinstance(value, list)
        or not 1 <= len(value) <= MAX_FIELDS
        or not all(isinstance(each, str) for each in value)
    ):
        raise InvalidValue("C006", f"is not a list of 1 to {MAX_FIELDS} names", example)
    fields: list[tuple[str, Any]] = []
    for each in value:
        name, _, kind = each.partition(":")
        name, kind = name.strip(), kind.strip()
        if not re.fullmatch("[a-z][a-z0-9_]{0,39}", name) or name.endswith("_") or iskeyword(name):
            raise InvalidValue(
                "C009", f"names a field {to_toml(name)}", "small letters, digits and _, and no keyword of Python"
            )
        if name in RESERVED_FIELDS or name in {known for known, _ in fields}:
            raise InvalidValue("C009", f"has a field {name}, which is taken", "another name")
        if kind not in FIELD_TYPES:
            kinds = ", ".join(f'"{name}: {word}"' for word in FIELD_TYPES if word)
            raise InvalidValue("C008", f"has an unknown type in {to_toml(each)}", f'"{name}", {kinds}')
        fields.append((name, FIELD_TYPES[kind]))
    if sum(kind is AnswerLines for _, kind in fields) > 1:
        raise InvalidValue("C009", "has more than one number of lines of the answer", "one field")
    return tuple(fields)


def _streams(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise InvalidValue("C006", "is not a table", "words = { shuffle = 52, below = 8 }")
    for label, count in value.items():
        if not STREAM.fullmatch(label):
            raise InvalidValue("C008", f"names a stream {to_toml(label)}", 'shuffle, "shuffle 2", below or pick')
        integer(1, MAX_WORDS).check(count)
    return dict(value)


PLAIN_ANSWER = re.compile("[A-Za-z0-9_.,:+-]+(?: [A-Za-z0-9_.,:+-]+)*")
PlainAnswer = Annotated[str, matches(PLAIN_ANSWER.pattern, "plain answer", "words of letters, digits and _ . , : + -")]
"""An answer that the program of a starter bot can contain without escapes, in any language."""


@dataclass(frozen=True)
class OpeningTable:
    """The table [opening]: the simplest bot of the game."""

    field: Text
    limit: Annotated[int, integer(-1_000_000, 1_000_000)]
    below: PlainAnswer
    otherwise: PlainAnswer


@dataclass(frozen=True)
class RefereeLimits:
    """The table [limits] of a game.toml: limits of the referee."""

    memory: ByteCount = GIB
    """Memory of all processes of the referee together. Example: `memory = "2 GiB"`"""
    tasks: Count = 128
    """Number of processes and threads of the referee."""
    files: ByteCount = 64 * MIB
    """Size of each file that the referee writes in /tmp."""
    open_files: Count = 256
    """Number of open files of each process."""
    startup: Seconds = 10.0
    """Time until the first line of the referee, in addition to `patience`."""


@dataclass(frozen=True)
class GameFile:
    """The keys of a game.toml. Those about the program of the referee are the same as in a bot.toml."""

    name: Annotated[str, matches("[a-z][a-z0-9_]{0,40}", "name of a game", "small letters, digits and _")]
    """The name of the game in all commands. Example: `name = "scopa"`"""
    seats: Annotated[tuple[int, int], ValueType(_seats, {"type": ["integer", "array"]})]
    """The number of bots at a table, or the fewest and the most. Example: `seats = [2, 4]`"""
    view: Annotated[Any, ValueType(_fields, {"type": "array", "items": {"type": "string"}})]
    """The fields of a question, in the order of a line. Example: `view = ["hand", "trick", "points"]`"""
    answer: Annotated[Any, ValueType(_answers, {"type": ["string", "array", "object"]})]
    """The forms of an answer. Example: `answer = ["PASS", "PLAY <card>", "BID <chips: 1..50>"]`"""
    edges: dict[str, dict[str, Any]]
    """Edge cases of the rules: questions, by a name that describes the case. `check` asks every bot these questions."""
    title: Text = ""
    """The name of the game for people. Default: its name. Example: `title = "Scopa"`"""
    sides: Annotated[Any, ValueType(_sides, {"type": "array"})] = ()
    """For partners: the seats of each bot at a table with one bot per side. Example: `sides = [[0, 2], [1, 3]]`"""
    adapter: Annotated[Any, ValueType(read_adapter, {"type": ["string", "object"]})] = None
    """The host for which the referee was written, with options. Example: `adapter = { host = "codingame", seed = false }`"""
    protocol: Annotated[str, one_of(lambda: PROTOCOLS, "protocol")] = "lines"
    """The protocol of bots that do not set one."""
    card: Annotated[str, ValueType(lambda value: _paragraph(value), {"type": "string"})] = ""
    """One paragraph for participants: the questions and the possible answers."""
    until: Annotated[Any, ValueType(lambda value: _last_word(value), {"type": "string"})] = None
    """With `block`, the first word of the last line of each answer; "" for a blank line. Example: `until = "done"`"""
    decisions: Annotated[int, integer(1, 100_000)] = 32
    """Decisions of all bots at a usual table. Example: `decisions = 14`"""
    score: Text = "points"
    """The unit of the scores. Example: `score = "chips"`"""
    secret_answers: Annotated[bool, FLAG] = False
    """`true`: an answer is a secret of its seat, even if only one seat is asked at a time."""
    opening: OpeningTable | None = None
    """The simplest bot: `below` is its move if `field` is below `limit`, `otherwise` its move at or above it."""
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Rules that a tournament may set. Example: `target = { type = "integer", default = 100, from = 1, to = 1000 }`"""
    presets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Sets of values of the rules, by name. The first is the default. Example: `[presets.short]` and `target = 50`"""
    words: Annotated[Any, ValueType(_streams, {"type": "object"})] = field(default_factory=dict)
    """The number of random words in each `open` message, by stream. Example: `words = { shuffle = 40 }`"""
    patience: Seconds = 5.0
    """Time after which a silent referee has failed. Example: `patience = "2 s"`"""
    limits: RefereeLimits = RefereeLimits()
    language: Text = ""
    compiler: Text = ""
    sources: tuple[FileName, ...] = ()
    entry: FileName = ""
    main: Text = ""
    build: tuple[Text, ...] = ()
    run: tuple[Text, ...] = ()
    heap: ByteCount = 0
    env: Annotated[dict[str, str], ValueType(environment, {"type": "object"})] = field(default_factory=dict)
    needs: tuple[Text, ...] = ()
    requires: tuple[Requirement, ...] = ()


PROGRAM_KEYS = ("language", "compiler", "sources", "entry", "main", "build", "run", "heap", "env", "needs", "requires")
"""The keys of a game.toml that have the same meaning as in a bot.toml."""


def _last_word(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{0,40}", value):
        raise InvalidValue("C006", "is not a word, or empty for a blank line", 'until = "done"')
    return value


def _paragraph(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 4000 or not all(c.isprintable() or c == "\n" for c in value):
        raise InvalidValue("C006", "is not a text of at most 4000 characters")
    return value.strip()


class RefereeGame(NamedTuple):
    """The content of a game.toml: the game (without the program of its referee), and the keys of the file."""

    game: Game
    file: GameFile
    toml: Toml
    forms: tuple[Form, ...]  # forms of answers; if a pattern describes the answers, its examples


def load_referee_game(folder: Path) -> RefereeGame:
    """Return the game that the game.toml of a folder describes. Raise UserError (exit code 3) with all its problems."""
    toml = completed(read_untrusted(folder / GAME_FILE))
    file = load_model(toml, GameFile)
    problems: list[Problem] = []
    if file.name in GAMES:
        message = f"name = {to_toml(file.name)} is the name of another game"
        problems.append(Problem("C018", toml.where("name"), message, hint="choose another name"))
    for table in ("edges", "presets"):
        for name in getattr(file, table):
            if not name.isprintable():
                message = f"{table}: {to_toml(name)} has a character that cannot be printed"
                problems.append(Problem("C009", toml.where(table, name), message))
    view = _view_type(file)
    edges = _edges(toml, file, view, problems)
    rules = _presets(toml, file, _rules_type(toml, file, problems), problems)
    pattern = file.answer if isinstance(file.answer, Pattern) else None
    forms: tuple[Form, ...] = pattern.examples if pattern else file.answer
    grammar = grammar_of(forms)._replace(until=file.until)
    if pattern:
        grammar = grammar._replace(pattern=pattern.pattern, expected=pattern.expected)
    _check_sources(toml, forms, view, problems)
    opening = _opening(toml, file, forms, view, edges, problems)
    if opening and edges and not problems:
        for edge in edges.values():
            if not isinstance(read_text(grammar, opening.answer_to(edge)), Move):
                message = f"the opening answers {to_toml(opening.answer_to(edge))}, which `answer` does not allow"
                problems.append(Problem("C009", toml.where("opening"), message, hint=grammar.expected))
                break
    if problems or opening is None:
        raise UserError(sorted_by_line(problems), 3)
    game = Game(
        name=file.name,
        title=file.title or file.name,
        seats=file.seats,
        protocol=file.protocol,
        presets=rules,
        grammar=grammar,
        play=_never_played,
        allows=_always,
        winners=best_unless_equal,
        view=view,
        edges=edges,
        opening=opening,
        card=file.card
        or f"A question has the fields {' '.join(f'<{name}>' for name in view._fields)}. Answer {grammar.expected}.",
        decisions=file.decisions,
        display=Display(score=file.score, secret_answers=file.secret_answers),
        sides=partial(_seats_of, file.sides) if file.sides else None,
        chance=Chance(),
    )
    return RefereeGame(game, file, toml, forms)


def _seats_of(sides: Sequence[Sequence[int]], rules: Any) -> Sequence[Sequence[int]]:
    """Return the seats of each bot: the sides if there are as many bots as sides, otherwise one seat per bot."""
    return sides if rules.seats == len(sides) else [(seat,) for seat in range(rules.seats)]


def _never_played(_rules: Any, _luck: Shuffler, _tell: Any = None) -> Play:
    raise RuntimeError("the rules of this game are in the process of its referee")


def _always(_rules: Any, _view: View, _move: Move) -> bool:
    return True


def _typed(name: str, fields: Sequence[tuple[str, Any]], defaults: Sequence[Any] = ()) -> type[Any]:
    """Return a NamedTuple class with these fields, types and defaults."""
    made: Any = namedtuple(name, [each for each, _ in fields], defaults=defaults)  # type: ignore[misc]
    made.__annotations__ = dict(fields)
    made.__module__ = __name__
    return cast(type[Any], made)


def _view_type(file: GameFile) -> type[Any]:
    """Return the class of a game's views: a NamedTuple with the fields and types of game.toml.

    A field without a type has the type Any, because a referee may write any value in it.
    """
    return _typed("View", file.view)


def plain_value(value: Any) -> Any:
    """Return a value from TOML or JSON as a view contains it: tuples instead of lists."""
    return tuple(map(plain_value, value)) if isinstance(value, list) else value


def _edges(toml: Toml, file: GameFile, view: type[Any], problems: list[Problem]) -> dict[str, Any]:
    """Return the edge cases as questions, by name. Append the problems that are found to `problems`."""
    fields, found, reported = view._fields, {}, set[str]()
    hint = ", ".join(f"{name} = …" for name in fields)
    if not 1 <= len(file.edges) <= MAX_EDGES:
        message = f"[edges] has no question, or more than {MAX_EDGES}"
        problems.append(Problem("C007", toml.where("edges"), message, hint=f'"the first question" = {{ {hint} }}'))
    for name, values in file.edges.items():
        where = toml.where("edges", name)
        if (differing := values.keys() ^ set(fields)) and differing <= reported:
            continue  # the same field was wrong in an earlier question
        reported |= differing
        if unknown := [key for key in values if key not in fields]:
            near = closest_match(unknown[0], fields) or f"one of {', '.join(fields)}"
            problems.append(Problem("C001", where, f"edges: unknown field {to_toml(unknown[0])}", hint=near))
        elif lacking := [key for key in fields if key not in values]:
            problems.append(
                Problem("C007", where, f"edges: {to_toml(name)} has no {lacking[0]}", hint=f"{lacking[0]} = …")
            )
        elif wrong := [key for key, value in values.items() if not _is_plain(value)]:
            message = f"edges: {wrong[0]} is not a text, a whole number, true, false, or a list of these"
            problems.append(Problem("C006", where, message))
        else:
            found[name] = view(**{key: plain_value(value) for key, value in values.items()})
    return found


def _is_plain(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < 2 and all(_is_plain(each, depth + 1) for each in value)
    return isinstance(value, str | int)


def _rules_type(toml: Toml, file: GameFile, problems: list[Problem]) -> type[Any]:
    """Return the class of the rules. Its fields are `seats` (the bots at a table) and the rules of game.toml.

    Append the problems that are found to `problems`.
    """
    fields: list[tuple[str, Any]] = [("seats", int)]
    defaults: list[Any] = [file.seats[0]]
    for name, table in file.rules.items():
        where = toml.where("rules", name)
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,39}", name) or iskeyword(name) or name in ("seats", "preset"):
            message = f"rules: {to_toml(name)} is not a name of a rule"
            problems.append(Problem("C009", where, message, hint="letters, digits and _, as maxTurns or max_turns"))
            continue
        try:
            kind, default = _rule(table)
        except InvalidValue as wrong:
            problems.append(Problem(wrong.code, where, f"rules: {name} {wrong.message}", hint=wrong.hint))
            continue
        fields.append((name, kind))
        defaults.append(default)
    return _typed("Rules", fields, defaults)


def _rule(table: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the type and the default of a rule, from its table in game.toml.

    Raise InvalidValue if the table is wrong.
    """
    example = '{ type = "integer", default = 100, from = 1, to = 1000 }'
    kind, default = table.get("type"), table.get("default")
    if kind not in RULE_TYPES or default is None:
        raise InvalidValue("C007", "has no type that croupier knows, or no default", example)
    if unknown := sorted(table.keys() - {"type", "default", "from", "to", "one_of"}):
        raise InvalidValue("C001", f"has an unknown key {to_toml(unknown[0])}", example)
    if kind == "boolean":
        return bool, FLAG.check(default)
    if kind == "word":
        words = table.get("one_of")
        if not isinstance(words, list) or not words or not all(isinstance(each, str) for each in words):
            raise InvalidValue(
                "C007",
                "has no list of words in one_of",
                '{ type = "word", default = "short", one_of = ["short", "long"] }',
            )
        return Literal[tuple(words)], one_of(lambda: words, "word").check(default)
    low, high = table.get("from", 0), table.get("to", 1_000_000)
    if type(low) is not int or type(high) is not int or low > high:
        raise InvalidValue("C009", "has no range of whole numbers in from and to", example)
    bounds = integer(low, high)
    return Annotated[int, bounds], bounds.check(default)


def _presets(toml: Toml, file: GameFile, kind: type[Any], problems: list[Problem]) -> dict[str, Any]:
    """Return the rules of each preset, by name. Without [presets], return one preset with the name of the game.

    Append the problems that are found to `problems`.
    """
    usual, presets = kind(), {}
    for preset, values in file.presets.items():
        rules = usual
        for key, value in values.items():
            where = toml.where("presets", preset, key)
            if key in file.rules and key not in kind.__annotations__:
                continue  # the problem of the rule is reported once
            if key not in kind.__annotations__:
                known = list(kind.__annotations__)
                near = closest_match(key, known) or f"one of {', '.join(known)}"
                problems.append(Problem("C001", where, f"unknown rule {to_toml(key)} in [presets.{preset}]", hint=near))
                continue
            try:
                rules = rules._replace(**{key: _bounds(kind.__annotations__[key], file).check(value)})
            except InvalidValue as wrong:
                message = f"{key} = {to_toml(value)} {wrong.message}"
                problems.append(Problem(wrong.code, where, message, hint=wrong.hint))
        presets[preset] = rules
    return presets or {file.name: usual}


def _bounds(kind: Any, file: GameFile) -> ValueType:
    if kind is bool:
        return FLAG
    if kind is int:
        return integer(*file.seats)
    metadata = getattr(kind, "__metadata__", None)
    words = getattr(kind, "__args__", ())
    return metadata[0] if metadata else one_of(lambda: words, "word")


def _check_sources(toml: Toml, forms: Sequence[Form], view: type[Any], problems: list[Problem]) -> None:
    """Append a problem for each placeholder that takes its values from a field which does not exist."""
    for form in forms:
        for part in form.parts:
            if not isinstance(part, str) and part.field and part.field not in view._fields:
                near = closest_match(part.field, view._fields) or f"one of {', '.join(view._fields)}"
                message = f"answer: <{part.name}> takes its values from {part.field}, which is not a field of view"
                problems.append(Problem("C008", toml.where("answer"), message, hint=near))


def _opening(
    toml: Toml,
    file: GameFile,
    forms: Sequence[Form],
    view: type[Any],
    edges: Mapping[str, Any],
    problems: list[Problem],
) -> Opening | None:
    """Return the simplest bot of the game. Without [opening], it always gives the same answer.

    Return None, and append a problem to `problems`, if [opening] is wrong, or if it is missing and each form of an answer
    has a placeholder.
    """
    if bot := file.opening:
        opening = Opening(bot.field, bot.limit, bot.below, bot.otherwise)
        values = [getattr(edge, bot.field, None) for edge in edges.values()]
        if bot.field in view._fields and all(_is_countable(value) for value in values):
            return opening
        message = f"opening: {bot.field} is not a field whose values are numbers, or lists of numbers"
        problems.append(
            Problem("C009", toml.where("opening", "field"), message, hint=f"one of {', '.join(view._fields)}")
        )
        return None
    plain = (form.text for form in forms if all(isinstance(part, str) for part in form.parts))
    literal = next(filter(PLAIN_ANSWER.fullmatch, plain), None)
    if file.adapter:
        usual = file.until or ("0" if file.protocol != "block" else "WAIT")
        fixed = literal or (usual if forms[0].is_free else forms[0].simplest)
        return Opening(view._fields[0], 0, fixed, fixed)
    counted = [name for name in view._fields if all(_is_countable(getattr(edge, name)) for edge in edges.values())]
    if literal:
        return Opening((counted or view._fields)[0], 0, literal, literal)
    hint = '[opening] field = "points", limit = 4, below = "LOW", otherwise = "HIGH"'
    message = "has no [opening], and no answer that is always the same"
    problems.append(Problem("C007", toml.where("opening"), message, hint=hint))
    return None


def _is_countable(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, tuple) and all(isinstance(each, int) for each in value))
