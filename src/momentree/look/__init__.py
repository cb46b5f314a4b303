"""Showing: tables, pictures."""
