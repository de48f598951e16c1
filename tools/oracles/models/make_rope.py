"""What transformers makes of scaled rotary embeddings: tests/goldens/rope/frequencies.json.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_rope.py

A list of cases: the config.json as far as positions go, the length of the sequence (dynamic alone asks for it), and from
ROPE_INIT_FUNCTIONS the inverse frequencies and the attention factor. transformers computes them in f32.
"""
import json, pathlib
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens" / "rope" / "frequencies.json"
YARN = dict(rope_type="yarn", rope_theta=1e6, factor=4.0, original_max_position_embeddings=32768)
CASES = [
    (128, 131072, 0, dict(rope_type="linear", rope_theta=1e4, factor=2.5)),
    (128, 131072, 0, dict(rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                          original_max_position_embeddings=8192)),
    (128, 131072, 0, YARN),
    (64, 131072, 0, {**YARN, "rope_theta": 1e4, "factor": 16.0, "original_max_position_embeddings": 4096}),
    (128, 131072, 0, {**YARN, "truncate": False}),
    (128, 131072, 0, {**YARN, "beta_fast": 8.0, "beta_slow": 2.0}),
    (128, 131072, 0, {**YARN, "beta_fast": 1.0, "beta_slow": 1.0}),
    (128, 131072, 0, {**YARN, "beta_fast": 0, "beta_slow": None}),
    (128, 131072, 0, {**YARN, "attention_factor": 1.5}),
    (128, 131072, 0, {**YARN, "mscale": 0.707, "mscale_all_dim": 1.0}),
    (128, 131072, 0, {**YARN, "mscale": 0.707}),
    (128, 131072, 0, {**YARN, "mscale": 0.707, "mscale_all_dim": 0.0}),
    (128, 163840, 0, {**YARN, "factor": None}),
    (128, 32768, 0, {k: v for k, v in YARN.items() if k != "original_max_position_embeddings"}),
    (128, 131072, 0, {**YARN, "factor": 0.5}),
    (16, 1024, 0, {**YARN, "rope_theta": 100.0, "original_max_position_embeddings": 64}),
    (128, 4096, 100, dict(rope_type="dynamic", rope_theta=1e4, factor=2.0)),
    (128, 4096, 4096, dict(rope_type="dynamic", rope_theta=1e4, factor=2.0)),
    (128, 4096, 4097, dict(rope_type="dynamic", rope_theta=1e4, factor=2.0)),
    (64, 4096, 30000, dict(rope_type="dynamic", rope_theta=5e5, factor=8.0)),
    (4, 48, 700, dict(rope_type="dynamic", rope_theta=1e4, factor=16.0)),
]


def case(head_dim, maximum, tokens, rope, top=()):
    """In the current form; `top` holds keys outside of rope_parameters."""
    said = dict(model_type="llama", hidden_size=2 * head_dim, num_attention_heads=2, max_position_embeddings=maximum,
                rope_parameters=dict(rope), **dict(top))
    config = LlamaConfig(**json.loads(json.dumps(said)))
    inv_freq, magnitude = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, seq_len=tokens or None)
    return dict(config=said, tokens=tokens, inv_freq=[float(f) for f in inv_freq], attention_factor=float(magnitude))


cases = [case(*c) for c in CASES]
cases.append(case(128, 131072, 0, YARN, {"original_max_position_embeddings": 16384}))
old = case(128, 131072, 0, YARN)  # the same in the form of older files
r = old["config"].pop("rope_parameters")
old["config"].update(rope_theta=r.pop("rope_theta"), rope_scaling={"type": r.pop("rope_type"), **r})
config = LlamaConfig(**json.loads(json.dumps(old["config"])))
assert [float(f) for f in ROPE_INIT_FUNCTIONS["yarn"](config)[0]] == old["inv_freq"]
cases.append(old)
OUT.parent.mkdir(parents=True, exist_ok=True)
OUT.write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(len(cases), "cases,", OUT.stat().st_size, "bytes")
