"""The goldens of make_mamba_hybrids.py as .gguf files, written as llama.cpp's converter writes them:
tests/goldens/gguf-models/{granite-h,granite-h-moe,bamba}.gguf.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_gguf_hybrids.py

granite-h (F32), granite-h-moe (matrices in F16), bamba (F32; stored as a granitehybrid without multipliers; of the rows
of queries and keys only those that are rotated are put in pairs). Expected logits are those of tests/goldens/<name>.
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
TOP = {"model.embed_tokens.weight": "token_embd.weight", "lm_head.weight": "output.weight",
       "model.norm.weight": "output_norm.weight", "model.final_layernorm.weight": "output_norm.weight"}


def tensors(hf, t, c):
    """The tensors of the file that one of the folder becomes: (name, values)."""
    if hf in TOP:
        return [(TOP[hf], t)]
    layer, rest = hf.removeprefix("model.layers.").split(".", 1)
    blk = f"blk.{layer}."
    experts = c.get("num_local_experts", 0) > 0
    if rest == "mamba.A_log":
        return [(blk + "ssm_a", -np.exp(t).reshape(-1, 1))]
    if rest == "mamba.D":
        return [(blk + "ssm_d", t.reshape(-1, 1))]
    if rest == "mamba.dt_bias":
        return [(blk + "ssm_dt.bias", t)]
    if rest == "mamba.norm.weight":
        return [(blk + "ssm_norm.weight", t.reshape(c["mamba_n_groups"], -1))]
    if rest == "mamba.conv1d.weight":
        return [(blk + "ssm_conv1d.weight", t.squeeze(1))]
    if rest in ("block_sparse_moe.input_linear.weight", "shared_mlp.input_linear.weight"):
        kind = "_exps" if "sparse" in rest else "_shexp" if experts else ""
        gate, up = np.split(t, 2, axis=-2)
        return [(f"{blk}ffn_gate{kind}.weight", gate), (f"{blk}ffn_up{kind}.weight", up)]
    if rest == "shared_mlp.output_linear.weight":
        return [(f"{blk}ffn_down{'_shexp' if experts else ''}.weight", t)]
    part, kind = rest.rsplit(".", 1)
    return [(f"{blk}{PARTS[part]}.{kind}", t)]


def rotated(w, heads, rotary):
    """Of every head the first `rotary` rows in neighboring pairs."""
    by_head = w.reshape(heads, -1, *w.shape[1:])
    turned = np.stack([pairs(h[:rotary], 1) for h in by_head])
    return np.concatenate([turned, by_head[:, rotary:]], axis=1).reshape(w.shape)


def metadata(w, c, rotary):
    kinds = [f".{l}." for l in range(c["num_hidden_layers"])]
    attention = c.get("attn_layer_indices") or [i for i, t in enumerate(c["layer_types"]) if "attention" == t.removeprefix("full_")]
    w.add_type("model")
    w.add_vocab_size(c["vocab_size"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(len(kinds))
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv([c["num_key_value_heads"] if i in attention else 0 for i in range(len(kinds))])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
    w.add_rope_dimension_count(rotary or c["hidden_size"] // c["num_attention_heads"])
    w.add_rope_scaling_finetuned(rotary > 0)
    w.add_ssm_conv_kernel(c["mamba_d_conv"])
    w.add_ssm_state_size(c["mamba_d_state"])
    w.add_ssm_group_count(c["mamba_n_groups"])
    w.add_ssm_inner_size(c["mamba_expand"] * c["hidden_size"])
    w.add_ssm_time_step_rank(c["mamba_n_heads"])
    for key, add in (("attention_multiplier", w.add_attention_scale), ("embedding_multiplier", w.add_embedding_scale),
                     ("residual_multiplier", w.add_residual_scale), ("logits_scaling", w.add_logit_scale),
                     ("shared_intermediate_size", w.add_expert_shared_feed_forward_length)):
        if key in c:
            add(c[key])
    if c.get("num_local_experts"):
        w.add_expert_count(c["num_local_experts"])
        w.add_expert_used_count(c["num_experts_per_tok"])
    w.add_bos_token_id(c["bos_token_id"])
    w.add_eos_token_id(c["eos_token_id"])
    w.add_tokenizer_model("no_vocab")


def write(golden, matrices):
    c = json.loads((ROOT / golden / "config.json").read_text())
    head_dim = c["hidden_size"] // c["num_attention_heads"]
    rotary = head_dim if c.get("position_embedding_type") == "rope" else head_dim // 2 if c["model_type"] == "bamba" else 0
    w = gguf.GGUFWriter(OUT / f"{golden}.gguf", "granitehybrid")
    metadata(w, c, rotary)
    for hf, t in sorted(load_file(ROOT / golden / "model.safetensors").items()):
        heads = c["num_attention_heads"] if ".q_proj." in hf else c["num_key_value_heads"] if ".k_proj." in hf else 0
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
