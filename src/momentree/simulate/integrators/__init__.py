"""Integrators in machine code: explicit, implicit, structure-preserving."""
