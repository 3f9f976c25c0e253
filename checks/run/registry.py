"""All claims of all papers, in the papers' order."""

from __future__ import annotations

from importlib import import_module

from checks.claim import CLAIMS, ROOT, Claim

PAPERS = {
    "nguyen2023": "Nguyen et al., A Primal-Dual Framework for Transformers and Neural Networks (ICLR 2023)",
    "chen2023": "Chen et al., Primal-Attention: Self-attention through Asymmetric Kernel SVD (NeurIPS 2023)",
    "wang2024": "Wang et al., Transformer In-Context Learning for Categorical Data (2024)",
    "farooq2025": "Farooq, A Framework for Non-Linear Attention via Modern Hopfield Networks (2025)",
    "bridge": "How the papers relate",
}


def modules() -> list[str]:
    """The modules that declare claims: every module in the package of a paper but its legs, in order of
    name.
    """
    found = []
    for paper in PAPERS:
        folder = ROOT / "checks" / "papers" / paper
        found += [
            f"checks.papers.{paper}.{path.stem}"
            for path in sorted(folder.glob("*.py"))
            if path.stem not in ("__init__", "legs")
        ]
    return found


class UnknownClaim(LookupError):
    """No claim has this id."""


def load() -> dict[str, Claim]:
    """Import every module of claims and return the claims by id."""
    for module in modules():
        import_module(module)
    return CLAIMS


def select(patterns: list[str]) -> list[Claim]:
    """The claims with the given ids; an id ending in '/' or a paper's key selects a whole paper.

    Raises UnknownClaim with the nearest ids.
    """
    claims = load()
    if not patterns:
        return list(claims.values())
    chosen: dict[str, Claim] = {}
    for pattern in patterns:
        paper = pattern.rstrip("/")
        found = [c for c in claims.values() if c.id == pattern or c.paper == paper]
        if not found:
            raise UnknownClaim(nearest(pattern, list(claims)))
        chosen.update({c.id: c for c in found})
    return list(chosen.values())


def nearest(pattern: str, ids: list[str]) -> str:
    """The complaint about an unknown claim, with those that are spelled like it."""
    from difflib import get_close_matches

    near = get_close_matches(pattern, [*ids, *PAPERS], 3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; `attest list` shows them all"
    return f"no claim or paper '{pattern}'{hint}"
