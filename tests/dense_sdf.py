"""Cassie and its like from SDF by other means: ElementTree, NumPy, 4x4 poses, dense Jacobians and a dense KKT system.

Written from the SDF specification, without anything of momentree: poses of links in the model, joint frames in their
children, axes in the joint frame or that of the model, gearboxes as couplings. The tree, which joints of the file are
cut, and the order of the velocities are those of the system under test; everything else is computed here.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

MOMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def about(n, angle):
    """Rodrigues."""
    K = skew(n)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def pose(text):
    x, y, z, roll, pitch, yaw = (float(word) for word in text.split()) if text and text.strip() else (0,) * 6
    T = np.eye(4)
    T[:3, :3] = about([0, 0, 1], yaw) @ about([0, 1, 0], pitch) @ about([1, 0, 0], roll)
    T[:3, 3] = x, y, z
    return T


def from_quaternion(x, y, z, w):
    R = np.empty((3, 3))
    for k, e in enumerate(np.eye(3)):
        u = np.array([x, y, z])
        R[:, k] = e + 2 * np.cross(u, np.cross(u, e) + w * e)
    return R


def adjoint(T):
    """Twists (velocity of the origin; angular velocity) of a frame, to the origin and axes of the world."""
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])


def cross(V):
    """Of twists."""
    v, w = skew(V[:3]), skew(V[3:])
    return np.block([[w, v], [np.zeros((3, 3)), w]])


class Link:
    def __init__(self, element):
        self.T = pose(element.findtext("pose"))
        inertial = element.find("inertial")
        self.mass = float(inertial.findtext("mass"))
        X = pose(inertial.findtext("pose"))
        xx, yy, zz, xy, xz, yz = (float(inertial.findtext(f"inertia/i{k}")) for k in MOMENTS)
        J = X[:3, :3] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ X[:3, :3].T
        c = skew(X[:3, 3])
        m = self.mass
        self.inertia = np.block([[m * np.eye(3), -m * c], [m * c, J - m * c @ c]])


class DenseJoint:
    """`X_F`, `X_M`: its frames in the parent and the child; `axis` in them."""

    def __init__(self, element, links):
        self.name, self.kind = element.get("name"), element.get("type")
        self.parent, self.child = element.findtext("parent"), element.findtext("child")
        T = links[self.child].T @ pose(element.findtext("pose"))
        self.X_F, self.X_M = np.linalg.inv(links[self.parent].T) @ T, np.linalg.inv(links[self.child].T) @ T
        self.axis = np.array([float(word) for word in element.findtext("axis/xyz").split()])
        if element.findtext("axis/use_parent_model_frame") == "1":
            self.axis = T[:3, :3].T @ self.axis
        self.axis /= np.linalg.norm(self.axis)
        said = [element.findtext(f"axis/dynamics/{tag}") for tag in ("damping", "spring_stiffness", "spring_reference")]
        self.damping, self.spring, self.rest = (float(text or 0) for text in said)

    def placed(self, q):
        T = np.eye(4)
        if self.kind == "fixed":
            return T
        if self.kind == "revolute":
            T[:3, :3] = about(self.axis, q[0])
        elif self.kind == "prismatic":
            T[:3, 3] = self.axis * q[0]
        else:
            T[:3, :3] = from_quaternion(*q[-4:])
            T[:3, 3] = q[:3] if self.kind == "free" else 0
        return T

    @property
    def A(self):
        zero = np.zeros(3)
        if self.kind == "fixed":
            return np.zeros((6, 0))
        if self.kind == "revolute":
            return np.hstack([zero, self.axis])[:, None]
        if self.kind == "prismatic":
            return np.hstack([self.axis, zero])[:, None]
        return np.eye(6)[:, 3:] if self.kind == "ball" else np.eye(6)


class DenseSdf:
    """Mass matrix, bias and closed-loop accelerations at q, v of a system that was read from the same text."""

    def __init__(self, text, system, root, floating=True, rows=None):
        self.rows = rows  # names of the rows that are kept, None for all
        model = ET.fromstring(text).find("model")
        self.links = {link.get("name"): Link(link) for link in model.findall("link")}
        joints = [DenseJoint(j, self.links) for j in model.findall("joint") if j.get("type") != "gearbox"]
        self.joints = {joint.name: joint for joint in joints}
        free = DenseJoint.__new__(DenseJoint)
        free.name, free.kind, free.parent, free.child = "root", "free" if floating else "fixed", None, root
        free.X_F, free.X_M = self.links[root].T, np.eye(4)
        free.damping = free.spring = free.rest = 0.0
        self.joints["root"] = free
        self.floating = floating
        self.gearboxes = [j for j in model.findall("joint") if j.get("type") == "gearbox"]
        self.columns = {name: [] for name in self.joints}
        for row in system.velocities:
            self.columns[row.joint].append(row.index)
        self.places = {name: [] for name in self.joints}
        for row in system.coordinates:
            self.places[row.joint].append(row.index)
        self.nv = system.nv
        self.tree = [name for name, columns in self.columns.items() if columns or name == "root"]
        self.cut = [name for name in self.joints if name not in self.tree]

    def swept(self, q, v):
        """Poses, Jacobians, twists and J' v of all links, at the origin of the world."""
        n = self.nv
        T, J, V, dJv = {None: np.eye(4)}, {None: np.zeros((6, n))}, {None: np.zeros(6)}, {None: np.zeros(6)}
        waiting = list(self.tree)
        while waiting:
            name = waiting.pop(0)
            joint, columns = self.joints[name], self.columns[name]
            outward = joint.parent in T
            if not outward and joint.child not in T:
                waiting.append(name)
                continue
            here = joint.placed(q[self.places[name]])
            if outward:
                new, old, sign = joint.child, joint.parent, 1
                T[new] = T[old] @ joint.X_F @ here @ np.linalg.inv(joint.X_M)
            else:
                new, old, sign = joint.parent, joint.child, -1
                T[new] = T[old] @ joint.X_M @ np.linalg.inv(here) @ np.linalg.inv(joint.X_F)
            S = adjoint(T[joint.child] @ joint.X_M) @ joint.A
            J[new] = J[old].copy()
            J[new][:, columns] += sign * S
            V[new] = J[new] @ v
            # the columns are fixed in the child
            dJv[new] = dJv[old] + sign * cross(V[joint.child]) @ S @ v[columns]
        return T, J, V, dJv

    def mass_matrix(self, q):
        T, J, _, _ = self.swept(q, np.zeros(self.nv))
        return sum(J[name].T @ self.spatial(T[name], link) @ J[name] for name, link in self.links.items())

    def spatial(self, T, link):
        back = np.linalg.inv(adjoint(T))
        return back.T @ link.inertia @ back

    def accelerations(self, q, v, gravity=(0, 0, -9.81), rank_tolerance=1e-9):
        """vdot with all loops closed; redundant rows fall out of a singular value decomposition."""
        T, J, V, dJv = self.swept(q, v)
        M, force = np.zeros((self.nv, self.nv)), np.zeros(self.nv)
        g = np.array([*gravity, 0, 0, 0])
        for name, link in self.links.items():
            I = self.spatial(T[name], link)
            M += J[name].T @ I @ J[name]
            force -= J[name].T @ (I @ (dJv[name] - g) - cross(V[name]).T @ I @ V[name])
        for name in self.tree:
            joint, columns = self.joints[name], self.columns[name]
            if len(columns) == 1:
                force[columns] -= joint.damping * v[columns] + joint.spring * (q[self.places[name]] - joint.rest)
        G, c = self.constraints(T, J, V, dJv, v)
        U, sizes, W = np.linalg.svd(G, full_matrices=False)
        kept = sizes > rank_tolerance * sizes[0]
        G, c = W[kept], (U.T @ c)[kept] / sizes[kept]
        r = len(G)
        K = np.block([[M, G.T], [G, np.zeros((r, r))]])
        return np.linalg.solve(K, np.hstack([force, c]))[: self.nv], self.nv - r

    def named(self, T, joint):
        """Rows by their names, "joint: translation along y": wrenches in axes of the first frame, at the second."""
        at = T[joint.parent] @ joint.X_F
        at[:3, 3] = (T[joint.child] @ joint.X_M)[:3, 3]
        back, rows = np.linalg.inv(adjoint(at)), []
        for row in self.rows:
            name, _, what = row.partition(": ")
            if name == joint.name:
                rows.append(back["xyz".index(what[-1]) + 3 * what.startswith("rotation")])
        return np.array(rows)

    def constraints(self, T, J, V, dJv, v):
        """G vdot = c: the relative twist of a cut joint stays in the span of its motions, couplings stay linear."""
        rows, right = [], []
        for name in self.cut:
            joint = self.joints[name]
            S = adjoint(T[joint.child] @ joint.X_M) @ joint.A
            relative = J[joint.child] - J[joint.parent]
            u = np.linalg.lstsq(S, relative @ v, rcond=None)[0]
            N = np.linalg.svd(S)[0][:, S.shape[1] :].T if self.rows is None else self.named(T, joint)
            rows.append(N @ relative)
            right.append(N @ (cross(V[joint.child]) @ S @ u - (dJv[joint.child] - dJv[joint.parent])))
        for gearbox in self.gearboxes:
            ends = [gearbox.findtext(tag) for tag in ("parent", "child")]
            reference = gearbox.findtext("gearbox_reference_body")
            first, second = (
                next(j for j in self.joints.values() if j.parent == reference and j.child == end) for end in ends
            )
            row = np.zeros(self.nv)
            row[self.columns[second.name]] = 1
            row[self.columns[first.name]] = float(gearbox.findtext("gearbox_ratio"))
            rows.append(row[None])
            right.append(np.zeros(1))
        return np.vstack(rows), np.hstack(right)
