"""Wang, Henao and Carin (2024): verdicts, negative controls of every kind used, and the theory's knobs."""

from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import pytest
import sympy as sp

from checks.claim import CLAIMS, Options
from checks.engine.judge import judge
from checks.kinds.examples import Example
from checks.kinds.implication import implication
from checks.kinds.positive import Positive, Region, SigmoidNegative
from checks.kinds.stacked import Stacked, block_mutants
from checks.papers.wang2024 import attention, beyond, categorical, context_size, mercer, squared_loss
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.legs import parameters as legs
from checks.run import ledger
from checks.run.verify import examine
from checks.statement import Fact, Identity, Malformed
from derivations.calculus import index as ix
from derivations.calculus import psd
from derivations.calculus.components import evaluate
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import equal
from derivations.calculus.series import Series, series_functions
from derivations.calculus.term import apply, as_term, blocks, exp, part, stack, sum_over, zeros
from derivations.theories.functional_descent import kernels as fk
from derivations.theories.functional_descent import steps as functional_steps
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.softmax import Step
from derivations.theories.functional_descent.updates import FunctionalAssumptions

MODULES = (
    "attention",
    "beyond",
    "categorical",
    "constant_heads",
    "context_size",
    "figures",
    "mercer",
    "squared_loss",
)
for name in MODULES:
    import_module(f"checks.papers.wang2024.{name}")
PAPER = FunctionalAssumptions()
CORRECTED = (
    "eq1", "eq4", "eq5", "eq11", "prose-step-size-half", "prose-readout", "prose-initial-state", "prose-constant-head-softmax",
    "prose-constant-head-chi2", "prose-constant-head-sigmoid", "prose-constant-head-polynomial", "prose-mercer-polynomial",
    "prose-mercer-cosine", "prose-mercer-chi2", "prose-mercer-exponential", "prose-context-size", "prose-rkhs-membership",
    "prose-output-probability", "prose-taylor", "prose-multi-layer-exact",
)  # fmt: skip
PROVED = (
    "eq2", "eq3", "eq6", "eq7", "eq8", "eq9", "eq10", "prose-softmax-derivative", "prose-telescoping",
    "prose-projection-columns", "prose-constant-head-rbf", "prose-constant-head-laplacian", "prose-no-constant-linear",
    "prose-mercer-linear", "prose-mercer-rbf", "prose-mercer-laplacian", "prose-mercer-sigmoid", "prose-mercer-softmax",
    "prose-least-squares", "prose-softmax-weighted-gd", "prose-mask-equivalence", "prose-1-norm-kink",
)  # fmt: skip
FIGURES = (*(f"fig{k}" for k in range(2, 10)), "prose-laplacian-agreement")


def record(slug: str, quick: bool = True, **knobs: str):
    claim = CLAIMS[f"wang2024/{slug}"]
    return examine(claim, replace(PAPER, **knobs) if claim.theory else None, Options(max_tokens=256), quick)


def test_the_verdicts_are_these() -> None:
    """What tests/checks/run/test_claims.py judges is judged there alone."""
    meant = {
        **dict.fromkeys(PROVED, "proved"),
        **dict.fromkeys(CORRECTED, "corrected"),
        **dict.fromkeys(FIGURES, "empirical"),
    }
    recorded = ledger.expected()
    assert {slug: recorded[f"wang2024/{slug}"] for slug in meant} == meant
    assert all(CLAIMS[f"wang2024/{slug}"].reason for slug in FIGURES)


def test_every_claim_is_named_above_and_rests_on_declared_ones():
    listed = {*PROVED, *CORRECTED, *FIGURES, "fig1"}
    ours = {c.id.removeprefix("wang2024/"): c for c in CLAIMS.values() if c.paper == "wang2024"}
    assert set(ours) == listed
    assert all(parent in CLAIMS for c in ours.values() for parent in c.rests_on)


@pytest.mark.slow  # tests/checks/run/test_claims.py judges every claim with its mutants
@pytest.mark.parametrize(
    "slug",
    ["eq1", "eq3", "eq8", "prose-taylor", "prose-mercer-rbf", "prose-mercer-chi2", "prose-least-squares"],
)
def test_no_mutant_survives(slug):
    mutants = record(slug, quick=False).mutants
    assert mutants.killed > 0 and not mutants.survivors


# knobs change verdicts as the mathematics says


def test_half_the_loss_makes_equation_one_right():
    assert record("eq1", loss="half_squared").verdict == "proved"


def test_a_softmax_kernel_is_no_inner_product_of_features():
    found = record("eq1", loss="half_squared", kernel="softmax")
    # where the weights have values: the sum over the keys is not 0
    assert found.literal_holds is False and "denominator" not in found.counterexample


def test_without_bias_the_second_head_is_wrong():
    assert record("eq1", loss="half_squared", bias="off").literal_holds is False


def test_the_summed_cross_entropy_loses_one_over_n():
    assert record("eq3", categorical_loss="summed_cross_entropy").literal_holds is False


@pytest.mark.parametrize("knobs", [{"jacobian": "full"}, {"softmax": "symmetric"}])
def test_equation_four_holds_with_the_whole_jacobian_or_free_outputs(knobs):
    assert record("eq4", **knobs).verdict == "proved"


@pytest.mark.parametrize("kernel", ["linear", "rbf", "softmax", "exp(dot) + xx*yy"])
def test_the_layer_works_for_other_kernels(kernel):
    assert record("eq10", kernel=kernel).verdict == "proved"


def test_the_padded_chi_squared_kernel_is_undefined():
    found = record("eq9", kernel="chi_squared")
    assert found.literal_holds is False and "denominator" in found.counterexample


# negative controls: every engine rejects a wrong statement


def test_a_wrong_sign_of_the_value_matrix_is_refuted():
    wrong = blocks(zeros("d"), n.alpha * n.residual)
    assert judge(Stacked(attention.VALUE @ attention.example(attention.i), wrong)).holds is False


def test_a_wrong_sign_in_the_other_block_is_refuted():
    wrong = blocks(-as_term(n.x_j), as_term(n.y_x) - as_term(n.done_next))
    assert judge(Stacked(squared_loss.INPUT + squared_loss.OUTPUT, wrong, (n.NEXT,))).holds is False


def test_filling_a_zero_block_is_a_mutant():
    assert any("filled" in what for what, _ in block_mutants(attention.QUERY_KEY, 16))


@pytest.mark.parametrize(("rates", "order"), [("full", 3), ("start", 2), ("symmetric", 2)])
def test_an_order_that_is_claimed_too_high_or_with_other_rates_is_refuted(rates, order):
    assert judge(categorical.softmax_step(rates, order)).holds is False


def test_a_witness_that_does_not_refute_is_ignored():
    step = replace(categorical.taylor("full"), witness=categorical.OFF_DIAGONAL)
    assert judge(step).holds is True


@pytest.mark.parametrize("bound", beyond.BETWEEN)
def test_a_probability_needs_weights_of_at_most_one(bound):
    assert implication(bound, 0, False).proved
    assert "does not" in implication(bound.without("1 - weight"), 0, False).counterexample


def test_series_agree_with_sympy():
    t = sp.Symbol("t")
    got = (Series.constant(Fraction(1), 5) / (Series.parameter(5).exp() + 1) ** 2).terms
    want = [sp.series(1 / (sp.exp(t) + 1) ** 2, t, 0, 5).removeO().coeff(t, k) for k in range(5)]
    assert [sp.Rational(c.numerator, c.denominator) for c in got] == want


def test_the_two_routes_to_a_derivative_share_no_code():
    step = Step("1")
    values = {"code": 1, "u": 2, "v": 1, "kappa": 3}

    def lookup(tensor, entry):
        return (
            Series.parameter(3) if tensor == fd.alpha else Series.constant(Fraction(values[tensor.name]), 3)
        )

    series = evaluate(
        step.after().entry(), {"N": 1}, lookup, series_functions(3), {Index("c", "C-1"): 0}
    ).terms
    alpha = sp.Symbol("alpha")
    inner = 2 * alpha
    f = alpha + alpha * (1 - sp.exp(inner) / (1 + sp.exp(inner))) * 4
    expected = sp.series(sp.exp(f) / (1 + sp.exp(f)), alpha, 0, 3).removeO()
    assert [sp.Rational(c.numerator, c.denominator) for c in series] == [
        expected.coeff(alpha, k) for k in range(3)
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rbf", [r"g_{ia} = x_{i}(a)", r"\frac{2}{\sigma^{2}}\,\kappa_{1}", r"u_{i} = \exp\left(-"]),
        ("chi2", [r"p = x_{i}(a),\quad q = x_{j}(a)", r"\sum_{a=1}^{d} \kappa_{1}", r"u_{i} = "]),
    ],
)
def test_a_certificate_shows_the_functions_that_it_is_built_of(name: str, said: list[str]) -> None:
    claim = CLAIMS[f"wang2024/prose-mercer-{name}"]
    steps = [step["latex"] for step in judge(claim.corrected or claim.literal, with_mutants=False).steps]
    assert all(any(text in latex for latex in steps) for text in said), steps


def test_a_certificate_of_another_kernel_proves_nothing():
    right = CLAIMS["wang2024/prose-mercer-rbf"].literal
    wrong = replace(right, kernel=fk.rbf(mercer.x[mercer.i], mercer.x[mercer.j]) * 2)
    assert judge(wrong).holds is not True


def test_an_absolute_value_is_the_root_of_the_square_that_a_certificate_is_built_of():
    """exp(-c |p - q|_1) with |.| written as such; with a plus in it the certificate is one of another."""
    x, i, j, a, rate = mercer.x, mercer.i, mercer.j, mercer.a, mercer.rate

    def total(of):
        return sum_over(a, apply("abs", of))

    overlap = psd.Exp(psd.Multiple(rate, psd.OverCoordinates(psd.Overlap(x[i, a], i), a)))
    proof = psd.Scaled(exp(-rate * total(x[i, a])), i, overlap)
    laplace = Positive(
        exp(-rate * total(x[i, a] - x[j, a])), mercer.X, i, j, "R^d", ((fk.rate, "> 0"),), proof
    )
    assert judge(laplace, with_mutants=False).proved
    wrong = replace(laplace, kernel=exp(-rate * total(x[i, a] - 2 * x[j, a])))
    assert judge(wrong, with_mutants=False).holds is False
    twice = replace(laplace, kernel=exp(-2 * rate * total(x[i, a] - x[j, a])))
    assert judge(twice, with_mutants=False).holds is None


def test_points_that_are_no_rows_are_refused_in_words():
    points = Tensor("t", ("N",))
    kernel = exp(-apply("abs", as_term(points)[mercer.i] - as_term(points)[mercer.j]))
    with pytest.raises(Malformed, match="rows of a matrix"):
        judge(Positive(kernel, points, mercer.i, mercer.j, "R^d"))


def test_a_negative_multiple_is_no_certificate():
    proof = psd.Multiple(as_term(-1), mercer.inner_product())
    kernel = -fk.linear(mercer.x[mercer.i], mercer.x[mercer.j])
    statement = Positive(kernel, mercer.X, mercer.i, mercer.j, "R^d", (), proof)
    assert proof.flaw({}) and judge(statement).holds is False


def test_a_parameter_of_unknown_sign_is_no_certificate():
    assert psd.Multiple(mercer.rate, mercer.inner_product()).flaw({fk.rate: "real"})
    assert not psd.Multiple(mercer.rate, mercer.inner_product()).flaw({fk.rate: ">= 0"})


def test_harmonic_needs_positive_coordinates():
    assert psd.Harmonic(mercer.x[mercer.i, mercer.a], mercer.i).flaw({})


@pytest.mark.parametrize(
    "region",
    [
        Region("+", ("+",), (Fraction(-1), Fraction(0), Fraction(1)), (1, 2, 1)),
        Region("+", ("+",), (Fraction(0),), (1,)),
    ],
)
def test_a_form_that_is_not_negative_is_not_called_so(region):
    assert judge(SigmoidNegative((*mercer.NEVER.regions[:3], region))).holds is not True


def test_regions_must_cover_every_sign():
    assert judge(SigmoidNegative(mercer.NEVER.regions[:3])).holds is not True


def test_the_exponential_kernel_is_not_called_asymmetric():
    one, two = (
        fk.exponential(mercer.x[k], mercer.x[m]) for k, m in ((mercer.i, mercer.j), (mercer.j, mercer.i))
    )
    assert judge(Example((Fact("difference", one - two, "!="),), mercer.CONTEXT)).holds is not True


def test_the_readout_vector_has_too_few_entries():
    finding = judge(squared_loss.readout_literal())
    assert any(
        "1 against C-1" in e.detail or "{+}1" in e.detail for e in finding.evidence if e.passed is False
    )


# legs and derivation


def test_an_affine_term_of_linear_attention_needs_a_free_query_matrix():
    """At the covariates 0 the query of Section 3, C = 3, is (0, 0, -1/3, -1/3): the W_Q of (7) takes it to 0."""
    printed, free = sp.diag(1, 1, 0, 0), sp.Matrix(4, 4, sp.symbols("w:16"))
    key, query = sp.Matrix(sp.symbols("x1 x2 y1 y2")), -sp.Matrix([0, 0, 1, 1]) / 3
    assert sp.expand((free * key).dot(printed * query)) == 0
    assert sp.expand((printed * key).dot(free * query)) != 0


def test_layers_are_steps_at_half_the_rate():
    assert all(e.passed for e in legs.layers_are_steps(PAPER, Options()))


def test_an_unmasked_query_is_one_more_example(monkeypatch):
    assert all(e.passed for e in legs.unmasked_query(PAPER, Options(seed=3)))
    monkeypatch.setattr(legs, "attention_layers", lambda *a, masked: attention_of_examples(*a))
    assert not any(e.passed for e in legs.unmasked_query(PAPER, Options(seed=3)))


attention_of_examples = legs.attention_layers


def test_orders_that_are_claimed_too_high_are_found(monkeypatch):
    full = legs.softmax_error
    monkeypatch.setattr(legs, "softmax_error", lambda *a: full(*a[:5], False, a[6]))
    failed = [e.detail for e in legs.measured_orders(PAPER, Options()) if not e.passed]
    assert len(failed) == 6 and all(
        d.startswith(("C = 3, linearised and frozen", "C = 3, linearised only")) for d in failed
    )


def test_measured_orders_say_where_the_printed_step_fails():
    found = legs.measured_orders(PAPER, Options())
    assert all(e.passed for e in found)
    failing = {e.detail.partition(", layers")[0] for e in found if "not α^2" in e.detail}
    assert failing == {"C = 3, printed", "C = 3, linearised and only the diagonal kept"}


def test_the_two_forms_of_the_cross_entropy_agree():
    from derivations.calculus.term import size, sum_over

    mean = -(1 / size("N") * sum_over(fd.i, fd.observed(PAPER)))
    assert equal(mean.entry(), fd.cross_entropy(PAPER).entry())
    assert not equal((-mean).entry(), fd.cross_entropy(PAPER).entry())


@pytest.mark.parametrize(
    ("softmax", "bias"), [("reference", "on"), ("symmetric", "on"), ("symmetric", "off")]
)
def test_the_slope_of_the_cross_entropy_is_that_of_the_softmax(softmax, bias):
    """Against finite differences of -log h with parameters of class 0 of their own, where they are free."""
    import numpy as np

    rng = np.random.default_rng(2)
    classes, phi, marks = 3, rng.standard_normal((4, 2)), np.eye(3)[[0, 2, 1, 2]]
    all_w = rng.standard_normal((classes, 3)) * [[1, 1, float(bias == "on")]]
    all_w[0] = -all_w[1:].sum(0) if softmax == "symmetric" else 0
    inputs = np.hstack([phi, np.full((4, 1), float(bias == "on"))])

    def loss(w):
        f = inputs @ w.T
        return float((np.log(np.exp(f).sum(1)) - (f * marks).sum(1)).mean())

    values = {"W": all_w[1:, :2], "b": all_w[1:, 2], "phi(x_i)": phi, "code": marks[:, 1:]}
    a = replace(PAPER, softmax=softmax, bias=bias)
    exps = {
        "exp": lambda arg, order: np.exp(float(arg)),
        "root": lambda base, power: float(base) ** float(power),
    }
    (by_weights, _) = fd.gradients("categorical", a)
    row, column = (next(k for k in ix.free_indices(by_weights) if k.dim == dim) for dim in ("C-1", "d'"))
    for c, m in ((0, 0), (1, 1)):
        move = np.zeros_like(all_w)
        move[c + 1, m] = 1e-6
        found = evaluate(
            by_weights,
            {"N": 4, "C-1": 2, "d'": 2},
            lambda t, at: values[t.name][at],
            exps,
            {row: c, column: m},
        )
        assert found == pytest.approx((loss(all_w + move) - loss(all_w - move)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("softmax", ["reference", "symmetric"])
def test_the_categorical_update_holds_for_either_softmax(softmax):
    assert record("eq3", softmax=softmax).verdict == "proved"
    one = replace(PAPER, softmax=softmax)
    mean = -(n.sum_over(fd.i, fd.observed(one)) / n.size("N"))
    assert equal(mean.entry(), fd.cross_entropy(one).entry())


def test_the_unrolled_layers_satisfy_the_update():
    a = replace(PAPER, loss="half_squared", layers="2")
    first, second = functional_steps.unrolled(a)
    assert not equal(first, second)
    c = Index("c", "C-1")
    new = Index("i", "N").fresh()
    at_example = ix.define(first, fd.kappa, lambda k: functional_steps.gram[k, new])
    residual = fd.y[new, c] - at_example
    step = fd.alpha.scalar / ix.Dim("N") * ix.Sum(new, residual * (fd.kappa[new] + 1))
    assert equal(second, first + step)


def two_layers_by_recursion(weight, y, rate):
    """f_2(x) of half the squared loss without bias; ``weight`` gives κ(x_j, x_i) at [i][j], x comes last."""
    n, f = len(y), [0.0] * (len(y) + 1)
    for _ in range(2):
        move = [rate / n * sum(weight[i][j] * (y[j] - f[j]) for j in range(n)) for i in range(n + 1)]
        f = [old + new for old, new in zip(f, move, strict=True)]
    return f[-1]


@pytest.mark.parametrize("kernel", ["softmax", "rbf", "exp(dot) + xx*yy"])
def test_the_unrolled_layers_keep_the_order_of_keys_and_queries(kernel):
    import numpy as np

    rng = np.random.default_rng(1)
    points, y = rng.standard_normal((5, 3)), rng.standard_normal(4)
    dot = points @ points.T
    norms = np.diag(dot)
    weight = {
        "softmax": np.exp(0.9 * dot) / np.exp(0.9 * dot[:, :4]).sum(1, keepdims=True),
        "rbf": np.exp(2 * dot - norms[:, None] - norms),
    }.get(kernel, np.exp(dot) + norms[:, None] * norms)

    def lookup(tensor, at):
        if tensor == fd.kappa:
            return weight[4, at[0]]
        return {"y": lambda: y[at[0]], "alpha": lambda: 0.3}.get(tensor.name, lambda: weight[at[1], at[0]])()

    a = replace(PAPER, kernel=kernel, bias="off", loss="half_squared")
    layers = functional_steps.unrolled(a)
    (row,) = {k for k in ix.free_indices(layers[-1])}
    found = evaluate(layers[-1], {"N": 4, "C-1": 1}, lookup, {}, {row: 0})
    assert float(found) == pytest.approx(two_layers_by_recursion(weight, y, 0.3), abs=1e-12)


def test_a_kernel_is_symmetric_only_where_that_is_visible():
    assert all(fk.visibly_symmetric(name) for name in ("features", *fk.KERNELS, "exp(dot)*xx*yy + xx + yy"))
    assert not any(fk.visibly_symmetric(name) for name in ("softmax", "dot*xx", "dot/sqrt(xx)"))


@pytest.mark.parametrize(("kernel", "shown"), [("softmax", False), ("rbf", True), ("features", True)])
def test_no_features_are_stepped_under_a_kernel_that_has_none(kernel, shown):
    steps = functional_steps.derive(replace(PAPER, kernel=kernel))
    assert any(s.title == "Update of the function" for s in steps) is shown
    (layer,) = (s for s in steps if s.title == "After layer 1")
    assert ("no φ has this kernel" in layer.reason) is not shown


@pytest.mark.parametrize(
    ("slug", "knob", "value", "expected"),
    [
        ("eq10", "kernel", "sigmoid", "proved"),  # its constant is none of the classes' letter
        ("eq10", "kernel", "polynomial", "proved"),
        ("prose-step-size-half", "bias", "off", "corrected"),  # and has then one step only
    ],
)
def test_a_changed_knob_leaves_a_statement_that_can_be_judged(
    slug: str, knob: str, value: str, expected: str
) -> None:
    changed = FunctionalAssumptions(**{knob: value})
    assert examine(CLAIMS[f"wang2024/{slug}"], changed, Options(), quick=True).verdict == expected


@pytest.mark.parametrize(
    ("kernel", "heads", "words"),
    [
        ("features", 2, "constantly one"),
        ("linear", 1, "no constant second one"),
        ("cosine", 1, "no constant second one"),
        ("softmax", 2, "P_2 is I"),
        ("chi_squared", 1, "no constant second one"),
        ("sigmoid", 2, r"\tanh c_{\kappa}, which P_2 divides by, for c_κ ≠ 0"),
        ("polynomial", 2, r"c_{\kappa}^2, which P_2 divides by, for c_κ ≠ 0"),
        ("exp(dot) + 2", 2, "constantly 3"),
        ("dot*xx", 1, "is 0 at zero"),
        ("tanh(dot)", 1, "is 0 at zero"),
        ("1/dot", 1, "not defined at zero"),
        ("log(dot)", 1, "not defined at zero"),
    ],
)
def test_the_derived_layer_has_a_second_head_where_the_kernel_gives_a_constant(kernel, heads, words):
    for bias in ("on", "off"):
        steps = functional_steps.derive(replace(PAPER, kernel=kernel, bias=bias))
        (layer,) = [s for s in steps if s.title == "Layer"]
        assert layer.latex.count("W_V") == (heads if bias == "on" else 1)
        assert words in layer.reason if bias == "on" else layer.reason == "one head"


@pytest.mark.parametrize("kernel, words", [
    ("features", "W and b stepped"), ("rbf", "W and b stepped"), ("polynomial", "for γ ≥ 0 and c_κ ≥ 0"),
    ("exponential", "for λ ≥ 0"), ("sigmoid", None), ("softmax", None),
])  # fmt: skip
def test_weights_are_stepped_only_where_features_have_the_kernel(kernel, words):
    steps = [
        s for s in functional_steps.derive(replace(PAPER, kernel=kernel)) if s.title.startswith("Update")
    ]
    assert all(s.reason.endswith(words) for s in steps) if words else not steps


@pytest.mark.parametrize("knobs", [{"jacobian": "full"}, {"softmax": "symmetric"}])
def test_the_value_block_for_codes_makes_up_for_the_mean_of_the_layer(knobs):
    mean, total = (
        functional_steps.derive(replace(PAPER, categorical_loss=loss, **knobs))[-1].latex
        for loss in ("cross_entropy", "summed_cross_entropy")
    )
    assert r"\alpha\,N" in total and total.replace(r"\alpha\,N", r"\alpha") == mean


@pytest.mark.parametrize(
    "knobs", [{}, {"bias": "off", "rates": "per_layer", "kernel": "softmax", "jacobian": "full"}]
)
def test_every_step_of_the_derivation_prints(knobs):
    steps = functional_steps.derive(replace(PAPER, **knobs))
    assert len(steps) > 8 and all(s.latex and s.reason for s in steps)


@pytest.mark.parametrize(
    ("name", "value"),
    [("kernel", "__import__('os')"), ("loss", "cubic"), ("layers", "7"), ("kernel", "dot +")],
)
def test_bad_knob_values_are_refused(name, value):
    with pytest.raises(ValueError):
        functional_steps.validate(name, value)


def test_good_knob_values_are_taken():
    for knob in functional_steps.KNOBS:
        for value in knob.allowed:
            if not value.startswith("EXPRESSION"):
                functional_steps.validate(knob.name, value)
    functional_steps.validate("kernel", "exp(dot - xx/2 - yy/2)")


def test_defaults_are_allowed_values():
    for knob in functional_steps.KNOBS:
        functional_steps.validate(knob.name, getattr(PAPER, knob.name))


def test_parts_and_stacks_print():
    vector = blocks(as_term(n.x_j), stack(n.c, as_term(n.y_x)[n.c]))
    assert "pmatrix" in vector.latex() and "C-1" in part(vector, "C-1").latex()
    assert judge(Identity(part(vector, "d"), as_term(n.x_j))).holds


def test_the_error_at_any_rate_is_bias_and_variance() -> None:
    for count in (1, 2, 7, 20):
        for rate in (Fraction(0), Fraction(1), Fraction(-2), Fraction(9 * count, 9 * count + 16)):
            found = Fraction(9, 100) * (1 - rate) ** 2 + rate**2 * Fraction(4, 25 * count)
            assert context_size.error(count, rate) == found
        best = Fraction(9 * count, 9 * count + 16)
        beside = (best - Fraction(1, 100), best + Fraction(1, 100))
        assert all(context_size.error(count, best) < context_size.error(count, other) for other in beside)


@pytest.mark.parametrize("classes", ["C-1", "1"])
@pytest.mark.parametrize("name", ["code", "u", "v", "eps", "eps(x)"])
def test_no_place_for_an_index_is_left_in_the_name_of_a_whole_array(classes: str, name: str) -> None:
    assert "%" not in Step(classes).tensor(name).latex
