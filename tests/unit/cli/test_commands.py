"""The commands: exit codes, one-line errors, JSON keys, and what they import."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import python
from support.commands import symderiv as run
from support.studies import SMALL_STUDY

import symderiv as sd


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study that takes a moment, in a directory of its own that is the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(SMALL_STUDY)
    return path


LOADED = "import sys; print('LOADED', sorted(sys.modules))"


def _imports_of(arguments: list[str], cwd: Path | None = None) -> set[str]:
    code = f"""
import sys
sys.argv = {["symderiv", *arguments]!r}
from symderiv.cli import main
try:
    main()
except SystemExit as error:
    assert not error.code, error.code
{LOADED}
"""
    done = python(code, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"'([\w.]+)'", done.stdout.rpartition("LOADED")[2]))


def test_version_imports_next_to_nothing_and_takes_a_third_of_a_second_of_cpu() -> None:
    loaded = _imports_of(["--version"])
    assert not loaded & {"typer", "rich", "numpy", "sympy", "numba", "scipy"}
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "symderiv", "--version"], capture_output=True, text=True, check=True
    )
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    assert re.fullmatch(r"symderiv \d+\.\d+\.\d+\n", done.stdout)
    assert spent < 0.3


def test_help_imports_neither_sympy_numba_scipy_nor_matplotlib() -> None:
    heavy = {"sympy", "numba", "scipy", "matplotlib", "xarray", "numpy"}
    for command in ([], ["study"], ["expect"], ["integral"]):
        assert not _imports_of([*command, "--help"]) & (heavy | {"mpmath"})


#: What a warm run of a checked-in module needs nothing of.
UNUSED = {
    *("numba", "scipy", "sympy", "mpmath", "flint", "xarray", "pandas", "zarr", "dask"),
    *("matplotlib", "rich", "jinja2", "multiprocessing", "symderiv.gaussian"),
    *("symderiv.learning.derivation", "symderiv.lowering"),
    *("symderiv_kernels.erf", "symderiv_kernels.fast.erf", "symderiv.cli.verify"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="compiled code is kept on Linux")
def test_solving_with_a_checked_in_module_again_does_without_engine_and_compiler(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(study.parent / "cache"))
    _imports_of(["solve", study.name, "--json"], study.parent)
    loaded = _imports_of(["solve", study.name, "--json", "--force"], study.parent)
    assert not loaded & UNUSED
    # a module is there that should be, so the list is one of modules
    assert {"numpy", "h5py", "llvmlite.binding", "symderiv.compiled_code.machine_code"} <= loaded


def test_solve_writes_the_run_and_its_figure_and_promises_its_keys(study: Path) -> None:
    outcome = run("solve", study, "--output", "run.nc", "--plot", "error.svg", "--json")
    assert outcome.returncode == 0
    assert {
        *("output", "alpha_end", "generalization_error_end", "steps", "rhs_evaluations"),
        "wall_seconds",
    } <= set(outcome.json)
    assert outcome.json["alpha_end"] == 20.0
    assert outcome.stderr == ""
    assert Path("run.nc").stat().st_size > 0
    assert Path("error.svg").read_text().startswith("<?xml")


def test_simulate_reports_mean_and_standard_error(study: Path) -> None:
    solved = run("solve", study, "--json").json
    found = run("simulate", study, "--runs", "6", "--json").json
    ours = {
        *("tolerance_reached", "tolerance_method", "method"),
        *("compression", "compression_error"),
    }
    assert set(solved) - ours <= set(found)
    assert found["runs"] == 6
    assert found["generalization_error_end_standard_error"] > 0
    assert Path(found["output"]).exists()


def test_study_does_everything_and_writes_a_report(study: Path) -> None:
    study.write_text(SMALL_STUDY + '[sweep]\n"data.distinct_eigenvalues" = [1, 4]\n')
    outcome = run("study", study, "--output", "results", "--json")
    assert {"report", "figures", "agreement"} <= set(outcome.json)
    assert outcome.returncode == (0 if outcome.json["agreement"]["agrees"] else 1)
    assert [one["case"] for one in outcome.json["agreement"]["cases"]] == ["L = 1", "L = 4"]
    page = Path(outcome.json["report"]).read_text(encoding="utf-8")
    for words in ("Findings", "Gaussian integral I4", "<math", "L = 4"):
        assert words in page
    assert "<script" not in page
    for name in (*outcome.json["figures"], *outcome.json["files"]):
        assert Path(name).stat().st_size > 0


@pytest.mark.turns(6)
def test_a_study_without_dimension_is_reported_without_simulation(study: Path) -> None:
    text = SMALL_STUDY.replace("dimension = 64\n", "").replace(
        "student_std = 0.1", 'student_std = 0.1\ndraw = "mean"'
    )
    study.write_text(text)
    outcome = run("study", study)
    assert outcome.returncode == 0
    page = Path("small-results/report.html").read_text(encoding="utf-8")
    assert "Not simulated: data.dimension" in page
    assert "plateau" in outcome.stdout


def test_a_run_that_does_not_reach_its_end_is_kept_and_exits_with_1(study: Path) -> None:
    study.write_text(SMALL_STUDY.replace('"erf"', '"quadratic"').replace("0.5", "50.0"))
    outcome = run("solve", study, "--output", "run.nc", "--json")
    assert outcome.returncode == 1
    assert outcome.json["cause"] != "done"
    assert "stopped at alpha" in outcome.stderr
    assert Path("run.nc").exists()


def test_sweep_skips_what_is_finished(study: Path) -> None:
    over = ["--over", "training.learning_rate=0.2,0.4", "--json"]
    first = run("sweep", study, *over)
    assert first.returncode == 0
    assert {"completed": 2, "failed": 0, "skipped": 0, "output": "small-sweep.zarr"}.items() <= (
        first.json.items()
    )
    second = run("sweep", study, *over).json
    assert (second["completed"], second["skipped"]) == (2, 2)


@pytest.mark.parametrize("form", ["text", "latex", "html", "json"])
def test_derive_writes_every_format(tmp_path: Path, form: str) -> None:
    target = tmp_path / "derivation"
    outcome = run("derive", "--activation", "erf", "--format", form, "--output", target)
    assert outcome.returncode == 0
    text = target.read_text(encoding="utf-8")
    if form == "json":
        data = json.loads(text)
        assert data["activation"] == "erf(x/sqrt(2))"
        assert {"update", "equations", "generalization_error", "i2", "i4"} <= set(data)
        assert {"symmetric_fixed_points", "linearised_matrices", "escape_time"} <= set(data)
    else:
        start = {"text": "Learning dynamics", "latex": r"\documentclass", "html": "<!doctype html>"}
        assert text.startswith(start[form])


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("activation", "words"),
    [("tanh", "certified error"), ("softplus", "largest error found")],
)
def test_derive_says_how_well_an_activation_without_closed_means_enters(
    activation: str, words: str
) -> None:
    outcome = run("derive", "--activation", activation, "--tolerance", "1e-4", "--json")
    assert outcome.returncode == 0
    assert outcome.json["activation"].startswith(("tanh", "log"))
    steps = outcome.json["approximation"]["steps"]
    assert words in {step["rule"] for step in steps}
    assert outcome.json["i4"]["steps"][0]["rule"] == "definition"
    assert bool(outcome.json["i4"]["result"]) == (activation == "tanh")


@pytest.mark.turns(6)
def test_generate_takes_a_tolerance(tmp_path: Path) -> None:
    asked = ("generate", "--activation", "tanh", "--name", "t", "--output", tmp_path)
    steep = ("generate", "--activation", "tanh(3*x)", "--name", "s", "--output", tmp_path)
    for command, method in ((asked, "quadrature"), (steep, "mixture")):
        outcome = run(*command, "--tolerance", "1e-3", "--json")
        assert outcome.returncode == 0
        assert outcome.json["approximation"]["method"] == method
        assert 1e-4 < outcome.json["approximation"]["error"] < 1e-3
    assert "MIXTURE_TERMS = 3\n" in (tmp_path / "s.py").read_text(encoding="utf-8")
    outcome = run(*asked, "--tolerance", "1e-14")
    assert outcome.returncode == 1
    assert "the best mixture" in outcome.stderr
    outcome = run(*asked, "--tolerance", "0")
    assert outcome.returncode == 2
    assert "--tolerance: 0" in outcome.stderr


def test_generate_writes_a_module_and_tells_its_digest(tmp_path: Path) -> None:
    outcome = run(
        "generate", "--activation", "x/2+1/3", "--name", "half", "--output", tmp_path, "--json"
    )
    assert outcome.returncode == 0
    import hashlib

    text = (tmp_path / "half.py").read_bytes()
    assert outcome.json["sha256"] == hashlib.sha256(text).hexdigest()
    assert {"generalization_error", "flat_right_hand_side"} <= set(outcome.json["functions"])


def test_options_of_the_learning_rule_reach_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from symderiv.cli import derive as commands

    rule = {
        "study": Path("s.toml"), "loss": "logistic", "target": "sign", "label_flip": 0.1,
        "keep": 0.8, "input_noise": 0.2, "update_noise": 0.3, "momentum": 0.4,
        "momentum_rate": 2.0, "batch": 3, "batch_ratio": 0.5, "normalise": "sphere",
        "student_biases": 0.6, "train_biases": True,
    }  # fmt: skip
    for name, arguments in (("derive", {}), ("generate", {"name": "m", "output": Path("-")})):
        seen: dict[str, Any] = {}

        class Answer:
            def to_text(self) -> str:
                return ""

            to_source = to_text

        def call(*given: Any, seen: dict[str, Any] = seen, **named: Any) -> Answer:
            seen.update(named)
            return Answer()

        monkeypatch.setattr(sd, name, call, raising=False)
        getattr(commands, name)(activation="erf", **arguments, **rule)
        assert rule.items() <= seen.items(), name
