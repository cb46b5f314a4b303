"""What it costs that a new number of a model needs no new machine code: operations, compile time, run time.

    python benchmarks/constants_as_parameters.py [--write docs/constants.md]

Three kinds of code for the right-hand side of the equations of motion, with work terms, in Hamiltonian variables:

| code       | numbers of the model                                                                              |
|------------|---------------------------------------------------------------------------------------------------|
| literal    | stand in the instructions, as constants of the tape                                               |
| table      | the same tape; they are read from a table beside the code (compile/emit/number_tables.py)         |
| parameters | every number but 0, 1, -1 is an input of the tape, as those of m.build(free=[...]) are            |

Times are the least of many, on one core; the spread is that of the repetitions.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from example_models import aligned_arm

import momentree as mt
from momentree.compile.emit import number_tables
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.right_hand_sides import right_hand_side_code, work_terms_of
from momentree.equations.formulations import FORMULATIONS
from momentree.integrate.steppers import new_stepper
from momentree.model.expressions.expression import reference
from momentree.model.values import Values
from momentree.spatial import Transform
from momentree.structure.mechanism import Mechanism
from momentree.structure.parts import with_numbers

EXAMPLES = Path(__file__).parents[1] / "examples"
ROWS, TIMES, REPETITIONS, CHANGES = 200, 10, 25, 8
PAGE = """# Numbers of a model and machine code

Changing a number of a model, a mass or a length, costs no new compilation. This page says how, and what it costs; it is
written by `python benchmarks/constants_as_parameters.py --write docs/constants.md`.

Numbers are constants of the tape: products of them are computed while tracing, and what is 0, 1 or -1 leaves no
operation. But they do not stand in the instructions. Each function reads them from a table beside its code
(`compile/emit/number_tables.py`), and LLVM gets the text without their values. Object files are cached by that text, so
that models with the same operations share one file, in all processes, and only the numbers in the tables differ. The
results are the same, to the last bit, as with numbers in the instructions.

| code       | numbers of the model                                                                       |
|------------|--------------------------------------------------------------------------------------------|
| literal    | stand in the instructions                                                                  |
| table      | the same operations; they are read from a table: what is used                              |
| parameters | every number but 0, 1, -1 is an input of the tape, as those of `m.build(free=[...])` are   |

{tables}

## What was chosen, and why

- **Tables, for all code**: quantities, integrators, rolled code, programmes. The operations are the same, and the time
  of an evaluation grows by 4 % at most here: a processor reads constants of instructions from memory too.
- **Not inputs of the tape.** What was folded while tracing would be computed at every evaluation, see the first table.
  `free=` remains for parameters that vary within a batch, or between calls of one system
  ([parameters.md](parameters.md)).
- **Tracing remains.** Python records the operations of the new model again and writes their text; LLVM is spared.

**When it compiles again.** Where the operations change: a number becomes 0, 1, -1 or 2, or ceases to be one of these;
two numbers that were equal, like the masses of two legs, become different, for equal numbers are one number on a tape.
So the first change of a number may compile once more; further values of it find the code. In rare cases numbers that
the equations compute by two routes are equal or not in their last bit. Nothing but time depends on this: the text says
how many numbers it takes and where, and the cache is asked for exactly this text. With `MOMENTREE_CACHE=off` every
change compiles.
"""


class Case(NamedTuple):
    """A mechanism, and where its motion begins."""

    name: str
    model: Callable[[], mt.Model]
    given: dict[str, Any]
    velocities: dict[str, Any]


def example(folder: str) -> Callable[[], mt.Model]:
    return lambda: mt.load(EXAMPLES / folder / "model.toml")


CASES = (
    Case("7-joint arm", aligned_arm, {f"hinge{i}": 0.1 * i for i in range(7)}, {}),
    Case("four-bar", example("08_four_bar"), {}, {}),
    Case("walking mechanism", example("13_walking_mechanism"), {}, {}),
    Case("Andrews' squeezer", example("12_andrews_squeezer"), {}, {}),
)


class _Everything:
    """A container of all numbers: with it in place of PLAIN, every number is written into the instructions."""

    def __contains__(self, number: object) -> bool:
        return True


@contextlib.contextmanager
def kind_of_code(kind: str) -> Iterator[None]:
    """Literal numbers within, unless a table is wanted."""
    before = number_tables.PLAIN
    if kind == "literal":
        number_tables.PLAIN = _Everything()  # type: ignore[assignment]
    try:
        yield
    finally:
        number_tables.PLAIN = before


def with_inputs(mechanism: Mechanism) -> tuple[Mechanism, np.ndarray]:
    """The mechanism with a parameter in place of each distinct number but 0, 1, -1; and the values of these."""
    names: dict[float, str] = {}

    def named(x: Any) -> Any:
        if not isinstance(x, float) or abs(x) in (0.0, 1.0):
            return x
        name = names.setdefault(abs(x), f"number{len(names)}")
        return reference(name) if x > 0 else -reference(name)

    opened = mechanism.mapped(named)
    values = Values({name: value for value, name in names.items()})
    return dataclasses.replace(opened, free=tuple(names.values()), values=values), np.array(list(names))


def right_hand_side(mechanism: Mechanism) -> Any:
    return right_hand_side_code(mechanism, FORMULATIONS["hamiltonian"], "straight-line")


# --- operations ---


def operations(mechanism: Mechanism) -> int:
    """Live operations of the right-hand side, those on parameters alone too: integrators do all at every evaluation."""
    recorded = right_hand_side(mechanism)._recorded
    return len([index for index in recorded.live if recorded.nodes[index][0] not in ("number", "input", "parameter")])


# --- times ---


def least(function: Callable[[], object], times: int = TIMES) -> float:
    """Seconds of the quickest of many calls."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - began)
    return best


def of_kernel(kernel: Kernel, arguments: list[np.ndarray]) -> Callable[[], object]:
    out = kernel(arguments)
    return lambda: kernel(arguments, out)


def evaluation_times(mechanism: Mechanism, y: np.ndarray, width: int) -> dict[str, list[float]]:
    """Nanoseconds of an evaluation, `width` rows at a time, by the kind of code; all kinds in turn, repeatedly."""
    opened, values = with_inputs(mechanism)
    arguments = [np.repeat(y[None], ROWS, axis=0), np.zeros((1, 1))]
    functions = {}
    for kind, of, more in (
        ("literal", mechanism, []),
        ("table", mechanism, []),
        ("parameters", opened, [values[None]]),
    ):
        with kind_of_code(kind):
            kernel = Kernel(right_hand_side(of), width, Target.host())
            functions[kind] = of_kernel(kernel, [*arguments, *more])
    results = {kind: function() for kind, function in functions.items()}
    assert np.array_equal(results["literal"], results["table"])
    assert np.allclose(results["parameters"], results["table"], rtol=1e-9, atol=1e-9)
    found: dict[str, list[float]] = {kind: [] for kind in functions}
    for _ in range(REPETITIONS):
        for kind, function in functions.items():
            found[kind].append(1e9 * least(function) / ROWS)
    return found


def ratio(one: list[float], other: list[float]) -> float:
    """How many times longer the other takes: the median over repetitions."""
    return statistics.median(b / a for a, b in zip(one, other, strict=True))


class Making(NamedTuple):
    """Seconds until a stepper is there.

    | field   | meaning                                                                                      |
    |---------|----------------------------------------------------------------------------------------------|
    | literal | with LLVM, numbers in the instructions                                                       |
    | table   | with LLVM, numbers in tables                                                                 |
    | changed | after a change of a number, where that needs no LLVM                                         |
    | again   | how many of how many changes needed LLVM                                                     |
    """

    literal: float
    table: float
    changed: float
    again: str


def making_times(mechanism: Mechanism, folder: Path) -> Making:
    """The times of a new mechanism, and of changes of masses and lengths, each to several values in turn."""
    new = []
    for kind in ("literal", "table"):
        with kind_of_code(kind):
            new.append(made(mechanism, folder)[0])
    random = np.random.default_rng(0)
    found = []
    for change in (heavier, longer):
        for body in (1, len(mechanism.bodies) - 1):
            found += [made(change(mechanism, body, float(f)), folder) for f in random.uniform(0.8, 1.2, CHANGES)]
    quick = [seconds for seconds, files in found if not files]
    return Making(*new, statistics.median(quick), f"{len(found) - len(quick)} of {len(found)}")


def made(mechanism: Mechanism, folder: Path) -> tuple[float, int]:
    """Seconds, and how many object files are new."""
    before, began = len(list(folder.iterdir())), time.perf_counter()
    new_stepper(mechanism, FORMULATIONS["hamiltonian"], "dop853", None, True, False, None, True)
    return time.perf_counter() - began, len(list(folder.iterdir())) - before


def heavier(mechanism: Mechanism, k: int, f: float) -> Mechanism:
    """The same with another mass of a body."""
    return replaced(mechanism, k, inertia=with_numbers(mechanism.bodies[k].inertia, lambda x: f * x))


def longer(mechanism: Mechanism, k: int, f: float) -> Mechanism:
    """The same with another distance of a joint from the one before."""
    mount = mechanism.bodies[k].mount
    return replaced(mechanism, k, mount=Transform(mount.rotation, with_numbers(mount.offset, lambda x: f * x)))


def replaced(mechanism: Mechanism, k: int, **fields: Any) -> Mechanism:
    bodies = list(mechanism.bodies)
    bodies[k] = dataclasses.replace(bodies[k], **fields)
    return dataclasses.replace(mechanism, bodies=tuple(bodies))


# --- the page ---


def main(folder: Path) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    written = parser.parse_args().write
    counts, making = [], []
    times: dict[int, list[Any]] = {1: [], Target.host().lanes(0): []}
    for case in CASES:
        system = case.model().build()
        start = system.start(case.given or None, case.velocities or None)
        mechanism = system.mechanism
        opened, values = with_inputs(mechanism)
        before, after = operations(mechanism), operations(opened)
        counts.append((case.name, len(values), before, before, after, f"{after / before - 1:+.0%}"))
        y = np.concatenate([start.q, start.v, np.zeros(len(work_terms_of(mechanism)))])
        for width, rows in times.items():
            found = evaluation_times(mechanism, y, width)
            texts = [f"{min(values):.0f} ({max(values) / min(values) - 1:+.0%})" for values in found.values()]
            more = [ratio(found["literal"], found[kind]) - 1 for kind in ("table", "parameters")]
            rows.append((case.name, *texts, *(f"{x:+.1%}" for x in more)))
        *seconds, again = making_times(mechanism, folder)
        making.append((case.name, *(f"{x:.2f}" for x in seconds), again))
    page = PAGE.format(tables=tables(counts, times, making))
    print(page)
    if written:
        written.write_text(page, encoding="utf-8")


def tables(counts: list[Any], times: dict[int, list[Any]], making: list[Any]) -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")
    evaluations = (
        f"Nanoseconds of one evaluation: the least of {TIMES * REPETITIONS}, each of {ROWS} in a row, and in "
        f"parentheses how much longer\nthe slowest of {REPETITIONS} repetitions took; one core of {cpu}, "
        "shared with others. More: the median of the ratios within a repetition, in which all kinds take turns."
    )
    changes = (
        "Seconds until the integrator `dop853` is there: of a new model, by LLVM; and after a change of a number, "
        f"where LLVM is\nspared, median. Last, how many changes compiled: two masses and two lengths, {CHANGES} random "
        "values of each in turn."
    )
    parts = ["Operations of one evaluation of the right-hand side, with work terms, in Hamiltonian variables:"]
    parts += [table(("mechanism", "numbers", "literal", "table", "parameters", "more"), counts), evaluations]
    for width, rows in times.items():
        parts.append("One row at a time:" if width == 1 else f"{width} rows at a time, in the lanes of a vector:")
        parts.append(table(("mechanism", "literal", "table", "parameters", "table, more", "parameters, more"), rows))
    parts += [changes, table(("mechanism", "literal, new", "table, new", "table, changed", "compiled"), making)]
    return "\n\n".join(parts)


def table(head: tuple[str, ...], rows: list[Any]) -> str:
    cells = [head, *[tuple(map(str, row)) for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.environ["MOMENTREE_CACHE"], os.environ["MOMENTREE_TEXTS"] = folder, "off"  # object files alone are counted
        main(Path(folder))
