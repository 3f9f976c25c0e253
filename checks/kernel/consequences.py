"""Theorems for what follows from matrix equations: the certificate is an identity, and signs are visible."""

from __future__ import annotations

from collections.abc import Callable

from checks.kernel.context import Context, loose
from checks.kernel.equalities import places
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, conjunction, filled, listed
from checks.kernel.trees import NotCovered, plain
from checks.kinds.follows import Equation, Follows
from derivations.calculus import index as ix
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
    for h in hypotheses:
        context.alias(h.equation.residual, h.alias(context))
    lines = [f"Theorem {name} :", *context.header(), *(h.line(context) for h in hypotheses)]
    if s.over and (context.free or s.squares.shape()):
        raise NotCovered("squares that are summed for each value of an index")
    if context.free or s.over:
        lines.append(filled(context.everywhere() or context.within(*_over(context, s.over))))
    sign = {"=": "=", ">=": ">="}[s.relation]
    sides = (context.shown(t, at[: len(t.shape())]) for t in (s.lhs, s.rhs))
    lines += [filled(next(sides)), filled(f"{sign} {next(sides)}.")]
    proof = ["Proof.", context.intro(), *setup(context), *(h.vanishes(context) for h in hypotheses)]
    right = put if s.relation == "=" else put + squares
    product = factor * (lhs - rhs)
    if s.over:
        product = ix.total(factor * (lhs - rhs) ** 2, *s.over) + squares
    proof += _certified(context, product, right, certificate, hypotheses)
    if s.over:
        proof += _each_vanishes(context, s.over, factor * (lhs - rhs) ** 2, factor, squares)
    else:
        proof += _concluded(context, s.relation, factor, squares)
    return Theorem(name, "\n".join(lines), "\n".join([*proof, "Qed."]))


class _Hypothesis:
    """An equation that is assumed, the indices at which it is stated, and its name in the proof."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.at = places("v", equation.lhs.shape())
        self.expr = equation.difference(*self.at)
        self.name = ""
        if loose([self.expr], self.at) != plain(self.at):
            raise NotCovered("a hypothesis with an index of its own")

    def scope(self) -> dict[Index, str]:
        return {i: f"i{n}" for n, i in enumerate(plain(self.at))}

    def alias(self, context: Context) -> Callable[[list[str]], str]:
        def value(names: list[str]) -> str:
            return context.readable(self.expr, dict(zip(plain(self.at), names, strict=True)))

        return value

    def line(self, context: Context) -> str:
        scope = self.scope()
        ranges = context.within(list(scope.values()), [i.dim for i in scope])
        left, right = (context.shown(t, self.at, scope) for t in (self.equation.lhs, self.equation.rhs))
        self.name, line = context.hypothesis(f"{ranges}{left} = {right}")
        return line

    def vanishes(self, context: Context) -> str:
        scope = self.scope()
        ranges = context.within(list(scope.values()), [i.dim for i in scope])
        names = " ".join(f"{n} range_{n}" for n in scope.values())
        intros = f"intros {names}. " if names else ""
        return "\n".join(
            [
                filled(f"assert (zero_{self.name} : {ranges}{context.readable(self.expr, scope)} = 0)."),
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


def _over(context: Context, over: tuple[Index, ...]) -> tuple[list[str], list[str]]:
    return [context.scope[i] for i in over], [i.dim for i in over]


def _each_vanishes(
    context: Context, over: tuple[Index, ...], term: ix.Expr, factor: ix.Expr, squares: ix.Expr
) -> list[str]:
    """A sum of squares with nonnegative rest vanishes, so each of them does."""
    names = [context.scope[i] for i in over]
    total = context.readable(ix.total(term, *over))
    nonnegative = "(repeat (apply sum_nneg; intros); apply squares_nneg; eapply is_factor; eassumption)"
    dims = f"({listed(context.symbols.dims.index(i.dim) for i in over)} : list nat)%nat"
    positive = f"{context.within(*_over(context, over))}0 < {context.readable(factor, level=49)}"
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


def _concluded(context: Context, relation: str, factor: ix.Expr, squares: ix.Expr) -> list[str]:
    def shown(lemma: str, expr: ix.Expr, name: str) -> str:
        tree = context.deep(expr)
        return filled(f"pose proof ({lemma} the_data the_model the_ranges {tree} {YES} promises) as {name}.")

    at = context.places()
    intros = [f"  intros {at}."] if at else []
    if relation == "=":
        last = f"  exact (conclude _ _ _ _ (is_identity {at}) (is_zero {at}) (is_factor {at}))."
        return [shown("nonvanishing", factor, "is_factor"), *intros, last]
    facts = [shown("positive", factor, "is_factor"), shown("nonnegative", squares, "is_rest")]
    proofs = " ".join(f"({n} {at})" for n in ("is_identity", "is_zero", "is_factor", "is_rest"))
    return [*facts, *intros, f"  exact (conclude_ge _ _ _ _ _ {proofs})."]
