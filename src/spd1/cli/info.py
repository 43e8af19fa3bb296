"""spd1 info and convert: look at a data file, write it in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer

from ..errors import DataError
from ..files import check_writable, format_of
from ..io import Data, libsvm_to_npz, write_data
from ..io.libsvm import has_index_zero
from ..problem import Problem
from . import options as o
from .exits import guarded
from .fit import problem_of
from .show import describe_data, print_json, say

AutoLoss = Annotated[
    str | None, typer.Option(help="Default: logistic for two labels, squared for numbers")
]
Destination = Annotated[Path, typer.Argument(help="Its suffix says the format")]
DenseToo = Annotated[bool, typer.Option("--dense", help="Allow sparse data to become dense")]
ToFormat = Annotated[str | None, typer.Option(help="Format of the new file, if not by its suffix")]


@guarded
def info(
    data: o.DataFile,
    loss: AutoLoss = None,
    l1: o.L1 = 0.0,
    l2: o.L2 = None,
    intercept: o.Intercept = False,
    standardize: o.Standardize = False,
    positive: o.Positive = None,
    target: o.Target = None,
    format: o.Format = None,
    features: o.Features = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    json: o.Json = False,
) -> None:
    """Show shape, density, norms, condition numbers, and which method auto would take and why.

    spd1 info train.svm --loss logistic --l2 1e-3
    """
    table = o.read_file(data, format, target, features, zero_based, no_check)
    facts = shape_facts(table)
    if table.b is not None:
        name = loss or guess_loss(table.b)
        reg = o.make_regularizer(l1, l2, -o.NO_BOUND, o.NO_BOUND)
        chosen = o.make_loss(name, None)
        problem = problem_of(table, chosen, reg, intercept, standardize, positive)
        facts |= problem_facts(problem)
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
    force: o.Force = False,
) -> None:
    """Write a data file in another format.

    LIBSVM text becomes NPZ some rows at a time, whatever its size, and NPZ files are mapped into
    memory instead of read: so data larger than memory can be used.

    spd1 convert big.svm.gz big.npz
    """
    check_writable(destination, force)
    if destination.exists() and destination.resolve() == source.resolve():
        raise DataError(f"{source} can't be converted onto itself")
    kinds = format_of(source, format), format_of(destination, to)
    if kinds == ("libsvm", "npz"):
        based = has_index_zero(source) if zero_based is None else zero_based
        n, d, stored = libsvm_to_npz(source, destination, features, based)
        say(f"{destination}: {n:,} rows, {d:,} features, {stored:,} stored entries")
        return
    data = o.read_file(source, format, target, features, zero_based, no_check)
    write_data(destination, data, format=to, dense=dense)
    say(f"{destination}: {describe_data(data)}")
