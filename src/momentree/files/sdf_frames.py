"""Frames of SDF: where links, joints, models and named frames are, whatever frames their poses are relative to.

| pose of       | relative to, unless relative_to (before version 1.7: frame) names another                     |
|---------------|-----------------------------------------------------------------------------------------------|
| model         | the model that it is in, or the world; placement_frame says which frame of it has this pose   |
| link          | its model                                                                                     |
| joint         | its child                                                                                     |
| frame         | what it is attached to, else its model                                                        |

Names are looked up in the model that uses them; "a::b" is b of the model a inside it, "world" the world.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from momentree.errors import suggestion
from momentree.files.robot_parts import turns
from momentree.files.robot_xml import Element
from momentree.model.frames import rotation_of
from momentree.model.values import LARGEST_LENGTH, Values
from momentree.spatial import Transform, Vector
from momentree.spatial.rotation import normalised, quaternion_rotation

OWN = "__model__"
FRAMES = ("link", "model", "frame", "joint")  # elements that poses can be relative to


@dataclass(eq=False)
class Scope:
    """A model, or the world: names are unique in it.

    | field  | meaning                                                   |
    |--------|-----------------------------------------------------------|
    | prefix | of the names of its bodies and joints: "", "arm::"        |
    | outer  | the scope around it; None for the world                   |
    | static | whether it does not move                                  |
    | named  | its links, joints, frames and models by name              |
    | inner  | the scopes of its models                                  |
    """

    element: Element
    prefix: str = ""
    outer: Scope | None = None
    static: bool = False
    named: dict[str, Element] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)

    def all(self) -> Iterator[Scope]:
        """It and the scopes inside it, outer ones first."""
        yield self
        for scope in self.inner.values():
            yield from scope.all()


Node = tuple[Scope, str]  # something with a name in a scope; "" is the scope itself


def scope_of(element: Element, prefix: str = "", outer: Scope | None = None) -> Scope:
    """The scope of a model or world, with those inside it."""
    static = truth(element, "static") or (outer is not None and outer.static)
    scope = Scope(element, prefix, outer, static)
    for child in element.all(*FRAMES):
        name = child.get("name")
        other = scope.named.get(name)
        if other is not None and other.tag == child.tag:
            raise child.error(f"there is another <{child.tag}> of this name in line {other.line}. Rename one.")
        if other is not None and FRAMES.index(other.tag) < FRAMES.index(child.tag):
            continue  # before version 1.7, names are unique among links and among joints only: a frame is the link's
        if not name or "::" in name or name in (OWN, "world"):
            raise child.error("no element may have this name. Rename it.")
        scope.named[name] = child
        if child.tag == "model":
            scope.inner[name] = scope_of(child, f"{prefix}{name}::", scope)
    return scope


class Frames:
    """Placements of everything in the world, found once each."""

    def __init__(self, world: Scope):
        self.world = world
        self.known: dict[Node, Transform] = {(world, ""): Transform()}

    def node(self, scope: Scope, name: str, said: Element) -> Node:
        """What a name means in a scope; `said` is the element that uses it."""
        if name == "world":
            return self.world, ""
        if name == OWN:
            return scope, ""
        *models, last = name.split("::")
        inside = scope
        for model in models:
            if model not in inside.inner:
                raise said.error(f"there is no model '{model}' in '{name}'.{suggestion(model, inside.inner)}")
            inside = inside.inner[model]
        if last == OWN:
            return inside, ""
        if last not in inside.named:
            raise said.error(f"there is no frame '{name}'.{suggestion(last, inside.named)}")
        return (inside.inner[last], "") if last in inside.inner else (inside, last)

    def placement(self, node: Node) -> Transform:
        """Where something is in the world."""
        waiting: list[tuple[Node, Transform]] = []
        seen = set()
        while node not in self.known:
            if node in seen:
                raise element_of(node).error(f"its pose is relative to itself, through {_ring(waiting, node)}.")
            seen.add(node)
            reference, X = self._step(*node)
            waiting.append((node, X))
            node = reference
        placed = self.known[node]
        for later, X in reversed(waiting):
            placed = self.known[later] = placed @ X
        return placed

    def link(self, node: Node) -> Node:
        """The link that carries a frame; the world's own node if it is fixed there."""
        seen = set()
        while node != (self.world, ""):
            if node in seen:
                raise element_of(node).error("is attached to itself.")
            seen.add(node)
            scope, name = node
            if name and scope.named[name].tag == "link":
                return node
            node = self._carrier(node)
        return node

    def canonical(self, scope: Scope) -> Node:
        """The link that stands for a model: the one that it names, else the first."""
        name = scope.element.attributes.get("canonical_link", "")
        if name:
            return self.node(scope, name, scope.element)
        for inside in scope.all():
            for link in inside.element.all("link"):
                return inside, link.attributes["name"]
        raise scope.element.error("has no <link>.")

    def _carrier(self, node: Node) -> Node:
        scope, name = node
        if not name:
            return self.canonical(scope)
        element = scope.named[name]
        if element.tag == "joint":
            return self.node(scope, said(element, "child"), element)
        attached = element.attributes.get("attached_to", "")
        return self.node(scope, attached, element) if attached else (scope, "")

    def of(self, scope: Scope, element: Element) -> Transform:
        """Where an element of a scope is in the world, whether or not its name is a frame's."""
        reference, X = self._pose(scope, element)
        return self.placement(reference) @ X

    def _step(self, scope: Scope, name: str) -> tuple[Node, Transform]:
        """What the pose of something is relative to, and the pose."""
        if name:
            return self._pose(scope, scope.named[name])
        element, outer = scope.element, scope.outer or self.world
        pose = element.first("pose")
        X = Transform() if pose is None else transform_of(pose)
        placed = element.attributes.get("placement_frame", "")
        if placed:
            X = X @ self._inside(scope, self.node(scope, placed, element)).inverse()
        relative = relative_to(pose)
        return (self.node(outer, relative, element) if relative else (outer, "")), X

    def _pose(self, scope: Scope, element: Element) -> tuple[Node, Transform]:
        pose = element.first("pose")
        relative = relative_to(pose)
        if not relative and element.tag == "joint":
            relative = said(element, "child")
        if not relative and element.tag == "frame":
            relative = element.attributes.get("attached_to", "")
        X = Transform() if pose is None else transform_of(pose)
        return (self.node(scope, relative, element) if relative else (scope, "")), X

    def _inside(self, scope: Scope, node: Node) -> Transform:
        """Where something is in its model, whose own place is not known yet."""
        placed, seen = Transform(), set()
        while node != (scope, ""):
            if node in seen or node == (self.world, ""):
                raise scope.element.error("its placement_frame is not placed inside it.")
            seen.add(node)
            node, X = self._step(*node)
            placed = X @ placed
        return placed


def element_of(node: Node) -> Element:
    """The element of something."""
    scope, name = node
    return scope.named[name] if name else scope.element


def _ring(waiting: list[tuple[Node, Transform]], node: Node) -> str:
    names = [each[0][1] or OWN for each in waiting]
    ring = names[[each[0] for each in waiting].index(node) :]
    return ", ".join(f"'{name}'" for name in ring[:6]) + (" ..." if len(ring) > 6 else "")


# --- what elements say -----------------------------------------------------------------------------------------------


def relative_to(pose: Element | None) -> str:
    """The frame that a pose names, "" if none."""
    said = {} if pose is None else pose.attributes
    return said.get("relative_to", said.get("frame", ""))


def transform_of(pose: Element) -> Transform:
    """x y z roll pitch yaw, or x y z and a quaternion."""
    if not pose.text.strip():
        return Transform()
    if max(map(abs, pose.numbers(len(pose.text.replace(",", " ").split())))) > LARGEST_LENGTH:
        raise pose.error(f"is further than {LARGEST_LENGTH:g} m, too far to compute with.")
    if pose.attributes.get("rotation_format") == "quat_xyzw":
        x, y, z, *q = pose.numbers(7)
        if not any(q):
            raise pose.error("its quaternion is zero. Write 0 0 0 1 for no rotation.")
        return Transform(quaternion_rotation(normalised(tuple(q))), Vector(x, y, z))
    x, y, z, *angles = pose.numbers(6)
    if pose.attributes.get("degrees", "").strip() in ("true", "1"):
        angles = [math.radians(angle) for angle in angles]
    return Transform(rotation_of(turns(angles[0], angles[1], angles[2]), Values({})), Vector(x, y, z))


def said(element: Element, tag: str) -> str:
    """The text of a child that must be there: a name."""
    child = element.first(tag)
    text = "" if child is None else child.text.strip() or child.attributes.get("link", "").strip()
    if not text:
        raise element.error(f"<{tag}> is missing.")
    return text


def number(element: Element | None, tag: str, default: float, infinite: bool = False) -> float:
    """The number in a child; limits may be infinite."""
    child = None if element is None else element.first(tag)
    if child is None:
        return default
    if infinite and child.text.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return float(child.text)
    return child.numbers(1)[0]


def truth(element: Element, tag: str) -> bool:
    """Whether a child says true."""
    child = element.first(tag)
    return child is not None and child.text.strip().lower() in ("1", "true")
