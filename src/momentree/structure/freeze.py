"""From a checked Model to a Mechanism: number the graph, open its loops, express everything in joint frames."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from momentree.errors import GraphError, ModelError, ModelWarning, Problem, suggestion, warn
from momentree.files.massless_links import ways_out
from momentree.model import Model
from momentree.model.check import MOST, known_references, problems_of
from momentree.model.elements import Joint, Split
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.frames import GROUND, Frame
from momentree.model.joint_types import Fixed, Free
from momentree.model.switches import switched_joints
from momentree.model.tables import tables_by_name
from momentree.model.values import TIME, Mistake, Values, check_later
from momentree.spatial import RigidInertia, Scalar, Transform
from momentree.structure.determinacy import Undetermined, undetermined
from momentree.structure.frozen_constraints import (
    check_cuts,
    check_loop,
    frozen_constraints,
    higher_pairs,
    inferred_carriers,
    needed_in_tree,
    tree_weights,
)
from momentree.structure.frozen_force_elements import Freezing, force_elements
from momentree.structure.graph import Graph
from momentree.structure.mechanism import (
    Attached,
    Latch,
    Laws,
    Loop,
    Mechanism,
    Torque,
    TreeBody,
)
from momentree.structure.parts import with_numbers
from momentree.structure.repeated_joints import repeated_joints
from momentree.structure.size import LARGEST_TOLERANCE
from momentree.structure.switched_constraints import at_start, frozen_switches, separating_joints


def freeze(model: Model, free: Collection[str] = (), tolerance: Any = None) -> Mechanism:
    """The mechanism of a model, or one error with every problem; a tolerance (m) replaces the model's."""
    if isinstance(free, str):
        raise ModelError([Problem("free", f"is the text {free!r}; a list of names is expected: free=[{free!r}].")])
    problems = [model.placed(problem) for problem in problems_of(model)]
    names = [name for name, _ in model.parameters]
    for name in free:
        if name not in names:
            problems.append(Problem("free", f"there is no parameter '{name}'.{suggestion(name, names)}"))
    if problems:
        raise ModelError(problems)
    try:
        freezer = _Freezer(model, free)
        mechanism = freezer.mechanism()
        chosen = model.tolerance if tolerance is None else tolerance
        mechanism = mechanism.with_tolerance(checked_tolerance(mechanism, chosen))
    except ModelError as error:
        raise ModelError([model.placed(problem) for problem in error.problems]) from None
    except Mistake as mistake:  # the model is sound, so it is about what was to stay free
        raise ModelError([Problem("free", str(mistake))]) from None
    repeated = [str(model.placed(problem)) for problem in repeated_joints(model, freezer.defaults, freezer.switched)]
    if repeated:
        warn(ModelWarning("\n".join(repeated)))
    if freezer.impossible:
        lines = [*freezer.faults(), 'The motion is computed all the same, because inertia_check = "warn".']
        warn(ModelWarning("\n".join(lines)))
    if inferred := inferred_carriers(model, freezer.joints, freezer.values):
        warn(ModelWarning("\n".join(inferred)))
    return mechanism


class Numbered(NamedTuple):
    """The graph with its loops opened, properly numbered; the joint of each arc; the bodies on their joints."""

    graph: Graph
    of_arc: dict[int, Joint]
    bodies: tuple[TreeBody, ...]


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
    """The steps, with their shared data: bodies are numbered 1.. as in the model, then images, then properly."""

    def __init__(self, model: Model, free: Collection[str]):
        self.model, self.free = model, tuple(free)
        frames = [frame.name for frame in model.frames]
        tables = tables_by_name(model.tables)
        self.values = Values(dict(model.parameters), free, frames, tables)
        self.defaults = Values(dict(model.parameters), (), frames, tables) if free else self.values
        doubtful = (body for body in model.bodies if (body.inertia_check or model.inertia_check) == "warn")
        mistakes = ((body.name, body.impossible(self.defaults)) for body in doubtful)
        self.impossible = {name: mistake for name, mistake in mistakes if mistake}  # inertias that no body has
        self.negative = {name for name, mistake in self.impossible.items() if mistake.negative}
        self.model_numbers = {GROUND: 0, **{body.name: i for i, body in enumerate(model.bodies, 1)}}
        self.joints = [dataclasses.replace(joint, type=joint.type.resolved(self.values)) for joint in model.joints]
        self.added: list[str] = []
        self.switched = switched_joints(model)
        self.joints += separating_joints(self.joints, self.switched, model.cuts)
        self.constraints = frozen_constraints(model, self.joints, self.values)
        self.needed_in_tree = needed_in_tree(self.constraints, self.joints)
        check_cuts(model.cuts, self.needed_in_tree)
        self.cuts = frozenset([*model.cuts, *self.switched])
        self.splits = list(model.splits)

    def mechanism(self) -> Mechanism:
        graph, of_arc, bodies = self.determined(self.connected(self.graph()))
        self.number_of = {GROUND: 0, **{body.name: body.number for body in bodies}}
        references = known_references(self.joints)
        names = (GROUND, *(body.name for body in bodies))
        mechanism = Mechanism(
            name=self.model.name,
            gravity=self.values.vector(self.model.gravity),
            ground=self.ground(),
            bodies=bodies,
            loops=self.loops(graph, of_arc, bodies) + higher_pairs(self.model, self.values, self.attached),
            constraints=self.constraints,
            torques=self.torques(bodies, references),
            latches=self.latches(bodies),
            elements=tuple(force_elements(self.model, Freezing(self.values, references, self.attached, names))),
            graph=graph,
            added=tuple(self.added),
            free=self.free,
            values=self.defaults,
            frames=tuple((named.name, self.attached(named.frame)) for named in self.model.frames),
            switches=frozen_switches(self.model, self.values, references),
            inputs=tuple(said.name for said in self.model.inputs if said.name in self.free),
        )
        return at_start(mechanism)

    def faults(self) -> Iterator[str]:
        """What is wrong with each impossible inertia, and where."""
        for i, body in enumerate(self.model.bodies):
            if body.name in self.impossible:
                fault = self.impossible[body.name].fault
                yield str(self.model.placed(Problem(f"body '{body.name}'", fault, ("body", i, "inertia"))))

    # --- the graph ---

    def graph(self) -> Graph:
        """Bodies and joints as in the model, weighted so that the freest joint that no constraint names is cut."""
        arcs = [(self.model_numbers[c.first.body], self.model_numbers[c.second.body]) for c in self.joints]
        weights = tree_weights(self.joints, self.needed_in_tree)
        numbers = {c.name: arc for arc, c in enumerate(self.joints, 1)}
        cut = [numbers[name] for name in sorted(self.cuts, key=numbers.__getitem__)]
        try:
            return Graph(arcs, n=len(self.model.bodies), weights=weights, cut=cut)
        except GraphError:
            held = ", ".join(f"'{name}'" for name in self.model.cuts)
            message = (
                f"without {held} a part of the mechanism is not connected to the ground. Cut joints of loops only."
            )
            raise ModelError([Problem("cut", message, ("structure", "cut"))]) from None

    def connected(self, graph: Graph) -> Graph:
        """Every part that floats gets a Free joint from the ground to its first body."""
        if not graph.floating:
            return graph
        names = {c.name for c in self.joints}
        insisted = [arc for arc in graph.cut if self._insisted(arc)]
        arcs = graph.arcs.tolist()
        for number in graph.first_floating:
            body = self.model.bodies[number - 1].name
            name = f"free {body}"
            while name in names:
                name += "*"
            self.joints.append(Joint(name, Free(), Frame(GROUND), Frame(body)))
            self.added.append(body)
            arcs.append([0, number])
        weights = [*graph.weights, *[6] * (len(arcs) - graph.m)]
        return Graph(arcs, n=graph.n, weights=weights, cut=insisted)

    def _insisted(self, arc: int) -> bool:
        return self.joints[arc - 1].name in self.cuts

    def opened(self, graph: Graph) -> Graph:
        """The secondary graph, in which each split body has an image (Ivanov 2022, section 1)."""
        if not self.splits:
            return graph
        numbers = {c.name: arc for arc, c in enumerate(self.joints, 1)}
        pairs = [(self.model_numbers[split.body], numbers[split.joint]) for split in self.splits]
        try:
            return graph.split(pairs)
        except GraphError:
            self._refuse_split(graph, pairs)
            raise

    def _refuse_split(self, graph: Graph, pairs: Sequence[tuple[int, int]]) -> None:
        """One by one, to find the one that opens no loop."""
        for i, (split, pair) in enumerate(zip(self.splits, pairs, strict=True)):
            try:
                graph = graph.split([pair])
            except GraphError:
                message = f"joint '{split.joint}' is in no loop, so nothing would hold the other half. "
                where, path = f"split of '{split.body}'", ("structure", "split", i, "joint")
                raise ModelError([Problem(where, message + "Split a body at a joint of a loop.", path)]) from None

    # --- which tree ---

    def determined(self, primary: Graph) -> Numbered:
        """The tree, in which every freedom must move some inertia.

        A body with too little inertia, such as a massless coupler, would move none as the end of a chain. So where
        there are loops, the joints of such bodies enter the tree and others are cut; where that is not enough, loops
        are opened inside bodies that have inertia, half of which goes to either side.
        """
        first = numbered = self.numbered(primary)
        problems = fewest = self.undetermined(numbered.bodies)
        in_tree: set[int] = set()
        while problems and numbered.graph.cut:
            more = self._joints_of(primary, problems, numbered) - in_tree
            if not more:
                break
            in_tree |= more
            numbered = self.numbered(self.with_tree_arcs(primary, in_tree))
            problems = self.undetermined(numbered.bodies)
            fewest = min(fewest, problems, key=len)
        if problems and first.graph.cut:
            self.splits += self.openings(first, self.in_numbers(first.bodies))
            numbered = self.numbered(primary)
            problems = self.undetermined(numbered.bodies)
            fewest = min(fewest, problems, key=len)
        if problems:
            way_out = ways_out(self.model)
            raise ModelError([self._undetermined_problem(each, first, way_out) for each in fewest[:MOST]])
        return numbered

    def _joints_of(self, primary: Graph, problems: Sequence[Undetermined], numbered: Numbered) -> set[int]:
        """The arcs at the bodies that have too little inertia."""
        weak = {self.model_numbers[self._source(each.body, numbered.bodies)] for each in problems}
        return {arc for arc, pair in enumerate(primary.arcs.tolist(), 1) if weak & {*pair}}

    def openings(self, numbered: Numbered, bodies: Sequence[TreeBody]) -> list[Split]:
        """Loops with bodies of too little inertia, each to be opened inside a body that has enough."""
        weak = {each.body.number for each in self.undetermined(numbered.bodies)}
        split_by_user = {split.body for split in self.model.splits}
        images: dict[int, set[int]] = {}  # arcs by the body that is to have images there
        for cycle in numbered.graph.cycles:
            if numbered.of_arc[cycle.cut].name in self.cuts:
                continue
            heavy = [number for number in cycle.bodies if number and number not in weak]
            heavy = [k for k in heavy if bodies[k - 1].inertia.mass > 0 and bodies[k - 1].name not in split_by_user]
            if heavy and weak & {*cycle.bodies}:
                body = max(heavy, key=lambda number: bodies[number - 1].inertia.mass)
                arcs = [arc for arc in cycle.arcs if body in numbered.graph.arcs[arc - 1]]
                images.setdefault(body, set()).add(cycle.cut if cycle.cut in arcs else arcs[0])
        return [
            Split(bodies[body - 1].name, numbered.of_arc[arc].name, 1 / (len(arcs) + 1))
            for body, arcs in images.items()
            for arc in sorted(arcs)
        ]

    def with_tree_arcs(self, graph: Graph, in_tree: Collection[int]) -> Graph:
        """The same graph with other joints cut: these arcs enter the tree before all other joints that move freely."""
        kept = {*(latch.joint for latch in self.model.latches), *self.needed_in_tree}
        ranks = []
        for arc, c in enumerate(self.joints, 1):
            first = 0 if c.type.motion is not None else 1 if c.name in kept else 2 if arc in in_tree else 3
            ranks.append(10 * first + c.type.freedom)
        return Graph(graph.arcs, n=graph.n, weights=ranks, cut=[arc for arc in graph.cut if self._insisted(arc)])

    def numbered(self, primary: Graph) -> Numbered:
        """Loops opened, bodies and joints numbered properly, bodies on their joints."""
        secondary = self.opened(primary)
        body_map, arc_map = secondary.numbering
        of_arc = {int(new): self.joints[old] for old, new in enumerate(arc_map)}
        graph = secondary.renumbered()
        return Numbered(graph, of_arc, self.tree(graph, of_arc, np.argsort(body_map).tolist()))

    def undetermined(self, bodies: Sequence[TreeBody]) -> list[Undetermined]:
        """The bodies that move no inertia, free parameters being at the values that the model gives them."""
        bodies = self.in_numbers(bodies)
        negative = [body.number for body in bodies if self._source(body, bodies) in self.negative]
        return list(undetermined(bodies, negative))

    def in_numbers(self, bodies: Sequence[TreeBody]) -> Sequence[TreeBody]:
        """The bodies in floats."""
        if not self.free:
            return bodies
        values = {Reference(name): self.defaults.scalar(name) for name in self.free}
        return [_in_floats(body, values) for body in bodies]

    def _source(self, body: TreeBody, bodies: Sequence[TreeBody]) -> str:
        """The name of the body in the model."""
        return bodies[body.image_of - 1].name if body.image_of else body.name

    def _undetermined_problem(self, each: Undetermined, numbered: Numbered, way_out: Callable[[str], str]) -> Problem:
        name = self._source(each.body, numbered.bodies)
        each = dataclasses.replace(each, floats=name in self.added)
        message, graph = str(each) + (way_out(each.body.joint.name) if not each.negative else ""), numbered.graph
        beside = [numbered.of_arc[arc].name for arc in graph.cut if each.body.number in graph.arcs[arc - 1]]
        insisted = [joint for joint in beside if joint in self.cuts]
        if insisted:
            message += f" Or cut another joint of its loop than '{insisted[0]}', so that it carries what has inertia."
        return Problem(f"body '{each.body.name}'", message, ("body", self.model_numbers[name] - 1))

    # --- the tree ---

    def tree(self, graph: Graph, of_arc: dict[int, Joint], old_of: Sequence[int]) -> tuple[TreeBody, ...]:
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
            prescribed = c.type.motion is not None
            count_q, count_v = (0, 0) if prescribed else (len(c.type.coordinates), len(c.type.velocities))
            bodies.append(
                TreeBody(
                    name=name if old <= n else f"{name} (image)",
                    number=i,
                    parent=parents[i - 1],
                    joint=c,
                    reverse=reverse,
                    mount=self.frames[parents[i - 1]] @ near.placement(self.values),
                    own=own,
                    inertia=own.inertia_to_parent(inertias[old]),
                    q=slice(nq, nq + count_q),
                    v=slice(nv, nv + count_v),
                    laws=_laws(c.type.motion) if prescribed else None,
                    image_of=pre_images.get(i, 0),
                )
            )
            self.frames[i] = own
            nq, nv = nq + count_q, nv + count_v
        return tuple(bodies)

    def inertias(self) -> dict[int, RigidInertia]:
        """By number in the model, in the user's frames of the bodies; split bodies share theirs with their images."""
        choice = self.model.inertia_check
        whole = {i: body.rigid_inertia(self.values, choice) for i, body in enumerate(self.model.bodies, 1)}
        taken: defaultdict[int, float] = defaultdict(float)
        shared = dict(whole)
        for image, split in enumerate(self.splits, len(whole) + 1):
            share = split.portion(self.values)
            body = self.model_numbers[split.body]
            taken[body] += share
            shared[image] = whole[body] * share
            if isinstance(taken[body], Expression):
                check_later(lambda share, name=split.body: _check_taken(share, name), taken[body])
            else:
                _check_taken(taken[body], split.body)
        for body, share in taken.items():
            shared[body] = whole[body] * (1 - share)
        return shared

    # --- the loops ---

    def loops(self, graph: Graph, of_arc: dict[int, Joint], bodies: Sequence[TreeBody]) -> tuple[Loop, ...]:
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
            if c.type.motion is not None:
                message = "closes a loop of joints that all have a prescribed motion. Leave one of them free."
                raise ModelError([Problem(f"joint '{c.name}'", message, ("joint", self.joints.index(c)))])
            if c.name in self.needed_in_tree:
                others = [of_arc[a].name for cycle in graph.cycles if cycle.cut == arc for a in cycle.arcs[1:]]
                check_loop(c, others, self.needed_in_tree, ("joint", self.joints.index(c)))
            loops.append(Loop(c.name, c.type, first, second, c))
        return tuple(loops)

    # --- the elements ---

    def torques(self, bodies: Sequence[TreeBody], references: dict[Reference, str]) -> tuple[Torque, ...]:
        preceded = {body.joint.name: body.number for body in bodies}
        by_name = {c.name: c for c in self.joints}
        return tuple(
            Torque(
                torque.joint, preceded.get(torque.joint, 0), torque.laws(by_name[torque.joint], self.values, references)
            )
            for torque in self.model.torques
        )

    def latches(self, bodies: Sequence[TreeBody]) -> tuple[Latch, ...]:
        preceded = {body.joint.name: body.number for body in bodies}
        by_name = {c.name: c for c in self.joints}
        for latch in self.model.latches:
            if latch.joint not in preceded:
                message = "closes a loop, and a joint with a latch must not. Cut another joint of the loop."
                raise ModelError([Problem(f"joint '{latch.joint}'", message)])
        return tuple(
            Latch(preceded[latch.joint], latch.place(by_name[latch.joint], self.values)) for latch in self.model.latches
        )

    def attached(self, frame: Frame) -> Attached:
        """A frame in the frame used here for its body; of a split body, in the pre-image."""
        number = self.number_of[frame.body]
        return Attached(number, self.frames[number] @ frame.placement(self.values))

    def ground(self) -> Laws | None:
        ground = self.model.ground
        if ground.position is None and ground.rotation is None:
            return None
        laws = (*(ground.position or (0, 0, 0)), *(ground.rotation or (0, 0, 0)))
        return _laws([self.values.motion(law) for law in laws])


def _check_taken(share: float, body: str) -> None:
    if share >= 1:
        message = f"the images take {share:g} of the body, which leaves nothing of it. Give smaller shares."
        raise ModelError([Problem(f"split of '{body}'", message, ("structure", "split"))])


def _laws(values: Sequence[Expression]) -> Laws:
    velocities = tuple(law.derivative(TIME) for law in values)
    return Laws(tuple(values), velocities, tuple(velocity.derivative(TIME) for velocity in velocities))


def _in_floats(body: TreeBody, values: Mapping[Reference, Scalar]) -> TreeBody:
    """The body in floats, at these values of free parameters."""
    fixed: TreeBody = with_numbers(body, lambda x: float(x.substitute(values)) if isinstance(x, Expression) else x)
    return fixed
