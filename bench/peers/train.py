"""A training step of Quern and of transformers on PyTorch's CPU kernels, in turns: train.py QUERN [--lora] [--pairs N]
[--only WORD] [--reps N]. The same shapes (`quern bench train --shape …`), rows and random tokens; forward and
backward are timed, the optimizer is not, but both move their parameters once a step (Muon here, AdamW there), so that
its state is in the peak of resident memory that stands beside the speed. Every measurement is a process of its own,
its speed the median of N steps after a first one. PyTorch runs in f32 and, where that works, under bf16 autocast: its
faster form is the yardstick of speed, its smaller one of memory; nothing is compiled. The table: stdout and
build/peers/train.json.

--lora [--layers N]: an adapter of rank 16 on every matrix learns beside frozen weights, in 4 bits here, in bf16 and in f32
with PEFT; the first N layers of a large shape, one sequence. The table: stdout and build/peers/train-lora.json.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from machine import headline, machine

SHAPES = ["llama-60m", "zaya-60m", "zamba2-60m"]
ROWS, LENGTH = 8, 512
LORA_SHAPES = ["zamba2-2.7b"]
RANK = 16


def run(command, text=None):
    """The JSON a command prints, and the peak of its resident memory in bytes; None when it fails, having said why."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if text:
        child.stdin.write(text)
    child.stdin.close()
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (json.loads(out), usage.ru_maxrss * 1024) if child.returncode == 0 else None


def ours(quern, shape, rows, reps, layers):
    command = [quern, "bench", "train", "--shape", shape, "--micro-batch", str(rows), "--length", str(LENGTH),
               "--reps", str(reps), "--json"]
    if layers:
        command += ["--base", "q4", "--rank", str(RANK), "--layers", str(layers)]
    found = run(command)
    if found is None:
        raise SystemExit(f"quern bench train --shape {shape} failed")
    return {**found[0], "peak": found[1]}


def with_adapter(model):
    """An adapter of PEFT's on every matrix that Quern gives one: not on embedding, head, and Zamba2's own adapters."""
    import peft
    import torch
    names = [name for name, m in model.named_modules()
             if isinstance(m, torch.nn.Linear) and not name.endswith("lm_head") and "_adapter_list." not in name]
    return peft.get_peft_model(model, peft.LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=names))


def worker(dtype, rows, reps, lora):
    """The peer's side: its configuration on stdin, its figures on stdout."""
    import torch
    import transformers
    fields = json.load(sys.stdin)
    family = fields.pop("model_type")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(1)
    c = transformers.CONFIG_MAPPING[family](**fields)
    experts = {"experts_implementation": "eager"} if family == "zaya" else {}
    base = torch.bfloat16 if lora and dtype == "bf16" else torch.float32
    model = transformers.AutoModelForCausalLM.from_config(c, dtype=base, **experts)
    model = (with_adapter(model) if lora else model).train()
    learns = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learns, lr=1e-4)
    ids = torch.randint(0, c.vocab_size, (rows, LENGTH))
    seconds = []
    for _ in range(1 + reps):  # the first one makes the buffers
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16" and not lora):
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        seconds.append(time.perf_counter() - start)
        del loss
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps({"tokens_per_s": rows * LENGTH / statistics.median(seconds[1:]), "torch": torch.__version__,
                      "transformers": transformers.__version__, "threads": torch.get_num_threads(),
                      "parameters": sum(p.numel() for p in learns)}))


def theirs(config, rows, reps, lora):
    found = {}
    for dtype in ("f32", "bf16"):
        one = run([sys.executable, __file__, "--worker", dtype, "--rows", str(rows), "--reps", str(reps)]
                  + ["--lora"] * lora, json.dumps(config))
        if one is not None:  # a kernel may have no bf16 form
            found[dtype] = {**one[0], "peak": one[1]}
    if not found:
        raise SystemExit("PyTorch ran in neither type")
    return found


def main():
    a = argparse.ArgumentParser()
    a.add_argument("quern", nargs="?")
    a.add_argument("--pairs", type=int, default=3)
    a.add_argument("--only", default="")
    a.add_argument("--reps", type=int, default=3)
    a.add_argument("--lora", action="store_true")
    a.add_argument("--layers", type=int, default=7)
    a.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    a.add_argument("--worker", choices=["f32", "bf16"], help=argparse.SUPPRESS)
    a = a.parse_args()
    batch = a.rows or (1 if a.lora else ROWS)
    if a.worker:
        return worker(a.worker, batch, a.reps, a.lora)
    rows, here = [], machine(a.quern)
    print(headline(here))
    print(f"{batch} rows of {LENGTH}; memory: peak of the process, an optimizer's step included")
    print(f"{'shape':<12} {'quern t/s':>10} {'mfu':>6} {'peer t/s':>10} {'dtype':>6} {'ratio':>7} {'quern GB':>9} {'peer GB':>8}"
          "  ratios of the pairs")
    for shape in LORA_SHAPES if a.lora else SHAPES:
        if a.only not in shape:
            continue
        pairs = []
        for _ in range(a.pairs):
            mine = ours(a.quern, shape, batch, a.reps, a.layers if a.lora else 0)
            peer = theirs(mine["config"], batch, a.reps, a.lora)
            dtype = max(peer, key=lambda d: peer[d]["tokens_per_s"])
            pairs.append({"quern": mine["tokens_per_s"], "mfu": mine["mfu"], "peer": peer[dtype]["tokens_per_s"],
                          "dtype": dtype, "peer_all": peer, "ratio": mine["tokens_per_s"] / peer[dtype]["tokens_per_s"],
                          "quern_peak": mine["peak"], "peer_peak": min(p["peak"] for p in peer.values())})
        middle = lambda key: statistics.median(p[key] for p in pairs)
        rows.append({"shape": shape, "pairs": pairs, "ratio": middle("ratio")})
        each = ", ".join(f"{p['ratio']:.2f}" for p in pairs)
        print(f"{shape:<12} {middle('quern'):>10.0f} {middle('mfu'):>6.2f} {middle('peer'):>10.0f} {pairs[-1]['dtype']:>6} "
              f"{middle('ratio'):>6.2f}× {middle('quern_peak') / 1e9:>9.2f} {middle('peer_peak') / 1e9:>8.2f}  {each}",
              flush=True)
        for dtype in ("f32", "bf16"):
            found = [p["quern"] / p["peer_all"][dtype]["tokens_per_s"] for p in pairs if dtype in p["peer_all"]]
            print(f"{'':<12} against {dtype}: {', '.join(f'{r:.2f}' for r in found)}")
    pathlib.Path("build/peers").mkdir(parents=True, exist_ok=True)
    name = "train-lora.json" if a.lora else "train.json"
    pathlib.Path("build/peers", name).write_text(json.dumps({"machine": here, "rows": rows}, indent=2))


main()
