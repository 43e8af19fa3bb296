"""All Numba ceremony, and what every kernel may call: elementary functions, random draws."""
