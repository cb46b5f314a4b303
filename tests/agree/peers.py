"""Random trees for Pinocchio and MuJoCo, and the same mechanism in their language.

To a peer every joint is a chain of turns and slides, a ball, or a free flight. Where the tree meets a joint from its
second frame, the chain is run through backwards, each axis negated: (X1(q1) X2(q2))^-1 = X2(-q2) X1(-q1). The state
goes over by

    q_peer = f(q),   v_peer = G(q) v,   v_peer' = G v' + g(q, v),   tau = G' tau_peer

A peer has methods named like those of `System`, with results in our coordinates and velocities. Nothing here uses the
kinematics of the library: rotations are SciPy's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

import momentree as mt
from mechanisms import EVERY_JOINT, random_configuration, random_frame, random_tree
from momentree.model.elements import Joint
from momentree.model.joint_type import JointType
from momentree.model.joint_types import JOINTS
from momentree.spatial import Transform
from momentree.structure.mechanism import Attached, Mechanism, TreeBody

AGREE = 1e-12  # of the largest entry
DIRECTIONS = ("along", "against", "either")  # how the joints point: away from the ground, towards it, at random
SEEDS = range(16)
SIZES = range(5, 13)  # bodies
GRAVITY = (1.2, -3.4, -9.1)


def agree(ours: Any, theirs: Any, tolerance: float = AGREE) -> bool:
    """Whether two arrays differ by no more than `tolerance` of the largest entry."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    return bool(np.abs(ours - theirs).max(initial=0) <= tolerance * np.abs(theirs).max(initial=0))


# --- random trees ---


class Sample(NamedTuple):
    """A random tree and a random state: coordinates, velocities, their derivatives, generalized forces."""

    model: mt.Model
    system: mt.System
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    tau: np.ndarray


@cache
def sample(direction: str, seed: int, without: str = "") -> Sample:
    """A tree of 5 to 12 bodies with as many kinds of joints, one left out if asked."""
    random = np.random.default_rng([seed, DIRECTIONS.index(direction)])
    kinds = [kind for kind in KINDS if kind != without]
    chosen = [*random.permutation(kinds), *random.choice(kinds, len(SIZES))][: SIZES[seed % len(SIZES)]]
    model = random_tree(random, chosen, mt.Model(f"{direction} {seed}", gravity=GRAVITY))
    model.joints = [_plainer(random, _pointed(c, direction)) for c in model.joints]
    return stated(random, model)


def stated(random: np.random.Generator, model: mt.Model) -> Sample:
    """The model at a random state, angles of up to 3 rad."""
    system = model.build()
    q = random_configuration(random, system, 3)
    return Sample(model, system, q, *random.standard_normal((3, system.nv)))


def _pointed(c: Joint, direction: str) -> Joint:
    """A joint of a `random_tree` that points as wanted; joint j7 carries body b7."""
    along = c.second.body == f"b{c.name.removeprefix('j')}"
    if direction == "either" or along == (direction == "along"):
        return c
    return replace(c, first=c.second, second=c.first)


def _plainer(random: np.random.Generator, c: Joint) -> Joint:
    """Half of the frames not turned, half of the axes along x, y, z or back: the library has shorter formulas there."""
    signs, letters = random.choice(["", "-"], 3), random.permutation(["x", "y", "z"])
    named = [f"{sign}{letter}" for sign, letter in zip(signs, letters, strict=True)]
    axes = dict(zip(c.type.axis_fields, named, strict=False)) if random.random() < 0.5 else {}
    first, second = (replace(f, rotation=None) if random.random() < 0.5 else f for f in (c.first, c.second))
    return replace(c, type=replace(c.type, **axes), first=first, second=second)


def combinations(samples: Collection[Sample]) -> set[tuple[str, bool, bool]]:
    """Which joints the trees have: kind, whether reversed (second frame on the parent), whether on the ground."""
    bodies = [body for each in samples for body in each.system.mechanism.bodies]
    return {(body.joint.type.kind, body.reverse, body.parent == 0) for body in bodies}


def axes_met(samples: Collection[Sample]) -> set[tuple[str, bool]]:
    """Which axes the joints have: kind, whether named by a letter."""
    joints = [c.type for each in samples for c in each.model.joints]
    return {(j.kind, isinstance(getattr(j, name), str)) for j in joints for name in j.axis_fields}


def loaded(random: np.random.Generator, plain: Sample, alike: bool = False) -> Sample:
    """The same tree and state with springs, dampers, pushes and threads.

    `alike`: what MuJoCo has too; a ball is damped alike about all axes, a free flight and a thread not at all.
    """
    model = copy.deepcopy(plain.model)
    model.joints = [replace(c, type=_sprung(random, c.type, alike)) for c in model.joints]
    frames = [random_frame(random, body) for body in model.bodies]
    for axes in ("ground", "body"):
        force, moment = random.standard_normal((2, 3))
        model.force(frames[random.integers(len(frames))], tuple(force), tuple(moment), axes)
    model.spring(frames[0], frames[1], stiffness=20.0, damping=3.0, rest=0.5)
    model.spring(frames[2], model.ground.at((3, -2, 1)), stiffness=7.0)
    if not alike:
        model.spring(frames[1], frames[3], stiffness=2.0, damping=9.0, rest=0.1, tension_only=True)
    model.spring(frames[3], frames[0], stiffness=30.0, rest=0.1, tension_only=True)
    model.spring(frames[4], frames[1], stiffness=30.0, rest=100.0, tension_only=True)  # slack
    return plain._replace(model=model, system=model.build())


def _sprung(random: np.random.Generator, joint: JointType, alike: bool) -> JointType:
    count = len(joint.velocities)
    damping = tuple(random.uniform(0.5, 2, count))
    if count == len(joint.coordinates):
        spring, rest = random.uniform(1, 5, count), random.standard_normal(count)
        return replace(joint, spring=tuple(spring), rest=tuple(rest), damping=damping) if count else joint
    if not alike:
        return replace(joint, damping=damping)
    return replace(joint, damping=damping[:1] * 3) if joint.kind == "Spherical" else joint


# --- what a joint is to a peer ---


class Step(NamedTuple):
    """A joint with one degree of freedom, whose coordinate is `factor` times coordinate `which` of ours."""

    kind: str  # "turn", "slide", or "screw" with its advance (m per rad)
    axis: np.ndarray
    which: int
    advance: float = 0.0
    factor: float = 1.0


# how peers put a joint together; a type of joint that they cannot have is not here, and is not in their trees
CHAINS: dict[str, Callable[[Any], list[tuple[str, Any]]]] = {
    "Revolute": lambda joint: [("turn", joint.axis)],
    "Prismatic": lambda joint: [("slide", joint.axis)],
    "Screw": lambda joint: [("screw", joint.axis)],
    "Cylindrical": lambda joint: [("slide", joint.axis), ("turn", joint.axis)],
    "PinSlot": lambda joint: [("slide", joint.slot), ("turn", joint.pin)],
    "Universal": lambda joint: [("turn", joint.first), ("turn", joint.second)],
    "Planar": lambda joint: [*(("slide", n) for n in in_plane(joint.normal)), ("turn", joint.normal)],
    **dict.fromkeys(("Spherical", "Free", "Fixed"), lambda joint: []),
}
KINDS = tuple(kind for kind in EVERY_JOINT if kind in CHAINS)
EVERY_COMBINATION = {*product(KINDS, (False, True), (False, True))}
EVERY_AXIS = {*product([kind for kind in KINDS if JOINTS[kind].axis_fields], (False, True))}


def chain(body: TreeBody) -> list[Step]:
    """The joint as joints with one degree of freedom each, outward; none for a ball, a free joint, a weld."""
    joint = body.joint.type
    if joint.kind not in CHAINS:
        raise NotImplementedError(f"joint '{body.joint.name}': what is a {joint.kind} joint to a peer?")
    links = CHAINS[joint.kind](joint)
    sign = -1 if body.reverse else 1
    advance = joint.pitch / (2 * np.pi) if joint.kind == "Screw" else 0.0  # the pitch is of a whole turn
    steps = [Step(kind, sign * np.array([*axis]), i, advance) for i, (kind, axis) in enumerate(links)]
    return steps[::-1] if body.reverse else steps


def in_plane(normal: Any) -> tuple[np.ndarray, np.ndarray]:
    """The directions of the two slides: across the normal and across the least of its axes, then right-handed."""
    n = np.array([*normal])
    if np.count_nonzero(n) == 1 and n.max() == 1:  # x, y or z: the next two axes in cyclic order
        k = int(n.argmax())
        return np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
    e = np.eye(3)[np.abs(n).argmin()]
    n1 = (e - n * (e @ n)) / np.linalg.norm(e - n * (e @ n))
    return n1, np.cross(n, n1)


def flight(body: TreeBody, q: np.ndarray) -> tuple[Rotation, np.ndarray, np.ndarray]:
    """Behind a ball or a free flight: the body's rotation and offset, and its motion in its own axes by our velocities.

    Backwards the motion is -Ad(X_FM) V. Its derivative is -Ad(X_FM) V' alone, since V x V = 0.
    """
    p, turned = q[:-4], Rotation.from_quat(q[-4:])
    R = turned.as_matrix()
    if not body.reverse:
        return turned, p, np.eye(3 + p.size)
    if p.size == 0:
        return turned.inv(), p, -R
    return turned.inv(), -R.T @ p, -np.block([[R, np.cross(np.eye(3), p) @ R], [np.zeros((3, 3)), R]])


def parts(X: Transform) -> tuple[np.ndarray, np.ndarray]:
    """Rotation matrix and offset of a placement."""
    return np.array([[*row] for row in X.rotation.rows], dtype=float), np.array([*X.offset], dtype=float)


def central(body: TreeBody) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass, and inertia about it."""
    m, h = body.inertia.mass, np.array([*body.inertia.h])
    xx, yy, zz, xy, xz, yz = body.inertia.J
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    c = h / m if m else h
    return m, c, J - m * (c @ c * np.eye(3) - np.outer(c, c))


class Peer:
    """How the state goes over; the peers say how a ball and a free flight do."""

    mechanism: Mechanism
    places: list[tuple[list[int], list[int]]]  # where the coordinates and velocities of each body stand in the peer's
    steps: list[list[Step]]
    sizes: tuple[int, int]  # the peer's nq, nv

    def __init__(self, mechanism: Mechanism):
        prescribed = [body for body in mechanism.bodies if body.laws]
        if mechanism.loops or mechanism.constraints or mechanism.ground or mechanism.free or prescribed:
            raise NotImplementedError("peers get trees in numbers: no loops, no constraints, nothing prescribed")
        self.mechanism = mechanism

    def over(self, q: np.ndarray, v: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q_peer, G and g."""
        v = np.zeros(self.mechanism.nv) if v is None else v
        q_peer, G, g = np.zeros(self.sizes[0]), np.zeros((self.sizes[1], self.mechanism.nv)), np.zeros(self.sizes[1])
        for body, (at_q, at_v), steps in zip(self.mechanism.bodies, self.places, self.steps, strict=True):
            for i, j, step in zip(at_q, at_v, steps, strict=False):
                q_peer[i] = step.factor * q[body.q][step.which]
                G[j, body.v.start + step.which] = step.factor
            if body.joint.type.kind in ("Spherical", "Free"):
                q_peer[at_q], G[at_v, body.v], g[at_v] = self.flight_over(body, q[body.q], v[body.v])
        return q_peer, G, g

    def flight_over(self, body: TreeBody, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for one ball or free flight."""
        raise NotImplementedError


# --- Pinocchio ---


class Pinocchio(Peer):
    """A pinocchio.Model of unaligned joints, massless bodies inside chains; welded bodies belong to their parents."""

    def __init__(self, mechanism: Mechanism):
        import pinocchio

        super().__init__(mechanism)
        self.pin = pinocchio
        self.model = pinocchio.Model()
        self.model.gravity.linear = np.array([*mechanism.gravity])
        self.carriers = [(0, pinocchio.SE3.Identity())]  # of each body: the peer's joint, and where the body is on it
        self.places, self.steps = [], []
        for body in mechanism.bodies:
            self._add(body)
        self.sizes = self.model.nq, self.model.nv
        self.data = self.model.createData()
        self.weightless = self.model.copy()
        self.weightless.gravity.linear = np.zeros(3)

    def _add(self, body: TreeBody) -> None:
        pin, model = self.pin, self.model
        joint, X = self.carriers[body.parent]
        X = X * pin.SE3(*parts(body.mount))
        nq, nv = model.nq, model.nv
        self.steps.append(chain(body))
        for peers in self._joints(body):
            joint = model.addJoint(joint, peers, X, f"{body.name} {model.njoints}")
            X = pin.SE3.Identity()
        model.appendBodyToJoint(joint, pin.Inertia(*central(body)), X)
        self.carriers.append((joint, X))
        self.places.append(([*range(nq, model.nq)], [*range(nv, model.nv)]))

    def _joints(self, body: TreeBody) -> list[Any]:
        pin = self.pin
        whole = {"Spherical": pin.JointModelSpherical, "Free": pin.JointModelFreeFlyer}
        if body.joint.type.kind in whole:
            return [whole[body.joint.type.kind]()]
        make = {
            "turn": lambda step: pin.JointModelRevoluteUnaligned(step.axis),
            "slide": lambda step: pin.JointModelPrismaticUnaligned(step.axis),
            "screw": lambda step: pin.JointModelHelicalUnaligned(step.axis, step.advance),
        }
        return [make[step.kind](step) for step in self.steps[-1]]

    def flight_over(self, body: TreeBody, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        turned, p, G = flight(body, q)
        return np.array([*p, *turned.as_quat()]), G, np.zeros(len(v))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        q_peer, G, _ = self.over(q)
        return G.T @ self.pin.rnea(self.model, self.data, q_peer, G @ v, G @ vdot)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        q_peer, G, _ = self.over(q)
        return np.linalg.solve(G, self.pin.aba(self.model, self.data, q_peer, G @ v, np.linalg.solve(G.T, tau)))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """By columns of inverse dynamics: pinocchio.crba is right only if joints are numbered depth first."""
        q_peer, G, _ = self.over(q)
        data, rest = self.weightless.createData(), np.zeros(self.sizes[1])
        return G.T @ np.array([self.pin.rnea(self.weightless, data, q_peer, rest, column) for column in G.T]).T

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_peer, G, _ = self.over(q)
        return G.T @ self.pin.nonLinearEffects(self.model, self.data, q_peer, G @ v)

    def gravity_forces(self, q: np.ndarray) -> np.ndarray:
        q_peer, G, _ = self.over(q)
        return G.T @ self.pin.computeGeneralizedGravity(self.model, self.data, q_peer)

    def coriolis_forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_peer, G, _ = self.over(q)
        data = self.weightless.createData()
        return G.T @ self.pin.nonLinearEffects(self.weightless, data, q_peer, G @ v)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """By columns of forward dynamics at rest, without weight."""
        q_peer, G, _ = self.over(q)
        data, rest = self.weightless.createData(), np.zeros(self.sizes[1])
        unit_forces = np.linalg.inv(G.T).T
        responses = [self.pin.aba(self.weightless, data, q_peer, rest, force) for force in unit_forces]
        return np.linalg.solve(G, np.array(responses).T)

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        q_peer, G, _ = self.over(q)
        kinetic = self.pin.computeKineticEnergy(self.model, self.data, q_peer, G @ v)
        # what is welded to the ground has weight too; Pinocchio leaves it out
        welded = self.model.inertias[0]
        lifted = welded.mass * (self.model.gravity.linear @ welded.lever)
        return kinetic, self.pin.computePotentialEnergy(self.model, self.data, q_peer) - lifted

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_peer, G, _ = self.over(q)
        about_centre = self.pin.computeCentroidalMomentum(self.model, self.data, q_peer, G @ v)
        linear = about_centre.linear
        return np.array([*linear, *(about_centre.angular + np.cross(self.data.com[0], linear))])

    def placement(self, q: np.ndarray, frame: Attached) -> Any:
        q_peer, _, _ = self.over(q)
        joint, X = self.carriers[frame.body]
        self.pin.forwardKinematics(self.model, self.data, q_peer)
        return self.data.oMi[joint] * X * self.pin.SE3(*parts(frame.placement))

    def position(self, q: np.ndarray, frame: Attached) -> np.ndarray:
        return self.placement(q, frame).translation

    def jacobian(self, q: np.ndarray, frame: Attached) -> np.ndarray:
        q_peer, G, _ = self.over(q)
        joint, X = self.carriers[frame.body]
        placed = self.pin.Frame("", joint, X * self.pin.SE3(*parts(frame.placement)), self.pin.FrameType.OP_FRAME)
        model = self.model.copy()
        number = model.addFrame(placed)
        axes = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return self.pin.computeFrameJacobian(model, model.createData(), q_peer, number, axes) @ G


# --- MuJoCo ---


class MuJoCo(Peer):
    """An MjModel with one body for each of ours and as many joints on it as its chain has.

    A screw is a slide and a turn that our one velocity drives together, so G is not square where there is one. A free
    flight from the ground is MuJoCo's free joint, in axes of the world; elsewhere it is three slides and a ball. Either
    way its linear velocity is not in axes of the body: v_peer = R v, v_peer' = R (v' + w x v).

    Joint springs and dampers, springs between points and constant pushes go over too.
    """

    def __init__(self, mechanism: Mechanism):
        import mujoco

        super().__init__(mechanism)
        self.mj = mujoco
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.option.gravity = [*mechanism.gravity]
        spec.option.enableflags = mujoco.mjtEnableBit.mjENBL_ENERGY
        bodies = [spec.worldbody]
        self.steps = [self._unscrewed(chain(body)) for body in mechanism.bodies]
        for body, steps in zip(mechanism.bodies, self.steps, strict=True):
            bodies.append(self._body(bodies[body.parent], body, steps))
        for i, link in enumerate(mechanism.springs):
            self._tendon(spec, bodies, i, link)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.sizes = self.model.nq, self.model.nv
        # the compiler numbers depth first
        self.numbers = [0, *(self.model.body(f"{body.number}").id for body in mechanism.bodies)]
        self.places = [self._places(number) for number in self.numbers[1:]]

    @staticmethod
    def _unscrewed(steps: list[Step]) -> list[Step]:
        found = []
        for step in steps:
            if step.kind == "screw":
                found.append(step._replace(kind="slide", factor=step.advance))
            found.append(step._replace(kind="turn") if step.kind == "screw" else step)
        return found

    def _body(self, parent: Any, body: TreeBody, steps: list[Step]) -> Any:
        R, p = parts(body.mount)
        mass, centre, J = central(body)
        principal, axes = np.linalg.eigh(J)
        axes[:, 0] *= np.linalg.det(axes)
        mine = parent.add_body(
            name=f"{body.number}",
            pos=p,
            quat=wxyz(Rotation.from_matrix(R)),
            mass=mass,
            ipos=centre,
            iquat=wxyz(Rotation.from_matrix(axes)),
            inertia=principal,
            explicitinertial=True,
        )
        kinds = self.mj.mjtJoint
        joint = body.joint.type
        for step in steps:
            kind = kinds.mjJNT_HINGE if step.kind == "turn" else kinds.mjJNT_SLIDE
            elements = {} if step.factor != 1 else self._elements(joint, step.which)
            mine.add_joint(type=kind, axis=step.axis, **elements)
        if joint.kind == "Spherical":
            assert len({*(joint.damping or ())}) < 2, "MuJoCo damps a ball alike about all axes"
            mine.add_joint(type=kinds.mjJNT_BALL, **self._elements(joint, 0))
        elif joint.kind == "Free":
            assert not joint.damping, "MuJoCo damps a free joint in other axes"
            if body.parent == 0:
                mine.add_freejoint()
                return mine
            for axis in np.eye(3):
                mine.add_joint(type=kinds.mjJNT_SLIDE, axis=axis)
            mine.add_joint(type=kinds.mjJNT_BALL)
        return mine

    @staticmethod
    def _elements(joint: Any, which: int) -> dict[str, Any]:
        """Spring and damper; polynomials in MuJoCo."""
        found: dict[str, Any] = {}
        if joint.spring:
            found.update(stiffness=[joint.spring[which], 0, 0], springref=joint.rest[which] if joint.rest else 0)
        if joint.damping:
            found.update(damping=[joint.damping[which], 0, 0])
        return found

    @staticmethod
    def _tendon(spec: Any, bodies: list[Any], i: int, link: Any) -> None:
        assert not (link.tension_only and link.damping), "MuJoCo damps a slack thread"
        low = 0.0 if link.tension_only else link.rest
        tendon = spec.add_tendon(stiffness=[link.stiffness, 0, 0], damping=[link.damping, 0, 0])
        tendon.springlength = [low, link.rest]
        for end, frame in (("first", link.first), ("second", link.second)):
            bodies[frame.body].add_site(name=f"{end} of {i}", pos=parts(frame.placement)[1])
            tendon.wrap_site(f"{end} of {i}")

    def _places(self, number: int) -> tuple[list[int], list[int]]:
        """Where the joints of a body stand: 7, 4 or 1 coordinates and 6, 3 or 1 velocities each."""
        model, kinds, at_q, at_v = self.model, self.mj.mjtJoint, [], []
        sizes = {kinds.mjJNT_FREE: (7, 6), kinds.mjJNT_BALL: (4, 3)}
        first = model.body_jntadr[number]
        for joint in range(first, first + model.body_jntnum[number]):
            nq, nv = sizes.get(kinds(model.jnt_type[joint]), (1, 1))
            at_q += range(model.jnt_qposadr[joint], model.jnt_qposadr[joint] + nq)
            at_v += range(model.jnt_dofadr[joint], model.jnt_dofadr[joint] + nv)
        return at_q, at_v

    def flight_over(self, body: TreeBody, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        turned, p, G = flight(body, q)
        if p.size == 0:
            return wxyz(turned), G, np.zeros(3)
        if body.parent == 0:
            R, offset = parts(body.mount)
            turned, p = Rotation.from_matrix(R) * turned, R @ p + offset
        R, (linear, angular) = turned.as_matrix(), np.split(G @ v, 2)
        drift = np.array([*(R @ np.cross(angular, linear)), 0, 0, 0])
        return np.array([*p, *wxyz(turned)]), block_diag(R, np.eye(3)) @ G, drift

    def forward(
        self, q: np.ndarray, v: np.ndarray | None = None, tau: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Let MuJoCo compute everything at a state; G and g."""
        q_peer, G, g = self.over(q, v)
        self.data.qpos, self.data.qvel = q_peer, 0 if v is None else G @ v
        self.mj.mj_kinematics(self.model, self.data)
        self.mj.mj_comPos(self.model, self.data)
        self.data.qfrc_applied = self._pushed()
        if tau is not None:
            self.data.qfrc_applied += np.linalg.solve(G.T, tau)
        self.mj.mj_forward(self.model, self.data)
        return G, g

    def _pushed(self) -> np.ndarray:
        total = np.zeros(self.sizes[1])
        for push in self.mechanism.forces:
            force, moment = (np.array([law.evaluate({}) for law in laws]) for laws in (push.force, push.moment))
            if push.carried:
                R = self._axes(push.frame.body) @ parts(push.frame.placement)[0]
                force, moment = R @ force, R @ moment
            number = self.numbers[push.frame.body]
            self.mj.mj_applyFT(self.model, self.data, force, moment, self._point(push.frame), number, total)
        return total

    def _axes(self, body: int) -> np.ndarray:
        return self.data.xmat[self.numbers[body]].reshape(3, 3)

    def _point(self, frame: Attached) -> np.ndarray:
        return self.data.xpos[self.numbers[frame.body]] + self._axes(frame.body) @ parts(frame.placement)[1]

    def _full(self) -> np.ndarray:
        M = np.zeros((self.sizes[1], self.sizes[1]))
        self.mj.mj_fullM(self.model, self.data, M)
        return M

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        G, _ = self.forward(q)
        return G.T @ self._full() @ G

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        G, g = self.forward(q, v)
        data = self.data
        return G.T @ (data.qfrc_bias - data.qfrc_passive - data.qfrc_applied + self._full() @ g)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        G, g = self.forward(q, v, tau)
        return np.linalg.solve(G, self.data.qacc - g)

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        self.forward(q, v)
        potential, kinetic = self.data.energy
        return kinetic, potential

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.forward(q, v)
        self.mj.mj_subtreeVel(self.model, self.data)
        linear = self.model.body_subtreemass[0] * self.data.subtree_linvel[0]
        return np.array([*linear, *(self.data.subtree_angmom[0] + np.cross(self.data.subtree_com[0], linear))])

    def position(self, q: np.ndarray, frame: Attached) -> np.ndarray:
        self.forward(q)
        return self._point(frame)

    def jacobian(self, q: np.ndarray, frame: Attached) -> np.ndarray:
        G, _ = self.forward(q)
        of_point, of_turning = np.zeros((2, 3, self.sizes[1]))
        self.mj.mj_jac(self.model, self.data, of_point, of_turning, self._point(frame), self.numbers[frame.body])
        return np.vstack([of_point, of_turning]) @ G


def wxyz(R: Rotation) -> np.ndarray:
    """MuJoCo's order of a quaternion."""
    return np.roll(R.as_quat(), 1)
