"""spd1 show: what a model file holds."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..certificate.gap import Certificate
from ..errors import DataError
from ..files import check_writable, format_of, replacing
from ..io import Model, load_model
from ..io.mixed_tables import read_table
from ..losses import BY_NAME
from ..models.labels import label_text
from . import options as o
from .asked import refuse_options
from .exits import guarded
from .show import print_json, say

__all__ = ["model_facts", "print_columns", "print_model", "show"]

Top = Annotated[
    int, typer.Option(help="How many coefficients, the largest first; 0: all of them", min=0)
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", help="Write all coefficients to this file, one per line")
]
TABLE_WIDTH = 8  # classes that a table has columns for


@guarded
def show(
    model: o.ModelFile,
    top: Top = 20,
    csv: CsvFile = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Show a model: loss, penalty, what is proven, coefficients by name.

    spd1 show model.spd1 --top 10 --csv coefficients.csv
    """
    if json:
        refuse_options(["--top"], "--json prints all coefficients: choose one")
    if csv is not None:
        check_writable(csv, force, [model])
    trained = load_model(model)
    if csv is not None:
        write_coefficients(csv, trained)
    if json:
        print_json(model_facts(trained) | {"coefficients": coefficients(trained)})
        return
    print_model(model, trained)
    print_coefficients(trained, top)
    if csv is not None:
        say(f"Coefficients: {csv}")


def model_facts(model: Model) -> dict[str, Any]:
    """What --json prints of a model, but for its coefficients."""
    reg = {name: getattr(model.reg, name) for name in ("l1", "l2", "lower", "upper")}
    return {
        "loss": loss_name(model),
        "loss_parameters": model.loss._asdict(),
        "penalty": reg,
        "features": model.features,
        "nonzero_coefficients": int(np.count_nonzero(model.coef)),
        "intercept": model.offset if model.intercept else None,
        "classes": model.classes,
        "target": model.target,
        "standardized": model.scale is not None,
        "balanced": model.balanced,
        "recipe": None if model.recipe is None else model.recipe.to_json(),
        **model.certificate,
        "training": model.training,
    }


def loss_name(model: Model) -> str:
    """The name that --loss takes."""
    return next(name for name, cls in BY_NAME.items() if type(model.loss) is cls)


def print_model(path: Path, model: Model) -> None:
    """The model in words."""
    values = model.loss._asdict().items()
    parameters = ", ".join(f"{k} = {v:g}" for k, v in values if k != "unit")
    say(f"{path}: {loss_name(model)} loss{f' ({parameters})' if parameters else ''}, {model.reg}")
    if model.classes is not None:
        labels = [label_text(label) for label in model.classes]
        way = f"; above zero speaks for {labels[1]}" if len(labels) == 2 else ""
        target = f"{model.target}: " if model.target else ""
        say(f"Classes: {target}{', '.join(labels[:10])}{' ...' if labels[10:] else ''}{way}.")
    elif model.target:
        say(f"Target: {model.target}.")
    training = model.training
    added = [
        *(["a constant"] if model.intercept else []),
        *(["standardized features"] if model.scale is not None else []),
        *(["all classes counting the same"] if model.balanced else []),
    ]
    extra = f", with {' and '.join(added)}" if added else ""
    if "rows" in training:
        say(f"Trained on {training['rows']:,} rows, {model.features:,} features{extra}.")
    for sentence in model.recipe.sentences() if model.recipe is not None else ():
        say(f"{sentence}.")
    if model.certificate:
        say(f"{Certificate(y=model.y, **model.certificate)!s}")
    if "method" in training:
        say(f"Method: {training['method']}; {training['status']}, tol {training['tol']:g}.")


def coefficients(model: Model) -> dict[str, Any]:
    """Coefficients by name, in units of the data; of several classes a list each."""
    names = model.names or [f"x{j + 1}" for j in range(model.features)]
    found = dict(zip(names, np.atleast_2d(model.coef).T.tolist(), strict=True))
    return found if model.several else {name: values[0] for name, values in found.items()}


def table_of(model: Model) -> tuple[list[str], list[str], np.ndarray]:
    """Names of the columns, names of the features, values of shape (features, columns)."""
    names = model.names or [f"x{j + 1}" for j in range(model.features)]
    header = [label_text(c) for c in model.classes or []] if model.several else ["coefficient"]
    return header, names, np.atleast_2d(model.coef).T


def print_coefficients(model: Model, top: int) -> None:
    """The largest coefficients, and the constant."""
    header, names, values = table_of(model)
    size = np.abs(values).max(axis=1)
    order = np.argsort(-size, kind="stable")
    order = order[size[order] > 0]
    shown = order[: top or len(order)]
    table = Table("feature", *(f"{h}" for h in header[:TABLE_WIDTH]), box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for j in shown:
        table.add_row(names[j], *(f"{v:.6g}" for v in values[j, :TABLE_WIDTH]))
    if model.intercept or model.mean is not None:
        table.add_row("(constant)", *(f"{v:.6g}" for v in np.ravel(model.offset)[:TABLE_WIDTH]))
    say("")
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(table)
    left, zeros = len(order) - len(shown), len(names) - len(order)
    rest = [f"{left:,} smaller ones (--top 0 shows all)"] if left else []
    rest += [f"{zeros:,} that are zero"] if zeros else []
    if len(header) > TABLE_WIDTH:
        rest.append(f"{len(header) - TABLE_WIDTH} more classes (--csv)")
    if rest:
        say(f"and {', '.join(rest)}")


def write_coefficients(path: Path, model: Model) -> None:
    """All coefficients, zeros too, and the constant last; every digit."""
    header, names, values = table_of(model)
    with replacing(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["feature", *header])
        for name, row in zip(names, values.tolist(), strict=True):
            writer.writerow([name, *map(repr, row)])
        writer.writerow(["(constant)", *(repr(float(v)) for v in np.ravel(model.offset))])
        text.flush()
        text.detach()


def print_columns(path: Path, format: str | None) -> None:
    """Every column of a table that has text or missing values; nothing for other files."""
    kind = format_of(path, format)
    if kind not in ("csv", "parquet") or not path.is_file():
        return
    try:
        table = read_table(path, kind)
    except DataError:  # said by who reads it next
        return
    lines = Table("column", "kind", "missing", "values", box=None)
    unusual = False
    for name, values in zip(table.names, table.columns, strict=True):
        text = values.dtype.kind == "U"
        gone = values == "" if text else np.isnan(values)
        there = values[~gone]
        unusual = unusual or text or bool(gone.any())
        if text:
            words = np.unique(there)
            shown = ", ".join(words[:3].tolist())
            what = f"{len(words):,} words: {shown[:50]}{', ...' if len(words) > 3 else ''}"
        else:
            what = f"{there.min():g} to {there.max():g}" if len(there) else ""
        missing = f"{int(gone.sum()):,}" if gone.any() else ""
        lines.add_row(name, "text" if text else "numbers", missing, what)
    if unusual:
        Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(lines)
