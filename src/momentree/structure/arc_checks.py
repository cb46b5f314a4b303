"""Checks of what a graph is made of and asked about: arcs, weights, cuts, numbers of bodies and arcs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentree.errors import GraphError, listed
from momentree.structure.spanning_tree import Ints, frozen

LARGEST_BODY = 10_000_000  # each takes some hundred bytes


def is_integer(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def named(bodies: Sequence[int], count: int | None = None) -> str:
    """The bodies, as an error names them: "bodies 2, 3, 4 and 97 more"."""
    numbers = listed([str(body) for body in bodies[:9]], count=len(bodies) if count is None else count)
    return f"{'body' if len(bodies) == 1 else 'bodies'} {numbers}"


def checked_arcs(arcs: Iterable[Sequence[int]] | NDArray[Any], n: int | None) -> Ints:
    """The arcs as an m x 2 array, or every fault that they have."""
    if n is not None and not (is_integer(n) and 0 <= n <= LARGEST_BODY):
        raise GraphError(f"n: {n!r} is not a number of bodies. Give an integer from 0 to {LARGEST_BODY:,}.")
    pairs = arcs.tolist() if isinstance(arcs, np.ndarray) else list(arcs)
    last = LARGEST_BODY if n is None else n
    if faults := [f"arc {a}: {fault}" for a, pair in enumerate(pairs, 1) if (fault := arc_fault(pair, last))]:
        raise GraphError("\n".join(faults[:8] + [f"and {len(faults) - 8} more"] * (len(faults) > 8)))
    return frozen(np.array(pairs, dtype=np.int64).reshape(-1, 2))


def arc_fault(pair: Any, last: int) -> str:
    """What is wrong with one arc; nothing if all is well."""
    if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        return f"{pair!r} is not a pair (body it leaves, body it enters)."
    for body in pair:
        if not is_integer(body):
            return f"body {body!r} is not an integer. Bodies are numbered from 1; 0 is the external body."
        if body < 0:
            return f"body {body} is negative. Bodies are numbered from 1; 0 is the external body."
        if body > LARGEST_BODY:
            return f"there is no body {body}: a graph has at most {LARGEST_BODY:,} bodies."
        if body > last:
            return f"there is no body {body}. Bodies are numbered 0 to {last}; a larger n makes room for more."
    if pair[0] == pair[1]:
        return f"self-loop at body {pair[0]}. A joint joins two different bodies."
    return ""


def checked_weights(weights: Iterable[float] | None, m: int) -> NDArray[np.float64]:
    try:
        numbers = np.ones(m) if weights is None else np.array(list(weights), dtype=float)
    except (TypeError, ValueError):
        raise GraphError(f"weights: {weights!r} are not numbers. Give one for each arc.") from None
    if numbers.shape != (m,):
        raise GraphError(f"weights: {len(numbers)} for {m} arcs. Give one number for each arc.")
    if np.isnan(numbers).any():
        raise GraphError(f"weights: that of arc {np.isnan(numbers).argmax() + 1} is NaN. Give a number.")
    return frozen(numbers)


def checked_cut(cut: Iterable[int], m: int) -> tuple[int, ...]:
    numbers = list(cut)
    for arc in numbers:
        if not is_integer(arc) or not 1 <= arc <= m:
            raise GraphError(f"cut: there is no arc {arc!r}. Arcs are numbered 1 to {m}.")
    return tuple(sorted({int(arc) for arc in numbers}))


def checked_body(k: Any, n: int, what: str) -> int:
    """The number of a body, or an error that says what was asked for and which bodies there are."""
    if not is_integer(k) or not 0 <= k <= n:
        raise GraphError(f"{what}: there is no body {k!r}; bodies are numbered 0 to {n}.")
    return int(k)


def checked_arc(a: Any, m: int, what: str) -> int:
    """The number of an arc, or an error that says what was asked for and which arcs there are."""
    if not is_integer(a) or not 1 <= a <= m:
        numbered = f"arcs are numbered 1 to {m}" if m else "the graph has no arcs"
        raise GraphError(f"{what}: there is no arc {a!r}; {numbered}.")
    return int(a)
