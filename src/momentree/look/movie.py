"""Movies of runs, .mp4 and .gif, made without a browser; the same run gives the same bytes."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from momentree.errors import MomentreeError
from momentree.files.atomic_write import destination, printable, write_file
from momentree.look.frames import Frames
from momentree.look.projection import view_of
from momentree.look.run_poses import poses_at
from momentree.look.scene import scene_of

if TYPE_CHECKING:
    from momentree.results.run import Run

MOST_FRAMES = 20_000
GIF_COLORS = 128  # of 256: the others are left for what does not change from frame to frame
FASTEST_GIF = 50  # frames/s: faster ones are slowed down by those who show them
SMALLEST, LARGEST = 64, 4096  # pixels
# one thread, no dates and no versions: the same bytes every time
EXACT = ["-threads", "1", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"]


def save_movie(
    run: Run,
    path: str | os.PathLike[str],
    fps: float = 30,
    speed: float = 1.0,
    size: tuple[int, int] = (960, 720),
    view: Any = "auto",
    captions: bool = True,
    progress: bool | None = None,
) -> None:
    """Write a movie: `fps` frames each second, in which `speed` seconds of the run pass; `size` in pixels.

    With `captions`, the name of the system and the time are written into it.
    A bar shows how far it is, on a terminal only unless `progress` says so.
    """
    suffix = check_movie(path)
    width, height = _checked_size(size, suffix)
    write = _mp4 if suffix == ".mp4" else _gif
    encoder = _encoder() if suffix == ".mp4" else None
    times = frame_times(run, _positive(fps, "fps", "1/s"), _positive(speed, "speed", ""))
    if suffix == ".gif" and fps > FASTEST_GIF:
        raise MomentreeError(f"movie: a .gif shows at most {FASTEST_GIF} frames per second, not {fps:g}. Lower fps=.")
    poses = poses_at(run, times)
    looked = view_of(view, run.mechanism, poses)
    frames = Frames(scene_of(run.system), run.mechanism, poses, looked, (width, height), bool(captions))
    with _bar(len(times), progress) as advance:
        write_file(path, write(frames, len(times), float(fps), advance, encoder))


def check_movie(path: str | os.PathLike[str]) -> str:
    """How the name of a movie ends; refuse what none can be written to, before anything is computed."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".mp4", ".gif"):
        raise MomentreeError(f"{printable(path)}: not a kind of movie. End the name in .mp4 or .gif.")
    destination(path)
    if suffix == ".mp4":
        _encoder()
    return suffix


def frame_times(run: Run, fps: float, speed: float) -> Any:
    """The time of the run (s) that each frame shows."""
    if not len(run.t):
        raise MomentreeError("movie: the run has no samples.")
    duration = float(run.t[-1] - run.t[0])
    count = math.floor(duration / speed * fps * (1 + 1e-12) + 1e-9) + 1
    if count > MOST_FRAMES:
        least = duration * fps / (MOST_FRAMES - 1)
        way_out = f"Choose speed= {math.ceil(least * 100) / 100:g} or more, or a lower fps="
        raise MomentreeError(f"movie: {count} frames are more than {MOST_FRAMES}. {way_out}.")
    return run.t[0] + np.arange(count) * (speed / fps)


def _checked_size(size: Any, suffix: str) -> tuple[int, int]:
    sides = [*size] if isinstance(size, (tuple, list)) else []
    whole = len(sides) == 2 and all(
        isinstance(side, (int, np.integer)) and not isinstance(side, bool) for side in sides
    )
    if not whole or not all(SMALLEST <= side <= LARGEST for side in sides):
        limits = f"Give width and height in pixels, {SMALLEST} to {LARGEST}, such as (960, 720)."
        raise MomentreeError(f"movie: size is {size!r}. {limits}")
    if suffix == ".mp4" and any(side % 2 for side in sides):
        raise MomentreeError(f"movie: size is {size!r}. An .mp4 needs an even width and height.")
    return int(sides[0]), int(sides[1])


def _positive(value: Any, name: str, unit: str) -> float:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise MomentreeError(f"movie: {name} is {value!r}. Give a positive number{f' ({unit})' if unit else ''}.")
    return float(value)


def _encoder() -> Any:
    try:
        import imageio_ffmpeg
    except ImportError:
        way_out = "Install it by pip install 'momentree[movie]', or write a .gif, which needs nothing"
        raise MomentreeError(f"movie: an .mp4 needs the package imageio-ffmpeg, which is missing. {way_out}.") from None
    return imageio_ffmpeg


def _mp4(frames: Frames, count: int, fps: float, advance: Any, encoder: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "movie.mp4"
        how: Any = {"fps": fps, "codec": "libx264", "quality": None, "macro_block_size": 2}
        how["output_params"] = ["-crf", "18", "-movflags", "+faststart", *EXACT]
        try:
            writer = encoder.write_frames(str(file), frames.size, ffmpeg_log_level="error", **how)
            writer.send(None)
            try:
                for k in range(count):
                    writer.send(np.ascontiguousarray(frames(k)))
                    advance()
            finally:
                writer.close()
            return file.read_bytes()
        except OSError as error:
            raise MomentreeError(f"movie: ffmpeg failed: {str(error).strip().splitlines()[-1]}") from None


def _gif(frames: Frames, count: int, fps: float, advance: Any, encoder: Any) -> bytes:
    """All frames have the colors of the first, middle and last one; they last whole hundredths of a second."""
    from PIL import Image

    sample = np.concatenate([frames(k) for k in sorted({0, count // 2, count - 1})])
    nothing = Image.Dither.NONE
    palette = Image.fromarray(sample).quantize(GIF_COLORS, dither=nothing)
    colors = np.array(palette.getpalette() or [], dtype=np.uint8).reshape(-1, 3)
    paper = int(colors[:GIF_COLORS].sum(axis=1, dtype=int).argmax())
    colors[paper] = 255  # the paper is white
    palette.putpalette(colors.tobytes())

    def picture(k: int) -> Any:
        advance()
        pixels = frames(k)
        found = Image.fromarray(pixels).quantize(palette=palette, dither=nothing)
        found.paste(paper, mask=Image.fromarray((pixels.min(axis=2) == 255).astype(np.uint8) * 255))
        return found

    ends = np.round(100 * np.arange(count + 1) / fps).astype(int)
    file, later = io.BytesIO(), (picture(k) for k in range(1, count))
    durations = [int(duration) * 10 for duration in np.diff(ends)]
    how: Any = {"save_all": True, "append_images": later, "duration": durations, "loop": 0, "optimize": False}
    picture(0).save(file, "GIF", disposal=1, **how)
    return file.getvalue()


@contextlib.contextmanager
def _bar(count: int, wanted: bool | None) -> Iterator[Any]:
    """A function to call after each frame."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.completed} of {task.total} frames"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=count)
        yield lambda: shown.advance(task)
