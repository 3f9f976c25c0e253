"""Theorems for what follows from facts about numbers, by the multipliers of a certificate."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from checks.engine.domain import hidden_demands
from checks.engine.hypotheses import facts_of, may_have_none
from checks.kernel.context import Context, loose
from checks.kernel.definedness import SAYS, said
from checks.kernel.equalities import require_any, require_any_sign
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled
from checks.kernel.trees import NotCovered, plain
from checks.kinds.implication import Implication, completed
from checks.statement import Fact
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.functions import NONNEGATIVE, POSITIVE
from derivations.calculus.index import Index, Tensor

_SIGN = "first [solve [signs] | lra | nra]"
"""What shows a sign: by its parts, or from the hypotheses as inequalities."""
_DEFINED = (
    "first [solve [nonzero_signs] | lra | apply Rlt_not_eq; nra | "
    "let is_0 := fresh in intro is_0; rewrite is_0 in *; lra]"
)
"""What shows where a formula is defined: a sign, or that a hypothesis would fail at 0."""


def implication(name: str, s: Implication) -> Theorem:
    """The theorem of an `Implication`: hypotheses about numbers -> conclusion. Raises NotCovered.

    Entries at fixed indices are numbers for the checker: what is known of one says nothing of the others.
    """
    s = completed(s)
    if s.rest is not None:
        raise NotCovered("a certificate with a rest")
    if any(u.at or u.over for u in s.uses()):
        raise NotCovered("a hypothesis at another index, or summed")
    shared = ix.free_indices(s.conclusion.term.entry())
    if may_have_none(*(h.term.entry() for h in s.hypotheses)) - shared:
        raise NotCovered("a hypothesis for all values of an index that may have none")
    facts = {h.name: h for h in s.hypotheses}
    factor: ix.Expr = ix.Num(Fraction(1))
    if s.factor:
        factor = ix.Add(tuple(ix.Mul((ix.Num(Fraction(c)), facts[n].term.entry())) for n, c in s.factor))
    multipliers = [(facts[u.name], u.multiplier.entry()) for u in s.uses()]
    terms = (ix.Mul((m, h.term.entry())) for h, m in multipliers)
    right = ix.Add((ix.Num(Fraction(0)), *terms))
    conclusion = s.conclusion.term.entry()
    left = ix.Mul((factor, conclusion))
    require_any(left, right)
    if not nf.equal(left, right):
        raise NotCovered("an identity by what is supposed positive")
    strict, known = s.conclusion.relation == ">", facts_of(s.hypotheses)
    for wanted in (NONNEGATIVE, *([POSITIVE] if strict else [])):
        for m in (m for h, m in multipliers if h.relation != "="):
            _require_sign(m, wanted, s, needed=wanted == NONNEGATIVE)
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
    if nf.equal(left, right) and not nf.equal(frozen.of(left), frozen.of(right)):
        raise NotCovered("an entry that a sum over a delta picks")
    proof = ["Proof.", context.intro(), *_strict(context, s, names, frozen), *setup(context)]
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
        positive = strict and h.relation == ">" and sg.signs(m, known) <= POSITIVE
        proof += _used(context, n, h, m, names[h.name], positive)
    text = context.readable(factor)
    proof.append(filled(f"assert (is_factor : 0 < {context.readable(factor, level=49)}) by lra."))
    lemma = {"=": "finish_eq", ">=": "finish_ge", ">": "finish_gt"}[relation]
    proof.append(filled(f"apply ({lemma} ({text})); [exact is_factor | lra]."))
    return Theorem(name, "\n".join(lines), "\n".join([*proof, "Qed."]))


def _require_sign(expr: ix.Expr, wanted: sg.Signs, s: Implication, needed: bool = True) -> None:
    """Raise NotCovered for a sign that the checker does not see, as it takes each hypothesis at one index."""
    known = facts_of(s.hypotheses)
    if any(_turns(node, known) for node in ix.walk(expr)):
        raise NotCovered("a sign of 1 over what is negative")
    unseen = not sg.signs(expr, known) <= wanted
    if unseen and (needed or sg.signs(expr, s.facts()) <= wanted):
        raise NotCovered("a hypothesis about one entry, for all of them, or in a product")
    require_any_sign(expr, wanted, known)


def _turns(expr: ix.Expr, known: sg.Facts) -> bool:
    """Whether an expression is an odd power of what is negative, below a fraction's bar."""
    if not isinstance(expr, ix.Pow) or expr.exponent >= 0 or expr.exponent % 2 != 1:
        return False
    return sg.signs(expr.base, known) <= frozenset({-1})


def implication_defined(name: str, s: Implication) -> list[Theorem]:
    """The theorem that the conclusion and the multipliers are defined where the hypotheses are and hold, if
    anything need be shown.
    """
    s = completed(s)
    stated = [d for h in s.hypotheses for d in sg.demands(h.term.entry())]
    terms = (s.conclusion.term, *(u.multiplier for u in s.uses()))
    asked = [d for term in terms for d in sg.demands(term.entry())]
    asked += hidden_demands(s)
    known = {(d.base, signs) for d in stated for signs in SAYS if d.signs <= signs}
    asked = [d for d in dict.fromkeys(asked) if (d.base, d.signs) not in known]
    if not asked:
        return []
    for demand in asked:
        _require_sign(demand.base, demand.signs, s)
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
    proof = ["Proof.", context.intro(), filled(f"repeat split; {_DEFINED}."), "Qed."]
    return [Theorem(f"{name}_defined", "\n".join([*lines, "  True."]), "\n".join(proof))]


def _used(context: Context, n: int, h: Fact, multiplier: ix.Expr, proof: str, strict: bool) -> list[str]:
    """What a hypothesis times its multiplier adds."""
    product = f"{context.readable(multiplier, level=39)} * ({context.readable(h.term.entry())})"
    if h.relation == "=":
        return [filled(f"assert (use{n} : {product} = 0) by (rewrite {proof}; ring).")]
    sign, lemma = ("<", "Rmult_lt_0_compat") if strict else ("<=", "Rmult_le_pos")
    return [
        filled(f"assert (sign{n} : 0 {sign} {context.readable(multiplier, level=49)}) by {_SIGN}."),
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
    """What is assumed positive does not vanish, nor its root, so that it may be divided by."""
    proof = []
    powers = (n for e in context.exprs for n in ix.walk(e) if isinstance(n, ix.Pow))
    halves = {replace(n, exponent=abs(n.exponent)) for n in powers}
    for h in s.hypotheses:
        expr = frozen.of(h.term.entry())
        if h.relation == ">" and not loose([expr]):
            text = context.readable(h.term.entry(), level=49)
            proof.append(filled(f"assert (nz_{names[h.name]} : {text} <> 0)"))
            proof.append(f"    by (apply Rgt_not_eq; exact {names[h.name]}).")
            context.vanishing.append((expr, f"nz_{names[h.name]}"))
            if ix.Pow(h.term.entry(), Fraction(1, 2)) in halves:
                proof.append(filled(f"assert (nr_{names[h.name]} : sqrt ({text}) <> 0)"))
                proof.append(f"    by (apply Rgt_not_eq, sqrt_lt_R0; exact {names[h.name]}).")
                context.vanishing.append((ix.Pow(expr, Fraction(1, 2)), f"nr_{names[h.name]}"))
    return proof
