"""The examples of one gradient step: kept trials, and panels that are settings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.examples import importing

import symderiv as sd


@pytest.fixture
def examples() -> Any:
    with importing("one-step") as load:
        yield load("figures"), load("kept_trials")


def test_kept_trials_are_read_again_also_after_a_stop(examples: Any, tmp_path: Path) -> None:
    kept = examples[1]
    keys = {"n": 8, "models": ["network", "hermite"]}
    rows = [(0, 1.0, 1.1), (1, 3.0, 3.5)]
    lines = [
        json.dumps({"keys": keys, "seed": seed, "errors": {"network": a, "hermite": b}})
        for seed, a, b in rows
    ]
    path = tmp_path / "trials.jsonl"
    path.write_text("\n".join(lines) + '\n{"keys": {"n"')
    trials = kept.Trials(path)
    trials.run([(keys, 0), (keys, 1)], 1)  # nothing is missing: the file stays as it is
    assert path.read_text().endswith('{"n"')
    point = trials.point(keys, range(5))
    assert point.trials == 2
    assert point.errors["network"].value == 2.0
    # 0.1 and 0.5 of 2 in per cent
    assert point.difference("hermite").value == pytest.approx(15.0)
    assert point.difference("hermite").error == pytest.approx(20 / math.sqrt(2) / math.sqrt(2))
    assert trials.point({**keys, "n": 9}, range(5)) is None


def test_a_stopped_run_goes_on_behind_a_broken_line(
    examples: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = examples[1]

    class InTurn:
        def __init__(self, processes: int) -> None: ...
        def __enter__(self) -> InTurn:
            return self

        def __exit__(self, *_: object) -> None: ...

        map = staticmethod(map)

    monkeypatch.setattr(kept, "ProcessPoolExecutor", InTurn)
    monkeypatch.setattr(kept, "_trial", lambda wanted: (*wanted, {"network": 1.0 + wanted[1]}))
    path = tmp_path / "trials.jsonl"
    path.write_text('{"keys": {"n"')
    kept.Trials(path).run([({"n": 5}, 0), ({"n": 5}, 1)], 1)
    assert kept.Trials(path).point({"n": 5}, range(3)).errors["network"].value == 1.5


def test_a_trial_is_that_of_the_library(examples: Any) -> None:
    keys = {"n": 10, "activation": "tanh", "models": ["network"]}
    errors = examples[1]._trial((keys, 3))[2]
    alone = sd.OneStep(**keys, trials=1, seed=3).run(progress=False)
    assert errors == {"network": alone.errors["network"]["mean"]}


def test_a_curve_has_no_trials_and_strengths_of_a_trial_are_its_own(
    examples: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symderiv_models.one_step.asymptotic._DRAWS", 2)
    kept = examples[1]
    keys = {"n": 60, "spikes": "uniform", "models": ["asymptotic"]}
    setting = sd.OneStep(n=60, spikes="uniform", seed=4, trials=1, models=["network", "asymptotic"])
    own = setting.run(progress=False).errors["asymptotic"]["mean"]
    average = sd.OneStep(n=60, spikes="uniform").asymptotic().test
    assert kept._trial((keys, 4))[2] == {"asymptotic": own}
    assert kept._trial((keys, None))[2] == {"asymptotic": average}
    path = tmp_path / "curve.jsonl"
    path.write_text(json.dumps({"keys": keys, "seed": 4, "errors": {"asymptotic": own}}) + "\n")
    curve = kept.Trials(path)
    # it is found by the keys of the trials that it is the limit of
    assert curve.limit({**keys, "models": ["network"]}, 4) == own != average
    assert math.isnan(curve.limit(keys))


def test_tables_compare_with_what_they_say(
    examples: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import equivalence

    for name, table in equivalence.TABLES.items():
        for row in table.rows(8, 2):
            sd.OneStep(**row.keys)
            assert {row.model, row.reference} <= set(row.keys["models"]), name
    rows = equivalence.drawn(8, 2)[:1]
    errors = {"network": 5.0, "ridge_equations": 2.2, "asymptotic": 2.0}
    lines = [{"keys": rows[0].keys, "seed": s, "errors": errors} for s in (0, 1, 2)]
    path = tmp_path / "trials.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    equivalence.show("title", rows, examples[1].Trials(path))
    assert "2.00000 ± 0.00000       +10.00 ± 0.00 %   2" in capsys.readouterr().out


def test_every_point_of_every_panel_is_a_setting_and_panels_share_some(examples: Any) -> None:
    figures = examples[0]
    names = []
    for panel in figures.PANELS:
        for x in panel.places:
            for activation in figures.ACTIVATIONS:
                keys = panel.keys(x, activation, figures.WHOLE)
                sd.OneStep(**keys)
                names.append(json.dumps(sorted(keys.items())))
            assert set(panel.read) == set(figures.ACTIVATIONS)
        known = {x for values in panel.read.values() for x in values}
        assert known <= set(panel.places)
    assert len(set(names)) < len(names)
