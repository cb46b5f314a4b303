"""Assembly: from a partial configuration to one that closes every loop, on the branch nearest to the guess.

From the guess and, where that leads nowhere or does not say enough, from starts around it, `Closing` goes downhill
(closing_search.py). Of what is found the nearest counts, by what was guessed and not by what was not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from momentree.assembly.closed_velocities import closed_velocities, freedoms
from momentree.assembly.closing_search import CLOSED, Closed, Closing, difference, integrate, reference
from momentree.assembly.configuration import Array, ClosingJoint, Configuration
from momentree.assembly.named_values import Entry, coordinates_given
from momentree.assembly.scaled_constraints import CUT_OFF
from momentree.assembly.state import State
from momentree.errors import AssemblyError, MomentreeError
from momentree.model import Model
from momentree.model.start import joint_of
from momentree.model.values import Values
from momentree.spatial import ZERO
from momentree.structure.mechanism import Mechanism, TreeBody
from momentree.structure.size import LARGEST_TOLERANCE

ATTEMPTS = 40  # starts around the guess before an assembly is given up
COMPARED = 8  # attempts after which the nearest that closed is taken
BRANCH_STARTS = 80  # starts when all branches are wanted
UNGUESSED = 1e-3  # what a coordinate that was not guessed weighs by one that was
SETTLED = 5  # so many starts that came to the same least misfit end a search
MET = 1e-9  # scaled: a guess that is kept
NEAR_MISS = 1e3  # times the tolerance: closure errors of lengths that are rounded rather than wrong


def assemble(
    mechanism: Mechanism,
    given: Mapping[str, Any] | None = None,
    velocities: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | State | None = None,
    t: float = 0.0,
) -> State:
    """The state that has the given coordinates and velocities, closes everything, and is nearest to the guess."""
    task = _Assembly(mechanism, given or {}, guess, t)
    q = task.solve()
    return State(mechanism, q, closed_velocities(mechanism, q, velocities or {}, t, task.placed(q)), t)


def branches(
    mechanism: Mechanism,
    given: Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | State | None = None,
    t: float = 0.0,
) -> list[State]:
    """Every closed configuration found with the given coordinates, nearest to the guess first; velocities at rest."""
    task = _Assembly(mechanism, given or {}, guess, t)
    found: list[Array] = []
    for start in task.starts(BRANCH_STARTS):
        at, misfit, _ = task.closing.close(start)
        q = task.unwound(at.q)
        if misfit <= 1 and all(task.distance(q, other) > 1e-6 for other in found):
            found.append(q)
            loose = task.freedom(q)
            if loose:
                raise AssemblyError(
                    f"given these, {loose} of its freedoms are still left, so that there is a continuum of "
                    "configurations, not branches. Give as many more coordinates."
                )
    if not found:
        task.solve()  # says why not
    found.sort(key=task.miss)
    return [State(mechanism, q, closed_velocities(mechanism, q, {}, t), t) for q in found]


def begin(
    mechanism: Mechanism,
    model: Model,
    given: Mapping[str, Any] | None = None,
    velocities: Mapping[str, Any] | None = None,
) -> State:
    """The state at which a model says that motions begin; what is given replaces what it says of the same joints."""
    if model.start is None:
        return assemble(mechanism, given, velocities)
    values = Values(dict(model.parameters))
    said, t = model.start.numbers(values), model.start.times(values)[0]
    joints = mechanism.by_joint
    for what, instead in (("coordinates", given or {}), ("velocities", velocities or {})):
        replaced = {joint_of(str(key), joints)[0] for key in instead}
        kept = {key: value for key, value in said[what].items() if joint_of(key, joints)[0] not in replaced}
        said[what] = {**kept, **instead}
    try:
        return assemble(mechanism, said["coordinates"], said["velocities"], said["guess"] or None, t)
    except MomentreeError as error:
        if given or velocities:
            raise
        place = f"{model.source(('start',))}: " if model.source else ""
        raise AssemblyError(f"{place}start: {error}") from None


class _Assembly:
    """One search: what is held, where it starts, and which of the configurations found is the nearest."""

    def __init__(
        self, mechanism: Mechanism, given: Mapping[str, Any], guess: Mapping[str, Any] | State | None, t: float
    ):
        self.mechanism, self.t = mechanism, t
        self.given = list(coordinates_given(mechanism, given, "given"))
        q = guess.q.copy() if isinstance(guess, State) else reference(mechanism)
        said = {} if guess is None or isinstance(guess, State) else guess
        self.hints = list(coordinates_given(mechanism, said, "guess"))
        for entry in (*self.hints, *self.given):
            if isinstance(entry.place, TreeBody):
                q[entry.place.q][entry.index] = entry.value
        self.guess = q
        held = {i for entry in self.given for i in entry.held}
        self.closing = Closing(mechanism, t, held, [entry for entry in self.given if not entry.held])
        self.hints = [entry for entry in self.hints if not held & {*entry.held}]
        self.weights = np.ones(mechanism.nv)
        if self.hints:
            self.weights[:] = UNGUESSED
            self.weights[[i for entry in (*self.hints, *self.given) for i in entry.held]] = 1.0
        self.partly = bool(self.hints) and bool((self.weights[self.closing.moving] < 1).any())

    # --- the search --------------------------------------------------------------------------------------------------

    def solve(self) -> Array:
        """The closed configuration nearest to the guess, or an error that says how near it came."""
        closed: list[Closed] = []
        misses: list[Closed] = []
        for attempt, start in enumerate(self.starts(ATTEMPTS)):
            found = self.closing.close(self.towards_guess(start))
            (closed if found.misfit <= 1 else misses).append(found)
            if closed and self._enough(attempt, closed[-1]):
                break
            if not closed and attempt >= 12 and _settled([found.misfit for found in misses]):
                break
        if not closed:
            raise self.failure(min(misses, key=lambda found: found.misfit).q)
        exactly = [found for found in closed if found.exact]
        return min((self.unwound(found.q) for found in exactly or closed), key=self.miss)

    def _enough(self, attempt: int, found: Closed) -> bool:
        """From a whole guess the way leads to the nearest branch; from other starts several are compared.

        Near a toggle closure errors are small far from closed configurations, too: others are tried that may close exactly.
        """
        if attempt >= COMPARED:
            return True
        if self.partly:
            return self.miss_of_hints(found.q) <= MET
        return attempt == 0 and (found.exact or not self._loose(found))

    def _loose(self, found: Closed) -> bool:
        """Whether a configuration has more ways to go on with the given held than others have."""
        return self.freedom(found.q) > max(0, freedoms(found.at) - len(self.given))

    def starts(self, count: int) -> Iterable[Array]:
        """The guess, then points around it, farther and farther; always the same ones. What was guessed stays."""
        yield self.guess
        moving = self.closing.moving
        if self.partly:
            moving = moving[self.weights[moving] < 1]
        if len(moving) == 0:
            return
        random = np.random.default_rng(20190227)
        for k in range(1, count):
            radius = 0.05 * (math.pi / 0.05) ** min(k / 12, 1.0)
            step = np.zeros(self.mechanism.nv)
            step[moving] = random.uniform(-1, 1, len(moving)) * radius * self.closing.scales.columns[moving]
            yield integrate(self.mechanism, self.guess, step)

    def towards_guess(self, start: Array) -> Array:
        """Where all that was not guessed comes nearest to closing with what was: there the way down begins."""
        return self.closing.holding(self.hints).close(start).q if self.partly else start

    def placed(self, q: Array) -> bool:
        """Whether the configuration is the one that was asked for, and not one that closing found."""
        return bool((q == self.guess).all())

    def unwound(self, q: Array) -> Array:
        """The same configuration without full turns away from the guess, where turns do not matter."""
        turns = np.zeros(self.mechanism.nq)
        for body in self.mechanism.bodies:
            if body.laws is None and "rad" in body.joint.type.units:
                angles = np.array([unit == "rad" for unit in body.joint.type.units])
                turns[body.q] = np.where(angles, np.round((q[body.q] - self.guess[body.q]) / (2 * math.pi)), 0)
        if not turns.any():
            return q
        back: Array = q - 2 * math.pi * turns
        return back if self.closing.misfit(back) <= 1 else q  # not so with gears or screws

    def freedom(self, q: Array) -> int:
        """How many independent ways there are to go on from a closed configuration with the given held."""
        return len(self.closing.moving) - self.closing.residual(q).rows.rank(CUT_OFF)

    # --- how far away ------------------------------------------------------------------------------------------------

    def distance(self, a: Array, b: Array, weights: Array | float = 1.0) -> float:
        """How far apart two configurations are, full turns not counted (rad, slides by the size of their loops)."""
        columns = self.closing.scales.columns
        step = difference(self.mechanism, a, b)
        turns = self._turns
        step[turns] = np.remainder(step[turns] + math.pi, 2 * math.pi) - math.pi
        return float(np.linalg.norm(weights * step / columns))

    @property
    def _turns(self) -> Array:
        bodies = [body for body in self.mechanism.bodies if body.laws is None]
        units = [unit for body in bodies for unit in body.joint.type.velocity_units]
        return np.array([unit != "m" for unit in units], dtype=bool)

    def miss(self, q: Array) -> float:
        """How far a configuration is from the guess: what was not guessed weighs next to nothing."""
        return math.hypot(self.distance(self.guess, q, self.weights), self.miss_of_hints(q))

    def miss_of_hints(self, q: Array) -> float:
        """How far it is from what was guessed alone."""
        if not self.hints:
            return 0.0
        at = Configuration(self.mechanism, q, t=self.t)
        return math.sqrt(sum(self._missed(at, entry) ** 2 for entry in self.hints))

    def _missed(self, at: Configuration, entry: Entry) -> float:
        miss = at.coordinates_of(entry.joint)[entry.index] - entry.value
        return math.remainder(miss, 2 * math.pi) if entry.angle else miss / self.mechanism.size

    # --- when it fails -----------------------------------------------------------------------------------------------

    def failure(self, q: Array) -> AssemblyError:
        """How near it came, what is short, and what would close."""
        culprit, short = self._short(Configuration(self.mechanism, q, t=self.t))
        if not self.given:
            return AssemblyError(f"{short}. {_advice(culprit)}{self._rounded(q)}", culprit)
        told = ", ".join(f"{e.label}={e.value:.6g}" for e in self.given)
        return AssemblyError(f"{short} ({told}). {self._way_out(q)}", culprit)

    def _short(self, at: Configuration) -> tuple[tuple[str, str] | None, str]:
        """The loop or constraint with the widest closure error, and how wide it is: translations before rotations."""
        widest: dict[str, tuple[float, float, ClosingJoint]] = {}
        bounds = zip(at.joints, self.mechanism.loop_tolerances, self.mechanism.loop_sizes, strict=True)
        for joint, length, loop_size in bounds:
            closure_errors = joint.directions @ joint.closure_error()
            slides = np.array([row.direction.linear != ZERO for row in joint.rows])
            for unit, part, limit in (
                ("m", closure_errors[slides], length),
                ("rad", closure_errors[~slides], length / loop_size),
            ):
                size = float(np.linalg.norm(part))
                if size / limit > widest.get(unit, (1.0,))[0]:
                    widest[unit] = (size / limit, size, joint)
        for unit, words in (("m", "closure error {:.4g} m at best"), ("rad", "its axes miss by {:.4g} rad at best")):
            if unit in widest:
                _, closure_error, joint = widest[unit]
                thing = "joint" if joint.loop.joint else "body"
                short = f"{thing} '{joint.loop.name}': closes a loop, but cannot: {words.format(closure_error)}"
                return (thing, joint.loop.name), short
        constraints = [c.name for c in self.mechanism.constraints if c.holonomic]
        misses = np.abs(at.closure_errors()[len(at.closure_errors()) - len(constraints) :])
        if misses.max(initial=0.0) > CLOSED:
            name, miss = constraints[int(misses.argmax())], misses.max()
            return ("constraint", name), f"constraint '{name}': cannot hold: it is {miss:.4g} at best, not 0"
        return None, "the coordinates given do not fit together"

    def _rounded(self, q: Array) -> str:
        """What to do if the lengths are right but rounded: closure errors that are small by the size of their loops."""
        misfit, largest = self.closing.misfit(q), LARGEST_TOLERANCE * self.mechanism.size
        wide = misfit * self.mechanism.tolerance
        if misfit >= NEAR_MISS or not self.mechanism.loops or wide >= largest:
            return ""
        return f" If they are rounded, set a tolerance above the closure error: build(tolerance={1.5 * wide:.1g})."

    def _way_out(self, q: Array) -> str:
        """With what was given released to be a mere guess, where does it close?"""
        near_miss = State(self.mechanism, q, np.zeros(self.mechanism.nv), self.t)
        free = _Assembly(self.mechanism, {}, near_miss, self.t)
        try:
            q = free.solve()
        except AssemblyError as error:
            return f"It closes nowhere. {_advice(error.culprit)}{self._rounded(q)}"
        at = Configuration(self.mechanism, q, t=self.t)
        near = ", ".join(f"{e.label}={at.coordinates_of(e.joint)[e.index]:.4g}" for e in self.given)
        advice = " Or give fewer coordinates and leave the others as guess=." if len(self.given) > 1 else ""
        return f"The nearest that closes has {near}.{advice}"


def _advice(culprit: tuple[str, str] | None) -> str:
    if culprit is not None and culprit[0] == "constraint":
        return "Check its expression."
    return "Check the lengths and the directions of the axes around it."


def _settled(misfits: Sequence[float]) -> bool:
    """Whether so many starts came to the same least misfit that no more need be tried.

    Lengths that nearly fit leave a long shallow valley, in which starts come to rest here and there.
    """
    margin = 0.3 if min(misfits) < NEAR_MISS else 1e-3
    return sum(1 for misfit in misfits if misfit <= min(misfits) * (1 + margin)) >= SETTLED
