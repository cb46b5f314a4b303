"""Results: runs with their diagnostics, the files they are kept in, checkpoints, and the recorder that writes them."""
