"""The symbolic dualiser: derived duals are solved exactly and must have exactly the primal's value."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import pytest

from checks.claim import Options
from checks.papers.nguyen2023.legs import theorem1 as legs
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import program as program_module
from derivations.calculus.components import evaluate
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import to_expr
from derivations.calculus.program import (
    Constraint,
    Dual,
    Program,
    Raw,
    contract_inverse,
    convexity,
    dualise,
    is_affine,
    lagrangian,
    with_residuals,
)
from derivations.calculus.term import apply, as_term, squared_norm, sum_over, trace
from derivations.theories import ksvd
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import SvrAssumptions
from solvers.compile import compile_program
from solvers.exact import NoExactCertificate, solve_exact

HALF = Fraction(1, 2)
i, j, k, m = Index("i", "N"), Index("j", "N"), Index("k", "K"), Index("m", "M")
X, Q, R = Tensor("x", ("N",)), Tensor("q", ("N",)), Tensor("r")
P, PINV = Tensor("P", ("N", "N"), symmetric=True), Tensor("P^-", ("N", "N"), symmetric=True)
G, H = Tensor("G", ("M", "N")), Tensor("h", ("M",))
A, B = Tensor("A", ("K", "N")), Tensor("b", ("K",))
MU, NU, Q0 = Tensor("mu", ("M",)), Tensor("nu", ("K",)), Tensor("lambda", ())
x, q, p, g, h, a, b = (as_term(t) for t in (X, Q, P, G, H, A, B))
QUADRATIC = HALF * sum_over(i, j, x[i] * p[i, j] * x[j]) + q.T @ x + as_term(R)
INEQUALITY = Constraint(g[m].T @ x, h[m], MU, (m,))
EQUALITY = Constraint(a[k].T @ x, b[k], NU, (k,), equality=True)
INVERSE = ((P, PINV),)


def program(*constraints: Constraint, maximise: bool = False) -> Program:
    objective = -QUADRATIC if maximise else QUADRATIC
    return Program("qp", (X,), objective, constraints, maximise, INVERSE, (P,))


def data(seed: int, sizes: dict[str, int]) -> Any:
    """A positive definite P with its inverse, and constraints that a random point satisfies."""
    rng = random.Random(seed)
    n = sizes["N"]

    def draw(*shape: int) -> dict[tuple[int, ...], Fraction]:
        return {e: Fraction(rng.randint(-3, 3)) for e in product(*(range(s) for s in shape))}

    root = [[rng.randint(-2, 2) for _ in range(n)] for _ in range(n)]
    matrix = flint.fmpq_mat(
        n, n, [flint.fmpq(sum(r[c] * r2[c] for c in range(n)) + (r is r2)) for r in root for r2 in root]
    )
    inverse = matrix.inv()
    table: dict[str, dict[tuple[int, ...], Fraction]] = {
        "P": {(r, c): Fraction(int(matrix[r, c].p), int(matrix[r, c].q)) for r in range(n) for c in range(n)},
        "P^-": {
            (r, c): Fraction(int(inverse[r, c].p), int(inverse[r, c].q)) for r in range(n) for c in range(n)
        },
        "q": draw(n),
        "r": {(): Fraction(rng.randint(-3, 3))},
        "G": draw(sizes["M"], n),
        "A": draw(sizes["K"], n),
    }
    point = [Fraction(rng.randint(-2, 2)) for _ in range(n)]
    table["b"] = {(r,): sum(table["A"][r, c] * point[c] for c in range(n)) for r in range(sizes["K"])}
    table["h"] = {
        (r,): sum(table["G"][r, c] * point[c] for c in range(n)) + rng.randint(0, 2)
        for r in range(sizes["M"])
    }
    return lambda tensor, entry: table[tensor.name][entry]


def values(
    primal: Program, derived: Program, sizes: dict[str, int], lookup: Any
) -> tuple[Fraction, Fraction]:
    """The exact optimal values of both programs, in their own senses."""
    found = []
    for one in (primal, derived):
        value = solve_exact(compile_program(one, sizes, lookup)).certificate.primal_value
        found.append(-value if one.maximise else value)
    return found[0], found[1]


CASES = {
    "free": ((), False),
    "inequalities": ((INEQUALITY,), False),
    "equalities": ((EQUALITY,), False),
    "both": ((INEQUALITY, EQUALITY), False),
    "maximised": ((INEQUALITY, EQUALITY), True),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_strong_duality_holds_exactly(name: str, seed: int) -> None:
    constraints, maximise = CASES[name]
    whole = program(*constraints, maximise=maximise)
    result = dualise(whole)
    assert result.program is not None and not result.conditions
    assert result.program.maximise is not maximise
    sizes = {"N": 2 + seed % 2, "M": 1 + seed % 3, "K": 1}
    lookup = data(seed, sizes)
    if not constraints:  # no dual variable is left: the dual objective is the value itself
        primal = solve_exact(compile_program(whole, sizes, lookup)).certificate.primal_value
        assert evaluate(result.program.objective.entry(), sizes, lookup, {}) == primal
        return
    one, two = values(whole, result.program, sizes, lookup)
    assert one == two


def corrupted(derived: Program, sign: int) -> Program:
    """The dual with one quadratic (or linear) term's sign flipped."""
    form = list(nf.normal(derived.objective.entry()))
    n = next(
        n
        for n, (mono, _) in enumerate(form)
        if any(atom[0] == "T" and atom[1] in (MU, NU) for atom, _ in mono[2])
    )
    form[n] = (form[n][0], sign * form[n][1])
    return replace(derived, objective=Raw((), to_expr(tuple(form))))


@pytest.mark.parametrize("seed", range(3))
def test_a_corrupted_dual_is_noticed(seed: int) -> None:
    """A doubled or flipped term: another value, or no bounded program any more."""
    sizes = {"N": 2, "M": 2, "K": 1}
    lookup = data(seed + 10, sizes)
    whole = program(INEQUALITY, EQUALITY)
    result = dualise(whole)
    assert result.program is not None
    noticed = 0
    for factor in (-1, 2):
        try:
            one, two = values(whole, corrupted(result.program, factor), sizes, lookup)
            noticed += one != two
        except NoExactCertificate:  # no longer a concave maximisation, or unbounded
            noticed += 1
    assert noticed == 2


def test_multipliers_of_inequalities_have_signs_and_of_equalities_none() -> None:
    derived = dualise(program(INEQUALITY, EQUALITY)).program
    assert derived is not None
    signs = [c for c in derived.constraints if not c.equality]
    assert len(signs) == 1 and ix.tensors(signs[0].excess()) == {MU}


def test_the_solved_variable_satisfies_stationarity() -> None:
    result = dualise(program(INEQUALITY, EQUALITY))
    condition = nf.normal(result.substitute(result.stationarity[X]))
    flipped = contract_inverse(contract_inverse(condition, P, PINV), PINV, P)
    assert nf.is_zero(flipped)


def test_lagrangian_signs() -> None:
    low = lagrangian(program(INEQUALITY)).entry()
    high = lagrangian(program(INEQUALITY, maximise=True)).entry()
    excess = ix.Sum(m, MU[m] * INEQUALITY.excess())
    assert nf.equal(low, QUADRATIC.entry() + excess)
    assert nf.equal(high, -QUADRATIC.entry() - excess)


def test_complementarity_lists_the_inequalities_only() -> None:
    result = dualise(program(INEQUALITY, EQUALITY))
    assert [t for t, _ in result.complementarity] == [MU]
    assert nf.equal(result.complementarity[0][1], INEQUALITY.excess())


# ---------------------------------------------------------------- squares of affine expressions

W, T, DESIGN, Y = Tensor("w", ("D",)), Tensor("t", ("D",)), Tensor("X", ("N", "D")), Tensor("y", ("N",))
LAM = Tensor("lambda", positive=True)
c_ = Index("c", "D")
w, t, design, y, lam = (as_term(one) for one in (W, T, DESIGN, Y, LAM))
ABSOLUTE = tuple(
    Constraint(side, t[c_], Tensor(name, ("D",)), (c_,)) for name, side in (("a", w[c_]), ("b", -w[c_]))
)
RIDGE = Program("ridge", (W,), squared_norm(design @ w - y) / 2 + lam / 2 * squared_norm(w))
ROWS = sum_over(i, (design[i].T @ w - y[i]) ** 2) / 2
FITS = {
    "ridge": RIDGE,
    "ridge by rows": replace(RIDGE, objective=ROWS + lam / 2 * squared_norm(w)),
    "least squares": replace(RIDGE, objective=squared_norm(design @ w - y) / 2),
    "lasso": Program("lasso", (W, T), ROWS + lam * sum_over(c_, t[c_]), ABSOLUTE),
    "maximised": replace(RIDGE, objective=-RIDGE.objective, maximise=True),
}


def fit_data(seed: int, sizes: dict[str, int]) -> Any:
    rng = random.Random(seed)
    table = {("lambda", ()): Fraction(rng.randint(1, 4), 2)}
    for name, dims in (("X", ("N", "D")), ("y", ("N",))):
        for entry in product(*(range(sizes[dim]) for dim in dims)):
            table[name, entry] = Fraction(rng.randint(-3, 3))
    return lambda tensor, entry: table[tensor.name, entry]


@pytest.mark.parametrize("name", FITS)
def test_squares_of_affine_expressions_get_residuals_and_strong_duality_holds_exactly(name: str) -> None:
    whole = FITS[name]
    result = dualise(whole)
    (step,) = [s for s in result.steps if s.title == "Residuals"]
    assert step.checked is True and result.program is not None
    sizes = {"N": 3, "D": 2}
    for seed in range(2):
        one, two = values(whole, result.program, sizes, fit_data(seed, sizes))
        assert one == two
    wrong = replace(result.program, objective=result.program.objective * 2)
    assert (
        values(whole, wrong, sizes, fit_data(1, sizes))[0]
        != values(whole, wrong, sizes, fit_data(1, sizes))[1]
    )


def test_a_program_that_is_shown_to_be_convex_as_it_stands_gets_no_residuals() -> None:
    assert not [s for s in dualise(program(INEQUALITY, EQUALITY)).steps if s.title == "Residuals"]


def test_residuals_do_not_make_a_concave_minimisation_convex() -> None:
    concave = replace(RIDGE, objective=lam / 2 * squared_norm(w) - squared_norm(design @ w - y) / 2)
    assert not convexity(concave)
    with pytest.raises(ValueError, match="enters the Lagrangian quadratically"):
        dualise(concave)


def test_a_residual_that_is_another_expression_is_noticed() -> None:
    split = with_residuals(RIDGE)
    assert program_module._says_the_same(split, RIDGE)
    (own,) = split.constraints
    assert not program_module._says_the_same(
        replace(split, constraints=(replace(own, lhs=2 * own.lhs),)), RIDGE
    )
    assert not program_module._says_the_same(replace(split, objective=2 * split.objective), RIDGE)


def test_programs_and_duals_show_themselves_in_notebooks() -> None:
    result = dualise(RIDGE)
    assert RIDGE._repr_latex_() == rf"$\displaystyle {RIDGE.latex()}$"
    assert (design @ w)._repr_latex_() == r"$\displaystyle X w$"
    shown = result._repr_markdown_()
    assert all(f"**{s.title}.**" in shown and f"$$ {s.latex} $$" in shown for s in result.steps)
    assert len(str(result)) < 400


def test_names_of_residuals_are_new() -> None:
    taken = replace(RIDGE, objective=RIDGE.objective + as_term(R) * sum_over(c_, w[c_]))
    assert [v.name for v in with_residuals(taken).variables] == ["w", "r_1"]


# ---------------------------------------------------------------- support vector regression, all knobs

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "least_squares", "huber")


KNOBS = [
    # each loss with a bias and a box, and without; the other combinations are slow ones
    pytest.param(
        *choice,
        marks=()
        if choice[1:] in (("on", "kept", "kernel_sum"), ("off", "relaxed", "one"))
        else pytest.mark.slow,
    )
    for choice in product(LOSSES, ("on", "off"), ("kept", "relaxed"), ("kernel_sum", "one"))
]


@pytest.mark.parametrize("loss, bias, box, normaliser", KNOBS)
def test_every_regression_has_the_value_of_its_dual(loss: str, bias: str, box: str, normaliser: str) -> None:
    assumptions = SvrAssumptions(loss=loss, bias=bias, box=box, normaliser=normaliser)
    primal, result = svr.primal(assumptions), svr.dual(assumptions)
    assert convexity(primal) and result.program is not None
    one, two = values(primal, result.program, legs.SIZES, legs.data)
    assert one == two
    assert (svr.b in result.conditions) == (bias == "on")
    exact, *_ = legs.primal_and_dual(assumptions, _options())
    assert exact.passed and exact.grade == "exact-rational"


def _options() -> Options:
    return Options(max_tokens=64)


def test_the_legs_notice_a_wrong_dual(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dual whose kernel term is doubled: the exact leg must fail."""
    assumptions = SvrAssumptions(loss="least_squares")
    right = svr.dual(assumptions)
    assert right.program is not None
    wrong = Dual(right.lagrangian, right.at, right.stationarity, right.solved, right.conditions, right.complementarity,
                 replace(right.program, objective=2 * right.program.objective))  # fmt: skip
    monkeypatch.setattr(svr, "dual", lambda a: wrong)
    assert legs.primal_and_dual(assumptions, _options())[0].passed is False


def test_the_legs_notice_wrong_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    assumptions = SvrAssumptions(loss="least_squares")
    right = svr.dual(assumptions)
    wrong = Dual(right.lagrangian, right.at, right.stationarity, {**right.solved, svr.w: -right.solved[svr.w]},
                 right.conditions, right.complementarity, right.program)  # fmt: skip
    monkeypatch.setattr(svr, "dual", lambda a: wrong)
    assert legs.primal_and_dual(assumptions, _options())[0].passed is False


# ---------------------------------------------------------------- what is refused

E_, RR = Tensor("W_e", ("D", "S")), Tensor("W_r", ("D", "S"))
LAMBDA = Tensor("Lambda", ("S",), positive=True)


@pytest.mark.parametrize("objective, constraint, words", [
    (sum_over(i, x[i] ** 3), None, "not quadratic"),
    (sum_over(i, apply("F", x[i])), None, "not quadratic"),
    (1 / (1 + squared_norm(x)), None, "not quadratic"),
    (squared_norm(x) ** 2, None, "not quadratic"),
    (squared_norm(x), Constraint(squared_norm(x), as_term(1), R), "multiplier r is not affine"),
    (squared_norm(x), Constraint(as_term(1) / x[i], as_term(1), Q, (i,)), "multiplier q is not affine"),
])  # fmt: skip
def test_programs_that_are_not_quadratic_are_refused(objective: Any, constraint: Any, words: str) -> None:
    bad = Program("bad", (X,), objective, (constraint,) if constraint else ())
    with pytest.raises(ValueError, match=words):
        dualise(bad)
    with pytest.raises(ValueError, match=words):
        compile_program(bad, {"N": 2}, lambda t, e: Fraction(1))


def test_an_inverse_must_be_of_a_symmetric_matrix() -> None:
    loose, its = Tensor("L", ("N", "N")), Tensor("L^-", ("N", "N"))
    form = HALF * sum_over(i, j, x[i] * as_term(loose)[i, j] * x[j]) + q.T @ x
    with pytest.raises(ValueError, match="must both be symmetric"):
        dualise(Program("p", (X,), form, (), inverses=((loose, its),)))


def test_a_program_without_constraints_is_not_said_to_have_affine_ones() -> None:
    free = Program("free", (R,), HALF * as_term(R) ** 2)
    assert "no constraints" in convexity(free) and "affine and" not in convexity(free)


def test_a_bilinear_coupling_is_quadratic_but_not_convex() -> None:
    """Tr(W_eᵀ W_r) couples two variables: it may be dualised, and is never taken for convex."""
    coupled = Program("coupled", (E_, RR), trace(as_term(E_).T @ as_term(RR)))
    assert not convexity(coupled)
    result = dualise(coupled)
    assert result.program is None
    assert nf.equal(result.stationarity[E_], RR[result.at[E_]])
    assert nf.equal(result.stationarity[RR], E_[result.at[RR]])


def titles(result: Dual) -> list[str]:
    return [s.title for s in result.steps]


def test_only_a_convex_program_has_a_dual() -> None:
    """minimise -x²/2 subject to x <= 1 has no bound, though its Lagrangian is stationary at x = λ with
    value λ²/2 - λ.
    """
    limit = Constraint(as_term(R), as_term(1), Q0)
    concave = Program("concave", (R,), -HALF * as_term(R) ** 2, (limit,))
    result = dualise(concave)
    assert result.program is None and "No dual program" in titles(result)
    last = next(s for s in result.steps if s.title == "No dual program")
    assert "bounds nothing" in last.reason
    assert nf.equal(result.solved[R], Q0.scalar) and [t for t, _ in result.complementarity] == [Q0]
    for whole in (Program("convex", (R,), HALF * as_term(R) ** 2, (limit,)), replace(concave, maximise=True)):
        assert convexity(whole) and dualise(whole).program is not None
        assert "Dual program" in titles(dualise(whole)) and "No dual program" not in titles(dualise(whole))
    for whole in (replace(concave, objective=HALF * as_term(R) ** 2, maximise=True), concave):
        assert not convexity(whole) and dualise(whole).program is None


def test_the_program_of_ksvd_has_no_dual() -> None:
    assumptions = ksvd.KsvdAssumptions()
    assert ksvd.dual(assumptions).program is None
    step = next(s for s in ksvd.derive(assumptions) if s.title == "Eliminated Lagrangian")
    assert "no dual" in step.reason and not any(
        "dual program" in s.title.lower() for s in ksvd.derive(assumptions)
    )


def test_what_is_affine() -> None:
    for expr, said in (((x[i] * q[i]).entry(), True), ((x[i] ** 2).entry(), False), ((q[i] ** 2).entry(), True),
                       ((q[i] / x[i]).entry(), False), (apply("F", x[i]).entry(), False), (apply("F", q[i]).entry(), True),
                       ((x[i] * sum_over(j, x[j])).entry(), False), ((x[i] ** 2 - x[i] * x[i]).entry(), True)):  # fmt: skip
        assert is_affine(expr, (X,)) is said


@pytest.mark.parametrize("multiplier, constraints", [
    (MU, (INEQUALITY, replace(INEQUALITY, lhs=-(g[m].T @ x)))),  # of two constraints
    (H, (replace(INEQUALITY, multiplier=H),)),  # a number of the data
    (Tensor("mu", ("M",), "h"), (replace(INEQUALITY, multiplier=Tensor("mu", ("M",), "h")),)),  # printed as one
])  # fmt: skip
def test_a_multiplier_is_a_letter_of_its_own(multiplier: Tensor, constraints: tuple[Constraint, ...]) -> None:
    """min ½w² + 3w with -1 <= w <= 1 and one multiplier for both has the optimum -5/2, and "dual" -9/2."""
    with pytest.raises(ValueError, match=f"the multiplier {multiplier.name} is not a letter of its own"):
        dualise(program(*constraints))


def test_steps_name_tensors_as_they_are_printed() -> None:
    xi = Tensor("slack", ("N",), latex=r"\xi", entry_latex=r"\xi_{%1}")
    dual = dualise(replace(RIDGE, variables=(xi,), objective=squared_norm(as_term(xi)) - as_term(xi).T @ y))
    titles = " ".join(f"{step.title} {step.reason}" for step in dual.steps)
    assert "Stationarity in ξ" in titles and "ξ determines ξ" in titles and "slack" not in titles


def test_a_variable_that_occurs_nowhere_is_named() -> None:
    with pytest.raises(ValueError, match="u is a variable that occurs nowhere in the program"):
        dualise(replace(RIDGE, variables=(*RIDGE.variables, Tensor("u"))))


def test_an_index_has_no_letter_that_a_symbol_beside_it_is_written_with() -> None:
    """Φ(k_{m_x(j)})_m would be read with one m."""
    width, j = r"D_\phi", Index("j", "M")
    w, xi, alpha = Tensor("w", (width,)), Tensor("b"), Tensor("alpha", ("M",))
    for row, letter in ((r"k_{m_x(%1)}", "n"), (r"k_{%1}", "m")):
        keys = as_term(Tensor("k", ("M", width), row_latex=row))
        reached = Constraint(as_term(1), keys[j].T @ as_term(w) + as_term(xi), alpha, over=(j,))
        program = Program("keys", (w, xi), squared_norm(as_term(w)) + as_term(xi) ** 2, (reached,))
        assert [i.name for i in dualise(program).at[w]] == [letter]
