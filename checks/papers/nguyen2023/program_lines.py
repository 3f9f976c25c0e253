"""The lines that the paper prints of a support vector regression, (5) to (8), (33) to (35) and (38) to (41):
the same in other letters. The other side is what the dualiser derives from the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import sub

from checks.kinds.examples import Point
from checks.kinds.follows import Equation, Follows
from checks.kinds.programs import Convex, WellPosed
from checks.statement import All, Given, Identity, tensors_of
from derivations.calculus.gradients import grad, zeros
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import losses
from derivations.calculus.program import Dual, Program, Raw
from derivations.calculus.term import Term, as_term, squared_norm, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import C, SvrAssumptions, Symbols, d, epsilon, f_

HALF = Fraction(1, 2)


def slope(result: Dual, variable: Tensor, *at: Index) -> Term:
    """An entry of the gradient of a program's Lagrangian."""
    return grad(result.lagrangian, variable, r"\mathcal{L}")[at]


@dataclass(frozen=True)
class ProgramLines:
    """One program in the paper's letters: weights (D_v, D_φ), intercept, features and h at the training
    points, values, its own targets, slacks and multipliers, and what it is given. The last two are derived.
    """

    w: Tensor
    b: Tensor
    phi: Tensor
    h: Tensor
    v: Tensor
    own: Symbols
    data: tuple[Tensor, ...]
    program: Callable[[SvrAssumptions], Program]
    dual: Callable[[SvrAssumptions], Dual]

    @property
    def ridge(self) -> Term:
        """½ Σ_d ‖w_d‖²."""
        return HALF * sum_over(d, squared_norm(as_term(self.w)[d]))

    @property
    def slacks(self) -> Term:
        """C Σ_jd (ξ_j(d) + ξ̃_j(d))."""
        at = (self.own.j, d)
        return as_term(C) * sum_over(*at, as_term(self.own.xi)[at] + as_term(self.own.xi_t)[at])

    @property
    def difference(self) -> Term:
        """α_j(d) - α̃_j(d)."""
        at = (self.own.j, d)
        return as_term(self.own.alpha)[at] - as_term(self.own.alpha_t)[at]

    @property
    def weights(self) -> Term:
        """Σ_j (α_j(d) - α̃_j(d)) Φ(k_j)/h(k_j)."""
        j = self.own.j
        return sum_over(j, self.difference * (as_term(self.phi)[j] / as_term(self.h)[j]))

    def objective(self, a: SvrAssumptions, variables: tuple[Tensor, ...], both: str) -> All:
        """Both forms of the objective are the program's, which is convex in the variables and runs over
        them; ``both`` names the first part.
        """
        program, printed = self.program(a), self.ridge + self.slacks
        return All(
            Identity(HALF * squared_norm(as_term(self.w)) + self.slacks, printed, label=both),
            Identity(printed, program.objective, label="the objective is that of the program"),
            Convex(replace(program, variables=variables), label="the program is convex"),
            WellPosed(program, variables, self.data, label="the minimisation runs over the listed variables"),
        )

    def lagrangian(
        self, a: SvrAssumptions, shift: Term | None = None, penalty: Term | None = None, of: str = ""
    ) -> Identity:
        """The printed Lagrangian is the derived one; ``shift`` is added to the fit, ``penalty`` to
        the ridge.
        """
        own, j = self.own, self.own.j
        xi, xi_t, y, eps = (as_term(t) for t in (own.xi, own.xi_t, own.y, epsilon))
        alpha, alpha_t, eta, eta_t = (as_term(t) for t in (own.alpha, own.alpha_t, own.eta, own.eta_t))
        weighted = as_term(self.w)[d].T @ (as_term(self.phi)[j] / as_term(self.h)[j])
        fit = [weighted, *([] if shift is None else [shift]), as_term(self.b)[d]]
        printed = (
            (self.ridge if penalty is None else self.ridge + penalty)
            + self.slacks
            - sum_over(j, d, eta[j, d] * xi[j, d] + eta_t[j, d] * xi_t[j, d])
            - sum_over(j, d, alpha[j, d] * sum(fit, eps + xi[j, d] - y[j, d]))
            - sum_over(j, d, alpha_t[j, d] * reduce(sub, fit, eps + xi_t[j, d] + y[j, d]))
        )
        derived, reason = self.dual(a).lagrangian, "the Lagrangian formed by the dualiser"
        if penalty is not None or not any(losses(derived)):  # the normal form hides where one is infinite
            derived = Raw((), derived.entry())
        return Identity(printed, derived, nonzero=(self.h,), reason=reason + of)

    def derivative(self, a: SvrAssumptions) -> Identity:
        """The Lagrangian's derivative by w_d(f)."""
        j = self.own.j
        of_features = sum_over(j, self.difference * as_term(self.phi)[j, f_] / as_term(self.h)[j])
        derived, printed = slope(self.dual(a), self.w, d, f_), as_term(self.w)[d, f_] - of_features
        return Identity(derived, printed, nonzero=(self.h,), label="the derivative")

    def weights_follow(self, a: SvrAssumptions, reason: str, label: str = "the weights") -> Follows:
        """The weights are the printed sum where the derivative vanishes; ``reason`` says where it stands."""
        residual = Tensor("slope", self.w.dims, r"R_{\mathbf{W}}")
        of_w = grad(self.dual(a).lagrangian, self.w, r"\mathcal{L}")
        vanishes = Equation(of_w, zeros(*self.w.dims), residual, f"{reason}: this residual vanishes")
        points = tuple(self._one_input(weight, tensors_of(of_w)) for weight in (1, 2, 3))
        both = (as_term(self.w)[d], self.weights)
        certificate = as_term(residual)[d]
        return Follows((vanishes,), *both, certificate, points, nonzero=(self.h,), label=label)

    def _one_input(self, weight: int, derivative: set[Tensor]) -> Point:
        """One training input of feature 1 and h = 2, where the derivative, with h and two multipliers or
        under other assumptions without, vanishes.
        """
        share, one = weight * (2 if self.h in derivative else 1), self.own.rho in derivative
        values = {self.own.alpha: 1 if one else share + 1, self.own.alpha_t: 1}
        values |= {self.own.rho: share} if one else {}
        multipliers = tuple((multiplier, ((value,),)) for multiplier, value in values.items())
        sizes = tuple((size, 1) for size in (*self.w.dims, *self.h.dims))
        return Point(sizes, ((self.w, ((weight,),)), *multipliers, (self.phi, ((1,),)), (self.h, (2,))))

    def solved(self, a: SvrAssumptions, reason: str) -> Given:
        """The weights that the dualiser solves the stationarity condition for; ``reason`` says where it
        stands.
        """
        return Given(self.w, (d, f_), Raw((), self.dual(a).solved[self.w]), reason)

    def values(self, reason: str) -> Given:
        """v_j(d) = (α_j(d) - α̃_j(d)) / h(k_j)."""
        return Given(self.v, (self.own.j, d), self.difference / as_term(self.h)[self.own.j], reason)


FIVE = ProgramLines(
    *(svr.w, svr.b, svr.phi_k, svr.h_k, svr.v, svr.OWN),
    data=(svr.y, svr.phi_k, svr.h_k, C, epsilon),
    program=svr.primal,
    dual=svr.dual,
)


def lines_of(fit: sv.Variant) -> ProgramLines:
    """The lines of a variant of (5)."""
    return ProgramLines(
        *(fit.w, fit.b, fit.phi, fit.h, fit.v, fit.own, fit.data()),
        program=lambda a: fit.under(a).program(),
        dual=lambda a: sv.dual(fit.under(a)),
    )
