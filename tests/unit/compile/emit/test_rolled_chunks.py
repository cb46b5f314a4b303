"""How bodies are divided into chunks: alike, of one level, parents first, and side by side where they can be."""

import pytest

from momentree.compile.emit.rolled_chunks import ALIGNED, ONE, SINGLE, Chunk
from momentree.compile.trace.quantities import trace_rolled
from rolled_systems import SIDE_BY_SIDE, SYSTEMS, brush, chain, four_bars_side_by_side, legs

EVERY_SYSTEM = SYSTEMS | SIDE_BY_SIDE


def depths(order, parents):
    depth = {0: 0}
    for body in order:
        depth[body] = depth[parents[body]] + 1
    return depth


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("name", EVERY_SYSTEM)
def test_every_body_has_a_lane_among_like_ones_behind_its_parent(name, lanes):
    code = trace_rolled(EVERY_SYSTEM[name]().mechanism, "forward_dynamics")
    layout = code.layout(lanes)
    for sweep, (order, parents) in enumerate(zip(code.orders, code.parents, strict=True)):
        depth, chunks = depths(order, parents), layout.chunks[sweep]
        assert sorted(body for chunk in chunks[1:] for body in chunk.bodies) == sorted(order)
        for at, chunk in enumerate(chunks[1:], 1):
            assert len({depth[body] for body in chunk.bodies}) == 1
            for p in (p for p in code.passes if p.sweep == sweep):
                assert sum(not {*group.bodies}.isdisjoint(chunk.bodies) for group in p.groups) == 1
            of = [parents[body] for body in chunk.bodies]
            assert all(layout.places[sweep][parent][0] < at for parent in of)
            assert not any(of) or len({*of}) in (1, len(of))
            assert all(chunk.lanes[layout.places[sweep][body][1]] == body for body in chunk.bodies)


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("name", EVERY_SYSTEM)
def test_siblings_keep_their_order(name, lanes):
    code = trace_rolled(EVERY_SYSTEM[name]().mechanism, "forward_dynamics")
    layout = code.layout(lanes)
    for sweep in {p.sweep for p in code.passes if p.inward}:
        parents, places = code.parents[sweep], layout.places[sweep]
        for parent in {*parents} - {0}:
            children = [places[body] for body in code.orders[sweep] if parents[body] == parent]
            assert children == sorted(children)


def test_no_two_places_are_one():
    code = trace_rolled(four_bars_side_by_side(5).mechanism, "forward_dynamics")
    layout = code.layout(4)
    bodies = [(sweep, body) for sweep, places in enumerate(layout.places) for body in places if body]
    places = {layout.at(s, body) + k * 4 for s, body in bodies for k in range(layout.storage.strides[s])}
    assert len(places) == sum(layout.storage.strides[s] for s, _ in bodies)
    assert max(places) < layout.nowhere < layout.size


def test_equal_legs_keep_their_lanes():
    code = trace_rolled(legs(8, 6).mechanism, "forward_dynamics")
    layout, parents = code.layout(8), code.parents[0]
    modes = [layout.mode(chunk, 0, [parents[body] for body in chunk.bodies]) for chunk in layout.chunks[0][1:]]
    assert modes.count(SINGLE) == 2  # the hull, and the leg that adds to it first
    assert modes.count(ONE) == 1
    assert modes.count(ALIGNED) == 4


def test_pendulums_of_one_slider_share_its_number():
    code = trace_rolled(brush(40).mechanism, "forward_dynamics")
    layout, parents = code.layout(4), code.parents[0]
    modes = [layout.mode(chunk, 0, [parents[body] for body in chunk.bodies]) for chunk in layout.chunks[0][1:]]
    assert modes.count(ONE) == 10
    assert {*modes} == {SINGLE, ONE}


def test_a_chain_has_a_chunk_for_each_body():
    layout = trace_rolled(chain(20).mechanism, "forward_dynamics").layout(4)
    assert len(layout.chunks[0]) == 21


def test_lanes_without_a_body_repeat_the_first():
    chunk = Chunk(0, (-1, 3, -1, 5))
    assert chunk.bodies == [3, 5]
    assert chunk.filled == [3, 3, 3, 5]
    assert chunk.mask == 0b1010
    assert not chunk.full
