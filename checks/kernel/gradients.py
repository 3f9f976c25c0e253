"""Equalities in which gradients occur, as theorems about every array that is the gradient.

Our differentiation is not in what they say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from checks.kernel.context import Context
from checks.kernel.derivatives import along, differentiated, mentioned, picked, slope
from checks.kernel.equalities import places
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled
from checks.kernel.trees import NotCovered, plain, plain_dims
from checks.statement import Given, Identity
from derivations.calculus import index as ix
from derivations.calculus.gradients import Differential, Gradient, Moved
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Softmax, Stack, SumOver, Symbol, Term, free, subterms


@dataclass(frozen=True)
class Occurrence:
    """A gradient in a formula, the tensor that stands for it, and the point where it is taken, where that is
    given by a value.
    """

    term: Gradient
    named: Tensor
    moved: tuple[tuple[Tensor, Term], ...]
    at: tuple[Index, ...]

    def formula(self) -> ix.Expr:
        """An entry, as it is differentiated."""
        whole: Term = self.term
        for tensor, value in self.moved:
            whole = Moved((whole,), (tensor, value))
        return whole.entry(*self.at)

    def points(self) -> tuple[Given, ...]:
        """Where it is taken, as definitions."""
        found = []
        for tensor, value in self.moved:
            at = places("z", tensor.dims)
            if tensor in ix.tensors(value.entry(*at)):
                raise NotCovered("a gradient at a point that mentions what it is by")
            found.append(Given(tensor, at, value[at] if at else value, "the point"))
        return tuple(found)


def related(name: str, s: Identity) -> list[Theorem]:
    """The theorems for an equality with gradients that are not one of its sides alone; none without such.

    Raises NotCovered.
    """
    every = [t for side in (s.lhs, s.rhs) for _, t in subterms(side)]
    if not any(isinstance(t, Gradient) for t in every) or any(isinstance(t, Differential) for t in every):
        return []
    if any(isinstance(picked(side)[0], Gradient) for side in (s.lhs, s.rhs)):
        return []
    finder = _Finder()
    left, right = (finder.named(side, (), frozenset()) for side in (s.lhs, s.rhs))
    return _Related(name, s, (left, right), finder.found).theorems()


class _Finder:
    """Puts names for gradients."""

    def __init__(self) -> None:
        self.found: list[Occurrence] = []

    def named(self, term: Term, moved: tuple[tuple[Tensor, Term], ...], bound: frozenset[Index]) -> Term:
        if isinstance(term, Gradient):
            return self._name(term, moved, bound)
        if isinstance(term, Moved):
            if moved:
                raise NotCovered("a point inside a point")
            inner = self.named(term.args[0], (term.data,), bound)
            return replace(term, args=(inner,))
        if isinstance(term, SumOver | Stack | Softmax):
            bound |= {term.data}
        return replace(term, args=tuple(self.named(a, moved, bound) for a in term.args))

    def _name(self, term: Gradient, moved: tuple[tuple[Tensor, Term], ...], bound: frozenset[Index]) -> Term:
        energy, tensor, _ = term.data
        if free(energy) & bound:
            raise NotCovered("a gradient of a term with an index that is summed over")
        for o in self.found:
            if o.term.data[:2] == (energy, tensor) and o.moved == moved:
                return Symbol((), o.named)
        own = Tensor(f"gradient{len(self.found) + 1}", tensor.dims)
        self.found.append(Occurrence(term, own, moved, places("d", tensor.dims)))
        return Symbol((), own)


class _Related:
    def __init__(self, name: str, s: Identity, sides: tuple[Term, Term], found: list[Occurrence]) -> None:
        self.name, self.s, self.sides, self.found = name, s, sides, found
        self.places = places("e", s.lhs.shape())
        self.plain = [side.entry(*self.places) for side in (s.lhs, s.rhs)]
        self.formulas = [o.formula() for o in found]
        energies = [o.term.data[0].entry() for o in found]
        own = zip(energies, (o.term.data[1] for o in found), strict=True)
        self.functions = sorted({f for e, t in own for f in differentiated(e, s.given, t)})
        entries = [side.entry(*self.places) for side in sides]
        values = [v.entry(*places("z", t.dims)) for o in found for t, v in o.moved]
        exprs = (*self.plain, *entries, *self.formulas, *energies, *values, *mentioned(self.functions))
        self.context = Context(exprs, s.given, s.nonzero, self.places)
        inner = {i for o in found for i in o.at} | {i for v in values for i in ix.free_indices(v)}
        shown = {i for e in self.plain for i in ix.free_indices(e)} | set(self.places)
        self.context.free = [i for i in self.context.free if i not in inner - shown]
        apart = {t for o in found for t, _ in o.moved}
        needed = set().union(*map(ix.tensors, (*self.plain, *self.formulas)))
        needed |= set().union(*(ix.tensors(o.term.data[0].entry()) for o in found if not o.moved))
        self.hidden = apart - needed
        self.context.base = [t for t in self.context.base if t not in self.hidden]

    def theorems(self) -> list[Theorem]:
        """The slopes at the points, and the equality for every array that is the gradient."""
        slopes = []
        for n, (o, formula) in enumerate(zip(self.found, self.formulas, strict=True), 1):
            energy, tensor, _ = o.term.data
            given = (*self.s.given, *o.points())
            value = Raw((), formula) if o.moved else None
            own, entry = f"{self.name}_slope{n}", o.term.entry(*o.at)
            slopes.append(slope(own, energy, tensor, o.at, entry, given, self.s.nonzero, value=value))
        context = self.context
        lines = [f"Theorem {self.name}_gradients :", *context.header()]
        for f in self.functions:
            lines.append(context.differentiable(f))
        assumed = []
        for o in self.found:
            known, line = context.hypothesis(self._is_gradient(o))
            assumed.append(known)
            lines.append(line)
        if context.free:
            lines.append(filled(context.everywhere()))
        left, right = (context.shown(side, self.places) for side in self.sides)
        lines += [filled(left), filled(f"= {right}.")]
        proof = ["Proof.", context.intro(), *self._proof(slopes, assumed), "Qed."]
        theorem = Theorem(f"{self.name}_gradients", "\n".join(lines), "\n".join(proof))
        return [*(own for own, _ in slopes), theorem]

    def _quantified(self, o: Occurrence) -> tuple[str, str]:
        names = [self.context.scope[i] for i in plain(o.at)]
        return self.context.within(names, [i.dim for i in plain(o.at)]), " ".join(names)

    def _is_gradient(self, o: Occurrence) -> str:
        """That a tensor is the gradient, by the derivative."""
        energy, tensor, _ = o.term.data
        ranges, names = self._quantified(o)
        own = self.context.entry(o.named, names.split())
        text = f"{ranges}derivable_pt_lim ({along(self.context, energy, tensor, o.at)}) 0 ({own})"
        for moved, value in o.moved:
            text = f"let {self.context.symbols.tensor(moved)} := {self.context.array(value)} in {text}"
        return text

    def _proof(self, slopes: list[tuple[Theorem, Context]], assumed: list[str]) -> list[str]:
        """The arrays are what is differentiated, and with that in their place the equality holds."""
        context = self.context
        for t in self.hidden:
            context.alias(t, lambda _: "0")
        for o, formula in zip(self.found, self.formulas, strict=True):
            context.alias(o.named, partial(self._entry, o, formula))
        proof = setup(context)
        for n, (o, (theorem, own)) in enumerate(zip(self.found, slopes, strict=True)):
            ranges, names = self._quantified(o)
            here = "".join(f" {i} range_{i}" for i in names.split())
            equal = f"{context.entry(o.named, names.split())} = {context.readable(self.formulas[n])}"
            same = f"uniqueness_limite _ _ _ _ ({assumed[n]}{here}) ({context.applied(theorem, own)}{here})"
            intros = f"intros{here}. " if here else ""
            proof.append(filled(f"assert (same{n} : {ranges}{equal})."))
            proof.append(filled(f"{{ {intros}exact ({same}). }}"))
        return [*proof, f"  exact {self._replaced()}."]

    def _entry(self, o: Occurrence, formula: ix.Expr, names: list[str]) -> str:
        scope = {**self.context.scope, **dict(zip(plain(o.at), names, strict=True))}
        return self.context.readable(formula, scope)

    def _replaced(self) -> str:
        """The equality with the formulas, and in it one array after the other for its formula."""
        context = self.context
        trees = [filled(context.deep(e), "    ") for e in self.plain]
        named = [filled(context.deep(side.entry(*self.places)), "    ") for side in self.sides]
        whole = "\n".join(["(identity the_data the_model the_ranges", *trees, f"    {YES} promises)"])
        model = "the_model"
        for n, o in enumerate(self.found):
            number = f"{context.symbols.tensors.index(o.named)}%nat"
            names = [f"at{k}" for k, _ in enumerate(plain_dims(o.named))]
            inside = f"[{'; '.join(names)}] => {context.entry(o.named, names)}"
            array = f"(fun the_entry => match the_entry with {inside} | _ => 1 end)"
            head = f"(replaced the_data {model} {number} {array} the_ranges"
            whole = "\n".join([head, *named, f"    {YES} same{n}", f"  {whole})"])
            model = f"(overlay {model} {number} {array})"
        return whole
