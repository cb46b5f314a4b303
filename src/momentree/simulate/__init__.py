"""Simulation: phases, events, latches, settings, blocks of samples, many motions at once."""
