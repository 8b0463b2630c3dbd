"""Arguments that calls take by the records of keys.

Written by ``symderiv generate --checked-in``; do not edit.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from numpy.typing import NDArray

from symderiv.foundation.outputs import Output
from symderiv.foundation.progress import Progress
from symderiv.integrate.events.asked import Event
from symderiv.storage.checkpoint import Checkpoint

Numbers = Sequence[float] | NDArray[Any]
Values = Sequence[Any] | NDArray[Any]

class ProblemKeys(TypedDict, total=False):
    teacher_activation: str | None
    """g̃; activation of the teachers: a name, or a formula in ``x``; g when left out (text)."""
    student_weights: float | Numbers | str
    """v; output weights of the students; a text is a formula in K and M (number, list of numbers or
    text; "1/sqrt(M)" when left out)."""
    teacher_weights: float | Numbers | str
    """ṽ; output weights of the teachers; a text is a formula in K and M (number, list of numbers or
    text; "1/sqrt(M)" when left out)."""
    train_second_layer: bool
    """whether training changes the output weights v (true or false; False when left out)."""
    student_biases: float | Numbers
    """b; biases of the student units g(x_i + b_i) (number or list of numbers; 0.0 when left
    out)."""
    teacher_biases: float | Numbers
    """c; biases of the teacher units g̃(y_n + c_n) (number or list of numbers; 0.0 when left
    out)."""
    train_biases: bool
    """whether training changes the biases b, by gradient descent (true or false; False when left
    out)."""
    learning_rate: float
    """η; learning rate of the first layer; results name the default where you gave none (number ≥
    0; 0.5 when left out)."""
    second_layer_learning_rate: float | None
    """η_v; learning rate of the output weights; η when left out (number ≥ 0)."""
    order: Literal["full", "small-learning-rate"]
    """whether the equations contain the terms of order η² (full) or not ("full",
    "small-learning-rate"; "full" when left out)."""
    weight_decay: float
    """κ; weight decay of the first layer (number ≥ 0; 0.0 when left out)."""
    second_layer_weight_decay: float
    """κ_v; weight decay of the second layer (number ≥ 0; 0.0 when left out)."""
    label_noise: float
    """σ; standard deviation of Gaussian noise on the labels (number ≥ 0; 0.0 when left out)."""
    loss: str
    """loss ℓ(s, t) of output s and target t: squared, logistic, exponential, hinge, huber, or a
    formula in ``s`` and ``t`` (text; "squared" when left out)."""
    target: Literal["sum", "sign"]
    """target of the student: the output of the teacher, or its sign ("sum", "sign"; "sum" when left
    out)."""
    label_flip: float
    """probability with which the target changes its sign, before label noise (number ≥ 0, ≤ 1; 0.0
    when left out)."""
    keep: float
    """dropout: the probability that a student unit stays active for an example; errors use all
    units, with v times ``evaluation_scale`` (number > 0, ≤ 1; 1.0 when left out)."""
    dropout: float
    """the probability that a student unit is left out for an example: another way to write
    ``keep``, which is 1 minus it (number ≥ 0, < 1; 0.0 when left out)."""
    evaluation_scale: float | None
    """factor of v when errors are computed with dropout; ``keep`` when left out (number)."""
    input_noise: float
    """σ_x; standard deviation of noise on the inputs of the student, which sees ξ + σ_x ε;
    ``noisy_error`` is the error at noisy inputs (number ≥ 0; 0.0 when left out)."""
    update_noise: float
    """σ_J; noise on updates: every step adds σ_J ζ/√N to J_i, with ζ standard Gaussian; with
    ``batch_ratio`` a step adds σ_J ζ (number ≥ 0; 0.0 when left out)."""
    batch: int | None
    """b; number of examples in a step, which descends their mean gradient; α counts examples
    (integer ≥ 1, ≤ 1e9)."""
    batch_ratio: float | None
    """c; examples in a step per input: a step has b = cN examples, J ← J − η (√N/b) Σ F ξ; output
    weights and biases move N times as far as in a step of ``batch`` (number > 0)."""
    momentum: float
    """β; momentum: V ← βV + step, and V is added to J, v and biases; weight decay acts directly,
    without momentum (number ≥ 0, < 1; 0.0 when left out)."""
    momentum_rate: float | None
    """γ; rate of momentum of order 1/N: 1 − β = γ/N, with steps N times smaller; with U = NV
    results have ``P`` = E u x, ``W`` = E u u, ``C`` = E u y (number > 0)."""
    normalise: Literal["none", "gradient", "sphere"]
    """normalisation of steps. gradient divides the steps of J by √(E Σ_i F_i² · E|ξ|²/N), the mean
    over examples at the present weights; sphere rescales each J_i after each step so that Q_ii is
    constant ("none", "gradient", "sphere"; "none" when left out)."""
    schedule: str | dict[str, float | Numbers] | None
    """factor of all learning rates that depends on time: ``{times = […], rates = […]}`` is constant
    in between; ``{power = a, after = α₀}`` is 1 up to α₀, then (α/α₀)^(−a); a text is a formula in
    ``alpha`` (text or table)."""
    bias_learning_rate: float | None
    """η_b; learning rate of the biases, b_i ← b_i − (η_b/N) F_i; η when left out (number ≥ 0)."""
    sobolev_weight: float
    """λ_∇; weight of gradients in the loss: it gains λ/2 times the squared norm of the difference
    between the gradients of s and t by the input (number ≥ 0; 0.0 when left out)."""
    consistency_weight: float
    """λ_A; weight of a mean teacher: the loss gains λ/2 (s − a)², where a is the output of the
    averaged students A (number ≥ 0; 0.0 when left out)."""
    averaging_rate: float | None
    """γ_A; rate of averaging the students, A ← A + γ (J − A)/N, from A = J; results have ``J.A``,
    ``A.A``, ``A.B`` (number > 0)."""
    student_std: float
    """σ_J; standard deviation of the student's initial weights (number ≥ 0; 0.01 when left out)."""
    teacher: Literal["random", "orthogonal"]
    """whether teachers are drawn at random, or are exactly orthogonal with squared norm N
    ("random", "orthogonal"; "random" when left out)."""
    draw: Literal["sampled", "mean"]
    """whether the run begins with overlaps of drawn vectors, or with the mean of such overlaps
    ("sampled", "mean"; "sampled" when left out)."""
    seed: int
    """seed of the drawn vectors (integer ≥ 0, < 2¹²⁸; 0 when left out)."""
    state: str | None
    """name of a state file, which replaces the drawn vectors (text)."""

class SolveKeys(TypedDict, total=False):
    end: float | None
    """last time α = examples / N; when left out, 500 divided by the learning rate, counted from the
    beginning of the last task (number > 0)."""
    points: int | None
    """number of times; the first is 0 (integer ≥ 1, ≤ 1e6; 200 when left out)."""
    spacing: Literal["log", "linear"] | None
    """spacing of the times ("log", "linear"; "log" when left out)."""
    alpha: Numbers | None
    """ascending times of the results; they replace end, points and spacing (list of numbers ≥
    0)."""
    relative_tolerance: float | None
    """relative tolerance of Q, R and v (number ≥ 1e-14, ≤ 0.1; 1e-09 when left out)."""
    absolute_tolerance: float | None
    """absolute tolerance of Q, R and v (number ≥ 0; 1e-14 when left out)."""
    method: Literal["auto", "explicit", "implicit"] | None
    """kind of time steps; auto chooses by the problem ("auto", "explicit", "implicit"; "auto" when
    left out)."""
    compression: Literal["auto", "on", "off"] | None
    """whether a few nodes represent many eigenvalues; auto does so where the accuracy allows it
    ("auto", "on", "off"; "auto" when left out)."""
    sensitivities: Sequence[str]
    """names of numbers. Order parameters, the generalisation error and observables are
    differentiated with respect to them at all times. For a problem these are its arguments, such as
    ``learning_rate``, ``label_noise`` or ``exponent``, and ``learning_rate_twice`` for the second
    derivative. For a system they are parameters (``eta``), initial values that are one number
    (``initial.u``) and arguments of input models (``inputs.x.exponent``). See
    :meth:`Trajectory.sensitivity`."""
    events: Sequence[str | Event] | str | Event
    """conditions on order parameters and observables, such as ``"generalization_error < 1e-3"`` or
    ``"R[1,1] > 2*R[1,2]"``, or events made by :func:`symderiv.event`. The first time at which each
    of them holds is located, and differentiated with respect to ``sensitivities``; see
    :attr:`Trajectory.events`. For steps over batches it is the first step after which the condition
    holds, without derivatives."""
    until: str | Event | None
    """an event at which the run ends. If it does not happen, the run goes on to its end, with a
    warning."""
    certify: bool | str | PathLike[str] | Output | None
    """True also proves the run, if all means have closed forms. ``enclosures["R"]`` and the other
    enclosures are then balls that contain the exact order parameters and errors at all times, and
    the times of events are enclosed; see :attr:`Trajectory.enclosures` and
    :class:`symderiv.api.results.equations.certified.Enclosure`. The name of a file also writes the
    proof there, see :meth:`Trajectory.certificate`."""
    radius: float | None
    """the largest radius of these balls, between 1e-200 and 1e-3; 1e-12 when left out."""
    digits: int | None
    """the number of decimal places that the balls fix; the radius is then 10^-digits."""

class FluctuationKeys(TypedDict, total=False):
    end: float | None
    """last time α = examples / N; when left out, 500 divided by the learning rate, counted from the
    beginning of the last task (number > 0)."""
    alpha: Numbers | None
    """ascending times of the results; they replace end, points and spacing (list of numbers ≥
    0)."""
    points: int | None
    """number of times; the first is 0 (integer ≥ 1, ≤ 1e6; 200 when left out)."""
    spacing: Literal["log", "linear"] | None
    """spacing of the times ("log", "linear"; "log" when left out)."""

class SimulateKeys(TypedDict, total=False):
    runs: int | None
    """number of independent runs (integer ≥ 1, ≤ 100000; 4 when left out)."""
    end: float | None
    """see :meth:`solve`."""
    alpha: Numbers | None
    """see :meth:`solve`."""
    points: int | None
    """see :meth:`solve`."""
    spacing: Literal["log", "linear"] | None
    """see :meth:`solve`."""
    method: Literal["auto", "vectors", "gram"] | None
    """method of simulation: vectors keeps the weight vectors, gram only their overlaps, with the
    same distribution; auto chooses the faster one ("auto", "vectors", "gram"; "auto" when left
    out)."""

class LocaliseKeys(TypedDict, total=False):
    units: int
    """hidden units, K."""
    activation: str
    """a name or a formula in x."""
    loss: Literal["squared", "cross-entropy"]
    """½ (f − y)², or the cross-entropy, whose outputs must lie in (0, 1)."""
    biases: bool
    """train biases that begin at 0."""
    method: Literal["flow", "sgd"]
    """``"sgd"`` uses every example once. ``"flow"`` is the gradient flow of the mean loss: exact
    for Gaussian inputs, and on ``sample`` examples of each run for others. Without biases and with
    the squared loss it is followed to its steady state. The flow of ReLU with biases is closed too.
    The flow of smooth activations without closed means, of smooth activations with biases, and of
    the cross-entropy uses quadrature, for at most two units."""
    runs: int
    """number of seeds for initial weights and data; the flow needs at least 1."""
    steps: int
    """the number of steps of gradient descent."""
    batch: int
    """number of examples of a step, half of them of each label."""
    learning_rate: float
    """the learning rate of a step; time is the number of steps times it."""
    initial_std: float
    """standard deviation of initial weights."""
    sample: int
    """number of examples of each run for a flow that is not exact."""
    seed: int
    """the seed of the first run."""

class GridKeys(TypedDict, total=False):
    activation: Values
    """g; activation of the students: a name, or a formula in ``x``."""
    teacher_activation: Values
    """g̃; activation of the teachers: a name, or a formula in ``x``; g when left out."""
    students: Values
    """K; number of student units."""
    teachers: Values
    """M; number of teacher units."""
    student_weights: Values
    """v; output weights of the students; a text is a formula in K and M."""
    teacher_weights: Values
    """ṽ; output weights of the teachers; a text is a formula in K and M."""
    train_second_layer: Values
    """whether training changes the output weights v."""
    student_biases: Values
    """b; biases of the student units g(x_i + b_i)."""
    teacher_biases: Values
    """c; biases of the teacher units g̃(y_n + c_n)."""
    train_biases: Values
    """whether training changes the biases b, by gradient descent."""
    learning_rate: Values
    """η; learning rate of the first layer; results name the default where you gave none."""
    second_layer_learning_rate: Values
    """η_v; learning rate of the output weights; η when left out."""
    order: Values
    """whether the equations contain the terms of order η² (full) or not."""
    weight_decay: Values
    """κ; weight decay of the first layer."""
    second_layer_weight_decay: Values
    """κ_v; weight decay of the second layer."""
    label_noise: Values
    """σ; standard deviation of Gaussian noise on the labels."""
    loss: Values
    """loss ℓ(s, t) of output s and target t: squared, logistic, exponential, hinge, huber, or a
    formula in ``s`` and ``t``."""
    target: Values
    """target of the student: the output of the teacher, or its sign."""
    label_flip: Values
    """probability with which the target changes its sign, before label noise."""
    keep: Values
    """dropout: the probability that a student unit stays active for an example; errors use all
    units, with v times ``evaluation_scale``."""
    dropout: Values
    """the probability that a student unit is left out for an example: another way to write
    ``keep``, which is 1 minus it."""
    evaluation_scale: Values
    """factor of v when errors are computed with dropout; ``keep`` when left out."""
    input_noise: Values
    """σ_x; standard deviation of noise on the inputs of the student, which sees ξ + σ_x ε;
    ``noisy_error`` is the error at noisy inputs."""
    update_noise: Values
    """σ_J; noise on updates: every step adds σ_J ζ/√N to J_i, with ζ standard Gaussian; with
    ``batch_ratio`` a step adds σ_J ζ."""
    batch: Values
    """b; number of examples in a step, which descends their mean gradient; α counts examples."""
    batch_ratio: Values
    """c; examples in a step per input: a step has b = cN examples, J ← J − η (√N/b) Σ F ξ; output
    weights and biases move N times as far as in a step of ``batch``."""
    momentum: Values
    """β; momentum: V ← βV + step, and V is added to J, v and biases; weight decay acts directly,
    without momentum."""
    momentum_rate: Values
    """γ; rate of momentum of order 1/N: 1 − β = γ/N, with steps N times smaller; with U = NV
    results have ``P`` = E u x, ``W`` = E u u, ``C`` = E u y."""
    normalise: Values
    """normalisation of steps. gradient divides the steps of J by √(E Σ_i F_i² · E|ξ|²/N), the mean
    over examples at the present weights; sphere rescales each J_i after each step so that Q_ii is
    constant."""
    schedule: Values
    """factor of all learning rates that depends on time: ``{times = […], rates = […]}`` is constant
    in between; ``{power = a, after = α₀}`` is 1 up to α₀, then (α/α₀)^(−a); a text is a formula in
    ``alpha``."""
    bias_learning_rate: Values
    """η_b; learning rate of the biases, b_i ← b_i − (η_b/N) F_i; η when left out."""
    sobolev_weight: Values
    """λ_∇; weight of gradients in the loss: it gains λ/2 times the squared norm of the difference
    between the gradients of s and t by the input."""
    consistency_weight: Values
    """λ_A; weight of a mean teacher: the loss gains λ/2 (s − a)², where a is the output of the
    averaged students A."""
    averaging_rate: Values
    """γ_A; rate of averaging the students, A ← A + γ (J − A)/N, from A = J; results have ``J.A``,
    ``A.A``, ``A.B``."""
    student_std: Values
    """σ_J; standard deviation of the student's initial weights."""
    teacher: Values
    """whether teachers are drawn at random, or are exactly orthogonal with squared norm N."""
    draw: Values
    """whether the run begins with overlaps of drawn vectors, or with the mean of such overlaps."""
    seed: Values
    """seed of the drawn vectors."""
    state: Values
    """name of a state file, which replaces the drawn vectors."""
    sites: Values
    """D; number of sites."""
    gain: Values
    """g; gain: inputs become Gaussian as it tends to 0, and are signs at ``inf``."""
    lengths: Values
    """ξ; correlation lengths in sites, of label 1 and of label 0; one number for both labels."""
    convention: Values
    """ψ; nonlinearity of the inputs."""
    complement: Values
    """whether half of the inputs are complements of pulses."""
    dimension: Values
    """N; dimension of the inputs, for drawn initial vectors and simulations; the limit N → ∞ when
    left out."""
    eigenvalues: Values
    """ρ_k; eigenvalues, not negative and not all zero, shape (L,)."""
    weights: Values
    """multiplicities divided by N, shape (L,), with sum 1; equal ones when left out."""
    distinct_eigenvalues: Values
    """L; number of eigenvalues."""
    exponent: Values
    """β; exponent of the power law."""
    file: Values
    """the covariance, shape (N, N); or an .npz file with the array ``covariance`` or ``samples``;
    or an .npy file. A matrix that is not symmetric is read as samples."""
    array: Values
    """the name of the array in an .npz file, if it has another one."""
    grouping_tolerance: Values
    """relative distance within which eigenvalues count as equal; 1e-9 when left out."""
    nonlinearity: Values
    """f; nonlinearity of the inputs: a name, or a formula in ``x``."""
    latent_dimension: Values
    """D; dimension of the latent vectors."""
    features: Values
    """F; features, shape (N, D), or a file with them (``features``); normal numbers when left
    out."""
    latent_ratio: Values
    """ratio D/N in the limit N, D → ∞; it replaces both dimensions."""
    nodes: Values
    """number of nodes of the limiting spectrum; 64 when left out."""
    probabilities: Values
    """probabilities of the components, with sum 1; equal ones when left out (latent vectors
    only)."""
    components: Values
    """number of components."""
    separation: Values
    """range α of the means of the components, which are drawn uniformly from [−α, α)."""
    assignment: Values
    """whether a component is drawn for each example, or for each latent coordinate."""
    means: Values
    """whether the means of the components are common to all latent coordinates, or drawn for
    each."""
    standardise: Values
    """whether latent coordinates are scaled to mean 0 and variance 1."""
    inputs: Values
    """models of the inputs."""
    tasks: Values
    """lists of tasks, as arguments of a problem."""

class TimedGridKeys(GridKeys, total=False):
    end: Values
    """last time α = examples / N; when left out, 500 divided by the learning rate, counted from the
    beginning of the last task."""
    points: Values
    """number of times; the first is 0."""
    spacing: Values
    """spacing of the times."""
    values: Values
    """ascending times of the results; they replace end, points and spacing."""
    relative_tolerance: Values
    """relative tolerance of Q, R and v."""
    absolute_tolerance: Values
    """absolute tolerance of Q, R and v."""
    compression: Values
    """whether a few nodes represent many eigenvalues; auto does so where the accuracy allows it."""

class EnsembleKeys(GridKeys, total=False):
    end: float | None
    """see :meth:`solve`; the same for all runs. The default end is that of this problem."""
    alpha: Numbers | None
    """see :meth:`solve`; the same for all runs. The default end is that of this problem."""
    points: int | None
    """see :meth:`solve`; the same for all runs. The default end is that of this problem."""
    spacing: Literal["log", "linear"] | None
    """see :meth:`solve`; the same for all runs. The default end is that of this problem."""
    relative_tolerance: float | None
    """see :meth:`solve`; the same for all runs. The default end is that of this problem."""
    absolute_tolerance: float | None
    """see :meth:`solve`; the same for all runs. The default end is that of this problem."""

class SweepKeys(TimedGridKeys, total=False):
    scheduler: str | None
    """the address of a running Dask cluster."""
    workers: int | None
    """number of worker processes on this machine; 0 computes in this process, on all processors.
    When left out, 0 for fewer than 50000 points, and otherwise one per processor."""
    force: bool
    """replace a sweep of another problem."""
    fresh: bool
    """solve everything again."""
    check: Literal["auto", "never"]
    """"auto" estimates the errors of each run from a second one, with the steps of
    :meth:`symderiv.Problem.solve`; this takes two to three times as long. Points that the store has
    without their errors are solved again. "never" makes no second run."""
    progress: Progress
    """see :meth:`symderiv.Problem.solve`."""
    notice: Callable[[str], None] | None
    """a function that is called with a line that says where the sweep runs, and with one line for
    each damaged part."""

class MapKeys(TimedGridKeys, total=False):
    resolution: int
    """the number of cells along a key for which only a range is given: ``coarse`` times a power of
    2, at most 2048."""
    coarse: int
    """the number of cells along each key that are tried first; a region inside one of them may be
    missed."""
    change: float | None
    """the largest difference between the corners of a cell that is not refined, for quantities that
    are numbers. When left out, a twentieth of the range. For quantities that span decades it is a
    difference of decimal logarithms."""
    kinds: bool | None
    """True if a quantity that is a function returns names of kinds."""
    check: int
    """the number of random points of the full grid that are solved and compared with the map."""
    checkpoint: Checkpoint | None
    """see :meth:`symderiv.Problem.solve`; only for quantities with a name. Runs in the checkpoint
    are not solved again."""
    progress: Progress
    """see :meth:`symderiv.Problem.solve`."""
