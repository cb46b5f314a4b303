"""Pictures of the pages, one function for each: what a reader of docs sees before he has installed anything.

    python benchmarks/pictures.py [NAME...]     writes docs/pictures/NAME.png, all of them unless named

Needs a Chromium and playwright. Pixels depend on the browser: the pictures are looked at, not compared.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import momentree as mt
from momentree.look.gallery import find
from momentree.look.viewer import Viewer

ROOT = Path(__file__).parents[1]
SIZE = {"width": 860, "height": 520}
ARGUMENTS = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
ARGUMENTS += ["--disable-gpu-vsync", "--disable-frame-rate-limit"]
READY = "window.__viserMutable && window.__viserMutable.nodeRefFromName['/scene/axes'] !== undefined"
CLOSE = "[...document.querySelectorAll('.mantine-Notification-root button')].forEach(button => button.click())"


def look_model() -> Viewer:
    """The page of a model: a four-bar with its sliders."""
    system = mt.load(find("four-bar").model).build()
    return system.look(browser=False, wait=False)  # type: ignore[no-any-return]


def look_run() -> Viewer:
    """The page of a run: the walking mechanism with traces and arrows."""
    run = mt.load(find("walking-mechanism").model).build().simulate(t_end=5.0)
    viewer = run.look(traces=True, arrows=["velocities", "forces"], browser=False, wait=False)
    viewer.player.seek(1.0)
    viewer.player.time.value = 1.0
    return viewer  # type: ignore[no-any-return]


PICTURES: dict[str, Callable[[], Viewer]] = {"look-model": look_model, "look-run": look_run}


def main(names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    path = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)
    if path is None:
        sys.exit("there is no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        for name in names or PICTURES:
            viewer = PICTURES[name]()
            picture(browser, viewer.url, ROOT / "docs" / "pictures" / f"{name}.png")
            viewer.close()
        browser.close()


def picture(browser: Any, url: str, path: Path) -> None:
    """A picture of a page when it has come to rest, in few colors."""
    import io

    from PIL import Image

    page = browser.new_page(viewport=SIZE)
    page.goto(url)
    page.wait_for_function(READY, polling=100, timeout=120_000)
    page.wait_for_timeout(8000)
    page.evaluate(CLOSE)
    page.wait_for_timeout(3000)
    page.screenshot(timeout=120_000)  # lets frames through that wait for a screen
    page.wait_for_timeout(1000)
    shot = Image.open(io.BytesIO(page.screenshot(timeout=120_000)))
    path.parent.mkdir(exist_ok=True)
    shot.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")
    page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
