"""What may be given as a seed; apart from ``rng``, whose contents kernels depend on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError

__all__ = ["check_seed"]


def check_seed(seed: Any, name: str = "random_state") -> None:
    """Refuse what is no seed; nothing is drawn from a generator.

    Parameters
    ----------
    seed : int, None, numpy.random.Generator or numpy.random.RandomState
    name : str
        What the user knows it by.

    Examples
    --------
    >>> check_seed(3)
    >>> check_seed(-1)
    Traceback (most recent call last):
        ...
    spd1.errors.ParameterError: random_state must not be negative, got -1: take 0, 1, 2, ...
    """
    if type(seed) is int and seed >= 0:  # nearly always
        return
    if seed is None or isinstance(seed, (np.random.Generator, np.random.RandomState)):
        return
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool):
        raise ParameterError(
            f"{name} must be None, a whole number from 0 on, or a NumPy Generator or RandomState, "
            f"got {seed!r}: take 0, 1, 2, ..., or None for another draw each time"
        )
    if seed < 0:
        raise ParameterError(f"{name} must not be negative, got {seed}: take 0, 1, 2, ...")
