"""Rows of a batch shared among the cores: how many threads, when they pay, and where rows are parted.

MOMENTREE_THREADS limits their number; else there are as many as this process may use cores.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from momentree.errors import MomentreeError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Compute = Callable[[int, int], None]  # the rows from begin to end
FIRST = 256  # rows that are computed alone, to see how long one takes: a multiple of every width
PAYS = 50e-6  # seconds of work for which it pays to wake a thread
_PARTS = 4  # for each thread, so that one that is held up leaves its rows to others
_MOST = 1024


def available(limit: int | None = None) -> int:
    """How many threads may be used, at most `limit`."""
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise MomentreeError(f"threads is {limit!r}; give a whole number from 1 on, or None for all cores.")
    named = os.environ.get("MOMENTREE_THREADS", "")
    if named and not (named.isdecimal() and int(named) > 0):
        raise MomentreeError(f"MOMENTREE_THREADS is '{named}'; give a whole number from 1 on, or unset it.")
    cores = int(named) if named else _cores()
    return min(cores if limit is None else limit, cores, _MOST)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share(new: Callable[[], Compute], rows: int, threads: int) -> None:
    """Computes all rows: the first alone, and the rest by so many threads as pay.

    `new` gives each thread what it computes with, and its own room for it. Where rows are parted depends on how long
    they take, but always stands at a multiple of every width: each row is computed by the same code.
    """
    alone, first = new(), min(rows, FIRST)
    began = perf_counter()
    alone(0, first)
    if first == rows:
        return
    remaining = (perf_counter() - began) / first * (rows - first)  # seconds
    threads = min(threads, int(remaining / PAYS))
    if threads < 2:
        alone(first, rows)
    else:
        _run(new, alone, _parts(first, rows, threads * _PARTS), threads)


def _parts(begin: int, end: int, count: int) -> deque[tuple[int, int]]:
    step = -(-(end - begin) // count)
    step += -step % 8  # a multiple of every width
    return deque((at, min(at + step, end)) for at in range(begin, end, step))


def _run(new: Callable[[], Compute], alone: Compute, parts: deque[tuple[int, int]], threads: int) -> None:
    """Each thread takes parts until all are taken; this one too, so that all are done even without other threads."""
    from concurrent.futures import wait

    def work(compute: Compute) -> None:
        while True:
            try:
                begin, end = parts.popleft()
            except IndexError:
                return
            compute(begin, end)

    others: list[Any] = []
    try:
        for _ in range(threads - 1):
            try:
                others.append(_pool().submit(lambda: work(new())))
            except RuntimeError:  # the interpreter is ending, or the system gives no more threads
                break
        work(alone)
    finally:
        wait(others)  # nothing is written once the call has ended
    for other in others:
        other.result()


@functools.cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_MOST, thread_name_prefix="momentree")  # a thread is started only when none is idle


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the threads stay with the parent
