"""Affine expressions: sums of coefficients times velocities, and of a rest, neither of which depends on velocities."""

from __future__ import annotations

from collections.abc import Collection

from momentree.model.expressions.expression import Expression, Reference


def not_affine(expression: Expression, velocities: Collection[Reference]) -> Reference | None:
    """A velocity in which the expression is not affine, as it is written; None if there is none.

    Each part is of degree 0 or 1 in the velocities. A product of two of degree 1, and any other function of one, even a
    piecewise constant one such as sign, is not affine.
    """
    degree: dict[int, int] = {}
    for part in expression._parts_first():
        parts = [degree[id(inner)] for inner in part._parts]
        match part.op:
            case "number":
                found = 0
            case "reference":
                found = int(part.args[0] in velocities)
            case "+" | "-" | "negate":
                found = max(parts)
            case "*":
                found = sum(parts)
            case "/":
                found = parts[0] + 2 * parts[1]
            case "select":
                found = max(2 * parts[0], *parts[1:])
            case _:
                found = 2 * max(parts)
        if found > 1:
            return min(name for name in part.references() if name in velocities)
        degree[id(part)] = found
    return None
