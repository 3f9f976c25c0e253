"""What the theorems of the four papers say of one attention head of a user's own: which hypotheses hold, by
how much.

Everything is computed in float64 from the numbers given, streamed, in O(N d) memory. A quantity that the
theory says vanishes is given with the bound of its rounding error: above the bound the hypothesis fails,
which is certain; below it the hypothesis is not refuted, which is all that rounded numbers can say.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, replace

import torch

from checks.tensors.core import bounds, stream
from checks.tensors.core.arrays import check_attention_shapes, dtype_name, peak_bytes, prepare, resolve_scale
from checks.tensors.core.errors import TensorError
from checks.tensors.measure.load import Head
from checks.tensors.measure.matrix import AttentionMatrix, Product, Spectrum, spectrum
from checks.tensors.svr.converse import Fit, certify, fit_keys, of_logarithm


@dataclass(frozen=True)
class Settings:
    """What is asked for. `log_c`: the C whose box is judged; `steps` and `block` of the Krylov space."""

    log_c: float | None = None
    epsilon: float = 0.1
    top: int = 16
    block: int = 8
    steps: int = 12
    seed: int = 0
    mask: str | None = None
    scale: float | None = None
    device: str = "cpu"


@dataclass(frozen=True)
class SvrFit:
    """Attention with the keys as queries as the optimal fit of a support vector regression (nguyen2023, (5)).

    log_c_star: logarithm of the smallest C, within log_c_star_error. With `log_c` given: `log_excess` is
    log(C*/C), above 0 where the box |beta_jd| <= C is violated, by the factor exp(log_excess) at worst;
    `outside` counts the coefficients outside it. A causal mask is left out: the theorem has one normaliser
    h(x) over all keys.
    """

    log_c_star: float
    log_c_star_error: float
    log_c_star_centred: float
    accepted: bool
    worst_ratio: float
    epsilon: float
    repeated_keys: int
    log_c: float | None = None
    log_excess: float | None = None
    outside: int | None = None
    tokens_outside: int | None = None
    rejected_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class RightSingular:
    """How far the value columns are from right singular vectors of A (chen2023, remark 3.4).

    Column c is one iff AᵀA v_c is a multiple of v_c: `sines` are the sines of the angles between them, with
    `sine_errors` from rounding; `residual` is |AᵀA V - V S²|_F / |AᵀA V|_F with the best diagonal S²; `span`
    is |AᵀA V - P AᵀA V|_F / |AᵀA V|_F, P the projection on the span of V: 0 where another basis of the same
    span would do. `cosine` is the largest |cosine| between two columns, 0 for orthogonal ones. `sigmas` are
    |A v_c| / |v_c|. `objective` is J of chen2023 (11) at H_r = V, Lambda_c = |v_c| / |A v_c|, H_e = A V
    Lambda, and `objective_relative` J over sum Lambda_c |A v_c|² / 2, the mean of tan² of the angles so
    weighted: with these multipliers, unlike in general, J = 0 says that the columns are right singular
    vectors.
    """

    sines: tuple[float, ...]
    sine_errors: tuple[float, ...]
    sigmas: tuple[float, ...]
    zero_columns: int
    residual: float
    span: float
    cosine: float
    cosine_error: float
    objective: float
    objective_relative: float


@dataclass(frozen=True)
class Energy:
    """The quadratic energy with its matching regulariser (farooq2025, F(u) = u²): c_j and its minimisers.

    c_j = (AᵀA V)_j · v_j; a sign counts where |c_j| exceeds its rounding bound. The minimisers are AV + ker
    L, of dimension M d_v - rank((AᵀA) ∘ (VVᵀ)) >= dimension_at_least; unique is None where nothing is proved.
    """

    positive: int
    negative: int
    undetermined: int
    zero: int
    smallest: float
    largest: float
    sum: float
    dimension_at_least: int
    unique: bool | None
    reason: str


@dataclass(frozen=True)
class Centering:
    """Largest change of any output entry when the mean is taken off the keys, off the queries.

    Off the keys: none but rounding, at most `keys_bound`, since softmax ignores what a row has in common.
    """

    keys: float
    keys_bound: float
    queries: float
    largest_output: float


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of a claim: holds True, False, or None where rounding leaves it open; margin in words."""

    claim: str
    words: str
    holds: bool | None
    margin: float
    meaning: str


@dataclass(frozen=True)
class Measurement:
    """All measures of a head; `svr` and `singular` are None where all values are zero."""

    layer: str
    number: int
    queries: int
    tokens: int
    width: int
    value_width: int
    scale: float
    mask: str | None
    dtype: str
    device: str
    svr: SvrFit | None
    singular: RightSingular | None
    spectrum: Spectrum
    energy: Energy
    centering: Centering
    hypotheses: tuple[Hypothesis, ...]
    seconds: float
    peak_bytes: int

    @property
    def name(self) -> str:
        return f"{self.layer}.{self.number}"

    def to_json(self) -> dict[str, object]:
        return {"head": self.name, **asdict(self)}


def measure(head: Head, settings: Settings = Settings()) -> Measurement:
    """Every measure of one head. Raises TensorError for unusable tensors or settings."""
    try:
        return _measured(head, settings)
    except (ArithmeticError, torch.linalg.LinAlgError) as error:  # type: ignore[attr-defined]
        raise TensorError(
            f"head {head.name}: its numbers are too large or too small to be measured "
            f"({type(error).__name__}); rescale q, k or v"
        ) from None


def _measured(head: Head, settings: Settings) -> Measurement:
    started = time.perf_counter()
    q, k, v = prepare_head(head, settings.device)
    scale = resolve_scale(settings.scale if settings.scale is not None else head.scale, q.shape[-1])
    matrix = AttentionMatrix(q, k, scale, settings.mask or head.mask)
    product, with_sizes = _value_pass(matrix, v)
    decay = spectrum(matrix, settings.top, settings.block, settings.steps, settings.seed)
    singular = right_singular(product, with_sizes, v) if v.any() else None
    energy = quadratic_energy(matrix, product, with_sizes, v, decay)
    svr = svr_fit(k, v, scale, settings) if v.any() else None
    centering = centre(matrix, v)
    return Measurement(
        head.layer,
        head.number,
        len(q),
        len(k),
        q.shape[1],
        v.shape[1],
        scale,
        matrix.mask,
        dtype_name(head.k.dtype),
        str(k.device),
        svr,
        singular,
        decay,
        energy,
        centering,
        _hypotheses(svr, singular, energy),
        time.perf_counter() - started,
        peak_bytes(k.device),
    )


def prepare_head(head: Head, device: str = "cpu") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q (M, d), k (N, d), v (N, d_v) in float64. Raises TensorError, naming the head, if they are
    unusable.
    """
    wide = []
    for role, tensor in (("q", head.q), ("k", head.k), ("v", head.v)):
        if not tensor.is_floating_point() or tensor.ndim != 2:
            raise TensorError(
                f"head {head.name}: {role} is a {dtype_name(tensor.dtype)} tensor of shape "
                f"{tuple(tensor.shape)}; floating-point (tokens, width) is needed"
            )
        wide.append(tensor.double())
    try:
        q, k, v = prepare("float64", device, q=wide[0], k=wide[1], v=wide[2])
        check_attention_shapes(q, k, v)
        _require_range(q, k, v)
    except TensorError as problem:
        raise TensorError(f"head {head.name}: {problem}") from None
    return q, k, v


_RANGE = 1e-150, 1e150
"""Between them a number and its square are numbers of float64 with all their digits."""


def _require_range(*tensors: torch.Tensor) -> None:
    """Raises TensorError where the largest entry of q, k or v is so large or small that its square is no
    number of float64.
    """
    for role, tensor in zip("qkv", tensors, strict=True):
        largest = float(tensor.abs().max())
        if largest and not _RANGE[0] < largest < _RANGE[1]:
            raise TensorError(
                f"the largest entry of {role} is {largest:.3g}; 0, or between {_RANGE[0]:g} and "
                f"{_RANGE[1]:g}, is needed"
            )


def _value_pass(matrix: AttentionMatrix, v: torch.Tensor) -> tuple[Product, torch.Tensor]:
    """A V, AᵀA V and the bound of the error of the latter, (N, d_v), in one pass."""
    found, width = matrix.product(torch.cat([v, v.abs()], 1)), v.shape[1]
    growth = matrix.growth()
    # weights, their products with values, and those of both may each be lost where they underflow
    lost = 4 * len(matrix.q) * len(v) * torch.finfo(v.dtype).tiny * (1 + float(v.abs().max()))
    error = (math.expm1(growth) * math.exp(growth) * found.gram[:, width:] + lost) * bounds.SAFETY
    return Product(found.forward[:, :width], found.gram[:, :width], found.energy), error


def right_singular(product: Product, error: torch.Tensor, v: torch.Tensor) -> RightSingular:
    """See RightSingular. `error` bounds product.gram entry by entry."""
    used = v.any(0)
    # each column in a unit of its own, so that no square underflows: only the sums over columns have theirs
    unit = _power_of_two(v[:, used])
    v, image, forward, error = (x[:, used] / unit for x in (v, product.gram, product.forward, error))
    size, stretched, weight = v.norm(dim=0), _norms(forward), unit / unit.max()
    sines, rounding, off = _angles(image, error, v)
    basis, values, _ = torch.linalg.svd(v, full_matrices=False)
    basis = basis[:, values > values[0] * max(v.shape) * torch.finfo(v.dtype).eps]
    outside = image - basis @ (basis.mT @ image)
    cosines = ((v / size).mT @ (v / size)).abs().fill_diagonal_(0)
    multiplier = torch.where(stretched > 0, size / stretched, 0.0)
    left = forward * multiplier  # H_e, of which e = A w_e is A V and r = Aᵀ H_e is AᵀA V times the multiplier
    objective = (
        multiplier * stretched * stretched / 2
        + multiplier * (image * multiplier).norm(dim=0) ** 2 / 2
        - (left * forward).sum(0)
    )
    scale = float((weight**2 * multiplier * stretched * stretched / 2).sum())
    objective_sum = float((weight**2 * objective).sum())
    return RightSingular(
        _floats(sines),
        _floats(rounding),
        _floats(stretched / size),
        int((~used).sum()),
        _share(off * weight, image * weight),
        _share(outside * weight, image * weight),
        float(cosines.max()),
        16 * bounds.gamma(len(v), 2.0**-53),
        objective_sum * float(unit.max()) ** 2,
        objective_sum / scale if scale else 0.0,
    )


def _angles(
    image: torch.Tensor, error: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of each column: the sine of the angle between image and v, its error, and the part of the image off v.

    Where A v_c = 0, or is lost in its error, the error of the sine is 1.
    """
    unit = _power_of_two(torch.maximum(image.abs(), error))
    image, error = image / unit, error / unit
    size = image.norm(dim=0).clamp(min=torch.finfo(v.dtype).tiny)
    # <AᵀA v, v> and not |A v|²: the residual is then orthogonal to v to working accuracy
    off = image - v * ((image * v).sum(0) / v.norm(dim=0) ** 2)
    rounding = 2 * error.norm(dim=0) / size + 16 * bounds.gamma(len(v), 2.0**-53)
    # a sine above 1 by rounding would exceed any error
    return (off.norm(dim=0) / size).clamp(max=1.0), rounding.clamp(max=1.0), off * unit


def _norms(x: torch.Tensor) -> torch.Tensor:
    """The norms of the columns, of which no square underflows."""
    unit = _power_of_two(x)
    return (x / unit).norm(dim=0) * unit


def _share(part: torch.Tensor, whole: torch.Tensor) -> float:
    """|part|_F / |whole|_F, 0 where there is no whole."""
    below = float(_norms(whole.reshape(-1, 1)))
    return float(_norms(part.reshape(-1, 1))) / below if below else 0.0


def _power_of_two(x: torch.Tensor) -> torch.Tensor:
    """The power of two near the largest entry of each column that has one: dividing by it rounds nothing."""
    largest = x.abs().amax(0).clamp(max=torch.finfo(x.dtype).max)
    return x.new_tensor([math.ldexp(1.0, math.frexp(top)[1] - 1) for top in largest.tolist()])


def quadratic_energy(
    matrix: AttentionMatrix, product: Product, error: torch.Tensor, v: torch.Tensor, decay: Spectrum
) -> Energy:
    """Signs of c_j and whether AV is the only minimiser of the quadratic energy. See Energy."""
    c = (product.gram * v).sum(1)
    each = (error + product.gram.abs() * bounds.gamma(v.shape[1] + 1, 2.0**-53)) * v.abs()
    # no error, be it infinite, matters where a value is 0; a product that underflows is lost to `tiny`
    doubt = torch.where(v == 0, 0.0, each + torch.finfo(v.dtype).tiny).sum(1)
    positive, negative, silent = c > doubt, c < -doubt, ~v.any(1)
    m, n, width = len(matrix.q), len(v), v.shape[1]
    least = max(0, m * width - int((~silent).sum()))
    unique, reason = _uniqueness(matrix, decay, m, n, width, int(silent.sum()))
    return Energy(
        int(positive.sum()),
        int(negative.sum()),
        int((~(positive | negative | silent)).sum()),
        int(silent.sum()),
        float(c.min()),
        float(c.max()),
        float(c.sum()),
        least,
        unique,
        reason,
    )


def _uniqueness(
    matrix: AttentionMatrix, decay: Spectrum, m: int, n: int, width: int, silent: int
) -> tuple[bool | None, str]:
    """Unique iff Z -> (a_jᵀ Z v_j)_j has no kernel; for M = N: d_v = 1, A invertible, no value zero."""
    least = m * width - (n - silent)
    if least > 0:
        return False, (
            f"M d_v - rank G >= {m} x {width} - {n - silent}: G has one row for each of {n} tokens, and "
            f"{silent} of them vanish with their value"
        )
    if m != n or width != 1:
        return None, "no statement for fewer queries than keys"
    if matrix.mask == "causal":
        return True, "A is triangular with a positive diagonal, so invertible, and no value is zero"
    for name, rows in (("queries", matrix.q), ("keys", matrix.k)):
        if _repeated(rows):
            return False, f"equal {name} make A singular"
    if (
        decay.smallest is not None
        and decay.smallest_error is not None
        and (decay.smallest > decay.smallest_error + 2 * matrix.log_error() * math.sqrt(decay.energy))
    ):
        return (
            True,
            f"the smallest singular value, {decay.smallest:.3g}, exceeds its error, and no value is zero",
        )
    return None, "whether A is invertible cannot be told from rounding"


def _repeated(rows: torch.Tensor) -> int:
    """How many rows equal an earlier one."""
    return len(rows) - len(torch.unique(rows, dim=0))


def svr_fit(k: torch.Tensor, v: torch.Tensor, scale: float, settings: Settings) -> SvrFit:
    """See SvrFit. Both engines' fit, certified at C* and judged for the C of the settings."""
    fit = fit_keys(k, v, scale)
    best = certify(fit, settings.epsilon)
    centred = k - k.mean(0)
    log_sum = stream.logsumexp_rows(centred, centred, scale)
    found = SvrFit(
        fit.log_c_star,
        fit.log_c_star_error,
        float((log_sum + v.abs().amax(-1).log()).max()),
        best.accepted,
        max(r.ratio for r in best.residuals),
        settings.epsilon,
        _repeated(k),
    )
    return found if settings.log_c is None else _judged(found, fit, settings.log_c)


def _judged(found: SvrFit, fit: Fit, log_c: float) -> SvrFit:
    """The same, with the violation of the box |beta_jd| <= C."""
    log = fit.values.abs().log()
    outside = fit.log_h[:, None] + log - log_c > fit.log_h_bound[:, None] + of_logarithm(log)
    certificate = certify(fit, found.epsilon, log_c)
    return replace(
        found,
        log_c=log_c,
        log_excess=found.log_c_star - log_c,
        outside=int(outside.sum()),
        tokens_outside=int(outside.any(1).sum()),
        rejected_by=certificate.rejected_by,
    )


def centre(matrix: AttentionMatrix, v: torch.Tensor) -> Centering:
    """See Centering. The key mean as it is rounded is the same for all keys and drops out exactly."""
    q, k, scale, mask = matrix.q, matrix.k, matrix.scale, matrix.mask
    centred = k - k.mean(0)
    plain = stream.attend(q, k, v, scale, mask, magnitude=True)
    off_keys = stream.attend(q, centred, v, scale, mask, magnitude=True)
    off_queries = stream.attend(q - q.mean(0), k, v, scale, mask).out
    bound = torch.zeros_like(plain.out)
    how = bounds.streamed("float64", device=k.device)
    for keys, result, arithmetic in (
        (k, plain, how),
        (centred, off_keys, how.on_unrounded_inputs("float64")),
    ):
        sizes = bounds.score_sizes(q, keys, scale)
        size = bounds.magnitude_of(result, arithmetic, k.shape[1], len(k), sizes)
        bound += bounds.attention_bound(
            arithmetic, k.shape[1], len(k), sizes, size, float(v.abs().max()), result.shifted
        )
    change = (off_keys.out - plain.out).abs()
    at = int((change / bound).argmax())
    return Centering(
        float(change.flatten()[at]),
        float(bound.flatten()[at]),
        float((off_queries - plain.out).abs().max()),
        float(plain.out.abs().max()),
    )


def _hypotheses(svr: SvrFit | None, singular: RightSingular | None, energy: Energy) -> tuple[Hypothesis, ...]:
    """The claims whose hypotheses were measured."""
    found = []
    if svr is not None:
        found.append(
            Hypothesis(
                "nguyen2023/prose-converse",
                "no two keys are equal (for the converse direction)",
                svr.repeated_keys == 0,
                svr.repeated_keys,
                "keys that repeat an earlier one",
            )
        )
        if svr.log_excess is not None:
            inside = None if abs(svr.log_excess) <= svr.log_c_star_error else svr.log_excess < 0
            found.append(
                Hypothesis(
                    "nguyen2023/prose-converse",
                    "C is at least the largest |h(k_j) v_j(d)|",
                    inside,
                    svr.log_excess,
                    "log of the largest |h v| over C",
                )
            )
    if singular is not None:
        away = any(s > e for s, e in zip(singular.sines, singular.sine_errors, strict=True))
        found.append(
            Hypothesis(
                "chen2023/rem3.4",
                "every value column is a right singular vector of A",
                False if away else None,
                max(singular.sines),
                "largest sine of an angle",
            )
        )
        crooked = singular.cosine > singular.cosine_error
        found.append(
            Hypothesis(
                "chen2023/rem3.4",
                "the value columns are orthogonal",
                False if crooked else None,
                singular.cosine,
                "largest cosine between two columns",
            )
        )
        found.append(
            Hypothesis(
                "chen2023/lem4.2",
                "the KSVD objective vanishes with H_r = V",
                False if away else None,
                singular.objective_relative,
                "J relative, tan² of an angle",
            )
        )
    signs = False if energy.negative else None if energy.undetermined else True
    found.append(
        Hypothesis(
            "farooq2025/prose-polynomial-minimum",
            "every c_j is non-negative",
            signs,
            energy.negative,
            "number of negative c_j",
        )
    )
    found.append(
        Hypothesis(
            "farooq2025/prose-polynomial-minimum",
            "the quadratic energy has one minimiser only",
            energy.unique,
            energy.dimension_at_least,
            "dimension of the minimisers, at least",
        )
    )
    return tuple(found)


def _floats(x: torch.Tensor) -> tuple[float, ...]:
    return tuple(float(each) for each in x)


def bytes_needed(queries: int, tokens: int, width: int, value_width: int, settings: Settings) -> int:
    """Memory that measuring one head takes at most, beside the tensors of the file, estimated from its sizes.

    Counted in float64 numbers: tensors and results of width d or d_v per token, the Krylov basis and its
    image, and blocks of rows or tiles. A test compares it with the measured peak.
    """
    m, n, w = max(queries, tokens), tokens, value_width
    krylov = 0 if max(m, n) <= 1024 else 4 * n * settings.block * settings.steps
    return 8 * (12 * m * (width + w) + 10 * m * w + krylov) + (160 << 20)
