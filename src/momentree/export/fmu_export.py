"""FMU of a system: equations and steps in C, their description in XML, and a library where there is a C compiler."""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from momentree.assembly.state import State
from momentree.compile.emit.c_code import c_function, c_prototype, identifier
from momentree.compile.emit.c_files import Section, header, source
from momentree.compile.execute.arrays import quaternions
from momentree.compile.trace.right_hand_sides import state_tape
from momentree.equations.formulations import FORMULATIONS
from momentree.equations.stabilizations import DEFAULT_GAIN
from momentree.errors import MomentreeError, choices
from momentree.export.c_export import parameter_values, refuse_events, with_start
from momentree.export.fmu_description import (
    CO_SIMULATION,
    KINDS,
    MODEL_EXCHANGE,
    Description,
    build_description,
    model_description,
)
from momentree.export.fmu_libraries import AUTO, SOURCES, checked_binary, libraries
from momentree.export.fmu_variables import input_names, named_bodies, outputs_formula, variables_of
from momentree.files.atomic_write import write_file
from momentree.integrate.c_step import FORMULATION, step_text, tableau_in_c
from momentree.integrate.methods import DEFAULT
from momentree.integrate.projection import closure_sizes
from momentree.results.run_inputs import output_laws
from momentree.simulate.settings import is_number

if TYPE_CHECKING:
    from momentree.system import System

VERSIONS = ("3.0", "2.0")
STABILIZATION = "baumgarte"  # of model exchange
# of the default experiment: methods of several steps, as CVode's, fail below it where inputs are tables with kinks;
# co-simulation takes 1e-4 of what it is given for its own steps (fmu_sources/instance.h)
TOLERANCE = 1e-6
GLUE = Path(__file__).parent / "fmu_sources"  # the same for all models
# names of headers of C and of the FMU itself, and of devices on Windows
_HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef "
    "stdint stdio stdlib string tgmath time wchar wctype "
    "instance fmu_model fmi2_declarations fmi3_declarations fmi2_functions fmi3_functions aux con nul prn"
)
_TAKEN = frozenset(_HEADERS.split())
_THEN = (1980, 1, 1, 0, 0, 0)  # the date of all files inside, so that the same system gives the same bytes


def export_fmu(
    system: System,
    path: str | os.PathLike[str],
    *,
    version: str = "3.0",
    kinds: Sequence[str] = KINDS,
    start: State | None = None,
    inputs: Sequence[str] | None = None,
    gain: float = DEFAULT_GAIN,
    binary: str | Sequence[str] = AUTO,
) -> None:
    """Write an FMU (docs/fmu.md).

    | argument | meaning                                                                                               |
    |----------|-------------------------------------------------------------------------------------------------------|
    | version  | of the standard: "3.0" or "2.0"                                                                       |
    | kinds    | "model exchange" and "co-simulation", both or one                                                     |
    | start    | the state at which it begins; the model's own unless given                                            |
    | inputs   | free parameters that are inputs, those of `m.input` unless given; the others are parameters           |
    | gain     | 1/s: the decay rate of closure errors in model exchange, by Baumgarte stabilization                   |
    | binary   | "auto": a library for this machine if there is a C compiler; "required": or an error; "none";         |
    |          | or a list of platforms, such as ["x86_64-linux", "x86_64-windows"]                                    |
    """
    target = Path(path)
    chosen = _checked(target, version, kinds, gain)
    checked_binary(binary)
    refuse_events(system.mechanism, "an FMU")
    begin = system.start() if start is None else start
    if not isinstance(begin, State):
        raise MomentreeError("export_fmu: start= must be a state, as system.assemble or system.start returns it.")
    files, about = _files(system, version, chosen, begin, input_names(system, inputs), gain)
    contents: dict[str, str | bytes] = {**files, **libraries(files, about, target, binary)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _THEN), content, zipfile.ZIP_DEFLATED)
    write_file(target, buffer.getvalue())


def _checked(target: Path, version: str, kinds: Sequence[str], gain: float) -> tuple[str, ...]:
    """The kinds, if everything else is right as well."""
    chosen = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if target.suffix != ".fmu":
        raise MomentreeError(f"'{target}': the name of an FMU must end in .fmu. Try '{target.with_suffix('.fmu')}'.")
    if version not in VERSIONS:
        raise MomentreeError(f"export_fmu: version is {version!r}. Choose {choices(list(VERSIONS))}.")
    if not chosen or any(kind not in KINDS for kind in chosen):
        raise MomentreeError(f"export_fmu: kinds are {chosen!r}. Choose {choices(list(KINDS))}, or both.")
    if not is_number(gain) or gain <= 0:
        raise MomentreeError(f"export_fmu: gain is {gain}; give a positive number, in 1/s.")
    return chosen


# --- files ---


def _files(
    system: System, version: str, kinds: tuple[str, ...], start: State, inputs: Sequence[str], gain: float
) -> tuple[dict[str, str], Description]:
    """The text files of the FMU by name, and what its description says."""
    from momentree import __version__

    prefix, mechanism = model_identifier(system.name), system.mechanism
    values = parameter_values(system, start)
    stabilized = MODEL_EXCHANGE in kinds and mechanism.constrained
    gains = FORMULATIONS[FORMULATION].stabilizations[STABILIZATION](float(gain)) if stabilized else {}
    section = with_start(step_text(mechanism, prefix, tableau_in_c(DEFAULT), gains), system, prefix, start)
    section = _with_outputs(section, system, prefix)
    functions = f"fmi{version[0]}_functions.c"
    named = [functions, f"fmi{version[0]}_declarations.h", "instance.h"]
    sources = {name: (GLUE / name).read_text(encoding="utf-8") for name in named}
    sources |= {f"{prefix}.h": header(mechanism, prefix, {}, section), f"{prefix}.c": source(prefix, {}, section)}
    about = Description(
        version, kinds, system.name, prefix, "", f"Momentree {__version__}", _text(system, kinds, gain),
        variables_of(system, start, values, inputs), (functions, f"{prefix}.c"),
        (float(start.t), system.t_end), TOLERANCE,
    )  # fmt: skip
    everything = "\0".join([model_description(about), *sources.values()])
    digest = hashlib.sha256(everything.encode()).hexdigest()
    token = f"{{{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}}}"
    about = about._replace(token=token)
    sources["fmu_model.h"] = _model_header(system, prefix, token, kinds)
    files = {"modelDescription.xml": model_description(about)}
    if version != "2.0":
        files[f"{SOURCES}buildDescription.xml"] = build_description(about)
    return files | {f"{SOURCES}{name}": text for name, text in sources.items()}, about


def model_identifier(name: str) -> str:
    """A name of C, for the model of any name."""
    near = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_")[:60]
    near = near if near and near[0].isalpha() else f"model_{near}".rstrip("_")
    try:
        return f"{near}_model" if near.lower() in _TAKEN else identifier(near, "model")
    except MomentreeError:  # a word of C
        return f"{near}_model"


def _with_outputs(section: Section, system: System, prefix: str) -> Section:
    """With the function of positions, outputs and closure errors."""
    mechanism = system.mechanism
    tape, arguments = state_tape(mechanism, outputs_formula([*output_laws(mechanism, system._model).values()]))
    named = [("state" if name == "y" else name, inputs) for name, inputs in arguments]
    name = f"{prefix}_outputs"
    lines = ("Origins of bodies, three numbers each; then named outputs; then the closure errors of all constraints.",)
    return section._replace(
        tapes=(*section.tapes, tape),
        prototypes=(*section.prototypes, (lines, c_prototype(name, named))),
        functions=(*section.functions, c_function(tape, name, named)),
    )


def _model_header(system: System, prefix: str, token: str, kinds: Sequence[str]) -> str:
    """fmu_model.h: sizes and calls of this model, as instance.h takes them."""
    mechanism, upper = system.mechanism, prefix.upper()
    sizes = {
        "NX": mechanism.nq + mechanism.nv,
        "NP": len(mechanism.free),
        "NY": 3 * len(named_bodies(mechanism)) + len(system.outputs),
        "NR": len(closure_sizes(mechanism)) if mechanism.constrained else 0,
        "HAS_MODEL_EXCHANGE": int(MODEL_EXCHANGE in kinds),
        "HAS_CO_SIMULATION": int(CO_SIMULATION in kinds),
        "MODEL_WORK": f"{upper}_WORK",
        "MODEL_OPEN": f"{upper}_OPEN",
        "MODEL_NOT_FINITE": f"{upper}_NOT_FINITE",
        "MODEL_TOKEN": f'"{token}"',
    }
    free = ", parameters" if mechanism.free else ""
    unused = "" if mechanism.free else "(void)(parameters), "
    calls = {
        "model_start(state, parameters)": f"({unused}{prefix}_start(state{free}))",
        "model_unit(state)": f"{prefix}_unit(state)" if quaternions(mechanism) else "((void)(state))",
        "model_derivatives(state, t, parameters, out)": f"{prefix}_derivatives(state, t{free}, out)",
        "model_outputs(state, t, parameters, out)": f"{prefix}_outputs(state, t{free}, out)",
        "model_close(state, t, parameters, work)": f"{prefix}_close(state, t{free}, work)",
        "model_step(state, t, h, parameters, work)": f"{prefix}_step(state, t, h{free}, work)",
    }
    lines = ["/* Sizes and calls of this model, for instance.h. Written by Momentree. */", "#ifndef FMU_MODEL_H"]
    lines += ["#define FMU_MODEL_H", "", f'#include "{prefix}.h"', ""]
    lines += [f"#define {name} {value}" for name, value in (*sizes.items(), *calls.items())]
    return "\n".join([*lines, "", "#endif", ""])


def _text(system: System, kinds: Sequence[str], gain: float) -> str:
    """What the FMU is, in sentences; what keeps its loops closed, above all."""
    mechanism = system.mechanism
    sentences = [f"Dynamics of {system.name}: {len(named_bodies(mechanism))} rigid bodies. SI units, radians."]
    if mechanism.constrained:
        if MODEL_EXCHANGE in kinds:
            sentences.append(
                "Model exchange: constraints are kept by Lagrange multipliers with Baumgarte stabilization; "
                f"closure errors g decay as g'' + {2 * gain:g} g' + {gain * gain:g} g = 0, but are not zero."
            )
        if CO_SIMULATION in kinds:
            sentences.append(f"Co-simulation: {DEFAULT} with controlled steps, loops closed after each by projection.")
        sentences.append("Loops are closed at the end of the initialization, from start values and parameters.")
    elif CO_SIMULATION in kinds:
        sentences.append(f"Co-simulation: {DEFAULT} with controlled steps.")
    return " ".join(sentences)
