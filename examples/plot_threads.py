"""
Threads: the same bits for any number of them
=============================================

``engine="threads"`` shares the work between cores. Sums of floating-point numbers depend on their
order, so most libraries give other last digits on another number of threads. spd1 cuts the data in
places that follow from the data alone and adds up in a fixed order: one, two or four threads give
the same answer to the last bit.
"""

# %%
# A dense problem of 12 million entries
# -------------------------------------

import time

import matplotlib.pyplot as plt
import numpy as np

import spd1

rng = np.random.default_rng(0)
A = rng.standard_normal((6000, 2000))
b = np.sign(A[:, :20].sum(axis=1) + 3 * rng.standard_normal(6000))
problem = spd1.Problem(A, b, loss="logistic", reg=spd1.L2(1e-2))

# %%
# Solve it with one, two and four threads
# ---------------------------------------

counts = (1, 2, 4)
answers, seconds = {}, {}
spd1.solve(problem, engine="threads", n_threads=1, tol=0.1)  # compile outside the clock
for k in counts:
    start = time.perf_counter()
    answers[k] = spd1.solve(problem, engine="threads", n_threads=k, tol=1e-6)
    seconds[k] = time.perf_counter() - start
    print(f"{k} threads: {seconds[k]:.2f} s, gap {answers[k].rel_gap:.17e}")

for k in counts:
    assert np.array_equal(answers[k].x, answers[1].x)
    assert answers[k].gap == answers[1].gap
print("same bits:", all(np.array_equal(answers[k].x, answers[1].x) for k in counts))

# %%
# What it brings depends on the machine
# -------------------------------------
# This picture is of the machine that built these pages, with whatever else it had to do. More
# threads than cores bring nothing. Small problems (below 100,000 entries) stay on one thread. The
# default, ``engine="serial"``, adds up in one piece: its last digits are other ones, and its
# certificate is as good.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
left.bar([str(k) for k in counts], [seconds[k] for k in counts], color="tab:blue")
left.set(xlabel="threads", ylabel="seconds to a gap of 1e-6", title="time")
serial = spd1.solve(problem, tol=1e-6)  # the default engine adds up in one piece
answers_by_name = {"serial": serial, **{str(k): answers[k] for k in counts}}
difference = [np.max(np.abs(found.x - answers[1].x)) for found in answers_by_name.values()]
bars = right.bar(list(answers_by_name), difference, color="tab:red")
right.bar_label(bars, [f"{value:.0e}" if value else "0" for value in difference])
right.margins(y=0.2)
right.set(xlabel="threads", ylabel="largest difference in a coefficient")
right.set_title("difference from one thread")
plt.show()
