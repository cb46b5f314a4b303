"""From a checked Model to a Mechanism: number the graph, open its loops, express everything in joint frames."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from momentree.errors import GraphError, ModelError, Problem, suggestion
from momentree.model import Model
from momentree.model.check import known_references
from momentree.model.elements import Connection
from momentree.model.expressions import Expression, Reference
from momentree.model.frames import GROUND, Frame
from momentree.model.joints import Fixed, Free
from momentree.model.values import TIME, Mistake, Values, check_later
from momentree.spatial import RigidInertia, Transform
from momentree.structure.determinacy import undetermined
from momentree.structure.graph import Graph
from momentree.structure.mechanism import (
    Attached,
    Closure,
    Drive,
    Latch,
    Laws,
    Link,
    Loop,
    Mechanism,
    Push,
    Touch,
    TreeBody,
)
from momentree.structure.size import LARGEST_TOLERANCE


def freeze(model: Model, free: Collection[str] = (), tolerance: Any = None) -> Mechanism:
    """The mechanism of a model, or one error with every problem; a tolerance (m) replaces the model's."""
    if isinstance(free, str):
        raise ModelError([Problem("free", f"is the text {free!r}; a list of names is expected: free=[{free!r}].")])
    problems = model.check()
    names = [name for name, _ in model.parameters]
    for name in free:
        if name not in names:
            problems.append(Problem("free", f"there is no parameter '{name}'.{suggestion(name, names)}"))
    if problems:
        raise ModelError(problems)
    try:
        frozen = _Freezer(model, free).mechanism()
        said = model.tolerance if tolerance is None else tolerance
        return frozen.with_tolerance(checked_tolerance(frozen, said))
    except ModelError as error:
        raise ModelError([model.placed(problem) for problem in error.problems]) from None
    except Mistake as mistake:  # the model is sound, so it is about what was to stay free
        raise ModelError([Problem("free", str(mistake))]) from None


def checked_tolerance(mechanism: Mechanism, raw: Any) -> float | None:
    """A length tolerance (m) as a number, which must be positive and small by the size of the mechanism."""
    if raw is None:
        return None
    try:
        length = mechanism.values.length(raw, "tolerance")
    except Mistake as mistake:
        raise ModelError([Problem("tolerance", str(mistake), ("tolerance",))]) from None
    if not length <= LARGEST_TOLERANCE * mechanism.size:
        part = f"it may be at most {LARGEST_TOLERANCE:g} of the size of the mechanism, which is {mechanism.size:.3g} m"
        raise ModelError([Problem("tolerance", f"tolerance is {length:g} m; {part}.", ("tolerance",))])
    return length


class _Freezer:
    """The steps, and what they pass on: bodies are numbered 1.. as given, then images, then properly."""

    def __init__(self, model: Model, free: Collection[str]):
        self.model, self.free = model, tuple(free)
        self.values = Values(dict(model.parameters), free)
        self.given = {GROUND: 0, **{body.name: i for i, body in enumerate(model.bodies, 1)}}
        self.connections = [
            dataclasses.replace(connection, joint=connection.joint.resolved(self.values)) for connection in model.joints
        ]
        self.added: list[str] = []

    def mechanism(self) -> Mechanism:
        primary = self.connected(self.graph())
        secondary = self.opened(primary)
        graph = secondary.renumbered()
        body_map, arc_map = secondary.numbering
        of_arc = {int(new): self.connections[old] for old, new in enumerate(arc_map)}
        old_of = np.argsort(body_map).tolist()
        bodies = self.tree(graph, of_arc, old_of)
        self.check_determined(bodies)
        self.number_of = {GROUND: 0, **{body.name: body.number for body in bodies}}
        known = known_references(self.connections)
        return Mechanism(
            name=self.model.name,
            gravity=self.values.vector(self.model.gravity),
            ground=self.ground(),
            bodies=bodies,
            loops=self.loops(graph, of_arc, bodies),
            closures=tuple(
                Closure(c.name, e, not any(known.get(r) == "rate" for r in e.references()))
                for c in self.model.constraints
                for e in [c.resolved(self.values, known)]
            ),
            drives=self.drives(bodies, known),
            latches=self.latches(bodies),
            pushes=self.pushes(known),
            links=self.links(),
            contacts=self.contacts(),
            graph=graph,
            added=tuple(self.added),
            free=self.free,
            values=Values(dict(self.model.parameters)),
        )

    # --- the graph -------------------------------------------------------------------------------------------------

    def graph(self) -> Graph:
        """Bodies and joints as given; the freedom of a joint is its weight, so that the freest are cut."""
        arcs = [(self.given[c.first.body], self.given[c.second.body]) for c in self.connections]
        weights = [c.joint.freedom for c in self.connections]
        order = [c.name for c in self.connections]
        cut = [order.index(name) + 1 for name in self.model.cuts]
        try:
            return Graph(arcs, n=len(self.model.bodies), weights=weights, cut=cut)
        except GraphError:
            held = ", ".join(f"'{name}'" for name in self.model.cuts)
            message = f"without {held} a part of the mechanism hangs in the air. Cut joints of loops only."
            raise ModelError([Problem("cut", message, ("structure", "cut"))]) from None

    def connected(self, graph: Graph) -> Graph:
        """Every part that floats gets a Free joint from the ground to its first body."""
        if not graph.floating:
            return graph
        loose = Graph(graph.arcs, n=graph.n, weights=graph.weights)
        names = {c.name for c in self.connections}
        while loose.floating:
            body = self.model.bodies[loose.floating[0] - 1].name
            name = f"free {body}"
            while name in names:
                name += "*"
            self.connections.append(Connection(name, Free(), Frame(GROUND), Frame(body)))
            self.added.append(body)
            arcs = [*loose.arcs.tolist(), (0, self.given[body])]
            loose = Graph(arcs, n=loose.n, weights=[*loose.weights, 6])
        return Graph(loose.arcs, n=loose.n, weights=loose.weights, cut=[a for a in graph.cut if self._insisted(a)])

    def _insisted(self, arc: int) -> bool:
        return self.connections[arc - 1].name in self.model.cuts

    def opened(self, graph: Graph) -> Graph:
        """The secondary graph, in which each split body has an image (Ivanov 2022, section 1)."""
        if not self.model.splits:
            return graph
        order = [c.name for c in self.connections]
        for i, split in enumerate(self.model.splits):
            try:
                graph = graph.split([(self.given[split.body], order.index(split.joint) + 1)])
            except GraphError:
                message = f"joint '{split.joint}' is in no loop, so nothing would hold the other half. "
                where, path = f"split of '{split.body}'", ("structure", "split", i, "joint")
                raise ModelError([Problem(where, message + "Split a body at a joint of a loop.", path)]) from None
        return graph

    # --- the tree --------------------------------------------------------------------------------------------------

    def tree(self, graph: Graph, of_arc: dict[int, Connection], old_of: Sequence[int]) -> tuple[TreeBody, ...]:
        parents, directions = graph.parents.tolist(), graph.direction.tolist()
        pre_images = dict(graph.images)
        n = len(self.model.bodies)
        inertias = self.inertias()
        self.frames: dict[int, Transform] = {0: Transform()}  # number -> X_MB: the user's frame in the joint's
        bodies: list[TreeBody] = []
        nq = nv = 0
        for i in range(1, graph.n + 1):
            old = old_of[i]
            source = old if old <= n else old_of[pre_images[i]]
            name = self.model.bodies[source - 1].name
            c, reverse = of_arc[i], directions[i - 1] > 0
            near, far = (c.second, c.first) if reverse else (c.first, c.second)
            X_BM = far.placement(self.values)
            own = X_BM.inverse()
            prescribed = c.joint.motion is not None
            count_q, count_v = (0, 0) if prescribed else (len(c.joint.coordinates), len(c.joint.rates))
            bodies.append(
                TreeBody(
                    name=name if old <= n else f"{name} (image)",
                    number=i,
                    parent=parents[i - 1],
                    connection=c,
                    reverse=reverse,
                    mount=self.frames[parents[i - 1]] @ near.placement(self.values),
                    own=own,
                    inertia=own.inertia_to_parent(inertias[old]),
                    q=slice(nq, nq + count_q),
                    v=slice(nv, nv + count_v),
                    laws=_laws(c.joint.motion) if prescribed else None,
                    image_of=pre_images.get(i, 0),
                )
            )
            self.frames[i] = own
            nq, nv = nq + count_q, nv + count_v
        return tuple(bodies)

    def inertias(self) -> dict[int, RigidInertia]:
        """By given number, in the frames that the user calls the bodies' own; split bodies share theirs."""
        whole = {i: body.rigid_inertia(self.values) for i, body in enumerate(self.model.bodies, 1)}
        taken: defaultdict[int, float] = defaultdict(float)
        shared = dict(whole)
        for image, split in enumerate(self.model.splits, len(whole) + 1):
            share = split.portion(self.values)
            body = self.given[split.body]
            taken[body] += share
            shared[image] = whole[body] * share
            if isinstance(taken[body], Expression):
                check_later(lambda share, name=split.body: _check_taken(share, name), taken[body])
            else:
                _check_taken(taken[body], split.body)
        for body, share in taken.items():
            shared[body] = whole[body] * (1 - share)
        return shared

    def check_determined(self, bodies: Sequence[TreeBody]) -> None:
        """Every freedom must move some inertia."""
        problems = []
        for body, message in undetermined(bodies):
            name = body.name if not body.image_of else bodies[body.image_of - 1].name
            problems.append(Problem(f"body '{body.name}'", message, ("body", self.given[name] - 1)))
        if problems:
            raise ModelError(problems)

    # --- the loops -------------------------------------------------------------------------------------------------

    def loops(self, graph: Graph, of_arc: dict[int, Connection], bodies: Sequence[TreeBody]) -> tuple[Loop, ...]:
        """The split bodies, then the cut joints, in the order of the rows of epsilon."""
        loops = []
        for image, pre_image in graph.images:
            first, second = (Attached(i, self.frames[i]) for i in (pre_image, image))
            loops.append(Loop(bodies[pre_image - 1].name, Fixed(), first, second, None))
        for arc in graph.cut:
            c = of_arc[arc]
            ends = graph.arcs[arc - 1].tolist()
            first, second = (
                Attached(i, self.frames[i] @ frame.placement(self.values))
                for i, frame in zip(ends, (c.first, c.second), strict=True)
            )
            if c.joint.motion is not None:
                message = "closes a loop of joints that all move as prescribed. Leave one of them free."
                raise ModelError([Problem(f"joint '{c.name}'", message, ("joint", self.connections.index(c)))])
            loops.append(Loop(c.name, c.joint, first, second, c))
        return tuple(loops)

    # --- the forces -------------------------------------------------------------------------------------------------

    def drives(self, bodies: Sequence[TreeBody], known: dict[Reference, str]) -> tuple[Drive, ...]:
        preceded = {body.connection.name: body.number for body in bodies}
        by_name = {c.name: c for c in self.connections}
        return tuple(
            Drive(torque.joint, preceded.get(torque.joint, 0), torque.laws(by_name[torque.joint], self.values, known))
            for torque in self.model.torques
        )

    def latches(self, bodies: Sequence[TreeBody]) -> tuple[Latch, ...]:
        preceded = {body.connection.name: body.number for body in bodies}
        by_name = {c.name: c for c in self.connections}
        for latch in self.model.latches:
            if latch.joint not in preceded:
                message = "closes a loop, and a joint with a latch must not. Cut another joint of the loop."
                raise ModelError([Problem(f"joint '{latch.joint}'", message)])
        return tuple(
            Latch(preceded[latch.joint], latch.place(by_name[latch.joint], self.values)) for latch in self.model.latches
        )

    def pushes(self, known: dict[Reference, str]) -> tuple[Push, ...]:
        found = []
        for force in self.model.forces:
            laws = force.laws(self.values, known)
            found.append(Push(self.attached(force.frame), laws[:3], laws[3:], force.axes == "body"))
        return tuple(found)

    def links(self) -> tuple[Link, ...]:
        found = []
        for s in self.model.springs:
            stiffness, damping, rest = s.numbers(self.values)
            ends = self.attached(s.first), self.attached(s.second)
            found.append(Link(*ends, stiffness, damping, rest, s.tension_only))
        return tuple(found)

    def contacts(self) -> tuple[Touch, ...]:
        found = []
        for i, contact in enumerate(self.model.contacts, 1):
            ends = self.attached(contact.frame), self.attached(contact.against)
            name = f"contact {i} of {contact.frame.body}"
            found.append(Touch(name, *ends, contact.law, **contact.numbers(self.values)))
        return tuple(found)

    def attached(self, frame: Frame) -> Attached:
        """A frame in the frame used here for its body; of a split body, in the pre-image."""
        number = self.number_of[frame.body]
        return Attached(number, self.frames[number] @ frame.placement(self.values))

    def ground(self) -> Laws | None:
        ground = self.model.ground
        if ground.position is None and ground.rotation is None:
            return None
        laws = (*(ground.position or (0, 0, 0)), *(ground.rotation or (0, 0, 0)))
        return _laws([self.values.law(law, {}) for law in laws])


def _check_taken(share: float, body: str) -> None:
    if share >= 1:
        message = f"the images take {share:g} of the body: nothing is left of it. Give smaller shares."
        raise ModelError([Problem(f"split of '{body}'", message, ("structure", "split"))])


def _laws(values: Sequence[Expression]) -> Laws:
    rates = tuple(law.derivative(TIME) for law in values)
    return Laws(tuple(values), rates, tuple(rate.derivative(TIME) for rate in rates))
