"""Theorems that recurrences have closed forms: for every quantity that satisfies them, by induction."""

from __future__ import annotations

import re
from collections.abc import Mapping

import sympy as sp

from checks.kernel.theorem import Theorem, filled
from checks.kernel.trees import NotCovered, unused
from checks.kinds.recurrence import QUANTITY, Recurrence, denominators

Names = Mapping[sp.Symbol, str]
"""What is written for symbols."""


def recurrence(name: str, s: Recurrence) -> list[Theorem]:
    """Whatever has the first values and satisfies the rule is the closed form; and all of it is defined.

    Raises NotCovered.
    """
    based = [b.symbol for b in s.base]
    if len(set(based)) < len(based):
        raise NotCovered("a symbol with two first values")
    words = _Words(s)
    assumed, intros = words.hypotheses()
    lines = [f"Theorem {name} :", *assumed, filled(f"{words.everywhere(0)}{words.claim(words.names)}.")]
    steps = _by_slope(words) if s.slope else _by_induction(words)
    proof = ["Proof.", f"  intros {intros}.", *steps, *_unshifted(words), "Qed."]
    return [Theorem(name, "\n".join(lines), "\n".join(proof)), *_defined(f"{name}_defined", words)]


class _Words:
    """A recurrence in Rocq's words: whole symbols are natural numbers, the others real."""

    def __init__(self, s: Recurrence) -> None:
        self.s = s
        self.names: dict[sp.Symbol, str] = {}
        z = (s.slope[0],) if s.slope else ()
        self.arguments = (*s.symbols, *z)
        every = {x for e in (s.closed, s.rule, *(b.value for b in s.base), *z) for x in e.free_symbols}
        self.constants = sorted(every - set(self.arguments), key=str)
        for symbol in (*self.constants, *self.arguments):
            self.names[symbol] = unused(str(symbol), {"f", *self.names.values()})
        self.first = {b.symbol: b.first for b in s.base}

    def shifted(self) -> Names:
        """Names for what lies so much above the first values."""
        return {x: f"{self.first[x]} + {n}" if self.first.get(x) else n for x, n in self.names.items()}

    def claim(self, names: Names) -> str:
        """The quantity is its closed form."""
        return f"{self.quantity(names)} = {real(self.s.closed, names)}"

    def quantity(self, names: Names) -> str:
        """The quantity at symbols."""
        return " ".join(
            ["f", *(_natural(names[x]) if _whole(x) else _atom(names[x]) for x in self.arguments)]
        )

    def bound(self, x: sp.Symbol) -> str:
        """The quantifier over a symbol, with what is known of it."""
        sign = self.sign(x)
        return f"forall {self.names[x]} : {'nat' if _whole(x) else 'R'}, " + (f"{sign} -> " if sign else "")

    def everywhere(self, above: int, but: sp.Symbol | None = None) -> str:
        """Quantifiers over the symbols in their ranges, based ones from so much above the first value."""
        text = ""
        for x in self.arguments:
            if x != but:
                least = self.first[x] + above if x in self.first else 0
                text += self.bound(x) + (f"({least} <= {self.names[x]})%nat -> " if least else "")
        return text

    def sign(self, x: sp.Symbol) -> str:
        """What is known of a symbol; "" for nothing, and for what based symbols have by their first value."""
        if x in self.first:
            return ""
        known = (("0 < {}", x.is_positive), ("0 <= {}", x.is_nonnegative), ("{} <> 0", x.is_nonzero))
        says = next((shown.format(self.names[x]) for shown, holds in known if holds), "")
        return f"({says})%nat" if says and _whole(x) else says

    def hypotheses(self) -> tuple[list[str], str]:
        """The lines of constants, first values and rule, and the names that proofs give them."""
        s, kinds = self.s, " -> ".join("nat" if _whole(x) else "R" for x in self.arguments)
        constants = "".join(f" ({self.names[x]} : {'nat' if _whole(x) else 'R'})" for x in self.constants)
        lines, intros = [f"  forall (f : {kinds} -> R){constants},"], ["f"]
        intros += [self.names[x] for x in self.constants]
        for x in self.constants:
            if self.sign(x):
                lines.append(f"  ({self.sign(x)}) ->")
                intros.append(f"range_{self.names[x]}")
        for n, b in enumerate(s.base):
            names = {**self.names, b.symbol: str(b.first)}
            value = f"{self.quantity(names)} = {real(b.value, names)}"
            lines.append(filled(f"({self.everywhere(0, b.symbol)}{value}) ->"))
            intros.append(f"base{n}")
        if s.slope is None:
            lines.append(filled(f"({self.everywhere(1)}{self.quantity(self.names)} = {self.rule()}) ->"))
        else:
            z = self.names[s.slope[0]]
            own = self.quantity(self.names).removesuffix(f" {z}")
            start = f"starts_at ({own}) ({real(s.slope[1], self.names)})"
            lines.append(filled(f"({self.everywhere(1, s.slope[0])}{start}) ->"))
            lines.append(filled(f"({self.everywhere(1)}derivable_pt_lim ({own}) {z} ({self.rule()})) ->"))
            intros.append("start")
        return lines, " ".join([*intros, "rule"])

    def rule(self) -> str:
        """The right side of the rule."""
        z = self.arguments[len(self.s.symbols) :]
        called = self.s.rule.replace(QUANTITY, lambda *a: sp.Function("f")(*a, *z))
        return real(called, self.names)


def _whole(x: sp.Expr) -> bool:
    return bool(x.is_integer and x.is_nonnegative)


# ---------------------------------------------------------------- formulas


def real(expr: sp.Expr, names: Names) -> str:
    """A real formula. Raises NotCovered."""
    if expr.is_Symbol:
        return f"INR {_atom(names[expr])}" if _whole(expr) else names[expr]
    if expr.is_Rational:
        top = f"({expr.p})" if expr.p < 0 else str(expr.p)
        return top if expr.q == 1 else f"{top} / {expr.q}"
    if isinstance(expr, sp.Add):
        return " + ".join(real(t, names) for t in expr.as_ordered_terms())
    if isinstance(expr, sp.Mul | sp.Pow):
        return _quotient(expr, names)
    if isinstance(expr, sp.gamma):
        return f"Gamma {_atom(whole(expr.args[0], names))}"
    if isinstance(expr, sp.factorial):
        return f"INR (fact {_atom(whole(expr.args[0], names))})"
    if isinstance(expr, sp.core.function.AppliedUndef):
        own = (_natural(whole(a, names)) if a.is_integer else _atom(real(a, names)) for a in expr.args)
        return " ".join([expr.func.__name__, *own])
    raise NotCovered(f"{type(expr).__name__} in a recurrence")


def _quotient(expr: sp.Expr, names: Names) -> str:
    above, below = [], []
    for f in sp.Mul.make_args(expr):
        base, exponent = f.as_base_exp() if isinstance(f, sp.Pow) else (f, sp.Integer(1))
        if f.is_Rational:
            above += [_factor(sp.Integer(f.p), names)] if f.p != 1 else []
            below += [str(f.q)] if f.q != 1 else []
        elif exponent.is_Integer and exponent < 0:
            below.append(_power(base, -exponent, names))
        else:
            above.append(_power(base, exponent, names))
    text = " * ".join(above) or "1"
    if below:
        text += f" / ({' * '.join(below)})" if len(below) > 1 else f" / {below[0]}"
    return text


def _power(base: sp.Expr, exponent: sp.Expr, names: Names) -> str:
    if exponent == 1:
        return _factor(base, names)
    if not (exponent.is_integer and exponent.is_nonnegative):
        raise NotCovered("a power that is not whole")
    return f"{_factor(base, names)} ^ {_atom(whole(exponent, names))}"


def _factor(expr: sp.Expr, names: Names) -> str:
    text = real(expr, names)
    return text if expr.is_Symbol or expr.is_Function or expr.is_Integer else f"({text})"


def whole(expr: sp.Expr, names: Names) -> str:
    """A natural number: symbols and a number, where ``pred`` takes 1 away. Raises NotCovered."""
    number, rest = expr.as_coeff_Add()
    if not all(x.is_Symbol and _whole(x) for x in sp.Add.make_args(rest)) and rest != 0:
        raise NotCovered(f"the whole number {expr}")
    if expr.is_Symbol:
        return names[expr]
    text = " + ".join(_atom(names[x]) for x in rest.as_ordered_terms()) if rest != 0 else ""
    if number > 0 or not text:
        text = f"{number} + {text}" if text else str(number)
    for _ in range(-int(number) if number < 0 else 0):
        text = f"pred {_atom(text)}"
    return text


def _natural(text: str) -> str:
    """A natural number as an argument of a variable function."""
    return text if text.isidentifier() else f"{_atom(text)}%nat"


def _atom(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


# ---------------------------------------------------------------- proofs


def _shifted(words: _Words) -> tuple[str, list[sp.Symbol]]:
    """The claim for what lies above the first values, and its symbols: those of the induction first."""
    based = [b.symbol for b in words.s.base]
    symbols = [*based, *(x for x in words.arguments if x not in based)]
    text = "".join(map(words.bound, symbols))
    return f"{text}{words.claim(words.shifted())}", symbols


def _by_induction(words: _Words) -> list[str]:
    """The claim above the first values, by one induction inside the other."""
    claim, _ = _shifted(words)
    first = (
        f"induction {words.names[b.symbol]} as [|{words.names[b.symbol]} IH{n}]; "
        f"[intros; etransitivity; [apply base{n}; (lia || assumption)|closed_form]|]."
        for n, b in enumerate(words.s.base)
    )
    rewriting = " | ".join(f"rewrite IH{n} by assumption" for n, _ in enumerate(words.s.base))
    return [
        filled(f"assert (shifted : {claim})."),
        "  {",
        *(f"    {line}" for line in first),
        "    intros. etransitivity; [apply rule; (lia || assumption)|]. cbn [Nat.add pred] in *.",
        f"    repeat first [{rewriting}]. closed_form.",
        "  }",
    ]


def _by_slope(words: _Words) -> list[str]:
    """The claim above the first value where the rule gives the derivative by another variable."""
    s = words.s
    assert s.slope is not None
    (z, start), t = s.slope, s.symbols[0]
    power = sp.factorial(t) * s.closed
    if s.symbols != (t,) or power != (power.as_base_exp()[0]) ** t or s.rule != QUANTITY(t - 1):
        raise NotCovered("a derivative that is not that of a power over its factorial")
    claim, _ = _shifted(words)
    here, x = words.names[t], words.names[z]
    above = {**words.shifted(), t: f"S {here}"}
    forms = [f"(fun {x} => {real(s.closed, names)})" for names in (above, words.names)]
    known = f"{forms[0]} {forms[1]} ({real(start, above)})"
    ranged = bool(words.sign(z))
    lemma, within, own = ("same_slope", " range_y", f" range_{x}") if ranged else ("same_slope_all", "", "")
    return [
        filled(f"assert (shifted : {claim})."),
        f"  {{ induction {here} as [|{here} IH].",
        "  - intros. etransitivity; [apply base0; (lia || assumption)|]. closed_form.",
        f"  - intros {x}{own}.",
        filled(f"apply ({lemma} (f (S {here})) {known}).", "    "),
        "    + apply start; lia.",
        "    + apply starts_at_value; [|rewrite Rplus_0_r; reflexivity].",
        "      apply derivable_continuous_pt. eexists. apply slope_power.",
        f"    + intros y{within}. rewrite <- (IH y{within}). exact (rule (S {here}) ltac:(lia) y{within}).",
        f"    + intros y{within}. apply slope_power.",
        f"    + exact{own}. }}" if ranged else "  }",
    ]


def _unshifted(words: _Words) -> list[str]:
    """The claim itself."""
    _, symbols = _shifted(words)
    names, intros = words.names, []
    for x in words.arguments:
        ranged = words.first.get(x, 0) if x in words.first else words.sign(x)
        intros += [names[x], f"range_{names[x]}"] if ranged else [names[x]]
    proof = [f"  intros {' '.join(intros)}."]
    for x in words.arguments:
        proof += [f"  destruct {names[x]} as [|{names[x]}]; [lia|]."] * words.first.get(x, 0)
    applied = " ".join(f"{names[x]} range_{names[x]}" if words.sign(x) else names[x] for x in symbols)
    return [*proof, f"  exact (shifted {applied})."]


def _defined(name: str, words: _Words) -> list[Theorem]:
    """The theorem that nothing is divided by 0, if anything is divided by."""
    s = words.s
    every = [s.closed, s.rule, *(b.value for b in s.base), *((s.slope[1],) if s.slope else ())]
    found = [d for e in every for d in denominators(e) if not d.is_number]
    below = list(dict.fromkeys(real(d, words.names) for d in found))
    if not below:
        return []
    constants = "".join(map(words.bound, words.constants))
    lines = [f"Theorem {name} :", filled(f"{constants}{words.everywhere(0)}")]
    lines += [filled(f"({text} <> 0) /\\") for text in below]
    proof = "Proof.\n  intros. unfold Gamma. repeat split; no_zero.\nQed."
    return [Theorem(name, "\n".join([*lines, "  True."]), proof)]
