"""scikit-learn's callbacks, where it has them: from 1.9 on.

With an older scikit-learn the estimators are the same without ``set_callbacks``.
"""

from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(fit: Any) -> Any:
        """The fit as it is."""
        return fit


__all__ = ["CallbackSupportMixin", "with_callbacks"]
