"""Assembly: from a partial configuration to one that closes every loop, on the branch nearest to the guess.

Levenberg-Marquardt steps on the gaps, on the rates of the tree (so that quaternions stay unit), with the given
coordinates held; then Newton steps until round-off. docs/theory/closure.md, eq. (5).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from momentree.equations.closure import Array, ClosingJoint, Configuration
from momentree.errors import AssemblyError, MomentreeError
from momentree.model import Model
from momentree.model.joint import Joint
from momentree.model.start import joint_of
from momentree.model.values import Values
from momentree.simulate.given import coordinates_given, rates_given
from momentree.simulate.state import State
from momentree.spatial import ZERO
from momentree.structure.mechanism import Mechanism, TreeBody

CLOSED = 1e-11  # relative gap below which a mechanism counts as closed; what is reached is nearer to 1e-15
NULL = 1e-13  # least damping, by the mean square of a row: redundant rows then do no harm
RANK = 1e-9  # singular values below this part of the largest are round-off
ATTEMPTS = 40  # starts around the guess before an assembly is given up
BRANCH_STARTS = 80  # starts when all branches are wanted


def assemble(
    mechanism: Mechanism,
    given: Mapping[str, Any] | None = None,
    rates: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | State | None = None,
    t: float = 0.0,
) -> State:
    """The state that has the given coordinates and rates, closes everything, and is nearest to the guess."""
    task = _Assembly(mechanism, given or {}, guess, t)
    q = task.solve()
    return State(mechanism, q, _rates(mechanism, q, rates or {}, t), t)


def branches(
    mechanism: Mechanism,
    given: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | State | None = None,
    t: float = 0.0,
) -> list[State]:
    """Every closed configuration found with the given coordinates, nearest to the guess first; rates at rest."""
    task = _Assembly(mechanism, given or {}, guess, t)
    found: list[Array] = []
    for start in task.starts(BRANCH_STARTS):
        q, gap = task.close(start)
        q = task.unwound(q)
        if gap <= task.tolerance and all(task.distance(q, other) > 1e-6 for other in found):
            found.append(q)
            loose = task.freedom(q)
            if loose:
                raise AssemblyError(
                    f"given these, {loose} of its freedoms are still left, so that there is a continuum of "
                    "configurations, not branches. Give as many more coordinates."
                )
    if not found:
        task.solve()  # says why not
    found.sort(key=lambda q: task.distance(q, task.guess))
    return [State(mechanism, q, _rates(mechanism, q, {}, t), t) for q in found]


def begin(
    mechanism: Mechanism,
    model: Model,
    given: Mapping[str, Any] | None = None,
    rates: Mapping[str, Any] | None = None,
) -> State:
    """The state at which a model says that motions begin; what is given replaces what it says of the same joints."""
    if model.start is None:
        return assemble(mechanism, given, rates)
    values = Values(dict(model.parameters))
    said, t = model.start.numbers(values), model.start.times(values)[0]
    joints = mechanism.by_joint
    for what, instead in (("coordinates", given or {}), ("rates", rates or {})):
        replaced = {joint_of(str(key), joints)[0] for key in instead}
        kept = {key: value for key, value in said[what].items() if joint_of(key, joints)[0] not in replaced}
        said[what] = {**kept, **instead}
    try:
        return assemble(mechanism, said["coordinates"], said["rates"], said["guess"] or None, t)
    except MomentreeError as error:
        if given or rates:
            raise
        place = f"{model.source(('start',))}: " if model.source else ""
        raise AssemblyError(f"{place}start: {error}") from None


class _Assembly:
    """One search: what is held, where it starts, how far from closed it is."""

    def __init__(
        self, mechanism: Mechanism, given: Mapping[str, Any], guess: Mapping[str, Any] | State | None, t: float
    ):
        self.mechanism, self.t = mechanism, t
        self.length = _characteristic_length(mechanism)
        self.tolerance = CLOSED * max(1.0, self.length)
        units = [unit for body in mechanism.bodies if not body.laws for unit in rate_units(body.connection.joint)]
        self.scale = np.array([self.length if unit == "m" else 1.0 for unit in units])  # how far a rate may carry
        self.given = list(coordinates_given(mechanism, given, "given"))
        q = guess.q.copy() if isinstance(guess, State) else reference(mechanism)
        hints = [] if guess is None or isinstance(guess, State) else coordinates_given(mechanism, guess, "guess")
        for entry in (*hints, *self.given):
            if isinstance(entry.place, TreeBody):
                q[entry.place.q][entry.index] = entry.value
        self.guess = q
        self.held = sorted({i for entry in self.given for i in entry.held})
        self.moving = np.setdiff1d(np.arange(mechanism.nv), self.held)
        self.wanted = [entry for entry in self.given if not entry.held]  # not held, so a row of its own

    # --- the search --------------------------------------------------------------------------------------------------

    def solve(self) -> Array:
        """The closed configuration nearest to the guess, or an error that says how near it came."""
        closed: list[Array] = []
        misses: list[tuple[float, Array]] = []
        for attempt, start in enumerate(self.starts(ATTEMPTS)):
            q, gap = self.close(start)
            if gap <= self.tolerance:
                closed.append(self.unwound(q))
            else:
                misses.append((gap, q))
            # from the guess itself the way leads to the nearest branch; from other starts several are compared
            if closed and (attempt == 0 or attempt >= 8):
                break
            if not closed and attempt >= 12 and _settled([gap for gap, _ in misses]):
                break
        if closed:
            return min(closed, key=lambda q: self.distance(q, self.guess))
        raise self.failure(min(misses, key=lambda miss: miss[0])[1])

    def starts(self, count: int) -> Iterable[Array]:
        """The guess, then points around it, farther and farther; always the same ones."""
        yield self.guess
        if len(self.moving) == 0:
            return
        random = np.random.default_rng(20190227)
        for k in range(1, count):
            radius = 0.05 * (math.pi / 0.05) ** min(k / 12, 1.0)
            step = np.zeros(self.mechanism.nv)
            step[self.moving] = random.uniform(-1, 1, len(self.moving)) * radius * self.scale[self.moving]
            yield integrate(self.mechanism, self.guess, step)

    def close(self, q: Array) -> tuple[Array, float]:
        """The closed configuration that steps downhill lead to, and the gap that is left."""
        g, J = self.residual(q)
        damping = 1e-3
        for _ in range(200):
            size = float(g @ g)
            if math.sqrt(size) <= 1e-9 * self.length:
                break
            step = self._damped_step(J, g, damping * size)
            trial = integrate(self.mechanism, q, step)
            g_new, J_new = self.residual(trial)
            if float(g_new @ g_new) < size * (1 - 1e-12):
                downhill = size - float(g_new @ g_new) > 1e-6 * size
                q, g, J, damping = trial, g_new, J_new, max(damping / 5, 1e-12)
                if not downhill:
                    break
            elif damping > 1e8:
                break
            else:
                damping = max(damping * 8, 1e-9)
        return self._polish(q, g, J)

    def unwound(self, q: Array) -> Array:
        """The same configuration without full turns away from the guess, where turns do not matter."""
        turns = np.zeros(self.mechanism.nq)
        for body in self.mechanism.bodies:
            if body.laws is None and "rad" in body.connection.joint.units:
                angles = np.array([unit == "rad" for unit in body.connection.joint.units])
                turns[body.q] = np.where(angles, np.round((q[body.q] - self.guess[body.q]) / (2 * math.pi)), 0)
        if not turns.any():
            return q
        back: Array = q - 2 * math.pi * turns
        still_closed = np.abs(self.residual(back)[0]).max(initial=0.0) <= self.tolerance  # not so with gears or screws
        return back if still_closed else q

    def _polish(self, q: Array, g: Array, J: Array) -> tuple[Array, float]:
        """Newton steps for as long as the gap shrinks."""
        for _ in range(12):
            step = self._damped_step(J, g)
            if np.abs(step / self.scale).max(initial=0.0) > 0.5:  # not near a solution: it would leave the branch
                break
            trial = integrate(self.mechanism, q, step)
            g_new, J_new = self.residual(trial)
            if not np.linalg.norm(g_new) < np.linalg.norm(g):
                break
            q, g, J = trial, g_new, J_new
        return q, float(np.linalg.norm(g))

    def _damped_step(self, J: Array, g: Array, damping: float = 0.0) -> Array:
        """-D (J D)'((J D)(J D)' + damping E)^-1 g, solved on the smaller side; at most 0.6 rad long."""
        scale = self.scale[self.moving]
        Js = J[:, self.moving] * scale
        step = np.zeros(self.mechanism.nv)
        if not Js.any():
            return step
        damping = max(damping, NULL * float(np.square(Js).sum()) / min(Js.shape))
        if len(g) <= len(scale):
            solved = Js.T @ np.linalg.solve(Js @ Js.T + damping * np.eye(len(g)), g)
        else:
            solved = np.linalg.solve(Js.T @ Js + damping * np.eye(len(scale)), Js.T @ g)
        step[self.moving] = -scale * solved
        largest = float(np.abs(step / self.scale).max(initial=0.0))
        return step * min(1.0, 0.6 / largest) if largest > 0 else step

    def residual(self, q: Array) -> tuple[Array, Array]:
        """Gaps and Jacobian, with a row more for each given coordinate that is not simply held."""
        at = Configuration(self.mechanism, q, t=self.t)
        g, J = at.gaps(), at.jacobian()
        for entry in self.wanted:
            miss = at.coordinates_of(entry.joint)[entry.index] - entry.value
            if entry.angle:
                miss = math.remainder(miss, 2 * math.pi)
            g = np.append(g, miss)
            J = np.vstack([J, at.coordinate_slopes(entry.joint)[entry.index]])
        return g, J

    def freedom(self, q: Array) -> int:
        """How many independent ways there are to go on from a closed configuration with the given held."""
        J = self.residual(q)[1][:, self.moving]
        return len(self.moving) - int(np.linalg.matrix_rank(J, tol=1e-8 * max(1.0, np.abs(J).max(initial=0.0))))

    def distance(self, a: Array, b: Array) -> float:
        """How far apart two configurations are, full turns not counted (rad, m by the length of the mechanism)."""
        total = 0.0
        for body in self.mechanism.bodies:
            if body.laws is None:
                joint = body.connection.joint
                step = joint.difference(tuple(a[body.q]), tuple(b[body.q]))
                for d, unit in zip(step, rate_units(joint), strict=True):
                    total += (d / self.length if unit == "m" else math.remainder(d, 2 * math.pi)) ** 2
        return math.sqrt(total)

    # --- when it fails -----------------------------------------------------------------------------------------------

    def failure(self, q: Array) -> AssemblyError:
        """How near it came, what is short, and what would close."""
        culprit, short = self._short(Configuration(self.mechanism, q, t=self.t))
        if not self.given:
            return AssemblyError(f"{short}. {_advice(culprit)}", culprit)
        told = ", ".join(f"{e.label}={e.value:.6g}" for e in self.given)
        return AssemblyError(f"{short} ({told}). {self._way_out(q)}", culprit)

    def _short(self, at: Configuration) -> tuple[tuple[str, str] | None, str]:
        """The loop or constraint with the widest gap, and how wide it is: translations before rotations."""
        widest: dict[str, tuple[float, ClosingJoint]] = {}
        for joint in at.joints:
            gaps = joint.directions @ joint.gap()
            slides = np.array([row.direction.linear != ZERO for row in joint.rows])
            for unit, part in (("m", gaps[slides]), ("rad", gaps[~slides])):
                size = float(np.linalg.norm(part))
                if size > widest.get(unit, (self.tolerance,))[0]:
                    widest[unit] = (size, joint)
        for unit, words in (("m", "gap {:.4g} m at best"), ("rad", "its axes miss by {:.4g} rad at best")):
            if unit in widest:
                gap, joint = widest[unit]
                thing = "joint" if joint.loop.connection else "body"
                short = f"{thing} '{joint.loop.name}': closes a loop, but cannot: {words.format(gap)}"
                return (thing, joint.loop.name), short
        constraints = [c.name for c in self.mechanism.closures if c.holonomic]
        misses = np.abs(at.gaps()[len(at.gaps()) - len(constraints) :])
        if misses.max(initial=0.0) > self.tolerance:
            name, miss = constraints[int(misses.argmax())], misses.max()
            return ("constraint", name), f"constraint '{name}': cannot hold: it is {miss:.4g} at best, not 0"
        return None, "the coordinates given do not fit together"

    def _way_out(self, q: Array) -> str:
        """With what was given released to be a mere guess, where does it close?"""
        near_miss = State(self.mechanism, q, np.zeros(self.mechanism.nv), self.t)
        free = _Assembly(self.mechanism, {}, near_miss, self.t)
        try:
            q = free.solve()
        except AssemblyError as error:
            return f"It closes nowhere. {_advice(error.culprit)}"
        at = Configuration(self.mechanism, q, t=self.t)
        near = ", ".join(f"{e.label}={at.coordinates_of(e.joint)[e.index]:.4g}" for e in self.given)
        advice = " Or give fewer coordinates and leave the others as guess=." if len(self.given) > 1 else ""
        return f"The nearest that closes has {near}.{advice}"


def _rates(mechanism: Mechanism, q: Array, given: Mapping[str, Any], t: float) -> Array:
    """The rates nearest to rest that have the given ones and keep everything closed."""
    at = Configuration(mechanism, q, t=t)
    entries = list(rates_given(mechanism, given))
    rows = [at.rate_slopes(entry.joint)[[entry.index]] for entry in entries]
    matrix = np.vstack([at.jacobian(on_rates=True), *rows])
    still = [at.rates_of(e.joint)[e.index] for e in entries]  # of a closing joint, from prescribed motion alone
    wanted = np.concatenate([-at.velocities(), [e.value - s for e, s in zip(entries, still, strict=True)]])
    if not wanted.any():
        return np.zeros(mechanism.nv)
    inverse = np.linalg.pinv(matrix, rcond=RANK)
    v: Array = inverse @ wanted
    v = v + inverse @ (wanted - matrix @ v)
    miss = float(np.abs(matrix @ v - wanted).max(initial=0.0))
    if miss > 1e-9 * max(1.0, float(np.abs(wanted).max(initial=0.0))):
        given_rates = ", ".join(f"{e.label}={e.value:g}" for e in entries)
        driven = ", ".join(f"'{body.connection.name}'" for body in mechanism.bodies if body.laws)
        cause = f"the rates {given_rates}" if entries else f"the prescribed motions of joints {driven}"
        way_out = "Give fewer." if entries else "Leave one of the joints free."
        raise AssemblyError(f"{cause} do not fit together: they open the loops at {miss:.4g} m/s or rad/s. {way_out}")
    return v


def _advice(culprit: tuple[str, str] | None) -> str:
    if culprit is not None and culprit[0] == "constraint":
        return "Check its expression."
    return "Check the lengths and the directions of the axes around it."


def _settled(gaps: Sequence[float]) -> bool:
    """Whether so many starts came to the same least gap that no more need be tried."""
    return sum(1 for gap in gaps if gap <= min(gaps) * (1 + 1e-3)) >= 5


def reference(mechanism: Mechanism) -> Array:
    """Every joint at its reference: the second frame on the first."""
    q = np.zeros(mechanism.nq)
    for body in mechanism.bodies:
        if body.laws is None:
            q[body.q] = body.connection.joint.reference()
    return q


def integrate(mechanism: Mechanism, q: Array, step: Array) -> Array:
    """The coordinates after a step along the rates of the tree."""
    moved = q.copy()
    for body in mechanism.bodies:
        if body.laws is None:
            moved[body.q] = body.connection.joint.integrate(tuple(q[body.q]), tuple(step[body.v]))
    return moved


def rate_units(joint: Joint) -> tuple[str, ...]:
    """The unit that an integrated rate has: those of the coordinates, radians for the turning of a ball."""
    if len(joint.coordinates) == len(joint.rates):
        return joint.units
    return ("m",) * (len(joint.rates) - 3) + ("rad",) * 3


def _characteristic_length(mechanism: Mechanism) -> float:
    """The largest distance between two joints of one body, 1 m if there is none: what makes a gap large or small."""
    places = [body.mount for body in mechanism.bodies]
    places += [end.placement for loop in mechanism.loops for end in (loop.first, loop.second)]
    longest = max((math.sqrt(sum(float(x) ** 2 for x in X.offset)) for X in places), default=0.0)
    return longest or 1.0
