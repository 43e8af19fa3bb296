"""What a fitted estimator keeps: coefficients, dense or sparse; the proof, only on request."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ._shown import Shown

__all__ = ["Kept"]


class Kept(Shown):
    """Coefficients as a sparse array, and copies and pickles without the proof."""

    coef_: Any

    def sparsify(self) -> Any:
        """Keep ``coef_`` as a SciPy sparse array: small where l1 left few of them."""
        check_is_fitted(self)
        self.coef_ = sp.csr_array(self.coef_)
        return self

    def densify(self) -> Any:
        """Keep ``coef_`` as an array again."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def keep_proof(self, keep: bool = True) -> Any:
        """Say whether copies and pickles hold the proof: ``dual_coef_``, ``trace_``, y.

        By default they don't: it has a number for every sample, and predictions need none of it.
        """
        self._whole = bool(keep)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if not state.get("_whole", False):
            state.pop("dual_coef_", None)
            state.pop("trace_", None)
            if "certificate_" in state:
                state["certificate_"] = _brief(state["certificate_"])
        return state


def _brief(certificate: Any) -> Any:
    """The numbers of a certificate, or of a list of them, without the dual point."""
    if isinstance(certificate, list):
        return [_brief(one) for one in certificate]
    return certificate._replace(y=np.empty(0))
