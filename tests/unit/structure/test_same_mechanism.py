"""Two mechanisms are the same where every number, law and word of them is; what differs is named."""

from __future__ import annotations

import dataclasses

import pytest

from mechanisms import four_bar
from momentree.model.field_words import words
from momentree.structure.mechanism import Mechanism
from momentree.structure.parts import with_laws, with_numbers
from momentree.structure.same_mechanism import ASIDE, first_difference


def loaded():
    """A linkage with something in every field."""
    m = four_bar()
    m.ground.moves(("sin(t)", 0, 0), (0, 0, 0))
    m.spring(m.bodies[0], m.ground.at((0, 1, 0)), 3.0, rest=0.5)
    m.contact(m.bodies[1], stiffness=1e3)
    m.force(m.bodies[2], ("sin(t)", 0, 0))
    m.torque("A", "-0.1*A'")
    m.latch("A", 3.0)
    m.constrain("A - 2 = 0", name="lock")
    m.switch("lock", on="t - 5")
    return m


def test_a_mechanism_that_is_built_again_is_the_same():
    assert first_difference(loaded().build()._numeric, loaded().build()._numeric) == ""


FIELDS = [name for name, said in words(Mechanism).items() if not said.kept and name not in ASIDE]


@pytest.mark.parametrize("field", FIELDS)
def test_a_change_of_any_number_or_law_is_a_difference(field):
    """Found by the fields of a mechanism, so that a new one takes part."""
    mechanism = loaded().build()._numeric
    mechanism = mechanism.whole or mechanism
    old = getattr(mechanism, field)
    new = with_numbers(old, lambda x: x * 1.5 + 0.25)
    if new is old or new == old:
        new = with_laws(old, lambda law: law * 1.5 + 0.25)
    assert new != old
    assert first_difference(dataclasses.replace(mechanism, **{field: new}), mechanism) != ""
