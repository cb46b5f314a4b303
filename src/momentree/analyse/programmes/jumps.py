"""Jumps of a programme's velocities and masses in a region: across them no decay rate bounds a deviation.

A deviation u = q' - v jumps where v does, and its size |u| where m does; the decay matrix, made of derivatives, shows
neither. Jumps are where the condition of a `sign` or `select` passes through zero, and at the cut of `atan2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from momentree.analyse.programmes.checks import Limits
from momentree.analyse.programmes.enclosures import UNDEFINED, WHOLE, Enclosure, constant, interval
from momentree.equations.programme_fields import ExpressionProgramme
from momentree.errors import MomentreeError
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.programme_description import TIME

PARTS = 4096  # of the region, in which a jump is looked for
JUMPING = ("sign", "select", "atan2")


class Jump(NamedTuple):
    """What may jump, the function that makes it, and a part of the region where it may."""

    what: str
    function: Expression
    limits: dict[str, Limits]


def refuse_jumps(programme: ExpressionProgramme, parameters: Mapping[str, float], region: Mapping[str, Limits]) -> None:
    """An error that names a jump of v or m, if there may be one in the region; other coordinates are anywhere."""
    known: dict[Reference, Enclosure] = {Reference(name): constant(x) for name, x in parameters.items()}
    for what, expression in _entries(programme):
        for function in (part for part in expression._parts_first() if part.op in JUMPING):
            where = _jump(function, known, programme, dict(region))
            if where is not None:
                raise _refusal(Jump(what, function, where))


def _entries(programme: ExpressionProgramme) -> Iterator[tuple[str, Expression]]:
    names = programme.coordinates
    for name, x in zip(names, programme.v, strict=True):
        yield f"the velocity of '{name}'", x
    for name, row in zip(names, programme.description.mass, strict=True):
        for other, x in zip(names, row, strict=True):
            yield f"the mass ({name}, {other})", x


def _jump(
    function: Expression,
    known: Mapping[Reference, Enclosure],
    programme: ExpressionProgramme,
    region: dict[str, Limits],
) -> dict[str, Limits] | None:
    """A part of the region, as small as `PARTS` allow, in which the function may jump."""
    said, looked, waiting = programme.description, 0, [region]
    while waiting:
        limits = waiting.pop()
        boxes = {name: Enclosure(interval(*pair)) for name, pair in limits.items()}
        q = [boxes.get(name, Enclosure(WHOLE)) for name in programme.coordinates]
        at = {**known, TIME: boxes.get("t", Enclosure(WHOLE)), **dict(zip(said.references, q, strict=True))}
        looked += 1
        if not _may_jump(function, at):
            continue
        name = max(limits, key=lambda name: (limits[name][1] - limits[name][0]) / _size(region[name]), default="")
        low, high = limits.get(name, (0.0, 0.0))
        middle = low + (high - low) / 2
        if looked >= PARTS or not low < middle < high or (high - low) * PARTS < _size(region[name]):
            return limits
        waiting += [{**limits, name: (middle, high)}, {**limits, name: (low, middle)}]
    return None


def _size(limits: Limits) -> float:
    return limits[1] - limits[0] or 1.0


def _may_jump(function: Expression, at: Mapping[Reference, Enclosure]) -> bool:
    first, *_ = parts = [part.evaluate(at) for part in function.args]
    first = first if isinstance(first, Enclosure) else constant(first)
    if first is UNDEFINED:
        return True
    if function.op == "atan2":
        return first.atan2(parts[1]) is UNDEFINED
    if function.op == "sign" and first.is_zero:
        return False
    return not (first.value.a > 0 or (first.value.b < 0 if function.op == "sign" else first.value.b <= 0))


def _refusal(jump: Jump) -> MomentreeError:
    where = ", ".join(f"{name} in [{low:.6g}, {high:.6g}]" for name, (low, high) in jump.limits.items())
    place = f" where {where}" if where else ""
    message = f"programme: {jump.what} may jump{place}, by {jump.function}: no rate can be proven across a jump"
    return MomentreeError(f"{message}. Give a region on one side of it, or a law without jumps: tanh(x/e), abs(x).")
