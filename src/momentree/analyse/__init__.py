"""What a mechanism is like: mobility, redundant rows."""
