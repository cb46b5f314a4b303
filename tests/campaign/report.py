"""What a campaign came to: verdicts, features, the worst difference, refusals by reason."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from campaign.compare import TOLERANCE, Difference, Result, pattern

VERDICTS = ("agree", "disagree", "refused", "open")
REFUSED_AT_MOST = {"all": 0.03, "feature": 0.15}  # shares of what may be refused: refusing everything cannot pass
ENOUGH = 40  # mechanisms with a feature, before its share means something


def load(path: Path) -> list[Result]:
    """The results in a file, a line each; a line cut short by a kill is left out."""
    found = []
    for line in path.read_text().splitlines():
        try:
            fields: dict[str, Any] = json.loads(line)
        except json.JSONDecodeError:
            continue
        fields["differences"] = [Difference(**difference) for difference in fields["differences"]]
        found.append(Result(**{**fields, "features": tuple(fields["features"])}))
    return found


def line_of(result: Result) -> str:
    """A result for the file: of the differences only the worst, and those that count."""
    kept = [d for d in result.differences if d.counts or d is result.worst or d is result.widest]
    return json.dumps({**result.record(), "differences": [vars(d) for d in kept]})


def shares_refused(results: Iterable[Result]) -> dict[str, tuple[int, int]]:
    """By feature, and for "all": how many were refused, of how many."""
    refused, drawn = Counter[str](), Counter[str]()
    for result in results:
        for feature in ("all", *result.features):
            drawn[feature] += 1
            refused[feature] += result.verdict == "refused"
    return {feature: (refused[feature], drawn[feature]) for feature in drawn}


def too_many_refused(results: Iterable[Result]) -> list[str]:
    """What is refused more often than it may be, in words."""
    found = []
    for feature, (refused, drawn) in shares_refused(results).items():
        most = REFUSED_AT_MOST["all" if feature == "all" else "feature"]
        if drawn >= ENOUGH and refused > most * drawn:
            found.append(f"{feature}: {refused} of {drawn} refused, more than {most:.0%}")
    return found


def summary(results: list[Result]) -> str:
    """Everything in a page."""
    counts = Counter(result.verdict for result in results)
    lines = [f"{len(results)} mechanisms: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)]
    lines += [f"CPU time {sum(result.seconds for result in results):.0f} s", ""]
    lines += [f"{'feature':<28}{'drawn':>7}" + "".join(f"{verdict:>10}" for verdict in VERDICTS)]
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        for feature in result.features:
            table[feature][result.verdict] += 1
    for feature, row in sorted(table.items()):
        lines.append(f"{feature:<28}{row.total():>7}" + "".join(f"{row[verdict]:>10}" for verdict in VERDICTS))
    lines += ["", *_worst(results), *_reasons(results, "refused"), *_reasons(results, "open"), *_disagreements(results)]
    return "\n".join([*lines, *too_many_refused(results)])


def _worst(results: list[Result]) -> list[str]:
    """The largest difference that was judged by TOLERANCE alone, and by the conditioning."""
    found = []
    pairs = [(d, r.seed) for r in results for d in r.differences if not d.counts]
    for words, chosen in (
        (f"allowed {TOLERANCE:g}", [(d, s) for d, s in pairs if d.allowed <= TOLERANCE]),
        ("allowed more, by its conditioning", [(d, s) for d, s in pairs if TOLERANCE < d.allowed < 0.5]),
    ):
        if chosen:
            d, seed = max(chosen, key=lambda pair: pair[0].relative)
            text = f"{len(chosen)} of them; the largest {d.relative:.2e} of {d.allowed:.2e}, {d.what}, seed {seed}"
            found.append(f"agreeing, {words}: {text}")
    return found


def _reasons(results: list[Result], verdict: str) -> list[str]:
    by_reason: dict[str, list[int]] = defaultdict(list)
    for result in results:
        if result.verdict == verdict:
            by_reason[f"{result.at}: {pattern(result.reason)}"].append(result.seed)
    ordered = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    return [f"{verdict}, {len(seeds)}: {reason} (seed {seeds[0]})" for reason, seeds in ordered]


def _disagreements(results: list[Result]) -> list[str]:
    found = []
    for result in sorted((r for r in results if r.verdict == "disagree"), key=lambda r: (r.bodies, r.seed)):
        worst = result.worst
        off = f"{worst.what}: {worst.relative:.2e}, allowed {worst.allowed:.1e}" if worst and worst.counts else ""
        why = off or pattern(result.reason)
        found.append(f"DISAGREE seed {result.seed}, {result.bodies} bodies, {result.at}: {why}")
    return found
