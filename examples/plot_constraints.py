"""
Non-negative and box constraints: taking a spectrum apart
=========================================================

A measured spectrum is a sum of known peaks, none of which can be negative. Least squares does not
know that and explains noise by peaks that cancel. Bounds on the coefficients say it: every method
of spd1 takes them, and the certificate covers them.
"""

# %%
# A spectrum of four peaks, in a library of eighty
# ------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np

import spd1

rng = np.random.default_rng(0)
x = np.linspace(0, 10, 300)
centres = np.linspace(0, 10, 80)
library = np.exp(-0.5 * ((x[:, None] - centres) / 0.35) ** 2)
truth = np.zeros(80)
truth[[15, 30, 34, 60]] = [1.0, 0.8, 0.6, 1.2]
spectrum = library @ truth + 0.05 * rng.normal(size=300)

# %%
# One call, three feasible sets
# -----------------------------
# ``lower`` and ``upper`` may be numbers or one number per coefficient. The small ``l2`` makes
# the answer unique.

problems = {
    "no bounds": spd1.ElasticNet(l2=1e-5),
    "not negative": spd1.ElasticNet(l2=1e-5, lower=0.0),
    "in the box [0, 0.7]": spd1.ElasticNet(l2=1e-5, lower=0.0, upper=0.7),
}
answers = {}
for name, reg in problems.items():
    problem = spd1.Problem(library, spectrum, loss="squared", reg=reg)
    answers[name] = result = spd1.solve(problem, tol=1e-6)
    lowest, highest = result.x.min(), result.x.max()
    zeros = np.sum(result.x == 0)
    print(f"{name:20} gap {result.rel_gap:.0e}, {zeros:2d} zeros, {lowest:5.2f} to {highest:.2f}")
    assert result.converged

# %%
# What the bounds bring
# ---------------------
# All three fit the measurement about equally well. Without bounds, neighbouring peaks of
# opposite sign model the noise. With ``lower=0`` most of the library is exactly zero, and what
# is left stands where the four peaks are. The box keeps every peak below 0.7; neighbours take
# over what is missing.

figure, panels = plt.subplots(3, 1, figsize=(7, 7), sharex=True, layout="constrained")
for axes, (name, result) in zip(panels, answers.items(), strict=True):
    axes.plot(x, spectrum, color="0.75", lw=0.8, label="measured")
    axes.plot(x, library @ result.x, color="tab:blue", lw=1.2, label="fitted")
    axes.vlines(centres, 0, result.x, color="tab:red", lw=2, label="coefficients")
    axes.plot(centres[truth > 0], truth[truth > 0], "kx", label="truth")
    axes.axhline(0, color="k", lw=0.5)
    axes.set_title(name)
figure.legend(*panels[0].get_legend_handles_labels(), ncols=4, loc="outside lower center")
panels[-1].set_xlabel("wavelength")
plt.show()
