"""Angles of many bodies in the lanes of one vector: their sines and cosines, before a loop of rolled code.

One body after the other, each would take as long as those of a whole vector. So where a single row is computed, a loop
of its own brings the angles of a group together that follow from the arguments and the tables alone, several bodies at
a time, and stores sines and cosines behind the frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from momentree.compile.emit.angles import Angles, angles_at_hand
from momentree.compile.emit.lanes import Lanes, Rows, Writer, fused_products
from momentree.compile.emit.llvm_functions import Lines
from momentree.compile.emit.number_tables import INVARIANT
from momentree.compile.emit.rolled_storage import Need
from momentree.compile.emit.rolled_tables import integer_table
from momentree.compile.trace.rolled_groups import Group
from momentree.compile.trace.tape import edges_of

if TYPE_CHECKING:
    from momentree.compile.emit.rolled_tables import BodyTables


class GroupAngles(NamedTuple):
    """The angles of the bodies of a group, and where their sines and cosines are.

    | field  | meaning                                                                        |
    |--------|--------------------------------------------------------------------------------|
    | angles | on the tape of the group                                                       |
    | base   | where in memory the sines of the first angle begin, body after body            |
    | room   | numbers of each: as many as bodies, filled up to whole vectors                 |
    """

    angles: Angles
    base: int
    room: int

    def at(self, edge: int, cosine: bool) -> int:
        """Where the sines or the cosines of an angle begin."""
        return self.base + (2 * self.angles.edges.index(edge) + cosine) * self.room

    @property
    def size(self) -> int:
        """Of all of them."""
        return 2 * len(self.angles.edges) * self.room


def angles_of_groups(
    groups: Sequence[Group], needs: dict[Group, Need], base: int, lanes: int
) -> dict[Group, GroupAngles]:
    """Of groups with as many bodies as lanes, at least; their memory begins at `base`."""
    found: dict[Group, GroupAngles] = {}
    for group in groups:
        if len(group.bodies) < lanes or not needs[group].stores():
            continue
        nodes, live, tables = group.tape.nodes, group.tape.live(), {*group.data, *group.arguments}
        known = {i for i in live if nodes[i][0] == "number" or (nodes[i][0] == "input" and nodes[i][1] in tables)}
        angles = angles_at_hand(nodes, live, live, known.__contains__)
        if angles.edges:
            found[group] = GroupAngles(angles, base, -(-len(group.bodies) // lanes) * lanes)
            base += found[group].size
    return found


class AnglesLoop:
    """The loop over the bodies of a group: `constants` of the module, and `text` from the label `name` on."""

    def __init__(
        self, rows: Rows | Lanes, columns: dict[str, tuple[int, int]], group: Group, own: GroupAngles,
        tables: BodyTables, lanes: int,
    ):  # fmt: skip
        self._rows, self._columns, self._group, self._tables = rows, columns, group, tables
        self.name, self.lanes = f"{tables.name}.angles{group.number}", lanes
        at = tables.rows_of(group)
        self.constants = [integer_table(f"{self.name}.rows", [*at, *[at[-1]] * (own.room - len(at))])]
        self._lines = Lines(lanes, f"{self.name}.")
        self._starts = [self._row_of_lane(lane) for lane in range(lanes)]
        nodes, live = group.tape.nodes, group.tape.live()
        operations = [index for index in live if edges_of(nodes[index])]
        fused = fused_products(nodes, operations, group.tape.output_edges())
        writer = Writer(self._lines, nodes, self._leaf, rows.numbers, fused)
        for index in operations:
            if index in own.angles.before:
                writer.operate(index)
        for edge in own.angles.edges:
            for cosine, value in enumerate(self._lines.sine_and_cosine(writer.value(edge))):
                self._store(value, own.at(edge, bool(cosine)))
        self.functions = writer.functions | {("sincos", lanes)}

    def text(self, room: int, block: str) -> str:
        """The whole loop, reached from a block; it ends under the label `name`.done."""
        name = self.name
        return f"""  br label %{name}
{name}:
  %{name}.i = phi i64 [ 0, %{block} ], [ %{name}.next, %{name} ]
{self._lines}
  %{name}.next = add i64 %{name}.i, {self.lanes}
  %{name}.more = icmp slt i64 %{name}.next, {room}
  br i1 %{name}.more, label %{name}, label %{name}.done
{name}.done:"""

    def _row_of_lane(self, lane: int) -> tuple[str, str]:
        """Where the integers and the numbers of the body in a lane begin."""
        let, tables = self._lines.let, self._tables
        first = let(f"getelementptr i32, ptr @{self.name}.rows, i64 %{self.name}.i")
        row = let(f"load i32, ptr {let(f'getelementptr i32, ptr {first}, i64 {lane}')}, align 4")
        row = let(f"sext i32 {row} to i64")
        starts = []
        for kind, table, stride in (("i32", "integers", tables.integers), ("double", "numbers", tables.numbers)):
            begin = let(f"mul i64 {row}, {stride}")
            starts.append(let(f"getelementptr {kind}, ptr @{tables.name}.{table}, i64 {begin}"))
        return starts[0], starts[1]

    def _leaf(self, index: int) -> str:
        """An argument or a constant of each body, in its lane."""
        name, group, lines, found = self._group.tape.nodes[index][1], self._group, self._lines, []
        for lane, (integers, numbers) in enumerate(self._starts):
            scalar = Lines(1, f"{self.name}.{index}.{lane}.")
            if name in group.arguments:
                at = scalar.let(f"getelementptr i32, ptr {integers}, i64 {self._tables.integer(group, name)}")
                column = scalar.let(f"sext i32 {scalar.let(f'load i32, ptr {at}, align 4')} to i64")
                found.append(self._rows.load(scalar, self._columns[group.arguments[name][0]][0], column))
            else:
                at = scalar.let(f"getelementptr double, ptr {numbers}, i64 {self._tables.number(group, name)}")
                found.append(scalar.let(f"load double, ptr {at}, align 8, {INVARIANT}"))
            lines.do(str(scalar).strip())
        return lines.of_lanes(found)

    def _store(self, value: str, at: int) -> None:
        let = self._lines.let
        start = let(f"getelementptr double, ptr %scratch, i64 {at}")
        to = let(f"getelementptr double, ptr {start}, i64 %{self.name}.i")
        self._lines.do(f"store {self._lines.type} {value}, ptr {to}, align 8")
