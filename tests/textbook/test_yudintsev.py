"""Yudintsev 2019: every example of the lecture, slide by slide.

V. V. Yudintsev, Structure of a mechanical system, lecture, Samara University, 27 February 2019. The slides have no
numbers and their figures are lost; their titles are cited, in English. What the text says of the figures fixes three
graphs: that of the definitions (six arcs, two loops), that of S and T, and that of the functions i+ and i-.
"""

import itertools

import numpy as np
import pytest

from momentree import Graph

# u2 joins s1 and s2 (Incidence); u4, u5, u6 make the cycle s3, s4, s2 (Walk); u3 joins s1 and s3 (Trail)
DEFINITIONS = Graph("0-1 1-2 1-3 3-4 4-2 2-3")
TREE = Graph("0-1 1-2 1-3 3-4")  # the columns of S (Incidence matrix S)
FUNCTIONS = Graph("0-1 1-2 0-3 3-4")  # Functions i+ and i-: arc 3 leaves body 0, another figure than that of S

S0 = [1, 0, 0, 0]
S = [[-1, 1, 1, 0], [0, -1, 0, 0], [0, 0, -1, 1], [0, 0, 0, -1]]
T = [[-1, -1, -1, -1], [0, -1, 0, 0], [0, 0, -1, -1], [0, 0, 0, -1]]


# ---- graph theory


def test_incidence():
    """u2 = (s1, s2): s1 and u2 are incident, s2 and u2 too."""
    assert DEFINITIONS.is_incident(1, 2)
    assert DEFINITIONS.is_incident(2, 2)
    assert not DEFINITIONS.is_incident(3, 2)


def test_adjacency():
    """Adjacent arcs are incident with one vertex, adjacent vertices with one arc."""
    assert DEFINITIONS.are_adjacent_arcs(2, 3)
    assert not DEFINITIONS.are_adjacent_arcs(1, 4)
    assert DEFINITIONS.are_adjacent(1, 2)
    assert not DEFINITIONS.are_adjacent(0, 2)


def test_walk():
    """s3, u4, s4, u5, s2, u6, s3 is a walk; it ends where it begins and no arc comes twice, so it is a cycle."""
    walk = DEFINITIONS.walk("s3, u4, s4, u5, s2, u6, s3")
    assert str(walk) == "s3, u4, s4, u5, s2, u6, s3"
    assert (walk.is_trail, walk.is_path, walk.is_circuit) == (True, False, True)


def test_trail():
    """s1, u3, s3, u4, s4 is a trail, and a simple one."""
    trail = DEFINITIONS.walk("s1, u3, s3, u4, s4")
    assert (trail.is_trail, trail.is_path, trail.is_closed) == (True, True, False)


def test_definitions():
    """Two vertices are connected if a simple trail joins them; a tree is connected and has no cycle."""
    assert DEFINITIONS.is_connected
    assert not DEFINITIONS.is_acyclic
    assert all(next(DEFINITIONS.all_paths(i, j)).is_path for i, j in itertools.product(range(5), repeat=2))
    assert TREE.is_tree
    assert not DEFINITIONS.is_tree
    apart = Graph("0-1 2-3")
    assert apart.is_acyclic
    assert not apart.is_connected
    assert not apart.is_tree


def test_removing_a_joint_of_each_loop_leaves_a_tree():
    """Systems with a closed structure: the arcs that are cut close the loops."""
    assert DEFINITIONS.cut == (5, 6)
    kept = [arc for a, arc in enumerate(DEFINITIONS.arcs.tolist(), 1) if a not in DEFINITIONS.cut]
    assert Graph(kept) == TREE


def test_weak_order_of_vertices():
    """s1 <= s2, s1 <= s4, but not s2 <= s4."""
    assert TREE.at_or_before(1, 2)
    assert TREE.at_or_before(1, 4)
    assert not TREE.at_or_before(2, 4)
    assert TREE.at_or_before(2, 2)
    assert not TREE.before(2, 2)


def test_preceding_arc():
    """u1 precedes s1, u4 precedes s4."""
    assert (TREE.preceding[1 - 1], TREE.preceding[4 - 1]) == (1, 4)


def test_preceding_vertex():
    """s1 precedes s2, s3 precedes s4."""
    assert (TREE.parents[2 - 1], TREE.parents[4 - 1]) == (1, 3)


# ---- proper numbering


def test_proper_numbering():
    """The arc that precedes s_k has the number k, the vertex that precedes it a smaller one."""
    for graph in (TREE, FUNCTIONS):
        assert graph.is_proper
        assert graph.preceding.tolist() == [1, 2, 3, 4]
        assert (graph.parents < [1, 2, 3, 4]).all()
    assert not Graph("0-2 2-1").is_proper


def test_construction_of_a_proper_numbering():
    """Leaves, all vertices but s0 with one arc, take the largest numbers n, n - 1, ..; cut off, and so on.

    The figure with the arbitrary numbering is lost: this one was numbered by hand.
    """
    graph = Graph("5-6 2-1 0-4 3-2 4-5 2-4")
    rounds = [(one.bodies, one.arcs, one.numbers) for one in graph.peeling]
    assert rounds == [((6, 3, 1), (1, 4, 2), (6, 5, 4)), ((5, 2), (5, 6), (3, 2)), ((4,), (3,), (1,))]
    assert graph.renumbered().arcs.tolist() == [[0, 1], [2, 1], [1, 3], [2, 4], [5, 2], [3, 6]]
    assert graph.renumbered().is_proper


# ---- description of the structure


def test_functions_i_plus_and_i_minus():
    """i+(1) = 0, i+(2) = 1, i+(3) = 0, i+(4) = 3; i-(1) = 1, i-(2) = 2, i-(3) = 3, i-(4) = 4."""
    assert FUNCTIONS.i_plus.tolist() == [0, 1, 0, 3]
    assert FUNCTIONS.i_minus.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("graph", [DEFINITIONS, TREE, FUNCTIONS])
def test_definition_of_the_incidence_matrix(graph):
    """S_ka = +1 if k = i+(a), -1 if k = i-(a), else 0; one +1 and one -1 in each column, of every graph."""
    for k, a in itertools.product(range(graph.n + 1), range(graph.m)):
        assert graph.S_full[k, a] == int(k == graph.i_plus[a]) - int(k == graph.i_minus[a])
    assert (np.sort(graph.S_full, axis=0)[[0, -1]].T == [-1, 1]).all()


def test_incidence_matrix():
    """As printed: row s0, then S."""
    assert TREE.S_full.tolist() == [S0, *S]
    assert TREE.S0.tolist() == S0
    assert TREE.S.tolist() == S


def test_matrix_T():
    """As printed, by its definition and as the inverse of S."""
    assert TREE.T.tolist() == T
    assert TREE.T_by_inversion.tolist() == T


@pytest.mark.parametrize("graph", [TREE, FUNCTIONS, Graph("1-0 1-2 3-1 3-4")])
def test_definition_of_T(graph):
    """+1 if u_a lies on the path from s_k to s0 and is directed to s0, -1 if from s0, else 0."""
    for a, k in itertools.product(range(1, graph.n + 1), repeat=2):
        path = graph.path_between(k, 0)
        sign = dict(zip(path.arcs, path.signs, strict=True)).get(a, 0)  # +1: passed on the way to s0 along the arc
        assert graph.T[a - 1, k - 1] == sign


# ---- properties of S and T


def test_only_the_first_entry_of_S0_differs_from_zero():
    """Of this graph; not of one with several bodies on s0, such as that of i+ and i-."""
    assert TREE.S0.tolist() == S0
    assert FUNCTIONS.S0.tolist() == [1, 0, 1, 0]


def test_first_row_of_T_is_minus_S01():
    assert (TREE.T[0] == -TREE.S0[0]).all()
    assert not (FUNCTIONS.T[0] == -FUNCTIONS.S0[0]).all()


@pytest.mark.parametrize("graph", [TREE, FUNCTIONS, DEFINITIONS])
def test_T_transposed_times_S0_transposed_is_minus_one(graph):
    assert (graph.T.T @ graph.S0 == -1).all()


@pytest.mark.parametrize("graph", [TREE, FUNCTIONS, DEFINITIONS])
def test_product_of_S_and_T(graph):
    """S T = T S = E, and the lecture's proof entry by entry: (T S)_ab = T_a,i+(b) - T_a,i-(b), where T_a0 = 0."""
    E = np.eye(graph.n)
    assert (graph.S @ graph.T == E).all()
    assert (graph.T @ graph.S == E).all()
    T_with_0 = np.column_stack([np.zeros(graph.n, dtype=int), graph.T])
    tree = np.array(graph.tree) - 1
    assert (T_with_0[:, graph.i_plus[tree]] - T_with_0[:, graph.i_minus[tree]] == E).all()


def test_exercise():
    """i+, i-, S and T before and after proper numbering; the figure is lost, so the laws are held on both."""
    given = Graph("2-0 2-3 1-3 4-2 3-5")
    assert not given.is_proper
    new = given.renumbered()
    assert new.is_proper
    body, arc = given.numbering
    assert (new.i_plus[arc - 1] == body[given.i_plus]).all()
    assert (new.i_minus[arc - 1] == body[given.i_minus]).all()
    assert (new.S[np.ix_(body[1:] - 1, arc - 1)] == given.S).all()
    assert (new.T[np.ix_(arc - 1, body[1:] - 1)] == given.T).all()
    assert (np.tril(new.S, -1) == 0).all(), "numbered properly, S is triangular"
