"""Pictures of the 3-D pages, one function for each: what a reader of docs sees before he has installed anything.

make_pictures.py writes and checks them. They need a Chromium and playwright. Pixels depend on the browser, so that
pictures are looked at, not compared; each carries what decides its page, and that is compared.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from picture_checks import FINGERPRINT

import momentree as mt
from momentree.look.gallery import find
from momentree.look.run_poses import poses_at
from momentree.look.scene import poses_of, scene_of
from momentree.look.viewer import Viewer

LOOK = Path(mt.__file__).parent / "look"
SIZE = {"width": 860, "height": 520}
ARGUMENTS = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
ARGUMENTS += ["--disable-gpu-vsync", "--disable-frame-rate-limit"]
READY = "window.__viserMutable && window.__viserMutable.nodeRefFromName['/scene/axes'] !== undefined"
CLOSE = "[...document.querySelectorAll('.mantine-Notification-root button')].forEach(button => button.click())"


class Shot(NamedTuple):
    """What a page shows: a system, or a run at a time, with options of `look`."""

    system: mt.System
    run: mt.Run | None = None
    time: float = 0.0
    options: Mapping[str, Any] = {}

    def look(self) -> Viewer:
        of: Any = self.run if self.run is not None else self.system
        viewer = of.look(browser=False, wait=False, **self.options)
        if self.run is not None:
            viewer.player.seek(self.time)
            viewer.player.time.value = self.time
        return viewer  # type: ignore[no-any-return]


def look_model() -> Shot:
    """The page of a model: a four-bar with its sliders."""
    return Shot(mt.load(find("four-bar").model).build())


def look_run() -> Shot:
    """The page of a run: the walking mechanism with traces and arrows."""
    system = mt.load(find("walking-mechanism").model).build()
    options = {"traces": True, "arrows": ["velocities", "forces"]}
    return Shot(system, system.simulate(t_end=5.0, progress=False), 1.0, options)


PICTURES: dict[str, Callable[[], Shot]] = {"look-model": look_model, "look-run": look_run}


def inputs(name: str) -> dict[str, Any]:
    """What decides a page, but for the browser: bodies and colors, where they are, words, the version of viser."""
    shot = PICTURES[name]()
    pieces = [
        [one.name, one.kind, one.body, [*one.color], len(one.mesh.faces), _extent(one.mesh.vertices)]
        for one in scene_of(shot.system).pieces
    ]
    if shot.run is not None:
        poses = poses_at(shot.run, np.array([shot.time]))
    else:
        poses = poses_of(shot.system._numeric, shot.system.start().q[None], np.zeros(1))
    sources = [
        (LOOK / file).read_text(encoding="utf-8") for file in (f"viewer_{name.partition('-')[2]}.py", "stage.py")
    ]
    words = [word for text in sources for word in re.findall(r"gui\.add_\w+\(\s*f?\"([^\"]+)\"", text)]
    return {
        "viser": version("viser"),
        "pieces": pieces,
        "positions": poses.positions[0].round(3).tolist(),
        "options": dict(shot.options),
        "words": words,
    }


def _extent(vertices: Any) -> list[float]:
    return [float(x) for x in np.concatenate([vertices.min(axis=0), vertices.max(axis=0)]).round(3)]


def chromium() -> str | None:
    """Where a Chromium is."""
    return next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)


def shoot(name: str, path: Path) -> None:
    """Write the picture of a page, which carries its inputs."""
    from PIL import Image, PngImagePlugin
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        viewer = PICTURES[name]().look()
        shot = picture(browser, viewer.url)
        viewer.close()
        browser.close()
    said = PngImagePlugin.PngInfo()
    said.add_itxt(FINGERPRINT, json.dumps(inputs(name), separators=(",", ":")), zip=True)
    few = Image.open(io.BytesIO(shot)).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
    few.save(path, optimize=True, pnginfo=said)


def picture(browser: Any, url: str) -> bytes:
    """A picture of a page when it has come to rest, as a PNG."""
    page = browser.new_page(viewport=SIZE)
    page.goto(url)
    page.wait_for_function(READY, polling=100, timeout=120_000)
    page.wait_for_timeout(8000)
    page.evaluate(CLOSE)
    page.wait_for_timeout(3000)
    page.screenshot(timeout=120_000)  # lets frames through that wait for a screen
    page.wait_for_timeout(1000)
    shot: bytes = page.screenshot(timeout=120_000)
    page.close()
    return shot
