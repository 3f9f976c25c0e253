"""The choices of nguyen2023 as knobs of theory svr: what each changes in derivations, verdicts and
systems.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from checks.claim import Assumption, Claim, Options
from checks.papers.nguyen2023.legs import theorem1
from checks.run import registry
from checks.run.ablation import ablate
from checks.run.content import key, said_under
from checks.run.registry import load
from checks.run.theories import theories, theory
from checks.run.verify import assumptions_for, examine
from checks.statement import Identity
from derivations.calculus.index import Tensor
from derivations.calculus.normal import equal
from derivations.calculus.term import as_term
from derivations.theories.svr import attentions as svr_attentions
from derivations.theories.svr import choices as svr_choices
from derivations.theories.svr import regression
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import KNOBS, SvrAssumptions
from derivations.theories.theory import BadAssumption, NoForm

PAPER = SvrAssumptions()


def verdict(slug: str, **knobs: str) -> str:
    claim = load()[f"nguyen2023/{slug}"]
    changed = assumptions_for(claim, {"svr": replace(PAPER, **knobs)})
    return examine(claim, changed, Options(), quick=True).verdict


CHANGES = [  # a claim that changes its verdict
    ({"statistics": "mean"}, "eq20", "refuted"),
    ({"statistics": "none"}, "eq21", "refuted"),
    ({"beta": "0"}, "prose-centering-only", "unsettled"),
    ({"scales": "1,1"}, "fig1", "refuted"),
    ({"downsampling": "largest"}, "rem5", "refuted"),
    ({"mask": "all"}, "eq16", "proved"),
    ({"kernel_size": "7", "kernel_size_2d": "3"}, "prose-kernel-size", "proved"),
    ({"normaliser": "kernel_sum_raw"}, "eq21", "refuted"),
    ({"loss": "least_squares"}, "eq39", "refuted"),
    ({"normaliser": "one"}, "eq7", "proved"),  # h stands nowhere then, and nothing is assumed of it
    ({"normaliser": "one"}, "eq9", "proved"),
    ({"normaliser": "one"}, "prose-converse", "refuted"),
    ({"box": "relaxed", "loss": "least_squares"}, "eq9", "refuted"),
]
MORE = [  # others that change, and some that do not
    ({"statistics": "unbiased_variance"}, "eq23", "refuted"),
    ({"statistics": "of_queries"}, "eq24", "refuted"),
    ({"statistics": "mean"}, "eq48", "refuted"),
    ({"statistics": "unbiased_variance"}, "eq24", "proved"),
    ({"beta": "1/2"}, "prose-centering-only", "proved"),
    ({"beta": "0"}, "eq26", "definition"),
    ({"scales": "1,1,2,4"}, "fig1", "refuted"),
    ({"scales": "1,1,2,4"}, "fig2", "corrected"),
    ({"scales": "1,2,4"}, "eq25", "definition"),
    ({"downsampling": "first"}, "rem5", "definition"),
    ({"mask": "window:8"}, "eq16", "corrected"),
    ({"kernel_size": "4"}, "prose-kernel-size", "corrected"),
    ({"normaliser": "kernel_sum_raw"}, "eq16", "refuted"),
    ({"normaliser": "kernel_sum_raw"}, "eq15", "proved"),
    ({"normaliser": "one"}, "eq25", "refuted"),
    ({"feature_map": "polynomial:2"}, "eq43", "refuted"),
    ({"loss": "least_squares"}, "eq25", "definition"),
]
EVERY = [*CHANGES, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE)]


@pytest.mark.parametrize(("knobs", "slug", "expected"), EVERY)
def test_a_knob_changes_the_verdicts_that_depend_on_it(
    knobs: dict[str, str], slug: str, expected: str
) -> None:
    assert verdict(slug, **knobs) == expected


FAST = ("absolute", "logistic", "norm")


@pytest.mark.parametrize(
    "loss", [pytest.param(v, marks=() if v in FAST else pytest.mark.slow) for v in regression.LISTED]
)
def test_every_loss_of_the_table_is_dualised_and_gives_attention(loss: str) -> None:
    chosen = replace(PAPER, loss=loss, bias="off")
    (found,) = theorem1.primal_and_dual(chosen, Options())
    assert found.passed or (loss == "simplex_entropy" and "is not evaluated here" in str(found.not_run))
    paper, other = (regression.derive(a)[-1].latex for a in (replace(PAPER, bias="off"), chosen))
    assert other == paper


def test_the_dual_of_another_loss_is_none() -> None:
    chosen, other = (replace(PAPER, loss=loss, bias="off") for loss in ("absolute", "relu"))
    dual = regression.dual(other).program
    assert dual is not None and not theorem1._gap(regression.primal(chosen), dual).passed


def test_a_relaxed_box_asks_for_a_loss_that_is_zero_where_the_fit_is_exact() -> None:
    """Of ReLU the limit in C is an inequality, of the logistic loss nothing: an exact fit is another program."""

    def exact(loss: str) -> bool:
        try:
            return regression.primal(replace(PAPER, loss=loss, box="relaxed")).name.endswith("exact fit")
        except NoForm:
            return False

    assert {v for v in regression.LISTED if exact(v)} == {"absolute", "norm"}
    assert verdict("thm1", loss="relu") == "unsettled"


@pytest.mark.parametrize("knob", [k.name for k in svr_choices.KNOBS])
def test_every_value_of_a_knob_is_derived_and_changes_the_inputs(knob: str) -> None:
    own = next(k for k in KNOBS if k.name == knob)
    before = [c.inputs for c in svr_attentions.chains(PAPER)]
    values = [v for v in (*own.allowed, *own.examples) if not re.search("[A-Z]", v)]
    for value in [v for v in values if v != getattr(PAPER, knob)]:
        after = [c.inputs for c in svr_attentions.chains(theory("svr").assumptions({knob: value}))]
        assert sum(x != y for x, y in zip(before, after, strict=True)) == 1, value


def test_another_kernel_changes_every_attention() -> None:
    def attentions(a: SvrAssumptions) -> list[str]:
        return [s.latex for s in svr_attentions.derive(a) if s.title.endswith(": attention")]

    before, after = attentions(PAPER), attentions(replace(PAPER, feature_map="elu"))
    assert len(before) == 6
    assert all(x != y for x, y in zip(before, after, strict=True))
    raw = attentions(replace(PAPER, normaliser="kernel_sum_raw"))
    # a scaled head sums over its own keys, as (25) does, and not over the first N_s tokens
    assert [x != y for x, y in zip(before, raw, strict=True)] == [True, True, False, True, True, True]


def _shown(**knobs: str) -> dict[str, str]:
    descent = theories()["functional_descent"]
    return {s.title: s.latex for s in descent.derive(descent.assumptions(knobs))}


def test_the_kernel_of_a_user_is_shown_and_not_named() -> None:
    shown = _shown(kernel="dot*exp(-xx-yy)")["Attention weight"].partition(" = ")[2]
    assert r"{x_{i}}^{\top} x" in shown and r"\exp" in shown and r"\kappa" not in shown


def test_where_each_layer_has_its_rate_no_formula_has_a_shared_one() -> None:
    each, shared = _shown(rates="per_layer", jacobian="full"), _shown(jacobian="full")
    for title in ("Value matrix", "Value block for codes", "Update of the function"):
        assert r"\alpha_{k}" in each[title] and r"\alpha" not in each[title].replace(r"\alpha_{k}", "")
        assert r"\alpha" in shared[title] and r"\alpha_{k}" not in shared[title]


def test_values_are_read_exactly() -> None:
    assert svr_choices.beta("free") is None
    assert svr_choices.beta("0.15") == Fraction(3, 20)
    assert svr_choices.scales("1, 1,2,4") == (1, 1, 2, 4)
    assert svr_attentions.share_of_keys(replace(PAPER, scales="1,1,2,4")) == Fraction(11, 16)
    assert svr_choices.mask("window:3") == ("window", 3)
    assert svr_attentions.padding(5) == (2, 2)
    assert svr_attentions.padding(2) == (0, 1)


@pytest.mark.parametrize(
    "values", [("1/3", "q"), ("q", "1/3"), ("2/3", "q"), ("q", "2/3"), ("q", "5/3"), ("NUMBER",), (["1"],)]
)
def test_every_value_that_a_claim_says_is_read_where_claims_are_loaded(values: tuple[str, ...]) -> None:
    claim = replace(load()["nguyen2023/thm1"], under=tuple(("beta", value) for value in values))
    with pytest.raises(BadAssumption, match="nguyen2023/thm1: beta"):
        registry._require_knobs({claim.id: claim})


@pytest.mark.parametrize("setting", [
    ("beta", "2.0001"), ("beta", "1e9"), ("beta", "nan"), ("scales", "0"), ("scales", "1;2"), ("scales", "1,,2"),
    ("mask", "strided:4097"), ("mask", ":3"), ("kernel_size", "2.0"), ("kernel_size", "²"), ("statistics", ""),
])  # fmt: skip
def test_what_is_out_of_range_is_refused_in_one_line(setting: tuple[str, str]) -> None:
    with pytest.raises(BadAssumption) as refused:
        theory("svr").assumptions(dict([setting]))
    assert "\n" not in str(refused.value) and "allowed" in str(refused.value)


def test_the_loss_of_a_variant_is_that_of_the_assumptions() -> None:
    own = sv.Variant("plain").under(replace(PAPER, loss="least_squares", bias="off"))
    assert [t.name for t in own.program().variables] == ["w", "r"]
    plain = sv.Variant("plain", bias=False)
    assert equal(sv.in_values(own, sv.expansion(own)), sv.in_values(plain, sv.expansion(plain)))


def test_a_quick_record_is_shared_by_assumptions_that_do_not_touch_the_claim() -> None:
    claim, other = load()["nguyen2023/eq25"], load()["nguyen2023/fig1"]

    def name(c, **knobs):
        a = assumptions_for(c, {"svr": replace(PAPER, **knobs)})
        return key(c, a, Options(), said_under(c, a))

    assert name(claim) == name(claim, beta="0", scales="1,1")
    assert name(claim) != name(claim, normaliser="one")
    assert name(other) != name(other, scales="1,1")


def test_ablation_tries_the_examples_of_a_placeholder() -> None:
    claim = load()["nguyen2023/prose-kernel-size"]
    found = {r.variant: r.needed for r in ablate(claim, assumptions_for(claim, {})) if r.needed is not None}
    assert found.keys() == {f"kernel_size{t} = {n}" for t, n in (("", 1), ("", 4), ("_2d", 1), ("_2d", 3))}
    pooling = load()["nguyen2023/rem5"]
    heard: list[str] = []
    found = {r.variant: r.needed for r in ablate(pooling, assumptions_for(pooling, {}), heard.append)}
    assert heard == [*found]  # what is tried is said before
    assert found == {"downsampling = first": False, "downsampling = largest": True}


@pytest.mark.parametrize("knobs", [{"beta": "1"}, {"beta": "0"}, {"scales": "1,1,4", "downsampling": "largest"}, {"mask": "window:8"},
                                   {"mask": "all"}, {"kernel_size": "2", "kernel_size_2d": "3"}, {"kernel_size": "1"}])  # fmt: skip
def test_the_systems_follow_the_knobs(knobs: dict[str, str]) -> None:
    """Formulas, derived expansions and torch's layers agree for other choices too."""
    from checks.papers.nguyen2023.legs import attentions as variant_legs
    from checks.papers.nguyen2023.legs import heads as variant_heads
    from checks.papers.nguyen2023.legs import inputs as variant_inputs
    from checks.papers.nguyen2023.legs import versions as variant_versions

    own, options = replace(PAPER, bias="off", **knobs), Options(max_tokens=256)
    legs = {"beta": [variant_legs.beta_definition, variant_legs.beta_as_bias, variant_heads.beta_sh_definition],
            "scales": [variant_heads.sh_definition, variant_heads.sh_kernel],
            "mask": [variant_versions.sparse_definition, variant_versions.sparse_versions],
            "kernel_size": [variant_inputs.conv1d, variant_inputs.conv2d]}[next(iter(knobs))]  # fmt: skip
    for leg in legs:
        for found in leg(own, options):
            assert found.passed is not False, found.detail


@pytest.mark.parametrize("theory, knob, value, words", [
    ("functional_descent", "kernel", "-1", "no features have this kernel: at (1) with c = (1), c'Gc = -1 < 0"),
    ("svr", "feature_map", "-exp(dot)", "no features have this kernel: at (1) with c = (1), c'Gc = -e < 0"),
    ("svr", "feature_map", "dot - xx", "no features have this kernel"),
    ("svr", "feature_map", "sqrt(1+xx*yy)", "no features have this kernel: at (-2), (0), (3) with c = (1, -3/8, -5/8)"),
    ("svr", "feature_map", "sqrt(1+xx*yy)+dot", "no features have this kernel: at (2), (0), (3)"),
    ("svr", "feature_map", "(1+xx*yy)^(1/3)", "no features have this kernel"),
    ("svr", "feature_map", "exp(dot)*sqrt(1+xx*yy)", "no features have this kernel"),
    ("functional_descent", "kernel", "sqrt(dot^2)", "at (1, 0), (1, 1), (0, 1), (-1, 1) with c = (3, -2, 3, "
                                                    "-2), c'Gc = -14 < 0"),
    ("functional_descent", "kernel", "exp(dot)-2*dot^12/479001600", "dot^12 has the coefficient -1/479001600"),
    ("functional_descent", "kernel", "1/(4000-dot)", "not shown to have a value for every inner product u: 4000 "
                                                   "- u"),
    ("svr", "feature_map", "xx*dot", "it is not symmetric"),
    ("functional_descent", "kernel", "exp(-(xx-2*dot+yy)^(5/4))", "at (-1/4), (0), (1/4) with c = (1, -2, 1)"),
    ("svr", "feature_map", "sqrt(dot)", "the kernel has no value at (1), (-1)"),
    ("svr", "feature_map", "exp(800)*sqrt(1+dot^2)", "at (1, 0), (1, 1), (0, 1), (-1, 1) with c = (1, -1, 1, -1)"),
    ("svr", "feature_map", "exp(-1000)*tanh(dot)", "with c = (1, -2), c'Gc = -5.4414190e-436 < 0"),
    ("functional_descent", "kernel", "exp(100*dot)", "values so large that they cannot be compared here"),
    ("svr", "feature_map", "exp(exp(dot))", "or none that can be computed here"),  # it has one, exp(exp(1024))
    ("svr", "feature_map", "1+dot^2-dot^4/1000000000", "c = (-1, 5/9, 4/9), c'Gc = -1/2500000 < 0"),
    ("functional_descent", "kernel", "sqrt(dot^2+1)", "no features have this kernel: at (1, 0), (1, 1)"),
    ("functional_descent", "kernel", "exp(dot)-0.00001*exp(2*dot)", "no features have this kernel: at (4)"),
    ("svr", "feature_map", "exp(dot)-xx*yy/1000", "no features have this kernel in every dimension: its form"),
    ("functional_descent", "kernel", "dot^2+dot-(xx+yy)/90", "no features have this kernel"),
    ("functional_descent", "kernel", "exp(dot)-dot^6/700", "dot^6 has the coefficient -1/25200"),
    ("functional_descent", "kernel", "1/(40-dot)", "no features have this kernel: at (8) with c = (1), c'Gc = "),
    *(("ksvd", "feature_map", value, "the features are not shown to have a value for every token: ")
      for value in ("sqrt(zz-1)", "log(zz-1/2)*z", "z/(zz-2)", "1/(z+2)")),
    ("ksvd", "feature_map", "sqrt(-1-zz)", "the features have no value at z = -1, zz = 1"),
    ("svr", "feature_map", "dot^4-dot^2*xx*yy/2", "for xx = yy = 1 dot^2 has the coefficient -0.5"),  # D > 4
    ("energy", "step", "1e999", "a positive number up to 1000000"),
    ("svr", "feature_map", "tanh(dot)", "no features have this kernel: at (1), (1/2)"),
    ("svr", "feature_map", "0*dot", "the kernel vanishes everywhere"),
    ("ksvd", "feature_map", "0*z", "the features vanish everywhere"),
    ("energy", "F", "sqrt(u^2)", "F must have a slope at every real u; this one has none at u = 0"),
    *(("energy", "F", value, "F must have a second derivative at every real u")  # |u - 1/2|, and kinks at ± √½
      for value in ("sqrt(u^2-u+1/4)", "(4*u^4-4*u^2+1)^(3/4)")),
])  # fmt: skip
def test_a_value_that_means_nothing_is_refused_in_one_line(
    theory: str, knob: str, value: str, words: str
) -> None:
    with pytest.raises(BadAssumption) as refused:
        theories()[theory].assumptions({knob: value})
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("theory, knob, value", [
    ("svr", "feature_map", "exp(-(xx + yy - 2*dot)/2)"), ("svr", "feature_map", "(dot + 1)^2"),
    ("svr", "feature_map", "dot^4 - dot^2*xx*yy/(D + 2)"), ("svr", "feature_map", "exp(-(xx + yy - 2*dot)^(3/4))"),
    ("functional_descent", "kernel", "exp(dot)"), ("functional_descent", "kernel", "exp(1000)*dot"), ("energy", "F", "log(cosh(u))"), ("ksvd", "feature_map", "z/sqrt(zz)"), ("ksvd", "feature_map", "z*sqrt(1+zz)/(1+z^2)"),
])  # fmt: skip
def test_a_value_that_means_something_is_taken_as_printed_again(theory: str, knob: str, value: str) -> None:
    assert getattr(theories()[theory].assumptions({knob: value}), knob) == value.replace(" ", "")


def test_ablation_says_why_nothing_is_stated_under_a_value() -> None:
    def stated(assumptions):
        if assumptions.bias != PAPER.bias:
            raise NoForm("the offset is gone")
        return load()["nguyen2023/eq1"].literal

    bias = Assumption("bias", "there is an offset", "bias", PAPER.bias)
    (found,) = ablate(Claim("p/a", "r", "t", stated, "w", theory="svr", assumes=(bias,)), PAPER)
    assert found.needed is None and found.detail == "nothing is said under it: the offset is gone"


def test_ablation_drops_the_hypothesis_that_it_names() -> None:
    """xy/y + x = 2x asks for y ≠ 0: that x ≠ 0 is redundant, and nothing is said of z."""
    x, y = (Tensor(name) for name in "xy")
    stated = Identity(as_term(x) * as_term(y) / as_term(y) + x, 2 * as_term(x), nonzero=(x, y))
    named = tuple(Assumption(f"{name}_nonzero", name) for name in "xyz")
    found = ablate(Claim("p/a", "r", "t", stated, "w", assumes=named), PAPER)
    assert [one.needed for one in found] == [False, True, None]
