"""The description of a study: system, design, start, settings and outputs, checked; and what makes two the same."""

from __future__ import annotations

import dataclasses
import json
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.analyse.studies.designs import Array, Design
from momentree.analyse.studies.output_expressions import Output
from momentree.assembly.named_values import by_name, columns_given
from momentree.equations.formulations import FORMULATIONS
from momentree.errors import MomentreeError, suggestion
from momentree.integrate.methods import default_integrator
from momentree.model.expressions.expression import Expression
from momentree.model.start import Start, joint_of
from momentree.model.values import Mistake, Values
from momentree.results.run import text_of
from momentree.simulate.settings import Settings, settings_of
from momentree.simulate.start_checks import check_time
from momentree.simulate.step_plan import StepPlan

if TYPE_CHECKING:
    from momentree.system import System

FORMAT, UNCHECKED = 2, 1  # of stores; earlier versions gave them no checksums
LONGEST = 60  # letters of a difference that are shown
_BOUND = re.compile(r'(file = "[^"]*")(?:(?!file = ).)*digest = "(\w*)"')  # in the text of a model


@dataclass(frozen=True, eq=False)
class StudyDescription:
    """All that determines the results.

    | field    | meaning                                                                                          |
    |----------|--------------------------------------------------------------------------------------------------|
    | system   | with the values of free parameters that are the same in all motions                              |
    | design   | names and values of what is varied                                                               |
    | kinds    | of each name of the design: "parameter", "coordinate" or "velocity"                              |
    | start    | coordinates, velocities and guess of the start, numbers or texts by name, without what is varied |
    | outputs  | what is kept                                                                                     |
    | settings | of the simulations                                                                               |
    | events   | expressions by name                                                                              |
    | together | whether motions are computed together, or else one by one by `System.simulate`                   |
    """

    system: System
    design: Design
    kinds: tuple[str, ...]
    start: Start
    outputs: tuple[Output, ...]
    settings: Settings
    events: Mapping[str, Any]
    together: bool

    @cached_property
    def t_start(self) -> float:
        """When all motions begin (s)."""
        return _time(self.system, self.start.t, "t", self.design.names)

    @cached_property
    def t(self) -> Array:
        """k: the times of the samples."""
        return StepPlan(self.settings, self.t_start).sample_times()

    def named(self, kind: str, rows: Array) -> dict[str, Array]:
        """The columns of rows of the design that are of one kind, by name."""
        return {
            name.rstrip("'") if kind == "velocity" else name: rows[:, i].copy()
            for i, (name, of) in enumerate(zip(self.design.names, self.kinds, strict=True))
            if of == kind
        }

    def units(self) -> dict[str, str]:
        """The unit of each name of the design; "" of parameters."""
        found = dict.fromkeys(self.design.names, "")
        for name, kind in zip(self.design.names, self.kinds, strict=True):
            if kind != "parameter":
                what = "velocities" if kind == "velocity" else "given"
                entry = columns_given(self.system._numeric, {name.rstrip("'"): 0.0}, what)[0].entry
                found[name] = f"{entry.velocity_unit}/s" if kind == "velocity" else entry.unit
        return found

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What a store keeps of it: equal for studies with equal results. Plain texts, numbers, lists and dicts.

        Raises a MomentreeError where there is a function of which nothing can be kept.
        """
        from momentree import __version__

        design = {"names": [*self.design.names], "shape": [*self.design.shape], "values": self.design.digest}
        identity = {
            "momentree": __version__,
            "model": text_of(self.system),
            "free": [*self.system.mechanism.free],
            "design": design,
            "start": {name: getattr(self.start, name) for name in ("coordinates", "velocities", "guess", "t")},
            "settings": dataclasses.asdict(self.settings),
            "events": {name: str(event) for name, event in self.events.items()},
            "outputs": {output.name: output.identity for output in self.outputs},
            "together": self.together,
        }
        built = {"tolerance": self.system.mechanism.set_tolerance, "code": self.system.code}
        identity |= {name: chosen for name, chosen in built.items() if chosen is not None}
        plain: dict[str, Any] = json.loads(json.dumps(identity, default=_plain))
        return plain


def differences(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """How an identity differs from that of a store, in words."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            one
            for key in dict.fromkeys([*ours, *theirs])
            for one in differences(ours.get(key), theirs.get(key), f"{where} {key}".strip())
        ]
    if ours == theirs:
        return []
    if where == "model" and isinstance(ours, str) and isinstance(theirs, str):
        pairs = zip(ours.splitlines(), theirs.splitlines(), strict=False)
        line = next(((a, b) for a, b in pairs if a != b), ("", ""))
        changed = [b for a, b in zip(*(_BOUND.findall(one) for one in line), strict=False) if a != b]
        if changed:
            return [f"the content of {changed[0][0]}"]
        return [f"the model, where it has `{_short(line[1])}` and not `{_short(line[0])}`"]
    if where == "design values":
        return ["the values of the design"]
    return [f"{where}: {_short(json.dumps(theirs))} there, {_short(json.dumps(ours))} here"]


def _short(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


# --- what is given ---------------------------------------------------------------------------------------------------


def kinds_of(system: System, names: tuple[str, ...]) -> tuple[str, ...]:
    """What each name of a design is: a free parameter, a coordinate of a joint, or a velocity."""
    return tuple(_kind(system, name) for name in names)


def _kind(system: System, name: str) -> str:
    if name in system.mechanism.free:
        return "parameter"
    parameters = [parameter for parameter, _ in system._model.parameters]
    if name in parameters:
        message = f"'{name}' is a parameter that is not free"
        raise MomentreeError(f"study: {message}. Give the model instead of the system, or m.build(free=['{name}']).")
    mechanism = system._numeric
    joint, _ = joint_of(name, mechanism.by_joint)
    if joint not in mechanism.by_joint:
        velocities = [f"{one}'" for one in mechanism.by_joint]
        known = [*parameters, *mechanism.by_joint, *velocities]
        message = f"there is no parameter, joint or velocity '{name}' to vary"
        raise MomentreeError(f"study: {message}.{suggestion(name, known)}")
    velocity = name.endswith("'")
    columns_given(mechanism, {name.rstrip("'"): np.zeros(1)}, "velocities" if velocity else "study")
    return "velocity" if velocity else "coordinate"


def start_of(system: System, varied: Mapping[str, str], given: Any, velocities: Any, guess: Any) -> Start:
    """The start of the model; what is given replaces it by joint, and what is varied by coordinate or velocity."""
    own = system._model.start or Start()
    entries: dict[str, dict[str, Any]] = {}
    for what, instead in (("coordinates", given), ("velocities", velocities), ("guess", guess)):
        chosen = dict(by_name(instead, what))
        joints = system._numeric.by_joint
        replaced = {joint_of(str(key), joints)[0] for key in chosen}
        kept = {key: raw for key, raw in getattr(own, what).items() if joint_of(key, joints)[0] not in replaced}
        kind = {"coordinates": "coordinate", "velocities": "velocity"}.get(what)
        names = [name.rstrip("'") for name, of in varied.items() if of == kind]
        entries[what] = _without(system, {**kept, **chosen}, names, what)
        rows = system._free.names_of(system._free.rows({})[None])
        columns_given(system._numeric, entries[what], "velocities" if what == "velocities" else what, rows)
    return Start(**entries, t=own.t, t_end=own.t_end, stiff=own.stiff)


def _without(system: System, entries: Mapping[str, Any], names: list[str], what: str) -> dict[str, Any]:
    """The entries without what is varied; the list of a joint of which a part is varied, component by component."""
    found: dict[str, Any] = {}
    joints = system._numeric.by_joint
    for key, raw in entries.items():
        joint, component = joint_of(key, joints)
        parts = [joint_of(name, joints)[1] for name in names if joint_of(name, joints)[0] == joint]
        if not parts or (component and component not in parts and "" not in parts):
            found[key] = raw
        elif not component and "" not in parts:
            kind = joints[joint].joint.type  # type: ignore[union-attr]  # only joints have names
            listed = kind.velocities if what == "velocities" else kind.coordinates
            found |= {f"{joint}.{one}": x for one, x in zip(map(_bare, listed), raw, strict=True) if one not in parts}
    return found


def _bare(name: str) -> str:
    return name.rstrip("'")


def settings_for(system: System, design: Design, start: Start, chosen: Mapping[str, Any]) -> Settings:
    """The settings, checked: the end time and the integrator are those of the model unless they are given."""
    given = {name: value for name, value in chosen.items() if value is not None}
    if "t_end" not in given:
        if start.t_end is None:
            raise MomentreeError("study: the model has no end time. Give t_end= in seconds.")
        given["t_end"] = _time(system, start.t_end, "t_end", design.names)
    if "every" not in given:
        raise MomentreeError("study: outputs are computed from samples. Give every=, the seconds between them.")
    given.setdefault("integrator", default_integrator(stiff=start.stiff))
    settings = settings_of(**given)
    t = _time(system, start.t, "t", design.names)
    check_time(t)
    settings.check(t)
    return settings


def _time(system: System, raw: Any, what: str, varied: tuple[str, ...]) -> float:
    """A time of the model's start, which must be the same in all motions."""
    parameters = dict(system._model.parameters)
    try:
        value = Values(parameters, free=[name for name in varied if name in parameters]).scalar(raw, what)
        if isinstance(value, Expression):
            message = (
                f"{what} of the model's start changes with {reprlib.repr(raw)}, but all motions have the same times"
            )
            raise MomentreeError(f"study: {message}. Give t_end= in seconds, or a number in the model.")
        return float(value)
    except Mistake as mistake:
        raise MomentreeError(f"study: {mistake}") from None


def computed_together(system: System, settings: Settings, events: Mapping[str, Any], wanted: Any) -> bool:
    """Whether motions are computed together; an error where that is wanted and impossible."""
    mechanism = system.mechanism
    reasons = {
        "events are noted": bool(events),
        "joints have latches": bool(mechanism.latches),
        "joints are released or constraints are switched": bool(mechanism.switches),
        f"the formulation is '{settings.formulation}'": FORMULATIONS[settings.formulation].maximal,
        "the error of each is estimated (verify=True)": settings.verify,
    }
    found = [reason for reason, holds in reasons.items() if holds]
    if wanted not in (None, True, False):
        raise MomentreeError(
            f"study: together is {wanted!r}. Choose True, False or None, which is True where possible."
        )
    if wanted and found:
        raise MomentreeError(f"study: motions cannot be computed together where {found[0]}. Leave together=None.")
    return not found if wanted is None else bool(wanted)
