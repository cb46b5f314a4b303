"""Size of a mechanism and of its loops: the lengths by which closure errors and slides are measured.

The size of a loop is half its perimeter, the distances between its joints within the bodies around it: two joints of a
closed polygon are never farther apart. Where the mechanism stands does not matter, and neither does its unit: sizes
scale with the mechanism. Slides add nothing, for their lengths change with the motion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from momentree.structure.mechanism import Loop, Mechanism, TreeBody
from momentree.structure.reach import loop_lengths, norm

RELATIVE_TOLERANCE = 1e-6  # of the size of a loop: the length tolerance where none is set
LARGEST_TOLERANCE = 1e-2  # of the size of a loop: a larger one would tell nothing apart
ROUND_OFF = 1e-9  # of the extent of bodies: axes that should meet in a point miss it by less


def mechanism_size(mechanism: Mechanism) -> float:
    """The largest loop or distance between two joints of one body (m); by the bodies themselves if there is none."""
    lengths = [*loop_sizes(mechanism), *(float(norm(body.mount.offset)) for body in _carried(mechanism))]
    return max(lengths, default=0.0) or max(map(_extent, mechanism.bodies), default=0.0) or 1.0


def loop_sizes(mechanism: Mechanism) -> tuple[float, ...]:
    """The size of each loop (m). Where all joints meet in a point, the extent of the bodies around it, else 1 m."""
    found = []
    for loop, perimeter in zip(mechanism.loops, loop_lengths(mechanism), strict=True):
        half = float(perimeter) / 2
        extent = max((_extent(mechanism.bodies[i - 1]) for i in _around(mechanism, loop)), default=0.0)
        found.append(half if half > ROUND_OFF * extent else extent or 0.0)
    return tuple(size or max(found) or 1.0 for size in found)


def loop_tolerances(mechanism: Mechanism) -> tuple[float, ...]:
    """The length tolerance of each loop (m): as set, but at most 1e-2 of its size; 1e-6 of its size if none is set."""
    said, sizes = mechanism.set_tolerance, mechanism.loop_sizes
    if said is None:
        return tuple(RELATIVE_TOLERANCE * size for size in sizes)
    return tuple(min(float(said), LARGEST_TOLERANCE * size) for size in sizes)


def _around(mechanism: Mechanism, loop: Loop) -> list[int]:
    first, second, _ = mechanism.ways(loop)
    return [*first, *second]


def _carried(mechanism: Mechanism) -> Iterator[TreeBody]:
    """Bodies that stand on others than the ground."""
    return (body for body in mechanism.bodies if body.parent)


def _extent(body: TreeBody) -> float:
    """How far the mass of a body reaches from its joint: the radius of gyration about it (m); 0 without mass."""
    inertia = body.inertia
    if not inertia.mass > 0:
        return 0.0
    return math.sqrt(max(float(sum(inertia.J[:3])), 0.0) / (2 * float(inertia.mass)))
