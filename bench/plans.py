"""What each plan of parallel training costs on one machine: two ranks of one thread each beside one rank of two
threads, on the same rows (plans.py QUERN [--only WORD]). A plan that divides the work and hides its sums takes as long
as the one rank; more is its price here. The shape of zaya-nano, new weights; the quickest of each run's steps and of
its parts, out of metrics.jsonl, so that other work on the machine counts least. The table: stdout.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

PLANS = [
    ("one rank, two threads", 1, []),
    ("data parallel", 2, []),
    ("zero = 1", 2, ["parallel.zero=1"]),
    ("context = 2, gather", 2, ["parallel.context=2"]),
    ("context = 2, ring", 2, ["parallel.context=2", 'parallel.context_form="ring"']),
    ("experts = 2", 2, ["parallel.experts=2"]),
    ("experts = 2, zero = 1", 2, ["parallel.experts=2", "parallel.zero=1"]),
]
RECIPE = """
dtype = "bf16"
checkpoint = {{ every = 0 }}
spikes = {{ window = 0 }}
model = {{ from = "{model}", fresh = true }}
[[phase]]
steps = {steps}
length = 256
rows = 8
schedule = {{ peak = 1e-4 }}
data = [{{ path = "set" }}]
"""


def main():
    a = argparse.ArgumentParser()
    a.add_argument("quern")
    a.add_argument("--only", default="")
    a.add_argument("--steps", type=int, default=12)
    a = a.parse_args()
    quern = str(pathlib.Path(a.quern).resolve())
    model = pathlib.Path(__file__).resolve().parent.parent / "models" / "zaya-nano"
    base = None
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        quiet = dict(cwd=at, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run([quern, "data", "curriculum", "--out", "set.jsonl", "--count", "2000", "--form", "text"], **quiet)
        subprocess.run([quern, "data", "build", "set.jsonl", "--tokenizer", model, "--out", "set"], **quiet)
        (at / "recipe.toml").write_text(RECIPE.format(model=model, steps=a.steps))
        print(f"8 rows of 256 a step; seconds\n{'plan':<24} {'step':>7} {'reduce':>7} {'optimizer':>9} {'beside one rank':>16}")
        for i, (name, ranks, settings) in enumerate(PLANS):
            if a.only not in name and i > 0:
                continue
            words = [quern, "--threads", "2", "train", "recipe.toml", "--out", f"run{i}", "--ranks", str(ranks)]
            subprocess.run(words + [w for s in settings for w in ("--set", s)], **quiet)
            steps = [s for s in map(json.loads, open(at / f"run{i}" / "metrics.jsonl")) if "loss" in s][2:]
            best = lambda key: min(s[key] for s in steps)
            base = base or best("time_s")
            print(f"{name:<24} {best('time_s'):>7.2f} {best('reduce_s'):>7.2f} {best('optimizer_s'):>9.2f} "
                  f"{best('time_s') / base:>15.2f}×", flush=True)


main()
