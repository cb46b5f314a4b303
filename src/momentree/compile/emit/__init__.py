"""Emitting: a tape as text of LLVM, of C, or as a function of CasADi."""
