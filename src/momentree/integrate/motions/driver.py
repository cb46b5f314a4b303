"""What the machine code of whole motions has in common, whatever the method: lanes, samples, ends.

A method writes its step in columns and says, in masks, which lanes accept it:

    start lanes -> `take`: lanes take motions -> `begin`: what a motion begins with -> `step`: a try of all lanes
      ^                                                                                  |
      +------- some lane has ended ------------- samples that are due, the new state <---+
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from momentree.compile.emit.lanes import LanesCode
from momentree.integrate.columns import Value
from momentree.integrate.dense_output import fraction, polynomial
from momentree.integrate.motions.job import CONTROL, GOING_ON, Lane, Slot
from momentree.integrate.motions.next_code import NextCode
from momentree.integrate.motions.sample_code import SampleCode, Sampling
from momentree.integrate.motions.stall_code import StallCode
from momentree.integrate.records import Status
from momentree.integrate.tableau import Interpolant


class Shape(NamedTuple):
    """What the code of motions is written for.

    | field      | meaning                                                          |
    |------------|------------------------------------------------------------------|
    | width      | W, motions in the lanes                                          |
    | parameters | how many there are                                               |
    | columns    | of y                                                             |
    | memory     | columns of the method behind t and h of the lanes, zero at first |
    | work       | numbers of working memory of the method                          |
    | scratch    | numbers of memory that the codes need                            |
    """

    width: int
    parameters: int
    columns: int
    memory: int
    work: int
    scratch: int


def areas(shape: Shape, sampling: Sampling, more: Mapping[str, int]) -> dict[str, int]:
    """The parts of the working memory of motions_W, and how many numbers each has."""
    W, n = shape.width, sampling.nq + sampling.nv
    sizes = {
        "work": shape.work,
        "y": shape.columns * W,
        "parameters": shape.parameters * W,
        "lanes": (Lane.H + 1 + shape.memory) * W,
        "start": sampling.nv * W,
        "sample": n * W,
        "sample.time": W,
        "sample.work": sampling.work(W),
        **more,
        "scratch": shape.scratch,
    }
    return {name: -(-size // 8) * 8 for name, size in sizes.items()}


class MotionsCode(StallCode):
    """Mixed into the code of a step, which then writes `motions_W`."""

    shape: Shape
    sampling: Sampling
    more: Mapping[str, int] = {}

    def text(self) -> str:
        """The function motions_W."""
        raise NotImplementedError

    @property
    def room(self) -> int:
        """Numbers of working memory of a call."""
        return sum(areas(self.shape, self.sampling, self.more).values())

    def functions_text(self) -> list[str]:
        """The functions that motions_W calls besides the codes."""
        numbers = self.sampling.nq + self.sampling.nv
        shape = self.shape
        following = NextCode(self.width, numbers, shape.columns, shape.memory, shape.parameters)
        return [following.text(), SampleCode(self.sampling, self.width, shape.parameters > 0).text()]

    def _motions_function(self) -> str:
        arguments = "ptr %job, i64 %motions.begin, i64 %motions.end, i64 %motions.step, ptr %room"
        return f"define void @motions_{self.width}({arguments}) nounwind {{\nentry:\n{self.lines}\n}}"

    # --- lanes ---

    def _name_areas(self) -> None:
        start = 0
        for name, size in areas(self.shape, self.sampling, self.more).items():
            self.do(f"%{name} = getelementptr double, ptr %room, i64 {start}")
            start += size
        self.do(f"%times = getelementptr double, ptr %lanes, i64 {Lane.T * self.width}")
        self.do(f"%floor = load ptr, ptr {self.offset('%job', int(Slot.FLOOR))}")
        self._name_control()

    def _name_control(self) -> None:
        """What all lanes share."""
        self.do(f"%control = getelementptr double, ptr %job, i64 {int(CONTROL)}")

    def _start_lanes(self) -> None:
        """Lanes without a motion; then they take theirs, here and whenever one has ended."""
        W = self.width
        with self.loop(W) as lane:
            motion = self.let(f"add i64 {lane}, {Lane.MOTION * W}")
            self.do(f"store i64 -1, ptr {self.offset('%lanes', motion)}")
        for what, value in ((Lane.RUNNING, 0.0), (Lane.FRESH, 0.0), (Lane.STATUS, GOING_ON)):
            self._put_column(self.column.number(value), "%lanes", what)
        self.put_integer("%motions.begin", "%lanes", Lane.NEXT * W)
        self._at_label("take")
        arguments = (
            "ptr %job, ptr %lanes, ptr %y, ptr %parameters, i64 %motions.begin, i64 %motions.end, i64 %motions.step"
        )
        self._branch(self.let(f"call i1 @next_{W}({arguments})"), "begin", "return")
        self.label("return")
        self.do("ret void")
        self.label("begin")

    def _lane(self, what: Lane) -> str:
        return self._column("%lanes", what)

    def _put_lane(self, value: str, what: Lane, where: str = "") -> None:
        """A value in all lanes, or where a condition holds."""
        value = self.column.choose(where, value, self._lane(what)) if where else value
        self._put_column(value, "%lanes", what)

    def _choose_into(self, where: str, value: str, array: str, k: int = 0) -> None:
        self._put_column(self.column.choose(where, value, self._column(array, k)), array, k)

    def _is_running(self) -> str:
        return self._holds(self._lane(Lane.RUNNING))

    def _is_fresh(self) -> str:
        return self._holds(self._lane(Lane.FRESH))

    def _find_momenta(self) -> None:
        """Momenta of lanes that begin, from their velocities."""
        if self.sampling.start is not None and self.sampling.nv:
            self._put_column(self._lane(Lane.T), "%time")
            parameters = "ptr %parameters, " if self.shape.parameters else ""
            self.do(f"call void @start_{self.width}(ptr %y, ptr %time, {parameters}ptr %start, ptr %scratch)")
            momenta = self.offset("%y", self.sampling.nq * self.width)
            self._take(self._is_fresh(), "%start", momenta, self.sampling.nv)

    def _begun(self) -> None:
        """The first sample of lanes that begin; then they are as all others."""
        self._copy_sample("%y")
        self._put_lane(self._mask(self._both(self._is_fresh(), self._is_running())), Lane.DUE_NOW)
        self._put_column(self._lane(Lane.T), "%sample.time")
        self._sample()
        self._put_lane(self.column.number(0.0), Lane.FRESH)

    def _end_where(self, where: str, status: str) -> None:
        """A status in lanes that are going on."""
        going = self.column.compare("oeq", self._lane(Lane.STATUS), self.column.number(GOING_ON))
        self._put_lane(status, Lane.STATUS, self._both(where, going))

    def _arrive_where(self, where: str) -> None:
        self._end_where(where, self.column.number(float(Status.ARRIVED)))

    def _continue(self) -> None:
        """To `take` where some lane has ended, else to the next `step`."""
        ended = self.column.compare("une", self._lane(Lane.STATUS), self.column.number(GOING_ON))
        self._branch(self._any(self._both(ended, self._is_running())), "take", "step")

    # --- samples ---

    def _copy_sample(self, array: str) -> None:
        """A state to be sampled."""
        if self.sampling.nq + self.sampling.nv:
            with self.loop(self.sampling.nq + self.sampling.nv) as i:
                self._put_column(self._column(array, i), "%sample", i)

    def _sample(self) -> None:
        """Write %sample of the lanes that are due, as that of %sample.time."""
        arrays = ("job", "lanes", "sample", "sample.time", "parameters", "sample.work", "scratch")
        self.do(f"call void @sample_{self.width}({', '.join(f'ptr %{name}' for name in arrays)})")

    def _find_due(self, accepted: str) -> str:
        """The time of each lane's next sample in %sample.time; whether it is due in any of the accepted ones.

        The step ends at %t.new.
        """
        self._put_times()
        due = self.column.compare("ole", self._column("%sample.time"), self._column("%t.new"))
        due = self._both(due, accepted)
        self._put_lane(self._mask(due), Lane.DUE_NOW)
        return self._any(due)

    def _put_times(self) -> None:
        """The time of each lane's next sample, infinite behind the last."""
        k = self.integer("%job", Slot.SAMPLES)
        times = self.let(f"load ptr, ptr {self.offset('%job', int(Slot.TIMES))}")
        first = self.offset("%lanes", Lane.DUE * self.width)
        with self.loop(self.width) as lane:
            due = self.let(f"load i64, ptr {self.offset(first, lane)}")
            some = self.let(f"icmp slt i64 {due}, {k}")
            index = self.let(f"select i1 {some}, i64 {due}, i64 0")
            time = self.let(f"load double, ptr {self.offset(times, index)}")
            time = self.let(f"select i1 {some}, double {time}, double 0x7FF0000000000000")
            self.do(f"store double {time}, ptr {self.offset('%sample.time', lane)}")

    def _interpolate(self, interpolant: Interpolant, h: str, end: str, stages: str, size: int, first: str) -> None:
        """%sample by dense output, from `first` to `end` of the step; stages are `size` numbers apart."""

        def value(name: str) -> Value:
            return Value(self.column, name)

        x = fraction(value(self._column("%t.new")), value(h), value(self._column("%sample.time")))
        if self.sampling.nq + self.sampling.nv:
            with self.loop(self.sampling.nq + self.sampling.nv) as i:
                y0, y1 = (value(self._column(array, i)) for array in (first, end))
                y = polynomial(
                    interpolant, x, value(h), y0, y1, lambda k: value(self._column(self.offset(stages, k * size), i))
                )
                self._put_column(y.name, "%sample", i)
        self._make_quaternions_unit("%sample", len(self.sampling.quaternions))

    def _sample_recorded(self, accepted: str, is_last: str, state: str) -> None:
        """Samples of a fixed step size: after EACH steps, and at the end; states are those of the steps themselves.

        Where steps end a round-off early, and a tiny one follows, that one has the last sample.
        """
        W, k, each = self.width, self.integer("%job", Slot.SAMPLES), self.integer("%job", Slot.EACH)
        final = self.let(f"sub i64 {k}, 1")
        self._put_lane(self._mask(accepted), Lane.DUE_NOW)
        self._put_column(self._mask(is_last), "%at.end")
        with self._each_lane("%lanes", Lane.DUE_NOW) as lane:
            steps, due, now = (
                self.offset(self.offset("%lanes", what * W), lane) for what in (Lane.ACCEPTED, Lane.DUE, Lane.DUE_NOW)
            )
            count = self.let(f"fptosi double {self.let(f'load double, ptr {steps}')} to i64")
            rest = self.let(f"srem i64 {self.let(f'add i64 {count}, 1')}, {each}")
            index = self.let(f"load i64, ptr {due}")
            full = self.let(
                f"and i1 {self.let(f'icmp eq i64 {rest}, 0')}, {self.let(f'icmp slt i64 {index}, {final}')}"
            )
            held = self.let(f"load double, ptr {self.offset('%at.end', lane)}")
            ending = self.let(f"fcmp une double {held}, 0.0")
            self.do(f"store i64 {self.let(f'select i1 {ending}, i64 {final}, i64 {index}')}, ptr {due}")
            held = self.let(f"uitofp i1 {self.let(f'or i1 {full}, {ending}')} to double")
            self.do(f"store double {held}, ptr {now}")
        with self.when(self._any(self._holds(self._lane(Lane.DUE_NOW)))):
            self._put_times()
            self._copy_sample(state)
            self._sample()


def codes_of_motions(
    codes: Mapping[str, LanesCode], width: int, vectors: bool
) -> tuple[list[str], set[tuple[str, int]]]:
    """The texts of all codes by their names, and what they call; without `vectors` where one motion is computed."""
    texts, functions = list[str](), set[tuple[str, int]]()
    for name, code in codes.items():
        without = None if vectors or width > 1 else getattr(code, "without_vectors", None)
        written, called = (without() if without else code).lanes(width, name)
        texts += written
        functions |= called
    return texts, functions
