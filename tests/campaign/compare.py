"""One mechanism, by the library and by the oracle: the same configuration, velocities, accelerations, reactions, ...

Everything is compared joint by joint, lengths in units of the mechanism's own. A difference counts where it exceeds
TOLERANCE of the quantity itself and its conditioning: what changes of 1e-12 in the numbers of the model make of it, and
round-off by the condition number of the Delassus matrix.
"""

from __future__ import annotations

import math
import re
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import momentree as mt
from campaign.draft import GRAVITY
from campaign.generator import RUNS, Sample, sample
from campaign.geometry import ANGLES, Array
from campaign.nearby import freedom_nearby
from campaign.oracle import Answer, Oracle, Unanswered
from campaign.reading import Plain, perturbed, read
from campaign.trajectory import end_of
from momentree.analyse.mobility import mobility
from momentree.assembly.state import State
from momentree.equations.articulated import forward_dynamics
from momentree.equations.balance import energy
from momentree.equations.evaluation import Evaluation
from momentree.equations.joint_reactions import joint_reactions
from momentree.structure.mechanism import Mechanism

TOLERANCE = 1e-8
CHANGE = 1e-12  # of every length, direction, inertia and velocity, to measure the conditioning
PROBES = 3
COMPILED = 50  # one in so many
MANY = 12  # constraints of loops: with more of them the two codes take turns, since compiling takes a minute
FORMULATIONS = ("hamiltonian", "lagrange", "absolute")
EVERY_METHOD = tuple((formulation, code) for formulation in FORMULATIONS for code in ("straight-line", "rolled"))
SHARE = 0.1  # of the time in which things of this size swing by a radian: how long they run
ROUND_OFF = 1000 * float(np.finfo(float).eps)  # by the condition number of the Delassus matrix
SINGULAR = 3e7  # condition number from which on the weakest direction fades (docs/theory/loops.md): nothing is promised
FLOOR = 1e-11  # of the largest of its kind in the mechanism: what is nothing


@dataclass
class Difference:
    """How far two results are apart, by the size of the quantity; what counted as equal, by the same size."""

    what: str
    relative: float
    allowed: float

    @property
    def counts(self) -> bool:
        return not self.relative <= self.allowed


@dataclass
class Result:
    """What came of one mechanism.

    | field    | meaning                                                                                   |
    |----------|-------------------------------------------------------------------------------------------|
    | verdict  | "agree", "disagree", "refused" (an error or warning), "open" (the oracle itself cannot say) |
    | reason   | the error, or why it is open                                                              |
    | at       | the step that it came to                                                                  |
    """

    seed: int
    verdict: str = "agree"
    at: str = "draw"
    reason: str = ""
    features: tuple[str, ...] = ()
    bodies: int = 0
    differences: list[Difference] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def worst(self) -> Difference | None:
        """The difference that exceeds what is allowed by most."""
        return max(self.differences, key=lambda d: d.relative / d.allowed, default=None)

    @property
    def widest(self) -> Difference | None:
        """The one for which most was allowed."""
        return max(self.differences, key=lambda d: d.allowed, default=None)

    def record(self) -> dict[str, Any]:
        """For a file, a line each."""
        return asdict(self)


def examine(
    seed: int,
    methods: Sequence[tuple[str, str]] | None = None,
    compiled: bool | None = None,
    family: Family | None = None,
) -> Result:
    """Draw the mechanism of a seed and compare; one in fifty is compiled, one in twenty runs by every method."""
    begun = time.process_time()
    result = Result(seed)
    family = family or PLAIN
    drawn = family.sample(seed)
    result.features, result.bodies = drawn.features, len(drawn.model.bodies)
    if methods is None:
        methods = EVERY_METHOD if seed % RUNS == 0 else ()
    compare(drawn, result, methods, seed % COMPILED == 1 if compiled is None else compiled, family.examination)
    result.seconds = time.process_time() - begun
    return result


def compare(
    drawn: Sample,
    result: Result,
    methods: Sequence[tuple[str, str]] = (),
    compiled: bool = False,
    kind: type[Examination] | None = None,
) -> Result:
    """Fill in the result of a sample; `methods` are those by which it also runs for a short time."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            examination = (kind or Examination)(drawn, result)
            examination.everything(compiled)
            examination.runs(methods)
        except Unanswered as reason:
            result.verdict, result.reason = "open", str(reason)
        except mt.MomentreeError as error:
            result.verdict, result.reason = "refused", f"{type(error).__name__}: {error}"
        except Exception:
            result.verdict, result.reason = "disagree", traceback.format_exc(limit=-3)
            return result
    warned = [str(w.message) for w in caught if issubclass(w.category, mt.RunWarning)]
    if any(difference.counts for difference in result.differences):
        result.verdict = "refused" if warned else "disagree"
        result.reason = warned[0] if warned else result.reason
    return result


class Examination:
    """One mechanism at one instant, by both."""

    def __init__(self, drawn: Sample, result: Result):
        self.drawn, self.result, self.t = drawn, result, drawn.t
        self.random = np.random.default_rng([2, drawn.seed])
        self.plain: Plain = read(drawn.model)
        self.oracle = self.oracle_of(self.plain)
        self.frequency = math.sqrt(GRAVITY / self.oracle.L)  # 1/s: how fast things of this size swing

    def oracle_of(self, plain: Plain, length: float | None = None) -> Oracle:
        """The oracle of it, or of a neighbour, which has its length."""
        return Oracle(plain, self.t, length)

    def everything(self, compiled: bool) -> None:
        """Step by step; the first difference does not end it."""
        velocities = self.consistent_velocities()
        self.result.at = "build"
        self.system = self.drawn.model.build()
        self.mechanism: Mechanism = self.system._numeric
        self.result.at = "assemble"
        self.state = self.assembled(velocities)
        self.result.at = "place"
        self.placed()
        for step in (self.accelerations, self.reactions, self.energies, self.mobility):
            self.result.at = step.__name__
            step()
        if compiled:
            self.result.at = "compiled"
            self.machine_code()

    # --- by the oracle first ---

    def consistent_velocities(self) -> dict[str, Array]:
        """Of every joint, at random: the joints stay closed."""
        o = self.oracle
        o.place(self.drawn.coordinates)
        if max(o.closure_errors().values(), default=0.0) > 1e-9 * (1 + self.far):
            raise Unanswered(f"the mechanism was drawn open: {max(o.closure_errors().values()):.1e}")
        if o.doubtful:
            raise Unanswered("the rank of the constraints is in doubt")
        self.rank = o.rank
        n = len(self.plain.bodies)
        o.moving(o.consistent(self.random.uniform(-1, 1, (n, 6)) * self.frequency * self.calm))
        if max(o.constraint_velocities().values(), default=0.0) > 1e-8 * self.frequency * (1 + self.far):
            raise Unanswered("prescribed motions contradict each other here")
        moved = [jm for jm in o.joints if jm.joint.motion is None and jm.joint.freedom]
        fast = {jm.joint.name: self._size(jm.joint.name, jm.u) > 1e-14 * self.frequency for jm in moved}
        return {jm.joint.name: jm.u * fast[jm.joint.name] for jm in moved}  # round-off of what stands still is zero

    @cached_property
    def calm(self) -> float:
        """How fast it moves: some are at rest."""
        return float(self.random.choice([0.0, 0.3, 1.0, 3.0], p=[0.1, 0.3, 0.5, 0.1]))

    @cached_property
    def far(self) -> float:
        """How far from the origin it is, in units of its own length and of 1e6."""
        distances = [np.linalg.norm(place.p) for place in self.plain.places if place.body == 0]
        return float(max(distances, default=0.0)) / self.oracle.L * 1e-6

    @property
    def nothing(self) -> float:
        """Of the largest of its kind: far from the origin positions are known to fewer digits."""
        return FLOOR + 10 * np.finfo(float).eps * self.far * 1e6

    # --- by the library ---

    @cached_property
    def tree(self) -> list[Any]:
        """Bodies of the tree whose joints move freely."""
        return [body for body in self.mechanism.bodies if body.v.stop > body.v.start]

    def assembled(self, velocities: dict[str, Array]) -> State:
        """From the closed configuration as a guess, with the velocities of all joints of the tree, or of one."""
        names = [body.joint.name for body in self.tree]
        self.all_given = self.random.random() < 0.7
        if not self.all_given and names:
            names = [str(self.random.choice(names))]
        velocities = {name: velocities[name].tolist() for name in names}
        return self.system.assemble(guess=self.drawn.coordinates, velocities=velocities, t=self.t)

    def placed(self) -> None:
        """A closed guess comes back as it was, so do consistent velocities; otherwise they are consistent at least."""
        slack = TOLERANCE * max(1.0, self.far)
        for joint in self.plain.joints:
            if joint.motion is None and joint.freedom:
                off = self._apart(joint.kind, self.state[joint.name], self.drawn.coordinates[joint.name])
                self._note(f"coordinates of {joint.name}", off, slack)
        wanted = {jm.joint.name: jm.u for jm in self.oracle.joints}
        q, v = self.state.q, self.state.v
        coordinates = {body.joint.name: q[body.q] for body in self.tree}
        velocities = {body.joint.name: v[body.v] for body in self.tree}
        o = self.oracle.place(coordinates, velocities)
        self.coordinates, self.velocities = coordinates, velocities
        speed = max([self.frequency, *(self._size(name, x) for name, x in wanted.items())])
        for name, closure_error in o.closure_errors().items():
            self._note(f"closure of {name}", closure_error, slack)
        for name, velocity in o.constraint_velocities().items():
            self._note(f"constraint velocity of {name}", velocity / speed, slack)
        if self.all_given:
            for name, x in velocities.items():
                self._note(f"velocities of {name}", self._size(name, x - wanted[name]) / speed, slack)

    def accelerations(self) -> None:
        """Forward dynamics on floats."""
        tau = np.zeros(self.mechanism.nv)
        self.tau: dict[str, Array] = {}
        if self.random.random() < 0.3:
            for body in self.tree:
                tau[body.v] = self.random.uniform(-1, 1, body.v.stop - body.v.start) * self._strength(body)
                self.tau[body.joint.name] = tau[body.v]
        self.along = tau
        o = self.oracle
        if o.least_inertia() < 1e-9:
            self.result.at = "undetermined"
            raise Unanswered("its motion is not determined, and nothing says so")
        self.answer = o.answer(self.tau, self.rank)
        if self.answer.inconsistent > 1e-6:
            raise Unanswered("redundant constraints contradict each other at this configuration")
        q, v = self.state.q.tolist(), self.state.v.tolist()
        self.du = np.array(forward_dynamics(Evaluation(self.mechanism, q, self.t), v, tau.tolist()), dtype=float)
        self.compare_accelerations("acceleration", self.du)

    def compare_accelerations(self, what: str, du: Array) -> None:
        """Joint by joint."""
        names = [body.joint.name for body in self.tree]
        largest = max([self.frequency**2, *(self._size(name, self.answer.du[name]) for name in names)])
        for body in self.tree:
            name = body.joint.name
            right = self.answer.du[name]
            self._judge(
                f"{what} of {name}",
                self._size(name, du[body.v] - right),
                self._size(name, right),
                self.nothing * largest,
                lambda answer, name=name, right=right: self._size(name, answer.du[name] - right),
            )

    def reactions(self) -> None:
        """Wrenches transmitted by joints, in the directions that the laws of motion determine, without tau."""
        plain = self.answer if not self.tau else self.oracle.answer({}, self.rank)
        q, v = self.state.q.tolist(), self.state.v.tolist()
        wrenches = joint_reactions(Evaluation(self.mechanism, q, self.t), v)
        ours = {name: np.array([*wrench], dtype=float) for name, wrench in wrenches.items()}
        self.compare_reactions("reaction", ours, plain)
        if self.random.random() < 0.25:
            self.result.at = "actuation"
            actuated = self.system.actuation(self.state.q, self.state.v, self.unloaded(plain), [], self.t)
            self.compare_reactions("actuation", dict(actuated.reactions), plain)

    def unloaded(self, plain: Answer) -> Array:
        """The accelerations without tau, of which `actuation` is to find the reactions."""
        return np.concatenate([np.zeros(0), *(plain.du[body.joint.name] for body in self.tree)])

    def compare_reactions(self, what: str, ours: dict[str, Array], right: Answer) -> None:
        """Joint by joint: forces by L and moments."""
        scale = np.repeat([self.oracle.L, 1.0], 3)
        largest = max([1e-300, *(float(np.linalg.norm(w * scale)) for w in right.reactions.values())])
        weight = sum(body.mass for body in self.plain.bodies) * self.frequency**2 * self.oracle.L**2
        for name, wrench in right.reactions.items():
            P = right.known[name]

            def change(answer: Answer, name: str = name, wrench: Array = wrench, P: Array = P) -> float:
                return float(np.linalg.norm(P.T @ ((answer.reactions[name] - wrench) * scale)))

            off = float(np.linalg.norm(P.T @ ((ours[name] - wrench) * scale)))
            size = float(np.linalg.norm(P.T @ (wrench * scale)))
            self._judge(f"{what} of {name}", off, size, self.nothing * max(largest, weight), change, loaded=False)

    def energies(self) -> None:
        """Kinetic and potential."""
        kinetic, potential = self.oracle.energy()
        ours = energy(Evaluation(self.mechanism, self.state.q.tolist(), self.t), self.state.v.tolist())
        heights = np.linalg.norm(self.oracle.motion.r[1:] + self.oracle._com_offsets(), axis=1)
        masses = np.array([body.mass for body in self.plain.bodies])
        high = float(np.linalg.norm(self.plain.gravity) * (masses @ heights))
        moved = float(masses.sum() * (self.oracle.L * self.frequency) ** 2)
        pairs = (("kinetic", ours.kinetic, kinetic, moved), ("potential", ours.potential, potential, high + moved))
        for what, mine, theirs, size in pairs:
            floor = 1e-12 * size * (1 + self.far)
            self._note(
                f"{what} energy", abs(float(mine) - theirs) / max(abs(theirs), floor / TOLERANCE, 1e-300), TOLERANCE
            )

    def mobility(self) -> None:
        """Degrees of freedom here; where the library says otherwise, those of neighbours too."""
        if not self.mechanism.loops:
            return
        report = mobility(self.mechanism, self.state)
        freedom = 6 * len(self.plain.bodies) - self.rank
        if report.true != freedom:
            freedom = min(freedom, freedom_nearby(self.oracle, self.random))
        self._note(f"mobility {report.true}, true {freedom}", float(abs(report.true - freedom)), 0.5)

    def machine_code(self) -> None:
        """Straight-line and rolled."""
        for code in ("straight-line", "rolled"):
            system = self.drawn.model.build(code=code)
            vdot = system.forward_dynamics(self.state.q, self.state.v, self.along, self.t)
            self.compare_accelerations(f"{code} acceleration", vdot)

    def runs(self, methods: Sequence[tuple[str, str]]) -> None:
        """Ends of short motions against that of the oracle; one cannot be right where its first instant is not."""
        if not methods or any(difference.counts for difference in self.result.differences):
            return
        self.result.at = "run"
        if (
            sum(len(loop.joint_type.constraint_rows(loop.joint_type.reference())) for loop in self.mechanism.loops)
            > MANY
        ):
            methods = methods[self.drawn.seed // RUNS % 2 :: 2]  # every formulation, either code
        duration = SHARE / (self.frequency * max(1.0, self.calm))
        expected = end_of(self.oracle, self.coordinates, self.rank, self.frequency, duration)
        speed = max([self.frequency, *(self._size(name, expected[name].u) for name in self.coordinates)])
        kinds = {joint.name: joint.kind for joint in self.plain.joints}
        slack = TOLERANCE * max(1.0, self.far)
        refused: mt.MomentreeError | None = None
        for formulation, code in methods:
            self.result.at = f"run: {formulation}, {code}"
            try:
                system = self.drawn.model.build(code=code)
                run = system.simulate(self.state, t_end=self.t + duration, formulation=formulation)
            except mt.MomentreeError as error:  # one formulation may refuse what others do
                refused = error
                continue
            for body in self.tree:
                name = body.joint.name
                off = self._apart(kinds[name], run.q[-1][body.q], expected[name].q)
                self._note(f"{formulation} {code} end of {name}", off, slack)
                off = self._size(name, run.v[-1][body.v] - expected[name].u) / speed
                self._note(f"{formulation} {code} end velocity of {name}", off, slack)
        if refused:
            raise refused

    # --- sizes ---

    def _size(self, name: str, x: Any) -> float:
        """The norm of velocities or accelerations of a joint, slides by L."""
        return float(np.linalg.norm(np.asarray(x) / self._lengths(name)))

    def _lengths(self, name: str) -> Array:
        joint = next(joint for joint in self.plain.joints if joint.name == name)
        n, L = joint.freedom, self.oracle.L
        if joint.kind == "Prismatic":
            return np.full(n, L)
        if joint.kind in ("Free", "Spherical"):
            return np.repeat([L, 1.0], 3)[-n:]
        slides = n - len(ANGLES.get(joint.kind, ())) if joint.kind != "Screw" else 0
        return np.array([L] * slides + [1.0] * (n - slides))

    def _strength(self, body: Any) -> Array:
        mass = max(sum(b.mass for b in self.plain.bodies) / len(self.plain.bodies), 1e-300)
        return mass * self.frequency**2 * self.oracle.L * self._lengths(body.joint.name) ** -1 * self.oracle.L

    def _apart(self, kind: str, found: Any, drawn: Any) -> float:
        a, b = np.atleast_1d(found).astype(float), np.atleast_1d(drawn).astype(float)
        if kind in ("Spherical", "Free"):
            turned = min(np.abs(a[-4:] - b[-4:]).max(), np.abs(a[-4:] + b[-4:]).max())
            return float(max(turned, np.abs(a[:-4] - b[:-4]).max(initial=0.0) / self.oracle.L))
        off = (a - b) / (self.oracle.L if kind == "Prismatic" else 1.0)
        for i in range(len(off)):
            if i in ANGLES.get(kind, ()):
                off[i] = math.remainder(off[i], 2 * math.pi)
            elif kind not in ("Screw", "Prismatic"):
                off[i] /= self.oracle.L
        return float(np.abs(off).max())

    # --- verdicts ---

    def _note(self, what: str, relative: float, allowed: float) -> None:
        self.result.differences.append(Difference(what, float(relative), float(allowed)))

    def _judge(self, what: str, off: float, size: float, floor: float, change: Any, loaded: bool = True) -> None:
        """Allow TOLERANCE of the size; where that does not suffice, the conditioning besides."""
        size = max(size, floor / TOLERANCE, 1e-300)
        allowed = TOLERANCE
        if not off <= TOLERANCE * size:
            answers = self.neighbours if loaded or not self.tau else self.unloaded_neighbours
            conditioning = self.oracle.conditioning
            allowed += max(change(answer) for answer in answers) / size + ROUND_OFF * conditioning
            if conditioning > SINGULAR:
                allowed += 1.0
        self._note(what, off / size, allowed)

    @cached_property
    def neighbours(self) -> list[Answer]:
        """What the oracle says of models that differ in the twelfth digit."""
        return [self._neighbour(k, self.tau) for k in range(PROBES)]

    @cached_property
    def unloaded_neighbours(self) -> list[Answer]:
        return [self._neighbour(k, {}) for k in range(PROBES)]

    def _neighbour(self, k: int, tau: dict[str, Array]) -> Answer:
        random = np.random.default_rng([3, k])
        other = self.oracle_of(perturbed(self.plain, random, CHANGE), self.oracle.L)
        velocities = {name: u * (1 + CHANGE * random.standard_normal(len(u))) for name, u in self.velocities.items()}
        return other.place(self.coordinates, velocities).answer(tau, self.rank)


class Family(NamedTuple):
    """Mechanisms of a kind: how a seed is drawn, and what is done with it."""

    sample: Callable[[int], Sample]
    examination: type[Examination]


PLAIN = Family(sample, Examination)


def pattern(reason: str) -> str:
    """An error without its names and numbers: errors of a kind count together."""
    first = reason.strip().splitlines()[-1] if reason.startswith("Traceback") else reason.strip().splitlines()[0]
    first = re.sub(r"'[^']*'", "'...'", first)
    return re.sub(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?", "#", first)[:160]
