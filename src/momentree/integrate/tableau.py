"""Butcher tableaux of explicit Runge-Kutta methods, which check themselves when they are made.

    k_i = f(t + c_i h, y + h sum_j a_ij k_j) ,   y1 = y0 + h sum_i b_i k_i

The coefficients of a row are a mapping from the number of a stage to its coefficient; the others are zero. Adaptive
methods evaluate f(t + h, y1) too, which is the first stage of the next step (FSAL, "first same as last"): it is stage
number s behind the s stages of the step, and error weights and dense output may use it. Stages that only dense output
needs come after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from momentree.errors import MomentreeError
from momentree.integrate.order_conditions import Array, ElementaryWeights, condition, elementary_weights, trees

Row = dict[int, float]
ROUND_OFF = 1e-13  # of sums, relative to that of their absolute values


@dataclass(frozen=True)
class Interpolant:
    """Dense output: the solution within a step, a polynomial in x = (t - t0) / h.

    | field  | meaning                                                                                       |
    |--------|-----------------------------------------------------------------------------------------------|
    | order  | up to which its order conditions hold at every x                                              |
    | rows   | d_ji, of each term the weights of the stages                                                  |
    | end    | the stage that is f(y1), where the polynomial is nested: see below                             |

        y(x) = y0 + h sum_j x^(j+1) sum_i d_ji k_i
        y(x) = y0 + x (F0 + (1 - x) (F1 + x (F2 + (1 - x) (F3 + ...))))                                   nested

    with F0 = y1 - y0, F1 = h k_0 - F0, F2 = 2 F0 - h (k_0 + f(y1)), F3 ... = h sum_i d_ji k_i.
    """

    order: int
    rows: tuple[Row, ...]
    end: int | None = None


@dataclass(frozen=True)
class Tableau:
    """The coefficients of one method.

    | field        | meaning                                                                                       |
    |--------------|-----------------------------------------------------------------------------------------------|
    | order        | of the solution                                                                               |
    | c, a         | nodes and coefficients of the stages; the first is f at the beginning of the step              |
    | b            | weights of the solution                                                                       |
    | errors       | weights of the estimates of the error over h, one or two; without them the step size is fixed  |
    | error_orders | up to which order each of them vanishes                                                       |
    | extra        | c and a of the stages that only dense output needs                                            |
    | dense        | dense output, if there is any                                                                 |
    """

    name: str
    order: int
    c: tuple[float, ...]
    a: tuple[Row, ...]
    b: Row
    errors: tuple[Row, ...] = ()
    error_orders: tuple[int, ...] = ()
    extra: tuple[tuple[float, Row], ...] = ()
    dense: Interpolant | None = None

    def __post_init__(self) -> None:
        check(self)

    @property
    def adaptive(self) -> bool:
        """Whether the step size is controlled."""
        return bool(self.errors)

    @property
    def stages(self) -> int:
        """Those of a step, without f at its end."""
        return len(self.c)


class ImplicitTableau(Tableau):
    """The coefficients of a method whose stages depend on one another.

    f at the beginning of the step is no stage of it, and enters the estimate of the error with weight 1.
    """


def check(tableau: Tableau) -> None:
    """Consistency, explicitness, order conditions, error weights and dense output; an error names the condition."""
    _check_form(tableau)
    explicit = not isinstance(tableau, ImplicitTableau)
    rows, nodes = list(tableau.a), list(tableau.c)
    if explicit:  # f at the end of the step, and the stages of dense output
        rows += [tableau.b, *(row for _, row in tableau.extra)]
        nodes += [1.0, *(node for node, _ in tableau.extra)]
        _check_explicit(tableau, rows)
    a = np.array([_full(row, len(rows)) for row in rows])
    orders = [tableau.order, *tableau.error_orders, *([tableau.dense.order] if tableau.dense else [])]
    weights = elementary_weights(a, max(orders))
    for i, (total, node) in enumerate(zip(a.sum(axis=1), nodes, strict=True)):
        is_end = explicit and i == tableau.stages  # its row is b: the order condition of order 1
        if not is_end and abs(total - node) > ROUND_OFF * (1 + np.abs(a[i]).sum()):
            _refuse(tableau, f"stage {i}: c_i = sum_j a_ij does not hold: c_i is {node:.12g}, the sum {total:.12g}")
    _check_order(tableau, "b", _full(tableau.b, len(rows))[None], weights[: tableau.order], np.ones((1, tableau.order)))
    for k, (error, order) in enumerate(zip(tableau.errors, tableau.error_orders, strict=True)):
        name = "e" if len(tableau.errors) == 1 else f"e{k}"
        if explicit:
            _check_order(tableau, [name], _full(error, len(rows))[None], weights[:order], np.zeros((1, order)))
        elif abs(sum(error.values()) + 1) > ROUND_OFF:
            _refuse(tableau, f"error weights: sum {name}_i is {sum(error.values()):.12g}, not -1")
    if tableau.dense:
        _check_dense(tableau, tableau.dense, weights)


def _check_form(tableau: Tableau) -> None:
    s, last = tableau.stages, tableau.stages + tableau.adaptive + len(tableau.extra)
    if not s or len(tableau.a) != s:
        _refuse(tableau, f"it has {s} nodes c, and {len(tableau.a)} rows a. Give one row for each stage")
    if len(tableau.errors) != len(tableau.error_orders) or len(tableau.errors) > 2:
        _refuse(tableau, "give one or two rows of error weights, and as many error_orders")
    if tableau.extra and not tableau.adaptive:
        _refuse(tableau, "stages of dense output come after f at the end of the step, which a fixed step does not have")
    if tableau.dense and tableau.dense.end not in (None, s):
        _refuse(tableau, f"dense output: f at the end of the step is stage {s}, not {tableau.dense.end}")
    named = {"b": [tableau.b], "e": tableau.errors, "d": tableau.dense.rows if tableau.dense else ()}
    for name, rows in named.items():
        beyond = [i for row in rows for i in row if not 0 <= i < (s if name == "b" else last)]
        if beyond:
            _refuse(tableau, f"{name}_{beyond[0]} is not zero, but there is no stage {beyond[0]}")


def _check_explicit(tableau: Tableau, rows: Sequence[Row]) -> None:
    for i, row in enumerate(rows):
        for j in row:
            if not 0 <= j < i:
                _refuse(tableau, f"a_ij = 0 for j >= i does not hold: stage {i} takes stage {j}, so it is not explicit")
    if tableau.adaptive and tableau.c[-1] == 1 and tableau.a[-1] == tableau.b:
        _refuse(tableau, "its last stage is f at the end of the step (FSAL), which is added anyway. Leave it out")


def _check_order(
    tableau: Tableau, names: Sequence[str], rows: Array, weights: Sequence[ElementaryWeights], expected: Array
) -> None:
    """sum_i b_i phi_i = expected / gamma for each row b (rows, stages) and all trees; `expected` is (rows, orders)."""
    for n, (phi, gamma) in enumerate(weights, start=1):
        sums, bounds = rows @ phi.T, 1 + np.abs(rows) @ np.abs(phi.T)
        wrong = np.abs(sums - np.multiply.outer(expected[:, n - 1], 1 / gamma)) > ROUND_OFF * bounds
        if wrong.any():
            row, tree = (int(k) for k in np.argwhere(wrong)[0])
            formula = condition(trees(n)[tree], names[row])
            value = f"1/{gamma[tree]:.0f}" if expected[row, n - 1] else "0"
            actual = f"it is {sums[row, tree]:.12g}"
            _refuse(tableau, f"order condition of order {n}: {formula} = {value} does not hold: {actual}")


def _check_dense(tableau: Tableau, dense: Interpolant, weights: Sequence[ElementaryWeights]) -> None:
    """sum_i b_i(x) phi_i = x^n / gamma for all trees of n nodes, power by power of x; and b_i(1) = b_i."""
    stages = weights[0].phi.shape[1]
    b = _full(tableau.b, stages)
    polynomial = _powers(dense, b)
    off = np.abs(polynomial.sum(axis=0) - b) > ROUND_OFF * (1 + np.abs(polynomial).sum(axis=0))
    if off.any():
        i = int(np.argmax(off))
        _refuse(tableau, f"dense output at x = 1: b_i(1) = b_i does not hold for stage {i}, so it does not end at y1")
    missing = max(0, dense.order - len(polynomial))  # powers of x that the order needs have weights too: zero
    polynomial = np.concatenate([polynomial, np.zeros((missing, stages))])
    names = [f"b(x)[x^{power}]" for power in range(1, len(polynomial) + 1)]
    _check_order(tableau, names, polynomial, weights[: dense.order], np.eye(len(polynomial), dense.order))


def _powers(dense: Interpolant, b: Array) -> Array:
    """b_i(x): of x, x^2, ... the weights of all stages."""
    rows = [_full(row, len(b)) for row in dense.rows]
    if dense.end is None:
        return np.array(rows)
    first, last = _full({0: 1.0}, len(b)), _full({dense.end: 1.0}, len(b))
    basis, total = np.array([1.0]), np.zeros((len(rows) + 3, len(b)))
    for j, row in enumerate([b, first - b, 2 * b - first - last, *rows]):
        basis = np.convolve(basis, [0.0, 1.0] if j % 2 == 0 else [1.0, -1.0])
        total[: len(basis) - 1] += np.multiply.outer(basis[1:], row)
    return total


def _full(row: Row, stages: int) -> Array:
    full = np.zeros(stages)
    for i, x in row.items():
        full[i] = x
    return full


def _refuse(tableau: Tableau, what: str) -> NoReturn:
    raise MomentreeError(f"tableau '{tableau.name}': {what}.")
