"""Whether the motion is determined: every freedom of every joint must move some inertia."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from momentree.model.expressions import Expression
from momentree.model.joint import Coordinates
from momentree.spatial import RigidInertia
from momentree.structure.mechanism import TreeBody

SINGULAR = 1e-12  # least inertia along a freedom, as a part of the body's largest


def undetermined(bodies: Sequence[TreeBody]) -> Iterator[tuple[TreeBody, str]]:
    """Each body that its joint can move without moving inertia (A' M_c A singular), and what to say of it.

    M_c is the inertia of the body and of all that hangs on it, the joints further out locked somewhere. A' M_c A is the
    diagonal block of the mass matrix; where it is singular, no acceleration follows from the forces.
    """
    moving = [body for body in bodies if body.v.stop > body.v.start]
    weak = [body for body in moving if _weak_rate(body, body.inertia, body.connection.joint.reference())]
    if not weak:
        return
    random = np.random.default_rng(1)
    somewhere = {body.number: _somewhere(body, random) for body in bodies}
    composite = {body.number: body.inertia for body in bodies}
    for body in reversed(bodies):
        if body.parent:
            X = body.mount @ body.joint.placement(somewhere[body.number])
            composite[body.parent] = composite[body.parent] + X.inertia_to_parent(composite[body.number])
    for body in weak:
        rate = _weak_rate(body, composite[body.number], somewhere[body.number])
        if rate:
            yield body, _complaint(body, rate)


def _weak_rate(body: TreeBody, M: RigidInertia, q: Coordinates) -> str:
    """The rate along which there is no inertia; none if all is well, or known only once free parameters are."""
    columns = body.joint.axes(q).columns
    block = [[a @ (M @ b) for b in columns] for a in columns]
    if any(isinstance(entry, Expression) for row in block for entry in row):
        return ""
    size = max(abs(float(x)) for x in (M.mass, *M.h, *M.J))
    if len(block) == 1:
        return "" if block[0][0] > SINGULAR * size else body.connection.joint.rates[0]
    values, vectors = np.linalg.eigh(np.array(block, dtype=float))
    return "" if values[0] > SINGULAR * size else body.connection.joint.rates[int(np.abs(vectors[:, 0]).argmax())]


def _somewhere(body: TreeBody, random: np.random.Generator) -> tuple[float, ...]:
    joint = body.connection.joint
    return joint.integrate(joint.reference(), tuple(random.uniform(0.3, 1.2, len(joint.rates))))


def _complaint(body: TreeBody, rate: str) -> str:
    name = body.connection.name
    if body.inertia.mass == 0:
        return (
            f"has no mass, and nothing that hangs on it has inertia, so joint '{name}' moves nothing. Give it a mass."
        )
    return (
        f"joint '{name}' can move it along {rate} without moving any inertia, so that its motion is not determined. "
        "Give it inertia there (a slender rod has none about itself: give it a radius) or a joint with less freedom."
    )
