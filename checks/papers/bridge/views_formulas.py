"""The formula that the views share: row i of softmax attention in the symbols of the regression."""

from __future__ import annotations

from dataclasses import replace

from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term, size, softmax, sqrt, sum_over
from derivations.theories.svr import regression as svr

Q = Tensor("Q", (svr.N, svr.D), r"\mathbf{Q}", r"\boldsymbol{q}_{%1}", r"\boldsymbol{q}_{%1}(%2)")
KEYS, VALUES = replace(svr.k, latex=r"\mathbf{K}"), replace(svr.v, latex=r"\mathbf{V}")
ATTENTION_ROW = sum_over(
    svr.j,
    softmax(svr.j, as_term(Q)[svr.i].T @ as_term(KEYS)[svr.j] / sqrt(size(svr.D))) * as_term(VALUES)[svr.j],
)
