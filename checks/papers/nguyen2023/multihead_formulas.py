"""Formulas of multi-head attention as one regression a head: equations (3), (17), (18)."""

from __future__ import annotations

from checks.statement import All, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, row_softmax, size, softmax, sqrt, stack, sum_over
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DPHI, DV, D, N, SvrAssumptions, d, i, j

HEADS = "H"
PAPER = SvrAssumptions(bias="off")
SMALL = (
    ("N", 2),
    ("H", 2),
    ("D_v", 2),
    ("D", 4),
)  # exact instances: a sum of fractions for each head grows fast
s = Index("s", HEADS)
e = Index("e", DV)
c = Index("c", DV)


def per_head(name: str, letter: str, *dims: str, bold: str = r"\boldsymbol") -> Tensor:
    """A symbol with the head as superscript: ``letter``^s, or ``letter``^s_j for the rows of a matrix."""
    symbol = rf"{bold}{{{letter}}}"
    row = rf"{{{symbol}^{{%1}}" + ("_{%2}}" if len(dims) > 1 else "}")  # braces: a transpose may follow
    return Tensor(name, (HEADS, *dims), symbol, row, row + rf"(%{len(dims) + 1})")


def matrix(name: str, letter: str, *dims: str) -> Tensor:
    """A matrix for each head, printed ``letter``^s."""
    symbol = rf"{{\mathbf{{{letter}}}^{{%1}}}}"
    return Tensor(name, (HEADS, *dims), rf"\mathbf{{{letter}}}", symbol, symbol + "_{%2%3}")


W_O = Tensor("W_O", (HEADS, DV, DV), r"\mathbf{W}_O", r"{\mathbf{W}_O^{%1}}", r"(\mathbf{W}_O^{%1})_{%2%3}")
Q_S, K_S, V_S = matrix("Q^s", "Q", N, D), matrix("K^s", "K", N, D), matrix("V^s", "V", N, DV)
CONCAT = Tensor("Concat", (N, HEADS, DV), r"\operatorname{Concat}(\mathbf{H}^1,\dots,\mathbf{H}^H)")
W_MULTI = Tensor("W_O^multi", (DV, HEADS, DV), r"\mathbf{W}_O^{\mathrm{multi}}")
HEAD_WHERE = (
    r"Heads $s=1,\dots,H$, each with queries, keys and values of its own; "
    r"$\mathbf{W}_O^s\in\mathbb{R}^{D_v\times D_v}$."
)


def head_attention(head: Index) -> Term:
    """A^s V^s."""
    scores = as_term(Q_S)[head] @ as_term(K_S)[head].T / sqrt(size(D))
    return row_softmax(scores) @ as_term(V_S)[head]


def eq3() -> Identity:
    blocks = (
        Given(
            CONCAT,
            (i, s, e),
            head_attention(s)[i, e],
            "the heads' outputs side by side: column (s, e) is column e of head s",
        ),
        Given(W_MULTI, (c, s, e), as_term(W_O)[s, c, e], "the matrices W_O^s side by side"),
    )
    product = sum_over(s, e, as_term(CONCAT)[i, s, e] * as_term(W_MULTI)[c, s, e])
    summed = sum_over(s, head_attention(s) @ as_term(W_O)[s].T)[i, c]
    reason = "block row times block column: a sum over the heads"
    return Identity(product, summed, blocks, reason=reason, sizes=SMALL)


# One regression for a head; its symbols get the head as superscript in ``HEAD_COPIES``
HEAD = sv.Variant("head", train=r"\Phi(\boldsymbol{k}_{%1})", query=r"\Phi(\boldsymbol{x})")
X_S, K_VEC, V_VEC = per_head("x^s", "x", D), per_head("k^s", "k", N, D), per_head("v^s", "v", N, DV)
Q_VEC, t = per_head("q^s", "q", N, D), Index("d", D)
PHI_X = Tensor(
    "Phi^s(x^s)",
    (HEADS, DPHI),
    r"\Phi",
    r"\Phi^{%1}(\boldsymbol{x}^{%1})",
    r"\Phi^{%1}(\boldsymbol{x}^{%1})_{%2}",
)
PHI_K = Tensor(
    "Phi^s(k^s)",
    (HEADS, N, DPHI),
    r"\Phi",
    r"\Phi^{%1}(\boldsymbol{k}^{%1}_{%2})",
    r"\Phi^{%1}(\boldsymbol{k}^{%1}_{%2})_{%3}",
)
H_X = Tensor("h^s(x^s)", (HEADS,), "h", "", r"h^{%1}(\boldsymbol{x}^{%1})")
B_S = Tensor("b^s", (HEADS, DV), r"\boldsymbol{b}", r"\boldsymbol{b}^{%1}", r"\boldsymbol{b}^{%1}(%2)")
W_S = matrix("W^s", "W", DV, DPHI)
K_PLAIN = Tensor("k", (N, D), r"\boldsymbol{k}", r"\boldsymbol{k}_{%1}")
X_PLAIN = Tensor("x", (D,), r"\boldsymbol{x}")
HEAD_COPIES = {
    HEAD.phi: PHI_K,
    HEAD.phi_x: PHI_X,
    HEAD.h_x: H_X,
    HEAD.b: B_S,
    HEAD.v: V_VEC,
    HEAD.w: W_S,
    HEAD.without_bias().v: V_VEC,
    K_PLAIN: K_VEC,
    X_PLAIN: X_S,
}


def combine(head_output: Term) -> Term:
    """Σ_s W_O^s (output of head s)."""
    return sum_over(s, as_term(W_O)[s] @ head_output)


def fitted_heads(bias: bool) -> Term:
    """Σ_s W_O^s f^s(x^s) with the weights that each head's own program gives, in values v^s."""
    head = HEAD if bias else HEAD.without_bias()
    expr = sv.in_values(head, sv.expansion(head))
    return combine(stack(d, Raw((), sv.lift(expr, s, HEAD_COPIES))))


def attention_heads(a: SvrAssumptions = PAPER) -> Term:
    """The same with the intercept, the kernel and the h^s of the assumptions."""
    expr = sv.regenerated(HEAD, a, as_term(X_PLAIN), as_term(K_PLAIN)[j])
    return combine(stack(d, Raw((), sv.lift(expr, s, HEAD_COPIES))))


def _eq18_first() -> Identity:
    kernel = as_term(PHI_X)[s].T @ as_term(PHI_K)[s, j]
    return Identity(
        fitted_heads(bias=True),
        combine(sum_over(j, kernel / as_term(H_X)[s] * as_term(V_VEC)[s, j]) + as_term(B_S)[s]),
        nonzero=(H_X,),
        reason="the expansion of each head, from the stationarity condition of its program",
        label="an expansion for each head",
    )


def multihead_softmax(query: Term, keys: Tensor, values: Tensor) -> Term:
    """Σ_s W_O^s Σ_j softmax(query·k^s_j/√D) v^s_j; ``query`` has the free index s."""
    score = query.T @ as_term(keys)[s][j] / sqrt(size(D))
    return combine(sum_over(j, softmax(j, score) * as_term(values)[s][j]))


def eq18(a: SvrAssumptions) -> All:
    at_x = multihead_softmax(as_term(X_S)[s], K_VEC, V_VEC)
    rows_of = tuple(
        Given(vector, (s, at, c), as_term(whole)[s, at, c], f"the rows of {whole.name}")
        for vector, whole, at, c in ((Q_VEC, Q_S, i, t), (K_VEC, K_S, j, t), (V_VEC, V_S, j, d))
    )
    at_query = multihead_softmax(as_term(Q_VEC)[s, i], K_VEC, V_VEC)
    row = sum_over(s, head_attention(s) @ as_term(W_O)[s].T)[i]
    return All(
        _eq18_first(),
        Identity(attention_heads(a), at_x, label="softmax in each head", sizes=SMALL),
        Identity(at_query, row, rows_of, label="with the heads' queries this is row i of (3)", sizes=SMALL),
    )
