"""What all tests share: object files are kept in a folder of this run, not in the user's."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

_MINE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers use the folder of the process that started them
        config.stash[_MINE] = os.environ["MOMENTREE_CACHE"] = tempfile.mkdtemp(prefix="momentree-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if _MINE in config.stash:
        shutil.rmtree(config.stash[_MINE], ignore_errors=True)
