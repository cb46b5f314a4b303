"""Rosenbrock methods: linearly implicit Runge-Kutta methods for stiff systems, without Newton's iteration."""
