"""The formalisms that can be integrated, by name: a new one is one file and one entry here.

A formulation integrates a state: the coordinates q of the tree and, for each velocity, a variable p: a momentum
or the velocity itself. Whoever adds one provides the fields of `Formulation`, `at` being an `Evaluation`:

1. `name`, the word of the user.
2. `bodies(at, p, **stabilization)` sweeps the mechanism and returns its records. They hold dq, u and v, and the
   derivative of p in the field that `change` names; every field is declared in fields.py. Loops are closed.
3. `momenta(at, u)` gives p from velocities; None where p is the velocities themselves.
4. `closed(at, p)` gives the p nearest to this one with which no loop opens.
5. `level` is where loops are closed: accelerations or velocities. The stabilizations of that level (stabilizations.py)
   are offered, and `bodies` takes their gains as keyword arguments; "none" and "project" have none.
6. `maximal` is None where the state is that of the tree, else a `MaximalCoordinates`, whose functions convert:

   a. `maximal_mechanism(mechanism)` returns the mechanism whose coordinates and velocities are integrated.
   b. `maximal_state(at, maximal, u)` returns its coordinates and velocities from those of the tree.
   c. `tree_state(at, mechanism, u)`, `at` on the maximal mechanism, returns those of the tree, angles in (-pi, pi].
   d. `counted_angles(mechanism, maximal)` lists the angles of closing joints whose full turns are counted: they are
      integrated behind the state.
   e. `angle_derivatives(maximal, records, angles)` returns their derivatives.

All functions must run on any scalar: no comparison of values, no NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from momentree.equations import absolute, hamiltonian, lagrange
from momentree.equations.absolute import KinematicState
from momentree.equations.stabilizations import ClosureLevel, Gains, stabilizations_at
from momentree.equations.sweeps import Records
from momentree.structure.maximal_coordinates import Angle
from momentree.structure.mechanism import Mechanism


class MaximalCoordinates(NamedTuple):
    """How a state converts between the tree and separate bodies: point 6."""

    maximal_mechanism: Callable[[Mechanism], Mechanism]
    maximal_state: Callable[..., KinematicState]
    tree_state: Callable[..., KinematicState]
    counted_angles: Callable[[Mechanism, Mechanism], list[Angle]]
    angle_derivatives: Callable[..., list[Any]]


class Formulation(NamedTuple):
    """A formalism that can be integrated: points 1 to 6."""

    name: str
    bodies: Callable[..., Records]
    change: str
    momenta: Callable[..., tuple[Any, ...]] | None
    closed: Callable[..., tuple[Any, ...]]
    level: ClosureLevel
    maximal: MaximalCoordinates | None = None

    @property
    def stabilizations(self) -> dict[str, Gains]:
        """The stabilizations that it offers: by name, its gains from the wanted decay rate (1/s)."""
        return stabilizations_at(self.level)


_IMPULSES, _REACTIONS = ClosureLevel.VELOCITIES, ClosureLevel.ACCELERATIONS
_HAMILTONIAN = Formulation(
    "hamiltonian",
    hamiltonian.changing_bodies,
    "dp",
    hamiltonian.momenta,
    hamiltonian.closed_momenta,
    _IMPULSES,
)
_LAGRANGE = Formulation("lagrange", lagrange.changing_bodies, "du", None, lagrange.closed_velocities, _REACTIONS)
_ABSOLUTE = Formulation(
    "absolute",
    absolute.changing_bodies,
    "du",
    None,
    absolute.closed_velocities,
    _REACTIONS,
    MaximalCoordinates(
        absolute.maximal_mechanism,
        absolute.maximal_state,
        absolute.tree_state,
        absolute.counted_angles,
        absolute.angle_derivatives,
    ),
)
FORMULATIONS = {formulation.name: formulation for formulation in (_HAMILTONIAN, _LAGRANGE, _ABSOLUTE)}
