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

from momentree.compile.trace.programme_code import ExpressionSource, ProgrammeSource, quantity_kernel
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError, suggestion
from momentree.model.expressions.expression import as_expression
from momentree.model.programme_description import ProgrammeDescription, described

if TYPE_CHECKING:
    from momentree.analyse.decay_rate import Certificate, DecayRate
    from momentree.analyse.programme_control import Control
    from momentree.analyse.rayleigh_search import RayleighSearch
    from momentree.analyse.step_advice import StepAdvice
    from momentree.compile.execute.kernel import Kernel
    from momentree.results.programme_run import ProgrammeRun
    from momentree.symbols.helmholtz import HelmholtzReport
    from momentree.symbols.programme_equations import ProgrammeEquations

Region = Mapping[str, Any] | None  # lowest and highest values by the names of coordinates, and of t
Array = NDArray[np.float64]


def programme(
    coordinates: str | Sequence[str],
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
    said = described(
        coordinates, constraints, name=name, parameters=parameters, mode=mode, position_gain=position_gain, mass=mass,
        dissipation=dissipation, gain=gain, potential=potential, K=K, periods=periods, velocity=velocity,
        completion=completion, scale=scale, null_space=null_space, along=along, wanted=wanted,
    )  # fmt: skip
    found = Programme(ExpressionSource(ExpressionProgramme(said)), said.parameters)
    found.check(region, dissipative)
    return found


class Programme:
    """Equations of motion built from constraints; made by `mt.programme`."""

    def __init__(
        self, source: ProgrammeSource, parameters: Mapping[str, float], kernels: dict[str, Kernel] | None = None
    ):
        self._source, self.parameters = source, dict(parameters)
        self._kernels: dict[str, Any] = {} if kernels is None else kernels

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
            raise MomentreeError("programme: it is given by a mechanism, not by expressions.")
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
        chosen = {**(values or {}), **named}
        for name in chosen:
            if name not in self.parameters:
                raise MomentreeError(f"programme: there is no parameter '{name}'.{suggestion(name, self.parameters)}")
        numbers = {name: float(as_expression(value)) for name, value in chosen.items()}
        return Programme(self._source, {**self.parameters, **numbers}, self._kernels)

    def with_gain(self, k: Any) -> Programme:
        """The same with the dissipation d = k m, in mode DU."""
        said = dataclasses.replace(
            self.description, gain=as_expression(k), dissipation=None, potential=None, K=None, mode="DU",
            parameters=self.parameters,
        )  # fmt: skip
        return Programme(ExpressionSource(ExpressionProgramme(said)), self.parameters)

    def check(self, region: Mapping[str, Any] | None = None, dissipative: bool = True) -> None:
        """Independent constraints, a v = b, mass matrix and dissipation definite, at sampled points of the region."""
        from momentree.analyse.programme_checks import Fields, Region, Rows, check_fields, check_independent

        box = Region.of(self.coordinates, region)
        q, t = box.samples()
        rows = Rows(box, q, t, *self._rows(q, t))
        check_independent(rows, self.constraints)
        fields = Fields(self.velocity(q, t), self.mass_matrix(q, t), self.dissipation(q, t))
        check_fields(rows, fields, self.constraints, self._completed_by, dissipative)

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

    def _rows(self, q: Any, t: Any) -> tuple[Array, Array]:
        """a, m x n, and b of the constraints."""
        flat, n, m = self._called("constraints", q, None, t), len(self.coordinates), len(self.constraints)
        return flat[..., : m * n].reshape(*flat.shape[:-1], m, n), flat[..., m * n :]

    def _square(self, what: str, q: Any, qd: Any, t: Any) -> Array:
        flat, n = self._called(what, q, qd, t), len(self.coordinates)
        return flat.reshape(*flat.shape[:-1], n, n)

    def _called(self, what: str, q: Any, qd: Any, t: Any) -> Array:
        """A quantity at q, qd (None: zeros) and t; leading axes broadcast."""
        if what not in self._kernels:
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
        t_start: float = 0.0,
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
        from momentree.simulate.programme_motion import MotionSettings, checked_state, motion, motion_stepper

        settings = MotionSettings(t_end, t_start, integrator, rtol, atol, step, every)
        dense = settings.checked().method.adaptive and every is not None
        begin = checked_state(self.coordinates, q, "q")
        velocity = self.velocity(begin, t_start) if qd is None else checked_state(self.coordinates, qd, "qd")
        key = f"motion {integrator} {dense}"
        if key not in self._kernels:
            self._kernels[key] = motion_stepper(self._source, integrator, dense)
        t, q, qd, stopped, count = motion(self._kernels[key], settings, begin, velocity, self._constants)
        size = np.sqrt(2 * np.maximum(self._called("deviation_energy", q, qd, t)[:, 0], 0.0))
        a, b = self._rows(q, t)
        errors = np.einsum("kmn,kn->km", a, qd) - b
        names = self.name, self.coordinates, self.constraints
        return ProgrammeRun(*names, t, q, qd, self.deviation(q, qd, t), size, errors, stopped, count)

    # --- how quickly deviations die out ---

    def decay_rate(self, region: Region = None) -> DecayRate:
        """The least decay rate (1/s) of |u| in a region, and where it is: sampled, then minimized; no proof."""
        from momentree.analyse.decay_rate import decay_rate

        return decay_rate(self, region)

    def certify(self, region: Region = None, prove: bool = False) -> Certificate:
        """A certificate: |u| <= |u_0| exp(-rate t) in the region; an error if the rate is not positive.

        The rate is found by sampling and local minimization, which is no proof; `prove` adds one by intervals.
        """
        from momentree.analyse.decay_rate import certify

        return certify(self, region, prove)

    def auto_k(self, rate: float, region: Region = None) -> float:
        """The gain k (1/s) with which d = k m makes deviations die out at this rate; see `with_gain`."""
        from momentree.analyse.decay_rate import gain_for

        return gain_for(self, rate, region)

    def step_advice(self, region: Region = None, integrator: str = "rk4", step: float | None = None) -> StepAdvice:
        """Up to which step size (s) an integrator is stable with this dissipation, and which error of u to expect."""
        from momentree.analyse.step_advice import step_advice

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
        from momentree.analyse.rayleigh_search import search

        return search(self, region, **options)

    # --- control ---

    def control(self, *at: Any, **how: Any) -> Control:
        """The forces that make a system follow the programme, split into reactions and control: see `Control`."""
        from momentree.analyse.programme_control import control

        return control(self, *at, **how)
