"""Settings: defaults that follow the record of the integrator, and old names that are answered with the new ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from momentree.equations.formulations import FORMULATIONS
from momentree.equations.stabilizations import STABILIZATIONS
from momentree.errors import MomentreeError
from momentree.integrate.methods import DEFAULT, METHODS
from momentree.integrate.stability import real_stability_limit
from momentree.results.run import load_run
from momentree.simulate.events import Event
from momentree.simulate.settings import Settings, settings_of
from study_models import rotor


@pytest.mark.parametrize("name", METHODS)
def test_the_tolerance_is_that_of_the_integrator_unless_given(name):
    assert settings_of(t_end=1.0, integrator=name).rtol == METHODS[name].rtol
    assert settings_of(t_end=1.0, integrator=name, rtol=1e-3).rtol == 1e-3
    assert settings_of(t_end=1.0).method is METHODS[DEFAULT]


def test_an_old_name_is_answered_with_the_new_one():
    with pytest.raises(MomentreeError, match=r"closure is now called stabilization: .*stabilization='leak'"):
        settings_of(t_end=1.0, closure="leak")


@pytest.mark.parametrize(
    ("formulation", "stabilization", "reason"),
    [
        ("lagrange", "leak", "it integrates no constraint impulses"),
        ("hamiltonian", "baumgarte-velocity", "its velocities satisfy the constraints by construction"),
        ("hamiltonian", "programme", "its velocities satisfy the constraints by construction"),
    ],
)
def test_a_stabilization_must_fit_the_formulation(formulation, stabilization, reason):
    what = f"stabilization '{stabilization}' is not available in formulation '{formulation}': {reason}"
    with pytest.raises(MomentreeError, match=rf"{what}\. Choose 'project', .* or 'none'"):
        settings_of(t_end=1.0, formulation=formulation, stabilization=stabilization).check(0.0)


WITH_GAIN = [
    (formulation, name)
    for formulation, record in FORMULATIONS.items()
    for name in record.stabilizations
    if STABILIZATIONS[name].takes_gain
]


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize(("formulation", "stabilization"), WITH_GAIN)
def test_gains_beyond_the_stability_limit_of_fixed_steps_are_refused(integrator, formulation, stabilization):
    limit = real_stability_limit(integrator) / 0.01  # 1/s: each of them adds the eigenvalue -gain
    fixed = {"t_end": 1.0, "integrator": integrator, "step": 0.01, "formulation": formulation}
    settings_of(**fixed, stabilization=stabilization, gain=0.999 * limit).check(0.0)
    with pytest.raises(
        MomentreeError, match=f"{stabilization} with gain .* is unstable with {integrator} at step 0.01 s"
    ):
        settings_of(**fixed, stabilization=stabilization, gain=1.001 * limit).check(0.0)


def test_the_refusal_of_a_gain_has_the_numbers_and_the_way_out():
    fixed = {"t_end": 1.0, "integrator": "rk4", "step": 0.01, "formulation": "lagrange"}
    message = "baumgarte with gain 300 1/s is unstable with rk4 at step 0.01 s: the limit is 279 1/s. "
    message += "Give a smaller gain, a step below 0.00928 s or stabilization='project'."
    with pytest.raises(MomentreeError) as error:
        settings_of(**fixed, stabilization="baumgarte", gain=300.0).check(0.0)
    assert str(error.value) == message


@pytest.mark.parametrize("stabilization", ["project", "none"])
def test_without_a_gain_in_the_equations_there_is_no_limit(stabilization):
    settings_of(t_end=1.0, integrator="euler", step=0.01, stabilization=stabilization, gain=1e6).check(0.0)


@pytest.mark.parametrize("name", ["dop853", "radau"])
def test_adaptive_step_sizes_follow_any_gain(name):
    settings_of(t_end=1.0, integrator=name, step=0.01, stabilization="leak", gain=1e6).check(0.0)


OF_NUMPY = {
    "t_end": [np.int64(2), np.float32(2), np.float64(2), np.array(2.0)],
    "formulation": [np.str_("lagrange")],
    "stabilization": [np.str_("project")],
    "gain": [np.int8(20), np.float16(20)],
    "integrator": [np.str_("rk4")],
    "rtol": [np.float32(1e-6), np.longdouble(1e-6)],
    "atol": [np.float32(1e-6)],
    "step": [np.float32(0.125)],
    "every": [np.float32(0.5), np.int16(1)],
    "verify": [np.bool_(True)],
    "if_stiff": [np.str_("radau")],
    "rtol_if_stiff": [np.float32(1e-4)],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in OF_NUMPY for value in OF_NUMPY[name]])
def test_settings_of_numpy_are_those_of_python_and_a_run_by_them_is_saved(tmp_path, name, value):
    m = rotor()
    kept = {"if_stiff": "radau"} if name == "rtol_if_stiff" else {"step": 0.125} if name == "integrator" else {}
    given = {"t_end": 2.0, "every": 0.5, **kept, name: value}
    run = m.build().simulate(**given, path=tmp_path / "run.nc")
    assert type(run.settings[name]) in (str, int, float, bool)
    plain = m.build().simulate(**{**given, name: run.settings[name]})
    assert run.settings[name] == value
    assert plain.settings == run.settings == load_run(tmp_path / "run.nc").settings
    assert (plain.q == run.q).all()


def test_every_setting_is_tried():
    assert {*OF_NUMPY} == {field.name for field in dataclasses.fields(Settings)}


def test_an_event_of_numpy_is_one_of_python(tmp_path):
    event = Event(np.str_("A - 0.5"), stop=np.bool_(True), direction=np.str_("either"))
    run = rotor().build().simulate(t_end=2.0, events={"half": event}, path=tmp_path / "run.nc")
    assert load_run(tmp_path / "run.nc").settings == run.settings
    assert type(run.settings["events"]["half"]["stop"]) is bool
    run.save(tmp_path / "again.nc")
