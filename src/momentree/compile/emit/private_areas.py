"""Working memory of one thread as arrays of its own, so that LLVM can keep them in registers.

A function that gets working memory as an argument parts it at its beginning: `%y = getelementptr double, ptr %room, i64
152`. As long as all parts are one array, a single access at an index that is known only at run time keeps all of it in
memory. As arrays of their own, each is looked at alone. Parts of one family, k0, k1,
... stay together: all of them are reached from k0.
"""

from __future__ import annotations

import re

_PART = re.compile(r"^  (%[\w.]+) = getelementptr double, ptr (%[\w.]+), i64 (\d+)$", re.MULTILINE)
_FAMILY = re.compile(r"(%[a-z.]*[a-z])\d+")
WORK = "%work"  # the part that is parted again, where all parts of it are known to be arrays of their own
ARRAYS = {"%k", "%there", "%next", "%closed", "%velocities", "%noise.q", "%noise.v", "%moves"}


def with_private_areas(text: str, entry: str, size: int) -> str:
    """The text of a module in which `entry` has its working memory, `size` numbers, as arrays of its own.

    It is the last argument, which is not used any more.
    """
    head = re.search(rf"^define [^\n]*@{re.escape(entry)}\(([^\n()]*)\)[^\n]*\{{\n", text, re.MULTILINE)
    assert head is not None
    room = head[1].split()[-1]
    end = text.index("\n  br ", head.end())  # of the first block
    begin = text[head.end() : end]
    places = {room: 0}
    parts = _PART.findall(begin)
    again = {_FAMILY.sub(r"\1", name) for name, base, _ in parts if base == WORK} <= ARRAYS
    bases = (room, WORK) if again else (room,)
    for name, base, offset in parts:
        if base in bases:
            places[name] = places[base] + int(offset)
    for whole in bases:
        places.pop(whole, None)
    heads = {name: _head(name, places) for name in places}
    cuts = sorted({*(places[first] for first in heads.values()), size})

    def part(found: re.Match[str]) -> str:
        name, base = found[1], found[2]
        if name not in places or base not in bases:
            return found[0]
        first = heads[name]
        if name != first:
            return f"  {name} = getelementptr double, ptr {first}, i64 {places[name] - places[first]}"
        following = next((cut for cut in cuts if cut > places[name]), size)
        return f"  {name} = alloca [{max(following - places[name], 1)} x double], align 16"

    return text[: head.end()] + _PART.sub(part, begin) + text[end:]


def _head(name: str, places: dict[str, int]) -> str:
    """The part that a part stays with: the first of its family, or of those at the same place; or itself."""
    family = _FAMILY.fullmatch(name)
    first = f"{family[1]}0" if family else name
    if family and first not in places:
        first = min((other for other in places if other.startswith(family[1])), key=lambda other: places[other])
    return next(other for other in places if places[other] == places[first])
