"""``python -m tests.checks.tensors.pretend_device FILE [LEG …]``: the tensor checks on a device that is not there.

Its tensors compute on the CPU, say that they are elsewhere, and are refused beside the CPU's as CUDA refuses
them: what would end a run on a GPU ends here as well. Prints each failure; 0 where there is none.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from checks.run import scale
from checks.tensors.core import arrays, distributed, fused, inputs

_setup_privateuseone_for_python_backend("pretend")
DEVICE = torch.device("pretend:0")
TOKENS = 64
aten = torch.ops.aten
COPIES = {aten.copy_.default, aten._to_copy.default}
INDEXED = {
    aten.index.Tensor,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}  # by the CPU's indices too
NOT_DETERMINISTIC = {aten.histc.default, aten.put_.default, aten.median.dim, aten.kthvalue.default}


class There(torch.Tensor):
    """A tensor of the device; its numbers lie in ``here``."""

    here: torch.Tensor

    @staticmethod
    def __new__(cls, here: torch.Tensor) -> There:
        layout = {"strides": here.stride(), "storage_offset": here.storage_offset()}
        made = torch.Tensor._make_wrapper_subclass(
            cls, here.size(), dtype=here.dtype, device=DEVICE, **layout
        )
        made.here = here
        return made

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(op, args, kwargs or {})


def run(op: Any, args: Any, kwargs: Any) -> Any:
    """An operation, on the device where one of its tensors or the result is. Raises RuntimeError as CUDA does."""
    there = [x for x in tree_leaves((args, kwargs)) if isinstance(x, There)]
    target = kwargs.get("device")
    if not there and (target is None or torch.device(target) != DEVICE):
        return op(*args, **kwargs)
    if op in NOT_DETERMINISTIC:
        raise RuntimeError(f"{op} does not have a deterministic implementation")
    if there and op not in COPIES:
        _require_one_device(op, args[:1] if op in INDEXED else (args, kwargs))
    moved = {"device": torch.device("cpu")} if target is not None else {}
    bare_args, bare_kwargs = tree_map_only(There, lambda x: x.here, (args, {**kwargs, **moved}))
    out = op(*bare_args, **bare_kwargs)
    if op is aten.copy_.default:
        return args[0]
    if target is not None and torch.device(target) != DEVICE:
        return out
    written = {id(x.here): x for x in there}  # what an operation in place gives back
    return tree_map_only(torch.Tensor, lambda x: written[id(x)] if id(x) in written else There(x), out)


def _require_one_device(op: Any, operands: Any) -> None:
    """Scalars may be the CPU's."""
    if any(
        isinstance(x, torch.Tensor) and not isinstance(x, There) and x.dim() for x in tree_leaves(operands)
    ):
        raise RuntimeError(f"Expected all tensors to be on the same device: {op}")


class Operations(TorchDispatchMode):
    """Sees the operations that make tensors of the device from none."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(op, args, kwargs or {})


class Functions(TorchFunctionMode):
    """What torch does below its dispatcher: tensors from Python's numbers, and back."""

    def __torch_function__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if call in (torch.tensor, torch.as_tensor) and not isinstance(args[0], torch.Tensor):
            device = kwargs.pop("device", None)
            return call(*args, **kwargs).to(device or "cpu")
        if call is torch.Tensor.new_tensor:
            return torch.tensor(args[1], dtype=kwargs.get("dtype", args[0].dtype)).to(args[0].device)
        if call is torch.Tensor.tolist and isinstance(args[0], There):
            return args[0].here.tolist()
        return call(*args, **kwargs)


def main(file: Path, legs: list[str]) -> int:
    """As `scale.main` in float64, where the device is taken for one of this machine."""
    for module in (arrays, distributed, inputs, scale):
        vars(module)["resolve_device"] = torch.device
    vars(fused)["_forced"] = lambda backend, *heads: fused._by_rows(*heads)  # no fused kernel is pretended
    for name in ("require_memory", "_reset_peak", "_peak"):
        vars(scale)[name] = lambda *_: 0
    chosen = ["--legs", *legs] if legs else []
    with Functions(), Operations():
        options = ["--device", str(DEVICE), "--dtypes", "float64", "--max-tokens", str(TOKENS), "--no-rates"]
        return scale.main(["--out", str(file), *options, *chosen])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
