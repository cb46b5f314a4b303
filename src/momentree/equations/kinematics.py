"""Where the bodies are and how they move: two outward steps on any scalar."""

from __future__ import annotations

from collections.abc import Mapping

from momentree.equations.sweeps import Fields, Record, outward
from momentree.model.expressions import Reference
from momentree.model.joints import Coordinates, Free
from momentree.model.values import TIME
from momentree.spatial import REST, Scalar, Transform
from momentree.structure.mechanism import Laws, Mechanism


def place(body: Record, parent: Record) -> Fields:
    """C of the body (X from its parent) and its placement in inertial space (X_0)."""
    X = body.mount @ body.joint.placement(body.q)
    return {"X": X, "X_0": parent.X_0 @ X, "A": body.joint.axes(body.q)}


def carry_velocity(body: Record, parent: Record) -> Fields:
    """v = C v_parent + A u, Ivanov 2022 (1); u of a prescribed joint is known and makes v^r."""
    return {"v": body.X.motion(parent.v) + body.A @ body.u}


def records(
    mechanism: Mechanism,
    q: Coordinates,
    u: Coordinates | None = None,
    t: Scalar = 0.0,
    parameters: Mapping[Reference, Scalar] | None = None,
) -> list[Record]:
    """One record for the ground and each body, placed (`X_0`) and, where rates u are given, moving (`v`).

    | argument   | shape | meaning                                            |
    |------------|-------|----------------------------------------------------|
    | q, u       | nq, nv | coordinates and rates of the tree (NOTATION.md)   |
    | t          |       | time (s), for prescribed joints and moving ground  |
    | parameters |       | values of the free parameters in motion laws       |
    """
    now = {TIME: t, **(parameters or {})}
    found = [_ground(mechanism, now)]
    for body in mechanism.bodies:
        if body.laws is None:
            at, rate = tuple(q[body.q]), () if u is None else tuple(u[body.v])
        else:
            at, rate = body.connection.joint.prescribed(*_at(body.laws, now))
        found.append(Record(number=body.number, parent=body.parent, mount=body.mount, joint=body.joint, q=at, u=rate))
    outward(found, place)
    if u is not None:
        outward(found, carry_velocity)
    return found


def _ground(mechanism: Mechanism, now: Mapping[Reference, Scalar]) -> Record:
    if mechanism.ground is None:
        return Record(number=0, X_0=Transform(), v=REST)
    motion = Free()
    q, u = motion.prescribed(*_at(mechanism.ground, now))
    return Record(number=0, X_0=motion.placement(q), v=motion.axes(q) @ u)


def _at(laws: Laws, now: Mapping[Reference, Scalar]) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    return tuple(law.evaluate(now) for law in laws.values), tuple(rate.evaluate(now) for rate in laws.rates)
