"""Theorems that programs are convex: what mixes of feasible points satisfy, and what they cost."""

from __future__ import annotations

from fractions import Fraction

from checks.kernel.context import Context
from checks.kernel.definedness import where_defined
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered, plain
from checks.kinds.programs import Convex
from checks.statement import Given
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import degree_in
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Constraint, Program, convexity, curved
from derivations.calculus.term import as_term

SHARE = Tensor("t", ())
"""The share of the first point in a mix of two."""


def convex(name: str, s: Convex) -> list[Theorem]:
    """A mix of two feasible points is feasible, and its objective at most (of a maximisation: at least) the
    mix of theirs; and what the program says is defined. Raises NotCovered.
    """
    program = s.program
    if any(v.positive or v.symmetric for v in program.variables):
        raise NotCovered("a program over a variable with a promise")
    if program.parted().charges or any(map(curved, program.constraints)):
        raise NotCovered("a program with losses of the table of conjugates")
    if not convexity(program):
        raise NotCovered("a program whose squares of affine expressions show its convexity")
    mix = _Mix(program)
    context = Context(mix.everything(), mix.given, program.nonzero)
    lines, proof = _stated(name, context, mix)
    demands = [d for e in _formulas(program) for d in sg.demands(e)]
    return [
        Theorem(name, "\n".join(lines), "\n".join(proof)),
        *where_defined(f"{name}_defined", demands, (), program.nonzero),
    ]


def _formulas(program: Program) -> list[ix.Expr]:
    return [program.objective.entry(), *(e for c in program.constraints for e in sides(c))]


def sides(c: Constraint) -> tuple[ix.Expr, ix.Expr]:
    """Both sides of a constraint."""
    return c.lhs.entry(), c.rhs.entry()


def quadratic(program: Program) -> ix.Expr:
    """The quadratic part of the objective, or of its negative where it is maximised."""
    sign = -1 if program.maximise else 1
    form = nf.normal(program.objective.entry())
    return to_expr(tuple((m, sign * c) for m, c in form if degree_in(m, program.variables) == 2))


class _Mix:
    """A program, two points of it, and a mix of them as a definition of each variable."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.points = [{v: Tensor(f"{v.name}_{n}", v.dims) for v in program.variables} for n in (1, 2)]
        self.given = tuple(map(self._mixed, program.variables))
        self.objective = program.objective.entry()

    def _mixed(self, variable: Tensor) -> Given:
        at = tuple(Index("ijkl"[n], dim).fresh() for n, dim in enumerate(variable.dims))
        one, two = (as_term(p[variable])[at] if at else as_term(p[variable]) for p in self.points)
        t = as_term(SHARE)
        return Given(variable, at, t * one + (1 - t) * two, "a mix of two points")

    def at(self, expr: ix.Expr, n: int) -> ix.Expr:
        """An expression at the first or the second point."""
        for variable, tensor in self.points[n].items():
            expr = ix.define(expr, variable, lambda *i, own=tensor: ix.At(own, i))
        return expr

    def mixed(self, expr: ix.Expr) -> ix.Expr:
        """The mix of the values of an expression at the two points."""
        t = SHARE.scalar
        return t * self.at(expr, 0) + (1 - t) * self.at(expr, 1)

    def squares(self) -> ix.Expr:
        """The quadratic part of the objective, or of its negative where it is maximised, of the difference
        of the points.
        """
        found = quadratic(self.program)
        for v in self.program.variables:
            one, two = (p[v] for p in self.points)
            found = ix.define(found, v, lambda *i, a=one, b=two: ix.At(a, i) - ix.At(b, i))
        return found

    def everything(self) -> tuple[ix.Expr, ...]:
        """All formulas of the theorem."""
        found = [e for f in _formulas(self.program) for e in (f, self.at(f, 0), self.at(f, 1))]
        return (SHARE.scalar, *found, self.squares())


def _stated(name: str, context: Context, mix: _Mix) -> tuple[list[str], list[str]]:
    """The lines of the theorem and of its proof."""
    t, program = context.symbols.tensor(SHARE), mix.program
    lines = [f"Theorem {name} :", *context.header()]
    share, line = context.hypothesis(f"0 <= {t} <= 1")
    lines.append(line)
    feasible = []
    for n in (0, 1):
        for c in program.constraints:
            proof, line = context.hypothesis(constraint(context, c, [mix.at(e, n) for e in sides(c)]))
            feasible.append(proof)
            lines.append(line)
    lines += [filled(f"({constraint(context, c)}) /\\") for c in program.constraints]
    relation = ">=" if program.maximise else "<="
    lines += [filled(f"{context.readable(mix.objective)}"),
              filled(f"{relation} {context.readable(mix.mixed(mix.objective))}.")]  # fmt: skip
    steps = ["Proof.", context.intro(), *setup(context)]
    pairs = zip(feasible[: len(program.constraints)], feasible[len(program.constraints) :], strict=True)
    for c, both in zip(program.constraints, pairs, strict=True):
        steps += _feasible(context, mix, c, share, both)
    return lines, [*steps, *_objective(context, mix, share), "Qed."]


def constraint(context: Context, c: Constraint, moved: list[ix.Expr] | None = None) -> str:
    """A constraint, for all values of its indices, as printed or with these sides."""
    over = plain(c.over)
    ranges = context.within([context.scope[i] for i in over], [i.dim for i in over])
    if moved is None:
        left, right = (context.shown(side, level=49) for side in (c.lhs, c.rhs))
    else:
        left, right = (context.readable(e, level=49) for e in moved)
    return f"{ranges}{left} {'=' if c.equality else '<='} {right}"


def _feasible(context: Context, mix: _Mix, c: Constraint, share: str, both: tuple[str, str]) -> list[str]:
    """The mix satisfies a constraint, which is affine."""
    over = tuple(plain(c.over))
    dims = listed(context.symbols.dims.index(i.dim) for i in over)
    at = " ".join(f"{context.scope[i]} range_{context.scope[i]}" for i in over)
    excess = c.excess()
    applied = f"(affine {at})" if at else "affine"
    points = " ".join(f"({proof} {at})" if at else proof for proof in both)
    return [
        "  split.",
        f"  {{ pose proof (identity the_data the_model ({dims} : list nat)%nat",
        filled(context.deep(excess, scope=over), "      "),
        filled(context.deep(mix.mixed(excess), scope=over), "      "),
        f"      {YES} promises) as affine.",
        f"    intros {at}." if at else "    idtac.",
        f"    exact (mix_{'eq' if c.equality else 'le'} _ _ _ _ _ _ _ {share} {applied} {points}). }}",
    ]


def _objective(context: Context, mix: _Mix, share: str) -> list[str]:
    """The objective lies below the mix by a multiple of squares."""
    t, squares = SHARE.scalar, mix.squares()
    sign = -1 if mix.program.maximise else 1
    lower = mix.objective + ix.Mul((ix.Num(Fraction(sign)), t * (1 - t) * squares))
    return [
        "  pose proof (identity the_data the_model []",
        filled(context.deep(mix.mixed(mix.objective)), "    "),
        filled(context.deep(lower), "    "),
        f"    {YES} promises) as is_gap.",
        filled(f"pose proof (nonnegative the_data the_model [] {context.deep(squares)} {YES} promises)"),
        "    as is_squares.",
        f"  exact (mix_{'above' if sign < 0 else 'below'} _ _ _ _ {share} is_gap is_squares).",
    ]
