"""A training step of Quern and of transformers on PyTorch's CPU kernels, in turns: train.py QUERN [--pairs N]
[--only WORD]. The same shapes (`quern bench train --shape …`), rows and random tokens; forward and backward are timed,
the optimizer is not. PyTorch runs in f32 and, where that works, under bf16 autocast, and its better figure counts;
nothing is compiled. The table: stdout and build/peers/train.json.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

import torch
import transformers

SHAPES = ["llama-60m", "zaya-60m", "zamba2-60m"]
ROWS, LENGTH = 8, 512


def ours(quern, shape):
    out = subprocess.run([quern, "bench", "train", "--shape", shape, "--rows", str(ROWS), "--length", str(LENGTH),
                          "--reps", "3", "--json"], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


class Peer:
    def __init__(self, config):
        fields = dict(config)
        c = transformers.CONFIG_MAPPING[fields.pop("model_type")](**fields)
        experts = {"experts_implementation": "eager"} if "zaya" in config["model_type"] else {}
        torch.manual_seed(1)
        self.model = transformers.AutoModelForCausalLM.from_config(c, dtype=torch.float32, **experts).train()
        self.ids = torch.randint(0, c.vocab_size, (ROWS, LENGTH))

    def step(self, bf16):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            loss = self.model(self.ids, labels=self.ids, use_cache=False).loss
        loss.backward()
        self.model.zero_grad(set_to_none=False)

    def tokens_per_s(self):
        best = {}
        for bf16 in (False, True):
            try:
                self.step(bf16)  # memory is touched, code is warm
                start = time.perf_counter()
                self.step(bf16)
                best["bf16" if bf16 else "f32"] = ROWS * LENGTH / (time.perf_counter() - start)
            except RuntimeError as e:  # a kernel that has no bf16 form
                print(f"  PyTorch, {'bf16' if bf16 else 'f32'}: {str(e).splitlines()[0]}", flush=True)
        return best


def main():
    a = argparse.ArgumentParser()
    a.add_argument("quern")
    a.add_argument("--pairs", type=int, default=3)
    a.add_argument("--only", default="")
    a = a.parse_args()
    torch.set_num_threads(int(subprocess.run(["nproc"], capture_output=True, text=True).stdout))
    rows = []
    print(f"transformers {transformers.__version__}, torch {torch.__version__}; {ROWS} rows of {LENGTH}")
    print(f"{'shape':<12} {'quern t/s':>10} {'mfu':>6} {'peer t/s':>10} {'dtype':>6} {'ratio':>7}  of each pair")
    for shape in SHAPES:
        if a.only not in shape:
            continue
        peer, pairs = None, []
        for _ in range(a.pairs):
            mine = ours(a.quern, shape)
            peer = peer or Peer(mine["config"])
            theirs = peer.tokens_per_s()
            dtype = max(theirs, key=theirs.get)
            pairs.append({"quern": mine["tokens_per_s"], "mfu": mine["mfu"], "peer": theirs[dtype], "dtype": dtype,
                          "peer_all": theirs, "ratio": mine["tokens_per_s"] / theirs[dtype]})
        middle = lambda key: statistics.median(p[key] for p in pairs)
        rows.append({"shape": shape, "pairs": pairs, "ratio": middle("ratio")})
        each = ", ".join(f"{p['ratio']:.2f}" for p in pairs)
        print(f"{shape:<12} {middle('quern'):>10.0f} {middle('mfu'):>6.2f} {middle('peer'):>10.0f} {pairs[-1]['dtype']:>6} "
              f"{middle('ratio'):>6.2f}×  {each}", flush=True)
    pathlib.Path("build/peers").mkdir(parents=True, exist_ok=True)
    pathlib.Path("build/peers/train.json").write_text(json.dumps(rows, indent=2))


main()
