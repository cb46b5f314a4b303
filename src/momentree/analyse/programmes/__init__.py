"""Programmes: checks, decay rates and their proofs, step sizes, admissible dissipation, control."""
