"""The constraint Jacobian J in scaled rows and columns: pure numbers, so that ranks have absolute cut-offs.

    rows:     translations over the size L of the loop, rotations as they are; a constraint over the norm of its row
              the coordinate or velocity of a joint over L of the mechanism if it slides
    columns:  slides times L, the size of the largest loop that they are in; turns as they are

A singular value is then how far a loop opens, by its size, when its joints move by a radian or by its size. It depends
on no unit, no mass and no position. Values below CUT_OFF belong to redundant directions (docs/theory/closure.md).
Dense where it is small, by singular values; sparse otherwise, by factors of J J' + cut-off^2 E.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from momentree.assembly.configuration import Array, Block, Configuration, Indices, rows_of
from momentree.errors import AssemblyError
from momentree.spatial import Force, Scalar
from momentree.spatial.scalar import maximum, minimum, sqrt
from momentree.structure.mechanism import Mechanism

CUT_OFF = 5e-10**0.5  # scaled singular values below it count as zero: as in the loop solve
WITHIN = 10.0  # a cut-off is at least so many times the tolerance of a loop by its size
LARGEST_DENSE = 30_000  # entries of J: some 170 rows; beyond it is sparse
MOST_OFF_CLOSED = 1e-2  # the largest cut-off where loops are open
TURNS = 3  # of the filtered solve
OVERFLOW = (
    "The constraint Jacobian of the loops overflows: a distance in them is too large to compute with. "
    "Check the positions of the frames that the joints connect."
)
SHIFTS = (1e-14, 1e-13)  # of J J' where only its pivots matter: more than round-off, far less than cut-offs squared


def constraint_scales(mechanism: Mechanism, on_velocities: bool = False) -> Array:
    """`row_divisors` as an array."""
    return _stacked(row_divisors(mechanism, on_velocities))


def row_divisors(mechanism: Mechanism, on_velocities: bool = False) -> list[Scalar]:
    """Divisors of the rows of loops: |moment part| + L |force part|, larger where a large tolerance is set."""
    scales = []
    for loop, size, wider in zip(mechanism.loops, mechanism.loop_sizes, _widened(mechanism), strict=True):
        scales += [_row_scale(row.direction, size, wider) for row in rows_of(loop, on_velocities)]
    return scales


def constraint_scale(mechanism: Mechanism, loop: int, row: Force) -> Scalar:
    """Of one row of a loop."""
    return _row_scale(row, mechanism.loop_sizes[loop], _widened(mechanism)[loop])


def _widened(mechanism: Mechanism) -> list[Scalar]:
    """By what the scales of each loop are larger for its tolerance, so that one cut-off serves all loops."""
    loops = zip(mechanism.loop_tolerances, mechanism.loop_sizes, strict=True)
    return [maximum(1.0, WITHIN * length / size / CUT_OFF) for length, size in loops]


def _row_scale(row: Force, size: Scalar, wider: Scalar) -> Scalar:
    return wider * (_norm(row.angular) + size * _norm(row.linear))


def constraint_tolerances(mechanism: Mechanism, on_velocities: bool = False) -> Array:
    """Tolerated closure errors of scaled rows of loops: the tolerance of the loop by its size."""
    tolerances = []
    for loop, size, length in zip(mechanism.loops, mechanism.loop_sizes, mechanism.loop_tolerances, strict=True):
        tolerances += [minimum(length / size, CUT_OFF / WITHIN)] * len(rows_of(loop, on_velocities))
    return _stacked(tolerances)


def column_scales(mechanism: Mechanism) -> Array:
    """`column_factors` as an array."""
    return _stacked(column_factors(mechanism))


def column_factors(mechanism: Mechanism) -> list[Scalar]:
    """By what columns are multiplied: L for slides, 1 for turns."""
    largest = dict[int, Scalar]()
    for loop, size in zip(mechanism.loops, mechanism.loop_sizes, strict=True):
        first, second, _ = mechanism.paths(loop)
        for number in (*first, *second):
            largest[number] = maximum(size, largest.get(number, 0.0))
    scales = []
    for body in mechanism.bodies:
        if body.laws is None:
            size = largest.get(body.number, mechanism.size)
            scales += [size if unit == "m" else 1.0 for unit in body.joint.type.velocity_units]
    return scales


def cut_off(closure_error: float) -> float:
    """The cut-off at a configuration with this closure error (scaled), where redundant constraints look independent.

    Its square is the regularization of the loop solve (docs/theory/loops.md). Where loops are wide open,
    constraints that are independent must still count.
    """
    return math.hypot(CUT_OFF, min(10 * closure_error, MOST_OFF_CLOSED))


class Scales:
    """The scales of a mechanism, computed once and kept with it."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        kept = vars(mechanism)
        if "_scales" not in kept:
            rows, velocity_rows = (constraint_scales(mechanism, on_velocities) for on_velocities in (False, True))
            kept["_scales"] = rows, column_scales(mechanism), velocity_rows
            for scales in kept["_scales"]:
                scales.flags.writeable = False
        self.rows, self.columns, self.velocity_rows = kept["_scales"]

    def scaled(
        self, at: Configuration, on_velocities: bool = False, more: Sequence[tuple[Array, str]] = ()
    ) -> ScaledConstraints:
        """J at a configuration, with further rows below, each nv numbers and the unit of what they are slopes of."""
        everything: Indices = np.arange(self.mechanism.nv, dtype=np.intp)
        blocks = [*at.blocks(on_velocities), *((everything, np.asarray(row)[None]) for row, _ in more)]
        rows = self.velocity_rows if on_velocities else self.rows
        return ScaledConstraints(blocks, rows, self.columns, [self.of_unit(unit) for _, unit in more])

    def of_unit(self, unit: str) -> float:
        """Of a joint's coordinate or velocity."""
        return self.mechanism.size if unit == "m" else 1.0


class ScaledConstraints:
    """J in scaled rows and columns at one configuration: rows of loops, of constraints, and of joints (the last)."""

    def __init__(self, blocks: Sequence[Block], rows: Array, columns: Array, last: Sequence[float] = ()):
        others = list(_beyond(blocks, len(rows)))
        norms = [np.linalg.norm(block * columns[indices]) for indices, block in others[: len(others) - len(last)]]
        self.constraint_scales = np.concatenate([rows, [norm or 1.0 for norm in norms], last])
        self.column_scales = columns
        self.J: Any = _assembled(blocks, self.constraint_scales, columns)

    @property
    def dense(self) -> bool:
        return isinstance(self.J, np.ndarray)

    def among(self, columns: Indices) -> ScaledConstraints:
        """The same with some of the columns only."""
        part = object.__new__(ScaledConstraints)
        part.constraint_scales, part.column_scales, part.J = (
            self.constraint_scales,
            self.column_scales[columns],
            self.J[:, columns],
        )
        return part

    def scaled(self, closure_errors: Array) -> Array:
        """Closure errors, or velocities, of the rows as pure numbers."""
        return np.asarray(closure_errors / self.constraint_scales)

    # --- solutions, by scaled right-hand sides ---

    def damped(self, closure_errors: Array, damping: float) -> Array:
        """C J' (J J' + damping E)^-1 g, g the closure errors: columns in their own units."""
        if self.dense:
            m, n = self.J.shape
            if m <= n:
                step = self.J.T @ np.linalg.solve(self.J @ self.J.T + damping * np.eye(m), closure_errors)
            else:
                step = np.linalg.solve(self.J.T @ self.J + damping * np.eye(n), self.J.T @ closure_errors)
        else:
            step = self.J.T @ self._factors(damping).solve(closure_errors)
        return np.asarray(self.column_scales * step)

    def shortest(self, closure_errors: Array, cut: float) -> Array:
        """The shortest x with J x = g, closure errors, along directions stronger than the cut-off; in its own units.

        Sparse: with S = (J J' + cut^2 E)^-1 and P = E - cut^2 S, y <- y + P P S (g - J J' y), as in the loop solve.
        """
        if self.dense:
            U, sizes, V = self._svd
            strong = sizes > cut
            return np.asarray(self.column_scales * (V[strong].T @ (U[:, strong].T @ closure_errors / sizes[strong])))
        S, y = self._factors(cut * cut), np.zeros(len(closure_errors))
        for _ in range(TURNS):
            step = S.solve(closure_errors - self._gram @ y)
            for _ in range(2):
                step = step - cut * cut * S.solve(step)
            y = y + step
        return np.asarray(self.column_scales * (self.J.T @ y))

    # --- ranks ---

    @property
    def strengths(self) -> Array:
        """The singular values, the largest first."""
        return self._svd[1]

    @property
    def directions(self) -> Array:
        """The orthonormal combinations of rows that belong to them, as columns."""
        return self._svd[0]

    def rank(self, cut: float) -> int:
        """How many rows are independent."""
        return len(self.independent(cut)) if not self.dense else int((self.strengths > cut).sum())

    def independent(self, cut: float, rank: int | None = None) -> list[int]:
        """Rows that span all the others, the first among equals; as many as `rank` says where it is known."""
        if not self.dense:
            return np.flatnonzero(self._independent_parts() > cut * cut).tolist()
        count = self.rank(cut) if rank is None else rank
        if count == len(self.J):
            return [*range(count)]
        # Gram-Schmidt with pivoting; that of SciPy takes longer to load than a linkage to assemble
        rest = self.J * (1 - 1e-9 * np.arange(len(self.J)) / len(self.J))[:, None]  # the earlier first
        chosen: list[int] = []
        for _ in range(count):
            parts = np.einsum("ij,ij->i", rest, rest)
            parts[chosen] = -1.0
            chosen.append(int(parts.argmax()))
            direction = rest[chosen[-1]] / np.sqrt(parts[chosen[-1]])
            rest = rest - np.outer(rest @ direction, direction)
        return sorted(chosen)

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array]:
        J = self.J if self.dense else self.J.toarray()
        if not np.isfinite(J).all():
            raise AssemblyError(OVERFLOW)
        U, sizes, V = np.linalg.svd(J, full_matrices=False)
        return U, sizes, V

    @cached_property
    def _gram(self) -> Any:
        return (self.J @ self.J.T).tocsc()

    def _factors(self, shift: float) -> Any:
        """L U of J J' + shift E, with pivots on the diagonal: it is positive definite."""
        from scipy.sparse import identity
        from scipy.sparse.linalg import splu

        shifted = (self._gram + shift * identity(self.J.shape[0])).tocsc()
        return splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def _independent_parts(self) -> Array:
        """The squared part of each row that is independent of the rows eliminated before it: the pivots of J J'.

        That of a redundant row is proportional to the shift, often many times as large: two shifts are
        extrapolated to none.
        """
        pivots = []
        for shift in SHIFTS:
            factors = self._factors(shift)
            pivots.append(np.asarray(factors.U.diagonal()[factors.perm_c]))
        return np.asarray(pivots[0] - SHIFTS[0] * (pivots[1] - pivots[0]) / (SHIFTS[1] - SHIFTS[0]))


def _beyond(blocks: Sequence[Block], rows: int) -> Iterable[Block]:
    """The blocks, of one row each, below those of loops."""
    start = 0
    for indices, block in blocks:
        if start >= rows and len(block):
            yield indices, block
        start += len(block)


def _assembled(blocks: Sequence[Block], rows: Array, columns: Array) -> Any:
    """One matrix of scaled blocks: an array, or sparse where that would be large."""
    m, n = len(rows), len(columns)
    starts = np.cumsum([0, *(len(block) for _, block in blocks)])
    parts = [
        block * columns[indices] / rows[start : start + len(block), None]
        for start, (indices, block) in zip(starts, blocks, strict=False)
    ]
    if m * n <= LARGEST_DENSE:
        J = np.zeros((m, n))
        for start, part, (indices, _) in zip(starts, parts, blocks, strict=False):
            J[start : start + len(part), indices] = part
        return J
    from scipy.sparse import csr_array

    down = [np.repeat(np.arange(i, i + len(part)), part.shape[1]) for i, part in zip(starts, parts, strict=False)]
    across = [np.tile(indices, len(part)) for part, (indices, _) in zip(parts, blocks, strict=True)]
    entries = np.concatenate([part.ravel() for part in parts])
    J = csr_array((entries, (np.concatenate(down), np.concatenate(across))), shape=(m, n))
    J.eliminate_zeros()
    return J


def _norm(v: Iterable[Scalar]) -> Scalar:
    return sqrt(sum(x * x for x in v))


def _stacked(numbers: Sequence[Scalar]) -> Array:
    """One number each or, of a mechanism in batches, one row each."""
    return np.array(np.broadcast_arrays(*numbers) if numbers else [], dtype=float)
