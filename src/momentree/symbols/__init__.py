"""Equations as a person reads them: the same formulas on SymPy scalars, simplified, named and written."""
