"""The coefficients of the minimax polynomials in compile/emit/llvm_exponentials.py and llvm_trigonometry.py.

    python benchmarks/minimax.py

By the exchange algorithm of Remez (E. W. Cheney, Introduction to Approximation Theory, 1966, chapter 3) with mpmath:
the error of the polynomial, weighed by what it counts in the function, is largest with alternating signs at as many
points as there are coefficients, and one more. Coefficients are then rounded to doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]
GRID = 600  # points in which errors are looked at


class Case(NamedTuple):
    """A polynomial: what it approximates and where, what an error of it counts, and how many coefficients it has."""

    name: str
    function: Function
    low: mp.mpf
    high: mp.mpf
    weight: Function
    count: int


def minimax(case: Case, turns: int = 8) -> tuple[list[mp.mpf], mp.mpf]:
    """The coefficients, from the constant one on, and the largest weighed error."""
    n, middle, reach = case.count + 1, (case.low + case.high) / 2, (case.high - case.low) / 2
    points = [middle + reach * mp.cos(mp.pi * (n - 1 - i) / (n - 1)) for i in range(n)]
    grid = [middle - reach * mp.cos(mp.pi * mp.mpf(i) / GRID) for i in range(GRID + 1)]
    exact = [(x, case.function(x), case.weight(x)) for x in grid]
    coefficients, errors = [], []
    for _ in range(turns):
        rows = [[*(x**j for j in range(case.count)), (-1) ** i / case.weight(x)] for i, x in enumerate(points)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([case.function(x) for x in points]))
        coefficients = list(solution)[: case.count]
        errors = [(x, weight * (mp.polyval(coefficients[::-1], x) - y)) for x, y, weight in exact]
        extremes = _extremes(errors)
        while len(extremes) > n:
            extremes.pop(0 if abs(extremes[0][1]) < abs(extremes[-1][1]) else -1)
        if len(extremes) < n:
            break
        points = [x for x, _ in extremes]
    return coefficients, max(abs(error) for _, error in errors)


def _extremes(errors: Iterable[tuple[mp.mpf, mp.mpf]]) -> list[tuple[mp.mpf, mp.mpf]]:
    """The largest error of each run of one sign."""
    found: list[tuple[mp.mpf, mp.mpf]] = []
    for point in errors:
        if not found or (point[1] > 0) != (found[-1][1] > 0):
            found.append(point)
        elif abs(point[1]) > abs(found[-1][1]):
            found[-1] = point
    return found


def _series(coefficient: Callable[[int], mp.mpf], terms: int = 160) -> Function:
    coefficients = [coefficient(k) for k in range(terms)][::-1]
    return lambda x: mp.polyval(coefficients, x)


def cases() -> list[Case]:
    """The polynomials of machine code."""
    s = (mp.sqrt(mp.mpf(23) / 16) - 1) / (mp.sqrt(mp.mpf(23) / 16) + 1) * mp.mpf(1.0001)
    r = mp.log(2) / 2 * mp.mpf(1.001)
    exp = _series(lambda k: 1 / mp.factorial(k + 3))
    sinh = _series(lambda k: 1 / mp.factorial(2 * k + 3))
    asin = _series(lambda k: mp.binomial(2 * k + 2, k + 1) / mp.mpf(4) ** (k + 1) / (2 * k + 3))
    log = _series(lambda k: mp.mpf(1) / (2 * k + 5))
    return [
        Case("_E: exp", exp, -r, r, lambda x: abs(x) ** 3 + mp.mpf(2) ** -40, 10),
        Case("_H: sinh", sinh, mp.mpf(1e-3), mp.mpf(1.001), lambda z: z / (1 + z / 6), 7),
        Case("_A: asin", asin, mp.mpf(1e-4), mp.mpf(0.2501), lambda z: z / (1 + z / 6), 13),
        Case("_D: log of powers", log, mp.mpf(1e-5), s * s, lambda z: z * z, 6),
    ]


def main() -> None:
    mp.mp.prec = 300
    for case in cases():
        coefficients, error = minimax(case)
        print(f"{case.name}, off by 2^{mp.nstr(mp.log(error, 2), 4)}")
        for c in coefficients:
            print(f"    {float(c)!r}")


if __name__ == "__main__":
    main()
