"""A mean of what does not depend on what is drawn says nothing."""

from __future__ import annotations

import pytest
import sympy as sp

from checks.engine.judge import judge
from checks.kinds.gaussian import GaussianMean
from checks.statement import Malformed

a, w = sp.Symbol("a", real=True), sp.Symbol("w", real=True)


@pytest.mark.parametrize("value", [a**2, sp.Integer(2)])
def test_what_does_not_vary_is_no_mean(value: sp.Expr) -> None:
    with pytest.raises(Malformed, match="does not occur"):
        judge(GaussianMean(value, w, value))


def test_what_varies_has_one() -> None:
    assert judge(GaussianMean(a**2 * w**2, w, a**2)).holds is True
    assert judge(GaussianMean(a**2 * w**2, w, a**2 + 1)).holds is False
