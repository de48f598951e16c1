"""Trains LoRA adapters with Quern on the tiny checkpoints of make.py and make_zamba.py and opens them with PEFT: the
logits of both must agree, and PEFT must find every tensor.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/check_trained_adapters.py build/release/apps/quern/quern
"""
import json, pathlib, subprocess, sys, tempfile, warnings
import numpy as np
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM
from make import OUT

T = 64
RECIPE = """
name = "trained"
seed = 5
dtype = "f32"
model = {{ from = "{base}" }}
adapter = {adapter}
[[phase]]
steps = 40
sequence_length = 48
batch_size = 4
schedule = {{ peak = 0.02 }}
data = [{{ path = "{data}" }}]
"""
CASES = {
    "llama-gqa": "{ rank = 4 }",
    "qwen2-bias": '{ rank = 4, targets = ["q_proj", "v_proj"], alpha = 4 }',
    "zaya-2-4x2": "{ rank = 4, dropout = 0.1 }",
    "zamba-6": "{ rank = 3 }",
    "zamba2-1block": '{ rank = 4, scaling = "rslora" }',
    "zamba2-2block": "{ rank = 4, base = \"q8\" }",
    "zamba2-2block-adapters": "{ rank = 2 }",
}


def shards(prefix, vocab):
    """Runs that count upwards, in Megatron's indexed format."""
    import struct
    rng = np.random.default_rng(7)
    docs = [(3 + (rng.integers(50) + np.arange(rng.integers(8, 45))) % min(50, vocab - 3)).astype("<u2") for _ in range(300)]
    lengths = np.array([len(d) for d in docs], "<i4")
    offsets = (np.cumsum(lengths) - lengths).astype("<i8") * 2
    prefix.with_suffix(".bin").write_bytes(np.concatenate(docs).tobytes())
    prefix.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(docs), len(docs) + 1) + lengths.tobytes() + offsets.tobytes()
        + np.arange(len(docs) + 1, dtype="<i8").tobytes())


def check(quern, base, adapter, work):
    shards(work / "set", json.loads((OUT / base / "config.json").read_text())["vocab_size"])
    (work / "recipe.toml").write_text(RECIPE.format(base=OUT / base, adapter=adapter, data=work / "set"))
    subprocess.run([quern, "train", work / "recipe.toml", "--out", work / "run"], check=True, capture_output=True)
    tokens = np.load(OUT / base / "tokens.npy").astype(np.int64)[:T]
    ids = ",".join(map(str, tokens))
    ours = []
    for lora in ([], ["--lora", work / "run/model"]):
        subprocess.run([quern, "logits", OUT / base, "--ids", ids, "--dtype", "f32", "--out", work / "y.npy", *lora],
                       check=True, capture_output=True)
        ours.append(np.load(work / "y.npy"))
    model = AutoModelForCausalLM.from_pretrained(OUT / base, attn_implementation="eager").float()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PeftModel.from_pretrained(model, work / "run/model").eval()
    missing = [str(w.message)[:200] for w in caught if "missing" in str(w.message).lower()]
    with torch.no_grad():
        theirs = model(torch.from_numpy(tokens)[None], use_cache=False).logits[0].numpy()
    error = np.abs(ours[1] - theirs).max() / np.abs(theirs).max()
    change = np.abs(ours[1] - ours[0]).max() / np.abs(ours[0]).max()
    print(f"{base:24} {adapter:48} largest difference {error:.1e}, change by training {change:.2f} {missing}")
    assert error <= 1e-4 and change > 0.02 and not missing


if __name__ == "__main__":
    for base, adapter in CASES.items():
        with tempfile.TemporaryDirectory() as work:
            check(sys.argv[1], base, adapter, pathlib.Path(work))
