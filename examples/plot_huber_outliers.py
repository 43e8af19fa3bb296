"""
Huber's loss: a line that outliers do not turn
==============================================

Squared errors give an outlier as much pull as all good points together. Huber's loss is squared
near zero and linear beyond, so an outlier pulls, but no harder the further out it is.

:class:`spd1.linear_model.HuberRegressor` finds the scale of the good points as well. The
certificate covers coefficients, intercept and scale together.
"""

# %%
# Good points, and a sensor that got stuck
# ----------------------------------------

import matplotlib.pyplot as plt
import numpy as np

from spd1.linear_model import HuberRegressor, LinearRegression

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 80))
y = 1.0 + 0.7 * x + 0.5 * rng.normal(size=80)
stuck = (x > 7.5) & (rng.random(80) < 0.6)
y[stuck] = -2.0 + 0.1 * rng.normal(size=stuck.sum())
X = x[:, None]

squares = LinearRegression().fit(X, y)
huber = HuberRegressor(epsilon=1.35).fit(X, y)
print("the true slope is 0.7")
print(f"least squares: slope {squares.coef_[0]:.3f}, gap {squares.rel_gap_:.0e}")
print(
    f"Huber:         slope {huber.coef_[0]:.3f}, gap {huber.rel_gap_:.0e}, scale {huber.scale_:.2f}"
)
print(f"flagged as outliers: {huber.outliers_.sum()} of {len(y)}, {stuck.sum()} were stuck")

# %%
# Two losses, two lines
# ---------------------
# On the right is what a residual costs, each loss over the scale that Huber found.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8.5, 3.8), width_ratios=(2, 1), layout="constrained"
)
left.scatter(x[~huber.outliers_], y[~huber.outliers_], s=14, label="inside")
left.scatter(x[huber.outliers_], y[huber.outliers_], s=22, marker="x", label="outliers by Huber")
ends = np.array([[0.0], [10.0]])
left.plot(ends, squares.predict(ends), color="0.5", label="least squares")
left.plot(ends, huber.predict(ends), color="tab:red", lw=2, label="Huber")
left.set(xlabel="x", ylabel="y")
left.legend()
r = np.linspace(-5, 5, 300)
right.plot(r, 0.5 * r**2, color="0.5")
right.plot(r, np.where(abs(r) <= 1.35, 0.5 * r**2, 1.35 * (abs(r) - 0.675)), color="tab:red", lw=2)
right.set(xlabel="residual / scale", title="what a residual costs", ylim=(0, 9))
plt.show()
