"""Formulas that claims and legs share."""

from attention_audit import Index, Tensor, as_term, row_softmax, size, softmax, sqrt, sum_over

i, j, d = Index("i", "N"), Index("j", "N"), Index("d", "D_v")
Q, K = (as_term(Tensor(name, ("N", "D"))) for name in "QK")
V = as_term(Tensor("V", ("N", "D_v")))
ATTENTION = row_softmax(Q @ K.T / sqrt(size("D"))) @ V
ROW = sum_over(j, softmax(j, Q[i].T @ K[j] / sqrt(size("D"))) * V[j])
