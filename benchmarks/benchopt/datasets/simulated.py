"""Normal data, dense or sparse, with labels of a linear model."""

import numpy as np
import scipy.sparse as sp

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Rows of length about one."""

    name = "simulated"
    parameters = {"n_rows, n_columns": [(200, 100), (100, 400)], "density": [1.0, 0.1]}

    def get_data(self):
        """Signs, which both losses take."""
        n, d = self.n_rows, self.n_columns
        rng = np.random.default_rng(0)
        A = rng.standard_normal((n, d)) / np.sqrt(d * self.density)
        A *= rng.random((n, d)) < self.density
        y = np.where(A @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n) > 0, 1.0, -1.0)
        return {"X": A if self.density == 1.0 else sp.csr_array(A), "y": y}
