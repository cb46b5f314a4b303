"""Colors of what is drawn: a name, "#rrggbb", or red, green, blue from 0 to 255."""

from __future__ import annotations

import re

from momentree.errors import suggestion
from momentree.model.values import Mistake, Raw

Color = tuple[int, int, int]
# the first eight are those of Okabe and Ito, which color-blind readers can tell apart
COLORS: dict[str, Color] = {
    "black": (0, 0, 0),
    "orange": (230, 159, 0),
    "sky blue": (86, 180, 233),
    "green": (0, 158, 115),
    "yellow": (240, 228, 66),
    "blue": (0, 114, 178),
    "vermilion": (213, 94, 0),
    "purple": (204, 121, 167),
    "white": (255, 255, 255),
    "silver": (200, 204, 208),
    "gray": (130, 130, 130),
    "grey": (130, 130, 130),
    "dark gray": (70, 70, 70),
    "dark grey": (70, 70, 70),
    "red": (200, 30, 40),
    "brown": (140, 86, 50),
    "gold": (212, 175, 55),
    "copper": (184, 115, 51),
}


def color_of(raw: Raw) -> Color:
    """The color that a user wrote; raises Mistake."""
    if isinstance(raw, str):
        if re.fullmatch("#[0-9a-fA-F]{6}", raw):
            return int(raw[1:3], 16), int(raw[3:5], 16), int(raw[5:], 16)
        if raw not in COLORS:
            shown = raw if len(raw) <= 40 else f"{raw[:37]}..."
            way_out = suggestion(raw, COLORS) if not raw.startswith("#") else " Write six digits, '#rrggbb'."
            raise Mistake(f"there is no color {shown!r}.{way_out}", "color")
        return COLORS[raw]
    if isinstance(raw, tuple) and len(raw) == 3 and all(type(entry) is int and 0 <= entry <= 255 for entry in raw):
        return raw
    said = repr(raw) if len(repr(raw)) <= 60 else f"{repr(raw)[:57]}..."
    raise Mistake(f"color is {said}; use a name, '#rrggbb' or three whole numbers from 0 to 255.", "color")
