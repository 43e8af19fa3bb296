"""The tuned numbers of the loop."""

from __future__ import annotations

# Share of the gap that rounding in sums kept up to date can have moved it by and no product is made
# to confirm it; what looks cost is measured by ``benchmarks/certificates.py``.
HARMLESS = 0.01
LOOK_SECONDS = 2e-4  # a look and the epoch before it, beside what they read
FREE_SECONDS = 4e-10  # times rows and the square of columns without penalty: what proofs take
