"""Appendix A: the weight matrices (7), (8) and the layer (9), (10) that carry out the update (5)."""

from __future__ import annotations

from checks.claim import claim
from checks.kinds.stacked import Stacked
from checks.leg import Legs
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.notation import BIAS_ON, HEAD_TWO_ONE, MASKED, WHERE, c
from checks.statement import All, Given, Identity
from derivations.calculus.index import STACKED, Index, Tensor
from derivations.calculus.term import (
    Ones,
    Term,
    as_term,
    blocks,
    eye,
    named,
    size,
    squared_norm,
    stack,
    sum_over,
    zeros,
)
from derivations.theories.functional_descent import kernels as fk
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.updates import CLASSES, D, FunctionalAssumptions, N, i

legs = Legs("checks.papers.wang2024.legs.parameters")
tensor_legs = Legs("checks.papers.wang2024.legs.tensors")

QUERY_KEY = blocks([eye(D), zeros(D, CLASSES)], [zeros(CLASSES, D), zeros(CLASSES, CLASSES)])
VALUE = blocks([zeros(D, D), zeros(D, CLASSES)], [zeros(CLASSES, D), -(n.alpha * eye(CLASSES))])
CONTEXT = blocks(
    [as_term(n.x_i).T], [(as_term(fd.y) - as_term(n.done)).T]
)  # E_{k-1}, one column for each example
POSITION = blocks(as_term(n.x_j), as_term(n.y_x) - as_term(n.done_x))  # e_{j,k-1}
AVERAGE = 1 / size(N) * eye(STACKED.join((D, CLASSES)))  # P_1 and P_2
BLOCKS = WHERE + (
    r" $e_{i,k-1}$ stacks $x_i$ and $y_i-\sum_{k'<k}\Delta f_{\theta_{k'}}(x_i)$; $\Delta f_{\theta_{k'}}$ "
    r"is the update of step $k'$, $k$ the layer."
)
EXAMPLES = r" $X$ has the rows $x_i$; $x_\cdot$, $y_\cdot$: those of all examples, a row for each."
LETTERS = EXAMPLES + (
    r" $E_{k-1}$ has the columns $e_{1,k-1},\dots,e_{N,k-1}$; $g$: any function of one number."
)


def example(at: Index) -> Term:
    """e_{i,k-1}: covariates and residual of an example."""
    return blocks(as_term(n.x_i)[at], n.y[at] - as_term(n.done)[at])


# under their names where the matrices themselves are not the subject
W_QK, W_V = named("W_{Q}", QUERY_KEY), named("W_V", VALUE)
E, E_J = named("E_{k-1}", CONTEXT), named("e_{j,k-1}", POSITION)
P = named("P", AVERAGE)


PADDED = Tensor("kernel of padded", (N,), r"\kappa(W_KE_{k-1},W_Qe_{j,k-1})", "", r"\kappa((x_{%1},0),(x,0))")


def heads(a: FunctionalAssumptions) -> dict[str, Term]:
    """The output of head 1 as (9) has it, for each kernel that the assumptions leave open."""

    def key(at: Index) -> Term:
        return named("W_K", QUERY_KEY) @ named(f"e_{{{at.name.split('#')[0]},k-1}}", example(at))

    projected = fk.attention_weights(a.kernel, key, W_QK @ E_J, i) | any_kernel(a)
    return {name: W_V @ E @ stack(i, weight) for name, weight in projected.items()}


def plain_weights(a: FunctionalAssumptions) -> dict[str, Term]:
    """κ(x_i, x) of the covariates alone, as in (5)."""
    plain = fk.attention_weights(a.kernel, lambda at: as_term(n.x_i)[at], as_term(n.x_j), i)
    return plain | any_kernel(a)


def any_kernel(a: FunctionalAssumptions) -> dict[str, Term]:
    """The values of any kernel at the padded covariates."""
    return {"any, of padded covariates": as_term(PADDED)[i]} if a.kernel == "features" else {}


KEY, QUERY = named("W_Ke_{i,k-1}", QUERY_KEY @ example(i)), named("W_Qe_{j,k-1}", QUERY_KEY @ POSITION)
COSINE = (
    Identity(KEY.T @ QUERY, as_term(n.x_i)[i].T @ as_term(n.x_j), label="padding keeps the inner product"),
    Identity(squared_norm(KEY), squared_norm(as_term(n.x_i)[i]), label="and the norm of a key"),
    Identity(squared_norm(QUERY), squared_norm(as_term(n.x_j)), label="and of the query: so the cosine"),
)


def head_one(a: FunctionalAssumptions) -> All:
    """Equation (9) with (7) and (8): no trace of the outcomes in the kernel, none of the covariates in
    the value.
    """
    outputs, weights = heads(a), plain_weights(a)
    parts = tuple(
        Stacked(
            named(r"\mathrm{Att}^{(1)}_{j,k}", output),
            blocks(zeros(D), -(n.alpha * sum_over(i, n.residual * weights[name]))),
            label=f"κ {name}" if a.kernel == "features" else name,
        )
        for name, output in outputs.items()
    )
    return All(*parts, *(COSINE if a.kernel == "features" else ()))


def layer(a: FunctionalAssumptions) -> All:
    """Equation (10): the skip connection with both heads subtracts the increment (5)."""
    outputs, weights = heads(a), plain_weights(a)
    constant = W_V @ E @ Ones((), (N,))
    target = blocks(as_term(n.x_j), as_term(n.y_x) - as_term(n.done_next))
    parts = []
    for name, output in outputs.items():
        own = Given(fd.kappa, (i,), weights[name], "the kernel of the covariates")
        grown = as_term(n.done_x) + n.update(n.alpha, n.residual, a.bias == "on")
        step = Given(n.done_next, (c,), grown[c], "one more increment, that of (5)")
        label = f"κ {name}" if a.kernel == "features" else name
        parts.append(Stacked(E_J + P @ output + P @ constant, target, (step, own), label=label))
    return All(*parts)


claim(
    "wang2024/eq7",
    "Eq. (7)",
    "Query and key matrices of head 1",
    words="W_Q = W_K keeps the covariates of a stacked vector and puts zeros in place of the outcomes.",
    literal=Stacked(QUERY_KEY @ example(i), blocks(as_term(n.x_i)[i], zeros(CLASSES))),
    where=BLOCKS,
    notes="The kernel is then evaluated at padded covariates; for which kernels the padding changes nothing "
    "is said in wang2024/eq9.",
)

claim(
    "wang2024/eq8",
    "Eq. (8)",
    "Value matrix",
    words="W_V keeps -α times the residual of a stacked vector and puts zeros in place of the covariates.",
    literal=Stacked(VALUE @ example(i), blocks(zeros(D), -(n.alpha * n.residual))),
    where=BLOCKS,
    notes="For categorical data the paper puts the rates of the components in place of α; a block with which "
    "the step comes out to first order is in wang2024/eq11, as corrected.",
)

claim(
    "wang2024/eq9",
    "Eq. (9)",
    "Output of head 1",
    theory="functional_descent",
    words="With (7) and (8), head 1 returns (0, -α Σ_i r_i κ(x_i, x)), r_i the residual of example i: the "
    "kernel sum of (5), up to the factor -1/N.",
    literal=head_one,
    assumes=(MASKED,),
    rests_on=("wang2024/eq7", "wang2024/eq8"),
    legs=(tensor_legs.one_head,),
    where=BLOCKS + LETTERS,
    notes="For any kernel the head has κ((x_i, 0), (x, 0)). That this is κ(x_i, x) is proved for every "
    "kernel that depends on the inner product, the Euclidean distance or the 1-norm distance alone, and for "
    "the cosine, as padding keeps inner product and norms. The chi-squared sum is meant over the d "
    "covariates: over all d + C - 1 padded entries it has terms 0/0. (The same vector is called o^(1) "
    "in (10).)",
)

claim(
    "wang2024/eq10",
    "Eq. (10)",
    "One layer with skip connection",
    theory="functional_descent",
    words="With P_1 = P_2 = I/N and head 2 constantly one, the layer subtracts exactly the increment (5) "
    "from the residual.",
    literal=layer,
    assumes=(MASKED, HEAD_TWO_ONE, BIAS_ON),
    rests_on=("wang2024/eq5", "wang2024/eq9"),
    legs=(legs.layers_are_steps, tensor_legs.two_heads),
    where=BLOCKS
    + LETTERS
    + r" $1_N$: the vector of $N$ ones. $\kappa((x_i,0),(x,0))$: any kernel at covariates "
    r"padded with $C-1$ zeros.",
    notes="The layer is the recursion (5) exactly, for any iterate; by (1) that is gradient descent with "
    "half the stated rate. A head 2 with another constant a ≠ 0 does it with the last C - 1 columns of "
    "I/(aN) in P_2; the first d columns meet zeros.",
)

free_top, free_low = (
    Tensor(f"first columns of P, {w}", (rows, D), s)
    for w, rows, s in (("top", D, "A"), ("bottom", CLASSES, "B"))
)
kept_top, kept_low = (
    Tensor(f"last columns of P, {w}", (rows, CLASSES), s)
    for w, rows, s in (("top", D, "G"), ("bottom", CLASSES, "H"))
)
out = Tensor("u", (CLASSES,), "u")

claim(
    "wang2024/prose-projection-columns",
    "Appendix A",
    "The first d columns of P_1 and P_2 are arbitrary",
    words="Head outputs start with d zeros, so P o is the same for any first d columns of P.",
    literal=Stacked(
        blocks([as_term(free_top), as_term(kept_top)], [as_term(free_low), as_term(kept_low)])
        @ blocks(zeros(D), as_term(out)),
        blocks([zeros(D, D), as_term(kept_top)], [zeros(CLASSES, D), as_term(kept_low)])
        @ blocks(zeros(D), as_term(out)),
    ),
    rests_on=("wang2024/eq9",),
    where=r"$P$ is $P_1$ or $P_2$ with blocks $A,G,B,H$; $(0,u)$ the output of a head; $d$ covariates and "
    "$C-1$ outcomes a token.",
    notes="The last C - 1 columns are not arbitrary: their top d rows must vanish, or the covariates would "
    "in general change.",
)
