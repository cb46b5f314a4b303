"""A tape as portable C99: one function of arrays, without loops or allocation; tables of a model are constant arrays.

Every live operation is one constant, `const double v12 = v7 * v9;`, in the order of the tape and rounded as the tape
rounds, so a compiler that does not contract a * b + c (-ffp-contract=off) gives the numbers of Tape.evaluate. Options
that let it forget NaN or reorder sums (-ffast-math) give up that, not the sense of the code.

An argument whose only input has its own name, ("t", ["t"]), is a number; any other is a pointer to its first entry.
"""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from momentree.compile.emit.arguments import Arrays, check_arguments
from momentree.compile.emit.backends import Backend, Call
from momentree.compile.emit.c_tables import entry, locate, table_definitions
from momentree.compile.emit.text import Spelling, statements
from momentree.compile.trace.tape import Node, Tape
from momentree.errors import MomentreeError

RESULT = "out"
SPELLINGS: dict[str, Spelling] = {
    "+": "{} + {}",
    "*": "{} * {}",
    "reciprocal": "1.0 / {}",
    "select": "{} > 0.0 ? {} : {}",
    "absolute": "fabs({})",
    "power": "pow({}, {})",
    "atan2": "atan2({}, {})",
    **{f: f + "({})" for f in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
    **{f: f + "({})" for f in ("exp", "log", "sqrt")},
    **{f: f"momentree_{f}({{}}, {{}})" for f in ("minimum", "maximum")},
    "sign": "momentree_sign({})",
    "floor": "floor({})",
    "locate": locate,
    "entry": entry,
}

# what <math.h> lacks; fmin and fmax would swallow a NaN
_DEFINITIONS = {
    "minimum": """static inline double momentree_minimum(double x, double y)
{
    return isnan(x) || isnan(y) ? x + y : (y < x ? y : x);
}
""",
    "maximum": """static inline double momentree_maximum(double x, double y)
{
    return isnan(x) || isnan(y) ? x + y : (y > x ? y : x);
}
""",
    "sign": """static inline double momentree_sign(double x)
{
    return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x); /* zero and NaN are their own sign */
}
""",
}

_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "and asm bool catch class constexpr delete explicit export false friend mutable namespace new not operator or "
    "private protected public template this throw true try typeid typename using virtual xor"  # C++ reads the header
)
_MATH = "acos asin atan atan2 cos cosh exp fabs floor isnan log pow sin sinh sqrt tan tanh INFINITY NAN"
_TAKEN = frozenset((*_KEYWORDS.split(), *_MATH.split(), *(f"momentree_{name}" for name in _DEFINITIONS)))


# --- what is written ---


def c_function(tape: Tape, name: str, arrays: Arrays) -> str:
    """The definition of a function that computes the outputs of a tape; `c_preamble` has to stand before it.

    | argument | meaning                                                                                        |
    |----------|------------------------------------------------------------------------------------------------|
    | arrays   | arguments of the function: a name, and the inputs of the tape that it holds, in their order     |

    >>> tape = Tape()
    >>> x, y = tape.inputs("x", "y")
    >>> tape.outputs([x * y - x])
    >>> print(c_function(tape, "formula", [("pair", ["x", "y"])]), end="")
    void formula(const double *pair, double *restrict out)
    {
        const double v5 = pair[0] * pair[1];
        const double v6 = pair[0] - v5;
        out[0] = -v6;
    }
    """
    nodes, live = tape.nodes, tape.live()
    heading = _heading(name, arrays, f"double *restrict {RESULT}")
    text = statements(tape, SPELLINGS, _entries(nodes, live, arrays), c_number)
    lines = [f"(void){argument};" for argument in _unused(nodes, live, arrays, bool(text.outputs))]
    lines += [f"const double {value} = {formula};" for value, formula in text.operations]
    lines += [f"{RESULT}[{row}] = {formula};" for row, formula in enumerate(text.outputs)]
    body = "".join(f"    {line}\n" for line in lines)
    return f"{heading}\n{{\n{body}}}\n"


def c_prototype(name: str, arrays: Arrays) -> str:
    """The declaration of the function, for C and for C++, which knows no `restrict`."""
    return f"{_heading(name, arrays, f'double *{RESULT}')};"


def c_preamble(tapes: Iterable[Tape]) -> str:
    """What has to stand once before the functions of these tapes: <math.h>, and what they need that it lacks."""
    tapes = list(tapes)
    used = {nodes[index][0] for tape in tapes for nodes in [tape.nodes] for index in tape.live()}
    definitions = [text for op, text in _DEFINITIONS.items() if op in used]
    return "\n".join(["#include <math.h>\n", *definitions, *table_definitions(tapes, c_number)])


def c_number(value: float) -> str:
    """A number exactly: in decimals where a few of them are exact, else as a hexadecimal float."""
    value = float(value)
    if math.isnan(value):
        return "NAN"
    sign, size = "-" * (math.copysign(1.0, value) < 0), abs(value)
    if math.isinf(size):
        return f"{sign}INFINITY"
    return sign + (repr(size) if Decimal(repr(size)) == Decimal(size) else size.hex())


def identifier(name: str, what: str) -> str:
    """The name, if C and C++ take it for one of a program's own."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, re.ASCII):
        near = re.sub(r"[^A-Za-z0-9_]", "_", name).lstrip("_0123456789")
        way_out = f" Try '{near}'." if near and near not in _TAKEN else ""
        raise MomentreeError(f"{what} '{name}': C names are a letter, then letters, digits and _.{way_out}")
    if name in _TAKEN:
        raise MomentreeError(f"{what} '{name}': the name means something else in C or in C++. Try '{name}_1'.")
    return name


# --- the parts of a function ---


def _heading(name: str, arrays: Arrays, result: str) -> str:
    identifier(name, "function")
    arguments = []
    for argument, names in arrays:
        identifier(argument, "argument")
        if argument == RESULT or re.fullmatch(r"v[0-9]+", argument):
            raise MomentreeError(f"argument '{argument}': the name is taken in this function. Choose another one.")
        arguments.append(f"{'double ' if _is_number(argument, names) else 'const double *'}{argument}")
    return f"void {name}({', '.join([*arguments, result])})"


def _is_number(argument: str, names: Sequence[str]) -> bool:
    return list(names) == [argument]


def _entries(nodes: Sequence[Node], live: Sequence[int], arrays: Arrays) -> dict[str, str]:
    """How each input is written."""
    entries = {}
    for name, (k, column) in check_arguments(nodes, live, arrays).items():
        argument, names = arrays[k]
        entries[name] = argument if _is_number(argument, names) else f"{argument}[{column}]"
    return entries


def _unused(nodes: Sequence[Node], live: Sequence[int], arrays: Arrays, has_result: bool) -> list[str]:
    """Arguments that the function does not look at."""
    read = {nodes[index][1] for index in live if nodes[index][0] in ("input", "parameter")}
    return [a for a, names in arrays if not read & set(names)] + [RESULT] * (not has_result)


# --- the backend (backends.py) ---


def emit(tape: Tape, arrays: Arrays) -> str:
    """A file of C that defines the function `outputs`."""
    return f"{c_preamble([tape])}\n{c_function(tape, 'outputs', arrays)}"


def load(tape: Tape, arrays: Arrays) -> Call | None:
    """`emit` compiled by the C compiler of this machine, if there is one."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "outputs.c"), Path(folder, "outputs.so")
        source.write_text(emit(tape, arrays), encoding="utf-8")
        options = ("-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC")
        subprocess.run([compiler, *options, source, "-o", library, "-lm"], check=True)
        function = ctypes.CDLL(str(library)).outputs
    function.restype, count = None, len(tape.output_edges())

    def call(*values: Sequence[float]) -> list[float]:
        out, passed = (ctypes.c_double * count)(), []
        for (argument, names), column in zip(arrays, values, strict=True):
            numbers = (ctypes.c_double * len(names))(*column)
            passed.append(ctypes.c_double(numbers[0]) if _is_number(argument, names) else numbers)
        function(*passed, out)
        return list(out)

    return call


BACKEND = Backend("C", SPELLINGS, emit, load)
