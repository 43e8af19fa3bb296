"""Model files: a zip of JSON and NPY members. Reading one runs no code.

Members
-------
model.json
    Everything but the arrays, with ``"format": "spd1-model"`` and a version.
x.npy, y.npy, mean.npy, scale.npy, l1.npy, ...
    float64 vectors, those that the model has.
SHA256SUMS
    Checksums of all other members, as the ``sha256sum`` program writes them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ..errors import DataError, ParameterError
from ..files import read_array_header, reading, replacing
from ..losses import BY_NAME, as_loss
from ..regularizers import FIELDS, ElasticNet
from .model import Model
from .recipe import Recipe

__all__ = ["load_model", "save_model"]

FORMAT, VERSION = "spd1-model", 3  # 2: several classes; 3: a recipe, or balanced classes
SUMS = "SHA256SUMS"
MOST_TEXT = 256 * 2**20  # bytes of model.json: a hundred million names would fit
ARRAYS = ("x", "y", "mean", "scale", *FIELDS)
MEMBERS = {"model.json", SUMS, *(f"{name}.npy" for name in ARRAYS)}
PLAIN = ("features", "intercept", "classes", "names", "target", "one_vs_rest")


def save_model(path: str | Path, model: Model, *, overwrite: bool = True) -> None:
    """Write a model, whole or not at all, under any name.

    Examples
    --------
    >>> import os, tempfile, numpy as np, spd1
    >>> path = os.path.join(tempfile.mkdtemp(), "tiny.model")
    >>> save_model(path, Model(np.ones(2), np.zeros(3), spd1.Huber(1.0), spd1.L2(0.1), 2))
    >>> again = load_model(path)
    >>> again.loss, again.reg, again.coef.tolist()
    (Huber(delta=1.0), ElasticNet(l2=0.1), [1.0, 1.0])
    """
    arrays = {name: getattr(model, name) for name in ("x", "y", "mean", "scale")}
    arrays |= {name: getattr(model.reg, name) for name in FIELDS}
    arrays = {name: value for name, value in arrays.items() if np.ndim(value) == 1}
    members = {f"{name}.npy": _npy(value) for name, value in arrays.items()}
    text = json.dumps(_description(model), indent=1, allow_nan=False, ensure_ascii=False)
    members = {"model.json": text.encode("utf-8"), **members}
    sums = "".join(f"{hashlib.sha256(v).hexdigest()}  {name}\n" for name, v in members.items())
    with replacing(path, overwrite) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in (members | {SUMS: sums.encode()}).items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


def load_model(path: str | Path) -> Model:
    """Read a model file; a foreign or corrupted one is refused by name.

    Parameters
    ----------
    path : str or Path
        What ``save_model`` or ``spd1 fit`` has written.

    Returns
    -------
    Model

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, spd1
    >>> from spd1.io import Data, fit_model, load_model, save_model
    >>> A = np.random.default_rng(0).normal(size=(60, 5))
    >>> model, result = fit_model(Data(A, A[:, 0]), "squared", spd1.L1(0.1))
    >>> path = os.path.join(tempfile.mkdtemp(), "model.spd1")
    >>> save_model(path, model)
    >>> bool(np.all(load_model(path).predict(A) == model.predict(A)))
    True
    """
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive:
                return _load(path, archive)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path} is not a spd1 model, or damaged ({error})") from None


def _load(path: str | Path, archive: zipfile.ZipFile) -> Model:
    names = [info.filename for info in archive.infolist()]
    if "model.json" not in names:
        raise DataError(f"{path} is not a spd1 model: it has no model.json")
    strange = [name for name in names if name not in MEMBERS]
    if strange or len(set(names)) != len(names) or SUMS not in names:
        what = f"a member {strange[0][:60]!r}" if strange else "members that don't belong together"
        raise DataError(f"{path} is not a spd1 model: it has {what}")
    text = _read(path, archive, "model.json", MOST_TEXT)
    try:
        about = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged: model.json can't be read ({error})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DataError(f"{path} is not a spd1 model: model.json says otherwise")
    if not isinstance(about.get("version"), int) or about["version"] > VERSION:
        raise DataError(f"{path} is of version {about.get('version')}; this spd1 reads up to "
                        f"{VERSION}: install a newer one")  # fmt: skip
    contents = {"model.json": text}
    try:
        sizes = {name: int(size) for name, size in about["arrays"].items()}
        for name, size in sizes.items():
            contents[f"{name}.npy"] = _read(path, archive, f"{name}.npy", 8 * size + 1024)
        _check_sums(path, contents, _read(path, archive, SUMS, 10_000))
        if set(contents) | {SUMS} != set(names):
            raise DataError(f"{path} is damaged: it has arrays that model.json does not name")
        arrays = {name: _array(path, name, contents[f"{name}.npy"], sizes[name]) for name in sizes}
        return _model(about, arrays)
    except (KeyError, TypeError, AttributeError, ParameterError, OverflowError) as error:
        raise DataError(f"{path} is damaged: model.json lacks or garbles {error}") from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is damaged: {error}") from None


def _read(path: str | Path, archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Read a member, never more of it than it may be."""
    try:
        if archive.getinfo(name).file_size > most:
            raise DataError(f"{path} is damaged: {name} is larger than it may be")
        with archive.open(name) as stream:
            content = stream.read(most + 1)
    except KeyError:
        raise DataError(f"{path} is damaged: {name} is missing") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise DataError(f"{path} is damaged: {error}") from None
    except MemoryError:
        raise DataError(f"{path}: {name} is larger than the memory") from None
    if len(content) > most:
        raise DataError(f"{path} is damaged: {name} is larger than it may be")
    return content


def _check_sums(path: str | Path, contents: dict[str, bytes], sums: bytes) -> None:
    wanted = {}
    for line in sums.decode("utf-8", "replace").splitlines():
        digest, _, name = line.partition("  ")
        wanted[name] = digest
    for name, content in contents.items():
        if wanted.get(name) != hashlib.sha256(content).hexdigest():
            raise DataError(f"{path} is damaged: the checksum of {name} does not match")


def _array(path: str | Path, name: str, content: bytes, size: int) -> np.ndarray:
    stream = io.BytesIO(content)
    try:
        header = read_array_header(stream)
    except (ValueError, EOFError) as error:
        raise DataError(f"{path} is damaged: {name}.npy can't be read ({error})") from None
    rest = len(content) - stream.tell()  # no more is allocated than is there
    if header.dtype != np.float64 or header.shape != (size,) or header.size != rest:
        raise DataError(f"{path} is damaged: {name}.npy is not a vector of {size} doubles")
    return np.frombuffer(content, header.dtype, offset=stream.tell()).astype(np.float64)


def _npy(values: Any) -> bytes:
    stream = io.BytesIO()
    npy.write_array(stream, np.ascontiguousarray(values, dtype="<f8"), allow_pickle=False)
    return stream.getvalue()


def _description(model: Model) -> dict[str, Any]:
    loss = next((name for name, cls in BY_NAME.items() if type(model.loss) is cls), None)
    if loss is None:
        raise ParameterError(f"{type(model.loss).__name__} is a loss of yours: a model file holds "
                             "no code, so it can't be saved")  # fmt: skip
    values = {name: getattr(model.reg, name) for name in FIELDS}
    arrays = {"x": model.x, "y": model.y, "mean": model.mean, "scale": model.scale} | values
    return {
        "format": FORMAT,
        "version": _version(model),
        "loss": {"name": loss, "parameters": _plain(model.loss._asdict())},
        "regularizer": {k: "array" if np.ndim(v) else _plain(v) for k, v in values.items()},
        **{name: _plain(getattr(model, name)) for name in PLAIN},
        **_preparation(model),
        "certificate": _plain(model.certificate),
        "training": _plain(model.training),
        "arrays": {name: len(v) for name, v in arrays.items() if np.ndim(v) == 1},
    }


def _version(model: Model) -> int:
    """The oldest version that knows all that the model needs."""
    if model.recipe is not None or model.balanced:
        return 3
    return 2 if model.several else 1


def _preparation(model: Model) -> dict[str, Any]:
    if _version(model) < 3:
        return {}
    recipe = None if model.recipe is None else _plain(model.recipe.to_json())
    return {"recipe": recipe, "balanced": model.balanced}


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite become text."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def _numbers(value: Any) -> Any:
    """Undo ``_plain``."""
    if isinstance(value, dict):
        if set(value) == {"number"}:
            return float(value["number"])
        return {k: _numbers(v) for k, v in value.items()}
    return [_numbers(v) for v in value] if isinstance(value, list) else value


def _model(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    about = _numbers(about)
    loss, recipe = about["loss"], about.get("recipe")
    fields = {
        name: arrays[name] if value == "array" else float(value)
        for name, value in about["regularizer"].items()
    }
    model = Model(
        arrays["x"], arrays["y"],
        as_loss(BY_NAME[loss["name"]](**_parameters(loss))), ElasticNet(**fields),
        **{name: about[name] for name in PLAIN},
        mean=arrays.get("mean"), scale=arrays.get("scale"),
        certificate=about["certificate"], training=about["training"],
        recipe=None if recipe is None else Recipe.from_json(recipe),
        balanced=about.get("balanced", False) is True,
    )  # fmt: skip
    _check_shapes(model)
    return model


def _parameters(loss: dict[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in loss["parameters"].items()}


def _check_shapes(model: Model) -> None:
    d = model.features
    if not isinstance(d, int) or not isinstance(model.intercept, bool) or d < 1:
        raise ValueError("features or intercept is not what it should be")
    model.reg.bind(d)
    labels = model.classes
    several = labels is not None and isinstance(labels, list) and len(labels) > 2
    count = len(labels) if labels is not None and several else 1
    fits = len(model.x) == count * (d + model.intercept) and all(
        part is None or len(part) == d for part in (model.mean, model.scale, model.names)
    )
    pair = labels is None or (isinstance(labels, list) and len(labels) >= 2)
    if several and not (model.loss.probabilities and len(set(map(str, labels or []))) == count):
        raise ValueError("its classes do not fit together")
    if not fits or not pair or (model.classes is None) != (model.loss.label_kind != "sign"):
        raise ValueError("its parts do not fit together")
    if model.recipe is not None and model.recipe.names != model.names:
        raise ValueError("its recipe makes other features than it has")
    if model.scale is not None and not np.all(model.scale > 0):
        raise ValueError("scale has values that are not positive")
