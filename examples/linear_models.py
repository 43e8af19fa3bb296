"""Change one import line: a text classifier and a gene-expression path, each with a certificate.

Runs offline in a few seconds: ``python examples/linear_models.py``. Pictures go to demo-output/.
Cells are marked with ``# %%`` for editors that run them one by one.
"""

# %% Data made up here, so that nothing is downloaded: 2000 short reports from two desks
from pathlib import Path

import numpy as np
import sklearn.linear_model
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import spd1

OUT = Path("demo-output")
SPORT = "match goal team coach season league striker referee penalty stadium win loss"
MONEY = "market share bank rate profit loss bond trader penalty fund season index"
WORDS = {"sport": SPORT.split(" "), "money": MONEY.split(" ")}
COMMON = [f"word{k}" for k in range(3000)]


def reports(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    desks = rng.choice(list(WORDS), n)
    often = 1.0 / np.arange(1, len(COMMON) + 1)
    filler = rng.choice(COMMON, (n, 60), p=often / often.sum())
    return [" ".join([*rng.choice(WORDS[d], 4), *filler[i]]) for i, d in enumerate(desks)], desks


# %% The text classifier. Before: from sklearn.linear_model import LogisticRegression
from spd1.linear_model import LogisticRegression  # noqa: E402

texts, desks = reports()
train, test, y_train, y_test = train_test_split(texts, desks, random_state=0)
model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10.0, tol=1e-6))
model.fit(train, y_train)
fitted = model[-1]
print(f"accuracy on unseen reports: {model.score(test, y_test):.3f}")
print(fitted.certificate_)
words = model[0].get_feature_names_out()
order = np.argsort(fitted.coef_[0])
print("most like", fitted.classes_[0], "-", ", ".join(words[order[:5]]))
print("most like", fitted.classes_[1], "-", ", ".join(words[order[-5:]]))

# %% How good was the model that this one replaces?
X = model[0].transform(train)
before = sklearn.linear_model.LogisticRegression(C=10.0).fit(X, y_train)
print("scikit-learn, default tol:", spd1.certify(before, X, y_train))


# %% Gene expression: 100 patients, 2000 genes that move in groups, 10 of them matter
def patients(n=100, genes=2000, seed=1):
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(n, 50))
    X = 0.6 * groups[:, rng.integers(0, 50, genes)] + rng.normal(size=(n, genes))
    effect = np.zeros(genes)
    effect[rng.choice(genes, 10, replace=False)] = rng.choice([-1.0, 1.0], 10)
    return X, X @ effect + rng.normal(size=n), effect


# %% The whole lasso path, every point certified, and the alpha that cross-validation picks
from spd1.linear_model import LassoCV, path  # noqa: E402

genes, response, effect = patients()
found = path(genes, response, n_alphas=60, eps=0.02, tol=1e-6)
chosen = LassoCV(alphas=found.alphas, tol=1e-6).fit(genes, response)
print(found)
print(f"alpha by cross-validation {chosen.alpha_:.3g}, {np.sum(chosen.coef_ != 0)} genes,")
print(f"of the 10 that matter {np.sum((chosen.coef_ != 0) & (effect != 0))} are among them")


# %% The picture
def draw(target):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(7, 6), height_ratios=(3, 1), layout="constrained"
    )
    top.plot(found.alphas, found.coefs[:, effect == 0], color="0.8", lw=0.7)
    top.plot(found.alphas, found.coefs[:, effect != 0], color="tab:red", lw=1.5)
    top.axvline(chosen.alpha_, color="k", ls=":", lw=1)
    top.set(ylabel="coefficient", title="Lasso path: genes that matter in red", xscale="log")
    bottom.plot(found.alphas, np.maximum(found.rel_gaps, 1e-17), color="tab:blue", lw=1)
    bottom.axhline(1e-6, color="0.5", ls="--", lw=1)
    bottom.set(ylabel="certified\nrelative gap", xlabel="alpha", yscale="log")
    bottom.invert_xaxis()
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=120)
    print("picture:", target)


draw(OUT / "lasso_path.png")
