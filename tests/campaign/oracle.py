"""The oracle: every body by itself (maximal coordinates), every joint, of a loop or not, as equations on two bodies.

With x the accelerations of all bodies (of the centre of mass by a length L, and angular) in inertial axes,

    M x - G' lambda = f,      G x = gamma,

where each joint gives the rows of G, its constraints. The rows are orthonormal and lengths are counted
in L, so that singular values of G are pure numbers: those below CUT_OFF are zero, and redundant equations fall away.
NumPy only, and no code of the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from campaign.geometry import AllowedMotion, Array, allowed_motion, cross, fitted, placed, skew
from campaign.laws import jet
from campaign.loads import loads_of, potential_energy
from campaign.reading import Plain, PlainJoint

CUT_OFF = 1e-9  # singular values of G below are zero
DOUBTFUL = 1e-5  # and those between the two leave the rank open
UNDETERMINED = 1e-9  # least inertia along a motion, as the square root of a part of the largest


class Unanswered(Exception):
    """The oracle cannot decide what is right."""


class Motion(NamedTuple):
    """Of all bodies, the ground first: placement and velocity of each body's own frame, in inertial axes."""

    R: Array
    r: Array
    w: Array
    v: Array


class GroundMotion(NamedTuple):
    """The ground: placement, velocity, acceleration."""

    R: Array
    r: Array
    w: Array
    v: Array
    alpha: Array
    a: Array


@dataclass
class JointMotion:
    """A joint as it stands and moves; 6-vectors in axes of F, for the origin P of M (world), linear part first."""

    joint: PlainJoint
    P: Array
    R_F: Array
    q: tuple[float, ...]
    u: Array
    closure_error: Array
    through: AllowedMotion
    seen: Array  # velocity of M in F
    prescribed: tuple[Array, Array] | None  # velocity and acceleration of M in F


class Answer(NamedTuple):
    """What follows from the laws of motion.

    | field        | meaning                                                                                   |
    |--------------|-------------------------------------------------------------------------------------------|
    | du           | by joint: the derivatives of its velocities                                               |
    | reactions    | by joint: force and moment about the origin of M on its second body, in inertial axes      |
    | known        | by joint: 6 x k, directions (of force by L) of the reaction that the laws determine         |
    | acceleration | of all bodies' centres, and angular                                                       |
    | inconsistent | how far redundant equations contradict each other, by the largest right-hand side          |
    """

    du: dict[str, Array]
    reactions: dict[str, Array]
    known: dict[str, Array]
    acceleration: Array
    inconsistent: float


def ground_motion(plain: Plain, t: float) -> GroundMotion:
    """By its laws of time: three positions, then turns about x, y and z, each about an axis already turned."""
    if plain.ground is None:
        return GroundMotion(np.eye(3), *np.zeros((5, 3)))
    x, dx, ddx, R, w, alpha = _moved(plain.ground, plain, t)
    return GroundMotion(R, x, w, dx, alpha, ddx)


def _moved(laws: tuple[Any, ...], plain: Plain, t: float) -> tuple[Array, ...]:
    jets = [jet(law, plain.parameters, t) for law in laws]
    x, dx, ddx = (np.array([getattr(j, part) for j in jets[:3]]) for part in "abc")
    return x, dx, ddx, *_turned(jets[3:])


def _turned(jets: list[Any]) -> tuple[Array, Array, Array]:
    """R of three turns about x, y, z, its angular velocity and acceleration in the fixed axes."""
    R, w, alpha = np.eye(3), np.zeros(3), np.zeros(3)
    for n, angle in zip(np.eye(3), jets, strict=True):
        axis = R @ n
        alpha = alpha + axis * angle.c + cross(w, axis * angle.b)
        w = w + axis * angle.b
        R = R @ placed("Revolute", [n], 0.0, (angle.a,))[1]
    return R, w, alpha


def prescribed_motion(joint: PlainJoint, plain: Plain, t: float) -> tuple[tuple[float, ...], Array, Array]:
    """The coordinates of a prescribed joint; velocity and acceleration of M in F."""
    laws = joint.motion or ()
    if joint.kind in ("Spherical", "Free"):
        still: tuple[Any, ...] = (0, 0, 0)
        x, dx, ddx, R, w, alpha = _moved(laws if joint.kind == "Free" else still + laws, plain, t)
        return fitted(joint.kind, [], 0.0, x, R), np.concatenate([dx, w]), np.concatenate([ddx, alpha])
    jets = [jet(law, plain.parameters, t) for law in laws]
    q, u, du = (np.array([getattr(j, part) for j in jets]) for part in "abc")
    R = placed(joint.kind, joint.axes, joint.pitch, q)[1]
    through = allowed_motion(joint.kind, joint.axes, joint.pitch, R, q, u)
    return tuple(q), through.S @ u, through.S @ du + through.rest


class Oracle:
    """A model at one instant. `coordinates` and `velocities` of joints place and move the bodies, joint by joint."""

    least_demand = 1e-300  # on accelerations: what redundant equations contradict each other by is measured by it

    def __init__(self, plain: Plain, t: float, length: float | None = None):
        self.plain, self.t = plain, t
        self.ground = ground_motion(plain, t)
        self.L = length or size_of(plain)
        self.motion: Motion
        self.coordinates: Mapping[str, Any] = {}

    # --- where the bodies are ---

    def place(self, coordinates: Mapping[str, Any], velocities: Mapping[str, Any] | None = None) -> Oracle:
        """From the ground through joints with known coordinates to every body."""
        n = len(self.plain.bodies) + 1
        R, r, w, v = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        g = self.ground
        R[0], r[0], w[0], v[0] = g.R, g.r, g.w, g.v
        motion, known = Motion(R, r, w, v), {0}
        while len(known) < n:
            before = len(known)
            for joint in self.plain.joints:
                ends = joint.first.body, joint.second.body
                given = joint.motion is not None or joint.name in coordinates or joint.kind == "Fixed"
                if given and (ends[0] in known) != (ends[1] in known):
                    self._carry(motion, joint, ends[0] in known, coordinates, velocities)
                    known |= set(ends)
            if len(known) == before:
                raise ValueError("the coordinates given do not place every body")
        self.coordinates = coordinates
        return self.moving(motion)

    def moving(self, motion: Motion, coordinates: Mapping[str, Any] | None = None) -> Oracle:
        """At this motion of the bodies; coordinates say how often angles went round, where that counts."""
        self.motion = motion
        self.coordinates = self.coordinates if coordinates is None else coordinates
        for name in ("joints", "G", "decomposed", "_loads"):
            self.__dict__.pop(name, None)
        return self

    def _carry(self, m: Motion, joint: PlainJoint, outward: bool, coordinates: Any, velocities: Any) -> None:
        a, b = joint.first, joint.second
        if joint.motion is not None:
            q, seen, _ = prescribed_motion(joint, self.plain, self.t)
        else:
            q = tuple(np.atleast_1d(coordinates[joint.name])) if joint.freedom else ()
            u = np.atleast_1d((velocities or {}).get(joint.name, np.zeros(joint.freedom)))
            R = placed(joint.kind, joint.axes, joint.pitch, q)[1]
            seen = allowed_motion(joint.kind, joint.axes, joint.pitch, R, q, u).S @ u
        x, R_FM = placed(joint.kind, joint.axes, joint.pitch, q)
        if outward:
            R_F = m.R[a.body] @ a.R
            P = m.r[a.body] + m.R[a.body] @ a.p + R_F @ x
            m.R[b.body] = R_F @ R_FM @ b.R.T
            m.r[b.body] = P - m.R[b.body] @ b.p
            dv, dw = R_F @ seen[:3], R_F @ seen[3:]
            m.w[b.body] = m.w[a.body] + dw
            v_P = m.v[a.body] + cross(m.w[a.body], P - m.r[a.body]) + dv
            m.v[b.body] = v_P - cross(m.w[b.body], P - m.r[b.body])
        else:
            R_F = m.R[b.body] @ b.R @ R_FM.T
            P = m.r[b.body] + m.R[b.body] @ b.p
            m.R[a.body] = R_F @ a.R.T
            m.r[a.body] = P - R_F @ x - m.R[a.body] @ a.p
            dv, dw = R_F @ seen[:3], R_F @ seen[3:]
            m.w[a.body] = m.w[b.body] - dw
            v_P = m.v[b.body] + cross(m.w[b.body], P - m.r[b.body]) - dv
            m.v[a.body] = v_P - cross(m.w[a.body], P - m.r[a.body])

    @cached_property
    def joints(self) -> list[JointMotion]:
        """Every joint as it stands and moves between its bodies."""
        return [self._joint(joint) for joint in self.plain.joints]

    def _joint(self, joint: PlainJoint) -> JointMotion:
        m, a, b = self.motion, joint.first, joint.second
        R_F, R_M = m.R[a.body] @ a.R, m.R[b.body] @ b.R
        P = m.r[b.body] + m.R[b.body] @ b.p
        x, R_FM = R_F.T @ (P - m.r[a.body] - m.R[a.body] @ a.p), R_F.T @ R_M
        v_P = m.v[b.body] + cross(m.w[b.body], P - m.r[b.body])
        v_P = v_P - m.v[a.body] - cross(m.w[a.body], P - m.r[a.body])
        seen = np.concatenate([R_F.T @ v_P, R_F.T @ (m.w[b.body] - m.w[a.body])])
        prescribed = None
        if joint.motion is not None:
            q, *prescribed_parts = prescribed_motion(joint, self.plain, self.t)
            prescribed = tuple(prescribed_parts)
        else:
            q = fitted(joint.kind, joint.axes, joint.pitch, x, R_FM)
            if joint.name in self.coordinates:
                q = _wound(joint, q, np.atleast_1d(self.coordinates[joint.name]))
        x_q, R_q = placed(joint.kind, joint.axes, joint.pitch, q)
        turned = R_FM @ R_q.T
        axial = 0.5 * np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
        closure_error = np.concatenate([x - x_q, axial])
        S = allowed_motion(joint.kind, joint.axes, joint.pitch, R_q, q, np.zeros(7)).S
        u = np.linalg.pinv(self._scaled(S)) @ self._scaled(seen) if S.shape[1] else np.zeros(0)
        through = allowed_motion(joint.kind, joint.axes, joint.pitch, R_q, q, u)
        return JointMotion(joint, P, R_F, q, u, closure_error, through, seen, prescribed)  # type: ignore[arg-type]

    def _scaled(self, x: Array) -> Array:
        """Lengths counted in L."""
        y = np.array(x, dtype=float)
        y[:3] /= self.L
        return y

    # --- what the joints do not let pass ---

    def rows_of(self, jm: JointMotion) -> Array:
        """K: an orthonormal basis, by rows, of the constraint wrench subspace (lengths in L, axes of F)."""
        if jm.joint.motion is not None:
            return np.eye(6)
        S = self._scaled(jm.through.S)
        if not S.shape[1]:
            return np.eye(6)
        return np.linalg.svd(S)[0][:, S.shape[1] :].T

    @cached_property
    def G(self) -> tuple[Array, list[slice], list[Array]]:
        """The Jacobian on (velocity of the centre by L, angular velocity) of each body, its slices, the rows K."""
        n = len(self.plain.bodies)
        centres = self.motion.r[1:] + self._com_offsets()
        blocks, slices, Ks, begun = [], [], [], 0
        for jm in self.joints:
            K = self.rows_of(jm)
            block = np.zeros((len(K), 6 * n))
            K_W = np.concatenate([K[:, :3] @ jm.R_F.T, K[:, 3:] @ jm.R_F.T], axis=1)  # on vectors in inertial axes
            for body, sign in ((jm.joint.second.body, 1.0), (jm.joint.first.body, -1.0)):
                if body:
                    arm = (jm.P - centres[body - 1]) / self.L
                    at = slice(6 * body - 6, 6 * body)
                    block[:, at] += sign * np.concatenate([K_W[:, :3], K_W[:, 3:] - K_W[:, :3] @ skew(arm)], axis=1)
            blocks.append(block)
            slices.append(slice(begun, begun + len(K)))
            Ks.append(K_W)
            begun += len(K)
        return np.concatenate([np.zeros((0, 6 * n)), *blocks]), slices, Ks

    def _com_offsets(self) -> Array:
        R = self.motion.R
        return np.array([R[i] @ body.com for i, body in enumerate(self.plain.bodies, 1)]).reshape(-1, 3)

    @cached_property
    def decomposed(self) -> tuple[Array, Array, Array]:
        """U, singular values (pure numbers, as many as G has rows) and V' of G, both full."""
        G = self.G[0]
        if not G.size:
            return np.eye(len(G)), np.zeros(len(G)), np.eye(G.shape[1])
        U, sizes, V = np.linalg.svd(G)
        return U, np.concatenate([sizes, np.zeros(len(U) - len(sizes))]), V

    @property
    def singular_values(self) -> Array:
        """Of G."""
        return self.decomposed[1]

    @property
    def rank(self) -> int:
        """Of G."""
        return int((self.singular_values > CUT_OFF).sum())

    @property
    def doubtful(self) -> bool:
        """Whether a singular value is neither clearly zero nor clearly not."""
        sizes = self.singular_values
        return bool(((sizes > 0.01 * CUT_OFF) & (sizes < DOUBTFUL)).any())

    @property
    def freedom(self) -> int:
        """Degrees of freedom here, for an instant."""
        return 6 * len(self.plain.bodies) - self.rank

    def closure_errors(self) -> dict[str, float]:
        """By joint, its closure error (by L, and rad)."""
        return {jm.joint.name: float(np.abs(self._scaled(jm.closure_error)).max()) for jm in self.joints}

    def constraint_velocities(self) -> dict[str, float]:
        """By joint, its constraint velocity (lengths in L: 1/s)."""
        found = {}
        for jm in self.joints:
            known = np.zeros(6) if jm.prescribed is None else self._scaled(jm.prescribed[0])
            found[jm.joint.name] = float(np.abs(self.rows_of(jm) @ (self._scaled(jm.seen) - known)).max(initial=0.0))
        return found

    def consistent(self, wanted: Array) -> Motion:
        """The motion nearest to wanted velocities (bodies x 6: of centres by L, angular) that keeps joints closed."""
        G = self.G[0]
        x = wanted.reshape(-1).copy()
        right = self._velocity_side()
        U, sizes, V = self.decomposed
        k = self.rank
        for _ in range(2):
            x += V[:k].T @ ((U[:, :k].T @ (right - G @ x)) / sizes[:k])
        m, offsets = self.motion, self._com_offsets()
        w, v = m.w.copy(), m.v.copy()
        parts = x.reshape(-1, 6)
        for i in range(len(parts)):
            w[i + 1] = parts[i, 3:]
            v[i + 1] = parts[i, :3] * self.L - cross(w[i + 1], offsets[i])
        return Motion(m.R, m.r, w, v)

    def _velocity_side(self) -> Array:
        """What G must make of the velocities: prescribed motion, and that of the ground."""
        parts = []
        g = self.ground
        for jm in self.joints:
            K = self.rows_of(jm)
            known = np.zeros(6) if jm.prescribed is None else self._scaled(jm.prescribed[0])
            for end, sign in ((jm.joint.first, 1.0), (jm.joint.second, -1.0)):
                if end.body == 0:
                    carried = np.concatenate([jm.R_F.T @ (g.v + cross(g.w, jm.P - g.r)), jm.R_F.T @ g.w])
                    known = known + sign * self._scaled(carried)
            parts.append(K @ known)
        return np.concatenate([np.zeros(0), *parts])

    # --- how they accelerate ---

    @cached_property
    def _loads(self) -> tuple[Array, dict[str, Array]]:
        return loads_of(self)

    def answer(self, tau: Mapping[str, Any] | None = None, rank: int | None = None) -> Answer:
        """Accelerations and reactions, with generalized forces tau at joints besides the forces of the model."""
        G, slices, Ks = self.G
        M, f, gamma, driven = self._equations(tau or {})
        rank = self.rank if rank is None else rank
        U, null = self.decomposed[0][:, :rank], self.decomposed[0][:, rank:]
        left = gamma - U @ (U.T @ gamma)
        inconsistent = float(np.abs(left).max(initial=0.0) / max(np.abs(gamma).max(initial=0.0), self.least_demand))
        x, multipliers = _solve(M, U.T @ G, f, U.T @ gamma)
        lam = U @ multipliers
        du, reactions, known = {}, {}, {}
        for jm, part, K_W in zip(self.joints, slices, Ks, strict=True):
            name = jm.joint.name
            du[name] = self._joint_acceleration(jm, x)
            wrench = K_W.T @ lam[part]
            reactions[name] = np.concatenate([wrench[:3] / self.L, wrench[3:]]) + driven[name]
            known[name] = _determined(K_W, null[part])
        return Answer(du, reactions, known, x, inconsistent)

    def _equations(self, tau: Mapping[str, Any]) -> tuple[Array, Array, Array, dict[str, Array]]:
        n, m = len(self.plain.bodies), self.motion
        applied, along = self._loads
        f, M = applied.copy(), np.zeros((6 * n, 6 * n))
        driven = {}
        offsets = self._com_offsets()
        for jm in self.joints:
            name = jm.joint.name
            acting = along[name] + np.atleast_1d(tau.get(name, 0.0)) if name in tau else along[name]
            wrench = self._wrench(jm, acting)
            driven[name] = wrench
            for body, sign in ((jm.joint.second.body, 1.0), (jm.joint.first.body, -1.0)):
                if body:
                    arm = jm.P - m.r[body] - offsets[body - 1]
                    f[body - 1, :3] += sign * wrench[:3]
                    f[body - 1, 3:] += sign * (wrench[3:] + cross(arm, wrench[:3]))
        for i, body in enumerate(self.plain.bodies):
            R, w = m.R[i + 1], m.w[i + 1]
            J = R @ body.J @ R.T
            M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = np.eye(3) * body.mass * self.L**2
            M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = J
            f[i, :3] += body.mass * self.plain.gravity
            f[i, 3:] -= cross(w, J @ w)
        f[:, :3] *= self.L
        return M, f.reshape(-1), self._gamma(), driven

    def _wrench(self, jm: JointMotion, acting: Array) -> Array:
        """A wrench on the second body, about P in inertial axes, with these generalized forces."""
        S = self._scaled(jm.through.S)
        if jm.joint.motion is not None or not S.shape[1] or not np.any(acting):
            return np.zeros(6)
        wrench = np.linalg.pinv(S).T @ acting
        return np.concatenate([jm.R_F @ wrench[:3] / self.L, jm.R_F @ wrench[3:]])

    def _gamma(self) -> Array:
        """G x = gamma: what joints demand of the accelerations, velocities being what they are."""
        parts, offsets = [], self._com_offsets()
        for jm in self.joints:
            K = self.rows_of(jm)
            wanted = jm.through.rest if jm.prescribed is None else jm.prescribed[1]
            linear, angular = self._carried(jm, offsets)
            demand = self._scaled(wanted) + self._scaled(np.concatenate([jm.R_F.T @ linear, jm.R_F.T @ angular]))
            parts.append(K @ demand)
        return np.concatenate([np.zeros(0), *parts])

    def _carried(self, jm: JointMotion, offsets: Array) -> tuple[Array, Array]:
        """What is known of a_2(P) - a_1(P) - a_rel, with the sign of a demand: Coriolis, centripetal, the ground's."""
        m, a, b = self.motion, jm.joint.first.body, jm.joint.second.body
        w_a = m.w[a]
        linear = 2 * cross(w_a, jm.R_F @ jm.seen[:3])
        angular = cross(w_a, jm.R_F @ jm.seen[3:])
        for body, sign in ((a, 1.0), (b, -1.0)):
            centre = m.r[body] + (offsets[body - 1] if body else 0.0)
            arm = jm.P - centre
            known = cross(m.w[body], cross(m.w[body], arm))
            if body == 0:
                known = known + self.ground.a + cross(self.ground.alpha, arm)
                angular = angular + sign * self.ground.alpha
            linear = linear + sign * known
        return linear, angular

    def _joint_acceleration(self, jm: JointMotion, x: Array) -> Array:
        """du from S du + rest = acceleration of M as seen from F."""
        if jm.joint.motion is not None or not jm.joint.freedom:
            return np.zeros(0)
        m, offsets = self.motion, self._com_offsets()
        linear, angular = (-part for part in self._carried(jm, offsets))
        for body, sign in ((jm.joint.second.body, 1.0), (jm.joint.first.body, -1.0)):
            if body:
                a, alpha = x[6 * body - 6 : 6 * body - 3] * self.L, x[6 * body - 3 : 6 * body]
                linear = linear + sign * (a + cross(alpha, jm.P - m.r[body] - offsets[body - 1]))
                angular = angular + sign * alpha
        seen = np.concatenate([jm.R_F.T @ linear, jm.R_F.T @ angular]) - jm.through.rest
        return np.linalg.pinv(self._scaled(jm.through.S)) @ self._scaled(seen)

    # --- energy, and whether anything is determined ---

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential (J); that of gravity is zero at the inertial origin."""
        m, offsets, kinetic = self.motion, self._com_offsets(), 0.0
        for i, body in enumerate(self.plain.bodies, 1):
            v = m.v[i] + cross(m.w[i], offsets[i - 1])
            w = m.R[i].T @ m.w[i]
            kinetic += 0.5 * body.mass * (v @ v) + 0.5 * w @ body.J @ w
        return float(kinetic), float(potential_energy(self))

    @property
    def conditioning(self) -> float:
        """The condition number of the Delassus matrix G M^-1 G', unit on its diagonal, of what is not redundant.

        Large where light bodies stand between heavy ones, and near singular configurations. A massless body counts as a
        hundredth of the lightest.
        """
        rank = self.rank
        if not rank:
            return 1.0
        G, M = self.G[0], self._equations({})[0]
        least = 0.01 * min((body.mass for body in self.plain.bodies if body.mass > 0), default=1.0) * self.L**2
        M = M + np.diag(np.repeat([[least, 0.01 * least]], 3, axis=1).ravel().tolist() * len(self.plain.bodies))
        D = G @ np.linalg.solve(M, G.T)
        scale = 1 / np.sqrt(np.where(np.diag(D) > 0, np.diag(D), 1.0))
        eigenvalues = np.linalg.eigvalsh(D * scale[:, None] * scale)[::-1]
        return float(eigenvalues[0] / max(eigenvalues[rank - 1], 1e-300))

    def least_inertia(self) -> float:
        """Along the motion of least inertia that the joints allow, as the square root of a part of the largest."""
        Z = self.decomposed[2][self.rank :].T
        if not Z.shape[1]:
            return 1.0
        root = np.zeros((6 * len(self.plain.bodies),) * 2)
        for i, body in enumerate(self.plain.bodies):
            values, vectors = np.linalg.eigh(body.J)
            R = self.motion.R[i + 1]
            root[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = np.eye(3) * np.sqrt(body.mass) * self.L
            turned = (R @ vectors * np.sqrt(np.clip(values, 0.0, None))).T
            root[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = turned
        sizes = np.linalg.svd(root @ Z, compute_uv=False)
        return float(sizes[-1] / max(sizes[0], 1e-300))


def size_of(plain: Plain) -> float:
    """The largest distance between two joints, or a joint and the centre of mass, of one body; 1 m if there is none."""
    longest = 0.0
    for number, body in enumerate(plain.bodies, 1):
        ends = [end.p for joint in plain.joints for end in (joint.first, joint.second) if end.body == number]
        points = np.array([*ends, body.com])
        longest = max(longest, float(np.linalg.norm(points[:, None] - points[None], axis=-1).max()))
    return longest or 1.0


def _wound(joint: PlainJoint, fit: Any, given: Array) -> tuple[float, ...]:
    """The coordinates that fit, angles counted on as those given: laws of joints of the tree count turns."""
    if joint.kind in ("Spherical", "Free"):
        quaternion = np.asarray(fit[-4:])
        sign = -1.0 if quaternion @ given[-4:] < 0 else 1.0
        return (*fit[:-4], *(sign * quaternion))
    if joint.kind in ("Prismatic", "Screw"):
        return tuple(fit)
    turns = np.round((given - np.asarray(fit)) / (2 * np.pi))
    slides = {"Cylindrical": 1, "PinSlot": 1, "Planar": 2}.get(joint.kind, 0)
    turns[:slides] = 0
    return tuple(np.asarray(fit) + 2 * np.pi * turns)


def _solve(M: Array, G: Array, f: Array, gamma: Array) -> tuple[Array, Array]:
    """[[M, -G'], [G, 0]] (x, lambda) = (f, gamma), equilibrated, refined with residuals in long double."""
    n, k = len(M), len(G)
    A = np.block([[M, -G.T], [G, np.zeros((k, k))]])
    b = np.concatenate([f, gamma])
    scale = np.ones(n + k)
    for _ in range(8):  # Ruiz: rows and columns alike, until the largest entry of each is 1
        largest = np.abs(A * scale[:, None] * scale).max(axis=1)
        scale /= np.sqrt(np.where(largest > 0, largest, 1.0))
    scaled = A * scale[:, None] * scale
    inverse = np.linalg.inv(scaled)
    exact, right = scaled.astype(np.longdouble), (b * scale).astype(np.longdouble)
    x = (inverse @ (b * scale)).astype(np.longdouble)
    for _ in range(4):
        x = x + inverse @ (right - exact @ x).astype(float)
    x = np.asarray(x * scale, dtype=float)
    return x[:n], x[n:]


def _determined(K_W: Array, null: Array) -> Array:
    """Directions of a joint's wrench (6 x k, force by L) in which redundant multipliers cannot change it."""
    if not null.shape[1]:
        return np.eye(6)
    U, sizes, _ = np.linalg.svd(K_W.T @ null)
    sizes = np.concatenate([sizes, np.zeros(6 - len(sizes))])
    return U[:, sizes < 1e-8]
