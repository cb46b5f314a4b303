"""How many operations the dynamics of a six-axis arm takes, counted by tracing the sweeps on a tape.

    python benchmarks/operation_counts.py [--write docs/operation-counts.md]

Two arms with random numbers and full inertias: `mdh`, modified Denavit-Hartenberg, a twist before each hinge;
`aligned`, frames parallel at zero, hinges about z, x, y in turn. Gravity runs along the first hinge, as usual.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import momentree as mt
from momentree.compile.trace.tape import Operations, Tape
from momentree.equations import aggregative, articulated, newton_euler
from momentree.equations.base_parameters import base_parameters
from momentree.equations.evaluation import Evaluation
from momentree.equations.shared_parameters import shared_parameters
from momentree.spatial.symmetric import solve
from momentree.structure import Mechanism

ARMS = ("aligned", "mdh", "tilted mdh")


def arm(kind: str, n: int = 6, seed: int = 0) -> Mechanism:
    """An arm of n hinges with random geometry and inertia."""
    random = np.random.default_rng(seed)
    m = mt.Model(kind)
    body: Any = m.ground
    for i in range(n):
        J = np.diag(random.uniform(0.3, 0.5, 3))
        J += np.triu(random.uniform(-0.05, 0.05, (3, 3)), 1)
        J = np.triu(J) + np.triu(J, 1).T
        a, d, r = random.uniform(0.1, 0.5, 3)
        alpha = float(random.uniform(0.3, 1.2)) if i or kind == "tilted mdh" else 0.0
        if kind != "aligned":
            frame = body.at((a, -math.sin(alpha) * d, math.cos(alpha) * d), mt.turn("x", alpha))
        else:
            frame = body.at((a, d, r))
        body = m.body(f"link{i}", mass=random.uniform(1, 2), com=random.uniform(-0.2, 0.2, 3), inertia=J)
        m.joint(f"hinge{i}", mt.Revolute("z" if kind != "aligned" else "zxy"[i % 3]), frame, body)
    return m.build().mechanism


def counted(mechanism: Mechanism, formula: Callable[..., list[Any]]) -> Operations:
    """Operations of formula(mechanism, q, u, x); x are accelerations or torques."""
    tape, n = Tape(), mechanism.nv
    q, u, x = ([tape.input(f"{name}{i}") for i in range(n)] for name in "qux")
    tape.outputs(formula(mechanism, q, u, x))
    return tape.operations()


def inverse(mechanism: Mechanism, q: Any, u: Any, x: Any) -> list[Any]:
    return list(newton_euler.inverse_dynamics(Evaluation(mechanism, q), u, x))


def by_aggregation(mechanism: Mechanism, q: Any, u: Any, x: Any) -> list[Any]:
    return list(aggregative.inverse_dynamics(Evaluation(mechanism, q), u, x))


def by_articulation(mechanism: Mechanism, q: Any, u: Any, x: Any) -> list[Any]:
    return list(articulated.forward_dynamics(Evaluation(mechanism, q), u, x))


def bias(mechanism: Mechanism, q: Any, u: Any, x: Any) -> list[Any]:
    return list(newton_euler.inverse_dynamics(Evaluation(mechanism, q), u, [0] * mechanism.nv))


def mass_matrix(mechanism: Mechanism, q: Any, u: Any, x: Any) -> list[Any]:
    return [entry for i, row in enumerate(aggregative.mass_matrix(Evaluation(mechanism, q))) for entry in row[: i + 1]]


def forward(mechanism: Mechanism, q: Any, u: Any, x: Any) -> list[Any]:
    """A u' = tau - d, with A = U D U'."""
    d = bias(mechanism, q, u, x)
    return solve(
        aggregative.mass_matrix(Evaluation(mechanism, q)), [tau - entry for tau, entry in zip(x, d, strict=True)]
    )


def as_given(mechanism: Mechanism) -> Mechanism:
    """The inertias as they are, in the frames of the model."""
    return mechanism


# what is counted: name, formula, and how its mechanism is described
ROWS: tuple[tuple[str, Callable[..., list[Any]], Callable[[Mechanism], Mechanism]], ...] = (
    ("first form, b", lambda m, q, u, x: list(aggregative.first_form(Evaluation(m, q), u).b), as_given),
    ("second form with accelerations (6-vectors)", by_aggregation, as_given),
    ("inverse dynamics, classical accelerations", inverse, as_given),
    ("inverse dynamics, base parameters", inverse, base_parameters),
    ("**inverse dynamics, shared parameters**", inverse, shared_parameters),
    ("d (zero acceleration), base parameters", bias, base_parameters),
    ("d (zero acceleration), shared parameters", bias, shared_parameters),
    ("A(q), base parameters", mass_matrix, base_parameters),
    ("**forward dynamics: A, d, U D U' solve, base parameters**", forward, base_parameters),
    ("forward dynamics in O(n), articulated", by_articulation, as_given),
)

ELSEWHERE = """
| elsewhere | x / + at n = 6 |
|---|---|
| Belkov and Konoplev 1997, first form, as claimed (67n - 4, 55n - 4) | 398 / 326 |
| Belkov and Konoplev 1997, second form, as claimed (64n, 44n) | 384 / 264 |
| Luh, Walker and Paul 1980 (150n - 48, 131n - 48) | 852 / 738 |
| Balafoutis and Patel 1989 (93n - 69, 81n - 65) | 489 / 421 |
| Khalil and Kleinfinger 1987, general arm (92n - 127, 81n - 117) | 425 / 369 |

Belkov and Konoplev do not say for which arm, nor by which rules, they count. Their first form, carried out literally
on full inertias, takes more here (first row); their figures are of the size that an arm with axis-parallel frames,
offsets of one component, centres of mass on one axis and diagonal inertias gives. That is an attribution, not a proof
that the claims are wrong: with regrouped inertias, which are not theirs, d takes fewer multiplications than either
claim on every arm above, and fewer additions than the claim for the first form. The figures of the others are quoted
from the literature and were not counted here.

## Where the operations of inverse dynamics are

Of each link in the middle of a general arm, on shared parameters (`equations/shared_parameters.py`):

| what                                                            | x  | +  |
|-----------------------------------------------------------------|----|----|
| w, dw: two turns of each, then the joint's own part             | 18 | 12 |
| U = [dw x] + [w x][w x]                                         | 6  | 9  |
| a: U times the offset of two components, two turns              | 14 | 10 |
| f = m a + U h, n = vee(U K - (U K)') + h x a: seven numbers     | 20 | 16 |
| f and n to the parent: two turns of each, moment of the force, sums | 20 | 18 |
| all                                                             | 78 | 65 |

Base parameters take 23 and 20 in the fourth line. Seven numbers in a link are the least there can be, and these are the
cheapest seven: m instead of h_x, K_zz instead of K_yz. More than half of the multiplications, 40, are turns of the five
vectors w, dw, a, f and n by two angles each. Each turn in a plane could take 3 multiplications and 3 additions instead
of 4 and 2, by three shears, so that fewer multiplications cost as many additions more. What remains are products of
independent quantities. That is no proof of a least number, but these are all the identities that vectors in body axes
have: fewer operations would need another recursion.
"""


def report() -> str:
    lines = [
        "# Operation counts",
        "",
        "Six hinges, full inertias, counted by `python benchmarks/operation_counts.py`:",
        "multiplications / additions (divisions).",
        "Signs are free; what depends on constants alone is computed once and not counted.",
        "",
        "| what | aligned | mdh | mdh, gravity across the first hinge |",
        "|---|---|---|---|",
    ]
    for name, formula, described in ROWS:
        cells = []
        for kind in ARMS:
            found = counted(described(arm(kind)), formula)
            divisions = f" ({found.divisions})" if found.divisions else ""
            cells.append(f"{found.multiplications} / {found.additions}{divisions}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" + ELSEWHERE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="also write the table into this file")
    given = parser.parse_args()
    text = report()
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
