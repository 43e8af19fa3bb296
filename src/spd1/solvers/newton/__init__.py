"""Newton's method with active sets, on the primal or on the dual."""
