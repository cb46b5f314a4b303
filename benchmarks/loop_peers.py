"""The mechanisms of closed_loops.py in Pinocchio and MuJoCo: what a user writes there to get a motion.

Each function makes its model once and gives back what simulates it from a new start. Hinges turn about z, gravity is
along -y. Steps are of 1 ms by RK4: MuJoCo's own, and one in Python around Pinocchio's accelerations. Pinocchio's joints
are numbered depth first, which its mass matrix needs. Every tenth step is a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from loop_references import COUPLER, CRANK, GRAVITY, GROUND, ROCKER, Array, Motion, four_bar_angles

STEP = 1e-3  # s
SAMPLED = 10  # steps from one sample to the next
BAUMGARTE = (100.0, 20.0)  # 1/s2, 1/s
PROXIMAL = (1e-12, 1e-10, 10)  # accuracy, mu, iterations: constraints out of the plane are redundant
LOOSE = (1e-12, 1e-6, 10)  # for LCABA, which loses digits as mu falls; 1e-6 is what its documentation names

Simulate = Callable[[float], Motion]  # the four-bar, for so many seconds
SimulateRow = Callable[[float, float], Motion]  # the row, from a velocity of its posts, for so many seconds


# --- Pinocchio ---


def four_bar_pinocchio(start: float) -> Simulate:
    import pinocchio as pin

    def hinged(parent: int, at: float, length: float, name: str) -> int:
        joint = model.addJoint(parent, pin.JointModelRZ(), along_x(at), name)
        J = np.diag([1e-4, length**2 / 12, length**2 / 12])
        model.appendBodyToJoint(joint, pin.Inertia(1.0, np.array([length / 2, 0, 0]), J), pin.SE3.Identity())
        return joint

    def along_x(x: float) -> Any:
        return pin.SE3(np.eye(3), np.array([x, 0, 0]))

    model = pin.Model()
    model.gravity.linear = np.array([0, -GRAVITY, 0])
    crank = hinged(0, 0, CRANK, "crank")
    coupler = hinged(crank, CRANK, COUPLER, "coupler")
    rocker = hinged(0, GROUND, ROCKER, "rocker")
    ends = (coupler, along_x(COUPLER), rocker, along_x(ROCKER))
    closure = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL)
    closure.m_baumgarte_parameters.Kp, closure.m_baumgarte_parameters.Kd = BAUMGARTE
    closures, kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    closures.append(closure)
    kept.append(closure.createData())
    data, none, settings = model.createData(), np.zeros(3), pin.ProximalSettings(*PROXIMAL)
    pin.initConstraintDynamics(model, data, closures, kept)

    def acceleration(q: Array, v: Array) -> Array:
        return pin.constraintDynamics(model, data, q, v, none, closures, kept, settings)

    def simulate(seconds: float) -> Motion:
        b, c = four_bar_angles(start)
        t, q, v = rk4(acceleration, np.array([start, b - start, c]), np.zeros(3), seconds)
        q[:, 1] += q[:, 0]
        v[:, 1] += v[:, 0]
        return Motion(t, q, v)

    return simulate


def rk4(
    acceleration: Callable[[Array, Array], Array], q: Array, v: Array, seconds: float
) -> tuple[Array, Array, Array]:
    """Times, angles and velocities of hinges, a sample every SAMPLED steps."""
    h, steps = STEP, round(seconds / STEP)
    found = [(q, v)]
    for k in range(1, steps + 1):
        a1 = acceleration(q, v).copy()
        v2 = v + h / 2 * a1
        a2 = acceleration(q + h / 2 * v, v2).copy()
        v3 = v + h / 2 * a2
        a3 = acceleration(q + h / 2 * v2, v3).copy()
        v4 = v + h * a3
        a4 = acceleration(q + h * v3, v4)
        q, v = q + h / 6 * (v + 2 * (v2 + v3) + v4), v + h / 6 * (a1 + 2 * (a2 + a3) + a4)
        if k % SAMPLED == 0:
            found.append((q, v))
    angles, velocities = (np.array(column) for column in zip(*found, strict=True))
    return np.arange(len(found)) * SAMPLED * h, angles, velocities


def row_pinocchio(n: int, algorithm: str = "lcaba") -> SimulateRow:
    """By `lcaba`, or by `constraintDynamics`, whose cost grows faster with n."""
    import pinocchio as pin

    def hinged(parent: int, at: tuple[float, float, float], middle: tuple[float, float, float], name: str) -> int:
        joint = model.addJoint(parent, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array(at)), name)
        inertia = pin.Inertia(1.0, np.array(middle), np.diag([1 / 12] * 3))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        return joint

    model = pin.Model()
    model.gravity.linear = np.array([0, -GRAVITY, 0])
    posts, bars = [], []
    for i in range(n + 1):
        posts.append(hinged(0, (i, 0, 0), (0, 0.5, 0), f"post {i}"))
        if i < n:
            bars.append(hinged(posts[i], (0, 1, 0), (0.5, 0, 0), f"bar {i}"))
    closures, kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    right, top = (pin.SE3(np.eye(3), np.array(at, dtype=float)) for at in ((1, 0, 0), (0, 1, 0)))
    for bar, post in zip(bars, posts[1:], strict=True):
        ends = (bar, right, post, top)
        closure = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL)
        closure.m_baumgarte_parameters.Kp, closure.m_baumgarte_parameters.Kd = BAUMGARTE
        closures.append(closure)
        kept.append(closure.createData())
    data, none = pin.Data(model), np.zeros(model.nv)
    if algorithm == "lcaba":
        pin.computeJointMinimalOrdering(model, data, closures)
        evaluate, settings = pin.lcaba, pin.ProximalSettings(*LOOSE)
    else:
        pin.initConstraintDynamics(model, data, closures, kept)
        evaluate, settings = pin.constraintDynamics, pin.ProximalSettings(*PROXIMAL)
    at_posts, at_bars = np.array(posts) - 1, np.array(bars) - 1

    def acceleration(q: Array, v: Array) -> Array:
        return evaluate(model, data, q, v, none, closures, kept, settings)

    def simulate(velocity: float, seconds: float) -> Motion:
        v = np.full(model.nv, velocity)
        v[at_posts] = -velocity
        t, q, v = rk4(acceleration, np.zeros(model.nv), v, seconds)
        return Motion(t, *(np.hstack([x[:, at_posts], x[:, at_bars] + x[:, at_posts[:-1]]]) for x in (q, v)))

    return simulate


# --- MuJoCo ---

# the shortest time constant that MuJoCo allows, two steps, and next to no softness
STIFF = 'solref="0.002 1" solimp="0.9999 0.9999 0.001"'
_OPTION = f'<option integrator="RK4" timestep="{STEP}" gravity="0 {-GRAVITY} 0"><flag contact="disable"/></option>'
_HINGE = '<joint axis="0 0 1"/>'


def four_bar_mujoco(start: float, stiffness: str = STIFF) -> Simulate:
    import mujoco

    def bar(name: str, at: float, length: float, inside: str = "") -> str:
        J = length**2 / 12
        inertial = f'<inertial pos="{length / 2} 0 0" mass="1" diaginertia="{J} {J} {J}"/>'
        end = f'<site name="{name}" pos="{length} 0 0"/>'
        return f'<body pos="{at} 0 0">{_HINGE}{inertial}{end}{inside}</body>'

    arms = bar("crank", 0, CRANK, bar("coupler", CRANK, COUPLER)) + bar("rocker", GROUND, ROCKER)
    closure = f'<equality><connect site1="coupler" site2="rocker" {stiffness}/></equality>'
    text = f"<mujoco>{_OPTION}<worldbody>{arms}</worldbody>{closure}</mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def simulate(seconds: float) -> Motion:
        b, c = four_bar_angles(start)
        t, q, v = stepped(model, data, np.array([start, b - start, c]), np.zeros(3), seconds)
        q[:, 1] += q[:, 0]
        v[:, 1] += v[:, 0]
        return Motion(t, q, v)

    return simulate


def stepped(model: Any, data: Any, q: Array, v: Array, seconds: float) -> tuple[Array, Array, Array]:
    """Times, angles and velocities, a sample every SAMPLED steps."""
    import mujoco

    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = q, v
    found = [(q, v)]
    for _ in range(round(seconds / STEP / SAMPLED)):
        mujoco.mj_step(model, data, nstep=SAMPLED)
        found.append((data.qpos.copy(), data.qvel.copy()))
    angles, velocities = (np.array(column) for column in zip(*found, strict=True))
    return np.arange(len(found)) * SAMPLED * STEP, angles, velocities


def row_mujoco(n: int) -> SimulateRow:
    import mujoco

    inertia = f'mass="1" diaginertia="{1 / 12} {1 / 12} {1 / 12}"'
    top = f'{_HINGE}<inertial pos="0 0.5 0" {inertia}/>'

    def post(i: int) -> str:
        right = f'<site name="right {i}" pos="1 0 0"/>'
        bar = f'<body pos="0 1 0">{_HINGE}<inertial pos="0.5 0 0" {inertia}/>{right}</body>' if i < n else ""
        return f'<body pos="{i} 0 0">{top}<site name="top {i}" pos="0 1 0"/>{bar}</body>'

    posts = "".join(post(i) for i in range(n + 1))
    closures = "".join(f'<connect site1="right {i}" site2="top {i + 1}" {STIFF}/>' for i in range(n))
    text = f"<mujoco>{_OPTION}<worldbody>{posts}</worldbody><equality>{closures}</equality></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    at_posts, at_bars = np.arange(n + 1) * 2, np.arange(n) * 2 + 1

    def simulate(velocity: float, seconds: float) -> Motion:
        v = np.full(model.nv, velocity)
        v[at_posts] = -velocity
        t, q, v = stepped(model, data, np.zeros(model.nq), v, seconds)
        return Motion(t, *(np.hstack([x[:, at_posts], x[:, at_bars] + x[:, at_posts[:-1]]]) for x in (q, v)))

    return simulate
