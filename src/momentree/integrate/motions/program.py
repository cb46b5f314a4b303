"""The program of whole motions: the LLVM text of motions_W and its sizes, for the processor and for GPUs alike."""

from __future__ import annotations

from typing import NamedTuple

from momentree.integrate.stepper import Array


class MotionsProgram(NamedTuple):
    """What computes whole motions: see job.py.

    | field      | meaning                                                                             |
    |------------|-------------------------------------------------------------------------------------|
    | text       | the LLVM module that defines motions_W; where W = 1 there are no vectors in it      |
    | width      | W                                                                                   |
    | nq, nv     | numbers of coordinates and of velocities                                            |
    | parameters | how many free parameters there are                                                  |
    | work       | numbers of working memory of a call, aligned to 64 bytes                            |
    | floors     | what the slot FLOOR points to where there is an atol; and where there is none       |
    """

    text: str
    width: int
    nq: int
    nv: int
    parameters: int
    work: int
    floors: tuple[Array, Array]
