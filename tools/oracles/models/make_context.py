"""Logits at lengths beyond the trained one under other rotary positions: tests/goldens/context/*.npy.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make.py    # the checkpoints, also by make_zamba.py and make_mamba_hybrids.py
    python tools/oracles/models/make_context.py

The weights and tokens are those of other goldens, read as if they had been trained on TRAINED tokens; what changes is
rope_parameters, as transformers reads it. One pass over LENGTH tokens in f32, the last token of
every eighth of it.
"""
import pathlib
import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

GOLDENS = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens"
OUT = GOLDENS / "context"
MODELS = {"llama": "llama-mha", "zamba2": "zamba2-2block-rope", "bamba": "bamba", "falcon-h1": "falcon-h1"}
TRAINED, LENGTH = 48, 240
CASES = {
    "none": {},
    "linear-4": dict(rope_type="linear", factor=4.0),
    "dynamic-4": dict(rope_type="dynamic", factor=4.0),
    "yarn-4": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED),
    "yarn-2.5": dict(rope_type="yarn", factor=2.5, original_max_position_embeddings=TRAINED),
    "llama3-4": dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                     original_max_position_embeddings=TRAINED),
    "theta-500": dict(rope_theta=500.0),
    "yarn-4-theta-500": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED, rope_theta=500.0),
}

OUT.mkdir(parents=True, exist_ok=True)
for name, golden in MODELS.items():
    folder = GOLDENS / golden
    tokens = torch.from_numpy(np.load(folder / "tokens.npy").astype(np.int64))[None, :LENGTH]
    rows = torch.arange(LENGTH // 8 - 1, LENGTH, LENGTH // 8)
    plain = None
    for case, rope in CASES.items():
        config = AutoConfig.from_pretrained(folder)
        config.max_position_embeddings = TRAINED
        config.rope_parameters = {**config.rope_parameters, **rope}
        model = AutoModelForCausalLM.from_pretrained(folder, config=config, attn_implementation="eager").eval().float()
        with torch.no_grad():
            logits = model(tokens, use_cache=False).logits[0, rows]
        plain = logits if plain is None else plain
        np.save(OUT / f"{name}-{case}.npy", logits.numpy())
        print(f"{name}-{case}", model.config.rope_parameters, "changes logits by", float((logits - plain).abs().max()))
