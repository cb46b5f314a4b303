"""A hundred thousand calls of the dynamics with arguments at random, good and bad: run by test_calls.py.

Each call gives an array that the plain sweeps give too, or a MomentreeError, or a TypeError. A crash ends the process,
and with it the test; faulthandler then says where.

    python abuse.py <calls> <seed>
"""

from __future__ import annotations

import faulthandler
import gc
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np

import momentree as mt
from momentree.compile.execute.arrays import UNIT
from momentree.compile.trace.quantities import ARGUMENTS, MATRICES
from momentree.equations import aggregative, articulated, coriolis, factors, force_terms, hamiltonian
from momentree.equations.evaluation import Evaluation

TOLERANCE = 1e-9
PLAIN = {
    "mass_matrix": aggregative.mass_matrix,
    "inverse_mass_matrix": factors.inverse_mass_matrix,
    "coriolis_matrix": coriolis.coriolis_matrix,
    "aggregative_matrix": coriolis.aggregative_matrix,
    "coriolis_forces": lambda at, v: aggregative.first_form(at, v).b,
    "gravity_forces": force_terms.gravity_forces,
    "generalized_forces": force_terms.generalized_forces,
    "generalized_momenta": hamiltonian.momenta,
    "bias": lambda at, v: aggregative.second_form(at, v).b,
    "inverse_dynamics": aggregative.inverse_dynamics,
    "forward_dynamics": articulated.forward_dynamics,
}


def build() -> mt.System:
    """Every way that a coordinate can be: a base that floats, a ball, a slider, hinges; laws of time, a spring."""
    m = mt.Model("abused", gravity=(0.3, 0, -9.81))
    base = m.body("base", mt.box(mass=2.0, size=(0.4, 0.3, 0.2)))
    arm, ball = m.body("arm", mt.rod(mass=1.0, length=0.5)), m.body("ball", mt.sphere(mass=0.5, radius=0.1))
    tool = m.body("tool", mt.rod(mass=0.3, length=0.2))
    m.joint("float", mt.Free(), m.ground, base)
    m.joint("shoulder", mt.Revolute("y", spring=2.0, damping=0.1), base.at((0.2, 0, 0)), arm)
    m.joint("socket", mt.Spherical(), arm.at((0.5, 0, 0)), ball)
    m.joint("slide", mt.Prismatic("x"), ball, tool)
    m.force(tool.at((0.1, 0, 0)), ("sin(t)", "0.2*t", 1))
    return m.build()


class Own(np.ndarray):
    """A class of its own."""


class Raises:
    """A thing that is no array, and says so in its own way."""

    def __array__(self, *_, **__):
        raise TypeError("not an array")


class Abuse:
    """Calls at random, and their judge."""

    def __init__(self, system: mt.System, seed: int, folder: Path):
        self.system, self.random = system, np.random.default_rng(seed)
        self.functions = {what: getattr(system, what) for what in ARGUMENTS}
        self.file = np.memmap(folder / f"file{seed}", dtype=float, mode="w+", shape=(64,))
        self.answers = self.refusals = 0

    # --- arguments ---

    def good(self, name: str, lead: tuple[int, ...] = ()) -> np.ndarray:
        if name == "t":
            return self.random.uniform(0, 2, lead)
        values = self.random.uniform(-1, 1, (*lead, self.system.nq if name == "q" else self.system.nv))
        if name == "q":
            for start in (3, 8):
                part = values[..., start : start + 4]
                part /= np.linalg.norm(part, axis=-1, keepdims=True)
        return values

    def strange(self, name: str):
        """A value that may be wrong in any way, or right in an unusual one."""
        x = self.good(name)
        n = x.shape[-1] if x.ndim else 1
        choices = [
            lambda: None,
            lambda: "text",
            lambda: b"bytes",
            lambda: 3.5,
            lambda: 7,
            lambda: 1j,
            lambda: object(),
            lambda: Raises(),
            lambda: x.tolist(),
            lambda: [x.tolist()] * 3,
            lambda: [[1.0], [2.0, 3.0]],
            lambda: {"q": 1},
            lambda: {1.0, 2.0},
            lambda: iter([1.0]),
            lambda: np.ones(n - 1),
            lambda: np.ones(n + 1),
            lambda: np.ones((n, n + 1)),
            lambda: np.zeros(0),
            lambda: np.zeros((0, n)),
            lambda: np.zeros((2, 0, n)),
            lambda: np.array(1.0),
            lambda: x[..., None, None] * np.ones((1, 1, 2)),
            lambda: x.astype(np.float32),
            lambda: x.astype(">f8"),
            lambda: x.astype(complex),
            lambda: x.astype(object),
            lambda: x.astype(str),
            lambda: x > 0,
            lambda: x.astype("M8[s]"),
            lambda: np.ones(n, dtype=[("a", float)]),
            lambda: np.ones(n, dtype=np.longdouble),
            lambda: np.array([10**400] * n, dtype=object),
            lambda: np.full(n, np.nan),
            lambda: np.where(np.arange(n) == self.random.integers(n), np.inf, x),
            lambda: np.full(n, 1e308),
            lambda: x.view(Own),
            lambda: np.ma.array(x, mask=self.random.random(x.shape) < 0.2),
            lambda: np.ma.array(x),
            lambda: np.repeat(x, 3)[::3].reshape(x.shape),
            lambda: np.ascontiguousarray(x[..., ::-1])[..., ::-1] if x.ndim else x,
            lambda: np.frombuffer(b"_" + x.tobytes(), np.uint8)[1:].view(float).reshape(x.shape),
            lambda: np.frombuffer(x.tobytes()).reshape(x.shape),
            lambda: np.broadcast_to(x, (5, *x.shape)),
            lambda: np.broadcast_to(x, (10**13, *x.shape)),
            lambda: np.broadcast_to(np.float32(x), (10**13, *x.shape)),
            lambda: np.asfortranarray(self.good(name, (3,))),
            lambda: self.good(name, (3, 1))[::-1],
            lambda: self.good(name, (2, 3)),
            lambda: self.good(name, (3,)),
            lambda: self.file[:n],
            lambda: memoryview(x),
            lambda: float("nan"),
        ]
        return choices[self.random.integers(len(choices))]()

    def call(self) -> tuple[str, list, dict]:
        what = self.random.choice(list(ARGUMENTS))
        names = ARGUMENTS[what]
        values = [self.strange(name) if self.random.random() < 0.25 else self.usual(name) for name in names]
        left_out, named = self.random.integers(0, 3), {}
        values = values[: len(values) - left_out] if self.random.random() < 0.3 else values
        if self.random.random() < 0.05:
            values.append(1.0)
        if self.random.random() < 0.15 and values:
            first = self.random.integers(len(values) + 1)
            named = dict(zip(names[first:], values[first:], strict=False))
            values = values[:first]
        if self.random.random() < 0.05:
            named[str(self.random.choice(["tau", "q", "torque", "self", ""]))] = self.good("v")
        if self.random.random() < 0.1:
            named["out"] = self.out(what, values)
        if self.random.random() < 0.05:
            named["threads"] = [1, 2, 0, -1, "x", None, 10**9][self.random.integers(7)]
        return what, values, named

    def usual(self, name: str):
        x = self.good(name)
        return float(x) if name == "t" and self.random.random() < 0.8 else x

    def out(self, what: str, values: list):
        n = self.system.nv
        shape = (n, n) if what in MATRICES else (n,)
        overlapping = [value for value in values if isinstance(value, np.ndarray)]
        choices = [
            lambda: np.empty(shape),
            lambda: np.empty((3, *shape)),
            lambda: np.empty(shape, np.float32),
            lambda: np.empty(shape, ">f8"),
            lambda: np.broadcast_to(np.empty(1), shape),
            lambda: np.frombuffer(bytes(8 * int(np.prod(shape)))).reshape(shape),
            lambda: np.empty((2 * n, *shape[1:]))[::2],
            lambda: np.ma.zeros(shape),
            lambda: [0.0] * n,
            lambda: "out",
            lambda: self.file[:n],
            lambda: overlapping[0] if overlapping else None,
            lambda: overlapping[-1] if overlapping else None,
        ]
        return choices[self.random.integers(len(choices))]()

    # --- the judge ---

    def once(self) -> None:
        what, values, named = self.call()
        kept = named.copy()
        try:
            found = self.functions[what](*values, **named)
        except (mt.MomentreeError, TypeError):
            self.refusals += 1
            return
        self.answers += 1
        assert isinstance(found, np.ndarray)
        kept.pop("out", None)
        kept.pop("threads", None)
        if self.answers % 15 == 0 and found.size:
            self.compare(what, found, dict(zip(ARGUMENTS[what], values, strict=False)) | kept)

    def compare(self, what: str, found: np.ndarray, given: dict) -> None:
        """One row of the results, against the sweeps on floats."""
        system, random = self.system, self.random
        lead = found.shape[: -2 if what in MATRICES else -1]
        row = tuple(int(random.integers(n)) for n in lead)
        at = {"t": 0.0, "tau": np.zeros(system.nv), "vdot": np.zeros(system.nv)}
        for name, value in given.items():
            if value is not None:
                array = np.asarray(value, dtype=float)
                assert np.asarray(value).dtype.kind in "biufO", name
                assert not np.ma.is_masked(value), name
                array = np.broadcast_to(array, (*lead, *(() if name == "t" else array.shape[-1:])))
                at[name] = float(array[row]) if name == "t" else array[row].tolist()
                assert np.isfinite(at[name]).all(), name
        off = max(abs(np.linalg.norm(at["q"][start : start + 4]) - 1) for start in (3, 8))
        assert off <= UNIT * (1 + 1e-9)
        m = system.mechanism
        with np.errstate(all="ignore"):
            where = Evaluation(m, at["q"], at["t"])
            expected = PLAIN[what](where, *(at[name] for name in ARGUMENTS[what] if name not in ("q", "t")))
        expected = np.array(expected, dtype=float)
        if np.isfinite(expected).all() and np.abs(expected).max() < 1e100:
            tolerance = TOLERANCE + 50 * off  # ways differ in what they make of a quaternion that is nearly a unit
            scale = max(1.0, np.abs(expected).max(), np.abs(found[row]).max())
            assert np.abs(found[row] - expected).max() <= tolerance * scale, (what, given)


def by_threads(system: mt.System, folder: Path, calls: int) -> None:
    """Many threads at once, each with calls of its own."""
    failures = []

    def work(seed: int) -> None:
        try:
            abuse = Abuse(system, seed, folder)
            for _ in range(calls):
                abuse.once()
        except BaseException as error:
            failures.append(error)
            raise

    workers = [threading.Thread(target=work, args=(1000 + k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def main(calls: int, seed: int) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        abuse = Abuse(build(), seed, Path(folder))
        for _ in range(calls * 7 // 10):
            abuse.once()
        # functions whose system is gone
        abuse.system, system = build(), abuse.system
        for what in ARGUMENTS:
            vars(system).pop(what, None)
        del system
        gc.collect()
        for _ in range(calls // 10):
            abuse.once()
        by_threads(abuse.system, Path(folder), calls * 2 // 10 // 8)
        print(abuse.answers, abuse.refusals)
        del abuse.file


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
