"""The laws of structure: the lecture's matrices (Yudintsev 2019), Ivanov's arrays (2022), and graphs made at random."""

import itertools
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from momentree.errors import GraphError
from momentree.structure.graph import Cycle, Graph
from random_graphs import law

PRINTED = json.loads(Path(__file__).with_name("lecture_graphs.json").read_text(encoding="utf-8"))
GIVEN_BY_ARCS = [name for name, case in PRINTED.items() if "arcs" in case]
CONNECTED = [name for name in GIVEN_BY_ARCS if "T" in PRINTED[name]]
RENUMBERED = [name for name in CONNECTED if "proper_T" in PRINTED[name]]
GIVEN_BY_PARENTS = [name for name, case in PRINTED.items() if "k" in case]
MATRICES = ["S", "T", "Phi", "S_full", "epsilon"]


def printed(name):
    case = PRINTED[name]
    return Graph(case["arcs"], n=case["n"], weights=case.get("weights")), case


# ---- the printed matrices


@pytest.mark.parametrize("name", GIVEN_BY_ARCS)
def test_arcs_tree_and_diagnostics_are_as_printed(name):
    graph, case = printed(name)
    assert (graph.n, graph.m) == (case["n"], len(case["arcs"]))
    for what in ("arcs", "i_plus", "i_minus"):
        assert getattr(graph, what).tolist() == case[what]
    assert (list(graph.tree), list(graph.cut)) == (case["tree"], case["cut"])
    for what, value in case["diagnostics"].items():
        found = getattr(graph, what)
        assert (list(found) if isinstance(value, list) else found) == value


@pytest.mark.parametrize("name", CONNECTED)
def test_matrices_are_as_printed(name):
    graph, case = printed(name)
    for what in ("S0", "S", "T"):
        assert getattr(graph, what).tolist() == case[what]
    assert graph.Phi.T.tolist() == case["fundamental_cycles"]
    assert round(np.linalg.det(graph.S)) == case["det_S"]


@pytest.mark.parametrize("name", RENUMBERED)
def test_peeling_leaves_gives_the_proper_numbering(name):
    graph, case = printed(name)
    body_map, arc_map = graph.peel()
    assert body_map.tolist() == case["proper_vertex_map"]
    assert arc_map.tolist() == case["proper_arc_map"]
    peeled = Graph(body_map[graph.arcs[np.argsort(arc_map)]])
    assert peeled.arcs.tolist() == case["proper_arcs"]
    assert peeled.T.tolist() == case["proper_T"]
    assert peeled.is_proper


@pytest.mark.parametrize("name", RENUMBERED)
def test_a_proper_numbering_is_kept_although_peeling_would_change_it(name):
    graph, _ = printed(name)
    assert graph.is_proper
    assert graph.renumbered() == graph
    assert graph.numbering[0].tolist() == list(range(graph.n + 1))
    assert graph.numbering[1].tolist() == list(range(1, graph.m + 1))


def test_first_row_of_T_is_minus_S01_only_if_there_is_one_root():
    one_root, _ = printed("lecture_S_example")
    three_roots, _ = printed("star_three_roots")
    assert (one_root.T[0] == -one_root.S0[0]).all()
    assert not (three_roots.T[0] == -three_roots.S0[0]).all()


def test_six_bodies_in_arbitrary_numbering_are_peeled_round_by_round():
    # round 1: 6, 3, 1 -> 6, 5, 4; round 2: 5, 2 -> 3, 2; round 3: 4 -> 1
    graph = Graph([(5, 6), (2, 1), (0, 4), (3, 2), (4, 5), (2, 4)])
    body_map, arc_map = graph.peel()
    assert body_map.tolist() == [0, 4, 2, 5, 1, 3, 6]
    assert arc_map.tolist() == [6, 4, 1, 5, 3, 2]


def test_two_parallel_joints_close_a_loop():
    graph = Graph([(0, 1), (1, 2), (1, 2), (2, 1)])
    assert graph.parallel == ((2, 3, 4),)
    assert graph.cut == (3, 4)
    assert graph.Phi.T.tolist() == [[0, -1, 1, 0], [0, 1, 0, 1]]


# ---- Ivanov's arrays


@pytest.mark.parametrize("name", GIVEN_BY_PARENTS)
def test_k_gives_paths_and_children(name):
    case = PRINTED[name]
    graph = Graph.from_parents(case["k"])
    assert list(graph.k) == graph.parents.tolist() == case["k"]
    assert [list(P) for P in graph.P] == case["P"]
    assert [list(U) for U in graph.U] == case["U"]
    assert [graph.path(body) for body in range(1, graph.n + 1)] == list(graph.P), "arc and body share a number"
    assert list(graph.leaves) == case.get("leaves", [3, 4, 5, 6])
    assert graph.is_proper


def test_splitting_the_legs_of_the_walking_mechanism_gives_the_printed_epsilon():
    primary, _ = printed("ivanov_walker_primary")
    case = PRINTED["ivanov_walker_secondary"]
    secondary = primary.split([(3, 5), (4, 6)])
    assert list(secondary.k) == case["k"]
    assert secondary.epsilon.tolist() == case["epsilon"]
    assert secondary.images == ((5, 3), (6, 4))
    assert (primary.number_of_loops, secondary.number_of_loops) == (2, 0)
    assert primary.images == ()


def primary_of_figure_2(pre_image_of_7, pre_image_of_8):
    """Undo the split: arc 7 leaves body 2 and arc 8 leaves body 3 in the secondary graph."""
    k = PRINTED["ivanov_k"]["k"]
    return Graph([*zip(k[:6], range(1, 7), strict=True), (2, pre_image_of_7), (3, pre_image_of_8)])


def test_splitting_bodies_4_and_6_gives_the_secondary_graph_of_figure_2():
    case = PRINTED["ivanov_k"]
    secondary = primary_of_figure_2(4, 6).split([(4, 7), (6, 8)])
    assert list(secondary.k) == case["k"]
    assert secondary.epsilon.tolist() == case["epsilon"]
    assert secondary.images == ((7, 4), (8, 6))


def test_pre_images_that_make_no_double_arc_are_the_seven_candidates():
    tree = Graph.from_parents(PRINTED["ivanov_k"]["k"][:6]).arcs.tolist()

    def alone(arc):
        return arc[0] != arc[1] and not Graph([*tree, arc]).parallel

    pairs = itertools.permutations(range(1, 7), 2)
    candidates = [[i, j] for i, j in pairs if alone((2, i)) and alone((3, j))]
    assert candidates == PRINTED["ivanov_k"]["candidates_images_7_8"]
    assert [pair for pair in candidates if primary_of_figure_2(*pair).parallel] == [[3, 2]]


def test_epsilon_binds_the_ends_of_cut_arcs_after_the_images():
    graph = Graph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)])
    assert graph.epsilon.tolist() == [[0, 0, 1], [1, 0, -1]]
    half_split = graph.split([(3, 5)])
    assert half_split.cut == (4,)
    assert half_split.epsilon.tolist() == [[0, 0, 1, -1], [0, 0, 1, 0]]


def test_images_follow_their_bodies_into_another_numbering():
    secondary = Graph([(2, 1), (0, 2), (1, 3), (3, 2)]).split([(1, 1)])
    again = secondary.renumbered()
    body_map, _ = secondary.numbering
    assert body_map.tolist() == [0, 3, 1, 2, 4]
    assert (secondary.images, again.images) == (((4, 1),), ((4, 3),))
    assert (again.epsilon[:, body_map[1:] - 1] == secondary.epsilon).all()


def test_a_body_may_be_split_again():
    twice = printed("ivanov_walker_primary")[0].split([(3, 5)]).split([(4, 6)])
    assert twice == printed("ivanov_walker_primary")[0].split([(3, 5), (4, 6)])


def test_an_arc_that_must_be_cut_stays_cut_unless_it_is_moved():
    graph = Graph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)], cut=[2, 5])
    assert graph.split([(3, 5)]).cut == (2,)


# ---- laws, on random graphs


@law()
def test_T_is_the_inverse_of_S(graph):
    E = np.eye(graph.n)
    assert (graph.S @ graph.T == E).all()
    assert (graph.T @ graph.S == E).all()
    assert np.allclose(np.linalg.inv(graph.S), graph.T)
    assert round(abs(np.linalg.det(graph.S))) == 1
    assert (graph.T.T @ graph.S0 == -1).all()


@law()
def test_every_column_of_S_sums_to_zero_and_every_cycle_closes(graph):
    assert not graph.S_full.sum(axis=0).any()
    assert not (graph.S_full @ graph.Phi).any()
    tree, cut = np.array(graph.tree, dtype=int) - 1, np.array(graph.cut, dtype=int) - 1
    assert (graph.Phi[tree] == -graph.T @ graph.S_full[1:, cut]).all()
    assert (graph.Phi[cut] == np.eye(graph.number_of_loops)).all()
    assert graph.number_of_loops == graph.m - graph.n
    assert (graph.S_full[:, tree] == np.vstack([graph.S0, graph.S])).all()


@law()
def test_a_cycle_is_a_closed_walk_through_different_bodies(graph):
    for cycle in graph.cycles:
        assert (cycle.arcs[0], cycle.signs[0]) == (cycle.cut, 1)
        assert len(set(cycle.bodies)) == len(cycle.bodies) == len(set(cycle.arcs))
        at = cycle.bodies[-1]
        for arc, sign, body in zip(cycle.arcs, cycle.signs, cycle.bodies, strict=True):
            assert graph.arcs[arc - 1].tolist()[::sign] == [at, body]
            at = body


@law()
def test_the_tree_as_seen_from_the_external_body(graph):
    seen = {0}
    for body in graph.outward:
        parent, arc, sign = (int(x[body - 1]) for x in (graph.parents, graph.preceding, graph.direction))
        assert parent in seen
        assert graph.arcs[arc - 1].tolist()[::sign] == [body, parent]
        assert graph.path(body) == (*graph.path(parent), arc)
        assert graph.depth[body - 1] == len(graph.path(body)) == len(graph.P[body - 1])
        seen.add(body)
    assert seen == set(range(graph.n + 1))
    assert {child for children in graph.U for child in children} == seen - {0} - {
        body for body in seen if body and graph.k[body - 1] == 0
    }
    assert list(graph.leaves) == [body for body, children in enumerate(graph.U, 1) if not children]


@law()
def test_the_tree_is_the_lightest_so_that_the_heaviest_arcs_are_cut(graph):
    lightest = np.full((graph.n + 1, graph.n + 1), np.inf)
    for (i, j), weight in zip(graph.arcs, graph.weights, strict=True):
        lightest[min(i, j), max(i, j)] = min(weight, lightest[min(i, j), max(i, j)])
    least = minimum_spanning_tree(np.where(np.isinf(lightest), 0, lightest)).sum()
    assert graph.weights[np.array(graph.tree) - 1].sum() == least
    for cycle in graph.cycles:
        tree_arcs = [arc for arc in cycle.arcs if arc != cycle.cut]
        heaviest = max((graph.weights[arc - 1], arc) for arc in tree_arcs)
        assert heaviest < (graph.weights[cycle.cut - 1], cycle.cut), "ties keep the given order"


@law()
@pytest.mark.long
def test_renumbering_is_proper_and_permutes_T(graph):
    again = graph.renumbered()
    assert again.is_proper
    assert again.renumbered() is again
    assert (again.preceding == np.arange(1, graph.n + 1)).all()
    assert (again.parents < np.arange(1, graph.n + 1)).all()
    body_map, arc_map = graph.numbering
    tree = arc_map[np.array(graph.tree) - 1] - 1
    assert (again.T[np.ix_(tree, body_map[1:] - 1)] == graph.T).all()
    assert (again.arcs[arc_map - 1] == body_map[graph.arcs]).all(), "no arc is turned round"
    assert (again.weights[arc_map - 1] == graph.weights).all()
    assert list(again.cut) == list(range(graph.n + 1, graph.m + 1))
    assert again.cut == tuple(arc_map[np.array(graph.cut, dtype=int) - 1]), "in the old order"


@law()
def test_peeling_takes_off_the_leaves_round_by_round(graph):
    alive, number = {arc: set(graph.arcs[arc - 1].tolist()) for arc in graph.tree}, graph.n
    body_map, arc_map = graph.peel()
    while alive:
        at = {body: [arc for arc in alive if body in alive[arc]] for body in range(1, graph.n + 1)}
        for body in sorted((body for body in at if len(at[body]) == 1), reverse=True):
            assert (body_map[body], arc_map[at[body][0] - 1]) == (number, number)
            del alive[at[body][0]]
            number -= 1


@law()
@pytest.mark.long
def test_sparse_is_dense_without_the_zeros(graph):
    for which in MATRICES:
        assert (graph.sparse(which).toarray() == getattr(graph, which)).all()
        assert graph.sparse(which).nnz == np.count_nonzero(getattr(graph, which))
    assert (graph.sparse("S0").toarray() == [graph.S0]).all()


@law()
@pytest.mark.long
def test_splitting_at_every_cut_arc_gives_a_tree_that_epsilon_closes(graph):
    secondary = graph.split([(max(graph.arcs[arc - 1].tolist()), arc) for arc in graph.cut])
    assert secondary.number_of_loops == 0
    assert secondary.n == secondary.m == graph.m
    assert [image for image, _ in secondary.images] == list(range(graph.n + 1, graph.m + 1))
    assert {image for image, _ in secondary.images} <= set(secondary.leaves)
    assert not secondary.epsilon.sum(axis=1).any()


@law()
def test_what_the_user_insists_on_is_cut(graph):
    if graph.cycles:
        arc = graph.cycles[0].arcs[-1]
        assert arc in Graph(graph.arcs, n=graph.n, weights=graph.weights, cut=[arc]).cut


# ---- small and large


def test_a_graph_without_bodies():
    graph = Graph([])
    assert (graph.n, graph.m, graph.components, graph.number_of_loops) == (0, 0, 1, 0)
    assert graph.tree == graph.cut == graph.floating == graph.parallel == graph.roots == graph.leaves == ()
    assert graph.outward == graph.cycles == graph.k == graph.P == graph.U == graph.path(0) == ()
    assert graph.S.shape == graph.T.shape == graph.Phi.shape == (0, 0)
    assert graph.S_full.shape == (1, 0)
    assert graph.is_proper


@pytest.mark.long
def test_a_chain_of_a_hundred_thousand_bodies_is_numbered_but_not_written_out():
    n = 100_000
    number = np.concatenate([[0], 1 + np.random.default_rng(1).permutation(n)])
    graph = Graph(np.column_stack([number[:-1], number[1:]]))
    assert (graph.numbering[0][number] == np.arange(n + 1)).all()
    assert graph.sparse("S").nnz == 2 * n - 1
    for which in ("S", "T", "S_full"):
        with pytest.raises(GraphError, match=rf"{which}: .* too large .* sparse\('{which}'\)"):
            getattr(graph, which)
    with pytest.raises(GraphError, match=r"T: 5000050000 entries .* path"):
        graph.sparse("T")


def test_entries_leave_room_for_sums_along_long_paths():
    graph = Graph.from_parents(range(300))
    assert (graph.T.T @ graph.T)[-1, -1] == 300
    assert (graph.sparse("T").T @ graph.sparse("T"))[299, 299] == 300


def test_a_graph_does_not_change():
    graph = Graph([(0, 1), (1, 2)])
    with pytest.raises(AttributeError, match="never changes"):
        graph.n = 3
    for array in (graph.arcs, graph.i_plus, graph.weights, graph.parents, graph.S, graph.S0, *graph.numbering):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_given_arcs_are_copied():
    given_arcs = np.array([[0, 1], [1, 2]])
    graph = Graph(given_arcs)
    given_arcs[0] = 0, 2
    assert graph.arcs.tolist() == [[0, 1], [1, 2]]


def test_graphs_with_the_same_arcs_weights_and_cuts_are_equal():
    arcs = [(0, 1), (1, 2), (0, 2)]
    assert Graph(arcs) == Graph(np.array(arcs), cut=[3])
    assert hash(Graph(arcs)) == hash(Graph(np.array(arcs), cut=[3]))
    for other in (Graph(arcs, cut=[1]), Graph(arcs, n=3), Graph(arcs[:2]), Graph(arcs, weights=[1, 1, 2]), "arcs"):
        assert Graph(arcs) != other
    assert pickle.loads(pickle.dumps(Graph(arcs))) == Graph(arcs)


def test_repr_counts():
    assert repr(printed("fourbar")[0]) == "Graph(n=3, m=4, loops=1)"
    assert repr(printed("disconnected")[0]) == "Graph(n=3, m=2, loops=0, floating=2)"


def test_the_cycle_of_the_four_bar_is_walked_along_its_cut_arc():
    assert printed("fourbar")[0].cycles == (Cycle(cut=4, arcs=(4, 1, 2, 3), signs=(1, 1, 1, 1), bodies=(0, 1, 2, 3)),)


# ---- mistakes, and the way out


@pytest.mark.parametrize(
    ("arcs", "message"),
    [
        ([(0, 1), (1, 1)], r"^arc 2: self-loop at body 1\b"),
        ([(0, 1), (1, -2)], r"^arc 2: body -2 is negative"),
        ([(0, 1.5)], r"^arc 1: body 1.5 is not an integer"),
        ([(0, 1.0)], r"^arc 1: body 1.0 is not an integer"),
        ([(0, True)], r"^arc 1: body True is not an integer"),
        ([("0", "1")], r"^arc 1: body '0' is not an integer"),
        (np.array([[0.0, 1.0]]), r"^arc 1: body 0.0 is not an integer"),
        ([(0, 1), (1, 2, 3)], r"^arc 2: \(1, 2, 3\) is not a pair"),
        ([(0, 1), 2], r"^arc 2: 2 is not a pair"),
        ([(0, 1), (1, 5)], r"^arc 2: there is no body 5. Bodies are numbered 0 to 4"),
    ],
)
def test_a_faulty_arc_is_named(arcs, message):
    with pytest.raises(GraphError, match=message):
        Graph(arcs, n=4)


def test_all_faulty_arcs_are_named_at_once():
    with pytest.raises(GraphError, match=r"(?s)^arc 1: self-loop.*\narc 3: body -1"):
        Graph([(1, 1), (0, 1), (-1, 0)])
    with pytest.raises(GraphError, match=r"and 92 more$"):
        Graph([(1, 1)] * 100)


def test_a_body_number_beyond_all_bounds_is_refused():
    with pytest.raises(GraphError, match=r"^arc 1: there is no body 1000000000000\b"):
        Graph([(0, 10**12)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, r"^n: -1 is not a number of bodies"),
        ({"n": 2.0}, r"^n: 2.0 is not a number of bodies"),
        ({"weights": [1, 2]}, r"^weights: 2 for 3 arcs"),
        ({"weights": [1, 2, float("nan")]}, r"^weights: that of arc 3 is NaN"),
        ({"weights": ["free", 1, 1]}, r"^weights: .* are not numbers"),
        ({"cut": [4]}, r"^cut: there is no arc 4. Arcs are numbered 1 to 3"),
        ({"cut": [0]}, r"^cut: there is no arc 0"),
        ({"cut": [1.5]}, r"^cut: there is no arc 1.5"),
        ({"cut": [2, 3]}, r"^cut: without arc 2, body 2 would\b"),
        ({"cut": [1, 3]}, r"^cut: without arc 1, bodies 1, 2 would\b"),
    ],
)
def test_a_faulty_option_is_named(options, message):
    with pytest.raises(GraphError, match=message):
        Graph([(0, 1), (1, 2), (0, 2)], **options)


def test_a_cut_is_not_blamed_for_bodies_that_float_anyway():
    graph = Graph([(0, 1), (2, 3), (3, 2)], cut=[2])
    assert (graph.cut, graph.floating) == ((2,), (2, 3))
    with pytest.raises(GraphError, match="without arc 2, body 2 would not be connected"):
        Graph([(0, 1), (2, 3)], cut=[2])


@pytest.mark.parametrize(
    "what", ["parents", "preceding", "direction", "depth", "outward", "leaves", "k", "P", "U", "cycles"]
)
def test_a_tree_without_a_root_is_refused(what):
    with pytest.raises(GraphError, match=r"^bodies 2, 3: no path to the external body 0. Add an arc from 0"):
        getattr(printed("disconnected")[0], what)


@pytest.mark.parametrize("what", ["S0", "S", "T", "Phi", "is_proper", "numbering"])
def test_matrices_and_numbers_of_a_floating_part_are_refused(what):
    graph = Graph([(0, 1)], n=20)
    with pytest.raises(GraphError, match=r"^bodies 2, 3, 4, 5, 6, 7, 8, 9 and 11 more: no path"):
        getattr(graph, what)
    for call in (graph.peel, graph.renumbered, lambda: graph.path(2), lambda: graph.sparse("T")):
        with pytest.raises(GraphError, match="no path"):
            call()


def test_incidence_exists_for_every_graph():
    assert printed("disconnected")[0].S_full.tolist() == [[1, 0], [-1, 0], [0, 1], [0, -1]]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(3, 2)], r"^split \(3, 2\): arc 2 is not at body 3. It joins bodies 1 and 2"),
        ([(3, 7)], r"^split \(3, 7\): there is no arc 7"),
        ([(0, 1)], r"^split \(0, 1\): the external body has no image. .* body 1\b"),
        ([(3, 5), (2, 5)], r"^split \(2, 5\): arc 5 is moved twice"),
        ([(1, 1)], r"^split: with arcs \[1\] moved, bodies 1, 2, 3, 4 would\b"),
    ],
)
def test_a_faulty_split_is_named(pairs, message):
    with pytest.raises(GraphError, match=message):
        printed("ivanov_walker_primary")[0].split(pairs)


def test_an_unknown_matrix_or_body_is_named():
    graph = printed("fourbar")[0]
    with pytest.raises(GraphError, match=r"there is no matrix 'phi'. Did you mean 'Phi'\?"):
        graph.sparse("phi")
    with pytest.raises(GraphError, match="there is no body 4; bodies are numbered 0 to 3"):
        graph.path(4)
