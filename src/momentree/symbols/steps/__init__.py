"""Derivations of equations of motion, step by step, as a lecturer writes them on the board."""
