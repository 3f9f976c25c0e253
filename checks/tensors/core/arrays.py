"""What the tensor engines accept: dtypes, devices, shapes, block heights; one clear line where they do not.

Nothing falls back silently: a device or dtype that cannot be used is an error, never a substitute.
"""

from __future__ import annotations

import math
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from checks.tensors.core.errors import TensorError

# No tensor of this many rows by as many columns, or more entries than that, is ever formed.
DENSE_LIMIT = 8192

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}


def resolve_dtype(dtype: str | torch.dtype) -> torch.dtype:
    """The torch dtype of this name. Raises TensorError for anything but float64, float32 and bfloat16."""
    found = DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if found is None or found not in DTYPES.values():
        raise TensorError(f"unknown dtype {dtype!s}; allowed: {', '.join(DTYPES)}")
    return found


def dtype_name(dtype: torch.dtype) -> str:
    """The name of a dtype as the ledger writes it, for example `float32`."""
    return str(dtype).removeprefix("torch.")


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype that sums are accumulated in: float32 for bfloat16 inputs, else the dtype itself."""
    return torch.float32 if dtype == torch.bfloat16 else dtype


def resolve_device(device: str | torch.device) -> torch.device:
    """The torch device of this name. Raises TensorError if it is unknown or not on this machine."""
    try:
        found = torch.device(device)
    except RuntimeError:
        raise TensorError(f"unknown device {device!s}; allowed: cpu, cuda, cuda:INDEX") from None
    if found.type not in ("cpu", "cuda"):
        raise TensorError(f"unsupported device {device!s}; allowed: cpu, cuda, cuda:INDEX")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise TensorError(
            f"device {device!s} is not available: this machine has {torch.cuda.device_count()} CUDA devices"
        )
    return found


def prepare(
    dtype: str | torch.dtype | None, device: str | torch.device | None, **tensors: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """The named tensors, checked, rounded to `dtype` and moved to `device` (None: as the first has them).

    Each is (..., tokens, width) with the same leading dimensions. Results carry no gradient: the engines
    write in place.
    Raises TensorError for a wrong type, too few dimensions, unequal leading dimensions, NaN or infinity.
    """
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TensorError(f"{name} is a {type(tensor).__name__}; a torch tensor is needed")
    first = next(iter(tensors.values()))
    target_dtype = resolve_dtype(first.dtype if dtype is None else dtype)
    target_device = resolve_device(first.device if device is None else device)
    for name, tensor in tensors.items():
        resolve_dtype(tensor.dtype)
        if tensor.ndim < 2 or 0 in tensor.shape:
            raise TensorError(
                f"{name} has shape {tuple(tensor.shape)}; (..., tokens, width) without an "
                "empty dimension is needed"
            )
        if tensor.shape[:-2] != first.shape[:-2]:
            raise TensorError(
                f"{name} has leading dimensions {tuple(tensor.shape[:-2])}, not "
                f"{tuple(first.shape[:-2])}; batch and heads must agree"
            )
        if not _finite(tensor):
            raise TensorError(f"{name} contains NaN or infinity; finite entries are needed")
    moved = tuple(tensor.detach().to(device=target_device, dtype=target_dtype) for tensor in tensors.values())
    for name, tensor in zip(tensors, moved, strict=True):
        if target_dtype != tensors[name].dtype and not _finite(tensor):
            raise TensorError(f"{name} overflows {dtype_name(target_dtype)}; use a wider dtype")
    return moved


def _finite(tensor: torch.Tensor) -> bool:
    """Whether all entries are finite; the extremes carry a NaN, and finding them needs no second tensor."""
    low, high = torch.aminmax(tensor)
    return math.isfinite(low) and math.isfinite(high)


def check_attention_shapes(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Raises TensorError unless q is (..., M, d), k (..., N, d) and v (..., N, d_v)."""
    if q.shape[-1] != k.shape[-1]:
        raise TensorError(f"queries are {q.shape[-1]} wide and keys {k.shape[-1]}; the widths must be equal")
    if k.shape[-2] != v.shape[-2]:
        raise TensorError(f"there are {k.shape[-2]} keys and {v.shape[-2]} values; the numbers must be equal")


def check_one_head(q: torch.Tensor, k: torch.Tensor) -> None:
    """Raises TensorError unless q and k are (N, d) each."""
    if q.ndim != 2 or len(q) != len(k):
        raise TensorError(
            f"q has shape {tuple(q.shape)} and k {tuple(k.shape)}; one head of as many queries as keys is "
            "needed"
        )


def resolve_scale(scale: float | None, width: int) -> float:
    """The factor on q·k: 1/sqrt(width) for None. Raises TensorError if it is not finite."""
    if scale is None:
        return 1 / math.sqrt(width)
    if not math.isfinite(scale):
        raise TensorError(f"scale is {scale}; a finite number is needed")
    return float(scale)


def chunk_rows(n: int, budget_bytes: int = 1 << 26, itemsize: int = 8) -> int:
    """Height of a block of full rows, n entries of `itemsize` bytes each, that fits in `budget_bytes`.

    At least 1, at most n, and never so high that a block has more than 8192 x 8192 entries.
    Raises TensorError if n, the budget or the item size is not positive.
    """
    if min(n, budget_bytes, itemsize) < 1:
        raise TensorError(
            f"rows of {n} entries of {itemsize} bytes in {budget_bytes} bytes: all three must be positive"
        )
    height = min(n, max(1, budget_bytes // (n * itemsize)), max(1, DENSE_LIMIT**2 // n))
    assert height * n <= max(DENSE_LIMIT**2, n), "a block would be a dense N x N matrix"
    return height


def slices(n: int, height: int) -> Iterator[slice]:
    """Consecutive slices of at most `height` that cover range(n)."""
    return (slice(start, min(start + height, n)) for start in range(0, n, height))


@contextmanager
def exact_matmul(allow_tf32: bool = False) -> Iterator[None]:
    """Matrix products in the full precision of their dtype (no TF32, no bfloat16 split), unless asked for."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allow_tf32 else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def peak_bytes(device: torch.device) -> int:
    """Largest memory so far, in bytes: of the allocator on CUDA, of the whole process elsewhere."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
