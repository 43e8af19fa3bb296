"""
From a gap to the coefficients
==============================

A duality gap bounds the objective. With an l2 penalty it bounds the coefficients, too: ``|x - x*|
<= sqrt(2 gap / l2)``. :doc:`../howto/tolerance` derives it. Here it is drawn along a run, beside
the true distance, which the bound does not know.
"""

# %%
# A run that is watched
# ---------------------
# The optimum x* comes from a second run, proven to 1e-13. ``callback`` sees every evaluation; to
# see the points themselves, the run is made to stop at one tolerance after the other.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import spd1

X, target = load_breast_cancer(return_X_y=True)
X = scale(X)
b = np.where(target == 1, 1.0, -1.0)
l2 = 1e-2
problem = spd1.Problem(X, b, loss="logistic", reg=spd1.L2(l2))
best = spd1.solve(problem, tol=1e-13)

gaps, bounds, distances, sure = [], [], [], []
for tol in np.logspace(0, -9, 10):
    result = spd1.solve(problem, "svrg", tol=tol)
    radius = np.sqrt(2 * result.gap / l2)
    gaps.append(result.rel_gap)
    bounds.append(radius)
    distances.append(np.linalg.norm(result.x - best.x))
    sure.append(np.sum(np.abs(result.x) > radius))
    assert distances[-1] <= radius + np.sqrt(2 * best.gap / l2)

# %%
# The bound holds, and it is useful
# ---------------------------------
# A coefficient larger than the radius has a *proven* sign: no optimum within the radius has
# another. At the default ``tol`` of 1e-6 that settles nearly all of the thirty features.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained")
left.loglog(gaps, bounds, "o-", label="bound: sqrt(2 gap / l2)")
left.loglog(gaps, distances, "o-", label="true distance to x*")
left.set(xlabel="certified relative gap", ylabel="distance of coefficients")
left.legend()
right.semilogx(gaps, sure, "o-", color="tab:green")
right.set(xlabel="certified relative gap", ylabel="coefficients with a proven sign", ylim=(0, 31))
for axes in (left, right):
    axes.invert_xaxis()
    axes.axvline(1e-6, color="k", ls=":", lw=1)
    axes.grid(alpha=0.3)
plt.show()
