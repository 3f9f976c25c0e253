"""Numbers with an error bound hold the exact result: sums, products, strips of rows, plain numbers."""

from fractions import Fraction

import pytest
import torch

from checks.tensors.core import bounded
from checks.tensors.core.agreement import same
from checks.tensors.core.bounded import Bounded, over_tokens, together


def drawn(*shape, seed=0, off=0.0):
    """Positive values, and ``off`` added to all of them, which the radius says: errors that add up."""
    exact = torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if not off:
        return exact, Bounded(exact)
    return exact, Bounded(exact + off, torch.full_like(exact, off + 1e-15))


def rational(x):
    return [[Fraction(v) for v in row] for row in x.tolist()]


def holds(found, expected):
    """Every exact entry lies within the radius."""
    for value, radius, exact in zip(
        found.value.flatten().tolist(), found.error.flatten().tolist(), expected, strict=True
    ):
        assert abs(Fraction(value) - exact) <= Fraction(radius)


@pytest.mark.parametrize("off", [0.0, 1e-3])
def test_sums_and_products_hold_the_exact_result(off, monkeypatch):
    monkeypatch.setattr(bounded, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(bounded, "BLOCK", 5)
    (x, own), (y, other) = drawn(17, 4, off=off), drawn(17, 3, seed=1, off=off)
    a, b = rational(x), rational(y)
    holds(own.sum(), [sum(sum(row) for row in a)])
    holds(own.sum(0), [sum(row[c] for row in a) for c in range(4)])
    product = [sum(a[n][r] * b[n][c] for n in range(17)) for r in range(4) for c in range(3)]
    holds(over_tokens(own, other), product)
    square = [sum(p * q for p, q in zip(a[r], a[c], strict=True)) for r in range(17) for c in range(17)]
    holds(own @ own.T, square)
    holds(own * own, [v * v for row in a for v in row])
    holds(own * 0.1 - own, [v * Fraction(0.1) - v for row in a for v in row])
    assert float((own @ own.T).error.max()) < (1e-14 if not off else 1e-1)


def test_rows_come_together_and_a_difference_shows():
    _, x = drawn(6, 2)
    assert torch.equal(together([x[:2], x[2:]]).value, x.value)
    assert same("", x * x, x * x).passed
    assert not same("", x * x * (1 + 1e-12), x * x).passed
