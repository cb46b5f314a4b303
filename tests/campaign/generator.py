"""From a seed to a random mechanism that fits together at a known configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import momentree as mt
from campaign.blocks import BLOCKS
from campaign.draft import GRAVITY, Draft
from campaign.drives import drive

SIZES = {1: 0.08, 2: 0.14, 3: 0.18, 4: 0.18, 6: 0.19, 8: 0.13, 12: 0.085, 20: 0.01, 40: 0.005}  # bodies: how often
SMALL = {1: 0.3, 2: 0.5, 3: 0.2}  # of those that run: to compile them by every method takes time
RUNS = 20  # one in so many runs
EDITION = 1  # of the generator: the same seed draws the same mechanism as long as it stays


@dataclass(frozen=True)
class Sample:
    """A mechanism, and the configuration at which every joint fits.

    | field       | meaning                                                         |
    |-------------|-----------------------------------------------------------------|
    | coordinates | by joint, those that are prescribed left out                    |
    | t           | s, the time                                                     |
    | features    | what is in it, for counting                                     |
    """

    seed: int
    model: mt.Model
    coordinates: dict[str, tuple[float, ...]]
    t: float
    features: tuple[str, ...]


def sample(seed: int) -> Sample:
    """The mechanism of a seed."""
    random = np.random.default_rng([EDITION, seed])
    draft = Draft(random, *_sizes(random))
    draft.model.name = f"random mechanism {seed}"
    _surroundings(draft)
    sizes = SMALL if seed % RUNS == 0 else SIZES
    wanted = int(random.choice(list(sizes), p=list(sizes.values())))
    names = list(BLOCKS)
    weights = np.array([BLOCKS[name][0] for name in names])
    while len(draft.bodies) < wanted:
        name = str(random.choice(names, p=weights / weights.sum()))
        BLOCKS[name][1](draft)
    t = drive(draft)
    _openings(draft)
    free = {joint.name: joint.q for joint in draft.joints if not joint.prescribed and joint.q}
    return Sample(seed, draft.model, free, t, tuple(sorted(draft.features)))


def _sizes(random: np.random.Generator) -> tuple[float, float, float]:
    """Length, mass and spread of masses: mostly everyday, some from mm to km, and ratios to 1e6."""
    length = 10 ** random.uniform(-3, 3) if random.random() < 0.3 else 10 ** random.uniform(-0.7, 0.5)
    mass = 10 ** random.uniform(-3, 3) if random.random() < 0.3 else 10 ** random.uniform(-0.5, 0.5)
    return float(length), float(mass), 3.0 if random.random() < 0.15 else 0.4


def _surroundings(draft: Draft) -> None:
    if not 0.1 < draft.length < 10:
        draft.features.add("mm" if draft.length <= 0.1 else "km")
    if draft.spread > 1:
        draft.features.add("mass ratio")
    if draft.chance(0.1):
        draft.origin = draft.direction() * draft.length * 10 ** draft.number(1, 5)
        draft.features.add("far from the origin")
    g = draft.direction() * GRAVITY if draft.chance(0.5) else np.array([0.0, 0.0, -GRAVITY])
    draft.model.gravity = (0, 0, 0) if draft.chance(0.05) else tuple(map(float, g))


def _openings(draft: Draft) -> None:
    """How loops are opened, in some models: a cut at a joint of the user's choice, or a split body."""
    ring = [joint for joint in draft.joints if joint.loop and not joint.prescribed]
    if not ring or not draft.chance(0.35):
        return
    joint = draft.pick(ring)
    body = draft.pick(joint.ends)
    if draft.chance(0.5) and body != "ground" and draft.masses[body] > 0:
        draft.model.split(body, joint.name, share=draft.number(0.1, 0.9))
        draft.features.add("split")
    else:
        draft.model.cut(joint.name)
        draft.features.add("cut")
