"""The 3-D player of a run as a piece of a page: the self-contained page of the viewer, in a frame of its own.

A page may be long, but must stay small: a long run gets fewer frames, and one of very many bodies gets no player.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from momentree.look.html import Html, html_frame
from momentree.look.motion_frames import RATE
from momentree.look.viewer import run_page

if TYPE_CHECKING:
    from momentree.results.run import Run

MOST_BODIES = 1000  # that are played
MOST_POSES = 100_000  # bodies times frames of a report: some 3 MB
MOST_POSES_OF_A_CELL = 10_000  # the same in a notebook, which keeps every output: some 0.3 MB
FEWEST = 30  # frames: what has fewer is no motion
SHORTEST, LONGEST = 2.0, 120.0  # s that a player plays
SWITCH = "MOMENTREE_PLAYER"


class Pace(NamedTuple):
    """How a run is played.

    | field | meaning                                                     |
    |-------|-------------------------------------------------------------|
    | speed | seconds of the run in a second of playing                   |
    | rate  | frames for each second of the run                           |
    """

    speed: float
    rate: float

    def __str__(self) -> str:
        if self.speed == 1:
            return "in real time"
        return f"{self.speed:g} times faster" if self.speed > 1 else f"{1 / self.speed:g} times slower"


def player(run: Run, most_poses: int = MOST_POSES) -> Html | None:
    """The player; None for a run that is too long or too large to be played, or that has no motion."""
    pace = player_pace(run, most_poses)
    if pace is None:
        return None
    page = run_page(run, rate=pace.rate, speed=pace.speed)
    return html_frame(page, f"3-D player of {run.mechanism.name}")


def player_pace(run: Run, most_poses: int = MOST_POSES) -> Pace | None:
    """The pace at which a run takes 2 to 120 s, with as many frames as a page has room for; None if these are too few.

    A run without samples, and one that stands still in time, is not played.
    """
    bodies, t = len(run.mechanism.bodies), run.t[np.isfinite(run.q).all(axis=1)]
    duration = float(t[-1] - t[0]) if len(t) else 0.0
    if not duration > 0 or not 0 < bodies <= MOST_BODIES:
        return None
    speed = playing_speed(duration)
    rate = min(RATE / speed, most_poses / bodies / duration)
    return Pace(speed, rate) if rate * duration >= FEWEST else None


def playing_speed(duration: float) -> float:
    """Seconds of a run in a second of playing, so that it takes 2 to 120 s: in real time if that does."""
    if not duration > 0:
        return 1.0
    return 1 / _round_factor(SHORTEST / duration) if duration < SHORTEST else _round_factor(duration / LONGEST)


def _round_factor(least: float) -> float:
    """The first of 1, 2, 5, 10, 20, 50, ... that is not less."""
    if least <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-12))


def player_wanted() -> bool:
    """Whether notebooks have players: unless the environment says $MOMENTREE_PLAYER=off."""
    return os.environ.get(SWITCH, "").strip().lower() not in ("off", "0", "no", "false")
