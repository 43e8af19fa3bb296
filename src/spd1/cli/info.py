"""spd1 info and convert: look at a data file, write it in another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer

from ..data.store import Store
from ..errors import DataError, ParameterError
from ..files import check_writable, format_of
from ..io import Data, libsvm_to_npz, load_model, write_data
from ..io.libsvm import has_index_zero
from ..io.store import TILE_MB, write_store
from ..problem import Problem
from . import options as o
from .asked import options_given, refuse_options, refuse_reading
from .describe import model_facts, print_columns, print_model
from .exits import guarded
from .fit import problem_of
from .groups import Preparation, TableFileOptions, with_groups
from .show import describe_data, print_json, say, share_bar
from .table import prepared

AutoLoss = Annotated[
    str | None, typer.Option(help="Default: logistic for two labels, squared for numbers")
]
Destination = Annotated[
    str,
    typer.Argument(
        help="Its suffix says the format; NAME/ and NAME.store are stores", metavar="DESTINATION"
    ),
]
DenseToo = Annotated[bool, typer.Option("--dense", help="Allow sparse data to become dense")]
ToFormat = Annotated[str | None, typer.Option(help="Format of the new file, if not by its suffix")]
Float32 = Annotated[
    bool, typer.Option("--float32", help="Stores: keep seven digits, half the size")
]
TileMB = Annotated[
    float | None, typer.Option(help="Stores: megabytes of a tile; default 64", show_default=False)
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Compare all checksums of a store: reads every byte")
]
ABOUT_PROBLEM = ("--loss", "--l1", "--l2", "--intercept", "--standardize", "--positive", "--weight")


@guarded
@with_groups
def info(
    data: o.DataFile,
    loss: AutoLoss = None,
    l1: o.L1 = 0.0,
    l2: o.L2 = None,
    *,
    about: Preparation,
    file: TableFileOptions,
    verify: Verify = False,
    json: o.Json = False,
) -> None:
    """Show shape, density, norms, condition numbers, and which method auto would take and why.

    spd1 info train.svm --loss logistic --l2 1e-3

    Of a model file it shows what spd1 show does, without the coefficients.
    """
    if data.suffix == ".spd1" or o.is_model(data):
        wrong = [name for name in options_given() if name != "--json"]
        refuse_options(wrong, f"{data} is a model, of which info shows what it holds: leave it out")
        trained = load_model(data)
        print_json(model_facts(trained)) if json else print_model(data, trained)
        return
    try:
        rows = prepared(data, file.reading, file.table)
    except DataError:
        if not json:
            print_columns(data, file.format)  # what there is to drop or to fill in
        raise
    if rows.recipe is not None and not json:
        print_columns(data, file.format)
    table = rows.data
    if verify:
        if not isinstance(table.A, Store):
            raise ParameterError(f"{data} is no store: --verify is for stores")
        table.A.verify()
    facts = shape_facts(table)
    if table.b is not None:
        name = loss or guess_loss(table.b)
        reg = o.make_regularizer(l1, l2, -o.NO_BOUND, o.NO_BOUND)
        chosen = o.make_loss(name, None)
        problem = problem_of(table, chosen, reg, about, rows.weight)
        facts |= problem_facts(problem)
    else:
        refuse_options(ABOUT_PROBLEM, f"{data} has no labels, so there is no problem to tell about")
    if json:
        print_json({"file": str(data), **facts})
        return
    say(f"{data}: {describe_data(table)}")
    for key, value in facts.items():
        if key not in ("rows", "features", "stored", "density"):
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            say(f"{key.replace('_', ' '):22s} {shown}")


def guess_loss(b: np.ndarray) -> str:
    """Logistic for two labels or text, squared for numbers."""
    return "logistic" if b.dtype.kind not in "fiub" or len(np.unique(b)) == 2 else "squared"


def shape_facts(data: Data) -> dict[str, Any]:
    """Facts about the matrix alone."""
    n, d = data.A.shape
    if isinstance(data.A, Store):
        return store_facts(data.A)
    if sp.issparse(data.A):
        rows, columns = sp.csr_array(data.A), sp.csc_array(data.A)
        stored = int(rows.nnz)
        empty = int(np.sum(np.diff(rows.indptr) == 0)), int(np.sum(np.diff(columns.indptr) == 0))
    else:
        stored = n * d
        empty = int(np.sum(~np.any(data.A, axis=1))), int(np.sum(~np.any(data.A, axis=0)))
    return {
        "rows": n, "features": d, "stored": stored, "density": stored / (n * d),
        "type": f"{'sparse' if sp.issparse(data.A) else 'dense'} {data.A.dtype}",
        "empty_rows": empty[0], "empty_features": empty[1],
    }  # fmt: skip


def store_facts(store: Store) -> dict[str, Any]:
    """The same of a store, as it knows them, and how it is cut."""
    grid = store.grid
    rows, columns = grid.row_counts, grid.column_counts
    if store.dense:
        rows, columns = grid.row_squares, grid.column_squares
    return {
        "rows": store.n, "features": store.d, "stored": store.stored,
        "density": store.stored / (store.n * store.d),
        "type": f"store, {'dense' if store.dense else 'sparse'} {store.dtype}",
        "tiles": f"{store.tiles[0]} x {store.tiles[1]}", "megabytes": store.nbytes / 2**20,
        "empty_rows": int(np.sum(rows == 0)), "empty_features": int(np.sum(columns == 0)),
    }  # fmt: skip


def problem_facts(problem: Problem) -> dict[str, Any]:
    """Facts about the problem that fit would solve."""
    from ..solvers.auto import first_taken

    method, reason = first_taken(problem)
    zero = problem.primal(problem.reg.minimiser(problem.d))
    return {
        "problem": f"{problem.loss} with {problem.reg}",
        "largest_row_norm_R": problem.R,
        "largest_column_norm_R'": problem.R_prime,
        "smoothness_gamma": problem.gamma,
        "strong_convexity_mu": problem.mu,
        "kappa": problem.kappa,
        "kappa'": problem.kappa_prime,
        "objective_at_start": zero,
        "auto_takes": f"{method} ({reason})",
    }


@guarded
def convert(
    source: o.DataFile,
    destination: Destination,
    format: o.Format = None,
    to: ToFormat = None,
    target: o.Target = None,
    features: o.Features = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    dense: DenseToo = False,
    float32: Float32 = False,
    tile_mb: TileMB = None,
    force: o.Force = False,
) -> None:
    """Write a data file in another format.

    A store is a folder of tiles, written some rows at a time whatever the size of the file; fit,
    predict, certify and info take it without reading it into memory. LIBSVM text becomes NPZ in the
    same way, and NPZ files are mapped.

    spd1 convert big.svm.gz big.store
    """
    refuse_reading(source, format)
    place = Path(destination)
    kind = "store" if destination.endswith(("/", os.sep)) and to is None else format_of(place, to)
    if place.exists() and place.resolve() == source.resolve():
        raise DataError(f"{source} can't be converted onto itself")
    if kind == "store":
        to_store(source, place, format, target, features, zero_based, no_check, float32, tile_mb,
                 force)  # fmt: skip
        return
    if float32 or tile_mb is not None:
        raise ParameterError(f"--float32 and --tile-mb are for stores, and {place} is {kind}")
    check_writable(place, force)
    if (format_of(source, format), kind) == ("libsvm", "npz"):
        based = has_index_zero(source) if zero_based is None else zero_based
        n, d, stored = libsvm_to_npz(source, place, features, based)
        say(f"{destination}: {n:,} rows, {d:,} features, {stored:,} stored entries")
        return
    data = o.read_file(source, format, target, features, zero_based, no_check)
    write_data(place, data, format=to, dense=dense)
    say(f"{destination}: {describe_data(data)}")


def to_store(
    source: Path,
    place: Path,
    format: str | None,
    target: str | None,
    features: int | None,
    zero_based: bool | None,
    no_check: bool,
    float32: bool,
    tile_mb: float | None,
    force: bool,
) -> None:
    """Write a store, with a bar that shows how far it is."""
    with share_bar(f"writing {place.name}") as told:
        store = write_store(
            place, source, tile_mb=TILE_MB if tile_mb is None else tile_mb,
            dtype="float32" if float32 else None, overwrite=force, progress=told, format=format,
            target=target, n_features=features,
            zero_based="auto" if zero_based is None else zero_based, check=not no_check,
        )  # fmt: skip
    say(f"{place}: {describe_data(Data(store, store.labels))}, "
        f"{store.tiles[0]} x {store.tiles[1]} tiles, {store.nbytes / 2**20:,.1f} MB")  # fmt: skip
