"""What an attack on counts, programs and offered points got past the engines, and what it did not: operations that
count nothing, letters that stand where no symbol is seen, values that are no numbers.
"""

from __future__ import annotations

import sympy as sp

from checks.kinds.counting import Counted
from redteam.pair import Pair

D, S = sp.symbols("D s", positive=True)


def counted(formula, axes, symbols=(D,), steps=(1,), per=2):
    def whole(*sizes):
        return per * sum(sp.prod(each) for each in axes(*sizes))

    return Counted("c", formula, symbols, steps, axes, whole, per)


PAIRS = [
    Pair("counted/no-operation-per-product", lambda: counted(0 * D, lambda p: ((p, p),), per=0), "every product takes some",
         lambda: counted(3 * D**2, lambda p: ((p, p),), per=3)),
    Pair("counted/product-with-fewer-than-no-rows", lambda: counted(2 * D**2, lambda p: ((p, p), (p, p), (-p, p))),
         "no product gives operations back", lambda: counted(4 * D**2, lambda p: ((p, p), (p, p)))),
    Pair("counted/half-a-row", lambda: counted(D**2, lambda p: ((p, sp.Rational(p, 2)),)), "D = 1: half a row",
         lambda: counted(D**2, lambda p: ((p, p // 2),), steps=(2,))),
    Pair("counted/size-that-is-never-chosen", lambda: counted(6 * D, lambda p, q=3: ((p, q),), (D, S)), "s = 1: 2D",
         lambda: counted(2 * D * S, lambda p, q=3: ((p, q),), (D, S), (1, 1))),
]  # fmt: skip
