"""The claims of a section, in the order of the paper."""

from attention_audit import Definition, Index, Tensor, as_term, claim, softmax, sum_over

j, d = Index("j", "N"), Index("d", "D_v")
s, V, o = (
    as_term(Tensor(name, dims)) for name, dims in (("s", ("N",)), ("V", ("N", "D_v")), ("o", ("D_v",)))
)

claim(
    "mypaper/eq1",
    "Eq. (1)",
    "Softmax attention for one query",
    words="The output is the mean of the values, weighted by the softmax of the scores.",
    literal=Definition(o[d], sum_over(j, softmax(j, s[j]) * V[j, d])),
    role="definition",
)
