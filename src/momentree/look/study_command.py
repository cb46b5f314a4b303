"""`momentree study`: the sweep that a file describes, run or continued, and what is printed of its results."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

if TYPE_CHECKING:
    from momentree.analyse.studies.study import Study

MOST_REASONS = 5  # that are listed
LONGEST = 100  # letters of a reason that are shown
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w])")
StudyFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A model file with a [study], or a study file.", show_default=False)
]
Store = Annotated[
    Path | None, typer.Option("--path", help="The Zarr store for the results; FILE-study.zarr if unsaid.")
]
Device = Annotated[str, typer.Option("--device", help="cpu (default) or gpu.")]
Threads = Annotated[int | None, typer.Option("--threads", help="How many cores; all if not given.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Compute on this Dask cluster: tcp://host:8786.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable object.")]


def study_command(
    how_to_load: Mapping[str, Any], warning: Callable[[], AbstractContextManager[None]]
) -> Callable[..., None]:
    """The command; `how_to_load` are the options of `load` when it runs, `warning` prints warnings."""

    def study(
        file: StudyFile,
        path: Store = None,
        device: Device = "cpu",
        threads: Threads = None,
        scheduler: Scheduler = None,
        as_json: Json = False,
    ) -> None:
        """Compute the sweep that a file describes (docs/studies.md); the same command goes on where it was stopped."""
        from momentree.analyse.studies.study import study as new_study
        from momentree.analyse.studies.study_files import read_study

        with warning():
            model, said = read_study(file, how_to_load)
            said["path"] = path or said.get("path") or Path(f"{file.stem}-study.zarr")
            client = _client(scheduler) if scheduler else None
            made = new_study(model, device=device, threads=threads, client=client, **said)
            try:
                made.run()
            except KeyboardInterrupt:
                print(f"interrupted; {_so_far(made)}. The same command goes on from there.", file=sys.stderr)
                raise typer.Exit(130) from None
        print(json.dumps(study_data(made), indent=2) if as_json else study_summary(made), flush=True)

    return study


def _client(address: str) -> Any:
    from momentree.analyse.studies.cluster import client_of

    return client_of(address)


def _so_far(study: Study) -> str:
    if study.path is None or not Path(study.path).exists():
        return "nothing was computed yet"
    return f"{study.done:,} of {len(study):,} motions are in {study.path}"


def study_data(study: Study) -> dict[str, Any]:
    """What is said of a study, as a plain object."""
    results = study.results
    outputs: dict[str, Any] = {}
    for output in study.description.outputs:
        values = results[output.name].values
        good = values[np.isfinite(values)]
        numbers = {"min": good.min(), "mean": good.mean(), "max": good.max()} if good.size else {}
        plain = {key: float(x) for key, x in numbers.items()}
        outputs[output.name] = {**plain, "undefined": int(values.size - good.size), "units": output.attributes["units"]}
    reasons = Counter(str(reason) for reason in results["reason"].values.ravel() if reason)
    return {
        "name": study.system.name,
        "path": str(study.path),
        "motions": len(study),
        "computed": study.done,
        "failed": study.failed,
        "outputs": outputs,
        "reasons": dict(reasons.most_common()),
    }


def study_summary(study: Study) -> str:
    """The same to read."""
    data = study_data(study)
    width = max(len(name) for name in data["outputs"])
    lines = [str(study), "", f"  {'':{width}}  {'min':>12}  {'mean':>12}  {'max':>12}"]
    for name, one in data["outputs"].items():
        numbers = "  ".join(f"{one[key]:12.6g}" if key in one else f"{'-':>12}" for key in ("min", "mean", "max"))
        undefined = f"  ({one['undefined']:,} undefined)" if one["undefined"] else ""
        lines.append(f"  {name:{width}}  {numbers}  {one['units']}{undefined}".rstrip())
    reasons = _alike(data["reasons"])
    if reasons:
        lines += ["", "  failed because"]
        lines += [f"  {count:6,} x {_one_line(reason)}" for reason, count in reasons[:MOST_REASONS]]
        more = sum(count for _, count in reasons[MOST_REASONS:])
        lines += [f"  {more:6,} x other reasons: `reason` in the results"] if more else []
    return "\n".join(lines)


def _alike(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """Reasons that differ only in their numbers as one, with the numbers of the first; the most frequent come first."""
    first, counts = dict[str, str](), Counter[str]()
    for reason, count in reasons.items():
        pattern = NUMBER.sub("#", reason)
        counts[first.setdefault(pattern, reason)] += count
    several = Counter(NUMBER.sub("#", reason) for reason in reasons)
    return [
        (f"{reason} (for one of them)" if several[NUMBER.sub("#", reason)] > 1 else reason, count)
        for reason, count in counts.most_common()
    ]


def _one_line(text: str) -> str:
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."
