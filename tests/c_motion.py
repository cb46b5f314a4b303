"""Motions in C: what `export_c` writes of whole steps, compiled and called; a spatial loop with quaternions."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import momentree as mt
from momentree.assembly.state import State

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler is installed")
ARRIVED, NOT_FINITE, OPEN = 0, 3, 4


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


class Motion:
    """A motion of a system in C, one call after the other."""

    def __init__(self, system, folder, start=None, integrator="dop853", parameters=None):
        system.export_c(folder / "it.c", what="step", integrator=integrator, start=start)
        subprocess.run([COMPILER, *STRICT, folder / "it.c", "-o", folder / "it.so", "-lm"], check=True)
        self.library, header = ctypes.CDLL(str(folder / "it.so")), (folder / "it.h").read_text()
        self.sizes = {name: int(size) for name, size in re.findall(r"#define IT_(\w+) (\d+)", header)}
        self.system, self.state = system, np.full(self.sizes["NX"], np.nan)
        self.work, self.parameters = np.zeros(self.sizes["WORK"]), np.zeros(self.sizes.get("NP", 0))
        self.library.it_start.restype = ctypes.c_double
        self.t = self.library.it_start(pointer(self.state), *self._free)
        self.parameters[:] = self.parameters if parameters is None else parameters

    @property
    def _free(self):
        return [pointer(self.parameters)] if len(self.parameters) else []

    def call(self, what, *times):
        passed = [ctypes.c_double(t) for t in (self.t, *times)]
        return getattr(self.library, f"it_{what}")(pointer(self.state), *passed, *self._free, pointer(self.work))

    def step(self, h):
        status = self.call("step", h)
        self.t += h
        return status

    def states(self, t_end, h):
        """q and v at multiples of h."""
        rows = []
        for _ in range(round((t_end - self.t) / h)):
            assert self.step(h) == ARRIVED
            rows.append(self.state.copy())
        return np.split(np.array(rows), [self.system.nq], axis=1)


def closure_error(system, q, v):
    return max(State(system._numeric, *row).closure_error for row in zip(q[::10], v[::10], strict=True))


def spatial_loop():
    """Two hinges about skew axes and a coupler on two balls, which spins idly: q has quaternions."""
    m = mt.Model("RSSR")
    crank, rocker = (m.body(name, mt.rod(mass=1.0, length=x)) for name, x in (("crank", 0.5), ("rocker", 1.5)))
    coupler = m.body("coupler", mass=1.0, com=(1.0, 0, 0), inertia=(0.1, 0.4, 0.5))
    m.joint("A", mt.Revolute("z"), m.ground, crank)
    m.joint("B", mt.Spherical(), crank.at((0.5, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.0, 0.3, 0)), rocker)
    m.joint("C", mt.Spherical(), coupler.at((2.0, 0, 0)), rocker.at((1.5, 0, 0)))
    return m
