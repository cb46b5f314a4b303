"""Rolled code computes what straight-line code does, whatever the tree is made of."""

from __future__ import annotations

import math

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, random_body, random_configuration, random_frame, random_joint, random_tree
from momentree.compile.execute import choice
from momentree.compile.execute.choice import kernel_of
from momentree.compile.execute.kernel import WIDTHS
from momentree.compile.trace.functions import rolled_function, traced_function
from momentree.compile.trace.quantities import ARGUMENTS, QUANTITIES, trace, trace_rolled
from momentree.compile.trace.tape import edges_of
from momentree.equations import aggregative, articulated, coriolis, force_terms, hamiltonian
from momentree.equations.evaluation import Evaluation
from momentree.errors import MomentreeError

SAME = 1e-13  # of the largest entry
TAKES = {"inverse_dynamics": "qva", "forward_dynamics": "qva"}
TAKES |= {
    what: "".join(name for name in names if name != "t") for what, names in ARGUMENTS.items() if what not in TAKES
}


def same(found, expected, tolerance=SAME):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max(initial=1e-300))


def state(random, system, rows=None):
    """q, v, and accelerations or forces: one of each, or a batch of so many rows."""
    if rows is None:
        return {
            "q": random_configuration(random, system),
            **dict(zip("va", random.standard_normal((2, system.nv)), strict=True)),
        }
    each = [state(random, system) for _ in range(rows)]
    return {name: np.stack([one[name] for one in each]) for name in "qva"}


def loaded_tree(seed, times, wheels=10):
    """Every joint type so many times, with all that may act on a tree and move it."""
    random = np.random.default_rng(seed)
    m = mt.Model("many", gravity=tuple(random.uniform(-5, 5, 3)))
    m.parameter("k", 7.0)
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    for i in range(3):
        carrier = m.body(f"carrier{i}", mt.sphere(mass=1.0, radius=0.1))
        motion = mt.Cylindrical("z", motion=("0.3*sin(t)", f"{i}*t*(1 - t)"))
        m.joint(f"driver{i}", motion, random_frame(random, [m.ground, *m.bodies][i]), carrier)
    m = random_tree(random, list(random.permutation(EVERY_JOINT * times)), m)
    for i in range(wheels):
        wheel = m.body(f"wheel{i}", mt.cylinder(mass=f"0.1*k + {i}", radius=0.2, length=0.1))
        limits = (-0.1 * i, "0.02*k") if i % 3 else (-math.inf, 0.1 * i)
        hinge = mt.Revolute("y", spring=3.0 + i, rest=0.2, damping="0.1*k", limits=limits, stops=(20.0 + i, "0.3*k"))
        m.joint(f"hinge{i}", hinge, m.bodies[random.integers(len(m.bodies))].at((0, f"0.01*k*{i}", 0)), wheel)
    m.torque("hinge1", "sin(t) - 2*hinge1 + hinge2'*k")
    m.force(random_frame(random, m.bodies[5]), ("t", "1 + hinge3", 2), moment=(0.1, "hinge4'", 0), axes="body")
    m.force(random_frame(random, m.bodies[3]), (1, "cos(t)", -2), moment=(0, 0.3, 0))
    m.spring(random_frame(random, m.bodies[8]), random_frame(random, m.bodies[5]), "k", damping=2.0, rest=0.1)
    m.spring(m.ground.at((0, 0, 5)), random_frame(random, m.bodies[4]), 10.0, rest=0.5, tension_only=True)
    m.contact(random_frame(random, m.bodies[7]), stiffness="k", radius=6.0, damping=0.3, friction=0.5, slip="0.1*k")
    m.contact(m.bodies[6], random_frame(random, m.bodies[-1]), stiffness=2.0, law="hunt-crossley", radius=5.0, ball="k")
    return m, random


def chain(n, seed=0, joint=None):
    random = np.random.default_rng(seed)
    m = mt.Model("chain")
    end = m.ground
    for i in range(n):
        link = random_body(random, m, f"link{i}")
        m.joint(f"j{i}", joint or random_joint(random, "Revolute"), random_frame(random, end), link)
        end = link
    return m.build(), random


@pytest.mark.repeats(1)
@pytest.mark.parametrize("free", [(), ("k",)])
@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics"])
def test_rolled_and_straight_line_code_agree_on_trees_of_everything(what, free):
    m, random = loaded_tree(1, times=1, wheels=5)
    system = m.build(free=free)
    given = state(random, system)
    arrays = [*(given[name] for name in TAKES[what]), np.array([0.7]), *([np.array([6.5])] if free else [])]
    rolled, straight = (kernel_of(system.mechanism, what, code) for code in ("rolled", "straight-line"))
    same(rolled(arrays), straight(arrays))


PLAIN = {
    "mass_matrix": lambda m, q, t: np.ravel(aggregative.mass_matrix(Evaluation(m, q, t))),
    "inverse_mass_matrix": lambda m, q, t: np.linalg.inv(aggregative.mass_matrix(Evaluation(m, q, t))).ravel(),
    "coriolis_matrix": lambda m, q, v, t: np.ravel(coriolis.coriolis_matrix(Evaluation(m, q, t), v)),
    "aggregative_matrix": lambda m, q, v, t: np.ravel(coriolis.aggregative_matrix(Evaluation(m, q, t), v)),
    "coriolis_forces": lambda m, q, v, t: aggregative.first_form(Evaluation(m, q, t), v).b,
    "gravity_forces": lambda m, q, t: force_terms.gravity_forces(Evaluation(m, q, t)),
    "generalized_forces": lambda m, q, v, t: force_terms.generalized_forces(Evaluation(m, q, t), v),
    "generalized_momenta": lambda m, q, v, t: hamiltonian.momenta(Evaluation(m, q, t), v),
    "bias": lambda m, q, v, t: aggregative.second_form(Evaluation(m, q, t), v).b,
    "inverse_dynamics": lambda m, q, v, a, t: aggregative.inverse_dynamics(Evaluation(m, q, t), v, a),
    "forward_dynamics": lambda m, q, v, tau, t=0.0: articulated.forward_dynamics(Evaluation(m, q, t), v, tau),
}


@pytest.mark.repeats(1)
@pytest.mark.parametrize("what", QUANTITIES)
def test_rolled_code_agrees_with_the_plain_sweeps_on_a_large_tree_of_everything(what):
    m, random = loaded_tree(2, times=4)
    system = m.build()
    given = state(random, system)
    arrays = [given[name] for name in TAKES[what]]
    expected = np.array(PLAIN[what](system.mechanism, *arrays, 0.7))
    same(kernel_of(system.mechanism, what, "rolled")([*arrays, np.array([0.7])]), expected, 1e-12)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("what", QUANTITIES)
def test_every_width_of_rolled_code_computes_the_same(what, width):
    system, random = chain(12)
    given = state(random, system, 19)
    arrays = [*(given[name] for name in TAKES[what]), np.zeros(1)]
    rolled = kernel_of(system.mechanism, what, "rolled")
    rolled.width = width
    same(rolled(arrays), kernel_of(system.mechanism, what, "straight-line")(arrays))


@pytest.mark.parametrize("n", [1, 2, 9, 30])
def test_a_chain_of_any_length_is_rolled(n):
    system, random = chain(n)
    given = state(random, system)
    arrays = [*given.values(), np.zeros(1)]
    found = kernel_of(system.mechanism, "forward_dynamics", "rolled")(arrays)
    same(found, np.array(PLAIN["forward_dynamics"](system.mechanism, *given.values())))


def test_a_long_chain_is_rolled_by_itself_and_right():
    system, random = chain(300)
    given = state(random, system)
    vdot = system.forward_dynamics(*given.values())
    same(vdot, np.array(PLAIN["forward_dynamics"](system.mechanism, *given.values())))
    # and undone by inverse dynamics, and by the mass matrix
    same(system.inverse_dynamics(given["q"], given["v"], vdot), given["a"], 1e-8)
    M = system.mass_matrix(given["q"])
    same(M @ vdot + system.bias(given["q"], given["v"]), given["a"], 1e-8)
    same(M @ given["v"], np.array(aggregative.inertia_product(Evaluation(system.mechanism, given["q"]), given["v"])))


def test_the_text_of_rolled_code_does_not_grow_with_the_chain_but_for_its_tables():
    def instructions(n):
        text = trace_rolled(chain(n)[0].mechanism, "forward_dynamics").text(1)
        return sum(line.startswith("  ") for line in text.splitlines())

    assert instructions(200) == instructions(110)  # in each, the frames of some bodies do not slide


def boxes_on_hinges(n, axes):
    m = mt.Model("boxes on hinges")
    end = m.ground
    for i in range(n):
        box = m.body(f"box{i}", mt.box(mass=1.0, size=(0.3, 0.4, 1.0)))
        m.joint(f"j{i}", mt.Revolute(axes[i % len(axes)]), end, box.at((0, 0, 0.5)))
        end = box.at((0, 0, -0.5))
    return m.build()


@pytest.mark.parametrize(("axes", "more"), [("y", 1.0), ("xy", 1.08), ("xyz", 1.12)])
def test_a_body_takes_as_many_operations_as_in_straight_line_code(axes, more):
    """Planar motions, parallel and perpendicular axes and symmetric inertias spare operations in either.

    Of what a body hands on, rolled code computes all that any child needs: of U more than each of them does alone.
    """

    def straight_line(n):
        return len(trace(boxes_on_hinges(n, axes).mechanism, "forward_dynamics")[0].online())

    code = trace_rolled(boxes_on_hinges(90, axes).mechanism, "forward_dynamics")
    rolled = 0.0
    for p in code.passes:
        many = [group for group in p.groups if len(group.bodies) > 1]
        counts = [sum(bool(edges_of(g.tape.nodes[i])) for i in g.tape.live()) * len(g.bodies) for g in many]
        rolled += sum(counts) / sum(len(group.bodies) for group in many)
    assert rolled <= more * (straight_line(30) - straight_line(18)) / 12


def test_few_bodies_that_are_alike_do_not_get_code_of_their_own():
    system, _ = chain(50)
    groups = [len(p.groups) for p in trace_rolled(system.mechanism, "forward_dynamics").passes]
    assert max(groups) <= 4  # the first body, the last, all between, and one whose frame slides no farther


def test_what_nobody_reads_is_not_stored():
    system, _ = chain(20)
    code = trace_rolled(system.mechanism, "forward_dynamics")

    def fields(keys):
        return {key.split(".")[0] for _, key in keys}

    # placements matter to forces between bodies only, M* begins with constants
    assert fields(code.storage.slots) == {"X", "c", "bias_force", "K", "u_net"}
    # w and U = [w x][w x] are read by children, sums by the body itself: along a chain they are gone after the next one
    assert [fields(frames.places) for frames in code.storage.frames] == [{"w", "U"}, {"+M_star", "+bias_force"}, {"dv"}]
    assert [frames.at_a_time for frames in code.storage.frames] == [2, 2, 2]


def test_numbers_that_do_not_change_are_read_from_tables_again():
    code = trace_rolled(chain(20)[0].mechanism, "forward_dynamics")
    X = [key for _, key in code.storage.slots if key.startswith("X.")]
    assert len(X) == 2  # sine and cosine of the joint: the mount does not move
    columns = [{*group.data} for p in code.passes for group in p.groups if len(group.bodies) > 1]
    assert all(any(key.startswith(("X.", "mount.")) for key in data) for data in columns)


def test_zeros_of_a_plane_are_known():
    def sums(axis, offset):
        m = mt.Model("chain")
        body = m.ground
        for i in range(20):
            frame = body.at((1.0, 0, offset * i))
            body = m.body(f"rod {i}", mt.rod(mass=1.0, length=1.0))
            m.joint(f"J{i}", mt.Revolute(axis if i % 2 else "z"), frame, body)
        code = trace_rolled(m.build().mechanism, "forward_dynamics")
        return len(code.storage.frames[1].places)

    plane, space = sums("z", 0.0), sums("y", 0.1)
    assert plane <= 12 < space == 27


@pytest.mark.parametrize("what", QUANTITIES)
def test_the_choice_follows_size_unless_the_user_chooses(what, monkeypatch):
    kinds = []
    monkeypatch.setattr(choice, "_rolled", lambda *_: kinds.append("rolled"))
    monkeypatch.setattr(choice, "compile_tape", lambda *_, **__: kinds.append("straight-line"))
    small, large = chain(3)[0].mechanism, chain(60)[0].mechanism
    for mechanism, code in ((small, None), (large, None), (small, "rolled")):
        kernel_of(mechanism, what, code)
    assert kinds == ["straight-line", "rolled", "rolled"]


def test_the_user_may_choose_the_code():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    found = [m.build(code=code).forward_dynamics([0.3], [0.0]) for code in (None, "straight-line", "rolled")]
    same(found[1], found[0])
    same(found[2], found[0])
    with pytest.raises(MomentreeError, match=r"there is no code 'roled'. Did you mean 'rolled'"):
        m.build(code="roled")


def test_planes_of_all_directions_share_one_group():
    random = np.random.default_rng(5)
    m = mt.Model("planes")
    random_tree(random, ["Planar"] * 10, m)
    system = m.build()
    given = state(random, system)
    code = trace_rolled(system.mechanism, "forward_dynamics")
    assert len(code.passes[0].groups) <= 3
    found = kernel_of(system.mechanism, "forward_dynamics", "rolled")([*given.values(), np.zeros(1)])
    same(found, np.array(PLAIN["forward_dynamics"](system.mechanism, *given.values())), 1e-12)


def test_a_massless_carrier_has_no_inertia_of_its_own_in_rolled_code_either():
    m = mt.Model("carrier on a slider")
    before = m.ground
    for i in range(10):
        body = m.body(f"b{i}", massless=True) if i == 4 else m.body(f"b{i}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        joint = mt.Prismatic((1, 2, 3)) if i == 4 else mt.Revolute("xyz"[i % 3])
        m.joint(f"j{i}", joint, before.at((0.3, 0.1 * i, 0)), body)
        before = body
    q, v = np.random.default_rng(4).standard_normal((2, 10))
    straight, rolled = (m.build(code=code).forward_dynamics(q, v) for code in ("straight-line", "rolled"))
    same(rolled, straight, 1e-12)


# --- derivatives ---


def derivatives(function, by, tangent, arrays):
    """All of them, from machine code, in one of nine rows."""
    derivative = function.derivative(by, tangent)
    kernel = derivative.function.kernel(gives="column" if derivative.seeds else "")
    return kernel([np.stack([array] * 9) for array in arrays])[7].reshape(derivative.shape)


@pytest.mark.long
@pytest.mark.parametrize("tangent", [False, True])
def test_derivatives_of_rolled_code_are_those_of_straight_line_code_on_a_tree_of_everything(tangent):
    m, random = loaded_tree(1, times=1, wheels=5)
    system = m.build(free=["k"])
    given = state(random, system)
    arrays = [*(given[name] for name in "qva"), np.array([0.7]), np.array([6.5])]
    both = (make(system.mechanism, "forward_dynamics") for make in (rolled_function, traced_function))
    by = ("q", "v", "tau", "t", "parameters")
    same(*(derivatives(function, by, tangent, arrays) for function in both))
