"""
A loss of your own: expectiles
==============================

Expectiles are to the mean what quantiles are to the median: errors above count ``weight`` times,
errors below ``1 - weight`` times, squared. spd1 has no such loss. Three short methods add it, and
then every method, bound and certificate works with it.
"""

# %%
# The loss
# --------
# With ``w = 1 - weight`` for predictions above the target and ``w = weight`` below, ``phi(u) = w
# (u - b)^2 / 2``. Its conjugate is ``b y + y^2 / (2 w)``, where the sign of y tells which w
# counts. Methods take and return numbers: Numba compiles them into the kernels.

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import SplineTransformer

import spd1
from spd1 import Loss, compiled


@compiled(Loss)
class Expectile(NamedTuple):
    """Asymmetric least squares."""

    weight: float = 0.5

    def phi(self, u, b):
        w = 1.0 - self.weight if u > b else self.weight
        return 0.5 * w * (u - b) ** 2

    def derivative(self, u, b):
        w = 1.0 - self.weight if u > b else self.weight
        return w * (u - b)

    def conjugate(self, y, b):
        w = 1.0 - self.weight if y > 0.0 else self.weight
        return b * y + 0.5 * y * y / w

    def prox_conjugate(self, v, b, sigma):
        w = 1.0 - self.weight if v - sigma * b > 0.0 else self.weight
        return (v - sigma * b) / (1.0 + sigma / w)

    @property
    def gamma(self):
        return 1.0 / max(self.weight, 1.0 - self.weight)


# %%
# Check it before you use it
# --------------------------
# A conjugate that is wrong makes certificates wrong. Two lines find out: Fenchel and Young's
# inequality holds everywhere, with equality at the derivative.

loss = Expectile(0.9)
for u, b in np.random.default_rng(1).normal(size=(200, 2)):
    best = loss.derivative(u, b)
    assert abs(loss.phi(u, b) + loss.conjugate(best, b) - u * best) < 1e-12
    assert loss.phi(u, b) + loss.conjugate(best + 0.1, b) - u * (best + 0.1) > 0

# %%
# Five expectiles
# ---------------

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-2, 2, 400))
y = x**2 + (0.4 + 0.3 * (x + 2)) * rng.standard_t(4, size=400)
splines = SplineTransformer(n_knots=8).fit(x[:, None])
A = splines.transform(x[:, None])
grid = np.linspace(-2, 2, 200)

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.scatter(x, y, s=6, color="0.7")
for weight in (0.02, 0.2, 0.5, 0.8, 0.98):
    problem = spd1.Problem(A, y, loss=Expectile(weight), reg=spd1.L2(1e-4))
    result = spd1.solve(problem, "newton", tol=1e-8)
    assert result.converged
    print(f"weight {weight:4}: {result.status}, gap {result.rel_gap:.0e}, {result.method}")
    axes.plot(
        grid,
        splines.transform(grid[:, None]) @ result.x,
        color=plt.cm.viridis(weight),
        label=f"{weight}",
    )
axes.legend(title="weight", ncols=5, loc="upper center")
axes.set(xlabel="x", ylabel="y", title="Expectiles: a loss written in four lines", ylim=(-5, 10))
plt.show()
