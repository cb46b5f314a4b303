"""A run: by name, its account of energy, what it warns of, files to the last bit."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, slider_crank
from momentree.errors import MomentreeError
from momentree.results.recorder import record
from momentree.results.run import Run
from momentree.simulate.blocks import Block, End, Statistics, WorkTerm
from other_samples import with_coordinates
from slider import MASS, PUSH, falling


def turning(model, turns=2.0, count=60, speed=3.0, **settings):
    """A run made of states with the crank A at a steady velocity: not a motion, but every sample is closed."""
    system, state, states = model.build(), None, []
    for a in np.linspace(0.3, 0.3 + 2 * math.pi * turns, count):
        state = system.assemble({"A": a}, velocities={"A": speed}, guess=state)
        states.append(state)
    samples = Block(
        np.linspace(0, 2 * math.pi * turns / speed, count),
        np.array([state.q for state in states]),
        np.array([state.v for state in states]),
        np.zeros((count, 0)),
    )
    end = End("arrived", float(samples.t[-1]))
    return Run.of(system, samples, (), {"rtol": 1e-8, **settings}, Statistics(), end), states


def test_arrays_and_names_of_a_closed_form():
    run = record(falling())
    a = PUSH / MASS - 9.81
    assert run.t == pytest.approx(np.linspace(0, 1, 101))
    assert run["z"] == pytest.approx(1 + 3 * run.t + a * run.t**2 / 2)
    assert run.velocity("z") == pytest.approx(3 + a * run.t)
    assert run.position("block")[:, 2] == pytest.approx(run["z"])
    assert run.position(run.system._model.bodies[0].at((0, 0, 0.5)))[:, 2] == pytest.approx(run["z"] + 0.5)
    assert run.state()["z"] == run["z"][-1]
    assert run.state(0).t == 0.0


def test_the_account_of_energy_balances():
    energy = record(falling()).energy
    assert energy.total == pytest.approx(energy.kinetic + energy.potential)
    assert list(energy.work) == ["torque on z"]
    assert energy.total - energy.total[0] == pytest.approx(energy.work["torque on z"], abs=1e-12)
    assert energy.error < 1e-12
    highest = energy.potential.max() - energy.potential.min()
    assert energy.through == pytest.approx(energy.kinetic.max() + highest + np.ptp(energy.work["torque on z"]))


def test_energy_from_nowhere_is_told_loudly():
    with pytest.warns(
        mt.RunWarning, match=r"slider: energy is out of balance by 0.\d+ J at t = \S+ s; \d+.* J was exchanged"
    ):
        run = record(falling(leak=0.01))
    assert "WARNING: energy is out of balance" in str(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record(falling(leak=0.01, rtol=1e-5))  # it was asked for no better
        record(falling())


@pytest.mark.parametrize("model", [four_bar, slider_crank])
@pytest.mark.repeats(1)
def test_joints_that_close_loops_are_there(model):
    run, states = turning(model())
    joint = run.mechanism.loops[0].name
    assert run.velocity(joint) == pytest.approx([state.velocity(joint) for state in states], abs=1e-9)
    assert np.abs(np.exp(1j * run[joint]) - np.exp([1j * state[joint] for state in states])).max() < 1e-12
    assert run.closure_error.max() < 1e-13
    assert run.closure_velocity.max() < 1e-12


def test_the_angle_of_a_joint_that_closes_a_loop_counts_turns():
    m = four_bar()
    m.cut("A")
    run, _ = turning(m, turns=2.0)
    assert [loop.name for loop in run.mechanism.loops] == ["A"]
    assert run["A"] == pytest.approx(np.linspace(0.3, 0.3 + 4 * math.pi, 60), abs=1e-12)


def test_a_prescribed_joint_is_there():
    m = four_bar()
    spun = m.body("spun", mt.rod(mass=1.0, length=1.0))
    m.joint("E", mt.Revolute("z", motion="2*t^2"), m.ground, spun)
    run, _ = turning(m, count=20)
    assert run["E"] == pytest.approx(2 * run.t**2)
    assert run.velocity("E") == pytest.approx(4 * run.t)


def test_joints_of_several_coordinates():
    m = mt.Model("free")
    m.joint("hull", mt.Free(), m.ground, m.body("body", mt.sphere(mass=1.0, radius=0.1)))
    system = m.build()
    q = np.tile([1.0, 2.0, 3.0, 0, 0, 0, 1], (5, 1))
    samples = Block(np.arange(5.0), q, np.zeros((5, 6)), np.zeros((5, 0)))
    run = Run.of(system, samples, (), {}, Statistics(), End("arrived", 4.0))
    assert run["hull"].shape == (5, 7)
    assert run.velocity("hull").shape == (5, 6)
    assert run.data.coordinate.values.tolist() == [f"hull.{name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    assert run.data.velocity_unit.values.tolist() == ["m/s"] * 3 + ["rad/s"] * 3


def opened(by, **settings):
    """The four-bar with its crank turned a little too far in one sample."""
    run, _ = turning(four_bar(), count=30, **settings)
    return with_coordinates(run, (17, 0), run.q[17, 0] + by)


def test_a_loop_that_opens_is_reported_with_its_constraint_and_time():
    run = opened(1e-5)
    (message,) = [text for text in run.warnings if "opens" in text]
    assert "'C: translation along " in message
    assert f"at t = {run.t[17]:g} s" in message
    assert 'stabilization="project"' in message
    assert f"WARNING: {message}" in str(run)
    arm = 1e-5 * np.linalg.norm(run.position(run.system._model.bodies[2].at((2, 0, 0)))[17])  # C turns about A
    assert arm / math.sqrt(2) * 0.999 < run.closure_error[17] < arm * 1.001  # the larger of two components
    assert any("opens" in text for text in opened(2e-6).warnings)
    for fine in (opened(5e-7), opened(1e-5, rtol=1e-5)):
        assert not [text for text in fine.warnings if "opens" in text]


def test_a_violated_constraint_on_velocities_is_reported():
    m = mt.Model("cart", gravity=(0, 0, 0))
    m.joint("p", mt.Planar("z"), m.ground, m.body("cart", mt.box(mass=1.0, size=(1, 1, 1))))
    m.constrain("p.y'*cos(p.angle) - p.x'*sin(p.angle)", "no slip")
    system = m.build()
    v = np.tile([1.0, 0, 0], (4, 1))
    samples = Block(np.arange(4.0), np.zeros((4, 3)), v, np.zeros((4, 0)))
    run = Run.of(system, samples, (), {}, Statistics(), End("arrived", 3.0))
    assert run.warnings == ()
    v[2, 1] = 1e-4
    run = Run.of(system, dataclasses.replace(samples, v=v), (), {}, Statistics(), End("arrived", 3.0))
    assert "'no slip' opens: velocity 0.0001 m/s or rad/s at t = 2 s" in run.warnings[0]
    assert run.reactions("p").shape == (4, 6)


def test_a_violated_constraint_on_coordinates_is_named_although_one_on_velocities_comes_first():
    m = mt.Model("cart", gravity=(0, 0, 0))
    m.joint("p", mt.Planar("z"), m.ground, m.body("cart", mt.box(mass=1.0, size=(1, 1, 1))))
    m.constrain("p.y'", "no slip")
    m.constrain("p.x - p.angle", "gear")
    samples = Block(np.arange(2.0), np.array([[0.0, 0, 0], [1e-3, 0, 0]]), np.zeros((2, 3)), np.zeros((2, 0)))
    run = Run.of(m.build(), samples, (), {}, Statistics(), End("arrived", 1.0))
    assert "'gear' opens: closure error 0.001 m or rad at t = 1 s" in run.warnings[0]


def test_names_are_suggested():
    run, _ = turning(four_bar(), count=3)
    with pytest.raises(MomentreeError, match="there is no joint 'E'"):
        run.reactions("E")
    with pytest.raises(MomentreeError, match="there is no joint 'E'"):
        run["E"]
    with pytest.raises(MomentreeError, match="Did you mean 'crank'"):
        run.position("krank")
    with pytest.raises(MomentreeError, match="3 samples"):
        run.state(3)


# --- files ---


def test_a_file_gives_back_everything_to_the_last_bit(tmp_path):
    run, _ = turning(four_bar())
    run.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    for name in ("t", "q", "v", "closure_error", "closure_velocity"):
        assert getattr(again, name).tobytes() == getattr(run, name).tobytes()
    assert again.energy.balance.tobytes() == run.energy.balance.tobytes()
    assert again.position("rocker").tobytes() == run.position("rocker").tobytes()
    assert again["C"].tobytes() == run["C"].tobytes()
    for field in ("work_terms", "settings", "statistics", "end", "model", "free", "version", "warnings"):
        assert getattr(again, field) == getattr(run, field)
    assert str(again) == str(run)
    again.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "run.nc").read_bytes()


def test_a_file_is_plain_netcdf_with_names_and_units(tmp_path):
    import xarray

    record(falling(), tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as data:
        assert data.q.sel(coordinate="z").values == pytest.approx(record(falling())["z"])
        assert data.time.attrs["units"] == "s"
        assert data.coordinate_unit.values.tolist() == ["m"]
        assert data.velocity_unit.values.tolist() == ["m/s"]
        assert data.work_term.values.tolist() == ["torque on z"]
        assert data.kinetic.attrs["units"] == "J"
        assert json.loads(data.attrs["settings"])["t_end"] == 1.0
        assert json.loads(data.attrs["end"])["events"] == [["passed zero", 0.5]]
        assert mt.loads(data.attrs["model"]) == record(falling()).system._model


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.0, 5e-324])
@pytest.mark.repeats(2)
def test_odd_numbers_survive(tmp_path, value):
    run = with_coordinates(turning(four_bar(), count=4)[0], (2, 1), value)
    assert run.closure_error.shape == (4,)
    run.save(tmp_path / "run.nc")
    assert mt.load_run(tmp_path / "run.nc").q.tobytes() == run.q.tobytes()
    if not math.isfinite(value):
        assert any("opens" in text for text in run.warnings)


def test_runs_without_samples_coordinates_or_meters_are_kept(tmp_path):
    m = mt.Model("driven")
    m.joint("E", mt.Revolute("z", motion="t"), m.ground, m.body("spun", mt.rod(mass=1.0, length=1.0)))
    for count in (0, 3):
        samples = Block(np.arange(float(count)), np.zeros((count, 0)), np.zeros((count, 0)), np.zeros((count, 0)))
        run = Run.of(m.build(), samples, (), {}, Statistics(), End("interrupted", 0.0))
        run.save(tmp_path / "run.nc")
        again = mt.load_run(tmp_path / "run.nc")
        assert again["E"].tolist() == list(range(count))
        assert "interrupted" in str(again)


def test_names_that_are_no_identifiers_and_long_models_are_kept(tmp_path):
    m = mt.Model("Räder")
    for i in range(1500):
        m.parameter(f"an unused number with a long name {i}".replace(" ", "_"), 1.0)
    m.joint("linke Hüfte", mt.Revolute("z"), m.ground, m.body("α β", mt.rod(mass=1.0, length=1.0)))
    work_terms = (WorkTerm("force", "force"), WorkTerm("force", "force"))
    samples = Block(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), np.array([[1.0, 2.0]]))
    run = Run.of(m.build(), samples, work_terms, {}, Statistics(), End("arrived", 0.0))
    run.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    assert len(again.model) > 2**16
    assert again["linke Hüfte"].tolist() == [0.0]
    assert again.mechanism.name == m.name
    assert {name: work.tolist() for name, work in again.energy.work.items()} == {"force": [1.0], "force (2)": [2.0]}


def test_free_parameters_stay_free(tmp_path):
    m = mt.Model("pendulum")
    m.parameter("l", 0.5)
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mt.rod(mass=1.0, length="l")))
    run, _ = turning(m, count=3)
    system = m.build(free=["l"])
    free = Run.of(system, run.samples, (), {}, Statistics(), run.end)
    free.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    assert again.system.mechanism.free == ("l",)
    assert again.energy.potential == pytest.approx(run.energy.potential)


def test_a_file_that_is_no_run_is_told(tmp_path):
    with pytest.raises(MomentreeError, match=r"none.nc: there is no such file"):
        mt.load_run(tmp_path / "none.nc")
    (tmp_path / "text.nc").write_text("hello")
    record(falling(), tmp_path / "cut.nc")
    content = (tmp_path / "cut.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(content[: len(content) // 2])
    import xarray

    xarray.Dataset({"x": ("y", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    expected = {"text": "is damaged, or not a run of Momentree", "other": "is damaged, or not a run of Momentree"}
    for name, told in {**expected, "cut": r"is damaged: its checksum \(SHA-256\) is not there"}.items():
        with pytest.raises(MomentreeError, match=f"{name}.nc: {told}"):
            mt.load_run(tmp_path / f"{name}.nc")


def test_a_run_that_cannot_be_saved_is_still_there(tmp_path):
    run = record(falling())
    with pytest.raises(
        mt.RunError, match=r"cannot be written: No such file or directory. The run is still in memory"
    ) as told:
        run.save(tmp_path / "no" / "run.nc")
    assert told.value.run is run
    with pytest.raises(mt.RunError, match="is a folder"):
        run.save(tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_summary_tells_what_matters():
    told = str(record(falling()))
    for words in (
        "0 to 1 s, arrived",
        "samples       101",
        "101 accepted",
        "404",
        "no loops",
        "out of balance by at most",
    ):
        assert words in told


def test_a_run_travels_between_processes():
    run = pickle.loads(pickle.dumps(record(falling())))
    assert run.position("block").shape == (101, 3)


def test_the_documented_examples_run(tmp_path, monkeypatch):
    root = Path(__file__).parents[3]
    codes = re.findall(r"```python\n(.*?)```", (root / "docs" / "results.md").read_text(encoding="utf-8"), re.S)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in codes:
        exec(compile(code.replace("examples/", f"{root}/examples/"), "results.md", "exec"), names)  # our own text
    assert len(codes) == 4
    page = (root / "docs" / "results.md").read_text(encoding="utf-8")
    assert f"```\n{names['system'].coordinates}\n```" in page
    assert names["again"].q.tobytes() == names["run"].q.tobytes()
    assert {path.name for path in tmp_path.iterdir()} == {"run.nc", "run.svg", "run.csv"}


# --- reactions ---


def test_a_pivot_holds_a_pendulum_as_newton_says():
    # m a = R + m g, and the moment about the pivot is what turns the bob about the hinge's normals: none in the plane
    m = mt.Model("pendulum", gravity=(0, -9.81, 0))
    m.joint("A", mt.Revolute("z"), m.ground, m.body("bob", mass=2.0, com=(-1.5, 0, 0)))
    system = m.build()
    run = system.simulate(system.assemble({"A": 0.3}), 3.0, rtol=1e-11, every=0.1)
    angle, rate = run["A"], run.velocity("A")
    turning = system.forward_dynamics(run.q, run.v)[:, 0]
    out = -np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    expected = 2.0 * 1.5 * (across * turning[:, None] - out * rate[:, None] ** 2) + [0, 2.0 * 9.81]
    found = run.reactions("A")
    np.testing.assert_allclose(found[:, :2], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[:, 2:], 0, atol=1e-9)


def test_reactions_are_the_same_whichever_way_the_joint_points():
    def pair(turned):
        m = mt.Model("pair")
        a, b = (m.body(name, mt.box(mass=1.0, size=(0.3, 0.2, 0.1), centre=(0.2, 0.1, 0))) for name in "ab")
        m.joint("A", mt.Spherical(), m.ground, a)
        ends = a.at((0.4, 0, 0)), b
        m.joint("B", mt.Revolute("y", spring=2.0), *(ends[::-1] if turned else ends))
        system = m.build()
        run = system.simulate(system.assemble({"B": -0.2 if turned else 0.2}), 0.5, rtol=1e-11, every=0.1)
        return run.reactions("B")

    np.testing.assert_allclose(pair(True), -pair(False), rtol=0, atol=1e-8)


def test_what_holds_a_free_pair_is_what_changes_its_momentum():
    m = mt.Model("hanging")
    a, b = (m.body(name, mt.box(mass=1.0, size=(0.3, 0.2, 0.1), centre=(0.2, 0.1, 0))) for name in "ab")
    m.joint("A", mt.Universal("x", "y", damping=(0.1, 0.2)), m.ground, a)
    m.joint("B", mt.Spherical(), a.at((0.4, 0, 0)), b)
    system = m.build()
    run = system.simulate(system.assemble({"A": (0.3, -0.4)}), 0.2, rtol=1e-12, every=1e-4)
    momentum = system.momentum(run.q, run.v)
    change = (momentum[2:] - momentum[:-2]) / (run.t[2:] - run.t[:-2])[:, None]
    weight = np.array([0, 0, -2 * 9.81])
    np.testing.assert_allclose(run.reactions("A")[1:-1, :3], change[:, :3] - weight, rtol=0, atol=2e-4)


def test_the_force_of_a_contact_is_what_changes_the_momentum():
    m = mt.Model("ball", gravity=(0, 0, -9.81))
    ball = m.body("ball", mt.sphere(mass=2.0, radius=0.1))
    m.joint("flight", mt.Free(), m.ground, ball)
    slope = m.ground.at((0, 0, 0), mt.turn("x", 0.3))  # it falls on a slope, and slides on it
    m.contact(ball, slope, radius=0.1, stiffness=1e4, damping=30, friction=0.4)
    system = m.build()
    run = system.simulate(system.assemble({"flight.z": 0.15}), t_end=1.0, every=0.0005, step=1e-4)
    force = run.contact_force("contact 1 of ball")
    weight = np.array([0, 0, -2.0 * 9.81])
    impulse = np.trapezoid(force + weight, run.t, axis=0)
    change = system.momentum(run.q, run.v)[:, :3]
    assert change[-1] - change[0] == pytest.approx(impulse, abs=1e-3)
    normal = np.array([0, -np.sin(0.3), np.cos(0.3)])
    assert (force @ normal >= 0).all()
    assert force[0].tolist() == [0, 0, 0]
    with pytest.raises(MomentreeError, match=r"there is no contact 'contact 1 of bal'.* Did you mean"):
        run.contact_force("contact 1 of bal")
