"""The fields of sweep records: name, meaning and giver of each, declared here once.

A record (sweeps.py) accepts no other fields, and a field only once in an evaluation unless it is declared otherwise:

| kind     | a field that                                                                        |
|----------|-------------------------------------------------------------------------------------|
| ONCE     | one step or formalism gives                                                         |
| SUMMED   | begins on each body, and to which children add on the inward pass                   |
| REVISED  | is given again later, with the same meaning; the declaration says when              |

A name with a number behind it, as eta0, is declared by its stem. Vectors are resolved in the axes of the body and taken
at the origin of its frame unless it says otherwise; units are SI (NOTATION.md). `given_by` names files of this room.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """How often a field is given in one evaluation."""

    ONCE = "given once"
    SUMMED = "summed over children"
    REVISED = "given again later"


ONCE, SUMMED, REVISED = Kind


class Field(NamedTuple):
    """The declaration of a field."""

    name: str
    meaning: str
    given_by: tuple[str, ...]
    kind: Kind = ONCE


class FieldError(TypeError):
    """A step gives a field that is not declared, or one that another step has given already."""


def _field(name: str, meaning: str, *given_by: str, kind: Kind = ONCE) -> Field:
    return Field(name, meaning, given_by, kind)


# --- a body: inertia, joint and motion ---

BODY = (
    _field("number", "of the body, 0 is the ground; of a loop, from 1", "kinematics", "loops"),
    _field("parent", "number of the body that carries it; revised where a node comes between", "kinematics", "loops",
           kind=REVISED),
    _field("mount", "Transform from the joint's frame on the parent to the parent's frame", "kinematics", "loops"),
    _field("joint_type", "JointType, seen from the parent; of a loop, of its closing joint", "kinematics", "loops"),
    _field("inertia", "RigidInertia M about the origin of the frame", "kinematics", "loops"),
    _field("q", "coordinates of the joint", "kinematics", "loops"),
    _field("u", "velocities of the joint; revised where prescribed joints are held at rest",
           "kinematics", "hamiltonian", "aggregative", "loops", kind=REVISED),
    _field("du", "derivatives of u", "kinematics", "articulated", "loops"),
    _field("dq", "derivatives of q", "kinematics"),
    _field("arrived", "q + dq: coordinates after a unit of time at these derivatives", "kinematics"),
    _field("free", "whether the joint moves as forces make it: it has velocities and none is prescribed",
           "hamiltonian", "articulated", "factors", "loops"),
    _field("X", "ChainTransform C between parent and body: mount, then joint", "kinematics"),
    _field("X_0", "Transform from the body's frame to inertial space", "kinematics"),
    _field("A", "MotionSubspace of the joint", "kinematics"),
    _field("v", "twist (m/s, rad/s); revised where the ground is held at rest", "kinematics", "hamiltonian",
           "aggregative", "loops", kind=REVISED),
    _field("dv", "derivatives of the components of v (m/s2, rad/s2), less gravity where they are as felt; revised "
           "where the ground is held at rest", "kinematics", "articulated", kind=REVISED),
)  # fmt: skip

# --- forces on a body, or at the joint that closes a loop ---

FORCES = (
    _field("driven", "generalized forces of torque laws; revised for each torque of the joint", "forces", "loops",
           kind=REVISED),
    _field("spring", "stiffnesses of joint springs, or None", "forces", "loops"),
    _field("rest", "coordinates where the joint springs are relaxed, or None", "forces", "loops"),
    _field("damping", "of joint dampers, or None", "forces", "loops"),
    _field("stops", "joint stops (stops.py), or None", "forces", "loops"),
    _field("Q", "generalized forces of torques, springs, dampers, stops and constraints; revised as these come",
           "forces", "aggregative", "articulated", "force_terms", "newton_euler", "loops", kind=REVISED),
    _field("applied", "wrench of all forces but gravity; revised to add wrenches of loops, or to have those alone",
           "forces", "aggregative", "force_terms", "newton_euler", "loops", kind=REVISED),
    _field("tau", "generalized forces besides those of the model", "articulated"),
)  # fmt: skip

# --- inverse dynamics and inertia: aggregative.py, newton_euler.py, factors.py ---

INVERSE_DYNAMICS = (
    _field("Y", "wrench M dv + Omega M v", "aggregative"),
    _field("Z", "inertial less applied wrench, or momentum, or wrench of loops: of the body and all that it carries",
           "aggregative", "newton_euler", "coriolis", "force_terms", "loops", kind=SUMMED),
    _field("b", "A' Z - Q: one entry for each velocity of the joint", "aggregative", "coriolis"),
    _field("composite", "RigidInertia of the body and all that it carries, joints locked", "aggregative", "coriolis",
           kind=SUMMED),
    _field("w", "angular velocity", "newton_euler", "articulated"),
    _field("dw", "angular acceleration", "newton_euler"),
    _field("a", "acceleration of the origin, less gravity", "newton_euler"),
    _field("U", "Spin [dw x] + [w x][w x]; [w x][w x] for bias forces", "newton_euler", "articulated"),
    _field("P", "articulated inertia of U D U'", "factors", kind=SUMMED),
    _field("pivot", "A' W: the block D of A = U D U'", "factors"),
    _field("K", "W D: the columns whose projections are the blocks of U", "factors", "hamiltonian", "articulated"),
    _field("A_change", "MotionSubspace A^ = A' + V x A: how A changes, as spatial vectors", "coriolis"),
    _field("B", "CoriolisOperator of the body and all that it carries", "coriolis", kind=SUMMED),
    _field("x", "numbers in place of u, which a matrix is multiplied with", "coriolis"),
    _field("xi", "the twist that x in place of u causes, prescribed joints at rest", "coriolis"),
    _field("momentum", "M xi of the body and all that it carries", "coriolis", kind=SUMMED),
)  # fmt: skip

# --- the theorem of kinetic energy: energy.py; C is the centre of mass ---

ENERGY = (
    _field("partial", "partial velocities, by number of the velocity", "energy"),
    _field("velocities", "numbers of the joint's velocities", "energy"),
    _field("gravity", "acceleration of free fall, in inertial axes", "energy"),
    _field("X_C", "Transform from the centre of mass", "energy"),
    _field("M_C", "RigidInertia about C", "energy"),
    _field("V_C", "twist at C", "energy"),
    _field("a_C", "acceleration of C, and angular", "energy"),
    _field("partial_C", "partial velocities at C", "energy"),
    _field("active", "wrench of forces and weight at C", "energy"),
)  # fmt: skip

# --- articulated bodies: articulated.py, hamiltonian.py, lie_group.py; Ivanov's letters ---

ARTICULATED = (
    _field("M_star", "M*, ArticulatedInertia", "hamiltonian", "articulated", kind=SUMMED),
    _field("W", "M* A by columns", "hamiltonian", "articulated"),
    _field("D", "(A' W)^-1", "hamiltonian", "articulated", "factors"),
    _field("u_net", "D net: u, or du, if the parent kept still", "hamiltonian", "articulated"),
    _field("net", "p - A' phi of a joint, or generalized force less that of the bias force", "hamiltonian",
           "articulated"),
    _field("bias_force", "wrench that keeps dv as it would be without joint forces", "articulated", kind=SUMMED),
    _field("c", "the part of dv without du: velocity products, and A du of prescribed joints", "articulated"),
    _field("p", "Poisson momenta p* of the joint, conjugate to u", "hamiltonian", "loops"),
    _field("phi", "the part of mu that does not depend on v", "hamiltonian", kind=SUMMED),
    _field("v_r", "v^r, the twist of a prescribed joint relative to its parent", "hamiltonian"),
    _field("mu_star", "mu*, momentum of the body and all that it carries, without impulses of loops", "hamiltonian"),
    _field("g", "acceleration of free fall, in the axes of the body", "hamiltonian", "force_terms"),
    _field("F", "wrench of forces and weight, on the body and all that it carries", "hamiltonian", kind=SUMMED),
    _field("dp", "derivatives of p", "hamiltonian"),
    _field("group_velocity", "velocities on the group of translations and rotations", "lie_group"),
    _field("group_force", "derivatives of p there", "lie_group"),
)  # fmt: skip

# --- a body or node that loops pass through, or close at ---

ELIMINATION = (
    _field("slots", "ConstraintSlots: where open constraint rows stand (structure/elimination.py)", "loops"),
    _field("reach", "of each open row: how much the joint could move it (structure/reach.py)", "loops"),
    _field("anchored", "whether the joint is on the ground", "loops"),
    _field("r", "offset from where the path to the body leaves the ground, in inertial axes", "loops"),
    _field("constraint", "records of the constraints that have an end here", "loops"),
    _field("closing", "of a node: record of the loop that closes there", "loops"),
    _field("open", "OpenConstraints: the rows that are open here", "loops", kind=SUMMED),
    _field("shared_u", "u, for the constraints that name the joint; revised whenever it is shared", "loops",
           kind=REVISED),
    _field("along", "of each open row: coefficients along the velocities of the joint, () if it has none", "loops"),
    _field("G_b", "of a node: eta = -(G_b + G_F' v + G_o eta_o)", "loops"),
    _field("G_F", "of a node, see G_b", "loops"),
    _field("G_o", "of a node, see G_b", "loops"),
    _field("eta", "constraint impulse, or Lagrange multiplier, of each open row", "hamiltonian", "articulated"),
)  # fmt: skip

# --- a constraint: a loop and its closing joint, or one of other ends; O is the origin of the joint's second frame ---

LOOP = (
    _field("ends", "how many ends it has; end 0 of a loop is at the joint's first body", "loops"),
    _field("body", "record of the body at each end", "loops"),
    _field("node", "record of the elimination node where it is closed", "loops"),
    _field("ground", "record of the ground, where that moves", "loops"),
    _field("first_frame", "Transform of the joint's first frame F in the first body", "loops"),
    _field("second_frame", "Transform of its second frame M in the second body", "loops"),
    _field("fixed_rows", "constraint rows that the first body carries, in its axes, at O", "loops"),
    _field("per_length", "1 / length of the loop, 0 where it has none", "loops"),
    _field("anchor_offset", "from where the path to the first body leaves the ground to that of the second", "loops"),
    _field("E", "Rotation from axes of the second body to those of the first", "loops"),
    _field("origin", "O from the origin of the first body, in its axes", "loops"),
    _field("rows", "all constraint rows, in axes of the first body, at O", "loops"),
    _field("rows_on", "the rows as wrenches on the body at each end, at its frame", "loops"),
    _field("formula", "ConstraintFormula of an expression constraint (structure/constraint_formulas.py)", "loops"),
    _field("input_names", "of a higher pair: the names that it depends on, time and free parameters", "loops"),
    _field("inputs", "values of these, or of the inputs of the formula", "loops"),
    _field("joint_q", "coordinates of each joint that it names", "loops"),
    _field("frame_offset", "origin of each named frame, in its body", "loops"),
    _field("rows_along", "the rows as coefficients of the velocities of the joint at each end", "loops"),
    _field("force_along", "generalized forces along the joint at each end; revised as `wrench_on`", "loops",
           kind=REVISED),
    _field("drift", "of each row: its velocity while all bodies are at rest", "loops"),
    _field("bias", "of each row: the part of its velocity without u, or acceleration without du; revised", "loops",
           kind=REVISED),
    _field("programme_bias", "of each row: what the stabilization as a programme adds to its bias", "loops"),
    _field("misfit", "square of the closure error, of the length of the loop", "loops"),
    _field("closure_error", "of each row (m, rad)", "loops"),
    _field("targets", "of each row: minus the constraint velocity that it is to have", "loops"),
    _field("loaded", "whether anything depends on coordinates or velocities of the closing joint", "forces"),
    _field("dual_subspace", "A (A' A)^-1 by columns: wrenches on the second body of unit generalized forces", "loops"),
    _field("wrench_on", "wrench on the body at each end; revised from that of joint forces to that of constraints",
           "loops", kind=REVISED),
    _field("constraint_velocity", "of each row", "loops"),
    _field("constraint_acceleration", "of each row", "loops"),
    _field("counts_turns", "whether full turns of the closing joint are counted", "absolute"),
    _field("turn_velocities", "velocities of such a joint", "absolute"),
)  # fmt: skip


class _Declared(dict[str, Field]):
    """The declarations by name; a numbered name is found by its stem."""

    def __missing__(self, name: str) -> Field:
        stem = name.rstrip("0123456789")
        if stem == name or stem not in self:
            raise KeyError(name)
        self[name] = self[stem]
        return self[name]


DECLARED = _Declared(
    (field.name, field)
    for group in (BODY, FORCES, INVERSE_DYNAMICS, ENERGY, ARTICULATED, ELIMINATION, LOOP)
    for field in group
)


def declared(name: str, giver: object) -> Field:
    """The declaration of a field, or an error that names it and who gives it."""
    try:
        return DECLARED[name]
    except KeyError:
        message = f"{_named(giver)} gives the field '{name}', which no table of equations/fields.py declares."
        raise FieldError(message) from None


def given_twice(name: str, giver: object) -> FieldError:
    """The error of a field that is there already."""
    meaning = DECLARED[name].meaning
    return FieldError(
        f"{_named(giver)} gives the field '{name}' ({meaning}) a second time in one evaluation. "
        "Give another meaning another name, or declare the field REVISED in equations/fields.py."
    )


def _named(giver: object) -> str:
    return f"the step '{giver.__qualname__}'" if hasattr(giver, "__qualname__") else f"{giver}"
