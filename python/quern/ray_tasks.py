"""Runs a corpus plan (quern corpus plan, docs/corpus/many-machines.md) under Ray, on one machine or a cluster:

    python -m quern.ray_tasks corpus.plan.json
    python -m quern.ray_tasks corpus.plan.json --address auto --cpus 4

Every task of the plan is a Ray task that starts the command quern. A task whose process or node dies is started again;
one that was done is not done again, so a plan can be started as often as it takes. Inputs, plan and output folder must be
on a file system that all nodes have. Needs `pip install ray`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any, Dict, List, Optional, Sequence, Union


class TaskKilled(RuntimeError):
    """A signal ended the process of a task: it may be started again."""


def _run(words: Sequence[str]) -> str:
    done = subprocess.run(list(words), capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode < 0:
        raise TaskKilled(f"{words[-1]} was killed by signal {-done.returncode}")
    if done.returncode != 0:
        raise RuntimeError(f"{words[-1]} ended with status {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _command() -> str:
    from ._command import COMMAND

    return COMMAND


def run_plan(
    plan: Union[str, "os.PathLike[str]"],
    *,
    command: Optional[str] = None,
    address: Optional[str] = None,
    cpus: int = 1,
    retries: int = 3,
) -> List[Dict[str, Any]]:
    """Runs all tasks of the plan and returns what each counted of itself (quern corpus task --json).

    command: the program quern, which every node must have there [that of this package]. address: of a Ray cluster; None
    starts Ray here. cpus: of a task, and its threads. retries: how often a task whose process or node died is started
    again."""
    import ray  # here: the rest of the package does without

    with open(plan, encoding="utf-8") as file:
        planned = json.load(file)
    program = command or _command()
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    task = ray.remote(num_cpus=cpus, max_retries=retries, retry_exceptions=[TaskKilled])(_run)
    counted: List[Dict[str, Any]] = []
    for stage in planned["stages"]:  # in an order in which each stands behind those that it waits for
        begin = [program, "--threads", str(cpus), "corpus", "task", "--json", os.path.abspath(plan)]
        ids = [t["id"] for t in planned["tasks"] if t["stage"] == stage["name"]]
        for said in ray.get([task.remote([*begin, one]) for one in ids]):
            counted.append(json.loads(said))
    return counted


def main(words: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m quern.ray_tasks", description="Run a corpus plan under Ray.")
    parser.add_argument("plan", help="what quern corpus plan wrote")
    parser.add_argument("--address", help="address of a Ray cluster; auto finds one [Ray is started here]")
    parser.add_argument("--command", help="the program quern, on every node [that of this package]")
    parser.add_argument("--cpus", type=int, default=1, help="CPUs and threads per task [1]")
    given = parser.parse_args(words)
    counted = run_plan(given.plan, command=given.command, address=given.address, cpus=given.cpus)
    ran = sum(bool(c["ran"]) for c in counted)
    print(f"{given.plan}: {len(counted)} tasks done, {ran} of them now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
