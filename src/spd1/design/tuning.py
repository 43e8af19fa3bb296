"""The tuned numbers of this room.

Those of intercepts were set with ``benchmarks/estimators.py``, those of Huber's scale on the cases
of tests/design and the same benchmark.
"""

from __future__ import annotations

# Intercepts
LEANING = ("rows", "few-rows")  # methods that want l2 > 0 on every column
LEAN = 0.7  # of the gap asked for, that the penalised problem is solved to
SHARE = 0.1  # of the length of a row that the intercept's column adds: sweeps dislike more
FAR_SHARE = 0.3  # the same where the intercept will be large: ...
# The same of sparse data, whose rows are visited one by one: text of ``benchmarks/estimators.py``
# took 10 to 19 ms at 0.5, and 9 to 29 at 0.25, 9 to 22 at 1, 14 to 57 at 2 (to 1e-3 and 1e-6)
CENTRED_SHARE = 0.5
EVEN = 0.1  # ... one class has so much more weight than the other, ...
FAR = 0.5  # ... or the mean of the targets is so many standard deviations from zero
FAINT = 1e-5  # the smallest tol for which the penalty is faint enough
HANDFUL = 32  # columns of tall data: Newton's steps at once (at 20 columns 0.5 to 1.0 of the time)
SAMPLED_ROWS = 64  # rows that tell the length of a row

# Least squares from sums of products, without a centred copy (``tall.py``)
LEAST_DEVIATION = 1e-4  # of a column's square: what is left beside its mean, at least
SHARP_TOL = 1e-9  # the smallest tol: beyond, digits that sums have lost might show
FEWEST_READINGS = 12.0  # passes that a run may take: who allows fewer wants to see an early end
LOOSE_TOL = 1e-5  # the largest tol that the small model is solved for
