"""spd1 predict, evaluate and certify: what can be done with a model file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..errors import DataError, ParameterError
from ..files import check_writable, replacing
from ..io import load_model
from ..io.arrays import write_npy
from ..models.labels import label_text
from . import options as o
from .exits import NOT_REACHED, guarded
from .metrics import metrics
from .show import print_json, say
from .table import note, read_for

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File for the predictions: .npy, or text, one per line"),
]
Probability = Annotated[
    bool,
    typer.Option(
        "--probability",
        help="Print chances instead: of the second class, or of each of several (logistic)",
    ),
]
Margin = Annotated[
    bool, typer.Option("--margin", help="Print the sums of coefficients times features instead")
]
Asked = Annotated[
    float | None, typer.Option(help="Exit with code 4 unless this relative gap is proven")
]


@guarded
def predict(
    model: o.ModelFile,
    data: o.DataFile,
    output: Output = None,
    probability: Probability = False,
    margin: Margin = False,
    format: o.Format = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    force: o.Force = False,
) -> None:
    """Predict a label or number for each row, one per line.

    spd1 predict model.spd1 new.svm -o predictions.txt
    """
    if probability and margin:
        raise ParameterError("--probability and --margin: choose one")
    if output is not None:
        check_writable(output, force, [model, data])
    trained = load_model(model)
    A = read_for(trained, data, format, zero_based, no_check)[0].A
    if probability:
        values = trained.probability(A)
    else:
        values = trained.decision(A) if margin else trained.predict(A)
    if output is not None and output.suffix == ".npy":
        if values.dtype.kind == "U":
            raise ParameterError("these labels are text: name a text file instead of .npy")
        write_npy(output, values)
        return
    rows = values.tolist()
    if values.ndim == 2:  # several classes: a number each
        text = "".join(" ".join(map(_shown, row)) + "\n" for row in rows)
    else:
        text = "".join(f"{_shown(v)}\n" for v in rows)
    if output is None:
        sys.stdout.write(text)
    else:
        with replacing(output) as stream:
            stream.write(text.encode("utf-8"))


def _shown(value: float | str) -> str:
    """Whole numbers as people write labels, others with all their digits."""
    return label_text(value) if isinstance(value, str) or value == int(value) else repr(value)


@guarded
def evaluate(
    model: o.ModelFile,
    data: o.DataFile,
    format: o.Format = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    json: o.Json = False,
) -> None:
    """Compare predictions with the labels: accuracy, AUC and log loss, or R2 and errors.

    spd1 evaluate model.spd1 test.svm
    """
    trained = load_model(model)
    table, _ = read_for(trained, data, format, zero_based, no_check)
    if table.b is None:
        raise DataError(f"{data} has no labels to compare with")
    found = metrics(trained, table.A, table.b)
    if json:
        print_json({"rows": len(table.b), **found})
        return
    for name, value in found.items():
        say(f"{name.replace('_', ' '):22s} {value:.6g}")


@guarded
def certify(
    model: o.ModelFile,
    data: o.DataFile,
    tol: Asked = None,
    format: o.Format = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    json: o.Json = False,
) -> None:
    """Prove anew how far from optimal a model is on a file, its training file or another.

    spd1 certify model.spd1 train.svm --tol 1e-6
    """
    if tol is not None and not 0 < tol < 1:
        raise ParameterError(f"--tol must be between 0 and 1, got {tol:g}")
    trained = load_model(model)
    table, weight = read_for(trained, data, format, zero_based, no_check)
    if table.b is None:
        raise DataError(f"{data} has no labels: the objective is not known")
    wanted = None if trained.recipe is None else trained.recipe.weight
    if wanted is not None and weight is None:
        raise DataError(f"{data} has no column {wanted!r} with the weights of the rows")
    rows = trained.training.get("rows", len(table.b))
    if rows != len(table.b):
        note(f"{data} has {len(table.b):,} rows, the model was trained on {rows:,}: this is about "
             "other data than its own certificate")  # fmt: skip
    found = trained.certify(table.A, table.b, weight)
    if json:
        print_json({name: getattr(found, name) for name in ("primal", "dual", "gap", "rel_gap")})
    else:
        say(str(found))
    if tol is not None and not (np.isfinite(found.rel_gap) and found.rel_gap <= tol):
        raise typer.Exit(NOT_REACHED)
