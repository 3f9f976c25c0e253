"""Trains a small attention model on a CPU in well under a minute, and saves what its heads attend with.

    python -m checks.tensors.measure.tiny_model --out tiny.npz        then: attest measure tiny.npz

Task: a sequence of random symbols is followed by itself, some symbols are hidden, and the model fills them
in; it must look at the other copy, so that trained heads differ from random ones. Two layers of four heads of
width 16, no mask, learned positions. Seeded: the same seed, machine and number of threads give the same
weights. The file holds q, k, v of shape (layers, heads, tokens, width) for one sequence that was not trained
on, and the accuracy on hidden symbols before and after training.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from checks.tensors.core.errors import TensorError
from checks.tensors.measure.model import run_model

SYMBOLS, HIDDEN = 24, 24  # symbol 24 says: hidden
LAYERS, HEADS, WIDTH = 2, 4, 16


class Layer(nn.Module):
    """Attention and a small network, each added to its input (batch, N, HEADS * WIDTH)."""

    def __init__(self) -> None:
        super().__init__()
        size = HEADS * WIDTH
        self.into, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.network = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
            for part in self.into(self.norms[0](x)).chunk(3, -1)
        )
        x = x + self.out(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
        return x + self.network(self.norms[1](x))


class Model(nn.Module):
    """Symbols (batch, N) -> logits (batch, N, SYMBOLS)."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        size = HEADS * WIDTH
        self.symbols, self.positions = nn.Embedding(SYMBOLS + 1, size), nn.Embedding(tokens, size)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.read = nn.Linear(size, SYMBOLS)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        return self.read(self.layers(self.symbols(symbols) + self.positions.weight))


@dataclass(frozen=True)
class Trained:
    """A model with the share of hidden symbols that it fills in, before and after training."""

    model: Model
    before: float
    after: float


def batch(
    count: int, tokens: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sequences with hidden symbols, the whole sequences, and where symbols are hidden: all (count, tokens).

    A symbol is hidden in one of its two places only.
    """
    half = torch.randint(SYMBOLS, (count, tokens // 2), generator=generator)
    whole = torch.cat([half, half], 1)
    chosen = torch.rand(half.shape, generator=generator) < 0.3
    first = torch.rand(half.shape, generator=generator) < 0.5
    hidden = torch.cat([chosen & first, chosen & ~first], 1)
    return whole.masked_fill(hidden, HIDDEN), whole, hidden


def accuracy(model: Model, tokens: int, generator: torch.Generator) -> float:
    """Share of hidden symbols filled in on fresh sequences; chance is 1/SYMBOLS."""
    shown, whole, hidden = batch(64, tokens, generator)
    with torch.no_grad():
        return float((model(shown).argmax(-1) == whole)[hidden].float().mean())


def train(tokens: int = 64, steps: int = 500, seed: int = 0) -> Trained:
    """Trains on fresh sequences of `tokens` symbols. Raises TensorError for an odd or short length."""
    if tokens < 4 or tokens % 2 or steps < 0:
        raise TensorError(f"{steps} steps on {tokens} tokens; an even number of at least 4 tokens is needed")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Model(tokens)
    generator = torch.Generator().manual_seed(seed + 1)
    before = accuracy(model, tokens, generator)
    optimiser = torch.optim.AdamW(model.parameters(), 3e-3)
    for _ in range(steps):
        shown, whole, hidden = batch(32, tokens, generator)
        optimiser.zero_grad()
        cross_entropy(model(shown)[hidden], whole[hidden]).backward()
        optimiser.step()
    return Trained(model, before, accuracy(model, tokens, generator))


def save(trained: Trained, tokens: int, file: Path, seed: int = 0) -> None:
    """Writes q, k, v of one fresh sequence as .npz. Raises TensorError if the file cannot be written."""
    shown = batch(1, tokens, torch.Generator().manual_seed(seed + 2))[0]
    heads = run_model(trained.model, shown).heads
    tensors = {
        name: torch.stack([getattr(h, name) for h in heads]).unflatten(0, (LAYERS, HEADS)).numpy()
        for name in "qkv"
    }
    try:
        np.savez(file, **tensors, accuracy=np.array([trained.before, trained.after]))
    except OSError as error:
        raise TensorError(f"{file} cannot be written: {error.strerror or error}") from None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="checks.tensors.measure.tiny_model", description="Trains and saves a small model."
    )
    parser.add_argument("--out", type=Path, default=Path("tiny.npz"))
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args(argv)
    try:
        trained = train(a.tokens, a.steps, a.seed)
        save(trained, a.tokens, a.out, a.seed)
    except TensorError as problem:
        print(f"attest: {problem}", file=sys.stderr)
        return 2
    print(
        f"{a.out}: hidden symbols filled in, {trained.before:.1%} before and {trained.after:.1%} after "
        "training"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
