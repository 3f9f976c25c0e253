"""Theorems that kernels are positive semidefinite: certificates become applications of closure properties."""

from __future__ import annotations

from checks.kernel.context import Context, loose
from checks.kernel.definedness import said
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled
from checks.kernel.trees import NotCovered
from checks.kinds.positive import Positive
from derivations.calculus import index as ix
from derivations.calculus import psd
from derivations.calculus import signs as sg
from derivations.calculus.index import Index

_RANGES = {"real": "", ">= 0": "0 <= {}", "> 0": "0 < {}"}
_DOMAINS = {"R^d": "", "[-1, 1]^d": "-1 <= {} <= 1", "(0, inf)^d": "0 < {}"}


def positive(name: str, s: Positive) -> list[Theorem]:
    """The quadratic form of a kernel is nonnegative for all points and weights; and the kernel is defined.

    Raises NotCovered.
    """
    if s.certificate is None:
        raise NotCovered("a kernel without a certificate")
    kernel = s.kernel.entry()
    i, j = s.i.fresh(), s.j.fresh()  # the sums of the certificate never run over the two points
    built = ix.rename(s.certificate.kernel(i, j), {i: s.i, j: s.j})
    context = Context((kernel, built), first=(s.i, s.j))
    lines = [f"Theorem {name} :", *context.header(), *_hypotheses(context, s)]
    weights = context.symbols.index(Index("c", "1"), context.scope)
    one, two = context.scope[s.i], context.scope[s.j]
    count = context.symbols.dim(s.i.dim)
    body = f"{weights} {one} * {weights} {two} * {context.readable(kernel, level=39)}"
    form = f"sum {count} (fun {one} => sum {count} (fun {two} => {body}))"
    lines += [f"  forall {weights} : nat -> R,", filled(f"{form} >= 0.")]
    equal = f"fun {one} {two} range_{one} range_{two} => is_kernel {one} range_{one} {two} range_{two}"
    whole = f"psd_ext {count} _ (fun {one} {two} => {context.readable(kernel)}) ({equal}) is_psd"
    proof = [
        "Proof.",
        context.intro(),
        *_same(context, kernel, built),
        filled(f"pose proof ({_Proof(context, s).of(s.certificate)}) as is_psd."),
        filled(f"exact (fun {weights} => Rle_ge _ _ (p_form _ _ ({whole}) {weights}))."),
        "Qed.",
    ]
    return [Theorem(name, "\n".join(lines), "\n".join(proof)), *_defined(f"{name}_defined", s)]


def _hypotheses(context: Context, s: Positive) -> list[str]:
    """The lines of the ranges of parameters and of the domain, where no promise of a symbol says it."""
    lines = []
    for tensor, words in s.ranges:
        if _RANGES[words] and not tensor.positive and tensor in context.base:
            said, line = context.hypothesis(_RANGES[words].format(context.symbols.tensor(tensor)))
            lines.append(line)
            if words == "> 0":
                context.promises["positive", tensor] = said
    point = [context.entry(s.points, ["i0", "i1"]), *(context.symbols.dim(d) for d in s.points.dims)]
    if s.domain == "R^d without 0":
        some = f"exists i1, (i1 < {point[2]})%nat /\\ {point[0]} <> 0"
        lines.append(context.hypothesis(f"forall i0, (i0 < {point[1]})%nat -> {some}")[1])
    elif _DOMAINS[s.domain] and not s.points.positive:
        each = context.within(["i0", "i1"], list(s.points.dims))
        said, line = context.hypothesis(each + _DOMAINS[s.domain].format(point[0]))
        lines.append(line)
        if s.domain == "(0, inf)^d":
            context.promises["positive", s.points] = said
    return lines


def _same(context: Context, kernel: ix.Expr, built: ix.Expr) -> list[str]:
    """The kernel is what its certificate builds; of products of exponentials the exponents are compared."""
    one, two = _exponent(kernel), _exponent(built)
    if one is None or two is None:
        return _equal(context, "is_kernel", kernel, built)
    equal = f"{context.readable(kernel)} = {context.readable(built)}"
    return [
        *_equal(context, "is_exponent", one, two),
        filled(f"assert (is_kernel : {context.everywhere()}{equal})"),
        "    by (intros; rewrite <- ?exp_plus; apply f_equal; now apply is_exponent).",
    ]


def _equal(context: Context, name: str, one: ix.Expr, two: ix.Expr) -> list[str]:
    """Two expressions are equal: by the checker, or where sums divide their terms, which it does not see,
    term by term.
    """
    if any(map(_divides, ix.walk(one))):
        says = f"{context.everywhere()}{context.readable(one)} = {context.readable(two)}"
        return [filled(f"assert ({name} : {says}) by (intros; termwise).")]
    trees = [filled(context.deep(e), "    ") for e in (one, two)]
    whole = [
        "  pose proof (identity the_data the_model the_ranges",
        *trees,
        f"    {YES} promises) as {name}.",
    ]
    return [*setup(context), *whole]


def _divides(node: ix.Expr) -> bool:
    """Whether a sum divides each term by something else."""
    return isinstance(node, ix.Sum) and any(
        isinstance(n, ix.Pow) and n.exponent < 0 and node.index in ix.free_indices(n.base)
        for n in ix.walk(node.body)
    )


def _exponent(expr: ix.Expr) -> ix.Expr | None:
    """The exponent of a product of exponentials, or None."""
    match expr:
        case ix.Call("exp", argument, _):
            return argument
        case ix.Mul(args) if all(found := [_exponent(a) for a in args]):
            return ix.Add(tuple(e for e in found if e is not None))
    return None


class _Proof:
    """Proof terms of ``psd``, from certificates."""

    def __init__(self, context: Context, s: Positive) -> None:
        self.context, self.s = context, s
        self.count = context.symbols.dim(s.i.dim)
        self.scope = dict(context.scope)

    def of(self, c: psd.Certificate) -> str:
        """The proof that a certificate's kernel is positive semidefinite. Raises NotCovered."""
        match c:
            case psd.Features(feature, at, None):
                return f"psd_feature {self.count} {self._function(feature.entry(), at)}"
            case psd.Features(feature, at, Index() as over):
                return self._sum(over, psd.Features(feature, at))
            case psd.OverCoordinates(inner, over):
                return self._sum(over, inner)
            case psd.Scaled(factor, at, inner):
                own = self._function(factor.entry(), at)
                return f"psd_scaled {self.count} {own} _ ({self.of(inner)})"
            case psd.Multiple(coefficient, inner):
                own = f"({self._text(coefficient.entry())})"
                return f"psd_multiple {self.count} {own} _ ltac:(signs) ({self.of(inner)})"
            case psd.Plus(parts):
                whole = self.of(parts[0])
                for part in parts[1:]:
                    whole = f"psd_plus {self.count} _ _ ({whole}) ({self.of(part)})"
                return whole
            case psd.Power(inner, 1):
                return self.of(inner)
            case psd.Power(inner, degree):
                return f"psd_power {self.count} _ {degree}%nat ({self.of(inner)})"
            case psd.Exp(inner):
                return f"psd_exp {self.count} _ ({self.of(inner)})"
            case psd.Overlap(coordinate, at):
                return f"psd_overlap {self.count} {self._function(coordinate.entry(), at)}"
            case psd.Harmonic(coordinate, at):
                own = self._function(coordinate.entry(), at)
                return f"psd_harmonic {self.count} {own} ltac:(cbv beta; intros; signs)"
        raise NotCovered(f"a certificate by {type(c).__name__}")

    def _text(self, expr: ix.Expr) -> str:
        return self.context.readable(expr, self.scope)

    def _function(self, expr: ix.Expr, at: Index) -> str:
        """An expression in a point, as a function of the point."""
        self.scope[at] = self.context.scope[self.s.i]
        return f"(fun {self.scope[at]} => {self._text(expr)})"

    def _sum(self, over: Index, inner: psd.Certificate) -> str:
        """The proof for a sum over the coordinates."""
        name = self.scope[over] = self.context.symbols.index(over, self.context.scope)
        dim = self.context.symbols.dim(over.dim)
        return f"psd_sum {dim} {self.count} _ (fun {name} range_{name} => {self.of(inner)})"


def _defined(name: str, s: Positive) -> list[Theorem]:
    """The theorem that a kernel is defined on its domain, if anything need be shown."""
    demands = list(dict.fromkeys(sg.demands(s.kernel.entry())))
    if not demands:
        return []
    context = Context((s.kernel.entry(), *(d.base for d in demands)))
    lines = [f"Theorem {name} :", *context.header(), *_hypotheses(context, s)]
    for d in demands:
        own = loose([d.base])
        ranges = context.within([context.scope[i] for i in own], [i.dim for i in own])
        lines.append(filled(f"({ranges}{said(context, d)}) /\\"))
    proof = ["Proof.", context.intro()]
    if s.domain == "R^d without 0":
        away = context.intros[-1]
        proof.append(f"  pose proof (fun i range_i => norm_positive _ _ ({away} i range_i)) as norm.")
    proof += ["  repeat split; intros; nonzero_signs.", "Qed."]
    return [Theorem(name, "\n".join([*lines, "  True."]), "\n".join(proof))]
