"""The model of `strength` for a large field: Newton's method and the errors, by linear algebra.

`strength` imports this module only for a large field, because the import of numpy takes 0.15 s.
"""

import math
import os
from collections.abc import Mapping, Sequence
from itertools import zip_longest

# numpy reads this when it is imported. Its threads save no time here, and wait with 0.4 s of processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

LAST_STEP = 1e-7  # of Newton's steps: the next one would be about its square
MAX_STEPS = 30
LOG_DIGITS = 10  # of log strengths: equal bots remain equal, although sums in another order end in other digits

FloatArray = NDArray[np.float64]


class LargeField:
    """The choices of the model (see strength.py) for many bots: how often bots were chosen from sets of bots."""

    def __init__(self, sets: Mapping[tuple[int, ...], float], chosen: Sequence[float], anchor: float) -> None:
        """Store the choices. `sets` has the number of choices from each set, `chosen` the number of choices of each bot.

        `anchor` is the number of draws of each bot with a bot of strength 1.
        """
        self._size, self._anchor, self._chosen = len(chosen), anchor, np.array(chosen)
        self._times = np.array([*sets.values()])
        # The bots of the sets in columns. A bot of strength 0 fills up smaller sets.
        self._columns = np.array([*zip_longest(*sets, fillvalue=self._size)])

    def most_likely(self, near: Sequence[float] = ()) -> list[float] | None:
        """Return the maximum-likelihood strengths by Newton's method; None if it does not converge.

        The iteration starts with the strengths `near`, if they are given. Good estimates save steps.
        """
        logs = np.log(np.array(near)) if near else np.zeros(self._size)
        for _ in range(MAX_STEPS):
            try:
                step = np.linalg.solve(self.information(np.exp(logs)), self._gradient(np.exp(logs)))
            except np.linalg.LinAlgError:
                return None
            largest = np.abs(step).max()
            if not largest < np.inf:
                return None
            logs += step / max(1.0, largest)
            if not self._anchor:  # only ratios count
                logs -= logs.mean()
            if largest <= LAST_STEP:
                return [*map(math.exp, logs.round(LOG_DIGITS).tolist())]
        return None

    def _gradient(self, strength: FloatArray) -> FloatArray:
        """Return the gradient of the log-likelihood with respect to the log strengths."""
        worth = np.append(strength, 0.0)[self._columns]
        expected = np.bincount(
            self._columns.ravel(), (worth * (self._times / worth.sum(axis=0))).ravel(), self._size + 1
        )
        drawn = self._anchor * (0.5 - strength / (1 + strength))
        return self._chosen - expected[:-1] + drawn

    def information(self, strength: FloatArray) -> FloatArray:
        """Return the Fisher information of the log strengths. Without an anchor, a term is added that fixes their mean."""
        size = self._size + 1
        worth = np.append(strength, 0.0)[self._columns]
        scaled = self._times / worth.sum(axis=0) ** 2
        shared = np.zeros(size * size)
        for number, column in enumerate(self._columns[:-1]):
            pairs = column * size + self._columns[number + 1 :]
            shared += np.bincount(pairs.ravel(), (scaled * worth[number] * worth[number + 1 :]).ravel(), size * size)
        found = -shared.reshape(size, size)[:-1, :-1]
        found += found.T
        alone = self._anchor * strength / (1 + strength) ** 2 - found.sum(axis=1)
        return found + np.diag(alone) + (0.0 if self._anchor else 1 / self._size)

    def inverse_root(self, strength: Sequence[float]) -> list[list[float]]:
        """Return the result of `strength.inverse_root` for the information at these strengths."""
        return _inverse_root(self.information(np.array(strength)))

    def sandwich_root(self, noisy: "LargeField", strength: Sequence[float]) -> list[list[float]]:
        """Return `inverse_root` of the matrix H inv(J) H: H is the information of this field, J of a `noisy` field.

        Both fields have the same bots.
        """
        own, other = self.information(np.array(strength)), noisy.information(np.array(strength))
        return _inverse_root(own @ np.linalg.solve(other, own))


def _inverse_root(matrix: FloatArray) -> list[list[float]]:
    inverse = np.linalg.inv(np.linalg.cholesky(matrix))
    return [inverse[nth:, nth].tolist() for nth in range(len(matrix))]
