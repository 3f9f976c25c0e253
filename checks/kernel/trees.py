"""Index expressions for Rocq: the tree that the checker computes with, and the formula that people read.

The kernel compares both by conversion, so that only the readable formula has to be believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.order import is_mask

Function = tuple[str, int]
"""A function of one number by its name, and the order of its derivative."""

RESERVED = frozenset(
    (
        "R S O I nat sum exp sqrt ln delta INR IZR forall exists let fun in if then else end match with as at"
        " fix Prop Set Type left right pair fst snd cos sin PI e using where return Num Dim At Delta Add Mul"
        " Inv Sqrt Exp Call Sum dims ten fn the_data the_model the_ranges promises the_dim the_tensor"
        " the_function the_entry h i0 i1 i2 i3 at0 at1 at2 at3"
        " transpose product times_vector vector_times inner outer trace diag norm_squared frobenius_squared"
        " softmax row_softmax cases big_o Un_cv derivable_pt_lim"
    ).split()
)
"""Words of Rocq, and names of its library and of the generated proofs, that no symbol may have."""


class NotCovered(ValueError):
    """The library has no word for something in a statement; the message says for what."""


class Symbols:
    """Numbers and Rocq names of the dimensions, tensors and functions of one theorem, in order of occurrence.

    Names are unique, and none of them is ``RESERVED``.
    """

    def __init__(self) -> None:
        self.dims: list[str] = []
        self.tensors: list[Tensor] = []
        self.functions: list[Function] = []
        self._names: dict[tuple[str, object], str] = {}

    def add(self, expr: ix.Expr) -> None:
        """Number everything that an expression mentions. Raises NotCovered."""
        match expr:
            case ix.At(tensor, _):
                self.add_tensor(tensor)
            case ix.Dim(name):
                self.add_dim(name)
            case ix.Sum(index, _):
                self.add_dim(index.dim)
            case ix.Call(function, _, order) if function != "exp":
                self.add_function((function, order))
        for part in ix.children(expr):
            self.add(part)

    def add_dim(self, dim: str) -> None:
        """Number a dimension; one that is 1 has no number. Raises NotCovered for a stacked one."""
        if ix.STACKED in dim:
            raise NotCovered("a stacked dimension")
        if dim != "1" and dim not in self.dims:
            self.dims.append(dim)

    def add_tensor(self, tensor: Tensor) -> None:
        """Number a tensor and its dimensions. Raises NotCovered for a mask, whose values are not any."""
        if is_mask(tensor):
            raise NotCovered("a mask")
        for dim in tensor.dims:
            self.add_dim(dim)
        if tensor not in self.tensors:
            self.tensors.append(tensor)

    def add_function(self, function: Function) -> None:
        """Number a function."""
        if function not in self.functions:
            self.functions.append(function)

    def dim(self, name: str) -> str:
        """The name of a dimension."""
        return self._name("dim", name, name)

    def tensor(self, tensor: Tensor) -> str:
        """The name of a tensor."""
        return self._name("tensor", tensor, tensor.name)

    def function(self, function: Function) -> str:
        """The name of a function or derivative."""
        name, order = function
        return "ln" if function == ("log", 0) else self._name("function", function, name + "_d" * order)

    def has(self, thing: Tensor | Function) -> bool:
        """Whether a tensor or a function has a name."""
        return ("tensor" if isinstance(thing, Tensor) else "function", thing) in self._names

    def index(self, index: Index, taken: Mapping[Index, str]) -> str:
        """A name for an index variable that is no symbol's and none of those in scope."""
        return unused(index.name.partition("#")[0], {*taken.values(), *self._names.values()})

    def _name(self, kind: str, thing: object, text: str) -> str:
        if (kind, thing) not in self._names:
            self._names[kind, thing] = unused(text, set(self._names.values()))
        return self._names[kind, thing]


_SPELLED = (
    *(("^-1", "_inv"), ("-", "_minus_"), ("~", "_tilde"), ("'", "_p"), ("+", "_plus_")),
    *(("Δ", "delta_"), ("Σ", "sum_"), ("\\", ""), ("{", ""), ("}", "")),
)
"""How signs in names are spelled."""


def unused(text: str, taken: set[str]) -> str:
    """A name for Rocq that is like a text, and neither reserved nor taken."""
    text = re.sub(r"^\|(.*)\|$", r"norm_\1", text)
    for sign, word in _SPELLED:
        text = text.replace(sign, word)
    base = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not base[:1].isalpha():
        base = f"x{base}"
    base = f"{base}_" if base in RESERVED else base
    name, n = base, 2
    while name in taken:
        name, n = f"{base}{n}", n + 1
    return name


def plain(indices: tuple[Index, ...]) -> list[Index]:
    """The indices that have a range; those over a dimension of size one are left out of every theorem."""
    return [i for i in indices if i.dim != "1"]


def plain_dims(tensor: Tensor) -> list[str]:
    """The dimensions of a tensor that are not 1."""
    return [d for d in tensor.dims if d != "1"]


def application(name: str, arguments: list[str]) -> str:
    """A function, or a tensor's entry, as Rocq writes it."""
    return " ".join([name, *arguments])


# ---------------------------------------------------------------- the checker's tree


def deep(expr: ix.Expr, scope: tuple[Index, ...], symbols: Symbols) -> str:
    """The tree of lib/Expr.v; ``scope`` has the indices, the innermost first. Raises NotCovered."""

    def d(node: ix.Expr) -> str:
        match node:
            case ix.Num(value):
                return _number(value)
            case ix.Dim(name):
                return f"(Dim {symbols.dims.index(name)})"
            case ix.At(tensor, indices):
                places = "; ".join(str(scope.index(i)) for i in plain(indices))
                return f"(At {symbols.tensors.index(tensor)} [{places}])"
            case ix.Delta(left, right):
                return "(Num 1)" if left.dim == "1" else f"(Delta {scope.index(left)} {scope.index(right)})"
            case ix.Add(args):
                return _nested("Add", [d(a) for a in args], "(Num 0)")
            case ix.Mul(args):
                return _nested("Mul", [d(a) for a in args], "(Num 1)")
            case ix.Pow(base, exponent):
                return _power(d(base), exponent)
            case ix.Call("exp", arg, _):
                return f"(Exp {d(arg)})"
            case ix.Call(function, arg, order):
                return f"(Call {symbols.functions.index((function, order))} {d(arg)})"
            case ix.Sum(index, body) if index.dim == "1":
                return d(body)
            case ix.Sum(index, body):
                return f"(Sum {symbols.dims.index(index.dim)} {deep(body, (index, *scope), symbols)})"
        raise NotCovered(type(node).__name__)

    return d(expr)


def _number(value: Fraction) -> str:
    top, bottom = f"(Num {_integer(value.numerator)})", f"(Num {value.denominator})"
    return top if value.denominator == 1 else f"(Mul {top} (Inv {bottom}))"


def _integer(n: int) -> str:
    return f"({n})" if n < 0 else str(n)


def _nested(operation: str, parts: list[str], unit: str) -> str:
    if not parts:
        return unit
    whole = parts[0]
    for part in parts[1:]:
        whole = f"({operation} {whole} {part})"
    return whole


def _power(base: str, exponent: Fraction) -> str:
    if exponent < 0:
        return f"(Inv {_power(base, -exponent)})"
    if exponent.denominator > 2:
        raise NotCovered(f"the exponent {exponent}")
    if exponent.denominator == 2:
        base, exponent = f"(Sqrt {base})", Fraction(exponent.numerator)
    if exponent == 1:
        return base
    whole = "(Num 1)"  # as Rocq computes a power
    for _ in range(int(exponent)):
        whole = f"(Mul {base} {whole})"
    return whole


# ---------------------------------------------------------------- the readable formula

ATOM, APPLIED, POWER, PREFIX, PRODUCT, SUM = 0, 10, 30, 35, 40, 50
"""Levels of Rocq's notation: what binds tighter has the lower one."""


def readable(expr: ix.Expr, scope: Mapping[Index, str], symbols: Symbols, level: int = SUM) -> str:
    """The formula as Rocq reads it, in parentheses where it binds less than ``level`` asks for."""
    text, own = written(expr, scope, symbols)
    return text if own <= level else f"({text})"


def written(expr: ix.Expr, scope: Mapping[Index, str], symbols: Symbols) -> tuple[str, int]:
    """The formula, and the level on which it stands."""

    def r(node: ix.Expr, level: int) -> str:
        return readable(node, scope, symbols, level)

    match expr:
        case ix.Num(value):
            return number(value)
        case ix.Dim(name):
            return f"INR {symbols.dim(name)}", APPLIED
        case ix.At(tensor, indices):
            places = [scope[i] for i in plain(indices)]
            return application(symbols.tensor(tensor), places), APPLIED if places else ATOM
        case ix.Delta(left, right):
            return ("1", ATOM) if left.dim == "1" else (f"delta {scope[left]} {scope[right]}", APPLIED)
        case ix.Add(args):
            return joined([r(a, SUM - (n > 0)) for n, a in enumerate(args)], " + ", SUM, "0")
        case ix.Mul(args):
            return _product(args, scope, symbols)
        case ix.Pow(base, exponent) if exponent == 1:
            return written(base, scope, symbols)
        case ix.Pow(base, exponent):
            return powered(lambda own: r(base, own), exponent)
        case ix.Call("exp", arg, _):
            return f"exp {r(arg, ATOM)}", APPLIED
        case ix.Call(function, arg, order):
            return f"{symbols.function((function, order))} {r(arg, ATOM)}", APPLIED
        case ix.Sum(index, body) if index.dim == "1":
            return written(body, scope, symbols)
        case ix.Sum(index, body):
            name = symbols.index(index, scope)
            inner = readable(body, {**scope, index: name}, symbols)
            return f"sum {symbols.dim(index.dim)} (fun {name} => {inner})", APPLIED
    raise NotCovered(type(expr).__name__)


def number(value: Fraction) -> tuple[str, int]:
    """A rational number."""
    top = _integer(value.numerator)
    return (top, ATOM) if value.denominator == 1 else (f"{top} / {value.denominator}", PRODUCT)


def exact(value: Fraction) -> str:
    """A rational number as an argument."""
    text, level = number(value)
    return text if level == ATOM else f"({text})"


def joined(parts: list[str], sign: str, level: int, unit: str) -> tuple[str, int]:
    """Parts with a sign between them, on the level of the sign; without parts the unit."""
    return (sign.join(parts), level) if parts else (unit, ATOM)


def _product(args: tuple[ix.Expr, ...], scope: Mapping[Index, str], symbols: Symbols) -> tuple[str, int]:
    """Factors from left to right; one with a negative exponent is divided by."""
    if not args:
        return "1", ATOM
    text = readable(args[0], scope, symbols, PRODUCT)
    for factor in args[1:]:
        if isinstance(factor, ix.Pow) and factor.exponent < 0:
            below = ix.Pow(factor.base, -factor.exponent)
            text += f" / {readable(below, scope, symbols, PREFIX - 1)}"
        else:
            text += f" * {readable(factor, scope, symbols, PREFIX - 1)}"
    return text, PRODUCT


def powered(base: Callable[[int], str], exponent: Fraction) -> tuple[str, int]:
    """A power of what ``base`` writes for a level."""
    if exponent < 0:
        return f"/ {base(PREFIX) if exponent == -1 else powered(base, -exponent)[0]}", PREFIX
    root, whole = exponent.denominator == 2, exponent.numerator
    if root and whole == 1:
        return f"sqrt {base(ATOM)}", APPLIED
    return f"{f'sqrt {base(ATOM)}' if root else base(APPLIED)} ^ {whole}", POWER
