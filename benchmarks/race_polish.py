"""From a good answer to the optimum: active-set Newton steps, and the dual bound as proof."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from race_problems import Instance, loss_slopes


def dual_value(one: Instance, y: np.ndarray) -> float:
    """D(y) = -(1/n) sum phi*(y_i) - g*(-A'y/n), after y is moved into the domain."""
    p = -one.b * y
    if one.loss in ("logistic", "hinge"):
        p = np.clip(p, 0.0, 1.0)
    elif one.loss == "squared_hinge":
        p = np.maximum(p, 0.0)
    if one.loss != "squared":
        y = -one.b * p
    v = one.A.T @ y / one.n
    if one.l2 == 0.0:
        shrink = min(1.0, one.l1 / max(float(np.abs(v).max()), 1e-300))
        y, p, v = shrink * y, shrink * p, shrink * v
        penalty = 0.0
    else:
        penalty = float(np.sum(np.maximum(np.abs(v) - one.l1, 0.0) ** 2)) / (2.0 * one.l2)
    return -float(conjugate(one, y, p).mean()) - penalty


def conjugate(one: Instance, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    if one.loss == "squared":
        return 0.5 * y * y + y * one.b
    if one.loss == "hinge":
        return -p
    if one.loss == "squared_hinge":
        return 0.25 * p * p - p
    from scipy.special import xlog1py, xlogy

    return xlogy(p, p) + xlog1py(1.0 - p, -p)


def curvature(one: Instance, u: np.ndarray) -> np.ndarray:
    if one.loss == "logistic":
        p = np.abs(loss_slopes("logistic", u, one.b))
        return p * (1.0 - p)
    if one.loss == "squared":
        return np.ones(one.n)
    return 2.0 * (one.b * u < 1.0)


def solve_positive(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """H x = right for H that may be singular up to rounding; two steps of refinement."""
    lift = 1e-13 * float(np.trace(H)) / H.shape[0] + 1e-300
    for _ in range(4):
        try:
            factor = scipy.linalg.cho_factor(H + lift * np.eye(H.shape[0]))
            break
        except np.linalg.LinAlgError:
            lift *= 100.0
    else:
        return np.linalg.lstsq(H, right, rcond=1e-12)[0]
    x = scipy.linalg.cho_solve(factor, right)
    for _ in range(2):
        x += scipy.linalg.cho_solve(factor, right - H @ x)
    return x


def columns_of(one: Instance, chosen: np.ndarray) -> np.ndarray:
    part = one.columns[:, chosen]
    return part.toarray() if one.sparse else part


def polish_support(one: Instance, x: np.ndarray, limit: int = 60) -> np.ndarray:
    """Newton on the support with the signs held; what crosses zero leaves, what violates joins."""
    x = x.copy()
    for _ in range(limit):
        u = one.A @ x
        slope = one.A.T @ loss_slopes(one.loss, u, one.b) / one.n
        joins = (x == 0) & (np.abs(slope) > one.l1 * (1.0 + 1e-11))
        chosen = np.flatnonzero((x != 0) | joins)
        if chosen.size == 0 or chosen.size > 4000:
            break
        sign = np.where(x != 0, np.sign(x), -np.sign(slope))[chosen]
        part = columns_of(one, chosen)
        H = part.T @ ((curvature(one, u) / one.n)[:, None] * part)
        H[np.diag_indices_from(H)] += one.l2
        gradient = slope[chosen] + one.l1 * sign + one.l2 * x[chosen]
        step = solve_positive(H, -gradient)
        moved = orthant_search(one, x, chosen, sign, step)
        if np.array_equal(moved, x):
            break
        x = moved
    return x


def orthant_search(
    one: Instance, x: np.ndarray, chosen: np.ndarray, sign: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """The longest halved step that lowers P, coordinates that change sign set to zero."""
    value = one.objective(x)
    for _ in range(40):
        trial = x.copy()
        part = x[chosen] + step
        trial[chosen] = np.where(part * sign > 0, part, 0.0)
        if one.objective(trial) < value:
            return trial
        step = 0.5 * step
    return x


def polish_margin(one: Instance, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hinge: the rows at margin 1 by linear equations; returns x and the dual point y = -b p."""
    start = one.b * (one.A @ x)
    best_x, best_p, best_gap = x, (start < 1.0).astype(float), np.inf
    for width in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        free, full = np.abs(start - 1.0) <= width, start < 1.0 - width
        for _ in range(12):
            if not 0 < free.sum() <= min(6000, 4 * one.d):
                break
            trial, p = margin_system(one, free, full)
            inside = boxed(one, free, full, trial, p)
            for point in (trial, dual_point(one, inside)):
                gap = one.objective(point) - dual_value(one, -one.b * inside)
                if gap < best_gap:
                    best_x, best_p, best_gap = point, inside, gap
            m = one.b * (one.A @ trial)
            low, high = free & (p < 0.0), free & (p > 1.0)
            joins = ~free & np.where(full, m > 1.0 + 1e-12, m < 1.0 - 1e-12)
            if not (low | high | joins).any():
                break
            free, full = (free & ~low & ~high) | joins, (full & ~joins) | high
    return best_x, -one.b * best_p


def dual_point(one: Instance, p: np.ndarray) -> np.ndarray:
    """A'(b p) / (n l2), the primal point of a hinge or squared hinge dual one."""
    return one.A.T @ (one.b * p) / (one.n * one.l2)


def signed_rows(one: Instance, chosen: np.ndarray) -> np.ndarray:
    rows = one.A[chosen]
    return one.b[chosen][:, None] * (rows.toarray() if one.sparse else rows)


def margin_system(
    one: Instance, free: np.ndarray, full: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Point x and weights p, with p = 1 on ``full``, margins exactly 1 on ``free``, else p = 0."""
    p = full.astype(float)
    x_full = dual_point(one, p)
    rows = one.A[free]
    K = (rows @ rows.T).toarray() if one.sparse else rows @ rows.T
    signs = one.b[free]
    K = signs[:, None] * K * signs[None, :] / (one.n * one.l2)
    p[free] = solve_positive(K, 1.0 - signs * (rows @ x_full))
    return dual_point(one, p), p


def boxed(
    one: Instance, free: np.ndarray, full: np.ndarray, x: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Weights in [0, 1] for the same x: more rows than features leave a choice of them."""
    clipped = np.clip(p, 0.0, 1.0)
    if free.sum() <= one.d or np.array_equal(clipped, p) or free.sum() > 1000:
        return clipped
    from scipy.optimize import lsq_linear

    rest = one.n * one.l2 * x - one.A.T @ (one.b * full)
    clipped[free] = lsq_linear(signed_rows(one, free).T, rest, bounds=(0.0, 1.0), tol=1e-15).x
    return clipped
