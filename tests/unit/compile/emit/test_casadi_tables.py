"""Tables in CasADi: the numbers of the tape, and CasADi's own derivatives of them."""

import numpy as np
import pytest

from momentree.compile.emit.casadi import to_casadi
from momentree.compile.trace.tape import Tape
from momentree.errors import MomentreeError
from momentree.model.tables import Table

casadi = pytest.importorskip("casadi")
X = np.cumsum(np.random.default_rng(4).uniform(0.1, 1, 9))


@pytest.mark.parametrize("options", [{}, {"outside": "constant"}, {"outside": "linear"}, {"periodic": True}])
def test_numbers_and_derivatives(options):
    y = np.cos(X)
    y[-1] = y[0]
    tape, table = Tape(), Table("cam", X, y, **options)
    tape.outputs([table(tape.input("x"))])
    function = to_casadi(tape)
    x = casadi.SX.sym("x")
    slope = casadi.Function("slope", [x], [casadi.jacobian(function(x), x), casadi.hessian(function(x), x)[0]])
    for at in (*X, X[0] - 1, X[-1] + 1, 2.0):
        first, second = (float(part) for part in slope(at))
        near = {"rtol": 1e-13, "atol": 1e-12, "equal_nan": True}
        np.testing.assert_allclose(float(function(at)), tape.evaluate({"x": float(at)})[0], **near)
        np.testing.assert_allclose([first, second], [table(np.array([at]), k)[0] for k in (1, 2)], **near)


def test_too_many_knots_are_refused():
    tape, x = Tape(), np.arange(20_000)
    tape.outputs([Table("cam", x, x**0.5)(tape.input("x"))])
    with pytest.raises(MomentreeError, match="table 'cam' has 20000 knots, and CasADi takes a node for each"):
        to_casadi(tape)
