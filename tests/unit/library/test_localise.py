"""``sd.localise``: what localises, what does not, and what is refused."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.showing import json_text


def test_signs_localise_and_their_surrogate_does_not() -> None:
    settings = {
        "gain": math.inf,
        "lengths": (2, 0.5),
        "sites": 20,
        "runs": 3,
        "steps": 250,
        "batch": 120,
        "learning_rate": 0.3,
        "initial_std": 0.05,
    }
    local = sd.localise(**settings)
    spread = sd.localise(**settings, inputs="gaussian")
    first, second = (each.participation_ratio for each in (local, spread))
    error = math.hypot(first["standard_error"], second["standard_error"])
    assert first["mean"] - second["mean"] > 5.0 * error
    assert np.array(local.centre).shape == (3, 1)


def test_the_flow_of_gaussian_inputs_is_at_rest(tmp_path: Path) -> None:
    found = sd.localise(gain=3, lengths=(2, 1), sites=12, inputs="gaussian", method="flow", runs=2)
    assert found.converged
    assert found.weights.shape == (40, 2, 1, 12)
    assert "participation ratio" in found.to_text()
    assert len(json_text(found.to_dict())) > 100
    copied = pickle.loads(pickle.dumps(found))
    assert copied.loss == pytest.approx(found.loss)
    found.time, found.weights = found.time[:2], found.weights[:2]
    found.animate(tmp_path / "fields.html")
    page = (tmp_path / "fields.html").read_text()
    assert "Receptive fields in time" in page
    assert "<link" not in page
    assert 'class="fa' not in page


def test_biases_and_the_cross_entropy_are_learnt() -> None:
    found = sd.localise(
        lengths=(5, 2),
        inputs="single-pulse",
        sites=12,
        runs=2,
        steps=200,
        batch=40,
        units=2,
        activation="sigmoid",
        loss="cross-entropy",
        biases=True,
        learning_rate=0.5,
    )
    assert np.all(found.biases[-1] != 0.0)
    assert np.all(np.array(found.loss) < 0.8)


def test_the_flow_of_biases_is_followed_to_its_end() -> None:
    settings: dict[str, Any] = {"lengths": (1.5, 0.8), "inputs": "gaussian", "sites": 10}
    found = sd.localise(**settings, method="flow", runs=1, biases=True, initial_std=0.1)
    assert found.biases.shape == (40, 1, 1)
    assert found.converged
    assert "closed means" in found.to_dict()["method"]
    # thresholds can only help
    without = sd.localise(**settings, method="flow", runs=1, initial_std=0.1)
    assert found.loss[0] < without.loss[0]


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"gain": None}, "gain"),
        ({"gain": -1.0}, "gain"),
        ({"lengths": (2,)}, "lengths"),
        ({"runs": 0}, "runs"),
        ({"batch": 3}, "batch"),
        ({"learning_rate": math.nan}, "learning_rate"),
        ({"inputs": "images"}, "inputs"),
        ({"method": "newton"}, "method"),
        ({"loss": "hinge"}, "loss"),
        ({"activation": "sign"}, "activation"),
        ({"inputs": "gaussian", "method": "flow", "activation": "tanh", "units": 3}, "units"),
        ({"inputs": "gaussian", "method": "flow", "loss": "cross-entropy"}, "loss"),
        ({"inputs": "single-pulse", "lengths": (10, 2)}, "gain"),
        ({"runs": 10**9}, "runs"),
    ],
)
def test_what_cannot_be_learnt_is_refused(change: dict[str, object], argument: str) -> None:
    settings: dict[str, object] = {"gain": 2.0, "lengths": (2, 1), "steps": 2, "runs": 1} | change
    with pytest.raises(sd.InputError) as raised:
        sd.localise(**settings)  # type: ignore[arg-type]
    assert raised.value.argument == argument
