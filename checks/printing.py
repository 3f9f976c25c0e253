"""LaTeX of statements, and their rendering as Unicode for a terminal."""

from __future__ import annotations

import re
from typing import Any

from checks import statement as st

_RELATIONS = {"=": "= 0", ">=": r"\ge 0", ">": "> 0"}


def part_latex(part: Any) -> str:
    """One simple statement as LaTeX."""
    match part:
        case st.Identity():
            return f"{part.lhs.latex()} = {part.rhs.latex()}"
        case st.Definition():
            return f"{part.name.latex()} := {part.meaning.latex()}"
        case st.Implication():
            facts = r",\quad ".join(f"{h.term.latex()} {_RELATIONS[h.relation]}" for h in part.hypotheses)
            end = f"{part.conclusion.term.latex()} {_RELATIONS[part.conclusion.relation]}"
            return rf"{facts} \;\Longrightarrow\; {end}" if facts else end
        case st.Convex() | st.WellPosed():
            return part.program.latex()
        case st.Dual():
            rows = [rf"{term.latex()} = 0" for _, term in part.conditions]
            return (
                r",\quad ".join(rows) if rows else r"\text{no condition besides the signs of the multipliers}"
            )
        case st.Recurrence():
            return part.latex
    return part.statement_latex()


_SIMPLE = {
    r"\alpha": "α",
    r"\beta": "β",
    r"\epsilon": "ε",
    r"\xi": "ξ",
    r"\eta": "η",
    r"\phi": "φ",
    r"\Phi": "Φ",
    r"\kappa": "κ",
    r"\delta": "δ",
    r"\Delta": "Δ",
    r"\lambda": "λ",
    r"\Lambda": "Λ",
    r"\sigma": "σ",
    r"\Sigma": "Σ",
    r"\rho": "ρ",
    r"\nu": "ν",
    r"\mu": "μ",
    r"\zeta": "ζ",
    r"\partial": "∂",
    r"\mathcal{L}": "L",
    r"\cdot": "·",
    r"\odot": "⊙",
    r"\le": "≤",
    r"\ge": "≥",
    r"\ne": "≠",
    r"\Longrightarrow": "⟹",
    r"\dots": "…",
    r"\ldots": "…",
    r"\infty": "∞",
    r"\quad": "  ",
    r"\top": "ᵀ",
    r"\exp": "exp",
    r"\log": "log",
    r"\times": "×",
    r"\in": "∈",
    r"\max": "max",
    r"\,": " ",
    r"\;": " ",
    r"\ ": " ",
    r"\left": "",
    r"\right": "",
    r"\operatorname": "",
    r"\tau": "τ",
    r"\gamma": "γ",
    r"\theta": "θ",
    r"\pm": "±",
}
_SUPER = str.maketrans("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ")


def unicode_math(latex: str) -> str:
    """LaTeX as readable plain text: Greek letters, fractions with a slash, sums with their index."""
    text = (
        latex.replace(r"\begin{aligned}", "")
        .replace(r"\end{aligned}", "")
        .replace(r"\begin{gathered}", "")
        .replace(r"\end{gathered}", "")
    )
    text = text.replace(r"\mathcal{L}", "L")
    text = re.sub(r"\\\\(\[[^\]]*\])?", "\n", text).replace("&", "")
    text = re.sub(
        r"\\underset\{([^{}]*(?:\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}[^{}]*)*)\}\{([^{}]*(?:\{[^{}]*\})*)\}",
        r"\2 over \1:",
        text,
    )
    for _ in range(12):
        before = text
        text = re.sub(r"\\(?:boldsymbol|mathbf|mathrm|text|operatorname)\{([^{}]*)\}", r"\1", text)
        text = re.sub(r"\\tilde\{([^{}]*)\}", r"\1~", text)
        text = re.sub(r"\\tfrac\{(\d+)\}\{(\d+)\}", r"\1/\2 ", text)
        text = re.sub(r"\\sqrt\[(\d+)\]\{([^{}]*)\}", r"\2^(1/\1)", text)
        text = re.sub(
            r"\\sqrt\{([^{}]*)\}", lambda m: f"√{m[1]}" if re.fullmatch(r"\w+", m[1]) else f"√({m[1]})", text
        )
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: f"{_grouped(m[1])}/{_grouped(m[2])}", text)
        text = re.sub(r"\\sum_\{(\w+'?)=1\}\^\{([^{}]*)\}", r"Σ_\1", text)
        text = re.sub(r"\^\{\\top\}", "ᵀ", text)
        text = re.sub(r"\^\{([0-9n+-]+)\}", lambda m: m[1].translate(_SUPER), text)
        text = re.sub(r"_\{([^{}]*)\}", r"_\1", text)
        text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
        if text == before:
            break
    for command in sorted(_SIMPLE, key=len, reverse=True):
        text = text.replace(command, _SIMPLE[command])
    text = text.replace("{", "").replace("}", "").replace("\\|", "‖").replace("\\", "")
    while (shorter := re.sub(r"\(\(([^()]*)\)\)", r"(\1)", text)) != text:
        text = shorter
    return "\n".join(re.sub(r" +", " ", line).strip() for line in text.splitlines() if line.strip())


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"√?[\w\\~]+(\([^()]*\))?", text) else f"({text})"
