"""The walking mechanism by hand: its equations written out in NumPy, integrated by LSODA of SciPy.

Nothing of Momentree is used, so that the motion is a check as well as a rival. All of it moves in the plane y, z; an
angle turns y towards z, ey = (cos, sin) and ez = (-sin, cos) are axes at that angle. The coordinates are those of the
tree that Ivanov 2022 takes,

    y, z, phi           hull: its origin from (0, e1 - e3), its angle
    alpha               disc, to the hull
    z1, g1, z2, g2      legs in the guides of the hull: slide and angle
    b1, b2              the other halves of the legs on the pins of the disc,

and three constraints hold the halves of each leg together. Lagrange's equations of the first kind, with Baumgarte's
terms, for the centres of mass c = (y, z, angle) of the six halves and wholes, c' = B q':

    B^T W (B q'' + B' q') = B^T f + tau + J^T lambda,   J q'' = -J' q' - 2 k J q' - k^2 g .                    (1)

Contact, motor and the start on a periodic gait are those of examples/13_walking_mechanism, written out again.
"""

from __future__ import annotations

from collections.abc import Callable
from math import asin, cos, pi, sin, tanh
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import odeint
from scipy.linalg.lapack import dgesv

Array = NDArray[np.float64]
Numbers = tuple[float, ...]

E1, E2, E3 = 1.5, 0.05, 0.3  # m: length of a leg, radius of the pins, from a leg's upper end to its pin
HULL, DISC, HALF = (20.0, 0.9), (3.0, 0.004), (0.6, 0.13)  # kg, kg m2 about the centre of mass; half of a leg
LOW, MIDDLE = 0.1, 0.75  # m: centres of hull and leg below their origins
G = 9.8  # m/s2
STIFFNESS, DAMPING, RAMP, FRICTION, SLIP = 4e4, 1500.0, 1e-3, 0.8, 0.01
SERVO, BRAKE = 6000.0, 0.4  # N m/rad, N m s/rad
PERIOD = 2.6  # s
W0 = 2 * pi / PERIOD
WEIGHT = (HULL[0] + DISC[0] + 4 * HALF[0]) * G
BAUMGARTE = 20.0  # k, 1/s

Y, Z, PHI, ALPHA, Z1, G1, Z2, G2, B1, B2 = range(10)
ROW = 3  # of body i: rows 3 i, 3 i + 1, 3 i + 2 of B are its centre's y, z and its angle


class Gait(NamedTuple):
    """What a walk comes to.

    | field      | meaning                                                  |
    |------------|----------------------------------------------------------|
    | speed      | m/s, of the hull from start to end                       |
    | touchdowns | of each leg after the start                              |
    | flight     | whether there was an instant at which no leg touched     |
    | pitch      | rad, largest angle of the hull                           |
    """

    speed: float
    touchdowns: tuple[int, int]
    flight: bool
    pitch: float


class Walk(NamedTuple):
    """A motion: times, coordinates and velocities, and evaluations of the right-hand side."""

    t: Array
    q: Array
    v: Array
    evaluations: int

    @property
    def depths(self) -> Array:
        """How deep each leg is in the ground (m), k x 2."""
        return np.array([[depth(q, i) for i in (0, 1)] for q in self.q])

    @property
    def closure_error(self) -> float:
        """The largest between the halves of a leg (m, rad)."""
        return max(float(np.abs(closure_errors(q)).max()) for q in self.q)

    @property
    def gait(self) -> Gait:
        return gait(self.t, self.q[:, Y], self.q[:, PHI], self.depths)


def gait(t: Array, y: Array, phi: Array, depths: Array) -> Gait:
    """Of samples that are dense enough to see every step."""
    touching = depths > 0
    landed = (touching[1:] & ~touching[:-1]).sum(axis=0)
    speed = float((y[-1] - y[0]) / (t[-1] - t[0]))
    return Gait(speed, (int(landed[0]), int(landed[1])), not touching.any(axis=1).all(), float(np.abs(phi).max()))


def walk(seconds: float, rtol: float = 1e-6, atol: float = 1e-8, every: float = 1e-3) -> Walk:
    """By LSODA, from the periodic gait."""
    q, v = start()
    derivatives = right_hand_side()
    t = np.linspace(0, seconds, round(seconds / every) + 1)
    found, report = odeint(
        derivatives, np.concatenate([q, v]), t, tfirst=True, rtol=rtol, atol=atol, mxstep=100_000, full_output=True
    )
    return Walk(t, found[:, :10], found[:, 10:], int(report["nfe"][-1]))


def start() -> tuple[Array, Array]:
    """A periodic gait at the instant when leg 1 stands and the pins are in line: it rolls without slip.

    Angle and velocity of the hull solve a Newton iteration on the map of one period, whose multipliers are below 1.
    """
    q, v = closed(0.0, 1.26777324e-4, 0.0), np.zeros(10)
    q[Z] -= top(q, 0)[1] - (E1 - WEIGHT / STIFFNESS)  # the leg carries the weight
    q[Y], v[PHI], v[ALPHA] = 0.0, -0.212278321, W0
    g1 = E2 / E3 * W0  # of sin g1 = E2/E3 sin alpha, at alpha = 0
    v[G1], v[G2], v[B1], v[B2] = g1, -g1, g1 - W0, -g1 - W0
    # the contact point rests: v_top + w x (0, -height) = 0
    height, w = top(q, 0)[1], v[PHI] + v[G1]
    arm = top(q, 0)[0]
    v[Y] = -w * height + v[PHI] * (E3 + q[Z1]) * cos(q[PHI])
    v[Z] = -v[PHI] * arm
    return q, v


def closed(y: float, phi: float, alpha: float) -> Array:
    """A configuration whose halves fit: sin g1 = (E2/E3) sin alpha, and leg 2 half a turn later."""
    g = asin(E2 / E3 * sin(alpha))
    rise, down = E3 * cos(g) - E3, E2 * cos(alpha)
    return np.array([y, 0.0, phi, alpha, rise - down, g, rise + down, -g, g - alpha, -g - alpha])


def top(q: Array, leg: int) -> tuple[float, float]:
    """The upper end of a leg, about which its foot is rounded: from the hull's y, and above ground."""
    along = E3 + q[Z1 + 2 * leg]
    return -along * sin(q[PHI]), E1 - E3 + q[Z] + along * cos(q[PHI])


def depth(q: Array, leg: int) -> float:
    return E1 - top(q, leg)[1]


def closure_errors(q: Array) -> Array:
    """Between the halves of both legs: y, z, angle of the first, then of the second."""
    found = []
    hull, disc = q[PHI], q[PHI] + q[ALPHA]
    for leg, side in ((0, -1.0), (1, 1.0)):
        along, half = E3 + q[Z1 + 2 * leg], disc + q[B1 + leg]
        found += [
            -along * sin(hull) + side * E2 * sin(disc) + E3 * sin(half),
            along * cos(hull) - side * E2 * cos(disc) - E3 * cos(half),
            q[G1 + 2 * leg] - q[ALPHA] - q[B1 + leg],
        ]
    return np.array(found)


def right_hand_side() -> Callable[[float, Array], Array]:
    """(q, v)' of t and (q, v), its arrays made beforehand: each call writes what changes in them."""
    B, at = _pattern()
    J, at_J = _rows()
    W = np.repeat([HULL, DISC, HALF, HALF, HALF, HALF], [2, 1], axis=1).reshape(18, 1)
    weight = -G * W[:, 0] * np.tile([0.0, 1.0, 0.0], 6)
    f, bias, bias_J, g = np.zeros(18), np.zeros(18), np.zeros(6), np.zeros(6)
    K, right = np.zeros((16, 16), order="F"), np.zeros(16)

    def velocities(t: float, state: Array) -> Array:
        _, z, phi, alpha, z1, g1, z2, g2, b1, b2, *v = state.tolist()
        vy, vz, vphi, valpha, vz1, vg1, vz2, vg2, vb1, vb2 = v
        hull = (vy, E1 - E3 + z, vz, phi, vphi, cos(phi), sin(phi))
        disc = (phi + alpha, vphi + valpha, cos(phi + alpha), sin(phi + alpha))
        first = _leg(-E2, hull, disc, (z1, g1, b1), (vz1, vg1, vb1))
        second = _leg(E2, hull, disc, (z2, g2, b2), (vz2, vg2, vb2))
        cp, sp = hull[5:]
        B.put(at, [LOW * cp, LOW * sp, *first.slopes, *second.slopes])
        J.put(at_J, first.row_slopes + second.row_slopes)
        # bodies in the order hull, disc, guides, pins
        bias[:2] = -LOW * sp * vphi**2, LOW * cp * vphi**2
        bias[6:9], bias[9:12], bias[12:15], bias[15:] = first.in_guide, second.in_guide, first.on_pin, second.on_pin
        f[12:] = first.pressed + second.pressed
        bias_J[:], g[:] = first.row_bias + second.row_bias, first.closure_error + second.closure_error
        WB = W * B
        K[:10, :10], K[:10, 10:], K[10:, :10] = B.T @ WB, J.T, J
        right[:10] = B.T @ (f + weight) - bias @ WB
        right[ALPHA] -= SERVO * (alpha - W0 * t) + BRAKE * (valpha - W0)
        right[10:] = -bias_J - 2 * BAUMGARTE * (J @ state[10:]) - BAUMGARTE**2 * g
        return np.concatenate([state[10:], dgesv(K, right)[2][:10]])

    return velocities


class _Leg(NamedTuple):
    """What a leg brings into (1).

    | field            | meaning                                                                          |
    |------------------|----------------------------------------------------------------------------------|
    | slopes           | B of its halves, in the order of `_pattern`                                      |
    | in_guide, on_pin | B' q' of each half                                                               |
    | row_slopes       | J, in the order of `_rows`                                                       |
    | row_bias, closure error    | J' q' and g                                                                      |
    | pressed          | force and moment of the ground about the centre of the half on the pin           |
    """

    slopes: list[float]
    in_guide: tuple[float, float, float]
    on_pin: tuple[float, float, float]
    row_slopes: list[float]
    row_bias: list[float]
    closure_error: list[float]
    pressed: list[float]


def _leg(side: float, hull: Numbers, disc: Numbers, at: Numbers, velocity: Numbers) -> _Leg:
    """With its pin on this side of the disc."""
    vy, height, vz, phi, vphi, cp, sp = hull
    psi, vpsi, cd, sd = disc
    (slide, lean, turn), (vslide, vlean, vturn) = at, velocity
    along, leg, vleg, half, vhalf = E3 + slide, phi + lean, vphi + vlean, psi + turn, vpsi + vturn
    cl, sl, ch, sh = cos(leg), sin(leg), cos(half), sin(half)
    # in the guide: hull + along ez(phi) - MIDDLE ez(leg); by slide, phi, lean
    ly, lz = MIDDLE * cl, MIDDLE * sl
    slopes = [-sp, cp, -along * cp + ly, -along * sp + lz, ly, lz]
    swing, turned, lifted = 2 * vslide * vphi, along * vphi**2, MIDDLE * vleg**2
    drawn_y, drawn_z = -swing * cp + turned * sp, -swing * sp - turned * cp
    in_guide = (drawn_y - lifted * sl, drawn_z + lifted * cl, 0.0)
    # on the pin: hull + side ez(psi) + (E3 - MIDDLE) ez(half); by phi, alpha, turn
    ny, nz, oy, oz = -side * cd, -side * sd, (MIDDLE - E3) * ch, (MIDDLE - E3) * sh
    slopes += [ny + oy, nz + oz, ny + oy, nz + oz, oy, oz]
    around, about = side * vpsi**2, vhalf**2
    on_pin = (around * sd - (MIDDLE - E3) * about * sh, -around * cd + (MIDDLE - E3) * about * ch, 0.0)
    # held together: upper ends, hull + along ez(phi) and hull + side ez(psi) + E3 ez(half); by slide, phi, alpha, turn
    ey, ez = E3 * ch, E3 * sh
    row_slopes = [-sp, cp, -along * cp - ny + ey, -along * sp - nz + ez, ey - ny, ez - nz, ey, ez]
    row_bias = [drawn_y - around * sd - about * ez, drawn_z + around * cd + about * ey, 0.0]
    closure_error = [-along * sp + side * sd + ez, along * cp - side * cd - ey, lean - psi + phi - turn]
    # on the ground, under the upper end of the half on the pin
    up = height + side * cd + ey
    fall, slip = -(vz + nz * vpsi - ez * vhalf), vy + ny * vpsi + (up - ey) * vhalf
    return _Leg(slopes, in_guide, on_pin, row_slopes, row_bias, closure_error, _pressed(up, fall, slip, ch, sh))


def _pressed(up: float, fall: float, slip: float, ch: float, sh: float) -> list[float]:
    """What the ground does to a leg whose upper end is so high and comes down so fast."""
    depth = E1 - up
    if depth <= 0:
        return [0.0, 0.0, 0.0]
    N = max(0.0, STIFFNESS * depth + DAMPING * fall * min(1.0, depth / RAMP))
    F = -FRICTION * N * tanh(slip / SLIP)
    return [F, N, up * F - MIDDLE * (ch * F + sh * N)]


def _pattern() -> tuple[Array, NDArray[np.int64]]:
    """B with all that is constant in it, and the places of the rest, in the order in which it is computed."""
    B, at = np.zeros((18, 10)), list[int]()

    def entries(body: int, *coordinates: int) -> None:
        at.extend((ROW * body + row) * 10 + k for k in coordinates for row in (0, 1))

    for body, angles in enumerate(([PHI], [PHI, ALPHA], [PHI, G1], [PHI, G2], [PHI, ALPHA, B1], [PHI, ALPHA, B2])):
        B[ROW * body, Y] = B[ROW * body + 1, Z] = 1.0
        B[ROW * body + 2, angles] = 1.0
    entries(0, PHI)
    for leg in (0, 1):
        entries(2 + leg, Z1 + 2 * leg, PHI, G1 + 2 * leg)
        entries(4 + leg, PHI, ALPHA, B1 + leg)
    return B, np.array(at)


def _rows() -> tuple[Array, NDArray[np.int64]]:
    """J, likewise."""
    J, at = np.zeros((6, 10)), []
    for leg in (0, 1):
        slide, lean, turn = Z1 + 2 * leg, G1 + 2 * leg, B1 + leg
        J[ROW * leg + 2, [lean, ALPHA, turn]] = 1.0, -1.0, -1.0
        at += [(ROW * leg + row) * 10 + k for k in (slide, PHI, ALPHA, turn) for row in (0, 1)]
    return J, np.array(at)
