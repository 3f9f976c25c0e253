"""Formulas of multi-head attention as one regression a head: equations (3), (17), (18)."""

from __future__ import annotations

from checks.papers.nguyen2023.theorem1_formulas import f_x
from checks.statement import All, Definition, Given, Identity, Link
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, row_softmax, size, softmax, sqrt, stack, sum_over
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DPHI, DV, D, N, SvrAssumptions, d, f_, i, j

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
H_S = matrix("H^s", "H", N, DV)
CONCAT = Tensor("Concat", (N, HEADS, DV), r"\operatorname{Concat}(\mathbf{H}^1,\dots,\mathbf{H}^H)")
W_MULTI = Tensor("W_O^multi", (DV, HEADS, DV), r"\mathbf{W}_O^{\mathrm{multi}}")
HEAD_WHERE = (
    r"Heads $s=1,\dots,H$, each with queries, keys and values of its own; "
    r"$\mathbf{W}_O^s\in\mathbb{R}^{D_v\times D_v}$."
)
HEAD_ROWS = (
    r" $\mathbf{Q}^s,\mathbf{K}^s\in\mathbb{R}^{N\times D}$ have the rows "
    r"$\boldsymbol{q}^s_i,\boldsymbol{k}^s_j$, $\mathbf{V}^s\in\mathbb{R}^{N\times D_v}$ the rows "
    r"$\boldsymbol{v}^s_j$."
)
HEAD_FIT = (
    r" Head $s$ fits $f^s$ to keys $\boldsymbol{k}^s_j$ and targets $\boldsymbol{y}^s_j$, $j=1,\dots,N$: "
    r"$\boldsymbol{x}^s$ is its part of the input $\boldsymbol{x}$, $\Phi^s$ its features, $h^s$ its "
    r"normaliser, $\mathbf{W}^s$ its weights and $\boldsymbol{b}^s$ its intercept."
)
HEAD_VALUES = (
    r" Its values are $\boldsymbol{v}^s_j(d)=(\boldsymbol{\alpha}^s_j(d)-\tilde{\boldsymbol{\alpha}}^s_j(d))/"
    r"h^s(\boldsymbol{k}^s_j)$, with the multipliers of its own program (5), which is derived below without "
    r"the letter $s$."
)


def head_attention(head: Index) -> Term:
    """A^s V^s."""
    scores = as_term(Q_S)[head] @ as_term(K_S)[head].T / sqrt(size(D))
    return row_softmax(scores) @ as_term(V_S)[head]


def eq3() -> Identity:
    heads = as_term(H_S)
    blocks = (
        Given(
            CONCAT,
            (i, s, e),
            heads[s, i, e],
            "the heads' outputs side by side: column (s, e) is column e of head s",
        ),
        Given(H_S, (s, i, e), head_attention(s)[i, e], "(1) for each head"),
        Given(W_MULTI, (c, s, e), as_term(W_O)[s, c, e], "the matrices W_O^s side by side"),
    )
    product = sum_over(s, e, as_term(CONCAT)[i, s, e] * as_term(W_MULTI)[c, s, e])
    projected, summed = (sum_over(s, h @ as_term(W_O)[s].T)[i, c] for h in (heads[s], head_attention(s)))
    chain = (Link(projected, "block row times block column: a sum over the heads"),)
    return Identity(product, summed, blocks, chain, reason="H^s = A^s V^s, as in (1)", sizes=SMALL)


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
Y_S = per_head("y^s", "y", DV)
F_S = Tensor("f^s", (HEADS, DV), "f", r"f^{%1}(\boldsymbol{x}^{%1})", r"f^{%1}(\boldsymbol{x}^{%1})(%2)")
KERNEL_S = Tensor(
    "Phi^s(x^s)'Phi^s(k^s)",
    (HEADS, N),
    "",
    "",
    r"\Phi^{%1}(\boldsymbol{x}^{%1})^\top \Phi^{%1}(\boldsymbol{k}^{%1}_{%2})",
)
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


def attention_heads(a: SvrAssumptions = PAPER) -> Term:
    """Σ_s W_O^s f^s(x^s) with the weights that each head's own program gives, in values v^s, and with the
    intercept, the kernel and the h^s of the assumptions.
    """
    expr = sv.regenerated(HEAD, a, as_term(X_PLAIN), as_term(K_PLAIN)[j])
    return combine(stack(d, Raw((), sv.lift(expr, s, HEAD_COPIES))))


FITTED = as_term(W_S)[s] @ as_term(PHI_X)[s] / as_term(H_X)[s] + as_term(B_S)[s]


def eq17() -> All:
    """(17), member by member."""
    functions = (
        Given(Y_S, (s, d), as_term(F_S)[s, d], "the output of head s"),
        Given(F_S, (s, d), FITTED[d], "the function of head s"),
    )
    return All(
        Definition(as_term(f_x), combine(as_term(Y_S)[s])),
        Identity(
            combine(as_term(Y_S)[s]),
            combine(FITTED),
            functions,
            chain=(Link(combine(as_term(F_S)[s]), "the output of head s"),),
            nonzero=(H_X,),
            reason="the function of head s",
            label="with the function of each head",
        ),
    )


def _expanded(kernel: Term) -> Term:
    """The second member of (18), with Φ^s(x^s)ᵀΦ^s(k^s_j)."""
    return combine(sum_over(j, kernel / as_term(H_X)[s] * as_term(V_VEC)[s, j]) + as_term(B_S)[s])


def _eq18_first() -> Identity:
    weights = sv.in_values(HEAD, sv.dual(HEAD).substitute(as_term(HEAD.w)[d, f_].entry()))
    return Identity(
        as_term(f_x),
        _expanded(as_term(PHI_X)[s].T @ as_term(PHI_K)[s, j]),
        given=(
            Given(f_x, (d,), combine(FITTED)[d], "(17)"),
            Given(
                W_S,
                (s, d, f_),
                Raw((), sv.lift(weights, s, HEAD_COPIES)),
                "the weights that the stationarity condition of each head's program gives",
            ),
        ),
        nonzero=(H_X,),
        label="an expansion for each head",
    )


def _eq18_second(a: SvrAssumptions) -> Identity:
    """The second member of (18) with the kernel, the normaliser and the intercept of the assumptions."""
    kernel, value = as_term(KERNEL_S), sv.kernel_of(a, as_term(X_S)[s], as_term(K_VEC)[s, j])
    total = as_term(1) if a.normaliser == "one" else sum_over(j, kernel[s, j])
    no_bias = () if a.bias == "on" else (Given(B_S, (s, d), as_term(0), "no intercept"),)
    return Identity(
        _expanded(kernel[s, j]),
        multihead_softmax(as_term(X_S)[s], K_VEC, V_VEC),
        given=(
            Given(H_X, (s,), total, "the choice of h"),
            Given(KERNEL_S, (s, j), Raw((), value), "(13) for each head"),
            *no_bias,
        ),
        label="softmax in each head",
        sizes=SMALL,
    )


def multihead_softmax(query: Term, keys: Tensor, values: Tensor) -> Term:
    """Σ_s W_O^s Σ_j softmax(query·k^s_j/√D) v^s_j; ``query`` has the free index s."""
    score = query.T @ as_term(keys)[s][j] / sqrt(size(D))
    return combine(sum_over(j, softmax(j, score) * as_term(values)[s][j]))


def eq18(a: SvrAssumptions) -> All:
    rows_of = tuple(
        Given(vector, (s, at, c), as_term(whole)[s, at, c], f"the rows of {whole.name}")
        for vector, whole, at, c in ((Q_VEC, Q_S, i, t), (K_VEC, K_S, j, t), (V_VEC, V_S, j, d))
    )
    at_query = multihead_softmax(as_term(Q_VEC)[s, i], K_VEC, V_VEC)
    row = sum_over(s, head_attention(s) @ as_term(W_O)[s].T)[i]
    return All(
        _eq18_first(),
        _eq18_second(a),
        Identity(at_query, row, rows_of, label="with the heads' queries this is row i of (3)", sizes=SMALL),
    )
