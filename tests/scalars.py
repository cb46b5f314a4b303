"""One formula on every kind of scalar: floats are the measure for batches, symbols and expressions.

A formula takes a sequence of scalars and returns a list of scalars.
"""

from __future__ import annotations

import numpy as np
import sympy

from momentree.model.expressions.expression import Reference, as_expression, parse


def same_on_a_batch(formula, size, seed, span=2.0, atol=1e-11):
    """NumPy arrays as scalars give what a loop over their entries gives."""
    batch = np.random.default_rng(seed).uniform(-span, span, (size, 5))
    found = np.array([np.broadcast_to(entry, 5) for entry in formula(batch)])
    np.testing.assert_allclose(found.T, [formula(row.tolist()) for row in batch.T], rtol=0, atol=atol)


def on_symbols(formula, values, exact=True):
    """The values after putting numbers into the formula of SymPy symbols; in it no number has become a float."""
    symbols = sympy.symbols(f"s:{len(values)}", real=True)
    found = [sympy.sympify(entry) for entry in formula(symbols)]
    assert not (exact and any(entry.atoms(sympy.Float) for entry in found))
    return sympy.lambdify(symbols, found, "math")(*values)


def on_expressions(formula, values):
    """The values after putting numbers into the formula of model expressions."""
    names = [f"s{i}" for i in range(len(values))]
    found = [as_expression(entry) for entry in formula([parse(name) for name in names])]
    here = {Reference(name): value for name, value in zip(names, values, strict=True)}
    return [entry.evaluate(here) for entry in found]
