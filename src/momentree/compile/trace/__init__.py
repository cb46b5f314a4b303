"""Tracing: equations recorded on a tape, differentiated, and laid out for loops over bodies."""
