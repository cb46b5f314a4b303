"""Open loops: how open those of imprecise linkages may be, which samples are closed, and when loops have come apart."""

from __future__ import annotations

import numpy as np

from momentree.assembly.samples import Samples
from momentree.integrate.projection import OPEN
from momentree.integrate.stepper import Array
from momentree.simulate.blocks import Block
from momentree.simulate.failure_reasons import reason_of_open_loops
from momentree.simulate.settings import Settings
from momentree.structure.mechanism import Mechanism

CLOSED = 1e-8  # of the size of the mechanism: closure errors up to which the last samples before a failure are kept
OPENED = 0.1  # of the size of the mechanism: closure errors at which loops that are not projected have come apart


def most_open(mechanism: Mechanism) -> float:
    """How open loops of imprecise linkages may be, by the size of each: twice their tolerance."""
    parts = zip(mechanism.loop_tolerances, mechanism.loop_sizes, strict=True)
    return max([OPEN, *(2 * tolerance / size for tolerance, size in parts)])


def while_closed(mechanism: Mechanism, settings: Settings, block: Block, first: bool) -> Block:
    """The samples of the last block, but for those at its end that are not closed any more; a `first` block's start."""
    if not mechanism.constrained or not settings.projects or not len(block):
        return block
    closed = np.flatnonzero(closure_errors(mechanism, block) <= CLOSED)
    count = int(closed[-1]) + 1 if len(closed) else 0
    if not count and first:
        count = 1  # the start
    return block.part(slice(count))


def closure_errors(mechanism: Mechanism, block: Block) -> Array:
    """The largest closure error of each sample, by the size of the mechanism."""
    with np.errstate(all="ignore"):
        openings = Samples(mechanism, block.q, block.v, block.t).openings()[:, :2]
        return np.asarray((openings / (mechanism.size, 1.0)).max(axis=1))


def come_apart(mechanism: Mechanism, settings: Settings, block: Block, duration: float) -> str:
    """Why loops that are not projected cannot be called loops any more; "" where they can."""
    if not mechanism.constrained or settings.projects or not len(block):
        return ""
    closure_error = float(closure_errors(mechanism, block.part(slice(-1, None)))[0])
    if closure_error <= OPENED:
        return ""
    return reason_of_open_loops(mechanism, closure_error, block.q[-1], float(block.t[-1]), duration)
