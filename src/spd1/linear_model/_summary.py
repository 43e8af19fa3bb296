"""What a fit found, to look at: coefficients by name, how many are zero, how much is proven."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..errors import IncompatibleError

__all__ = ["Summary", "proof_of", "summary_of"]

INTERCEPT = "(intercept)"


@dataclass(frozen=True, eq=False)
class Summary:
    """Coefficients of a fitted model.

    Attributes
    ----------
    title : str
    names : list of str
        Features, and "(intercept)" last if there is one.
    targets : list of str
        Classes or targets; one empty name if there is a single row.
    coef : ndarray of shape (targets, names)
    errors : ndarray of the same shape, or None
        Standard errors; ``note`` says why there are none, or what they are.
    proof : str
        What the certificate says.
    note : str
    most : int
        Rows that are printed of each target.
    """

    title: str
    names: list[str]
    targets: list[str]
    coef: np.ndarray
    errors: np.ndarray | None
    proof: str
    note: str
    most: int = 30

    @property
    def nonzero(self) -> np.ndarray:
        """Features with a coefficient that is not zero, of each target."""
        features = [k for k, name in enumerate(self.names) if name != INTERCEPT]
        return np.asarray(np.count_nonzero(self.coef[:, features], axis=1))

    def to_frame(self) -> Any:
        """All of it as a pandas data frame: a row a target and feature."""
        import pandas as pd

        columns = {
            "target": np.repeat(self.targets, len(self.names)),
            "feature": self.names * len(self.targets),
            "coefficient": self.coef.ravel(),
        }
        if self.errors is not None:
            columns["standard_error"] = self.errors.ravel()
        return pd.DataFrame(columns)

    def _shown(self, row: int) -> list[int]:
        """Features to print: all in their order, or the largest."""
        if len(self.names) <= self.most:
            return list(range(len(self.names)))
        order = np.argsort(-np.abs(self.coef[row]), kind="stable")[: self.most]
        return [int(k) for k in order if self.coef[row, k] != 0.0]

    def _lines(self, row: int) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = []
        for k in self._shown(row):
            x = self.coef[row, k]
            line: tuple[str, ...] = (self.names[k], f"{x:.6g}")
            if self.errors is not None:
                error = self.errors[row, k]
                line += (f"{error:.3g}", f"{x / error:.2f}" if error > 0.0 else "")
            lines.append(line)
        return lines

    @property
    def _head(self) -> tuple[str, ...]:
        more = () if self.errors is None else ("standard error", "z")
        return ("feature", "coefficient", *more)

    def _heading(self, row: int) -> str:
        features = len(self.names) - (INTERCEPT in self.names)
        what = f"{self.nonzero[row]} of {features} coefficients are not zero"
        name = f"{self.targets[row]}: " if self.targets[row] else ""
        left = len(self.names) - len(self._shown(row))
        return f"{name}{what}" + (f"; {left} rows are not shown" if left else "")

    def __str__(self) -> str:
        lines = [self.title, self.proof]
        for row in range(len(self.targets)):
            table = [self._head, *self._lines(row)]
            widths = [max(len(line[k]) for line in table) for k in range(len(self._head))]
            lines += ["", self._heading(row)]
            for name, *numbers in table:
                cells = [n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True)]
                lines.append("  ".join([name.ljust(widths[0]), *cells]).rstrip())
        return "\n".join([*lines, "", self.note] if self.note else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<b>{html.escape(self.title)}</b><br>{html.escape(self.proof)}"]
        for row in range(len(self.targets)):
            body = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
                for line in self._lines(row)
            )
            head = "".join(f"<th>{cell}</th>" for cell in self._head)
            parts.append(
                f"<p>{html.escape(self._heading(row))}</p><table><tr>{head}</tr>{body}</table>"
            )
        return "".join([*parts, f"<p>{html.escape(self.note)}</p>" if self.note else ""])


def proof_of(model: Any) -> str:
    """What the certificate of a fitted model says, of several the one that proves least."""
    proof = getattr(model, "certificate_", None)
    if proof is None:
        return "No certificate: the coefficients are means over folds, which minimise nothing."
    if isinstance(proof, list):
        worst = max(proof, key=lambda one: one.rel_gap)
        return f"{len(proof)} problems. Of the one that is proven least: {worst}"
    return str(proof)


def summary_of(model: Any, X: Any, y: Any, sample_weight: Any, most: int) -> Summary:
    """The summary of a fitted model; with data, standard errors where they mean something."""
    check_is_fitted(model)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.atleast_2d(coef).astype(float)
    names = [str(n) for n in getattr(model, "feature_names_in_", ())]
    names = names or [f"x{k}" for k in range(coef.shape[1])]
    if getattr(model, "fit_intercept", True):
        level = np.broadcast_to(np.atleast_1d(model.intercept_).astype(float), (len(coef),))
        coef, names = np.column_stack([coef, level]), [*names, INTERCEPT]
    targets = [""]
    if len(coef) > 1:
        targets = [f"class {c}" for c in getattr(model, "classes_", ())]
        if len(targets) != len(coef):
            targets = [f"target {k}" for k in range(len(coef))]
    errors, note = None, "Standard errors need the data: summary(X, y)."
    if X is not None:
        from ._information import standard_errors

        try:
            errors = standard_errors(model, X, y, sample_weight)
            note = "Standard errors: square roots of the inverse observed information."
        except IncompatibleError as error:
            note = f"No standard errors: {error}."
    return Summary(type(model).__name__, names, targets, coef, errors, proof_of(model), note, most)
