"""A sample of ``make rule-pairs``, which solves all pairs; here all are stated, a few derived."""

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.rotating import DAY

import symderiv as sd
from rule_pairs import campaign
from rule_pairs.__main__ import main
from rule_pairs.campaign import DIMENSION, FEATURES, TIMES, followed, together, tried
from symderiv.integrate.rules.solving import rule_of_study
from symderiv.keys.study_tables import RULE_KEYS
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem


def test_every_key_of_rules_is_tried() -> None:
    tried_keys = {name for arguments in FEATURES.values() for name in arguments}
    assert {key for keys in RULE_KEYS.values() for key in keys} <= tried_keys


def test_all_pairs_are_taken_or_refused_at_once_by_name() -> None:
    """The statement of every eighth of those that are taken is written, other ones every day."""
    pairs = enumerate(together(2), start=DAY)
    found = [tried(pair, solve=False, state=not n % 8) for n, pair in pairs]
    assert [each for each in found if each.ending == "wrong"] == []
    assert sum(each.ending == "refused" for each in found) > 50


def test_triples_of_today() -> None:
    triples = random.Random(DAY).sample(list(together(3)), 40)
    found = [tried(triple, solve=False) for triple in triples]
    assert [each for each in found if each.ending == "wrong"] == []


def test_what_is_stated_is_derived() -> None:
    """The equations of pairs of today; proofs of the derivation raise where they fail."""
    for pair in random.Random(DAY).sample(list(together(2)), 3):
        if tried(pair, solve=False).ending == "stated":
            arguments: dict[str, Any] = dict(campaign._COMMON)
            for feature in pair:
                arguments |= FEATURES[feature]
            study = sd.Problem("erf", **arguments)._study
            rule = rule_of_study(study)
            derive_equations(learning_problem("erf", None, rule))


def test_the_command_counts_endings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--state", "--pairs", "8", "--triples", "2", "--seed", str(DAY)]
    monkeypatch.setattr("sys.argv", ["rule_pairs", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "stated: " in capsys.readouterr().out


def test_a_refusal_that_names_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise sd.InputError("no", argument="batch")

    monkeypatch.setattr(sd, "Problem", refuse)
    assert tried(("batch", "dropout"), solve=False).ending == "wrong"


def _recorded(scale: float, growth: float, points: int, runs: int = 0) -> SimpleNamespace:
    """Overlaps that grow by the same factor between times, of equations or of so many runs.

    Runs are apart by a hundredth, one half of them above and one half below.
    """
    wanted = scale * growth ** np.arange(points)[:, None, None] * np.ones((points, 3, 2))
    apart = 0.01 * (-1.0) ** np.arange(runs)[:, None, None, None]
    values = wanted * (1.0 + apart) if runs else wanted
    names: dict[str, Any] = {"Q": values, "R": values, "v": values[..., 0]}
    return SimpleNamespace(**names, further={"b": values[..., 0]}, message="run 1 diverged")


@pytest.mark.parametrize(
    ("run", "sgd", "ending"),
    [
        ((1.0, 1.0, 5), (1.0, 1.0, 5), "followed"),
        # within three standard errors of 0.01/√24, and 0.5/√N
        ((1.0, 1.0, 5), (1.0 + 0.4 / DIMENSION**0.5, 1.0, 5), "followed"),
        ((1.0, 1.0, 5), (1.0 - 0.9 / DIMENSION**0.5, 1.0, 5), "wrong"),
        # the runs diverge alone
        ((1.0, 1.0, 5), (1.0, 1.0, 3), "wrong"),
        # both grow: what is compared is what comes before
        ((1.0, 3.0, 4), (1.0, 3.0, 3), "followed"),
        ((1.0, 3.0, 4), (1.0, 3.3, 5), "wrong"),
        ((1.0, 11.0, 5), (1.0, 9.0, 5), "diverged"),
        ((1.0, 1.0, 1), (1.0, 1.0, 5), "diverged"),
    ],
)
def test_runs_are_followed_wrong_or_diverged(
    monkeypatch: pytest.MonkeyPatch,
    run: tuple[float, float, int],
    sgd: tuple[float, float, int],
    ending: str,
) -> None:
    class Problem:
        def __init__(self, activation: str, **_: object) -> None:
            assert activation == "erf"

        def solve(self, *, alpha: list[float]) -> SimpleNamespace:
            assert alpha == [0.0, *TIMES]
            return _recorded(*run)

        def simulate(self, *, alpha: list[float], runs: int) -> SimpleNamespace:
            assert alpha == [0.0, *TIMES]
            return _recorded(*sgd, runs)

    monkeypatch.setattr(sd, "Problem", Problem)
    assert followed(("batch",)).ending == ending
