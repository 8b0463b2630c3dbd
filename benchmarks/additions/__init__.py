"""Additions to the engine that ``benchmarks.house`` tries, to count the files that they touch."""

from benchmarks.additions.addition import Addition, Copy
from benchmarks.additions.closed_mean import CLOSED_MEAN
from benchmarks.additions.input_model import INPUT_MODEL
from benchmarks.additions.key import KEY
from benchmarks.additions.language import LANGUAGE
from benchmarks.additions.loss import LOSS
from benchmarks.additions.rule import RULE

__all__ = ["ADDITIONS", "Addition", "Copy"]

ADDITIONS = (RULE, CLOSED_MEAN, LANGUAGE, INPUT_MODEL, LOSS, KEY)
