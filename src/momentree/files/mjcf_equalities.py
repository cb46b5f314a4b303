"""Equality constraints of MJCF: joints that close loops, couplings of joints and of fixed tendons.

| equality                   | model                                                                           |
|----------------------------|---------------------------------------------------------------------------------|
| connect                    | a Spherical joint that closes a loop                                            |
| weld                       | a Fixed joint that closes a loop; Spherical where torquescale is 0              |
| joint, linear              | couple: q1 - ref1 = c0 + c1 (q2 - ref2)                                         |
| joint, of higher order     | constrain, with the polynomial                                                  |
| tendon, of fixed tendons   | the same for the sums of coordinates that tendons are                           |

The constraints are exact here; MuJoCo's are soft. Flexible bodies and distances of geoms have no counterpart.
"""

from __future__ import annotations

from typing import Any

from momentree.files.counterparts import Notes
from momentree.files.mjcf_values import Names, floats, quaternion
from momentree.model import Model
from momentree.model.expressions.expression import Reference
from momentree.model.frames import Frame
from momentree.model.joint_types import Fixed, Spherical

CONNECT, WELD, JOINT, TENDON = range(4)  # as MuJoCo numbers them (mjtEq)
KINDS = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")
BODY, SITE = 1, 6  # what an equality names (mjtObj)
WRAPS_JOINT = 1  # mjtWrap
Terms = dict[int, float]  # coefficients by joint


def fixed_tendons(mj: Any) -> dict[int, Terms]:
    """The tendons that are linear in coordinates: the coefficients of each, by joint."""
    found = {}
    for number in range(mj.ntendon):
        first = int(mj.tendon_adr[number])
        wraps = range(first, first + int(mj.tendon_num[number]))
        if all(mj.wrap_type[i] == WRAPS_JOINT for i in wraps):
            terms: Terms = {}
            for i in wraps:
                terms[int(mj.wrap_objid[i])] = terms.get(int(mj.wrap_objid[i]), 0.0) + float(mj.wrap_prm[i])
            found[number] = {joint: c for joint, c in terms.items() if c}
    return found


def add_equalities(model: Model, mj: Any, names: Names, notes: Notes) -> bool:
    """All that are active; whether there are any."""
    reader = _Equalities(model, mj, names, notes)
    added = [reader.add(number) for number in range(mj.neq)]
    return any(added)


class _Equalities:
    def __init__(self, model: Model, mj: Any, names: Names, notes: Notes):
        self.model, self.mj, self.names, self.notes = model, mj, names, notes
        self.tendons = fixed_tendons(mj)

    def add(self, number: int) -> bool:
        kind = int(self.mj.eq_type[number])
        said = self.names.of("eq", number)
        label = KINDS[kind] if kind < len(KINDS) else "equality"
        name = self.names.unused(said or f"{label}_{number}")
        if not self.mj.eq_active0[number]:
            self.notes.add("inactive equalities left out", name)
        elif kind in (CONNECT, WELD):
            return self.close(number, name, kind)
        elif kind in (JOINT, TENDON):
            return self.follow(number, name, kind)
        else:
            self.notes.add(f"{label} equalities left out", name)
        return False

    # --- loops ---

    def close(self, number: int, name: str, kind: int) -> bool:
        """A joint that closes a loop, between frames at the anchors."""
        mj = self.mj
        pair = int(mj.eq_obj1id[number]), int(mj.eq_obj2id[number])
        data = floats(mj.eq_data[number])
        if mj.eq_objtype[number] == SITE:
            bodies = [int(mj.site_bodyid[site]) for site in pair]
            at = [(floats(mj.site_pos[site]), quaternion(mj.site_quat[site])) for site in pair]
        else:
            bodies = [*pair]
            at = [(data[:3], None), (data[3:6], None)]
            if kind == WELD:
                at = [(data[3:6], quaternion(data[6:10])), (data[:3], None)]
        if mj.body_weldid[bodies[0]] == mj.body_weldid[bodies[1]]:
            self.notes.add("equalities left out, of bodies that do not move relative to each other", name)
            return False
        first, second = (Frame(self.names.bodies[body], *where) for body, where in zip(bodies, at, strict=True))
        holds = kind == WELD and data[10] != 0
        self.model.joint(name, Fixed() if holds else Spherical(), first, second)
        self.model.cut(name)
        return True

    # --- couplings ---

    def follow(self, number: int, name: str, kind: int) -> bool:
        """x1 - x1_0 = polynomial of (x2 - x2_0), where x is a coordinate or the sum that a fixed tendon is."""
        mj = self.mj
        pair = [int(mj.eq_obj1id[number]), int(mj.eq_obj2id[number])]
        if kind == TENDON and any(tendon >= 0 and tendon not in self.tendons for tendon in pair):
            self.notes.add("equalities of spatial tendons left out", name)
            return False
        sums = [self.sum_of(thing, kind) for thing in pair if thing >= 0]
        c = floats(mj.eq_data[number][:5]) if len(sums) == 2 else (float(mj.eq_data[number][0]), 0.0, 0.0, 0.0, 0.0)
        (x1, zero1), (x2, zero2) = sums[0], sums[1] if len(sums) == 2 else ({}, 0.0)
        if any(c[2:]):
            self.constrain(name, x1, zero1 + c[0], x2, zero2, c)
            return True
        terms = dict(x1)
        for joint, coefficient in x2.items():
            terms[joint] = terms.get(joint, 0.0) - c[1] * coefficient
        terms = {joint: coefficient for joint, coefficient in terms.items() if coefficient}
        if not terms:
            self.notes.add("equalities left out, which say nothing", name)
            return False
        self.couple(name, terms, zero1 + c[0] - c[1] * zero2)
        return True

    def sum_of(self, number: int, kind: int) -> tuple[Terms, float]:
        """The coefficients of a coordinate or a tendon, and its value at qpos0."""
        mj = self.mj
        if kind == TENDON:
            return self.tendons[number], float(mj.tendon_length0[number])
        return {number: 1.0}, float(mj.qpos0[mj.jnt_qposadr[number]])

    def couple(self, name: str, terms: Terms, value: float) -> None:
        """The sum of the terms keeps a value."""
        (joint, leading), *others = terms.items()
        joints, follower = self.names.joints, self.names.joints[joint]
        if not others:
            self.model.constrain(f"{Reference(follower)} = {value / leading!r}", name=name)
        elif len(others) == 1:
            (other, ratio), offset = others[0], value / leading
            self.model.couple(follower, joints[other], ratio=-ratio / leading, offset=offset, name=name)
        else:
            ratios = {joints[other]: -ratio / leading for other, ratio in others}
            self.model.couple(follower, ratios, offset=value / leading, name=name)

    def constrain(self, name: str, x1: Terms, zero1: float, x2: Terms, zero2: float, c: tuple[float, ...]) -> None:
        """The polynomial as it is."""
        y = f"({self.text(x2)}{_added(-zero2)})"
        powers = [f"{_factor(c[k])}{y}{f'^{k}' * (k > 1)}" for k in range(1, 5) if c[k]]
        self.model.constrain(f"{self.text(x1)}{_added(-zero1)} = {' + '.join(powers)}", name=name)

    def text(self, terms: Terms) -> str:
        joints = self.names.joints
        return " + ".join(f"{_factor(factor)}{Reference(joints[joint])}" for joint, factor in terms.items())


def _factor(number: float) -> str:
    return "" if number == 1 else f"{number!r}*" if number > 0 else f"({number!r})*"


def _added(number: float) -> str:
    return "" if number == 0 else f" {'+' if number > 0 else '-'} {abs(number)!r}"
