"""Constraints of programs, and scalars that were derived rather than printed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import latex
from derivations.calculus.term import Neg, Term, as_term


class Raw(Term):
    """A scalar that was derived rather than printed; ``data`` is its index expression."""

    def shape(self) -> tuple[str, ...]:
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        return self.data

    def latex(self) -> str:
        return _shown(self.data)

    level = 1


@lru_cache(maxsize=256)
def _shown(expr: ix.Expr) -> str:
    return latex(expr)


@dataclass(frozen=True)
class Constraint:
    """``lhs <= rhs`` (or ``==``) for all values of the indices ``over``, with its Lagrange multiplier."""

    lhs: Term
    rhs: Term
    multiplier: Tensor
    over: tuple[Index, ...] = ()
    equality: bool = False

    def excess(self) -> ix.Expr:
        """lhs - rhs as an index expression; <= 0 (or = 0) where the constraint holds."""
        return self.lhs.entry() - self.rhs.entry()

    def latex(self) -> str:
        if self.of_sign():
            return rf"{self.lhs.args[0].latex()} \ge 0"
        relation = "=" if self.equality else r"\le"
        return rf"{self.lhs.latex()} {relation} {self.rhs.latex()}"

    def spanned(self, beside: int = 0) -> str:
        """The constraint and what its indices run over, the first ``beside`` of which are known."""
        span = r",\ ".join(rf"{i.latex.strip()} = 1, \dots, {i.dim}" for i in self.over[beside:])
        return self.latex() + (rf"\ ({span})" if span else "")

    def of_sign(self) -> bool:
        """Whether it is -x <= 0, which is printed as x >= 0."""
        return isinstance(self.lhs, Neg) and self.rhs == as_term(0) and not self.equality
