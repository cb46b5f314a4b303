"""What all tests share: which cases of a repeated proof are long, a cache of machine code of this run, Ctrl-C, garbage.

    @pytest.mark.repeats(3)
    @pytest.mark.parametrize("seed", range(48))
    def test_a_law(seed): ...

proves one law many times: `make test` runs three of its cases, the first, the last and one between, and
`make test-long` the rest. `repeats(3, of="kind")` keeps three cases for each value of that argument.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections import defaultdict
from collections.abc import Generator

import pytest

_MINE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background; some tests interrupt themselves
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["MOMENTREE_TEXTS"] = "off"  # some tests replace formulas, which no digest shows
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers use the folder of the process that started them
        config.stash[_MINE] = os.environ["MOMENTREE_CACHE"] = tempfile.mkdtemp(prefix="momentree-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if _MINE in config.stash:
        shutil.rmtree(config.stash[_MINE], ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before cases are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all but a few cases of a repeated proof as long."""
    proofs: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("repeats")) and not item.get_closest_marker("long"):
            value = item.callspec.params[mark.kwargs["of"]] if "of" in mark.kwargs else ""  # type: ignore[attr-defined]
            proofs[item.nodeid.partition("[")[0], str(value)].append(item)
    for cases in proofs.values():
        keep = cases[0].get_closest_marker("repeats").args[0]  # type: ignore[union-attr]
        few = {round(i * (len(cases) - 1) / max(keep - 1, 1)) for i in range(keep)}
        for i, case in enumerate(cases):
            if i not in few:
                case.add_marker(pytest.mark.long)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Looks for garbage seldom, and only among what tests make: otherwise it takes a tenth of the time of all tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 10, 10)
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that are marked `gpu` need one, and say why they are skipped."""
    if item.get_closest_marker("gpu"):
        from momentree.compile.execute.gpu_devices import chosen
        from momentree.compile.execute.gpu_driver import GpuError

        try:
            chosen("gpu")
        except GpuError as error:
            pytest.skip(str(error))
