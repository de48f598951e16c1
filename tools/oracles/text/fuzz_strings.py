"""Fuzzed Unicode strings, the same ones in Python and in C++ (quern/text/tokenizer/tokenizer_golden_test.cc), so that only hashes
of the expected ids need to be committed. splitmix64 drives both; the fragments and ranges are in testdata/fuzz.json."""

MASK = (1 << 64) - 1

FRAGMENTS = [
    " ", "  ", "   ", "     ", "\t", "\t\t", "\n", "\n\n", "\r\n", "\n \n", " \n", "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b",
    "\u180e", "\u2003", "\ufeff", "\x00", "\x01", "\x1b[0m", "\x7f", "the", "The", "THE", " the", " grinding", "grain", " stone", "miller's",
    "'s", "'S", "'ll", "'LL", "'Ve", "don't", "I'd", "it\u2019s", "\u017ft'\u017f", "1", "12", "123", "1234", " 2026", "3.14", "-7e10", "\u0663\u0664", "\u2167", "\u00bd",
    "\u4e00\u4e8c\u4e09", "\u77f3\u81fc", "\u3072\u304d\u3046\u3059", "\u30ab\u3099", "\u304b\u3099", "\ub9f7\ub3cc", "\u1106\u1162\u11ba", "\u0436\u0435\u0440\u043d\u043e\u0432", " \u0437\u0435\u0440\u043d\u043e",
    "\u0645\u0637\u062d\u0646\u0629", "\u05e8\u05d7\u05d9\u05d9\u05dd", "\u091a\u0915\u094d\u0915\u0940", "\u0e42\u0e21\u0e48", "caf\u00e9", "cafe\u0301", "A\u030a", "\u212b", "\ufb01", "\u2126", "\u1e9b\u0323", "q\u0307\u0323", "q\u0323\u0307",
    "\u0130", "\u00df", "\u01c5", "\u03a3\u03b1\u03c2", "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1eb\U0001f1f7", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", "\U0001d54f", "\U00020000", "\ufffd",
    "\ue000", "\uffff", "\U0010ffff", "\u0301", "\u200d", "\u202e", "!", "?!", "...", "\u2026", "_", "__init__", "a_b", "$", "\u20ac", "#", "@", "~", "^", "(", ")", "{", "}", "[]", "\"", "`", "```", "\\n",
    "\u3001", "\u3002", "\uff01", "\u00ab", "\u2581", "\u2581\u2581", "\u2581the", "\u0120", "\u0120the", "\u010a", "<0x0A>", "<0xE4>", "##", "foo(bar)", "x=y;", "http://a.b/c?d=e", "e", "i", "n", "quern", "Quern", "quernstone",
    "<s>", "</s>", "<unk>", "<bos>", "<eos>", "<pad>", "<mask>", " <mask> ", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_", "<|eot_id|>", "<|begin_of_text|>", "[INST]", "[/INST]",
    "<tag>", "</tag>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab", "supercalifragilistic", "grindinggrindinggrinding", "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341", "          ", "\n\n\n\n\n",
]
# Code points, drawn one at a time. Blocks that have been stable since Unicode 9, so that tables of any age agree.
RANGES = [[0x20, 0x7E], [0x20, 0x7E], [0x61, 0x7A], [0xA0, 0x24F], [0x300, 0x36F], [0x391, 0x3A1], [0x3B1, 0x3C9], [0x400, 0x45F], [0x5D0, 0x5EA],
          [0x621, 0x64A], [0x905, 0x939], [0xE01, 0xE2E], [0x1E00, 0x1EFF], [0x2010, 0x2027], [0x2190, 0x21FF], [0x3041, 0x3096], [0x30A1, 0x30FA],
          [0x4E00, 0x9FA5], [0xAC00, 0xD7A3], [0x1F600, 0x1F64F], [0x00, 0x1F]]


class SplitMix:
    def __init__(self, seed):
        self.s = seed & MASK

    def next(self):
        self.s = (self.s + 0x9E3779B97F4A7C15) & MASK
        z = self.s
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return (self.next() >> 11) % n


def fuzz_string(seed):
    r = SplitMix(seed)
    out = []
    for _ in range(r.below(24)):
        if r.below(4) == 0:
            lo, hi = RANGES[r.below(len(RANGES))]
            out.append(chr(lo + r.below(hi - lo + 1)))
        else:
            out.append(FRAGMENTS[r.below(len(FRAGMENTS))])
    return "".join(out)


def fnv32(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = ((h ^ b) * 0x100000001B3) & MASK
    return (h ^ (h >> 32)) & 0xFFFFFFFF
