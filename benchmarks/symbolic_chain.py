"""Mass matrix and forcing of a planar chain in symbols: ours and SymPy's KanesMethod, side by side in one process.

    python benchmarks/symbolic_chain.py [--links 4 5 6 7 8] [--repeat 5] [--write FILE]

Each link has a mass m, a length l, a centre of mass at c, a moment of inertia J, all symbols. Compared are

| column         | what it does                                                                                    |
|----------------|-------------------------------------------------------------------------------------------------|
| Kane, joint    | KanesMethod in the joint angles, the coordinates that ours are in                               |
| Kane, absolute | KanesMethod in the angles of the links with the ground, which suit a planar chain best          |
| energy, SymPy  | energy_form on SymPy scalars                                                                    |
| energy, traced | energy_form on a tape, of which each operation becomes a step with a symbol of its own          |
| sweeps, traced | the same with Newton-Euler and composite inertias                                               |

Time: CPU seconds from nothing to SymPy expressions, the description of the chain included, with SymPy's cache emptied
before; then with sympy.cse after it, where the result is not a list of steps already. Operations: sympy.count_ops of
all steps and results after that, those on parameters alone included. All are put in numbers and must agree to 1e-9.
"""

from __future__ import annotations

import argparse
import operator
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core.cache import clear_cache
from sympy.physics import mechanics

import momentree as mt
from momentree.compile.trace.tape import Tape
from momentree.equations import aggregative, newton_euler
from momentree.equations.energy import energy_form
from momentree.equations.evaluation import Evaluation
from momentree.model.expressions.expression import Expression, Reference
from momentree.spatial.scalar import FUNCTIONS, Scalar
from momentree.structure import Mechanism

Array = NDArray[np.float64]
Step = tuple[sympy.Symbol, sympy.Expr]


class Equations(NamedTuple):
    """A q'' = f: the lower half of A, row by row, then f; symbols by their names; the steps that they are made of."""

    entries: Sequence[sympy.Expr]
    symbols: dict[str, sympy.Expr]
    steps: Sequence[Step] = ()


def letters(n: int) -> tuple[list[str], ...]:
    """Names of masses, lengths, centres and moments of inertia."""
    return tuple([f"{letter}{i}" for i in range(1, n + 1)] for letter in "mlcJ")


# --- KanesMethod ---


def kane(n: int, absolute: bool = False) -> Equations:
    """As its documentation writes such chains; angular velocities are given, so that it need not find them."""
    q, u = mechanics.dynamicsymbols(f"q1:{n + 1}"), mechanics.dynamicsymbols(f"u1:{n + 1}")
    named = [[sympy.Symbol(name) for name in names] for names in letters(n)]
    g = sympy.Symbol("g")
    N, point = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    point.set_vel(N, 0)
    frame, turning, bodies, loads = N, sympy.Integer(0), [], []
    for i, (m, l, c, J) in enumerate(zip(*named, strict=True)):
        link = (N if absolute else frame).orientnew(f"B{i}", "Axis", [q[i], N.z])
        turning = u[i] if absolute else turning + u[i]
        link.set_ang_vel(N, turning * N.z)
        centre, end = point.locatenew(f"C{i}", c * link.x), point.locatenew(f"P{i}", l * link.x)
        centre.v2pt_theory(point, N, link)
        end.v2pt_theory(point, N, link)
        inertia = (mechanics.inertia(link, 0, 0, J), centre)
        bodies.append(mechanics.RigidBody(f"b{i}", centre, link, m, inertia))
        loads.append((centre, -m * g * N.y))
        frame, point = link, end
    method = mechanics.KanesMethod(
        N, q_ind=q, u_ind=u, kd_eqs=[velocity - x.diff() for x, velocity in zip(q, u, strict=True)]
    )
    method.kanes_equations(bodies, loads)
    A, f = method.mass_matrix, method.forcing
    symbols = {str(x): x for names in named for x in names} | {"g": g}
    symbols |= {f"q{i}": x for i, x in enumerate(q, 1)} | {f"u{i}": x for i, x in enumerate(u, 1)}
    return Equations([*lower(A.tolist()), *f], symbols)


# --- ours ---


def chain(n: int) -> Mechanism:
    m = mt.Model(f"chain of {n}", gravity=(0, "-g", 0))
    m.parameter("g", 9.81)
    end: Any = m.ground
    for i, (mass, length, centre, J) in enumerate(zip(*letters(n), strict=True), 1):
        for name in (mass, length, centre, J):
            m.parameter(name, 1.0)
        link = m.body(f"link{i}", mass=mass, com=(centre, 0, 0), inertia=(J, J, J))
        m.joint(f"q{i}", mt.Revolute("z"), end, link)
        end = link.at((length, 0, 0))
    return m.build(free=[name for name, _ in m.parameters]).mechanism


def state(n: int) -> list[str]:
    return [f"{letter}{i}" for letter in "qu" for i in range(1, n + 1)]


def lower(A: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    return [entry for i, row in enumerate(A) for entry in row[: i + 1]]


def by_energy(mechanism: Mechanism, x: Sequence[Scalar]) -> list[Scalar]:
    """The projected theorem of kinetic energy: A, and Q - T without accelerations of the joints."""
    n = mechanism.nv
    form = energy_form(Evaluation(mechanism, x[:n]), x[n:], [0] * n)
    return [*lower(form.A), *(Q - T for Q, T in zip(form.Q, form.T, strict=True))]


def by_sweeps(mechanism: Mechanism, x: Sequence[Scalar]) -> list[Scalar]:
    """Composite inertias for A, Newton-Euler with classical accelerations for f."""
    n = mechanism.nv
    f = [-b for b in newton_euler.inverse_dynamics(Evaluation(mechanism, x[:n]), x[n:], [0] * n)]
    return [*lower(aggregative.mass_matrix(Evaluation(mechanism, x[:n]))), *f]


def exact(x: float) -> sympy.Rational:
    return sympy.Rational(repr(x))


def energy_on_sympy(n: int) -> Equations:
    mechanism = chain(n)
    symbols = {name: sympy.Symbol(name, real=True) for name in (*mechanism.free, *state(n))}
    values, functions = {Reference(name): symbols[name] for name in mechanism.free}, {**FUNCTIONS, "number": exact}
    mapped = mechanism.mapped(lambda x: x.evaluate(values, functions) if isinstance(x, Expression) else exact(x))
    return Equations(by_energy(mapped, [symbols[name] for name in state(n)]), symbols)


def traced(n: int, formula: Callable[[Mechanism, Sequence[Scalar]], list[Scalar]]) -> tuple[Tape, list[Scalar]]:
    mechanism, tape = chain(n), Tape()
    values = {Reference(name): tape.parameter(name) for name in mechanism.free}
    mapped = mechanism.mapped(lambda x: x.evaluate(values) if isinstance(x, Expression) else x)
    results = formula(mapped, tape.inputs(*state(n)))
    tape.outputs(results)
    return tape, results


def in_symbols(n: int, formula: Callable[[Mechanism, Sequence[Scalar]], list[Scalar]]) -> Equations:
    """A tape on which each operation is a step with a symbol; nothing is written out."""
    tape, results = traced(n, formula)
    makers = {"+": operator.add, "*": operator.mul, "reciprocal": lambda x: 1 / x, "sin": sympy.sin, "cos": sympy.cos}
    nodes = tape.nodes
    symbols: dict[str, sympy.Expr] = {}
    steps: list[Step] = []
    at: dict[int, sympy.Expr] = {}

    def found(edge: int) -> sympy.Expr:
        return at[edge] if edge >= 0 else -at[-edge]

    for index, node in enumerate(nodes):
        if node[0] in ("input", "parameter"):
            at[index] = symbols[node[1]] = sympy.Symbol(node[1])
        elif node[0] == "number":
            at[index] = exact(node[1])
    for index in tape.live():
        if nodes[index][0] in makers:
            step = makers[nodes[index][0]](*map(found, nodes[index][1:]))
            at[index] = sympy.Symbol(f"x{index}")
            steps.append((at[index], step))
    return Equations([found(tape.edge(result)) for result in results], symbols, steps)


METHODS: dict[str, Callable[[int], Equations]] = {
    "Kane, joint": kane,
    "Kane, absolute": lambda n: kane(n, absolute=True),
    "energy, SymPy": energy_on_sympy,
    "energy, traced": lambda n: in_symbols(n, by_energy),
    "sweeps, traced": lambda n: in_symbols(n, by_sweeps),
}


# --- measuring ---


def in_steps(equations: Equations) -> Equations:
    """The same with common parts as steps."""
    if equations.steps:
        return equations
    steps, entries = sympy.cse(equations.entries)
    return Equations(entries, equations.symbols, steps)


def operations(equations: Equations) -> int:
    """Of a list of steps and the results made of them."""
    return sum(sympy.count_ops(e) for e in [*(step for _, step in equations.steps), *equations.entries])


def in_numbers(equations: Equations, values: dict[str, float]) -> tuple[Array, Array]:
    """A and f, by putting numbers into one step after the other."""
    at = {equations.symbols[name]: sympy.Float(value) for name, value in values.items()}
    for symbol, step in equations.steps:
        at[symbol] = sympy.sympify(step).xreplace(at).evalf()
    entries = np.array([float(sympy.sympify(entry).xreplace(at)) for entry in equations.entries])
    n = sum(name.startswith("q") for name in values)
    A = np.zeros((n, n))
    A[np.tril_indices(n)] = entries[:-n]
    return A + np.tril(A, -1).T, entries[-n:]


def check(n: int, found: dict[str, Equations]) -> None:
    """All say the same; absolute angles are sums S q of joint angles."""
    random, names = np.random.default_rng(n), [name for kind in letters(n) for name in kind]
    values = {name: float(random.uniform(0.5, 1.5)) for name in ["g", *names, *state(n)]}
    S = np.tril(np.ones((n, n)))
    sums = dict(values)
    for letter in "qu":
        for i, total in enumerate(S @ [values[f"{letter}{j}"] for j in range(1, n + 1)], 1):
            sums[f"{letter}{i}"] = float(total)
    A, f = in_numbers(found["sweeps, traced"], values)
    for name, equations in found.items():
        other_A, other_f = in_numbers(equations, sums if "absolute" in name else values)
        if "absolute" in name:
            other_A, other_f = S.T @ other_A @ S, S.T @ other_f
        if not (np.allclose(A, other_A, rtol=1e-9, atol=1e-9) and np.allclose(f, other_f, rtol=1e-9, atol=1e-9)):
            raise AssertionError(f"{n} links: '{name}' does not agree with the sweeps.")


def measure(n: int, repeat: int) -> tuple[dict[str, float], dict[str, float], dict[str, int]]:
    """Seconds to derive, seconds with common parts found, and operations, by method; runs take turns."""
    derived: dict[str, list[float]] = {name: [] for name in METHODS}
    finished: dict[str, list[float]] = {name: [] for name in METHODS}
    found: dict[str, Equations] = {}
    for _ in range(repeat):
        for name, method in METHODS.items():
            clear_cache()
            begun = time.process_time()
            equations = method(n)
            derived[name].append(time.process_time() - begun)
            found[name] = in_steps(equations)
            finished[name].append(time.process_time() - begun)
    check(n, found)
    medians = [{name: statistics.median(runs) for name, runs in kind.items()} for kind in (derived, finished)]
    return medians[0], medians[1], {name: operations(equations) for name, equations in found.items()}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def report(links: Sequence[int], repeat: int) -> str:
    measured = {n: measure(n, repeat) for n in links}
    ours = [name for name in METHODS if not name.startswith("Kane")]
    times: list[list[str]] = []
    ratios: list[list[str]] = []
    counts: list[list[str]] = []
    for n, (derived, finished, count) in measured.items():
        times.append([str(n), *(f"{derived[name] * 1e3:.0f} / {finished[name] * 1e3:.0f}" for name in METHODS)])
        pairs = [(theirs, own) for theirs in ("Kane, joint", "Kane, absolute") for own in ours]
        ratios.append([str(n), *(f"{finished[theirs] / finished[own]:.1f}" for theirs, own in pairs)])
        counts.append([str(n), *(str(count[name]) for name in METHODS)])
    lines = [
        "# Symbolic derivation of a planar chain",
        "",
        f"Python {platform.python_version()}, SymPy {sympy.__version__}; median of {repeat} runs.",
        "",
        "Milliseconds to derive / to derive and find common parts:",
        "",
        *table(["links", *METHODS], times),
        "How many times faster than KanesMethod, common parts found:",
        "",
        *table(["links", *(f"{name}, to Kane {kind}" for kind in ("joint", "absolute") for name in ours)], ratios),
        "Operations of mass matrix and forcing, common parts found:",
        "",
        *table(["links", *METHODS], counts),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, nargs="+", default=[4, 5, 6, 7, 8])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--write", type=Path, help="also write the tables into this file")
    given = parser.parse_args()
    text = report(given.links, given.repeat)
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
