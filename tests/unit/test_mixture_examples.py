"""The example on Gaussian mixtures: laws, SGD, runs that are kept, and what is made of them."""

import io
import json

import numpy as np
import pytest
from support.examples import importing


@pytest.fixture
def example():
    with importing("gaussian-mixtures") as load:
        yield load


class Made:
    """In place of a repetition: numbers that depend on what is asked for, and a count."""

    def __init__(self, setting, seed, example):
        self.setting, self.seed, self.names = setting, seed, example("learning_runs").NAMES
        self.calls = 0

    def _curves(self, *words):
        seed = sum(map(ord, repr((self.seed, *words))))
        shape = self.setting.examples.size, len(self.names)
        return 1.0 + 0.1 * np.random.default_rng(seed).random(shape)

    def equations(self, activation):
        self.calls += 1
        return self._curves(activation)

    def sgd(self, law):
        self.calls += 1
        return {name: self._curves(name, law.name) for name in ("erf", "relu")}


@pytest.fixture
def made(example, monkeypatch):
    """Repetitions that cost nothing, by seed."""
    kept = example("kept_runs")
    found = {}

    def repetition(setting, seed):
        return found.setdefault(seed, Made(setting, seed, example))

    monkeypatch.setattr(kept, "repetition", repetition)
    return found


def _tiny(example):
    return example("learning_runs").Setting(dimension=20, latent=10, end=1.0, points=5, test=10)


def test_a_killed_command_goes_on_where_it_was(example, made, tmp_path):
    kept, setting = example("kept_runs"), _tiny(example)
    points = kept.wanted(2)
    out = io.StringIO()
    whole = kept.Runs(tmp_path / "whole" / "runs.jsonl", setting)
    assert whole.run(points, 1, out) == len(points)
    assert out.getvalue().splitlines()[-1] == f"{len(points)} of {len(points)} runs, 0:00 left"

    path = tmp_path / "killed" / "runs.jsonl"
    kept.Runs(path, setting).run(points[:7], 1, out)
    torn = (tmp_path / "whole" / "runs.jsonl").read_text().splitlines()[7]
    with path.open("a") as file:
        file.write(torn[: len(torn) // 2])
    resumed = kept.Runs(path, setting)
    assert sum(point in resumed for point in points) == 7
    before = sum(each.calls for each in made.values())
    assert resumed.run(points, 1, out) == len(points) - 7
    equations = sum(1 for point in points[7:] if point[1] is None)
    assert sum(each.calls for each in made.values()) - before == len(points) - 7 + equations
    again = kept.Runs(path, setting)
    assert again.run(points, 1, out) == 0
    for seed, law in points:
        for name in ("erf", "relu"):
            assert np.array_equal(again.curves(name, seed, law), whole.curves(name, seed, law))


def test_what_was_kept_is_what_tables_show(example, made, tmp_path):
    kept, summary, tables = (
        example(name) for name in ("kept_runs", "run_summary", "printed_tables")
    )
    runs = kept.Runs(tmp_path / "runs.jsonl", _tiny(example))
    runs.run(kept.wanted(3), 1, io.StringIO())
    summary.write(summary.summarise(runs), tmp_path / "summary.json")
    found = summary.read(tmp_path / "summary.json")
    law = tables.row_law(9)
    gaps = np.array(
        [runs.curves("relu", seed, law) - runs.curves("relu", seed, None) for seed in range(3)]
    )
    each = np.sqrt((gaps**2).mean(axis=1))
    cell = next(c for c in tables.cells(found, "relu") if (c.separation, c.name) == (9, "Q01"))
    value, error = cell.ours["root mean square"]
    assert value == pytest.approx(each[:, 1].mean(), rel=1e-3)
    assert error == pytest.approx(each[:, 1].std(ddof=1) / np.sqrt(3), rel=1e-3)
    assert cell.printed == 0.033
    assert cell.agrees("root mean square") == (abs(value - 0.033) <= 3 * error + 0.0005)
    assert "α = 9 printed" in "\n".join(tables.table_lines(found, "relu"))
    rows = tables.csv_text(found).splitlines()
    assert len(rows) == 1 + 2 * (100 * 2 + 10)
    assert json.loads((tmp_path / "summary.json").read_text())["setting"]["dimension"] == 20


@pytest.mark.parametrize("assignment", ["coordinate", "sample"])
@pytest.mark.parametrize("standardised", [True, False])
def test_fast_draws_have_the_law_of_the_mixture(example, assignment, standardised):
    law = example("mixture_laws").Law(4, 2, standardised, assignment)
    mixture, count = law.mixture(3, 5), 40_000
    c = law.draw(3, 5)(count).astype(float)
    other = mixture.sample(np.random.default_rng(1), count)
    for power in (1, 2, 3, 4):
        pair = [x[:, :, None] ** power * x[:, None, :] for x in (c, other)]
        spread = np.sqrt((pair[0].var(axis=0) + pair[1].var(axis=0)) / count)
        assert np.all(np.abs(pair[0].mean(axis=0) - pair[1].mean(axis=0)) < 4.5 * spread)
    assert np.allclose(np.cov(c.T), mixture.covariance(), atol=0.15)


def test_sgd_is_that_of_the_paper(example):
    """Equations 1 to 3 and both updates, written out, on the same draws."""
    runs, laws = example("learning_runs"), example("mixture_laws")
    setting = runs.Setting(dimension=24, latent=12, end=2.0, points=6, test=40)
    law, seed = laws.Law(2, 3, False), 3
    made = runs.Repetition(setting, seed)
    draw = law.draw(setting.latent, seed)
    test, block = (draw(count).astype(float) for count in (setting.test, 500))
    F = made.features.astype(float) * np.sqrt(setting.latent)
    found = made.sgd(law)
    for name, g in runs.ACTIVATIONS.items():
        W, teacher = made.vectors.student.copy(), made.vectors.teacher
        N, D, eta, v = 24, 12, 0.2, np.full(2, 0.5)
        for c in block[: setting.examples[-1]]:
            x = np.sign(c @ F / np.sqrt(D))
            field = W @ x / np.sqrt(N)
            off = g(field) @ v - g(teacher @ c / np.sqrt(D)).sum()
            slope = np.exp(-(field**2) / 2) * np.sqrt(2 / np.pi) if name == "erf" else field > 0
            W, v = (
                W - eta / np.sqrt(N) * off * np.outer(v * slope, x),
                v - eta / N * g(field) * off,
            )
        x = np.sign(test @ F / np.sqrt(D))
        off = g(x @ W.T / np.sqrt(N)) @ v - g(test @ teacher.T / np.sqrt(D)).sum(axis=1)
        b = np.sqrt(2 / np.pi)
        Q = (1 - b**2) * W @ W.T / N + b**2 * (W @ F.T) @ (W @ F.T).T / N / D
        R = b * (W @ F.T) @ teacher.T / np.sqrt(N) / D
        expected = np.concatenate([Q.ravel(), R.ravel(), v, [np.mean(off**2) / 2]])
        assert np.allclose(found[name][-1], expected, rtol=2e-5, atol=2e-6)
