"""The pictures of docs/pictures.md: python benchmarks/pictures_of_mechanisms.py [--check], one function for each."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import momentree as mt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


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


PICTURES: dict[str, Callable[[Path], None]] = {
    "drawing-squeezer.svg": squeezer,
    "plot-four-bar.svg": four_bar,
    "drawing-walk.svg": walk,
}


def main(check: bool) -> int:
    """Write the pictures or, to check them, draw them elsewhere and name those that would change."""
    changed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, draw in PICTURES.items():
            draw(made := Path(folder) / name)
            if not (DOCS / name).exists() or (DOCS / name).read_bytes() != made.read_bytes():
                changed.append(name)
                if not check:
                    (DOCS / name).write_bytes(made.read_bytes())
    for name in changed:
        print(f"docs/{name} {'is not up to date' if check else 'written'}")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
