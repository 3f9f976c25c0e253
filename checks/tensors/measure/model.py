"""Queries, keys and values as a model's layers make them, caught on their way into torch's attention.

Every call of `torch.nn.functional.scaled_dot_product_attention` inside `capture()` is recorded, in order,
which is the order of the layers. That is after rotary embeddings and normalisation of queries and keys,
whichever model it is: Hugging Face transformers loaded with attn_implementation="sdpa" (their default) and
plain torch models alike. Nothing in the model is changed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from checks.tensors.core.errors import TensorError
from checks.tensors.measure.load import Head

_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
_DEFAULTS = {"attn_mask": None, "is_causal": False, "scale": None}


@dataclass
class Captured:
    """Heads of all calls so far; `layers` is the number of calls."""

    heads: list[Head] = field(default_factory=list)
    layers: int = 0

    def add(self, given: dict[str, Any]) -> None:
        """The heads of one call: query (..., heads, M, d) with leading dimensions of size 1.

        Raises TensorError for a batch of several texts and a mask that is neither full nor causal.
        """
        q, k, v = (given[name].detach() for name in ("query", "key", "value"))
        where = f"layer {self.layers}"
        if q.shape[:-3].numel() != 1 or k.shape[:-3].numel() != 1:
            raise TensorError(
                f"{where} attends over a batch of {q.shape[:-3].numel()}; measure one text at a time"
            )
        q, k, v = (x.reshape(-1, *x.shape[-2:]).cpu().clone() for x in (q, k, v))
        mask = _mask(given["attn_mask"], given["is_causal"], q.shape[-2], k.shape[-2], where)
        if mask == "causal" and q.shape[-2] != k.shape[-2]:
            raise TensorError(
                f"{where} has a causal mask over {q.shape[-2]} queries and {k.shape[-2]} keys; as many of "
                "both are needed"
            )
        share, rest = divmod(len(q), len(k))
        if rest:
            raise TensorError(f"{where} has {len(q)} query heads for {len(k)} key heads")
        self.heads += [
            Head(str(self.layers), h, q[h], k[h // share], v[h // share], given["scale"], mask)
            for h in range(len(q))
        ]
        self.layers += 1


def _mask(attn_mask: torch.Tensor | None, causal: bool, m: int, n: int, where: str) -> str | None:
    """None or "causal". A mask is a rule on pairs here, so a tensor must be one of the two, for every
    head.
    """
    if attn_mask is None:
        # as torch has it, one query sees the first key only; a sole key is all that there is
        return "causal" if causal and n > 1 else None
    # additive masks block with -inf or the lowest number of their dtype, in float16 about -65504
    allowed = attn_mask if attn_mask.dtype == torch.bool else attn_mask > -1e4
    if attn_mask.dtype != torch.bool and bool((attn_mask[allowed] != 0).any()):
        raise TensorError(f"{where} adds a bias to its scores; only plain and causal softmax can be measured")
    if bool(allowed.all()):
        return None
    square = torch.ones(m, n, dtype=torch.bool, device=attn_mask.device).tril(n - m)
    if m == n and bool((allowed == square).all()):
        return "causal"
    raise TensorError(
        f"{where} uses a mask that is neither full nor causal (padding or a window); measure a text "
        "without padding that is shorter than the window"
    )


class _Recorder(TorchFunctionMode):
    def __init__(self, captured: Captured) -> None:
        super().__init__()
        self.captured = captured

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is scaled_dot_product_attention:
            self.captured.add({**_DEFAULTS, **dict(zip(_NAMES, args, strict=False)), **kwargs})
        return function(*args, **kwargs)


@contextmanager
def capture() -> Iterator[Captured]:
    """Records the attention calls made inside; in eval mode and without gradients, since dropout would
    differ.
    """
    captured = Captured()
    with torch.no_grad(), _Recorder(captured):
        yield captured


def described(config: Any, captured: Captured) -> dict[str, Any]:
    """What of a model's attention is taken from its configuration and its calls, for the user to see."""
    first = captured.heads[: len([h for h in captured.heads if h.layer == captured.heads[0].layer])]
    rotary = any(
        getattr(config, name, None)
        for name in ("rope_theta", "rope_parameters", "rope_scaling", "rotary_pct")
    )
    return {
        "layers": captured.layers,
        "query_heads": len(first),
        "key_heads": getattr(config, "num_key_value_heads", None) or len(first),
        "mask": "causal" if first[0].mask else "none",
        "positions": "rotary, in q and k as measured" if rotary else "not in the scores",
    }


def run_model(model: torch.nn.Module, tokens: torch.Tensor) -> Captured:
    """The heads of a model on one text: tokens (1, N) of dtype long.

    Raises TensorError if the model never calls torch's attention.
    """
    model.eval()
    # a cache of keys and values would only cost memory; not every model has the argument
    accepts = inspect.signature(model.forward).parameters
    with capture() as captured:
        model(tokens, **({"use_cache": False} if "use_cache" in accepts else {}))
    if not captured.heads:
        raise TensorError(
            "this model made no call of scaled_dot_product_attention, so there is nothing to "
            "measure; load it with attn_implementation='sdpa'"
        )
    return captured
