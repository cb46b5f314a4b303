"""The formalisms that can be integrated, by name: a new one is one file and one line here.

A state is the coordinates q of the tree and, for each rate, a momentum or the rate itself. What a formulation offers:

| field    | meaning                                                                                                  |
|----------|----------------------------------------------------------------------------------------------------------|
| bodies   | (mechanism, q, p, t, parameters, run) -> records that hold dq, u, v and the derivative of p               |
| change   | the field that holds it                                                                                  |
| momenta  | (mechanism, q, u, t, parameters, run) -> p from rates; None where p is the rates themselves              |
| closed   | (mechanism, q, p, t, parameters, run) -> p with which loops do not open                                  |
| holds    | closure -> what `bodies` takes to keep loops closed so, from a gain (1/s)                                |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from momentree.equations import hamiltonian, lagrange
from momentree.equations.sweeps import Records

Holds = dict[str, Callable[[float], dict[str, float]]]


class Formulation(NamedTuple):
    """A formalism that can be integrated."""

    name: str
    bodies: Callable[..., Records]
    change: str
    momenta: Callable[..., tuple[Any, ...]] | None
    closed: Callable[..., tuple[Any, ...]]
    holds: Holds


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
        Formulation("lagrange", lagrange.changing_bodies, "du", None, lagrange.closed_rates, _REACTIONS),
    )
}
