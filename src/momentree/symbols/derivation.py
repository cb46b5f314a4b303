"""What is derived before it is made readable: raw expressions of the equations of motion and of the constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from momentree.symbols.constraints import ScalarConstraint
from momentree.symbols.scalars import Symbolic

Definitions = tuple[tuple[sp.Symbol, sp.Expr], ...]


@dataclass(frozen=True)
class Derivation:
    """A u' + b = Q + J' lambda in raw expressions, or the same reduced to the velocities that remain.

    | field       | meaning                                                                                  |
    |-------------|------------------------------------------------------------------------------------------|
    | symbols     | the mechanism on symbols                                                                 |
    | A, b, Q     | mass matrix, inertial terms, forces; one row for each of `velocities`                    |
    | constraints | scalar constraints; of reduced equations those whose positions remain                    |
    | coordinates | those that remain; velocities, accelerations: u and u'                                   |
    | reduced     | whether dependent velocities and multipliers are eliminated                              |
    | definitions | names that stand in the expressions already, and what they mean                          |
    | dependent   | what was eliminated, by what remains                                                     |
    """

    symbols: Symbolic
    A: Sequence[Sequence[sp.Expr]]
    b: Sequence[sp.Expr]
    Q: Sequence[sp.Expr]
    constraints: Sequence[ScalarConstraint]
    coordinates: tuple[sp.Symbol, ...]
    velocities: tuple[sp.Symbol, ...]
    accelerations: tuple[sp.Symbol, ...]
    reduced: bool = False
    definitions: Definitions = ()
    dependent: Definitions = ()
