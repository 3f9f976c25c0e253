"""Section 2: attention. A definition, an identity with a leg on tensors, a misprint, a false statement."""

from attention_audit import Definition, Identity, Legs, Tensor, as_term, claim, size, softmax, sum_over

from mypaper.claims.formulas import ATTENTION, ROW, K, Q, V, i, j

legs = Legs("mypaper.claims.legs")

claim(
    "mypaper/eq1",
    "Eq. (1)",
    "Softmax attention",
    words="The output is the softmax of the scaled scores, times the values.",
    literal=Definition(as_term(Tensor("O", ("N", "D_v"))), ATTENTION),
    role="definition",
)

claim(
    "mypaper/eq2",
    "Eq. (2)",
    "Softmax attention for one query",
    words="Row i of the output is a weighted sum of the values.",
    literal=Identity(ATTENTION[i], ROW),
    rests_on=("mypaper/eq1",),
    legs=(legs.rows,),
)

claim(
    "mypaper/eq3",
    "Eq. (3)",
    "The output as a mean over the keys",
    words="The output for query i is a mean of the values.",
    literal=Identity(ATTENTION[i], sum_over(j, softmax(j, Q[i].T @ K[j] / size("D")) * V[j])),
    corrected=Identity(ATTENTION[i], ROW),
    correction_words="The root over D is missing.",
    rests_on=("mypaper/eq1",),
)

claim(
    "mypaper/prose-exchange",
    "Section 2",
    "Queries and keys may be exchanged",
    words="The output does not change when queries and keys are exchanged.",
    literal=Identity(ROW, sum_over(j, softmax(j, K[i].T @ Q[j] / size("D")) * V[j])),
    rests_on=("mypaper/eq2",),
)
