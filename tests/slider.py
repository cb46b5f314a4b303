"""A simulation in closed form, for tests of what is done with simulations: a slider that falls and is pushed."""

from __future__ import annotations

import time

import numpy as np

import momentree as mt
from momentree.errors import MomentreeError
from momentree.simulate.blocks import Block, End, Statistics, WorkTerm

MASS, PUSH, G = 2.0, 7.0, 9.81


def slider() -> mt.Model:
    m = mt.Model("slider", gravity=(0, 0, -G))
    block = m.body("block", mt.box(mass=MASS, size=(0.1, 0.1, 0.1)))
    m.joint("z", mt.Prismatic("z"), m.ground, block)
    m.torque("z", PUSH)
    return m


class Falling:
    """z'' = PUSH / MASS - G, step by step, so that each sample depends on all before it.

    | setting  | meaning                                                       |
    |----------|---------------------------------------------------------------|
    | samples  | in a block; one more in each with `growing`                   |
    | pause    | s that a block takes                                          |
    | fails_at | s: it ends as failed there; `raises_at`: with an exception    |
    | leak     | W: energy that no work term accounts for                      |
    """

    def __init__(
        self, system, start, t_end=1.0, every=0.01, samples=7, growing=0, pause=0.0, fails_at=None, raises_at=None,
        leak=0.0, rtol=1e-8,
    ):  # fmt: skip
        self.system, self.start, self.t_start, self.t_end = system, start, start.t, t_end
        self.settings = {name: value for name, value in locals().items() if name not in ("self", "system", "start")}
        self.work_terms = (WorkTerm("torque on z", "drive"),)
        self.y = np.array([start.q[0], start.v[0], 0.0])
        self.done, self.blocks, self.end = 0, 0, None

    @property
    def statistics(self):
        every = self.settings["every"]
        return Statistics(self.done, self.blocks, 4 * self.done, every, every)

    def advance(self):
        s = self.settings
        if self.end is not None:
            return None
        time.sleep(s["pause"])
        rows = []
        count = s["samples"] + s["growing"] * self.blocks
        while len(rows) < count and self.end is None:
            t = self.t_start + self.done * s["every"]
            if self.done:
                self._step(s["every"])
            rows.append((t, *self.y))
            self.done += 1
            if s["raises_at"] is not None and t >= s["raises_at"]:
                raise MomentreeError(f"the push has no value at t = {t:g} s.")
            if s["fails_at"] is not None and t >= s["fails_at"]:
                self.end = End("failed", t, "joint 'z': the steps became too short.")
            elif t + s["every"] / 2 >= self.t_end:
                self.end = End("arrived", t, "", (("passed zero", 0.5),))
        self.blocks += 1
        t, q, v, work = np.array(rows).T
        return Block(t, q[:, None], v[:, None], work[:, None])

    def _step(self, h):
        v = self.y[1]
        a = PUSH / MASS - G
        moved = h * v + h * h * a / 2
        self.y += [moved, h * a, (PUSH + self.settings["leak"]) * moved]

    def checkpoint(self):
        return {"y": self.y, "counts": np.array([self.done, self.blocks])}

    def restore(self, checkpoint):
        self.y = np.array(checkpoint["y"])
        self.done, self.blocks = map(int, checkpoint["counts"])

    def refined(self, times):
        raise NotImplementedError("it is exact")


def falling(**settings) -> Falling:
    system = slider().build()
    return Falling(system, system.assemble({"z": 1.0}, velocities={"z": 3.0}), **settings)
