"""Runs with other coordinates than those that were computed: what is wrong with them must be found."""

from __future__ import annotations

import dataclasses
from typing import Any

from momentree.results.run import Run


def with_coordinates(run: Run, where: Any, q: Any) -> Run:
    """The same run with other numbers somewhere in q."""
    changed = run.q.copy()
    changed[where] = q
    return dataclasses.replace(run, samples=dataclasses.replace(run.samples, q=changed)).with_measures(
        system=run.system
    )
