"""Goldens for Zamba and Zamba2: tiny random checkpoints, their logits and gradients, computed by Hugging Face
transformers in f32 (logits) and f64 (gradients).

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_zamba.py      # writes tests/goldens/zamba*/

Folders as make.py writes them. transformers clamps the time step of a Zamba2 prompt to at least `time_step_min` (0.001
in published files), but not in single steps with a cache. Published models have no such floor, so that biases here keep
every time step above it; zamba2-bounded is the exception, whose bounds are stated by `time_step_limit`.
"""
import json, math
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, Zamba2Config, ZambaConfig
from make import OUT, stored

ROWS = [0, 1, 2, 3, 31, 62, 63, 64, 130, 249]
T, T_GRAD = 250, 64


def randomise(model, seed):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            r = torch.randn(p.shape, generator=g)
            if name.endswith("A_log"):
                p.copy_(torch.log(1 + 7 * torch.rand(p.shape, generator=g)))
            elif name.endswith((".D", "layernorm.weight", "norm.weight")):
                p.copy_(1.0 + 0.2 * r)
            elif name.endswith(("dt_bias", "dt_proj_bias")):
                p.copy_(-1.0 + 0.4 * r)
            elif p.ndim == 1:
                p.copy_(0.2 * r)
            else:
                p.copy_(r / math.sqrt(math.prod(p.shape[1:]) if "conv" in name else p.shape[-1]))
            if name.endswith("embed_tokens.weight"):
                p.mul_(math.sqrt(p.shape[1]) * 0.5)
            elif name.endswith("out_proj.weight"):
                p.mul_(0.5)  # a stream that grows gently: at gain 1 f32 and bf16 rounding is magnified past any tolerance


def smallest_step(model, tokens):
    """The smallest Δ over all layers, before any clamp."""
    least = []
    hooks = []
    for name, m in model.named_modules():
        if hasattr(m, "dt_bias") and hasattr(m, "in_proj"):
            def hook(mod, args, out):
                dt = out[..., -mod.owner_bias.numel():]
                least.append(torch.nn.functional.softplus(dt + mod.owner_bias).min().item())
            m.in_proj.owner_bias = m.dt_bias.detach()
            hooks.append(m.in_proj.register_forward_hook(hook))
    with torch.no_grad():
        model(tokens[None], use_cache=False)
    for h in hooks:
        h.remove()
    return min(least) if least else math.inf


def write(name, config, seed, grads, bounds=None):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().float()
    randomise(model, seed)
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    tokens = torch.randint(0, 90, (T,), generator=torch.Generator().manual_seed(seed + 1))
    step = smallest_step(model, tokens)
    if bounds:
        for m in model.modules():
            if hasattr(m, "time_step_limit"):
                m.time_step_limit = bounds
    elif config.model_type == "zamba2":
        assert step > 2 * config.time_step_min, step
    with torch.no_grad():
        logits = model(tokens[None], use_cache=False).logits[0]
    cfg = json.loads(config.to_json_string(use_diff=False))
    cfg["some_future_key"] = {"kept": True}
    if bounds:
        cfg["time_step_limit"] = list(bounds)
    (folder / "config.json").write_text(json.dumps(cfg, indent=2) + "\n")
    weights = {k: v for k, v in stored(model).items() if k != "lm_head.weight"}
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
        g = {n: (p.grad if p.grad is not None else torch.zeros_like(p)).float().contiguous()
             for n, p in model.named_parameters() if n != "lm_head.weight"}
        g["loss"] = loss.detach().float().reshape(1)
        save_file(g, folder / "grads.safetensors")
    print(name, sum(p.numel() for p in model.parameters()), "logit std", float(logits.std()), "smallest step", step)
    return weights


COMMON = dict(vocab_size=96, hidden_size=16, num_attention_heads=4, max_position_embeddings=4096, pad_token_id=0,
              bos_token_id=1, eos_token_id=2)


def zamba2(layers, blocks, groups, adapters, rope):
    return Zamba2Config(**COMMON, num_hidden_layers=len(layers), n_mamba_heads=4, mamba_d_state=8, mamba_ngroups=groups,
                        num_mem_blocks=blocks, use_shared_attention_adapter=adapters, use_mem_rope=rope, adapter_rank=3,
                        intermediate_size=24, chunk_size=256,
                        layers_block_type=[{"m": "linear_attention", "h": "hybrid"}[c] for c in layers])


def write_legacy(name, weights, config):
    """The same weights in the layout of 2024: blocks apart from layers, every block with adapters of all invocations
    (those it never meets hold other numbers), and a stored copy of the tied head."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    hyb, n = config.hybrid_layer_ids, config.num_mem_blocks
    g = torch.Generator().manual_seed(99)
    out = {}
    for key, t in weights.items():
        p = key.split(".")
        if p[1] != "layers":
            out[key] = t
            continue
        layer, rest = int(p[2]), ".".join(p[3:])
        if rest == "linear.weight":
            out[f"model.linear_layers.{hyb.index(layer)}.weight"] = t
        elif rest.startswith("shared_transformer."):
            r = rest.removeprefix("shared_transformer.")
            r = r.replace("gate_up_proj_adapter_list", "linear_fc1_adapter_list").replace("gate_up_proj", "linear_fc1")
            r = r.replace("feed_forward.down_proj", "feed_forward.linear_fc2")
            if "_adapter_list." in r:
                head, tail = r.split("_adapter_list.")
                j, side, _ = tail.split(".")
                r = f"{head}_lora_{'A' if side == '0' else 'B'}_list.{j}.weight"
                for other in range(len(hyb)):
                    if other % n != hyb.index(layer) % n:
                        unused = f"{head}_lora_{'A' if side == '0' else 'B'}_list.{other}.weight"
                        out[f"model.blocks.{hyb.index(layer)}.{unused}"] = torch.randn(t.shape, generator=g)
            out[f"model.blocks.{hyb.index(layer)}.{r}"] = t
        else:
            out[f"model.mamba_layers.{layer}." + rest.removeprefix("mamba_decoder.")] = t
    out["lm_head.weight"] = out["model.embed_tokens.weight"].clone()
    cfg = dict(architectures=["Zamba2ForCausalLM"], model_type="zamba2", vocab_size=config.vocab_size,
               hidden_size=config.hidden_size, num_hidden_layers=config.num_hidden_layers,
               layers_block_type=["g" if t == "hybrid" else "m" for t in config.layers_block_type],
               state_size=config.mamba_d_state, conv_dimension=config.mamba_d_conv, expansion_factor=config.mamba_expand,
               mamba_headdim=config.mamba_headdim, mamba_ngroups=config.mamba_ngroups,
               ffn_hidden_size=config.intermediate_size, lora_rank=config.adapter_rank, use_shared_block_lora=True,
               use_shared_attention_lora=config.use_shared_attention_adapter, use_mem_rope=config.use_mem_rope,
               rope_theta=10000, num_mem_blocks=n, num_attention_heads=config.num_attention_heads,
               kv_channels=config.kv_channels, rms_norm_eps=config.rms_norm_eps, gated_linear_unit=True,
               sliding_window=None, max_position_embeddings=4096, tie_word_embeddings=True, some_future_key={"kept": True})
    (folder / "config.json").write_text(json.dumps(cfg, indent=2) + "\n")
    save_file({k: v.contiguous() for k, v in out.items()}, folder / "model.safetensors", metadata={"format": "pt"})


def main():
    write("zamba-6", ZambaConfig(**COMMON, num_hidden_layers=6, num_key_value_heads=4, intermediate_size=24,
                                 attn_layer_period=3, attn_layer_offset=1, n_mamba_heads=2, mamba_d_state=8,
                                 mamba_dt_rank=3, use_mamba_kernels=False), 31, grads=True)
    write("zamba2-1block", zamba2("mhmhh", 1, 1, True, True), 32, grads=True)
    c = zamba2("mhhmhh", 2, 1, False, False)
    write_legacy("zamba2-2block-legacy", write("zamba2-2block", c, 33, grads=False), c)
    write("zamba2-2block-rope", zamba2("hmmhhm", 2, 2, False, True), 37, grads=True)
    write("zamba2-2block-adapters", zamba2("mhmhmhh", 2, 2, True, False), 38, grads=False)
    write("zamba2-bounded", zamba2("mhm", 1, 1, False, False), 39, grads=True, bounds=(0.3, 0.5))


if __name__ == "__main__":
    main()
