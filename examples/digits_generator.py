"""A small generator of handwritten digits: trained, measured, learnt from.

    python examples/digits_generator.py train      # the weights; needs scikit-learn
    python examples/digits_generator.py estimate   # its covariances, from samples
    python examples/digits_generator.py compare    # SGD on its outputs against the equations

`train` fits a decoder c -> tanh layer -> 64 pixels to scikit-learn's digits (8 x 8 pixels). The
latent coordinates of a digit are its ten leading principal components, each mapped by its rank to a
normal number, so that new digits are made from c ~ N(0, I). `estimate` finds Ω and Φ of the outputs
with their standard errors, which digits-generator.toml reads. `compare` runs the study of that file
three times: the equations, SGD on Gaussian inputs with the same covariances, and SGD on the
generator's own outputs. The errors in its table are the equations' function of Q, R and v for all
three; below it the error on fresh outputs is measured, and how Gaussian the fields are.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import erf

from symderiv.inputs.latent import Sampler

HERE = Path(__file__).parent
WEIGHTS = HERE / "digits-generator-weights.npz"
STATISTICS = HERE / "digits-generator.npz"
STUDY = HERE / "digits-generator.toml"

LATENT, HIDDEN = 10, 100


@dataclass(frozen=True)
class Decoder:
    """c -> logistic(tanh(c A + a) B + b), pixels in (0, 1)."""

    A: np.ndarray
    a: np.ndarray
    B: np.ndarray
    b: np.ndarray

    def __call__(self, c: np.ndarray) -> np.ndarray:
        pixels: np.ndarray = 0.5 + 0.5 * np.tanh(0.5 * (self.hidden(c) @ self.B + self.b))
        return pixels

    def hidden(self, c: np.ndarray) -> np.ndarray:
        values: np.ndarray = np.tanh(c @ self.A + self.a)
        return values

    @property
    def parameters(self) -> tuple[np.ndarray, ...]:
        return self.A, self.a, self.B, self.b

    @classmethod
    def load(cls) -> Decoder:
        with np.load(WEIGHTS) as file:
            return cls(*(file[name].astype(np.float64) for name in "AaBb"))


def normal_scores(pixels: np.ndarray) -> np.ndarray:
    """Leading principal components, each mapped by its ranks to normal numbers, (count, LATENT)."""
    from scipy.stats import norm, rankdata

    centred = pixels - pixels.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    ranks = rankdata(centred @ axes[:LATENT].T, axis=0)
    scores: np.ndarray = norm.ppf(ranks / (len(pixels) + 1))
    return scores


def train(epochs: int = 300, batch: int = 64, rate: float = 2e-3) -> None:
    """Adam on the squared error of the pixels, seed 0."""
    from sklearn.datasets import load_digits

    start = time.perf_counter()
    pixels = load_digits().data / 16.0
    latent = normal_scores(pixels)
    random = np.random.default_rng(0)
    decoder = Decoder(
        random.standard_normal((LATENT, HIDDEN)) / np.sqrt(LATENT),
        np.zeros(HIDDEN),
        random.standard_normal((HIDDEN, 64)) / np.sqrt(HIDDEN),
        np.zeros(64),
    )
    first = [np.zeros_like(p) for p in decoder.parameters]
    second = [np.zeros_like(p) for p in decoder.parameters]
    step = 0
    for _ in range(epochs):
        order = random.permutation(len(pixels))
        for begin in range(0, len(order), batch):
            chosen = order[begin : begin + batch]
            step += 1
            for p, m, s, g in zip(
                decoder.parameters,
                first,
                second,
                gradients(decoder, latent[chosen], pixels[chosen]),
                strict=True,
            ):
                m *= 0.9
                m += 0.1 * g
                s *= 0.999
                s += 0.001 * g**2
                p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
    error = np.mean((decoder(latent) - pixels) ** 2) / np.mean(pixels.var(axis=0))
    np.savez_compressed(
        WEIGHTS,
        **{k: p.astype(np.float32) for k, p in zip("AaBb", decoder.parameters, strict=True)},
    )
    print(
        f"{WEIGHTS.name}: {step} steps in {time.perf_counter() - start:.0f} s, "
        f"{1 - error:.0%} of the pixels' variance explained"
    )


def gradients(decoder: Decoder, c: np.ndarray, pixels: np.ndarray) -> list[np.ndarray]:
    """Gradients of half the mean squared error, in the order of the parameters."""
    hidden, output = decoder.hidden(c), decoder(c)
    above = (output - pixels) * output * (1.0 - output) / len(c)
    below = (above @ decoder.B.T) * (1.0 - hidden**2)
    return [c.T @ below, below.sum(axis=0), hidden.T @ above, above.sum(axis=0)]


def estimate(relative_error: float = 5e-3) -> None:
    """Covariances of the outputs, scaled to pixels of mean variance 1."""
    from symderiv.inputs import estimate_generator

    scale, decoder = pixel_scale(), Decoder.load()
    found = estimate_generator(
        lambda c: scale * decoder(c), LATENT, samples=10**6, relative_error=relative_error
    )
    found.save(STATISTICS)
    print(f"{STATISTICS.name}: {found}")


def pixel_scale() -> float:
    """What makes the mean variance of a pixel 1, from the first 10^5 outputs of a seed."""
    c = np.random.default_rng(1).standard_normal((100_000, LATENT))
    return float(1.0 / np.sqrt(np.mean(Decoder.load()(c).var(axis=0))))


def compare(runs: int) -> None:
    """The equations, SGD on their Gaussian inputs, SGD on the generator's outputs."""
    from symderiv.experiment.studies.simulating import simulate, with_sampler
    from symderiv.inputs import gaussianity, generator_sampler
    from symderiv.integrate.rules.solving import solve
    from symderiv.problem.initial import initial
    from symderiv.problem.study import load_study

    study = load_study(STUDY)
    scale, decoder = pixel_scale(), Decoder.load()
    with np.load(STATISTICS) as file:
        mean_x = file["mean_x"]
    start = initial(study)
    real = with_sampler(start, generator_sampler(lambda c: scale * decoder(c), LATENT, mean_x))
    theory = solve(study, start=start)
    gaussian = simulate(study, runs=runs, start=start)
    outputs = simulate(study, runs=runs, start=real)
    name = "generalization_error"
    columns = [result.mean(name) for result in (gaussian, outputs)]
    errors = [result.standard_error(name) for result in (gaussian, outputs)]
    print(f"generalisation error, {runs} runs each, mean ± standard error")
    print(f"{'alpha':>8}{'equations':>12}{'Gaussian inputs':>24}{'generated digits':>24}")
    for k, alpha in enumerate(gaussian.alpha):
        exact = theory.generalization_error[np.searchsorted(theory.alpha, alpha)]
        cells = "".join(
            f"{mean[k]:>14.5f} ± {error[k]:.5f}"
            for mean, error in zip(columns, errors, strict=True)
        )
        print(f"{alpha:8.4g}{exact:12.5f}{cells}")
    J, W, v = start.vectors.student, start.vectors.teacher, start.state.student_weights
    N, rate, end = J.shape[1], study.training.learning_rate, study.alpha[-1]
    print(f"measured on fresh inputs of the same kind at alpha = {end:g}, SGD from its definition")
    for words, drawn in (("Gaussian inputs", start), ("generated digits", real)):
        sampler = drawn.vectors.latent.sampler
        last = measured(J, W, v, sampler, rate, round(N * end), runs)
        print(f"  {words:18}{last.mean():.5f} ± {last.std(ddof=1) / np.sqrt(runs):.5f}")
    many = np.random.default_rng(2).standard_normal((6, N))
    print(f"fields of random students: {gaussianity(sampler, many, W)}")


def measured(
    J: np.ndarray,
    W: np.ndarray,
    v: np.ndarray,
    sampler: Sampler,
    rate: float,
    examples: int,
    runs: int,
) -> np.ndarray:
    """Half the mean squared error on fresh outputs after SGD from its definition, shape (runs,)."""

    def g(fields: np.ndarray) -> np.ndarray:
        values: np.ndarray = erf(fields / np.sqrt(2.0))
        return values

    root = np.sqrt(J.shape[1])
    random = np.random.default_rng(3)
    J = np.repeat(J[None], runs, axis=0)
    done = 0
    while done < examples:
        count = min(500, examples - done)
        x, c = sampler(random, runs * count)
        x = x.reshape(count, runs, -1)
        teacher = (g(c @ W.T / np.sqrt(W.shape[1])) @ v).reshape(count, runs)
        for step in range(count):
            fields = np.einsum("rka,ra->rk", J, x[step]) / root
            delta = g(fields) @ v - teacher[step]
            slope = np.sqrt(2.0 / np.pi) * np.exp(-0.5 * fields**2)
            J -= rate / root * (v * slope * delta[:, None])[:, :, None] * x[step][:, None, :]
        done += count
    x, c = sampler(random, 200_000)
    teacher = g(c @ W.T / np.sqrt(W.shape[1])) @ v
    delta = g(np.einsum("rka,ea->rek", J, x) / root) @ v - teacher
    errors: np.ndarray = 0.5 * np.mean(delta**2, axis=1)
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description="A small generator of handwritten digits.")
    parser.add_argument("what", choices=("train", "estimate", "compare"))
    parser.add_argument("--runs", type=int, default=20, help="of compare, for each kind of input")
    arguments = parser.parse_args()
    if arguments.what == "train":
        train()
    elif arguments.what == "estimate":
        estimate()
    else:
        compare(arguments.runs)


if __name__ == "__main__":
    main()
