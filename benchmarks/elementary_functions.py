"""How close the elementary functions of machine code are to the exact values, and how long they take.

    python benchmarks/elementary_functions.py [--only sin,cos] [-n 1e8] [--time] [--write docs/elementary-functions.md]

Each function is computed for n arguments (elementary_arguments.py) in every width, whose bits have to be equal, and
compared with the long double function of the C library, whose last place is 2^-11 of that of a double; the worst few
of each kind are computed again by mpmath, with as many digits as needed. Long doubles have to have 64 bits, as they
do on Linux for x86. `--write` renews the rows of the page that were measured, and keeps the others.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import mpmath
import numpy as np
from elementary_arguments import ARGUMENTS

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.execute.kernel import WIDTHS, Kernel
from momentree.compile.execute.machine_code import Target, loaded
from momentree.compile.trace.operations import OPERATIONS
from momentree.compile.trace.tape import Tape

BLOCK = 2**19
WORST = 20  # arguments of each kind in each block are computed again by mpmath
LONG = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
TIMED = {"sin": (-10, 10), "cos": (-10, 10), "tan": (-10, 10), "log": (0.01, 100), "power": (0.01, 10)}  # else -1 to 1


class Worst(NamedTuple):
    """The largest error found, in units of the last place of the exact result, and its arguments."""

    ulps: float
    at: tuple[float, ...]
    kind: str


def kernel_of(name: str, width: int, target: Target | None = None) -> Kernel:
    """The machine code of a function of one array."""
    tape = Tape()
    names = [f"x{i}" for i in range(OPERATIONS[name].arity)]
    tape.outputs([OPERATIONS[name].compute(*tape.inputs(*names))])
    return compile_tape(tape, [("x", names)], width, target)


# --- accuracy ---


def close_errors(name: str, x: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Errors in units of the last place, by the long double function; infinite where a result is of another kind."""
    columns = x.astype(np.longdouble).T
    with np.errstate(all="ignore"):
        exact = getattr(np, LONG.get(name, name))(*columns)
        rounded = exact.astype(float)
        place = np.ldexp(np.longdouble(1), np.maximum(np.frexp(exact)[1] - 53, -1074))
        errors = np.asarray(np.abs(found.astype(np.longdouble) - exact) / place, dtype=float)
    special = ~np.isfinite(rounded) | ~np.isfinite(found) | (rounded == 0)
    alike = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    beyond = np.isinf(rounded) & (np.abs(found) == np.finfo(float).max)  # next to the limit of the range
    return np.where(special & (found != rounded), np.where(alike | beyond, 0.0, np.where(rounded == 0, errors, np.inf)),
                    np.where(special, 0.0, errors))  # fmt: skip


def exact_error(name: str, x: tuple[float, ...], found: float) -> float:
    """The error in units of the last place, by mpmath."""
    if not all(map(np.isfinite, (*x, found))):
        return 0.0
    with mpmath.workprec(1500 if name in ("sin", "cos", "tan") else 400):
        exact = getattr(mpmath, name)(*map(mpmath.mpf, x))
        if not exact:
            return 0.0 if found == 0 else np.inf
        place = mpmath.ldexp(1, max(mpmath.frexp(exact)[1] - 53, -1074))
        return float(abs(mpmath.mpf(found) - exact) / place)


def accuracy(name: str, count: int, seed: int = 1, report: Callable[[str], None] = print) -> Worst:
    """The largest error of a function over so many arguments, equally many of each kind; widths have to agree."""
    kernels = [kernel_of(name, width) for width in WIDTHS]
    worst = Worst(0.0, (), "")
    kinds = ARGUMENTS[name]
    for number, (kind, draw) in enumerate(kinds.items()):
        random, here = np.random.default_rng((seed, number)), Worst(0.0, (), kind)
        left = -(-count // len(kinds))
        while left > 0:
            n = min(left, BLOCK)
            left -= n
            x = np.ascontiguousarray(draw(random, n).reshape(n, -1))
            found, *others = (kernel([x])[:, 0] for kernel in kernels)
            for width, other in zip(WIDTHS[1:], others, strict=True):
                assert np.array_equal(found.view(np.int64), other.view(np.int64)), f"{name}: {width} lanes differ"
            errors = close_errors(name, x, found)
            if errors.max() < here.ulps - 0.01:
                continue
            for i in np.argpartition(errors, -min(WORST, n))[-WORST:]:
                at = tuple(x[i].tolist())
                error = exact_error(name, at, float(found[i])) if np.isfinite(errors[i]) else np.inf
                here = max(here, Worst(error, at, kind))
        report(f"{name:6} {kind:40} {here.ulps:.4f} at {', '.join(map(repr, here.at))}")
        worst = max(worst, here)
    return worst


# --- time ---


def libm(name: str) -> Callable[[np.ndarray, np.ndarray], None]:
    """The function of the C library, in a loop of machine code over rows."""
    arity, library = OPERATIONS[name].arity, ctypes.CDLL(ctypes.util.find_library("m"))
    address = ctypes.cast(getattr(library, {"power": "pow"}.get(name, name)), ctypes.c_void_p).value or 0
    reads = "".join(
        f"""  %i{k} = add i64 %first, {k}
  %p{k} = getelementptr double, ptr %x, i64 %i{k}
  %x{k} = load double, ptr %p{k}
"""
        for k in range(arity)
    )
    numbers = ", ".join(f"double %x{k}" for k in range(arity))
    text = f"""declare double @other_function({", ".join(["double"] * arity)})
define void @loop(ptr %x, ptr %out, i64 %n) {{
entry:
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %next, %row ]
  %first = mul i64 %i, {arity}
{reads}  %y = call double @other_function({numbers})
  %to = getelementptr double, ptr %out, i64 %i
  store double %y, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %row, label %done
done:
  ret void
}}
"""
    code = loaded(text, Target.host(), "loop", {"other_function": address})
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code["loop"])

    def run(x: np.ndarray, out: np.ndarray, code: object = code) -> None:
        function(x.ctypes.data, out.ctypes.data, len(x))

    return run


def best(run: Callable[[], object], rows: int) -> float:
    """Nanoseconds for a row, the best of many runs."""
    times = []
    for _ in range(200):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) / rows * 1e9


def times(name: str, rows: int = 4096) -> tuple[float, float, float]:
    """Nanoseconds for a call: one number, 8 lanes (for each), the C library."""
    low, high = TIMED.get(name, (-1, 1))
    x = np.random.default_rng(1).uniform(low, high, (rows, OPERATIONS[name].arity))
    out, other = np.empty((rows, 1)), libm(name)
    narrow, wide = kernel_of(name, 1), kernel_of(name, 8)
    return (
        best(lambda: narrow([x], out), rows),
        best(lambda: wide([x], out), rows),
        best(lambda: other(x, out), rows),
    )


# --- the page ---

HEAD = """# Elementary functions

Machine code computes sin, cos, tan, their inverses, exp, log, powers and hyperbolic functions by instructions of its
own (`compile/emit/llvm_trigonometry.py`, `llvm_exponentials.py`, `llvm_far_angles.py`), not by a library. The bits are
the same for one state and in every lane of a batch, on every processor, and on GPUs. No result was found that is off by
a whole unit of the last place (ulp). Signed zeros, infinities and NaN are as in IEEE 754.

- Angles up to 1e6 are reduced by multiples of pi/2 in three parts with fused multiply-adds, exactly but for the last
  part; larger ones, up to 1.8e308, in integers (Payne and Hanek). That is the only branch.
- Powers take the logarithm as a pair of numbers, which is off by less than 2^-65 of it.
- A processor without fused multiply-adds (made before 2013) calls `fma` of the C library for each: the same bits,
  slowly. Sums of products outside of these functions round twice there.
- [C code](export-c.md) and [FMUs](fmu.md) call the mathematical library that they are compiled with: their results
  agree with machine code to round-off. JAX and CasADi have functions of their own.

Written by `benchmarks/elementary_functions.py`; arguments: `benchmarks/elementary_arguments.py`; polynomials that are
our own: `benchmarks/minimax.py`.
"""
ACCURACY = """
## Accuracy
The largest error that was found, in ulp of the exact result; no function can do better than 0.5. Arguments are those
of mechanisms, of all exponents, and hard cases: next to multiples of pi/2, among them the doubles nearest to one for
each exponent; close to 1 for log and asin; next to where methods meet; with subnormal results. They were compared with
long doubles, the worst of them with mpmath.

| function | arguments | largest error, ulp | at |
|----------|-----------|--------------------|----|
"""
TIME = """
## Time
Nanoseconds for a result on one core, in batches of 4096 that stay in the cache: one number at a time, 8 in the lanes
of a vector, and the C library.

| function | one number | 8 lanes | C library |
|----------|------------|---------|-----------|
"""


def rows_of(page: str, title: str) -> dict[str, str]:
    """The rows of a table of the page, by function."""
    part = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return {
        row.split("|")[1].strip(): row for row in re.findall(r"^\| [a-z]\w* +\|.*$", part, re.M) if "---" not in row
    }


def page_with(page: str, accuracies: dict[str, str], timed: dict[str, str]) -> str:
    """The page with new rows in place of old ones."""
    text = HEAD
    for head, title, new in ((ACCURACY, "Accuracy", accuracies), (TIME, "Time", timed)):
        rows = rows_of(page, title) | new
        rows.pop("function", None)
        if rows:
            text += head + "".join(f"{rows[name]}\n" for name in ARGUMENTS if name in rows)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="functions, with commas between them")
    parser.add_argument("-n", type=float, default=1e6, help="arguments of each function; 0: none")
    parser.add_argument("--time", action="store_true", help="measure times too: on a quiet machine")
    parser.add_argument("--write", type=Path, help="the page")
    options = parser.parse_args()
    if np.finfo(np.longdouble).nmant < 63:
        parser.error("long doubles have no more digits than doubles here; use Linux on x86.")
    for name in options.only.split(",") if options.only else ARGUMENTS:
        accuracies, timed = {}, {}
        if options.n:
            worst = accuracy(name, int(options.n))
            at = ", ".join(map(repr, worst.at))
            accuracies[name] = (
                f"| {name} | {f'{options.n:.0e}'.replace('e+0', 'e')} | {worst.ulps:.3f} | {at}: {worst.kind} |"
            )
        if options.time:
            timed[name] = "| {} | {:.1f} | {:.1f} | {:.1f} |".format(name, *times(name))
            print(timed[name])
        if options.write:
            page = options.write.read_text(encoding="utf-8") if options.write.exists() else ""
            options.write.write_text(page_with(page, accuracies, timed), encoding="utf-8")


if __name__ == "__main__":
    main()
