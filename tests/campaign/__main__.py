"""python -m campaign --n 1000 --seed 0 --jobs 2 --shrink: compare random mechanisms with the oracle, and say how."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices, and one process for each core


def main(arguments: list[str] | None = None) -> int:
    """The exit status is 1 where something disagrees or too much is refused."""
    asked = _parser().parse_args(arguments)
    from campaign.compare import EVERY_METHOD
    from campaign.crew import campaign
    from campaign.report import load, summary, too_many_refused

    seeds = range(asked.seed, asked.seed + asked.n)
    named = "laws-" * asked.laws + f"{asked.family}-" * (asked.family != "plain")
    path = Path(asked.out or f"build/campaign/{named}{asked.seed}-{asked.n}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    if asked.fresh:
        path.unlink(missing_ok=True)
    print(f"seeds {seeds.start} to {seeds.stop - 1}, results in {path}", flush=True)
    campaign(seeds, path, asked.jobs, asked.runs, asked.family, asked.laws)
    results = sorted((r for r in load(path) if r.seed in seeds), key=lambda r: r.seed)
    print(summary(results))
    wrong = [result.seed for result in results if result.verdict == "disagree"]
    by_oracle = asked.family == "plain" and not asked.laws
    if asked.shrink and by_oracle:
        from campaign.shrink import shrink

        moved = {result.seed for result in results if result.at.startswith("run")}
        for seed in wrong[: asked.most]:
            shrink(seed, path.parent, EVERY_METHOD if seed in moved else ())
    elif wrong and by_oracle:
        print(f"to make one small: python -m campaign --n 1 --seed {wrong[0]} --shrink")
    return 1 if wrong or too_many_refused(results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="how many mechanisms")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--family", default="plain", choices=("plain", "constrained"), help="see docs/campaign.md")
    parser.add_argument("--laws", action="store_true", help="compare each with itself after changes, by no oracle")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--runs", type=int, default=20, help="one in so many also runs by every method; 0: none")
    parser.add_argument("--out", help="file of results, a line each; what is in it already is not computed again")
    parser.add_argument("--fresh", action="store_true", help="start that file again")
    parser.add_argument("--shrink", action="store_true", help="make disagreeing models small, into files beside it")
    parser.add_argument("--most", type=int, default=10, help="how many of them")
    return parser


if __name__ == "__main__":
    sys.exit(main())
