"""Ivanov 2022, sections 2 to 4: loops that are opened inside bodies, on a four-bar and on the walking mechanism.

V. N. Ivanov, "Motion Equations of Rigid Bodies Systems with Closed Kinematic Chains in Hamiltonian Variables" (in
Russian), Bulletin of Perm University. Mathematics. Mechanics. Computer Science, 2022, issue 4(59), pages 18-28. The
paper prints pictures of the walk and no numbers. These are from a program written apart from this library, with (6)
corrected: its final states agree with Lagrange's equations of the first kind to 5e-13 (four-bar) and 4e-15 (walking
mechanism); 15 digits are stored.

That program has the frame of an image at the origin of the whole body, here it is at the joint that holds the image. It
has six rows in inertial axes, here they turn with the first body, and p*' differs by a wrench along the rows

    p*'_there = p*' + J' (w x f ; w x m + v_O x f)         eta = (f ; m), w of the first body, v_O of the common origin

which changes eta, and nothing that can be seen. It has the shortest eta, of all that close redundant rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.assembly.configuration import Configuration
from momentree.equations import hamiltonian
from momentree.equations.evaluation import Evaluation
from momentree.equations.kinematics import frame_placement
from momentree.spatial import Force, Motion

WALKER = Path(__file__).parents[2] / "examples" / "13_walking_mechanism" / "model.toml"


class Instant:
    """A system with loops at coordinates and momenta p*, by joint; numbers of bodies in the order of that program."""

    def __init__(self, system, bodies, q, p_star, t=0.0):
        self.system, self.mechanism, self.t = system, system.mechanism, t
        self.q, self.p_star = ordered(system, q), ordered(system, p_star)
        self.moving = hamiltonian.changing_bodies(Evaluation(self.mechanism, self.q.tolist(), t), self.p_star.tolist())
        number = {body.name: body.number for body in self.mechanism.bodies}
        self.numbers = [number[name] for name in bodies]
        self.images = {loop.second.body: loop.second.placement.offset for loop in self.mechanism.loops}

    @property
    def u(self):
        return np.concatenate([self.moving[body.number].u for body in self.mechanism.bodies])

    @property
    def dp(self):
        return np.concatenate([self.moving[body.number].dp for body in self.mechanism.bodies])

    @property
    def v(self):
        """Velocities, at the origins of the whole bodies."""
        found = []
        for number in self.numbers:
            v = self.moving[number].v
            arm = self.images.get(number)
            found.append(v if arm is None else Motion(v.linear + v.angular.cross(arm), v.angular))
        return np.array([(*v.linear, *v.angular) for v in found])

    @property
    def mu(self):
        """Momenta of bodies and of all that they carry, from the velocities."""
        found = {n: self.moving[n].inertia @ self.moving[n].v for n in range(len(self.mechanism.bodies) + 1) if n}
        for body in reversed(self.mechanism.bodies):
            if body.parent:
                found[body.parent] += self.moving[body.number].X.force_to_parent(found[body.number])
        return self._momenta(found)

    @property
    def mu_star(self):
        return self._momenta({number: self.moving[number].mu_star for number in self.numbers})

    def _momenta(self, by_number):
        found = []
        for number in self.numbers:
            mu, arm = by_number[number], self.images.get(number)
            found.append(mu if arm is None else Force(mu.linear, mu.angular - arm.cross(mu.linear)))
        return np.array([(*mu.linear, *mu.angular) for mu in found])

    def along_rows(self, wrenches):
        """J' of wrenches, one for each loop: on its first body and back on its second, at O in inertial axes."""
        found = np.zeros(self.system.nv)
        for joint, wrench in zip(Configuration(self.mechanism, self.q, t=self.t).joints, wrenches, strict=True):
            R = matrix(frame_placement(joint.closure.bodies, joint.loop.first).rotation)
            found -= joint.jacobian.T @ (np.reshape(wrench, (2, 3)) @ R).ravel()  # second less first, in axes of F
        return found

    def turning(self, eta):
        """(w x f ; w x m + v_O x f) of each loop."""
        found = []
        for joint, (f, m) in zip(
            Configuration(self.mechanism, self.q, self.u, self.t).joints, np.reshape(eta, (-1, 2, 3)), strict=True
        ):
            R = matrix(self.moving[joint.loop.first.body].X_0.rotation)
            w = R @ [*self.moving[joint.loop.first.body].v.angular]
            v_O = R @ self._velocity_of(joint.loop.first)
            found.append([*np.cross(w, f), *(np.cross(w, m) + np.cross(v_O, f))])
        return found

    def _velocity_of(self, end):
        v = self.moving[end.body].v
        return [*(v.linear + v.angular.cross(end.placement.offset))]

    def acceleration(self, h=1e-5):
        """u' along the motion, by differences."""
        u = []
        for step in (-h, h):
            q, p = self.q + step * self.u, self.p_star + step * self.dp
            moving = hamiltonian.moving_bodies(Evaluation(self.mechanism, q.tolist(), self.t + step), p.tolist())
            u.append(np.concatenate([moving[body.number].u for body in self.mechanism.bodies]))
        return (u[1] - u[0]) / (2 * h)


def matrix(rotation):
    return np.array([[*row] for row in rotation.rows], dtype=float)


def ordered(system, by_joint):
    """Numbers by joint in the order of the system; each joint has as many coordinates as velocities here."""
    return np.concatenate([np.atleast_1d(by_joint[body.joint.name]) for body in system.mechanism.bodies]).astype(float)


def near(found, expected, tolerance=1e-12):
    """To a part of the largest number; 15 digits are stored."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


# --- the four-bar: coordinates are zero where it starts; hinges along x ---

PIN = (0, 0.248643987308266, 0.313330763850993)  # of the coupler, on the crank
ROCKER_PIN, COUPLER_PIN = (0, 0.0224050487981184, 0.799686197072548), (0, 0.873761061489853, 0.486355433221555)
FOUR_BAR = {
    "u": {"A": 0.98646819382747, "B": -1.26156405449503, "D": 0.219206567320983, "C": -0.49430242798854},
    "p*": {"A": 1.17789027543075, "B": 0.686322776838965, "D": -0.240181656125515, "C": 0.0278429245725305},
    "p": {"A": 0.250937110108196, "B": 0.0903480747633244, "D": 0.130209020906875, "C": -0.136747576595919},
    "p*'": {"A": -7.93649581473179, "B": -4.30639121240203, "D": 3.89718261441255, "C": 4.21669045354431},
    "u'": {"A": -16.5354815351073, "B": 21.5093284186121, "D": -3.06996624670321, "C": 8.043813130208},
    # y, z and about x; all others vanish: crank, coupler, rocker, image of the coupler
    "v": (
        (0.0, 0.0, 0.98646819382747),
        (-0.309090832686671, 0.245279385066045, -0.275095860667558),
        (0.0, 0.0, 0.219206567320983),
        (-0.30909083268667, 0.245279385066044, -0.275095860667558),
    ),
    "mu": (
        (-0.396739065783793, 0.247735051984893, 0.250937110108196),
        (-0.242193649440458, 0.12509535945187, 0.0903480747633245),
        (-0.37366599908614, 0.12877885983014, 0.130209020906875),
        (-0.242193649440457, 0.12509535945187, 0.0903480747633242),
    ),
    "mu*": (
        (-1.05155215305842, 0.753700950430493, 1.17789027543075),
        (-0.897006736715086, 0.63106125789747, 0.686322776838965),
        (0.281147088188488, -0.37718703861546, -0.240181656125515),
        (0.412619437834171, -0.380870538993731, -0.505626627312317),
    ),
    "eta": (0.654813087274629, -0.5059658984456, -0.595974702075641),
    "lambda": (-4.55780210657162, -1.5768494436904, 2.81384926263249),
}
FOUR_BAR_START = {"A": 4.31071197750365, "B": -5.51283793448987, "D": 0.957898471750713, "C": -2.16002442873693}
FOUR_BAR_END = (  # after 1 s: coordinates, velocities
    {"A": 5.87993805266724, "B": -5.73421983129521, "D": -0.0289388355329971, "C": 0.174657056905039},
    {"A": 7.13261982993454, "B": -10.3342169463446, "D": -0.735092711139531, "C": -2.46650440527046},
)


def four_bar(share=0.5):
    m = mt.Model("four-bar", gravity=(0, 0, -9.8))
    J = {  # about the origins: xx, yy, zz, xy, xz, yz
        "crank": (0.0543333333333333, 0.0337253891918157, 0.0216079441415177, 0, 0, -0.0259692701567519),
        "coupler": (0.668666666666666, 0.1596944049494174, 0.51097226171725, 0, 0, -0.283305626395348),
        "rocker": (0.3215, 0.321249006894177, 0.00175099310582305, 0, 0, -0.0089585041342961),
    }
    crank = m.body("crank", mass=1, com=(0, 0.124321993654133, 0.156665381925497), inertia=J["crank"], about="origin")
    com = (0, 0.436880530744926, 0.243177716610777)
    coupler = m.body("coupler", mass=2, com=com, inertia=J["coupler"], about="origin")
    com = (0, 0.0112025243990592, 0.399843098536274)
    rocker = m.body("rocker", mass=1.5, com=com, inertia=J["rocker"], about="origin")
    m.joint("A", mt.Revolute("x"), m.ground, crank)
    m.joint("B", mt.Revolute("x"), crank.at(PIN), coupler)
    m.joint("D", mt.Revolute("x"), m.ground.at((0, 1.1, 0)), rocker)
    m.joint("C", mt.Revolute("x"), rocker.at(ROCKER_PIN), coupler.at(COUPLER_PIN))
    m.split("coupler", "C", share)
    return m.build()


def four_bar_instant():
    bodies = ("crank", "coupler", "rocker", "coupler (image)")
    return Instant(four_bar(), bodies, dict.fromkeys("ABCD", 0.0), FOUR_BAR["p*"])


def in_plane(rows):
    """(y, z, about x) as six components."""
    rows = np.asarray(rows)
    return np.stack([0 * rows[..., 0], rows[..., 0], rows[..., 1], rows[..., 2], *[0 * rows[..., 0]] * 2], axis=-1)


def test_how_the_four_bar_moves_with_its_momenta():
    found = four_bar_instant()
    near(found.u, ordered(found.system, FOUR_BAR["u"]))
    near(found.v, in_plane(FOUR_BAR["v"]))
    near(found.mu, in_plane(FOUR_BAR["mu"]))
    near(hamiltonian.momenta(Evaluation(found.mechanism, found.q), found.u), ordered(found.system, FOUR_BAR["p"]))


def test_what_the_closing_impulses_of_the_four_bar_carry():
    found = four_bar_instant()
    near(found.mu_star, in_plane(FOUR_BAR["mu*"]))
    # p = p* + J' eta
    eta = in_plane(FOUR_BAR["eta"])
    near(found.p_star + found.along_rows([eta]), ordered(found.system, FOUR_BAR["p"]))


def test_how_the_momenta_of_the_four_bar_change():
    found = four_bar_instant()
    wrench = found.turning(in_plane(FOUR_BAR["eta"]))
    near(found.dp + found.along_rows(wrench), ordered(found.system, FOUR_BAR["p*'"]))


def test_how_the_four_bar_accelerates():
    found = four_bar_instant()
    near(found.acceleration(), ordered(found.system, FOUR_BAR["u'"]), 1e-8)
    # M u' + bias = J' lambda
    force = found.system.mass_matrix(found.q) @ ordered(found.system, FOUR_BAR["u'"])
    force += found.system.bias(found.q, found.u)
    near(force, found.along_rows([in_plane(FOUR_BAR["lambda"])]))


@pytest.mark.repeats(1)
@pytest.mark.parametrize("share", [0.5, 0.1, 0.9])
def test_the_four_bar_after_a_second(share):
    # however the coupler is shared by its two halves
    system = four_bar(share)
    start = system.assemble({"A": 0.0}, velocities={"A": FOUR_BAR_START["A"]}, guess={"B": 0.0, "D": 0.0, "C": 0.0})
    near(start.q, np.zeros(4))
    near(start.v, ordered(system, FOUR_BAR_START))
    run = system.simulate(start, t_end=1.0, rtol=1e-13)
    near(run.q[-1], ordered(system, FOUR_BAR_END[0]), 1e-11)
    near(run.v[-1], ordered(system, FOUR_BAR_END[1]), 1e-11)


# --- the walking mechanism ---

WALKER_BODIES = ("hull", "disc", "leg 1", "leg 2", "leg 1 (image)", "leg 2 (image)")
WALKER_INERTIA = {  # mass, first moment along z, J about the origin; half of a leg on either side
    "hull": (20.0, -2.0, (1.1, 0.7, 0.5)),
    "disc": (3.0, 0.0, (0.004, 0.0025, 0.0025)),
    "leg 1": (0.6, -0.45, (0.4675, 0.4675, 0.00015)),
    "leg 2": (0.6, -0.45, (0.4675, 0.4675, 0.00015)),
}
TIME = 0.02
WALKER_AT = {
    "q": {
        "hull": (0.0, 0.0437770020090612, 0.000126777323800744),
        "alpha": 0.0,
        "guide1": (-0.05, 0.0),
        "guide2": (0.05, 0.0),
        "pin1": 0.0,
        "pin2": 0.0,
    },
    "p*": {
        "hull": (-9.12934267858232, -0.200253780889797, -1.39313220313927),
        "alpha": -0.252785251560364,
        "guide1": (0.0200216446568742, -0.0689932286914899),
        "guide2": (0.0400216446568741, -0.396029054379201),
        "pin1": -0.0334904588935267,
        "pin2": -0.245599856354017,
    },
    "u": {
        "hull": (-0.336683549290105, -0.00788112428251815, -0.187526146511442),
        "alpha": 2.14008019654493,
        "guide1": (0.0, 0.35668003275749),
        "guide2": (0.0, -0.35668003275749),
        "pin1": -1.78340016378744,
        "pin2": -2.49676022930242,
    },
    "p": {
        "hull": (-9.12934267858232, -0.200253780889797, -1.39313220313927),
        "alpha": -0.252837067155997,
        "guide1": (-0.0047030642279707, -0.0513319122769591),
        "guide2": (-0.00470306422797066, -0.376389066312197),
        "pin1": -0.0220031452813809,
        "pin2": -0.254132161109303,
    },
    "p*'": {
        "hull": (208.337604996261, 11.8127711501718, 259.117958681109),
        "alpha": 549.196726314867,
        "guide1": (-5.91655342248556, 0.00677115017276343),
        "guide2": (-5.96336444396431, 0.0137733624940124),
        "pin1": 248.691359424339,
        "pin2": -0.0188984182334628,
    },
    "u'": {
        "hull": (-0.0193900692954827, 0.45435379828645, 67.8019953198069),
        "alpha": 6089.68175017729,
        "guide1": (0.190830968651698, 1014.94695836289),
        "guide2": (-0.267163356113077, -1014.94695836288),
        "pin1": -5074.73479181441,
        "pin2": -7104.62870854018,
    },
    # y, z and about x; all others vanish
    "v": (
        (-0.336684545732276, -0.00783844037995111, -0.187526146511442),
        (-0.336684545732276, -0.00783844037995111, 1.95255405003349),
        (-0.289803009104415, -0.00783844037995116, 0.169153886246048),
        (-0.271050394453271, -0.00783844037995109, -0.544206179268932),
        (-0.289803009104416, -0.00783844037995111, 0.169153886246049),
        (-0.27105039445327, -0.00783844037995111, -0.544206179268932),
    ),
    "mu": (
        (-9.12936799285504, -0.199096385650758, -1.39313220313927),
        (-1.51533921119174, -0.0329214495957947, -0.252837067155997),
        (-0.0977625566519273, -0.0047030642279707, -0.0513319122769591),
        (-0.407523017342982, -0.00470306422797066, -0.376389066312197),
        (-0.0977625566519274, -0.00470306422797067, -0.0513319122769592),
        (-0.407523017342982, -0.00470306422797067, -0.376389066312198),
    ),
    "mu*": (
        (-9.12936799285504, -0.199096385650758, -1.39313220313927),
        (-1.38115150006376, -0.102370867365484, -0.252785251560364),
        (-0.194924656740849, 0.0200216446568742, -0.0689932286914899),
        (-0.44454862838204, 0.0400216446568741, -0.396029054379201),
        (-0.000600456563005711, -0.0294277731128155, -0.0336705958624285),
        (-0.370497406303923, -0.0494277731128155, -0.356749078245194),
    ),
    "eta": (
        (0.0971652338405191, -0.0247123907351599, 0.0176613164145307),
        (0.0370312808203965, -0.044720014517559, 0.0196399880670033),
    ),
    "lambda": (
        (2017.60936786742, 6.53050041199135, 498.549270850857),
        (-2582.71774852995, 5.79077298673282, -453.477225007833),
    ),
}
WALKER_START = {
    "hull": (-0.337619112383103, -6.72801934774033e-06, -0.212278321203166),
    "alpha": 2.41660973353061,
    "guide1": (0.0, 0.402768288921768),
    "guide2": (0.0, -0.402768288921768),
    "pin1": -2.01384144460884,
    "pin2": -2.81937802245238,
}
WALKER_END = (  # after 0.25 s: coordinates, velocities
    {
        "hull": (-0.0865917657626263, 0.0366517106781135, -0.0445380003512368),
        "alpha": 0.605053991215591,
        "guide1": (-0.042474698729031, 0.0949436580169215),
        "guide2": (0.0397724400987389, -0.0949436580169219),
        "pin1": -0.510110333198669,
        "pin2": -0.69999764923251,
    },
    {
        "hull": (-0.363339849217277, -0.0579974664712522, -0.110552486077101),
        "alpha": 2.41864216263397,
        "guide1": (0.0593150893131713, 0.33304394767787),
        "guide2": (-0.0782588449800676, -0.333043947677885),
        "pin1": -2.08559821495609,
        "pin2": -2.75168611031186,
    },
)
WALKED = 1e-10  # 12 and more of 15 digits remain where reactions are ten thousand times as large as what they leave


def walker_instant():
    return Instant(mt.load(WALKER).build(), WALKER_BODIES, WALKER_AT["q"], WALKER_AT["p*"], TIME)


def contact_on_leg_1():
    """The force and its moment about the upper end of the leg, (y, z, about x); leg 2 is in the air.

    N = max(0, k depth - c v_z min(1, depth / ramp)), F = -friction N tanh(v_y / slip), v of the point that touches.
    """
    height, (y, z, w) = 1.493777, WALKER_AT["v"][2]
    phi = WALKER_AT["q"]["hull"][2]
    y, z = y * np.cos(phi) - z * np.sin(phi), y * np.sin(phi) + z * np.cos(phi)
    depth = 1.5 - height
    N = max(0.0, 4e4 * depth - 1500 * z * min(1.0, depth / 1e-3))
    F = -0.8 * N * np.tanh((y + w * height) / 0.01)
    return F, N, F * height


def test_the_halves_of_the_legs_are_those_of_the_program():
    mechanism = mt.load(WALKER).build().mechanism
    inertias = {body.name: body.inertia for body in mechanism.bodies}
    for name, (mass, h, J) in WALKER_INERTIA.items():
        near([inertias[name].mass, *inertias[name].h], (mass, 0, 0, h), 1e-15)
        near(inertias[name].J, (*J, 0, 0, 0), 1e-15)
    for leg in ("leg 1", "leg 2"):
        assert inertias[f"{leg} (image)"].mass == inertias[leg].mass


def test_how_the_walking_mechanism_moves_with_its_momenta():
    found = walker_instant()
    near(found.u, ordered(found.system, WALKER_AT["u"]), WALKED)
    near(found.v, in_plane(WALKER_AT["v"]), WALKED)
    near(found.mu, in_plane(WALKER_AT["mu"]), WALKED)
    near(
        hamiltonian.momenta(Evaluation(found.mechanism, found.q, TIME), found.u),
        ordered(found.system, WALKER_AT["p"]),
        WALKED,
    )


def test_what_the_closing_impulses_of_the_walking_mechanism_carry():
    found = walker_instant()
    near(found.mu_star, in_plane(WALKER_AT["mu*"]), WALKED)
    near(found.p_star + found.along_rows(in_plane(WALKER_AT["eta"])), ordered(found.system, WALKER_AT["p"]), WALKED)


def test_how_the_momenta_of_the_walking_mechanism_change():
    # that program has the contact act on the image, this one on the leg: they differ by the force along the rows
    found = walker_instant()
    wrenches = np.array(found.turning(in_plane(WALKER_AT["eta"])))
    wrenches[0] -= in_plane(contact_on_leg_1())
    near(found.dp + found.along_rows(wrenches), ordered(found.system, WALKER_AT["p*'"]), WALKED)


def test_how_the_walking_mechanism_accelerates():
    found = walker_instant()
    near(found.acceleration(1e-7), ordered(found.system, WALKER_AT["u'"]), 1e-6)
    # M u' + bias = J' lambda, the contact being on the leg here
    wrenches = in_plane(WALKER_AT["lambda"])
    wrenches[0] -= in_plane(contact_on_leg_1())
    force = found.system.mass_matrix(found.q) @ ordered(found.system, WALKER_AT["u'"])
    force += found.system.bias(found.q, found.u, TIME)
    near(force, found.along_rows(wrenches), WALKED)


def test_the_walking_mechanism_after_a_quarter_of_a_second():
    system = mt.load(WALKER).build()
    given = {"hull": WALKER_AT["q"]["hull"], "alpha": 0.0}
    velocities = {"hull": WALKER_START["hull"], "alpha": WALKER_START["alpha"]}
    start = system.assemble(given, velocities=velocities, guess=WALKER_AT["q"])
    near(start.q, ordered(system, WALKER_AT["q"]))
    near(start.v, ordered(system, WALKER_START))
    run = system.simulate(start, t_end=0.25, rtol=1e-12)
    near(run.q[-1], ordered(system, WALKER_END[0]), 1e-12)
    near(run.v[-1], ordered(system, WALKER_END[1]), 1e-11)
