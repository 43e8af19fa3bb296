"""
Choosing the penalty: best, or simplest that is as good
=======================================================

Cross-validation scores a path of penalties. The best score belongs to one of them, by a margin that
is often smaller than its own error. The *one-standard-error rule* takes the strongest penalty whose
score is within one standard error of the best: fewer features, the same quality as far as the data
can tell.
"""

# %%
# 200 samples, 60 features, 5 that matter
# ---------------------------------------

import matplotlib.pyplot as plt
import numpy as np

from spd1.linear_model import ERMClassifierCV

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 60))
chance = 1 / (1 + np.exp(-(X[:, :5] @ [2.0, -1.5, 1.0, -1.0, 0.7])))
y = rng.random(200) < chance

options = {"l1_ratio": 1.0, "alphas": 30, "eps": 0.01, "cv": 10, "tol": 1e-6}
best = ERMClassifierCV("logistic", **options).fit(X, y)
simple = ERMClassifierCV("logistic", rule="one-se", **options).fit(X, y)
for name, model in (("best", best), ("one-se", simple)):
    kept = np.flatnonzero(model.coef_)
    print(f"{name:7} alpha {model.alpha_:.3g}: {len(kept):2d} features, gap {model.rel_gap_:.0e}")

# %%
# The curve behind the choice
# ---------------------------
# ``scores_`` has one row per fold: the mean loss of the samples left out, times -1.

loss = -best.scores_
mean = loss.mean(axis=0)
error = loss.std(axis=0, ddof=1) / np.sqrt(len(loss))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(best.alphas_, mean, error, fmt="o-", ms=4, lw=1, color="tab:blue", ecolor="0.7")
low = mean.argmin()
axes.axhline(
    mean[low] + error[low], color="0.5", ls="--", lw=1, label="one standard error above the best"
)
for model, name, colour in ((best, "best", "tab:green"), (simple, "one-se", "tab:red")):
    axes.axvline(
        model.alpha_,
        color=colour,
        ls=":",
        lw=1.5,
        label=f"{name}: {np.count_nonzero(model.coef_)} features",
    )
axes.set(xscale="log", xlabel="alpha", ylabel="loss of samples left out")
axes.legend()
plt.show()
