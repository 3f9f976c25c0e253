"""Theorems for what follows from hypotheses: the certificate is an identity, and signs are visible."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from checks.engine.domain import hidden_demands
from checks.kernel.definedness import SAYS, said
from checks.kernel.equalities import places
from checks.kernel.theorem import YES, Context, Theorem, conjunction, filled, listed, loose
from checks.kernel.trees import NotCovered, plain
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.statement import Fact
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.index import Index, Tensor

# ---------------------------------------------------------------- matrix equations


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
    lines += [filled(context.readable(lhs)), filled(f"{sign} {context.readable(rhs)}.")]
    proof = ["Proof.", context.intro(), *context.setup(), *(h.vanishes(context) for h in hypotheses)]
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
        self.left, self.right = equation.lhs.entry(*self.at), equation.rhs.entry(*self.at)
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
        left, right = context.readable(self.left, scope), context.readable(self.right, scope)
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
    proof.append(f"  apply square_zero in zero; [lra | exact (is_factor {places})].")
    return proof


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


# ---------------------------------------------------------------- numbers


def implication(name: str, s: Implication) -> Theorem:
    """The theorem of an `Implication`: hypotheses about numbers -> conclusion. Raises NotCovered.

    Entries at fixed indices are numbers for the checker: what is known of one says nothing of the others.
    """
    facts = {h.name: h for h in s.hypotheses}
    factor: ix.Expr = ix.Num(Fraction(1))
    if s.factor:
        factor = ix.Add(tuple(ix.Mul((ix.Num(Fraction(c)), facts[n].term.entry())) for n, c in s.factor))
    multipliers = [(facts[n], m.entry()) for n, m in s.multipliers]
    terms = (ix.Mul((m, h.term.entry())) for h, m in multipliers)
    right = ix.Add((ix.Num(Fraction(0)), *terms))
    conclusion = s.conclusion.term.entry()
    left = ix.Mul((factor, conclusion))
    exprs = (left, right, *(h.term.entry() for h in s.hypotheses))
    context = Context(exprs)
    lines = [f"Theorem {name} :", *context.header()]
    if context.free:
        lines.append(filled(context.everywhere()))
        context.intros += context.places().split()
    names = {}
    for h in s.hypotheses:
        names[h.name], line = context.hypothesis(f"{context.readable(h.term.entry())} {h.relation} 0")
        lines.append(line)
    relation = s.conclusion.relation
    lines.append(filled(f"{context.readable(conclusion, level=49)} {relation} 0."))
    frozen = _Frozen(context)
    proof = ["Proof.", context.intro(), *_strict(context, s, names, frozen), *context.setup()]
    proof += [
        "  pose proof (identity the_data the_model the_ranges",
        filled(context.deep(frozen.of(left)), "    "),
        filled(context.deep(frozen.of(right)), "    "),
        f"    {YES} promises {context.places()}) as is_identity.",
        filled(
            f"assert (shown : {context.readable(left)} = {context.readable(right)}) by exact is_identity."
        ),
        "  clear is_identity.",
    ]
    for n, (h, m) in enumerate(multipliers):
        proof += _used(context, n, h, m, names[h.name], relation)
    text = context.readable(factor)
    proof.append(filled(f"assert (is_factor : 0 < {context.readable(factor, level=49)}) by lra."))
    lemma = {"=": "finish_eq", ">=": "finish_ge", ">": "finish_gt"}[relation]
    proof.append(filled(f"apply ({lemma} ({text})); [exact is_factor | lra]."))
    return Theorem(name, "\n".join(lines), "\n".join([*proof, "Qed."]))


def implication_defined(name: str, s: Implication) -> list[Theorem]:
    """The theorem that the conclusion and the multipliers are defined where the hypotheses are and hold, if
    anything need be shown.
    """
    stated = [d for h in s.hypotheses for d in sg.demands(h.term.entry())]
    asked = [
        d for e in (s.conclusion.term.entry(), *(m.entry() for _, m in s.multipliers)) for d in sg.demands(e)
    ]
    asked += hidden_demands(s)
    known = {(d.base, signs) for d in stated for signs in SAYS if d.signs <= signs}
    asked = [d for d in dict.fromkeys(asked) if (d.base, d.signs) not in known]
    if not asked:
        return []
    hypotheses = tuple(h.term.entry() for h in s.hypotheses)
    context = Context((*hypotheses, *(d.base for d in (*stated, *asked))))
    lines = [f"Theorem {name}_defined :", *context.header()]
    if context.free:
        lines.append(filled(context.everywhere()))
        context.intros += context.places().split()
    for demand in dict.fromkeys(stated):
        lines.append(context.hypothesis(said(context, demand))[1])
    for h in s.hypotheses:
        lines.append(context.hypothesis(f"{context.readable(h.term.entry())} {h.relation} 0")[1])
    lines += [filled(f"({said(context, d)}) /\\") for d in asked]
    proof = ["Proof.", context.intro(), "  repeat split; nonzero_signs.", "Qed."]
    return [Theorem(f"{name}_defined", "\n".join([*lines, "  True."]), "\n".join(proof))]


def _used(context: Context, n: int, h: Fact, multiplier: ix.Expr, proof: str, relation: str) -> list[str]:
    """What a hypothesis times its multiplier adds."""
    product = f"{context.readable(multiplier, level=39)} * ({context.readable(h.term.entry())})"
    if h.relation == "=":
        return [filled(f"assert (use{n} : {product} = 0) by (rewrite {proof}; ring).")]
    strict = h.relation == ">" and relation == ">"
    sign, lemma = ("<", "Rmult_lt_0_compat") if strict else ("<=", "Rmult_le_pos")
    return [
        filled(f"assert (sign{n} : 0 {sign} {context.readable(multiplier, level=49)}) by signs."),
        filled(f"assert (use{n} : 0 {sign} {product}) by (apply {lemma}; [exact sign{n} | lra])."),
    ]


def _constant(text: str, names: list[str]) -> str:
    return text


class _Frozen:
    """Entries at fixed indices as numbers of their own: tensors of the model without indices."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.table: dict[tuple[Tensor, tuple[Index, ...]], Tensor] = {}
        for expr in context.exprs:
            self.of(expr)

    def of(self, expr: ix.Expr, bound: frozenset[Index] = frozenset()) -> ix.Expr:
        """The expression in these numbers."""
        match expr:
            case ix.At(tensor, indices) if plain(indices) and not bound & set(indices):
                return ix.At(self._number(tensor, indices), ())
            case ix.Sum(index, body):
                return ix.Sum(index, self.of(body, bound | {index}))
        return ix.rebuild(expr, tuple(self.of(part, bound) for part in ix.children(expr)))

    def _number(self, tensor: Tensor, indices: tuple[Index, ...]) -> Tensor:
        if (tensor, indices) not in self.table:
            new = Tensor(f"{tensor.name}#{len(self.table)}", (), positive=tensor.positive)
            self.table[tensor, indices] = new
            at = [self.context.scope[i] for i in plain(indices)]
            promise = self.context.promises.get(("positive", tensor), "")
            proof = " ".join([promise, *(f"{n} range_{n}" for n in at)]) if promise else ""
            text = self.context.entry(tensor, at)
            self.context.alias(new, partial(_constant, text), proof and f"({proof})")
        return self.table[tensor, indices]


def _strict(context: Context, s: Implication, names: dict[str, str], frozen: _Frozen) -> list[str]:
    """What is assumed positive does not vanish, so that it may be divided by."""
    proof = []
    for h in s.hypotheses:
        expr = frozen.of(h.term.entry())
        if h.relation == ">" and not loose([expr]):
            text = context.readable(h.term.entry(), level=49)
            proof.append(filled(f"assert (nz_{names[h.name]} : {text} <> 0)"))
            proof.append(f"    by (apply Rgt_not_eq; exact {names[h.name]}).")
            context.vanishing.append((expr, f"nz_{names[h.name]}"))
    return proof
