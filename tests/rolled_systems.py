"""Systems whose rolled code is looked at, and what a code gives for random rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import momentree as mt
from mechanisms import (
    EVERY_JOINT,
    four_bars_in_a_row,
    random_body,
    random_configuration,
    random_frame,
    random_joint,
    random_tree,
)
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target


def chain(n: int, twigs: bool = False) -> mt.System:
    """Links one after the other; with twigs, each carries one more."""
    m = mt.Model("chain")
    last = m.ground
    for i in range(n):
        link = m.body(f"link{i}", mt.rod(mass=1.0 + 0.1 * i, length=0.5, radius=0.03))
        m.joint(f"hinge{i}", mt.Revolute("xyz"[i % 3]), last.at((0.5, 0.1, 0.2)), link)
        if twigs:
            m.joint(f"fork{i}", mt.Revolute("y"), link, m.body(f"twig{i}", mt.rod(mass=0.2, length=0.1, radius=0.01)))
        last = link
    return m.build()


def every_joint_in_a_row() -> mt.System:
    """A chain of every joint type, and a tree of all of them on one of its bodies."""
    random, m = np.random.default_rng(7), mt.Model("row")
    last = m.ground
    for i, kind in enumerate(EVERY_JOINT):
        body = random_body(random, m, f"link{i}")
        m.joint(f"joint{i}", random_joint(random, kind), random_frame(random, last), random_frame(random, body))
        last = body
    return random_tree(random, EVERY_JOINT, m).build()


def results(code: Any, system: mt.System, rows: int, width: int) -> np.ndarray:
    """Of random rows; the arguments are made alike for all codes of one shape."""
    random = np.random.default_rng(3)
    arrays = []
    for name, columns in code.arrays:
        numbers = 0.3 * random.standard_normal((rows, columns))
        if columns >= system.nq and name not in ("v", "tau"):
            numbers[:, : system.nq] = [random_configuration(random, system) for _ in range(rows)]
        arrays.append(numbers)
    return Kernel(code, width, Target.host())(arrays)


SYSTEMS: dict[str, Callable[[], mt.System]] = {
    "chain": lambda: chain(20),
    "twigs": lambda: chain(8, twigs=True),
    "every joint": every_joint_in_a_row,
    "loops": lambda: four_bars_in_a_row(6).build(),
}
