"""Pictures of runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1 import Progress, Result, Trace, solve
from support import oracle


@pytest.fixture
def pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("x", ["passes", "paper_passes", "seconds"])
def test_plot_of_a_result(x, finished, pyplot):
    axes = finished.plot(x=x)
    [line] = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), getattr(finished.trace, x))
    np.testing.assert_allclose(line.get_ydata(), finished.trace.rel_gap)
    assert axes.get_yscale() == "log"
    assert ("seconds" if x == "seconds" else "passes") in axes.get_xlabel()
    assert "gap" in axes.get_ylabel()
    assert finished.status in axes.get_title()
    own = pyplot.subplots()[1]
    assert finished.plot(ax=own) is own


def test_comparison_of_results(problem, finished, pyplot):
    from spd1.plotting import compare

    results = {"ours": finished, "saga": solve(problem, "saga", max_passes=20, tol=1e-12)}
    axes = compare(results, title="two runs")
    assert [line.get_label() for line in axes.get_lines()] == ["ours", "saga"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ours", "saga"]
    assert axes.get_title() == "two runs"
    best = oracle.optimum("logistic", "l2", False).best
    axes = compare(results, x="seconds", optimum=best)
    heights = axes.get_lines()[1].get_ydata()
    np.testing.assert_allclose(heights, np.maximum(results["saga"].trace.primal - best, 1e-16))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("seconds", "P(x) - P*")


def test_runs_that_blew_up_can_be_drawn(problem, pyplot):
    from spd1.plotting import compare

    rows = [Progress(k, k, k, p, 0.1, p - 0.1, 1.0) for k, p in enumerate((1.0, math.inf))]
    trace = Trace()
    trace.rows.extend(rows)
    lost = Result(np.zeros(1), np.zeros(1), 1.0, 0.1, 0.9, 0.9, "diverged", 1.0, 1.0, trace, "psgd")
    axes = compare({"lost": lost}, optimum=0.0)
    assert len(axes.get_lines()[0].get_xdata()) == 1  # what is not finite is left out


def test_unknown_axes_are_refused_by_name(finished, pyplot):
    from spd1.plotting import compare

    for draw in (lambda: finished.plot(x="time"), lambda: compare({"a": finished}, x="time")):
        with pytest.raises(ValueError, match=r"passes, paper_passes, seconds, not 'time'"):
            draw()
