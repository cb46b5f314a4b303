"""MJCF: robots of MuJoCo as models, from what its own compiler makes of a file.

| MJCF                          | model                                                                               |
|-------------------------------|-------------------------------------------------------------------------------------|
| body without a joint          | Fixed to its parent                                                                 |
| hinge, slide, ball, free      | Revolute, Prismatic, Spherical, Free; coordinates are MuJoCo's (qpos), with its ref |
| several joints of a body      | joints one after another, with massless bodies between them                         |
| range                         | limits, with stops as stiff as solreflimit makes them                               |
| stiffness, springref, damping | spring, rest, damping; their higher orders are torque laws                          |
| frictionloss                  | a torque -f tanh(v / 0.01): full friction from about 0.02 rad/s or m/s on           |
| armature, also of an actuator | armature                                                                            |
| gravcomp                      | a force at the center of mass                                                       |
| equality                      | closing joints, couplings, constraints (mjcf_equalities.py)                         |
| geoms, sites                  | shapes that are drawn, named frames (mjcf_shapes.py)                                |
| first keyframe, or qpos0      | where motions start                                                                 |

What has no counterpart is listed in one warning.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from momentree.files.counterparts import Notes
from momentree.files.massless_links import settle_massless
from momentree.files.mjcf_compiler import Compiled, MjcfText, compiled
from momentree.files.mjcf_equalities import add_equalities, fixed_tendons
from momentree.files.mjcf_shapes import add_sites, shapes_of
from momentree.files.mjcf_values import BALL, FREE, HINGE, SLIDE, Names, floats, placement, quaternion
from momentree.files.model_bytes import file_error
from momentree.files.robot_parts import Choices, axis_of, drop_limits, friction_law, lift, within_limits
from momentree.model import Model
from momentree.model.expressions.expression import Reference
from momentree.model.frames import GROUND, Frame, Turn
from momentree.model.joint_type import JointType
from momentree.model.joint_types import Fixed, Free, Prismatic, Revolute, Spherical
from momentree.spatial import Transform, Vector
from momentree.spatial.inertia import turned_symmetric
from momentree.spatial.rotation import quaternion_rotation

LEFT_OUT = {  # kinds of MuJoCo's elements, by their counts
    "nactuator": "actuators left out (give their forces by torque laws)",
    "nsensor": "sensors left out",
    "ncam": "cameras left out",
    "nlight": "lights left out",
    "npair": "contacts of pairs left out",
    "nflex": "flexible bodies left out",
    "nskin": "skins left out",
    "nplugin": "plugins left out",
}


def read_mjcf(
    path: str | os.PathLike[str], packages: Sequence[Any] = (), floating: bool = False, choices: Choices | None = None
) -> Model:
    """The model in an MJCF file; with `floating`, bodies that are fixed to the world move freely."""
    text = MjcfText(path)
    if packages:
        raise file_error(text.name, "is MJCF, which takes no packages=: it says itself where its meshes are (meshdir).")
    notes = Notes(text.name)
    return MjcfModel(text, compiled(text, notes), notes, floating, choices or Choices()).model()


class MjcfModel:
    """Makes a model of MuJoCo's compiled one (mj), part by part."""

    def __init__(self, text: MjcfText, made: Compiled, notes: Notes, floating: bool, choices: Choices):
        self.text, self.made, self.notes, self.floating, self.choices = text, made, notes, floating, choices
        self.mj = made.mj
        self.names = Names(made.mj, notes)
        self.laws: dict[int, list[str]] = {}  # torques by joint

    def model(self) -> Model:
        mj = self.mj
        model = Model(self.text.root.attributes.get("model", "").strip() or "robot")
        model.gravity = floats(mj.opt.gravity) if not self.disabled("GRAVITY") else (0, 0, 0)
        for shape in shapes_of(self.made, 0, self.notes):
            model.shape(model.ground, shape)
        for body in range(1, mj.nbody):
            self.add_body(model, body)
        for body in range(1, mj.nbody):
            self.add_joints(model, body)
        self.add_tendons()
        for joint, laws in self.laws.items():
            model.torque(self.names.joints[joint], " ".join(laws).removeprefix("+ "))
        loops = not self.disabled("EQUALITY") and add_equalities(model, mj, self.names, self.notes)
        add_sites(model, mj, self.names)
        if self.choices.limits == "drop":
            drop_limits(model, self.notes)
        self.add_start(model, loops)
        self.add_notes()
        settle_massless(model, self.choices.massless, self.notes)
        self.notes.report(model)
        model.source = functools.partial(self.place_of, model)
        return model

    def disabled(self, flag: str) -> bool:
        """Whether an option of the file switches something off."""
        import mujoco

        bits = int(self.mj.opt.disableflags)
        constraints = ("EQUALITY", "FRICTIONLOSS", "LIMIT")
        off = [flag, "CONSTRAINT"] if flag in constraints else [flag]
        return any(bits & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")) for name in off)

    def place_of(self, model: Model, path: tuple[str | int, ...]) -> str:
        """The line of what the model has at a path."""
        kind, number = (*path, "", "")[:2]
        things: dict[str, list[Any]] = {"body": model.bodies, "joint": model.joints}
        listed = things.get(str(kind), [])
        element = None
        if isinstance(number, int) and number < len(listed):
            name = listed[number].name
            tags = ("body",) if kind == "body" else ("joint", "freejoint", "connect", "weld")
            element = next((found for tag in tags if (found := self.text.find(tag, name))), None)
        found = element or self.text.root
        return f"{found.file}:{found.line}"

    # --- bodies ---

    def add_body(self, model: Model, body: int) -> None:
        mj, name = self.mj, self.names.bodies[body]
        shapes = shapes_of(self.made, body, self.notes)
        mass = float(mj.body_mass[body])
        if mj.body_mocapid[body] >= 0:
            self.notes.add("mocap bodies, which do not move here", name)
        if mass == 0 and not mj.body_inertia[body].any():
            model.body(name, shapes=shapes, massless=True)
            return
        com = floats(mj.body_ipos[body])
        principal = (*floats(mj.body_inertia[body]), 0.0, 0.0, 0.0)
        turned = quaternion(mj.body_iquat[body])
        inertia = principal if turned is None else turned_symmetric(quaternion_rotation(turned), principal)
        model.body(name, shapes=shapes, mass=mass, com=com, inertia=inertia)
        lifted = float(mj.body_gravcomp[body])
        if lifted and mj.body_weldid[body]:
            lift(model, name, com, mass, lifted)

    # --- joints ---

    def add_joints(self, model: Model, body: int) -> None:
        """The joints of a body, one after another; those between its own carry massless bodies."""
        mj, name = self.mj, self.names.bodies[body]
        parent = self.names.bodies[mj.body_parentid[body]]
        first, count = int(mj.body_jntadr[body]), int(mj.body_jntnum[body])
        X, turned = placement(mj.body_pos[body], mj.body_quat[body]), quaternion(mj.body_quat[body])
        if count == 0:
            loose = self.floating and parent == GROUND and mj.body_mocapid[body] < 0
            joint = self.names.unused(f"{name}_free" if loose else f"{name}_fixed")
            model.joint(joint, Free() if loose else Fixed(), Frame(parent, tuple(X.offset), turned), Frame(name))
        for number in range(first, first + count):
            last = number == first + count - 1
            carried = name if last else self.names.unused_body(f"{self.names.joints[number]}_carrier")
            if not last:
                model.body(carried, massless=True)
            at = Vector(*floats(mj.jnt_pos[number]))
            before = Frame(GROUND) if mj.jnt_type[number] == FREE else Frame(parent, tuple(X.point(at)), turned)
            after = self.second(carried, number, at)
            model.joint(self.names.joints[number], self.joint_type(number), before, after)
            parent, X, turned = carried, Transform(), None  # the frames of carriers are that of the body

    def second(self, carried: str, number: int, at: Vector) -> Frame:
        """The joint's frame on the body that it carries: such that its coordinate is MuJoCo's, which starts at ref."""
        mj = self.mj
        if mj.jnt_type[number] == FREE:
            return Frame(carried)
        ref = float(mj.qpos0[mj.jnt_qposadr[number]]) if mj.jnt_type[number] in (HINGE, SLIDE) else 0.0
        axis = floats(mj.jnt_axis[number])
        if ref and mj.jnt_type[number] == SLIDE:
            return Frame(carried, tuple(at + Vector(*axis) * ref))
        return Frame(carried, tuple(at), Turn(axis_of(axis), ref) if ref else None)

    def joint_type(self, number: int) -> JointType:
        mj, kind = self.mj, self.mj.jnt_type[number]
        options: dict[str, Any] = {}
        dof = int(mj.jnt_dofadr[number])
        armature, damping = self.rotor(number)
        if damping and not self.disabled("DAMPER"):
            options["damping"] = damping
        if kind in (FREE, BALL):
            self.note_of_ball(number, armature)
            if "damping" in options:
                options["damping"] = (damping,) * (6 if kind == FREE else 3)
            return Free(**options) if kind == FREE else Spherical(**options)
        if armature:
            options["armature"] = armature
        stiffness = float(mj.jnt_stiffness[number])
        if stiffness and not self.disabled("SPRING"):
            rest = float(mj.qpos_spring[mj.jnt_qposadr[number]])
            options |= {"spring": stiffness} | ({"rest": rest} if rest else {})
        if mj.jnt_limited[number] and not self.disabled("LIMIT"):
            options |= {"limits": floats(mj.jnt_range[number]), "stops": self.stops(number)}
            if mj.jnt_margin[number]:
                self.notes.add(
                    "margins of limits left out, where stops act before the limit", self.names.joints[number]
                )
        friction = float(mj.dof_frictionloss[dof])
        if friction and not self.disabled("FRICTIONLOSS"):
            velocity = Reference(self.names.joints[number], velocity=True)
            self.laws.setdefault(number, []).append(
                str(friction_law(friction, velocity, self.choices.friction_velocity))
            )
        self.add_higher_orders(number)
        axis = axis_of(floats(mj.jnt_axis[number]))
        return Revolute(axis, **options) if kind == HINGE else Prismatic(axis, **options)

    def rotor(self, number: int) -> tuple[float, float]:
        """Armature and damping of a joint, with those of its actuator, which are times the square of the gear."""
        mj, dof, actuator = self.mj, self.mj.jnt_dofadr[number], self.mj.jnt_actuatorid[number]
        own = float(mj.dof_armature[dof]), float(mj.dof_damping[dof])
        if actuator < 0:
            return own
        square = float(mj.actuator_gear[actuator][0]) ** 2
        if mj.actuator_dampingpoly[actuator].any():
            self.notes.add("damping of higher order of actuators left out", self.names.joints[number])
        more = float(mj.actuator_armature[actuator]), float(mj.actuator_damping[actuator])
        return own[0] + square * more[0], own[1] + square * more[1]

    def note_of_ball(self, number: int, armature: float) -> None:
        """What a ball or a free joint cannot have."""
        mj, name, dof = self.mj, self.names.joints[number], self.mj.jnt_dofadr[number]
        left = {
            "armature": armature,
            "springs": mj.jnt_stiffness[number] or mj.jnt_stiffnesspoly[number].any(),
            "limits": mj.jnt_limited[number],
            "friction": mj.dof_frictionloss[dof],
            "damping of higher order": mj.dof_dampingpoly[dof].any(),
        }
        for what, given in left.items():
            if given:
                self.notes.add(f"{what} of ball and free joints left out", name)

    def add_higher_orders(self, number: int) -> None:
        """Springs f = b x^2 + c x^3 and dampers f = b v |v| + c v^3, besides the linear parts, as laws."""
        mj, laws = self.mj, self.laws.setdefault(number, [])
        v = Reference(self.names.joints[number], velocity=True)
        rest = float(mj.qpos_spring[mj.jnt_qposadr[number]])
        x = f"({Reference(self.names.joints[number])} - ({rest!r}))"
        b, c = floats(mj.jnt_stiffnesspoly[number])
        if (b or c) and not self.disabled("SPRING"):
            laws.append(f"- ({b!r})*{x}^2 - ({c!r})*{x}^3")
        b, c = floats(mj.dof_dampingpoly[mj.jnt_dofadr[number]])
        if (b or c) and not self.disabled("DAMPER"):
            laws.append(f"- ({b!r})*{v}*abs({v}) - ({c!r})*{v}^3")
        if not laws:
            del self.laws[number]
        if mj.jnt_plasticadr[number] >= 0:
            self.notes.add("yielding of springs left out", self.names.joints[number])

    def stops(self, number: int) -> tuple[float, float]:
        """Stiffness and damping of the stops: MuJoCo's, on the inertia that moves along the joint at qpos0.

        It asks for the acceleration -2/T v - x/(T z)^2, where x is beyond the limit, with solref = (T, z); or
        -c v - s x, with solref = (-s, -c).
        """
        mj = self.mj
        first, second = floats(mj.jnt_solref[number])
        if first > 0:
            T = first if self.disabled("REFSAFE") else max(first, 2 * float(mj.opt.timestep))
            stiffness, damping = 1 / (T * max(second, 1e-3)) ** 2, 2 / T
        else:
            stiffness, damping = -first, max(-second, 0.0)
        inertia = 1 / max(float(mj.dof_invweight0[mj.jnt_dofadr[number]]), 1e-15)
        return stiffness * inertia, damping * inertia

    def add_tendons(self) -> None:
        """Springs and dampers along fixed tendons, as torque laws of their joints."""
        mj = self.mj
        for number, terms in fixed_tendons(mj).items():
            name = self.names.of("tendon", number)
            left = {"limits": mj.tendon_limited, "friction": mj.tendon_frictionloss, "armature": mj.tendon_armature}
            for what, given in left.items():
                if given[number]:
                    self.notes.add(f"{what} of tendons left out", name)
            if mj.tendon_plasticadr[number] >= 0:
                self.notes.add("yielding of springs of tendons left out", name)
            if mj.tendon_stiffnesspoly[number].any() or mj.tendon_dampingpoly[number].any():
                self.notes.add("springs of higher order of tendons left out", name)
            stiffness = 0.0 if self.disabled("SPRING") else float(mj.tendon_stiffness[number])
            damping = 0.0 if self.disabled("DAMPER") else float(mj.tendon_damping[number])
            low, high = floats(mj.tendon_lengthspring[number])
            length, speed = (
                " + ".join(f"({c!r})*{Reference(self.names.joints[j], velocity=v)}" for j, c in terms.items())
                for v in (False, True)
            )
            stretch = f"{length} - ({low!r})"
            if low != high:
                stretch = f"min({stretch}, 0) + max({length} - ({high!r}), 0)"
            for joint, coefficient in terms.items():
                laws = self.laws.setdefault(joint, [])
                laws += [f"- ({coefficient * stiffness!r})*({stretch})"] if stiffness else []
                laws += [f"- ({coefficient * damping!r})*({speed})"] if damping else []
                if not laws:
                    del self.laws[joint]

    # --- where it starts, and what is left out ---

    def add_start(self, model: Model, loops: bool) -> None:
        """The first keyframe, or qpos0 within limits: given where nothing closes a loop, else as a guess."""
        mj = self.mj
        key = mj.nkey > 0
        q, v = (mj.key_qpos[0], mj.key_qvel[0]) if key else (mj.qpos0, [0.0] * mj.nv)
        coordinates: dict[str, Any] = {}
        velocities: dict[str, Any] = {}
        for number, name in enumerate(self.names.joints):
            kind, at, dof = mj.jnt_type[number], int(mj.jnt_qposadr[number]), int(mj.jnt_dofadr[number])
            if kind in (HINGE, SLIDE):
                values, speeds = [float(q[at])], [float(v[dof])]
            else:
                start = at + 3 * (kind == FREE)
                turned = quaternion(q[start : start + 4]) or (0.0, 0.0, 0.0, 1.0)
                values = [*floats(q[at:start]), *turned]
                count = 6 if kind == FREE else 3
                speeds = [*floats(v[dof : dof + count])]
                if kind == FREE:  # along axes of the world there, along those of the body here
                    speeds[:3] = quaternion_rotation(turned).T @ Vector(*speeds[:3])
            if any(values[:-1]) or values[-1] != float(kind in (FREE, BALL)):
                coordinates[name] = values[0] if len(values) == 1 else tuple(values)
            if any(speeds):
                velocities[name] = speeds[0] if len(speeds) == 1 else tuple(speeds)
        if loops and velocities:
            self.notes.add("velocities of the keyframe left out, since loops determine them", "")
            velocities = {}
        guess = (
            {}
            if key
            else within_limits(model, {n: x for n, x in coordinates.items() if isinstance(x, float)}, self.notes)
        )
        coordinates = {name: at for name, at in coordinates.items() if name not in guess}
        if loops:
            coordinates, guess = {}, {**coordinates, **guess}
        if coordinates or velocities or guess:
            model.start_at(coordinates, velocities, guess)

    def add_notes(self) -> None:
        import mujoco

        mj = self.mj
        for count, kind in LEFT_OUT.items():
            for number in range(getattr(mj, count)):
                self.notes.add(kind, self.names.of(count[1:], number))
        for number in range(mj.ngeom):
            if mj.geom_contype[number] or mj.geom_conaffinity[number]:
                self.notes.add("contacts of geoms left out", "")
        for number in set(range(mj.ntendon)) - {*fixed_tendons(mj)}:
            self.notes.add("spatial tendons left out", self.names.of("tendon", number))
        for number in range(1, mj.nkey):
            self.notes.add("keyframes after the first left out", self.names.of("key", number))
        placed = mj.body_mocapid >= 0
        drawn = np.hstack([mj.body_pos[placed], mj.body_quat[placed]])
        if mj.nkey and (np.hstack([mj.key_mpos[0].reshape(-1, 3), mj.key_mquat[0].reshape(-1, 4)]) != drawn).any():
            self.notes.add("places of mocap bodies in the keyframe left out")
        if (mj.tree_sleep_policy == mujoco.mjtSleepPolicy.mjSLEEP_INIT).any():
            self.notes.add("bodies that sleep at first move here")
        if mj.opt.density or mj.opt.viscosity:
            self.notes.add("forces of the fluid left out")
