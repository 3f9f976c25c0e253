"""``attest measure``: what the theorems say of the heads in a user's file or model, as table, JSON or
plot.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from logging import getLogger
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.table import Table

from checks.commands.console import ERR, OUT, literal, print_json, progress_bar, signs_of_life
from checks.commands.options import require_seed
from checks.evidence import MEASURED, sealed
from checks.run.store import read_bounded, write_bytes
from checks.tensors.core.errors import TensorError
from checks.tensors.measure.picture import draw
from checks.tensors.measure.quantities import QUANTITIES, Heads, changes, sentences, stored_heads

if TYPE_CHECKING:
    from checks.tensors.measure.head import Measurement, Settings
    from checks.tensors.measure.load import Head

GIB = 2**30
PLOTS = (".png", ".svg", ".pdf")
MOST_LAYERS = 1_000
"""Beyond these a model takes minutes to be made, before it is seen that there are no weights for them."""
LONGEST_TEXT = 2**21
"""Bytes of the largest text: a tokenizer takes half a thousand bytes of memory for each token."""


def arguments(p: argparse.ArgumentParser) -> None:
    """Adds the file or model and the options of the measures."""
    p.description = (
        "Measures heads from FILE (.npz, .safetensors, .pt; names q, k, v or PREFIX.q, shapes (N, d), "
        "(heads, N, d) or (layers, heads, N, d)), or of a Hugging Face model run on a text."
    )
    p.add_argument("file", nargs="?", type=Path, metavar="FILE")
    p.add_argument(
        "--model", metavar="PATH_OR_ID", help="a Hugging Face model, instead of FILE; needs --text"
    )
    p.add_argument("--text", type=Path, metavar="FILE", help="the text that the model reads, in UTF-8")
    box = p.add_mutually_exclusive_group()
    box.add_argument("--C", type=float, help="judge the box |h(k_j) v_j| <= C of the regression")
    box.add_argument("--log-C", type=float, help="the same, given the logarithm of C")
    p.add_argument("--epsilon", type=float, default=0.1, help="of the regression (default 0.1)")
    p.add_argument("--mask", choices=("none", "causal"), help="of a file's heads (default none)")
    p.add_argument("--scale", type=float, help="factor on q·k (default: the file's scale, else 1/sqrt(d))")
    p.add_argument("--tokens", type=int, help="use only so many tokens, the first if --window says no other")
    p.add_argument(
        "--window", type=int, default=1, help="which stretch of so many tokens (default 1, the first)"
    )
    p.add_argument("--head", action="append", metavar="LAYER.HEAD", help="only this head; may be repeated")
    p.add_argument("--top", type=int, help="print so many singular values (16 are kept in the JSON)")
    p.add_argument("--steps", type=int, default=12, help="of block Krylov, beyond 1024 tokens (default 12)")
    p.add_argument("--seed", type=int, default=0, help="of block Krylov (default 0)")
    p.add_argument("--device", default="cpu", help="cpu, cuda, cuda:0, … (default cpu)")
    p.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="the --json of an earlier run: say what has changed since",
    )
    p.add_argument(
        "--max-memory", type=float, metavar="GIB", help="refuse what needs more (default: what is free)"
    )
    p.add_argument(
        "--json", action="store_true", help="every measure as JSON on standard output, not a table"
    )
    p.add_argument(
        "--plot", type=Path, metavar="FILE", help=f"a picture ({', '.join(PLOTS)}); needs matplotlib"
    )


def run(a: argparse.Namespace) -> int:
    """Measures and prints; 0. Raises TensorError, one line, for unusable input."""
    settings = _settings(a)
    before = _earlier(a.against) if a.against is not None else None
    pyplot = _pyplot(a.plot) if a.plot is not None else None
    heads, total, source, model = _heads(a, settings)
    found = _measured(heads, total, settings)
    kept = {m.name: m.to_json() for m in found}
    changed = changes(before, kept) if before is not None else None
    if a.plot is not None:
        _write_picture(a.plot, draw(pyplot, kept, a.plot.suffix.lower()[1:]))
    if a.json:
        whole: dict[str, Any] = {"source": source, "about": _about(a.device), "model": model}
        whole |= {"changes": changed, "heads": [_finite(head) for head in kept.values()]}
        print_json(json.dumps(sealed(MEASURED, whole), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _tables(found, kept, a.top)
        if changed is not None:
            _changes(changed)
    return 0


def _about(device: str) -> dict[str, Any]:
    """What the measures were made with and on."""
    import torch

    from checks.run.scale import about

    return about(torch.device(device), 1)


def _settings(a: argparse.Namespace) -> Settings:
    """The checked options. Raises TensorError for a value out of range."""
    from checks.tensors.core.arrays import resolve_device
    from checks.tensors.measure.head import Settings

    top = 16 if a.top is None else a.top
    if (a.file is None) == (a.model is None):
        raise TensorError("give either FILE or --model, and not both")
    if (a.model is None) != (a.text is None):
        raise TensorError("--model and --text belong together")
    if a.model is not None and a.mask is not None:
        raise TensorError("--mask is for the heads of a file; a model has masks of its own")
    if not 0 <= a.epsilon < math.inf:
        raise TensorError(f"--epsilon {a.epsilon} is out of range; a finite number of at least 0 is needed")
    if a.C is not None and not (0 < a.C < math.inf):
        raise TensorError(f"--C {a.C} is out of range; a positive number is needed (--log-C for large ones)")
    if a.log_C is not None and not math.isfinite(a.log_C):
        raise TensorError(f"--log-C {a.log_C} is out of range; a finite number is needed")
    for name, value, low in (
        ("--tokens", a.tokens, 2),
        ("--top", top, 1),
        ("--steps", a.steps, 1),
        ("--window", a.window, 1),
    ):
        if value is not None and value < low:
            raise TensorError(f"{name} {value} is out of range; at least {low} is needed")
    require_seed(a.seed)
    if a.window > 1 and a.tokens is None and a.model is None:
        raise TensorError(f"--window {a.window} needs --tokens, which says how long a window is")
    if a.max_memory is not None and not 0 < a.max_memory < 2**30:
        raise TensorError(f"--max-memory {a.max_memory} is out of range; GiB, a positive number, is needed")
    if a.scale is not None and not math.isfinite(a.scale):
        raise TensorError(f"--scale {a.scale} is out of range; a finite number is needed")
    log_c = math.log(a.C) if a.C is not None else a.log_C
    resolve_device(a.device)
    mask = None if a.mask in (None, "none") else a.mask
    return Settings(
        log_c, a.epsilon, top, steps=a.steps, seed=a.seed, mask=mask, scale=a.scale, device=a.device
    )


def _earlier(path: Path) -> Heads:
    """The heads of an earlier run. Raises TensorError."""
    if not path.is_file():
        raise TensorError(f"no file {path}")
    try:
        content = read_bounded(path, 2**28)  # a head takes a few thousand bytes
    except OSError as error:
        raise TensorError(f"{path} cannot be read: {error.strerror}") from None
    return stored_heads(content, str(path))


def _heads(
    a: argparse.Namespace, settings: Settings
) -> tuple[Iterator[Head], int, str, dict[str, Any] | None]:
    """The heads asked for, how many they are, where they come from, and what a model's configuration says of
    them; refuses first what does not fit memory.
    """
    import torch

    from checks.tensors.measure import memory
    from checks.tensors.measure.load import read_layers

    device = torch.device(a.device)
    free = memory.available_bytes(device) if a.max_memory is None else int(a.max_memory * GIB)
    if a.model is not None:
        captured, model = _model_heads(a, settings, free)
        _require_known(a.head, [h.name for h in captured])
        chosen = [h for h in captured if not a.head or h.name in a.head]
        return iter(chosen), len(chosen), f"{a.model} on {a.text}", model
    layers = read_layers(a.file)
    names = [f"{layer}.{number}" for each in layers for layer, number, _ in each.names()]
    _require_known(a.head, names)
    wanted = set(a.head) if a.head else None
    memory.require_fit(layers, a.tokens, settings, free)
    total = sum(wanted is None or name in wanted for name in names)
    heads = (_shortened(head, a.tokens, a.window) for layer in layers for head in layer.heads(wanted))
    return heads, total, str(a.file), None


def _require_known(wanted: list[str] | None, names: list[str]) -> None:
    unknown = [name for name in wanted or [] if name not in names]
    if unknown:
        raise TensorError(
            f"no head {unknown[0]}; there are {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"
        )


def _shortened(head: Head, tokens: int | None, window: int) -> Head:
    """The head on one stretch of its tokens. Raises TensorError for a stretch beyond them."""
    if tokens is None:
        return head
    start = (window - 1) * tokens
    if len(head.k) < start + 2:
        raise TensorError(f"head {head.name} has {len(head.k)} tokens: no window {window} of {tokens}")
    q, k, v = (x[start : start + tokens] for x in (head.q, head.k, head.v))
    return replace(head, q=q, k=k, v=v)


def _measured(heads: Iterator[Head], total: int, settings: Settings) -> list[Measurement]:
    from checks.tensors.measure.head import measure

    found: list[Measurement] = []
    now, started = "", time.monotonic()

    def words() -> str:
        spent = time.monotonic() - started
        left = f", about {spent / len(found) * (total - len(found)):.0f} s left" if found else ""
        return f"measured {len(found)} of {total} heads in {spent:.0f} s{left}; now head {now}"

    with progress_bar() as bar, signs_of_life(words):
        task = bar.add_task("measuring", total=total)
        for head in heads:
            now = head.name
            bar.update(task, description=f"head {now}")
            found.append(measure(head, settings))
            bar.advance(task)
    return found


def _model_heads(a: argparse.Namespace, settings: Settings, free: int) -> tuple[list[Head], dict[str, Any]]:
    """The heads of a Hugging Face model on a text, by hooks on torch's attention, and its configuration."""
    from checks.tensors.measure.head import bytes_needed
    from checks.tensors.measure.memory import require
    from checks.tensors.measure.model import described, run_model

    try:
        text = read_bounded(a.text, LONGEST_TEXT).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TensorError(f"{a.text} cannot be read as UTF-8 text: {_line(error)}") from None
    model, tokens = load_model(a.model, text, a.tokens, a.window)
    config, n = model.config, tokens.shape[1]
    layers, hidden, heads = (
        getattr(config, name, 0) for name in ("num_hidden_layers", "hidden_size", "num_attention_heads")
    )
    width = hidden // heads if heads else 64
    require(
        3 * 4 * layers * hidden * n + bytes_needed(n, n, width, width, settings),
        free,
        f"{a.model} with {layers} layers on {n} tokens",
    )
    try:
        captured = run_model(model, tokens)
    except TensorError:
        raise
    except Exception as error:  # a token that the model has no place for, whatever its code raises
        raise TensorError(f"the model {a.model} cannot be run on {a.text}: {_line(error)}") from None
    found = described(config, captured)
    said = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.items())
    ERR.print(f"taken from the model: {said}", highlight=False, markup=False)
    return captured.heads, found


def load_model(name: str, text: str, most: int | None, window: int = 1) -> tuple[Any, Any]:
    """A Hugging Face model in evaluation mode and the text's tokens (1, N): those of one window, of at most
    `most` tokens and what the model can.

    Raises TensorError if transformers is not installed, the model cannot be loaded, or the text is too short.
    """
    try:
        from transformers import AutoConfig, AutoModel, AutoTokenizer, logging
    except ImportError:
        raise TensorError(
            "--model needs the package transformers, which is not installed; pip install transformers"
        ) from None
    getLogger("huggingface_hub").setLevel("ERROR")  # a name that is no folder: a line for each try
    logging.set_verbosity_error()  # its report of the weights is names from the file between escape codes
    logging.disable_progress_bar()
    try:
        layers = getattr(AutoConfig.from_pretrained(name), "num_hidden_layers", 1)
        if not isinstance(layers, int) or not 0 < layers <= MOST_LAYERS:
            raise ValueError(f"{layers} layers in its configuration; allowed: 1 to {MOST_LAYERS}")
        tokenizer = AutoTokenizer.from_pretrained(name)
        options = {
            "attn_implementation": "sdpa",
            "output_loading_info": True,
            "ignore_mismatched_sizes": True,
        }
        model, loaded = AutoModel.from_pretrained(name, **options)
    except Exception as error:  # of many libraries, each with errors of its own
        raise TensorError(f"the model {name} cannot be loaded: {_line(error)}") from None
    random = sorted(key for key in loaded["missing_keys"] if "pooler" not in key)  # no part of attention
    if random:
        raise TensorError(
            f"the model {name} has no weights for {random[0]} and {len(random) - 1} more; they would be "
            "random"
        )
    if wrong := sorted(key for key, *_ in loaded.get("mismatched_keys", ())):
        raise TensorError(
            f"the model {name} has {wrong[0]} and {len(wrong) - 1} more in other shapes than it is "
            "configured for"
        )
    if spare := sorted(loaded.get("unexpected_keys", ())):
        ERR.print(
            f"not used by this model, as its configuration has it: {spare[0]} and {len(spare) - 1} more",
            highlight=False,
            markup=False,
        )
    longest = [n for n in (most, getattr(model.config, "max_position_embeddings", None)) if n]
    try:
        return model.eval(), _window(tokenizer, text, min(longest, default=None), window)
    except TensorError:
        raise
    except Exception as error:  # a length that the configuration cannot mean, whatever a tokenizer raises
        raise TensorError(f"the tokenizer of {name} cannot read the text: {_line(error)}") from None


def _window(tokenizer: Any, text: str, most: int | None, window: int) -> Any:
    """The tokens (1, N) of one window of a text; says where there are more. Raises TensorError where there
    is no such window.
    """
    import torch

    ids = tokenizer(text)["input_ids"]
    windows = [ids]
    if most is not None and len(ids) > most:  # each with the marks that the model expects at the ends
        found = tokenizer(text, truncation=True, max_length=most, return_overflowing_tokens=True)
        windows = found["input_ids"]
        if not isinstance(windows[0], list):  # a tokenizer that knows the first window only
            windows = [windows]
    if window > len(windows):
        raise TensorError(f"the text has {len(ids)} tokens and no window {window}, but {len(windows)}")
    tokens = torch.tensor([windows[window - 1]])
    if tokens.shape[1] < 2:
        which = f"window {window} of the text" if len(windows) > 1 else "the text"
        raise TensorError(f"{which} has {tokens.shape[1]} tokens; at least 2 are needed")
    if len(ids) > tokens.shape[1]:
        which = "the first" if window == 1 else f"window {window} of {len(windows)},"
        others = f"; --window 2 to {len(windows)} takes another" if len(windows) > 1 else ""
        ERR.print(
            f"the text has {len(ids)} tokens; {which} {tokens.shape[1]} are measured, the most that the "
            f"model or --tokens allows{others}",
            highlight=False,
        )
    return tokens


def _tables(found: list[Measurement], kept: Heads, top: int | None) -> None:
    """One row a head and a column for what differs, what each number means, then one row a hypothesis."""
    boxed = any(m.svr is not None and m.svr.log_c is not None for m in found)
    headings = ["head", "tokens", *(q.name for q in QUANTITIES)]
    if boxed:
        headings[3:3] = ["log C*/C", "outside"]
    rows = [_row(m, boxed) for m in found]
    same = [len(rows) > 1 and len(set(column)) == 1 for column in zip(*rows, strict=True)]
    shown = Table(box=None, pad_edge=False)
    for heading, alike in zip(headings, same, strict=True):
        if not alike:
            shown.add_column(heading, justify="left" if heading == "head" else "right", no_wrap=True)
    for row in rows:
        shown.add_row(*(cell for cell, alike in zip(row, same, strict=True) if not alike))
    OUT.print(shown)
    if any(same):
        common = ", ".join(
            f"{h} {c or '-'}" for h, c, alike in zip(headings, rows[0], same, strict=True) if alike
        )
        OUT.print(f"The same for all {len(rows)} heads: {common}.", highlight=False)
    if top is not None:
        _singular_values(found)
    OUT.print()
    for name, words in sentences(kept):
        OUT.print(f"[bold]{name}[/]: {literal(words)}", highlight=False)
    _hypotheses(found)


def _singular_values(found: list[Measurement]) -> None:
    """The leading singular values of each head's A, as many as were asked for and are there."""
    OUT.print("\nsingular values of A, the largest first:")
    for m in found:
        OUT.print(f"{literal(m.name)}: {' '.join(f'{x:.4g}' for x in m.spectrum.values)}", highlight=False)


def _changes(changed: dict[str, dict[str, tuple[float, float]]]) -> None:
    """What an earlier run gave and this one gives, over the heads that both have."""
    shown = Table(box=None, pad_edge=False)
    for heading in ("change of", "median before", "now", "most in head", "before", "now"):
        shown.add_column(heading, justify="left" if heading in ("change of", "most in head") else "right")
    for quantity in QUANTITIES:
        heads = changed.get(quantity.name, {})
        if not heads:
            continue
        most = max(heads, key=lambda name: abs(heads[name][1] - heads[name][0]))
        middles = [median(pair[k] for pair in heads.values()) for k in (0, 1)]
        cells = [quantity.shown(x) for x in (*middles, *heads[most])]
        shown.add_row(quantity.name, *cells[:2], literal(most), *cells[2:])
    OUT.print()
    OUT.print(shown)


def _row(m: Measurement, boxed: bool) -> list[str]:
    s, r, x = m.spectrum, m.singular, m.svr
    energy = m.energy
    cells = [
        literal(m.name),
        str(m.tokens),
        "" if x is None else f"{x.log_c_star:.3f}{'' if x.accepted else ' ?'}",
    ]
    if boxed:
        cells += ["", ""] if x is None else [f"{x.log_excess:+.3f}", str(x.outside)]
    cells += (
        ["", "", ""]
        if r is None
        else [f"{max(r.sines):.3g}", f"{r.cosine:.3g}", f"{r.objective_relative:.3g}"]
    )
    spread = f" ± {s.participation_error:.1g}" if s.participation_error is not None else ""
    cells += [
        f"{s.values[0]:.4f}",
        f"{s.stable_rank:.2f}",
        f"{s.participation:.2f}{spread}",
        "" if s.entropy_rank is None else f"{s.entropy_rank:.1f}",
    ]
    doubt = f" (+{energy.undetermined}?)" if energy.undetermined else ""
    cells += [
        f"{energy.negative}{doubt}",
        "one"
        if energy.unique
        else f"≥ {energy.dimension_at_least}"
        if energy.dimension_at_least
        else "several"
        if energy.unique is False
        else "open",
    ]
    return [*cells, f"{m.centering.keys:.1e}", f"{m.centering.queries:.2g}"]


def _hypotheses(found: list[Measurement]) -> None:
    """How many heads satisfy each hypothesis, and the range of its margin."""
    rows: dict[tuple[str, str, str], list[Any]] = {}
    for m in found:
        for h in m.hypotheses:
            rows.setdefault((h.claim, h.words, h.meaning), []).append(h)
    shown = Table(box=None, pad_edge=False)
    for heading in ("claim", "hypothesis", "holds", "fails", "open", "margin"):
        shown.add_column(heading, justify="right" if heading in ("holds", "fails", "open") else "left")
    for (claim, words, meaning), each in rows.items():
        counts = [str(sum(h.holds is value for h in each)) for value in (True, False, None)]
        low, high = min(h.margin for h in each), max(h.margin for h in each)
        margin = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        shown.add_row(claim, words, *counts, f"{margin}: {meaning}")
    OUT.print()
    OUT.print(shown)
    OUT.print("open: not refuted, and rounding allows no more to be said.", style="dim")


def _pyplot(file: Path) -> Any:
    """matplotlib's pyplot without a screen. Raises TensorError if it is missing or the kind of file is
    unknown.
    """
    if file.suffix.lower() not in PLOTS:
        raise TensorError(f"--plot {file}: allowed endings are {', '.join(PLOTS)}")
    if not file.parent.is_dir():
        raise TensorError(f"--plot {file}: there is no directory {file.parent}")
    try:
        import matplotlib
    except ImportError:
        raise TensorError(
            "--plot needs the package matplotlib, which is not installed; pip install matplotlib"
        ) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _write_picture(file: Path, drawn: bytes) -> None:
    """Raises TensorError where the file cannot be written; a picture that fails leaves none."""
    try:
        write_bytes(file, drawn)
    except OSError as error:
        raise TensorError(f"--plot {file} cannot be written: {error.strerror or error}") from None


def _finite(value: Any) -> Any:
    """JSON has no infinity: such numbers become null."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _line(error: BaseException) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return " ".join(line.strip() for line in lines[: 1 + lines[0].endswith(":")])[:160]
