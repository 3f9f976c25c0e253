"""Scope: a formula that names something may use no index that the name and its own sums leave unexplained."""

from __future__ import annotations

from dataclasses import dataclass, replace

from checks.engine.finding import Finding
from checks.engine.judge import ENGINES, conformable, definition, unbound
from checks.evidence import Evidence
from checks.statement import Definition, Kind, Malformed
from derivations.calculus.index import Index
from derivations.calculus.term import Pick, SumOver, Term, replace_at, subterms


@dataclass(frozen=True)
class Scoped(Kind):
    """``name := meaning``, where the formula has no free index that the name does not have."""

    name: Term
    meaning: Term
    label: str = ""

    def statement_latex(self) -> str:
        """The definition as printed."""
        return rf"{self.name.latex()} := {self.meaning.latex()}"


def scoped(statement: Scoped, seed: int, with_mutants: bool) -> Finding:
    """The check of a definition, and the free indices; a mutant frees an index that a sum binds."""
    s = statement
    shapes = conformable(s.name, s.meaning)
    if shapes.passed and (loose := unbound(s.meaning) - unbound(s.name)):
        detail = f"the name leaves unexplained: {_names(loose)}"
        failed = Evidence("derivation", "exact-symbolic", False, detail, settles=True)
        where = (
            f"the index {_names(loose)} is free in the formula and not in the name: the name has no one value"
        )
        return Finding([shapes, failed], counterexample=where)
    finding = definition(Definition(s.name, s.meaning), seed, False)
    if finding.holds is False:
        return finding
    bound = {t.data for _, t in subterms(s.meaning) if isinstance(t, SumOver)}
    if twice := (unbound(s.name) & bound) - unbound(s.meaning):
        raise Malformed(f"{_names(twice)} is an index of the name, and bound in the formula")
    defined = all(e.passed for e in finding.evidence if e.settles)
    finding.evidence = [replace(e, settles=False) for e in finding.evidence]
    detail = "the name has every free index of the formula"
    proof = Evidence("derivation", "exact-symbolic", True if defined else None, detail, settles=True)
    finding.evidence.append(proof)
    if with_mutants and defined:
        for mutant in _freed(s.meaning):
            finding.mutants.tried += 1
            finding.mutants.killed += bool(unbound(mutant) - unbound(s.name))
    return finding


def _names(indices: set[Index]) -> str:
    return ", ".join(sorted(i.name for i in indices))


def _freed(term: Term) -> list[Term]:
    """The formula with one entry's bound index renamed to one that nothing binds."""
    bound = {t.data for _, t in subterms(term) if isinstance(t, SumOver)}
    found = []
    for path, node in subterms(term):
        if isinstance(node, Pick):
            for n, index in enumerate(node.data):
                if index in bound:
                    other = Index(f"{index.name}*#", index.dim)
                    found.append(
                        replace_at(
                            term, path, replace(node, data=(*node.data[:n], other, *node.data[n + 1 :]))
                        )
                    )
    return found


ENGINES[Scoped] = scoped
