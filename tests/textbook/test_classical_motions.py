"""Classical motions: pendulum, double pendulum, heavy top, free body, in both formulations and by both integrators.

The pendulum is A01 of the IFToMM benchmark library (González, Dopico, Lugrís and Cuadrado 2006), the heavy top that of
Brüls and Cardona 2010. Pendulum and free body have closed forms in Jacobi's functions (Landau and Lifshitz, Mechanics,
11 and 37). Stored numbers: for the pendulum the closed form in 25 digits; for the others extrapolation (Gragg, Bulirsch
and Stoer) by a program written apart from this library, at two tolerances that agree to 4e-11 (double
pendulum at 10 s), 2e-14 (top) and 3e-16 (free body).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import momentree as mt

G = 9.81
TIGHT = 1e-9

every_method = pytest.mark.parametrize(
    ("formulation", "integrator"),
    [(formulation, integrator) for formulation in ("hamiltonian", "lagrange") for integrator in ("dop853", "dopri5")],
)


def moved(system, start, t_end, formulation, integrator, every, rtol=1e-13):
    return system.simulate(start, t_end, formulation=formulation, integrator=integrator, every=every, rtol=rtol)


def samples_at(run, times):
    """The samples at these times."""
    at = np.searchsorted(run.t, np.array(times) - 1e-9)
    np.testing.assert_allclose(run.t[at], times, rtol=1e-14)
    return at


def scalar_first(quaternions):
    return np.roll(quaternions, 1, axis=-1)


def conserved(values, tolerance):
    """Whether each column keeps its first value, by its largest size."""
    values = np.asarray(values).reshape(len(values), -1)
    return np.abs(values - values[0]).max() <= tolerance * np.abs(values).max()


# --- the simple pendulum ---


def pendulum():
    m = mt.Model("pendulum", gravity=(0, -G, 0))
    bob = m.body("bob", mass=1.0, com=(0, -1, 0))
    m.joint("phi", mt.Revolute("z"), m.ground, bob)
    return m.build()


PENDULUM = {  # t: x, y, vx, vy
    1: (0.986291751131875319, -0.165010853125541169, 0.296905515916315822, 1.774643641112655626),
    5: (-0.942305435043757335, -0.334754338414000581, 0.857904256885949073, -2.414928654370488623),
    10: (-0.275087462576116860, -0.961419205099125064, 4.175598100951728836, -1.194749054560475272),
}
PERIOD = 2.367841947576237449  # of a swing through half a turn


@every_method
def test_the_pendulum_released_level_is_at_its_exact_positions(formulation, integrator):
    system = pendulum()
    run = moved(system, system.assemble({"phi": -np.pi / 2}), 10.0, formulation, integrator, every=1.0)
    at = samples_at(run, list(PENDULUM))
    phi, velocity = run["phi"][at], run.velocity("phi")[at]
    found = np.stack([np.sin(phi), -np.cos(phi), np.cos(phi) * velocity, np.sin(phi) * velocity], axis=1)
    np.testing.assert_allclose(found, list(PENDULUM.values()), rtol=0, atol=TIGHT)
    assert np.abs(run.energy.total).max() < 1e-10  # as at the start: at rest, and level


@every_method
def test_the_pendulum_follows_jacobis_sine(formulation, integrator):
    # sin(phi/2) = -k sn(w t + K), k = sin(phi0/2), w^2 = g/l
    system = pendulum()
    run = moved(system, system.assemble({"phi": -np.pi / 2}), 4 * PERIOD, formulation, integrator, every=PERIOD / 64)
    sn, cn, _, _ = ellipj(np.sqrt(G) * run.t + ellipk(0.5), 0.5)
    np.testing.assert_allclose(np.sin(run["phi"] / 2), -np.sqrt(0.5) * sn, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(run.velocity("phi"), -2 * np.sqrt(G / 2) * cn, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(run["phi"][::64], -np.pi / 2, rtol=0, atol=TIGHT)


def test_the_period_of_the_pendulum_is_four_quarters():
    assert 4 * ellipk(0.5) / np.sqrt(G) == pytest.approx(PERIOD, rel=1e-15)


# --- the double pendulum ---


def double_pendulum():
    m = mt.Model("double pendulum", gravity=(0, -G, 0))
    upper, lower = (m.body(name, mt.rod(mass=1.0, length=1.0, along="-y")) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("z"), m.ground, upper)
    m.joint("B", mt.Revolute("z"), upper.at((0, -1, 0)), lower)
    return m.build()


DOUBLE_PENDULUM = {  # t: angles from the vertical, their velocities
    1: (-1.2077162381906380, -0.81439102309129633, -3.4065175329719579, -0.51604547210520866),
    2: (-0.082758306820570849, 0.40736207491190722, -0.96114544454599829, 11.898955053045295),
    3: (1.0250860122887292, 0.49573464762697516, -4.5933571054749801, 1.1843208806142297),
    5: (1.1385437966718781, 1.2443799277502604, 4.9109500240044520, -5.4247105931588727),
    10: (-0.74440708850921547, -14.345719734712588, -4.0351713204966654, 4.8968140781810301),
}
CHAOS = 2e5  # times farther apart: the velocities, in 10 s, of two starts that are near each other


@every_method
def test_two_rods_released_level(formulation, integrator):
    # up to 5 s to 1e-9; from there to 10 s errors grow a thousandfold: round-off and a tolerance of 1e-14 end at 1e-8
    system = double_pendulum()
    run = moved(system, system.assemble({"A": np.pi / 2}), 10.0, formulation, integrator, every=1.0, rtol=1e-14)
    upper, lower = run["A"], run["A"] + run["B"]
    found = np.stack([upper, lower, run.velocity("A"), run.velocity("A") + run.velocity("B")], axis=1)
    for t, expected in DOUBLE_PENDULUM.items():
        np.testing.assert_allclose(found[samples_at(run, [t])[0]], expected, rtol=0, atol=TIGHT if t < 10 else 1e-8)
    assert np.abs(run.energy.total).max() < 1e-10  # as at the start: at rest, and level


def test_default_settings_on_two_rods():
    # 1e-9 until 5 s; then neighbours are carried apart two hundred thousandfold, and 10 s are reached to 1e-8
    system = double_pendulum()
    run = system.simulate(system.assemble({"A": np.pi / 2}), 10.0, every=1.0)
    found = np.stack([run["A"], run["A"] + run["B"]], axis=1)
    for t, expected in DOUBLE_PENDULUM.items():
        atol = TIGHT if t < 10 else 1e-8
        np.testing.assert_allclose(found[samples_at(run, [t])[0]], expected[:2], rtol=0, atol=atol)


def test_neighbouring_motions_of_the_double_pendulum_separate():
    # why no more digits than that can be asked for at 10 s: of 16 digits, 5 are lost, and of those of the tolerance too
    system = double_pendulum()
    ends = []
    for shift in (0.0, 1e-9):
        start = system.assemble({"A": np.pi / 2 + shift})
        ends.append(moved(system, start, 10.0, "hamiltonian", "dop853", every=10.0, rtol=1e-14).v[-1])
    assert CHAOS / 3 < np.abs(ends[1] - ends[0]).max() / 1e-9 < CHAOS * 3


# --- the heavy top ---


def heavy_top():
    m = mt.Model("heavy top", gravity=(0, 0, -G))
    top = m.body("top", mass=15.0, com=(0, 1, 0), inertia=(0.234375, 0.46875, 0.234375))
    m.joint("point", mt.Spherical(), m.ground, top)
    return m.build(), top.at((0, 1, 0))


TOP = {  # t: quaternion, scalar first; angular velocity in axes of the body; centre of mass
    0.1: (
        (0.33182291260830083, 0.17733805666693702, 0.91497515913872788, -0.14582601443088862),
        (4.8089413317280923, 150.0, 1.0283007567183299),
        (0.42129665892540203, 0.89457197434559300, -0.14916470056189960),
    ),
    0.2: (
        (-0.70827915297431252, 0.43878108812658189, 0.54572839614541767, 0.089399752824005015),
        (-2.6915909121434087, 150.0, 4.9172609898939944),
        (0.60555056137711976, 0.59895768179491918, -0.52398302743000313),
    ),
    0.5: (
        (0.58456062406941464, -0.70066289541220648, 0.38432575302289437, 0.14019307880043518),
        (-0.47105310174524886, 150.0, 5.9010830483264572),
        (-0.70246829705658550, -0.021165184701923260, -0.71140025765173440),
    ),
    1.0: (
        (0.73294398067966372, -0.27828571933761265, 0.53182461133416265, -0.32017614273624928),
        (-0.82207810168270456, 150.0, -5.9232913481173365),
        (0.17334396409838606, 0.64008859207056882, -0.74849079113358129),
    ),
    2.0: (
        (0.12294713504153318, -0.49107989255002651, 0.35043003034362107, -0.78798688755048602),
        (0.12223321949740179, 150.0, -5.8556245892054578),
        (-0.15041682274564188, -0.72416559163689575, -0.67302226956044409),
    ),
}


def test_default_settings_on_the_heavy_top():
    system, centre = heavy_top()
    run = system.simulate(system.assemble(velocities={"point": (0, 150, -4.61538)}), 2.0, every=0.1)
    at = samples_at(run, list(TOP))
    turned, _, place = (np.array(part) for part in zip(*TOP.values(), strict=True))
    np.testing.assert_allclose(scalar_first(run["point"])[at], turned, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(run.position(centre)[at], place, rtol=0, atol=TIGHT)


@every_method
def test_the_heavy_top(formulation, integrator):
    system, centre = heavy_top()
    start = system.assemble(velocities={"point": (0, 150, -4.61538)})
    run = moved(system, start, 2.0, formulation, integrator, every=0.1)
    at = samples_at(run, list(TOP))
    turned, spin, place = (np.array(column) for column in zip(*TOP.values(), strict=True))
    np.testing.assert_allclose(scalar_first(run["point"])[at], turned, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(run.velocity("point")[at], spin, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(run.position(centre)[at], place, rtol=0, atol=TIGHT)


def test_the_heavy_top_agrees_with_published_values():
    # EXUDYN's example of the heavy top, from a MATLAB program by Z. Terze: Runge-Kutta, 5 digits at 0.2 s
    system, _ = heavy_top()
    run = system.simulate(system.assemble(velocities={"point": (0, 150, -4.61538)}), 0.2, every=0.2)
    np.testing.assert_allclose(scalar_first(run["point"])[-1], [-0.70828, 0.43878, 0.54573, 0.0894], rtol=0, atol=5e-6)


@every_method
def test_conserved_quantities_of_a_symmetric_top(formulation, integrator):
    # energy, the spin about its axis, and the angular momentum about the vertical
    system, _ = heavy_top()
    start = system.assemble(velocities={"point": (0, 150, -4.61538)})
    run = moved(system, start, 2.0, formulation, integrator, every=0.01)
    L = system.momentum(run.q, run.v)[:, 3:]
    assert run.energy.total[0] == pytest.approx(5435.696790865547, rel=1e-13)
    assert L[0, 2] == pytest.approx(-70.3124296875, rel=1e-13)
    for kept in (run.energy.total, run.velocity("point")[:, 1], L[:, 2]):
        assert conserved(kept, 1e-10)
    assert not conserved(L[:, 0], 0.1)


# --- the free body ---

FREE_BODY = {  # t: quaternion, scalar first; angular velocity in axes of the body
    1: (
        (0.84189230549231149, 0.21917491786190964, 0.11974676604675707, 0.47837267203970677),
        (0.33238481935631451, 0.49952010155895646, 0.95751060362075187),
    ),
    2: (
        (0.45969080550613359, 0.14522140338781087, 0.22677165282220554, 0.84626811638362097),
        (-0.20920573028668558, 0.56234594549548818, 0.94582715785087384),
    ),
    5: (
        (-0.85170181952940220, 0.22569199007898749, -0.16719489013527847, 0.44239462580047691),
        (0.076267824648150481, -0.59513294222672548, 0.93911603491023426),
    ),
    10: (
        (0.53896762890517974, -0.031978304931382132, 0.15052548922746951, -0.82815056608015124),
        (-0.57806262773233447, -0.16075944270613929, 0.99568341715306469),
    ),
    20: (
        (-0.37382755291462828, -0.20705380424706741, -0.098564626446233191, -0.89870278582086988),
        (0.51454392610543899, 0.30861715459125168, 0.98399787464065852),
    ),
}


def free_body(joint):
    m = mt.Model("free body", gravity=(0, 0, 0))
    body = m.body("body", mass=2.0, inertia=(1, 2, 3))
    m.joint("joint", joint, m.ground, body)
    return m.build()


@every_method
@pytest.mark.parametrize("joint", [mt.Spherical(), mt.Free()], ids=["held at its centre", "flying"])
@pytest.mark.repeats(3)
def test_the_free_body(formulation, integrator, joint):
    system = free_body(joint)
    flying = system.nv == 6
    spin = (0.6, 0, 1)
    start = system.assemble(velocities={"joint": (0.3, -0.2, 0.1, *spin) if flying else spin})
    run = moved(system, start, 20.0, formulation, integrator, every=1.0)
    at = samples_at(run, list(FREE_BODY))
    turned, velocities = (np.array(column) for column in zip(*FREE_BODY.values(), strict=True))
    np.testing.assert_allclose(scalar_first(run.q[at, -4:]), turned, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(run.v[at, -3:], velocities, rtol=0, atol=TIGHT)
    if flying:  # straight on, however it turns
        np.testing.assert_allclose(run.q[:, :3], np.outer(run.t, (0.3, -0.2, 0.1)), rtol=0, atol=TIGHT)


@every_method
def test_the_free_body_turns_by_jacobis_functions(formulation, integrator):
    # I = (1, 2, 3), w(0) = (0.6, 0, 1): w = (0.6 cn, 0.6 sn, dn) of the argument t and k^2 = 0.12
    system = free_body(mt.Spherical())
    run = moved(system, system.assemble(velocities={"joint": (0.6, 0, 1)}), 20.0, formulation, integrator, every=0.05)
    sn, cn, dn, _ = ellipj(run.t, 0.12)
    np.testing.assert_allclose(run.v, np.stack([0.6 * cn, 0.6 * sn, dn], axis=1), rtol=0, atol=TIGHT)


@every_method
def test_conserved_quantities_of_a_free_body(formulation, integrator):
    # its energy, its angular momentum in space, and hence the length of that in the body, the Casimir of rotations
    system = free_body(mt.Free())
    start = system.assemble(velocities={"joint": (0.3, -0.2, 0.1, 0.6, 0, 1)})
    run = moved(system, start, 20.0, formulation, integrator, every=0.05)
    momentum, in_body = system.momentum(run.q, run.v), run.v[:, 3:] * (1, 2, 3)
    for kept in (run.energy.total, momentum, np.linalg.norm(in_body, axis=1), np.linalg.norm(run.q[:, 3:], axis=1)):
        assert conserved(kept, 1e-11)
    turned = Rotation.from_quat(run.q[:, 3:])
    np.testing.assert_allclose(turned.apply(in_body), np.tile((0.6, 0, 3), (len(run.t), 1)), rtol=0, atol=1e-11)
