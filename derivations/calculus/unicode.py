"""LaTeX of formulas as Unicode, for a terminal."""

from __future__ import annotations

import re

_SYMBOLS = dict(
    pair.split()
    for pair in r"""
    alpha α|beta β|gamma γ|delta δ|epsilon ε|varepsilon ε|zeta ζ|eta η|theta θ|kappa κ|lambda λ|mu μ|nu ν|xi ξ|pi π|rho ρ|sigma σ
    |tau τ|phi φ|varphi φ|psi ψ|omega ω|Gamma Γ|Delta Δ|Theta Θ|Lambda Λ|Xi Ξ|Sigma Σ|Phi Φ|Psi Ψ|Omega Ω|partial ∂|nabla ∇|cdot ·
    |odot ⊙|otimes ⊗|oplus ⊕|le ≤|leq ≤|ge ≥|geq ≥|ne ≠|neq ≠|approx ≈|equiv ≡|in ∈|subset ⊂|times ×|infty ∞|dots …|ldots …|cdots …
    |vdots ⋮|to →|mapsto ↦|top ᵀ|exp exp|log log|max max|min min|tanh tanh|cosh cosh|sinh sinh|pm ±|mp ∓|langle ⟨|rangle ⟩|prod Π
    |int ∫|forall ∀|exists ∃|ell ℓ|Longrightarrow ⟹|Rightarrow ⇒|iff ⟺|mid ∣|colon :|star ⋆|circ ∘|det det|dim dim|setminus ∖|lVert ‖|rVert ‖
    |sup sup|inf inf|ll ≪|sim ∼|leftarrow ←|rightarrow →|implies ⟹|coloneqq :=|triangleq ≜|prime '
    """.replace("\n", "").split("|")
    if len(pair.split()) == 2
)
_SPACES = {
    ",": " ",
    ";": " ",
    ":": " ",
    " ": " ",
    "!": "",
    "quad": "  ",
    "qquad": "    ",
    "{": "{",
    "}": "}",
    "|": "‖",
    "%": "%",
    "#": "#",
    "_": "_",
}
_STYLES = (
    "boldsymbol",
    "mathbf",
    "mathrm",
    "mathcal",
    "mathbb",
    "text",
    "operatorname",
    "mathit",
    "bm",
    "rm",
    "tt",
    "textbf",
    "textrm",
    "textstyle",
    "displaystyle",
)
_ACCENTS = {"tilde": "~", "hat": "^", "bar": "¯", "overline": "¯", "widehat": "^", "widetilde": "~"}
_SIZES = {"left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "limits", "nolimits"}
_POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ"
_RAISED = str.maketrans("0123456789+-n", _POWERS)
# what may stand behind a fraction without being multiplied with it
_NO_FACTORS = set(
    """le leq ge geq lt gt ne neq approx equiv in subset to mapsto cdot times odot otimes oplus pm mp dots ldots
    cdots vdots top prime circ star mid colon setminus ll sim leftarrow rightarrow Rightarrow Longrightarrow
    implies iff coloneqq triangleq right bigr Bigr rVert rangle rfloor rceil quad qquad text textrm end forall
    exists limits""".split()
)
_FACTOR = re.compile(r"(?:\\[,:;! ]| |~)*(?:\\([A-Za-z]+|\|)|[A-Za-z0-9({])")


class _Reader:
    """A reader of the LaTeX that this project prints; what it does not know is passed on without the
    backslash.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.blocks = 0  # how many block matrices are open here

    def sequence(self) -> str:
        """Everything up to the end of the group."""
        parts: list[str] = []
        while self.at < len(self.text) and self.text[self.at] != "}":
            character = self.text[self.at]
            if character == "\\":
                parts.append(self.command())
            elif character in "^_":
                self.at += 1
                parts.append(self.script(character, self.argument()))
            elif character == "{":
                parts.append(self.argument())
            else:
                self.at += 1
                parts.append(("," if self.blocks else "") if character == "&" else character)
        return "".join(parts)

    def argument(self) -> str:
        """The next group in braces, command or single character, behind blanks."""
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1
        if self.at >= len(self.text):
            return ""
        if self.text[self.at] == "{":
            self.at += 1
            inner = self.sequence()
            self.at += 1
            return inner
        if self.text[self.at] == "\\":
            return self.command()
        self.at += 1
        return self.text[self.at - 1]

    def bracket(self) -> str:
        """An optional argument in square brackets."""
        if self.text[self.at : self.at + 1] != "[":
            return ""
        end = self.text.index("]", self.at)
        inner, self.at = self.text[self.at + 1 : end], end + 1
        return inner

    def below(self) -> str:
        """The words below a brace."""
        if self.text[self.at : self.at + 1] != "_":
            return ""
        self.at += 1
        return f" [{self.argument().replace('$', '')}] "

    @staticmethod
    def script(kind: str, inner: str) -> str:
        """A superscript or subscript."""
        if kind == "_":
            return f"_({inner})" if re.search(r"[ =<>]|\w[-+]\w", inner) else f"_{inner}"
        if inner == "T":
            return "ᵀ"
        if inner and all(c in "0123456789+-n" for c in inner):
            return inner.translate(_RAISED)
        return (
            inner if inner == "ᵀ" or set(inner) == {"'"} else f"^({inner})" if len(inner) > 1 else f"^{inner}"
        )

    def command(self) -> str:
        """What a backslash starts."""
        match = re.match(r"\\([A-Za-z]+|.|$)", self.text[self.at :], re.S)
        name = match[1] if match else ""
        self.at += 1 + len(name)
        if name in ("begin", "end"):
            which = self.argument()
            if not which.endswith(("matrix", "array")):
                return ""
            self.blocks += 1 if name == "begin" else -1
            if which == "array":  # has its brackets beside it
                return self.argument()[:0] if name == "begin" else ""
            return "[" if name == "begin" else "]"
        if name == "\\":
            self.bracket()
            return ";" if self.blocks else "\n"
        if name in _SIZES:
            self.at += self.text[self.at : self.at + 1] == "."  # no delimiter on this side
            return ""
        if name in ("frac", "tfrac", "dfrac"):
            top, bottom = self.argument(), self.argument()
            quotient = f"{_grouped(top)}/{_grouped(bottom, _COUNTED)}"
            return f"({quotient})" if self.factor_follows() else quotient
        if name == "sqrt":
            degree, inner = self.bracket(), self.argument()
            inner = _grouped(inner, _COUNTED_OR_RAISED)
            return f"{inner}^(1/{degree})" if degree else f"√{inner}"
        if name == "binom":
            return f"binom({self.argument()}, {self.argument()})"
        if name == "overset":
            above, sign = self.argument(), self.argument()
            return f"{sign}^({above.strip('()')})"
        if name == "underbrace":
            return f"({self.argument()}){self.below()}"
        if name == "underset":
            below, verb = self.argument(), self.argument()
            return f"{verb} over {below}:"
        if name == "sum":
            return self.big("Σ")
        if name in _STYLES:
            return self.argument() if self.text[self.at : self.at + 1] == "{" else ""
        if name in _ACCENTS:
            return self.argument() + _ACCENTS[name]
        if name in _SPACES:
            return _SPACES[name]
        return _SYMBOLS.get(name, name)

    def factor_follows(self) -> bool:
        """Whether what comes next would be read as part of a denominator before it."""
        match = _FACTOR.match(self.text, self.at)
        if match is None:
            return False
        if match[1] == "|":  # which opens a norm or closes one
            return self.text.count("\\|", 0, self.at) % 2 == 0
        return match[1] not in _NO_FACTORS

    def big(self, sign: str) -> str:
        """Σ with its index and limits."""
        limits = {"_": "", "^": ""}
        while self.at < len(self.text) and (kind := self.text[self.at]) in limits:
            self.at += 1
            limits[kind] = self.argument()
        shown = "".join(k + (x if len(x) == 1 else f"({x})") for k, x in limits.items() if x)
        return f"{sign}{shown} " if shown else sign


def unicode_math(latex: str) -> str:
    """LaTeX as readable plain text: Greek letters, fractions with a slash, sums with their index."""
    text = _Reader(latex).sequence()
    while (shorter := re.sub(r"\(\(([^()]*)\)\)", r"(\1)", text)) != text:
        text = shorter
    text = re.sub(r" +([;,)\]])", r"\1", text)
    return "\n".join(re.sub(r" +", " ", line).strip() for line in text.splitlines() if line.strip())


def with_letters(words: str) -> str:
    """Words with letters and signs for LaTeX names, such as φ for \\phi; everything else stays as it is."""
    return re.sub(r"\\([A-Za-z]+)", lambda m: _SYMBOLS.get(m[1], m[0]), words)


_COUNTED = re.compile(rf"√?\d+([^\W\d{_POWERS}]|\()|√?[^\W\d](_\w+)?\(.*[+-]")
_COUNTED_OR_RAISED = re.compile(rf"{_COUNTED.pattern}|.*[{_POWERS}]")
"""What is read apart below a bar or a root: x/2N as half of x times N, √N(a + b) as √N times a + b, √x² as
the square of √x.
"""


def _grouped(text: str, apart: re.Pattern[str] | None = None) -> str:
    alone = re.fullmatch(r"√?[\w~]+(\([^()]*\))?", text) and not (apart and apart.match(text))
    return text if alone else f"({text})"
