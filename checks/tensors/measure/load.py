"""A user's queries, keys and values from a file: .npz, .safetensors or .pt, of one or many layers and heads.

Names. `q`, `k`, `v` (also query/queries, key/keys, value/values, in any case), alone or behind a prefix that
ends in `.`, `/` or `_`, as in `3.q`, `layers.3.q`, `layer3_head5_q`. A prefix holds one layer. Shapes. (N,
d): one head, whose number is the number at the end of the prefix if there is one (`layer.head.q`); (heads, N,
d): one layer; (layers, heads, N, d). The three tensors of a prefix have the same number of dimensions. Keys
and values may have fewer heads than queries (grouped queries): query head h then uses key head h // (query
heads / key heads). An optional number `scale` behind the same prefix is the factor on q·k. All other names
are ignored.

Nothing in a file is executed: .npz is read without pickle, .pt with weights_only. Shapes are known before any
data is read, so that a file that does not fit memory is refused first.
"""

from __future__ import annotations

import lzma
import math
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from pickle import UnpicklingError
from tokenize import TokenError
from typing import Any

import numpy as np
import torch

from checks.tensors.core.errors import TensorError

_DAMAGE = (
    *(
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        RuntimeError,
    ),  # RuntimeError: encrypted
    *(KeyError, ValueError, TypeError, EOFError, OSError, struct.error, UnicodeError, OverflowError),
    *(TokenError, MemoryError),  # a header that nests without end
)
"""What reading a damaged, encrypted or strangely compressed archive raises."""
_DEEPEST, _MOST = 32, 100_000
"""Levels and entries of nested dictionaries and lists that are looked through."""
SUFFIXES = (".npz", ".safetensors", ".pt", ".pth")
LAYOUT = "q, k and v, alone or as PREFIX.q, of shape (N, d), (heads, N, d) or (layers, heads, N, d)"
_ROLE = re.compile(r"(?:(.*)[./_])?(q|query|queries|k|keys?|v|values?|scale)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Stored:
    """A tensor of a file, not yet read."""

    shape: tuple[int, ...]
    dtype: str
    itemsize: int
    read: Callable[[], torch.Tensor]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.itemsize


@dataclass(frozen=True)
class Head:
    """One head: q (M, d), k (N, d), v (N, d_v) in the dtype of the file; scale None is 1/sqrt(d)."""

    layer: str
    number: int
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    scale: float | None = None
    mask: str | None = None

    @property
    def name(self) -> str:
        return f"{self.layer}.{self.number}"


@dataclass(frozen=True)
class Layer:
    """The three tensors behind one prefix, with shapes that agree."""

    prefix: str
    q: Stored
    k: Stored
    v: Stored
    scale: Stored | None

    @property
    def bytes(self) -> int:
        return self.q.bytes + self.k.bytes + self.v.bytes

    def names(self) -> list[tuple[str, int, tuple[int, ...]]]:
        """(layer, head, index into the leading dimensions of the queries) of each head."""
        lead = self.q.shape[:-2]
        if not lead:
            found = re.fullmatch(r"(?:(.+)[./_])?(?:head[._]?)?(\d{1,18})", self.prefix, re.DOTALL)
            return [(found[1] or "0", int(found[2]), ())] if found else [(self.prefix or "0", 0, ())]
        if len(lead) == 1:
            return [(self.prefix or "0", h, (h,)) for h in range(lead[0])]
        start = f"{self.prefix}." if self.prefix else ""
        return [(f"{start}{i}", h, (i, h)) for i in range(lead[0]) for h in range(lead[1])]

    def heads(self, wanted: set[str] | None = None) -> Iterator[Head]:
        """The heads one after the other; the tensors are read once."""
        chosen = [n for n in self.names() if wanted is None or f"{n[0]}.{n[1]}" in wanted]
        if not chosen:
            return
        q, k, v = (stored.read() for stored in (self.q, self.k, self.v))
        scale = None if self.scale is None else float(self.scale.read())
        share = self.q.shape[-3] // self.k.shape[-3] if q.ndim > 2 else 1
        for layer, number, index in chosen:
            source = (*index[:-1], index[-1] // share) if index else ()
            yield Head(layer, number, q[index], k[source], v[source], scale)


def read_layers(path: Path) -> list[Layer]:
    """What a file holds, without its data. Raises TensorError for a file that cannot be used."""
    if len(str(path)) > 4096 or len(path.name.encode("utf-8", "replace")) > 255:
        raise TensorError(f"no file {str(path)[:60]}…: the name is too long")
    if path.suffix.lower() not in SUFFIXES:
        raise TensorError(f"{path} is not one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise TensorError(f"no file {path}")
    reader = {".npz": _npz, ".safetensors": _safetensors}.get(path.suffix.lower(), _torch)
    try:
        stored = reader(path)
    except OSError as error:
        raise TensorError(f"{path} cannot be read: {error.strerror or error}") from None
    return group(stored, str(path))


def group(stored: dict[str, Stored], source: str) -> list[Layer]:
    """The stored tensors by prefix, in the order of their numbers. Raises TensorError where q, k, v miss."""
    found: dict[str, dict[str, Stored]] = {}
    for name, tensor in stored.items():
        match = _ROLE.fullmatch(name)
        if match is None:
            continue
        prefix, role = match[1] or "", match[2].lower()
        role = role if role == "scale" else role[0]
        if role in found.setdefault(prefix, {}):
            raise TensorError(f"{source} has two names for {role} behind prefix '{prefix}'")
        found[prefix][role] = tensor
    found = {prefix: roles for prefix, roles in found.items() if set(roles) != {"scale"}}
    if not found:
        names = ", ".join(sorted(stored)[:6]) or "none"
        raise TensorError(f"{source} has no q, k, v (names in it: {names}); needed: {LAYOUT}")
    layers = [_layer(prefix, found[prefix], source) for prefix in sorted(found, key=_numbers)]
    _require_one_name_each(layers, source)
    return layers


def _require_one_name_each(layers: list[Layer], source: str) -> None:
    """Raises TensorError for two heads of one name, as of prefixes '' and '0': one would hide the other."""
    prefixes: dict[str, str] = {}
    for each in layers:
        for layer, number, _ in each.names():
            other = prefixes.setdefault(f"{layer}.{number}", each.prefix)
            if other != each.prefix:
                raise TensorError(
                    f"{source}: prefixes '{other}' and '{each.prefix}' both have a head {layer}.{number}; "
                    "rename one"
                )


def _numbers(prefix: str) -> list[Any]:
    """Sort key under which layer 10 follows layer 9, whatever signs and however many digits a name has."""
    parts = re.split(r"([0-9]+)", prefix)
    return [(len(part.lstrip("0")), part) if n % 2 else part for n, part in enumerate(parts)]


def _layer(prefix: str, roles: dict[str, Stored], source: str) -> Layer:
    where = f"{source}, prefix '{prefix}'" if prefix else source
    missing = [role for role in "qkv" if role not in roles]
    if missing:
        raise TensorError(
            f"{where} has {', '.join(r for r in roles if r != 'scale')} but no "
            f"{', '.join(missing)}; needed: {LAYOUT}"
        )
    q, k, v = (roles[role].shape for role in "qkv")
    shapes = f"{where}: q {q}, k {k}, v {v}"
    if len(q) not in (2, 3, 4) or len(k) != len(q) or len(v) != len(q) or 0 in (*q, *k, *v):
        raise TensorError(f"{shapes}; needed: {LAYOUT}")
    for role in "qkv":
        if "float" not in roles[role].dtype:
            raise TensorError(f"{where}: {role} is {roles[role].dtype}; floating-point numbers are needed")
    if q[-1] != k[-1]:
        raise TensorError(f"{shapes}: queries and keys must have the same width")
    if k[:-1] != v[:-1]:
        raise TensorError(f"{shapes}: keys and values must have the same layers, heads and tokens")
    if q[:-3] != k[:-3] or (len(q) > 2 and q[-3] % k[-3]):
        raise TensorError(f"{shapes}: layers must agree, and the heads of k must divide those of q")
    if "scale" in roles and (
        math.prod(roles["scale"].shape) != 1 or not re.match("u?int|float|bfloat", roles["scale"].dtype)
    ):
        what = f"shape {roles['scale'].shape} and type {roles['scale'].dtype}"
        raise TensorError(f"{where}: scale has {what}; one number is needed")
    return Layer(prefix, roles["q"], roles["k"], roles["v"], roles.get("scale"))


def _npz(path: Path) -> dict[str, Stored]:
    """The members of an .npz by their headers alone."""
    found = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                member = entry.filename
                with archive.open(entry) as file:
                    version = np.lib.format.read_magic(file)
                    header = {
                        (1, 0): np.lib.format.read_array_header_1_0,
                        (2, 0): np.lib.format.read_array_header_2_0,
                    }[version]
                    shape, _, dtype = header(file)
                    rest = entry.file_size - file.tell()
                name = member.removesuffix(".npy")
                if name in found:
                    raise TensorError(f"{path} has two arrays named {name}")
                if dtype.hasobject:
                    raise TensorError(
                        f"{path}: {name} holds pickled Python objects, which could run code; "
                        "plain arrays are needed"
                    )
                # which bounds the numbers of a shape, too: a file can say any
                if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != rest:
                    raise TensorError(f"{path}: {name} cannot be read: its shape is not that of its bytes")
                found[name] = Stored(
                    tuple(shape), dtype.name, dtype.itemsize, partial(_npz_member, path, name)
                )
    except _DAMAGE as error:
        if isinstance(error, TensorError):
            raise
        raise TensorError(f"{path} is not a readable .npz file: {_line(error)}") from None
    return found


@lru_cache(maxsize=1)
def _open_npz(path: Path, changed: int, size: int) -> Any:
    """The file, kept open as long as it stays as it is: its list of members may be long."""
    return np.load(path, allow_pickle=False)


def _npz_member(path: Path, name: str) -> torch.Tensor:
    try:
        now = path.stat()
        array = _open_npz(path, now.st_mtime_ns, now.st_size)[name]
        return torch.from_numpy(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)))
    except _DAMAGE as error:
        raise TensorError(f"{path}: {name} cannot be read: {_line(error)}") from None


def _safetensors(path: Path) -> dict[str, Stored]:
    """Raises TensorError also if the optional package is missing."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise TensorError(
            "reading .safetensors needs the package safetensors, which is not installed; "
            "pip install safetensors, or save the tensors as .npz"
        ) from None

    def read(name: str) -> torch.Tensor:
        with safe_open(path, "pt") as file:
            return file.get_tensor(name)

    dtypes = {"F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2)}
    found = {}
    try:
        with safe_open(path, "pt") as file:
            for name in file.keys():
                part = file.get_slice(name)
                dtype, size = dtypes.get(part.get_dtype(), (part.get_dtype(), 8))
                found[name] = Stored(tuple(part.get_shape()), dtype, size, partial(read, name))
    except SafetensorError as error:
        raise TensorError(f"{path} is not a readable .safetensors file: {_line(error)}") from None
    return found


def _torch(path: Path) -> dict[str, Stored]:
    """Tensors of a .pt file by dotted names; dictionaries and lists may nest. Mapped, not read, where
    possible.
    """
    _require_sums(path)
    try:
        with warnings.catch_warnings():  # torch's advice on old formats is not for the user of a measurement
            warnings.simplefilter("ignore")
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except UnpicklingError:
        raise TensorError(
            f"{path} holds more than tensors: loading it could run code, so it is refused; save a "
            "dictionary of tensors"
        ) from None
    except (RuntimeError, ValueError, EOFError, KeyError, AttributeError, IndexError, TypeError) as error:
        raise TensorError(f"{path} is not a readable .pt file: {_line(error)}") from None
    return _named(content, path)


def _require_sums(path: Path) -> None:
    """torch does not look at the sums of its archives. Raises TensorError where one is not that of the
    bytes.
    """
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            packed = [m.filename for m in archive.infolist() if m.compress_type != zipfile.ZIP_STORED]
            damaged = archive.testzip() if not packed else None
    except _DAMAGE as error:
        raise TensorError(f"{path} is not a readable .pt file: {_line(error)}") from None
    if packed:  # torch packs nothing: a small file that unpacks to a large one is no work of its own
        raise TensorError(f"{path} is not a readable .pt file: {packed[0]} is compressed")
    if damaged is not None:
        raise TensorError(f"{path} is damaged: the bytes of {damaged} are not those that were written")


def _named(content: Any, path: Path) -> dict[str, Stored]:
    """The tensors inside by dotted names. Raises TensorError for what nests too deep, as what contains
    itself.
    """
    found: dict[str, Stored] = {}
    waiting: list[tuple[str, Any, int]] = [("", content, 0)]
    seen = 0
    while waiting:
        name, value, depth = waiting.pop()
        if isinstance(value, torch.Tensor):
            if value.layout is torch.strided and not (value.is_quantized or value.is_meta or value.is_nested):
                dtype = str(value.dtype).removeprefix("torch.")
                found[name] = Stored(
                    tuple(value.shape), dtype, value.element_size(), partial(torch.Tensor.detach, value)
                )
        elif isinstance(value, dict | list | tuple):
            seen += len(value)
            if depth >= _DEEPEST or seen > _MOST:
                raise TensorError(
                    f"{path} holds more than {_DEEPEST} levels or {_MOST} entries, or contains itself"
                )
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(f"{name}.{key}" if name else str(key), inner, depth + 1) for key, inner in pairs]
    return found


def _line(error: BaseException) -> str:
    """The first line of an error, without a trace or advice."""
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
