"""The tree of a document: parts, sentences, formulas, lists, tables, key-values, figures.

Results, derivations and pages build it. ``text_writer``, ``html_writer`` and ``latex_writer`` write
it for terminals, pages and papers. It uses the standard library only, so that importing it is fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

#: The meaning of a line that colours show: a claim that holds, fails or stays open, a warning.
Tone = Literal["", "bold", "holds", "fails", "open", "warning"]


class Markup(str):
    """A text with a typeset form for pages (MathML or other HTML), which is inserted as it is."""

    markup: str

    def __new__(cls, text: str, markup: str) -> Markup:
        made = super().__new__(cls, text)
        made.markup = markup
        return made

    def __reduce__(self) -> tuple[type[Markup], tuple[str, str]]:
        return Markup, (str(self), self.markup)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of sentences, which may contain inline ``$...$`` LaTeX.

    Args:
        text: the sentences.
        label: a word before them, such as the rule that a step uses.
        tone: what their colour says, such as whether a claim holds.
    """

    text: str
    label: str = ""
    tone: Tone = ""


@dataclass(frozen=True)
class Formula:
    """A displayed formula, LaTeX without dollars.

    Args:
        right: the formula, or the right side of an equation.
        left: the left side of an equation; "" for none.
        label: a word before it, such as "Result".
    """

    right: str
    left: str = ""
    label: str = ""

    @property
    def latex(self) -> str:
        """Return the formula as one line."""
        return f"{self.left} = {self.right}" if self.left else self.right


@dataclass(frozen=True)
class Listing:
    """A list of items one below the other, each of one or several nodes."""

    items: Sequence[Sequence[Paragraph | Formula]]


@dataclass(frozen=True)
class Summary:
    """A summary of names and values that a person would ask for first.

    Args:
        title: what the result is, in a few words; may be left out.
        rows: names and values, the most asked for first; values are texts, numbers or arrays.
        notes: whole sentences, such as warnings.
        tones: the tones of the rows, where they are claims.
    """

    title: str = ""
    rows: Sequence[tuple[str, object]] = ()
    notes: Sequence[str] = ()
    tones: Sequence[Tone] = ()


@dataclass(frozen=True)
class Tabular:
    """A table of texts.

    Args:
        heads, rows: column heads and cells; None as a cell says that there is no number.
        title: what it shows.
        sides: "l" or "r" for the first column and for the others; those at the left are words,
            which may be broken.
        marked: numbers of rows that stand out.
        tones: the tones of words in cells, by the word.
        export: whether a page offers it as a CSV file.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    sides: str = "lr"
    marked: frozenset[int] = frozenset()
    tones: dict[str, Tone] = field(default_factory=dict)
    export: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure.

    Args:
        svg: the file.
        caption: what is drawn.
        number: the number of the figure on its page; 0 for one that is shown without.
        numbers: what it draws, rows of a CSV file.
    """

    svg: bytes
    caption: str
    number: int = 0
    numbers: Sequence[Sequence[object]] = ()


@dataclass(frozen=True)
class Verbatim:
    """A text as it was typed."""

    text: str


@dataclass(frozen=True)
class Part:
    """A document, or a part of one, with its title.

    Args:
        title: "" for none.
        nodes: its content, in reading order.
        key: its name in JSON and in links.
        subtitle: the text below the title.
        name: its name in a line of links; the title when left out.
        links: whether a page links to the parts.
    """

    title: str
    nodes: Sequence[Node]
    key: str = ""
    name: str = ""
    subtitle: str = ""
    links: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the nodes of the part that are parts themselves, in reading order."""
        return tuple(node for node in self.nodes if isinstance(node, Part))


Node = Paragraph | Formula | Listing | Summary | Tabular | Picture | Verbatim | Part
