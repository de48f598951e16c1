"""Goldens for the GGUF reader: a file with one tensor of every type the reader knows, metadata of every kind, and
what the reference package makes of the blocks.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/tensor/make_gguf.py       # writes tests/goldens/gguf/ and a fuzz seed

kinds.gguf holds blocks of random bytes (their f16 scales kept finite); kinds.safetensors holds gguf.dequantize of
them in f32.
"""
import pathlib
import numpy as np
import gguf
from gguf import GGMLQuantizationType as Q
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT = ROOT / "tests" / "goldens" / "gguf"
SCALES_AT = {Q.Q8_0: [0], Q.Q4_K: [0, 2], Q.Q6_K: [208]}  # bytes of the f16 scales in a block


def blocks(rng, rows, k, kind):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (rows * k // elements, size), dtype=np.uint8)
    for at in SCALES_AT[kind]:
        d = rng.normal(0, 0.02, len(raw)).astype(np.float16)
        d[0], d[1] = np.float16(6e-8), np.float16(-0.0)  # the smallest subnormal, and a zero with a sign
        raw[:, at : at + 2] = d.view(np.uint8).reshape(-1, 2)
    return raw.reshape(rows, -1)


def make(path, rows, k, seed):
    rng = np.random.default_rng(seed)
    w = gguf.GGUFWriter(path, "llama")
    w.add_uint8("t.u8", 200)
    w.add_int8("t.i8", -100)
    w.add_uint16("t.u16", 60000)
    w.add_int16("t.i16", -30000)
    w.add_uint32("t.u32", 4000000000)
    w.add_int32("t.i32", -2000000000)
    w.add_float32("t.f32", 0.5)
    w.add_bool("t.bool", True)
    w.add_string("t.string", "tea and \u732b")
    w.add_uint64("t.u64", 1 << 60)
    w.add_int64("t.i64", -(1 << 60))
    w.add_float64("t.f64", 0.1)
    w.add_array("t.words", ["a", "", "cde"])
    w.add_array("t.ints", [3, -1, 4])
    expected = {}
    x = rng.normal(size=(3, 5)).astype(np.float32)
    w.add_tensor("f32", x)
    w.add_tensor("f16", x.astype(np.float16))
    b = (x.view(np.uint32) >> 16).astype(np.uint16)
    w.add_tensor("bf16", b.view(np.uint8), raw_dtype=Q.BF16)
    expected["f32"], expected["f16"] = x, x.astype(np.float16).astype(np.float32)
    expected["bf16"] = (b.astype(np.uint32) << 16).view(np.float32)
    for kind in SCALES_AT:
        raw = blocks(rng, rows, k, kind)
        name = kind.name.lower()
        w.add_tensor(name, raw, raw_dtype=kind)
        expected[name] = np.ascontiguousarray(gguf.dequantize(raw, kind).reshape(rows, k))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return expected


OUT.mkdir(parents=True, exist_ok=True)
save_file(make(OUT / "kinds.gguf", 6, 512, 1), OUT / "kinds.safetensors")
make(ROOT / "tests" / "fuzz" / "seeds" / "gguf" / "kinds", 2, 256, 2)
