"""The models that are compared: published shapes with fewer layers and a vocabulary cut in the same proportion, so
that a head weighs as much beside its layers as it does in the whole model. Weights are random, made by transformers
from the configuration, and every engine gets the same ones: `write` leaves a Hugging Face folder, `write_gguf` the
same in GGUF.

    shapes.py FOLDER FILE    write a Llama folder of `quern new` as GGUF
    shapes.py FILE           write a small hybrid of llama.cpp, the nearest to Zamba2, with random weights
"""
import json
import pathlib
import shutil

SEED = 1


def zaya(layers):
    return dict(model_type="zaya", num_hidden_layers=layers, vocab_size=64 * round(262272 * layers / 40 / 64))


def zamba2_27b(layers, hybrid, blocks):
    types = ["hybrid" if i in hybrid else "linear_attention" for i in range(layers)]
    return dict(model_type="zamba2", num_hidden_layers=layers, layers_block_type=types, num_mem_blocks=blocks,
                n_mamba_heads=80, vocab_size=64 * round(32000 * layers / 54 / 64))


def zamba2_12b(layers, hybrid):
    types = ["hybrid" if i in hybrid else "linear_attention" for i in range(layers)]
    return dict(model_type="zamba2", hidden_size=2048, num_hidden_layers=layers, layers_block_type=types,
                num_mem_blocks=1, n_mamba_heads=64, mamba_d_state=128, use_shared_attention_adapter=True,
                use_mem_rope=True, vocab_size=64 * round(32000 * layers / 38 / 64))


def llama_1b(layers):
    return dict(model_type="llama", hidden_size=2048, intermediate_size=8192, num_hidden_layers=layers,
                num_attention_heads=32, num_key_value_heads=8, head_dim=64, max_position_embeddings=131072,
                rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 5e5},
                tie_word_embeddings=True, vocab_size=64 * round(128256 * layers / 16 / 64))


# name: (configuration, what was cut)
SHAPES = {
    "zaya1-8b": (zaya(4), "4 of 40 layers"),
    "zamba2-2.7b": (zamba2_27b(6, {5}, 1), "6 of 54 layers, 1 of 9 invocations"),
    "llama-1b": (llama_1b(8), "8 of 16 layers"),
    "zamba2-1.2b": (zamba2_12b(6, {5}), "6 of 38 layers, 1 of 6 invocations"),
}

# llama.cpp's nearest to Zamba2: Granite-4-H-Micro's shape, Mamba-2 layers with an attention layer among them, every one
# with a gated feed-forward. Quern has no such model; the two are compared by bytes touched a second.
GRANITE_H = dict(layers=8, attention={5}, width=2048, ffn=8192, heads=32, kv=8, ssm_heads=64, ssm_head=64, ssm_state=128,
                 ssm_conv=4, vocab=64 * round(100352 * 8 / 40 / 64))
# The same beside `quern new --family zamba2 --size tiny`, for bench/turns.py.
GRANITE_H_TINY = dict(layers=6, attention={1, 3, 5}, width=128, ffn=512, heads=4, kv=4, ssm_heads=8, ssm_head=32, ssm_state=32,
                      ssm_conv=4, vocab=512)


def configuration(name):
    from transformers import CONFIG_MAPPING
    fields = dict(SHAPES[name][0])
    return CONFIG_MAPPING[fields.pop("model_type")](**fields)


def spread_routers(model):
    """Random routers send most tokens to a few experts; published ones are balanced. The activations under a router's
    output have a mean: rows orthogonal to it, and longer, choose by the token."""
    import torch

    def spread(out_proj, args):
        x = args[0].flatten(0, -2).float()
        mean, w = x.mean(0), out_proj.weight.float()
        w = w - (w @ mean)[:, None] * mean / mean.dot(mean)
        out_proj.weight.copy_(w * 2 / (x @ w.T).std(0)[:, None])

    routers = [m.router_mlp.out_proj for m in model.modules() if hasattr(m, "router_mlp")]
    hooks = [r.register_forward_pre_hook(spread) for r in routers]
    with torch.no_grad():
        model(torch.randint(0, model.config.vocab_size, (1, 1024)))
    for h in hooks:
        h.remove()


def write(name, folder):
    """The folder with config.json and bf16 weights; kept from one run to the next while the shape is the same."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM
    folder = pathlib.Path(folder)
    stamp = json.dumps(SHAPES[name][0], sort_keys=True)
    if (folder / "shape.json").exists() and (folder / "shape.json").read_text() == stamp:
        return
    for stale in (folder, *(pathlib.Path(f"{folder}-{s}") for s in ("q8", "q4"))):
        shutil.rmtree(stale, ignore_errors=True)  # packed copies belong to the weights they were made from
    folder.mkdir(parents=True)
    torch.manual_seed(SEED)
    config = configuration(name)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    if config.model_type == "zaya":
        spread_routers(model)
    tensors = {n: p.detach().contiguous() for n, p in model.named_parameters()}
    tensors.update({n: b.contiguous() for n, b in model.named_buffers() if n.endswith("balancing_biases")})
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(config.to_json_string(use_diff=False))
    (folder / "shape.json").write_text(stamp)


LLAMA_NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{LLAMA_NAMES[rest.removesuffix('.weight')]}.weight"


def add_vocabulary(w, size):
    """Byte-level BPE of the bytes alone: a server wants to write and read text, whatever its ids."""
    shown = [chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174 else None for b in range(256)]
    rest = iter(range(256))
    w.add_vocab_size(size)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list([c or chr(256 + next(rest)) for c in shown] + [f"<filler-{i}>" for i in range(size - 256)])
    w.add_token_merges(["a b"])
    w.add_eos_token_id(size - 1)


def write_gguf(folder, path):
    """A Llama folder as GGUF in bf16. Rotary pairs lie side by side there, half a head apart
    here."""
    import gguf
    from safetensors import safe_open
    c = json.loads((pathlib.Path(folder) / "config.json").read_text())
    if c["model_type"] != "llama":
        raise SystemExit(f"{folder}: model_type is {c['model_type']}, only llama is written as GGUF")
    w = gguf.GGUFWriter(path, "llama")
    add_vocabulary(w, c["vocab_size"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_rope_dimension_count(c["head_dim"])
    w.add_rope_freq_base(c.get("rope_parameters", c)["rope_theta"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    bf16, f32 = gguf.GGMLQuantizationType.BF16, gguf.GGMLQuantizationType.F32
    with safe_open(pathlib.Path(folder) / "model.safetensors", "pt") as f:
        for name in f.keys():
            x = f.get_tensor(name).float().numpy()
            heads = {"q_proj": c["num_attention_heads"], "k_proj": c["num_key_value_heads"]}.get(name.split(".")[-2])
            if heads:
                x = x.reshape(heads, 2, c["head_dim"] // 2, -1).swapaxes(1, 2).reshape(x.shape)
            kind = f32 if x.ndim == 1 else bf16
            w.add_tensor(gguf_name(name), gguf.quants.quantize(x, kind), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_granite_h(path, shape=GRANITE_H):
    """Random weights straight into GGUF: matrices Q8_0, the rest F32."""
    import gguf
    import numpy
    g, rng, kinds = shape, numpy.random.default_rng(SEED), gguf.GGMLQuantizationType
    inner = g["ssm_heads"] * g["ssm_head"]
    conv = inner + 2 * g["ssm_state"]
    w = gguf.GGUFWriter(path, "granitehybrid")
    add_vocabulary(w, g["vocab"])
    w.add_context_length(131072)
    w.add_embedding_length(g["width"])
    w.add_block_count(g["layers"])
    w.add_feed_forward_length(g["ffn"])
    w.add_head_count(g["heads"])
    w.add_head_count_kv([g["kv"] if i in g["attention"] else 0 for i in range(g["layers"])])
    w.add_rope_dimension_count(g["width"] // g["heads"])
    w.add_layer_norm_rms_eps(1e-5)
    w.add_attention_scale(1 / 64)
    w.add_embedding_scale(12)
    w.add_residual_scale(0.22)
    w.add_logit_scale(8)
    w.add_ssm_conv_kernel(g["ssm_conv"])
    w.add_ssm_inner_size(inner)
    w.add_ssm_state_size(g["ssm_state"])
    w.add_ssm_time_step_rank(g["ssm_heads"])
    w.add_ssm_group_count(1)

    def matrix(name, rows, k):
        x = rng.standard_normal((rows, k), dtype=numpy.float32) * 0.02
        w.add_tensor(name, gguf.quants.quantize(x, kinds.Q8_0), raw_dtype=kinds.Q8_0)

    def plain(name, *shape, value=None):
        x = rng.standard_normal(shape, dtype=numpy.float32) * 0.1 if value is None else numpy.full(shape, value)
        w.add_tensor(name, x.astype(numpy.float32))

    matrix("token_embd.weight", g["vocab"], g["width"])
    plain("output_norm.weight", g["width"], value=1)
    for i in range(g["layers"]):
        b = f"blk.{i}."
        plain(b + "attn_norm.weight", g["width"], value=1)
        plain(b + "ffn_norm.weight", g["width"], value=1)
        matrix(b + "ffn_gate.weight", g["ffn"], g["width"])
        matrix(b + "ffn_up.weight", g["ffn"], g["width"])
        matrix(b + "ffn_down.weight", g["width"], g["ffn"])
        if i in g["attention"]:
            kv = g["kv"] * g["width"] // g["heads"]
            for part, rows in (("q", g["width"]), ("k", kv), ("v", kv), ("output", g["width"])):
                matrix(f"{b}attn_{part}.weight", rows, g["width"])
            continue
        matrix(b + "ssm_in.weight", inner + conv + g["ssm_heads"], g["width"])
        matrix(b + "ssm_out.weight", g["width"], inner)
        plain(b + "ssm_conv1d.weight", conv, g["ssm_conv"])
        plain(b + "ssm_conv1d.bias", conv)
        plain(b + "ssm_dt.bias", g["ssm_heads"])
        plain(b + "ssm_a", g["ssm_heads"], 1, value=-1)
        plain(b + "ssm_d", g["ssm_heads"], 1, value=1)
        plain(b + "ssm_norm.weight", 1, inner, value=1)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def granite_h_state_bytes():
    """Read and written a token beside the weights: the states of the Mamba layers, f32."""
    g = GRANITE_H
    inner = g["ssm_heads"] * g["ssm_head"]
    one = inner * g["ssm_state"] + (g["ssm_conv"] - 1) * (inner + 2 * g["ssm_state"])
    return 2 * 4 * one * (g["layers"] - len(g["attention"]))


if __name__ == "__main__":
    import sys
    if len(sys.argv) == 3:
        write_gguf(*sys.argv[1:])
    elif len(sys.argv) == 2:
        write_granite_h(sys.argv[1], GRANITE_H_TINY)
    else:
        sys.exit(__doc__)
