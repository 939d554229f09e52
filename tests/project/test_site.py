"""The site of the documentation: every page is on it once, as a code host shows it, and every link has a target."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from command import ROOT
from markdown_it import MarkdownIt

TAGS = ("h1", "h2", "h3", "li", "table", "tr", "pre", "img", "blockquote")


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """Return the hooks of mkdocs.yml."""
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "tools" / "site_hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(folder: Path, **more: str) -> Path:
    """Build the site, which is strict: a dead link, an unknown anchor or a page outside the navigation fails it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    done = subprocess.run(command, cwd=ROOT, env=env | more, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built where no repository is known."""
    return built(tmp_path_factory.mktemp("site"))


def article(site: Path, place: str) -> str:
    """Return the text of a page of the site."""
    page = (site / place.replace("README.md", "index.md").replace(".md", ".html")).read_text()
    return page[page.index("<article") : page.index("</article>")]


@pytest.mark.long
def test_each_page_is_on_the_site_once_with_everything_that_a_code_host_shows(site: Path, hooks: ModuleType) -> None:
    parser, pages = MarkdownIt("commonmark").enable("table"), hooks.pages()
    assert len(pages) == len(set(pages.values())) > 40
    for path, place in pages.items():
        shown, wanted = article(site, place), parser.render((ROOT / path).read_text())
        assert "<!-- tested" not in shown and "<!-- file" not in shown, path
        for tag in TAGS:
            counts = [len(re.findall(rf"<{tag}[ >]", text)) for text in (shown, wanted)]
            assert counts[0] == counts[1], f"{path}: {counts} × {tag}"


@pytest.mark.long
def test_the_navigation_is_the_index_of_the_documentation(site: Path) -> None:
    front = (site / "index.html").read_text()
    for heading in re.findall(r"^\| (for .+?) \| \|", (ROOT / "docs" / "README.md").read_text(), re.MULTILINE):
        assert heading.capitalize() in front


@pytest.mark.long
def test_a_link_to_a_source_leads_to_the_repository_if_that_is_known(site: Path, tmp_path: Path) -> None:
    assert "Dockerfile</a>" not in article(site, "faq.md")
    hosted = built(tmp_path / "site", GITHUB_SERVER_URL="https://forge.example", GITHUB_REPOSITORY="cards/croupier")
    assert 'href="https://forge.example/cards/croupier/blob/main/docker/Dockerfile"' in article(hosted, "faq.md")
