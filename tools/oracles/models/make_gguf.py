"""The Llama-style goldens as .gguf files, written as llama.cpp's converter writes them: tests/goldens/gguf-models/.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_gguf.py

llama-gqa.gguf (F32; query and key rows in pairs, the scaled rope as a table of factors), llama-yarn.gguf (F32), qwen2-bias.gguf (matrices in
F16, tied), mistral-window.gguf (F16, stored as a llama with a sliding window), llama-gqa-q8.gguf (Q8_0 where rows are whole blocks, F32 elsewhere). Their expected logits are those of
tests/goldens/<name>; for the quantised one also llama-gqa-q8.safetensors, what the reference package makes of its blocks.
"""
import json, math, pathlib
import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens"
OUT = ROOT / "gguf-models"
PARTS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
TOP = {"model.embed_tokens.weight": "token_embd.weight", "lm_head.weight": "output.weight",
       "model.norm.weight": "output_norm.weight"}


def name_of(hf):
    if hf in TOP:
        return TOP[hf]
    layer, rest = hf.removeprefix("model.layers.").split(".", 1)
    part, kind = rest.rsplit(".", 1)
    return f"blk.{layer}.{PARTS[part]}.{kind}"


def pairs(w, heads):
    """Rotary halves of every head to neighboring pairs."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def rope_factors(c, d):
    r = c["rope_parameters"]
    freq = r["rope_theta"] ** (-np.arange(0, d, 2, dtype=np.float64) / d)
    low, high = (r["original_max_position_embeddings"] / r[k] for k in ("low_freq_factor", "high_freq_factor"))
    out = []
    for wave in 2 * math.pi / freq:
        smooth = (r["original_max_position_embeddings"] / wave - r["low_freq_factor"]) / (r["high_freq_factor"] - r["low_freq_factor"])
        out.append(1 if wave < high else r["factor"] if wave > low else 1 / ((1 - smooth) / r["factor"] + smooth))
    return np.array(out, np.float32)


def write(golden, file, matrices):
    c = json.loads((ROOT / golden / "config.json").read_text())
    arch = {"mistral": "llama"}.get(c["model_type"], c["model_type"])
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    d = c.get("head_dim") or c["hidden_size"] // heads
    w = gguf.GGUFWriter(OUT / file, arch)
    w.add_type("model")
    w.add_vocab_size(c["vocab_size"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
    w.add_rope_dimension_count(d)
    w.add_key_length(d)
    w.add_value_length(d)
    w.add_bos_token_id(c["bos_token_id"])
    w.add_eos_token_id(c["eos_token_id"])
    w.add_tokenizer_model("no_vocab")
    if c.get("sliding_window"):
        w.add_sliding_window(c["sliding_window"])
    seen = {}
    if c["rope_parameters"]["rope_type"] == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(c["rope_parameters"]["factor"])
        w.add_rope_scaling_orig_ctx_len(c["rope_parameters"]["original_max_position_embeddings"])
    if c["rope_parameters"]["rope_type"] == "llama3":
        w.add_tensor("rope_freqs.weight", rope_factors(c, d))
    for hf, t in sorted(load_file(ROOT / golden / "model.safetensors").items()):
        seen[hf] = t.astype(np.float32)
        turn = heads if ".q_proj." in hf else kv if ".k_proj." in hf else 0
        t = pairs(seen[hf], turn) if turn and arch == "llama" else seen[hf]
        kind = matrices if t.ndim == 2 else Q.F32
        if kind == Q.Q8_0 and t.shape[1] % 32:
            kind = Q.F32
        raw = gguf.quantize(t, kind) if kind != Q.F32 else t
        if kind == Q.Q8_0:
            back = gguf.dequantize(raw, kind).reshape(t.shape)
            if turn and arch == "llama":  # pairs to halves again
                back = back.reshape(turn, d // 2, 2, -1).swapaxes(1, 2).reshape(t.shape)
            seen[hf] = np.ascontiguousarray(back, np.float32)
        w.add_tensor(name_of(hf), np.ascontiguousarray(raw), raw_dtype=kind if kind not in (Q.F32, Q.F16) else None)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return seen


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    write("llama-gqa", "llama-gqa.gguf", Q.F32)
    write("llama-yarn", "llama-yarn.gguf", Q.F32)
    write("qwen2-bias", "qwen2-bias.gguf", Q.F16)
    write("mistral-window", "mistral-window.gguf", Q.F16)
    save_file(write("llama-gqa", "llama-gqa-q8.gguf", Q.Q8_0), OUT / "llama-gqa-q8.safetensors")
