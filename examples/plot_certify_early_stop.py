"""
Certify scikit-learn's early stop
=================================

``ConvergenceWarning: lbfgs failed to converge``. Does it matter? The warning does not say.
:func:`spd1.certify` does: it takes a fitted model of scikit-learn and bounds how far it is from the
optimum of its own objective. Nothing is fitted again.
"""

# %%
# A fit that stops early
# ----------------------
# Features are left in their units on purpose: that is what makes lbfgs slow.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import spd1

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

early = LogisticRegression()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    early.fit(X, y)
print(f"stopped after {early.n_iter_[0]} iterations, accuracy {early.score(X_test, y_test):.3f}")
print(spd1.certify(early, X, y))

# %%
# How far from the optimum, iteration by iteration
# ------------------------------------------------
# The exact answer is known here: spd1 proves it to 1e-10. So one can see what a gap means for the
# predicted probabilities of patients that no fit has seen.

exact = spd1.linear_model.LogisticRegression(tol=1e-10).fit(X, y)
limits = [5, 10, 20, 50, 100, 200, 500, 1000, 3000]
gaps, errors, accuracies = [], [], []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for limit in limits:
        model = LogisticRegression(max_iter=limit, tol=1e-8).fit(X, y)
        gaps.append(spd1.certify(model, X, y).rel_gap)
        change = model.predict_proba(X_test) - exact.predict_proba(X_test)
        errors.append(np.abs(change).max())
        accuracies.append(model.score(X_test, y_test))

for row in zip(limits, gaps, errors, accuracies, strict=True):
    print(
        "max_iter {:5d}: gap {:.1e}, probabilities off by up to {:.3f}, accuracy {:.3f}".format(
            *row
        )
    )

# %%
# What to read off
# ----------------
# At scikit-learn's default of 100 iterations (dotted) more than a tenth of the objective is left
# to gain, and some patients' probabilities are far off. Ten times as many iterations change
# little. Accuracy hardly moves: it is a blunt measure of convergence. Whether an early stop
# matters depends on what you use; the gap tells how much room there is. (Scaling the features
# first, as one should, lets lbfgs converge in a few dozen iterations.)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained")
left.loglog(limits, gaps, "o-", color="tab:blue")
left.set(xlabel="max_iter", ylabel="certified relative gap", title="what is left to gain")
right.loglog(limits, errors, "o-", color="tab:red")
right.set(
    xlabel="max_iter", ylabel="largest error of a probability", title="what it does to patients"
)
for axes in (left, right):
    axes.axvline(100, color="k", ls=":", lw=1)
    axes.grid(alpha=0.3)
plt.show()
