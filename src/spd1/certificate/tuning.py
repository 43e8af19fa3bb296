"""The tuned numbers of this room."""

from __future__ import annotations

MEND_ROUNDS = 20
MEND_LIMIT = 20_000_000  # entries of the unpenalised columns that mending may copy: 160 MB
BALANCED = 1e-13  # |sum| below this times the sum of absolute values counts as zero
ROUGHLY = 4  # golden sections that find the best point of a segment to within a tenth
SECTIONS = 10  # the same to within one per cent
