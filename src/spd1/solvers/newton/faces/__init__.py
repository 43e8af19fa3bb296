"""The faces of a problem: what Newton's method minimises, one file each."""
