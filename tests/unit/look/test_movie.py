"""Movies: decoded again, they show the bodies where the run has them, for as long as the run lasts."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from PIL import Image

import momentree as mt
from momentree.errors import MomentreeError
from momentree.look import movie

SIZE = (160, 120)


@pytest.fixture(scope="module")
def thrown():
    """A ball in a plane, whose color is the first of the palette: blue."""
    m = mt.Model("thrown", gravity=(0, 0, -9.81))
    m.joint("fly", mt.Planar("y"), "ground", m.body("ball", mt.sphere(mass=1.0, radius=0.15)))
    system = m.build()
    start = system.assemble(velocities={"fly": (3.0, 1.0, 2.0)})
    return system.simulate(start, t_end=0.5, every=0.05)


def decoded(path):
    """Frames of a movie and its duration (s)."""
    if path.suffix == ".gif":
        with Image.open(path) as file:
            frames, duration = [], 0.0
            for k in range(file.n_frames):
                file.seek(k)
                frames.append(np.asarray(file.convert("RGB")))
                duration += file.info["duration"] / 1000
            return frames, duration
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    reader = ffmpeg.read_frames(str(path))
    about = next(reader)
    width, height = about["size"]
    return [np.frombuffer(one, np.uint8).reshape(height, width, 3) for one in reader], about["duration"]


def center_of_blue(frame):
    red, _, blue = np.moveaxis(frame.astype(int), -1, 0)
    weight = np.clip(blue - red - 40, 0, None)
    rows, columns = np.indices(weight.shape) + 0.5
    return np.array([(weight * columns).sum(), (weight * rows).sum()]) / weight.sum()


@pytest.mark.parametrize("suffix", ["mp4", "gif"])
@pytest.mark.repeats(1)
def test_a_body_is_seen_where_the_run_has_it(thrown, tmp_path, suffix):
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    path = tmp_path / f"thrown.{suffix}"
    thrown.movie(path, fps=20, size=SIZE)
    frames, duration = decoded(path)
    assert len(frames) == len(thrown.t) == 11
    assert duration == pytest.approx(11 / 20)
    assert frames[0].shape == (120, 160, 3)
    # one scale for both directions: column = a + s x, row = b - s z
    seen, at = np.array([center_of_blue(frame) for frame in frames]), thrown.position("ball")[:, [0, 2]]
    places, spots = seen - seen.mean(axis=0), (at - at.mean(axis=0)) * [1, -1]
    scale = (places * spots).sum() / (spots**2).sum()
    assert scale > 20
    assert np.abs(places - scale * spots).max() < 0.6
    assert np.ptp(seen, axis=0).min() > 10


def test_speed_and_rate_choose_the_frames(thrown, tmp_path):
    assert movie.frame_times(thrown, 10, 0.5) == pytest.approx(np.arange(11) / 20)
    assert movie.frame_times(thrown, 30, 1.0) == pytest.approx(np.arange(16) / 30)
    thrown.movie(tmp_path / "a.gif", fps=30, speed=2.0, size=SIZE)
    frames, duration = decoded(tmp_path / "a.gif")
    assert (len(frames), duration) == (8, pytest.approx(8 / 30, abs=0.005))


def test_the_same_run_gives_the_same_bytes(thrown, tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    for suffix in ("mp4", "gif"):
        for name in ("a", "b"):
            thrown.movie(tmp_path / f"{name}.{suffix}", fps=10, size=SIZE)
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert len([*tmp_path.iterdir()]) == 4


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("a.avi", {}, "a.avi: not a kind of movie. End the name in .mp4 or .gif"),
        ("no/a.gif", {}, "cannot be written"),
        ("a.gif", {"fps": 0}, "fps is 0. Give a positive number"),
        ("a.gif", {"speed": float("nan")}, "speed is nan"),
        ("a.gif", {"fps": 60}, "at most 50 frames"),
        ("a.gif", {"size": (10, 10)}, "64 to 4096"),
        ("a.gif", {"size": 300}, "64 to 4096"),
        ("a.mp4", {"size": (161, 120)}, "even"),
        ("a.gif", {"speed": 1e-5}, "more than 20000. Choose speed= 0.01 or more"),
        ("a.gif", {"view": "zz"}, "there is no view"),
    ],
)
def test_mistakes_are_told_before_anything_is_drawn(thrown, tmp_path, name, how, message):
    with pytest.raises(MomentreeError) as error:
        thrown.movie(tmp_path / name, **how)
    assert message in str(error.value)
    assert not [*tmp_path.iterdir()]


def test_a_missing_encoder_is_told(thrown, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MomentreeError, match=r"pip install 'momentree\[movie\]', or write a .gif"):
        thrown.movie(tmp_path / "a.mp4")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_counts_the_frames_on_a_terminal(thrown, tmp_path, monkeypatch):
    told = {}
    for name, stream in (("a.gif", Terminal()), ("b.gif", io.StringIO())):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", stream)
        thrown.movie(tmp_path / name, fps=4, size=(64, 64))
        told[name] = stream.getvalue()
    assert ("of 3 frames" in told["a.gif"], told["b.gif"]) == (True, "")
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()
