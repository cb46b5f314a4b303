"""Constraints with one to many ends: the elimination finds what a dense solve with J M^-1 J' finds."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt
from mechanisms import random_body, random_frame, random_joint
from momentree.assembly.configuration_space import integrate
from momentree.equations import hamiltonian
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import place_body, records
from momentree.equations.loops.closing_step import loop_impulses
from momentree.equations.loops.constraint_rows import constraint_velocities
from momentree.equations.loops.records import with_constraints_at
from momentree.equations.sweeps import Record, Records
from momentree.spatial import ZERO, Force, Vector
from momentree.structure.elimination import ConstraintEnds, elimination_plan
from momentree.structure.reach import ConstraintReach, Reach, norm, reaches

PARENTS = (0, 0, 1, 2, 1, 4, 0)  # two branches on body 1, and body 6 by itself


def tree(random):
    """A small tree; every other joint is a hinge."""
    m = mt.Model("tree", gravity=(0, 0, 0))
    bodies = [m.ground]
    for number, parent in enumerate(PARENTS[1:], 1):
        bodies.append(random_body(random, m, f"b{number}"))
        kind = "Revolute" if number % 2 == 0 else str(random.choice(["Spherical", "Cylindrical", "Revolute"]))
        m.joint(f"j{number}", random_joint(random, kind), random_frame(random, bodies[parent]), bodies[-1])
    system = m.build()
    assert system.mechanism.parents == PARENTS
    return system


def random_rows(random, ends, count):
    """For each end, a wrench for each scalar constraint."""
    return [[Force(Vector(*x[:3]), Vector(*x[3:])) for x in random.standard_normal((count, 6))] for _ in ends]


class Solved:
    """The tree with momenta p and constraints, each given by its ends, the wrenches at each end, and biases."""

    def __init__(self, system, q, p, constraints):
        self.system, self.q, self.p, self.constraints = system, q, p, constraints
        mechanism = system.mechanism
        ends = [ConstraintEnds(len(bias), bodies) for bodies, _, bias in constraints]
        plan = elimination_plan(mechanism.parents, ends, fixed_ground=True)
        bounds = [
            ConstraintReach(
                tuple(tuple(Reach(norm(f.linear), norm(f.angular), ZERO) for f in end) for end in rows), 1.0
            )
            for _, rows, _ in constraints
        ]
        bodies = records(Evaluation(mechanism, q))
        for body, reach in zip(mechanism.bodies, reaches(mechanism.bodies, plan, bounds)[1:], strict=True):
            record = bodies[body.number]
            record.reach, record.free, record.p = reach, True, tuple(p[body.v])
        given = []
        for _, rows, bias in constraints:
            fields = {f"rows_on{end}": tuple(forces) for end, forces in enumerate(rows)}
            fields |= {"fixed_rows": tuple(rows[0]), "joint_type": mt.Fixed(), "drift": (0.0,) * len(bias)}
            given.append(Record(**fields, bias=tuple(bias), misfit=0.0))
        self.moving = with_constraints_at(bodies, given, plan, Records)
        for record in bodies[1:]:  # placed again, with the nodes
            for name in ("X", "X_0", "A"):
                del vars(record)[name]
        self.moving.outward(place_body)
        self.moving.locally(hamiltonian.begin)
        hamiltonian.find_closed_velocities(self.moving)
        self.u = np.concatenate([self.moving[body.number].u for body in mechanism.bodies])
        nodes = [(loop.node, len(loop.bias)) for loop in self.moving.constraints[1:]]
        self.eta = np.array([getattr(node, f"eta{i}") for node, count in nodes for i in range(count)])

    @property
    def jacobian(self):
        columns = []
        for unit in np.eye(self.system.nv):
            moving = records(Evaluation(self.system.mechanism, self.q), unit)
            parts = [
                sum(moving[body].v @ row for body, row in zip(bodies, at, strict=True))
                for bodies, rows, _ in self.constraints
                for at in zip(*rows, strict=True)
            ]
            columns.append(np.array(parts, dtype=float))
        return np.array(columns).T

    def agree(self):
        M, J = self.system.mass_matrix(self.q), self.jacobian
        bias = np.concatenate([bias for _, _, bias in self.constraints])
        eta = -np.linalg.solve(J @ np.linalg.solve(M, J.T), J @ np.linalg.solve(M, self.p) + bias)
        np.testing.assert_allclose(self.eta, eta, rtol=1e-8, atol=1e-9 * np.abs(eta).max())
        u = np.linalg.solve(M, self.p + J.T @ eta)
        np.testing.assert_allclose(self.u, u, rtol=1e-8, atol=1e-9 * np.abs(u).max())
        np.testing.assert_allclose(constraint_velocities(self.moving), -bias, atol=1e-8 * np.abs(u).max())
        forces = loop_impulses(self.system.mechanism, self.moving)
        np.testing.assert_allclose(np.array(forces, float), J.T @ eta, rtol=1e-8, atol=1e-9 * np.abs(J.T @ eta).max())


def started(seed):
    random = np.random.default_rng(seed)
    system = tree(random)
    q = np.concatenate([body.joint.type.reference() for body in system.mechanism.bodies])
    q = integrate(system.mechanism, q, random.uniform(-1, 1, system.nv))
    return random, system, q, random.standard_normal(system.nv)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "ends",
    [
        (3,),  # a single end, held by the ground
        (3, 5),
        (3, 5, 6),  # one in each branch, two of which join at body 1
        (2, 3, 6),  # one on the path of another
        (1, 2, 3, 4, 5, 6),
        (3, 0, 6),  # the ground itself
        (3, 3, 6),  # two at one body
    ],
)
@pytest.mark.repeats(7)
def test_a_constraint_with_any_number_of_ends(ends, seed):
    random, system, q, p = started(seed)
    Solved(system, q, p, [(ends, random_rows(random, ends, 2), random.standard_normal(2))]).agree()


@pytest.mark.parametrize("seed", range(3))
def test_coupled_constraints(seed):
    random, system, q, p = started(seed)
    ends = [(3, 5, 6), (2, 6), (5, 3), (1,)]
    rows = [random_rows(random, each, 1) for each in ends]
    Solved(system, q, p, [(e, r, random.standard_normal(1)) for e, r in zip(ends, rows, strict=True)]).agree()


@pytest.mark.parametrize("seed", range(3))
def test_gears_on_two_hinges_of_one_carrier(seed):
    """u_2 = ratio u_4: moments along two hinges and, on the carrier, their opposites; closed at the carrier."""
    _, system, q, p = started(seed)
    placed, ratio = records(Evaluation(system.mechanism, q)), 2.5
    carrier = placed[1].X_0.rotation
    on_wheels = [placed[2].A.columns[0].angular, placed[4].A.columns[0].angular * -ratio]
    on_carrier = ZERO
    for number, moment in zip((2, 4), on_wheels, strict=True):
        on_carrier = on_carrier - carrier.T @ (placed[number].X_0.rotation @ moment)
    rows = [[Force(ZERO, moment)] for moment in (*on_wheels, on_carrier)]
    solved = Solved(system, q, p, [((2, 4, 1), rows, np.zeros(1))])
    solved.agree()
    u_2, u_4 = (solved.u[system.mechanism.bodies[number - 1].v][0] for number in (2, 4))
    assert u_2 == pytest.approx(ratio * u_4, rel=1e-9)
    assert solved.moving[solved.moving.constraints[1].node.number].parent == 1
