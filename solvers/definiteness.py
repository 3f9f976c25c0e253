"""Is a symmetric matrix positive semidefinite? Exactly, with a witness when it is not, or up to rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .program import Array, to_exact


def negative_direction(matrix: Array) -> Array | None:
    """A rational x (n,) with x'Mx < 0, or None if M (n, n) is positive semidefinite. Exact.

    Rational LDL' without pivoting for size: the first negative pivot, or the first zero pivot with a nonzero
    entry left in its row, yields the witness. Float entries are taken as the rationals they store. Raises
    ValueError if M is not square and exactly symmetric.
    """
    S = to_exact(matrix)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.array_equal(S, S.T):
        raise ValueError(f"a symmetric matrix is needed, got shape {S.shape}")
    n = len(S)
    multipliers: list[Array] = []  # row k: the eliminated row k divided by its pivot
    for k in range(n):
        pivot, row = S[k, k], S[k, k + 1 :].copy()
        if pivot < 0:
            return _lift(multipliers, k, {k: Fraction(1)}, n)
        if pivot == 0:
            nonzero = np.flatnonzero(row)
            if nonzero.size:
                # At (t, 1) on coordinates (k, j) the form is 2 t s_kj + s_jj; this t makes it -1.
                j = k + 1 + int(nonzero[0])
                t = -(S[j, j] + 1) / (2 * S[k, j])
                return _lift(multipliers, k, {k: t, j: Fraction(1)}, n)
            multipliers.append(row)
            continue
        multipliers.append(row / pivot)
        S[k + 1 :, k + 1 :] -= np.outer(row, row) / pivot
    return None


def _lift(multipliers: list[Array], k: int, entries: dict[int, Fraction], n: int) -> Array:
    """Extend a direction of the k-th Schur complement to all coordinates, keeping the form's value."""
    x = np.array([Fraction(0)] * n, dtype=object)
    for index, value in entries.items():
        x[index] = value
    for i in range(k - 1, -1, -1):
        x[i] = -(multipliers[i] @ x[i + 1 :])
    return x


def is_psd(matrix: Array) -> tuple[bool, Array | None]:
    """(True, None), or (False, x) with x'Mx < 0 in Fractions; see `negative_direction`."""
    witness = negative_direction(matrix)
    return witness is None, witness


def lowest_scaled(matrix: Array) -> float:
    """The lowest eigenvalue of a symmetric float matrix (n, n), scaled to a diagonal of ones; -inf where an
    entry of the diagonal is not positive. No large curvature hides a negative one.
    """
    diagonal = np.diag(matrix)
    if not (diagonal > 0).all():
        return -np.inf
    roots = np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(matrix / roots[:, None] / roots)[0])
