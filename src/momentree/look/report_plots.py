"""The plots of a report: what was asked for, and what a reader of most runs looks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from momentree.look.html import Html, Section, html_note, html_pair
from momentree.look.report_system import report_picture
from momentree.look.run_picture import MOST_JOINTS, moving_joints

if TYPE_CHECKING:
    from momentree.results.run import Run

MOST_CLOSING = 3  # joints that close loops, whose reactions are drawn
MOST_CONTACTS = 4
MOST_PORTRAITS, SMALL = 2, 6  # phase portraits, and the number of velocities up to which they are drawn


def plots_section(run: Run, show: Sequence[Any] = ()) -> Section:
    """Pictures with captions."""
    if not len(run.t):
        return Section("Plots", [html_note("The run has no samples: there is nothing to plot.")])
    return Section("Plots", [*_plots(run, show)])


def _plots(run: Run, show: Sequence[Any]) -> Iterator[Html]:
    if show:
        yield report_picture(lambda: run.plot(*show), "what was asked for", "What was asked for.")
    joints = moving_joints(run)
    some = f" The first {MOST_JOINTS} of {len(joints)} joints are shown." if len(joints) > MOST_JOINTS else ""
    shown = joints[:MOST_JOINTS]
    velocities = [f"{name}'" for name in shown]
    pair = [
        report_picture(lambda: run.plot(*shown), "coordinates", f"Coordinates by joint.{some}"),
        report_picture(lambda: run.plot(*velocities), "velocities", f"Velocities by joint.{some}"),
    ]
    yield html_pair(*pair[: 2 * bool(shown)])
    account = "Kinetic, potential and total energy, the largest work terms, and the balance: what these leave open."
    pair = [report_picture(lambda: run.plot("energy"), "energy account", account)]
    portraits = _portraits(run, joints)
    if portraits:
        caption = "Phase portraits, from the circle to the square."
        pair.append(report_picture(lambda: run.plot(*portraits), "phase portraits", caption))
    if run.mechanism.constrained:
        caption = "How far loops and constraints open: the largest of all at each time."
        pair.append(report_picture(lambda: run.plot("closure error"), "closure error", caption))
    yield html_pair(*pair)
    closing = [f"reactions of {loop.name}" for loop in run.mechanism.loops][:MOST_CLOSING]
    if closing:
        more = len(run.mechanism.loops) - len(closing)
        caption = "Reactions of joints that close loops, on their second bodies, in inertial axes."
        caption += f" {more} more are in run.reactions(name)." if more else ""
        yield report_picture(lambda: run.plot(*closing), "reactions", caption)
    contacts = [f"force of {contact.name}" for contact in run.mechanism.contacts][:MOST_CONTACTS]
    if contacts:
        yield report_picture(lambda: run.plot(*contacts), "contacts", "Forces of contacts on their first bodies.")


def _portraits(run: Run, joints: Sequence[str]) -> list[str]:
    """Of the first joints of a small system that have a single coordinate."""
    if run.mechanism.nv > SMALL:
        return []
    elements = {name: run.mechanism.by_joint[name].joint for name in joints}
    single = [name for name, joint in elements.items() if joint is not None and len(joint.type.coordinates) == 1]
    return [f"phase of {name}" for name in single[:MOST_PORTRAITS]]
