"""Find a data set in a folder, or download it once; check it every time.

The LIBSVM collection publishes no checksums. So the checksum of a file is recorded when it is
first downloaded, after its shape has been compared with the published one, and every later use is
checked against the record. Files put into the folder by hand are checked by shape alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError, install
from ..files import OPENERS, SUFFIXES, replacing
from ..io import Data, read_data
from .registry import COLLECTION, DataSet

__all__ = ["OfflineError", "cache_folder", "fetch", "find", "load"]

ADDRESS = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
RECORD = "checksums.json"
TIMEOUT = 30.0  # seconds without a byte
MOSTLY_FULL = 0.5  # a larger share of stored entries is handed out dense


class OfflineError(ConnectionError):
    """A data set is neither here nor to be had."""


def cache_folder() -> Path:
    """Where downloads are kept: ``SPD1_CACHE``, or the user's cache folder.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    chosen = os.environ.get("SPD1_CACHE")
    if chosen:
        return Path(chosen).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "spd1"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "spd1"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "spd1"


def load(name: str, *, download: bool = True, folder: str | Path | None = None) -> Data:
    r"""Load a data set: from a folder if it is there, else from the LIBSVM site, once.

    Looked for, in this order: ``folder``, the folder that ``SPD1_DATA`` names, the cache folder.
    A file counts if its name is that of the data set or that of the original file, with any of
    the suffixes that ``spd1.io.read_data`` knows.

    Parameters
    ----------
    name : str
        A name of ``spd1.datasets.COLLECTION``, or of a file in one of the folders.
    download : bool
    folder : str or Path, optional

    Returns
    -------
    Data
        ``A`` is dense if more than half of it is stored, else CSR; ``b`` as in the file.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "mine.svm"), "w") as file:
    ...     _ = file.write("1 1:1 2:2\n-1 2:3\n")
    >>> data = load("mine", folder=folder)
    >>> data.A.tolist(), data.b.tolist()
    ([[1.0, 2.0], [0.0, 3.0]], [1.0, -1.0])
    """
    known = COLLECTION.get(name)
    path = find(name, folder)
    if path is None:
        if known is None:
            names = ", ".join(COLLECTION)
            raise ParameterError(
                f"unknown data set {name!r}: choose from {names}, or put a file of that name into "
                "the folder SPD1_DATA"
            )
        if not download:
            raise OfflineError(f"{name} is not here, and downloading was not allowed: "
                               + what_to_do(known))  # fmt: skip
        path = fetch(name)
    check_record(path)
    return read_checked(path, known)


def find(name: str, folder: str | Path | None = None) -> Path | None:
    """The file of a data set in the folders, or None.

    Examples
    --------
    >>> find("no such data set", "/") is None
    True
    """
    known = COLLECTION.get(name)
    original = Path(known.remote).name if known and known.remote else name
    wanted = {name, original, bare(original)}
    for place in folders(folder):
        for candidate in sorted(place.iterdir()) if place.is_dir() else []:
            if candidate.is_file() and {candidate.name, bare(candidate.name)} & wanted:
                return candidate
    return None


def folders(folder: str | Path | None = None) -> list[Path]:
    """Where data sets are looked for, in order."""
    named = [folder, os.environ.get("SPD1_DATA"), cache_folder()]
    return [Path(place) for place in named if place]


def bare(name: str) -> str:
    """A file's name without compression and format suffixes; rcv1.binary keeps its dot."""
    for suffixes in (OPENERS, SUFFIXES):
        stem, suffix = os.path.splitext(name)
        if suffix.lower() in suffixes and suffix.lower() != ".t":
            name = stem
    return name


def fetch(name: str) -> Path:
    """Download a data set into the cache folder, unless it is there; return its path.

    Needs pooch: ``pip install 'spd1[data]'``. ``SPD1_MIRROR`` names another address to get the
    collection from.
    """
    known = COLLECTION.get(name)
    if known is None:
        raise ParameterError(f"unknown data set {name!r}: choose from {', '.join(COLLECTION)}")
    place = cache_folder() / (Path(known.remote).name if known.remote else name)
    if known.remote and place.exists():
        check_record(place)
        return place
    if not known.remote:
        raise OfflineError(f"{name} can't be downloaded: {what_to_do(known)}")
    download(known, place)
    try:
        read_checked(place, known)
    except DataError:
        place.unlink(missing_ok=True)  # not to be taken for the real one next time
        raise
    record(place)
    return place


def download(known: DataSet, place: Path) -> None:
    """Get the file by HTTP, whole or not at all."""
    try:
        import pooch
        from requests.exceptions import RequestException
    except ImportError:
        advice = install("downloads need pooch", "data")
        raise ImportError(f"{advice}; or {what_to_do(known)}") from None
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            address(known), known_hash=None, fname=place.name, path=place.parent, downloader=_get
        )  # fmt: skip
    except (RequestException, OSError) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise OfflineError(
            f"{known.name} can't be downloaded ({reason}): {what_to_do(known)}"
        ) from None


def _get(url: str, output_file: str, _: Any) -> None:
    """What pooch calls to download; its own downloader leaves connections open."""
    import requests

    with requests.get(url, stream=True, timeout=TIMEOUT) as response, open(output_file, "wb") as f:
        response.raise_for_status()
        for chunk in response.iter_content(2**16):
            f.write(chunk)


def address(known: DataSet) -> str:
    """Where the file lies."""
    base = os.environ.get("SPD1_MIRROR") or ADDRESS
    return base.rstrip("/") + "/" + known.remote


def what_to_do(known: DataSet) -> str:
    """One sentence for somebody without the file."""
    if not known.remote:
        return f"put a file {known.name}.svm into a folder and name the folder in SPD1_DATA"
    return (
        f"get {ADDRESS}{known.remote} elsewhere and put it into {cache_folder()}, or into a folder "
        "named by SPD1_DATA"
    )


def read_checked(path: Path, known: DataSet | None) -> Data:
    """Read a file and compare its shape with the published one."""
    data = read_data(path, n_features=known.features if known else None)
    if known is not None and data.A.shape != (known.rows, known.features):
        raise DataError(
            f"{path} is {data.A.shape[0]} x {data.A.shape[1]}, but {known.name} is {known.rows} x "
            f"{known.features}: not the file it is named after"
        )
    return data._replace(A=dense_if_full(data.A))


def dense_if_full(A: Any) -> Any:
    """An array where most entries are stored."""
    if not isinstance(A, np.ndarray) and A.nnz > MOSTLY_FULL * A.shape[0] * A.shape[1]:
        return A.toarray()
    return A


def record(path: Path) -> None:
    """Remember the checksum of a file."""
    known = read_record(path.parent) | {path.name: checksum(path)}
    with replacing(path.parent / RECORD) as stream:
        stream.write(json.dumps(known, indent=1, sort_keys=True).encode())


def check_record(path: Path) -> None:
    """Refuse a file that has changed since it was downloaded."""
    wanted = read_record(path.parent).get(path.name)
    if wanted is not None and wanted != checksum(path):
        raise DataError(f"{path} has changed since it was downloaded: delete it to get it again")


def read_record(folder: Path) -> dict[str, str]:
    """The checksums kept in a folder."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
