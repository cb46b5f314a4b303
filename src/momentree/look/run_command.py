"""`momentree run`: the files it is asked for, checked before anything is computed, and what it prints of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from momentree.errors import MomentreeError
from momentree.look.run_tables import is_small, run_data
from momentree.results.recorder import how_to_continue
from momentree.results.run import Run
from momentree.simulate.blocks import Block, End, Statistics

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.system import System


class Outputs(NamedTuple):
    """What a command writes of a run, besides the run itself.

    | field   | meaning                                            |
    |---------|----------------------------------------------------|
    | out     | the run's own file                                 |
    | plot    | a picture                                          |
    | show    | what it shows, and what the report shows first     |
    | report  | a page                                             |
    | movie   | .mp4 or .gif                                       |
    | as_json | print one object instead of the summary            |
    """

    out: Path | None = None
    plot: Path | None = None
    show: tuple[str, ...] = ()
    report: Path | None = None
    movie: Path | None = None
    as_json: bool = False

    def check_files(self) -> None:
        """Refuse names of files that cannot be written."""
        if self.plot is not None:
            from momentree.look.picture_files import check_picture

            check_picture(self.plot)
        if self.report is not None:
            from momentree.look.viewer_file import check_page

            check_page(self.report)
        if self.movie is not None:
            from momentree.look.movie import check_movie

            check_movie(self.movie)
        named = [path.absolute() for path in (self.out, self.plot, self.report, self.movie) if path is not None]
        for path in named:
            if named.count(path) > 1:
                raise MomentreeError(f"{path.name}: two options name this file. Choose another name for one of them.")

    def check_shown(self, system: System, start: State) -> None:
        """Refuse names of what cannot be plotted of a run that begins there."""
        if not self.show:
            return
        from momentree.look.run_picture import chosen_panels

        samples = Block(np.array([start.t]), start.q[None], start.v[None], np.zeros((1, 0)))
        chosen_panels(Run.of(system, samples, (), {}, Statistics(), End("arrived", start.t)), self.show)

    def print_summary(self, run: Run) -> None:
        """What is said of a run, as text or as JSON."""
        print(json.dumps(run_data(run), indent=2) if self.as_json else run, flush=True)
        for toggle in run.system.toggles(run) if is_small(run) and not self.as_json else ():
            print(f"  {toggle}")

    def write(self, run: Run) -> bool:
        """Write every file; what stands in the way of one is printed, and is none of the others' business."""
        done = True
        for path, what, write in self._files(run):
            try:
                write()
                print(f"{what} written to {path}", file=sys.stderr)
            except MomentreeError as error:
                print(error, file=sys.stderr)
                done = False
        return done

    def _files(self, run: Run) -> Iterator[tuple[Path, str, Callable[[], object]]]:
        plot, report, movie = self.plot, self.report, self.movie
        if plot is not None:
            yield plot, "picture", lambda: run.plot(*self.show, path=plot)
        if report is not None:
            yield report, "report", lambda: run.report(report, show=self.show)
        if movie is not None:
            from momentree.look.player import playing_speed

            speed = playing_speed(float(np.ptp(run.t)) if len(run.t) else 0.0)
            yield movie, "movie", lambda: run.movie(movie, speed=speed)


def show_run(run: Run, outputs: Outputs) -> int:
    """Print the summary, write what was asked for, say how the run ended; the exit status."""
    outputs.print_summary(run)
    done, out = outputs.write(run), outputs.out
    if run.end.reason == "interrupted":
        way_out = f"continue with {how_to_continue(out)}" if out else "nothing was saved: give --out to continue later"
        print(f"interrupted at t = {run.end.t:g} s; {way_out}", file=sys.stderr)
        return 130
    if out is not None:
        print(f"run written to {out}", file=sys.stderr)
    if run.end.reason == "failed":
        print(f"failed at t = {run.end.t:g} s: {run.end.message}", file=sys.stderr)
    return 1 if run.end.reason == "failed" or not done else 0
