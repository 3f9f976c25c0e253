"""Printed terms against their index notation: every operation, entry by entry, and no index is captured."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from checks.engine.wellformed import check
from checks.statement import Identity, Malformed
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import term as tm
from derivations.calculus.components import evaluate
from derivations.calculus.exact import exact_exp
from derivations.calculus.functions import EXACT_FUNCTIONS
from derivations.calculus.gradients import at_point, grad, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.program import Raw
from derivations.calculus.term import NonConformable, Term, as_term, hadamard, size, sum_over

SIZES = {"N": 3, "M": 2}
i, j = Index("i", "N"), Index("j", "N")
k = Index("k", "M")
A, B = Tensor("A", ("N", "N")), Tensor("B", ("N", "M"))
C = Tensor("C", ("N", "N"))
x, y = Tensor("x", ("N",)), Tensor("y", ("M",))
s = Tensor("s", ())
VALUES = {
    "A": [[1, -2, 3], [0, 5, -1], [2, 7, 4]],
    "C": [[2, 1, 0], [3, -1, 1], [1, 1, 6]],
    "B": [[1, 2], [-3, 4], [5, -6]],
    "x": [2, -1, 3],
    "y": [4, -5],
    "s": 7,
}


def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
    value: Any = VALUES[tensor.name]
    for n in entry:
        value = value[n]
    return Fraction(value)


def value(expr: ix.Expr, at: dict[Index, int] | None = None) -> Any:
    return evaluate(expr, SIZES, lookup, EXACT_FUNCTIONS, at)


def m(name: str) -> Callable[..., Fraction]:
    return lambda *entry: lookup(Tensor(name), entry)


a, b, c, u, v = m("A"), m("B"), m("C"), m("x"), m("y")
CASES: dict[str, tuple[Term, Callable[..., Any]]] = {
    "matrix product": (as_term(A) @ as_term(B), lambda p, q: sum(a(p, n) * b(n, q) for n in range(3))),
    "matrix times vector": (as_term(A) @ as_term(x), lambda p: sum(a(p, n) * u(n) for n in range(3))),
    "row times vector": (as_term(x).T @ as_term(x), lambda: sum(u(n) ** 2 for n in range(3))),
    "row times matrix": (as_term(x).T @ as_term(B), lambda z, q: sum(u(n) * b(n, q) for n in range(3))),
    "outer product": (as_term(x) @ as_term(y).T, lambda p, q: u(p) * v(q)),
    "transpose": (as_term(B).T, lambda p, q: b(q, p)),
    "sum and negative": (as_term(A) - as_term(C), lambda p, q: a(p, q) - c(p, q)),
    "scalar product": (3 * as_term(s) * as_term(x), lambda p: 21 * u(p)),
    "entrywise product": (tm.Hadamard((as_term(A), as_term(C))), lambda p, q: a(p, q) * c(p, q)),
    "fraction": (as_term(x) / as_term(s), lambda p: u(p) / 7),
    "power": (as_term(x) ** 2, lambda p: u(p) ** 2),
    "trace of a product": (tm.trace(as_term(A) @ as_term(C)), lambda: sum(
        a(p, q) * c(q, p) for p in range(3) for q in range(3))),
    "norm": (tm.squared_norm(as_term(B)), lambda: sum(b(p, q) ** 2 for p in range(3) for q in range(2))),
    "diagonal": (tm.diag(as_term(x)), lambda p, q: u(p) if p == q else 0),
    "identity": (tm.eye("N"), lambda p, q: int(p == q)),
    "zeros": (tm.zeros("N", "M"), lambda p, q: 0),
    "size": (tm.size("N") * as_term(s), lambda: 21),
    "row": (as_term(A)[i].T @ as_term(x), lambda p: sum(a(p, n) * u(n) for n in range(3))),
    "sum over an index": (tm.sum_over(j, as_term(A)[j]), lambda q: sum(a(n, q) for n in range(3))),
    "sum that does not use its index": (tm.sum_over(k, as_term(x)), lambda p: 2 * u(p)),
    "stack": (tm.stack(j, as_term(s) * as_term(A)[j]), lambda p, q: 7 * a(p, q)),
    "row softmax": (tm.row_softmax(as_term(A)), lambda p, q: exact_exp(a(p, q)) / sum(
        (exact_exp(a(p, n)) for n in range(3)), Fraction(0))),
    "softmax": (tm.softmax(j, as_term(A)[i, j]), lambda p, q: exact_exp(a(p, q)) / sum(
        (exact_exp(a(p, n)) for n in range(3)), Fraction(0))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_entries_are_those_of_the_array(name: str) -> None:
    term, truth = CASES[name]
    at = tuple(Index(f"e{n}", d) for n, d in enumerate(term.shape()))
    loose = sorted(tm.free(term), key=lambda index: index.name)
    expr = term.entry(*at)
    for entry in product(*(range(SIZES.get(index.dim, 1)) for index in (*loose, *at))):
        where = dict(zip((*loose, *at), entry, strict=True))
        assert value(expr, where) == truth(*entry)
        assert value(to_expr(nf.normal(expr)), where) == truth(*entry)


@pytest.mark.parametrize("name", CASES)
def test_entries_at_any_names_are_the_same_function(name: str) -> None:
    """Asking for entry [i, j] must not collide with an i or j that is bound inside the term."""
    term, truth = CASES[name]
    loose = sorted(tm.free(term), key=lambda index: index.name)
    for names in (("i", "j"), ("j", "i"), ("j", "k"), ("m", "m'")):
        at = tuple(Index(c, d) for c, d in zip(names, term.shape(), strict=False))
        if len(set(at)) < len(at) or set(at) & set(loose):
            continue
        expr = term.entry(*at)
        for entry in product(*(range(SIZES.get(index.dim, 1)) for index in (*loose, *at))):
            assert value(expr, dict(zip((*loose, *at), entry, strict=True))) == truth(*entry)


def test_an_index_from_outside_is_not_captured_by_a_stack() -> None:
    assert nf.equal(tm.stack(i, as_term(A)[i])[j, i].entry(), A[j, i])
    assert not nf.equal(tm.stack(i, as_term(A)[i])[j, i].entry(), A[j, j])


def test_an_index_from_outside_is_not_captured_by_a_sum() -> None:
    column = tm.sum_over(j, as_term(A)[j])[j].entry()
    assert nf.equal(column, ix.Sum(i, A[i, j]))
    assert not nf.equal(column, ix.Sum(i, A[i, i]))


def test_nested_sums_may_reuse_a_name() -> None:
    inner = tm.sum_over(i, as_term(x)[i])
    assert nf.equal(tm.sum_over(i, as_term(x)[i] * inner).entry(), ix.Sum(i, x[i]) ** 2)


def test_diagonal_and_equal_entries_of_one_stack() -> None:
    whole = tm.stack(i, tm.stack(j, as_term(A)[j, i]))
    assert nf.equal(whole[i, i].entry(), A[i, i])
    assert nf.equal(whole[j, i].entry(), A[i, j])


L, R = Tensor("A", ("N", "N")), Tensor("B", ("N", "M"))


def test_softmax_of_a_row_of_blocks_normalises_over_the_whole_row() -> None:
    row = tm.row_softmax(tm.blocks([as_term(L), as_term(R)]))
    at = {i: 1, k: 0}
    whole = sum((exact_exp(a(1, n)) for n in range(3)), Fraction(0)) + sum(
        (exact_exp(b(1, n)) for n in range(2)), Fraction(0)
    )
    assert value(row.entry(i, k), at) == exact_exp(b(1, 0)) / whole


def test_diagonal_and_trace_of_stacked_vectors() -> None:
    whole = tm.diag(tm.blocks(as_term(x), as_term(y)))
    assert value(whole.entry(i, k), {i: 1, k: 1}) == 0
    assert value(whole.entry(i, j), {i: 1, j: 1}) == -1
    assert value(tm.trace(whole).entry()) == sum(map(u, range(3))) + sum(map(v, range(2)))


BAD = {
    "sum of different shapes": as_term(A) + as_term(B),
    "inner dimensions": as_term(B) @ as_term(A),
    "matrix times scalar": as_term(A) @ as_term(s),
    "two matrices side by side": as_term(A) * as_term(B),
    "division by a vector": as_term(s) / as_term(x),
    "entrywise": tm.Hadamard((as_term(A), as_term(B))),
    "trace of a rectangle": tm.trace(as_term(B)),
    "row softmax of a vector": tm.row_softmax(as_term(x)),
    "softmax of a vector": tm.softmax(j, as_term(x)),
    "diagonal of a matrix": tm.diag(as_term(A)),
    "index of another range": as_term(x)[k],
    "too many indices": as_term(x)[i, j],
    "blocks that do not fit": tm.blocks([as_term(A), as_term(B)], [as_term(B), as_term(A)]),
}


def test_blocks_that_cannot_be_told_apart_are_beyond_the_language_and_no_misprint() -> None:
    with pytest.raises(ValueError, match="one name") as raised:
        tm.blocks([as_term(A), as_term(C)]).shape()
    assert not isinstance(raised.value, NonConformable)


@pytest.mark.parametrize("name", BAD)
def test_shapes_that_do_not_agree_are_refused(name: str) -> None:
    with pytest.raises(NonConformable):
        BAD[name].shape()
    assert BAD[name].latex()  # a misprint can still be printed


def test_a_delta_needs_indices_of_one_range() -> None:
    with pytest.raises(ValueError, match="between indices over N and M"):
        ix.Delta(i, k)


def test_floats_are_not_exact() -> None:
    with pytest.raises(TypeError, match="exact numbers only"):
        ix.as_expr(0.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a term"):
        as_term(0.5)


def test_printed_letters_of_bound_indices_avoid_free_ones() -> None:
    renamed = Index("j#5", "N")
    text = form_latex(nf.normal(x[renamed] * ix.Sum(i, x[i])))
    assert text == r"\sum_{k=1}^{N} {x}_{k}\,{x}_{j}"


def test_a_negative_product_is_subtracted() -> None:
    x, y = (tm.as_term(Tensor(name, ())) for name in "xy")
    two_y = tm.Product((tm.as_term(2), y))
    assert (x + tm.Product((tm.as_term(-2), y))).latex() == (x - two_y).latex()


n_, m_ = "n", "m"
here, there, other = Index("i", n_), Index("j", n_), Index("k", n_)
U_, M_ = as_term(Tensor("u", (n_,))), as_term(Tensor("A", (n_, n_)))
X_ = Tensor("x")


@pytest.mark.parametrize("term, latex", [
    (sum_over(here, U_[here]) * kronecker(here, there), r"\left(\sum_{i=1}^{n} u_{i}\right)\,\delta_{ij}"),
    (sum_over(here, U_[here]) * at_point(as_term(X_), X_, U_[here]), r"\left(\sum_{i=1}^{n} "
        r"u_{i}\right)\,\left.x\right|_{x = u_{i}}"),
    (sum_over(here, U_[here] * M_) @ (U_[here] * M_), r"\left(\sum_{i=1}^{n} u_{i}\,A\right) u_{i}\,A"),
    (M_ @ (-2 * M_), r"A \left(-2\,A\right)"),
    (1 - at_point(as_term(X_) + 1, X_, as_term(2)), r"1 - \left.\left(x + 1\right)\right|_{x = 2}"),
    (size("n{+}m") ** 2, r"\left(n{+}m\right)^{2}"),
    (3 - size("C-1"), r"3 - \left(C-1\right)"),
    (as_term(12) * as_term(345), r"12 \cdot 345"),
    (as_term(Tensor("t", (), "y+z")) * 2, r"\left(y+z\right)\,2"),
    (kronecker(Index(r"\mu", n_), other), r"\delta_{\mu k}"),
])  # fmt: skip
def test_what_is_printed_reads_as_what_is_meant(term: Term, latex: str) -> None:
    assert term.latex() == latex


def test_a_greek_name_is_printed_as_its_letter() -> None:
    names = ("rho", "xi_tilde", "Sigma", "mask", "x", "rhox", r"\rho")
    printed = (r"\rho", r"\xi_{tilde}", r"\Sigma", "mask", "x", "rhox", r"\rho")
    assert tuple(as_term(Tensor(name)).latex() for name in names) == printed
    assert as_term(Tensor("rho", (), r"\varrho")).latex() == r"\varrho"


def test_a_term_shows_itself_as_a_short_line_and_all_of_it_where_contents_are_told_apart() -> None:
    scores = tm.softmax(j, as_term(x)[j])
    mean = sum_over(j, scores * as_term(x)[j])
    assert repr(mean) == "Σ_(j=1)^N softmax_j(x_j) x_j"
    long = sum((mean for _ in range(50)), mean)
    assert len(repr(long)) == 160 and repr(long).endswith("…")
    promised = as_term(Tensor("x", ("N",), positive=True))
    assert repr(promised) == repr(as_term(x)) and tm.whole([promised]) != tm.whole([as_term(x)])
    assert (
        tm.whole(long) != tm.whole(long + 1)
        and "\n" not in repr(tm.stack(i, mean))
        and repr(long) == repr(long + 1)
    )


def test_powers_and_places_that_are_no_numbers_say_how_they_are_written() -> None:
    g = as_term(Tensor("g", positive=True))
    for power in (lambda: g**g, lambda: g ** (i - g), lambda: g**i):
        with pytest.raises(
            TypeError, match=r"exp\(b \* log\(a\)\)|sum_over\(l, not_later\(l, i\)\), with an index l over N"
        ):
            power()
    with pytest.raises(TypeError, match=r"sum_over\(l, not_later\(l, i\)\)"):
        as_term(i)


def test_what_is_no_index_number_or_size_is_said_at_once() -> None:
    for wrong in (
        lambda: as_term(x)[0],
        lambda: sum_over("i", s),
        lambda: tm.stack(1, s),
        lambda: tm.softmax("j", s),
    ):
        with pytest.raises(TypeError, match="an index is an Index"):
            wrong()
    with pytest.raises(TypeError, match="numbers are whole, or a Fraction"):
        0.5 * as_term(x)
    with pytest.raises(ValueError, match="a dimension has a name, not 3"):
        Index("i", 3)


@pytest.mark.parametrize("made", [
    lambda i, j: i - j, lambda i, j: i + 1, lambda i, j: 2 * i, lambda i, j: -i, lambda i, j: i / 2,
    lambda i, j: 1 + as_term(Tensor("s")) * i, lambda i, j: as_term(i),
])  # fmt: skip
def test_whoever_calculates_with_an_index_is_told_what_to_write(made: Any) -> None:
    with pytest.raises(TypeError, match=r"sum_over\(l, not_later\(l, i\)\)"):
        made(Index("i", "N"), Index("j", "N"))


def test_a_sum_takes_in_no_index_of_what_was_derived() -> None:
    u, derived = as_term(Tensor("u", ("N",))), Raw((), as_term(x)[j].entry())
    assert (sum_over(j, u[j]) * derived).latex() == r"\left(\sum_{j=1}^{N} u_{j}\right)\,\left({x}_{j}\right)"
    caught = Identity(at_point(sum_over(j, u[j] * as_term(s)), s, derived), derived * sum_over(i, u[i]))
    with pytest.raises(Malformed, match="j in what is put for s is a letter that is bound there"):
        check(caught)


@pytest.mark.parametrize("inner", [
    tm.softmax(j, as_term(s) * as_term(x)[j]), Raw((), sum_over(i, as_term(s) * as_term(x)[i]).entry()),
])  # fmt: skip
def test_nothing_is_put_in_that_a_letter_bound_there_would_catch(inner: Term) -> None:
    for value in (as_term(x)[j], sum_over(i, as_term(x)[i]) * as_term(x)[j]):
        with pytest.raises(Malformed, match="j in what is put for s is a letter that is bound there"):
            check(Identity(at_point(inner, s, value), as_term(s) * 0))


@pytest.mark.parametrize(("factor", "printed"), [
    (loss("entropy", s), r"s \log s"),
    (2 * loss("entropy", s), r"2\,s \log s"),
    (loss("log_sum_exp", tm.stack(i, as_term(x)[i])), r"\log \sum_{i=1}^{N} \exp\left(x_{i}\right)"),
    (sum_over(i, loss("entropy", as_term(x)[i])), r"\sum_{i=1}^{N} {x}_{i} \log {x}_{i}"),
    (grad(as_term(s) ** 2, s), r"\nabla_{s} E"),
])  # fmt: skip
def test_what_is_written_behind_a_factor_is_no_part_of_it(factor: Term, printed: str) -> None:
    assert (factor * as_term(s)).latex().replace("{x}", "x") == rf"\left({printed}\right)\,s".replace(
        "{x}", "x"
    )
    assert (as_term(s) * factor).latex().endswith(factor.latex()) and factor.latex() in (factor + s).latex()


def test_a_product_entry_by_entry() -> None:
    one, two = (as_term(Tensor(name, ("N", "D"))) for name in "AB")
    i, a = Index("i", "N"), Index("a", "D")
    assert nf.equal(hadamard(one, two).entry(i, a), one.entry(i, a) * two.entry(i, a))
    assert hadamard(one, two).latex() == r"A \odot B"
    with pytest.raises(NonConformable, match="hadamard"):
        (one * two).shape()
    with pytest.raises(NonConformable):
        hadamard(one, two.T).shape()
