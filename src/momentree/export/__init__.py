"""Export to other programs: whole steps in C99, functional mock-up units (FMU)."""
