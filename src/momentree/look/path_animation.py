"""A moving picture of a path in the plane: an SVG that plays by itself, in an image, without a script."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momentree.look.scene import PALETTE

Array = NDArray[np.float64]
FRAMES = 400  # moments of the animation
WIDTH, HEIGHT, MARGIN = 640.0, 400.0, 30.0
INK, GREY = "#333333", "#999999"


def path_animation(t: Array, x: Array, y: Array, angle: Array | None = None, speed: float = 1.0) -> bytes:
    """The path, and a mark that moves along it, `speed` s in each second; with an angle (rad), an arrow that turns."""
    kept = np.isfinite(t) & np.isfinite(x) & np.isfinite(y) & (True if angle is None else np.isfinite(angle))
    times = np.linspace(t[kept][0], t[kept][-1], FRAMES)
    left, up = (np.interp(times, t[kept], values[kept]) for values in (x, y))
    size = max(np.ptp(left) / (WIDTH - 2 * MARGIN), np.ptp(up) / (HEIGHT - 2 * MARGIN), 1e-300)
    px, py = (left - left.min()) / size + MARGIN, (up.max() - up) / size + MARGIN
    width, height = np.ptp(px) + 2 * MARGIN, np.ptp(py) + 2 * MARGIN
    points = [f"{a:.1f},{b:.1f}" for a, b in zip(px, py, strict=True)]
    lasts = f'dur="{(times[-1] - times[0]) / speed:.3f}s" repeatCount="indefinite"'
    color = "rgb({},{},{})".format(*PALETTE[0])
    if angle is None:
        mark = f'<circle r="7" fill="{color}"/>'
    else:
        turned = np.degrees(-np.interp(times, t[kept], np.unwrap(angle[kept])))
        values = ";".join(f"{a:.1f}" for a in turned)
        turning = f'<animateTransform attributeName="transform" type="rotate" values="{values}" {lasts}/>'
        mark = f'<path d="M-12,-8 L16,0 L-12,8 Z" fill="{color}">{turning}</path>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" width="{width:.0f}">'
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{GREY}" stroke-width="1.2"/>'
        f'<circle cx="{px[0]:.1f}" cy="{py[0]:.1f}" r="4" fill="white" stroke="{INK}"/>'
        f'<g>{mark}<animateMotion values="{";".join(points)}" calcMode="linear" {lasts}/></g></svg>'
    ).encode()
