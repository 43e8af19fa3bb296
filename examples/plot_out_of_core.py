"""
Data larger than memory
=======================

A *store* is a folder of tiles on disk. Rows are written in blocks as they come. A fit then maps one
tile after the other into memory and lets it go again. The answer has the same certificate as one
from memory.

The data here is small, so that the page builds quickly. Nothing in the code depends on that.
"""

# %%
# Write rows as they come
# -----------------------
# Anything that yields pairs (rows, labels) will do: a database cursor, files, a simulation.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import spd1

DAYS, ROWS, FEATURES = 12, 4000, 60
truth = np.random.default_rng(7).normal(size=FEATURES) / 4


def days():
    """One day of measurements at a time; no two days are in memory together."""
    for day in range(DAYS):
        rng = np.random.default_rng(day)
        rows = rng.standard_normal((ROWS, FEATURES))
        chance = 1 / (1 + np.exp(-rows @ truth))
        yield rows, np.where(rng.random(ROWS) < chance, 1.0, -1.0)


folder = Path(tempfile.mkdtemp())
store = spd1.write_store(folder / "days.store", days(), tile_mb=2)
size = sum(f.stat().st_size for f in (folder / "days.store").iterdir())
print(store)
print(f"{size / 1e6:.0f} MB on disk in tiles of about 2 MB")

# %%
# Fit from disk
# -------------

problem = spd1.Problem(store, loss="logistic", reg=spd1.L2(1e-4))
on_disk = spd1.solve(problem, tol=1e-6)
print(on_disk.method)
print(on_disk.certificate)

# %%
# The same from memory
# --------------------
# Both are certified to 1e-6. So both are within that of the same optimum.

parts = list(days())
A, b = np.vstack([rows for rows, _ in parts]), np.concatenate([labels for _, labels in parts])
in_memory = spd1.solve(spd1.Problem(A, b, loss="logistic", reg=spd1.L2(1e-4)), tol=1e-6)
print(f"objective from disk {on_disk.primal:.9f}, from memory {in_memory.primal:.9f}")
assert abs(on_disk.primal - in_memory.primal) <= on_disk.gap + in_memory.gap

# %%
# Nothing is lost on the way
# --------------------------
# Left: the coefficients from disk are those from memory. Right: they are close to those that made
# the data, as close as 48,000 samples allow.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained", sharey=True)
for axes, other in ((left, in_memory.x), (right, truth)):
    axes.axline((0, 0), slope=1, color="0.7", lw=1)
    axes.plot(other, on_disk.x, ".")
    axes.set_aspect("equal")
left.set(xlabel="fitted from memory", ylabel="coefficients fitted from disk")
right.set(xlabel="coefficients that made the data")
plt.show()
