"""Passes reach every number, frame and law: a mechanism is made of what its fields are declared to hold, and counted.

Nothing here knows a kind of element. Values follow from the types of the fields: a number, frame or law in each place
that a type has for one, with a name of its own; a pass must come to each of its own names once, and to no other.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import momentree as mt
from force_kinds import KINDS, ONLY_HERE
from momentree.equations.shared_parameters import shared_parameters
from momentree.model import higher_pairs
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Expression, reference
from momentree.model.field_words import KEPT, LAW, words
from momentree.model.joint_type import JointType
from momentree.model.joint_types import JOINTS
from momentree.spatial import IDENTITY, ZERO, RigidInertia, Rotation, Transform, Vector
from momentree.spatial.rotation import Turn
from momentree.structure import mechanism
from momentree.structure.force_element import ForceElement
from momentree.structure.input_signals import refuse_elsewhere
from momentree.structure.mechanism import Mechanism
from momentree.structure.parts import Attached, Laws, frames_of, laws_in, with_frames, with_laws, with_numbers
from momentree.symbols.scalars import _with_laws

PAIRS = [
    pair for pair in vars(higher_pairs).values() if isinstance(pair, type) and issubclass(pair, higher_pairs.HigherPair)
]
JOINT_TYPES = [*JOINTS.values(), *(pair for pair in PAIRS if pair is not higher_pairs.HigherPair)]
MAY_FOLLOW = {"torques", "elements", "switches"}  # an input that changes: docs/inputs.md
CONCRETE = {ForceElement: [*KINDS, *ONLY_HERE], JointType: JOINT_TYPES}


class Filler:
    """Makes values of declared types, and notes the names of the numbers, frames and laws in them."""

    def __init__(self):
        self.numbers, self.laws, self.frames = [], [], []

    def named(self, kept, letter):
        kept.append(f"{letter}{len(kept)}")
        return reference(kept[-1])

    def number(self):
        return self.named(self.numbers, "n")

    def vector(self):
        return Vector(*(self.number() for _ in range(3)))

    def of(self, hint, law=False):
        """A value of this type: of a union its first part, of a tuple of any length two, of a kind all kinds."""
        origin, args = get_origin(hint), [arg for arg in get_args(hint) if arg is not NoneType]
        if hasattr(hint, "__metadata__"):
            return self.of(hint.__origin__, LAW in hint.__metadata__)
        if origin is tuple and args[-1] is Ellipsis:
            return tuple(self.of(arg, law) for arg in CONCRETE.get(args[0], (args[0], args[0])))
        if origin is tuple:
            return tuple(self.of(arg, law) for arg in args)
        if origin is not None or args:
            return self.of(args[0], law)
        if law and hint in (Any, Expression):
            return self.named(self.laws, "l")
        match hint:
            case _ if hint is Any:
                return self.number()
            case _ if hint in (str, int, bool, slice):
                return {str: "x", int: 1, bool: True, slice: slice(0, 0)}[hint]
            case _ if hint is Vector:
                return self.vector()
            case _ if hint is Transform:
                return Transform(Rotation(*(self.vector() for _ in range(3))), self.vector())
            case _ if hint is RigidInertia:
                return RigidInertia(self.number(), self.vector(), tuple(self.number() for _ in range(6)))
            case _ if hint is Attached:
                frame = Attached(1, self.of(Transform))
                self.frames.append(frame)
                return frame
            case _ if hint is Laws:
                return Laws(*(tuple(self.named(self.laws, "l") for _ in "ab") for _ in range(3)))
            case _ if dataclasses.is_dataclass(hint):
                return self.dataclass(CONCRETE.get(hint, [hint])[-1])
        raise AssertionError(f"a frozen thing holds {hint}, which no pass knows: number, law, or KEPT?")

    def dataclass(self, cls):
        hints = get_type_hints(cls, include_extras=True)
        said = words(cls)
        fields = [field.name for field in dataclasses.fields(cls)]
        values = {name: None if said[name].kept else self.of(hints[name]) for name in fields}
        thing = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(thing, name, value)
        return thing


def empty():
    """A mechanism of nothing."""
    m = mt.Model("empty", gravity=(0, 0, 0))
    m.joint("A", mt.Revolute("z"), m.ground, m.body("b", mt.rod(mass=1.0, length=1.0)))
    return dataclasses.replace(m.build().mechanism, bodies=(), gravity=ZERO)


def filled(cls):
    filler = Filler()
    return filler.of(cls), filler


def texts(expressions):
    return Counter(map(str, expressions))


def numbers_in(thing):
    seen = []
    with_numbers(thing, lambda x: seen.append(x) or x)
    return seen


def frozen_classes():
    """The dataclasses of the frozen mechanism, and all kinds of elements and joints."""
    here = [value for value in vars(mechanism).values() if dataclasses.is_dataclass(value)]
    own = [cls for cls in here if cls.__module__ == mechanism.__name__ and cls is not Mechanism]
    return [*CONCRETE[ForceElement], *CONCRETE[JointType], *own]


@pytest.mark.parametrize("cls", frozen_classes(), ids=lambda cls: cls.__name__)
def test_passes_reach_every_number_frame_and_law_of_a_kind(cls):
    thing, filler = filled(cls)
    assert texts(numbers_in(thing)) == Counter(filler.numbers)
    assert texts(laws_in(thing)) == Counter(filler.laws)
    assert Counter(map(id, frames_of(thing))) == Counter(map(id, filler.frames))


@pytest.mark.parametrize("field", [name for name, said in words(Mechanism).items() if not said.kept])
def test_passes_reach_every_number_frame_and_law_of_a_mechanism(field):
    filler = Filler()
    one = dataclasses.replace(empty(), **{field: filler.of(get_type_hints(Mechanism, include_extras=True)[field])})
    seen = []
    mapped = one.mapped(lambda x: seen.append(x) or 0.5)
    assert texts(seen) == Counter(filler.numbers)
    assert {*numbers_in(mapped)} <= {0.5}
    assert texts(laws_in(one)) == Counter(filler.laws)
    assert {*map(str, laws_in(one.with_laws(lambda law: reference("other"))))} <= {"other"}
    assert Counter(map(id, frames_of(one))) == Counter(map(id, filler.frames))
    there = Attached(1, Transform())
    assert {*frames_of(one.reattached(lambda frame: there))} <= {there}
    # an input that changes may be named by some laws alone
    for name in filler.numbers:
        refused(one, name)
    for name in filler.laws:
        if field in MAY_FOLLOW:
            refuse_elsewhere(one, [name])
        else:
            refused(one, name)


def refused(one, name):
    with pytest.raises(mt.MomentreeError, match=f"input '{name}'"):
        refuse_elsewhere(one, [name])


def test_laws_of_exact_numbers_stand_in_for_all_that_equations_of_motion_have():
    for field in ("torques", "elements", "ground"):
        filler = Filler()
        part = filler.of(get_type_hints(Mechanism, include_extras=True)[field])
        one = _with_laws(dataclasses.replace(empty(), **{field: part}), Exactly)
        assert texts(law.law for law in laws_in(one) if isinstance(law, Exactly)) == Counter(filler.laws)


@dataclasses.dataclass(frozen=True)
class Exactly:
    law: Any

    def evaluate(self, names):
        return 0


# --- what passes leave alone ---


def test_a_mapped_mechanism_is_another_one():
    """Even if no number changes: it may be given sizes of its own, by other values of parameters."""
    one = empty()
    assert one.mapped(lambda x: x) is not one


def test_structural_zeros_and_ones_stay():
    things = (ZERO, IDENTITY, 1, True, "x", None)
    assert with_numbers(things, lambda x: x + 1) is things
    turn = with_numbers(Turn(2, 1.0, 0.0), lambda x: x + 1)
    assert (turn.axis, turn.c, turn.s) == (2, 2.0, 1.0)


def test_a_thing_without_anything_to_change_is_the_same_thing():
    spring, _ = filled(KINDS[0])
    assert with_frames(spring, lambda frame: frame) is spring
    assert with_laws(spring, lambda law: law) is spring


def test_parts_that_no_pass_would_enter_are_refused():
    @dataclasses.dataclass(frozen=True)
    class Wrong:
        parts: list

    with pytest.raises(TypeError, match="parts of a mechanism stand in tuples"):
        with_numbers(Wrong([1.0]), lambda x: x)


def test_a_kept_field_is_no_part():
    joint = Joint("j", JOINTS["Revolute"]("z"), mt.model.frames.Frame("a"), mt.model.frames.Frame("b", (1.0, 2.0, 3.0)))
    assert words(Joint)["first"] is KEPT
    assert with_numbers(joint, lambda x: 7.0).second == joint.second


@pytest.mark.parametrize("cls", frozen_classes(), ids=lambda cls: cls.__name__)
def test_nothing_that_may_depend_on_parameters_is_kept(cls):
    hints = get_type_hints(cls)
    for name, said in words(cls).items():
        assert not (said.kept and hints[name] in (Any, Vector, Expression, Transform, RigidInertia, Attached, Laws)), (
            name
        )


def test_a_named_frame_moves_with_a_link_that_is_turned():
    """The frame of a last link is turned about its hinge, where that spares operations; what stands in it follows."""
    m = mt.Model("arm")
    link = m.body("link", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1, 0.1, 0.1, 0.1))
    m.joint("A", mt.Revolute("z"), m.ground, link)
    m.frame("tip", link.at((1, 2, 3)))
    mechanism = m.build().mechanism
    shared = shared_parameters(mechanism)
    assert shared.bodies[0].joint.type.offset != 0
    ((_, tip),) = shared.frames
    assert [*(shared.bodies[0].own.inverse() @ tip.placement).offset] == pytest.approx([1, 2, 3], abs=1e-14)
