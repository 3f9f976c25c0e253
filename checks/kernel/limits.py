"""Theorems that iterations converge: the error shrinks by a rate, from every start."""

from __future__ import annotations

from checks.kernel.context import Context
from checks.kernel.definedness import require_seen, where_defined
from checks.kernel.equalities import places
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled
from checks.kernel.trees import NotCovered, application, plain_dims
from checks.kinds.limit import Limit
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.index import Index


def limit(name: str, s: Limit) -> list[Theorem]:
    """Every sequence that the iteration gives has the limit, entry by entry. Raises NotCovered."""
    if s.limit is None or s.rate is None:
        raise NotCovered("an iteration without a limit and a rate")
    if s.state.positive or s.state.symmetric:
        raise NotCovered("an iteration of a state with a promise")
    at = places("e", s.step.shape())
    state, step, goes, rate = ix.At(s.state, at), s.step.entry(*at), s.limit.entry(*at), s.rate.entry()
    error, next_error = rate * (state - goes), step - goes
    context = Context((state, next_error, error), s.given, first=at)
    context.base = [t for t in context.base if t != s.state]
    lines = [f"Theorem {name} :", *context.header(), *sizes(context, s), *iteration(context, s, step)]
    (own, run, k), iterates = _names(context, s), context.intros[-1]
    lines.append(filled(f"{converges(context, s, goes)}."))
    proof = [
        "Proof.",
        context.intro(),
        *([f"  intros {context.places()}."] if context.free else []),
        filled(f"apply (geometric ({context.readable(rate)})); [apply Rabs_def1; lra|]."),
        f"  intros {k}. rewrite {iterates} by assumption. set ({own} := {run} {k}).",
        *setup(context),
        "  exact (identity the_data the_model the_ranges",
        filled(context.deep(next_error), "    "),
        filled(context.deep(error), "    "),
        filled(f"{YES} promises {context.places()})."),
        "Qed.",
    ]
    demands = [d for e in (step, goes, rate) for d in sg.demands(e)]
    require_seen(demands, s.given)
    whole = Theorem(name, "\n".join(lines), "\n".join(proof))
    return [whole, *where_defined(f"{name}_defined", demands, s.given, ())]


def iteration(context: Context, s: Limit, step: ix.Expr) -> list[str]:
    """The lines that say of all states that each follows from the one before, and the quantifiers over
    entries.
    """
    own, run, k = _names(context, s)
    names = [context.scope[i] for i in context.free]
    kind = " -> ".join(["nat"] * (1 + len(plain_dims(s.state))) + ["R"])
    says = f"{context.everywhere()}{application(f'{run} (S {k})', names)} = {context.readable(step)}"
    _, line = context.hypothesis(f"forall {k}, let {own} := {run} {k} in {says}")
    context.intros.insert(-1, run)
    return [f"  forall {run} : {kind},", line, *([filled(context.everywhere())] if names else [])]


def converges(context: Context, s: Limit, goes: ix.Expr | None) -> str:
    """That an entry of the state has a limit, or one that is named."""
    _, run, k = _names(context, s)
    entry = application(f"{run} {k}", [context.scope[i] for i in context.free])
    if goes is None:
        goal = context.symbols.index(Index("goal", "1"), context.scope)
        return f"exists {goal}, Un_cv (fun {k} => {entry}) {goal}"
    return f"Un_cv (fun {k} => {entry}) ({context.readable(goes)})"


def _names(context: Context, s: Limit) -> tuple[str, str, str]:
    """Those of a state, of all states, and of the number of a state."""
    own = context.symbols.tensor(s.state)
    run, k = (context.symbols.index(Index(word, "1"), context.scope) for word in (f"{own}_run", "k"))
    return own, run, k


def sizes(context: Context, s: Limit) -> list[str]:
    """The lines of the range of the step size, where no promise says it."""
    own = context.symbols.tensor(s.size)
    says = [] if s.size.positive and s.low == 0 else [f"{s.low} < {own}"]
    says += [] if s.high is None else [f"{own} < {s.high}"]
    return [context.hypothesis(text)[1] for text in says]
