"""Variants of program (5) of nguyen2023: other inputs of Φ, a residual, a subset of the keys, heads.

A variant says how many training points there are, how they and the query enter Φ, and what is added to the
fit. Its program, Lagrangian, stationarity and expansion come from the dualiser, never from the paper's text.
Covered: programs (33) for a fixed projection and (38), and the fits behind (16), (18), (21), (25), (48).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.program import Dual, Program, Step, dualise
from derivations.calculus.term import Term, as_term, squared_norm, sum_over
from derivations.theories.svr.regression import (
    DPHI,
    DV,
    C,
    SvrAssumptions,
    Symbols,
    d,
    epsilon,
    kernel,
    multiplier,
    regression,
    vectors,
)

PAPER = SvrAssumptions()


@dataclass(frozen=True)
class Variant:
    """One program: ``count`` training points whose features print as ``train`` (%1 the point) and ``query``.

    ``height`` and ``height_query`` print the normaliser h at the two, ``features`` and ``heights`` Φ and h at
    all training points, ``target`` a target; ``mark`` is a superscript of the fit's own symbols (the head);
    ``position`` is the letter of the query's position, where ``query`` has one;
    ``residual`` adds the coordinate x_j(d) to the fit;
    ``penalty`` is a constant of the objective; ``bias`` says whether b is a variable, ``loss`` and ``box``
    are as in ``SvrAssumptions``.
    """

    name: str
    count: str = "N"
    train: str = r"\Phi(\boldsymbol{k}_{%1})"
    query: str = r"\Phi(\boldsymbol{x})"
    height: str = r"h(\boldsymbol{k}_{%1})"
    height_query: str = r"h(\boldsymbol{x})"
    features: str = r"\Phi"
    heights: str = "h"
    target: str = r"\boldsymbol{y}"
    mark: str = ""
    position: str = ""
    residual: bool = False
    penalty: Term | None = None
    bias: bool = True
    loss: str = PAPER.loss
    box: str = PAPER.box

    @classmethod
    def at(
        cls,
        name: str,
        point: str,
        query: str,
        phi: str = r"\Phi",
        h: str = "h",
        count: str = "N",
        mark: str = "",
    ) -> Variant:
        """The program in which Φ and h are both of one formula at a training point (%1) and of one at the
        query.
        """
        both = f"{phi}({point})", f"{phi}({query})", f"{h}({point})", f"{h}({query})"
        return cls(name, count, *both, mark=mark)

    def vectors(self, name: str, letter: str) -> Tensor:
        """A D_v-vector for each training point."""
        return vectors(name, DV, self._marked(rf"\boldsymbol{{{letter}}}"), self.count)

    def _marked(self, symbol: str) -> str:
        """A symbol with the mark; braces where a subscript or a transpose may follow."""
        return rf"{{{symbol}{self.mark}}}" if self.mark else symbol

    @property
    def j(self) -> Index:
        """The index of a training point."""
        return Index("j", self.count)

    @property
    def phi(self) -> Tensor:
        """Φ at the training points."""
        return Tensor(
            f"Phi[{self.name}]", (self.count, DPHI), self.features, self.train, rf"{self.train}_{{%2}}"
        )

    @property
    def phi_x(self) -> Tensor:
        """Φ at the query."""
        return Tensor(f"Phi_x[{self.name}]", (DPHI,), self.query, "", rf"{self.query}_{{%1}}")

    @property
    def h(self) -> Tensor:
        """h at the training points."""
        return Tensor(f"h[{self.name}]", (self.count,), self.heights, "", self.height)

    @property
    def h_x(self) -> Tensor:
        """h at the query."""
        return Tensor(f"h_x[{self.name}]", (), self.height_query)

    @property
    def w(self) -> Tensor:
        """The weights W, rows w_d."""
        row = self._marked(r"\boldsymbol{w}") + "_{%1}"
        return Tensor("w", (DV, DPHI), self._marked(r"\mathbf{W}"), row, row + "(%2)")

    @property
    def b(self) -> Tensor:
        """The intercept."""
        symbol = self._marked(r"\boldsymbol{b}")
        return Tensor("b", (DV,), symbol, "", symbol + "(%1)")

    @property
    def y(self) -> Tensor:
        """The targets."""
        return vectors("y", DV, self._marked(self.target), self.count)

    @property
    def v(self) -> Tensor:
        """The values."""
        return self.vectors("v", "v")

    @property
    def shift(self) -> Tensor:
        """The training inputs x_j where they are added to the fit, with D_x = D_v."""
        return self.vectors("x_train", "x")

    @property
    def shift_x(self) -> Tensor:
        """The query x where it is added to the fit, with D_x = D_v."""
        return Tensor("x_query", (DV,), r"\boldsymbol{x}", "", r"\boldsymbol{x}(%1)")

    @property
    def own(self) -> Symbols:
        """Targets, slacks and multipliers."""

        def named(name: str, latex: str) -> Tensor:
            return vectors(name, DV, self._marked(latex), self.count)

        def pair(name: str) -> tuple[Tensor, Tensor]:
            symbol = rf"\boldsymbol{{\{name}}}"
            return named(name, symbol), named(f"{name}~", rf"\tilde{{{symbol}}}")

        (xi, xi_t), (alpha, alpha_t), (eta, eta_t) = pair("xi"), pair("alpha"), pair("eta")
        residual, small = named("r", r"\boldsymbol{r}"), named("s", r"\boldsymbol{s}")
        rho = named("rho", r"\boldsymbol{\rho}")
        return Symbols(self.j, self.y, xi, xi_t, alpha, alpha_t, eta, eta_t, residual, small, rho)

    @property
    def slacks(self) -> tuple[Tensor, Tensor]:
        """ξ and ξ̃."""
        return self.own.xi, self.own.xi_t

    @property
    def multipliers(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """α, α̃, η, η̃."""
        return self.own.alpha, self.own.alpha_t, self.own.eta, self.own.eta_t

    def fit(self) -> Term:
        """w_dᵀ Φ/h (+ x_j(d)) (+ b(d)) at training point j."""
        j = self.j
        value = as_term(self.w)[d].T @ (as_term(self.phi)[j] / as_term(self.h)[j])
        if self.residual:
            value = value + as_term(self.shift)[j, d]
        return value + as_term(self.b)[d] if self.bias else value

    def objective(self) -> Term:
        """The program's objective, ½ Σ ‖w_d‖² (+ penalty) + C Σ (ξ + ξ̃) with the paper's loss."""
        return self.program().objective

    def program(self) -> Program:
        """The program over W, (b) and what the loss needs."""
        ridge = Fraction(1, 2) * sum_over(d, squared_norm(as_term(self.w)[d]))
        if self.penalty is not None:
            ridge = ridge + self.penalty
        variables = (self.w, self.b) if self.bias else (self.w,)
        return regression(self.name, self.assumptions(), self.own, variables, self.fit(), ridge)

    def assumptions(self) -> SvrAssumptions:
        """The paper's, with loss and box of this fit."""
        return replace(PAPER, loss=self.loss, box=self.box)

    def data(self) -> tuple[Tensor, ...]:
        """What the program is given."""
        return (self.y, self.phi, self.h, C, epsilon, *((self.shift,) if self.residual else ()))

    def prediction(self) -> Term:
        """The fitted function at the query: W Φ/h (+ x) (+ b)."""
        value = as_term(self.w) @ as_term(self.phi_x) / as_term(self.h_x)
        if self.residual:
            value = value + as_term(self.shift_x)
        return value + as_term(self.b) if self.bias else value

    def without_bias(self) -> Variant:
        """The same fit with b = 0."""
        return replace(self, bias=False)

    def under(self, assumptions: SvrAssumptions) -> Variant:
        """The same fit with the loss, the box and the intercept of the assumptions."""
        a = assumptions
        return replace(self, bias=a.bias == "on", loss=a.loss, box=a.box)


@lru_cache(maxsize=32)
def dual(variant: Variant) -> Dual:
    """The dualiser's result for a variant."""
    return dualise(variant.program())


@lru_cache(maxsize=32)
def expansion(variant: Variant) -> ix.Expr:
    """f(x)(d) with the weights that stationarity gives."""
    return dual(variant).substitute(variant.prediction().entry(d))


def in_values(variant: Variant, expr: ix.Expr) -> ix.Expr:
    """An expansion with the multipliers' difference α_j(d) - α̃_j(d) = h_j v_j(d), and h_j cancelled."""
    first, second = multiplier(variant.assumptions(), variant.own)
    j = variant.j
    rule = as_term(variant.h)[j] * as_term(variant.v)[j, d]
    if second is not None:
        rule = as_term(second)[j, d] + rule
    done = ix.define(expr, first, lambda *at: ix.rename(rule.entry(), dict(zip((j, d), at, strict=True))))
    return to_expr(nf.normal(done))


def derive(variant: Variant) -> list[Step]:
    """Program, Lagrangian, stationarity, dual, expansion, values: the chain behind a variant's attention."""
    of = "^s" if variant.mark.strip("^{}") == "s" else ""  # the function of one head, and its input
    at = f"_{{{variant.position}}}" if variant.position else of if rf"x}}{of}" in variant.query else ""
    head, taken = rf"f{of}(\boldsymbol{{x}}{at})(d) = ", frozenset(variant.position)
    found = nf.normal(expansion(variant))
    put_in = "the weights that stationarity gives, in the fitted function"
    named = "v_j(d) is the weight that the multipliers give training point j, over its own h"
    return [
        *dual(variant).steps,
        Step("Expansion", head + form_latex(found, taken), put_in),
        Step("Values", head + form_latex(nf.normal(in_values(variant, expansion(variant))), taken), named),
    ]


def in_kernel(variant: Variant, expr: ix.Expr, kernel: Tensor) -> ix.Expr:
    """Write Σ_f Φ(query)_f Φ(training point j)_f as ``kernel[j]``."""
    form = nf.contract(nf.normal(expr), variant.phi_x, variant.phi, lambda _, row: ("T", kernel, row))
    return to_expr(form)


def attention(variant: Variant, score: Term) -> ix.Expr:
    """The expansion with Φ(query)ᵀΦ(point j) = exp(score), h the sum of these, and values v_j.

    ``score`` has the free index ``variant.j``. With elu + 1 or another kernel use ``with_kernel``.
    """
    return with_kernel(variant, ix.exp(score.entry()))


def with_kernel(variant: Variant, value: ix.Expr, height: ix.Expr | None = None) -> ix.Expr:
    """The expansion with a kernel value (free index ``variant.j``), ``height`` or its sum as h, and
    values v_j.
    """
    j = variant.j
    kernel = Tensor(f"kappa[{variant.name}]", (variant.count,), r"\kappa")
    expr = in_kernel(variant, in_values(variant, expansion(variant)), kernel)
    total = height or ix.Sum(new := j.fresh(), ix.At(kernel, (new,)))
    return ix.define(
        ix.define(expr, variant.h_x, lambda: total), kernel, lambda at: ix.rename(value, {j: at})
    )


def regenerated(
    variant: Variant, a: SvrAssumptions, query: Term, key: Term, raw: tuple[Index, Term] | None = None
) -> ix.Expr:
    """What a variant's program becomes under the assumptions, at d, for a prepared query and key.

    ``key`` has the free index ``variant.j``. The kernel is that of the feature map; h its sum over the
    prepared keys, its sum over the keys as they are (``raw``: their index and the key, the prepared ones
    unless given), or 1.
    """
    own = variant.under(a)
    value = kernel_of(a, query, key)
    if a.normaliser == "one":
        return with_kernel(own, value, ix.Num(Fraction(1)))
    if a.normaliser == "kernel_sum_raw" and raw is not None:
        at, unprepared = raw
        fresh = at.fresh()
        return with_kernel(own, value, ix.Sum(fresh, ix.rename(kernel_of(a, query, unprepared), {at: fresh})))
    return with_kernel(own, value)


def kernel_of(a: SvrAssumptions, query: Term, key: Term) -> ix.Expr:
    """Φ(query)ᵀΦ(key) for the feature map of the assumptions."""
    return kernel(a.feature_map, lambda c: query.entry(c), lambda c: key.entry(c))


def lift(expr: ix.Expr, head: Index, copies: Mapping[Tensor, Tensor]) -> ix.Expr:
    """The expression for one head: a tensor in ``copies`` becomes its copy with the head as first index."""
    if isinstance(expr, ix.At):
        return ix.At(copies[expr.tensor], (head, *expr.indices)) if expr.tensor in copies else expr
    return ix.rebuild(expr, tuple(lift(part, head, copies) for part in ix.children(expr)))


def renamed(expr: ix.Expr, names: Mapping[Tensor, Tensor]) -> ix.Expr:
    """The expression with tensors replaced by others of the same dimensions."""
    if isinstance(expr, ix.At):
        return ix.At(names.get(expr.tensor, expr.tensor), expr.indices)
    return ix.rebuild(expr, tuple(renamed(part, names) for part in ix.children(expr)))
