"""The legs of farooq2025: they pass, and they can fail."""

from dataclasses import replace

import pytest

from checks.claim import Options
from checks.papers.farooq2025.legs import solvers as solver_legs
from checks.papers.farooq2025.legs import tensors as legs
from checks.tensors.core import fused
from checks.tensors.core.agreement import Agreement, Comparison
from checks.tensors.energy import states
from checks.tensors.energy.operators import AttentionMap
from checks.tensors.systems import hopfield_checks
from checks.tensors.systems.row import Case, compared

SMALL = Options(max_tokens=256)
CLIMBING = [
    "attention", "lift", "alignment", "gradient", "gradient_quadratic", "gradient_powers", "gradient_exponential", "gradient_printed",
    "stationary", "stationary_quadratic", "stationary_powers", "stationary_exponential", "loop", "loop_quadratic", "descent_step",
    "stable_range", "descent", "self_adjoint", "update_rule", "simplified", "retrieval",
]  # fmt: skip


@pytest.mark.parametrize("name", CLIMBING)
def test_a_leg_passes_and_says_what_it_ran_on(name):
    for evidence in getattr(legs, name)(None, SMALL):
        assert evidence.passed, evidence
        assert evidence.leg == "tensor" and evidence.tokens == 256 and evidence.error <= evidence.bound
        assert evidence.dtype == "float64" and evidence.wrong and not evidence.not_rejected


def slip(result):
    """A result off by a millionth, with its bound as it is."""
    value = result.out if hasattr(result, "out") else result.value
    moved = value * (1 + 1e-6)
    return result._replace(out=moved) if hasattr(result, "out") else type(result)(moved, result.error)


BACKWARD = (AttentionMap, "backward_sized", slip)
KERNEL = (fused, "attention", slip)
# what goes wrong, by the check that must notice it
SLIPS = {
    "engines": KERNEL,
    "lift": BACKWARD,
    "alignment": BACKWARD,
    "retrieval": BACKWARD,
    "update rule": KERNEL,
    "gradient": (AttentionMap, "forward_sized", slip),
    "printed": (AttentionMap, "forward_sized", slip),
    "stationary": KERNEL,
    "loop": KERNEL,
    # the law of a step holds for any linear maps
    "law": (AttentionMap, "backward_sized", lambda x: type(x)(x.value + x.value**2 / 1000, x.error)),
    "energy": BACKWARD,
    "adjoint": BACKWARD,
    "range": (states, "column_bound", lambda bound: bound / 100),
    "rate": (states, "largest_eigenvalue", lambda found: replace(found, upper=found.upper / 100)),
    "derivative": (hopfield_checks, "simplified_energy", lambda energy: energy * 1.001),
}
ROWS = [legs.ATTENTION, legs.STEP, legs.SIMPLIFIED, *legs.DESCENTS]
CHECKED = [(row, column) for row in ROWS for column in row.columns]
CHECKED += [(legs.ENERGIES[F], c) for F in ("quadratic", "cubic") for c in legs.ENERGIES[F].columns]


@pytest.fixture(autouse=True)
def nothing_shared():
    """What the claims share is made anew."""
    legs._maps.cache_clear()
    yield
    legs._maps.cache_clear()


@pytest.mark.parametrize(("row", "column"), CHECKED, ids=lambda x: x if isinstance(x, str) else "")
def test_every_check_of_a_row_notices_what_goes_wrong(row, column, monkeypatch):
    case = Case(256, None, SMALL)
    assert all(e.passed for e in row.evidence(column, case))
    where, name, wrong = SLIPS[column]
    right = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *given, **more: wrong(right(*given, **more)))
    legs._maps.cache_clear()
    assert not any(e.passed for e in row.evidence(column, case))


def test_a_row_is_not_compared_with_what_it_does_not_have():
    with pytest.raises(ValueError, match="not compared with torch"):
        legs.ATTENTION.leg("lift", "torch")


def test_memory_is_that_of_a_tile_and_a_dense_product_is_noticed(monkeypatch):
    options = Options(max_tokens=1024)
    assert legs.memory(None, options)[0].passed
    right = legs.slope
    dense = lambda maps, *rest: (maps.q @ maps.k.T, right(maps, *rest))[1]  # noqa: E731
    monkeypatch.setattr(legs, "slope", dense)
    assert legs.memory(None, options)[0].passed is False


def test_long_lengths_run_the_first_function_only():
    ran = []

    def check(head):
        ran.append((head.F.name, len(head.maps)))
        return Agreement((Comparison("none", 0.0, 1.0),), {})

    rows = [replace(legs.ENERGIES[F], checked={"none": (F, check)}) for F in ("cubic", "quartic")]
    both = compared(rows, "none", all_up_to=legs.ALL_UP_TO)
    assert [len(both.at(n, None, Options())) for n in (1024, 4096, 32768)] == [2, 2, 1]
    assert [F for F, _ in ran] == ["u^3", "u^4"] * 2 + ["u^3"]


# ---------------------------------------------------------------- solvers, exact arithmetic, balls

SOLVING = [
    "attention_minimises", "quadratic_minimises", "minimum", "minimum_even", "minimum_exponential", "balls", "balls_exponential",
    "second_equilibrium", "printed_weights", "descents", "kept_part",
]  # fmt: skip


@pytest.mark.parametrize("name", SOLVING)
def test_a_solver_leg_passes(name):
    for evidence in getattr(solver_legs, name)(None, SMALL):
        assert evidence.passed, evidence
        assert evidence.error is None or evidence.error <= evidence.bound


def lift_by_rows(A, V, Z):
    """Σ_m A_jm z_mᵀv_j: A for its transpose."""
    return [
        sum(A[j][m] * sum(x * y for x, y in zip(Z[m], v, strict=True)) for m in range(len(A)))
        for j, v in enumerate(V)
    ]


@pytest.mark.parametrize(
    "name, part, wrong",
    [
        (
            "attention_minimises",
            "product",
            lambda A, V, right=solver_legs.product: right(list(zip(*A, strict=True)), V),
        ),
        ("quadratic_minimises", "lift", lift_by_rows),
        ("minimum_even", "lift", lambda A, V, Z, right=solver_legs.lift: [2 * u for u in right(A, V, Z)]),
        ("printed_weights", "lift", lambda A, V, Z: [2 * u for u in lift_by_rows(A, V, Z)]),
        ("balls", "_arb_function", lambda name: (lambda u: u.cosh(), lambda u: 2 * u)),
        ("descents", "slope", lambda A, V, w: [[0 for _ in v] for v in V]),
        ("kept_part", "moved", lambda Z, W, step, right=solver_legs.moved: right(Z, W, -step)),
    ],
)
def test_a_solver_leg_notices_a_slip(name, part, wrong, monkeypatch):
    monkeypatch.setattr(solver_legs, part, wrong)
    assert not all(e.passed for e in getattr(solver_legs, name)(None, SMALL))


def test_weights_that_do_not_match_leave_no_minimum_at_attention(monkeypatch):
    from solvers import energy

    right = energy.EnergyProblem.w.fget
    monkeypatch.setattr(energy.EnergyProblem, "w", property(lambda self: 1.001 * right(self)))
    assert not any(e.passed for e in solver_legs.minimum(None, SMALL)[::2])


@pytest.mark.parametrize("below, passes", [(0.0, True), (1e-17, True), (1e-8, False)])
def test_a_gap_below_zero_is_rounding_or_no_bound(below, passes, monkeypatch):
    """At the solver's answer the gap may fall below 0 by rounding, and by no more: a bound is a bound."""
    right = solver_legs.certify
    monkeypatch.setattr(
        solver_legs,
        "certify",
        lambda problem, Z, y=None: (
            right(problem, Z) if y is None else replace(right(problem, Z, y), gap=-below)
        ),
    )
    own, theirs = solver_legs._certified("quadratic", SMALL)
    assert own.passed and theirs.passed is passes and theirs.error == below


def test_a_descent_with_half_the_gradient_misses_its_range(monkeypatch):
    from solvers import energy

    right = energy.EnergyProblem.gradient
    monkeypatch.setattr(energy.EnergyProblem, "gradient", lambda self, Z: right(self, Z) / 2)
    assert not all(e.passed for e in solver_legs.descents(None, SMALL)[2:])
