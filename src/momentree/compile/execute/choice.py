"""Which code is made: straight-line for systems of few bodies, rolled for those of many.

Straight-line code of few bodies runs faster, but the time that LLVM takes to make it grows faster than its length.
Where bodies are alike it runs slower, too, from some thousand operations on. Rolled code takes about as long to make
for any number of bodies.
"""

from __future__ import annotations

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.execute.traced_texts import remembered
from momentree.compile.trace.quantities import trace, trace_rolled
from momentree.compile.trace.tape import Tape
from momentree.structure.mechanism import Mechanism

MANY = 40  # bodies: above, nobody waits for straight-line code, and it is not even traced
LONG = 16_000  # operations: above, LLVM takes more than a second or two
LONG_FOR_ALIKE = 5000  # operations: above, rolled code is not only made but runs faster where bodies are alike
FEW_ZEROS = 330  # operations of a body: from there on, straight-line code spares little by what it knows of each


def kernel_of(
    mechanism: Mechanism, what: str, code: str | None = None, varied: bool = False, target: Target | None = None
) -> Kernel:
    """The machine code of a quantity; `code` is "straight-line" or "rolled"; None: chosen by size.

    Free parameters are the same for all rows of a call, or `varied` from row to row. Without a target,
    it is this processor.
    """
    target = target or Target.host()
    if is_rolled(mechanism, code):
        return _rolled(mechanism, what, varied, target)
    tape, arguments = trace(mechanism, what, varied)
    if is_rolled(mechanism, code, tape):
        return _rolled(mechanism, what, varied, target)
    return compile_tape(tape, arguments, target=target)


def is_rolled(mechanism: Mechanism, code: str | None, tape: Tape | None = None) -> bool:
    """Whether code is rolled: as asked for, or by the number of bodies and, once it is traced, of operations."""
    if code is not None:
        return code == "rolled"
    if is_too_long(mechanism, tape):
        return True
    if tape is None or mechanism.constrained or (operations := len(tape.online())) <= LONG_FOR_ALIKE:
        return False
    return _is_chain(mechanism) or operations >= FEW_ZEROS * len(mechanism.bodies)


def is_too_long(mechanism: Mechanism, tape: Tape | None = None) -> bool:
    """Whether straight-line code would take too long to make; a tape that is not given does not count."""
    if len(mechanism.bodies) > MANY:
        return True
    return tape is not None and len(tape) > LONG and len(tape.online()) > LONG and len(mechanism.bodies) > 1


def _is_chain(mechanism: Mechanism) -> bool:
    """Whether each body hangs on the one before, so that loops hand on numbers in registers."""
    return all(body.parent == body.number - 1 for body in mechanism.bodies)


def _rolled(mechanism: Mechanism, what: str, varied: bool, target: Target) -> Kernel:
    code = remembered((mechanism, what, varied), lambda: trace_rolled(mechanism, what, varied))
    return Kernel(code, target.lanes(0), target)
