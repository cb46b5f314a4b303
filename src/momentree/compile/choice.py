"""Which code is made: straight-line for systems of few bodies, rolled for those of many.

Straight-line code runs faster, by a fifth to a half, but it takes LLVM longer to make than it is long: seconds for a
hundred bodies. Rolled code is made in a tenth of a second for any number of them.
"""

from __future__ import annotations

from momentree.compile.kernel import Kernel
from momentree.compile.llvm import compile_tape
from momentree.compile.machine_code import Target
from momentree.compile.tracing import trace, trace_rolled
from momentree.structure.mechanism import Mechanism

MANY = 40  # bodies: above, nobody waits for straight-line code, and it is not even traced
LONG = 16_000  # operations: above, LLVM takes more than a second or two


def kernel_of(mechanism: Mechanism, what: str, code: str | None = None) -> Kernel:
    """The machine code of a quantity; `code` is "straight-line" or "rolled", unless given what suits."""
    if code == "rolled" or (code is None and len(mechanism.bodies) > MANY):
        return _rolled(mechanism, what)
    tape, arguments = trace(mechanism, what)
    if code is None and len(tape.online()) > LONG and len(mechanism.bodies) > 1:
        return _rolled(mechanism, what)
    return compile_tape(tape, arguments)


def _rolled(mechanism: Mechanism, what: str) -> Kernel:
    target = Target.host()
    return Kernel(trace_rolled(mechanism, what), target.lanes(0), target)
