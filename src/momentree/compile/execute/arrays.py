"""Conversion between arrays and scalars: the last axis holds coordinates; in a batch, each scalar is an array."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism

Array = NDArray[np.float64]
UNIT = 1e-6  # how far a quaternion may be from unit length


def numbers(values: Any, what: str, expected: str = "an array of numbers") -> Array:
    """The values as an array of floats. Texts, dates, complex numbers and hidden (masked) entries are not numbers."""
    hidden = "numpy.ma" in sys.modules and np.ma.is_masked(values)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO" and values is not None and not hidden:
            return np.asarray(array, dtype=float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise MomentreeError(f"{what} is {reprlib.repr(values)}; {expected} is expected.")


def coordinate_array(values: Any, count: int, what: str) -> Array:
    """The values as an array of floats, with so many along its last axis."""
    array = numbers(values, what)
    if array.ndim == 0 or array.shape[-1] != count:
        shape = "x".join(map(str, array.shape)) or "a single number"
        raise MomentreeError(f"{what} has the shape {shape}; its last axis must have length {count}.")
    return array


def check_finite(array: Array, what: str) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        where = _first_row(np.asarray(~finite.all(axis=-1))) if array.ndim else ""
        raise MomentreeError(f"{what} holds NaN or infinity{where}.")


def _first_row(wrong: NDArray[np.bool_]) -> str:
    """Where in a batch the first wrong row is; "" of a single one."""
    if not wrong.ndim:
        return ""
    index = [int(i) for i in np.argwhere(wrong)[0]]
    return f", first in row {', '.join(map(str, index))}"


class Quaternion(NamedTuple):
    """The joint that has it, and where it starts in q."""

    joint: str
    start: int


def quaternions(mechanism: Mechanism) -> tuple[Quaternion, ...]:
    """Those among the coordinates; four numbers (x, y, z, w) each."""
    moving = [body for body in mechanism.bodies if body.laws is None]
    curved = [body for body in moving if len(body.joint.type.coordinates) != len(body.joint.type.velocities)]
    return tuple(Quaternion(body.joint.name, body.q.stop - 4) for body in curved)


def check_units(q: Array, among: Sequence[Quaternion], what: str = "q") -> None:
    """Quaternions must be of unit length."""
    for joint, start in among:
        length = np.sqrt((q[..., start : start + 4] ** 2).sum(-1))
        far = np.abs(length - 1) > UNIT
        if far.any():
            message = f"{what}: the quaternion of joint '{joint}' is not of unit length ({length[far].flat[0]:.6g})"
            raise MomentreeError(f"{message}{_first_row(far)}. Its order is (x, y, z, w).")


def scalars(values: Any, count: int, what: str) -> list[Scalar]:
    """The entries along the last axis: floats of a single vector, arrays of a batch."""
    array = coordinate_array(values, count, what)
    check_finite(array, what)
    return _entries(array)


def coordinates(mechanism: Mechanism, q: Any, what: str = "q") -> list[Scalar]:
    """The entries of q; quaternions must be of unit length."""
    array = coordinate_array(q, mechanism.nq, what)
    check_finite(array, what)
    check_units(array, quaternions(mechanism), what)
    return _entries(array)


def _entries(array: Array) -> list[Scalar]:
    return array.tolist() if array.ndim == 1 else [array[..., i] for i in range(array.shape[-1])]


def vector(entries: Sequence[Scalar], *arguments: Any) -> Array:
    """The entries as the last axis of an array, with the leading axes of the arguments."""
    batch = np.broadcast_shapes(*(np.shape(values)[:-1] for values in arguments))
    out = np.empty((*batch, len(entries)))
    for i, entry in enumerate(entries):
        out[..., i] = entry
    return out


def matrix(rows: Sequence[Sequence[Scalar]], *arguments: Any) -> Array:
    """The rows as the last two axes of an array, with the leading axes of the arguments."""
    flat = vector([entry for row in rows for entry in row], *arguments)
    return flat.reshape((*flat.shape[:-1], len(rows), len(rows[0]) if rows else 0))
