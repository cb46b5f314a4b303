"""Pictures: each that a page shows is made by a command of the repository, none is left over, all are up to date.

The quick ones are made again here, a few at a time; the others, and all examples, by the long tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import momentree as mt
from momentree.look.frames import Frames
from momentree.look.projection import view_of
from momentree.look.run_poses import poses_at
from momentree.look.scene import scene_of

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import make_pictures  # noqa: E402
import picture_checks  # noqa: E402
from make_pictures import links, pages, registry  # noqa: E402
from pictures_of_mechanisms import FPS, system_of  # noqa: E402

REGISTRY = {picture.path: picture for picture in registry()}
QUICK = [
    path
    for path, picture in REGISTRY.items()
    if picture.kind in ("figures", "measured", "page") or path.endswith(("graph.svg", "docs/drawing-squeezer.svg"))
    if not path.endswith("study.svg")  # of thousands of motions
]
# those by scripts are compared where the scripts run: tests/gallery
LONG = [path for path, picture in REGISTRY.items() if path not in QUICK and picture.kind != "script"]


def tracked() -> set[str]:
    """All pictures below docs and examples."""
    found = [path for folder in ("docs", "examples") for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.relative_to(ROOT).as_posix() for path in found if path.suffix in make_pictures.SUFFIXES}


def test_every_picture_that_a_page_shows_is_made_by_a_command():
    for page in pages():
        for name in links(page):
            path = (page.parent / name).resolve().relative_to(ROOT).as_posix()
            assert path in REGISTRY, f"{page.name} shows {path}, which make_pictures.py does not make"


def test_every_picture_that_is_made_is_there_and_none_is_left_over():
    assert tracked() == {*REGISTRY}
    assert len(REGISTRY) == len(registry())


def test_pictures_are_small_and_readme_begins_with_a_moving_one():
    assert links(ROOT / "README.md")[0] == "docs/pictures/walk.gif"
    for path in REGISTRY:
        assert (ROOT / path).stat().st_size < 700_000, path
    with Image.open(ROOT / "docs/pictures/walk.gif") as movie:
        assert movie.n_frames > 50
        assert movie.info["loop"] == 0


def test_the_gallery_of_the_readme_shows_every_example():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert make_pictures.with_gallery(text) == text, "renew it: make pictures"
    assert text.count("/thumbnail.png") == len([*(ROOT / "examples").glob("*/run.py")])


def test_the_lines_below_the_moving_picture_make_one(tmp_path, monkeypatch):
    """For a fiftieth of the time."""
    monkeypatch.chdir(ROOT)
    code = (ROOT / "README.md").read_text(encoding="utf-8").partition("```py\n")[2].partition("```")[0]
    code = code.replace("5.2", "0.1").replace('"walk.gif"', "path, size=(160, 120)")
    exec(compile(code, "README.md", "exec"), {"mt": mt, "path": tmp_path / "walk.gif"})  # our own text
    with Image.open(tmp_path / "walk.gif") as movie:
        assert movie.n_frames == 4


@pytest.mark.repeats(4)
@pytest.mark.parametrize("path", QUICK)
def test_the_picture_is_up_to_date(path):
    assert not REGISTRY[path].outdated(), "renew it: make pictures"


@pytest.mark.long
@pytest.mark.parametrize("path", LONG)
def test_the_longer_picture_is_up_to_date(path):
    assert not REGISTRY[path].outdated(), "renew it: make pictures"


@pytest.mark.long
def test_frames_of_the_movie_are_what_the_mechanism_does_now():
    """One of its frames; the long test compares all."""
    run = system_of("13_walking_mechanism").simulate(t_end=5.2 - 1 / FPS, every=1 / FPS)
    poses = poses_at(run, run.t)
    view = view_of("-yz", run.mechanism, poses)
    with Image.open(ROOT / "docs/pictures/walk.gif") as movie:
        frames = Frames(scene_of(run.system), run.mechanism, poses, view, movie.size, captions=False)
        assert movie.n_frames == len(run.t)
        movie.seek(40)
        shown = np.asarray(movie.convert("RGB"))
    assert not picture_checks.unlike(frames(40), shown), "renew it: make pictures"
    assert picture_checks.unlike(frames(53), shown)  # another moment


@pytest.mark.long
def test_the_movie_begins_again_where_it_ends():
    """The step from its last frame to its first is not larger than those between others."""
    with Image.open(ROOT / "docs/pictures/walk.gif") as movie:
        frames = []
        for k in range(movie.n_frames):
            movie.seek(k)
            frames.append(np.asarray(movie.convert("L"), dtype=int))
    steps = [np.abs(a - b).mean() for a, b in zip(frames, frames[1:] + frames[:1], strict=True)]
    assert steps[-1] <= 1.3 * max(steps[:-1])


# --- the checks themselves ---


def curve(path, scale=1.0, label="angle", color="C0"):
    from matplotlib.figure import Figure

    from momentree.look.picture_files import save_picture

    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    t = np.linspace(0, 6, 200)
    axes.plot(t, scale * np.sin(t), color=color)
    axes.set(xlabel="t, s", ylabel=label, ylim=(-1.5, 1.5))
    save_picture(figure, path, dpi=100)
    return path


def test_svgs_are_told_apart_by_words_curves_and_colors_but_not_by_last_digits(tmp_path):
    kept = curve(tmp_path / "kept.svg")
    assert not picture_checks.differences(curve(tmp_path / "same.svg", 1.002), kept)
    assert "words differ" in picture_checks.differences(curve(tmp_path / "words.svg", label="angel"), kept)
    assert "away from" in picture_checks.differences(curve(tmp_path / "off.svg", 1.05), kept)
    assert "styles" in picture_checks.differences(curve(tmp_path / "color.svg", color="C1"), kept)
    assert "does not exist" in picture_checks.differences(kept, tmp_path / "nowhere.svg")


def test_only_the_words_of_round_off_are_compared(tmp_path):
    noisy = [curve(tmp_path / f"{i}.svg", scale, "balance, J") for i, scale in enumerate((1.0, 0.3))]
    assert not picture_checks.differences(*noisy)


def test_a_picture_that_carries_other_figures_is_not_up_to_date():
    import closure_drift_page

    picture = REGISTRY["docs/closure-drift.svg"]
    text = closure_drift_page.PAGE.read_text(encoding="utf-8")
    other = re.sub(r"(?<=\| hamiltonian, none \| )\S+", "1.1e-11", text, count=1)
    assert closure_drift_page.fingerprint_of(text) == picture_checks.fingerprint(picture.file)
    assert closure_drift_page.fingerprint_of(other) != picture_checks.fingerprint(picture.file)


def test_a_movement_of_the_scene_outdates_the_picture_of_a_page():
    said = picture_checks.fingerprint(ROOT / "docs/pictures/look-model.png")
    moved = {**said, "positions": [[x + 0.1 for x in one] for one in said["positions"]]}
    assert picture_checks.alike(said, said)
    assert not picture_checks.alike(moved, said)
    assert not picture_checks.alike({**said, "words": []}, said)


@pytest.mark.long
def test_the_command_names_what_is_not_up_to_date():
    command = [sys.executable, str(ROOT / "benchmarks" / "make_pictures.py"), "--check", "01_pendulum/graph.svg"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "examples/01_pendulum/graph.svg: up to date\n"), done.stderr


def test_the_thumbnail_of_an_example_without_an_entry_is_its_motion(tmp_path):
    """As for an example that is new."""
    import thumbnails

    model = mt.Model("new")
    model.joint("A", mt.Revolute("y"), model.ground, model.body("rod", mt.rod(mass=1.0, length=1.0)))
    model.start_at({"A": 0.3}, t_end=0.5)
    (tmp_path / "99_new").mkdir()
    model.save(tmp_path / "99_new" / "model.toml")
    thumbnails.draw(tmp_path / "99_new", tmp_path / "thumbnail.png")
    with Image.open(tmp_path / "thumbnail.png") as picture:
        assert picture.size == thumbnails.SIZE
        assert (np.asarray(picture.convert("L")) < 200).sum() > 500
