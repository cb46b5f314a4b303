"""Quantities at the front door: each against another formalism, an exact derivative, or a dense solution."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import momentree as mt
from mechanisms import EVERY_JOINT, bennett, closed_state, four_bar, random_configuration, random_frame, random_tree
from momentree.compile.trace.quantities import QUANTITIES
from momentree.equations.aggregative import inverse_dynamics, mass_matrix
from momentree.equations.balance import energy
from momentree.equations.energy import energy_form
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta
from momentree.equations.kinematics import records
from momentree.spatial.dual import Dual
from parametric import linkage, tree
from random_constraints import constrained

CLOSE = 1e-12  # of the largest entry
ANGLES = [kind for kind in EVERY_JOINT if kind not in ("Spherical", "Free", "Fixed")]  # whose velocities are q'


def near(found, expected, tolerance=CLOSE, scale=0.0):
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape
    largest = max(np.abs(expected).max(initial=0), scale)
    assert np.abs(found - expected).max(initial=0) <= tolerance * max(largest, 1e-300)


def loaded(seed):
    """Four joints of any type on a moving ground and on a prescribed joint, with springs, dampers, laws and forces."""
    random = np.random.default_rng(seed)
    m = mt.Model("loaded", gravity=tuple(random.uniform(-5, 5, 3)))
    m.ground.moves(("0.5*t", "t^2", "sin(t)"), ("0.4*t", "-0.7*t", "t*(1+t)"))
    carrier = m.body("carrier", mt.box(mass=1.0, size=(0.3, 0.2, 0.1)))
    m.joint("driver", mt.Cylindrical("z", motion=("0.3*sin(t)", "t*(1 - t)")), random_frame(random, m.ground), carrier)
    m = random_tree(random, list(random.permutation(EVERY_JOINT)[:4]), m)
    leaf = m.body("leaf", mt.rod(mass=0.5, length=0.4))
    m.joint("sprung", mt.Revolute("y", spring=3.0, damping=0.2, rest=0.3), m.bodies[-2].at((0.1, 0.2, 0)), leaf)
    m.force(leaf.at((0.4, 0, 0)), ("sin(t)", "0.2*t", 1), axes="body")
    m.spring(m.ground.at((1, 1, 1)), leaf, stiffness=5.0, damping=0.1, rest=0.2)
    m.torque("sprung", "2*cos(t)")
    return m


@cache
def plain(seed):
    """Five joints of any type under gravity alone."""
    random = np.random.default_rng(seed)
    model = random_tree(random, list(random.permutation(EVERY_JOINT)[:5]), mt.Model("plain", gravity=(1.2, -3.4, -9.1)))
    return model, model.build(), random


def state(random, system):
    return random_configuration(random, system), random.standard_normal(system.nv)


def coordinate_derivatives(system, q, v, t=0.0):
    """q' by the joints."""
    bodies = [body for body in system.mechanism.bodies if body.laws is None]
    changes = [body.joint.type.coordinate_derivatives(q[body.q], v[body.v]) for body in bodies]
    return np.array([float(x) for change in changes for x in change])


def whole_derivative_of_mass_matrix(system, q, v, t=0.0):
    """M' along the motion, by dual numbers: an exact derivative of the mass matrix alone."""
    dual = [Dual(float(x), float(dx)) for x, dx in zip(q, coordinate_derivatives(system, q, v), strict=True)]
    M = mass_matrix(Evaluation(system.mechanism, dual, Dual(t, 1.0)))
    return np.array([[getattr(entry, "derivative", 0.0) for entry in row] for row in M], dtype=float)


# --- Coriolis matrices ---


@pytest.mark.repeats(1, of="make")
@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("make", [plain, loaded], ids=["plain", "loaded"])
def test_the_derivative_of_the_mass_matrix_is_the_sum_of_the_coriolis_matrix_and_its_transpose(make, seed):
    """So M' - 2 C is skew; with every joint type, also where joints and ground move as prescribed."""
    system = make(seed)[1] if make is plain else make(seed).build()
    random = np.random.default_rng(seed)
    (q, v), t = state(random, system), 0.7
    change, C = whole_derivative_of_mass_matrix(system, q, v, t), system.coriolis_matrix(q, v, t)
    near(C + C.T, change)
    skew = change - 2 * C
    near(skew, -skew.T, scale=np.abs(change).max())
    assert np.abs(change).max() > 0.01


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(3))
def test_where_velocities_are_derivatives_of_coordinates_it_holds_the_christoffel_symbols(seed):
    random = np.random.default_rng(seed)
    system = random_tree(random, list(random.permutation(ANGLES))).build()
    q, v = state(random, system)
    n = system.nv
    slopes = np.zeros((n, n, n))  # dM_ij / dq_k
    for k in range(n):
        dual = [Dual(float(x), float(i == k)) for i, x in enumerate(q)]
        M = mass_matrix(Evaluation(system.mechanism, dual))
        slopes[..., k] = [[getattr(entry, "derivative", 0.0) for entry in row] for row in M]
    symbols = (slopes + np.swapaxes(slopes, 1, 2) - np.moveaxis(slopes, 2, 0)) / 2  # [jk, i]
    near(system.coriolis_matrix(q, v), symbols @ v)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(3))
def test_inertial_terms_are_those_of_newton_and_euler_by_either_matrix(seed):
    _, system, random = plain(seed)
    q, v = state(random, system)
    b = system.coriolis_forces(q, v)
    at = Evaluation(system.mechanism, q.tolist())
    near(b, np.array(inverse_dynamics(at, v, np.zeros(system.nv)), dtype=float) - system.gravity_forces(q))
    near(system.coriolis_matrix(q, v) @ v, b)
    near(system.aggregative_matrix(q, v) @ v, b)
    near(b + system.gravity_forces(q), system.inverse_dynamics(q, v, 0 * v))
    form = energy_form(at, v, np.zeros(system.nv))  # the theorem of kinetic energy
    near(b, form.T)
    near(-system.gravity_forces(q), form.Q)


def test_the_aggregative_matrix_is_not_skew_and_is_that_of_the_paper():
    """Belkov and Konoplev (1.1), B = S M dS'/dt + S Omega M S', dense, S' by (2) of Ivanov and its exact derivative."""
    _, system, random = plain(1)
    q, v = state(random, system)
    S, change = system.kinematic_matrices(q).B.T, np.zeros((system.nv, 6 * len(system.mechanism.bodies)))
    dual = [Dual(float(x), float(dx)) for x, dx in zip(q, coordinate_derivatives(system, q, v), strict=True)]
    for body in system.mechanism.bodies:
        for j, column in _columns(system.mechanism, dual, body.number):
            change[j, 6 * body.number - 6 : 6 * body.number] = [getattr(x, "derivative", 0.0) for x in column]
    M, Omega = np.zeros((2, 6 * len(system.mechanism.bodies), 6 * len(system.mechanism.bodies)))
    for i, (body, V) in enumerate(zip(system.mechanism.bodies, system.first_form(q, v).V, strict=True)):
        part = slice(6 * i, 6 * i + 6)
        M[part, part] = spatial_inertia(body.inertia)
        Omega[part, part] = np.block([[cross(V[3:]), np.zeros((3, 3))], [cross(V[:3]), cross(V[3:])]])
    B = system.aggregative_matrix(q, v)
    near(B, S @ M @ change.T + S @ Omega @ M @ S.T)
    near(system.mass_matrix(q), S @ M @ S.T)
    skew = whole_derivative_of_mass_matrix(system, q, v) - 2 * B
    assert np.abs(skew + skew.T).max() > 0.1


def _columns(mechanism, q, number):
    """The partial twists of a body in its own axes, by dual numbers: the axes of each joint carried outward."""
    placed, path = records(Evaluation(mechanism, q)), []
    while number:
        path.append(number)
        number = mechanism.bodies[number - 1].parent
    found = {}
    for carrier in reversed(path):
        found = {j: placed[carrier].X.motion(column) for j, column in found.items()}
        body = mechanism.bodies[carrier - 1]
        found |= dict(enumerate(placed[carrier].A.columns, body.v.start)) if body.laws is None else {}
    return found.items()


def cross(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def spatial_inertia(M):
    xx, yy, zz, xy, xz, yz = M.J
    h = cross([*M.h])
    return np.block([[M.mass * np.eye(3), -h], [h, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])]])


# --- forces and momenta ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(2))
def test_bias_is_inertial_terms_less_all_forces_and_momenta_are_slopes_of_the_kinetic_energy(seed):
    system = loaded(seed).build()
    q, v = state(np.random.default_rng(seed), system)
    Q = system.generalized_forces(q, v, 0.7)
    near(system.coriolis_forces(q, v, 0.7) - Q, system.bias(q, v, 0.7))
    form = energy_form(Evaluation(system.mechanism, q.tolist(), 0.7), v, np.zeros(system.nv))
    near(Q, form.Q)
    at = Evaluation(system.mechanism, q.tolist(), 0.7)
    slopes = [energy(at, [Dual(x, float(i == k)) for i, x in enumerate(v)]).kinetic for k in range(system.nv)]
    near(system.generalized_momenta(q, v, 0.7), [slope.derivative for slope in slopes])
    near(system.generalized_momenta(q, v, 0.7), momenta(at, v))


def test_gravity_forces_are_slopes_of_the_potential_energy():
    random = np.random.default_rng(4)
    system = random_tree(random, list(random.permutation(ANGLES)), mt.Model("hanging", gravity=(1, 2, -9))).build()
    q, v = state(random, system)
    at = [[Dual(float(x), float(i == k)) for i, x in enumerate(q)] for k in range(system.nv)]
    slopes = [energy(Evaluation(system.mechanism, dual), v).potential.derivative for dual in at]
    near(system.gravity_forces(q), slopes)


# --- forms, factors, kinematics ---


def test_first_and_second_form_by_bodies():
    """V and Z by other passes: V from partial velocities, Z of the second form from reactions of the joints."""
    system = loaded(3).build()
    q, v = state(np.random.default_rng(3), system)
    first, second = system.first_form(q, v, 0.7), system.second_form(q, v, 0.7)
    n = len(system.mechanism.bodies)
    matrices = system.kinematic_matrices(q, 0.7)
    near(first.V.ravel(), matrices.B @ v + matrices.phi)
    near(first.b, system.coriolis_forces(q, v, 0.7))
    near(second.b, system.bias(q, v, 0.7))
    for form in (first, second):
        for i, body in enumerate(system.mechanism.bodies):
            M, V = spatial_inertia(body.inertia), form.V[i]
            Omega = np.block([[cross(V[3:]), np.zeros((3, 3))], [cross(V[:3]), cross(V[3:])]])
            near(form.Y[i], M @ form.X[i] + Omega @ M @ V)
    # Z = T' Y: every wrench carried to the ground, Belkov and Konoplev (2.3) with L = T'
    near(first.Z.ravel(), matrices.T.T @ first.Y.ravel())
    near(matrices.A.T @ first.Z.ravel(), first.b)
    assert first.Z.shape == (n, 6)


def test_factors_of_the_mass_matrix_and_its_inverse_by_elementary_matrices():
    _, system, random = plain(2)
    q = np.stack([random_configuration(random, system) for _ in range(3)])
    found, M = system.mass_matrix_factors(q), system.mass_matrix(q)
    near(found.U @ found.D @ np.swapaxes(found.U, -1, -2), M)
    product = np.eye(system.nv)
    for factor in found.elementary:
        product = factor @ product
    near(product, found.U)
    for one, other in zip(found.elementary, found.inverse_elementary, strict=True):
        near(one @ other, np.broadcast_to(np.eye(system.nv), one.shape))
    near(found.inverse, np.linalg.inv(M))
    near(system.inverse_mass_matrix(q), np.linalg.inv(M))
    moving = [body for body in system.mechanism.bodies if body.v.stop > body.v.start]
    assert len(found.elementary) == len(moving)
    near(found.D @ found.D_inverse, np.broadcast_to(np.eye(system.nv), M.shape))


def test_kinematic_matrices_satisfy_their_equations_and_twists_are_those_of_the_bodies():
    system = loaded(5).build()
    q, v = state(np.random.default_rng(5), system)
    k = system.kinematic_matrices(q, 0.7)
    twists = system.first_form(q, v, 0.7).V.ravel()
    near(k.S @ twists, k.A @ v + k.v_r)  # (1)
    near(k.T @ (k.A @ v + k.v_r), twists)  # (2)
    near(k.T, np.linalg.inv(k.S))
    near(k.B, k.T @ k.A)
    assert np.abs(k.phi).max() > 0.1
    structure = system.structure
    for i, parent in enumerate(structure.parents.tolist()):
        if parent:
            near(k.S[6 * i : 6 * i + 6, 6 * parent - 6 : 6 * parent], -k.C[i])


def test_partial_velocities_make_the_velocity_of_a_frame():
    model = loaded(6)
    system = model.build()
    random = np.random.default_rng(6)
    q, v = state(random, system)
    frame = random_frame(random, model.bodies[-1])
    found = system.partial_velocities(q, frame, 0.7)
    near(np.concatenate([found.linear, found.angular], axis=1).T, system.jacobian(q, frame, 0.7))
    dual = [Dual(float(x), float(dx)) for x, dx in zip(q, coordinate_derivatives(system, q, v), strict=True)]
    placed = records(Evaluation(system.mechanism, dual, Dual(0.7, 1.0)))
    attached = system.mechanism.attach(frame)
    origin = (placed[attached.body].X_0 @ attached.placement).offset
    near(v @ found.linear + found.linear_t, [x.derivative for x in origin])


# --- loops ---


def kkt(system, at, tau):
    """v' and J' lambda by a dense solution; J' v by an exact derivative along the motion, constraint by constraint."""
    q, v, t = at.q, at.v, at.t
    J, h = system.constraint_jacobian(q, t), 1e-4
    ahead, behind = (_moved(system, q, v, t, sign * h) for sign in (1, -1))
    velocity = lambda q, t: system.constraint_jacobian(q, t) @ v + system.constraint_drift(q, t)  # noqa: E731
    far_ahead, far_behind = (_moved(system, q, v, t, sign * 2 * h) for sign in (1, -1))
    change = 8 * (velocity(*ahead) - velocity(*behind)) - (velocity(*far_ahead) - velocity(*far_behind))
    change /= 12 * h
    M, n = system.mass_matrix(q, t), system.nv
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    x = np.linalg.lstsq(K, np.concatenate([tau - system.bias(q, v, t), -change]), rcond=1e-10)[0]
    return x[:n], J.T @ x[n:]


def _moved(system, q, v, t, h):
    from momentree.assembly.configuration_space import integrate

    return integrate(system.mechanism, q, v * h), t + h


def driven():
    """A four-bar linkage whose crank moves as prescribed."""
    m = mt.Model("driven four-bar", gravity=(0, 0, -9.81))
    crank, coupler, rocker = (m.body(n, mt.rod(mass=1.0, length=x)) for n, x in (("a", 1.0), ("b", 2.0), ("c", 2.0)))
    m.joint("A", mt.Revolute("y", motion="1 + 0.7*t + 0.2*t^2"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1.0, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2.0, 0, 0)), rocker.at((2.0, 0, 0)))
    return m.build()


LOOPS = {
    "driven": lambda: (driven(), {}, {}),
    "four-bar": lambda: (four_bar().build(), {"A": 1.0}, {"A": 2.0}),
    "bennett": lambda: (bennett().build(), {}, {}),
    "sprung": lambda: (linkage().build(), {"A": 1.0}, {"A": 2.0}),
}


@pytest.mark.parametrize("name", LOOPS)
def test_multipliers_and_constraint_forces_against_a_dense_solution(name):
    system, given, velocities = LOOPS[name]()
    at = system.assemble(given, velocities=velocities, t=0.3)
    tau = np.random.default_rng(1).standard_normal(system.nv)
    J, Phi = system.constraint_jacobian(at.q, at.t), system.delassus_matrix(at.q, at.t)
    assert J.shape == (len(system.constraint_names), system.nv)
    near(Phi, J @ np.linalg.solve(system.mass_matrix(at.q, at.t), J.T))
    near(J @ at.v + system.constraint_drift(at.q, at.t), np.zeros(len(J)), scale=1e2)
    vdot, forces = kkt(system, at, tau)
    near(system.forward_dynamics(at.q, at.v, tau, at.t), vdot, 1e-8)
    near(system.constraint_forces(at.q, at.v, tau, at.t), forces, 1e-8)
    multipliers = system.multipliers(at.q, at.v, tau, at.t)
    near(J.T @ multipliers, system.constraint_forces(at.q, at.v, tau, at.t), scale=1.0)
    near(system.mass_matrix(at.q, at.t) @ vdot + system.bias(at.q, at.v, at.t) - tau, J.T @ multipliers, 1e-7)


@pytest.mark.parametrize("name", LOOPS)
def test_hamiltonian_variables_solve_their_equations(name):
    """Ivanov's (5) and (8), dense, and p*' of (6) by the derivative of p: p' - p*' is along J' where eta = 0."""
    system, given, velocities = LOOPS[name]()
    at = system.assemble(given, velocities=velocities, t=0.3)
    p_star = system.generalized_momenta(at.q, at.v, at.t) + np.random.default_rng(2).standard_normal(system.nv)
    found, k = system.hamiltonian_variables(at.q, p_star, at.t), system.kinematic_matrices(at.q, at.t)
    near(found.p, p_star + system.constraint_jacobian(at.q, at.t).T @ found.eta, scale=1.0)
    near(k.A.T @ found.mu.ravel(), found.p)
    near(k.A.T @ found.mu_star.ravel(), p_star)
    near(k.S @ found.twists.ravel(), k.A @ found.v + k.v_r)
    M = np.zeros((len(k.S), len(k.S)))
    for i, body in enumerate(system.mechanism.bodies):
        M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = spatial_inertia(body.inertia)
    near(M @ found.twists.ravel(), k.S.T @ found.mu.ravel())
    closed = system.constraint_jacobian(at.q, at.t) @ found.v + system.constraint_drift(at.q, at.t)
    near(closed, np.zeros(len(closed)), 1e-9, 1.0)
    # with eta = 0, p' = p*' + J' lambda, and p = M v + ... gives p' by the accelerations
    start = system.hamiltonian_variables(at.q, system.generalized_momenta(at.q, at.v, at.t), at.t)
    vdot, h = system.forward_dynamics(at.q, at.v, None, at.t), 1e-5
    ahead, behind = (
        system.generalized_momenta(_moved(system, at.q, at.v + sign * h / 2 * vdot, at.t, sign * h)[0],
                                   at.v + sign * h * vdot, at.t + sign * h)
        for sign in (1, -1)
    )  # fmt: skip
    forces = system.constraint_forces(at.q, at.v, None, at.t)
    near(start.dp_star + forces, (ahead - behind) / (2 * h), 1e-6)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("seed", range(40))
def test_constrained_mechanisms_of_every_kind(seed):
    """Gears, rolling, expressions, higher pairs, loops: J, Phi, lambda and eta fit together."""
    case = constrained(seed)
    system = case.system()
    at = closed_state(np.random.default_rng(seed), system, case.q)
    tau = np.random.default_rng(seed).standard_normal(system.nv)
    J, M = system.constraint_jacobian(at.q, at.t), system.mass_matrix(at.q, at.t)
    near(system.delassus_matrix(at.q, at.t), J @ np.linalg.solve(M, J.T), 1e-10)
    vdot = system.forward_dynamics(at.q, at.v, tau, at.t)
    forces = M @ vdot + system.bias(at.q, at.v, at.t) - tau
    scale = max(np.abs(M @ vdot).max(), np.abs(forces).max())
    near(J.T @ system.multipliers(at.q, at.v, tau, at.t), forces, 1e-8, scale)
    near(system.constraint_forces(at.q, at.v, tau, at.t), forces, 1e-8, scale)
    p_star = system.generalized_momenta(at.q, at.v, at.t) + tau
    found = system.hamiltonian_variables(at.q, p_star, at.t)
    near(found.p, p_star + J.T @ found.eta, 1e-8)
    near(found.p, system.generalized_momenta(at.q, found.v, at.t), 1e-9)
    near(J @ found.v + system.constraint_drift(at.q, at.t), np.zeros(len(J)), 1e-8, np.abs(found.v).max() + 1)


# --- batches, free parameters ---


CALLS = {
    "inverse_mass_matrix": "q",
    "coriolis_matrix": "qv",
    "aggregative_matrix": "qv",
    "coriolis_forces": "qv",
    "gravity_forces": "q",
    "generalized_forces": "qv",
    "generalized_momenta": "qv",
    "first_form": "qv",
    "second_form": "qv",
    "mass_matrix_factors": "q",
    "kinematic_matrices": "q",
    "constraint_jacobian": "q",
    "constraint_drift": "q",
    "delassus_matrix": "q",
    "multipliers": "qv",
    "constraint_forces": "qv",
    "subtree_momenta": "qv",
    "hamiltonian_variables": "qv",
}


def parts(found):
    """The arrays of a result."""
    return [part for part in found if isinstance(part, np.ndarray)] if isinstance(found, tuple) else [found]


@pytest.mark.repeats(2, of="make")
@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("make", [tree, linkage], ids=["tree", "linkage"])
def test_batches_and_free_parameters_give_what_single_calls_of_numbers_give(make, what):
    system = make().build(free=["m", "w"])
    random = np.random.default_rng(2)
    q = np.stack([random_configuration(random, system) for _ in range(6)]).reshape(2, 3, -1)
    v, t = random.standard_normal((3, system.nv)), random.uniform(0, 1, (2, 1))
    m, w = random.uniform(1, 2, (2, 3)), 1.5
    given = {"q": q, "v": v}
    found = parts(getattr(system, what)(*(given[name] for name in CALLS[what]), t=t, parameters={"m": m, "w": w}))
    numeric = make(m=float(m[1, 2]), w=w).build()
    one = {"q": q[1, 2], "v": v[2]}
    expected = parts(getattr(numeric, what)(*(one[name] for name in CALLS[what]), t=float(t[1, 0])))
    for many, single in zip(found, expected, strict=True):
        assert many.shape == (2, 3, *single.shape)
        near(many[1, 2], single, 1e-10, 1e-6)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_they_are_exported_to_c(tmp_path):
    system = linkage().build(free=["m"])
    what = [what for what in CALLS if what in QUANTITIES]
    system.export_c(tmp_path / "linkage.c", what)
    source, library = tmp_path / "linkage.c", tmp_path / "linkage.so"
    subprocess.run(["gcc", "-std=c99", "-shared", "-fPIC", "-O1", source, "-o", library, "-lm"], check=True)
    code = ctypes.CDLL(str(library))
    q, v, m = np.array([0.3, 0.7, 0.5]), np.array([1.0, -2.0, 0.4]), np.array([1.7])
    for name in what:
        expected = getattr(system, name)(*((q, v) if CALLS[name] == "qv" else (q,)), t=0.4, parameters={"m": 1.7})
        out = np.empty_like(expected)
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in ((q, v) if CALLS[name] == "qv" else (q,))]
        last = [x.ctypes.data_as(ctypes.c_void_p) for x in (m, out)]
        getattr(code, f"linkage_{name}")(*pointers, ctypes.c_double(0.4), *last)
        near(out, expected)


def test_a_tree_has_no_constraints_and_a_mechanism_that_cannot_move_has_empty_quantities():
    _, system, random = plain(0)
    q, v = state(random, system)
    assert system.constraint_names == ()
    assert system.constraint_jacobian(q).shape == (0, system.nv)
    assert system.delassus_matrix(q).shape == (0, 0)
    assert system.multipliers(q, v).shape == (0,)
    near(system.constraint_forces(q, v), np.zeros(system.nv))
    m = mt.Model("weld")
    m.joint("weld", mt.Fixed(), m.ground, m.body("block", mt.box(mass=1.0, size=(1, 1, 1))))
    still = m.build()
    for what, names in CALLS.items():
        getattr(still, what)(*([[]] * len(names)))
    assert still.coriolis_matrix([], []).shape == (0, 0)
    assert still.kinematic_matrices([]).S.shape == (6, 6)


MISTAKES = {
    "length": (lambda s, q: s.first_form(q[:-1], q), "q has the shape"),
    "nan": (lambda s, q: s.coriolis_matrix(q, q * np.nan), "v holds NaN"),
    "nan of a form": (lambda s, q: s.second_form(q, q * np.nan), "v holds NaN"),
    "time": (lambda s, q: s.kinematic_matrices(q, t="now"), "t is 'now'; a number is expected"),
    "infinite time": (lambda s, q: s.kinematic_matrices(q, t=np.inf), "t holds NaN or infinity"),
    "momenta": (lambda s, q: s.hamiltonian_variables(q, q[:2]), "p has the shape 2"),
    "frame": (lambda s, q: s.partial_velocities(q, "cuopler"), "cuopler"),
    "parameter": (lambda s, q: s.first_form(q, q, parameters={"k": 1.0}), "k"),
}


@pytest.mark.parametrize(("call", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(call, message):
    with pytest.raises(mt.MomentreeError, match=message):
        call(four_bar().build(), np.zeros(3))
