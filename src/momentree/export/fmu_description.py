"""modelDescription.xml and buildDescription.xml of an FMU, in the versions 2.0 and 3.0 of the standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from momentree.export.fmu_variables import Variable

MODEL_EXCHANGE, CO_SIMULATION = KINDS = ("model exchange", "co-simulation")
# exponents of base units
_UNITS = {"s": {"s": 1}, "1/s": {"s": -1}, "m": {"m": 1}, "rad": {"rad": 1}}
_UNITS |= {f"{unit}{per}": {unit: 1, "s": n} for unit in ("m", "rad") for per, n in (("/s", -1), ("/s2", -2))}


class Description(NamedTuple):
    """What the description of an FMU says.

    | field      | meaning                                                        |
    |------------|----------------------------------------------------------------|
    | version    | of the standard: "2.0" or "3.0"                                |
    | kinds      | of KINDS                                                       |
    | name       | of the model, as the user wrote it                             |
    | identifier | of the model in C, and of the file of its library              |
    | token      | which tells the FMU from others                                |
    | tool       | that wrote it                                                  |
    | text       | what it is                                                     |
    | variables  | all, in the order of their value references                    |
    | sources    | names of the files of C to compile                             |
    | times      | start and end (s) of the default experiment; None: no end      |
    | tolerance  | relative tolerance of the default experiment                   |
    """

    version: str
    kinds: tuple[str, ...]
    name: str
    identifier: str
    token: str
    tool: str
    text: str
    variables: tuple[Variable, ...]
    sources: tuple[str, ...]
    times: tuple[float, float | None]
    tolerance: float


def model_description(about: Description) -> str:
    """The text of modelDescription.xml."""
    root = Element("fmiModelDescription", fmiVersion=about.version, modelName=about.name)
    root.set("guid" if about.version == "2.0" else "instantiationToken", about.token)
    root.set("description", about.text)
    root.set("generationTool", about.tool)
    root.set("variableNamingConvention", "flat")
    if about.version == "2.0":
        root.set("numberOfEventIndicators", "0")
    _add_kinds(root, about)
    _add_units(root, about.variables)
    SubElement(SubElement(root, "LogCategories"), "Category", name="logStatusError", description="errors")
    _add_experiment(root, about)
    if about.version == "2.0":
        _add_variables_2(root, about.variables)
        _add_structure_2(root, about.variables)
    else:
        _add_variables_3(root, about.variables)
        _add_structure_3(root, about.variables)
    return _text(root)


def build_description(about: Description) -> str:
    """The text of sources/buildDescription.xml, which FMI 3.0 has."""
    root = Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = SubElement(root, "BuildConfiguration", modelIdentifier=about.identifier)
    files = SubElement(configuration, "SourceFileSet", language="C99")
    for source in about.sources:
        SubElement(files, "SourceFile", name=source)
    SubElement(configuration, "Library", name="m", external="true", description="the mathematical library of C")
    return _text(root)


def _text(root: Element) -> str:
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


# --- both versions ---


def _add_kinds(root: Element, about: Description) -> None:
    is_2 = about.version == "2.0"
    word = "FMUstate" if is_2 else "FMUState"
    common = {"modelIdentifier": about.identifier, f"canGetAndSet{word}": "true", f"canSerialize{word}": "true"}
    special = {
        MODEL_EXCHANGE: ("ModelExchange", {"completedIntegratorStepNotNeeded": "true"} if is_2 else {}),
        CO_SIMULATION: ("CoSimulation", {"canHandleVariableCommunicationStepSize": "true"}),
    }
    for kind in KINDS:
        if kind in about.kinds:
            tag, more = special[kind]
            element = SubElement(root, tag, common | more)
            if is_2:
                files = SubElement(element, "SourceFiles")
                for source in about.sources:
                    SubElement(files, "File", name=source)


def _add_units(root: Element, variables: Sequence[Variable]) -> None:
    units = SubElement(root, "UnitDefinitions")
    for unit in dict.fromkeys(variable.unit for variable in variables if variable.unit):
        exponents = {base: str(exponent) for base, exponent in _UNITS[unit].items()}
        SubElement(SubElement(units, "Unit", name=unit), "BaseUnit", exponents)


def _add_experiment(root: Element, about: Description) -> None:
    start, stop = about.times
    experiment = SubElement(root, "DefaultExperiment", startTime=repr(start))
    if stop is not None:
        experiment.set("stopTime", repr(stop))
    experiment.set("tolerance", repr(about.tolerance))


def _attributes(variable: Variable, reference: int) -> dict[str, str]:
    attributes = {"name": variable.name, "valueReference": str(reference), "description": variable.description}
    attributes |= {"causality": variable.causality, "variability": variable.variability}
    return attributes | ({"initial": variable.initial} if variable.initial else {})


def _structure(variables: Sequence[Variable]) -> tuple[list[int], list[int], list[int]]:
    """The value references of outputs, of derivatives of states, and of what the initialization computes of these.

    Other local variables, such as the closure error, are not listed.
    """
    outputs = [i for i, variable in enumerate(variables) if variable.causality == "output"]
    derivatives = [i for i, variable in enumerate(variables) if variable.state is not None]
    listed = {*outputs, *derivatives}
    unknowns = [i for i, v in enumerate(variables) if i in listed and v.initial in ("approx", "calculated")]
    return outputs, derivatives, unknowns


# --- FMI 2.0 ---


def _add_variables_2(root: Element, variables: Sequence[Variable]) -> None:
    listed = SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        real = SubElement(SubElement(listed, "ScalarVariable", _attributes(variable, reference)), "Real")
        if variable.unit:
            real.set("unit", variable.unit)
        if variable.start is not None:
            real.set("start", repr(variable.start))
        if variable.state is not None:
            real.set("derivative", str(variable.state + 1))


def _add_structure_2(root: Element, variables: Sequence[Variable]) -> None:
    structure = SubElement(root, "ModelStructure")
    for tag, references in zip(("Outputs", "Derivatives", "InitialUnknowns"), _structure(variables), strict=True):
        if references:
            group = SubElement(structure, tag)
            for reference in references:
                SubElement(group, "Unknown", index=str(reference + 1))


# --- FMI 3.0 ---


def _add_variables_3(root: Element, variables: Sequence[Variable]) -> None:
    listed = SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        attributes = _attributes(variable, reference)
        if variable.unit:
            attributes["unit"] = variable.unit
        if variable.state is not None:
            attributes["derivative"] = str(variable.state)
        if variable.start is not None:
            attributes["start"] = repr(variable.start)
        SubElement(listed, "Float64", attributes)


def _add_structure_3(root: Element, variables: Sequence[Variable]) -> None:
    structure = SubElement(root, "ModelStructure")
    tags = ("Output", "ContinuousStateDerivative", "InitialUnknown")
    for tag, references in zip(tags, _structure(variables), strict=True):
        for reference in references:
            SubElement(structure, tag, valueReference=str(reference))
