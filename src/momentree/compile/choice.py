"""Which code is made: straight-line for systems of few bodies, rolled for those of many.

Straight-line code runs faster, by a fifth to a half, but it takes LLVM longer to make than it is long: seconds for a
hundred bodies. Rolled code is made in a tenth of a second for any number of them.
"""

from __future__ import annotations

from momentree.compile.kernel import Kernel
from momentree.compile.llvm import compile_tape
from momentree.compile.machine_code import Target
from momentree.compile.tracing import trace, trace_rolled
from momentree.errors import MomentreeError, suggestion
from momentree.structure.mechanism import Mechanism

CODES = ("straight-line", "rolled")
MANY = 40  # bodies: above, nobody waits for straight-line code, and it is not even traced
LONG = 12_000  # operations: above, LLVM takes more than a second or two
NEAR = 1024 * 1024  # bytes: a second-level cache, in which the slots of rolled code should stay


def kernel_of(mechanism: Mechanism, what: str, code: str | None = None) -> Kernel:
    """The machine code of a quantity; `code` is "straight-line" or "rolled", unless given what suits."""
    if code is not None and code not in CODES:
        raise MomentreeError(f"code '{code}': choose 'straight-line' or 'rolled'.{suggestion(code, CODES)}")
    if code == "rolled" or (code is None and len(mechanism.bodies) > MANY):
        return _rolled(mechanism, what)
    tape, arguments = trace(mechanism, what)
    if code is None and len(tape.online()) > LONG and len(mechanism.bodies) > 1:
        return _rolled(mechanism, what)
    return compile_tape(tape, arguments)


def _rolled(mechanism: Mechanism, what: str) -> Kernel:
    rolled, target = trace_rolled(mechanism, what), Target.host()
    width = target.lanes(0)
    while width > 2 and rolled.scratch(width) * 8 > NEAR:
        width //= 2
    return Kernel(rolled, width, target)
