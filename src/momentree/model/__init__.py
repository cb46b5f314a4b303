"""What the user says: bodies, joints, forces, constraints, parameters; nothing is checked until the model is built."""

from momentree.model.bodies import Body, box, cylinder, rod, sphere
from momentree.model.frames import Frame, turn
from momentree.model.model import Model

__all__ = ["Body", "Frame", "Model", "box", "cylinder", "rod", "sphere", "turn"]
