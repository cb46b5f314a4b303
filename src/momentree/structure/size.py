"""Size of a mechanism and of its loops: the lengths by which closure errors and slides are measured.

The size of a loop is half its perimeter, the distances between its joints within the bodies around it: two joints of a
closed polygon are never farther apart. Where the mechanism is does not matter, and neither does its unit: sizes
scale with the mechanism. Slides add nothing, for their lengths change with the motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from momentree.spatial import Scalar
from momentree.spatial.scalar import maximum, minimum, select, sqrt
from momentree.structure.mechanism import Loop, Mechanism, TreeBody
from momentree.structure.reach import loop_lengths, norm

RELATIVE_TOLERANCE = 1e-6  # of the size of a loop: the length tolerance where none is set
LARGEST_TOLERANCE = 1e-2  # of the size of a loop: a larger one would tell nothing apart
ROUND_OFF = 1e-9  # of the extent of bodies: axes that should meet in a point miss it by less


def mechanism_size(mechanism: Mechanism, sizes: tuple[Scalar, ...] | None = None) -> Scalar:
    """The largest loop or distance between two joints of one body (m); by the bodies themselves if there is none.

    On any scalar: of a mechanism in batches, one size for each of them. `sizes` are those of its loops, where known.
    """
    loops = loop_sizes(mechanism) if sizes is None else sizes
    lengths = [*loops, *(norm(body.mount.offset) for body in _carried(mechanism))]
    return _first(_largest(lengths), _largest([_extent(body) for body in mechanism.bodies]), 1.0)


def loop_sizes(mechanism: Mechanism) -> tuple[Scalar, ...]:
    """The size of each loop (m). Where all joints meet in a point, the extent of the bodies around it, else 1 m."""
    sizes = []
    for loop, perimeter in zip(mechanism.loops, loop_lengths(mechanism), strict=True):
        half = perimeter / 2
        extent = _largest([_extent(mechanism.bodies[i - 1]) for i in _around(mechanism, loop)])
        sizes.append(select(half - ROUND_OFF * extent, half, extent))
    largest = _largest(sizes)
    return tuple(_first(size, largest, 1.0) for size in sizes)


def _largest(lengths: list[Scalar]) -> Scalar:
    return reduce(maximum, lengths, 0.0)


def _first(*lengths: Scalar) -> Scalar:
    """The first that is positive, or else the last."""
    *others, first = lengths
    for length in reversed(others):
        first = select(length, length, first)
    return first


def loop_tolerances(mechanism: Mechanism) -> tuple[Scalar, ...]:
    """The length tolerance of each loop (m): as set, but at most 1e-2 of its size; 1e-6 of its size if none is set."""
    chosen, sizes = mechanism.set_tolerance, mechanism.loop_sizes
    if chosen is None:
        return tuple(RELATIVE_TOLERANCE * size for size in sizes)
    return tuple(minimum(float(chosen), LARGEST_TOLERANCE * size) for size in sizes)


def _around(mechanism: Mechanism, loop: Loop) -> list[int]:
    first, second, _ = mechanism.paths(loop)
    return [*first, *second]


def _carried(mechanism: Mechanism) -> Iterator[TreeBody]:
    """Bodies whose parent is not the ground."""
    return (body for body in mechanism.bodies if body.parent)


def _extent(body: TreeBody) -> Scalar:
    """How far the mass of a body reaches from its joint: the radius of gyration about it (m); 0 without mass."""
    mass, moments = body.inertia.mass, sum(body.inertia.J[:3])
    return select(mass, sqrt(maximum(moments, 0.0) / (2 * maximum(mass, 1e-300))), 0.0)
