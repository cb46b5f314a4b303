"""Every problem of a model at once: each thing the user said is resolved, and each mistake is kept with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from momentree.errors import ExpressionError, Problem, suggestion
from momentree.model.bodies import Body, Shape
from momentree.model.elements import Connection
from momentree.model.expressions import Reference
from momentree.model.frames import GROUND, Frame
from momentree.model.joints import Joint
from momentree.model.values import Mistake, Values
from momentree.spatial.scalar import FUNCTIONS

if TYPE_CHECKING:
    from momentree.model.model import Model

RESERVED = {"t": "time", "pi": "a constant", "deg": "a constant", **dict.fromkeys(FUNCTIONS, "a function")}


def problems_of(model: Model) -> list[Problem]:
    """Everything wrong with a model, in the order in which it was written."""
    check = _Check(model)
    check.parameters()
    check.surroundings()
    check.bodies()
    check.joints()
    check.elements()
    check.loops()
    return check.problems


def known_references(joints: Iterable[Connection]) -> dict[Reference, str]:
    """What expressions may call: each joint's coordinates and rates."""
    known: dict[Reference, str] = {}
    for connection in joints:
        known.update(dict.fromkeys(connection.coordinates, "coordinate"))
        known.update(dict.fromkeys(connection.rates, "rate"))
    return known


class _Check:
    def __init__(self, model: Model):
        self.model = model
        self.problems: list[Problem] = []
        self.values = Values(dict(model.parameters))
        self.body_names = {body.name for body in model.bodies if isinstance(body.name, str)}
        self.connections = {joint.name: joint for joint in model.joints if isinstance(joint.name, str)}
        joints = [connection for connection in model.joints if isinstance(connection.joint, Joint)]
        self.known = known_references(joints)

    @contextmanager
    def at(self, where: str, *path: str | int) -> Iterator[None]:
        try:
            yield
        except (Mistake, ExpressionError) as error:
            self.problems.append(Problem(where, str(error), path))

    # --- one method for each part of a model -----------------------------------------------------------------------

    def parameters(self) -> None:
        self._names("parameter", [name for name, _ in self.model.parameters], "parameters")
        for name, _ in self.model.parameters:
            with self.at(f"parameter '{name}'", "parameters", name):
                if isinstance(name, str) and not name.isidentifier():
                    raise Mistake("is no name that an expression could use; write letters, digits and _.")
                if name in self.connections:
                    raise Mistake("has the same name as a joint; expressions could not tell them apart.")
                if name in self.values.mistakes:
                    raise Mistake(self.values.mistakes[name])

    def surroundings(self) -> None:
        with self.at("gravity", "gravity"):
            self.values.vector(self.model.gravity, "gravity")
        for what in ("position", "rotation"):
            laws = getattr(self.model.ground, what)
            with self.at("ground", "ground", what):
                if laws is not None and (not isinstance(laws, tuple) or len(laws) != 3):
                    raise Mistake(f"{what} needs three laws of t.")
                for law in laws or ():
                    self.values.law(law, {}, what)

    def bodies(self) -> None:
        self._names("body", [body.name for body in self.model.bodies], "body")
        for i, body in enumerate(self.model.bodies):
            with self.at(f"body '{body.name}'", "body", i):
                if body.name == GROUND:
                    raise Mistake("'ground' is the external body; choose another name.")
                if body.shape is not None and not isinstance(body.shape, Shape):
                    raise Mistake(f"shape is {body.shape!r}; use mt.rod, mt.box, mt.sphere or mt.cylinder.")
            with self.at(f"body '{body.name}'", "body", i, _culprit(body)):
                if body.shape is None or isinstance(body.shape, Shape):
                    body.rigid_inertia(self.values)

    def joints(self) -> None:
        self._names("joint", [joint.name for joint in self.model.joints], "joint")
        for i, connection in enumerate(self.model.joints):
            where = f"joint '{connection.name}'"
            for side, frame in (("from", connection.first), ("to", connection.second)):
                self._frame(where, frame, "joint", i, side)
            with self.at(where, "joint", i):
                if not isinstance(connection.joint, Joint):
                    raise Mistake(f"{connection.joint!r} is no joint; use mt.Revolute('z') or another of the joints.")
                if connection.first.body == connection.second.body:
                    raise Mistake(f"connects '{connection.first.body}' with itself; a joint stands between two bodies.")
                connection.joint.resolved(self.values)

    def elements(self) -> None:
        model = self.model
        for i, torque in enumerate(model.torques):
            with self.at(f"torque on '{torque.joint}'", "torque", i):
                torque.laws(self._connection(torque.joint), self.values, self.known)
        for i, force in enumerate(model.forces):
            where = f"force {i + 1} on '{force.frame.body}'"
            self._frame(where, force.frame, "force", i, "on")
            with self.at(where, "force", i):
                force.laws(self.values, self.known)
        pairs: list[tuple[str, list[Any], tuple[str, str], tuple[str, str]]] = [
            ("spring", model.springs, ("first", "second"), ("from", "to")),
            ("contact", model.contacts, ("frame", "against"), ("of", "against")),
        ]
        for kind, elements, fields, keys in pairs:
            for i, element in enumerate(elements):
                frames = [getattr(element, field) for field in fields]
                where = f"{kind} {i + 1} between '{frames[0].body}' and '{frames[1].body}'"
                for key, frame in zip(keys, frames, strict=True):
                    self._frame(where, frame, kind, i, key)
                with self.at(where, kind, i):
                    element.numbers(self.values)
                    if frames[0].body == frames[1].body:
                        raise Mistake("both ends are on the same body, so it can do nothing.")
        self._names("constraint", [constraint.name for constraint in model.constraints], "constraint")
        for i, constraint in enumerate(model.constraints):
            with self.at(f"constraint '{constraint.name}'", "constraint", i):
                constraint.resolved(self.values, self.known)

    def loops(self) -> None:
        for i, name in enumerate(self.model.cuts):
            with self.at("cut", "structure", "cut", i):
                self._connection(name)
        for i, split in enumerate(self.model.splits):
            with self.at(f"split of '{split.body}'", "structure", "split", i):
                split.portion(self.values)
                connection = self._connection(split.joint)
                if split.body not in self.body_names:
                    raise Mistake(f"there is no body '{split.body}'.{suggestion(split.body, self.body_names)}")
                ends = (connection.first.body, connection.second.body)
                if split.body not in ends:
                    raise Mistake(f"joint '{split.joint}' is between '{ends[0]}' and '{ends[1]}', not at that body.")
                if split.joint in self.model.cuts:
                    raise Mistake(f"joint '{split.joint}' is cut already; one opening is enough.")

    # --- what they share -------------------------------------------------------------------------------------------

    def _names(self, kind: str, names: list[Any], key: str) -> None:
        times = Counter(name for name in names if isinstance(name, str))
        seen: set[str] = set()
        for i, name in enumerate(names):
            path = (key, name) if kind == "parameter" else (key, i, "name")
            with self.at(kind if not isinstance(name, str) else f"{kind} '{name}'", *path):
                if not isinstance(name, str) or not name.strip() or not name.isprintable() or "`" in name:
                    raise Mistake(f"name is {name!r}; a name is a text of printable characters without backquotes.")
                if name in RESERVED and kind in ("parameter", "joint"):
                    raise Mistake(f"the name means {RESERVED[name]} in expressions; choose another.")
                if name in seen:
                    raise Mistake(f"the name is used {times[name]} times; names are unique.")
            if isinstance(name, str):
                seen.add(name)

    def _frame(self, where: str, frame: Frame, *path: str | int) -> None:
        with self.at(where, *path):
            if frame.body != GROUND and frame.body not in self.body_names:
                raise Mistake(f"there is no body '{frame.body}'.{suggestion(frame.body, [GROUND, *self.body_names])}")
            frame.placement(self.values)

    def _connection(self, name: str) -> Connection:
        if name not in self.connections:
            raise Mistake(f"there is no joint '{name}'.{suggestion(name, self.connections)}")
        return self.connections[name]


def _culprit(body: Body) -> str:
    """The line of a file that an inertia's mistake most likely points at."""
    if body.shape is not None:
        return getattr(body.shape, "kind", "shape")
    return "inertia" if body.inertia is not None else "mass"
