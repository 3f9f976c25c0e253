"""Formulas of a residual connection and projections in the fitted function: (32) to (36), Remarks 3 and 6."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy as sp

from checks.claim import Assumption, Options
from checks.evidence import Evidence
from checks.kinds.examples import Point, Rule
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.kinds.implication import Implication
from checks.kinds.programs import Convex, WellPosed
from checks.papers.nguyen2023.program_lines import lines_of
from checks.papers.nguyen2023.theorem1_formulas import CONSTANTS, TRAINED
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus import index as ix
from derivations.calculus.gradients import grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program, Raw
from derivations.calculus.term import Term, as_term, exp, size, softmax, sqrt, squared_norm, stack, sum_over
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DV, C, D, N, SvrAssumptions, d, epsilon, i, j

DX = "D_x"
row = Index("d", D)
DX_IS_DV = Assumption(
    "Dx_equals_Dv", "inputs and outputs have the same width, so that the input can be added"
)
PROJ, PROJ_J = r"\mathbf{W}^{\mathrm{proj}}\boldsymbol{x}", r"\mathbf{W}^{\mathrm{proj}}\boldsymbol{x}_{%1}"
W_PROJ = Tensor(
    "W_proj",
    (D, DX),
    r"\mathbf{W}^{\mathrm{proj}}",
    r"{\boldsymbol{w}^{\mathrm{proj}}_{%1}}",
    r"\mathbf{W}^{\mathrm{proj}}_{%1%2}",
)
X_J = Tensor("x_j", (N, DX), r"\mathbf{X}", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
X = Tensor("x", (DX,), r"\boldsymbol{x}", "", r"\boldsymbol{x}(%1)")
X_V = replace(X, dims=(DV,))
PENALTY = Fraction(1, 2) * sum_over(row, squared_norm(as_term(W_PROJ)[row]))
FIT = sv.Variant(
    "(33) for a fixed projection",
    train=rf"\Phi({PROJ_J})",
    query=rf"\Phi({PROJ})",
    height=r"h(\boldsymbol{x}_{%1})",
    height_query=r"h(\boldsymbol{x})",
    residual=True,
    penalty=PENALTY,
)
w, b, y, v = (as_term(t) for t in (FIT.w, FIT.b, FIT.y, FIT.v))
phi, phi_x, h, h_x = (as_term(t) for t in (FIT.phi, FIT.phi_x, FIT.h, FIT.h_x))
xi, xi_t = (as_term(t) for t in FIT.slacks)
alpha, alpha_t, eta, eta_t = (as_term(t) for t in FIT.multipliers)
WHERE = (
    r"Training inputs $\boldsymbol{x}_j$, $j=1,\dots,N$, and query $\boldsymbol{x}$ of width $D_x$, targets "
    r"$\boldsymbol{y}_j$ of width $D_v$; $\mathbf{W}^{\mathrm{proj}}\in\mathbb{R}^{D\times D_x}$ with rows "
    r"$\boldsymbol{w}^{\mathrm{proj}}_c$; " + TRAINED + CONSTANTS
)

MAPS = (
    r" $\mathbf{W}_Q,\mathbf{W}_K\in\mathbb{R}^{D\times D_x}$, "
    r"$\mathbf{W}_V\in\mathbb{R}^{D_v\times D_x}$; $D_x=D_v$ wherever an input is added."
)
ONE_INPUT = (
    r" The program in $w$ and $u$ is (33) for one input, $D=D_x=D_v=1$, $\boldsymbol{b}=0$ and $h$ the "
    r"kernel sum: $u$ is $\mathbf{W}^{\mathrm{proj}}$, $w$ the entry of $\mathbf{W}$ at the feature of "
    r"degree one, the others 0. $\text{left}$ and $\tilde{\text{left}}$ are the left sides of the two "
    r"constraints; where it is said which symbols are listed, the program has $\boldsymbol{x}_j(d)$ and "
    r"$D$ rows."
)
F_X = as_term(Tensor("f(x)", (DV,), r"f(\boldsymbol{x})"))

# ---------------------------------------------------------------- the program

LINES = lines_of(FIT)
PRINTED_PENALTY = Fraction(1, 2) * sum_over(d, squared_norm(as_term(W_PROJ)[d]))


def printed_program(a: SvrAssumptions) -> All:
    """Objective and constraints as printed; their shapes do not agree."""
    program = FIT.under(a).program()
    return All(
        joint(),
        *_lines(as_term(X_J)[j], PRINTED_PENALTY),
        WellPosed(
            replace(program, variables=(*program.variables, W_PROJ)),
            (FIT.w, W_PROJ, *FIT.slacks),
            FIT.data(),
            label="the minimisation runs over the listed variables",
        ),
    )


def _lines(added: Term, penalty: Term) -> tuple[Definition, ...]:
    """Left sides of the constraints, and objective, of (33): what is added to the fit, what W_proj costs."""
    value = as_term(Tensor("value", (), r"\text{objective of (33)}"))
    first, second = (
        as_term(Tensor(f"left_{n}", (N, DV), side, side + "_{%1}", side + "_{%1}(%2)"))[j, d]
        for n, side in enumerate((r"\text{left}", r"\tilde{\text{left}}"))
    )
    fitted = w[d].T @ phi[j] / h[j]
    return (
        Definition(first, y[j, d] - fitted - added - b[d], nonzero=(FIT.h,), label="the first constraint"),
        Definition(second, fitted + added + b[d] - y[j, d], nonzero=(FIT.h,), label="the second constraint"),
        Definition(value, LINES.ridge + penalty + LINES.slacks, label="the objective"),
    )


def _data() -> tuple[Tensor, ...]:
    return (*FIT.data(), W_PROJ)


def joint() -> ConvexProgram:
    """(33) in all its variables for the paper's Φ and h, D = N = 1, only one coordinate of w not 0.

    With one input, h(x) = Φ(u x)·Φ(u x) = exp(u²x²), and the coordinate of degree one of Φ(u x) is u x.
    """
    u, weight, xj = (as_term(Tensor(n, (), n)) for n in ("u", "w", "x"))
    one, other, target = (
        as_term(Tensor(n, (), t)) for n, t in (("xi", r"\xi"), ("xi~", r"\tilde\xi"), ("y", "y"))
    )
    eps, cost = as_term(epsilon), as_term(C)
    fitted = weight * u * xj * exp(-(u * u * xj * xj)) + xj
    letters = (("alpha", r"\alpha"), ("alpha~", r"\tilde\alpha"), ("eta", r"\eta"), ("eta~", r"\tilde\eta"))
    names = [Tensor(name, (), latex) for name, latex in letters]
    rows = (
        Constraint(target - fitted, eps + one, names[0]),
        Constraint(fitted - target, eps + other, names[1]),
        Constraint(-one, as_term(0), names[2]),
        Constraint(-other, as_term(0), names[3]),
    )
    half = Fraction(1, 2)
    objective = half * weight**2 + half * u**2 + cost * (one + other)
    variables = tuple(t.data for t in (weight, u, one, other))
    zero, unit = Fraction(0), Fraction(1)
    return ConvexProgram(
        Program("(33), one input", variables, objective, rows),
        (("x", unit), ("y", Fraction(4, 3)), ("epsilon", Fraction(1, 20))),
        (("w", unit), ("u", unit), ("xi", zero), ("xi~", zero)),
        (("w", -unit), ("u", -unit), ("xi", zero), ("xi~", zero)),
        label="convex in W and W_proj together",
    )


# (33) for one input, all widths 1: what is left of it once the slacks are solved for, where y - f >= ε
W1, U1, X1, Y1, STEP = (Tensor(n, (), n, positive=n == "t") for n in ("w", "u", "x", "y", "t"))


def _one_input(weight: Tensor, projection: Tensor) -> tuple[Term, Term]:
    """The slack that the first constraint needs, and the objective with it."""
    wt, u, xj = as_term(weight), as_term(projection), as_term(X1)
    z2 = u * u * xj * xj
    slack = as_term(Y1) - (wt * z2 * exp(-z2) + xj) - as_term(epsilon)
    return slack, Fraction(1, 2) * wt**2 + Fraction(1, 2) * u**2 + as_term(C) * slack


def descent_is_optimal() -> Rule:
    """A strict local minimum, where gradient descent ends, is the least value: 0 is one, and not optimal."""
    other = tuple(Tensor(n, (), rf"{n[0]}_{{\star}}") for n in ("w*", "u*"))
    (slack, value), (slack_, value_) = _one_input(W1, U1), _one_input(*other)
    one, zero = Fraction(1), Fraction(0)
    numbers = (one, Fraction(3), zero, Fraction(8), one, zero, zero, one, Fraction(1, 2))
    values = tuple(zip((X1, Y1, epsilon, C, STEP, W1, U1, *other), numbers, strict=True))
    in_w, in_u = grad(value, W1, "F"), grad(value, U1, "F")
    ww, wu, uu = grad(in_w, W1, "F_w"), grad(in_w, U1, "F_w"), grad(in_u, U1, "F_u")
    return Rule(
        (
            Fact("descent rests in w", as_term(STEP) * in_w, "="),
            Fact("descent rests in u", as_term(STEP) * in_u, "="),
            Fact("the second derivative in w", ww, ">"),
            Fact("the determinant of the second derivatives", ww * uu - wu**2, ">"),
            Fact("the slack here", slack, ">="),
            Fact("the slack at the other point", slack_, ">="),
        ),
        Fact("the objective at the other point less that here", value_ - value, ">="),
        Point((), values),
        label="where gradient descent ends the objective is least",
    )


def descent_is_stationary() -> All:
    """Where gradient descent rests the slopes, written out, vanish."""
    _, value = _one_input(W1, U1)
    wt, u, xj = as_term(W1), as_term(U1), as_term(X1)
    z2 = u * u * xj * xj
    charged = as_term(C) * exp(-z2)
    slopes = (
        (W1, "w has the form (35), with α = C", wt - charged * z2),
        (U1, "the slope in u vanishes", u - 2 * charged * wt * u * xj * xj * (1 - z2)),
    )
    return All(
        *(
            Implication(
                (Fact("rest", as_term(STEP) * grad(value, at, "F"), "="), Fact("step", as_term(STEP), ">")),
                Fact("the slope", slope, "="),
                label=label,
            )
            for at, label, slope in slopes
        )
    )


def corrected_program(a: SvrAssumptions) -> All:
    """The program for a fixed W_proj, and the printed lines with the repair of each."""
    program = FIT.under(a).program()
    return All(
        Convex(program, label="convex in W, b and the slacks for each fixed W_proj"),
        *_lines(as_term(FIT.shift)[j, d], PENALTY),
        Identity(LINES.ridge + PENALTY + LINES.slacks, program.objective, label="that of the program"),
        WellPosed(program, (FIT.w, FIT.b, *FIT.slacks), _data(), label="the variables"),
    )


# ---------------------------------------------------------------- the expansion and the projections


V_RULE = LINES.values("the definition of the values")
COLUMNS = stack(d, LINES.weights)
kernel = phi_x.T @ phi[j]
LINE1 = COLUMNS @ (phi_x / h_x) + as_term(FIT.shift_x) + b
LINE2 = (
    stack(d, sum_over(j, (alpha[j, d] - alpha_t[j, d]) / h[j] * (kernel / h_x))) + as_term(FIT.shift_x) + b
)
LINE3 = sum_over(j, kernel / h_x * v[j]) + as_term(FIT.shift_x) + b
Q_MAP, K_MAP, V_MAP = (
    Tensor(f"W_{n}", (m, DX), rf"\mathbf{{W}}_{n}") for n, m in (("Q", D), ("K", D), ("V", DV))
)
w_q, w_k, w_p, x_j = (as_term(t) for t in (Q_MAP, K_MAP, W_PROJ, X_J))


def _square(tensor: Tensor) -> Term:
    """A map of inputs where D_x = D_v."""
    return as_term(replace(tensor, dims=(tensor.dims[0], DV)))


# with D_x = D_v: the inputs that are mapped are those that are added
QUERY_MAP, KEY_MAP, VALUE_MAP, ONE_MAP = map(_square, (Q_MAP, K_MAP, V_MAP, W_PROJ))
x_train, x_query = as_term(FIT.shift), as_term(FIT.shift_x)
WIDTHS = (("D", 4), ("N", 2), ("D_v", 2))


def expansion_lines(a: SvrAssumptions) -> tuple[Identity, ...]:
    """The three lines of (36), D_x = D_v, with the intercept."""
    own, both = FIT.under(replace(a, bias="on")), (FIT.h, FIT.h_x)
    derived = stack(d, Raw((), sv.expansion(own)))
    return (
        Identity(derived, LINE1, nonzero=both, label="first line", reason="(35) put into (32)"),
        Identity(LINE1, LINE2, nonzero=both, label="second line"),
        Identity(LINE2, LINE3, given=(V_RULE,), nonzero=both, label="third line"),
    )


def one_projection() -> Solvable:
    """A matrix that acts as W_K on all training inputs and as W_Q on a query taken from them."""
    unit = ((1,),)
    return Solvable(
        W_PROJ,
        (
            Fact("as W_K on the training inputs", (w_p @ x_j[j] - w_k @ x_j[j])[row], "="),
            Fact("as W_Q on the query", (w_p @ x_j[i] - w_q @ x_j[i])[row], "="),
        ),
        Point((("N", 1), ("D", 1), (DX, 1)), ((X_J, unit), (K_MAP, unit), (Q_MAP, ((2,),))), ((i, 1),)),
        label="the projection may be taken as W_K on the training inputs and as W_Q on a query among them",
    )


def necessary() -> Implication:
    """What the two requirements force at a query that is a training input."""
    return Implication(
        (
            Fact("as W_K", (w_p @ x_j[i] - w_k @ x_j[i])[row], "="),
            Fact("as W_Q", (w_p @ x_j[i] - w_q @ x_j[i])[row], "="),
        ),
        Fact("agreement", (w_q @ x_j[i] - w_k @ x_j[i])[row], "="),
        label="then W_Q and W_K agree on the query",
    )


OUTSIDE = replace(FIT, name="(5) on projected keys", residual=False, penalty=None)
PAPER = SvrAssumptions(bias="off")


def outside(a: SvrAssumptions = PAPER) -> Identity:
    """Theorem 1 with keys W_K x_j at the query W_Q x_i, values W_V x_j, the residual added outside."""
    query, key, value = QUERY_MAP @ x_train[i], KEY_MAP @ x_train[j], VALUE_MAP @ x_train[j]
    score = query.T @ key / sqrt(size(D))
    values = Given(OUTSIDE.v, (j, d), value[d], "the values; prose-converse says when they solve the program")
    derived = stack(d, Raw((), sv.regenerated(OUTSIDE, a, query, key)))
    return Identity(
        x_train[i] + derived,
        x_train[i] + sum_over(j, softmax(j, score) * value),
        (values,),
        sizes=WIDTHS,
        label="residual attention with projections, from (5) on the keys W_K x_j at the query W_Q x_i",
    )


def attention_with_one_projection(a: SvrAssumptions = PAPER) -> Identity:
    """(36) with the exponential kernel and its sum as h: one projection for keys and queries."""
    query, key = ONE_MAP @ x_query, ONE_MAP @ x_train[j]
    return Identity(
        stack(d, Raw((), sv.regenerated(FIT, a, query, key))),
        sum_over(j, softmax(j, query.T @ key / sqrt(size(D))) * v[j]) + x_query,
        sizes=WIDTHS,
        label="softmax attention with a residual and one projection for queries and keys",
    )


def spans(assumptions: Any, options: Options) -> list[Evidence]:
    """The criterion for one W_proj, on exact random instances: solvable exactly when the maps agree where
    spans meet.

    Solvability is a rank condition; the criterion is evaluated on a basis of the pairs of combinations of
    training inputs and of queries that give the same vector.
    """
    rng, tally, wrong = random.Random(options.seed), {True: 0, False: 0}, 0
    for turn in range(60):
        train, test, key, query = (
            _draw(rng, 3, width) for width in (rng.choice((1, 2)), rng.choice((1, 2)), 3, 3)
        )
        if turn % 3 == 0:  # make the spans meet: a query among the training inputs
            test[:, 0] = train[:, 0]
        if turn % 2 == 0:  # and the maps agree there
            query = key + (query - key) * (sp.eye(3) - _projector(train))
        both, wanted = sp.Matrix.hstack(train, test), sp.Matrix.hstack(key * train, query * test)
        solvable = sp.Matrix.vstack(both, wanted).rank() == both.rank()
        meeting = [train * v[: train.cols, :] for v in sp.Matrix.hstack(train, -test).nullspace()]
        agree = all((query - key) * u == sp.zeros(3, 1) for u in meeting)
        tally[solvable] += 1
        wrong += solvable != agree
    detail = (
        f"one W_proj: {tally[True]} solvable and {tally[False]} unsolvable instances, criterion wrong "
        f"on {wrong}"
    )
    return [Evidence("exact", "exact-rational", wrong == 0 and min(tally.values()) > 5, detail)]


def _draw(rng: random.Random, rows: int, columns: int) -> sp.Matrix:
    return sp.Matrix(rows, columns, lambda *_: rng.randint(-2, 2))


def _projector(basis: sp.Matrix) -> sp.Matrix:
    """The orthogonal projector onto the span of the columns."""
    if basis.rank() == 0:
        return sp.zeros(3, 3)
    columns = sp.Matrix.hstack(*basis.columnspace())
    return columns * (columns.T * columns).inv() * columns.T


PROJECTIONS = (
    "When does one W_proj serve? A linear map that is W_K on the span of the training inputs and W_Q on "
    "the span of the queries exists exactly when W_Q and W_K agree on the intersection of the two spans: "
    "define it on each span; the two definitions must agree where the spans meet, and then extend to the "
    "sum of the spans and further. In self-attention queries are training inputs, so W_Q = W_K on their "
    "span, and the scores are symmetric. In cross-attention with spans that meet only in 0 it always "
    "exists: for inputs (x, 0) and queries (0, x), W_K = [A *] and W_Q = [* B], it is [A B]."
)


def self_and_cross(a: SvrAssumptions = PAPER) -> All:
    query, key = ONE_MAP @ x_train[i], ONE_MAP @ x_train[j]
    derived = ix.define(sv.regenerated(FIT, a, query, key), FIT.shift_x, lambda c: FIT.shift[i, c])
    at_token = Identity(
        stack(d, Raw((), derived)),
        sum_over(j, softmax(j, query.T @ key / sqrt(size(D))) * v[j]) + x_train[i],
        sizes=WIDTHS,
        label="self-attention: the query is the training input x_i",
    )
    return All(at_token, replace(attention_with_one_projection(a), label="cross-attention: any query x"))
