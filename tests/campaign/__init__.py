"""Random mechanisms against an oracle in maximal coordinates: `python -m campaign --n 1000` (docs/campaign.md)."""
