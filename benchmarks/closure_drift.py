"""How far loops drift open, and what keeping them closed costs: the paper's figures 8 and 9, and what they leave out.

    python benchmarks/closure_drift.py [--write docs/closure-drift.md] [--quick]

Ivanov 2022 closes loops at the velocity level in Hamiltonian variables and compares with Lagrange's equations of the
first kind, closed at the level of accelerations. Here both are integrated with every stabilization, at one tolerance.
Evaluations and energy stand beside the closure error: a small closure error alone proves little.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from closure_drift_page import CASES, LEAST, PAGE, PARTS, PICTURED, RTOL, Case, Drift, Form, fingerprint_of, page
from matplotlib import rc_context
from matplotlib.figure import Figure

import momentree as mt
from momentree.assembly.state import State

AGREE = 0.5  # decades: round-off differs from one processor to another
EXAMPLES = Path(__file__).parents[1] / "examples"


def start(name: str) -> tuple[mt.System, State]:
    """The linkage of example 08 with its crank going round, or the walker where its file starts it."""
    if name == "walker":
        system = mt.load(EXAMPLES / "13_walking_mechanism" / "model.toml").build()
        return system, system.start()
    system = mt.load(EXAMPLES / "08_four_bar" / "model.toml").build()
    return system, system.assemble({"A": 1.0}, velocities={"A": 10.0})


def drift(case: Case, form: Form) -> Drift:
    system, begin = start(case.system)
    chosen = {"formulation": form.formulation, "stabilization": form.stabilization, "gain": form.gain}
    chosen |= {"integrator": case.integrator, "rtol": RTOL, "progress": False}
    system.simulate(begin, t_end=case.seconds / 1000, **chosen)  # the machine code is made now
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mt.RunWarning)  # some drift: that is the point
        run = system.simulate(begin, t_end=case.seconds, **chosen)
    cpu = time.process_time() - began
    assert run.end.reason == "arrived", f"{case}, {form}: {run.end}"
    closure_errors = tuple(float(run.closure_error[run.t <= part * case.seconds].max()) for part in PARTS)
    edges = np.unique(np.searchsorted(run.t, np.linspace(0, case.seconds, 400, endpoint=False)))
    closure_error = np.maximum.reduceat(run.closure_error, edges)
    imbalance = run.energy.error / run.energy.through
    return Drift(form, closure_errors, imbalance, run.statistics.evaluations, cpu, run.t[edges], closure_error)


# --- the picture ---


def picture(found: dict[Case, list[Drift]], path: Path, figures: str) -> None:
    cases = [case for case in found if (case.system, case.integrator) in PICTURED]
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    for axes, case in zip(figure.subplots(1, len(cases), sharey=True, squeeze=False)[0], cases, strict=True):
        for d in found[case]:
            look = "-" if d.form.formulation == "hamiltonian" else "--"
            axes.semilogy(
                d.t, np.maximum(d.closure_error, LEAST), look, color=d.form.colour, linewidth=1.2, label=d.form.name
            )
        axes.set(title=f"{case.system}, {case.integrator}", xlabel="t, s")
        axes.grid(color="#999999", alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("largest closure error, m or rad")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    with rc_context({"svg.hashsalt": "momentree", "svg.fonttype": "none"}):
        # the figures of its page, so that it can be seen whether they belong together
        figure.savefig(path, metadata={"Date": None, "Description": figures})


def draw_pictured(path: Path) -> None:
    """The picture alone: what it shows is measured again, and must agree with the figures on the page."""
    cases = [case for case in CASES if (case.system, case.integrator) in PICTURED]
    found = {case: [drift(case, form) for form in case.forms] for case in cases}
    new, old = (fingerprint_of(text).split("; ") for text in (page(found), PAGE.read_text(encoding="utf-8")))
    for now, then in zip(new, old, strict=True):
        figures = zip(now.split()[-3:], then.split()[-3:], strict=True)
        if any(abs(np.log10(float(a) / float(b))) > AGREE for a, b in figures):
            raise SystemExit(f"{PAGE.name} says {then}, but it is {now}: measure again by make bench")
    picture(found, path, "; ".join(old))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", type=Path, help="also write the page into this file, and a picture beside it")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the time, to see that it works")
    given = parser.parse_args()
    cases = [case._replace(seconds=case.seconds / 100) for case in CASES] if given.quick else CASES
    found = {case: [drift(case, form) for form in case.forms] for case in cases}
    shown = given.write.with_suffix(".svg") if given.write else None
    text = page(found, shown.name if shown else "")
    print(text, end="")
    if given.write and shown:
        given.write.write_text(text, encoding="utf-8")
        picture(found, shown, fingerprint_of(text))


if __name__ == "__main__":
    main()
