"""Emitting: the backends of a tape, LLVM (straight-line and rolled), C and CasADi."""
