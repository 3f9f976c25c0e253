"""Cost: how many multiplications an evaluation takes, or numbers it stores, counted and not estimated.

An evaluation is a plan: formulas evaluated as they are written, one after the other, each result stored once.
It must compute the printed formula that it stands for. Its count is a polynomial in the sizes, read off the
formulas, and the same plan is run in arithmetic that counts. A product with 1 or -1 and an inverse 1/u are
free, a division u/v is a multiplication by 1/v, a power u^e takes e - 1, a root and a function nothing.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import sympy as sp

from checks.engine.finding import Finding
from checks.engine.hypotheses import apply_definitions, check_given, named, open_demands
from checks.engine.judge import ENGINES, attempt, equal, rejects, step, told_apart
from checks.engine.mutants import mutants
from checks.evidence import Evidence, Mutants
from checks.statement import Given, Kind, Malformed, sized, tensors_of
from derivations.calculus import index as ix
from derivations.calculus import order
from derivations.calculus import signs as sg
from derivations.calculus.components import evaluate
from derivations.calculus.index import Index, Tensor
from derivations.calculus.naming import is_atom
from derivations.calculus.term import NonConformable, Term, as_term, free
from derivations.calculus.unicode import unicode_math

T = sp.Symbol("t", positive=True)
"""The parameter of a ray of sizes."""


@dataclass(frozen=True)
class Assign:
    """A line of a plan, which is a tuple of them: tensor[at] := term for all values of the indices; with
    ``times`` the same again in each of so many rounds.
    """

    tensor: Tensor
    at: tuple[Index, ...]
    term: Term
    times: str = "1"


_RESERVED = {"t", "u", "u_2"}
Plan = tuple[Assign, ...]
Held = tuple[ix.Expr, tuple[Index, ...]]
"""One entry of what a line of a plan holds, and the indices of that entry."""
RELATIONS = ("=", "<=", "O")


@dataclass(frozen=True)
class Cost(Kind):
    """``plan``, which computes ``computes``, costs ``printed`` more than ``base``, which computes
    ``base_computes``.

    Of a plan with rounds it is one round that computes the formula, from the state before it.

    What it costs is ``measure``: "products" (multiplications) or "stored" (numbers kept, the inputs left
    out). With ``relation`` "<=" or "O" it costs at most ``constant`` times ``printed`` (with "O" and a base
    it saves no more either), for all sizes from 1 on in the ``domain``, which puts expressions for sizes
    (N = n + u with u >= 0); ``ray`` offers a refutation of "O": sizes as functions of t along which the ratio
    is unbounded. ``sizes`` names the symbols of the count in the order in which counterexamples are searched.
    """

    what: str
    plan: Plan
    printed: str
    computes: Term | None = None
    base: Plan = ()
    base_computes: Term | None = None
    relation: str = "="
    constant: int = 1
    sizes: tuple[str, ...] = ("n", "d_v", "T")
    given: tuple[Given, ...] = ()
    measure: str = "products"
    domain: tuple[tuple[str, str], ...] = ()
    ray: tuple[tuple[str, str], ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The printed count, and what it counts."""
        bound = sp.latex(self.expression(self.printed), order="none")
        kind = r"\#\text{multiplications}" if self.measure == "products" else r"\#\text{numbers stored}"
        left = rf"{kind}(\text{{{self.what}}}{self._computed()})"
        if self.base_computes is not None:
            base = self._done(self.base, self.base_computes)
            base += self._ready(self.base) + self._rounds(self.base)
            left += rf" - {kind}\left({base}\right)"
        where = ",\\ ".join(self._restricted(*bound) for bound in self.domain)
        end = rf"\qquad ({where})" if where else ""
        if self.relation == "O":
            return rf"{left} = \mathcal{{O}}\left({bound}\right){end}"
        constant = f"{self.constant}\\," if self.constant != 1 else ""
        return (
            rf"{left} = {bound}{end}"
            if self.relation == "="
            else rf"{left} \le {constant}\left({bound}\right){end}"
        )

    def _computed(self) -> str:
        """What the plan computes, what it stores beside that, and what it finds ready."""
        if self.computes is None:
            return ""
        beside = "".join(
            rf"\text{{ and }} {as_term(x.tensor).latex()} = {x.term.latex()}" for x in _beside(self.plan)
        )
        done = self._done(self.plan, self.computes)
        return rf":\ {done}{beside}{self._ready(self.plan)}{self._rounds(self.plan)}"

    def _done(self, plan: Plan, formula: Term) -> str:
        """What a plan computes; of a loop, the change that a round of it makes."""
        loop = self._rounds(plan)
        return rf"{plan[-1].tensor.symbol} \leftarrow {formula.latex()}" if loop else formula.latex()

    def _rounds(self, plan: Plan) -> str:
        """How often a loop is run."""
        if not plan or plan[-1].times == "1":
            return ""
        return rf"\text{{ in }} {sp.latex(self.expression(plan[-1].times))} \text{{ rounds}}"

    def _ready(self, plan: Plan) -> str:
        """The defined arrays that a plan finds ready."""
        read = {t for line in plan for t in tensors_of(line.term)} - {line.tensor for line in plan}
        ready = [as_term(g.tensor).latex() for g in self.given if g.tensor in read]
        return rf"\text{{ from }} {', '.join(ready)}" if ready else ""

    def _restricted(self, size: str, value: str) -> str:
        """What is put for a size: n + u with u >= 0 says that it is at least n."""
        name, put = self.expression(size), self.expression(value)
        least = put - sp.Symbol("u", nonnegative=True)
        free = {sp.Symbol(x, nonnegative=True) for x in _RESERVED} & least.free_symbols
        return f"{sp.latex(name)} = {sp.latex(put)}" if free else rf"{sp.latex(least)} \le {sp.latex(name)}"

    def expression(self, text: str) -> sp.Expr:
        """A count or size in the statement's symbols. Raises Malformed for one that is not listed."""
        domain = {x: sp.Symbol(x, nonnegative=True) for x in _RESERVED - {"t"}}
        return polynomial(text, {**_names(self.sizes), "t": T, **domain})


def polynomial(text: str, names: Mapping[str, Any]) -> Any:
    """A count that is written with sizes, whole numbers and + - * / **. Raises Malformed for anything
    else.
    """

    def read(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body):
                return read(body)
            case ast.Constant(int(value)) if not isinstance(value, bool):
                return sp.Integer(value)
            case ast.Name(name) if name in names:
                return names[name]
            case ast.UnaryOp(ast.USub(), operand):
                return -read(operand)
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as op, right):
                return _OPERATIONS[type(op)](read(left), read(right))
            case ast.BinOp(left, ast.Div(), ast.Constant(int(value))) if value:
                return read(left) / sp.Integer(value)
            case ast.BinOp(left, ast.Pow(), ast.Constant(int(value))) if 0 <= value <= 9:
                return read(left) ** value
        raise Malformed(f"{ast.unparse(node)} in a count: it is a polynomial in the listed sizes")

    try:
        return read(ast.parse(text, mode="eval"))
    except SyntaxError:
        raise Malformed(f"{text!r} is no polynomial in the listed sizes") from None


_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def _names(sizes: tuple[str, ...]) -> dict[str, sp.Symbol]:
    if composite := [s for s in sizes if not is_atom(s)]:
        raise Malformed(f"the sizes of a count have names of their own, not {', '.join(composite)}")
    return {s: sp.Symbol(s, positive=True, integer=True) for s in sizes}


def multiplications(expr: ix.Expr, names: dict[str, sp.Symbol]) -> sp.Expr:
    """The count of one evaluation of an expression as it is written, as a polynomial in the sizes."""
    inside = sum((multiplications(part, names) for part in ix.children(expr)), sp.Integer(0))
    if (isinstance(expr, ix.Call) and expr.function == "power") or (
        isinstance(expr, ix.Pow) and expr.exponent.denominator > 1 and abs(expr.exponent.numerator) > 1
    ):
        raise Malformed("how many multiplications such a power takes is not said")
    match expr:
        case ix.Mul(args):
            numbers = [a.value for a in args if isinstance(a, ix.Num)]
            scale = Fraction(1)
            for value in numbers:
                scale *= value
            factors = len(args) - len(numbers) + (abs(scale) != 1)
            return inside + max(0, factors - 1)
        case ix.Pow(_, exponent):
            return inside + abs(int(exponent)) - 1 if exponent.denominator == 1 and exponent else inside
        case ix.Sum(index, _):
            return inside * _size(index.dim, names)
    return inside


def _size(dim: str, names: dict[str, sp.Symbol]) -> Any:
    if dim != "1" and dim not in names:
        raise Malformed(f"{dim} is a dimension of the plan, and no listed size")
    return names.get(dim, 1)


def count(plan: Plan, sizes: tuple[str, ...], measure: str = "products") -> sp.Expr:
    """The count of a plan as a polynomial in the sizes."""
    names = _names(sizes)
    total = sp.Integer(0)
    kept: set[Tensor] = set()
    for line in plan:
        at = tuple(Index(f"e{n}#", d) for n, d in enumerate(line.term.shape()))
        entries = sp.Integer(1)
        for index in (*line.at, *at):
            entries *= _size(index.dim, names)
        if measure == "stored":
            total += entries if line.tensor not in kept else 0
            kept.add(line.tensor)
        else:
            repeats = entries * polynomial(line.times, names)
            total += repeats * multiplications(line.term.entry(*at), names)
    return sp.expand(total)


class _Number:
    """A rational number that counts the multiplications it takes part in."""

    done = 0

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def _times(self, other: Any) -> _Number:
        if not isinstance(other, _Number) and abs(other) == 1:
            return _Number(self.value * other)
        _Number.done += 1
        return _Number(self.value * _plain(other))

    def __pow__(self, power: int) -> _Number:
        _Number.done += abs(power) - 1
        return _Number(self.value**power)

    def __rtruediv__(self, other: Any) -> _Number:
        return _Number(_plain(other) / self.value)

    def __add__(self, other: Any) -> _Number:
        return _Number(self.value + _plain(other))

    __mul__ = __rmul__ = _times
    __radd__ = __add__


def _plain(value: Any) -> Fraction:
    return value.value if isinstance(value, _Number) else Fraction(value)


class _Opaque(dict[str, Any]):
    """Functions cost nothing here: their values are some number."""

    def __missing__(self, name: str) -> Any:
        return lambda *_: Fraction(7, 3) if name == "root" else _Number(Fraction(5, 3))


def run(plan: Plan, sizes: dict[str, int], measure: str = "products") -> int:
    """Evaluate a plan in counting arithmetic: how many multiplications it took, or how many numbers it
    left stored.
    """
    values: dict[tuple[Tensor, tuple[int, ...]], _Number] = {}
    stored: set[tuple[Tensor, tuple[int, ...]]] = set()

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> _Number:
        seed = 2 + (sum((n + 1) * (e + 1) for n, e in enumerate(entry)) + len(tensor.name)) % 5
        return values.setdefault((tensor, entry), _Number(Fraction(seed, 3)))

    _Number.done = 0
    longest = max((_rounds(line, sizes) for line in plan), default=0)
    for turn in range(longest):
        for line in plan:
            if turn < _rounds(line, sizes):
                stored |= _assign(line, sizes, lookup, values)
    return _Number.done if measure == "products" else len(stored)


def _rounds(line: Assign, sizes: dict[str, int]) -> int:
    return int(polynomial(line.times, {k: sp.Integer(v) for k, v in sizes.items()}))


def _assign(
    line: Assign, sizes: dict[str, int], lookup: Any, values: dict[Any, Any]
) -> set[tuple[Tensor, tuple[int, ...]]]:
    at = tuple(Index(f"e{n}#", d) for n, d in enumerate(line.term.shape()))
    places = (*line.at, *at)
    expr = line.term.entry(*at)
    new = {}
    for entry in product(*(range(sizes.get(i.dim, 1)) for i in places)):
        value = evaluate(expr, sizes, lookup, _Opaque(), dict(zip(places, entry, strict=True)))
        new[line.tensor, entry] = _Number(_plain(value))
    values.update(new)
    return set(new)


# ---------------------------------------------------------------- what a plan computes


def _held(plan: Plan, given: tuple[Given, ...]) -> list[Held]:
    """What each line holds after one round, in the symbols that the plan is given."""
    values: dict[Tensor, tuple[tuple[Index, ...], ix.Expr]] = {}
    before = {line.tensor: replace(line.tensor, name=f"{line.tensor.name}#before") for line in plan}
    lines = []
    for line in plan:
        inner = tuple(Index(f"e{n}", d).fresh() for n, d in enumerate(line.term.shape()))
        expr = line.term.entry(*inner)
        if loose := ix.free_indices(expr) - {*line.at, *inner}:
            raise Malformed(f"a line of the plan leaves {', '.join(sorted(i.name for i in loose))} open")
        for tensor, (at, value) in values.items():
            expr = ix.define(
                expr,
                tensor,
                lambda *idx, at=at, value=value: ix.rename(value, dict(zip(at, idx, strict=True))),
            )
        for tensor in (
            before.keys() - values.keys()
        ):  # read before its first assignment: not what it holds later
            expr = _renamed(expr, tensor, before[tensor])
        values[line.tensor] = ((*line.at, *inner), expr)
        for tensor, first in before.items():
            expr = _renamed(expr, first, tensor)
        lines.append((apply_definitions(expr, given), (*line.at, *inner)))
    return lines


def _renamed(expr: ix.Expr, old: Tensor, new: Tensor) -> ix.Expr:
    return ix.define(expr, old, lambda *idx: ix.At(new, idx))


def _pair(lines: list[Held], formula: Term, given: tuple[Given, ...]) -> tuple[ix.Expr, ix.Expr]:
    """What a plan's last line holds and the formula that it should be, at the same indices."""
    found, at = lines[-1]
    if (shape := tuple(i.dim for i in at)) != formula.shape():
        wanted = sized(formula.shape())
        order = {dim: n for n, dim in reversed([*enumerate(shape)])}
        loose = [i.name for i in sorted(free(formula), key=lambda i: (order.get(i.dim, len(order)), i.name))]
        entries = "".join(f"stack({i}, " for i in loose) + "…" + ")" * len(loose)
        hint = f"; {entries} has all entries" if loose else ""
        raise Malformed(
            f"the plan's last line is {sized(shape)}, the formula that it should compute {wanted}{hint}"
        )
    return found, apply_definitions(formula.entry(*at), given)


def _ready(plan: Plan, formula: Term, given: tuple[Given, ...]) -> str:
    """The defined array that a plan reads and that holds all that the plan is to compute."""
    read = {t for line in plan for t in tensors_of(line.term)} - {line.tensor for line in plan}
    for g in given:
        if g.tensor in read and g.tensor.dims == formula.shape():
            values = (apply_definitions(side, given) for side in (formula.entry(*g.at), g.value.entry()))
            if equal(*values):
                return g.tensor.name
    return ""


def _beside(plan: Plan) -> list[Assign]:
    """The lines whose results no other line uses, the last one left out."""
    return [
        line
        for n, line in enumerate(plan[:-1])
        if line.tensor != plan[-1].tensor
        and not any(line.tensor in tensors_of(o.term) for o in (*plan[:n], *plan[n + 1 :]))
    ]


def _dead(plan: Plan) -> list[Assign]:
    """The lines of which nothing gets into the last one, in this round or in the next."""
    passes = 1 if all(line.times == "1" for line in plan) else 1 + len(plan)
    needed, live = {line.tensor for line in plan[-1:]}, set()
    for n, line in [*enumerate(plan)][::-1] * passes:
        if line.tensor in needed:
            live.add(n)
            needed -= {line.tensor}
            needed |= tensors_of(line.term)
    return [line for n, line in enumerate(plan) if n not in live]


def _check(s: Cost) -> None:
    check_given(s.given)
    if len(set(s.sizes)) < len(s.sizes):
        raise Malformed("each size is listed once")
    if s.relation not in RELATIONS or s.measure not in ("products", "stored"):
        raise Malformed(f"a relation is one of {', '.join(RELATIONS)}, a measure products or stored")
    if not isinstance(s.constant, int) or s.constant < 1:
        raise Malformed(f"a bound is a positive whole number of times what is stated, not {s.constant}")
    if not s.plan or s.computes is None:
        raise Malformed("a cost is that of a plan, and the plan computes something")
    for idle in (*_dead(s.plan), *_dead(s.base)):
        if s.measure == "products":
            raise Malformed(f"a line of the plan computes {idle.tensor.name}, which nothing uses")
    if s.plan == s.base:
        raise Malformed("a plan is compared with itself")
    if any(order.is_mask(t) for line in (*s.plan, *s.base) for t in _read(line)):
        raise Malformed(
            "a plan has no masks: their products with 0 and 1 would be counted, and are not printed"
        )
    if bool(s.base) != (s.base_computes is not None):
        raise Malformed("the plan that is compared with computes something as well")
    if not all(_from_one(s.expression(value)) for _, value in s.domain):
        raise Malformed("a domain puts expressions for sizes that are sizes themselves")
    put = [s.expression(name) for name, _ in s.domain]
    used = set().union(*(s.expression(value).free_symbols for _, value in s.domain))
    if len(set(put)) < len(put) or used & set(put):
        raise Malformed("a domain puts each size once, in symbols that stay")
    slacks = [
        str(x) for _, value in s.domain for x in s.expression(value).free_symbols if str(x) in _RESERVED
    ]
    if len(set(slacks)) < len(slacks):
        raise Malformed(
            "a domain has a letter of its own, u or u_2, in each bound: in two it ties their sizes"
        )
    if reserved := {*s.sizes} & _RESERVED:
        raise Malformed(f"{', '.join(sorted(reserved))}: these letters belong to a ray and to a domain")
    if not all(_counts(s.expression(line.times)) for line in s.plan + s.base):
        raise Malformed("rounds are 1, or counted by sizes: a whole number that is never negative")
    for plan in (s.plan, s.base):
        _check_rounds(plan)
    if any(
        set(i.dim for i in line.at) & {"1"} or len(set(line.at)) < len(line.at) for line in s.plan + s.base
    ):
        raise Malformed("an assignment names each index of its tensor once")


def _check_rounds(plan: Plan) -> None:
    """One loop, and outside it only what does not depend on it: a line that did would hold an old value."""
    looping = [line for line in plan if line.times != "1"]
    assigned = {line.tensor for line in looping}
    stale = any(line.times == "1" and assigned & {line.tensor, *tensors_of(line.term)} for line in plan)
    if stale or len({line.times for line in looping}) > 1:
        raise Malformed("a plan has one loop, whose lines all have its rounds, and reads it nowhere else")


def cost(statement: Cost, seed: int, with_mutants: bool) -> Finding:
    """What the plans compute, the polynomial of the formulas against the printed count, and runs in
    counting arithmetic.
    """
    s = statement
    _check(s)
    finding = Finding()
    faithful = True
    missing: list[sg.Demand] = []
    for plan, formula in ((s.plan, s.computes), (s.base, s.base_computes)):
        if formula is None:
            continue
        lines = _held(plan, s.given)
        pair = _pair(lines, formula, s.given)
        if ready := _ready(plan, formula, s.given):
            raise Malformed(f"the plan finds in {ready} what it is to compute")
        still_open = open_demands([*(held for held, _ in lines), pair[1]], s.given, ())
        missing += still_open
        same = equal(*pair) and not still_open
        faithful &= same
        becomes = "=" if plan[-1].times == "1" else r"\leftarrow"
        latex = rf"{plan[-1].tensor.symbol} {becomes} {formula.latex()}"
        whose = "the plan" if plan is s.plan else "the plan that it is compared with"
        finding.steps.append(attempt(f"what {whose} computes", latex, "its lines put into each other", same))
        if not same and (where := told_apart(*pair, seed, ("the plan gives", "the formula"))):
            raise Malformed(f"the plan of {s.what} does not compute the formula that it stands for: {where}")
    counted = sp.expand(count(s.plan, s.sizes, s.measure) - count(s.base, s.sizes, s.measure))
    finding.steps.append(
        step(_counted_as(s), sp.latex(counted), "read off the formulas as they are written", faithful)
    )
    miscounted = _miscounted(s, counted)
    if miscounted or not faithful:
        hint = f": not shown is {named(missing[:3])}; a promise (positive=True) may do" if missing else ""
        why = miscounted or f"the plan is not shown to compute its formula{hint}"
        finding.evidence.append(Evidence("exact", "exact-rational", None, why))
        return finding
    wrong = disagreement(counted, s)
    detail = "runs in counting arithmetic count as the formulas do"
    finding.evidence.append(Evidence("exact", "exact-rational", False if wrong else True, detail))
    holds = False if wrong else agrees(counted, s.expression(s.printed), s) or None
    detail = f"counted {_count(counted)}, stated {_count(s.expression(s.printed))}"
    if holds is None:
        detail += f": {_missing(s)}"
    finding.evidence.append(Evidence("derivation", "exact-symbolic", holds, detail, settles=True))
    finding.counterexample = wrong
    if holds and s.relation != "=":
        finding.steps += [_bounded(way, s) for way in _ways(counted, s)]
    if with_mutants and holds:
        finding.mutants = _mutate(s, counted, seed)
    return finding


def _counted_as(s: Cost) -> str:
    return f"count: {s.what}" + (", less that of what it is compared with" if s.base else "")


def _missing(s: Cost) -> str:
    """What would settle a bound that is neither shown nor refuted."""
    times = "" if s.constant == 1 else f"{s.constant} times "
    why = f"the count is not shown to be at most {times}what is stated; a larger `constant` may do"
    if s.relation != "O":
        return why
    if not s.ray:
        alone = ", without a `domain`," if s.domain else ","
        return f"{why}; if none does, a `ray`{alone} sizes along which the ratio has no bound, refutes it"
    ray = "is not tried in a `domain`" if s.domain else "is none along which the ratio has no bound"
    return f"{why}; the `ray` {ray}"


_RUNS = 27


def _grid(s: Cost) -> Iterator[dict[str, int]]:
    every = [dict(zip(s.sizes, p, strict=True)) for p in product((1, 2, 3), repeat=len(s.sizes))]
    return iter(every[:: max(1, len(every) // _RUNS)])


def _count(expr: sp.Expr) -> str:
    return unicode_math(sp.latex(expr))


def _miscounted(s: Cost, counted: sp.Expr) -> str:
    names = _names(s.sizes)
    for sizes in _grid(s):
        ran = run(s.plan, sizes, s.measure) - run(s.base, sizes, s.measure)
        if ran != (written := counted.subs({names[k]: v for k, v in sizes.items()})):
            at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            hint = "; of a product with a delta, as in diag, write what is not 0" if _has_delta(s) else ""
            return f"a run at {at} counts {ran}, the formulas as they are written {written}{hint}"
    return ""


def _has_delta(s: Cost) -> bool:
    return any(isinstance(node, ix.Delta) for line in s.plan for node in ix.walk(_entry(line)))


def _entry(line: Assign) -> ix.Expr:
    return line.term.entry(*(Index(f"e{n}#", d) for n, d in enumerate(line.term.shape())))


def _read(line: Assign) -> set[Tensor]:
    """What a line reads; nothing of one that does not fit together, which is said elsewhere."""
    try:
        return ix.tensors(_entry(line))
    except (NonConformable, ValueError):
        return set()


def agrees(counted: sp.Expr, printed: sp.Expr, s: Cost) -> bool:
    """Equality of polynomials; an upper bound holds if it does coefficient by coefficient from size 1 on."""
    if s.relation == "=":
        return sp.expand(printed - counted) == 0
    return all(_never_negative(_shifted(way, printed, s)) for way in _ways(counted, s))


def _ways(counted: sp.Expr, s: Cost) -> tuple[sp.Expr, ...]:
    """What a bound is of: of the order of a difference, which may be below 0, the negative as well."""
    return (counted, -counted) if s.relation == "O" and s.base else (counted,)


def _never_negative(shifted: sp.Expr) -> bool:
    symbols = sorted(shifted.free_symbols, key=str)
    return bool(shifted >= 0) if not symbols else all(c >= 0 for c in sp.Poly(shifted, *symbols).coeffs())


def _shifted(counted: sp.Expr, printed: sp.Expr, s: Cost) -> sp.Expr:
    """What the bound exceeds the count by, in the domain, with 1 + x for each size x."""
    put = {s.expression(name): s.expression(value) for name, value in s.domain}
    difference = sp.expand((s.constant * printed - counted).subs(put, simultaneous=True))
    sizes = [x for x in difference.free_symbols if x.is_positive]
    return sp.expand(difference.subs({x: x + 1 for x in sizes}, simultaneous=True))


def _bounded(counted: sp.Expr, s: Cost) -> dict[str, Any]:
    """The step from the count to the bound: terms that are nonnegative from size 1 on."""
    printed = s.expression(s.printed)
    shifted = _shifted(counted, printed, s)
    less = {x: sp.Symbol(rf"({sp.latex(x)} - 1)") for x in shifted.free_symbols if x.is_positive}
    constant = rf"{s.constant}\," if s.constant != 1 else ""
    latex = rf"{constant}\left({sp.latex(printed)}\right) - \left({sp.latex(counted)}\right) = "
    latex += sp.latex(shifted.subs(less)) + (r" \ge 0" if shifted != 0 else "")
    domain = ", ".join(f"{name} = {value}" for name, value in s.domain)
    reason = "the bound less the count; no size is below 1" + (f", and {domain}" if domain else "")
    return step("bound", latex, reason, True)


def disagreement(counted: sp.Expr, s: Cost) -> str | None:
    """Sizes at which the count is not the printed one (beyond the bound), or a ray along which no
    constant bounds it.
    """
    names, printed = _names(s.sizes), s.expression(s.printed)
    if s.relation == "O":
        return _unbounded(counted, printed, s)
    if s.domain or agrees(counted, printed, s):
        return None
    for sizes in product((1, 2, 3, 10, 1000), repeat=len(s.sizes)):
        at = dict(zip(names.values(), sizes, strict=True))
        ours, theirs = counted.subs(at), printed.subs(at)
        if (ours != theirs) if s.relation == "=" else (ours > s.constant * theirs):
            used = counted.free_symbols | printed.free_symbols
            shown = ", ".join(f"{k} = {v}" for k, v in at.items() if k in used)
            unit = "multiplications" if s.measure == "products" else "numbers"
            unit = f"more {unit}" if s.base else unit  # the counts are differences then
            return (
                f"{shown}: {s.what} takes {ours} {unit}, the printed count is {theirs}; in general "
                f"{_count(counted)}"
            )
    return None


def _unbounded(counted: sp.Expr, printed: sp.Expr, s: Cost) -> str | None:
    if not s.ray or s.domain:
        return None
    put = {s.expression(name): s.expression(value) for name, value in s.ray}
    if not all(_from_one(value) for value in put.values()):
        raise Malformed("a ray runs through sizes: numbers from 1 on, or 1 and more times t")
    if set(put) != set(_names(s.sizes).values()):
        raise Malformed("a ray gives every size")
    ratio = sp.simplify((counted / printed).subs(put))
    if sp.limit(ratio, T, sp.oo) not in (sp.oo, -sp.oo):
        return None
    along = ", ".join(f"{name} = {value}" for name, value in put.items())
    values = ", ".join(f"{ratio.subs(T, n)} at t = {n}" for n in (1, 10, 100))
    return f"along {along} the count over the bound is {ratio}: {values}, unbounded"


def _from_one(value: sp.Expr) -> bool:
    """Whether an expression is visibly a size for all t >= 1, or for u, u_2 >= 0 and other sizes:
    coefficients >= 0, one >= 1.
    """
    polynomial = sp.expand(value)
    if not polynomial.is_polynomial(*polynomial.free_symbols):
        return False
    terms = [c for c in sp.Poly(polynomial, *polynomial.free_symbols, sp.Dummy()).coeffs()]
    counts = [
        t for t in sp.Add.make_args(polynomial) if not any(str(x).startswith("u") for x in t.free_symbols)
    ]
    return all(c.is_integer and c >= 1 for c in terms) and bool(counts)


def _counts(times: sp.Expr) -> bool:
    """Whether an expression is visibly a whole number, never negative, for all sizes from 1 on."""
    if times.is_number:
        return bool(times == 1)
    shifted = sp.expand(times.subs({x: x + 1 for x in times.free_symbols}, simultaneous=True))
    return all(c.is_integer and c >= 0 for c in sp.Poly(shifted, *shifted.free_symbols).coeffs())


def _mutate(s: Cost, counted: sp.Expr, seed: int) -> Mutants:
    """Wrong counts, and plans with a wrong or a missing line, which must not compute the formula."""
    result, printed = Mutants(), s.expression(s.printed)
    terms = [t for t in sp.Add.make_args(sp.expand(printed)) if t != 0]
    wrong = [
        ("plus one", printed + 1),
        ("minus one", printed - 1),
        *((f"{t} twice", printed + t) for t in terms),
    ]
    if s.relation != "=":
        wrong = [(f"without {x}", printed.subs(x, 1)) for x in sorted(printed.free_symbols, key=str)]
    for what, changed in wrong:
        result.tried += 1
        if not agrees(counted, changed, s):
            result.killed += 1
        elif s.relation == "=":
            result.survivors.append(f"count {what}")
        else:
            result.equivalent += 1  # a smaller bound that holds as well
    for what, plan in _plans(s.plan):
        result.tried += 1
        assert s.computes is not None
        pair = _pair(_held(plan, s.given), s.computes, s.given)
        if rejects(*pair, (), seed):
            result.killed += 1
        elif equal(*pair):
            result.equivalent += 1
        else:
            result.survivors.append(what)
    return result


def _plans(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """The plan without one of its lines, and with one line's formula changed."""
    for n, line in enumerate(plan):
        if n < len(plan) - 1 and not any(line.tensor == other.tensor for other in plan[n + 1 :]):
            yield f"line {n + 1} left out", plan[:n] + plan[n + 1 :]
        for what, changed in mutants(line.term, 3):
            yield f"line {n + 1}: {what}", (*plan[:n], replace(line, term=changed), *plan[n + 1 :])


ENGINES[Cost] = cost
