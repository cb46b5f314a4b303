"""A mechanism with the constraints of a programme: what a user says of it, added to a copy of the model.

The constraints of a programme are written as those of a model. So rows, drifts and closure errors of both come from the
same formulas; `own` is the mechanism without them, whose loops and constraints exist physically.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from momentree.errors import MomentreeError, suggestion
from momentree.model import Model
from momentree.model.expressions.expression import ZERO, Expression, Reference
from momentree.model.tables import tables_by_name
from momentree.model.values import Mistake, Values, plain
from momentree.spatial.vector import ZERO as NOTHING
from momentree.structure.freeze import freeze
from momentree.structure.mechanism import Mechanism

Square = tuple[tuple[Expression, ...], ...]
MANY = 16  # coordinates: beyond, derivatives of the velocity field and of the mass matrix take too much code


@dataclass(frozen=True)
class ProgrammeMechanism:
    """A programme on a mechanism, as it was described.

    | field         | meaning                                                                         |
    |---------------|---------------------------------------------------------------------------------|
    | name          | of the programme                                                                |
    | own           | the mechanism, with the loops and constraints of its model                      |
    | whole         | the same with the constraints of the programme, the last of its own             |
    | texts         | the constraints of the programme: their names                                   |
    | wanted        | velocities: those of the programme are the nearest that satisfy all constraints |
    | gain          | d = gain m, where it is given                                                   |
    | dissipation   | d in joint coordinates, where it is given; 0 if neither is                      |
    | position_gain | 1/s: how quickly closure errors die out                                         |
    """

    name: str
    own: Mechanism
    whole: Mechanism
    texts: tuple[str, ...]
    wanted: tuple[Expression, ...]
    gain: Expression | None
    dissipation: Square | None
    position_gain: float
    model: Model = dataclasses.field(repr=False)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Their names."""
        return coordinate_names(self.whole)

    def with_gain(self, gain: Any) -> ProgrammeMechanism:
        """The same with the dissipation gain m."""
        given = _Reader(self.model, self.whole).law(gain, "gain")
        return dataclasses.replace(self, gain=given, dissipation=None)

    def direction(self, raw: Any, what: str) -> tuple[Expression, ...]:
        """Generalized forces of an actuator, by the names of joints or coordinates."""
        return _Reader(self.model, self.whole).by_velocity(raw, what)


def programme_mechanism(
    model: Model,
    mechanism: Mechanism | None,
    constraints: str | Sequence[Any] = (),
    *,
    velocity: Any = None,
    wanted: Any = None,
    gain: Any = None,
    dissipation: Any = None,
    position_gain: Any = 0.0,
    parameters: Mapping[str, Any] | None = None,
    name: str = "programme",
) -> ProgrammeMechanism:
    """The description from what a user wrote; the spanning tree of `mechanism` is kept where it is given."""
    _refuse_changing(model)
    if gain is not None and dissipation is not None:
        raise MomentreeError("programme: gain and dissipation both say what d is. Give one of them.")
    extended = _with_parameters(model, parameters or {})
    free = (*(mechanism.free if mechanism else ()), *(parameters or ()))
    tolerance = mechanism.set_tolerance if mechanism else None
    if mechanism is not None:
        extended.cuts = _closing(mechanism)
    rows = _equations(extended, mechanism, constraints, velocity)
    followed = extended.copied()
    for text, equation in rows:
        followed.constrain(equation, name=text)
    whole = freeze(followed, free, tolerance)
    extended.cuts = _closing(whole)
    own = freeze(extended, free, tolerance)
    if own.coordinates != whole.coordinates:
        message = "programme: with its constraints, the mechanism would have another spanning tree"
        raise MomentreeError(f"{message}. Name the joints that close loops by m.cut(...).")
    _refuse_coordinates(whole)
    reader = _Reader(extended, whole)
    return ProgrammeMechanism(
        name=str(name),
        own=own,
        whole=whole,
        texts=tuple(text for text, _ in rows),
        wanted=reader.by_velocity({} if wanted is None else wanted, "wanted"),
        gain=None if gain is None else reader.law(gain, "gain"),
        dissipation=None if dissipation is None else reader.square(dissipation, "dissipation"),
        position_gain=reader.number(position_gain, "position_gain"),
        model=extended,
    )


def unloaded(mechanism: Mechanism) -> Mechanism:
    """The same without gravity and the forces of the model: those of its joints stay."""
    return dataclasses.replace(mechanism, gravity=NOTHING, torques=(), elements=())


# --- the model ---


def _with_parameters(model: Model, parameters: Any) -> Model:
    if not isinstance(parameters, Mapping):
        raise MomentreeError(f"programme: parameters is {parameters!r}. Give numbers by name: {{'w': 2}}.")
    extended, names = model.copied(), {name for name, _ in model.parameters}
    for name, value in parameters.items():
        if name in names:
            message = f"programme: '{name}' is a parameter of the model already"
            raise MomentreeError(f"{message}. Give it there, or use another name.")
        extended.parameter(name, value)
    return extended


def _closing(mechanism: Mechanism) -> list[str]:
    """The joints that close its loops."""
    return [loop.joint.name for loop in mechanism.loops if loop.joint is not None]


def _equations(model: Model, mechanism: Mechanism | None, constraints: Any, velocity: Any) -> list[tuple[str, Any]]:
    """The constraints of the programme: names, and what is to be zero."""
    if isinstance(constraints, (str, Expression)) or callable(constraints):
        constraints = (constraints,)
    if not isinstance(constraints, Sequence):
        raise MomentreeError(f"programme: constraints is {constraints!r}. Give a list of equations, ['A = 0.1*t'].")
    rows = [(_name_of(str(plain(each))), each) for each in constraints]
    if velocity:
        if not isinstance(velocity, Mapping):
            raise MomentreeError("programme: velocity of a mechanism is given by the names of joints: {'A': 1.5}.")
        known = {_plain(r): r for joint in model.joints for r in joint.velocities}
        known |= {_plain(r).rstrip("'"): r for r in known.values()}
        for key, law in velocity.items():
            if str(key) not in known:
                hint = suggestion(str(key), [name for name in known if not name.endswith("'")])
                raise MomentreeError(f"programme: velocity: there is no joint '{key}' with one velocity.{hint}")
            text = f"{known[str(key)]} = {plain(law)}"
            rows.append((_name_of(text), text))
    for i, (text, _) in enumerate(rows):
        if text in [other for other, _ in rows[:i]]:
            raise MomentreeError(f"programme: the constraint '{text}' is given twice. Leave one out.")
    return rows


def _name_of(text: str) -> str:
    """The name of a constraint: its equation, without what names may not have."""
    words = " ".join(text.replace("`", "").split())
    return words if "=" in words else f"{words} = 0"


def _plain(reference: Reference) -> str:
    """A coordinate or velocity as users name it outside of expressions."""
    return str(reference).replace("`", "")


def coordinate_names(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of q, without the backquotes that expressions need."""
    return tuple(map(_plain, mechanism.coordinates))


def _refuse_changing(model: Model) -> None:
    """Refuse what changes the equations while the mechanism moves."""
    changing = [(latch.joint, "a latch") for latch in model.latches]
    changing += [(release.joint, "released") for release in model.releases]
    changing += [(switch.name, "switched") for switch in model.switches]
    for name, how in changing:
        said = f"'{name}' has {how}" if how == "a latch" else f"'{name}' is {how}"
        message = f"programme: {said}, and a programme is one system of equations throughout"
        raise MomentreeError(f"{message}. Take it out of the model, and make a programme for each phase.")


def _refuse_coordinates(mechanism: Mechanism) -> None:
    """Refuse quaternions, and more coordinates than derivatives are traced for."""
    for body in mechanism.bodies:
        joint = body.joint
        if body.laws is None and len(joint.type.coordinates) != len(joint.type.velocities):
            message = f"programme: joint '{joint.name}' ({joint.type.kind}) has a quaternion among its coordinates"
            way_out = "A programme takes joints whose velocities are the derivatives of their coordinates"
            raise MomentreeError(f"{message}. {way_out}: describe it by Revolute, Prismatic or Planar joints.")
    if mechanism.nv > MANY:
        message = f"programme: the spanning tree has {mechanism.nv} coordinates; at most {MANY} are possible"
        raise MomentreeError(f"{message}, for derivatives of all masses enter. Lock or leave out some joints.")
    if not mechanism.nv:
        raise MomentreeError("programme: no joint of the mechanism moves freely. Give one that does.")


# --- expressions ---


class _Reader:
    """Expressions of coordinates, time and parameters, with the fixed parameters put in."""

    def __init__(self, model: Model, mechanism: Mechanism):
        self.mechanism = mechanism
        frames, tables = [frame.name for frame in model.frames], tables_by_name(model.tables)
        self.values = Values(dict(model.parameters), mechanism.free, frames, tables)
        self.known = dict.fromkeys(mechanism.coordinates, "coordinate")

    def law(self, raw: Any, what: str) -> Expression:
        try:
            return self.values.law(plain(raw), self.known, what)
        except Mistake as mistake:
            raise MomentreeError(f"programme: {mistake}") from None

    def number(self, raw: Any, what: str) -> float:
        value = self.law(raw, what).value
        if value is None or value < 0:
            raise MomentreeError(f"programme: {what} is {raw!r}. Give a number of at least 0, in 1/s.")
        return float(value)

    def by_velocity(self, given: Any, what: str) -> tuple[Expression, ...]:
        """One expression for each velocity of the tree; 0 where none is given."""
        mechanism, names = self.mechanism, dict[str, list[int]]()
        for i, reference in enumerate(mechanism.velocities):
            names[_plain(reference)] = names[_plain(reference).rstrip("'")] = [i]
        for body in mechanism.bodies:
            names[body.joint.name] = list(range(mechanism.nv)[body.v])
        if not isinstance(given, Mapping):
            entries = given.tolist() if hasattr(given, "tolist") else given
            count = len(entries) if isinstance(entries, (list, tuple)) else 0
            if count != mechanism.nv:
                every = ", ".join(map(_plain, mechanism.velocities))
                raise MomentreeError(
                    f"programme: {what} has {count} entries. Give one for each of {every}, or by name."
                )
            return tuple(self.law(x, what) for x in entries)
        found = [ZERO] * mechanism.nv
        for key, raw in given.items():
            indices = names.get(str(key), [])
            if not indices:
                hint = suggestion(str(key), names)
                raise MomentreeError(f"programme: {what}: '{key}' is no joint of the spanning tree.{hint}")
            laws = list(raw) if isinstance(raw, (list, tuple)) or hasattr(raw, "tolist") else [raw]
            if len(laws) != len(indices):
                message = f"programme: {what}: joint '{key}' has {len(indices)} velocities"
                raise MomentreeError(f"{message}, and {len(laws)} are given.")
            for i, law in zip(indices, laws, strict=True):
                found[i] = self.law(law, f"{what} of {key}")
        return tuple(found)

    def square(self, raw: Any, what: str) -> Square:
        """n x n expressions, n on the diagonal, or one for all of the diagonal."""
        n = self.mechanism.nv
        raw = raw.tolist() if hasattr(raw, "tolist") else raw
        rows = list(raw) if isinstance(raw, (list, tuple)) else [raw] * n
        if not any(isinstance(row, (list, tuple)) for row in rows):
            rows = [[x if i == j else 0 for j in range(n)] for i, x in enumerate(rows)]
        if len(rows) != n or any(len(row) != n for row in rows):
            names = ", ".join(coordinate_names(self.mechanism))
            raise MomentreeError(f"programme: {what} is not a matrix of {n} rows and columns, for {names}.")
        return tuple(tuple(self.law(x, what) for x in row) for row in rows)


def names_of(mechanism: Mechanism, q: Sequence[Any], t: Any, parameters: Mapping[Reference, Any]) -> dict[Any, Any]:
    """Scalars by reference, for expressions of a programme."""
    return {Reference("t"): t, **dict(zip(mechanism.coordinates, q, strict=True)), **parameters}
