"""Assembly: initial conditions that close every loop, on a chosen branch; constraint Jacobians and states in floats."""
