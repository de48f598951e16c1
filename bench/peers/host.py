"""quern bench host beside its peers: copy and triad beside STREAM's loops, products beside oneDNN as PyTorch calls it, on
the same grid. Ratios above 1 are in Quern's favor: of the best of all runs of memory, medians over pairs of runs of
products, the two by turns.

    host.py QUERN [--pairs 3] [--threads 1] [--skip-memory | --skip-products]        (products need torch)

One thread by default: on cores that others use, threads that wait for each other measure the neighbors.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

FORMATS = {"f32": "float32", "bf16": "bfloat16"}


def quern(o, section):
    words = [o.quern, "--threads", str(o.threads), "bench", "host", "--reps", "1", "--only", section, "--json"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def stream_pairs(o):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "stream"
        source = pathlib.Path(__file__).with_name("stream.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", "-o", program, source], check=True)
        best = {}
        for pair in range(o.pairs):
            def ours():
                curves = quern(o, "memory")["memory"]["curves"]
                return {c["pattern"]: c["points"][-1]["gbs"] for c in curves if c["threads"] == o.threads}

            def theirs():
                threads = {"OMP_NUM_THREADS": str(o.threads), "OMP_PROC_BIND": "true"}
                words = subprocess.run([program, "128", "20"], check=True, capture_output=True, text=True,
                                       env=os.environ | threads).stdout.split()
                return {words[0]: float(words[1]), words[2]: float(words[3])}

            for who, run in (("quern", ours), ("STREAM", theirs)):
                for name, rate in run().items():
                    best[who, name] = max(rate, best.get((who, name), 0))
    for name in ("copy", "triad"):
        mine, other = best["quern", name], best["STREAM", name]
        print(f"{name:<8}{mine:>8.1f} GB/s, STREAM's loop {other:.1f}: {mine / other:.2f} (128 MiB, {o.threads} threads)")


def torch_times(shapes, threads):
    import torch
    torch.set_num_threads(threads)
    times = {}
    with torch.inference_mode():
        for format, dtype in FORMATS.items():
            for n, k in sorted({(n, k) for _, n, k in shapes}):
                w = torch.rand(n, k).sub(0.5).to(getattr(torch, dtype))
                for m in sorted({m for m, _, _ in shapes}):
                    x = torch.rand(m, k).sub(0.5).to(w.dtype)
                    torch.nn.functional.linear(x, w)
                    best = float("inf")
                    for _ in range(9):
                        calls, begin = 0, time.perf_counter()
                        while calls == 0 or time.perf_counter() - begin < 0.002:
                            torch.nn.functional.linear(x, w)
                            calls += 1
                        best = min(best, (time.perf_counter() - begin) / calls)
                    times[format, m, n, k] = best
    return times


def product_pairs(o):
    ratios = {}
    for _ in range(o.pairs):
        ours = {(f["format"], p["m"], p["n"], p["k"]): p["seconds"] for f in quern(o, "products")["products"]
                if f["format"] in FORMATS for p in f["products"]}
        for key, seconds in torch_times({key[1:] for key in ours}, o.threads).items():
            ratios.setdefault(key, []).append(seconds / ours[key])
    median = {key: statistics.median(values) for key, values in ratios.items()}
    for format in FORMATS:
        of = {key[1:]: r for key, r in median.items() if key[0] == format}
        print(f"\n{format}: oneDNN's time over ours, {len(of)} shapes, median {statistics.median(of.values()):.2f}, "
              f"{sum(r < 0.8 for r in of.values())} below 0.8")
        rows = sorted({m for m, _, _ in of})
        print(f"{'N x K':>12}" + "".join(f"{m:>8}" for m in rows))
        for n, k in sorted({(n, k) for _, n, k in of}):
            print(f"{f'{n} x {k}':>12}" + "".join(f"{of[m, n, k]:>8.2f}" for m in rows))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("quern")
    p.add_argument("--pairs", type=int, default=3)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--skip-memory", action="store_true")
    p.add_argument("--skip-products", action="store_true")
    o = p.parse_args()
    if not o.skip_memory:
        stream_pairs(o)
    if not o.skip_products:
        product_pairs(o)


if __name__ == "__main__":
    main()
