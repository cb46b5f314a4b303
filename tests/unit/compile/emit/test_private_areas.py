"""Working memory as arrays of its own: parts of one family stay together, unknown parts stay whole."""

from __future__ import annotations

from momentree.compile.emit.private_areas import with_private_areas

TEXT = """define internal void @all(ptr %job, ptr %room) nounwind {
entry:
  %work = getelementptr double, ptr %room, i64 0
  %y = getelementptr double, ptr %room, i64 20
  %lanes = getelementptr double, ptr %room, i64 24
  %t = getelementptr double, ptr %lanes, i64 1
  %k0 = getelementptr double, ptr %work, i64 0
  %k1 = getelementptr double, ptr %work, i64 4
  %there = getelementptr double, ptr %work, i64 8
  %next = getelementptr double, ptr %work, i64 12
  br label %end
end:
  %later = getelementptr double, ptr %room, i64 3
  ret void
}
"""


def test_parts_become_arrays_and_stages_stay_together():
    text = with_private_areas(TEXT, "all", 30)
    assert "%k0 = alloca [8 x double]" in text
    assert "%k1 = getelementptr double, ptr %k0, i64 4" in text
    assert "%there = alloca [4 x double]" in text
    assert "%next = alloca [8 x double]" in text
    assert "%y = alloca [4 x double]" in text
    assert "%lanes = alloca [6 x double]" in text
    assert "%t = getelementptr double, ptr %lanes, i64 1" in text
    assert "%later = getelementptr double, ptr %room, i64 3" in text


def test_memory_with_unknown_parts_stays_whole():
    text = with_private_areas(TEXT.replace("%next", "%matrix"), "all", 30)
    assert "%work = alloca [20 x double]" in text
    assert "%there = getelementptr double, ptr %work, i64 8" in text
    assert "%y = alloca [4 x double]" in text
