"""The HTML report: one file without scripts, with figures, font and MathML inside."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv import __version__
from symderiv.foundation.documents.document import (
    Paragraph,
    Part,
    Picture,
    Summary,
    Tabular,
    Tone,
    Verbatim,
)
from symderiv.foundation.documents.html_writer import data_uri, fragment
from symderiv.show.plots import features, plots
from symderiv.show.plots.claims import Findings, claims, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from symderiv.foundation.documents.written_derivation import Derivation
    from symderiv.show.plots.claims import Findings
    from symderiv.show.plots.features import Floats, StudyCase


def figure_numbers(name: str, found: Sequence[Findings]) -> list[list[object]]:
    """Return the numbers of a figure as a table in long form, or an empty text.

    Columns: case, "equations" or "SGD", quantity, alpha, value and its standard error (empty for
    equations). All digits of doubles.
    """
    rows = [row for one in found for row in _rows(name, one.case)]
    head: list[object] = ["case", "from", "quantity", "alpha", "value", "standard error"]
    return [head, *rows] if rows else []


def _rows(name: str, case: StudyCase) -> Iterator[list[object]]:
    label, curve, points = case.label, case.curve, case.points
    if name == "error":
        yield from _series(label, "equations", "generalization_error", curve.alpha, curve.error)
        if points is not None:
            errors = (points.error, points.error_se)
            yield from _series(label, "SGD", "generalization_error", points.alpha, *errors)
    if name == "overlaps":
        for letter in "QR":
            values = getattr(curve, letter)
            for i, j in np.ndindex(values.shape[1:]):
                quantity = f"{letter}[{i}, {j}]"
                yield from _series(label, "equations", quantity, curve.alpha, values[:, i, j])
                if points is not None:
                    mean, spread = getattr(points, letter), getattr(points, f"{letter}_se")
                    both = (mean[:, i, j], spread[:, i, j])
                    yield from _series(label, "SGD", quantity, points.alpha, *both)


def _series(
    label: str,
    source: str,
    quantity: str,
    alpha: Floats,
    values: Floats,
    spread: Floats | None = None,
) -> Iterator[list[object]]:
    for index, (time, value) in enumerate(zip(alpha, values, strict=True)):
        width = "" if spread is None or np.isnan(spread[index]) else repr(float(spread[index]))
        yield [label, source, quantity, repr(float(time)), repr(float(value)), width]


_HERE = Path(__file__).parent

CRITERION = (
    "Deviation of the mean over the runs from the equations, (mean − equations) / standard error "
    f"of the mean, at up to {features.NUMBER_OF_TIMES} times spread evenly over ln α. Equations "
    "and simulation are said to agree if two things hold. At least nine tenths of the deviations "
    "are in the range that Student's t distribution covers with probability "
    f"{100 * features.CONFIDENCE:g} % (3 standard errors for many runs, more for few). And the "
    f"mean is nowhere off by more than {100 * features.FAR:g} % with a deviation outside of the "
    "wider range in which all of these times lie with that probability. The standard error is the "
    "spread of the runs divided by the square root of their number; runs share the teacher and the "
    "initial student with the equations and differ in the examples they see."
)

_DEFINITIONS = (
    "The local exponent is −d ln ε_g / d ln α. A plateau is a time after the initial transient "
    f"(the first maximum of the local exponent) where the local exponent has a minimum below "
    f"{features.FLAT}: its height is ε_g there, it begins when ε_g comes within 10 % of the height "
    "and ends when ε_g has fallen below half of it. Slowest: the smallest local exponent after the "
    "transient. Rate and exponent of the final decay: means of −d ln ε_g / dα and of "
    "−d ln ε_g / d ln α over the last fifth of the time. Times are in units of α."
)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(template: str, **values: Any) -> str:
    """Return a page made from a template, with style and font inside."""
    css = (_HERE / "templates" / "report.css").read_text(encoding="utf-8")
    font = data_uri((_HERE / "fonts" / "symderiv-math.woff").read_bytes(), "font/woff")
    known = {"version": __version__, "css": trusted(css), "font": trusted(font)}
    text: str = _environment().get_template(template).render(**known, **values)
    return text


def trusted(fragment: str) -> Any:
    """Return HTML whose texts are escaped already, marked as safe."""
    from markupsafe import Markup

    return Markup(fragment)


def page(document: Part, *footer: Sequence[tuple[str, str]]) -> str:
    """Return a document as a complete HTML page.

    Args:
        document: what is shown.
        footer: lines at the end, as pairs of words and a name in code type (or "").
    """
    below = "".join(
        "<p>"
        + "".join(f"{escape(w)}{f'<code>{escape(c)}</code>' if c else ''}" for w, c in line)
        + "</p>\n"
        for line in footer
    )
    body = fragment(document, 1) + (f"<footer>\n{below}</footer>\n" if below else "")
    return rendered("base.html.j2", title=document.title, body=trusted(body))


def version_line(*pieces: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the footer's line on the versions with which the page was made."""
    return [(f"symderiv {__version__}", ""), *pieces]


def derivation_page(derivation: Derivation) -> str:
    """Return a derivation as a complete HTML page."""
    document = derivation.document
    return rendered("base.html.j2", title=document.title, body=trusted(fragment(document)))


def svg_bytes(figure: Figure) -> bytes:
    """Return the figure as an SVG file."""
    buffer = io.BytesIO()
    plots.write(figure, buffer, "svg")
    return buffer.getvalue()


_VERDICTS: dict[bool | None, tuple[str, Tone]] = {
    True: ("✓ holds", "holds"),
    False: ("✗ does not", "fails"),
    None: ("observed", "open"),
}


def claims_summary(found: Sequence[Findings]) -> Summary:
    """Return the claims with verdicts in words, so that they do not depend on colour alone."""
    said = claims(found)
    rows = [(_VERDICTS[claim.holds][0], claim.text) for claim in said]
    return Summary(rows=rows, tones=[_VERDICTS[claim.holds][1] for claim in said])


def feature_table(found: Sequence[Findings]) -> Tabular:
    """Return the table of plateaus and final decay, one row per case."""
    heads = [
        "Case",
        "height",
        "begins",
        "ends",
        "length",
        "slowest",
        "rate",
        "exponent",
        "last ε_g",
    ]
    rows = []
    for one in found:
        plateau, decay = one.plateau, one.decay
        cells = ["—"] * 5
        if plateau is not None:
            cells[4] = number(plateau.exponent, 2)
        if plateau is not None and plateau.exists:
            open_end = plateau.end is None
            cells[:4] = [
                number(plateau.height),
                number(plateau.begin),
                f"after {number(plateau.last)}" if plateau.end is None else number(plateau.end),
                f"{'≥ ' if open_end else ''}{number(plateau.length)}",
            ]
        final = ["—", "—"] if decay is None else [number(decay.rate), number(decay.exponent)]
        error = one.case.curve.error
        last = number(float(error[-1])) if error.size else "—"
        rows.append([one.case.label or "this study", *cells, *final, last])
    return Tabular(heads, rows, "Plateau and final decay", export=True)


def run_table(found: Sequence[Findings]) -> Tabular:
    """Return the table of the cost of integrations and simulations, one row per case."""
    names: dict[str, None] = {}
    for one in found:
        names.update(dict.fromkeys(f"equations: {name}" for name in one.case.curve.numbers))
        if one.case.points is not None:
            names.update(dict.fromkeys(f"SGD: {name}" for name in one.case.points.numbers))
    rows = []
    for one in found:
        values = {f"equations: {name}": value for name, value in one.case.curve.numbers.items()}
        if one.case.points is not None:
            values |= {f"SGD: {name}": value for name, value in one.case.points.numbers.items()}
        cells = [_cell(values.get(name)) for name in names]
        rows.append([one.case.label or "this study", *cells])
    return Tabular(["Case", *names], rows, "Computation", export=True)


def _cell(value: float | int | str | None) -> str:
    if value is None:
        return "—"
    return number(value) if isinstance(value, float) else str(value)


def _comparison(found: Sequence[Findings]) -> Tabular | None:
    """Return the table of compared times, with two columns per case."""
    compared = [one for one in found if one.agreement is not None]
    times = sorted({alpha for one in compared if one.agreement for alpha in one.agreement.alpha})
    if not times:
        return None
    heads = ["α", *(one.case.label or "deviation (standard error)" for one in compared)]
    bounds = {one.case.label: one.agreement.bound for one in compared if one.agreement}
    rows: list[list[str]] = []
    outside: set[int] = set()
    for alpha in times:
        cells = [number(alpha, 4)]
        for one in compared:
            cell, deviation = _compared_cell(one, alpha)
            cells.append(cell)
            if deviation is not None and abs(deviation) > bounds[one.case.label]:
                outside.add(len(rows))
        rows.append(cells)
    return Tabular(heads, rows, marked=frozenset(outside))


def _compared_cell(one: Findings, alpha: float) -> tuple[str, float | None]:
    """Return the deviation in standard errors, and the size of the standard error."""
    points, compared = one.case.points, one.agreement
    if points is None or compared is None or alpha not in compared.alpha:
        return "—", None
    index = int(abs(points.alpha - alpha).argmin())
    relative = float(points.error_se[index]) / float(points.error[index])
    deviation = compared.deviations[compared.alpha.index(alpha)]
    signed = f"{deviation:+.2f}".replace("-", "−")
    return f"{signed} ({number(100 * relative, 2)} %)", deviation


def pictures(found: Sequence[Findings], figures: dict[str, bytes]) -> list[Picture]:
    """Return the figures of a study with captions that explain them."""
    cases = [one.case for one in found]
    simulated = any(case.points is not None for case in cases)
    dots = "; points: means over SGD runs, bars: their standard error" if simulated else ""
    marked = any(one.plateau is not None and one.plateau.exists for one in found)
    band = "; broad bands: plateaus, vertical ticks: their ends" if marked else ""
    if any(case.band is not None for case in cases):
        band += "; shades: single runs at finite N, ± their standard deviation around their mean"
    captions = {
        "error": "Generalisation error over log α (left) and α (right). "
        f"Lines: order-parameter equations{dots}{band}.",
        "overlaps": f"Student overlaps Q and student-teacher overlaps R{dots}.",
        "exponent": "Local exponent −d ln ε_g / d ln α of the generalisation error. Plateaus lie "
        "in the grey band; lines that leave at the top reach larger exponents.",
    }
    return [
        Picture(figure, captions[name], count, figure_numbers(name, found))
        for count, (name, figure) in enumerate(figures.items(), start=1)
    ]


def study_page(
    *,
    title: str,
    subtitle: str,
    found: Sequence[Findings],
    figures: dict[str, bytes],
    derivation: Derivation | None,
    study_text: str,
    provenance: Sequence[tuple[str, str]] = (),
    files: Sequence[str] = (),
) -> str:
    """Return the report of a study as one HTML page.

    Args:
        title, subtitle: The name of the study, and a sentence that describes it.
        found: The findings, one per case, in the order of the sweep.
        figures: SVG files by name ("error", "overlaps", "exponent"), in reading order.
        derivation: The derivation to show, if any.
        study_text: The study with its defaults filled in.
        provenance: Names and values for the footer (versions, hash of the solver module).
        files: Names of the files beside the report.
    """
    tables = (feature_table(found), run_table(found), Paragraph(_DEFINITIONS))
    parts = [
        Part("Findings", (*_warnings(found), claims_summary(found)), "findings"),
        Part("Curves", pictures(found, figures), "curves"),
        Part("Numbers", tables, "numbers"),
    ]
    compared = _comparison(found)
    if compared is not None:
        words = (
            f"{CRITERION} The table gives deviations and, in brackets, the standard error relative "
            "to the mean."
        )
        parts.append(Part("Equations and simulation", (Paragraph(words), compared), "comparison"))
    if derivation is not None:
        parts.append(replace(derivation.document, key="derivation", name="Derivation"))
    parts.append(Part("The study", (Verbatim(study_text),), "study"))
    made = [(f" · {name} ", value) for name, value in provenance]
    beside = [(", " if place else "Files beside this report: ", f) for place, f in enumerate(files)]
    return page(Part(title, parts, subtitle=subtitle, links=True), version_line(*made), beside)


def _warnings(found: Sequence[Findings]) -> list[Paragraph]:
    """Return the warnings of equations and simulations, each once."""
    warnings = dict.fromkeys(
        f"{one.case.label}: {warning}" if one.case.label else warning
        for one in found
        for warning in (*one.case.curve.warnings, *_simulation_warnings(one))
    )
    return [Paragraph(warning, tone="warning") for warning in warnings]


def _simulation_warnings(one: Findings) -> tuple[str, ...]:
    if one.case.points is None:
        return ()
    return tuple(w for w in one.case.points.warnings if w not in one.case.curve.warnings)
