"""Whether two pictures show the same: words, numbers and curves of SVGs, pixels of others, fingerprints of inputs.

The last digits of a motion differ from one processor to another, and curves of round-off are different curves there. So
the bytes of pictures are not compared. Of each axes of an SVG the words, the numbers and the curves are, the curves by
their places in the axes; of axes that show round-off (NOISE), only the words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NOISE = ("balance, J", "closure error", "closure velocity")  # axes with these words show round-off
NEAR = 0.006  # of the axes: how far a curve may be from where it was
UNLIKE, FEW = 60, 0.001  # levels by which a pixel differs, and the part of the pixels that may
NUMBER = re.compile(r"[-−+]?[\d.,]+(?:[e×][-−+\d.]*)?")
COMMENT = ElementTree.Comment
FINGERPRINT = "momentree inputs"


class Curve(NamedTuple):
    """A line or area: its style, its commands as letters, and its points in parts of the axes."""

    style: str
    commands: str
    points: Array


class Panel(NamedTuple):
    """What one axes of a picture shows, or a picture without axes."""

    words: list[str]
    numbers: list[str]
    curves: list[Curve]


def differences(made: Path, kept: Path) -> str:
    """What is different about a picture that was kept; "" if it shows the same as one that was made now."""
    if not kept.exists():
        return "it does not exist"
    if kept.suffix == ".svg":
        return _svg_differences(panels(made), panels(kept))
    return _pixel_differences(made, kept)


# --- SVG ---


def panels(path: Path) -> list[Panel]:
    """All axes of an SVG by matplotlib; what stands outside of them is a panel of its own."""
    builder = ElementTree.TreeBuilder(insert_comments=True)
    root = ElementTree.parse(path, ElementTree.XMLParser(target=builder)).getroot()
    sheet = np.array([float(x) for x in root.attrib["viewBox"].split()]).reshape(2, 2)
    inside = [one for one in root.iter() if re.fullmatch(r"axes_\d+", one.attrib.get("id", ""))]
    apart = {id(part) for axes in inside for part in axes.iter()}
    return [_panel(axes.iter(), _box(axes, sheet)) for axes in inside] + [
        _panel((one for one in root.iter() if id(one) not in apart), sheet)
    ]


def _box(axes: ElementTree.Element, sheet: Array) -> Array:
    """The corner and the size of the background of axes."""
    for group in axes:
        if group.attrib.get("id", "").startswith("patch_"):
            points = np.concatenate([_path(one.attrib["d"])[1] for one in group.iter() if "d" in one.attrib])
            if np.ptp(points, axis=0).min() > 0:
                return np.stack([points.min(axis=0), np.ptp(points, axis=0)])
    return sheet


def _panel(parts: Iterator[ElementTree.Element], box: Array) -> Panel:
    words, numbers, curves, dots = [], [], [], []
    for one in parts:
        name = "" if one.tag is COMMENT else str(one.tag).rpartition("}")[2]
        if one.tag is COMMENT or name == "text":
            text = " ".join("".join(one.itertext()).split())
            (numbers if NUMBER.fullmatch(text) else words).append(text)
        elif name == "use" and "x" in one.attrib:
            dots.append([float(one.attrib["x"]), float(one.attrib["y"])])
        elif name == "path" and "id" not in one.attrib and "transform" not in one.attrib:
            commands, points = _path(one.attrib["d"])
            curves.append(Curve(one.attrib.get("style", ""), commands, (points - box[0]) / box[1]))
    if dots:
        curves.append(Curve("dots", "M" * len(dots), (np.array(dots) - box[0]) / box[1]))
    return Panel([word for word in words if word], numbers, curves)


def _path(d: str) -> tuple[str, Array]:
    points = np.array([float(x) for x in re.findall(r"-?[\d.]+(?:e-?\d+)?", d)]).reshape(-1, 2)
    return "".join(re.findall(r"[A-Za-df-z]", d)), points


def _svg_differences(made: list[Panel], kept: list[Panel]) -> str:
    if len(made) != len(kept):
        return f"it has {len(kept) - 1} axes instead of {len(made) - 1}"
    for new, old in zip(made, kept, strict=True):
        if new.words != old.words:
            unlike = [pair for pair in zip(old.words, new.words, strict=False) if pair[0] != pair[1]]
            return f"its words differ: {unlike[0] if unlike else (len(old.words), len(new.words))}"
        if any(word in NOISE for word in new.words):
            continue
        if new.numbers != old.numbers:
            return f"its numbers differ: {old.numbers} instead of {new.numbers}"
        if [curve.style for curve in new.curves] != [curve.style for curve in old.curves]:
            return "its lines have other styles"
        for a, b in zip(new.curves, old.curves, strict=True):
            off = _distance(a, b)
            if not off < NEAR:
                return f"a line is {off:.1%} of the axes away from where it should be: {a.style}"
    return ""


def _distance(a: Curve, b: Curve) -> float:
    """The largest distance between curves, whose points may be chosen differently."""
    off = float(np.abs(a.points - b.points).max(initial=0)) if a.commands == b.commands else np.inf
    if off < NEAR:
        return off
    if {*a.commands, *b.commands} <= set("ML") and len(a.points) > 1 and len(b.points) > 1:
        return max(_away(a.points, b.points), _away(b.points, a.points))
    return off


def _away(points: Array, line: Array) -> float:
    """The largest distance of points from a line of segments."""
    begin, side = line[:-1], np.diff(line, axis=0)
    square = np.maximum((side * side).sum(axis=1), 1e-300)
    largest = 0.0
    for p in points:
        s = np.clip(((p - begin) * side).sum(axis=1) / square, 0, 1)
        largest = max(largest, float(np.linalg.norm(begin + s[:, None] * side - p, axis=1).min()))
    return largest


# --- pixels ---


def _pixel_differences(made: Path, kept: Path) -> str:
    from PIL import Image

    with Image.open(made) as new, Image.open(kept) as old:
        if (new.size, getattr(new, "n_frames", 1)) != (old.size, getattr(old, "n_frames", 1)):
            return f"it has {old.size} pixels in {getattr(old, 'n_frames', 1)} frames"
        for k in range(getattr(new, "n_frames", 1)):
            new.seek(k)
            old.seek(k)
            if found := unlike(np.asarray(new.convert("RGB")), np.asarray(old.convert("RGB"))):
                return found if k == 0 else f"frame {k}: {found}"
    return ""


def unlike(made: NDArray[np.uint8], kept: NDArray[np.uint8]) -> str:
    """What is different about pixels; edges may differ by a shade."""
    off = np.abs(made.astype(int) - kept.astype(int)).max(axis=2) > UNLIKE
    return f"{off.mean():.2%} of its pixels differ" if off.mean() > FEW else ""


# --- fingerprints of inputs ---


def fingerprint(path: Path) -> Any:
    """What a picture was made from, as it says itself; None if it does not say."""
    if path.suffix == ".svg":
        found = re.search(r"<dc:description>(.*?)</dc:description>", path.read_text(encoding="utf-8"), re.DOTALL)
        return found[1].strip() if found else None
    from PIL import Image

    with Image.open(path) as picture:
        text = picture.info.get(FINGERPRINT)
    return json.loads(text) if text else None


def alike(a: Any, b: Any, near: float = 5e-3) -> bool:
    """Whether two trees of lists, names and numbers are the same, numbers within `near`."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= near
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y, near) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key], near) for key in a)
    return bool(a == b)
