"""Whether llama.cpp computes the same from the .gguf files that `quern export` writes: logits of every golden whose
family llama.cpp has, against those of Hugging Face transformers. Not part of the goldens: it needs a built quern.

    pip install -r tools/oracles/requirements.txt llama-cpp-python==0.3.36
    python tools/oracles/models/check_gguf.py build/dev/apps/quern/quern      # or .gguf files and their goldens:
    python tools/oracles/models/check_gguf.py FILE.gguf GOLDEN …

The first form also has llama.cpp encode text by the tokenizers of quern/text/tokenizer/testdata, exported beside a model,
and compares with the tokenizers package.

Prints the largest difference over the golden's rows, relative to the largest logit, and fails above 1e-5 for F32
(llama.cpp keeps keys and values in F32 here, but accumulates in another order).
"""
import ctypes, json, pathlib, shutil, subprocess, sys, tempfile
import llama_cpp as L
import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "goldens"
GOLDENS = ["llama-gqa", "llama-mha", "llama-yarn", "qwen2-bias", "granite-h", "granite-h-moe", "bamba", "falcon-h1",
           "nemotron-h"]


@L.llama_log_callback
def quiet(level, text, data):
    if level == 4:
        print(text.decode(), end="", file=sys.stderr)


def logits(path, tokens, rows):
    mp = L.llama_model_default_params()
    model = L.llama_model_load_from_file(str(path).encode(), mp)
    assert model, f"llama.cpp does not open {path}"
    cp = L.llama_context_default_params()
    cp.n_ctx = cp.n_batch = cp.n_ubatch = max(512, len(tokens))
    cp.type_k = cp.type_v = 0  # f32
    cp.flash_attn_type = 0
    context = L.llama_init_from_model(model, cp)
    assert context, path
    batch = L.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, t in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = int(t), i, 1, 0, i in rows
    assert L.llama_decode(context, batch) == 0
    n = L.llama_vocab_n_tokens(L.llama_model_get_vocab(model))
    out = np.stack([np.ctypeslib.as_array(L.llama_get_logits_ith(context, int(r)), shape=(n,)).copy() for r in rows])
    L.llama_batch_free(batch)
    L.llama_free(context)
    L.llama_model_free(model)
    return out


def difference(path, golden):
    tokens, rows, want = (np.load(ROOT / golden / f"{x}.npy") for x in ("tokens", "rows", "logits"))
    got = logits(path, tokens, [int(r) for r in rows])
    return float(np.abs(got - want).max() / np.abs(want).max())


TEXTS = ["Once upon a time", " two  spaces   three", "tabs\tand\nlines\n\n\nmore \n", "It's the miller's; we'll go, I'd say.",
         "1234567 and 3.14159, 2026-11-21", "Grüße aus Köln, señor", "Привет, мир!", "猫が石の上で", "🌾 grain → flour",
         "if (x == 0) { return f(a[i]) + 1; }", "   leading", "trailing   "]


def export(quern, model, path, dtype):
    subprocess.run([quern, "export", str(model), str(path), "--dtype", dtype], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def differing_texts(quern, name, folder):
    """How many texts llama.cpp encodes otherwise than the tokenizer.json that the file was made from."""
    source = ROOT.parents[1] / "quern" / "text" / "tokenizer" / "testdata" / f"{name}.json"
    t = Tokenizer.from_file(str(source))
    model = folder / name
    shutil.copytree(ROOT / "llama-gqa", model)
    shutil.copy(source, model / "tokenizer.json")
    config = json.loads((model / "config.json").read_text()) | {"vocab_size": t.get_vocab_size() + 5}
    (model / "config.json").write_text(json.dumps(config))
    weights = load_file(model / "model.safetensors")
    for w in ("model.embed_tokens.weight", "lm_head.weight"):
        if w in weights:
            weights[w] = np.zeros((config["vocab_size"], config["hidden_size"]), np.float32)
    save_file(weights, model / "model.safetensors")
    export(quern, model, folder / f"{name}.gguf", "f32")
    vocab = L.llama_model_get_vocab(L.llama_model_load_from_file(str(folder / f"{name}.gguf").encode(), L.llama_model_default_params()))
    buffer = (ctypes.c_int32 * 512)()
    different = 0
    for text in TEXTS:
        raw = text.encode()
        n = L.llama_tokenize(vocab, raw, len(raw), buffer, 512, False, True)
        different += list(buffer[:n]) != t.encode(text, add_special_tokens=False).ids
    return different


def main(arguments):
    L.llama_log_set(quiet, ctypes.c_void_p(0))
    L.llama_backend_init()
    worst = 0
    if len(arguments) == 1:
        with tempfile.TemporaryDirectory() as folder:
            for golden in GOLDENS:
                for dtype in ("f32", "bf16", "q8_0"):
                    path = pathlib.Path(folder) / f"{golden}-{dtype}.gguf"
                    export(arguments[0], ROOT / golden, path, dtype)
                    d = difference(path, golden)
                    print(f"{golden} {dtype}: {d:.2e}")
                    worst = max(worst, d if dtype == "f32" else 0)
            for name in ("llama", "qwen", "mistral"):
                n = differing_texts(arguments[0], name, pathlib.Path(folder))
                print(f"tokenizer {name}: {n} of {len(TEXTS)} texts differ")
                worst = max(worst, n)
    else:
        for path, golden in zip(arguments[::2], arguments[1::2]):
            d = difference(path, golden)
            print(f"{path}: {d:.2e}")
            worst = max(worst, d)
    return worst > 1e-5


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
