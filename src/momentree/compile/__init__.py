"""From sweeps to machine code: a tape records the operations of any equation, once and without waste."""
