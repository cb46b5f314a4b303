"""Whole steps in C99: an explicit Runge-Kutta method with step-size control, and the projection that closes loops.

The state is the coordinates q, then the velocities v (formulation "lagrange"). Derivatives, closing steps and closed
velocities are tapes, written as straight-line functions; what stands around them is written here, from the tableau of
the method and from the numbers of the machine code of runge_kutta/ and projection.py, whose steps these are. Errors
are measured on the state itself. All memory is the caller's, so that any number of motions can run side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from momentree.compile.emit.c_code import c_function, c_number, c_prototype
from momentree.compile.emit.c_files import Section
from momentree.compile.trace.formulas import Arguments
from momentree.compile.trace.right_hand_sides import closing_positions, derivatives_formula, state_tape
from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError, choices
from momentree.integrate.error_norm import least_sizes
from momentree.integrate.methods import METHODS, named_method
from momentree.integrate.projection import NEWTON, OPEN, closure_sizes, least_move
from momentree.integrate.records import Status
from momentree.integrate.runge_kutta.error_norm_code import OF_ORDER_3
from momentree.integrate.runge_kutta.projection_code import REOPENED
from momentree.integrate.runge_kutta.step_code import EPSILON
from momentree.integrate.runge_kutta.step_size_code import LEAST, MOST, SAFETY
from momentree.integrate.steppers import error_floor
from momentree.integrate.tableau import ImplicitTableau, Row, Tableau
from momentree.structure.mechanism import Mechanism

FORMULATION = "lagrange"
RTOL = 1e-10  # relative tolerance unless the caller says another
FIRST = 1e-3  # of the first call's h: the first step that is tried
CLOSING = 50  # steps of Newton's method from a start that a user gives, at most
STATUSES = (Status.ARRIVED, Status.TOO_SHORT, Status.NOT_FINITE, Status.OPEN)


def tableau_in_c(integrator: object) -> Tableau:
    """The tableau of an explicit Runge-Kutta method, by its name."""
    explicit = {
        name: method.tableau
        for name, method in METHODS.items()
        if method.tableau is not None and not isinstance(method.tableau, ImplicitTableau)
    }
    name = named_method(integrator).name
    if name not in explicit:
        raise MomentreeError(f"integrator '{name}' is not available in C. Choose {choices(list(explicit))}.")
    return explicit[name]


def step_text(
    mechanism: Mechanism, prefix: str, tableau: Tableau, constraint_gains: Mapping[str, float] | None = None
) -> Section:
    """Derivatives, closing and steps of a mechanism; gains (1/s) stabilize constraints in the derivatives as well."""
    formulation = FORMULATIONS[FORMULATION]
    formulas = {"derivatives": derivatives_formula(formulation, constraint_gains)}
    if mechanism.constrained:
        formulas |= {"closing_step": closing_positions, "closed_velocities": formulation.closed}
    traced = {what: state_tape(mechanism, formula) for what, formula in formulas.items()}
    code = _StepCode(mechanism, prefix, tableau)
    functions = [
        ("" if what == "derivatives" else "static ") + c_function(tape, f"{prefix}_{what}", _named(arguments))
        for what, (tape, arguments) in traced.items()
    ]
    functions += [code.unit(), code.closing(), code.close()]
    functions += [code.error(), code.adaptive_step()] if tableau.adaptive else [code.fixed_step()]
    constants = {"NX": code.n, "WORK": code.work_size}
    constants |= {status.name: int(status) for status in STATUSES}
    derivatives = c_prototype(f"{prefix}_derivatives", _named(traced["derivatives"][1]))
    return Section(
        tuple(tape for tape, _ in traced.values()),
        constants,
        tuple(code.prototypes(derivatives, bool(constraint_gains))),
        tuple(filter(None, functions)),
    )


def _named(arguments: Arguments) -> Arguments:
    """The state by its name in C."""
    return tuple(("state" if name == "y" else name, inputs) for name, inputs in arguments)


class _StepCode:
    """The functions around the tapes."""

    def __init__(self, mechanism: Mechanism, prefix: str, tableau: Tableau):
        self.mechanism, self.prefix, self.tableau = mechanism, prefix, tableau
        self.nq, self.nv = mechanism.nq, mechanism.nv
        self.n = self.nq + self.nv
        self.closed, self.free = mechanism.constrained, bool(mechanism.free)
        self.sizes = closure_sizes(mechanism) if self.closed else ()
        floor, self.quaternions = error_floor(mechanism)
        self.floor = np.maximum(floor, least_sizes(mechanism))
        # h and rtol; then the stages, the state there, the next one, what a closing step returns
        self.stages = tableau.stages + tableau.adaptive
        self.work_size = 2 + (self.stages + 2) * self.n + self.nq + len(self.sizes)

    # --- what the header says ---

    def prototypes(self, derivatives: str, stabilized: bool) -> Iterable[tuple[tuple[str, ...], str]]:
        upper, name = self.prefix.upper(), self.tableau.name
        by_gains = ", with the terms of the stabilization of loops" if stabilized and self.closed else ""
        state = f"state: {upper}_NX numbers, q and then v."
        yield (f"The derivatives of the state{by_gains}.", state, f"out: {upper}_NX numbers."), derivatives
        if self.quaternions:
            why = "Bring quaternions of the state to unit length, from which integrators let them drift."
            yield (why, state), f"void {self.prefix}_unit(double *state);"
        memory = f"work: {upper}_WORK numbers, zeros before the first call; nobody else may use it meanwhile."
        ends = f"Returns {upper}_ARRIVED (0); {upper}_OPEN: loops cannot be closed."
        closing = "Move the state to where loops are closed and stay closed, and quaternions to unit length."
        yield (closing, state, memory, ends), f"{self._heading('close')};"
        lines = [f"Move the state from t to t + h, h > 0, by {name}; loops are closed after every step of it.", state]
        if self.tableau.adaptive:
            lines += [
                f"The step size is controlled; work[1]: relative tolerance, 0: {RTOL:g}; work[0]: the next step size.",
                memory,
                f"Returns {upper}_ARRIVED (0), or the state is that of the last good step before t + h:",
                f"{upper}_TOO_SHORT: the step size fell below the resolution of time;",
                f"{upper}_NOT_FINITE: so did it, for the derivatives are not finite;",
                f"{upper}_OPEN: loops cannot be closed.",
            ]
        else:
            why = f"{upper}_NOT_FINITE, {upper}_OPEN: loops cannot be closed; the state is unchanged."
            lines += ["It takes one step of size h.", memory, f"Returns {upper}_ARRIVED (0), or {why}"]
        yield tuple(lines), f"{self._heading('step', 'double t, double h')};"

    def _heading(self, what: str, times: str = "double t") -> str:
        parameters = "const double *parameters, " if self.free else ""
        return f"int {self.prefix}_{what}(double *state, {times}, {parameters}double *work)"

    def _call(self, what: str, state: str, t: str, to: str) -> str:
        parameters = "parameters, " if self.free else ""
        return f"{self.prefix}_{what}({state}, {t}, {parameters}{to});"

    # --- closing loops ---

    def unit(self) -> str:
        """Quaternions of a state, brought to unit length."""
        if not self.quaternions:
            return ""
        count = len(self.quaternions)
        return f"""void {self.prefix}_unit(double *state)
{{
    static const int starts[{count}] = {{{", ".join(map(str, self.quaternions))}}};
    for (int i = 0; i < {count}; i++) {{
        double *x = state + starts[i];
        const double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
        for (int k = 0; k < 4; k++)
            x[k] /= length;
    }}
}}
"""

    def _unit(self, state: str) -> str:
        return f"{self.prefix}_unit({state});" if self.quaternions else ""

    def closing(self) -> str:
        """q by Newton's method, then velocities: what `ProjectionCode._project` does."""
        if not self.closed:
            return ""
        nq, p, rows, near, shut = self.nq, self.prefix, len(self.sizes), least_move(self.mechanism), c_number(OPEN)
        parameters = "const double *parameters, " if self.free else ""
        lines = f"""
static int {p}_project(double *state, double t, {parameters}double *moves, int few, int most)
{{
    static const double sizes[{max(rows, 1)}] = {{{_numbers(self.sizes)}}};
    for (int turns = 1;; turns++) {{
        double moved = 0.0, open = 0.0;
        {self._call("closing_step", "state", "t", "moves")}
        for (int i = 0; i < {nq}; i++) {{
            const double move = fabs(moves[i] - state[i]);
            moved = move <= moved ? moved : move;
            state[i] = moves[i];
        }}
        for (int i = 0; i < {rows}; i++) {{
            const double error = fabs(moves[{nq} + i]) / sizes[i];
            open = error <= open ? open : error;
        }}
        {self._unit("state")}
        if (isnan(moved) || isnan(open))
            return {Status.OPEN:d};
        if ((moved > {c_number(near)} && turns < few) || (open > {shut} && turns < most))
            continue;
        if (open > {shut})
            return {Status.OPEN:d};
        {self._call("closed_velocities", "state", "t", "moves") if self.nv else ""}
        for (int i = 0; i < {self.nv}; i++)
            state[{nq} + i] = moves[i];
        return {Status.ARRIVED:d};
    }}
}}
"""
        return _without_empty_lines(lines)

    def _project(self, state: str, t: str, few: int, most: int) -> str:
        parameters = "parameters, " if self.free else ""
        return f"{self.prefix}_project({state}, {t}, {parameters}{self._array('moves')}, {few}, {most})"

    def close(self) -> str:
        """The state of a start with loops closed."""
        unused = [] if self.closed else ["t", "work", *(["parameters"] if self.free else [])]
        unused += [] if self.closed or self.quaternions else ["state"]
        lines = [*(f"(void){name};" for name in unused), self._unit("state")]
        done = self._project("state", "t", CLOSING, CLOSING) if self.closed else f"{Status.ARRIVED:d}"
        lines.append(f"return {done};")
        return f"{self._heading('close')}\n{{\n" + "".join(f"    {line}\n" for line in lines if line) + "}\n"

    # --- steps ---

    def _array(self, name: str) -> str:
        """Where an array stands in the caller's memory."""
        index = {"there": self.stages, "next": self.stages + 1, "moves": self.stages + 2}.get(name)
        index = int(name[1:]) if index is None else index
        return f"work + {2 + index * self.n}"

    def _arrays(self) -> list[str]:
        names = [*(f"k{i}" for i in range(self.stages)), *(["there"] if self.tableau.stages > 1 else []), "next"]
        return [f"double *const {name} = {self._array(name)};" for name in names]

    def _stages(self, h: str) -> list[str]:
        """From k0 on, which is there already."""
        lines = []
        for i in range(1, self.tableau.stages):
            lines += self._combined("there", self.tableau.a[i], h)
            lines.append(self._call("derivatives", "there", f"t + {c_number(self.tableau.c[i])} * {h}", f"k{i}"))
        lines += self._combined("next", self.tableau.b, h)
        if self.tableau.adaptive:
            lines.append(self._call("derivatives", "next", f"t + {h}", f"k{self.tableau.stages}"))
        return lines

    def _combined(self, to: str, row: Row, h: str) -> list[str]:
        return [f"for (int i = 0; i < {self.n}; i++)", f"    {to}[i] = state[i] + {h} * ({_sum(row)});"]

    def fixed_step(self) -> str:
        """One step of size h."""
        lines = [*self._arrays(), self._call("derivatives", "state", "t", "k0"), *self._stages("h")]
        lines += [f"for (int i = 0; i < {self.n}; i++)", "    if (!isfinite(next[i]))"]
        lines += [f"        return {Status.NOT_FINITE:d};", self._unit("next")]
        if self.closed:
            lines += [f"if ({self._project('next', 't + h', NEWTON, 2 * NEWTON)})", f"    return {Status.OPEN:d};"]
        lines += [f"for (int i = 0; i < {self.n}; i++)", "    state[i] = next[i];", f"return {Status.ARRIVED:d};"]
        body = "".join(f"    {line}\n" for line in lines if line)
        return f"{self._heading('step', 'double t, double h')}\n{{\n{body}}}\n"

    def error(self) -> str:
        """The root mean square of the error over its scale (`ErrorNormCode._lane_error`)."""
        n, rows = self.n, self.tableau.errors
        ks = [f"k{i}" for i in sorted({i for row in rows for i in row})]
        arguments = ", ".join(f"const double *{name}" for name in ("state", "next", *ks))
        sums = "\n".join(
            f"        sum{j} += ({_sum(row)}) / scale * (({_sum(row)}) / scale);" for j, row in enumerate(rows)
        )
        zeros = ", ".join(f"sum{j} = 0.0" for j in range(len(rows)))
        last = f"    return h * sqrt(sum0 / {max(n, 1)}.0);"
        if len(rows) == 2:  # the estimate of order 5 is made smaller where that of order 3 says that it is too large
            last = f"""    const double both = sum0 + {c_number(OF_ORDER_3)} * sum1;
    return both == 0.0 ? 0.0 : h * sqrt(sum0 / {max(n, 1)}.0) * sqrt(sum0 / both);"""
        return f"""static double {self.prefix}_error({arguments}, double h, double rtol)
{{
    static const double floors[{max(n, 1)}] = {{{_numbers(self.floor)}}};
    double {zeros};
    for (int i = 0; i < {n}; i++) {{
        const double size = fmax(fmax(fabs(state[i]), fabs(next[i])), floors[i]), scale = rtol * size;
{sums}
    }}
{last}
}}
"""

    def adaptive_step(self) -> str:
        """Steps of controlled size (`StepSizeCode`) up to t + h."""
        ks = ", ".join(f"k{i}" for i in sorted({i for row in self.tableau.errors for i in row}))
        error = f"{self.prefix}_error(state, next, {ks}, step, rtol)"
        project = f"{self._project('next', 't + step', NEWTON, 2 * NEWTON)}" if self.closed else ""
        closing = f"""
        if ({project}) {{
            size = step * {c_number(REOPENED)};
            rejected = 1;
            if (size < resolution)
                return {Status.OPEN:d};
            continue;
        }}"""
        tab = "\n        "
        lines = f"""{self._heading("step", "double t, double h")}
{{
    const double stop = t + h, rtol = work[1] > 0.0 ? work[1] : {c_number(RTOL)};
    {f"{tab[:-4]}".join(self._arrays())}
    double size = work[0] > 0.0 ? work[0] : {c_number(FIRST)} * h;
    int rejected = 0, known = 0;
    while (t < stop) {{
        const double rest = stop - t, resolution = fmax(fabs(t) * {c_number(16 * EPSILON)}, 1e-300);
        const int last = size * {c_number(1 + 1e-10)} >= rest;
        const double step = last ? rest : (2.0 * size >= rest ? 0.5 * rest : size);
        if (!known)
            {self._call("derivatives", "state", "t", "k0")}
        known = 1;
        {tab.join(self._stages("step"))}
        const double error = {error};
        const double factor = {c_number(SAFETY)} * pow(error, {c_number(-1 / self.tableau.order)});
        if (!(error <= 1.0)) {{
            size = step * fmax(factor, {c_number(LEAST)});
            rejected = 1;
            if (size < resolution)
                return isfinite(error) ? {Status.TOO_SHORT:d} : {Status.NOT_FINITE:d};
            continue;
        }}
        {self._unit("next")}{closing if self.closed else ""}
        for (int i = 0; i < {self.n}; i++)
            state[i] = next[i];
        t = last ? stop : t + step;
        const double wanted = step * fmin(fmax(factor, {c_number(LEAST)}), rejected ? 1.0 : {c_number(MOST)});
        size = last ? fmax(wanted, size) : wanted;
        rejected = known = 0;
        work[0] = size;
    }}
    return {Status.ARRIVED:d};
}}
"""
        return _without_empty_lines(lines)


def _sum(row: Row) -> str:
    return " + ".join(f"{c_number(weight)} * k{stage}[i]" for stage, weight in row.items())


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(c_number(float(x)) for x in values) or "0.0"


def _without_empty_lines(text: str) -> str:
    lines: Sequence[str] = text.strip("\n").split("\n")
    return "\n".join(line for line in lines if line.strip()) + "\n"
