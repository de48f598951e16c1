"""Tokenizers inside .gguf files, and what the reference makes of text with them: tests/goldens/gguf-tokenizers/.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/models/make_gguf_tokenizers.py

The vocabularies are those of quern/text/tokenizer/testdata. llama and qwen are byte-level: the expected ids are those of their
tokenizer.json. mistral becomes SentencePiece as a .gguf has it, pieces and scores without merges: the reference is
the same tokenizer.json with the merges that transformers derives from the scores.
"""
import importlib
import json
import pathlib
import gguf
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT = ROOT / "tests" / "goldens" / "gguf-tokenizers"
TEXTS = ["", " ", "Once upon a time", " two  spaces   three", "tabs\tand\nlines\n\n\nmore \n", "It's the miller's; we'll go, I'd say.",
         "1234567 and 3.14159, 2026-11-21", "Grüße aus Köln, señor", "Привет, мир! Это проверка", "猫が石の上で寝ている。",
         "🌾 grain → flour 👩‍🌾", "if (x == 0) { return f(a[i]) + 1; } // done", "A\u0300 and \u00c0", "\u2581 marks \u2581\u2581 too",
         "mixed日本語and English", "trailing spaces   ", "   leading", "CamelCaseWords and snake_case_words", "…—“quotes”",
         "a\u0000b\u0001c", "the grinding stone turned and the grain became flour"]


def write(name, model, pre, tokens, kinds, merges=None, scores=None, bos=None, eos=None, add_bos=None):
    w = gguf.GGUFWriter(OUT / f"{name}.gguf", "llama")
    w.add_tokenizer_model(model)
    if pre:
        w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    w.add_token_types(kinds)
    if merges:
        w.add_token_merges([" ".join(m) if isinstance(m, list) else m for m in merges])
    if scores:
        w.add_token_scores(scores)
    if bos is not None:
        w.add_bos_token_id(bos)
    if eos is not None:
        w.add_eos_token_id(eos)
    if add_bos is not None:
        w.add_add_bos_token(add_bos)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def table(j):
    added = {a["id"]: a for a in j["added_tokens"]}
    names = {i: t for t, i in j["model"]["vocab"].items()} | {i: a["content"] for i, a in added.items()}
    tokens, kinds = [], []
    for i in range(max(names) + 1):
        t = names.get(i, f"[PAD{i}]")
        if i in added:
            kind = gguf.TokenType.CONTROL if added[i]["special"] else gguf.TokenType.USER_DEFINED
            if t == "<unk>":
                kind = gguf.TokenType.UNKNOWN
        elif i not in names:
            kind = gguf.TokenType.UNUSED
        elif len(t) == 6 and t.startswith("<0x"):
            kind = gguf.TokenType.BYTE
        else:
            kind = gguf.TokenType.NORMAL
        tokens.append(t)
        kinds.append(int(kind))
    return tokens, kinds


def expected(t):
    return [[x, t.encode(x).ids] for x in TEXTS]


OUT.mkdir(parents=True, exist_ok=True)
result = {}
for name, pre, bos in (("llama", "llama-bpe", "<|begin_of_text|>"), ("qwen", "qwen2", None)):
    j = json.loads((ROOT / "quern/text/tokenizer/testdata" / f"{name}.json").read_text())
    tokens, kinds = table(j)
    write(name, "gpt2", pre, tokens, kinds, merges=j["model"]["merges"], bos=tokens.index(bos) if bos else None)
    result[name] = expected(Tokenizer.from_str(json.dumps(j)))

j = json.loads((ROOT / "quern/text/tokenizer/testdata/mistral.json").read_text())
tokens, kinds = table(j)
scores = [float(-i) if k == gguf.TokenType.NORMAL else 0.0 for i, k in enumerate(kinds)]
write("mistral", "llama", None, tokens, kinds, scores=scores, bos=1, eos=2)
for module in ("transformers.convert_slow_tokenizer", "transformers.tokenization_utils_sentencepiece",
               "transformers.tokenization_utils_tokenizers"):
    generate = getattr(importlib.import_module(module), "generate_merges", None)
    if generate:
        break
pieces = {t: i for i, t in enumerate(tokens)}
j["model"]["merges"] = [list(m) for m in generate(pieces, {t: scores[i] for t, i in pieces.items() if kinds[i] == gguf.TokenType.NORMAL})]
result["mistral"] = expected(Tokenizer.from_str(json.dumps(j)))
(OUT / "expected.json").write_text(json.dumps(result, ensure_ascii=False) + "\n")
