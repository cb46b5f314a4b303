"""Couplings side by side with MuJoCo: errors against closed forms, CPU time, and what a row of gears costs.

    python benchmarks/couplings.py [--write docs/couplings.md] [--quick]

Shafts and sliders with springs, coupled by gears, a planetary set, a rack and a differential, are linear: their exact
motion is a sum of cosines. MuJoCo couples joints by equality constraints (`joint`, or `tendon` for more than two).
These are soft, and here as stiff as its steps of 1 ms allow. The contestants take turns in one process on one core.
Times are CPU seconds. `--quick` measures too little to tell.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from closed_loops import take_turns
from contestants import installed
from forward_dynamics import alone, pin_to_one_core
from forward_dynamics_page import table
from scipy.linalg import eigh

import momentree as mt

Array = np.ndarray[Any, np.dtype[np.float64]]
OURS = "Momentree"
STEP, SAMPLED = 1e-3, 10  # s; steps from one sample of MuJoCo to the next
SETTINGS = {"MuJoCo, defaults": "", "MuJoCo, stiff": 'solref="0.002 1" solimp="0.9999 0.9999 0.001"'}
LENGTHS = {"short": 0.5, "long": 3.0}  # s, of runs whose difference tells what an evaluation costs


class Effort(NamedTuple):
    """How much to measure.

    | field   | meaning                                              |
    |---------|------------------------------------------------------|
    | repeats | of each motion; the best counts                      |
    | seconds | simulated, of each drive                             |
    | rows    | numbers of gears in a row                            |
    | peers   | the largest of them for MuJoCo                       |
    """

    repeats: int = 3
    seconds: float = 20.0
    rows: tuple[int, ...] = (10, 30, 100, 300, 1000)
    peers: int = 1000


QUICK = Effort(1, 1.0, (10, 30), 30)


# --- drives and their exact motions ---


class Shaft(NamedTuple):
    """A shaft (kg m2, N m/rad), or a slider (kg, N/m)."""

    name: str
    inertia: float
    spring: float = 0.0
    slides: bool = False


@dataclass(frozen=True)
class Drive:
    """Shafts from rest; their coordinates are `ratios` times some that are independent, which start at `start`.

    | field    | meaning                                                    |
    |----------|------------------------------------------------------------|
    | couple   | adds the couplings to a model of ours                      |
    | rows     | the same, as sums of coefficients times coordinates        |
    """

    name: str
    shafts: tuple[Shaft, ...]
    couple: Callable[[mt.Model], object]
    rows: tuple[Mapping[str, float], ...]
    ratios: tuple[tuple[float, ...], ...]
    start: tuple[float, ...]

    def exact(self, t: Array) -> Array:
        """Coordinates over time: R x, with R' I R x'' + R' k R x = 0."""
        R, inertia, spring = np.array(self.ratios), *np.array([shaft[1:3] for shaft in self.shafts]).T
        squares, modes = eigh((R.T * spring) @ R, (R.T * inertia) @ R)
        amplitudes = np.linalg.solve(modes, self.start)
        return (np.cos(np.outer(t, np.sqrt(np.maximum(squares, 0)))) * amplitudes) @ modes.T @ R.T

    def open(self, q: Array) -> Array:
        """How far each row is from zero."""
        names = [shaft.name for shaft in self.shafts]
        return np.column_stack([sum(c * q[:, names.index(name)] for name, c in row.items()) for row in self.rows])


def gear_pair() -> Drive:
    shafts = (Shaft("A", 0.03, 2.0), Shaft("B", 0.2))
    rows = ({"A": 17.0, "B": 51.0},)
    return Drive("gear pair", shafts, lambda m: m.gear("A", "B", teeth=(17, 51)), rows, ((1,), (-1 / 3,)), (1.0,))


def planetary_set() -> Drive:
    shafts = (Shaft("sun", 0.004, 0.5), Shaft("ring", 0.06, 3.0), Shaft("carrier", 0.02))
    rows = ({"sun": 24.0, "ring": 72.0, "carrier": -96.0},)
    ratios = ((1.0, 0.0), (0.0, 1.0), (0.25, 0.75))
    teeth = (24, 72)
    return Drive(
        "planetary set",
        shafts,
        lambda m: m.planetary("sun", "ring", "carrier", teeth=teeth),
        rows,
        ratios,
        (1.0, -0.5),
    )


def rack_and_pinion() -> Drive:
    shafts = (Shaft("pinion", 0.003), Shaft("rack", 4.0, 900.0, slides=True))
    rows = ({"rack": 1.0, "pinion": -0.05},)
    ratios = ((20.0,), (1.0,))
    return Drive("rack", shafts, lambda m: m.rack("pinion", "rack", radius=0.05), rows, ratios, (0.1,))


def differential() -> Drive:
    shafts = (Shaft("left", 0.3, 4.0), Shaft("right", 0.5, 9.0), Shaft("case", 0.1))
    rows = ({"left": 1.0, "right": 1.0, "case": -2.0},)
    ratios = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
    return Drive("differential", shafts, lambda m: m.differential("left", "right", "case"), rows, ratios, (0.7, 0.2))


def row_of_gears(n: int) -> Drive:
    """Gears of 20 to 29 teeth, each in mesh with the next; a spring turns the first back."""
    teeth = [20 + (7 * i) % 10 for i in range(n)]
    shafts = tuple(Shaft(f"G{i}", 0.001 * z / 20, 3.0 if i == 0 else 0.0) for i, z in enumerate(teeth))

    def couple(m: mt.Model) -> None:
        for i in range(n - 1):
            m.gear(f"G{i}", f"G{i + 1}", teeth=(teeth[i], teeth[i + 1]))

    rows = tuple({f"G{i}": float(teeth[i]), f"G{i + 1}": float(teeth[i + 1])} for i in range(n - 1))
    ratios = tuple(((-1.0) ** i * teeth[0] / z,) for i, z in enumerate(teeth))
    return Drive(f"{n} gears", shafts, couple, rows, ratios, (1.0,))


DRIVES = (gear_pair, planetary_set, rack_and_pinion, differential)


# --- the contestants ---


class Motion(NamedTuple):
    """Times, and coordinates in the order of the shafts; evaluations where they are counted."""

    t: Array
    q: Array
    evaluations: int = 0


def momentree_drive(drive: Drive, **settings: Any) -> Callable[[float], Motion]:
    m = mt.Model(drive.name)
    for i, shaft in enumerate(drive.shafts):
        J = shaft.inertia
        body = m.body(shaft.name, mass=J if shaft.slides else 1.0, inertia=(0.6 * J, 0.6 * J, J))
        kind = mt.Prismatic if shaft.slides else mt.Revolute
        m.joint(shaft.name, kind("x" if shaft.slides else "z", spring=shaft.spring), m.ground.at((i, 0, 0)), body)
    drive.couple(m)
    system = m.build()
    q = dict(zip((shaft.name for shaft in drive.shafts), drive.exact(np.zeros(1))[0], strict=True))
    start = system.assemble(q)

    def simulate(seconds: float) -> Motion:
        run = system.simulate(start, t_end=seconds, **({"every": STEP * SAMPLED} | settings))
        return Motion(run.t, np.column_stack([run[shaft.name] for shaft in drive.shafts]), run.statistics.evaluations)

    return simulate


def mujoco_drive(drive: Drive, stiffness: str) -> Callable[[float], Motion]:
    import mujoco

    model = mujoco.MjModel.from_xml_string(_xml(drive, stiffness))
    data = mujoco.MjData(model)

    def simulate(seconds: float) -> Motion:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = drive.exact(np.zeros(1))[0]
        found = [data.qpos.copy()]
        for _ in range(round(seconds / STEP / SAMPLED)):
            mujoco.mj_step(model, data, nstep=SAMPLED)
            found.append(data.qpos.copy())
        return Motion(np.arange(len(found)) * SAMPLED * STEP, np.array(found))

    return simulate


def _xml(drive: Drive, stiffness: str) -> str:
    """The drive in MuJoCo's format."""

    def shaft(i: int) -> str:
        name, J, spring, slides = drive.shafts[i]
        kind = 'type="slide" axis="1 0 0"' if slides else 'axis="0 0 1"'
        inertial = f'<inertial pos="0 0 0" mass="{J if slides else 1}" diaginertia="{0.6 * J} {0.6 * J} {J}"/>'
        return f'<body pos="{i} 0 0"><joint name="{name}" {kind} stiffness="{spring}"/>{inertial}</body>'

    tendons, equalities = [], []
    for i, row in enumerate(drive.rows):
        if len(row) == 2:
            (first, a), (second, b) = row.items()
            coefficients = f'polycoef="0 {-b / a!r} 0 0 0"'
            equalities.append(f'<joint joint1="{first}" joint2="{second}" {coefficients} {stiffness}/>')
        else:
            parts = "".join(f'<joint joint="{name}" coef="{c!r}"/>' for name, c in row.items())
            tendons.append(f'<fixed name="T{i}">{parts}</fixed>')
            equalities.append(f'<tendon tendon1="T{i}" {stiffness}/>')
    option = f'<option integrator="RK4" timestep="{STEP}" gravity="0 0 0"><flag contact="disable"/></option>'
    bodies = "".join(shaft(i) for i in range(len(drive.shafts)))
    tendon = f"<tendon>{''.join(tendons)}</tendon>" if tendons else ""
    equality = f"<equality>{''.join(equalities)}</equality>"
    return f"<mujoco>{option}<worldbody>{bodies}</worldbody>{tendon}{equality}</mujoco>"


# --- what is measured ---


class Figure(NamedTuple):
    """Of one contestant and one drive: CPU seconds per simulated second, errors of motion and of coupling."""

    drive: str
    name: str
    cpu: float
    error: float
    coupling: float


class Growth(NamedTuple):
    """Of a row of n gears: seconds of an evaluation of ours, the error, and CPU per simulated second of MuJoCo."""

    n: int
    each: float
    error: float
    cpu: float
    peer: float | None


def compared(drive: Drive, effort: Effort, known: Sequence[str]) -> list[Figure]:
    works = {OURS: momentree_drive(drive)}
    if "mujoco" in known:
        works |= {name: mujoco_drive(drive, stiffness) for name, stiffness in SETTINGS.items()}
    timed = take_turns({name: (lambda work=work: work(effort.seconds)) for name, work in works.items()}, effort.repeats)
    found = []
    for name, (_, best, motion) in timed.items():
        error, coupling = np.abs(motion.q - drive.exact(motion.t)).max(), np.abs(drive.open(motion.q)).max()
        found.append(Figure(drive.name, name, best / effort.seconds, float(error), float(coupling)))
    return found


def growth(n: int, effort: Effort, known: Sequence[str]) -> Growth:
    """What an evaluation costs: by how much a longer run takes more."""
    drive = row_of_gears(n)
    work = momentree_drive(drive, integrator="rk4", step=STEP, every=0.5)
    timed = take_turns({what: (lambda end=end: work(end)) for what, end in LENGTHS.items()}, effort.repeats)
    short, long = (timed[what] for what in LENGTHS)
    each = (long.best - short.best) / (long.result.evaluations - short.result.evaluations)
    error = float(np.abs(long.result.q - drive.exact(long.result.t)).max())
    peer = None
    if "mujoco" in known and n <= effort.peers:
        simulate = mujoco_drive(drive, SETTINGS["MuJoCo, stiff"])
        peer = take_turns({"MuJoCo": lambda: simulate(0.1)}, effort.repeats)["MuJoCo"].best / 0.1
    return Growth(n, each, error, long.best / LENGTHS["long"], peer)


# --- the page ---


def page(figures: Sequence[Figure], growths: Sequence[Growth], effort: Effort, versions: str, load: float) -> str:
    lines = ["# Couplings, side by side", "", "Made by `python benchmarks/couplings.py --write docs/couplings.md`.", ""]
    lines += [f"One core, one thread; {versions}; load before the start {load:.1f}. Times are CPU seconds.", ""]
    lines += ["## Gears, a planetary set, a rack, a differential", ""]
    lines += [
        f"Shafts and sliders with springs, from rest, {effort.seconds:g} s. The exact motion is a sum of cosines. The",
        "error is the largest of any coordinate at any sample; the coupling error is the largest of its equation, with",
        "numbers of teeth as coefficients.",
        "",
    ]
    own = {figure.drive: figure.cpu for figure in figures if figure.name == OURS}
    head = ("drive", "tool", "CPU s per second", "times Momentree's", "error (rad, m)", "coupling error")
    rows = [
        (f.drive, f.name, f"{f.cpu:.3g}", f"{f.cpu / own[f.drive]:.1f}", f"{f.error:.1e}", f"{f.coupling:.1e}")
        for f in figures
    ]
    lines += table(head, rows)
    lines += [
        "- Momentree: default settings; couplings are closed to round-off after each step.",
        f"- MuJoCo: RK4, steps of {STEP * 1000:g} ms, `equality/joint`, and `equality/tendon` with a fixed tendon for",
        f"  more than two joints. Stiff: `{SETTINGS['MuJoCo, stiff']}`.",
        "",
        "## A row of gears",
        "",
        "Each gear is in mesh with the next, a spring turns the first back. RK4 with the steps that MuJoCo takes; CPU",
        "time by evaluations of the right-hand side, a projection after each step included.",
        "",
    ]
    head = ("gears", "µs per evaluation", "ns per gear", "error (rad)", "CPU s per second", "MuJoCo's, stiff")
    rows = [
        (
            str(g.n),
            f"{g.each * 1e6:.3g}",
            f"{g.each * 1e9 / g.n:.0f}",
            f"{g.error:.1e}",
            f"{g.cpu:.3g}",
            "–" if g.peer is None else f"{g.peer:.3g}",
        )
        for g in growths
    ]
    return "\n".join([*lines, *table(head, rows)])


def report(effort: Effort) -> str:
    load = os.getloadavg()[0]
    pin_to_one_core()
    known = installed(("mujoco",))
    figures = [figure for make in DRIVES for figure in compared(make(), effort, known)]
    growths = [growth(n, effort, known) for n in effort.rows]
    versions = ", ".join(f"{name} {version(name)}" for name in ("momentree", "numpy", "scipy", *known))
    return page(figures, growths, effort, versions, load)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="also write the page into this file")
    parser.add_argument("--quick", action="store_true", help="a short run")
    given = parser.parse_args()
    alone()
    text = report(QUICK if given.quick else Effort())
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
