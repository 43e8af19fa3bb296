"""The tuned numbers of the interior-point method."""

from __future__ import annotations

import numpy as np

STEP_UNIT = float(np.finfo(float).eps)

LARGEST_SYSTEM = 3000  # unknowns of its linear systems
USUAL_STEPS = 20  # for its price
STEP_SHARE = 0.995  # of the way to the nearest bound
LEAST_PIVOT = 1e-5  # of a Cholesky factor of unit diagonal: below, orthogonal factors are taken
REFINED = 1e-12  # relative residual at which a step counts as exact
ROUNDED_PIVOT = 4e-15  # of an orthogonal factor: the least that it can tell from zero
MOST_REFINEMENTS = 12
UNPROMISING = 30  # steps without a better gap after which it has come to its end
DAMPED = 1e-14  # of the diagonal, added to factors: columns may be dependent
MOST_HALVINGS = 20  # of a step, in its line search
NOT_AHEAD = 0.1  # of the gap: products of losses that are no quadratics do not fall below it
ORTHOGONAL = 3.0  # times n^2 (n + d): multiplications of orthogonal factors by rows, for the price
READINGS_A_STEP = 12.0  # of the data, for its price: on few rows they cost more than factors
FLOP_SECONDS = 5e-11  # of a multiplication and addition in its products and factors
STEP_SECONDS = 2e-4  # of a step, however small
BLOCKED = 0.1  # a step shorter than this share says that products differ too much, ...
RECENTRED = 0.8  # ... and the next one aims at this share of their mean
DEAR_PROOF = 1e7  # rows times the square of columns without penalty: proofs cost as much as steps
NEAR_PROOF = 1e3  # times tol: products that leave more need no proof
FIRST_PRODUCT = 100.0  # times the objective: 1 stood still on rows of very different length
MOST_STARTS = 3  # where columns have bounds: a start near them may be far too near
FARTHER = 1e6  # times the distance of the start before
NO_PRODUCT = 1e-12  # times the floor of the gap: smaller products change nothing any more
MANY_COLUMNS = 300  # with a penalty, from which on a step takes the matrix of the rows, ...
MOST_IN_BORDER = 8  # ... with so many columns without penalty as its border
