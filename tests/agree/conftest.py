"""Comparisons with peers and between formalisms generate machine code at level 0: the same bits, in half the time."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def machine_code_at_level_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOMENTREE_OPTIMIZE", "0")
