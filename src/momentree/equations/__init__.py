"""The mechanics: each formalism a few sweeps over the tree, on any scalar."""
