"""Optimisation programs as data, and the symbolic dualiser.

A ``Program`` has a quadratic objective, perhaps with losses of the table of conjugates, and constraints that
are affine or bound a norm, over variables with symbolic dimensions. The dualiser forms the Lagrangian,
differentiates it (``derivations.calculus.differentiate``), solves the stationarity conditions for every
variable that they determine, and substitutes. What it cannot solve for stays as a constraint of the dual
program, a loss leaves its conjugate (``derivations.calculus.fenchel``). Where convexity is not shown there is
no dual program, only the Lagrangian at its stationary points. Every step is recorded with its LaTeX and its
reason. ``solvers.compile`` and ``solvers.convex`` turn the same object into numbers for cvxpy, so that
derivation and solver cannot drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import groupby

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.conjugates import S, T, moved
from derivations.calculus.constraint import Constraint as Constraint
from derivations.calculus.constraint import Raw as Raw
from derivations.calculus.differentiate import gradient
from derivations.calculus.fenchel import Conjugate, conjugate, constrained, new_name, on_simplex, raw
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import Charge, Loss, Parted, degree_in, losses, meanings, parted, recognised
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.term import (
    Pick,
    Power,
    SquaredNorm,
    Symbol,
    Term,
    as_term,
    free,
    replace_at,
    subterms,
    sum_over,
    symbols,
)
from derivations.calculus.unicode import unicode_math


@dataclass(frozen=True)
class Program:
    """Minimise (or maximise) ``objective`` over ``variables`` subject to ``constraints``.

    ``inverses`` maps a symmetric matrix of the data to the tensor that stands for its inverse;
    ``semidefinite`` names symmetric matrices of the data that are promised positive semidefinite, ``nonzero``
    data of which it is assumed that no entry is 0.
    """

    name: str
    variables: tuple[Tensor, ...]
    objective: Term
    constraints: tuple[Constraint, ...] = ()
    maximise: bool = False
    inverses: tuple[tuple[Tensor, Tensor], ...] = ()
    semidefinite: tuple[Tensor, ...] = ()
    nonzero: tuple[Tensor, ...] = ()

    def latex(self) -> str:
        """The program as displayed mathematics."""
        verb = r"\operatorname{maximise}" if self.maximise else r"\operatorname{minimise}"
        names = ",\\,".join(v.symbol for v in self.variables)
        head = rf"\underset{{{names}}}{{{verb}}}" if names else verb
        rows = [rf"{head}\quad & {self.objective.latex()}"]
        together = groupby(self.constraints, lambda c: (c.over,) if c.of_sign() else (c.over, c.multiplier))
        for n, ((over, *_), group) in enumerate(together):
            start = r"\text{subject to}\quad & " if n == 0 else "& "
            span = r",\ ".join(rf"{i.latex.strip()} = 1, \dots, {i.dim}" for i in over)
            shown = r",\quad ".join(c.latex() for c in group)
            rows.append(start + shown + (rf"\quad ({span})" if span else ""))
        rows += [rf"\text{{where}}\quad & {meaning}" for meaning in meanings(self.objective)]
        return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    def parted(self) -> Parted:
        """The objective taken apart into losses of the table and the rest."""
        return parted(self.objective, self.variables, self.maximise)

    def unknown(self) -> set[Tensor]:
        """All tensors that the objective and the constraints mention."""
        found = ix.tensors(self.objective.entry())
        for c in self.constraints:
            found |= ix.tensors(c.excess())
        return found


def denominators(expr: ix.Expr) -> tuple[Tensor, ...]:
    """The tensors of which an entry is divided by."""
    found = {
        node.base.tensor
        for node in ix.walk(expr)
        if isinstance(node, ix.Pow) and node.exponent < 0 and isinstance(node.base, ix.At)
    }
    return tuple(sorted(found, key=lambda t: t.name))


@dataclass(frozen=True)
class Step:
    """One step of a derivation: a formula and why it follows; ``checked``: whether it was tested, None
    for words only.
    """

    title: str
    latex: str
    reason: str
    checked: bool | None = None

    def _repr_markdown_(self) -> str:
        return f"**{self.title}.** {self.reason}\n\n$$ {self.latex} $$"


@dataclass
class Dual:
    """What dualising a program gives.

    ``stationarity[v]`` is ∂L/∂v at the indices ``at[v]``; ``solved[v]`` the value that it gives the variable
    (where it determines it); ``conditions`` are the remaining equations (expression = 0, its free indices);
    ``domain`` is where the conjugates of the losses are finite;
    ``complementarity`` the products that vanish; ``program`` the dual program, None where the program is not
    shown to be convex: the Lagrangian at its stationary points is then a value, and bounds nothing.
    """

    lagrangian: Term
    at: dict[Tensor, tuple[Index, ...]] = field(default_factory=dict)
    stationarity: dict[Tensor, ix.Expr] = field(default_factory=dict)
    solved: dict[Tensor, ix.Expr] = field(default_factory=dict)
    conditions: dict[Tensor, ix.Expr] = field(default_factory=dict)
    complementarity: list[tuple[Tensor, ix.Expr]] = field(default_factory=list)
    program: Program | None = None
    steps: list[Step] = field(default_factory=list)
    domain: list[Constraint] = field(default_factory=list)

    def __str__(self) -> str:
        return f"Dual({'; '.join(step.title for step in self.steps)})"

    def _repr_markdown_(self) -> str:
        return "\n\n".join(step._repr_markdown_() for step in self.steps)

    def substitute(self, expr: ix.Expr) -> ix.Expr:
        """An expression with every solved variable replaced by its value."""
        for variable, value in self.solved.items():
            expr = _substitute(expr, variable, self.at[variable], value)
        return expr


def _substitute(expr: ix.Expr, tensor: Tensor, at: tuple[Index, ...], value: ix.Expr) -> ix.Expr:
    return ix.define(expr, tensor, lambda *idx: ix.rename(value, dict(zip(at, idx, strict=True))))


def lagrangian(program: Program) -> Term:
    """The Lagrangian: for a minimisation, objective + Σ multiplier (lhs - rhs); for a maximisation, minus."""
    result = program.objective
    for c in program.constraints:
        indexed = as_term(c.multiplier)[c.over] if c.over else as_term(c.multiplier)
        product = indexed * (c.lhs if c.rhs == as_term(0) else c.lhs - c.rhs)
        whole = sum_over(*c.over, product) if c.over else product
        result = result - whole if program.maximise else result + whole
    return result


def is_affine(expr: ix.Expr, variables: tuple[Tensor, ...]) -> bool:
    """Whether an expression is affine in the variables (every monomial has at most one of them, to
    power 1).
    """
    return all(degree_in(mono, variables) <= 1 for mono, _ in nf.normal(expr))


def curved(c: Constraint) -> Loss | None:
    """The left side of a constraint ‖z‖ <= rhs, None of any other."""
    return c.lhs if isinstance(c.lhs, Loss) and c.lhs.listed.homogeneous and not c.equality else None


def _affine_parts(c: Constraint) -> tuple[ix.Expr, ...]:
    """What has to be affine in a constraint."""
    found = curved(c)
    return (c.excess(),) if found is None else (found.argument()[1], c.rhs.entry())


def convexity(program: Program) -> str:
    """Why a program is convex (a maximisation: its objective concave), or "" if this argument does not show
    it.

    The argument: constraints affine in the variables, and an objective whose terms of degree two are positive
    multiples of squares of single entries, or x' P x with P promised positive semidefinite; besides these,
    positive multiples of losses of the table at affine arguments.
    """
    variables = program.variables
    if not variables or not set(variables) <= program.unknown():
        return ""  # a program without its variables says nothing
    if ix.free_indices(program.objective.entry()) or any(
        ix.free_indices(c.excess()) - set(c.over) for c in program.constraints
    ):
        return ""  # an index that nothing explains: the formula is no number
    parts = program.parted()
    if parts.refused:
        return ""
    sides = [e for c in program.constraints for e in _affine_parts(c)]
    written = (parts.rest, *sides)
    for demand in (d for e in written for d in sg.demands(e)):
        found = sg.signs(demand.base)
        if ix.tensors(demand.base) & set(variables) and not found <= demand.signs:
            return ""  # what cancels in a normal form may still cut the domain
        if not found & demand.signs:
            return ""  # no data make it defined
    if not all(is_affine(e, variables) for e in sides):
        return ""
    squares, sign = 0, -1 if program.maximise else 1
    for mono, coefficient in nf.normal(parts.rest):
        degree = degree_in(mono, variables)
        if degree <= 1:
            continue
        if degree != 2 or sign * coefficient < 0 or not _is_square(mono, program):
            return ""
        squares += 1
    word = "nonpositive" if program.maximise else "nonnegative"
    kind = f"{squares} {word} quadratic term(s)" if squares else "a linear objective"
    kind += f", {len(parts.charges)} {word} multiple(s) of convex losses" if parts.charges else ""
    affine = "affine or bound norms" if any(map(curved, program.constraints)) else "affine"
    bounds = f"the constraints are {affine}" if program.constraints else "there are no constraints"
    return f"{bounds} and the objective is {kind} plus affine terms"


NOT_SEEN = "not seen to be convex: what is seen are affine terms, their squares, and loss(name, ...) of them"


def convexity_of_squares(program: Program) -> str:
    """The same, also where it is seen only once each square of an affine expression has a variable of its
    own, as of ½‖Xw - y‖².
    """
    if why := convexity(program):
        return why
    split = with_residuals(program)
    why = convexity(split) if split != program and _says_the_same(split, program) else ""
    return f"with a variable for each expression that is squared, {why}" if why else ""


def _is_square(mono: nf.Mono, program: Program) -> bool:
    own = [(a, e) for a, e in mono[2] if a[0] == "T" and a[1] in program.variables]
    rest = [(a, e) for a, e in mono[2] if (a, e) not in own]
    if len(own) == 1 and own[0][1] == 2:
        return all(nf.is_positive(a) for a, _ in rest)
    if len(own) == 2 and own[0][0][1] == own[1][0][1]:  # x[i, …] P[i, k] x[k, …]
        matrices = [a for a, e in rest if a[0] == "T" and a[1] in program.semidefinite and e == 1]
        others = [a for a, _ in rest if a not in matrices]
        left, right = own[0][0][2], own[1][0][2]
        differing = [(s, t) for s, t in zip(left, right, strict=True) if s != t]
        return (
            len(matrices) == 1
            and len(differing) == 1
            and set(matrices[0][2]) == set(differing[0])
            # x[i, i] P[i, k] x[i, k] is no quadratic form: the rows of x change with i
            and not set(differing[0]) & {s for s, t in zip(left, right, strict=True) if s == t}
            # a weight that depends on i or k would make it x' diag(w) P x, which may be indefinite
            and all(nf.is_positive(a) and not nf.mentions(a, differing[0]) for a in others)
        )
    return False


def with_residuals(program: Program) -> Program:
    """The program with a new variable for each expression that its objective squares or charges, and a
    constraint that says so: ½‖Xw - y‖² becomes ½‖r‖² with Xw - y = r. A square of a variable alone stays, and
    a loss of a variable of which the rest of the objective is affine.
    """
    charged = list(losses(program.objective))
    squares: list[tuple[tuple[int, ...], Term]] = [
        (path, part)
        for path, part in subterms(program.objective)
        if isinstance(part, SquaredNorm) or (isinstance(part, Power) and part.data == 2)
        if symbols(part) & set(program.variables) and not _is_entry(part.args[0])
        if not any(path[: len(outer)] == outer for outer, _ in charged)
    ]
    if charged:
        parts = program.parted()
        others = zip(charged, parts.charges, strict=True)
        squares += [found for found, charge in others if not _stands_alone(program, parts, charge)]
    objective, variables, constraints = program.objective, program.variables, list(program.constraints)
    taken = {t.name for t in program.unknown()} | {c.multiplier.name for c in constraints}
    for path, part in squares:
        new, equal, residual = _residual(part, taken)
        objective, variables = replace_at(objective, path, new), (*variables, residual)
        constraints.append(equal)
    for n, c in enumerate(program.constraints):
        if (bounded := curved(c)) is not None:
            new, equal, residual = _residual(bounded, taken)
            constraints[n] = replace(c, lhs=new)
            constraints.append(equal)
            variables += (residual,)
    return replace(program, variables=variables, objective=objective, constraints=tuple(constraints))


def _residual(part: Term, taken: set[str]) -> tuple[Term, Constraint, Tensor]:
    """What is squared or charged with a variable in its place, what says so, and the variable."""
    open_ones = free(part) | ix.free_indices(part.entry()) if isinstance(part, Loss) else free(part)
    base, outer = part.args[0], tuple(sorted(open_ones, key=lambda i: i.name))
    letters = [letter for letter in "abcdefgh" if letter not in {i.name for i in outer}]
    inner = tuple(Index(letter, dim) for letter, dim in zip(letters, base.shape(), strict=False))
    names = [new_name(letter, taken) for letter in ("r", r"\rho")]
    residual, multiplier = (Tensor(name, tuple(i.dim for i in (*outer, *inner))) for name in names)
    at = as_term(residual)[outer] if outer else as_term(residual)
    left = base[inner] if inner else base
    right = as_term(residual)[(*outer, *inner)] if outer or inner else as_term(residual)
    equal = Constraint(left, right, multiplier, (*outer, *inner), equality=True)
    return replace(part, args=(at, *part.args[1:])), equal, residual


def with_losses(program: Program) -> Program:
    """The program with its losses as those of the table; as it is where they do not say the same."""
    objective = recognised(program.objective, program.variables)
    constraints = []
    for c in program.constraints:
        new = replace(c, lhs=recognised(c.lhs, program.variables))
        same = curved(new) is not None and nf.equal(new.lhs.entry(), c.lhs.entry())
        constraints.append(new if same else c)
    if objective != program.objective and not nf.equal(objective.entry(), program.objective.entry()):
        objective = program.objective
    return replace(program, objective=objective, constraints=tuple(constraints))


def lifted(program: Program) -> Program:
    """The program with each loss that the table can write with a quadratic value and affine constraints
    written so. Raises ValueError where it is not shown to be convex.
    """
    program = with_losses(program)
    found, parts = list(losses(program.objective)), program.parted()
    if parts.refused:
        raise ValueError(f"the program is not shown to be convex: {parts.refused}")
    taken = {t.name for t in program.unknown()} | {c.multiplier.name for c in program.constraints}
    objective, constraints, variables = program.objective, program.constraints, program.variables
    for (path, part), charge in zip(found, parts.charges, strict=True):
        if part.listed.lifted is None:
            continue
        inner, z = part.argument()
        value = part.listed.lifted(z, inner, *(p.entry() for p in part.args[1:]))
        own = {t: Tensor(new_name(t.name, taken), tuple(i.dim for i in charge.over)) for t in (T, S)}
        limits = [constrained(m.moved(own, charge.over), charge.over, inner, taken) for m in value.limits]
        plain = moved(value.plain, own, charge.over)
        objective = replace_at(objective, path, raw(plain))
        constraints += tuple(limits)
        used = ix.tensors(plain).union(*(ix.tensors(c.excess()) for c in limits))
        variables += tuple(t for t in own.values() if t in used)
    return replace(program, variables=variables, objective=objective, constraints=constraints)


def _stands_alone(program: Program, parts: Parted, charge: Charge) -> bool:
    """Whether a loss is of a variable alone, of which no other loss is and the rest of the objective is
    affine.
    """
    own = charge.variable()
    if own is None or own[0] not in program.variables:
        return False
    others = [c for c in parts.charges if own[0] in ix.tensors(c.loss.argument()[1])]
    rest = [mono for mono, _ in nf.normal(parts.rest) if _has(mono, own[0])]
    return len(others) == 1 and all(degree_in(mono, program.variables) == 1 for mono in rest)


def _says_the_same(split: Program, stated: Program) -> bool:
    """Whether objective and bounds are the stated ones once each residual is what its constraint says."""
    pairs = [(split.objective.entry(), stated.objective.entry())]
    alike = [(a, b) for (_, a), (_, b) in zip(losses(split.objective), losses(stated.objective), strict=True)]
    for new_one, old_one in zip(split.constraints, stated.constraints, strict=False):
        one, two = curved(new_one), curved(old_one)
        if replace(new_one, lhs=old_one.lhs) != old_one or (one is None and new_one != old_one):
            return False
        alike += [(one, two)] if one is not None and two is not None else []
    for new, old in alike:
        if new.data != old.data:
            return False
        (i, z), (k, u) = new.argument(), old.argument()  # a normal form need not show an indicator's
        pairs.append((z, ix.rename(u, {k: i}) if i and k else u))
    added = split.constraints[len(stated.constraints) :]
    for variable, c in zip(split.variables[len(stated.variables) :], added, strict=True):
        if nf.normal(c.rhs.entry()) != nf.normal(ix.At(variable, c.over)):
            return False
        pairs = [(_substitute(one, variable, c.over, c.lhs.entry()), two) for one, two in pairs]
    return all(nf.is_zero(nf.normal(one - two)) for one, two in pairs)


def _is_entry(term: Term) -> bool:
    """Whether a term is a tensor, or an entry or a row of one."""
    return isinstance(term, Symbol) or (isinstance(term, Pick) and isinstance(term.args[0], Symbol))


def dualise(program: Program) -> Dual:
    """Lagrangian, stationarity, elimination, complementarity, and the dual program of a convex program.

    Of a program that is not shown to be convex the last step gives the Lagrangian at its stationary points
    and says that it is no dual: the infimum over the variables may be -∞ there, so that not even weak duality
    holds for it.

    What says the same as a loss of the table is written as one. Where squares of affine expressions hide the
    convexity, and where losses have arguments that are no variables of their own, these get residual
    variables first, and a step says so. What a loss leaves of the dual is its conjugate.

    Raises ValueError if a constraint is not affine or the objective neither quadratic in the variables nor
    convex with losses of the table, if a variable occurs nowhere, or if a matrix with a declared inverse is
    not symmetric.
    """
    if idle := sorted(v.name for v in set(program.variables) - program.unknown()):
        raise ValueError(f"{', '.join(idle)} is a variable that occurs nowhere in the program")
    program, charges, steps = _prepared(program)
    result = Dual(lagrangian(program), steps=steps)
    result.steps.append(
        Step(
            "Lagrangian",
            rf"\mathcal{{L}} = {result.lagrangian.latex()}",
            "one multiplier for each constraint",
        )
    )
    smooth = parted(result.lagrangian, program.variables, program.maximise).rest
    own = {c.own()[0] for c in charges}
    for variable in program.variables:
        at = _entry_of(variable, result)
        result.at[variable] = at
        if variable in own:
            continue
        result.stationarity[variable] = to_expr(nf.normal(gradient(smooth, variable, at)))
        result.steps.append(
            Step(
                f"Stationarity in {_letter(variable)}",
                rf"\frac{{\partial \mathcal{{L}}}}{{\partial {_named(variable, at)}}} "
                rf"= {form_latex(nf.normal(result.stationarity[variable]))} = 0",
                "derivative of the Lagrangian, by index calculus and by components",
                True,  # gradient() compares both routes and raises where they differ
            )
        )
    _eliminate(program, result)
    _finish(program, result, smooth, charges)
    return result


def _prepared(printed: Program) -> tuple[Program, tuple[Charge, ...], list[Step]]:
    """The program whose Lagrangian is formed, its losses, and the steps that lead to it. Raises ValueError as
    ``dualise`` does.
    """
    require_multipliers(printed)
    stated = with_losses(printed)
    require_quadratic(stated)
    charged = bool(stated.parted().charges or any(map(curved, stated.constraints)))
    split = with_residuals(stated) if charged or not convexity(stated) else stated
    whole = split if convexity(split) and _says_the_same(split, stated) else stated
    if charged and not convexity(whole):
        raise ValueError("the objective without its losses is not shown to be convex")
    parts = whole.parted()
    bounded = [(c, found) for c in whole.constraints if (found := curved(c)) is not None]
    bounds = [Charge(found, ix.At(c.multiplier, c.over), c.over) for c, found in bounded]
    parts = replace(parts, charges=(*parts.charges, *bounds))
    if not all(_stands_alone(whole, parts, charge) for charge in parts.charges):
        raise ValueError("the losses are not shown to be of variables of their own")
    for matrix, inverse in whole.inverses:
        if not (matrix.symmetric and inverse.symmetric):
            raise ValueError(f"{matrix.name} and its inverse {inverse.name} must both be symmetric")
    steps = [Step("Program", printed.latex(), "as stated")]
    if stated != printed:
        same = nf.equal(stated.objective.entry(), printed.objective.entry())
        steps.append(Step("Losses", stated.latex(), "the losses of the table of conjugates", same))
    if whole != stated:
        why = "each square gets a variable of its own, equal to what is squared: the same minimum"
        if charged:
            why = "each square and each loss gets a variable of its own, equal to its argument: same optimum"
        steps.append(Step("Residuals", whole.latex(), why, _says_the_same(whole, stated)))
    charges, kept = on_simplex(parts.charges, whole.constraints)
    if kept:
        why = "they are kept in the domain of the entropy and get no multipliers"
        steps.append(Step("Simplex", r",\quad ".join(c.spanned() for c in kept), why, True))
    rest = tuple(c for c in whole.constraints if c not in kept)
    return replace(whole, constraints=rest), charges, steps


def require_multipliers(program: Program) -> None:
    """Raise ValueError where a multiplier is no letter of its own, by its name or as it is printed: that of
    another constraint, of a variable or of the data.
    """
    multipliers = [c.multiplier for c in program.constraints]
    taken = program.unknown() | set(program.variables)
    for n, multiplier in enumerate(multipliers):
        others = [*taken, *multipliers[:n]]
        if any(multiplier.name == t.name or multiplier.symbol == t.symbol for t in others):
            raise ValueError(f"the multiplier {multiplier.name} is not a letter of its own")


def require_quadratic(program: Program) -> None:
    """Raise ValueError if a constraint is not affine or the objective not quadratic in the variables."""
    for c in program.constraints:
        if not all(is_affine(e, program.variables) for e in _affine_parts(c)):
            raise ValueError(
                f"the constraint with multiplier {c.multiplier.name} is not affine in the variables"
            )
    parts = program.parted()
    if parts.refused:
        raise ValueError(f"the program is not shown to be convex: {parts.refused}")
    if any(degree_in(mono, program.variables) > 2 for mono, _ in nf.normal(parts.rest)):
        raise ValueError("the objective is not quadratic in the variables")
    for expr in (parts.rest, *(e for c in program.constraints for e in _affine_parts(c))):
        if any(ix.tensors(d.base) & set(program.variables) for d in sg.demands(expr)):
            raise ValueError("the program is defined for some values of the variables only")


def fresh_letters(tensor: Tensor, beside: str = "") -> list[str]:
    """A different letter for each dimension of a tensor: the names of the indices that its derivative
    is taken at. In the formula ``beside`` it, with a subscript, they are no other's: m_x(j) is.
    """
    names = {"N": "i", "D_v": "d", r"D_\phi": "m", "D": "c"}
    letters: list[str] = []
    taken = set(re.findall(r"(?<![A-Za-z\\])([a-y])_", beside))
    for dim in tensor.dims:
        letter = names.get(dim, "a")
        while letter in letters or letter in taken:
            letter = chr(ord(letter) + 1)
        letters.append(letter)
    return letters


def _entry_of(variable: Tensor, result: Dual) -> tuple[Index, ...]:
    letters = fresh_letters(variable, result.lagrangian.latex())
    return tuple(Index(c, d) for c, d in zip(letters, variable.dims, strict=True))


def _named(tensor: Tensor, at: tuple[Index, ...]) -> str:
    return form_latex(nf.normal(ix.At(tensor, at)))


def _letter(tensor: Tensor) -> str:
    """A tensor in words, as it is printed."""
    return unicode_math(tensor.symbol)


def _eliminate(program: Program, result: Dual) -> None:
    """Gaussian elimination: solve a stationarity condition for a variable that appears in it undisturbed."""
    pending = dict(result.stationarity)
    progress = True
    while progress:
        progress = False
        for owner, condition in list(pending.items()):
            form = nf.normal(result.substitute(condition))
            for variable in program.variables:
                if variable in result.solved:
                    continue
                value = _solve_for(form, variable, result.at[owner], program)
                if value is None:
                    continue
                at = _entry_of(variable, result)
                result.at[variable], result.solved[variable] = at, value(at)
                _back_substitute(result, variable)
                del pending[owner]
                progress = True
                result.steps.append(
                    Step(
                        f"Solve for {_letter(variable)}",
                        rf"{_named(variable, at)} = {form_latex(nf.normal(result.solved[variable]))}",
                        f"stationarity in {_letter(owner)} determines {_letter(variable)}",
                        nf.is_zero(nf.normal(result.substitute(condition))),
                    )
                )
                break
    result.conditions = {v: to_expr(nf.normal(result.substitute(e))) for v, e in pending.items()}


def _back_substitute(result: Dual, new: Tensor) -> None:
    for variable, value in result.solved.items():
        if variable != new:
            result.solved[variable] = to_expr(
                nf.normal(_substitute(value, new, result.at[new], result.solved[new]))
            )


def _solve_for(
    form: nf.Form, variable: Tensor, at: tuple[Index, ...], program: Program
) -> Callable[[tuple[Index, ...]], ix.Expr] | None:
    """The value of ``variable`` from form = 0 as a function of its indices, or None."""
    for matrix, inverse in program.inverses:
        if any(_has(mono, matrix) and _has(mono, variable) for mono, _ in form):
            form = _apply_inverse(form, matrix, inverse, at)
    own = [(mono, c) for mono, c in form if _has(mono, variable)]
    if len(own) != 1 or own[0][0][0]:
        return None
    (mono, coefficient), rest = own[0], tuple(item for item in form if item != own[0])
    entries = [a for a, e in mono[2] if a[0] == "T" and a[1] == variable and e == 1]
    others = [(a, e) for a, e in mono[2] if not (a[0] == "T" and a[1] == variable)]
    if len(entries) != 1 or not all(nf.is_positive(a) for a, _ in others):
        return None
    tokens = entries[0][2]
    if len(set(tokens)) != len(tokens) or {t.name for t in tokens} != {i.name for i in at}:
        return None
    divisor = ((((), 0, tuple(others)), coefficient),)
    value = to_expr(nf.mul(nf.scale(rest, -1), nf.power(divisor, -1)))
    order = [Index(str(t.name), t.dim) for t in tokens]
    return lambda new: ix.rename(value, dict(zip(order, new, strict=True)))


def _has(mono: nf.Mono, tensor: Tensor) -> bool:
    return any(a[0] == "T" and a[1] == tensor for a, _ in mono[2])


def _apply_inverse(form: nf.Form, matrix: Tensor, inverse: Tensor, at: tuple[Index, ...]) -> nf.Form:
    """Multiply by the inverse of a symmetric matrix and contract inverse · matrix to a delta."""
    for spot in at:
        if spot.dim != matrix.dims[0]:
            continue
        new = spot.fresh()
        product = ix.Sum(new, inverse[spot, new] * ix.rename(to_expr(form), {spot: new}))
        contracted = contract_inverse(nf.normal(product), matrix, inverse)
        if not any(_has(mono, matrix) for mono, _ in contracted):
            return contracted
    return form


def contract_inverse(form: nf.Form, matrix: Tensor, inverse: Tensor) -> nf.Form:
    """Replace Σ_t inverse[a, t] matrix[t, b] by δ_ab wherever it occurs."""
    return nf.contract(form, inverse, matrix, lambda a, b: ("delta", *sorted((a[0], b[0]), key=repr)))


def _conjugates(
    program: Program, charges: tuple[Charge, ...], result: Dual, smooth: ix.Expr
) -> list[Conjugate]:
    """The conjugate of each loss at what the rest of the Lagrangian multiplies its variable with."""
    taken = {t.name for t in (*program.unknown(), *(c.multiplier for c in program.constraints))}
    found, sign = [], 1 if program.maximise else -1
    for charge in charges:
        variable = charge.own()[0]
        at, inside = result.at[variable], tuple(i.fresh() for i in result.at[variable])
        slope = gradient(smooth, variable, inside, zero_because="a loss may stand alone")
        slope = ix.rename(result.substitute(slope), dict(zip(inside, at, strict=True)))
        y = to_expr(nf.scale(nf.normal(slope), sign))
        if ix.tensors(y) & set(program.variables):
            raise ValueError("a variable that stationarity does not determine stands in a conjugate")
        found.append(conjugate(charge, at, y, taken))
        shown = found[-1].latex()
        reason = "the conjugate of the loss, from the table" + ("; 0 log 0 is 0" if r"\log" in shown else "")
        result.steps.append(Step(f"Conjugate for {_letter(variable)}", shown, reason, True))
    for own in found:
        result.domain += own.domain
        if (value := own.solution()) is not None:
            result.solved[own.variable] = value
            shown = rf"{_named(own.variable, result.at[own.variable])} = {form_latex(nf.normal(value))}"
            reason = "the only point at which the supremum is attained: the slope of the conjugate"
            result.steps.append(Step(f"Solve for {_letter(own.variable)}", shown, reason, True))
    return found


def _finish(program: Program, result: Dual, smooth: ix.Expr, charges: tuple[Charge, ...]) -> None:
    """The dual program: substitute, drop the variables that only multiply vanishing conditions, put the
    conjugates in the place of the losses.
    """
    value = nf.normal(result.substitute(smooth))
    for matrix, inverse in program.inverses:
        value = contract_inverse(value, matrix, inverse)
    left = tuple(v for v in program.variables if v not in result.solved)
    if any(degree_in(mono, left) > 1 for mono, _ in value):
        raise ValueError(
            "a variable that stationarity does not determine enters the Lagrangian quadratically"
        )
    kept = tuple(item for item in value if not any(_has(item[0], v) for v in left))
    for c in program.constraints:
        if not c.equality:
            result.complementarity.append((c.multiplier, c.excess()))
    conjugates = _conjugates(program, charges, result, smooth)
    if conjugates or convexity(program):
        _dual_program(program, result, kept, left, conjugates)
    else:
        reason = (
            "the program is not shown to be convex: the Lagrangian at its stationary points, which "
            "bounds nothing"
        )
        result.steps.append(Step("No dual program", form_latex(kept), reason))
    for multiplier, excess in result.complementarity:
        at = next(c.over for c in program.constraints if c.multiplier == multiplier)
        result.steps.append(
            Step(
                f"Complementarity of {_letter(multiplier)}",
                rf"{_named(multiplier, at)}\,\left({form_latex(nf.normal(excess))}\right) = 0",
                "multiplier times slack vanishes at an optimum",
            )
        )


def _dual_program(
    program: Program, result: Dual, kept: nf.Form, left: tuple[Tensor, ...], conjugates: list[Conjugate]
) -> None:
    """The dual of a convex program: the eliminated Lagrangian, the remaining conditions, the signs of
    multipliers.
    """
    constraints = [
        Constraint(
            Raw((), condition), as_term(0), Tensor(f"\\nu_{{{v.name}}}", v.dims), result.at[v], equality=True
        )
        for v, condition in result.conditions.items()
    ]
    constraints += [c for found in conjugates for c in found.domain]
    for c in program.constraints:
        if not c.equality:
            sign = as_term(c.multiplier)[c.over] if c.over else as_term(c.multiplier)
            constraints.append(
                Constraint(-sign, as_term(0), Tensor(f"s_{{{c.multiplier.name}}}", c.multiplier.dims), c.over)
            )
    side = 1 if program.maximise else -1
    kept = nf.add(kept, *(nf.scale(nf.normal(found.plain()), side) for found in conjugates))
    objective: Term = Raw((), to_expr(kept))
    for found in conjugates:
        objective = found.added_to(objective, side)
    multipliers = tuple(c.multiplier for c in program.constraints)
    multipliers += tuple(t for found in conjugates for t in found.auxiliary)
    result.program = Program(
        f"dual of {program.name}", multipliers, objective, tuple(constraints), maximise=not program.maximise
    )
    reason = "the solved variables are substituted"
    left = tuple(v for v in left if v not in [found.variable for found in conjugates])
    if conjugates:
        reason += "; the losses leave their conjugates, and the domains of these"
    if left:
        names, verb = ", ".join(map(_letter, left)), "multiply" if len(left) > 1 else "multiplies"
        reason += f"; {names} only {verb} conditions that vanish"
    result.steps.append(Step("Dual program", result.program.latex(), reason))
