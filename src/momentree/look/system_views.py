"""What a system shows of itself: summary, tables of coordinates, drawings, the 3-D page, its page in a notebook."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from momentree.errors import AssemblyError, spell_checked
from momentree.structure.coordinate_rows import coordinate_rows, velocity_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from momentree.assembly.state import State
    from momentree.look.coordinate_table import CoordinateTable
    from momentree.system import System


@spell_checked
class SystemViews:
    """Tables and pages of a system."""

    @property
    def coordinates(self) -> CoordinateTable:
        """The layout of q: index, joint, component, unit and meaning of each generalized coordinate of the tree."""
        from momentree.look.coordinate_table import CoordinateTable

        system = cast("System", self)
        return CoordinateTable(f"coordinates q of {system.name}", "q", coordinate_rows(system._numeric))

    @property
    def velocities(self) -> CoordinateTable:
        """The layout of v: the same of each generalized velocity of the tree."""
        from momentree.look.coordinate_table import CoordinateTable

        system = cast("System", self)
        return CoordinateTable(f"velocities v of {system.name}", "v", velocity_rows(system._numeric))

    def draw(
        self, path: str | PathLike[str] | None = None, state: Any = None, view: Any = "auto", names: bool = True
    ) -> Figure:
        """Draw the mechanism for a paper (.svg, .png, .pdf), seen along `view`, with `names` (docs/pictures.md)."""
        from momentree.look.mechanism_drawing import draw_system

        return draw_system(cast("System", self), path, state, view, names)

    def look(
        self,
        save: str | PathLike[str] | None = None,
        *,
        state: State | None = None,
        port: int | None = None,
        browser: bool = True,
        wait: bool | None = None,
    ) -> Any:
        """Open its 3-D page, a `Viewer`, in which joints are moved; or save a page of it (options: docs/look.md)."""
        from momentree.look.viewer import look_at_system

        return look_at_system(cast("System", self), save, state=state, port=port, browser=browser, wait=wait)

    def __str__(self) -> str:
        from momentree.look.tables import system_summary, unused_text

        system = cast("System", self)
        unused = unused_text(system._model)
        try:
            return system_summary(system.structure, system.mobility_report, unused)
        except AssemblyError as error:
            return system_summary(system.structure, str(error), unused)

    def _repr_html_(self) -> str:
        from momentree.look.notebook import system_html

        return system_html(cast("System", self))
