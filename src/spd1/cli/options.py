"""Arguments and options that several commands share."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Annotated, Any

import typer

from ..data.memory import refuse_too_long
from ..errors import DataError, ParameterError
from ..files import format_of
from ..io import Data, read_data
from ..io.libsvm import largest_index
from ..losses import BY_NAME, as_loss
from ..models.recipe import FILLS
from ..regularizers import ElasticNet
from .asked import refuse_reading

DEFAULT_L2 = 1e-3  # the paper's
READING, RUNNING = "Reading the file", "Running"  # panels of the help

DataFile = Annotated[
    Path,
    typer.Argument(
        help="CSV or LIBSVM text (plain, .gz, .bz2, .xz), Parquet, NPZ, NPY, or a store (folder)",
        show_default=False,
        metavar="DATA",
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(help="A file written by spd1 fit or cv", show_default=False, metavar="MODEL"),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="libsvm, csv, parquet, npz, npy or store; default: by the file's suffix",
        rich_help_panel=READING,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="Column with the target, by name or number; default: the last one",
        rich_help_panel=READING,
    ),
]
Features = Annotated[
    int | None,
    typer.Option(
        help="Number of features of LIBSVM text; default: the largest index",
        rich_help_panel=READING,
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether LIBSVM indices start at 0; default: look",
        rich_help_panel=READING,
    ),
]
Loss = Annotated[str, typer.Option(help=", ".join(BY_NAME))]
LossParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--loss-param",
        help="A parameter of the loss, such as delta=1.0; may come several times",
        metavar="NAME=NUMBER",
    ),
]
L1 = Annotated[float, typer.Option(help="Weight of the sum of absolute values", min=0.0)]
L2 = Annotated[
    float | None,
    typer.Option(
        help=f"Weight of half the sum of squares; default: {DEFAULT_L2:g}, or 0 with --l1",
        show_default=False,
    ),
]
Lower = Annotated[float, typer.Option(help="Lower bound of every coefficient")]
Upper = Annotated[float, typer.Option(help="Upper bound of every coefficient")]
Intercept = Annotated[bool, typer.Option("--intercept", help="Fit a constant without penalty")]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize",
        help="Divide features by their standard deviation; dense data is centered too",
    ),
]
Positive = Annotated[
    str | None, typer.Option(help="The label to tell from all others; default: the larger of two")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to leave out, with commas between, such as name,ticket",
        metavar="NAMES",
        rich_help_panel=READING,
    ),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Columns whose numbers are words, such as codes: one-hot",
        metavar="NAMES",
        rich_help_panel=READING,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line of a CSV file is a row: columns are 0, 1, ...",
        rich_help_panel=READING,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        help=f"What becomes of missing values: {', '.join(FILLS)}", rich_help_panel=READING
    ),
]
MaxCategories = Annotated[
    int,
    typer.Option(
        help="A text column with more different words is refused", min=1, rich_help_panel=READING
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        help="Column with the weights of the rows", show_default=False, rich_help_panel=READING
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="balanced: rows of rare classes weigh more, all classes count the same",
        show_default=False,
    ),
]
TrainFraction = Annotated[
    float | None,
    typer.Option(
        help="Train on this share of the rows, at random, and report scores on the others",
        show_default=False,
    ),
]
Tol = Annotated[float, typer.Option(help="Relative duality gap to prove")]
MaxPasses = Annotated[
    float | None,
    typer.Option(
        help="Stop after so many passes over the data; default 2,000, for newton 500 looks",
        rich_help_panel=RUNNING,
    ),
]
MaxSeconds = Annotated[
    float | None, typer.Option(help="Stop after so many seconds", rich_help_panel=RUNNING)
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="Keep the run in this file, and go on from it where it exists", rich_help_panel=RUNNING
    ),
]
Every = Annotated[
    float,
    typer.Option(help="Seconds between two writings of the checkpoint", rich_help_panel=RUNNING),
]
Seed = Annotated[
    int,
    typer.Option(
        help="Same seed, same bits",
        min=0,
        max=2**32 - 1,  # scikit-learn, which splits rows, takes no larger one
        rich_help_panel=RUNNING,
    ),
]
NoCheck = Annotated[
    bool,
    typer.Option(
        "--no-check",
        help="Don't compare the checksums of an NPZ file: saves a pass",
        rich_help_panel=READING,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no report")]


def read_file(
    path: Path,
    format: str | None,
    target: str | None,
    features: int | None,
    zero: bool | None,
    no_check: bool = False,
) -> Data:
    """Read a data file as the options say."""
    refuse_model(path)
    refuse_reading(path, format)
    kind = format_of(path, format)
    based: bool | str = "auto" if zero is None else zero
    data = read_data(
        path, format=format, target=target, n_features=features, zero_based=based,
        check=not no_check,
    )  # fmt: skip
    try:
        refuse_too_long(*data.A.shape)
    except DataError as error:
        where = str(path)
        if kind == "libsvm" and features is None:
            index, line = largest_index(path)
            where = f"{path}, line {line}: index {index:,}"
        raise DataError(f"{where}: {error}") from None
    return data


def is_model(path: Path) -> bool:
    """Whether a file is a model: a zip with model.json in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "model.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def refuse_model(path: Path) -> None:
    """Refuse a model where data is meant."""
    if is_model(path):
        raise DataError(f"{path} is a model, and data is needed here; spd1 show shows models")


def make_loss(name: str, parameters: list[str] | None) -> Any:
    """The loss of --loss and --loss-param."""
    loss = as_loss(name)
    values = {}
    for text in parameters or []:
        key, _, value = text.partition("=")
        own = [field for field in loss._fields if field != "unit"]
        if key not in own:
            takes = f"takes {', '.join(own)}" if own else "takes no parameters"
            raise ParameterError(f"--loss-param {text}: {type(loss).__name__} {takes}")
        try:
            values[key] = float(value)
        except ValueError:
            raise ParameterError(f"--loss-param {text}: write {key}=NUMBER") from None
    return as_loss(loss._replace(**values)) if values else loss


def refuse_limits(passes: float | None, seconds: float | None) -> None:
    """Refuse limits that mean nothing, before a file is read."""
    for option, value in (("--max-passes", passes), ("--max-seconds", seconds)):
        if value is not None and not value > 0:
            raise ParameterError(f"{option} must be a positive number, got {value:g}")


def make_regularizer(l1: float, l2: float | None, lower: float, upper: float) -> ElasticNet:
    """The regularizer of --l1, --l2, --lower and --upper."""
    if l2 is None:
        l2 = 0.0 if l1 > 0 else DEFAULT_L2
    return ElasticNet(l1=l1, l2=l2, lower=lower, upper=upper)


NO_BOUND = math.inf
