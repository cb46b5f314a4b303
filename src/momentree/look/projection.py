"""Projection: from where a mechanism is looked at; its own plane if it is planar, else from a corner of space."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.look.scene import Poses, _own
from momentree.model.joint_type import JointType
from momentree.spatial import Transform
from momentree.structure.mechanism import Attached, Mechanism

Array = NDArray[np.float64]
AXES = "xyz"
PARALLEL = 1e-6  # sine or cosine of the angle between axes that count as parallel or perpendicular
CORNER = (-60.0, 20.0)  # azimuth and elevation, degrees
NORMALS, IN_PLANE = ("Revolute.axis", "PinSlot.pin", "Planar.normal"), ("Prismatic.axis", "PinSlot.slot")
NEUTRAL = ("Fixed", "Free")  # joints that are drawn in any plane


class View(NamedTuple):
    """The directions that point to the right and upwards on the sheet; `planar`: it is the plane of the mechanism."""

    right: Array
    up: Array
    planar: bool = False

    @property
    def towards(self) -> Array:
        """The direction to the viewer."""
        return np.cross(self.right, self.up)

    def flat(self, points: Any) -> Array:
        """Points in space (..., 3) on the sheet (..., 2)."""
        return np.asarray(points, dtype=float) @ np.stack([self.right, self.up], axis=1)

    def depth(self, points: Any) -> Array:
        """How near points are to the viewer; more is nearer."""
        return np.asarray(points, dtype=float) @ self.towards

    def name_of(self, direction: Array) -> str:
        """ "x" or "-z" for an axis of space, "" for another direction."""
        along = int(np.abs(direction).argmax())
        if abs(abs(direction[along]) - 1) > PARALLEL:
            return ""
        return f"{'-' if direction[along] < 0 else ''}{AXES[along]}"


def view_of(view: Any, mechanism: Mechanism, poses: Poses) -> View:
    """The view that a user names.

    | view        | is                                                        |
    |-------------|-----------------------------------------------------------|
    | "auto"      | the plane of a planar mechanism, else "space"             |
    | "space"     | from a corner of space, upwards against gravity           |
    | "xz", "y-z" | the axes to the right and upwards                         |
    | (-60, 20)   | azimuth and elevation of the viewer, degrees              |
    """
    if isinstance(view, View):
        return view
    if isinstance(view, str) and view in ("auto", "space"):
        return (_plane_of(mechanism, poses) if view == "auto" else None) or _from_corner(mechanism, *CORNER)
    axes = re.fullmatch(r"(-?)([xyz])(-?)([xyz])", view) if isinstance(view, str) else None
    if axes and axes[2] != axes[4]:
        right, up = (np.eye(3)[AXES.index(axes[i])] * (-1 if axes[i - 1] else 1) for i in (2, 4))
        return View(right, up)
    if not isinstance(view, str) and np.shape(view) == (2,) and np.isfinite(np.asarray(view, dtype=float)).all():
        return _from_corner(mechanism, float(view[0]), float(view[1]))
    way_out = "Choose 'auto', 'space', two axes such as 'xz', or azimuth and elevation in degrees such as (-60, 20)."
    raise MomentreeError(f"there is no view {view!r}. {way_out}")


class JointPlace(NamedTuple):
    """A joint or higher pair and its two frames, in the frames of bodies that the user knows."""

    name: str
    type: JointType
    first: Attached
    second: Attached

    def axes(self, poses: Poses, k: int = 0) -> dict[str, Array]:
        """Its axes by their fields ("axis", "slot"), in space, at moment k."""
        R = poses.rotations[k, self.first.body]
        rotation = self.first.placement.rotation
        fields = {name: getattr(self.type, name) for name in self.type.axis_fields}
        return {name: R @ np.array([*(rotation @ axis)], dtype=float) for name, axis in fields.items()}


def joint_places(mechanism: Mechanism) -> Iterator[JointPlace]:
    """Of the tree, then of the loops; split bodies have no joint."""
    for body in mechanism.bodies:
        ends = (Attached(body.parent, body.mount), Attached(body.number, Transform()))
        first, second = (_own(mechanism, end) for end in (ends[::-1] if body.reverse else ends))
        yield JointPlace(body.joint.name, body.joint.type, first, second)
    for loop in mechanism.loops:
        if loop.kind != "body":
            yield JointPlace(loop.name, loop.joint_type, _own(mechanism, loop.first), _own(mechanism, loop.second))


def _plane_of(mechanism: Mechanism, poses: Poses) -> View | None:
    """The plane in which all bodies move; None if there is none."""
    normals, along = [], []
    for place in joint_places(mechanism):
        kind, axes = place.type.kind, {f"{place.type.kind}.{name}": axis for name, axis in place.axes(poses).items()}
        if place.type.coordinates and kind not in NEUTRAL and not (axes and axes.keys() <= {*NORMALS, *IN_PLANE}):
            return None
        normals += [axis for name, axis in axes.items() if name in NORMALS]
        along += [axis for name, axis in axes.items() if name in IN_PLANE]
    if not normals and along:
        sideways = [axis for axis in np.eye(3)[[1, 2, 0]] if all(abs(axis @ a) < PARALLEL for a in along)]
        normals = sideways[:1]
    if not normals:
        return None
    n = normals[0]
    parallel = all(np.linalg.norm(np.cross(n, other)) < PARALLEL for other in normals)
    return _facing(mechanism, n) if parallel and all(abs(n @ a) < PARALLEL for a in along) else None


def _facing(mechanism: Mechanism, n: Array) -> View:
    """Onto a plane with the normal n: gravity downwards if it acts in the plane, x or y to the right."""
    wishes = [-np.array([*mechanism.gravity], dtype=float), np.eye(3)[2], np.eye(3)[1]]
    up = next(w for w in ((w - (w @ n) * n) for w in wishes) if np.linalg.norm(w) > 0.1)
    up = up / np.linalg.norm(up)
    right = np.cross(up, n)
    return View(right * np.sign(right[np.abs(right).argmax()]), up, planar=True)


def _from_corner(mechanism: Mechanism, azimuth: float, elevation: float) -> View:
    """From a direction above the horizon, in degrees; upwards is against gravity, or z."""
    g = np.array([*mechanism.gravity], dtype=float)
    up = -g / np.linalg.norm(g) if np.linalg.norm(g) > 0 else np.eye(3)[2]
    ahead = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    ahead = ahead - (ahead @ up) * up
    ahead = ahead / np.linalg.norm(ahead)
    a, e = np.radians(azimuth), np.radians(elevation)
    sideways = np.cross(up, ahead)
    right = -np.sin(a) * ahead + np.cos(a) * sideways
    towards = np.cos(e) * (np.cos(a) * ahead + np.sin(a) * sideways) + np.sin(e) * up
    return View(right, np.cross(towards, right))
