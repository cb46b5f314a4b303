"""Long modules in two tiers: generated quickly at first, and well once they have run for as long as that takes.

LLVM's register allocator takes most of the time of its code generator. Without it, at level 0, code is there in a third
of the time, runs some 35 % longer, and computes the same bits. So the module of an integrator with tens of thousands of
lines is generated at level 0, and at the usual level when steps have taken as long as its generation would: then it is
worth it, and is cached for the next process. Where it is in the cache already, or where the user chose a level with
MOMENTREE_OPTIMIZE, there is one tier.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

from momentree.compile.execute.machine_code import Target, chosen_level, is_cached, loaded

LONG = 20_000  # lines of a module, from which on it is generated in two tiers
SECONDS_PER_LINE = 4e-5  # of the code generator at the usual level: measured by benchmarks/code_time.py
QUICK_LEVEL = 0


class TieredFunction:
    """A function of a module that holds long straight-line code; other symbols are had from `library`.

    | attribute | meaning                                                         |
    |-----------|-----------------------------------------------------------------|
    | library   | the machine code that was loaded first, which stays as it is    |
    | quick     | whether it is the quickly generated one that is called          |
    """

    def __init__(self, text: str, target: Target, name: str, others: Sequence[str], signature: Any):
        self.quick = text.count("\n") > LONG and chosen_level() is None and not is_cached(text, target)
        self._text, self._target, self._name, self._signature = text if self.quick else "", target, name, signature
        self.library = loaded(text, target, [name, *others], {}, QUICK_LEVEL if self.quick else None)
        self._libraries = [self.library]  # a call in another thread may still be in the first one
        self._function = signature(self.library[name])
        self._left = SECONDS_PER_LINE * text.count("\n")  # seconds that it may still run quickly generated

    def __call__(self, *arguments: int | ctypes.c_void_p) -> None:
        if not self.quick:
            self._function(*arguments)
            return
        begun = time.perf_counter()
        self._function(*arguments)
        self._left -= time.perf_counter() - begun
        if self._left < 0:
            self.generate_well()

    def generate_well(self) -> None:
        """Go on with code at the usual level."""
        if self.quick:
            self._libraries.append(loaded(self._text, self._target, self._name, {}))
            self._function = self._signature(self._libraries[-1][self._name])
            self.quick, self._text = False, ""
