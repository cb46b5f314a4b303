"""The graph of a model: numbering, matrices, spanning tree, loops; and the frozen mechanism."""

from momentree.structure.freeze import freeze
from momentree.structure.graph import Cycle, Graph
from momentree.structure.mechanism import Mechanism
from momentree.structure.structure import Structure

__all__ = ["Cycle", "Graph", "Mechanism", "Structure", "freeze"]
