"""Programmes in machine code: every quantity is what the formulas give on floats."""

from __future__ import annotations

import numpy as np
import pytest

from momentree.compile.trace.programme_code import QUANTITIES, ExpressionSource, motion_code, quantity_kernel
from momentree.equations import programme
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.model.programme_description import described

GIVEN = ExpressionProgramme(
    described(
        "x y phi",
        ["x'*sin(phi) - y'*cos(phi) = k*t", "y^2 + phi = x"],
        velocity={"phi": "w*x"},
        gain="1 + t",
        mass=[["2 + x^2", "y/5", 0], ["y/5", 3, "sin(t)/4"], [0, "sin(t)/4", 2]],
        position_gain="k",
        parameters={"k": 0.3, "w": 1.5},
    )
)
SOURCE = ExpressionSource(GIVEN)


def flat(x):
    return [y for part in x for y in (flat(part) if isinstance(part, (list, tuple)) else [part])]


FORMULAS = {
    **QUANTITIES,
    "accelerations": programme.accelerations,
    "decay_matrix": lambda f, qd: programme.decay_matrix(f),
    "inertial_forces": lambda f, qd: programme.inertial_forces(f, qd, programme.accelerations(f, qd)),
}


@pytest.mark.parametrize("what", [*FORMULAS, "constraints"])
@pytest.mark.repeats(4)
def test_machine_code_gives_what_the_formulas_give_on_floats(what):
    random = np.random.default_rng(1)
    q, qd, t = random.normal(size=(9, 3)), random.normal(size=(9, 3)), random.normal(size=(9, 1))
    parameters = np.array([0.4, -1.1])
    rows = quantity_kernel(SOURCE, what)([q, qd, t, parameters])
    for k in range(9):
        values = GIVEN.values(q[k].tolist(), float(t[k, 0]), parameters.tolist())
        if what == "constraints":
            expected = flat(GIVEN.rows(values))
        else:
            expected = flat(FORMULAS[what](GIVEN.fields(values), qd[k].tolist()))
        assert rows[k] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_state_changes_by_velocities_and_accelerations():
    code = motion_code(SOURCE)
    assert code.arrays == (("y", 6), ("t", 1), ("parameters", 2))
    assert code.outputs == 6
    implicit = motion_code(SOURCE, differentiated=True)
    assert implicit.jacobian is not None
    assert {(0, 3), (1, 4), (2, 5)} <= {*implicit.pattern}
