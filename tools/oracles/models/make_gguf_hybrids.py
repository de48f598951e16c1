"""The goldens of make_mamba_hybrids.py as .gguf files, written as llama.cpp's converter writes them:
tests/goldens/gguf-models/{granite-h,granite-h-moe,bamba,falcon-h1,nemotron-h}.gguf.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_gguf_hybrids.py

granite-h (F32), granite-h-moe (matrices in F16), bamba (F32; stored as a granitehybrid without multipliers; of the rows
of queries and keys only those that are rotated are put in pairs), falcon-h1 (F32; all factors are multiplied into the
weights), nemotron-h (F32). Expected logits are those of tests/goldens/<name>.
"""
import json
import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q
from safetensors.numpy import load_file
from make_gguf import OUT, ROOT, pairs

PARTS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "pre_ff_layernorm": "ffn_norm",
         "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mamba.in_proj": "ssm_in", "mamba.out_proj": "ssm_out",
         "mamba.conv1d": "ssm_conv1d", "mamba.norm": "ssm_norm", "feed_forward.gate_proj": "ffn_gate",
         "feed_forward.up_proj": "ffn_up", "feed_forward.down_proj": "ffn_down",
         "block_sparse_moe.router.layer": "ffn_gate_inp", "block_sparse_moe.output_linear": "ffn_down_exps"}
NEMOTRON = {f"mixer.{x}": f"mamba.{x}" for x in ("A_log", "D", "dt_bias", "in_proj.weight", "out_proj.weight", "norm.weight",
                                                 "conv1d.weight", "conv1d.bias")}
NEMOTRON |= {f"mixer.{x}_proj.weight": f"self_attn.{x}_proj.weight" for x in "qkvo"}
NEMOTRON |= {f"mixer.{x}_proj.weight": f"feed_forward.{x}_proj.weight" for x in ("up", "down")}
NEMOTRON |= {"norm.weight": "input_layernorm.weight"}
TOP = {"backbone.embeddings.weight": "token_embd.weight", "backbone.norm_f.weight": "output_norm.weight",
       "model.embed_tokens.weight": "token_embd.weight", "lm_head.weight": "output.weight",
       "model.norm.weight": "output_norm.weight", "model.final_layernorm.weight": "output_norm.weight"}


def tensors(hf, t, c):
    """The tensors of the file that one of the folder becomes: (name, values)."""
    if hf in TOP:
        return [(TOP[hf], t)]
    layer, rest = hf.removeprefix("backbone.").removeprefix("model.").removeprefix("layers.").split(".", 1)
    rest = NEMOTRON.get(rest, rest)
    blk = f"blk.{layer}."
    experts = c.get("num_local_experts", 0) > 0
    if rest == "mamba.A_log":
        return [(blk + "ssm_a", -np.exp(t).reshape(-1, 1))]
    if rest == "mamba.D":
        return [(blk + "ssm_d", t.reshape(-1, 1))]
    if rest == "mamba.dt_bias":
        return [(blk + "ssm_dt.bias", t)]
    if rest == "mamba.norm.weight":
        return [(blk + "ssm_norm.weight", t.reshape(c["n_groups" if "n_groups" in c else "mamba_n_groups"], -1))]
    if rest == "mamba.conv1d.weight":
        return [(blk + "ssm_conv1d.weight", t.squeeze(1))]
    if rest in ("block_sparse_moe.input_linear.weight", "shared_mlp.input_linear.weight"):
        kind = "_exps" if "sparse" in rest else "_shexp" if experts else ""
        gate, up = np.split(t, 2, axis=-2)
        return [(f"{blk}ffn_gate{kind}.weight", gate), (f"{blk}ffn_up{kind}.weight", up)]
    if rest == "shared_mlp.output_linear.weight":
        return [(f"{blk}ffn_down{'_shexp' if experts else ''}.weight", t)]
    if rest == "pre_ff_layernorm.weight" and c["model_type"] == "falcon_h1":
        return [(blk + "ffn_norm", t)]  # as that converter names it
    part, kind = rest.rsplit(".", 1)
    return [(f"{blk}{PARTS[part]}.{kind}", t)]


FALCON = {"feed_forward.gate_proj.weight": "gate", "feed_forward.down_proj.weight": "down", "self_attn.q_proj.weight": "q",
          "self_attn.k_proj.weight": "k", "self_attn.v_proj.weight": "q", "self_attn.o_proj.weight": "o",
          "mamba.in_proj.weight": "in", "mamba.out_proj.weight": "out", "embed_tokens.weight": "embed", "lm_head.weight": "head"}


def scaled(hf, t, c):
    """A tensor of Falcon-H1 with its factors in it."""
    kind = next((k for name, k in FALCON.items() if hf.endswith(name)), None)
    gn, inner = c["mamba_n_groups"] * c["mamba_d_state"], c["mamba_d_ssm"]
    parts = np.repeat(c["ssm_multipliers"], [inner, inner, gn, gn, c["mamba_n_heads"]])[:, None]
    factor = {None: 1, "gate": c["mlp_multipliers"][0], "down": c["mlp_multipliers"][1], "q": c["attention_in_multiplier"],
              "k": c["attention_in_multiplier"] * c["key_multiplier"], "o": c["attention_out_multiplier"],
              "in": c["ssm_in_multiplier"] * parts, "out": c["ssm_out_multiplier"], "embed": c["embedding_multiplier"],
              "head": c["lm_head_multiplier"]}[kind]
    return (t * factor).astype(np.float32)


def rotated(w, heads, rotary):
    """Of every head the first `rotary` rows in neighboring pairs."""
    by_head = w.reshape(heads, -1, *w.shape[1:])
    turned = np.stack([pairs(h[:rotary], 1) for h in by_head])
    return np.concatenate([turned, by_head[:, rotary:]], axis=1).reshape(w.shape)


def metadata(w, c, rotary):
    kinds = c.get("layers_block_type") or c.get("layer_types") or ["mamba"] * c["num_hidden_layers"]
    attention = c.get("attn_layer_indices") or [i for i, t in enumerate(kinds) if "attention" == t.removeprefix("full_")]
    nemotron, falcon = c["model_type"] == "nemotron_h", c["model_type"] == "falcon_h1"
    w.add_type("model")
    w.add_vocab_size(c["vocab_size"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(len(kinds))
    w.add_feed_forward_length([c["intermediate_size"] if k == "mlp" else 0 for k in kinds] if nemotron else c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"] if falcon else [c["num_key_value_heads"] if i in attention else 0 for i in range(len(kinds))])
    w.add_layer_norm_rms_eps(c["layer_norm_epsilon" if nemotron else "rms_norm_eps"])
    if nemotron:
        w.add_layer_norm_eps(c["layer_norm_epsilon"])
    else:
        w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
        w.add_rope_dimension_count(rotary or c["hidden_size"] // c["num_attention_heads"])
    if falcon or nemotron:
        w.add_key_length(c["head_dim"])
        w.add_value_length(c["head_dim"])
    else:
        w.add_rope_scaling_finetuned(rotary > 0)
    w.add_ssm_conv_kernel(c["conv_kernel" if nemotron else "mamba_d_conv"])
    w.add_ssm_state_size(c["ssm_state_size" if nemotron else "mamba_d_state"])
    w.add_ssm_group_count(c["n_groups" if nemotron else "mamba_n_groups"])
    heads = c["mamba_num_heads" if nemotron else "mamba_n_heads"]
    w.add_ssm_inner_size(heads * c["mamba_head_dim" if nemotron else "mamba_d_head"])
    w.add_ssm_time_step_rank(heads)
    for key, add in (("attention_multiplier", w.add_attention_scale), ("embedding_multiplier", w.add_embedding_scale),
                     ("residual_multiplier", w.add_residual_scale), ("logits_scaling", w.add_logit_scale),
                     ("shared_intermediate_size", w.add_expert_shared_feed_forward_length)):
        if key in c and not falcon:
            add(c[key])
    if c.get("num_local_experts"):
        w.add_expert_count(c["num_local_experts"])
        w.add_expert_used_count(c["num_experts_per_tok"])
    w.add_bos_token_id(c["bos_token_id"])
    w.add_eos_token_id(c["eos_token_id"])
    w.add_tokenizer_model("no_vocab")


def write(golden, matrices):
    c = json.loads((ROOT / golden / "config.json").read_text())
    head_dim = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    falcon = c["model_type"] == "falcon_h1"
    rotary = head_dim if falcon or c.get("position_embedding_type") == "rope" else head_dim // 2 if c["model_type"] == "bamba" else 0
    arch = {"falcon_h1": "falcon-h1", "nemotron_h": "nemotron_h"}.get(c["model_type"], "granitehybrid")
    w = gguf.GGUFWriter(OUT / f"{golden}.gguf", arch)
    metadata(w, c, rotary)
    for hf, t in sorted(load_file(ROOT / golden / "model.safetensors").items()):
        t = scaled(hf, t, c) if falcon else t
        heads = 0 if falcon else c["num_attention_heads"] if ".q_proj." in hf else c["num_key_value_heads"] if ".k_proj." in hf else 0
        # Whole heads are put in pairs where nothing is rotated as well.
        t = rotated(t, heads, rotary or head_dim) if heads else t
        for name, x in tensors(hf, t, c):
            kind = matrices if x.ndim > 1 and not any(s in name for s in ("ssm_a", "ssm_d", "conv1d", "norm", "gate_inp")) else Q.F32
            w.add_tensor(name, np.ascontiguousarray(x, np.float16 if kind == Q.F16 else np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    write("granite-h", Q.F32)
    write("granite-h-moe", Q.F16)
    write("bamba", Q.F32)
    write("falcon-h1", Q.F32)
    write("nemotron-h", Q.F32)
