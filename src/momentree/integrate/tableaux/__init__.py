"""Explicit Runge-Kutta methods, one file each: its coefficients as a Tableau, and its record METHOD."""
