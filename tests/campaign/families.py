"""The families of mechanisms that a campaign may draw, by name."""

from __future__ import annotations

from campaign.compare import PLAIN, Family
from campaign.forms import CONSTRAINED

FAMILIES: dict[str, Family] = {"plain": PLAIN, "constrained": CONSTRAINED}
