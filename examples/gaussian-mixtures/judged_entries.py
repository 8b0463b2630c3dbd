"""Each figure and table with what the paper says of it, and whether that is found here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from drawn_figures import LABELS, against_divergence, table_figure, trajectories
from figures_page import Entry, FigureRemark
from kept_runs import COMPONENTS, SEPARATIONS
from learning_runs import ACTIVATIONS, Setting
from mixture_laws import NORMAL, Law
from printed_tables import (
    PRINTED,
    READINGS,
    TABLES,
    beyond,
    cells,
    kept_level,
    relative_excess,
    row_law,
    scatter,
)
from run_summary import GROUPS, Mean, Summary
from sample_means import compared, distributions, divergences, relative_differences

#: Mean curves agree up to this share of the mean size of Q, R, v and so many standard errors;
#: so many errors tell other means apart as well.
CLOSE, ERRORS = 0.05, 4.0
#: Discrepancies that grow exceed those of normal inputs by this factor in the end.
FLAT = 1.5
#: What equations 17 and 19 could mean as well, at separation 9, standardised.
READ_OTHERWISE = {
    "one component per example": Law(2, 9, True, "sample"),
    "one component per example, one mean for all coordinates": Law(2, 9, True, "sample", "common"),
    "one component per coordinate, one mean for all": Law(2, 9, True, "coordinate", "common"),
}
#: The numbers of figures 3 to 5, S3, S4: activation, whether standardised.
AGAINST = {
    "3": ("relu", False),
    "5": ("relu", True),
    "S3": ("erf", False),
    "S4": ("erf", True),
}


def makers(summary: Callable[[], Summary]) -> dict[str, Callable[[], Entry]]:
    """What can be made, by name; the summary is asked for only where it is needed."""
    found: dict[str, Callable[[], Entry]] = {"S1": _means, "S2": _divergences}
    found["2"] = lambda: _trajectories(summary(), "2", standardised=False)
    found["4"] = lambda: _trajectories(summary(), "4", standardised=True)
    for name in AGAINST:
        found[name] = lambda name=name: _against(summary(), name)  # type: ignore[misc]
    for activation, number in TABLES.items():
        found[f"Table {number}"] = lambda a=activation: _table(summary(), a)  # type: ignore[misc]
    return found


def _parameters(setting: Setting) -> str:
    sizes = f"D = {setting.latent}, N = {setting.dimension}, {setting.end:g} N examples"
    return f"{sizes}; K = M = 2, η = 0.2, both layers, f = sgn; v = 0.5 at the start, teacher's 1"


def _trajectories(summary: Summary, name: str, *, standardised: bool) -> Entry:
    statements = []
    for activation in ACTIVATIONS:
        for assignment in ("coordinate", "sample"):
            law = Law(2, 9, standardised, assignment)
            curves = summary.curves[activation].get(law.name)
            if curves is None:
                continue
            off = np.abs(curves.difference.value)
            clear = off - ERRORS * np.nan_to_num(curves.difference.error)
            sizes = np.abs(curves.equations).mean(axis=0)
            parts = list(GROUPS.values())
            ratios = [float(off[:, p].max() / sizes[p].mean()) for p in parts]
            error = float(np.max(off[:, 10] / curves.equations[:, 10]))
            worst = max(float(clear[:, p].max() / sizes[p].mean()) for p in parts)
            follows = worst < CLOSE
            per = "coordinate" if assignment == "coordinate" else "example"
            words = ", ".join(f"{k} {r:.1%}" for k, r in zip(GROUPS, ratios, strict=True))
            kind = "standardised" if standardised else "not standardised"
            verb = "follows" if follows else "leaves"
            statements.append(
                FigureRemark(
                    f"{LABELS[activation]}, {kind}, component drawn per {per}: SGD {verb} the "
                    f"equations of normal inputs; means are at most {words} of their mean size "
                    f"off, the error on the law itself at most {error:.1%}",
                    follows == standardised,
                )
            )
    count = len(summary.measured["erf"][Law(2, 9, standardised).name].seeds)
    return Entry(
        name,
        f"two components, separation 9, {'' if standardised else 'not '}standardised",
        (_parameters(summary.setting), f"{count} repetitions, each with its own F, teacher, "
         "start and means; bars: standard error of SGD less equations"),
        trajectories(summary, standardised=standardised),
        "The error of SGD is that on fresh examples of the law itself; Q and R are by the "
        "covariances of normal inputs. Nothing saturates by the end of the run.",
        statements,
    )  # fmt: skip


def _against(summary: Summary, name: str) -> Entry:
    activation, standardised = AGAINST[name]
    statements = []
    for m in COMPONENTS:
        every = [Law(m, a, standardised) for a in SEPARATIONS]
        laws = [law for law in every if summary.of(activation, law)]
        if not laws:
            continue
        excess = relative_excess(summary, activation, laws)
        last = relative_excess(summary, activation, laws[-1:])
        flat = bool(np.all(np.abs(excess.value) < ERRORS * excess.error))
        grows = bool(np.all(last.value > np.maximum(ERRORS * last.error, FLAT - 1.0)))
        statements.append(
            FigureRemark(
                f"m = {m}: mean discrepancy at separations 1 to 9 less that of normal inputs, in "
                f"units of it: {_groups(excess)}; at {laws[-1].separation}: {_groups(last)}",
                flat if standardised else grows,
            )
        )
    diverged = sum(len(each.diverged) for each in summary.measured[activation].values())
    if diverged:
        statements.append(FigureRemark(f"{diverged} runs diverged and are left out"))
    kind = "standardised" if standardised else "not standardised"
    return Entry(
        name,
        f"discrepancy against the divergence from N(0, 1), {LABELS[activation]}, {kind}",
        (_parameters(summary.setting), "component drawn per coordinate; root mean square over "
         "log-spaced times; strips: standard error over repetitions"),
        against_divergence(summary, activation, standardised=standardised),
        "The divergence is computed, not estimated from samples.",
        statements,
    )  # fmt: skip


def _groups(mean: Mean) -> str:
    pairs = zip(GROUPS, mean.value, mean.error, strict=False)
    return ", ".join(f"{name} {value:+.2f} ± {error:.2f}" for name, value, error in pairs)


def _table(summary: Summary, activation: str) -> Entry:
    statements = _level(summary, activation) + _rows(summary, activation)
    statements += _readings_of_the_law(summary, activation)
    return Entry(
        f"Table {TABLES[activation]}",
        f"tLog-RMSE per component, {LABELS[activation]}, standardised, two components",
        (_parameters(summary.setting), "component drawn per coordinate; within each component "
         "α = 0 to 9 from left to right; bars: standard errors; all numbers: tables.txt"),
        table_figure(summary, activation),
        "Dots: root mean square over log-spaced times. Triangles: equation 18 with the size of "
        "what is under its root.",
        statements,
    )  # fmt: skip


def _level(summary: Summary, activation: str) -> list[FigureRemark]:
    """Single numbers: how many agree, by either reading, and what the level depends on."""
    found = list(cells(summary, activation))
    entries = [cell for cell in found if cell.separation is not None]
    statements = []
    for reading in READINGS:
        agree = sum(cell.agrees(reading) for cell in entries)
        ratio = np.array([cell.printed / cell.ours[reading][0] for cell in entries])
        words = f"{ratio.min():.2f} to {ratio.max():.2f}, median {np.median(ratio):.2f}"
        statements.append(
            FigureRemark(
                f"{reading}: {agree} of {len(entries)} printed numbers agree with ours; printed "
                f"over ours is {words}",
                agree == len(entries),
            )
        )
    sizes = [cell for cell in found if cell.separation is None]
    agree = sum(cell.agrees("size") for cell in sizes)
    start = "the start that the print has is not stated"
    text = f"last row: {agree} of {len(sizes)} mean sizes agree; {start}"
    statements.append(FigureRemark(text, agree == len(sizes)))
    normal = summary.of(activation, NORMAL)
    assert normal is not None
    statements.append(
        FigureRemark(
            "equation 18 as printed is the root of a negative number at "
            f"{normal.imaginary:.0%} of times and components",
            normal.imaginary == 0.0,
        )
    )
    every, best = kept_level(summary, activation)
    statements.append(
        FigureRemark(
            f"mean of row α = 0: {every:.4f} over all repetitions, {best:.4f} over the ten best "
            "(the paper keeps ten of twenty)"
        )
    )
    return statements


def _rows(summary: Summary, activation: str) -> list[FigureRemark]:
    """Rows beside each other, and columns that must be the same."""
    every = [row_law(a) for a in PRINTED[activation] if a]
    rows = [law for law in every if summary.of(activation, law)]
    excess, (far, count) = relative_excess(summary, activation, rows), beyond(summary, activation)
    spread = scatter(summary, activation)
    ours = ", ".join(f"{spread[reading]:.1%} ({reading})" for reading in READINGS)
    apart = np.array([row[1] - row[2] for row in PRINTED[activation].values()])
    return [
        FigureRemark(
            "the separation does not matter once components are drawn per coordinate and "
            f"standardised: rows α > 0 are {excess.value[3]:+.1%} ± {excess.error[3]:.1%} from row "
            f"α = 0; of their {count} differences {far} are beyond 3 standard errors",
            bool(abs(excess.value[3]) < ERRORS * excess.error[3]),
        ),
        FigureRemark(
            f"printed rows scatter by {spread['printed']:.1%} about their mean; rows of ten "
            f"independent runs each would by {ours}"
        ),
        FigureRemark(
            "Q is symmetric, so that M(Q01) = M(Q10) by any definition; printed they differ in "
            f"{int(np.count_nonzero(apart))} of {apart.size} rows, by up to "
            f"{np.abs(apart).max():.3f}",
            not np.any(apart),
        ),
    ]


def _readings_of_the_law(summary: Summary, activation: str) -> list[FigureRemark]:
    normal = summary.of(activation, NORMAL)
    assert normal is not None
    statements = []
    for words, law in READ_OTHERWISE.items():
        other = summary.of(activation, law)
        if other is not None:
            ratio = float(other.discrepancy.value.mean() / normal.discrepancy.value.mean())
            text = f"{words}: row α = 9 is {ratio:.1f} times that of normal inputs"
            statements.append(FigureRemark(text, ratio < FLAT))
    return statements


def _means() -> Entry:
    statements = []
    for law in compared():
        words = f"{law.mixed[0]:.4f} against {law.normal[0]:.4f}"
        statements.append(
            FigureRemark(
                f"E {law.name} is {words}: sample means of 1000 draws are {law.apart:.1f} "
                "standard errors apart",
                law.apart < 1.0,
            )
        )
    for name, values in relative_differences().items():
        worst = float(np.max(np.abs(values)))
        statements.append(
            FigureRemark(
                f"{name} under the mixture is that of N(0, 1) within {worst:.2%}", worst < 1e-3
            )
        )
    return Entry(
        "S1",
        "lemma V.3: means of functions under a standardised mixture and N(0, 1)",
        ("one variable, two components ±9 of equal weight, standardised; 2000 means of 1000 draws "
         "each; lines: normal laws with the exact mean and variance",),
        distributions(),
        "E erf and E sgn are 0 for every even law: those two panels say nothing of the lemma. "
        "E u sgn u changes as E ReLU does, E ReLU² not at all.",
        statements,
    )  # fmt: skip


def _divergences() -> Entry:
    figure, lines = divergences()
    rising = all(np.all(np.diff(values) > 0) for (_, kind), values in lines.items() if not kind)
    standard = max(float(values[-1]) for (_, kind), values in lines.items() if kind)
    return Entry(
        "S2",
        "divergence of a latent coordinate from N(0, 1) against the separation",
        ("mean over 500 coordinates, means drawn once and multiplied by α",),
        figure,
        "",
        (
            FigureRemark("without standardising it grows with the separation", bool(rising)),
            FigureRemark(
                f"standardised it stays small: at most {standard:.2f} nats at separation 9",
                standard < np.log(500.0),
            ),
        ),
    )
