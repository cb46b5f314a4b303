"""The armature of a joint: the tree with N on the diagonal of its mass matrix, in every formalism and in MuJoCo."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import momentree as mt
from agree.peers import agree, sample
from mechanisms import bennett, four_bar, random_loops
from momentree.assembly.configuration import Configuration
from momentree.assembly.state import State
from momentree.equations.energy import energy_form, equations_of_motion, power
from momentree.equations.evaluation import Evaluation
from momentree.equations.factors import factors
from momentree.equations.formulations import FORMULATIONS


def with_rotors(random, model):
    """The same model with an armature at every joint that may have one; N by joint."""
    geared, inertias = copy.deepcopy(model), {}
    for i, joint in enumerate(geared.joints):
        kind = joint.type
        if kind.velocities and kind.velocities == tuple(f"{name}'" for name in kind.coordinates):
            inertias[joint.name] = tuple(random.uniform(0.1, 3.0, len(kind.velocities)))
            geared.joints[i] = replace(joint, type=replace(kind, armature=inertias[joint.name]))
    return geared, inertias


def diagonal(system, inertias):
    """N by velocities."""
    N = np.zeros(system.nv)
    for body in system.mechanism.bodies:
        N[body.v] = inertias.get(body.joint.name, 0.0)
    return N


TREES = [("either", 3), ("against", 2)]
TREES += [pytest.param(tree, marks=pytest.mark.long) for tree in (("along", 7), ("either", 12))]


@pytest.fixture(scope="module", params=TREES, ids=str)
def pair(request):
    """A random tree, the same with armatures, and N."""
    plain = sample(*request.param)
    model, inertias = with_rotors(np.random.default_rng(5), plain.model)
    system = model.build()
    N = diagonal(system, inertias)
    assert (N > 0).sum() > 2
    return plain, system, N


def test_mass_matrix_inverse_and_forward_dynamics_are_those_of_a_larger_diagonal(pair):
    plain, system, N = pair
    q, v, vdot, tau = plain.q, plain.v, plain.vdot, plain.tau
    M = plain.system.mass_matrix(q) + np.diag(N)
    bias = plain.system.bias(q, v)
    assert agree(system.mass_matrix(q), M)
    assert agree(system.bias(q, v), bias)
    assert agree(system.inverse_dynamics(q, v, vdot), M @ vdot + bias)
    assert agree(system.forward_dynamics(q, v, tau), np.linalg.solve(M, tau - bias), 1e-10)
    assert agree(system.momentum(q, v), plain.system.momentum(q, v))


def test_energy_has_that_of_the_rotors(pair):
    plain, system, N = pair
    q, v = plain.q, plain.v
    rotors = (N * v * v).sum() / 2
    assert system.energy(q, v).kinetic == pytest.approx(plain.system.energy(q, v).kinetic + rotors, rel=1e-13)


def test_factors_of_the_mass_matrix(pair):
    plain, system, N = pair
    M = plain.system.mass_matrix(plain.q) + np.diag(N)
    at = Evaluation(system.mechanism, plain.q.tolist())
    assert agree(factors(at).solve(plain.tau.tolist()), np.linalg.solve(M, plain.tau), 1e-10)


def test_quantities_of_the_front_door_have_it(pair):
    plain, system, N = pair
    q, v = plain.q, plain.v
    M = plain.system.mass_matrix(q) + np.diag(N)
    assert agree(system.inverse_mass_matrix(q), np.linalg.inv(M), 1e-10)
    assert agree(system.generalized_momenta(q, v), M @ v)
    assert agree(system.coriolis_matrix(q, v), plain.system.coriolis_matrix(q, v))


def test_rolled_code_has_it_too():
    plain = sample("either", 3)
    model, _ = with_rotors(np.random.default_rng(5), plain.model)
    straight, rolled = (model.build(code=code) for code in ("straight-line", "rolled"))
    q, v, tau = plain.q, plain.v, plain.tau
    assert agree(rolled.mass_matrix(q), straight.mass_matrix(q))
    assert agree(rolled.inverse_dynamics(q, v, tau), straight.inverse_dynamics(q, v, tau))
    assert agree(rolled.forward_dynamics(q, v, tau), straight.forward_dynamics(q, v, tau), 1e-10)


def test_theorem_of_kinetic_energy(pair):
    plain, system, _ = pair
    at = Evaluation(system.mechanism, plain.q.tolist())
    v, vdot = plain.v.tolist(), plain.vdot.tolist()
    assert agree(equations_of_motion(at, v, vdot), system.inverse_dynamics(plain.q, plain.v, plain.vdot), 1e-11)
    assert agree(energy_form(at, v, vdot).A, system.mass_matrix(plain.q))
    free = system.forward_dynamics(plain.q, plain.v).tolist()
    balance = power(at, v, free)
    assert abs(balance.surplus) < 1e-8 * max(abs(balance.kinetic), 1.0)


# --- closed loops ---


def loops(kind):
    """Mechanisms with an armature at every joint of the tree: the start, and N."""
    random = np.random.default_rng(11)
    if kind == "random":
        model, q = random_loops(
            random, ["Revolute", "Prismatic", "Universal", "Spherical"] * 2, ["Revolute", "Spherical"]
        )
    else:
        model, q = {"four-bar": four_bar, "bennett": bennett}[kind](), None
        model.cut(model.joints[-1].name)
    model.gravity = (1.0, -2.0, -9.0)
    plain, cut = model.build(), {*model.cuts}
    model, inertias = with_rotors(random, model)
    for i, joint in enumerate(model.joints):
        if joint.name in cut:
            model.joints[i] = replace(joint, type=replace(joint.type, armature=None))
    system = model.build()
    start = (
        system.assemble({plain.mechanism.bodies[0].joint.name: 0.7})
        if q is None
        else system.assemble(guess=State(system.mechanism, q, np.zeros(system.nv), 0.0))
    )
    return plain, system, start, diagonal(system, inertias)


@pytest.mark.parametrize("kind", ["four-bar", "bennett", "random"])
def test_accelerations_with_loops_are_those_of_dense_equations(kind):
    """(M + N) u' = -bias + J' lambda, J u' = 0 from rest: least constraint, where constraints are redundant too."""
    plain, system, start, N = loops(kind)
    M = plain.mass_matrix(start.q) + np.diag(N)
    J = Configuration(plain.mechanism, start.q, None, 0.0).jacobian()
    rest = np.zeros(plain.nv)
    _, sizes, directions = np.linalg.svd(J)
    free = directions[(sizes > 1e-9 * sizes.max()).sum() :].T
    expected = free @ np.linalg.solve(free.T @ M @ free, free.T @ -plain.bias(start.q, rest))
    found = system.forward_dynamics(start.q, rest)
    assert agree(found, expected, 1e-9)
    assert not agree(found, plain.forward_dynamics(start.q, rest), 1e-3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_formulation_keeps_the_energy_of_a_linkage_with_a_rotor_and_moves_alike(formulation):
    _, system, start, _ = loops("four-bar")
    run = system.simulate(start, 1.0, formulation=formulation, rtol=1e-11)
    other = system.simulate(start, 1.0, integrator="rk4", step=1e-3)
    assert run.energy.error < 1e-8
    assert run.q[-1] == pytest.approx(other.q[-1], abs=1e-7)


def test_a_joint_with_an_armature_is_not_cut_and_says_so():
    model, _ = with_rotors(np.random.default_rng(1), four_bar())
    with pytest.raises(
        mt.ModelError, match=r"joint 'C'.*closes a loop, but has an armature.*m\.split\('rocker', 'C'\)"
    ):
        model.build()
    model.split("rocker", "C")
    assert model.build().mobility == 1
    one = four_bar()
    one.joints[-1] = replace(one.joints[-1], type=replace(one.joints[-1].type, armature=2.0))
    assert "C" in {body.joint.name for body in one.build().mechanism.bodies}  # another joint closes the loop
    one.cut("C")
    with pytest.raises(mt.ModelError, match=r"joint 'C' has an armature, so it cannot be cut\. Cut another joint"):
        one.build()


# --- the same elsewhere ---


def test_mujoco_has_the_same_mass_matrix_and_accelerations():
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")
    peer = mujoco.MjModel.from_xml_string("""<mujoco><option gravity="1 2 -9"/><worldbody><body>
        <joint axis="1 2 3" armature="0.7"/><inertial pos="0.1 0.2 0.3" mass="2" diaginertia="1 1.2 1.3"/>
        <body pos="0 0 1"><joint type="slide" axis="0 1 1" armature="0.9"/>
        <inertial pos="0 0.1 0" mass="1.5" diaginertia="0.2 0.3 0.4"/></body></body></worldbody></mujoco>""")
    data = mujoco.MjData(peer)
    data.qpos, data.qvel = q, v = np.array([0.4, 0.3]), np.array([0.5, -0.8])
    mujoco.mj_forward(peer, data)
    M = np.zeros((2, 2))
    mujoco.mj_fullM(peer, M, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(peer, data, M)
    m = mt.Model("arm", gravity=(1, 2, -9))
    one = m.body("one", mass=2, com=(0.1, 0.2, 0.3), inertia=(1, 1.2, 1.3))
    two = m.body("two", mass=1.5, com=(0, 0.1, 0), inertia=(0.2, 0.3, 0.4))
    m.joint("A", mt.Revolute((1, 2, 3), armature=0.7), m.ground, one)
    m.joint("B", mt.Prismatic((0, 1, 1), armature=0.9), one.at((0, 0, 1)), two)
    system = m.build()
    assert agree(system.mass_matrix(q), M)
    assert agree(system.forward_dynamics(q, v), data.qacc)


def test_a_rotor_of_its_own_behind_a_gear_on_the_ground_moves_the_arm_in_the_same_way():
    """On the ground nothing is left out: N = n^2 I."""
    ratio, inertia = 30.0, 2e-3

    def arm(**options):
        m = mt.Model("arm", gravity=(0, 0, -9.81))
        link = m.body("link", mt.rod(mass=2.0, length=0.7, radius=0.02))
        m.joint("A", mt.Revolute("y", **options), m.ground, link)
        return m

    geared = arm()
    rotor = geared.body("rotor", mass=0.3, inertia=(inertia, inertia, inertia))
    geared.joint("R", mt.Revolute("y"), geared.ground, rotor)
    geared.couple("R", "A", ratio=ratio)
    both = [m.build() for m in (arm(armature=ratio**2 * inertia), geared)]
    runs = [system.simulate(system.assemble({"A": 0.3}), 1.0, every=0.1, rtol=1e-11) for system in both]
    assert runs[0]["A"] == pytest.approx(runs[1]["A"], abs=1e-9)


# --- what may carry one ---


@pytest.mark.parametrize("joint", [mt.Spherical(armature=(1, 1, 1)), mt.Free(armature=(1,) * 6)], ids=lambda j: j.kind)
def test_joints_whose_velocities_are_no_derivatives_take_none(joint):
    m = mt.Model("ball")
    m.joint("A", joint, m.ground, m.body("body", mt.sphere(mass=1, radius=0.1)))
    with pytest.raises(mt.ModelError, match="takes no armature: its velocities are not derivatives of coordinates"):
        m.build()


@pytest.mark.parametrize("bad", [-1.0, float("nan"), "x*", (1, 2)])
def test_bad_armatures_are_refused(bad):
    m = mt.Model("arm")
    m.joint("A", mt.Revolute("y", armature=bad), m.ground, m.body("link", mt.rod(mass=1, length=1)))
    with pytest.raises(mt.MomentreeError, match="armature"):
        m.build()


def test_a_slender_rod_that_spins_about_itself_is_determined_by_the_rotor():
    m = mt.Model("spindle")
    m.joint("A", mt.Revolute("x", armature=0.5), m.ground, m.body("rod", mt.rod(mass=1, length=1)))
    system = m.build()
    assert system.forward_dynamics([0.0], [0.0], [2.0]) == pytest.approx([4.0])


def test_a_parameter_and_a_file_hold_it(tmp_path):
    m = mt.Model("arm")
    m.parameter("N", 0.4)
    m.joint("A", mt.Revolute("y", armature="N"), m.ground, m.body("link", mt.rod(mass=3, length=1)))
    m.save(tmp_path / "arm.toml")
    system = mt.load(tmp_path / "arm.toml").build(free=["N"])
    assert system.mass_matrix([0.0])[0, 0] == pytest.approx(1.4)
    assert system.with_parameters({"N": 2.0}).mass_matrix([0.0])[0, 0] == pytest.approx(3.0)
    built = mt.load(tmp_path / "arm.toml").build()
    for form in ("energy", "aggregative", "lagrange", "hamiltonian"):
        assert "N" in str(built.equations(form).sympy())
    with pytest.raises(mt.MomentreeError, match="newton_euler: joint 'A' has an armature"):
        built.equations("newton_euler")
    steps = str(built.equations("energy").derivation())
    assert "T = ½ A′² + ½ N A′²" in steps
    assert "+ N A″ = R(link)·v_A(link)" in steps
    assert "N" in str(built.symbols.kinetic_energy)
    assert "N" in str(built.symbols.mass_matrix)
