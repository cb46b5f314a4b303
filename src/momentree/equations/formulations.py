"""The formalisms that can be integrated, by name: a new one is one file and one line here.

A state is the coordinates q of the tree and, for each velocity, a momentum or the velocity itself. What a formulation offers,
`at` being an `Evaluation`:

| field    | meaning                                                                                                  |
|----------|----------------------------------------------------------------------------------------------------------|
| bodies   | (at, p) -> records that hold dq, u, v and the derivative of p               |
| change   | the field that holds it                                                                                  |
| momenta  | (at, u) -> p from velocities; None where p is the velocities themselves              |
| closed   | (at, p) -> p with which loops do not open                                  |
| holds    | closure -> what `bodies` takes to keep loops closed so, from a gain (1/s)                                |
| anew     | how the mechanism is told anew, None where it is taken as it is                                          |

A formulation that tells the mechanism anew has a state of other coordinates; its `Anew` offers the way in and out:

| field    | meaning                                                                                                  |
|----------|----------------------------------------------------------------------------------------------------------|
| told     | mechanism -> the mechanism whose coordinates and velocities are the state                                     |
| entered  | (at, told, u) -> coordinates and velocities of the told one                                      |
| left     | (at, mechanism, u), at the told one -> those of the tree, angles in (-pi, pi]                      |
| counted  | (mechanism, told) -> angles of closing joints whose turns are counted behind the state                    |
| counting | (told, records, angles) -> how these change                                                              |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from momentree.equations import absolute, hamiltonian, lagrange
from momentree.equations.absolute import Moves
from momentree.equations.sweeps import Records
from momentree.structure.maximal_coordinates import Angle
from momentree.structure.mechanism import Mechanism

Holds = dict[str, Callable[[float], dict[str, float]]]


class Anew(NamedTuple):
    """How a mechanism is told anew."""

    told: Callable[[Mechanism], Mechanism]
    entered: Callable[..., Moves]
    left: Callable[..., Moves]
    counted: Callable[[Mechanism, Mechanism], list[Angle]]
    counting: Callable[..., list[Any]]


class Formulation(NamedTuple):
    """A formalism that can be integrated."""

    name: str
    bodies: Callable[..., Records]
    change: str
    momenta: Callable[..., tuple[Any, ...]] | None
    closed: Callable[..., tuple[Any, ...]]
    holds: Holds
    anew: Anew | None = None


def _nothing(gain: float) -> dict[str, float]:
    return {}


_IMPULSES: Holds = {
    "none": _nothing,
    "baumgarte": lambda gain: {"gamma": 2 * gain, "kappa": gain},
    "leak": lambda gain: {"kappa": gain},
    "project": _nothing,
}
_REACTIONS: Holds = {"none": _nothing, "baumgarte": lambda gain: {"alpha": gain}, "project": _nothing}
FORMULATIONS = {
    found.name: found
    for found in (
        Formulation(
            "hamiltonian",
            hamiltonian.changing_bodies,
            "dp",
            hamiltonian.momenta,
            hamiltonian.closed_momenta,
            _IMPULSES,
        ),
        Formulation("lagrange", lagrange.changing_bodies, "du", None, lagrange.closed_velocities, _REACTIONS),
        Formulation(
            "absolute",
            absolute.changing_bodies,
            "du",
            None,
            absolute.closed_velocities,
            _REACTIONS,
            Anew(absolute.told, absolute.entered, absolute.left, absolute.counted, absolute.counting),
        ),
    )
}
