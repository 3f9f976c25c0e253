"""Theory ksvd: kernel singular value decomposition in the primal, program (6) of chen2023.

The paper's choices are the defaults of ``KsvdAssumptions``; every derivation takes the assumptions as its
argument. Symbols follow the paper: N tokens, features φ_q, φ_k of width p, f(X) with the rows that its choice
gives, s directions, weights W_e, W_r, scores e_i, r_j, multipliers h_e, h_r, the positive diagonal of Λ, and
Σ = Λ⁻¹. The program is not convex: the dualiser's Lagrangian, stationarity and elimination hold for it; its
dual program has no optimum and is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.differentiate import gradient
from derivations.calculus.functions import BALL_FUNCTIONS
from derivations.calculus.index import Index, Tensor
from derivations.calculus.parse import parse
from derivations.calculus.printing import form_latex, latex, to_expr
from derivations.calculus.program import Constraint, Dual, Program, Step, dualise
from derivations.calculus.term import Diagonal, Pick, Term, as_term, size, sum_over, trace
from derivations.theories.theory import Knob

N, P, S, SAMPLED = "N", "p", "s", "n"
HALF = Fraction(1, 2)
ZERO = ix.Num(Fraction(0))
i, j = Index("i", N), Index("j", N)
l_ = Index("l", S)
c_ = Index("c", P)


@dataclass(frozen=True)
class KsvdAssumptions:
    """The choices of Sections 3 and 4; the defaults are the paper's."""

    feature_map: str = "any"
    f_X: str = "tokens"
    Lambda: str = "given"
    normalisation: str = "none"
    scores: str = "both"
    objective: str = "paper"


KNOBS = (
    Knob(
        "feature_map",
        ("any", "cosine", "exponential", "identity", "EXPRESSION in z, zz"),
        "the map g on a query or key z: left open, z/‖z‖, the random features of Remark 4.1, z itself, or a "
        "coordinate-wise expression such as z/(1 + zz) in the coordinate z and zz = ‖z‖²",
    ),
    Knob("f_X", ("tokens", "sampled", "identity"), "f(X) has N rows, n sampled rows, or is absent"),
    Knob("Lambda", ("given", "free"), "whether the diagonal of Λ is data or a variable of the program"),
    Knob(
        "normalisation",
        ("none", "row", "symmetric"),
        "K as the features give it, D⁻¹K, or the row weights shared by both sides: D^(-1/2) K D^(-1/2); with "
        "e only, row weights stand on both sides: D⁻¹KD⁻¹",
    ),
    Knob("scores", ("both", "e_only"), "both scores, coupled by Tr(W_eᵀW_r), or e coupled with itself"),
    Knob("objective", ("paper", "released"), "J of (6), or the released loss: mean over tokens, Λ² for Λ"),
)


def validate(name: str, value: str) -> None:
    """Raise ValueError for a value that a knob does not take."""
    allowed = next(knob.allowed for knob in KNOBS if knob.name == name)
    if name == "feature_map" and value not in allowed:
        z, zz = (Tensor(name).scalar for name in ("z", "zz"))
        if not nf.normal(parse(value, {"z": z, "zz": zz})):
            raise ValueError("the features vanish everywhere")
        _require_values(value)
        return
    if value not in allowed:
        raise ValueError("not an allowed value")


def _value_of(values: dict[Tensor, Fraction], tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
    return values[tensor]


def _require_values(feature_map: str) -> None:
    """Raise ValueError where the features of some simple token other than 0 have no real value."""
    z, zz = (Tensor(name) for name in ("z", "zz"))
    expr = parse(feature_map, {"z": z.scalar, "zz": zz.scalar})
    for entry, square in product((-1, 0, 1, 3), (1, 10)):
        if entry**2 > square:
            continue
        values = {z: Fraction(entry), zz: Fraction(square)}
        try:
            evaluate(expr, {}, partial(_value_of, values), BALL_FUNCTIONS)
        except (NotExact, ZeroDivisionError):
            raise ValueError(f"the features have no value at z = {entry}, zz = {square}") from None
    long = Tensor("zz", (), positive=True)
    for demand in sg.demands(ix.define(expr, zz, lambda: long.scalar)):
        if not sg.signs(demand.base) <= demand.signs:
            base = latex(demand.base)
            raise ValueError(
                f"the features are not shown to have a value for every token: {base} {demand.words()}"
            )


class PrintedDiagonal(Diagonal):
    """A diagonal matrix printed by its name ``data``."""

    def latex(self) -> str:
        return str(self.data)


def rows(a: KsvdAssumptions) -> str:
    """The number of rows of f(X) and of the weights."""
    return {"tokens": N, "sampled": SAMPLED, "identity": P}[a.f_X]


def _vectors(name: str, latex: str, width: str = S) -> Tensor:
    row = rf"\boldsymbol{{{latex.lower()}}}_{{%1}}"
    return Tensor(name, (N, width), latex, row, f"{row}[%2]")


e = _vectors("e", "E")
r = _vectors("r", "R")
h_e = Tensor("h_e", (N, S), "H_e", r"\boldsymbol{h}_{e_{%1}}", r"\boldsymbol{h}_{e_{%1}}[%2]")
h_r = Tensor("h_r", (N, S), "H_r", r"\boldsymbol{h}_{r_{%1}}", r"\boldsymbol{h}_{r_{%1}}[%2]")
lam = Tensor("lambda", (S,), r"\boldsymbol{\lambda}", "", r"\lambda_{%1}", positive=True)
sigma = Tensor("sigma", (S,), r"\boldsymbol{\sigma}", "", r"\sigma_{%1}", positive=True)
_PHI_Q = r"\phi_q(\boldsymbol{x}_{%1})"
phi_q = Tensor("phi_q", (N, P), r"\phi_q(X)", _PHI_Q, _PHI_Q + "_{%2}")
_PHI_K = r"\phi_k(\boldsymbol{x}_{%1})"
phi_k = Tensor("phi_k", (N, P), r"\phi_k(X)", _PHI_K, _PHI_K + "_{%2}")
phi_q_x = Tensor("phi_q(x)", (P,), r"\phi_q(\boldsymbol{x})", "", r"\phi_q(\boldsymbol{x})_{%1}")
phi_k_x = Tensor("phi_k(x)", (P,), r"\phi_k(\boldsymbol{x})", "", r"\phi_k(\boldsymbol{x})_{%1}")
K = Tensor("K", (N, N), "K", "", "K_{%1%2}")
Lambda = PrintedDiagonal((as_term(lam),), r"\Lambda")
Sigma = PrintedDiagonal((as_term(sigma),), r"\Sigma")
Lambda_inverse = PrintedDiagonal((as_term(lam) ** -1,), r"\Lambda^{-1}")
# weights of the tokens under a normalisation: D_ii⁻¹ (row) or D_ii^(-1/2) (symmetric)
d = Tensor("d", (N,), r"\boldsymbol{d}", "", "d_{%1}", positive=True)
# |L_l| of the released loss: only its square enters; at L_l = 0 nothing determines e, which is left out
released = Tensor("L", (S,), r"\boldsymbol{L}", "", "L_{%1}", positive=True)
T_E = Tensor("T_e", (N, S), "KH_r", "", r"(KH_r)_{%1%2}")
T_R = Tensor("T_r", (N, S), r"K^{\top}H_e", "", r"(K^{\top}H_e)_{%1%2}")
q = Tensor("q", (N, P), "Q", r"q(\boldsymbol{x}_{%1})", r"q(\boldsymbol{x}_{%1})_{%2}")
k = Tensor("k", (N, P), r"\mathcal{K}", r"k(\boldsymbol{x}_{%1})", r"k(\boldsymbol{x}_{%1})_{%2}")
random_w = Tensor("w", (P, P), r"\boldsymbol{w}", r"\boldsymbol{w}_{%1}", r"\boldsymbol{w}_{%1,%2}")


def transformation(a: KsvdAssumptions) -> Tensor:
    """f(X), of shape rows × p."""
    return Tensor("F", (rows(a), P), "f(X)", r"f(X)_{%1}", r"f(X)_{%1%2}")


def weights(a: KsvdAssumptions) -> tuple[Tensor, Tensor]:
    """W_e and W_r, of shape rows × s."""
    return tuple(Tensor(f"W_{c}", (rows(a), S), f"W_{c}", "", f"(W_{c})_{{%1%2}}") for c in "er")  # type: ignore[return-value]


def projected(a: KsvdAssumptions, which: Tensor) -> Term:
    """W_{e|X} = f(X)ᵀ W_e of shape p × s; W_e itself where f(X) is absent."""
    return as_term(which) if a.f_X == "identity" else as_term(transformation(a)).T @ as_term(which)


def feature_rows(a: KsvdAssumptions) -> tuple[Term, Term]:
    """The feature vectors of query i and key j, weighted as the normalisation says."""
    query, key = as_term(phi_q)[i], as_term(phi_k)[j]
    if a.normalisation != "none":
        query = as_term(d)[i] * query
    return query, as_term(d)[j] * key if a.normalisation == "symmetric" else key


def score_weight(a: KsvdAssumptions) -> tuple[Term, Term]:
    """The factor and the diagonal matrix between two scores in the objective."""
    if a.objective == "released":
        square = PrintedDiagonal((as_term(released) ** 2,), r"\operatorname{diag}(\boldsymbol{L})^{2}")
        return as_term(HALF) / size(N), square
    return as_term(HALF), Lambda


def objective(a: KsvdAssumptions) -> Term:
    """J in the scores and the weights."""
    factor, between = score_weight(a)
    w_e, w_r = map(as_term, weights(a))
    first = factor * sum_over(i, as_term(e)[i].T @ between @ as_term(e)[i])
    if a.scores == "e_only":
        return first - HALF * trace(w_e.T @ w_e)
    return first + factor * sum_over(j, as_term(r)[j].T @ between @ as_term(r)[j]) - trace(w_e.T @ w_r)


def primal(a: KsvdAssumptions) -> Program:
    """Program (6), or its variant under the assumptions. Λ is data here; see ``derive`` for a free Λ."""
    w_e, w_r = weights(a)
    query, key = feature_rows(a)
    row_e = Constraint(as_term(e)[i, l_], (projected(a, w_e).T @ query)[l_], h_e, (i, l_), equality=True)
    row_r = Constraint(as_term(r)[j, l_], (projected(a, w_r).T @ key)[l_], h_r, (j, l_), equality=True)
    if a.scores == "e_only":
        return Program("(6), e only", (w_e, e), objective(a), (row_e,), maximise=True)
    return Program("(6)", (w_e, w_r, e, r), objective(a), (row_e, row_r), maximise=True)


@lru_cache(maxsize=64)
def dual(a: KsvdAssumptions) -> Dual:
    """Lagrangian, stationarity and elimination of the program under the assumptions."""
    return dualise(primal(a))


def stationarity(a: KsvdAssumptions, variable: Tensor, *at: Index) -> ix.Expr:
    """The dualiser's ∂L/∂variable at the given indices; 0 for a variable that the program does not have."""
    result = dual(a)
    if variable not in result.stationarity:
        return ZERO
    return _at(result.stationarity[variable], result, variable, at)


def solved(a: KsvdAssumptions, variable: Tensor, *at: Index) -> ix.Expr:
    """The value that stationarity gives a primal variable, at the given indices."""
    result = dual(a)
    return _at(result.solved[variable], result, variable, at)


def _at(expr: ix.Expr, result: Dual, variable: Tensor, at: tuple[Index, ...]) -> ix.Expr:
    return ix.rename(expr, dict(zip(result.at[variable], at, strict=True)))


def kernel(a: KsvdAssumptions, row: Index, column: Index) -> Term:
    """K_ij = ⟨f(X) φ_q(x_i), f(X) φ_k(x_j)⟩ as the features of the scores induce it."""
    query, key = feature_rows(a)
    if a.scores == "e_only":
        key = _moved(query, i, j)
    if a.f_X != "identity":
        big_f = as_term(transformation(a))
        query, key = big_f @ query, big_f @ key
    return _moved(_moved(query.T @ key, i, row), j, column)


def _moved(term: Term, old: Index, new: Index) -> Term:
    """The term with a free index renamed in every pick."""
    if isinstance(term, Pick):
        at = tuple(new if x == old else x for x in term.data)
        return Pick(tuple(_moved(t, old, new) for t in term.args), at)
    return replace(term, args=tuple(_moved(t, old, new) for t in term.args))


def residual(a: KsvdAssumptions, which: int) -> ix.Expr:
    """Constraint ``which`` (0: e_i, 1: r_j) with every solved variable put in: lhs - rhs, in i or j and l.

    0 where the program has no such constraint.
    """
    if which >= len(primal(a).constraints):
        return ZERO
    return dual(a).substitute(primal(a).constraints[which].excess())


def multiplier_gradient(a: KsvdAssumptions, multiplier: Tensor, *at: Index) -> ix.Expr:
    """The guarded gradient of the Lagrangian by a multiplier."""
    return _gradient(dual(a).lagrangian.entry(), multiplier, at)


def eliminated(a: KsvdAssumptions) -> ix.Expr:
    """The Lagrangian after elimination: a function of the multipliers alone."""
    return to_expr(nf.normal(dual(a).substitute(dual(a).lagrangian.entry())))


def eliminated_gradient(a: KsvdAssumptions, multiplier: Tensor, *at: Index) -> ix.Expr:
    """The guarded gradient of the eliminated Lagrangian by a multiplier."""
    return _gradient(eliminated(a), multiplier, at)


def in_weights(a: KsvdAssumptions) -> ix.Expr:
    """J as a function of W_e and W_r alone: the constraints put into the objective."""
    w_e, w_r = weights(a)
    query, key = feature_rows(a)

    def score(w: Tensor, features: Term, token: Index) -> Callable[..., ix.Expr]:
        term = projected(a, w).T @ features
        return lambda row, column: ix.rename(term.entry(column), {token: row})

    expr = ix.define(objective(a).entry(), e, score(w_e, query, i))
    return ix.define(expr, r, score(w_r, key, j))


@lru_cache(maxsize=64)
def weight_gradient(a: KsvdAssumptions, variable: Tensor, *at: Index) -> ix.Expr:
    """The guarded gradient of J as a function of the weights."""
    return _gradient(to_expr(nf.normal(in_weights(a))), variable, at)


def _gradient(expr: ix.Expr, variable: Tensor, at: tuple[Index, ...]) -> ix.Expr:
    """The guarded gradient; 0 for a variable that the expression does not have."""
    return gradient(expr, variable, at) if variable in ix.tensors(expr) else ZERO


def objective_at_solution(a: KsvdAssumptions) -> ix.Expr:
    """J with every primal variable replaced by what stationarity gives."""
    return to_expr(nf.normal(dual(a).substitute(objective(a).entry())))


def feature(a: KsvdAssumptions, vector: Tensor, row: Index, column: Index) -> ix.Expr:
    """Coordinate ``column`` of g at a row of the queries or keys; the features themselves where g is open."""
    inner, coordinate = column.fresh(), vector[row, column]
    square = ix.Sum(inner, vector[row, inner] ** 2)
    if a.feature_map == "cosine":
        return coordinate * square ** Fraction(-1, 2)
    if a.feature_map == "exponential":
        dot = column.fresh()
        return ix.exp(-HALF * square) * ix.exp(ix.Sum(dot, random_w[column, dot] * vector[row, dot]))
    if a.feature_map == "identity":
        return coordinate
    if a.feature_map == "any":
        return (phi_q if vector == q else phi_k)[row, column]
    return parse(a.feature_map, {"z": coordinate, "zz": square})


def kernel_in_tokens(a: KsvdAssumptions) -> ix.Expr:
    """K_ij with the feature map of the assumptions put in, in the queries and keys."""
    expr = ix.define(kernel(a, i, j).entry(), phi_q, lambda row, column: feature(a, q, row, column))
    return ix.define(expr, phi_k, lambda row, column: feature(a, k, row, column))


def derive(a: KsvdAssumptions) -> list[Step]:
    """The whole derivation: Lagrangian, stationarity, elimination, eigenvalue problem, kernel, value of J."""
    steps = [s for s in dual(a).steps if s.title != "No dual program"]  # said below, of the same value
    names = [("e", h_e, i)] if a.scores == "e_only" else [("e", h_e, i), ("r", h_r, j)]
    for n, (name, _, _) in enumerate(names):
        latex = rf"{form_latex(nf.normal(residual(a, n)))} = 0"
        why = f"the solved variables are put into the constraint on {name}"
        steps.append(Step(f"Eigenvalue problem, {name}", latex, why))
    steps.append(_matrix_form(a))
    shown = form_latex(nf.normal(kernel_in_tokens(a)))
    steps.append(Step("Kernel", rf"K_{{ij}} = {shown}", _why_kernel(a)))
    value = form_latex(nf.normal(eliminated(a)))
    why = (
        "its stationary points are the solutions of the eigenvalue problem; J is not concave, so it is no "
        "dual and bounds nothing"
    )
    steps.append(Step("Eliminated Lagrangian", value, why))
    at = form_latex(nf.normal(objective_at_solution(a)))
    why = "minus the eliminated Lagrangian: zero wherever the eigenvalue problem holds"
    steps.append(Step("Objective", rf"J = {at}", why))
    steps.append(_at_triplets(a))
    if a.Lambda == "free":
        steps.append(_free_lambda(a))
    return steps


def _why_kernel(a: KsvdAssumptions) -> str:
    why = "the kernel that the feature map and f(X) induce"
    if (a.scores, a.normalisation) != ("e_only", "row"):
        return why
    return f"{why}: D⁻¹KD⁻¹ and not D⁻¹K, since e, coupled with itself, has its row weights on both sides"


def _matrix_form(a: KsvdAssumptions) -> Step:
    """The eigenvalue problem in K, checked against the residual of the constraint on e."""
    other = h_e if a.scores == "e_only" else h_r
    right = ix.Sum(j, kernel(a, i, j).entry() * other[j, l_])
    inverse = ix.Dim(N) * released[l_] ** -2 if a.objective == "released" else lam[l_] ** -1
    if not nf.equal(residual(a, 0), inverse * h_e[i, l_] - right):
        raise ArithmeticError("the eliminated constraint is not the eigenvalue problem of the kernel")
    name = r"N\boldsymbol{L}^{-2}" if a.objective == "released" else r"\Lambda^{-1}"
    latex = rf"K H_r = H_e {name},\quad K^{{\top}} H_e = H_r {name}"
    if a.scores == "e_only":
        latex = f"K H_e = H_e {name}"
    return Step("Matrix form", latex, "the same with the kernel below; compared as normal forms")


def in_images(a: KsvdAssumptions) -> ix.Expr:
    """J at the weights of the stationarity conditions, as a function of T_e = K H_r and T_r = Kᵀ H_e (N × s).

    Raises ArithmeticError if J with these weights put in is not that function of the kernel's products.
    """
    factor, between = score_weight(a)
    t_e, t_r = as_term(T_E), as_term(T_R)
    value = factor * sum_over(i, t_e[i].T @ between @ t_e[i])
    if a.scores == "e_only":
        value = value - HALF * trace(as_term(h_e).T @ t_e)
    else:
        value = value + factor * sum_over(j, t_r[j].T @ between @ t_r[j]) - trace(as_term(h_e).T @ t_e)
    whole = in_weights(a)
    for weight in weights(a)[: 1 if a.scores == "e_only" else 2]:
        whole = ix.define(whole, weight, lambda *at, w=weight: solved(a, w, *at))
    other = h_e if a.scores == "e_only" else h_r

    def first(row: Index, column: Index) -> ix.Expr:
        inner = row.fresh()
        return ix.Sum(inner, kernel(a, row, inner).entry() * other[inner, column])

    def second(row: Index, column: Index) -> ix.Expr:
        inner = row.fresh()
        return ix.Sum(inner, kernel(a, inner, row).entry() * h_e[inner, column])

    expr = value.entry()
    if not nf.equal(whole, ix.define(ix.define(expr, T_E, first), T_R, second)):
        raise ArithmeticError("J at the solved weights is not a function of the kernel's products")
    return expr


def at_triplets(a: KsvdAssumptions) -> ix.Expr:
    """J at the weights of exact solutions of K H_r = H_e Σ, Kᵀ H_e = H_r Σ, for any Λ: Σ_l σ_l |h_e,l|² (λ_l
    σ_l - 1).

    Paired columns have equal norms (19), and only these norms are left of H_r. With the released loss λ is
    L²/N. Raises ArithmeticError if that is not what J comes to.
    """
    expr = ix.define(in_images(a), T_E, lambda row, column: sigma[column] * h_e[row, column])
    expr = ix.define(expr, T_R, lambda row, column: sigma[column] * h_r[row, column])
    weight = released[l_] ** 2 * ix.Dim(N) ** -1 if a.objective == "released" else lam[l_]
    own, other = (ix.Sum(i, h[i, l_] ** 2) for h in (h_e, h_e if a.scores == "e_only" else h_r))
    half, one = ix.Num(HALF), ix.Num(Fraction(1))
    share = half if a.scores == "e_only" else one
    value = ix.Sum(l_, share * sigma[l_] * (half * weight * sigma[l_] * (own + other) - own))
    if not nf.equal(expr, value):
        raise ArithmeticError("J at exact triplets is not the sum over their values")
    return ix.define(value, h_r, lambda row, column: h_e[row, column])


def _at_triplets(a: KsvdAssumptions) -> Step:
    zero = r"\boldsymbol{L}^2 = N\Sigma^{-1}" if a.objective == "released" else r"\Lambda = \Sigma^{-1}"
    why = (
        "J at the weights of exact triplets of the kernel, whatever Λ is: by the eigenvalue problem and "
        "equal norms of paired columns. It vanishes direction by direction for this choice only; a sum of "
        "terms of both signs vanishes for many"
    )
    return Step(
        "Objective at triplets",
        rf"J = {form_latex(nf.normal(at_triplets(a)))},\quad \text{{zero for }} {zero}",
        why,
    )


def _free_lambda(a: KsvdAssumptions) -> Step:
    """Stationarity in the diagonal of Λ, which is then a variable."""
    variable = released if a.objective == "released" else lam
    by = gradient(objective(a).entry(), variable, (l_,))
    name = form_latex(nf.normal(ix.At(variable, (l_,))))
    why = "a sum of squares vanishes only where the scores do: a free Λ leaves only the zero solution"
    latex = rf"\frac{{\partial J}}{{\partial {name}}} = {form_latex(nf.normal(by))} = 0"
    return Step("Stationarity in Λ", latex, why)
