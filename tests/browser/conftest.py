"""A real browser: Chromium without a window, in which a page may ask this machine for things and nobody else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
ARGUMENTS = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
# triangles are not filled: in software that takes seconds, and tests read the scene, not pixels
UNDRAWN = """for (const draw of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced'])
    WebGL2RenderingContext.prototype[draw] = () => {};"""
READY = "window.__viserMutable && window.__viserMutable.nodeRefFromName['/scene/axes'] !== undefined"
POSE = """name => {
    const nodes = window.__viserMutable.nodeRefFromName, root = nodes['/scene'], node = nodes[name];
    if (!node) return null;
    root.updateWorldMatrix(true, false); node.updateWorldMatrix(true, false);
    return root.matrixWorld.clone().invert().multiply(node.matrixWorld).elements.slice();
}"""

SEEN = """([name, point]) => {
    const all = window.__viserMutable, node = all.nodeRefFromName[name];
    const canvas = document.querySelector('canvas').getBoundingClientRect();
    node.updateWorldMatrix(true, false); all.camera.updateMatrixWorld();
    const at = all.camera.position.clone().set(...point).applyMatrix4(node.matrixWorld).project(all.camera);
    return [canvas.left + (at.x + 1) / 2 * canvas.width, canvas.top + (1 - at.y) / 2 * canvas.height];
}"""


class Page:
    """A page, what it complained of, and what it asked others for."""

    def __init__(self, page: Any):
        self.page, self.complaints, self.requests = page, [], []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def open(self, url: str) -> None:
        """Open a page and wait for its scene."""
        self.page.goto(url)
        self.page.wait_for_function(READY, polling=50, timeout=60_000)

    @property
    def outside(self) -> list[str]:
        """Requests that leave the machine."""
        here = ("file:", "data:", "blob:", "http://127.0.0.1:", "ws://127.0.0.1:")
        return [url for url in self.requests if not url.startswith(here)]

    def nodes(self) -> set[str]:
        """The names of all nodes of the scene of three.js."""
        return {*self.page.evaluate("Object.keys(window.__viserMutable.nodeRefFromName)")}

    def matrix(self, node: str) -> Any:
        """The 4 x 4 matrix of a node in the scene, as three.js has it."""
        assert self.until(lambda: self.page.evaluate(POSE, node) is not None), node
        return np.array(self.page.evaluate(POSE, node)).reshape(4, 4).T

    def press(self, selector: str, key: str) -> None:
        """Press a key on an element: an event of the page itself, which does not wait for a frame."""
        assert self.until(lambda: self.page.evaluate("at => document.querySelector(at) !== null", selector)), selector
        event = "new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})"
        script = f"([selector, key]) => document.querySelector(selector).dispatchEvent({event})"
        self.page.evaluate(script, [selector, key])

    def click(self, text: str) -> None:
        """Click the button with this text."""
        find = "[...document.querySelectorAll('button')].find(button => button.innerText.trim() === text)"
        assert self.until(lambda: self.page.evaluate(f"text => {find} !== undefined", text)), text
        self.page.evaluate(f"text => {find}.click()", text)

    def enter(self, text: str) -> None:
        """Write into the first field of the page, as React sees it."""
        assert self.until(lambda: self.page.evaluate("document.querySelector('input') !== null"))
        setter = "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set"
        event = "new Event('input', {bubbles: true})"
        write = f"{setter}.call(field, text); field.dispatchEvent({event})"
        self.page.evaluate(f"text => {{ const field = document.querySelector('input'); {write} }}", text)

    def seen(self, node: str, point: tuple[float, float, float]) -> tuple[float, float]:
        """Where a point of a node is on the screen (px)."""
        x, y = self.page.evaluate(SEEN, [node, point])
        return x, y

    def until(self, holds: Any, seconds: float = 30.0) -> bool:
        """Wait until something holds."""
        for _ in range(int(seconds / 0.05)):
            if holds():
                return True
            self.page.wait_for_timeout(50)
        return False


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    path = next((found for name in CHROMIUMS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"there is no browser: none of {', '.join(CHROMIUMS)} is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any) -> Iterator[Page]:
    tab = chromium.new_page(viewport={"width": 900, "height": 560})
    tab.add_init_script(UNDRAWN)
    yield Page(tab)
    tab.close()
