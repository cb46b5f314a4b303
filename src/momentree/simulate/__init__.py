"""From a description to a motion: assembly of a start; states."""
