"""Maps over two keys: fewer runs than the full grid, the same map."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.quick_integrations import integrated

from symderiv.api.results.runs.mapped import ends_of, mapped
from symderiv.foundation.errors import InputError
from symderiv.problem.study import Study
from symderiv.show.plots.map_plots import map_axes
from symderiv.storage.checkpoint import Checkpoint
from symderiv.sweeps import study_grid, study_map
from symderiv.sweeps.refinement import MapLattice, refined


def silent(task: str, fraction: float) -> None:
    """Progress that nobody sees."""


def disc(places: np.ndarray) -> np.ndarray:
    """1 inside of a circle of radius 70 around (100, 130), else 0."""
    inside: np.ndarray = np.hypot(places[:, 0] - 100, places[:, 1] - 130) < 70
    return inside.astype(float)


def full(values: Any, resolution: int) -> np.ndarray:
    steps = np.arange(resolution + 1)
    mesh = np.array(np.meshgrid(steps, steps, indexing="ij")).reshape(2, -1).T
    found: np.ndarray = values(mesh)
    return found.reshape(resolution + 1, resolution + 1)


def test_kinds_are_those_of_the_full_grid_at_a_twentieth_of_its_cost() -> None:
    tree = refined(disc, MapLattice(256, change=0.0))
    np.testing.assert_array_equal(tree.filled(), full(disc, 256))
    assert tree.known.size > 20 * tree.runs


def test_numbers_are_within_the_change_that_is_none() -> None:
    def front(places: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.tanh((places[:, 0] + 0.5 * places[:, 1] - 90.0) / 10.0)
        return found

    tree = refined(front, MapLattice(128, change=0.05))
    assert np.abs(tree.filled() - full(front, 128)).max() < 0.05
    assert tree.known.size > 2 * tree.runs
    # what is not a number is a kind of its own
    tree = refined(
        lambda p: np.where(disc(p) > 0, np.nan, p[:, 0] / 256.0), MapLattice(256, change=0.3)
    )
    np.testing.assert_array_equal(np.isnan(tree.filled()), full(disc, 256) > 0)


def test_a_boundary_is_followed_through_squares_whose_corners_agree() -> None:
    def strip(places: np.ndarray) -> np.ndarray:
        # as broad as half a square of the first lattice, which one corner of it meets
        found: np.ndarray = np.abs(places[:, 0] - 0.6 * places[:, 1] - 32) < 9
        return found.astype(float)

    np.testing.assert_array_equal(
        refined(strip, MapLattice(256, change=0.0)).filled(), full(strip, 256)
    )


@pytest.mark.parametrize("cells", [(37, 150), (200, 3), (1, 1), (5, 256)])
def test_a_grid_of_any_shape_is_that_of_all_its_points(cells: tuple[int, int]) -> None:
    scale = np.array([256.0, 256.0]) / np.array(cells)
    mesh = np.stack(np.meshgrid(*(np.arange(n + 1) for n in cells), indexing="ij"), axis=-1)
    places = mesh.reshape(-1, 2)

    def inside(at: np.ndarray) -> np.ndarray:
        return disc(at * scale)

    tree = refined(inside, MapLattice(change=0.0, cells=cells))
    np.testing.assert_array_equal(tree.filled().ravel(), inside(places))

    def slope(at: np.ndarray) -> np.ndarray:
        found: np.ndarray = at @ np.array([0.3, -0.2]) + 1.0
        return found

    # a linear function is bilinear in the numbers of the points, whatever is left out
    lazy = refined(slope, MapLattice(change=np.inf, cells=cells))
    np.testing.assert_allclose(lazy.filled().ravel(), slope(places), rtol=1e-12, atol=1e-12)


def test_a_map_over_points_that_were_listed_has_these_points(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_grid, "integrate_chunk", lambda points, **_: integrated(points))
    rates = np.array([1.0, 1.5, 2.9, 3.1, 4.0])
    over = ends_of(["training.label_noise=log:0.5:6", "training.learning_rate=1,1.5,2.9,3.1,4"])
    assert over["training.learning_rate"] == tuple(rates.tolist())
    over["training.learning_rate"] = rates  # type: ignore[assignment]
    found = mapped(study, "status", over, silent, resolution=16)
    np.testing.assert_array_equal(found.places[1], rates)
    data = found.to_xarray()["status"]
    assert data.shape == (17, 5)
    quiet = data.sel(label_noise=slice(None, 5.0)).to_numpy()
    np.testing.assert_array_equal(quiet[:, rates > 3.0], "cone-left")
    np.testing.assert_array_equal(quiet[:, rates <= 3.0], "done")
    assert found.to_dict()["resolution"] == [16, 4]


def test_the_map_of_a_study(study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = []

    def watched(points: list[Study], **options: Any) -> Any:
        made.extend(points)
        return integrated(points)

    monkeypatch.setattr(study_grid, "integrate_chunk", watched)
    over = {"training.learning_rate": (1.0, 5.0), "training.label_noise": (0.0, 6.4)}
    found = mapped(study, "status", over, silent, resolution=32, check=30)
    assert set(found.kinds) == {"done", "cone-left", "failed"}
    assert found.checked == {"compared": 30, "agree": 30, "largest_difference": 0.0}
    assert found.failure() is None
    assert len(made) == found.runs + 30
    rates, noises = found.places
    kinds = np.array(found.kinds)[found.filled().astype(int)]
    np.testing.assert_array_equal(kinds[:, noises > 5.0], "failed")
    quiet = kinds[:, noises <= 5.0]
    np.testing.assert_array_equal(quiet[rates > 3.0], "cone-left")
    np.testing.assert_array_equal(quiet[rates <= 3.0], "done")
    # the boundary between ends lies within a cell of where it is
    lines = np.concatenate(found.boundaries())
    near = np.minimum(np.abs(lines[:, 0] - 3.0) * 8, np.abs(lines[:, 1] - 5.0) * 5)
    assert near.max() <= 1.0
    said = found.to_dict()
    assert said["full_grid"] == 33**2
    assert said["runs"] == found.runs
    from matplotlib.figure import Figure

    axes = map_axes(found, Figure().subplots(), True)
    assert axes.get_xlabel() == "σ"
    number = mapped(
        study, "final_error", over, silent, resolution=32, coarse=4, change=2.0, check=20
    )
    assert number.checked["agree"] == 20
    np.testing.assert_allclose(np.log(number.filled()[:, 0]), -10.0 * number.places[0], rtol=0.02)
    with pytest.raises(InputError, match="is needed if the quantity is a number"):
        number.boundaries()
    own = mapped(
        study,
        lambda a, e: "big" if e[-1] > 1e-8 else "small",
        over,
        silent,
        resolution=16,
        kinds=True,
    )
    assert set(own.kinds) == {"big", "small"}


@pytest.mark.parametrize(
    ("over", "options", "argument"),
    [
        (["training.learning_rate=1:5"], {}, "over"),
        (["training.learning_rate=1", "initial.seed=0:9"], {}, "over"),
        (["training.learning_rate=a:b", "initial.seed=0:9"], {}, "over"),
        (["training.learning_rate=5:1", "initial.seed=0:9"], {}, "training.learning_rate"),
        (["training.learning_rate=log:0:1", "initial.seed=0:9"], {}, "training.learning_rate"),
        (["training.learning_rate=3,1,2", "initial.seed=0:9"], {}, "training.learning_rate"),
        (["training.learning_rate=1,2", "initial.seed=0:9"], {}, "over"),
        (["training.learning_rate=1:5", "initial.seed=0,1,2.5"], {}, "initial.seed"),
        (["training.learning_rate=1:5", "initial.seed=0:9"], {"resolution": 24}, "resolution"),
        (["training.learning_rate=1:5", "initial.seed=0:9"], {"resolution": 4096}, "resolution"),
    ],
)
def test_what_is_no_map_is_refused(
    study: Study, over: list[str], options: dict[str, int], argument: str
) -> None:
    with pytest.raises(InputError) as caught:
        mapped(study, "stable", ends_of(over), silent, **options)
    assert caught.value.argument == argument


def test_a_map_that_is_stopped_anywhere_keeps_its_runs_and_goes_on_to_the_same(
    study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    over = {"training.learning_rate": (1.0, 5.0), "training.label_noise": (0.0, 6.4)}
    made: list[int] = []

    def stopped_at(limit: int) -> None:
        def watched(points: list[Study], **options: Any) -> Any:
            if sum(made) + len(points) > limit:
                raise KeyboardInterrupt
            made.append(len(points))
            return integrated(points)

        monkeypatch.setattr(study_grid, "integrate_chunk", watched)

    def found(checkpoint: Checkpoint | None, quantity: str = "status") -> study_map.StudyMap:
        options: Any = {"resolution": 32, "check": 9, "checkpoint": checkpoint}
        return mapped(study, quantity, over, silent, **options)

    for quantity in ("status", "final_error"):
        made.clear()
        stopped_at(10**9)
        whole, needed = found(None, quantity), sum(made)
        path = tmp_path / f"{quantity}.checkpoint"
        said: list[str] = []
        made.clear()
        for limit in (50, needed // 4, needed // 2, needed - 1):
            stopped_at(limit)
            with pytest.raises(KeyboardInterrupt):
                found(Checkpoint(path, every=1e9, notice=said.append), quantity)
        stopped_at(10**9)
        again = found(Checkpoint(path, every=0.0, notice=said.append), quantity)
        assert [line.partition(",")[0] for line in said][-1].startswith("resuming at ")
        # nothing was lost, nothing that was known was computed again
        assert sum(made) == needed
        assert again.to_xarray().equals(whole.to_xarray())
        assert again.kinds == whole.kinds
        assert (again.runs, again.checked) == (whole.runs, whole.checked)


def test_what_is_kept_of_another_map_is_not_used(
    study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(study_grid, "integrate_chunk", lambda points, **_: integrated(points))
    over = {"training.learning_rate": (1.0, 5.0), "training.label_noise": (0.0, 6.4)}
    path = tmp_path / "c"
    options: Any = {"resolution": 8, "coarse": 4}
    mapped(study, "status", over, silent, checkpoint=Checkpoint(path, every=0.0), **options)
    for quantity, ends in (("final_error", (1.0, 5.0)), ("status", (1.0, 5.5))):
        said: list[str] = []
        kept = Checkpoint(path, every=0.0, notice=said.append)
        changed = {**over, "training.learning_rate": ends}
        found = mapped(study, quantity, changed, silent, checkpoint=kept, **options)
        assert ["is not used" in line for line in said] == [True]
        fresh = mapped(study, quantity, changed, silent, **options)
        assert found.to_xarray().equals(fresh.to_xarray())
    with pytest.raises(InputError, match="cannot know later whether a function"):
        mapped(study, lambda a, e: e[-1], over, silent, checkpoint=Checkpoint(path))
