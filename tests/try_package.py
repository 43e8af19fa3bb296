"""Install a wheel or an sdist into an environment of its own and use it as a new user would.

    python tests/try_package.py dist/spd1-0.1.0-py3-none-any.whl

Nothing of the repository is in the way: it runs in an empty folder. Only the standard library is
needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

CSV = "age,city,ill\n" + "".join(
    f"{age},{city},{'yes' if age + 20 * (city == 'Oslo') > 50 else 'no'}\n"
    for age in range(20, 80, 2)
    for city in ("Bern", "Oslo")
)
FIT = """
import numpy as np, spd1
from spd1.linear_model import LogisticRegression
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5)); y = X[:, 0] > 0
result = spd1.solve(X, y, loss="logistic", l2=0.1)
assert result.converged, result
assert LogisticRegression().fit(X, y).score(X, y) > 0.9
assert "site-packages" in spd1.__file__, spd1.__file__
print(result.certificate)
"""


def main() -> None:
    package = Path(sys.argv[1]).resolve()
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "venv")
        venv.create(home, with_pip=True)
        bin_ = home / ("Scripts" if os.name == "nt" else "bin")

        def run(*command: object) -> str:
            print("$", *command, flush=True)
            done = subprocess.run(
                [str(part) for part in command], cwd=folder, env=clean, text=True,
                stdout=subprocess.PIPE, check=True,
            )  # fmt: skip
            print(done.stdout, flush=True)
            return done.stdout

        run(bin_ / "python", "-m", "pip", "install", "--disable-pip-version-check", "-q", package)
        assert run(bin_ / "spd1", "--version").startswith("spd1 ")
        run(bin_ / "python", "-c", FIT)
        Path(folder, "patients.csv").write_text(CSV)
        run(bin_ / "spd1", "fit", "patients.csv", "--intercept", "-o", "model.spd1")
        guess = run(bin_ / "spd1", "predict", "model.spd1", "patients.csv").split()
        assert len(guess) == CSV.count("\n") - 1
        assert set(guess) == {"yes", "no"}
        run(bin_ / "spd1", "show", "model.spd1")
    print(f"{package.name}: works")


if __name__ == "__main__":
    main()
