"""Order conditions of Runge-Kutta methods, one for each rooted tree (Hairer, Norsett and Wanner 1993, II.2).

    sum_i b_i phi_i(tree) = 1 / gamma(tree)

for all trees of up to `order` nodes. Every tree of more than one node is a smaller tree u with another one, v, grafted
onto its root:

    phi(u v) = phi(u) * (A phi(v)) ,   gamma(u v) = |u v| gamma(u) / |u| gamma(v)

Trees that arise in several ways are computed several times: to look for them would take more time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tree = tuple["Tree", ...]  # the branches at its root


class ElementaryWeights(NamedTuple):
    """Of all trees of one order: phi (trees, stages) and the densities gamma (trees,)."""

    phi: Array
    gamma: Array


def elementary_weights(a: Array, order: int) -> list[ElementaryWeights]:
    """Those of the trees of 1, 2, ... `order` nodes, for the coefficients a (stages, stages)."""
    weights = [ElementaryWeights(np.ones((1, len(a))), np.ones(1))]
    grafted = [weights[0].phi @ a.T]
    for n in range(2, order + 1):
        pairs = [(i, n - i) for i in range(1, n)]
        phi = [(weights[i - 1].phi[:, None] * grafted[j - 1][None]).reshape(-1, len(a)) for i, j in pairs]
        gamma = [np.multiply.outer(weights[i - 1].gamma * (n / i), weights[j - 1].gamma).reshape(-1) for i, j in pairs]
        weights.append(ElementaryWeights(np.concatenate(phi), np.concatenate(gamma)))
        grafted.append(weights[-1].phi @ a.T)
    return weights


def trees(order: int) -> list[Tree]:
    """The trees of one order, as `elementary_weights` has them."""
    by_order: list[list[Tree]] = [[()]]
    for n in range(2, order + 1):
        by_order.append([(*u, v) for i in range(1, n) for u in by_order[i - 1] for v in by_order[n - i - 1]])
    return by_order[order - 1]


def condition(tree: Tree, weight: str = "b") -> str:
    """The left side of an order condition: "sum b_i c_i a_ij c_j"."""
    letters = iter("jklmnopqrstuvw")

    def factors(branches: Tree, at: str) -> list[str]:
        names = []
        for branch in sorted(branches, key=len):
            if not branch:
                names.append(f"c_{at}")
                continue
            to = next(letters)
            names += [f"a_{at}{to}", *factors(branch, to)]
        return names

    return " ".join(["sum", f"{weight}_i", *factors(tree, "i")])
