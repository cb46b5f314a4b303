"""Meshes of elements: toothed wheels of gears, pulleys, wheels and balls that roll, planes and points of contact.

Each is fixed in a body, in the frame of the body that the user knows. Radii of gears that are given by teeth follow
from the distance of their axes, where that can be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.look import meshes
from momentree.look.meshes import Mesh, along
from momentree.look.plates import toothed_ring, toothed_wheel
from momentree.model.elements import Joint
from momentree.model.frames import GROUND, Frame
from momentree.model.joint_types import Revolute
from momentree.model.model import Model
from momentree.model.values import Values
from momentree.spatial import Transform

Array = NDArray[np.float64]
FEWEST_TEETH, MOST_TEETH = 4, 400  # that are drawn
TEETH = 18  # of the smaller of two gears that are given by their radii
WIDTH = 0.3  # of the smaller radius: the width of gears and pulleys
TREAD = 0.15  # of its radius: the width of a wheel
PATCH = 2.5  # of the size of the mechanism: the edge of what is drawn of a plane
SMALL = 0.012  # of the size of the mechanism: a point of contact


class ElementMesh(NamedTuple):
    """What is drawn of an element.

    | field | meaning                                                                  |
    |-------|--------------------------------------------------------------------------|
    | name  | of the element                                                           |
    | kind  | "gear", "wheel", "plane", "ball" or "point"                              |
    | body  | the name of the body that carries it                                     |
    | mesh  | in the frame of the body that the user knows                             |
    """

    name: str
    kind: str
    body: str
    mesh: Mesh


class Axle(NamedTuple):
    """The axis of a gear: the body that turns, the joint's frame in it, the axis in that frame; and where it is.

    `point`, `axis` and `rotation` (of the joint's frame) are in axes of the ground, with all joints at zero.
    """

    body: str
    frame: Transform
    own_axis: Array
    point: Array
    axis: Array
    rotation: Array


def element_meshes(model: Model, values: Values, size: float, placed: dict[str, Transform]) -> Iterator[ElementMesh]:
    """All of them; `placed` has the frame of each body, by name, with all joints at zero."""
    joints = {joint.name: joint for joint in model.joints}
    axles = {name: _axle(joint, values, placed) for name, joint in joints.items() if isinstance(joint.type, Revolute)}
    for gear in model.gears:
        if gear.first in axles and gear.second in axles:
            pair = axles[gear.first], axles[gear.second]
            yield from _gears(gear.name, pair, gear.radii, gear.teeth, bool(gear.internal), values)
    for rack in model.racks:
        if rack.pinion in axles:
            axle, radius = axles[rack.pinion], float(values.scalar(rack.radius))
            wheel = toothed_wheel(abs(radius), TEETH, WIDTH * abs(radius))
            yield ElementMesh(rack.name, "gear", axle.body, _on_axle(wheel, axle))
    for belt in model.belts:
        radii = [abs(float(values.scalar(radius))) for radius in belt.radii]
        for name, radius in zip((belt.first, belt.second), radii, strict=True):
            if name in axles:
                pulley = meshes.cylinder(radius, WIDTH * min(radii))
                yield ElementMesh(belt.name, "wheel", axles[name].body, _on_axle(pulley, axles[name]))
    yield from _planetaries(model, axles, values)
    yield from _rolling(model, values)
    yield from _supports(model, values, size)


# --- gears ---


def _axle(joint: Joint, values: Values, placed: dict[str, Transform]) -> Axle:
    """Of the body that turns: the second one, unless that is the ground."""
    frame = joint.second if joint.second.body != GROUND else joint.first
    X = frame.placement(values)
    n = values.axis(joint.type.axis)  # type: ignore[attr-defined]  # that of a Revolute joint
    at = placed[frame.body] @ X
    rotation = np.array([[*row] for row in at.rotation.rows], dtype=float)
    own = np.array([*n], dtype=float)
    return Axle(frame.body, X, own, np.array([*at.offset], dtype=float), rotation @ own, rotation)


def _gears(
    name: str, pair: tuple[Axle, Axle], radii: Any, teeth: Any, internal: bool, values: Values
) -> Iterator[ElementMesh]:
    """Two toothed wheels, a tooth of the first in a gap of the second; of internal gears, the larger is a ring."""
    first, second = pair
    n = first.axis
    apart = second.point - first.point
    across = apart - n * (n @ apart)
    distance = float(np.linalg.norm(across))
    if radii is not None:
        r = [abs(float(values.scalar(radius))) for radius in radii]
        z = [TEETH * radius / min(r) for radius in r]
    elif teeth is not None and abs(n @ second.axis) > 0.999 and distance > 0:
        z = [abs(float(values.scalar(count))) for count in teeth]
        total = abs(z[0] - z[1]) if internal else z[0] + z[1]
        r = [distance * count / total for count in z]
    else:
        return
    counts = [int(np.clip(round(count), FEWEST_TEETH, MOST_TEETH)) for count in z]
    larger = int(r[1] >= r[0])
    ahead = across / distance if distance > 0 else np.zeros(3)
    # internal gears touch on the side of the smaller one, seen from the center of the ring
    towards = 1 if larger == 0 or not internal else -1
    directions = [towards * ahead, (towards if internal else -towards) * ahead]
    width = WIDTH * min(r)
    for k, axle in enumerate(pair):
        angle = _angle(axle, directions[k]) + (np.pi / counts[k] if k else 0.0)
        make = toothed_ring if internal and k == larger else toothed_wheel
        yield ElementMesh(name, "gear", axle.body, _on_axle(make(r[k], counts[k], width, angle), axle))


def _angle(axle: Axle, direction: Array) -> float:
    """Of a direction in axes of the ground about an axle, from the first of the axes across it."""
    x, y, _ = (axle.rotation @ along(axle.own_axis)).T @ direction
    return float(np.arctan2(y, x))


def _on_axle(mesh: Mesh, axle: Axle) -> Mesh:
    return mesh.placed(along(axle.own_axis), (0, 0, 0)).fixed(axle.frame)


def _planetaries(model: Model, axles: dict[str, Axle], values: Values) -> Iterator[ElementMesh]:
    """Sun, planets and ring, where a planet says how large they are."""
    for element in model.planetaries:
        z_sun, z_ring = (float(values.scalar(count)) for count in element.teeth)
        z_planet = (z_ring - z_sun) / 2
        for i, name in enumerate(element.planets):
            drawn = [("sun", element.sun, (z_sun, z_planet), False), ("ring", element.ring, (z_ring, z_planet), True)]
            planet_is_drawn = False
            for _, other, teeth, internal in drawn:
                if other not in axles or name not in axles:
                    continue
                wheel, planet = _gears(element.name, (axles[other], axles[name]), None, teeth, internal, values)
                if i == 0:
                    yield wheel
                if not planet_is_drawn:
                    yield planet
                planet_is_drawn = True


# --- wheels, planes, points ---


def _rolling(model: Model, values: Values) -> Iterator[ElementMesh]:
    """The wheel or ball that rolls, on bodies that have no shapes of their own."""
    drawn = _shaped(model)
    for roll in model.rolls:
        radius = float(values.scalar(roll.radius))
        if roll.disc is None:
            mesh = meshes.ball(radius)
        else:
            mesh = meshes.cylinder(radius, TREAD * radius, [*values.axis(roll.disc)])
        if roll.wheel.body not in drawn:
            yield ElementMesh(roll.name, "wheel", roll.wheel.body, mesh.fixed(roll.wheel.placement(values)))


def _shaped(model: Model) -> set[str]:
    """The bodies that are drawn by shapes."""
    return {body.name for body in model.bodies if body.shapes} | {shape.frame.body for shape in model.shapes}


def _supports(model: Model, values: Values, size: float) -> Iterator[ElementMesh]:
    """What others roll on or touch: planes and balls, each once, of the ground and of bodies without shapes; points."""
    supports: list[tuple[str, Frame, Any, Any]] = [(roll.name, roll.on, roll.ball, roll.disc) for roll in model.rolls]
    supports += [(f"contact {i}", one.against, one.ball, None) for i, one in enumerate(model.contacts, 1)]
    shaped, seen = _shaped(model) - {GROUND}, set()
    for name, frame, ball, disc in supports:
        radius = None if ball is None else float(values.scalar(ball))
        if (frame, radius) in seen or frame.body in shaped:
            continue
        seen.add((frame, radius))
        if radius is None:
            edge = PATCH * size
            patch = meshes.box((edge, edge, 0.004 * size)).placed(np.eye(3), (0, 0, -0.004 * size))
            yield ElementMesh(name, "plane", frame.body, patch.fixed(frame.placement(values)))
        elif radius > 0 and disc is None:
            yield ElementMesh(name, "ball", frame.body, meshes.ball(radius).fixed(frame.placement(values)))
    for i, contact in enumerate(model.contacts, 1):
        if float(values.scalar(contact.radius)) == 0:
            point = meshes.ball(SMALL * size).fixed(contact.frame.placement(values))
            yield ElementMesh(f"contact {i}", "point", contact.frame.body, point)
