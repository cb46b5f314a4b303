"""What the machine code of right-hand sides keeps: values alive in straight-line code, numbers moved in rolled code.

    python benchmarks/live_values.py [--ptxas PATH]

Straight-line code is measured in its three orders (compile/emit/order.py). Rolled code: numbers of each body that stay
in memory between passes, and those that are read and written for it in one evaluation, apart from frames, which stay
in the nearest cache. With `ptxas`, of CUDA, the registers and the bytes spilled by a thread of a GPU of compute
capability 9.0.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from example_models import aligned_arm, humanoid, random_chain
from linkages import bennett, bricard, row_of_four_bars

import momentree as mt
from momentree.compile.emit.lanes import fused_products
from momentree.compile.emit.llvm import StraightLine
from momentree.compile.emit.order import arguments_of, fewest_alive, forwards, most_alive
from momentree.compile.emit.ptx import ptx_of, rows_kernel
from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.trace.right_hand_sides import right_hand_side_code
from momentree.compile.trace.tape import edges_of
from momentree.equations.formulations import FORMULATIONS

os.environ["MOMENTREE_TEXTS"] = "off"  # code is looked at here, not its text alone

EXAMPLES = Path(__file__).parents[1] / "examples"
CARD = "sm_90"


def example(name: str) -> mt.Model:
    return mt.load(EXAMPLES / name / "model.toml")


MODELS: dict[str, Callable[[], mt.Model]] = {
    "7-dof arm": aligned_arm,
    "7R": lambda: random_chain(7),
    "humanoid": humanoid,
    "four-bar": lambda: example("08_four_bar"),
    "Bennett": bennett,
    "Bricard": bricard,
    "walker": lambda: example("13_walking_mechanism"),
    "40 four-bars": lambda: row_of_four_bars(40),
    "chain of 300": lambda: random_chain(300),
}


def straight_line(code: StraightLine) -> list[str]:
    """Operations, and how many values are alive at a time in each order."""
    each = code._recorded.each_time()
    arguments = arguments_of(each.nodes, each.online, fused_products(each.nodes, each.online, each.outputs))
    alive = [most_alive(arguments, order(arguments)) for order in (list, forwards, fewest_alive)]
    return [str(len(each.online)), *map(str, alive)]


def rolled(code: Rolled) -> list[str]:
    """Per body: operations, numbers kept, and numbers read, written, and moved through frames or registers."""
    bodies = max(map(len, code.orders))
    operations = read = written = framed = 0
    for p, frames in zip(code.passes, code.storage.frames, strict=True):
        for group in p.groups:
            need, count = code.needs[group], len(group.bodies)
            operations += count * sum(bool(edges_of(group.tape.nodes[i])) for i in group.tape.live())
            reads = [need.key(name) for name in need.reads if name not in group.data and name not in group.arguments]
            stores = [(p.sweep, key) for key in (*need.own, *need.parents)]
            framed += count * sum(key in frames.places for key in (*reads, *stores))
            read += count * sum(key not in frames.places for key in reads)
            written += count * sum(key not in frames.places for key in stores)
    kept = sum(stride * (len(of) - 1) for stride, of in zip(code.storage.strides, code.parents, strict=True))
    return [f"{total / bodies:.0f}" for total in (operations, kept, read, written, framed)]


def spilled(code: StraightLine, ptxas: str) -> str:
    """Registers, stack and spilled bytes of a kernel that evaluates the code, a row in each thread."""
    text = code.without_vectors().text(1)
    ptx = ptx_of(rows_kernel(text, len(code.arrays), code.outputs, code.scratch(1)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.ptx"
        file.write_text(ptx, encoding="utf-8")
        words = [ptxas, f"-arch={CARD}", "-v", str(file), "-o", str(file.with_suffix(".cubin"))]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    (registers,) = re.findall(r"Used (\d+) registers", told)
    found = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", told)
    assert found is not None, told
    return f"{registers} registers; bytes: stack {found[1]}, stored {found[2]}, read {found[3]}"


def table(ptxas: str | None) -> Iterator[str]:
    codes = {
        name: right_hand_side_code(model().build().mechanism, FORMULATIONS["hamiltonian"], with_work=False)
        for name, model in MODELS.items()
    }
    yield "| straight-line | operations | alive, tape | forwards | fewest | GPU |\n|---|---|---|---|---|---|"
    for name, code in codes.items():
        if isinstance(code, StraightLine):
            yield f"| {name} | {' | '.join(straight_line(code))} | {spilled(code, ptxas) if ptxas else '–'} |"
    yield "\n| rolled, per body | operations | kept | read | written | handed on |\n|---|---|---|---|---|---|"
    for name, code in codes.items():
        if isinstance(code, Rolled):
            yield f"| {name} | {' | '.join(rolled(code))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="the assembler of CUDA")
    for line in table(parser.parse_args().ptxas):
        print(line, flush=True)


if __name__ == "__main__":
    main()
