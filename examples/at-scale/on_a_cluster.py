"""A sweep on a cluster with a queue: ``python on_a_cluster.py STUDY.toml STORE --over key=values``.

The workers are jobs of SLURM; ``--queue local`` takes processes of this machine for jobs, which
shows on a laptop what happens there. This program writes the store: it belongs on a node that may
run for as long as the sweep takes. Killed in any way, the same command goes on.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

import symderiv as sd
from symderiv.sweeps.swept_keys import parse_over


def jobs(queue: str, options: argparse.Namespace) -> Any:
    """A cluster whose workers are jobs of one thread each."""
    module: Any = import_module("dask_jobqueue")
    local: Any = import_module("dask_jobqueue.local")
    kinds = {"slurm": module.SLURMCluster, "local": local.LocalCluster}
    more = {"slurm": {"queue": options.partition, "account": options.account}, "local": {}}[queue]
    return kinds[queue](
        cores=options.cores,
        processes=options.cores,
        memory=options.memory,
        walltime=options.walltime if queue == "slurm" else None,
        # a worker that was killed, or has lost its scheduler, ends and its job with it
        worker_extra_args=["--death-timeout", "120"],
        **more,
    )


def main() -> None:
    """Start the jobs, sweep, end the jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("store")
    parser.add_argument("--over", action="append", default=[])
    parser.add_argument("--queue", choices=("slurm", "local"), default="slurm")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="of a job")
    parser.add_argument("--memory", default="2GB", help="of a job")
    parser.add_argument("--walltime", default="04:00:00")
    parser.add_argument("--partition")
    parser.add_argument("--account")
    options = parser.parse_args()
    problem = sd.Problem.from_toml(options.study)
    over = dict(parse_over(text) for text in options.over)
    with jobs(options.queue, options) as cluster:
        cluster.scale(jobs=options.jobs)
        found = problem.sweep(
            over, output=options.store, scheduler=cluster.scheduler_address, notice=print
        )
    print(found.to_text(), end="")


if __name__ == "__main__":
    main()
