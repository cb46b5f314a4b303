"""What a report says of trust: what was measured, against which limit, what was estimated, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from momentree.look.html import Html, Section, html_lines, html_note, html_table, html_wide
from momentree.results.diagnostics import closure_limit, closure_scales, energy_limit, worst_of

if TYPE_CHECKING:
    from momentree.results.run import Run

OPENINGS = (
    ("closure error, lengths", "m"),
    ("closure error, angles", "rad"),
    ("closure velocity, lengths", "m/s"),
    ("closure velocity, angles", "rad/s"),
)
ENDS = {"arrived": "reached its end", "event": "was ended by an event"}


class Measure(NamedTuple):
    """The largest value of something over all samples, when it is reached, and up to where nothing is said of it."""

    name: str
    largest: float
    unit: str
    t: float
    limit: float

    @property
    def verdict(self) -> str:
        return "within the limit" if self.largest <= self.limit else "BEYOND THE LIMIT"

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        value = f"{self.largest:.2e} {self.unit}" if self.largest else f"0 {self.unit}"
        return self.name, value, f"{self.t:g} s", f"{self.limit:.1e} {self.unit}", self.verdict


def accuracy_section(run: Run) -> Section:
    """What is guaranteed, and what is not."""
    rows = [measure.cells() for measure in measures(run)]
    parts: list[Html] = []
    if rows:
        parts.append(html_lines(f"Measured at each of the {len(run.t)} samples:"))
        parts.append(html_wide(html_table(("measure", "at most", "at t", "limit", ""), rows)))
    else:
        parts.append(html_note("There are no samples: nothing was measured."))
    parts.append(_estimate(run))
    parts += [html_lines("Not known:"), _unknown(run)]
    return Section("Accuracy", parts)


def verdicts(run: Run) -> Iterator[Html]:
    """First and loud: every warning; or that there is none."""
    for message in run.warnings:
        yield html_note(f"WARNING: {message}", "bad")
    if run.warnings:
        return
    if not len(run.t):
        yield html_note("The run has no samples.", "bad")
        return
    kept = "its loops stay closed and its energy is in balance" if run.mechanism.constrained else "energy is in balance"
    ended = ENDS.get(run.end.reason, run.end.reason)
    yield html_note(f"No warnings. The run {ended} at t = {run.t[-1]:g} s; {kept}, within the limits below.", "good")


def measures(run: Run) -> Iterator[Measure]:
    """Closure errors and their velocities, if there are constraints, and the balance of energy."""
    if not len(run.t):
        return
    if (run.mechanism.whole or run.mechanism).constrained:
        limit, scales = closure_limit(run), closure_scales(run)
        for (name, unit), column, scale in zip(OPENINGS, run.openings.T, scales, strict=True):
            yield _measure(run, name, column, unit, limit * scale)
    yield _measure(run, "energy out of balance", np.abs(run.energy.balance), "J", energy_limit(run))


def _measure(run: Run, name: str, values: np.ndarray, unit: str, limit: float) -> Measure:
    k = worst_of(values)
    return Measure(name, float(values[k]), unit, float(run.t[k]), limit)


def _estimate(run: Run) -> Html:
    if run.error is None:
        way = "Simulate with verify=True (--verify) to estimate it by a second, more accurate run."
        return html_note(f"The error of coordinates and velocities was not estimated. {way}")
    names = [*run.error.coordinates.items()], [*run.error.velocities.items()]
    worst = ", ".join(f"{name}: {x:.1e}" for both in names for name, x in sorted(both, key=lambda e: -e[1])[:2])
    text = f"Estimated error up to t = {run.error.until:g} s: {run.error}. Largest: {worst}."
    return html_note(text)


def _unknown(run: Run) -> Html:
    """What no number above speaks of."""
    rows = [
        ("between samples", "Nothing was measured there; the player and curves interpolate."),
        ("a good balance", "Errors that keep the energy, such as a wrong phase, do not show in the energy account."),
        ("the model", "Whether masses, lengths and laws are those of the real mechanism."),
    ]
    if run.mechanism.loops:
        redundant = "How redundant constraints share their load: of their reactions, the shortest are shown."
        rows.insert(2, ("reactions", redundant))
    return html_wide(html_table((), rows))
