"""Strong duality: at a least point of a program there are multipliers at which the dual has the same value.

They come from lib/Strong.v, which wants of a program that its objective is a quadratic function that bends
upwards and its constraints are affine: identities, which the checker decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from checks.kernel.context import Context
from checks.kernel.convexity import constraint, quadratic
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered, plain, plain_dims
from derivations.calculus import index as ix
from derivations.calculus.index import Tensor
from derivations.calculus.program import Constraint, Program

STEP = Tensor("t", ())
"""How far a direction is followed."""
ONE, ZERO = ix.Num(Fraction(1)), ix.Num(Fraction(0))
Lemma = tuple[Theorem, Context]
"""A theorem that is used, and the context of its symbols."""
Condition = tuple[Tensor, str]


class Expansion:
    """A program around a point, along a direction, and at another point; and its Lagrangian at that one."""

    def __init__(self, program: Program, lagrangian: ix.Expr) -> None:
        if any(len(plain(c.over)) != 2 for c in program.constraints):
            raise NotCovered("strong duality with constraints that have other than two indices")
        self.program, self.variables = program, program.variables
        self.along, self.other = (
            [Tensor(f"{letter}_{v.name}", v.dims) for v in self.variables] for letter in ("d", "y")
        )
        self.objective = program.objective.entry()
        self.excesses = [c.excess() for c in program.constraints]
        self.lagrangian = self.at(lagrangian, self.other)
        self.bend = self.at(quadratic(program), self.along)
        self.slope = self.moved(self.objective, ONE) - self.objective - self.bend

    def at(self, expr: ix.Expr, point: list[Tensor]) -> ix.Expr:
        """An expression with the variables at another point."""
        for v, new in zip(self.variables, point, strict=True):
            expr = ix.define(expr, v, lambda *i, own=new: ix.At(own, i))
        return expr

    def moved(self, expr: ix.Expr, t: ix.Expr) -> ix.Expr:
        """An expression at the point and so much of the direction."""
        for v, d in zip(self.variables, self.along, strict=True):
            expr = ix.define(expr, v, lambda *i, v=v, d=d: ix.At(v, i) + t * ix.At(d, i))
        return expr

    def part(self, excess: ix.Expr) -> ix.Expr:
        """The linear part of a constraint, of the direction."""
        return self.at(excess, self.along) - self.still(self.at(excess, self.along))

    def still(self, expr: ix.Expr) -> ix.Expr:
        """An expression of the direction where that is 0."""
        for d in self.along:
            expr = ix.define(expr, d, lambda *i: ZERO)
        return expr

    def mixed(self, expr: ix.Expr) -> ix.Expr:
        """An expression of the direction at the other point and so much of the direction."""
        for y, d in zip(self.other, self.along, strict=True):
            expr = ix.define(expr, d, lambda *i, y=y, d=d: ix.At(y, i) + STEP.scalar * ix.At(d, i))
        return expr

    def arrived(self, expr: ix.Expr) -> ix.Expr:
        """An expression at the point and the whole way to the other one."""
        expr = self.moved(expr, ONE)
        for v, y, d in zip(self.variables, self.other, self.along, strict=True):
            expr = ix.define(expr, d, lambda *i, v=v, y=y: ix.At(y, i) - ix.At(v, i))
        return expr

    def linear(self, expr: ix.Expr) -> list[tuple[ix.Expr, ix.Expr]]:
        """What makes an expression of the direction linear: equal pairs."""
        sums = self.at_other(expr) + STEP.scalar * expr
        return [(self.still(expr), ZERO), (self.mixed(expr), sums)]

    def at_other(self, expr: ix.Expr) -> ix.Expr:
        """An expression of the direction at the other point instead."""
        for y, d in zip(self.other, self.along, strict=True):
            expr = ix.define(expr, d, lambda *i, y=y: ix.At(y, i))
        return expr

    def expanded(self, expr: ix.Expr, slope: ix.Expr, bend: ix.Expr | None = None) -> tuple[ix.Expr, ix.Expr]:
        """An expression along the direction, and its expansion."""
        t = STEP.scalar
        terms = (expr, t * slope) if bend is None else (expr, t * slope, t**2 * bend)
        return self.moved(expr, t), ix.Add(terms)

    def weighted(self) -> ix.Expr:
        """The objective and the multiplied constraints at the end of the way to the other point."""
        whole: ix.Expr = ZERO
        for c, excess in zip(reversed(self.program.constraints), reversed(self.excesses), strict=True):
            whole = ix.total(ix.At(c.multiplier, c.over) * self.arrived(excess), *c.over) + whole
        return self.arrived(self.objective) + whole

    def everything(self) -> tuple[ix.Expr, ...]:
        """All formulas of the theorem."""
        found = [self.objective, self.lagrangian, self.weighted(), *self.linear(self.slope)[1]]
        found += [e for excess in self.excesses for e in (excess, *self.linear(self.part(excess))[1])]
        return (*found, *self.expanded(self.objective, self.slope, self.bend))


def strong(
    name: str,
    e: Expansion,
    dual: ix.Expr,
    conditions: list[tuple[Tensor, ix.Expr, tuple[ix.Index, ...]]],
    used: dict[str, Lemma],
) -> Theorem:
    """The theorem, from weak duality, and that the dual objective is attained and its conditions needed."""
    context = Context((*e.everything(), dual, *(c for _, c, _ in conditions)), (), e.program.nonzero)
    multipliers = [c.multiplier for c in e.program.constraints]
    passing = [*multipliers, *e.along, *e.other, STEP]
    context.base = [t for t in context.base if t not in passing]
    return _Writer(name, e, dual, conditions, used, context).theorem()


class _Writer:
    def __init__(
        self,
        name: str,
        e: Expansion,
        dual: ix.Expr,
        conditions: list[tuple[Tensor, ix.Expr, tuple[ix.Index, ...]]],
        used: dict[str, Lemma],
        context: Context,
    ) -> None:
        self.name, self.e, self.dual, self.conditions = name, e, dual, conditions
        self.used, self.context = used, context
        self.multipliers = [c.multiplier for c in e.program.constraints]

    # ------------------------------------------------------------ words

    def names(self, tensors: list[Tensor]) -> list[str]:
        return [self.context.symbols.tensor(t) for t in tensors]

    def typed(self, tensors: list[Tensor]) -> str:
        """Quantifiers over arrays."""
        return " ".join(f"({n} : {_kind(t)})" for n, t in zip(self.names(tensors), tensors, strict=True))

    def of(self, tensors: list[Tensor], expr: ix.Expr) -> str:
        """An expression as a function of a tuple of arrays."""
        scope = self.context.scope
        body = self.context.readable(expr, scope)
        if len(tensors) == 1:
            return f"(fun {self.names(tensors)[0]} => {body})"
        return f"(fun the_point => let '({', '.join(self.names(tensors))}) := the_point in {body})"

    def taken(self, tensors: list[Tensor]) -> str:
        """The pattern that takes a tuple apart."""
        names = self.names(tensors)
        text = names[0]
        for n in names[1:]:
            text = f"[{text} {n}]"
        return text

    def ranges(self, c: Constraint) -> str:
        return " ".join(f"{self.context.scope[i]} range_{self.context.scope[i]}" for i in plain(c.over))

    def families(self) -> str:
        text = "nil"
        for c, excess in zip(reversed(self.e.program.constraints), reversed(self.e.excesses), strict=True):
            i, j = plain(c.over)
            sizes = f"{self.context.symbols.dim(i.dim)} {self.context.symbols.dim(j.dim)}"
            both = (
                f"({self.of(list(self.e.variables), excess)}, {self.of(self.e.along, self.e.part(excess))})"
            )
            places = f"{self.context.scope[i]} {self.context.scope[j]}"
            text = f"(cons (Build_family _ {sizes} (fun {places} => {both})) {text})"
        return text

    # ------------------------------------------------------------ steps

    def modelled(self, present: Iterable[Tensor]) -> list[str]:
        """The model where of the arrays that come and go these are there."""
        there = set(present)
        passing = [*self.multipliers, *self.e.along, *self.e.other, STEP]
        self.context.aliases = {t: (lambda _: "0") for t in passing if t not in there}
        return setup(self.context)

    def equal(
        self, sides: tuple[ix.Expr, ix.Expr], present: Iterable[Tensor], over: Constraint | None
    ) -> list[str]:
        """A goal that the checker decides."""
        own = plain(over.over) if over else []
        dims = listed(self.context.symbols.dims.index(i.dim) for i in own)
        return [
            *self.modelled(present),
            f"  exact (identity the_data the_model ({dims} : list nat)%nat",
            *(filled(self.context.deep(s, scope=tuple(own)), "    ") for s in sides),
            f"    {YES} promises {self.ranges(over) if over else ''}).",
        ]

    def is_linear(self, expr: ix.Expr, over: Constraint | None) -> list[str]:
        zero, sums = self.e.linear(expr)
        both = [*self.e.along, *self.e.other, STEP]
        return [
            "  split. {", *self.equal(zero, (), over), "  }",
            f"  intros {self.taken(self.e.other)} {self.names([STEP])[0]} {self.taken(self.e.along)}.",
            *self.equal(sums, both, over),
        ]  # fmt: skip

    def for_each(self, steps: Iterable[list[str]]) -> list[str]:
        """A goal about every constraint."""
        lines = []
        for c, own in zip(self.e.program.constraints, steps, strict=True):
            lines += [f"  split. {{ intros {self.ranges(c)}.", *own, "  }"]
        return [*lines, "  exact I."]

    def premises(self) -> list[list[str]]:
        """The proofs of what lib/Strong.v asks for."""
        e, t = self.e, self.names([STEP])[0]
        pairs = list(zip(e.program.constraints, e.excesses, strict=True))
        direction = f"  intros {t} {self.taken(e.along)}."
        moved = [*e.along, STEP]
        squares = f"nonnegative the_data the_model [] {self.context.deep(e.bend, scope=())} {YES} promises"
        below = [
            f"(fun {self.ranges(c)} => excess_ge _ _ (proj1 {_tail(n)} {self.ranges(c)}))"
            for n, c in enumerate(e.program.constraints)
        ]
        return [
            self.is_linear(e.slope, None),
            self.for_each(self.is_linear(e.part(x), c) for c, x in pairs),
            [direction, *self.equal(e.expanded(e.objective, e.slope, e.bend), moved, None)],
            [f"  intros {self.taken(e.along)}.", *self.modelled(e.along), filled(f"exact ({squares}).")],
            self.for_each([direction, *self.equal(e.expanded(x, e.part(x)), moved, c)] for c, x in pairs),
            self.for_each(
                [f"  exact (excess_le _ _ (feasible{n} {self.ranges(c)}))."]
                for n, c in enumerate(e.program.constraints)
            ),
            [
                f"  intros {self.taken(e.other)} inside.",
                filled(f"exact (is_least {' '.join(self.names(e.other))} {' '.join(below)})."),
            ],
        ]

    def applied(self, which: str, rest: list[str]) -> str:
        """A theorem about the same symbols, applied to those and to further proofs."""
        return self.context.applied(*self.used[which], *rest)

    # ------------------------------------------------------------ the theorem

    def stated(self) -> list[str]:
        """The lines of the theorem."""
        context, program = self.context, self.e.program
        lines = [f"Theorem {self.name} :", *context.header()]
        rules = [constraint(context, c) for c in program.constraints]
        for rule in rules:
            lines.append(context.hypothesis(rule)[1])
        objective = context.shown(program.objective, level=49)
        every = " -> ".join(f"({rule})" for rule in rules)
        least = context.symbols.index(ix.Index("least", "1"), context.scope)
        others = f"forall {self.typed(list(program.variables))}, {every} -> {least} <= {objective}"
        lines.append(context.hypothesis(f"let {least} := {objective} in {others}")[1])
        lines.append(filled(f"exists {self.typed(self.multipliers)},"))
        for c in program.constraints:
            lines.append(
                filled(f"({self.within(c.over)}0 <= {context.readable(ix.At(c.multiplier, c.over))}) /\\")
            )
        for _, expr, at in self.conditions:
            lines.append(filled(f"({self.within(at)}{context.readable(expr)} = 0) /\\"))
        return [*lines, filled(context.readable(self.dual)), filled(f"= {objective}.")]

    def within(self, over: tuple[ix.Index, ...]) -> str:
        own = plain(over)
        return self.context.within([self.context.scope[i] for i in own], [i.dim for i in own])

    def theorem(self) -> Theorem:
        e, context = self.e, self.context
        lines = self.stated()
        count = len(e.program.constraints)
        rest = context.intros[-count - 1 :]
        feasible = [f"feasible{n}" for n in range(count)]
        context.intros[-count - 1 :] = [*feasible, "is_least"]
        proof = ["Proof.", context.intro(), *self.duality()]
        for own in self.premises():
            proof += ["  premise strong. {", *own, "  }"]
        proof += self.used_bound(feasible)
        assert len(rest) == count + 1
        return Theorem(self.name, "\n".join(lines), "\n".join([*proof, "Qed."]))

    def duality(self) -> list[str]:
        e, variables, context = self.e, list(self.e.variables), self.context
        kinds = " * ".join(f"({_kind(v)})" for v in variables)
        still = ", ".join(_array(v, "0") for v in variables)
        t = self.names([STEP])[0]
        pairs = zip(variables, self.names(e.other), self.names(e.along), strict=True)
        steps = ", ".join(_array(v, f"{y}{_places(v)} + {t} * {d}{_places(v)}") for v, y, d in pairs)
        if len(variables) == 1:
            step = f"(fun {self.names(e.other)[0]} {t} {self.names(e.along)[0]} => {steps})"
        else:
            first, second = (f"'({', '.join(self.names(ts))})" for ts in (e.other, e.along))
            x, d = context.bound("x"), context.bound("d")
            step = f"(fun {x} {t} {d} => let {first} := {x} in let {second} := {d} in ({steps}))"
        texts = [f"({kinds})%type", f"({still})", step, self.families(), self.of(variables, e.objective)]
        texts += [
            self.of(e.along, e.slope),
            self.of(e.along, e.bend),
            f"({', '.join(self.names(variables))})",
        ]
        return ["  pose proof (strong_duality", *(filled(t, "    ") for t in texts), "  ) as strong."]

    def used_bound(self, feasible: list[str]) -> list[str]:
        """From the multipliers to the dual: a bound of the Lagrangian, the conditions, both values."""
        e, context, v = self.e, self.context, self.context.bound("v")
        signs = [f"sign{n}" for n, _ in enumerate(self.multipliers)]
        names = self.names(self.multipliers)
        pattern = "bound"
        for n, sign in zip(reversed(names), reversed(signs), strict=True):
            pattern = f"[{n} [{sign} {pattern}]]"
        objective, others = context.readable(e.objective, level=49), " ".join(self.names(e.other))
        ways = ", ".join(
            _array(v, f"{y}{_places(v)} + (-1) * {x}{_places(v)}")
            for v, x, y in zip(e.variables, self.names(list(e.variables)), self.names(e.other), strict=True)
        )
        says = f"forall {self.typed(e.other)}, {objective} <= {context.readable(e.lagrangian)}"
        whole = f"{context.readable(e.weighted())} = {context.readable(e.lagrangian)}"
        proof = [
            f"  destruct strong as {pattern}.",
            filled(f"assert (lower : {says})."),
            f"  {{ intros {others}.",
            filled(f"assert (is_lagrangian : {whole})."),
            "  {", *self.equal((e.weighted(), e.lagrangian), [*self.multipliers, *e.other], None), "  }",
            filled(f"exact (eq_ind _ (fun {v} => {objective} <= {v}) (bound ({ways})) _ is_lagrangian). }}"),
        ]  # fmt: skip
        conditions = [f"condition{n}" for n, _ in enumerate(self.conditions)]
        if conditions:
            taken = "_"
            for c in reversed(conditions):
                taken = f"[{c} {taken}]"
            bounded = f"(ex_intro _ ({objective}) lower)"
            proof.append(filled(f"destruct {self.applied('only', [bounded])} as {taken}."))
        proof += [f"  exists {n}." for n in names] + [
            f"  split; [exact {p}|]." for p in [*signs, *conditions]
        ]
        pairs = [p for both in zip(feasible, signs, strict=True) for p in both]
        taken = "value"
        for n in reversed(self.names(e.other)):
            taken = f"[{n} {taken}]"
        reached = f"exact (eq_ind _ (fun {v} => {objective} <= {v}) (lower {others}) _ value)"
        return [
            *proof,
            "  apply Rle_antisym.",
            filled(f"- exact {self.applied('weak', [*pairs, *conditions])}."),
            filled(f"- destruct {self.applied('attained', [])} as {taken}. {reached}."),
        ]


def _kind(t: Tensor) -> str:
    return " -> ".join(["nat"] * len(plain_dims(t)) + ["R"])


def _places(t: Tensor) -> str:
    return "".join(f" i{n}" for n, _ in enumerate(plain_dims(t)))


def _array(t: Tensor, body: str) -> str:
    places = _places(t)
    return f"(fun{places} => {body})" if places else f"({body})"


def _tail(n: int) -> str:
    text = "inside"
    for _ in range(n):
        text = f"(proj2 {text})"
    return text
