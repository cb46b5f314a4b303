"""The report of a motion by a programme: motion, plots, accuracy, the programme with its equations, versions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from momentree.activity import activity
from momentree.errors import MomentreeError
from momentree.files.atomic_write import write_file
from momentree.look.html import (
    Html,
    Section,
    html_code,
    html_document,
    html_facts,
    html_figure,
    html_lines,
    html_note,
    html_picture,
    html_table,
    html_wide,
)
from momentree.look.path_animation import path_animation
from momentree.look.player import Pace, playing_speed
from momentree.look.report import end_line, model_section, motion_section, versions_section
from momentree.look.report_style import STYLE
from momentree.look.report_system import report_picture
from momentree.look.viewer_file import check_page
from momentree.results.run import Run, text_of
from momentree.simulate.blocks import Block, End, Statistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from momentree.analyse.programmes.decay_rate import Certificate
    from momentree.results.programme_run import ProgrammeRun
    from momentree.system import System

POSITIONS = (("x", "y"), ("x", "z"), ("y", "z"))  # coordinates that are drawn as a point in the plane
ANGLES = ("phi", "angle", "theta", "psi", "alpha")


def save_programme_report(
    run: ProgrammeRun,
    path: str | os.PathLike[str],
    title: str | None = None,
    certificate: Certificate | None = None,
    sections: Sequence[Section] = (),
) -> None:
    """Write the report; `sections` come after its motion."""
    check_page(path)
    with activity("writing the report of", run.name):
        write_file(path, programme_report_page(run, title, certificate, sections))


def programme_report_page(
    run: ProgrammeRun,
    title: str | None = None,
    certificate: Certificate | None = None,
    sections: Sequence[Section] = (),
) -> str:
    """The text of the page."""
    top = [_verdict(run), html_facts(_facts(run, certificate))]
    parts = [*_motion(run), *sections, *_plots(run, certificate), _accuracy(run, certificate), _programme(run)]
    system = _system(run)
    parts += [model_section(text_of(system))] if system is not None else []
    return html_document(title or run.name, STYLE, top, [*parts, versions_section()], end_line())


def _verdict(run: ProgrammeRun) -> Html:
    if not len(run.t):
        return html_note("The run has no samples.", "bad")
    if not run.arrived:
        return html_note(f"WARNING: it ended before its time: {run.stopped}", "bad")
    return html_note(f"The motion reached its end at t = {run.t[-1]:g} s.", "good")


def _facts(run: ProgrammeRun, certificate: Certificate | None) -> Iterator[tuple[str, str]]:
    yield "coordinates", f"{len(run.coordinates)}"
    yield "constraints", f"{len(run.constraints)}"
    if len(run.t):
        yield "time", f"{run.t[0]:g} to {run.t[-1]:g} s"
        yield "|u| at the start, at the end", f"{run.size[0]:.2g}, {run.size[-1]:.2g}"
        yield "largest constraint error", f"{np.abs(run.constraint_error).max(initial=0.0):.2g}"
    if certificate is not None:
        yield "certified decay rate", f"{_rate(certificate):.4g} 1/s"


def _rate(certificate: Certificate) -> float:
    return certificate.rate if certificate.proven is None else certificate.proven


def _system(run: ProgrammeRun) -> System | None:
    """The mechanism that is moved by the programme, if it is one."""
    found: System | None = getattr(run.programme, "system", None)
    return found


def _motion(run: ProgrammeRun) -> Iterator[Section]:
    """In 3-D where a mechanism moves; else the path, if two coordinates are named as positions."""
    system = _system(run)
    if system is not None:
        moved = Block(run.t, run.q, run.qd, np.zeros((len(run.t), 0)))
        yield motion_section(Run.of(system, moved, (), {}, Statistics(), End("arrived", 0.0)))
        return
    names = next((pair for pair in POSITIONS if {*pair} <= {*run.coordinates}), None)
    if names is None or len(run.t) < 2 or not np.isfinite(run.q).all(axis=1).sum() >= 2:
        return
    angle = next((run[name] for name in ANGLES if name in run.coordinates), None)
    speed = playing_speed(float(run.t[-1] - run.t[0]))
    picture = html_picture(path_animation(run.t, run[names[0]], run[names[1]], angle, speed), "motion")
    turned = ", its direction is the angle" if angle is not None else ""
    yield Section(
        "Motion", [html_figure(picture, f"The path, played {Pace(speed, 0)}{turned}. The circle is the start.")]
    )


def _plots(run: ProgrammeRun, certificate: Certificate | None) -> Iterator[Section]:
    if len(run.t):
        rate = None if certificate is None else _rate(certificate)
        caption = "The path, coordinates, the deviation |u| from the programme, and errors of its constraints."
        yield Section("Plots", [report_picture(lambda: run.plot(rate=rate), "plot", caption)])


def _accuracy(run: ProgrammeRun, certificate: Certificate | None) -> Section:
    largest = np.abs(run.constraint_error).max(axis=0, initial=0.0)
    rows = [(text, f"{x:.2e}") for text, x in zip(run.constraints, largest, strict=True)]
    parts = [html_wide(html_table(("constraint", "largest error of a q' = b"), rows))] if rows else []
    if len(run.t) and run.size[0] > 0:
        parts.append(html_lines(f"Measured: |u| decays at {run.decay_rate():.4g} 1/s, the slowest from the start on."))
    known = str(certificate) if certificate is not None else "no certificate was given: report(certificate=...)."
    parts.append(html_note(f"Decay in general: {known}"))
    parts.append(
        html_note("The error of the integration itself was not estimated. Repeat it with a smaller rtol or step.")
    )
    return Section("Accuracy", parts)


def _programme(run: ProgrammeRun) -> Section:
    """Coordinates, constraints, parameters and, where the programme is at hand, its equations."""
    rows = [("coordinates", ", ".join(run.coordinates))]
    rows += [(f"constraint {i}", text) for i, text in enumerate(run.constraints, 1)]
    programme = run.programme
    if programme is not None:
        rows += [(f"parameter {name}", f"{value:g}") for name, value in programme.parameters.items()]
    rows += [("evaluations", f"{run.evaluations}"), ("samples", f"{len(run.t)}")]
    parts = [html_wide(html_table((), rows))]
    try:
        parts += [html_code(str(programme.equations()))] if programme is not None else []
    except MomentreeError as error:
        parts.append(html_note(str(error)))
    return Section("Programme", parts)
