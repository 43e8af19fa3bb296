"""
Ten classes at once: what a digit looks like to a linear model
==============================================================

For three classes and more :class:`spd1.linear_model.LogisticRegression` fits one multinomial model.
All classes share one certificate. With an l1 penalty, pixels that do not help any class get a
coefficient of exactly zero.
"""

# %%
# Handwritten digits, 8 x 8 pixels
# --------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from spd1.linear_model import LogisticRegression

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, random_state=0)

ridge = LogisticRegression(C=1.0, tol=1e-6).fit(X_train, y_train)
lasso = LogisticRegression(C=0.3, l1_ratio=1.0, tol=1e-4).fit(X_train, y_train)
for name, model in (("l2", ridge), ("l1", lasso)):
    zeros = np.mean(model.coef_ == 0)
    print(
        f"{name}: accuracy {model.score(X_test, y_test):.3f}, {zeros:.0%} of coefficients zero, "
        f"gap {model.rel_gap_:.0e}"
    )

# %%
# One picture per class
# ---------------------
# Red pixels speak for the digit, blue ones against it. The l1 penalty leaves a sketch: few strokes
# that tell this digit from the others.

figure, panels = plt.subplots(2, 10, figsize=(10, 2.6), layout="constrained")
for row, (name, model) in zip(panels, (("l2", ridge), ("l1", lasso)), strict=True):
    largest = np.abs(model.coef_).max() * 0.8
    for digit, axes in enumerate(row):
        axes.imshow(model.coef_[digit].reshape(8, 8), cmap="RdBu_r", vmin=-largest, vmax=largest)
        axes.set(xticks=[], yticks=[], title=str(digit) if name == "l2" else "")
    row[0].set_ylabel(name)
plt.show()
