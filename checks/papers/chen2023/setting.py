"""Section 2: self-attention and asymmetric kernels, equations (1) to (4)."""

from __future__ import annotations

from checks.claim import claim
from checks.kinds.examples import Example, Point
from checks.leg import Legs
from checks.papers.chen2023.symbols import entry, i, j
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Ones, Term, as_term, exp, size, softmax, sqrt, sum_over
from derivations.theories.ksvd import N, PrintedDiagonal

tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

D, DQ, DK, DV = "d", "d_q", "d_k", "d_v"
B, BX, BZ, M = "b", "b_X", "b_Z", "M"
k_ = Index("l", N)


def _vectors(name: str, width: str) -> Tensor:
    return Tensor(
        name,
        (N, width),
        name.upper(),
        rf"{name}(\boldsymbol{{x}}_{{%1}})",
        rf"{name}(\boldsymbol{{x}}_{{%1}})_{{%2}}",
    )


X = Tensor("X", (N, D), "X", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
_WQ = Tensor("W_q", (DK, D), "W_q")  # as it meets keys: d_q = d_k
W_q, W_k, W_v = (Tensor(f"W_{n}", (w, D), f"W_{n}") for n, w in (("q", DQ), ("k", DK), ("v", DV)))
q, k, v = _vectors("q", DQ), _vectors("k", DK), _vectors("v", DV)
o = Tensor("o", (N, DV), "O", r"\boldsymbol{o}_{%1}", r"\boldsymbol{o}_{%1}(%2)")
kappa = Tensor("kappa", (N, N), r"\kappa(X,X)", "", r"\kappa(\boldsymbol{x}_{%1},\boldsymbol{x}_{%2})")
K = Tensor("K", (N, N), "K", "", "K_{%1%2}")
x = as_term(X)


def score(row: Index, column: Index) -> Term:
    """⟨W_q x_row, W_k x_column⟩/√d_k with d_q = d_k."""
    return _product(row, column) / sqrt(size(DK))


def _product(row: Index, column: Index) -> Term:
    return (as_term(_WQ) @ x[row]).T @ (as_term(W_k) @ x[column])


TOKENS = (
    r"$N$ tokens $\boldsymbol{x}_i\in\mathbb{R}^d$, the rows of $X$; $W_q\in\mathbb{R}^{d_q\times d}$, "
    r"$W_k\in\mathbb{R}^{d_k\times d}$ (their subscripts are no indices); $d_q=d_k$ wherever queries meet "
    r"keys."
)

claim(
    "chen2023/eq1",
    "Eq. (1)",
    "Queries, keys and values",
    role="definition",
    words="Queries, keys and values are linear images of the tokens.",
    literal=All(
        *(
            Definition(as_term(t)[i], as_term(w) @ x[i], label=label)
            for t, w, label in ((q, W_q, "queries"), (k, W_k, "keys"), (v, W_v, "values"))
        )
    ),
    where=TOKENS + r" $W_v\in\mathbb{R}^{d_v\times d}$.",
    notes="The scores in (2) need d_q = d_k, which the text calls common only.",
)

claim(
    "chen2023/eq2",
    "Eq. (2)",
    "The softmax kernel",
    words="κ(x_i, x_j) is printed as the softmax of the single score of i and j; which scores normalise it "
    "is not said.",
    literal=Identity(
        softmax(j, score(i, j)),
        exp(score(i, j)) / exp(score(i, j)),
        label="softmax of the printed argument alone",
        sizes=((N, 2), (D, 1), (DK, 1)),
    ),
    corrected=All(
        Definition(
            as_term(kappa)[i, j], exp(score(i, j)) / sum_over(k_, exp(score(i, k_))), label="the kernel"
        ),
        Identity(sum_over(j, softmax(j, score(i, j))), as_term(1), label="its rows sum to 1"),
        Identity(
            softmax(j, score(i, j)),
            exp(score(i, j)) / sum_over(k_, exp(score(i, k_))),
            label="softmax over j",
        ),
    ),
    correction_words="κ(x_i, x_j) = exp(s_ij)/Σ_k exp(s_ik): the softmax of row i of the scores, so it "
    "depends on all tokens.",
    rests_on=("chen2023/eq1",),
    legs=(tensor_legs.softmax_attention,),
    where=TOKENS,
    notes="Read literally every entry is 1. (3) and (7) use only the matrix K and do not inherit the slip.",
)

OTHERS = "n"
of_pair, m_ = Tensor("a", (), r"a(\boldsymbol{x},\boldsymbol{z})"), Index("m", OTHERS)
rest, rest_2 = (
    Tensor(
        f"b{c}",
        (OTHERS,),
        rf"a(\boldsymbol{{x}},X{c})",
        "",
        rf"a(\boldsymbol{{x}},\boldsymbol{{x}}{c}_{{%1}})",
    )
    for c in ("", "'")
)


def _pair_weight(others: Tensor) -> Term:
    """The attention weight of a pair in a sequence with other tokens, by their scores."""
    own = exp(as_term(of_pair))
    return own / (own + sum_over(m_, exp(as_term(others)[m_])))


def _of_the_pair(given: tuple[Given, ...] = ()) -> Identity:
    return Identity(_pair_weight(rest), _pair_weight(rest_2), given, label="one pair in two sequences")


claim(
    "chen2023/prose-kernel-function-of-pair",
    "Section 2",
    "The attention kernel as a function of two tokens",
    words="κ is called a kernel function on pairs of tokens: one value for each pair.",
    literal=_of_the_pair(),
    corrected=_of_the_pair((Given(rest_2, (m_,), as_term(rest)[m_], "the other tokens are the same"),)),
    correction_words="For a fixed sequence: exp of the score is a function of the pair, the attention weight "
    "is that over a row sum, a function of the pair and of all other tokens.",
    rests_on=("chen2023/eq2",),
    where=r"$a(\boldsymbol{x},\boldsymbol{z})=\langle W_q\boldsymbol{x},W_k\boldsymbol{z}\rangle/\sqrt{d_k}$"
    r"; $\boldsymbol{x}_m$ and $\boldsymbol{x}'_m$, $m=1,\dots,n$: the tokens besides $\boldsymbol{z}$ of "
    r"two sequences, $X$ and $X'$ all of them.",
    notes="The kernel matrix of a given sequence, on which the rest of the paper is built, is well defined.",
)

claim(
    "chen2023/eq3",
    "Eq. (3)",
    "The attention output",
    role="definition",
    words="The output at token i is the sum of the values weighted by row i of K.",
    literal=All(
        Definition(as_term(o)[i], sum_over(j, as_term(v)[j] * as_term(kappa)[i, j]), label="by the kernel"),
        Definition(as_term(o)[i], sum_over(j, as_term(v)[j] * as_term(K)[i, j]), label="by the matrix"),
    ),
    rests_on=("chen2023/eq2",),
    legs=(tensor_legs.softmax_attention,),
    where=r"$N$ tokens $\boldsymbol{x}_i$; $v(\boldsymbol{x}_j)\in\mathbb{R}^{d_v}$: the values; $\kappa$: "
    r"the kernel (2), $K\in\mathbb{R}^{N\times N}$ its matrix.",
    notes="The two forms are one: K_ij is defined as κ(x_i, x_j).",
)


def _asymmetric() -> All:
    """How scores differ, for all weights and tokens, and two tokens at which scores and weights do."""
    query, key = as_term(_WQ), as_term(W_k)
    bilinear = as_term(X)[i].T @ (query.T @ key - key.T @ query) @ as_term(X)[j]
    point = Point(
        ((N, 2), (D, 2), (DK, 1)),
        ((X, ((1, 0), (0, 1))), (_WQ, ((1, 0),)), (W_k, ((0, 1),))),
        ((i, 1), (j, 2)),
    )
    facts = (
        Fact("⟨q_1, k_2⟩ - ⟨q_2, k_1⟩", _product(i, j) - _product(j, i), "!="),
        Fact("K_12 - K_21", _weight(i, j) - _weight(j, i), "!="),
    )
    return All(
        Identity(_product(i, j) - _product(j, i), bilinear, label="what the scores differ by"),
        Example(facts, point, label="scores and weights that differ"),
    )


def _weight(row: Index, column: Index) -> Term:
    return exp(score(row, column)) / sum_over(k_, exp(score(row, k_)))


claim(
    "chen2023/prose-asymmetry",
    "Section 2",
    "Attention scores are asymmetric in general",
    words="⟨W_q x_i, W_k x_j⟩ and ⟨W_q x_j, W_k x_i⟩ differ by the bilinear form of W_qᵀW_k - W_kᵀW_q at the "
    "two tokens; there are projections and tokens with both ⟨W_q x_i, W_k x_j⟩ ≠ ⟨W_q x_j, W_k x_i⟩ and "
    "K_ij ≠ K_ji.",
    literal=_asymmetric(),
    rests_on=("chen2023/eq2",),
    where=TOKENS,
    notes="The scores are symmetric for all tokens exactly if W_qᵀW_k is a symmetric matrix, always so for d "
    "= 1. Both differences are analytic in weights and tokens: as they do not vanish at one point, they "
    "vanish only on a set of measure 0 (other sizes from N = d = 2 on: the same point with zeros added). "
    "That asymmetric scores lead to an asymmetric K holds in neither direction: for two tokens K is "
    "symmetric exactly if s_12 - s_11 = s_21 - s_22, the scores s exactly if s_12 = s_21.",
)

phi_x, phi_z = (
    Tensor("phi_x", (B,), r"\phi_{\boldsymbol{x}}"),
    Tensor("phi_z", (B,), r"\phi_{\boldsymbol{z}}"),
)
pair_value = Tensor("kappa", (), r"\kappa(\boldsymbol{x},\boldsymbol{z})")
far_x, far_z = (
    Tensor("phi_x", (BX,), r"\phi_{\boldsymbol{x}}"),
    Tensor("phi_z", (BZ,), r"\phi_{\boldsymbol{z}}"),
)
pairing = Tensor("P", (BX, BZ), "P")
ONE_N = PrintedDiagonal((Ones((), (N,)),), "I_N")

claim(
    "chen2023/eq4",
    "Eq. (4)",
    "The kernel trick for asymmetric kernels",
    words="κ(x, z) is printed as an inner product of φ_x and φ_z for all elements φ_x, φ_z of the two "
    "spaces.",
    literal=Identity(as_term(pair_value), as_term(phi_x).T @ as_term(phi_z), label="for all φ_x, φ_z"),
    corrected=All(
        Definition(
            as_term(pair_value), as_term(phi_x).T @ as_term(phi_z), label="for the features of x and z"
        ),
        Identity(
            entry(ONE_N @ as_term(K), i, j), as_term(K)[i, j], label="every kernel matrix has this form"
        ),
    ),
    correction_words="There are maps x ↦ φ_x and z ↦ φ_z with κ(x, z) = ⟨φ_x, φ_z⟩ for all x, z. Every "
    "kernel on N points x and N points z has them: φ_z the column of z, φ_x the unit vector of x.",
    where=r"$\phi_{\boldsymbol{x}},\phi_{\boldsymbol{z}}\in\mathbb{R}^b$, the finite-dimensional case. "
    r"$K\in\mathbb{R}^{N\times N}$ the values of any kernel, $K_{ij}$ that at $\boldsymbol{x}_i$ and "
    r"$\boldsymbol{z}_j$; $I_N$ the identity matrix: its row $i$ is $\phi_{\boldsymbol{x}_i}$, as column $j$ "
    r"of $K$ is $\phi_{\boldsymbol{z}_j}$.",
    notes="A quantifier slip: κ(x, z) is one number, and the inner product differs from pair to pair of "
    "elements.",
)

claim(
    "chen2023/def2.1",
    "Definition 2.1",
    "Kernels from two Banach spaces",
    words="A kernel is an inner product of feature maps into two Banach spaces.",
    literal=Definition(as_term(pair_value), as_term(far_x).T @ as_term(far_z)),
    corrected=Definition(as_term(pair_value), as_term(far_x).T @ as_term(pairing) @ as_term(far_z)),
    correction_words="A bilinear pairing of the two spaces has to be given: two different spaces have no "
    "inner product.",
    rests_on=("chen2023/eq4",),
    where=r"$\phi_{\boldsymbol{x}}\in\mathbb{R}^{b_X}$ stands for $\phi_x(\boldsymbol{x})$, "
    r"$\phi_{\boldsymbol{z}}\in\mathbb{R}^{b_Z}$ for $\phi_z(\boldsymbol{z})$, "
    r"$P\in\mathbb{R}^{b_X\times b_Z}$ is the matrix of the pairing: the finite case.",
    notes="With a pairing the definition excludes nothing in the finite case: every kernel on N points of "
    "each has this form (chen2023/eq4). Later uses are in one finite-dimensional space, where the inner "
    "product is there.",
)
