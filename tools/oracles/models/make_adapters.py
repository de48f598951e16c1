"""Goldens for LoRA adapters: random adapters of PEFT on the tiny checkpoints of make.py, make_zamba.py and
make_mamba_hybrids.py, and the logits that transformers and PEFT compute with them in f32.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_adapters.py      # writes tests/goldens/adapters/*/

A folder holds the adapter as PEFT saves it, logits.npy (the rows of the base model's rows.npy below T tokens) and
base.txt, the folder of the base model; with `learn` also grads.safetensors, the gradients of the loss on the T tokens
by every A and B. Every adapter changes the logits by more than a tenth of the largest. `size` is
smaller where larger numbers magnify torch's own rounding in f32 beyond 1e-5.
"""
import json, shutil
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from make import OUT

T = 64
FOLDER = OUT / "adapters"


def randomise(model, seed, size):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if "lora_" in name:
                p.copy_(size * torch.randn(p.shape, generator=g))
            elif "modules_to_save" in name:
                p.add_(size * torch.randn(p.shape, generator=g))


def gradients(model, tokens):
    """Of the mean next-token loss by every A and B, under the names of the adapter's file."""
    model.zero_grad()
    logits = model(tokens[None], use_cache=False).logits[0]
    torch.nn.functional.cross_entropy(logits[:-1], tokens[1:]).backward()
    return {name.replace(".default", ""): p.grad.contiguous() for name, p in sorted(model.named_parameters())
            if "lora_" in name and p.grad is not None}


def write(name, base, seed, size=0.3, learn=False, **config):
    model = AutoModelForCausalLM.from_pretrained(OUT / base, attn_implementation="eager").float().eval()
    tokens = torch.from_numpy(np.load(OUT / base / "tokens.npy").astype(np.int64))[:T]
    rows = [r for r in np.load(OUT / base / "rows.npy") if r < T]
    with torch.no_grad():
        before = model(tokens[None], use_cache=False).logits[0][rows]
        model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **config)).eval()
        randomise(model, seed, size)
        logits = model(tokens[None], use_cache=False).logits[0][rows]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)
    text = json.loads((folder / "adapter_config.json").read_text())
    text["base_model_name_or_path"] = base
    for key in ("target_modules", "modules_to_save"):
        if isinstance(text.get(key), list):
            text[key] = sorted(text[key])
    (folder / "adapter_config.json").write_text(json.dumps(text, indent=2, sort_keys=True) + "\n")
    tensors = load_file(folder / "adapter_model.safetensors")
    save_file({k: tensors[k].contiguous() for k in sorted(tensors)}, folder / "adapter_model.safetensors",
              metadata={"format": "pt"})
    np.save(folder / "logits.npy", logits.numpy())
    if learn:
        save_file(gradients(model, tokens), folder / "grads.safetensors", metadata={"format": "pt"})
    (folder / "base.txt").write_text(base + "\n")
    change = float((logits - before).abs().max() / before.abs().max())
    print(name, len(tensors), "tensors, change of logits", change)
    assert change > 0.1


def main():
    write("llama", "llama-gqa", 51, r=3, lora_alpha=6, target_modules="all-linear",
          rank_pattern={"q_proj": 5, r"layers\.1\.mlp\.up_proj": 2}, alpha_pattern={"layers.0.self_attn.o_proj": 2})
    write("llama-saved", "llama-gqa", 52, r=2, lora_alpha=4, use_rslora=True, target_modules=["v_proj", "down_proj"],
          modules_to_save=["lm_head", "embed_tokens", "input_layernorm"])
    write("qwen2", "qwen2-bias", 53, learn=True, r=2, lora_alpha=4, target_modules=["q_proj", "k_proj", "v_proj"])
    write("zaya", "zaya-2-4x2", 54, learn=True, r=2, lora_alpha=4, target_modules="all-linear")
    write("zamba", "zamba-6", 55, learn=True, r=2, lora_alpha=4,
          target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "in_proj",
                          "out_proj", "linear"])
    write("zamba2-1block", "zamba2-1block", 56, size=0.1, r=2, lora_alpha=4, target_modules="all-linear")
    write("zamba2-2block", "zamba2-2block", 57, learn=True, size=0.1, r=3, lora_alpha=3, use_rslora=True, target_modules="all-linear")
    write("granite-h", "granite-h", 59, learn=True, size=0.2, r=2, lora_alpha=4, target_modules="all-linear")
    for seed, base in ((60, "falcon-h1"), (61, "nemotron-h")):  # PEFT refuses out_proj of models that it calls Mamba
        write(base, base, seed, learn=True, size=0.3, r=2, lora_alpha=4,
              target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "in_proj", "gate_proj", "up_proj", "down_proj"])
    write("zamba2-one-layer", "zamba2-1block", 58, r=2, lora_alpha=8, layers_to_transform=[3], layers_pattern="layers",
          target_modules=["q_proj", "o_proj", "gate_up_proj"])


if __name__ == "__main__":
    main()
