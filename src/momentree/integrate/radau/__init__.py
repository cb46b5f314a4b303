"""Radau IIA of order 5: the implicit Runge-Kutta method for stiff systems."""
