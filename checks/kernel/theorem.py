"""A theorem for Rocq: its symbols and hypotheses, and the model of them in which the checker computes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from checks.engine.hypotheses import apply_definitions
from checks.kernel.trees import NotCovered, Symbols, application, deep, plain, plain_dims, readable
from checks.statement import Given
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import POSITIVE_FUNCTIONS

YES = "ltac:(vm_cast_no_check (eq_refl true))"
"""The proof that the checker said yes: the kernel runs it."""
_WIDTH = 106


@dataclass(frozen=True)
class Theorem:
    """What Rocq checks: ``statement`` from "Theorem" to its full stop, ``proof`` from "Proof." to "Qed."."""

    name: str
    statement: str
    proof: str

    @property
    def text(self) -> str:
        """Both."""
        return f"{self.statement}\n{self.proof}"


def listed(items: Iterable[object], separator: str = "; ") -> str:
    """A list in Rocq."""
    return f"[{separator.join(map(str, items))}]"


def conjunction(proofs: Iterable[str]) -> str:
    """A proof of a conjunction that ends in True."""
    found = list(proofs)
    return "".join(f"(conj {p} " for p in found) + "I" + ")" * len(found)


def filled(text: str, indent: str = "  ") -> str:
    """Lines of a width that can be read; Rocq does not care."""
    return textwrap.fill(
        text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


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
    ``expanded``: whether functions with a formula by exponentials are written by it.
    """

    exprs: tuple[ix.Expr, ...]
    given: tuple[Given, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    first: tuple[Index, ...] = ()
    expanded: bool = False
    aliases: dict[Tensor, Callable[[list[str]], str]] = field(default_factory=dict)
    symbols: Symbols = field(default_factory=Symbols)
    intros: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
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

    def entry(self, tensor: Tensor, names: list[str]) -> str:
        """One entry of a tensor."""
        return application(self.symbols.tensor(tensor), names)

    def within(self, names: list[str], dims: list[str]) -> str:
        """Quantifiers over indices in their ranges."""
        return "".join(
            f"forall {n}, ({n} < {self.symbols.dim(d)})%nat -> " for n, d in zip(names, dims, strict=True)
        )

    def everywhere(self) -> str:
        """Quantifiers over the free indices."""
        return self.within([self.scope[i] for i in self.free], [i.dim for i in self.free])

    def places(self) -> str:
        """The free indices and the proofs of their ranges, as arguments."""
        return " ".join(f"{self.scope[i]} range_{self.scope[i]}" for i in self.free)

    # ------------------------------------------------------------ the statement

    def hypothesis(self, text: str) -> tuple[str, str]:
        """A new hypothesis: its name in proofs, and its line."""
        name = f"hyp{len(self.intros)}"
        self.intros.append(name)
        self.arguments.append(name)
        return name, filled(f"({text}) ->")

    def header(self) -> list[str]:
        """The lines of a theorem up to its own hypotheses: symbols, promises, definitions."""
        s = self.symbols
        self.intros, self.arguments, self.promises = [], [], {}
        functions = [f for f in s.functions if f != ("log", 0)]
        binders = [(s.dim(d), "nat") for d in s.dims]
        binders += [(s.tensor(t), " -> ".join(["nat"] * len(plain_dims(t)) + ["R"])) for t in self.base]
        binders += [(s.function(f), "R -> R") for f in functions]
        lines = [filled(f"forall {_grouped(binders)},")] if binders else []
        names = [name for name, _ in binders]
        self.intros += names
        self.arguments += names
        self.sizes = [self.hypothesis(f"(0 < {s.dim(d)})%nat")[0] for d in s.dims]
        if self.sizes:
            lines.append(filled(" ".join(f"(0 < {s.dim(d)})%nat ->" for d in s.dims)))
        for what, tensor, says in self._promised():
            self.promises[what, tensor], line = self.hypothesis(says)
            lines.append(line)
        for function in self.positive_functions():
            lines.append(self.hypothesis(f"forall x, 0 < {s.function(function)} x")[1])
        return [*lines, *self._definitions()]

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

    def _definitions(self) -> list[str]:
        lines = []
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
            body = self.readable(g.value.entry(), scope)
            lines.append(filled(f"let {self.symbols.tensor(g.tensor)} := {head}{body} in"))
            self.intros.append(self.symbols.tensor(g.tensor))
            if g.tensor in self.nonzero:
                text = self._each(g.tensor, "{} <> 0")
                self.promises["nonzero", g.tensor], line = self.hypothesis(text)
                lines.append(line)
        return lines

    def positive_functions(self) -> list[tuple[str, int]]:
        """The functions that take positive values only."""
        return [f for f in self.symbols.functions if f[0] in POSITIVE_FUNCTIONS and f[1] == 0]

    # ------------------------------------------------------------ the model

    def setup(self) -> list[str]:
        """Lines of a proof: what the checker is told, the model, and that it keeps the promises."""
        s = self.symbols
        facts = [g for g in self.given if g.tensor in self.nonzero]
        sizes = listed(listed(s.dims.index(d) for d in plain_dims(t)) for t in s.tensors)
        stated = [
            f"({listed(s.dims.index(i.dim) for i in plain(g.at))}, "
            f"{deep(self.put(g.value.entry()), tuple(plain(g.at)), s)})"
            for g in facts
        ] + [f"([], {deep(self.put(e), (), s)})" for e, _ in self.vanishing]
        positive = listed(s.functions.index(f) for f in self.positive_functions())
        ranges = listed(s.dims.index(i.dim) for i in self.free)
        return [
            f"  set (the_data := ({{| d_shapes := {sizes};",
            f"    d_pos := {self._numbers('positive')}; d_nz := {self._numbers('nonzero')};"
            f" d_posf := {positive}; d_sym := {self._numbers('symmetric')};",
            filled(f"d_facts := {listed(stated)} |}})%nat).", "    "),
            "  set (the_model := {|",
            filled(f"dims := fun the_dim => nth the_dim {listed(map(s.dim, s.dims))} 1%nat;", "    "),
            *[filled(line, "    ") for line in self._values()],
            f"  set (the_ranges := ({ranges} : list nat)%nat).",
            "  assert (promises : meets the_data the_model).",
            *[filled(line) for line in self._kept(facts)],
        ]

    def _numbers(self, what: str) -> str:
        return listed(n for n, t in enumerate(self.symbols.tensors) if (what, t) in self.promises)

    def _values(self) -> list[str]:
        tensors = []
        for t in self.symbols.tensors:
            names = [f"at{n}" for n, _ in enumerate(plain_dims(t))]
            value = self.aliases[t](names) if t in self.aliases else self.entry(t, names)
            tensors.append(f"fun the_entry => match the_entry with {listed(names)} => {value} | _ => 1 end")
        functions = listed(self.symbols.function(f) for f in self.symbols.functions)
        return [
            f"ten := fun the_tensor => nth the_tensor {listed(tensors)} (fun _ => 1);",
            f"fn := fun the_function => nth the_function {functions} (fun x => x) |}}).",
        ]

    def _kept(self, facts: list[Given]) -> list[str]:
        proofs = {
            what: conjunction(
                self.promises[what, t] for t in self.symbols.tensors if (what, t) in self.promises
            )
            for what in ("positive", "nonzero", "symmetric")
        }
        stated = []
        for g in facts:
            entries = "".join(f" (s {n}%nat) (v {n}%nat _ eq_refl)" for n, _ in enumerate(plain(g.at)))
            stated.append(f"(fun s v => {self.promises['nonzero', g.tensor]}{entries})")
        stated += [f"(fun _ _ => {proof})" for _, proof in self.vanishing]
        return [
            f"{{ split; [sizes | exact {proofs['positive']} | exact {proofs['nonzero']} |",
            f"exact {proofs['symmetric']} | functions | exact {conjunction(stated)}]. }}",
        ]

    def intro(self) -> str:
        """The line of a proof that names what the statement quantifies."""
        return filled(f"intros {' '.join(self.intros)}.") if self.intros else "  idtac."


_VARIABLE = Tensor("x", ())


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
