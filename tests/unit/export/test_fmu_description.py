"""Descriptions of FMUs: what their XML says of variables, units and structure, in both versions of the standard."""

from __future__ import annotations

import zipfile
from xml.etree import ElementTree

import pytest

import momentree as mt
from c_motion import spatial_loop
from fmu_models import pendulum_chain
from mechanisms import four_bar


def description(system, folder, version="3.0", **how):
    system.export_fmu(folder / "it.fmu", version=version, binary="none", **how)
    with zipfile.ZipFile(folder / "it.fmu") as archive:
        return ElementTree.fromstring(archive.read("modelDescription.xml"))


def variables(root):
    """Attributes by name, those of the inner element of FMI 2.0 too."""
    listed = {}
    for element in root.find("ModelVariables"):
        inner = element.find("Real")
        listed[element.get("name")] = {**element.attrib, **({} if inner is None else inner.attrib)}
    return listed


def test_states_have_derivatives_units_and_start_values(tmp_path):
    system = pendulum_chain().build(free=["k", "u"])
    start = system.start({"J0": 0.7}, {"J2": -0.3})
    for version, offset in (("3.0", 0), ("2.0", 1)):  # FMI 2.0 counts variables from 1
        found = variables(description(system, tmp_path, version, start=start, inputs=["u"]))
        numbers = {name: int(each["valueReference"]) for name, each in found.items()}
        assert [*numbers.values()] == [*range(len(found))]
        for i, joint in enumerate(("J0", "J1", "J2")):
            position, velocity = found[joint], found[f"{joint}'"]
            assert (position["unit"], velocity["unit"]) == ("rad", "rad/s")
            assert (float(position["start"]), float(velocity["start"])) == (start.q[i], start.v[i])
            assert position["causality"] == velocity["causality"] == "output"
            assert position["initial"] == velocity["initial"] == "exact"
            for state in (joint, f"{joint}'"):
                derivative = found[f"der({state})"]
                assert int(derivative["derivative"]) == numbers[state] + offset
                assert (
                    derivative["unit"] == f"{found[state]['unit'].removesuffix('/s')}/s{'2' * state.endswith(chr(39))}"
                )
                assert (derivative["causality"], derivative["initial"]) == ("local", "calculated")
                assert "start" not in derivative


def test_parameters_are_tunable_and_inputs_continuous(tmp_path):
    found = variables(description(pendulum_chain().build(free=["k", "u"]), tmp_path, inputs=["u"]))
    k, u = found["k"], found["u"]
    assert (k["causality"], k["variability"], k["initial"], k["start"]) == ("parameter", "tunable", "exact", "3.0")
    assert (u["causality"], u["variability"], u["start"]) == ("input", "continuous", "0.0")
    assert "initial" not in u
    assert "mass" not in found


def test_the_structure_lists_outputs_derivatives_and_initial_unknowns(tmp_path):
    for build, guessed in ((pendulum_chain, False), (four_bar, True)):
        root = description(build().build(), tmp_path)
        found, structure = variables(root), root.find("ModelStructure")
        names = [*found]

        def listed(tag, structure=structure, names=names):
            return {names[int(each.get("valueReference"))] for each in structure.findall(tag)}

        states = {name for name in names if f"der({name})" in found}
        positions = {name for name in names if ".position." in name}
        derivatives = {name for name in names if name.startswith("der(")}
        assert listed("Output") == states | positions
        assert listed("ContinuousStateDerivative") == derivatives
        assert listed("InitialUnknown") == positions | derivatives | (states if guessed else set())
        assert {found[name]["initial"] for name in states} == {"approx" if guessed else "exact"}


def test_fmi_2_lists_them_by_number_and_names_sources_in_each_kind(tmp_path):
    root = description(four_bar().build(), tmp_path, "2.0")
    found = [*variables(root).values()]
    for tag, causality in (("Outputs", "output"), ("Derivatives", "local")):
        numbers = [int(each.get("index")) for each in root.find("ModelStructure").find(tag)]
        assert {found[i - 1]["causality"] for i in numbers} == {causality}
    for kind in ("ModelExchange", "CoSimulation"):
        assert [each.get("name") for each in root.find(kind).find("SourceFiles")] == ["fmi2_functions.c", "four_bar.c"]
        assert root.find(kind).get("canGetAndSetFMUstate") == "true"


@pytest.mark.parametrize(
    ("kinds", "there", "said", "unsaid"),
    [
        ("co-simulation", ["CoSimulation"], "closed after each by projection", "Baumgarte"),
        (["model exchange"], ["ModelExchange"], "Baumgarte stabilization; closure errors g decay as g''", "projection"),
    ],
)
def test_the_description_says_what_keeps_loops_closed(tmp_path, kinds, there, said, unsaid):
    root = description(four_bar().build(), tmp_path, kinds=kinds)
    assert [kind for kind in ("ModelExchange", "CoSimulation") if root.find(kind) is not None] == there
    assert said in root.get("description")
    assert unsaid not in root.get("description")
    root = description(pendulum_chain().build(), tmp_path, kinds=kinds)
    assert "loops" not in root.get("description").lower()


def test_quaternions_have_no_unit_and_every_unit_is_defined(tmp_path):
    root = description(spatial_loop().build(), tmp_path)
    found = variables(root)
    quaternion = [each for name, each in found.items() if name.startswith("B.q") or name.startswith("C.q")]
    assert len(quaternion) == 4
    assert not any("unit" in each for each in quaternion)
    defined = {unit.get("name"): unit[0].attrib for unit in root.find("UnitDefinitions")}
    assert {each["unit"] for each in found.values() if "unit" in each} == {*defined}
    assert defined["rad/s2"] == {"rad": "1", "s": "-2"}
    assert defined["1/s"] == {"s": "-1"}


def test_times_are_those_of_the_model_and_names_are_unique(tmp_path):
    m = mt.Model("two of a name")
    m.parameter("time", 2.0)
    m.parameter("closure_error", 1.0)
    m.joint("A", mt.Revolute("y", spring="time"), m.ground, m.body("A", mt.rod(mass="closure_error", length=1.0)))
    m.start_at({"A": 0.3}, t=1.5, t_end=4.0)
    root = description(m.build(free=["time", "closure_error"]), tmp_path)
    experiment = root.find("DefaultExperiment")
    assert (experiment.get("startTime"), experiment.get("stopTime")) == ("1.5", "4.0")
    assert [name for name in variables(root) if name.startswith("time")] == ["time", "time (2)"]
