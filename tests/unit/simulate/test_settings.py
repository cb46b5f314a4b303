"""Settings: defaults that follow the record of the integrator, and old names that are answered with the new ones."""

from __future__ import annotations

import pytest

from momentree.errors import MomentreeError
from momentree.integrate.methods import DEFAULT, METHODS
from momentree.simulate.settings import settings_of


@pytest.mark.parametrize("name", METHODS)
def test_the_tolerance_is_that_of_the_integrator_unless_given(name):
    assert settings_of(t_end=1.0, integrator=name).rtol == METHODS[name].rtol
    assert settings_of(t_end=1.0, integrator=name, rtol=1e-3).rtol == 1e-3
    assert settings_of(t_end=1.0).method is METHODS[DEFAULT]


def test_an_old_name_is_answered_with_the_new_one():
    with pytest.raises(MomentreeError, match=r"closure is now called stabilization: .*stabilization='leak'"):
        settings_of(t_end=1.0, closure="leak")


def test_a_stabilization_must_fit_the_formulation():
    with pytest.raises(
        MomentreeError, match=r"stabilization 'leak' is not available in formulation 'lagrange'\. Choose "
    ):
        settings_of(t_end=1.0, formulation="lagrange", stabilization="leak").check(0.0)
