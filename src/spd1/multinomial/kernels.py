"""Coordinate descent on the quadratic model of a multinomial loss, over columns of the data."""

from __future__ import annotations

from ..kernel.jit import kernel

__all__ = ["descend_by_class"]


@kernel
def descend_by_class(
    B, d, column, cls, l1, l2, z, slope, spread, c, chances, scores, mean, sweeps
):  # fmt: skip
    """Sweep over coordinates (column, class): all of them once, then those that are not zero.

    ``scores`` are the changes of the margins so far, a row a class, and ``mean`` their mean over
    the classes of each sample by ``chances``; column d is the intercept. Returns the largest excess
    over l1 that the first sweep met, the decrease of all sweeps, and entries read.
    """
    worst, total, read = 0.0, 0.0, 0
    for sweep in range(sweeps):
        gain = 0.0
        for s in range(len(z)):
            old = z[s]
            if sweep > 0 and old == 0.0 and l1[s] > 0.0:
                continue
            h = spread[s] + l2[s]
            if h <= 0.0:
                continue
            j, k = column[s], cls[s]
            g = slope[s] + l2[s] * old
            if j == d:
                for i in range(len(mean)):
                    g += c[i] * chances[k, i] * (scores[k, i] - mean[i])
                read += len(mean)
            else:
                for e in range(B.line_length(j)):
                    i, a = B.at(j, e)
                    g += a * c[i] * chances[k, i] * (scores[k, i] - mean[i])
                read += B.line_length(j)
            if sweep == 0:
                if old == 0.0:
                    worst = max(worst, abs(g) - l1[s])
                else:
                    worst = max(worst, abs(g + (l1[s] if old > 0.0 else -l1[s])))
            wish = h * old - g
            new = (max(wish - l1[s], 0.0) + min(wish + l1[s], 0.0)) / h
            step = new - old
            if step == 0.0:
                continue
            z[s] = new
            gain += 0.5 * h * step * step
            if j == d:
                for i in range(len(mean)):
                    scores[k, i] += step
                    mean[i] += step * chances[k, i]
            else:
                for e in range(B.line_length(j)):
                    i, a = B.at(j, e)
                    scores[k, i] += step * a
                    mean[i] += step * a * chances[k, i]
        total += gain
        if gain <= 1e-3 * total:
            break
    return worst, total, read
