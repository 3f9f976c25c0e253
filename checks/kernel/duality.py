"""Theorems about the dual of a program: weak duality, and that its conditions are exactly the printed ones.

Where the conditions hold the Lagrangian lies above the dual objective by squares; where they do not it has no
lower bound along a line.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from checks.engine.hypotheses import apply_definitions
from checks.kernel.context import Context
from checks.kernel.convexity import constraint, quadratic, sides
from checks.kernel.definedness import where_defined
from checks.kernel.model import setup
from checks.kernel.optima import Expansion, Lemma, strong
from checks.kernel.theorem import YES, Theorem, filled
from checks.kernel.trees import NotCovered, plain, plain_dims
from checks.kinds.programs import Dual, readings, same_condition
from checks.statement import Given
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import losses
from derivations.calculus.program import Constraint, Program, Raw, dualise, with_losses

STEP = Tensor("s", ())
"""How far a line is followed."""


def dual(name: str, s: Dual) -> list[Theorem]:
    """Weak duality; where the printed conditions hold the dual objective is the least of the Lagrangian,
    and where it has a lower bound they do. Raises NotCovered.
    """
    d = _Dualised(s)
    formulas = (d.lagrangian, d.objective, *(e for _, e in d.conditions))
    demands = [demand for e in formulas for demand in sg.demands(e)]
    used = {"weak": _weak(f"{name}_weak", d), "attained": _attained(f"{name}_attained", d)}
    if d.conditions:
        used["only"] = _only(f"{name}_only", d)
    conditions = [(v, e, d.at[v]) for v, e in d.conditions]
    return [
        _below(f"{name}_below", d),
        *(theorem for theorem, _ in used.values()),
        strong(f"{name}_strong", Expansion(d.program, d.lagrangian), d.objective, conditions, used),
        *where_defined(f"{name}_defined", demands, (), d.program.nonzero),
    ]


def derived(name: str, program: Program) -> list[Theorem]:
    """The same theorems about the dual that is derived of a program; none where it is not of that form."""
    if not program.constraints:
        return []
    try:
        conditions = dualise(program).conditions
        return dual(name, Dual(program, tuple((v, Raw((), e)) for v, e in conditions.items())))
    except ValueError:  # also NotCovered: what is claimed of the program does not need a dual
        return []


class _Dualised:
    """A program, its Lagrangian and dual objective, and the printed conditions by their variables."""

    def __init__(self, s: Dual) -> None:
        self.program, result = s.program, dualise(s.program)
        if s.program.maximise or any(c.equality for c in s.program.constraints):
            raise NotCovered("the dual of a maximisation or of equalities")
        if result.domain or any(losses(with_losses(s.program).objective)):
            raise NotCovered("a dual with conjugates")
        if result.program is None or set(dict(s.conditions)) != set(result.conditions):
            raise NotCovered("other conditions than those that are derived")
        self.at, self.solved = result.at, result.solved
        self.lagrangian, self.objective = result.lagrangian.entry(), result.program.objective.entry()
        self.conditions: list[tuple[Tensor, ix.Expr]] = []
        self.slopes: dict[Tensor, ix.Expr] = {}
        for variable, term in s.conditions:
            read = readings(term.entry(), result.at[variable])
            derived = result.conditions[variable]
            own = next((e for e in read if same_condition(derived, e)), read[0])
            self.conditions.append((variable, own))
            self.slopes[variable] = own if nf.equal(derived, own) else -own
        if {*self.solved, *self.slopes} != {*s.program.variables} or self.solved.keys() & self.slopes.keys():
            raise NotCovered("a variable that stationarity does not determine and that has no condition")

    def squares(self) -> ix.Expr:
        """By how much the Lagrangian exceeds its value at the solved variables, besides the conditions."""
        found = quadratic(self.program)
        for v, value in self.solved.items():
            found = ix.define(found, v, partial(self._distance, v, value))
        return found

    def _distance(self, v: Tensor, value: ix.Expr, *i: Index) -> ix.Expr:
        return ix.At(v, i) - ix.rename(value, dict(zip(self.at[v], i, strict=True)))

    def rests(self) -> list[ix.Expr]:
        """What the conditions add to the Lagrangian."""
        return [ix.total(self.slopes[v] * ix.At(v, self.at[v]), *self.at[v]) for v, _ in self.conditions]

    def slack(self, c: Constraint) -> ix.Expr:
        """A multiplier times the slack of its constraint, summed."""
        return ix.total(ix.At(c.multiplier, c.over) * (c.rhs.entry() - c.lhs.entry()), *c.over)

    def line(self, step: ix.Expr) -> tuple[Given, ...]:
        """The solved variables, and the others along the printed conditions."""
        values = {**self.solved, **{v: step * slope for v, slope in self.slopes.items()}}
        return tuple(Given(v, self.at[v], Raw((), values[v]), "a line") for v in self.program.variables)

    def lengths(self) -> list[ix.Expr]:
        """The squares of the conditions, summed."""
        return [ix.total(e**2, *self.at[v]) for v, e in self.conditions]


def _weak(name: str, d: _Dualised) -> Lemma:
    """The dual objective is no larger than the objective, for all that is feasible."""
    objective, program = d.program.objective.entry(), d.program
    slacks = [d.slack(c) for c in program.constraints]
    context = _context(d, objective, *slacks, *(e for c in program.constraints for e in sides(c)))
    lines = [f"Theorem {name} :", *context.header()]
    known = []
    for c in program.constraints:
        feasible, line = context.hypothesis(constraint(context, c))
        ranges, entry = _ranges(context, c.over), ix.At(c.multiplier, c.over)
        sign, other = context.hypothesis(f"{ranges}0 <= {context.readable(entry, level=49)}")
        lines += [line, other]
        known.append((feasible, sign))
    conditions, assumed = _conditions(context, d)
    lines += [*assumed, filled(f"{context.readable(d.objective)}")]
    lines.append(filled(f"<= {context.readable(objective)}."))
    proof = ["Proof.", context.intro(), *setup(context), *_gap(context, d, conditions)]
    proof += _equal(context, "is_value", objective, ix.Add((d.lagrangian, *slacks)))
    for n, (slack, (feasible, sign)) in enumerate(zip(slacks, known, strict=True)):
        says = f"0 <= {context.readable(slack, level=49)}"
        steps = f"repeat (apply sum_nneg; intros); apply Rmult_le_pos; [now apply {sign}|]"
        proof.append(
            filled(f"assert (slack{n} : {says}) by ({steps}; apply slack_nneg; now apply {feasible}).")
        )
    return Theorem(name, "\n".join(lines), "\n".join([*proof, "  lra.", "Qed."])), context


def _below(name: str, d: _Dualised) -> Theorem:
    """The dual objective is a lower bound of the Lagrangian where the conditions hold."""
    context = _context(d)
    lines = [f"Theorem {name} :", *context.header()]
    conditions, assumed = _conditions(context, d)
    lines += [
        *assumed,
        filled(context.readable(d.objective)),
        filled(f"<= {context.readable(d.lagrangian)}."),
    ]
    proof = ["Proof.", context.intro(), *setup(context), *_gap(context, d, conditions), "  lra.", "Qed."]
    return Theorem(name, "\n".join(lines), "\n".join(proof))


def _attained(name: str, d: _Dualised) -> Lemma:
    """The dual objective is a value of the Lagrangian."""
    points = d.line(ix.Num(Fraction(0)))
    context, own = _over_variables(d, apply_definitions(d.lagrangian, points))
    lines = [f"Theorem {name} :", *context.header(), filled(f"exists {own},")]
    lines += [filled(context.readable(d.lagrangian)), filled(f"= {context.readable(d.objective)}.")]
    proof = ["Proof.", context.intro(), *setup(context)]
    proof += _equal(context, "is_value", apply_definitions(d.lagrangian, points), d.objective)
    proof += [filled(f"exists {_function(context, g)}.") for g in points]
    return Theorem(name, "\n".join(lines), "\n".join([*proof, "  exact is_value.", "Qed."])), context


def _over_variables(d: _Dualised, *more: ix.Expr) -> tuple[Context, str]:
    """A context in which the variables are not fixed, and quantifiers over them."""
    context = _context(d, *more)
    variables = d.program.variables
    context.base = [t for t in context.base if t not in (*variables, STEP)]
    for v in variables:
        context.alias(v, lambda _: "0")  # the checker sees formulas in their place
    kinds = (" -> ".join(["nat"] * len(plain_dims(v)) + ["R"]) for v in variables)
    own = (f"({context.symbols.tensor(v)} : {k})" for v, k in zip(variables, kinds, strict=True))
    return context, " ".join(own)


def _only(name: str, d: _Dualised) -> Lemma:
    """Where the Lagrangian has a lower bound the conditions hold."""
    points = d.line(STEP.scalar)
    lengths, line = d.lengths(), apply_definitions(d.lagrangian, points)
    along = d.objective + STEP.scalar * ix.Add(tuple(lengths))
    context, own = _over_variables(d, line, along)
    lines = [f"Theorem {name} :", *context.header()]
    least = context.symbols.index(Index("m", "1"), context.scope)
    says = f"exists {least}, forall {own}, {least} <= {context.readable(d.lagrangian)}"
    bounded, assumed = context.hypothesis(says)
    lines += [assumed, *(filled(f"({_condition(context, d, v, e)}) /\\") for v, e in d.conditions), "  True."]
    total, start = context.readable(ix.Add(tuple(lengths))), context.readable(d.objective)
    applied = " ".join(_function(context, g) for g in points)
    proof = [
        "Proof.",
        context.intro(),
        f"  destruct {bounded} as [{least} is_bound].",
        filled(f"assert (whole : {total} = 0)."),
        filled(f"{{ apply (line_bounded ({start}) _ {least}). intros {context.symbols.tensor(STEP)}."),
        *setup(context),
        *_equal(context, "is_line", line, along),
        filled(f"exact (eq_ind _ (fun v => {least} <= v) (is_bound {applied}) _ is_line). }}"),
    ]
    for n, length in enumerate(lengths):
        sign = f"0 <= {context.readable(length, level=49)}"
        nonnegative = "repeat (apply sum_nneg; intros); apply pow2_ge_0"
        proof.append(filled(f"assert (sign{n} : {sign}) by ({nonnegative})."))
    for n, (v, _) in enumerate(d.conditions):
        proof += _vanishes(context, context.readable(lengths[n]), d.at[v])
    return Theorem(name, "\n".join(lines), "\n".join([*proof, "  exact I.", "Qed."])), context


def _function(context: Context, g: Given) -> str:
    """A definition as a function of the indices."""
    scope: dict[Index, str] = {}
    for i in plain(g.at):
        scope[i] = context.symbols.index(i, scope)
    head = f"fun {' '.join(scope.values())} => " if scope else ""
    return f"({head}{context.readable(g.value.entry(), scope)})"


def _vanishes(context: Context, length: str, at: tuple[Index, ...]) -> list[str]:
    """A condition holds where the sum of its squares vanishes."""
    names = [context.scope[i] for i in plain(at)]
    proof = ["  split.", filled(f"{{ assert (zero : {length} = 0) by lra.")]
    if names:
        proof.append(f"    intros {' '.join(f'{n} range_{n}' for n in names)}.")
    for n in names:
        proof.append(f"    apply sum_zero_each with (i := {n}) in zero;")
        proof.append(
            "      [cbv beta in zero|intros; repeat (apply sum_nneg; intros); apply pow2_ge_0|assumption]."
        )
    return [*proof, "    apply (square_zero 1); [lra|rewrite zero; ring]. }"]


def _context(d: _Dualised, *more: ix.Expr) -> Context:
    exprs = (d.lagrangian, d.objective, d.squares(), *d.rests(), *(e for _, e in d.conditions), *more)
    return Context(exprs, (), d.program.nonzero)


def _ranges(context: Context, over: tuple[Index, ...]) -> str:
    return context.within([context.scope[i] for i in plain(over)], [i.dim for i in plain(over)])


def _condition(context: Context, d: _Dualised, variable: Tensor, expr: ix.Expr) -> str:
    return f"{_ranges(context, d.at[variable])}{context.readable(expr)} = 0"


def _conditions(context: Context, d: _Dualised) -> tuple[list[str], list[str]]:
    """The names of the printed conditions as hypotheses, and their lines."""
    found = [context.hypothesis(_condition(context, d, v, e)) for v, e in d.conditions]
    return [name for name, _ in found], [line for _, line in found]


def _equal(context: Context, name: str, one: ix.Expr, two: ix.Expr) -> list[str]:
    """Two numbers are equal by the checker."""
    says = f"{context.readable(one)} = {context.readable(two)}"
    return [
        filled(f"assert ({name} : {says})"),
        "    by exact (identity the_data the_model []",
        filled(context.deep(one), "      "),
        filled(context.deep(two), "      "),
        f"      {YES} promises).",
    ]


def _gap(context: Context, d: _Dualised, conditions: list[str]) -> list[str]:
    """The Lagrangian is the dual objective, squares, and what vanishes under the conditions."""
    squares, rests = d.squares(), d.rests()
    proof = _equal(context, "is_gap", d.lagrangian, ix.Add((d.objective, squares, *rests)))
    says = f"0 <= {context.readable(squares, level=49)}"
    tree = context.deep(squares)
    proof.append(filled(f"assert (is_squares : {says})"))
    proof.append(filled(f"by exact (nonnegative the_data the_model [] {tree} {YES} promises).", "    "))
    for n, (rest, condition) in enumerate(zip(rests, conditions, strict=True)):
        says = f"{context.readable(rest)} = 0"
        steps = f"repeat (apply sum_all_zero; intros); rewrite {condition} by assumption; ring"
        proof.append(filled(f"assert (rest{n} : {says}) by ({steps})."))
    return proof
