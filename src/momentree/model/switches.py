"""Joints that release, and constraints that events switch on and off while a mechanism moves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from momentree.errors import ExpressionError, suggestion
from momentree.model.constraint_elements import EQUATIONS
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Expression, Reference, parse
from momentree.model.joint_type import JointType
from momentree.model.tables import Table, tables_by_name
from momentree.model.values import TIME, Mistake, Raw, Values, plain

if TYPE_CHECKING:
    from momentree.model.model import Model

Known = dict[Reference, str]


class Condition(NamedTuple):
    """A constraint, by its name, starts (`turns_on`) or ceases to act when an expression rises through zero."""

    name: str
    when: Expression
    turns_on: bool


@dataclass(frozen=True)
class _Conditional:
    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, plain(getattr(self, field.name)))


@dataclass(frozen=True)
class Release(_Conditional):
    """A joint that ceases for good, when an expression rises through zero or at a time: its bodies separate.

    | field | meaning                                                                             |
    |-------|-------------------------------------------------------------------------------------|
    | joint | its name                                                                            |
    | when  | an expression of t, parameters, coordinates and velocities: it rises through zero   |
    | at    | s: the time, instead of `when`                                                      |
    """

    joint: str
    when: Raw = None
    at: Raw = None

    def conditions(self, values: Values, known: Known) -> list[Condition]:
        """The one at which it releases."""
        if (self.when is None) == (self.at is None):
            both = "has both when and at" if self.at is not None else "has neither when nor at"
            raise Mistake(f'{both}. Give one of them: when="A - 1", or at=2.5 (s).')
        if self.at is None:
            return [Condition(self.joint, values.law(self.when, known, "when"), False)]
        return [Condition(self.joint, Expression("reference", (TIME,)) - values.scalar(self.at, "at"), False)]


@dataclass(frozen=True)
class Switch(_Conditional):
    """A constraint, higher pair or joint that starts or ceases to act when an expression rises through zero.

    One that is first switched on does not act before.
    """

    name: str
    on: Raw = None
    off: Raw = None

    def conditions(self, values: Values, known: Known) -> list[Condition]:
        """Those that it has, `on` first."""
        if self.on is None and self.off is None:
            raise Mistake('has neither on nor off. Give one of them, such as on="t - 2".')
        given = ((what, getattr(self, what)) for what in ("on", "off"))
        return [
            Condition(self.name, values.law(raw, known, what), what == "on") for what, raw in given if raw is not None
        ]


def conditions_of(model: Model, values: Values, known: Known) -> list[Condition]:
    """Of all releases and switches of a model that was checked."""
    known = {**known, **_names_of_frames(model)}
    elements: list[Release | Switch] = [*model.releases, *model.switches]
    return [each for element in elements for each in element.conditions(values, known)]


def frame_references(name: str) -> Known:
    """The names of a named frame in conditions: tip.x, tip.x', tip.wx, ..."""
    position = dict.fromkeys((Reference(name, axis) for axis in "xyz"), "position")
    velocity = dict.fromkeys((Reference(name, axis, velocity=True) for axis in "xyz"), "velocity")
    return {**position, **velocity, **dict.fromkeys((Reference(name, f"w{axis}") for axis in "xyz"), "velocity")}


def _names_of_frames(model: Model) -> Known:
    names = (getattr(frame, "name", None) for frame in getattr(model, "frames", ()))
    return {r: kind for name in names if isinstance(name, str) for r, kind in frame_references(name).items()}


def switched_joints(model: Model) -> list[str]:
    """The joints that do not act throughout, in the order of the model."""
    named = (*(release.joint for release in model.releases), *(switch.name for switch in model.switches))
    names = {name for name in named if isinstance(name, str)}
    return [joint.name for joint in model.joints if isinstance(joint.name, str) and joint.name in names]


# --- the check -------------------------------------------------------------------------------------------------------

Check = tuple[str, tuple[str | int, ...], Callable[[], object]]  # where, path, and what raises Mistake


def switch_checks(
    model: Model, values: Values, known: Known, joint_named: Callable[[Any], Joint | None]
) -> Iterator[Check]:
    """What is to be checked of releases, switches and the laws that name their joints, each with its place."""
    released, known = set[Any](), {**known, **_names_of_frames(model)}
    for i, release in enumerate(model.releases):
        where, path = f"release of {release.joint!r}", ("release", i)
        twice = isinstance(release.joint, str) and release.joint in released
        released.add(str(release.joint))
        yield where, (*path, "joint"), partial(_check_release, model, joint_named, release, twice)
        yield where, path, partial(release.conditions, values, known)
    for i, switch in enumerate(model.switches):
        where, path = f"switch of {switch.name!r}", ("switch", i)
        yield where, (*path, "name"), partial(_check_switch, model, switch.name, released)
        yield where, path, partial(switch.conditions, values, known)
    yield from _law_checks(model)


def _check_release(model: Model, joint_named: Callable[[Any], Joint | None], release: Release, twice: bool) -> None:
    joint = joint_named(release.joint)
    if twice and joint is not None:
        raise Mistake(f"joint '{joint.name}' is released twice. Remove one of them, or use max(a, b) of both.")
    if joint is not None:
        _check_joint(model, joint, "release")


def _check_switch(model: Model, name: Any, released: set[Any]) -> None:
    joints = {joint.name: joint for joint in model.joints}
    names = [*_constraint_names(model), *joints]
    if not isinstance(name, str) or name not in names:
        raise Mistake(f"there is no constraint or joint {name!r}.{suggestion(str(name), names)}")
    if name in released:
        raise Mistake(f"joint '{name}' is released too. Use switches alone: off= in place of the release.")
    if name in joints and isinstance(joints[name].type, JointType):
        _check_joint(model, joints[name], "switch")


def _check_joint(model: Model, joint: Joint, verb: str) -> None:
    if joint.type.motion is not None:
        raise Mistake(f"joint '{joint.name}' has a prescribed motion. {_past(verb)} joints must move freely.")
    if joint.type.freedom == 6:
        raise Mistake(f"joint '{joint.name}' is free: there is nothing to {verb}.")
    if joint.name in {latch.joint for latch in model.latches}:
        raise Mistake(f"joint '{joint.name}' has a latch, too. Remove one of them.")
    if joint.name in {split.joint for split in model.splits}:
        raise Mistake(f"a body is split at joint '{joint.name}'. Split it elsewhere.")


def _past(verb: str) -> str:
    return {"release": "Released", "switch": "Switched"}[verb]


def _constraint_names(model: Model) -> list[str]:
    """Of the constraints, gears, higher pairs, ... of a model: of all elements with a name but bodies and joints."""
    others = (part for name, part in vars(model).items() if isinstance(part, list) and name not in _NO_CONSTRAINTS)
    names = (getattr(element, "name", None) for part in others for element in part)
    return [name for name in names if isinstance(name, str)]


_NO_CONSTRAINTS = {"bodies", "joints", "switches", "frames", "tables", "inputs", "outputs"}


def _law_checks(model: Model) -> Iterator[Check]:
    """Laws must not name a joint that ceases to be there; its own torque ceases with it."""
    gone = set(switched_joints(model))
    if not gone:
        return
    check = partial(_check_law, gone, tables_by_name(model.tables))
    for i, torque in enumerate(model.torques):
        if torque.joint not in gone:
            yield f"torque on {torque.joint!r}", ("torque", i, "law"), partial(check, torque.law)
    for i, force in enumerate(model.forces):
        where = f"force {i + 1} on {force.frame.body!r}"
        yield where, ("force", i, "law"), partial(check, (force.law, force.moment))
    for kind in EQUATIONS:
        for i, element in enumerate(getattr(model, kind.collection)):
            fields = [getattr(element, f.name) for f in dataclasses.fields(element) if f.name != "name"]
            yield f"{kind.kind} {element.name!r}", (kind.kind, i), partial(check, fields, "it")


def _check_law(gone: Iterable[str], tables: Mapping[str, Table], law: Any, what: str = "the law") -> None:
    names = named_in(law, tables)
    for joint in sorted(set(gone) & names):
        raise Mistake(
            f"{what} names joint '{joint}', which is switched or released: it has no coordinates while it does not "
            "act. Use coordinates of other joints."
        )


def named_in(law: Any, tables: Mapping[str, Table]) -> set[str]:
    """The names in a law, or in a list or table of laws."""
    if isinstance(law, str) and "=" in law:
        return named_in(law.split("="), tables)
    if isinstance(law, str):
        try:
            return {reference.name for reference in parse(law, tables).references()}
        except ExpressionError:  # what is wrong with it is reported elsewhere
            return set()
    parts = [*law, *law.values()] if isinstance(law, dict) else law if isinstance(law, (tuple, list)) else ()
    return set().union(*(named_in(part, tables) for part in parts))
