"""Arcs and walks as text: "0-1 1-2 1-3" and "s3, u4, s4"; a mistake is named with its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise

from momentree.errors import GraphError
from momentree.structure.arc_checks import LARGEST_BODY, arc_fault, named

ARC = re.compile(r"s?(\d{1,10})(?:-|->|→)s?(\d{1,10})", re.ASCII)
STEP = re.compile(r"([su]?)(\d{1,10})", re.ASCII)
HOW = "Write an arc as 0-1, from the body that it leaves to the body that it enters"
HOW_TO_WALK = "Write a walk as s3, u4, s4 or by its bodies, 3-4-2"


def read_arcs(text: str, place: str = "arcs") -> list[tuple[int, int]]:
    """The arcs of a text: "0-1 1-2 1-3", separated by spaces, commas, semicolons or lines; # begins a comment.

    Every mistake is named, with its line if there are several.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    split = (re.split(r"[\s,;]+", line.partition("#")[0]) for line in lines)
    several = len(lines) > 1
    return checked_words(
        [(f"{place}:{i}" if several else place, word) for i, line in enumerate(split, 1) for word in line if word],
        place,
    )


def checked_words(words: Sequence[tuple[str, str]], place: str) -> list[tuple[int, int]]:
    """The arcs, each written as "0-1" and given with its place.

    Bodies are numbered without gaps, 0 is one of them, and no two arcs join the same bodies: the lecture unites all
    that acts between two bodies in one joint.
    """
    if not words:
        raise GraphError(f"{place}: there is no arc. {HOW}: 0-1 1-2 1-3.")
    arcs, faults, first = list[tuple[int, int]](), list[str](), dict[frozenset[int], int]()
    for a, (where, word) in enumerate(words, 1):
        fault = f"'{shown(word)}' is not an arc. {HOW}."
        if match := ARC.fullmatch(word):
            arc = int(match[1]), int(match[2])
            arcs.append(arc)
            fault = arc_fault(arc, LARGEST_BODY) or _given_twice(arc, a, first.setdefault(frozenset(arc), a))
        if fault:
            faults.append(f"{where}: arc {a}: {fault}")
    faults = faults or [f"{place}: {fault}" for fault in _gaps(arcs)]
    if faults:
        raise GraphError("\n".join(faults[:8] + [f"and {len(faults) - 8} more"] * (len(faults) > 8)))
    return arcs


def _given_twice(arc: tuple[int, int], a: int, before: int) -> str:
    """What is wrong with arc a if another one joins the same bodies; nothing if it is the first."""
    if a == before:
        return ""
    one_joint = "One joint unites all that acts between two bodies: omit one"
    return f"arc {before} joins bodies {arc[0]} and {arc[1]} already. {one_joint}."


def _gaps(arcs: list[tuple[int, int]]) -> list[str]:
    """The bodies that no arc names: 0, or some below the largest number."""
    bodies = sorted({body for arc in arcs for body in arc} | {0})
    faults = [] if any(0 in arc for arc in arcs) else ["no arc names the external body 0. Join a body with it: 0-1."]
    count = bodies[-1] + 1 - len(bodies)
    if count:
        gaps = (body for before, after in pairwise(bodies) for body in range(before + 1, after))
        missing, them = named([*islice(gaps, 9)], count), "it" if count == 1 else "them"
        way_out = f"Number the bodies 1 to {len(bodies) - 1} without gaps, or add an arc"
        faults.append(f"{missing}: no arc names {them}. {way_out}.")
    return faults


def read_walk(steps: str | Sequence[int]) -> tuple[int, list[tuple[int | None, int]]]:
    """The first body of a walk, and its steps: the arc, None where it is not named, and the body after it."""
    if not isinstance(steps, str):
        steps = [*steps]
        if not steps:
            raise GraphError(f"walk: there is no body. {HOW_TO_WALK}.")
        return steps[0], [(None, body) for body in steps[1:]]
    words = [word for word in re.split(r"(?:->|→|[\s,;-])+", steps) if word]
    found = [STEP.fullmatch(word) for word in words]
    if not words or None in found:
        wrong = f"'{shown(words[found.index(None)])}' is neither a body nor an arc" if words else "there is no body"
        raise GraphError(f"walk: {wrong}. {HOW_TO_WALK}.")
    letters, numbers = zip(*((match[1], int(match[2])) for match in found if match), strict=True)
    if "u" not in letters:
        return numbers[0], [(None, body) for body in numbers[1:]]
    for i, (word, letter) in enumerate(zip(words, letters, strict=True)):
        if letter != "su"[i % 2]:
            raise GraphError(f"walk: '{word}' stands where {('a body', 'an arc')[i % 2]} must. {HOW_TO_WALK}.")
    if letters[-1] == "u":
        raise GraphError(f"walk: it ends with an arc. Name the body after {words[-1]}.")
    return numbers[0], [*zip(numbers[1::2], numbers[2::2], strict=True)]


def read_pair(text: str, what: str) -> tuple[int, int]:
    """Two bodies: "3-4", "s3-s4", "3 4" or "3,4"."""
    match = re.fullmatch(r"\s*s?(\d{1,10})\s*(?:-|->|→|,|\s)\s*s?(\d{1,10})\s*", text, re.ASCII)
    if not match:
        raise GraphError(f"{what} '{shown(text)}': is not a pair of bodies. Write it as 3-4.")
    return int(match[1]), int(match[2])


def shown(text: str) -> str:
    """The beginning of a user's text, on one line."""
    return "".join(c if c.isprintable() else "?" for c in text[:40]) + "..." * (len(text) > 40)
