"""Commands that are killed, lack room or rights, or have rivals, in forks of one warm process."""

import ctypes
import os
import random
import resource
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.forked import begun

import symderiv
from faults.changed_bytes import same_numbers
from symderiv.cli import main
from symderiv.experiment.studies.simulating import simulate
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.seals import is_sealed
from symderiv.integrate.rules.solving import solve
from symderiv.problem.study import parse_study
from symderiv.storage.kernels import load_kernel
from symderiv.storage.run_files import read_run

STUDY = """
[network]
activation = "erf"
students = 2
teachers = 2
train_second_layer = true
[data]
model = "power-law"
dimension = 60
distinct_eigenvalues = 2
exponent = 0.5
[training]
learning_rate = {rate}
label_noise = 0.1
weight_decay = 1e-3
[initial]
student_std = 0.1
[simulation]
runs = 3
method = "{method}"
end = {simulated}
[time]
end = {end}
points = 30
relative_tolerance = {tolerance}
"""
_DEFAULTS = {"rate": 0.5, "method": "vectors", "simulated": 5.0, "end": 50.0, "tolerance": 1e-9}


def write_study(folder: Path, **values: object) -> None:
    """``s.toml``, with what is given instead of something short."""
    (folder / "s.toml").write_text(STUDY.format(**{**_DEFAULTS, **values}))


@dataclass(frozen=True)
class Ended:
    """Exit code (negative: the signal), what was written, seconds."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("symderiv: error: ")]


def warm_up() -> None:
    """Import and compile what the commands need."""
    import h5netcdf  # noqa: F401

    import symderiv.cli.run  # noqa: F401
    from symderiv.show.pages import job  # noqa: F401

    kernel = load_kernel("erf")
    for method in ("vectors", "gram"):
        study = parse_study(STUDY.format(**{**_DEFAULTS, "method": method}))
        solve(study, kernel=kernel)
        # one worker of a pool that is gone before anything is forked
        simulate(study, kernel=kernel, workers=1)


def _obey_permissions() -> None:
    """Give up the privileges by which the superuser writes everywhere."""
    if os.geteuid() != 0:
        return
    # capset of no capabilities at all, version 3 of the interface, for this process
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")


class Started:
    """A command that runs in a fork."""

    def __init__(
        self,
        folder: Path,
        *words: str,
        largest: int | None = None,
        bound: bool = False,
        cache: Path | None = None,
    ) -> None:
        def work() -> None:
            if cache is not None:
                os.environ["XDG_CACHE_HOME"] = str(cache)
            os.chdir(folder)
            if largest is not None:
                # the system refuses to let files grow beyond it, as it does on a full disk
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            if bound:
                _obey_permissions()
            main()

        # pipes: what is told must not fall under the limit of the sizes of files
        self._told, ends = zip(*(os.pipe() for _ in range(2)), strict=True)
        self._begun = time.monotonic()
        self.process = begun(work, ["symderiv", *words], *ends)
        for told, end in zip(self._told, ends, strict=True):
            os.set_blocking(told, False)
            os.close(end)

    def wait(self, after: float = 0.0, number: int | None = None) -> Ended:
        """Wait for the end, and send a signal after so many seconds if one is given."""
        texts = [b"", b""]
        while True:
            ended, status = os.waitpid(self.process, os.WNOHANG)
            seconds = time.monotonic() - self._begun
            for n, told in enumerate(self._told):
                with suppress(BlockingIOError):
                    while more := os.read(told, 65536):
                        texts[n] += more
            if ended:
                break
            if number is not None and seconds >= after:
                os.kill(self.process, number)
                number = None
            time.sleep(0.002)
        for told in self._told:
            os.close(told)
        return Ended(os.waitstatus_to_exitcode(status), *(t.decode() for t in texts), seconds)


def numbers(path: Path) -> dict[str, Any]:
    """The variables and attributes of a result; InputError if it is not whole."""
    if path.name.endswith("-map.nc"):
        import xarray

        if not is_sealed(path.read_bytes()):
            raise InputError(f"{path}: is not whole")
        with xarray.open_dataset(path, engine="h5netcdf") as data:
            return {str(name): data[name].values for name in data.variables}
    variables, attributes = read_run(path)
    return {**variables, "attributes": {**attributes, "wall_seconds": None}}


@contextmanager
def _folder() -> Iterator[Path]:
    found = Path(tempfile.mkdtemp())
    found.chmod(0o755)
    try:
        yield found
    finally:
        shutil.rmtree(found, ignore_errors=True)


#: Command, what makes it long enough to be hit, outputs, and how many of ten kills are its.
LONG = {
    "solve": ({"end": 3e5, "tolerance": 1e-11}, ("s-run.nc",), 3),
    "simulate, vectors": ({"simulated": 1000.0, "end": 1000.0}, ("s-sim.nc",), 2),
    "simulate, Gram": ({"method": "gram", "simulated": 3000.0, "end": 3000.0}, ("s-sim.nc",), 2),
    "study": (
        {"simulated": 200.0, "end": 3e4, "tolerance": 1e-10},
        ("s-results/run-study.nc", "s-results/sim-study.nc"),
        2,
    ),
    "map": ({"end": 3e3, "tolerance": 1e-10}, ("s-map.nc",), 1),
}


def kills(case: str, count: int, source: random.Random) -> Counter[str]:
    """Kill a command at random moments, go on, and compare what comes out in the end."""
    values, outputs, _ = LONG[case]
    command = case.partition(",")[0]
    words = [command, "s.toml", "--checkpoint-every", "0"]
    if command == "map":
        words += ["--quantity", "final_error", "--resolution", "16", "--output", *outputs]
        words += ["--over", "training.learning_rate=0.1:1", "--over", "training.label_noise=0:1"]
    endings: Counter[str] = Counter()
    with _folder() as whole:
        write_study(whole, **values)
        for _ in range(2):  # the second tells the time once everything is compiled
            undisturbed = Started(whole, *words).wait()
        assert undisturbed.code in (0, 1), undisturbed.err
        right = {name: numbers(whole / name) for name in outputs}
        longest = undisturbed.seconds
        while endings["killed"] < count:
            with _folder() as folder:
                write_study(folder, **values)
                # several kills in a row, then to the end
                for _ in range(source.randrange(1, 12)):
                    ended = Started(folder, *words).wait(
                        source.uniform(0.0, longest), signal.SIGKILL
                    )
                    endings["killed" if ended.code == -signal.SIGKILL else "too late"] += 1
                    endings.update(_judged(folder, outputs, right))
                    endings["traceback"] += "Traceback" in ended.err
                    endings["checkpoint not used"] += "not used" in ended.err
                ended = Started(folder, *words).wait()
                endings["gone on" if "resuming at" in ended.err else "begun again"] += 1
                endings["not ended"] += ended.code != undisturbed.code
                endings["lost"] += sum(not (folder / name).exists() for name in outputs)
                endings.update(_judged(folder, outputs, right))
                endings["left over"] += len(list(folder.rglob("*.checkpoint")))
    return endings


def _judged(
    folder: Path, files: tuple[str, ...], right: dict[str, dict[str, Any]]
) -> Iterator[str]:
    for name in files:
        if (folder / name).exists():
            try:
                found = numbers(folder / name)
            except InputError:
                yield "half a file"
                continue
            if not same_numbers(found, right[name]):
                yield "WRONG"


#: Every command that writes, each with all that it can write.
WRITING: dict[str, tuple[str, ...]] = {
    "solve": ("s.toml", "--output", "out/run.nc", "--plot", "out/run.svg"),
    "simulate": ("s.toml", "--output", "out/sim.nc"),
    "study": ("s.toml", "--output", "out"),
    "sweep": (
        *("s.toml", "--over", "training.learning_rate=0.4,0.5", "--output", "out/s.zarr"),
        *("--page", "out/s.html", "--netcdf", "out/s.nc"),
    ),
    "map": (
        *("s.toml", "--quantity", "final_error", "--over", "training.learning_rate=0.1:1"),
        *("--over", "initial.student_std=0.1:1", "--resolution", "2", "--coarse", "2"),
        *("--output", "out/map.nc", "--plot", "out/map.png"),
    ),
    "derive": ("--activation", "linear", "--format", "html", "--output", "out/d.html"),
    "generate": ("--activation", "linear", "--name", "g", "--output", "out"),
    "export": ("s.toml", "--to", "c", "--output", "out/e.c"),
    "init": ("out/new.toml", "--template", "two-units"),
    "cite": ("s.toml", "--output", "out/c.bib"),
    "schema": ("--output", "out/s.json"),
    "linear": (
        *("--distinct-eigenvalues", "8", "--exponent", "1", "--learning-rate", "0.5"),
        *("--alpha", "1,10", "--plot", "out/l.pdf"),
    ),
}


def full_disk(count: int, source: random.Random) -> Counter[str]:
    """No file may grow beyond a random size, as on a full disk, with and without an old result.

    What is there is whole afterwards, the old or the new; nothing else is left; and with room again
    the same command gives the result.
    """
    endings: Counter[str] = Counter()
    commands = list(WRITING)
    source.shuffle(commands)
    for trial in range(count):
        words = (commands[trial % len(commands)], *WRITING[commands[trial % len(commands)]])
        with _folder() as folder:
            write_study(folder, end=30.0)
            assert Started(folder, *words).wait().code in (0, 1)
            sizes = [path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file()]
            if trial % 2:
                shutil.rmtree(folder / "out")
            largest = source.randrange(max(sizes))
            ended = Started(folder, *words, "--force", largest=largest).wait()
            told = (ended.code == 1 and len(ended.errors) == 1) or not ended.errors
            endings["told" if told else f"exit code {ended.code}: {ended.err[-600:]}"] += 1
            endings["traceback"] += "Traceback" in ended.err
            endings.update(f"{words[0]} left {kind}" for kind in _not_whole(folder / "out"))
            again = Started(folder, *words, "--force").wait()
            endings[f"{words[0]} not again: {again.err[-300:]}"] += len(again.errors) > 0
    return endings


def _not_whole(folder: Path) -> Iterator[str]:
    """Files of an output that symderiv did not write to their end, and what killed ones leave."""
    for path in folder.rglob("*"):
        if ".zarr" in str(path.relative_to(folder)) or not path.is_file():
            continue
        if path.name.endswith(".tmp"):
            yield "a temporary file"
        elif path.suffix != ".checkpoint" and not is_sealed(path.read_bytes()):
            yield f"half of {path.name}"
    for store in folder.glob("*.zarr"):
        try:
            symderiv.open(store).to_xarray().load()
        except SymderivError:
            continue


def crowd(count: int) -> Counter[str]:
    """So many processes on one empty cache: each ends well, with one and the same result.

    They derive a solver, write it, compile it and keep all of it where the others look as well.
    """
    endings: Counter[str] = Counter()
    with _folder() as folder:
        write_study(folder, end=5.0)
        text = (folder / "s.toml").read_text().replace('"erf"', '"3*x/2"')
        cache = folder / "cache"
        places = [folder / f"process-{number}" for number in range(count)]
        running = []
        for place in places:
            place.mkdir()
            (place / "s.toml").write_text(text)
            running.append(Started(place, "solve", "s.toml", cache=cache))
        for place, started in zip(places, running, strict=True):
            ended = started.wait()
            well = ended.code == 0 and not ended.errors
            endings["exit code 0" if well else f"exit code {ended.code}: {ended.err[-300:]}"] += 1
            endings["traceback"] += "Traceback" in ended.err
            if well and not same_numbers(
                numbers(places[0] / "s-run.nc"), numbers(place / "s-run.nc")
            ):
                endings["WRONG"] += 1
        modules = [path.name for path in cache.rglob("kernel_*.py")]
        endings["several modules"] += len({name[:31] for name in modules}) != 1
        endings["left over"] += len(list(cache.rglob("*.tmp*")))
    return endings


def read_only() -> Counter[str]:
    """A folder that somebody else may not write to."""
    endings: Counter[str] = Counter()
    commands = (
        ("solve", "s.toml"),
        ("simulate", "s.toml"),
        ("study", "s.toml"),
        ("sweep", "s.toml", "--over", "training.learning_rate=0.4"),
        ("solve", "s.toml", "--output", "new/run.nc"),
        ("derive", "--activation", "linear", "--output", "d.txt"),
        ("generate", "--activation", "linear", "--name", "g"),
    )
    with _folder() as folder:
        write_study(folder)
        folder.chmod(0o555)
        before = sorted(os.listdir(folder))
        for words in commands:
            ended = Started(folder, *words, bound=True).wait()
            told = ended.code == 2 and len(ended.errors) == 1
            endings["told" if told else f"exit code {ended.code}: {ended.err[-300:]}"] += 1
        endings["written"] += sorted(os.listdir(folder)) != before
        folder.chmod(0o755)
    return endings


def rivals(count: int) -> Counter[str]:
    """Two processes with one output: the same study, then two that differ."""
    endings: Counter[str] = Counter()
    right = []
    for rate in (0.5, 0.4):
        with _folder() as folder:
            write_study(folder, rate=rate, end=1e5, tolerance=1e-11)
            assert Started(folder, "solve", "s.toml").wait().code == 0
            right.append(numbers(folder / "s-run.nc"))
    for trial in range(count):
        with _folder() as folder, _folder() as other:
            write_study(folder, end=1e5, tolerance=1e-11)
            write_study(other, rate=(0.5, 0.4)[trial % 2], end=1e5, tolerance=1e-11)
            output = ("--output", str(folder / "run.nc"), "--checkpoint-every", "0")
            both = [Started(place, "solve", "s.toml", *output) for place in (folder, other)]
            for started in both:
                ended = started.wait()
                # who is second in the very moment is told so, and replaces nothing
                met = ended.code == 2 and "another program" in ended.err
                kind = f"exit code {ended.code}{ended.errors or ''}"
                endings["told of the other" if met else kind] += 1
                endings["several lines"] += len(ended.errors) > 1
                endings["traceback"] += "Traceback" in ended.err
            found = numbers(folder / "run.nc")
            endings[
                "one of the two" if any(same_numbers(found, one) for one in right) else "WRONG"
            ] += 1
    return endings
