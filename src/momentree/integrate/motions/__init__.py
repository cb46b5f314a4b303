"""Whole motions in machine code: several at a time in the lanes of a vector, or one in each thread of a GPU."""
