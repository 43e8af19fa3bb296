"""
Few patients, many genes: a whole path, every point proven
==========================================================

Gene expression data is wide: here 100 patients and 2,000 genes. The lasso picks a few genes, and
how many depends on its penalty ``alpha``. So one looks at a whole *path* of them.

:func:`spd1.linear_model.path` solves the lasso at every alpha, from the strongest penalty down.
Each solution comes with its own proof: a relative duality gap of at most ``tol``.
"""

# %%
# Made-up patients
# ----------------
# Genes move in 50 groups, as genes on a pathway do. Ten genes really act on the response.

import matplotlib.pyplot as plt
import numpy as np

from spd1.linear_model import LassoCV, path

rng = np.random.default_rng(1)
n, d = 100, 2000
groups = rng.normal(size=(n, 50))
X = 0.6 * groups[:, rng.integers(0, 50, d)] + rng.normal(size=(n, d))
effect = np.zeros(d)
effect[rng.choice(d, 10, replace=False)] = rng.choice([-1.0, 1.0], 10)
y = X @ effect + rng.normal(size=n)

# %%
# The path, and the alpha that cross-validation picks
# ---------------------------------------------------
# ``screened`` counts the genes that never had to be looked at: the proof covers them all the same.

found = path(X, y, n_alphas=60, eps=0.02, tol=1e-6)
chosen = LassoCV(alphas=found.alphas, tol=1e-6).fit(X, y)

kept = chosen.coef_ != 0
print(f"largest relative gap on the path: {found.rel_gaps.max():.1e}")
print(f"genes never looked at, median over the path: {np.median(found.screened):.0f} of {d}")
print(f"alpha by cross-validation: {chosen.alpha_:.3g}, with {kept.sum()} genes")
print(f"of the 10 genes that act, {np.sum(kept & (effect != 0))} are among them")

# %%
# What the picture says
# ---------------------
# The genes that act (red) enter first and stay large. The chosen alpha (dotted) lets many small
# false ones in: cross-validation aims at predictions, not at the list of genes. The lower panel has
# the proof: no point of the path is further from its optimum than the dashed line allows.

figure, (top, bottom) = plt.subplots(
    2, 1, sharex=True, figsize=(7, 5.5), height_ratios=(3, 1), layout="constrained"
)
top.plot(found.alphas, found.coefs[:, effect == 0], color="0.8", lw=0.7)
top.plot(found.alphas, found.coefs[:, effect != 0], color="tab:red", lw=1.5)
top.axvline(chosen.alpha_, color="k", ls=":", lw=1, label="chosen by cross-validation")
top.legend(loc="lower left")
top.set(ylabel="coefficient", title="Lasso path: genes that act in red", xscale="log")
bottom.plot(found.alphas, np.maximum(found.rel_gaps, 1e-17), color="tab:blue", lw=1)
bottom.axhline(1e-6, color="0.5", ls="--", lw=1)
bottom.set(ylabel="certified\nrelative gap", xlabel="alpha", yscale="log")
bottom.invert_xaxis()
plt.show()
