"""Figures of matplotlib that show themselves in a notebook, whether or not pyplot is in use."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

DPI = 100  # of the notebook; drawn with twice as many, for screens that have them


class ShownFigure(Figure):
    """A figure that needs no pyplot, and is a picture where it is the last value of a cell."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        sheet = io.BytesIO()
        self.savefig(sheet, format="png", dpi=2 * DPI)
        width, height = (round(DPI * side) for side in self.get_size_inches())
        return sheet.getvalue(), {"width": width, "height": height}
