"""A user's formula: what is read, and that nothing else is ever evaluated, hangs or gets through."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from checks.run.theories import theory
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.components import evaluate
from derivations.calculus.functions import EXACT_FUNCTIONS
from derivations.calculus.index import Index, Tensor
from derivations.calculus.parse import BadExpression, parse, printed
from derivations.theories.theory import BadAssumption, Knob, changed, load_settings, parse_settings

U, W = Tensor("u"), Tensor("w")
NAMES = {"u": U.scalar, "w": W.scalar}


def value(text: str, u: Fraction = Fraction(2), w: Fraction = Fraction(3)) -> Any:
    expr = parse(text, NAMES)
    return evaluate(expr, {}, lambda t, e: {"u": u, "w": w}[t.name], EXACT_FUNCTIONS)


@pytest.mark.parametrize("text, expected", [
    ("u", 2), ("u+w", 5), ("u - w", -1), ("2*u*w", 12), ("u/w", Fraction(2, 3)), ("u^3", 8), ("u**-2", Fraction(1, 4)),
    ("-u^2", -4), ("(-u)^2", 4), ("+u", 2), ("--u", 2), ("0.1*u", Fraction(1, 5)), ("1e-3", Fraction(1, 1000)),
    ("(u*2)^(1/2)", 2), ("sqrt(2*u)", 2), ("(4*u)^(-1/3)", Fraction(1, 2)), ("u^0", 1), ("(u^2)^0.5", 2),
    ("1/(1+u)", Fraction(1, 3)), ("2^2 * 3", 12), ("(u + w)*(u - w)", -5), ("  u + 1\t", 3), ("u^(4/2)", 4),
    ("1_000*u", 2000), ("0*u", 0), ("0", 0), ("w^2", 9),
])  # fmt: skip
def test_formulas(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize("text, shown", [
    ("u^2", "u^2"), ("u**2  # <script>", "u^2"), ("  ((u)) ", "u"), ("u + w*u", "u+w*u"), ("(u+w)^-2", "(u+w)^(-2)"),
    ("0.1*u", "0.1*u"), ("2*0.250", "2*0.250"), ("u^0.5", "u^0.5"), ("1_000*u", "1000*u"), ("1_0.5*u", "10.5*u"),
    ("0.12345678901234567890123*u", "0.12345678901234567890123*u"), ("exp( -u )", "exp(-u)"), ("1e-3", "1e-3"),
    ("0x10*u", "16*u"), ("u/(w/u)", "u/(w/u)"), ("-u^2", "-u^2"), ("(-u)^2", "(-u)^2"), ("u\t+\t1", "u+1"),
])  # fmt: skip
def test_a_formula_is_shown_as_it_was_read(text: str, shown: str) -> None:
    assert printed(text) == shown == printed(shown)
    assert nf.equal(parse(shown, NAMES), parse(text, NAMES))


@pytest.mark.parametrize("text, exponent", [
    ("u^2.00000000000000000001", 2 + Fraction(1, 10**20)), ("u^-0.1000000000000000055", -Fraction("0.1000000000000000055")),
    ("u^(0.33333333333333333333/0.1)", Fraction("3.3333333333333333333")),
])  # fmt: skip
def test_an_exponent_has_all_the_digits_that_are_shown(text: str, exponent: Fraction) -> None:
    assert parse(text, NAMES) == ix.Pow(U.scalar, exponent)


def test_a_setting_is_kept_as_it_was_read_never_as_typed() -> None:
    chosen = theory("svr").assumptions({"feature_map": "(( dot+0.5 )**2)", "beta": "1/2"})
    assert (chosen.feature_map, chosen.beta) == ("(dot+0.5)^2", "1/2")
    assert theory("svr").assumptions({"feature_map": "polynomial:2"}).feature_map == "polynomial:2"
    assert theory("energy").assumptions({"F": "u**2"}).F == "u^2"
    with pytest.raises(BadExpression, match="once it is printed again"):
        printed("u^-2*" * 39 + "u^2")


def test_functions_are_those_of_their_names() -> None:
    one = Fraction(1)
    assert value("exp(u)") == EXACT_FUNCTIONS["exp"](Fraction(2))
    assert value("cosh(u)^2 - sinh(u)^2") == one
    assert value("tanh(u)*cosh(u) - sinh(u)") == 0
    assert nf.equal(parse("log(exp(u))", NAMES), U.scalar)


REFUSED = [
    "", " ", "u +", "(u", "u)", "u u", "2u", "import os", "u; w", "u = 1", "u == w", "u < w", "u and w", "not u", "u if u else w",
    "__import__('os').system('true')", "u.__class__", "u.real", "u[0]", "u[0:1]", "(u, w)", "[u]", "{u}", "{u: w}", "lambda: u",
    "(v := u)", "f'{u}'", "'u'", "b'u'", "u\\", "...", "None", "True", "u + False", "1j*u", "[v for v in u]", "(v for v in u)",
    "await u", "yield u", "*u", "u @ w", "u // w", "u % w", "u << 1", "u | w", "~u", "u is w", "u in w", "exp", "exp()", "exp(u, w)",
    "exp(x=u)", "exp(*u)", "exp(**u)", "u(w)", "eval(u)", "exec('1')", "open('x')", "getattr(u, 'x')", "print(u)", "v", "exp2(u)",
    "u^w", "u^u", "u^(1/0)", "u^1e999", "u^13", "u^-12.5", "u^True", "u^(2+1)", "u^2^2", "u**2**2", "u^'2'", "u²", "√u", "u×w", "u÷w",
    "u\u200bw", "\u202eu", "\u0440", "u\x00", "#u", "u,", "1e40*u", "1e-40*u", "0e999999999", "1e-999999999", "1e999", "0x", "0b2",
    "1/0", "1/(u-u)", "(u-u)^-1", "0^-1", "u/(w*0)", "log(0)", "log(-1)", "log(u-u)", "sqrt(-1)", "(-8)^(1/3)", "1/exp(u)/0",
    "((u^12)^12)^12", "(u^6)^3", "(1+u+w)^13", "((1+u)*(1+w))^12", "(1+u+w+u*w+u^2)^6", "(((9^12)^12)^12)^12", "u*" * 60 + "u",
    "(" * 150 + "u" + ")" * 150, "(" * 99 + "u" + ")" * 100, "u" * 201, "exp(" * 60 + "u", "-" * 250 + "u",
    "u^(" + "1/(" * 40 + "0" + ")" * 41,
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_everything_else_is_refused_quickly_and_without_remarks(text: str, recwarn: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BadExpression):
            parse(text, NAMES)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", [
    "u^(" + "1/(" * 40 + "1" + ")" * 41, "(" * 90 + "u" + ")" * 90, "-" * 150 + "u", "exp(" * 30 + "u" + ")" * 30,
    "sqrt(" + "7" * 150 + ")", "(1+u)^12", "+".join(["u"] * 60), "1/(" * 40 + "u" + ")" * 40, "(u^(1/12))^12", "(1+u+w)^6",
])  # fmt: skip
def test_long_but_harmless_formulas_are_read_quickly(text: str) -> None:
    nf.normal(parse(text, NAMES))


@settings(max_examples=150, deadline=None)
@given(hs.text(alphabet="uw0123456789.+-*/^()eE_ ,'[]{}:=<>!@#%&|~\\xp√", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        nf.normal(parse(text, NAMES))
    except BadExpression as error:
        assert str(error)


def test_names_may_stand_for_sums_and_are_not_captured() -> None:
    i = Index("i", "N")
    x = Tensor("x", ("N",))
    dot = ix.Sum(i, x[i] * x[i])
    expr = parse("dot^2 + u*dot", {"dot": dot, "u": x[i]})
    assert nf.equal(expr, dot**2 + x[i] * dot)


def test_a_name_of_one_letter_more_is_another_name() -> None:
    with pytest.raises(BadExpression, match=r"'uu' is not allowed here \(names u, w; functions exp, log"):
        parse("uu + 1", NAMES)


@pytest.mark.parametrize("text", ["exp(1e5*u)", "exp(u/99999)", "log(1 + exp(99999*u))", "cosh(300*u*300*w)"])
def test_large_numbers_inside_a_function_are_refused(text: str) -> None:
    with pytest.raises(BadExpression, match="bits inside a function"):
        parse(text, NAMES)


def test_only_the_given_functions_are_allowed() -> None:
    with pytest.raises(BadExpression):
        parse("exp(u)", NAMES, functions=("log",))


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize("pairs, expected", [
    (["loss=huber"], {"loss": "huber"}), (["svr.loss = huber"], {"loss": "huber"}), (["a=1", "a=2"], {"a": "2"}),
    (["feature_map=dot^2 == 3"], {"feature_map": "dot^2 == 3"}), ([], {}), (["=x"], {"": "x"}),
])  # fmt: skip
def test_settings(pairs: list[str], expected: dict[str, str]) -> None:
    assert parse_settings(pairs, "svr") == expected


@pytest.mark.parametrize("pair", ["loss", "", "ksvd.loss=x", "svr.svr.loss=x", "other.loss=x"])
def test_settings_that_are_none(pair: str) -> None:
    with pytest.raises(BadAssumption):
        parse_settings([pair], "svr")


@pytest.mark.parametrize("content, words", [
    (b"[svr", "not valid TOML"), (b"\xff\xfe", "not valid TOML"), (b"svr = 3", r"\[svr\] must be a table"),
    (b"[srv]\nloss = 'huber'", r"no table \[svr\]; there is \[srv\]"), (b"", r"no table \[svr\]; there is "
        r"nothing"),
    (b"[svr]\nloss='a'\nloss='b'", "not valid TOML"),
])  # fmt: skip
def test_files_of_settings_that_are_unusable(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(BadAssumption, match=words):
        load_settings(path, "svr")
    for missing in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(BadAssumption, match="cannot read"):
            load_settings(missing, "svr")


def test_files_that_would_never_end_are_refused_before_they_are_read(tmp_path: Path) -> None:
    many, large, pipe = (tmp_path / name for name in ("many.toml", "large.toml", "pipe.toml"))
    many.write_text("[svr]\n" + "a." * 2000 + "b = 1\n")
    large.write_text("#" * 100_000)
    os.mkfifo(pipe)
    for path, words in ((many, "too large"), (large, "too large"), (pipe, "no regular file"),
                        (Path("/dev/zero"), "no regular file")):  # fmt: skip
        with pytest.raises(BadAssumption, match=words):
            load_settings(path, "svr")


@pytest.mark.parametrize("tail", [
    " #`` <script>alert(1)</script>", " # {eval-rst}", "\t", "#", "\n", " #\x1b[2J", " # $\\href{javascript:1}{x}$", " #[/red]",
    " #\u202e", " # %s", " #![](//x)", " #<img src=x onerror=y>", "\x0c",
])  # fmt: skip
def test_what_is_shown_has_no_sign_that_means_more_than_a_formula(tail: str) -> None:
    @dataclass(frozen=True)
    class Assumptions:
        F: str = "any"

    def validate(name: str, text: str) -> None:
        parse(text, NAMES)

    knobs = (Knob("F", ("any", "EXPRESSION in u"), "a function"),)
    assert changed(Assumptions(), knobs, {"F": "(1+u)^2/3"}, validate).F == "(1+u)^2/3"
    with pytest.raises(BadAssumption, match="has the character"):
        changed(Assumptions(), knobs, {"F": f"u^2{tail}"}, validate)


def test_a_file_may_serve_several_theories(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[svr]\nloss = "huber"\n[ksvd]\nx = "y"\n')
    assert load_settings(path, "svr") == {"loss": "huber"}
    assert load_settings(path, "ksvd") == {"x": "y"}
