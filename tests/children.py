"""Children that a test forks: what one returned, or the signal that ended it."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from typing import NoReturn

SECONDS = 120  # a child that takes longer is ended by SIGALRM


def in_child(work: Callable[[], int | None]) -> int:
    """Do it in a child process; what it returned (None: 0), less than zero for a signal, 99 for an error."""
    child = os.fork()
    if child == 0:
        _be_a_child(work)
    return ended(child)


def ended(child: int) -> int:
    """Wait for a child; its exit status, or less than zero for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def limit_child() -> None:
    """Right after a fork: garbage of the parent, which may wait for threads that are not here, is left as it is."""
    gc.freeze()
    signal.alarm(SECONDS)


def _be_a_child(work: Callable[[], int | None]) -> NoReturn:
    status = 99
    try:
        limit_child()
        status = work() or 0
    finally:
        os._exit(status)
