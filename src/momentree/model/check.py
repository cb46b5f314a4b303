"""The check of a model: every element is resolved, and all problems are reported at once, each with its place."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from momentree.errors import MOST_HINTS, ExpressionError, Problem, suggestion
from momentree.model.bodies import Body, check_choice, check_size
from momentree.model.constraint_elements import CONSTRAINT_ELEMENTS, EQUATIONS
from momentree.model.elements import Constraint, Joint, Scope, Split, Spring
from momentree.model.elements import known_references as known_references
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.frames import GROUND, Frame, rotation_of
from momentree.model.higher_pairs import OnSurfaces
from momentree.model.inputs import input_checks
from momentree.model.joint_type import JointType
from momentree.model.pair_elements import PAIRS, PairElement
from momentree.model.shapes import SHAPES, Shape
from momentree.model.start import ENTRIES, check_entry, joint_of
from momentree.model.switches import switch_checks
from momentree.model.tables import tables_by_name
from momentree.model.values import Mistake, Values
from momentree.model.vanishing_slopes import check_slopes
from momentree.spatial.scalar import FUNCTIONS

if TYPE_CHECKING:
    from momentree.model.model import Model

MOST = 1000  # problems of one model that are listed
RESERVED = {"t": "time", "pi": "a constant", "deg": "a constant", **dict.fromkeys(FUNCTIONS, "a function")}
# stands in for a wrong field, where its default cannot, to look for the next mistake; a tiny mass fits every inertia,
# and these axes are parallel to no other
STAND_INS = {"mass": 1e-300, "length": 1, "radius": 1, "size": (1, 1, 1), "pitch": 1, "stiffness": 1}
STAND_INS |= {"scale": 1, "outline": ((0, 0), (1, 0), (0, 1))}
STAND_INS |= {"first": (0.48, 0.6, 0.64), "second": (0.64, 0.48, 0.6)}


def problems_of(model: Model) -> list[Problem]:
    """Everything wrong with a model, in the order in which it was written."""
    check = _Check(model)
    parts = [check.parameters, check.tables, check.surroundings, check.bodies, check.joints, check.frames]
    parts += [check.drawn_shapes, check.elements, check.constraints, check.pairs, check.switches, check.loops]
    parts += [check.start, check.inputs]
    try:
        for part in parts:
            part()
    except _Enough:
        check.problems.append(Problem("", f"there may be more: only the first {MOST} problems are listed."))
    return check.problems


class _Enough(Exception):
    """There are more problems than anybody reads."""


class _Check:
    def __init__(self, model: Model):
        self.model = model
        self.problems: list[Problem] = []
        parameters = {name: raw for name, raw in model.parameters if isinstance(name, str)}
        frame_names = [frame.name for frame in model.frames if _is_name(frame.name)]
        self.values = Values(parameters, frames=frame_names, tables=tables_by_name(model.tables))
        self.body_names = dict.fromkeys(body.name for body in model.bodies if isinstance(body.name, str))
        self.known_joints = {joint.name: joint for joint in model.joints if isinstance(joint.name, str)}
        joints = {name: joint for name, joint in self.known_joints.items() if isinstance(joint.type, JointType)}
        self.known = known_references(joints.values())
        frames = [frame for frame in model.frames if _is_name(frame.name)]
        self.scope = Scope(self.values, joints, known_references(joints.values(), frames))
        self.carried_frames = {frame.name for frame in frames if frame.frame.body != GROUND}

    @contextmanager
    def at(self, where: str, *path: str | int) -> Iterator[None]:
        """A mistake made inside becomes a problem."""
        try:
            yield
        except Mistake as mistake:
            self.report(Problem(where, str(mistake), path, missing=mistake.missing))
        except ExpressionError as error:
            self.report(Problem(where, str(error), path))

    def report(self, problem: Problem) -> None:
        """Keep a problem, unless there are too many."""
        self.problems.append(problem)
        if len(self.problems) >= MOST:
            raise _Enough

    def thoroughly(self, where: str, thing: Any, check: Callable[[Any], object], *path: str | int) -> None:
        """Check an element, and again with the wrong field replaced, so that no mistake hides the next."""
        defaults = {field.name: field.default for field in dataclasses.fields(thing)}
        replaced: set[str] = set()
        while True:
            try:
                check(thing)
                return
            except Mistake as mistake:
                if mistake.what in replaced:
                    return  # the stand-in is wrong too; the mistake itself has been reported
                with self.at(where, *path, *([mistake.what] if mistake.what in defaults else [])):
                    raise
                field = mistake.what
            stand_in = STAND_INS.get(field, defaults.get(field, dataclasses.MISSING))
            if stand_in is dataclasses.MISSING:
                return
            replaced.add(field)
            thing = dataclasses.replace(thing, **{field: stand_in})

    # --- one method for each part of a model -----------------------------------------------------------------------

    def parameters(self) -> None:
        self._names("parameter", [name for name, _ in self.model.parameters], "parameters")
        reported = {problem.path for problem in self.problems}
        for name, _ in self.model.parameters:
            if ("parameters", name) in reported:
                continue
            with self.at(self._parameter(name), "parameters", name):
                if not name.isidentifier():
                    raise Mistake("cannot be used in expressions. Use letters, digits and _.")
                if name in self.known_joints:
                    raise Mistake("has the same name as a joint; expressions cannot tell them apart. Rename one.")
                if name in self.values.mistakes:
                    raise self.values.mistakes[name]

    def tables(self) -> None:
        self._names("table", [table.name for table in self.model.tables], "table")
        parameters = {name for name, _ in self.model.parameters}
        for i, table in enumerate(self.model.tables):
            with self.at(f"table {table.name!r}", "table", i, "name"):
                for kind, others in (("joint", self.known_joints), ("parameter", parameters)):
                    if isinstance(table.name, str) and table.name in others:
                        raise Mistake(f"has the same name as a {kind}; a reader cannot tell them apart. Rename one.")
            self.thoroughly(f"table {table.name!r}", table, lambda t: t.check(), "table", i)

    def _parameter(self, name: Any) -> str:
        """What messages call it."""
        return f"{'input' if any(said.name == name for said in self.model.inputs) else 'parameter'} {name!r}"

    def inputs(self) -> None:
        for where, path, check in input_checks(self.model, self.values, self.scope.known):
            with self.at(where, *path):
                check()

    def surroundings(self) -> None:
        model = self.model
        with self.at("", "name"):
            if not isinstance(model.name, str) or not model.name.isprintable():
                raise Mistake(f"name is {model.name!r}; names must be printable strings.")
        with self.at("", "inertia_check"):
            check_choice(model.inertia_check)
        with self.at("", "gravity"):
            self.values.vector(model.gravity, "gravity")
        with self.at("", "tolerance"):
            if model.tolerance is not None:
                self.values.length(model.tolerance, "tolerance")
        for what in ("position", "rotation"):
            laws = getattr(model.ground, what)
            with self.at("ground", "ground", what):
                if laws is not None and (not isinstance(laws, tuple) or len(laws) != 3):
                    raise Mistake(f"{what} needs three laws of t.")
                for law in laws or ():
                    self.values.motion(law, what)

    def bodies(self) -> None:
        self._names("body", [body.name for body in self.model.bodies], "body")
        for i, body in enumerate(self.model.bodies):
            where = f"body {body.name!r}"
            with self.at(where, "body", i, "name"):
                if body.name == GROUND:
                    raise Mistake("'ground' is the external body; choose another name.")
            wrong = [shape for shape in body.shapes if not isinstance(shape, Shape)]
            for k, shape in enumerate(body.shapes):
                if isinstance(shape, Shape):
                    of = f"{where}, {shape.kind}" if len(body.shapes) == 1 else f"{where}, shape {k + 1} ({shape.kind})"
                    self.thoroughly(of, shape, self._shape, "body", i, "shapes", k)
            with self.at(where, "body", i, "massless"):
                if not isinstance(body.massless, bool):
                    body = dataclasses.replace(body, massless=body.mass is None and not body.solids)
                    raise Mistake(f"massless is {self.model.bodies[i].massless!r}; use true or false.")
            with self.at(where, "body", i, "shapes"):
                if wrong:
                    raise Mistake(_no_shape(wrong[0]))
                self.thoroughly(where, body, self._body, "body", i)

    def _shape(self, shape: Shape) -> None:
        shape.check(self.values)
        if shape.has_mass:
            check_size(shape.inertia(self.values))

    def _body(self, body: Body) -> None:
        body.check_sources()
        if not body.solids:  # shapes are checked on their own
            body.rigid_inertia(self.values, self.model.inertia_check)

    def drawn_shapes(self) -> None:
        for i, drawn in enumerate(self.model.shapes):
            where = f"shape {i + 1} on {drawn.frame.body!r}"
            self._frame(where, drawn.frame, "shape", i, "on")
            with self.at(where, "shape", i):
                if not isinstance(drawn.shape, Shape):
                    raise Mistake(_no_shape(drawn.shape))
                self.thoroughly(where, drawn.shape, lambda s: s.check_drawn(self.values), "shape", i)

    def joints(self) -> None:
        self._names("joint", [joint.name for joint in self.model.joints], "joint")
        for i, joint in enumerate(self.model.joints):
            where = f"joint {joint.name!r}"
            for side, frame in (("from", joint.first), ("to", joint.second)):
                self._frame(where, frame, "joint", i, side)
            with self.at(where, "joint", i):
                if not isinstance(joint.type, JointType):
                    raise Mistake(f"{joint.type!r} is not a joint type. Use mt.Revolute('z') or another one.")
                if joint.first.body == joint.second.body:
                    raise Mistake(f"connects {joint.first.body!r} with itself. A joint connects two bodies.")
            if isinstance(joint.type, JointType):
                self.thoroughly(where, joint.type, lambda j: j.resolved(self.values), "joint", i)

    def elements(self) -> None:
        model = self.model
        latched: set[Any] = set()
        for i, latch in enumerate(model.latches):
            where, joint = f"latch of {latch.joint!r}", None
            with self.at(where, "latch", i, "joint"):
                joint = self._joint(latch.joint)
                if latch.joint in latched:
                    raise Mistake(f"joint '{latch.joint}' already has a latch. Remove one of them.")
            latched.add(str(latch.joint))
            with self.at(where, "latch", i, "at"):
                if joint is not None:
                    latch.place(joint, self.values)
        for i, torque in enumerate(model.torques):
            where, joint = f"torque on {torque.joint!r}", None
            with self.at(where, "torque", i, "joint"):
                joint = self._joint(torque.joint)
            with self.at(where, "torque", i, "law"):
                if joint is not None:
                    torque.laws(joint, self.values, self.known)
        for i, force in enumerate(model.forces):
            where = f"force {i + 1} on {force.frame.body!r}"
            self._frame(where, force.frame, "force", i, "on")
            self.thoroughly(where, force, lambda f: f.laws(self.values, self.known), "force", i)
        pairs: list[tuple[str, list[Any], tuple[str, str], tuple[str, str]]] = [
            ("spring", model.springs, ("first", "second"), ("from", "to")),
            ("contact", model.contacts, ("frame", "against"), ("of", "against")),
        ]
        for kind, elements, fields, keys in pairs:
            for i, element in enumerate(elements):
                frames = [getattr(element, field) for field in fields]
                where = f"{kind} {i + 1} between {frames[0].body!r} and {frames[1].body!r}"
                for key, frame in zip(keys, frames, strict=True):
                    self._frame(where, frame, kind, i, key)
                self.thoroughly(where, element, self._element, kind, i)
                with self.at(where, kind, i):
                    if frames[0].body == frames[1].body:
                        raise Mistake("both ends are on the same body. Attach one of them to another body.")

    def frames(self) -> None:
        self._names("frame", [frame.name for frame in self.model.frames], "frame")
        parameters = {name for name, _ in self.model.parameters}
        for i, frame in enumerate(self.model.frames):
            where = f"frame {frame.name!r}"
            with self.at(where, "frame", i, "name"):
                for kind, others in (("joint", self.known_joints), ("parameter", parameters)):
                    if isinstance(frame.name, str) and frame.name in others:
                        message = f"has the same name as a {kind}; expressions cannot tell them apart. Rename one."
                        raise Mistake(message)
            self._frame(where, frame.frame, "frame", i)

    def constraints(self) -> None:
        self._constraint_names()
        for kind in EQUATIONS:
            for i, element in enumerate(getattr(self.model, kind.collection)):
                try:
                    for _, expression in element.equations(self.scope):
                        self._moves(expression)
                        if kind is Constraint and not any(map(self._is_velocity, expression.references())):
                            check_slopes(expression)
                except Mistake as mistake:
                    if mistake.missing and mistake.missing[0] == "joint" and mistake.missing[1] in self.known_joints:
                        continue  # its type is wrong, which is a problem of its own
                    field = "expression" if kind is Constraint else mistake.what
                    with self.at(f"{kind.kind} {element.name!r}", kind.kind, i, *([field] if field else [])):
                        raise

    def _moves(self, expression: Expression) -> None:
        """Some joint or frame that a constraint names must be free to move."""
        names = {reference.name for reference in expression.references()}
        joints = [self.scope.joints[name] for name in names if name in self.scope.joints]
        if any(joint.type.motion is None for joint in joints) or names & self.carried_frames:
            return
        what = "joints with a prescribed motion" if joints else "frames of the ground"
        raise Mistake(f"names only {what}, so there is nothing to constrain. Name one that is free to move.")

    def _is_velocity(self, reference: Reference) -> bool:
        return self.scope.known.get(reference) == "velocity"

    def pairs(self) -> None:
        for kind in PAIRS:
            for i, element in enumerate(getattr(self.model, kind.collection)):
                where = f"{kind.kind} {element.name!r}"
                for key, field in kind.frames.items():
                    self._frame(where, getattr(element, field), kind.kind, i, key)
                self.thoroughly(where, element, self._pair, kind.kind, i)
                support, guided = (frame.body for frame in element.ends())
                with self.at(where, kind.kind, i, *list(kind.frames)[-1:]):
                    if support == guided:
                        raise Mistake(f"both frames are on {support!r}. Name frames of two bodies.")

    def _pair(self, element: PairElement) -> None:
        pair = element.pair(self.values)
        for surface in pair.expressions if isinstance(pair, OnSurfaces) else ():
            check_slopes(surface)

    def _constraint_names(self) -> None:
        """They are unique among joints and all elements that constrain: results and messages use them."""
        elements = [(kind.kind, i, e) for kind in CONSTRAINT_ELEMENTS for i, e in self._listed(kind.collection)]
        times = Counter(element.name for _, _, element in elements if isinstance(element.name, str))
        times.update([*self.known_joints])
        seen: set[str] = {*self.known_joints}
        for kind, i, element in elements:
            with self.at(f"{kind} {element.name!r}", kind, i, "name"):
                if not _is_name(element.name):
                    raise Mistake(f"name is {element.name!r}; names must be printable strings without backquotes.")
                if element.name in seen:
                    message = f"the name is used {times[element.name]} times."
                    raise Mistake(f"{message} Names must be unique among joints and constraints.")
                seen.add(element.name)

    def _listed(self, collection: str) -> Iterable[tuple[int, Any]]:
        return enumerate(getattr(self.model, collection))

    def switches(self) -> None:
        for where, path, check in switch_checks(self.model, self.values, self.known, self._joint):
            with self.at(where, *path):
                check()

    def _element(self, element: Any) -> None:
        if isinstance(element, Spring) and not isinstance(element.tension_only, bool):
            raise Mistake(f"tension_only is {element.tension_only!r}; use true or false.", "tension_only")
        element.numbers(self.values)

    def loops(self) -> None:
        seen: set[Any] = set()
        for i, name in enumerate(self.model.cuts):
            with self.at("cut", "structure", "cut", i):
                joint = self._joint(name)
                if joint is not None and joint.type.motion is not None:
                    raise Mistake(f"joint '{name}' has a prescribed motion. Cut another joint of its loop.")
                if name in seen:
                    raise Mistake(f"joint '{name}' is cut twice; once is enough.")
                seen.add(name)
        cut, opened = set(filter(_is_name, self.model.cuts)), set[Any]()
        for i, split in enumerate(self.model.splits):
            where, path = f"split of {split.body!r}", ("structure", "split", i)
            with self.at(where, *path, "share"):
                split.portion(self.values)
            with self.at(where, *path, "body"):
                if split.body == GROUND:
                    raise Mistake("the ground has no inertia to share. Split a body that moves.")
                self._body_exists(split.body)
            with self.at(where, *path, "joint"):
                self._split_joint(split, self._joint(split.joint), cut)
                if (split.body, split.joint) in opened:
                    raise Mistake(f"joint '{split.joint}' is named twice; one opening is enough.")
                opened.add((split.body, split.joint))

    def _split_joint(self, split: Split, joint: Joint | None, cut: Collection[str]) -> None:
        if joint is None or split.body not in self.body_names:
            return
        ends = (joint.first.body, joint.second.body)
        if split.body not in ends:
            raise Mistake(f"joint '{split.joint}' is between '{ends[0]}' and '{ends[1]}', not at this body.")
        if split.joint in cut:
            raise Mistake(f"joint '{split.joint}' is cut already; one opening is enough.")

    def start(self) -> None:
        start = self.model.start
        if start is None:
            return
        for what in ENTRIES:
            entries = getattr(start, what)
            if not isinstance(entries, dict):
                with self.at("start", "start", what):
                    raise Mistake(f"{what} is {entries!r}; joints by name are expected, such as {{A: 1.0}}.")
                continue
            for key, raw in entries.items():
                with self.at(f"start, {what} {key!r}", "start", what, key):
                    self._start_of(key, raw, what)
        with self.at("start", "start", "t_end"):
            start.times(self.values)
        with self.at("start", "start", "stiff"):
            start.check_stiff()

    def _start_of(self, key: Any, raw: Any, what: str) -> None:
        name, component = joint_of(str(key), self.known_joints)
        if name.startswith("free ") and name not in self.known_joints and name[5:].rstrip("*") in self.body_names:
            return  # the Free joint that a floating body gets
        joint = self._joint(name)
        if joint is not None:
            check_entry(key, raw, what, joint, component, self.values)

    # --- what they share -------------------------------------------------------------------------------------------

    def _names(self, kind: str, names: list[Any], key: str) -> None:
        times = Counter(name for name in names if isinstance(name, str))
        seen: set[str] = set()
        for i, name in enumerate(names):
            path = (key, name) if kind == "parameter" else (key, i, "name")
            with self.at(self._parameter(name) if kind == "parameter" else f"{kind} {name!r}", *path):
                if not _is_name(name):
                    raise Mistake(f"name is {name!r}; names must be printable strings without backquotes.")
                if name in RESERVED and kind in ("parameter", "table", "joint", "frame"):
                    raise Mistake(f"the name means {RESERVED[name]} in expressions; choose another.")
                if name in seen:
                    raise Mistake(f"the name is used {times[name]} times. Names must be unique.")
                seen.add(name)

    def _frame(self, where: str, frame: Frame, *path: str | int) -> None:
        with self.at(where, *path, "body"):
            if frame.body != GROUND:
                self._body_exists(frame.body, GROUND)
        with self.at(where, *path, "at"):
            Frame(frame.body, frame.position).placement(self.values)  # which must not be too far away
        with self.at(where, *path, "rotation"):
            rotation_of(frame.rotation, self.values)

    def _body_exists(self, name: Any, *others: str) -> None:
        if not isinstance(name, str) or name not in self.body_names:
            near = self._near(name, itertools.chain(others, filter(_is_name, self.body_names)))
            raise Mistake(f"there is no body {name!r}.{near}", missing=("body", str(name)))

    def _near(self, name: Any, known: Iterable[str]) -> str:
        return suggestion(str(name), known) if len(self.problems) < MOST_HINTS else ""

    def _joint(self, name: Any) -> Joint | None:
        """The joint of that name; None if its type is wrong, which is a problem of its own."""
        if not isinstance(name, str) or name not in self.known_joints:
            near = self._near(name, filter(_is_name, self.known_joints))
            raise Mistake(f"there is no joint {name!r}.{near}", missing=("joint", str(name)))
        return self.known_joints[name] if isinstance(self.known_joints[name].type, JointType) else None


def _no_shape(thing: Any) -> str:
    return f"shape is {thing!r}; use mt.box or another one: {', '.join(f'mt.{kind}' for kind in SHAPES)}."


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip()) and name.isprintable() and "`" not in name
