"""Constraints of a model in the frozen mechanism: expressions kept at zero, named frames, higher pairs.

Expressions name coordinates of the tree, so the joints that they name must not close loops: they enter the spanning
tree before others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from momentree.errors import ModelError, Problem
from momentree.model import Model
from momentree.model.constraint_elements import EQUATIONS
from momentree.model.elements import Joint, Scope, known_references
from momentree.model.frames import Frame
from momentree.model.pair_elements import PAIRS
from momentree.model.values import Values
from momentree.structure.mechanism import Attached, Constraint, Loop


def frozen_constraints(model: Model, joints: Sequence[Joint], values: Values) -> tuple[Constraint, ...]:
    """What the user wrote as expressions, then couplings."""
    known = known_references(joints, model.frames)
    scope = Scope(values, {joint.name: joint for joint in joints}, known)
    return tuple(
        Constraint(
            name, expression, not any(known.get(r) == "velocity" for r in expression.references()), kind=kind.kind
        )
        for kind in EQUATIONS
        for element in getattr(model, kind.collection)
        for name, expression in element.equations(scope)
    )


def inferred_carriers(model: Model, joints: Sequence[Joint], values: Values) -> list[str]:
    """What to say of gears on an arm whose carrier was left out."""
    scope = Scope(values, {joint.name: joint for joint in joints}, {})
    said = []
    for gear in (gear for gear in model.gears if gear.carrier is None):
        through = [name for seen in gear.seen(scope) for name in seen.through]
        if through:
            message = (
                f"gear '{gear.name}': its axes meet on the arm of '{through[-1]}', so angles are counted from there."
            )
            said.append(f"{message} Say so: carrier={through[-1]!r}.")
    return said


def higher_pairs(model: Model, values: Values, attached: Callable[[Frame], Attached]) -> tuple[Loop, ...]:
    """Rolling, skating and the like: each closes a loop from the supporting body to the one that it guides."""
    loops = []
    for element in (element for kind in PAIRS for element in getattr(model, kind.collection)):
        support, guided = map(attached, element.ends())
        loops.append(Loop(element.name, element.pair(values), support, guided, None))
    return tuple(loops)


def needed_in_tree(constraints: Sequence[Constraint], joints: Sequence[Joint]) -> dict[str, str]:
    """Joints that must not close a loop, and why: they have an armature, or an expression names them."""
    known = {joint.name for joint in joints}
    needed = {joint.name: "has an armature" for joint in joints if joint.type.armature is not None}
    for constraint in constraints:
        for name in sorted({reference.name for reference in constraint.expression.references()} & known):
            needed.setdefault(name, f"is named by '{constraint.name}'")
    return needed


def tree_weights(joints: Sequence[Joint], needed: Collection[str]) -> list[float]:
    """Weights by which a spanning tree takes joints: prescribed ones, those that it needs, the least free."""

    def weight(joint: Joint) -> float:
        if joint.type.motion is not None:
            return -1
        return joint.type.freedom / 10 - 1 if joint.name in needed else joint.type.freedom

    return [weight(joint) for joint in joints]


def check_cuts(cuts: Sequence[str], needed: dict[str, str]) -> None:
    """A joint that the user cuts must not be needed in the tree."""
    problems = [
        Problem(
            "cut",
            f"joint '{name}' {needed[name]}, so it cannot be cut. Cut another joint of its loop.",
            ("structure", "cut", i),
        )
        for i, name in enumerate(cuts)
        if name in needed
    ]
    if problems:
        raise ModelError(problems)


def check_loop(joint: Joint, others: Sequence[str], needed: dict[str, str], path: tuple[str | int, ...]) -> None:
    """The joint that closes a loop must not be needed in the tree."""
    if joint.name not in needed:
        return
    around = ", ".join(f"'{name}'" for name in others)
    message = f"closes a loop, but {needed[joint.name]}, so that it must be in the tree, and"
    message += f" {around} cannot be cut instead: they are needed in it as well, or prescribed."
    bodies = [body for body in (joint.first.body, joint.second.body) if body != "ground"]
    way_out = f" Open the loop inside a body instead: m.split('{bodies[-1]}', '{joint.name}')."
    raise ModelError([Problem(f"joint '{joint.name}'", message + way_out, path)])
