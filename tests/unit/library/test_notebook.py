"""The notebook in examples/ runs, and shows the numbers that calls give."""

import re
from pathlib import Path
from typing import Any

import pytest

import symderiv as sd

NOTEBOOK = Path(__file__).parents[3] / "examples" / "six-lines.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, 4)
    folder = tmp_path_factory.mktemp("notebook")
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=240, resources=resources).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def output(cell: Any, kind: str) -> str:
    # a bar of progress may stand before the result
    *_, found = (o["data"][kind] for o in cell.outputs if kind in o.get("data", {}))
    return str(found)


@pytest.mark.turns(6)
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_shows_the_numbers_of_the_calls(cells: list[Any]) -> None:
    stated, equations, run, sgd, drawn, rates, grid, written = cells
    law = sd.PowerLaw(64, exponent=1, dimension=1024)
    problem = sd.Problem("erf", students=3, teachers=2, learning_rate=0.5, inputs=law)
    assert output(stated, "text/plain") == repr(problem)
    assert "<math" in output(equations, "text/html")
    assert r"\begin{align*}" in output(equations, "text/latex")
    here = problem.solve(end=1000)
    number = r"[-+\d.e]+"
    first, last = re.findall(
        rf"generalization_error +({number}) to ({number})", output(run, "text/plain")
    )[0]
    assert float(first) == pytest.approx(here.generalization_error[0], rel=1e-5)
    assert float(last) == pytest.approx(here.generalization_error[-1], rel=1e-5)
    end, error = re.findall(rf"to ({number}) ± ({number})", output(sgd, "text/plain"))[0]
    expected = problem.solve(alpha=[20.0]).generalization_error[0]
    assert abs(float(end) - expected) < 6 * float(error) + 0.02 * expected
    assert len(output(drawn, "image/png")) > 10_000
    slopes = problem.rates(state=here.initial)
    assert f"{slopes.dv[0]:.6g}" in output(rates, "text/plain")
    assert f"{slopes.dR[2, 1]:.6g}" in output(rates, "text/plain")
    listed = [float(text) for text in re.findall(number, output(grid, "text/plain"))]
    slower = problem.replace(learning_rate=0.3).solve(end=1000)
    assert listed[1] == pytest.approx(slower.generalization_error[-1], rel=1e-9)
    assert listed[0] > listed[1]
    assert "generalization_error" in output(written, "text/plain")
