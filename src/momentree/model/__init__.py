"""What the user says: bodies, joints, forces, constraints, parameters; forgiving until it is built."""

from momentree.model.bodies import Body, box, cylinder, rod, sphere
from momentree.model.frames import Frame, turn
from momentree.model.joint_types import (
    Cylindrical,
    Fixed,
    Free,
    PinSlot,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from momentree.model.model import Model

__all__ = [
    "Body",
    "Cylindrical",
    "Fixed",
    "Frame",
    "Free",
    "Model",
    "PinSlot",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
    "box",
    "cylinder",
    "rod",
    "sphere",
    "turn",
]
