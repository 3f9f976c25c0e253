"""Figures 1 to 9: what of them is exact, and why the rest needs training runs."""

from __future__ import annotations

from fractions import Fraction

from checks.claim import claim
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.notation import c
from checks.statement import All, Identity
from derivations.calculus.gradients import kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, apply, as_term, size, sum_over
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.updates import CLASSES, Categories, D, N, i

TRAINING = (
    "The maps and curves come from training runs whose seeds, step sizes, initialisation and normalisation "
    "of the error are not "
    "published; attest experiment runs them again with choices of its own, which proves nothing. The book's "
    "chapter 'The experiments again' draws what came of it."
)
SETTING = (
    "C = 3, d = 2, covariates uniform on [-1, 1]², N = 20, one layer and one head (so without the "
    "bias head) unless said otherwise."
)


def count(words: str, computed: int, printed: int) -> Figure:
    """An equality of whole numbers."""
    return Figure(words, Fraction(computed), "=", Fraction(printed), 0)


claim(
    "wang2024/fig1",
    "Figure 1",
    "Data generation by quadrants",
    role="definition",
    words="In each quadrant one category has probability 0.8 and the two others 0.1.",
    literal=Arithmetic(
        (Figure("0.8 + 2 · 0.1", Fraction(8, 10) + 2 * Fraction(1, 10), "=", Fraction(1), 1),)
    ),
    where=SETTING,
    notes="The law of the dominating categories of the four quadrants is not stated.",
)

claim(
    "wang2024/fig2",
    "Figure 2",
    "Class probabilities with softmax attention",
    role="empirical",
    words="The maps of the designed and of the trained Transformer look alike, for 100 × 100 queries at "
    "once.",
    literal=Arithmetic((count("100 · 100 queries", 100 * 100, 10_000),)),
    rests_on=("wang2024/eq11",),
    where=SETTING,
    reason=TRAINING,
)

claim(
    "wang2024/fig3",
    "Figure 3",
    "Error over training, four kernels",
    role="empirical",
    words="For linear, exponential, RBF and softmax kernels the error of the trained Transformer comes very "
    "close to that of the designed one after enough steps.",
    rests_on=("wang2024/eq11",),
    where=SETTING,
    reason=TRAINING,
    notes="With the linear kernel the outcome depends on how the query's outcome slot is filled: with (x, "
    "-1/C), as Section 3 encodes positions, a trained layer can use the constant; with (x, 0) it cannot.",
)

claim(
    "wang2024/fig4",
    "Figure 4",
    "Number of heads; size of the context",
    role="empirical",
    words="A Transformer trained with up to four heads does about as well as the designed one with one head; "
    "with what was learned at N = 20 the two nearly agree for contexts of 10 to 50 examples, and the error "
    "falls as the context grows.",
    rests_on=("wang2024/eq11", "wang2024/prose-context-size"),
    where=SETTING,
    reason=TRAINING,
    notes="The right panel contradicts the sentence that the performance is invariant to N: see "
    "wang2024/prose-context-size.",
)

claim(
    "wang2024/fig5",
    "Figure 5",
    "ImageNet features",
    role="empirical",
    words="With averaged VGG features, three classes and ten examples each, linear and softmax attention "
    "reach accuracy 0.91 after 5000 steps, within 0.001 on other splits; softmax attention converges much "
    "faster; the most probable label has a probability near 0.9.",
    literal=Arithmetic(
        (count("3 classes · 10 examples", 3 * 10, 30), count("900 + 100 classes", 900 + 100, 1000))
    ),
    rests_on=("wang2024/eq11",),
    where="N = 30, d = 512, one head and one layer; only the rate and the kernel parameter are learned.",
    reason="Needs ImageNet images and VGG features, which are not available here; attest experiment "
    "wang2024/fig5 evaluates a file of features.",
)

claim(
    "wang2024/fig6",
    "Figure 6",
    "RBF kernel, three contexts",
    role="empirical",
    words="The designed Transformer adapts to new contexts with unchanged parameters.",
    rests_on=("wang2024/eq11",),
    where=SETTING,
    reason=TRAINING,
    notes="Only the designed Transformer is shown; Appendix C says that a trained one agrees closely and "
    "omits it: see wang2024/prose-laplacian-agreement. Appendix C also finds these maps smoother than those "
    "of softmax attention in Figure 2 and closer to the samples, softmax attention a bit better at the shape "
    "of the true probabilities, and larger contexts to bring the maps nearer to it: that is not decided "
    "here.",
)

v = as_term(Tensor("v", (CLASSES, D), "v", "v_{%1}"))
code_residual = as_term(fd.per_example("r", "r_{%1}"))
step = as_term(Tensor("rate", (CLASSES,), r"\alpha_k", "", r"\alpha_k^{(%1)}"))
C = Categories((), CLASSES)


def stays_affine() -> Identity:
    """1/C + v_cᵀx and a layer with the linear kernel: again 1/C plus a linear function of x."""
    x, share = as_term(n.x_j), step[c] / size(N)
    moved = 1 / C + v[c].T @ x + share * sum_over(i, code_residual[i][c] * (as_term(n.x_i)[i].T @ x))
    slope = v[c] + share * sum_over(i, code_residual[i][c] * as_term(n.x_i)[i])
    return Identity(moved, 1 / C + slope.T @ x, label="one layer")


claim(
    "wang2024/fig7",
    "Figure 7",
    "Linear kernel",
    role="empirical",
    words="Linear attention cannot follow the quadrants: the maps of the designed Transformer with one head "
    "are affine, h_c(x) = 1/C + v_cᵀx, after any number of layers. Those of the trained one look alike.",
    literal=stays_affine(),
    rests_on=("wang2024/eq11",),
    where=SETTING + r" $v_c$ arbitrary before the layer, 0 before the first; $r_i$ the residuals; "
    r"$\alpha_k^{(c)}$ the rate of layer $k$ for class $c$; $x$ any position.",
    reason=TRAINING,
    notes="The exact part is for the designed Transformer with one head, all of whose maps are 1/3 at the "
    "origin; a trained layer may move that. "
    "Appendix C also finds that the maps fit the examples reasonably well, least so those of category 2: "
    "that is not decided here.",
)

claim(
    "wang2024/fig8",
    "Figure 8",
    "Exponential kernel",
    role="empirical",
    words="With the exponential kernel the maps follow the nonlinear structure of the class probabilities, "
    "much as those of the other nonlinear kernels do.",
    rests_on=("wang2024/eq11", "wang2024/prose-mercer-exponential"),
    where=SETTING + r" $\lambda$ is learned.",
    reason=TRAINING,
    notes="The caption speaks of a designed and a trained row, the text of Appendix C of the designed "
    "Transformer alone. Appendix C also finds that training with more layers could become unstable, and with "
    "softmax attention not: that is not decided here.",
)

claim(
    "wang2024/fig9",
    "Figure 9",
    "Laplacian kernel",
    role="empirical",
    words="Maps for the Laplacian kernel; training all parameters was unstable, and what came of it did "
    "poorly.",
    rests_on=("wang2024/eq11", "wang2024/prose-mercer-laplacian"),
    where=SETTING,
    reason=TRAINING,
    notes="The caption refers to itself. Only the designed Transformer is shown. The paper suspects the "
    "1-norm (wang2024/prose-1-norm-kink), sees little reason to use this kernel, and finds all nonlinear "
    "kernels similar: that is not decided here.",
)

A, B = Index("a", D), Index("b", D)
shift = as_term(Tensor("t", positive=True))


def quotient(side: Term, slope: int, label: str) -> Identity:
    """The difference quotient of the 1-norm from 0 to a step along the axis a, whatever its length."""
    length = sum_over(B, apply("abs", side * kronecker(A, B)))
    return Identity((length - sum_over(B, apply("abs", as_term(0)))) / side, as_term(slope), label=label)


claim(
    "wang2024/prose-1-norm-kink",
    "Figure 9, caption",
    "The 1-norm has no derivative at the origin",
    words="The 1-norm is said not to be differentiable near the origin: along every axis its difference "
    "quotients from 0 are 1 for steps forward and -1 for steps back, however short.",
    literal=All(quotient(shift, 1, "forward"), quotient(-shift, -1, "back")),
    where=r"$\sum_b|t\,\delta_{ab}|$ is the 1-norm of the point $t$ on the axis $a$; $t$ any length.",
    notes="It has none at any point with a coordinate 0, and the kernel none where two positions agree in a "
    "coordinate. That training fails for this reason is what the paper supposes; it is not decided.",
)

claim(
    "wang2024/prose-laplacian-agreement",
    "Section 4",
    "Agreement of the designed and the trained Transformer in the Appendix",
    role="empirical",
    words="The results of the Appendix for the linear, RBF, exponential and Laplacian kernels, with one "
    "layer and one head, show close agreement of the designed and the trained Transformer.",
    rests_on=("wang2024/fig6", "wang2024/fig7", "wang2024/fig8", "wang2024/fig9"),
    where=SETTING,
    reason=TRAINING,
    notes="The Appendix says otherwise of the Laplacian kernel: there the training was unstable and the "
    "trained Transformer did poorly, and Figure 9 shows none. For the RBF kernel the trained one is omitted "
    "(Figure 6). Of Figure 8 (exponential kernel) the caption names a trained one, the text gradient descent "
    "alone.",
)
