"""Theorems that formulas are defined: for Rocq 1 / 0, the root of -1 and ln 0 have values, elsewhere not."""

from __future__ import annotations

from itertools import product
from typing import Any

from checks.engine.domain import hidden_demands
from checks.engine.hypotheses import signs_under
from checks.kernel.context import Context, loose
from checks.kernel.derivatives import point_of
from checks.kernel.equalities import places, require_any_sign
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered
from checks.kinds.follows import Follows
from checks.kinds.stacked import PrunedArguments, Stacked
from checks.kinds.stationary import Stationary
from checks.statement import Given, Identity
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.functions import NONNEGATIVE, POSITIVE
from derivations.calculus.gradients import grad
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.term import Part

SAYS = {sg.NONZERO: "{} <> 0", POSITIVE: "0 < {}", NONNEGATIVE: "0 <= {}"}
"""What asking for signs says of a number."""
_LEMMAS = {sg.NONZERO: "nonvanishing", POSITIVE: "positive", NONNEGATIVE: "nonnegative"}


def said(context: Context, demand: sg.Demand) -> str:
    """What a demand says. Raises NotCovered where it is no sign."""
    if demand.signs not in SAYS:
        raise NotCovered("a formula that is defined at other places than where something has a sign")
    return SAYS[demand.signs].format(context.readable(demand.base, level=49))


def defined(name: str, statement: Any) -> list[Theorem]:
    """The theorem that everything in an equality, a consequence or an energy is defined, also what its
    entries do not show, if anything need be shown.

    Raises NotCovered for a demand that is no sign.
    """
    given, nonzero = statement.given, statement.nonzero
    if isinstance(statement, Stationary):
        given, nonzero = (*given, point_of(statement)), tuple(t for t in nonzero if t != statement.variable)
    asked = [d for expr in _formulas(statement) for d in sg.demands(expr)]
    asked += [d for g in given for d in sg.demands(g.value.entry())]
    asked += hidden_demands(statement)
    if isinstance(statement, Stationary):
        asked += sg.interior(statement.energy.entry())
    return where_defined(f"{name}_defined", asked, given, nonzero)


def where_defined(
    name: str, asked: list[sg.Demand], given: tuple[Given, ...], nonzero: tuple[Tensor, ...]
) -> list[Theorem]:
    """The theorem that demands are met for all values of their indices, if anything need be shown."""
    demands = _each_once([d for d in asked if _open(d.base)])
    if not demands:
        return []
    context = Context(tuple(d.base for d in demands), given, nonzero)
    lines = [f"Theorem {name} :", *context.header()]
    proofs = []
    for demand in demands:
        says = said(context, demand)
        require_any_sign(context.put(demand.base), demand.signs, sg.Facts(dict.fromkeys(nonzero, sg.NONZERO)))
        own = loose([demand.base])
        ranges = context.within([context.scope[i] for i in own], [i.dim for i in own])
        lines.append(filled(f"({ranges}{says}) /\\"))
        dims = listed(context.symbols.dims.index(i.dim) for i in own)
        tree = context.deep(demand.base, scope=tuple(own))
        proofs.append(
            f"({_LEMMAS[demand.signs]} the_data the_model ({dims} : list nat)%nat {tree} {YES} promises)"
        )
    proof = ["Proof.", context.intro(), *setup(context)]
    whole = "".join(f"(conj {p} " for p in proofs) + "I" + ")" * len(proofs)
    text = [*proof, filled(f"exact {whole}."), "Qed."]
    return [Theorem(name, "\n".join([*lines, "  True."]), "\n".join(text))]


def require_seen(asked: list[sg.Demand], given: tuple[Given, ...]) -> None:
    """Raises NotCovered for what is defined in a part of the line alone, where the statement looks."""
    if any(not signs_under(d.base, given, (), literally=True) <= d.signs for d in asked):
        raise NotCovered("a formula that is not defined for all values of the symbols")


def _formulas(statement: Any) -> list[ix.Expr]:
    if isinstance(statement, Identity):
        at = places("e", statement.lhs.shape())
        terms = (statement.lhs, *(link.term for link in statement.chain), statement.rhs)
        return [t.entry(*at) for t in terms]
    if isinstance(statement, Stacked):
        found = []
        for dims in product(*(summands(dim) for dim in statement.lhs.shape())):
            at = places("e", dims)
            found += [PrunedArguments((Part((s,), dims),)).entry(*at) for s in (statement.lhs, statement.rhs)]
        return found
    if isinstance(statement, Stationary):
        return [grad(statement.energy, statement.variable).entry(*places("d", statement.variable.dims))]
    assert isinstance(statement, Follows)
    at = places("w", statement.certificate.shape())
    sides = [s.entry(*at[: len(s.shape())]) for s in (statement.lhs, statement.rhs)]
    return [*sides, statement.certificate.entry(*at), statement.factor.entry(), statement.squares.entry(*at)]


def _open(base: ix.Expr) -> bool:
    """Whether there is anything to show: products of sizes and positive numbers are positive."""
    return not all(
        isinstance(n, ix.Dim | ix.Mul | ix.Pow) or (isinstance(n, ix.Num) and n.value > 0)
        for n in ix.walk(base)
    )


def _each_once(demands: list[sg.Demand]) -> list[sg.Demand]:
    """Demands that say the same at other indices, once; of a root in a denominator, what asks for more."""
    found: dict[object, sg.Demand] = {}
    for demand in demands:
        own = loose([demand.base])
        named = ix.rename(demand.base, {i: Index(f"p{n}#", i.dim) for n, i in enumerate(own)})
        old = found.setdefault(nf.normal(named), demand)
        found[nf.normal(named)] = sg.Demand(old.base, old.signs & demand.signs)
    return list(found.values())
