"""Goldens for families of Mamba-2 layers beside attention: tiny random Granite-4, Bamba, Falcon-H1 and Nemotron-H
checkpoints, their logits and gradients, computed by Hugging Face transformers in f32 (logits) and f64 (gradients).

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_mamba_hybrids.py      # writes tests/goldens/{granite-h,granite-h-moe,bamba,falcon-h1,nemotron-h}/

Folders as make.py writes them; tensors under the names that published checkpoints have, which transformers changes
while it loads them. transformers clamps the time step of a Nemotron-H prompt at `time_step_min`, which here is below any.
"""
import json
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, BambaConfig, FalconH1Config, GraniteMoeHybridConfig, NemotronHConfig
from make import OUT
from make_zamba import randomise

ROWS = [0, 1, 2, 3, 31, 62, 63, 64, 130, 255, 256, 299]
T, T_GRAD = 300, 64
STORED = {"block_sparse_moe.experts.gate_up_proj": "block_sparse_moe.input_linear.weight",
          "block_sparse_moe.experts.down_proj": "block_sparse_moe.output_linear.weight",
          "block_sparse_moe.router.weight": "block_sparse_moe.router.layer.weight"}


def stored_name(name, model_type):
    if model_type == "nemotron_h" and name.startswith("model."):
        return "backbone." + name.removeprefix("model.")
    for running, stored in STORED.items():
        if name.endswith(running):
            return name.removesuffix(running) + stored
    return name


def write(name, config, seed, grads):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager").eval().float()
    randomise(model, seed)
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    tokens = torch.randint(0, 90, (T,), generator=torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        logits = model(tokens[None], use_cache=False).logits[0]
    cfg = json.loads(config.to_json_string(use_diff=False))
    cfg["architectures"] = [type(model).__name__]
    cfg["some_future_key"] = {"kept": True}
    (folder / "config.json").write_text(json.dumps(cfg, indent=2) + "\n")
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    weights = {stored_name(n, config.model_type): p.detach().clone().contiguous() for n, p in model.named_parameters() if n not in tied}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    np.save(folder / "tokens.npy", tokens.numpy().astype(np.int32))
    np.save(folder / "rows.npy", np.array(ROWS, np.int32))
    np.save(folder / "logits.npy", logits[ROWS].numpy())
    if grads:
        model = model.double()
        model.get_input_embeddings().padding_idx = None  # else torch drops the input-side gradient of row 0
        x = tokens[None, :T_GRAD]
        out = model(x, use_cache=False).logits[0]
        loss = torch.nn.functional.cross_entropy(out[:-1], x[0, 1:])
        loss.backward()
        parameter = (lambda n: n) if config.model_type == "nemotron_h" else (lambda n: stored_name(n, config.model_type))
        g = {parameter(n): (p.grad if p.grad is not None else torch.zeros_like(p)).float().contiguous()
             for n, p in model.named_parameters() if n not in tied}
        g["loss"] = loss.detach().float().reshape(1)
        save_file(g, folder / "grads.safetensors")
    print(name, sum(p.numel() for p in model.parameters()), "logit std", float(logits.std()))


COMMON = dict(vocab_size=96, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, pad_token_id=0,
              max_position_embeddings=1024, bos_token_id=1, eos_token_id=2, rms_norm_eps=1e-5, mamba_n_heads=8,
              mamba_d_head=8, mamba_d_state=16, mamba_chunk_size=64)
KINDS = {"m": "mamba", "a": "attention"}


def granite(layers, **more):
    return GraniteMoeHybridConfig(**COMMON, num_hidden_layers=len(layers), layer_types=[KINDS[c] for c in layers],
                                  shared_intermediate_size=48, **more)


if __name__ == "__main__":
    # The published dense models: no positions, tied, all four multipliers, no experts.
    write("granite-h", granite("mmamm", num_local_experts=0, intermediate_size=48, tie_word_embeddings=True,
                               position_embedding_type="nope", embedding_multiplier=6.0, attention_multiplier=0.2,
                               residual_multiplier=0.4, logits_scaling=3.0), 51, grads=True)
    # The published mixtures, here with rotary positions, groups and a head of its own.
    write("granite-h-moe", granite("mam", num_local_experts=5, num_experts_per_tok=2, intermediate_size=16,
                                   mamba_n_groups=2, position_embedding_type="rope", embedding_multiplier=5.0,
                                   attention_multiplier=0.3, residual_multiplier=0.5, logits_scaling=2.0), 52, grads=True)
    write("falcon-h1", FalconH1Config(**{**COMMON, "mamba_n_groups": 2}, num_hidden_layers=3, mamba_d_ssm=64, head_dim=12,
                                      intermediate_size=48, embedding_multiplier=3.0, lm_head_multiplier=0.4,
                                      key_multiplier=0.6, attention_in_multiplier=1.3, attention_out_multiplier=0.7,
                                      ssm_in_multiplier=1.2, ssm_out_multiplier=0.6, mlp_multipliers=[0.8, 0.5],
                                      ssm_multipliers=[0.9, 1.2, 0.7, 1.4, 0.8]), 54, grads=True)
    nemotron = {k: v for k, v in COMMON.items() if not k.startswith("mamba_") and k != "rms_norm_eps"}
    write("nemotron-h", NemotronHConfig(**nemotron, layers_block_type=["mamba", "mlp", "attention", "mamba", "mlp"],
                                        head_dim=12, intermediate_size=40, ssm_state_size=16, mamba_num_heads=8,
                                        mamba_head_dim=8, n_groups=2, chunk_size=64, time_step_min=1e-6), 55, grads=True)
    write("bamba", BambaConfig(**COMMON, num_hidden_layers=4, attn_layer_indices=[1], intermediate_size=48,
                               mamba_n_groups=1), 53, grads=True)
