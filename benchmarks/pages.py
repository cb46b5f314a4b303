"""The 3-D pages in a real browser: how soon they open, what a frame costs, how exactly bodies are placed.

    python benchmarks/pages.py [--write docs/look.md] [--repeats 3] [--quick]

A minute of the walking mechanism and a chain of 300 bodies, each as a live page and as a file, in a Chromium without a
window. Triangles are not filled: that is the work of a graphics card, which is missing here. Times of scripts and of
the page are CPU time of its main thread, by Chromium's own counters (Performance.getMetrics with threadTicks), which
other programs on the machine hardly disturb; "opens in" is time on the clock, which they do. The least of several
repetitions counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from forward_dynamics_page import table
from pictures_of_pages import ARGUMENTS

import momentree as mt
from momentree.look.gallery import find
from momentree.results.run import Run

BEGIN, END = "<!-- figures: benchmarks/pages.py -->\n", "<!-- end of figures -->\n"
UNDRAWN = """for (const draw of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced'])
    WebGL2RenderingContext.prototype[draw] = () => {};"""
READY = "names => window.__viserMutable && names.every(name => window.__viserMutable.nodeRefFromName[name])"
COUNT = "window.__frames = 0; (function f() { window.__frames++; requestAnimationFrame(f) })()"
PLACE = """name => { const nodes = window.__viserMutable.nodeRefFromName, node = nodes[name], root = nodes['/scene'];
    root.updateWorldMatrix(true, false); node.updateWorldMatrix(true, false);
    return root.matrixWorld.clone().invert().multiply(node.matrixWorld).elements.slice(12, 15); }"""
SETTER = "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set"
ENTER = f"""text => {{ const field = document.querySelector('input'); {SETTER}.call(field, text);
    field.dispatchEvent(new Event('input', {{bubbles: true}})); }}"""


class Cost(NamedTuple):
    """What a page takes.

    | field   | meaning                                                                     |
    |---------|-----------------------------------------------------------------------------|
    | made    | CPU time of Python, s: until the page is served, or the file written        |
    | size    | of the file, MB; of a live page, 0                                          |
    | opened  | from the click to the scene, s on the clock                                 |
    | work    | CPU time of the page until then, s                                          |
    | script  | CPU time of scripts for each frame while it plays, ms                       |
    | error   | largest distance of a body from where the run says, by the size of the run  |
    """

    made: float
    size: float
    opened: float
    work: float
    script: float
    error: float


# --- runs ---


def walker(seconds: float) -> Run:
    """The walking mechanism."""
    return mt.load(find("walking-mechanism").model).build().simulate(t_end=seconds, every=1 / 30)


def chain(seconds: float, links: int = 300) -> Run:
    """A chain that falls from level."""
    m = mt.Model("chain", gravity=(0, 0, -9.81))
    last: Any = m.ground
    for i in range(links):
        link = m.body(f"link {i}", mt.rod(mass=0.1, length=0.1))
        m.joint(f"j{i}", mt.Revolute("y"), last.at((0.1, 0, 0)) if i else last, link)
        last = link
    system = m.build()
    return system.simulate(system.start(), t_end=seconds, every=1 / 30)


# --- in the browser ---


class Tab:
    """A page of the browser with its counters."""

    def __init__(self, browser: Any, url: str, run: Run):
        self.page = browser.new_page(viewport={"width": 900, "height": 560})
        self.page.add_init_script(UNDRAWN)
        self.counters = self.page.context.new_cdp_session(self.page)
        self.counters.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(url)
        nodes = [f"/scene/bodies/{name}" for name in bodies(run)]
        self.page.wait_for_function(READY, arg=nodes, polling=20, timeout=120_000)
        self.opened = self.page.evaluate("performance.now()") / 1e3
        self.work = self.count("TaskDuration")
        self.page.evaluate(COUNT)

    def count(self, name: str) -> float:
        """A counter of Chromium, s."""
        metrics = self.counters.send("Performance.getMetrics")["metrics"]
        return float(next(entry["value"] for entry in metrics if entry["name"] == name))

    def script_for_a_frame(self, seconds: float) -> float:
        """ms, while it plays."""
        self.page.wait_for_timeout(500)
        script, frames = self.count("ScriptDuration"), self.page.evaluate("window.__frames")
        self.page.wait_for_timeout(1e3 * seconds)
        spent, shown = self.count("ScriptDuration") - script, self.page.evaluate("window.__frames") - frames
        return 1e3 * spent / max(shown, 1)

    def miss(self, body: str, wanted: Any) -> float:
        """How far a body is from where it should be, after at most 20 s."""
        for _ in range(400):
            miss = float(np.abs(np.array(self.page.evaluate(PLACE, f"/scene/bodies/{body}")) - wanted).max())
            if miss < 1e-6:
                break
            self.page.wait_for_timeout(50)
        return miss


def bodies(run: Run) -> list[str]:
    """The names of bodies that are drawn: not of second parts of split ones."""
    return [body.name for body in run.mechanism.bodies if not body.image_of]


def errors(tab: Tab, run: Run, show: Callable[[float], Any]) -> float:
    """The largest error of some bodies at some samples, by the size of the run."""
    names = bodies(run)[:: max(1, len(bodies(run)) // 4)]
    size = max(float(np.abs(run.position(name)).max()) for name in names)
    found = 0.0
    for i in (int(part * (len(run.t) - 1)) // 3 * 3 for part in (0.1, 0.5, 0.9)):  # times with one decimal
        show(float(run.t[i]))
        found = max(found, *(tab.miss(name, run.position(name)[i]) for name in names))
    return found / size


def live(browser: Any, run: Run, seconds: float) -> Cost:
    """Of `run.look()`."""
    begin = time.process_time()
    viewer = run.look(browser=False, wait=False)
    made = time.process_time() - begin
    try:
        tab = Tab(browser, viewer.url, run)
        viewer.player.start()
        script = tab.script_for_a_frame(seconds)
        viewer.player.pause()
        error = errors(tab, run, viewer.player.seek)
        tab.page.close()
    finally:
        viewer.close()
    return Cost(made, 0.0, tab.opened, tab.work, script, error)


def saved(browser: Any, run: Run, seconds: float) -> Cost:
    """Of `run.look(save=...)`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        begin = time.process_time()
        run.look(save=path)
        made = time.process_time() - begin
        tab = Tab(browser, path.as_uri(), run)
        script = tab.script_for_a_frame(seconds)
        error = errors(tab, run, lambda t: tab.page.evaluate(ENTER, f"{t:.1f}"))
        tab.page.close()
        return Cost(made, path.stat().st_size / 1e6, tab.opened, tab.work, script, error)


def least(costs: list[Cost]) -> Cost:
    """The least of each, but the largest error."""
    return Cost(*(min(column) for column in zip(*costs, strict=True)))._replace(error=max(c.error for c in costs))


# --- the page of docs ---


def page_of(rows: dict[str, Cost], repeats: int) -> str:
    """A table and how it was measured."""
    heads = ["page", "made by Python", "file", "opens in", "work of the page", "script for a frame", "error"]
    lines = [
        [
            name,
            f"{c.made:.1f} s",
            f"{c.size:.2f} MB" if c.size else "",
            f"{c.opened:.1f} s",
            f"{c.work:.1f} s",
            f"{c.script:.1f} ms",
            f"{c.error:.0e}" if c.error > 1e-15 else "round-off",
        ]
        for name, c in rows.items()
    ]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    how = f"The least of {repeats} on {os.cpu_count()} cores, with a load of {load:.1f} by other programs at the end."
    return "\n".join([*table(heads, lines), how, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="put the table into this page")
    parser.add_argument("--quick", action="store_true", help="once, and short runs")
    parser.add_argument("--repeats", type=int, default=3, help="the least of so many counts")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)
    if chromium is None:
        sys.exit("there is no Chromium")
    repeats, seconds, minute = (1, 2.0, 6.0) if options.quick else (options.repeats, 4.0, 60.0)
    runs = {f"walking mechanism, {minute:g} s": walker(minute), "chain of 300 bodies, 1 s": chain(1.0)}
    rows = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS[:4])
        for name, run in runs.items():
            for kind, measure in (("live", live), ("file", saved)):
                rows[f"{name}: {kind}"] = least([measure(browser, run, seconds) for _ in range(repeats)])
                print(f"{name}: {kind}", rows[f"{name}: {kind}"], flush=True)
        browser.close()
    text = page_of(rows, repeats)
    print(text)
    if options.write is not None:
        page = options.write.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        options.write.write_text(before + BEGIN + text + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
