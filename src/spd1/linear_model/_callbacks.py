"""scikit-learn's callbacks, which it has from 1.9 on; before that, nobody listens."""

from __future__ import annotations

from typing import Any, NoReturn

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class Nobody:
        """Stands in for the context of a fit that no callback follows."""

        def call_on_fit_task_begin(self, **_: Any) -> None:
            """Nothing happens."""

        def call_on_fit_task_end(self, **_: Any) -> bool:
            """Nobody asks to stop."""
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Refuses callbacks by name; fits need none."""

        def set_callbacks(self, *_: Any) -> NoReturn:
            """Refuse."""
            import sklearn

            raise NotImplementedError(
                f"callbacks need scikit-learn 1.9, this is {sklearn.__version__}"
            )

        def _init_callback_context(self, **_: Any) -> Nobody:
            return Nobody()

    def with_callbacks(fit: Any) -> Any:
        """The fit as it is."""
        return fit


__all__ = ["CallbackSupportMixin", "with_callbacks"]
