"""Similar loops measured at once: closure errors and velocities of a row of a thousand like linkages.

What determines a loop is its closing joint and the bodies from the ground to both its ends. Loops are similar where
these bodies follow one another in the same way, by the same joint types, and the numbers of their frames have the same
form (compile/trace/field_layout.py); the numbers themselves may differ. Similar loops are one small mechanism with a
single loop, each number of which is a column with an entry for each of them. The same formulas measure it, with the
same bits: NumPy then does once what it would do for each loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from momentree.assembly.configuration import Array, Indices
from momentree.compile.trace.field_layout import Form, FormTable, unflatten
from momentree.model.higher_pairs import HigherPair
from momentree.spatial import Scalar, Transform
from momentree.structure.mechanism import Loop, Mechanism, TreeBody

MANY = 16  # loops, from which on they are compared
MOST_BODIES = 8  # of all loops together, by the bodies of the mechanism: long paths are shared by loops, and not copied


class SimilarLoops(NamedTuple):
    """Loops that are similar.

    | field  | shape           | meaning                                                            |
    |--------|-----------------|--------------------------------------------------------------------|
    | loop   |                 | the first one, its ends numbered among the bodies                  |
    | bodies |                 | those from the ground to both its ends                             |
    | frames |                 | of each body, then of both ends: its form, and a column of numbers |
    | q, v   | loops, nq or nv | the coordinates and velocities that belong to each                 |
    | loops  | loops           | their numbers in the mechanism                                     |
    """

    loop: Loop
    bodies: tuple[TreeBody, ...]
    frames: list[tuple[Form, Array]]
    q: Indices
    v: Indices
    loops: list[int]

    def stacked(self, mechanism: Mechanism, samples: int) -> Mechanism:
        """All of them as one, each at so many samples: entries follow one another loop by loop."""
        *mounts, first, second = (_stacked_frame(form, columns, samples) for form, columns in self.frames)
        ends = self.loop.first._replace(placement=first), self.loop.second._replace(placement=second)
        bodies = zip(self.bodies, mounts, strict=True)
        return dataclasses.replace(
            mechanism,
            bodies=tuple(dataclasses.replace(body, mount=mount) for body, mount in bodies),
            loops=(dataclasses.replace(self.loop, first=ends[0], second=ends[1]),),
        )


def similar_loops(mechanism: Mechanism) -> tuple[SimilarLoops, ...]:
    """The loops of a mechanism by their kinds; none where it is not worth it. They are found once for a mechanism."""
    kept = vars(mechanism)
    if "_similar_loops" not in kept:
        kept["_similar_loops"] = tuple(_found(mechanism)) if _is_worth_it(mechanism) else ()
    found: tuple[SimilarLoops, ...] = kept["_similar_loops"]
    return found


def _is_worth_it(mechanism: Mechanism) -> bool:
    """Whether there are many loops, and numbers alone tell them apart."""
    if (
        len(mechanism.loops) < MANY
        or mechanism.free
        or any(isinstance(x.joint_type, HigherPair) for x in mechanism.loops)
    ):
        return False
    depth = [0]
    for body in mechanism.bodies:
        depth.append(depth[body.parent] + 1)
    bodies = sum(depth[loop.first.body] + depth[loop.second.body] for loop in mechanism.loops)
    return bodies <= MOST_BODIES * len(mechanism.bodies)


def _found(mechanism: Mechanism) -> list[SimilarLoops]:
    forms, kinds = FormTable(), dict[Any, list[int]]()
    types = [_type(forms, body.joint.type) for body in mechanism.bodies]
    for number, loop in enumerate(mechanism.loops):
        bodies = _around(mechanism, loop)
        local = _local(bodies)
        of_bodies = [(local[body.parent], body.reverse, body.laws, types[body.number - 1]) for body in bodies]
        of_loop = local[loop.first.body], local[loop.second.body], _type(forms, loop.joint_type)
        frames = [forms.flattened(frame).kind for frame in _frames(bodies, loop)]
        kinds.setdefault((tuple(of_bodies), of_loop, tuple(frames)), []).append(number)
    return [_similar(mechanism, loops, forms) for loops in kinds.values()]


def _around(mechanism: Mechanism, loop: Loop) -> list[TreeBody]:
    """The bodies from the ground to both ends of a loop."""
    numbers: set[int] = set()
    for number in (loop.first.body, loop.second.body):
        while number and number not in numbers:
            numbers.add(number)
            number = mechanism.bodies[number - 1].parent
    return [mechanism.bodies[number - 1] for number in sorted(numbers)]


def _local(bodies: Sequence[TreeBody]) -> dict[int, int]:
    """Numbers among these bodies, by numbers in the mechanism."""
    return {0: 0} | {body.number: i for i, body in enumerate(bodies, 1)}


def _type(forms: FormTable, joint_type: Any) -> tuple[Any, ...]:
    """A joint type with its numbers: constraints have the same directions only where these are the same."""
    flat = forms.flattened(joint_type)
    return flat.kind, *flat.numbers


def _frames(bodies: Sequence[TreeBody], loop: Loop) -> list[Transform]:
    return [*(body.mount for body in bodies), loop.first.placement, loop.second.placement]


def _similar(mechanism: Mechanism, loops: list[int], forms: FormTable) -> SimilarLoops:
    """The loops with these numbers, as they are kept."""
    members = [_around(mechanism, mechanism.loops[i]) for i in loops]
    local, loop = _local(members[0]), mechanism.loops[loops[0]]
    bodies, nq, nv = list[TreeBody](), 0, 0
    for body in members[0]:
        q, v = (part.stop - part.start for part in (body.q, body.v))
        number, parent, at = local[body.number], local[body.parent], (slice(nq, nq + q), slice(nv, nv + v))
        bodies.append(dataclasses.replace(body, number=number, parent=parent, q=at[0], v=at[1]))
        nq, nv = nq + q, nv + v
    first, second = (end._replace(body=local[end.body]) for end in (loop.first, loop.second))
    loop = dataclasses.replace(loop, first=first, second=second)
    flat = [
        [forms.flattened(frame) for frame in _frames(around, mechanism.loops[i])]
        for around, i in zip(members, loops, strict=True)
    ]
    frames = [
        (fields[0].form, np.array([field.numbers for field in fields], dtype=float).reshape(len(loops), -1).T)
        for fields in zip(*flat, strict=True)
    ]
    q_of, v_of = (
        np.array([[i for body in around for i in _indices(getattr(body, name))] for around in members], dtype=np.intp)
        for name in ("q", "v")
    )
    return SimilarLoops(loop, tuple(bodies), frames, q_of, v_of, loops)


def _indices(part: slice) -> range:
    return range(part.start, part.stop)


def _stacked_frame(form: Form, columns: Array, samples: int) -> Transform:
    """A frame whose numbers are those of all loops, or one number where they agree."""
    numbers: list[Scalar] = []
    for column in columns:
        same = (column == column[0]).all()
        numbers.append(float(column[0]) if same else np.repeat(column, samples))
    frame: Transform = unflatten(form, numbers)
    return frame
