"""The summary of a run: closure error, energy balance, steps; `print(run)` and --json."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.assembly.samples import Samples
from momentree.integrate.methods import FOR_STIFF
from momentree.look.tables import shortened
from momentree.simulate.inputs import in_words

if TYPE_CHECKING:
    from momentree.results.run import Run

SMALL = 20, 50_000  # velocities and samples of a run whose singular configurations are looked for
ENDS = {"arrived": "arrived", "event": "ended by an event", "interrupted": "interrupted", "failed": "failed"}


def run_summary(run: Run) -> str:
    """Duration, samples, steps, evaluations, closure error, energy balance, and all warnings."""
    lines = [f"{shortened(run.mechanism.name)}: run"] + [f"  {name:<13} {text}" for name, text in summary_rows(run)]
    return "\n".join(lines + [f"WARNING: {message}" for message in run.warnings])


def summary_rows(run: Run) -> list[tuple[str, str]]:
    """What the summary says, by name, but for warnings."""
    s, account = run.statistics, run.energy
    largest = run.closure_error.max(initial=0.0)
    first, last = (run.t[0], run.t[-1]) if len(run.t) else (run.end.t, run.end.t)
    rows = [
        ("time", f"{first:g} to {last:g} s, {ENDS.get(run.end.reason, run.end.reason)}"),
        ("samples", f"{len(run.t)}"),
        ("steps", f"{s.accepted} accepted, {s.rejected} rejected, {_step_sizes(s.shortest, s.longest)}"),
        ("evaluations", f"{s.evaluations}"),
        ("by", ", ".join(str(run.settings[name]) for name in ("formulation", "integrator") if name in run.settings)),
        *stiffness_rows(run),
        (
            "closure error",
            f"at most {largest:.2e} (m, rad)" if run.mechanism.constrained else "none: no loops, no constraints",
        ),
        ("energy", f"out of balance by at most {account.error:.2e} J; {account.through:.3g} J was exchanged"),
    ]
    rows += input_rows(run)
    rows += [("rolling", f"{name} needs {most}") for name, most in _friction(run).items()]
    rows += [("global error", str(run.error))] if run.error is not None else []
    rows += [("event", f"{name} at t = {t:g} s") for name, t in run.end.events]
    return [(name, text) for name, text in rows if text]


def stiffness_rows(run: Run) -> list[tuple[str, str]]:
    """Whether the motion was found to be stiff, and which integrator went on or is the better one."""
    s, by = run.statistics, run.settings.get("integrator")
    if s.stiff_from is None:
        return []
    short = f"steps of {by} were much shorter than the motion needs"
    if s.switched_to:
        return [("switched", f"from {by} to {s.switched_to} at t = {s.stiff_from:.6g} s: stiff, {short}")]
    return [("stiff", f"at t = {s.stiff_from:.6g} s {short}: integrator='{FOR_STIFF}' takes fewer")]


def input_rows(run: Run) -> list[tuple[str, str]]:
    """What the inputs were, and their range over the run."""
    rows, units = [], {said.name: said.unit for said in run.system._model.inputs}
    settings: Any = run.settings.get("inputs", {})
    for name, unit in units.items():
        column = run.inputs[name]
        if name not in settings:
            rows.append((f"input {name}", f"{run.parameters[name]:g} {unit}, constant".replace(" ,", ",")))
            continue
        ends = f"; {column.min():.4g} to {column.max():.4g} {unit}".rstrip() if len(column) else ""
        rows.append((f"input {name}", in_words(settings[name]) + ends))
    return rows


def is_small(run: Run) -> bool:
    """Whether the search for singular configurations of its constraints is quick."""
    most, longest = SMALL
    return run.mechanism.constrained and run.mechanism.nv <= most and 0 < len(run.t) <= longest


def run_data(run: Run) -> dict[str, Any]:
    """The same as plain data, for --json, with the last coordinates and velocities."""
    account = run.energy
    data: dict[str, Any] = finite(
        {
            "name": run.mechanism.name,
            "momentree": run.version,
            "settings": dict(run.settings),
            "end": dataclasses.asdict(run.end),
            "samples": len(run.t),
            "statistics": dataclasses.asdict(run.statistics),
            "closure": {
                "largest_error": run.closure_error.max(initial=0.0),
                "largest_velocity": run.closure_velocity.max(initial=0.0),
            },
            "energy_J": {"largest_imbalance": account.error, "went_through": account.through},
            "friction_needed": {name: _most(run, name) for name in run.rolling if len(run.t)},
            "error": run.error and dataclasses.asdict(run.error),
            "last": _last(run) if len(run.t) else None,
            "warnings": list(run.warnings),
        }
    )
    return data


def _friction(run: Run) -> dict[str, str]:
    """The most friction that each rolling contact needs, in words."""
    most = {name: _most(run, name) for name in run.rolling if len(run.t)}
    words = {name: f"a friction coefficient of {x:.3g} at most" for name, x in most.items()}
    return {name: text if math.isfinite(most[name]) else "to be pulled" for name, text in words.items()}


def _most(run: Run, name: str) -> float:
    needed = run.friction_needed(name)
    return float(needed[~np.isnan(needed)].max(initial=0.0))


def _last(run: Run) -> dict[str, Any]:
    """The last sample."""
    account, joints = run.energy, run.mechanism.by_joint
    with np.errstate(all="ignore"):
        at = Samples(run.mechanism, run.q[-1:], run.v[-1:], run.t[-1:])
        q, v = ({name: f(name)[0].tolist() for name in joints} for f in (at.coordinates_of, at.velocities_of))
    return {
        "t": run.t[-1],
        "coordinates": {name: _single(values) for name, values in q.items()},
        "velocities": {name: _single(values) for name, values in v.items()},
        "kinetic_J": account.kinetic[-1],
        "potential_J": account.potential[-1],
        "work_J": {name: work[-1] for name, work in account.work.items()},
        **{f"{kind}s": {one.name: one.values[-1] for one in columns} for kind, columns in run.named_columns().items()},
    }


def _step_sizes(shortest: float, longest: float) -> str:
    return f"step size {shortest:.2g} to {longest:.2g} s" if math.isfinite(shortest) and longest > 0 else "none yet"


def _single(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values


def finite(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
