"""Assembly of a start, integrators, events, and runs that are kept."""
