"""Two fair readings of the paper's experiments, which state no rival's step size.

Both readings give SPD1 and SPD1-VR tuned steps: of SPD1-VR the paper says that it allows "much
larger step sizes than the ones suggested by theory". They differ in what the rivals get.

*Textbook rivals* run with the step that the literature names for them, untuned:

* PSGD: eta_t = 2 / (lambda (t + 4)), the counterpart of Theorem 2's;
* SVRG: eta = 0.1 / L (Xiao and Zhang 2014) and eta = 1 / (3 L); both are drawn, and the one with
  the lower median at the last pass is judged, whichever side of a claim it is on;
* SAGA: eta = 1 / (3 L) (Defazio, Bach and Lacoste-Julien 2014).

L = max_i |a_i|^2 / gamma is the largest smoothness constant of a row's loss.

*Best-tuned rivals* get as many tries as SPD1 and SPD1-VR, by the same rule (``grids``).
"""

from __future__ import annotations

from ..problem import Problem

__all__ = ["READINGS", "TEXTBOOK", "textbook_steps"]

#: Reading -> its name in tables and figures.
READINGS = {"textbook": "textbook rivals", "tuned": "best-tuned rivals"}

#: Name of a textbook run -> the method that runs.
TEXTBOOK = {
    "psgd 2/(lambda(t+4))": "psgd",
    "svrg 0.1/L": "svrg",
    "svrg 1/(3L)": "svrg",
    "saga 1/(3L)": "saga",
}


def textbook_steps(problem: Problem) -> dict[str, dict[str, float]]:
    """Name of a textbook run -> its steps on a problem.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> problem = spd1.Problem(2.0 * np.eye(3), [1, -1, 1], "logistic", spd1.L2(0.5))
    >>> textbook_steps(problem)["svrg 0.1/L"], textbook_steps(problem)["psgd 2/(lambda(t+4))"]
    ({'eta': 0.1}, {'eta': 4.0, 'offset': 4.0})
    """
    smoothness = float(problem.row_norms_squared.max()) / problem.gamma
    return {
        "psgd 2/(lambda(t+4))": {"eta": 2.0 / problem.mu, "offset": 4.0},
        "svrg 0.1/L": {"eta": 0.1 / smoothness},
        "svrg 1/(3L)": {"eta": 1.0 / (3.0 * smoothness)},
        "saga 1/(3L)": {"eta": 1.0 / (3.0 * smoothness)},
    }
