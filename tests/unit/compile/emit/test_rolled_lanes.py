"""Like bodies in the lanes of a vector: the bits of one after the other, with holes in any lane."""

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_loops, random_tree
from momentree.compile.emit import rolled_chunk_tables, rolled_costs
from momentree.compile.execute.choice import kernel_of
from momentree.compile.execute.kernel import Kernel, aligned
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import trace_rolled
from momentree.compile.trace.right_hand_sides import right_hand_side_code
from momentree.equations.formulations import FORMULATIONS
from rolled_systems import SIDE_BY_SIDE, SYSTEMS, arguments, binary_tree, legs, mixed_branches, results

WIDTHS = (2, 4, 8)
SAME = 1e-12  # of the largest entry of a row
EVERY_SYSTEM = SYSTEMS | SIDE_BY_SIDE


def code_of(system, what):
    if what in FORMULATIONS:
        return right_hand_side_code(system.mechanism, FORMULATIONS[what], "rolled")
    return trace_rolled(system.mechanism, what)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=SAME * np.abs(expected).max())


def check(system, whats, widths):
    for what in whats:
        code = code_of(system, what)
        expected = results(code.side_by_side(1), system, 3, 1)
        assert np.isfinite(expected).all(), what
        for lanes in widths:
            assert np.array_equal(results(code.side_by_side(lanes), system, 3, 1), expected), what


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_lanes_give_the_bits_of_one_body_after_the_other(name):
    check(SIDE_BY_SIDE[name](), ("forward_dynamics", "hamiltonian"), (4,))


@pytest.mark.long
@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("name", EVERY_SYSTEM)
def test_lanes_of_any_number_give_the_bits_of_one_body_after_the_other(name, lanes):
    whats = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "hamiltonian", "lagrange")
    check(EVERY_SYSTEM[name](), whats, (lanes,))


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "mass_matrix"])
@pytest.mark.parametrize("make", [lambda: legs(3, 3), lambda: binary_tree(4)], ids=["legs", "binary tree"])
def test_lanes_agree_with_straight_line_code(make, what, lanes):
    system = make()
    code = trace_rolled(system.mechanism, what).side_by_side(lanes)
    straight = kernel_of(system.mechanism, what, "straight-line")
    same(results(code, system, 3, 1), straight(arguments(code, system, 3)))


@pytest.mark.parametrize(("shuffles", "wide"), [(0, 100), (100, 100), (0, 0)], ids=["no shuffles", "all", "general"])
@pytest.mark.parametrize("make", [lambda: legs(5, 3), mixed_branches], ids=["legs", "mixed branches"])
def test_however_many_variants_there_are_the_bits_are_the_same(make, shuffles, wide, monkeypatch):
    monkeypatch.setattr(rolled_chunk_tables, "MOST_SHUFFLES", shuffles)
    monkeypatch.setattr(rolled_chunk_tables, "MOST_WIDE", wide)
    check(make(), ("forward_dynamics",), (4, 8))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_random_trees_of_every_joint(seed):
    random = np.random.default_rng(seed)
    kinds = list(random.permutation(EVERY_JOINT * 2 + ("Revolute",) * 20))
    check(random_tree(random, kinds, mt.Model("tree")).build(), ("forward_dynamics", "inverse_dynamics"), (4, 8))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_random_loops(seed):
    random = np.random.default_rng(seed)
    m, _ = random_loops(random, ["Revolute"] * 24 + ["Spherical"] * 6, ["Spherical", "Revolute", "Universal"])
    check(m.build(), ("hamiltonian",), (4, 8))


def called(code, system, memory):
    """The results of one row, from a function that works in this memory."""
    kernel, inputs, out = Kernel(code, 1, Target.host()), arguments(code, system, 1), np.empty(code.outputs)
    starts = np.array([each.ctypes.data for each in inputs], dtype=np.uint64)
    strides = np.zeros(len(inputs), dtype=np.int64)
    kernel.function(1)(starts.ctypes.data, strides.ctypes.data, out.ctypes.data, 0, 1, memory.ctypes.data)
    return out


def test_results_do_not_depend_on_what_the_memory_held():
    system = mixed_branches()
    code = trace_rolled(system.mechanism, "forward_dynamics").side_by_side(8)
    found = [called(code, system, np.full(code.scratch(1), content)) for content in (0.0, 1e300, np.nan)]
    assert np.isfinite(found[0]).all()
    assert all(np.array_equal(each, found[0]) for each in found)


@pytest.mark.parametrize("name", ["mixed branches", "12 four-bars", "random tree of 60"])
def test_lanes_without_a_body_hold_finite_numbers(name):
    system = SIDE_BY_SIDE[name]()
    code = code_of(system, "hamiltonian").side_by_side(8)
    memory, layout, seen = aligned(code.scratch(1)), code.layout(8), 0
    memory[:] = np.nan
    called(code, system, memory)
    for sweep, stride in enumerate(layout.storage.strides):
        slots = layout.storage.slots
        summed = {slots[s, key] for s, key in slots if s == sweep and key[0] == "+"}
        for at, chunk in enumerate(layout.chunks[sweep]):
            own = memory[layout.base(sweep, at) :][: stride * 8].reshape(stride, 8)
            with_bodies = own[:, [body >= 0 for body in chunk.lanes]]
            for slot in {*range(stride)} - summed:
                if len(chunk.bodies) > 1 and np.isfinite(with_bodies[slot]).all():
                    assert np.isfinite(own[slot]).all()
                    seen += not chunk.full
    assert seen


@pytest.mark.parametrize("skipped", range(8))
def test_memory_may_begin_anywhere(skipped):
    system = legs(3, 2)
    code = trace_rolled(system.mechanism, "forward_dynamics").side_by_side(8)
    memory = np.full(code.scratch(1) + 16, 7.0)
    out = called(code, system, memory[skipped:])
    assert np.array_equal(out, results(code, system, 1, 1)[0])
    assert (memory[:skipped] == 7.0).all()
    assert (memory[skipped + code.scratch(1) :] == 7.0).all()


def test_batches_keep_their_code():
    code = trace_rolled(legs(3, 2).mechanism, "forward_dynamics")
    assert code.side_by_side(8).text(4) == code.side_by_side(1).text(4)
    assert code.side_by_side(8).scratch(4) == code.side_by_side(1).scratch(4)


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_a_motion_goes_through_the_same_states(integrator, monkeypatch):
    monkeypatch.setenv("MOMENTREE_TEXTS", "off")
    states = []
    for prices in (rolled_costs.PRICES, {1: rolled_costs.PRICES[1]}):
        monkeypatch.setattr(rolled_costs, "PRICES", prices)
        system = legs(8, 6)
        run = system.simulate(system.start(), t_end=0.02, integrator=integrator)
        states.append(np.concatenate([run.q[-1], run.v[-1]]))
    assert np.array_equal(*states)
