"""Programme: the front door of equations built from constraints. Methods call one room of the library in a few lines.

    cart = mt.programme("x y phi", ["x'*sin(phi) = y'*cos(phi)"], velocity={"x": "cos(phi)", "phi": 1}, gain=5)

Kaspirovich and Mukharlyamov 2019, corrected: docs/theory/programme.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.activity import activity
from momentree.compile.trace.mechanism_programme_code import MechanismSource
from momentree.compile.trace.programme_code import ExpressionSource, ProgrammeSource, quantity_kernel
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError, spell_checked, suggestion
from momentree.model import Model
from momentree.model.expressions.expression import as_expression
from momentree.model.programme_description import ProgrammeDescription, described
from momentree.structure.free_parameters import values_in
from momentree.structure.given import NOTHING, Given
from momentree.structure.programme_mechanism import ProgrammeMechanism, coordinate_names, programme_mechanism
from momentree.system import System

if TYPE_CHECKING:
    from momentree.analyse.programmes.control import Control
    from momentree.analyse.programmes.decay_rate import Certificate, DecayRate
    from momentree.analyse.programmes.rayleigh_search import RayleighSearch
    from momentree.analyse.programmes.step_advice import StepAdvice
    from momentree.compile.execute.kernel import Kernel
    from momentree.results.programme_run import ProgrammeRun
    from momentree.structure.mechanism import Mechanism
    from momentree.symbols.helmholtz import HelmholtzReport
    from momentree.symbols.programme_equations import ProgrammeEquations

Region = Mapping[str, Any] | None  # lowest and highest values by the names of coordinates, and of t
Array = NDArray[np.float64]


@spell_checked
def programme(
    coordinates: str | Sequence[str] | System | Model,
    constraints: str | Sequence[Any] = (),
    *,
    velocity: Any = None,
    completion: Any = None,
    scale: Any = 1,
    null_space: Any = None,
    along: Any = None,
    wanted: Any = None,
    mass: Any = None,
    dissipation: Any = None,
    gain: Any = None,
    potential: Any = None,
    K: Any = None,
    mode: str = "DU",
    position_gain: Any = 0.0,
    parameters: Mapping[str, Any] | None = None,
    periods: Mapping[str, Any] | None = None,
    region: Mapping[str, Any] | None = None,
    dissipative: bool = True,
    name: str = "programme",
) -> Programme:
    """Equations of motion whose deviations from constraints a(q, t) q' = b(q, t) die out at a known rate.

    The velocity field v that satisfies the constraints is completed in one of four ways; each is checked.

    | argument          | meaning                                                                                     |
    |-------------------|---------------------------------------------------------------------------------------------|
    | coordinates       | names; or a System or Model, whose mass matrix is taken: see `MechanismProgramme`           |
    | constraints       | equations affine in velocities, "x'*sin(phi) = y'*cos(phi)", or holonomic, "x^2 + y^2 = 1"  |
    | velocity          | components of v by name: all, or n - m independent ones, and the others follow              |
    | completion, scale | n - 1 - m vectors: v = scale [a_1 .. a_m c ..], the generalized cross product                |
    | null_space, along | n - m vectors N with a N = 0, and coefficients: v = a^+ b + sum N_k along_k                  |
    | wanted            | a velocity field; v is the nearest to it, by kinetic energy, that satisfies the constraints |
    | mass              | m(q, t): n x n, n on the diagonal, or a number; the identity unless given                   |
    | dissipation       | d(q, t), in the same ways; or `gain` k: d = k m; or, in mode DQ, `potential` and `K`         |
    | mode              | "DU": D = 1/2 u' d u of the deviation; "DQ": D = 1/2 q' d q', Rayleigh's function           |
    | position_gain     | 1/s: how quickly errors of holonomic constraints die out while q' = v                       |
    | parameters        | numbers by name; they may differ at each call without new machine code                      |
    | periods           | of coordinates that are angles: {"phi": 2*pi}                                               |
    | region            | where masses and dissipation are checked: {"phi": (0, 6.3)}; [-pi, pi] unless given         |
    | dissipative       | False: d may be indefinite, to show an instability                                          |

    >>> import momentree as mt
    >>> cart = mt.programme("x y phi", ["x'*sin(phi) = y'*cos(phi)"], velocity={"x": "cos(phi)", "phi": 1}, gain=5)
    >>> run = cart.simulate([0, -1, 0], t_end=10)
    >>> round(float(run["y"][-1]), 4)
    0.8391
    """
    said = {
        "name": name, "parameters": parameters, "mode": mode, "position_gain": position_gain, "mass": mass, "K": K,
        "dissipation": dissipation, "gain": gain, "potential": potential, "periods": periods, "velocity": velocity,
        "completion": completion, "scale": scale, "null_space": null_space, "along": along, "wanted": wanted,
    }  # fmt: skip
    found = _on_mechanism if isinstance(coordinates, (System, Model)) else _by_expressions
    made: Programme = found(coordinates, constraints, said)  # type: ignore[arg-type]
    made.check(region, dissipative)
    return made


def _by_expressions(coordinates: str | Sequence[str], constraints: str | Sequence[Any], said: Any) -> Programme:
    written = described(coordinates, constraints, **said)
    return Programme(ExpressionSource(ExpressionProgramme(written)), written.parameters)


def _on_mechanism(given: System | Model, constraints: str | Sequence[Any], said: Any) -> MechanismProgramme:
    words = ("velocity", "wanted", "gain", "dissipation", "position_gain", "parameters", "name")
    for word, value in said.items():
        default = {"mode": "DU", "scale": 1}.get(word)
        if word not in words and value is not None and not (np.isscalar(value) and value == default):
            message = f"programme: {word} is for programmes that are given by expressions"
            raise MomentreeError(f"{message}. Leave it out: the mechanism says the rest.")
    model, mechanism = (given._model, given.mechanism) if isinstance(given, System) else (given, None)
    described = programme_mechanism(model, mechanism, constraints, **{word: said[word] for word in words})
    return MechanismProgramme(MechanismSource(described), values_in(described.whole))


@spell_checked
class Programme:
    """Equations of motion built from constraints; made by `mt.programme`."""

    def __init__(
        self, source: ProgrammeSource, parameters: Mapping[str, float], kernels: dict[str, Kernel] | None = None
    ):
        self._source, self.parameters = source, dict(parameters)
        self._kernels: dict[str, Any] = {} if kernels is None else kernels

    def _repr_html_(self) -> str:
        from momentree.look.notebook import programme_html

        return programme_html(self)

    # --- what it is ---

    @property
    def name(self) -> str:
        """As it was given."""
        return self.description.name

    @property
    def description(self) -> ProgrammeDescription:
        """What the user said, as expressions."""
        return self.expressions.description

    @property
    def expressions(self) -> ExpressionProgramme:
        """Velocity field, mass matrix and dissipation as expressions."""
        if not isinstance(self._source, ExpressionSource):
            message = "programme: it is given by a mechanism, not by expressions"
            raise MomentreeError(f"{message}. programme.system.equations() are those of the mechanism, in symbols.")
        return self._source.given

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q."""
        return self._source.coordinates

    @property
    def constraints(self) -> tuple[str, ...]:
        """The constraints, as they were written."""
        return self._source.constraints

    def with_parameters(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> Programme:
        """The same with other values of parameters; no new machine code.

        They are not checked again: see `check`.
        """
        numbers = self._numbers({**(values or {}), **named})
        return type(self)(self._source, {**self.parameters, **numbers}, self._kernels)

    def _numbers(self, chosen: Mapping[str, Any]) -> dict[str, float]:
        for name in chosen:
            if name not in self.parameters:
                raise MomentreeError(f"programme: there is no parameter '{name}'.{suggestion(name, self.parameters)}")
        return {name: float(as_expression(value)) for name, value in chosen.items()}

    def with_gain(self, k: Any) -> Programme:
        """The same with the dissipation d = k m, in mode DU."""
        said = dataclasses.replace(
            self.description, gain=as_expression(k), dissipation=None, potential=None, K=None, mode="DU",
            parameters=self.parameters,
        )  # fmt: skip
        return Programme(ExpressionSource(ExpressionProgramme(said)), self.parameters)

    def check(self, region: Mapping[str, Any] | None = None, dissipative: bool = True) -> None:
        """Independent constraints, a v = b, mass matrix and dissipation definite, at sampled points of the region."""
        from momentree.analyse.programmes import checks

        box = checks.Region.of(self.coordinates, region)
        q, t = box.samples()
        rows = checks.Rows(box, q, t, *self.constraint_rows(q, t))
        checks.check_independent(rows, self.constraints)
        if completion := self.description.completion:
            points = zip(q[:16].tolist(), t.tolist(), strict=False)
            at = [self.expressions.values(*point, self._constants.tolist()) for point in points]
            checks.check_completion(rows, np.array([[[x.evaluate(k) for x in c] for c in completion] for k in at]))
        fields = checks.Fields(self.velocity(q, t), self.mass_matrix(q, t), self.dissipation(q, t))
        checks.check_fields(rows, fields, self.constraints, self._completed_by, dissipative)

    @property
    def _completed_by(self) -> str:
        said = self.description
        ways = ("velocity", "completion", "null_space", "wanted")
        return next((way for way in ways if getattr(said, way) is not None), "")

    # --- functions of q, qd, t in machine code; leading axes are batches ---

    def velocity(self, q: Any, t: Any = 0.0) -> Array:
        """The programme v(q, t): the velocities that satisfy the constraints."""
        return self._called("velocity", q, None, t)

    def deviation(self, q: Any, qd: Any, t: Any = 0.0) -> Array:
        """u = q' - v."""
        return self._called("deviation", q, qd, t)

    def accelerations(self, q: Any, qd: Any, t: Any = 0.0) -> Array:
        """q'' of the stabilized equations."""
        return self._called("accelerations", q, qd, t)

    def coefficients(self, q: Any, qd: Any, t: Any = 0.0) -> Array:
        """p_ij of (m u)'_i = p_ij u^j, n x n: the equations of constraint perturbations, (5.3) corrected."""
        return self._square("coefficients", q, qd, t)

    def decay_matrix(self, q: Any, t: Any = 0.0) -> Array:
        """S = d + 1/2 (Lie_v m + dm/dt), n x n: d/dt (1/2 u' m u) = -u' S u."""
        return self._square("decay_matrix", q, None, t)

    def mass_matrix(self, q: Any, t: Any = 0.0) -> Array:
        """m(q, t), n x n."""
        return self._square("mass_matrix", q, None, t)

    def dissipation(self, q: Any, t: Any = 0.0) -> Array:
        """d(q, t), n x n."""
        return self._square("dissipation", q, None, t)

    def constraint_rows(self, q: Any, t: Any = 0.0) -> tuple[Array, Array]:
        """a, m x n, and b of the constraints."""
        flat, n, m = self._called("constraints", q, None, t), len(self.coordinates), len(self.constraints)
        return flat[..., : m * n].reshape(*flat.shape[:-1], m, n), flat[..., m * n :]

    def inertial_forces(self, q: Any, qd: Any, t: Any = 0.0) -> Array:
        """m q'' + c with q'' of the stabilized equations and c from the kinetic energy: see `control`."""
        return self._called("inertial_forces", q, qd, t)

    def _square(self, what: str, q: Any, qd: Any, t: Any) -> Array:
        flat, n = self._called(what, q, qd, t), len(self.coordinates)
        return flat.reshape(*flat.shape[:-1], n, n)

    def _called(self, what: str, q: Any, qd: Any, t: Any) -> Array:
        """A quantity at q, qd (None: zeros) and t; leading axes broadcast."""
        if what not in self._kernels:
            with activity(f"compiling {what.replace('_', ' ')} of", self.name):
                self._kernels[what] = quantity_kernel(self._source, what)
        kernel, n = self._kernels[what], len(self.coordinates)
        columns = [self._column(x, name) for name, x in (("q", q), ("qd", np.zeros(n) if qd is None else qd))]
        times = np.asarray(t, dtype=float)
        try:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in columns), times.shape)
        except ValueError:
            shapes = ", ".join(str(x.shape) for x in (*columns, times))
            raise MomentreeError(f"programme: the leading axes of q, qd and t do not fit together: {shapes}.") from None
        count = int(np.prod(batch, dtype=int))
        rows = [np.ascontiguousarray(np.broadcast_to(x, (*batch, n)).reshape(count, n)) for x in columns]
        at = np.ascontiguousarray(np.broadcast_to(times, batch).reshape(count, 1))
        results = kernel([*rows, at, *([self._constants] if self.parameters else [])])
        return np.asarray(results.reshape(*batch, results.shape[-1]))

    def _column(self, x: Any, name: str) -> Array:
        array = np.asarray(x, dtype=float)
        if array.ndim == 0 or array.shape[-1] != len(self.coordinates):
            names = ", ".join(self.coordinates)
            raise MomentreeError(f"programme: {name} has shape {array.shape}. Its last axis is {names}.")
        return array

    @property
    def _constants(self) -> Array:
        return np.array([self.parameters[name] for name in self._source.parameters])

    # --- motions ---

    def simulate(
        self,
        q: Any,
        qd: Any = None,
        *,
        t_end: float,
        t_start: float | None = None,
        integrator: str = "dop853",
        step: float | None = None,
        every: float | None = None,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> ProgrammeRun:
        """A motion from q, and q' or the programme's velocity; settings as those of `system.simulate`.

        >>> run = cart.simulate([0, -1, 0], t_end=10, integrator="rk4", step=0.01)   # doctest: +SKIP
        """
        from momentree.results.programme_run import ProgrammeRun
        from momentree.simulate.programme_motion import MotionSettings, motion, motion_stepper

        begin, velocity, first = self._start(q, qd, t_start)
        settings = MotionSettings(t_end, first, integrator, rtol, atol, step, every)
        dense = settings.checked().method.adaptive and every is not None
        key = f"motion {integrator} {dense}"
        if key not in self._kernels:
            with activity("compiling the equations of", self.name):
                self._kernels[key] = motion_stepper(self._source, integrator, dense)
        with activity("simulating", self.name):
            t, q, qd, stopped, count = motion(self._kernels[key], settings, begin, velocity, self._constants)
        size = np.sqrt(2 * np.maximum(self._called("deviation_energy", q, qd, t)[:, 0], 0.0))
        a, b = self.constraint_rows(q, t)
        errors = np.einsum("kmn,kn->km", a, qd) - b
        names = self.name, self.coordinates, self.constraints
        return ProgrammeRun(*names, t, q, qd, self.deviation(q, qd, t), size, errors, stopped, count, self)

    def _start(self, q: Any, qd: Any, t: float | None) -> tuple[Array, Array, float]:
        """Coordinates, velocities and time, 0 unless given."""
        from momentree.simulate.programme_motion import checked_state

        t = 0.0 if t is None else t
        begin = checked_state(self.coordinates, q, "q")
        return begin, self.velocity(begin, t) if qd is None else checked_state(self.coordinates, qd, "qd"), t

    # --- how quickly deviations die out ---

    @property
    def closing(self) -> Mechanism | None:
        """The mechanism whose loops hold always; None of a programme given by expressions, or on a tree."""
        return None

    def decay_rate(self, region: Region = None) -> DecayRate:
        """The least decay rate (1/s) of |u| in a region, and where it is: sampled, then minimized; no proof."""
        from momentree.analyse.programmes.decay_rate import decay_rate

        return decay_rate(self, region)

    def certify(self, region: Region = None, prove: bool = False) -> Certificate:
        """A certificate: |u| <= |u_0| exp(-rate t) in the region; an error if the rate is not positive.

        The rate is found by sampling and local minimization, which is no proof; `prove` adds one by intervals.
        """
        from momentree.analyse.programmes.decay_rate import certify

        return certify(self, region, prove)

    def auto_k(self, rate: float, region: Region = None) -> float:
        """The gain k (1/s) with which d = k m makes deviations die out at this rate; see `with_gain`."""
        from momentree.analyse.programmes.decay_rate import gain_for

        return gain_for(self, rate, region)

    def step_advice(self, region: Region = None, integrator: str = "rk4", step: float | None = None) -> StepAdvice:
        """Up to which step size (s) an integrator is stable with this dissipation, and which error of u to expect."""
        from momentree.analyse.programmes.step_advice import step_advice

        return step_advice(self, region, integrator, step)

    # --- symbols ---

    def equations(self) -> ProgrammeEquations:
        """Velocity field, equations of motion, Lagrangian, gyroscopic form, Rayleigh function, p_ij: `print` them."""
        from momentree.symbols.programme_equations import programme_equations

        return programme_equations(self.expressions, self.parameters)

    def helmholtz(self) -> HelmholtzReport:
        """Whether a Lagrangian with this Rayleigh function gives the equations; which condition fails, and where."""
        from momentree.symbols.programme_symbols import helmholtz_of

        return helmholtz_of(self.expressions, self.parameters)

    def rayleigh(self, region: Region = None, **options: Any) -> RayleighSearch:
        """A search for dissipation that mode DQ admits, d v = grad Psi and d > 0; why there is none, if so."""
        from momentree.analyse.programmes.rayleigh_search import search

        return search(self, region, **options)

    # --- control ---

    def control(self, *at: Any, **how: Any) -> Control:
        """The forces that make a system follow the programme, split into reactions and control: see `Control`."""
        from momentree.analyse.programmes.control import control

        return control(self, *at, **how)


@spell_checked
class MechanismProgramme(Programme):
    """A programme on a mechanism; made by `mt.programme(system, constraints, ...)`.

    Constraints are written as those of `m.constrain`: joint coordinates and velocities, named frames, time, parameters.
    The mass matrix is that of the spanning tree. Loops and constraints of the model hold always, by their reactions, so
    that deviations are those that the mechanism can have, and decay rates are theirs. Closure errors die out with
    `position_gain`.

    | argument      | meaning                                                                                         |
    |---------------|-------------------------------------------------------------------------------------------------|
    | constraints   | "tip.x = 0.1*cos(t)", "A' = 1.5", ...                                                           |
    | velocity      | velocities of joints, {"A": "1.5"}: constraints "A' = 1.5"                                      |
    | wanted        | velocities by joint, 0 unless given: v is the nearest, by kinetic energy, that all rows allow   |
    | gain          | d = gain m; or `dissipation`, a matrix in joint coordinates                                     |
    | position_gain | 1/s: how quickly closure errors of loops and of constraints die out                             |
    | parameters    | numbers by name, besides those that are free in the system                                      |

    >>> import momentree as mt
    >>> m = mt.Model("crank")
    >>> crank = m.body("crank", mt.rod(mass=1.0, length=0.5))
    >>> hinge = m.joint("A", mt.Revolute("y"), m.ground, crank)
    >>> turning = mt.programme(m, velocity={"A": 2}, gain=5)
    >>> run = turning.simulate([0.0], [0.0], t_end=4)
    >>> round(float(run["A'"][-1]), 6)
    2.0
    """

    def __init__(
        self,
        source: ProgrammeSource,
        parameters: Mapping[str, float],
        kernels: dict[str, Kernel] | None = None,
        laid: Given = NOTHING,
    ):
        super().__init__(source, parameters, kernels)
        assert isinstance(source, MechanismSource)
        self.given: ProgrammeMechanism = source.given
        self._laid = laid  # what was given on top of the model

    @property
    def name(self) -> str:
        """As it was given."""
        return self.given.name

    @property
    def system(self) -> System:
        """The mechanism without the constraints of the programme, in the same coordinates."""
        made: System = self._kernels.setdefault("system", System(self.given.own, self.given.model))
        return made.at(self._laid)

    @property
    def _whole(self) -> System:
        """The mechanism with the constraints of the programme."""
        return System(self.given.whole, self.given.model).at(self._laid)

    def with_parameters(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> MechanismProgramme:
        """The same with other values of parameters, which others of the model follow; no new machine code."""
        at = self._whole.at(Given(self._numbers({**(values or {}), **named})))
        return MechanismProgramme(self._source, at.parameters, self._kernels, at.given)

    @property
    def closing(self) -> Mechanism | None:
        """The mechanism whose loops hold always; None on a tree."""
        return self.system._numeric if self.given.own.constrained else None

    def with_gain(self, k: Any) -> MechanismProgramme:
        """The same with the dissipation d = k m."""
        return MechanismProgramme(MechanismSource(self.given.with_gain(k)), self.parameters, laid=self._laid)

    def check(self, region: Mapping[str, Any] | None = None, dissipative: bool = True) -> None:
        """Independent constraints and a definite dissipation, at the assembled configuration and nearby."""
        from momentree.analyse.programmes.checks import Fields
        from momentree.analyse.programmes.mechanism_checks import Sampled, check_on_mechanism

        if region is not None:
            message = "programme: region is for programmes that are given by expressions"
            raise MomentreeError(f"{message}. A mechanism is checked where it is assembled: see m.start_at(...).")

        def sampled(q: Array, t: Array) -> Sampled:
            fields = Fields(self.velocity(q, t), self.mass_matrix(q, t), self.dissipation(q, t))
            return Sampled(q, t, *self.constraint_rows(q, t), fields)

        check_on_mechanism(self.given, self.constraints, sampled, dissipative)

    def closure_errors(self, q: Any, t: Any = 0.0) -> Array:
        """(k, rows): closure errors of loops and of holonomic constraints, those of the programme included."""
        from momentree.assembly.samples import Samples

        rows = np.atleast_2d(self._column(q, "q"))
        times = np.broadcast_to(np.asarray(t, dtype=float), len(rows))
        return Samples(self._whole._numeric, rows, np.zeros_like(rows), times).closure_errors()

    def _start(self, q: Any, qd: Any, t: float | None) -> tuple[Array, Array, float]:
        """A state with its velocities and time; or coordinates, and velocities that keep loops closed."""
        from momentree.analyse.programmes.mechanism_checks import Start, check_start
        from momentree.assembly.state import State

        if isinstance(q, State):
            if coordinate_names(q.mechanism) != self.coordinates:
                message = "programme: the state has other coordinates than the programme"
                raise MomentreeError(f"{message}: {', '.join(self.coordinates)}. Make it by programme.system.")
            q, qd, t = q.q, q.v if qd is None else qd, q.t if t is None else t
        begin, velocity, first = super()._start(q, qd, t)
        v, rows = self.velocity(begin, first), self.constraint_rows(begin, first)
        check_start(self.given, self.constraints, Start(begin, first, velocity, v, *rows))
        return begin, velocity, first
