"""Claims of chen2023: every row is there, verdicts are computed, and the checks can fail."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
import sympy as sp

from checks.claim import Options, built
from checks.engine.judge import ENGINES
from checks.engine.printing import conditions_latex
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.follows import Follows
from checks.papers.chen2023 import (
    attention,
    conditions,
    duality,
    lengths,
    symbols,
    table_data,
    tables,
    triplets,
    zero_value,
)
from checks.papers.chen2023 import enumerations as legs
from checks.run import ledger, readings
from checks.run.registry import load
from checks.run.verify import assumptions_for, examine, latex
from checks.statement import Given, Identity
from derivations.calculus.index import Tensor
from derivations.calculus.normal import equal
from derivations.calculus.term import as_term, exp, size, squared_norm, sum_over
from derivations.theories import ksvd
from derivations.theories.ksvd import KsvdAssumptions, N

CLAIMS = {c.id: c for c in load().values() if c.paper == "chen2023"}
EXPECTED = {
    "proved": "eq5 thm2.2 eq7 eq8 eq11 eq13 eq15 eq17 eq18 eq19 eq20 lem4.2 rem3.3 prose-asymmetry "
    "prose-rank "
    "prose-released-loss prose-eliminated-conditions prose-uea-lengths prose-data-independent-value "
    "prose-imagenet-not-long prose-gain-uea-lra",
    "corrected": "eq2 eq4 eq6 eq12 eq14 def2.1 thm3.2 rem3.1 rem3.4 rem4.1 fig2 tab1 tab2 tab4 tab5 tab9 "
    "tab12 "
    "prose-symmetric-svd prose-lambda-inverse-sigma prose-identity-reduces prose-kernel-function-of-pair "
    "prose-lambda-corresponds prose-block-form prose-dual-problem prose-s-range prose-fx-shape "
    "prose-causal-data-dependent prose-primalformer-73.1 prose-kernel-without-fx prose-maximal-directions "
    "prose-n-much-less-than-N prose-uea-lra-longer prose-longer-more-efficient prose-efficiency-gain-tables "
    "prose-gain-with-length prose-lra-longer-than-uea",
    "refuted": "prose-zero-objective-satisfies-kkt prose-low-rank-promoted prose-jl-subsample "
    "prose-lambda-automatic prose-wikitext-not-superior",
    "definition": "eq1 eq3 eq9 eq10 eq16 alg1 fig3 prose-heads-mean",
    "empirical": "fig1 tab3 tab6 tab7 tab8 tab10 tab11 tab13 prose-imagenet-efficiency",
}
PAIRS = [(f"chen2023/{name}", verdict) for verdict, names in EXPECTED.items() for name in names.split()]


def test_every_claim_is_expected() -> None:
    assert set(CLAIMS) == {id for id, _ in PAIRS}


@pytest.mark.parametrize(("id", "verdict"), PAIRS)
def test_verdict_is_the_recorded_one(id: str, verdict: str) -> None:
    assert ledger.expected()[id] == verdict  # which tests/checks/run/test_claims.py computes


@pytest.mark.parametrize("id", CLAIMS)
def test_the_k_of_a_name_is_told_from_a_sum_over_k(id: str) -> None:
    claim = CLAIMS[id]
    assumptions = assumptions_for(claim, {})
    shown = "".join(latex(built(s, assumptions)) for s in (claim.literal, claim.corrected) if s)
    if r"\sum_{k=1}" in shown and ("W_k" in shown or r"\phi_k" in shown):
        assert "subscripts are no indices" in claim.where


@pytest.mark.parametrize("f_X", ["identity", "sampled"])
def test_verdicts_hold_for_every_f_of_x(f_X: str) -> None:
    for id in ("eq7", "eq14", "thm3.2", "lem4.2", "eq6", "prose-lambda-inverse-sigma"):
        claim = CLAIMS[f"chen2023/{id}"]
        here = examine(claim, KsvdAssumptions(f_X=f_X), Options(), quick=True).verdict
        assert here == dict(PAIRS)[f"chen2023/{id}"]


@pytest.mark.parametrize(
    "settings", [{"normalisation": "row"}, {"scores": "e_only"}, {"objective": "released"}], ids=str
)
def test_changed_assumptions_change_the_verdict(settings: dict[str, str]) -> None:
    claim = CLAIMS["chen2023/eq7"]
    assert examine(claim, KsvdAssumptions(**settings), Options(), quick=True).verdict == "refuted"


def test_derivation_runs_for_every_choice() -> None:
    for knob in ksvd.KNOBS:
        for value in knob.allowed:
            if not value.startswith("EXPRESSION"):
                assert len(ksvd.derive(replace(KsvdAssumptions(), **{knob.name: value}))) >= 10
    own = KsvdAssumptions(feature_map="z/(1 + zz)", f_X="identity")
    shown = [s.latex for s in ksvd.derive(own) if s.title == "Kernel"]
    assert r"1 + \left\|" in shown[0]
    with pytest.raises(ValueError, match="not allowed"):
        ksvd.validate("feature_map", "__import__('os')")
    with pytest.raises(ValueError, match="allowed value"):
        ksvd.validate("scores", "three")


def test_eliminated_lagrangian_is_minus_the_objective() -> None:
    a = KsvdAssumptions()
    assert equal(ksvd.eliminated(a), -1 * ksvd.objective_at_solution(a))
    assert not equal(ksvd.eliminated(a), ksvd.objective_at_solution(a))


def test_a_wrong_objective_is_not_euler() -> None:
    assert [e.passed for e in legs.euler_class(KsvdAssumptions(), Options())] == [True, True]
    own = legs.printed(KsvdAssumptions())
    quadratic = legs.general_quadratic(own)
    linear = legs.trace(as_term(Tensor("B", (ksvd.rows(own), ksvd.S))).T @ legs.weights(own)[0])
    for left in (as_term(0), -linear, 2 * linear):
        assert not legs._euler(own, quadratic + linear, left)
    assert legs.free_lambda(KsvdAssumptions(), Options())[0].passed


def test_inertia_counts_signs() -> None:
    def f(*rows: tuple[int, ...]) -> list[list[Fraction]]:
        return [[Fraction(x) for x in row] for row in rows]

    assert legs.signs(f((1, 0), (0, -2))) == (1, 0, 1)
    assert legs.signs(f((0, 1), (1, 0))) == (1, 0, 1)
    assert legs.signs(f((1, 1), (1, 1))) == (1, 1, 0)
    assert legs.signs(f((0, 0), (0, 0))) == (0, 2, 0)
    assert legs.inertia(KsvdAssumptions(), Options())[0].passed


def test_inertia_leg_rejects_a_wrong_hessian(monkeypatch: pytest.MonkeyPatch) -> None:
    right = legs.hessian
    monkeypatch.setattr(legs, "hessian", lambda named, weight: right(named, 2 * weight))
    assert legs.inertia(KsvdAssumptions(), Options())[0].passed is False


def test_ray_of_the_program_is_checked() -> None:
    from checks.kinds.unbounded import ray_error

    a = KsvdAssumptions()
    good = duality.ray(a)
    assert ray_error(ksvd.primal(a), good) == ""
    w_e, w_r, e, r = good.values
    same_sign = replace(good, values=(w_e, (w_r[0], w_r[1], w_e[2]), e, r))
    assert "not kept" in ray_error(ksvd.primal(a), same_sign)
    assert "another one" in ray_error(ksvd.primal(a), replace(good, growth=2 * good.growth))
    assert "another one" in ray_error(replace(ksvd.primal(a), maximise=False), good)
    assert "every variable" in ray_error(ksvd.primal(a), replace(good, values=good.values[:2]))


def test_sampling_and_projection_are_enumerated() -> None:
    assert attention.sampling_share() == Fraction(1, 2)
    assert attention.projection_share() == attention.projection_share(3) == 1
    for length, drawn in ((4, 2), (5, 2), (7, 4)):  # the rows by number; the row 0 has the 1
        draws = list(combinations(range(length), drawn))
        kept = sum(2 * length * draw.count(0) >= drawn for draw in draws)
        assert attention.sampling_share(length, drawn) == Fraction(kept, len(draws))


def test_the_sampled_instance_is_one_of_the_paper() -> None:
    """For N = 4 the printed n = min{s*10, N} would take all rows."""
    assert attention.DRAWN == min(1 * 10, attention.LENGTH) < attention.LENGTH


def test_gaussian_means_are_integrated() -> None:
    from checks.kinds.gaussian import mean

    w, z = sp.Symbol("w", real=True), sp.Symbol("z", real=True)
    assert sp.simplify(mean(sp.exp(w * z), w) - sp.exp(z**2 / 2)) == 0


@pytest.mark.parametrize(("version", "exact"), [("literal", False), ("corrected", True)])
def test_the_maps_of_remark_4_1_are_those_whose_mean_is_taken(version: str, exact: bool) -> None:
    """⟨φ_q, φ_k⟩ is a sum over m of products over the coordinates of what the corrected mean integrates."""
    whole = built(getattr(CLAIMS["chen2023/rem4.1"], version), KsvdAssumptions())
    left, right = (p.meaning for p in whole.parts if p.label in {f"exponential features, {c}" for c in "qk"})
    q, k = (attention.of_x(name, attention.DQ) for name in "qk")
    w, scale = as_term(attention.omega)[attention.m_w], size(attention.DK) ** Fraction(1, 4)
    halves = (squared_norm(q / scale) + squared_norm(k / scale)) / 2
    integrand = sum_over(attention.m_w, exp(w.T @ (q + k) / scale - halves))
    finding = ENGINES[Identity](Identity(left.T @ right, integrand), 0, False)
    assert finding.proved is exact and (finding.holds is False) is not exact


def test_tables_are_transcribed_whole() -> None:
    shapes = {
        "TABLE_1": (10, 11), "TABLE_2": (4, 12), "TABLE_3": (5, 9), "TABLE_4": (7, 10), "TABLE_5": (9, 7),
        "TABLE_5_DEVIATIONS": (9, 7), "TABLE_6": (3, 6), "TABLE_8": (4, 5), "TABLE_10": (9, 3), "TABLE_11": (2, 10),
        "TABLE_12": (2, 5), "TABLE_13": (5, 4),
    }  # fmt: skip
    for name, (rows, columns) in shapes.items():
        table = getattr(table_data, name)
        assert len(table) == rows
        assert {len(row) for row in table.values()} == {columns}
    assert all(len(rows) == 3 and {len(r) for r in rows} == {4} for rows in table_data.TABLE_9.values())


@pytest.mark.parametrize(
    "base, value, ratio, digits, reachable",
    [
        ("4.3", "2.4", "1.8", 1, True),
        ("2.5", "2.2", "1.2", 1, True),  # 2.55/2.15 is above 1.15
        ("2.5", "2.2", "1.3", 1, False),
        ("5.50", "1.64", "3.3", 2, True),  # 5.495/1.645 is below 3.35
        ("5.50", "1.64", "3.2", 2, False),
        ("1.0", "1.0", "1.0", 1, True),
    ],
)
def test_a_ratio_is_off_by_what_rounding_allows(
    base: str, value: str, ratio: str, digits: int, reachable: bool
) -> None:
    off, allowed = tables.off_and_allowed(Fraction(base), Fraction(value), Fraction(ratio), digits)
    assert (off <= allowed) is reachable
    exact = abs(Fraction(ratio) - Fraction(base) / Fraction(value))
    assert off >= exact if reachable else off == exact


def test_a_distance_of_averages_is_off_by_what_rounding_allows() -> None:
    up, down = (
        tables.mean([v + sign * tables.TENTH / 2 for v in tables.MODELS_1[name]])
        for name, sign in ((tables.OWN, 1), (tables.BASE, -1))
    )
    assert up - down >= Fraction("1.15")  # rounds to the 1.2 of the text
    assert up < Fraction("73.05")  # and the average itself never to its 73.1
    holds = {said: tables._distance(tables.OWN, said).holds() for said in ("0.9", "1.0", "1.2", "1.3")}
    assert holds == {"0.9": False, "1.0": True, "1.2": True, "1.3": False}


@pytest.mark.parametrize("id", [f"tab{n}" for n in (3, 6, 7, 8, 11, 13)])
def test_a_changed_number_is_found(id: str) -> None:
    from checks.statement import parts

    claim = CLAIMS[f"chen2023/{id}"]
    statement = built(claim.literal, None)
    figures = [f for p in parts(statement) if isinstance(p, Arithmetic) for f in p.figures]
    assert figures
    for figure in figures:
        wrong = {"<": figure.printed, ">": figure.printed}.get(figure.relation, figure.computed + 1)
        assert not replace(figure, computed=wrong).holds()


def test_the_counts_in_the_notes_of_table_9_are_those_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tables._notes_9() == load()["chen2023/tab9"].notes
    assert (
        "better on 6 data sets, equal on 2, worse on 2; cell by cell 36 better, 18 equal" in tables._notes_9()
    )
    worse = tuple((Fraction(100), *(Fraction(99) for _ in range(3))) for _ in range(3))
    monkeypatch.setitem(table_data.TABLE_9, "Arabic", worse)
    assert (
        "better on 6 data sets, equal on 1, worse on 3; cell by cell 36 better, 9 equal" in tables._notes_9()
    )


@pytest.mark.parametrize(
    ("table", "row", "before", "after"),
    [
        (
            "TABLE_4",
            {"Re.": "87.0 168.5 339.9 223.7 286.7 1.67 3.29 6.09 3.29 3.29"},
            "ones: 3.3 of Re. (memory, ListOps), 1.1 of Primal.+Trans.",
            "ones: 1.1 of Primal.+Trans. (memory, ListOps), 7.9 of Primal. (memory, ListOps).",
        ),
        ("TABLE_5", {"M-Walker": "70.6 57.9 65.8 63.3 71.4 71.7 71.6"}, "in 8 of 9 rows", "in 7 of 9 rows"),
        ("TABLE_6", {"Primal.+DT": "20.8 0.3 23.4 0.3 23.3 0.3"}, "12 to 13 per cent", "0 to 12 per cent"),
        ("TABLE_7B", {"Primal.+Trans.": "31.0 3000.0 8.9"}, "model 0.1 and 1.1", "model 3.5 and 1.1"),
        ("TABLE_10", {"M-Hopper": "66.7 63.1 83.8"}, "On 3 tasks", "On 2 tasks"),
        ("TABLE_11", {"No": "34.6 63.5 29.3 76.1 99.2 88.4 92.8 58.3 99 87.2"}, "1 equal", "0 equal"),
    ],
)
def test_numbers_in_the_notes_are_those_of_the_cells(
    table: str, row: dict[str, str], before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "".join(c for c in table if c.isdigit())
    written = getattr(tables, f"_notes_{name}")
    assert written() == load()[f"chen2023/tab{name}"].notes and before in written()
    cells = getattr(table_data, table)
    for key, numbers in row.items():
        assert key in cells
        monkeypatch.setitem(cells, key, table_data.numbers(numbers))
    assert before not in written() and after in written()


def test_certificates_with_a_wrong_sign_fail() -> None:
    from checks.kinds.follows import certificate_error

    a = KsvdAssumptions()
    for statement in (
        zero_value.zero_as_printed(a),
        zero_value.zero_at_solutions(a),
        *triplets.gram_follows(a),
        *duality.eigen_gives_stationary(a),
    ):
        assert certificate_error(statement) == ""
        assert "not an identity" in certificate_error(replace(statement, certificate=-statement.certificate))


@pytest.mark.parametrize(("f_X", "holds"), [("identity", True), ("tokens", False), ("sampled", False)])
def test_the_kernel_without_f_of_x_fails_where_the_conditions_hold(f_X: str, holds: bool) -> None:
    for step in conditions._without_f(KsvdAssumptions(f_X=f_X)).parts[:2]:  # (14) implies (7)
        finding = ENGINES[type(step)](step, 0, False)
        assert (finding.counterexample is None) is holds
        right = symbols.kernel_rule(symbols.printed(KsvdAssumptions(f_X=f_X)))
        step = replace(step, given=(right, conditions.LAMBDA_RULE))
        assert ENGINES[type(step)](step, 0, False).counterexample is None  # at the same points


@pytest.mark.parametrize("f_X", ["tokens", "sampled", "identity"])
def test_the_first_members_of_17_are_the_scores_of_16(f_X: str) -> None:
    whole = conditions._lines_of_17(KsvdAssumptions(f_X=f_X))
    for line, score in ((whole.parts[0], conditions.e_x), (whole.parts[3], conditions.r_x)):
        assert line.lhs == as_term(score) and ENGINES[Identity](line, 0, False).proved
        other = next(g for g in line.given if g.tensor == score)
        doubled = tuple(replace(g, value=2 * g.value) if g is other else g for g in line.given)
        assert ENGINES[Identity](replace(line, given=doubled), 0, False).counterexample is not None


def test_that_sigma_is_the_inverse_of_lambda_follows_from_stationarity_and_is_no_hypothesis() -> None:
    own = KsvdAssumptions()
    for statement in (triplets._decomposed(own), triplets._whole(own)):
        for step in statement.parts[:2]:
            assert isinstance(step, Follows)
            assert symbols.sigma.data not in {g.tensor for g in step.given}
            assert ENGINES[type(step)](step, 0, False).counterexample is None
            doubled = replace(step, rhs=2 * step.rhs)
            assert ENGINES[type(doubled)](doubled, 0, False).counterexample is not None


def test_families_have_orthonormal_columns() -> None:
    from checks.kinds.exact_svd import FAMILIES

    for seed in range(5):
        _, named = FAMILIES[symbols.triplets(KsvdAssumptions())](random.Random(seed))
        columns = list(zip(*named["h_e"], strict=True))
        for x, one in enumerate(columns):
            for y, two in enumerate(columns):
                assert sum(p * q for p, q in zip(one, two, strict=True)) == int(x == y)


def test_a_correction_that_a_changed_program_leaves_idle_is_none_and_no_contradiction() -> None:
    claim = load()["chen2023/rem3.1"]
    assert examine(claim, KsvdAssumptions(), Options(), quick=True).verdict == "corrected"
    record = examine(claim, KsvdAssumptions(scores="e_only"), Options(), quick=True)
    assert record.verdict == "refuted" and record.corrected is None


@pytest.mark.parametrize("scores", ["both", "e_only"])
@pytest.mark.parametrize("objective", ["paper", "released"])
def test_where_the_objective_vanishes_is_derived(
    scores: str, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = KsvdAssumptions(f_X="sampled", scores=scores, objective=objective)
    (step,) = (s for s in ksvd.derive(a) if s.title == "Objective at triplets")
    assert (r"\boldsymbol{L}^2 = N\Sigma^{-1}" in step.latex) == (objective == "released")
    right = ksvd.score_weight
    # a doubled square is J of neither form: the sum over values is not what it comes to
    monkeypatch.setattr(ksvd, "score_weight", lambda a: (2 * right(a)[0], right(a)[1]))
    with pytest.raises(ArithmeticError, match="sum over their values"):
        ksvd.at_triplets(a)


@pytest.mark.parametrize(
    ("scores", "normalisation", "weights", "both_sides"),
    [("e_only", "row", ("i", "j"), True), ("both", "row", ("i",), False), ("both", "symmetric", ("i", "j"), False)],
)  # fmt: skip
def test_the_kernel_says_on_which_sides_its_weights_stand(
    scores: str, normalisation: str, weights: tuple[str, ...], both_sides: bool
) -> None:
    a = KsvdAssumptions(scores=scores, normalisation=normalisation)
    (step,) = (s for s in ksvd.derive(a) if s.title == "Kernel")
    assert tuple(k for k in "ij" if f"d_{{{k}}}" in step.latex) == weights
    assert ("D⁻¹KD⁻¹" in step.reason) is both_sides
    assert "with e only, row weights stand on both sides: D⁻¹KD⁻¹" in next(
        k.meaning for k in ksvd.KNOBS if k.name == "normalisation"
    )


def test_sampling_keeps_the_gram_matrix_on_average() -> None:
    exact = sum(row[0] * row[1] for row in attention.ROWS_OF_X)
    assert {attention.mean_gram(n, 0, 1) for n in (1, 2, 3, 4)} == {Fraction(exact)}


def test_the_causal_map_needs_a_mean_that_is_not_the_zero_vector_and_no_more() -> None:
    parts = CLAIMS["chen2023/fig3"].literal.parts
    shown = [conditions_latex(part) for part in parts if part.label.startswith("score")]
    means = [r"\boldsymbol{m}_{i}", r"\boldsymbol{m}'_{i}"]
    assert shown == [rf"\text{{where}}\quad \|{mean}\|_2 > 0" for mean in means]


@pytest.mark.parametrize("part", [1, 3])
def test_the_score_by_a_mean_needs_a_mean_that_is_not_the_zero_vector_and_no_more(part: int) -> None:
    stated = CLAIMS["chen2023/prose-causal-data-dependent"].corrected.parts[part]
    (mean,) = stated.nonzero  # the words say that less would do
    square = Tensor("q", (N,))
    of_a_row = Given(square, (attention.i,), squared_norm(as_term(mean)[attention.i]), "its square")
    weaker = replace(stated, given=(of_a_row,), nonzero=(square,))
    assert ENGINES[Identity](weaker, 0, False).proved
    assert not ENGINES[Identity](replace(stated, nonzero=()), 0, False).proved


@pytest.mark.parametrize("id", ["tab2", "prose-efficiency-gain-tables"])
def test_equal_printed_times_and_memory_are_not_counted_against_the_text(id: str) -> None:
    statement = built(CLAIMS[f"chen2023/{id}"].literal, None)
    figures = [f for p in statement.parts if isinstance(p, Arithmetic) for f in p.figures]
    assert {f.words for f in figures if f.relation == "<" and f.computed == f.printed} == set()
    failing = {f.words.split(":")[0] for f in figures if not f.holds()}
    policies = ("Medium-Expert", "Medium", "Medium-Replay")
    slower = {f"data sets on which {name} is slower than Trans." for name in (tables.OWN, tables.PLUS)}
    assert failing == (slower if id == "tab2" else {f"Table 6, {policy} time" for policy in policies})


def test_the_longest_data_sets_have_few_rows_at_the_smallest_s_alone() -> None:
    """The correction of prose-n-much-less-than-N says at which s: at the largest of the search it fails."""
    few = {s: [2 * lengths.rows_of_f(n, s) <= lengths.LENGTH[n] for n in lengths.LONGEST] for s in (20, 40)}
    assert all(few[20]) and not all(few[40])
    assert f"s = {lengths.FEWEST}," in CLAIMS["chen2023/prose-n-much-less-than-N"].correction_words


def test_that_the_data_sets_named_with_rank_multi_5_are_all_of_them_is_said_where_it_matters() -> None:
    """'Including' leaves it open: were UWave one of them as well, it would have few rows."""
    n = lengths.LENGTH["UWave"]
    assert 2 * min(5 * lengths.FEWEST, n) <= n < 2 * lengths.rows_of_f("UWave", lengths.FEWEST)
    for name in ("prose-n-much-less-than-N", "prose-uea-lengths"):
        assert "taken to be all of them" in readings.printed("chen2023")[f"chen2023/{name}"].added
