"""The tuned numbers of this room.

Set with ``benchmarks/paths.py`` and ``benchmarks/estimators.py``.
"""

from __future__ import annotations

PROVEN = 1e-6  # relative gap of a foreign model's certificate that needs no further work, ...
CERTIFY_LOOKS = 1000  # ... and looks at most when the problem is solved for a better bound

# Paths
PATH_ROUNDS = 6  # of adding columns that were left out wrongly
PATH_LOOKS = 200  # at one problem: a tol below rounding must not keep a path for ever
