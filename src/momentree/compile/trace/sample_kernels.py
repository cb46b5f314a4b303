"""Code for quantities of samples: any formula of coordinates, velocities, time and parameters, in the user's frames."""

from __future__ import annotations

from momentree.compile.emit.llvm import StraightLine
from momentree.compile.execute.choice import is_rolled
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.formulas import Formula, Recording, Signature
from momentree.structure.mechanism import Mechanism


def kernel_of_samples(mechanism: Mechanism, formula: Formula, code: str | None = None) -> Kernel | None:
    """The kernel of formula(at, v), of arrays q, v, t and parameters, each of which may vary from row to row.

    None where its code would be too long. Frames are those of the user, since wrenches and positions depend on them.
    """
    if is_rolled(mechanism, code):
        return None
    signature = Signature.of_columns(mechanism, ("q", mechanism.nq), ("v", mechanism.nv))
    tape = Recording(mechanism, signature, frames=lambda same: same).straight_line(formula)
    if is_rolled(mechanism, code, tape):
        return None
    target = Target.host()
    return Kernel(StraightLine.of(tape, signature.inputs, target), target.lanes(0), target)
