"""Theorems that a point is a minimum, by gaps of a function that is assumed convex above its tangents: convex
everywhere for a global one, near the second argument of each gap for a local one (lib/Near.v).
"""

from __future__ import annotations

from checks.kernel.context import Context
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered, plain, plain_dims
from checks.kinds.extremum import Extremum
from derivations.calculus import index as ix
from derivations.calculus.gradients import Bregman, at_point
from derivations.calculus.index import Index
from derivations.calculus.term import SumOver, Term

SAYS = ("a global minimum", "a local minimum")


def by_convexity(name: str, s: Extremum) -> Theorem:
    """The theorem of an `Extremum` above which the energy is a sum of gaps. Raises NotCovered."""
    if s.says not in SAYS:
        raise NotCovered(f"that a point is {s.says}, by a function that is assumed convex")
    if "local" in s.says and len(plain_dims(s.variable)) != 2:
        raise NotCovered("a local minimum by convexity, of a variable that is no matrix")
    match s.above:
        case SumOver((Bregman() as gap,)) if plain((s.above.data,)) and gap.data in s.convex:
            return _Minimum(name, s, s.above, gap).theorem()
    raise NotCovered("a difference that is not one sum of gaps of a function that is assumed convex")


class _Minimum:
    def __init__(self, name: str, s: Extremum, above: Term, gap: Bregman) -> None:
        self.name, self.s, self.above, self.index = name, s, above.entry(), above.data
        self.local, self.function = "local" in s.says, gap.data
        self.moving, self.centre = (term.entry() for term in gap.args)
        self.start = at_point(gap.args[0], s.variable, s.point).entry()
        self.there = at_point(s.energy, s.variable, s.point)
        exprs = (s.energy.entry(), self.there.entry(), self.above, self.start, self.centre)
        self.context = context = Context(exprs, s.given)
        self.place = context.scope.setdefault(self.index, context.symbols.index(self.index, context.scope))
        if context.free != [self.index]:
            raise NotCovered("a sum of gaps with further free indices")
        context.free = []
        self.variable = context.symbols.tensor(s.variable)
        self.radius = context.symbols.index(Index("radius", "1"), context.scope)
        self.sizes = " ".join(context.symbols.dim(d) for d in plain_dims(s.variable))
        self.rows = [context.symbols.index(Index(letter, "1"), context.scope) for letter in ("row", "column")]

    def range(self) -> str:
        """The quantifier over the index of the gaps."""
        return self.context.within([self.place], [self.index.dim])

    def point(self) -> str:
        """The point as a matrix."""
        at = [Index(letter, dim) for letter, dim in zip(("row", "column"), self.s.variable.dims, strict=True)]
        scope = {**self.context.scope, **dict(zip(at, self.rows, strict=True))}
        entry = self.context.shown(self.s.point, tuple(at), scope)
        return f"fun {' '.join(self.rows)} => {entry}"

    def stated(self) -> list[str]:
        """The lines of the theorem: a local minimum is one within a radius."""
        context = self.context
        if self.local:
            context.base = [t for t in context.base if t != self.s.variable]
        lines = [f"Theorem {self.name} :", *context.header(), context.differentiable((self.function, 0))]
        f, centre = context.symbols.function((self.function, 0)), context.readable(self.centre)
        near = f"0 < {self.radius} /\\ convex_near {f} ({centre}) {self.radius}"
        near = f"{self.range()}exists {self.radius}, {near}"
        lines.append(context.hypothesis(near if self.local else f"convex {f}")[1])
        if self.local:
            lines.append(filled(f"exists {self.radius}, 0 < {self.radius} /\\ forall {self.variable},"))
            lines.append(filled(f"near {self.sizes} ({self.point()}) {self.radius} {self.variable} ->"))
        sides = [context.shown(t) for t in (self.s.energy, self.there)]
        return [*lines, filled(sides[0]), filled(f">= {sides[1]}.")]

    def equal(self, left: ix.Expr, right: ix.Expr, over: tuple[Index, ...] = ()) -> str:
        """What the checker decides."""
        context = self.context
        dims = listed(context.symbols.dims.index(i.dim) for i in over)
        trees = " ".join(context.deep(side, scope=over) for side in (left, right))
        return filled(f"exact (identity the_data the_model ({dims} : list nat)%nat {trees} {YES} promises).")

    def theorem(self) -> Theorem:
        """The theorem with its proof."""
        context = self.context
        lines = self.stated()
        *_, slope, convex = context.intros
        proof = ["Proof.", context.intro()]
        each = f"exact (above_tangents _ _ _ _ {convex} ({slope} _))."
        if self.local:
            proof += [*self.started(), *self.close(convex, slope)]
            proof += [
                "  destruct close as [the_radius [positive close]]. exists the_radius.",
                f"  split; [exact positive|]. intros {self.variable} is_near.",
            ]
            each = f"exact (close {self.variable} is_near {self.place} in_range)."
        energy, there = (context.readable(t.entry()) for t in (self.s.energy, self.there))
        rise = self.s.energy.entry() - self.there.entry()
        proof += [
            *setup(context),
            filled(f"assert (is_gap : {energy} + (-1) * ({there}) = {context.readable(self.above)})."),
            f"  {{ {self.equal(rise, self.above).strip()} }}",
            f"  apply (from_gap _ _ _ is_gap). apply sum_nneg. intros {self.place} in_range.",
            filled(each),
            "Qed.",
        ]
        return Theorem(self.name, "\n".join(lines), "\n".join(proof))

    def started(self) -> list[str]:
        """At the point the first argument of each gap is its second one."""
        context = self.context
        context.aliases[self.s.variable] = lambda _: "0"
        start, centre = context.readable(self.start), context.readable(self.centre)
        proof = [
            filled(f"assert (starts : {self.range()}{start} = {centre})."),
            "  {",
            *setup(context),
            f"{self.equal(self.start, self.centre, (self.index,))} }}",
        ]
        del context.aliases[self.s.variable]
        return proof

    def close(self, convex: str, slope: str) -> list[str]:
        """Within some radius no gap is negative."""
        context, j, z, sizes = self.context, self.place, self.variable, self.sizes
        moving, centre, place = context.readable(self.moving), context.readable(self.centre), self.point()
        f, f_d = (context.symbols.function((self.function, n)) for n in (0, 1))
        slope_there = f"({f_d} ({centre}) * ({moving} + (-1) * {centre}))"
        above = f"{f} ({moving}) + (-1) * {f} ({centre}) + (-1) * {slope_there}"
        d = context.bound("d")
        near = f"near {sizes} ({place}) {d} {z}"
        within = f"exists {d}, 0 < {d} /\\ forall {z}, {near} -> {self.range()}0 <= {above}"
        small = f"(eq_ind _ (fun the_start => Rabs ({moving} + (-1) * the_start) < the_radius)"
        return [
            filled(f"assert (close : {within})."),
            f"  {{ apply near_for_all. intros {j} in_range.",
            f"    destruct ({convex} {j} in_range) as [the_radius [positive is_convex]].",
            filled(
                f"assert (moves : steady {sizes} ({place}) (fun {z} => {moving})) by keep_steady.", "    "
            ),
            f"    destruct (moves the_radius positive) as [{d} [positive_d small]].",
            f"    exists {d}. split; [exact positive_d|]. intros {z} is_near.",
            filled(
                f"exact (above_tangent _ _ _ _ _ is_convex ({slope} _) {small} (small {z} is_near) _"
                f" (starts {j} in_range))). }}",
                "    ",
            ),
        ]
