"""Coefficients of Radau IIA of orders 5 and 9, and of the transformations that part their linear systems."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from momentree.integrate.tableau import ImplicitTableau, Interpolant, Row

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Coefficients:
    """Of a method with s stages.

    | field          | meaning                                                                                |
    |----------------|----------------------------------------------------------------------------------------|
    | c, a           | as in a tableau                                                                        |
    | a_inverse      | the inverse of the matrix a                                                            |
    | gamma, pairs   | its real eigenvalue, and alpha, beta of each pair of complex ones alpha +- i beta      |
    | transformation | T: T^-1 A^-1 T is gamma beside blocks (alpha, -beta; beta, alpha)                      |
    | inverse        | T^-1                                                                                   |
    | error          | e: (gamma / h - J)^-1 (f(t, y) + sum_i e_i z_i / h) is the error, filtered             |
    | iterations     | of Newton, at most                                                                     |
    | strictness     | Newton's iteration leaves rtol to this power, as a part of the tolerance               |
    """

    c: tuple[float, ...]
    a: Matrix
    a_inverse: Matrix
    gamma: float
    pairs: tuple[tuple[float, float], ...]
    transformation: Matrix
    inverse: Matrix
    error: tuple[float, ...]
    iterations: int
    strictness: float


@dataclass(frozen=True)
class RadauTableau(ImplicitTableau):
    """Radau IIA, with what its Newton iteration needs."""

    coefficients: Coefficients | None = None

    @classmethod
    def of(cls, name: str, coefficients: Coefficients) -> RadauTableau:
        """The method of these coefficients, of order 2 s - 1; the error vanishes up to order s."""
        s, a, e = len(coefficients.c), coefficients.a, coefficients.error
        return cls(
            name,
            order=2 * s - 1,
            c=coefficients.c,
            a=tuple(dict(enumerate(row)) for row in a),
            b=dict(enumerate(a[-1])),
            # besides f at the beginning, which is no stage of this method
            errors=({j: sum(e[i] * a[i][j] for i in range(s)) for j in range(s)},),
            error_orders=(s,),
            dense=Interpolant(s, _integrals(coefficients.c)),
            coefficients=coefficients,
        )

    @property
    def used(self) -> Coefficients:
        assert self.coefficients is not None
        return self.coefficients


def _integrals(c: tuple[float, ...]) -> tuple[Row, ...]:
    """b_j(x), the integrals of Lagrange's polynomials to the nodes c: by the power of x, then by the stage."""
    rows: tuple[Row, ...] = tuple({} for _ in c)
    for j, node in enumerate(c):
        others = [x for x in c if x != node]
        powers = np.poly(others)[::-1] / math.prod(node - x for x in others)
        for k, x in enumerate(powers):
            rows[k][j] = float(x) / (k + 1)
    return rows


# --- order 5: Hairer and Wanner 1996, IV.5 table 5.6 and IV.8 ---

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


RADAU = RadauTableau.of(
    "radau", Coefficients(C, A, A_INVERSE, GAMMA, ((ALPHA, BETA),), T, T_INVERSE, E, iterations=7, strictness=0.5)
)

# --- order 9: from the definitions in 60 digits; the tests check all of them ---

ORDER_9 = Coefficients(
    c=(0.05710419611451768, 0.2768430136381238, 0.5835904323689168, 0.8602401356562195, 1.0),
    a=(
        (0.07299886431790333, -0.02673533110794557, 0.018676929763984353, -0.01287910609330644, 0.005042839233882015),
        (0.15377523147918246, 0.14621486784749352, -0.03644456890512809, 0.02123306311930472, -0.007935579902728777),
        (0.14006304568480987, 0.29896712949128346, 0.16758507013524895, -0.03396910168661774, 0.010944288744192253),
        (0.14489430810953477, 0.2765000687601592, 0.32579792291042103, 0.12875675325490976, -0.015708917378805327),
        (0.14371356079122594, 0.28135601514946207, 0.31182652297574126, 0.22310390108357075, 0.04),
    ),
    a_inverse=(
        (8.755923977938362, 2.8919426153801173, -0.8751863962002651, 0.3997052079399655, -0.13370616384921583),
        (-7.161380720145387, 1.8060777240836443, 2.3637971760686085, -0.8659007802831346, 0.2743380777751942),
        (4.122165246243374, -4.4960171258133945, 0.8567652453971776, 2.5183209492110645, -0.6570627571343601),
        (-3.8786632197240105, 3.3931519180649543, -5.188340906407187, 0.5812330525808164, 2.809983655279712),
        (8.41242422359429, -6.970256116656661, 8.777114204150473, -18.2192823110881, 13.0),
    ),
    gamma=6.2867047517292765,
    pairs=((5.70095329867179, 3.2102656003085497), (3.655694325463572, 6.543736899360077)),
    transformation=(
        (0.013576867344947943, -0.011478515255229515, -0.01401985889287541, -0.010242047817908826, 0.04767387729029572),
        (0.0016179004017190875, -0.007668830749180163, 0.024708578426518527, 0.05017286451737106, -0.09433181918161143),
        (0.07915785334744721, 0.01939846399882895, 0.08180035370375117, -0.23053953404341795, 0.1027030453801259),
        (0.41225608268046143, 0.40760117128019907, 0.19968242788680252, 0.37789390224886127, 0.46674413033249434),
        (1.0, 1.0, 0.0, 1.0, 0.0),
    ),
    inverse=(
        (27.697693775684087, 12.783337911304406, 3.20848938671343, -0.9514904122489162, 0.7415504960259897),
        (-33.041880213519, -17.376953479063566, -0.17212906325400557, -0.09916977798254265, 0.5312281158383066),
        (-8.611443979875292, 9.699991409528808, 1.9147286396968743, 2.41869200608494, -1.0474634879353375),
        (5.344186437834912, 4.593615567759161, -3.0363603234594243, 1.050660190231459, -0.27277861186429625),
        (3.748059807439805, -3.984965736343885, -1.0444156416080188, 1.1840985681379486, -0.44991777015678036),
    ),
    error=(-27.78093394406464, 3.641478498049213, -1.2525477211691187, 0.5920031671845428, -0.2),
    iterations=10,
    strictness=1 / 3,
)
RADAU9 = RadauTableau.of("radau9", ORDER_9)
