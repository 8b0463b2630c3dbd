r"""A small reader of LaTeX formulas: Unicode text, visible width, places where a line may break.

It knows the commands that SymPy's printer and this package use. An unknown command keeps its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_&]|\s+|[A-Za-z0-9.]|.", re.DOTALL)

_GREEK_NAMES = re.findall(
    r"\w+",
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega",
)
_GREEK_LETTERS = "αβγδεζηθικλμνξπρστυφχψω"
_CAPITALS = {
    r"\Gamma": "Γ",
    r"\Delta": "Δ",
    r"\Theta": "Θ",
    r"\Lambda": "Λ",
    r"\Xi": "Ξ",
    r"\Pi": "Π",
    r"\Sigma": "Σ",
    r"\Phi": "Φ",
    r"\Psi": "Ψ",
    r"\Omega": "Ω",
}
GREEK: dict[str, str] = {
    **{f"\\{name}": letter for name, letter in zip(_GREEK_NAMES, _GREEK_LETTERS, strict=True)},
    **_CAPITALS,
}
"""LaTeX name to Greek letter."""

_SYMBOLS = {
    **GREEK,
    r"\varepsilon": "ε",
    r"\varphi": "φ",
    r"\vartheta": "ϑ",
    r"\cdot": "·",
    r"\times": "×",
    r"\pm": "±",
    r"\partial": "∂",
    r"\nabla": "∇",
    r"\infty": "∞",
    r"\sum": "Σ",
    r"\prod": "∏",
    r"\int": "∫",
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\vert": "|",
    r"\le": " ≤ ",
    r"\leq": " ≤ ",
    r"\ge": " ≥ ",
    r"\geq": " ≥ ",
    r"\ne": " ≠ ",
    r"\neq": " ≠ ",
    r"\approx": " ≈ ",
    r"\equiv": " ≡ ",
    r"\propto": " ∝ ",
    r"\sim": " ~ ",
    r"\in": " ∈ ",
    r"\to": " → ",
    r"\rightarrow": " → ",
    r"\mapsto": " ↦ ",
    r"\leftarrow": " ← ",
    r"\Rightarrow": " ⇒ ",
    r"\ldots": "…",
    r"\dots": "…",
    r"\cdots": "⋯",
    r"\prime": "′",
    r"\top": "ᵀ",
    r"\otimes": "⊗",
    r"\mid": " | ",
    r"\colon": ": ",
    r"\ll": " ≪ ",
    r"\gg": " ≫ ",
    r"\ell": "ℓ",
    r"\quad": "  ",
    r"\qquad": "    ",
    r"\,": " ",
    r"\;": " ",
    r"\:": " ",
    r"\ ": " ",
    r"\!": "",
    r"\{": "{",
    r"\}": "}",
    r"\%": "%",
    r"\_": "_",
    r"\&": "&",
    r"\#": "#",
    r"\$": "$",
    r"\|": "‖",
    r"\\": "; ",
}
_TRANSPARENT = {
    r"\mathrm",
    r"\text",
    r"\operatorname",
    r"\operatorname*",
    r"\mathbf",
    r"\boldsymbol",
    r"\mathcal",
    r"\mathbb",
    r"\mathit",
    r"\textstyle",
    r"\displaystyle",
    r"\limits",
    r"\nonumber",
    r"\substack",
    *(f"\\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m")),
}
_ACCENTS = {
    r"\tilde": "\u0303",
    r"\widetilde": "\u0303",
    r"\hat": "\u0302",
    r"\bar": "\u0304",
    r"\overline": "\u0304",
    r"\dot": "\u0307",
    r"\vec": "\u20d7",
}
_SUPERSCRIPT = dict(zip("0123456789+-()Tniklcd", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵀⁿⁱᵏˡᶜᵈ", strict=True))
_SUBSCRIPT = dict(zip("0123456789ijknmlapst+-", "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₙₘₗₐₚₛₜ₊₋", strict=True))
_SPACED = {"=": " = ", "+": " + ", "-": " - ", "<": " < ", ">": " > ", ",": ", "}


@dataclass
class _FormulaReader:
    """A reader that walks the tokens once and writes text; ``fraction`` lays out stacked parts."""

    tokens: list[str]
    fraction: Callable[[str, str], str]
    scripts: bool
    position: int = 0
    start: int = 0
    subscript: int = 0
    position_after_subscript: int = -1

    def sequence(self, closing: str | None = None) -> str:
        """Return the text up to the ``closing`` token (consumed) or to the end."""
        parts: list[str] = []
        while self.position < len(self.tokens):
            token = self.tokens[self.position]
            if closing is not None and token == closing:
                self.position += 1
                break
            parts.append(self.item(parts))
        return "".join(parts)

    def argument(self) -> str:
        """Return the text of the next brace group or the next single token."""
        self._skip_space()
        if self.position >= len(self.tokens):
            return ""
        return self.item([])

    def item(self, before: list[str]) -> str:
        token = self.tokens[self.position]
        self.position += 1
        if token == "{":
            return self.sequence("}")
        if token in ("}", "&"):
            return "" if token == "}" else "  "
        if token in ("^", "_"):
            self.start = self.position - 1
            start = self.start
            body = self.argument()
            self.start = start
            return self._script(token, body)
        if token.startswith("\\"):
            return self._command(token)
        if token.isspace():
            # one space for those between factors, which TeX ignores but readers need
            return " " if before and not before[-1].endswith((" ", "(")) else ""
        if token == "'":
            return "′"
        if token in _SPACED:
            unary = not before or before[-1].rstrip().endswith(("(", "[", "=", "{", "⟨"))
            return token if token in "+-" and unary else _SPACED[token]
        return token

    def _command(self, token: str) -> str:
        if token in (r"\frac", r"\dfrac", r"\tfrac"):
            return self.fraction(self.argument(), self.argument())
        if token == r"\sqrt":
            return self._root()
        if token in (r"\left", r"\right", r"\middle"):
            delimiter = self.argument().strip()
            return "" if delimiter == "." else delimiter
        if token in (r"\begin", r"\end"):
            name = self.argument()
            if token == r"\begin" and name == "array":
                self.argument()
            brackets = {"cases": "{ ", "matrix": "", "pmatrix": "(", "bmatrix": "["}
            closing = {"pmatrix": ")", "bmatrix": "]"}
            return brackets.get(name, "") if token == r"\begin" else closing.get(name, "")
        if token in _ACCENTS:
            base = self.argument()
            return base[:1] + _ACCENTS[token] + base[1:]
        if token in (r"\overset", r"\underset", r"\stackrel"):
            over = self.argument().strip()
            return f"{self.argument()}[{over}]"
        if token in (r"\underbrace", r"\overbrace"):
            return self.argument()
        if token in _TRANSPARENT:
            return ""
        if token in _SYMBOLS:
            return _SYMBOLS[token]
        return token[1:]

    def _root(self) -> str:
        self._skip_space()
        index = ""
        if self.position < len(self.tokens) and self.tokens[self.position] == "[":
            self.position += 1
            index = self.sequence("]")
        body = self.argument()
        if not self.scripts:
            return f" {body}"
        sign = {"": "√", "3": "∛", "4": "∜"}.get(index, f"{index}√")
        body = body.strip()
        return sign + (body if _is_atom(body) else f"({body.strip()})")

    def _script(self, token: str, body: str) -> str:
        body = body.strip()
        if not self.scripts:
            return self._script_width(token, len(body.replace(" ", "")))
        if body in ("′", "″"):
            return body
        table = _SUPERSCRIPT if token == "^" else _SUBSCRIPT
        compact = body.replace(" ", "")
        if compact and all(c in table for c in compact):
            return "".join(table[c] for c in compact)
        return f"{token}{body}" if len(body) == 1 else f"{token}{{{body}}}"

    def _script_width(self, token: str, length: int) -> str:
        """Return filler characters for the width that a script adds to one stacked with it."""
        length = math.ceil(0.7 * length)
        stacked = token == "^" and self.position_after_subscript == self.start
        extra = max(0, length - self.subscript) if stacked else length
        if token == "_":
            self.subscript, self.position_after_subscript = length, self.position
        return "x" * extra

    def _skip_space(self) -> None:
        while self.position < len(self.tokens) and self.tokens[self.position].isspace():
            self.position += 1


def _is_atom(text: str) -> bool:
    return bool(re.fullmatch(r"[^\s+\-*/=()]+|√\([^()]*\)", text.strip()))


def _linear_fraction(top: str, bottom: str) -> str:
    top, bottom = top.strip(), bottom.strip()
    if re.match(r"(∂|d )", bottom):
        # A derivative reads better without brackets.
        return f"{_tight(top)}/{_tight(bottom)}"
    return f"{_wrap(top)}/{_wrap(bottom)}"


def _tight(text: str) -> str:
    return re.sub(r"([∂d]²?) ", r"\1", text)


def _wrap(text: str) -> str:
    return text if _is_atom(text) else f"({text})"


def to_unicode(latex: str) -> str:
    """Return the formula as one line of Unicode text."""
    return _FormulaReader(_TOKEN.findall(latex), _linear_fraction, True).sequence()


def width(latex: str) -> int:
    """Return the approximate width of the typeset formula in characters.

    Parts above one another count with the widest.
    """
    text = _FormulaReader(
        _TOKEN.findall(latex), lambda top, bottom: max(top, bottom, key=len), False
    ).sequence()
    signs = sum(text.count(f" {sign} ") for sign in "=+-<>≤≥≈→")
    return len(re.sub(r"\s+", "", text)) + 2 * signs


_OPENING = {"{", r"\left", r"\begin", "(", "[", r"\Bigl"}
_CLOSING = {"}", r"\right", r"\end", ")", "]", r"\Bigr"}


def top_level_terms(latex: str) -> list[str]:
    r"""Return the formula cut before every ``=``, ``+`` and ``-`` outside braces and brackets.

    Brackets of fixed size (``\Bigl(``) do not count, so what :func:`open_brackets` opened is cut.
    """
    terms: list[list[str]] = [[]]
    depth = 0
    tokens = _TOKEN.findall(latex)
    skip = False
    for token in tokens:
        if skip or token in (r"\Bigl", r"\Bigr"):
            # The delimiter after \left, \right, \Bigl, \Bigr opens or closes nothing by itself.
            skip = not skip
            terms[-1].append(token)
            continue
        if token in _OPENING:
            depth += 1
            skip = token == r"\left"
        elif token in _CLOSING:
            depth -= 1
            skip = token == r"\right"
        elif depth == 0 and token in ("=", "+", "-") and _ends_a_term(terms[-1]):
            terms.append([])
        terms[-1].append(token)
    return [text for term in terms if (text := "".join(term).strip())]


def equations(latex: str) -> list[str]:
    r"""Return the formula cut after every ``\quad`` and ``\qquad`` outside braces and brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in _TOKEN.findall(latex):
        depth += (token in ("{", r"\left", r"\begin")) - (token in ("}", r"\right", r"\end"))
        if depth == 0 and token in (r"\quad", r"\qquad"):
            parts.append([])
        else:
            parts[-1].append(token)
    return [text for part in parts if (text := "".join(part).strip())]


def _ends_a_term(term: list[str]) -> bool:
    visible = [token for token in term if not token.isspace()]
    if not visible:
        return False
    last = visible[-1]
    opened = len(visible) > 1 and visible[-2] == r"\Bigl"
    return last not in ("=", "+", "-", r"\cdot", r"\times", "^", "_", "(") and not opened


def open_brackets(latex: str) -> str:
    r"""Return the outermost ``\left( ... \right)`` pairs turned into ``\Bigl( ... \Bigr)``.

    A brace around such a pair (``{\left(...\right)}``, as SymPy writes arguments) is removed.
    Pairs inside other braces (fractions, roots, scripts) stay as they are.
    """
    tokens = _unwrapped(_TOKEN.findall(latex))
    out: list[str] = []
    pairs = 0
    braces = 0
    for token in tokens:
        if token == r"\left":
            out.append(r"\Bigl" if pairs == 0 and braces == 0 else token)
            pairs += 1
        elif token == r"\right":
            pairs -= 1
            out.append(r"\Bigr" if pairs == 0 and braces == 0 else token)
        else:
            braces += {"{": 1, "}": -1}.get(token, 0)
            out.append(token)
    return "".join(out)


def split_fractions(latex: str, length: int) -> str:
    r"""Return the formula with wide fractions at top level as ``\frac{1}{...}`` times a sum.

    Fractions are wide if their numerator is wider than ``length``.
    """
    tokens = _TOKEN.findall(latex)
    out: list[str] = []
    position = depth = 0
    while position < len(tokens):
        token = tokens[position]
        if token == r"\frac" and depth == 0:
            top, middle = _group(tokens, position + 1)
            bottom, after = _group(tokens, middle)
            if width(top) > length and width(bottom) < length // 2:
                body = rf"\left({top}\right)" if len(top_level_terms(top)) > 1 else top
                out.append(rf"\frac{{1}}{{{bottom}}} {body}")
                position = after
                continue
        depth += {"{": 1, "}": -1, r"\left": 1, r"\right": -1}.get(token, 0)
        out.append(token)
        position += 1
    return "".join(out)


def _group(tokens: list[str], start: int) -> tuple[str, int]:
    """Return the text of the brace group (or token) at ``start`` and the position after it."""
    while start < len(tokens) and tokens[start].isspace():
        start += 1
    if start >= len(tokens) or tokens[start] != "{":
        return "".join(tokens[start : start + 1]), start + 1
    depth = 0
    for position in range(start, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[position], 0)
        if depth == 0:
            return "".join(tokens[start + 1 : position]), position + 1
    return "".join(tokens[start + 1 :]), len(tokens)


_TAKES = {r"\frac": 2, r"\sqrt": 1, r"\bar": 1, "^": 1, "_": 1}


def _arguments(tokens: list[str]) -> set[int]:
    r"""Return the positions of tokens that are arguments of commands such as ``\frac``."""
    places: set[int] = set()
    for position, token in enumerate(tokens):
        place = position + 1
        for _ in range(_TAKES.get(token, 0)):
            while place < len(tokens) and tokens[place].isspace():
                place += 1
            places.add(place)
            place = _group(tokens, place)[1]
    return places


def _unwrapped(tokens: list[str]) -> list[str]:
    r"""Return the tokens without the braces of ``{\left(…\right)}`` unless it is an argument."""
    dropped: set[int] = set()
    braces: list[int] = []
    arguments = _arguments(tokens)
    for position, token in enumerate(tokens):
        if token == "{":
            braces.append(position)
        elif token == "}" and braces:
            start = braces.pop()
            inside = tokens[start + 1 : position]
            if start not in arguments and _is_one_pair(inside):
                dropped |= {start, position}
    return [token for position, token in enumerate(tokens) if position not in dropped]


def _is_one_pair(tokens: list[str]) -> bool:
    if len(tokens) < 4 or tokens[0] != r"\left" or tokens[-2] != r"\right":
        return False
    depth = 0
    for token in tokens[:-2]:
        depth += {r"\left": 1, r"\right": -1}.get(token, 0)
        if depth == 0:
            return False
    return True
