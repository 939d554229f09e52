"""Reads answers of Stack Exchange as the public API returns them, and finds the bot in each: name, language and files.

An answer is a heading `Name, Language` and code blocks. The first line of a block may be the name of its file.
"""

import html
import io
import re
import tarfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.bots.bot_spec import MANIFEST, unsafe_name
from host.season.entries.names import MAX_AUTHOR_CHARS, MAX_BOT_CHARS, usable_name
from host.submissions.languages import LANGUAGES, Language, language_called, languages_with

MAX_FILE_BYTES = 256 << 20
MAX_ANSWERS = 10_000
MAX_BODY_CHARS = 1 << 20
MAX_BLOCKS = 50
HEADINGS = frozenset({"h1", "h2", "h3"})
PARAGRAPHS = frozenset({"p", "li", "strong", "b"})
COMMENT = r"(?:#|//|--|;+|/\*|%|\(\*|\"|')?"
FILE_NAME = re.compile(
    rf"\s*{COMMENT}\s*(?:file:?\s+)?`?([A-Za-z0-9_][A-Za-z0-9_./-]{{0,80}}\.[A-Za-z0-9]{{1,6}})`?:?\s*(?:\*/|\*\))?\s*"
)
BARE_NAME = re.compile(r"\s*`?[A-Za-z0-9_][A-Za-z0-9_./-]{0,80}\.[A-Za-z0-9]{1,6}`?:?\s*")
FROM_API = "download it:  https://api.stackexchange.com/2.3/questions/ID/answers?site=codegolf&filter=withbody"


class Owner(msgspec.Struct):
    """The author of an answer."""

    display_name: str = "somebody"
    user_id: int = 0


class StackAnswer(msgspec.Struct):
    """An answer as the API returns it; other keys are ignored."""

    answer_id: int
    body: str = ""
    body_markdown: str = ""
    owner: Owner = msgspec.field(default_factory=Owner)
    content_license: str = ""
    link: str = ""
    share_link: str = ""
    last_edit_date: int = 0
    creation_date: int = 0


class Page(msgspec.Struct):
    """A page of the API."""

    items: list[StackAnswer]


class ImportedBot(NamedTuple):
    """The bot in an answer."""

    answer: int
    author: str  # a name that an author can have in a season
    bot: str
    file_name: str
    content: bytes
    licence: str  # with the author's own name and the address of the answer


class Skipped(NamedTuple):
    """An answer in which no bot was found, and why."""

    answer: int
    author: str
    why: str


def answers_in(path: Path) -> list[StackAnswer]:
    """Return the answers of a file: a page of the API, a list of answers, or one page a line. Raise UserError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError([Problem("E016", str(path), f"cannot be read: {error.strerror}", hint=FROM_API)], 2) from error
    if len(content) > MAX_FILE_BYTES:
        raise UserError([Problem("E016", str(path), "is larger than 256 MiB", hint=FROM_API)], 2)
    try:
        pages = _pages(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
        message = f"has no answers of the Stack Exchange API: {one_line(str(wrong))[:200]}"
        raise UserError([Problem("E016", str(path), message, hint=FROM_API)], 2) from wrong
    newest: dict[int, StackAnswer] = {}
    for answer in pages[:MAX_ANSWERS]:
        known = newest.get(answer.answer_id)
        if known is None or known.last_edit_date <= answer.last_edit_date:
            newest[answer.answer_id] = answer
    return list(newest.values())


def _pages(content: bytes) -> list[StackAnswer]:
    text = content.strip()
    if not text:
        raise msgspec.ValidationError("it is empty")
    if text.startswith(b"["):
        return msgspec.json.decode(text, type=list[StackAnswer])
    try:
        return msgspec.json.decode(text, type=Page).items
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:  # several pages, one a line
        pages = [msgspec.json.decode(line, type=Page) for line in text.splitlines() if line.strip()]
        return [answer for page in pages for answer in page.items]


def bot_in(answer: StackAnswer) -> ImportedBot | Skipped:
    """Return the bot in an answer, or why there is none."""
    author = author_of(answer.owner)
    parser = _Post()
    parser.feed((answer.body or _from_markdown(html.unescape(answer.body_markdown)))[:MAX_BODY_CHARS])
    parser.close()
    name, language = heading(parser.heading)
    bot = usable_name(name, MAX_BOT_CHARS)
    if not bot:
        return Skipped(answer.answer_id, author, "has no heading `Name, Language`")
    if not parser.blocks:
        return Skipped(answer.answer_id, author, f"{bot}: has no code block")
    if language is None and not any(block.file_name for block in parser.blocks):
        return Skipped(answer.answer_id, author, f"{bot}: croupier does not know the language of its heading")
    files = files_of(parser.blocks, bot, language)
    if not files:
        return Skipped(answer.answer_id, author, f"{bot}: no code block has a file of a bot")
    file_name, content = _submitted(files, bot)
    return ImportedBot(answer.answer_id, author, bot, file_name, content, licence_of(answer))


def author_of(owner: Owner) -> str:
    """Return the name of an author in a season: the name he shows, and his number, because names are not unique."""
    number = f"-{owner.user_id}" if owner.user_id else ""
    return (usable_name(owner.display_name, MAX_AUTHOR_CHARS - len(number)) or "user") + number


def licence_of(answer: StackAnswer) -> str:
    """Return the licence of an answer, with its author's name and its address, as the licence demands."""
    address = answer.share_link or answer.link or f"answer {answer.answer_id}"
    return one_line(f"{answer.content_license or 'CC BY-SA'}, {answer.owner.display_name}, {address}")


def heading(text: str) -> tuple[str, Language | None]:
    """Return the name and the language of a heading `Name, Language`. Further words, for example a score, do not count."""
    parts = [part.strip() for part in re.split(r"\s*(?:,|\s[-–—|:]\s)\s*", text) if part.strip()]
    for number, part in enumerate(parts[1:], 1):
        for words in (part, part.partition("(")[0].strip(), part.split()[0].rstrip("0123456789.")):
            if words and (found := LANGUAGES.get(words.lower()) or language_called(words.lower())):
                return ", ".join(parts[:number]), found
    return (parts[0] if parts else ""), None


class Block(NamedTuple):
    """A code block: the name of its file, empty if it has none, and its text."""

    file_name: str
    text: str


def files_of(blocks: list[Block], bot: str, language: Language | None) -> dict[str, str]:
    """Return the files of a bot: the blocks with names; if there are none, the longest block in the heading's language."""
    named = {block.file_name: block.text for block in blocks if block.file_name}
    if set(named) - {MANIFEST} or language is None:
        return {name: text for name, text in named.items() if _is_bots(name)}
    unnamed = [block.text for block in blocks if not block.file_name]
    suffix = next(iter(language.suffixes), "")
    if not unnamed:
        return {}
    text = max(unnamed, key=len)
    # A language whose bots may name their main class wants a file of that name.
    stem = (
        re.search(r"\bpublic\s+(?:final\s+)?class\s+(\w+)", text) if language.name in languages_with("main") else None
    )
    return {f"{stem[1] if stem else bot}{suffix}": text} | named


def _is_bots(name: str) -> bool:
    known = name == MANIFEST or "." in name
    return known and ".." not in name and not name.startswith("/") and not unsafe_name(name)


def _submitted(files: dict[str, str], bot: str) -> tuple[str, bytes]:
    """Return the name and the bytes of what is handed in: the only file, or an archive. The same files, the same bytes."""
    if len(files) == 1:
        ((name, text),) = files.items()
        return Path(name).name, text.encode(errors="replace")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted(files.items()):
            content = text.encode(errors="replace")
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755 if content.startswith(b"#!") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return f"{bot}.tar", packed.getvalue()


class _Post(HTMLParser):
    """Finds the first heading and the code blocks of an answer. A paragraph before a block may name its file."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.heading, self.blocks = "", list[Block]()
        self._open, self._text, self._before = "", list[str](), ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin to collect the text of a heading, a block or a paragraph."""
        if self._open == "pre":
            return
        if tag == "pre" or (tag in HEADINGS and not self.heading) or (tag in PARAGRAPHS and not self._open):
            self._open, self._text = tag, []

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if self._open:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        """End what is collected."""
        if tag != self._open:
            return
        text, self._open = "".join(self._text), ""
        if tag == "pre":
            if len(self.blocks) < MAX_BLOCKS:
                self.blocks.append(block_of(text, self._before))
            self._before = ""
        elif tag in HEADINGS:
            self.heading = " ".join(text.split())[:300]
        else:
            self._before = text


def block_of(text: str, before: str = "") -> Block:
    """Return a code block with the name of its file: in its first line, or alone in the paragraph before it."""
    first, _, rest = text.lstrip("\n").partition("\n")
    if (found := FILE_NAME.fullmatch(first)) and rest.strip():
        bare = BARE_NAME.fullmatch(first) is not None  # a comment is a line of the source
        return Block(found[1], rest if bare else text)
    found = FILE_NAME.fullmatch(before)
    return Block(found[1] if found else "", text)


def _from_markdown(text: str) -> str:
    """Return the headings and code blocks of Markdown as HTML."""
    return "\n".join(_html_lines(text.splitlines()))


def _html_lines(lines: list[str]) -> Iterator[str]:
    fence, code = "", list[str]()
    for line in [*lines, ""]:
        bare = line.strip()
        if fence:
            if bare.startswith(fence):
                yield _pre(code)
                fence, code = "", []
            else:
                code.append(line)
            continue
        if line.startswith(("    ", "\t")):
            code.append(line.removeprefix("    ").removeprefix("\t"))
            continue
        if code and bare:
            yield _pre(code)
            code = []
        elif code:
            code.append("")
            continue
        if bare.startswith(("```", "~~~")):
            fence = bare[:3]
        elif match := re.fullmatch(r"(#{1,3})\s*(.+?)\s*#*", bare):
            yield f"<h{len(match[1])}>{html.escape(match[2])}</h{len(match[1])}>"
        elif bare:
            yield f"<p>{html.escape(bare.strip('*_'))}</p>"
    if code:
        yield _pre(code)


def _pre(code: list[str]) -> str:
    text = "\n".join(code).strip("\n")
    return f"<pre><code>{html.escape(text)}\n</code></pre>"
