"""Emitting: the backends of a tape, LLVM (straight-line and rolled), C, CasADi; machine code for JAX."""
