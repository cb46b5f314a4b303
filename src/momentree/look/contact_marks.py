"""Marks of contacts: the rim of a wheel or of a foot, and the ball that touches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from momentree.look import meshes
from momentree.look.meshes import Mesh
from momentree.look.scene import PALETTE, THICKNESS, Piece, Scene
from momentree.spatial.vector import Vector, normals
from momentree.structure.mechanism import Contact, Mechanism, TreeBody

Array = NDArray[np.float64]
FOOT = np.pi / 9  # rad: half of the arc that is drawn of a foot
ASIDE = 0.2  # of the radius: a center of mass farther from the center of a disc makes a foot of a wheel


def contact_pieces(mechanism: Mechanism, scene: Scene) -> Iterator[Piece]:
    """A piece for each contact of a body that has a radius; what lies farther than its shapes would not be seen."""
    for contact in mechanism.contacts:
        radius = float(contact.radius)
        if not contact.frame.body or radius <= 0:
            continue
        body = mechanism.bodies[contact.frame.body - 1]
        thick = min(THICKNESS * max(scene.size, radius), 0.2 * radius)
        center = _own(body, contact.frame.placement.offset)
        if contact.disc is None:
            mesh = meshes.ball(radius).placed(np.eye(3), center)
        else:
            mesh = _rim(contact, contact.disc, body, center, radius, thick)
        yield Piece(contact.name, "contact", body.number, mesh, PALETTE[(body.number - 1) % len(PALETTE)])


def _rim(contact: Contact, disc: Vector, body: TreeBody, center: Array, radius: float, thick: float) -> Mesh:
    """The whole rim of a wheel; of a foot, whose center of mass lies aside, an arc below it and the leg to it."""
    R = body.own.inverse().rotation @ contact.frame.placement.rotation
    n = np.array([*(R @ disc)], dtype=float)
    mass = body.inertia.mass
    com = _own(body, body.inertia.h / mass) if mass else center
    aside = com - center - n * float(n @ (com - center))
    if np.linalg.norm(aside) > ASIDE * radius:
        a = aside / np.linalg.norm(aside)
        angles = np.linspace(-FOOT, FOOT, 13)
    else:
        a = np.array([*normals(Vector(*n))[0]], dtype=float)
        angles = np.linspace(0, 2 * np.pi, 49)
    b = np.cross(n, a)
    points = center + radius * (np.cos(angles)[:, None] * a + np.sin(angles)[:, None] * b)
    parts = [meshes.rod(p, q, thick) for p, q in itertools.pairwise(points)]
    if len(angles) < 20:
        parts.append(meshes.rod(center, center + radius * a, thick))
    return meshes.joined(parts)


def _own(body: TreeBody, point: Vector) -> Array:
    """A point of a body, in the frame of it that the user knows."""
    return np.array([*body.own.inverse().point(point)], dtype=float)
