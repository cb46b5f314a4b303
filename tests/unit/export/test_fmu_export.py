"""FMUs as FMPy sees them: they are valid, move as `simulate` does, and keep loops closed; instances are independent."""

from __future__ import annotations

import ctypes
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
from momentree.export.fmu_export import model_identifier

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


def crane():
    """A trolley that is pushed, a rope of variable length that is wound."""
    m = mt.Model("crane")
    trolley, rope = m.body("trolley", mt.box(mass=10.0, size=(1, 1, 1))), m.body("rope", mt.rod(mass=0.5, length=0.2))
    m.joint("x", mt.Prismatic("x", damping=5.0), m.ground, trolley)
    m.joint("A", mt.Revolute("y", damping=0.05), trolley, rope)
    hoist = mt.Prismatic("-z", spring=300.0, damping=20.0, rest=1.0)
    m.joint("l", hoist, rope, m.body("load", mt.sphere(mass=2.0, radius=0.1)))
    for joint in ("x", "l"):
        m.torque(joint, m.input(f"push_{joint}"))
    return m.build()


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", pytest.param("2.0", marks=pytest.mark.long)])
def test_tables_as_inputs_run_at_the_tolerance_that_is_recommended(tmp_path, fmpy, version):
    """At every point of a table the derivatives have a kink, which error tests of solvers of many steps meet."""
    from fmpy import read_model_description

    system, random = crane(), np.random.default_rng(0)
    start = system.assemble({"A": 0.1, "l": 1.0})
    system.export_fmu(tmp_path / "it.fmu", version=version, start=start)
    recommended = float(read_model_description(str(tmp_path / "it.fmu")).defaultExperiment.tolerance)
    assert recommended > 1e-7  # where CVode fails with the last of these
    t = np.linspace(0, 2, 51)
    signals = [(20 * np.sin(3 * t), 5e-3), (20 * random.normal(size=51), 5e-3), (1000 * random.normal(size=51), 0.1)]
    for u, within in signals:
        given = np.array([*zip(t, u, 0.1 * u, strict=True)], [(name, float) for name in ("time", "push_x", "push_l")])
        tables = {"push_x": (t, u), "push_l": (t, 0.1 * u)}
        run = system.simulate(start, t_end=2.0, every=0.5, inputs=tables)
        for kind in KINDS:  # FMPy holds inputs for a step
            how = {"relative_tolerance": None, "input": given, "step_size": 2e-3}
            found = simulated(tmp_path / "it.fmu", kind, 2.0, 2e-3, coordinate_names(system), **how)[::250]
            np.testing.assert_allclose(found[:, :3], run.q, rtol=0, atol=within * np.abs(run.q).max())


@pytest.mark.long
@needs_compiler
def test_a_spatial_loop_with_quaternions(tmp_path, fmpy):
    from fmpy.validation import validate_fmu

    system = spatial_loop().build()
    start = system.assemble({"A": 0.4}, {"A": 1.0}, guess={"D": -1.2})
    system.export_fmu(tmp_path / "it.fmu", start=start)
    assert validate_fmu(str(tmp_path / "it.fmu")) == []
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
def instances(path, count=1, model_exchange=False):
    """Instances of an FMU of FMI 3.0, in initialization."""
    from fmpy import extract, read_model_description
    from fmpy.fmi3 import FMU3Model, FMU3Slave

    description, folder = read_model_description(str(path)), extract(str(path))
    shape = {"guid": description.guid, "modelIdentifier": description.coSimulation.modelIdentifier}
    kind = FMU3Model if model_exchange else FMU3Slave
    made = [kind(**shape, unzipDirectory=folder, instanceName=f"number {i}") for i in range(count)]
    try:
        for each in made:
            each.instantiate()
            each.enterInitializationMode(startTime=0.0)
        yield made
    finally:
        for each in made:
            each.freeInstance()
        shutil.rmtree(folder, ignore_errors=True)


def references(path):
    """Value references by name."""
    from fmpy import read_model_description

    return {each.name: each.valueReference for each in read_model_description(str(path)).modelVariables}


@pytest.mark.long
@needs_compiler
def test_quaternions_need_not_be_of_unit_length_in_model_exchange(tmp_path, fmpy):
    m = mt.Model("ball")
    m.joint("B", mt.Spherical(), m.ground, m.body("top", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25)))
    system = m.build()
    start = system.start(velocities={"B": (1.0, -2.0, 3.0)})
    system.export_fmu(tmp_path / "it.fmu", start=start)
    with instances(tmp_path / "it.fmu", model_exchange=True) as (it,):
        it.exitInitializationMode()
        it.enterContinuousTimeMode()
        x, derivatives = np.zeros(7), np.zeros((2, 7))
        as_c = lambda array: array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))  # noqa: E731
        it.getContinuousStates(as_c(x), 7)
        np.testing.assert_array_equal(x, [*start.q, *start.v])
        for i, scale in enumerate((1.0, 2.0)):
            it.setContinuousStates(as_c(x * np.repeat([scale, 1.0], [4, 3])), 7)
            it.getContinuousStateDerivatives(as_c(derivatives[i]), 7)
        np.testing.assert_allclose(derivatives[1], derivatives[0], rtol=0, atol=1e-15)
        np.testing.assert_allclose(derivatives[0, 4:], system.forward_dynamics(start.q, start.v), rtol=0, atol=1e-12)
        with pytest.raises(Exception, match="fmi3GetContinuousStateDerivatives"):
            it.getContinuousStateDerivatives(as_c(derivatives[0]), 6)


@pytest.mark.long
@needs_compiler
def test_loops_are_closed_again_whenever_something_is_set_during_the_initialization(tmp_path, fmpy):
    system = _with_ground("d").build(free=["d"])
    system.export_fmu(tmp_path / "it.fmu", start=swinging(system), kinds="co-simulation")
    number = references(tmp_path / "it.fmu")
    with instances(tmp_path / "it.fmu") as (it,):
        found = []
        for d in (2.5, 2.6, 2.4):
            it.setFloat64([number["d"]], [d])
            *q, error = it.getFloat64([number[name] for name in ("A", "B", "D", "closure_error")])
            assert error < 1e-12
            assert State(system.with_parameters(d=d)._numeric, np.array(q), np.zeros(3)).closure_error < 1e-12
            found.append(q)
        assert np.ptp(found, axis=0).min() > 1e-3


@needs_compiler
def test_instances_are_independent_and_states_can_be_copied_and_reset(tmp_path, fmpy):
    system = pendulum_chain().build(free=["k", "u"])
    system.export_fmu(tmp_path / "it.fmu", start=system.start({"J0": 0.7}), inputs=["u"])
    states, k = [1, 2, 3, 4, 5, 6], references(tmp_path / "it.fmu")["k"]

    def moved(slave, times):
        for t in times:
            slave.doStep(t, 0.1)
        return slave.getFloat64(states)

    times = [0.1 * i for i in range(10)]
    with instances(tmp_path / "it.fmu", 2) as (one, other):
        one.exitInitializationMode()
        other.exitInitializationMode()
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


@needs_compiler
@pytest.mark.parametrize("version", ["3.0", pytest.param("2.0", marks=pytest.mark.long)])
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


@pytest.mark.long
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


@pytest.mark.long
@needs_compiler
@every_version
def test_declared_inputs_and_outputs_are_those_of_runs(tmp_path, fmpy, version):
    """Outputs of a closing joint and of a frame on a moving ground, too."""
    from fmpy.validation import validate_fmu

    m = four_bar()
    m.ground.moves(("0.1*sin(t)", 0, "0.05*t^2"), (0, "0.1*t", 0))
    m.input("drive", 0.5, unit="N m", description="of the motor")
    m.torque("A", "drive")
    m.frame("tip", m.bodies[1].at((1.0, 0.2, 0.3)))
    m.output("power", "drive*A'", unit="W")
    m.output("tip", "tip.x + 2*tip.z' - tip.wy", unit="odd units")
    m.output("closing", "C - 0.3*C' + t", description="of the joint that closes the loop")
    system = m.build()
    start = swinging(system)
    system.export_fmu(tmp_path / "it.fmu", version=version, start=start)
    assert validate_fmu(str(tmp_path / "it.fmu")) == []
    run = system.simulate(start, t_end=2.0, every=0.1, inputs={"drive": 0.8})
    for kind, accuracy in (("co-simulation", 1e-9), ("model exchange", 1e-7)):
        given = {"start_values": {"drive": 0.8}}
        found = simulated(tmp_path / "it.fmu", kind, 2.0, 0.1, [*run.outputs], **given)
        np.testing.assert_allclose(found, np.stack([*run.outputs.values()], axis=1), rtol=0, atol=accuracy)
