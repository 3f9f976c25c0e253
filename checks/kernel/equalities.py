"""Theorems for equalities: one for each link of a chain, and one for its ends by transitivity."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from string import ascii_uppercase

from checks.engine.hypotheses import apply_definitions
from checks.kernel.context import Context
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled
from checks.kernel.trees import NotCovered
from checks.statement import Given, Identity
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.functions import is_unknown
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import to_expr
from derivations.calculus.term import Term


def equalities(name: str, statement: Identity) -> list[Theorem]:
    """The theorems of an identity, the last of which says ``lhs = rhs``. Raises NotCovered."""
    at = places("e", statement.lhs.shape())
    terms = [statement.lhs, *(link.term for link in statement.chain), statement.rhs]
    if len({t.shape() for t in terms}) > 1:
        raise NotCovered("the sides have different shapes")
    return chain(name, terms, statement.given, statement.nonzero, at)


def places(letter: str, shape: tuple[str, ...]) -> tuple[Index, ...]:
    """New indices for the entries of an array."""
    return tuple(Index(f"{letter}{n}", d).fresh() for n, d in enumerate(shape))


def chain(
    name: str,
    terms: list[Term],
    given: tuple[Given, ...],
    nonzero: tuple[Tensor, ...],
    at: tuple[Index, ...],
) -> list[Theorem]:
    """The theorems of a chain of equal terms, all under the same hypotheses. Raises NotCovered."""
    pairs, exprs = list(pairwise(terms)), [t.entry(*at) for t in terms]
    expanded = not all(_same(*(apply_definitions(e, given) for e in pair)) for pair in pairwise(exprs))
    context = Context(tuple(exprs), given, nonzero, at, expanded=expanded)
    for pair in pairwise(exprs):
        require_any(*map(context.put, pair))
    if len(pairs) == 1:
        return [equality(name, context, at, *pairs[0])]
    steps = [equality(f"{name}_step{n}", context, at, *pair) for n, pair in enumerate(pairs, 1)]
    return [*steps, _transitivity(name, context, at, (terms[0], terms[-1]), steps)]


def _same(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether nothing need be known of the functions; what the checker cannot see it rejects."""
    try:
        return nf.equal(one, two)
    except ZeroDivisionError:
        return True


def require_any(one: ix.Expr, two: ix.Expr) -> None:
    """Raises NotCovered for what is equal for a known function alone: a theorem says it of any function; and
    for a root of a power, which the checker multiplies out first.
    """
    spelt = _spelt(one), _spelt(two)
    if spelt != (one, two) and _same(one, two) and not _same(*spelt):
        raise NotCovered("a root of a power of what is not negative")
    any_of = _with_log(_any_of(one, two), one, two)
    if any_of and not _same(*(_renamed(e, any_of) for e in (one, two))):
        raise NotCovered(f"what is known of {', '.join(any_of)}")


def _spelt(expr: ix.Expr) -> ix.Expr:
    """The expression with powers below roots as products, or as a function of their own if high."""
    parts = tuple(map(_spelt, ix.children(expr)))
    match expr:
        case ix.Pow(ix.Pow(_, inner), exponent) if exponent.denominator > 1 and inner in range(2, 7):
            return ix.Pow(ix.Mul(ix.children(parts[0]) * int(inner)), exponent)
        case ix.Pow(ix.Pow(_, inner), exponent) if exponent.denominator > 1 and inner > 6:
            return ix.Pow(ix.Call(f"^{inner}", ix.children(parts[0])[0]), exponent)
    return ix.rebuild(expr, parts)


def require_any_sign(expr: ix.Expr, wanted: sg.Signs, facts: sg.Facts = sg.NONE) -> None:
    """Raises NotCovered for a sign that a known function alone gives, as `require_any` does, or that the
    checker does not see.
    """
    if sg.signs(expr, facts) <= wanted and not sg.signs(expr, replace(facts, literally=True)) <= wanted:
        raise NotCovered("a sign of a multiple of a hypothesis, of 1 less a delta, of a sum less a summand")
    any_of = _with_log(_any_of(expr), expr)
    if any_of and sg.signs(expr, facts) <= wanted:
        forms = {nf.normal(_renamed(to_expr(form), any_of)): signs for form, signs in facts.forms.items()}
        if not sg.signs(_renamed(expr, any_of), replace(facts, forms=forms)) <= wanted:
            raise NotCovered(f"what is known of {', '.join(any_of)}")


def _any_of(*exprs: ix.Expr) -> dict[str, str]:
    """Names of unknown functions for the known ones of which the checker knows nothing."""
    called = {n.function for e in exprs for n in ix.walk(e) if isinstance(n, ix.Call)}
    known = sorted(f for f in called - {"exp", "log"} - {*nf.POSITIVE_FUNCTIONS} if not is_unknown(f))
    return dict(zip(known, sorted({*ascii_uppercase} - called), strict=False))


def _with_log(names: dict[str, str], *exprs: ix.Expr) -> dict[str, str]:
    """The names with one for the logarithm, of which the checker knows its derivative alone."""
    if any(isinstance(n, ix.Call) and n.function == "log" for e in exprs for n in ix.walk(e)):
        return {**names, "log": next(c for c in ascii_uppercase if c not in names.values())}
    return names


def _renamed(expr: ix.Expr, names: dict[str, str]) -> ix.Expr:
    """The expression with other names of functions."""
    parts = tuple(_renamed(part, names) for part in ix.children(expr))
    if isinstance(expr, ix.Call):
        return ix.Call(names.get(expr.function, expr.function), parts[0], expr.order)
    return ix.rebuild(expr, parts)


def _statement(name: str, context: Context, at: tuple[Index, ...], left: Term, right: Term) -> str:
    lines = [f"Theorem {name} :", *context.header()]
    if context.free:
        lines.append(filled(context.everywhere()))
    return "\n".join([*lines, filled(context.shown(left, at)), filled(f"= {context.shown(right, at)}.")])


def equality(name: str, context: Context, at: tuple[Index, ...], left: Term, right: Term) -> Theorem:
    """One equality, of which the checker decides the entries."""
    statement = _statement(name, context, at, left, right)
    proof = [
        "Proof.",
        context.intro(),
        *setup(context),
        "  exact (identity the_data the_model the_ranges",
        filled(context.deep(left.entry(*at)), "    "),
        filled(context.deep(right.entry(*at)), "    "),
        f"    {YES} promises).",
        "Qed.",
    ]
    return Theorem(name, statement, "\n".join(proof))


def _transitivity(
    name: str, context: Context, at: tuple[Index, ...], ends: tuple[Term, Term], steps: list[Theorem]
) -> Theorem:
    statement = _statement(name, context, at, *ends)
    arguments = " ".join([*context.arguments, context.places()]).strip()
    applied = [f"({step.name} {arguments})" if arguments else step.name for step in steps]
    whole = applied[-1]
    for step in reversed(applied[:-1]):
        whole = f"(eq_trans {step} {whole})"
    names = f"intros {' '.join(context.intros)} {context.places()}".strip()
    proof = ["Proof.", filled(f"{names}."), filled(f"exact {whole}."), "Qed."]
    return Theorem(name, statement, "\n".join(proof))
