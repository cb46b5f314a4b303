"""Tables on symbols: functions without a formula, with derivatives and values."""

import pytest
import sympy as sp

from momentree.errors import ExpressionError
from momentree.model.tables import Table

CAM = Table("cam", [0, 1, 2, 3], [0, 1, 0, 2])
x, y = sp.symbols("x y", real=True)


def test_the_derivative_of_a_table_is_the_next_function():
    f = CAM(x * y)
    assert str(f.diff(x)) == "y*cam'(x*y)"
    assert f.diff(x, 2) == y**2 * CAM(x * y, 2)
    assert f == Table("cam", [0, 1, 2, 3], [0, 1, 0, 2])(y * x)
    assert f != Table("cam", [0, 1, 2, 3], [0, 1, 0, 1])(x * y)
    assert f.is_real


def test_symbols_of_tables_have_values():
    assert float(CAM(x).subs(x, 1.25).evalf()) == pytest.approx(CAM(1.25))
    assert sp.lambdify(x, CAM(x, 1) + x)(1.25) == pytest.approx(CAM(1.25, 1) + 1.25)


def test_a_slope_that_jumps_has_no_derivative():
    with pytest.raises(ExpressionError, match="no derivative of order 2"):
        Table("bent", [0, 1], [0, 1], "linear")(x).diff(x, 2)


def test_code_that_sympy_writes_has_nothing_of_the_name_of_a_table():
    table = Table("x); raise SystemExit; (", [0, 1, 2], [0, 1, 4])
    assert sp.lambdify(x, table(x))(1.5) == pytest.approx(2.25)
