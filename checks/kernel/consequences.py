"""Theorems for what follows from matrix equations: the certificate is an identity, and signs are visible."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from checks.kernel.context import Context, loose
from checks.kernel.equalities import places, require_any, require_any_sign
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, conjunction, filled, listed
from checks.kernel.trees import NotCovered, plain
from checks.kinds.follows import Equation, Follows
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.functions import NONNEGATIVE, POSITIVE
from derivations.calculus.index import Index


def follows(name: str, s: Follows) -> Theorem:
    """The theorem of a `Follows`: hypotheses -> conclusion. Raises NotCovered."""
    at = places("w", s.certificate.shape())
    lhs, rhs, factor, squares = s.lhs.entry(*at), s.rhs.entry(*at), s.factor.entry(), s.squares.entry(*at)
    certificate = s.certificate.entry(*at)
    put = certificate
    for equation in s.hypotheses:
        put = ix.define(put, equation.residual, equation.difference)
    hypotheses = [_Hypothesis(equation) for equation in s.hypotheses]
    exprs = (lhs, rhs, factor, squares, put, *(h.expr for h in hypotheses))
    context = Context(exprs, s.given, s.nonzero, at)
    inner = {i for h in hypotheses for i in h.at}
    context.free = [i for i in context.free if i not in inner and i not in s.over]
    shared = list(dict.fromkeys(i for h in hypotheses for i in h.shared))
    if s.over and (shared or context.free or s.squares.shape()):
        raise NotCovered("squares that are summed for each value of an index")
    context.free = [*shared, *(i for i in context.free if i not in shared)]
    for h in hypotheses:
        context.alias(h.equation.residual, h.alias(context))
    lines = [f"Theorem {name} :", *context.header()]
    if shared:  # a hypothesis and the conclusion speak of one value of it
        lines.append(filled(context.everywhere(shared)))
        context.intros += context.places(shared).split()
    lines += [h.line(context) for h in hypotheses]
    if later := plain(s.over) or context.free[len(shared) :]:
        lines.append(filled(context.everywhere(later)))
    sign = {"=": "=", ">=": ">="}[s.relation]
    sides = (context.shown(t, at[: len(t.shape())]) for t in (s.lhs, s.rhs))
    lines += [filled(next(sides)), filled(f"{sign} {next(sides)}.")]
    proof = ["Proof.", context.intro(), *setup(context), *(h.vanishes(context) for h in hypotheses)]
    right = put if s.relation == "=" else put + squares
    product = factor * (lhs - rhs)
    if s.over:
        product = ix.total(factor * (lhs - rhs) ** 2, *s.over) + squares
    require_any(context.put(product), context.put(right))
    signed = s.over or s.relation == ">="
    for expr, wanted in (
        (factor, POSITIVE if signed else sg.NONZERO),
        *([(squares, NONNEGATIVE)] * bool(signed)),
    ):
        require_any_sign(context.put(expr), wanted, sg.Facts(dict.fromkeys(s.nonzero, sg.NONZERO)))
    proof += _certified(context, product, right, certificate, hypotheses)
    if s.over:
        proof += _each_vanishes(context, s.over, factor * (lhs - rhs) ** 2, factor, squares)
    else:
        proof += _concluded(context, s.relation, factor, squares, context.places(later))
    return Theorem(name, "\n".join(lines), "\n".join([*proof, "Qed."]))


class _Hypothesis:
    """An equation that is assumed, the indices of its entries, and its name in the proof.

    ``shared`` are its other indices: it is assumed at those values of them of which the conclusion speaks.
    """

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.at = places("v", equation.lhs.shape())
        self.expr = equation.difference(*self.at)
        self.name = ""
        self.own = {i: f"i{n}" for n, i in enumerate(plain(self.at))}
        self.shared = [i for i in loose([self.expr]) if i not in self.own]

    def scope(self, context: Context, names: Iterable[str]) -> dict[Index, str]:
        """Names for all of its indices, these for those of its entries."""
        return {i: context.scope[i] for i in self.shared} | dict(zip(self.own, names, strict=True))

    def alias(self, context: Context) -> Callable[[list[str]], str]:
        return lambda names: context.readable(self.expr, self.scope(context, names))

    def ranges(self, context: Context) -> str:
        return context.within(list(self.own.values()), [i.dim for i in self.own])

    def line(self, context: Context) -> str:
        scope = self.scope(context, self.own.values())
        left, right = (context.shown(t, self.at, scope) for t in (self.equation.lhs, self.equation.rhs))
        self.name, line = context.hypothesis(f"{self.ranges(context)}{left} = {right}")
        return line

    def vanishes(self, context: Context) -> str:
        shown = context.readable(self.expr, self.scope(context, self.own.values()))
        names = " ".join(f"{n} range_{n}" for n in self.own.values())
        intros = f"intros {names}. " if names else ""
        return "\n".join(
            [
                filled(f"assert (zero_{self.name} : {self.ranges(context)}{shown} = 0)."),
                f"  {{ {intros}apply (difference _ _ ({self.name} {names})). }}",
            ]
        )


def _certified(
    context: Context, left: ix.Expr, right: ix.Expr, certificate: ix.Expr, hypotheses: list[_Hypothesis]
) -> list[str]:
    """The identity of the certificate, and that it vanishes with the residuals."""
    zeros = sorted((context.symbols.tensors.index(h.equation.residual), f"zero_{h.name}") for h in hypotheses)
    residuals = listed(n for n, _ in zeros)
    return [
        "  pose proof (identity the_data the_model the_ranges",
        filled(context.deep(left), "    "),
        filled(context.deep(right), "    "),
        f"    {YES} promises) as is_identity.",
        f"  pose proof (certificate the_data the_model ({residuals})%nat the_ranges",
        filled(context.deep(certificate), "    "),
        f"    {YES} promises {conjunction(z for _, z in zeros)}) as is_zero.",
    ]


def _each_vanishes(
    context: Context, over: tuple[Index, ...], term: ix.Expr, factor: ix.Expr, squares: ix.Expr
) -> list[str]:
    """A sum of squares with nonnegative rest vanishes, so each of them does."""
    names = [context.scope[i] for i in over]
    total = context.readable(ix.total(term, *over))
    nonnegative = "(repeat (apply sum_nneg; intros); apply squares_nneg; eapply is_factor; eassumption)"
    dims = f"({listed(context.symbols.dims.index(i.dim) for i in over)} : list nat)%nat"
    positive = f"{context.everywhere(over)}0 < {context.readable(factor, level=49)}"
    tree = context.deep(factor, scope=over)
    rest = f"0 <= {context.readable(squares, level=49)}"
    proof = [
        filled(f"assert (is_factor : {positive})"),
        filled(f"by exact (positive the_data the_model {dims} {tree} {YES} promises).", "    "),
        filled(f"assert (is_rest : {rest})"),
        filled(
            f"by exact (nonnegative the_data the_model [] {context.deep(squares)} {YES} promises).", "    "
        ),
    ]
    proof += [
        filled(f"assert (whole : {total} + {context.readable(squares, level=49)} = 0)"),
        "    by exact (eq_trans is_identity is_zero).",
        filled(f"assert (sign : 0 <= {context.readable(ix.total(term, *over), level=49)}) by {nonnegative}."),
        filled(f"assert (zero : {total} = 0) by (apply Rle_antisym; lra)."),
        filled(f"intros {' '.join(f'{n} range_{n}' for n in names)}."),
    ]
    for n in names:
        proof.append(
            f"  apply sum_zero_each with (i := {n}) in zero; [cbv beta in zero | | exact range_{n}];"
        )
        proof.append(f"    [ | intros; {nonnegative}].")
    places = " ".join(f"{n} range_{n}" for n in names)
    return [*proof, f"  exact (no_difference _ _ (square_zero _ _ (is_factor {places}) zero))."]


def _concluded(context: Context, relation: str, factor: ix.Expr, squares: ix.Expr, later: str) -> list[str]:
    """The conclusion, of which ``later`` are the indices that are not introduced yet."""

    def shown(lemma: str, expr: ix.Expr, name: str) -> str:
        tree = context.deep(expr)
        return filled(f"pose proof ({lemma} the_data the_model the_ranges {tree} {YES} promises) as {name}.")

    at = context.places()
    intros = [f"  intros {later}."] if later else []
    if relation == "=":
        last = f"  exact (conclude _ _ _ _ (is_identity {at}) (is_zero {at}) (is_factor {at}))."
        return [shown("nonvanishing", factor, "is_factor"), *intros, last]
    facts = [shown("positive", factor, "is_factor"), shown("nonnegative", squares, "is_rest")]
    proofs = " ".join(f"({n} {at})" for n in ("is_identity", "is_zero", "is_factor", "is_rest"))
    return [*facts, *intros, f"  exact (conclude_ge _ _ _ _ _ {proofs})."]
