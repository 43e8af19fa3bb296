"""A trained model: coefficients, how the data was prepared, and the certificate."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate.gap import Certificate, certify_point
from ..data.convert import plain_array
from ..data.indices import trusted
from ..data.memory import refuse_too_long
from ..data.store import Store
from ..design.intercept import Design
from ..errors import DataError, ParameterError
from ..files import Data
from ..losses import as_loss
from ..problem import Problem
from ..regularizers import ElasticNet, as_regularizer
from ..result import Result
from ..version import __version__
from .labels import balanced_weights, classes_of, label_text, numbers
from .recipe import Recipe
from .scaling import entries_of, moments, standardized
from .several import certify_several, codes_of, solve_several

__all__ = ["Model", "fit_model"]


@dataclass(frozen=True, eq=False)
class Model:
    """Everything needed to predict, to certify again, and to know where it came from.

    Attributes
    ----------
    x : ndarray
        Solution as found: in standardized units where ``scale`` is there, the intercept last; of
        several classes one row after the other.
    y : ndarray
        Dual point that certifies it, one number a training row; for several classes, and class.
    loss, reg : loss and ElasticNet
        ``reg`` is that of the features; the intercept has none.
    features : int
        Number of columns of the data.
    intercept : bool
    mean, scale : ndarray or None
        What standardization took off and divided by; ``mean`` is None for sparse data.
    classes : list or None
        Labels for -1 and +1, where the loss wants two classes; or three and more labels.
    one_vs_rest : bool
        Whether the second class was told apart from several others: labels are then text.
    names, target : names of the features and of the target, where the training file had them
    recipe : Recipe or None
        How columns of a table became the features, where more was done than to take them.
    balanced : bool
        Whether rows of rare classes weigh more, so that all classes count the same.
    certificate : dict
        primal, dual, gap, rel_gap.
    training : dict
        How it was found: status, method, tol, passes, seconds, rows, stored, versions.
    """

    x: np.ndarray
    y: np.ndarray
    loss: Any
    reg: ElasticNet
    features: int
    intercept: bool = False
    mean: np.ndarray | None = None
    scale: np.ndarray | None = None
    classes: list[Any] | None = None
    names: list[str] | None = None
    target: str | None = None
    one_vs_rest: bool = False
    recipe: Recipe | None = None
    balanced: bool = False
    certificate: dict[str, float] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Whether there are three classes or more: a row of coefficients each."""
        return self.classes is not None and len(self.classes) > 2

    @property
    def rows(self) -> np.ndarray:
        """The solution, a row a class."""
        assert self.classes is not None
        return self.x.reshape(len(self.classes), -1)

    @property
    def coef(self) -> np.ndarray:
        """Coefficients of the features in the units of the data; of several classes a row each."""
        x = self.rows[:, : self.features] if self.several else self.x[: self.features]
        return x if self.scale is None else np.asarray(x / self.scale)

    @property
    def offset(self) -> Any:
        """What is added to ``A @ coef``: the intercept, less what centering took off."""
        if self.several:
            level = self.rows[:, -1] if self.intercept else np.zeros(len(self.rows))
            return level if self.mean is None else level - self.coef @ self.mean
        constant = float(self.x[-1]) if self.intercept else 0.0
        return constant if self.mean is None else constant - float(self.mean @ self.coef)

    def decision(self, A: Any) -> np.ndarray:
        """Margins a_i'coef + offset; of several classes a column each."""
        A = self.fitting(A)
        if self.several:
            if isinstance(A, Store):
                raise DataError(f"{A.path} is a store: several classes need data in memory")
            return np.asarray(np.asarray(A @ self.coef.T, dtype=float) + self.offset)
        product = A.grid.margins(self.coef) if isinstance(A, Store) else A @ self.coef
        margins: np.ndarray = np.asarray(product, dtype=float).ravel() + self.offset
        return margins

    def fitting(self, A: Any) -> Any:
        """Data that has the model's features and indices that can be followed, or a refusal."""
        if not isinstance(A, Store):
            A = trusted(A) if sp.issparse(A) else plain_array(A, "A")
        if len(A.shape) != 2 or A.dtype.kind not in "fiub":
            raise DataError(
                f"A must be a table of numbers, not {len(A.shape)} dimensions of {A.dtype}"
            )
        if A.shape[1] != self.features:
            raise DataError(f"the data has {A.shape[1]} features, the model {self.features}")
        return A

    def predict(self, A: Any) -> np.ndarray:
        """Labels, or numbers for the regression losses."""
        margins = self.decision(A)
        if self.several:
            return np.asarray(np.array(self.classes)[margins.argmax(axis=1)])
        if self.classes is not None:
            return np.asarray(np.where(margins > 0, *np.array(self.classes)[::-1]))
        return np.asarray(np.exp(margins) if self.loss.label_kind == "count" else margins)

    def probability(self, A: Any) -> np.ndarray:
        """Probability of the second class, of several a column each; logistic loss only."""
        if not self.loss.probabilities:
            raise ParameterError(f"{type(self.loss).__name__} gives no probabilities: use logistic")
        from scipy.special import expit, softmax

        if self.several:
            return np.asarray(softmax(self.decision(A), axis=1))
        return np.asarray(expit(self.decision(A)))

    def signs(self, b: np.ndarray) -> np.ndarray:
        """Labels of a file as the loss wants them: -1 and +1, or numbers as they are.

        Several classes: the number of each.
        """
        if self.classes is None:
            return numbers(b)
        if self.several:
            return codes_of(b, self.classes)
        if self.one_vs_rest:
            return np.where([label_text(v) == self.classes[1] for v in b.tolist()], 1.0, -1.0)
        strange = [v for v in np.unique(b).tolist() if v not in self.classes]
        if strange:
            shown = ", ".join(map(label_text, strange[:4]))
            raise DataError(f"labels the model does not know: {shown}; it has "
                            f"{self.classes[0]} and {self.classes[1]}")  # fmt: skip
        return np.where(b == np.array(self.classes)[1], 1.0, -1.0)

    def row_weights(self, signs: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """Weights of rows: those given, times those that make up for rare classes."""
        return balanced_weights(signs, weight) if self.balanced else weight

    def problem(self, A: Any, b: np.ndarray, weight: np.ndarray | None = None) -> Problem:
        """The problem this model solves, or would, on data: prepared as in training."""
        if self.several:
            raise DataError(
                f"there are {len(self.classes or [])} classes: name one label with --positive to "
                "tell it from the others"
            )
        signs = self.signs(b)
        return self.design(A).problem(signs, self.loss, self.reg, self.row_weights(signs, weight))

    def design(self, A: Any) -> Design:
        """The data as in training, ready for problems with or without an intercept."""
        A = self.fitting(A)
        return Design(standardized(A, self.mean, self.scale), self.intercept)

    def certify(self, A: Any, b: np.ndarray, weight: np.ndarray | None = None) -> Certificate:
        """How far from optimal the model is on this data, proven."""
        if self.several:
            X = standardized(self.fitting(A), self.mean, self.scale)
            codes = codes_of(b, self.classes or [])
            weight = self.row_weights(codes, weight)
            return certify_several(
                X, codes, len(self.rows), self.reg, self.intercept, self.rows, weight
            )
        problem = self.problem(A, b, weight)
        return certify_point(self.x, problem, self.y if len(self.y) == problem.n else None)


def fit_model(
    data: Data,
    loss: Any = "logistic",
    reg: Any = None,
    *,
    intercept: bool = False,
    standardize: bool = False,
    positive: str | None = None,
    sample_weight: Any = None,
    balanced: bool = False,
    recipe: Recipe | None = None,
    **options: Any,
) -> tuple[Model, Result]:
    """Train a model on the data of a file.

    Parameters
    ----------
    data : Data
    loss, reg : as for ``Problem``
    intercept : bool
        Add a column of ones without penalty.
    standardize : bool
        Divide each feature by its standard deviation; dense data is centered too, sparse data is
        not, because it would no longer be sparse.
    positive : str, optional
        The label to tell apart from all others; default: the larger of two. Without it, three
        labels and more are classes of one multinomial model under the logistic loss.
    sample_weight : array of shape (n,), optional
    balanced : bool
        Let rows of rare classes weigh more, so that all classes count the same.
    recipe : Recipe, optional
        How the features were made from the columns of a table: the model keeps it.
    options : passed on to ``solve``

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(60, 4))
    >>> data = Data(A, np.where(A[:, 0] > 0, "yes", "no"))
    >>> model, result = fit_model(data, "logistic", ElasticNet(l2=0.1), intercept=True)
    >>> result.status, model.classes, model.predict(A[:2] * 100).tolist()
    ('converged', ['no', 'yes'], ['yes', 'no'])
    """
    data = data._replace(A=trusted(data.A))
    model = blank_model(data, loss, reg, intercept, standardize, positive)
    if balanced and model.classes is None:
        raise ParameterError(f"{type(model.loss).__name__} has no classes to balance")
    model = replace(model, recipe=recipe, balanced=balanced)
    assert data.b is not None
    signs = model.signs(data.b)
    weight = model.row_weights(signs, sample_weight)
    if model.several:
        X = standardized(model.fitting(data.A), model.mean, model.scale)
        count = len(model.classes or [])
        result = solve_several(X, signs, count, model.reg, intercept, options, weight)
    else:
        result = model.design(data.A).solve(signs, model.loss, model.reg, weight, **options)
    return trained(model, data.A, result, options.get("tol", 1e-6)), result


def blank_model(
    data: Data, loss: Any, reg: Any, intercept: bool, standardize: bool, positive: str | None
) -> Model:
    """Everything about a model but its solution; what is wrong is refused here."""
    if data.b is None:
        raise DataError("the data has no labels: nothing to learn from")
    loss, reg = as_loss(loss), as_regularizer(reg)
    refuse_too_long(*data.A.shape)
    d = int(data.A.shape[1])
    reg.bind(d)
    classes = classes_of(data.b, loss, positive)
    mean, scale = moments(data.A) if standardize else (None, None)
    size = d + 1 if intercept else d
    count = 1 if classes is None or len(classes) == 2 else len(classes)
    blank = np.zeros(count * size), np.zeros(count * data.A.shape[0])
    several = classes is not None and positive is not None and len(np.unique(data.b)) > 2
    return Model(
        *blank, loss, reg, d, intercept, mean, scale, classes, data.names, data.target, several
    )  # fmt: skip


def trained(model: Model, A: Any, result: Result, tol: float) -> Model:
    """The model with what a run found."""
    names = ("primal", "dual", "gap", "rel_gap")
    rows, stored = int(A.shape[0]), entries_of(A)
    training = {
        "status": result.status, "method": result.method, "tol": float(tol),
        "passes": float(result.passes), "seconds": float(result.seconds),
        "rows": rows, "stored": stored + rows * model.intercept, "versions": versions(),
    }  # fmt: skip
    certificate = {name: float(getattr(result, name)) for name in names}
    return replace(
        model,
        x=result.x.ravel(),
        y=np.asarray(result.y).ravel(),
        certificate=certificate,
        training=training,
    )


def versions() -> dict[str, str]:
    """Versions of what computed."""
    return {
        "spd1": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "scipy": version("scipy"), "numba": version("numba"),
    }  # fmt: skip
