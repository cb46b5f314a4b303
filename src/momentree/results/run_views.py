"""What a run shows of itself: plots, drawings, a movie, the 3-D page."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from momentree.errors import spell_checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from momentree.results.run import Run

Where = str | PathLike[str]


@spell_checked
class RunViews:
    """Pictures and pages of a run."""

    def plot(self, *what: Any, path: Where | None = None, joints: Sequence[str] | None = None) -> Figure:
        """A figure of what is named: "A", "A'", "energy", "reactions of C", "path of coupler" (docs/pictures.md).

        Without names, coordinates by joint and the energy account. Saved if a path is given (.svg, .png, .pdf).
        """
        from momentree.look.run_picture import draw_run

        return draw_run(cast("Run", self), what, path, joints)

    def draw(
        self,
        path: Where | None = None,
        times: int | Sequence[float] = 5,
        view: Any = "auto",
        names: bool = True,
        overlaid: bool = False,
    ) -> Figure:
        """The mechanism at some instants, side by side or `overlaid`; `view` and `names` as in `system.draw`."""
        from momentree.look.mechanism_drawing import draw_run

        return draw_run(cast("Run", self), path, times, view, names, overlaid)

    def movie(
        self,
        path: Where,
        fps: float = 30,
        speed: float = 1.0,
        size: tuple[int, int] = (960, 720),
        view: Any = "auto",
        captions: bool = True,
        progress: bool | None = None,
    ) -> None:
        """Write a movie, .mp4 or .gif, of `size` pixels; `view` as in `system.draw` (docs/pictures.md)."""
        from momentree.look.movie import save_movie

        save_movie(cast("Run", self), path, fps, speed, size, view, captions, progress)

    def look(
        self,
        save: Where | None = None,
        *,
        ghost: Run | None = None,
        traces: Any = None,
        arrows: Sequence[str] | str = (),
        follow: str | None = None,
        rate: float | None = None,
        port: int | None = None,
        browser: bool = True,
        wait: bool | None = None,
    ) -> Any:
        """Open its 3-D page, a `Viewer`; or save a page that plays it by double-click (options: docs/look.md)."""
        from momentree.look.viewer import look_at_run

        shown = {"ghost": ghost, "traces": traces, "arrows": arrows, "follow": follow, "rate": rate}
        return look_at_run(cast("Run", self), save, port=port, browser=browser, wait=wait, **shown)
