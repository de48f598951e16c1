"""A small deterministic training text: sentences drawn from word lists of several scripts, with code and numbers."""
from fuzz_strings import SplitMix

WORDS = """the a of and to in stone mill water wheel grain wheat rye barley flour quern grinding turns slowly under over before after
river valley village miller baker bread oven fire morning evening winter summer autumn spring carries weighs measures sells buys counts
heavy light coarse fine dry wet warm cold old new long short each every other which where when because although between without
model learns token sequence layer attention weight gradient batch step loss language machine memory bandwidth cache thread kernel
internationalisation misunderstanding uncharacteristically thoughtful reconstruction don't isn't it's we'll they've I'm""".split()
OTHER = """мельница жернова зерно мука вода хлеб медленно moulin meule blé café crème naïve Mühle Körner Straße größer molino trigo señor mañana
石臼 小麦 水車 村 麦 粉 ひきうす こむぎ みず メール 맷돌 밀가루 물레방아 مطحنة قمح ماء רחיים חיטה चक्की गेहूँ โม่ ข้าว 😀 👍🏽 ❤️""".split()
CODE = ["def f(x):\n    return x + 1\n", "for (int i = 0; i < 10; ++i) {\n\tsum += a[i];\n}\n", "x = y / 2.5  # half\n", "{\"key\": [1, 2, 3]}\n", "<tag>text</tag>\n"]


def corpus(seed=7, sentences=6000):
    r = SplitMix(seed)
    for _ in range(sentences):
        k = r.below(12)
        if k == 0:
            yield CODE[r.below(len(CODE))]
            continue
        n = 3 + r.below(12)
        out = []
        for i in range(n):
            # Squaring favours the front of the list: something like the skew of real text.
            u = r.below(1000) * r.below(1000) // 1000
            w = WORDS[u * len(WORDS) // 1000] if r.below(5) else OTHER[r.below(len(OTHER))]
            if r.below(15) == 0:
                w = str(r.below(3000))
            out.append(w.capitalize() if i == 0 else w)
        yield " ".join(out) + [".", "!", "?", "...", ",\n", ".\n\n", ":  "][r.below(7)]
