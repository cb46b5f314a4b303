"""The dynamics of a mechanism as two files for programs in C or C++: definitions, and a header that documents them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from momentree.compile.emit.c_code import c_function, c_preamble, c_prototype, identifier
from momentree.compile.trace.formulas import Arguments
from momentree.compile.trace.quantities import MATRICES, trace
from momentree.compile.trace.tape import Tape
from momentree.errors import MomentreeError
from momentree.files.atomic_write import write_files
from momentree.structure.mechanism import Mechanism

Traced = dict[str, tuple[Tape, Arguments]]

# by the unit of a velocity: that of its derivative, and that of its generalized force
_UNITS = {"m/s": ("m/s2", "N"), "rad/s": ("rad/s2", "N m")}
_MEANINGS = {
    "mass_matrix": "M(q), NV x NV, row by row: kg, kg m, kg m2, by the units of its row and column.",
    "inverse_mass_matrix": "M(q)^-1, NV x NV, row by row.",
    "coriolis_matrix": "C(q, v), NV x NV, row by row: M' - 2 C is skew, C v are the Coriolis and centrifugal terms.",
    "aggregative_matrix": "B(q, v) of the aggregative form, NV x NV, row by row: B v = C v, M' - 2 B is not skew.",
    "coriolis_forces": "The inertial terms at vdot = 0: Coriolis, centrifugal, and those of prescribed motion.",
    "gravity_forces": "g(q): the generalized forces that hold the tree against its weight.",
    "generalized_forces": "Q: the generalized forces of all forces of the model, the weight included.",
    "generalized_momenta": "p, the derivatives of the kinetic energy with respect to v.",
    "bias": "The generalized forces for vdot = 0: inertial terms, gravity and every force of the model.",
    "inverse_dynamics": "The generalized forces that produce vdot, besides the forces of the model (RNEA).",
    "forward_dynamics": "vdot: the accelerations under the forces of the model and the generalized forces tau.",
}
_SIZES = dict.fromkeys(MATRICES, "NV * NV")


class Section(NamedTuple):
    """Functions that are more than a tape, for the same two files.

    | field      | meaning                                                                     |
    |------------|-----------------------------------------------------------------------------|
    | tapes      | those inside of it, for the preamble                                        |
    | constants  | whole numbers that the header defines, by names behind the prefix           |
    | prototypes | lines of a comment and a declaration, for each function that users call     |
    | functions  | the definitions                                                             |
    """

    tapes: tuple[Tape, ...]
    constants: dict[str, int]
    prototypes: tuple[tuple[tuple[str, ...], str], ...]
    functions: tuple[str, ...]


NOTHING = Section((), {}, (), ())


def write_c(
    mechanism: Mechanism,
    path: str | os.PathLike[str],
    what: str | Iterable[str],
    section: Callable[[str], Section] | None = None,
) -> None:
    """Write `path`, which ends in .c, and the header beside it; both or none of them are written.

    `section` makes more functions, whose names begin with the prefix that it is given.
    """
    target = Path(path)
    if target.suffix != ".c":
        raise MomentreeError(f"'{target}': the name of a C file must end in .c. Try '{target.with_suffix('.c')}'.")
    if not target.parent.is_dir():
        raise MomentreeError(f"'{target}': there is no folder '{target.parent}'. Create it first.")
    prefix = identifier(target.stem, "file")
    wanted = list(dict.fromkeys([what] if isinstance(what, str) else what))
    if not wanted and section is None:
        raise MomentreeError(f"'{target}': `what` is empty. Name at least one of {', '.join(_MEANINGS)}.")
    traced = {quantity: trace(mechanism, quantity) for quantity in wanted}
    more = section(prefix) if section else NOTHING
    texts = {target.with_suffix(".h"): header(mechanism, prefix, traced, more), target: source(prefix, traced, more)}
    write_files({file: (text,) for file, text in texts.items()})


def source(prefix: str, traced: Traced, section: Section = NOTHING) -> str:
    """The text of the .c file: what the functions need, and the functions."""
    functions = [c_function(tape, f"{prefix}_{what}", arrays) for what, (tape, arrays) in traced.items()]
    opening = f'/* Written by Momentree; {prefix}.h documents the functions. */\n\n#include "{prefix}.h"\n'
    tapes = [*(tape for tape, _ in traced.values()), *section.tapes]
    return "\n".join([opening, c_preamble(tapes), *functions, *section.functions])


def header(mechanism: Mechanism, prefix: str, traced: Traced, section: Section = NOTHING) -> str:
    """The text of the .h file: sizes, the order of all entries by name and unit, prototypes."""
    upper = prefix.upper()
    sizes = {"NQ": mechanism.nq, "NV": mechanism.nv} | ({"NP": len(mechanism.free)} if mechanism.free else {})
    sizes |= section.constants
    prototypes = [_documented(f"{prefix}_{what}", what, arrays) for what, (_, arrays) in traced.items()]
    prototypes += [f"{_comment(lines)}{prototype}\n" for lines, prototype in section.prototypes]
    return "\n".join(
        [
            _comment(_introduction(mechanism, upper)),
            f"#ifndef {upper}_H\n#define {upper}_H\n",
            *(f"#define {upper}_{name} {size}" for name, size in sizes.items()),
            '\n#ifdef __cplusplus\nextern "C" {\n#endif\n',
            *prototypes,
            "#ifdef __cplusplus\n}\n#endif\n",
            f"#endif /* {upper}_H */\n",
        ]
    )


# --- comments ---


def _introduction(mechanism: Mechanism, upper: str) -> list[str]:
    joints = [body.joint.type for body in mechanism.bodies if body.laws is None]
    velocity_units = [f"{unit}/s" for joint in joints for unit in joint.velocity_units]
    lines = [
        f"Dynamics of '{mechanism.name}'. Written by Momentree.",
        "",
        f"q: {upper}_NQ coordinates. Quaternions (qx, qy, qz, qw) are of unit length; no function checks it.",
        *_entries("q", mechanism.coordinates, [unit for joint in joints for unit in joint.units]),
        "",
        f"v: {upper}_NV velocities; their derivatives vdot and the generalized forces tau have the same order.",
        *_entries("v", mechanism.velocities, [f"{u}; vdot {_UNITS[u][0]}; tau {_UNITS[u][1]}" for u in velocity_units]),
        "",
        "t: time (s), for what moves or acts by a law of time.",
    ]
    if mechanism.free:
        defaults = [f"in the model {float(mechanism.values.scalar(name))!r}" for name in mechanism.free]
        lines += ["", f"parameters: {upper}_NP numbers.", *_entries("parameters", mechanism.free, defaults)]
    return [*lines, "", "The result, `out`, may not overlap the arguments. SI units, radians."]


def _entries(array: str, names: Sequence[object], notes: Sequence[str]) -> list[str]:
    return [f"    {array}[{i}]  {name}  ({note})" for i, (name, note) in enumerate(zip(names, notes, strict=True))]


def _documented(name: str, what: str, arrays: Arguments) -> str:
    size = _SIZES.get(what, "NV")
    return f"{_comment([_MEANINGS[what], f'out: {size} numbers.'])}{c_prototype(name, arrays)}\n"


def _comment(lines: Sequence[str]) -> str:
    """Lines as a comment that no name of a user's can end or break."""
    shown = ("".join(c if c.isprintable() else " " for c in line) for line in lines)
    safe = (line.replace("*/", "* /").replace("/*", "/ *") for line in shown)
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in safe) + " */\n"
