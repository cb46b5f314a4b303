"""Settings: defaults that follow the record of the integrator, and old names that are answered with the new ones."""

from __future__ import annotations

import pytest

from momentree.equations.formulations import FORMULATIONS
from momentree.equations.stabilizations import STABILIZATIONS
from momentree.errors import MomentreeError
from momentree.integrate.methods import DEFAULT, METHODS
from momentree.integrate.stability import real_stability_limit
from momentree.simulate.settings import settings_of


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
