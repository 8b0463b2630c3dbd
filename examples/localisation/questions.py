"""Questions 8 to 12 of the notes on localisation, answered with numbers.

    python examples/localisation/questions.py [--output FOLDER]

8  can location and localisation be predicted upfront; what if gates evolve?
9  can the winning gates be read off the flow; zero eigenvalues; small times?
10 which gates are best; is the best precision matrix diagonal; do tilings achieve it?
11 do the leading eigenvalues of given gates agree with what is seen?
12 how should the race of modes be set up, and its winner be mapped to the ReLU network?

Populations of single pulses on which all gating structures are tried, and nonlinear Gaussian
processes at gain 3, lengths 2 and 1, on 40 sites. Two minutes on one core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from symderiv_models.localisation.gate_search import all_merits, best_gates
from symderiv_models.localisation.gated_linear import GatedLinear
from symderiv_models.localisation.receptive import centre, participation_ratio
from symderiv_models.localisation.sign_means import one_site_flow
from symderiv_models.localisation.training import Learner

import symderiv as sd

SITES = 40
INPUTS = sd.NLGP(gain=3, lengths=(2, 1), sites=SITES)
Numbers = dict[str, Any]


def pulses(sites: int, one: tuple[int, ...], zero: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Distinct pulses in {0, 1} of both labels: inputs, E[y | x], probabilities."""
    share: dict[tuple[int, ...], list[float]] = {}
    for label, lengths in ((1, one), (0, zero)):
        for length in lengths:
            for first in range(sites):
                pulse = tuple(int((i - first) % sites < length) for i in range(sites))
                parts = share.setdefault(pulse, [0.0, 0.0])
                parts[label] += 0.5 / len(lengths) / sites
    weight = np.array(list(share.values()))
    probability = weight.sum(axis=1)
    return np.array(list(share), dtype=float), weight[:, 1] / probability, probability


def search(numbers: Numbers) -> None:
    """Questions 9 and 10: all gating structures of small populations, and the descent."""
    cases = (
        ("4 sites, lengths 2 and 1, K = 1", (4, (2,), (1,)), 1),
        ("4 sites, lengths 2 and 1, K = 2", (4, (2,), (1,)), 2),
        ("4 sites, lengths 2, 3 and 1, 2, K = 1", (4, (2, 3), (1, 2)), 1),
        ("3 sites, lengths 1, 2 and 1, K = 2", (3, (1, 2), (1,)), 2),
        ("3 sites, lengths 1, 2 and 1, K = 3", (3, (1, 2), (1,)), 3),
    )
    for name, population, units in cases:
        x, y, p = pulses(*population)
        found = all_merits(x, y, p, units)
        best, tiles, apart = found.best(), found.tiling(), found.exclusive()
        second = float(np.sum(p * y))  # of labels 0 and 1
        # what no function of x explains
        left = float(np.sum(p * y * (1.0 - y)))
        descent = second - best_gates(x, y, p, units).merit()
        first = int(np.argmax(found.source))
        row: Numbers = {
            "structures": len(found.merit),
            "best loss": second - float(np.max(found.merit)),
            "loss that no gates undercut": left,
            "found by the descent": descent,
            "best structures": len(best),
            "rank correlation of |b|² and merit": float(spearmanr(found.source, found.merit)[0]),
            "loss of the structure that starts fastest": second - float(found.merit[first]),
        }
        if units > 1:
            row |= {
                "exclusive: of all, of the best": [float(apart.mean()), float(apart[best].mean())],
                "tilings that are best": float(np.isin(np.flatnonzero(tiles), best).mean()),
                "coupling of A⁺: of all, of the best": [
                    float(found.coupling.mean()),
                    float(found.coupling[best].mean()),
                ],
            }
        numbers[name] = row


def bump(place: float) -> np.ndarray:
    away = np.abs((np.arange(SITES) - place + SITES / 2) % SITES - SITES / 2)
    return np.asarray(np.exp(-(away**2) / 2.0))


def sample(examples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    half = examples // 2
    drawn = [INPUTS.sample(label, (half,), random) for label in (1, 0)]
    return np.concatenate(drawn), np.repeat([1.0, 0.0], half)


def half_spaces(numbers: Numbers) -> None:
    """Questions 10 and 11: gates that ReLU units can have; losses on fresh inputs."""
    x, y = sample(10_000, 5)
    fresh, label = sample(10_000, 6)
    random = np.random.default_rng(7)
    for units in (2, 4):
        learnt = Learner(INPUTS, units).sgd(2000, 1, 0, points=4).weights[-1, 0]
        pairs = [(-1) ** k * bump((k // 2) * 2 * SITES / units) for k in range(units)]
        waves = [
            np.cos(2 * np.pi * (k // 2 + 1) * np.arange(SITES) / SITES + k % 2 * np.pi / 2)
            for k in range(units)
        ]
        vectors = {
            "of the ReLU network": learnt,
            "opposite pairs of bumps that tile": np.array(pairs),
            "bumps of one sign that tile": np.array(
                [bump(k * SITES / units) for k in range(units)]
            ),
            "waves": np.array(waves),
            "random": random.standard_normal((units, SITES)),
        }
        relu = (np.mean(np.maximum(fresh @ learnt.T, 0.0), axis=1) - label) ** 2
        row: Numbers = {"the ReLU network itself": _mean(relu)}
        for name, gate in vectors.items():
            network = GatedLinear(x, y, (x @ gate.T > 0.0).astype(float))
            weights = network.limit(np.zeros((units, SITES)))
            output = np.mean((fresh @ gate.T > 0.0) * (fresh @ weights.T), axis=1)
            row[name] = _mean((output - label) ** 2)
            if name == "of the ReLU network":
                numbers[f"modes of the gates of the ReLU network, K = {units}"] = modes(
                    network, learnt
                )
        row["centres of the ReLU network"] = np.sort(centre(learnt)).round(1).tolist()
        row["signs of the ReLU network"] = [
            float(np.sign(field[np.argmax(np.abs(field))])) for field in learnt
        ]
        numbers[f"loss with gates, K = {units}"] = row


def _mean(values: np.ndarray) -> list[float]:
    return [float(np.mean(values)), float(np.std(values) / np.sqrt(values.size))]


def modes(network: GatedLinear, learnt: np.ndarray) -> Numbers:
    """Question 11: leading eigenvectors of A, and those that lower the loss most."""
    values, vectors = np.linalg.eigh(network.correlation)
    gain = (vectors.T @ network.source) ** 2 / values
    shape = learnt.shape

    def described(index: np.ndarray) -> Numbers:
        fields = vectors[:, index].T.reshape(-1, *shape)
        part = vectors[:, index] @ (vectors[:, index].T @ network.source / values[index])
        cosine = part @ learnt.ravel() / np.linalg.norm(part) / np.linalg.norm(learnt)
        return {
            "share of the merit": float(np.sum(gain[index]) / np.sum(gain)),
            "participation ratio of a unit": float(np.mean(participation_ratio(fields))),
            "cosine of their sum with the ReLU network": float(cosine),
        }

    count = shape[0] * 4
    return {
        f"{count} largest eigenvalues": described(np.argsort(values)[-count:]),
        f"{count} largest gains c²/λ": described(np.argsort(gain)[-count:]),
        "all": described(np.arange(values.size)),
    }


def places(numbers: Numbers) -> None:
    """Questions 8 and 12: what is known of the end at each time, one unit, eight runs."""
    runs, learner = 8, Learner(INPUTS, 1, batch=1000)
    learnt = learner.sgd(600, runs, 0, points=8)
    fields = learnt.weights[:, :, 0]
    end = centre(fields[-1])
    x, y = sample(4000, 8)

    def away(place: np.ndarray) -> list[float]:
        return _mean(np.abs((place - end + SITES / 2) % SITES - SITES / 2))

    def cosine(first: np.ndarray, second: np.ndarray) -> float:
        lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        return float(np.mean(np.sum(first * second, axis=1) / lengths))

    predicted = np.stack([one_site_flow(INPUTS.law, start, 60.0) for start in fields[0]])
    rows: Numbers = {
        "chance, sites": SITES / 4,
        "flow by one site, from the start: sites off": away(centre(predicted)),
        "its participation ratio, and that learnt": [
            float(np.mean(participation_ratio(each))) for each in (predicted, fields[-1])
        ],
    }
    for time, now in zip(learnt.time, fields, strict=True):
        gated = [
            GatedLinear(x, y, (x @ field > 0.0).astype(float)[:, None]).limit(np.zeros((1, SITES)))
            for field in now
        ]
        rows[f"time {time:.3g}"] = {
            "centre of the field now: sites off": away(centre(now)),
            "cosine with the end: field, gated network with the gates of now": [
                cosine(now, fields[-1]),
                cosine(np.concatenate(gated), fields[-1]),
            ],
        }
    numbers["location of one unit"] = rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    numbers: Numbers = {}
    for part in (search, half_spaces, places):
        part(numbers)
    text = json.dumps(_short(numbers), indent=1, ensure_ascii=False)
    (folder / "questions.json").write_text(text + "\n")
    print(text)


def _short(value: Any) -> Any:
    """Three digits, and zeros without rounding noise."""
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_short(each) for each in value]
    if isinstance(value, float):
        return 0.0 if abs(value) < 1e-9 else float(f"{value:.3g}")
    return value


if __name__ == "__main__":
    main()
