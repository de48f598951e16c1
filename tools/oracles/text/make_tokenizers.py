"""Trains one small tokenizer of each family with Hugging Face `tokenizers`, writes its tokenizer.json and what the
reference makes of 10,000 fuzzed strings and 2,000 random id sequences (as 32-bit hashes) to quern/text/tokenizer/testdata/.

    python tools/oracles/text/make_tokenizers.py            # hashes of the committed tokenizers
    python tools/oracles/text/make_tokenizers.py --train [NAME...]  # new tokenizers: training breaks ties differently every time
"""
import base64
import json
import struct
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from corpus import corpus
from fuzz_strings import FRAGMENTS, RANGES, SplitMix, fnv32, fuzz_string

OUT = Path(__file__).resolve().parents[3] / "quern" / "text" / "tokenizer" / "testdata"
STRINGS, RANDOM_IDS = 10_000, 2_000
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA = r"(?i:'(?:s|t|re|ve|m|ll|d))|" + WORDS + r"|\p{N}{1,3}|" + TAIL
QWEN = r"(?i:'(?:s|t|re|ve|m|ll|d))|" + WORDS + r"|\p{N}|" + TAIL


def byte_level(size, pre, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    tr = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    t.train_from_iterator(corpus(), tr)
    return t


def sentencepiece(size, specials):
    """Words learnt with a mark before them; then bytes and specials are put in front of the vocabulary."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=size, show_progress=False, limit_alphabet=120))
    j = json.loads(t.to_str())
    old = sorted(j["model"]["vocab"], key=j["model"]["vocab"].get)
    # A run of spaces, as those vocabularies have it; the lengths are merged pairwise.
    runs = ["\u2581" * 2, "\u2581" * 4, "\u2581" * 8]
    merges = j["model"]["merges"] + [["\u2581", "\u2581"], ["\u2581" * 2] * 2, ["\u2581" * 4] * 2]
    names = list(dict.fromkeys(specials + [f"<0x{b:02X}>" for b in range(256)] + old + runs))
    return {n: i for i, n in enumerate(names)}, merges


def template(bos, bid):
    return {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {bos: {"id": bos, "ids": [bid], "tokens": [bos]}}}


def metaspace_json(vocab, merges, **parts):
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
             "byte_fallback": True, "ignore_merges": False, "vocab": vocab, "merges": merges}
    return Tokenizer.from_str(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], **parts, "model": model}))


SPACE_TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
BACK = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]


def gemma():
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<|im_start|>", "<|im_end|>", "\n\n", "\n\n\n", "\t\t", "<tag>"]
    vocab, merges = sentencepiece(1200, specials)
    t = metaspace_json(vocab, merges, normalizer=SPACE_TO_MARK,
                       pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
                       post_processor=template("<bos>", vocab["<bos>"]), decoder={"type": "Sequence", "decoders": BACK})
    t.add_special_tokens([AddedToken(s, normalized=False) for s in specials[:7] if s != "<mask>"])
    t.add_special_tokens([AddedToken("<mask>", normalized=False, lstrip=True, rstrip=True)])
    t.add_tokens([AddedToken(s, normalized=False) for s in specials[7:]] + [AddedToken("\u2581\u2581", normalized=False)])
    return t


def mistral():
    specials = ["<unk>", "<s>", "</s>"]
    vocab, merges = sentencepiece(1400, specials)
    t = metaspace_json(vocab, merges, normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, SPACE_TO_MARK]},
                       pre_tokenizer=None, post_processor=template("<s>", 1),
                       decoder={"type": "Sequence", "decoders": BACK + [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]})
    t.add_special_tokens([AddedToken(s, normalized=False) for s in specials + ["[INST]", "[/INST]"]])
    return t


def metaspace():
    specials = ["<unk>", "<s>", "</s>"]
    vocab, merges = sentencepiece(1000, specials)
    t = metaspace_json(vocab, [" ".join(m) for m in merges], normalizer=None,
                       pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True},
                                                                            {"type": "Digits", "individual_digits": True}]},
                       post_processor=None, decoder={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True})
    t.add_special_tokens([AddedToken(s, normalized=False) for s in specials])
    t.add_tokens([AddedToken("quern", normalized=True, single_word=True), AddedToken("the", normalized=False, single_word=True, lstrip=True)])
    return t


def llama():
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(__import__("tokenizers").Regex(LLAMA), "isolated"),
                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t = byte_level(1500, pre, ignore_merges=True)
    j = json.loads(t.to_str())
    n = len(j["model"]["vocab"])
    # Whole words that merging would not reach: what ignore_merges is for.
    for i, w in enumerate(["\u0120quernstone", "http", "supercalifragilistic"]):
        j["model"]["vocab"][w] = n + i
    j["post_processor"] = {"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
                                                              template("<|begin_of_text|>", n + 3)]}
    t = Tokenizer.from_str(json.dumps(j))
    t.add_special_tokens([AddedToken(s, normalized=False) for s in ["<|begin_of_text|>", "<|eot_id|>", "<|im_start|>"]])
    return t


def qwen():
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(__import__("tokenizers").Regex(QWEN), "isolated"),
                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t = byte_level(1300, pre)
    t.normalizer = normalizers.NFC()
    t.add_special_tokens([AddedToken(s, normalized=False) for s in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]])
    t.add_tokens([AddedToken("</tag>", normalized=False)])
    return t


def neox():
    t = byte_level(1100, pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.normalizer = normalizers.NFC()
    t.add_special_tokens([AddedToken("<|endoftext|>", normalized=False), AddedToken("<pad>", normalized=False)])
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(10, 1, -1)] + [AddedToken("cafe\u0301", normalized=True)])
    return t


def misc():
    """Every component the families do not use, with unknown characters, prefix and suffix."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip(),
                                         normalizers.Replace(__import__("tokenizers").Regex(r"(\w)\.(\w)"), "<dot>"), normalizers.NFKC()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits()])
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>"], limit_alphabet=60, show_progress=False,
                                                        continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.add_tokens([AddedToken("Quern", normalized=True)])
    return t


BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def word_piece(size, normalizer):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=30))
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=size, special_tokens=BERT_SPECIALS, limit_alphabet=180, show_progress=False))
    return t


def bert():
    """Uncased, as MiniLM has it."""
    t = word_piece(1200, normalizers.BertNormalizer())
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def cased():
    t = word_piece(1000, normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=True, lowercase=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.decoder = decoders.WordPiece(cleanup=False)
    return t


def small_charsmap():
    """SentencePiece's compiled rewriting, of a few rules of each length."""
    import io
    import sentencepiece
    import tempfile
    rules = {"\u00a0": " ", "\u3000": " ", "\t": " ", "\ufb01": "fi", "\u2026": "...", "\uff21": "A", "e\u0301": "\u00e9", "E": "e", "E\u0301": "\u00e9", "\u0301": "", "\U0001f600": ":)",
             "\u200d": "", "\u0915": "k", "\u00df": "ss", "\u1106\u1162": "\ub9e4"}
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as f:
        f.write("".join("%s\t%s\n" % (" ".join(f"{ord(c):X}" for c in a), " ".join(f"{ord(c):X}" for c in b)) for a, b in rules.items()))
        f.flush()
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=out, vocab_size=400, normalization_rule_tsv=f.name, minloglevel=2)
    from sentencepiece import sentencepiece_model_pb2
    m = sentencepiece_model_pb2.ModelProto()
    m.ParseFromString(out.getvalue())
    return base64.b64encode(m.normalizer_spec.precompiled_charsmap).decode()


def unigram():
    """As DeBERTa-v3 has it, behind SentencePiece's map of characters."""
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=1100, special_tokens=BERT_SPECIALS, unk_token="[UNK]", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.Metaspace(prepend_scheme="always")
    j = json.loads(t.to_str())
    # Characters of some scripts stay unknown.
    j["model"]["vocab"] = [p for p in j["model"]["vocab"] if not any("\u0600" <= c <= "\u06ff" or c == "z" for c in p[0])]
    j["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": small_charsmap()},
                                                           {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "}, {"type": "NFC"},
                                                           {"type": "Strip", "strip_left": False, "strip_right": True}]}
    return Tokenizer.from_str(json.dumps(j))


def every_character():
    """What the uncased tokenizer makes of every code point, 256 at a time: a mark that goes leaves "bc", punctuation stands alone."""
    t = Tokenizer.from_file(str(OUT / "bert.json"))
    hashes = []
    for block in range(0, 0x110000, 256):
        ids = t.encode(" ".join(f"b{chr(c)}c" for c in range(block, block + 256) if not 0xD800 <= c < 0xE000)).ids
        hashes.append(fnv32(struct.pack(f"<{len(ids)}i", *ids)))
    (OUT / "bert_characters.hashes").write_bytes(struct.pack(f"<{len(hashes)}I", *hashes))


def record(name):
    t = Tokenizer.from_file(str(OUT / f"{name}.json"))  # what a reader of the file would see
    ids_hash, text_hash, random_hash = [], [], []
    for i in range(STRINGS):
        t.encode_special_tokens = i % 5 == 0
        ids = t.encode(fuzz_string(i), add_special_tokens=i % 2 == 0).ids
        ids_hash.append(fnv32(struct.pack(f"<{len(ids)}i", *ids)))
        text_hash.append(fnv32(t.decode(ids, skip_special_tokens=i % 3 == 0).encode()))
    r = SplitMix(99)
    n = t.get_vocab_size()
    for i in range(RANDOM_IDS):
        ids = [r.below(n) if r.below(2) else r.below(min(n, 300)) for _ in range(r.below(40))]
        random_hash.append(fnv32(t.decode(ids, skip_special_tokens=i % 3 == 0).encode()))
    (OUT / f"{name}.hashes").write_bytes(struct.pack(f"<{2 * STRINGS + RANDOM_IDS}I", *ids_hash, *text_hash, *random_hash))
    print(name, n)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "fuzz.json").write_text(json.dumps({"fragments": FRAGMENTS, "ranges": RANGES}, ensure_ascii=True))
    chosen = sys.argv[sys.argv.index("--train") + 1 :] if "--train" in sys.argv else []
    for make in [gemma, mistral, metaspace, llama, qwen, neox, misc, bert, cased, unigram]:
        if "--train" in sys.argv and (not chosen or make.__name__ in chosen):
            make().save(str(OUT / f"{make.__name__}.json"), pretty=False)
        record(make.__name__)
    every_character()
