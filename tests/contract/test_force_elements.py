"""The contract of force elements: every kind of the library, that of the docs, and four of tests, in every room.

No kind is named here: those of the library are found by their classes, elements come from `random`.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
from types import SimpleNamespace
from typing import get_type_hints

import numpy as np
import pytest
import sympy as sp

import momentree as mt
from force_kinds import KINDS, ONLY_HERE, Trial, free_numbers, frozen_trial, skew_arm, state
from momentree.equations.articulated import forward_dynamics
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import ends_of, names_of
from momentree.equations.joint_frames import in_joint_frames
from momentree.equations.kinematics import records
from momentree.equations.newton_euler import inverse_dynamics
from momentree.equations.shared_parameters import shared_parameters
from momentree.equations.work_terms import work_terms
from momentree.files import model_files
from momentree.spatial import Force, Rotation, Transform, Vector
from momentree.spatial.dual import Dual, derivative
from momentree.spatial.moving_frame import MovingFrame
from momentree.structure.force_element import total_power
from momentree.structure.frozen_force_elements import FROZEN
from momentree.structure.maximal_coordinates import in_maximal_coordinates
from momentree.structure.parts import frames_of, laws_in, with_numbers
from momentree.structure.programme_mechanism import unloaded
from momentree.structure.separate_bodies import separate_bodies
from momentree.structure.welds import without_welds

every_kind = pytest.mark.parametrize("kind", [*KINDS, *ONLY_HERE], ids=lambda kind: kind.__name__)
tree_and_loop = pytest.mark.parametrize("loop", [False, True], ids=["tree", "loop"])


@pytest.fixture(autouse=True)
def trials_are_frozen(monkeypatch):
    monkeypatch.setitem(FROZEN, "trials", frozen_trial)


def at_a_state(kind, seed=0):
    """An element, its frames as they move, and the names of laws."""
    system = skew_arm(kind, seed).build()
    q, v, t = state(system, seed)
    at = Evaluation(system.mechanism, q, t)
    moving = records(at, v)
    (element,) = system.mechanism.elements
    return element, ends_of(element, moving), names_of(at, moving), moving


# --- every kind is known where kinds are entered ---


def test_every_kind_is_frozen_from_a_list_of_the_model():
    frozen = {name: get_type_hints(how)["return"] for name, how in FROZEN.items() if name != "trials"}
    assert {*frozen.values()} == {*KINDS}
    assert {*frozen} <= {*vars(mt.Model("m"))}


@pytest.mark.parametrize("collection", FROZEN)
def test_every_kind_goes_to_a_file_and_back_and_is_missed_in_a_robot_file(collection, tmp_path, monkeypatch):
    monkeypatch.delitem(FROZEN, "trials")
    key, said = next((key, said) for key, (name, said) in model_files.ELEMENTS.items() if name == collection)
    frames = [*model_files.FRAME_KEYS[key].values()]
    m = mt.Model("m")
    for name in ("first", "second"):
        m.joint(name, mt.Revolute("z"), m.ground, m.body(name, mt.rod(mass=1.0, length=1.0)))
    found = {}
    for field in dataclasses.fields(said):
        if field.name in frames:
            found[field.name] = m.bodies[frames.index(field.name)].at((0.1, 0.2, 0.3), mt.turn("x", 0.4))
        elif field.default is dataclasses.MISSING or field.name == "stiffness":
            found[field.name] = 1.5
    element = said(**found)
    getattr(m, collection).append(element)
    m.save(tmp_path / "m.toml")
    back = mt.load(tmp_path / "m.toml")
    assert back == m
    assert getattr(back, collection) == [element]
    assert len(m.build().mechanism.elements) == 1
    with pytest.raises(mt.MomentreeError, match=collection[:-1]):
        m.save(tmp_path / "m.urdf")
    # frames and numbers are checked, each by its name
    broken = dataclasses.replace(element, **{frames[0]: mt.model.frames.Frame("nobody")})
    getattr(m, collection)[:] = [broken]
    with pytest.raises(mt.MomentreeError, match="nobody"):
        m.build()


# --- mechanics ---


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_undoes_forward_dynamics(kind, seed):
    system = skew_arm(kind, seed).build()
    q, v, t = state(system, seed)
    du = system.forward_dynamics(q, v, t=t)
    M, b = system.mass_matrix(q, t), system.bias(q, v, t)
    scale = np.abs(M @ du).max() + np.abs(b).max()
    assert np.abs(system.inverse_dynamics(q, v, du, t=t)).max() < 1e-12 * scale
    assert M @ du + b == pytest.approx(0, abs=1e-12 * scale)


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_it_acts_at_all(kind, seed):
    q, v, t = state(skew_arm(seed=seed).build())
    with_it, without = (skew_arm(each, seed).build().forward_dynamics(q, v, t=t) for each in (kind, None))
    assert np.abs(with_it - without).max() > 1e-3


@every_kind
@tree_and_loop
def test_frames_stay_where_the_user_put_them_in_every_form_of_the_mechanism(kind, loop):
    mechanism = skew_arm(kind, loop=loop).build().mechanism
    forms = [in_joint_frames(mechanism), shared_parameters(mechanism), separate_bodies(mechanism)]
    forms += [in_maximal_coordinates(mechanism, massless=True)]
    for form in forms:
        for before, after in zip(frames_of(mechanism.elements), frames_of(form.elements), strict=True):
            assert before.body == after.body
            X, Y = (own(of, end).inverse() @ end.placement for of, end in ((mechanism, before), (form, after)))
            assert np.allclose([*X.offset], [*Y.offset], atol=1e-14)
            assert np.allclose([[*r] for r in X.rotation.rows], [[*r] for r in Y.rotation.rows], atol=1e-14)


def own(mechanism, end):
    return mechanism.bodies[end.body - 1].own if end.body else Transform()


@every_kind
def test_the_same_accelerations_in_every_form_of_the_tree(kind):
    system = skew_arm(kind).build()
    q, v, t = state(system)
    expected = np.array(forward_dynamics(Evaluation(system.mechanism, q, t), v, [0.0] * system.nv))
    found = forward_dynamics(Evaluation(in_joint_frames(system.mechanism), q, t), v, [0.0] * system.nv)
    assert found == pytest.approx(expected, rel=1e-11)
    form = shared_parameters(system.mechanism)
    assert inverse_dynamics(Evaluation(form, q, t), v, expected) == pytest.approx([0] * system.nv, abs=1e-10)


@every_kind
@tree_and_loop
def test_the_same_accelerations_where_welded_bodies_are_one(kind, loop):
    system = skew_arm(kind, loop=loop, joint=mt.Fixed()).build()
    q, v, t = state(system)
    one = without_welds(system.mechanism)
    assert len(one.bodies) == len(system.mechanism.bodies) - 1
    expected, found = (forward_dynamics(Evaluation(of, q, t), v, [0.0] * system.nv) for of in (system.mechanism, one))
    assert found == pytest.approx(expected, rel=1e-10)


@every_kind
@pytest.mark.parametrize("seed", range(4))
def test_powers_are_those_of_the_wrenches_less_the_growth_of_the_potential(kind, seed):
    element, ends, names, _ = at_a_state(kind, seed)
    stored = any(part.stores for part in element.works)  # powers are then those of the whole force
    growth = 0.0 if stored else derivative(element.potential([dual(end) for end in ends]))
    powers, wrenches = element.powers(ends, names), element.wrenches(ends, names)
    assert len(powers) == len(element.works)
    scale = 1 + sum(abs(end.power(w)) for end, w in zip(ends, wrenches, strict=True))
    assert sum(powers) == pytest.approx(total_power(element, ends, names) + growth, abs=1e-11 * scale)


def dual(end):
    """A frame with the derivative in time of its placement."""
    X, v = end.body.X_0, end.body.v
    rows = (Vector(*map(Dual, row, row.cross(v.angular))) for row in X.rotation.rows)
    offset = Vector(*map(Dual, X.offset, X.rotation @ v.linear))
    return MovingFrame(SimpleNamespace(X_0=Transform(Rotation(*rows), offset), v=v), end.placement, end.ground)


@every_kind
def test_action_is_reaction(kind):
    element, ends, names, _ = at_a_state(kind)
    if len(ends) < 2:
        return
    on_ground = (
        end.body.X_0.force_to_parent(wrench) for end, wrench in zip(ends, element.wrenches(ends, names), strict=True)
    )
    total = sum(on_ground, Force.zero())
    assert [*total.linear, *total.angular] == pytest.approx([0] * 6, abs=1e-9)


@every_kind
@tree_and_loop
def test_the_energy_of_a_motion_is_accounted_for(kind, loop):
    system = skew_arm(kind, loop=loop).build()
    assert {part.name for part in system.mechanism.elements[0].works} <= {
        name for name, _ in work_terms(system.mechanism)
    }
    run = system.simulate(system.assemble(), 0.1, rtol=1e-9)
    size = np.abs(run.energy.total).max() + 1
    assert np.abs(run.energy.balance).max() < 1e-6 * size


@pytest.mark.long
@every_kind
@tree_and_loop
def test_every_formulation_moves_alike(kind, loop):
    system = skew_arm(kind, loop=loop).build()
    start = system.assemble()
    runs = [system.simulate(start, 0.2, rtol=1e-10, formulation=f) for f in ("hamiltonian", "lagrange", "absolute")]
    for run in runs:
        assert np.abs(run.energy.balance).max() < 1e-7 * (np.abs(run.energy.total).max() + 1)
        assert runs[0].q[-1] == pytest.approx(run.q[-1], abs=1e-6)


@every_kind
def test_a_body_that_is_split_moves_as_before(kind):
    found = []
    for split in (False, True):
        system = skew_arm(kind, loop=True, split=split).build()
        assert system.mechanism.loops[0].kind == ("body" if split else "joint")
        angles = {"J0": 0.4, "J1": 1.2, "J2": 0.1}
        start = system.assemble(angles, {"J0": 0.3, "J1": -0.5, "J2": 0.7}, guess={"S": 0.24, "V": (-1.34, -0.48)})
        du = system.forward_dynamics(start.q, start.v)
        found.append([du[i] for i, u in enumerate(system.mechanism.velocities) if u.name in angles])
    assert found[0] == pytest.approx(found[1], rel=1e-7)


# --- passes ---


@every_kind
def test_a_mechanism_without_loads_has_none(kind):
    bare = unloaded(skew_arm(kind).build().mechanism)
    assert bare.elements == ()
    assert bare.forces == bare.springs == bare.contacts == ()


@every_kind
def test_every_number_may_be_a_free_parameter(kind):
    m = skew_arm(kind)
    system = m.build()
    q, v, t = state(system)
    parameters = [named for _, _, names in free_numbers(system.mechanism.elements[0]) for named in names.items()]
    for name, value in parameters:
        m.parameter(name, value)
    m.trials = [m.trials[0]._replace(free=True)]
    free = m.build(free=[name for name, _ in parameters])
    seen = []
    with_numbers(free.mechanism.elements, lambda x: seen.append(str(x)) or x)
    assert {name for name, _ in parameters} <= {*seen}
    a = system.forward_dynamics(q, v, t=t)
    assert free.forward_dynamics(q, v, t=t) == pytest.approx(a, rel=1e-10)
    assert free.inverse_dynamics(q, v, a, t=t) == pytest.approx([0] * 3, abs=1e-9)
    assert free.mechanism.at_defaults().elements == system.mechanism.elements


@every_kind
def test_lanes_and_rolled_code(kind):
    system, rolled = (skew_arm(kind).build(code=code) for code in ("straight-line", "rolled"))
    random = np.random.default_rng(0)
    q, v, t = random.uniform(-0.5, 0.5, (9, 3)), random.uniform(-1, 1, (9, 3)), np.linspace(0, 1, 9)
    many = system.forward_dynamics(q, v, t=t)
    for row in range(9):
        assert (many[row] == system.forward_dynamics(q[row], v[row], t=t[row])).all()
        assert rolled.forward_dynamics(q[row], v[row], t=t[row]) == pytest.approx(many[row], rel=1e-9)


@every_kind
def test_laws_are_found_and_elements_can_be_stored(kind):
    (element,) = skew_arm(kind).build().mechanism.elements
    assert pickle.loads(pickle.dumps(element)) == element
    seen = []
    with_numbers(element, lambda x: seen.append(x) or x)
    assert not any(x is law for x in seen for law in laws_in(element))


# --- symbols ---


def pendulum(kind):
    m = mt.Model("swing", gravity=(0, 0, -9.81))
    rod = m.body("rod", mass=1.3, com=(0.5, 0, 0), inertia=(0.02, 0.03, 0.025))
    m.joint("A", mt.Revolute("y"), m.ground, rod)
    m.trials = [Trial(kind, 3, (rod.at((1, 0, 0)), m.ground.at((2, 0, 0.5)), rod.at((0.2, 0, 0))))]
    return m.build()


@every_kind
@pytest.mark.parametrize("by", ["energy", "aggregative", "lagrange"])
def test_equations_in_symbols_agree_with_numbers(kind, by):
    system = pendulum(kind)
    q, u = 0.7, 0.5
    e = system.equations(by).expanded
    values = {e.coordinates[0]: q, e.velocities[0]: u, e.symbols.t: 0.0}
    A, b, Q = (float(x[0].subs(values)) for x in (e.A, e.b, e.Q))
    assert (Q - b) / A == pytest.approx(float(system.forward_dynamics([q], [u])[0]), rel=1e-9)


@every_kind
def test_newtons_and_eulers_equations_in_symbols_agree_with_numbers(kind):
    """Of a body by itself: coordinates of its center of mass, and its angle."""
    system = pendulum(kind)
    q, u = 0.7, 0.5
    e = system.equations("newton_euler").expanded
    known = {
        "x": (0.5 * math.cos(q), -0.5 * math.sin(q) * u),
        "z": (-0.5 * math.sin(q), -0.5 * math.cos(q) * u),
        "angle": (q, u),
    }
    named = {symbol: str(symbol).rpartition("_")[2] for symbol in e.coordinates}
    values = {e.symbols.t: 0.0} | {symbol: known[named[symbol]][0] for symbol in e.coordinates}
    values |= {y: known[named[x]][1] for x, y in zip(e.coordinates, e.velocities, strict=True)}
    rows = [*(e.A * sp.Matrix(e.accelerations) + e.b - e.right), *e.constraint_accelerations()]
    unknown = [*e.accelerations, *e.multipliers]
    A, right = (
        np.array(x.evalf(), dtype=float) for x in sp.linear_eq_to_matrix([x.subs(values) for x in rows], unknown)
    )
    (angle,) = (i for i, x in enumerate(e.coordinates) if named[x] == "angle")
    assert float(np.linalg.solve(A, right)[angle, 0]) == pytest.approx(
        float(system.forward_dynamics([q], [u])[0]), rel=1e-9
    )
