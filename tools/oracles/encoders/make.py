"""Tiny random encoders of every family and what transformers and sentence-transformers make of hard texts, in f32.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/encoders/make.py          # writes quern/encoders/testdata/<name>/

Each folder is a Hugging Face folder; expected.safetensors holds embeddings [texts, d] of length 1, or logits and scores
[texts, labels] and [pairs, labels].
"""
import json, math, pathlib, shutil, tempfile
import numpy as np
import torch
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import save_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from transformers import (AutoModel, AutoModelForSequenceClassification, BertConfig, DebertaV2Config, ModernBertConfig,
                          PreTrainedTokenizerFast)

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT, TOKENIZERS = ROOT / "quern/encoders/testdata", ROOT / "quern/text/tokenizer/testdata"
TEXTS = ["", "a", "The mill grinds the grain.", "Crème BRÛLÉE naïve Ångström coöperate", "石臼で小麦を挽く 水車小屋", "😀👍🏽 ❤️ emoji \u200d joiner",
         "tab\tnew\nline\r\u0000nul\u0007bell \u00ad soft \ufeff", "un" + "believ" * 40 + "able", "мельница жернова зерно мука", "قمح ماء حجر طاحونة",
         "'Quotes' \"double\" — dash… (brackets) [CLS] [SEP] [MASK]", "ﬁ ligature １２３ ＡＢＣ", "x" * 300, "3.14159 1,000,000 50% $5 a@b.c",
         " ".join("the miller carries heavy grain over the old water wheel every morning".split() * 9),
         " ".join(f"stone {i} turns under wheel {i * 7 % 13};" for i in range(60))]
PAIRS = [["where is the mill?", "The mill stands by the river."], ["", "empty first"], ["long query " * 40, "short"], ["short", "a long document " * 60],
         ["both long " * 50, "sides of it " * 50], ["石臼", "小麦 水車"]]
POOLING = {"word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False,
           "pooling_mode_mean_sqrt_len_tokens": False}


def randomise(model, seed):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            r = torch.randn(p.shape, generator=g)
            norm = "norm" in name.lower()
            r = 1 + 0.2 * r if norm and name.endswith("weight") else 0.2 * r if p.ndim == 1 else r * (0.7 if "embed" in name else 1.3 / math.sqrt(math.prod(p.shape[1:])))
            p.copy_(r.bfloat16().float())


def folder_of(name, config, head, tokenizer, seed, max_length, pooling=None):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(seed)
    kind = AutoModelForSequenceClassification if head else AutoModel
    model = kind.from_config(config, attn_implementation="eager").eval().float()
    randomise(model, seed)
    model.config.architectures = [type(model).__name__]
    model.config.dtype = None
    (folder / "config.json").write_text(model.config.to_json_string(use_diff=True))
    save_file({n: p.detach().bfloat16().contiguous() for n, p in model.named_parameters()}, str(folder / "model.safetensors"))
    shutil.copy(TOKENIZERS / f"{tokenizer}.json", folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]",
                                                              "unk_token": "[UNK]", "model_max_length": max_length, "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}))
    if pooling:
        modules = [("Transformer", ""), ("Pooling", "1_Pooling")] + ([("Normalize", "2_Normalize")] if pooling == "mean_tokens" else [])
        (folder / "modules.json").write_text(json.dumps([{"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{t}"} for i, (t, p) in enumerate(modules)]))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling/config.json").write_text(json.dumps({**POOLING, f"pooling_mode_{pooling}": True}))
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_length, "do_lower_case": False}))
    return folder


def as_numpy(t):
    return np.ascontiguousarray(t.detach().float().numpy() if torch.is_tensor(t) else t, dtype=np.float32)


def embeddings(folder):
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager", "dtype": torch.float32})
    # One text at a time: padding would change the last bits.
    e = torch.stack([model.encode(t, convert_to_tensor=True, normalize_embeddings=True) for t in TEXTS])
    save_numpy({"embeddings": as_numpy(e)}, str(folder / "expected.safetensors"))


def scores(folder):
    model = CrossEncoder(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager", "dtype": torch.float32})
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    n = tokenizer.model_max_length
    logits = []
    for args in [(t,) for t in TEXTS] + [tuple(p) for p in PAIRS]:
        ids = tokenizer(*args, truncation="longest_first", max_length=n, return_tensors="pt")
        accepted = {k: v for k, v in ids.items() if k != "token_type_ids" or model.model.config.model_type != "modernbert"}
        logits.append(model.model(**accepted).logits[0])
    logits = torch.stack(logits)
    shown = torch.sigmoid(logits) if logits.shape[1] == 1 else torch.softmax(logits, -1)
    if logits.shape[1] == 1:  # what a user of the library sees
        assert np.allclose(model.predict(PAIRS), shown[len(TEXTS):, 0].detach().numpy(), atol=1e-5)
    save_numpy({"logits": as_numpy(logits), "scores": as_numpy(shown)}, str(folder / "expected.safetensors"))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "texts.json").write_text(json.dumps({"texts": TEXTS, "pairs": PAIRS}, indent=0))
    common = dict(hidden_size=32, num_attention_heads=4, intermediate_size=64, num_hidden_layers=3, pad_token_id=0)
    bert = dict(vocab_size=1200, max_position_embeddings=200, type_vocab_size=2, **common)
    embeddings(folder_of("bert-mean", BertConfig(**bert), False, "bert", 1, 128, "mean_tokens"))
    embeddings(folder_of("bert-cased-max", BertConfig(**{**bert, "vocab_size": 1000, "hidden_act": "relu"}), False, "cased", 2, 200, "max_tokens"))
    scores(folder_of("bert-rerank", BertConfig(**bert, num_labels=1), True, "bert", 3, 150))
    deberta = dict(vocab_size=1104, relative_attention=True, type_vocab_size=0, **common)
    v3 = DebertaV2Config(**deberta, position_buckets=8, max_position_embeddings=160, pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
                         position_biased_input=False, max_relative_positions=-1, pooler_hidden_size=32, pooler_hidden_act="gelu", pooler_dropout=0, num_labels=3)
    scores(folder_of("deberta-v3", v3, True, "unigram", 4, 160))
    v2 = DebertaV2Config(**deberta, max_position_embeddings=120, pos_att_type=["c2p", "p2c"], share_att_key=False, position_biased_input=True, embedding_size=24,
                         conv_kernel_size=3, conv_act="gelu", max_relative_positions=20)
    embeddings(folder_of("deberta-v2", v2, False, "unigram", 5, 120, "cls_token"))
    modern = dict(vocab_size=1200, hidden_size=32, num_attention_heads=4, intermediate_size=48, num_hidden_layers=5, pad_token_id=0, bos_token_id=2, eos_token_id=3,
                  cls_token_id=2, sep_token_id=3, local_attention=16, max_position_embeddings=256)
    embeddings(folder_of("modernbert-cls", ModernBertConfig(**modern), False, "bert", 6, 256, "cls_token"))
    scores(folder_of("modernbert-labels", ModernBertConfig(**modern, num_labels=4, classifier_pooling="mean", norm_bias=True, mlp_bias=True, attention_bias=True,
                                                           classifier_bias=True), True, "bert", 7, 256))


if __name__ == "__main__":
    main()
