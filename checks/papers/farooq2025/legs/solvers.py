"""Solver legs of farooq2025: exact quadratic programs, duality certificates of cvxpy's answers, Arb balls,
descents.

The instances are small. Attention weights are softmax rows of real queries and keys: rational where
exponentials of the scores are powers of two (`solvers.rational_instances`), Arb balls of rational scores
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from scipy.special import softmax

from checks.claim import Options
from checks.evidence import Evidence
from derivations.calculus.index import Tensor
from derivations.calculus.program import Program
from derivations.theories.energy import forms as en
from solvers.compile import compile_program
from solvers.energy import (
    FUNCTIONS,
    EnergyProblem,
    certify,
    descend,
    solve_convex,
    stable_steps,
    unbounded_direction,
)
from solvers.exact import solve_exact
from solvers.qp import SolverError
from solvers.rational_instances import exact_exponential_gram

ACCEPTED = 1e-6  # largest relative duality gap of an interior-point answer that was asked for 1e-10
OWN = 1e-5  # the same of one alignment by its own size: u⁴ is flat where one is small
LABELS = ((-1, 0), (0, 1), (1, 1))  # tokens of the rational softmax
VALUES = ((Fraction(1), Fraction(-2)), (Fraction(-1, 2), Fraction(1)), (Fraction(2), Fraction(1)))
CONVEX = ("quadratic", "quartic", "exponential", "logcosh")

Matrix = list[list[Any]]


# ---------------------------------------------------------------- exact arithmetic, written as loops


def weights() -> Matrix:
    """A (3, 3): rational softmax rows."""

    gram = exact_exponential_gram(np.array(LABELS, dtype=object))
    return [[x / h for x in row] for row, h in zip(gram.kernel.tolist(), gram.normaliser, strict=True)]


def product(left: Matrix, right: Matrix) -> Matrix:
    """left (r, s) times right (s, t)."""
    return [
        [sum((x * y for x, y in zip(row, c, strict=True)), 0) for c in zip(*right, strict=True)]
        for row in left
    ]


def lift(A: Matrix, V: Matrix, Z: Matrix) -> list[Any]:
    """u_j = Σ_m A_mj z_mᵀv_j, (n,)."""
    return [
        sum(A[m][j] * sum(x * y for x, y in zip(Z[m], v, strict=True)) for m in range(len(A)))
        for j, v in enumerate(V)
    ]


def slope(A: Matrix, V: Matrix, w: list[Any]) -> Matrix:
    """A diag(w) V, (n, d_v)."""
    return product(A, [[x * y for y in v] for x, v in zip(w, V, strict=True)])


def moved(Z: Matrix, W: Matrix, step: Any) -> Matrix:
    """Z - step W."""
    return [[z - step * w for z, w in zip(*rows, strict=True)] for rows in zip(Z, W, strict=True)]


def _data(A: Matrix, V: Matrix, c: list[Any]) -> Callable[[Tensor, tuple[int, ...]], Any]:
    def value(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        if tensor == en.c_vector:
            return c[entry[0]]
        return {en.A_: A, en.V_: V}[tensor][entry[0]][entry[1]]

    return value


def _solve(objective: Any, name: str) -> tuple[Matrix, Fraction, bool]:
    """A minimiser of a printed quadratic energy, its value, and whether the exact certificate accepts it."""

    A, V = weights(), [list(v) for v in VALUES]
    c = lift(A, V, product(A, V))
    program = Program(name, (en.Z_,), objective)
    compiled = compile_program(program, {en.N: len(A), en.DV: len(V[0])}, _data(A, V, c))
    found = solve_exact(compiled)
    return compiled.split(found.x)["Z"].tolist(), found.certificate.primal_value, found.certificate.accepts()


def attention_minimises(assumptions: Any, options: Options) -> list[Evidence]:
    """The energy (11) as a quadratic program, solved exactly: the only minimiser is AV, its value
    -‖AV‖²/2.
    """
    A, V = weights(), [list(v) for v in VALUES]
    output = product(A, V)
    Z, value, accepted = _solve(en.attention_energy(), "(11)")
    passed = accepted and Z == output and value == -sum(x * x for row in output for x in row) / 2
    detail = f"n = 3, d_v = 2: the exact minimiser is AV, with value {value}"
    return [_exact(passed, detail, "KKT system in rationals", "solver")]


def quadratic_minimises(assumptions: Any, options: Options) -> list[Evidence]:
    """The energy (47) as a quadratic program, solved exactly: value -Σ c_j², alignments c, and another
    point than AV.
    """
    A, V = weights(), [list(v) for v in VALUES]
    output = product(A, V)
    c = lift(A, V, output)
    Z, value, accepted = _solve(en.energy(en.square) - 2 * en.pairing(lambda at: en.C_J[at]), "(47)")
    passed = accepted and value == -sum(x * x for x in c) and lift(A, V, Z) == c and Z != output
    detail = (
        f"n = 3, d_v = 2: the least value is -Σ c_j² = {value}, taken at AV and at another state with "
        "the same u"
    )
    return [_exact(passed, detail, "KKT system in rationals", "solver")]


def _exact(passed: bool, detail: str, backend: str = "rationals", leg: str = "exact") -> Evidence:
    return Evidence(leg, "exact-rational", passed, detail, backend=backend)


# ---------------------------------------------------------------- convex programs, certified by duality


def _problem(name: str, regulariser: str, seed: int) -> Any:

    rng = np.random.default_rng(seed)
    A = softmax(rng.standard_normal((5, 5)), axis=1)
    return EnergyProblem(A, 0.6 * rng.standard_normal((5, 3)), FUNCTIONS[name], regulariser)


def rounding(problem: Any, Z: np.ndarray) -> float:
    """What rounding may add to energy and dual bound: n + 32 roundings of the size of their terms."""
    u, w = problem.lift(Z), problem.w
    size = np.abs(problem.F.value(u)) + 2 * np.abs(w * u) + np.abs(problem.F.conjugate(w))
    return float((len(u) + 32) * np.finfo(float).eps * (size.sum() + 1))


def _certified(name: str, options: Options) -> list[Evidence]:
    """AV by its dual bound; Clarabel's answer by its own multipliers; wrong states and weights must be
    refused.
    """

    problem = _problem(name, "matching", options.seed)
    output = problem.A @ problem.V
    at, room = certify(problem, output), rounding(problem, output)
    refused = [not certify(problem, Z).accepted(OWN) for Z in (0 * output, output + 0.1 * problem.V, -output)]
    wrong = _problem(name, "printed" if name != "quadratic" else "none", options.seed)
    other = certify(wrong, output)  # its dual bound there may be -∞: no certificate
    refused.append(not other.accepted(OWN))
    found = solve_convex(problem)
    theirs = certify(problem, found.Z, found.y)
    below = at.value - theirs.value
    scale = 1 + abs(at.value)
    what = f"F = {problem.F.name}, n = 5, d_v = 3"
    dual = (
        f"{what}: E(AV) less its dual bound; {sum(refused)} of {len(refused)} wrong states and weights "
        "refused"
    )
    return [
        Evidence(
            "solver",
            "certified-float",
            abs(at.gap) <= room and all(refused),
            dual,
            error=abs(at.gap),
            bound=room,
            dtype="float64",
            backend="weak duality",
        ),
        Evidence(
            "solver",
            "compared",
            theirs.accepted(OWN) and below <= room and -room <= theirs.gap <= ACCEPTED * scale,
            f"{what}: duality gap of cvxpy's minimum, not below E(AV) but for rounding",
            error=abs(theirs.gap),  # rounding may leave it below 0, where it is 0
            bound=ACCEPTED * scale,
            dtype="float64",
            backend="Clarabel",
            seconds=found.seconds,
        ),
    ]


def minimum(assumptions: Any, options: Options) -> list[Evidence]:
    """AV is a global minimum for convex F with the weights F'(c)."""
    return [e for name in CONVEX for e in _certified(name, options)]


def minimum_even(assumptions: Any, options: Options) -> list[Evidence]:
    """AV is a global minimum for p = 2 and 4; what it can be for p = 3, exactly."""
    return [*_certified("quadratic", options), *_certified("quartic", options), *_cubes()]


def minimum_exponential(assumptions: Any, options: Options) -> list[Evidence]:
    """AV is a global minimum for the exponential."""
    return _certified("exponential", options)


def _cubes() -> list[Evidence]:
    """F = u³: a maximum at AV along all directions that move u, a saddle, and no lower bound."""
    flat = [[Fraction(1, 3)] * 3 for _ in range(3)]
    c, rise = _rises(flat, (-9, 6, 6), ((1, 0, 0), (0, 1, 0), (1, 1, 1), (2, -1, 0)))
    maximum = f"p = 3, c = ({c}): the energy is lower at {len(rise)} states beside AV"
    turned = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 3), Fraction(2, 3)]]
    at, two = _rises(turned, (1, -1), ((4, -3), (2, -3)))
    saddle = f"p = 3, A and V of the counterexample, c = ({at}): lower at 2 states beside AV, higher at 2"
    one, points = _cubic_energy([[Fraction(1)]], [[Fraction(1)]]), (-2, -1, 0, 1)
    falls = all(one([[Fraction(z)]]) == z**3 - 3 * z for z in points)
    below = f"p = 3, one token with value 1: the energy, of degree 3, is z³ - 3z at {len(points)} states"
    return [
        _exact(max(rise) < 0, maximum),
        _exact(max(two[:2]) < 0 < min(two[2:]), saddle),
        _exact(falls, below),
    ]


def _cubic_energy(A: Matrix, V: Matrix) -> Callable[[Matrix], Any]:
    """Σ u_j³ - 3 Σ c_j² u_j, of a state."""
    c = lift(A, V, product(A, V))
    return lambda Z: sum(u**3 - 3 * x**2 * u for u, x in zip(lift(A, V, Z), c, strict=True))


def _rises(A: Matrix, values: tuple[int, ...], ways: tuple[tuple[int, ...], ...]) -> tuple[str, list[Any]]:
    """The c_j, and what the energy gains from AV to a tenth of each direction, both ways."""
    V = [[Fraction(v)] for v in values]
    energy, output = _cubic_energy(A, V), product(A, V)
    near = [
        [[z[0] + Fraction(s, 10) * d] for z, d in zip(output, way, strict=True)]
        for way in ways
        for s in (-1, 1)
    ]
    c = ", ".join(map(str, lift(A, V, output)))
    return c, [energy(Z) - energy(output) for Z in near]


# ---------------------------------------------------------------- Arb balls where exponentials enter


def _ball(value: Fraction) -> Any:

    return arb(fmpq(value.numerator, value.denominator))


def arb_head() -> tuple[Matrix, Matrix]:
    """A (3, 3) as balls of a softmax of rational scores, and V (3, 2) as exact balls."""
    scores = ((1, -2, 3), (0, 2, -1), (5, 1, -4))
    odds = [[_ball(Fraction(s, 4)).exp() for s in row] for row in scores]
    values = [[_ball(x) for x in v] for v in VALUES]
    return [[x / sum(row[1:], row[0]) for x in row] for row in odds], values


def _arb_function(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:

    if name == "exponential":
        return arb.exp, arb.exp
    return (lambda u: u.cosh().log()), arb.tanh


def _arb(name: str) -> list[Evidence]:
    """The gradient at AV and the energy beside it, as balls; the printed weights 2c must fail with
    certainty.
    """

    before = ctx.prec
    ctx.prec = 256
    try:
        F, first = _arb_function(name)
        A, V = arb_head()
        output = product(A, V)
        c = lift(A, V, output)
        w = [first(x) for x in c]

        def energy(Z: Matrix) -> Any:
            return sum(F(u) - y * u for u, y in zip(lift(A, V, Z), w, strict=True))

        matched = [x for row in slope(A, V, [first(x) - y for x, y in zip(c, w, strict=True)]) for x in row]
        printed = [x for row in slope(A, V, [first(x) - 2 * x for x in c]) for x in row]
        beside = [
            [[z + arb(s) * v for z, v in zip(*r, strict=True)] for r in zip(output, way, strict=True)]
            for way in (V, output, [[1, 0], [0, 0], [0, -1]])
            for s in (-2, -0.25, 0.5, 3)
        ]
        higher = sum(bool(energy(Z) > energy(output)) for Z in beside)
        width = max(float(abs(x).upper()) for x in matched)
        zero = all(x.contains(0) for x in matched)
        moved_away = any(not x.contains(0) for x in printed)
        least = floor(10 * max(float(abs(x).lower()) for x in printed)) / 10
    finally:
        ctx.prec = before
    detail = (
        f"F {name}: balls of the gradient at AV contain 0 within {width:.0e} (with the weights 2c_j of (75) "
        f"one stays {least:g} away from it); the energy is higher at {higher} of {len(beside)} other states"
    )
    passed = zero and moved_away and higher == len(beside)
    return [Evidence("exact", "interval", passed, detail, backend="Arb, 256 bits")]


def balls(assumptions: Any, options: Options) -> list[Evidence]:
    """Stationarity and minimum at AV for exp and log cosh, enclosed."""
    return [*_arb("exponential"), *_arb("logcosh")]


def balls_exponential(assumptions: Any, options: Options) -> list[Evidence]:
    """Stationarity and minimum at AV for exp, enclosed."""
    return _arb("exponential")


def second_equilibrium(assumptions: Any, options: Options) -> list[Evidence]:
    """Two entries: x_1 - x_2 = d with d = β tanh(βd/2). For β² < 2 only d = 0; for β = 2 another root,
    enclosed.
    """

    def gap(beta: Any, d: Any) -> Any:
        return beta * (beta * d / 2).tanh() - d

    two, low, high = (_ball(Fraction(x)) for x in ("2", "1.9", "1.95"))
    second = bool(gap(two, low) > 0) and bool(gap(two, high) < 0)
    # β tanh(βd/2) <= β² d/2 < d for d > 0 where β² < 2
    small = all(bool(gap(_ball(Fraction(7, 5)), _ball(Fraction(n, 8))) < 0) for n in range(1, 40))
    detail = (
        "N = 2: β = 2 has a second equilibrium with x_1 - x_2 in (1.9, 1.95); β = 1.4 none at 39 positive "
        "differences tried"
    )
    return [Evidence("exact", "interval", second and small, detail, backend="Arb")]


# ---------------------------------------------------------------- the printed algorithm, and descent


def printed_weights(assumptions: Any, options: Options) -> list[Evidence]:
    """What the notes of the algorithm say of the printed weights, exactly: drift for u, another rest
    for u⁴, no bound for exp.
    """
    return [_drift(), _other_rest(), _no_bound(options)]


def _drift() -> Evidence:
    """F = u: each step moves the state by -ηA diag(1 - 2c) V, whatever the state is."""
    step = Fraction(1, 3)
    A, V = weights(), [list(v) for v in VALUES]
    states = [product(A, V)]
    c = lift(A, V, states[0])
    for _ in range(5):
        # the slope of F = u is 1 at every alignment
        states.append(moved(states[-1], slope(A, V, [1 - 2 * x for x in c]), step))
    gaps = [moved(two, one, 1) for one, two in pairwise(states)]
    passed = all(g == gaps[0] for g in gaps) and any(x for row in gaps[0] for x in row)
    return _exact(
        passed, "beside it the printed weights 2c: F = u, five steps from AV by the same nonzero amount"
    )


def _other_rest() -> Evidence:
    """F = u⁴, one token of value 4: 4u³ = 2c at z = 1/2, and not at AV = 4."""
    A, V = [[Fraction(1)]], [[Fraction(4)]]
    c = lift(A, V, product(A, V))

    def gradient(z: Fraction) -> Any:
        return slope(A, V, [4 * u**3 - 2 * x for u, x in zip(lift(A, V, [[z]]), c, strict=True)])[0][0]

    passed = gradient(Fraction(1, 2)) == 0 and gradient(Fraction(4)) != 0
    return _exact(
        passed,
        "beside it the printed weights 2c: F = u⁴, value 4, gradient 0 at 1/2 and "
        f"{gradient(Fraction(4))} at AV = 4",
    )


def _no_bound(options: Options) -> Evidence:
    """F = exp with weights 2c and some c_j < 0: a direction found by linear programming, its energies
    as balls.
    """

    A = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 3), Fraction(2, 3)]]
    V = [[Fraction(1)], [Fraction(-1)]]
    dense = [np.array(x, dtype=float) for x in (A, V)]
    problem = EnergyProblem(dense[0], dense[1], FUNCTIONS["exponential"], "printed")
    found = unbounded_direction(problem)
    matched = unbounded_direction(EnergyProblem(problem.A, problem.V, problem.F, "matching"))
    c = lift(A, V, product(A, V))
    direction = [[Fraction(-4)], [Fraction(3)]]  # u = (-1, 0)
    u = lift(A, V, direction)

    def energy(t: int) -> Any:
        return sum(_ball(t * x).exp() - _ball(2 * y * t * x) for x, y in zip(u, c, strict=True))

    try:
        solve_convex(problem)
        status = "a minimum"
    except SolverError as error:
        status = error.status
    falls = all(bool(energy(t) < _ball(Fraction(-t, 5))) for t in (100, 1000, 10000))
    passed = (
        u == [-1, 0]
        and falls
        and found is not None
        and found[1] < 0
        and matched is None
        and status != "a minimum"
    )
    detail = (
        f"beside it the printed weights 2c: F = exp, c = ({', '.join(map(str, c))}): along u = (-1, 0) the "
        "energy at t = 1000 is below -200; Clarabel "
        f"says {status}; with the weights exp(c) there is no such direction"
    )
    return Evidence("solver", "interval", passed, detail, backend="Arb, Clarabel")


def descents(assumptions: Any, options: Options) -> list[Evidence]:
    """F = u²: descent inside the stable range to its stated limit, beyond it away; a start beside AV,
    exactly.
    """

    found = [_kept_part(), _cubic_runs_off()]
    problem = _problem("quadratic", "matching", options.seed)
    output, M, G = problem.A @ problem.V, problem.M, problem.G
    everywhere, _ = stable_steps(problem)
    values = np.linalg.eigvalsh(G)
    slowest, steps = float(values[0]), 4000
    for name, start in (
        ("zero", 0 * output),
        ("random", np.random.default_rng(options.seed + 1).standard_normal(output.shape)),
    ):
        step = 0.95 * everywhere
        unseen = start.ravel() - np.linalg.pinv(M) @ (M @ start.ravel())
        limit = output + unseen.reshape(output.shape)
        end = descend(problem, start, step, steps)
        error = float(np.linalg.norm(end.Z - limit))
        # the error in the range of L* shrinks by max |1 - 2 step λ| a step; rounding adds up over 1 / (1 -
        # rate) steps
        rate = float(np.abs(1 - 2 * step * values).max())
        size = float(np.linalg.norm(start - limit)) + float(np.linalg.norm(limit))
        bound = rate**steps * size + 64 * np.finfo(float).eps * size / (1 - rate)
        away = descend(problem, start, 1.05 * everywhere, steps)
        apart = name == "zero" or float(np.linalg.norm(limit - output)) > 1e3 * bound
        passed = bool(error <= bound and apart and _far(problem, away))
        words = "AV" if name == "zero" else "AV plus the unseen part of the start"
        detail = (
            f"from {name}, η = 0.95/λ: {steps} steps end at {words} (least eigenvalue of G {slowest:.1e}); "
            "η = 1.05/λ runs away"
        )
        found.append(
            Evidence(
                "solver",
                "certified-float",
                passed,
                detail,
                error=error,
                bound=bound,
                dtype="float64",
                backend="gradient descent",
            )
        )
    return found


def _cubic_runs_off() -> Evidence:
    """F = u³ with weights 3c², one token of value 1: from z = -2 each step subtracts at least 9η, the
    more the further it is.
    """
    step = Fraction(1, 50)
    A, V, states = [[Fraction(1)]], [[Fraction(1)]], [[[Fraction(-2)]]]
    c = lift(A, V, product(A, V))
    for _ in range(7):
        u = lift(A, V, states[-1])
        gradient = slope(A, V, [3 * x**2 - 3 * y**2 for x, y in zip(u, c, strict=True)])
        states.append(moved(states[-1], gradient, step))
    falls = [one[0][0] - two[0][0] for one, two in pairwise(states)]
    passed = falls[0] == 9 * step and all(after > before for before, after in pairwise(falls))
    return _exact(
        passed,
        f"F = u³, value 1, start -2, η = {step}: seven steps to the left, each longer than the one before",
    )


def _far(problem: Any, end: Any) -> bool:
    """Whether a descent left float64, or its alignments are far from c."""
    return end.status == "diverged" or float(np.abs(problem.lift(end.Z) - problem.c).max()) > 1e3 * float(
        np.abs(problem.c).max()
    )


def kept_part(assumptions: Any, options: Options) -> list[Evidence]:
    """The part of a start that no alignment sees stays, in an exact instance."""
    return [_kept_part()]


def _kept_part() -> Evidence:
    """n = 1, d_v = 2, V = (1, 0), start (0, 1), η = 1/2: one step leads to (1, 1), which is not AV =
    (1, 0), and stays.
    """
    A, V, Z = [[Fraction(1)]], [[Fraction(1), Fraction(0)]], [[Fraction(0), Fraction(1)]]
    c, states = lift(A, V, product(A, V)), []
    for _ in range(3):
        Z = moved(
            Z, slope(A, V, [2 * (u - x) for u, x in zip(lift(A, V, Z), c, strict=True)]), Fraction(1, 2)
        )
        states.append(Z)
    passed = all(state == [[1, 1]] for state in states) and product(A, V) == [[1, 0]]
    return _exact(
        passed, "V = (1, 0), start (0, 1), η = 1/2: the state goes to (1, 1) and stays, AV is (1, 0)"
    )
