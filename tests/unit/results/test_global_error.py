"""The estimate of the global error of a run: what it says, of what, and where it is kept."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from scipy.special import ellipj, ellipk
from typer.testing import CliRunner

import momentree as mt
from mechanisms import four_bar
from momentree.cli import app
from momentree.simulate.refinement import refined_settings
from momentree.simulate.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::momentree.RunWarning")

G = 9.81


def pendulum(**joint):
    m = mt.Model("pendulum", gravity=(0, -G, 0))
    bob = m.body("bob", mass=1.0, com=(0, -1, 0))
    m.joint("phi", mt.Revolute("z", **joint), m.ground, bob)
    return m


def exact(t):
    """Let go level: sin(phi/2) is Jacobi's sine, until it turns back."""
    sn, _, _, _ = ellipj(np.sqrt(G) * t + ellipk(0.5), 0.5)
    return 2 * np.arcsin(-np.sqrt(0.5) * sn)


WAYS = [
    {},
    {"rtol": 1e-8},
    {"integrator": "dopri5"},
    {"integrator": "radau"},
    {"formulation": "lagrange", "rtol": 1e-9},
]
WAYS += [{"integrator": name, "step": 0.01} for name in ("euler", "rk4", "verlet", "verlet4")]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("every", [None, 0.25])
@pytest.mark.repeats(3)
def test_the_estimate_is_the_error_of_the_pendulum(way, every):
    system = pendulum().build()
    run = system.simulate(system.assemble({"phi": -np.pi / 2}), 5.0, every=every, verify=True, **way)
    true = np.abs(run["phi"] - exact(run.t)).max()
    assert run.error.angle == run.error.coordinates["phi"]
    assert run.error.angle == pytest.approx(true, rel=0.2, abs=1e-13)
    assert run.error.length == 0
    assert run.error.velocities["phi'"] > 0
    assert run.error.until == 5.0


def test_beyond_the_smallest_tolerance_another_formulation_is_asked():
    settings, by, share = refined_settings(settings_of(t_end=1.0, rtol=1e-14, stabilization="leak"))
    assert (settings.formulation, settings.stabilization, settings.rtol, share) == ("lagrange", "project", 1e-14, 1.0)
    assert by == "formulation lagrange instead of hamiltonian, rtol 1e-14"
    system = pendulum().build()
    run = system.simulate(system.assemble({"phi": -np.pi / 2}), 5.0, rtol=1e-14, verify=True)
    assert run.error.angle < 1e-11


def test_closed_loops_in_every_formulation():
    system = four_bar().build()
    start = system.assemble({"A": 1.0}, velocities={"A": 1.0})
    tight = system.simulate(start, 2.0, every=0.1, rtol=1e-13)
    for formulation in ("hamiltonian", "lagrange", "absolute"):
        run = system.simulate(start, 2.0, every=0.1, rtol=1e-7, formulation=formulation, verify=True)
        true = np.abs(run.q - tight.q).max()
        assert run.error.angle == pytest.approx(true, rel=0.3)


def test_without_asking_there_is_none():
    system = pendulum().build()
    run = system.simulate(system.assemble({"phi": 1.0}), 1.0)
    assert run.error is None
    assert "global error" not in str(run)


def test_it_is_printed_and_saved(tmp_path):
    system = pendulum().build()
    run = system.simulate(system.assemble({"phi": 1.0}), 1.0, verify=True, path=tmp_path / "run.nc")
    (line,) = (line for line in str(run).splitlines() if line.strip().startswith("global error"))
    assert f"about {run.error.angle:.1e} rad, 0.0e+00 m (rtol 1e-14 instead of 1e-12)" in line
    assert mt.load_run(tmp_path / "run.nc").error == run.error
    run.save(tmp_path / "again.nc")
    assert mt.load_run(tmp_path / "again.nc").error == run.error


def test_an_event_that_ends_the_run_ends_the_second_one_too():
    system = pendulum().build()
    events = {"down": {"when": "phi", "stop": True}}
    run = system.simulate(system.assemble({"phi": -np.pi / 2}), 5.0, events=events, verify=True)
    assert run.end.reason == "event"
    assert run.error.until == run.t[-1] < 1.0
    assert run.error.angle < 1e-10


def test_impacts_of_latches_are_left_out():
    # both simulations lock the joint, at times that differ by their errors
    m = pendulum()
    m.latch("phi", at=0.0)
    system = m.build()
    run = system.simulate(system.assemble({"phi": -np.pi / 2}), 2.0, rtol=1e-8, verify=True)
    assert run.end.reason == "arrived"
    assert 0 < run.error.angle < 1e-6
    assert run.error.velocities["phi'"] < 1e-5  # not the velocity that the latch takes


def test_a_run_that_fails_is_verified_as_far_as_it_came():
    m = pendulum()
    m.torque("phi", "sqrt(1 - t)")
    system = m.build()
    run = system.simulate(system.assemble({"phi": 0.3}), 2.0, every=0.1, verify=True)
    assert run.end.reason == "failed"
    assert run.error.until == pytest.approx(0.9)


def test_the_command_line_verifies(tmp_path):
    pendulum().save(tmp_path / "model.toml")
    words = ["run", str(tmp_path / "model.toml"), "--from", "phi=1.0", "--t-end", "1", "--verify"]
    assert "rad, 0.0e+00 m (rtol 1e-14 instead of 1e-12)" in CliRunner().invoke(app, words).stdout
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert 0 < told["error"]["angle"] < 1e-10


def test_many_motions_are_not_verified():
    system = pendulum().build()
    with pytest.raises(mt.MomentreeError, match="many motions are not verified together"):
        system.simulate_many([[0.1]], [[0.0]], 1.0, every=0.1, verify=True)


def test_it_is_plain_data():
    system = pendulum().build()
    run = system.simulate(system.assemble({"phi": 1.0}), 1.0, verify=True)
    assert json.loads(json.dumps(dataclasses.asdict(run.error)))["by"] == run.error.by


def test_an_event_at_the_start_moves_no_samples_against_each_other():
    """A brake that acts at once lets only one of two masses go on."""
    m = mt.Model("braked")
    for name, slide in (("b", "x"), ("c", "y")):
        m.joint(slide, mt.Prismatic("x", spring=4.0), m.ground, m.body(name, mass=1.0))
    m.constrain("x' = 0", name="brake")
    m.switch("brake", on="1 - t")
    system = m.build()
    run = system.simulate(system.assemble({}, {"x": 1.0, "y": 1.0}), 1.0, every=0.1, verify=True)
    assert run.t[1] == 0.0
    assert run.error.until == 1.0
    assert run.error.length < 1e-10
