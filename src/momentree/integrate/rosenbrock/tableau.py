"""Coefficients of Rosenbrock methods, which check themselves when they are made.

    (1 / (gamma h) - J) u_i = f(t + alpha_i h, y + sum_j a_ij u_j) + sum_j c_ij u_j / h + gamma_i h df/dt
    y1 = y0 + sum_i m_i u_i

as codes have them (Hairer and Wanner 1996, IV.7, 7.25), without a product of J and a vector. In the form in which the
order conditions are stated, with G the matrix of gamma_ij (gamma on its diagonal) and u = h G k,

    a = alpha G^-1 ,   c = 1 / gamma - G^-1 ,   m = b G^-1 .

The methods are stiffly accurate: the last two stages are taken where the step ends, and the last one is the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from momentree.errors import MomentreeError
from momentree.integrate.order_conditions import Array, condition
from momentree.integrate.rosenbrock.order_conditions import different_trees, elementary_weights
from momentree.integrate.tableau import ImplicitTableau, Interpolant, Row

Matrix = tuple[tuple[float, ...], ...]
ROUND_OFF = 4e-14  # of sums, relative to those of absolute values: coefficients are printed with 16 digits


@dataclass(frozen=True)
class Coefficients:
    """What is printed of a method.

    | field | meaning                                                                              |
    |-------|--------------------------------------------------------------------------------------|
    | gamma | on the diagonal of G                                                                 |
    | a, c  | of the stages behind the first, each row up to the diagonal                          |
    | nodes | alpha_i                                                                              |
    | times | gamma_i, the weights of df/dt                                                        |
    | dense | h_ji: y(x) = y0 + x (y1 - y0) + x (1 - x) sum_j x^j sum_i h_ji u_i                   |
    """

    gamma: float
    a: Matrix
    c: Matrix
    nodes: tuple[float, ...]
    times: tuple[float, ...]
    dense: Matrix

    @property
    def stages(self) -> int:
        return len(self.nodes)

    @property
    def weights(self) -> tuple[float, ...]:
        """m_i: those of the last stage, and 1 for that stage."""
        return (*self.a[-1], 1.0)

    @property
    def polynomial(self) -> Array:
        """The weights of u_i in y(x) - y0, for x, x^2, ...: x m + x (1 - x) (h_1 + x h_2 + ...)."""
        rows, none = np.array(self.dense), np.zeros((1, self.stages))
        polynomial: Array = np.concatenate([rows, none]) - np.concatenate([-np.array([self.weights]), rows])
        return polynomial

    def matrices(self) -> tuple[Array, Array]:
        """alpha and G, of the form in which order conditions are stated."""
        a, c = (_square(rows, self.stages) for rows in (self.a, self.c))
        G: Array = np.asarray(np.linalg.inv(np.eye(self.stages) / self.gamma - c), dtype=np.float64)
        return a @ G, G


@dataclass(frozen=True)
class RosenbrockTableau(ImplicitTableau):
    """A method: for linear systems the implicit Runge-Kutta method of its a, b and c; for others `coefficients`.

    Dense output takes the polynomial in x as it is recorded, power by power.
    """

    coefficients: Coefficients | None = None

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def of(
        cls, name: str, coefficients: Coefficients, order: int, error_order: int, dense_order: int
    ) -> RosenbrockTableau:
        """The method of these coefficients; orders are those of the solution, of the error, and of dense output."""
        alpha, G = coefficients.matrices()
        beta, b = alpha + G, np.array(coefficients.weights) @ G
        return cls(
            name,
            order,
            c=tuple(beta.sum(axis=1)),
            a=tuple(_row(row) for row in beta),
            b=_row(b),
            errors=(_row(G[-1]),),
            error_orders=(error_order,),
            dense=Interpolant(dense_order, tuple({j: 1.0} for j in range(len(coefficients.polynomial)))),
            coefficients=coefficients,
        )

    @property
    def used(self) -> Coefficients:
        assert self.coefficients is not None
        return self.coefficients


def _check(tableau: RosenbrockTableau) -> None:
    """Form, nodes, and the order conditions of the solution, of the error, and of dense output at every x."""
    k = tableau.used
    s, rows = k.stages, [len(row) for row in (*k.a, *k.c)]
    if rows != [*range(1, s), *range(1, s)] or len(k.times) != s or any(len(row) != s for row in k.dense):
        _refuse(tableau, f"it has {s} nodes. Give rows a and c of 1, 2, ... {s - 1} numbers, and {s} weights elsewhere")
    alpha, G = k.matrices()
    for names, sums, given in (("alpha", alpha.sum(axis=1), k.nodes), ("gamma", G.sum(axis=1), k.times)):
        for i, (total, x) in enumerate(zip(sums, given, strict=True)):
            if abs(total - x) > ROUND_OFF * 1e2:
                _refuse(tableau, f"stage {i}: the sum of {names}_ij is {total:.12g}, not {x:.12g}")
    if abs(k.nodes[-1] - 1) > ROUND_OFF or abs(k.nodes[-2] - 1) > ROUND_OFF or (*k.a[-2], 1.0) != k.a[-1]:
        _refuse(tableau, "it is not stiffly accurate: the last two stages are not taken where the step ends")
    assert tableau.dense is not None
    polynomial = k.polynomial
    powers = np.eye(len(polynomial), tableau.dense.order)
    wanted = [
        ("b", np.array([k.weights]), np.ones((1, tableau.order))),
        ("e", np.eye(1, s, s - 1), np.zeros((1, tableau.error_orders[0]))),
        *((f"b(x)[x^{j + 1}]", row[None], powers[j : j + 1]) for j, row in enumerate(polynomial)),
    ]
    weights = elementary_weights(alpha, alpha + G, max(expected.shape[1] for _, _, expected in wanted))
    for name, row, expected in wanted:
        for n in range(1, expected.shape[1] + 1):
            phi, gamma = weights[n - 1]
            sums, bounds = (row @ G @ phi.T)[0], (1 + np.abs(row) @ np.abs(G) @ np.abs(phi.T))[0]
            wrong = np.abs(sums - expected[0, n - 1] / gamma) > ROUND_OFF * bounds
            if wrong.any():
                tree = int(np.argmax(wrong))
                formula = condition(list(different_trees(n))[tree], name)
                value = f"{expected[0, n - 1]:.0f}/{gamma[tree]:.0f}, but is {sums[tree]:.15g}"
                _refuse(tableau, f"order condition of order {n}: {formula} should be {value}")


def _square(rows: Matrix, stages: int) -> Array:
    square = np.zeros((stages, stages))
    for i, row in enumerate(rows, start=1):
        square[i, :i] = row
    return square


def _row(numbers: Array) -> Row:
    return {j: float(x) for j, x in enumerate(numbers) if x}


def _refuse(tableau: RosenbrockTableau, what: str) -> NoReturn:
    raise MomentreeError(f"tableau '{tableau.name}': {what}.")
