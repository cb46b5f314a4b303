"""The player: at a pace that can be watched, in a page of bounded size, or none at all."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.look.player import MOST_BODIES, MOST_POSES, SWITCH, Pace, player, player_pace, player_wanted
from momentree.look.player import playing_speed as speed
from momentree.simulate.blocks import Block, End, Statistics


def standing(bodies=1, t=(0.0, 1.0)):
    """A run of bodies that stand still, at some times."""
    m = mt.Model("standing", gravity=(0, 0, 0))
    for i in range(bodies):
        m.joint(f"j{i}", mt.Revolute("y"), m.ground, m.body(f"b{i}", mt.rod(mass=1.0, length=1.0)))
    times = np.array(t)
    samples = Block(times, np.zeros((len(t), bodies)), np.zeros((len(t), bodies)), np.zeros((len(t), 0)))
    return mt.Run.of(m.build(), samples, (), {}, Statistics(), End("arrived", 1.0))


@pytest.mark.parametrize(
    ("duration", "expected"),
    [(0.0, 1), (0.03, 1 / 100), (0.16, 1 / 20), (1.0, 1 / 2), (2.0, 1), (52.0, 1), (120.0, 1), (121.0, 2), (1e5, 1000)],
)
def test_it_takes_2_to_120_seconds(duration, expected):
    assert speed(duration) == pytest.approx(expected)
    assert duration == 0 or 2 <= duration / speed(duration) <= 120


@pytest.mark.parametrize(("bodies", "duration"), [(1, 0.01), (3, 10.0), (1, 1e6), (300, 60.0), (300, 1e5)])
def test_poses_are_bounded_and_enough_to_be_seen(bodies, duration):
    pace = player_pace(standing(bodies, (0.0, duration)))
    frames = pace.rate * duration
    assert 30 <= frames <= 3600
    assert frames * bodies <= MOST_POSES * (1 + 1e-9)
    assert pace.rate * pace.speed <= 30 * (1 + 1e-9)


def test_what_cannot_be_played_has_no_player():
    for run in (standing(t=()), standing(t=(0.0,)), standing(t=(1.0, 1.0)), standing(MOST_BODIES + 1)):
        assert player_pace(run) is None
        assert player(run) is None
    assert player_pace(standing(100, (0.0, 10.0)), most_poses=1000) is None


def test_the_pace_is_said():
    assert [str(Pace(x, 30)) for x in (1, 0.01, 20)] == ["in real time", "100 times slower", "20 times faster"]


def test_it_is_a_page_in_a_frame_that_can_reach_nothing(tmp_path):
    system = four_bar().build()
    run = system.simulate(system.assemble({"A": 1.0}), t_end=0.1, every=0.01)
    frame = player(run)
    (sandbox,) = re.findall(r'sandbox="([^"]*)"', frame)
    assert sandbox == "allow-scripts"
    (page,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert "<title>four-bar</title>" in html.unescape(page)
    assert len(frame) < 1e6


def test_the_environment_switches_it_off(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)
    assert player_wanted()
    monkeypatch.setenv(SWITCH, "off")
    assert not player_wanted()
