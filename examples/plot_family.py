"""
How the methods converge: passes and seconds
============================================

The paper behind spd1 looks at one entry of the data per step. That makes a step cheap, whatever
the size of the data. Its rivals read a row per step, or everything. All run here on one problem,
and all are measured by the same certificate.

A *pass* is as many entries read as the data has. It is a fair count for theory. Seconds are another
matter: a processor fetches neighbouring numbers together, and one-entry steps throw them away.
"""

# %%
# Breast cancer data, and products of features
# --------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import PolynomialFeatures, scale

import spd1

X, target = load_breast_cancer(return_X_y=True)
X = scale(PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(scale(X)))
problem = spd1.Problem(X, np.where(target == 1, 1.0, -1.0), loss="logistic", reg=spd1.L2(0.1))
print(problem)

# %%
# One call per method
# -------------------

methods = {
    "spd1": "SPD1 (one entry per step)",
    "spd1-vr": "SPD1-VR",
    "spd1-vr-acc": "SPD1-VR accelerated",
    "psgd": "SGD",
    "svrg": "SVRG",
    "saga": "SAGA",
    "sdca": "SDCA",
    "auto": "auto",
}
runs = {}
for name in methods:
    spd1.solve(problem, name, max_passes=3, tol=1e-12)  # compile outside the clock
    runs[name] = spd1.solve(problem, name, tol=1e-9, max_passes=150, max_seconds=3)
    run = runs[name]
    print(f"{name:12} {run.status:11} gap {run.rel_gap:8.1e}  {run.passes:6.1f} passes")

# %%
# By passes the variance-reduced methods keep each other company. By seconds whole rows win, and
# ``auto`` needs a few passes only.

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
for name, label in methods.items():
    trace = runs[name].trace
    best = np.minimum.accumulate(trace.rel_gap)
    style = {"color": "k", "lw": 2.5} if name == "auto" else {"lw": 1.3}
    panels[0].plot(np.maximum(trace.passes, 1), best, label=label, **style)
    panels[1].plot(np.maximum(trace.seconds, 1e-4), best, **style)
panels[0].set(xlabel="passes", ylabel="certified relative gap", xscale="log", yscale="log")
panels[1].set(xlabel="seconds", xscale="log", yscale="log")
figure.legend(ncols=4, fontsize="small", loc="outside lower center")
for axes in panels:
    axes.grid(alpha=0.3)
plt.show()
