"""LIBSVM files of the folder that SPD1_DATA names."""

import os
from pathlib import Path

import numpy as np

from benchopt import BaseDataset
from spd1.io import read_data


class Dataset(BaseDataset):
    """Two classes each."""

    name = "libsvm"
    parameters = {"file": ["colon-cancer.svm.bz2", "rcv1-subset.svm.bz2"]}

    def skip(self):
        """Without the file there is nothing to do."""
        if not (Path(os.environ.get("SPD1_DATA", "")) / self.file).is_file():
            return True, f"set SPD1_DATA to a folder that has {self.file}"
        return False, None

    def get_data(self):
        """The larger label is +1."""
        data = read_data(Path(os.environ["SPD1_DATA"]) / self.file)
        return {"X": data.A, "y": np.where(data.b == np.max(data.b), 1.0, -1.0)}
