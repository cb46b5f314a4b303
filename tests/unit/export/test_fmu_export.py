"""FMUs as FMPy sees them: they are valid, move as `simulate` does, and keep loops closed; instances are independent."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from c_motion import COMPILER, needs_compiler, spatial_loop
from fmu_models import KINDS, coordinate_names, pendulum_chain, simulated
from mechanisms import four_bar
from momentree.assembly.state import State
from momentree.export import c_compiler
from momentree.export.fmu_export import ExportWarning, model_identifier

EXAMPLES = Path(__file__).parents[3] / "examples"
VERSIONS = ("3.0", "2.0")
every_version = pytest.mark.parametrize("version", VERSIONS)
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-O0", "-shared", "-fPIC"]


def swinging(system):
    return system.assemble({"A": 1.0}, {"A": 2.0}, guess={"D": 0.5})


@pytest.fixture
def fmpy():
    return pytest.importorskip("fmpy", reason="FMPy is not installed: pip install fmpy")


# --- motion ---


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", pytest.param("2.0", marks=pytest.mark.long)])
def test_a_four_bar_is_valid_moves_as_in_simulate_and_stays_closed(tmp_path, fmpy, version):
    from fmpy.validation import validate_fmu

    system = four_bar().build()
    start = swinging(system)
    system.export_fmu(tmp_path / "it.fmu", version=version, start=start, binary="required")
    assert validate_fmu(str(tmp_path / "it.fmu")) == []
    run = system.simulate(start, t_end=5.0, every=0.05)
    names = [*coordinate_names(system), "closure_error", *(f"coupler.position.{axis}" for axis in "xyz")]
    for kind in KINDS:
        found = simulated(tmp_path / "it.fmu", kind, 5.0, 0.05, names)
        np.testing.assert_allclose(found[:, :3], run.q, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found[:, 3:6], run.v, rtol=0, atol=1e-7)
        np.testing.assert_allclose(found[:, 7:], run.position("coupler"), rtol=0, atol=1e-8)
        errors = [State(system._numeric, row[:3], row[3:6]).closure_error for row in found]
        np.testing.assert_allclose(found[:, 6], errors, rtol=1e-6, atol=1e-15)
        assert max(errors) < (1e-9 if kind == "co-simulation" else 1e-8)


@pytest.mark.long
@needs_compiler
@every_version
def test_a_tree_with_parameters_set(tmp_path, fmpy, version):
    from fmpy.validation import validate_fmu

    system = pendulum_chain().build(free=["k", "mass"])
    system.export_fmu(tmp_path / "it.fmu", version=version, start=system.start({"J0": 0.7}))
    assert validate_fmu(str(tmp_path / "it.fmu")) == []
    for values in ({}, {"k": 8.0, "mass": 2.5}):
        run = system.simulate(system.start({"J0": 0.7}, parameters=values), t_end=5.0, every=0.1, parameters=values)
        for kind in KINDS:
            found = simulated(tmp_path / "it.fmu", kind, 5.0, 0.1, coordinate_names(system), start_values=values)
            np.testing.assert_allclose(found, np.hstack([run.q, run.v]), rtol=0, atol=1e-8)


@pytest.mark.long
@needs_compiler
@every_version
def test_an_input_that_jumps_acts_as_in_simulate_piece_by_piece(tmp_path, fmpy, version):
    system = pendulum_chain().build(free=["u", "k"])
    start = system.start({"J0": 0.7})
    system.export_fmu(tmp_path / "it.fmu", version=version, start=start, inputs=["u"])
    values = [0.0, 1.5, -2.0, 0.7, 0.0]
    state, rows = start, [np.hstack([start.q, start.v])]
    for i, u in enumerate(values):
        run = system.simulate(state, t_end=i + 1.0, every=0.25, parameters={"u": u})
        rows += [*np.hstack([run.q, run.v])[1:]]
        state = run.state(-1)
    # two values at each jump, before and after it
    jumps = [(float(i + k), u) for i, u in enumerate(values) for k in (0, 1)]
    given = np.array(jumps, dtype=[("time", float), ("u", float)])
    for kind in KINDS:
        found = simulated(tmp_path / "it.fmu", kind, 5.0, 0.25, coordinate_names(system), input=given)
        np.testing.assert_allclose(found, rows, rtol=0, atol=1e-8)


@pytest.mark.long
@needs_compiler
def test_a_spatial_loop_with_quaternions(tmp_path, fmpy):
    system = spatial_loop().build()
    start = system.assemble({"A": 0.4}, {"A": 1.0}, guess={"D": -1.2})
    system.export_fmu(tmp_path / "it.fmu", start=start)
    run = system.simulate(start, t_end=5.0, every=0.1)
    for kind in KINDS:
        names = [*coordinate_names(system), "closure_error"]
        found = simulated(tmp_path / "it.fmu", kind, 5.0, 0.1, names, relative_tolerance=1e-13)
        np.testing.assert_allclose(found[:, : system.nq], run.q, rtol=0, atol=1e-8)
        assert found[:, -1].max() < (1e-9 if kind == "co-simulation" else 1e-7)


@pytest.mark.long
@needs_compiler
@pytest.mark.parametrize("example", ["14_gear_train", "16_rolling_disc"])
def test_gears_and_rolling_in_co_simulation(tmp_path, fmpy, example):
    system = mt.load(EXAMPLES / example / "model.toml").build()
    start = system.start()
    system.export_fmu(tmp_path / "it.fmu", kinds="co-simulation", start=start)
    run = system.simulate(start, t_end=1.0, every=0.1)
    found = simulated(tmp_path / "it.fmu", "co-simulation", 1.0, 0.1, coordinate_names(system))
    np.testing.assert_allclose(found, np.hstack([run.q, run.v]), rtol=0, atol=1e-7)


# --- initialization ---


@pytest.mark.long
@needs_compiler
@every_version
def test_loops_are_closed_from_start_values_and_parameters(tmp_path, fmpy, version):
    """A longer ground: the loop closes elsewhere. What cannot be closed is an error of the initialization."""
    system = _with_ground("d").build(free=["d"])
    system.export_fmu(tmp_path / "it.fmu", version=version, start=swinging(system))
    names = [*coordinate_names(system), "closure_error"]
    for kind in KINDS:
        values = {"d": 2.7, "A": 1.1}
        found = simulated(tmp_path / "it.fmu", kind, 1.0, 0.5, names, start_values=values)
        q, v = found[0, :3], found[0, 3:6]
        state = State(system.with_parameters(d=2.7)._numeric, q, v)
        assert state.closure_error < 1e-12
        assert state.closure_velocity < 1e-12
        run = system.simulate(state, t_end=1.0, every=0.5, parameters={"d": 2.7})
        np.testing.assert_allclose(found[:, :3], run.q, rtol=0, atol=1e-8)
        messages = []

        def log(*words, messages=messages):
            messages += words

        with pytest.raises(Exception, match="InitializationMode"):
            simulated(tmp_path / "it.fmu", kind, 1.0, 0.5, names, start_values={"d": 9.0}, logger=log)
        said = b"The loops of the model cannot be closed from these start values and parameters."
        assert said in messages or said.decode() in messages


def _with_ground(d):
    m = mt.Model("four-bar")
    m.parameter("d", 2.5)
    crank, coupler, rocker = (m.body(n, mt.rod(mass=1.0, length=x)) for n, x in (("a", 1.0), ("b", 2.0), ("c", 2.0)))
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((d, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2, 0, 0)), rocker.at((2, 0, 0)))
    return m


# --- instances ---


@contextmanager
def slaves(fmpy, path, count):
    """Instances for co-simulation, initialized."""
    from fmpy import extract, read_model_description
    from fmpy.fmi3 import FMU3Slave

    description, folder = read_model_description(str(path)), extract(str(path))
    shape = {"guid": description.guid, "modelIdentifier": description.coSimulation.modelIdentifier}
    made = [FMU3Slave(**shape, unzipDirectory=folder, instanceName=f"number {i}") for i in range(count)]
    try:
        for slave in made:
            slave.instantiate()
            slave.enterInitializationMode(startTime=0.0)
            slave.exitInitializationMode()
        yield made
    finally:
        for slave in made:
            slave.freeInstance()
        shutil.rmtree(folder, ignore_errors=True)


@needs_compiler
def test_instances_are_independent_and_states_can_be_copied_and_reset(tmp_path, fmpy):
    system = pendulum_chain().build(free=["k", "u"])
    system.export_fmu(tmp_path / "it.fmu", start=system.start({"J0": 0.7}), inputs=["u"])
    states, (k,) = [1, 2, 3, 4, 5, 6], (13,)

    def moved(slave, times):
        for t in times:
            slave.doStep(t, 0.1)
        return slave.getFloat64(states)

    times = [0.1 * i for i in range(10)]
    with slaves(fmpy, tmp_path / "it.fmu", 2) as (one, other):
        other.setFloat64([k], [20.0])
        alone = moved(one, times)
        assert moved(other, times) != alone
        copy, later = one.getFMUState(), moved(one, [1.0, 1.1])
        saved = one.serializeFMUState(copy)
        assert later != alone
        one.setFMUState(copy)
        assert one.getFloat64(states) == alone
        assert moved(one, [1.0, 1.1]) == later
        other.setFMUState(other.deserializeFMUState(saved))
        assert moved(other, [1.0, 1.1]) == later
        one.freeFMUState(copy)
        one.reset()
        one.enterInitializationMode(startTime=0.0)
        one.exitInitializationMode()
        assert moved(one, times) == alone
        with pytest.raises(Exception, match="fmi3DoStep"):
            one.doStep(0.5, 0.1)  # which does not begin where the last one ended
        with pytest.raises(Exception, match="fmi3SetFloat64"):
            one.setFloat64([1], [0.3])  # a state, after the initialization
        one.terminate()


# --- files ---


@pytest.mark.skipif(COMPILER is None, reason="no C compiler is installed")
@every_version
def test_sources_are_whole_and_compile_without_a_warning(tmp_path, version):
    pendulum_chain().build(free=["k", "u"]).export_fmu(tmp_path / "it.fmu", version=version, binary="none")
    with zipfile.ZipFile(tmp_path / "it.fmu") as archive:
        assert not [name for name in archive.namelist() if name.startswith("binaries")]
        archive.extractall(tmp_path)
    text = (tmp_path / ("modelDescription.xml" if version == "2.0" else "sources/buildDescription.xml")).read_text()
    files = sorted({*re.findall(r'<(?:Source)?File name="(\w+\.c)"', text)})
    assert len(files) == 2
    prefix = f"-DFMI{version[0]}_FUNCTION_PREFIX=mine_"
    for more in ([], [prefix]):
        command = [COMPILER, *WARNINGS, *more, *files, "-o", "it.so", "-lm"]
        subprocess.run(command, cwd=tmp_path / "sources", check=True)


def test_the_same_system_gives_the_same_bytes_and_another_one_another_token(tmp_path):
    for name, length in (("one", 2.5), ("two", 2.5), ("other", 2.4)):
        system = four_bar((1.0, 2.0, 2.0, length)).build()
        system.export_fmu(tmp_path / f"{name}.fmu", start=swinging(system), binary="none")
    one, two, other = ((tmp_path / f"{name}.fmu").read_bytes() for name in ("one", "two", "other"))
    assert one == two
    tokens = []
    for name in ("one", "other"):
        with zipfile.ZipFile(tmp_path / f"{name}.fmu") as archive:
            tokens.append(re.search(rb'instantiationToken="([^"]+)"', archive.read("modelDescription.xml"))[1])
    assert tokens[0] != tokens[1]
    assert one != other


def test_without_a_compiler_it_has_sources_only_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(c_compiler.shutil, "which", lambda name: None)
    monkeypatch.setattr(c_compiler.importlib.util, "find_spec", lambda name: None)
    system = pendulum_chain().build()
    with pytest.warns(ExportWarning, match=r"it\.fmu: has sources only, no library: there is no C compiler here"):
        system.export_fmu(tmp_path / "it.fmu")
    with zipfile.ZipFile(tmp_path / "it.fmu") as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {"modelDescription.xml", "sources"}
    with pytest.raises(mt.MomentreeError, match=r"no C compiler here.*binary='none'"):
        system.export_fmu(tmp_path / "other.fmu", binary="required")
    assert not (tmp_path / "other.fmu").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("four-bar", "four_bar"),
        ("3 arms", "model_3_arms"),
        ("math", "math_model"),
        ("class", "class_model"),
        ("../../etc", "etc"),
        ("日本", "model"),
        ("instance", "instance_model"),
        ("*/", "model"),
        ("_x", "x"),
    ],
)
def test_any_name_of_a_model_becomes_one_of_c(name, expected):
    assert model_identifier(name) == expected


def _latched():
    m = mt.Model("gate")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("leaf", mt.rod(mass=1.0, length=1.0)))
    m.latch("A", at=1.0)
    return m.build()


@pytest.mark.parametrize(
    ("build", "path", "how", "words"),
    [
        (_latched, "it.fmu", {}, r"gate: latch of joint 'A': steps in an FMU do not act at events\. Remove them, or"),
        (lambda: four_bar().build(), "it.zip", {}, r"must end in \.fmu\. Try '.*it\.fmu'"),
        (lambda: four_bar().build(), "it.fmu", {"version": "1.0"}, "version is '1.0'. Choose '3.0' or '2.0'"),
        (lambda: four_bar().build(), "it.fmu", {"kinds": ["scheduled"]}, "kinds are .*Choose 'model exchange' or"),
        (lambda: four_bar().build(), "it.fmu", {"kinds": []}, "kinds are"),
        (lambda: four_bar().build(), "it.fmu", {"binary": "maybe"}, "binary is 'maybe'. Choose"),
        (lambda: four_bar().build(), "it.fmu", {"gain": -1.0}, "gain is -1.0; give a positive number"),
        (lambda: four_bar().build(), "it.fmu", {"start": [1.0]}, "start= must be a state"),
        (lambda: pendulum_chain().build(free=["k"]), "it.fmu", {"inputs": ["u"]}, "'u', which is no free parameter"),
    ],
)
def test_refusals_name_the_culprit_and_leave_no_file(tmp_path, build, path, how, words):
    with pytest.raises(mt.MomentreeError, match=words):
        build().export_fmu(tmp_path / path, **how)
    assert list(tmp_path.iterdir()) == []
