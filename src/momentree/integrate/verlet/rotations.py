"""Rotations within a structure-preserving step: (V8) to (V11) of structure-preserving.md, in machine code."""

from __future__ import annotations

from momentree.integrate.verlet.columns import ColumnCode, Triple, cross, dot, fused


class RotationCode(ColumnCode):
    """Quaternions, and the momenta that turn with them."""

    def _turn(self, w: str) -> Triple:
        """x0 o x1 = (x0 + x1 + x0 x x1 / 2) / (1 - x0.x1 / 4) of x = a r."""
        lines, a = self.lines, self._a()
        x0, x1 = ([lines.times(a, r) for r in self._triple(array, w)] for array in ("%velocity0", "%velocity1"))
        below = lines.fused(lines.number(-0.25), dot(lines, x0, x1), lines.number(1.0))
        scale = lines.reciprocal(below)
        both = [lines.plus(x, y) for x, y in zip(x0, x1, strict=True)]
        return [lines.times(scale, z) for z in fused(lines, lines.number(0.5), cross(lines, x0, x1), both)]

    def _trivialised(self, array: str, velocities: str, w: str, half: float) -> Triple:
        """B(x)^-1 s = (s + x x s / 2) / (1 + x.x / 4); minus x where half is -1/2."""
        lines, a, s = self.lines, self._a(), self._triple(array, w)
        x = [lines.times(a, r) for r in self._triple(velocities, w)]
        scale = self._one_over(x)
        return [lines.times(scale, e) for e in fused(lines, lines.number(half), cross(lines, x, s), s)]

    def _carried(self, v: str, z: Triple) -> Triple:
        """C s: s - z x (s - z x s / 2) / (1 + z.z / 4); what it adds goes to %more."""
        lines, s = self.lines, self._triple("%s0", v)
        inner = fused(lines, lines.number(-0.5), cross(lines, z, s), s)
        scale = lines.negative(self._one_over(z))
        added = [lines.times(scale, e) for e in cross(lines, z, inner)]
        kicked = self._triple("%more.p", v)
        self._put_triple([lines.plus(x, y) for x, y in zip(added, kicked, strict=True)], "%more.p", v)
        return [lines.plus(x, y) for x, y in zip(s, added, strict=True)]

    def _rotate(self, q: str, z: Triple) -> None:
        """q (z/2, 1) / r, r^2 = 1 + z.z/4, less q: q (z/2, 0) / r + q (1/r - 1); and q is brought to unit length."""
        lines = self.lines
        columns = [q, *(self.let(f"add i64 {q}, {k}") for k in (1, 2, 3))]
        old = [self.chunk("%y", column) for column in columns]
        quarter = lines.times(lines.number(0.25), dot(lines, z, z))
        r = lines.intrinsic("sqrt", lines.plus(lines.number(1.0), quarter))
        fall = lines.times(quarter, lines.reciprocal(lines.times(r, lines.plus(r, lines.number(1.0)))))
        excess = lines.less(lines.number(1.0), dot(lines, old, old))
        along = lines.less(lines.times(lines.number(0.5), excess), fall)
        half = lines.times(lines.number(0.5), lines.reciprocal(r))
        x, w = [lines.times(half, e) for e in z], old[3]
        turned = fused(lines, w, x, cross(lines, old[:3], x))
        turned.append(lines.negative(dot(lines, old[:3], x)))
        for column, e, across in zip(columns, old, turned, strict=True):
            self._move(column, lines.fused(along, e, across))

    def _one_over(self, x: Triple) -> str:
        """1 / (1 + x.x / 4)."""
        lines = self.lines
        return lines.reciprocal(lines.fused(lines.number(0.25), dot(lines, x, x), lines.number(1.0)))

    def _move(self, q: str, displacement: str) -> None:
        """Move a coordinate, with the round-off of earlier steps added, to where the sum of the step will have it."""
        self.put_chunk(displacement, "%more", q)
        more = self.lines.plus(displacement, self.chunk("%lost", q))
        self.put_chunk(self.lines.plus(self.chunk("%y", q), more), "%there", q)
