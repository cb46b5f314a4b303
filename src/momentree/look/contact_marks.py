"""Marks of what touches or rolls: the rim of a wheel with a spoke, the arc of a foot with its leg, a ball.

The one rule for the page, pictures and movies. A rim turns visibly by its spoke. A contact whose radius is large beside
its mechanism belongs to a foot, of which only the part near the floor is there: on the side of the center of mass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momentree.look import meshes
from momentree.look.meshes import Mesh
from momentree.spatial import Transform
from momentree.spatial.vector import Vector, normals

Array = NDArray[np.float64]
FOOT = 0.5  # of the size of the mechanism: a larger radius may be that of a foot
ASIDE = 0.2  # of the radius: a center of mass nearer than this to the center belongs to a wheel
ARC = np.pi / 9  # rad: half of the arc that is drawn of a foot
ROUND, BOW = 48, 12  # pieces of a whole rim and of an arc
SPOKE = 0.16  # of the radius: the width of a spoke, which is seen on both sides of a wheel
SIDES = 8  # of the section of a rim
THICK = 0.012  # of the size of the mechanism: the radius of that section


def mark_of(
    placement: Transform, radius: float, disc: Vector | None, size: float, com: Array | None, rolls: bool
) -> Mesh:
    """What touches with a radius about the origin of a frame, in the frame of its body.

    | argument  | meaning                                                            |
    |-----------|--------------------------------------------------------------------|
    | placement | of the frame in its body                                           |
    | disc      | axis of the disc in that frame, of which the rim touches; None: a ball |
    | size      | of the mechanism (m)                                               |
    | com       | center of mass of the body (m); None without mass                  |
    | rolls     | whether it rolls without slip: then it is never a foot             |
    """
    center = np.array([*placement.offset], dtype=float)
    thick = min(THICK * max(size, radius), 0.2 * radius)
    aside = np.zeros(3) if com is None or rolls or radius <= FOOT * size else com - center
    if disc is None:
        if np.linalg.norm(aside) <= ASIDE * radius:
            return meshes.ball(radius).placed(np.eye(3), center)
        down = aside / np.linalg.norm(aside)
        axes = [np.array([*n], dtype=float) for n in normals(Vector(*down))]
        return meshes.joined([_foot(center, radius, down, n, thick) for n in axes])
    n = np.array([*(placement.rotation @ disc)], dtype=float)
    aside = aside - n * (n @ aside)
    if np.linalg.norm(aside) > ASIDE * radius:
        return _foot(center, radius, aside / np.linalg.norm(aside), n, thick)
    e = np.array([*(placement.rotation @ normals(disc)[0])], dtype=float)
    across = max(2 * thick, SPOKE * radius)
    bar = meshes.box((radius - thick, 2 * thick, across))
    spoke = bar.placed(np.stack([e, np.cross(n, e), n], axis=1), center + (radius - thick) / 2 * e)
    return meshes.joined([arc(center, radius, e, n, np.linspace(0, 2 * np.pi, ROUND + 1)[:-1], thick), spoke])


def _foot(center: Array, radius: float, down: Array, n: Array, thick: float) -> Mesh:
    """An arc about a direction, across n, and the leg to its middle."""
    bow = arc(center, radius, down, n, np.linspace(-ARC, ARC, BOW + 1), thick, closed=False)
    return meshes.joined([bow, meshes.rod(center, center + (radius - thick) * down, thick)])


def arc(center: Array, radius: float, e: Array, n: Array, angles: Array, thick: float, closed: bool = True) -> Mesh:
    """A round bar within a circle about the axis n, at angles from the direction e; it touches the circle."""
    outward = np.cos(angles)[:, None] * e + np.sin(angles)[:, None] * np.cross(n, e)
    turns = 2 * np.pi * np.arange(SIDES) / SIDES
    section = np.cos(turns)[:, None] * outward[:, None] + np.sin(turns)[:, None] * n
    vertices = center + (radius - thick) * outward[:, None] + thick * section
    count = len(angles)
    i, k = np.meshgrid(np.arange(count if closed else count - 1), np.arange(SIDES), indexing="ij")
    here, there = i * SIDES, (i + 1) % count * SIDES
    a, b, c, d = (one.ravel() for one in (here + k, there + k, there + (k + 1) % SIDES, here + (k + 1) % SIDES))
    faces = [np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)]
    if not closed:
        fan = np.stack([np.zeros(SIDES - 2, dtype=int), np.arange(1, SIDES - 1), np.arange(2, SIDES)], axis=1)
        faces += [fan, fan[:, ::-1] + (count - 1) * SIDES]
    return Mesh(vertices.reshape(-1, 3), np.concatenate(faces).astype(np.int64))
