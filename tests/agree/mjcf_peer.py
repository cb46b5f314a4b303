"""The same MJCF file in MuJoCo and here: states and accelerations of one in coordinates of the other, a dense solve.

    v_theirs = G v,   v_theirs' = G v' + g(v),   tau = G' tau_theirs

Only free joints differ: MuJoCo has the velocity in axes of the world, we in axes of the body. Nothing here uses the
reader or the kinematics of the library.
"""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import momentree as mt

FRICTION_VELOCITY = 0.01  # as docs/robots.md has it
FREE, BALL = 0, 1


def opened(model: mt.Model) -> mt.Model:
    """The model without what closes loops or couples joints."""
    tree = copy.deepcopy(model)
    tree.joints = [joint for joint in tree.joints if joint.name not in model.cuts]
    tree.cuts, tree.couples, tree.constraints = [], [], []
    return tree


class Peer:
    """MuJoCo's model of a file, asked in our coordinates."""

    def __init__(self, path: Any, system: mt.System):
        self.m = mujoco.MjModel.from_xml_path(str(path))
        off = mujoco.mjtDisableBit
        self.m.opt.disableflags |= int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_ACTUATION)
        self.d = mujoco.MjData(self.m)
        bodies = {body.joint.name: body for body in system.mechanism.bodies}
        names = [mujoco.mj_id2name(self.m, mujoco.mjtObj.mjOBJ_JOINT, i) for i in range(self.m.njnt)]
        self.joints = [bodies[name or f"joint_{i}"] for i, name in enumerate(names)]
        self.nq, self.nv = system.nq, system.nv
        assert self.nv == self.m.nv
        assert self.nq == self.m.nq

    def random_q(self, random: np.random.Generator) -> np.ndarray:
        """Inside the limits, within a radian or a meter of qpos0."""
        q = np.zeros(self.nq)
        for i, body in enumerate(self.joints):
            at = self.m.jnt_qposadr[i]
            if self.m.jnt_type[i] in (FREE, BALL):
                q[body.q] = random.standard_normal(body.q.stop - body.q.start)
                q[body.q][-4:] /= np.linalg.norm(q[body.q][-4:])
                continue
            low, high = self.m.qpos0[at] - 1, self.m.qpos0[at] + 1
            if self.m.jnt_limited[i]:
                low, high = max(low, self.m.jnt_range[i, 0]), min(high, self.m.jnt_range[i, 1])
            q[body.q] = random.uniform(low, high)
        return q

    def map(self, q: np.ndarray) -> np.ndarray:
        """G."""
        G = np.zeros((self.nv, self.nv))
        for i, body in enumerate(self.joints):
            block = np.eye(body.v.stop - body.v.start)
            if self.m.jnt_type[i] == FREE:
                block[:3, :3] = Rotation.from_quat(q[body.q][3:]).as_matrix()
            dof = self.m.jnt_dofadr[i]
            G[dof : dof + len(block), body.v] = block
        return G

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """g."""
        g = np.zeros(self.nv)
        for i, body in enumerate(self.joints):
            if self.m.jnt_type[i] == FREE:
                R, dof = Rotation.from_quat(q[body.q][3:]).as_matrix(), self.m.jnt_dofadr[i]
                g[dof : dof + 3] = R @ np.cross(v[body.v][3:], v[body.v][:3])
        return g

    def at(self, q: np.ndarray, v: np.ndarray) -> None:
        """Put MuJoCo into our state, with our law of friction instead of its own."""
        for i, body in enumerate(self.joints):
            at, values = self.m.jnt_qposadr[i], q[body.q].copy()
            if self.m.jnt_type[i] in (FREE, BALL):
                values[-4:] = np.roll(values[-4:], 1)
            self.d.qpos[at : at + len(values)] = values
        self.d.qvel[:] = self.map(q) @ v
        hinges = np.isin(self.m.jnt_type[self.m.dof_jntid], (2, 3))
        self.d.qfrc_applied[:] = -1.0 * hinges * self.m.dof_frictionloss * np.tanh(self.d.qvel / FRICTION_VELOCITY)
        mujoco.mj_forward(self.m, self.d)

    def dense_mass_matrix(self) -> np.ndarray:
        M = np.zeros((self.nv, self.nv))
        mujoco.mj_fullM(self.m, self.d, M)
        return M

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        self.at(q, np.zeros(self.nv))
        G = self.map(q)
        return G.T @ self.dense_mass_matrix() @ G

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Inertial terms less all forces, at zero accelerations of ours."""
        self.at(q, v)
        theirs = self.d.qfrc_bias - self.d.qfrc_passive - self.d.qfrc_applied
        return self.map(q).T @ (theirs + self.dense_mass_matrix() @ self.drift(q, v))

    def accelerations(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.at(q, v)
        return np.linalg.solve(self.map(q), self.d.qacc - self.drift(q, v))

    # --- equalities: their rows and a dense solve ---

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """J and J' v of all equalities, at MuJoCo's state, from the Jacobians of points and bodies."""
        J: list[np.ndarray] = []
        Jdot: list[np.ndarray] = []
        for i in range(self.m.neq):
            kind = self.m.eq_type[i]
            if not self.m.eq_active0[i]:
                continue
            rows, rates = (self.body_rows if kind in (0, 1) else self.coordinate_rows)(i)
            J.extend(rows)
            Jdot.extend(rates)
        found = np.array(J).reshape(-1, self.nv)
        return np.where(np.abs(found) < 1e-12, 0.0, found), np.array(Jdot)  # of bodies that are fixed to each other

    def body_rows(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        m, d, total, rate = self.m, self.d, 0, 0
        weld = m.eq_type[i] == 1
        for sign, end in ((1, 0), (-1, 1)):
            thing = (m.eq_obj1id[i], m.eq_obj2id[i])[end]
            if m.eq_objtype[i] == int(mujoco.mjtObj.mjOBJ_SITE):
                body, point = m.site_bodyid[thing], d.site_xpos[thing]
            else:
                anchor = m.eq_data[i, 3 * (end ^ weld) : 3 * (end ^ weld) + 3]
                body, point = thing, d.xpos[thing] + d.xmat[thing].reshape(3, 3) @ anchor
            for function, which in ((mujoco.mj_jac, 0), (mujoco.mj_jacDot, 1)):
                p, r = np.zeros((2, 3, self.nv))
                function(m, d, p, r, np.array(point), body)
                both = sign * (np.vstack([p, r]) if weld else p)
                total, rate = (total + both, rate) if which == 0 else (total, rate + both @ d.qvel)
        return total, rate

    def coordinate_rows(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """(x1 - x1_0) - polynomial(x2 - x2_0): its slopes, and their rate by the second derivative."""
        m, d, c = self.m, self.d, self.m.eq_data[i, :5]
        lines, values = [], []
        for thing in (m.eq_obj1id[i], m.eq_obj2id[i]):
            line, value = np.zeros(self.nv), 0.0
            if thing >= 0 and m.eq_type[i] == 2:
                line[m.jnt_dofadr[thing]] = 1
                value = d.qpos[m.jnt_qposadr[thing]] - m.qpos0[m.jnt_qposadr[thing]]
            elif thing >= 0:
                for k in range(m.tendon_adr[thing], m.tendon_adr[thing] + m.tendon_num[thing]):
                    line[m.jnt_dofadr[m.wrap_objid[k]]] += m.wrap_prm[k]
                value = d.ten_length[thing] - m.tendon_length0[thing]
            lines.append(line)
            values.append(value)
        y, ydot = values[1], lines[1] @ d.qvel
        slope, curvature = sum(k * c[k] * y ** (k - 1) for k in range(1, 5)), 0.0
        curvature = 2 * c[2] + 6 * c[3] * y + 12 * c[4] * y * y
        return [lines[0] - slope * lines[1]], [-curvature * ydot**2]

    def closed_velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The nearest velocities that keep all equalities."""
        self.at(q, v)
        J, _ = self.rows()
        J = J @ self.map(q)
        return v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v)

    def closed_accelerations(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """[[M, J'], [J, 0]] (v'; -lambda) = (forces; -J' v), by least squares where rows are redundant."""
        self.at(q, v)
        J, rate = self.rows()
        M = self.dense_mass_matrix()
        forces = self.d.qfrc_passive + self.d.qfrc_applied - self.d.qfrc_bias
        L = np.linalg.cholesky(M)
        free, wide = np.linalg.solve(M, forces), np.linalg.solve(L, J.T).T
        found = free - np.linalg.solve(L.T, np.linalg.pinv(wide, rcond=1e-9) @ (J @ free + rate))
        return np.linalg.solve(self.map(q), found - self.drift(q, v))
