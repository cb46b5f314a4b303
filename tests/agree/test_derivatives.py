"""Derivatives in tangent space are those of Pinocchio: random chains, and every robot of example-robot-data."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import momentree as mt
from agree.peers import GRAVITY, Pinocchio, agree
from agree.test_published_urdfs import FILES, REFUSED, SHARE, followed
from mechanisms import random_body, random_configuration, random_frame, random_joint

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
CHAINS = {
    "arm": ["Revolute"] * 6,
    "floating": ["Free", "Revolute", "Spherical", "Prismatic"],
    "mixed": ["Spherical", "Screw", "Universal", "Planar"],
}


def blocks(matrix):
    """By q, by v, and by forces or accelerations."""
    return np.split(matrix, 3, axis=-1)


def of_pinocchio(model, q, v, last, forward):
    """The same three matrices, of forward or inverse dynamics."""
    data = model.createData()
    if forward:
        pin.computeABADerivatives(model, data, q, v, last)
        return data.ddq_dq, data.ddq_dv, data.Minv
    pin.computeRNEADerivatives(model, data, q, v, last)
    return data.dtau_dq, data.dtau_dv, np.triu(data.M) + np.triu(data.M, 1).T


@pytest.mark.parametrize("kinds", CHAINS.values(), ids=CHAINS)
def test_chains_have_the_derivatives_of_pinocchio(kinds):
    random, m = np.random.default_rng(len(kinds)), mt.Model("chain", gravity=GRAVITY)
    last = m.ground
    for i, kind in enumerate(kinds):
        body = random_body(random, m, f"b{i}")
        m.joint(f"j{i}", random_joint(random, kind), random_frame(random, last), random_frame(random, body))
        last = body
    system = m.build()
    peer = Pinocchio(system.mechanism)
    q, (v, tau) = random_configuration(random, system), random.standard_normal((2, system.nv))
    at, G, _ = peer.over(q)  # v_peer = G v, and so for steps: G is constant for these joints
    back = np.linalg.inv(G)
    theirs = of_pinocchio(peer.model, at, G @ v, back.T @ tau, forward=True)
    found = system.derivatives("forward_dynamics", space="tangent")(q, v, tau)
    for ours, expected, T in zip(blocks(found), theirs, (G, G, back.T), strict=True):
        assert agree(ours, back @ expected @ T, 1e-11)
    theirs = of_pinocchio(peer.model, at, G @ v, G @ tau, forward=False)
    found = system.derivatives("inverse_dynamics", space="tangent")(q, v, tau)
    for ours, expected in zip(blocks(found), theirs, strict=True):
        assert agree(ours, G.T @ expected @ G, 1e-12)


# --- published robots ---

ROBOTS = [file for file in FILES if file.suffix == ".urdf" and str(file) not in REFUSED]
NO_ROBOTS = "example-robot-data is not installed: pip install 'momentree[robots]'"


def bare(path, floating):
    """A robot as Pinocchio sees it: without limits, damping, friction, and couplings of joints."""
    model, *_ = followed(path, mimic="drop", floating=floating)
    none = dict.fromkeys(("limits", "stops", "damping", "armature"))
    model.joints = [dataclasses.replace(j, type=dataclasses.replace(j.type, **none)) for j in model.joints]
    model.torques.clear()
    model.couples.clear()
    return model.build()


@pytest.mark.long
@pytest.mark.skipif(not ROBOTS, reason=NO_ROBOTS)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("file", ROBOTS, ids=str)
def test_robots_have_the_derivatives_of_pinocchio(file, floating):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = bare(SHARE / file, floating)
    if not system.nv:
        pytest.skip("nothing moves")
    base = [pin.JointModelFreeFlyer()] if floating else []
    peer = pin.buildModelFromXML((SHARE / file).read_text(), *base)
    bodies = [body for body in system.mechanism.bodies if body.v.stop > body.v.start]
    names = ["root_joint" if body.joint.type.kind == "Free" else body.joint.name for body in bodies]
    if sorted(names) != sorted(peer.names[1:]):
        pytest.skip("joints that move no mass were fixed")
    # the velocities in Pinocchio's order
    joints = map(peer.getJointId, names)
    order = np.array([k for j in joints for k in range(peer.idx_vs[j], peer.idx_vs[j] + peer.nvs[j])])
    random, to = np.random.default_rng(3), np.argsort(order)
    step, (v, tau) = random.uniform(-0.6, 0.6, system.nv), random.standard_normal((2, system.nv))
    q, at = system.integrate(system.neutral, step), pin.integrate(peer, pin.neutral(peer), step[to])
    condition = np.linalg.cond(system.mass_matrix(q))  # that of icub is singular to 1e-9
    for what, forward, tolerance in (
        ("forward_dynamics", True, max(1e-10, 1e-15 * condition)),
        ("inverse_dynamics", False, 1e-13),
    ):
        found = system.derivatives(what, space="tangent")(q, v, tau)
        theirs = of_pinocchio(peer, at, v[to], tau[to], forward)
        for ours, expected in zip(blocks(found), theirs, strict=True):
            expected = expected[np.ix_(order, order)]
            assert np.abs(ours - expected).max() <= tolerance * max(np.abs(expected).max(), 1e-6)
