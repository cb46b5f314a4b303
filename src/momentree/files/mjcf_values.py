"""Names and placements of MuJoCo's compiled model (mjModel) in our terms: unique printable names, quaternions."""

from __future__ import annotations

from typing import Any

from momentree.files.counterparts import Notes
from momentree.files.robot_parts import unused
from momentree.model.check import RESERVED
from momentree.model.frames import GROUND
from momentree.spatial import Transform, Vector
from momentree.spatial.rotation import IDENTITY, normalised, quaternion_rotation

FREE, BALL, SLIDE, HINGE = range(4)  # types of joints, as MuJoCo numbers them (mjtJoint)


def floats(values: Any) -> tuple[float, ...]:
    """Plain numbers."""
    return tuple(float(value) for value in values)


def quaternion(wxyz: Any) -> tuple[float, ...] | None:
    """A quaternion of MuJoCo, (w, x, y, z), as ours, (x, y, z, w); None if it does not turn."""
    w, x, y, z = floats(wxyz)
    return None if (x, y, z) == (0, 0, 0) else normalised((x, y, z, w))


def placement(position: Any, wxyz: Any) -> Transform:
    """Where a frame is in another."""
    turned = quaternion(wxyz)
    return Transform(IDENTITY if turned is None else quaternion_rotation(turned), Vector(*floats(position)))


class Names:
    """Names of bodies and joints by MuJoCo's numbers; what has none is called by its kind and number, "joint_3".

    | field  | meaning                                          |
    |--------|--------------------------------------------------|
    | bodies | by number; the world is the ground               |
    | joints | by number                                        |
    | taken  | names of joints, constraints and frames in use   |
    """

    def __init__(self, mj: Any, notes: Notes):
        self.mj, self.notes, self.texts = mj, notes, bytes(mj.names)
        self.joints: list[str] = []
        self.taken: set[str] = set()
        for number in range(mj.njnt):
            self.joints.append(self.unused(self.of("jnt", number) or f"joint_{number}"))
        self.bodies = [GROUND]
        for number in range(1, mj.nbody):
            name = self.of("body", number) or f"body_{number}"
            if name == GROUND:
                notes.add("body renamed to 'ground_body'", name)
                name = "ground_body"
            self.bodies.append(unused(name, self.bodies))
        self.all_bodies = {*self.bodies}

    def of(self, kind: str, number: int) -> str:
        """The name in the file, "" if there is none; without what our names cannot have."""
        first = int(getattr(self.mj, f"name_{kind}adr")[number])
        text = self.texts[first : self.texts.index(b"\0", first)].decode(errors="replace")
        return "".join(c if c.isprintable() and c != "`" else "_" for c in text).strip()

    def unused(self, name: str) -> str:
        """A name for a joint, constraint or frame that nothing has yet."""
        found = unused(name, self.taken | {*RESERVED})
        if name in RESERVED:
            self.notes.add(f"renamed to '{found}', since it means {RESERVED[name]} in expressions", name)
        self.taken.add(found)
        return found

    def unused_body(self, name: str) -> str:
        """A name for a body that no body has yet."""
        found = unused(name, self.all_bodies)
        self.all_bodies.add(found)
        return found
