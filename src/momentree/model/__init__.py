"""What the user says: bodies, joints, forces, constraints, parameters; nothing is checked until the model is built."""

from momentree.model.bodies import Body
from momentree.model.frames import Frame, turn
from momentree.model.model import Model
from momentree.model.shapes import box, capsule, cylinder, disc, mesh, polygon, rod, sphere

__all__ = [
    "Body",
    "Frame",
    "Model",
    "box",
    "capsule",
    "cylinder",
    "disc",
    "mesh",
    "polygon",
    "rod",
    "sphere",
    "turn",
]
