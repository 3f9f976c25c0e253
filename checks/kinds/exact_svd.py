"""Families of exact instances: matrices whose singular value decomposition is known in rationals.

Orthogonal matrices come from the Cayley transform (I - S)(I + S)⁻¹ of a skew-symmetric rational S; kernels
are then composed from chosen singular values. Every family is a function of a seeded generator and returns
the sizes of the dimensions and nested lists of Fractions by tensor name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from flint import fmpq, fmpq_mat

Family = Callable[[random.Random], tuple[dict[str, int], dict[str, Any]]]
VALUES = [fmpq(1), fmpq(2), fmpq(3), fmpq(1, 2), fmpq(4, 3)]


def fractions(matrix: fmpq_mat) -> list[list[Fraction]]:
    """A rational matrix as nested lists of Fractions."""
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in matrix.tolist()]


def _vector(values: list[fmpq]) -> list[Fraction]:
    return [Fraction(int(x.p), int(x.q)) for x in values]


def _some(rng: random.Random, rows: int, columns: int) -> fmpq_mat:
    pool = [fmpq(n, m) for n in range(-3, 4) for m in (1, 2)]
    return fmpq_mat(rows, columns, [rng.choice(pool) for _ in range(rows * columns)])


def invertible(rng: random.Random, n: int) -> fmpq_mat:
    """A random invertible rational matrix."""
    while True:
        matrix = _some(rng, n, n)
        if matrix.det() != 0:
            return matrix


def orthogonal(rng: random.Random, n: int) -> fmpq_mat:
    """A rational orthogonal matrix by the Cayley transform, n >= 1."""
    skew = fmpq_mat(n, n)
    for i in range(n):
        for j in range(i):
            skew[i, j] = fmpq(rng.randint(-3, 3), rng.randint(1, 2))
            skew[j, i] = -skew[i, j]
    one = diagonal([fmpq(1)] * n)
    flips = diagonal([fmpq(rng.choice([1, -1])) for _ in range(n)])  # the transform alone has determinant 1
    return (one - skew) * (one + skew).inv() * flips


def diagonal(values: list[fmpq]) -> fmpq_mat:
    """A square diagonal matrix."""
    n = len(values)
    return fmpq_mat(n, n, [values[i] if i == j else fmpq(0) for i in range(n) for j in range(n)])


def columns(matrix: fmpq_mat, which: list[int]) -> fmpq_mat:
    """Some columns of a matrix."""
    n = matrix.nrows()
    return fmpq_mat(n, len(which), [matrix[i, j] for i in range(n) for j in which])


def _triplets(rng: random.Random, unit: bool, rows: int) -> tuple[dict[str, int], dict[str, Any]]:
    """A kernel K = Φ_q FᵀF Φ_kᵀ with known triplets, and a solution of the eigenvalue problem (7) on some.

    Without ``unit`` the columns are scaled, zero, or mixed within a repeated singular value. F has the given
    number of rows; none means that it is absent (the identity).
    """
    n, p = 4, rng.choice([1, 2]) if unit else 2
    s = p
    u, v = (columns(orthogonal(rng, n), list(range(p))) for _ in "uv")
    values = [rng.choice(VALUES)] * p if rng.random() < 0.4 else rng.sample(VALUES, p)
    transformation = _full_rank(rng, rows, p) if rows else diagonal([fmpq(1)] * p)
    mix = invertible(rng, p)
    middle = mix * (transformation.transpose() * transformation)
    phi_q, phi_k = u * diagonal(values) * mix, v * middle.inv().transpose()
    if unit:
        chosen = rng.sample(range(p), s)
        coefficients = diagonal([fmpq(rng.choice([1, -1])) for _ in range(s)])
    else:
        chosen = [rng.randrange(p) for _ in range(s)]
        coefficients = diagonal([rng.choice([fmpq(0), fmpq(2), fmpq(-1, 2), fmpq(3)]) for _ in range(s)])
        if values[0] == values[1]:
            coefficients = _some(rng, s, s)
            chosen = [0, 1]
    h_e, h_r = columns(u, chosen) * coefficients, columns(v, chosen) * coefficients
    sizes, named = _named(transformation, (phi_q, phi_k), (h_e, h_r), [values[c] for c in chosen])
    named["L"] = _vector([rng.choice(VALUES) for _ in range(s)])
    named["singular values"] = _vector(values)
    named["d"] = [Fraction(1)] * n
    return sizes, named


def _full_rank(rng: random.Random, n: int, p: int) -> fmpq_mat:
    while True:
        matrix = _some(rng, n, p)
        if matrix.rank() == p:
            return matrix


def _named(
    f: fmpq_mat, features: tuple[fmpq_mat, fmpq_mat], h: tuple[fmpq_mat, fmpq_mat], sigma: list[fmpq]
) -> tuple[dict[str, int], dict[str, Any]]:
    (phi_q, phi_k), (h_e, h_r) = features, h
    a, b = phi_q * f.transpose(), phi_k * f.transpose()
    named: dict[str, Any] = {
        "F": f,
        "phi_q": phi_q,
        "phi_k": phi_k,
        "h_e": h_e,
        "h_r": h_r,
        "K": a * b.transpose(),
        "W_e": b.transpose() * h_r,
        "W_r": a.transpose() * h_e,
    }
    named["e"], named["r"] = a * named["W_e"], b * named["W_r"]
    values: dict[str, Any] = {name: fractions(matrix) for name, matrix in named.items()}
    values["sigma"], values["lambda"] = _vector(sigma), _vector([1 / x for x in sigma])
    sizes = {"N": phi_q.nrows(), "p": phi_q.ncols(), "s": h_e.ncols(), "n": f.nrows()}
    return sizes, values


def decomposition(rng: random.Random) -> tuple[dict[str, int], dict[str, Any]]:
    """A = U diag(s) Vᵀ of rank r with orthonormal columns, N × M, and X with A = U X."""
    n, m, r = 4, 3, 2
    u, v = columns(orthogonal(rng, n), list(range(r))), columns(orthogonal(rng, m), list(range(r)))
    values = [rng.choice(VALUES) for _ in range(r)]
    whole = u * diagonal(values) * v.transpose()
    named = {"A": whole, "U": u, "V": v, "X": diagonal(values) * v.transpose()}
    return {"N": n, "M": m, "r": r}, {**{k: fractions(x) for k, x in named.items()}, "s": _vector(values)}


def semidefinite(rng: random.Random) -> tuple[dict[str, int], dict[str, Any]]:
    """A = BᵀB of rank r with its decomposition, the singular values squares of rationals."""
    n, r = 3, 2
    u, roots = columns(orthogonal(rng, n), list(range(r))), [rng.choice(VALUES) for _ in range(r)]
    half = diagonal(roots) * u.transpose()
    named = {"B": half, "A": half.transpose() * half, "U": u, "V": u}
    return {"N": n, "M": r, "r": r}, {
        **{k: fractions(x) for k, x in named.items()},
        "s": _vector([x * x for x in roots]),
    }


def leading(rng: random.Random) -> tuple[dict[str, int], dict[str, Any]]:
    """A kernel with all right singular vectors in two blocks around σ² = τ, and orthonormal columns besides.

    The squares τ + a² and τ - b² have rational roots: 13² = 5² + 12², 5² = 3² + 4².
    """
    n, s = 4, rng.choice([1, 2])
    v = orthogonal(rng, n)
    scale, above = rng.choice(VALUES), [(13, 12), (5, 0)]
    below = rng.sample([(3, 4), (4, 3), (0, 5), (5, 0)], n - s)
    upper = [rng.choice(above) for _ in range(s)]
    sigma = diagonal([scale * x for x, _ in (*upper, *below)])
    kernel = orthogonal(rng, n) * sigma * v.transpose()
    chosen = columns(orthogonal(rng, n), list(range(s)))
    named = {
        "K": kernel,
        "h_r": chosen,
        "V_1": columns(v, list(range(s))),
        "V_2": columns(v, list(range(s, n))),
    }
    values: dict[str, Any] = {k: fractions(x) for k, x in named.items()}
    values["tau"] = fractions(diagonal([25 * scale * scale]))[0][0]
    values["a"] = _vector([scale * x for _, x in upper])
    values["b"] = _vector([scale * x for _, x in below])
    return {"N": n, "s": s, "N-s": n - s}, values


FAMILIES: dict[str, Family] = {
    "rational singular value decompositions": decomposition,
    "leading triplets": leading,
    "positive semidefinite decompositions": semidefinite,
}
for _words, _rows in (("tokens", 4), ("sampled", 3), ("identity", 0)):
    FAMILIES[f"solutions of (7), f(X): {_words}"] = partial(_triplets, unit=False, rows=_rows)
    FAMILIES[f"singular triplets, f(X): {_words}"] = partial(_triplets, unit=True, rows=_rows)
