"""Reduction of large angles: the bits of 2/pi, and the double that is nearest to a multiple of pi/2."""

import mpmath
import numpy as np
import pytest

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.emit.llvm_far_angles import HALF_PI, WORDS, two_over_pi
from momentree.compile.execute.kernel import WIDTHS
from momentree.compile.trace.tape import Tape
from momentree.spatial import scalar


def test_bits_of_two_over_pi():
    with mpmath.workprec(64 * WORDS + 100):
        digits = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** (64 * (WORDS - 1))))
    assert two_over_pi() == [digits >> (64 * (WORDS - 1 - i)) & (2**64 - 1) for i in range(WORDS)]
    with mpmath.workprec(200):
        assert abs(mpmath.pi / 2 - sum(map(mpmath.mpf, HALF_PI))) < mpmath.mpf(2) ** -107


@pytest.mark.parametrize("width", WIDTHS)
def test_the_hardest_double_and_its_neighbors_among_usual_angles(width):
    # J.-M. Muller et al., Handbook of Floating-Point Arithmetic (2018), 10.2: no double is nearer to a multiple of pi/2
    hardest = 6381956970095103.0 * 2.0**797
    tape = Tape()
    (x,) = tape.inputs("x")
    tape.outputs([scalar.sin(x), scalar.cos(x), scalar.tan(x)])
    kernel = compile_tape(tape, [("x", ["x"])], width)
    angles = np.array(
        [0.3, hardest, -hardest, np.nextafter(hardest, 0), 1e22, 1e6, np.nextafter(1e6, 2e6), 2.0**1023, -2]
    )
    found = kernel([angles[:, None]])
    assert found[1, 1] == -4.687165924254627611122582801963884e-19
    assert found[2, 1] == -4.687165924254627611122582801963884e-19
    assert found[4, 0] == -0.8522008497671888017727  # W. Kahan: sin 1e22 tells who reduces well
    with mpmath.workprec(1300):
        for x, row in zip(angles, found, strict=True):
            for value, exact in zip(row, (mpmath.sin(x), mpmath.cos(x), mpmath.tan(x)), strict=True):
                assert abs(value - exact) < 0.8 * np.spacing(abs(float(exact)))
