"""Phi x = b for a positive semi-definite Phi: the solver of loops (spatial/symmetric.py) with its usual delta."""

from __future__ import annotations

from momentree.spatial.symmetric import REGULARIZATION, semidefinite_solver


def solve_semidefinite(Phi, b):
    """x with Phi x = b for a Phi of any rank, the one with the least sum of Phi_kk x_k^2; x = 0 where Phi = 0."""
    return semidefinite_solver(Phi, [REGULARIZATION * Phi[i][i] for i in range(len(Phi))])(b)
