"""Shapes: homogeneous solids that give a body its inertia, by mass or density, or are only drawn."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from momentree.errors import spell_checked
from momentree.model.colors import color_of
from momentree.model.expressions.expression import Expression
from momentree.model.frames import Frame, rotation_of
from momentree.model.mesh_files import Triangles, check_file, digest_of, integrals_of, triangles_of
from momentree.model.outlines import Moments, check_outline, corners, moments_of
from momentree.model.values import Mistake, Raw, Values, check_later, not_negative, plain, positive
from momentree.spatial import RigidInertia, Rotation, Scalar, Transform, Vector
from momentree.spatial.scalar import absolute
from momentree.spatial.vector import normals

ORIGIN = (0, 0, 0)
# the axes of an outline in a coordinate plane, and the axis across it
PLANES = {"xy": (0, 1, 2), "xz": (0, 2, 1), "yz": (1, 2, 0)}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A homogeneous solid in the frame of a body: with a mass or a density it has inertia, without it is only drawn.

    | field    | meaning                                                                    |
    |----------|----------------------------------------------------------------------------|
    | mass     | kg                                                                         |
    | density  | kg/m3, instead of the mass                                                 |
    | color    | a name, "#rrggbb" or (red, green, blue), 0 to 255; None: that of the body  |
    | position | where the origin of the shape is in the body (m)                           |
    | rotation | of the shape in the body, as for a frame                                   |
    """

    kind: ClassVar[str] = ""
    mass: Raw = None
    density: Raw = None
    color: Raw = None
    position: Raw = ORIGIN
    rotation: Raw = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, plain(value))

    def at(self, position: Sequence[Any], rotation: Any = None) -> Self:
        """The same shape at another place in the body: `mt.box(...).at((0, 0, 1), mt.turn("z", 0.5))`."""
        return replace(self, position=position, rotation=rotation)

    def with_digest(self) -> Shape:
        """The same, bound to the content of the file that gives its inertia, if there is one."""
        return self

    @property
    def has_mass(self) -> bool:
        """Whether it gives inertia to its body, or is only drawn."""
        return self.mass is not None or self.density is not None

    def inertia(self, values: Values) -> RigidInertia:
        """At the body's frame."""
        solid = self.solid(self._mass(values), values)
        if self.rotation is None and self.position == ORIGIN:
            return solid
        return self.placement(values).inertia_to_parent(solid)

    def placement(self, values: Values) -> Transform:
        """Of the shape in its body."""
        try:
            rotation_of(self.rotation, values)
        except Mistake as mistake:
            raise Mistake(str(mistake), "rotation") from None
        return Frame("", self.position, self.rotation).placement(values)

    def check(self, values: Values) -> None:
        """Raises Mistake for a color, place or size that cannot be meant."""
        if self.color is not None:
            color_of(self.color)
        self.placement(values)
        if self.has_mass:
            self.inertia(values)
        else:
            self.check_sizes(values)

    def check_drawn(self, values: Values) -> None:
        """The same for one that may only be drawn."""
        if self.has_mass:
            what = "mass" if self.mass is not None else "density"
            message = f"has a {what}, but is only drawn. Leave it out, or give the shape to its body: shapes=[...]."
            raise Mistake(message, what)
        self.check(values)

    def check_sizes(self, values: Values) -> None:
        """Raises Mistake for a size that cannot be meant."""
        self.solid(1.0, values)

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        """The inertia for a mass m at the shape's own origin."""
        raise NotImplementedError

    def volume(self, values: Values) -> Scalar:
        """m3."""
        raise NotImplementedError

    def _mass(self, values: Values) -> Scalar:
        if self.density is None:
            return positive(values.scalar(self.mass, "mass"), "mass", "kg")
        if self.mass is not None:
            raise Mistake("mass and density are both given. Remove one of them.", "density")
        rho, volume = positive(values.scalar(self.density, "density"), "density", "kg/m3"), self.volume(values)
        _has_volume(volume)
        return rho * volume


def _has_volume(volume: Scalar) -> None:
    if isinstance(volume, Expression):
        check_later(_has_volume, volume)
    elif volume == 0:  # of a line or an area; sizes below zero are mistakes of their own
        raise Mistake(
            "has no volume, so its density gives no mass. Give it a radius or thickness, or mass=.", "density"
        )


# --- round ones ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rod(Shape):
    """A straight rod from the body's origin along an axis; slender (no inertia about itself) unless it has a radius."""

    kind = "rod"
    length: Raw
    radius: Raw = 0
    along: Raw = "x"

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        length, r = self._sizes(values)
        return _cylinder(m, length, r, values.axis(self.along, "along"), length / 2)

    def volume(self, values: Values) -> Scalar:
        length, r = self._sizes(values)
        return math.pi * r * r * length

    def _sizes(self, values: Values) -> tuple[Scalar, Scalar]:
        length = positive(values.scalar(self.length, "length"), "length", "m")
        return length, not_negative(values.scalar(self.radius, "radius"), "radius", "m")


@dataclass(frozen=True, kw_only=True)
class Cylinder(Shape):
    """A solid cylinder about an axis through its centre."""

    kind = "cylinder"
    radius: Raw
    length: Raw
    axis: Raw = "z"
    centre: Raw = ORIGIN

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        length, r = self._sizes(values)
        solid = _cylinder(m, length, r, values.axis(self.axis), 0)
        return solid.shifted(values.vector(self.centre, "centre"))

    def volume(self, values: Values) -> Scalar:
        length, r = self._sizes(values)
        return math.pi * r * r * length

    def _sizes(self, values: Values) -> tuple[Scalar, Scalar]:
        length = positive(values.scalar(self.length, "length"), "length", "m")
        return length, positive(values.scalar(self.radius, "radius"), "radius", "m")


@dataclass(frozen=True, kw_only=True)
class Disc(Shape):
    """A round disc about an axis through its centre, a short cylinder; infinitely thin unless it has a thickness."""

    kind = "disc"
    radius: Raw
    thickness: Raw = 0
    axis: Raw = "z"
    centre: Raw = ORIGIN

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        thickness, r = self._sizes(values)
        solid = _cylinder(m, thickness, r, values.axis(self.axis), 0)
        return solid.shifted(values.vector(self.centre, "centre"))

    def volume(self, values: Values) -> Scalar:
        thickness, r = self._sizes(values)
        return math.pi * r * r * thickness

    def _sizes(self, values: Values) -> tuple[Scalar, Scalar]:
        thickness = not_negative(values.scalar(self.thickness, "thickness"), "thickness", "m")
        return thickness, positive(values.scalar(self.radius, "radius"), "radius", "m")


@dataclass(frozen=True, kw_only=True)
class Capsule(Shape):
    """A cylinder with a half ball at each end; `length` is that of the cylinder."""

    kind = "capsule"
    radius: Raw
    length: Raw
    axis: Raw = "z"
    centre: Raw = ORIGIN

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        # the cylinder, and two half balls whose flat sides are L/2 from the centre and whose own centres 3/8 r further
        L, r = self._sizes(values)
        ends = m * (4 * r) / (3 * L + 4 * r)
        middle = m - ends
        along = middle * r * r / 2 + ends * 2 * r * r / 5
        across = middle * (3 * r * r + L * L) / 12 + ends * (2 * r * r / 5 + L * L / 4 + 3 * L * r / 8)
        solid = _about_axis(m, across, along, values.axis(self.axis), 0)
        return solid.shifted(values.vector(self.centre, "centre"))

    def volume(self, values: Values) -> Scalar:
        L, r = self._sizes(values)
        return math.pi * r * r * (L + 4 * r / 3)

    def _sizes(self, values: Values) -> tuple[Scalar, Scalar]:
        length = positive(values.scalar(self.length, "length"), "length", "m")
        return length, positive(values.scalar(self.radius, "radius"), "radius", "m")


@dataclass(frozen=True, kw_only=True)
class Sphere(Shape):
    """A solid ball."""

    kind = "sphere"
    radius: Raw
    centre: Raw = ORIGIN

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        r = positive(values.scalar(self.radius, "radius"), "radius", "m")
        J = 2 * m * r * r / 5
        return RigidInertia.about_centre(m, values.vector(self.centre, "centre"), (J, J, J, 0, 0, 0))

    def volume(self, values: Values) -> Scalar:
        r = positive(values.scalar(self.radius, "radius"), "radius", "m")
        return 4 * math.pi * r * r * r / 3


# --- with edges ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Box(Shape):
    """A solid box with edges along the body's axes."""

    kind = "box"
    size: Raw
    centre: Raw = ORIGIN

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        a, b, c = self._edges(values)
        J = (m * (b * b + c * c) / 12, m * (a * a + c * c) / 12, m * (a * a + b * b) / 12, 0, 0, 0)
        return RigidInertia.about_centre(m, values.vector(self.centre, "centre"), J)

    def volume(self, values: Values) -> Scalar:
        a, b, c = self._edges(values)
        return a * b * c

    def _edges(self, values: Values) -> tuple[Scalar, ...]:
        return tuple(positive(edge, "size", "m") for edge in values.scalars(self.size, 3, "size"))


@dataclass(frozen=True, kw_only=True)
class Polygon(Shape):
    """A plate: an outline in a coordinate plane, with its thickness half on each side; infinitely thin without one.

    | field     | meaning                                                                          |
    |-----------|----------------------------------------------------------------------------------|
    | outline   | corners one after another, each two numbers (m), clockwise or counterclockwise   |
    | thickness | m                                                                                |
    | plane     | "xy", "xz" or "yz": the axes of these two numbers                                |
    """

    kind = "polygon"
    outline: Raw
    thickness: Raw = 0
    plane: Raw = "xy"

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        first, moments, thickness = self._moments(values)
        a, b, n = PLANES[self.plane]
        h, K = [0.0] * 3, [[0.0] * 3 for _ in range(3)]
        h[a], h[b] = m * moments.a / moments.area, m * moments.b / moments.area
        K[a][a], K[b][b] = m * moments.aa / moments.area, m * moments.bb / moments.area
        K[a][b] = K[b][a] = m * moments.ab / moments.area
        K[n][n] = m * thickness * thickness / 12
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = K
        corner = RigidInertia(m, Vector(*h), (yy + zz, xx + zz, xx + yy, -xy, -xz, -yz))
        return corner.shifted(self.in_space(first))

    def volume(self, values: Values) -> Scalar:
        _, moments, thickness = self._moments(values)
        return absolute(moments.area) * thickness

    def in_space(self, point: Sequence[Scalar], height: Scalar = 0) -> Vector:
        """A point of the plane, or at some height above it, in the frame of the shape."""
        a, b, n = PLANES[self.plane]
        placed: list[Scalar] = [0, 0, 0]
        placed[a], placed[b], placed[n] = point[0], point[1], height
        return Vector(*placed)

    def _moments(self, values: Values) -> tuple[tuple[Scalar, Scalar], Moments, Scalar]:
        """The first corner, the moments of the area about it, and the thickness."""
        if self.plane not in PLANES:
            raise Mistake(f"plane is {self.plane!r}; use 'xy', 'xz' or 'yz'.", "plane")
        thickness = not_negative(values.scalar(self.thickness, "thickness"), "thickness", "m")
        points = corners(self.outline, values)
        check_outline(points)
        (a, b), *_ = points
        return (a, b), moments_of([(x - a, y - b) for x, y in points]), thickness


@dataclass(frozen=True, kw_only=True)
class MeshShape(Shape):
    """Triangles from a file: STL, OBJ or PLY.

    | field  | meaning                                                                            |
    |--------|------------------------------------------------------------------------------------|
    | file   | its path, made absolute                                                            |
    | scale  | m for one unit of the file: 0.001 if it is in millimeters                          |
    | hull   | True: with the inertia of the convex hull, for meshes that are not closed          |
    | digest | SHA-256 of the file that gave the inertia: with another it is refused; None: any   |
    """

    kind = "mesh"
    file: Raw
    scale: Raw = 1
    hull: Raw = False
    digest: Raw = None

    def __post_init__(self) -> None:
        file = os.fspath(self.file) if isinstance(self.file, os.PathLike) else self.file
        object.__setattr__(self, "file", os.path.abspath(file) if isinstance(file, str) and file else file)
        super().__post_init__()

    def solid(self, m: Scalar, values: Values) -> RigidInertia:
        scale = self.scaling(values)
        found = integrals_of(self.file, self.hull, self.digest)
        J = tuple(m * (scale * scale) * entry for entry in found.J)
        return RigidInertia.about_centre(m, Vector(*(scale * x for x in found.com)), J)

    def volume(self, values: Values) -> Scalar:
        scale = self.scaling(values)
        return integrals_of(self.file, self.hull, self.digest).volume * (scale * scale * scale)

    def with_digest(self) -> MeshShape:
        return replace(self, digest=digest_of(self.file)) if self.has_mass else self

    def scaling(self, values: Values) -> Scalar:
        """m for one unit of the file."""
        if not isinstance(self.hull, bool):
            raise Mistake(f"hull is {self.hull!r}; use true or false.", "hull")
        return positive(values.scalar(self.scale, "scale"), "scale", "m")

    def check_sizes(self, values: Values) -> None:
        """That the file is there; it is read when it is drawn."""
        self.scaling(values)
        check_file(self.file)

    def triangles(self) -> Triangles:
        """In units of the file."""
        return triangles_of(self.file)


SHAPES: dict[str, type[Shape]] = {
    shape.kind: shape for shape in (Rod, Box, Sphere, Cylinder, Disc, Capsule, Polygon, MeshShape)
}


@dataclass(frozen=True)
class DrawnShape:
    """A shape that is only drawn, in a frame of a body or of the ground."""

    frame: Frame
    shape: Shape


# --- as the user makes them ------------------------------------------------------------------------------------------


@spell_checked
def rod(
    mass: Any = None, length: Any = None, radius: Any = 0, along: Any = "x", *, density: Any = None, color: Any = None
) -> Rod:
    """A rod from the body's origin to `length` (m) along an axis; slender unless it has a radius."""
    return Rod(mass=mass, density=density, color=color, length=length, radius=radius, along=along)


@spell_checked
def box(mass: Any = None, size: Any = None, centre: Any = ORIGIN, *, density: Any = None, color: Any = None) -> Box:
    """A box with edges `size` (m) along the body's axes."""
    return Box(mass=mass, density=density, color=color, size=size, centre=centre)


@spell_checked
def sphere(
    mass: Any = None, radius: Any = None, centre: Any = ORIGIN, *, density: Any = None, color: Any = None
) -> Sphere:
    """A solid ball."""
    return Sphere(mass=mass, density=density, color=color, radius=radius, centre=centre)


@spell_checked
def cylinder(
    mass: Any = None,
    radius: Any = None,
    length: Any = None,
    axis: Any = "z",
    centre: Any = ORIGIN,
    *,
    density: Any = None,
    color: Any = None,
) -> Cylinder:
    """A solid cylinder about `axis`, its middle at `centre`."""
    how = {"mass": mass, "density": density, "color": color}
    return Cylinder(radius=radius, length=length, axis=axis, centre=centre, **how)


@spell_checked
def disc(
    mass: Any = None,
    radius: Any = None,
    thickness: Any = 0,
    axis: Any = "z",
    centre: Any = ORIGIN,
    *,
    density: Any = None,
    color: Any = None,
) -> Disc:
    """A round disc about `axis`, its middle at `centre`; infinitely thin unless it has a thickness (m)."""
    how = {"mass": mass, "density": density, "color": color}
    return Disc(radius=radius, thickness=thickness, axis=axis, centre=centre, **how)


@spell_checked
def capsule(
    mass: Any = None,
    radius: Any = None,
    length: Any = None,
    axis: Any = "z",
    centre: Any = ORIGIN,
    *,
    density: Any = None,
    color: Any = None,
) -> Capsule:
    """A cylinder of this `length` (m) with a half ball at each end, about `axis`, its middle at `centre`."""
    how = {"mass": mass, "density": density, "color": color}
    return Capsule(radius=radius, length=length, axis=axis, centre=centre, **how)


@spell_checked
def polygon(
    mass: Any = None,
    outline: Any = None,
    thickness: Any = 0,
    plane: str = "xy",
    *,
    density: Any = None,
    color: Any = None,
) -> Polygon:
    """A plate: corners ((x, y), ...) in m in the plane "xy", "xz" or "yz", its thickness (m) half on each side."""
    return Polygon(mass=mass, density=density, color=color, outline=outline, thickness=thickness, plane=plane)


@spell_checked
def mesh(
    file: str | os.PathLike[str],
    scale: Any = 1,
    *,
    mass: Any = None,
    density: Any = None,
    hull: bool = False,
    color: Any = None,
) -> MeshShape:
    """Triangles from an STL, OBJ or PLY file, `scale` m for one unit: `mt.mesh("link.stl", scale=0.001)`.

    Its inertia is that of the solid that the triangles enclose or, with `hull`, that of their convex hull.
    """
    return MeshShape(mass=mass, density=density, color=color, file=file, scale=scale, hull=hull)


def _cylinder(m: Scalar, length: Scalar, r: Scalar, n: Vector, centre: Scalar) -> RigidInertia:
    return _about_axis(m, m * (3 * r * r + length * length) / 12, m * r * r / 2, n, centre)


def _about_axis(m: Scalar, across: Scalar, along: Scalar, n: Vector, centre: Scalar) -> RigidInertia:
    """Of a solid of revolution about n, by its moments about its center of mass, which is that far along n."""
    n1, n2 = normals(n)
    upright = RigidInertia(m, Vector(0, 0, 0), (across, across, along, 0, 0, 0))
    return Transform(Rotation(n1, n2, n).T, n * centre).inertia_to_parent(upright)
