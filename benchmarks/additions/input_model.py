"""An input model: eigenvalues that fall by a constant factor."""

from benchmarks.additions.addition import Addition, Edit

_MODELS = "symderiv/problem/input_models.py"

INPUT_MODEL = Addition(
    row="input model",
    what="eigenvalues that fall by a factor",
    goal=4,
    edits=(
        Edit(
            "symderiv/inputs/spectra.py",
            "def power_law(\n",
            '''def geometric(count: int, ratio: float, dimension: int | None = None) -> DataModel:
    """Inputs with eigenvalues ∝ ratio^l, l = 1…count, of mean 1 and equal weights.

    Raises:
        InputError: see :func:`spectrum`.
    """
    shape = ratio ** np.arange(count, dtype=np.float64)
    found = spectrum(shape / np.mean(shape), None, dimension)
    return replace(found, name="geometric")


def power_law(
''',
        ),
        Edit(
            _MODELS,
            "class Covariance(InputModel,",
            '''class Geometric(InputModel, table="data"):
    """Gaussian inputs with eigenvalues ρ_l ∝ q^l, l = 1…L, of equal weight and mean 1.

    Args:
        [data]

    >>> Geometric(4, ratio=0.5)
    Geometric(distinct_eigenvalues=4, ratio=0.5)
    """

    model: Literal["geometric"] = "geometric"
    dimension: Annotated[Dimension | None, Key("a multiple of L", "N")] = None
    distinct_eigenvalues: Annotated[Dimension, Key("number of eigenvalues", "L")]
    ratio: Annotated[Positive, Key("of two neighbours", "q")]

    @filling
    def __init__(
        self, distinct_eigenvalues: int, *, ratio: float, dimension: int | None = None
    ) -> None:
        self._fill(locals())

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs.spectra import geometric

        return geometric(self.distinct_eigenvalues, self.ratio, self.dimension)


class Covariance(InputModel,''',
        ),
        Edit(_MODELS, '    "HiddenManifold",\n', '    "Geometric",\n    "HiddenManifold",\n'),
        Edit(_MODELS, "    | PowerLaw\n    | Cov", "    | PowerLaw\n    | Geometric\n    | Cov"),
        Edit(
            "symderiv/__init__.py",
            "    from symderiv.problem.input_models import HiddenManifold as",
            "    from symderiv.problem.input_models import Geometric as Geometric\n"
            "    from symderiv.problem.input_models import HiddenManifold as",
        ),
        Edit(
            "symderiv/__init__.py",
            '    "HiddenManifold": "symderiv',
            '    "Geometric": "symderiv.problem.input_models",\n    "HiddenManifold": "symderiv',
        ),
    ),
    made={
        "docs/manual/reference/_examples/Geometric.md": """```python
import symderiv as sd

inputs = sd.Geometric(4, ratio=0.5, dimension=400)
problem = sd.Problem("erf", students=2, teachers=1, learning_rate=0.2, inputs=inputs)
print(problem.solve(end=10).initial.L)  # 4
```
"""
    },
    check=r"""
import numpy as np
import symderiv as sd

inputs = sd.Geometric(4, ratio=0.5, dimension=400)
problem = sd.Problem(
    "erf", students=2, teachers=1, learning_rate=0.2, inputs=inputs, time={"values": [0.0, 1.0]}
)
again = sd.Problem.from_toml(problem.to_toml())
assert again.inputs == inputs and 'model = "geometric"' in problem.to_toml()
rho = 0.5 ** np.arange(4)
run = again.solve()
np.testing.assert_allclose(run.initial.eigenvalue, rho / rho.mean())
spectrum = problem.replace(inputs=sd.Spectrum(list(rho / rho.mean()), dimension=400))
np.testing.assert_allclose(run.generalization_error, spectrum.solve().generalization_error)
again.simulate(runs=1)
assert problem.grid(**{"inputs.ratio": [0.3, 0.4]})[1].inputs.ratio == 0.4
""",
    asking=(
        "tests/unit/test_public_face.py",
        "tests/unit/library/test_keys.py",
        "tests/unit/library/test_citations.py",
        "tests/unit/test_readme.py",
    ),
)
