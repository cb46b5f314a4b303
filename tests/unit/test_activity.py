"""The line that tells what long work is doing: on a real pseudo-terminal, in pipes, at exceptions and at Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import momentree
from momentree import activity as shown
from momentree.activity import SILENCE, _current, _cut, activity, showing

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")
TESTS = Path(__file__).parents[1]
SOURCE = Path(momentree.__file__).parents[1]
SETUP = """
import sys, time
import momentree as mt
from momentree import activity as shown
from momentree.activity import activity, showing
shown.PATIENCE, shown.OFTEN = 0.0, 0.005
begin, tell, seen = shown._Line.begin, shown.Activity.tell, []

def begin_slowly(line, phase):  # so that each phase lasts long enough to be seen
    begin(line, phase)
    time.sleep(0.05)

def tell_slowly(phase, *news):  # and the first news of it too
    tell(phase, *news)
    if phase._line is not shown.SILENCE and phase not in seen:
        seen.append(phase)
        time.sleep(0.05)

shown._Line.begin, shown.Activity.tell = begin_slowly, tell_slowly
m = mt.Model("lever")
m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.5, length=0.7)))
"""


def started(code: str, stderr: int, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    whole = SETUP + textwrap.dedent(code)
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, TESTS))),
        "MOMENTREE_CACHE": "off",
        "TERM": "xterm",
        **environment,
    }
    return subprocess.Popen(
        [sys.executable, "-c", whole, *arguments], stdout=subprocess.PIPE, stderr=stderr, env=variables
    )


def on_terminal(code: str, *arguments: str, interrupt_at: str = "", **environment: str) -> tuple[list[str], str, int]:
    """What stands on the line, one after the other; what is left on the screen at the end; and the exit status."""
    master, slave = pty.openpty()
    process = started(code, slave, *arguments, **environment)
    os.close(slave)
    written = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        written += part
        if interrupt_at and interrupt_at.encode() in written:
            interrupt_at = ""
            process.send_signal(signal.SIGINT)
        if not part:
            break
    os.close(master)
    process.communicate()
    lines = [line.rstrip() for line in written.decode().split("\r") if line.strip()]
    return lines, screen(written.decode()), process.returncode


def screen(text: str) -> str:
    """What a terminal shows after a text: a carriage return goes back, and signs replace what stood there."""
    rows, column = [[]], 0
    for c in text:
        if c == "\n":
            rows, column = [*rows, []], 0
        elif c == "\r":
            column = 0
        else:
            assert c.isprintable()
            rows[-1][column : column + 1] = c
            column += 1
    return "\n".join("".join(row).rstrip() for row in rows).strip()


def phases(lines: list[str], *wanted: str) -> list[str]:
    """The wanted words in the order in which lines have them first."""
    first = {words: i for words in wanted for i, line in reversed([*enumerate(lines)]) if words in line}
    return sorted(first, key=lambda words: first[words])


RUN = """
system = m.build()
start = system.assemble({"A": 1.0})
run = system.simulate(start, t_end=5.0, rtol=1e-13)
"""


def test_a_terminal_shows_the_phases_in_order_and_is_clean_at_the_end():
    lines, left, status = on_terminal(RUN)
    wanted = ("compiling the equations of 'lever': tracing", "generating machine code", "simulating 'lever': t = ")
    assert phases(lines, *wanted) == list(wanted)
    assert any(line.startswith("[") and "of 5 s, closure error 0.0e" in line for line in lines)
    assert (left, status) == ("", 0)


@pytest.mark.long
def test_many_states_and_motions_comparisons_and_quantities_tell_what_they_do():
    lines, left, status = on_terminal(
        """
        import numpy as np
        system = m.build()
        system.forward_dynamics(np.zeros(1), np.zeros(1))
        starts = system.assemble_many({"A": np.linspace(0, 1, 5000)})
        system.simulate_many(starts, t_end=0.1, every=0.05)
        mt.compare(system, system.assemble({"A": 1.0}), t_end=0.1, integrator="rk4", step=0.05)
        """
    )
    wanted = ("compiling forward_dynamics of 'lever'", "assembling 5000 states of 'lever'")
    wanted += ("simulating 5000 motions of 'lever'", "comparing: lagrange, none (2 of")
    assert phases(lines, *wanted) == list(wanted)
    assert (left, status) == ("", 0)


@pytest.mark.long
def test_a_proof_tells_its_bound_and_its_boxes():
    lines, left, status = on_terminal(
        """
        from programme_cart import ONCE_AROUND, cart
        cart().certify(ONCE_AROUND, prove=True)
        """
    )
    assert status == 0
    assert any("proving a decay rate: " in line and "boxes of at most" in line for line in lines)
    assert left == ""


@pytest.mark.parametrize(
    ("code", "environment"),
    [
        (RUN.replace("rtol", "progress=False, rtol"), {}),
        (RUN, {"MOMENTREE_PROGRESS": "off"}),
        pytest.param(RUN.replace("rtol", "progress=lambda t, closure_error: None, rtol"), {}, marks=pytest.mark.long),
        pytest.param(RUN, {"TERM": "dumb"}, marks=pytest.mark.long),
        pytest.param("shown.PATIENCE = 100.0\n" + RUN, {}, marks=pytest.mark.long),
    ],
)
@pytest.mark.repeats(1)
def test_nothing_is_shown_where_it_is_switched_off_or_over_soon(code, environment):
    code = code.replace("start = ", "with showing(False): start = ")  # it is the run that is looked at
    assert on_terminal(code, **environment) == ([], "", 0)


def test_a_pipe_shows_nothing():
    process = started(RUN, subprocess.PIPE)
    assert process.communicate() == (b"", b"")


def test_an_exception_leaves_a_clean_line_before_its_traceback():
    code = """
    with activity("digging", "a hole") as phase:
        time.sleep(0.1)
        raise ValueError("a stone")
    """
    lines, left, status = on_terminal(code)
    assert any(line.startswith("digging 'a hole' ... 0 s") for line in lines)
    assert left.startswith("Traceback")
    assert left.endswith("ValueError: a stone")
    assert "digging 'a hole' ..." not in left
    assert status == 1


@pytest.mark.long
def test_an_interrupt_leaves_a_clean_line():
    waiting = """
    try:
        with activity("digging"):
            time.sleep(60)
    except KeyboardInterrupt:
        pass
    """
    assert on_terminal(waiting, interrupt_at="digging")[1:] == ("", 0)
    _, left, status = on_terminal(RUN.replace("5.0", "1e5, every=10"), interrupt_at="simulating 'lever': t =")
    assert left.startswith("<string>:")
    assert "RunWarning: lever: the simulation was interrupted at" in left
    assert "simulating" not in left
    assert status == 0


def test_names_cannot_move_the_cursor_and_wide_signs_take_two_columns():
    name = "\x1b[2J\r\n" + "x" * 10_000
    text = activity("assembling", name).text
    assert text.isprintable()
    assert len(text) < 60
    assert _cut("日本語", 5) == ("日本", 4)
    assert _cut("e\u0301te", 2) == ("e\u0301t", 2)


def test_lines_are_cut_to_the_terminal():
    lines, left, _ = on_terminal("with activity('x' * 500):\n    time.sleep(0.1)")
    assert lines
    assert {*map(len, lines)} == {79}
    assert left == ""


def test_one_call_at_a_time_has_the_terminal_and_nothing_outlives_it(monkeypatch):
    class Terminal:
        encoding = "utf-8"

        def isatty(self):
            return True

        def write(self, text):
            written.append(text)

        def flush(self):
            pass

    written: list[str] = []
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(shown, "PATIENCE", 0.0)
    monkeypatch.setattr(shown, "OFTEN", 0.005)
    monkeypatch.setenv("TERM", "xterm")
    before = threading.active_count()

    def elsewhere():
        with activity("elsewhere"):
            time.sleep(0.03)

    with activity("here"):
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
        with showing(False), activity("hidden") as phase:
            assert not phase.due
    assert any("here" in text for text in written)
    assert not any("elsewhere" in text or "hidden" in text for text in written)
    assert _current.get() is None
    assert threading.active_count() == before
    elsewhere()
    assert any("elsewhere" in text for text in written)


def test_it_costs_nearly_nothing_where_nobody_looks():
    began = time.perf_counter()
    for _ in range(1000):
        with activity("counting", "sheep") as phase:
            assert not phase.due
    assert time.perf_counter() - began < 0.2  # 200 us each, a hundred times what it takes
    assert _current.get() is None
    assert SILENCE.seen() is False
