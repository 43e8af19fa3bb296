"""Models and model files: round trips, certificates on other data, hostile files."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.errors import DataError, ParameterError
from spd1.io import Data, Model, fit_model, load_model, save_model


def classes_data(n=80, d=5, sparse=False):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d)) * [1.0, 5.0, 0.2, 1.0, 3.0][:d] + 1.0
    A = np.where(rng.random((n, d)) < 0.5, A, 0.0) if sparse else A
    b = np.where(A[:, 0] + 0.2 * rng.standard_normal(n) > 1.0, "yes", "no")
    return Data(sp.csr_array(A) if sparse else A, b, [f"f{j}" for j in range(d)], "answer")


@pytest.fixture
def saved(tmp_path):
    model, _ = fit_model(
        classes_data(), "logistic", spd1.L2(0.01), intercept=True, standardize=True
    )
    path = tmp_path / "any name at all"
    save_model(path, model)
    return path, model


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("loss", "reg"),
    [
        (spd1.SmoothedHinge(0.5), spd1.ElasticNet(l1=0.001, l2=0.01)),
        (spd1.Huber(0.7), spd1.ElasticNet(l2=np.full(5, 0.1), lower=-1.0)),
    ],
)
def test_round_trip_keeps_everything(tmp_path, intercept, standardize, sparse, loss, reg):
    data = classes_data(sparse=sparse)
    if loss.label_kind == "real":
        data = data._replace(b=np.arange(80.0))
    model, result = fit_model(
        data, loss, reg, intercept=intercept, standardize=standardize, tol=1e-5
    )
    save_model(tmp_path / "m", model)
    again = load_model(tmp_path / "m")
    for name in ("x", "y", "mean", "scale"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    for name in ("loss", "features", "intercept", "classes", "names", "target", "certificate"):
        assert getattr(again, name) == getattr(model, name), name
    for name in ("l1", "l2", "lower", "upper"):
        np.testing.assert_array_equal(getattr(again.reg, name), getattr(reg, name))
    assert again.training == model.training
    assert again.certificate["gap"] == result.gap
    np.testing.assert_array_equal(again.predict(data.A), model.predict(data.A))


@pytest.mark.parametrize("sparse", [False, True])
def test_coefficients_in_the_units_of_the_data_give_the_solvers_margins(sparse):
    data = classes_data(sparse=sparse)
    model, _ = fit_model(data, "logistic", spd1.L2(0.01), intercept=True, standardize=True)
    problem = model.problem(data.A, data.b)
    np.testing.assert_allclose(model.decision(data.A), problem.margins(model.x), atol=1e-10)
    assert (model.mean is None) == sparse
    dense = data.A.toarray() if sparse else data.A
    np.testing.assert_allclose(model.scale, dense.std(axis=0))


def test_the_intercept_is_not_penalised():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((50, 2))
    data = Data(A, 100.0 + 0.0 * A[:, 0])
    model, _ = fit_model(data, "squared", spd1.L2(10.0), intercept=True, tol=1e-10)
    np.testing.assert_allclose(model.predict(A), 100.0, rtol=1e-4)
    without, _ = fit_model(data, "squared", spd1.L2(10.0), tol=1e-10)
    assert np.abs(without.predict(A)).max() < 50.0


def test_certificate_on_the_training_data_and_on_other_data(saved):
    path, _ = saved
    again, data = load_model(path), classes_data()
    certificate = again.certify(data.A, data.b)
    assert certificate.rel_gap <= 1e-6
    half = again.certify(data.A[::2], data.b[::2])
    assert half.gap >= half.primal - half.dual - 1e-12
    assert half.gap > certificate.gap


def test_labels_are_mapped_and_strange_ones_named(saved):
    _, model = saved
    assert model.classes == ["no", "yes"]
    assert model.signs(np.array(["yes", "no"])).tolist() == [1, -1]
    with pytest.raises(DataError, match="does not know: maybe"):
        model.signs(np.array(["yes", "maybe"]))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_several_classes_are_one_model(tmp_path, sparse, intercept, standardize):
    """Saved, read again, and used: predictions by the definition, the certificate anew."""
    A = classes_data(sparse=sparse).A
    dense = A.toarray() if sparse else A
    b = np.array(["low", "mid", "top"])[np.digitize(dense[:, 0] + dense[:, 1], [1.0, 4.0])]
    model, result = fit_model(
        Data(A, b), "logistic", spd1.L2(0.01), intercept=intercept, standardize=standardize
    )
    assert result.converged
    assert model.classes == ["low", "mid", "top"]
    save_model(tmp_path / "m", model)
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.x, model.x)
    scores = dense @ again.coef.T + again.offset
    np.testing.assert_allclose(again.decision(A), scores, atol=1e-12)
    assert np.array_equal(again.predict(A), np.array(model.classes)[scores.argmax(axis=1)])
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(again.probability(A), chances, rtol=1e-9)
    proof = again.certify(A, b)
    assert proof.primal == pytest.approx(result.primal, rel=1e-12)
    assert proof.rel_gap <= 1e-5
    with pytest.raises(DataError, match="does not know: strange"):
        again.certify(A, np.where(b == "low", "strange", b))
    with pytest.raises(DataError, match="--positive"):
        model.problem(A, b)


def test_several_classes_refuse_what_they_cannot_do():
    A = np.random.default_rng(0).standard_normal((30, 2))
    data = Data(A, np.arange(30) % 3)
    with pytest.raises(ParameterError, match="method means nothing for several classes"):
        fit_model(data, "logistic", spd1.L2(0.1), method="rows")
    with pytest.raises(DataError, match="needs two classes"):
        fit_model(Data(A, np.arange(30) / 7.0), "logistic", spd1.L2(0.1))


def test_several_classes_take_threads():
    A = np.random.default_rng(0).standard_normal((90, 4))
    data = Data(A, A[:, :3].argmax(axis=1))
    plain, _ = fit_model(data, "logistic", spd1.L2(0.01), tol=1e-10)
    models = [
        fit_model(data, "logistic", spd1.L2(0.01), tol=1e-10, engine="threads", n_threads=many)[0]
        for many in (1, 2)
    ]
    assert np.array_equal(models[0].x, models[1].x)
    np.testing.assert_allclose(models[0].x, plain.x, atol=1e-4)
    with pytest.raises(ParameterError, match="know 'serial' and 'threads'"):
        fit_model(data, "logistic", spd1.L2(0.01), engine="dask")


def test_one_class_against_all_others():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((90, 3))
    b = np.argmax(A, axis=1).astype(float)
    with pytest.raises(DataError, match="needs two classes, the labels are 0, 1, 2"):
        fit_model(Data(A, b), "hinge", spd1.L2(0.1))
    model, _ = fit_model(Data(A, b), "hinge", spd1.L2(0.1), positive="2", tol=1e-3)
    assert model.classes == ["not 2", "2"]
    assert model.signs(np.array([0.0, 1.0, 2.0])).tolist() == [-1, -1, 1]
    assert model.predict(np.array([[0, 0, 9.0]])).tolist() == ["2"]
    with pytest.raises(DataError, match="no row has the label 7"):
        fit_model(Data(A, b), "hinge", spd1.L2(0.1), positive="7")


@pytest.mark.parametrize(
    ("data", "loss", "error", "message"),
    [
        (Data(np.eye(2), None), "logistic", DataError, "no labels"),
        (Data(np.eye(2), np.ones(2)), "logistic", DataError, "labels are 1"),
        (Data(np.eye(2), np.array(["a", "b"])), "squared", DataError, "the target holds text"),
        (Data(np.eye(2), np.array([-1.0, 1.0])), "poisson", DataError, "not negative"),
    ],
)
def test_unsuitable_labels_are_named(data, loss, error, message):
    with pytest.raises(error, match=message):
        fit_model(data, loss, spd1.L2(0.1))


def test_data_of_another_width_is_named(saved):
    _, model = saved
    with pytest.raises(DataError, match="4 features, the model 5"):
        model.predict(np.zeros((2, 4)))


def test_dense_model_on_sparse_data_predicts_but_does_not_densify(saved):
    _, model = saved
    data = classes_data()
    sparse = sp.csr_array(data.A)
    np.testing.assert_array_equal(model.predict(sparse), model.predict(data.A))
    with pytest.raises(DataError, match="centered"):
        model.certify(sparse, data.b)


def test_a_loss_of_the_users_is_not_saved(tmp_path):
    from support import custom_loss

    loss = next(v for k, v in vars(custom_loss).items() if hasattr(v, "_fields"))()
    model = Model(np.ones(2), np.ones(2), loss, spd1.L2(1.0), 2)
    with pytest.raises(ParameterError, match="a loss of yours"):
        save_model(tmp_path / "m", model)
    assert not list(tmp_path.iterdir())


# Hostile files


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members, sums=True):
    if sums:
        digests = {
            n: hashlib.sha256(c).hexdigest() for n, c in members.items() if n != "SHA256SUMS"
        }
        members = members | {
            "SHA256SUMS": "".join(f"{d}  {n}\n" for n, d in digests.items()).encode()
        }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def garbled(shape):
    """Six numbers under a header that says something else."""
    return npy(np.ones(6)).replace(b"'shape': (6,), }".ljust(len(shape)), shape)


def with_json(members, **changes):
    about = json.loads(members["model.json"]) | changes
    return members | {"model.json": json.dumps(about).encode()}


def test_a_rezipped_model_still_reads(saved):
    path, model = saved
    write_members(path, members_of(path))
    np.testing.assert_array_equal(load_model(path).x, model.x)


HOSTILE = {
    "evil path": (lambda m: m | {"../../evil.npy": b""}, "a member '../../evil.npy'"),
    "pickle": (lambda m: m | {"x.pkl": b""}, "a member 'x.pkl'"),
    "no json": (lambda m: {k: v for k, v in m.items() if k != "model.json"}, "no model.json"),
    "no x": (lambda m: {k: v for k, v in m.items() if k != "x.npy"}, "x.npy is missing"),
    "broken json": (lambda m: m | {"model.json": b"{"}, "can't be read"),
    "deep json": (lambda m: m | {"model.json": b"[" * 10**6}, "can't be read"),
    "json is a list": (lambda m: m | {"model.json": b"[]"}, "says otherwise"),
    "foreign": (lambda m: with_json(m, format="other"), "says otherwise"),
    "future": (lambda m: with_json(m, version=99), "version 99.*install a newer"),
    "no loss": (lambda m: with_json(m, loss=None), "damaged"),
    "unknown loss": (lambda m: with_json(m, loss={"name": "os", "parameters": {}}), "damaged"),
    "loss parameter": (
        lambda m: with_json(m, loss={"name": "huber", "parameters": {"delta": -1}}),
        "damaged",
    ),
    "features": (lambda m: with_json(m, features=7), "do not fit together"),
    "features text": (lambda m: with_json(m, features="5"), "damaged"),
    "classes": (lambda m: with_json(m, classes=[1]), "do not fit together"),
    "x too short": (lambda m: m | {"x.npy": npy(np.ones(2))}, "x.npy is not a vector of 6"),
    "x too long": (lambda m: m | {"x.npy": npy(np.ones(10**6))}, "larger than it may be"),
    "x single": (lambda m: m | {"x.npy": npy(np.ones(6, dtype=np.float32))}, "not a vector of 6"),
    "x object": (
        lambda m: m | {"x.npy": npy(np.array([None] * 6, dtype=object))},
        "x.npy can't be read",
    ),
    "x is text": (lambda m: m | {"x.npy": b"hello"}, "x.npy can't be read"),
    "size overflow": (
        lambda m: with_json(m, arrays=json.loads(m["model.json"])["arrays"] | {"x": 1e400}),
        "damaged",
    ),
    "unnamed array": (
        lambda m: with_json(m, arrays={"x": 6, "y": 80, "mean": 5}),
        "arrays that model.json does not name",
    ),
    "x endless": (
        lambda m: m | {"x.npy": garbled(b"'shape': (1000000000000,), }")},
        "x.npy is not a vector of 6",
    ),
    "x garbled": (lambda m: m | {"x.npy": garbled(b"'shape': (6,,, }")}, "x.npy can't be read"),
    "x unbalanced": (lambda m: m | {"x.npy": garbled(b"'shape': (((( {")}, "x.npy can't be read"),
    "sizes endless": (
        lambda m: with_json(m, arrays=json.loads(m["model.json"])["arrays"] | {"x": 10**12}),
        "not a vector of 1000000000000",
    ),
    "zero scale": (lambda m: m | {"scale.npy": npy(np.zeros(5))}, "scale"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_members_are_refused_by_name(saved, case):
    path, _ = saved
    change, message = HOSTILE[case]
    write_members(path, change(members_of(path)))
    with pytest.raises(DataError, match=message) as caught:
        load_model(path)
    assert path.name in str(caught.value)


def test_a_changed_member_fails_its_checksum(saved):
    path, model = saved
    members = members_of(path)
    write_members(path, members | {"x.npy": npy(model.x + 1.0)}, sums=False)
    with pytest.raises(DataError, match=r"checksum of x\.npy does not match"):
        load_model(path)


def everything(model):
    arrays = [model.x, model.y, model.mean, model.scale]
    plain = {k: v for k, v in vars(model).items() if k not in ("x", "y", "mean", "scale")}
    return [None if a is None else a.tobytes() for a in arrays], repr(plain)


@pytest.mark.parametrize("count", [300, pytest.param(None, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_noticed_or_harmless(saved, count):
    """Dates and attributes of a zip archive mean nothing here; all else has a checksum."""
    path, _ = saved
    model, whole = load_model(path), path.read_bytes()
    places, unseen = np.random.default_rng(7).permutation(len(whole))[:count], 0
    for place in places:
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        path.write_bytes(broken)
        try:
            found = load_model(path)
        except DataError:
            continue
        unseen += 1
        assert everything(found) == everything(model), place
    assert unseen < 0.15 * len(places)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 and nothing more"])
def test_files_that_are_no_zip_are_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(DataError, match="not a spd1 model"):
        load_model(tmp_path / "m")


def test_a_truncated_model_is_refused(saved):
    path, _ = saved
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 30])
    with pytest.raises(DataError, match="not a spd1 model, or damaged"):
        load_model(path)


def test_a_zip_bomb_is_not_unpacked(saved):
    path, _ = saved
    members = members_of(path)
    write_members(path, members | {"y.npy": bytes(50 * 2**20)})
    import tracemalloc

    tracemalloc.start()
    with pytest.raises(DataError, match=r"y\.npy is larger than it may be"):
        load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_an_existing_model_is_kept_unless_told(saved):
    path, model = saved
    with pytest.raises(DataError, match="exists"):
        save_model(path, model, overwrite=False)
