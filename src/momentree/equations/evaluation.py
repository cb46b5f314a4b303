"""Where and when equations are evaluated: the argument that all formalisms share."""

from __future__ import annotations

from typing import NamedTuple

from momentree.equations.sweeps import Records, Runner
from momentree.model.expressions.expression import Reference
from momentree.model.joint_type import Coordinates
from momentree.model.values import TIME
from momentree.spatial import Scalar
from momentree.structure.force_element import Names as Names
from momentree.structure.mechanism import Mechanism


class Evaluation(NamedTuple):
    """A mechanism in a configuration, at a time, where its equations are evaluated, and the runner of the sweeps.

    | field      | shape | meaning                                                             |
    |------------|-------|---------------------------------------------------------------------|
    | mechanism  |       | whose equations                                                     |
    | q          | nq    | coordinates of the tree (NOTATION.md), scalars of any kind          |
    | t          |       | time (s), for prescribed joints, a moving ground and laws           |
    | parameters |       | values of the free parameters in laws                               |
    | run        |       | who runs the steps (sweeps.py)                                      |

    `hamiltonian.right_hand_side(Evaluation(mechanism, q, t), p)`: what else a formalism takes follows.
    """

    mechanism: Mechanism
    q: Coordinates
    t: Scalar = 0.0
    parameters: Names | None = None
    run: Runner = Records

    @property
    def names(self) -> dict[Reference, Scalar]:
        """The names that motion laws may use: time, free parameters, inputs that are functions of time."""
        signals = {Reference(name): signal(self.t) for name, signal in self.mechanism.signals}
        return {TIME: self.t, **signals, **(self.parameters or {})}
