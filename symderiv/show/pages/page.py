"""The HTML report: one file, no script, figures and font inside, formulas as MathML."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symderiv import __version__
from symderiv.show.pages.behind import csv_uri, figure_numbers, plain_cell
from symderiv.show.plots import features, plots
from symderiv.show.plots.claims import Claim, Findings, claims, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from symderiv.foundation.written_derivation import Derivation

_HERE = Path(__file__).parent

CRITERION = (
    "Deviation of the mean over the runs from the equations, (mean − equations) / standard error "
    f"of the mean, at up to {features.NUMBER_OF_TIMES} times spread evenly over ln α. Equations "
    "and simulation are said to agree if at least nine tenths of the deviations are in the range "
    f"that Student's t distribution covers with probability {100 * features.CONFIDENCE:g} % (3 "
    "standard errors for many runs, more for few). The standard error is the spread of the runs "
    "divided by the square root of their number; runs share the teacher and the initial student "
    "with the equations and differ in the examples they see."
)

_DEFINITIONS = (
    "The local exponent is −d ln ε_g / d ln α. A plateau is a time after the initial transient "
    f"(the first maximum of the local exponent) where the local exponent has a minimum below "
    f"{features.FLAT}: its height is ε_g there, it begins when ε_g comes within 10 % of the height "
    "and ends when ε_g has fallen below half of it. Slowest: the smallest local exponent after the "
    "transient. Rate and exponent of the final decay: means of −d ln ε_g / dα and of "
    "−d ln ε_g / d ln α over the last fifth of the time. Times are in units of α."
)


@dataclass(frozen=True)
class Table:
    """Column heads and rows of text."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def csv(self) -> str:
        """The table as a CSV file that the page holds."""
        return csv_uri([self.heads, *([plain_cell(cell) for cell in row] for row in self.rows)])


@dataclass(frozen=True)
class Labelled:
    """A claim with the word and the class that show whether it holds."""

    text: str
    label: str
    css: str


@dataclass(frozen=True)
class Picture:
    """A figure as a data URI, with its caption and the numbers it draws (a CSV file, or none)."""

    uri: str
    alt: str
    caption: str
    csv: str = ""


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["math"] = _with_scripts
    return environment


def _with_scripts(text: str) -> Any:
    """A sentence, escaped, with its subscripts (ε_g) and powers of ten set as HTML."""
    from markupsafe import Markup, escape

    safe = re.sub(r"([εησκ])_([A-Za-z])", r"\1<sub>\2</sub>", str(escape(text)))
    plain = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789")
    powers = re.compile(r"×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
    return Markup(powers.sub(lambda m: f"×10<sup>{m[1].translate(plain)}</sup>", safe))


def _data_uri(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _render(template: str, **values: Any) -> str:
    from markupsafe import Markup

    css = (_HERE / "templates" / "report.css").read_text(encoding="utf-8")
    font = (_HERE / "fonts" / "symderiv-math.woff").read_bytes()
    text: str = (
        _environment()
        .get_template(template)
        .render(
            version=__version__,
            css=Markup(css),
            font=Markup(_data_uri(font, "font/woff")),
            **values,
        )
    )
    return text


def _trusted(fragment: str) -> Any:
    """The HTML of a derivation, which has escaped its texts itself."""
    from markupsafe import Markup

    return Markup(fragment)


def derivation_page(derivation: Derivation) -> str:
    """A derivation as a complete HTML page."""
    return _render(
        "derivation.html.j2", title=derivation.title, derivation=_trusted(derivation.to_html())
    )


def svg_bytes(figure: Figure) -> bytes:
    """The figure as an SVG file."""
    buffer = io.BytesIO()
    plots.write(figure, buffer, "svg")
    return buffer.getvalue()


def labelled(claim: Claim) -> Labelled:
    """The claim with its verdict in words, so that it does not depend on colour."""
    word, css = {
        True: ("✓ holds", "holds"),
        False: ("✗ does not", "fails"),
        None: ("observed", "open"),
    }[claim.holds]
    return Labelled(claim.text, word, css)


def feature_table(found: Sequence[Findings]) -> Table:
    """Plateau and decay, one row per case."""
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
    return Table("Plateau and final decay", heads, rows)


def run_table(found: Sequence[Findings]) -> Table:
    """What the integration and the simulation took, one row per case."""
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
    return Table("Computation", ["Case", *names], rows)


def _cell(value: float | int | str | None) -> str:
    if value is None:
        return "—"
    return number(value) if isinstance(value, float) else str(value)


def _comparison(found: Sequence[Findings]) -> dict[str, Any] | None:
    """One row per compared time, one pair of columns per case."""
    compared = [one for one in found if one.agreement is not None]
    times = sorted({alpha for one in compared if one.agreement for alpha in one.agreement.alpha})
    if not times:
        return None
    heads = ["α", *(one.case.label or "deviation (standard error)" for one in compared)]
    bounds = {one.case.label: one.agreement.bound for one in compared if one.agreement}
    rows = []
    for alpha in times:
        cells, outside = [number(alpha, 4)], False
        for one in compared:
            cell, deviation = _compared_cell(one, alpha)
            cells.append(cell)
            outside |= deviation is not None and abs(deviation) > bounds[one.case.label]
        rows.append({"cells": cells, "outside": outside})
    return {"heads": heads, "rows": rows}


def _compared_cell(one: Findings, alpha: float) -> tuple[str, float | None]:
    """The deviation in standard errors and how large the standard error is."""
    points, compared = one.case.points, one.agreement
    if points is None or compared is None or alpha not in compared.alpha:
        return "—", None
    index = int(abs(points.alpha - alpha).argmin())
    relative = float(points.error_se[index]) / float(points.error[index])
    deviation = compared.deviations[compared.alpha.index(alpha)]
    signed = f"{deviation:+.2f}".replace("-", "−")
    return f"{signed} ({number(100 * relative, 2)} %)", deviation


def pictures(found: Sequence[Findings], figures: dict[str, Figure]) -> list[Picture]:
    """The figures of a study with captions that say what is drawn."""
    cases = [one.case for one in found]
    simulated = any(case.points is not None for case in cases)
    dots = "; points: means over SGD runs, bars: their standard error" if simulated else ""
    marked = any(one.plateau is not None and one.plateau.exists for one in found)
    band = "; broad bands: plateaus, vertical ticks: their ends" if marked else ""
    captions = {
        "error": "Generalisation error over log α (left) and α (right). "
        f"Lines: order-parameter equations{dots}{band}.",
        "overlaps": f"Student overlaps Q and student-teacher overlaps R{dots}.",
        "exponent": "Local exponent −d ln ε_g / d ln α of the generalisation error. Plateaus lie "
        "in the grey band; lines that leave at the top reach larger exponents.",
    }
    return [
        Picture(
            _data_uri(svg_bytes(figure), "image/svg+xml"),
            captions[name],
            captions[name],
            csv_uri(rows) if (rows := figure_numbers(name, found)) else "",
        )
        for name, figure in figures.items()
    ]


def study_page(
    *,
    title: str,
    subtitle: str,
    found: Sequence[Findings],
    figures: dict[str, Figure],
    derivation: Derivation | None,
    study_text: str,
    provenance: Sequence[tuple[str, str]] = (),
    files: Sequence[str] = (),
) -> str:
    """The report of a study as one HTML page.

    Args:
        title, subtitle: What was studied.
        found: The findings, one per case, in the order of the sweep.
        figures: Figures by name ("error", "overlaps", "exponent"), in reading order.
        derivation: The derivation to show, if any.
        study_text: The study with its defaults filled in.
        provenance: Names and values for the footer (versions, hash of the solver module).
        files: Names of the files beside the report.
    """
    warnings = dict.fromkeys(
        f"{one.case.label}: {warning}" if one.case.label else warning
        for one in found
        for warning in (*one.case.curve.warnings, *_simulation_warnings(one))
    )
    return _render(
        "study.html.j2",
        title=title,
        subtitle=subtitle,
        claims=[labelled(claim) for claim in claims(found)],
        warnings=list(warnings),
        figures=pictures(found, figures),
        tables=[feature_table(found), run_table(found)],
        definitions=_DEFINITIONS,
        compared=_comparison(found),
        criterion=f"{CRITERION} The table gives deviations and, in brackets, the standard error "
        "relative to the mean.",
        derivation=None if derivation is None else _trusted(derivation.to_html()),
        study_text=study_text,
        provenance=provenance,
        files=files,
    )


def _simulation_warnings(one: Findings) -> tuple[str, ...]:
    if one.case.points is None:
        return ()
    return tuple(w for w in one.case.points.warnings if w not in one.case.curve.warnings)
