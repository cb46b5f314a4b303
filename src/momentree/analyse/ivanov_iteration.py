"""Ivanov's iteration (2022), (10) to (12), for the Lagrange multipliers eta of split bodies: how it converges.

No motion is computed with it. (10) always converges, but the more slowly the lighter the split bodies are; (11) loses
what it looks for (docs/theory/errata.md proves the first and shows the second). The same W is a good preconditioner of
conjugate gradients. The letters are the paper's; a prime is a transpose.

    grad f(eta) = eps Ga' v = Phi eta + b = 0                                                               (7)
    eta_k = eta_k-1 - W grad f(eta_k-1) ,     W = (eps Ma^-1 eps')^-1 ,     eta_0 = 0                       (10)
    Phi^+ = X dF^+ ,     X = {eta_k} ,     dF = {grad f(eta_k) - grad f(0)} ,     k = 1 .. 6 L              (11)
    eta = -Phi^+ grad f(0)                                                                                  (12)

`momentree.ivanov_iteration` is the front door.

>>> import momentree as mt
>>> m = mt.Model("a bar on two posts")
>>> bar = m.body("bar", mt.rod(mass=1.0, length=1.0))
>>> for i in range(2):
...     post = m.body(f"post {i}", mt.rod(mass=1.0, length=1.0, along="y"))
...     foot = m.joint(f"foot {i}", mt.Revolute("z"), m.ground.at((i, 0, 0)), post)
...     head = m.joint(f"head {i}", mt.Revolute("z"), post.at((0, 1, 0)), bar.at((i, 0, 0)))
>>> m.split("bar", "head 1", 0.5)
>>> system = m.build()
>>> start = system.assemble({"foot 0": 0.3})
>>> slow = mt.ivanov_iteration(system, start, p=[1.0] * system.nv)
>>> fast = mt.ivanov_iteration(system, start, p=[1.0] * system.nv, method="conjugate gradients")
>>> slow.converged, fast.converged, fast.iterations < slow.iterations
(True, True, True)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.assembly.configuration import Array
from momentree.compile.execute.arrays import coordinates, scalars
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import generalized
from momentree.equations.hamiltonian import momenta, moving_bodies
from momentree.equations.kinematics import frame_placement, seen_at
from momentree.equations.sweeps import Record, Records
from momentree.errors import MomentreeError, all_choices, spell_checked
from momentree.model.frames import GROUND
from momentree.model.higher_pairs import HigherPair
from momentree.model.joint_type import Coordinates
from momentree.spatial import Force, Motion, RigidInertia, Scalar
from momentree.spatial.vector import ZERO, Vector, X, Y, Z
from momentree.structure.mechanism import Loop, Mechanism

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.system import System

UNITS = tuple(Motion(e, ZERO) for e in (X, Y, Z)) + tuple(Motion(ZERO, e) for e in (X, Y, Z))


@dataclass(frozen=True, eq=False)
class Solution:
    """Lagrange multipliers, and the iteration that gave them.

    | field     | shape   | meaning                                                                              |
    |-----------|---------|--------------------------------------------------------------------------------------|
    | eta       | 6 L     | of each split body: N s, then N m s; in inertial axes, at the body's own frame       |
    | history   | k + 1   | the length of grad f (m/s and rad/s together) at the start and after each iteration  |
    | converged |         | whether grad f is as small as was asked for                                          |
    """

    eta: Array
    history: Array
    converged: bool

    @property
    def iterations(self) -> int:
        """How many there were."""
        return len(self.history) - 1


@dataclass(frozen=True, eq=False)
class Differences(Solution):
    """What (11) and (12) make of 6 L iterations.

    | field    | shape     | meaning                                                                              |
    |----------|-----------|--------------------------------------------------------------------------------------|
    | X, dF    | 6 L, 6 L  | the iterates of (10), and how grad f differs from grad f(0) at each                  |
    | Phi_plus | 6 L, 6 L  | X dF^+, which the paper takes for the pseudo-inverse of Phi                          |
    | rank     |           | of X: how many independent directions the iterates have, to the cut-off              |
    | left     |           | the length of grad f at eta, which the paper does not look at                        |
    """

    X: Array
    dF: Array
    Phi_plus: Array
    rank: int
    left: float


class SplitBodies:
    """The split bodies of a mechanism at coordinates q, momenta p* and time t, and how they come apart.

    Six rows for each, in inertial axes at the body's own frame: pre-image less image.
    """

    def __init__(self, mechanism: Mechanism, q: Coordinates, p: Coordinates, t: float = 0.0):
        _refuse_other_closure(mechanism)
        self.mechanism, self.t = mechanism, t
        self.tree = dataclasses.replace(mechanism, loops=())  # the secondary graph, its bodies free of each other
        self.q, self.p = [float(x) for x in q], [float(x) for x in p]
        self.placed = moving_bodies(Evaluation(self.tree, self.q, t), self.p)

    # --- one evaluation: NPF and QV of the paper ---

    def grad_f(self, eta: Array) -> Array:
        """eps Ga' v: the velocities at which the halves come apart, 6 L (m/s, rad/s)."""
        return self._opening(self.moving(eta))

    def velocities(self, eta: Array) -> Array:
        """The velocities of the tree, nv."""
        return np.array(generalized(self.mechanism, self.moving(eta), "u"), dtype=float)

    def moving(self, eta: Array) -> Records:
        """The bodies as they move with p = p* + J' eta."""
        return moving_bodies(Evaluation(self.tree, self.q, self.t), self.momenta(eta))

    def momenta(self, eta: Array) -> list[float]:
        """p = p* + J' eta, nv."""
        return self._struck(self.p, eta)

    def impulses(self, eta: Array) -> list[Force]:
        """eta* of the ground and of each body, in its frame: the impulses on it and on all that it carries."""
        eta_star = [Force.zero()] * len(self.placed)
        for loop, (*linear, a, b, c) in zip(self.mechanism.loops, eta.reshape(-1, 6).tolist(), strict=True):
            impulse = Force(Vector(*linear), Vector(a, b, c))
            for end, part in ((loop.first, impulse), (loop.second, -impulse)):
                here = _carried(self._origin(loop), self.placed[end.body], part)
                eta_star[end.body] = eta_star[end.body] + here
        for record in reversed(self.placed[1:]):  # eta*_k += C' eta* of all that it carries
            if record.parent:
                eta_star[record.parent] = eta_star[record.parent] + record.X.force_to_parent(eta_star[record.number])
        return eta_star

    def _struck(self, p: Sequence[float], eta: Array) -> list[float]:
        """p_i + A_i' eta*_i."""
        struck = list(p)
        for body, eta_star in zip(self.mechanism.bodies, self.impulses(eta)[1:], strict=True):
            if body.laws is None:
                along = self.placed[body.number].A.along(eta_star)
                struck[body.v] = [float(old + new) for old, new in zip(p[body.v], along, strict=True)]
        return struck

    def _opening(self, moving: Records) -> Array:
        found: list[Scalar] = []
        for loop in self.mechanism.loops:
            ends = (moving[loop.first.body], moving[loop.second.body])
            first, second = (seen_at(self._origin(loop), record, record.v) for record in ends)
            found += [*(first - second)]
        return np.array(found, dtype=float)

    def _origin(self, loop: Loop) -> Vector:
        """Where a split body's own frame stands."""
        return frame_placement(self.placed, loop.first).offset

    # --- the matrices of (7) and (10) ---

    @property
    def size(self) -> int:
        """6 L."""
        return 6 * len(self.mechanism.loops)

    @cached_property
    def b(self) -> Array:
        """grad f(0)."""
        return self._opening(self.placed)

    @cached_property
    def Phi(self) -> Array:
        """How the halves come apart by unit impulses: one evaluation for each column; the tree at rest otherwise."""
        rest = [0.0] * self.mechanism.nv
        columns = []
        for struck in (rest, *(self._struck(rest, unit) for unit in np.eye(self.size))):
            columns.append(self._opening(moving_bodies(Evaluation(self.tree, self.q, self.t), struck)))
        Phi = np.array(columns[1:]).reshape(self.size, self.size) - columns[0]  # less what is prescribed
        return np.asarray((Phi + Phi.T) / 2)

    @cached_property
    def W(self) -> Array:
        """(eps Ma^-1 eps')^-1.

        All parts of one body have the same Ma but for their mass, so that only eps m^-1 eps' is inverted. A slender
        rod, whose Ma has no inverse, will do where the loops do not turn it about itself.
        """
        loops = self.mechanism.loops
        eps = np.zeros((len(loops), len(self.mechanism.bodies)))
        for row, loop in enumerate(loops):
            eps[row, loop.first.body - 1], eps[row, loop.second.body - 1] = 1, -1
        masses = np.array([float(body.inertia.mass) for body in self.mechanism.bodies])
        reduced = np.linalg.inv(eps / masses @ eps.T)
        W = np.zeros((len(loops), 6, len(loops), 6))
        for row, loop in enumerate(loops):
            W[row] = np.einsum("j,ik->ijk", reduced[row], self.inertia(loop))
        return W.reshape(self.size, self.size)

    @cached_property
    def eigenvalues(self) -> Array:
        """Of W Phi, the largest first. (10) leaves 1 - lambda of an error along each; all are between 0 and 1."""
        squares, directions = np.linalg.eigh(self.W)
        root = directions * np.sqrt(np.maximum(squares, 0)) @ directions.T
        return np.asarray(np.linalg.eigvalsh(root @ self.Phi @ root)[::-1])

    def inertia(self, loop: Loop) -> Array:
        """Ma of a split body for each kg of it: in inertial axes, at its own frame."""
        body, X_BF = self.mechanism.bodies[loop.first.body - 1], loop.first.placement
        own: RigidInertia = X_BF.inverse().inertia_to_parent(body.inertia)
        R = frame_placement(self.placed, loop.first).rotation
        M = own.turned(R) * (1 / body.inertia.mass)
        return np.array([[*(M @ unit)] for unit in UNITS], dtype=float)


def _carried(origin: Vector, record: Record, impulse: Force) -> Force:
    """An impulse at a point, in inertial axes, as one on a body at its frame, in its axes."""
    R, arm = record.X_0.rotation.T, origin - record.X_0.offset
    return Force(R @ impulse.linear, R @ (impulse.angular + arm.cross(impulse.linear)))


# --- the front door ---


@dataclass(frozen=True, eq=False)
class IvanovStudy:
    """Constraint impulses eta of split bodies by a method of Ivanov 2022, and the matrices of (7) and (10).

    | field       | shape    | meaning                                                                            |
    |-------------|----------|------------------------------------------------------------------------------------|
    | method      |          | its name                                                                           |
    | eta         | 6 L      | of each split body: N s, then N m s; in inertial axes, at the body's own frame     |
    | history     | k + 1    | the length of grad f (m/s and rad/s together) at the start and after each iteration |
    | converged   |          | whether grad f is as small as was asked for                                        |
    | velocities  | nv       | of the tree, with p = p* + J' eta: loops stay closed if it has converged           |
    | Phi, b      | 6 L, 6 L | of (7): grad f(eta) = Phi eta + b; Phi is the Delassus matrix                      |
    | W           | 6 L, 6 L | (eps Ma^-1 eps')^-1 of (10)                                                        |
    | eigenvalues | 6 L      | of W Phi, the largest first: (10) leaves 1 - lambda of an error along each          |
    | differences |          | of (11), (12): X, dF, Phi_plus, rank, left; None of the other methods              |
    """

    method: str
    eta: Array
    history: Array
    converged: bool
    velocities: Array
    Phi: Array
    b: Array
    W: Array
    eigenvalues: Array
    differences: Differences | None

    @property
    def iterations(self) -> int:
        """How many there were."""
        return len(self.history) - 1


@spell_checked
def ivanov_iteration(
    system: System,
    state: State,
    p: Any = None,
    method: str = "iteration",
    tolerance: float = 1e-10,
    most: int = 10_000,
    cut_off: float = 1e-12,
) -> IvanovStudy:
    """Constraint impulses of split bodies (`m.split`) by Ivanov's methods, for a study of how they converge.

    | method                | what it does                                                                            |
    |-----------------------|-----------------------------------------------------------------------------------------|
    | "iteration"           | (10), until grad f is `tolerance` of grad f(0), or `most` iterations are made           |
    | "differences"         | (11) and (12) after 6 L iterations; singular values below `cut_off` count as zero       |
    | "conjugate gradients" | Hestenes and Stiefel 1952, with W of (10) as preconditioner                             |

    p are the momenta p*, nv; those of the state's velocities unless given, which need no impulses if loops stay closed.

    >>> study = mt.ivanov_iteration(system, start, p=[1.0, 2.0, 3.0], method="differences")   # doctest: +SKIP
    """
    if method not in _METHODS:
        hint = all_choices(str(method), list(_METHODS))
        raise MomentreeError(f"ivanov_iteration: there is no method '{method}'.{hint}")
    mechanism = system._numeric
    if not mechanism.loops:
        raise MomentreeError("ivanov_iteration: there is no split body. Split one in each loop: m.split('bar', 'C').")
    q = coordinates(mechanism, state.q)
    chosen = momenta(Evaluation(mechanism, q, state.t), state.v.tolist()) if p is None else scalars(p, system.nv, "p")
    bodies = SplitBodies(mechanism, q, chosen, state.t)
    given = {"tolerance": tolerance, "most": most, "cut_off": cut_off}
    solve, takes = _METHODS[method]
    found = solve(bodies, **{name: given[name] for name in takes})
    differences = found if isinstance(found, Differences) else None
    about = (found.eta, found.history, found.converged, bodies.velocities(found.eta))
    return IvanovStudy(method, *about, bodies.Phi, bodies.b, bodies.W, bodies.eigenvalues, differences)


# --- methods ---


def simple_iteration(bodies: SplitBodies, tolerance: float = 1e-10, most: int = 10_000) -> Solution:
    """(10), until grad f is `tolerance` of grad f(0), or `most` iterations are made.

    As eta_k = (E - W Phi) eta_k-1 - W b, with Phi formed once: what the paper shows (10) to be, so that thousands of
    iterations cost little. `from_differences` evaluates grad f as the paper does.
    """
    Phi, W, b = bodies.Phi, bodies.W, bodies.b
    eta, grad_f = np.zeros(bodies.size), b
    history = [float(np.linalg.norm(b))]
    while history[-1] > tolerance * history[0] and len(history) <= most:
        eta = eta - W @ grad_f
        grad_f = Phi @ eta + b
        history.append(float(np.linalg.norm(grad_f)))
    return Solution(eta, np.array(history), history[-1] <= tolerance * history[0])


def from_differences(bodies: SplitBodies, cut_off: float = 1e-12, tolerance: float = 1e-10) -> Differences:
    """(11) and (12), after as many iterations of (10) as eta has entries, each with an evaluation of grad f.

    Singular values of dF below `cut_off` of the largest count as zero. The history is that of (10).
    """
    W, b = bodies.W, bodies.b
    eta, grad_f = np.zeros(bodies.size), b
    history = [float(np.linalg.norm(b))]
    iterates, openings = [], []
    for _ in range(bodies.size):
        eta = eta - W @ grad_f  # (10)
        grad_f = bodies.grad_f(eta)
        iterates.append(eta)
        openings.append(grad_f)
        history.append(float(np.linalg.norm(grad_f)))
    X, F = (np.array(columns).reshape(bodies.size, bodies.size).T for columns in (iterates, openings))
    dF = F - b[:, None]
    Phi_plus = X @ np.linalg.pinv(dF, rcond=cut_off)  # (11)
    eta = -Phi_plus @ b  # (12)
    left = float(np.linalg.norm(bodies.grad_f(eta)))
    return Differences(eta, np.array(history), left <= tolerance * history[0], X, dF, Phi_plus, _rank(X, cut_off), left)


def conjugate_gradients(bodies: SplitBodies, tolerance: float = 1e-10, most: int = 10_000) -> Solution:
    """Phi eta = -b by conjugate gradients preconditioned with W: but for rounding, at most as many steps as the rank.

    Hestenes and Stiefel 1952. Every step is one evaluation, as in (10).
    """
    Phi, W, b = bodies.Phi, bodies.W, bodies.b
    eta, residual = np.zeros(bodies.size), -b
    step = W @ residual
    size = float(residual @ step)
    history = [float(np.linalg.norm(b))]
    while history[-1] > tolerance * history[0] and len(history) <= most and size > 0:
        carried = Phi @ step
        length = size / float(step @ carried)
        eta, residual = eta + length * step, residual - length * carried
        steepest = W @ residual
        size, last = float(residual @ steepest), size
        step = steepest + size / last * step
        history.append(float(np.linalg.norm(residual)))
    return Solution(eta, np.array(history), history[-1] <= tolerance * history[0])


_METHODS: dict[str, tuple[Callable[..., Solution], tuple[str, ...]]] = {
    "iteration": (simple_iteration, ("tolerance", "most")),
    "differences": (from_differences, ("cut_off", "tolerance")),
    "conjugate gradients": (conjugate_gradients, ("tolerance", "most")),
}


def _rank(A: Array, cut_off: float) -> int:
    sizes = np.linalg.svd(A, compute_uv=False)
    return int((sizes > cut_off * sizes.max(initial=0.0)).sum())


def _refuse_other_closure(mechanism: Mechanism) -> None:
    """The paper closes loops inside bodies, and in no other way."""
    problems = []
    for loop in mechanism.loops:
        if (joint := loop.joint) is not None:
            body = joint.first.body if joint.second.body == GROUND else joint.second.body
            problems.append(
                f"joint '{joint.name}': it closes a loop, and Ivanov's iteration is for split bodies, with six rows "
                f"each. Split a body there: m.split('{body}', '{joint.name}')."
            )
    pairs = [loop for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair)]
    for name in [loop.name for loop in pairs] + [constraint.name for constraint in mechanism.constraints]:
        problems.append(f"constraint '{name}': Ivanov's iteration is for loops that are cut inside a body.")
    if problems:
        raise MomentreeError("\n".join(problems))
