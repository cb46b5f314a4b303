"""Closed loops: constraint rows, their residuals, and their elimination on the inward pass, on any scalar."""
