"""Ivanov 2022, section 3: the algorithm for trees, on a double pendulum and on a spatial tree with moving joints.

V. N. Ivanov, "Motion Equations of Rigid Bodies Systems with Closed Kinematic Chains in Hamiltonian Variables" (in
Russian), Bulletin of Perm University. Mathematics. Mechanics. Computer Science, 2022, issue 4(59), pages 18-28. The
paper prints no numbers for trees. These are from a program written apart from this library: on random trees its momenta
agree with Pinocchio to 2e-15, and its final states here with Lagrange's equations of the first kind to 1.4e-13 (double
pendulum) and 7e-13 (tree); 15 digits are stored.

That program gives G from the axes of the parent to those of the body, quaternions (w, x, y, z), and the velocity of a
free body in axes of the joint's first frame; here R takes the body to the first frame, so

    p_there = R p ,   p_there' = R (p' + w x p)      of the three linear momenta of a free body.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import momentree as mt
from momentree.assembly.state import State
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.hamiltonian import momenta, moving_bodies, right_hand_side
from momentree.spatial.inertia import RigidInertia

INSTANT = 1e-12
every_way = pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])


class Body(NamedTuple):
    """A body as that program has it: J about its origin (xx, yy, zz, xy, xz, yz), its joint at rho0 turned by G0."""

    parent: int
    mass: float
    com: tuple[float, ...]
    J: tuple[float, ...]
    G0: tuple[tuple[float, ...], ...]
    rho0: tuple[float, ...]


TREE = (
    Body(
        0,
        0.7354433697191238,
        (-0.390653852058695, 0.0383521209501856, -0.0948727777030747),
        (
            0.183591560052596,
            0.264840753543435,
            0.281302593799165,
            0.00989555009819206,
            -0.0348271469817184,
            -0.0261087927164377,
        ),
        (
            (0.957556726635419, 0.154420729484727, -0.243391358886601),
            (-0.255954462368625, 0.0671950363694089, -0.964350631399649),
            (-0.132561036767406, 0.985717538340837, 0.103867733865873),
        ),
        (-0.340464772201971, 0.611270669337015, -0.0772647410344011),
    ),
    Body(
        1,
        0.8857237301688696,
        (0.129246300902365, 0.642494280261138, -0.121924504915385),
        (
            0.554171095694372,
            0.220010005104634,
            0.546163572640255,
            -0.068483266404029,
            0.0119514622830988,
            0.0662766070432854,
        ),
        (
            (0.832352639067004, -0.226280980541925, -0.505950592531701),
            (-0.541034917023486, -0.133596650220604, -0.830321114756949),
            (0.120292571672502, 0.964856907989376, -0.233625435913125),
        ),
        (0.109344298364506, 0.435714388974095, 0.111797774387341),
    ),
    Body(
        1,
        2.262913446565838,
        (-0.0959013649071904, -0.141111796287839, -0.191663354473003),
        (
            0.262741507458514,
            0.256353762916194,
            0.26345132925592,
            -0.0478611455983033,
            -0.0708733450500595,
            -0.0199392884589566,
        ),
        (
            (-0.116927913048002, 0.989953621376761, 0.0794964821440264),
            (-0.610781216110448, -0.00856180032055165, -0.791753119110947),
            (-0.783118234493924, -0.14113299790732, 0.605646190200856),
        ),
        (-0.0956521624408074, -0.637843161668961, -0.56664360700174),
    ),
    Body(
        2,
        1.8925803808531958,
        (0.0475619073230143, 0.187677118190201, -0.0928039619160715),
        (
            0.224246257434007,
            0.250109438521661,
            0.200871491175565,
            0.0339202317687821,
            0.00988258302929276,
            0.0722988002516129,
        ),
        (
            (0.545417645504442, -0.612621251086864, -0.572026917801214),
            (0.297193470436487, -0.496781234709158, 0.815404467715723),
            (-0.783706343665985, -0.614738649799742, -0.0888862156922108),
        ),
        (-0.0398591054531995, -0.843667216979015, -0.723556236211544),
    ),
    Body(
        4,
        1.1646749036487989,
        (0.38976848933582, -0.106879191318428, 0.221254670540126),
        (
            0.211922115754576,
            0.405147805274323,
            0.341041150617415,
            0.0202253625003867,
            -0.107343961433115,
            0.0145670770971218,
        ),
        (
            (0.724779846933481, -0.308258479781313, -0.616174393432568),
            (0.245411257630994, 0.951175572564735, -0.187185322031728),
            (0.643791494279828, -0.015547983761952, 0.765042987088886),
        ),
        (0.0109260727617214, 0.800889445660458, -0.119677813736512),
    ),
    Body(
        3,
        1.3246530308319633,
        (0.107061317744853, 0.438990867365869, -0.356628916296855),
        (
            0.690590925435578,
            0.3287374809955,
            0.493898617992945,
            -0.0241420119795926,
            0.030580602418343,
            0.200524555254507,
        ),
        (
            (-0.297560107432578, 0.923555427226232, -0.241874668590334),
            (0.819500652321979, 0.377058623512961, 0.431561670307226),
            (0.489772052396382, -0.0698009117095404, -0.869051879588297),
        ),
        (-0.494769060015932, -1.06602314036565, 0.133855731171918),
    ),
)
AXES = (
    (0.567264113266202, 0.0481579242394108, 0.822126656989822),
    (0.799619346877007, -0.0807057819361492, -0.595059221306638),
    (0.491457302356609, -0.854153802213955, -0.169973533598051),
    (-0.283516625698069, -0.888149765909441, 0.361674323484244),
    (-0.173812909637909, 0.430802811719527, -0.885549552457542),
    (-0.898421094389099, 0.414497530720545, -0.145021840366423),
)
SECOND_AXIS_2 = (-0.640797044049719, 0.505648797551573, 0.577666375922808)
SECOND_AXIS_4 = (-0.69849372508638, 0.0185918620005279, 0.715374628207001)

# at t = 0.4
Q = {
    "j1": -0.798625542424649,
    "j2": (0.0265641492405411, -0.616167719700547),
    "j3": (0.340310355132816, -0.20891886414664, -0.205715639607975, 0.893433179378142),
    "j4": -0.725719522552055,
    "j5": -1.56791588794546,
    "j6": (
        0.366215192407448,
        -2.07786851140937,
        0.264378635825721,
        0.43160246862003,
        0.0308253025169712,
        0.00407768445614171,
        -0.901527859966241,
    ),
}
U = {
    "j1": 0.24422950667176,
    "j2": (0.678178320078856, -0.585529381352069),
    "j3": (-0.908673123125355, -1.99183821112138, 0.971622981986196),
    "j4": 0.0166573005760471,
    "j5": 0.205731344946828,
    "j6": (
        -0.783594876505616,
        1.22649802928596,
        0.943200577678001,
        -0.121823881487706,
        -0.555863457902285,
        -0.356691384058583,
    ),
}
P = {
    "j1": -0.393761796054013,
    "j2": (6.30963644298701, -5.24165870297365),
    "j3": (-1.91484947667316, -17.8260547809681, 27.8654524873162),
    "j4": 3.48938398102803,
    "j5": -0.538496876879348,
    "j6": (
        -7.16956170123627,
        1.30512050614432,
        6.97865529027628,
        1.43981833639471,
        -1.89969399696822,
        -2.46035386054104,
    ),
}
DP = {
    "j1": 10.5676198995822,
    "j2": (-17.0718021658714, 8.4291302552012),
    "j3": (27.0763975013805, -41.5607269567938, -10.4942806011757),
    "j4": -14.6280575469148,
    "j5": -2.9230167986589,
    "j6": (3.80136169981632, -32.8484474433374, 12.440856424723, 13.056969348994, -11.3035938151523, -10.3425089835904),
}
ORIGINS = (
    (-0.266000460204885, 0.462342045342843, 0.0344317269612278),
    (-0.0777447265435315, 0.522267299978285, -0.384221696890006),
    (-0.414495039565351, -0.0015998604152892, 0.741386803614244),
    (0.279107024089616, 1.63819747296046, 0.0707781641454572),
    (0.747728383682014, 1.72322670587267, -0.584225739065199),
    (-0.359168731611312, 0.0692606396360246, -2.12926697712894),
)

# from t = 0, with the same coordinates and velocities, to t = 0.5
P_START = {
    "j1": 0.18383296943817,
    "j2": (5.51176662490892, -4.56232763165046),
    "j3": (-2.30848402239419, -17.476620046623, 28.5774050038836),
    "j4": 3.47942708105993,
    "j5": -0.393409151390398,
    "j6": (
        -7.42607455007148,
        1.35930792569096,
        6.87409852108957,
        1.31195397209854,
        -1.91872980939583,
        -2.56198494898503,
    ),
}
Q_END = {
    "j1": -0.440579201096015,
    "j2": (-0.135224276057016, -1.04788751010701),
    "j3": (0.382996594820178, -0.145098653661049, -0.580345679647142, 0.703888401081306),
    "j4": -1.04778196299051,
    "j5": -3.02705431293226,
    "j6": (
        2.48645229527768,
        -1.93436624705497,
        4.17057253599082,
        0.320156644500269,
        -0.238887298533104,
        -0.431451897477476,
        -0.808876901478198,
    ),
}
U_END = {
    "j1": 1.19559231713295,
    "j2": (-1.0408944832468, -0.471077391358047),
    "j3": (-0.683736318648801, 1.37361852727075, -1.81993835179414),
    "j4": -1.18892784397579,
    "j5": -4.88651707209441,
    "j6": (8.11698870955341, 5.67530560532617, 10.7604392591982, 2.36470645465449, -1.676457618539, -1.22048610175002),
}


# --- the double pendulum: masses of 1 kg at the ends of rods of 1 m, hinges along x ---


def double_pendulum():
    m = mt.Model("double pendulum", gravity=(0, 0, -9.81))
    upper, lower = (m.body(name, mass=1.0, com=(0, 0, -1)) for name in ("upper", "lower"))
    m.joint("A", mt.Revolute("x"), m.ground, upper)
    m.joint("B", mt.Revolute("x"), upper.at((0, 0, -1)), lower)
    return m.build()


def test_momenta_of_the_double_pendulum_and_how_they_change():
    mechanism, q, u = double_pendulum().mechanism, [1.2, -0.5], [0.3, 0.2]
    p = [1.8020660495123, 0.763274768567112]
    near(momenta(Evaluation(mechanism, q), u), p)
    near(generalized(mechanism, moving_bodies(Evaluation(mechanism, q), p), "u"), u)
    near(right_hand_side(Evaluation(mechanism, q), p).q, u)
    near(right_hand_side(Evaluation(mechanism, q), p).p, [-24.6063823784787, -6.24786168101112])


@every_way
def test_the_double_pendulum_after_two_seconds(formulation):
    system = double_pendulum()
    start = system.assemble({"A": 1.2, "B": -0.5}, velocities={"A": 0.3, "B": 0.2})
    run = system.simulate(start, 2.0, formulation=formulation, rtol=1e-14)
    near(run.q[-1], [-0.356721466787138, -0.0308437384330714])
    near(run.v[-1], [2.8048916980197, -1.30405726692835], 3e-12)


# --- the tree: moving and hinged, universal, ball, sliding and turned by a law, hinged, free ---


def tree():
    """Laws of time move carriers without mass.

    The moments of body 4 break the triangle inequality: no body has them. A model says so; the equations do not mind.
    """
    m = mt.Model("tree", gravity=(0.3, -1.2, -9.81))
    own = [m.ground]
    for i, each in enumerate(TREE, 1):
        J = each.J if i != 4 else (1, 1, 1)
        own.append(m.body(f"b{i}", mass=each.mass, com=each.com, inertia=J, about="origin"))
    shifted, swung, slider = (m.body(name, massless=True) for name in ("shifted", "swung", "slider"))
    R = [np.array(each.G0).T for each in TREE]
    frames = [own[each.parent].at(each.rho0, R0) for each, R0 in zip(TREE, R, strict=True)]
    # rho = rho0 + d sin(2.1 t), angle = q + 0.4 sin(1.7 t)
    d = [f"{x}*sin(2.1*t)" for x in (0.1, -0.2, 0.15)]
    m.joint("shift", mt.Free(motion=(*d, 0, 0, 0)), m.ground.at(TREE[0].rho0), shifted)
    m.joint("swing", mt.Revolute(AXES[0], motion="0.4*sin(1.7*t)"), shifted.at((0, 0, 0), R[0]), swung)
    m.joint("j1", mt.Revolute(AXES[0]), swung, own[1])
    m.joint("j2", mt.Universal(AXES[1], SECOND_AXIS_2), frames[1], own[2])
    m.joint("j3", mt.Spherical(), frames[2], own[3])
    m.joint("j4", mt.Prismatic(AXES[3]), frames[3], slider)
    m.joint("twist", mt.Revolute(SECOND_AXIS_4, motion="0.6*sin(1.9*t)"), slider, own[4])
    m.joint("j5", mt.Revolute(AXES[4]), frames[4], own[5])
    m.joint("j6", mt.Free(), frames[5], own[6])
    mechanism = m.build().mechanism
    bodies = list(mechanism.bodies)
    (k,) = (k for k, body in enumerate(bodies) if body.name == "b4")
    inertia = RigidInertia(bodies[k].inertia.mass, bodies[k].inertia.h, TREE[3].J)
    bodies[k] = dataclasses.replace(bodies[k], inertia=inertia)
    return mt.System(dataclasses.replace(mechanism, bodies=tuple(bodies)), m), own


def turned(q):
    """From the axes of the free body to those of its joint's first frame."""
    w, x, y, z = q["j6"][3:]
    return Rotation.from_quat((x, y, z, w)).as_matrix()


def here(system, there, R=None):
    """Numbers by joint as the numbers of the system: coordinates, or, with R, velocities and momenta."""
    found = np.zeros(system.nq if R is None else system.nv)
    for body in system.mechanism.bodies:
        if body.laws is None:
            x = np.atleast_1d(there[body.joint.name])
            if R is None:
                found[body.q] = [*x[:-4], *np.roll(x[-4:], -1)] if len(x) > 3 else x  # a quaternion, scalar last
            else:
                found[body.v] = [*(R.T @ x[:3]), *x[3:]] if len(x) == 6 else x
    return found


def changes(system, dp, p, u, R):
    """Derivatives of momenta of that program as they are here: p' = R' p_there' - w x p."""
    found = here(system, dp, R)
    (free,) = (body for body in system.mechanism.bodies if body.joint.name == "j6")
    linear = found[free.v][:3]
    linear -= np.cross(u[free.v][3:], p[free.v][:3])
    return found


def near(found, expected, tolerance=INSTANT):
    """To a part of the largest number; 15 digits are stored."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def test_the_joints_of_the_tree_are_those_of_the_program():
    system, own = tree()
    q = here(system, Q)
    for body, origin in zip(own[1:], ORIGINS, strict=True):
        near(system.position(q, body, t=0.4), origin)


def test_momenta_of_the_tree():
    system, _ = tree()
    q, R = here(system, Q), turned(Q)
    u = here(system, U, R)
    near(momenta(Evaluation(system.mechanism, q, 0.4), u), here(system, P, R))
    near(momenta(Evaluation(system.mechanism, q, 0.0), u), here(system, P_START, R))


def test_rates_of_the_tree_from_its_momenta():
    system, _ = tree()
    q, R = here(system, Q), turned(Q)
    found = moving_bodies(Evaluation(system.mechanism, q, 0.4), here(system, P, R))
    near(generalized(system.mechanism, found, "u"), here(system, U, R))


def test_how_the_momenta_of_the_tree_change():
    system, _ = tree()
    q, R = here(system, Q), turned(Q)
    p, u = here(system, P, R), here(system, U, R)
    near(right_hand_side(Evaluation(system.mechanism, q, 0.4), p).p, changes(system, DP, p, u, R))


@every_way
@pytest.mark.repeats(1)
def test_the_tree_after_half_a_second(formulation):
    system, _ = tree()
    start = State(system.mechanism, here(system, Q), here(system, U, turned(Q)))
    run = system.simulate(start, 0.5, formulation=formulation, rtol=1e-14)
    near(run.q[-1], here(system, Q_END), 3e-12)
    near(run.v[-1], here(system, U_END, turned(Q_END)), 3e-12)
