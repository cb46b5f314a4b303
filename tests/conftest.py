"""What all tests share: object files are kept in a folder of this run, not in the user's; Ctrl-C is heard."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile

import pytest

_MINE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background; some tests interrupt themselves
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers use the folder of the process that started them
        config.stash[_MINE] = os.environ["MOMENTREE_CACHE"] = tempfile.mkdtemp(prefix="momentree-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if _MINE in config.stash:
        shutil.rmtree(config.stash[_MINE], ignore_errors=True)
