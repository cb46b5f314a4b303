"""Integrators in machine code: one Method record each; tableaux, explicit, implicit and symplectic steps."""
