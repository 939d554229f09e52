"""The sections of the page, in the order of its menu. Each is one row here and one template in pages/sections."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from host.report.pictures import PICTURES
from host.report.summary import RunSummary
from host.stages.picture import Picture


class Section(NamedTuple):
    """A section of the page. Its template is pages/sections/ID.html, in which `shown` is what `content` returns.

    A section without content is left out, and one without a title is not in the menu.
    """

    id: str
    title: str
    content: Callable[[RunSummary], Any]
    packed: bool = False  # rendered with the pages of the bots, which a large file contains compressed

    @property
    def template(self) -> str:
        """The file of its template."""
        return f"sections/{self.id}.html"


def stages_with_picture(picture: type[Picture]) -> Callable[[RunSummary], Any]:
    """Return a function that returns the stages of a summary with a picture of this type that has any part."""
    return lambda summary: [
        stage for stage in summary.stages if isinstance(stage.picture, picture) and stage.picture[0]
    ]


def compared(summary: RunSummary) -> Any:
    """Return the stages whose pairs of bots are compared."""
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
