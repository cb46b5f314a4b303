"""The order of operations: any in which arguments come before results gives the same bits, but not the same speed.

A value is alive from the operation that gives it to the last one that takes it; what does not fit into registers is
stored and read again. Inputs are not counted: they can be read again at any time.

| order          | next comes, of the operations that may                      | for                             |
|----------------|-------------------------------------------------------------|---------------------------------|
| `forwards`     | the one that ends the most values, else the first on tape   | processors, which start several |
|                |                                                             | at a time                       |
| `in_time`      | of those whose arguments are known by then, the one for     | loops whose bodies wait for     |
|                | which the next body waits longest                           | what the one before hands on    |
| `fewest_alive` | from the end: the one that needs the fewest further values; | GPUs, where a thread has few    |
|                | or another order if that is better                          | registers                       |
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from momentree.compile.trace.tape import Node, edges_of

REGISTERS = 20  # of 32: more values alive would be stored and read again
PER_CYCLE = 2  # operations
LATENCIES = {"+": 3, "*": 3, "reciprocal": 13}  # cycles of today's processors; of all others OTHER
FUSED, OTHER = 4, 20

Arguments = Mapping[int, tuple[int, ...]]  # of each operation: the operations whose results it takes


def arguments_of(
    nodes: Sequence[Node], written: Sequence[int], fused: Collection[int], given: Collection[int] = ()
) -> dict[int, tuple[int, ...]]:
    """What each written operation takes of the others, and of what is given.

    A product that is written with a sum is part of the sum.
    """
    operations = {index for index in written if index not in fused}
    arguments: dict[int, tuple[int, ...]] = {}
    for index in written:
        if index in operations:
            taken: dict[int, None] = {}
            for edge in edges_of(nodes[index]):
                one = abs(edge)
                taken.update(dict.fromkeys(map(abs, edges_of(nodes[one])) if one in fused else (one,)))
            arguments[index] = tuple(one for one in taken if one in operations or one in given)
    return arguments


def cycles_of(nodes: Sequence[Node], index: int, fused: Collection[int]) -> int:
    """How long it takes until the result of an operation can be used."""
    op = nodes[index][0]
    if op == "+" and any(abs(edge) in fused for edge in edges_of(nodes[index])):
        return FUSED
    return LATENCIES.get(op, OTHER)


def forwards(arguments: Arguments) -> list[int]:
    """From the first operation to the last: that which ends the most values comes first."""
    users = _users(arguments)
    waits = {index: len(taken) for index, taken in arguments.items()}
    uses = {index: len(takers) for index, takers in users.items()}
    place = {index: i for i, index in enumerate(arguments)}
    ready = _Ready(lambda index: ((uses[index] > 0) - sum(uses[one] == 1 for one in arguments[index]), place[index]))
    ready.add_all(index for index, count in waits.items() if not count)
    order: list[int] = []
    for index in ready:
        order.append(index)
        for one in arguments[index]:
            uses[one] -= 1
            if uses[one] == 1:  # its last taker ends it
                ready.revise(users[one])
        for taker in users[index]:
            waits[taker] -= 1
        ready.add_all(taker for taker in users[index] if not waits[taker])
    return order


def fewest_alive(arguments: Arguments) -> list[int]:
    """The one of several orders in which the fewest values are alive at a time."""
    backwards = [_backwards(arguments, latest_taken) for latest_taken in (False, True)]
    orders = [list(arguments), *backwards]
    # each with its values ended as early as may be
    orders += [forwards({index: arguments[index] for index in order}) for order in orders]
    return min(orders, key=lambda order: most_alive(arguments, order))


def _backwards(arguments: Arguments, latest_taken: bool) -> list[int]:
    """From the last operation to the first: what needs the fewest further values; of these the last on the tape.

    `latest_taken`: of these, instead, the one that became possible last.
    """
    users = _users(arguments)
    uses = {index: len(takers) for index, takers in users.items()}
    rank = {index: -i for i, index in enumerate(arguments)}
    alive: set[int] = set()
    ready = _Ready(lambda index: (sum(one not in alive for one in arguments[index]), rank[index]))
    order: list[int] = []
    ready.add_all(index for index, count in uses.items() if not count)
    for index in ready:
        order.append(index)
        for one in arguments[index]:
            uses[one] -= 1
            if one not in alive:
                alive.add(one)
                ready.revise(users[one])
            if not uses[one]:
                rank[one] = -len(order) if latest_taken else rank[one]
                ready.add(one)
    return order[::-1]


def in_time(
    arguments: Arguments, cycles: Mapping[int, int], given: Mapping[int, int], wanted: Collection[int]
) -> list[int]:
    """As a processor of two operations per cycle would begin them, were it to do first what `wanted` ones need longest.

    `cycles` are the latencies of operations; what is `given` is no operation but alive from the beginning, and known
    after so many cycles. What is wanted stays alive. When REGISTERS values are alive, what ends the most comes first.
    """
    users = _users(arguments, given)
    uses = {index: len(takers) + (index in wanted) for index, takers in users.items()}
    rest = _cycles_until(wanted, arguments, users, cycles)
    known = dict(given)
    waits = {index: sum(one not in given for one in taken) for index, taken in arguments.items()}
    coming: list[tuple[int, int]] = []
    ready: list[int] = []
    order: list[int] = []
    alive, cycle = len(given), 0

    def announce(index: int) -> None:
        if not waits[index]:
            heapq.heappush(coming, (max((known[one] for one in arguments[index]), default=0), index))

    def ended(index: int) -> int:
        return sum(uses[one] == 1 for one in arguments[index]) - (uses[index] > 0)

    for index in arguments:
        announce(index)
    while len(order) < len(arguments):
        while coming and coming[0][0] <= cycle:
            ready.append(heapq.heappop(coming)[1])
        for _ in range(min(PER_CYCLE, len(ready))):
            full = alive >= REGISTERS
            index = max(ready, key=lambda index: (ended(index) if full else 0, rest[index], -index))
            ready.remove(index)
            order.append(index)
            alive -= ended(index)
            known[index] = cycle + cycles[index]
            for one in arguments[index]:
                uses[one] -= 1
            for taker in users[index]:
                waits[taker] -= 1
                announce(taker)
        cycle += 1
    return order


def _cycles_until(
    wanted: Collection[int], arguments: Arguments, users: Mapping[int, Sequence[int]], cycles: Mapping[int, int]
) -> dict[int, int]:
    """Of each operation, from its beginning until the last one is known that is wanted and waits for it; else 0."""
    rest: dict[int, int] = {}
    for index in reversed([*arguments]):
        after = max((rest[taker] for taker in users[index]), default=0)
        rest[index] = after + cycles[index] if after or index in wanted else 0
    return rest


def most_alive(arguments: Arguments, order: Sequence[int]) -> int:
    """How many values are alive at the same time, at most."""
    last = {index: i for i, index in enumerate(order)}
    for i, index in enumerate(order):
        last |= dict.fromkeys(arguments[index], i)
    ends = [0] * len(order)
    for i in last.values():
        ends[i] += 1
    most = alive = 0
    for ended in ends:
        alive += 1
        most = max(most, alive)
        alive -= ended
    return most


def _users(arguments: Arguments, given: Iterable[int] = ()) -> dict[int, list[int]]:
    """By whom the result of each operation is taken, and what is given."""
    users: dict[int, list[int]] = {index: [] for index in (*arguments, *given)}
    for index, taken in arguments.items():
        for one in taken:
            users[one].append(index)
    return users


class _Ready:
    """Operations that may come next, the one of the lowest cost first; costs may fall while they wait."""

    def __init__(self, cost: Callable[[int], tuple[int, int]]):
        self._cost, self._heap, self._waiting = cost, list[tuple[tuple[int, int], int]](), set[int]()

    def __iter__(self) -> Iterator[int]:
        """Until none is left; meanwhile others may be added."""
        while self._heap:
            index = heapq.heappop(self._heap)[1]
            if index in self._waiting:
                self._waiting.remove(index)
                yield index

    def add(self, index: int) -> None:
        self._waiting.add(index)
        heapq.heappush(self._heap, (self._cost(index), index))

    def add_all(self, indices: Iterable[int]) -> None:
        for index in indices:
            self.add(index)

    def revise(self, indices: Iterable[int]) -> None:
        """Costs of these may have fallen."""
        for index in indices:
            if index in self._waiting:
                heapq.heappush(self._heap, (self._cost(index), index))
