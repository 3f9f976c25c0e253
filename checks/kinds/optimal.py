"""Optimal: values of a program's variables solve it, or are all that solves it, as multipliers show.

The certificate is one identity, for all values of the variables: what the objective is worse than at the
solution is something visibly nonnegative less the multipliers times the constraints (lhs - rhs), which at
feasible points takes nothing away. No convexity has to be trusted. Refuted by a constraint that the solution
breaks, or by an exact feasible point that is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from checks.engine.finding import Finding, refutation
from checks.engine.hypotheses import apply_definitions, check_promises, open_demands, signs_under
from checks.engine.instances import Instance, describe, exact_instances
from checks.engine.judge import ENGINES, attempt, conformable, equal, identity, rejects, step, unbound
from checks.engine.mutants import mutants
from checks.engine.points import apart, better
from checks.evidence import Evidence, Mutants
from checks.kinds.examples import Point, absent
from checks.kinds.extremum import CONVEX, divergences, nonnegative, summands
from checks.kinds.programs import allowed, excess_signs
from checks.statement import Given, Identity, Kind, Malformed, for_all, tensors_of
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.cases import NONPOSITIVE
from derivations.calculus.functions import NONNEGATIVE
from derivations.calculus.gradients import at_point
from derivations.calculus.index import Tensor
from derivations.calculus.losses import losses
from derivations.calculus.program import Constraint, Program, curved
from derivations.calculus.signs import positive
from derivations.calculus.term import (
    Frac,
    NonConformable,
    Product,
    Symbol,
    Term,
    as_term,
    log,
    sum_over,
)


@dataclass(frozen=True)
class Optimal(Kind):
    """The variables of ``program`` solve it where they are what ``solution`` says; ``only``: nowhere else.

    ``above`` (a minimisation: objective - objective at the solution, else its negative) + Σ multiplier (lhs -
    rhs) over the constraints, in a form whose sign is visible; ``multipliers`` gives each constraint's
    multiplier a value in the constraint's indices, of an inequality one that is visibly nonnegative. Of the
    variables in ``ranges``, (variable, "> 0"), only positive values are looked at: where a logarithm in the
    objective is defined. ``rival`` offers a counterexample: values of the data and the variables.
    """

    program: Program
    solution: tuple[Given, ...]
    above: Term
    multipliers: tuple[tuple[Tensor, Term], ...] = ()
    only: bool = False
    ranges: tuple[tuple[Tensor, str], ...] = ()
    given: tuple[Given, ...] = ()
    rival: Point | None = None
    label: str = ""

    def statement_latex(self) -> str:
        """The solution, and the program that it solves."""
        values = r",\quad ".join(
            f"{g.defined.latex()} = {g.value.latex()}" + for_all(set(g.at), r"\ ") for g in self.solution
        )
        where = "".join(rf",\ {t.symbol} > 0" for t, _ in self.ranges)
        what = "the only solution" if self.only else "a solution"
        return (
            rf"\begin{{gathered}}{values} \\ \text{{is {what} of}} \\ {self.program.latex()}{where}"
            rf"\end{{gathered}}"
        )


def optimal(statement: Optimal, seed: int, with_mutants: bool) -> Finding:
    """A broken constraint or a better point, or the proof by the certificate."""
    p = statement.program
    shapes = conformable(p.objective, *(side for c in p.constraints for side in (c.lhs, c.rhs)))
    if not shapes.passed:
        return Finding([shapes], counterexample=shapes.detail)
    try:
        _check(statement)
    except (NonConformable, ValueError) as error:
        raise Malformed(str(error)) from None
    s = _with_ranges(statement)
    if refuted := _broken(s, seed) or _beaten(s):
        return refutation(refuted)
    why = _flaw(s)
    finding = Finding() if why else identity(_certificate(s), seed, False)
    if finding.holds is False:  # a wrong certificate is no counterexample
        why = "the certificate is no identity"
    if why:
        if refuted := _sought(s, seed):
            return refutation(refuted)
        return Finding([Evidence("derivation", "exact-symbolic", None, why)])
    detail = "the constraints hold at the solution, and the sign of what is above it is visible"
    finding.evidence.append(Evidence("derivation", "exact-symbolic", True, detail))
    finding.steps = _steps(statement, finding.proved)
    if with_mutants and finding.holds:
        finding.mutants = _mutate(s, seed)
    return finding


def _check(s: Optimal) -> None:
    """Raise Malformed for values that are not those of the program's variables and multipliers, and for what
    this engine does not know.
    """
    p, values = s.program, dict(s.multipliers)
    if (
        p.inverses
        or p.semidefinite
        or any(True for _ in losses(p.objective))
        or any(map(curved, p.constraints))
    ):
        raise Malformed(
            "a solution is judged of a formula: without inverses, semidefinite data and losses of the table, "
            "which are infinite outside their domains"
        )
    if not p.variables or not set(p.variables) <= p.unknown():
        raise Malformed("a program that does not mention its variables says nothing of them")
    if sorted(g.tensor.name for g in s.solution) != sorted(t.name for t in p.variables):
        raise Malformed("a solution gives each variable of the program one value")
    said = [apply_definitions(g.value.entry(), s.given) for g in (*s.solution, *s.given)]
    own, fixed = {t for value in said for t in ix.tensors(value)}, {g.tensor for g in s.given} | {*p.nonzero}
    if moving := sorted(t.name for t in (own | fixed) & {*p.variables, *values}):
        raise Malformed(f"the solution, or what is given, mentions {', '.join(moving)}")
    _check_multipliers(s)
    if len(dict(s.ranges)) < len(s.ranges) or any(t not in p.variables or r != "> 0" for t, r in s.ranges):
        raise Malformed("a range is that of a variable, and is > 0, said once")
    if s.above.shape() or unbound(s.above) or unbound(p.objective):
        raise Malformed("an objective, and what is above the solution, is a number")
    for g in s.solution:
        promised = replace(g.tensor, positive=g.tensor in dict(s.ranges))
        check_promises(promised, g.at, g.value.entry(), s.given, ())


def _check_multipliers(s: Optimal) -> None:
    values = dict(s.multipliers)
    if sorted(t.name for t, _ in s.multipliers) != sorted(c.multiplier.name for c in s.program.constraints):
        raise Malformed("each constraint's multiplier has one value")
    for c in s.program.constraints:
        value = values[c.multiplier]
        if not isinstance(value, Term):
            raise Malformed(f"the value of {c.multiplier.name} is a formula, as as_term(...) makes one")
        if c.multiplier.dims != tuple(i.dim for i in c.over) or ix.free_indices(c.excess()) - set(c.over):
            raise Malformed(f"the indices of {c.multiplier.name} are those of its constraint, all of them")
        if value.shape() or ix.free_indices(value.entry()) - set(c.over):
            own = ", ".join(i.name for i in c.over) or "none"
            raise Malformed(
                f"the value of {c.multiplier.name} is a number in its constraint's indices, which are: {own}"
            )


def _with_ranges(s: Optimal) -> Optimal:
    """The statement with the variables of its ranges promised positive."""
    twins = {t: replace(t, positive=True) for t, _ in s.ranges}

    def put(term: Term) -> Term:
        if isinstance(term, Symbol):
            return as_term(twins.get(term.data, term.data))
        if tensors_of(term.data) & set(twins):
            raise Malformed("a variable that has a range is looked at in formulas without derivatives")
        return replace(term, args=tuple(map(put, term.args)))

    p = s.program
    constraints = tuple(replace(c, lhs=put(c.lhs), rhs=put(c.rhs)) for c in p.constraints)
    variables = tuple(twins.get(t, t) for t in p.variables)
    rival = s.rival and replace(s.rival, values=tuple((twins.get(t, t), v) for t, v in s.rival.values))
    return replace(
        s,
        program=replace(p, variables=variables, objective=put(p.objective), constraints=constraints),
        solution=tuple(replace(g, tensor=twins.get(g.tensor, g.tensor)) for g in s.solution),
        above=put(s.above),
        multipliers=tuple((t, put(value)) for t, value in s.multipliers),
        rival=rival,
    )


def _centres(s: Optimal) -> list[tuple[Given, Given]]:
    """What each variable is at the solution, and that a symbol of its own has this value: exact instances
    then compute each entry once.
    """
    named = [Tensor(f"{g.tensor.name}*#", g.tensor.dims, rf"{g.tensor.symbol}^{{*}}") for g in s.solution]
    return [(g, replace(g, tensor=t)) for g, t in zip(s.solution, named, strict=True)]


def _said(s: Optimal) -> dict[Tensor, Tensor]:
    """The variables, each with the symbol of its value at the solution."""
    return {g.tensor: centre.tensor for g, centre in _centres(s)}


def _rise(s: Optimal) -> Term:
    """How much worse the objective is than at the solution."""
    there = s.program.objective
    for g, centre in _centres(s):
        there = at_point(there, g.tensor, as_term(centre.tensor))
    return there - s.program.objective if s.program.maximise else s.program.objective - there


def _given(s: Optimal) -> tuple[Given, ...]:
    return (*s.given, *(centre for _, centre in _centres(s)))


def _right(s: Optimal) -> Term:
    """What is above, less the multipliers times the constraints."""
    right, values = s.above, dict(s.multipliers)
    for c in s.program.constraints:
        term = values[c.multiplier] * (c.lhs if c.rhs == as_term(0) else c.lhs - c.rhs)
        right = right - (sum_over(*c.over, term) if c.over else term)
    return right


def _certificate(s: Optimal) -> Identity:
    return Identity(_rise(s), _right(s), _given(s), nonzero=s.program.nonzero)


def _there(c: Constraint, s: Optimal) -> ix.Expr:
    """lhs - rhs of a constraint at the solution."""
    return apply_definitions(apply_definitions(c.excess(), s.solution), s.given)


def _broken(s: Optimal, seed: int) -> str | None:
    """An exact instance at which the solution breaks a constraint, in words."""
    for c in s.program.constraints:
        for instance, points in exact_instances(
            [_there(c, s)], s.given, seed, 6, True, nonzero=s.program.nonzero
        ):
            for at in points:
                sign = instance.sign(_there(c, s), at)
                if sign is not None and sign not in allowed(c):
                    where = describe(instance, at, _there(c, s)) or "always"
                    return f"{where}: the solution breaks a constraint"
    return None


def _beaten(s: Optimal) -> str | None:
    """The offered point, in words, if it is feasible and better than the solution, or as good and another.

    Raises Malformed where it is neither.
    """
    if s.rival is None:
        return None
    if s.rival.at:
        raise Malformed("a rival fixes no index")
    if stray := {t for t, _ in s.rival.values} - tensors_of(replace(s, rival=None)):
        names = ", ".join(sorted(t.name for t in stray))
        raise Malformed(f"the rival gives a value to {names}, which occurs nowhere")
    instance = s.rival.instance(_given(s))
    try:
        if not instance.admissible(s.program.nonzero):
            raise Malformed("what is assumed not to vanish does so at the rival")
        if any(sign not in allowed(c) for c in s.program.constraints for sign in excess_signs(instance, c)):
            raise Malformed("the rival is not feasible")
        sign = instance.sign(_rise(s).entry())
        if sign == -1 or (sign == 0 and s.only and apart(instance, _said(s))):
            return _words(instance, sign, s)
    except KeyError as missing:
        raise Malformed(f"the rival gives no value to {absent(missing)}") from None
    raise Malformed("the rival is not better")


def _words(instance: Instance, sign: int, s: Optimal) -> str:
    said = (_rise(s).entry(), *(c.excess() for c in s.program.constraints))
    return f"{describe(instance, {}, *said)}: feasible, and {'better' if sign else 'as good'}"


def _sought(s: Optimal, seed: int) -> str | None:
    """A feasible point that is better, or as good and another, if one is met."""
    facts = [(-c.excess(), "=" if c.equality else ">=") for c in s.program.constraints]
    nonzero = s.program.nonzero
    found = better(_rise(s).entry(), facts, _said(s), _given(s), seed, elsewhere=s.only, nonzero=nonzero)
    return _words(*found, s) if found else None


def _flaw(s: Optimal) -> str:
    """What the certificate lacks besides being an identity; "" if nothing."""
    nonzero = s.program.nonzero
    if open_demands([_there(c, s) for c in s.program.constraints], s.given, nonzero):
        return "a constraint is not shown to be defined at the solution"
    for c in s.program.constraints:
        if not (equal(_there(c, s), ix.as_expr(0)) if c.equality else _below(_there(c, s), s)):
            return "a constraint is not shown to hold at the solution"
        value = dict(s.multipliers)[c.multiplier].entry()
        if not c.equality and not signs_under(value, s.given, nonzero) <= NONNEGATIVE:
            return f"{c.multiplier.name} is not visibly nonnegative"
    if not nonnegative(s.above, CONVEX):
        return "what is above is not visibly nonnegative"
    if s.only and not _alone(s):
        return "what is above is not seen to vanish at the solution alone"
    return ""


def _below(expr: ix.Expr, s: Optimal) -> bool:
    return signs_under(expr, s.given, s.program.nonzero) <= NONPOSITIVE


def _alone(s: Optimal) -> bool:
    """Whether what is above vanishes at the solution only: for each variable it has a summand that does,
    beside others that are nonnegative.
    """
    left = summands(s.above)
    for g in s.solution:
        own = next((one for one in left if any(_multiple(one, d, s) for d in _distances(g))), None)
        if own is None:
            return False
        left.remove(own)
    return all(nonnegative(one, CONVEX) for one in left)


def _distances(g: Given) -> Iterator[Term]:
    """What is 0 where a variable is what it is at the solution, and positive elsewhere."""
    here = g.defined
    yield sum_over(*g.at, (here - g.value) ** 2) if g.at else (here - g.value) ** 2
    yield from divergences(here, g.value, *g.at)
    if g.tensor.positive:
        yield from divergences(log(here), log(g.value), *g.at)


def _multiple(one: Term, distance: Term, s: Optimal) -> bool:
    """Whether a summand is the distance times a positive number, or as it is written what is positive."""
    own, wanted = (nf.normal(apply_definitions(t.entry(), s.given)) for t in (one, distance))
    c = nf.ratio(own, wanted) if wanted else None
    return (c is not None and c > 0) or any(_multiple(core, distance, s) for core in _cores(one))


def _cores(term: Term) -> Iterator[Term]:
    """The factors of a term beside which all others are visibly positive."""
    factors = term.args if isinstance(term, Product | Frac) else ()
    for n, core in enumerate(factors[:1] if isinstance(term, Frac) else factors):
        rest = factors[:n] + factors[n + 1 :]
        if not any(t.shape() for t in factors) and all(positive(t.entry()) for t in rest):
            yield core


def _steps(s: Optimal, proved: bool) -> list[dict[str, Any]]:
    """The constraints at the solution, what the multipliers are, the certificate, the sign."""
    objective = s.program.objective.wrapped(2)
    at = r",\,".join(f"{g.defined.latex()} = {g.value.latex()}" for g in s.solution)
    sides = [objective, rf"\left.{objective}\right|_{{{at}}}"]
    worse, other = reversed(sides) if s.program.maximise else sides
    holds = "at the solution, in normal form"
    found = [step("feasible", c.spanned(), holds, True) for c in s.program.constraints]
    for c in s.program.constraints:
        own = as_term(c.multiplier)[c.over] if c.over else as_term(c.multiplier)
        sign = "" if c.equality else r" \ge 0"
        value = dict(s.multipliers)[c.multiplier].latex()
        found.append(
            step("multiplier", f"{own.latex()} = {value}{sign}", "as the certificate takes it", True)
        )
    reason = "how much worse the objective is than at the solution, for all values of the variables"
    found.append(attempt("certificate", f"{worse} - {other} = {_right(s).latex()}", reason, proved))
    words = "a visible sign; what is subtracted is at most 0 where the constraints hold"
    return [*found, step("sign", rf"{s.above.latex()} \ge 0", words, True)]


def _mutate(s: Optimal, seed: int) -> Mutants:
    """Other objectives and other solutions, each against the same certificate."""
    result = Mutants()
    changed = [
        (f"objective: {what}", replace(s, program=replace(s.program, objective=m)))
        for what, m in mutants(s.program.objective, 16)
    ]
    for n, g in enumerate(s.solution):
        for what, m in mutants(g.value, 8):
            solution = (*s.solution[:n], replace(g, value=m), *s.solution[n + 1 :])
            changed.append((f"{g.tensor.name}: {what}", replace(s, solution=solution)))
    for what, other in changed:
        result.tried += 1
        left, right = _rise(other).entry(), _right(other).entry()
        if rejects(left, right, _given(other), seed, nonzero=s.program.nonzero) or _broken(other, seed):
            result.killed += 1
        elif equal(apply_definitions(left, _given(other)), apply_definitions(right, _given(other))):
            result.equivalent += 1
        else:
            result.survivors.append(what)
    return result


ENGINES[Optimal] = optimal
