"""SPDHG: the stochastic primal-dual hybrid gradient method (Chambolle et al. 2018)."""

from __future__ import annotations

from typing import Any

from .row_saddle import RowSaddleMethod
from .tuning import SPDHG_GAMMA

__all__ = ["SPDHG"]


class SPDHG(RowSaddleMethod):
    """A dual coordinate a step, and a primal step with the extrapolated G + n c_i delta a_i.

    Steps: eta sigma_i n c_i |a_i|^2 <= 1 for rows drawn alike, so every row has its own sigma_i.
    Theory: gamma^2 = 0.99^2 in place of 1 (their choice), theta = 1; eta / tau is left free there.
    Automatic steps keep the product and let the ratio follow the certificate, in the manner of the
    adaptive SPDHG of Chambolle et al. (2024), which balances residuals. Needs no assumption.
    """

    name = "spdhg"
    proven_product = True

    def look_ahead(self) -> tuple[float, float]:
        return 0.0, 1.0 + 1.0 / self.problem.n

    def theory_steps(self) -> dict[str, Any]:
        return self.balanced(SPDHG_GAMMA**2)
