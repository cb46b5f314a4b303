"""The integrators by name, collected from their records; and the contract for authors of a new one.

An explicit Runge-Kutta method is a file in tableaux/ with a `Tableau` and `METHOD = explicit_method(tableau, ...)`. It
is found there: settings, errors, help texts and tests take it from METHODS, and the table in docs/simulation.md is what
`markdown_table()` returns. `register` adds a method from elsewhere. The author of any other method

1.  makes a `Method` (method_record.py), which says what it is: its order, whether its step size is adaptive, which
    variables it takes, how it keeps loops closed. All other code relies on this record.
2.  gives it a `new_stepper(problem)` that returns a `Stepper` (stepper.py), made of the LLVM text of one function and
    the layout of its arrays. Heavy imports stand inside of it, so that records are cheap to collect. The problem is a
    mechanism (`Problem`) or, unless the method is Hamiltonian, any equations (`OrdinaryProblem`): steppers.py.
3.  writes that function. One call takes as many steps as it can:

        void advance_1(double *control, int64_t *counts, double *y, const double *parameters, const double *floor,
                       double *work, double *records, double *scratch)

    | control | 0 t  | 1 h  | 2 stop | 3 rtol | 4 atol | 5 largest h | 6 ... memory of the method, zero at first    |
    | counts  | 0 accepted steps | 1 rejected steps | 2 evaluations | 3 status                                      |
    |         | 4 room for records | 5 records written | 6 steps in a record | 7 Jacobians                           |

4.  finds in `y` coordinates, momenta or velocities, work terms; then zeros up to `layout.size`, where a method may keep
    what belongs to the state. `work` has `layout.work` numbers, and `scratch` is what the right-hand side needs:
    nothing in them outlasts the call.
5.  begins at t = control[0] with the step size control[1], at most control[5], and never goes beyond `stop`. The last
    step ends there: t is then `stop` to the last bit. A step that was cut at `stop` does not reduce control[1].
    A fixed step size stays as it is.
6.  writes a record of `layout.record` numbers after each step, or after as many as counts[6] says, and at `stop`: t, h,
    room up to HEAD, y; for dense output also the stages that its `Interpolant` weights and, where loops are projected,
    y before that.
7.  returns with a `Status` (records.py) in counts[3]: ARRIVED at stop, FULL when there are as many records as counts[4]
    says. Another call then goes on as if there had been one: what a step needs of earlier steps stands in `control` and
    `y`, which checkpoints hold to the last bit.
8.  never returns a bad step. Where it cannot go on, it returns with t and y of the last good step: TOO_SHORT (the step
    size fell below the resolution of time, or the equations of a fixed step have no solution), NOT_FINITE (the
    right-hand side is not), OPEN (loops cannot be closed). With a fixed step size, `Integration.advance` looks for
    numbers that are not finite.
9.  accepts an adaptive step if the error norm is at most 1: the root mean square of the error over
    atol + rtol max(|y|, |y new|, floor), errors of momenta measured as velocities (error_norm.py). Entries whose floor
    is infinite do not count. atol = 0 works.
10. brings quaternions to unit length after each step, and closes loops as its record says: by the `Projection` of the
    problem (projection.py), or within the step.
11. gives it a `new_motions(problem)` too, if many motions are to be computed together: it returns a `MotionsProgram`,
    the text of motions_W (motions/job.py) with its sizes. The step is best written once, in columns of W numbers
    (columns.py), so that advance_1 takes one and motions_W several; `MotionsCode` (motions/driver.py) has the lanes,
    the samples and the ends. Explicit Runge-Kutta methods have all of this from their tableau. Lanes must not see one
    another: the bits of a motion are the same in any lane, and with W = 1 on a GPU.
12. edits no test: those of tests/unit/integrate run over METHODS. They measure the order of convergence and of dense
    output, compare motions with single integrations, many calls with one, and each method with the others.
"""

from __future__ import annotations

import importlib
import pkgutil

from momentree.errors import MomentreeError, all_choices
from momentree.integrate import tableaux
from momentree.integrate.method_record import Method
from momentree.integrate.radau.method import METHODS as RADAU_METHODS
from momentree.integrate.rosenbrock.method import METHOD as ROSENBROCK_METHOD
from momentree.integrate.verlet.method import METHODS as VERLET_METHODS

METHODS: dict[str, Method] = {}
DEFAULT, FOR_STIFF = "dop853", "radau9"


def register(method: Method) -> Method:
    """Add an integrator, to be chosen by its name."""
    if method.name in METHODS:
        raise MomentreeError(f"there is an integrator '{method.name}' already. Choose another name.")
    METHODS[method.name] = method
    return method


def named_method(name: object) -> Method:
    """The integrator of that name."""
    if not isinstance(name, str) or name not in METHODS:
        raise MomentreeError(f"integrator '{name}' is not known.{all_choices(str(name), list(METHODS))}")
    return METHODS[name]


def default_integrator(stiff: bool = False) -> str:
    """The name of the integrator that is taken unless the user chooses one."""
    return FOR_STIFF if stiff else DEFAULT


def names(*, adaptive: bool | None = None, hamiltonian: bool | None = None) -> list[str]:
    """Of all integrators, or of those that are so."""
    return [
        name
        for name, method in METHODS.items()
        if adaptive in (None, method.adaptive) and hamiltonian in (None, method.hamiltonian)
    ]


def help_text() -> str:
    """The integrators in a sentence, for command lines."""
    found = f"{FOR_STIFF} goes on where the motion is stiff, or begins if the model says so"
    return f"{', '.join(METHODS)}; {DEFAULT} if not given, and {found}."


def tolerance_text() -> str:
    """The relative tolerances that are taken unless the user gives one, in a sentence."""
    by_rtol: dict[float, list[str]] = {}
    for name in names(adaptive=True):
        by_rtol.setdefault(METHODS[name].rtol, []).append(name)
    return "; ".join(f"{_decimal(rtol)} of {', '.join(group)}" for rtol, group in by_rtol.items())


def markdown_table() -> str:
    """The table of integrators in docs/simulation.md."""
    rows = [("name", "what it is", "order", "dense output", "step size", "variables", "loops", "use it for")]
    for name, method in METHODS.items():
        orders = str(method.order), "none" if method.dense_order is None else f"of order {method.dense_order}"
        step_size = f"adaptive, `rtol` {_decimal(method.rtol)}" if method.adaptive else "fixed"
        how = step_size, "Hamiltonian" if method.hamiltonian else "any", method.loops.value
        theory = f" ([theory](theory/{method.theory}))" if method.theory else ""
        rows.append((f"`{name}`", method.description, *orders, *how, method.use + theory))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def _decimal(x: float) -> str:
    return f"{x:g}".replace("e-0", "e-")


def _collected() -> list[Method]:
    modules = (f"{tableaux.__name__}.{module.name}" for module in pkgutil.iter_modules(tableaux.__path__))
    methods = [importlib.import_module(name).METHOD for name in modules]
    return sorted(
        [*methods, *RADAU_METHODS, ROSENBROCK_METHOD, *VERLET_METHODS],
        key=lambda m: (m.hamiltonian, not m.adaptive, m.stiff),
    )


for _method in _collected():
    register(_method)
