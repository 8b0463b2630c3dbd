"""The usual letters of parameters of learning problems, in LaTeX."""

from __future__ import annotations

from typing import Final

__all__ = ["PARAMETER_LETTERS"]

PARAMETER_LETTERS: Final = {
    "learning_rate": (r"\eta", ""),
    "second_layer_learning_rate": (r"\eta", "v"),
    "bias_learning_rate": (r"\eta", "b"),
    "weight_decay": (r"\kappa", ""),
    "second_layer_weight_decay": (r"\kappa", "v"),
    "label_noise": (r"\sigma", ""),
    "input_noise": (r"\sigma", "x"),
    "update_noise": (r"\sigma", "J"),
    "momentum_rate": (r"\gamma", ""),
    "averaging_rate": (r"\gamma", "A"),
    "sobolev_weight": (r"\lambda", ""),
    "consistency_weight": (r"\lambda", "A"),
    "batch_ratio": ("c", ""),
}
"""The letter of a parameter of that name, and its index."""
