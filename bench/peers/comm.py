"""quern bench comm beside MPI's own collectives on the same ranks: bus bandwidth of ours over theirs by operation and
size, of the best of all runs, the two by turns.

    comm.py QUERN [--ranks 2] [--pairs 5] [--max-mib 16] [--operation NAME …]
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

OPERATIONS = ["all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "message", "shift"]
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def output(ranks, *command):
    words = ["mpirun", "--oversubscribe", "-n", str(ranks), *map(str, command)]
    return subprocess.run(words, check=True, env=os.environ | ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def ours(o):
    flags = [word for name in o.operation for word in ("--operation", name)]
    report = json.loads(output(o.ranks, o.quern, "bench", "comm", "--max-mib", o.max_mib, "--json", *flags))
    return {(name, p["bytes"]): p["seconds"] for name, one in report["ranks"][0]["operations"].items()
            for p in one["points"]}


def theirs(o, program):
    rows = (line.split() for line in output(o.ranks, program, o.max_mib, 7).splitlines())
    return {(name, int(size)): float(seconds) for name, size, seconds in rows}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("quern")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--pairs", type=int, default=5)
    p.add_argument("--max-mib", type=int, default=16)
    p.add_argument("--operation", action="append", choices=OPERATIONS)
    o = p.parse_args()
    o.operation = o.operation or OPERATIONS
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "mpi_collectives"
        subprocess.run(["mpicc", "-O2", "-o", program, pathlib.Path(__file__).with_name("mpi_collectives.c")], check=True)
        best = {}
        for _ in range(o.pairs):
            for who, run in (("ours", lambda: ours(o)), ("theirs", lambda: theirs(o, program))):
                for key, seconds in run().items():
                    best[who, key] = min(seconds, best.get((who, key), seconds))
    ratios = {key: best["theirs", key] / seconds for (who, key), seconds in best.items()
              if who == "ours" and ("theirs", key) in best}
    print(f"{o.ranks} ranks, bus bandwidth of quern over MPI's own")
    print(f"{'bytes':>10}" + "".join(f"{name:>16}" for name in o.operation))
    for size in sorted({size for _, size in ratios}):
        cells = [ratios.get((name, size)) for name in o.operation]
        print(f"{size:>10}" + "".join(f"{'' if c is None else format(c, '.2f'):>16}" for c in cells))


if __name__ == "__main__":
    main()
