"""Structure-preserving integrators: symplectic, reversible, loops closed within the step (RATTLE)."""
