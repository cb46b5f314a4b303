"""Bodies: mass and inertia by numbers or by homogeneous shapes, and what is drawn of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from momentree.errors import spell_checked
from momentree.model.expressions.expression import Expression
from momentree.model.frames import Frame
from momentree.model.shapes import Shape
from momentree.model.values import LARGEST_LENGTH, Mistake, Raw, Values, check_later, checked, plain
from momentree.spatial import RigidInertia, Scalar, Vector

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
        way_out = 'set inertia_check = "warn" for the body, the model, load or build'
        super().__init__(f"{fault} Correct it or, to use it anyway, {way_out}.", "inertia")


def check_choice(choice: Any) -> None:
    """Whether physically impossible inertias are errors or warnings."""
    if choice not in INERTIA_CHECKS:
        raise Mistake(f"inertia_check is {choice!r}; use 'error' or 'warn'.", "inertia_check")


@spell_checked
@dataclass(frozen=True)
class Body:
    """A rigid body; positions and inertia are in its own frame.

    | field         | meaning                                                                               |
    |---------------|---------------------------------------------------------------------------------------|
    | shapes        | what is drawn of it; those with mass or density give it inertia instead of numbers    |
    | mass          | kg; 0 only with an inertia: a rotor whose mass another body has                       |
    | com           | centre of mass (m)                                                                    |
    | inertia       | kg m2: (xx, yy, zz), (xx, yy, zz, xy, xz, yz) or 3x3; off-diagonal J_xy = -sum m x y  |
    | about         | "com" or "origin": the point that the inertia is about                                |
    | massless      | True for a carrier without inertia, between two joints                                |
    | inertia_check | for an impossible inertia: "error" or "warn"; None: what build or the model says      |
    """

    name: str
    shapes: tuple[Shape, ...] = ()  # one shape alone, or a list, becomes a tuple
    mass: Raw = None
    com: Raw = None
    inertia: Raw = None
    about: str = "com"
    massless: bool = False
    inertia_check: str | None = None

    def __post_init__(self) -> None:
        shapes: Any = self.shapes
        together = tuple(shapes) if isinstance(shapes, (tuple, list)) else (shapes,) if shapes is not None else ()
        object.__setattr__(self, "shapes", together)
        for name in ("mass", "com", "inertia"):
            object.__setattr__(self, name, plain(getattr(self, name)))

    @property
    def shape(self) -> Shape | None:
        """Its only shape, or the first of several."""
        return self.shapes[0] if self.shapes else None

    @property
    def solids(self) -> tuple[Shape, ...]:
        """The shapes that give it inertia; the others are only drawn."""
        return tuple(shape for shape in self.shapes if isinstance(shape, Shape) and shape.has_mass)

    def with_digests(self) -> Body:
        """The same, bound to the content of the files that give its inertia."""
        return replace(self, shapes=tuple(shape.with_digest() for shape in self.shapes))

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
        if not self.solids:
            M = self._from_numbers(values)
        else:
            M, *others = (shape.inertia(values) for shape in self.solids)
            for other in others:
                M = M + other
        check_size(M)
        return M

    def check_sources(self) -> None:
        """The inertia must be given once: by shapes, by numbers, or by massless."""
        numbers = [name for name in ("mass", "com", "inertia") if getattr(self, name) is not None]
        if self.solids and self.about != "com":
            raise Mistake(f"about is {self.about!r}, but a shape determines its inertia. Remove about.", "about")
        if self.inertia_check is not None:
            check_choice(self.inertia_check)
        if self.about not in ("com", "origin"):
            raise Mistake(f"about is {self.about!r}; use 'com' or 'origin'.", "about")
        if self.massless and (self.solids or numbers):
            raise Mistake("is massless and has a mass. Remove one of the two.", "massless")
        if self.solids and numbers:
            message = f"{numbers[0]} is given twice: by the {self.solids[0].kind}, a shape, and by itself."
            raise Mistake(f"{message} A shape without mass and density is only drawn.", numbers[0])
        if not self.massless and not self.solids and self.mass is None:
            given = "a shape with mass or density" if self.shapes else "a shape such as rod"
            way_out = f"Give mass=, {given}, or massless = true for a carrier without inertia."
            raise Mistake(f"has no mass. {way_out}", "mass")

    def impossible(self, values: Values) -> Impossible | None:
        """Why the inertia is physically impossible; None if it is possible, or depends on free parameters."""
        if self.massless or self.solids or self.inertia is None:
            return None
        M, J = self._from_numbers(values), _symmetric(self.inertia, values)
        if self.about == "com":
            return _impossible(J, J)
        com = Vector(0, 0, 0) if self.com is None else values.vector(self.com, "com")
        return _impossible(M.shifted(-com).J, J, MOVED)

    def _from_numbers(self, values: Values) -> RigidInertia:
        com = Vector(0, 0, 0) if self.com is None else values.vector(self.com, "com")
        J = (0,) * 6 if self.inertia is None else _symmetric(self.inertia, values)
        rotor = any(isinstance(entry, Expression) or entry for entry in J)
        right = (lambda m: m >= 0) if rotor else (lambda m: m > 0)
        m = checked(values.scalar(self.mass, "mass"), right, "mass", "kg", "it must be positive")
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
    if any(isinstance(entry, Expression) for entry in numbers):
        return
    if not M.mass > 0:
        if max(map(abs, M.J)) > LARGEST_MASS:
            raise Mistake(f"inertia is larger than {LARGEST_MASS:g} kg m2, too large to compute with.", "inertia")
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


def _surely_possible(*columns: Any) -> Any:
    """Of arrays of inertias, and of the original numbers, those with which `_impossible` finds nothing wrong."""
    xx, yy, zz, xy, xz, yz = columns[:6]
    if not (np.any(xy) or np.any(xz) or np.any(yz)):
        a, b, c = np.sort([xx, yy, zz], axis=0)
    else:
        a, b, c = np.linalg.eigvalsh(np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)).T
    slack = INERTIA_TOLERANCE / 2 * np.max(np.abs(columns[6:]), axis=0)  # half of it, for round-off
    return (a >= -slack) & (a + b >= c - slack)


def _impossible(J: tuple[Scalar, ...], original: tuple[Scalar, ...], note: str = "") -> Impossible | None:
    """Principal moments of a body are not negative, and none exceeds the sum of the two others.

    Round-off is relative to the `original` numbers, before they were moved.
    """
    if any(isinstance(entry, Expression) for entry in (*J, *original)):
        refuse = lambda *numbers: _refuse_impossible(numbers[:6], numbers[6:], note)  # noqa: E731
        check_later(refuse, *J, *original, surely=_surely_possible)
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
