"""Who is measured: forward dynamics by Momentree, Pinocchio and MuJoCo, by single calls and over a batch.

All get the same states beforehand, in their own coordinates; only the evaluation itself is measured, with what a user
has to do for each: hand over the state, and get the accelerations. Pinocchio's coordinates and velocities are ours.
MuJoCo numbers depth first, puts the real part of a quaternion first, and has the linear velocity of a free body in
axes of the world: v_peer = R v, v_peer' = R (v' + w x v).
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from example_models import Array, States
from peer_loops import Loops
from scipy.spatial.transform import Rotation

import momentree as mt
from momentree.structure import Mechanism

OUR_CALL, OUR_BATCH, OUR_ONCE = "Momentree, one call", "Momentree, batch", "Momentree, batch once"
PIN_CALL, PIN_LOOP = "Pinocchio, one call", "Pinocchio, C++ loop"
MJ_CALL, MJ_LOOP = "MuJoCo, one call", "MuJoCo, C loop"
GROUPS = (OUR_CALL, OUR_BATCH, OUR_ONCE, PIN_CALL, PIN_LOOP, MJ_CALL, MJ_LOOP)
PEERS = ("pinocchio", "mujoco")
CHECKED = 8  # states on which all must agree
CYCLED = 64  # states through which single calls run


def installed(peers: Iterable[str]) -> list[str]:
    """Those that can be imported."""
    return [name for name in peers if find_spec(name) is not None]


class Contestant(NamedTuple):
    """One method to compute accelerations.

    | field | meaning                                                                 |
    |-------|-------------------------------------------------------------------------|
    | group | the fastest of a group counts                                           |
    | method| which of the group                                                      |
    | first | the accelerations at the first states, for our velocities               |
    | run   | evaluates about as many times as asked; gives how many times it did     |
    """

    group: str
    method: str
    first: Callable[[], Array]
    run: Callable[[int], int]


def contestants(system: mt.System, states: States, peers: list[str], loops: Loops) -> list[Contestant]:
    """All that can be measured here."""
    found = momentree(system, states)
    if "pinocchio" in peers:
        found += pinocchio(system, states, loops)
    if "mujoco" in peers:
        found += mujoco(system, states, loops)
    return found


# --- Momentree ---


def momentree(system: mt.System, states: States) -> list[Contestant]:
    rows = states.rows(min(CYCLED, len(states.q)))
    endless = itertools.cycle(rows)

    def call(count: int) -> int:
        for q, v, tau in itertools.islice(endless, count):
            system.forward_dynamics(q, v, tau)
        return count

    def batch(count: int) -> int:
        times = max(1, count // len(states.q))
        for _ in range(times):
            system.forward_dynamics(*states)
        return times * len(states.q)

    def once(count: int) -> int:
        """However often is asked: so it always comes right after the turn of single calls."""
        return len(system.forward_dynamics(*states))

    def first() -> Array:
        return np.array([system.forward_dynamics(*row) for row in rows[:CHECKED]])

    return [
        Contestant(OUR_CALL, "System.forward_dynamics", first, call),
        Contestant(OUR_ONCE, "once in a turn", lambda: system.forward_dynamics(*states)[:CHECKED], once),
        Contestant(OUR_BATCH, "again and again", lambda: system.forward_dynamics(*states)[:CHECKED], batch),
    ]


# --- bodies, as the peers take them ---


class BodyOnJoint(NamedTuple):
    """A body and its joint: where the joint is in the parent, and the inertia about the centre of mass."""

    parent: int
    kind: str  # x, y, z: a hinge about that axis; "free"
    R: Array
    p: Array
    mass: float
    centre: Array
    J: Array


def bodies_of(mechanism: Mechanism) -> list[BodyOnJoint]:
    """In the order of the mechanism's bodies, whose coordinates follow each other."""
    found = []
    for body in mechanism.at_defaults().bodies:
        assert not body.reverse
        joint = body.joint.type
        kind = "free" if joint.kind == "Free" else "xyz"[[*joint.axis].index(1)]
        R = np.array([[*row] for row in body.mount.rotation.rows], dtype=float)
        m, c = body.inertia.mass, np.array([*body.inertia.h]) / body.inertia.mass
        xx, yy, zz, xy, xz, yz = body.inertia.J
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
        found.append(BodyOnJoint(body.parent, kind, R, np.array([*body.mount.offset], dtype=float), m, c, J))
    return found


def _looped(group: str, method: str, states: States, evaluate: Callable[..., None]) -> Contestant:
    """A loop inside a library: evaluate(rows, q, v, tau, out) on addresses."""
    out = np.empty_like(states.v)

    def run(count: int) -> int:
        rows = min(count, len(out))
        evaluate(rows, *(array.ctypes.data for array in (*states, out)))
        return rows

    def first() -> Array:
        run(CHECKED)
        return out[:CHECKED].copy()

    return Contestant(group, method, first, run)


# --- Pinocchio ---


def pinocchio(system: mt.System, states: States, loops: Loops) -> list[Contestant]:
    """As many as have room: each has a pinocchio.Data of its own, with four tensors of nv x nv x nv numbers."""
    parts, gravity = bodies_of(system.mechanism), np.array([*system.mechanism.gravity], dtype=float)
    model = pinocchio_model(parts, gravity)
    makers = [lambda: _pinocchio_calls(model, states)]
    for method, library in loops.pinocchio.items():
        makers.append(lambda method=method, library=library: _pinocchio_loops(method, library, parts, gravity, states))
    makers.append(lambda: [_pinocchio_pool(model, states)])
    room = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return [found for make in makers[: room // pinocchio_bytes(system.nv)] for found in make()]


def pinocchio_bytes(nv: int) -> int:
    """What the tensors in a pinocchio.Data take."""
    return 4 * 8 * nv**3


def pinocchio_model(parts: list[BodyOnJoint], gravity: Array) -> Any:
    import pinocchio as pin

    kinds = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ, "free": pin.JointModelFreeFlyer}
    model = pin.Model()
    model.gravity.linear = gravity
    for i, part in enumerate(parts):
        number = model.addJoint(part.parent, kinds[part.kind](), pin.SE3(part.R, part.p), str(i))
        model.appendBodyToJoint(number, pin.Inertia(part.mass, part.centre, part.J), pin.SE3.Identity())
    return model


def _pinocchio_calls(model: Any, states: States) -> list[Contestant]:
    """pin.aba in both conventions; the first is the default, and is not handed over."""
    import pinocchio as pin

    aba, data, world = pin.aba, pin.Data(model), pin.Convention.WORLD  # createData would make it twice
    rows = states.rows(min(CYCLED, len(states.q)))
    endless = itertools.cycle(rows)

    def in_local(count: int) -> int:
        for q, v, tau in itertools.islice(endless, count):
            aba(model, data, q, v, tau)
        return count

    def in_world(count: int) -> int:
        for q, v, tau in itertools.islice(endless, count):
            aba(model, data, q, v, tau, world)
        return count

    def first(*convention: Any) -> Array:
        return np.array([aba(model, data, *row, *convention).copy() for row in rows[:CHECKED]])

    return [
        Contestant(PIN_CALL, "pin.aba, LOCAL", first, in_local),
        Contestant(PIN_CALL, "pin.aba, WORLD", lambda: first(world), in_world),
    ]


def _pinocchio_pool(model: Any, states: States) -> Contestant:
    """The loop that the wheel offers to Python, on one thread; columns are states."""
    import pinocchio as pin

    pool, out = pin.ModelPool(model, 1), np.empty((len(states.q), model.nv)).T
    q, v, tau = (array.T for array in states)

    def run(count: int) -> int:
        rows = min(count, len(states.q))
        pin.abaInParallel(1, pool, q[:, :rows], v[:, :rows], tau[:, :rows], out[:, :rows])
        return rows

    def first() -> Array:
        run(CHECKED)
        return out.T[:CHECKED].copy()

    return Contestant(PIN_LOOP, "pin.abaInParallel, one thread", first, run)


class _PinocchioLoop:
    """A model inside the library of pinocchio_loop.cpp."""

    def __init__(self, library: ctypes.CDLL, parts: list[BodyOnJoint], gravity: Array):
        address, integer = ctypes.c_void_p, ctypes.c_int64
        library.make.argtypes, library.make.restype = [integer, *[address] * 4], address
        library.release.argtypes, library.release.restype = [address], None
        library.evaluate.argtypes, library.evaluate.restype = [address, integer, integer, *[address] * 4], None
        parents = np.array([part.parent for part in parts])
        kinds = np.array([("x", "y", "z", "free").index(part.kind) for part in parts])
        numbers = np.array([[*part.R.flat, *part.p, part.mass, *part.centre, *part.J.flat] for part in parts])
        arrays = (array.ctypes.data for array in (parents, kinds, numbers, gravity))
        self.library, self.loop = library, library.make(len(parts), *arrays)

    def __del__(self) -> None:
        self.library.release(self.loop)

    def evaluate(self, world: int, rows: int, *addresses: int) -> None:
        self.library.evaluate(self.loop, world, rows, *addresses)


def _pinocchio_loops(
    method: str, library: ctypes.CDLL, parts: list[BodyOnJoint], gravity: Array, states: States
) -> list[Contestant]:
    loop = _PinocchioLoop(library, parts, gravity)
    methods = enumerate((f"{method}, LOCAL", f"{method}, WORLD"))
    return [_looped(PIN_LOOP, name, states, functools.partial(loop.evaluate, world)) for world, name in methods]


# --- MuJoCo ---


class MuJoCoModel:
    """The model in MuJoCo, with all switched off that is not forward dynamics of a tree, and how states go over."""

    def __init__(self, system: mt.System):
        import mujoco

        self.system, spec = system, mujoco.MjSpec()
        spec.option.gravity = [*system.mechanism.gravity]
        flags = mujoco.mjtDisableBit
        off = (flags.mjDSBL_CONSTRAINT, flags.mjDSBL_CONTACT, flags.mjDSBL_SENSOR, flags.mjDSBL_ACTUATION)
        spec.option.disableflags = sum(int(flag) for flag in (*off, flags.mjDSBL_SPRING, flags.mjDSBL_DAMPER))
        bodies = [spec.worldbody]
        for i, part in enumerate(bodies_of(system.mechanism)):
            bodies.append(self._body(bodies[part.parent], str(i), part))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.at_q, self.at_v = self._places()

    @staticmethod
    def _body(parent: Any, name: str, part: BodyOnJoint) -> Any:
        import mujoco

        principal, axes = np.linalg.eigh(part.J)
        axes[:, 0] *= np.linalg.det(axes)
        placed = {"pos": part.p, "quat": _real_first(part.R)}
        inertial = {"mass": part.mass, "ipos": part.centre, "iquat": _real_first(axes), "inertia": principal}
        body = parent.add_body(name=name, explicitinertial=True, **placed, **inertial)
        if part.kind == "free":
            assert np.array_equal(part.R, np.eye(3))
            assert not part.p.any()
            body.add_freejoint()
        else:
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=np.eye(3)["xyz".index(part.kind)])
        return body

    def _places(self) -> tuple[Array, Array]:
        """Where our coordinates and velocities stand in MuJoCo's."""
        model, at_q, at_v = self.model, [], []
        for i, body in enumerate(self.system.mechanism.bodies):
            joint = model.body_jntadr[model.body(str(i)).id]
            nq, nv = body.q.stop - body.q.start, body.v.stop - body.v.start
            order = (0, 1, 2, 4, 5, 6, 3) if nq == 7 else range(nq)
            at_q += [model.jnt_qposadr[joint] + k for k in order]
            at_v += [model.jnt_dofadr[joint] + k for k in range(nv)]
        return np.array(at_q), np.array(at_v)

    def over(self, states: States) -> States:
        """Our states in MuJoCo's coordinates; v and tau, of which power is the product, turn alike."""
        q, v, tau = (np.empty_like(array) for array in states)
        q[:, self.at_q] = states.q
        for theirs, ours in ((v, states.v), (tau, states.tau)):
            theirs[:, self.at_v] = self._turned(ours, states)
        return States(q, v, tau)

    def back(self, vdot: Array, states: States) -> Array:
        """MuJoCo's accelerations in our velocities."""
        found, count = vdot[:, self.at_v], len(vdot)
        found = self._turned(found, States(*(array[:count] for array in states)), back=True)
        for at in self._flights():
            linear, angular = (states.v[:count, slice(start, start + 3)] for start in (at.v.start, at.v.start + 3))
            found[:, at.v.start : at.v.start + 3] -= np.cross(angular, linear)
        return found

    def _turned(self, vectors: Array, states: States, back: bool = False) -> Array:
        found = vectors.copy()
        for body in self._flights():
            R = Rotation.from_quat(states.q[:, body.q.start + 3 : body.q.stop])
            linear = slice(body.v.start, body.v.start + 3)
            found[:, linear] = R.apply(vectors[:, linear], inverse=back)
        return found

    def _flights(self) -> list[Any]:
        return [body for body in self.system.mechanism.bodies if body.joint.type.kind == "Free"]


def _real_first(R: Array) -> Array:
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)


def mujoco(system: mt.System, states: States, loops: Loops) -> list[Contestant]:
    import mujoco as mj

    peer = MuJoCoModel(system)
    over, model, data = peer.over(states), peer.model, peer.data
    qpos, qvel, applied, qacc, forward = data.qpos, data.qvel, data.qfrc_applied, data.qacc, mj.mj_forward
    rows = over.rows(min(CYCLED, len(states.q)))
    endless = itertools.cycle(rows)

    def call(count: int) -> int:
        for q, v, tau in itertools.islice(endless, count):
            qpos[:], qvel[:], applied[:] = q, v, tau
            forward(model, data)
        return count

    def first() -> Array:
        found = []
        for q, v, tau in rows[:CHECKED]:
            qpos[:], qvel[:], applied[:] = q, v, tau
            forward(model, data)
            found.append(qacc.copy())
        return peer.back(np.array(found), states)

    single = Contestant(MJ_CALL, "state set, mj_forward", first, call)
    return [single, *([_mujoco_loop(peer, over, states, loops.mujoco)] if loops.mujoco else [])]


def _mujoco_loop(peer: MuJoCoModel, over: States, states: States, library: ctypes.CDLL) -> Contestant:
    """The library of the wheel is in the process; its mj_forward is handed over."""
    from mujoco import _functions

    address, integer = ctypes.c_void_p, ctypes.c_int64
    library.evaluate.argtypes, library.evaluate.restype = [*[address] * 3, integer, *[address] * 4], None
    forward = ctypes.cast(ctypes.CDLL(_functions.__file__).mj_forward, address)
    model, data = peer.model, peer.data

    def evaluate(rows: int, *addresses: int) -> None:
        library.evaluate(model._address, data._address, forward, rows, *addresses)

    looped = _looped(MJ_LOOP, "mj_forward", over, evaluate)
    return looped._replace(first=lambda: peer.back(looped.first(), states))
