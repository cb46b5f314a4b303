"""Execution: machine code as callables on arrays; input checks, fast calls, the cache on disk, threads."""
