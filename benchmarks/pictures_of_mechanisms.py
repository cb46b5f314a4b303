"""Pictures of mechanisms on the pages, one function for each; make_pictures.py writes and checks them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import momentree as mt
from momentree.look.graph_picture import draw_graph

ROOT = Path(__file__).parents[1]
FPS = 20  # frames per second of the movie


def system_of(example: str) -> mt.System:
    """The system of an example."""
    return mt.load(ROOT / "examples" / example / "model.toml").build()


def squeezer(path: Path) -> None:
    """Andrews' squeezer with the symbols of mechanism theory."""
    system_of("12_andrews_squeezer").draw(path)


def four_bar(path: Path) -> None:
    """What can be plotted of a four-bar, chosen by name."""
    system = system_of("08_four_bar")
    run = system.simulate(system.assemble({"A": 1.0}), t_end=4.0, every=0.02)
    run.plot("A", "A'", "reactions of C", "A' against A", path=path)


def walk(path: Path) -> None:
    """Two steps of the walking mechanism, overlaid."""
    system_of("13_walking_mechanism").simulate(t_end=2.6, every=0.1).draw(path, times=6, overlaid=True, names=False)


def walking(path: Path) -> None:
    """Two periods of the walking mechanism; the last frame comes just before the first."""
    run = system_of("13_walking_mechanism").simulate(t_end=5.2 - 1 / FPS, every=1 / FPS, progress=False)
    run.movie(path, fps=FPS, size=(520, 340), view="-yz", captions=False, progress=False)


def lecture(path: Path) -> None:
    """The tree of Yudintsev's lecture."""
    mt.Graph("0-1 1-2 1-3 3-4").draw(path)


def walk_with_contacts(path: Path) -> None:
    """The graph of the walking mechanism with its contacts as arcs."""
    draw_graph(system_of("13_walking_mechanism").structure.named_graph(force_arcs=True), path)


PICTURES: dict[str, Callable[[Path], None]] = {
    "drawing-squeezer.svg": squeezer,
    "plot-four-bar.svg": four_bar,
    "drawing-walk.svg": walk,
    "pictures/walk.gif": walking,
    "graph-lecture.svg": lecture,
    "graph-walk.svg": walk_with_contacts,
}
