"""Links without mass that move by themselves: published robots have them, but nothing determines how they move.

A link without mass between two others is a carrier, and its motion follows from theirs. At the end of a chain nothing
follows: 0 = torque. `massless` of `load` chooses:

| massless | what becomes of them                                                                                      |
|----------|-----------------------------------------------------------------------------------------------------------|
| "error"  | they stay, and building the model names them                                                              |
| "fix"    | joints that move nothing with mass become Fixed, as the file draws them: the motion of the rest is the    |
|          | same, since nothing without mass can bear a force. Couplings to them fall away, or, where they connect    |
|          | other joints, are rewritten between those                                                                 |
| "light"  | each gets a millionth of the robot's mass with a radius of gyration of 0.1 m: for those that "fix" cannot |
|          | treat exactly, as they are inside loops, idle between two hinges with one axis, or carry forces           |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from momentree.files.counterparts import Notes
from momentree.files.rigid_groups import Groups, rigid_groups
from momentree.files.robot_xml import READ
from momentree.model import Model
from momentree.model.bodies import Body
from momentree.model.couplings import Couple
from momentree.model.elements import Joint
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND
from momentree.model.joint_types import Fixed
from momentree.model.start import ENTRIES
from momentree.model.switches import named_in

CHOICES = ("error", "fix", "light")
LIGHT = 1e-6  # of the mass of the robot: that of a link that had none
GYRATION = 0.1  # m, its radius of gyration
Form = tuple[dict[str, float], float]  # coefficients of coordinates, and the value that their sum keeps


def settle_massless(model: Model, choice: str, notes: Notes) -> list[int]:
    """Treat the links without mass as chosen; the numbers of the couplings that remain."""
    if choice == "light":
        _lighten(model, notes)
    if choice != "fix":
        return [*range(len(model.couples))]
    idle = idle_joints(model)
    model.joints = [replace(joint, type=Fixed()) if joint.name in idle else joint for joint in model.joints]
    model.torques = [torque for torque in model.torques if torque.joint not in idle]
    for name in idle:
        notes.add('joints fixed, since they move nothing that has mass (massless="fix")', name)
    if model.start is not None:
        said: dict[str, Any] = {name: _without(getattr(model.start, name), idle) for name in ENTRIES}
        model.start = replace(model.start, **said) if any(said.values()) else None
    return _without_couplings(model, idle, notes)


def ways_out(model: Model) -> Callable[[str], str]:
    """Of a joint that moves nothing: the option of `load` that lets the file through; "" where it is no robot file."""
    place = "" if model.source is None else model.source(("body", 0))
    if not place.rpartition(":")[0].removesuffix(" (expanded)").lower().endswith(READ):
        return lambda joint: ""
    idle = frozenset(idle_joints(model))
    return lambda joint: f' Or load the file with massless="{"fix" if joint in idle else "light"}".'


# --- joints that move nothing that has mass ---------------------------------------------------------------------------


def idle_joints(model: Model) -> dict[str, None]:
    """Joints beyond which there is no mass, and which no force or coupling makes felt elsewhere."""
    couplings = [_form(couple)[0] for couple in model.couples]
    held: set[str] = set()
    while True:
        idle = _beyond_all_mass(model, held)
        felt = {*_felt(model, idle, couplings)} - held
        if not felt:
            return idle
        held |= felt


def _beyond_all_mass(model: Model, held: Collection[str]) -> dict[str, None]:
    """Joints at the ends of chains, from outside inward, whose groups (of bodies fixed to each other) have no mass."""
    groups = rigid_groups(model)
    heavy = {groups.of(name) for name in (GROUND, *(body.name for body in model.bodies if not body.massless))}
    joints: dict[str, dict[str, Joint]] = {}
    for joint in model.joints:
        if not isinstance(joint.type, Fixed):
            for end in (joint.first, joint.second):
                joints.setdefault(groups.of(end.body), {})[joint.name] = joint
    idle: dict[str, None] = {}
    waiting = [group for group in joints if group not in heavy]
    while waiting:
        group = waiting.pop()
        at = joints[group]
        if len(at) != 1:
            continue
        (joint,) = at.values()
        if joint.name in held:
            continue
        idle[joint.name] = None
        other = next(groups.of(end.body) for end in (joint.first, joint.second) if groups.of(end.body) != group)
        del joints[other][joint.name]
        at.clear()
        if other not in heavy:
            waiting.append(other)
    return idle


def _felt(model: Model, idle: Collection[str], couplings: Sequence[Mapping[str, float]]) -> Iterable[str]:
    """Those of the idle joints that are felt by others: laws name them, or couplings pass on their forces."""
    laws = [torque.law for torque in model.torques if torque.joint not in idle]
    laws += [constraint.expression for constraint in model.constraints]
    named = named_in(laws, {})
    named |= {key.rpartition(".")[0] for form in couplings for key in form}  # of one of several coordinates, "A.x"
    yield from (name for name in idle if name in named)
    coupled = Groups()
    outside = "\0"  # stands for every joint that is not idle
    for form in couplings:
        first, *others = (name if name in idle else outside for name in form)
        for other in others:
            coupled.join(first, other)
    forced = {torque.joint for torque in model.torques}
    for joint in model.joints:
        if joint.name in idle and coupled.of(joint.name) == coupled.of(outside):
            given = joint.type
            if joint.name in forced or given.spring or given.damping or given.limits is not None:
                yield joint.name


def _without(entries: Mapping[str, Any], idle: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in entries.items() if key not in idle}


# --- couplings ---


def _form(couple: Couple) -> Form:
    """joint - sum of ratios times coordinates = offset."""
    followed = dict(couple.to) if isinstance(couple.to, Mapping) else {couple.to: couple.ratio}
    return {couple.joint: 1.0, **{name: -float(ratio) for name, ratio in followed.items()}}, float(couple.offset)


def _without_couplings(model: Model, idle: Collection[str], notes: Notes) -> list[int]:
    """Take idle joints out of the couplings: each determines itself by one of them, and is put into the others."""
    forms = {number: _form(couple) for number, couple in enumerate(model.couples)}
    touched: set[int] = set()
    for name in idle:
        having = [number for number, (terms, _) in forms.items() if name in terms]
        touched.update(having)
        for number in having[1:]:
            forms[number] = _eliminated(forms[number], forms[having[0]], name)
        for number in having[:1]:
            del forms[number]
    couples, kept = [], []
    for number, couple in enumerate(model.couples):
        if number not in forms or not forms[number][0]:
            notes.add("couplings left out, of joints that were fixed", couple.joint)
            continue
        if number in touched:
            (follower, leading), *others = forms[number][0].items()
            value = forms[number][1] / leading
            if not others:
                model.constrain(f"{Reference(follower)} = {value!r}")
                continue
            ratios = {name: -ratio / leading for name, ratio in others}
            couple = replace(couple, joint=follower, to=ratios, ratio=1, offset=value)
        couples.append(couple)
        kept.append(number)
    model.couples = couples
    return kept


def _eliminated(form: Form, by: Form, name: str) -> Form:
    """The form without a coordinate, which another form determines."""
    factor = form[0][name] / by[0][name]
    terms = {key: form[0].get(key, 0.0) - factor * by[0].get(key, 0.0) for key in {**form[0], **by[0]} if key != name}
    round_off = 1e-12 * max(map(abs, form[0].values()))
    return {key: value for key, value in terms.items() if abs(value) > round_off}, form[1] - factor * by[1]


# --- a little inertia ---


def _lighten(model: Model, notes: Notes) -> None:
    """Give every group of bodies that are fixed to each other inertia about all axes, if it has none."""
    mass = LIGHT * (sum(float(body.mass) for body in model.bodies if not body.massless) or 1.0)
    J = mass * GYRATION**2
    groups = rigid_groups(model)
    enough = {groups.of(body.name) for body in model.bodies if _least_moment(body) > LIGHT * J} | {groups.of(GROUND)}
    first = {groups.of(body.name): body.name for body in reversed(model.bodies)}
    first |= {groups.of(body.name): body.name for body in reversed(model.bodies) if not body.massless}
    for number, body in enumerate(model.bodies):
        group = groups.of(body.name)
        if group in enough or first[group] != body.name or _least_moment(body) < -LIGHT * J:
            continue
        if body.massless:
            lighter = replace(body, massless=False, mass=mass, com=(0.0, 0.0, 0.0), inertia=(J, J, J))
        else:
            moments = tuple(_moments(body))
            lighter = replace(body, inertia=(*(moment + J for moment in moments[:3]), *moments[3:]))
        model.bodies[number] = lighter
        notes.add(f'given {mass:.2g} kg and {J:.2g} kg m2 (massless="light")', body.name)


def _moments(body: Body) -> tuple[float, ...]:
    """xx, yy, zz, xy, xz, yz about the centre of mass."""
    moments: tuple[float, ...] = () if body.inertia is None else tuple(float(moment) for moment in body.inertia)
    return (*moments, *(0.0,) * (6 - len(moments)))


def _least_moment(body: Body) -> float:
    if body.massless:
        return 0.0
    xx, yy, zz, xy, xz, yz = _moments(body)
    return float(np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[0])
