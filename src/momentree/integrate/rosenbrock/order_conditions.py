"""Order conditions of Rosenbrock methods, one for each rooted tree (Hairer and Wanner 1996, IV.7).

    sum_i b_i phi_i(tree) = 1 / gamma(tree)

as for Runge-Kutta methods, but the weights of the stages depend on the branches at the root of a tree. Where there is
one, the Jacobian of the linear systems takes part: beta = alpha + gamma. Where there are more, it does not:

    phi_i([u]) = sum_j beta_ij phi_j(u) ,   phi_i([u, v, ...]) = sum_j alpha_ij phi_j(u) sum_j alpha_ij phi_j(v) ...
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from momentree.integrate.order_conditions import Array, ElementaryWeights, Tree, trees


def elementary_weights(alpha: Array, beta: Array, order: int) -> list[ElementaryWeights]:
    """Those of the trees of 1, 2, ... `order` nodes: of each tree once."""
    found = []
    for n in range(1, order + 1):
        different = list(different_trees(n))
        phi = np.array([_weights(tree, alpha, beta) for tree in different])
        found.append(ElementaryWeights(phi, np.array([float(density(tree)) for tree in different])))
    return found


def different_trees(order: int) -> Iterator[Tree]:
    """The trees of one order, their branches sorted: 1, 1, 2, 4, 9, 20, ... of them."""
    yield from sorted({_sorted(tree) for tree in trees(order)})


def density(tree: Tree) -> int:
    """gamma: the nodes of the tree, times those of all its subtrees."""
    return size(tree) * math.prod(density(branch) for branch in tree)


def size(tree: Tree) -> int:
    """How many nodes it has."""
    return 1 + sum(size(branch) for branch in tree)


def _sorted(tree: Tree) -> Tree:
    return tuple(sorted(_sorted(branch) for branch in tree))


def _weights(tree: Tree, alpha: Array, beta: Array) -> Array:
    product = np.ones(len(alpha))
    for branch in tree:
        product = product * ((beta if len(tree) == 1 else alpha) @ _weights(branch, alpha, beta))
    return product
