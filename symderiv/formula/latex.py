r"""The parser of pasted LaTeX: from one formula to the tree of the allow-list reader.

Recursive descent over a short list of commands; nothing is evaluated as Python and no LaTeX package
is involved. Length, brackets and digits have the limits of :mod:`symderiv.formula.reader`.

What is ambiguous in print is refused rather than guessed: ``a/b c``, ``\sin(x)^2``,
``\arcsin a b``, ``C_12`` (in LaTeX the 2 is no subscript), ``Q^{(2)}`` (a label, not a square).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NoReturn

from symderiv.formula.known_functions import IN_LATEX
from symderiv.formula.reader import (
    MAX_BRACKETS,
    MAX_DIGITS,
    MAX_LENGTH,
    Apply,
    Name,
    Node,
    Number,
    quoted,
)
from symderiv.foundation.errors import FormulaError

_INVERSES: Final = {"sin": "asin", "cos": "acos", "tan": "atan"}

_GREEK: Final = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta"),
        *("vartheta", "iota", "kappa", "lambda", "mu", "nu", "xi", "rho", "varrho", "sigma", "tau"),
        *("upsilon", "phi", "varphi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda"),
        *("Xi", "Sigma", "Upsilon", "Psi", "Omega", "Pi"),
    )
)
_FONTS: Final = frozenset(
    (
        *("mathrm", "operatorname", "text", "mathit", "mathsf", "mathbf", "mathcal", "boldsymbol"),
        *("bm", "textrm", "mathnormal", "rm"),
    )
)
_FRACTIONS: Final = frozenset(("frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac"))
#: Commands that change the appearance only.
_IGNORED: Final = frozenset(
    (
        *(" ", ",", ";", ":", "!", "quad", "qquad", "thinspace", "displaystyle", "textstyle"),
        *("limits", "nolimits", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"),
        *("biggl", "biggr", "Biggl", "Biggr", "bigm", "Bigm", "biggm", "Biggm", ">", "/"),
    )
)
_CLOSING: Final = {"(": ")", "[": "]", "\\{": "\\}", "|": "|", "\\lvert": "\\rvert"}

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n~]+)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    r"|(?P<name>[A-Za-z]+[0-9]*)"
    r"|(?P<command>\\(?:[A-Za-z]+|[^A-Za-z]))"
    r"|(?P<operator>[-+*/^_(){}\[\]|,.'])"
)
_HINTS: Final = {
    "|": r"write \left| ... \right| or abs(...) for a modulus",
    "&": "paste one formula without alignment marks",
    "$": "paste the formula without dollar signs inside",
    "=": "an equals sign belongs between a name and its definition, NAME = FORMULA",
    "!": "factorials are not read",
    "<": "comparisons are not read",
    ">": "comparisons are not read",
    "%": "comments are not read",
}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int  # counted from one


def parse_latex(text: str, names: Mapping[str, str]) -> Node:
    r"""Return the tree of one formula in LaTeX.

    Args:
        text: The formula, at most 2000 characters.
        names: The names that may occur, written without subscript marks (``"C12"`` for
            ``C_{12}``), and the variable that each stands for.

    Returns:
        A tree whose functions are those of the reader and ``asin``, ``acos``.

    Raises:
        FormulaError: Not readable; one line that names the token and its position, from 1.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"a formula of {len(text)} characters is longer than {MAX_LENGTH}")
    return _Parser(text, names).formula()


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            hint = _HINTS.get(character, "this character is not read in a formula")
            raise FormulaError(f"{quoted(character)} at position {position + 1}: {hint}")
        kind, piece = match.lastgroup or "", match.group()
        if kind == "command" and piece == "\\\\":
            raise FormulaError(
                f"{quoted(piece)} at position {position + 1}: paste one formula without line breaks"
            )
        if kind == "number" and len(piece) > MAX_DIGITS:
            raise FormulaError(f"the number {quoted(piece)} has more than {MAX_DIGITS} digits")
        if kind != "space" and not (kind == "command" and piece[1:] in _IGNORED):
            tokens.append(_Token(kind, piece, position + 1))
        position = match.end()
    tokens.append(_Token("end", "the end", len(text) + 1))
    return tokens


class _Parser:
    """A parser of one formula in LaTeX, whose methods each read one construct."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.tokens = _tokens(text)
        self.names = names
        self.place = 0
        self.depth = 0

    # methods that read tokens

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    def take(self) -> _Token:
        token = self.token
        if token.kind != "end":
            self.place += 1
        return token

    def at(self, *texts: str) -> bool:
        return self.token.kind != "end" and self.token.text in texts

    def expect(self, text: str, opened: _Token) -> None:
        if not self.at(text):
            self.fail(
                self.token,
                f"{quoted(text)} is missing for {quoted(opened.text)} at position "
                f"{opened.position}",
            )
        self.take()

    def fail(self, token: _Token, reason: str) -> NoReturn:
        shown = "the end" if token.kind == "end" else quoted(token.text)
        raise FormulaError(f"{shown} at position {token.position}: {reason}")

    # methods that read constructs

    def formula(self) -> Node:
        node = self.ratio()
        if self.token.kind != "end":
            reason = _HINTS.get(self.token.text, "it does not fit here")
            self.fail(self.token, reason)
        return node

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > MAX_BRACKETS:
            self.fail(self.token, f"the formula is nested deeper than {MAX_BRACKETS}")
        terms: list[Node] = []
        while True:
            sign = self.take().text if self.at("+", "-") else "+"
            term = self.product()
            terms.append(Apply("negative", (term,)) if sign == "-" else term)
            if not self.at("+", "-"):
                break
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Apply("+", tuple(terms))

    def product(self) -> Node:
        factors = [self.factor()]
        divided = False
        while True:
            if self.at("*", "\\cdot", "\\times", "\\ast"):
                star = self.take()
                if star.text == "*" and self.at("*"):
                    self.fail(self.token, "write ^{...} for a power")
                factors.append(self.factor())
                divided = False
            elif self.at("/"):
                self.take()
                factors.append(Apply("inverse", (self.factor(),)))
                divided = True
            elif self.begins_factor():
                if divided:
                    self.fail(
                        self.token,
                        r"is it below the division line or not? write \frac{...}{...} or brackets",
                    )
                factors.append(self.factor())
            else:
                return factors[0] if len(factors) == 1 else Apply("*", tuple(factors))

    def begins_factor(self) -> bool:
        token = self.token
        if token.kind in ("number", "name"):
            return True
        if token.kind == "command":
            name = token.text[1:]
            known = IN_LATEX.keys() | _INVERSES.keys() | _GREEK | _FONTS | _FRACTIONS
            return name in known or name in ("sqrt", "pi", "left", "{", "lvert")
        return token.kind == "operator" and token.text in ("(", "[", "{")

    def factor(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return self.powered(Number(Fraction(token.text)))
        if token.kind == "name":
            return self.word(token, token.text)
        if token.kind == "command":
            return self.command(token)
        if token.text == "{" and token.kind == "operator":
            return self.powered(self.group(token))
        if token.text in ("(", "["):
            return self.powered(self.bracket(token))
        if token.kind == "operator" and token.text in "+-":
            self.fail(token, "a sign after an operator needs brackets")
        missing = "a number, a name or a bracket is missing before it"
        self.fail(token, _HINTS["|"] if token.text == "|" else missing)

    def command(self, token: _Token) -> Node:
        name = token.text[1:]
        if name in _FRACTIONS:
            above = self.argument(token)
            below = self.argument(token)
            return self.powered(Apply("*", (above, Apply("inverse", (below,)))))
        if name == "sqrt":
            return self.powered(self.root(token))
        if name in _FONTS:
            return self.word(token, self.letters(token))
        if name in IN_LATEX or name in _INVERSES:
            return self.function(token, name)
        if self.is_letter(token):
            return self.word(token, name)
        if name == "left" or token.text in ("\\{", "\\lvert"):
            return self.powered(self.bracket(token))
        self.fail(token, "this command is not read in a formula")

    def is_letter(self, token: _Token) -> bool:
        """Return whether a token is a command for one Greek letter."""
        return token.kind == "command" and token.text[1:] in (*_GREEK, "pi")

    def ratio(self) -> Node:
        r"""Return a sum, or the quotient of two sums with ``\over`` between them."""
        node = self.sum()
        if self.at("\\over"):
            self.take()
            node = Apply("*", (node, Apply("inverse", (self.sum(),))))
        return node

    def group(self, opened: _Token) -> Node:
        node = self.ratio()
        self.expect("}", opened)
        return node

    def bracket(self, token: _Token) -> Node:
        r"""Return the content of brackets; ``\left`` needs ``\right`` with its bracket."""
        scaled = token.text == "\\left"
        opening = self.take() if scaled else token
        if opening.text not in _CLOSING:
            self.fail(opening, "this is not a bracket that can be opened")
        node = self.sum()
        if scaled:
            self.expect("\\right", token)
        self.expect(_CLOSING[opening.text], opening)
        return Apply("Abs", (node,)) if opening.text in ("|", "\\lvert") else node

    def argument(self, owner: _Token) -> Node:
        r"""Return ``{...}``, or the one character that TeX takes: ``\frac12`` is a half."""
        token = self.take()
        if token.text == "{" and token.kind == "operator":
            return self.group(token)
        if token.kind in ("number", "name"):
            first, rest = token.text[:1], token.text[1:]
            if rest:
                if not rest.isalnum() or not first.isalnum():
                    self.fail(token, f"write braces around the argument of {quoted(owner.text)}")
                kind = "name" if rest[0].isalpha() else "number"
                self.place -= 1
                self.tokens[self.place] = _Token(kind, rest, token.position + 1)
            if token.kind == "number":
                return Number(Fraction(first))
            return self.resolved(replace(token, text=first), first, "")
        if self.is_letter(token) and not self.at("_"):  # of \sqrt\Lambda_1, TeX takes the \Lambda
            return self.resolved(token, token.text[1:], "")
        self.fail(token, f"{quoted(owner.text)} needs its argument in braces")

    def root(self, token: _Token) -> Node:
        if not self.at("["):
            return Apply("sqrt", (self.argument(token),))
        opened = self.take()
        order = self.take()
        if order.kind != "number" or not order.text.isdigit() or not 2 <= int(order.text) <= 100:
            self.fail(order, "the order of a root is a whole number from 2 to 100")
        self.expect("]", opened)
        return Apply("**", (self.argument(token), Number(Fraction(1, int(order.text)))))

    def letters(self, owner: _Token) -> str:
        r"""Return the word inside ``\mathrm{...}``."""
        opened = self.take()
        if opened.kind == "name":
            return opened.text
        word = self.take()
        if opened.text != "{" or word.kind != "name":
            self.fail(word, f"a word in braces is missing after {quoted(owner.text)}")
        self.expect("}", opened)
        return word.text

    # methods that read names, functions and powers

    def word(self, token: _Token, word: str) -> Node:
        """Return a name with subscript and power, or a function typed without a backslash."""
        if word in (*IN_LATEX, *_INVERSES) and word not in self.names and not self.at("_"):
            return self.function(token, word)
        if word == "sqrt":
            if not self.at("("):
                self.fail(token, "sqrt needs its argument in brackets")
            return self.powered(Apply("sqrt", (self.bracket(self.take()),)))
        if word == "e" and "e" not in self.names and self.at("^"):
            self.take()
            return Apply("exp", (self.script(),))
        power: Node | None = None
        subscript = ""
        if self.at("_"):
            subscript = self.subscript(word)
        elif self.at("^"):
            self.take()
            power = self.script()
            if self.at("_"):
                subscript = self.subscript(word)
        node = self.resolved(token, word, subscript)
        return self.powered(node) if power is None else self.once(Apply("**", (node, power)))

    def resolved(self, token: _Token, word: str, subscript: str) -> Node:
        for name in (word + subscript, word + subscript.replace(",", "")):
            if name in self.names:
                return Name(self.names[name])
        if not subscript and word in ("pi", "e", "E"):
            return Name("E" if word == "e" else word)
        shown = f"{word}_{{{subscript}}}" if subscript else word
        hint = ""
        if len(word) > 1 and not subscript and token.kind == "name":
            hint = "; separate the factors of a product by blanks"
        known = sorted(set(self.names.values()))
        listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        self.fail(token, f"unknown name {quoted(shown)}{hint}; known here: {listed}")

    def subscript(self, word: str) -> str:
        r"""Return the subscript of a name.

        TeX reads ``C_12`` as C_1 2; it is refused unless there is a name C_12 and none C_1.
        """
        mark = self.take()
        token = self.take()
        if token.kind in ("number", "name"):
            meant = word + token.text in self.names and word + token.text[0] not in self.names
            if len(token.text) > 1 and not meant:
                self.fail(token, "write braces around a subscript of more than one character")
            return token.text
        if token.text != "{":
            self.fail(token, f"a subscript is missing after {quoted(mark.text)}")
        text = ""
        while self.token.kind in ("number", "name") or self.at(",", "'"):
            text += self.take().text
        self.expect("}", token)
        if not text or "." in text:
            self.fail(token, "the subscript is empty or no index")
        return text

    def powered(self, node: Node) -> Node:
        if not self.at("^"):
            return node
        self.take()
        return self.once(Apply("**", (node, self.script())))

    def once(self, node: Node) -> Node:
        if self.at("^"):
            self.fail(self.token, "two powers in a row; write braces")
        return node

    def script(self) -> Node:
        token = self.take()
        if token.text == "{" and token.kind == "operator":
            first = self.token
            after = self.tokens[self.place + 2 : self.place + 4]
            if first.text == "(" and [t.text for t in after] == [")", "}"]:
                self.fail(first, "a superscript in brackets is a label, not a power")
            return self.group(token)
        if token.kind in ("number", "name"):
            if len(token.text) > 1:
                self.fail(token, "write braces around a power of more than one character")
            if token.kind == "number":
                return Number(Fraction(token.text))
            return self.resolved(token, token.text, "")
        if self.is_letter(token):
            return self.resolved(token, token.text[1:], "")
        if token.text in ("\\frac", "\\tfrac", "\\dfrac"):
            above = self.argument(token)
            return Apply("*", (above, Apply("inverse", (self.argument(token),))))
        self.fail(token, "a power is missing (in braces)")

    def function(self, token: _Token, word: str) -> Node:
        power: Node | None = None
        operation = IN_LATEX.get(word)
        if self.at("^"):
            self.take()
            power = self.script()
            if power in (Number(Fraction(-1)), Apply("negative", (Number(Fraction(1)),))):
                if word not in _INVERSES:
                    self.fail(token, "an inverse function or 1 over it? write it out")
                operation, power = _INVERSES[word], None
            elif not isinstance(power, Number):
                self.fail(token, "the power of a function's name must be a number")
        if operation is None:
            self.fail(token, "this function is not read; write it through sin and cos")
        node: Node = Apply(operation, (self.operand(token),))
        return node if power is None else Apply("**", (node, power))

    def operand(self, owner: _Token) -> Node:
        """Return the argument of a function: a bracket or braces, else a single factor."""
        self.depth += 1
        if self.depth > MAX_BRACKETS:
            self.fail(owner, f"the formula is nested deeper than {MAX_BRACKETS}")
        token = self.token
        if token.text in ("(", "[", "{", "\\left", "\\{") and token.kind != "end":
            self.take()
            braces = token.text == "{"
            node = self.group(token) if braces else self.bracket(token)
            if self.at("^"):
                self.fail(
                    self.token,
                    "the power of the argument or of the function? write the power after the "
                    f"function's name or brackets around {quoted(owner.text)}",
                )
        else:
            node = self.factor()
            if self.begins_factor():
                self.fail(
                    self.token,
                    f"does it belong to the argument of {quoted(owner.text)}? write brackets",
                )
        self.depth -= 1
        return node
