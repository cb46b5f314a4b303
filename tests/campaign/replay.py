"""python -m campaign.replay model.toml: compare a model that was made small with the oracle, and show differences."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(path: str) -> int:
    """Print what differs, the worst first."""
    import momentree as mt
    from campaign.compare import Result, compare
    from campaign.generator import Sample

    model = mt.load(path)
    said = model.start
    coordinates = {name: q if isinstance(q, tuple) else (q,) for name, q in said.guess.items()} if said else {}
    seed = int(model.name.rpartition(" ")[2])
    drawn = Sample(seed, model, coordinates, float(said.t) if said else 0.0, ())
    result = compare(drawn, Result(seed, bodies=len(model.bodies)), compiled=True)
    print(f"{path}: {result.verdict} ({result.at}) {result.reason}")
    for d in sorted(result.differences, key=lambda d: -d.relative / d.allowed)[:20]:
        print(f"  {d.what:<40} {d.relative:.2e}, allowed {d.allowed:.1e}")
    return 1 if result.verdict == "disagree" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
