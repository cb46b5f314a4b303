"""Between arrays and scalars: the last axis holds the coordinates; of a batch, each scalar is an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import MomentreeError
from momentree.spatial import Scalar
from momentree.structure.mechanism import Mechanism

Array = NDArray[np.float64]
UNIT = 1e-6  # how far a quaternion may be from unit length


def scalars(values: Any, count: int, what: str) -> list[Scalar]:
    """The entries along the last axis: floats of a single vector, arrays of a batch."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise MomentreeError(f"{what} is {values!r}; an array of numbers is expected.") from None
    if array.ndim == 0 or array.shape[-1] != count:
        shape = "x".join(map(str, array.shape)) or "a single number"
        raise MomentreeError(f"{what} has the shape {shape}; its last axis must have length {count}.")
    if not np.isfinite(array).all():
        raise MomentreeError(f"{what} holds NaN or infinity.")
    return array.tolist() if array.ndim == 1 else [array[..., i] for i in range(count)]


def coordinates(mechanism: Mechanism, q: Any) -> list[Scalar]:
    """The entries of q; quaternions must be of unit length."""
    entries = scalars(q, mechanism.nq, "q")
    for body in mechanism.bodies:
        joint = body.connection.joint
        if body.laws is None and len(joint.coordinates) != len(joint.rates):
            x, y, z, w = entries[body.q][-4:]
            length = np.sqrt(x * x + y * y + z * z + w * w)
            if (abs(length - 1) > UNIT).any() if isinstance(length, np.ndarray) else abs(length - 1) > UNIT:
                message = f"q: the quaternion of joint '{body.connection.name}' is not of unit length"
                raise MomentreeError(f"{message} ({np.max(np.abs(length)):.6g}). Its order is (x, y, z, w).")
    return entries


def vector(entries: Sequence[Scalar], *given: Any) -> Array:
    """The entries as the last axis of an array, with the leading axes of what was given."""
    batch = np.broadcast_shapes(*(np.shape(values)[:-1] for values in given))
    out = np.empty((*batch, len(entries)))
    for i, entry in enumerate(entries):
        out[..., i] = entry
    return out


def matrix(rows: Sequence[Sequence[Scalar]], *given: Any) -> Array:
    """The rows as the last two axes of an array, with the leading axes of what was given."""
    flat = vector([entry for row in rows for entry in row], *given)
    return flat.reshape((*flat.shape[:-1], len(rows), len(rows[0]) if rows else 0))
