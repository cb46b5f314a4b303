"""All pictures of README, docs and examples: which there are, how each is made, and whether it is up to date.

    python benchmarks/make_pictures.py [--check] [PATH...]     or: make pictures, make pictures CHECK=1

| kind     | made                                           | up to date if                                          |
|----------|------------------------------------------------|--------------------------------------------------------|
| drawn    | from models, by the program, without a browser | drawn again, it shows the same (picture_checks.py)     |
| script   | by the run.py of its example                   | the same                                               |
| figures  | from the figures on its page                   | the same                                               |
| measured | by a benchmark, with more than its page says   | it carries the figures of its page                     |
| page     | a picture of a page in Chromium                | it carries the inputs of the page: scene, poses, words |

A path, or a part of it, chooses some. Without a Chromium, pictures of pages are left as they are.
"""

from __future__ import annotations

import argparse
import functools
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import closure_drift_page
import forward_dynamics_page
import pictures_of_mechanisms
import pictures_of_pages
import thumbnails
from picture_checks import alike, differences, fingerprint

import momentree as mt
from momentree.look.gallery import gallery
from momentree.look.graph_picture import draw_graph

ROOT = Path(__file__).parents[1]
COLUMNS = 5  # of the gallery
SUFFIXES = (".svg", ".png", ".gif", ".jpg", ".webp")
LINKS = re.compile(r"!\[[^]]*\]\(([^)\s]+)\)|<img\b[^>]*\bsrc=\"([^\"]+)\"")


class Picture(NamedTuple):
    """A picture: its path below the root, its kind, what writes it, and what its inputs are where it carries them."""

    path: str
    kind: str
    make: Callable[[Path], None]
    inputs: Callable[[], object] | None = None

    @property
    def file(self) -> Path:
        return ROOT / self.path

    def outdated(self) -> str:
        """Why it is not up to date; "" if it is."""
        if not self.file.exists():
            return "it does not exist"
        if self.inputs is not None:
            said = fingerprint(self.file)
            return "" if alike(said, self.inputs()) else "it was made from other inputs"
        with tempfile.TemporaryDirectory() as folder:
            self.make(made := Path(folder) / self.file.name)
            return differences(made, self.file)


def registry() -> list[Picture]:
    """All of them."""
    found = [Picture(f"docs/{name}", "drawn", make) for name, make in pictures_of_mechanisms.PICTURES.items()]
    found.append(Picture("docs/forward-dynamics.svg", "figures", forward_dynamics_page.draw_from_page))
    found.append(Picture("docs/closure-drift.svg", "measured", _closure_drift, closure_drift_page.fingerprint_of_page))
    for name in pictures_of_pages.PICTURES:
        inputs = functools.partial(pictures_of_pages.inputs, name)
        found.append(Picture(f"docs/pictures/{name}.png", "page", _in_browser(name), inputs))
    return found + [one for folder in sorted((ROOT / "examples").glob("*/")) for one in of_example(folder)]


def of_example(folder: Path) -> Iterator[Picture]:
    """The thumbnail of an example, and the pictures of its page."""
    below = folder.relative_to(ROOT).as_posix()
    yield Picture(f"{below}/thumbnail.png", "drawn", functools.partial(thumbnails.draw, folder))
    for name in links(folder / "README.md"):
        if "/" in name:
            continue
        if name == "graph.svg":
            yield Picture(f"{below}/{name}", "drawn", functools.partial(_graph, folder))
        elif (folder / "study.py").exists() and name == "study.svg":
            yield Picture(f"{below}/{name}", "figures", functools.partial(_study, folder))
        else:
            yield Picture(f"{below}/{name}", "script", functools.partial(_by_script, folder, name))


def links(page: Path) -> list[str]:
    """The pictures that a page shows, as it names them."""
    text = page.read_text(encoding="utf-8")
    return [a or b for a, b in LINKS.findall(text) if not re.match(r"[a-z]+:", a or b)]


def pages() -> list[Path]:
    """The pages that may show pictures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


# --- how they are made ---


def _graph(folder: Path, path: Path) -> None:
    draw_graph(mt.load(folder / "model.toml").build().structure, path)


def _by_script(folder: Path, name: str, path: Path) -> None:
    """By the run.py of an example, which writes its pictures where it runs."""
    path.write_bytes((_ran(folder) / name).read_bytes())


@functools.cache
def _ran(folder: Path) -> Path:
    """A folder in which the script of an example has run, once."""
    keep = tempfile.TemporaryDirectory()
    _KEPT.append(keep)
    subprocess.run([sys.executable, str(folder / "run.py")], cwd=keep.name, check=True, capture_output=True)
    return Path(keep.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _study(folder: Path, path: Path) -> None:
    """From the table of its page."""
    command = "import sys, study; study.draw_from_table(sys.argv[1])"
    subprocess.run([sys.executable, "-c", command, str(path)], cwd=folder, check=True)


def _closure_drift(path: Path) -> None:
    import closure_drift

    closure_drift.draw_pictured(path)


def _in_browser(name: str) -> Callable[[Path], None]:
    return functools.partial(pictures_of_pages.shoot, name)


# --- the gallery of the README ---


def gallery_table() -> str:
    """A table of thumbnails that lead to the pages of the examples."""
    cells = []
    for example in gallery():
        below = f"examples/{example.folder.name}"
        image = f'<img src="{below}/{example.thumbnail.name}" width="150" alt="{example.name}">'
        heading = (example.folder / "README.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        cells.append(f"[{image}<br>{heading}]({below}/README.md)")
    cells += [""] * (-len(cells) % COLUMNS)
    rows = [cells[i : i + COLUMNS] for i in range(0, len(cells), COLUMNS)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + ":---:|" * COLUMNS, *lines[1:]])


def with_gallery(text: str) -> str:
    """The README, its gallery renewed."""
    begin, end = "<!-- gallery: written by make pictures -->\n", "<!-- end of gallery -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{gallery_table()}\n\n{end}{rest.partition(end)[2]}"


# --- the command ---


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; name the pictures that are not up to date")
    parser.add_argument("paths", nargs="*", help="parts of paths of pictures")
    given = parser.parse_args()
    chosen = [one for one in registry() if not given.paths or any(part in one.path for part in given.paths)]
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    outdated = int(text != with_gallery(text))
    if outdated:
        print("README.md: its gallery is not up to date" + ("" if given.check else "; written"))
    if outdated and not given.check:
        readme.write_text(with_gallery(text), encoding="utf-8")
    for picture in chosen:
        why = picture.outdated()
        outdated += bool(why)
        print(f"{picture.path}: {f'not up to date: {why}' if why else 'up to date'}", flush=True)
        if why and not given.check and (picture.kind != "page" or pictures_of_pages.chromium()):
            picture.make(picture.file)
            print(f"{picture.path}: written, {picture.file.stat().st_size / 1e3:.0f} kB", flush=True)
    return int(given.check and outdated > 0)


if __name__ == "__main__":
    sys.exit(main())
