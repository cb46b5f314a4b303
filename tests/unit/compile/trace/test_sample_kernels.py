"""Formulas of samples in machine code have the values that they have in floats, in the user's frames."""

from __future__ import annotations

import numpy as np

from momentree.compile.trace.sample_kernels import kernel_of_samples
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_reactions import joint_reactions
from parametric import FOUR_BAR, linkage


def reaction(at, v):
    return [*joint_reactions(at, v)["B"]]


def test_a_reaction_with_parameters_of_each_row():
    mechanism = linkage().build(free=["a", "m"]).mechanism
    kernel = kernel_of_samples(mechanism, reaction)
    q, v, a = np.array([[0.3, 0.4, 0.5]] * 2), np.array([[1.0, -1.0, 0.5]] * 2), np.array([[0.8, 2.0], [1.2, 3.0]])
    found = kernel([q, v, np.array([0.1]), a])
    for row, (length, mass) in enumerate(a.tolist()):
        own = linkage(**{**FOUR_BAR, "a": length, "m": mass}).build().mechanism
        expected = reaction(Evaluation(own, q[row], 0.1), v[row])
        np.testing.assert_allclose(found[row], expected, atol=1e-12 * np.abs(expected).max())


def test_none_where_code_would_be_long():
    mechanism = linkage().build().mechanism
    assert kernel_of_samples(mechanism, reaction, "rolled") is None
