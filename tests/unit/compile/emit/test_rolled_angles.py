"""Angles of many bodies at once: the bits of one after the other, with the memory that they need."""

import numpy as np
import pytest

from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import trace_rolled
from momentree.compile.trace.right_hand_sides import right_hand_side_code
from momentree.equations.formulations import FORMULATIONS
from rolled_systems import SYSTEMS, chain, results

LANES = Target.host().lanes(0)


def test_every_hinge_of_a_chain_has_room_for_its_sine_and_cosine():
    code = trace_rolled(chain(6 * LANES + 1).mechanism, "forward_dynamics")
    at = code.storage.size
    assert sum(len(group.bodies) for group in code.angles) >= 3 * LANES
    for group, own in code.angles.items():
        assert own.room % LANES == 0
        assert len(group.bodies) <= own.room < len(group.bodies) + LANES
        assert own.at(own.angles.edges[0], False) == at
        at += own.size
    assert code.scratch(1) == code.storage.size + sum(each.size for each in code.angles.values())
    assert code.without_vectors().scratch(1) == code.storage.size


def test_few_bodies_find_their_angles_one_by_one():
    assert not trace_rolled(chain(LANES - 1).mechanism, "forward_dynamics").angles


def codes(system) -> dict[str, Rolled]:
    whats = ("forward_dynamics", "inverse_dynamics", "mass_matrix")
    return {
        **{what: trace_rolled(system.mechanism, what) for what in whats},
        **{
            name: right_hand_side_code(system.mechanism, FORMULATIONS[name], "rolled")
            for name in ("hamiltonian", "lagrange")
        },
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_lanes_of_bodies_change_no_bit(name):
    system, used = SYSTEMS[name](), []
    for what, code in codes(system).items():
        used.append(bool(code.angles))
        found = results(code, system, 3, 1)
        assert np.isfinite(found).all(), what
        assert np.array_equal(found, results(code.without_vectors(), system, 3, 1)), what
        assert "x double> @sincos" not in code.without_vectors().text(1)
    assert any(used) or name == "every joint"


@pytest.mark.parametrize("far", [3.0, 1e5, 1e9])
def test_one_angle_that_is_far_away_changes_none_of_its_neighbours(far):
    system = chain(2 * LANES + 3)
    code = trace_rolled(system.mechanism, "forward_dynamics")
    q = np.linspace(-1, 1, system.nq)
    q[LANES // 2] = far
    arrays = [q[None], q[None] / 3, q[None] / 7, np.zeros((1, 1))]
    found, alone = (Kernel(each, 1, Target.host())(arrays) for each in (code, code.without_vectors()))
    assert np.array_equal(found, alone)
