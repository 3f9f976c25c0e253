"""Theorems that tanh is no positive semidefinite kernel: it has a negative form whatever the parameters."""

from __future__ import annotations

import sympy as sp

from checks.kernel.theorem import Theorem, filled, listed
from checks.kernel.trees import NotCovered, exact
from checks.kinds.positive import Region, SigmoidNegative, quotient

_TANH = "fun u => (exp u + (-1) * exp ((-1) * u)) / (exp u + exp ((-1) * u))"
_SIGNS = {"-": "{} < 0", "0": "{} = 0", "+": "0 < {}"}


def sigmoid_negative(name: str, s: SigmoidNegative) -> list[Theorem]:
    """The form of each region, and that one is negative whatever the signs. Raises NotCovered."""
    regions = {(r.c, g): r for r in s.regions for g in r.gamma}
    if set(regions) != {(c, g) for c in "-0+" for g in "-+"}:
        raise NotCovered("regions that do not cover all signs")
    names = {key: f"{name}_region{n}" for n, key in enumerate(regions, 1)}
    found = [_region(names[key], region, key[1]) for key, region in regions.items()]
    lines = [
        f"Theorem {name} :",
        "  forall c gamma h : R, (gamma <> 0) -> (h <> 0) ->",
        filled(f"let tanh := {_TANH} in"),
        filled(f"exists (n : nat) (x w : nat -> R), {_form('n')} < 0."),
    ]
    proof = [
        "Proof.",
        "  intros c gamma h scale away tanh.",
        "  destruct (total_order_T c 0) as [[c_sign|c_sign]|c_sign];",
    ]
    proof.append("    (destruct (Rtotal_order gamma 0) as [g_sign|[g_sign|g_sign]]; [|contradiction|]).")
    for key in (("-", "-"), ("-", "+"), ("0", "-"), ("0", "+"), ("+", "-"), ("+", "+")):
        region = regions[key]
        points, weights = _points(region), _weights(region)
        proof.append(f"  - exists {len(region.points)}%nat. exists {points}.")
        proof.append(f"    exists (let x := {points} in {weights}).")
        proof.append(f"    exact ({names[key]} c gamma h c_sign g_sign away).")
    return [*found, Theorem(name, "\n".join(lines), "\n".join([*proof, "Qed."]))]


def _form(n: str) -> str:
    return f"sum {n} (fun i => sum {n} (fun j => w i * w j * tanh (gamma * x i * x j + c)))"


def _points(region: Region) -> str:
    return f"(fun i => nth i {listed(f'{exact(p)} * h' for p in region.points)} 0)"


def _weights(region: Region) -> str:
    """The weights, or the direction that two points give."""
    own = [str(w) if w >= 0 else f"({w})" for w in region.weights]
    own = own or ["tanh (gamma * x 0%nat * x 1%nat + c)", "(-1) * tanh (gamma * x 0%nat * x 0%nat + c)"]
    return f"(fun i => nth i {listed(own)} 0)"


def _region(name: str, region: Region, gamma: str) -> Theorem:
    """The form of one region, as a quotient of polynomials in exponentials minus 1."""
    signs = f"({_SIGNS[region.c].format('c')}) -> ({_SIGNS[gamma].format('gamma')})"
    lines = [
        f"Theorem {name} :",
        f"  forall c gamma h : R, {signs} -> (h <> 0) ->",
        filled(f"let tanh := {_TANH} in"),
        filled(f"let x := {_points(region)} in"),
        filled(f"let w := {_weights(region)} in"),
        filled(f"{_form(str(len(region.points)))} < 0."),
    ]
    proof = [
        "Proof.",
        "  intros c gamma h c_sign g_sign away tanh x w. subst tanh x w. cbn [sum nth].",
        "  assert (square : 0 < h * h) by nra.",
        *_exponential("is_p", "(2 * c)", "a", region.c),
        *_exponential("is_q", _SCALE, "b", gamma),
    ]
    powers = sorted({int(4 * x * y) for x in region.points for y in region.points})
    for k in powers:
        proof += _value(k, _VALUES[region.c].format("a"), _VALUES[gamma].format("b"))
    rewrites = " | ".join(f"rewrite ({_called(k)} u) by field" for k in powers)
    top, bottom = quotient(region, gamma)
    proof += [
        "  repeat match goal with |- context [(exp ?u + _) / (exp ?u + _)] =>",
        filled(f"first [{rewrites}] end.", "    "),
        filled(f"apply (negative_quotient _ ({_polynomial(-top)}) ({_polynomial(bottom)})); [|signs|signs]."),
        "  field. repeat split; apply Rgt_not_eq; unfold Rgt; signs.",
        "Qed.",
    ]
    return Theorem(name, "\n".join(lines), "\n".join(proof))


_SCALE = "(gamma * (h * h) / 2)"
_VALUES = {"-": "/ (1 + {})", "0": "1", "+": "(1 + {})"}


def _exponential(name: str, exponent: str, small: str, sign: str) -> list[str]:
    """An exponential is 1, or with a positive number 1 + a or 1 / (1 + a)."""
    if sign == "0":
        return [f"  assert ({name} : exp {exponent} = 1) by (rewrite c_sign, Rmult_0_r; apply exp_0)."]
    lemma = "above_one" if sign == "+" else "below_one"
    return [f"  destruct ({lemma} {exponent} ltac:(nra)) as [{small} [{small}_sign {name}]]."]


def _called(k: int) -> str:
    return f"at_{abs(k)}" if k >= 0 else f"at_minus_{-k}"


def _value(k: int, p: str, q: str) -> list[str]:
    """The tangent at a multiple of the scale, in the two exponentials."""
    whole, times = (f"{p} * ({q}) ^ {k}", f"{k}") if k >= 0 else (f"{p} * / ({q}) ^ {-k}", f"({k})")
    back = "" if k >= 0 else ", <- exp_Ropp"
    return [
        f"  assert ({_called(k)} : forall u, 4 * u = {times} * (gamma * (h * h)) + 4 * c ->",
        f"    (exp u + (-1) * exp ((-1) * u)) / (exp u + exp ((-1) * u)) = ({whole} - 1) / ({whole} + 1)).",
        f"  {{ intros u same. apply tanh_quotient. replace (2 * u) with (2 * c + {times} * {_SCALE}) by lra.",
        f"    rewrite exp_plus, is_p, <- is_q, <- power_of_exp{back}. f_equal; f_equal; simpl INR; field. }}",
    ]


def _polynomial(poly: sp.Expr) -> str:
    """A polynomial with positive coefficients. Raises NotCovered."""
    terms = []
    for powers, coefficient in sp.Poly(poly, *sp.symbols("a b", positive=True)).terms():
        if coefficient <= 0:
            raise NotCovered("a form whose sign its coefficients do not show")
        factors = [str(coefficient)] + [f"{x} ^ {n}" for x, n in zip("ab", powers, strict=True) if n]
        terms.append(" * ".join(factors))
    return " + ".join(terms)
