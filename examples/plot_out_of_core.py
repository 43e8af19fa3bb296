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
truth = np.random.default_rng(7).normal(size=FEATURES) / np.sqrt(FEATURES)


def days():
    """One day of measurements at a time; no two days are in memory together."""
    for day in range(DAYS):
        rng = np.random.default_rng(day)
        rows = rng.standard_normal((ROWS, FEATURES))
        yield rows, np.sign(rows @ truth + 0.5 * rng.standard_normal(ROWS))


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
# The gap falls by the pass, on disk as in memory
# -----------------------------------------------

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained")
for result, label, style in ((on_disk, "from disk", "o-"), (in_memory, "from memory", "x--")):
    left.semilogy(result.trace.passes, result.trace.rel_gap, style, label=label)
left.set(xlabel="passes over the data", ylabel="certified relative gap")
left.legend()
right.plot(truth, on_disk.x, ".")
right.set(xlabel="coefficients that made the data", ylabel="coefficients fitted from disk")
plt.show()
