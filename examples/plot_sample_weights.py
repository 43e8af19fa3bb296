"""
Sample weights: who counts how much
===================================

``sample_weight`` says how much each sample counts. A weight of 3 is the same as three copies of the
row, a weight of 0 leaves the row out. The certificate covers the weighted problem: it is the same
proof as for the data with copies.
"""

# %%
# Two groups, the second one rare
# -------------------------------

import matplotlib.pyplot as plt
import numpy as np

from spd1.linear_model import LogisticRegression

rng = np.random.default_rng(3)
common = rng.normal([-1.0, 0.0], 1.0, (300, 2))
rare = rng.normal([1.2, 0.8], 0.9, (20, 2))
X = np.vstack([common, rare])
y = np.repeat(["common", "rare"], [300, 20])

plain = LogisticRegression(C=1.0).fit(X, y)
weights = np.where(y == "rare", 15.0, 1.0)
weighted = LogisticRegression(C=1.0).fit(X, y, sample_weight=weights)

# %%
# A weight is a number of copies
# ------------------------------
# The coefficients agree to the accuracy that both certificates allow.

copies = np.repeat(np.arange(len(y)), weights.astype(int))
copied = LogisticRegression(C=1.0, tol=1e-10).fit(X[copies], y[copies])
exact = LogisticRegression(C=1.0, tol=1e-10).fit(X, y, sample_weight=weights)
print(f"weighted:     {exact.coef_[0]}, {exact.intercept_[0]:.8f}")
print(f"rows copied:  {copied.coef_[0]}, {copied.intercept_[0]:.8f}")
assert np.allclose(exact.coef_, copied.coef_, atol=1e-4)

# %%
# What the weights change
# -----------------------
# Without weights the line gives most of the rare group away. With them both groups count alike.

figure, panels = plt.subplots(
    1, 2, figsize=(8, 3.8), sharex=True, sharey=True, layout="constrained"
)
grid = np.stack(np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-3.5, 3.5, 200)), axis=-1)
for axes, model, title in zip(
    panels, (plain, weighted), ("all samples alike", "rare ones count 15 times"), strict=True
):
    chance = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(200, 200)
    axes.imshow(chance, extent=(-4, 4, -3.5, 3.5), origin="lower", cmap="RdBu_r", alpha=0.6)
    axes.contour(grid[..., 0], grid[..., 1], chance, levels=[0.5], colors="k")
    axes.scatter(*common.T, s=8, color="tab:blue", label="common")
    axes.scatter(*rare.T, s=16, color="tab:red", label="rare")
    found = np.mean(model.predict(rare) == "rare")
    axes.set_title(f"{title}\n{found:.0%} of the rare found, gap {model.rel_gap_:.0e}")
panels[0].legend(loc="lower left")
plt.show()
