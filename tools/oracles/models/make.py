"""Goldens for whole models: tiny random ZAYA and Llama-style checkpoints, their logits and gradients, computed by
Hugging Face transformers in f32 (logits) and f64 (gradients).

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make.py            # writes tests/goldens/<name>/

Each folder: config.json, model.safetensors (f32), tokens.npy [T], rows.npy (which logit rows are kept),
logits.npy [rows, V], and for the models that have it grads.safetensors (d mean-cross-entropy of the first 64 tokens).
"""
import json, math, pathlib
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import DynamicCache, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config, ZayaConfig, AutoModelForCausalLM

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens"
ROWS = [0, 1, 2, 3, 31, 62, 63, 64, 200, 511, 699]
T, T_GRAD, T_CACHE = 700, 64, 201


def randomise(model, seed):
    """Weights large enough that every part of the model shows in the logits (HF's init hides scales and biases)."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            r = torch.randn(p.shape, generator=g)
            if name.endswith("temp"):
                p.copy_(1.0 + 0.3 * r)
            elif "scale" in name or "norm" in name:
                p.copy_(1.0 + 0.2 * r)
            elif p.ndim == 1:
                p.copy_(0.2 * r)
            elif "out_proj" in name:
                p.copy_(0.6 * r)
            else:
                fan_in = math.prod(p.shape[1:]) if p.ndim != 3 or "conv" in name else p.shape[-1]
                p.copy_(r * (1.0 / math.sqrt(fan_in)))
            if name.endswith("embed_tokens.weight"):
                p.mul_(math.sqrt(p.shape[1]) * 0.5)
        for name, b in sorted(model.named_buffers()):
            if name.endswith("balancing_biases"):
                b.copy_(0.1 * torch.randn(b.shape, generator=g))
                b[-1] = -1.0


def stored(model):
    keep = {n: p.detach().clone().contiguous() for n, p in model.named_parameters()}
    keep.update({n: b.detach().clone().contiguous() for n, b in model.named_buffers() if n.endswith("balancing_biases")})
    return keep


def forget_lengths(model):
    """Dynamic rotary embeddings keep the frequencies of the longest sequence so far; a new one knows none."""
    if hasattr(model.model, "rotary_emb"):
        model.model.rotary_emb = type(model.model.rotary_emb)(model.config)


def write(name, config, seed, grads, **extra_config):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager").eval().float()
    randomise(model, seed)
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    tokens = torch.randint(0, 90, (T,), generator=torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        logits = model(tokens[None], use_cache=False).logits[0]
    cfg = json.loads(config.to_json_string(use_diff=False))
    cfg.update(extra_config)
    (folder / "config.json").write_text(json.dumps(cfg, indent=2) + "\n")
    save_file(stored(model), folder / "model.safetensors", metadata={"format": "pt"})
    np.save(folder / "tokens.npy", tokens.numpy().astype(np.int32))
    np.save(folder / "rows.npy", np.array(ROWS, np.int32))
    np.save(folder / "logits.npy", logits[ROWS].numpy())
    if grads:
        forget_lengths(model)
        model = model.double()
        model.get_input_embeddings().padding_idx = None  # else torch drops the input-side gradient of row 0
        x = tokens[None, :T_GRAD]
        out = model(x, use_cache=False).logits[0]
        loss = torch.nn.functional.cross_entropy(out[:-1], x[0, 1:])
        loss.backward()
        g = {n: (p.grad if p.grad is not None else torch.zeros_like(p)).float().contiguous() for n, p in model.named_parameters()}
        g["loss"] = loss.detach().float().reshape(1)
        save_file(g, folder / "grads.safetensors")
    print(name, sum(p.numel() for p in model.parameters()), "logit std", float(logits.std()))
    return model


def write_lengths(name, model):
    """Of a dynamic rotary embedding: logits of shorter sequences whole (<n>.npy: the last row) and of one fed token by
    token into a cache, where every key keeps the frequencies of its time (by-token.npy: ROWS below T_CACHE)."""
    folder = OUT / name
    tokens = torch.from_numpy(np.load(folder / "tokens.npy").astype(np.int64))
    model = model.float()
    with torch.no_grad():
        for n in (40, 48, 64, 200):
            forget_lengths(model)
            np.save(folder / f"{n}.npy", model(tokens[None, :n], use_cache=False).logits[0, -1:].numpy())
        forget_lengths(model)
        cache = DynamicCache(config=model.config)
        rows = [model(tokens[None, i:i + 1], past_key_values=cache, use_cache=True).logits[0, 0] for i in range(T_CACHE)]
    np.save(folder / "by-token.npy", torch.stack([rows[r] for r in ROWS if r < T_CACHE]).numpy())


def zaya(layers, nq, nk, **kw):
    return ZayaConfig(vocab_size=96, hidden_size=32, num_hidden_layers=layers, num_attention_heads=nq, num_key_value_heads=nk,
                      head_dim=8, moe_intermediate_size=16, num_experts=4, router_hidden_size=12, max_position_embeddings=1024,
                      pad_token_id=0, bos_token_id=2, eos_token_id=1, **kw)


def legacy_names(layers):
    """new name -> legacy name, or (template, expert count) for stacked experts (the table of both published layouts)."""
    m = {"model.embed_tokens.weight": "model.embed_tokens.weight",
         "model.input_hidden_states_scale": "model.layers.0.res_scale.hidden_states_scale",
         "model.input_hidden_states_bias": "model.layers.0.res_scale.hidden_states_bias",
         "model.norm.weight": "model.final_norm.weight"}
    for k in range(layers):
        n, a, e = f"model.layers.{k}.", f"model.layers.{2*k}.", f"model.layers.{2*k+1}."
        m[n + "input_layernorm.weight"] = a + "input_norm.weight"
        q, qa = n + "self_attn.qkv_proj.", a + "self_attn.qkv."
        m[q + "q_proj.weight"] = qa + "linear_q.weight"
        m[q + "k_proj.weight"] = qa + "linear_k.weight"
        m[q + "v_proj_current.weight"] = qa + "val_proj1.weight"
        m[q + "v_proj_delayed.weight"] = qa + "val_proj2.weight"
        for s in ("weight", "bias"):
            m[q + "conv_qk_depthwise." + s] = qa + "conv_qk.0." + s
            m[q + "conv_qk_grouped." + s] = qa + "conv_qk.1." + s
        m[n + "self_attn.qk_norm.temp"] = qa + "temp"
        m[n + "self_attn.o_proj.weight"] = a + "self_attn.o_proj.weight"
        m[n + "post_attention_layernorm.weight"] = e + "input_norm.weight"
        after = f"model.layers.{2*k+2}." if k + 1 < layers else "model."
        for s in ("hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias"):
            m[n + "post_attention_residual_scale." + s] = e + "res_scale." + s
            m[n + "post_mlp_residual_scale." + s] = after + "res_scale." + s
        g, r = n + "mlp.gate.", e + "zaya_block.router."
        for s in ("weight", "bias"):
            m[g + "down_proj." + s] = r + "down_proj." + s
            m[g + "router_mlp.fc1." + s] = r + "router_mlp.0." + s
            m[g + "router_mlp.fc2." + s] = r + "router_mlp.2." + s
        m[g + "router_mlp.out_proj.weight"] = r + "router_mlp.4.weight"
        m[g + "router_mlp.norm.weight"] = r + "rmsnorm_eda.weight"
        m[g + "balancing_biases"] = r + "balancing_biases"
        if k:
            m[g + "router_states_scale"] = r + "router_states_scale"
        m[n + "mlp.experts.gate_up_proj"] = (e + "zaya_block.experts.local_experts.{}.linear_fc1.weight",)
        m[n + "mlp.experts.down_proj"] = (e + "zaya_block.experts.local_experts.{}.linear_fc2.weight",)
    return m


def to_legacy(weights, layers):
    out = {}
    table = legacy_names(layers)
    for name, t in weights.items():
        target = table[name]
        if isinstance(target, tuple):
            for e in range(t.shape[0]):
                out[target[0].format(e)] = t[e].clone().contiguous()
        else:
            out[target] = t
    return out


def write_legacy(name, model, config):
    """The same weights in the 2025 layout: per-half-layer lists, stale layer count, uncompressed head count."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    n, f = config.num_hidden_layers, 2 * config.moe_intermediate_size
    nq, nk = config.num_attention_heads, config.num_key_value_heads
    cfg = dict(architectures=["ZayaForCausalLM"], model_type="zaya", vocab_size=config.vocab_size, hidden_size=config.hidden_size,
               num_hidden_layers=3 * n, zaya_layers=["a", config.num_experts] * n, cca_num_q_heads=[nq, 0] * n,
               num_query_groups_list=[nk, 0] * n, ffn_hidden_size_list=[0, f] * n, zaya_mlp_expansion=[0, config.router_hidden_size] * n,
               num_attention_heads=2 * nq, num_key_value_heads=nk, kv_channels=config.head_dim, head_dim=config.head_dim,
               rope_theta=5e6, partial_rotary_factor=0.5, rope_scaling=False, norm_epsilon=1e-5, max_position_embeddings=1024,
               residual_in_fp32=True, scale_residual_merge=True, zaya_use_mod=True, zaya_use_eda=True, clamp_temp=False,
               activation_func="swiglu", gated_linear_unit=True, add_bias_linear=False, normalization="RMSNorm", moe_router_topk=1,
               cca=True, cca_time0=config.cca_time0, cca_time1=config.cca_time1, tie_word_embeddings=True, eos_token_id=1,
               bos_token_id=2, pad_token_id=0, some_future_key={"kept": True})
    (folder / "config.json").write_text(json.dumps(cfg, indent=2) + "\n")
    save_file(to_legacy({k: v.float() for k, v in stored(model).items() if not k.startswith("lm_head")}, n),
              folder / "model.safetensors", metadata={"format": "pt"})


def fp8(name, source, model, config):
    """FP8 experts in the legacy layout: E4M3 values with one F32 scale an output row."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    own = dict(model.named_parameters())
    out, scales = {}, {}
    for k, t in stored(model).items():
        if k.startswith("lm_head"):
            continue
        t = t.float()
        if ".experts." in k:
            scale = t.abs().amax(-1, keepdim=True) / 448.0
            q = (t / scale).to(torch.float8_e4m3fn)
            with torch.no_grad():
                own[k].copy_(q.float() * scale)
            t, scales[k] = q, scale
        out[k] = t
    legacy = to_legacy(out, config.num_hidden_layers)
    for k, t in to_legacy(scales, config.num_hidden_layers).items():
        legacy[k + "_scale"] = t
    tokens = torch.randint(0, 90, (64,), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        logits = model.float()(tokens[None], use_cache=False).logits[0]
    (folder / "config.json").write_text((OUT / source / "config.json").read_text())
    save_file(legacy, folder / "model.safetensors", metadata={"format": "pt"})
    np.save(folder / "tokens.npy", tokens.numpy().astype(np.int32))
    rows = [0, 1, 2, 31, 63]
    np.save(folder / "rows.npy", np.array(rows, np.int32))
    np.save(folder / "logits.npy", logits[rows].numpy())


def main():
    c = zaya(2, 4, 2)
    m = write("zaya-2-4x2", c, 11, grads=True)
    write_legacy("zaya-2-4x2-legacy", m, c)
    c5 = zaya(5, 4, 2)
    m = write("zaya-5-4x2", c5, 15, grads=False)
    write_legacy("zaya-5-4x2-legacy", m, c5)
    fp8("zaya-5-4x2-fp8", "zaya-5-4x2-legacy", m, c5)
    write("zaya-2-8x2", zaya(2, 8, 2), 12, grads=True)
    write("zaya-2-4x1", zaya(2, 4, 1, cca_time0=3, cca_time1=2), 13, grads=True)
    write("zaya-5-sliding", zaya(5, 4, 2, layer_types=["hybrid", "hybrid_sliding"] * 2 + ["hybrid"], sliding_window=17), 14, grads=False)
    write("zaya-2-bias", zaya(2, 4, 2, attention_bias=True), 16, grads=True)
    common = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                  max_position_embeddings=1024, pad_token_id=0, bos_token_id=2, eos_token_id=1)
    write("llama-gqa", LlamaConfig(**common, num_key_value_heads=2, head_dim=8, tie_word_embeddings=False,
          rope_parameters=dict(rope_type="llama3", rope_theta=5e4, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                               original_max_position_embeddings=64)), 21, grads=True)
    write("llama-yarn", LlamaConfig(**common, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True,
          rope_parameters=dict(rope_type="yarn", rope_theta=1e4, factor=16.0, original_max_position_embeddings=64)), 25, grads=True)
    short = {**common, "max_position_embeddings": 48}
    m = write("qwen3-dynamic", Qwen3Config(**short, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True,
              rope_parameters=dict(rope_type="dynamic", rope_theta=1e4, factor=16.0)), 26, grads=True)
    write_lengths("qwen3-dynamic", m)
    write("llama-mha", LlamaConfig(**common, num_key_value_heads=4, tie_word_embeddings=True), 22, grads=False)
    write("mistral-window", MistralConfig(**common, num_key_value_heads=1, head_dim=12, sliding_window=19), 23, grads=True)
    write("qwen2-bias", Qwen2Config(**common, num_key_value_heads=2, tie_word_embeddings=True), 24, grads=True)


if __name__ == "__main__":
    main()
