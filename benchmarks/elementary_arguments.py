"""Arguments for the elementary functions of machine code: those of mechanisms, all exponents, hard cases."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from fractions import Fraction

import mpmath
import numpy as np

Array = np.ndarray
Random = np.random.Generator
Draw = Callable[[Random, int], Array]  # so many arguments, a row for each


def within(low: float, high: float) -> Draw:
    """Evenly distributed."""
    return lambda random, n: random.uniform(low, high, n)


def spread(low: float, high: float, negative: bool = True) -> Draw:
    """Of all exponents from 2^low to 2^high alike, of either sign."""

    def draw(random: Random, n: int) -> Array:
        e = random.uniform(low, high, n)
        with np.errstate(under="ignore", over="ignore"):
            x = np.minimum(np.ldexp(np.exp2(e - np.floor(e)), np.floor(e).astype(int)), np.finfo(float).max)
        return x * random.choice((-1.0, 1.0), n) if negative else x

    return draw


def next_to(centers: Array | Draw, ulps: int = 4) -> Draw:
    """At most so many numbers away from one of these."""

    def draw(random: Random, n: int) -> Array:
        x = centers(random, n) if callable(centers) else random.choice(np.asarray(centers, dtype=float), n)
        return (x.view(np.int64) + random.integers(-ulps, ulps + 1, n)).view(float)

    return draw


def close_to(center: float) -> Draw:
    """At any distance from a number, most of them small."""
    small = spread(-53, -2)
    return lambda random, n: center + small(random, n)


def multiples(of: str, most: float, least: float = 1.0, shift: float = 0.0) -> Draw:
    """Doubles next to (k + shift) times a number, k of all sizes."""
    with mpmath.workprec(200):
        value = {"pi/2": mpmath.pi / 2, "log 2": mpmath.log(2)}[of]
        parts = [np.longdouble(float(value)), np.longdouble(float(value - mpmath.mpf(float(value))))]

    def draw(random: Random, n: int) -> Array:
        k = np.floor(np.exp2(random.uniform(np.log2(least), np.log2(most), n))).astype(np.longdouble)
        k = (k + np.longdouble(shift)) * random.choice((-1.0, 1.0), n)
        return np.asarray(k * parts[0] + k * parts[1], dtype=float)

    return draw


@functools.cache
def hardest_angles() -> Array:
    """For each exponent, the doubles next to a multiple of pi/2: from continued fractions (Kahan, Muller)."""
    with mpmath.workprec(2600):
        whole = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 2400))
    found = []
    for e in range(-52, 972):
        x = Fraction(whole * 2 ** max(e, 0), 2 ** (2400 + max(-e, 0)))
        h, k = (0, 1), (1, 0)
        while True:
            a = x.numerator // x.denominator
            h, k = (h[1], a * h[1] + h[0]), (k[1], a * k[1] + k[0])
            if k[1] >= 2**53 or x == a:
                break
            if k[1] > 2**40:  # also its multiples
                found += [float(m * k[1]) * 2.0**e for m in {1, 2**53 // k[1]}]
            x = 1 / (x - a)
    return np.array(found)


def pair(*draws: Draw) -> Draw:
    """Columns drawn one by one."""
    return lambda random, n: np.stack([draw(random, n) for draw in draws], axis=1)


def _results_of_all_sizes(random: Random, n: int) -> Array:
    x = spread(-1074, 1024, negative=False)(random, n)
    size = np.log2(x)
    y = random.uniform(-1080, 1030, n) / np.where(size == 0, 1.0, size)
    return np.stack([x, y], axis=1)


def _bases_next_to_1(random: Random, n: int) -> Array:
    x = 1.0 + spread(-53, -2)(random, n)
    return np.stack([x, random.uniform(-745, 710, n) / np.where(x == 1.0, 1.0, np.log(x))], axis=1)


def _whole_powers(random: Random, n: int) -> Array:
    return np.stack([random.normal(0, 10, n), random.integers(-300, 301, n).astype(float)], axis=1)


def _halves_and_fifths(random: Random, n: int) -> Array:
    """As step-size control takes them."""
    y = random.integers(1, 40, n) * random.choice((-1 / 8, -1 / 5, 0.25, 0.5, -1 / 4, 0.8), n)
    return np.stack([spread(-60, 60, negative=False)(random, n), y], axis=1)


def _equal_legs(random: Random, n: int) -> Array:
    x = spread(-1000, 1000)(random, n)
    return np.stack([next_to(lambda random, n: x * random.choice((-1.0, 1.0), n))(random, n), x], axis=1)


_ANGLES: Mapping[str, Draw] = {
    "up to 10": within(-10, 10),
    "up to 1e6": within(-1e6, 1e6),
    "all exponents": spread(-1074, 1024),
    "next to k pi/2 up to 1e6": next_to(multiples("pi/2", 2.0**19), 2),
    "next to k pi/2 beyond": next_to(multiples("pi/2", 2.0**60, 2.0**19), 2),
    "nearest to k pi/2, each exponent": lambda random, n: (
        random.choice(hardest_angles(), n) * random.choice((-1.0, 1.0), n)
    ),
}
_CIRCLE: Mapping[str, Draw] = {
    "-1 to 1": within(-1, 1),
    "all exponents": spread(-1074, 0),
    "close to 1": lambda random, n: np.clip(close_to(1.0)(random, n), -1, 1) * random.choice((-1.0, 1.0), n),
    "next to 1/2": next_to(np.array([0.5, -0.5]), 10**9),
}
_HYPERBOLIC: Mapping[str, Draw] = {
    "up to 3": within(-3, 3),
    "up to 710.48": within(-710.48, 710.48),
    "all exponents": spread(-1074, 9.47),
    "next to (k + 1/2) log 2": next_to(multiples("log 2", 1024, 1, 0.5)),
    "next to 1, 0.625": next_to(np.array([1.0, -1.0, 0.625, -0.625]), 10**9),
}
ARGUMENTS: dict[str, Mapping[str, Draw]] = {
    "sin": _ANGLES,
    "cos": _ANGLES,
    "tan": _ANGLES,
    "asin": _CIRCLE,
    "acos": _CIRCLE,
    "atan": {
        "up to 5": within(-5, 5),
        "all exponents": spread(-1074, 1024),
        "next to tan pi/8, 1, 1 / tan pi/8": next_to(np.sqrt(2) + np.array([-1.0, 1.0]), 10**9),
        "close to 1": close_to(1.0),
    },
    "atan2": {
        "up to 5": pair(within(-5, 5), within(-5, 5)),
        "all exponents": pair(spread(-1074, 1024), spread(-1074, 1024)),
        "exponents from -30 to 30": pair(spread(-30, 30), spread(-30, 30)),
        "equal legs": _equal_legs,
        "small legs": pair(spread(-1074, -900), spread(-1074, -850)),
    },
    "sinh": _HYPERBOLIC,
    "cosh": _HYPERBOLIC,
    "tanh": _HYPERBOLIC,
    "exp": {
        "-1 to 1": within(-1, 1),
        "-746 to 710": within(-746, 710),
        "results below 2^-1022": within(-745.2, -708.3),
        "all exponents": spread(-1074, 9.47),
        "next to (k + 1/2) log 2": next_to(multiples("log 2", 1024, 1, 0.5)),
        "next to k log 2": next_to(multiples("log 2", 1024)),
    },
    "log": {
        "0 to 2": within(0, 2),
        "all exponents": spread(-1074, 1024, negative=False),
        "close to 1": close_to(1.0),
        "next to 2^k sqrt(1/2)": next_to(np.ldexp(np.sqrt(0.5), np.arange(-1000, 1000)), 10**6),
    },
    "power": {
        "bases 1/150 to 150, powers to 100": pair(spread(-7.2, 7.2, negative=False), within(-100, 100)),
        "results of all sizes": _results_of_all_sizes,
        "bases close to 1": _bases_next_to_1,
        "whole powers": _whole_powers,
        "halves, fifths": _halves_and_fifths,
    },
    "floor": {"all exponents": spread(-1074, 1024), "next to integers": next_to(np.arange(-1000.0, 1001.0))},
}
