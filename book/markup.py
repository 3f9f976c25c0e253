"""From the ledger's text to MyST: nothing in a record can be taken for markup that it is not."""

from __future__ import annotations

import html
import re
import unicodedata

from book.breaking import broken, closing, rows
from book.ledger import Claim

_MATH = re.compile(r"\$(?=\S)((?:[^$\\]|\\.)+?)(?<=\S)\$", re.DOTALL)
_PLAIN = set(",;'?/. ()")
_PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_WORDS = re.compile(r"\\(?:text|textrm|textit|textbf|mbox)\{")
_COMMANDS = dict(
    pair.split()
    for pair in r"""
    ≤ \le|≥ \ge|≠ \ne|≈ \approx|≡ \equiv|∈ \in|∉ \notin|⊂ \subset|∪ \cup|∩ \cap|∞ \infty|∂ \partial|∇ \nabla
    |∑ \sum|∏ \prod|∫ \int|± \pm|× \times|÷ \div|· \cdot|− -|√ \surd|∘ \circ|⊙ \odot|⊗ \otimes|⊤ \top|⊥ \bot
    |→ \to|← \gets|⇒ \Rightarrow|⇔ \Leftrightarrow|↦ \mapsto|∀ \forall|∃ \exists|ℓ \ell|‖ \Vert|′ {}'|″ {}''
    |½ \tfrac{1}{2}|ᵀ {}^{\top}""".split("|")
)
"""What stands for a sign in mathematics."""
_LETTERS = {"–": "--", "—": "---", "‑": "-", "‐": "-", "“": "``", "”": "''", "‘": "`", "’": "'"}


def _escape(plain: str) -> str:
    """Backslash before every ASCII punctuation character that could start markup."""
    return "".join("\\" + c if c in _PUNCTUATION and c not in _PLAIN else c for c in plain)


def text(source: str) -> str:
    """One line of MyST that shows the text literally, except that $…$ is inline mathematics.

    Bars inside mathematics become \\vert and \\Vert, since a bar would end a table's cell.
    """
    parts, last = [], 0
    source = " ".join(source.split())
    for match in _MATH.finditer(source):
        parts.append(_escape(source[last : match.start()]))
        parts.append("$" + renderable(match[1]).replace(r"\|", r"\Vert ").replace("|", r"\vert ") + "$")
        last = match.end()
    parts.append(_escape(source[last:]))
    # A number with a point at the start of a line would open a list.
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", "".join(parts))


# TeX takes an underscore in words for a subscript.
_TEXT = re.compile(r"\\text\{([^{}$]*)\}")
_UNDERSCORE, _ESCAPED = re.compile(r"(?<!\\)_"), r"\\_"


def renderable(latex: str) -> str:
    """The formula with every character that KaTeX rejects written as the command that means it.

    Words inside mathematics (\\text) take no Greek letters, signs or raised figures; mathematics no dashes or
    accents.
    """
    latex = _TEXT.sub(lambda m: rf"\text{{{_UNDERSCORE.sub(_ESCAPED, m[1])}}}", latex)
    if latex.isascii():
        return latex
    parts, last = [], 0
    while match := _WORDS.search(latex, last):
        end = closing(latex, match.end())
        parts += [_commands(latex[last : match.end()]), _commands(latex[match.end() : end], words=True)]
        last = end
    return "".join([*parts, _commands(latex[last:])])


def _commands(part: str, words: bool = False) -> str:
    """A stretch of mathematics, or of words in it, with a command for each character that needs one."""
    shown = []
    for c in part:
        if c in _LETTERS:
            shown.append(_LETTERS[c] if words else rf"\text{{{_LETTERS[c]}}}")
        elif not c.isascii() and (command := _command(c)):
            shown.append(f"${command}$" if words else f"{command} ")
        else:
            # KaTeX has these letters for words only.
            shown.append(rf"\text{{{c}}}" if c in "éàüößÖ" and not words else c)
    return "".join(shown)


def _command(c: str) -> str | None:
    """The command of a sign, a Greek letter or a raised or lowered figure; None for a letter."""
    if c in _COMMANDS:
        return _COMMANDS[c]
    name, kind = unicodedata.name(c, ""), unicodedata.decomposition(c)
    if greek := re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", name):
        letter = greek[2].lower().replace("lamda", "lambda")
        return "\\" + (letter if greek[1] == "SMALL" else letter.capitalize())
    for mark, place in (("<super>", "^"), ("<sub>", "_")):
        if kind.startswith(mark):
            return f"{{}}{place}{{{unicodedata.normalize('NFKC', c).replace('−', '-')}}}"
    return None


def _rows(body: str) -> list[str]:
    """The lines of a formula that is nothing but one `gathered`, else the formula itself."""
    whole = re.fullmatch(r"\\begin\{gathered\}(.*)\\end\{gathered\}", body.strip(), re.DOTALL)
    if not whole:
        return [body]
    found = rows(whole[1])
    return [inner for row in found for inner in _rows(row)] if found else [body]


_CONDITION = r"\text{where}"
_LETTER = re.compile(r"(?:\\begin\{gathered\})?\\text\{(\([a-z]+\))")


def letter(latex: str) -> str:
    """The letter by which a part of a statement is called, such as (a); "" where it has none."""
    found = _LETTER.match(latex.strip())
    return found[1] if found else ""


def _parts(rows: list[str]) -> list[tuple[str, ...]]:
    """The lines of each part of a statement: a formula and the conditions of it alone."""
    found: list[tuple[str, ...]] = []
    for row in rows:
        if found and row.startswith(_CONDITION):
            found[-1] = (*found[-1], row)
        else:
            found.append((row,))
    return found


def _lines(latex: str) -> list[str]:
    body = re.sub(r"\n\s*\n", "\n", renderable(latex.strip()))
    return _rows(body) if body else []


def lines(latex: str) -> list[str]:
    """The formula in the lines in which a page sets it, each complete for KaTeX."""
    return [_aligned(line) for row in _lines(latex) for line in broken(row)]


class Room:
    """Room for the formulas of one page, in characters of LaTeX: KaTeX makes 60 to 85 bytes of each.

    A long part of a statement, with its conditions, is set once on a page; a line for which there is no room
    left is shown as LaTeX.
    """

    def __init__(self, left: float = 12_000) -> None:
        self.left = left
        self.seen: set[tuple[str, ...]] = set()

    def display(self, latex: str) -> str:
        """Display mathematics, a block a line: only a line of its own can break where the page is narrow."""
        return "\n\n".join(dict.fromkeys(map(self._part, _parts(_lines(latex)))))

    def _part(self, rows: tuple[str, ...]) -> str:
        if rows in self.seen and sum(map(len, rows)) > REPEATED:
            return f"*{letter(rows[0]) or 'This'} is the formula above.*"
        self.seen.add(rows)
        return "\n\n".join(map(self._line, rows))

    def _line(self, row: str) -> str:
        if len(row) > max(self.left, SHORT):
            return f"The formula has {len(row):,} characters; as LaTeX:\n\n{literal(row)}"
        self.left -= len(row)
        return "\n\n".join(map(_block, broken(row)))


SHORT = 150
"""Characters of LaTeX up to which a line is set, whatever room there is."""
REPEATED = 250
"""Characters of LaTeX above which a part is not set again on the same page."""


def display(latex: str) -> str:
    """Display mathematics without a limit."""
    return Room(float("inf")).display(latex)


def _aligned(body: str) -> str:
    """Several lines without an environment of their own are aligned."""
    if r"\begin{" not in body and (r"\\" in body or re.search(r"(?<!\\)&", body)):
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
    return body


def _block(body: str) -> str:
    return literal(f":nowrap:\n\n{_aligned(body)}", "{math}")


def literal(source: str, language: str = "text") -> str:
    """A block of text or code shown exactly as it is, or of another language; nothing inside can end it."""
    fence = "`" * max(3, _longest_run(source) + 1)
    return f"{fence}{language}\n{source.strip()}\n{fence}"


def prose(source: str) -> str:
    """A record's free text: as a paragraph, or as it stands where its line breaks carry meaning."""
    if "\n" not in source.strip():
        return text(source)
    return "\n\n".join(map(text, source.split("\n"))) if _MATH.search(source) else literal(source)


def badge(name: str, kind: str = "verdict") -> str:
    """A coloured label; the colour repeats the word and never stands for it."""
    name = html.escape(" ".join(name.split())).replace("`", "&#96;")
    return f'<span class="{kind} {name}">{name.replace("-", " ")}</span>'


def paragraphs(source: str) -> str:
    """Free text of one or more paragraphs, shown literally except for inline mathematics."""
    return "\n\n".join(text(part) for part in re.split(r"\n\s*\n", source.strip()))


def code(source: str) -> str:
    """Inline code that may hold backticks."""
    source = " ".join(source.split())  # a blank line would end it
    marks = "`" * (_longest_run(source) + 1)
    return f"{marks} {source} {marks}" if "`" in source else f"`{source}`"


def _longest_run(source: str) -> int:
    """The longest run of backticks."""
    return max((len(run) for run in re.findall("`+", source)), default=0)


def link(claim: Claim, label: str | None = None) -> str:
    """A link to the claim's page from anywhere in the book, by default under its reference."""
    # "Eq. (4)" stays in one line.
    shown = re.sub(r"^(\w+\.?) (\(?\d)", "\\1\u00a0\\2", text(label or claim.reference))
    return f"[{shown}](/{claim.doc}.md)"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table whose cells are MyST already; bars in them must be escaped (`text` does so)."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def box(head: str, block: str) -> str:
    """A block with a directive around it; no line inside can end it."""
    runs = re.findall(r"^\s*(:{3,})", block, re.MULTILINE)
    marks = ":" * (1 + max(map(len, runs), default=2))
    return f"{marks}{head}\n{block}\n{marks}"


def scroll(block: str, extra: str = "") -> str:
    """A block that scrolls sideways on a narrow screen instead of widening the page."""
    return box(f"{{div}} scroll {extra}".rstrip(), block)


def folded(title: str, block: str) -> str:
    """A block that is closed until the reader opens it by its title."""
    return box(f"{{dropdown}} {title}", block)
