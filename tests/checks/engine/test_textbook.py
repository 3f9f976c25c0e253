"""Identities that an author takes for granted: each is proved, and not with a term or a factor more."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.statement import Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import (
    apply,
    as_term,
    diag,
    exp,
    eye,
    log,
    size,
    sqrt,
    squared_norm,
    sum_over,
    trace,
)

i, j, l, h = Index("i", "N"), Index("j", "N"), Index("l", "N"), Index("h", "M")
a, b, c = (as_term(Tensor(name, positive=True)) for name in "abc")
x, y, t = (as_term(Tensor(name)) for name in "xyt")
s, u, v = (as_term(Tensor(name, ("N",))) for name in "suv")
w = as_term(Tensor("w", ("N",), positive=True))
A, B, C = (as_term(Tensor(name, ("N", "N"))) for name in "ABC")
P = as_term(Tensor("P", ("N", "M"), positive=True))
total = sum_over(j, exp(s[j]))


IDENTITIES = {
    "log-sum-exp is shifted": (log(sum_over(j, exp(s[j] + t))), log(total) + t),
    "log of a product with a sum": (log(a * (b + c)), log(a) + log(b + c)),
    "log of a quotient of sums": (log((a + b) / (b + c)), log(a + b) - log(b + c)),
    "log of two exponentials": (log(exp(x) + exp(y)), x + log(1 + exp(y - x))),
    "softplus and its reflection": (log(1 + exp(x)) - log(1 + exp(-x)), x),
    "log of a mean": (log(total / size("N")), log(total) - log(size("N"))),
    "softmax is exp less log-sum-exp": (exp(s[i] - log(total)), exp(s[i]) / total),
    "log softmax": (log(exp(s[i]) / total), s[i] - log(total)),
    "softmax sums to one": (sum_over(i, exp(s[i])) / total, as_term(1)),
    "softmax is shifted": (exp(s[i] + t) / sum_over(j, exp(s[j] + t)), exp(s[i]) / total),
    "entropy of softmax": (
        -sum_over(i, exp(s[i]) / total * (s[i] - log(total))),
        log(total) - sum_over(i, exp(s[i]) * s[i]) / total,
    ),
    "variance of two forms": (
        sum_over(i, w[i] * (u[i] - sum_over(j, w[j] * u[j]) / sum_over(j, w[j])) ** 2) / sum_over(j, w[j]),
        sum_over(i, w[i] * u[i] ** 2) / sum_over(j, w[j])
        - (sum_over(j, w[j] * u[j]) / sum_over(j, w[j])) ** 2,
    ),
    "root of a sum over the sum": ((a + b) / sqrt(a + b), sqrt(a + b)),
    "root below a root": (1 / sqrt(a + b) * sqrt(a + b) ** 3, a + b),
    "root of a square": (sqrt((a + b) ** 2), a + b),
    "difference of roots": ((sqrt(a) - sqrt(b)) * (sqrt(a) + sqrt(b)), a - b),
    "rationalised": (1 / (sqrt(a + 1) + sqrt(a)), sqrt(a + 1) - sqrt(a)),
    "rows normalised twice": (
        sum_over(i, P[i, h] / sum_over(h, P[i, h]) / sum_over(j, P[j, h] / sum_over(h, P[j, h]))),
        as_term(1),
    ),
    "sigmoid and tanh": (2 * apply("sigmoid", 2 * x) - 1, apply("tanh", x)),
    "sigmoid reflected": (apply("sigmoid", x) + apply("sigmoid", -x), as_term(1)),
    "sigmoid as softmax of two": (exp(x) / (exp(x) + exp(y)), apply("sigmoid", x - y)),
    "hyperbolic squares": (apply("cosh", x) ** 2 - apply("sinh", x) ** 2, as_term(1)),
    "tanh is sinh over cosh": (apply("tanh", x), apply("sinh", x) / apply("cosh", x)),
    "relu and abs": (apply("relu", x) - apply("relu", -x), x),
    "abs by relu": (apply("relu", x) + apply("relu", -x), apply("abs", x)),
    "addition of sines": (
        apply("sin", x + y),
        apply("sin", x) * apply("cos", y) + apply("cos", x) * apply("sin", y),
    ),
    "double angle": (apply("cos", 2 * x), 1 - 2 * apply("sin", x) ** 2),
    "polarisation": (u.T @ v, (squared_norm(u + v) - squared_norm(u - v)) / 4),
    "square of a difference": (squared_norm(u - v), squared_norm(u) - 2 * (u.T @ v) + squared_norm(v)),
    "Lagrange": (
        squared_norm(u) * squared_norm(v) - (u.T @ v) ** 2,
        sum_over(i, j, (u[i] * v[j] - u[j] * v[i]) ** 2) / 2,
    ),
    "centred squares": (
        sum_over(i, (u[i] - sum_over(j, u[j]) / size("N")) ** 2),
        squared_norm(u) - sum_over(j, u[j]) ** 2 / size("N"),
    ),
    "trace is cyclic": (trace(A @ B @ C), trace(C @ A @ B)),
    "trace of an outer product": (trace(u @ v.T), v.T @ u),
    "transpose of a product": ((u.T @ (A @ B).T) @ v, (v.T @ A) @ (B @ u)),
    "quadratic form of a diagonal": (u.T @ diag(w) @ u, sum_over(i, w[i] * u[i] ** 2)),
    "a projection": (squared_norm((eye("N") - u @ u.T) @ v), squared_norm(v) - 2 * (u.T @ v) ** 2 + squared_norm(u) * (u.T @ v) ** 2),
    "geometric sum of three": ((1 - x) * (1 + x + x**2), 1 - x**3),
    "exponentials multiply": (exp(x) * exp(y) / exp(x + y), as_term(1)),
    "sums exchange": (sum_over(i, sum_over(h, u[i] * P[i, h])), sum_over(h, sum_over(i, u[i] * P[i, h]))),
}  # fmt: skip


@pytest.mark.parametrize("name", IDENTITIES)
def test_a_textbook_identity_is_proved_and_no_other_is(name: str) -> None:
    one, two = IDENTITIES[name]
    assert judge(Identity(one, two), with_mutants=False).proved
    for wrong in (two + 1, 2 * two + t, two * x):
        assert judge(Identity(one, wrong), with_mutants=False).holds is False


def test_a_root_of_a_square_is_no_less_than_zero() -> None:
    norm = squared_norm(u)
    assert judge(Identity(sqrt(norm**2), norm)).proved
    assert judge(Identity(sqrt((x + y) ** 2), x + y)).holds is False
    assert judge(Identity(sqrt((a - b) ** 2), a - b)).holds is False
