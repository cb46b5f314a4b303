"""Coefficients of Radau IIA of order 5, and of the transformation that parts its linear systems."""

from __future__ import annotations

import math

from momentree.integrate.tableau import ImplicitTableau, Interpolant, Row

# --- coefficients: Hairer and Wanner 1996, IV.5 table 5.6 and IV.8 ---

_S = math.sqrt(6)
C = ((4 - _S) / 10, (4 + _S) / 10, 1.0)
A = (
    ((88 - 7 * _S) / 360, (296 - 169 * _S) / 1800, (-2 + 3 * _S) / 225),
    ((296 + 169 * _S) / 1800, (88 + 7 * _S) / 360, (-2 - 3 * _S) / 225),
    ((16 - _S) / 36, (16 + _S) / 36, 1 / 9),
)
A_INVERSE = (
    (2 + _S / 2, -6 / 5 + 29 * _S / 30, 2 / 5 - 4 * _S / 15),
    (-6 / 5 - 29 * _S / 30, 2 - _S / 2, 2 / 5 + 4 * _S / 15),
    (-1 + 8 * _S / 3, -1 - 8 * _S / 3, 5.0),
)
# T^-1 A^-1 T is gamma beside the block (alpha, -beta; beta, alpha)
GAMMA = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
ALPHA = 3 + (3 ** (1 / 3) - 3 ** (2 / 3)) / 2
BETA = (3 ** (5 / 6) + 3 ** (7 / 6)) / 2
T = (
    (0.09443876248897524, -0.14125529502095421, -0.03002919410514742),
    (0.25021312296533332, 0.20412935229379994, 0.38294211275726192),
    (1.0, 1.0, 0.0),
)
T_INVERSE = (
    (4.17871859155190428, 0.32768282076106237, 0.52337644549944951),
    (-4.17871859155190428, -0.32768282076106237, 0.47662355450055044),
    (-0.50287263494578682, 2.57192694985560522, -0.59603920482822492),
)
# the error, filtered: (gamma / h - J)^-1 (f(t, y) + sum_i e_i z_i / h)
E = ((-13 - 7 * _S) / 3, (-13 + 7 * _S) / 3, -1 / 3)


def _integrals() -> tuple[Row, ...]:
    """b_j(x), the integrals of Lagrange's polynomials to the nodes c: by the power of x, then by the stage."""
    rows: tuple[Row, ...] = ({}, {}, {})
    for j, c in enumerate(C):
        a, b = (other for other in C if other != c)
        below = (c - a) * (c - b)
        rows[0][j], rows[1][j], rows[2][j] = a * b / below, -(a + b) / 2 / below, 1 / 3 / below
    return rows


RADAU = ImplicitTableau(
    "radau",
    order=5,
    c=C,
    a=tuple(dict(enumerate(row)) for row in A),
    b=dict(enumerate(A[2])),
    # besides f at the beginning, which is no stage of this method
    errors=({j: sum(E[i] * A[i][j] for i in range(3)) for j in range(3)},),
    error_orders=(3,),
    dense=Interpolant(3, _integrals()),
)
