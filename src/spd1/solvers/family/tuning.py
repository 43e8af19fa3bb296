"""The tuned numbers of this folder."""

from __future__ import annotations

MOST_ITERATIONS_A_LOOK = 8  # of whole-matrix methods on small data: a look costs as much as a few
SAFE_NORM = 1.02  # power iteration finds norms from below, by a per cent or two
SPDHG_GAMMA = 0.99  # of the theory: the choice of its authors
KNOWN_RATIO, UNKNOWN_RATIO = 2.0, 8.0  # leeway of eta and tau: both sides strongly convex, or not
SADDLE_MIX = 0.5  # saga-saddle: share of uniform draws, so that every line is visited
VALUES_A_BREATH = 2e6  # of y and of lines that methods on a row and a column touch, or at least ...
STEPS_A_BREATH = 64  # ... so many steps, between two looks at Ctrl-C
MOST_TRIALS = 30  # of one step: pdlp, extragradient
TRIED_ENOUGH = 0.95  # extragradient: how far gradients may move, the point having moved by one
SHORTEN, LENGTHEN = 0.9, 1.2  # its steps, after a trial that was too long, or not
