"""Rules that propose step sizes; the loop decides what becomes of a proposal."""
