"""Figures 1 to 4: floating-point operations and memory of the retrieval model, derived, counted and measured.

The formulas are those of `derivations.theories.svr.head_costs`. The operations are counted by torch, the
memory is measured: all live tensors are followed through a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import sympy as sp

from checks.claim import Assumption, Options, claim
from checks.evidence import Evidence
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.counting import Counted, Grows
from checks.papers.nguyen2023.table_data import TABLE_2
from checks.statement import All
from derivations.calculus.unicode import unicode_math
from derivations.theories.svr import choices as svr_choices
from derivations.theories.svr.head_costs import (
    KEPT,
    LAYERS,
    D,
    F,
    N,
    linear_operations,
    matrices,
    operations,
    saved_memory,
    saved_operations,
    share,
)
from derivations.theories.svr.regression import SvrAssumptions

MODEL = Assumption("retrieval model", "two layers, feed-forward width 2D")
SCALES = Assumption(
    "scales of the retrieval model", "two heads, with one and two tokens a key", "scales", "1,2"
)
REASON = "The figures show measurements of training runs on a GPU that cannot be repeated here."
OPERATIONS = " Operations: a multiplication and an addition for each term of a product of matrices."
WHERE = (
    r"$N$ tokens of width $D$, feed-forward width $F$, $F=2D$ in the shares; two heads with scales 1 and 2."
    + OPERATIONS
)
SAVED_WHERE = " Differentiated is the share of operations that is saved, in (d) as corrected their number."
SPARSE_WHERE = r" A query keeps $M=\rho N$ keys of a whole head, the same share of the keys of a scaled one."


def scales_of(a: SvrAssumptions) -> tuple[int, ...]:
    """Tokens for each key, one number a head."""
    return svr_choices.scales(a.scales)


def reduction(a: SvrAssumptions, kept: Any = 1) -> sp.Expr:
    """1 - operations with scaled heads / operations without, for F = 2D."""
    return saved_operations(scales_of(a), kept)


def forward(
    tokens: Any,
    scales: tuple[int, ...],
    wide: int,
    normalise: bool,
    together: bool,
    drop: float = 0.0,
    kept: int | None = None,
) -> Any:
    """The model's forward pass; ``together`` computes all heads in one batched product, as a baseline
    would. ``kept``: the keys that a query of a whole head attends to (all unless given), gathered for it.
    """
    import torch

    n, width = tokens.shape
    heads, x = len(scales), tokens
    each = width // heads

    def weight(rows: int, columns: int) -> Any:
        options = {"device": tokens.device, "requires_grad": tokens.requires_grad}
        return torch.full((rows, columns), 1 / columns, **options)

    def attend(q: Any, k: Any, v: Any) -> Any:
        if normalise:
            mean = k.mean(-2, keepdim=True)
            q, k = q - mean, k - mean
        if kept is not None:
            at = torch.zeros(n, kept * len(k) // n, dtype=torch.long, device=k.device)
            q, k, v = q[:, None], k[at], v[at]
        share = torch.softmax(torch.matmul(q / each**0.5, k.transpose(-1, -2)), -1)
        attended = torch.matmul(torch.nn.functional.dropout(share, drop), v)
        return attended if kept is None else attended[:, 0]

    for _ in range(LAYERS):
        queries, out = x @ weight(width, width), []
        if together:
            keys, values = x @ weight(width, width), x @ weight(width, width)
            q, k, v = (t.view(n, heads, each).transpose(0, 1) for t in (queries, keys, values))
            merged = attend(q, k, v).transpose(0, 1).reshape(n, width)
        else:
            for s, scale in enumerate(scales):
                pooled = x if scale == 1 else x.view(n // scale, scale, width).mean(1)
                q = queries[:, s * each : (s + 1) * each]
                out.append(attend(q, pooled @ weight(width, each), pooled @ weight(width, each)))
            merged = torch.cat(out, -1)
        x = x + merged @ weight(width, width)
        x = x + torch.nn.functional.gelu(x @ weight(width, wide)) @ weight(wide, width)
    return x


@dataclass(frozen=True)
class Counter:
    """Counts (N, D, F), and M for sparse attention to M keys, with torch's counter, on tensors without
    data.
    """

    scales: tuple[int, ...]
    normalise: bool = False
    together: bool = False

    def run(self, n: int, width: int, wide: int, kept: int | None = None) -> None:
        """One forward pass."""
        import torch

        tokens = torch.empty(n, width, device="meta")
        forward(tokens, self.scales, wide, self.normalise, self.together, kept=kept)

    def __call__(self, *sizes: int) -> int:
        """The operations of a forward pass."""
        return _looked_on(self, sizes)[0]

    def products(self, *sizes: int) -> tuple[tuple[int, ...], ...]:
        """The axes of every matrix product of a forward pass: rows, inner, columns and, of batches,
        their number.
        """
        return _looked_on(self, sizes)[1]


@lru_cache(maxsize=64)  # many counts are compared at the same sizes
def _looked_on(counter: Counter, sizes: tuple[int, ...]) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """What torch's counter says of one forward pass, and the products that are seen in it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode

    seen: list[tuple[int, ...]] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm):
                seen.append((*args[0].shape, args[1].shape[-1]))
            return function(*args, **(kwargs or {}))

    with FlopCounterMode(display=False) as found, Watch():  # type: ignore[no-untyped-call]
        counter.run(*sizes)
    return found.get_total_flops(), tuple(seen)


SIZES = (N, D, F)
M = sp.Symbol("M", positive=True)  # keys that a query of a whole head keeps: ρN


def _counted(what: str, label: str, formula: sp.Expr, counter: Counter) -> Counted:
    """Operations of a model; N and M must be multiples of its largest scale, D of its heads."""
    most, more = max(counter.scales), (M,) if formula.has(M) else ()
    sizes, steps = (*SIZES, *more), (most, len(counter.scales), 1, *(most for _ in more))
    return Counted(f"operations, {what}", formula, sizes, steps, counter.products, counter, label=label)


def sparse(a: SvrAssumptions, normalise: bool) -> tuple[Counted, Counted]:
    """Sparse attention with M keys for each query, with whole and with scaled heads."""
    own, what = scales_of(a), "BN+SH" if normalise else "SH"
    whole, scaled = (sp.expand(operations(keys, M / N)) for keys in (1, share(own)))
    return (
        _counted("sparse attention", "sparse attention", whole, Counter((1,) * len(own))),
        _counted(f"sparse {what}", f"sparse {what}", scaled, Counter(own, normalise=normalise)),
    )


def unscaled(a: SvrAssumptions, together: bool = False) -> Counted:
    """Softmax attention with as many heads as there are scales, head by head or in one batched product."""
    ones = (1,) * len(scales_of(a))
    what, label = (
        ("softmax, heads in one product", "softmax, batched") if together else ("softmax", "softmax")
    )
    return _counted(what, label, operations(), Counter(ones, together=together))


def scaled(a: SvrAssumptions, normalise: bool = False) -> Counted:
    """Attention-SH, or -BN+SH."""
    what, label = ("normalised scaled heads", "BN+SH") if normalise else ("scaled heads", "SH")
    counter = Counter(scales_of(a), normalise=normalise)
    return _counted(what, label, operations(share(scales_of(a))), counter)


EIGHTH = Fraction(1, 8)  # a sparse pattern at which shares are shown
LOOK = ((N, (1024, 4096)), (D, (64, 512)), (KEPT, (EIGHTH,)))


def _look(kept: Any) -> tuple[tuple[sp.Symbol, tuple[int | Fraction, ...]], ...]:
    return LOOK if kept == KEPT else LOOK[:2]


def _more_tokens(a: SvrAssumptions, kept: Any = 1) -> Grows:
    return Grows("share of operations saved", reduction(a, kept), N, _look(kept), label="with N")


def _wider(a: SvrAssumptions, kept: Any = 1) -> Grows:
    return Grows("share of operations saved", reduction(a, kept), D, _look(kept), label="with D")


def _saved(a: SvrAssumptions, kept: Any = 1) -> Grows:
    difference = sp.expand((operations(1, kept) - operations(share(scales_of(a)), kept)).subs(F, 2 * D))
    return Grows("number of operations saved", difference, D, _look(kept), label="absolutely, with D")


def _percent(a: SvrAssumptions, n: int, width: int, kept: Any = 1) -> Fraction:
    value = sp.Rational(reduction(a, kept).subs({N: n, D: width, KEPT: EIGHTH})) * 100
    return Fraction(int(value.p), int(value.q))


def _almost_a_quarter(a: SvrAssumptions) -> Arithmetic:
    at = _percent(a, 4096, 64)
    return Arithmetic(
        (
            Figure("percent saved at D = 64, N = 4096", at, "<", Fraction(25), 1),
            Figure("percent saved at D = 64, N = 4096", at, ">", Fraction(23), 1),
            Figure("percent saved at D = 512, N = 4096", _percent(a, 4096, 512), ">", Fraction(0), 1),
        ),
        label="almost 25 %",
    )


def _gain() -> Arithmetic:
    """The accuracy that the text sets beside the savings, from Table 2."""
    softmax, *_, both, _ = TABLE_2.rows["Retrieval"]
    gain = Figure("gain of Attention-BN+SH on Retrieval", both - softmax, ">", Fraction("1.5"), 2)
    return Arithmetic((gain,), label="accuracy")


# ---------------------------------------------------------------- memory


def peak(
    n: int,
    width: int,
    scales: tuple[int, ...],
    normalise: bool,
    together: bool,
    train: bool,
    device: str = "cpu",
) -> int:
    """Peak of the numbers (float32) that all live tensors of a run hold.

    Every operation's results are seen as they are made and as they are freed; training has dropout 0.1. On
    the device "meta" nothing is computed, and the same tensors are followed by their sizes.
    """
    import weakref

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    live: set[int] = set()
    held = most = 0

    def free(key: int, size: int) -> None:
        nonlocal held
        live.remove(key)
        held -= size

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal held, most
            result = function(*args, **(kwargs or {}))
            for tensor in tree_leaves(result):
                if isinstance(tensor, torch.Tensor):
                    storage = tensor.untyped_storage()
                    key, size = storage._cdata, storage.nbytes()
                    if key not in live:
                        live.add(key)
                        held += size
                        weakref.finalize(storage, free, key, size)
            most = max(most, held)
            return result

    tokens = torch.full((n, width), 0.5, requires_grad=train, device=device)
    with Watch(), torch.set_grad_enabled(train):  # type: ignore[no-untyped-call]
        result = forward(tokens, scales, 2 * width, normalise, together, 0.1 if train else 0.0)
        if train:
            result.sum().backward()
    return most // 4


RUNS = {
    "softmax, heads together": (False, True),
    "softmax, head by head": (False, False),
    "SH, head by head": (False, False),
    "BN+SH, head by head": (True, False),
}


def _run(name: str, scales: tuple[int, ...]) -> tuple[tuple[int, ...], bool, bool]:
    """Scales, normalisation and whether heads are computed together, of one of ``RUNS``."""
    return (scales if "SH" in name else (1,) * len(scales), *RUNS[name])


MONOMIALS = (N**2, N * D, D**2, D, sp.Integer(1))
READ_AT = ((8192, 32), (8192, 64), (16384, 32), (16384, 128), (24576, 64))  # as many sizes as monomials
CHECKED_AT = ((24576, 128), (32768, 32), (40960, 256))
TEXT_AT = (4096, 64)  # N and D of the text's percentages


def peak_formula(scales: tuple[int, ...], normalise: bool, together: bool, train: bool) -> sp.Expr:
    """The peak in numbers, for N well above D, as a polynomial read off exact counts at ``READ_AT``."""
    sizes = [dict(zip((N, D), at, strict=True)) for at in READ_AT]
    counts = [peak(*at, scales, normalise, together, train, "meta") for at in READ_AT]
    system = sp.Matrix([[sp.sympify(m).subs(at) for m in MONOMIALS] for at in sizes])
    return sp.Add(*(c * m for c, m in zip(system.LUsolve(sp.Matrix(counts)), MONOMIALS, strict=True)))


def memory_formula(assumptions: Any, options: Options) -> list[Evidence]:
    """The peaks are polynomials in N and D, exactly, and their N x N matrices are those of the derived
    formula.
    """
    found = []
    for scales in dict.fromkeys((scales_of(assumptions), (1, 2), (1, 1, 2, 4), (1, 1, 2, 2, 4, 4, 8, 8))):
        wrong, shown = [], []
        for name in RUNS:
            own, normalise, together = _run(name, scales)
            for train in (False, True):
                what = f"{name}, {'training' if train else 'inference'}"
                formula = peak_formula(own, normalise, together, train)
                exact = all(
                    formula.subs({N: n, D: d}) == peak(n, d, own, normalise, together, train, "meta")
                    for n, d in CHECKED_AT
                )
                if not exact or formula.coeff(N, 2) != matrices(own, together, train):
                    wrong.append(what)
                shown.append(f"{what} {unicode_math(sp.latex(formula))}")
        said = [f"not as derived: {w}" for w in wrong] or shown
        detail = f"scales {scales}, numbers held at the peak: {'; '.join(said)}"
        found.append(
            Evidence(
                "tensor",
                "measured",
                not wrong,
                detail,
                tokens=CHECKED_AT[-1][0],
                dtype="float32",
                device="meta",
                backend="live tensors",
            )
        )
    return found


def memory(assumptions: Any, options: Options) -> list[Evidence]:
    """Peak memory in inference against the formula on the CPU, and both of the text's numbers beside
    exact counts.
    """
    n, scales, width = max(1024, min(options.max_tokens, 2048)), scales_of(assumptions), 64
    names = ("softmax, heads together", "softmax, head by head", "BN+SH, head by head")
    found, bound = [], 8 * width / n  # activations of width D: a few, against N x N
    for name in names:
        own, normalise, together = _run(name, scales)
        most, model = peak(n, width, own, normalise, together, False) / n**2, matrices(own, together, False)
        error = float(abs(most - model))
        detail = f"inference, {name}: {most:.2f} N x N matrices, of scores and weights {model}"
        record: dict[str, Any] = {
            "error": error,
            "bound": bound,
            "tokens": n,
            "dtype": "float32",
            "device": "cpu",
        }
        found.append(Evidence("tensor", "measured", error <= bound, detail, backend="live tensors", **record))
    for train, text in ((True, "31.9 %"), (False, "47.3 %")):
        counts = {}
        for name in names:
            own, normalise, together = _run(name, scales)
            counts[name] = peak(*TEXT_AT, own, normalise, together, train, "meta")
        saved = [100 * (1 - counts["BN+SH, head by head"] / counts[name]) for name in names[:2]]
        limit = [float(100 * saved_memory(scales, together, train)) for together in (True, False)]
        what = f"{'training with dropout' if train else 'inference'}, N = {TEXT_AT[0]}, D = {TEXT_AT[1]}"
        detail = (
            f"{what}: {saved[0]:.1f} % less than softmax with heads together (in the limit "
            f"{limit[0]:.1f} %), "
        )
        detail += f"{saved[1]:.1f} % less than head by head ({limit[1]:.1f} %); the text says {text}"
        found.append(
            Evidence("tensor", "measured", None, detail, tokens=TEXT_AT[0], dtype="float32", device="meta")
        )
    return found


MEMORY = (
    "Memory: what counts are the N x N matrices held at once. In inference batched heads hold scores and "
    "weights of both heads, four matrices; head by head it is two, with or without scaled heads. So the "
    "text's reductions of 31.9 % in training and 47.3 % in inference come out (within two points) if "
    "the baseline computes its heads together and the scaled heads one after the other, and not against a "
    "baseline that goes head by head: there scaling saves nothing in inference and about a quarter in "
    "training."
)

claim(
    "nguyen2023/fig1",
    "Figure 1",
    "Operations and memory of Attention-BN+SH",
    role="empirical",
    words="The share of operations saved grows with N, is almost 25 % at D = 64, N = 4096 and positive at a "
    "large D, where more operations are saved than at a small one; the accuracy on Retrieval gains more than "
    "1.5 points.",
    theory="svr",
    literal=lambda a: All(
        *(unscaled(a), unscaled(a, True), scaled(a), scaled(a, True)),
        *(_more_tokens(a), _saved(a), _almost_a_quarter(a), _gain()),
    ),
    reason=REASON,
    assumes=(MODEL, SCALES),
    rests_on=("nguyen2023/eq51", "nguyen2023/rem5"),
    legs=(memory, memory_formula),
    where=WHERE,
    notes=(
        "The share saved is (N + D)/(4(N + 4D)): 23.9 % at D = 64, N = 4096, below 25 % for all sizes, "
        "18.75 % at D = 512. It is "
        "the same in training, where every product is followed by two of the same size. " + MEMORY
    ),
)


RETRIEVAL = {"sparse attention": Fraction("78.20"), "sparse Attention-BN+SH": Fraction("79.86")}


def _both_grow(a: SvrAssumptions, name: str, corrected: bool) -> All:
    kept = KEPT if name.startswith("sparse") else 1
    first, normalise = _more_tokens(a, kept), "BN" in name
    growth = (first, _saved(a, kept)) if corrected else (_wider(a, kept), first)
    if kept == KEPT:
        return All(*sparse(a, normalise), *growth, _at_a_large_width(a), *_on_retrieval(name))
    return All(unscaled(a), scaled(a), *growth)


def _at_a_large_width(a: SvrAssumptions) -> Arithmetic:
    """What the captions of Figures 3 and 4 add: the scaled-up models remain more efficient."""
    saved = _percent(a, 4096, 512, KEPT)
    words = "percent saved at D = 512, N = 4096 with an eighth of the keys"
    return Arithmetic((Figure(words, saved, ">", Fraction(0), 1),), label="at a large D")


def _on_retrieval(name: str) -> tuple[Arithmetic, ...]:
    if name not in RETRIEVAL:
        return ()
    gain = RETRIEVAL[name] - RETRIEVAL["sparse attention"]
    return (Arithmetic((Figure(f"gain of {name} on Retrieval", gain, ">", Fraction(0)),), label="accuracy"),)


GROWTH = "The share of operations saved grows with N, not with D; their number grows with D."
HEADS = (
    "With more heads for a larger D the share can rise first and then fall: the evidence has it where all "
    "keys are kept{}, for heads of one width, of which one is at full length. The right panel, memory, is "
    "not decided here; that of Attention-BN+SH is measured under nguyen2023/fig1."
)
HEAD_WIDTH, HEADS_TO = 32, 32


def shares_with_more_heads(n: int) -> dict[int, Fraction]:
    """The share of operations saved by D, in percent: heads ``HEAD_WIDTH`` wide, all but one halved."""
    found = {}
    for heads in range(2, HEADS_TO + 1):
        at = {N: n, D: HEAD_WIDTH * heads}
        value = 100 * sp.Rational(saved_operations((1, *(2,) * (heads - 1))).subs(at))
        found[HEAD_WIDTH * heads] = Fraction(int(value.p), int(value.q))
    return found


def more_heads(assumptions: Any, options: Options) -> list[Evidence]:
    """Where the share is largest if D comes with heads; it settles nothing."""
    found = shares_with_more_heads(TEXT_AT[0])
    first, last = min(found), max(found)
    top = max(found, key=lambda width: found[width])
    said = ", ".join(f"{float(found[width]):.1f} % at D = {width}" for width in (first, top, last))
    detail = (
        f"heads {HEAD_WIDTH} wide, one at full length and the others halved, all keys kept, N = "
        f"{TEXT_AT[0]}: the share of operations saved is {said}, largest at D = {top}"
    )
    return [Evidence("derivation", "exact-rational", None, detail)]


PATTERN = (
    " The sparse pattern is not described. If each head keeps a fixed number of keys, shorter heads save "
    "nothing in the attention itself, and the share saved grows with D alone."
)
COMPARABLE = " That its accuracy on Retrieval is comparable to the baseline's is said without a figure."
for _number, _name in ((2, "Attention-SH"), (3, "sparse Attention-BN+SH"), (4, "sparse Attention-SH")):
    _dense = _number == 2
    claim(
        f"nguyen2023/fig{_number}",
        f"Figure {_number}",
        f"Operations of {_name}",
        role="empirical",
        words="The efficiency gain over the baseline grows with N and with D."
        + ("" if _dense else " At a large D operations are still saved.")
        + (" On Retrieval it is more accurate than the baseline." if _name in RETRIEVAL else ""),
        theory="svr",
        literal=partial(_both_grow, name=_name, corrected=False),
        corrected=partial(_both_grow, name=_name, corrected=True),
        correction_words=GROWTH,
        reason=REASON,
        assumes=(MODEL, SCALES),
        rests_on=("nguyen2023/fig1", "nguyen2023/eq25"),
        legs=(more_heads,),
        where=WHERE + ("" if _dense else SPARSE_WHERE) + SAVED_WHERE,
        notes=HEADS.format(" (no sparse pattern)" if _dense else "")
        + ("" if _dense else PATTERN)
        + (COMPARABLE if _number == 4 else ""),
    )


# ---------------------------------------------------------------- linear attention

UEA = (1, 1, 2, 2, 4, 4, 8, 8)  # Appendix J


def linear_forward(tokens: Any, scales: tuple[int, ...], wide: int, normalise: bool) -> Any:
    """The same model with linear attention: keys and values are summed once for all queries of a head."""
    import torch

    def feature(t: Any) -> Any:
        return torch.nn.functional.elu(t) + 1

    def weight(rows: int, columns: int) -> Any:
        return torch.empty(rows, columns, device=tokens.device)

    x, (n, width) = tokens, tokens.shape
    each = width // len(scales)
    for _ in range(LAYERS):
        queries, out = x @ weight(width, width), []
        for s, scale in enumerate(scales):
            pooled = x if scale == 1 else x.view(n // scale, scale, width).mean(1)
            q = queries[:, s * each : (s + 1) * each]
            k, v = pooled @ weight(width, each), pooled @ weight(width, each)
            if normalise:
                mean = k.mean(0)
                q, k = q - mean, k - mean
            q, k = feature(q), feature(k)
            out.append(q @ (k.T @ v) / (q @ k.sum(0)[:, None]))
        x = x + torch.cat(out, -1) @ weight(width, width)
        x = x + torch.nn.functional.gelu(x @ weight(width, wide)) @ weight(wide, width)
    return x


class LinearCounter(Counter):
    """Counts (N, D, F) for the model with linear attention."""

    def run(self, n: int, width: int, wide: int, kept: int | None = None) -> None:
        """One forward pass."""
        import torch

        linear_forward(torch.empty(n, width, device="meta"), self.scales, wide, self.normalise)


def linear(name: str, scales: tuple[int, ...], normalise: bool = False) -> Counted:
    """Operations with linear attention."""
    formula, own = linear_operations(scales), LinearCounter(scales, normalise)
    steps = (max(scales), len(scales), 1)
    return Counted(f"operations, {name}", formula, SIZES, steps, own.products, own, label=name)


WHOLE = (1,) * len(UEA)
LINEAR = {"BN": (WHOLE, True), "SH": (UEA, False), "BN+SH": (UEA, True)}


def _fewer(name: str) -> Arithmetic:
    """Percent of the operations saved at D = 64, whatever N."""
    whole, own = (linear_operations(scales).subs(F, 2 * D) for scales in (WHOLE, LINEAR[name][0]))
    saved = sp.Rational(sp.cancel(1 - own / whole).subs(D, 64)) * 100
    words = f"percent saved by Linear Attention-{name} at D = 64, F = 2D"
    figure = Figure(words, Fraction(int(saved.p), int(saved.q)), ">", Fraction(0), 1)
    return Arithmetic((figure,), label=f"saved by {name}")


def _linear_claim(names: tuple[str, ...]) -> All:
    counts = (linear(f"Linear Attention-{n}", *LINEAR[n]) for n in LINEAR)
    return All(linear("linear attention", WHOLE), *counts, *map(_fewer, names))


claim(
    "nguyen2023/prose-linear-efficiency",
    "Appendix B.1, last sentence",
    "The linear versions are more efficient than linear attention",
    role="empirical",
    words="Linear Attention-BN, -SH and -BN+SH are more efficient than linear attention.",
    literal=lambda a: _linear_claim(tuple(LINEAR)),
    corrected=lambda a: _linear_claim(("SH", "BN+SH")),
    correction_words="Linear Attention-SH and -BN+SH are more efficient.",
    reason="What is counted are the products of matrices, for the eight heads of Appendix J.",
    rests_on=("nguyen2023/prose-linear-attention",),
    where=r"$N$ tokens of width $D$, feed-forward width $F$; two layers with eight heads each, of scales 1, "
    "1, 2, 2, 4, 4, 8, 8." + OPERATIONS,
    notes="Linear Attention-BN keeps all keys: it makes the products of linear attention, and centres "
    "queries and keys besides.",
)
