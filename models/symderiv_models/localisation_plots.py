"""Receptive fields on a ring: at the end of learning, and as they grow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.show.plots.axes import beside, new_axes
from symderiv.show.plots.plots import colour
from symderiv_models.localisation.receptive import centre, is_localised, participation_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["animation", "field_axes"]

_LOCAL, _SPREAD = 0, 1
_FRAMES_PER_SECOND = 8
_BUTTONS = {
    "minus": "−", "fast-backward": "«", "step-backward": "‹", "play fa-flip-horizontal": "◀",
    "play": "▶", "pause": "❚❚", "step-forward": "›", "fast-forward": "»", "plus": "+",
}  # fmt: skip
# Sides of a frame in inches, and its dots per inch.
_FRAME, _DPI = (6.4, 3.6), 90


def field_axes(found: Any, ax: Axes | None = None) -> Axes:
    """Draw the fields of all runs and units, each turned so that its centre is in the middle.

    Args:
        found: a :class:`~symderiv.api.results.runs.localise.Localisation`.
        ax: where to draw; new axes when None.
    """
    axis = new_axes(ax)
    fields = found.weights[-1].reshape(-1, found.weights.shape[-1])
    sites = fields.shape[1]
    local = is_localised(fields)
    labels = {True: "localised", False: "not localised"}
    for field, is_local in zip(fields, local, strict=True):
        turn = sites // 2 - round(float(centre(field)))
        turned = np.roll(field, turn) / np.linalg.norm(field)
        label = labels.pop(bool(is_local), None)
        shade = colour(_LOCAL if is_local else _SPREAD, 2)
        axis.plot(np.arange(sites) - sites // 2, turned, color=shade, alpha=0.7, label=label)
    axis.axhline(0.0, color="#999999", linewidth=0.6)
    process, _, lengths = found.inputs.partition(", lengths")
    ratio = found.participation_ratio
    error = ratio["standard_error"]
    spread = "" if error is None else f" ± {error:.2g}"
    axis.set(
        xlabel="site, from the centre of the field",
        ylabel="weight, norm 1",
        title=f"{process},\nlengths{lengths}\nparticipation ratio {ratio['mean']:.3g}{spread}",
    )
    axis.title.set_fontsize(9)
    beside(axis, axis.get_legend_handles_labels()[0])
    return axis


def animation(found: Any) -> str:
    """Return a page with the fields of the first run at all times that were kept."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    fields = found.weights[:, 0]
    units, sites = fields.shape[1:]
    figure, axis = plt.subplots(figsize=_FRAME, dpi=_DPI, layout="constrained")
    lines = [
        axis.plot(np.arange(sites), fields[0, unit], color=colour(unit, units))[0]
        for unit in range(units)
    ]
    most = 1.05 * float(np.max(np.abs(fields)))
    axis.set(xlabel="site", ylabel="weight", ylim=(-most, most))
    axis.axhline(0.0, color="#999999", linewidth=0.6)

    def draw(frame: int) -> list[Any]:
        for unit, line in enumerate(lines):
            line.set_ydata(fields[frame, unit])
        ratios = ", ".join(f"{each:.2g}" for each in participation_ratio(fields[frame]))
        axis.set_title(f"time {found.time[frame]:.3g}   participation ratio {ratios}", fontsize=9)
        return list(lines)

    interval = 1000 // _FRAMES_PER_SECOND
    moving = FuncAnimation(figure, draw, frames=len(found.time), interval=interval)
    with mpl.rc_context({"animation.embed_limit": 50}):
        player = moving.to_jshtml(default_mode="once")
    plt.close(figure)
    # the icons of buttons need a font from another site; letters work on a page alone
    player = re.sub(r"<link[^>]*>", "", player)
    for name, letter in _BUTTONS.items():
        player = re.sub(rf'<i class="fa fa-{name}[^"]*">\s*</i>', letter, player)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{found.inputs}</title><style>body{{font-family:sans-serif;margin:1em}}"
        "img{max-width:100%;height:auto}h1{font-size:1.4em}"
        ".animation,.anim-controls,.animation input{max-width:100%!important;box-sizing:border-box}"
        ".anim-buttons{display:flex;flex-wrap:wrap;justify-content:center}"
        ".anim-buttons button{width:auto!important;min-width:2.2em;padding:.2em}"
        "</style></head><body>"
        f"<h1>Receptive fields in time</h1><p>{found.inputs}</p>{player}</body></html>\n"
    )
