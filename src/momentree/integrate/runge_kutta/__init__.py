"""Machine code that Runge-Kutta methods share: stages, error norm, step-size control, projection, records."""
