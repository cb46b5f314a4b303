"""Bodies: mass and inertia by numbers, or by a homogeneous shape that can also be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from momentree.model.expressions.expression import Expression
from momentree.model.frames import Frame
from momentree.model.values import (
    LARGEST_LENGTH,
    Mistake,
    Raw,
    Values,
    check_later,
    not_negative,
    plain,
    positive,
)
from momentree.spatial import RigidInertia, Rotation, Scalar, Transform, Vector
from momentree.spatial.vector import normals

LARGEST_MASS = 1e100  # kg; powers of larger ones overflow
INERTIA_TOLERANCE = 1e-9  # of the largest moment: published inertias have round-off
INERTIA_CHECKS = ("error", "warn")
MOVED = " (moved from the origin to the centre of mass)"


class Impossible(Mistake):
    """A physically impossible inertia.

    | field    | meaning                                |
    |----------|----------------------------------------|
    | fault    | what is wrong with it, without way out |
    | negative | it is less than zero about some axis   |
    """

    def __init__(self, fault: str, negative: bool):
        self.fault, self.negative = fault, negative
        way_out = 'set inertia_check = "warn" for the body, the model or build'
        super().__init__(f"{fault} Correct it or, to use it anyway, {way_out}.", "inertia")


def check_choice(choice: Any) -> None:
    """Whether physically impossible inertias are errors or warnings."""
    if choice not in INERTIA_CHECKS:
        raise Mistake(f"inertia_check is {choice!r}; use 'error' or 'warn'.", "inertia_check")


@dataclass(frozen=True)
class Shape:
    """A homogeneous solid: mass, inertia and drawing in one."""

    kind: ClassVar[str] = ""
    mass: Raw

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, plain(value))

    def inertia(self, values: Values) -> RigidInertia:
        """At the body's frame."""
        raise NotImplementedError

    def _mass(self, values: Values) -> Scalar:
        return positive(values.scalar(self.mass, "mass"), "mass", "kg")


@dataclass(frozen=True)
class Rod(Shape):
    """A straight rod from the body's origin along an axis; slender (no inertia about itself) unless it has a radius."""

    kind = "rod"
    length: Raw
    radius: Raw = 0
    along: Raw = "x"

    def inertia(self, values: Values) -> RigidInertia:
        m, length = self._mass(values), positive(values.scalar(self.length, "length"), "length", "m")
        r = not_negative(values.scalar(self.radius, "radius"), "radius", "m")
        return _cylinder(m, length, r, values.axis(self.along, "along"), length / 2)


@dataclass(frozen=True)
class Cylinder(Shape):
    """A solid cylinder about an axis through its centre."""

    kind = "cylinder"
    radius: Raw
    length: Raw
    axis: Raw = "z"
    centre: Raw = (0, 0, 0)

    def inertia(self, values: Values) -> RigidInertia:
        length = positive(values.scalar(self.length, "length"), "length", "m")
        r = positive(values.scalar(self.radius, "radius"), "radius", "m")
        solid = _cylinder(self._mass(values), length, r, values.axis(self.axis), 0)
        return solid.shifted(values.vector(self.centre, "centre"))


@dataclass(frozen=True)
class Box(Shape):
    """A solid box with edges along the body's axes."""

    kind = "box"
    size: Raw
    centre: Raw = (0, 0, 0)

    def inertia(self, values: Values) -> RigidInertia:
        m = self._mass(values)
        a, b, c = (positive(edge, "size", "m") for edge in values.scalars(self.size, 3, "size"))
        J = (m * (b * b + c * c) / 12, m * (a * a + c * c) / 12, m * (a * a + b * b) / 12, 0, 0, 0)
        return RigidInertia.about_centre(m, values.vector(self.centre, "centre"), J)


@dataclass(frozen=True)
class Sphere(Shape):
    """A solid ball."""

    kind = "sphere"
    radius: Raw
    centre: Raw = (0, 0, 0)

    def inertia(self, values: Values) -> RigidInertia:
        m, r = self._mass(values), positive(values.scalar(self.radius, "radius"), "radius", "m")
        J = 2 * m * r * r / 5
        return RigidInertia.about_centre(m, values.vector(self.centre, "centre"), (J, J, J, 0, 0, 0))


SHAPES: dict[str, type[Shape]] = {shape.kind: shape for shape in (Rod, Box, Sphere, Cylinder)}


def rod(mass: Any, length: Any, radius: Any = 0, along: Any = "x") -> Rod:
    """A rod from the body's origin to `length` (m) along an axis; slender unless it has a radius."""
    return Rod(mass, length, radius, along)


def box(mass: Any, size: Any, centre: Any = (0, 0, 0)) -> Box:
    """A box with edges `size` (m) along the body's axes."""
    return Box(mass, size, centre)


def sphere(mass: Any, radius: Any, centre: Any = (0, 0, 0)) -> Sphere:
    """A solid ball."""
    return Sphere(mass, radius, centre)


def cylinder(mass: Any, radius: Any, length: Any, axis: Any = "z", centre: Any = (0, 0, 0)) -> Cylinder:
    """A solid cylinder about `axis`, its middle at `centre`."""
    return Cylinder(mass, radius, length, axis, centre)


@dataclass(frozen=True)
class Body:
    """A rigid body; positions and inertia are in its own frame.

    | field    | meaning                                                                             |
    |----------|-------------------------------------------------------------------------------------|
    | shape    | a ready-made solid, instead of the numbers below                                     |
    | mass     | kg                                                                                   |
    | com      | centre of mass (m)                                                                   |
    | inertia  | kg m2: (xx, yy, zz), (xx, yy, zz, xy, xz, yz) or 3x3; off-diagonal J_xy = -sum m x y  |
    | about    | "com" or "origin": the point that the inertia is about                               |
    | massless | True for a carrier without inertia, between two joints                               |
    | inertia_check | for an impossible inertia: "error" or "warn"; None: what build or the model says |
    """

    name: str
    shape: Shape | None = None
    mass: Raw = None
    com: Raw = None
    inertia: Raw = None
    about: str = "com"
    massless: bool = False
    inertia_check: str | None = None

    def __post_init__(self) -> None:
        for name in ("mass", "com", "inertia"):
            object.__setattr__(self, name, plain(getattr(self, name)))

    def at(self, position: Sequence[Any], rotation: Any = None) -> Frame:
        """A frame fixed in this body."""
        return Frame(self.name, position, rotation)

    def rigid_inertia(self, values: Values, inertia_check: str = "error") -> RigidInertia:
        """Mass, first moment and inertia at the body's frame, checked to be those of a body that can exist.

        With `inertia_check` "warn", the body's own or else this one, an impossible inertia is accepted.
        """
        self.check_sources()
        if (self.inertia_check or inertia_check) == "error" and (mistake := self.impossible(values)):
            raise mistake
        if self.massless:
            return RigidInertia(0, Vector(0, 0, 0), (0,) * 6)
        M = self.shape.inertia(values) if self.shape is not None else self._from_numbers(values)
        check_size(M)
        return M

    def check_sources(self) -> None:
        """The inertia must be given once: by a shape, by numbers, or by massless."""
        numbers = [name for name in ("mass", "com", "inertia") if getattr(self, name) is not None]
        if self.shape is not None and self.about != "com":
            raise Mistake(f"about is {self.about!r}, but a shape determines its inertia. Remove about.", "about")
        if self.inertia_check is not None:
            check_choice(self.inertia_check)
        if self.about not in ("com", "origin"):
            raise Mistake(f"about is {self.about!r}; use 'com' or 'origin'.", "about")
        if self.massless and (self.shape is not None or numbers):
            raise Mistake("is massless and has a mass. Remove one of the two.", "massless")
        if self.shape is not None and numbers:
            raise Mistake(f"{numbers[0]} is given twice: by the shape and by itself.", numbers[0])
        if not self.massless and self.shape is None and self.mass is None:
            message = "has no mass. Give mass=, a shape such as rod, or massless = true for a carrier without inertia."
            raise Mistake(message, "mass")

    def impossible(self, values: Values) -> Impossible | None:
        """Why the inertia is physically impossible; None if it is possible, or depends on free parameters."""
        if self.massless or self.shape is not None or self.inertia is None:
            return None
        M, J = self._from_numbers(values), _symmetric(self.inertia, values)
        if self.about == "com":
            return _impossible(J, J)
        com = Vector(0, 0, 0) if self.com is None else values.vector(self.com, "com")
        return _impossible(M.shifted(-com).J, J, MOVED)

    def _from_numbers(self, values: Values) -> RigidInertia:
        m = positive(values.scalar(self.mass, "mass"), "mass", "kg")
        com = Vector(0, 0, 0) if self.com is None else values.vector(self.com, "com")
        J = (0,) * 6 if self.inertia is None else _symmetric(self.inertia, values)
        if self.about == "com" or self.inertia is None:
            return RigidInertia.about_centre(m, com, J)
        M = RigidInertia(m, com * m, J)
        check_size(M)
        return M


def _symmetric(raw: Raw, values: Values) -> tuple[Scalar, ...]:
    if isinstance(raw, tuple) and len(raw) == 3 and all(isinstance(row, tuple) for row in raw):
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (values.scalars(row, 3, "inertia") for row in raw)
        for above, below in ((xy, yx), (xz, zx), (yz, zy)):
            numbers = isinstance(above, float) and isinstance(below, float)
            if above != below and not (numbers and math.isclose(above, below, rel_tol=1e-9, abs_tol=1e-12 * abs(xx))):
                raise Mistake(f"inertia is not symmetric: {above} above its diagonal, {below} below.", "inertia")
        return xx, yy, zz, xy, xz, yz
    if isinstance(raw, tuple) and len(raw) == 3:
        return (*values.scalars(raw, 3, "inertia"), 0, 0, 0)
    if isinstance(raw, tuple) and len(raw) == 6:
        return values.scalars(raw, 6, "inertia")
    message = "inertia has the wrong shape; use (xx, yy, zz), (xx, yy, zz, xy, xz, yz) or a 3x3 matrix."
    raise Mistake(message, "inertia")


def check_size(M: RigidInertia) -> None:
    """Refuses a body so large, or so light for its inertia, that squares of its size overflow."""
    numbers = (M.mass, *M.h, *M.J)
    if any(isinstance(entry, Expression) for entry in numbers) or not M.mass > 0:
        return
    if M.mass > LARGEST_MASS:
        raise Mistake(f"mass is larger than {LARGEST_MASS:g} kg, too large to compute with.", "mass")
    if not max(map(abs, M.h)) <= LARGEST_LENGTH * M.mass:
        raise Mistake(f"com is further than {LARGEST_LENGTH:g} m, too far to compute with.", "com")
    if not math.sqrt(max(map(abs, M.J)) / M.mass) <= LARGEST_LENGTH:
        message = f"mass and inertia are those of a body larger than {LARGEST_LENGTH:g} m, too large to compute with."
        raise Mistake(message, "mass")


def _refuse_impossible(J: tuple[Scalar, ...], original: tuple[Scalar, ...], note: str) -> None:
    mistake = _impossible(J, original, note)
    if mistake:
        raise mistake


def _impossible(J: tuple[Scalar, ...], original: tuple[Scalar, ...], note: str = "") -> Impossible | None:
    """Principal moments of a body are not negative, and none exceeds the sum of the two others.

    Round-off is relative to the `original` numbers, before they were moved.
    """
    if any(isinstance(entry, Expression) for entry in (*J, *original)):
        check_later(lambda *numbers: _refuse_impossible(numbers[:6], numbers[6:], note), *J, *original)
        return None
    xx, yy, zz, xy, xz, yz = J
    if xy == xz == yz == 0:
        a, b, c = sorted((xx, yy, zz))
    else:
        a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    slack = INERTIA_TOLERANCE * max(abs(entry) for entry in original)
    if a < -slack:
        return Impossible(f"inertia is not positive{note}: its smallest principal moment is {a:.4g} kg m2.", True)
    if a + b < c - slack:
        moments = f"principal moments {a:.4g} + {b:.4g} < {c:.4g} kg m2"
        return Impossible(
            f"inertia violates the triangle inequality{note}: {moments}, which is physically impossible.", False
        )
    return None


def _cylinder(m: Scalar, length: Scalar, r: Scalar, n: Vector, centre: Scalar) -> RigidInertia:
    across = m * (3 * r * r + length * length) / 12
    n1, n2 = normals(n)
    upright = RigidInertia(m, Vector(0, 0, 0), (across, across, m * r * r / 2, 0, 0, 0))
    return Transform(Rotation(n1, n2, n).T, n * centre).inertia_to_parent(upright)
