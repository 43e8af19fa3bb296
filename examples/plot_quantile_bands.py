"""
Quantile bands: not only the middle
===================================

A mean says little where the spread changes. Quantile regression fits the 5 %, 50 % and 95 % lines
directly. Its loss has a corner, so many solvers treat it as a linear program; here it is one more
loss, with the same certificate.
"""

# %%
# A daily load curve whose spread grows towards noon
# --------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from spd1.linear_model import QuantileRegressor

rng = np.random.default_rng(0)
hour = np.sort(rng.uniform(0, 24, 600))
spread = 0.15 + 0.8 * np.exp(-0.5 * ((hour - 13) / 3.0) ** 2)
load = 3 + np.sin((hour - 7) * np.pi / 12) + spread * rng.gamma(2.0, 0.7, 600)

# %%
# Three fits, each certified
# --------------------------
# Splines make the curve flexible; ``alpha`` is a small l1 penalty on their coefficients.

grid = np.linspace(0.2, 23.8, 200)
bands = {}
for q in (0.05, 0.5, 0.95):
    model = make_pipeline(SplineTransformer(n_knots=9), QuantileRegressor(quantile=q, alpha=1e-4))
    model.fit(hour[:, None], load)
    bands[q] = model.predict(grid[:, None])
    below = np.mean(load <= model.predict(hour[:, None]))
    print(f"quantile {q:.2f}: {below:.3f} of the samples below, gap {model[-1].rel_gap_:.0e}")
    assert abs(below - q) < 0.03

# %%
# The band is wide where the spread is
# ------------------------------------

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.scatter(hour, load, s=6, color="0.6", label="measured")
axes.fill_between(grid, bands[0.05], bands[0.95], alpha=0.25, label="5 % to 95 %")
axes.plot(grid, bands[0.5], color="tab:red", lw=2, label="median")
axes.set(xlabel="hour of the day", ylabel="load", title="Quantile regression on splines")
axes.legend(loc="upper left")
plt.show()
