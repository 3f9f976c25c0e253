"""What may be said of a minimisation program: that it is convex, well posed, and which conditions its
dual has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, permutations, product
from typing import Any

from checks.engine.finding import Finding
from checks.engine.instances import Instance, describe, exact_instances, solved
from checks.engine.judge import ENGINES, attempt, step
from checks.engine.mutants import mutants
from checks.evidence import Evidence, Mutants
from checks.statement import Kind, Malformed, tensors_of
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import program as dualiser
from derivations.calculus import signs as sg
from derivations.calculus.functions import EXPONENT, is_unknown
from derivations.calculus.gradients import Moved, SymbolicPower, at_point
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import degree_in, losses
from derivations.calculus.program import NOT_SEEN, Constraint, Program, convexity_of_squares, dualise
from derivations.calculus.term import Term, as_term
from derivations.calculus.unicode import unicode_math


@dataclass(frozen=True)
class Convex(Kind):
    """A minimisation program is convex."""

    program: Program
    label: str = ""
    extended = True

    def statement_latex(self) -> str:
        """That the program is convex; without constraints, that its objective is."""
        if not self.program.constraints and not self.program.maximise:
            names = ", ".join(t.symbol for t in self.program.variables)
            return rf"\text{{convex in }}\quad {names}:\quad {self.program.objective.latex()}"
        return rf"\text{{convex: }}\quad {self.program.latex()}"


@dataclass(frozen=True)
class WellPosed(Kind):
    """Every symbol of a program, minimised over the variables of its ``printed`` list, is one of them
    or given data.
    """

    program: Program
    printed: tuple[Tensor, ...]
    data: tuple[Tensor, ...]
    label: str = ""

    def statement_latex(self) -> str:
        """The program with its printed list, and what is given."""
        given = r",\ ".join(t.symbol for t in self.data)
        occur = r"each listed variable occurs, and " if self.idle() else ""
        known = rf"\text{{{occur}every symbol is a listed variable, or given: }} {given}"
        program = replace(self.program, variables=self.printed).latex()
        return rf"\begin{{gathered}}{known} \\ {program}\end{{gathered}}"

    def idle(self) -> set[Tensor]:
        """The listed variables that occur nowhere: that all do is said only where it is not to be seen."""
        return set(self.printed) - self.program.unknown()


@dataclass(frozen=True)
class Dual(Kind):
    """The Lagrange dual of a program has exactly these conditions besides the signs of the multipliers.

    ``conditions`` maps each primal variable that stationarity does not determine to the printed condition
    (a term that vanishes for all values of its indices, at most one for each dimension of the variable);
    ``domain`` are the printed constraints under which the conjugates of the program's losses are finite.
    """

    program: Program
    conditions: tuple[tuple[Tensor, Term], ...]
    label: str = ""
    domain: tuple[Constraint, ...] = ()
    extended = True

    def statement_latex(self) -> str:
        """The program, what its multipliers are called, and the conditions, one after the other."""
        rows = [rf"{term.latex()} = 0" for _, term in self.conditions]
        rows += [c.spanned() for c in self.domain]
        said = "has the conditions" if rows else "has no condition besides the signs of the multipliers"
        dual = rf"\text{{its dual {said}}}"
        if called := r",\,".join(c.multiplier.symbol for c in self.program.constraints):
            belong = rf"\text{{ belong to these constraints in turn, {said}}}"
            dual = rf"\text{{its dual, whose multipliers }}{called}{belong}"
        conditions = r"\quad " * bool(rows) + r",\quad ".join(rows)
        return rf"\begin{{gathered}}{self.program.latex()} \\ {dual}{conditions}\end{{gathered}}"


def convex(statement: Convex, seed: int, with_mutants: bool) -> Finding:
    """Affine constraints and an objective whose quadratic part is a sum of nonnegative squares."""
    why = convexity_of_squares(statement.program)
    detail = why or NOT_SEEN
    if not why and (bent := _bent(statement.program, seed)):
        exact = Evidence("exact", "exact-rational", False, "two points and their midpoint")
        return Finding([exact], counterexample=bent)
    proof = Evidence("derivation", "exact-symbolic", True if why else None, detail, settles=True)
    finding = Finding(
        [proof], [attempt("convexity", statement.program.latex(), why or "not shown", bool(why))]
    )
    if with_mutants and why:
        finding.mutants = _program_mutants(statement)
    return finding


def _bent(p: Program, seed: int) -> str | None:
    """Two points, in words, between which an objective without constraints is above its chord (a
    maximisation: below). None too where promises of data, or losses that are infinite somewhere, would have
    to be kept.
    """
    if p.constraints or p.semidefinite or p.inverses or any(True for _ in losses(p.objective)):
        return None
    here, others = p.objective.entry(), _others(p)
    there = between = here
    for v, other in others.items():
        there = ix.define(there, v, lambda *at, other=other: ix.At(other, at))
        between = ix.define(
            between, v, lambda *at, v=v, other=other: (ix.At(v, at) + ix.At(other, at)) * Fraction(1, 2)
        )
    chord = here + there - 2 * between
    for instance, points in exact_instances([chord], (), seed, 20, True, nonzero=p.nonzero):
        for at in points[:1]:
            if instance.sign(chord, at) == (1 if p.maximise else -1):
                side = "below" if p.maximise else "above"
                return (
                    f"{describe(instance, at, chord)}: midway the objective is {side} the mean of its values"
                )
    return None


def _others(p: Program) -> dict[Tensor, Tensor]:
    """A second point: for each variable a tensor of a name that nothing in the program has."""
    taken, others = {t.name for t in (*p.variables, *p.unknown())}, {}
    for v in p.variables:
        name = next(name for n in count(1) if (name := v.name + "'" * n) not in taken)
        taken.add(name)
        others[v] = Tensor(name, v.dims)
    return others


def _program_mutants(statement: Convex) -> Mutants:
    """Objectives with a flipped sign in front of a quadratic term must not pass as convex."""
    result = Mutants()
    for what, objective in mutants(statement.program.objective, 12):
        if not any(word in what for word in ("sign", "minus")):
            continue
        result.tried += 1
        changed = replace(statement.program, objective=objective)
        quadratic = _quadratic_part(statement.program) != _quadratic_part(changed)
        if not convexity_of_squares(changed):
            result.killed += 1
        elif not quadratic:
            result.equivalent += 1  # only the linear part changed: still convex, as it should be
        else:
            result.survivors.append(what)
    negated = replace(statement.program, objective=-statement.program.objective)
    result.tried += 1
    result.killed += not convexity_of_squares(negated)
    return result


def _quadratic_part(program: Any) -> tuple[Any, ...]:
    return tuple(
        item for item in nf.normal(program.objective.entry()) if degree_in(item[0], program.variables) == 2
    )


def well_posed(statement: WellPosed, seed: int, with_mutants: bool) -> Finding:
    """Every symbol is a listed variable or given data, every listed variable occurs. Raises Malformed for a
    variable that is given as well and for a function that is not known.
    """
    program, known = statement.program, statement.program.unknown()
    if both := {t.name for t in (*statement.printed, *program.variables) if t in statement.data}:
        raise Malformed(f"{', '.join(sorted(both))} is a variable and given data")
    sides = (program.objective, *(side for c in program.constraints for side in (c.lhs, c.rhs)))
    called = {n.function for side in sides for n in ix.walk(side.entry()) if isinstance(n, ix.Call)}
    if unknown := sorted(filter(is_unknown, called)):
        raise Malformed(f"{', '.join(unknown)} is a function that nothing says")
    stray = known.union(*map(_left_open, sides)) - set(statement.printed) - set(statement.data)
    open_indices = ix.free_indices(program.objective.entry()).union(
        *(ix.free_indices(c.excess()) - set(c.over) for c in program.constraints)
    )
    problems: dict[str, Iterable[Tensor | Index]] = {
        "neither a listed variable nor given data": stray,
        "listed as variable but absent": statement.idle(),
        "an index that nothing fixes": open_indices,
    }
    wrong = {words: ", ".join(sorted(t.name for t in found)) for words, found in problems.items() if found}
    detail = "; ".join(f"{words}: {names}" for words, names in wrong.items())
    words = detail or "every symbol is a listed variable or given data"
    proof = Evidence("derivation", "exact-symbolic", not wrong, words, settles=True)
    finding = Finding([proof], counterexample=detail or None)
    if with_mutants and not wrong:
        for n in range(len(statement.printed)):
            finding.mutants.tried += 1
            fewer = WellPosed(program, statement.printed[:n] + statement.printed[n + 1 :], statement.data)
            finding.mutants.killed += well_posed(fewer, seed, False).holds is False
    return finding


def _left_open(term: Term) -> set[Tensor]:
    """The symbols that a formula prints, exponents as well, and does not put a value for."""
    if isinstance(term, Moved):
        tensor, value = term.data
        return _left_open(term.args[0]) - {tensor} | _left_open(value)
    data = term.data if isinstance(term.data, tuple) else (term.data,)
    own = {part for part in data if isinstance(part, Tensor)}
    own |= {EXPONENT} if isinstance(term, SymbolicPower) else set()
    return own.union(*(_left_open(part) for part in (*term.args, *data) if isinstance(part, Term)))


def dual(statement: Dual, seed: int, with_mutants: bool) -> Finding:
    """Dualise symbolically and compare the remaining conditions with the printed ones. What fails for the
    signs alone of multipliers that the dualiser adds, and that nothing printed fixes, is not refuted.
    """
    result = dualise(statement.program)
    finding = _compared(statement, result, seed, with_mutants)
    if finding.holds is False and any(
        _compared(s, result, seed, False).holds for s in _turned(statement, result)
    ):
        detail = "the conditions hold with another sign of a multiplier that the program does not name"
        return Finding([Evidence("derivation", "exact-symbolic", None, detail)], finding.steps)
    return finding


def _turned(statement: Dual, result: dualiser.Dual) -> Iterator[Dual]:
    """A statement with minus some of the multipliers that the dualiser adds."""
    own = sorted(_added(statement, result) & tensors_of((statement.conditions, statement.domain)), key=repr)
    for signs in product((False, True), repeat=len(own)):
        chosen = [tensor for tensor, minus in zip(own, signs, strict=True) if minus]
        if chosen:
            yield replace(
                statement,
                conditions=tuple((v, _with_minus(t, chosen)) for v, t in statement.conditions),
                domain=tuple(
                    replace(c, lhs=_with_minus(c.lhs, chosen), rhs=_with_minus(c.rhs, chosen))
                    for c in statement.domain
                ),
            )


def _added(statement: Dual, result: dualiser.Dual) -> set[Tensor]:
    """The multipliers of constraints that the dualiser adds."""
    own = {c.multiplier for c in statement.program.constraints}
    return set(result.program.variables if result.program else ()) - own


def _with_minus(term: Term, tensors: Iterable[Tensor]) -> Term:
    for tensor in tensors:
        if tensor in tensors_of(term):
            term = at_point(term, tensor, -as_term(tensor))
    return term


def _compared(statement: Dual, result: dualiser.Dual, seed: int, with_mutants: bool) -> Finding:
    """The derived conditions beside the printed ones."""
    printed = dict(statement.conditions)
    if len(printed) < len(statement.conditions):
        raise Malformed("a variable gives one condition")
    finding = Finding(steps=[step(s.title, s.latex, s.reason, s.checked) for s in result.steps])
    read = {v: readings(t.entry(), result.at[v]) for v, t in printed.items() if v in result.conditions}
    same = {v: any(same_condition(result.conditions[v], e) for e in each) for v, each in read.items()}
    exprs = [t.entry() for t in printed.values()]
    derived = list(result.conditions.values())
    # some value of a multiplier that the dualiser adds and nothing printed mentions may fulfil a condition
    free = _added(statement, result) - tensors_of((statement.conditions, statement.domain))
    binding = {v for v, e in result.conditions.items() if not ix.tensors(e) & free}
    wrong = [
        f"no condition from {v.name} is printed"
        for v, e in result.conditions.items()
        if v not in printed and v in binding and _escapes(exprs, e, statement.program, seed)
    ]
    others = {v: result.substitute(t.entry()) for v, t in printed.items() if v not in result.conditions}
    false = [v for v, e in others.items() if _escapes(derived, e, statement.program, seed)]
    wrong += [f"{v.name} gives no such condition" for v in false]
    for v in others:
        if v in result.solved and v not in false and v in ix.tensors(printed[v].entry()):
            raise Malformed(f"{v.name} is eliminated: what stationarity gives it is no condition of the dual")
    for v in (v for v, agrees in same.items() if not agrees):
        strong = all(_escapes(derived, e, statement.program, seed) for e in read[v])
        if strong or (v in binding and _escapes(exprs, result.conditions[v], statement.program, seed)):
            wrong.append(f"the condition from {v.name} is another one")
    outside, complete = _domain(statement, result, seed, free)
    wrong += outside
    defined_ = all(sg.signs(d.base) <= d.signs for e in exprs for d in sg.demands(e))
    settled = (
        defined_
        and complete
        and all(same.values())
        and set(printed) == set(result.conditions)
        and result.program is not None
    )
    detail = "; ".join(wrong) or (
        "the conditions are those that the dualiser derives"
        if settled
        else "the conditions, or the convexity of the program, are not shown"
    )
    passed = False if wrong else settled or None
    finding.evidence.append(Evidence("derivation", "exact-symbolic", passed, detail, settles=True))
    finding.counterexample = "; ".join(wrong) or None
    if with_mutants and passed:
        for c in statement.domain:
            for what, changed in _changed_limits(c):
                finding.mutants.tried += 1
                wrong_domain = tuple(changed if own == c else own for own in statement.domain)
                if any(_unmatched(result.domain, wrong_domain)):
                    finding.mutants.killed += 1
                elif nf.equal(changed.excess(), c.excess()):
                    finding.mutants.equivalent += 1
                else:
                    finding.mutants.survivors.append(f"domain: {what}")
        for variable, term in statement.conditions:
            for what, mutant in mutants(term, 12):
                finding.mutants.tried += 1
                if not any(
                    same_condition(result.conditions[variable], e)
                    for e in readings(mutant.entry(), result.at[variable])
                ):
                    finding.mutants.killed += 1
                elif nf.equal(mutant.entry(), term.entry()) or nf.equal(mutant.entry(), -term.entry()):
                    finding.mutants.equivalent += 1
                else:
                    finding.mutants.survivors.append(f"{variable.name}: {what}")
    return finding


def _domain(statement: Dual, result: dualiser.Dual, seed: int, free: set[Tensor]) -> tuple[list[str], bool]:
    """What is wrong with the printed domain of the conjugates, and whether it is the derived one."""
    printed = [t.entry() for _, t in statement.conditions]
    derived = list(result.conditions.values())
    missing, extra = _unmatched(result.domain, statement.domain)
    wrong = [
        f"{words}: {unicode_math(c.latex())}"
        for words, conditions, limits, others in (
            (
                "not printed, and the conjugate is infinite without it",
                printed,
                statement.domain,
                [c for c in missing if not tensors_of((c.lhs, c.rhs)) & free],
            ),
            ("no condition of the dual", derived, tuple(result.domain), extra),
        )
        for c in others
        if _leaves(conditions, limits, c, statement.program, seed)
    ]
    return wrong, not missing and not extra


def _unmatched(
    derived: list[Constraint], printed: tuple[Constraint, ...]
) -> tuple[list[Constraint], list[Constraint]]:
    """The derived constraints that are not printed, and the printed ones that are not derived."""
    return (
        [c for c in derived if not any(_same_limit(c, p) for p in printed)],
        [p for p in printed if not any(_same_limit(c, p) for c in derived)],
    )


def _same_limit(derived: Constraint, printed: Constraint) -> bool:
    """Whether two constraints say the same, indices renamed."""
    if derived.equality != printed.equality or len(derived.over) != len(printed.over):
        return False
    try:
        read = readings(printed.excess(), derived.over)
    except Malformed:
        return False
    return any(
        nf.equal(derived.excess(), e) or (derived.equality and nf.equal(derived.excess(), -e)) for e in read
    )


def _changed_limits(c: Constraint) -> Iterator[tuple[str, Constraint]]:
    """A constraint with a wrong side."""
    for what, side in mutants(c.lhs, 6, whole=True):
        yield what, replace(c, lhs=side)
    for what, side in mutants(c.rhs, 6, whole=True):
        yield what, replace(c, rhs=side)


def _leaves(
    conditions: list[ix.Expr], limits: tuple[Constraint, ...], other: Constraint, program: Program, seed: int
) -> bool:
    """Whether at an exact instance all conditions vanish, all limits hold and another one does not."""
    everything = [*conditions, *(c.excess() for c in limits), other.excess()]
    for instance, points in exact_instances(everything, (), seed, 60, True, nonzero=program.nonzero):
        for at in points:
            for changed in _vanishing(instance, conditions, at):
                if not changed.admissible(program.nonzero) or not _all_vanish(changed, conditions):
                    continue
                holds = all(sign in allowed(c) for c in limits for sign in excess_signs(changed, c))
                if holds and any(
                    sign in {-1, 0, 1} - allowed(other) for sign in excess_signs(changed, other)
                ):
                    return True
    return False


def allowed(c: Constraint) -> set[int]:
    """The signs that lhs - rhs may have."""
    return {0} if c.equality else {-1, 0}


def excess_signs(instance: Instance, c: Constraint) -> Iterator[int | None]:
    """The signs of lhs - rhs for all values of the indices; None where one is not certain. A range of which
    nothing depends has one value.
    """
    for place in product(*(range(instance.sizes.get(i.dim, 1)) for i in c.over)):
        yield instance.sign(c.excess(), dict(zip(c.over, place, strict=True)))


def readings(condition: ix.Expr, at: tuple[Index, ...]) -> list[ix.Expr]:
    """A condition for all values of its indices, in the dualiser's indices for a variable. Raises
    Malformed for others.
    """
    free = sorted(ix.free_indices(condition), key=lambda i: i.name)
    found = [
        ix.rename(condition, dict(zip(free, chosen, strict=True)))
        for chosen in permutations(at, len(free))
        if all(i.dim == k.dim for i, k in zip(free, chosen, strict=True))
    ]
    if not found:
        raise Malformed("a condition has an index for each dimension of its variable, and no other")
    return found


def same_condition(derived: ix.Expr, printed: ix.Expr) -> bool:
    """Equal up to the sign, which does not change where an expression vanishes."""
    return nf.equal(derived, printed) or nf.equal(derived, -printed)


def _escapes(conditions: list[ix.Expr], other: ix.Expr, program: Any, seed: int) -> bool:
    """Whether at an exact instance all conditions vanish and another expression does not.

    The program's promises hold there, and no multiplier of an inequality is negative.
    """
    signed = [c.multiplier for c in program.constraints if not c.equality]
    everything = [*conditions, other]
    for instance, points in exact_instances(everything, (), seed, 6, True, nonzero=program.nonzero):
        for at in points:
            for changed in _vanishing(instance, conditions, at):
                kept = changed.admissible(program.nonzero) and not any(
                    value < 0 for (tensor, _), value in changed.values.items() if tensor in signed
                )
                if kept and changed.sign(other, at) in (-1, 1) and _all_vanish(changed, conditions):
                    return True
    return False


def _vanishing(instance: Instance, conditions: list[ix.Expr], at: dict[Index, int]) -> Iterator[Instance]:
    """The instance with entries changed, one for each condition in turn, so that they vanish there."""
    if not conditions:
        yield instance
        return
    for changed in (instance, *solved(instance, conditions[0], at)):
        if changed.sign(conditions[0], at) == 0:
            yield from _vanishing(changed, conditions[1:], at)


def _all_vanish(instance: Instance, conditions: list[ix.Expr]) -> bool:
    """Whether the conditions hold for all values of their indices."""
    for condition in conditions:
        free = sorted(ix.free_indices(condition), key=lambda i: i.name)
        for place in product(*(range(instance.sizes[i.dim]) for i in free)):
            if instance.sign(condition, dict(zip(free, place, strict=True))) != 0:
                return False
    return True


ENGINES[Convex] = convex
ENGINES[WellPosed] = well_posed
ENGINES[Dual] = dual
