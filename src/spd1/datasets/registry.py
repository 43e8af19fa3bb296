"""The data sets that are known by name, with the shapes their publishers state."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COLLECTION", "DataSet"]


class DataSet(NamedTuple):
    """One data set.

    Attributes
    ----------
    name : str
    rows, features : int
        As published: what is loaded is compared with them.
    remote : str
        Where it lies below the collection's address; empty if it can't be downloaded.
    note : str
    """

    name: str
    rows: int
    features: int
    remote: str = ""
    note: str = ""


_ORIGINALS = [
    DataSet("colon-cancer", 62, 2000, "binary/colon-cancer.bz2", "in the paper"),
    DataSet("gisette", 6000, 5000, "binary/gisette_scale.bz2", "in the paper"),
    DataSet("rcv1.binary", 20_242, 47_236, "binary/rcv1_train.binary.bz2", "in the paper"),
    DataSet("a9a", 32_561, 123, "binary/a9a"),
    DataSet("australian", 690, 14, "binary/australian_scale"),
    DataSet("breast-cancer", 683, 10, "binary/breast-cancer_scale"),
    DataSet("covtype.binary", 581_012, 54, "binary/covtype.libsvm.binary.scale.bz2"),
    DataSet("diabetes", 768, 8, "binary/diabetes_scale"),
    DataSet("duke", 44, 7129, "binary/duke.bz2"),
    DataSet("german.numer", 1000, 24, "binary/german.numer_scale"),
    DataSet("heart", 270, 13, "binary/heart_scale"),
    DataSet("ijcnn1", 49_990, 22, "binary/ijcnn1.bz2"),
    DataSet("leukemia", 38, 7129, "binary/leu.bz2"),
    DataSet("madelon", 2000, 500, "binary/madelon"),
    DataSet("mushrooms", 8124, 112, "binary/mushrooms"),
    DataSet("news20.binary", 19_996, 1_355_191, "binary/news20.binary.bz2"),
    DataSet("phishing", 11_055, 68, "binary/phishing"),
    DataSet("real-sim", 72_309, 20_958, "binary/real-sim.bz2"),
    DataSet("sonar", 208, 60, "binary/sonar_scale"),
    DataSet("splice", 1000, 60, "binary/splice_scale"),
    DataSet("w8a", 49_749, 300, "binary/w8a"),
    DataSet("abalone", 4177, 8, "regression/abalone_scale", "regression"),
    DataSet("cadata", 20_640, 8, "regression/cadata", "regression"),
    DataSet("housing", 506, 13, "regression/housing_scale", "regression"),
]
# Not in the collection: they run, under their own names, where an original is missing.
_STAND_INS = [
    DataSet("gisette-like", 6000, 5000, note="stands in for gisette: MNIST 4 and 9, products"),
    DataSet("20news-compsci", 18_846, 44_120, note="stands in for rcv1.binary: 20 newsgroups"),
    DataSet("rcv1-subset", 1747, 47_236, note="rows of RCV1-v2, not those of rcv1.binary"),
]

#: Name -> data set.
COLLECTION = {data.name: data for data in _ORIGINALS + _STAND_INS}
