"""Lists the sections of a page, in the order of its menu. Each has a row here and a template in pages/sections."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from host.report.pictures import PICTURES
from host.report.summary import RunSummary
from host.stages.picture import Picture


class Section(NamedTuple):
    """Section of a page. Its template is pages/sections/ID.html; there, `shown` is the result of `content`.

    The page leaves out a section whose content is empty. A section without a title is not in the menu.
    """

    id: str
    title: str
    content: Callable[[RunSummary], Any]
    packed: bool = False  # rendered with the pages of the bots, which a large file contains compressed

    @property
    def template(self) -> str:
        """Return the path of the section's template."""
        return f"sections/{self.id}.html"


def stages_with_picture(picture: type[Picture]) -> Callable[[RunSummary], Any]:
    """Return a function that returns the stages of a summary whose picture has this type and is not empty."""
    return lambda summary: [
        stage for stage in summary.stages if isinstance(stage.picture, picture) and stage.picture[0]
    ]


def compared(summary: RunSummary) -> Any:
    """Return the stages of a run in which results compare pairs of bots."""
    return [stage for stage in summary.stages if stage.pairs and stage.compared]


SECTIONS: Sequence[Section] = (
    Section("result", "Result", lambda summary: summary.problem or summary.stages),
    Section("standings", "Standings", lambda summary: summary.stages),
    Section("pairs", "Pairs", compared, packed=True),
    *(Section(shown.key, shown.title, stages_with_picture(picture)) for picture, shown in PICTURES.items()),
    Section("bots", "Bots", lambda summary: summary.stages),
    Section("bot", "", lambda summary: summary.stages and summary.bots, packed=True),
    Section("faults", "Faults", lambda summary: summary.stages, packed=True),
    Section("casino", "Casino", lambda _summary: True),
    Section("about", "About", lambda summary: summary.stages),
)
