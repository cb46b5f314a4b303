"""Words of the command line that name values: NAME=VALUE, for coordinates, velocities, parameters and inputs."""

from __future__ import annotations

from typing import Any

from momentree.errors import ExpressionError
from momentree.files.input_csv import read_input_csv
from momentree.simulate.inputs import INTERPOLATIONS, signal

Numbers = dict[str, float | list[float]]


def named_numbers(entries: list[str] | None, option: str) -> Numbers:
    """ "A=1.0", "A=30*deg" and "hull=0,0,1" by name."""
    import typer

    values: Numbers = {}
    for entry in entries or ():
        name, _, text = entry.rpartition("=")
        numbers = [_number(number) for number in text.split(",")]
        if not name or None in numbers:
            raise typer.BadParameter(f"{option} {entry}: write NAME=VALUE, such as A=1.0, A=30*deg or hull=0,0,1.")
        if name.strip() in values:
            raise typer.BadParameter(f"{option} {entry}: {name.strip()} is given twice.")
        values[name.strip()] = numbers[0] if len(numbers) == 1 else numbers  # type: ignore[assignment]
    return values


def named_inputs(entries: list[str] | None) -> dict[str, Any]:
    """ "u=3.0", "u=2*sin(t) - 3*A'", "u=torque.csv" and "u=torque.csv,cubic,continue" by name."""
    import typer

    values: dict[str, Any] = {}
    for entry in entries or ():
        name, _, text = entry.partition("=")
        name = name.strip()
        if not name or not text.strip():
            raise typer.BadParameter(f"--input {entry}: write NAME=VALUE, such as u=3.0, u=2*sin(t) or u=torque.csv.")
        if name in values:
            raise typer.BadParameter(f"--input {entry}: {name} is given twice.")
        file, *words = text.split(",")
        if not file.strip().lower().endswith(".csv"):
            number = _number(text)
            values[name] = text if number is None else number
            continue
        for word in words:
            if word not in (*INTERPOLATIONS, "continue"):
                known = ", ".join([*INTERPOLATIONS, "continue"])
                raise typer.BadParameter(f"--input {entry}: what may follow the file is {known}.")
        how = [word for word in words if word != "continue"] or ["linear"]
        values[name] = signal(*read_input_csv(file.strip(), name), how[-1], "hold" if "continue" in words else "error")
    return values


def _number(text: str) -> float | None:
    """A number, or an expression of numbers; None if it is neither."""
    from momentree.model.expressions import parse

    try:
        return float(text)
    except ValueError:
        pass
    try:
        return parse(text).value
    except ExpressionError:
        return None
