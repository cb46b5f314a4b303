"""The search for a closed configuration: starts around the guess, and the nearest configuration that closes.

From the guess and, where that fails or is incomplete, from starts around it, `Closing` minimizes the closure errors
(closing_search.py). The result is the closed configuration nearest to the guess in the coordinates that were guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.assembly.closed_velocities import freedoms
from momentree.assembly.closing_rules import CLOSED
from momentree.assembly.closing_search import Closed, Closing
from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.configuration_space import beginning, difference, integrate
from momentree.assembly.named_values import Entry, by_name, coordinates_given
from momentree.assembly.scaled_constraints import CUT_OFF
from momentree.assembly.state import State
from momentree.errors import AssemblyError, ExpressionError, listed
from momentree.spatial import ZERO
from momentree.structure.mechanism import Loop, Mechanism, TreeBody
from momentree.structure.size import LARGEST_TOLERANCE

ATTEMPTS = 40  # starts around the guess before an assembly fails
COMPARED = 8  # attempts after which the nearest that closed is taken
LEAST_ATTEMPTS = 12  # before a search that settled ends
UNGUESSED = 1e-3  # weight of a coordinate that was not guessed, relative to one that was
SETTLED = 5  # so many starts that came to the same least misfit end a search
MET = 1e-9  # scaled: a guess that is met
CONTRADICTS = 0.01  # of the largest miss: constraints that miss by more share in it
NEAR_MISS = 1e3  # times the tolerance: closure errors of lengths that are rounded rather than wrong
FEW = 4  # open loops that a message names
UNFIT = "the given coordinates do not fit together"
SEED = 20190227


def steps_around(moving: NDArray[np.intp], nv: int, count: int) -> Iterator[Array]:
    """Scaled steps from a guess to where searches begin: none, then farther and farther; always the same ones."""
    yield np.zeros(nv)
    if len(moving) == 0:
        return
    random = np.random.default_rng(SEED)
    for k in range(1, count):
        radius = 0.05 * (math.pi / 0.05) ** min(k / 12, 1.0)
        step = np.zeros(nv)
        step[moving] = random.uniform(-1, 1, len(moving)) * radius
        yield step


def angular_velocities(mechanism: Mechanism) -> NDArray[np.bool_]:
    """nv: which velocities of the tree are angular, so that full turns do not count."""
    bodies = [body for body in mechanism.bodies if body.laws is None]
    return np.array([unit != "m" for body in bodies for unit in body.joint.type.velocity_units], dtype=bool)


def without_turns(angle: Array) -> Array:
    """The same angle between -pi and pi."""
    return np.asarray(np.remainder(angle + math.pi, 2 * math.pi) - math.pi)


class AssemblySearch:
    """One search: given coordinates, starts, and the distance from the guess."""

    def __init__(
        self, mechanism: Mechanism, given: Mapping[str, Any], guess: Mapping[str, Any] | State | None, t: float
    ):
        self.mechanism, self.t = mechanism, t
        self.given = list(coordinates_given(mechanism, given, "given"))
        if isinstance(guess, State) and guess.mechanism.coordinates != mechanism.coordinates:
            raise AssemblyError("guess: the state belongs to another system. Give one of this one, or numbers by name.")
        q = guess.q.copy() if isinstance(guess, State) else beginning(mechanism)
        guessed = {} if isinstance(guess, State) else by_name(guess, "guess")
        self.hints = list(coordinates_given(mechanism, guessed, "guess"))
        for entry in (*self.hints, *self.given):
            if isinstance(entry.body_or_loop, TreeBody):
                q[entry.body_or_loop.q][entry.index] = entry.value
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
        without_value: list[ExpressionError] = []
        for attempt, start in enumerate(self.starts(ATTEMPTS)):
            try:
                end = self.closing.close(self.towards_guess(start))
            except ExpressionError as error:  # of a constraint, as beyond the end of a table
                without_value.append(error)
                continue
            (closed if end.misfit <= 1 else misses).append(end)
            if closed and self._enough(attempt, closed[-1]):
                break
            if not closed and attempt >= LEAST_ATTEMPTS and has_settled(np.array([[end.misfit] for end in misses]))[0]:
                break
        if not closed and not misses:
            said = f"a constraint has no value there: {without_value[0].message}"
            raise AssemblyError(f"{said}. Give coordinates, or a guess, for which it has one.", None)
        if not closed:
            raise self.failure(min(misses, key=lambda end: end.misfit).q)
        exactly = [end for end in closed if end.exact]
        return min((self.unwound(end.q) for end in exactly or closed), key=self.miss)

    def _enough(self, attempt: int, end: Closed) -> bool:
        """From a whole guess the search leads to the nearest branch; from other starts several are compared.

        Near a toggle closure errors are small far from closed configurations, too: others may close exactly.
        """
        if attempt >= COMPARED:
            return True
        if self.partly:
            return self.miss_of_hints(end.q) <= MET
        return attempt == 0 and (end.exact or not self._loose(end))

    def _loose(self, end: Closed) -> bool:
        """Whether a configuration has more degrees of freedom, with the given ones held, than others have."""
        return self.freedom(end.q) > max(0, freedoms(end.at) - len(self.given))

    def starts(self, count: int) -> Iterable[Array]:
        """The guess, then points around it, guessed coordinates unchanged."""
        moving = self.closing.moving
        if self.partly:
            moving = moving[self.weights[moving] < 1]
        steps = steps_around(moving, self.mechanism.nv, count)
        for k, step in enumerate(steps):
            start = integrate(self.mechanism, self.guess, step * self.closing.scales.columns) if k else self.guess
            yield start

    def towards_guess(self, start: Array) -> Array:
        """The start moved to where loops nearly close, by coordinates that were not guessed alone."""
        return self.closing.holding(self.hints).close(start).q if self.partly else start

    def unmoved(self, q: Array) -> bool:
        """Whether a configuration is the guess itself."""
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
        """Degrees of freedom of a closed configuration, with the given coordinates held."""
        return len(self.closing.moving) - self.closing.residual(q).rows.rank(CUT_OFF)

    # --- how far away ------------------------------------------------------------------------------------------------

    def distance(self, a: Array, b: Array, weights: Array | float = 1.0) -> float:
        """The distance of two configurations, full turns not counted (rad, slides by the size of their loops)."""
        columns = self.closing.scales.columns
        step = difference(self.mechanism, a, b)
        angular = angular_velocities(self.mechanism)
        step[angular] = without_turns(step[angular])
        return float(np.linalg.norm(weights * step / columns))

    def miss(self, q: Array) -> float:
        """The distance of a configuration from the guess; coordinates that were not guessed weigh little."""
        return math.hypot(self.distance(self.guess, q, self.weights), self.miss_of_hints(q))

    def miss_of_hints(self, q: Array) -> float:
        """The distance from the guessed coordinates alone."""
        if not self.hints:
            return 0.0
        at = Configuration(self.mechanism, q, t=self.t)
        return math.sqrt(sum(self._missed(at, entry) ** 2 for entry in self.hints))

    def _missed(self, at: Configuration, entry: Entry) -> float:
        miss = at.coordinates_of(entry.joint)[entry.index] - entry.value
        return math.remainder(miss, 2 * math.pi) if entry.angle else miss / self.mechanism.size

    # --- when it fails -----------------------------------------------------------------------------------------------

    def failure(self, q: Array) -> AssemblyError:
        """The closure error at best, the loop or constraint that does not close, and a remedy."""
        culprit, short = self.widest_opening(Configuration(self.mechanism, q, t=self.t))
        if not self.given:
            return AssemblyError(f"{short}. {_advice(culprit)}{self._rounded(q)}", culprit)
        given = ", ".join(f"{e.label}={e.value:.6g}" for e in self.given)
        return AssemblyError(f"{short} ({given}). {self._nearest_closed(q)}", culprit)

    def widest_opening(self, at: Configuration) -> tuple[tuple[str, str] | None, str]:
        """The loop or constraint with the largest closure error, and how large it is: translations before rotations."""
        mechanism, errors = self.mechanism, [joint.closure_errors() for joint in at.joints]
        widest = widest_loop(mechanism.loops, errors, mechanism.loop_tolerances, mechanism.loop_sizes)
        if widest is not None:
            return widest
        constraints = [c.name for c in self.mechanism.constraints if c.holonomic]
        misses = np.abs(at.closure_errors()[len(at.closure_errors()) - len(constraints) :])
        if misses.max(initial=0.0) > CLOSED:
            name, miss = constraints[int(misses.argmax())], misses.max()
            others = [c for c, x in zip(constraints, misses, strict=True) if x > CONTRADICTS * miss and c != name]
            fault = f"contradicts {', '.join(map(repr, others))}" if others else "cannot hold"
            return ("constraint", name), f"constraint '{name}': {fault}: it is {miss:.4g} at best, not 0"
        return None, UNFIT

    def _rounded(self, q: Array) -> str:
        """What to do if the lengths are right but rounded: closure errors that are small by the size of their loops."""
        misfit, largest = self.closing.misfit(q), LARGEST_TOLERANCE * self.mechanism.size
        wide = misfit * self.mechanism.tolerance
        if misfit >= NEAR_MISS or not self.mechanism.loops or wide >= largest:
            return ""
        return f" If they are rounded, set a tolerance above the closure error: build(tolerance={1.5 * wide:.1g})."

    def _nearest_closed(self, q: Array) -> str:
        """The nearest closed configuration, with the given coordinates as a guess."""
        near_miss = State(self.mechanism, q, np.zeros(self.mechanism.nv), self.t)
        free = AssemblySearch(self.mechanism, {}, near_miss, self.t)
        try:
            q = free.solve()
        except AssemblyError as error:
            return f"No configuration closes it. {_advice(error.culprit)}{self._rounded(q)}"
        at = Configuration(self.mechanism, q, t=self.t)
        near = ", ".join(f"{e.label}={at.coordinates_of(e.joint)[e.index]:.4g}" for e in self.given)
        advice = " Or give fewer coordinates and leave the others as guess=." if len(self.given) > 1 else ""
        return f"The nearest that closes has {near}.{advice}"


def widest_loop(
    loops: Sequence[Loop], errors: Sequence[Array], tolerances: Sequence[float], sizes: Sequence[float]
) -> tuple[tuple[str, str], str] | None:
    """The loop with the largest closure error by its tolerance, and how large it is: translations before rotations.

    `errors` are those of each loop, one for each of its constraints on positions. None where all are closed.
    """
    widest: dict[str, tuple[float, float, Loop]] = {}
    opened: dict[str, None] = {}
    for loop, closure_errors, length, loop_size in zip(loops, errors, tolerances, sizes, strict=True):
        slides = np.array([row.direction.linear != ZERO for row in loop.position_rows], dtype=bool)
        for unit, part, limit in (
            ("m", closure_errors[slides], length),
            ("rad", closure_errors[~slides], length / loop_size),
        ):
            size = float(np.linalg.norm(part))
            opened |= {loop.name: None} if size > limit else {}
            if size / limit > widest.get(unit, (1.0,))[0]:
                widest[unit] = (size / limit, size, loop)
    for unit, words in (("m", "closure error {:.4g} m at best"), ("rad", "its axes miss by {:.4g} rad at best")):
        if unit in widest:
            _, closure_error, loop = widest[unit]
            cannot = "cannot hold" if loop.kind == "constraint" else "closes a loop, but cannot"
            others = [name for name in opened if name != loop.name]
            stay, named = "loops stay" if others[1:] else "loop stays", listed(list(map(repr, others)), FEW)
            also = f"; {len(others)} other {stay} open: {named}" if others else ""
            said = f"{loop.kind} '{loop.name}': {cannot}: {words.format(closure_error)}{also}"
            return (loop.kind, loop.name), said
    return None


def _advice(culprit: tuple[str, str] | None) -> str:
    if culprit is not None and culprit[0] == "constraint":
        return "Check its equation and lengths, and those of the constraints and joints around it."
    return "Check the lengths and the directions of the axes around it."


def has_settled(misfits: Array) -> NDArray[np.bool_]:
    """Whether so many starts (n, k) of k searches came to the same least misfit that no more need be tried.

    Lengths that nearly fit leave a long shallow valley, in which starts come to rest here and there.
    """
    least = misfits.min(axis=0)
    margin = np.where(least < NEAR_MISS, 0.3, 1e-3)
    return np.asarray(((misfits <= least * (1 + margin)).sum(axis=0) >= SETTLED) & np.isfinite(least))
