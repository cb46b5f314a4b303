"""What the methods of a system give, in machine code, is what the sweeps give on floats: trees with everything."""

from __future__ import annotations

import numpy as np
import pytest

from agree.test_dynamics import SEEDS, loaded, near
from momentree.assembly.configuration_space import integrate
from momentree.equations import aggregative, articulated
from momentree.equations.evaluation import Evaluation


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_machine_code_agrees_with_the_sweeps_on_floats(seed):
    system, q, v, w, t = loaded(seed)
    m = system.mechanism
    near(system.mass_matrix(q, t), aggregative.mass_matrix(Evaluation(m, q, t)))
    near(system.bias(q, v, t), aggregative.inverse_dynamics(Evaluation(m, q, t), v, np.zeros(system.nv)))
    near(system.inverse_dynamics(q, v, w, t), aggregative.inverse_dynamics(Evaluation(m, q, t), v, w))
    near(system.forward_dynamics(q, v, w, t), articulated.forward_dynamics(Evaluation(m, q, t), v, w))


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_large_batch_is_the_loop_over_its_entries_to_the_last_bit(seed):
    system, q, v, w, t = loaded(seed)
    random = np.random.default_rng(seed)
    qs = np.stack([integrate(system.mechanism, q, random.standard_normal(system.nv)) for _ in range(9)])
    ts = t + random.uniform(0, 1, 1500)
    many = np.resize(qs, (1500, system.nq))
    found = system.forward_dynamics(many, v, w, ts)
    for i in (*range(20), 1498, 1499):
        np.testing.assert_array_equal(found[i], system.forward_dynamics(many[i], v, w, ts[i]))
