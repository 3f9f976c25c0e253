"""What theorems about the same symbols share: names, hypotheses, definitions, and how formulas are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from checks.engine.hypotheses import apply_definitions
from checks.kernel import paper
from checks.kernel.theorem import Theorem, filled
from checks.kernel.trees import Function, NotCovered, Symbols, application, deep, plain, plain_dims, readable
from checks.statement import Given
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus.functions import EXPONENT
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import POSITIVE_FUNCTIONS
from derivations.calculus.term import Term


def loose(exprs: Iterable[ix.Expr], first: Iterable[Index] = ()) -> list[Index]:
    """The free indices that have a range, in order of occurrence after those that come first."""
    found = list(dict.fromkeys(first))
    for expr in exprs:
        for index in _occurring(expr, frozenset()):
            if index not in found:
                found.append(index)
    return plain(tuple(found))


def _occurring(expr: ix.Expr, bound: frozenset[Index]) -> Iterable[Index]:
    match expr:
        case ix.At(_, indices):
            yield from (i for i in indices if i not in bound)
        case ix.Delta(left, right):
            yield from (i for i in (left, right) if i not in bound)
        case ix.Sum(index, body):
            yield from _occurring(body, bound | {index})
        case _:
            for part in ix.children(expr):
                yield from _occurring(part, bound)


def ordered(given: Iterable[Given]) -> list[Given]:
    """Definitions, each after those that it uses."""
    todo, done = list(given), []
    while todo:
        names = {g.tensor for g in todo}
        ready = [g for g in todo if not ix.tensors(g.value.entry()) & names]
        if not ready:
            raise NotCovered("definitions that go round in a circle")
        done += ready
        todo = [g for g in todo if g not in ready]
    return done


@dataclass
class Context:
    """What theorems about the same symbols share.

    ``exprs`` are the formulas, ``given`` and ``nonzero`` a statement's hypotheses, ``first`` the indices that
    come first among the free ones. ``aliases`` are tensors of the model only: names for formulas, as text
    from the names of their indices. ``vanishing`` has expressions without indices that do not vanish, and
    the proofs.
    ``expanded``: whether functions with a formula by exponentials are written by it; ``pieces``: whether
    those of `PIECES` are defined, and not any functions of that name, and a power has a whole exponent.
    """

    exprs: tuple[ix.Expr, ...]
    given: tuple[Given, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    first: tuple[Index, ...] = ()
    expanded: bool = False
    pieces: bool = False
    aliases: dict[Tensor, Callable[[list[str]], str]] = field(default_factory=dict)
    symbols: Symbols = field(default_factory=Symbols)
    intros: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    about: dict[object, str] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)
    vanishing: list[tuple[ix.Expr, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.definitions = self.given
        defined = {g.tensor for g in self.given}
        used = set().union(*(ix.tensors(e) for e in self.exprs)) | (defined & set(self.nonzero))
        while more := {t for g in self.given if g.tensor in used for t in ix.tensors(g.value.entry())} - used:
            used |= more
        self.given = tuple(ordered(g for g in self.given if g.tensor in used))
        self.free = loose(self.exprs, self.first)
        for expr in (*self.exprs, *(g.value.entry() for g in self.given)):
            self.symbols.add(self.put(expr))
        for index in self.free:
            self.symbols.add_dim(index.dim)
        self.base = list(self.symbols.tensors)
        self._name_everything()
        self.scope: dict[Index, str] = {}
        for index in self.free:
            self.scope[index] = self.symbols.index(index, self.scope)
        self.promises: dict[tuple[str, Tensor], str] = {}

    def _name_everything(self) -> None:
        """Symbols before indices, so that they keep their names."""
        for dim in self.symbols.dims:
            self.symbols.dim(dim)
        for tensor in (*self.base, *(g.tensor for g in self.given)):
            self.symbols.tensor(tensor)
        for function in (*self.symbols.functions, *self.by_exponentials()):
            self.symbols.function(function)

    def alias(self, tensor: Tensor, value: Callable[[list[str]], str], positive: str = "") -> None:
        """A tensor of the model only, and the proof that it is positive where it is so."""
        self.symbols.add_tensor(tensor)
        self.aliases[tensor] = value
        if positive:
            self.promises["positive", tensor] = positive

    def put(self, expr: ix.Expr, but: Tensor | None = None) -> ix.Expr:
        """The expression that the checker sees: definitions put in, but that of one tensor of the model."""
        expr = apply_definitions(expr, tuple(g for g in self.definitions if g.tensor != but))
        return fn.by_exponentials(expr) if self.expanded else expr

    def by_exponentials(self) -> list[tuple[str, int]]:
        """The functions that the statement defines by exponentials."""
        if not self.expanded:
            return []
        everything = [n for e in (*self.exprs, *(g.value.entry() for g in self.given)) for n in ix.walk(e)]
        calls = (n for n in everything if isinstance(n, ix.Call) and n.order == 0)
        return list(dict.fromkeys((n.function, 0) for n in calls if _by_exp(n.function)))

    def deep(self, expr: ix.Expr, but: Tensor | None = None, scope: tuple[Index, ...] | None = None) -> str:
        """The checker's tree of an expression, as `put` gives it; its free indices are all, or ``scope``."""
        return f"{deep(self.put(expr, but), tuple(self.free) if scope is None else scope, self.symbols)}%nat"

    def readable(self, expr: ix.Expr, scope: Mapping[Index, str] | None = None, level: int = 50) -> str:
        """The formula of an expression."""
        return readable(expr, self.scope if scope is None else scope, self.symbols, level)

    def shown(
        self,
        term: Term,
        at: tuple[Index, ...] = (),
        scope: Mapping[Index, str] | None = None,
        level: int = 50,
    ) -> str:
        """A printed formula with the papers' operations; one with stacked dimensions by its entries."""
        scope = self.scope if scope is None else scope
        try:
            return paper.formula(term, at, scope, self.symbols, level)
        except NotCovered:
            return self.readable(term.entry(*at), scope, level)

    def array(self, term: Term) -> str:
        """A printed formula as an argument."""
        return paper.array(term, self.scope, self.symbols)

    def bound(self, text: str) -> str:
        """A name like a text for what a function is of: no symbol has it, so that none is captured."""
        return self.symbols.index(Index(text, "1"), self.scope)

    def entry(self, tensor: Tensor, names: list[str]) -> str:
        """One entry of a tensor."""
        return application(self.symbols.tensor(tensor), names)

    def within(self, names: list[str], dims: list[str]) -> str:
        """Quantifiers over indices in their ranges."""
        return "".join(
            f"forall {n}, ({n} < {self.symbols.dim(d)})%nat -> " for n, d in zip(names, dims, strict=True)
        )

    def everywhere(self, indices: Iterable[Index] | None = None) -> str:
        """Quantifiers over the free indices, or over some of them."""
        own = list(self.free if indices is None else indices)
        return self.within([self.scope[i] for i in own], [i.dim for i in own])

    def places(self, indices: Iterable[Index] | None = None) -> str:
        """The free indices, or some of them, and the proofs of their ranges, as arguments."""
        own = self.free if indices is None else indices
        return " ".join(f"{self.scope[i]} range_{self.scope[i]}" for i in own)

    # ------------------------------------------------------------ the statement

    def hypothesis(self, text: str, about: object = None) -> tuple[str, str]:
        """A new hypothesis: its name in proofs, and its line. ``about`` says what it is for `applied`."""
        name = f"hyp{len(self.intros)}"
        self.intros.append(name)
        self._argument(name, about or name)
        return name, filled(f"({text}) ->")

    def _argument(self, name: str, about: object) -> None:
        self.arguments.append(name)
        self.about[about] = name

    def differentiable(self, function: Function) -> str:
        """The line that says that a function has the derivative that is called so."""
        one, two = (self.symbols.function(f) for f in (function, (function[0], function[1] + 1)))
        return self.hypothesis(f"forall x, derivable_pt_lim {one} x ({two} x)", ("derivable", function))[1]

    def applied(self, theorem: Theorem, other: Context, *more: str) -> str:
        """A theorem about the same symbols, with this one's names and proofs for them, and further proofs.

        A tensor that is no argument here is one that the proof has made.
        """
        about = list(other.about)[: len(other.about) - len(more)]
        made = {t: self.symbols.tensor(t) for t in other.base if t not in self.about}
        shared = [self.about.get(what) or made[what] for what in about]  # type: ignore[index]
        return " ".join([f"({theorem.name}", *shared, *more]) + ")"

    def header(self) -> list[str]:
        """The lines of a theorem up to its own hypotheses: symbols, promises, definitions."""
        s = self.symbols
        self.intros, self.arguments, self.promises, self.about = [], [], {}, {}
        functions = [f for f in s.functions if f != ("log", 0) and f not in self.by_pieces()]
        binders = [(s.dim(d), "nat") for d in s.dims]
        binders += [(s.tensor(t), " -> ".join(["nat"] * len(plain_dims(t)) + ["R"])) for t in self.base]
        binders += [(s.function(f), "R -> R") for f in functions]
        degree = [DEGREE] if self.pieces and POWER in functions else []
        binders += [(s.tensor(t), "nat") for t in degree]
        lines = [filled(f"forall {_grouped(binders)},")] if binders else []
        self.intros += [name for name, _ in binders]
        for (name, _), what in zip(binders, (*s.dims, *self.base, *functions, *degree), strict=True):
            self._argument(name, what)
        self.sizes = [self.hypothesis(f"(0 < {s.dim(d)})%nat", ("size", d))[0] for d in s.dims]
        if self.sizes:
            lines.append(filled(" ".join(f"(0 < {s.dim(d)})%nat ->" for d in s.dims)))
        for what, tensor, says in self._promised():
            self.promises[what, tensor], line = self.hypothesis(says, (what, tensor))
            lines.append(line)
        for function in self.positive_functions():
            says = f"forall x, 0 < {s.function(function)} x"
            lines.append(self.hypothesis(says, ("positive", function))[1])
        if degree:
            lines += [self.hypothesis(text, what)[1] for what, text in self._powers(s.tensor(DEGREE))]
        return [*lines, *self._definitions()]

    def _powers(self, degree: str) -> Iterable[tuple[str, str]]:
        """What is said of the exponent of a power, and of the power."""
        yield "whole", f"(0 < {degree})%nat"
        if EXPONENT in self.base:
            yield "number", f"{self.symbols.tensor(EXPONENT)} = INR {degree}"
        yield "power", f"forall x, {self.symbols.function(POWER)} x = x ^ {degree}"

    def _promised(self) -> list[tuple[str, Tensor, str]]:
        """What is promised of each tensor that is not defined."""
        found = []
        for t in self.base:
            if t.positive:
                found.append(("positive", t, self._each(t, "0 < {}")))
            if t in self.nonzero:
                found.append(("nonzero", t, self._each(t, "{} <> 0")))
            if t.symmetric and len(plain_dims(t)) == 2:
                found.append(("symmetric", t, self._each(t, f"{{}} = {self.entry(t, ['i1', 'i0'])}")))
        return found

    def _each(self, tensor: Tensor, says: str) -> str:
        """What is said of every entry of a tensor."""
        names = [f"i{n}" for n, _ in enumerate(plain_dims(tensor))]
        return self.within(names, plain_dims(tensor)) + says.format(self.entry(tensor, names))

    def by_pieces(self) -> list[Function]:
        """The functions that the statement defines on both sides of numbers."""
        return [f for f in self.symbols.functions if f in PIECES] if self.pieces else []

    def _definitions(self) -> list[str]:
        lines = []
        for f in self.by_pieces():
            own, x = self.symbols.function(f), self.symbols.tensor(_VARIABLE)
            lines.append(filled(f"let {own} := fun {x} => {PIECES[f][0].format(x=x)} in"))
            self.intros.append(own)
        for name, order in self.by_exponentials():
            own, x = self.symbols.function((name, order)), self.symbols.tensor(_VARIABLE)
            body = self.readable(fn.by_exponentials(ix.Call(name, _VARIABLE.scalar)), {})
            lines.append(filled(f"let {own} := fun {x} => {body} in"))
            self.intros.append(own)
        for g in self.given:
            scope: dict[Index, str] = {}
            for i in plain(g.at):
                scope[i] = self.symbols.index(i, scope)
            head = f"fun {' '.join(scope.values())} => " if scope else ""
            body = self.shown(g.value, (), scope)
            lines.append(filled(f"let {self.symbols.tensor(g.tensor)} := {head}{body} in"))
            self.intros.append(self.symbols.tensor(g.tensor))
            if g.tensor in self.nonzero:
                text = self._each(g.tensor, "{} <> 0")
                self.promises["nonzero", g.tensor], line = self.hypothesis(text, ("nonzero", g.tensor))
                lines.append(line)
        return lines

    def positive_functions(self) -> list[tuple[str, int]]:
        """The functions that take positive values only."""
        own = [f for f in self.symbols.functions if f not in self.by_pieces()]
        return [f for f in own if f[0] in POSITIVE_FUNCTIONS and f[1] == 0]

    def intro(self) -> str:
        """The line of a proof that names what the statement quantifies."""
        return filled(f"intros {' '.join(self.intros)}.") if self.intros else "  idtac."


POWER, DEGREE = ("power", 0), Tensor("degree#", ())
_VARIABLE = Tensor("x", ())
_IS, _EXP = "(Plain (At 0 []))", "(Plain (Exp (At 0 [])))"
PIECES: dict[Function, tuple[str, str]] = {
    ("sign", 0): ("cases {x} 0 (-1) 0 1", "(Cases 0 (Plain (Num (-1))) (Plain (Num 0)) (Plain (Num 1)))"),
    ("relu", 0): ("cases {x} 0 0 0 {x}", f"(Cases 0 (Plain (Num 0)) (Plain (Num 0)) {_IS})"),
    ("elu1", 0): (
        "cases {x} 0 (exp {x}) (exp {x}) ({x} + 1)",
        f"(Cases 0 {_EXP} {_EXP} (Plain (Add (At 0 []) (Num 1))))",
    ),
    ("clip", 0): (
        "cases {x} (-1) (-1) (-1) (cases {x} 1 {x} 1 1)",
        f"(Cases (-1) (Plain (Num (-1))) (Plain (Num (-1))) (Cases 1 {_IS} (Plain (Num 1)) (Plain (Num 1))))",
    ),
}
"""Functions by what they are below a number, at it and above: in a statement, and for the checker."""


def _by_exp(name: str) -> bool:
    return name in fn.KNOWN and fn.KNOWN[name].by_exp is not None


def _grouped(binders: list[tuple[str, str]]) -> str:
    """Neighbours of one type in one pair of parentheses."""
    groups: list[tuple[list[str], str]] = []
    for name, kind in binders:
        if groups and groups[-1][1] == kind:
            groups[-1][0].append(name)
        else:
            groups.append(([name], kind))
    return " ".join(f"({' '.join(names)} : {kind})" for names, kind in groups)
