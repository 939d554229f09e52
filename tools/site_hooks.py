"""Hooks of mkdocs.yml: make the site from docs/ and the pages beside it, as they are, without a second list of pages.

The navigation is the tables of docs/README.md. Links are those that work on a code host: the hook turns a link to a page into
one to its place on the site, and a link to another file of the project into one to the repository (`repo_url`), if there is one.
"""

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "protocols/README.md", "protocols/referee.md")
"""Pages of the site that are not in docs/. The first one is its front page."""

STYLE = ".md-grid { max-width: 84rem }\n"  # outputs on the pages have 100 columns
INDEX = "documentation.md"  # docs/README.md, on the site
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(`{3,})(\w+) +([\w./-]+)$", re.MULTILINE)  # ```toml croupier.toml


def place(path: str) -> str:
    """Return the place on the site of a page of the repository."""
    if path in ("README.md", "docs/README.md"):
        return "index.md" if path == "README.md" else INDEX
    return path.removeprefix("docs/")


def pages() -> dict[str, str]:
    """Return the place on the site of each page of the repository."""
    inside = (path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return {path: place(path) for path in (*inside, *OUTSIDE)}


def rebased(text: str, path: str, repository: str) -> str:
    """Return the text of a page with its links as the site needs them."""
    places, here = pages(), posixpath.dirname(path)

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, found[2]))
        if target in places:
            new = posixpath.relpath(places[target], posixpath.dirname(places[path]) or ".")
        elif target.startswith("docs/") and (ROOT / target).is_file():  # a picture
            new = posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(places[path]) or ".")
        else:
            new = f"{repository}/blob/main/{target}" if repository else ""
        return f"{found[1]}{new}{found[3] or ''})" if new else f"{found[1]}#)"

    fence = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
    parts, at = [], 0
    for block in fence.finditer(text):
        parts += [LINK.sub(link, text[at : block.start()]), block[0]]
        at = block.end()
    whole = "".join([*parts, LINK.sub(link, text[at:])])
    whole = re.sub(r"\[([^\]]*)\]\(#\)", r"\1", whole)  # without a repository there is nothing to link to
    return FENCE.sub(r'\1\2 title="\3"', whole)


def navigation() -> list[dict[str, Any]]:
    """Return the navigation: a part for each table of docs/README.md."""
    parts: list[dict[str, Any]] = [{"Home": "index.md"}]
    for line in (ROOT / "docs" / "README.md").read_text().splitlines():
        if heading := re.fullmatch(r"\| (for .+?) \| \|", line):
            parts.append({heading[1].capitalize(): []})
        elif line.startswith("| ["):
            (entries,) = parts[-1].values()
            for title, path in re.findall(r"\[([^\]]+)\]\(([^)#]+)\)", line.split(" | ")[0]):
                entries.append({title.replace("`", ""): place(posixpath.normpath(posixpath.join("docs", path)))})
    entries += [{"Changes": "CHANGELOG.md"}, {"Contributing": "CONTRIBUTING.md"}, {"Security policy": "SECURITY.md"}]
    return [*parts, {"All pages": INDEX}]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation, and the repository if the site is built where it is known."""
    config.nav = navigation()
    if "GITHUB_REPOSITORY" in os.environ:
        config.repo_url = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, each with its links as the site needs them."""
    files.append(File.generated(config, "site.css", content=STYLE))
    for path, new in pages().items():
        if old := files.get_file_from_path(path.removeprefix("docs/")):
            files.remove(old)
        text = rebased((ROOT / path).read_text(), path, (config.repo_url or "").rstrip("/"))
        files.append(File.generated(config, new, content=text, inclusion=InclusionLevel.INCLUDED))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Leave out the comments that make tests of a page's blocks."""
    return re.sub(r"^<!-- (?:file|edit|tested|new folder)\b.*-->\n", "\n", markdown, flags=re.MULTILINE)
